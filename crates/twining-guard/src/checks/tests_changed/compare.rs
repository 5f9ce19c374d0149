//! Which tests a change removed, skipped, edited or emptied of assertions.
//!
//! Two versions of a file are read as tokens, so that layout, comments, quotes and
//! trailing commas do not count: a formatter's run is no edit. Reading is by convention,
//! not by a grammar: it makes a lazy change visible and decides nothing by itself.

use std::collections::{BTreeMap, VecDeque};

use super::definitions::{TestDefinition, read_tests};
use crate::checks::languages::LanguageRules;
use crate::checks::tests_changed::definitions::AssertionStrength;
use crate::checks::tests_changed::test_files::is_golden;

/// Files larger than this are not looked at.
pub(super) const MAX_BYTES: usize = 1 << 20;
/// How long a summary may be, in characters, and how many tests of a kind it names.
pub(super) const MAX_SUMMARY: usize = 200;
pub(super) const MAX_NAMED: usize = 3;

/// What became of the tests, by their names.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct TestChanges {
    /// Defined before and not after; a renamed or moved test is not removed.
    pub removed: Vec<String>,
    /// Newly skipped, ignored or expected to fail.
    pub skipped: Vec<String>,
    /// The body or its cases changed.
    pub edited: Vec<String>,
    /// No assertion that can fail is left, or a new test has none.
    pub emptied: Vec<String>,
    /// Golden and snapshot files that changed or went, by path.
    pub goldens: Vec<String>,
}

impl TestChanges {
    /// Whether nothing is to be noted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// One line of at most 200 characters, such as
    /// `2 tests removed (test_login, test_logout), 1 skipped (test_pay)`.
    #[must_use]
    pub fn summary(&self) -> Option<String> {
        let fits = |line: &String| line.chars().count() <= MAX_SUMMARY;
        (0..=MAX_NAMED)
            .rev()
            .map(|named| self.summary_naming(named))
            .find(fits)
            .filter(|_| !self.is_empty())
    }

    fn summary_naming(&self, named: usize) -> String {
        let lists = [&self.removed, &self.skipped, &self.emptied, &self.edited, &self.goldens];
        let verbs = ["removed", "skipped", "emptied of assertions", "edited", "changed"];
        let mut parts = Vec::new();
        for (names, verb) in lists.into_iter().zip(verbs).filter(|(names, _)| !names.is_empty()) {
            let noun = match verb {
                "changed" => " golden file",
                _ if parts.is_empty() => " test",
                _ => "",
            };
            let plural = if noun.is_empty() || names.len() == 1 { "" } else { "s" };
            let more = if names.len() > named {
                format!(" and {} more", names.len() - named)
            } else {
                String::new()
            };
            let shown = if named > 0 {
                format!(" ({}{more})", names[..names.len().min(named)].join(", "))
            } else {
                String::new()
            };
            parts.push(format!("{}{noun}{plural} {verb}{shown}", names.len()));
        }
        parts.join(", ")
    }

    /// Notes what became of a test that both versions have.
    fn compare(&mut self, before: &TestDefinition, after: TestDefinition) {
        if after.skipped && !before.skipped {
            self.skipped.push(after.name);
        } else if before.strength == AssertionStrength::Asserts
            && after.strength < AssertionStrength::Asserts
        {
            self.emptied.push(after.name);
        } else if before.body != after.body {
            self.edited.push(after.name);
        }
    }
}

/// Compares the tests of a whole change: path, text before, text after. A test that moved
/// to another file is not removed.
#[must_use]
pub fn compare_files<'a>(
    files: impl IntoIterator<Item = (&'a str, Option<&'a str>, Option<&'a str>)>,
) -> TestChanges {
    const KEYS: [fn(&TestDefinition) -> String; 4] = [
        |test| format!("{}\n{}\n{}", test.path, test.name, test.body),
        |test| format!("{}\n{}", test.path, test.name),
        |test| test.body.clone(),
        |test| test.name.clone(),
    ];
    let (mut changes, mut old, mut new) = (TestChanges::default(), Vec::new(), Vec::new());
    for (path, before, after) in files.into_iter().filter(|(_, before, after)| before != after) {
        if is_golden(path) {
            changes.goldens.extend(before.map(|_| path.to_owned()));
        } else if let Some(language) = LanguageRules::of_tests(path)
            .filter(|_| before.max(after).is_none_or(|text| text.len() <= MAX_BYTES))
        {
            let (tests, known) = read_tests(path, before.unwrap_or_default(), language);
            old.extend(tests);
            let (tests, focused) = read_tests(path, after.unwrap_or_default(), language);
            let focused =
                focused.into_iter().filter(|name| tests.len() > 1 && !known.contains(name));
            changes.skipped.extend(focused.map(|name| format!("everything but {name} (only)")));
            new.extend(tests);
        }
    }
    KEYS.into_iter().for_each(|key| pair(&mut old, &mut new, key, &mut changes));
    changes.removed.extend(old.into_iter().map(|test| test.name));
    changes.emptied.extend(
        new.into_iter()
            .filter(|test| !test.skipped && test.strength == AssertionStrength::Vacuous)
            .map(|test| test.name),
    );
    changes
}

/// Compares the tests that have the same key in both versions, and takes them out.
pub(super) fn pair(
    old: &mut Vec<TestDefinition>,
    new: &mut Vec<TestDefinition>,
    key: fn(&TestDefinition) -> String,
    changes: &mut TestChanges,
) {
    let mut waiting: BTreeMap<String, VecDeque<TestDefinition>> = BTreeMap::new();
    for test in new.drain(..) {
        waiting.entry(key(&test)).or_default().push_back(test);
    }
    old.retain(|test| {
        let found = waiting.get_mut(&key(test)).and_then(VecDeque::pop_front);
        found.map(|found| changes.compare(test, found)).is_none()
    });
    new.extend(waiting.into_values().flatten());
}
