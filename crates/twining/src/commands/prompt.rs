//! `prompt`: what an agent in a role should have in front of it.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{Failure, Prompt, PromptInput};

use super::words;
use crate::desk::Desk;
use crate::page::Page;
use crate::verbs::{Effect, Group, Verb};

/// Taken where nobody said how hard a task is: the middle.
const COMPLEXITY: i64 = 5;

/// The verb.
pub struct PromptFor;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// coach, player, or one the project defines
    role: String,
    #[arg(help = "The task's id", long)]
    task: String,
    #[arg(help = "The feature's id; default: from the task's", long)]
    feature: Option<String>,
    #[arg(help = "feature (default), testing, documentation, scaffolding, or the project's own", long)]
    task_type: Option<String>,
    #[arg(help = "1 to 10; default 5", long, value_name = "N")]
    complexity: Option<i64>,
    /// The turn that begins, from 1
    #[arg(long, value_name = "N")]
    turn: Option<u64>,
    #[arg(help = words::SCOPE_OR_PROJECT, long)]
    scope: Option<String>,
}

impl Verb for PromptFor {
    const NAME: &'static str = "prompt";
    const GROUP: Group = Group::Governance;
    const TITLE: &'static str = "Prompt";
    const ABOUT: &'static str = "The prompt for an agent in a role, within a token budget: role, quality gates, the turn before, mode, decisions and warnings in scope.";
    const EXAMPLE: &'static str = "twining prompt coach --task TASK-GE-001 --task-type feature --complexity 5 --turn 2";
    const EFFECT: Effect = Effect::Reads;

    type Input = Input;
    type Output = Prompt;

    fn run(desk: &Desk<'_>, input: Input) -> Result<Prompt, Failure> {
        let Input { role, task, feature, task_type, complexity, turn, scope } = input;
        let task_type = task_type.or_else(|| Some("feature".to_owned()));
        let complexity = complexity.unwrap_or(COMPLEXITY);
        let input = PromptInput { role, feature, task, task_type, complexity, turn, scope };
        desk.engine.prompt(&desk.user_policy(), &input)
    }

    fn show(prompt: &Prompt, page: &mut Page) {
        // Nothing but the prompt: it is pasted, or put before a model by a hook.
        page.verbatim(&prompt.text);
    }
}
