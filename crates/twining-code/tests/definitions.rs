//! Names, kinds and lines of definitions, by language.

use twining_code::{Language, read_source};
use twining_testcases::each;

/// `kind place first-last` of every definition, one a line.
fn outline(path: &str, source: &str) -> String {
    let file = read_source(path, source.as_bytes());
    assert!(!file.coarse, "{path} is read with its grammar");
    let lines = file.definitions.iter().map(|found| {
        let kind = found.kind.name();
        format!("{kind} {} {}-{}\n", found.place(), found.first_line, found.last_line)
    });
    lines.collect()
}

#[track_caller]
fn check(path: &str, rows: &[(&str, &str)]) {
    each(rows, |(source, wanted)| {
        let wanted: String = wanted.lines().map(|line| format!("{}\n", line.trim())).collect();
        assert_eq!(outline(path, source), wanted, "{source}");
    });
}

#[test]
fn rust() {
    check(
        "a.rs",
        &[
            ("fn main() {}\n", "function main 1-1"),
            ("#[test]\n// why\n#[ignore]\nfn a() {\n}\n", "function a 1-5"),
            ("#[derive(Debug)]\npub struct A { x: u8 }", "struct A 1-2"),
            (
                "struct A;\nunion B { a: u8 }\nenum C { D }",
                "struct A 1-1\nstruct B 2-2\nenum C 3-3",
            ),
            ("impl A { fn b(&self) {} }", "method A.b 1-1"),
            ("impl<T> fmt::Display for &'a m::A<T> { fn b() {} }", "method A.b 1-1"),
            ("trait A { fn b(); fn c() {} }", "trait A 1-1\nmethod A.b 1-1\nmethod A.c 1-1"),
            ("mod a { fn b() {} }\nmod c;\n", "module a 1-1\nfunction a.b 1-1"),
            (
                "const A: u8 = 1;\nstatic B: u8 = 2;\ntype C = u8;",
                "constant A 1-1\nconstant B 2-2\ntype C 3-3",
            ),
            ("fn a() { fn b() { let c = 1; } }", "function a 1-1\nfunction a.b 1-1"),
            ("macro_rules! a { () => {} }", "function a 1-1"),
            (
                "#[cfg(unix)]\nfn a() {}\n#[cfg(windows)]\nfn a() {}",
                "function a 1-2\nfunction a~2 3-4",
            ),
            ("#[derive(A)]\nuse b;\nfn c() {}", "function c 3-3"),
        ],
    );
}

#[test]
fn python() {
    check(
        "a.py",
        &[
            ("def a():\n    pass\n", "function a 1-2"),
            (
                "class A:\n    async def b(self):\n        def c(): pass\n",
                "class A 1-3\nmethod A.b 2-3\nfunction A.b.c 3-3",
            ),
            (
                "class A:\n    @property\n    def b(self): pass\n    @b.setter\n    def b(self, x): pass\n",
                "class A 1-5\nmethod A.b 2-3\nmethod A.b~2 4-5",
            ),
            ("A = 1\nb.c = 2\nd, e = 3, 4\n", "constant A 1-1"),
            ("def a():\n    b = 1\nclass C:\n    d = 2\n", "function a 1-2\nclass C 3-4"),
            (
                "if x:\n    def a(): pass\nelse:\n    def a(): pass\n",
                "function a 2-2\nfunction a~2 4-4",
            ),
        ],
    );
}

#[test]
fn go() {
    check(
        "a.go",
        &[
            ("package a\nfunc B() {}\n", "function B 2-2"),
            (
                "package a\nfunc (s *Server[T]) B() {}\nfunc (Server) C() {}\n",
                "method Server.B 2-2\nmethod Server.C 3-3",
            ),
            (
                "package a\ntype B struct { c int }\ntype D interface { E() }\ntype F = int\n",
                "struct B 2-2\ntrait D 3-3\nmethod D.E 3-3\ntype F 4-4",
            ),
            (
                "package a\nconst B = 1\nvar (\n\tC = 2\n)\nfunc d() { const e = 1; var f = 2 }\n",
                "constant B 2-2\nconstant C 4-4\nfunction d 6-6",
            ),
        ],
    );
}

#[test]
fn java() {
    check(
        "A.java",
        &[
            ("class A { void b() {} A() {} }", "class A 1-1\nmethod A.b 1-1\nmethod A.A 1-1"),
            (
                "@Deprecated\npublic class A {\n  @Override\n  int b() { return 1; }\n}",
                "class A 1-5\nmethod A.b 3-4",
            ),
            (
                "interface A { int B = 1; void c(); }",
                "trait A 1-1\nconstant A.B 1-1\nmethod A.c 1-1",
            ),
            ("enum A { B; void c() {} }", "enum A 1-1\nmethod A.c 1-1"),
            ("record A(int b) { A { } }", "class A 1-1\nmethod A.A 1-1"),
            (
                "class A { static final int B = 1; int c = 2; void d() { int e = 3; } }",
                "class A 1-1\nconstant A.B 1-1\nmethod A.d 1-1",
            ),
            (
                "class A { void b(int c) {} void b(long c) {} }",
                "class A 1-1\nmethod A.b 1-1\nmethod A.b~2 1-1",
            ),
        ],
    );
}

