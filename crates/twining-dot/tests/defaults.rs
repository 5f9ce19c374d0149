//! Two branches that set defaults differently: what each meant is what counts.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use twining_dot::{
    Attributes, DotDocument, DotId, DotMergePolicy, Endpoint, MergedDot, Resolution, StatementKind,
    Subject, merge,
};

/// Settles nothing; distinguishes edges by their relation.
struct Relations;

impl DotMergePolicy for Relations {
    fn settle(&self, _: &Subject, _: &str, _: Option<&DotId>, _: &DotId, _: &DotId) -> Resolution {
        Resolution::DotClash
    }

    fn edge_identity(&self) -> &[&str] {
        &["r"]
    }
}

fn merged(base: &str, ours: &str, theirs: &str) -> MergedDot {
    merge(base.as_bytes(), ours.as_bytes(), theirs.as_bytes(), &Relations).expect("valid sides")
}

fn text(merged: &MergedDot) -> String {
    String::from_utf8(merged.text.clone()).expect("UTF-8")
}

#[test]
fn an_edge_keeps_the_relation_that_a_default_gave_it() {
    let base = "digraph {\n  edge [r=must_not_use];\n  a;\n  b;\n}\n";
    let (without, with) =
        (base.replace("  edge [r=must_not_use];\n", ""), base.replace("}", "  a -> b;\n}"));
    let merged_there = merged(base, &without, &with);
    assert_eq!(text(&merged_there), "digraph {\n  a;\n  b;\n  a -> b [r=must_not_use];\n}\n");
    let merged_here = merged(base, &with, &without);
    assert_eq!((text(&merged_here), merged_here.clashes), (text(&merged_there), vec![]));
}

#[test]
fn a_new_node_keeps_what_a_default_gave_it_though_the_other_side_changed_the_default() {
    let base = "digraph {\n  node [level=high];\n  a;\n}\n";
    let changed = base.replace("high", "low");
    let added = base.replace("}", "  b;\n}");
    let result = merged(base, &changed, &added);
    assert_eq!(text(&result), "digraph {\n  node [level=low];\n  a;\n  b [level=high];\n}\n");
    assert_eq!(text(&merged(base, &added, &changed)), text(&result));
}

#[test]
fn a_default_that_theirs_set_for_its_own_nodes_does_not_reach_ours() {
    let base = "digraph {\n  a;\n  b;\n}\n";
    let theirs = base.replace("}", "  node [x=1];\n  c;\n}");
    let result = merged(base, &base.replace("a;", "a [y=1];"), &theirs);
    assert_eq!(text(&result), "digraph {\n  a [y=1];\n  b;\n  c [x=1];\n}\n");
    assert_eq!(result.clashes, []);
}

#[test]
fn defaults_that_both_changed_clash_once_and_not_for_every_node() {
    let base = "digraph {\n  node [x=1];\n  a;\n  b;\n}\n";
    let result = merged(base, &base.replace("x=1", "x=2"), &base.replace("x=1", "x=3"));
    let told: Vec<String> = result.clashes.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["the node defaults: `x` is 2 in ours and 3 in theirs; 2 was kept"]);
}

#[test]
fn a_node_that_only_an_edge_mentions_is_not_written() {
    let base = "digraph {\n  a;\n}\n";
    let result = merged(
        base,
        &base.replace("a;", "a [x=1];"),
        &base.replace("}", "  a -> ghost [r=uses];\n}"),
    );
    assert_eq!(text(&result), "digraph {\n  a [x=1];\n  a -> ghost [r=uses];\n}\n");
    assert_eq!(result.clashes, []);
    // In a subgraph it is the edge that makes it a member.
    let theirs = base.replace("}", "  subgraph s {\n    b;\n    b -> ghost [r=uses];\n  }\n}");
    let result = merged(base, &base.replace("a;", "a [x=1];"), &theirs);
    assert_eq!(
        text(&result),
        "digraph {\n  a [x=1];\n  subgraph s {\n    b;\n    b -> ghost [r=uses];\n  };\n}\n"
    );
    let with = "digraph {\n  a;\n  subgraph s {\n    b;\n  }\n}\n";
    let result = merged(with, &with.replace("a;", "a [x=1];"), &theirs);
    assert_eq!(text(&result), theirs.replace("a;", "a [x=1];"));
}

