//! Files of the kinds found in the wild, and what must hold for each.

use super::super::KnowledgeGraph;
use crate::testing::Project;

/// Unquoted ids, commas, a default, a label on the edge, invented levels and statuses.
const COMMAS: &str = r#"digraph ProjectKnowledge {
    // Graph settings
    node [shape=box, style=filled, fillcolor=lightblue];
    go_code_style [type="pattern", level="critical", status="active", description="Format with the formatter."];
    go_logging [type="pattern", level="high", status="active", description="Log structured."];
    go_error_handling [type="pattern", level="critical", status="active", description="Wrap errors with %w."];
    go_error_handling -> go_logging [label="errors should be logged"];
}
"#;

/// `graph [..]`, commas at line ends, no semicolons.
const NO_SEMICOLONS: &str = r#"digraph ProjectKnowledge {
    graph [
        rankdir=TB
    ]
    core [
        type="component",
        level="core",
        status="active",
        description="The core"
    ]
    ui [type="component", level="core", status="active", description="The screen"]
    net [type="component", level="core", status="active", description="The wire"]
    db [type="datastore", level="core", status="active", description="The rows"]
    log [type="pattern", level="core", status="active", description="The lines"]
    ui -> core [relation="uses"]
    core -> db [relation="uses"]
    core -> net [relation="uses"]
    core -> log [relation="uses"]
}
"#;

/// An edge may precede the statement of its head.
const EDGE_FIRST: &str = r#"digraph ProjectKnowledge {
    "api" [type="component" level="architecture" status="current" description="API"];
    "api" -> "error-handling" [relation="must_follow"];
    "error-handling" [type="pattern" level="implementation" status="current" description="Wrap" example="say \"why\""];
    "rest" [type="rule" level="architecture" status="current" description="REST" priority="high"];
}
"#;

fn counted(source: &str) -> (usize, usize, usize) {
    let known = KnowledgeGraph::read(source.as_bytes());
    (known.declared, known.edges(), known.errors.len())
}

#[test]
fn files_from_the_wild_have_the_errors_they_have_and_no_others() {
    assert_eq!(counted("digraph ProjectKnowledge {\n}\n"), (0, 0, 0));
    assert_eq!(counted(COMMAS), (3, 1, 6));
    assert_eq!(
        KnowledgeGraph::read(COMMAS.as_bytes()).warnings.len(),
        1,
        "a missing relation is a warning"
    );
    assert_eq!(counted(NO_SEMICOLONS), (5, 4, 10));
    let lines: Vec<usize> = KnowledgeGraph::read(NO_SEMICOLONS.as_bytes())
        .errors
        .iter()
        .map(|error| error.line)
        .take(2)
        .collect();
    assert_eq!(lines, [7, 8]);
    assert_eq!(counted(EDGE_FIRST), (3, 1, 0));
    let known = KnowledgeGraph::read(EDGE_FIRST.as_bytes());
    assert_eq!(
        known.node("error-handling").map(|node| node.field("example")),
        Some(r#"say "why""#),
        "keeps its own attributes"
    );
}

#[test]
fn a_chain_gives_every_hop_its_attributes() {
    let node = |id: &str| {
        format!("\"{id}\" [type=pattern level=implementation status=current description=d];")
    };
    let source = format!(
        "digraph {{ {} {} {} \"a\" -> \"b\" -> \"c\" [relation=\"uses\"] }}",
        node("a"),
        node("b"),
        node("c")
    );
    let known = KnowledgeGraph::read(source.as_bytes());
    assert_eq!(
        known.valid_edges().map(|valid_edge| valid_edge.relation()).collect::<Vec<_>>(),
        ["uses", "uses"]
    );
}

#[test]
fn a_graph_with_errors_is_mentioned_by_status() {
    let project = Project::new();
    project.write("knowledge.dot", COMMAS);
    let status = project.engine.status().expect("is answered");
    assert!(
        status
            .warnings
            .iter()
            .any(|warning| warning.code == "knowledge_errors"
                && warning.message.contains("6 errors"))
    );
    project.write("config.yml", "knowledge: {path: ../outside.dot}\n");
    let status = project.engine.status().expect("is answered all the same");
    assert!(
        status.warnings.iter().any(|warning| warning.message.contains("cannot be read")),
        "{:?}",
        status.warnings
    );
    project.write("config.yml", "");
    project.write("knowledge.dot", EDGE_FIRST);
    assert!(project.engine.status().expect("is answered").warnings.is_empty());
}
