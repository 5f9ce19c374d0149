use serde_json::json;

use crate::StatusReport;
use crate::testing::{NoHistory, Project, caller, choice};

fn status(project: &Project) -> StatusReport {
    project.engine.status().expect("reports")
}

fn codes(report: &StatusReport) -> Vec<&str> {
    report.warnings.iter().map(|warning| warning.code.as_str()).collect()
}

#[test]
fn an_empty_folder_is_healthy_and_stays_empty() {
    let project = Project::new();
    let report = status(&project);
    assert_eq!(
        report.summary,
        "Healthy. 0 blackboard entries, 0 active decisions, 0 graph entities."
    );
    assert_eq!(report.last_activity, "none");
    assert!(!project.path().join(".twining").exists(), "asking made a folder");
}

#[test]
fn status_counts_what_is_there() {
    let project = Project::new();
    project.post("need", "a limiter");
    project.post("question", "which port?");
    project.decide(&choice("a", "src/", "one"));
    project.decide(&choice("a", "src/", "two"));
    let report = status(&project);
    assert_eq!(
        (report.blackboard_entries, report.active_decisions, report.provisional_decisions),
        (5, 1, 1)
    );
    assert_eq!((report.open_needs, report.unanswered_questions, report.open_warnings), (1, 1, 1));
    assert_eq!(report.last_activity, project.clock.now().to_string());
    assert!(!report.needs_archiving);
}

#[test]
fn a_provisional_decision_is_stale_after_seven_days_and_a_question_after_one() {
    let project = Project::new();
    project.decide(&choice("a", "src/", "one"));
    project.decide(&choice("a", "src/", "two"));
    project.post("question", "which port?");
    let report = status(&project);
    assert_eq!(codes(&report), ["provisional"], "nothing is stale yet");
    assert!(
        report.summary.starts_with("Healthy.")
            && report.summary.contains("1 provisional decision waits for review"),
        "{}",
        report.summary
    );
    project.clock.advance_days(8);
    let report = status(&project);
    assert_eq!(codes(&report), ["stale_provisional", "unanswered_questions"]);
    assert_eq!(
        report.summary,
        "Needs attention: 1 provisional decision is older than 7 days; 1 question is unanswered."
    );
}

#[test]
fn an_answered_question_is_not_reported() {
    let project = Project::new();
    let question = project.post("question", "which port?");
    project.reply("answer", "8080", &question);
    project.clock.advance_days(8);
    let report = status(&project);
    assert_eq!((report.unanswered_questions, codes(&report).len()), (0, 0));
}

#[test]
fn a_full_board_asks_for_an_archive_and_one_full_of_decisions_does_not() {
    let project = Project::new();
    project.write("config.yml", "archive:\n  max_blackboard_entries_before_archive: 3\n");
    for n in 0..3 {
        project.decide(&choice(&format!("d{n}"), "src/", &format!("choice {n}")));
    }
    assert!(!status(&project).needs_archiving, "no archive would help");
    project.post("finding", "found");
    let report = status(&project);
    assert!(
        report.needs_archiving && codes(&report) == ["needs_archiving"],
        "{:?}",
        report.warnings
    );
    project.clock.advance_ms(1000);
    project.engine.archive(&caller("ada"), &crate::ArchiveInput::default()).expect("archives");
    assert!(!status(&project).needs_archiving, "one archive must not ask for the next");
}

#[test]
fn what_cannot_be_read_is_named_and_stops_nothing() {
    let project = Project::new();
    project.post("finding", "found");
    project.write("decisions/01M7EB3QWY4C5CPJF6982ZJQ18.json", "{ torn");
    let board =
        std::fs::read_to_string(project.path().join(".twining/blackboard.jsonl")).expect("reads");
    project.write("blackboard.jsonl", &format!("not json\n{board}"));
    let report = status(&project);
    assert_eq!(
        (report.blackboard_entries, codes(&report).as_slice()),
        (1, ["unreadable_files"].as_slice())
    );
    let mut files: Vec<&str> = report.unreadable.iter().map(|bad| bad.file.as_str()).collect();
    files.sort_unstable();
    assert_eq!(files, ["blackboard.jsonl", "decisions/01M7EB3QWY4C5CPJF6982ZJQ18.json"]);
}

