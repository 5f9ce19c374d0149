//! Exporting: the memory as one document for people, or for another program.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use twining_model::{
    AnchoredRecord, Decision, Entity, Entry, ProjectRoot, Relation, Scope, limits, words,
};
use twining_store::{DecisionFilter, EntryFilter, StoreError, View};

use crate::anchors::{CodeNotes, CodeState, record_of_entry};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::{fields, graph};

/// Records of each kind that are considered; more would not fit an answer anyway.
pub(super) const ROWS: usize = 4 * limits::PAGE;
/// The same for a file, which a browser still has to open.
pub(super) const WHOLE_ROWS: usize = 100_000;
pub(super) const WHOLE_BYTES: usize = 64 * 1024 * 1024;

/// What to export, as given by the caller.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExportInput {
    /// Default markdown
    #[schemars(extend("enum" = ExportFormat::ALL.map(ExportFormat::as_str)))]
    pub format: Option<String>,
    /// Only what is in this file or directory, relative to the project
    pub scope: Option<String>,
    /// The size limit.
    #[serde(skip)]
    pub extent: ExportSize,
}

/// How much an export may hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExportSize {
    /// What fits one answer.
    #[default]
    Answer,
    /// All there is, for a file.
    Whole,
}

impl ExportSize {
    fn bytes(self) -> usize {
        match self {
            Self::Answer => limits::ANSWER_BYTES,
            Self::Whole => WHOLE_BYTES,
        }
    }

    fn rows(self) -> usize {
        match self {
            Self::Answer => ROWS,
            Self::Whole => WHOLE_ROWS,
        }
    }
}

/// One document of an export.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ExportFile {
    /// What to call it.
    pub name: String,
    /// Its text.
    pub content: String,
}

/// An export.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ExportOutcome {
    /// The format.
    pub format: String,
    /// What was exported.
    pub scope: String,
    /// The document; for `madr`, its table of contents.
    pub content: String,
    /// One document per decision; `madr` only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<ExportFile>,
    /// Decisions in it.
    pub decisions: u64,
    /// Entries in it.
    pub entries: u64,
    /// Entities in it.
    pub entities: u64,
    /// Whether something did not fit.
    pub truncated: bool,
}

words! {
    /// What it is written as.
    pub(super) enum ExportFormat {
        Markdown = "markdown",
        Json = "json",
        Madr = "madr",
        Html = "html",
        Mermaid = "mermaid",
        Dot = "dot",
    }
}

/// What there is to export, newest first.
pub(super) struct ExportRecords {
    pub(super) scope: Scope,
    pub(super) at: String,
    pub(super) decisions: Vec<Decision>,
    pub(super) entries: Vec<Entry>,
    pub(super) entities: Vec<Entity>,
    pub(super) relations: Vec<Relation>,
    /// Records that were not even looked at.
    beyond: u64,
    /// Bytes that may come out.
    pub(super) bytes_left: usize,
    rows: usize,
    /// How the code under decisions and entries is, where a page shows it.
    pub(super) code: CodeNotes,
}

/// Exports a scope. What does not fit one answer is left out from the end and counted.
pub fn export(
    view: &View<'_>,
    input: &ExportInput,
    root: &ProjectRoot,
    notes: &dyn Fn(&[AnchoredRecord]) -> Result<CodeNotes, Failure>,
) -> Result<ExportOutcome, Failure> {
    let word = input.format.as_deref().map_or("markdown", str::trim);
    let format = ExportFormat::parse("format", word)?;
    let scope = fields::scope_or_project(input.scope.as_deref(), root)?;
    let mut contents = ExportRecords::decisions(view, scope, input.extent)?;
    if format != ExportFormat::Madr {
        contents.add_board_and_graph(view)?;
    }
    if format == ExportFormat::Html {
        contents.code = notes(&contents.anchored_records())?;
        contents.code.retain(|_, note| note.state > CodeState::Unchecked);
    }
    let mut outcome = match format {
        ExportFormat::Markdown => super::markdown::document(&contents),
        ExportFormat::Json => document(&contents)?,
        ExportFormat::Madr => super::markdown::records(&contents),
        ExportFormat::Html => super::html::page(&contents),
        ExportFormat::Mermaid => {
            graph_only(&contents, super::graph_diagrams::in_mermaid(&contents).text)
        }
        ExportFormat::Dot => graph_only(&contents, super::graph_diagrams::dot(&contents)),
    };
    word.clone_into(&mut outcome.format);
    Ok(outcome)
}

/// A picture of decisions and entities; one that does not fit an answer is refused in its place.
pub(super) fn graph_only(contents: &ExportRecords, text: String) -> ExportOutcome {
    let (text, shown) = if text.len() <= contents.bytes_left {
        (text, [contents.decisions.len(), 0, contents.entities.len()])
    } else {
        ("// too large for one answer; export a narrower scope\n".to_owned(), [0; 3])
    };
    ExportOutcome {
        truncated: contents.beyond > 0 || shown == [0; 3] && !contents.decisions.is_empty(),
        ..contents.outcome(text, Vec::new(), shown)
    }
}

