use std::fs;
use std::sync::Arc;
use twining_testcases::each;

use serde_json::{Value, json};
use twining_model::limits;

use super::*;
use crate::testing::{Project, caller};

fn turn(task: &str, number: u64) -> RecordTurnInput {
    RecordTurnInput {
        feature: Some("FEAT-001".into()),
        task: task.into(),
        turn: number,
        player_decision: "Added the login middleware".into(),
        coach_decision: "revise".into(),
        progress_summary: format!("turn {number} of {task}"),
        ..RecordTurnInput::default()
    }
}

fn record(project: &Project, input: &RecordTurnInput) -> RecordTurnOutcome {
    project.clock.advance_ms(1000);
    project.engine.record_turn(&caller("coach"), input).expect("records")
}

fn stored(project: &Project, path: &str) -> Value {
    serde_json::from_slice(&fs::read(project.path().join(".twining").join(path)).expect("is there"))
        .expect("is JSON")
}

fn listed(project: &Project, task: Option<&str>, last: Option<usize>) -> TurnsOutcome {
    let input = TurnsInput { feature: "FEAT-001".into(), task: task.map(str::to_owned), last };
    project.engine.turns(&input).expect("lists")
}

#[test]
fn a_turn_lies_where_its_name_says_with_all_it_was_given() {
    let project = Project::new();
    let recorded = record(
        &project,
        &RecordTurnInput {
            coach_decision: "Feedback".into(),
            acceptance_criteria_status: [
                ("login".into(), "Completed".into()),
                ("logout".into(), "pending".into()),
            ]
            .into(),
            coverage: Some(82.5),
            tests_passed: Some(9),
            started_at: Some("2026-11-15T08:59:01Z".into()),
            files_modified: vec!["src/login.rs".into()],
            lessons_from_turn: vec!["mock the clock".into()],
            ..turn("TASK-003", 2)
        },
    );
    assert_eq!((recorded.id.as_str(), recorded.updated), ("TURN-FEAT-001-TASK-003-T2", false));
    assert_eq!(recorded.path, "turns/FEAT-001/TASK-003/T2.json");
    let file = stored(&project, &recorded.path);
    assert_eq!(file["id"], "TURN-FEAT-001-TASK-003-T2");
    assert_eq!(
        (&file["coach_decision"], &file["mode"]),
        (&json!("revise"), &json!("continuing_work"))
    );
    assert_eq!(
        file["acceptance_criteria_status"],
        json!({"login": "verified", "logout": "pending"})
    );
    assert_eq!((&file["coverage"], &file["duration_seconds"]), (&json!(0.825), &json!(60.0)));
    assert_eq!((&file["agent_id"], &file["origin"]["via"]), (&json!("coach"), &json!("mcp")));
    assert!(
        file.get("tests_failed").is_none() && file.get("quality_gate_results").is_none(),
        "what was not said is not written"
    );
}

#[test]
fn the_same_turn_again_is_an_update_that_loses_nothing() {
    let project = Project::new();
    let first = record(
        &project,
        &RecordTurnInput { lessons_from_turn: vec!["one".into()], ..turn("TASK-003", 1) },
    );
    let path = project.path().join(".twining").join(&first.path);
    let text = fs::read_to_string(&path).expect("is there").replacen(
        '{',
        "{\n  \"from_the_future\": [1.10],",
        1,
    );
    fs::write(&path, text).expect("writes");
    let again = record(
        &project,
        &RecordTurnInput {
            coach_decision: "approved".into(),
            tests_failed: Some(0),
            ..turn("TASK-003", 1)
        },
    );
    assert!(again.updated && again.id == first.id);
    let file = stored(&project, &first.path);
    assert_eq!(
        (&file["coach_decision"], &file["mode"]),
        (&json!("approve"), &json!("fresh_start"))
    );
    assert_eq!((&file["lessons_from_turn"], &file["tests_failed"]), (&json!(["one"]), &json!(0)));
    assert!(file["timestamp"].as_str() < file["updated_at"].as_str());
    assert!(
        fs::read_to_string(&path).expect("is there").contains("1.10"),
        "unknown fields keep their bytes"
    );
    assert_eq!(listed(&project, None, None).total, 1);
}

