//! JUnit's XML: test cases counted one by one, and held against the totals.

use quick_xml::events::BytesStart;

use super::ReportProblem;
use super::xml::{self, XmlEvent};
use crate::governance::gates::TestCounts;

/// How a test case ended, from good to bad.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum CaseResult {
    Passed,
    Skipped,
    Failed,
}

/// Totals as an element's attributes give them.
#[derive(Clone, Copy, Default)]
struct SuiteTotals {
    run: u64,
    failed: u64,
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
    read_junit(text).map(|(cases, _)| cases)
}

/// Lists the tests of a report and counts them.
pub(super) fn read_junit(xml: &str) -> Result<(Vec<TestCase>, TestCounts), ReportProblem> {
    let (mut cases, mut case): (Vec<TestCase>, Option<(TestCase, CaseResult)>) = (Vec::new(), None);
    let (mut outer, mut suites) = (SuiteTotals::default(), SuiteTotals::default());
    // For each open element the name of its suite, how many cases it speaks of and how
    // many came before it.
    let mut open: Vec<(Option<String>, usize, usize)> = Vec::new();
    let mut short: Option<(usize, usize)> = None;
    xml::walk(xml, |step| match step {
        XmlEvent::Begin(element) => match element.local_name().as_ref() {
            name @ ("testsuites" | "testsuite") => {
                let own = totals(element);
                let suite = (name == "testsuite").then(|| xml::words(element, "name"));
                if suite.is_none() {
                    outer = own;
                } else if open.iter().all(|(suite, ..)| suite.is_none()) {
                    // A suite inside a suite is counted by the outer one.
                    suites.run = suites.run.saturating_add(own.run);
                    suites.failed = suites.failed.saturating_add(own.failed);
                }
                let stated_totals = xml::count(element, "tests").and_then(|tests| tests.try_into().ok()).unwrap_or_default();
                open.push((suite, stated_totals, cases.len()));
            }
            "testcase" => {
                let suite = open.last().and_then(|(suite, ..)| suite.clone()).unwrap_or_default();
                let place = [xml::words(element, "file"), suite, xml::words(element, "classname"), xml::words(element, "name")];
                case = Some((TestCase { place, passed: None }, CaseResult::Passed));
            }
            "failure" | "error" => case = case.take().map(|(case, end)| (case, end.max(CaseResult::Failed))),
            "skipped" => case = case.take().map(|(case, end)| (case, end.max(CaseResult::Skipped))),
            _ => {}
        },
        XmlEvent::End("testsuite" | "testsuites") => {
            if let Some((_, stated_totals, before)) = open.pop()
                && stated_totals > cases.len() - before
            {
                short = short.or(Some((stated_totals, cases.len() - before)));
            }
        }
        XmlEvent::End("testcase") => cases.extend(case.take().map(|(case, end)| {
            let passed = if end == CaseResult::Skipped { None } else { Some(end == CaseResult::Passed) };
            TestCase { passed, ..case }
        })),
        XmlEvent::End(_) => {}
    })?;
    let ended = |passed: bool| cases.iter().filter(|case| case.passed == Some(passed)).count() as u64;
    let (passed, failed) = (ended(true), ended(false));
    // Totals alone, or failures that no test case shows, as when a suite broke
    // before its first test.
    let stated_failures = outer.failed.max(suites.failed);
    if cases.is_empty() {
        let run = outer.run.max(suites.run).max(stated_failures);
        return Ok((cases, TestCounts { run, passed: run - stated_failures, failed: stated_failures }));
    }
    let failed = failed.max(stated_failures);
    if let Some((stated_totals, listed)) = short.filter(|_| failed == 0) {
        return Err(format!("is incomplete: it speaks of {stated_totals} tests and lists {listed}"));
    }
    Ok((cases, TestCounts { run: passed.saturating_add(failed), passed, failed }))
}

fn totals(element: &BytesStart<'_>) -> SuiteTotals {
    let count = |name| xml::count(element, name).unwrap_or_default();
    let failed = count("failures").saturating_add(count("errors"));
    let idle = count("skipped").saturating_add(count("disabled"));
    SuiteTotals { run: count("tests").saturating_sub(idle), failed }
}
