//! Linked clones and git: what is tracked, other branches, and a link that a colleague made or ended.

use std::process::Command;

use serde_json::{Value, json};

use crate::common::team_server::TeamServer;
use crate::common::{Project, hooked};
use crate::linked::{
    answer_of, by_person, git, link, linked, make_repository, post, sent, warnings,
};

#[test]
fn link_takes_the_records_out_of_gits_index_and_unlink_lets_them_back() {
    let server = TeamServer::start();
    let project = Project::new();
    make_repository(&project);
    post(&project, "before the link");
    project.decide("use sqlite", "src/");
    git(&project, &["add", "-A"]);
    git(&project, &["commit", "-q", "-m", "records"]);
    let proposed = by_person(&project, &["link", &server.address(), "--dry-run"]);
    assert_eq!(answer_of(&proposed)["dry_run"], true, "{proposed:?}");
    let files = answer_of(&proposed)["untracks"].clone();
    assert_eq!(git(&project, &["status", "--porcelain"]), "");
    assert!(!project.path().join(".twining/local/outbox.jsonl").exists());
    let answer = link(&project, &server);
    assert_eq!(answer["untracked"], files, "{answer}");
    assert!(files.as_u64() > Some(2), "{files}");
    let tracked = git(&project, &["ls-files", ".twining"]);
    assert!(tracked.contains("config.yml") && !tracked.contains("blackboard"), "{tracked}");
    assert!(project.path().join(".twining/blackboard.jsonl").exists());
    let next = answer["next"].as_str().expect("a command").to_owned();
    let output = project.command_of("sh", &["-c", &next]).output().expect("runs");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(git(&project, &["status", "--porcelain"]), "", "nothing is left over");
    assert_eq!(link(&project, &server)["next"], "", "there is nothing to commit");
    by_person(&project, &["unlink"]);
    git(&project, &["add", ".twining"]);
    assert!(git(&project, &["ls-files", ".twining"]).contains("blackboard.jsonl"));
}

#[test]
fn records_that_a_branch_from_before_the_link_takes_away_come_back_by_sync() {
    let server = TeamServer::start();
    let project = Project::new();
    make_repository(&project);
    post(&project, "before the link");
    let decision = project.decide("use sqlite", "src/");
    git(&project, &["add", "-A"]);
    git(&project, &["commit", "-q", "-m", "records"]);
    git(&project, &["branch", "old"]);
    let next = link(&project, &server)["next"].as_str().expect("a command").to_owned();
    let output = project.command_of("sh", &["-c", &next]).output().expect("runs");
    assert!(output.status.success(), "{output:?}");
    post(&project, "after the link");
    git(&project, &["checkout", "-q", "-f", "old"]);
    git(&project, &["checkout", "-q", "-f", "main"]);
    assert_eq!(project.json(&["status"])["active_decisions"], 0, "git removed the files");
    assert!(warnings(&project).contains("twining sync"), "{}", warnings(&project));

    let synced = project.json(&["sync"]);
    assert_eq!(synced["followed_again"], true, "{synced}");
    let entries = project.json(&["recent", "20"])["entries"].to_string();
    assert!(entries.contains("before the link") && entries.contains("after the link"), "{entries}");
    let why = project.json(&["why", "src/"]).to_string();
    assert!(why.contains(&decision), "{why}");
    assert!(!warnings(&project).contains("lost_records"), "{}", warnings(&project));
    assert_eq!(project.json(&["sync"])["followed_again"], false);
    assert!(sent(&server).values().all(|times| *times == 1), "{:?}", sent(&server));
}

/// A linked project in git whose link is committed, with the branch `old` from before it.
fn linked_in_git(server: &TeamServer) -> Project {
    let project = Project::new();
    make_repository(&project);
    post(&project, "before the link");
    git(&project, &["add", "-A"]);
    git(&project, &["commit", "-q", "-m", "records"]);
    git(&project, &["branch", "old"]);
    let next = link(&project, server)["next"].as_str().expect("a command").to_owned();
    let output = project.command_of("sh", &["-c", &next]).output().expect("runs");
    assert!(output.status.success(), "{output:?}");
    project.json(&["sync"]);
    project
}

fn pull(project: &Project, from: &Project) {
    git(project, &["pull", "-q", "--ff-only", from.path().to_str().expect("text"), "main"]);
}

