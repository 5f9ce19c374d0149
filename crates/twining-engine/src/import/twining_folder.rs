//! Another folder of ours: its board, decisions and graph, by their own ids.

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use twining_model::knowledge_vocabulary::{FIELDS, Standing};
use twining_model::{Change, Channel, Decision, Entity, Entry, Origin, Relation, Trust, limits};
use twining_store::merge::one_decision;
use twining_store::{Documents, Durability, KnowledgeFile, array};

use super::apply::{ImportCounts, ImportMode, ImportOutcome};
use super::reader::{ImportProblem, ImportRecords, ImportedFile, json_lines, origin};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::knowledge::{KnowledgeEdge, KnowledgeGraph, Operation, OperationKind};
use crate::secrets::{Redact, redact};
use crate::workflow::{self, FeatureList, FeatureStatus};

/// The files that are read from such a folder, beside its decisions.
pub const FOLDER_FILES: [&str; 5] = [
    "blackboard.jsonl",
    "graph/entities.json",
    "graph/relations.json",
    "features.json",
    "knowledge.dot",
];

pub(super) fn read(files: &[ImportedFile], found: &mut ImportRecords) {
    for file in files {
        match file.name.as_str() {
            "blackboard.jsonl" => board(file, found),
            "graph/entities.json" => elements::<Entity>(file, found, |found, entity| {
                found.entities.push(Entity {
                    origin: Some(imported_origin(entity.origin.clone())),
                    ..entity
                });
            }),
            "graph/relations.json" => elements::<Relation>(file, found, |found, relation| {
                found.relations.push(Relation {
                    origin: Some(imported_origin(relation.origin.clone())),
                    ..relation
                });
            }),
            name if name.starts_with("decisions/") && name != "decisions/index.json" => {
                match one(file) {
                    Ok(decision) => found.decisions.push(decision),
                    Err(why) => found.unread(&file.name, None, why),
                }
            }
            // The last two are taken in by `import_other_files`.
            "decisions/index.json" | "features.json" | "knowledge.dot" => {}
            _ => found.unread(&file.name, None, "not imported; copy it manually if you want it"),
        }
    }
}

fn board(file: &ImportedFile, found: &mut ImportRecords) {
    let mut entries: Vec<Entry> = Vec::new();
    let mut places = HashMap::new();
    for (number, entry) in json_lines::<Entry>(file, found, "an entry") {
        if entry.id.is_empty() || entry.id.len() > limits::NAME_BYTES {
            found.unread(&file.name, number, "an entry with an invalid id");
            continue;
        }
        let entry = Entry { origin: Some(imported_origin(entry.origin.clone())), ..entry };
        // Of two lines with one id the later counts, as on any board.
        let at = *places.entry(entry.id.clone()).or_insert(entries.len());
        entries.splice(at..(at + 1).min(entries.len()), [entry]);
    }
    found.entries.extend(entries);
}

fn elements<T: serde::de::DeserializeOwned>(
    file: &ImportedFile,
    found: &mut ImportRecords,
    mut take: impl FnMut(&mut ImportRecords, T),
) {
    let scanned = array::scan(file.text.as_bytes());
    for (line, why) in scanned.unreadable {
        found.unread(&file.name, line, why);
    }
    for (line, element) in scanned.elements {
        match serde_json::from_str(&element) {
            Ok(element) => take(found, element),
            Err(error) => {
                found.unread(&file.name, line, format!("not an element of this array: {error}"));
            }
        }
    }
}

fn one(file: &ImportedFile) -> Result<Decision, String> {
    let text = one_decision(file.text.as_bytes());
    let decision: Decision =
        serde_json::from_slice(&text).map_err(|error| format!("not a decision: {error}"))?;
    if file.name != format!("decisions/{}.json", decision.id) {
        return Err(format!("it contains decision {}, not the one in its file name", decision.id));
    }
    Ok(Decision { origin: Some(imported_origin(decision.origin.clone())), ..decision })
}

/// What another folder says of its authors is kept, and believed no further than any import.
pub(super) fn imported_origin(origin: Option<Origin>) -> Origin {
    let (client, session) = origin.map_or((None, None), |origin| (origin.client, origin.session));
    Origin { client, session, ..Origin::new(Channel::Import, Trust::Imported) }
}

/// A record without secrets: those of another folder were written before anybody looked.
pub(super) fn cleaned<T: Serialize + DeserializeOwned>(record: T) -> T {
    let Ok(mut value) = serde_json::to_value(&record) else { return record };
    clean(&mut value);
    serde_json::from_value(value).unwrap_or(record)
}

fn clean(value: &mut Value) {
    value.each_text("", &mut |_, text| {
        let (clean, kinds) = redact(text);
        if !kinds.is_empty() {
            *text = clean;
        }
    });
}

impl Engine {
    /// Takes in what `read` does not.
    pub(super) fn import_other_files(
        &self,
        files: &[ImportedFile],
        intent: ImportMode,
        outcome: &mut ImportOutcome,
    ) -> Result<(), Failure> {
        files.iter().try_for_each(|file| match file.name.as_str() {
            "features.json" => self.import_features(file, intent, outcome),
            "knowledge.dot" => self.import_knowledge(file, intent, outcome),
            _ => Ok(()),
        })
    }

