use crate::testing::{Project, caller, choice};
use crate::{ArchiveInput, ArchiveOutcome, PostInput, QueryInput};

fn archive(project: &Project) -> ArchiveOutcome {
    project.clock.advance_ms(1000);
    project.engine.archive(&caller("ada"), &ArchiveInput::default()).expect("archives")
}

fn summaries(project: &Project) -> Vec<String> {
    project.board().into_iter().map(|entry| entry.summary).collect()
}

#[test]
fn what_is_settled_leaves_and_what_is_open_or_decided_stays() {
    let project = Project::new();
    project.post("finding", "found");
    project.post("status", "done");
    project.post("need", "open need");
    project.post("warning", "open warning");
    project.post("question", "open question");
    let answered = project.post("question", "answered question");
    project.reply("answer", "the answer", &answered);
    project.decide(&choice("a", "src/", "decided"));
    let outcome = archive(&project);
    assert_eq!((outcome.archived_count, outcome.kept_open), (4, 3));
    assert_eq!(
        summaries(&project),
        ["open need", "open warning", "open question", "decided", "Archive: 4 entries archived"]
    );
    assert_eq!(outcome.archive_file, "archive/2026-11-15-blackboard.jsonl");
    let archived =
        std::fs::read_to_string(project.path().join(".twining").join(&outcome.archive_file))
            .expect("the archive is there");
    assert_eq!(archived.lines().count(), 4);
    assert!(archived.contains("answered question") && archived.contains("the answer"));
}

#[test]
fn archiving_again_and_again_moves_nothing_and_posts_nothing() {
    let project = Project::new();
    for n in 0..12 {
        project.decide(&choice(&format!("d{n}"), "src/", &format!("choice {n}")));
    }
    project.post("finding", "found");
    assert_eq!(archive(&project).archived_count, 1);
    let board = project.board();
    for _ in 0..3 {
        let again = archive(&project);
        assert_eq!(
            (again.archived_count, again.archive_file.as_str(), again.summary),
            (0, "", None)
        );
    }
    assert_eq!(project.board(), board, "an archive does not archive its own summary");
}

#[test]
fn decisions_stay_even_when_asked_to_go() {
    let project = Project::new();
    project.decide(&choice("a", "src/", "decided"));
    project.clock.advance_ms(1000);
    let input = ArchiveInput { keep_decisions: Some(false), ..ArchiveInput::default() };
    let outcome = project.engine.archive(&caller("ada"), &input).expect("archives");
    assert_eq!((outcome.archived_count, summaries(&project)), (0, vec!["decided".to_owned()]));
    assert!(outcome.note.is_some_and(|note| note.contains("keep_decisions")));
}

#[test]
fn the_summary_of_a_large_archive_stays_small() {
    let project = Project::new();
    let entries: Vec<String> = (0..100).map(|n| format!("{n} {}", "long ".repeat(38))).collect();
    for (n, summary) in entries.iter().enumerate() {
        project.post(["finding", "status", "offer", "artifact", "constraint"][n % 5], summary);
    }
    let outcome = archive(&project);
    let summary = outcome.summary.expect("a summary");
    assert!(summary.chars().count() <= 2000, "{}", summary.chars().count());
    assert!(summary.starts_with("100 entries archived: "), "{summary}");
    let finding = project.entries_tagged("archive").remove(0);
    assert_eq!(
        (finding.summary.as_str(), finding.detail, finding.scope.as_str()),
        ("Archive: 100 entries archived", summary, "project")
    );
}

#[test]
fn only_what_is_older_than_asked_leaves_and_no_summary_means_none() {
    let project = Project::new();
    project.post("finding", "old");
    project.clock.advance_ms(1000);
    let before = Some(project.clock.now().to_string());
    project.post("finding", "new");
    let input = ArchiveInput { before, summarize: Some(false), ..ArchiveInput::default() };
    let outcome = project.engine.archive(&caller("ada"), &input).expect("archives");
    assert_eq!(
        (outcome.archived_count, outcome.summary, summaries(&project)),
        (1, None, vec!["new".to_owned()])
    );
    let wrong = ArchiveInput { before: Some("last week".into()), ..ArchiveInput::default() };
    assert!(
        project
            .engine
            .archive(&caller("ada"), &wrong)
            .expect_err("refused")
            .to_string()
            .starts_with("`before` ")
    );
}

#[test]
fn archived_entries_are_no_longer_found() {
    let project = Project::new();
    project.post("finding", "zebra crossing");
    archive(&project);
    let input = QueryInput { query: "crossing".into(), ..QueryInput::default() };
    let found = project.engine.query(&input).expect("searches");
    assert!(found.results.iter().all(|hit| hit.entry.summary != "zebra crossing"));
}

#[test]
fn posts_that_arrive_during_an_archive_are_not_lost() {
    let project = Project::new();
    let other = project.another_engine();
    for n in 0..50 {
        project.post("finding", &format!("before {n}"));
    }
    let posts = 100;
    std::thread::scope(|threads| {
        threads.spawn(|| {
            for n in 0..posts {
                let input = PostInput {
                    entry_type: "need".into(),
                    summary: format!("during {n}"),
                    ..PostInput::default()
                };
                other.post(&caller("bob"), &input).expect("posts");
            }
        });
        for _ in 0..5 {
            archive(&project);
        }
    });
    let remaining = summaries(&project);
    assert_eq!(remaining.iter().filter(|summary| summary.starts_with("during")).count(), posts);
}