const SCRIPT: &[(&str, &str)] = &[
    ("export function a() {}\nfunction* b() {}", "function a 1-1\nfunction b 2-2"),
    (
        "export const a = async () => 1;\nconst b = function () {};",
        "function a 1-1\nfunction b 2-2",
    ),
    (
        "const a = 1, b = 2;\nfunction c() { const d = 3; }\n",
        "constant a 1-1\nconstant b 1-1\nfunction c 2-2",
    ),
    ("run(() => { const a = 1; const b = () => 2; });", "function b 1-1"),
    (
        "class A { b() {}\n #c = () => 1; d = 2; get e() { return 1; } }",
        "class A 1-2\nmethod A.b 1-1\nmethod A.#c 2-2\nmethod A.e 2-2",
    ),
    ("const a = { b() {} };", "constant a 1-1\nmethod a.b 1-1"),
    ("const A = class { b() {} };", "class A 1-1\nmethod A.b 1-1"),
    (
        "export default class A { [Symbol.iterator]() {} }",
        "class A 1-1\nmethod A.[Symbol.iterator] 1-1",
    ),
];

#[test]
fn javascript() {
    check("a.js", SCRIPT);
    check("a.jsx", &[("const A = () => <p onClick={() => b()}>don't</p>;", "function A 1-1")]);
}

#[test]
fn typescript() {
    check("a.ts", SCRIPT);
    check(
        "a.ts",
        &[
            ("interface A { b(): void; c: number }", "trait A 1-1\nmethod A.b 1-1"),
            ("type A = number;\nenum B { C }", "type A 1-1\nenum B 2-2"),
            ("namespace A { export function b() {} }", "module A 1-1\nfunction A.b 1-1"),
            ("declare function a(): void;", "function a 1-1"),
            (
                "function a(b: number): void;\nfunction a(b: any) {}",
                "function a 1-1\nfunction a~2 2-2",
            ),
            (
                "@Injectable()\nexport class A {\n  @Get()\n  b() {}\n}",
                "class A 1-5\nmethod A.b 3-4",
            ),
            ("abstract class A { abstract b(): void }", "class A 1-1\nmethod A.b 1-1"),
        ],
    );
}

#[test]
fn c() {
    check(
        "a.c",
        &[
            ("static int *a(int b) { return 0; }", "function a 1-1"),
            ("int a(void);\nextern int b;\nint (*c)(int);", "function a 1-1"),
            ("struct a { int b; };\nstruct a *c;", "struct a 1-1"),
            ("typedef struct { int b; } a;\ntypedef int c;", "type a 1-1\ntype c 2-2"),
            (
                "#define A 1\n#define B(x) (x)\nenum c { D };",
                "constant A 1-1\nfunction B 2-2\nenum c 3-3",
            ),
        ],
    );
}

#[test]
fn cpp() {
    check(
        "a.cpp",
        &[
            (
                "namespace a { class B { void c(); int d; }; }",
                "module a 1-1\nclass a.B 1-1\nmethod a.B.c 1-1",
            ),
            ("void A::b() const {}\nA::~A() {}", "function A.b 1-1\nfunction A.~A 2-2"),
            ("template <typename T>\nT a(T b) { return b; }", "function a 1-2"),
            ("template <>\nstruct A<int> { void b() {} };", "struct A 1-2\nmethod A.b 2-2"),
            ("using A = int;", "type A 1-1"),
            ("int &a() { static int b; return b; }", "function a 1-1"),
        ],
    );
    check(
        "a.h",
        &[(
            "#pragma once\nclass A { void b(); };\nint c(int);\n",
            "class A 2-2\nmethod A.b 2-2\nfunction c 3-3",
        )],
    );
}

#[test]
fn csharp() {
    check(
        "A.cs",
        &[
            (
                "namespace A.B { class C { void D() {} } }",
                "module A.B 1-1\nclass A.B.C 1-1\nmethod A.B.C.D 1-1",
            ),
            (
                "namespace A;\nclass B { const int C = 1; int d; public int E { get; set; } B() {} }",
                "class B 2-2\nconstant B.C 2-2\nmethod B.E 2-2\nmethod B.B 2-2",
            ),
            (
                "[Serializable]\nstruct A { }\ninterface B { void C(); }\nenum D { E }\nrecord F(int G);\ndelegate void H();",
                "struct A 1-2\ntrait B 3-3\nmethod B.C 3-3\nenum D 4-4\nclass F 5-5\ntype H 6-6",
            ),
        ],
    );
}

