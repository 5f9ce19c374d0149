//! The language, rule by rule: what is read, what is refused and where.

use twining_dot::{AttributeOrigin, Charset, DEEPEST, DotDocument, DotId, check};
use twining_testcases::each;

/// Nodes and edges of a source that must be valid.
fn counts(source: impl AsRef<[u8]>) -> (usize, usize) {
    let found = check(source.as_ref());
    assert_eq!(found.errors, [], "{}", String::from_utf8_lossy(source.as_ref()));
    (found.nodes, found.edges)
}

/// `line:column message` of every error.
fn errors(source: impl AsRef<[u8]>) -> Vec<String> {
    check(source.as_ref())
        .errors
        .iter()
        .map(|error| format!("{}:{} {}", error.line, error.column, error.message))
        .collect()
}

fn node_ids(source: &str) -> Vec<String> {
    DotDocument::parse(source).graph().nodes.iter().map(|node| format!("{:?}", &node.id)).collect()
}

#[test]
fn every_form_of_statement_is_counted_as_graphviz_counts() {
    each(
        [
            ("digraph {}", (0, 0)),
            ("graph G { a; b c }", (3, 0)),
            ("DiGraph \"a b\" { a -> b -> c }", (3, 2)),
            ("strict graph { a -- b; b -- a; a -- a }", (2, 2)),
            ("strict digraph { a -> b; b -> a; a -> b }", (2, 2)),
            ("digraph { a -> b; a -> b }", (2, 2)),
            ("digraph { a, b -> c, d }", (4, 4)),
            ("digraph { {a b} -> {c d} -> e }", (5, 6)),
            ("digraph { subgraph s {a; b} -> c }", (3, 2)),
            ("digraph { subgraph s {a} subgraph s {b} -> c }", (3, 2)),
            ("digraph { {a -> b} -> {{c} d} }", (4, 5)),
            ("digraph { a -> {} -> b }", (2, 0)),
            ("digraph { a:p:n -> b:s }", (2, 1)),
            ("digraph { a -> b [key=x]; a -> b [key=x]; a -> b [key=y] }", (2, 2)),
            ("digraph { x=1; \"y\"=2; graph [a=b]; node [c=d]; edge [e=f] }", (0, 0)),
            ("digraph { node [] ; a [][x=1,y=2;z=3 w=4][] }", (1, 0)),
            ("digraph { {a b} [color=red] }", (2, 0)),
            ("digraph { 1a -1.5.5 a-1 }", (5, 0)),
            ("digraph { a /* x */ -> // y\n # z\n b }", (2, 1)),
            ("# 1 \"file\"\ndigraph {}", (0, 0)),
        ],
        |(source, expected)| {
            assert_eq!(counts(source), expected, "{source}");
        },
    );
}

