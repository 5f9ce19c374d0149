//! Linked clones with the built program: links, works offline, comes back, and is killed.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use twining_testkit::files::{board_ids, shared_state};

use crate::common::Project;
use crate::common::team_server::{TOKEN, TeamServer};

fn link(project: &Project, server: &TeamServer) -> Value {
    let mut command = project.command(&["link", &server.address(), "--yes", "--json"]);
    for name in ["CLAUDECODE", "CODEX_SANDBOX", "GEMINI_CLI", "CURSOR_AGENT"] {
        command.env_remove(name);
    }
    let token = project.path().parent().expect("a folder").join("token");
    std::fs::write(&token, format!("{TOKEN}\n")).expect("writes");
    command.stdin(std::fs::File::open(token).expect("opens"));
    let output = command.output().expect("starts");
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn linked(server: &TeamServer) -> Project {
    let project = Project::new();
    link(&project, server);
    project
}

fn post(project: &Project, summary: &str) -> Value {
    project.json(&["post", "finding", summary])
}

/// How often each entry is in the log.
fn sent(server: &TeamServer) -> BTreeMap<String, usize> {
    let mut times = BTreeMap::new();
    for entry in server.log.all().iter().flat_map(|line| &line.change.entries) {
        *times.entry(entry.summary.clone()).or_default() += 1;
    }
    times
}

#[test]
fn what_one_clone_had_before_reaches_the_other_and_writes_say_that_they_are_synced() {
    let server = TeamServer::start();
    let (first, second) = (Project::new(), Project::new());
    post(&first, "before the link");
    first.decide("use sqlite", "src/");
    let answer = link(&first, &server);
    assert_eq!(answer["synced"], true, "{answer}");
    assert!(answer["next"].as_str().expect("text").starts_with("git rm -r -q --cached"));
    assert_eq!(link(&second, &server)["received"], answer["sent"]);
    let posted = post(&second, "from the second");
    assert_eq!(posted["synced"], true, "{posted}");
    let synced = first.json(&["sync"]);
    assert_eq!((&synced["sent"], &synced["received"]), (&json!(0), &json!(1)));
    assert_eq!(shared_state(first.path()), shared_state(second.path()));
    // Linked once more, nothing is doubled.
    let lines = server.log.all().len();
    assert_eq!(link(&first, &server)["sent"], 0);
    assert_eq!(server.log.all().len(), lines);
    assert_eq!(shared_state(first.path()), shared_state(second.path()));
}

#[test]
fn writes_made_offline_arrive_once_although_answers_are_lost() {
    let server = TeamServer::start();
    let clone = linked(&server);
    server.set_down(true);
    for n in 0..12 {
        assert_eq!(post(&clone, &format!("offline {n}"))["synced"], false);
    }
    let id = clone.decide("use redis", "src/");
    assert!(!id.is_empty(), "decisions work offline");
    let status = clone.json(&["status"]);
    let warning = status["warnings"]
        .as_array()
        .and_then(|warnings| warnings.iter().find(|warning| warning["code"] == "offline"))
        .expect("says so");
    assert!(warning["message"].as_str().expect("text").contains("13 changes not sent yet"));
    assert!(clone.run(&["doctor"]).stdout.contains("13 changes not sent yet"));
    assert_eq!(clone.run(&["sync"]).code, 1, "the service is down");
    server.set_down(false);
    server.lose_answers(3);
    for _ in 0..4 {
        clone.run(&["sync"]);
    }
    let times = sent(&server);
    assert!((0..12).all(|n| times.get(&format!("offline {n}")) == Some(&1)), "{times:?}");
    let state = clone.json(&["sync"]);
    assert_eq!(state["waiting"], 0);
    let status = clone.json(&["status"]);
    assert!(!status["warnings"].to_string().contains("offline"), "{}", status["warnings"]);
}

#[test]
fn a_process_killed_while_it_sends_loses_and_doubles_nothing() {
    let server = TeamServer::start();
    let clone = linked(&server);
    server.set_down(true);
    for n in 0..40 {
        post(&clone, &format!("offline {n}"));
    }
    server.set_down(false);
    for round in 0..12 {
        server.lose_answers(usize::from(round % 3 == 0));
        let mut child = clone
            .command(&["sync"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("starts");
        std::thread::sleep(Duration::from_millis(4 * round));
        child.kill().expect("kills");
        child.wait().expect("ends");
    }
    server.lose_answers(0);
    let state = clone.json(&["sync"]);
    assert_eq!(state["waiting"], 0);
    let times = sent(&server);
    assert!((0..40).all(|n| times.get(&format!("offline {n}")) == Some(&1)), "{times:?}");
    assert_eq!(board_ids(clone.path()).expect("reads").len(), 40);
    let other = linked(&server);
    assert_eq!(shared_state(other.path()), shared_state(clone.path()));
}

#[test]
fn a_server_takes_in_what_others_write_and_sends_what_waits() {
    let server = TeamServer::start();
    let (first, second) = (linked(&server), linked(&server));
    server.set_down(true);
    post(&first, "made offline");
    server.set_down(false);
    let mut mcp = first.server(&[]);
    mcp.initialize();
    mcp.call("twining_status", &json!({}));
    let until = Instant::now() + Duration::from_secs(20);
    let waits = |is_done: &dyn Fn() -> bool| {
        while !is_done() {
            assert!(Instant::now() < until, "the worker does not do it");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    waits(&|| sent(&server).contains_key("made offline"));
    second.json(&["sync"]);
    assert_eq!(post(&second, "from another")["synced"], true);
    let board = first.path().join(".twining/blackboard.jsonl");
    waits(&|| std::fs::read_to_string(&board).unwrap_or_default().contains("from another"));
    let posted = mcp.call("twining_post", &json!({"entry_type": "finding", "summary": "by mcp"}));
    assert_eq!(posted["structuredContent"]["synced"], true, "{posted}");
}

#[test]
fn a_claim_holds_for_every_clone_and_needs_the_log() {
    let server = TeamServer::start();
    let (first, second) = (linked(&server), linked(&server));
    let claimed = first.json(&["--agent", "ada", "claim", "src/"]);
    assert!(claimed["claim"].is_object(), "{claimed}");
    let refused = second.run(&["--agent", "bob", "claim", "src/", "--json"]);
    assert!(refused.stdout.contains("CLAIMED"), "{refused:?}");
    server.set_down(true);
    let offline = second.run(&["--agent", "bob", "claim", "docs/", "--json"]);
    assert_eq!(offline.code, 1);
    let answer: Value = serde_json::from_str(&offline.stdout).expect("JSON");
    assert_eq!(answer["code"], "OFFLINE", "{answer}");
}

#[test]
fn a_tracked_file_that_names_a_service_does_nothing_and_is_named() {
    let server = TeamServer::start();
    let project = Project::new();
    post(&project, "makes the folder");
    let config = project.path().join(".twining/config.yml");
    let text = std::fs::read_to_string(&config).expect("reads");
    let address = server.address();
    std::fs::write(&config, format!("{text}link: {address}\ntoken: {TOKEN}\n")).expect("writes");
    // An outbox that came with the clone, and settings inside the project.
    let local = project.path().join(".twining/local");
    std::fs::write(local.join("outbox.jsonl"), "{\"seal\":\"1:2:3\"}\n").expect("writes");
    assert!(post(&project, "written")["synced"].is_null());
    let status = project.json(&["status"]);
    let said = status.to_string();
    assert!(said.contains("`link`") && said.contains("`token`"), "{said}");
    assert!(said.contains("foreign_outbox"), "{said}");
    assert_eq!(server.asked(), 0);
}

#[test]
fn a_copied_folder_is_not_linked() {
    let server = TeamServer::start();
    let clone = linked(&server);
    server.set_down(true);
    post(&clone, "waits");
    let copy = Project::new();
    let copied = std::process::Command::new("cp")
        .arg("-a")
        .arg(clone.path().join(".twining"))
        .arg(copy.path())
        .status()
        .expect("copies");
    assert!(copied.success());
    server.set_down(false);
    assert_eq!(copy.run(&["sync"]).code, 1);
    assert!(post(&copy, "in the copy")["synced"].is_null());
    assert!(sent(&server).is_empty(), "{:?}", sent(&server));
}

#[test]
fn after_unlink_the_files_are_complete_and_git_may_track_them_again() {
    let server = TeamServer::start();
    let clone = linked(&server);
    post(&clone, "kept");
    let ignored = clone.path().join(".twining/.gitignore");
    assert!(std::fs::read_to_string(&ignored).expect("reads").contains("/blackboard.jsonl"));
    let mut command = clone.command(&["unlink", "--json"]);
    command.env_remove("CLAUDECODE");
    let output = command.output().expect("starts");
    assert!(output.status.success(), "{output:?}");
    assert!(!std::fs::read_to_string(&ignored).expect("reads").contains("/blackboard.jsonl"));
    assert!(post(&clone, "here alone")["synced"].is_null());
    assert_eq!(sent(&server).len(), 1);
}

#[test]
fn a_wrong_token_changes_nothing() {
    let server = TeamServer::start();
    let project = Project::new();
    let ran = project.run_with(&["link", &server.address(), "--yes"], "twn_wrong\n");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(!project.path().join(".twining/local/outbox.jsonl").exists());
}
