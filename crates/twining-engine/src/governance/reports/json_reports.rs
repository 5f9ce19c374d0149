//! One JSON object a line: Rust's test runners, `go test -json`, pytest's report
//! log. A test that began and never ended was killed, and counts as failed.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use twining_model::text;

use super::read::{ReportFormat, ReportProblem};
use crate::governance::gates::TestCounts;

/// A line of any of them; each has its own keys.
#[derive(Default, Deserialize)]
#[serde(default)]
struct StreamLine<'l> {
    #[serde(rename = "Action", borrow)]
    action: Option<Cow<'l, str>>,
    #[serde(rename = "Test", borrow)]
    test: Option<Cow<'l, str>>,
    #[serde(rename = "Package", borrow)]
    package: Option<Cow<'l, str>>,
    #[serde(rename = "ImportPath", borrow)]
    import_path: Option<Cow<'l, str>>,
    #[serde(rename = "type", borrow)]
    kind: Option<Cow<'l, str>>,
    #[serde(borrow)]
    event: Option<Cow<'l, str>>,
    #[serde(rename = "$report_type", borrow)]
    report_type: Option<Cow<'l, str>>,
    #[serde(borrow)]
    nodeid: Option<Cow<'l, str>>,
    #[serde(borrow)]
    when: Option<Cow<'l, str>>,
    #[serde(borrow)]
    outcome: Option<Cow<'l, str>>,
    #[serde(rename = "exitstatus")]
    exit_status: Option<i64>,
    passed: Option<u64>,
}

/// Counts the tests of a stream; `None` if this is none.
pub(super) fn read_stream(
    words: &str,
) -> Result<Option<(ReportFormat, TestCounts)>, ReportProblem> {
    let mut lines = Vec::new();
    let mut format = None;
    for (number, line) in words.lines().enumerate() {
        // Tools print other things in between, as when the build fails.
        if !line.trim_start().starts_with('{') {
            continue;
        }
        let parsed: StreamLine<'_> = match serde_json::from_str(line) {
            Ok(parsed) => parsed,
            Err(_) if format.is_none() => return Ok(None),
            Err(_) => return Err(format!("is cut off or broken in line {}", number + 1)),
        };
        format = format.or_else(|| format_of(&parsed));
        if format.is_none() {
            return Ok(None);
        }
        lines.push(parsed);
    }
    let Some(format) = format else { return Ok(None) };
    let (tests, missing) = match format {
        ReportFormat::GoTest => go_test(&lines),
        ReportFormat::Pytest => pytest_log(&lines),
        _ => libtest(&lines),
    };
    match missing {
        // A failure is one, whatever else is missing.
        Some(missing) if tests.failed == 0 => Err(missing),
        _ => Ok(Some((format, tests))),
    }
}

fn format_of(line: &StreamLine<'_>) -> Option<ReportFormat> {
    match line {
        StreamLine { action: Some(_), .. } => Some(ReportFormat::GoTest),
        StreamLine { report_type: Some(_), .. } => Some(ReportFormat::Pytest),
        StreamLine { kind: Some(_), event: Some(_), .. } => Some(ReportFormat::Libtest),
        _ => None,
    }
}

fn counts(passed: u64, failed: u64) -> TestCounts {
    TestCounts { run: passed.saturating_add(failed), passed, failed }
}

/// The counts, and what is missing in the stream.
type StreamCounts = (TestCounts, Option<ReportProblem>);

