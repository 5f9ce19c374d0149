//! pytest's JSON report, as the plugin `pytest-json-report` writes it.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::ReportProblem;
use crate::governance::gates::TestCounts;

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
    let Ok(PytestReport { summary: Some(summary), exitcode }) = serde_json::from_str(text) else { return Ok(None) };
    let count_of = |name: &str| summary.get(name).copied().unwrap_or_default();
    let mut failed = count_of("failed").saturating_add(count_of("error").max(count_of("errors")));
    // One that was expected to fail, and did, shows nothing either way.
    let passed = count_of("passed").saturating_add(count_of("xpassed"));
    // It broke off, and no test is to blame: nothing that passed makes up for that.
    if failed == 0 && exitcode.is_some_and(broke_off) {
        failed = 1;
    }
    if failed == 0 {
        whole(&summary)?;
    }
    Ok(Some(TestCounts { run: passed.saturating_add(failed), passed, failed }))
}

/// Whether pytest ended otherwise than well, or with nothing to do.
pub(super) fn broke_off(code: i64) -> bool {
    code != 0 && code != NOTHING_COLLECTED
}

/// What each test came to, held against how many there were.
fn whole(summary: &BTreeMap<String, u64>) -> Result<(), ReportProblem> {
    let is_outcome = |name: &str| !matches!(name, "total" | "collected" | "deselected");
    let ended = summary.iter().filter(|(name, _)| is_outcome(name)).fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
    if let Some(total) = summary.get("total").filter(|total| **total != ended) {
        return Err(format!("speaks of {total} tests and tells how {ended} of them ended"));
    }
    let left_out = summary.get("deselected").copied().unwrap_or_default();
    match summary.get("collected").filter(|collected| ended.saturating_add(left_out) < **collected) {
        Some(collected) => Err(format!("is incomplete: {collected} tests were collected, and of {ended} it tells how they ended")),
        None => Ok(()),
    }
}
