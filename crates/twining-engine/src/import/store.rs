//! Taking in what a reader found: what is there already stays as it is.

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use twining_model::{Amendment, Change, Decision, Entity, Entry, EntryType, Relation, limits, text};
use twining_store::merge::{Versions, merge_decision};
use twining_store::{Durability, StoreError, View};

use super::parcel::cleaned;
use super::{Found, Source, SourceFile, Unread, read};
use crate::blackboard::note;
use crate::caller::{Caller, Stamp};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::hygiene::{Redaction, redact};
use crate::{graph, words};

/// Records that one write takes in.
const AT_ONCE: usize = 200;
/// Unreadable parts that are listed; the rest are counted.
const LISTED: usize = 1000;

/// How many of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ImportCounts {
    /// Taken in now.
    pub new: u64,
    /// There before.
    pub known: u64,
    /// There before, and completed by what came.
    pub completed: u64,
}

/// What came of an import.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct ImportOutcome {
    /// Where it came from.
    pub source: String,
    /// Whether it was only tried.
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
    /// Turns.
    pub turns: ImportCounts,
    /// Traces.
    pub traces: ImportCounts,
    /// Of the entries, rules that a guard could enforce; people review them.
    pub guards_to_review: u64,
    /// Guards that were proposed: each warns until a person promotes it.
    pub proposed_guards: ImportCounts,
    /// Their names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub proposed: Vec<String>,
    /// Of the entries, advice.
    pub advice: u64,
    /// Secrets that were not taken over; `field` names the file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<Redaction>,
    /// What could not be read, or not whole.
    pub unread: Vec<Unread>,
    /// Further parts that could not be read.
    pub more_unread: u64,
}

/// What to do with what was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intent {
    /// Take it in.
    Import,
    /// Only say what would be taken in.
    Try,
}

impl Engine {
    /// Imports files. A second time nothing changes.
    pub fn import(&self, caller: &Caller, source: Source, files: &[SourceFile], intent: Intent) -> Result<ImportOutcome, Failure> {
        let now = self.store().ids().now();
        let Found { decisions, entries, entities, relations, guards_to_review, guards, advice, unread } = read(source, files, now);
        let mut outcome = ImportOutcome {
            source: source.as_str().to_owned(),
            dry_run: intent == Intent::Try,
            guards_to_review,
            advice,
            unread,
            redacted: secrets_of(files),
            ..ImportOutcome::default()
        };
        // What another tool or folder wrote was looked at by nobody here.
        let (decisions, entries): (Vec<Decision>, Vec<Entry>) =
            (decisions.into_iter().map(cleaned).collect(), entries.into_iter().map(cleaned).collect());
        let (entities, relations): (Vec<Entity>, Vec<Relation>) =
            (entities.into_iter().map(cleaned).collect(), relations.into_iter().map(cleaned).collect());
        for decision in decisions {
            let step = |view: &View<'_>| take_decision(view, source, &decision, &self.stamp(caller));
            match self.step(intent, step)? {
                Taken::New => outcome.decisions.new += 1,
                Taken::Known => outcome.decisions.known += 1,
                Taken::Completed => outcome.decisions.completed += 1,
                Taken::Refused(why) => outcome.unread.push(Unread { file: decision.id.to_string(), line: None, why }),
            }
        }
        // What was settled and archived since does not come back.
        let archived = if entries.is_empty() { HashSet::new() } else { self.store().documents().archived_ids()? };
        for batch in entries.chunks(AT_ONCE) {
            let counts = self.step(intent, |view| take_entries(view, batch, &archived))?;
            outcome.entries.add(counts);
        }
        // Entities that are here under another id, for the relations that name them.
        let mut aliases: HashMap<String, String> = HashMap::new();
        for batch in entities.chunks(AT_ONCE) {
            let counts = self.step(intent, |view| take_entities(view, batch, &mut aliases))?;
            outcome.entities.add(counts);
        }
        for batch in relations.chunks(AT_ONCE) {
            let (counts, lost) = self.step(intent, |view| take_relations(view, batch, &aliases, &entities))?;
            outcome.relations.add(counts);
            outcome.unread.extend(lost);
        }
        self.propose(source, &guards, intent, &mut outcome)?;
        if source == Source::Twining {
            self.import_parcel(files, intent, &mut outcome)?;
        }
        if intent == Intent::Import && outcome.is_news() {
            let mut entry = note(&self.stamp(caller), EntryType::Finding, "project", &outcome.told());
            entry.tags.push("import".to_owned());
            self.store().post(&[entry])?;
        }
        outcome.more_unread = outcome.unread.len().saturating_sub(LISTED) as u64;
        outcome.unread.truncate(LISTED);
        Ok(outcome)
    }