#[test]
fn ruby() {
    check(
        "a.rb",
        &[
            (
                "module A\n  class B::C\n    D = 1\n    def e; end\n    def self.f; end\n  end\nend\n",
                "module A 1-7\nclass A.B.C 2-6\nconstant A.B.C.D 3-3\nmethod A.B.C.e 4-4\nmethod A.B.C.f 5-5",
            ),
            ("def a\n  b = 1\nend\nc = 2\n", "method a 1-3"),
        ],
    );
}

#[test]
fn php() {
    check(
        "a.php",
        &[
            (
                "<?php\nnamespace A\\B;\nfunction c() {}\nclass D {\n  const E = 1;\n  #[Pure]\n  public function f() {}\n}\n",
                "function c 3-3\nclass D 4-8\nconstant D.E 5-5\nmethod D.f 6-7",
            ),
            (
                "<?php\ninterface A { function b(); }\ntrait C {}\nenum D { case E; }\n",
                "trait A 2-2\nmethod A.b 2-2\ntrait C 3-3\nenum D 4-4",
            ),
        ],
    );
}

#[test]
fn imports() {
    let rows: &[(&str, &str, &[&str])] = &[
        ("a.rs", "use std::{fmt, io};\nuse crate::b::C as D;", &["std", "crate::b::C"]),
        ("a.py", "import a.b, c as d\nfrom ..e import f\n", &["a.b", "c", "..e"]),
        ("a.go", "package a\nimport (\n\"fmt\"\nx \"a/b\"\n)\n", &["fmt", "a/b"]),
        ("A.java", "import static a.B.c;\nimport d.*;\n", &["a.B.c", "d"]),
        (
            "a.ts",
            "import a from './b';\nexport * from \"c\";\nexport const d = 1;\n",
            &["./b", "c"],
        ),
        ("a.c", "#include <a.h>\n#include \"b.h\"\n", &["a.h", "b.h"]),
        ("a.cpp", "#include <vector>\n", &["vector"]),
        ("A.cs", "using System.Text;\n", &["System.Text"]),
        ("a.rb", "require 'a'\nrequire_relative \"b/c\"\nputs 'd'\n", &["a", "b/c"]),
        ("a.php", "<?php\nuse A\\B;\nuse C as D;\n", &["A\\B", "C"]),
    ];
    each(rows, |(path, source, wanted)| {
        assert_eq!(read_source(path, source.as_bytes()).imports, **wanted, "{path}");
    });
}

#[test]
fn names_are_counted_outside_of_comments_and_strings() {
    let file = read_source("a.rs", b"// gone\nfn a(b: u8) -> u8 { b + c(\"d\") }\n");
    let names: Vec<(&str, u32)> =
        file.names.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    assert_eq!(names, [("a", 1), ("b", 2), ("c", 1), ("fn", 1), ("u8", 2)]);
}

#[test]
fn a_line_belongs_to_the_innermost_definition() {
    let file = read_source("a.py", b"class A:\n    x = 1\n    def b(self):\n        pass\n");
    let at = |line| file.definition_at(line).map(|found| found.name.as_str());
    assert_eq!([at(2), at(4), at(9)], [Some("A"), Some("A.b"), None]);
}

#[test]
fn every_language_has_a_path_and_a_grammar() {
    let paths = [
        "a.rs", "a.py", "a.go", "a.java", "a.ts", "a.tsx", "a.c", "a.cpp", "a.cs", "a.rb", "a.php",
    ];
    let languages: Vec<_> = paths.iter().filter_map(|path| Language::of_path(path)).collect();
    assert_eq!(languages, Language::ALL);
    each(paths, |path| assert!(!read_source(path, b"").coarse, "{path}"));
    each(["a", "a.txt", ".rs/a", "Makefile"], |path| assert_eq!(Language::of_path(path), None));
}

#[test]
fn the_corpus_of_the_fuzzer_is_read_with_its_grammars() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus");
    let files: Vec<_> = std::fs::read_dir(folder).expect("is there").flatten().collect();
    assert_eq!(files.len(), Language::ALL.len());
    each(files, |file| {
        let path = file.file_name().to_string_lossy().into_owned();
        let read = read_source(&path, &std::fs::read(file.path()).expect("reads"));
        assert!(!read.coarse && read.definitions.len() >= 5, "{path}: {read:#?}");
        assert!(!read.imports.is_empty(), "{path}");
    });
}
