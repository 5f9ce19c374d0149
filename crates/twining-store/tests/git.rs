//! git works on the tree: what it has in a commit or a stash stays there, and
//! what it lost between two of its steps comes back.

use serde_json::{Value, json};
use twining_model::{Amendment, Change, Id};
use twining_store::{Durability, Store, StoreError};
use twining_testcases::each;
use twining_testkit::TestProject;
use twining_testkit::files::board_ids;
use twining_testkit::memory::{decide, decision, entry, note};

fn store(project: &TestProject) -> Store {
    Store::open(project.place(), twining_testkit::ids()).expect("opens")
}

fn commit_all(project: &TestProject, message: &str) {
    project.git(["add", "-A"]);
    project.git(["commit", "-q", "-m", message]);
}

#[test]
fn a_decision_committed_on_one_branch_does_not_follow_to_the_next() {
    let project = TestProject::with_git();
    let store = store(&project);
    note(&store, "on both");
    store.housekeep().expect("works");
    commit_all(&project, "both");
    project.git(["checkout", "-q", "-b", "feature"]);
    let id = decide(&store, "only on feature");
    note(&store, "also only on feature");
    store.housekeep().expect("works");
    commit_all(&project, "feature");
    project.git(["checkout", "-q", "main"]);

    store.housekeep().expect("works");
    assert_eq!(project.git(["status", "--porcelain"]), "", "the tree is as git left it");
    assert!(
        store.view::<_, StoreError>(|view| view.decisions().get(&id)).expect("reads").is_none()
    );
    note(&store, "on main");
    store.housekeep().expect("works");
    assert_eq!(board_ids(&project.path()).expect("valid").len(), 2);
    commit_all(&project, "main");
    project.git(["checkout", "-q", "feature"]);
    store.housekeep().expect("works");
    assert_eq!(project.git(["status", "--porcelain"]), "");
    assert!(
        store.view::<_, StoreError>(|view| view.decisions().get(&id)).expect("reads").is_some()
    );
}

#[test]
fn a_record_of_one_branch_stays_there_however_many_follow() {
    let project = TestProject::with_git();
    let store = store(&project);
    note(&store, "on all");
    store.housekeep().expect("works");
    commit_all(&project, "all");
    for branch in 1..=9 {
        project.git(["checkout", "-q", "-b", &format!("b{branch}"), "main"]);
        decide(&store, &format!("decided on branch {branch}"));
        note(&store, &format!("noted on branch {branch}"));
        store.housekeep().expect("works");
        // The common one, the one of this branch and the announcement of its decision.
        assert_eq!(board_ids(&project.path()).expect("valid").len(), 3, "branch {branch}");
        let decisions =
            std::fs::read_dir(project.path().join(".twining/decisions")).expect("reads").flatten();
        let own = decisions.filter(|file| file.file_name().to_string_lossy().starts_with("01"));
        assert_eq!(own.count(), 1, "branch {branch}");
        commit_all(&project, &format!("branch {branch}"));
    }
}

#[test]
fn what_is_in_the_stash_stays_there_until_it_is_popped() {
    let project = TestProject::with_git();
    let store = store(&project);
    note(&store, "committed");
    store.housekeep().expect("works");
    commit_all(&project, "first");
    let stashed = note(&store, "stashed");
    project.git(["stash", "-q"]);
    store.housekeep().expect("works");
    assert_eq!(project.git(["status", "--porcelain"]), "");
    project.git(["stash", "pop", "-q"]);
    assert_eq!(board_ids(&project.path()).expect("valid").last(), Some(&stashed));
}

#[test]
fn what_is_in_no_commit_and_no_stash_comes_back() {
    let project = TestProject::with_git();
    let store = store(&project);
    let kept = decide(&store, "committed");
    store.housekeep().expect("works");
    commit_all(&project, "first");
    let lost = decide(&store, "written while git was about to reset");
    let set = [("status".to_owned(), "overridden".into())].into_iter().collect();
    let change =
        Change { amendments: vec![Amendment::new(kept.clone(), set)], ..Change::default() };
    store
        .transact::<_, StoreError>(Durability::Strict, |_| Ok((change.clone(), ())))
        .expect("amends");
    store.housekeep().expect("works");
    // What the second half of `git stash` or of a failing merge does.
    project.git(["checkout", "-q", "--", "."]);
    project.git(["reset", "-q", "--hard"]);
    std::fs::remove_file(project.file(&format!("decisions/{lost}.json"))).expect("removes");
    store.housekeep().expect("works");
    store
        .view::<_, StoreError>(|view| {
            assert!(view.decisions().get(&lost)?.is_some());
            assert_eq!(
                view.decisions().get(&kept)?.map(|decision| decision.status.as_str()),
                Some("overridden")
            );
            assert_eq!((view.counts()?.entities, view.counts()?.relations), (2, 2));
            Ok(())
        })
        .expect("reads");
    assert_eq!(board_ids(&project.path()).expect("valid").len(), 2);
    store.housekeep().expect("works");
    let text = std::fs::read_to_string(project.file("graph/entities.json")).expect("there");
    assert!(text.contains("written while git"), "{text}");
}

