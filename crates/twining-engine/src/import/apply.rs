//! Taking in what a reader found: what is there already stays as it is.

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use twining_model::{
    Amendment, Change, Decision, Entity, Entry, EntryType, Relation, limits, text,
};
use twining_store::merge::{Versions, merge_decision};
use twining_store::{Durability, StoreError, View};

use super::reader::{ImportProblem, ImportSource, ImportedFile, read};
use super::twining_folder::cleaned;
use crate::blackboard::note;
use crate::caller::{Caller, Stamp};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::secrets::{Redaction, redact};
use crate::{fields, graph};

/// Records that one write takes in.
const AT_ONCE: usize = 200;
/// Unreadable parts that are listed; the rest are counted.
const LISTED: usize = 1000;

/// Counts for one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ImportCounts {
    /// Newly imported.
    pub new: u64,
    /// Already present.
    pub known: u64,
    /// Already present, and completed.
    pub completed: u64,
}

/// The result of an import.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct ImportOutcome {
    /// Where it came from.
    pub source: String,
    /// Whether it was a dry run.
    pub dry_run: bool,
    /// Decisions.
    pub decisions: ImportCounts,
    /// Entries on the board.
    pub entries: ImportCounts,
    /// Entities of the graph.
    pub entities: ImportCounts,
    /// Relations of the graph.
    pub relations: ImportCounts,
    /// Features of the list.
    pub features: ImportCounts,
    /// Nodes of the knowledge graph.
    pub nodes: ImportCounts,
    /// Entries that are rules a guard could enforce; people review them.
    pub guards_to_review: u64,
    /// Entries that are advice.
    pub advice: u64,
    /// Secrets that were not imported; `field` names the file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<Redaction>,
    /// What could not be read, or only in part.
    pub unread: Vec<ImportProblem>,
    /// Further parts that could not be read.
    pub more_unread: u64,
}

/// What to do with what was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportMode {
    /// Take it in.
    Import,
    /// Only say what would be taken in.
    Try,
}

impl Engine {
    /// Imports files. A second time nothing changes.
    pub fn import(
        &self,
        caller: &Caller,
        source: ImportSource,
        files: &[ImportedFile],
        intent: ImportMode,
    ) -> Result<ImportOutcome, Failure> {
        let now = self.store().ids().now();
        let found = read(source, files, now);
        let mut outcome = ImportOutcome {
            source: source.as_str().to_owned(),
            dry_run: intent == ImportMode::Try,
            guards_to_review: found.guards_to_review,
            advice: found.advice,
            unread: found.unread,
            redacted: secrets_of(files),
            ..ImportOutcome::default()
        };
        // What another tool or folder wrote was looked at by nobody here.
        let decisions: Vec<Decision> = found.decisions.into_iter().map(cleaned).collect();
        let entries: Vec<Entry> = found.entries.into_iter().map(cleaned).collect();
        let entities: Vec<Entity> = found.entities.into_iter().map(cleaned).collect();
        let relations: Vec<Relation> = found.relations.into_iter().map(cleaned).collect();
        let lost = &mut outcome.unread;
        outcome.decisions = self.take(intent, &decisions, 1, lost, |view, change, one| {
            take_decision(view, change, source, one, &self.stamp(caller))
        })?;
        // What was settled and archived since does not come back.
        let archived = if entries.is_empty() {
            HashSet::new()
        } else {
            self.store().documents().archived_ids()?
        };
        outcome.entries = self.take(intent, &entries, AT_ONCE, lost, |view, change, entry| {
            if archived.contains(&entry.id) || view.entries().get(&entry.id)?.is_some() {
                return Ok(ImportResult::Known);
            }
            change.entries.push(entry.clone());
            Ok(ImportResult::New)
        })?;
        // Entities that are here under another id, for the relations that name them.
        let mut aliases: HashMap<String, String> = HashMap::new();
        outcome.entities =
            self.take(intent, &entities, AT_ONCE, lost, |view, change, entity| {
                take_entity(view, change, entity, &mut aliases)
            })?;
        outcome.relations = self.take(intent, &relations, AT_ONCE, lost, |view, change, one| {
            take_relation(view, change, one, &aliases, &entities)
        })?;
        if source == ImportSource::Twining {
            self.import_other_files(files, intent, &mut outcome)?;
        }
        if intent == ImportMode::Import && outcome.is_news() {
            let mut entry =
                note(&self.stamp(caller), EntryType::Finding, "project", &outcome.description());
            entry.tags.push("import".to_owned());
            self.store().post(&[entry])?;
        }
        outcome.more_unread = outcome.unread.len().saturating_sub(LISTED) as u64;
        outcome.unread.truncate(LISTED);
        Ok(outcome)
    }

