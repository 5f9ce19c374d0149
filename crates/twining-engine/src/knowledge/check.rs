//! The rules of the graph, and where a file breaks them.

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_dot::{
    AttrList, Attributes, Body, DotDocument, DotId, Endpoint, Node, NodeRef, Span, Statement,
    StatementKind,
};
use twining_model::knowledge_vocabulary::{FIELDS, Level, Link, NodeType, Priority, Standing};
use twining_model::{limits, text};

use super::graph::KnowledgeGraph;
use super::merge::{merged_markers, unresolved_merge};
use crate::fields::{fit_reply, is_zero};
use crate::suggestions;

/// How a text that a merge put together from two is marked.
pub(super) const MERGED: &str = "[merge: settle]";
/// The message about such a text.
const KEPT_TWO: &str = "a merge left two versions of the text here";

/// Maximum number of unknown edge ends that get a suggested node.
const ADVISED: usize = 100;

/// An error or warning, and its position.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GraphFinding {
    /// Which node; for an edge its tail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_id: Option<String>,
    /// Which field of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// What is wrong.
    pub message: String,
    /// From 1; 0 for the whole file.
    pub line: usize,
    /// From 1; 0 for the whole file.
    pub column: usize,
    /// What to write instead, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
}

impl GraphFinding {
    /// Of the file as a whole.
    pub(super) fn of_file(message: impl Into<String>, suggestion: &str) -> Self {
        Self { message: message.into(), suggestion: Some(suggestion.to_owned()), ..Self::default() }
    }
}

/// What to check.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KnowledgeCheckInput {
    /// Another DOT file of the project
    pub path: Option<String>,
}

/// What is wrong with a file.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct KnowledgeCheckOutcome {
    /// Whether it is valid.
    pub valid: bool,
    /// Which file, relative to the project.
    pub file: String,
    /// Errors, in file order.
    pub errors: Vec<GraphFinding>,
    /// Warnings, in file order.
    pub warnings: Vec<GraphFinding>,
    /// Nodes that the file declares.
    pub nodes: usize,
    /// Its edges.
    pub edges: usize,
    /// Findings that did not fit into the answer.
    #[serde(skip_serializing_if = "is_zero")]
    pub omitted: u64,
}

/// Checks a file that was read; `bytes` is none if it is not there. Comes
/// with `doubts` about the file as a whole.
pub(crate) fn check(
    path: String,
    bytes: Option<&[u8]>,
    doubts: Vec<GraphFinding>,
) -> KnowledgeCheckOutcome {
    let source = bytes.unwrap_or_default();
    let known = KnowledgeGraph::read(source);
    let (mut nodes, mut edges) = (known.declared, known.edges());
    // What git left between markers is counted as it is read: as one.
    if let Some(merged) = merged_markers(source).or_else(|| unresolved_merge(source)) {
        let merged = KnowledgeGraph::read(&merged);
        (nodes, edges) = (merged.declared, merged.edges());
    }
    let (errors, mut warnings) = (known.errors, known.warnings);
    if bytes.is_none() {
        warnings = vec![GraphFinding::of_file(
            "there is no knowledge graph yet",
            "`twining knowledge check --create` creates one",
        )];
    }
    warnings.extend(doubts);
    let found = errors.len() + warnings.len() + known.dropped_findings;
    let valid = errors.is_empty();
    let (errors, cut) = fit_reply(errors);
    let (warnings, _) = if cut { (Vec::new(), true) } else { fit_reply(warnings) };
    let omitted = u64::try_from(found - errors.len() - warnings.len()).unwrap_or(u64::MAX);
    KnowledgeCheckOutcome { valid, file: path, errors, warnings, nodes, edges, omitted }
}

/// That a file in the other usual place is not read.
pub(super) fn ignored_path(other: &str) -> GraphFinding {
    let message = format!("`{other}` also exists, but is not read");
    GraphFinding::of_file(message, "keep one of them, or set knowledge.path in config.yml")
}

