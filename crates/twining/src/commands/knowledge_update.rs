//! `knowledge update`: edit the reviewed graph, all or nothing.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use twining_engine::{Failure, KnowledgeUpdateInput, KnowledgeUpdated, Operation};
use twining_model::knowledge::FIELDS;

use super::words;
use crate::desk::Desk;
use crate::misread;
use crate::page::{Page, count, dim, good, plain, strong, warn};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct KnowledgeUpdate;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// All are carried out, or none. A node takes id and fields (an empty one is removed), an edge from, to, relation, note
    #[serde(deserialize_with = "words::list")]
    #[schemars(extend("items" = operation_schema()))]
    #[arg(
        help = "One as JSON; repeat the flag for more",
        required = true,
        long = "op",
        value_name = "JSON",
        value_parser = operation
    )]
    operations: Vec<Operation>,
    #[arg(help = "The story it is done for", long = "story", value_name = "ID")]
    story_id: Option<String>,
    #[arg(help = "Only say what would be done", long, num_args = 0, default_missing_value = "true")]
    dry_run: Option<bool>,
}

/// Reads an operation from JSON.
fn operation(json: &str) -> Result<Operation, String> {
    serde_json::from_str(json)
        .map_err(|error| format!(r#"write it as {{"op":"update_node","id":"…"}}: {}"#, misread::explained(&error.to_string())))
}

/// Which words a field takes is said by the refusal: a model pays for each here.
fn operation_schema() -> Value {
    let names = ["id"].into_iter().chain(FIELDS).chain(["from", "to", "relation", "note"]);
    let mut fields: serde_json::Map<String, Value> = names.map(|name| (name.to_owned(), json!({ "type": "string" }))).collect();
    let operations = ["add_node", "update_node", "remove_node", "add_edge", "remove_edge"];
    fields.insert("op".to_owned(), json!({ "type": "string", "enum": operations }));
    json!({ "type": "object", "properties": fields, "required": ["op"] })
}

impl Verb for KnowledgeUpdate {
    const NAME: &'static str = "knowledge_update";
    const GROUP: Group = Group::Knowledge;
    const TITLE: &'static str = "Edit the knowledge graph";
    const ABOUT: &'static str =
        "Add, change or remove nodes and edges of the knowledge graph. The whole graph is checked first; comments and layout stay.";
    const EXAMPLE: &'static str =
        "twining knowledge update --op '{\"op\":\"update_node\",\"id\":\"code-style\",\"status\":\"deprecated\"}'";
    const EFFECT: Effect = Effect::Removes;

    type Input = Input;
    type Output = KnowledgeUpdated;

    fn run(desk: &Desk<'_>, input: Input) -> Result<KnowledgeUpdated, Failure> {
        let Input { operations, story_id, dry_run } = input;
        desk.engine.knowledge_update(&KnowledgeUpdateInput { operations, story_id, dry_run: dry_run.unwrap_or(false) })
    }

    fn show(updated: &KnowledgeUpdated, page: &mut Page) {
        let done = if updated.written { good("written:") } else { dim("not written:") };
        let (nodes, edges) = (updated.nodes as u64, updated.edges as u64);
        page.line([done, plain(&updated.file), dim(format!("{}, {}", count(nodes, "node"), count(edges, "edge")))]);
        if updated.joined {
            page.line([dim("  both sides of a merge that git had left were made one")]);
        }
        for (what, ids) in [("added", &updated.nodes_added), ("changed", &updated.nodes_changed), ("removed", &updated.nodes_removed)] {
            ids.iter().for_each(|id| page.line([dim(format!("  {what}")), strong(id)]));
        }
        for (what, number) in [("added", updated.edges_added), ("removed", updated.edges_removed)] {
            if number > 0 {
                page.line([dim(format!("  {what}")), plain(count(number as u64, "edge"))]);
            }
        }
        for finding in &updated.warnings {
            page.line([warn(format!("  line {}: {}", finding.line, finding.message))]);
        }
    }
}