    /// Takes in records, so many in one write, and counts what became of them.
    fn take<T>(
        &self,
        intent: ImportMode,
        records: &[T],
        at_once: usize,
        lost: &mut Vec<ImportProblem>,
        mut take_one: impl FnMut(&View<'_>, &mut Change, &T) -> Result<ImportResult, Failure>,
    ) -> Result<ImportCounts, Failure> {
        let mut counts = ImportCounts::default();
        for batch in records.chunks(at_once) {
            let mut plan = |view: &View<'_>| {
                let mut change = Change::default();
                let taken: Result<Vec<ImportResult>, Failure> =
                    batch.iter().map(|one| take_one(view, &mut change, one)).collect();
                taken.map(|taken| (change, taken))
            };
            let taken = match intent {
                ImportMode::Import => self.store().transact(Durability::Normal, plan)?,
                ImportMode::Try => self.store().view(|view| plan(view).map(|(_, taken)| taken))?,
            };
            for one in taken {
                match one {
                    ImportResult::New => counts.new += 1,
                    ImportResult::Known => counts.known += 1,
                    ImportResult::Completed => counts.completed += 1,
                    ImportResult::Refused { id, why } => {
                        lost.push(ImportProblem { file: id, line: None, why });
                    }
                }
            }
        }
        Ok(counts)
    }
}

/// The kinds of secrets in each file.
fn secrets_of(files: &[ImportedFile]) -> Vec<Redaction> {
    let mut found: Vec<Redaction> = Vec::new();
    for file in files {
        // In JSON the end of a line is spelled, and a key goes over several.
        let kinds =
            redact(&file.text).1.into_iter().chain(redact(&file.text.replace("\\n", "\n")).1);
        for kind in kinds {
            let one =
                Redaction { field: text::visible(&redact(&file.name).0), kind: kind.to_owned() };
            if found.len() < LISTED && !found.contains(&one) {
                found.push(one);
            }
        }
    }
    found
}

impl ImportOutcome {
    /// What was taken in, of each kind, with the words for one and for several.
    fn counts(&self) -> [(ImportCounts, &'static str, &'static str); 6] {
        [
            (self.decisions, "decision", "decisions"),
            (self.entries, "entry", "entries"),
            (self.entities, "entity", "entities"),
            (self.relations, "relation", "relations"),
            (self.features, "feature", "features"),
            (self.nodes, "node", "nodes"),
        ]
    }

    fn is_news(&self) -> bool {
        self.counts().iter().any(|(counts, ..)| counts.new + counts.completed > 0)
    }

    fn description(&self) -> String {
        let new = self.counts().into_iter().filter(|(counts, ..)| counts.new > 0);
        let parts: Vec<String> =
            new.map(|(counts, one, many)| fields::count(counts.new, one, many)).collect();
        let parts = if parts.is_empty() {
            "additions to existing records".to_owned()
        } else {
            parts.join(", ")
        };
        format!("Imported from {}: {parts}", self.source)
    }
}

enum ImportResult {
    New,
    Known,
    Completed,
    Refused { id: String, why: String },
}