    fn import_features(
        &self,
        file: &ImportedFile,
        intent: ImportMode,
        outcome: &mut ImportOutcome,
    ) -> Result<(), Failure> {
        let theirs = match FeatureList::parse(&file.text) {
            Ok(list) => list,
            Err(why) => {
                outcome.unread.push(ImportProblem {
                    file: file.name.clone(),
                    line: None,
                    why: format!("not a feature list: {why}"),
                });
                return Ok(());
            }
        };
        let plan = |stored: &twining_store::FeatureListFile| {
            let mut counts = ImportCounts::default();
            let mut list =
                workflow::read_list(stored)?.map_or_else(|| FeatureList::parse("{}"), Ok);
            for feature in &theirs.features {
                let Ok(here) = &list else { break };
                if here.get(&feature.id).is_some() {
                    counts.known += 1;
                    continue;
                }
                counts.new += 1;
                let mut fields = theirs.raw(&feature.id);
                fields.insert("id".to_owned(), json!(feature.id));
                if feature.status == FeatureStatus::Tested || feature.tested {
                    // It was shown to work there.
                    fields.insert("status".to_owned(), json!(FeatureStatus::Completed.as_str()));
                    fields.insert("tested".to_owned(), json!(false));
                }
                fields.insert("origin".to_owned(), json!(origin()));
                let mut fields = Value::Object(fields);
                clean(&mut fields);
                let fields: Map<String, Value> = fields.as_object().cloned().unwrap_or_default();
                list = FeatureList::parse(&here.with_feature(&feature.id, &fields));
            }
            let list =
                list.map_err(|why| Failure::UnreadableList { path: stored.path.clone(), why })?;
            let list = (counts.new > 0).then(|| list.text().to_owned());
            Ok::<_, Failure>((Change::of_document(&stored.path, list), counts))
        };
        outcome.features = match intent {
            ImportMode::Import => {
                self.store().transact_on(Durability::Strict, Documents::features, plan)?
            }
            ImportMode::Try => plan(&self.store().documents().features()?)?.1,
        };
        Ok(())
    }

    fn import_knowledge(
        &self,
        file: &ImportedFile,
        intent: ImportMode,
        outcome: &mut ImportOutcome,
    ) -> Result<(), Failure> {
        let theirs = KnowledgeGraph::read(redact(&file.text).0.as_bytes());
        for error in &theirs.errors {
            let line = u64::try_from(error.line).ok();
            outcome.unread.push(ImportProblem {
                file: file.name.clone(),
                line,
                why: error.message.clone(),
            });
        }
        let plan = |here: &KnowledgeFile| {
            let ours = KnowledgeGraph::read(here.bytes.as_deref().unwrap_or_default());
            let wanted = additions(&ours, &theirs);
            let new = wanted.iter().filter(|one| one.op == OperationKind::AddNode).count();
            let known = theirs.nodes().len() - new;
            let added =
                wanted.chunks(limits::LIST).try_fold(here.bytes.clone(), |bytes, some| {
                    crate::knowledge::plan(bytes.as_deref(), some).map(Some)
                })?;
            let counts = ImportCounts { new: new as u64, known: known as u64, completed: 0 };
            Ok::<_, Failure>((added.filter(|_| !wanted.is_empty()), counts))
        };
        let planned = match intent {
            ImportMode::Import => self.change_knowledge(plan),
            ImportMode::Try => {
                plan(&self.store().documents().knowledge()?).map(|(_, counts)| counts)
            }
        };
        match planned {
            Err(Failure::InvalidInput(refused)) => outcome.unread.push(ImportProblem {
                file: file.name.clone(),
                line: None,
                why: format!("the graph was left out: {refused}"),
            }),
            planned => outcome.nodes = planned?,
        }
        Ok(())
    }
}

/// What adds to our graph the nodes and edges that only theirs has.
fn additions(ours: &KnowledgeGraph, theirs: &KnowledgeGraph) -> Vec<Operation> {
    let operation = |op: OperationKind, given: Vec<(&str, &str)>| {
        let given = given.into_iter().filter(|(_, text)| !text.is_empty());
        let fields = given.map(|(name, text)| (name.to_owned(), Some(text.to_owned())));
        Operation { op, fields: fields.collect() }
    };
    let nodes = theirs.nodes().filter(|node| ours.graph().node(node.id()).is_none()).map(|node| {
        let field = |name| match (name, node.field(name)) {
            // What holds there does not hold here until somebody says so.
            ("status", "" | "current") => (name, Standing::Future.as_str()),
            given => given,
        };
        let fields = FIELDS.into_iter().map(field).chain([("id", node.id())]);
        operation(OperationKind::AddNode, fields.collect())
    });
    let ends = |edge: KnowledgeEdge<'_>| {
        let [from, to] = [&edge.edge().from, &edge.edge().to].map(|id| id.as_str().to_owned());
        (from, to, edge.relation().to_owned())
    };
    let own: HashSet<(String, String, String)> = ours.valid_edges().map(ends).collect();
    let edges = theirs.valid_edges().filter(|edge| !own.contains(&ends(*edge))).map(|edge| {
        let (from, to, relation) = ends(edge);
        let fields =
            vec![("from", &*from), ("to", &*to), ("relation", &*relation), ("note", edge.note())];
        operation(OperationKind::AddEdge, fields)
    });
    nodes.chain(edges).collect()
}
