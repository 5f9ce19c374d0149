//! What the tests share: the meaning of a document as plain values, and sources made at random.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use twining_dot::{DotDocument, Graph};

pub(crate) type Values = BTreeMap<String, String>;

/// What a document means, its layout and the order of its statements left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Meaning {
    pub graph: Values,
    pub nodes: BTreeMap<String, Values>,
    pub edges: Vec<(String, String, Values)>,
    pub groups: BTreeMap<String, (Values, BTreeSet<String>)>,
}

pub(crate) fn meaning(document: &DotDocument) -> Meaning {
    assert_eq!(document.errors, [], "{}", document.text());
    meaning_of(document.graph())
}

pub(crate) fn meaning_of(graph: &Graph) -> Meaning {
    let values = |attributes: &twining_dot::Attributes| -> Values {
        attributes
            .iter()
            .map(|attribute| (attribute.name().to_owned(), format!("{:?}", &attribute.value)))
            .collect()
    };
    let port =
        |port: Option<&twining_dot::Port>| port.map_or_else(String::new, ToString::to_string);
    let mut edges: Vec<_> = graph
        .edges
        .iter()
        .map(|edge| {
            let mut ends = [
                format!("{:?}{}", &edge.from, port(edge.from_port.as_ref())),
                format!("{:?}{}", &edge.to, port(edge.to_port.as_ref())),
            ];
            if !graph.directed {
                ends.sort();
            }
            let [from, to] = ends;
            (from, to, values(&edge.attributes))
        })
        .collect();
    edges.sort();
    let path = |mut at: Option<usize>| {
        let mut path = Vec::new();
        while let Some(subgraph) = at.map(|at| &graph.subgraphs[at]) {
            path.push(
                subgraph.name.as_ref().map_or_else(|| "?".to_owned(), |name| format!("{name:?}")),
            );
            at = subgraph.parent;
        }
        path.reverse();
        path.join("/")
    };
    let named =
        graph.subgraphs.iter().enumerate().filter(|(_, subgraph)| subgraph.name.as_ref().is_some());
    Meaning {
        graph: values(&graph.attributes),
        nodes: graph
            .nodes
            .iter()
            .map(|node| (format!("{:?}", &node.id), values(&node.attributes)))
            .collect(),
        edges,
        groups: named
            .map(|(index, subgraph)| {
                let nodes = subgraph.nodes.iter().map(|id| format!("{id:?}")).collect();
                (path(Some(index)), (values(&subgraph.attributes), nodes))
            })
            .collect(),
    }
}

/// How much of the language a source may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rich {
    /// Nodes and edges in all their forms.
    Flat,
    /// Defaults and subgraphs too.
    Full,
}

pub(crate) const IDS: [&str; 10] =
    ["a", "b", "c", "\"d e\"", "f1", "\"a\"", "-1.5", "größe", "<<i>h</i>>", "\"x\\\"y\""];

pub(crate) fn id() -> impl Strategy<Value = String> {
    prop::sample::select(IDS.to_vec()).prop_map(str::to_owned)
}

fn node() -> impl Strategy<Value = String> {
    (id(), prop::sample::select(vec!["", "", "", ":p", ":p:n"]))
        .prop_map(|(id, port)| format!("{id}{port}"))
}

fn nodes() -> impl Strategy<Value = String> {
    prop_oneof![4 => node(), 1 => prop::collection::vec(node(), 2..4).prop_map(|nodes| nodes.join(", "))]
}

fn attributes() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["x", "y", "\"z z\""]);
    let value = prop::sample::select(vec![
        "1",
        "red",
        "\"two words\"",
        "<b>",
        "\"q\\\"q\"",
        "\"ü\" + \"ö\"",
        "\"line\\\nline\"",
    ]);
    let separator = prop::sample::select(vec![
        ",",
        ", ",
        ";",
        " ",
        "\n      ",
        " // why\n      ",
        ",\n      ",
        " /* , */ ",
    ]);
    let assign = (name, prop::sample::select(vec!["=", " = "]), value, separator)
        .prop_map(|(name, equals, value, separator)| format!("{name}{equals}{value}{separator}"));
    let list =
        (prop::collection::vec(assign, 0..4), prop::sample::select(vec!["[", "[ ", "[\n      "]))
            .prop_map(|(assigns, open)| format!("{open}{}]", assigns.concat()));
    prop_oneof![2 => Just(String::new()), 4 => list.clone(), 1 => (list.clone(), list).prop_map(|(left, right)| format!("{left} {right}"))]
}

fn statement(rich: Rich, arrow: &'static str) -> BoxedStrategy<String> {
    let one = (nodes(), attributes()).prop_map(|(nodes, list)| format!("{nodes} {list}"));
    let edge =
        (prop::collection::vec(nodes(), 2..4), attributes()).prop_map(move |(ends, list)| {
            let chain = ends.join(&format!(" {arrow} "));
            format!("{chain} {list}")
        });
    if rich == Rich::Flat {
        return prop_oneof![3 => one, 3 => edge].boxed();
    }
    let assign = prop::sample::select(vec!["rank=same", "label=\"the label\"", "graph [x=1]"])
        .prop_map(str::to_owned);
    let default = (prop::sample::select(vec!["node", "edge", "NODE"]), attributes())
        .prop_filter_map("defaults need a list", |(word, list)| {
            (!list.is_empty()).then(|| format!("{word} {list}"))
        });
    let leaf = prop_oneof![3 => one, 3 => edge, 1 => assign, 1 => default].boxed();
    leaf.prop_recursive(3, 12, 4, move |inner| {
        let group =
            (prop::sample::select(vec!["", "subgraph ", "subgraph s ", "subgraph cluster_t "]), prop::collection::vec(inner.clone(), 0..3))
                .prop_map(|(head, body)| format!("{head}{{ {} }}", body.join("; ")));
        prop_oneof![
            3 => inner,
            2 => group.clone(),
            1 => (group.clone(), node()).prop_map(move |(group, node)| format!("{group} {arrow} {node}")),
            1 => (node(), group, node()).prop_map(move |(tail, group, head)| format!("{tail} {arrow} {group} {arrow} {head} [x=9]")),
        ]
    })
    .boxed()
}

/// A valid source in all kinds of layout.
pub(crate) fn source(rich: Rich) -> impl Strategy<Value = String> {
    let kind = prop::sample::select(vec![
        ("digraph", "->"),
        ("digraph G", "->"),
        ("graph", "--"),
        ("strict digraph \"g g\"", "->"),
        ("Strict Graph", "--"),
    ]);
    let gap = prop::sample::select(vec![
        "\n    ",
        "; ",
        ";\n    ",
        ";\n\n    ",
        "; // why\n    ",
        "\n    # note\n    ",
        " /* c */ ",
        "\n// above\n    ",
    ]);
    (kind, prop::bool::ANY).prop_flat_map(move |((head, arrow), crlf)| {
        prop::collection::vec((statement(rich, arrow), gap.clone()), 0..8).prop_map(
            move |statements| {
                let body: String =
                    statements.iter().map(|(statement, gap)| format!("{statement}{gap}")).collect();
                let source = format!("// top\n{head} {{\n    {body}\n}}\n");
                if crlf { source.replace('\n', "\r\n") } else { source }
            },
        )
    })
}
