//! Retrieval: the nodes a few words are about, and those around them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::knowledge_vocabulary::Level;
use twining_model::{InvalidInput, limits, text};
use twining_store::{NodeIndex, StoreError, terms};

use super::draw;
use super::graph::{KnowledgeEdge, KnowledgeGraph};
use crate::anchors::CodeNote;
use crate::fields::{self, is_zero};
use crate::input_types::LEVELS;

/// Hits when none are asked for.
const HITS: usize = 20;
/// Steps around a hit when none are asked for.
const DEPTH: usize = 1;
/// Bytes of a subgraph: as JSON it may be twice as long.
const SUBGRAPH_BYTES: usize = limits::ANSWER_BYTES / 4;

/// Edges of a subgraph.
const EDGES: usize = limits::WALK_NODES * 4;

/// What to look for.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KnowledgeRetrieveInput {
    /// Search terms; none for a whole level
    pub terms: Option<String>,
    /// Default 20
    pub max_results: Option<usize>,
    /// Only nodes of this level
    #[schemars(extend("enum" = LEVELS))]
    pub level: Option<String>,
    /// Steps around each hit; default 1
    pub depth: Option<usize>,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RetrieveOutcome {
    /// The nodes and the edges between them, as DOT.
    pub subgraph: String,
    /// How many nodes it has.
    pub count: usize,
    /// The nodes found, best first.
    pub hits: Vec<String>,
    /// The nodes around them, nearest first.
    pub neighbors: Vec<String>,
    /// The search terms.
    pub search_terms: Vec<String>,
    /// Nodes that did not fit into the answer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted: u64,
    /// Edges between these nodes that did not fit into the answer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted_edges: u64,
    /// Invalid nodes that were skipped.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
    /// What the caller should know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Nodes whose code is doubtful, gone, or not at its place: check before relying on them.
    // Never read back: a cached pack is labelled anew.
    #[serde(skip_deserializing, skip_serializing_if = "BTreeMap::is_empty")]
    pub code: BTreeMap<String, CodeNote>,
}

/// A search that makes sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NodeQuery {
    pub words: String,
    pub most: usize,
    pub level: Option<Level>,
    pub depth: usize,
}

impl NodeQuery {
    pub(super) fn parse(input: &KnowledgeRetrieveInput) -> Result<Self, InvalidInput> {
        let words = input.terms.as_deref().unwrap_or_default().trim();
        text::bounded("terms", words, limits::TEXT_BYTES)?;
        let level = level(input.level.as_deref())?;
        // With no words it is a view of a whole level, which is to be complete.
        let (hits, depth) = if words.is_empty() { (limits::PAGE, 0) } else { (HITS, DEPTH) };
        let depth = input.depth.unwrap_or(depth);
        if depth > limits::WALK_DEPTH {
            return Err(InvalidInput::new(
                "depth",
                format!("must be from 0 to {}", limits::WALK_DEPTH),
            )
            .because(format!("{depth} was given")));
        }
        Ok(Self {
            words: words.to_owned(),
            most: fields::page("max_results", input.max_results, hits)?,
            level,
            depth,
        })
    }
}

/// Takes a level; `all` is none in particular.
pub(super) fn level(given: Option<&str>) -> Result<Option<Level>, InvalidInput> {
    match given.map(str::trim) {
        None | Some("" | "all") => Ok(None),
        Some(word) => Level::parse("level", word)
            .map(Some)
            .map_err(|refused| refused.because("use `all` for both levels")),
    }
}

/// Finds what a search is about. The index is asked for only if there are words.
pub(super) fn retrieve<'i>(
    known: &KnowledgeGraph,
    search: &NodeQuery,
    index: impl FnOnce() -> Result<&'i NodeIndex, StoreError>,
) -> Result<RetrieveOutcome, StoreError> {
    let asked = terms(&search.words);
    let wanted = |position: usize| {
        search.level.is_none_or(|level| known.at(position).level() == Some(level))
    };
    let mut hits = match (asked.is_empty(), search.level) {
        (false, _) if known.nodes().len() > 0 => index()?.find(&asked, search.most, wanted)?,
        (true, Some(_)) if search.words.is_empty() => {
            known.nodes().map(|node| node.position).filter(|position| wanted(*position)).collect()
        }
        _ => Vec::new(),
    };
    // Of a level, all is meant; of a search, so many of the best.
    let beyond = cut(&mut hits, search.most);
    let mut neighbors = around(known, &hits, search.depth, wanted);
    let beyond = beyond + cut(&mut neighbors, limits::WALK_NODES);
    let mut retrieved = fitting(known, hits, neighbors);
    retrieved.omitted += beyond as u64;
    retrieved.search_terms = asked.into_iter().map(|term| term.text).collect();
    retrieved.left_out = known.left_out() as u64;
    retrieved.note = note(known, &retrieved);
    Ok(retrieved)
}