#[test]
fn a_clone_of_a_linked_project_that_is_not_linked_says_so_wherever_it_writes() {
    let server = TeamServer::start();
    let project = linked_in_git(&server);
    let clone = Project::new();
    make_repository(&clone);
    pull(&clone, &project);
    let asked = server.asked();
    let posted = post(&clone, "for nobody");
    assert_eq!(posted["synced"], false, "{posted}");
    assert!(posted["sync_problem"].as_str().expect("text").contains("twining link URL"));
    let said = clone.run(&["post", "finding", "for nobody else"]).stderr;
    assert!(said.contains("twining link URL") && said.trim().lines().count() == 1, "{said}");
    assert!(warnings(&clone).contains("\"not_linked\""), "{}", warnings(&clone));
    assert!(clone.run(&["doctor"]).stdout.contains("this clone is not"));
    assert!(hooked::start(&clone, "s-1").contains("twining link URL"));
    assert!(clone.json(&["recent"])["sync_problem"].is_null(), "nothing was written");
    assert_eq!(server.asked(), asked, "nothing in the clone names an address");
    // Once it is linked, nothing of it is left.
    link(&clone, &server);
    assert!(!warnings(&clone).contains("not_linked"));
    assert!(sent(&server).contains_key("for nobody"));
}

#[test]
fn a_branch_from_before_the_link_stays_clean_and_what_is_written_there_is_sent_later() {
    let server = TeamServer::start();
    let project = linked_in_git(&server);
    let other = linked(&server);
    git(&project, &["checkout", "-q", "-f", "old"]);
    post(&other, "by another");
    assert_eq!(project.run(&["sync"]).code, 1);
    assert_eq!(git(&project, &["status", "--porcelain"]), "", "the branch is as git has it");
    assert!(warnings(&project).contains("branch_before_link"), "{}", warnings(&project));
    assert!(project.run(&["doctor"]).stdout.contains("from before the link"));
    let posted = post(&project, "on the old branch");
    assert_eq!(posted["synced"], false, "{posted}");
    assert!(posted["sync_problem"].as_str().expect("text").contains("before the link"));
    assert!(!sent(&server).contains_key("on the old branch"));

    git(&project, &["checkout", "-q", "-f", "main"]);
    assert_eq!(project.json(&["sync"])["followed_again"], true);
    assert_eq!(sent(&server).get("on the old branch"), Some(&1));
    let entries = project.json(&["recent", "20"])["entries"].to_string();
    for summary in ["before the link", "by another", "on the old branch"] {
        assert_eq!(entries.matches(&format!("\"{summary}\"")).count(), 1, "{summary}: {entries}");
    }
    assert_eq!(warnings(&project), "[]");
}

#[test]
fn a_merge_of_the_link_that_stops_goes_on_with_the_command_that_status_names() {
    let server = TeamServer::start();
    let project = linked_in_git(&server);
    git(&project, &["checkout", "-q", "-f", "old"]);
    post(&project, "on the old branch");
    git(&project, &["add", "-A"]);
    git(&project, &["commit", "-q", "-m", "work"]);
    let shell = |words: &str| {
        let ran = Command::new("sh").args(["-c", words]).current_dir(project.path()).output();
        ran.expect("there is a shell").status.success()
    };
    assert!(!shell("git merge -q main"), "both sides changed the board");
    let warned = warnings(&project);
    assert!(warned.contains("tracked_records"), "{warned}");
    let named = warned.split('`').find(|word| word.starts_with("git rm")).expect("a command");
    assert!(shell(named), "{named}");
    let ran = project.run(&["hook", "--agent", "git", "pre-commit"]);
    assert_eq!((ran.code, ran.stderr.contains("git restore")), (0, false), "{ran:?}");
    assert!(shell("git commit -q --no-edit"));
    assert_eq!(git(&project, &["ls-files", ".twining/blackboard.jsonl", ".twining/decisions"]), "");
    project.json(&["sync"]);
    assert_eq!(warnings(&project), "[]");
    assert_eq!(sent(&server).get("on the old branch"), Some(&1));
}

fn linked_clone_of(project: &Project, server: &TeamServer) -> Project {
    let clone = Project::new();
    make_repository(&clone);
    pull(&clone, project);
    link(&clone, server);
    clone
}

/// Ends the link, and commits that.
fn end_for_everybody(project: &Project) {
    by_person(project, &["unlink"]);
    git(project, &["add", ".twining"]);
    git(project, &["commit", "-q", "-m", "unlinked"]);
}

