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
    // How many cases the file holds, and for each open element how many it speaks of
    // and how many came before it.
    let mut cases = 0_u64;
    let mut open: Vec<(u64, u64)> = Vec::new();
    let mut short: Option<(u64, u64)> = None;
    let mut suite_depth = 0_u32;
    xml::walk(xml, |step| match step {
        Step::Begin(element) => match element.local_name().as_ref() {
            "testsuites" => {
                open.push((xml::count(element, "tests").unwrap_or_default(), cases));
                outer = Some(totals(element));
            }
            "testsuite" => {
                open.push((xml::count(element, "tests").unwrap_or_default(), cases));
                suite_depth += 1;
                // A suite inside a suite is counted by the outer one.
                if suite_depth == 1 {
                    let own = totals(element);
                    suites.run = suites.run.saturating_add(own.run);
                    suites.failed = suites.failed.saturating_add(own.failed);
                }
            }
            "testcase" => {
                cases += 1;
                case = Some(End::Passed);
            }
            "failure" | "error" => case = case.map(|end| end.max(End::Failed)),
            "skipped" => case = case.map(|end| end.max(End::Skipped)),
            _ => {}
        },
        Step::End(name @ ("testsuite" | "testsuites")) => {
            suite_depth = suite_depth.saturating_sub(u32::from(name == "testsuite"));
            if let Some((told, before)) = open.pop()
                && told > cases - before
            {
                short = short.or(Some((told, cases - before)));
            }
        }
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
    if cases == 0 {
        let run = told.iter().map(|totals| totals.run).max().unwrap_or_default().max(told_failed);
        return Ok(TestCounts { run, passed: run - told_failed, failed: told_failed });
    }
    let failed = failed.max(told_failed);
    if let Some((told, listed)) = short.filter(|_| failed == 0) {
        return Err(format!("is incomplete: it speaks of {told} tests and lists {listed}"));
    }
    Ok(TestCounts { run: passed.saturating_add(failed), passed, failed })
}

fn totals(element: &BytesStart<'_>) -> Totals {
    let count = |name| xml::count(element, name).unwrap_or_default();
    let failed = count("failures").saturating_add(count("errors"));
    let idle = count("skipped").saturating_add(count("disabled"));
    Totals { run: count("tests").saturating_sub(idle), failed }
}
