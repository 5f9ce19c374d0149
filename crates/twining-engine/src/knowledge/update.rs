//! Edits: several operations or none, each touching one statement, and the
//! whole graph right afterwards.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_dot::{DotDocument, DotId, EdgeSelector, EditError};
use twining_model::knowledge_vocabulary::FIELDS;
use twining_model::{InvalidInput, ProjectRoot, Scope, limits, text};

use super::check::{GraphFinding, conflict_markers};
use super::graph::KnowledgeGraph;
use super::merge::merged_markers;
use crate::anchors::{AnchoredPlace, UnresolvedName};
use crate::fields::is_false;
use crate::input_types::{EDGE_FIELDS, operation_schema};
use crate::secrets::{Redact, Redaction, redact_fields};

/// The file before its first node.
const EMPTY: &str = "digraph ProjectKnowledge {\n}\n";
/// So many problems are named in a refusal.
const NAMED: usize = 10;

/// Changes to the graph.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KnowledgeUpdateInput {
    /// All or none are applied. A node takes id and fields (an empty one is removed), an edge from, to, relation, note
    ///
    /// Each as JSON; repeat the flag for more
    #[schemars(extend("items" = operation_schema()))]
    pub operations: Vec<Operation>,
    /// The story it is done for
    pub story_id: Option<String>,
    /// Dry run; nothing is written
    #[serde(default)]
    pub dry_run: bool,
}

redact_fields!(KnowledgeUpdateInput { operations, story_id });

/// One operation. Which fields it takes depends on `op`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Operation {
    /// What to do.
    pub op: OperationKind,
    /// The id and fields of a node, or the ends, relation and note of an edge.
    #[serde(flatten)]
    pub fields: BTreeMap<String, Option<String>>,
}

impl Redact for Operation {
    /// Under the names of its own fields: a graph is corrected by them.
    fn each_text(&mut self, _: &'static str, visit: &mut dyn FnMut(&'static str, &mut String)) {
        for name in ["id"].into_iter().chain(FIELDS).chain(EDGE_FIELDS) {
            self.fields.entry(name.to_owned()).or_default().each_text(name, visit);
        }
    }
}

/// What can be done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OperationKind {
    /// A new node.
    #[default]
    AddNode,
    /// The given fields; an empty one is removed.
    UpdateNode,
    /// A node, and its edges with it.
    RemoveNode,
    /// An edge between two nodes.
    AddEdge,
    /// An edge, or every edge between two nodes if no relation is given.
    RemoveEdge,
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KnowledgeUpdateOutcome {
    /// Which file, relative to the project.
    pub file: String,
    /// Whether the file was created.
    pub created: bool,
    /// Whether it was written.
    pub written: bool,
    /// Whether a merge conflict that git left in it was resolved.
    #[serde(skip_serializing_if = "is_false")]
    pub joined: bool,
    /// Nodes that are new.
    pub nodes_added: Vec<String>,
    /// Changed nodes.
    pub nodes_changed: Vec<String>,
    /// Removed nodes.
    pub nodes_removed: Vec<String>,
    /// Edges that are new.
    pub edges_added: usize,
    /// Removed edges, including those of removed nodes.
    pub edges_removed: usize,
    /// Total nodes now.
    pub nodes: usize,
    /// Total edges now.
    pub edges: usize,
    /// Warnings about the graph now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<GraphFinding>,
    /// Secrets redacted before writing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<Redaction>,
    /// Code that the nodes are anchored to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub anchored: Vec<AnchoredPlace>,
    /// Code they name that is not there: check the names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unresolved: Vec<UnresolvedName>,
}

/// The file after operations that come from another folder.
pub(crate) fn carried_out(
    source: Option<&[u8]>,
    operations: &[Operation],
) -> Result<Vec<u8>, InvalidInput> {
    plan(source, operations).map(|(bytes, _)| bytes)
}

