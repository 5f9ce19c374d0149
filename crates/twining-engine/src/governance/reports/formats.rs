//! The formats of reports: JUnit and Cobertura, and lcov.
//!
//! XML is walked from front to back in constant memory. Entities are never expanded and a document type is skipped, so there is
//! nothing a bomb could blow up. A document that ends early is an error: what
//! follows the cut may be a failure.

use std::collections::{BTreeMap, HashMap};

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::read::{LineCounts, ReportProblem};
use crate::governance::gates::TestCounts;

/// A step on the walk.
pub(super) enum XmlEvent<'e> {
    /// An element begins; its names and attributes.
    Begin(&'e BytesStart<'e>),
    /// An element of this name ends.
    End(&'e str),
}

/// Visits every element in order.
pub(super) fn walk(xml: &str, mut visit: impl FnMut(XmlEvent<'_>)) -> Result<(), ReportProblem> {
    let mut reader = Reader::from_str(xml);
    let mut depth = 0_usize;
    loop {
        match reader.read_event() {
            Ok(Event::Start(element)) => {
                depth += 1;
                visit(XmlEvent::Begin(&element));
            }
            Ok(Event::Empty(element)) => {
                visit(XmlEvent::Begin(&element));
                visit(XmlEvent::End(element.local_name().as_ref()));
            }
            Ok(Event::End(element)) => {
                depth = depth.saturating_sub(1);
                visit(XmlEvent::End(element.local_name().as_ref()));
            }
            Ok(Event::Eof) if depth == 0 => return Ok(()),
            Ok(Event::Eof) => return Err("is cut off: an element has no end".to_owned()),
            Ok(_) => {}
            Err(error) => return Err(format!("is not well-formed XML: {error}")),
        }
    }
}

/// The name of the outermost element.
pub(super) fn root(xml: &str) -> Result<String, ReportProblem> {
    let mut reader = Reader::from_str(xml);
    loop {
        match reader.read_event() {
            Ok(Event::Start(element) | Event::Empty(element)) => {
                return Ok(element.local_name().as_ref().to_owned());
            }
            Ok(Event::Eof) => return Err("is XML without an element".to_owned()),
            Ok(_) => {}
            Err(error) => return Err(format!("is not well-formed XML: {error}")),
        }
    }
}

/// An attribute's raw text; numbers need no unescaping.
fn attribute(element: &BytesStart<'_>, name: &str) -> Option<String> {
    let value = element.try_get_attribute(name).ok().flatten()?;
    Some(value.value.trim().to_owned())
}

/// An attribute's text with its entities read; empty where there is none.
pub(super) fn words(element: &BytesStart<'_>, name: &str) -> String {
    let raw = attribute(element, name).unwrap_or_default();
    quick_xml::escape::unescape(&raw).map_or_else(|_| raw.clone(), |text| text.into_owned())
}

/// An attribute that counts something.
pub(super) fn count(element: &BytesStart<'_>, name: &str) -> Option<u64> {
    attribute(element, name)?.parse().ok()
}

/// An attribute that is a share.
pub(super) fn share(element: &BytesStart<'_>, name: &str) -> Option<f64> {
    attribute(element, name)?.parse().ok()
}

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
    /// Its file, suite and class, as far as reported, and its name.
    pub place: [String; 4],
    /// Whether it passed; nothing where it was skipped.
    pub passed: Option<bool>,
}

/// The test cases of a JUnit report, one by one.
pub fn test_cases(bytes: &[u8]) -> Result<Vec<TestCase>, String> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches('\u{FEFF}').trim_start();
    if !matches!(root(text)?.as_str(), "testsuites" | "testsuite") {
        return Err("is not a JUnit report".to_owned());
    }
    read_junit(text).map(|(cases, _)| cases)
}

/// Lists the tests of a report and counts them.
pub(super) fn read_junit(xml: &str) -> Result<(Vec<TestCase>, TestCounts), ReportProblem> {
    let (mut cases, mut case): (Vec<TestCase>, Option<(TestCase, CaseResult)>) = (Vec::new(), None);
    let (mut outer, mut suites) = (SuiteTotals::default(), SuiteTotals::default());
    // For each open element: the name of its suite, its declared number of cases, and the number of
    // cases before it.
    let mut open: Vec<(Option<String>, usize, usize)> = Vec::new();
    let mut short: Option<(usize, usize)> = None;
    walk(xml, |step| match step {
        XmlEvent::Begin(element) => match element.local_name().as_ref() {
            name @ ("testsuites" | "testsuite") => {
                let own = totals(element);
                let suite = (name == "testsuite").then(|| words(element, "name"));
                if suite.is_none() {
                    outer = own;
                } else if open.iter().all(|(suite, ..)| suite.is_none()) {
                    // A suite inside a suite is counted by the outer one.
                    suites.run = suites.run.saturating_add(own.run);
                    suites.failed = suites.failed.saturating_add(own.failed);
                }
                let stated_totals = count(element, "tests")
                    .and_then(|tests| tests.try_into().ok())
                    .unwrap_or_default();
                open.push((suite, stated_totals, cases.len()));
            }
            "testcase" => {
                let suite = open.last().and_then(|(suite, ..)| suite.clone()).unwrap_or_default();
                let place = [
                    words(element, "file"),
                    suite,
                    words(element, "classname"),
                    words(element, "name"),
                ];
                case = Some((TestCase { place, passed: None }, CaseResult::Passed));
            }
            "failure" | "error" => {
                case = case.take().map(|(case, end)| (case, end.max(CaseResult::Failed)));
            }
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
            let passed =
                if end == CaseResult::Skipped { None } else { Some(end == CaseResult::Passed) };
            TestCase { passed, ..case }
        })),
        XmlEvent::End(_) => {}
    })?;
    let ended =
        |passed: bool| cases.iter().filter(|case| case.passed == Some(passed)).count() as u64;
    let (passed, failed) = (ended(true), ended(false));
    // Totals alone, or failures that no test case shows, as when a suite broke
    // before its first test.
    let stated_failures = outer.failed.max(suites.failed);
    if cases.is_empty() {
        let run = outer.run.max(suites.run).max(stated_failures);
        return Ok((
            cases,
            TestCounts { run, passed: run - stated_failures, failed: stated_failures },
        ));
    }
    let failed = failed.max(stated_failures);
    if let Some((stated_totals, listed)) = short.filter(|_| failed == 0) {
        return Err(format!("is incomplete: it declares {stated_totals} tests but lists {listed}"));
    }
    Ok((cases, TestCounts { run: passed.saturating_add(failed), passed, failed }))
}

