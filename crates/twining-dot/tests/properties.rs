//! What holds for every input: nothing panics, nothing is lost, meaning survives.

use crate::support::{IDS, Meaning, Rich, id, meaning, meaning_of, source};
use proptest::prelude::*;
use twining_dot::{
    DotDocument, DotId, DotMergePolicy, DrawOptions, EdgeSelector, Resolution, Subject, check, dot,
    merge, mermaid, svg,
};
use twining_testcases::each;

fn printed(document: &DotDocument) -> Vec<u8> {
    document.tokens().flat_map(|token| token.span.of(document.bytes()).to_vec()).collect()
}

/// Bytes with a taste for DOT: anything at all, but more often what means something.
fn soup() -> impl Strategy<Value = Vec<u8>> {
    let pieces: Vec<&[u8]> = vec![
        b"digraph",
        b"graph",
        b"strict",
        b"node",
        b"subgraph",
        b"{",
        b"{",
        b"}",
        b"[",
        b"]",
        b"=",
        b"->",
        b"--",
        b";",
        b",",
        b":",
        b"+",
        b"\"",
        b"<",
        b">",
        b"a",
        b"b",
        b"1.",
        b"-",
        b"\n",
        b"\r\n",
        b" ",
        b"//",
        b"/*",
        b"*/",
        b"#",
        b"\\",
        b"\\\"",
        b"\xEF\xBB\xBF",
        b"\xFF",
        b"\0",
        b"<!--",
        b"-->",
    ];
    let piece = prop_oneof![9 => prop::sample::select(pieces).prop_map(<[u8]>::to_vec), 1 => prop::collection::vec(any::<u8>(), 1..4)];
    let start = prop::sample::select(vec![&b""[..], b"digraph {", b"graph{a--"]);
    (start, prop::collection::vec(piece, 0..60))
        .prop_map(|(start, pieces)| [start.to_vec(), pieces.concat()].concat())
}