/// A status with its place in the decision's history.
fn amended(id: &Id, statuses: &[&str]) -> Amendment {
    let history: Vec<Value> = statuses
        .iter()
        .enumerate()
        .map(|(at, status)| json!({"at": format!("2026-01-01T00:00:0{at}.000Z"), "status": status, "by": "ann", "reason": "seen"}))
        .collect();
    let status = statuses.last().expect("a status");
    let set = json!({"status": status, "history": history});
    Amendment::new(id.clone(), set.as_object().expect("an object").clone())
}

fn amend(store: &Store, amendments: Vec<Amendment>) {
    let change = Change { amendments, ..Change::default() };
    store
        .transact::<_, StoreError>(Durability::Strict, |_| Ok((change.clone(), ())))
        .expect("amends");
}

/// Two amendments in a row, each in a line of its own or both in one, and what git does then.
#[test]
fn the_last_of_two_amendments_stands_whatever_git_does() {
    type GitStep = fn(&TestProject);
    let steps: [(&str, GitStep); 2] = [
        ("nothing is committed", |project| drop(project.git(["add", "-A"]))),
        ("all is committed", |project| {
            commit_all(project, "settled");
            project.git(["rm", "-q", "--cached", ".twining/blackboard.jsonl"]);
        }),
    ];
    each(steps, |(case, step)| {
        for is_one_line in [false, true] {
            let project = TestProject::with_git();
            let store = store(&project);
            let id = decide(&store, "settled twice");
            let reopened = amended(&id, &["provisional"]);
            let settled = amended(&id, &["provisional", "active"]);
            if is_one_line {
                // As a folder takes in what others wrote: the decision as it was, then what came.
                let text = std::fs::read(project.file(&format!("decisions/{id}.json")));
                let set = serde_json::from_slice(&text.expect("there")).expect("JSON");
                amend(&store, vec![Amendment::new(id.clone(), set), reopened]);
            } else {
                amend(&store, vec![reopened]);
                amend(&store, vec![settled]);
            }
            let before = status_of(&store, &id);
            step(&project);
            store.housekeep().expect("works");
            note(&store, "meanwhile");
            assert_eq!(status_of(&store, &id), before, "{case}, one line: {is_one_line}");
        }
    });
}

fn status_of(store: &Store, id: &Id) -> String {
    store
        .view::<_, StoreError>(|view| {
            Ok(view.decisions().get(id)?.expect("there").status.as_str().to_owned())
        })
        .expect("reads")
}

/// A decision made after `git stash -u` had listed the files it did not know, and
/// before it removed all of those: its announcement is in the stash, and it is not.
#[test]
fn a_decision_of_which_the_stash_holds_the_announcement_alone_comes_back() {
    let project = TestProject::with_git();
    let store = store(&project);
    note(&store, "committed");
    store.housekeep().expect("works");
    commit_all(&project, "first");
    let decision = decision(&store, "made between two steps");
    let (id, mut announced) = (decision.id.clone(), entry(&store, "decided"));
    announced.relates_to = vec![id.to_string()];
    let change =
        Change { entries: vec![announced], decisions: vec![decision], ..Change::default() };
    store
        .transact::<_, StoreError>(Durability::Strict, |_| Ok((change.clone(), ())))
        .expect("decides");
    project.git(["stash", "-q"]);
    std::fs::remove_file(project.file(&format!("decisions/{id}.json"))).expect("removes");
    store.housekeep().expect("works");
    assert!(
        store.view::<_, StoreError>(|view| view.decisions().get(&id)).expect("reads").is_some()
    );
}

#[test]
fn a_decision_that_the_stash_holds_stays_there_so_that_it_can_be_popped() {
    let project = TestProject::with_git();
    let store = store(&project);
    note(&store, "committed");
    store.housekeep().expect("works");
    commit_all(&project, "first");
    let id = decide(&store, "not committed yet");
    store.housekeep().expect("works");
    project.git(["stash", "-q", "-u"]);
    store.housekeep().expect("works");
    assert_eq!(
        project.git(["status", "--porcelain"]),
        "",
        "nothing stands in the way of what is popped"
    );
    project.git(["stash", "pop", "-q"]);
    assert!(
        store.view::<_, StoreError>(|view| view.decisions().get(&id)).expect("reads").is_some()
    );
}
