//! Merging two branches of a graph: what is kept, what is reported, file layout.

use twining_dot::{
    AlwaysClash, DotDocument, DotId, DotMergePolicy, MergeError, MergedDot, Resolution, Subject,
    merge,
};

fn merged(base: &str, ours: &str, theirs: &str) -> MergedDot {
    merge(base.as_bytes(), ours.as_bytes(), theirs.as_bytes(), &AlwaysClash).expect("valid sides")
}

fn text(merged: &MergedDot) -> String {
    String::from_utf8(merged.text.clone()).expect("UTF-8")
}

fn told(merged: &MergedDot) -> Vec<String> {
    merged.clashes.iter().map(ToString::to_string).collect()
}

const BASE: &str = "\
digraph Knowledge {
    // Rules first.
    \"api\" [
        type=\"rule\"
        status=\"current\"
    ]; // the contract

    \"db\" [
        type=\"datastore\"
        status=\"current\"
    ];

    api -> db [relation=uses];
}
";

#[test]
fn both_additions_are_kept_with_layout_and_comments() {
    let ours = BASE.replace(
        "    api -> db",
        "    \"cache\" [\n        type=\"component\"\n    ];\n\n    api -> db",
    );
    let theirs = BASE
        .replace(
            "    api -> db",
            "    // Talks to the bank.\n    \"bank\" [\n        type=\"external\" // outside\n    ];\n\n    api -> db",
        )
        .replace("uses];\n", "uses];\n    db -> bank [relation=calls];\n");
    let merged = merged(BASE, &ours, &theirs);
    assert_eq!(told(&merged), [""; 0]);
    assert_eq!(
        text(&merged),
        "\
digraph Knowledge {
    // Rules first.
    \"api\" [
        type=\"rule\"
        status=\"current\"
    ]; // the contract

    \"db\" [
        type=\"datastore\"
        status=\"current\"
    ];

    \"cache\" [
        type=\"component\"
    ];

    // Talks to the bank.
    \"bank\" [
        type=\"external\" // outside
    ];

    api -> db [relation=uses];
    db -> bank [relation=calls];
}
"
    );
}

#[test]
fn changes_to_different_attributes_of_one_node_meet() {
    let ours = BASE.replace("type=\"rule\"\n", "type=\"rule\"\n        priority=\"high\"\n");
    let theirs = BASE.replacen("status=\"current\"", "status=\"deprecated\"", 1);
    let merged = merged(BASE, &ours, &theirs);
    assert_eq!(text(&merged), ours.replacen("status=\"current\"", "status=\"deprecated\"", 1));
    assert_eq!(merged.clashes, []);
}

#[test]
fn the_same_attribute_changed_twice_is_for_the_policy() {
    struct Joins;
    impl DotMergePolicy for Joins {
        fn settle(
            &self,
            subject: &Subject,
            attribute: &str,
            base: Option<&DotId>,
            ours: &DotId,
            theirs: &DotId,
        ) -> Resolution {
            assert_eq!(subject, &Subject::Node("a".into()));
            match attribute {
                "status" => Resolution::Take("current".into()),
                "text" => {
                    Resolution::Both(DotId::new(format!("{} / {}", ours.as_str(), theirs.as_str())))
                }
                _ => {
                    assert_eq!(base, None);
                    Resolution::DotClash
                }
            }
        }
    }
    let base = "digraph { a [status=future, text=t]; }";
    let ours = "digraph { a [status=current, text=mine, new=1]; }";
    let theirs = "digraph { a [status=deprecated, text=yours, new=2]; }";
    let merged =
        merge(base.as_bytes(), ours.as_bytes(), theirs.as_bytes(), &Joins).expect("valid sides");
    assert_eq!(text(&merged), "digraph { a [status=current, text=\"mine / yours\", new=1]; }");
    assert_eq!(
        told(&merged),
        [
            "the node a: `new` is 1 in ours and 2 in theirs; 1 was kept",
            "the node a: `text` is mine in ours and yours in theirs; \"mine / yours\" was kept"
        ]
    );
}

#[test]
fn what_one_side_removed_goes_unless_the_other_changed_it() {
    let base = "digraph {\n  a;\n  b [x=1];\n  c;\n  a -> c;\n}\n";
    let gone = "digraph {\n  a;\n  c;\n}\n";
    assert_eq!(
        text(&merged(base, &base.replace("a;", "a [y=1];"), gone)),
        gone.replace("a;", "a [y=1];")
    );
    let changed = base.replace("x=1", "x=2");
    let kept = merged(base, &changed, gone);
    assert_eq!(text(&kept), changed.replace("  a -> c;\n", ""));
    assert_eq!(told(&kept), ["the node b was removed in theirs and changed in ours; it was kept"]);
    let kept = merged(base, gone, &changed);
    assert_eq!(text(&kept), "digraph {\n  a;\n  c;\n  b [x=2];\n}\n");
    assert_eq!(told(&kept), ["the node b was removed in ours and changed in theirs; it was kept"]);
}