#[test]
fn a_clone_whose_project_a_colleague_unlinked_says_so_and_exchanges_nothing() {
    let server = TeamServer::start();
    let project = linked_in_git(&server);
    let clone = linked_clone_of(&project, &server);
    end_for_everybody(&project);
    pull(&clone, &project);
    let ran = clone.run(&["sync"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("no longer linked") && ran.stderr.contains("twining unlink"));
    assert!(warnings(&clone).contains("link_ended_elsewhere"), "{}", warnings(&clone));
    assert!(clone.run(&["doctor"]).stdout.contains("no longer linked"));
    assert_eq!(git(&clone, &["status", "--porcelain"]), "");
    by_person(&clone, &["unlink"]);
    assert_eq!(warnings(&clone), "[]");
}

#[test]
fn what_was_not_sent_when_a_colleague_ended_the_link_is_in_the_files_after_unlink() {
    let server = TeamServer::start();
    let project = linked_in_git(&server);
    let clone = linked_clone_of(&project, &server);
    server.set_down(true);
    post(&clone, "made offline");
    let decision = clone.decide("use redis", "src/");
    end_for_everybody(&project);
    pull(&clone, &project);
    let recent = |clone: &Project| clone.json(&["recent", "20"])["entries"].to_string();
    assert!(!recent(&clone).contains("made offline"), "git has replaced the board");
    // The service is away too, but waiting for it does not help.
    let said = clone.run(&["post", "finding", "made later"]).stderr;
    assert!(said.contains("`twining unlink` ends the link here too"), "{said}");
    let ran = by_person(&clone, &["unlink"]);
    assert_eq!((ran.code, &answer_of(&ran)["unsent"]), (0, &json!(3)), "{ran:?}");
    let entries = recent(&clone);
    for summary in ["before the link", "made offline", "made later"] {
        assert_eq!(entries.matches(&format!("\"{summary}\"")).count(), 1, "{summary}: {entries}");
    }
    assert!(clone.json(&["why", "src/"]).to_string().contains(&decision));
    assert_eq!(warnings(&clone), "[]");
}

#[test]
fn the_commit_after_the_link_is_not_told_to_bring_the_records_back() {
    let server = TeamServer::start();
    let project = Project::new();
    make_repository(&project);
    post(&project, "before the link");
    git(&project, &["add", "-A"]);
    git(&project, &["commit", "-q", "-m", "records"]);
    link(&project, &server);
    git(&project, &["add", ".twining"]);
    let ran = project.run(&["hook", "--agent", "git", "pre-commit"]);
    assert_eq!((ran.code, ran.stderr.contains("git restore")), (0, false), "{ran:?}");
}

#[test]
fn a_clone_that_merges_the_link_before_it_is_linked_is_not_told_to_bring_the_records_back() {
    let server = TeamServer::start();
    let project = linked_in_git(&server);
    let clone = Project::new();
    make_repository(&clone);
    git(&clone, &["pull", "-q", project.path().to_str().expect("text"), "old"]);
    post(&clone, "of this clone");
    git(&clone, &["add", "-A"]);
    git(&clone, &["commit", "-q", "-m", "work"]);
    git(&clone, &["fetch", "-q", project.path().to_str().expect("text"), "main"]);
    let merge = clone.command_of("git", &["merge", "-q", "FETCH_HEAD"]).output().expect("runs");
    assert!(!merge.status.success(), "both sides changed the board");
    git(&clone, &["rm", "-r", "-q", "--cached", "--ignore-unmatch", ".twining/blackboard.jsonl"]);
    let ran = clone.run(&["hook", "--agent", "git", "pre-commit"]);
    assert_eq!((ran.code, ran.stderr.contains("git restore")), (0, false), "{ran:?}");
}

#[test]
fn the_state_of_the_records_goes_on_a_branch_and_the_working_tree_stays() {
    let server = TeamServer::start();
    let project = Project::new();
    make_repository(&project);
    std::fs::write(project.path().join("a.txt"), "one").expect("writes");
    git(&project, &["add", "a.txt"]);
    git(&project, &["commit", "-q", "-m", "first"]);
    link(&project, &server);
    git(&project, &["add", "-A"]);
    post(&project, "for review");
    let id = project.decide("use sqlite", "src/");
    std::fs::write(project.path().join("a.txt"), "two").expect("writes");
    let look =
        || (git(&project, &["status", "--porcelain"]), git(&project, &["rev-parse", "HEAD"]));
    let before = look();
    let first = project.json(&["sync", "commit", "--branch", "records/team"]);
    let first = first["commit"].as_str().expect("a commit").to_owned();
    assert_eq!(look(), before, "tree, index and HEAD");
    assert_eq!(git(&project, &["rev-parse", "records/team^"]), before.1);
    assert!(git(&project, &["show", "records/team:.twining/blackboard.jsonl"]).contains("review"));
    git(&project, &["show", &format!("records/team:.twining/decisions/{id}.json")]);
    assert_eq!(git(&project, &["show", "records/team:a.txt"]), "one", "of the parent");
    let again = project.json(&["sync", "commit", "--branch", "records/team"]);
    assert_eq!(again["commit"], Value::Null, "nothing is new");
    // The folder loses a record: so does the branch.
    std::fs::remove_file(project.path().join(format!(".twining/decisions/{id}.json")))
        .expect("removes");
    let words = ["sync", "commit", "--branch", "records/team", "--message", "second"];
    project.json(&words);
    assert_eq!(git(&project, &["rev-parse", "records/team^"]), first);
    assert_eq!(git(&project, &["log", "-1", "--format=%s", "records/team"]), "second");
    assert!(!git(&project, &["ls-tree", "-r", "--name-only", "records/team"]).contains(&id));
    for (branch, code) in [("main", "CHECKED_OUT"), ("a..b", "INVALID_INPUT")] {
        let refused = project.run(&["sync", "commit", "--branch", branch, "--json"]);
        assert_eq!(answer_of(&refused)["code"], code, "{refused:?}");
    }
}
