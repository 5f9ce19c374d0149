//! Which tests a run selected, as far as its command line says.

use serde::{Deserialize, Serialize};

/// The tests a run selected: all of them where nothing is named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TestSelection {
    /// Files, folders (ending in `/`) and test ids (`path::name`), from the top of the project.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// Expressions over the names of tests: `-k login`, `--test api`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<String>,
}

impl TestSelection {
    /// Whether nothing is left out.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.paths.is_empty() && self.filters.is_empty()
    }

    /// Whether it may run one of these tests; a feature that lists none is covered by any run.
    #[must_use]
    pub fn covers(&self, tests: &[String]) -> bool {
        if tests.is_empty() || self.is_all() {
            return true;
        }
        if !self.paths.is_empty() {
            return tests.iter().any(|test| self.paths.iter().any(|path| is_within(test, path) || is_within(path, test)));
        }
        let name = |test: &str| test.rsplit(['/', ':', ' ']).next().unwrap_or_default().to_lowercase();
        tests.iter().any(|test| {
            let (whole, name) = (test.to_lowercase(), name(test));
            self.filters.iter().map(|filter| filter.to_lowercase()).any(|filter| whole.contains(&filter) || filter.contains(&name))
        })
    }

    /// Whether it selects everything that the other does.
    #[must_use]
    pub fn contains(&self, other: &Self) -> bool {
        let has_paths = self.paths.is_empty()
            || (!other.paths.is_empty() && other.paths.iter().all(|path| self.paths.iter().any(|own| is_within(path, own))));
        has_paths && (self.filters.is_empty() || self.filters == other.filters)
    }
}

/// Whether a test or a path is `whole` or a part of it.
fn is_within(part: &str, whole: &str) -> bool {
    let rest = part.strip_prefix(whole.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || rest.starts_with("::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(paths: &[&str], filters: &[&str]) -> TestSelection {
        let owned = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        TestSelection { paths: owned(paths), filters: owned(filters) }
    }

    #[test]
    fn a_run_covers_a_feature_if_it_runs_one_of_its_tests() {
        let tests = ["tests/test_login.py".to_owned(), "auth::tests::locks".to_owned()];
        for (selection, covers) in [
            (of(&[], &[]), true),
            (of(&["tests/"], &[]), true),
            (of(&["tests/test_login.py::test_ok"], &[]), true),
            (of(&["tests/test_login.py"], &["ok"]), true),
            (of(&["tests/test_log"], &[]), false),
            (of(&["tests/test_pay.py"], &[]), false),
            (of(&[], &["login"]), true),
            (of(&[], &["test(locks)"]), true),
            (of(&[], &["pay"]), false),
        ] {
            assert_eq!(selection.covers(&tests), covers, "{selection:?}");
        }
        assert!(of(&["tests/test_pay.py"], &[]).covers(&[]));
    }

    #[test]
    fn a_wider_selection_contains_a_narrower_one() {
        assert!(of(&[], &[]).contains(&of(&["tests/a.py"], &["x"])));
        assert!(of(&["tests/"], &[]).contains(&of(&["tests/a.py"], &["x"])));
        assert!(!of(&["tests/"], &[]).contains(&of(&[], &[])));
        assert!(!of(&["tests/a.py"], &[]).contains(&of(&["tests/"], &[])));
        assert!(!of(&[], &["x"]).contains(&of(&[], &[])));
    }
}
