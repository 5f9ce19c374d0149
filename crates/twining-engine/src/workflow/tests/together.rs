//! The verbs on a real folder: files, locks, the board.

use std::fs::{self, File};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};
use twining_testcases::each;

use serde_json::Value;
use twining_guard::hosts::ToolResult;

use crate::testing::{Project, caller};
use crate::workflow::*;
use crate::{Failure, ReadInput, TestCountsInput, UserPolicy};

fn add(project: &Project, id: &str, files: &[&str]) {
    let input = FeaturesInput {
        action: Some("add".into()),
        id: Some(id.into()),
        description: Some(format!("build {id}")),
        files: files.iter().map(|file| (*file).to_owned()).collect(),
        ..FeaturesInput::default()
    };
    project.engine.features(&caller("ada"), project.path(), &input).expect("adds");
}

fn report(
    project: &Project,
    id: &str,
    role: &str,
    outcome: &str,
    evidence: EvidenceInput,
) -> Result<ReportOutcome, Failure> {
    project.clock.advance_ms(1000);
    let input = ReportInput {
        feature: id.into(),
        role: role.into(),
        outcome: outcome.into(),
        summary: Some(format!("{outcome} by {role}")),
        evidence,
        ..ReportInput::default()
    };
    project.engine.report(&caller("ada"), project.path(), &input, &ReportContext::default())
}

fn none() -> EvidenceInput {
    EvidenceInput::default()
}

fn run_of(passed: u64) -> EvidenceInput {
    EvidenceInput {
        command: Some("cargo test".into()),
        exit_code: Some(0),
        tests: TestCountsInput { run: Some(passed), passed: Some(passed), failed: None },
        ..none()
    }
}

/// Writes a file of the project, last changed so many seconds before its clock.
fn put(project: &Project, path: &str, text: &str, seconds_ago: i64) -> PathBuf {
    let path = project.path().join(path);
    fs::create_dir_all(path.parent().expect("inside")).expect("makes the folder");
    fs::write(&path, text).expect("writes");
    let ms = u64::try_from(project.clock.now().as_ms() - seconds_ago * 1000).expect("after 1970");
    let file = File::options().write(true).open(&path).expect("opens");
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_millis(ms)).expect("sets the time");
    path
}

fn log(project: &Project) -> RunLog {
    RunLog::read(&project.engine.store().documents().runs().expect("reads"))
}

fn say(project: &Project) -> String {
    project
        .engine
        .next(&UserPolicy::default(), NextInput { prompt: Some(false) })
        .expect("tells")
        .next
        .say
}

fn on_disk(project: &Project) -> Value {
    serde_json::from_slice(
        &fs::read(project.path().join(".twining/features.json")).expect("is there"),
    )
    .expect("is JSON")
}

#[test]
fn a_feature_goes_from_idea_to_tested() {
    let project = Project::new();
    assert_eq!(say(&project), "initialize");
    put(&project, "src/a.rs", "fn a() {}", 100);
    add(&project, "F1", &["src/a.rs"]);
    assert_eq!(say(&project), "code F1");
    assert_eq!(
        report(&project, "F1", "coder", "started", none()).expect("moves").next.say,
        "code F1"
    );
    assert_eq!(
        report(&project, "F1", "coding-agent", "completed", none()).expect("moves").next.say,
        "test F1"
    );
    let passed = report(&project, "F1", "tester", "passed", run_of(3)).expect("moves");
    assert_eq!(
        (passed.feature.status, passed.feature.tested, passed.next.say.as_str()),
        (FeatureStatus::Tested, true, "done")
    );
    let feature = &on_disk(&project)["features"][0];
    assert_eq!(
        (feature["status"].as_str(), feature["tested"].as_bool()),
        (Some("tested"), Some(true))
    );
    assert_eq!(feature["verified_by"]["run"].as_str(), passed.run.as_deref());
}

