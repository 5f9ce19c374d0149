//! A scope of the project, against what the memory says of it.
//!
//! Every check reads; none runs anything. A constraint in a shared file is text
//! for a person to check, whatever it says.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{Entry, EntryType, InvalidInput, Scope, Time, limits};
use twining_store::View;

use crate::input::{CHECKS, each_of};

pub use twining_store::git::History;

use super::scope_checks;
use crate::blackboard::{VERIFIED, VERIFIED_TAG, note};
use crate::caller::{Caller, Stamp};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::fields;
use crate::secrets::{Redaction, clean, redact_fields};

/// A history in which nothing was ever committed.
pub(crate) struct NoHistory;

impl History for NoHistory {
    fn last_commits(&self, _files: &[String]) -> Result<BTreeMap<String, Time>, String> {
        Ok(BTreeMap::new())
    }
}

/// What to verify, as given by the caller.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VerifyInput {
    /// File, directory, module or `project` (default)
    ///
    /// A path is relative to the project
    pub scope: Option<String>,
    /// Only these checks
    #[schemars(extend("items" = each_of(CHECKS)))]
    pub checks: Vec<String>,
    /// Your name
    pub agent_id: Option<String>,
}

redact_fields!(VerifyInput { scope });

/// How a check went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// There was nothing to check.
    Skip,
    /// Nothing found.
    Pass,
    /// Worth a look.
    Warn,
    /// Something is wrong.
    Fail,
}

/// A record that a check names.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CheckItem {
    /// Its id.
    pub id: String,
    /// Its summary.
    pub summary: String,
    /// The file in question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// What a check found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ScopeCheck {
    /// How it went.
    pub status: CheckStatus,
    /// One sentence.
    pub message: String,
    /// How many were checked.
    pub checked: u64,
    /// What it found, at most 20.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<CheckItem>,
    /// How many it found.
    pub found: u64,
}

/// What a verification found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct VerifyOutcome {
    /// What was verified.
    pub scope: String,
    /// When.
    pub verified_at: String,
    /// By name.
    pub checks: BTreeMap<String, ScopeCheck>,
    /// One line.
    pub summary: String,
    /// Secrets redacted before writing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<Redaction>,
}

/// A check that can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CheckName {
    TestCoverage,
    Warnings,
    Assembly,
    Drift,
    Constraints,
}

const KINDS: [(&str, CheckName); 5] = [
    ("test_coverage", CheckName::TestCoverage),
    ("warnings", CheckName::Warnings),
    ("assembly", CheckName::Assembly),
    ("drift", CheckName::Drift),
    ("constraints", CheckName::Constraints),
];

/// The checks that are asked for; all of them if none is named.
fn wanted(checks: &[String]) -> Result<Vec<(&'static str, CheckName)>, InvalidInput> {
    limits::at_most("checks", checks, limits::LIST)?;
    let wanted = checks.iter().map(|word| fields::one_of("checks", word.trim(), &KINDS));
    let wanted: Vec<CheckName> = wanted.collect::<Result<_, _>>()?;
    let is_wanted = |kind: &CheckName| wanted.is_empty() || wanted.contains(kind);
    Ok(KINDS.into_iter().filter(|(_, kind)| is_wanted(kind)).collect())
}

/// Verifies a scope, and writes the finding that says so.
fn verify(
    view: &View<'_>,
    scope: &Scope,
    kinds: &[(&'static str, CheckName)],
    history: &dyn History,
    stamp: &Stamp<'_>,
) -> Result<(Entry, VerifyOutcome), Failure> {
    let decisions = scope_checks::ScopeDecisions::gather(view, scope)?;
    let mut checks = BTreeMap::new();
    for &(name, kind) in kinds {
        let check = match kind {
            CheckName::TestCoverage => scope_checks::test_coverage(view, &decisions)?,
            CheckName::Warnings => scope_checks::warnings(view, scope)?,
            CheckName::Assembly => scope_checks::assembly(&decisions),
            CheckName::Drift => scope_checks::drift(&decisions, history),
            CheckName::Constraints => scope_checks::constraints(view, scope)?,
        };
        checks.insert(name.to_owned(), check);
    }
    let summary = summary(scope, &checks);
    let lines: Vec<String> = checks
        .iter()
        .map(|(name, check)| format!("{name}: {}: {}", word(check.status), check.message))
        .collect();
    let finding = Entry {
        detail: lines.join("\n"),
        tags: vec![VERIFIED_TAG.to_owned()],
        ..note(stamp, EntryType::Finding, scope.as_str(), &summary)
    };
    let outcome = VerifyOutcome {
        scope: scope.to_string(),
        verified_at: stamp.at.to_string(),
        checks,
        summary,
        redacted: Vec::new(),
    };
    Ok((finding, outcome))
}

fn summary(scope: &Scope, checks: &BTreeMap<String, ScopeCheck>) -> String {
    let named = |status: CheckStatus| {
        let names: Vec<&str> = checks
            .iter()
            .filter(|(_, check)| check.status == status)
            .map(|(name, _)| name.as_str())
            .collect();
        (!names.is_empty()).then(|| format!("{} {}", word(status), names.join(", ")))
    };
    let parts: Vec<String> =
        [CheckStatus::Fail, CheckStatus::Warn, CheckStatus::Pass, CheckStatus::Skip]
            .into_iter()
            .filter_map(named)
            .collect();
    fields::summary(&format!("{VERIFIED}{scope}: {}", parts.join("; ")))
}

fn word(status: CheckStatus) -> &'static str {
    match status {
        CheckStatus::Skip => "skip",
        CheckStatus::Pass => "pass",
        CheckStatus::Warn => "warn",
        CheckStatus::Fail => "fail",
    }
}

impl Engine {
    /// Verifies a scope, and posts what it found.
    pub fn verify(
        &self,
        caller: &Caller,
        input: &VerifyInput,
        history: &dyn History,
    ) -> Result<VerifyOutcome, Failure> {
        let caller = &caller.called(input.agent_id.as_deref())?;
        let (input, redacted) = clean(input);
        let kinds = wanted(&input.checks)?;
        let scope = fields::scope_or_project(input.scope.as_deref(), self.store().root())?;
        let (finding, outcome) =
            self.store().view(|view| verify(view, &scope, &kinds, history, &self.stamp(caller)))?;
        self.store().post(&[finding])?;
        Ok(VerifyOutcome { redacted, ..outcome })
    }
}