/// The nodes within so many steps of the hits, nearest first, then as in the file.
fn around(
    known: &KnowledgeGraph,
    hits: &[usize],
    depth: usize,
    wanted: impl Fn(usize) -> bool,
) -> Vec<usize> {
    let mut near: HashMap<usize, Vec<usize>> = HashMap::new();
    if depth > 0 && !hits.is_empty() {
        for valid_edge in known.valid_edges() {
            near.entry(valid_edge.from.position).or_default().push(valid_edge.to.position);
            near.entry(valid_edge.to.position).or_default().push(valid_edge.from.position);
        }
    }
    let mut reached: BTreeSet<usize> = hits.iter().copied().collect();
    let (mut frontier, mut found): (BTreeSet<usize>, Vec<usize>) = (reached.clone(), Vec::new());
    for _ in 0..depth {
        let next = frontier
            .iter()
            .filter_map(|position| near.get(position))
            .flatten()
            .copied()
            .filter(|position| wanted(*position));
        frontier = next.filter(|position| !reached.contains(position)).collect();
        reached.extend(&frontier);
        found.extend(&frontier);
    }
    found
}

/// Truncates, and returns how many were removed.
fn cut(found: &mut Vec<usize>, most: usize) -> usize {
    let beyond = found.len().saturating_sub(most);
    found.truncate(most);
    beyond
}

/// The answer, as large as it may be: hits first, then the nearest neighbours.
fn fitting(known: &KnowledgeGraph, hits: Vec<usize>, neighbors: Vec<usize>) -> RetrieveOutcome {
    let mut left = SUBGRAPH_BYTES;
    let mut fits = |position: &usize| {
        let bytes = draw::node(known.at(*position)).len();
        // One that is too large leaves its space to the others.
        let fits = bytes <= left;
        left -= if fits { bytes } else { 0 };
        fits
    };
    let found = hits.len() + neighbors.len();
    let hits: Vec<usize> = hits.into_iter().filter(|position| fits(position)).collect();
    let neighbors: Vec<usize> = neighbors.into_iter().filter(|position| fits(position)).collect();
    let included: BTreeSet<usize> = hits.iter().chain(&neighbors).copied().collect();
    let between = |valid_edge: &KnowledgeEdge<'_>| {
        included.contains(&valid_edge.from.position) && included.contains(&valid_edge.to.position)
    };
    let edges = known.valid_edges().filter(between).count().saturating_sub(EDGES);
    let subgraph = draw::dot(
        included.iter().map(|position| known.at(*position)),
        known.valid_edges().filter(between).take(EDGES),
    );
    let ids = |positions: &[usize]| {
        positions.iter().map(|position| known.at(*position).id().to_owned()).collect()
    };
    RetrieveOutcome {
        subgraph,
        count: included.len(),
        hits: ids(&hits),
        neighbors: ids(&neighbors),
        omitted: (found - included.len()) as u64,
        omitted_edges: edges as u64,
        ..RetrieveOutcome::default()
    }
}

fn note(known: &KnowledgeGraph, retrieved: &RetrieveOutcome) -> Option<String> {
    let broken = (!known.errors.is_empty()).then(|| {
        format!(
            "the graph has {}; twining_knowledge_check lists them",
            fields::count(known.errors.len() as u64, "error", "errors")
        )
    });
    let empty = (known.declared == 0 && known.errors.is_empty())
        .then(|| "the graph is empty; add nodes with twining_knowledge_update".to_owned());
    let aimless = (retrieved.count == 0 && retrieved.search_terms.is_empty() && empty.is_none())
        .then(|| "give terms, or a level to get all its nodes".to_owned());
    [broken, empty, aimless].into_iter().flatten().reduce(|one, other| format!("{one}; {other}"))
}

/// Days a pack is kept that nobody uses.
pub(super) const UNUSED_DAYS: i64 = 7;