/// The entities in a scope: those that decisions there are linked with, and
/// those whose name lies in it; and how many more there are.
pub(super) fn entities(
    view: &View<'_>,
    scope: &Scope,
    decisions: &[Decision],
    rows: usize,
) -> Result<(Vec<Entity>, u64), Failure> {
    if *scope == Scope::project() {
        let mut page = view.graph().page(rows)?;
        let beyond = page.total.saturating_sub(page.items.len() as u64);
        page.items.sort_by(|a, b| (&a.kind, &a.name, &a.id).cmp(&(&b.kind, &b.name, &b.id)));
        return Ok((page.items, beyond));
    }
    let (mut found, more) =
        view.graph().find(scope.as_str().trim_end_matches('/'), &[], limits::PAGE)?;
    for decision in decisions {
        found.extend(graph::linked_to_decision(view, &decision.id, limits::PAGE)?.0);
    }
    found.retain(|entity| scope.covers(&Scope::read(&entity.name), view.folding()));
    found.sort_by(|a, b| (&a.kind, &a.name, &a.id).cmp(&(&b.kind, &b.name, &b.id)));
    found.dedup_by(|a, b| a.id == b.id);
    Ok((found, u64::from(more)))
}

/// The relations between entities that are listed.
pub(super) fn relations(view: &View<'_>, entities: &[Entity]) -> Result<Vec<Relation>, Failure> {
    let listed: HashSet<&str> = entities.iter().map(|entity| entity.id.as_str()).collect();
    let mut found = Vec::new();
    for entity in entities {
        let edges = view.graph().edges(&entity.id, &[], limits::PAGE)?;
        found.extend(
            edges
                .into_iter()
                .filter(|edge| edge.outgoing && listed.contains(edge.other.as_str()))
                .map(|edge| edge.relation),
        );
    }
    found.sort_by(|a, b| a.id.cmp(&b.id));
    found.dedup_by(|a, b| a.id == b.id);
    Ok(found)
}

/// The records as one JSON object.
pub(super) fn document(contents: &ExportRecords) -> Result<ExportOutcome, Failure> {
    let mut bytes_left = contents.bytes_left - 1024;
    let decisions = fitting(&contents.decisions, &mut bytes_left);
    let entries = fitting(&contents.entries, &mut bytes_left);
    let entities = fitting(&contents.entities, &mut bytes_left);
    let relations = fitting(&contents.relations, &mut bytes_left);
    let left_out = contents.left_out(decisions.len(), entries.len(), entities.len());
    let content = json!({
        "scope": contents.scope, "exported_at": contents.at,
        "decisions": decisions, "entries": entries, "entities": entities, "relations": relations,
        "left_out": left_out + (contents.relations.len() - relations.len()) as u64,
    });
    let content = serde_json::to_string(&content).map_err(StoreError::from)?;
    Ok(contents.outcome(content, Vec::new(), [decisions.len(), entries.len(), entities.len()]))
}

/// The leading records whose JSON fits into `bytes_left`.
fn fitting<'a, T: Serialize>(records: &'a [T], bytes_left: &mut usize) -> &'a [T] {
    let json = |record: &T| serde_json::to_string(record).unwrap_or_default() + ",";
    &records[..super::markdown::fill(records, bytes_left, json).1]
}

impl ExportRecords {
    /// The decisions and entries whose code may have changed.
    fn anchored_records(&self) -> Vec<AnchoredRecord> {
        let decided = self.decisions.iter();
        let decided = decided.map(|decision| AnchoredRecord::Decision(decision.id.to_string()));
        decided.chain(self.entries.iter().map(record_of_entry)).collect()
    }

    fn decisions(view: &View<'_>, scope: Scope, extent: ExportSize) -> Result<Self, Failure> {
        let filter = DecisionFilter { scope: Some(scope.clone()), ..DecisionFilter::default() };
        let page = view.decisions().page(&filter, extent.rows())?;
        let beyond = page.total.saturating_sub(page.items.len() as u64);
        Ok(Self {
            scope,
            at: view.now().to_string(),
            decisions: page.items,
            entries: Vec::new(),
            entities: Vec::new(),
            relations: Vec::new(),
            beyond,
            bytes_left: extent.bytes(),
            rows: extent.rows(),
            code: CodeNotes::new(),
        })
    }

    fn add_board_and_graph(&mut self, view: &View<'_>) -> Result<(), Failure> {
        let filter = EntryFilter { scope: Some(self.scope.clone()), ..EntryFilter::default() };
        let page = view.entries().newest(&filter, self.rows)?;
        let (entities, beyond) = entities(view, &self.scope, &self.decisions, self.rows)?;
        self.beyond += page.total.saturating_sub(page.items.len() as u64) + beyond;
        self.entries = page.items;
        self.relations = relations(view, &entities)?;
        self.entities = entities;
        Ok(())
    }

    pub(super) fn left_out(&self, decisions: usize, entries: usize, entities: usize) -> u64 {
        let all = self.decisions.len() + self.entries.len() + self.entities.len();
        self.beyond + (all - decisions - entries - entities) as u64
    }

    pub(super) fn outcome(
        &self,
        content: String,
        files: Vec<ExportFile>,
        [decisions, entries, entities]: [usize; 3],
    ) -> ExportOutcome {
        ExportOutcome {
            format: String::new(),
            scope: self.scope.to_string(),
            content,
            files,
            decisions: decisions as u64,
            entries: entries as u64,
            entities: entities as u64,
            truncated: self.left_out(decisions, entries, entities) > 0,
        }
    }
}

impl Engine {
    /// Exports a scope.
    pub fn export(&self, input: &ExportInput) -> Result<ExportOutcome, Failure> {
        self.store().view(|view| {
            let notes = |records: &[AnchoredRecord]| self.notable_code(view, records);
            export(view, input, self.store().root(), &notes)
        })
    }
}
