//! Two versions become one, and nobody's words are lost.

use std::collections::BTreeMap;
use twining_testcases::each;

use super::super::{
    KnowledgeCheckInput, KnowledgeGraph, KnowledgeMerge, KnowledgeRetrieveInput,
    KnowledgeUpdateInput, merge_knowledge,
};
use crate::testing::{Project, caller};

const BASE: &str = "digraph K {\n    // shared\n    a [type=component level=architecture status=current description=\"A\" priority=low tag=\"x, y\"];\n    b [type=component level=architecture status=future description=\"B\"];\n    a -> b [relation=uses];\n}\n";

fn merged(ours: &str, theirs: &str) -> KnowledgeMerge {
    let merged = merge_knowledge(
        BASE.as_bytes(),
        ours.as_bytes(),
        theirs.as_bytes(),
        ".twining/knowledge.dot",
    );
    assert_eq!(
        twining_dot::check(&merged.text).errors,
        [],
        "{}",
        String::from_utf8_lossy(&merged.text)
    );
    merged
}

fn field(merged: &KnowledgeMerge, id: &str, name: &str) -> String {
    KnowledgeGraph::read(&merged.text).node(id).expect("is served").field(name).to_owned()
}

/// What the text means, whatever its order.
fn meaning(text: &[u8]) -> (BTreeMap<String, BTreeMap<String, String>>, Vec<String>) {
    let known = KnowledgeGraph::read(text);
    let fields = |node: &twining_dot::Node| {
        node.attributes.iter().map(|a| (a.name().to_owned(), a.value.to_string())).collect()
    };
    let nodes =
        known.graph().nodes.iter().map(|node| (node.id.to_string(), fields(node))).collect();
    let mut edges: Vec<String> = known
        .graph()
        .edges
        .iter()
        .map(|e| format!("{} {} {:?} {:?}", &e.from, &e.to, e.get("relation"), e.get("note")))
        .collect();
    edges.sort();
    (nodes, edges)
}

#[test]
fn current_beats_deprecated_and_the_graver_priority_wins_from_either_side() {
    let one = BASE
        .replace("status=future", "status=current")
        .replace("priority=low", "priority=critical");
    let other =
        BASE.replace("status=future", "status=deprecated").replace("priority=low", "priority=high");
    each([(&one, &other), (&other, &one)], |(ours, theirs)| {
        let merged = merged(ours, theirs);
        assert_eq!(
            (
                merged.conflicts.as_slice(),
                field(&merged, "b", "status"),
                field(&merged, "a", "priority")
            ),
            (&[][..], "current".into(), "critical".into())
        );
    });
}

#[test]
fn two_texts_are_both_kept_and_marked_and_the_check_says_so() {
    let one = BASE.replace("\"A\"", "\"the API\"");
    let other = BASE.replace("\"A\"", "\"Our API\"");
    let merged = merged(&one, &other);
    assert_eq!(merged.conflicts, [] as [&str; 0]);
    assert_eq!(merged.marked, ["the node a"]);
    assert_eq!(field(&merged, "a", "description"), "[merge: settle] Our API || the API");
    let known = KnowledgeGraph::read(&merged.text);
    assert!(
        known.errors.is_empty()
            && known.warnings[0].message == "a merge left two versions of the text here",
        "{:?}",
        known.warnings
    );
    // A later merge with either side again adds nothing.
    let text = String::from_utf8(merged.text.clone()).expect("is text");
    let again = merge_knowledge(BASE.as_bytes(), text.as_bytes(), one.as_bytes(), "k.dot");
    assert_eq!(meaning(&again.text), meaning(&merged.text));
}

#[test]
fn two_notes_on_an_edge_are_kept_and_the_check_says_so() {
    let noted =
        |note: &str| BASE.replace("[relation=uses]", &format!("[relation=uses note=\"{note}\"]"));
    let merged = merged(&noted("since 1.0"), &noted("until 2.0"));
    let known = KnowledgeGraph::read(&merged.text);
    assert_eq!((merged.conflicts.len(), merged.marked.len()), (0, 1));
    let shown = &known.warnings[0];
    assert_eq!(
        (shown.message.as_str(), shown.field.as_deref(), shown.line),
        ("a merge left two versions of the text here", Some("note"), 5),
        "{shown:?}"
    );
}

