//! Work that leaves tests what they were: nothing is noted.

use super::changes;
use crate::checks::tests_changed::compare::{TestChanges, compare_files};

changes! {
    black_reformats: "tests/test_a.py",
        "def test_a( x ):\n    assert f( x,'it' ) == {'a':1, 'b':[1,2]}, 'a long message'\n",
        "def test_a(x):\n    # because\n    assert f(\n        x,\n        \"it\",\n    ) == {\n        \"a\": 1,\n        \"b\": [1, 2],\n    }, (\n        \"a long message\"\n    )\n", { };
    black_wraps_an_assertion_in_brackets: "tests/test_a.py", "def test_a():\n    assert first.value == second.value\n", "def test_a():\n    assert (\n        first.value == second.value\n    )\n", { };
    black_wraps_the_parameters: "tests/test_a.py", "def test_a(client, db):\n    assert client.get(db)\n", "def test_a(\n    client,\n    db,\n):\n    assert client.get(db)\n", { };
    prettier_reformats: "src/a.test.js",
        "it(\"adds one\", async() => {\n    const cart = {'size': 1}\n    items.forEach(x => expect(x).toBe(\"it's\"))\n})\n",
        "it('adds one', async () => {\n  const cart = { size: 1 };\n  items.forEach((x) =>\n    expect(x).toBe(\n      'it\\'s',\n    ),\n  );\n});\n", { };
    prettier_wraps_a_long_name: "src/a.test.js", "it('a', () => { expect(f()).toBe(1) })\n", "it(\n  'a',\n  () => {\n    expect(f()).toBe(1);\n  },\n);\n", { };
    rustfmt_reformats: "src/lib.rs",
        "#[test]\nfn a() {\n    match f() { Some(x) => assert_eq!(x, \"y\"), None => panic!(\"none\") }\n}\n",
        "#[test]\nfn a() {\n    match f() {\n        Some(x) => {\n            assert_eq!(x, \"y\",)\n        }\n        None => panic!(\"none\"),\n    }\n}\n", { };
    gofmt_reformats: "a_test.go", "func TestA(t *testing.T) {\n  if f()!=1 { t.Error(\"f\") }\n}\n", "func TestA(t *testing.T) {\n\tif f() != 1 {\n\t\tt.Error(\"f\")\n\t}\n}\n", { };
    imports_are_sorted: "tests/test_a.py", "import b\nimport a\n\ndef test_a():\n    assert a.f(b)\n", "import a\nimport b\n\n\ndef test_a():\n    assert a.f(b)\n", { };
    tests_are_put_in_another_order: "tests/test_a.py", "def test_a():\n    assert f()\n\ndef test_b():\n    assert g()\n", "def test_b():\n    assert g()\n\ndef test_a():\n    assert f()\n", { };
    a_test_is_renamed: "tests/test_a.py", "def test_a():\n    assert f()\n", "def test_f_is_true():\n    assert f()\n", { };
    a_test_moves_into_a_class: "tests/test_a.py", "def test_a():\n    assert f()\n", "class TestF:\n    def test_a():\n        assert f()\n", { };
    a_test_is_added: "tests/test_a.py", "def test_a():\n    assert f()\n", "def test_a():\n    assert f()\n\ndef test_b():\n    with pytest.raises(ValueError):\n        g()\n", { };
    a_test_gets_its_name_in_a_comment: "tests/test_a.py", "def test_a():\n    assert f()\n", "def test_a():\n    # test_a: f is true\n    assert f()\n", { };
    a_product_function_is_named_like_a_test: "src/db.py", "def test_connection():\n    return ping(1)\n", "def test_connection():\n    return ping(2)\n", { };
    a_fixture_is_named_like_a_test: "tests/conftest.py", "@pytest.fixture\ndef test_client():\n    return Client(1)\n", "@pytest.fixture\ndef test_client():\n    return Client(2)\n", { };
    a_product_call_is_named_test: "src/a.ts", "export const ok = pattern.test(\"a\");\n", "export const ok = pattern.test(\"b\");\n", { };
    a_new_test_asserts_through_a_helper: "tests/test_a.py",
        "def same(a, b):\n    assert a == b\n\ndef test_a():\n    same(f(), 1)\n",
        "def same(a, b):\n    assert a == b\n\ndef test_a():\n    same(f(), 1)\n\ndef test_b():\n    same(g(), 2)\n", { };
    a_new_rust_test_only_has_to_run: "src/lib.rs", "fn a() {}\n", "fn a() {}\n\n#[test]\nfn parses() {\n    parse(\"x\").unwrap();\n}\n", { };
    a_new_rust_test_has_to_panic: "src/lib.rs", "fn a() {}\n", "fn a() {}\n\n#[test]\n#[should_panic(expected = \"x\")]\nfn fails() {\n    parse(\"x\");\n}\n", { };
    a_new_rust_test_asserts_in_another_language: "src/lib.rs", "", "#[test]\nfn a_coder_may_go() {\n    let coder = Coder::start();\n    coder.runs(\"git push\").is_clean();\n}\n", { };
    a_new_rust_test_has_parameters: "src/lib.rs", "", "proptest! {\n    #[test]\n    fn any_text(before in text(), after in text()) {\n        read(&before, &after);\n    }\n}\n", { };
    assertions_move_to_a_helper: "a_test.go",
        "func TestA(t *testing.T) {\n\tif f() != 1 {\n\t\tt.Error(\"f\")\n\t}\n}\n",
        "func TestA(t *testing.T) {\n\tcompare(t, f())\n}\n\nfunc compare(t *testing.T, got int) {\n\tg := func() {}\n\tif got != 1 {\n\t\tt.Error(\"f\")\n\t}\n}\n", { edited: ["TestA"] };
    a_new_go_test_gives_its_handle_away: "a_test.go", "package a\n", "package a\n\nfunc TestA(t *testing.T) {\n\tcompare(t, f(), 1)\n}\n", { };
    a_new_test_is_marked_todo: "src/a.test.js", "", "it.todo('adds')\n", { };
    a_new_mockito_test_verifies: "src/test/java/ATest.java", "", "class ATest {\n    @Test\n    void a() {\n        f.run();\n        verify(mock).called();\n    }\n}\n", { };
    a_new_kotest_style_matcher: "src/test/kotlin/ATest.kt", "", "class ATest {\n    @Test\n    fun a() {\n        f() shouldBe 1\n    }\n}\n", { };
    a_new_test_with_a_string_of_many_lines: "tests/ATests.cs", "", "public class ATests\n{\n    [Test]\n    public void A()\n    {\n        string path = @\"C:\\\";\n        Assert.AreEqual(@\"{\n  \"\"a\"\": 1\n}\", f());\n    }\n}\n", { };
    a_new_test_with_directives: "tests/ATests.cs", "", "public class ATests\n{\n    [Test]\n    public void A()\n    {\n#if NET\n        Assert.AreEqual(1, f());\n#endif\n    }\n}\n", { };
    a_new_test_compares_with_a_constant: "tests/ATests.cs", "", "[Test]\npublic void A()\n{\n    var t = f();\n    Assert.AreEqual(null, t);\n}\n", { };
    a_new_fluent_assertion: "tests/ATests.cs", "", "public class ATests\n{\n    [Fact]\n    public void A()\n    {\n        f().Should().Be(1);\n    }\n}\n", { };
    a_new_constant_failure_is_an_assertion: "a_test.go", "package a\n", "package a\n\nfunc TestA(t *testing.T) {\n\tif f() {\n\t\tt.Fatal(\"f\")\n\t}\n}\n", { };
    rust_raw_strings_and_lifetimes: "src/lib.rs",
        "fn a<'a>(x: &'a str) {}\n\n#[test]\nfn b() {\n    assert_eq!(f(r#\"{\"a\": \"\\\"}\"#), '\"');\n}\n",
        "fn a<'a>(x: &'a str) { g() }\n\n#[test]\nfn b() {\n    assert_eq!(\n        f(r#\"{\"a\": \"\\\"}\"#),\n        '\"',\n    );\n}\n", { };
    a_new_snapshot_is_written: "src/__snapshots__/b.snap", "", "exports[`b`] = `2`;", { };
    a_helper_of_a_test_file_is_edited: "tests/test_a.py", "def user():\n    return User(1)\n\ndef test_a():\n    assert user()\n", "def user():\n    return User(2)\n\ndef test_a():\n    assert user()\n", { };
    an_only_is_taken_back: "src/a.test.js", "it.only('a', () => {\n  expect(f()).toBe(1);\n});\nit('b', () => {\n  expect(g()).toBe(1);\n});\n", "it('a', () => {\n  expect(f()).toBe(1);\n});\nit('b', () => {\n  expect(g()).toBe(1);\n});\n", { };
    a_skip_is_taken_back: "src/a.test.js", "it.skip('a', () => {\n  expect(f()).toBe(1);\n});\n", "it('a', () => {\n  expect(f()).toBe(1);\n});\n", { };
    an_iterator_skips: "src/lib.rs", "", "#[test]\nfn a() {\n    assert_eq!(xs.iter().skip(1).count(), 2);\n}\n", { };
}

#[test]
fn a_test_file_is_renamed() {
    let text = Some("def test_a():\n    assert f()\n");
    assert_eq!(
        compare_files([("tests/test_old.py", text, None), ("tests/test_new.py", None, text)]),
        TestChanges::default()
    );
}

#[test]
fn half_of_a_test_file_moves_to_another() {
    let (a, b) = ("def test_a():\n    assert f()\n", "def test_b():\n    assert g()\n");
    let both = format!("{a}\n{b}");
    let files =
        [("tests/test_x.py", Some(both.as_str()), Some(a)), ("tests/test_y.py", None, Some(b))];
    assert_eq!(compare_files(files), TestChanges::default());
}

#[test]
fn a_test_that_is_edited_while_it_moves_is_edited() {
    let files = [
        ("tests/test_x.py", Some("def test_a():\n    assert f() == 1\n"), None),
        ("tests/test_y.py", None, Some("def test_a():\n    assert f() == 2\n")),
    ];
    assert_eq!(compare_files(files).edited, ["test_a"]);
}
