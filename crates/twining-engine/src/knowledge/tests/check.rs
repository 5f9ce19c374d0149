//! Which files are valid, and the errors for those that are not.

use super::super::KnowledgeGraph;
use crate::testing::Project;
use crate::{Failure, GraphFinding, KnowledgeCheckInput};
use twining_testcases::each;

fn shown(source: &str) -> Vec<String> {
    let line = |finding: &GraphFinding| {
        let at = [finding.node_id.as_deref(), finding.field.as_deref()]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(".");
        format!("{}:{} {at}: {}", finding.line, finding.column, finding.message)
    };
    KnowledgeGraph::read(source.as_bytes()).errors.iter().map(line).collect()
}

fn node(id: &str, rest: &str) -> String {
    format!(
        "\"{id}\" [type=\"pattern\" level=\"implementation\" status=\"current\" description=\"d\" {rest}];\n"
    )
}

#[test]
fn the_first_graph_is_right_and_keeps_its_examples_whole() {
    let known = KnowledgeGraph::read(twining_model::knowledge_vocabulary::DEFAULT_GRAPH.as_bytes());
    assert_eq!(
        (known.errors.as_slice(), known.warnings.as_slice(), known.declared),
        (&[][..], &[][..], 6)
    );
    let example = known.node("error-handling").expect("is served").field("example");
    assert_eq!(example, r#"return fmt.Errorf("failed to fetch user: %w", err)"#);
}

#[test]
fn words_that_agents_invent_are_told_with_line_column_and_the_right_word() {
    let source = "digraph ProjectKnowledge {\n    node [shape=box];\n    go_style [\n        type=\"pattern\",\n        level=\"critical\",\n        status=\"active\",\n        description=\"d\"\n    ];\n}\n";
    let known = KnowledgeGraph::read(source.as_bytes());
    assert_eq!(
        (known.declared, known.edges(), known.left_out()),
        (1, 0, 1),
        "a default statement makes no node"
    );
    assert_eq!(
        shown(source),
        [
            "5:9 go_style.level: invalid level 'critical', must be one of: architecture, implementation",
            "6:9 go_style.status: invalid status 'active', must be one of: current, deprecated, future, legacy",
        ]
    );
    let suggestions: Vec<_> =
        known.errors.iter().filter_map(|error| error.suggestion.as_deref()).collect();
    assert_eq!(
        suggestions,
        ["architecture or implementation; `critical` is a priority value", "current"]
    );
}

#[test]
fn a_rule_that_says_nothing_but_that_it_is_one_has_four_errors() {
    let messages: Vec<String> = KnowledgeGraph::read(b"digraph { r [type=\"rule\"] }")
        .errors
        .into_iter()
        .map(|error| error.message)
        .collect();
    assert_eq!(
        messages,
        [
            "level is required",
            "status is required",
            "description is required",
            "priority is required for nodes of type 'rule'"
        ]
    );
}

#[test]
fn a_default_may_say_what_all_nodes_share() {
    let source =
        "digraph { node [type=pattern level=implementation status=current]\n a [description=x] }";
    assert_eq!(shown(source), [] as [&str; 0]);
}

#[test]
fn an_edge_does_not_declare_its_ends() {
    let source = format!(
        "digraph {{\n{}a -> b [relation=\"uses\"];\na -> {{ c }} [relation=\"uses\"];\n}}",
        node("a", "")
    );
    assert_eq!(
        shown(&source),
        [
            "3:1 a.target: edge references unknown target node 'b'",
            "4:1 a.target: edge references unknown target node 'c'"
        ]
    );
    let source = format!(
        "digraph {{ {}{}\"error-handlin\" -> a [relation=uses] }}",
        node("a", ""),
        node("error-handling", "")
    );
    let known = KnowledgeGraph::read(source.as_bytes());
    assert_eq!(known.errors[0].message, "edge references unknown source node 'error-handlin'");
    assert_eq!(known.errors[0].suggestion.as_deref(), Some("error-handling"));
}

#[test]
fn an_edge_without_a_relation_is_doubtful_and_one_with_a_wrong_relation_is_wrong() {
    let source = format!(
        "digraph {{ {}{}a -> b [label=\"depends on\"]; b -> a [relation=depends_on]; a -> a -> b [relation=calls] }}",
        node("a", ""),
        node("b", "")
    );
    let known = KnowledgeGraph::read(source.as_bytes());
    assert_eq!(known.errors.len(), 1);
    assert!(
        known.errors[0]
            .message
            .starts_with("invalid edge relation 'depends_on', must be one of: calls, uses,"),
        "{:?}",
        known.errors
    );
    assert_eq!(known.errors[0].suggestion.as_deref(), Some("uses"));
    assert_eq!(known.warnings.len(), 1);
    assert_eq!(known.warnings[0].suggestion.as_deref(), Some("relation=\"uses\""));
    let relations: Vec<_> = known.valid_edges().map(|valid_edge| valid_edge.relation()).collect();
    assert_eq!(relations, ["related_to", "calls", "calls"], "loops and chains are fine");
}

#[test]
fn two_statements_of_one_node_are_one_node_unless_they_contradict_each_other() {
    let both = format!("digraph {{\n{}a [tag=\"x\"];\n}}", node("a", ""));
    let known = KnowledgeGraph::read(both.as_bytes());
    assert_eq!(
        (known.errors.len(), known.declared, known.node("a").map(|node| node.field("tag"))),
        (0, 1, Some("x"))
    );
    let clash = format!("digraph {{\n{}a [description=\"e\"];\n}}", node("a", ""));
    assert_eq!(
        shown(&clash),
        ["3:4 a.description: description is 'd' in line 2 and 'e' in line 3"]
    );
    assert_eq!(KnowledgeGraph::read(clash.as_bytes()).nodes().len(), 0);
}

#[test]
fn conflict_markers_are_an_error_of_their_own_and_hide_the_rest() {
    let source = format!(
        "digraph {{\n<<<<<<< HEAD\n{}=======\n{}>>>>>>> other\n}}\n",
        node("a", ""),
        node("a", "tag=x")
    );
    let lines: Vec<_> = KnowledgeGraph::read(source.as_bytes())
        .errors
        .into_iter()
        .map(|error| (error.line, error.message))
        .collect();
    assert_eq!(lines.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [2, 4, 6]);
    assert!(lines.iter().all(|(_, message)| message.contains("conflict marker")), "{lines:?}");
    let underlined = format!("digraph {{ {} }}", node("a", "example=\"Title\n=======\""));
    assert_eq!(shown(&underlined), [] as [&str; 0], "a line in a text is no marker");
}

#[test]
fn every_error_is_told_and_what_is_right_is_served() {
    let source = format!(
        "digraph {{\n  api-server [type=rule];\n{}  -> broken;\n{}}}",
        node("good", ""),
        node("other", "priority=urgnt")
    );
    let known = KnowledgeGraph::read(source.as_bytes());
    assert!(known.errors.len() >= 3, "{:?}", known.errors);
    assert_eq!(known.nodes().map(|node| node.id()).collect::<Vec<_>>(), ["good"]);
}

#[test]
fn an_id_that_needs_quotes_is_one_error() {
    let known = KnowledgeGraph::read(b"digraph { b-c [type=rule level=architecture status=current description=d priority=low]; }");
    let [only] = known.errors.as_slice() else { panic!("one error: {:?}", known.errors) };
    assert!(only.message.contains("`b-c` needs quotes"), "{only:?}");
}

#[test]
fn a_misspelled_field_is_pointed_out() {
    let known = KnowledgeGraph::read(b"digraph { a [type=rule level=architecture status=current descripton=x priority=low shape=box] }");
    assert_eq!(known.warnings[0].message, "unknown field 'descripton'");
    assert_eq!(known.warnings[0].suggestion.as_deref(), Some("description"));
}

#[test]
fn a_missing_a_blank_and_a_broken_file_are_all_answered() {
    let project = Project::new();
    let input = KnowledgeCheckInput::default();
    let missing = project.engine.knowledge_check(&input, project.path()).expect("is answered");
    assert!(
        missing.valid && missing.warnings[0].message.contains("no knowledge graph yet"),
        "{missing:?}"
    );
    project.write("knowledge.dot", " \n");
    let blank = project.engine.knowledge_check(&input, project.path()).expect("is answered");
    assert!(blank.valid && blank.nodes == 0, "{blank:?}");
    project.write("knowledge.dot", "this is not a graph");
    let broken = project.engine.knowledge_check(&input, project.path()).expect("is answered");
    assert!(!broken.valid && broken.errors[0].line == 1, "{broken:?}");
    project.write("knowledge.dot", "digraph { a [");
    assert!(!project.engine.knowledge_check(&input, project.path()).expect("is answered").valid);
}

#[test]
fn the_first_graph_is_made_when_asked_and_never_over_something() {
    let project = Project::new();
    assert!(project.engine.create_knowledge().expect("makes it").created);
    project.write("knowledge.dot", "digraph mine {}");
    assert!(!project.engine.create_knowledge().expect("leaves it").created);
    let text =
        std::fs::read_to_string(project.path().join(".twining/knowledge.dot")).expect("is there");
    assert_eq!(text, "digraph mine {}");
}

#[test]
fn the_file_is_found_in_each_of_its_places_and_nowhere_else() {
    let project = Project::new();
    let file = || {
        project
            .engine
            .knowledge_check(&KnowledgeCheckInput::default(), project.path())
            .map(|outcome| (outcome.file, outcome.warnings.len()))
    };
    std::fs::create_dir_all(project.path().join(".maestro")).expect("makes it");
    std::fs::write(project.path().join(".maestro/knowledge.dot"), "digraph {}").expect("writes");
    assert_eq!(file().expect("is read"), (".maestro/knowledge.dot".to_owned(), 0));
    project.write("knowledge.dot", "digraph {}");
    assert_eq!(
        file().expect("is read"),
        (".maestro/knowledge.dot".to_owned(), 1),
        "the other one is mentioned"
    );
    project.write("config.yml", "knowledge:\n  path: docs/known.dot\n");
    assert_eq!(file().expect("is read").0, "docs/known.dot");
    each(["../x.dot", "/etc/passwd", ".git/config", "src/main.rs"], |hostile| {
        project.write("config.yml", &format!("knowledge:\n  path: {hostile}\n"));
        assert!(matches!(file(), Err(Failure::Store(_))), "{hostile}");
    });
    project.write("config.yml", "knowledge:\n  path: docs/known.dot\n");
    std::os::unix::fs::symlink("/etc", project.path().join("docs")).expect("links");
    assert!(matches!(file(), Err(Failure::Store(twining_store::StoreError::Unsafe { .. }))));
}

#[test]
fn another_file_of_the_project_can_be_checked_and_none_outside() {
    let project = Project::new();
    std::fs::write(project.path().join("draft.dot"), "digraph { a [type=rule] }").expect("writes");
    let check = |path: &str| {
        project
            .engine
            .knowledge_check(&KnowledgeCheckInput { path: Some(path.to_owned()) }, project.path())
    };
    assert_eq!(check("draft.dot").expect("is read").errors.len(), 4);
    assert!(matches!(check("../draft.dot"), Err(Failure::InvalidInput(_))));
    assert!(matches!(check("absent.dot"), Err(Failure::NotFound { .. })));
}

#[test]
fn a_strict_graph_is_an_error_that_says_what_to_take_out() {
    let source = format!(
        "strict digraph {{\n{}{}  a -> b [relation=uses];\n}}\n",
        node("a", ""),
        node("b", "")
    );
    let [error] = &KnowledgeGraph::read(source.as_bytes()).errors[..] else { panic!("one") };
    assert_eq!((error.line, error.suggestion.as_deref()), (1, Some("remove the keyword `strict`")));
    assert_eq!(KnowledgeGraph::read(source.replace("strict ", "").as_bytes()).errors, []);
}
