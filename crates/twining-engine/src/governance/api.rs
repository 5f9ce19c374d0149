//! The verbs of governance.

use std::path::Path;

use twining_store::TextFile;

use crate::engine::Engine;
use crate::failure::Failure;
use crate::governance::{self, *};

impl Engine {
    /// What holds in this project. A file that cannot be read is told among the
    /// mistakes: rules must not vanish because of it.
    #[must_use]
    pub fn policy(&self, user: &UserPolicy) -> GovernancePolicy {
        let project = self.store().documents().policy().unwrap_or_else(|error| TextFile::Unusable(error.to_string()));
        GovernancePolicy::resolve(user, &project)
    }

    /// Tells what holds for a role.
    pub fn role(&self, user: &UserPolicy, input: &RoleInput) -> Result<Role, Failure> {
        governance::roles::is_here(input.project.as_deref(), &self.store().project_name())?;
        governance::roles::role(&self.policy(user), &input.role)
    }

    /// Tells which gates hold for a task.
    pub fn gates(&self, user: &UserPolicy, input: &GatesInput) -> Result<GatesOutcome, Failure> {
        governance::gates::gates(&self.policy(user), input)
    }

    /// Holds results against the gates of a task; reports are read in `checkout`,
    /// the working tree the caller stands in.
    pub fn check_gates(&self, user: &UserPolicy, checkout: &Path, input: &CheckGatesInput) -> Result<CheckGatesOutcome, Failure> {
        let policy = self.policy(user);
        let asked = GatesInput { task_type: input.task_type.clone(), complexity: input.complexity };
        let GatesOutcome { profile, notes, mistakes, .. } = governance::gates::gates(&policy, &asked)?;
        let reports = governance::reports::read(&input.reports, checkout, &self.store().place().project, self.store().root())?;
        let measured = governance::gates::GateMeasurements::of(input, &reports)?;
        Ok(CheckGatesOutcome { mistakes, ..governance::gates::check(profile, measured, reports, notes) })
    }

    /// Advises on how much ceremony fits a task.
    pub fn suggest_mode(&self, user: &UserPolicy, input: &SuggestModeInput) -> Result<SuggestModeOutcome, Failure> {
        governance::modes::suggest(&self.policy(user), input)
    }

    /// Lists the turns of a feature.
    pub fn turns(&self, input: &TurnsInput) -> Result<TurnsOutcome, Failure> {
        governance::turns::turns(&self.store().documents().turns()?, input)
    }
}