/// A story.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KnowledgePackInput {
    /// What is to be done
    pub description: String,
    /// Story id, for its review
    pub story_id: Option<String>,
    /// Done criteria; repeat the flag for more
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
    /// Pack id: the same for the same file, terms and options.
    pub pack_id: String,
    /// Whether it was cached.
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
        let KnowledgePackInput { story_id, description, acceptance_criteria, max_results, level } =
            input;
        text::bounded("description", description, limits::TEXT_BYTES)?;
        limits::at_most("acceptance_criteria", acceptance_criteria, limits::LIST)?;
        acceptance_criteria
            .iter()
            .try_for_each(|text| text::bounded("acceptance_criteria", text, limits::TEXT_BYTES))?;
        let story_id = fields::optional("story_id", story_id.as_deref(), text::name)?;
        let story = Self {
            story_id,
            terms: key_terms(description, acceptance_criteria),
            max_results: *max_results,
            level: level.clone(),
        };
        story.search()?;
        Ok(story)
    }

    pub(super) fn search(&self) -> Result<NodeQuery, InvalidInput> {
        let terms = Some(self.terms.join(" "));
        let input = KnowledgeRetrieveInput {
            terms,
            max_results: self.max_results,
            level: self.level.clone(),
            depth: Some(1),
        };
        let search = NodeQuery::parse(&input)?;
        // A story without a word to go by has an empty pack, not a whole level.
        Ok(if self.terms.is_empty() {
            NodeQuery { most: 1, level: None, ..search }
        } else {
            search
        })
    }

    /// Everything a pack depends on besides the file.
    pub(super) fn options(search: &NodeQuery) -> String {
        let level = search.level.map_or("all", |level| level.as_str());
        format!("{}\0{level}\0{}\0{}", search.words, search.most, search.depth)
    }
}

/// So many terms are kept.
const MOST: usize = 20;
/// A shorter word says little.
const SHORTEST: usize = 3;

/// Words that occur in every story.
const STOP_WORDS: &str = " the a an and or but in on at to for of with by from as is are was were be been being have has had do does \
did will would should could may might must can this that these those i you he she it we they what which who when where why how \
using able use support ";

/// The most frequent words of a story, identifiers whole; ties in order of appearance. Counted
/// regardless of case, and returned as first written.
#[must_use]
pub fn key_terms(description: &str, acceptance_criteria: &[String]) -> Vec<String> {
    let mut counts: HashMap<String, (usize, usize)> = HashMap::new();
    let mut found: Vec<(usize, &str)> = Vec::new();
    for word in std::iter::once(description)
        .chain(acceptance_criteria.iter().map(String::as_str))
        .flat_map(tokens)
    {
        let folded = word.to_lowercase();
        if folded.chars().count() < SHORTEST || STOP_WORDS.contains(&format!(" {folded} ")) {
            continue;
        }
        let (count, place) = counts.entry(folded).or_insert((0, found.len()));
        *count += 1;
        match found.get_mut(*place) {
            Some(seen) => seen.0 = *count,
            None => found.push((*count, word)),
        }
    }
    found.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    found.into_iter().take(MOST).map(|(_, word)| word.to_owned()).collect()
}

/// Words and identifiers: letters, digits, `_`, and `-` between them.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let is_separator = |c: char| !(c.is_alphanumeric() || c == '_' || c == '-');
    text.split(is_separator)
        .map(|word| word.trim_matches('-'))
        .filter(|word| word.chars().any(char::is_alphanumeric))
}

#[cfg(test)]
mod tests {
    use crate::knowledge::retrieve::*;

    fn terms(description: &str, criteria: &[&str]) -> Vec<String> {
        key_terms(description, &criteria.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn what_stands_most_often_comes_first_whatever_its_case() {
        let found = terms(
            "API API API database database error",
            &["API endpoints must be documented", "Database transactions should be atomic"],
        );
        assert_eq!(found[..2], ["API", "database"]);
        assert_eq!(
            found[2..],
            ["error", "endpoints", "documented", "transactions", "atomic"],
            "equals in order of appearance"
        );
    }

    #[test]
    fn words_that_stand_everywhere_are_left_out() {
        let found = terms(
            "Add CORS headers to REST API using HTTP middleware",
            &["Support OPTIONS preflight requests"],
        );
        assert_eq!(
            found,
            [
                "Add",
                "CORS",
                "headers",
                "REST",
                "API",
                "HTTP",
                "middleware",
                "OPTIONS",
                "preflight",
                "requests"
            ]
        );
    }

    #[test]
    fn identifiers_stay_whole() {
        let found = terms(
            "Refactor getUserProfile and update_user_settings functions, then error-handling --- (x_y)",
            &[],
        );
        assert_eq!(
            found,
            [
                "Refactor",
                "getUserProfile",
                "update_user_settings",
                "functions",
                "then",
                "error-handling",
                "x_y"
            ]
        );
    }

    #[test]
    fn twenty_at_most_and_the_same_every_time() {
        let greek = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda omicron rho sigma tau upsilon phi chi psi omega one two six ten";
        let found = terms(greek, &[]);
        assert_eq!(found.len(), 20);
        assert!((0..10).all(|_| terms(greek, &[]) == found));
        assert_eq!(terms("größe Größe", &[]), ["größe"], "other languages have words too");
        assert_eq!(terms("", &[]), [] as [&str; 0]);
    }
}
