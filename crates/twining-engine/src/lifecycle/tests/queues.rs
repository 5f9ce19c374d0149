use twining_model::{Channel, Trust};

use crate::Drained;
use crate::testing::{Project, caller};

fn drain(project: &Project) -> Drained {
    project.engine.drain_queues(&caller("ada")).expect("drains")
}

#[test]
fn a_queued_post_is_posted_once_as_a_hooks_word() {
    let project = Project::new();
    project.write(
        "pending-posts.jsonl",
        "{\"tool\": \"twining_post\", \"entry_type\": \"status\", \"summary\": \"Subagent completed task\"}\n",
    );
    assert_eq!(drain(&project), Drained { posted: 1, archived: 0, rejected: 0 });
    assert_eq!(drain(&project), Drained::default());
    let board = project.board();
    assert_eq!((board.len(), board[0].summary.as_str(), board[0].agent_id.as_str()), (1, "Subagent completed task", "ada"));
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
    assert_eq!(drain(&project), Drained { posted: 2, archived: 0, rejected: 4 });
    let rejected = std::fs::read_to_string(project.path().join(".twining/pending-rejected.jsonl")).expect("they are kept");
    assert_eq!(rejected.lines().count(), 4);
    assert!(rejected.contains("twining_decide") && rejected.contains("must be twining_post") && rejected.contains("`scope`"));
}

#[test]
fn two_servers_that_race_for_a_queue_post_each_line_once() {
    let project = Project::new();
    let lines: String = (0..200).map(|n| format!("{{\"entry_type\":\"finding\",\"summary\":\"line {n}\"}}\n")).collect();
    project.write("pending-posts.jsonl", &lines);
    let other = project.another_engine();
    let posted: u64 = std::thread::scope(|threads| {
        let racers = [&project.engine, &other].map(|engine| threads.spawn(|| engine.drain_queues(&caller("x")).expect("drains").posted));
        racers.into_iter().map(|racer| racer.join().expect("ends")).sum()
    });
    assert_eq!((posted, project.board().len()), (200, 200));
}

#[test]
fn a_commit_archives_once_however_often_it_was_queued() {
    let project = Project::new();
    project.post("finding", "settled");
    project.post("need", "open");
    project.clock.advance_ms(1000);
    project.write("pending-actions.jsonl", &"{\"action\": \"archive\", \"trigger\": \"commit\"}\n".repeat(3));
    assert_eq!(drain(&project), Drained { posted: 0, archived: 1, rejected: 0 });
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
    assert_eq!(drain(&project), Drained::default());
    assert_eq!(project.board().len(), 1);
}

#[test]
fn no_other_action_can_be_queued() {
    let project = Project::new();
    project.post("finding", "settled");
    project.write(
        "pending-actions.jsonl",
        "{\"action\": \"override\", \"decision_id\": \"x\"}\n{\"action\": \"archive\", \"trigger\": \"whim\"}\n[]\n",
    );
    assert_eq!(drain(&project), Drained { posted: 0, archived: 0, rejected: 3 });
    assert_eq!(project.board().len(), 1);
}
