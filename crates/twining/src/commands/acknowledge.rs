//! `acknowledge`: take over what was handed over.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{AcknowledgeInput, Failure, HandoffShown};

use super::shown;
use crate::desk::Desk;
use crate::page::{Page, dim, good, plain, strong};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct Acknowledge;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    #[arg(help = "The handoff's id")]
    handoff_id: String,
    #[arg(skip)]
    agent_id: Option<String>,
}

impl Verb for Acknowledge {
    const NAME: &'static str = "acknowledge";
    const GROUP: Group = Group::Agents;
    const TITLE: &'static str = "Take over";
    const ABOUT: &'static str = "Take over a handoff; the reply has its results and context.";
    const EXAMPLE: &'static str = "twining acknowledge 01M7EB3QWY4C5CPJF6982ZJQ18";
    const EFFECT: Effect = Effect::Changes;

    type Input = Input;
    type Output = HandoffShown;

    fn run(desk: &Desk<'_>, Input { handoff_id, agent_id }: Input) -> Result<HandoffShown, Failure> {
        desk.engine.acknowledge(&desk.caller, &AcknowledgeInput { handoff_id, agent_id })
    }

    fn show(handoff: &HandoffShown, page: &mut Page) {
        page.line([good("taken over"), dim("from"), plain(&handoff.source_agent), strong(&handoff.summary)]);
        let results = handoff.results.iter().map(|result| {
            vec![
                plain(&result.status),
                strong(&result.description),
                dim(result.artifacts.join(" ")),
                dim(result.notes.as_deref().unwrap_or_default()),
            ]
        });
        shown::section(page, "Results", results);
        let lines = handoff.context_snapshot.iter().flat_map(|context| &context.summaries);
        shown::section(page, "What held then", lines.map(|line| vec![plain(line)]));
    }
}
