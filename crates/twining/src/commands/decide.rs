//! `decide`: record a choice with its reasons.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{DecideInput, Decided, Failure};
use twining_model::Alternative;

use super::words::{self, CONFIDENCES};
use crate::desk::Desk;
use crate::page::{Page, dim, good, place, plain, standing, warn};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct Decide;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The choice in one line, at most 200 characters
    #[arg(long)]
    summary: String,
    /// architecture, implementation, testing, dependency, api, data, …
    #[arg(long)]
    domain: String,
    /// File, directory, module or `project`
    #[arg(help = words::SCOPE, long)]
    scope: String,
    /// What prompted it
    #[arg(long)]
    context: String,
    /// Why this choice
    #[arg(long)]
    rationale: String,
    #[serde(default, deserialize_with = "words::list")]
    #[arg(help = "What limited the options; repeat the flag for more", long = "constraint", value_name = "TEXT")]
    constraints: Vec<String>,
    #[serde(default, deserialize_with = "words::list")]
    #[schemars(extend("items" = words::alternative_schema()))]
    #[arg(help = "An option not taken, as JSON: {\"option\":…,\"reason_rejected\":…}", long = "alternative", value_name = "JSON", value_parser = words::alternative)]
    alternatives: Vec<Alternative>,
    /// Decisions it rests on
    #[serde(default, deserialize_with = "words::list")]
    #[arg(long = "depends-on", value_name = "ID", value_delimiter = ',')]
    depends_on: Vec<String>,
    /// Decision it replaces
    #[arg(long, value_name = "ID")]
    supersedes: Option<String>,
    #[schemars(extend("enum" = CONFIDENCES))]
    #[arg(help = "How sure you are; default medium", long, value_parser = words::one_of(CONFIDENCES))]
    confidence: Option<String>,
    #[arg(help = "Whether it can be undone; default true", long, value_name = "BOOL")]
    reversible: Option<bool>,
    #[serde(default, deserialize_with = "words::list")]
    #[arg(
        help = "Files it affects, with commas between; relative to the project",
        long = "affected-file",
        value_name = "PATH",
        value_delimiter = ','
    )]
    affected_files: Vec<String>,
    #[serde(default, deserialize_with = "words::list")]
    #[arg(help = "A function or type it affects; repeat the flag for more", long = "affected-symbol", value_name = "NAME")]
    affected_symbols: Vec<String>,
    #[arg(help = "A commit that carries it out", long = "commit", value_name = "HASH")]
    commit_hash: Option<String>,
    /// Your name
    #[arg(skip)]
    agent_id: Option<String>,
}

impl Verb for Decide {
    const NAME: &'static str = "decide";
    const GROUP: Group = Group::Decisions;
    const TITLE: &'static str = "Record a decision";
    const ABOUT: &'static str = "Record a choice other agents must follow, with its reasons and the options rejected. The reply names decisions it conflicts with: tell the user.";
    const EXAMPLE: &'static str = "twining decide --summary \"Use JWT\" --domain architecture --scope src/auth/ \\
      --context \"Sessions do not scale\" --rationale \"Stateless\" \\
      --alternative '{\"option\":\"Redis\",\"reason_rejected\":\"One more service\"}'";
    const EFFECT: Effect = Effect::Adds;
    const ALWAYS_LOADED: bool = true;

    type Input = Input;
    type Output = Decided;

    fn run(desk: &Desk<'_>, input: Input) -> Result<Decided, Failure> {
        let Input {
            summary,
            domain,
            scope,
            context,
            rationale,
            constraints,
            alternatives,
            depends_on,
            supersedes,
            confidence,
            reversible,
            affected_files,
            affected_symbols,
            commit_hash,
            agent_id,
        } = input;
        let draft = DecideInput {
            summary,
            domain,
            scope,
            context,
            rationale,
            constraints,
            alternatives,
            depends_on,
            supersedes,
            confidence,
            reversible,
            affected_files,
            affected_symbols,
            commit_hash,
            agent_id,
        };
        desk.engine.decide(&desk.caller, &draft)
    }

    fn show(decided: &Decided, page: &mut Page) {
        page.line([good("decided"), plain(&decided.id), standing(decided.status)]);
        if let Some(old) = &decided.superseded {
            page.line([dim("replaces"), plain(old)]);
        }
        if let Some(still) = &decided.still_ruled_out {
            page.line([warn(still)]);
        }
        for rival in &decided.conflicts {
            page.line([warn("conflicts with"), plain(&rival.id), place(&rival.scope), plain(&rival.summary)]);
            page.block(2, &rival.rationale);
        }
        if decided.omitted_conflicts > 0 {
            page.line([warn(format!("and with {} more", decided.omitted_conflicts))]);
        }
    }
}