#[test]
fn a_node_that_a_new_edge_needs_is_not_removed() {
    let base = "digraph {\n  a;\n  b;\n}\n";
    let merged = merged(base, "digraph {\n  a;\n  b;\n  a -> b;\n}\n", "digraph {\n  a;\n}\n");
    assert_eq!(text(&merged), "digraph {\n  a;\n  b;\n  a -> b;\n}\n");
    assert_eq!(
        told(&merged),
        ["the node b was removed in theirs and changed in ours; it was kept"]
    );
}

#[test]
fn an_attribute_removed_here_and_changed_there_stands_and_is_told() {
    let merged = merged("digraph { a [x=1] }", "digraph { a }", "digraph { a [x=2] }");
    assert_eq!(text(&merged), "digraph { a [x=2] }");
    assert_eq!(told(&merged), ["the node a: `x` is nothing in ours and 2 in theirs; 2 was kept"]);
}

#[test]
fn edges_are_told_apart_by_what_the_policy_names() {
    struct Relations;
    impl DotMergePolicy for Relations {
        fn settle(
            &self,
            _: &Subject,
            _: &str,
            _: Option<&DotId>,
            _: &DotId,
            _: &DotId,
        ) -> Resolution {
            Resolution::DotClash
        }
        fn edge_identity(&self) -> &[&str] {
            &["relation"]
        }
    }
    let base = "digraph {\n  a -> b [relation=uses];\n}\n";
    let ours = "digraph {\n  a -> b [relation=uses];\n  a -> b [relation=calls];\n}\n";
    let theirs =
        "digraph {\n  a -> b [relation=uses note=n];\n  a -> b [relation=calls note=m];\n}\n";
    let merged = merge(base.as_bytes(), ours.as_bytes(), theirs.as_bytes(), &Relations)
        .expect("valid sides");
    assert_eq!(
        text(&merged),
        "digraph {\n  a -> b [relation=uses, note=n];\n  a -> b [relation=calls, note=m];\n}\n"
    );
    let ours = ours.replace("calls", "\"calls\" note=k");
    let merged = merge(base.as_bytes(), ours.as_bytes(), theirs.as_bytes(), &Relations)
        .expect("valid sides");
    assert_eq!(
        told(&merged),
        ["the edge a -> b (relation calls): `note` is k in ours and m in theirs; k was kept"]
    );
}

#[test]
fn graph_attributes_and_defaults_are_merged() {
    let base = "digraph {\n  rankdir=LR;\n  node [shape=box];\n  a;\n}\n";
    let theirs = "digraph {\n  rankdir=TB;\n  label=new;\n  node [shape=oval, color=red];\n  edge [w=1];\n  a;\n}\n";
    let merged = merged(base, &base.replace("a;", "a;\n  b;"), theirs);
    assert_eq!(
        text(&merged),
        "digraph {\n  label=new;\n  edge [w=1];\n  rankdir=TB;\n  node [shape=oval, color=red];\n  a;\n  b [color=\"\", shape=box];\n}\n"
    );
    let merged_back = merge(
        base.as_bytes(),
        base.replace("a;", "a; b").as_bytes(),
        b"digraph {\n  a;\n}\n",
        &AlwaysClash,
    )
    .expect("valid sides");
    assert_eq!(text(&merged_back), "digraph {\n  a; b [shape=box]\n}\n");
}

#[test]
fn new_nodes_go_into_their_subgraph_and_new_subgraphs_come_along() {
    let base = "digraph {\n  subgraph cluster_a {\n    label=A;\n    x;\n  }\n}\n";
    let ours = base.replace("  }\n}", "  }\n  y;\n}");
    let theirs = base.replace("    x;\n  }\n", "    x;\n    n [v=1];\n  }\n  subgraph cluster_b {\n    label=B;\n    m;\n    subgraph inner { k [v=\"2\n3\"] }\n  }\n  {rank=same; x; m}\n");
    let merged = merged(base, &ours, &theirs);
    let expected = "digraph {\n  subgraph cluster_a {\n    label=A;\n    x;\n    n [v=1];\n  }\n  y;\n  subgraph cluster_b {\n    label=B;\n    m;\n    \
         subgraph inner {\n      k [v=\"2\n3\"];\n    };\n  };\n}\n";
    assert_eq!(text(&merged), expected);
    assert_eq!(told(&merged), ["the graph: theirs adds a subgraph without a name; ours was kept"]);
}