fn take_decision(
    view: &View<'_>,
    change: &mut Change,
    source: ImportSource,
    decision: &Decision,
    stamp: &Stamp<'_>,
) -> Result<ImportResult, Failure> {
    if let Err(refused) = fields::fits("decision", decision, limits::RECORD_BYTES / 2) {
        return Ok(ImportResult::Refused { id: decision.id.to_string(), why: refused.to_string() });
    }
    let Some(here) = view.decisions().get(&decision.id)? else {
        // Another folder brings its own graph along.
        if source != ImportSource::Twining {
            graph::link_decision(change, view, decision, stamp)?;
        }
        change.decisions.push(decision.clone());
        return Ok(ImportResult::New);
    };
    let set = if source == ImportSource::Twining {
        completed(&here, decision)?
    } else {
        serde_json::Map::new()
    };
    if set.is_empty() {
        return Ok(ImportResult::Known);
    }
    change.amendments.push(Amendment::new(here.id, set));
    Ok(ImportResult::Completed)
}

/// The fields of a decision that another folder's version of it changes.
fn completed(here: &Decision, other: &Decision) -> Result<serde_json::Map<String, Value>, Failure> {
    // Who wrote it is known better here.
    let other = Decision { origin: here.origin.clone(), ..other.clone() };
    let texts =
        [here, &other].map(|decision| serde_json::to_vec(decision).map_err(StoreError::from));
    let [ours, theirs] = texts;
    let (ours, theirs) = (ours?, theirs?);
    let Ok(merged) = merge_decision(&Versions { base: b"", ours: &ours, theirs: &theirs }) else {
        return Ok(serde_json::Map::new());
    };
    let before: serde_json::Map<String, Value> =
        serde_json::from_slice(&ours).map_err(StoreError::from)?;
    let mut set: serde_json::Map<String, Value> =
        serde_json::from_slice(&merged.text).map_err(StoreError::from)?;
    set.retain(|key, value| before.get(key) != Some(value));
    Ok(set)
}

fn take_entity(
    view: &View<'_>,
    change: &mut Change,
    entity: &Entity,
    aliases: &mut HashMap<String, String>,
) -> Result<ImportResult, Failure> {
    let here = match view.graph().entity(&entity.id)? {
        Some(here) => Some(here),
        None => view.graph().named_as(&entity.name, &entity.kind)?,
    };
    let Some(here) = here else {
        change.entities.push(entity.clone());
        return Ok(ImportResult::New);
    };
    aliases.insert(entity.id.clone(), here.id.clone());
    let mut after = here.clone();
    for (key, value) in &entity.properties {
        if after.properties.len() < limits::PROPERTIES {
            after.properties.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
    if after == here {
        return Ok(ImportResult::Known);
    }
    (after.agent_id, after.origin) = (entity.agent_id.clone(), entity.origin.clone());
    change.entities.push(after);
    Ok(ImportResult::Completed)
}

fn take_relation(
    view: &View<'_>,
    change: &mut Change,
    relation: &Relation,
    aliases: &HashMap<String, String>,
    coming: &[Entity],
) -> Result<ImportResult, Failure> {
    let end = |id: &String| aliases.get(id).unwrap_or(id).clone();
    let relation = Relation {
        source: end(&relation.source),
        target: end(&relation.target),
        ..relation.clone()
    };
    // Not there yet where it is only tried.
    let is_there = |id: &String| -> Result<bool, StoreError> {
        Ok(view.graph().entity(id)?.is_some() || coming.iter().any(|entity| entity.id == *id))
    };
    if !is_there(&relation.source)? || !is_there(&relation.target)? {
        let why = "a relation whose ends exist neither here nor in the import".to_owned();
        return Ok(ImportResult::Refused { id: relation.id, why });
    }
    if view.graph().relation_between(&relation.source, &relation.target, &relation.kind)?.is_some()
    {
        return Ok(ImportResult::Known);
    }
    change.relations.push(relation);
    Ok(ImportResult::New)
}
