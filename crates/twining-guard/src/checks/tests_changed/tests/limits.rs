//! Any text can be read, in bounded time.

use proptest::prelude::*;
use twining_testcases::each;

use crate::checks::tests_changed::compare::{TestChanges, compare_files};

fn compare_file(path: &str, before: Option<&str>, after: Option<&str>) -> TestChanges {
    compare_files([(path, before, after)])
}

const PATHS: [&str; 13] = [
    "test_a.py",
    "a.test.ts",
    "src/a.rs",
    "a_test.go",
    "spec/a_spec.rb",
    "ATest.java",
    "ATest.kt",
    "ATests.cs",
    "tests/ATest.php",
    "ATests.swift",
    "a_test.exs",
    "a.bats",
    "a_test.cc",
];

/// Pieces that the reader looks for, in any order.
fn fragments() -> impl Strategy<Value = String> {
    let parts = [
        "def test_a():\n",
        "    assert x\n",
        "it('a', () => {\n",
        "describe.skip(",
        "it.each`",
        "})",
        "#[test]\n",
        "#[",
        "fn a(",
        "r#\"",
        "'",
        "\"",
        "`",
        "@Test ",
        "@",
        "class ",
        "func TestA(",
        "func (",
        ")",
        "}",
        "\n",
        "  ",
        "\\",
        "/*",
        "//",
        "#",
        "é",
        "[Fact]\n",
        "test \"a\" do\n",
        "@test \"a\" {\n",
        "TEST(",
        "return",
        ".",
        "t.Skip()",
        "expect",
        "\"\"\"",
    ];
    prop::collection::vec(prop::sample::select(parts.to_vec()), 0..60)
        .prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn any_text_can_be_read(before in ".*", after in "(?s).*") {
        for path in PATHS {
            let _ = compare_file(path, Some(&before), Some(&after)).summary();
        }
    }

    #[test]
    fn any_mixture_of_what_is_looked_for_can_be_read(before in fragments(), after in fragments()) {
        for path in PATHS {
            let changes = compare_file(path, Some(&before), Some(&after));
            prop_assert!(changes.summary().is_none_or(|line| line.chars().count() <= 200));
            prop_assert!(compare_file(path, Some(&before), Some(&before)).is_empty());
        }
    }
}

#[test]
fn a_file_beyond_a_mebibyte_is_not_looked_at() {
    let text = format!("def test_a():\n    assert f()\n{}", "\n".repeat(1 << 20));
    assert!(compare_file("test_a.py", Some(&text), None).is_empty());
}

/// Text that would take minutes if a part of it were read again for each other part.
#[test]
fn a_text_made_to_be_slow_is_read() {
    let texts = [
        ("a.test.ts", "it.each("),
        ("a.test.ts", "it('a', "),
        ("a.test.ts", "describe('a', "),
        ("a.test.ts", "`${"),
        ("ATest.java", "@Test a a("),
        ("src/a.rs", "r#\""),
        ("src/a.rs", "'\\'"),
        ("test_a.py", "def test_a("),
        ("test_a.py", "((((\n"),
        ("ATests.cs", "[[[[{\n"),
        ("a_test.go", "/*"),
        ("ATest.kt", "@a\n"),
        ("a_test.exs", "test \"a\""),
    ];
    each(texts, |(path, part)| {
        assert_eq!(
            compare_file(path, Some(&part.repeat(200_000 / part.len())), None).goldens,
            [""; 0]
        );
    });
}