#[test]
fn a_subgraph_goes_with_the_last_of_its_nodes() {
    let base = "digraph {\n  a;\n  subgraph cluster_a {\n    label=A;\n    x;\n  } // gone\n}\n";
    let without = "digraph {\n  a;\n}\n";
    let gone = merged(base, &base.replace("a;\n", "a;\n  b;\n"), without);
    assert_eq!(text(&gone), "digraph {\n  a;\n  b;\n}\n");
    let kept = merged(base, &base.replace("x;", "x; y;"), without);
    assert_eq!(text(&kept), base.replace("x;", "y;"));
    assert_eq!(told(&kept), ["the subgraph cluster_a: theirs removed it; ours was kept"]);
}

#[test]
fn a_policy_may_be_chosen_while_running() {
    let policy: &dyn DotMergePolicy = &AlwaysClash;
    assert!(merge(b"", b"graph {}", b"graph { a }", policy).is_ok());
}

#[test]
fn what_is_not_carried_over_is_told() {
    let merged = merged("digraph { a }", "digraph { a b }", "strict digraph G { a }");
    assert_eq!(
        told(&merged),
        [
            "the graph: theirs made it strict; ours was kept",
            "the graph: theirs names it G; ours was kept"
        ]
    );
}

#[test]
fn one_edge_of_a_chain_is_told_apart_when_it_differs() {
    let base = "digraph {\n  a -> b -> c [x=1];\n}\n";
    let theirs = "digraph {\n  a -> b [x=1];\n  b -> c [x=1, y=2];\n}\n";
    let told_apart = merged(base, &base.replace("  a", "  d;\n  a"), theirs);
    assert_eq!(text(&told_apart), theirs.replace("  a", "  d;\n  a"));
    let changed = merged(base, &base.replace("  a", "  d;\n  a"), &base.replace("x=1", "x=2"));
    assert_eq!(text(&changed), "digraph {\n  d;\n  a -> b [x=2];\n  b -> c [x=2];\n}\n");
}

#[test]
fn ports_that_one_side_changed_are_that_sides() {
    let base = "strict digraph {\n  a:x -> b [w=1];\n}\n";
    let ours = "strict digraph {\n  c; a:x -> b [w=2];\n}\n";
    let theirs = "strict digraph {\n  a:y -> b [w=1, z=3];\n}\n";
    for merged in [merged(base, ours, theirs), merged(base, theirs, ours)] {
        assert_eq!(told(&merged), [""; 0]);
        let document = DotDocument::parse(text(&merged));
        let [edge] = &document.graph().edges[..] else { panic!("one edge: {}", text(&merged)) };
        assert_eq!(edge.from_port.as_ref().map(|port| port.name.to_string()), Some("y".to_owned()));
        let own: Vec<_> = edge
            .attributes
            .own()
            .map(|attribute| format!("{}={}", attribute.name(), attribute.value))
            .collect();
        assert_eq!(own, ["w=2", "z=3"]);
        assert!(document.graph().node("c").is_some());
    }
    // Two edges of a strict graph are one, with the port that was written last.
    let base = "strict digraph {\n  a -> a, \"a\":p\n}\n";
    let theirs = "strict digraph {\n  a -> a [x=1]\n}\n";
    let merged = merged(base, &format!("// ours\n{base}"), theirs);
    assert_eq!(told(&merged), [""; 0]);
    let document = DotDocument::parse(text(&merged));
    assert!(document.graph().edges.iter().all(|edge| edge.to_port.is_none()), "{}", text(&merged));
}

#[test]
fn ports_that_both_sides_changed_stay_ours_and_are_told() {
    let base = "strict digraph {\n  a:x -> b;\n}\n";
    let ours = base.replace("a:x", "a:z");
    let merged = merged(base, &ours, &base.replace("a:x", "a:y"));
    assert_eq!(text(&merged), ours);
    assert_eq!(told(&merged), ["the edge a -> b: its ports differ in theirs; ours was kept"]);
}

#[test]
fn sides_that_cannot_be_merged_are_refused() {
    let failed = |base: &str, ours: &str, theirs: &str| {
        merge(base.as_bytes(), ours.as_bytes(), theirs.as_bytes(), &AlwaysClash)
            .expect_err("refused")
    };
    assert_eq!(
        failed("", "graph {", "graph {}").to_string(),
        "ours has an error at 1:8: expected `}` to close the graph opened in line 1, found the end of the file"
    );
    assert_eq!(failed("", "graph { a }", "digraph { a }"), MergeError::TwoKinds);
}

