//! The graph as it is drawn: what is in it, where it goes, and what is said of the rest.

use serde_json::{Value, json};
use twining_model::Id;
use twining_testcases::each;

use crate::testing::{Project, choice};
use crate::{DecideInput, GraphInput, GraphLevel, GraphNodeSummary, GraphOutcome};

fn ask(project: &Project, input: Value) -> GraphOutcome {
    let input: GraphInput = serde_json::from_value(input).expect("an input");
    project.engine.graph(&input).expect("answers")
}

fn around(project: &Project, name: &str, depth: usize) -> GraphOutcome {
    ask(project, json!({"around": name, "depth": depth}))
}

fn names(graph: &GraphOutcome) -> Vec<&str> {
    graph.nodes.iter().map(|node| node.name.as_str()).collect()
}

fn node<'g>(graph: &'g GraphOutcome, name: &str) -> &'g GraphNodeSummary {
    graph.nodes.iter().find(|node| node.name == name).expect("a node of that name")
}

/// Each edge as its ends' names and its kind.
fn edges(graph: &GraphOutcome) -> Vec<String> {
    let name = |id: &str| {
        let found = graph.nodes.iter().find(|node| node.id == id);
        found.expect("an edge's end is a node").name.as_str()
    };
    let words = graph.edges.iter();
    let mut words: Vec<String> = words
        .map(|edge| format!("{} {} {}", name(&edge.from), edge.kind, name(&edge.to)))
        .collect();
    words.sort();
    words
}

/// login calls session, session calls redis; `docs` stands alone.
fn shop() -> Project {
    let project = Project::new();
    for (name, kind) in [
        ("login", "function"),
        ("session", "function"),
        ("redis", "dependency"),
        ("docs", "concept"),
    ] {
        project.add_entity(name, kind);
    }
    project.relate("login", "calls", "session");
    project.relate("session", "calls", "redis");
    project
}

/// Files with nothing known of them but their names, each related to the next.
fn write_files(project: &Project, names: &[String]) {
    let id = |n: usize| format!("e{n:05}");
    let entities: Vec<Value> = names
        .iter()
        .enumerate()
        .map(|(n, name)| json!({"id": id(n), "name": name, "type": "file"}))
        .collect();
    let relations: Vec<Value> = (1..names.len())
        .map(|n| {
            let (source, target) = (id(n - 1), id(n));
            json!({"id": format!("r{n:05}"), "source": source, "target": target, "type": "imports"})
        })
        .collect();
    project.write("graph/entities.json", &json!(entities).to_string());
    project.write("graph/relations.json", &json!(relations).to_string());
}

#[test]
fn around_an_entity_are_the_nodes_within_so_many_steps() {
    let project = shop();
    let one = around(&project, "login", 1);
    assert_eq!(
        (names(&one), edges(&one)),
        (vec!["login", "session"], vec!["login calls session".into()])
    );
    assert_eq!((one.total_nodes, one.total_edges, one.note), (2, 1, None));
    let two = around(&project, "login", 2);
    assert_eq!(names(&two), ["login", "session", "redis"]);
    assert_eq!(node(&two, "session").degree, 2);
    assert_eq!(node(&two, "session").href, "/n/session");
    let by_id = around(&project, &node(&two, "redis").id, 1);
    assert_eq!(names(&by_id), ["redis", "session"]);
}

#[test]
fn without_a_place_everything_is_shown_the_most_connected_first() {
    let graph = ask(&shop(), json!({}));
    assert_eq!(names(&graph), ["session", "login", "redis", "docs"]);
    assert_eq!((graph.total_nodes, graph.total_edges, graph.level), (4, 2, GraphLevel::Nodes));
    let cut = ask(&shop(), json!({"limit": 2}));
    assert_eq!((names(&cut), cut.total_nodes), (vec!["session", "login"], 4));
    assert_eq!(cut.note.as_deref(), Some("the most connected 2 of 4 nodes"));
    assert_eq!(edges(&cut), ["login calls session"]);
}

#[test]
fn a_memory_without_a_graph_has_an_empty_picture() {
    let graph = ask(&Project::new(), json!({}));
    assert_eq!((graph.nodes.len(), graph.edges.len(), graph.total_nodes), (0, 0, 0));
}