type Values = BTreeMap<String, String>;
type EdgeKey = (String, String, String);

/// Nodes and edges with all attributes; an empty value counts as missing. Indistinguishable edges
/// are left out.
#[derive(Debug, Default, PartialEq, Eq)]
struct Meaning {
    nodes: BTreeMap<String, Values>,
    edges: BTreeMap<EdgeKey, Values>,
    twins: BTreeSet<EdgeKey>,
}

fn meaning(source: &[u8]) -> Meaning {
    let document = DotDocument::parse(source);
    assert_eq!(document.errors, [], "{}", document.text());
    let values = |attributes: &Attributes| -> Values {
        let said = attributes.iter().filter(|attribute| !attribute.value.as_str().is_empty());
        said.map(|attribute| (attribute.name().to_owned(), attribute.value.to_string())).collect()
    };
    let mut found = Meaning::default();
    for node in &document.graph().nodes {
        found.nodes.insert(node.id.to_string(), values(&node.attributes));
    }
    for edge in &document.graph().edges {
        let name = (
            edge.from.to_string(),
            edge.to.to_string(),
            edge.get("r").unwrap_or_default().to_owned(),
        );
        if found.edges.insert(name.clone(), values(&edge.attributes)).is_some() {
            found.twins.insert(name);
        }
    }
    found
}

/// Expected result of a merge without clashes.
fn demanded<K: Ord + Clone>(
    base: &BTreeMap<K, Values>,
    ours: &BTreeMap<K, Values>,
    theirs: &BTreeMap<K, Values>,
) -> BTreeMap<K, Values> {
    let names: BTreeSet<&K> = ours.keys().chain(theirs.keys()).collect();
    let settled = names.into_iter().filter_map(|name| {
        let values = match (base.get(name), ours.get(name), theirs.get(name)) {
            (base, Some(ours), Some(theirs)) => {
                joined(base.unwrap_or(&Values::new()), ours, theirs)
            }
            (Some(_), _, None) | (Some(_), None, _) => return None,
            (None, ours, theirs) => ours.or(theirs)?.clone(),
        };
        Some((name.clone(), values))
    });
    settled.collect()
}

fn joined(base: &Values, ours: &Values, theirs: &Values) -> Values {
    let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    let settled = names.into_iter().filter_map(|name| {
        let (base, ours, theirs) = (base.get(name), ours.get(name), theirs.get(name));
        let value = if base == ours { theirs } else { ours };
        Some((name.clone(), value?.clone()))
    });
    settled.collect()
}

/// Nodes that have a statement somewhere.
fn declared(source: &[u8]) -> BTreeSet<String> {
    fn walk(body: &twining_dot::Body, found: &mut BTreeSet<String>) {
        for statement in &body.statements {
            let StatementKind::Chain { endpoints, .. } = &statement.kind else { continue };
            for endpoint in endpoints {
                match endpoint {
                    Endpoint::Nodes(nodes) if endpoints.len() == 1 => {
                        found.extend(nodes.iter().map(|node| node.id.id.to_string()));
                    }
                    Endpoint::Nodes(_) => {}
                    Endpoint::Subgraph(subgraph) => walk(&subgraph.body, found),
                }
            }
        }
    }
    let mut found = BTreeSet::new();
    if let Some(graph) = DotDocument::parse(source).syntax() {
        walk(&graph.body, &mut found);
    }
    found
}