#[test]
fn passed_without_evidence_changes_nothing_and_says_what_to_do() {
    let project = Project::new();
    put(&project, "src/a.rs", "x", 100);
    add(&project, "F1", &["src/a.rs"]);
    report(&project, "F1", "coder", "completed", none()).expect("moves");
    let before = on_disk(&project);
    let zero = report(&project, "F1", "tester", "passed", run_of(0)).expect_err("zero tests");
    assert_eq!(zero.code(), "NO_EVIDENCE");
    assert!(
        zero.to_string()
            .contains("Why: `cargo test` ran no test. Do instead: run the tests of `F1`"),
        "{zero}"
    );
    let update = FeaturesInput {
        action: Some("update".into()),
        id: Some("F1".into()),
        tested: Some(true),
        ..FeaturesInput::default()
    };
    let refused =
        project.engine.features(&caller("ada"), project.path(), &update).expect_err("no evidence");
    assert_eq!(refused.code(), "NO_EVIDENCE");
    assert_eq!(
        report(&project, "F1", "coder", "passed", run_of(3)).expect_err("its own judge").code(),
        "OUT_OF_STEP"
    );
    assert_eq!(on_disk(&project), before);
    // A run that a hook saw serves as well.
    let outcome = ToolResult {
        exit_code: Some(0),
        output: "test result: ok. 3 passed; 0 failed".into(),
        is_unfinished: false,
    };
    project
        .engine
        .capture_run(&caller("ada"), project.path(), Some(""), "cargo test", &outcome)
        .expect("records")
        .expect("is a run");
    let updated =
        project.engine.features(&caller("ada"), project.path(), &update).expect("has evidence");
    assert!(updated.features[0].feature.tested);
}

#[test]
fn a_report_older_than_the_code_is_no_evidence() {
    const JUNIT: &str = r#"<testsuites><testsuite name="a" tests="1" failures="0"><testcase name="x"/></testsuite></testsuites>"#;
    let project = Project::new();
    put(&project, "src/a.rs", "x", 50);
    put(&project, "junit.xml", JUNIT, 60);
    add(&project, "F1", &["src/"]);
    report(&project, "F1", "coder", "completed", none()).expect("moves");
    let evidence = EvidenceInput { reports: vec!["junit.xml".into()], ..run_of(9) };
    let stale = report(&project, "F1", "tester", "passed", evidence.clone()).expect_err("stale");
    assert!(stale.to_string().contains("`src/` changed after the run"), "{stale}");
    put(&project, "junit.xml", JUNIT, 10);
    let passed = report(&project, "F1", "tester", "passed", evidence).expect("is newer");
    assert_eq!(
        on_disk(&project)["features"][0]["verified_by"]["tests"]["run"],
        1,
        "the report counts, not the claim: {passed:?}"
    );
}