fn go_test(lines: &[StreamLine<'_>]) -> StreamCounts {
    // Whether each test that began has ended well; skipped ones are taken out.
    let mut tests: BTreeMap<(&str, &str), bool> = BTreeMap::new();
    let mut broken: BTreeSet<&str> = BTreeSet::new();
    let (mut begun, mut ended): (BTreeSet<&str>, BTreeSet<&str>) = Default::default();
    for line in lines {
        let package = line.package.as_deref().or(line.import_path.as_deref()).unwrap_or_default();
        let action = line.action.as_deref().unwrap_or_default();
        if let Some(package) = line.package.as_deref() {
            begun.insert(package);
            if line.test.is_none() && matches!(action, "pass" | "fail" | "skip") {
                ended.insert(package);
            }
        }
        match (line.test.as_deref(), action) {
            (Some(test), "run" | "fail") => drop(tests.insert((package, test), false)),
            (Some(test), "pass") => drop(tests.insert((package, test), true)),
            (Some(test), "skip") => drop(tests.remove(&(package, test))),
            (None, "fail" | "build-fail") => drop(broken.insert(package)),
            _ => {}
        }
    }
    let passed = tests.values().filter(|well| **well).count() as u64;
    let failed = tests.values().filter(|well| !**well).count() as u64;
    // A package that failed without a failing test did not build, or died.
    let silent = broken
        .iter()
        .filter(|package| !tests.iter().any(|((of, _), well)| of == *package && !well))
        .count() as u64;
    let open = begun.difference(&ended).next();
    let missing = open
        .map(|package| format!("is cut off: package `{}` never ended", text::excerpt(package, 80)));
    (counts(passed, failed.saturating_add(silent)), missing)
}

fn libtest(lines: &[StreamLine<'_>]) -> StreamCounts {
    let mut stated = 0_u64;
    let (mut passed, mut failed, mut open_tests, mut open_suites, mut broken) =
        (0_u64, 0_u64, 0_u64, 0_u64, 0_u64);
    for line in lines {
        match (line.kind.as_deref(), line.event.as_deref()) {
            (Some("test"), Some("started")) => open_tests += 1,
            (Some("test"), Some(event)) => {
                open_tests = open_tests.saturating_sub(1);
                match event {
                    "ok" => passed += 1,
                    "ignored" => {}
                    _ => failed += 1,
                }
            }
            (Some("suite"), Some("started")) => open_suites += 1,
            (Some("suite"), Some(event)) => {
                open_suites = open_suites.saturating_sub(1);
                broken += u64::from(event == "failed");
                stated = stated.saturating_add(line.passed.unwrap_or_default());
            }
            _ => {}
        }
    }
    let lost = open_tests.max(open_suites);
    let failed = failed.saturating_add(lost);
    let missing = (stated > passed).then(|| {
        format!("is incomplete: it speaks of {stated} tests that passed and lists {passed}")
    });
    (counts(passed, if failed == 0 { broken } else { failed }), missing)
}

fn pytest_log(lines: &[StreamLine<'_>]) -> StreamCounts {
    // Setup, call and teardown are told apart: the worst of the three counts.
    let mut tests: BTreeMap<&str, bool> = BTreeMap::new();
    let (mut broken, mut finished, mut broke_off) = (0_u64, false, false);
    for line in lines {
        let outcome = line.outcome.as_deref().unwrap_or_default();
        match (line.report_type.as_deref(), line.nodeid.as_deref()) {
            (Some("TestReport"), Some(test)) => match (line.when.as_deref(), outcome) {
                (_, "failed") => drop(tests.insert(test, false)),
                (Some("call"), "passed") => drop(tests.entry(test).or_insert(true)),
                _ => {}
            },
            (Some("SessionFinish"), _) => {
                finished = true;
                broke_off |= line.exit_status.is_some_and(is_broken_off);
            }
            (Some("CollectReport"), _) => broken += u64::from(outcome == "failed"),
            _ => {}
        }
    }
    let passed = tests.values().filter(|well| **well).count() as u64;
    let failed = (tests.len() as u64 - passed).saturating_add(broken);
    let missing = (!finished).then(|| "is cut off: it has no `SessionFinish`".to_owned());
    (counts(passed, if failed == 0 { u64::from(broke_off) } else { failed }), missing)
}

/// pytest's word for "there was nothing to run".
const NOTHING_COLLECTED: i64 = 5;

#[derive(Deserialize)]
struct PytestReport {
    summary: Option<BTreeMap<String, u64>>,
    exitcode: Option<i64>,
}

/// Counts the tests of a report; `None` if this is none.
pub(super) fn read_pytest(text: &str) -> Result<Option<TestCounts>, ReportProblem> {
    // One document, not one a line; anything else is for another reader to judge.
    let Ok(PytestReport { summary: Some(summary), exitcode }) = serde_json::from_str(text) else {
        return Ok(None);
    };
    let count_of = |name: &str| summary.get(name).copied().unwrap_or_default();
    let mut failed = count_of("failed").saturating_add(count_of("error").max(count_of("errors")));
    // One that was expected to fail, and did, shows nothing either way.
    let passed = count_of("passed").saturating_add(count_of("xpassed"));
    // It broke off, and no test is to blame: nothing that passed makes up for that.
    if failed == 0 && exitcode.is_some_and(is_broken_off) {
        failed = 1;
    }
    if failed == 0 {
        whole(&summary)?;
    }
    Ok(Some(TestCounts { run: passed.saturating_add(failed), passed, failed }))
}

/// Whether pytest ended otherwise than well, or with nothing to do.
pub(super) fn is_broken_off(code: i64) -> bool {
    code != 0 && code != NOTHING_COLLECTED
}

/// What each test came to, held against how many there were.
fn whole(summary: &BTreeMap<String, u64>) -> Result<(), ReportProblem> {
    let is_outcome = |name: &str| !matches!(name, "total" | "collected" | "deselected");
    let ended = summary
        .iter()
        .filter(|(name, _)| is_outcome(name))
        .fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
    if let Some(total) = summary.get("total").filter(|total| **total != ended) {
        return Err(format!("speaks of {total} tests and tells how {ended} of them ended"));
    }
    let left_out = summary.get("deselected").copied().unwrap_or_default();
    match summary.get("collected").filter(|collected| ended.saturating_add(left_out) < **collected)
    {
        Some(collected) => Err(format!(
            "is incomplete: {collected} tests were collected, and of {ended} it tells how they ended"
        )),
        None => Ok(()),
    }
}
