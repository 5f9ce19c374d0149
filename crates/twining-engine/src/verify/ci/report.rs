//! The run: every rule over one pull request, and what came of it.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::Serialize;

use super::finding::{CiFinding, Severity};
use super::pull_request::PullRequest;
use super::rules::{authors, clauses, features, policy, records, secrets};

/// Findings that are told; a thousand say no more than a few hundred.
const MOST_FINDINGS: usize = 500;

/// What whoever runs it says.
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
    /// Remarks for whoever reviews.
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
pub fn verify_pull_request(request: &PullRequest<'_>, options: &CiOptions) -> Result<CiReport, String> {
    let agents = patterns(&options.agent_authors)?;
    let mut skipped = Vec::new();
    let mut findings = clauses::check(request);
    findings.extend(records::check(request));
    let proven = features::check(request, options, &mut skipped);
    findings.extend(proven.findings);
    findings.extend(policy::check(request, options.is_policy_approved));
    match &agents {
        Some(agents) => findings.extend(authors::check(request, agents)),
        None => skipped.push("authors: no --agent-author was given, so nobody was taken for an agent".to_owned()),
    }
    findings.extend(secrets::check(request));
    findings.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.cmp(b)));
    findings.dedup();
    let count = |severity: Severity| findings.iter().filter(|finding| finding.severity == severity).count();
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

/// The authors that are agents; none where nobody said. Only `*` and `?` are signs:
/// the name of many an agent ends with `[bot]`.
fn patterns(given: &[String]) -> Result<Option<GlobSet>, String> {
    if given.is_empty() {
        return Ok(None);
    }
    let mut set = GlobSetBuilder::new();
    for pattern in given {
        let plain: String = pattern.chars().map(|c| if "[]{}".contains(c) { format!("[{c}]") } else { c.to_string() }).collect();
        let glob = GlobBuilder::new(&plain).case_insensitive(true).backslash_escape(false).build();
        set.add(glob.map_err(|error| format!("`{pattern}` is no pattern: {}", error.kind()))?);
    }
    set.build().map(Some).map_err(|error| error.to_string())
}
