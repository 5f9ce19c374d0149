//! Joining a log with a folder that has records of its own: the log's are taken in beside them,
//! and what the log lacks is sent.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde_json::Value;
use twining_engine::says_more;
use twining_model::{
    Anchor, Change, Decision, Entity, Entry, HandoffFile, Id, Relation, Trace, TurnFile,
};
use twining_store::{CondensedLines, Log, Store, StoreError};

/// Records of one line.
const AT_ONCE: usize = 200;
/// Lines that are asked for at once.
const LINES: usize = 1024;

/// Follows a log from its first line to `head`, and puts what it lacks into the outbox. What was
/// followed before of a log that `is_known` is not counted again. How many lines were new here.
pub(super) fn join(
    store: &Store,
    log: &dyn Log,
    head: u64,
    is_known: bool,
) -> Result<u64, StoreError> {
    // From now on nothing that anybody writes here is forgotten.
    store.outbox().create()?;
    store.housekeep()?;
    let folder = store.location().project.join(".twining");
    let own = OwnRecords::read(&folder, store)?;
    let known_through = if is_known { store.follower().position()? } else { 0 };
    store.follower().restart()?;
    let mut known = KnownRecords::default();
    let mut received = 0;
    // No further than the log said: one that always has more is followed later, bit by bit.
    loop {
        let position = store.follower().position()?;
        if position >= head {
            break;
        }
        if let Some(condensed) = log.condensed(position)? {
            let CondensedLines { through, changes, .. } = &condensed;
            let (through, changes) = (*through, changes.clone());
            if store.follower().take_in_condensed(position, condensed)? {
                received += through - position;
                changes.iter().for_each(|change| known.note(change));
                continue;
            }
        }
        let lines = log.since(store.follower().position()?, LINES)?;
        if lines.is_empty() {
            break;
        }
        received += lines.len() as u64;
        lines.iter().for_each(|line| known.note(&line.change));
        store.follower().take_in_beside_own(&lines)?;
    }
    // What waits is sent already, under its own key.
    store.outbox().lines()?.iter().for_each(|line| known.note(&line.change));
    store.outbox().add(own.missing_from(&known, &folder))?;
    Ok(received.saturating_sub(known_through))
}

/// The ids that a log has.
#[derive(Default)]
struct KnownRecords {
    records: HashSet<String>,
    entries: HashSet<String>,
    archived: HashSet<String>,
    turns: HashSet<(String, String, u32)>,
}

impl KnownRecords {
    fn note(&mut self, change: &Change) {
        self.entries.extend(change.entries.iter().map(|entry| entry.id.clone()));
        self.archived.extend(change.archived.iter().cloned());
        self.records.extend(change.decisions.iter().map(|decision| decision.id.to_string()));
        self.records.extend(change.entities.iter().map(|entity| entity.id.clone()));
        self.records.extend(change.relations.iter().map(|relation| relation.id.clone()));
        // What was pruned or taken for another does not come back.
        self.records.extend(change.removed_entities.iter().cloned());
        self.records.extend(change.removed_relations.iter().cloned());
        self.records.extend(change.agents.keys().map(|name| format!("agent {name}")));
        self.records.extend(change.handoffs.iter().map(|handoff| handoff.id.to_string()));
        let traces = change.traces.iter().chain(&change.imported_traces);
        self.records.extend(traces.map(|trace| trace.id.clone()));
        self.records.extend(change.anchors.iter().map(|anchor| anchor.id.clone()));
        self.turns.extend(
            change.turns.iter().map(|turn| (turn.feature.clone(), turn.task.clone(), turn.number)),
        );
    }
}

/// The records that a folder came with.
struct OwnRecords {
    entries: Vec<Entry>,
    decisions: Vec<Decision>,
    entities: Vec<Entity>,
    relations: Vec<Relation>,
    agents: BTreeMap<String, String>,
    handoffs: Vec<HandoffFile>,
    turns: Vec<TurnFile>,
    traces: Vec<Trace>,
    anchors: Vec<Anchor>,
    archived: HashSet<String>,
}

impl OwnRecords {
    fn read(folder: &Path, store: &Store) -> Result<Self, StoreError> {
        Ok(Self {
            entries: lines_of(&folder.join("blackboard.jsonl")),
            decisions: decisions_in(folder),
            entities: read_json(&folder.join("graph/entities.json")).unwrap_or_default(),
            relations: read_json(&folder.join("graph/relations.json")).unwrap_or_default(),
            agents: agents_in(folder),
            handoffs: handoffs_in(folder),
            turns: turns_in(folder),
            traces: lines_of(&folder.join("traces.jsonl")),
            anchors: lines_of(&folder.join("anchors.jsonl")),
            archived: store.documents().archived_ids()?,
        })
    }

