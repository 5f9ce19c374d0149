use std::collections::BTreeMap;
use twining_testcases::each;

use twining_model::{Channel, Time, Trust};

use crate::testing::{NoHistory, Project, caller};
use crate::{History, QueueOutcome};

/// A history that knows when the commit before the last one was made.
struct CommittedBefore(Time);

impl History for CommittedBefore {
    fn last_commits(&self, _files: &[String]) -> Result<BTreeMap<String, Time>, String> {
        Ok(BTreeMap::new())
    }

    fn previous_commit(&self) -> Option<Time> {
        Some(self.0)
    }
}

fn drain_after_commit(project: &Project, previous: Time) -> QueueOutcome {
    project.engine.drain_queues(&caller("ada"), &CommittedBefore(previous)).expect("drains")
}

const DAY_MS: i64 = 24 * 3_600_000;

/// A board with a finding, a moment, and another finding; the moment is returned.
fn two_findings(project: &Project) -> Time {
    project.post("finding", "older");
    project.clock.advance_ms(1000);
    let between = project.clock.now();
    project.clock.advance_ms(1000);
    project.post("finding", "newer");
    project.clock.advance_ms(1000);
    between
}

fn findings(project: &Project) -> Vec<String> {
    project
        .board()
        .into_iter()
        .filter(|entry| entry.tags.is_empty())
        .map(|entry| entry.summary)
        .collect()
}

fn drain(project: &Project) -> QueueOutcome {
    project.engine.drain_queues(&caller("ada"), &NoHistory).expect("drains")
}

#[test]
fn a_queued_post_is_posted_once_as_a_hooks_word() {
    let project = Project::new();
    project.write(
        "pending-posts.jsonl",
        "{\"tool\": \"twining_post\", \"entry_type\": \"status\", \"summary\": \"Subagent completed task\"}\n",
    );
    assert_eq!(drain(&project), QueueOutcome { posted: 1, archived: 0, rejected: 0 });
    assert_eq!(drain(&project), QueueOutcome::default());
    let board = project.board();
    assert_eq!(
        (board.len(), board[0].summary.as_str(), board[0].agent_id.as_str()),
        (1, "Subagent completed task", "ada")
    );
    let origin = board[0].origin.clone().expect("an origin");
    assert_eq!((origin.via, origin.trust), (Channel::Hook, Trust::Tool));
}

#[test]
fn a_bad_line_is_set_aside_with_its_reason_and_the_good_ones_go_in() {
    let project = Project::new();
    let lines = [
        r#"{"entry_type": "finding", "summary": "good"}"#,
        r#"{"entry_type": "decision", "summary": "sneaky"}"#,
        r#"{"tool": "twining_override", "entry_type": "status", "summary": "sly"}"#,
        r#"{"entry_type": "finding", "summary": "out", "scope": "../../etc"}"#,
        "not json",
        r#"{"entry_type": "warning", "summary": "good too"}"#,
    ];
    project.write("pending-posts.jsonl", &(lines.join("\n") + "\n"));
    assert_eq!(drain(&project), QueueOutcome { posted: 2, archived: 0, rejected: 4 });
    let rejected = std::fs::read_to_string(project.path().join(".twining/pending-rejected.jsonl"))
        .expect("they are kept");
    assert_eq!(rejected.lines().count(), 4);
    assert!(
        rejected.contains("twining_decide")
            && rejected.contains("must be twining_post")
            && rejected.contains("`scope`")
    );
}

#[test]
fn two_servers_that_race_for_a_queue_post_each_line_once() {
    let project = Project::new();
    let lines: String = (0..200)
        .map(|n| format!("{{\"entry_type\":\"finding\",\"summary\":\"line {n}\"}}\n"))
        .collect();
    project.write("pending-posts.jsonl", &lines);
    let other = project.another_engine();
    let posted: u64 = std::thread::scope(|threads| {
        let racers = [&project.engine, &other].map(|engine| {
            threads.spawn(|| engine.drain_queues(&caller("x"), &NoHistory).expect("drains").posted)
        });
        racers.into_iter().map(|racer| racer.join().expect("ends")).sum()
    });
    assert_eq!((posted, project.board().len()), (200, 200));
}

#[test]
fn a_commit_archives_once_however_often_it_was_queued() {
    let project = Project::new();
    project.post("finding", "settled");
    project.post("need", "open");
    project.clock.advance_ms(DAY_MS + 1000);
    project.write(
        "pending-actions.jsonl",
        &"{\"action\": \"archive\", \"trigger\": \"commit\"}\n".repeat(3),
    );
    let drained = drain_after_commit(&project, project.clock.now());
    assert_eq!(drained, QueueOutcome { posted: 0, archived: 1, rejected: 0 });
    assert_eq!(project.board().iter().filter(|entry| entry.summary == "open").count(), 1);
    assert_eq!(project.entries_tagged("archive").len(), 1);
}