/// What came of looking at a document.
pub(super) struct CheckResult {
    /// Nodes that are not to be served, by position.
    pub unsound: HashSet<usize>,
    /// Edges that are not to be served, by position.
    pub unsound_edges: HashSet<usize>,
    pub declared: usize,
    pub errors: Vec<GraphFinding>,
    pub warnings: Vec<GraphFinding>,
    /// Findings beyond these.
    pub dropped_findings: usize,
}

/// Looks at everything in a document.
pub(super) fn examine(document: &DotDocument) -> CheckResult {
    let statements = GraphStatements::of(document);
    let mut review = GraphCheck {
        document,
        unsound: HashSet::new(),
        unsound_edges: HashSet::new(),
        errors: FindingList::default(),
        warnings: FindingList::default(),
    };
    let markers = conflict_markers(document.bytes());
    review.syntax(&markers);
    let graph = document.graph();
    // `b-c [..]` is the node `b` and an error: what `b` lacks is not what is wrong.
    let torn: HashSet<usize> = document.errors.iter().map(|problem| problem.span.start).collect();
    for (position, node) in graph.nodes.iter().enumerate() {
        match statements.declared.get(&node.id) {
            Some(span) if torn.contains(&span.end) => {
                review.unsound.insert(position);
            }
            Some(span) => review.node(position, node, span.start),
            None => {
                review.unsound.insert(position);
            }
        }
    }
    review.contradictions(&statements);
    review.edges(&statements);
    let GraphCheck { unsound, unsound_edges, errors, warnings, .. } = review;
    // Errors between conflict markers are reported once, by the markers.
    let (errors, all) = if markers.is_empty() {
        (errors.items, errors.all)
    } else {
        (errors.items.into_iter().take(markers.len()).collect(), markers.len())
    };
    CheckResult {
        unsound,
        unsound_edges,
        declared: statements.declared.len(),
        dropped_findings: all.saturating_sub(errors.len()) + (warnings.all - warnings.items.len()),
        errors: located(document, errors),
        warnings: located(document, warnings.items),
    }
}

struct GraphCheck<'d> {
    document: &'d DotDocument,
    unsound: HashSet<usize>,
    unsound_edges: HashSet<usize>,
    errors: FindingList,
    warnings: FindingList,
}

