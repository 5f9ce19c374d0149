//! Pictures: escaped, complete, the same each time, and quick.

use twining_dot::{
    DotDocument, DotId, DrawOptions, LabelSource, LayoutDirection, dot, layout, mermaid, svg,
};
use twining_testcases::each;

fn options() -> DrawOptions {
    DrawOptions {
        edge_label: LabelSource::Attribute("relation".to_owned()),
        colour_by: Some("type".to_owned()),
        ..DrawOptions::default()
    }
}

const SOURCE: &str = r#"digraph "K <1>" {
  "a & b" [label="say \"hi\"\n<now>" type=rule];
  c [type=pattern];
  subgraph cluster_x { label="the x"; d }
  "a & b" -> c [relation="uses <it>"];
  c -> d -> c; d -> d;
}"#;

#[test]
fn svg_holds_everything_and_escapes_it() {
    let document = DotDocument::parse(SOURCE);
    let picture = svg(document.graph(), &options());
    assert!(picture.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
    assert!(picture.ends_with("</svg>\n"));
    each(
        [
            "<title>K &lt;1&gt;</title>",
            "<title>a &amp; b</title>",
            "say &quot;hi&quot;",
            "&lt;now&gt;",
            "uses &lt;it&gt;",
            ">pattern<",
            ">rule<",
        ],
        |part| {
            assert!(picture.contains(part), "{part} is missing in {picture}");
        },
    );
    assert_eq!(picture.matches("<rect").count(), 1 + 3 + 2);
    assert_eq!(picture.matches("marker-end").count(), 4);
    assert_eq!(picture, svg(document.graph(), &options()));
}

#[test]
fn boxes_do_not_overlap_and_edges_run_with_the_direction() {
    let source: String = (0..40)
        .map(|node| format!("n{node} -> n{}; n{node} -> n{};", node * 2 + 1, node * 2 + 2))
        .collect();
    let document = DotDocument::parse(format!("digraph {{ {source} }}"));
    each([LayoutDirection::Down, LayoutDirection::Right], |direction| {
        let drawing =
            layout(document.graph(), &DrawOptions { direction, ..DrawOptions::default() });
        for (index, left) in drawing.nodes.iter().enumerate() {
            assert!(left.x - left.width / 2.0 >= 0.0 && left.x + left.width / 2.0 <= drawing.width);
            for right in &drawing.nodes[index + 1..] {
                let apart = (left.x - right.x).abs() >= (left.width + right.width) / 2.0
                    || (left.y - right.y).abs() >= (left.height + right.height) / 2.0;
                assert!(apart, "{left:?} {right:?}");
            }
        }
        let forward = |points: &Vec<(f64, f64)>| match (points.first(), points.last()) {
            (Some(first), Some(last)) if direction == LayoutDirection::Down => first.1 < last.1,
            (Some(first), Some(last)) => first.0 < last.0,
            _ => false,
        };
        assert!(drawing.edges.iter().all(forward));
    });
}

#[test]
fn mermaid_escapes_what_it_would_misread() {
    let document = DotDocument::parse(SOURCE);
    assert_eq!(
        mermaid(document.graph(), &DrawOptions { direction: LayoutDirection::Right, ..options() }),
        "\
flowchart LR
    n0[\"say #quot;hi#quot;<br/>#lt;now#gt;\"]
    n1[\"c\"]
    subgraph s0[\"the x\"]
        n2[\"d\"]
    end
    n0 -->|\"uses #lt;it#gt;\"| n1
    n1 --> n2
    n2 --> n1
    n2 --> n2
    subgraph legend[\"type\"]
        k0[\"pattern\"]
        k1[\"rule\"]
    end
    classDef c0 fill:#cfe2ff,stroke:#555,color:#000
    class n1,k0 c0
    classDef c1 fill:#d1e7dd,stroke:#555,color:#000
    class n0,k1 c1
"
    );
    assert_eq!(
        mermaid(DotDocument::parse("graph { a -- b }").graph(), &DrawOptions::default()),
        "flowchart TD\n    n0[\"a\"]\n    n1[\"b\"]\n    n0 --- n1\n"
    );
}

#[test]
fn a_part_of_a_graph_is_written_as_dot() {
    let document = DotDocument::parse(
        "digraph K { node [t=1]; a -> b -> c -> d [r=uses]; subgraph cluster_x { label=x; c; e } }",
    );
    let graph = document.graph();
    let near = graph.around(&[DotId::from("b")], 1);
    assert_eq!(
        dot(&near),
        "\
digraph K {
    a [t=1];
    b [t=1];
    c [t=1];
    subgraph cluster_x {
        label=x;
        c;
    }
    a -> b [r=uses];
    b -> c [r=uses];
}
"
    );
    assert_eq!(graph.around(&[DotId::from("b")], 0).nodes.len(), 1);
    assert_eq!(graph.around(&[DotId::from("b")], 9).nodes.len(), 4);
    assert_eq!(
        dot(&graph.restricted(|node| node.id == "e")),
        "digraph K {\n    subgraph cluster_x {\n        label=x;\n        e [t=1];\n    }\n}\n"
    );
}

#[test]
fn empty_lonely_and_large_graphs_are_drawn() {
    assert!(svg(DotDocument::parse("graph {}").graph(), &options()).ends_with("</svg>\n"));
    let lonely: String = (0..500).map(|node| format!("n{node} ")).collect();
    let drawing = layout(
        DotDocument::parse(format!("graph {{ {lonely} }}")).graph(),
        &DrawOptions::default(),
    );
    assert!(drawing.width < 3_000.0, "500 nodes without edges fill several rows");
    let edges: String =
        (0..1_500).map(|edge| format!("n{} -> n{};", edge % 500, (edge * 31 + 7) % 500)).collect();
    let document = DotDocument::parse(format!("digraph {{ {edges} }}"));
    let start = std::time::Instant::now();
    let _ = svg(document.graph(), &DrawOptions::default());
    assert!(start.elapsed().as_secs() < 5);
}

#[test]
fn a_value_has_its_colour_whatever_else_is_drawn() {
    let options = DrawOptions {
        colour_order: ["component", "rule"].map(str::to_owned).to_vec(),
        ..options()
    };
    let colour = |source: &str| {
        let drawn = mermaid(DotDocument::parse(source).graph(), &options);
        drawn.lines().find(|line| line.contains("classDef")).map(str::to_owned)
    };
    assert_eq!(
        colour("digraph { a [type=rule] }"),
        Some("    classDef c0 fill:#d1e7dd,stroke:#555,color:#000".to_owned())
    );
    assert_eq!(
        colour("digraph { a [type=else] }"),
        Some("    classDef c0 fill:#fff3cd,stroke:#555,color:#000".to_owned())
    );
}
