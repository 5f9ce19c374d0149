//! Rule 3: a feature that becomes `tested` is proven by the JUnit of a test job.

use std::collections::BTreeSet;

use twining_guard::checks::tests_changed::{compare_files, is_test_file};
use twining_model::text::excerpt;
use twining_store::feature_list_paths;

use crate::governance::reports::{TestCase, test_cases};
use crate::verify::ci::pull_request::{ChangedFile, PullRequest};
use crate::verify::ci::report::{CiEvidence, CiFinding, CiOptions, Severity};
use crate::workflow::{Feature, FeatureList, FeatureStatus};

const RULE: &str = "features";
/// Tests that a message names, and that a note lists.
const NAMED: usize = 3;
const LISTED: usize = 12;

/// What the rule found, bad and good.
#[derive(Default)]
pub(in crate::verify) struct FeatureResults {
    pub(in crate::verify) findings: Vec<CiFinding>,
    pub(in crate::verify) evidence: Vec<CiEvidence>,
}

pub(in crate::verify) fn check(
    request: &PullRequest<'_>,
    options: &CiOptions,
    skipped: &mut Vec<String>,
) -> FeatureResults {
    let mut proven = FeatureResults::default();
    let (head, base) = (
        read_all(&options.junit, &mut proven.findings),
        read_all(&options.base_junit, &mut proven.findings),
    );
    let mut is_any_new = false;
    for path in feature_list_paths() {
        let list = |text: Option<&str>| text.and_then(|text| FeatureList::parse(text).ok());
        let Some(file) = request.changed_at(&path) else {
            let unchanged = request
                .base_files
                .get(&path)
                .and_then(|bytes| list(std::str::from_utf8(bytes).ok()));
            proven
                .evidence
                .extend(unchanged.iter().flat_map(|list| completed(list, head.as_deref())));
            continue;
        };
        let (before, after) = (
            list(file.text_before()).unwrap_or_default(),
            list(file.text_after()).unwrap_or_default(),
        );
        let in_base = request
            .base_files
            .get(&path)
            .and_then(|bytes| list(std::str::from_utf8(bytes).ok()))
            .unwrap_or_default();
        let is_new = |feature: &&Feature| {
            feature.tested && !before.get(&feature.id).is_some_and(|known| known.tested)
        };
        for feature in after.features.iter().filter(is_new) {
            is_any_new = true;
            let own: BTreeSet<String> = [&in_base, &after]
                .iter()
                .filter_map(|list| list.get(&feature.id))
                .flat_map(|own| own.tests.clone())
                .collect();
            match judge(feature, &own, head.as_deref()) {
                Ok(tests) => proven.evidence.push(CiEvidence::new(&feature.id, tests)),
                Err(why) => proven.findings.push(CiFinding::at(RULE, Severity::Error, &path, &why)),
            }
        }
        proven.evidence.extend(completed(&after, head.as_deref()));
        let gone: Vec<&str> = before
            .features
            .iter()
            .map(|known| known.id.as_str())
            .filter(|id| after.get(id).is_none())
            .collect();
        if !gone.is_empty() {
            let message = format!(
                "no longer in the list: {}. Review whether this is intended.",
                excerpt(&gone.join(", "), 200)
            );
            proven.findings.push(CiFinding::at(RULE, Severity::Note, &path, &message));
        }
    }
    match (&head, &base) {
        (Some(head), Some(base)) => proven.findings.extend(fewer(head, base, is_any_new)),
        (Some(_), None) => skipped.push(
            "features: no --base-junit was given, so the number of tests was not compared"
                .to_owned(),
        ),
        (None, _) => {
            skipped.push("features were not checked: give --junit".to_owned());
        }
    }
    proven.findings.extend(tests_changed(request));
    proven
}

