//! Packs: the part of the graph that one story needs.
//!
//! A pack is kept under a key of the file's content, the terms and the options,
//! so it cannot be stale; which terms a story had is kept beside it, so that a
//! review sees the pack that its author saw, made from what the file says now.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{InvalidInput, limits, text};

use super::retrieve::{KnowledgeRetrieveInput, NodeQuery, RetrieveOutcome};
use super::terms::key_terms;
use crate::input::LEVELS;

/// Days a pack is kept that nobody uses.
pub(super) const UNUSED_DAYS: i64 = 7;

/// A story.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KnowledgePackInput {
    /// What is to be done
    pub description: String,
    /// Names the story for its review
    pub story_id: Option<String>,
    /// When it is done; repeat the flag for more
    #[serde(default)]
    pub acceptance_criteria: Vec<String>,
    /// Default 20
    pub max_results: Option<usize>,
    /// Only nodes of this level
    #[schemars(extend("enum" = LEVELS))]
    pub level: Option<String>,
}

/// What a story needs to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KnowledgePack {
    /// The story, if it has a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub story_id: Option<String>,
    /// Names the pack: the same for the same file, terms and options.
    pub pack_id: String,
    /// Whether it had been made before.
    pub cached: bool,
    #[serde(flatten)]
    /// The nodes.
    pub found: RetrieveOutcome,
}

/// A story whose every field is right, as it is kept for its review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoryTerms {
    pub story_id: Option<String>,
    pub terms: Vec<String>,
    pub max_results: Option<usize>,
    pub level: Option<String>,
}

impl StoryTerms {
    pub(super) fn parse(input: &KnowledgePackInput) -> Result<Self, InvalidInput> {
        let KnowledgePackInput { story_id, description, acceptance_criteria, max_results, level } = input;
        text::bounded("description", description, limits::TEXT_BYTES)?;
        limits::at_most("acceptance_criteria", acceptance_criteria, limits::LIST)?;
        acceptance_criteria.iter().try_for_each(|text| text::bounded("acceptance_criteria", text, limits::TEXT_BYTES))?;
        let story_id = story_id.as_deref().map(|id| text::name("story_id", id)).transpose()?;
        let story = Self { story_id, terms: key_terms(description, acceptance_criteria), max_results: *max_results, level: level.clone() };
        story.search()?;
        Ok(story)
    }

    pub(super) fn search(&self) -> Result<NodeQuery, InvalidInput> {
        let terms = Some(self.terms.join(" "));
        let input = KnowledgeRetrieveInput { terms, max_results: self.max_results, level: self.level.clone(), depth: Some(1) };
        let search = NodeQuery::parse(&input)?;
        // A story without a word to go by has an empty pack, not a whole level.
        Ok(if self.terms.is_empty() { NodeQuery { most: 1, level: None, ..search } } else { search })
    }

    /// Everything a pack depends on besides the file.
    pub(super) fn options(search: &NodeQuery) -> String {
        let level = search.level.map_or("all", |level| level.as_str());
        format!("{}\0{level}\0{}\0{}", search.words, search.most, search.depth)
    }
}
