//! `knowledge pack`: what a story needs to know.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{Failure, KnowledgePack, KnowledgePackInput};

use super::knowledge_retrieve::show_found;
use super::words::{self, LEVELS};
use crate::desk::Desk;
use crate::page::{Page, dim};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct Pack;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// What is to be done
    description: String,
    /// Names the story for its review
    #[arg(long = "story", value_name = "ID")]
    story_id: Option<String>,
    #[serde(default, deserialize_with = "words::list")]
    #[arg(help = "When it is done; repeat the flag for more", long = "criterion", value_name = "TEXT")]
    acceptance_criteria: Vec<String>,
    /// Default 20
    #[arg(long, value_name = "N", value_parser = words::number)]
    max_results: Option<usize>,
    #[schemars(extend("enum" = LEVELS))]
    #[arg(help = "Only nodes of this level", long, value_parser = words::one_of(LEVELS))]
    level: Option<String>,
}

impl Verb for Pack {
    const NAME: &'static str = "knowledge_pack";
    const GROUP: Group = Group::Knowledge;
    const TITLE: &'static str = "Pack knowledge for a story";
    const ABOUT: &'static str = "The part of the knowledge graph a story needs, found by its key terms. Call when you plan it.";
    const EXAMPLE: &'static str = "twining knowledge pack \"Add CORS headers to the API\" --story S-12";
    const EFFECT: Effect = Effect::Reads;

    type Input = Input;
    type Output = KnowledgePack;

    fn run(desk: &Desk<'_>, input: Input) -> Result<KnowledgePack, Failure> {
        let Input { description, story_id, acceptance_criteria, max_results, level } = input;
        desk.engine.knowledge_pack(&KnowledgePackInput { story_id, description, acceptance_criteria, max_results, level })
    }

    fn show(pack: &KnowledgePack, page: &mut Page) {
        show_found(&pack.found, page);
        page.line([dim(format!("// searched for {}", pack.found.search_terms.join(" ")))]);
    }
}