/// Carries operations out on a file, or says why none was.
pub(super) fn plan(
    source: Option<&[u8]>,
    operations: &[Operation],
) -> Result<(Vec<u8>, KnowledgeUpdateOutcome), InvalidInput> {
    if operations.is_empty() {
        return Err(InvalidInput::new("operations", "must not be empty"));
    }
    limits::at_most("operations", operations, limits::LIST)?;
    let joined = source.and_then(merged_markers);
    let (source, was_there) = (joined.as_deref().or(source), source.is_some());
    if let Some(&at) = conflict_markers(source.unwrap_or_default()).first() {
        let line =
            source.unwrap_or_default()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        return Err(InvalidInput::new("operations", "cannot be applied while the file has an unresolved merge conflict")
            .because(format!("line {line}: they disagree; that is for people to settle, and twining_knowledge_check tells how")));
    }
    let blank = source.is_none_or(|bytes| bytes.iter().all(u8::is_ascii_whitespace));
    let mut document =
        DotDocument::parse(if blank { EMPTY.as_bytes() } else { source.unwrap_or_default() });
    if let Some(problem) = document.errors.first() {
        return Err(InvalidInput::new(
            "operations",
            "cannot be applied while the file is not valid DOT",
        )
        .because(format!(
            "line {}: {}; twining_knowledge_check lists every error",
            problem.line, problem.message
        )));
    }
    let mut updated = KnowledgeUpdateOutcome {
        created: !was_there,
        joined: joined.is_some(),
        ..KnowledgeUpdateOutcome::default()
    };
    for (number, operation) in operations.iter().enumerate() {
        let numbered = |refused: InvalidInput| InvalidInput {
            field: format!("operations[{number}].{}", refused.field).into(),
            ..refused
        };
        operation.carry_out(&mut document, &mut updated).map_err(numbered)?;
    }
    let known = KnowledgeGraph::read(document.bytes());
    if !known.errors.is_empty() {
        return Err(InvalidInput::new(
            "operations",
            "would make the graph invalid, so nothing was written",
        )
        .because(listed(&known.errors)));
    }
    updated.nodes = known.declared;
    updated.edges = known.edges();
    updated.warnings = known.warnings.into_iter().take(NAMED).collect();
    Ok((document.into_bytes(), updated))
}

impl Operation {
    fn get(&self, name: &str) -> Option<&str> {
        self.fields.get(name)?.as_deref()
    }

    fn required(&self, field: &'static str) -> Result<String, InvalidInput> {
        let given = self.get(field).ok_or_else(|| InvalidInput::new(field, "is required"))?;
        text::name(field, given)
    }

    fn carry_out(
        &self,
        document: &mut DotDocument,
        updated: &mut KnowledgeUpdateOutcome,
    ) -> Result<(), InvalidInput> {
        self.refuse_strays()?;
        match self.op {
            OperationKind::AddNode => {
                let id = self.required("id")?;
                let given: Vec<(&str, DotId)> = self
                    .fields()?
                    .into_iter()
                    .filter(|(_, value)| !value.is_empty())
                    .map(as_id)
                    .collect();
                document.add_node(id.as_str(), &given).map_err(|error| refused("id", &error))?;
                updated.nodes_added.push(id);
            }
            OperationKind::UpdateNode => {
                let id = self.required("id")?;
                if document.graph().node(id.as_str()).is_none() {
                    return Err(refused("id", &EditError::NoNode(DotId::new(&id))));
                }
                let before = document.bytes().to_vec();
                for (name, value) in self.fields()? {
                    set(document, &id, name, value)?;
                }
                if document.bytes() != before
                    && !updated.nodes_changed.contains(&id)
                    && !updated.nodes_added.contains(&id)
                {
                    updated.nodes_changed.push(id);
                }
            }
            OperationKind::RemoveNode => {
                let id = self.required("id")?;
                let before = document.graph().edges.len();
                document.remove_node(id.as_str()).map_err(|error| refused("id", &error))?;
                updated.edges_removed += before - document.graph().edges.len();
                updated.nodes_removed.push(id);
            }
            OperationKind::AddEdge => self.add_edge(document, updated)?,
            OperationKind::RemoveEdge => {
                let selector = EdgeSelector::new(self.required("from")?, self.required("to")?);
                let selector = match self.get("relation") {
                    Some(relation) => selector.having("relation", relation),
                    None => selector,
                };
                updated.edges_removed +=
                    document.remove_edge(&selector).map_err(|error| refused("from", &error))?;
            }
        }
        Ok(())
    }

    fn add_edge(
        &self,
        document: &mut DotDocument,
        updated: &mut KnowledgeUpdateOutcome,
    ) -> Result<(), InvalidInput> {
        let (from, to) = (self.required("from")?, self.required("to")?);
        let relation = self.required("relation")?;
        for (field, id) in [("from", &from), ("to", &to)] {
            if document.graph().node(id.as_str()).is_none() {
                return Err(refused(field, &EditError::NoNode(DotId::new(id))));
            }
        }
        let (tail, head) = (DotId::new(&from), DotId::new(&to));
        let twin = |edge: &&twining_dot::Edge| {
            edge.from == tail && edge.to == head && edge.get("relation") == Some(&relation)
        };
        if document.graph().edges.iter().find(twin).is_some() {
            return Err(InvalidInput::new("relation", "already connects these two nodes")
                .because(format!("`{}`", text::excerpt(&relation, 80))));
        }
        let mut attributes = vec![("relation", DotId::new(&relation))];
        if let Some(note) = self.get("note").filter(|note| !note.trim().is_empty()) {
            text::bounded("note", note, limits::TEXT_BYTES)?;
            attributes.push(("note", DotId::new(note)));
        }
        document
            .add_edge(from.as_str(), to.as_str(), &attributes)
            .map_err(|error| refused("from", &error))?;
        updated.edges_added += 1;
        Ok(())
    }

