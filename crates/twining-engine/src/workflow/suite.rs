//! Which tests a run ran, as far as its command line tells: enough to say whether
//! a run that failed speaks of the same tests as one that passed before it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// Names that are kept of one suite; with more it is taken for all there is.
const MOST_NAMED: usize = 16;

/// How the program of a suite begins that is one script of a package, which is handed names to run less.
pub const PACKAGE_SCRIPT: &str = "package script ";

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
    /// The program that runs them; none where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Whether that program runs what a file of the project says, by name.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_script: bool,
    /// Options that leave some of them out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub narrowed: Vec<String>,
}

impl Suite {
    /// A suite, with what it names; too many names are as good as none.
    #[must_use]
    pub fn new(tree: &str, family: Option<&str>, folders: BTreeSet<String>, named: &[String]) -> Self {
        let is_cut = named.len() > MOST_NAMED;
        let narrowed = if is_cut { vec![format!("{} names", named.len())] } else { Vec::new() };
        let named = if is_cut { Vec::new() } else { named.to_vec() };
        Self { tree: tree.to_owned(), family: family.map(str::to_owned), folders, named, narrowed, ..Self::default() }
    }

    /// The same, with what runs them and what it leaves out.
    #[must_use]
    pub fn run_by(mut self, program: &str, is_script: bool, narrowed: &[String]) -> Self {
        (self.program, self.is_script) = (Some(program.to_owned()), is_script);
        self.narrowed.extend(narrowed.iter().take(MOST_NAMED).cloned());
        self
    }

    /// Whether these tests are all of the others, or more: run by the same program, in
    /// the same folder or one around it, with no test left out that was not before.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        let is_all = self.narrowed.iter().all(|option| other.narrowed.contains(option));
        let names_all = self.named.is_empty() || (!other.named.is_empty() && other.named.iter().all(|name| self.names(name)));
        // What a script runs under another name is another thing.
        let is_package = self.program.as_deref().is_some_and(|program| program.starts_with(PACKAGE_SCRIPT));
        let is_same_script = !self.is_script || self.named == other.named || (is_package && self.named.is_empty());
        self.runs_where(other) && is_all && names_all && is_same_script
    }

    /// Whether each of these tests, by name, is among them: a run of just what failed.
    #[must_use]
    pub fn covers_tests(&self, other: &Self, tests: &[String]) -> bool {
        let names_all = !tests.is_empty() && tests.iter().all(|test| self.names(test));
        self.runs_where(other) && !self.is_script && self.narrowed.is_empty() && names_all
    }

    /// Whether a test or a file of tests is among those that are named.
    pub(super) fn names(&self, test: &str) -> bool {
        self.named.iter().any(|name| holds(name, test))
    }

    fn runs_where(&self, other: &Self) -> bool {
        let is_around = other.folders.iter().all(|folder| self.folders.iter().any(|around| holds(around, folder)));
        self.tree == other.tree
            && self.program.is_some()
            && self.program == other.program
            && !self.folders.is_empty()
            && !other.folders.is_empty()
            && is_around
    }

    /// Whether both are run in folders that have nothing in common.
    #[must_use]
    pub fn is_apart(&self, other: &Self) -> bool {
        !any_meet(self.folders.iter(), &other.folders.iter())
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

/// Whether a name is a part of another, or the same: `tests` of `tests/a.py`, `tests.a` and `tests::a`.
pub(super) fn holds(outer: &str, inner: &str) -> bool {
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
    fn a_suite_covers_what_it_ran_as_well_and_nothing_that_it_left_out() {
        let run = |named: &[&str], narrowed: &[&str]| {
            let narrowed: Vec<String> = narrowed.iter().map(|&option| option.to_owned()).collect();
            suite(Some("python"), "", named).run_by("pytest", false, &narrowed)
        };
        let all = run(&[], &[]);
        let (tests, one, test) = (run(&["tests"], &[]), run(&["tests/a.py"], &[]), run(&["tests/a.py::t"], &[]));
        for (wider, narrower) in [(&all, &all), (&all, &tests), (&tests, &one), (&one, &test), (&all, &run(&["x"], &["-k=x"]))] {
            assert!(wider.covers(narrower), "{wider:?} {narrower:?}");
            assert!(wider == narrower || !narrower.covers(wider), "{wider:?} {narrower:?}");
        }
        assert!(!run(&["x"], &["-k=x"]).covers(&all) && !run(&["y"], &["-k=y"]).covers(&run(&["x"], &["-k=x"])));
        assert!(one.covers_tests(&all, &["tests/a.py::t".into()]) && !one.covers_tests(&all, &["tests/b.py::t".into()]));
        let below = Suite { folders: ["app".to_owned()].into(), ..all.clone() };
        assert!(all.covers(&below) && !below.covers(&all));
        for other in [
            suite(Some("python"), "", &[]).run_by("unittest", false, &[]),
            suite(Some("python"), "", &[]),
            Suite { tree: "another".into(), ..all.clone() },
        ] {
            assert!(!other.covers(&all) && !all.covers(&other), "{other:?}");
        }
        let script = |name: &[&str]| suite(Some("js"), "", name).run_by("npm", true, &[]);
        assert!(script(&[]).covers(&script(&[])) && !script(&[]).covers(&script(&["test:e2e"])));
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
