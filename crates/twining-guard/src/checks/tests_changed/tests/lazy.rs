//! What an agent does to a test that will not pass: each is visible.

use super::changes;

const PYTHON: &str = "import pytest

def test_login():
    user = login('ann')
    assert user.name == 'ann'

def test_logout():
    assert logout() is None
";

fn python(from: &str, to: &str) -> String {
    assert!(PYTHON.contains(from), "the example has no `{from}`");
    PYTHON.replace(from, to)
}

changes! {
    a_python_test_is_deleted: "tests/test_a.py", PYTHON, python("def test_logout():\n    assert logout() is None\n", ""), { removed: ["test_logout"] };
    a_python_file_is_deleted: "tests/test_a.py", PYTHON, "", { removed: ["test_login", "test_logout"] };
    a_python_test_is_renamed_out_of_sight: "tests/test_a.py", PYTHON, python("def test_logout", "def _test_logout"), { removed: ["test_logout"] };
    a_python_test_is_commented_out: "tests/test_a.py", PYTHON, python("def test_logout():\n    assert logout", "# def test_logout():\n#    assert logout"), { removed: ["test_logout"] };
    a_python_test_gets_a_skip_mark: "tests/test_a.py", PYTHON, python("def test_login", "@pytest.mark.skip(reason='flaky')\ndef test_login"), { skipped: ["test_login"] };
    a_python_test_gets_a_skipif: "tests/test_a.py", PYTHON, python("def test_login", "@pytest.mark.skipif(\n    sys.platform == 'linux',\n    reason='later',\n)\ndef test_login"), { skipped: ["test_login"] };
    a_python_test_gets_an_xfail: "tests/test_a.py", PYTHON, python("def test_login", "@pytest.mark.xfail\ndef test_login"), { skipped: ["test_login"] };
    a_python_test_skips_in_its_body: "tests/test_a.py", PYTHON, python("    user = login", "    pytest.skip('flaky')\n    user = login"), { skipped: ["test_login"] };
    a_python_test_returns_at_once: "tests/test_a.py", PYTHON, python("    user = login", "    return\n    user = login"), { skipped: ["test_login"] };
    a_python_module_is_marked: "tests/test_a.py", PYTHON, python("import pytest\n", "import pytest\npytestmark = pytest.mark.skip\n"), { skipped: ["test_login", "test_logout"] };
    a_python_assertion_becomes_true: "tests/test_a.py", PYTHON, python("assert user.name == 'ann'", "assert True"), { emptied: ["test_login"] };
    a_python_assertion_becomes_one_is_one: "tests/test_a.py", PYTHON, python("assert logout() is None", "assert 1 == 1"), { emptied: ["test_logout"] };
    a_python_assertion_becomes_pass: "tests/test_a.py", PYTHON, python("assert logout() is None", "pass"), { emptied: ["test_logout"] };
    a_python_assertion_is_commented_out: "tests/test_a.py", PYTHON, python("    assert user", "    # assert user"), { emptied: ["test_login"] };
    a_python_assertion_goes_and_its_expectation_stays: "tests/test_a.py", PYTHON, python("assert user.name == 'ann'", "expected = 'ann'"), { emptied: ["test_login"] };
    a_python_expectation_is_changed: "tests/test_a.py", PYTHON, python("== 'ann'", "== 'bob'"), { edited: ["test_login"] };
    a_python_call_loses_its_brackets: "tests/test_a.py", "def test_a():\n    assert user.is_valid()\n", "def test_a():\n    assert user.is_valid\n", { edited: ["test_a"] };
    a_python_test_is_wrapped_in_try: "tests/test_a.py", PYTHON, python("    assert logout() is None", "    try:\n        assert logout() is None\n    except Exception:\n        pass"), { edited: ["test_logout"] };
    a_new_python_test_asserts_nothing: "tests/test_a.py", PYTHON, format!("{PYTHON}\ndef test_more():\n    pass\n"), { emptied: ["test_more"] };
    a_new_python_test_asserts_true: "tests/test_a.py", "", "def test_more():\n    assert True\n", { emptied: ["test_more"] };
    a_case_of_a_python_test_is_taken_out: "tests/test_a.py",
        "@pytest.mark.parametrize('n', [\n    1,\n    2,\n])\ndef test_n(n):\n    assert f(n)\n",
        "@pytest.mark.parametrize('n', [\n    1,\n])\ndef test_n(n):\n    assert f(n)\n", { edited: ["test_n"] };
    a_unittest_class_is_skipped: "tests/test_a.py",
        "class LoginTest(TestCase):\n    def test_a(self):\n        self.assertEqual(f(), 1)\n\n    def test_b(self):\n        self.assertTrue(g())\n",
        "@unittest.skip('later')\nclass LoginTest(TestCase):\n    def test_a(self):\n        self.assertEqual(f(), 1)\n\n    def test_b(self):\n        self.assertTrue(g())\n",
        { skipped: ["test_a", "test_b"] };
    a_unittest_assertion_becomes_true: "tests/test_a.py",
        "class T(TestCase):\n    def test_a(self):\n        self.assertEqual(f(), 1)\n",
        "class T(TestCase):\n    def test_a(self):\n        self.assertTrue(True)\n", { emptied: ["test_a"] };
}