#[test]
fn a_decision_is_named_by_its_choice_and_found_by_its_id() {
    let project = Project::new();
    let linked = project.decide(&DecideInput {
        affected_files: vec!["src/auth/jwt.ts".into()],
        ..choice("architecture", "src/auth/", "Use stateless JWT")
    });
    let graph = around(&project, linked.id.as_str(), 1);
    assert_eq!(names(&graph), ["Use stateless JWT", "src/auth/jwt.ts"]);
    let decision = node(&graph, "Use stateless JWT");
    assert_eq!(
        (decision.kind.as_str(), decision.href.as_str()),
        ("decision", &*format!("/d/{}", linked.id))
    );
    assert_eq!(decision.detail.as_deref(), Some("active, src/auth/"));
    assert_eq!(node(&graph, "src/auth/jwt.ts").href, "/n/src%2Fauth%2Fjwt.ts");

    let lone = project.decide(&choice("naming", "docs/", "Name pages by their topic"));
    let graph = around(&project, &lone.id.to_string().to_lowercase(), 2);
    assert_eq!(names(&graph), ["Name pages by their topic"], "it has no link, and is there");
}

#[test]
fn around_a_scope_are_the_files_in_it_and_what_was_decided_for_it() {
    let project = Project::new();
    project.decide(&DecideInput {
        affected_files: vec!["src/auth/jwt.ts".into()],
        ..choice("architecture", "src/auth/", "Use stateless JWT")
    });
    project.decide(&choice("security", "src/auth/", "Keys live in the vault"));
    project.decide(&choice("style", "project", "Tabs"));
    project.add_entity("src/auth/session.ts", "file");
    project.add_entity("src/db/pool.ts", "file");
    each(["src/auth/", "src/auth"], |scope| {
        let graph = around(&project, scope, 1);
        let mut names = names(&graph);
        names.sort_unstable();
        assert_eq!(
            names,
            [
                "Keys live in the vault",
                "Use stateless JWT",
                "src/auth/jwt.ts",
                "src/auth/session.ts"
            ]
        );
    });
    let file = project.path().join("src/auth/session.ts");
    let graph = around(&project, file.to_str().expect("a path"), 1);
    assert_eq!(names(&graph), ["src/auth/session.ts"], "an absolute path is the file's");
}

#[test]
fn reviewed_nodes_hang_on_the_files_they_name() {
    let project = Project::new();
    project.add_entity("src/auth/jwt.ts", "file");
    project.add_entity("src/db/pool.ts", "file");
    project.write(
        "knowledge.dot",
        r#"digraph {
            auth [type="component" level="architecture" status="current" description="Who may do what" path="src/auth/jwt.ts"];
            tokens [type="pattern" level="architecture" status="current" description="Short-lived tokens"];
            auth -> tokens [relation="must_follow"];
        }"#,
    );
    let both = around(&project, "auth", 1);
    assert_eq!(edges(&both), ["auth must_follow tokens", "auth path src/auth/jwt.ts"]);
    assert_eq!(node(&both, "auth").detail.as_deref(), Some("Who may do what"));
    assert_eq!(
        (node(&both, "auth").kind.as_str(), node(&both, "auth").href.as_str()),
        ("component", "/n/auth")
    );
    assert_eq!(ask(&project, json!({})).total_nodes, 4);
    assert_eq!(names(&ask(&project, json!({"reviewed": true}))), ["auth", "tokens"]);
    assert_eq!(ask(&project, json!({"reviewed": false})).total_nodes, 2);
    assert_eq!(names(&around(&project, "src/auth/", 1)), ["auth", "src/auth/jwt.ts", "tokens"]);
}

#[test]
fn what_nobody_knows_is_refused_with_the_nearest_names() {
    let project = shop();
    each(
        [
            ("sesion", "did you mean `session`?"),
            ("red", "did you mean `redis`?"),
            ("o", "did you mean `session` or `login` or `docs`?"),
            ("src/nothing/", "give an entity, a decision's id, a path"),
        ],
        |(given, hint)| {
            let input = GraphInput { around: Some(given.into()), ..GraphInput::default() };
            let refused = project.engine.graph(&input).expect_err("is not there");
            assert_eq!(refused.code(), "NOT_FOUND", "{given}");
            assert!(
                refused.hint().is_some_and(|text| text.starts_with(hint)),
                "{:?}",
                refused.hint()
            );
        },
    );
    let input = GraphInput {
        around: Some(Id::from_parts(project.clock.now(), 1).to_string()),
        ..GraphInput::default()
    };
    assert_eq!(project.engine.graph(&input).expect_err("no such decision").code(), "NOT_FOUND");
}

#[test]
fn fields_out_of_their_range_are_refused() {
    let project = shop();
    each(
        [
            json!({"depth": 4}),
            json!({"depth": 0}),
            json!({"limit": 5001}),
            json!({"level": "files"}),
        ],
        |input| {
            let given: GraphInput = serde_json::from_value(input.clone()).expect("an input");
            let refused = project.engine.graph(&given).expect_err("is refused");
            assert_eq!(refused.code(), "INVALID_INPUT", "{input}");
        },
    );
}

