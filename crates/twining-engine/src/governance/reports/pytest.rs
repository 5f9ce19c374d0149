//! pytest's JSON report, as the plugin `pytest-json-report` writes it.

use serde::Deserialize;

use crate::governance::gates::TestCounts;

/// pytest's word for "there was nothing to run".
const NOTHING_COLLECTED: i64 = 5;

#[derive(Deserialize)]
struct Report {
    summary: Option<Summary>,
    exitcode: Option<i64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Summary {
    passed: u64,
    failed: u64,
    error: u64,
    errors: u64,
    xpassed: u64,
}

/// Counts the tests of a report; `None` if this is none.
pub(super) fn read(text: &str) -> Option<TestCounts> {
    // One document, not one a line; anything else is for another reader to judge.
    let report: Report = serde_json::from_str(text).ok()?;
    let summary = report.summary?;
    let mut failed = summary.failed.saturating_add(summary.error.max(summary.errors));
    // One that was expected to fail, and did, shows nothing either way.
    let passed = summary.passed.saturating_add(summary.xpassed);
    // It broke off, and no test is to blame: nothing that passed makes up for that.
    if failed == 0 && report.exitcode.is_some_and(|code| code != 0 && code != NOTHING_COLLECTED) {
        failed = 1;
    }
    Some(TestCounts { run: passed.saturating_add(failed), passed, failed })
}
