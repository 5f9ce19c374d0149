//! JUnit's XML: test cases counted one by one, and held against the totals.

use quick_xml::events::BytesStart;

use super::Problem;
use super::xml::{self, Step};
use crate::governance::gates::TestCounts;

/// How a test case ended, from good to bad.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    Passed,
    Skipped,
    Failed,
}

/// Totals as an element's attributes give them.
#[derive(Clone, Copy, Default)]
struct Totals {
    run: u64,
    failed: u64,
}

/// Counts the tests of a report.
pub(super) fn read(xml: &str) -> Result<TestCounts, Problem> {
    let (mut passed, mut failed) = (0_u64, 0_u64);
    let mut case: Option<End> = None;
    let (mut outer, mut suites): (Option<Totals>, Totals) = (None, Totals::default());
    let mut suite_depth = 0_u32;
    xml::walk(xml, |step| match step {
        Step::Begin(element) => match element.local_name().as_ref() {
            "testsuites" => outer = Some(totals(element)),
            "testsuite" => {
                suite_depth += 1;
                // A suite inside a suite is counted by the outer one.
                if suite_depth == 1 {
                    let own = totals(element);
                    suites.run = suites.run.saturating_add(own.run);
                    suites.failed = suites.failed.saturating_add(own.failed);
                }
            }
            "testcase" => case = Some(End::Passed),
            "failure" | "error" => case = case.map(|end| end.max(End::Failed)),
            "skipped" => case = case.map(|end| end.max(End::Skipped)),
            _ => {}
        },
        Step::End("testsuite") => suite_depth = suite_depth.saturating_sub(1),
        Step::End("testcase") => match case.take() {
            Some(End::Passed) => passed += 1,
            Some(End::Failed) => failed += 1,
            Some(End::Skipped) | None => {}
        },
        Step::End(_) => {}
    })?;
    // Totals alone, or failures that no test case shows, as when a suite broke
    // before its first test.
    let told = [outer.unwrap_or_default(), suites];
    let told_failed = told.iter().map(|totals| totals.failed).max().unwrap_or_default();
    if passed == 0 && failed == 0 {
        let run = told.iter().map(|totals| totals.run).max().unwrap_or_default().max(told_failed);
        return Ok(TestCounts { run, passed: run - told_failed, failed: told_failed });
    }
    let failed = failed.max(told_failed);
    Ok(TestCounts { run: passed.saturating_add(failed), passed, failed })
}

fn totals(element: &BytesStart<'_>) -> Totals {
    let count = |name| xml::count(element, name).unwrap_or_default();
    let failed = count("failures").saturating_add(count("errors"));
    let idle = count("skipped").saturating_add(count("disabled"));
    Totals { run: count("tests").saturating_sub(idle), failed }
}
