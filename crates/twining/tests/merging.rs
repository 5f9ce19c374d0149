//! Branches come together in real repositories: with our drivers nothing
//! clashes, without them nothing is lost.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use twining_testcases::each;

use serde_json::{Value, json};
use twining_testkit::TestProject;

/// Records a branch adds; `TWINING_MERGE_RECORDS` for more.
fn records_each() -> usize {
    std::env::var("TWINING_MERGE_RECORDS")
        .ok()
        .and_then(|number| number.parse().ok())
        .unwrap_or(1000)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum With {
    /// Our drivers.
    Drivers,
    /// What `.gitattributes` says in a clone without us.
    Union,
    /// Nothing at all: git asks people.
    Nothing,
}

const WAYS: [With; 3] = [With::Drivers, With::Union, With::Nothing];
const DECISION: &str = "01M7EB3QY8BCK1T7V2TH9HG8T6";

fn repository(with: With) -> TestProject {
    let project = TestProject::with_git();
    for folder in ["decisions", "graph", "agents"] {
        std::fs::create_dir_all(project.file(folder)).expect("makes a folder");
    }
    if with == With::Drivers {
        let kinds = [
            ("decision", "decisions/*.json"),
            ("lines", "*.jsonl"),
            ("array", "graph/*.json"),
            ("features", "features.json"),
        ];
        let mut attributes = String::new();
        for (kind, files) in kinds {
            let driver =
                format!("'{}' merge-driver {kind} %O %A %B %P", env!("CARGO_BIN_EXE_twining"));
            project.git(["config", &format!("merge.twining-{kind}.driver"), &driver]);
            attributes.push_str(&format!("/.twining/{files} merge=twining-{kind}\n"));
        }
        attributes.push_str("/.twining/decisions/index.json merge=twining-array\n/.twining/agents/*.json merge=twining-array\n");
        std::fs::write(project.path().join(".git/info/attributes"), attributes).expect("writes");
    }
    let attributes = "blackboard.jsonl merge=union -text\ngraph/*.json merge=union -text\nagents/*.json merge=union -text\n*.json -text\n";
    if with != With::Nothing {
        std::fs::write(project.file(".gitattributes"), attributes).expect("writes");
    }
    std::fs::write(project.file(".gitignore"), "local/\n").expect("writes");
    let decision = json!({"id": DECISION, "timestamp": "2026-11-15T00:00:00.000Z", "agent_id": "a", "domain": "api", "scope": "src/",
        "summary": "Use JWT", "context": "c", "rationale": "r", "status": "active", "commit_hashes": [], "affected_files": []});
    write(
        &project,
        &format!("decisions/{DECISION}.json"),
        &(serde_json::to_string_pretty(&decision).expect("prints") + "\n"),
    );
    write(&project, "blackboard.jsonl", &entry("base", 0));
    write(&project, "graph/entities.json", &array(&[entity("base", 0)]));
    write(&project, "graph/relations.json", "[\n]\n");
    write(
        &project,
        "features.json",
        "{\n  \"features\": [\n    {\"id\": \"F\", \"status\": \"pending\"}\n  ]\n}\n",
    );
    commit(&project, "base");
    project
}

fn write(project: &TestProject, file: &str, text: &str) {
    std::fs::write(project.file(file), text).expect("writes");
}

fn read(project: &TestProject, file: &str) -> String {
    std::fs::read_to_string(project.file(file)).expect("reads")
}

fn commit(project: &TestProject, message: &str) {
    project.git(["add", "-A"]);
    project.git(["commit", "-q", "-m", message]);
}

fn entry(branch: &str, n: usize) -> String {
    let time = format!(
        "2026-11-15T{:02}:{:02}:{:02}.{:03}Z",
        n / 3600 % 24,
        n / 60 % 60,
        n % 60,
        branch.len()
    );
    format!(
        "{{\"id\":\"{branch}-{n}\",\"timestamp\":\"{time}\",\"entry_type\":\"finding\",\"scope\":\"src/\",\"summary\":\"{branch} {n}\"}}\n"
    )
}

fn entity(branch: &str, n: usize) -> String {
    format!(
        "{{\"id\":\"{branch}-{n}\",\"name\":\"{branch}-{n}\",\"type\":\"concept\",\"properties\":{{}},\"created_at\":\"\",\"updated_at\":\"\"}}"
    )
}

fn array(elements: &[String]) -> String {
    format!("[\n{}\n]\n", elements.join("\n,"))
}

/// What a branch does: so many entries and entities, a commit linked with the
/// decision, a feature.
fn work(project: &TestProject, branch: &str, records: usize) {
    work_on_lines(project, branch, records);
    let file = format!("decisions/{DECISION}.json");
    let mut decision: Value = serde_json::from_str(&read(project, &file)).expect("is JSON");
    decision["commit_hashes"]
        .as_array_mut()
        .expect("a list")
        .push(json!(format!("{branch}0123456")));
    write(project, &file, &(serde_json::to_string_pretty(&decision).expect("prints") + "\n"));
    let mut features: Value =
        serde_json::from_str(&read(project, "features.json")).expect("is JSON");
    features["features"]
        .as_array_mut()
        .expect("a list")
        .push(json!({"id": branch, "description": branch, "status": "pending"}));
    write(
        project,
        "features.json",
        &(serde_json::to_string_pretty(&features).expect("prints") + "\n"),
    );
    commit(project, branch);
}

/// The part of it that git can unite line by line.
fn work_on_lines(project: &TestProject, branch: &str, records: usize) {
    let board = read(project, "blackboard.jsonl")
        + &(1..=records).map(|n| entry(branch, n)).collect::<String>();
    write(project, "blackboard.jsonl", &board);
    let old: Vec<Value> =
        serde_json::from_str(&read(project, "graph/entities.json")).expect("is JSON");
    let fresh = (1..=records).map(|n| entity(branch, n));
    let elements: Vec<String> = old.iter().map(Value::to_string).chain(fresh).collect();
    write(project, "graph/entities.json", &array(&elements));
}

fn merge(project: &TestProject, branch: &str) {
    if !project.try_git(&["merge", "-q", "--no-edit", branch]) {
        // People without our driver who take what git left as it is.
        project.git(["add", "-A"]);
        project.git(["commit", "-q", "-m", "as git left it"]);
    }
}

fn twining(project: &Path, words: &[&str]) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_twining"));
    command
        .args(words)
        .arg("--json")
        .current_dir(project)
        .stdin(Stdio::null())
        .env("XDG_CONFIG_HOME", project.join("nobody"));
    for name in ["TWINING_PROJECT", "CLAUDE_PROJECT_DIR", "TWINING_AGENT"] {
        command.env_remove(name);
    }
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("prints JSON")
}

