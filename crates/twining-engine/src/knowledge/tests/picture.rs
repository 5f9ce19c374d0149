//! Pictures of the graph and of parts of it.

use super::super::{DrawFormat, DrawInput, KnowledgeDrawing};
use crate::Failure;
use crate::testing::Project;
use twining_testcases::each;

fn draw(
    project: &Project,
    format: DrawFormat,
    level: Option<&str>,
    around: Option<&str>,
    depth: usize,
) -> Result<KnowledgeDrawing, Failure> {
    let input = DrawInput {
        format,
        level: level.map(str::to_owned),
        around: around.map(str::to_owned),
        depth: Some(depth),
    };
    project.engine.knowledge_picture(&input)
}

#[test]
fn the_graph_is_drawn_whole_by_level_and_around_a_node() {
    let project = Project::new();
    let node = |id: &str, level: &str| {
        format!("\"{id}\" [type=component level={level} status=current description=d];")
    };
    let nodes = [
        ("a-1", "architecture"),
        ("b", "architecture"),
        ("c", "implementation"),
        ("d", "implementation"),
    ];
    let nodes = nodes.map(|(id, level)| node(id, level)).join("\n");
    project.write(
        "knowledge.dot",
        &format!(
            "digraph {{\n{nodes}\nwrong [type=x];\n\"a-1\" -> b -> c -> d [relation=uses]; }}"
        ),
    );
    let counted = |picture: &KnowledgeDrawing| (picture.nodes, picture.edges);
    let whole = draw(&project, DrawFormat::Svg, None, None, 1).expect("is drawn");
    assert_eq!(counted(&whole), (4, 3), "what is wrong is not drawn");
    assert!(
        whole.text.starts_with("<svg") && whole.text.contains("a-1") && whole.text.contains("uses"),
        "{}",
        whole.text
    );
    let level =
        draw(&project, DrawFormat::Mermaid, Some("architecture"), None, 1).expect("is drawn");
    assert_eq!(counted(&level), (2, 1));
    assert!(level.text.starts_with("flowchart"), "{}", level.text);
    each([(0, 1), (1, 3), (2, 4)], |(depth, nodes)| {
        assert_eq!(
            draw(&project, DrawFormat::Dot, None, Some("b"), depth).expect("is drawn").nodes,
            nodes
        );
    });
    let dot = draw(&project, DrawFormat::Dot, None, Some("d"), 0).expect("is drawn").text;
    let only =
        r#"    "d" [type="component", level="implementation", status="current", description="d"];"#;
    assert_eq!(dot, format!("digraph ProjectKnowledge {{\n{only}\n}}\n"));
    assert!(matches!(
        draw(&project, DrawFormat::Dot, None, Some("nobody"), 1),
        Err(Failure::NotFound { .. })
    ));
}

#[test]
fn nothing_broken_and_too_much_are_answered() {
    let project = Project::new();
    assert_eq!(draw(&project, DrawFormat::Svg, None, None, 1).expect("is drawn").nodes, 0);
    project.write("knowledge.dot", "digraph { a [");
    assert_eq!(draw(&project, DrawFormat::Mermaid, None, None, 1).expect("is drawn").nodes, 0);
    let many: String = (0..2001)
        .map(|n| {
            format!("n{n} [type=pattern level=implementation status=current description=d];\n")
        })
        .collect();
    project.write("knowledge.dot", &format!("digraph {{ {many} }}"));
    let refused =
        draw(&project, DrawFormat::Svg, None, None, 1).expect_err("is too much").to_string();
    assert!(refused.contains("around one node"), "{refused}");
    assert_eq!(draw(&project, DrawFormat::Svg, None, Some("n7"), 1).expect("is drawn").nodes, 1);
}
