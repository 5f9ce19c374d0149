//! Edits: what the file looks like afterwards.

use twining_dot::{DotDocument, DotId, EdgeSelector, EditError};
use twining_testcases::each;

/// The source after an edit that must succeed.
fn after(source: &str, edit: impl FnOnce(&mut DotDocument) -> Result<(), EditError>) -> String {
    let mut document = DotDocument::parse(source);
    edit(&mut document).expect("the edit is made");
    document.text().into_owned()
}

fn refused(source: &str, edit: impl FnOnce(&mut DotDocument) -> Result<(), EditError>) -> String {
    let mut document = DotDocument::parse(source);
    let error = edit(&mut document).expect_err("the edit is refused");
    assert_eq!(document.text(), source, "a refused edit changes nothing");
    error.to_string()
}

const KNOWLEDGE: &str = "\
digraph Knowledge {
    // How errors travel.
    \"error-handling\" [
        type=\"pattern\"
        status=\"current\"   // since spring
        example=\"wrap(err, \\\"why\\\")\"
    ];

    \"api\" [
        type=\"rule\"
        priority=\"high\"
    ]; // ours

    api -> \"error-handling\" [relation=must_follow]; # see above
}
";

#[test]
fn a_value_is_replaced_where_it_stands() {
    let edited = after(KNOWLEDGE, |document| {
        document.set_node_attr("error-handling", "status", "deprecated")
    });
    assert_eq!(edited, KNOWLEDGE.replace("status=\"current\"", "status=\"deprecated\""));
}

#[test]
fn a_new_attribute_gets_a_line_like_its_neighbours() {
    let edited = after(KNOWLEDGE, |document| {
        document.set_node_attr("error-handling", "path", "src/error.rs")
    });
    assert_eq!(
        edited,
        KNOWLEDGE.replace("\\\"why\\\")\"\n", "\\\"why\\\")\"\n        path=\"src/error.rs\"\n")
    );
    let edited = after("graph { a [x=1, y=2] }", |document| document.set_node_attr("a", "z", "3"));
    assert_eq!(edited, "graph { a [x=1, y=2, z=3] }");
    let edited =
        after("graph { a [x=1; y=2] b }", |document| document.set_node_attr("a", "z", "3"));
    assert_eq!(edited, "graph { a [x=1; y=2; z=3] b }");
    let edited = after("graph { a; b[] }", |document| document.set_node_attr("a", "z", "3 4"));
    assert_eq!(edited, "graph { a [z=\"3 4\"]; b[] }");
    let edited = after("graph { a; b[] }", |document| document.set_node_attr("b", "z", "3"));
    assert_eq!(edited, "graph { a; b[z=3] }");
    let tall = "graph {\r\n\ta [\r\n\t\tx=1, // one\r\n\t\ty=2 // two\r\n\t]\r\n}\r\n";
    let edited = after(tall, |document| document.set_node_attr("a", "z", "3"));
    assert_eq!(edited, tall.replace("y=2 // two\r\n", "y=2, // two\r\n\t\tz=3\r\n"));
}

#[test]
fn an_attribute_goes_with_its_line_or_its_comma() {
    let edited = after(KNOWLEDGE, |document| document.remove_node_attr("error-handling", "status"));
    assert_eq!(edited, KNOWLEDGE.replace("        status=\"current\"   // since spring\n", ""));
    each(
        [
            ("x", "graph { a [y=2, z=3] }"),
            ("y", "graph { a [x=1, z=3] }"),
            ("z", "graph { a [x=1, y=2] }"),
        ],
        |(name, left)| {
            assert_eq!(
                after("graph { a [x=1, y=2, z=3] }", |document| document
                    .remove_node_attr("a", name)),
                left
            );
        },
    );
    assert_eq!(
        after("graph { a [x=1]; }", |document| document.remove_node_attr("a", "x")),
        "graph { a; }"
    );
    assert_eq!(
        after("graph { a, b [x=1, y=2]; }", |document| document.remove_node_attr("a", "x")),
        "graph { a [y=2];\nb [x=1, y=2]; }"
    );
}

#[test]
fn a_node_is_added_in_the_manner_of_the_file() {
    let edited = after(KNOWLEDGE, |document| {
        document.add_node("cache", &[("type", "component".into()), ("status", "current".into())])
    });
    let added =
        "    ]; // ours\n\n    cache [\n        type=component\n        status=current\n    ];\n";
    assert_eq!(edited, KNOWLEDGE.replace("    ]; // ours\n", added));
    assert_eq!(after("graph {}", |document| document.add_node("a b", &[])), "graph { \"a b\"; }");
    assert_eq!(
        after("graph { a }", |document| document.add_node("b", &[("x", "1".into())])),
        "graph { a b [x=1] }"
    );
    assert_eq!(
        after("graph {\r\n\ta;\r\n}\r\n", |document| document.add_node("b", &[])),
        "graph {\r\n\ta;\r\n\tb;\r\n}\r\n"
    );
    assert_eq!(
        after("graph {\n}\n", |document| document.add_node("b", &[])),
        "graph {\n    b;\n}\n"
    );
}

