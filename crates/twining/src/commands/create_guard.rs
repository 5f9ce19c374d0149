//! `create_guard`: a proposed guard from a pattern.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{CreateGuardInput, Failure, GuardCreated};

use super::words;
use crate::desk::Desk;
use crate::page::{Page, dim, good, plain, strong, warn};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct CreateGuard;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    #[arg(help = "The pattern's id")]
    pattern: String,
    #[arg(help = "The guard's name", long)]
    id: Option<String>,
    #[arg(help = "What it tells an agent; default: the pattern's reason", long)]
    say: Option<String>,
    #[arg(help = "What to do instead", long)]
    next_step: Option<String>,
    /// Conditions; default: the pattern's action
    #[serde(default, deserialize_with = "words::list")]
    #[arg(help = "Commands it stops, such as `git push`; default: the pattern's", long = "command", value_name = "COMMAND")]
    commands: Vec<String>,
    #[serde(default, deserialize_with = "words::list")]
    #[arg(help = "Globs of files it keeps", long = "path", value_name = "GLOB")]
    paths: Vec<String>,
    #[serde(default, deserialize_with = "words::list")]
    #[arg(help = "Text that must not come in", long = "adds", value_name = "TEXT")]
    adds: Vec<String>,
    #[serde(default, deserialize_with = "words::list")]
    #[arg(help = "Tools it is asked about; default: all", long = "tool", value_name = "TOOL")]
    tools: Vec<String>,
    #[arg(skip)]
    agent_id: Option<String>,
}

impl Verb for CreateGuard {
    const NAME: &'static str = "create_guard";
    const GROUP: Group = Group::Learning;
    const TITLE: &'static str = "Create a guard";
    const ABOUT: &'static str =
        "Propose a guard from a pattern. It warns until a person promotes it; the answer says what it would have stopped.";
    const EXAMPLE: &'static str = "twining create-guard pattern-7c0d5e21b3a4f698 --id no-push --command \"git push\"";
    const EFFECT: Effect = Effect::AddsOnce;

    type Input = Input;
    type Output = GuardCreated;

    fn run(desk: &Desk<'_>, input: Input) -> Result<GuardCreated, Failure> {
        let Input { pattern, id, say, next_step, commands, paths, adds, tools, agent_id } = input;
        let input = CreateGuardInput { pattern, id, say, next_step, commands, paths, adds, tools, agent_id };
        desk.engine.create_guard(&desk.caller, &desk.user_policy(), &input)
    }

    fn show(created: &GuardCreated, page: &mut Page) {
        page.line([good("proposed"), strong(&created.id), dim(&created.place)]);
        page.line([dim("backtest"), plain(created.backtest.say())]);
        created.backtest.fine_ones.iter().for_each(|call| page.line([warn("  fine"), plain(call)]));
        created.backtest.others.iter().for_each(|call| page.line([dim("  stopped"), plain(call)]));
        page.line([dim("next"), plain(&created.next_step)]);
    }
}
