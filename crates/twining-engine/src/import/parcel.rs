//! The rest of another folder of ours: features, knowledge, turns and traces.
//!
//! What is here stays as it is. What comes is believed no further than any import: a
//! feature is tested when it was tested here, a node of the graph is `future` until a
//! person makes it `current`, a trace counts for nothing but to be read. Rules are
//! proposed, or named where they would start a command: a person accepts them.

use std::collections::HashSet;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use twining_model::knowledge::Standing;
use twining_model::{Change, Trace, Turn, TurnKey, TurnName, limits};
use twining_store::{Documents, Durability, KnowledgeFile, Slot};

use super::folder::believed;
use super::store::{ImportCounts, ImportOutcome, Intent};
use super::{Source, SourceFile, Unread, origin, proposed};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::hygiene::redact;
use crate::knowledge::{Knowledge, Op, Operation};
use crate::workflow::{self, FeatureList, Status};

/// Operations that are carried out together.
const AT_ONCE: usize = 50;

/// Whether a file of another folder is taken over here.
pub(super) fn is_part(name: &str) -> bool {
    ["features.json", "knowledge.dot", "traces.jsonl", "policy.yml"].contains(&name) || name.starts_with("turns/")
}

/// A record without secrets: those of another folder were written before anybody looked.
pub(super) fn cleaned<T: Serialize + DeserializeOwned>(record: T) -> T {
    let Ok(mut value) = serde_json::to_value(&record) else { return record };
    clean(&mut value);
    serde_json::from_value(value).unwrap_or(record)
}

