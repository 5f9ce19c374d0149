//! What is found, in which order, and that it is never old.

use twining_dot::DotDocument;
use twining_testcases::each;

use crate::testing::Project;
use crate::{KnowledgePackInput, KnowledgeRetrieveInput, RetrieveOutcome};

/// Five nodes in a row of three, one beside it and one alone.
const FIVE: &str = r#"digraph ProjectKnowledge {
    "api-design" [type="pattern" level="architecture" status="current" description="RESTful API endpoints with versioned paths" tag="api"];
    "error-handling" [type="pattern" level="implementation" status="current" description="Wrap errors with context" component="getUserProfile"];
    "database-access" [type="pattern" level="implementation" status="current" description="Repositories hide SQL" path="src/db/"];
    "auth-middleware" [type="component" level="implementation" status="current" description="Checks the token of every API call"];
    "deprecated-pattern" [type="pattern" level="implementation" status="deprecated" description="Global singletons"];
    "api-design" -> "error-handling" [relation="uses"];
    "api-design" -> "auth-middleware" [relation="uses" note="before routing"];
    "error-handling" -> "database-access";
}
"#;

fn project() -> Project {
    let project = Project::new();
    project.write("knowledge.dot", FIVE);
    project
}

fn ask(project: &Project, terms: &str, level: &str, depth: usize) -> RetrieveOutcome {
    let input = KnowledgeRetrieveInput {
        terms: Some(terms.into()),
        level: Some(level.into()),
        depth: Some(depth),
        max_results: None,
    };
    project.engine.knowledge_retrieve(&input).expect("is answered")
}

#[test]
fn words_find_nodes_and_steps_find_those_around_them() {
    let project = project();
    assert_eq!(ask(&project, "API", "all", 0).hits, ["api-design", "auth-middleware"]);
    let by_depth = |depth| ask(&project, "RESTful", "all", depth);
    assert_eq!((by_depth(0).count, by_depth(1).count, by_depth(2).count), (1, 3, 4));
    assert_eq!(
        by_depth(2).neighbors,
        ["error-handling", "auth-middleware", "database-access"],
        "nearest first"
    );
    let architecture = ask(&project, "RESTful errors sql token singletons", "architecture", 1);
    assert_eq!(
        (architecture.hits.as_slice(), architecture.count),
        (&["api-design".to_owned()][..], 1),
        "neighbours too are of the level"
    );
}

#[test]
fn every_field_is_searched_and_identifiers_fall_into_their_parts() {
    let project = project();
    each(
        [
            ("profile", "error-handling"),
            ("endpoint", "api-design"),
            ("db", "database-access"),
            ("middleware", "auth-middleware"),
        ],
        |(word, id)| {
            assert!(ask(&project, word, "all", 0).hits.contains(&id.to_owned()), "{word}");
        },
    );
}

#[test]
fn no_punctuation_is_syntax_and_the_order_is_always_the_same() {
    let project = project();
    each(
        [
            "foo\"bar",
            "\"",
            "' OR 1=1 --",
            "NEAR(api, 2)",
            "api*",
            "(((",
            "tag:api",
            "-",
            "\u{0}api",
            "a AND",
            "{}[]^",
        ],
        |hostile| {
            let input = KnowledgeRetrieveInput {
                terms: Some(hostile.into()),
                ..KnowledgeRetrieveInput::default()
            };
            if hostile.contains('\0') {
                assert!(project.engine.knowledge_retrieve(&input).is_err());
                return;
            }
            let first = project.engine.knowledge_retrieve(&input).expect("is answered");
            assert_eq!(
                project.another_engine().knowledge_retrieve(&input).expect("is answered"),
                first,
                "{hostile}"
            );
        },
    );
}

#[test]
fn a_subgraph_is_the_graph_in_small() {
    let found = ask(&project(), "RESTful", "all", 1);
    let small = DotDocument::parse(found.subgraph.clone());
    assert_eq!(
        (&small.errors[..], small.graph().nodes.len(), small.graph().edges.len()),
        (&[][..], 3, 2),
        "{}",
        found.subgraph
    );
    assert!(
        found.subgraph.contains(
            r#""api-design" -> "auth-middleware" [relation="uses", note="before routing"];"#
        ),
        "{}",
        found.subgraph
    );
    let order: Vec<usize> = ["\"api-design\" [", "\"error-handling\" [", "\"auth-middleware\" ["]
        .map(|id| found.subgraph.find(id).expect("is in it"))
        .into();
    assert!(order.is_sorted(), "in the order of the file: {}", found.subgraph);
}