#[test]
fn an_empty_data_file_is_no_evidence() {
    let project = Project::new();
    put(&project, "src/a.rs", "x", 100);
    add(&project, "PT-003", &["src/a.rs"]);
    report(&project, "PT-003", "coder", "completed", none()).expect("moves");
    let evidence = EvidenceInput {
        command: Some("curl localhost/api/sessions -o out.json".into()),
        exit_code: Some(0),
        data: vec!["out.json".into()],
        ..none()
    };
    assert!(
        report(&project, "PT-003", "tester", "passed", evidence.clone())
            .expect_err("no file")
            .to_string()
            .contains("does not exist")
    );
    put(&project, "out.json", r#"{"status": "ok", "data": []}"#, 1);
    assert!(
        report(&project, "PT-003", "tester", "passed", evidence.clone())
            .expect_err("empty")
            .to_string()
            .contains("holds no data")
    );
    put(&project, "out.json", r#"{"status": "ok", "data": [1]}"#, 1);
    assert!(
        report(&project, "PT-003", "tester", "passed", evidence).expect("has data").feature.tested
    );
    let outside = EvidenceInput { data: vec!["/etc/passwd".into()], ..run_of(1) };
    assert_eq!(
        report(&project, "PT-003", "tester", "passed", outside).expect_err("outside").code(),
        "INVALID_INPUT"
    );
}

#[test]
fn two_failures_block_a_feature_and_ask_a_person() {
    let project = Project::new();
    add(&project, "F1", &[]);
    add(&project, "F2", &[]);
    for round in 1..=2 {
        report(&project, "F1", "coder", "completed", none()).expect("moves");
        let failed = report(&project, "F1", "tester", "failed", none()).expect("moves");
        assert_eq!(failed.feature.retries, round);
        let expected = if round == 1 { "resume F1 attempt 2" } else { "code F2" };
        assert_eq!(failed.next.say, expected);
        assert_eq!(failed.need.is_some(), round == 2);
        if round == 1 {
            let shown =
                project.engine.next(&UserPolicy::default(), NextInput::default()).expect("tells");
            let prompt = shown.prompt.expect("a prompt");
            assert!(
                prompt.contains("## What broke last time\n\nfailed by tester")
                    && prompt.contains("You MUST"),
                "{prompt}"
            );
        }
    }
    let needs = |project: &Project| {
        let input = ReadInput { entry_types: vec!["need".into()], ..ReadInput::default() };
        project.engine.read(&input).expect("reads").entries.len()
    };
    assert_eq!((needs(&project), project.engine.status().expect("reports").open_needs), (1, 1));
    assert_eq!(
        report(&project, "F1", "coder", "started", none()).expect_err("is blocked").code(),
        "OUT_OF_STEP"
    );
    report(&project, "F1", "person", "reopened", none()).expect("opens it again");
    assert_eq!(project.engine.status().expect("reports").open_needs, 0, "the need is answered");
    assert_eq!(say(&project), "code F1");
}

#[test]
fn a_feature_blocked_before_any_test_speaks_of_no_failed_ones() {
    let project = Project::new();
    add(&project, "F1", &[]);
    let blocked = report(&project, "F1", "coder", "blocked", none()).expect("moves");
    assert!(!blocked.next.why.contains("failed"), "{}", blocked.next.why);
    let need = project.board().into_iter().find(|entry| entry.entry_type == "need");
    let need = need.expect("asks a person");
    assert!(!need.detail.contains("After"), "{}", need.detail);
}

#[test]
fn a_list_of_another_tool_is_used_in_place() {
    let project = Project::new();
    let path = project.path().join(".claude/progress/feature-list.json");
    fs::create_dir_all(path.parent().expect("inside")).expect("makes the folder");
    let text = "{\n  \"categories\": {\n    \"x\": {\n      \"features\": [\n        { \"id\": \"A\", \"name\": \"a\", \"status\": \"pending\", \"odd\": 1.50 }\n      ]\n    }\n  }\n}\n";
    fs::write(&path, text).expect("writes");
    assert_eq!(say(&project), "code A");
    report(&project, "A", "coder", "completed", none()).expect("moves");
    assert_eq!(fs::read_to_string(&path).expect("reads"), text.replace("pending", "completed"));
    assert!(!project.path().join(".twining/features.json").exists());
    project.write("features.json", "[]");
    assert_eq!(say(&project), "done", "our own list counts where there are two");
}

#[test]
fn a_list_that_cannot_be_read_is_never_written_over() {
    let project = Project::new();
    project.write("features.json", "<<<<<<< HEAD\n");
    let next =
        project.engine.next(&UserPolicy::default(), NextInput::default()).expect_err("unreadable");
    assert_eq!(next.code(), "UNREADABLE_LIST");
    let input = FeaturesInput {
        action: Some("add".into()),
        id: Some("A".into()),
        description: Some("a".into()),
        ..FeaturesInput::default()
    };
    assert!(project.engine.features(&caller("ada"), project.path(), &input).is_err());
    assert_eq!(
        fs::read_to_string(project.path().join(".twining/features.json")).expect("reads"),
        "<<<<<<< HEAD\n"
    );
}

#[test]
fn agents_that_report_at_once_lose_nothing() {
    let project = Project::new();
    for agent in 0..4 {
        for n in 0..5 {
            add(&project, &format!("F{agent}-{n}"), &[]);
        }
    }
    let agents: Vec<_> = (0..4)
        .map(|agent| {
            let engine = project.another_engine();
            let path = project.path().to_owned();
            std::thread::spawn(move || {
                for n in 0..5 {
                    let input = |id: String, role: &str, outcome: &str, evidence| ReportInput {
                        feature: id,
                        role: role.into(),
                        outcome: outcome.into(),
                        evidence,
                        ..ReportInput::default()
                    };
                    let id = format!("F{agent}-{n}");
                    engine
                        .report(
                            &caller("a"),
                            &path,
                            &input(id.clone(), "coder", "completed", none()),
                            &ReportContext::default(),
                        )
                        .expect("moves");
                    engine
                        .report(
                            &caller("a"),
                            &path,
                            &input(id, "tester", "passed", run_of(1)),
                            &ReportContext::default(),
                        )
                        .expect("moves");
                    let added = FeaturesInput {
                        action: Some("add".into()),
                        id: Some(format!("N{agent}-{n}")),
                        description: Some("new".into()),
                        ..FeaturesInput::default()
                    };
                    engine.features(&caller("a"), &path, &added).expect("adds");
                }
            })
        })
        .collect();
    agents.into_iter().for_each(|agent| agent.join().expect("ends well"));
    let (_, list) = project.engine.feature_list().expect("reads");
    let counts = FeatureCounts::of(&list.expect("is there"));
    assert_eq!((counts.tested, counts.pending), (20, 20));
    assert_eq!(log(&project).runs.len(), 20);
}

#[test]
fn what_waits_for_an_untested_feature_is_not_reported_done() {
    let project = Project::new();
    let text = r#"[{"id": "F1", "status": "blocked"}, {"id": "F3", "depends_on": ["F1"], "status": "in_progress"}]"#;
    fs::write(project.path().join("feature-list.json"), text).expect("writes");
    each(
        [("coder", "completed", none()), ("tester", "passed", run_of(1))],
        |(role, outcome, evidence)| {
            let refused = report(&project, "F3", role, outcome, evidence).expect_err("it waits");
            assert!(refused.to_string().contains("F1"), "{refused}");
        },
    );
}

#[test]
fn what_is_remembered_of_runs_stays_bounded() {
    let project = Project::new();
    let run = |n: usize| TestRun {
        id: format!("run-{n}"),
        command: "x".repeat(100_000),
        ..TestRun::default()
    };
    for n in 0..30 {
        let change = twining_model::Change { runs: vec![run(n).to_line()], ..Default::default() };
        project.engine.store().write(twining_store::Durability::Normal, &change).expect("records");
    }
    let remaining = log(&project).runs;
    assert!((4..=10).contains(&remaining.len()), "{}", remaining.len());
    assert_eq!(remaining.last().map(|run| run.id.as_str()), Some("run-29"));
    let own = fs::read_dir(project.path().join(".twining/local"))
        .expect("a folder")
        .filter_map(Result::ok);
    let runs = own
        .map(|entry| entry.path().join("runs.jsonl"))
        .find(|path| path.is_file())
        .expect("is there");
    let size = fs::metadata(runs).expect("is there").len();
    assert!(size <= twining_model::limits::RUNS_BYTES as u64);
}

#[test]
fn an_edit_that_would_make_a_circle_is_refused() {
    let project = Project::new();
    add(&project, "A", &[]);
    add(&project, "B", &[]);
    let depend = |id: &str, on: &str| FeaturesInput {
        action: Some("update".into()),
        id: Some(id.into()),
        depends_on: vec![on.into()],
        ..FeaturesInput::default()
    };
    project.engine.features(&caller("ada"), project.path(), &depend("A", "B")).expect("updates");
    let refused = project
        .engine
        .features(&caller("ada"), project.path(), &depend("B", "A"))
        .expect_err("a circle");
    assert_eq!(refused.to_string(), "`depends_on` would create a dependency cycle; A -> B");
    assert_eq!(say(&project), "code B");
}

#[test]
fn one_feature_is_shown_with_its_runs_and_files_and_a_list_with_its_evidence() {
    let project = Project::new();
    put(&project, "src/a.rs", "x", 50);
    add(&project, "F1", &["src/"]);
    add(&project, "F2", &[]);
    report(&project, "F1", "coder", "completed", none()).expect("moves");
    let outcome = ToolResult {
        exit_code: Some(0),
        output: "test result: ok. 3 passed; 0 failed".into(),
        is_unfinished: false,
    };
    let run = project
        .engine
        .capture_run(&caller("ada"), project.path(), Some(""), "cargo test", &outcome)
        .expect("records")
        .expect("is a run");
    let show = |id: Option<&str>| {
        let input = FeaturesInput { id: id.map(str::to_owned), ..FeaturesInput::default() };
        project.engine.features(&caller("ada"), project.path(), &input).expect("lists").features
    };
    let shown = &show(Some("F1"))[0];
    assert_eq!((shown.runs[0].id.as_str(), shown.runs[0].is_evidence), (run.id.as_str(), true));
    assert_eq!(shown.file_states[0].state, WatchedState::AsRunSaw);
    let listed = show(None);
    assert_eq!(listed[0].evidence.as_ref().map(|known| known.state), Some(EvidenceState::Fresh));
    assert!(listed[0].runs.is_empty() && listed[1].evidence.is_none(), "{listed:?}");
    put(&project, "src/a.rs", "y", 40);
    let stale = show(None)[0].evidence.clone().expect("is judged");
    assert_eq!(stale.state, EvidenceState::Stale, "{stale:?}");
}
