//! A scope of the project, against what the memory says of it.
//!
//! Every check reads; none runs anything. A constraint in a shared file is text
//! for a person to check, whatever it says.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{Entry, EntryType, InvalidInput, Scope, limits, words};
use twining_store::View;

use crate::input_types::each_of;

pub use twining_store::git::History;

use super::scope_checks;
use crate::blackboard::{VERIFIED, VERIFIED_TAG, note};
use crate::caller::{Caller, Stamp};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::fields;
use crate::secrets::{Redaction, clean, redact_fields};

/// What to verify, as given by the caller.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VerifyInput {
    /// File, directory, module or `project` (default)
    ///
    /// A path is relative to the project
    pub scope: Option<String>,
    /// Only these checks
    #[schemars(extend("items" = each_of(CheckName::ALL.map(CheckName::as_str))))]
    pub checks: Vec<String>,
    /// Your name
    pub agent_id: Option<String>,
}

redact_fields!(VerifyInput { scope });

words! {
    /// How a check went.
    pub enum CheckStatus {
        /// There was nothing to check.
        Skip = "skip",
        /// Nothing found.
        Pass = "pass",
        /// Worth a look.
        Warn = "warn",
        /// Something is wrong.
        Fail = "fail",
    }
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

words! {
    /// A check that can be asked for.
    enum CheckName {
        TestCoverage = "test_coverage",
        Warnings = "warnings",
        Assembly = "assembly",
        Drift = "drift",
        Constraints = "constraints",
    }
}

/// The checks that are asked for; all of them if none is named.
fn wanted(checks: &[String]) -> Result<Vec<CheckName>, InvalidInput> {
    limits::at_most("checks", checks, limits::LIST)?;
    let wanted = checks.iter().map(|word| CheckName::parse("checks", word));
    let wanted: Vec<CheckName> = wanted.collect::<Result<_, _>>()?;
    let is_wanted = |kind: &CheckName| wanted.is_empty() || wanted.contains(kind);
    Ok(CheckName::ALL.into_iter().filter(is_wanted).collect())
}

/// Verifies a scope, and writes the finding that says so.
fn verify(
    view: &View<'_>,
    scope: &Scope,
    kinds: &[CheckName],
    history: &dyn History,
    stamp: &Stamp<'_>,
) -> Result<(Entry, VerifyOutcome), Failure> {
    let decisions = scope_checks::ScopeDecisions::gather(view, scope)?;
    let mut checks = BTreeMap::new();
    for &kind in kinds {
        let check = match kind {
            CheckName::TestCoverage => scope_checks::test_coverage(view, &decisions)?,
            CheckName::Warnings => scope_checks::warnings(view, scope)?,
            CheckName::Assembly => scope_checks::assembly(&decisions),
            CheckName::Drift => scope_checks::drift(&decisions, history),
            CheckName::Constraints => scope_checks::constraints(view, scope)?,
        };
        checks.insert(kind.as_str().to_owned(), check);
    }
    let summary = summary(scope, &checks);
    let lines: Vec<String> = checks
        .iter()
        .map(|(name, check)| format!("{name}: {}: {}", check.status.as_str(), check.message))
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
        (!names.is_empty()).then(|| format!("{} {}", status.as_str(), names.join(", ")))
    };
    let parts: Vec<String> =
        [CheckStatus::Fail, CheckStatus::Warn, CheckStatus::Pass, CheckStatus::Skip]
            .into_iter()
            .filter_map(named)
            .collect();
    fields::summary(&format!("{VERIFIED}{scope}: {}", parts.join("; ")))
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
