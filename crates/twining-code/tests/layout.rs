//! What leaves the hashes of a definition alone, and what does not.

use twining_code::{Definition, read_source};
use twining_testcases::each;

fn definitions(path: &str, source: &str) -> Vec<Definition> {
    read_source(path, source.as_bytes()).definitions
}

#[track_caller]
fn check_same(rows: &[(&str, &str, &str)]) {
    each(rows, |(path, one, other)| {
        let (one, other) = (definitions(path, one), definitions(path, other));
        assert!(!one.is_empty());
        assert_eq!(one.len(), other.len());
        for (one, other) in one.iter().zip(&other) {
            assert_eq!(one.name, other.name);
            assert!(one.is_same_code(other), "{path} {}", one.name);
            assert_eq!((one.sketch, one.tokens), (other.sketch, other.tokens), "{}", one.name);
        }
    });
}

#[test]
fn comments_do_not_count() {
    check_same(&[
        ("a.rs", "fn a() { b() }", "/// says\nfn a(/* c */) { // d\n /* /* e */ f */ b() }"),
        ("a.py", "def a():\n    b()\n", "def a():  # c\n    # d\n    b()\n"),
        ("a.go", "package a\nfunc b() { c() }\n", "package a\n// d\nfunc b() { /* e */ c() }\n"),
        (
            "A.java",
            "class A { void b() { c(); } }",
            "class A { /** d */ void b() { c(); // e\n } }",
        ),
        ("a.ts", "function a() { b('//c') }", "function a() { /* d */ b('//c') // e\n }"),
        ("a.tsx", "const a = () => <p>{b}</p>", "const a = () => <p>{/* c */ b}</p>"),
        ("a.c", "int a() { return 1; }", "int a() { // b\n return /* c */ 1; }"),
        ("a.cpp", "int a() { return 1'000; }", "int a() { return 1'000; /* it's */ }"),
        ("a.cs", "class A { string b = @\"\\\"; }", "class A { string b = @\"\\\"; /* \" */ }"),
        ("a.rb", "def a\n  b\nend\n", "def a # c\n=begin\nd\n=end\n  b\nend\n"),
        (
            "a.php",
            "<?php function a() { b(); }",
            "<?php function a() { # c\n // d\n b(); /* e */ }",
        ),
        ("a.sh", "a 'b # c'\n", "# d\na 'b # c' # e\n"),
        ("a.sql", "select 1\n", "-- a\nselect 1 -- b\n"),
        ("a.md", "don't # a\n", "<!-- b -->\ndon't   # a\n"),
    ]);
}

#[test]
fn docstrings_do_not_count() {
    check_same(&[
        (
            "a.py",
            "def a():\n    return 1\n",
            "def a():\n    \"\"\"Says.\n\n    More: \"b\".\n    \"\"\"\n    return 1\n",
        ),
        (
            "a.py",
            "class A:\n    def b(self): pass\n",
            "class A:\n    'Says.'\n    def b(self): pass\n",
        ),
        (
            "a.py",
            "def a():\n    return 1\n",
            "r'''of the file'''\ndef a():\n    r\"raw\"\n    return 1\n",
        ),
    ]);
}

#[test]
fn formatters_change_nothing() {
    check_same(&[
        (
            "a.rs",
            "fn a(b:u8,c:u8)->u8{d(b,c)}",
            "fn a(\n    b: u8,\n    c: u8,\n) -> u8 {\n    d(b, c)\n}\n",
        ),
        (
            "a.rs",
            "fn a() { match b { C => {}, D => {} } }",
            "fn a() {\n match b {\n C => {}\n D => {}\n }\n}",
        ),
        ("a.rs", "fn a<B: C, D>() {}", "fn a<\n    B: C,\n    D,\n>() {\n}\n"),
        (
            "a.py",
            "def a(b, c):\n    return b or c\n",
            "def a(\n    b,\n    c,\n):\n    return (\n        b\n        or c\n    )\n",
        ),
        (
            "a.py",
            "def a():\n    b = 'it\\'s'\n    if c and d: e()\n",
            "def a():\n    b = \"it's\"\n    if (\n        c\n        and d\n    ):\n        e()\n",
        ),
        ("a.py", "def a():\n    b = '''c'''\n", "def a():\n    b = \"\"\"c\"\"\"\n"),
        ("a.ts", "const a = b => { return 'c' }", "const a = (b) => {\n  return \"c\";\n};\n"),
        (
            "a.ts",
            "function a() { return [1, 2] }",
            "function a() {\n  return [\n    1,\n    2,\n  ];\n}\n",
        ),
        (
            "a.go",
            "package a\nfunc b(c int,d int) {}\n",
            "package a\n\nfunc b(\n\tc int,\n\td int,\n) {\n}\n",
        ),
        ("a.json", "{\"a\":[1,2]}", "{\n  \"a\": [\n    1,\n    2\n  ]\n}\n"),
    ]);
}