impl GraphCheck<'_> {
    fn syntax(&mut self, markers: &[usize]) {
        let by_itself = !markers.is_empty() && merged_markers(self.document.bytes()).is_some();
        for &at in markers {
            let message = "git left a conflict marker here; resolve the conflict first";
            let suggestion = if by_itself {
                "the two sides are compatible: both are read, and the next twining_knowledge_update merges them"
            } else {
                "keep every node and edge of both sides, one statement each, and remove the marker lines"
            };
            self.errors.push((at, GraphFinding::of_file(message, suggestion)));
        }
        // A blank file is an empty graph here, whatever DOT says.
        if self.document.syntax().is_none()
            && self.document.bytes().iter().all(u8::is_ascii_whitespace)
        {
            return;
        }
        let finding_of_problem = |problem: &twining_dot::Diagnostic| {
            (
                problem.span.start,
                GraphFinding { message: problem.message.clone(), ..GraphFinding::default() },
            )
        };
        self.errors.extend(self.document.errors.iter().map(finding_of_problem));
        self.warnings.extend(self.document.warnings.iter().map(finding_of_problem));
        if self.document.graph().strict {
            let message = "the graph is strict: two nodes can have only one edge, so only their last relation counts";
            self.errors.push((0, GraphFinding::of_file(message, "remove the keyword `strict`")));
        }
        if self.document.syntax().is_some_and(|graph| !graph.directed) {
            let message =
                "the graph is undirected; relations point from the first node to the second";
            self.warnings.push((0, GraphFinding::of_file(message, "write digraph and ->")));
        }
    }

    fn node(&mut self, position: usize, node: &Node, at: usize) {
        let before = self.errors.all;
        if node.id.as_str().trim().is_empty() {
            self.errors.push((at, about(&node.id, "id", "a node needs an id", None)));
        }
        self.word(node, "type", at, &NodeType::ALL.map(NodeType::as_str));
        self.word(node, "level", at, &Level::ALL.map(Level::as_str));
        self.word(node, "status", at, &Standing::ALL.map(Standing::as_str));
        if is_blank(node, "description") {
            let suggestion = "say in a sentence what it is and why it matters".to_owned();
            let finding =
                about(&node.id, "description", "description is required", Some(suggestion));
            self.errors.push((place(node, "description", at), finding));
        }
        let priorities = Priority::ALL.map(Priority::as_str);
        if !is_blank(node, "priority") {
            self.word(node, "priority", at, &priorities);
        } else if node.get("type") == Some(NodeType::Rule.as_str()) {
            let message = "priority is required for nodes of type 'rule'";
            let suggestion = Some(choices("priority", &priorities));
            let finding = about(&node.id, "priority", message, suggestion);
            self.errors.push((place(node, "priority", at), finding));
        }
        if self.errors.all > before {
            self.unsound.insert(position);
        }
        self.doubts(node);
    }

    fn word(&mut self, node: &Node, field: &'static str, at: usize, known: &[&str]) {
        let given = node.get(field).unwrap_or_default();
        let (message, suggestion) = if given.trim().is_empty() {
            (format!("{field} is required"), Some(choices(field, known)))
        } else if !known.contains(&given) {
            (invalid(field, given, known), suggested(field, given, known))
        } else {
            return;
        };
        self.errors.push((place(node, field, at), about(&node.id, field, message, suggestion)));
    }

    /// A field that nobody reads because of a slip in its name, and a text that
    /// a merge left for people.
    fn doubts(&mut self, node: &Node) {
        for attribute in node.attributes.own() {
            let name = attribute.name();
            let missing = FIELDS.iter().copied().filter(|field| node.get(field).is_none());
            if !FIELDS.contains(&name)
                && let Some(field) = suggestions::nearest(&name.to_lowercase(), missing)
                    .filter(|field| field.len() > 3)
            {
                let message = format!("unknown field '{}'", text::excerpt(name, 80));
                let finding = about(&node.id, name, message, Some(field.to_owned()));
                self.warnings.push((attribute.span.start, finding));
            }
        }
        self.warnings.extend(left_by_merge(&node.id, &node.attributes));
    }

    fn contradictions(&mut self, statements: &GraphStatements<'_>) {
        let offsets: Vec<usize> = statements
            .clashes
            .iter()
            .flat_map(|clash| [clash.first.1.start, clash.second.1.start])
            .collect();
        // All at once: each look alone would read the file again.
        let positions = self.document.positions(&offsets);
        for ((clash, at), lines) in
            statements.clashes.iter().zip(offsets.chunks_exact(2)).zip(positions.chunks_exact(2))
        {
            let message = format!(
                "{} is '{}' in line {} and '{}' in line {}",
                clash.name,
                text::excerpt(clash.first.0.as_str(), 80),
                lines[0].line,
                text::excerpt(clash.second.0.as_str(), 80),
                lines[1].line,
            );
            if let Some(position) = self.document.graph().position_of(clash.node) {
                self.unsound.insert(position);
                let node = &self.document.graph().nodes[position];
                let suggestion = "keep one of the two, or give one node another id".to_owned();
                let finding = about(&node.id, clash.name, message, Some(suggestion));
                self.errors.push((at[1], finding));
            }
        }
    }

    fn edges(&mut self, statements: &GraphStatements<'_>) {
        let relations = Link::ALL.map(Link::as_str);
        let mut seen: HashMap<(&DotId, &DotId, &str), usize> = HashMap::new();
        for (index, edge) in self.document.graph().edges.iter().enumerate() {
            let before = self.errors.all;
            for (field, id) in [("source", &edge.from), ("target", &edge.to)] {
                if !statements.declared.contains_key(id) {
                    let message = format!(
                        "edge references unknown {field} node '{}'",
                        text::excerpt(id.as_str(), 80)
                    );
                    let known = statements.declared.keys().map(|id| id.as_str());
                    // Each costs a look at every node: a file of nothing but errors gets some.
                    let known = known.take(if self.errors.all < ADVISED { usize::MAX } else { 0 });
                    let suggest = suggestions::nearest(id.as_str(), known).map(str::to_owned);
                    let finding = about(&edge.from, field, message, suggest);
                    self.errors.push((edge.span.start, finding));
                }
            }
            let relation = edge.get("relation").unwrap_or_default();
            let at = edge
                .attributes
                .get("relation")
                .map_or(edge.span.start, |attribute| attribute.span.start);
            if relation.trim().is_empty() {
                let suggest = edge
                    .get("label")
                    .and_then(|label| suggestions::suggest("relation", label, &relations));
                let suggestion = suggest.map_or_else(
                    || choices("relation", &relations),
                    |word| format!("relation=\"{word}\""),
                );
                let message = "edge has no relation; it counts as related_to";
                self.warnings.push((at, about(&edge.from, "relation", message, Some(suggestion))));
            } else if !relations.contains(&relation) {
                let message = invalid("edge relation", relation, &relations);
                let suggestion = suggested("relation", relation, &relations);
                self.errors.push((at, about(&edge.from, "relation", message, suggestion)));
            }
            if self.errors.all > before {
                self.unsound_edges.insert(index);
            }
            self.warnings.extend(left_by_merge(&edge.from, &edge.attributes));
            if seen.insert((&edge.from, &edge.to, relation), index).is_some() {
                let message =
                    format!("duplicate edge to '{}'", text::excerpt(edge.to.as_str(), 80));
                self.warnings.push((
                    edge.span.start,
                    about(&edge.from, "relation", message, Some("remove one of them".to_owned())),
                ));
            }
        }
    }
}

