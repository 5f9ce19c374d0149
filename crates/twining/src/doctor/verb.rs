//! The health checks as a verb, for the page; `twining doctor` shows the same checks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_engine::Failure;

use super::program::{DoctorCheck, Health, areas};
use crate::project::CommandContext;
use crate::render::command_error::ExitStatus;
use crate::render::text_page::{TextPage, bad, count, dim, good, plain, warn};
use crate::verbs::tool_names::with_command_names;
use crate::verbs::verb::{Audience, Effect, Verb};

/// Commands that hints name, which a person can run as they are.
const COMMANDS: [&str; 4] =
    ["twining doctor --fix", "twining reindex", "twining seed", "twining init"];

/// Nothing is asked for: everything is looked at.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DoctorInput {}

/// How one thing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FindingStatus {
    /// It works.
    Ok,
    /// It could not be looked at.
    Unknown,
    /// It works, and somebody should look.
    Warn,
    /// It does not work.
    Bad,
}

/// One thing that was looked at.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct DoctorFinding {
    /// `memory`, `program`, `git` or `agents`.
    area: &'static str,
    /// What was looked at, such as `index`.
    name: &'static str,
    /// How it is.
    status: FindingStatus,
    /// What was found.
    message: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// A command that mends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'static str>,
}

impl DoctorFinding {
    fn of(area: &'static str, check: DoctorCheck) -> Self {
        let status = match check.finding {
            Health::Ok => FindingStatus::Ok,
            Health::NotChecked => FindingStatus::Unknown,
            Health::Warn => FindingStatus::Warn,
            Health::Fail => FindingStatus::Bad,
        };
        let hint = check.hint.map(|hint| with_command_names(&hint));
        let named = |command: &&&str| hint.as_ref().is_some_and(|hint| hint.contains(**command));
        let command = COMMANDS.iter().find(named).copied();
        Self { area, name: check.name, status, message: check.message, hint, command }
    }
}

/// How everything is.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct DoctorOutcome {
    /// Everything that was looked at.
    findings: Vec<DoctorFinding>,
    /// In one line.
    summary: String,
}

impl Verb for DoctorInput {
    const NAME: &'static str = "doctor";
    const ABOUT: &'static str = "Check that memory, git and agents work together.";
    const EXAMPLE: &'static str = "twining doctor";
    const EFFECT: Effect = Effect::Reads;
    const AUDIENCE: Audience = Audience::People;
    const COMMAND: Option<&'static str> = Some("doctor");

    type Output = DoctorOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<DoctorOutcome, Failure> {
        let found = areas(ctx.project).into_iter();
        let findings: Vec<DoctorFinding> = found
            .flat_map(|(area, checks)| checks.into_iter().map(move |check| (area, check)))
            .map(|(area, check)| DoctorFinding::of(area, check))
            .collect();
        let summary = summary(&findings);
        Ok(DoctorOutcome { findings, summary })
    }

    fn show(outcome: &DoctorOutcome, page: &mut TextPage) {
        for finding in &outcome.findings {
            let status = match finding.status {
                FindingStatus::Ok => good("ok"),
                FindingStatus::Unknown => dim("?"),
                FindingStatus::Warn => warn("warn"),
                FindingStatus::Bad => bad("bad"),
            };
            page.line([status, dim(finding.name), plain(&finding.message)]);
        }
    }

    fn ending(outcome: &DoctorOutcome) -> ExitStatus {
        let is_bad = |finding: &DoctorFinding| finding.status == FindingStatus::Bad;
        match outcome.findings.iter().any(is_bad) {
            true => ExitStatus::FoundProblems,
            false => ExitStatus::Done,
        }
    }
}

fn summary(findings: &[DoctorFinding]) -> String {
    let with = |status: FindingStatus| {
        findings.iter().filter(|finding| finding.status == status).count() as u64
    };
    let (bad, warned) = (with(FindingStatus::Bad), with(FindingStatus::Warn));
    let looked = count(findings.len() as u64, "check");
    match (bad, warned) {
        (0, 0) => format!("healthy: {looked}, nothing to do"),
        (0, warned) => format!("works: {} in {looked}", count(warned, "warning")),
        (bad, warned) => {
            format!("{} and {} in {looked}", count(bad, "problem"), count(warned, "warning"))
        }
    }
}