#[test]
fn a_level_without_words_is_the_view_for_scoping() {
    let project = project();
    let scoping = KnowledgeRetrieveInput {
        level: Some("architecture".into()),
        ..KnowledgeRetrieveInput::default()
    };
    let found = project.engine.knowledge_retrieve(&scoping).expect("is answered");
    assert_eq!((found.hits.as_slice(), found.count), (&["api-design".to_owned()][..], 1));
    let aimless =
        project.engine.knowledge_retrieve(&KnowledgeRetrieveInput::default()).expect("is answered");
    assert_eq!((aimless.count, aimless.subgraph.as_str()), (0, "digraph ProjectKnowledge {\n}\n"));
    assert!(aimless.note.is_some());
}

#[test]
fn a_limit_counts_hits_and_not_their_neighbours() {
    let project = project();
    let input = KnowledgeRetrieveInput {
        terms: Some("api".into()),
        max_results: Some(1),
        depth: Some(1),
        level: None,
    };
    let found = project.engine.knowledge_retrieve(&input).expect("is answered");
    assert_eq!((found.hits.len(), found.neighbors.len()), (1, 2));
    each(
        [
            KnowledgeRetrieveInput { max_results: Some(0), ..input.clone() },
            KnowledgeRetrieveInput { depth: Some(4), ..input.clone() },
            KnowledgeRetrieveInput { level: Some("high".into()), ..input },
        ],
        |wrong| {
            assert!(project.engine.knowledge_retrieve(&wrong).is_err(), "{wrong:?}");
        },
    );
}

#[test]
fn an_edit_of_the_same_length_at_the_same_time_is_noticed() {
    let project = project();
    assert_eq!(ask(&project, "singletons", "all", 0).count, 1);
    let path = project.path().join(".twining/knowledge.dot");
    let before = std::fs::metadata(&path).expect("is there").modified().expect("has a time");
    project.write("knowledge.dot", &FIVE.replace("singletons", "singletans"));
    std::fs::File::options()
        .write(true)
        .open(&path)
        .and_then(|file| file.set_modified(before))
        .expect("sets the time");
    assert_eq!(
        (ask(&project, "singletons", "all", 0).count, ask(&project, "singletans", "all", 0).count),
        (0, 1)
    );
}

#[test]
fn a_missing_an_empty_and_a_broken_file_are_answered() {
    let project = Project::new();
    assert_eq!(ask(&project, "api", "all", 1).count, 0);
    each(["", "digraph {}", "not a graph at all"], |text| {
        project.write("knowledge.dot", text);
        let found = ask(&project, "api", "all", 1);
        assert_eq!((found.count, found.note.is_some()), (0, true), "{text}");
    });
    project.write(
        "knowledge.dot",
        &FIVE.replace("deprecated\"", "gone\"").replace("digraph", "digraph x y"),
    );
    let found = ask(&project, "api", "all", 0);
    assert_eq!((found.count, found.left_out), (2, 1), "what is right is served: {found:?}");
}

fn story(id: &str) -> KnowledgePackInput {
    KnowledgePackInput {
        story_id: Some(id.into()),
        description: "Version the RESTful endpoints".into(),
        acceptance_criteria: vec!["Errors keep their context".into()],
        ..KnowledgePackInput::default()
    }
}

#[test]
fn a_pack_is_made_once_and_never_served_for_another_file() {
    let project = project();
    let first = project.engine.knowledge_pack(&story("S-1")).expect("is made");
    assert_eq!(
        first.found.search_terms,
        ["Version", "RESTful", "endpoints", "Errors", "keep", "their", "context"]
    );
    assert!(!first.cached && first.found.count >= 3, "{first:?}");
    let again = project.another_engine().knowledge_pack(&story("S-1")).expect("is found");
    assert!(again.cached && again.found == first.found && again.pack_id == first.pack_id);
    project.write("knowledge.dot", &FIVE.replace("Wrap errors", "Wrap all errors"));
    let changed = project.engine.knowledge_pack(&story("S-1")).expect("is made");
    assert!(!changed.cached && changed.found.subgraph.contains("Wrap all errors"));
    let more = KnowledgePackInput { max_results: Some(1), ..story("S-1") };
    assert!(
        !project.engine.knowledge_pack(&more).expect("is made").cached,
        "other options, another pack"
    );
}