#[test]
fn tags_of_both_sides_are_joined() {
    let merged = merged(&BASE.replace("x, y", "x, y, ours"), &BASE.replace("x, y", "theirs, y"));
    assert_eq!((merged.conflicts.len(), field(&merged, "a", "tag")), (0, "ours, theirs, y".into()));
}

#[test]
fn what_cannot_be_settled_leaves_valid_dot_and_names_the_nodes() {
    let ours = BASE.replace("b [type=component", "b [type=datastore");
    let theirs = BASE
        .replace("b [type=component", "b [type=external")
        .replace("    a -> b [relation=uses];\n", "");
    let merged = merged(&ours, &theirs);
    assert_eq!(
        merged.conflicts,
        ["the node b: `type` is datastore in ours and external in theirs; datastore was kept"]
    );
    assert!(
        merged.guidance.contains("the node b")
            && merged.guidance.contains("`current` wins over `deprecated`"),
        "{}",
        merged.guidance
    );
    assert!(merged.guidance.contains("git add .twining/knowledge.dot"), "{}", merged.guidance);
}

#[test]
fn a_node_that_one_side_removed_and_the_other_gave_an_edge_stands_and_is_told() {
    let ours =
        BASE.replace("    b [type=component level=architecture status=future description=\"B\"];\n    a -> b [relation=uses];\n", "");
    let theirs = BASE.replace("}\n", "    a -> b [relation=calls];\n}\n");
    let merged = merged(&ours, &theirs);
    assert!(
        merged.conflicts == ["the node b was removed in ours and changed in theirs; it was kept"],
        "{merged:?}"
    );
}

#[test]
fn a_result_that_breaks_a_rule_names_the_node_the_rule_and_the_remedy() {
    let from = "digraph {\n    a [type=component level=architecture status=current description=d priority=low];\n}\n";
    // One makes it a rule, which needs a priority; the other takes the priority away.
    let (ours, theirs) =
        (from.replace("type=component", "type=rule"), from.replace(" priority=low", ""));
    let merged = merge_knowledge(from.as_bytes(), ours.as_bytes(), theirs.as_bytes(), "k.dot");
    let shown = "the node a (line 2): priority is required for nodes of type 'rule'; priority=\"…\" with one of";
    assert!(
        merged.conflicts.len() == 1 && merged.conflicts[0].starts_with(shown),
        "{:?}",
        merged.conflicts
    );
    assert!(merged.guidance.contains(shown), "{}", merged.guidance);
    let broken = from.replace("}\n", "    next [type=component\n}\n");
    let merged = merge_knowledge(from.as_bytes(), ours.as_bytes(), broken.as_bytes(), "k.dot");
    assert!(
        merged.conflicts[0].contains("theirs has an error")
            && merged.conflicts[0].contains("the node next"),
        "{:?}",
        merged.conflicts
    );
}

#[test]
fn a_side_that_is_broken_or_blank_loses_nothing() {
    let broken = merge_knowledge(BASE.as_bytes(), BASE.as_bytes(), b"digraph { a [", "k.dot");
    assert_eq!((broken.text.as_slice(), broken.conflicts.len()), (BASE.as_bytes(), 1));
    let added = merge_knowledge(b"", b" \n", BASE.as_bytes(), "k.dot");
    assert_eq!(
        (meaning(&added.text), added.conflicts.len()),
        (meaning(BASE.as_bytes()), 0),
        "both added the file"
    );
}

#[test]
fn merging_is_idempotent_and_does_not_ask_who_comes_first() {
    let versions = [
        BASE.to_owned(),
        BASE.replace("\"A\"", "\"one\"").replace(
            "}\n",
            "    c [type=pattern level=implementation status=current description=c];\n}\n",
        ),
        BASE.replace("\"A\"", "\"two\"").replace("status=future", "status=legacy"),
        BASE.replace("priority=low", "priority=high")
            .replace("    a -> b [relation=uses];\n", "    a -> b [relation=uses note=n];\n"),
        BASE.replace("status=future", "status=deprecated").replace("x, y", "z"),
    ];
    each(&versions, |ours| {
        assert_eq!(merged(ours, ours).text, ours.as_bytes());
        for theirs in &versions {
            let (one, other) = (merged(ours, theirs), merged(theirs, ours));
            if one.conflicts.is_empty() {
                assert_eq!(meaning(&one.text), meaning(&other.text), "{ours}\n{theirs}");
            }
            assert_eq!(one.conflicts.len(), other.conflicts.len());
        }
    });
}

