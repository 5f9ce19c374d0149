//! `review-context`: what a reviewer should hold a plan or a change against.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{Failure, ReviewContext, ReviewContextInput};

use super::words;
use crate::desk::Desk;
use crate::page::Page;
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct Review;

const KINDS: [&str; 3] = ["plan", "code", "budget"];

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    #[schemars(extend("enum" = KINDS))]
    #[arg(help = "What is reviewed", value_parser = words::one_of(KINDS))]
    kind: String,
    /// As given to knowledge_pack
    #[arg(help = "The story, as given to `knowledge pack`", long = "story", value_name = "ID")]
    story_id: Option<String>,
    /// Commit the change begins at; default: where the branch began
    #[arg(long, value_name = "REV")]
    base: Option<String>,
    /// Commit it ends at; default: the working tree
    #[arg(long, value_name = "REV")]
    head: Option<String>,
}

impl Verb for Review {
    const NAME: &'static str = "review_context";
    const GROUP: Group = Group::Knowledge;
    const TITLE: &'static str = "Context for a review";
    const ABOUT: &'static str = "What to review a plan or change against: the story's knowledge, critical rules for the changed files, what the change does to the graph; with Markdown for a prompt.";
    const EXAMPLE: &'static str = "twining review-context code --story S-12 --base main";
    const EFFECT: Effect = Effect::Reads;

    type Input = Input;
    type Output = ReviewContext;

    fn run(desk: &Desk<'_>, input: Input) -> Result<ReviewContext, Failure> {
        let Input { kind, story_id, base, head } = input;
        desk.engine.review_context(&ReviewContextInput { kind, story_id, base, head }, desk.history, desk.checkout)
    }

    fn show(context: &ReviewContext, page: &mut Page) {
        page.verbatim(&context.prompt);
    }
}