#[test]
fn an_update_leaves_what_it_does_not_mention() {
    let project = Project::new();
    let first = RecordTurnInput {
        mode: Some("recovering_state".into()),
        agent_id: Some("ann".into()),
        ..turn("TASK-003", 2)
    };
    let path = record(&project, &first).path;
    record(&project, &turn("TASK-003", 2));
    let file = stored(&project, &path);
    assert_eq!((&file["mode"], &file["agent_id"]), (&json!("recovering_state"), &json!("ann")));
    record(
        &project,
        &RecordTurnInput {
            mode: Some("continuing_work".into()),
            agent_id: Some("bob".into()),
            ..turn("TASK-003", 2)
        },
    );
    let file = stored(&project, &path);
    assert_eq!((&file["mode"], &file["agent_id"]), (&json!("continuing_work"), &json!("bob")));
}

#[test]
fn a_turn_does_not_end_before_it_began() {
    let project = Project::new();
    let input = RecordTurnInput {
        started_at: Some("2026-11-15T08:00:00Z".into()),
        completed_at: Some("2026-11-15T07:00:00Z".into()),
        ..turn("TASK-003", 1)
    };
    let refused =
        project.engine.record_turn(&caller("coach"), &input).expect_err("is refused").to_string();
    assert!(refused.contains("`started_at` must not be after the turn's end"), "{refused}");
}

#[test]
fn a_turn_that_says_nothing_is_refused_by_the_field_that_is_empty() {
    let project = Project::new();
    each(
        [
            ("player_decision", RecordTurnInput { player_decision: " ".into(), ..turn("T", 1) }),
            ("coach_decision", RecordTurnInput { coach_decision: String::new(), ..turn("T", 1) }),
            ("coach_decision", RecordTurnInput { coach_decision: "maybe".into(), ..turn("T", 1) }),
            ("progress_summary", RecordTurnInput { progress_summary: "\n".into(), ..turn("T", 1) }),
            ("task", turn(" ", 1)),
            ("task", turn("a\0b", 1)),
            ("turn", turn("T", 0)),
            ("turn", turn("T", 10_000)),
            ("mode", RecordTurnInput { mode: Some("sideways".into()), ..turn("T", 1) }),
            (
                "acceptance_criteria_status",
                RecordTurnInput {
                    acceptance_criteria_status: [("a".into(), "so-so".into())].into(),
                    ..turn("T", 1)
                },
            ),
            ("coverage", RecordTurnInput { coverage: Some(800.0), ..turn("T", 1) }),
            (
                "files_modified",
                RecordTurnInput { files_modified: vec!["../../etc/passwd".into()], ..turn("T", 1) },
            ),
        ],
        |(field, input)| {
            let failure =
                project.engine.record_turn(&caller("coach"), &input).expect_err("is refused");
            assert!(failure.to_string().starts_with(&format!("`{field}` ")), "{failure}");
        },
    );
    assert!(!project.path().join(".twining/turns").exists());
}

#[test]
fn a_player_that_only_repeats_the_verdict_is_told_so() {
    let project = Project::new();
    let recorded =
        record(&project, &RecordTurnInput { player_decision: "feedback".into(), ..turn("T", 1) });
    assert_eq!(recorded.notes.len(), 1);
}

#[test]
fn two_tasks_with_the_same_turn_number_are_two_turns() {
    let project = Project::new();
    record(&project, &turn("TASK-A", 1));
    record(&project, &turn("TASK-B", 1));
    let ids: Vec<String> =
        listed(&project, None, None).turns.into_iter().map(|turn| turn.id).collect();
    assert_eq!(ids, ["TURN-FEAT-001-TASK-A-T1", "TURN-FEAT-001-TASK-B-T1"]);
    assert_eq!(listed(&project, Some("TASK-B"), None).total, 1);
}

