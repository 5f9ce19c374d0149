//! What is too large, too deep or not ours is read as a whole file.

use std::fmt::Write as _;

use twining_code::{DefinitionKind, LARGEST_FILE, LONGEST_LINE, read_source};
use twining_testcases::each;

fn is_coarse(path: &str, source: &[u8]) -> bool {
    let file = read_source(path, source);
    let is_whole = file.definitions.len() == 1 && file.definitions[0] == file.whole;
    assert!(!file.coarse || (is_whole && file.whole.kind == DefinitionKind::File));
    file.coarse
}

#[test]
fn what_is_not_written_here_by_hand_is_coarse() {
    let code = b"fn a() {}\n";
    let long = format!("fn a() {{}} // {}\n", "é".repeat(LONGEST_LINE));
    let edge = format!("// {}\n", "é".repeat(LONGEST_LINE - 3));
    let rows: [(&str, &[u8], bool); 9] = [
        ("a.rs", code, false),
        ("a.txt", code, true),
        ("vendor/a.rs", code, true),
        ("x/node_modules/y/a.js", b"function a() {}", true),
        ("vendor.rs", code, false),
        ("a.rs", b"fn a() {} // \xff", true),
        ("a.rs", long.as_bytes(), true),
        ("a.rs", edge.as_bytes(), false),
        ("a.rs", b"", false),
    ];
    each(rows, |(path, source, wanted)| assert_eq!(is_coarse(path, source), wanted, "{path}"));
}

#[test]
fn a_file_that_is_too_large_is_coarse() {
    let line = b"fn a() {}\n";
    let large = line.repeat(LARGEST_FILE / line.len() + 1);
    let file = read_source("a.rs", &large);
    assert!(file.coarse);
    assert!(file.names.is_empty());
    assert_eq!(file.whole.last_line as usize, large.len() / line.len());
}

#[test]
fn too_many_definitions_are_coarse() {
    let code = |count: usize| {
        (0..count).fold(String::new(), |mut code, at| {
            let _ = writeln!(code, "fn a{at}(){{}}");
            code
        })
    };
    assert!(!is_coarse("a.rs", code(20_000).as_bytes()));
    assert!(is_coarse("a.rs", code(20_001).as_bytes()));
}

#[test]
fn source_that_nests_deep_is_read() {
    const DEEP: usize = 100_000;
    let rows: [(&str, &str, &str); 16] = [
        ("a.rs", "(", ")"),
        ("a.rs", "fn a(){", "}"),
        ("a.rs", "/*", "*/"),
        ("a.py", "[", "]"),
        ("a.py", "class a:\n", ""),
        ("a.go", "{", "}"),
        ("A.java", "class A{", "}"),
        ("a.ts", "(()=>{", "})"),
        ("a.ts", "`${", "}`"),
        ("a.tsx", "<a>\n", "</a>\n"),
        ("a.c", "{\n", "}\n"),
        ("a.cpp", "namespace a{", "}"),
        ("a.cs", "class A{", "}"),
        ("a.rb", "module A\n", "end\n"),
        ("a.rb", "<<~A\n", "A\n"),
        ("a.php", "<?php {", "}"),
    ];
    each(rows, |(path, open, close)| {
        // A line end now and then, or the long line alone would make it coarse.
        let deep = |piece: &str| format!("{}\n", piece.repeat(100)).repeat(DEEP / 100);
        let source = format!("{}{}", deep(open), deep(close));
        let file = read_source(path, &source.as_bytes()[..source.len().min(LARGEST_FILE)]);
        assert!(file.definitions.iter().all(|found| found.name.len() <= 300), "{path}");
        assert!(file.definitions.len() <= 1_000, "{path} {}", file.definitions.len());
    });
}

#[test]
fn a_name_without_end_is_no_definition() {
    let source = format!("fn {}() {{}}\nfn b() {{}}\n", "a".repeat(1_000));
    let names: Vec<String> =
        read_source("a.rs", source.as_bytes()).definitions.into_iter().map(|d| d.name).collect();
    assert_eq!(names, ["b"]);
}
