//! Linked clones with the built program: links, works offline, comes back, and is killed.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use twining_testkit::files::{board_ids, shared_state};

use crate::common::team_server::{REPOSITORY, TOKEN, TeamServer};
use crate::common::{Project, Ran, hooked};

/// Runs a command that only a person may give.
pub(crate) fn by_person(project: &Project, words: &[&str]) -> Ran {
    let mut command = project.command(&[words, &["--json"]].concat());
    for name in ["CLAUDECODE", "CODEX_SANDBOX", "GEMINI_CLI", "CURSOR_AGENT"] {
        command.env_remove(name);
    }
    let token = project.path().parent().expect("a folder").join("token");
    std::fs::write(&token, format!("{TOKEN}\n")).expect("writes");
    command.stdin(std::fs::File::open(token).expect("opens"));
    Ran::of(command.output().expect("starts"))
}

pub(crate) fn answer_of(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).expect("JSON")
}

pub(crate) fn link(project: &Project, server: &TeamServer) -> Value {
    let ran = by_person(project, &["link", &server.address(), "--yes"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    answer_of(&ran)
}

fn config(project: &Project) -> String {
    std::fs::read_to_string(project.path().join(".twining/config.yml")).expect("reads")
}

/// Runs git in the project, and returns what it prints.
pub(crate) fn git(project: &Project, words: &[&str]) -> String {
    let output = project.command_of("git", words).output().expect("git runs");
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

pub(crate) fn make_repository(project: &Project) {
    git(project, &["init", "-q", "-b", "main"]);
    git(project, &["config", "user.name", "Ada"]);
    git(project, &["config", "user.email", "ada@example.com"]);
}

pub(crate) fn warnings(project: &Project) -> String {
    project.json(&["status"])["warnings"].to_string()
}

pub(crate) fn linked(server: &TeamServer) -> Project {
    let project = Project::new();
    link(&project, server);
    project
}

pub(crate) fn post(project: &Project, summary: &str) -> Value {
    project.json(&["post", "finding", summary])
}

/// How often each entry is in the log.
pub(crate) fn sent(server: &TeamServer) -> BTreeMap<String, usize> {
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
    assert_eq!(answer["labelled"], true);
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
    // The page shows these in a panel of their own.
    let doctor: Value =
        serde_json::from_str(&clone.run(&["doctor", "--json"]).stdout).expect("JSON");
    let checks = doctor["checks"].as_array().expect("a list");
    let team = checks.iter().find(|check| check["name"] == "team").expect("one of the team");
    assert_eq!(team["finding"], "warn", "{team}");
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
fn a_claim_that_was_released_elsewhere_is_gone_after_sync() {
    let server = TeamServer::start();
    let (first, second) = (linked(&server), linked(&server));
    first.json(&["--agent", "ada", "claim", "src/"]);
    second.json(&["sync"]);
    let seen = |project: &Project| project.json(&["claim", "--action", "list"])["claims"].clone();
    assert_eq!(seen(&second)[0]["agent_id"], "ada");
    first.json(&["--agent", "ada", "claim", "--action", "release"]);
    second.json(&["sync"]);
    server.set_down(true);
    assert_eq!(seen(&second), json!([]));
    server.set_down(false);
    // A list asks by itself.
    first.json(&["sync"]);
    first.json(&["--agent", "ada", "claim", "docs/"]);
    second.json(&["sync"]);
    assert_eq!(seen(&second)[0]["paths"], json!(["docs"]));
    first.json(&["--agent", "ada", "claim", "--action", "release"]);
    assert_eq!(seen(&second), json!([]));
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
    let posted = post(&copy, "in the copy");
    assert_eq!(posted["synced"], false, "the copy's git ignores it, and it is sent nowhere");
    assert!(posted["sync_problem"].is_string(), "{posted}");
    assert!(sent(&server).is_empty(), "{:?}", sent(&server));
}

#[test]
fn after_unlink_the_files_are_complete_and_git_may_track_them_again() {
    let server = TeamServer::start();
    let clone = linked(&server);
    post(&clone, "kept");
    let ignored = clone.path().join(".twining/.gitignore");
    assert!(std::fs::read_to_string(&ignored).expect("reads").contains("/blackboard.jsonl"));
    let ran = by_person(&clone, &["unlink"]);
    assert_eq!(answer_of(&ran)["next"], "git add .twining");
    assert!(!std::fs::read_to_string(&ignored).expect("reads").contains("/blackboard.jsonl"));
    assert!(post(&clone, "here alone")["synced"].is_null());
    assert_eq!(sent(&server).len(), 1);
}

#[test]
fn a_folder_that_is_not_linked_is_left_alone_by_unlink() {
    let project = Project::new();
    post(&project, "makes the folder");
    let ignored = project.path().join(".twining/.gitignore");
    // As in a clone of a project that others have linked.
    let text = std::fs::read_to_string(&ignored).expect("reads");
    let block = "# >>> twining link >>> the team's log has the records\n/blackboard.jsonl\n# <<< twining link <<<\n";
    std::fs::write(&ignored, format!("{text}{block}")).expect("writes");
    let before = std::fs::read_to_string(&ignored).expect("reads");
    let ran = by_person(&project, &["unlink"]);
    assert_eq!((ran.code, &answer_of(&ran)["was_linked"]), (0, &json!(false)), "{ran:?}");
    assert_eq!(std::fs::read_to_string(&ignored).expect("reads"), before);
}

#[test]
fn a_token_file_that_is_not_there_is_named() {
    let project = Project::new();
    let address = "https://memory.example.org/acme/shop";
    let ran = by_person(&project, &["link", address, "--yes", "--token-file", "no/such.token"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let answer = answer_of(&ran);
    assert!(answer["message"].as_str().expect("text").contains("`no/such.token`"), "{answer}");
    assert!(answer["hint"].as_str().expect("text").contains("--token-file"), "{answer}");
}

#[test]
fn a_link_without_a_terminal_says_where_the_token_is_missing() {
    let server = TeamServer::start();
    let project = Project::new();
    let address = server.address();
    let refused = by_person(&project, &["link", &address]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(answer_of(&refused)["hint"].as_str().is_some_and(|hint| hint.contains("--yes")));
    let mut command = project.command(&["link", &address, "--yes", "--json"]);
    let empty = Ran::of(command.stdin(Stdio::null()).output().expect("starts"));
    assert_eq!(empty.code, 2, "{empty:?}");
    assert!(answer_of(&empty)["message"].as_str().is_some_and(|why| why.contains("stdin")));
}

#[test]
fn status_says_when_the_service_last_answered_and_what_waits_since_when() {
    let server = TeamServer::start();
    let clone = linked(&server);
    let team = |clone: &Project| clone.json(&["status"])["team"].clone();
    let online = team(&clone);
    assert!(online["answered_at"].is_string() && online["unsent"] == 0, "{online}");
    server.set_down(true);
    post(&clone, "offline");
    let offline = team(&clone);
    assert_eq!(offline["answered_at"], online["answered_at"]);
    assert_eq!(offline["unsent"], 1);
    assert!(offline["unsent_since"].is_string(), "{offline}");
    assert!(clone.run(&["status"]).stdout.contains("team's log answered"));
    assert!(team(&Project::new()).is_null());
}

#[test]
fn a_decision_that_the_log_takes_after_an_outage_ends_it() {
    let server = TeamServer::start();
    let clone = linked(&server);
    server.set_down(true);
    post(&clone, "offline");
    server.set_down(false);
    assert_eq!(clone.json(&["sync"])["sent"], 1);
    server.set_down(true);
    assert!(!clone.run(&["sync"]).stderr.is_empty());
    assert!(warnings(&clone).contains("nothing was exchanged"));
    server.set_down(false);
    // Nobody waits for a log that was away a moment ago.
    let notes = clone.path().join(".twining/local/hooks");
    let note = std::fs::read_dir(notes).expect("notes").flatten().map(|file| file.path());
    let note = note.into_iter().find(|path| path.to_string_lossy().contains("shared-sync"));
    let note = note.expect("a note of the exchange");
    let mut state: Value =
        serde_json::from_slice(&std::fs::read(&note).expect("reads")).expect("JSON");
    state["failed_at"] = json!("2026-01-01T00:00:00.000Z");
    std::fs::write(&note, state.to_string()).expect("writes");
    let decided = clone.json(&["decide", "use sqlite", "--why", "one file", "--domain", "storage"]);
    assert_eq!(decided["synced"], true, "{decided}");
    assert!(!warnings(&clone).contains("nothing was exchanged"), "{}", warnings(&clone));
}

#[test]
fn a_link_whose_settings_cannot_be_kept_changes_nothing() {
    let server = TeamServer::start();
    let project = Project::new();
    post(&project, "before");
    let ignored = std::fs::read(project.path().join(".twining/.gitignore")).unwrap_or_default();
    let settings = project.path().parent().expect("a folder").join("a-file");
    std::fs::write(&settings, "").expect("writes");
    let mut command = project.command(&["link", &server.address(), "--yes", "--json"]);
    command.env("XDG_CONFIG_HOME", &settings);
    for name in ["CLAUDECODE", "CODEX_SANDBOX", "GEMINI_CLI", "CURSOR_AGENT"] {
        command.env_remove(name);
    }
    let token = project.path().join("token");
    std::fs::write(&token, TOKEN).expect("writes");
    command.stdin(std::fs::File::open(token).expect("opens"));
    let ran = Ran::of(command.output().expect("starts"));
    assert_eq!(answer_of(&ran)["code"], "FILE_WRITE_ERROR", "{ran:?}");
    let after = std::fs::read(project.path().join(".twining/.gitignore")).unwrap_or_default();
    assert_eq!(after, ignored);
    assert!(!project.path().join(".twining/local/outbox.jsonl").exists());
}

#[test]
fn a_wrong_token_changes_nothing() {
    let server = TeamServer::start();
    let project = Project::new();
    let ran = project.run_with(&["link", &server.address(), "--yes"], "twn_wrong\n");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(!project.path().join(".twining/local/outbox.jsonl").exists());
}

#[test]
fn a_service_or_a_clone_of_another_project_is_refused_by_name() {
    const OTHER: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAW";
    let server = TeamServer::start();
    let clone = linked(&server);
    assert!(config(&clone).contains(&format!("team: {REPOSITORY}\n")), "{}", config(&clone));
    // The address leads elsewhere by now: nothing is sent, and nothing is taken in.
    server.become_repository(OTHER);
    assert_eq!(post(&clone, "for the team")["synced"], false);
    assert_eq!(clone.run(&["sync"]).code, 1);
    assert!(server.log.all().is_empty());
    assert!(warnings(&clone).contains(OTHER), "{}", warnings(&clone));
    server.become_repository(REPOSITORY);
    assert_eq!(clone.json(&["sync"])["sent"], 1);
    // The working tree is another project's by now.
    let text = config(&clone);
    let path = clone.path().join(".twining/config.yml");
    std::fs::write(&path, text.replace(REPOSITORY, OTHER)).expect("writes");
    let asked = server.asked();
    assert_eq!(post(&clone, "of another project")["synced"], false);
    let refused = clone.run(&["sync"]).stderr;
    assert!(refused.contains(OTHER) && refused.contains("put the line `team:` back"), "{refused}");
    assert_eq!(server.asked(), asked, "nobody is asked");
    // And a clone of it is not linked.
    let other = Project::new();
    post(&other, "makes the folder");
    let path = other.path().join(".twining/config.yml");
    std::fs::write(&path, format!("{}team: {OTHER}\n", config(&other))).expect("writes");
    let ran = by_person(&other, &["link", &server.address(), "--yes"]);
    assert_eq!(answer_of(&ran)["code"], "OTHER_PROJECT", "{ran:?}");
    assert!(ran.stdout.contains(OTHER) && ran.stdout.contains(REPOSITORY), "{ran:?}");
    assert!(!other.path().join(".twining/local/outbox.jsonl").exists());
}

#[test]
fn a_clone_of_a_log_that_was_restored_says_so_until_it_is_linked_again_and_gives_back_what_is_lost()
{
    let server = TeamServer::start();
    let (first, second) = (linked(&server), linked(&server));
    post(&first, "in the backup");
    post(&first, "after the backup");
    second.json(&["sync"]);
    server.lose_lines(1);
    let is_said = |clone: &Project| {
        for _ in 0..2 {
            let ran = clone.run(&["sync"]);
            assert_eq!(ran.code, 1, "{ran:?}");
            assert!(ran.stderr.contains("restored from a backup"), "{ran:?}");
            assert!(ran.stderr.contains("twining link URL"), "{ran:?}");
            assert!(warnings(clone).contains("restored from a backup"), "{}", warnings(clone));
            assert!(clone.run(&["doctor"]).stdout.contains("restored from a backup"));
        }
    };
    is_said(&second);
    // Somebody writes to it: it is as long as before, and another.
    let third = linked(&server);
    post(&third, "after the restore");
    is_said(&second);
    is_said(&first);
    let lines = server.log.all().len();
    let posted = post(&first, "before it is linked again");
    assert_eq!(posted["synced"], false, "{posted}");
    assert!(posted["sync_problem"].to_string().contains("restored from a backup"), "{posted}");
    assert_eq!(server.log.all().len(), lines, "it waits");
    link(&first, &server);
    link(&second, &server);
    third.json(&["sync"]);
    first.json(&["sync"]);
    for clone in [&first, &second, &third] {
        assert_eq!(shared_state(clone.path()), shared_state(third.path()));
        assert_eq!(warnings(clone), "[]");
    }
    let times = sent(&server);
    assert_eq!(times.len(), 4, "{times:?}");
    assert!(times.values().all(|times| *times == 1), "{times:?}");
}

#[test]
fn a_token_that_the_service_accepts_no_more_is_not_told_as_a_network_failure() {
    let server = TeamServer::start();
    let clone = linked(&server);
    server.revoke_token(true);
    let posted = post(&clone, "after the end of the token");
    let problem = posted["sync_problem"].as_str().expect("is said").to_owned();
    assert!(problem.contains("token") && problem.contains("twining link URL"), "{posted}");
    let said = clone.run(&["post", "finding", "once more"]).stderr;
    assert!(said.contains("token") && !said.contains("tries again"), "{said}");
    assert!(warnings(&clone).contains("\"denied\""), "{}", warnings(&clone));
    assert!(clone.run(&["doctor"]).stdout.contains("expired or revoked"));
    assert!(hooked::start(&clone, "s-1").contains("expired or revoked"));
    server.revoke_token(false);
    link(&clone, &server);
    assert_eq!(sent(&server).len(), 2);
    assert_eq!(warnings(&clone), "[]");
}

/// A clone with an override that the log refused.
fn overridden_and_refused(server: &TeamServer) -> Project {
    let clone = linked(server);
    let id = clone.decide("use redis", "src/");
    server.set_down(true);
    clone.json(&["override", &id, "--reason", "the client said no"]);
    server.set_down(false);
    server.let_settle(false);
    assert_eq!(clone.run(&["sync"]).code, 3);
    clone
}

#[test]
fn what_was_refused_is_tried_again_when_the_folder_is_linked_with_another_token() {
    let server = TeamServer::start();
    let clone = overridden_and_refused(&server);
    server.let_settle(true);
    let answer = link(&clone, &server);
    assert_eq!((&answer["retried"], &answer["refused"]), (&json!(1), &json!(0)), "{answer}");
    let other = linked(&server);
    assert!(other.json(&["decisions"]).to_string().contains("\"overridden\""));
}

#[test]
fn what_the_log_refused_is_seen_sent_again_or_given_up() {
    let server = TeamServer::start();
    let clone = linked(&server);
    let ids = ["src/", "docs/"].map(|scope| clone.decide("use redis", scope));
    server.set_down(true);
    for id in &ids {
        clone.json(&["override", id, "--reason", "the client said no"]);
    }
    server.set_down(false);
    server.let_settle(false);
    let synced = clone.run(&["sync", "--json"]);
    assert_eq!(synced.code, 3, "it found something: {synced:?}");
    let refused = answer_of(&synced)["refused_lines"].as_array().cloned().expect("a list");
    assert_eq!(refused.len(), 2, "{refused:?}");
    assert!(refused[0]["what"].as_str().expect("text").contains(&ids[0]), "{refused:?}");
    assert!(refused[0]["reason"].as_str().expect("text").contains("maintainer"), "{refused:?}");
    assert!(warnings(&clone).contains(&ids[0]) && warnings(&clone).contains("maintainer"));
    assert!(clone.run(&["doctor"]).stdout.contains("maintainer"));
    assert_eq!(clone.json(&["sync", "refused"])["refused_lines"], json!(refused));
    // Still refused.
    assert_eq!(clone.run(&["sync", "retry"]).code, 3);
    let key = refused[0]["key"].as_str().expect("a key");
    let mut agent = clone.command(&["sync", "drop", key, "--json"]);
    let output = agent.env("CLAUDECODE", "1").output().expect("starts");
    assert_eq!(answer_of(&Ran::of(output))["code"], "NEEDS_PERSON");
    assert_eq!(answer_of(&by_person(&clone, &["sync", "drop", key]))["dropped"], 1);
    assert_eq!(by_person(&clone, &["sync", "drop"]).code, 2, "nothing is named");
    server.let_settle(true);
    assert_eq!(clone.json(&["sync", "retry"])["sent"], 1);
    assert_eq!(clone.json(&["sync", "refused"])["refused_lines"], json!([]));
    assert!(!warnings(&clone).contains("refused_changes"));
    let other = linked(&server);
    let seen = other.json(&["decisions"]).to_string();
    assert_eq!(seen.matches("\"overridden\"").count(), 1, "{seen}");
}

#[test]
fn what_the_log_refused_is_in_the_files_after_unlink_and_named_no_more() {
    let server = TeamServer::start();
    let clone = overridden_and_refused(&server);
    assert!(warnings(&clone).contains("refused_changes"));
    by_person(&clone, &["unlink"]);
    assert!(!warnings(&clone).contains("refused_changes"), "{}", warnings(&clone));
    assert_eq!(clone.json(&["decisions"])["decisions"][0]["status"], "overridden");
    // A link with another token sends it.
    server.let_settle(true);
    assert_eq!(link(&clone, &server)["refused"], 0);
    assert_eq!(linked(&server).json(&["decisions"])["decisions"][0]["status"], "overridden");
}

#[test]
fn an_override_that_the_log_refused_is_not_repeated_here_and_is_taken_back_by_drop() {
    let server = TeamServer::start();
    let clone = linked(&server);
    let id = clone.decide("use redis", "src/");
    server.set_down(true);
    let again = ["override", &id, "--reason", "the client said no", "--new-decision", "use sqlite"];
    clone.json(&again);
    server.set_down(false);
    server.let_settle(false);
    assert_eq!(clone.run(&["sync"]).code, 3);
    let lines = server.log.all().len();
    for is_down in [false, true] {
        server.set_down(is_down);
        let refused = answer_of(&by_person(&clone, &again));
        assert_eq!(refused["code"], "LOG_DENIED", "{refused}");
        assert!(refused["message"].as_str().expect("text").contains("maintainer"), "{refused}");
        assert!(refused["hint"].as_str().expect("text").contains("sync drop --all"), "{refused}");
    }
    assert_eq!(by_person(&clone, &["sync", "drop", "--all"]).code, 0);
    let listed = clone.json(&["decisions"])["decisions"].clone();
    let standing = |id: &str| {
        let mut all = listed.as_array().expect("a list").iter();
        all.find(|one| one["id"] == id).map(|one| one["status"].clone()).expect("is there")
    };
    assert_eq!(standing(&id), "active");
    assert_eq!(listed.to_string().matches("\"active\"").count(), 1, "{listed}");
    assert!(!clone.json(&["recent", "20"]).to_string().contains("Override"), "announced no more");
    server.set_down(false);
    clone.json(&["sync"]);
    assert_eq!(warnings(&clone), "[]");
    assert_eq!(server.log.all().len(), lines);
}

#[test]
fn archived_entries_are_not_called_lost() {
    let server = TeamServer::start();
    let (clone, other) = (linked(&server), linked(&server));
    for n in 0..4 {
        post(&clone, &format!("finding {n}"));
    }
    other.json(&["sync"]);
    clone.json(&["sync"]);
    let archived = clone.json(&["archive", "--summarize", "false"]);
    assert_eq!(archived["archived_count"], 4, "{archived}");
    assert!(!warnings(&clone).contains("lost_records"), "{}", warnings(&clone));
    post(&other, "takes the archive in");
    for project in [&clone, &other] {
        assert_eq!(project.json(&["sync"])["followed_again"], false);
    }
}

#[test]
fn drop_takes_nothing_back_that_the_team_settled_meanwhile() {
    let server = TeamServer::start();
    let clone = overridden_and_refused(&server);
    server.let_settle(true);
    let maintainer = linked(&server);
    let id = maintainer.json(&["decisions"])["decisions"][0]["id"].clone();
    let id = id.as_str().expect("an id");
    maintainer.json(&["override", id, "--reason", "she is right"]);
    let standing = || clone.json(&["decisions"])["decisions"][0]["status"].clone();
    for round in ["followed", "dropped", "followed again"] {
        match round {
            "dropped" => assert_eq!(by_person(&clone, &["sync", "drop", "--all"]).code, 0),
            _ => drop(clone.run(&["sync"])),
        }
        assert_eq!(standing(), "overridden", "{round}");
    }
    let file = clone.path().join(format!(".twining/decisions/{id}.json"));
    assert!(std::fs::read_to_string(file).expect("reads").contains("she is right"));
}

#[test]
fn refused_lines_that_came_with_a_clone_are_never_sent() {
    let server = TeamServer::start();
    let clone = linked(&server);
    let line =
        json!({"key": REPOSITORY, "at": "2026-01-01T00:00:00.000Z", "change": {}, "reason": "x"});
    let path = clone.path().join(".twining/local/outbox-refused.jsonl");
    std::fs::write(&path, format!("{{\"seal\":\"1:2:3\"}}\n{line}\n")).expect("writes");
    assert_eq!(clone.json(&["sync", "retry"])["sent"], 0);
    assert_eq!(clone.json(&["sync", "refused"])["refused_lines"], json!([]));
    assert!(warnings(&clone).contains("foreign_outbox"));
}

#[test]
fn a_server_that_runs_already_exchanges_lines_once_the_folder_is_linked() {
    let server = TeamServer::start();
    let (first, second) = (Project::new(), linked(&server));
    let mut mcp = first.server(&[]);
    mcp.initialize();
    let posting = |summary: &str| json!({"entry_type": "finding", "summary": summary});
    let posted = mcp.call("twining_post", &posting("before the link"));
    assert!(posted["structuredContent"]["synced"].is_null(), "{posted}");
    link(&first, &server);
    mcp.call("twining_status", &json!({}));
    post(&second, "from another");
    let board = first.path().join(".twining/blackboard.jsonl");
    let until = Instant::now() + Duration::from_secs(20);
    while !std::fs::read_to_string(&board).unwrap_or_default().contains("from another") {
        assert!(Instant::now() < until, "no worker runs");
        std::thread::sleep(Duration::from_millis(20));
    }
    let posted = mcp.call("twining_post", &posting("after the link"));
    assert_eq!(posted["structuredContent"]["synced"], true, "{posted}");
    // And it stops with the link.
    by_person(&first, &["unlink"]);
    let posted = mcp.call("twining_post", &posting("after the end"));
    assert!(posted["structuredContent"]["synced"].is_null(), "{posted}");
}

/// Writes through a server while the service is away, a tenth of it decisions, every second one
/// a rival of what the other clones choose: the ids.
fn write_offline(clone: &Project, at: usize, writes: usize) -> Vec<String> {
    let mut mcp = clone.server(&[]);
    mcp.initialize();
    let ids = (0..writes).map(|n| {
        let summary = format!("write {n} of clone {at}");
        let (tool, arguments) = if n % 10 == 0 {
            let scope = if n % 20 == 0 { format!("shared/{n}/") } else { format!("own/{at}/{n}/") };
            let decision = json!({"domain": "architecture", "scope": scope, "summary": summary,
                "context": "offline", "rationale": "it was needed"});
            ("twining_decide", decision)
        } else {
            ("twining_post", json!({"entry_type": "finding", "summary": summary}))
        };
        let answer = mcp.call(tool, &arguments)["structuredContent"].clone();
        assert_eq!(answer["synced"], false, "{answer}");
        answer["id"].as_str().expect("an id").to_owned()
    });
    ids.collect()
}

#[test]
fn clones_that_wrote_offline_and_are_killed_while_they_send_end_alike() {
    const CLONES: usize = 5;
    let server = TeamServer::start();
    let clones: Vec<Project> = (0..CLONES).map(|_| linked(&server)).collect();
    server.set_down(true);
    let written: Vec<String> =
        clones.iter().enumerate().flat_map(|(at, clone)| write_offline(clone, at, 60)).collect();
    server.set_down(false);
    let mut kills = 0;
    for round in 0..3 {
        server.lose_answers(round % 2);
        let children: Vec<_> = clones
            .iter()
            .map(|clone| {
                let mut command = clone.command(&["sync"]);
                command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts")
            })
            .collect();
        for (at, mut child) in children.into_iter().enumerate() {
            std::thread::sleep(Duration::from_millis(7 * (at as u64 + round as u64)));
            kills += usize::from(child.try_wait().expect("is ours").is_none());
            child.kill().expect("is ours");
            child.wait().expect("is ours");
        }
    }
    assert!(kills > 0, "nobody was killed while sending");
    server.lose_answers(0);
    for clone in clones.iter().chain(&clones) {
        assert_eq!(clone.json(&["sync"])["waiting"], 0);
    }
    let lines = server.log.all();
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    for line in &lines {
        let entries = line.change.entries.iter().map(|entry| entry.id.clone());
        let decisions = line.change.decisions.iter().map(|decision| decision.id.to_string());
        entries.chain(decisions).for_each(|id| *times.entry(id).or_default() += 1);
    }
    assert!(written.iter().all(|id| times.get(id) == Some(&1)), "lost or doubled");
    let state = shared_state(clones[0].path());
    for clone in &clones {
        assert_eq!(shared_state(clone.path()), state);
    }
    let listed = clones[0].json(&["decisions", "--status", "active", "--limit", "100"]);
    let decisions = listed["decisions"].as_array().expect("a list");
    let scopes: Vec<&str> =
        decisions.iter().map(|one| one["scope"].as_str().expect("a scope")).collect();
    let distinct: std::collections::BTreeSet<&str> = scopes.iter().copied().collect();
    assert_eq!(scopes.len(), distinct.len(), "of rivals two are active: {scopes:?}");
    assert_eq!(distinct.len(), 3 + 3 * CLONES, "one of each question is");
}