    fn step<T>(&self, intent: Intent, mut plan: impl FnMut(&View<'_>) -> Result<(Change, T), Failure>) -> Result<T, Failure> {
        match intent {
            Intent::Import => self.store().transact(Durability::Normal, plan),
            Intent::Try => self.store().view(|view| plan(view).map(|(_, told)| told)),
        }
    }
}

/// The kinds of secrets in each file.
fn secrets_of(files: &[SourceFile]) -> Vec<Redaction> {
    let mut found: Vec<Redaction> = Vec::new();
    for file in files {
        // In JSON the end of a line is spelled, and a key goes over several.
        let kinds = redact(&file.text).1.into_iter().chain(redact(&file.text.replace("\\n", "\n")).1);
        for kind in kinds {
            let one = Redaction { field: text::visible(&redact(&file.name).0), kind: kind.to_owned() };
            if found.len() < LISTED && !found.contains(&one) {
                found.push(one);
            }
        }
    }
    found
}

impl ImportOutcome {
    fn is_news(&self) -> bool {
        let all = [
            self.decisions,
            self.entries,
            self.entities,
            self.relations,
            self.features,
            self.nodes,
            self.turns,
            self.traces,
            self.proposed_guards,
        ];
        all.iter().any(|counts| counts.new + counts.completed > 0)
    }