/// What everybody recorded is there: for us at once, and in the files after the next write.
fn assert_all_there(project: &TestProject, branches: &[&str], records: usize, with: With) {
    let status = twining(&project.path(), &["status"]);
    assert_eq!(status["graph_entities"], json!(branches.len() * records + 1), "{with:?}: {status}");
    let entries = status["blackboard_entries"].as_u64().expect("a number");
    assert_eq!(entries, (branches.len() * records + 1) as u64, "{with:?}");
    let why = twining(&project.path(), &["why", "src/"]);
    let linked: BTreeSet<&str> = why["decisions"][0]["commit_hashes"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(
        linked,
        branches
            .iter()
            .map(|branch| format!("{branch}0123456"))
            .collect::<Vec<_>>()
            .iter()
            .map(String::as_str)
            .collect(),
        "{with:?}"
    );
    let features = twining(&project.path(), &["features"]);
    assert_eq!(features["total"], json!(branches.len() + 1), "{with:?}: {features}");

    twining(&project.path(), &["post", "finding", "after the merge"]);
    twining(&project.path(), &["add-entity", "after", "concept"]);
    twining(&project.path(), &["features", "update", "F", "--description", "changed"]);
    for file in ["graph/entities.json", &format!("decisions/{DECISION}.json"), "features.json"] {
        let text = read(project, file);
        assert!(
            serde_json::from_str::<Value>(&text).is_ok(),
            "{with:?}: {file} is not whole: {}",
            &text[..text.len().min(400)]
        );
    }
    let board = read(project, "blackboard.jsonl");
    let bad: Vec<&str> =
        board.lines().filter(|line| serde_json::from_str::<Value>(line).is_err()).collect();
    assert_eq!(bad, Vec::<&str>::new(), "{with:?}");
    assert_eq!(twining(&project.path(), &["status"])["unreadable"], Value::Null, "{with:?}");
}

#[test]
fn two_branches_of_a_thousand_records_each_come_together() {
    each(WAYS, |with| {
        let project = repository(with);
        for branch in ["left", "right"] {
            project.git(["checkout", "-q", "-b", branch, "main"]);
            work(&project, branch, records_each());
        }
        project.git(["checkout", "-q", "main"]);
        merge(&project, "left");
        merge(&project, "right");
        assert_all_there(&project, &["left", "right"], records_each(), with);
    });
}

#[test]
fn a_graph_that_git_left_in_two_is_read_at_once_and_one_after_the_next_edit() {
    let node = |id: &str, words: &str| {
        format!(
            "  {id} [type=\"component\", level=\"architecture\", status=\"current\", description=\"{words}\"];\n"
        )
    };
    let graph = |nodes: &str| format!("digraph ProjectKnowledge {{\n{nodes}}}\n");
    let add = r#"{"op":"add_node","id":"later","type":"component","level":"architecture","status":"current","description":"d"}"#;
    each([("merge", true), ("diff3", true)], |(style, both_there)| {
        let project = repository(With::Nothing);
        project.git(["config", "merge.conflictStyle", style]);
        write(&project, "knowledge.dot", &graph(&node("shared", "as it was")));
        commit(&project, "graph");
        for branch in ["left", "right"] {
            project.git(["checkout", "-q", "-b", branch, "main"]);
            write(
                &project,
                "knowledge.dot",
                &graph(&(node("shared", "as it was") + &node(branch, branch))),
            );
            commit(&project, branch);
        }
        merge(&project, "left");
        assert!(read(&project, "knowledge.dot").contains("<<<<<<<"));
        let found = twining(&project.path(), &["knowledge", "retrieve", "left right"]);
        let hits: BTreeSet<&str> =
            found["hits"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
        assert_eq!(hits.contains("left") && hits.contains("right"), both_there, "{found}");
        let updated = twining(&project.path(), &["knowledge", "update", "--op", add]);
        assert_eq!((&updated["joined"], &updated["nodes"]), (&json!(true), &json!(4)), "{updated}");
        let text = read(&project, "knowledge.dot");
        assert!(
            !text.contains("<<<<") && !text.contains("====") && text.contains("later"),
            "{text}"
        );
        assert_eq!(twining(&project.path(), &["knowledge", "check"])["valid"], true);
    });
    // What the sides disagree on is nobody's to guess.
    let project = repository(With::Nothing);
    let torn = format!(
        "digraph {{\n<<<<<<< HEAD\n{}=======\n{}>>>>>>> other\n}}\n",
        node("a", "one"),
        node("a", "one").replace("component", "rule")
    );
    write(&project, "knowledge.dot", &torn);
    let mut command = Command::new(env!("CARGO_BIN_EXE_twining"));
    command
        .args(["knowledge", "update", "--op", add])
        .current_dir(project.path())
        .stdin(Stdio::null());
    let output = command.output().expect("the program starts");
    assert!(
        !output.status.success()
            && String::from_utf8_lossy(&output.stderr).contains("unresolved merge conflict"),
        "{output:?}"
    );
    assert_eq!(read(&project, "knowledge.dot"), torn);
}

#[test]
fn what_two_branches_call_by_one_name_is_one_thing_after_the_merge() {
    each(WAYS, |with| {
        let project = repository(with);
        for branch in ["left", "right"] {
            project.git(["checkout", "-q", "-b", branch, "main"]);
            let end = format!("{branch}-end");
            twining(&project.path(), &["add-entity", &end, "module"]);
            twining(
                &project.path(),
                &["add-entity", "shared", "concept", "--property", &format!("{branch}=1")],
            );
            twining(&project.path(), &["add-relation", &end, "calls", "shared"]);
            commit(&project, branch);
        }
        merge(&project, "left");
        let near = twining(&project.path(), &["neighbors", "shared"]);
        let names: BTreeSet<&str> = near["neighbors"]
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|near| near["entity"]["name"].as_str())
            .collect();
        assert_eq!(names, BTreeSet::from(["left-end", "right-end"]), "{with:?}: {near}");
        assert_eq!(near["center"]["properties"], json!({"left": "1", "right": "1"}), "{with:?}");
        assert_eq!(
            twining(&project.path(), &["path", "left-end", "right-end"])["length"],
            2,
            "{with:?}"
        );
        let found = twining(&project.path(), &["graph-query", "shared"]);
        assert_eq!(found["entities"].as_array().map(Vec::len), Some(1), "{with:?}: {found}");
    });
}

#[test]
fn five_branches_give_the_same_bytes_in_any_order() {
    let branches = ["one", "two", "three", "four", "five"];
    let project = repository(With::Drivers);
    for branch in branches {
        project.git(["checkout", "-q", "-b", branch, "main"]);
        work(&project, branch, records_each());
    }
    let mut seen = BTreeSet::new();
    for (name, order) in
        [("there", [0, 1, 2, 3, 4]), ("back", [4, 3, 2, 1, 0]), ("mixed", [2, 0, 4, 1, 3])]
    {
        project.git(["checkout", "-q", "-b", name, "main"]);
        for at in order {
            project.git(["merge", "-q", "--no-edit", branches[at]]);
        }
        seen.insert(project.git(["rev-parse", "HEAD^{tree}"]));
    }
    assert_eq!(seen.len(), 1, "the order of merging shows");
    assert_all_there(&project, &branches, records_each(), With::Drivers);
}

#[test]
fn a_criss_cross_merge_doubles_nothing() {
    each([With::Drivers, With::Union], |with| {
        let project = repository(with);
        for branch in ["left", "right"] {
            project.git(["checkout", "-q", "-b", branch, "main"]);
            if with == With::Drivers {
                work(&project, branch, 50);
            } else {
                work_on_lines(&project, branch, 50);
                commit(&project, branch);
            }
        }
        project.git(["checkout", "-q", "-b", "left-old", "left"]);
        project.git(["checkout", "-q", "left"]);
        merge(&project, "right");
        project.git(["checkout", "-q", "right"]);
        merge(&project, "left-old");
        if with == With::Drivers {
            work(&project, "later", 50);
        }
        merge(&project, "left");
        let branches: &[&str] =
            if with == With::Drivers { &["left", "right", "later"] } else { &["left", "right"] };
        let ids: Vec<String> = read(&project, "blackboard.jsonl")
            .lines()
            .filter(|line| line.starts_with('{'))
            .map(str::to_owned)
            .collect();
        let distinct: BTreeSet<&String> = ids.iter().collect();
        if with == With::Drivers {
            assert_eq!(distinct.len(), ids.len());
        }
        assert_eq!(distinct.len(), branches.len() * 50 + 1);
        if with == With::Drivers {
            assert_all_there(&project, branches, 50, with);
        } else {
            let status = twining(&project.path(), &["status"]);
            assert_eq!(
                (&status["graph_entities"], &status["blackboard_entries"]),
                (&json!(101), &json!(101)),
                "{status}"
            );
        }
    });
}

#[test]
fn rebase_and_cherry_pick_go_through() {
    let project = repository(With::Drivers);
    project.git(["checkout", "-q", "-b", "feature", "main"]);
    work(&project, "first", 30);
    work(&project, "second", 30);
    project.git(["checkout", "-q", "-b", "picked", "main"]);
    work(&project, "own", 30);
    project.git(["cherry-pick", "feature"]);
    let board = read(&project, "blackboard.jsonl");
    assert!(
        board.contains("second-30") && board.contains("own-30") && !board.contains("first-1\""),
        "only what was picked"
    );
    project.git(["checkout", "-q", "main"]);
    work(&project, "main", 30);
    project.git(["checkout", "-q", "feature"]);
    project.git(["rebase", "-q", "main"]);
    assert_all_there(&project, &["first", "second", "main"], 30, With::Drivers);
}

#[test]
fn what_one_side_archived_stays_archived_and_two_words_for_one_thing_are_both_kept() {
    let project = repository(With::Drivers);
    let file = format!("decisions/{DECISION}.json");
    let board: String = (1..=20).map(|n| entry("old", n)).collect();
    write(&project, "blackboard.jsonl", &board);
    commit(&project, "twenty");
    for (branch, words) in [("left", "because it is quick"), ("right", "because it is cheap")] {
        project.git(["checkout", "-q", "-b", branch, "main"]);
        let decision = read(&project, &file)
            .replace("\"rationale\": \"r\"", &format!("\"rationale\": \"{words}\""));
        write(&project, &file, &decision);
        if branch == "left" {
            write(&project, "blackboard.jsonl", &entry("summary", 30));
        }
        commit(&project, branch);
    }
    project.git(["merge", "-q", "--no-edit", "left"]);
    assert_eq!(
        read(&project, "blackboard.jsonl").lines().count(),
        1,
        "the archived ones did not come back"
    );
    let why = twining(&project.path(), &["why", "src/"]);
    let told = why.to_string();
    assert_eq!(why["decisions"][0]["status"], "provisional");
    assert!(
        why["contested"] == true && told.contains("it is quick") && told.contains("it is cheap"),
        "{told}"
    );
}

#[test]
fn hostile_versions_end_as_a_conflict_with_ours_untouched() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = |name: &str| dir.path().join(name);
    let deep = "[".repeat(200_000);
    each(["array", "decision", "features"], |kind| {
        for theirs in [
            "{\"id\":",
            "[1,2",
            "\u{0}\u{1}",
            "<<<<<<< a\n",
            deep.as_str(),
            "[{\"id\":\"x\"},{\"id\":",
        ] {
            std::fs::write(path("base"), "[]").expect("writes");
            std::fs::write(path("ours"), "[{\"id\":\"mine\"}]\n").expect("writes");
            std::fs::write(path("theirs"), theirs).expect("writes");
            let mut driver = Command::new(env!("CARGO_BIN_EXE_twining"));
            driver
                .args(["merge-driver", kind])
                .args(["base", "ours", "theirs"].map(path))
                .arg("x\u{1b}[31m");
            let output = driver.current_dir(dir.path()).output().expect("the driver starts");
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!said.contains('\u{1b}') && output.stdout.is_empty(), "{said}");
            let ours = std::fs::read_to_string(path("ours")).expect("reads");
            assert_eq!(
                (output.status.code(), ours.as_str()),
                (Some(1), "[{\"id\":\"mine\"}]\n"),
                "{kind} {said}"
            );
        }
    });
}

#[test]
fn a_version_that_is_too_large_is_left_to_people_and_costs_no_memory() {
    let project = crate::common::Project::new();
    let at = |name: &str| project.path().join(name);
    each(["lines", "array", "decision", "features", "knowledge"], |kind| {
        for (name, text) in [("base", ""), ("ours", "mine\n")] {
            std::fs::write(at(name), text).expect("writes");
        }
        // As large as can be, without a byte on disk.
        std::fs::File::create(at("theirs"))
            .and_then(|file| file.set_len(1 << 40))
            .expect("makes a file");
        let ran = project.run(&["merge-driver", kind, "base", "ours", "theirs", "k"]);
        assert!(
            ran.code == 1 && ran.stderr.contains("their version has more than"),
            "{kind}: {ran:?}"
        );
        assert_eq!(std::fs::read_to_string(at("ours")).expect("is there"), "mine\n", "{kind}");
    });
}