#[test]
fn the_last_turns_are_listed_in_order_and_the_rest_is_counted() {
    let project = Project::new();
    (1..=12).for_each(|number| drop(record(&project, &turn("TASK-A", number))));
    let outcome = listed(&project, Some("TASK-A"), Some(3));
    assert_eq!(outcome.turns.iter().map(|turn| turn.turn_number).collect::<Vec<_>>(), [10, 11, 12]);
    assert_eq!((outcome.total, outcome.truncated), (12, true));
    assert_eq!(listed(&project, None, None).turns.len(), 10);
}

#[test]
fn what_is_no_turn_is_named_and_skipped() {
    let project = Project::new();
    record(&project, &turn("TASK-A", 1));
    project.write("turns/FEAT-001/TASK-A/T2.json", "{\"id\": ");
    project.write(
        "turns/FEAT-001/TASK-A/T3.json",
        r#"{"feature_id":"FEAT-002","task_id":"TASK-A","turn_number":3}"#,
    );
    project.write("turns/FEAT-001/TASK-A/notes.md", "not a turn");
    let outcome = listed(&project, None, None);
    assert_eq!(outcome.total, 1);
    let files: Vec<&str> = outcome.unreadable.iter().map(|file| file.file.as_str()).collect();
    assert_eq!(files, ["turns/FEAT-001/TASK-A/T2.json", "turns/FEAT-001/TASK-A/T3.json"]);
    let mended = record(&project, &turn("TASK-A", 2));
    assert!(!mended.updated && mended.notes.len() == 1, "{mended:?}");
    let remaining = mended.notes[0]
        .split_once("was saved as `")
        .and_then(|(_, rest)| rest.strip_suffix('`'))
        .expect("says where");
    assert_eq!(
        fs::read_to_string(project.path().join(".twining").join(remaining)).expect("is there"),
        "{\"id\": "
    );
    assert_eq!(listed(&project, None, None).total, 2);
}

#[test]
fn a_name_that_differs_in_case_only_is_refused_with_the_one_in_use() {
    let project = Project::new();
    record(&project, &turn("TASK-A", 1));
    let failure =
        project.engine.record_turn(&caller("coach"), &turn("task-a", 1)).expect_err("is refused");
    assert_eq!(
        failure.to_string(),
        "`task` already exists as `TASK-A`; `task-a` differs only in case"
    );
    let other = RecordTurnInput { feature: Some("feat-001".into()), ..turn("TASK-A", 1) };
    assert!(project.engine.record_turn(&caller("coach"), &other).is_err());
}

#[test]
fn a_hostile_name_writes_inside_its_own_folder() {
    let project = Project::new();
    let hostile = RecordTurnInput { feature: Some("../../outside".into()), ..turn("a/../../b", 1) };
    let recorded = record(&project, &hostile);
    assert_eq!(recorded.path, "turns/%2E.%2F..%2Foutside/a%2F..%2F..%2Fb/T1.json");
    assert!(project.path().join(".twining").join(&recorded.path).is_file());
    let input = TurnsInput { feature: "../../outside".into(), ..TurnsInput::default() };
    assert_eq!(project.engine.turns(&input).expect("lists").total, 1);
}

#[test]
fn the_feature_is_told_by_the_task_where_it_is_not_given() {
    each(
        [
            ("TASK-GE-001", "FEAT-GE"),
            ("TASK-001", "FEAT-UNKNOWN"),
            ("other", "FEAT-UNKNOWN"),
            ("TASK-A-B-9", "FEAT-A"),
        ],
        |(task, feature)| {
            assert_eq!(feature_of(task), feature, "{task}");
        },
    );
    let project = Project::new();
    let recorded = record(&project, &RecordTurnInput { feature: None, ..turn("TASK-GE-001", 1) });
    assert_eq!(recorded.id, "TURN-FEAT-GE-TASK-GE-001-T1");
}