#[test]
fn without_a_base_everything_is_kept() {
    let merged = merged("", "digraph {\n  a [x=1];\n  b;\n}\n", "digraph {\n  c;\n  a [y=2];\n}\n");
    assert_eq!(text(&merged), "digraph {\n  a [x=1, y=2];\n  b;\n  c;\n}\n");
    assert_eq!(merged.clashes, []);
}

#[test]
fn two_branches_of_a_thousand_nodes_merge_and_nothing_is_lost() {
    let graph = |side: &str| {
        let common: String = (0..100)
            .map(|node| format!("  c{node} [text=\"{}\"];\n", if node < 50 { side } else { "" }))
            .collect();
        let added: String = (0..if side.is_empty() { 0 } else { 1_000 })
            .map(|node| format!("  {side}{node} [x={node}];\n  {side}{node} -> c7;\n"))
            .collect();
        format!("digraph {{\n{common}{added}}}\n")
    };
    let (base, ours, theirs) = (graph(""), graph("l"), graph("r"));
    let start = std::time::Instant::now();
    let merged = merged(&base, &ours, &theirs);
    let took = start.elapsed();
    let document = DotDocument::parse(merged.text);
    assert_eq!(
        (document.graph().nodes.len(), document.graph().edges.len(), merged.clashes.len()),
        (2_100, 2_000, 50)
    );
    assert!(took.as_secs() < 5, "{took:?}");
}

#[test]
fn comments_of_theirs_come_along_where_they_stood() {
    let ours = BASE.replacen("status=\"current\"", "status=\"legacy\"", 1);
    let theirs = BASE
        .replace(
            "    // Rules first.\n",
            "    // Rules first.\n    // Reviewed by Ann: do not split them.\n",
        )
        .replace("    ];\n\n    api", "    ]; // Postgres\n\n    /* why: see ADR-7 */\n    api")
        .replace("uses];\n", "uses];\n    // the end\n")
        + "// behind\n";
    let merged = merged(BASE, &ours, &theirs);
    assert_eq!(text(&merged), theirs.replacen("status=\"current\"", "status=\"legacy\"", 1));
    assert_eq!(merged.clashes, []);
    let again =
        merge(BASE.as_bytes(), &merged.text, theirs.as_bytes(), &AlwaysClash).expect("valid sides");
    assert_eq!(again.text, merged.text, "and once");
}

#[test]
fn a_comment_that_theirs_edited_is_replaced_and_one_that_both_edited_stands_twice() {
    let theirs = BASE.replace("// Rules first.", "// Rules, then data.");
    let ours = BASE.replace("uses]", "calls]");
    assert_eq!(text(&merged(BASE, &ours, &theirs)), theirs.replace("uses]", "calls]"));
    let ours = BASE.replace("// Rules first.", "// The rules.");
    assert_eq!(
        text(&merged(BASE, &ours, &theirs)),
        ours.replace("// The rules.\n", "// The rules.\n    // Rules, then data.\n")
    );
}

#[test]
fn comments_find_a_place_in_a_file_of_one_line() {
    let merged =
        merged("digraph { a; b }", "digraph { a [x=1]; b }", "digraph { a; /* of b */ b // it\n }");
    let document = DotDocument::parse(merged.text.clone());
    assert_eq!(
        (&document.errors[..], document.graph().nodes.len()),
        (&[][..], 2),
        "{}",
        text(&merged)
    );
    assert!(
        text(&merged).contains("/* of b */") && text(&merged).contains("// it\n"),
        "{}",
        text(&merged)
    );
}

#[test]
fn a_node_that_theirs_takes_out_of_a_subgraph_stays_in_ours_and_is_told() {
    let base =
        "digraph {\n  subgraph cluster_x {\n    label=X;\n    a [v=1];\n    d;\n  }\n  b;\n}\n";
    let ours = base.replace("v=1", "v=2");
    let theirs = base.replace("    a [v=1];\n", "").replace("  b;\n", "  a [v=1];\n  b;\n");
    let out = merged(base, &ours, &theirs);
    assert_eq!((text(&out), told(&out).len()), (ours.clone(), 1));
    let out = merged(base, &theirs, &ours);
    assert_eq!((text(&out), told(&out).len()), (theirs.replace("v=1", "v=2"), 0));
}

#[test]
fn a_subgraph_that_one_side_removed_and_the_other_filled_is_told_from_either_side() {
    let base = "digraph {\n  subgraph cluster_a {\n    x;\n  }\n}\n";
    let filled = base.replace("x;", "x; y;");
    let without = "digraph {\n}\n";
    assert_eq!(
        told(&merged(base, &filled, without)),
        ["the subgraph cluster_a: theirs removed it; ours was kept"]
    );
    assert_eq!(
        told(&merged(base, without, &filled)),
        ["the subgraph cluster_a: ours removed it; ours was kept"]
    );
}