/// Features that wait for a test and have one that passes. What is not proven yet is no
/// finding: nobody calls it tested.
fn completed(list: &FeatureList, cases: Option<&[TestCase]>) -> Vec<CiEvidence> {
    let waiting = list.features.iter().filter(|feature| feature.status == FeatureStatus::Completed);
    let proven = |feature: &Feature| {
        let own = feature.tests.iter().cloned().collect();
        Some(CiEvidence::new(&feature.id, judge(feature, &own, cases).ok()?))
    };
    waiting.filter_map(proven).collect()
}

/// The test cases of all reports; `None` if there is no report. An unreadable one proves nothing,
/// and is reported.
fn read_all(reports: &[(String, Vec<u8>)], findings: &mut Vec<CiFinding>) -> Option<Vec<TestCase>> {
    if reports.is_empty() {
        return None;
    }
    let mut cases = Vec::new();
    for (name, bytes) in reports {
        match test_cases(bytes) {
            Ok(read) => cases.extend(read),
            Err(why) => {
                let message = format!(
                    "the JUnit report `{}` {why}. Run the tests again and pass the complete file.",
                    excerpt(name, 80)
                );
                findings.push(CiFinding::of(RULE, Severity::Error, &message));
            }
        }
    }
    Some(cases)
}

/// How many tests passed for a feature, or why it is not proven.
fn judge(
    feature: &Feature,
    own: &BTreeSet<String>,
    cases: Option<&[TestCase]>,
) -> Result<u64, String> {
    let id = excerpt(&feature.id, 60);
    let cases = cases.ok_or_else(|| {
        format!("feature `{id}` became tested without proof: no test report was given. Run its tests in a separate job and pass the report with --junit.")
    })?;
    let count = |cases: &[&TestCase], end: bool| {
        cases.iter().filter(|case| case.passed == Some(end)).count()
    };
    if own.is_empty() {
        let all: Vec<&TestCase> = cases.iter().collect();
        let (passed, failed) = (count(&all, true), count(&all, false));
        return match (passed, failed) {
            (0, _) => Err(format!(
                "feature `{id}` became tested, but no test in the JUnit report passed. Run its tests in the test job."
            )),
            (_, 0) => Ok(passed as u64),
            (_, failed) => Err(format!(
                "feature `{id}` became tested while {failed} tests fail, and it lists no tests of its own. Fix them, or name its tests in `tests` of the feature list."
            )),
        };
    }
    let mut passed = 0;
    let (mut missing, mut failing) = (Vec::new(), Vec::new());
    for test in own {
        let named: Vec<&TestCase> = cases.iter().filter(|case| is_named(test, case)).collect();
        match (count(&named, true), count(&named, false)) {
            (_, failed) if failed > 0 => failing.push(test.as_str()),
            (0, _) => missing.push(test.as_str()),
            (some, _) => passed += some as u64,
        }
    }
    if !failing.is_empty() {
        return Err(format!(
            "feature `{id}` became tested, but its tests fail: {}. Fix them before you mark it tested.",
            few(&failing, NAMED, |name| format!("`{}`", excerpt(name, 80)))
        ));
    }
    if !missing.is_empty() {
        return Err(format!(
            "feature `{id}` became tested, but the JUnit report shows no pass of its tests: {}. Run them in the test job, or correct `tests` in the feature list.",
            few(&missing, NAMED, |name| format!("`{}`", excerpt(name, 80)))
        ));
    }
    Ok(passed)
}

/// The first names of a list, and how many more there are.
fn few<S: AsRef<str>>(names: &[S], most: usize, show: impl Fn(&str) -> String) -> String {
    let shown: Vec<String> = names.iter().take(most).map(|name| show(name.as_ref())).collect();
    let more = names.len() - shown.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    shown.join(", ") + &more
}

