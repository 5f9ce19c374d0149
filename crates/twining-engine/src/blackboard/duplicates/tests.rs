use twining_model::CaseFolding;

use super::RecentEntries;
use crate::PostInput;
use crate::blackboard::PostDraft;
use crate::testing::{Project, caller};
use twining_testcases::each;

fn say(kind: &str, summary: &str) -> PostInput {
    PostInput {
        entry_type: kind.into(),
        summary: summary.into(),
        scope: Some("src/auth/".into()),
        ..PostInput::default()
    }
}

/// The entry a post was taken to repeat.
fn repeated(project: &Project, input: &PostInput) -> Option<String> {
    project.engine.post(&caller("bob"), input).expect("answers").duplicate_of
}

#[test]
fn what_was_said_a_moment_ago_is_not_said_twice() {
    let project = Project::new();
    let first = project
        .engine
        .post(&caller("ada"), &say("warning", "The token clock is five minutes off"))
        .expect("posts");
    let again = project
        .engine
        .post(&caller("bob"), &say("warning", "Token clock is FIVE minutes off!"))
        .expect("answers");
    assert_eq!(
        (again.duplicate_of.as_ref(), &again.id, &again.timestamp),
        (Some(&first.id), &first.id, &first.timestamp)
    );
    assert!(again.note.is_some_and(|note| note.starts_with("nothing was written")));
    assert_eq!(project.board().len(), 1);
    let forced = PostInput { force: true, ..say("warning", "Token clock is five minutes off") };
    assert_eq!(repeated(&project, &forced), None);
    assert_eq!(project.board().len(), 2);
}

#[test]
fn another_process_knows_it_too() {
    let project = Project::new();
    let other = project.another_engine();
    other.post(&caller("ada"), &say("finding", "the cache is cold after a deploy")).expect("posts");
    assert!(repeated(&project, &say("finding", "the cache is cold after a deploy")).is_some());
    other.post(&caller("ada"), &say("finding", "the queue is full at noon")).expect("posts");
    assert!(
        repeated(&project, &say("finding", "the queue is full at noon")).is_some(),
        "what came since is read on"
    );
}

#[test]
fn what_differs_by_a_number_a_denial_an_order_or_a_place_is_something_else() {
    let project = Project::new();
    each(
        [
            "worker 1 is slow",
            "api calls db on start",
            "the cache may be cleared",
            "the cache is slow",
        ],
        |message| {
            assert_eq!(repeated(&project, &say("finding", message)), None, "{message}");
        },
    );
    for other in [
        "worker 2 is slow",
        "db calls api on start",
        "the cache may not be cleared",
        "the queue is slow",
    ] {
        assert_eq!(repeated(&project, &say("finding", other)), None, "{other}");
    }
    let elsewhere = PostInput { scope: Some("docs/".into()), ..say("finding", "worker 1 is slow") };
    assert_eq!(repeated(&project, &elsewhere), None);
    assert_eq!(repeated(&project, &say("warning", "worker 1 is slow")), None, "another type");
    let wider = PostInput { scope: None, ..say("finding", "worker 1 is slow") };
    assert_eq!(repeated(&project, &wider), None, "who looks elsewhere has not been told");
    assert!(repeated(&project, &say("finding", "worker 1 is slow")).is_some());
    let narrower =
        PostInput { scope: Some("src/auth/token.rs".into()), ..say("finding", "worker 1 is slow") };
    assert!(repeated(&project, &narrower).is_some(), "what covers it was said");
    let tagged = PostInput { tags: vec!["load".into()], ..say("finding", "worker 1 is slow") };
    assert_eq!(repeated(&project, &tagged), None, "a new tag is news");
    assert!(repeated(&project, &tagged).is_some());
    assert!(
        repeated(&project, &say("finding", "worker 1 is slow")).is_some(),
        "fewer tags are none"
    );
}

#[test]
fn a_detail_that_adds_something_is_posted() {
    let project = Project::new();
    project
        .engine
        .post(
            &caller("ada"),
            &PostInput {
                detail: Some("seen in the staging log".into()),
                ..say("finding", "login fails")
            },
        )
        .expect("posts");
    assert!(repeated(&project, &say("finding", "login fails")).is_some(), "less is no news");
    let more = PostInput {
        detail: Some("the certificate of the proxy has run out".into()),
        ..say("finding", "login fails")
    };
    assert_eq!(repeated(&project, &more), None);
}

#[test]
fn progress_and_answers_may_be_repeated_and_so_may_what_was_settled_or_is_old() {
    let project = Project::new();
    each(["status", "answer", "artifact"], |kind| {
        for _ in 0..2 {
            assert_eq!(repeated(&project, &say(kind, "half way through")), None, "{kind}");
        }
    });
    let need = project
        .engine
        .post(&caller("ada"), &say("need", "a rate limiter for logins"))
        .expect("posts")
        .id;
    assert!(repeated(&project, &say("need", "a rate limiter for logins")).is_some());
    project.reply("answer", "there is one now", &need);
    assert_eq!(
        repeated(&project, &say("need", "a rate limiter for logins")),
        None,
        "the old one is settled"
    );
    project.clock.advance_ms(24 * 60 * 60 * 1000 + 1);
    assert_eq!(
        repeated(&project, &say("need", "a rate limiter for logins")),
        None,
        "a day later it is news again"
    );
}

#[test]
fn a_board_that_git_replaced_is_read_anew() {
    let project = Project::new();
    project.engine.post(&caller("ada"), &say("finding", "only on this branch")).expect("posts");
    assert!(repeated(&project, &say("finding", "only on this branch")).is_some());
    project.write("new", "");
    std::fs::rename(
        project.path().join(".twining/new"),
        project.path().join(".twining/blackboard.jsonl"),
    )
    .expect("replaces");
    assert_eq!(repeated(&project, &say("finding", "only on this branch")), None);
}

#[test]
fn what_the_board_will_have_later_is_known_at_once_and_only_once() {
    let project = Project::new();
    let posted = project.engine.post(&caller("ada"), &say("finding", "the cache is cold"));
    let entry = project.entry(&posted.expect("posts").id);
    let mut recent = RecentEntries::default();
    recent.add_ahead(entry.clone());
    let draft =
        PostDraft::parse(&say("finding", "The cache is cold"), project.engine.store().root());
    let now = project.engine.store().ids().now();
    let same = |recent: &RecentEntries| {
        recent.same_as(draft.as_ref().expect("a draft"), CaseFolding::Exact, now)
    };
    assert_eq!(same(&recent), Some((entry.id.clone(), entry.timestamp.clone())));
    let line = serde_json::to_vec(&entry).expect("JSON");
    recent.add_lines(&line, false);
    assert_eq!(recent.entries.len(), 1);
    recent.add_lines(&line, true);
    assert_eq!((recent.entries.len(), same(&recent).is_some()), (1, true));
}
