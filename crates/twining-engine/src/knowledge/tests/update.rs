//! Edits that touch one statement, and graphs that stay right.

use crate::testing::{Project, caller};
use crate::{Failure, KnowledgeUpdateInput, KnowledgeUpdateOutcome, Operation};
use twining_testcases::each;

const FILE: &str = "// ours\ndigraph K {\n    node [shape=box]; # a default\n\n    \"a\" [type=\"component\" level=\"architecture\" status=\"current\"\n         description=\"A\"]; // the first\n    b [type=rule, level=architecture, status=current, description=\"B\", priority=high]\n    a -> b [relation=must_follow];\n}\n";

fn operations(json: &serde_json::Value) -> Vec<Operation> {
    serde_json::from_value(json.clone()).expect("operations")
}

fn update(project: &Project, json: &serde_json::Value) -> Result<KnowledgeUpdateOutcome, Failure> {
    project.engine.knowledge_update(
        &caller("ada"),
        &KnowledgeUpdateInput { operations: operations(json), ..KnowledgeUpdateInput::default() },
    )
}

fn text(project: &Project) -> String {
    std::fs::read_to_string(project.path().join(".twining/knowledge.dot")).expect("is there")
}

#[test]
fn only_the_touched_statements_change() {
    let project = Project::new();
    project.write("knowledge.dot", FILE);
    let done = update(
        &project,
        &serde_json::json!([
            {"op": "add_node", "id": "cache", "type": "datastore", "level": "implementation", "status": "future", "description": "keeps \"hot\" rows"},
            {"op": "update_node", "id": "a", "description": "The API"},
            {"op": "add_edge", "from": "a", "to": "cache", "relation": "uses", "note": "reads first"},
        ]),
    )
    .expect("is done");
    assert_eq!(
        (done.nodes_added.as_slice(), done.nodes_changed.as_slice(), done.edges_added),
        (&["cache".to_owned()][..], &["a".to_owned()][..], 1)
    );
    assert_eq!((done.nodes, done.edges, done.written), (3, 2, true));
    let after = text(&project);
    each(
        [
            "// ours\n",
            "node [shape=box]; # a default\n",
            "// the first\n",
            "b [type=rule, level=architecture, status=current, description=\"B\", priority=high]\n",
            "a -> b [relation=must_follow];\n",
        ],
        |remaining| {
            assert!(after.contains(remaining), "{remaining} in {after}");
        },
    );
    assert!(
        after.contains("description=\"The API\"]; // the first")
            && after.contains(r#"keeps \"hot\" rows"#),
        "{after}"
    );
    let back =
        update(&project, &serde_json::json!([{"op": "remove_node", "id": "cache"}, {"op": "update_node", "id": "a", "description": "A"}]))
            .expect("is done");
    assert_eq!((back.nodes_removed.len(), back.edges_removed), (1, 1));
    assert_eq!(text(&project), FILE, "what was added and removed leaves no trace");
}

#[test]
fn a_path_that_leads_out_of_the_project_is_refused() {
    let project = Project::new();
    project.write("knowledge.dot", FILE);
    each(
        ["../../etc/passwd", "/etc/passwd", "src/../../other", "..\\\\other", "src/a, ../b"],
        |path| {
            let refused = update(
                &project,
                &serde_json::json!([{"op": "update_node", "id": "a", "path": path}]),
            )
            .expect_err(path)
            .to_string();
            assert!(refused.contains("must be inside the project"), "{refused}");
        },
    );
    assert_eq!(text(&project), FILE);
    update(
        &project,
        &serde_json::json!([{"op": "update_node", "id": "a", "path": "src/..hidden/"}]),
    )
    .expect("is done");
}

#[test]
fn one_wrong_operation_undoes_all() {
    let project = Project::new();
    project.write("knowledge.dot", FILE);
    let node = serde_json::json!({"op": "add_node", "id": "c", "type": "pattern", "level": "implementation", "status": "current", "description": "C"});
    each(
        [
            (
                serde_json::json!({"op": "add_node", "id": "a", "type": "pattern"}),
                "`operations[1].id` cannot be applied; the node a exists already",
            ),
            (
                serde_json::json!({"op": "update_node", "id": "nobody", "tag": "x"}),
                "there is no node nobody",
            ),
            (
                serde_json::json!({"op": "remove_edge", "from": "a", "to": "b", "relation": "uses"}),
                "there is no edge a -> b",
            ),
            (
                serde_json::json!({"op": "add_edge", "from": "a", "to": "zz", "relation": "uses"}),
                "`operations[1].to` cannot be applied; there is no node zz",
            ),
            (
                serde_json::json!({"op": "add_edge", "from": "a", "to": "b", "relation": "must_follow"}),
                "already connects these two nodes",
            ),
            (
                serde_json::json!({"op": "update_node", "id": "b", "status": "active"}),
                "status of 'b': invalid status 'active', must be one of: current, deprecated, future, legacy (current)",
            ),
            (
                serde_json::json!({"op": "update_node", "id": "b", "priority": ""}),
                "priority is required for nodes of type 'rule'",
            ),
            (
                serde_json::json!({"op": "update_node", "id": "b", "note": "x"}),
                "`operations[1].note` is a field of edges, not nodes",
            ),
            (
                serde_json::json!({"op": "add_edge", "from": "a", "to": "b", "relation": "uses", "tag": "x"}),
                "`operations[1].tag` is a field of nodes, not edges",
            ),
            (
                serde_json::json!({"op": "add_edge", "from": "a", "to": "b"}),
                "`operations[1].relation` is required",
            ),
        ],
        |(wrong, message)| {
            let failure = update(&project, &serde_json::json!([node, wrong]))
                .expect_err("is refused")
                .to_string();
            assert!(failure.contains(message), "{failure}");
            assert_eq!(text(&project), FILE, "{failure}");
        },
    );
    assert!(update(&project, &serde_json::json!([])).is_err());
}

#[test]
fn a_file_with_errors_can_be_mended_and_not_made_worse() {
    let project = Project::new();
    let broken = FILE.replace("\"current\"\n", "\"active\"\n");
    project.write("knowledge.dot", &broken);
    let other =
        update(&project, &serde_json::json!([{"op": "update_node", "id": "b", "tag": "x"}]))
            .expect_err("is refused")
            .to_string();
    assert!(other.contains("status of 'a': invalid status 'active'"), "{other}");
    update(&project, &serde_json::json!([{"op": "update_node", "id": "a", "status": "current"}]))
        .expect("is mended");
    assert_eq!(text(&project), FILE);
    project.write("knowledge.dot", "digraph { a [");
    let failure = update(&project, &serde_json::json!([{"op": "remove_node", "id": "a"}]))
        .expect_err("is refused")
        .to_string();
    assert!(failure.contains("while the file is not valid DOT; line 1"), "{failure}");
}

#[test]
fn the_first_node_makes_the_file_and_a_trial_makes_nothing() {
    let project = Project::new();
    let node = operations(
        &serde_json::json!([{"op": "add_node", "id": "x-1", "type": "pattern", "level": "implementation", "status": "current", "description": "a\u{1b}b"}]),
    );
    let trial = KnowledgeUpdateInput { operations: node.clone(), dry_run: true, story_id: None };
    assert!(!project.engine.knowledge_update(&caller("ada"), &trial).expect("is fine").written);
    assert!(!project.path().join(".twining/knowledge.dot").exists());
    let input =
        KnowledgeUpdateInput { operations: node, story_id: Some("S-9".into()), dry_run: false };
    let done = project.engine.knowledge_update(&caller("ada"), &input).expect("is done");
    assert!(done.created && done.written);
    assert!(
        text(&project).starts_with("digraph ProjectKnowledge {\n    \"x-1\" ["),
        "{}",
        text(&project)
    );
    let metrics = project.engine.knowledge_metrics().expect("adds up");
    assert_eq!((metrics.nodes_added, metrics.stories["S-9"].nodes_added), (1, 1));
}

#[test]
fn agents_that_edit_at_once_lose_nothing() {
    let project = Project::new();
    project.write("knowledge.dot", FILE);
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let engine = project.another_engine();
            scope.spawn(move || {
                for n in 0..5 {
                    let node = serde_json::json!([{"op": "add_node", "id": format!("n{writer}-{n}"), "type": "pattern", "level": "implementation", "status": "current", "description": "d"}]);
                    let input = KnowledgeUpdateInput { operations: operations(&node), ..KnowledgeUpdateInput::default() };
                    engine.knowledge_update(&caller("ada"), &input).expect("is done");
                }
            });
        }
    });
    let known = super::super::KnowledgeGraph::read(text(&project).as_bytes());
    assert_eq!((known.errors.len(), known.declared), (0, 22));
}

