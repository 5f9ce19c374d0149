//! What a path says: whether it is a test file, whether it is a golden file.

use crate::checks::languages::{LanguageRules, contains};

/// Whether a path is that of a test, a snapshot or a golden file, by the conventions of
/// the common runners. Tests inside a product file are found by [`super::compare_files`].
#[must_use]
pub fn is_test_file(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let has_end = |name: &str, ends: &str| ends.split(' ').any(|end| name.ends_with(end));
    let is_code = LanguageRules::of_tests(path).is_some();
    let in_folder = folders.split('/').any(|folder| {
        let lower = folder.to_ascii_lowercase();
        contains("test tests __tests__ __test__ androidtest testsuite", &lower) && extension != "md"
            || is_code
                && (contains("spec specs e2e cypress", &lower)
                    || has_end(folder, ".Tests .Test Tests _tests -tests .tests"))
    });
    let lower = stem.to_ascii_lowercase();
    let by_name = contains("test tests conftest", &lower)
        || lower.starts_with("test_")
        || has_end(&lower, ".test .spec .cy .e2e _test _tests _spec -test -spec")
        || has_end(stem, "Test Tests TestCase Spec")
        || stem.strip_prefix("Test").is_some_and(|rest| rest.starts_with(char::is_uppercase));
    in_folder || (is_code && by_name) || contains("bats feature", extension) || is_golden(path)
}

/// Whether a path holds output that tests are compared with.
pub(super) fn is_golden(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_listed = |folder| {
        contains(
            "__snapshots__ __image_snapshots__ testdata fixtures __fixtures__ golden goldens cassettes",
            folder,
        )
    };
    let marks = [".snap", ".golden", ".ambr", ".approved."];
    folders.split('/').any(is_listed)
        || marks
            .iter()
            .any(|mark| name.ends_with(mark) || mark.ends_with('.') && name.contains(mark))
}