#[test]
fn a_side_in_which_an_earlier_conflict_still_stands_is_not_guessed_at() {
    let node = |id: &str| {
        format!("    {id} [type=component level=architecture status=current description=d];\n")
    };
    let torn = BASE.replace(
        "}\n",
        &format!("<<<<<<< HEAD\n{}=======\n{}>>>>>>> feature\n}}\n", node("x"), node("y")),
    );
    let added = BASE.replace("}\n", &format!("{}}}\n", node("c")));
    each([("ours", &torn, &added), ("theirs", &added, &torn)], |(side, ours, theirs)| {
        let merged = merge_knowledge(BASE.as_bytes(), ours.as_bytes(), theirs.as_bytes(), "k.dot");
        assert_eq!(merged.text, ours.as_bytes(), "{side}: ours stands as it is");
        let shown = format!(
            "{side} still has a conflict marker in line 6; resolve that conflict first, then merge again"
        );
        assert!(
            merged.conflicts[0].starts_with(&shown) && merged.guidance.contains(&shown),
            "{:?}",
            merged.conflicts
        );
    });
}

const NODE: &str = "type=component level=architecture status=current description=d";

#[test]
fn what_a_default_said_for_one_side_is_not_lost_with_the_default() {
    let base = format!(
        "digraph K {{\n  edge [relation=must_not_use];\n  a [{NODE}];\n  b [{NODE}];\n}}\n"
    );
    let without = base.replace("  edge [relation=must_not_use];\n", "");
    let with = base.replace("}\n", "  a -> b;\n}\n");
    each([(&without, &with), (&with, &without)], |(ours, theirs)| {
        let merged = merge_knowledge(base.as_bytes(), ours.as_bytes(), theirs.as_bytes(), "k.dot");
        let known = KnowledgeGraph::read(&merged.text);
        let relations: Vec<&str> =
            known.valid_edges().map(|valid_edge| valid_edge.relation()).collect();
        assert_eq!(
            (merged.conflicts.len(), relations),
            (0, vec!["must_not_use"]),
            "{}",
            String::from_utf8_lossy(&merged.text)
        );
    });
    let base = "digraph K {\n  node [level=architecture];\n}\n";
    let lowered = base.replace("architecture", "implementation");
    let added = base.replace("}\n", "  c [type=component status=current description=d];\n}\n");
    let merged = merge_knowledge(base.as_bytes(), lowered.as_bytes(), added.as_bytes(), "k.dot");
    assert_eq!((merged.conflicts.len(), field(&merged, "c", "level")), (0, "architecture".into()));
}

#[test]
fn a_node_that_nobody_declares_is_not_written_by_the_merge() {
    let base = format!("digraph K {{\n  \"a\" [{NODE}];\n}}\n");
    let ours = base.replace("description=d", "description=e");
    let theirs = base.replace("}\n", "  \"a\" -> \"ghost\" [relation=\"uses\"];\n}\n");
    let merged = merge_knowledge(base.as_bytes(), ours.as_bytes(), theirs.as_bytes(), "k.dot");
    assert_eq!(merged.conflicts, [] as [&str; 0], "theirs had that error before");
    let known = KnowledgeGraph::read(&merged.text);
    assert_eq!(
        (known.declared, known.errors.len(), known.edges()),
        (1, 1, 1),
        "{}",
        String::from_utf8_lossy(&merged.text)
    );
}

/// What git leaves without the driver where two sides give a node another type.
fn torn(base: &str) -> String {
    let node = |kind: &str| {
        format!("    b [type={kind} level=architecture status=current description=\"B\"];\n")
    };
    let a = format!("    a [{NODE}];\n    a -> b [relation=uses];\n");
    format!(
        "digraph K {{\n{a}<<<<<<< HEAD\n{}{base}=======\n{}>>>>>>> feature\n}}\n",
        node("datastore"),
        node("external")
    )
}