fn statement() -> impl Strategy<Value = String> {
    let id = || prop::sample::select(vec!["a", "b", "c", "d", "e"]);
    let list = |names: &'static [&'static str]| {
        prop::collection::vec((prop::sample::select(names.to_vec()), "[1-3]"), 0..3).prop_map(
            |said| {
                let said: Vec<String> =
                    said.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
                format!("[{}]", said.join(", "))
            },
        )
    };
    let leaf = prop_oneof![
        4 => (id(), list(&["x", "y"])).prop_map(|(id, list)| format!("{id} {list}")),
        1 => (id(), id(), list(&["x"])).prop_map(|(one, other, list)| format!("{one}, {other} {list}")),
        3 => (id(), id(), list(&["r", "x"])).prop_map(|(from, to, list)| format!("{from} -> {to} {list}")),
        1 => (id(), id(), id(), list(&["r", "x"])).prop_map(|(from, over, to, list)| format!("{from} -> {over} -> {to} {list}")),
        2 => list(&["x", "y"]).prop_map(|list| format!("node {list}")),
        2 => list(&["r", "x"]).prop_map(|list| format!("edge {list}")),
    ];
    let group = (prop::sample::select(vec!["s", "t"]), prop::collection::vec(leaf.clone(), 1..4))
        .prop_map(|(name, body)| {
            format!("subgraph {name} {{\n    {};\n  }}", body.join(";\n    "))
        });
    prop_oneof![6 => leaf, 1 => group]
}

/// Statements, and what two sides make of them.
fn versions() -> impl Strategy<Value = [String; 3]> {
    let edits = || prop::collection::vec((0_usize..8, 0_u8..3, statement()), 0..4);
    (prop::collection::vec(statement(), 0..8), edits(), edits()).prop_map(|(base, left, right)| {
        let edited = |edits: Vec<(usize, u8, String)>| {
            let mut statements = base.clone();
            for (at, how, statement) in edits {
                let at = at.min(statements.len());
                match how {
                    0 => statements.insert(at, statement),
                    1 if at < statements.len() => _ = statements.remove(at),
                    2 if at < statements.len() => statements[at] = statement,
                    _ => {}
                }
            }
            statements
        };
        let written = |statements: &[String]| {
            let lines: String =
                statements.iter().map(|statement| format!("  {statement};\n")).collect();
            format!("digraph {{\n{lines}}}\n")
        };
        [written(&base), written(&edited(left)), written(&edited(right))]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1_000) })]

    #[test]
    fn a_merge_without_clash_means_what_the_sides_meant([base, ours, theirs] in versions()) {
        let merged = merged(&base, &ours, &theirs);
        let [before, left, right, after] =
            [base.as_bytes(), ours.as_bytes(), theirs.as_bytes(), &merged.text].map(meaning);
        if merged.clashes.is_empty() {
            let story = format!("{base}\n--- ours\n{ours}\n--- theirs\n{theirs}\n--- merged\n{}", text(&merged));
            let written = declared(&merged.text);
            let nodes = demanded(&before.nodes, &left.nodes, &right.nodes);
            let named = |nodes: &BTreeMap<String, Values>| nodes.keys().cloned().collect::<Vec<_>>();
            prop_assert_eq!(named(&after.nodes), named(&nodes), "{}", story);
            for (id, values) in nodes.iter().filter(|(id, _)| written.contains(*id)) {
                prop_assert_eq!(&after.nodes[id], values, "the node {} of {}", id, story);
            }
            let twins: BTreeSet<EdgeKey> = [&before, &left, &right].iter().flat_map(|side| side.twins.iter().cloned()).collect();
            let told_apart = |edges: BTreeMap<EdgeKey, Values>| -> BTreeMap<EdgeKey, Values> {
                edges.into_iter().filter(|(name, _)| !twins.contains(name)).collect()
            };
            prop_assert_eq!(told_apart(after.edges), told_apart(demanded(&before.edges, &left.edges, &right.edges)), "{}", story);
        }
    }
}
