//! `knowledge retrieve`: the part of the reviewed graph that a few words are about.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{Failure, KnowledgeRetrieveInput, Retrieved};

use super::words::{self, LEVELS};
use crate::commands::at_a_prompt;
use crate::desk::Desk;
use crate::page::{Page, dim, warn};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct KnowledgeRetrieve;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// What to look for; none for all of a level
    terms: Option<String>,
    /// Default 20
    #[arg(long, value_name = "N", value_parser = words::number)]
    max_results: Option<usize>,
    #[schemars(extend("enum" = LEVELS))]
    #[arg(help = "Only nodes of this level", long, value_parser = words::one_of(LEVELS))]
    level: Option<String>,
    /// Steps around each hit; default 1
    #[arg(long, value_name = "N", value_parser = words::number)]
    depth: Option<usize>,
}

impl Verb for KnowledgeRetrieve {
    const NAME: &'static str = "knowledge_retrieve";
    const GROUP: Group = Group::Knowledge;
    const TITLE: &'static str = "Search the knowledge graph";
    const ABOUT: &'static str = "The components, patterns and rules people agreed on that bear on some words, with their neighbours, as DOT. Ask before you design.";
    const EXAMPLE: &'static str = "twining knowledge retrieve \"error handling\"";
    const EFFECT: Effect = Effect::Reads;

    type Input = Input;
    type Output = Retrieved;

    fn run(desk: &Desk<'_>, input: Input) -> Result<Retrieved, Failure> {
        let Input { terms, max_results, level, depth } = input;
        desk.engine.knowledge_retrieve(&KnowledgeRetrieveInput { terms, max_results, level, depth })
    }

    fn show(found: &Retrieved, page: &mut Page) {
        show_found(found, page);
    }
}

/// The subgraph, and what is to be known of it.
pub fn show_found(found: &Retrieved, page: &mut Page) {
    page.verbatim(&found.subgraph);
    page.line([dim(format!("// {} found, {} around them", found.hits.len(), found.neighbors.len()))]);
    if found.omitted > 0 {
        page.line([dim(format!("// {} more did not fit; ask for less at a time", found.omitted))]);
    }
    if found.omitted_edges > 0 {
        page.line([dim(format!("// {} more edges between them did not fit", found.omitted_edges))]);
    }
    if let Some(note) = &found.note {
        page.line([warn(format!("// {}", at_a_prompt(note)))]);
    }
}