/// An id as the API takes it.
fn read(spelled: &str) -> DotId {
    let document = DotDocument::parse(format!("digraph {{ {spelled} }}"));
    document.graph().nodes[0].id.clone()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn any_bytes_are_read_and_printed_back(source in soup()) {
        let document = DotDocument::parse(source.clone());
        prop_assert_eq!(printed(&document), source.clone());
        let found = check(&source);
        prop_assert_eq!(found.ok, found.errors.is_empty());
        let lines = source.iter().filter(|&&byte| byte == b'\n').count() + 1;
        prop_assert!(found.errors.iter().all(|error| (1..=lines).contains(&error.line) && error.column >= 1));
        let _ = svg(document.graph(), &DrawOptions::default());
    }

    #[test]
    fn generated_sources_are_valid_and_survive_writing_from_meaning(source in source(Rich::Full)) {
        let document = DotDocument::parse(source);
        let expected = meaning(&document);
        let written = DotDocument::parse(dot(document.graph()));
        prop_assert_eq!(meaning(&written), expected);
    }

    #[test]
    fn pictures_are_drawn_of_anything_and_twice_the_same(source in source(Rich::Full)) {
        let document = DotDocument::parse(source);
        let options = DrawOptions { colour_by: Some("x".to_owned()), ..DrawOptions::default() };
        prop_assert_eq!(svg(document.graph(), &options), svg(document.graph(), &options));
        prop_assert!(!svg(document.graph(), &options).contains("NaN"));
        prop_assert_eq!(mermaid(document.graph(), &options), mermaid(document.graph(), &options));
    }

    #[test]
    fn any_text_is_an_id_that_reads_back(text in any::<String>()) {
        let id = DotId::new(&text);
        prop_assert_eq!(read(&id.to_string()), id.clone());
        prop_assert_eq!(read(&id.quoted()), id);
    }

    #[test]
    fn a_node_attribute_is_set_and_nothing_else(source in source(Rich::Full), id in id(), name in "[xyzw]", value in "[a-z ]{0,4}") {
        let mut document = DotDocument::parse(source);
        let mut expected = meaning(&document);
        let id = read(&id);
        let before = document.bytes().to_vec();
        if document.set_node_attr(&id, &name, value.as_str()).is_ok() {
            let values = expected.nodes.get_mut(&format!("{id:?}")).expect("the node is there");
            values.insert(name, format!("{:?}", DotId::new(&value)));
            prop_assert_eq!(meaning(&document), expected);
            prop_assert!(touched_one_statement(&before, document.bytes()), "{}\n=>\n{}", String::from_utf8_lossy(&before), document.text());
        } else {
            let there = expected.nodes.contains_key(&format!("{id:?}"));
            prop_assert!(!there);
        }
    }

    #[test]
    fn a_node_attribute_is_removed_and_nothing_else(source in source(Rich::Full), id in id(), name in "[xy]") {
        let mut document = DotDocument::parse(source);
        let mut expected = meaning(&document);
        let id = read(&id);
        if document.remove_node_attr(&id, &name).is_ok() {
            let values = expected.nodes.get_mut(&format!("{id:?}")).expect("the node is there");
            values.remove(&name);
            let mut found = meaning(&document);
            // A default may show where the node's own value was.
            found.nodes.get_mut(&format!("{id:?}")).expect("the node stays").remove(&name);
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_node_is_removed_with_its_edges_and_nothing_else(source in source(Rich::Full), id in id()) {
        let mut document = DotDocument::parse(source);
        let expected = without(meaning(&document), &document, &read(&id));
        if document.remove_node(read(&id)).is_ok() {
            prop_assert_eq!(meaning(&document), expected);
        }
    }

    #[test]
    fn edges_are_removed_and_nodes_stay(source in source(Rich::Full), from in id(), to in id()) {
        let mut document = DotDocument::parse(source);
        let (from, to) = (read(&from), read(&to));
        let mut expected = meaning(&document);
        let left = document.graph().restricted(|_| true);
        let kept: Vec<_> = left.edges.iter().filter(|edge| !left.connects(edge, &from, &to)).cloned().collect();
        let count = left.edges.len() - kept.len();
        match document.remove_edge(&EdgeSelector::new(&from, &to)) {
            Ok(removed) => {
                prop_assert_eq!(removed, count);
                let found = meaning(&document);
                prop_assert_eq!(found.edges.len(), expected.edges.len() - count);
                prop_assert!(found.edges.iter().all(|edge| expected.edges.contains(edge)));
                expected.edges = found.edges.clone();
                prop_assert_eq!(found, expected);
            }
            Err(_) => prop_assert_eq!(count, 0),
        }
    }

    #[test]
    fn what_is_added_is_there_and_the_rest_as_before(source in source(Rich::Full), id in "[g-k]-?", value in any::<String>()) {
        let mut document = DotDocument::parse(source);
        let before = meaning(&document);
        document.add_node(id.as_str(), &[("w", DotId::new(&value))]).expect("a new id");
        document.add_edge(id.as_str(), "a", &[("v", "1".into())]).expect("an edge can always be added");
        let after = meaning(&document);
        let value = DotId::new(&value);
        prop_assert_eq!(document.graph().node(id.as_str()).and_then(|node| node.get("w")), Some(value.as_str()));
        prop_assert_eq!(after.edges.len(), before.edges.len() + 1);
        prop_assert!(before.nodes.iter().all(|(id, values)| after.nodes.get(id) == Some(values)));
        prop_assert!(before.edges.iter().all(|edge| after.edges.contains(edge)));
        prop_assert_eq!(after.groups, before.groups);
    }

    #[test]
    fn a_merge_with_one_side_changed_is_that_side(source in source(Rich::Flat), edits in edits()) {
        let theirs = edited(&source, &edits);
        // Another comment: ours must be merged by meaning, not taken as a whole.
        let ours = format!("// ours\n{source}");
        let merged = merge(source.as_bytes(), ours.as_bytes(), &theirs, &Greater).expect("valid sides");
        prop_assert_eq!(meaning(&DotDocument::parse(merged.text.clone())), meaning(&DotDocument::parse(theirs.clone())));
        prop_assert!(merged.text.starts_with(b"// ours"));
        prop_assert_eq!(merged.clashes, []);
        let merged = merge(source.as_bytes(), &theirs, ours.as_bytes(), &Greater).expect("valid sides");
        prop_assert_eq!(meaning(&DotDocument::parse(merged.text)), meaning(&DotDocument::parse(theirs)));
    }

    #[test]
    fn a_merge_is_the_same_from_either_side_and_done_twice(source in source(Rich::Flat), left in edits(), right in edits()) {
        let (ours, theirs) = (edited(&source, &left), edited(&source, &right));
        let merged = merge(source.as_bytes(), &ours, &theirs, &Greater).expect("valid sides");
        let mirrored = merge(source.as_bytes(), &theirs, &ours, &Greater).expect("valid sides");
        let meant = meaning(&DotDocument::parse(merged.text.clone()));
        prop_assert_eq!(&meant, &meaning(&DotDocument::parse(mirrored.text)));
        let again = merge(source.as_bytes(), &merged.text, &theirs, &Greater).expect("valid sides");
        prop_assert_eq!(&meant, &meaning(&DotDocument::parse(again.text)));
    }

    #[test]
    fn a_merge_of_anything_valid_is_valid(base in source(Rich::Full), ours in source(Rich::Full), theirs in source(Rich::Full)) {
        if let Ok(merged) = merge(base.as_bytes(), ours.as_bytes(), theirs.as_bytes(), &Greater) {
            let document = DotDocument::parse(merged.text);
            prop_assert_eq!(&document.errors[..], []);
            // Nothing that both sides have is ever lost.
            let (ours, theirs) = (DotDocument::parse(ours), DotDocument::parse(theirs));
            let both = ours.graph().nodes.iter().filter(|node| theirs.graph().node(&node.id).is_some());
            for node in both {
                prop_assert!(document.graph().node(&node.id).is_some(), "{:?} was lost", &node.id);
            }
        }
    }
}

/// The greater text is right: a policy that does not care who asks.
struct Greater;

impl DotMergePolicy for Greater {
    fn settle(
        &self,
        _: &Subject,
        _: &str,
        _: Option<&DotId>,
        ours: &DotId,
        theirs: &DotId,
    ) -> Resolution {
        Resolution::Take(ours.max(theirs).clone())
    }

    fn edge_identity(&self) -> &[&str] {
        &["key", "x"]
    }
}

#[derive(Clone, Debug)]
enum Edit {
    SetNode(String, String, String),
    DropNode(String),
    AddNode(String, String),
    AddEdge(String, String, String),
    DropEdges(String, String),
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let value = || prop::sample::select(vec!["1", "2", "three"]).prop_map(str::to_owned);
    let edit = prop_oneof![
        3 => (id(), "[xyw]", value()).prop_map(|(id, name, value)| Edit::SetNode(id, name, value)),
        1 => id().prop_map(Edit::DropNode),
        2 => ("[a-h]", value()).prop_map(|(id, value)| Edit::AddNode(id, value)),
        2 => (id(), "[a-h]", value()).prop_map(|(from, to, value)| Edit::AddEdge(from, to, value)),
        1 => (id(), id()).prop_map(|(from, to)| Edit::DropEdges(from, to)),
    ];
    prop::collection::vec(edit, 0..5)
}

/// The source with those edits that can be made.
fn edited(source: &str, edits: &[Edit]) -> Vec<u8> {
    let mut document = DotDocument::parse(source);
    for edit in edits {
        let _ = match edit {
            Edit::SetNode(id, name, value) => {
                document.set_node_attr(read(id), name, value.as_str())
            }
            Edit::DropNode(id) => document.remove_node(read(id)),
            Edit::AddNode(id, value) => document.add_node(id.as_str(), &[("w", DotId::new(value))]),
            Edit::AddEdge(from, to, value) => {
                document.add_edge(read(from), to.as_str(), &[("x", DotId::new(value))])
            }
            Edit::DropEdges(from, to) => {
                document.remove_edge(&EdgeSelector::new(read(from), read(to))).map(drop)
            }
        };
    }
    document.into_bytes()
}

fn without(expected: Meaning, document: &DotDocument, id: &DotId) -> Meaning {
    let left = meaning_of(&document.graph().restricted(|node| &node.id != id));
    let groups = expected.groups.into_iter().map(|(name, (values, mut nodes))| {
        nodes.remove(&format!("{id:?}"));
        (name, (values, nodes))
    });
    Meaning { groups: groups.collect(), ..left }
}

/// Whether the bytes that differ lie in one statement of the graph, or between two.
fn touched_one_statement(before: &[u8], after: &[u8]) -> bool {
    let front = before.iter().zip(after).take_while(|(left, right)| left == right).count();
    let most = before.len().min(after.len()) - front;
    let back = before
        .iter()
        .rev()
        .zip(after.iter().rev())
        .take(most)
        .take_while(|(left, right)| left == right)
        .count();
    let document = DotDocument::parse(before);
    let statements = &document.syntax().expect("a graph").body.statements;
    let crossed = statements
        .iter()
        .filter(|statement| {
            statement.span.start < before.len() - back && statement.span.end > front
        })
        .count();
    crossed <= 1
}

#[test]
fn the_ids_of_the_tests_are_ids() {
    each(IDS, |spelled| {
        assert_eq!(check(format!("graph {{ {spelled} }}").as_bytes()).errors, []);
    });
}