const SCRIPT: &str = "describe('cart', () => {
  it('adds', async () => {
    const cart = await add(1);
    expect(cart.size).toBe(1);
  });

  test.each([[1, 2], [2, 3]])('counts %s', (a, b) => {
    expect(next(a)).toBe(b);
  });
});
";

fn script(from: &str, to: &str) -> String {
    assert!(SCRIPT.contains(from), "the example has no `{from}`");
    SCRIPT.replace(from, to)
}

changes! {
    a_jest_test_is_deleted: "src/cart.test.ts", SCRIPT, "describe('cart', () => {\n  it('adds', async () => {\n    const cart = await add(1);\n    expect(cart.size).toBe(1);\n  });\n});\n", { removed: ["cart > counts %s"] };
    a_jest_test_gets_skip: "src/cart.test.ts", SCRIPT, script("it('adds'", "it.skip('adds'"), { skipped: ["cart > adds"] };
    a_jest_test_becomes_xit: "src/cart.test.ts", SCRIPT, script("it('adds'", "xit('adds'"), { skipped: ["cart > adds"] };
    a_jest_test_becomes_todo: "src/cart.test.ts", SCRIPT, "describe('cart', () => {\n  it.todo('adds');\n\n  test.each([[1, 2], [2, 3]])('counts %s', (a, b) => {\n    expect(next(a)).toBe(b);\n  });\n});\n", { skipped: ["cart > adds"] };
    a_jest_group_gets_skip: "src/cart.test.ts", SCRIPT, script("describe('cart'", "describe.skip('cart'"), { skipped: ["cart > adds", "cart > counts %s"] };
    a_jest_test_gets_only: "src/cart.test.ts", SCRIPT, script("it('adds'", "it.only('adds'"), { skipped: ["everything but cart > adds (only)"] };
    a_jest_test_becomes_fit: "src/cart.test.ts", SCRIPT, script("it('adds'", "fit('adds'"), { skipped: ["everything but cart > adds (only)"] };
    a_jest_assertion_becomes_true: "src/cart.test.ts", SCRIPT, script("expect(cart.size).toBe(1)", "expect(true).toBe(true)"), { emptied: ["cart > adds"] };
    a_jest_assertion_is_taken_out: "src/cart.test.ts", SCRIPT, script("    expect(cart.size).toBe(1);\n", ""), { emptied: ["cart > adds"] };
    a_jest_matcher_is_no_longer_called: "src/cart.test.ts", SCRIPT, script("toBe(1)", "toBeTruthy"), { edited: ["cart > adds"] };
    a_jest_expectation_is_changed: "src/cart.test.ts", SCRIPT, script("toBe(1)", "toBe(0)"), { edited: ["cart > adds"] };
    a_case_of_a_jest_table_is_taken_out: "src/cart.test.ts", SCRIPT, script(", [2, 3]", ""), { edited: ["cart > counts %s"] };
    a_mocha_test_skips_itself: "test/a.js", "it('a', function () {\n  assert.equal(f(), 1);\n});\n", "it('a', function () {\n  this.skip();\n  assert.equal(f(), 1);\n});\n", { skipped: ["a"] };
    a_new_jest_test_asserts_nothing: "src/a.test.js", "", "test('a', () => {\n});\n", { emptied: ["a"] };

    a_rust_test_is_deleted: "src/lib.rs", "#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {\n        assert_eq!(add(1, 1), 2);\n    }\n}\n", "#[cfg(test)]\nmod tests {}\n", { removed: ["adds"] };
    a_rust_test_loses_its_attribute: "src/lib.rs", "#[test]\nfn adds() {\n    assert_eq!(add(1, 1), 2);\n}\n", "fn adds() {\n    assert_eq!(add(1, 1), 2);\n}\n", { removed: ["adds"] };
    a_rust_test_is_ignored: "src/lib.rs", "#[tokio::test]\nasync fn adds() {\n    assert_eq!(add(1, 1).await, 2);\n}\n", "#[tokio::test]\n#[ignore = \"slow\"]\nasync fn adds() {\n    assert_eq!(add(1, 1).await, 2);\n}\n", { skipped: ["adds"] };
    a_rust_test_is_compiled_out: "src/lib.rs", "#[test]\nfn adds() {\n    assert_eq!(add(1, 1), 2);\n}\n", "#[test]\n#[cfg(any())]\nfn adds() {\n    assert_eq!(add(1, 1), 2);\n}\n", { skipped: ["adds"] };
    a_rust_test_returns_at_once: "src/lib.rs", "#[test]\nfn adds() -> Result<()> {\n    assert_eq!(add(1, 1)?, 2);\n    Ok(())\n}\n", "#[test]\nfn adds() -> Result<()> {\n    return Ok(());\n    assert_eq!(add(1, 1)?, 2);\n    Ok(())\n}\n", { skipped: ["adds"] };
    a_rust_assertion_becomes_true: "src/lib.rs", "#[test]\nfn adds() {\n    let sum = add(1, 1);\n    assert_eq!(sum, 2);\n}\n", "#[test]\nfn adds() {\n    let sum = add(1, 1);\n    assert!(true);\n}\n", { emptied: ["adds"] };
    a_rust_assertion_goes_and_an_unwrap_stays: "src/lib.rs", "#[test]\nfn adds() {\n    let sum = add(1, 1).expect(\"a sum\");\n    assert_eq!(sum, 2);\n}\n", "#[test]\nfn adds() {\n    let _ = add(1, 1).expect(\"a sum\");\n}\n", { emptied: ["adds"] };
    a_rust_test_is_to_panic: "src/lib.rs", "#[test]\nfn adds() {\n    assert_eq!(add(1, 1), 2);\n}\n", "#[test]\n#[should_panic]\nfn adds() {\n    assert_eq!(add(1, 1), 2);\n}\n", { edited: ["adds"] };
    a_case_of_an_rstest_is_taken_out: "tests/a.rs", "#[rstest]\n#[case(1, 2)]\n#[case(2, 3)]\nfn next(#[case] a: u8, #[case] b: u8) {\n    assert_eq!(f(a), b);\n}\n", "#[rstest]\n#[case(1, 2)]\nfn next(#[case] a: u8, #[case] b: u8) {\n    assert_eq!(f(a), b);\n}\n", { edited: ["next"] };

    a_go_test_is_deleted: "a_test.go", "package a\n\nfunc TestA(t *testing.T) {\n\tif f() != 1 {\n\t\tt.Error(\"f\")\n\t}\n}\n", "package a\n", { removed: ["TestA"] };
    a_go_test_skips: "a_test.go", "func TestA(t *testing.T) {\n\tif f() != 1 {\n\t\tt.Error(\"f\")\n\t}\n}\n", "func TestA(t *testing.T) {\n\tt.Skip(\"flaky\")\n\tif f() != 1 {\n\t\tt.Error(\"f\")\n\t}\n}\n", { skipped: ["TestA"] };
    a_go_assertion_is_taken_out: "a_test.go", "func TestA(t *testing.T) {\n\tgot := f()\n\tif got != 1 {\n\t\tt.Fatalf(\"got %d\", got)\n\t}\n}\n", "func TestA(t *testing.T) {\n\tgot := f()\n\t_ = got\n}\n", { emptied: ["TestA"] };
    a_go_assertion_becomes_true: "a_test.go", "func TestA(t *testing.T) {\n\tassert.Equal(t, 1, f())\n}\n", "func TestA(t *testing.T) {\n\tassert.True(t, true)\n}\n", { emptied: ["TestA"] };
    a_method_of_a_go_suite_is_deleted: "a_test.go", "func (s *Suite) TestA() {\n\ts.Require().Equal(1, f())\n}\n\nfunc (s *Suite) TestB() {\n\ts.Require().Equal(2, g())\n}\n", "func (s *Suite) TestB() {\n\ts.Require().Equal(2, g())\n}\n", { removed: ["TestA"] };

    an_rspec_example_is_deleted: "spec/cart_spec.rb", "RSpec.describe Cart do\n  it \"adds\" do\n    expect(cart.size).to eq(1)\n  end\n\n  it \"counts\" do\n    expect(cart.count).to eq(2)\n  end\nend\n", "RSpec.describe Cart do\n  it \"adds\" do\n    expect(cart.size).to eq(1)\n  end\nend\n", { removed: ["Cart > counts"] };
    an_rspec_example_becomes_xit: "spec/cart_spec.rb", "describe Cart do\n  it \"adds\" do\n    expect(cart.size).to eq(1)\n  end\nend\n", "describe Cart do\n  xit \"adds\" do\n    expect(cart.size).to eq(1)\n  end\nend\n", { skipped: ["Cart > adds"] };
    an_rspec_example_is_skipped_by_metadata: "spec/cart_spec.rb", "it \"adds\" do\n  expect(cart.size).to eq(1)\nend\n", "it \"adds\", skip: \"later\" do\n  expect(cart.size).to eq(1)\nend\n", { skipped: ["adds"] };
    an_rspec_expectation_becomes_true: "spec/cart_spec.rb", "it \"adds\" do\n  expect(cart.size).to eq(1)\nend\n", "it \"adds\" do\n  expect(true).to eq(true)\nend\n", { emptied: ["adds"] };
    a_minitest_test_skips: "test/cart_test.rb", "def test_adds\n  assert_equal 1, cart.size\nend\n", "def test_adds\n  skip \"later\"\n  assert_equal 1, cart.size\nend\n", { skipped: ["test_adds"] };

    a_junit_test_is_disabled: "src/test/java/CartTest.java", "class CartTest {\n    @Test\n    void adds() throws Exception {\n        assertEquals(1, cart.size());\n    }\n}\n", "class CartTest {\n    @Test\n    @Disabled(\"later\")\n    void adds() throws Exception {\n        assertEquals(1, cart.size());\n    }\n}\n", { skipped: ["adds"] };
    a_junit_assertion_becomes_true: "src/test/java/CartTest.java", "class CartTest {\n    @Test\n    public void adds() throws Exception {\n        assertEquals(1, cart.size());\n    }\n}\n", "class CartTest {\n    @Test\n    public void adds() throws Exception {\n        assertTrue(true);\n    }\n}\n", { emptied: ["adds"] };
    a_testng_test_is_not_enabled: "src/test/java/CartTest.java", "@Test\npublic void adds() {\n    assertEquals(1, cart.size());\n}\n", "@Test(enabled = false)\npublic void adds() {\n    assertEquals(1, cart.size());\n}\n", { skipped: ["adds"] };
    a_kotlin_test_is_deleted: "src/test/kotlin/CartTest.kt", "class CartTest {\n    @Test\n    fun `adds one`() {\n        assertEquals(1, cart.size)\n    }\n}\n", "class CartTest {\n}\n", { removed: ["adds one"] };
    an_xunit_fact_is_skipped: "tests/CartTests.cs", "public class CartTests\n{\n    [Fact]\n    public void Adds()\n    {\n        Assert.Equal(1, cart.Size);\n    }\n}\n", "public class CartTests\n{\n    [Fact(Skip = \"later\")]\n    public void Adds()\n    {\n        Assert.Equal(1, cart.Size);\n    }\n}\n", { skipped: ["Adds"] };
    an_nunit_test_is_ignored: "tests/CartTests.cs", "[Test]\npublic async Task Adds()\n{\n    Assert.That(cart.Size, Is.EqualTo(1));\n}\n", "[Test]\n[Ignore(\"later\")]\npublic async Task Adds()\n{\n    Assert.That(cart.Size, Is.EqualTo(1));\n}\n", { skipped: ["Adds"] };
    an_xunit_assertion_becomes_true: "tests/CartTests.cs", "[Fact]\npublic void Adds()\n{\n    Assert.Equal(1, cart.Size);\n}\n", "[Fact]\npublic void Adds()\n{\n    Assert.True(true);\n}\n", { emptied: ["Adds"] };

    a_phpunit_test_is_skipped: "tests/CartTest.php", "class CartTest extends TestCase\n{\n    public function testAdds(): void\n    {\n        $this->assertSame(1, $cart->size());\n    }\n}\n", "class CartTest extends TestCase\n{\n    public function testAdds(): void\n    {\n        $this->markTestSkipped('later');\n        $this->assertSame(1, $cart->size());\n    }\n}\n", { skipped: ["testAdds"] };
    a_phpunit_assertion_becomes_true: "tests/CartTest.php", "class CartTest extends TestCase\n{\n    #[Test]\n    public function adds(): void\n    {\n        $this->assertSame(1, $cart->size());\n    }\n}\n", "class CartTest extends TestCase\n{\n    #[Test]\n    public function adds(): void\n    {\n        $this->assertTrue(true);\n    }\n}\n", { emptied: ["adds"] };
    an_elixir_test_is_tagged: "test/cart_test.exs", "describe \"cart\" do\n  test \"adds\" do\n    assert Cart.size() == 1\n  end\nend\n", "describe \"cart\" do\n  @tag :skip\n  test \"adds\" do\n    assert Cart.size() == 1\n  end\nend\n", { skipped: ["cart > adds"] };
    an_elixir_assertion_becomes_true: "test/cart_test.exs", "test \"adds\", %{cart: cart} do\n  assert Cart.size(cart) == 1\nend\n", "test \"adds\", %{cart: cart} do\n  assert true\nend\n", { emptied: ["adds"] };
    an_xctest_is_deleted: "Tests/CartTests.swift", "final class CartTests: XCTestCase {\n    func testAdds() {\n        XCTAssertEqual(cart.size, 1)\n    }\n}\n", "final class CartTests: XCTestCase {\n}\n", { removed: ["testAdds"] };
    a_swift_test_is_disabled: "Tests/CartTests.swift", "@Test func adds() {\n    #expect(cart.size == 1)\n}\n", "@Test(.disabled(\"later\")) func adds() {\n    #expect(cart.size == 1)\n}\n", { skipped: ["adds"] };
    a_bats_test_skips: "test/cli.bats", "@test \"prints help\" {\n  run cli --help\n  [ \"$status\" -eq 0 ]\n}\n", "@test \"prints help\" {\n  skip\n  run cli --help\n  [ \"$status\" -eq 0 ]\n}\n", { skipped: ["prints help"] };
    a_bats_assertion_is_taken_out: "test/cli.bats", "@test \"prints help\" {\n  run cli --help\n  [ \"$status\" -eq 0 ]\n}\n", "@test \"prints help\" {\n  run cli --help\n}\n", { emptied: ["prints help"] };
    a_zig_test_is_deleted: "src/cart.zig", "test \"adds\" {\n    try std.testing.expectEqual(@as(u8, 1), cart.size());\n}\n", "const std = @import(\"std\");\n", { removed: ["adds"] };
    a_googletest_test_is_disabled: "cart_test.cc", "TEST(Cart, Adds) {\n  EXPECT_EQ(cart.size(), 1);\n}\n", "TEST(Cart, DISABLED_Adds) {\n  EXPECT_EQ(cart.size(), 1);\n}\n", { skipped: ["DISABLED_Adds"] };
    a_dart_test_is_deleted: "test/cart_test.dart", "group('cart', () {\n  test('adds', () {\n    expect(cart.size, 1);\n  });\n});\n", "group('cart', () {\n});\n", { removed: ["cart > adds"] };

    a_snapshot_is_changed: "src/__snapshots__/a.test.ts.snap", "exports[`a`] = `1`;", "exports[`a`] = `2`;", { goldens: ["src/__snapshots__/a.test.ts.snap"] };
    a_golden_file_is_deleted: "testdata/help.golden", "usage: x", "", { goldens: ["testdata/help.golden"] };
}