#[test]
fn the_name_of_a_definition_is_not_its_content() {
    let rows = [
        ("a.rs", "fn a(b: u8) { c(b) }", "fn renamed(b: u8) { c(b) }"),
        ("a.py", "def a(b):\n    c(b)\n", "def renamed(b):\n    c(b)\n"),
        ("a.c", "int *a(int b) { return c(b); }", "int *renamed(int b) { return c(b); }"),
        ("a.c", "typedef struct { int b; } a;", "typedef struct { int b; } renamed;"),
        ("a.ts", "const a = () => 1;", "const renamed = () => 1;"),
    ];
    each(rows, |(path, one, other)| {
        let (one, other) = (definitions(path, one), definitions(path, other));
        assert!(one[0].is_same_code(&other[0]), "{path}");
    });
}

/// What a change is seen in.
#[derive(Debug, PartialEq, Eq)]
enum Change {
    Signature,
    Body,
}

#[test]
fn a_change_is_seen_where_it_is() {
    use Change::{Body, Signature};
    let rows = [
        ("a.rs", "fn a() {}", "pub fn a() {}", Signature),
        ("a.rs", "fn a() {}", "#[inline]\nfn a() {}", Signature),
        ("a.rs", "fn a() { b('c') }", "fn a() { b('d') }", Body),
        ("a.rs", "const A: u8 = 1;", "const A: u8 = 2;", Body),
        ("a.rs", "struct A { b: u8 }", "struct A { b: u16 }", Body),
        ("a.py", "def a(b): pass", "def a(b, c): pass", Signature),
        ("a.py", "def a(): pass", "@cached\ndef a(): pass", Signature),
        ("a.py", "def a():\n    return 1\n", "def a():\n    return 2\n", Body),
        ("a.py", "def a():\n    b = {'c':\n 'd'}\n", "def a():\n    b = {'c':\n 'e'}\n", Body),
        (
            "a.py",
            "def a():\n    return b == (c or d)\n",
            "def a():\n    return b == c or d\n",
            Body,
        ),
        ("a.go", "package a\nfunc b() {}\n", "package a\nfunc b() error {}\n", Signature),
        (
            "a.go",
            "package a\ntype B struct { c int }\n",
            "package a\ntype B struct { c bool }\n",
            Body,
        ),
        ("A.java", "class A {}", "@B class A {}", Signature),
        ("a.ts", "class A {}", "@B() class A {}", Signature),
        ("a.ts", "function a() {}", "export function a() {}", Signature),
        ("a.ts", "const a = () => /[/]'/.b;", "const a = () => /[/]'/.c;", Body),
        ("a.ts", "const a = () => `b${`c${{}}`}`;", "const a = () => `b${`d${{}}`}`;", Body),
        ("a.c", "int a() { return 1; }", "long a() { return 1; }", Signature),
        ("a.cpp", "template <class T> T a() {}", "template <class T, class U> T a() {}", Signature),
        ("a.cs", "class A { }", "[B] class A { }", Signature),
        (
            "a.rb",
            "def a\n  <<~END\n    b # c\n  END\nend\n",
            "def a\n  <<~END\n    b # d\n  END\nend\n",
            Body,
        ),
        (
            "a.php",
            "<?php function a() { return <<<X\n# b\nX; }",
            "<?php function a() { return <<<X\n# c\nX; }",
            Body,
        ),
    ];
    each(rows, |(path, one, other, wanted)| {
        let (one, other) = (definitions(path, one), definitions(path, other));
        let (one, other) = (&one[0], &other[0]);
        let found = match (one.signature == other.signature, one.body == other.body) {
            (false, true) => Change::Signature,
            (true, false) => Change::Body,
            same => panic!("{path}: {same:?}"),
        };
        assert_eq!(found, wanted);
    });
}

#[test]
fn the_decorators_of_a_method_belong_to_it_and_not_to_its_neighbour() {
    let source = |path: &str| format!("class A {{\n  @Get('{path}')\n  b() {{}}\n  c() {{}}\n}}\n");
    let (one, other) = (definitions("a.ts", &source("x")), definitions("a.ts", &source("y")));
    let changed: Vec<&str> = one
        .iter()
        .zip(&other)
        .filter(|(one, other)| one.signature != other.signature)
        .map(|(one, _)| one.name.as_str())
        .collect();
    assert_eq!(changed, ["A.b"]);
}

#[test]
fn what_is_inside_counts_into_the_body_around_it() {
    let (one, other) = (
        definitions("a.py", "class A:\n    def b(self): return 1\n"),
        definitions("a.py", "class A:\n    def b(self): return 2\n"),
    );
    assert_eq!(one[0].signature, other[0].signature);
    assert_ne!(one[0].body, other[0].body);
}

#[test]
fn a_string_misread_in_one_definition_leaves_the_next_alone() {
    let source =
        |text: &str| format!("const a = () => <p>{text}</p>;\nconst b = () => <p>c</p>;\n");
    let (one, other) =
        (definitions("a.tsx", &source("ok")), definitions("a.tsx", &source("rock `n roll")));
    assert!(one[1].is_same_code(&other[1]));
}