/// What a merge left in attributes for people to settle.
fn left_by_merge(
    id: &DotId,
    attributes: &Attributes,
) -> impl Iterator<Item = (usize, GraphFinding)> {
    let left = attributes.own().filter(|attribute| attribute.value.as_str().contains(MERGED));
    left.map(|attribute| {
        let suggestion = Some(format!("combine them and remove {MERGED}"));
        (attribute.span.start, about(id, attribute.name(), KEPT_TWO, suggestion))
    })
}

fn about(
    id: &DotId,
    field: &str,
    message: impl Into<String>,
    suggestion: Option<String>,
) -> GraphFinding {
    let clip = |text: &str| text[..text.floor_char_boundary(limits::NAME_BYTES)].to_owned();
    GraphFinding {
        node_id: Some(clip(id.as_str())),
        field: Some(clip(field)),
        message: message.into(),
        suggestion,
        ..GraphFinding::default()
    }
}

fn is_blank(node: &Node, field: &str) -> bool {
    node.get(field).is_none_or(|text| text.trim().is_empty())
}

/// Where the field is written, else where the node is.
fn place(node: &Node, field: &str, otherwise: usize) -> usize {
    node.attributes.get(field).map_or(otherwise, |attribute| attribute.span.start)
}

fn choices(field: &str, known: &[&str]) -> String {
    format!("{field}=\"…\" with one of {}", known.join(", "))
}

fn invalid(what: &str, given: &str, known: &[&str]) -> String {
    format!("invalid {what} '{}', must be one of: {}", text::excerpt(given, 80), known.join(", "))
}

fn suggested(field: &str, given: &str, known: &[&str]) -> Option<String> {
    if field == "level" && Priority::read(given).is_some() {
        return Some(format!("{}; `{given}` is a priority value", known.join(" or ")));
    }
    suggestions::suggest(field, given, known).map(str::to_owned)
}

/// Where lines begin with a conflict marker. The middle ones alone may be
/// anybody's text; they count between an opening and a closing one.
pub(super) fn conflict_markers(source: &[u8]) -> Vec<usize> {
    let mut found = Vec::new();
    let (mut at, mut open) = (0, false);
    for line in source.split_inclusive(|byte| *byte == b'\n') {
        let is = |mark: u8| {
            line.len() >= 7
                && line[..7].iter().all(|byte| *byte == mark)
                && line.get(7).is_none_or(u8::is_ascii_whitespace)
        };
        let (opens, closes) = (is(b'<'), is(b'>'));
        if opens || closes || (open && (is(b'=') || is(b'|'))) {
            found.push(at);
        }
        open = (open || opens) && !closes;
        at += line.len();
    }
    found
}

