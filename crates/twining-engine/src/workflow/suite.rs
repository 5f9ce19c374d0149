//! Which tests a run ran, as far as its command line tells: enough to say whether
//! a run that failed speaks of the same tests as one that passed before it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// Names that are kept of one suite; with more it is taken for all there is.
const MOST_NAMED: usize = 16;

/// Tests that are run together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Suite {
    /// The working tree they are run in: another one may hold other code.
    pub tree: String,
    /// Whose tests they are: `cargo`, `python`, `js` …; none where a script of the project decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family: Option<String>,
    /// The folders they are run in, from the top of the working tree.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub folders: BTreeSet<String>,
    /// Which of them; all, where none is named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<String>,
}

impl Suite {
    /// A suite, with what it names; too many names are as good as none.
    #[must_use]
    pub fn new(tree: &str, family: Option<&str>, folders: BTreeSet<String>, named: &[String]) -> Self {
        let named = if named.len() > MOST_NAMED { Vec::new() } else { named.to_vec() };
        Self { tree: tree.to_owned(), family: family.map(str::to_owned), folders, named }
    }

    /// Whether both may have run the same test.
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        let is_family = self.family.is_none() || other.family.is_none() || self.family == other.family;
        self.tree == other.tree
            && is_family
            && any_meet(self.folders.iter(), &other.folders.iter())
            && any_meet(self.named.iter(), &other.named.iter())
    }
}

/// Whether one of these is, holds or lies in one of those; nothing at all is everything.
fn any_meet<'a, I: Iterator<Item = &'a String> + Clone>(these: I, those: &I) -> bool {
    let is_all = |names: &I| names.clone().next().is_none();
    is_all(&these) || is_all(those) || these.into_iter().any(|this| those.clone().any(|that| holds(this, that) || holds(that, this)))
}

/// Whether a name is a part of another: `tests` of `tests/a.py`, `tests.a` and `tests::a`.
fn holds(outer: &str, inner: &str) -> bool {
    let outer = outer.trim_start_matches("./").trim_end_matches(['/', '.', ':']);
    let inner = inner.trim_start_matches("./");
    outer.is_empty() || inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '.', ':']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suite(family: Option<&str>, folder: &str, named: &[&str]) -> Suite {
        let named: Vec<String> = named.iter().map(|&name| name.to_owned()).collect();
        Suite::new("tree", family, BTreeSet::from([folder.to_owned()]), &named)
    }

    #[test]
    fn suites_meet_where_one_may_hold_a_test_of_the_other() {
        let all = suite(Some("python"), "", &[]);
        for other in [
            suite(Some("python"), "", &["tests/a.py"]),
            suite(Some("python"), "app", &[]),
            suite(None, "", &[]),
            suite(Some("python"), "", &["tests"]),
        ] {
            assert!(all.meets(&other) && other.meets(&all), "{other:?}");
        }
        let some = suite(Some("python"), "app", &["tests"]);
        assert!(some.meets(&suite(Some("python"), "app", &["tests.test_a"])));
        for other in [
            suite(Some("cargo"), "app", &[]),
            suite(Some("python"), "web", &[]),
            suite(Some("python"), "application", &[]),
            suite(Some("python"), "app", &["tests_of_web"]),
            Suite { tree: "another".into(), ..some.clone() },
        ] {
            assert!(!some.meets(&other) && !other.meets(&some), "{other:?}");
        }
    }
}
