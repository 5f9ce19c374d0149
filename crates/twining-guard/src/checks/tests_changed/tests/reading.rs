//! Paths, and the line that people read.

use crate::checks::tests_changed::compare::TestChanges;
use crate::checks::tests_changed::is_test_file;

#[test]
fn test_files_are_known_by_the_conventions_of_their_runners() {
    let paths = "tests/test_a.py test_a.py a_test.py app/tests.py conftest.py src/a.test.ts src/a.spec.jsx src/__tests__/a.js a_test.go tests/a.rs \
        src/a_tests.rs src/cart/tests.rs spec/a_spec.rb test/a_test.rb src/test/java/a/CartTest.java CartTest.kt TestCart.java CartTests.cs \
        Shop.Tests/Cart.cs tests/CartTest.php Tests/ShopTests/Cart.swift test/a_test.exs test/a.bats cypress/e2e/a.cy.ts \
        src/__snapshots__/a.snap testdata/a.txt tests/fixtures/a.json a.golden tests/cassettes/a.yaml";
    let missed: Vec<&str> = paths.split_whitespace().filter(|path| !is_test_file(path)).collect();
    assert_eq!(missed, Vec::<&str>::new());
}

#[test]
fn product_files_are_no_test_files() {
    let paths = "src/main.rs src/contest.py src/latest.js src/testing.rs README.md docs/spec/api.md src/Latest.java src/protests/a.py \
        src/attestation.go tests/README.md src/requests.py Testimony.java src/spectrum.ts";
    let wrong: Vec<&str> = paths.split_whitespace().filter(|path| is_test_file(path)).collect();
    assert_eq!(wrong, Vec::<&str>::new());
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

#[test]
fn a_summary_counts_and_names() {
    let changes = TestChanges {
        removed: names(&["test_login", "test_logout"]),
        skipped: names(&["test_pay"]),
        ..TestChanges::default()
    };
    assert_eq!(
        changes.summary().as_deref(),
        Some("2 tests removed (test_login, test_logout), 1 skipped (test_pay)")
    );
}

#[test]
fn a_summary_names_three_of_a_kind() {
    let changes = TestChanges {
        edited: names(&["a", "b", "c", "d", "e"]),
        goldens: names(&["x.snap"]),
        ..TestChanges::default()
    };
    assert_eq!(
        changes.summary().as_deref(),
        Some("5 tests edited (a, b, c and 2 more), 1 golden file changed (x.snap)")
    );
}

#[test]
fn a_summary_of_long_names_stays_short() {
    let long = names(&["x".repeat(90).as_str(), "y".repeat(90).as_str(), "z".repeat(90).as_str()]);
    let changes = TestChanges {
        removed: long.clone(),
        emptied: long.clone(),
        goldens: long,
        ..TestChanges::default()
    };
    assert_eq!(
        changes.summary().as_deref(),
        Some("3 tests removed, 3 emptied of assertions, 3 golden files changed")
    );
}

#[test]
fn nothing_changed_has_no_summary() {
    assert!(TestChanges::default().is_empty());
    assert_eq!(TestChanges::default().summary(), None);
}