/// Findings that are kept; a file of nothing but mistakes has millions.
const MAX_FINDINGS: usize = 20_000;

/// Findings, each with its place; the first ones of very many.
#[derive(Default)]
pub(super) struct FindingList {
    pub items: Vec<(usize, GraphFinding)>,
    /// How many there were.
    pub all: usize,
}

impl FindingList {
    pub(super) fn push(&mut self, finding: (usize, GraphFinding)) {
        self.all += 1;
        if self.items.len() < MAX_FINDINGS {
            self.items.push(finding);
        }
    }

    pub(super) fn extend(&mut self, findings: impl Iterator<Item = (usize, GraphFinding)>) {
        findings.for_each(|finding| self.push(finding));
    }
}

/// Gives each finding its line and column, in the order of the file.
pub(super) fn located(
    document: &DotDocument,
    mut found: Vec<(usize, GraphFinding)>,
) -> Vec<GraphFinding> {
    found.sort_by_key(|(at, _)| *at);
    let offsets: Vec<usize> = found.iter().map(|(at, _)| *at).collect();
    let positions = document.positions(&offsets);
    found
        .into_iter()
        .zip(positions)
        .map(|((_, finding), at)| GraphFinding { line: at.line, column: at.column, ..finding })
        .collect()
}

/// What the statements say that the graph does not show: an edge makes its ends, and
/// of two values the last one stands.
#[derive(Debug, Default)]
struct GraphStatements<'d> {
    /// Where each node that has a statement of its own is first declared.
    pub declared: HashMap<&'d DotId, Span>,
    /// Where a node says two things.
    pub clashes: Vec<Contradiction<'d>>,
    values: HashMap<(&'d DotId, &'d str), (&'d DotId, Span)>,
}

/// One attribute of one node with two values.
#[derive(Debug)]
struct Contradiction<'d> {
    pub node: &'d DotId,
    pub name: &'d str,
    pub first: (&'d DotId, Span),
    pub second: (&'d DotId, Span),
}

impl<'d> GraphStatements<'d> {
    fn of(document: &'d DotDocument) -> Self {
        let mut statements = Self::default();
        if let Some(graph) = document.syntax() {
            statements.body(&graph.body, NodeMention::Declare);
        }
        statements
    }

    fn body(&mut self, body: &'d Body, bare: NodeMention) {
        for Statement { kind, .. } in &body.statements {
            let StatementKind::Chain { endpoints, lists } = kind else { continue };
            match endpoints.as_slice() {
                [Endpoint::Nodes(nodes)] => self.nodes(nodes, lists, bare),
                [Endpoint::Subgraph(subgraph)] => self.body(&subgraph.body, bare),
                // `a -> { b c }` names b and c, and declares neither.
                several => several.iter().for_each(|endpoint| {
                    if let Endpoint::Subgraph(subgraph) = endpoint {
                        self.body(&subgraph.body, NodeMention::Name);
                    }
                }),
            }
        }
    }

    fn nodes(&mut self, nodes: &'d [NodeRef], lists: &'d [AttrList], bare: NodeMention) {
        if lists.is_empty() && bare == NodeMention::Name {
            return;
        }
        for NodeRef { id, .. } in nodes {
            self.declared.entry(&id.id).or_insert(id.span);
            for assign in lists.iter().flat_map(|list| &list.assigns) {
                let second = (&assign.value.id, assign.span);
                let first = *self.values.entry((&id.id, assign.name.id.as_str())).or_insert(second);
                if first.0 != second.0 {
                    self.clashes.push(Contradiction {
                        node: &id.id,
                        name: assign.name.id.as_str(),
                        first,
                        second,
                    });
                }
            }
        }
    }
}

/// What a node statement without attributes does.
#[derive(Clone, Copy, PartialEq)]
enum NodeMention {
    Declare,
    Name,
}