#[test]
fn every_node_has_its_place_and_keeps_it() {
    let project = shop();
    let first = ask(&project, json!({}));
    let places = |graph: &GraphOutcome| -> Vec<(Option<f64>, Option<f64>)> {
        graph.nodes.iter().map(|node| (node.x, node.y)).collect()
    };
    each(first.nodes.iter().flat_map(|node| [node.x, node.y]), |at| {
        let at = at.expect("a place");
        assert!(at.is_finite() && (at * 10.0).fract() == 0.0, "{at} has one decimal");
    });
    project.post("finding", "moves no node");
    assert_eq!(places(&first), places(&ask(&project, json!({}))));
    let another = project.another_engine().graph(&GraphInput::default()).expect("answers");
    assert_eq!(places(&first), places(&another), "another process draws the same");
    let bare = ask(&project, json!({"layout": false}));
    assert_eq!(places(&bare), [(None, None); 4]);
}

#[test]
fn a_wide_graph_is_spread_instead_of_drawn_as_a_strip() {
    let project = Project::new();
    let files = (0..120).map(|n| format!("src/f{n}.ts")).collect();
    project.decide(&DecideInput {
        affected_files: files,
        ..choice("architecture", "src/", "Write it in TypeScript")
    });
    let graph = ask(&project, json!({}));
    assert_eq!(graph.nodes.len(), 121);
    let extent = |of: fn(&GraphNodeSummary) -> Option<f64>| {
        let all = || graph.nodes.iter().filter_map(of);
        all().fold(f64::MIN, f64::max) - all().fold(f64::MAX, f64::min)
    };
    let (width, height) = (extent(|node| node.x), extent(|node| node.y));
    assert!(width < 3.0 * height && height < 3.0 * width, "{width} by {height}");
}

#[test]
fn entities_that_two_branches_made_are_one_node() {
    let project = Project::new();
    project.write(
        "graph/entities.json",
        r#"[{"id":"e1","name":"auth","type":"module"},{"id":"e2","name":"auth","type":"module"},{"id":"e3","name":"db","type":"module"}]"#,
    );
    project.write(
        "graph/relations.json",
        r#"[{"id":"r1","source":"e1","target":"e3","type":"calls"},{"id":"r2","source":"e2","target":"e3","type":"calls"},{"id":"r3","source":"e2","target":"gone","type":"calls"}]"#,
    );
    let graph = ask(&project, json!({}));
    assert_eq!(
        (names(&graph), edges(&graph)),
        (vec!["auth", "db"], vec!["auth calls db".to_owned()])
    );
}

#[test]
fn folders_hang_together_as_their_files_do() {
    let project = Project::new();
    let files = ["src/auth/jwt.ts", "src/auth/login.ts", "src/db/pool.ts", "README.md"];
    write_files(&project, &files.map(str::to_owned));
    project.decide(&DecideInput {
        affected_files: vec!["src/db/pool.ts".into()],
        ..choice("storage", "src/db/", "One pool")
    });
    let graph = ask(&project, json!({"level": "folders"}));
    assert_eq!(edges(&graph), ["src/auth/ imports src/db/", "src/db/ imports ./"]);
    assert_eq!((graph.level, graph.total_nodes, &graph.note), (GraphLevel::Folders, 3, &None));
    assert_eq!(node(&graph, "src/db/").detail.as_deref(), Some("1 file, 1 decision"));
    assert_eq!(node(&graph, "src/db/").href, "/map?around=src%2Fdb%2F");
    let few = ask(&project, json!({"level": "folders", "limit": 2}));
    assert_eq!(names(&few), ["./", "src/"], "folders are put together until they fit");
}

#[test]
fn more_nodes_than_can_be_drawn_are_shown_as_folders() {
    let project = Project::new();
    let files: Vec<String> = (0..5001).map(|n| format!("src/m{}/f{n}.rs", n % 7)).collect();
    write_files(&project, &files);
    let graph = ask(&project, json!({"level": "nodes", "layout": false}));
    assert_eq!((graph.level, graph.total_nodes), (GraphLevel::Folders, 7));
    assert!(graph.note.is_some_and(|note| note.starts_with("5001 nodes are too many to draw")));
    let near = ask(&project, json!({"around": "src/m0/", "limit": 5000, "layout": false}));
    assert_eq!((near.level, near.nodes.len()), (GraphLevel::Nodes, 715 * 5 - 2));
}
