//! Retrieval: the nodes a few words are about, and those around them.

use std::collections::{BTreeSet, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::knowledge::Level;
use twining_model::{InvalidInput, limits, text};
use twining_store::{NodeIndex, StoreError, terms};

use super::file::{KnowledgeEdge, KnowledgeGraph};
use super::print;
use crate::answer::is_zero;
use crate::input::LEVELS;
use crate::words;

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
    /// What to look for; none for all of a level
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
    /// The words that were looked for.
    pub search_terms: Vec<String>,
    /// Nodes that did not fit into the answer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted: u64,
    /// Edges between these nodes that did not fit into the answer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted_edges: u64,
    /// Nodes of the file that are wrong and were not looked at.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
    /// What the caller should know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
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
            return Err(
                InvalidInput::new("depth", format!("must be from 0 to {}", limits::WALK_DEPTH)).because(format!("{depth} was given"))
            );
        }
        Ok(Self { words: words.to_owned(), most: words::page("max_results", input.max_results, hits)?, level, depth })
    }
}

/// Takes a level; `all` is none in particular.
pub(super) fn level(given: Option<&str>) -> Result<Option<Level>, InvalidInput> {
    match given.map(str::trim) {
        None | Some("" | "all") => Ok(None),
        Some(word) => Level::parse("level", word).map(Some).map_err(|refused| refused.because("`all` is for both")),
    }
}

/// Finds what a search is about. The index is asked for only if there are words.
pub(super) fn retrieve<'i>(
    known: &KnowledgeGraph,
    search: &NodeQuery,
    index: impl FnOnce() -> Result<&'i NodeIndex, StoreError>,
) -> Result<RetrieveOutcome, StoreError> {
    let asked = terms(&search.words);
    let wanted = |position: usize| search.level.is_none_or(|level| known.at(position).level() == Some(level));
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
fn around(known: &KnowledgeGraph, hits: &[usize], depth: usize, wanted: impl Fn(usize) -> bool) -> Vec<usize> {
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
        let next = frontier.iter().filter_map(|position| near.get(position)).flatten().copied().filter(|position| wanted(*position));
        frontier = next.filter(|position| !reached.contains(position)).collect();
        reached.extend(&frontier);
        found.extend(&frontier);
    }
    found
}

/// Keeps so many, and tells how many went.
fn cut(found: &mut Vec<usize>, most: usize) -> usize {
    let beyond = found.len().saturating_sub(most);
    found.truncate(most);
    beyond
}

/// The answer, as large as it may be: hits first, then the nearest neighbours.
fn fitting(known: &KnowledgeGraph, hits: Vec<usize>, neighbors: Vec<usize>) -> RetrieveOutcome {
    let mut left = SUBGRAPH_BYTES;
    let mut fits = |position: &usize| {
        let bytes = print::node(known.at(*position)).len();
        // One that is too large leaves its room to the others.
        let fits = bytes <= left;
        left -= if fits { bytes } else { 0 };
        fits
    };
    let found = hits.len() + neighbors.len();
    let hits: Vec<usize> = hits.into_iter().filter(|position| fits(position)).collect();
    let neighbors: Vec<usize> = neighbors.into_iter().filter(|position| fits(position)).collect();
    let included: BTreeSet<usize> = hits.iter().chain(&neighbors).copied().collect();
    let between =
        |valid_edge: &KnowledgeEdge<'_>| included.contains(&valid_edge.from.position) && included.contains(&valid_edge.to.position);
    let edges = known.valid_edges().filter(between).count().saturating_sub(EDGES);
    let subgraph = print::dot(included.iter().map(|position| known.at(*position)), known.valid_edges().filter(between).take(EDGES));
    let ids = |positions: &[usize]| positions.iter().map(|position| known.at(*position).id().to_owned()).collect();
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
        format!("the graph has {}; twining_knowledge_check lists them", words::count(known.errors.len() as u64, "error", "errors"))
    });
    let empty =
        (known.declared == 0 && known.errors.is_empty()).then(|| "the graph is empty; twining_knowledge_update fills it".to_owned());
    let aimless = (retrieved.count == 0 && retrieved.search_terms.is_empty() && empty.is_none())
        .then(|| "give terms, or a level for everything on it".to_owned());
    [broken, empty, aimless].into_iter().flatten().reduce(|one, other| format!("{one}; {other}"))
}