    /// What the log lacks, as lines that it takes.
    fn missing_from(self, known: &KnownRecords, folder: &Path) -> Vec<Change> {
        let is_new = |id: &str| !known.records.contains(id);
        let mut changes = Vec::new();
        let entries: Vec<Entry> =
            self.entries.into_iter().filter(|entry| !known.entries.contains(&entry.id)).collect();
        changes.extend(entries.chunks(AT_ONCE).map(|some| Change::of_entries(some.to_vec())));
        for decision in self.decisions {
            let path = folder.join(format!("decisions/{}.json", decision.id));
            // One that the log has is completed by what it says here besides.
            let here = read_json(&path).filter(|_| !is_new(decision.id.as_str()));
            if here.is_none_or(|here| says_more(&here, &decision)) {
                changes.push(Change { decisions: vec![decision], ..Change::default() });
            }
        }
        let entities: Vec<Entity> =
            self.entities.into_iter().filter(|entity| is_new(&entity.id)).collect();
        changes.extend(
            entities
                .chunks(AT_ONCE)
                .map(|some| Change { entities: some.to_vec(), ..Change::default() }),
        );
        let relations: Vec<Relation> =
            self.relations.into_iter().filter(|relation| is_new(&relation.id)).collect();
        changes.extend(
            relations
                .chunks(AT_ONCE)
                .map(|some| Change { relations: some.to_vec(), ..Change::default() }),
        );
        let rest = Change {
            agents: self
                .agents
                .into_iter()
                .filter(|(name, _)| is_new(&format!("agent {name}")))
                .collect(),
            handoffs: self
                .handoffs
                .into_iter()
                .filter(|handoff| is_new(handoff.id.as_str()))
                .collect(),
            ..Change::default()
        };
        changes.push(rest);
        let is_new_turn = |turn: &TurnFile| {
            !known.turns.contains(&(turn.feature.clone(), turn.task.clone(), turn.number))
        };
        let turns: Vec<TurnFile> = self.turns.into_iter().filter(is_new_turn).collect();
        changes.extend(
            turns.chunks(AT_ONCE).map(|some| Change { turns: some.to_vec(), ..Change::default() }),
        );
        let traces: Vec<Trace> =
            self.traces.into_iter().filter(|trace| is_new(&trace.id)).collect();
        changes.extend(
            traces
                .chunks(AT_ONCE)
                .map(|some| Change { imported_traces: some.to_vec(), ..Change::default() }),
        );
        let anchors: Vec<Anchor> =
            self.anchors.into_iter().filter(|anchor| is_new(&anchor.id)).collect();
        changes.extend(
            anchors
                .chunks(AT_ONCE)
                .map(|some| Change { anchors: some.to_vec(), ..Change::default() }),
        );
        let archived: Vec<String> = self
            .archived
            .into_iter()
            .filter(|id| known.entries.contains(id) && !known.archived.contains(id))
            .collect();
        changes.push(Change { archived, ..Change::default() });
        changes.retain(|change| !change.is_empty());
        changes
    }
}

fn decisions_in(folder: &Path) -> Vec<Decision> {
    let mut decisions: Vec<Decision> = files_in(&folder.join("decisions"))
        .into_iter()
        .filter(|path| {
            path.file_stem()
                .and_then(|name| name.to_str())
                .is_some_and(|name| Id::read(name).is_some())
        })
        .filter_map(|path| read_json(&path))
        .collect();
    decisions.sort_by(|a, b| a.id.cmp(&b.id));
    decisions
}

fn agents_in(folder: &Path) -> BTreeMap<String, String> {
    let elements: Vec<Value> = read_json(&folder.join("agents/registry.json")).unwrap_or_default();
    elements
        .into_iter()
        .filter_map(|element| Some((element["agent_id"].as_str()?.to_owned(), element.to_string())))
        .collect()
}

fn handoffs_in(folder: &Path) -> Vec<HandoffFile> {
    let handoffs = folder.join("handoffs");
    let lines: Vec<Value> = lines_of(&handoffs.join("index.jsonl"));
    let handoff = |line: Value| {
        let id = Id::read(line["id"].as_str()?)?;
        let text = fs::read_to_string(handoffs.join(format!("{id}.json"))).ok()?;
        Some(HandoffFile { id, text, line: line.to_string() })
    };
    lines.into_iter().filter_map(handoff).collect()
}

fn turns_in(folder: &Path) -> Vec<TurnFile> {
    let name = |path: &Path| Some(path.file_name()?.to_str()?.to_owned());
    let turn = |path: &Path| {
        let task = path.parent()?;
        let number = name(path)?.strip_prefix('T')?.strip_suffix(".json")?.parse().ok()?;
        let text = Some(fs::read_to_string(path).ok()?);
        Some(TurnFile { feature: name(task.parent()?)?, task: name(task)?, number, text })
    };
    let features = files_in(&folder.join("turns")).into_iter();
    let files = features.flat_map(|feature| files_in(&feature)).flat_map(|task| files_in(&task));
    files.filter_map(|path| turn(&path)).collect()
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|file| file.path()).collect();
    paths.sort();
    paths
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn lines_of<T: DeserializeOwned>(path: &Path) -> Vec<T> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}
