//! The working files against what git has: scripts and hands are seen, git's own
//! work is not.

use std::fs;

use twining_store::git::{Git, GitRange, RangeError};
use twining_store::integrity::DifferenceKind;
use twining_store::{Durability, Store, StoreError, UnchangedBoard};
use twining_testkit::TestProject;
use twining_testkit::files::board_ids;
use twining_testkit::memory::{decide, entry, note};

struct Repository {
    upstream: TestProject,
    project: TestProject,
    store: Store,
    decision: String,
}

/// A clone of a repository that has a decision and two notes.
fn cloned() -> Repository {
    let upstream = TestProject::with_git();
    let store = Store::open(upstream.place(), twining_testkit::ids()).expect("opens");
    let decision = decide(&store, "no moment").to_string();
    note(&store, "one");
    note(&store, "two");
    store.housekeep().expect("works");
    commit(&upstream, "records");
    let project = TestProject::with_git();
    project.git(["remote", "add", "origin", &upstream.path().display().to_string()]);
    project.git(["fetch", "-q", "origin"]);
    project.git(["checkout", "-q", "-B", "main", "--track", "origin/main"]);
    let store = Store::open(project.place(), twining_testkit::ids()).expect("opens");
    Repository { upstream, project, store, decision }
}

fn commit(project: &TestProject, message: &str) {
    project.git(["add", "-A"]);
    project.git(["commit", "-q", "-m", message]);
}

impl Repository {
    fn edit(&self, path: &str, from: &str, to: &str) {
        let path = self.project.path().join(path);
        let text = fs::read_to_string(&path).expect("reads");
        fs::write(&path, text.replace(from, to)).expect("writes");
    }

    fn alter_decision(&self) {
        self.edit(&format!(".twining/decisions/{}.json", self.decision), "no moment", "any moment");
    }

    fn changes(&self) -> Vec<DifferenceKind> {
        let base = self.project.git(["merge-base", "HEAD", "origin/main"]);
        self.store
            .documents()
            .changed_records(&Git::at(&self.project.path()), Some(base.trim()))
            .expect("compares")
            .into_iter()
            .map(|found| found.change)
            .collect()
    }
}

fn altered(field: &str) -> DifferenceKind {
    DifferenceKind::Altered { fields: vec![field.to_owned()] }
}

#[test]
fn a_decision_reworded_by_a_script_is_seen() {
    let repository = cloned();
    assert_eq!(repository.changes(), []);
    repository.alter_decision();
    assert_eq!(repository.changes(), [altered("summary")]);
}

#[test]
fn an_alteration_that_was_committed_is_seen_against_upstream() {
    let repository = cloned();
    repository.alter_decision();
    commit(&repository.project, "past the hook");
    assert_eq!(repository.changes(), [altered("summary")]);
}

#[test]
fn a_board_line_that_a_script_deleted_is_seen() {
    let repository = cloned();
    let board = repository.project.path().join(".twining/blackboard.jsonl");
    let text = fs::read_to_string(&board).expect("reads");
    fs::write(&board, text.lines().skip(2).map(|line| format!("{line}\n")).collect::<String>())
        .expect("writes");
    assert_eq!(repository.changes(), [DifferenceKind::Removed, DifferenceKind::Removed]);
}

#[test]
fn a_memory_that_was_removed_is_seen() {
    let repository = cloned();
    fs::remove_dir_all(repository.project.path().join(".twining")).expect("removes");
    let gone = repository.changes();
    assert!(
        gone.len() >= 4 && gone.iter().all(|change| *change == DifferenceKind::Removed),
        "{gone:?}"
    );
}

#[test]
fn what_twining_writes_is_no_difference() {
    let repository = cloned();
    note(&repository.store, "three");
    decide(&repository.store, "another");
    repository.store.housekeep().expect("works");
    assert_eq!(repository.changes(), []);
    let ids = board_ids(&repository.project.path()).expect("valid");
    let summary = twining_model::Entry {
        tags: vec!["archive".to_owned()],
        detail: "3 entries archived: 3 finding.".to_owned(),
        ..entry(&repository.store, "Archive: 3 entries archived")
    };
    let notes = ids[1..4].to_vec();
    let change = twining_model::Change {
        archived: notes,
        ..twining_model::Change::of_entries(vec![summary])
    };
    repository
        .store
        .transact(Durability::Strict, |_| Ok::<_, StoreError>((change.clone(), ())))
        .expect("archives");
    assert_eq!(repository.changes(), []);
}

