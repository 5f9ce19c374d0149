//! `verify`: hold the memory against the code's history.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{CheckStatus, Failure, VerifyInput, VerifyOutcome};

use super::shown;
use super::words::{self, CHECKS};
use crate::desk::Desk;
use crate::page::{Page, bad, dim, good, place, plain, warn};
use crate::problem::Ending;
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct Verify;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    #[arg(help = words::SCOPE_OR_PROJECT)]
    scope: Option<String>,
    #[serde(default, deserialize_with = "words::list")]
    #[schemars(extend("items" = words::each_of(CHECKS)))]
    #[arg(help = "Only these checks", long = "check", value_name = "CHECK", value_delimiter = ',', value_parser = words::one_of(CHECKS))]
    checks: Vec<String>,
    /// Your name
    #[arg(skip)]
    agent_id: Option<String>,
}

impl Verb for Verify {
    const NAME: &'static str = "verify";
    const GROUP: Group = Group::Lifecycle;
    const TITLE: &'static str = "Verify";
    const ABOUT: &'static str =
        "Check that decisions are tested, warnings heeded and code has not drifted from them. Call before you finish; posts the result.";
    const EXAMPLE: &'static str = "twining verify src/auth/ --check drift,warnings";
    const EFFECT: Effect = Effect::Adds;

    type Input = Input;
    type Output = VerifyOutcome;

    fn run(desk: &Desk<'_>, input: Input) -> Result<VerifyOutcome, Failure> {
        let Input { scope, checks, agent_id } = input;
        desk.engine.verify(&desk.signing(agent_id.as_deref())?, &VerifyInput { scope, checks }, desk.history)
    }

    fn show(outcome: &VerifyOutcome, page: &mut Page) {
        page.line([plain(&outcome.summary)]);
        let rows = outcome.checks.iter().map(|(name, check)| {
            let status = match check.status {
                CheckStatus::Pass => good("pass"),
                CheckStatus::Fail => bad("fail"),
                CheckStatus::Warn => warn("warn"),
                CheckStatus::Skip => dim("skip"),
            };
            vec![status, plain(name), plain(&check.message)]
        });
        page.table(2, &rows.collect::<Vec<_>>());
        for (name, check) in &outcome.checks {
            shown::section(
                page,
                name,
                check.items.iter().map(|item| vec![dim(&item.id), place(item.file.as_deref().unwrap_or_default()), plain(&item.summary)]),
            );
        }
    }

    fn ending(outcome: &VerifyOutcome) -> Ending {
        let failed = outcome.checks.values().any(|check| check.status == CheckStatus::Fail);
        if failed { Ending::FoundProblems } else { Ending::Done }
    }
}
