//! `extract_patterns`: what keeps going wrong.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{Failure, PatternsInput, PatternsOutcome};

use super::{shown, words};
use crate::desk::Desk;
use crate::page::{Page, count, dim, good, plain, strong};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct ExtractPatterns;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Default 3
    #[arg(help = "How often before it proposes; default 3", long, value_name = "N", value_parser = words::number)]
    threshold: Option<usize>,
    #[arg(help = "Only traces from this time on", long, value_name = "TIME")]
    since: Option<String>,
    /// Default 20
    #[arg(long, value_name = "N", value_parser = words::number)]
    limit: Option<usize>,
}

impl Verb for ExtractPatterns {
    const NAME: &'static str = "extract_patterns";
    const GROUP: Group = Group::Learning;
    const TITLE: &'static str = "Extract patterns";
    const ABOUT: &'static str = "What keeps going wrong, by agent, guard or action, and reason; with what it proposes.";
    const EXAMPLE: &'static str = "twining extract-patterns --threshold 5";
    const EFFECT: Effect = Effect::Reads;

    type Input = Input;
    type Output = PatternsOutcome;

    fn run(desk: &Desk<'_>, input: Input) -> Result<PatternsOutcome, Failure> {
        let Input { threshold, since, limit } = input;
        desk.engine.extract_patterns(&desk.user_policy(), &PatternsInput { threshold, since, limit })
    }

    fn show(outcome: &PatternsOutcome, page: &mut Page) {
        if outcome.patterns.is_empty() {
            page.line([dim(format!("nothing keeps happening in {}", count(outcome.traces as u64, "trace")))]);
        }
        for pattern in &outcome.patterns {
            let about = pattern.guard.as_deref().unwrap_or(&pattern.action);
            page.line([dim(&pattern.id), strong(format!("{}×", pattern.count)), strong(&pattern.agent), plain(about)]);
            page.block(2, &pattern.reason);
            if pattern.counted < pattern.count {
                page.line([dim(format!("  {} of them count", pattern.counted))]);
            }
            match (&pattern.proposal, &pattern.made) {
                (_, Some(made)) => page.line([dim("  a guard was made of it:"), plain(made)]),
                (Some(proposal), None) => page.line([good("  proposal"), plain(&proposal.say)]),
                _ => {}
            }
        }
        shown::cut(page, outcome.truncated, "give --limit");
    }
}