#[test]
fn a_conflict_that_git_left_is_named_by_the_check_and_read_as_the_driver_would() {
    let ancestor = "||||||| base\n    b [type=component level=architecture status=current description=\"B\"];\n";
    each(["", ancestor], |base| {
        let project = Project::new();
        project.write("knowledge.dot", &torn(base));
        let checked = project
            .engine
            .knowledge_check(&KnowledgeCheckInput::default(), project.path())
            .expect("is answered");
        let marker = &checked.errors[0];
        assert!(
            marker.line == 4 && marker.message.contains("conflict marker"),
            "the place is named: {marker:?}"
        );
        let advice = marker.suggestion.as_deref().unwrap_or_default();
        assert!(advice.contains("of both sides"), "{advice}");
        assert_eq!(
            (checked.valid, checked.nodes, checked.edges),
            (false, 2, 1),
            "counted as one graph"
        );
        let search = KnowledgeRetrieveInput {
            terms: Some("b".to_owned()),
            ..KnowledgeRetrieveInput::default()
        };
        let found = project.engine.knowledge_retrieve(&search).expect("is answered");
        assert!(
            found.hits == ["b"] && found.subgraph.contains("type=\"datastore\""),
            "ours stands: {found:?}"
        );
        let report = project.engine.status().expect("reports");
        assert!(
            report.warnings.iter().any(|warning| warning.code == "knowledge_errors"),
            "and the status says that something is open"
        );
        let operation = serde_json::json!([{"op": "update_node", "id": "a", "tag": "x"}]);
        let operations = serde_json::from_value(operation).expect("operations");
        let refused = project.engine.knowledge_update(
            &caller("ada"),
            &KnowledgeUpdateInput { operations, ..KnowledgeUpdateInput::default() },
        );
        assert!(
            format!("{:?}", refused.expect_err("is refused")).contains("unresolved merge conflict")
        );
    });
}

#[test]
fn a_conflict_upon_a_conflict_is_told_and_left_as_it_is() {
    let node = |kind: &str| {
        format!("    b [type={kind} level=architecture status=current description=\"B\"];\n")
    };
    let older =
        format!("<<<<<<< HEAD\n{}=======\n{}>>>>>>> one\n", node("datastore"), node("external"));
    let source = format!(
        "digraph K {{\n    a [{NODE}];\n<<<<<<< HEAD\n{older}=======\n{}>>>>>>> two\n}}\n",
        node("pattern")
    );
    let project = Project::new();
    project.write("knowledge.dot", &source);
    let checked = project
        .engine
        .knowledge_check(&KnowledgeCheckInput::default(), project.path())
        .expect("is answered");
    let shown = checked
        .errors
        .iter()
        .find(|error| error.message.contains("conflict marker"))
        .expect("is told");
    assert!(shown.suggestion.as_deref().unwrap_or_default().contains("of both sides"), "{shown:?}");
    let report = project.engine.status().expect("reports");
    assert!(
        !checked.valid && report.warnings.iter().any(|warning| warning.code == "knowledge_errors"),
        "{report:?}"
    );
    let operation = serde_json::json!([{"op": "update_node", "id": "a", "tag": "x"}]);
    let operations = serde_json::from_value(operation).expect("operations");
    let refused = project.engine.knowledge_update(
        &caller("ada"),
        &KnowledgeUpdateInput { operations, ..KnowledgeUpdateInput::default() },
    );
    assert!(
        format!("{:?}", refused.expect_err("is refused")).contains("unresolved merge conflict")
    );
    let text =
        std::fs::read_to_string(project.path().join(".twining/knowledge.dot")).expect("is there");
    assert_eq!(text, source);
}

#[test]
fn an_emptied_file_is_not_told_as_another_name() {
    let changed = BASE.replace("status=future", "status=current");
    let merged = merge_knowledge(BASE.as_bytes(), changed.as_bytes(), b"", "k.dot");
    assert_eq!(
        merged.conflicts,
        ["the node b was removed in theirs and changed in ours; it was kept"]
    );
    assert!(merged.text.starts_with(b"digraph K {"));
}