#[test]
fn turns_handoffs_and_a_feature_list_that_cannot_be_read_are_named() {
    let project = Project::new();
    project.post("finding", "found");
    assert!(status(&project).summary.starts_with("Healthy."));
    project.write("turns/FEAT-1/TASK-1/T1.json", "{\"id\": ");
    project.write("handoffs/01M7EB3QWY4C5CPJF6982ZJQ18.json", "{ torn");
    project.write("features.json", "{ torn");
    let report = status(&project);
    assert_eq!(codes(&report), ["unreadable_files"]);
    let mut files: Vec<&str> = report.unreadable.iter().map(|bad| bad.file.as_str()).collect();
    files.sort_unstable();
    assert_eq!(
        files,
        [
            "features.json",
            "handoffs/01M7EB3QWY4C5CPJF6982ZJQ18.json",
            "turns/FEAT-1/TASK-1/T1.json"
        ]
    );
    assert_eq!(report.summary, "Needs attention: 3 files or lines could not be read.");
    project.write("decisions/01M7EB3QWY4C5CPJF6982ZJQ18.json", "{ torn");
    assert_eq!(status(&project).summary, "Needs attention: 4 files or lines could not be read.");
}

#[test]
fn a_lone_entity_is_told_and_is_no_illness() {
    let project = Project::new();
    project.add_entity("lonely", "module");
    let report = status(&project);
    assert_eq!(
        (report.disconnected_entities, codes(&report).as_slice()),
        (1, ["disconnected_entities"].as_slice())
    );
    assert!(report.summary.starts_with("Healthy."), "{}", report.summary);
}

#[test]
fn weights_of_an_old_config_are_scaled_and_said_so() {
    let project = Project::new();
    project.write("config.yml", "context_assembly:\n  priority_weights: {recency: 0.3, relevance: 0.4, decision_confidence: 0.2, warning_boost: 0.1, graph_reachability: 0.35}\n");
    let report = status(&project);
    assert_eq!(codes(&report), ["config"]);
    assert!(report.warnings[0].message.contains("1.35"), "{}", report.warnings[0].message);
}

#[test]
fn a_record_from_the_future_is_reported() {
    let project = Project::new();
    project.write(
        "blackboard.jsonl",
        &format!(
            "{}\n",
            json!({"id": "hook-1", "timestamp": "2999-01-01T00:00:00Z", "entry_type": "finding", "summary": "ahead", "scope": "project"})
        ),
    );
    let report = status(&project);
    assert_eq!(codes(&report), ["future_dated"]);
}

#[test]
fn a_board_of_one_entry_is_counted_in_the_singular() {
    let project = Project::new();
    project.write("config.yml", "archive:\n  max_blackboard_entries_before_archive: 1\n");
    project.post("finding", "found");
    let report = status(&project);
    assert_eq!(
        report.summary,
        "Needs attention: the blackboard has 1 entry; the archive threshold is 1."
    );
}

#[test]
fn a_folder_of_a_newer_format_says_that_it_cannot_be_written() {
    let project = Project::new();
    project.write("config.yml", "version: 2\n");
    let report = status(&project);
    assert_eq!(
        (codes(&report).as_slice(), report.warnings[0].hint.as_str()),
        (["format_too_new"].as_slice(), "update twining")
    );
    assert_eq!(
        report.summary,
        "Needs attention: the folder has format version 2; it can be read but not written."
    );
}

#[test]
fn a_queued_line_that_was_set_aside_is_told_and_is_no_illness() {
    let project = Project::new();
    project.write("pending-posts.jsonl", "not json\n");
    project.engine.drain_queues(&caller("ada"), &NoHistory).expect("drains");
    let report = status(&project);
    assert_eq!(codes(&report), ["rejected_queue_lines"]);
    assert!(
        report.summary.starts_with("Healthy.")
            && report.summary.contains("1 line queued by a hook was rejected"),
        "{}",
        report.summary
    );
}
