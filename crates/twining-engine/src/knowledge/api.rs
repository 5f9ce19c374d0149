//! The verbs of knowledge: the file comes from the store, and what is written goes
//! back through it.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use schemars::JsonSchema;
use serde::Serialize;
use twining_model::knowledge_vocabulary::DEFAULT_GRAPH;
use twining_model::{Anchor, Change, Scope, text};
use twining_store::{Documents, Durability, KnowledgeFile, StoreError};

use super::check::{self, GraphFinding, KnowledgeCheckInput, KnowledgeCheckOutcome};
use super::draw::{self, DrawInput, KnowledgeDrawing};
use super::graph::{CachedGraph, KnowledgeCache, KnowledgeGraph};
use super::lost_paths;
use super::metrics::{KnowledgeMetrics, MetricEvent};
use super::retrieve::{
    self, KnowledgePack, KnowledgePackInput, KnowledgeRetrieveInput, NodeQuery, RetrieveOutcome,
    StoryTerms, UNUSED_DAYS,
};
use super::review::{self, Changes, GraphVersions, ReviewContext, ReviewContextInput, ReviewKind};
use super::rules::KnowledgeFacts;
use super::update::{self, KnowledgeUpdateInput, KnowledgeUpdateOutcome};
use crate::anchors::Rebinding;
use crate::caller::Caller;
use crate::engine::Engine;
use crate::failure::Failure;
use crate::fields;
use crate::secrets::clean;

/// The result of creating a first graph.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct KnowledgeCreateOutcome {
    /// Which file, relative to the project.
    pub file: String,
    /// Whether it was created; never replaces an old one.
    pub created: bool,
}

impl Engine {
    /// Reports problems of the shared knowledge graph, or of another DOT file in the caller's
    /// working tree.
    pub fn knowledge_check(
        &self,
        input: &KnowledgeCheckInput,
        checkout: &Path,
    ) -> Result<KnowledgeCheckOutcome, Failure> {
        let Some(path) = &input.path else {
            let file = self.store().documents().knowledge()?;
            let mut doubts: Vec<GraphFinding> =
                file.ignored_path.as_deref().map(check::ignored_path).into_iter().collect();
            doubts.extend(self.unmerged_version(&file, checkout)?);
            if let (Some(code), Some(bytes)) = (self.checkout_code(), &file.bytes) {
                let graph = KnowledgeGraph::read(bytes);
                doubts.extend(lost_paths::warnings(&graph, checkout, code.git()));
            }
            return Ok(check::check(file.path, file.bytes.as_deref(), doubts));
        };
        let (tree, path) = self.tree_of(path, checkout);
        let path = Scope::parse("path", path, self.store().root())?;
        let file = self.store().documents().dot_file(tree, path.as_str())?;
        match file.bytes {
            Some(bytes) => Ok(check::check(file.path, Some(&bytes), Vec::new())),
            None => Err(Failure::NotFound {
                what: "file",
                id: file.path,
                hint: "give a path relative to the project".to_owned(),
            }),
        }
    }

