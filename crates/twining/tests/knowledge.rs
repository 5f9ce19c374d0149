//! Knowledge at the command line: DOT files, the graph, its merge in a real repository.

use crate::common::Project;
use serde_json::{Value, json};
use twining_testcases::each;
use twining_testkit::TestProject;

fn write(project: &Project, name: &str, text: impl AsRef<[u8]>) {
    let path = project.path().join(name);
    std::fs::create_dir_all(path.parent().expect("has a folder")).expect("makes the folder");
    std::fs::write(path, text).expect("writes");
}

#[test]
fn any_dot_file_gets_the_parsers_word() {
    let project = Project::new();
    write(&project, "good.dot", "strict graph { a -- b; a -- b [x=1] }");
    write(&project, "bad.dot", "digraph {\n  api-server [x=1];\n  a -> ;\n}\n");
    let ran = project.run(&["dot", "check", "good.dot", "bad.dot", "absent.dot", "--json"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    let told: Value = serde_json::from_str(&ran.stdout).expect("prints JSON");
    assert_eq!(
        told[0],
        json!({"file": "good.dot", "ok": true, "nodes": 2, "edges": 1, "errors": []})
    );
    assert_eq!(
        (&told[1]["ok"], &told[1]["errors"][0]["line"]),
        (&json!(false), &json!(2)),
        "{told}"
    );
    assert!(
        told[1]["errors"].as_array().is_some_and(|errors| errors.len() == 2),
        "every error is told: {told}"
    );
    assert!(
        told[2]["errors"][0]["message"]
            .as_str()
            .is_some_and(|message| message.starts_with("cannot be read")),
        "{told}"
    );

    let shown = project.run(&["dot", "check", "good.dot", "bad.dot"]);
    assert!(
        shown.stdout.starts_with("ok good.dot 2 nodes, 1 edge\nbad.dot:2:"),
        "{}",
        shown.stdout
    );
    assert_eq!(project.run_with(&["dot", "check", "-"], "digraph {}").code, 0);
    assert_eq!(project.run(&["dot", "check"]).code, 2);
}

#[test]
fn the_check_prints_places_that_editors_can_jump_to() {
    let project = Project::new();
    let missing = project.run(&["knowledge", "check"]);
    assert_eq!(missing.code, 0, "{missing:?}");
    insta::assert_snapshot!(missing.stdout, @"
    .twining/knowledge.dot: there is no knowledge graph yet
        suggestion: `twining knowledge check --create` creates one
    valid: .twining/knowledge.dot 0 nodes, 0 edges
    ");
    let made = project.run(&["knowledge", "check", "--create"]);
    insta::assert_snapshot!(made.stdout, @"valid: .twining/knowledge.dot 6 nodes, 0 edges");
    let text = "digraph {\n  a [type=rule level=application\u{1b}[31m status=active description=d priority=high];\n  a -> b;\n}\n";
    write(
        &project,
        ".twining/knowledge.dot",
        text.replace("application\u{1b}[31m", "\"application\u{1b}[31m\""),
    );
    let ran = project.run(&["knowledge", "check"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    insta::assert_snapshot!(ran.stdout, @r#"
    .twining/knowledge.dot:2:16: invalid level 'applicationU+001B[31m', must be one of: architecture, implementation (a.level)
    .twining/knowledge.dot:2:41: invalid status 'active', must be one of: current, deprecated, future, legacy (a.status)
        suggestion: current
    .twining/knowledge.dot:3:3: edge references unknown target node 'b' (a.target)
    .twining/knowledge.dot:3:3: edge has no relation; it counts as related_to (a.relation)
        suggestion: relation="…" with one of calls, uses, implements, configured_with, must_follow, must_not_use, superseded_by, supersedes, coexists_with
    3 errors: .twining/knowledge.dot 1 node, 1 edge
    "#);
    let told = project.run(&["knowledge", "check", "--json"]);
    let told: Value = serde_json::from_str(&told.stdout).expect("prints JSON");
    assert_eq!(
        told["errors"][1],
        json!({"node_id": "a", "field": "status", "line": 2, "column": 41, "suggestion": "current",
            "message": "invalid status 'active', must be one of: current, deprecated, future, legacy"})
    );
}

#[test]
fn the_tool_and_the_command_give_the_same_pack() {
    let project = Project::new();
    project.run(&["knowledge", "check", "--create"]);
    let found = project.run(&["knowledge", "retrieve", "coverage", "--depth", "0"]);
    insta::assert_snapshot!(found.stdout, @r#"
    digraph ProjectKnowledge {
        "test-coverage" [type="rule", level="implementation", status="current", description="New code is covered by tests, at least 80%", priority="critical"];
    }
    // matches: 1, neighbours: 0
    "#);
    let by_hand = project.json(&[
        "knowledge",
        "pack",
        "Raise the coverage of handlers",
        "--story",
        "S-1",
        "--criterion",
        "tests pass",
    ]);
    assert_eq!(
        (&by_hand["cached"], &by_hand["hits"][0]),
        (&json!(false), &json!("test-coverage")),
        "{by_hand}"
    );
    let mut server = project.server(&[]);
    server.initialize();
    let arguments = json!({"story_id": "S-1", "description": "Raise the coverage of handlers", "acceptance_criteria": ["tests pass"]});
    let by_tool = server.call("twining_knowledge_pack", &arguments);
    assert_eq!(by_tool["structuredContent"]["subgraph"], by_hand["subgraph"]);
    assert_eq!(by_tool["structuredContent"]["cached"], true);
}

#[test]
fn an_edit_at_the_prompt_is_checked_and_told() {
    let project = Project::new();
    project.run(&["knowledge", "check", "--create"]);
    let op =
        r#"{"op":"add_edge","from":"code-style","to":"test-coverage","relation":"must_follow"}"#;
    let done = project.run(&[
        "knowledge",
        "update",
        "--op",
        op,
        "--op",
        r#"{"op":"update_node","id":"code-style","tag":"fmt"}"#,
    ]);
    insta::assert_snapshot!(done.stdout, @"
    written: .twining/knowledge.dot 6 nodes, 1 edge
      changed code-style
      added 1 edge
    ");
    let wrong = project.run(&[
        "knowledge",
        "update",
        "--op",
        r#"{"op":"update_node","id":"code-style","status":"active"}"#,
    ]);
    assert_eq!(wrong.code, 2, "{wrong:?}");
    assert!(
        wrong.stderr.contains("invalid status 'active'") && wrong.stderr.contains("(current)"),
        "{}",
        wrong.stderr
    );
    assert_eq!(project.run(&["knowledge", "update", "--op", "{}"]).code, 2);
}

/// A repository whose graph is merged by our driver.
fn repository(graph: &str) -> TestProject {
    let project = TestProject::with_git();
    let driver = format!("'{}' merge-driver knowledge %O %A %B %P", env!("CARGO_BIN_EXE_twining"));
    project.git(["config", "merge.twining-knowledge.driver", &driver]);
    std::fs::create_dir(project.file("")).expect("makes the folder");
    std::fs::write(
        project.path().join(".gitattributes"),
        "knowledge.dot merge=twining-knowledge\n",
    )
    .expect("writes");
    commit(&project, graph, "base");
    project
}

fn commit(project: &TestProject, graph: &str, message: &str) {
    std::fs::write(project.file("knowledge.dot"), graph).expect("writes");
    project.git(["add", "-A"]);
    project.git(["commit", "-q", "-m", message]);
}

fn graph(nodes: impl Iterator<Item = String>) -> String {
    format!("digraph ProjectKnowledge {{\n{}}}\n", nodes.collect::<String>())
}

fn node(id: &str, rest: &str) -> String {
    format!(
        "    \"{id}\" [type=\"rule\" level=\"implementation\" {rest}];\n    \"{id}\" -> \"{id}\" [relation=\"uses\"];\n"
    )
}

#[test]
fn two_branches_add_a_thousand_nodes_each_and_edit_fifty_common_ones_and_nothing_is_lost() {
    let common = |side: &'static str| {
        (0..50).map(move |n| {
            let (status, priority) = match side {
                "ours" => ("current", "low"),
                "theirs" => ("deprecated", "critical"),
                _ => ("future", "medium"),
            };
            let text = if n % 2 == 0 { format!("text {n}") } else { format!("text {n} of {side}") };
            node(
                &format!("common-{n}"),
                &format!("status=\"{status}\" priority=\"{priority}\" description=\"{text}\""),
            )
        })
    };
    let own = |side: &'static str| {
        (0..1000).map(move |n| {
            node(
                &format!("{side}-{n}"),
                &format!("status=\"current\" priority=\"low\" description=\"of {side} {n}\""),
            )
        })
    };
    let project = repository(&graph(common("base")));
    project.git(["checkout", "-q", "-b", "theirs"]);
    commit(&project, &graph(common("theirs").chain(own("theirs"))), "theirs");
    project.git(["checkout", "-q", "main"]);
    commit(&project, &graph(own("ours").chain(common("ours"))), "ours");
    project.git(["merge", "-q", "--no-edit", "theirs"]);

    let text = std::fs::read(project.file("knowledge.dot")).expect("is there");
    let known = twining_engine::knowledge::KnowledgeGraph::read(&text);
    assert_eq!((known.errors.as_slice(), known.declared, known.edges()), (&[][..], 2050, 2050));
    for n in 0..50 {
        let node = known.node(&format!("common-{n}")).expect("is kept");
        assert_eq!((node.field("status"), node.field("priority")), ("current", "critical"));
        let both = ["ours", "theirs"].iter().all(|side| node.field("description").contains(side));
        assert_eq!(both, n % 2 == 1, "{}", node.field("description"));
    }
    assert_eq!(known.warnings.len(), 25, "each text that was marked is told by the check");
}

#[test]
fn a_conflict_that_people_must_settle_stops_the_merge_with_valid_dot_and_a_way_forward() {
    let with = |kind: &str| {
        graph(std::iter::once(node(
            "a",
            &format!("status=\"current\" priority=\"low\" description=\"d\" path=\"{kind}\""),
        )))
    };
    let project = repository(&with("src"));
    project.git(["checkout", "-q", "-b", "theirs"]);
    commit(&project, &with("lib"), "theirs");
    project.git(["checkout", "-q", "main"]);
    commit(&project, &with("app"), "ours");
    let merge = twining_testkit::git_in(&project.path(), &["merge", "--no-edit", "theirs"]);
    assert_eq!(merge.status.code(), Some(1), "{merge:?}");
    let said = String::from_utf8_lossy(&merge.stderr).into_owned()
        + &String::from_utf8_lossy(&merge.stdout);
    each(
        [
            "the node a: `path` is app in ours and lib in theirs",
            "twining knowledge check",
            "git add .twining/knowledge.dot",
        ],
        |words| {
            assert!(said.contains(words), "{words} in {said}");
        },
    );
    assert!(project.git(["status", "--porcelain"]).contains("UU .twining/knowledge.dot"));
    let text = std::fs::read(project.file("knowledge.dot")).expect("is there");
    assert_eq!(
        twining_engine::knowledge::KnowledgeGraph::read(&text).errors,
        [],
        "{}",
        String::from_utf8_lossy(&text)
    );
    project.git(["add", "-A"]);
    project.git(["commit", "-q", "-m", "Resolve the knowledge graph conflict"]);
}

#[test]
fn a_merge_driver_that_cannot_read_says_so_and_leaves_ours() {
    let project = Project::new();
    write(&project, "a.dot", "digraph { }");
    let ran = project.run(&["merge-driver", "knowledge", "absent", "a.dot", "a.dot", "k.dot"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{ran:?}");
    assert!(ran.stderr.contains("the common ancestor cannot be read"), "{ran:?}");
    write(&project, "b.dot", "digraph { a [");
    let broken = project.run(&["merge-driver", "knowledge", "a.dot", "a.dot", "b.dot", "k.dot"]);
    assert_eq!(broken.code, 1, "{broken:?}");
    assert_eq!(
        std::fs::read_to_string(project.path().join("a.dot")).expect("is there"),
        "digraph { }"
    );
}

#[test]
fn a_review_and_a_picture_from_a_real_repository() {
    let rule = |description: &str| {
        graph(std::iter::once(node(
            "r",
            &format!("status=\"current\" priority=\"critical\" description=\"{description}\""),
        )))
    };
    let repository = repository(&rule("before"));
    repository.git(["checkout", "-q", "-b", "work"]);
    std::fs::write(repository.path().join("a.rs"), "x").expect("writes");
    commit(&repository, &rule("after"), "work");
    let project = Project::new();
    let place = repository.path();
    let run = |words: &[&str]| {
        let ran = project.command(words).arg("--project").arg(&place).output().expect("starts");
        assert!(ran.status.success(), "{ran:?}");
        String::from_utf8(ran.stdout).expect("is text")
    };
    let told: Value =
        serde_json::from_str(&run(&["review-context", "code", "--story", "S-1", "--json"]))
            .expect("prints JSON");
    assert_eq!(told["knowledge_modified"], true, "{told}");
    assert_eq!(told["changes"]["nodes_changed"], json!([{"id": "r", "fields": ["description"]}]));
    assert_eq!(told["critical_rules"][0]["id"], "r");
    let between = run(&["review-context", "code", "--base", "main", "--head", "main"]);
    assert!(!between.contains("edits the graph"), "{between}");

    assert!(run(&["knowledge", "show", "--svg"]).starts_with("<svg"));
    assert!(
        run(&["knowledge", "show", "--around", "r", "--depth", "2", "--dot"])
            .contains("description=\"after\"")
    );
    let metrics: Value =
        serde_json::from_str(&run(&["status", "--metrics", "--json"])).expect("prints JSON");
    assert_eq!(metrics["metrics"]["stories"]["S-1"]["reviews"], 1, "{metrics}");
    assert!(run(&["status", "--metrics"]).contains("By story"));
}

#[test]
fn every_knowledge_verb_answers_whatever_stands_in_the_file() {
    let project = Project::new();
    let verbs: [&[&str]; 6] = [
        &["knowledge", "check"],
        &["knowledge", "retrieve", "api"],
        &["knowledge", "pack", "Add an API", "--story", "S"],
        &["knowledge", "show", "--mermaid"],
        &["knowledge", "update", "--op", r#"{"op":"remove_node","id":"zz"}"#],
        &["review-context", "code", "--story", "S"],
    ];
    let hostile: [&[u8]; 6] = [
        b"",
        b"digraph {}",
        b"not a graph",
        b"digraph { a [type=",
        b"\xff\xfe\x00\x01",
        b"graph { a -- b; }",
    ];
    each(verbs, |words| {
        let missing = project.run(words);
        assert!([0, 2].contains(&missing.code), "{words:?}: {missing:?}");
    });
    for text in hostile {
        write(&project, ".twining/knowledge.dot", text);
        each(verbs, |words| {
            let ran = project.run(&[words, &["--json"]].concat());
            assert!([0, 2, 3].contains(&ran.code), "{words:?}: {ran:?}");
            serde_json::from_str::<Value>(&ran.stdout).expect("prints JSON");
        });
        assert_eq!(
            std::fs::read(project.path().join(".twining/knowledge.dot")).expect("is there"),
            text,
            "nothing was written"
        );
    }
}

#[test]
fn in_a_linked_worktree_a_path_means_that_file_and_a_review_its_own_graph() {
    let rule = "\"audited\" [type=\"rule\" level=\"architecture\" status=\"current\" priority=\"critical\" description=\"d\"];";
    let project = repository(&format!("digraph K {{\n    {rule}\n}}\n"));
    let dir = tempfile::tempdir().expect("a temporary directory");
    let linked = std::fs::canonicalize(dir.path()).expect("is there").join("fix");
    project.git(["worktree", "add", "-q", "-b", "fix", &linked.display().to_string()]);
    std::fs::write(
        linked.join(".twining/knowledge.dot"),
        "digraph K {\n    \"new\" [type=\"zzz\"];\n}\n",
    )
    .expect("writes");
    std::fs::write(linked.join("only-here.dot"), "digraph {}").expect("writes");
    let ask = |words: &[&str]| {
        let ran = std::process::Command::new(env!("CARGO_BIN_EXE_twining"))
            .args(words)
            .arg("--json")
            .current_dir(&linked)
            .output();
        serde_json::from_slice::<Value>(&ran.expect("runs").stdout).expect("prints JSON")
    };
    let shared = ask(&["knowledge", "check"]);
    assert_eq!(
        (&shared["valid"], shared["warnings"].as_array().map(Vec::len)),
        (&json!(true), Some(1)),
        "{shared}"
    );
    each(
        [
            linked.join(".twining/knowledge.dot").display().to_string(),
            ".twining/knowledge.dot".to_owned(),
        ],
        |path| {
            assert_eq!(ask(&["knowledge", "check", &path])["valid"], json!(false), "{path}");
        },
    );
    let main = std::fs::canonicalize(project.file("knowledge.dot"))
        .expect("is there")
        .display()
        .to_string();
    assert_eq!(ask(&["knowledge", "check", &main])["valid"], json!(true));
    assert_eq!(ask(&["knowledge", "check", "only-here.dot"])["valid"], json!(true));
    let review = ask(&["review-context", "code", "--base", "main"]);
    assert_eq!(
        (&review["changes"]["nodes_added"], &review["critical_rules"][0]["change"]),
        (&json!(["new"]), &json!("removed")),
        "{review}"
    );
}
