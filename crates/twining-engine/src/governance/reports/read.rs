//! Reports: output of test and coverage tools, parsed and never executed.
//!
//! The format is detected from the content, since file names vary. A truncated or malformed report
//! is a problem to report; it never counts as a report without failures.

use std::collections::BTreeSet;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use twining_model::{InvalidInput, ProjectRoot, Scope, limits, text};
use twining_store::{StoreError, disk};

use crate::failure::Failure;
use crate::governance::gates::TestCounts;

/// Line coverage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LineCounts {
    /// Lines that ran.
    pub covered: u64,
    /// Lines in total.
    pub total: u64,
}

/// A report that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReportRead {
    /// Which file, relative to the project.
    pub path: String,
    /// Its format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<ReportFormat>,
    /// Its test counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestCounts>,
    /// Its coverage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<LineCounts>,
    /// Why it is ignored, as the end of a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A report format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReportFormat {
    /// JUnit's XML, which most test runners can write.
    Junit,
    /// Cobertura's XML.
    Cobertura,
    /// lcov's tracefile.
    Lcov,
    /// The JSON lines of `cargo nextest` and of Rust's own test runner.
    Libtest,
    /// pytest's JSON report, or its report log.
    Pytest,
    /// `go test -json`.
    GoTest,
}

/// What a report says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReportContent {
    Tests(TestCounts),
    Lines(LineCounts),
}

/// Why a report cannot be used, as the end of a sentence that begins with its name.
pub(super) type ReportProblem = String;

/// Reads the reports a caller named, each inside the project.
pub(crate) fn read(
    paths: &[String],
    checkout: &Path,
    project: &Path,
    root: &ProjectRoot,
) -> Result<Vec<ReportRead>, Failure> {
    limits::at_most("reports", paths, limits::REPORTS)?;
    let mut reports = Vec::with_capacity(paths.len());
    let mut seen = BTreeSet::new();
    for given in paths {
        let (base, path) = inside(given, checkout, project, root)?;
        // However a file is spelled, its tests were run once.
        let file = base.join(path.as_str());
        if seen.insert(disk::canonical(&file).unwrap_or(file)) {
            reports.push(read_one(base, &path)?);
        }
    }
    Ok(reports)
}

pub(super) fn read_one(base: &Path, path: &Scope) -> Result<ReportRead, Failure> {
    let read = match disk::read_inside(base, path.as_str(), limits::REPORT_BYTES) {
        Ok(Some(bytes)) => understand(&bytes),
        Ok(None) => Err("does not exist".to_owned()),
        // A way out of the project is no bad report but a bad request.
        Err(error @ StoreError::Unsafe { .. }) => return Err(error.into()),
        Err(StoreError::Damaged { .. }) => {
            Err(format!("is larger than {} bytes", limits::REPORT_BYTES))
        }
        Err(error) => Err(format!("cannot be read: {error}")),
    };
    let report = ReportRead { path: path.to_string(), ..ReportRead::default() };
    Ok(match read {
        Ok((format, ReportContent::Tests(tests))) => {
            ReportRead { format: Some(format), tests: Some(tests), ..report }
        }
        Ok((format, ReportContent::Lines(lines))) => {
            ReportRead { format: Some(format), lines: Some(lines), ..report }
        }
        Err(problem) => ReportRead { problem: Some(problem), ..report },
    })
}

/// The path relative to the working tree it lies in: the caller's own, which may
/// be a linked one, or the main one.
pub(super) fn inside<'b>(
    given: &str,
    checkout: &'b Path,
    project: &'b Path,
    root: &ProjectRoot,
) -> Result<(&'b Path, Scope), InvalidInput> {
    text::bounded("reports", given, limits::ELEMENT_BYTES)?;
    match Scope::parse("reports", given, &ProjectRoot::new([checkout])) {
        Ok(path) => Ok((checkout, path)),
        Err(refused) => {
            Scope::parse("reports", given, root).map(|path| (project, path)).map_err(|_| refused)
        }
    }
}

pub(super) fn understand(bytes: &[u8]) -> Result<(ReportFormat, ReportContent), ReportProblem> {
    // What is no UTF-8 is in names and messages, which count for nothing here.
    let words = String::from_utf8_lossy(bytes);
    let words = words.trim_start_matches('\u{FEFF}').trim_start();
    if words.is_empty() {
        return Err("is empty".to_owned());
    }
    if words.starts_with('<') {
        return match super::formats::root(words)?.as_str() {
            "testsuites" | "testsuite" => Ok((
                ReportFormat::Junit,
                ReportContent::Tests(super::formats::read_junit(words)?.1),
            )),
            "coverage" => Ok((
                ReportFormat::Cobertura,
                ReportContent::Lines(super::formats::read_cobertura(words)?),
            )),
            other => Err(format!("is XML of an unknown kind: <{}>", text::excerpt(other, 40))),
        };
    }
    if let Some(tests) = super::json_reports::read_pytest(words)? {
        return Ok((ReportFormat::Pytest, ReportContent::Tests(tests)));
    }
    if let Some((format, tests)) = super::json_reports::read_stream(words)? {
        return Ok((format, ReportContent::Tests(tests)));
    }
    let lines = super::formats::read_lcov(words)?
        .map(|lines| (ReportFormat::Lcov, ReportContent::Lines(lines)));
    lines.ok_or_else(|| {
        "is not in a supported format: JUnit, Cobertura, lcov, or the JSON of nextest, pytest or \
         go test"
            .to_owned()
    })
}