#[test]
fn room_is_made_from_completed_features_and_never_from_running_ones() {
    let project = Project::new();
    (1..=51).for_each(|number| drop(record(&project, &turn("RUNNING", number))));
    assert_eq!(listed(&project, None, Some(500)).total, 51, "a running feature keeps everything");
    let done = RecordTurnInput { feature_completed: Some(true), ..turn("RUNNING", 52) };
    let recorded = record(&project, &done);
    assert_eq!(
        recorded.pruned,
        ["turns/FEAT-001/RUNNING/T1.json", "turns/FEAT-001/RUNNING/T2.json"]
    );
    assert_eq!(listed(&project, None, Some(500)).total as usize, limits::TURNS_OF_FEATURE);
    // Worked on again, it is in progress again, and keeps everything.
    let reopened = record(&project, &turn("RUNNING", 53));
    assert_eq!(reopened.pruned, Vec::<String>::new());
    assert_eq!(listed(&project, None, Some(500)).total as usize, limits::TURNS_OF_FEATURE + 1);
}

#[test]
fn a_feature_that_the_list_calls_completed_makes_room() {
    let project = Project::new();
    let list = |status: &str| {
        json!({"features": [{"id": "FEAT-001", "description": "log in", "status": status}]})
            .to_string()
    };
    project.write("features.json", &list("in_progress"));
    (1..=51).for_each(|number| drop(record(&project, &turn("TASK", number))));
    assert_eq!(listed(&project, None, Some(500)).total, 51, "nothing calls it completed");
    project.write("features.json", &list("tested"));
    let recorded = record(&project, &turn("TASK", 52));
    assert_eq!(recorded.pruned, ["turns/FEAT-001/TASK/T1.json", "turns/FEAT-001/TASK/T2.json"]);
}

#[test]
fn a_full_project_makes_room_from_its_completed_features() {
    let project = Project::new();
    let of = |feature: &str, number, completed| RecordTurnInput {
        feature: Some(feature.into()),
        feature_completed: completed,
        ..turn("TASK", number)
    };
    (1..=10).for_each(|number| {
        drop(record(&project, &of("FEAT-OLD", number, (number == 10).then_some(true))));
    });
    (1..=190).for_each(|number| drop(record(&project, &of("FEAT-RUNNING", number, None))));
    let recorded = record(&project, &of("FEAT-RUNNING", 191, None));
    assert_eq!(recorded.pruned, ["turns/FEAT-OLD/TASK/T1.json"], "the 201st");
    project.write("turns/FEAT-OLD/TASK/T2.json", "{");
    let recorded = record(&project, &of("FEAT-RUNNING", 192, None));
    assert_eq!(
        recorded.pruned,
        Vec::<String>::new(),
        "what cannot be read is not counted, and not taken away"
    );
}

#[test]
fn agents_that_record_at_once_lose_no_turn() {
    let project = Arc::new(Project::new());
    let agents: Vec<_> = (0..4)
        .map(|agent| {
            let engine = project.another_engine();
            std::thread::spawn(move || {
                for number in 1..=10 {
                    // Each on a task of its own, and all on one that they share.
                    engine
                        .record_turn(&caller("a"), &turn(&format!("TASK-{agent}"), number))
                        .expect("records");
                    let lesson = RecordTurnInput {
                        blockers_found: vec![format!("seen by {agent}")],
                        ..turn("SHARED", number)
                    };
                    engine.record_turn(&caller("a"), &lesson).expect("records");
                }
            })
        })
        .collect();
    agents.into_iter().for_each(|agent| agent.join().expect("ends well"));
    let outcome = listed(&project, None, Some(500));
    assert_eq!((outcome.total, outcome.unreadable.len()), (50, 0));
}

#[test]
fn turns_that_another_tool_wrote_are_read() {
    let project = Project::new();
    project.write(
        "turns/FEAT-HARV/TASK-HARV-002/T1.json",
        include_str!("../../../../../fixtures/guardkit/turn_state_turn_1.json"),
    );
    let input = TurnsInput { feature: "FEAT-HARV".into(), ..TurnsInput::default() };
    let outcome = project.engine.turns(&input).expect("lists");
    assert_eq!((outcome.total, outcome.unreadable.len()), (1, 0));
    assert_eq!(
        (outcome.turns[0].coach_decision.as_str(), outcome.turns[0].files_modified.len()),
        ("feedback", 2)
    );
}
