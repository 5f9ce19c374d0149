//! The run: every rule over one pull request, and what came of it.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use twining_model::words;

use super::pull_request::PullRequest;
use super::{anchored_code, banned_uses, features, human_authorship, policy, records, secrets};
use crate::sarif::{sarif_log, sarif_result};

/// Maximum findings reported; a thousand say no more than a few hundred.
const MOST_FINDINGS: usize = 500;

/// Options of a CI run.
#[derive(Clone, Debug, Default)]
pub struct CiOptions {
    /// JUnit reports of the head, each with its name.
    pub junit: Vec<(String, Vec<u8>)>,
    /// JUnit reports of the base.
    pub base_junit: Vec<(String, Vec<u8>)>,
    /// Whether a milder policy was approved.
    pub is_policy_approved: bool,
    /// Globs over `Name <address>` of authors who are agents.
    pub agent_authors: Vec<String>,
}

/// A feature that is proven.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CiEvidence {
    /// Which.
    pub feature: String,
    /// The grade: always `ci`.
    pub source: &'static str,
    /// Tests that passed for it.
    pub tests: u64,
}

impl CiEvidence {
    pub(crate) fn new(feature: &str, tests: u64) -> Self {
        Self { feature: feature.to_owned(), source: "ci", tests }
    }
}

/// How much was looked at, and what was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CiSummary {
    /// Findings that fail the run.
    pub errors: usize,
    /// Doubtful ones.
    pub warnings: usize,
    /// Remarks for the reviewer.
    pub notes: usize,
    /// Files that changed.
    pub files: usize,
    /// Findings that were left out of the list.
    pub omitted: usize,
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CiReport {
    /// The commit that the rules came from.
    pub base: String,
    /// The commit that was looked at.
    pub head: String,
    /// Where the head left the base.
    pub merge_base: String,
    /// What was found, the worst first.
    pub findings: Vec<CiFinding>,
    /// What was found good.
    pub evidence: Vec<CiEvidence>,
    /// What was not looked at, and why.
    pub skipped: Vec<String>,
    /// In numbers.
    pub summary: CiSummary,
}

impl CiReport {
    /// Whether nothing is against a rule.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.summary.errors == 0
    }
}

/// Verifies a pull request. Fails on a pattern of authors that cannot be read.
pub fn verify_pull_request(
    request: &PullRequest<'_>,
    options: &CiOptions,
) -> Result<CiReport, String> {
    let agents = patterns(&options.agent_authors)?;
    let mut skipped = Vec::new();
    let mut findings = banned_uses::check(request);
    findings.extend(records::check(request));
    let proven = features::check(request, options, &mut skipped);
    findings.extend(proven.findings);
    findings.extend(policy::check(request, options.is_policy_approved));
    match &agents {
        Some(agents) => findings.extend(human_authorship::check(request, agents)),
        None => skipped.push(
            "authors: no --agent-author was given, so no author was treated as an agent".to_owned(),
        ),
    }
    findings.extend(secrets::check(request));
    findings.extend(anchored_code::check(request));
    findings.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.cmp(b)));
    findings.dedup();
    let count =
        |severity: Severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let summary = CiSummary {
        errors: count(Severity::Error),
        warnings: count(Severity::Warning),
        notes: count(Severity::Note),
        files: request.changed.len(),
        omitted: findings.len().saturating_sub(MOST_FINDINGS),
    };
    findings.truncate(MOST_FINDINGS);
    Ok(CiReport {
        base: request.base.clone(),
        head: request.head.clone(),
        merge_base: request.merge_base.clone(),
        findings,
        evidence: proven.evidence,
        skipped,
        summary,
    })
}

/// The authors that are agents; `None` if not configured. Only `*` and `?` are wildcards: many
/// agent names end with `[bot]`.
fn patterns(given: &[String]) -> Result<Option<GlobSet>, String> {
    if given.is_empty() {
        return Ok(None);
    }
    let mut set = GlobSetBuilder::new();
    for pattern in given {
        let plain: String = pattern
            .chars()
            .map(|c| if "[]{}".contains(c) { format!("[{c}]") } else { c.to_string() })
            .collect();
        let glob = GlobBuilder::new(&plain).case_insensitive(true).backslash_escape(false).build();
        set.add(
            glob.map_err(|error| format!("`{pattern}` is not a valid pattern: {}", error.kind()))?,
        );
    }
    set.build().map(Some).map_err(|error| error.to_string())
}

/// Words of a message; what is longer is cut.
const MOST_WORDS: usize = 60;

words! {
    /// How bad a finding is. Only an error fails the run.
    pub enum Severity {
        /// Listed, for whoever reviews.
        Note = "note",
        /// Doubtful.
        Warning = "warning",
        /// Against a rule.
        Error = "error",
    }
}

/// Something that a pull request did.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct CiFinding {
    /// Which rule: `clauses`, `records`, `features`, `policy`, `authors`, `secrets` or
    /// `code`.
    pub rule: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// The file, from the project's folder; none where the whole is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The line in the head, from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// What is wrong, and one way forward.
    pub message: String,
}

impl CiFinding {
    /// A finding in a file.
    pub(super) fn at(rule: &'static str, severity: Severity, path: &str, message: &str) -> Self {
        Self { path: Some(path.to_owned()), ..Self::of(rule, severity, message) }
    }

    /// A finding about the whole.
    pub(super) fn of(rule: &'static str, severity: Severity, message: &str) -> Self {
        let words: Vec<&str> = message.split_whitespace().collect();
        let cut = if words.len() > MOST_WORDS { " …" } else { "" };
        let first_words = words
            .iter()
            .take(MOST_WORDS - usize::from(!cut.is_empty()))
            .copied()
            .collect::<Vec<_>>()
            .join(" ");
        Self { rule, severity, path: None, line: None, message: format!("{first_words}{cut}") }
    }

    /// The same at a line.
    pub(super) fn on(mut self, line: impl Into<Option<usize>>) -> Self {
        self.line = line.into();
        self
    }
}

/// The rules with what each demands.
const RULES: [(&str, &str); 7] = [
    ("clauses", "Nothing is added that a decision or the knowledge graph in the base rules out"),
    ("records", "Records in the base still exist, are unchanged, and can be read"),
    ("features", "A feature that becomes tested is proven by JUnit"),
    ("policy", "Policy and wiring are not weakened"),
    ("authors", "A record in a person's name is committed by a person"),
    ("secrets", "No new record contains a secret"),
    ("code", "A decision whose code changed under it is confirmed, reconsidered or superseded"),
];

/// A report as a SARIF log.
#[must_use]
pub fn sarif(report: &CiReport, version: &str) -> Value {
    let results = report.findings.iter().map(|finding| {
        let level = finding.severity.as_str();
        sarif_result(finding.rule, level, &finding.message, finding.path.as_deref(), finding.line)
    });
    sarif_log("twining", version, RULES.into_iter(), results)
}
