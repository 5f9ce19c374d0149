//! `post`: tell the other agents something.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{Failure, PostInput, Posted};

use super::words::{self, POSTABLE};
use crate::desk::Desk;
use crate::page::{Page, dim, good, plain, warn, when};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct Post;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    #[schemars(extend("enum" = POSTABLE))]
    #[arg(help = "What kind of entry", value_name = "TYPE", value_parser = words::postable(), hide_possible_values = false)]
    entry_type: String,
    /// One line, at most 200 characters
    summary: String,
    /// Full context
    #[arg(long)]
    detail: Option<String>,
    #[serde(default, deserialize_with = "words::list")]
    #[arg(help = "Domain tags", long = "tag", value_name = "TAG", value_delimiter = ',')]
    tags: Vec<String>,
    /// File, directory, module or `project` (default)
    #[arg(help = words::SCOPE_OR_PROJECT, long)]
    scope: Option<String>,
    /// Entries or decisions this is about; an answer or status closes them
    #[serde(default, deserialize_with = "words::list")]
    #[arg(long = "relates-to", value_name = "ID", value_delimiter = ',')]
    relates_to: Vec<String>,
    /// Your name
    #[arg(skip)]
    agent_id: Option<String>,
    #[arg(help = "Post it even if somebody said the same a moment ago", long, num_args = 0, default_missing_value = "true")]
    force: Option<bool>,
}

impl Verb for Post {
    const NAME: &'static str = "post";
    const GROUP: Group = Group::Blackboard;
    const TITLE: &'static str = "Post an entry";
    const ABOUT: &'static str = "Tell the other agents something: findings and warnings as you meet them, needs, questions, answers, status. Choices go to twining_decide.";
    const EXAMPLE: &'static str = "twining post warning \"Token clock skew is 5 minutes\" --scope src/auth/ --tag auth";
    const EFFECT: Effect = Effect::Adds;
    const ALWAYS_LOADED: bool = true;

    type Input = Input;
    type Output = Posted;

    fn run(desk: &Desk<'_>, input: Input) -> Result<Posted, Failure> {
        let Input { entry_type, summary, detail, tags, scope, relates_to, agent_id, force } = input;
        desk.engine.post(
            &desk.caller,
            &PostInput { entry_type, summary, detail, tags, scope, relates_to, agent_id, force: force.unwrap_or(false) },
        )
    }

    fn show(posted: &Posted, page: &mut Page) {
        let note = posted.note.as_deref().unwrap_or_default();
        if posted.duplicate_of.is_some() {
            page.line([warn("not posted"), plain(&posted.id), dim(note)]);
            return;
        }
        page.line([good("posted"), plain(&posted.id), dim("at"), when(&posted.timestamp)]);
        if !note.is_empty() {
            page.line([warn("but"), dim(note)]);
        }
    }
}