#[test]
fn one_id_has_many_spellings_and_html_is_another() {
    assert_eq!(
        node_ids(r#"graph { a "a" "" + "a" <a> 1 "1" 1.0 }"#),
        [r#""a""#, "<a>", r#""1""#, r#""1.0""#]
    );
    assert_eq!(node_ids("graph { \"a\\\nb\" \"c\\\r\nd\" }"), [r#""ab""#, r#""cd""#]);
    assert_eq!(node_ids(r#"graph { "q\"q" "b\\" "n\n" }"#), [r#""q\"q""#, r#""b\\""#, r#""n\n""#]);
    assert_eq!(node_ids("graph { <a<b>c</b>> <x<!-- > -->y> }"), ["<a<b>c</b>>", "<x<!-- > -->y>"]);
    assert_eq!(
        node_ids("graph { größe 日本 Node1 _x \"node\" }"),
        ["\"größe\"", "\"日本\"", "\"Node1\"", "\"_x\"", "\"node\""]
    );
}

#[test]
fn a_byte_order_mark_and_line_ends_of_windows_are_no_matter() {
    assert_eq!(counts("\u{feff}digraph {\r\n  a -> b;\r\n}\r\n"), (2, 1));
    assert_eq!(
        errors("\u{feff}digraph {\r\n  a ->;\r\n}\r\n"),
        ["2:7 expected a node or a subgraph, found `;`"]
    );
    assert_eq!(errors("\u{feff}x"), ["1:1 expected `graph` or `digraph`, found `x`"]);
}

#[test]
fn what_is_not_utf8_is_latin1() {
    let document = DotDocument::parse(b"graph { caf\xE9 }".to_vec());
    assert_eq!(document.charset, Charset::Latin1);
    assert_eq!(document.graph().nodes[0].id.as_str(), "café");
    assert_eq!(errors(b"graph { \xE9\xE9 ] }"), ["1:12 expected a statement, found `]`"]);
    assert_eq!(errors("graph { éé ] }"), ["1:12 expected a statement, found `]`"]);
    assert_eq!(errors(b"\xFF\xFEg\0"), ["1:1 this file is UTF-16; save it as UTF-8"]);
}

#[test]
fn a_word_that_needs_quotes_is_named() {
    assert_eq!(
        errors("digraph {\n  api-server [x=1]\n  b [model=gpt-5.4, y=2]\n  c [v=1.2.x]\n}"),
        [
            "2:6 expected a statement, found `-`; `api-server` needs quotes: \"api-server\"",
            "3:19 expected `=` after the attribute `-5.4`, found `,`; `gpt-5.4` needs quotes: \"gpt-5.4\"",
            "4:11 expected an attribute, found `.`; `1.2.x` needs quotes: \"1.2.x\"",
        ]
    );
    assert_eq!(
        errors("digraph my-graph {\n}"),
        ["1:11 expected `{` to open the graph, found `-`; `my-graph` needs quotes: \"my-graph\""]
    );
    assert_eq!(
        errors("digraph { node -> a; b -> edge; strict }"),
        [
            "1:16 expected `[` after `node`, found `->`; `node` is a keyword, an id of that name needs quotes: \"node\"",
            "1:27 `edge` is a keyword; as a node it needs quotes: \"edge\"",
            "1:33 `strict` is a keyword; as an id it needs quotes: \"strict\"",
        ]
    );
}

#[test]
fn every_error_is_reported_and_what_is_right_is_served() {
    let source = "digraph {\n  a [x=1, =2, y, z=3]\n  b -> ;\n  c -- d;\n  ;\n  e [k=v\n  f -> g\n  ok -> fine\n}\n";
    assert_eq!(
        errors(source),
        [
            "2:11 expected an attribute, found `=`",
            "2:16 expected `=` after the attribute `y`, found `,`",
            "3:8 expected a node or a subgraph, found `;`",
            "4:5 edges of a `digraph` are written `->`, not `--`",
            "5:3 nothing comes before this `;`; Graphviz does not accept empty statements, so remove it",
            "7:5 expected `]` to close the list opened in line 6, found `->`",
        ]
    );
    let document = DotDocument::parse(source);
    assert_eq!(document.graph().node("a").and_then(|node| node.get("z")), Some("3"));
    assert!(document.graph().node("fine").is_some());
}

#[test]
fn what_is_not_closed_is_told_where_it_began() {
    assert_eq!(
        errors("digraph { a"),
        ["1:12 expected `}` to close the graph opened in line 1, found the end of the file"]
    );
    assert_eq!(
        errors("digraph {\n a [x=\"1]\n b\n}"),
        [
            "2:7 this string has no closing quote `\"`",
            "4:1 expected `]` to close the list opened in line 2, found `}`"
        ]
    );
    assert_eq!(errors("graph { /* a }\n}"), ["1:9 this comment has no closing `*/`"]);
    assert_eq!(errors("graph { <a }\n}"), ["1:9 this HTML string has no closing `>`"]);
    assert_eq!(errors("graph { a [x=\"\\\"] }")[0], "1:14 this string has no closing quote `\"`");
}

#[test]
fn an_empty_file_is_no_graph() {
    each(["", "  \n", "// nothing\n"], |source| {
        let found = check(source.as_bytes());
        assert!(!found.ok);
        assert_eq!(
            found.errors[0].message,
            "there is no graph here; a DOT file starts with `digraph {` or `graph {`"
        );
    });
}

#[test]
fn only_the_first_graph_counts_and_more_are_noticed() {
    let document = DotDocument::parse("graph { a } digraph { b -> c } graph {");
    assert_eq!(
        (document.graph().nodes.len(), document.errors.len(), document.more_graphs),
        (1, 0, 2)
    );
    assert_eq!(
        document.warnings[0].message,
        "a second graph starts here; only the first one in a file is read"
    );
    let document = DotDocument::parse("graph { a } }\0 \" what");
    assert_eq!((document.errors.len(), document.more_graphs), (0, 0));
    assert_eq!(document.warnings[0].message, "text after the graph is not read");
}

#[test]
fn ids_run_together_are_legal_and_doubtful() {
    let document = DotDocument::parse("digraph { a-1; 2b }");
    assert_eq!(document.errors, []);
    let warnings: Vec<String> = document
        .warnings
        .iter()
        .map(|warning| format!("{}:{} {}", warning.line, warning.column, warning.message))
        .collect();
    assert_eq!(
        warnings,
        [
            "1:12 a new id starts here without a space before it; `a-1` needs quotes: \"a-1\"",
            "1:17 a new id starts here without a space before it; `2b` needs quotes: \"2b\"",
        ]
    );
}

#[test]
fn the_last_word_on_an_attribute_holds_and_says_where() {
    let source = "digraph { a [x=1, x=2]\n a [y=3]\n b, a [x=4] }";
    let document = DotDocument::parse(source);
    let node = document.graph().node("a").expect("a is there");
    let x = node.attributes.get("x").expect("x is set");
    assert_eq!(
        (x.value.as_str(), x.origin, &source[x.span.start..x.span.end]),
        ("4", AttributeOrigin::Own, "x=4")
    );
    assert_eq!(document.position(x.span.start).line, 3);
    assert_eq!(node.get("y"), Some("3"));
    assert_eq!(node.get("z"), None);
}

#[test]
fn a_default_reaches_what_is_first_mentioned_after_it_within_its_braces() {
    let document = DotDocument::parse(
        "digraph { a; node [c=1]; b; subgraph s { node [c=2]; d; a }; e; node [c=3] b [x=1]; f [c=9]; edge [w=1]; a -> g; edge [w=2]; a -> b [w=3] }",
    );
    let of = |id: &str| document.graph().node(id).and_then(|node| node.get("c"));
    assert_eq!(
        [of("a"), of("b"), of("d"), of("e"), of("f"), of("g")],
        [None, Some("1"), Some("2"), Some("1"), Some("9"), Some("3")]
    );
    let weights: Vec<_> = document.graph().edges.iter().map(|edge| edge.get("w")).collect();
    assert_eq!(weights, [Some("1"), Some("3")]);
    assert_eq!(
        document.graph().node("b").and_then(|node| node.attributes.get("c")).map(|c| c.origin),
        Some(AttributeOrigin::Default)
    );
}

#[test]
fn subgraphs_know_their_nodes_their_place_and_their_attributes() {
    let document = DotDocument::parse(
        "digraph { label=top; subgraph cluster_a { label=A; x; { rank=same; y } }; subgraph cluster_a { z } }",
    );
    let graph = document.graph();
    assert_eq!(graph.attributes.text("label"), Some("top"));
    assert_eq!(graph.subgraphs.len(), 2);
    let [outer, inner] = &graph.subgraphs[..] else { panic!("two subgraphs") };
    assert_eq!(outer.attributes.text("label"), Some("A"));
    assert_eq!(outer.nodes, ["x", "y", "z"].map(DotId::from));
    assert_eq!(
        (inner.name.as_ref(), inner.parent, &inner.nodes[..]),
        (None, Some(0), &[DotId::from("y")][..])
    );
    assert_eq!(graph.node("y").and_then(|node| node.subgraph), Some(1));
}

#[test]
fn a_strict_edge_gathers_its_attributes() {
    let document = DotDocument::parse("strict graph { a:p -- b [x=1]; b -- a:q [y=2] }");
    let [edge] = &document.graph().edges[..] else { panic!("one edge") };
    assert_eq!((edge.get("x"), edge.get("y")), (Some("1"), Some("2")));
}

#[test]
fn deep_nesting_is_refused_and_does_not_overflow() {
    let nested =
        |depth: usize| format!("digraph {{ {} a {} b }}", "{".repeat(depth), "}".repeat(depth));
    assert_eq!(counts(nested(DEEPEST)), (2, 0));
    assert_eq!(
        errors(nested(DEEPEST + 1)),
        [format!("1:{} subgraphs are nested deeper than {DEEPEST}", 11 + DEEPEST)]
    );
    assert!(!check(nested(200_000).as_bytes()).ok);
    assert!(!check("digraph {".repeat(100_000).as_bytes()).ok);
    assert!(!check("{".repeat(200_000).as_bytes()).ok);
}

#[test]
fn a_few_bytes_that_ask_for_a_huge_graph_are_refused() {
    let many: String = (0..3_000).map(|node| format!("n{node} ")).collect();
    let found = check(format!("digraph {{ {{{many}}} -> {{{many}}} -> {{{many}}} }}").as_bytes());
    assert_eq!(
        found.errors[0].message,
        "this expands the graph far beyond the size of its text; the rest is not read"
    );
    let attributes: String = (0..3_000).map(|number| format!("x{number}=1 ")).collect();
    assert!(!check(format!("digraph {{ node [{attributes}] {many} }}").as_bytes()).ok);
    assert!(
        !check(
            format!("digraph {{ {} [{attributes}] }}", many.trim().replace(' ', "->")).as_bytes()
        )
        .ok
    );
}

#[test]
fn a_subgraph_that_is_opened_again_for_each_of_its_nodes_is_read() {
    let source: String = (0..3_000).map(|node| format!("subgraph s {{ n{node} }}\n")).collect();
    assert_eq!(counts(format!("digraph {{ {source} }}")), (3_000, 0));
}

#[test]
fn hostile_inputs_take_no_longer_than_others_of_their_size() {
    let size = 100_000;
    each(
        [
            "\"",
            "<",
            "/*",
            "\\\"\n\"",
            "[",
            "a[",
            "a[x",
            "a-",
            "{a",
            "a->",
            "subgraph s{",
            "<!--",
            "\"a\"+",
            "}",
            ";",
            "a[x=1]",
            "a!",
            "# \n",
        ],
        |piece| {
            for head in ["", "digraph {"] {
                let source = format!("{head}{}", piece.repeat(size / piece.len()));
                let start = std::time::Instant::now();
                let _ = check(source.as_bytes());
                let took = start.elapsed();
                assert!(took.as_secs() < 5, "{head}{piece} took {took:?}");
            }
        },
    );
}

#[test]
fn the_corpus_of_the_fuzzer_is_read_and_printed_back() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut files = 0;
    each(std::fs::read_dir(folder).expect("the corpus is there"), |entry| {
        let source = std::fs::read(entry.expect("an entry").path()).expect("a file");
        let document = DotDocument::parse(source.clone());
        let printed: Vec<u8> =
            document.tokens().flat_map(|token| token.span.of(&source).to_vec()).collect();
        assert_eq!(printed, source);
        files += 1;
    });
    assert!(files >= 16);
}

#[test]
fn a_file_of_nothing_but_mistakes_is_not_read_to_its_end() {
    let text = format!("digraph {{\n{}}}\n", "a-b;\n".repeat(40_000));
    let document = DotDocument::parse(text.as_bytes());
    assert_eq!(document.errors.len(), twining_dot::MOST_ERRORS + 1);
    let last = document.errors.last().expect("is told");
    assert!(last.message.contains("the rest is not read"), "{}", last.message);
    assert_eq!(document.bytes(), text.as_bytes());
}