fn totals(element: &BytesStart<'_>) -> SuiteTotals {
    let count = |name| count(element, name).unwrap_or_default();
    let failed = count("failures").saturating_add(count("errors"));
    let idle = count("skipped").saturating_add(count("disabled"));
    SuiteTotals { run: count("tests").saturating_sub(idle), failed }
}

/// What a rate without counts is made of.
const RATE: f64 = 10_000.0;

/// Counts the lines of a report.
pub(super) fn read_cobertura(xml: &str) -> Result<LineCounts, ReportProblem> {
    let mut stated: Option<LineCounts> = None;
    let mut rate: Option<f64> = None;
    let mut counted = LineCounts::default();
    let mut in_method = 0_u32;
    walk(xml, |step| match step {
        XmlEvent::Begin(element) => match element.local_name().as_ref() {
            "coverage" => {
                let (covered, total) =
                    (count(element, "lines-covered"), count(element, "lines-valid"));
                stated = covered.zip(total).map(|(covered, total)| LineCounts { covered, total });
                rate = share(element, "line-rate");
            }
            // A method's lines are repeated among its class's lines.
            "method" => in_method += 1,
            "line" if in_method == 0 => {
                counted.total += 1;
                counted.covered += u64::from(count(element, "hits").is_some_and(|hits| hits > 0));
            }
            _ => {}
        },
        XmlEvent::End("method") => in_method = in_method.saturating_sub(1),
        XmlEvent::End(_) => {}
    })?;
    let lines = match (stated, rate) {
        (Some(stated), _) => stated,
        (None, _) if counted.total > 0 => counted,
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked to be a share"
        )]
        (None, Some(rate)) if (0.0..=1.0).contains(&rate) => {
            LineCounts { covered: (rate * RATE) as u64, total: RATE as u64 }
        }
        _ => LineCounts::default(),
    };
    if lines.total == 0 {
        return Err("measures no lines".to_owned());
    }
    if lines.covered > lines.total {
        return Err("reports more covered lines than total lines".to_owned());
    }
    Ok(lines)
}

/// What is known of a source file.
#[derive(Default)]
struct FileCoverage {
    /// Each line, and whether it ran.
    lines: HashMap<u32, bool>,
    /// The totals it states.
    stated: LineCounts,
}

/// Counts the lines of lcov's tracefile, each once however often it is listed; `None`
/// if this is none.
pub(super) fn read_lcov(text: &str) -> Result<Option<LineCounts>, ReportProblem> {
    let mut files: BTreeMap<&str, FileCoverage> = BTreeMap::new();
    let mut source: Option<&str> = None;
    for (number, line) in text.lines().map(str::trim).enumerate() {
        if number == 0
            && !(line.starts_with("TN:") || line.starts_with("SF:") || line.starts_with('#'))
        {
            return Ok(None);
        }
        match line.split_once(':') {
            Some(("SF", path)) => {
                source = Some(path);
                files.entry(path).or_default();
            }
            Some((key @ ("DA" | "LF" | "LH"), value)) => {
                let Some(file) = source.and_then(|path| files.get_mut(path)) else {
                    return Err(format!("has no file name before line {}", number + 1));
                };
                take(file, key, value).ok_or_else(|| {
                    format!("has no number where one is expected, in line {}", number + 1)
                })?;
            }
            None if line == "end_of_record" => source = None,
            _ => {}
        }
    }
    if files.is_empty() {
        return Ok(None);
    }
    if source.is_some() {
        return Err("is cut off: the last record has no end".to_owned());
    }
    if files.values().any(|file| file.stated.covered > file.stated.total) {
        return Err("reports more covered lines than total lines".to_owned());
    }
    let lines = files.values().fold(LineCounts::default(), |sum, file| {
        let own = if file.lines.is_empty() {
            file.stated
        } else {
            LineCounts {
                covered: file.lines.values().filter(|ran| **ran).count() as u64,
                total: file.lines.len() as u64,
            }
        };
        LineCounts {
            covered: sum.covered.saturating_add(own.covered.min(own.total)),
            total: sum.total.saturating_add(own.total),
        }
    });
    if lines.total == 0 { Err("measures no lines".to_owned()) } else { Ok(Some(lines)) }
}

fn take(file: &mut FileCoverage, key: &str, value: &str) -> Option<()> {
    if key == "DA" {
        let mut parts = value.split(',');
        let line: u32 = parts.next()?.trim().parse().ok()?;
        let hits: i64 = parts.next()?.trim().parse().ok()?;
        *file.lines.entry(line).or_default() |= hits > 0;
        return Some(());
    }
    let number: u64 = value.trim().parse().ok()?;
    match key {
        "LF" => file.stated.total = file.stated.total.max(number),
        _ => file.stated.covered = file.stated.covered.max(number),
    }
    Some(())
}
