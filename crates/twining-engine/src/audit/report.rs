//! What an audit found, worst first, for people and for machines.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use twining_model::{AnchoredRecord, words};

use super::finding_commands::{FindingCommand, keep};
use crate::sarif::{sarif_log, sarif_result};

/// Maximum findings reported; a thousand say no more than a few hundred.
const MOST_FINDINGS: usize = 500;

words! {
    /// What is wrong, the worst first.
    pub enum AuditClass {
        /// A secret in a text.
        Secret = "secret",
        /// Decisions that cannot both hold.
        Contradictory = "contradictory",
        /// It names code that moved or went.
        Stale = "stale",
        /// It names code that never was there.
        Unbound = "unbound",
        /// What it points to is missing.
        Lost = "lost",
        /// More than its reader takes.
        Oversized = "oversized",
        /// The same said twice.
        Duplicate = "duplicate",
        /// Waiting for too long.
        Leftover = "leftover",
        /// It says nothing.
        Junk = "junk",
    }
}

words! {
    /// What became of what a document claims.
    pub enum ClaimVerdict {
        /// It is there.
        Holds = "holds",
        /// It is elsewhere.
        Moved = "moved",
        /// It was there.
        Gone = "gone",
        /// It never was there, as far as can be told.
        Unknown = "unknown",
    }
}

/// Something that an audit found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AuditFinding {
    /// What is wrong.
    pub class: AuditClass,
    /// What became of the claim, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<ClaimVerdict>,
    /// The file, from the project's folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line, from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Other places that claim the same, as `file:line`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// The record of the memory: `decision:ID`, `entry:ID`, `entity:ID`, `relation:ID`, `node:ID`,
    /// `guard:ID`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<String>,
    /// What is claimed, as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// What was found, with its proof.
    pub message: String,
    /// Where it is now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The commit in which it moved or went.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// One way forward.
    pub fix: String,
    /// Commands that settle it, each under its key of `--ask`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<FindingCommand>,
    /// The content it was judged by, where that may change and the words stay the same.
    #[serde(skip)]
    #[schemars(skip)]
    pub(super) basis: String,
}

impl AuditFinding {
    pub(super) fn new(
        class: AuditClass,
        message: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self {
            class,
            verdict: None,
            file: None,
            line: None,
            also: Vec::new(),
            record: None,
            claim: None,
            message: message.into(),
            to: None,
            commit: None,
            fix: fix.into(),
            commands: Vec::new(),
            basis: String::new(),
        }
    }

    pub(super) fn at(self, file: &str, line: impl Into<Option<usize>>) -> Self {
        Self { file: Some(file.to_owned()), line: line.into(), ..self }
    }

    pub(super) fn about(self, record: &AnchoredRecord) -> Self {
        Self { record: Some(record.to_string()), ..self }
    }

    pub(super) fn of_record(self, kind: &str, id: &str) -> Self {
        Self { record: Some(format!("{kind}:{id}")), ..self }
    }

    /// With commands that settle it.
    pub(super) fn settled_by(self, commands: impl IntoIterator<Item = FindingCommand>) -> Self {
        Self { commands: commands.into_iter().collect(), ..self }
    }

    /// What it is about, as `--keep` takes it: a record, or a line of a file.
    #[must_use]
    pub fn subject(&self) -> String {
        let line = self.line.map(|line| format!(":{line}")).unwrap_or_default();
        let place = || self.file.as_ref().map(|file| format!("{file}{line}"));
        self.record.clone().or_else(place).unwrap_or_default()
    }
}

/// How much was looked at, and what was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AuditSummary {
    /// Documents that were read.
    pub documents: usize,
    /// Claims in them that can be checked.
    pub claims: usize,
    /// Claims that hold.
    pub holds: usize,
    /// Claims whose subject moved.
    pub moved: usize,
    /// Claims whose subject went.
    pub gone: usize,
    /// Claims that could not be checked, or whose subject never was there.
    pub unknown: usize,
    /// Records of the memory that were looked at.
    pub records: usize,
    /// Findings that somebody keeps.
    pub kept: usize,
    /// Findings that were left out of the list.
    pub omitted: usize,
}

/// What came of an audit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AuditReport {
    /// The documents that were read.
    pub documents: Vec<String>,
    /// What was found, the worst first.
    pub findings: Vec<AuditFinding>,
    /// In numbers.
    pub summary: AuditSummary,
    /// What was not looked at, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl AuditReport {
    /// Whether nothing was found.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    /// Both in one.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        self.documents.extend(other.documents);
        self.findings.extend(other.findings);
        self.notes.extend(other.notes);
        self.summary.records += other.summary.records;
        self.summary.kept += other.summary.kept;
        self
    }

    /// Offers to keep each finding.
    pub(super) fn offer_keeping(&mut self) {
        for finding in &mut self.findings {
            let subject = finding.subject();
            finding.commands.push(keep(&subject));
        }
    }

    /// Puts the worst first, and leaves out what nobody would read.
    #[must_use]
    pub fn ordered(mut self) -> Self {
        let rank = |finding: &AuditFinding| {
            // What is gone misleads more than what moved.
            let verdict = match finding.verdict {
                Some(ClaimVerdict::Moved) => 1,
                Some(ClaimVerdict::Unknown) => 2,
                Some(ClaimVerdict::Gone | ClaimVerdict::Holds) | None => 0,
            };
            (finding.class, verdict)
        };
        // Files near the root are read most.
        let depth = |finding: &AuditFinding| {
            finding.file.as_ref().map_or(0, |file| file.matches('/').count())
        };
        self.findings.sort_by(|a, b| {
            rank(a)
                .cmp(&rank(b))
                .then_with(|| depth(a).cmp(&depth(b)))
                .then_with(|| (&a.file, a.line, &a.record).cmp(&(&b.file, b.line, &b.record)))
        });
        self.summary.omitted = self.findings.len().saturating_sub(MOST_FINDINGS);
        self.findings.truncate(MOST_FINDINGS);
        self
    }
}

/// A report as a SARIF log.
#[must_use]
pub fn audit_sarif(report: &AuditReport, version: &str) -> Value {
    let rules = AuditClass::ALL.iter().map(|class| (class.as_str(), meaning(*class)));
    let results = report.findings.iter().map(|finding| {
        let level = match finding.class {
            AuditClass::Secret => "error",
            AuditClass::Duplicate | AuditClass::Leftover | AuditClass::Junk => "note",
            _ => "warning",
        };
        let claim = finding.claim.as_ref().map(|claim| format!("`{claim}`: ")).unwrap_or_default();
        let message = format!("{claim}{}; {}", finding.message, finding.fix);
        sarif_result(finding.class.as_str(), level, &message, finding.file.as_deref(), finding.line)
    });
    sarif_log("twining audit", version, rules, results)
}

fn meaning(class: AuditClass) -> &'static str {
    match class {
        AuditClass::Secret => "A text for agents contains a secret",
        AuditClass::Contradictory => "Decisions in force contradict each other",
        AuditClass::Stale => "It names code that moved or is gone",
        AuditClass::Unbound => "It names code that is nowhere in the tree",
        AuditClass::Lost => "What it points to is missing",
        AuditClass::Oversized => "It is larger than its reader takes",
        AuditClass::Duplicate => "The same text stands twice",
        AuditClass::Leftover => "It waits for an answer since long, or its branch is gone",
        AuditClass::Junk => "It tells an agent nothing, or hides something",
    }
}
