//! `handoff`: pass work on, with what came of it and what holds there.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use twining_engine::{Failure, HandedOver, HandoffInput};
use twining_model::HandoffResult;

use super::words;
use crate::desk::Desk;
use crate::misread;
use crate::page::{Page, count, dim, good, plain};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct Handoff;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    #[arg(help = "One line: where it stands")]
    summary: String,
    #[schemars(extend("items" = result_schema()))]
    #[arg(help = "What came of a part, as JSON: {\"description\":…,\"status\":…}; repeat the flag for more", long = "result", value_name = "JSON", value_parser = result, required = true)]
    results: Vec<HandoffResult>,
    /// Leave out for anyone
    #[arg(help = "Who takes over; anyone if left out", long = "to", value_name = "AGENT")]
    target_agent: Option<String>,
    #[arg(help = words::SCOPE_OR_PROJECT, long)]
    scope: Option<String>,
    #[arg(help = "Whether to add what holds there; default true", long, value_name = "BOOL")]
    auto_snapshot: Option<bool>,
    #[arg(help = "Token budget of that", long, value_name = "N", value_parser = words::number)]
    max_tokens: Option<usize>,
    #[arg(skip)]
    source_agent: Option<String>,
}

fn result(json: &str) -> Result<HandoffResult, String> {
    let wanted = |why: String| format!(r#"write it as {{"description":"…","status":"completed"}}: {why}"#);
    // serde would also take a list of its fields in order.
    if json.trim_start().starts_with('[') {
        return Err(wanted("an object is wanted, a list was given".to_owned()));
    }
    serde_json::from_str(json).map_err(|error| wanted(misread::explained(&error.to_string())))
}

fn result_schema() -> Value {
    let text = json!({ "type": "string" });
    json!({
        "type": "object",
        "properties": {
            "description": text, "status": { "type": "string", "enum": ["completed", "partial", "blocked", "failed"] },
            "artifacts": { "type": "array", "items": text }, "notes": text,
        },
        "required": ["description", "status"],
    })
}

impl Verb for Handoff {
    const NAME: &'static str = "handoff";
    const GROUP: Group = Group::Agents;
    const TITLE: &'static str = "Hand over";
    const ABOUT: &'static str = "Hand work over with its results; decisions, warnings and open needs of the scope go with it.";
    const EXAMPLE: &'static str = "twining handoff \"tokens are issued\" --to bob --scope src/auth/ \\
      --result '{\"description\":\"issue tokens\",\"status\":\"completed\"}'";
    const EFFECT: Effect = Effect::Adds;

    type Input = Input;
    type Output = HandedOver;

    fn run(desk: &Desk<'_>, input: Input) -> Result<HandedOver, Failure> {
        let Input { summary, results, target_agent, scope, auto_snapshot, max_tokens, source_agent } = input;
        desk.engine.handoff(&desk.caller, &HandoffInput { source_agent, target_agent, summary, results, scope, auto_snapshot, max_tokens })
    }

    fn show(handed: &HandedOver, page: &mut Page) {
        page.line([good("handed over"), plain(&handed.id), dim(&handed.path)]);
        let context = &handed.context_snapshot;
        let told =
            [(context.decision_ids.len(), "decision"), (context.warning_ids.len(), "warning"), (context.finding_ids.len(), "finding")];
        let told = told.map(|(number, noun)| count(number as u64, noun)).join(", ");
        page.line([dim(format!("with {told}"))]);
    }
}