#[test]
fn a_project_that_wants_no_archive_on_commit_gets_none() {
    let project = Project::new();
    project.write("config.yml", "archive:\n  auto_archive_on_commit: false\n");
    project.post("finding", "settled");
    project.clock.advance_ms(1000);
    project.write("pending-actions.jsonl", "{\"action\": \"archive\", \"trigger\": \"commit\"}\n");
    assert_eq!(drain_after_commit(&project, project.clock.now()), QueueOutcome::default());
    assert_eq!(project.board().len(), 1);
    project.write("pending-actions.jsonl", "{\"action\": \"archive\"}\n");
    assert_eq!(drain(&project).archived, 1, "an archive that no commit triggered was asked for");
}

#[test]
fn a_commit_archives_what_is_older_than_the_previous_commit() {
    let project = Project::new();
    let between = two_findings(&project);
    project.clock.advance_ms(DAY_MS);
    project.write("pending-actions.jsonl", "{\"action\": \"archive\", \"trigger\": \"commit\"}\n");
    assert_eq!(drain_after_commit(&project, between).archived, 1);
    assert_eq!(findings(&project), ["newer"]);
}

#[test]
fn commits_that_follow_each_other_in_seconds_leave_what_was_said_today() {
    let project = Project::new();
    two_findings(&project);
    each(["commit", "context_switch"], |trigger| {
        project.write(
            "pending-actions.jsonl",
            &format!("{{\"action\": \"archive\", \"trigger\": \"{trigger}\"}}\n"),
        );
        assert_eq!(drain_after_commit(&project, project.clock.now()).archived, 0, "{trigger}");
    });
    assert_eq!(findings(&project), ["older", "newer"]);
    project.write("config.yml", "archive:\n  min_age_hours: 0\n");
    project.write("pending-actions.jsonl", "{\"action\": \"archive\", \"trigger\": \"commit\"}\n");
    assert_eq!(
        drain_after_commit(&project, project.clock.now()).archived,
        2,
        "who wants it so is asked"
    );
}

#[test]
fn the_first_commit_of_a_project_archives_nothing() {
    let project = Project::new();
    two_findings(&project);
    project.write("pending-actions.jsonl", "{\"action\": \"archive\", \"trigger\": \"commit\"}\n");
    assert_eq!(drain(&project), QueueOutcome::default());
    assert_eq!(findings(&project), ["older", "newer"]);
}

#[test]
fn a_queued_archive_keeps_to_the_time_it_was_given() {
    let project = Project::new();
    let between = two_findings(&project);
    project.write(
        "pending-actions.jsonl",
        &format!("{{\"action\": \"archive\", \"before\": \"{between}\"}}\n"),
    );
    assert_eq!(drain(&project).archived, 1);
    assert_eq!(findings(&project), ["newer"]);
}

#[test]
fn a_queued_archive_before_no_time_at_all_is_set_aside_and_moves_nothing() {
    let project = Project::new();
    two_findings(&project);
    project.write(
        "pending-actions.jsonl",
        "{\"action\": \"archive\", \"before\": \"yesterday-ish\"}\n{\"action\": \"archive\", \"before\": 7}\n",
    );
    assert_eq!(drain(&project), QueueOutcome { posted: 0, archived: 0, rejected: 2 });
    assert_eq!(findings(&project), ["older", "newer"]);
    let rejected = std::fs::read_to_string(project.path().join(".twining/pending-rejected.jsonl"))
        .expect("they are kept");
    assert!(rejected.contains("`before` must be an ISO 8601 time"), "{rejected}");
}

#[test]
fn several_queued_archives_are_one_with_the_latest_cutoff() {
    let project = Project::new();
    let between = two_findings(&project);
    let old = format!("{{\"action\": \"archive\", \"before\": \"{between}\"}}\n");
    project.write("pending-actions.jsonl", &format!("{old}{{\"action\": \"archive\"}}\n{old}"));
    assert_eq!(drain(&project).archived, 2);
    assert_eq!((findings(&project).len(), project.entries_tagged("archive").len()), (0, 1));
}

#[test]
fn no_other_action_can_be_queued() {
    let project = Project::new();
    project.post("finding", "settled");
    project.write(
        "pending-actions.jsonl",
        "{\"action\": \"override\", \"decision_id\": \"x\"}\n{\"action\": \"archive\", \"trigger\": \"whim\"}\n[]\n",
    );
    assert_eq!(drain(&project), QueueOutcome { posted: 0, archived: 0, rejected: 3 });
    assert_eq!(project.board().len(), 1);
}