    /// The working tree a path leads into: the caller's own, unless it spells out the main one.
    fn tree_of<'p>(&'p self, path: &'p str, checkout: &'p Path) -> (&'p Path, &'p str) {
        let project = self.store().location().project.as_path();
        match Path::new(path).strip_prefix(checkout).ok().and_then(Path::to_str) {
            Some(inside) => (checkout, inside),
            None if Path::new(path).starts_with(project) => (project, path),
            None => (checkout, path),
        }
    }

    /// That a linked working tree has another version of the graph, which counts once it is merged.
    fn unmerged_version(
        &self,
        shared: &KnowledgeFile,
        checkout: &Path,
    ) -> Result<Option<GraphFinding>, Failure> {
        if checkout == self.store().location().project {
            return Ok(None);
        }
        let here = self.store().documents().knowledge_in(checkout)?;
        let differs = here.bytes.is_some() && here.bytes != shared.bytes;
        Ok(differs.then(|| {
            let suggestion = format!("`twining knowledge check {}` checks that one", here.path);
            GraphFinding::of_file(
                "this is the shared graph; the working tree has a different version, which takes effect once it is merged",
                &suggestion,
            )
        }))
    }

    /// Finds nodes by words, and those around them.
    pub fn knowledge_retrieve(
        &self,
        input: &KnowledgeRetrieveInput,
    ) -> Result<RetrieveOutcome, Failure> {
        let search = NodeQuery::parse(input)?;
        let graph = self.knowledge_graph()?;
        let mut found = retrieve::retrieve(&graph.known, &search, || graph.index())?;
        self.label_nodes(&mut found)?;
        Ok(found)
    }

    /// Puts together what a story needs to know.
    pub fn knowledge_pack(&self, input: &KnowledgePackInput) -> Result<KnowledgePack, Failure> {
        self.pack_story(&StoryTerms::parse(input)?)
    }

    /// Edits the graph: every operation, or none.
    pub fn knowledge_update(
        &self,
        caller: &Caller,
        input: &KnowledgeUpdateInput,
    ) -> Result<KnowledgeUpdateOutcome, Failure> {
        let (mut input, redacted) = clean(input);
        let story_id = fields::optional("story_id", input.story_id.as_deref(), text::name)?;
        for operation in &mut input.operations {
            operation.shorten_paths(self.store().root())?;
        }
        let bound = self.rebind_nodes(&input.operations)?;
        let plan = |file: &KnowledgeFile| {
            let (bytes, updated) = update::plan(file.bytes.as_deref(), &input.operations)?;
            let anchored = bound.iter().flat_map(Rebinding::anchored).collect();
            let unresolved = bound.iter().flat_map(Rebinding::unresolved).collect();
            let file = file.path.clone();
            let updated = KnowledgeUpdateOutcome { file, anchored, unresolved, ..updated };
            Ok::<_, Failure>((bytes, updated))
        };
        if input.dry_run {
            return plan(&self.store().documents().knowledge()?)
                .map(|(_, updated)| KnowledgeUpdateOutcome { redacted, ..updated });
        }
        let stamp = self.stamp(caller);
        let anchors: Vec<_> = bound.iter().flat_map(|bound| bound.lines(&stamp)).collect();
        let updated = self.change_knowledge_and(&anchors, |file| {
            let (bytes, updated) = plan(file)?;
            let written = file.bytes.as_ref() != Some(&bytes);
            Ok((written.then_some(bytes), KnowledgeUpdateOutcome { written, ..updated }))
        })?;
        if updated.written {
            let counted = [&updated.nodes_added, &updated.nodes_changed, &updated.nodes_removed]
                .map(Vec::len);
            let [nodes_added, nodes_changed, nodes_removed] = counted;
            let edges = updated.edges_added + updated.edges_removed;
            self.count(&MetricEvent::Update {
                story_id,
                nodes_added,
                nodes_changed,
                nodes_removed,
                edges,
            });
        }
        Ok(KnowledgeUpdateOutcome { redacted, ..updated })
    }

    /// What the graph demands, for guards.
    pub fn knowledge_facts(&self) -> Result<KnowledgeFacts, Failure> {
        Ok(KnowledgeFacts::of(&self.knowledge_graph()?.known))
    }

    /// Draws the graph, or a part of it.
    pub fn knowledge_picture(&self, input: &DrawInput) -> Result<KnowledgeDrawing, Failure> {
        draw::draw(&self.knowledge_graph()?.known, input)
    }

    /// Gathers what a reviewer should check a plan or a change against. The graph is itself under
    /// review, so it is read from the caller's working tree.
    pub fn review_context(
        &self,
        input: &ReviewContextInput,
        changes: &dyn Changes,
        checkout: &Path,
    ) -> Result<ReviewContext, Failure> {
        let kind = ReviewKind::parse("kind", &input.kind)?;
        let story_id = fields::optional("story_id", input.story_id.as_deref(), text::name)?;
        let (file, shared) = (
            self.store().documents().knowledge_in(checkout)?,
            self.store().documents().knowledge()?,
        );
        let pack = story_id.as_deref().map(|id| self.pack_of_story(id)).transpose()?.flatten();
        let mut context = ReviewContext {
            kind: kind.as_str().to_owned(),
            story_id,
            knowledge_file: file.path.clone(),
            pack,
            ..ReviewContext::default()
        };
        if context.story_id.is_some() && context.pack.is_none() {
            context.notes.push(
                "no recent pack for this story; make one with twining_knowledge_pack".to_owned(),
            );
        }
        let chosen = self.store().config()?.knowledge.path;
        let now = GraphVersions {
            here: file.bytes.as_deref(),
            shared: shared.bytes.as_deref(),
            chosen: &chosen,
        };
        review::fill(&mut context, kind, input, now, changes)?;
        let (nodes_added, knowledge_modified) =
            (context.changes.nodes_added.len(), context.knowledge_modified);
        self.count(&MetricEvent::Review {
            story_id: context.story_id.clone(),
            kind: context.kind.clone(),
            knowledge_modified,
            nodes_added,
        });
        Ok(context)
    }

    /// The pack of a story, from its terms and what the file says now.
    fn pack_of_story(&self, story_id: &str) -> Result<Option<KnowledgePack>, Failure> {
        let Some(packs) = self.store().local_state().packs()? else { return Ok(None) };
        let stored = packs.get(&packs.key("story", &[story_id.as_bytes()]))?;
        let story = stored.and_then(|bytes| serde_json::from_slice::<StoryTerms>(&bytes).ok());
        story.map(|story| self.pack_story(&story)).transpose()
    }

    /// How many errors are in the graph.
    pub(crate) fn knowledge_errors(&self) -> Result<usize, StoreError> {
        Ok(self.knowledge_graph()?.known.errors.len())
    }

    /// The errors in the graph, and the file they are in.
    pub(crate) fn knowledge_findings(&self) -> Result<(String, Vec<GraphFinding>), StoreError> {
        let path = self.store().documents().knowledge()?.path;
        Ok((path, self.knowledge_graph()?.known.errors.clone()))
    }

    /// The graph as its file has it now.
    pub(crate) fn knowledge_graph(&self) -> Result<Arc<CachedGraph>, StoreError> {
        self.state::<KnowledgeCache>().current(self.store())
    }

    /// Counts a merge that git asked for.
    pub fn count_merge(&self, conflicts: usize) {
        self.count(&MetricEvent::Merge { clashes: conflicts });
    }

    /// Adds up what was counted.
    pub fn knowledge_metrics(&self) -> Result<KnowledgeMetrics, Failure> {
        Ok(KnowledgeMetrics::of(&self.store().local_state().metrics()?))
    }

    pub(super) fn pack_story(&self, story: &StoryTerms) -> Result<KnowledgePack, Failure> {
        let started = Instant::now();
        let search = story.search()?;
        let file = self.store().documents().knowledge()?;
        let options = StoryTerms::options(&search);
        let packs = self.store().local_state().packs()?;
        let name = |packs: &twining_store::Packs| {
            packs.key(
                "pack",
                &[&file.digest().to_le_bytes(), file.path.as_bytes(), options.as_bytes()],
            )
        };
        let pack_id = packs.as_ref().map(name).unwrap_or_default();
        let stored = match &packs {
            Some(packs) => packs
                .get(&pack_id)?
                .and_then(|bytes| serde_json::from_slice::<RetrieveOutcome>(&bytes).ok()),
            None => None,
        };
        let cached = stored.is_some();
        let mut found = match stored {
            Some(found) => found,
            None => {
                let graph = self.state::<KnowledgeCache>().of(&file);
                let mut found = retrieve::retrieve(&graph.known, &search, || graph.index())?;
                found.search_terms.clone_from(&story.terms);
                found
            }
        };
        if let Some(packs) = &packs {
            if !cached {
                packs.put(
                    &pack_id,
                    &serde_json::to_vec(&found).unwrap_or_default(),
                    UNUSED_DAYS,
                )?;
            }
            if let Some(id) = &story.story_id {
                packs.put(
                    &packs.key("story", &[id.as_bytes()]),
                    &serde_json::to_vec(story).unwrap_or_default(),
                    UNUSED_DAYS,
                )?;
            }
        }
        let ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.count(&MetricEvent::Pack {
            story_id: story.story_id.clone(),
            nodes: found.count,
            bytes: found.subgraph.len(),
            ms,
            cached,
        });
        self.label_nodes(&mut found)?;
        Ok(KnowledgePack { story_id: story.story_id.clone(), pack_id, cached, found })
    }

    /// Notes something worth counting. A count that is lost keeps nobody from their work.
    pub(super) fn count(&self, event: &MetricEvent) {
        if let Ok(line) = serde_json::to_string(event) {
            drop(self.store().local_state().note_metric(&line));
        }
    }

    /// Replaces the graph by what a plan makes of it, if it makes anything.
    pub(crate) fn change_knowledge<T>(
        &self,
        plan: impl FnMut(&KnowledgeFile) -> Result<(Option<Vec<u8>>, T), Failure>,
    ) -> Result<T, Failure> {
        self.change_knowledge_and(&[], plan)
    }

    /// The same, with the anchors of nodes that it changes.
    fn change_knowledge_and<T>(
        &self,
        anchors: &[Anchor],
        mut plan: impl FnMut(&KnowledgeFile) -> Result<(Option<Vec<u8>>, T), Failure>,
    ) -> Result<T, Failure> {
        self.store().transact_on(Durability::Strict, Documents::knowledge, |file| {
            let (bytes, outcome) = plan(file)?;
            let text = bytes.map(String::from_utf8).transpose();
            let text = text.map_err(|_| StoreError::Damaged {
                what: format!("`{}` is not UTF-8", file.path),
            })?;
            let anchors = if text.is_some() { anchors.to_vec() } else { Vec::new() };
            Ok((Change { anchors, ..Change::of_document(&file.path, text) }, outcome))
        })
    }

    /// Makes a first graph where there is none.
    pub fn create_knowledge(&self) -> Result<KnowledgeCreateOutcome, Failure> {
        self.change_knowledge(|file| {
            let created = file.bytes.is_none();
            Ok((
                created.then(|| DEFAULT_GRAPH.as_bytes().to_vec()),
                KnowledgeCreateOutcome { file: file.path.clone(), created },
            ))
        })
    }
}