#[test]
fn packs_that_nobody_uses_go_after_a_week() {
    let project = project();
    let packs = || {
        std::fs::read_dir(project.path().join(".twining/local/packs")).map_or(0, Iterator::count)
    };
    project.engine.knowledge_pack(&story("S-1")).expect("is made");
    assert_eq!(packs(), 2, "the pack, and what the story asked for");
    project.clock.advance_days(6);
    assert!(
        project.engine.knowledge_pack(&story("S-1")).expect("is found").cached,
        "used again, so it stays"
    );
    project.clock.advance_days(6);
    project
        .engine
        .knowledge_pack(&KnowledgePackInput {
            story_id: None,
            description: "sql".into(),
            ..story("x")
        })
        .expect("is made");
    assert_eq!(packs(), 3);
    project.clock.advance_days(8);
    project
        .engine
        .knowledge_pack(&KnowledgePackInput {
            story_id: None,
            description: "token".into(),
            ..story("x")
        })
        .expect("is made");
    assert_eq!(packs(), 1);
}

#[test]
fn a_pack_without_a_file_or_a_folder_is_empty_and_no_error() {
    let project = Project::new();
    let pack = project.engine.knowledge_pack(&story("S-1")).expect("is answered");
    assert_eq!((pack.found.count, pack.cached), (0, false));
    assert!(!project.path().join(".twining").exists(), "a question makes no folder");
}

#[test]
fn what_packs_cost_is_counted_by_story() {
    let project = project();
    project.engine.knowledge_pack(&story("S-1")).expect("is made");
    project.engine.knowledge_pack(&story("S-1")).expect("is found");
    project.engine.knowledge_pack(&story("S-2")).expect("is found");
    let metrics = project.engine.knowledge_metrics().expect("adds up");
    assert_eq!(
        (metrics.packs_built, metrics.packs_reused, metrics.stories["S-1"].packs),
        (1, 2, 2)
    );
    assert!(metrics.largest_pack_nodes >= 3 && metrics.largest_pack_bytes > 100);
}

#[test]
fn a_pack_that_came_with_a_clone_is_never_served() {
    let (one, clone) = (project(), project());
    one.engine.knowledge_pack(&story("S-1")).expect("is made");
    clone.engine.status().expect("makes its own folders");
    let (from, to) =
        (one.path().join(".twining/local/packs"), clone.path().join(".twining/local/packs"));
    std::fs::create_dir_all(&to).expect("makes it");
    for file in std::fs::read_dir(&from).expect("is there") {
        let file = file.expect("is listed");
        std::fs::copy(file.path(), to.join(file.file_name())).expect("copies");
    }
    assert!(!clone.engine.knowledge_pack(&story("S-1")).expect("is made").cached);
}

#[test]
fn what_is_beyond_the_limits_is_counted() {
    let project = Project::new();
    let node = |id: &str, text: &str| {
        format!("{id} [type=pattern level=architecture status=current description={text}];\n")
    };
    let many: String = (0..600).map(|n| node(&format!("n{n}"), "short")).collect();
    project.write("knowledge.dot", &format!("digraph {{ {many} }}"));
    let level = |max_results| {
        let input = KnowledgeRetrieveInput {
            level: Some("architecture".into()),
            max_results,
            ..KnowledgeRetrieveInput::default()
        };
        project.engine.knowledge_retrieve(&input).expect("is answered")
    };
    assert_eq!((level(None).count, level(None).omitted), (500, 100));
    assert_eq!((level(Some(10)).count, level(Some(10)).omitted), (10, 590));
    let spokes: String = (0..1_500)
        .map(|n| format!("{} hub -> n{n} [relation=uses];\n", node(&format!("n{n}"), "short")))
        .collect();
    project.write("knowledge.dot", &format!("digraph {{ {} {spokes} }}", node("hub", "centre")));
    let hub = ask(&project, "centre", "all", 1);
    assert_eq!((hub.neighbors.len(), hub.omitted, hub.omitted_edges), (1_000, 500, 0));
}

#[test]
fn a_node_too_large_to_tell_leaves_its_room_to_the_others() {
    let project = Project::new();
    let node = |id: &str, message: &str| {
        format!(
            "{id} [type=component level=architecture status=current description=\"{message}\"];\n"
        )
    };
    let text =
        format!("digraph {{\n{}{}}}\n", node("a", &"y ".repeat(300_000)), node("b", "y small"));
    project.write("knowledge.dot", &text);
    let found = ask(&project, "y", "all", 0);
    assert_eq!((found.hits.as_slice(), found.omitted), (&["b".to_owned()][..], 1));
}
