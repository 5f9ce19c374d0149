//! Work and knowledge of another folder of ours: its features and its graph.
//!
//! What is here stays as it is. What comes is believed no further than any import: a
//! feature is tested when it was tested here, a node of the graph is `future` until a
//! person makes it `current`.

use std::collections::HashSet;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use twining_model::Change;
use twining_model::knowledge::Standing;
use twining_store::{Documents, Durability, KnowledgeFile};

use super::store::{ImportCounts, ImportMode, ImportOutcome};
use super::{ImportProblem, SourceFile, origin};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::hygiene::redact;
use crate::knowledge::{KnowledgeGraph, Operation, OperationKind};
use crate::workflow::{self, FeatureList, FeatureStatus};

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
    pub(super) fn import_other_files(&self, files: &[SourceFile], intent: ImportMode, outcome: &mut ImportOutcome) -> Result<(), Failure> {
        files.iter().try_for_each(|file| match file.name.as_str() {
            "features.json" => self.import_features(file, intent, outcome),
            "knowledge.dot" => self.import_knowledge(file, intent, outcome),
            _ => Ok(()),
        })
    }

    fn import_features(&self, file: &SourceFile, intent: ImportMode, outcome: &mut ImportOutcome) -> Result<(), Failure> {
        let theirs = match FeatureList::parse(&file.text) {
            Ok(list) => list,
            Err(why) => {
                outcome.unread.push(ImportProblem { file: file.name.clone(), line: None, why: format!("no feature list: {why}") });
                return Ok(());
            }
        };
        let plan = |stored: &twining_store::FeatureShelf| {
            let mut counts = ImportCounts::default();
            let mut list = workflow::read_list(stored)?.map_or_else(|| FeatureList::parse("{}"), Ok);
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
            let list = list.map_err(|why| Failure::UnreadableList { path: stored.path.clone(), why })?;
            let list = (counts.new > 0).then(|| list.text().to_owned());
            Ok::<_, Failure>((Change::of_document(&stored.path, list), counts))
        };
        outcome.features = match intent {
            ImportMode::Import => self.store().transact_on(Durability::Strict, Documents::features, plan)?,
            ImportMode::Try => plan(&self.store().documents().features()?)?.1,
        };
        Ok(())
    }

    fn import_knowledge(&self, file: &SourceFile, intent: ImportMode, outcome: &mut ImportOutcome) -> Result<(), Failure> {
        let theirs = KnowledgeGraph::read(redact(&file.text).0.as_bytes());
        for error in &theirs.errors {
            let line = u64::try_from(error.line).ok();
            outcome.unread.push(ImportProblem { file: file.name.clone(), line, why: error.message.clone() });
        }
        let plan = |here: &KnowledgeFile| {
            let ours = KnowledgeGraph::read(here.bytes.as_deref().unwrap_or_default());
            let wanted = additions(&ours, &theirs);
            let mut lost = Vec::new();
            let bytes = carried_out(here.bytes.clone(), &wanted, &mut lost);
            let nodes = |all: &mut dyn Iterator<Item = &Operation>| all.filter(|one| one.op == OperationKind::AddNode).count() as u64;
            let new = nodes(&mut wanted.iter()) - nodes(&mut lost.iter().map(|(one, _)| one));
            let known = theirs.nodes().filter(|node| ours.graph().node(node.id()).is_some()).count() as u64;
            let written = if bytes == here.bytes { None } else { bytes };
            Ok::<_, Failure>((written, (ImportCounts { new, known, completed: 0 }, lost)))
        };
        let (counts, lost) = match intent {
            ImportMode::Import => self.change_knowledge(plan)?,
            ImportMode::Try => plan(&self.store().documents().knowledge()?)?.1,
        };
        outcome.nodes = counts;
        for (one, why) in lost {
            let what = one.id.unwrap_or_else(|| format!("{} -> {}", one.from.unwrap_or_default(), one.to.unwrap_or_default()));
            outcome.unread.push(ImportProblem { file: file.name.clone(), line: None, why: format!("`{what}` was left out: {why}") });
        }
        Ok(())
    }
}

/// What adds to our graph the nodes and edges that only theirs has.
fn additions(ours: &KnowledgeGraph, theirs: &KnowledgeGraph) -> Vec<Operation> {
    let ends = |edge: &twining_dot::Edge| [edge.from(), edge.to()].map(|id| id.as_str().to_owned());
    let valid_edges: HashSet<([String; 2], &str)> =
        ours.valid_edges().map(|valid_edge| (ends(valid_edge.edge()), valid_edge.relation())).collect();
    let nodes = theirs.nodes().filter(|node| ours.graph().node(node.id()).is_none()).map(|node| {
        let given = |name: &str| Some(node.field(name).to_owned()).filter(|text| !text.is_empty());
        let status = given("status").filter(|status| status != Standing::Current.as_str());
        Operation {
            op: OperationKind::AddNode,
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
    let edges = theirs.valid_edges().filter(|valid_edge| !valid_edges.contains(&(ends(valid_edge.edge()), valid_edge.relation()))).map(
        |valid_edge| {
            let [from, to] = ends(valid_edge.edge()).map(Some);
            let note = Some(valid_edge.note().to_owned()).filter(|note| !note.is_empty());
            Operation {
                op: OperationKind::AddEdge,
                from,
                to,
                relation: Some(valid_edge.relation().to_owned()),
                note,
                ..Operation::default()
            }
        },
    );
    nodes.chain(edges).collect()
}

/// Carries out what can be: where one of them cannot, each half by itself.
fn carried_out(bytes: Option<Vec<u8>>, wanted: &[Operation], lost: &mut Vec<(Operation, String)>) -> Option<Vec<u8>> {
    match (crate::knowledge::plan(bytes.as_deref(), wanted), wanted) {
        (_, []) => bytes,
        (Ok(after), _) => Some(after),
        (Err(why), [one]) => {
            lost.push((one.clone(), why.to_string()));
            bytes
        }
        (Err(_), _) => {
            let (first, second) = wanted.split_at(wanted.len() / 2);
            let bytes = carried_out(bytes, first, lost);
            carried_out(bytes, second, lost)
        }
    }
}