#[test]
fn an_update_that_changes_nothing_names_nothing() {
    let project = Project::new();
    project.write("knowledge.dot", FILE);
    let done = update(
        &project,
        &serde_json::json!([{"op": "update_node", "id": "a", "description": "A"}]),
    )
    .expect("is done");
    assert_eq!((done.nodes_changed.len(), done.written), (0, false));
}

#[test]
fn a_strict_graph_loses_no_relation_to_a_new_edge() {
    let project = Project::new();
    let node = |id: &str| {
        format!("    {id} [type=component level=architecture status=current description=d];\n")
    };
    let source = format!(
        "strict digraph K {{\n{}{}    a -> b [relation=must_not_use];\n}}\n",
        node("a"),
        node("b")
    );
    project.write("knowledge.dot", &source);
    let add = serde_json::json!({"op": "add_edge", "from": "a", "to": "b", "relation": "uses"});
    let refused = update(&project, &serde_json::json!([add])).expect_err("is refused");
    assert!(format!("{refused:?}").contains("strict"), "{refused:?}");
    assert_eq!(text(&project), source);
    project.write("knowledge.dot", &source.replace("strict ", ""));
    assert_eq!(update(&project, &serde_json::json!([add])).expect("what it says helps").edges, 2);
}

#[test]
fn a_path_is_kept_from_the_project_on_however_it_is_named() {
    let project = Project::new();
    project.write("knowledge.dot", FILE);
    let here = project.path().join("src/x.rs");
    let path = format!("{}, src/y", here.display());
    update(&project, &serde_json::json!([{"op": "update_node", "id": "a", "path": path}]))
        .expect("is done");
    assert!(text(&project).contains("path=\"src/x.rs, src/y\""), "{}", text(&project));
    each(["/etc/passwd", "../x", "src/y, /etc"], |outside| {
        let refused = update(
            &project,
            &serde_json::json!([{"op": "update_node", "id": "a", "path": outside}]),
        )
        .expect_err("leads out");
        assert!(refused.to_string().contains("path"), "{refused}");
    });
}

#[test]
fn a_file_of_nothing_but_mistakes_is_told_in_part_and_counted() {
    let project = Project::new();
    project.write(
        "knowledge.dot",
        &format!("digraph {{\n{}}}\n", (0..30_000).map(|n| format!("n{n};\n")).collect::<String>()),
    );
    let shown = project
        .engine
        .knowledge_check(&crate::KnowledgeCheckInput::default(), project.path())
        .expect("is checked");
    assert!(!shown.valid);
    assert_eq!(
        shown.errors.len() as u64 + shown.warnings.len() as u64 + shown.omitted,
        120_000,
        "four of each node"
    );
}