#[test]
fn an_edge_is_added_at_the_end() {
    let edited = after(KNOWLEDGE, |document| {
        document.add_edge("api", "cache", &[("relation", "uses".into())])
    });
    assert_eq!(
        edited,
        KNOWLEDGE.replace("# see above\n", "# see above\n    api -> cache [relation=uses];\n")
    );
    assert_eq!(
        after("graph { a }", |document| document.add_edge("a", "b", &[])),
        "graph { a a -- b }"
    );
}

#[test]
fn a_node_goes_with_its_lines_and_the_comment_behind() {
    let edited = after(KNOWLEDGE, |document| document.remove_node("api"));
    assert_eq!(
        edited,
        KNOWLEDGE
            .replace(
                "    \"api\" [\n        type=\"rule\"\n        priority=\"high\"\n    ]; // ours\n",
                ""
            )
            .replace("    api -> \"error-handling\" [relation=must_follow]; # see above\n", "")
    );
    assert_eq!(after("graph { a; b; c }", |document| document.remove_node("b")), "graph { a; c }");
    assert_eq!(after("graph { a\"b\"c }", |document| document.remove_node("b")), "graph { a c }");
    assert_eq!(
        after("graph { a, b, c [x=1] }", |document| document.remove_node("b")),
        "graph { a, c [x=1] }"
    );
}

#[test]
fn a_chain_is_broken_where_an_edge_goes_and_no_node_is_lost() {
    let remove = |from: &'static str, to: &'static str| {
        move |document: &mut DotDocument| {
            document.remove_edge(&EdgeSelector::new(from, to)).map(drop)
        }
    };
    assert_eq!(
        after("digraph {\n  a -> b -> c -> d [x=1];\n}", remove("b", "c")),
        "digraph {\n  a -> b [x=1];\n  c -> d [x=1];\n}"
    );
    assert_eq!(
        after("digraph {\n  a -> b -> c;\n}", remove("a", "b")),
        "digraph {\n  a;\n  b -> c;\n}"
    );
    assert_eq!(after("digraph {\n  a -> b;\n}", remove("a", "b")), "digraph {\n  a;\n  b;\n}");
    assert_eq!(
        after("digraph {\n  a\n  b\n  a -> b // gone\n}", remove("a", "b")),
        "digraph {\n  a\n  b\n}"
    );
    assert_eq!(
        after("digraph {\n  a -> {b c};\n}", remove("a", "b")),
        "digraph {\n  {b c};\n  a -> c;\n}"
    );
}

#[test]
fn an_edge_that_is_not_there_cannot_go() {
    let source = "digraph { a -> b [r=uses]; a -> b [r=calls] }";
    let remove = |selector: EdgeSelector| {
        move |document: &mut DotDocument| document.remove_edge(&selector).map(drop)
    };
    assert_eq!(
        after(source, remove(EdgeSelector::new("a", "b").having("r", "calls"))),
        "digraph { a -> b [r=uses]; }"
    );
    assert_eq!(
        refused(source, remove(EdgeSelector::new("b", "a"))),
        "there is no edge b -> a with these attributes"
    );
}

#[test]
fn a_node_that_only_edges_mention_gets_a_statement() {
    let source = "digraph {\n  a -> b;\n}";
    assert_eq!(
        after(source, |document| document.set_node_attr("b", "x", "1")),
        "digraph {\n  a -> b;\n  b [x=1];\n}"
    );
    assert_eq!(
        after(source, |document| document.add_node("b", &[("x", "1".into())])),
        "digraph {\n  a -> b;\n  b [x=1];\n}"
    );
    assert_eq!(
        refused("digraph { b }", |document| document.add_node("b", &[])),
        "the node b exists already"
    );
}

#[test]
fn what_cannot_be_done_is_refused_with_the_reason() {
    assert_eq!(
        refused("graph { a }", |document| document.set_node_attr("b", "x", "1")),
        "there is no node b"
    );
    assert_eq!(
        refused("graph { a }", |document| document.remove_node_attr("a", "x")),
        "there is no attribute `x` here"
    );
    assert_eq!(
        refused("graph {\nnode [x=1]\na }", |document| document.remove_node_attr("a", "x")),
        "`x` comes from a default in line 2; change it there, or set another value"
    );
    assert_eq!(
        refused("graph { a -> b }", |document| document.add_node("c", &[])),
        "the file has an error at 1:11: edges of a `graph` are written `--`, not `->`; for arrows make it a `digraph`"
    );
    let mut latin1 = DotDocument::parse(b"graph { \xE9 }".to_vec());
    assert_eq!(latin1.add_node("ü", &[]), Ok(()));
    assert_eq!(latin1.bytes(), b"graph { \xE9 \xFC }");
    assert_eq!(latin1.add_node("日", &[]), Err(EditError::Unwritable('日')));
}

#[test]
fn html_stays_html() {
    let html = DotId::html("<b>x</b>").expect("balanced");
    assert_eq!(
        after("graph { a [label=<<i>y</i>>] }", |document| document
            .set_node_attr("a", "label", html)),
        "graph { a [label=<<b>x</b>>] }"
    );
}