fn clean(value: &mut Value) {
    match value {
        Value::String(text) => {
            let (clean, kinds) = redact(text);
            if !kinds.is_empty() {
                *text = clean;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(clean),
        Value::Object(fields) => fields.values_mut().for_each(clean),
        _ => {}
    }
}

impl Engine {
    /// Takes in what `folder` does not.
    pub(super) fn import_parcel(&self, files: &[SourceFile], intent: Intent, outcome: &mut ImportOutcome) -> Result<(), Failure> {
        let mut turns: Vec<&SourceFile> = Vec::new();
        for file in files {
            match file.name.as_str() {
                "features.json" => self.import_features(file, intent, outcome)?,
                "knowledge.dot" => self.import_knowledge(file, intent, outcome)?,
                "traces.jsonl" => self.import_traces(file, intent, outcome)?,
                "policy.yml" => self.import_rules(file, intent, outcome)?,
                name if name.starts_with("turns/") => turns.push(file),
                _ => {}
            }
        }
        turns.into_iter().try_for_each(|file| self.import_turn(file, intent, outcome))
    }

    /// Proposes the rules that another folder has; what cannot be is named.
    fn import_rules(&self, file: &SourceFile, intent: Intent, outcome: &mut ImportOutcome) -> Result<(), Failure> {
        let (guards, left) = proposed::of_policy(file);
        let why = if left.is_empty() {
            "roles, gates and modes are each project's own; copy what should hold here".to_owned()
        } else {
            format!("rules that start a command are not taken over; copy those that should hold, and review them: {}", left.join(", "))
        };
        outcome.unread.push(Unread { file: file.name.clone(), line: None, why: crate::words::clip(&why, 1000) });
        self.propose(Source::Twining, &guards, intent, outcome)
    }

    fn import_features(&self, file: &SourceFile, intent: Intent, outcome: &mut ImportOutcome) -> Result<(), Failure> {
        let theirs = match FeatureList::parse(&file.text) {
            Ok(list) => list,
            Err(why) => {
                outcome.unread.push(Unread { file: file.name.clone(), line: None, why: format!("no feature list: {why}") });
                return Ok(());
            }
        };
        let plan = |shelf: &twining_store::FeatureShelf| {
            let mut counts = ImportCounts::default();
            let mut list = workflow::list_on(shelf)?.map_or_else(|| FeatureList::parse("{}"), Ok);
            for feature in &theirs.features {
                let Ok(here) = &list else { break };
                if here.get(&feature.id).is_some() {
                    counts.known += 1;
                    continue;
                }
                counts.new += 1;
                let mut fields = theirs.raw(&feature.id);
                fields.insert("id".to_owned(), json!(feature.id));
                if feature.status == Status::Tested || feature.tested {
                    // It was shown to work there.
                    fields.insert("status".to_owned(), json!(Status::Completed.as_str()));
                    fields.insert("tested".to_owned(), json!(false));
                }
                fields.insert("origin".to_owned(), json!(origin()));
                let mut fields = Value::Object(fields);
                clean(&mut fields);
                let fields: Map<String, Value> = fields.as_object().cloned().unwrap_or_default();
                list = FeatureList::parse(&here.with_feature(&feature.id, &fields));
            }
            let list = list.map_err(|why| Failure::UnreadableList { path: shelf.path.clone(), why })?;
            let list = (counts.new > 0).then(|| list.text().to_owned());
            Ok::<_, Failure>((Change::of_document(&shelf.path, list), counts))
        };
        outcome.features = match intent {
            Intent::Import => self.store().transact_on(Durability::Strict, Documents::features, plan)?,
            Intent::Try => plan(&self.store().documents().features()?)?.1,
        };
        Ok(())
    }

    fn import_knowledge(&self, file: &SourceFile, intent: Intent, outcome: &mut ImportOutcome) -> Result<(), Failure> {
        let theirs = Knowledge::read(redact(&file.text).0.as_bytes());
        for error in &theirs.errors {
            let line = u64::try_from(error.line).ok();
            outcome.unread.push(Unread { file: file.name.clone(), line, why: error.message.clone() });
        }
        let plan = |here: &KnowledgeFile| {
            let mut counts = ImportCounts::default();
            let known = Knowledge::read(here.bytes.as_deref().unwrap_or_default());
            let is_here = |id: &str| known.graph().node(id).is_some();
            let bonds: HashSet<(String, String, &str)> = known
                .bonds()
                .map(|bond| (bond.edge().from().as_str().to_owned(), bond.edge().to().as_str().to_owned(), bond.relation()))
                .collect();
            counts.known = theirs.nodes().filter(|node| is_here(node.id())).count() as u64;
            let nodes = theirs.nodes().filter(|node| !is_here(node.id())).map(|node| {
                let given = |name: &str| Some(node.field(name).to_owned()).filter(|text| !text.is_empty());
                let status = given("status").filter(|status| status != Standing::Current.as_str());
                Operation {
                    op: Op::AddNode,
                    id: Some(node.id().to_owned()),
                    kind: given("type"),
                    level: given("level"),
                    status: status.or_else(|| Some(Standing::Future.as_str().to_owned())),
                    description: given("description"),
                    tag: given("tag"),
                    component: given("component"),
                    path: given("path"),
                    example: given("example"),
                    priority: given("priority"),
                    ..Operation::default()
                }
            });
            let edges = theirs.bonds().filter_map(|bond| {
                let (from, to) = (bond.edge().from().as_str().to_owned(), bond.edge().to().as_str().to_owned());
                let note = Some(bond.note().to_owned()).filter(|note| !note.is_empty());
                let relation = Some(bond.relation().to_owned());
                let is_known = bonds.contains(&(from.clone(), to.clone(), bond.relation()));
                (!is_known).then(|| Operation { op: Op::AddEdge, from: Some(from), to: Some(to), relation, note, ..Operation::default() })
            });
            let wanted: Vec<Operation> = nodes.chain(edges).collect();
            let mut bytes = here.bytes.clone();
            let mut lost = Vec::new();
            for batch in wanted.chunks(AT_ONCE) {
                match crate::knowledge::plan(bytes.as_deref(), batch) {
                    Ok(after) => {
                        counts.new += batch.iter().filter(|one| one.op == Op::AddNode).count() as u64;
                        bytes = Some(after);
                    }
                    // One of them does not go: then each by itself, to tell which.
                    Err(_) => {
                        for one in batch {
                            match crate::knowledge::plan(bytes.as_deref(), std::slice::from_ref(one)) {
                                Ok(after) => {
                                    counts.new += u64::from(one.op == Op::AddNode);
                                    bytes = Some(after);
                                }
                                Err(why) => lost.push((one.clone(), why.to_string())),
                            }
                        }
                    }
                }
            }
            let written = if bytes == here.bytes { None } else { bytes };
            Ok::<_, Failure>((written, (counts, lost)))
        };
        let (counts, lost) = match intent {
            Intent::Import => self.change_knowledge(plan)?,
            Intent::Try => plan(&self.store().documents().knowledge()?)?.1,
        };
        outcome.nodes = counts;
        for (one, why) in lost {
            let what = one.id.unwrap_or_else(|| format!("{} -> {}", one.from.unwrap_or_default(), one.to.unwrap_or_default()));
            outcome.unread.push(Unread { file: file.name.clone(), line: None, why: format!("`{what}` was left out: {why}") });
        }
        Ok(())
    }

    fn import_traces(&self, file: &SourceFile, intent: Intent, outcome: &mut ImportOutcome) -> Result<(), Failure> {
        let mut known: HashSet<String> = HashSet::new();
        self.store().traces().each(&mut |seen| {
            known.insert(seen.id.to_owned());
            true
        })?;
        let mut fresh = Vec::new();
        for (number, line) in (1..).zip(file.text.lines()) {
            let read = serde_json::from_str::<Trace>(line.trim());
            let mut lost = |why: String| outcome.unread.push(Unread { file: file.name.clone(), line: Some(number), why });
            match read {
                _ if line.trim().is_empty() => {}
                Ok(trace) if line.len() > limits::TRACE_BYTES / 2 || trace.id.is_empty() => {
                    lost("no trace of ours has this id or size".to_owned());
                }
                Ok(trace) if !known.insert(trace.id.clone()) => outcome.traces.known += 1,
                Ok(trace) => {
                    outcome.traces.new += 1;
                    fresh.push(cleaned(Trace { origin: Some(believed(trace.origin.clone())), ..trace }));
                }
                Err(error) => lost(format!("no trace: {error}")),
            }
        }
        if intent == Intent::Import && !fresh.is_empty() {
            self.store().write(Durability::Normal, &Change { imported_traces: fresh, ..Change::default() })?;
        }
        Ok(())
    }

    fn import_turn(&self, file: &SourceFile, intent: Intent, outcome: &mut ImportOutcome) -> Result<(), Failure> {
        let read = || -> Result<(TurnKey, String), String> {
            let turn: Turn = serde_json::from_str(&file.text).map_err(|error| format!("no turn: {error}"))?;
            let name = |field, text: &str| TurnName::parse(field, text).map_err(|refused| refused.to_string());
            let key =
                TurnKey { feature: name("feature_id", &turn.feature_id)?, task: name("task_id", &turn.task_id)?, number: turn.turn_number };
            if file.name != Slot::of(&key).path() {
                return Err("it holds another turn than its name says".to_owned());
            }
            let mut value: Value = serde_json::from_str(&file.text).map_err(|error| error.to_string())?;
            value["origin"] = json!(believed(turn.origin));
            clean(&mut value);
            serde_json::to_string_pretty(&value).map(|text| (key, text)).map_err(|error| error.to_string())
        };
        let (key, text) = match read() {
            Ok(read) => read,
            Err(why) => {
                outcome.unread.push(Unread { file: file.name.clone(), line: None, why });
                return Ok(());
            }
        };
        let is_here = |shelf: &twining_store::Shelf| shelf.read(&Slot::of(&key)).map(|there| there.is_some());
        let known = match intent {
            Intent::Try => is_here(&self.store().documents().turns()?)?,
            Intent::Import => self.store().transact_on(Durability::Normal, Documents::turns, |shelf| {
                let known = is_here(shelf)?;
                let turns = if known { Vec::new() } else { vec![Slot::of(&key).with_text(Some(format!("{text}\n")))] };
                Ok::<_, Failure>((Change { turns, ..Change::default() }, known))
            })?,
        };
        if known {
            outcome.turns.known += 1;
        } else {
            outcome.turns.new += 1;
        }
        Ok(())
    }
}