#[test]
fn a_pull_a_rebase_and_a_squash_are_no_difference() {
    let repository = cloned();
    let Repository { upstream, project, store, .. } = &repository;
    note(store, "mine");
    store.housekeep().expect("works");
    commit(project, "mine");
    let others = Store::open(upstream.place(), twining_testkit::ids()).expect("opens");
    decide(&others, "a colleague's");
    others.housekeep().expect("works");
    commit(upstream, "a colleague's");
    project.git(["fetch", "-q", "origin"]);
    project.git(["rebase", "-q", "origin/main"]);
    assert_eq!(repository.changes(), []);
    project.git(["checkout", "-q", "-b", "review", "main~1"]);
    project.git(["merge", "-q", "--squash", "main"]);
    project.git(["commit", "-q", "-m", "squashed"]);
    assert_eq!(repository.changes(), []);
}

#[test]
fn a_comparison_holds_while_only_new_lines_come() {
    let repository = cloned();
    let (store, git) = (&repository.store, Git::at(&repository.project.path()));
    let state = |decisions| {
        store.documents().compared_state(decisions).expect("looks").expect("there is a commit")
    };
    let mut known = UnchangedBoard::default();
    let mut changes = || {
        let found = store.documents().changed_since_head(&git, &mut known).expect("compares");
        found.into_iter().map(|found| found.change).collect::<Vec<_>>()
    };
    note(store, "three");
    let first = state(1);
    note(store, "three and a half");
    assert!(first.holds_at(&state(1)), "a post changes nothing of what git has");
    assert!(!first.holds_at(&state(2)), "a decision may");
    assert_eq!(changes(), []);
    note(store, "four");
    repository.alter_decision();
    assert_eq!(changes(), [altered("summary")], "only the new lines of the board were read");
    let second = state(1);
    repository.edit(".twining/blackboard.jsonl", "\"one\"", "\"two\"");
    assert!(!second.holds_at(&state(1)), "an edit in place");
    note(store, "five");
    assert_eq!(changes(), [altered("summary"), altered("summary")]);
    commit(&repository.project, "accepted");
    assert!(!state(1).holds_at(&first));
    assert_eq!(changes(), []);
}

#[test]
fn a_project_without_git_has_no_witness() {
    let project = TestProject::new();
    let store = Store::open(project.place(), twining_testkit::ids()).expect("opens");
    note(&store, "one");
    assert_eq!(
        store.documents().changed_records(&Git::at(&project.path()), None).expect("compares"),
        []
    );
}

#[test]
fn a_shallow_clone_with_both_commits_has_a_merge_base() {
    let repository = cloned();
    let upstream = &repository.upstream;
    upstream.git(["checkout", "-q", "-b", "pr"]);
    fs::write(upstream.path().join("a.txt"), "a").expect("writes");
    commit(upstream, "pr");
    let url = format!("file://{}", upstream.path().display());
    let shallow = TestProject::with_git();
    shallow.git(["fetch", "-q", "--depth=1", &url, "main:base", "pr:pr"]);
    let range = GitRange::open(&shallow.path(), "base", "pr").expect("is found");
    assert_eq!(range.merge_base, range.base);
    let changed: Vec<String> = range
        .changes()
        .into_iter()
        .filter_map(|change| change.after)
        .map(|file| file.path)
        .collect();
    assert_eq!(changed, ["a.txt"]);
    let files = range.files("pr", "");
    assert!(files.iter().any(|file| file.path == "a.txt"), "all of the project's");
    fs::write(upstream.path().join("b.txt"), "b").expect("writes");
    commit(upstream, "more");
    shallow.git(["fetch", "-q", "--depth=1", &url, "pr:later"]);
    let refused = GitRange::open(&shallow.path(), "base", "later").expect_err("too shallow");
    assert!(
        matches!(refused, RangeError::TooShallow { .. })
            && refused.hint().contains("git fetch --unshallow"),
        "{refused}"
    );
}
