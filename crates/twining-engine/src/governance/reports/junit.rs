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

/// A test case of a report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestCase {
    /// Its file, suite and class as far as the report tells them, and its name.
    pub place: [String; 4],
    /// Whether it passed; nothing where it was skipped.
    pub passed: Option<bool>,
}

/// The test cases of a JUnit report, one by one.
pub fn test_cases(bytes: &[u8]) -> Result<Vec<TestCase>, String> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches('\u{FEFF}').trim_start();
    if !matches!(xml::root(text)?.as_str(), "testsuites" | "testsuite") {
        return Err("is no JUnit report".to_owned());
    }
    // Also what its totals say against it.
    read(text)?;
    let (mut cases, mut suites, mut open): (Vec<TestCase>, Vec<String>, Option<(TestCase, End)>) = (Vec::new(), Vec::new(), None);
    xml::walk(text, |step| match step {
        Step::Begin(element) => match element.local_name().as_ref() {
            "testsuite" => suites.push(xml::words(element, "name")),
            "testcase" => {
                let suite = suites.last().cloned().unwrap_or_default();
                let place = [xml::words(element, "file"), suite, xml::words(element, "classname"), xml::words(element, "name")];
                open = Some((TestCase { place, passed: None }, End::Passed));
            }
            "failure" | "error" => open = open.take().map(|(case, end)| (case, end.max(End::Failed))),
            "skipped" => open = open.take().map(|(case, end)| (case, end.max(End::Skipped))),
            _ => {}
        },
        Step::End("testsuite") => drop(suites.pop()),
        Step::End("testcase") => cases.extend(open.take().map(|(case, end)| TestCase {
            passed: match end {
                End::Passed => Some(true),
                End::Failed => Some(false),
                End::Skipped => None,
            },
            ..case
        })),
        Step::End(_) => {}
    })?;
    Ok(cases)
}

fn totals(element: &BytesStart<'_>) -> Totals {
    let count = |name| xml::count(element, name).unwrap_or_default();
    let failed = count("failures").saturating_add(count("errors"));
    let idle = count("skipped").saturating_add(count("disabled"));
    Totals { run: count("tests").saturating_sub(idle), failed }
}