    /// The fields of a node that are given, in the order they are written.
    fn fields(&self) -> Result<Vec<(&'static str, &str)>, InvalidInput> {
        let mut fields = Vec::new();
        for (name, value) in FIELDS.into_iter().filter_map(|name| Some((name, self.get(name)?))) {
            text::bounded(name, value, limits::TEXT_BYTES)?;
            if name == "path" && leads_out(value) {
                return Err(InvalidInput::new(name, "must be inside the project"));
            }
            fields.push((name, value.trim()));
        }
        Ok(fields)
    }

    /// Takes the project off a path that begins with it, which is how agents name files.
    pub(super) fn shorten_paths(&mut self, root: &ProjectRoot) -> Result<(), InvalidInput> {
        let Some(paths) = self
            .fields
            .get_mut("path")
            .and_then(Option::as_mut)
            .filter(|paths| paths.split(',').any(|path| Path::new(path.trim()).is_absolute()))
        else {
            return Ok(());
        };
        let here = |path: &str| match path.trim() {
            path if Path::new(path).is_absolute() => {
                Scope::parse("path", path, root).map(|scope| scope.to_string())
            }
            path => Ok(path.to_owned()),
        };
        *paths = paths.split(',').map(here).collect::<Result<Vec<_>, _>>()?.join(", ");
        Ok(())
    }

    /// A field that the operation does not take was meant for something.
    fn refuse_strays(&self) -> Result<(), InvalidInput> {
        let of_node = !matches!(self.op, OperationKind::AddEdge | OperationKind::RemoveEdge);
        for (name, _) in self.fields.iter().filter(|(_, value)| value.is_some()) {
            let is_edge_field = EDGE_FIELDS.contains(&name.as_str());
            let is_node_field = name == "id" || FIELDS.contains(&name.as_str());
            let rule = match (is_node_field, is_edge_field) {
                (true, _) if of_node => continue,
                (_, true) if !of_node => continue,
                (true, _) => "is a field of nodes, not edges",
                (_, true) => "is a field of edges, not nodes",
                _ => "is not a field of nodes or edges",
            };
            return Err(InvalidInput::new(text::excerpt(name, 40), rule));
        }
        Ok(())
    }
}

fn set(
    document: &mut DotDocument,
    id: &str,
    name: &'static str,
    value: &str,
) -> Result<(), InvalidInput> {
    if !value.is_empty() {
        return document.set_node_attr(id, name, value).map_err(|error| refused(name, &error));
    }
    match document.remove_node_attr(id, name) {
        Ok(()) | Err(EditError::NoAttribute(_)) => Ok(()),
        Err(error) => Err(refused(name, &error)),
    }
}

fn as_id<'f>((name, value): (&'f str, &str)) -> (&'f str, DotId) {
    (name, DotId::new(value))
}

fn refused(field: &'static str, error: &EditError) -> InvalidInput {
    InvalidInput::new(field, "cannot be applied").because(error)
}

/// The first problems, each with its line, and how many more there are.
fn listed(errors: &[GraphFinding]) -> String {
    let one = |finding: &GraphFinding| {
        let about = finding
            .node_id
            .as_deref()
            .map(|id| format!(" of '{}'", text::excerpt(id, 80)))
            .unwrap_or_default();
        let suggestion =
            finding.suggestion.as_deref().map(|word| format!(" ({word})")).unwrap_or_default();
        let field = finding.field.as_deref().unwrap_or("graph");
        format!("{field}{about}: {}{suggestion}", finding.message)
    };
    let mut message = errors.iter().take(NAMED).map(one).collect::<Vec<_>>().join("; ");
    if errors.len() > NAMED {
        message.push_str(&format!("; and {} more", errors.len() - NAMED));
    }
    message
}

/// Whether a node's path is one of no file in the project.
fn leads_out(path: &str) -> bool {
    let is_separator = |c: char| matches!(c, ',' | ' ');
    path.split(is_separator).any(|path| {
        path.starts_with(['/', '\\']) || path.split(['/', '\\']).any(|part| part == "..")
    })
}
