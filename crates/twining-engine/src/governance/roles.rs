//! Roles: what an agent in a role must do, must not do, asks before and
//! escalates.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::text;
use twining_store::TextFile;

use crate::engine::Engine;
use crate::failure::Failure;
use crate::governance::policy::{GovernancePolicy, Mistake, PolicySource};
use crate::governance::*;
use crate::{fields, governance};

/// Which role the caller asks for.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleInput {
    /// coach, player, or one the project defines
    pub role: String,
    /// The project you mean to ask about
    pub project: Option<String>,
}

/// A role's rules.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Role {
    /// `ROLE-{role}`.
    pub id: String,
    /// Its name.
    pub role: String,
    /// What it must do.
    pub must_do: Vec<String>,
    /// What it must not do.
    pub must_not_do: Vec<String>,
    /// What to ask before doing.
    pub ask_before: Vec<String>,
    /// When it escalates to a person.
    pub escalate_when: Vec<String>,
    /// The source of each list item, in list order.
    pub sources: BTreeMap<String, Vec<PolicySource>>,
    /// What is wrong with the policy files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mistakes: Vec<Mistake>,
}

impl Role {
    /// Whether it has no rules.
    pub(crate) fn is_empty(&self) -> bool {
        [&self.must_do, &self.must_not_do, &self.ask_before, &self.escalate_when]
            .iter()
            .all(|list| list.is_empty())
    }
}

/// Answers what holds for a role. Any name that a layer defines is a role.
pub(crate) fn role(policy: &GovernancePolicy, name: &str) -> Result<Role, Failure> {
    let name = text::name("role", name)?.to_lowercase();
    let Some(settings) = policy.patch.roles.get(&name) else {
        let known = fields::some_names(policy.patch.roles.keys().map(String::as_str));
        let hint =
            format!("defined roles: {known}; `.twining/policy.yml` may define more under `roles:`");
        return Err(Failure::NotFound { what: "role", id: text::excerpt(&name, 80), hint });
    };
    let mut sources = settings.sources();
    for list in ["must_do", "must_not_do", "ask_before", "escalate_when"] {
        sources.entry(list.to_owned()).or_default();
    }
    Ok(Role {
        id: format!("ROLE-{name}"),
        must_do: settings.list("must_do"),
        must_not_do: settings.list("must_not_do"),
        ask_before: settings.list("ask_before"),
        escalate_when: settings.list("escalate_when"),
        sources,
        role: name,
        mistakes: policy.mistakes.clone(),
    })
}

/// Refuses a question about another project: one server knows one project, and
/// answering with this one's rules would be wrong.
pub(crate) fn is_here(asked: Option<&str>, here: &str) -> Result<(), Failure> {
    match asked.map(str::trim).filter(|asked| !asked.is_empty()) {
        Some(asked) if asked != here => {
            let hint = format!(
                "this project is `{here}`; leave out `project`, or ask the server of the other project"
            );
            Err(Failure::NotFound { what: "project", id: text::excerpt(asked, 80), hint })
        }
        _ => Ok(()),
    }
}

impl Engine {
    /// The policy in force in this project. An unreadable file is reported among the mistakes:
    /// rules must not vanish because of it.
    #[must_use]
    pub fn policy(&self, user: &UserPolicy) -> GovernancePolicy {
        let project = self
            .store()
            .documents()
            .policy()
            .unwrap_or_else(|error| TextFile::Unusable(error.to_string()));
        GovernancePolicy::resolve(user, &project)
    }

    /// Returns the rules of a role.
    pub fn role(&self, user: &UserPolicy, input: &RoleInput) -> Result<Role, Failure> {
        governance::roles::is_here(input.project.as_deref(), &self.store().project_name())?;
        governance::roles::role(&self.policy(user), &input.role)
    }

    /// Returns the gates of a task.
    pub fn gates(&self, user: &UserPolicy, input: &GatesInput) -> Result<GatesOutcome, Failure> {
        governance::gates::gates(&self.policy(user), input)
    }

    /// Checks results against the gates of a task; reports are read in `checkout`, the caller's
    /// working tree.
    pub fn check_gates(
        &self,
        user: &UserPolicy,
        checkout: &Path,
        input: &CheckGatesInput,
    ) -> Result<CheckGatesOutcome, Failure> {
        let policy = self.policy(user);
        let asked = GatesInput { task_type: input.task_type.clone(), complexity: input.complexity };
        let GatesOutcome { profile, notes, mistakes, .. } =
            governance::gates::gates(&policy, &asked)?;
        let reports = governance::reports::read(
            &input.reports,
            checkout,
            &self.store().location().project,
            self.store().root(),
        )?;
        let measured = governance::gates::GateMeasurements::of(input, &reports)?;
        Ok(CheckGatesOutcome {
            mistakes,
            ..governance::gates::check(profile, measured, reports, notes)
        })
    }

    /// Advises on how much ceremony fits a task.
    pub fn suggest_mode(
        &self,
        user: &UserPolicy,
        input: &SuggestModeInput,
    ) -> Result<SuggestModeOutcome, Failure> {
        governance::modes::suggest(&self.policy(user), input)
    }

    /// Lists the turns of a feature.
    pub fn turns(&self, input: &TurnsInput) -> Result<TurnsOutcome, Failure> {
        governance::turns::turns(&self.store().documents().turns()?, input)
    }
}