/// Whether a test that a list names is, or holds, a test case: `test_a`,
/// `tests/a.py::test_a`, `tests/a.py`, `module::test_a`, `suite name`.
pub(in crate::verify) fn is_named(test: &str, case: &TestCase) -> bool {
    let wanted = plain(test);
    if wanted.is_empty() {
        return false;
    }
    let [file, suite, class, name] = &case.place;
    let (name, file, suite, class) = (plain(name), plain(file), plain(suite), plain(class));
    let bare = name.split('[').next().unwrap_or(&name).to_owned();
    let ways = [&file, &suite, &class]
        .into_iter()
        .flat_map(|place| [format!(".{place}.{name}."), format!(".{place}.{bare}.")]);
    ways.into_iter().any(|way| way.contains(&format!(".{wanted}.")))
}

/// A name with one sign between its parts, and without the ending of a file.
fn plain(name: &str) -> String {
    let mut name = name.trim().trim_start_matches("./").to_owned();
    for sign in ["::", " > ", " › ", "/", "\\", "#", "$"] {
        name = name.replace(sign, ".");
    }
    let is_ending = |part: &&str| {
        !["py", "rs", "ts", "tsx", "js", "jsx", "mjs", "go", "rb", "java", "kt", "php", "cs"]
            .contains(part)
    };
    name.split('.').filter(is_ending).collect::<Vec<_>>().join(".")
}

/// That fewer tests ran than in the base. Where a feature becomes tested it counts.
fn fewer(head: &[TestCase], base: &[TestCase], is_any_new: bool) -> Option<CiFinding> {
    let count = |cases: &[TestCase]| cases.iter().filter(|case| case.passed.is_some()).count();
    let (now, before) = (count(head), count(base));
    let severity = if is_any_new { Severity::Error } else { Severity::Warning };
    let message = format!(
        "only {now} tests ran; the base ran {before}. Restore the missing ones, or remove them in a separate pull request."
    );
    (now < before).then(|| CiFinding::of(RULE, severity, &message))
}

/// Tests that were removed, skipped, edited or emptied: listed, never a verdict.
fn tests_changed(request: &PullRequest<'_>) -> Vec<CiFinding> {
    let changes = compare_files(request.changed.iter().flat_map(sides));
    let kinds = [
        (&changes.removed, "tests removed"),
        (&changes.skipped, "tests newly skipped"),
        (&changes.emptied, "tests without an assertion that can fail"),
        (&changes.edited, "tests edited"),
        (&changes.goldens, "golden or snapshot files changed"),
    ];
    let note = |(names, what): (&Vec<String>, &str)| {
        let listed = few(names, LISTED, |name| excerpt(name, 60));
        let message = format!("{what}: {listed}. Review whether this is intended.");
        let path = names.first().and_then(|name| file_of_test(request, name)).map(str::to_owned);
        CiFinding { path, ..CiFinding::of(RULE, Severity::Note, &message) }
    };
    kinds.into_iter().filter(|(names, _)| !names.is_empty()).map(note).collect()
}

/// The first changed test file that is called so, or that has a test of this name in it.
fn file_of_test<'r>(request: &'r PullRequest<'_>, name: &str) -> Option<&'r str> {
    let last = name.rsplit([':', '>']).next().unwrap_or(name).trim();
    let files = || request.changed.iter().flat_map(sides);
    let has_it = |text: &Option<&str>| text.is_some_and(|text| text.contains(last));
    let mut tests = files().filter(|(path, ..)| is_test_file(path) || path.ends_with(".rs"));
    files()
        .find(|(path, ..)| *path == name)
        .or_else(|| tests.find(|(_, before, after)| has_it(after) || has_it(before)))
        .map(|(path, ..)| path)
}

/// A file as its tests are compared. Under another name it keeps them: they moved.
fn sides(file: &ChangedFile) -> Vec<(&str, Option<&str>, Option<&str>)> {
    match (file.old_path.as_deref(), file.path.as_deref()) {
        (Some(old), Some(new)) if old != new => {
            vec![(old, file.text_before(), None), (new, None, file.text_after())]
        }
        _ => vec![(file.name(), file.text_before(), file.text_after())],
    }
}