    fn told(&self) -> String {
        let parts = [
            (self.decisions.new, "decision", "decisions"),
            (self.entries.new, "entry", "entries"),
            (self.entities.new, "entity", "entities"),
            (self.relations.new, "relation", "relations"),
            (self.features.new, "feature", "features"),
            (self.nodes.new, "node", "nodes"),
            (self.turns.new, "turn", "turns"),
            (self.traces.new, "trace", "traces"),
            (self.proposed_guards.new, "proposed guard", "proposed guards"),
        ];
        let parts: Vec<String> = parts.iter().filter(|(n, ..)| *n > 0).map(|(n, one, many)| words::count(*n, one, many)).collect();
        let parts = if parts.is_empty() { "what was missing here".to_owned() } else { parts.join(", ") };
        format!("Imported from {}: {parts}", self.source)
    }
}

impl ImportCounts {
    pub(super) fn add(&mut self, other: Self) {
        self.new += other.new;
        self.known += other.known;
        self.completed += other.completed;
    }
}

enum Taken {
    New,
    Known,
    Completed,
    Refused(String),
}

fn take_decision(view: &View<'_>, source: Source, decision: &Decision, stamp: &Stamp<'_>) -> Result<(Change, Taken), Failure> {
    let mut change = Change::default();
    if let Err(refused) = words::fits("decision", decision, limits::RECORD_BYTES / 2) {
        return Ok((change, Taken::Refused(refused.to_string())));
    }
    let Some(here) = view.decisions().get(&decision.id)? else {
        // Another folder brings its own graph along.
        if source != Source::Twining {
            graph::link_decision(&mut change, view, decision, stamp)?;
        }
        change.decisions.push(decision.clone());
        return Ok((change, Taken::New));
    };
    if source != Source::Twining {
        return Ok((change, Taken::Known));
    }
    let set = completed(&here, decision)?;
    if set.is_empty() {
        return Ok((change, Taken::Known));
    }
    change.amendments.push(Amendment { id: here.id, set });
    Ok((change, Taken::Completed))
}

/// The fields of a decision that another folder's version of it changes.
fn completed(here: &Decision, other: &Decision) -> Result<serde_json::Map<String, Value>, Failure> {
    // Who wrote it is known better here.
    let other = Decision { origin: here.origin.clone(), ..other.clone() };
    let texts = [here, &other].map(|decision| serde_json::to_vec(decision).map_err(StoreError::from));
    let [ours, theirs] = texts;
    let (ours, theirs) = (ours?, theirs?);
    let Ok(merged) = merge_decision(&Versions { base: b"", ours: &ours, theirs: &theirs }) else { return Ok(serde_json::Map::new()) };
    let before: serde_json::Map<String, Value> = serde_json::from_slice(&ours).map_err(StoreError::from)?;
    let mut set: serde_json::Map<String, Value> = serde_json::from_slice(&merged.text).map_err(StoreError::from)?;
    set.retain(|key, value| before.get(key) != Some(value));
    Ok(set)
}

fn take_entries(view: &View<'_>, entries: &[Entry], archived: &HashSet<String>) -> Result<(Change, ImportCounts), Failure> {
    let (mut change, mut counts) = (Change::default(), ImportCounts::default());
    for entry in entries {
        if archived.contains(&entry.id) || view.entries().get(&entry.id)?.is_some() {
            counts.known += 1;
        } else {
            counts.new += 1;
            change.entries.push(entry.clone());
        }
    }
    Ok((change, counts))
}

fn take_entities(view: &View<'_>, entities: &[Entity], aliases: &mut HashMap<String, String>) -> Result<(Change, ImportCounts), Failure> {
    let (mut change, mut counts) = (Change::default(), ImportCounts::default());
    for entity in entities {
        let here = match view.graph().entity(&entity.id)? {
            Some(here) => Some(here),
            None => view.graph().named_as(&entity.name, &entity.kind)?,
        };
        let Some(here) = here else {
            counts.new += 1;
            change.entities.push(entity.clone());
            continue;
        };
        aliases.insert(entity.id.clone(), here.id.clone());
        let mut after = here.clone();
        for (key, value) in &entity.properties {
            if after.properties.len() < limits::PROPERTIES {
                after.properties.entry(key.clone()).or_insert_with(|| value.clone());
            }
        }
        if after == here {
            counts.known += 1;
        } else {
            counts.completed += 1;
            (after.agent_id, after.origin) = (entity.agent_id.clone(), entity.origin.clone());
            change.entities.push(after);
        }
    }
    Ok((change, counts))
}

fn take_relations(
    view: &View<'_>,
    relations: &[Relation],
    aliases: &HashMap<String, String>,
    coming: &[Entity],
) -> Result<(Change, (ImportCounts, Vec<Unread>)), Failure> {
    let (mut change, mut counts, mut lost) = (Change::default(), ImportCounts::default(), Vec::new());
    for relation in relations {
        let end = |id: &String| aliases.get(id).unwrap_or(id).clone();
        let relation = Relation { source: end(&relation.source), target: end(&relation.target), ..relation.clone() };
        // Not there yet where it is only tried.
        let is_there = |id: &String| -> Result<bool, StoreError> {
            Ok(view.graph().entity(id)?.is_some() || coming.iter().any(|entity| entity.id == *id))
        };
        if !is_there(&relation.source)? || !is_there(&relation.target)? {
            let why = "a relation whose ends are neither here nor there".to_owned();
            lost.push(Unread { file: relation.id.clone(), line: None, why });
        } else if view.graph().relation_between(&relation.source, &relation.target, &relation.kind)?.is_some() {
            counts.known += 1;
        } else {
            counts.new += 1;
            change.relations.push(relation);
        }
    }
    Ok((change, (counts, lost)))
}
