//! Another hand in the records is noticed; Twining's own and git's are not.

use std::fs;
use std::path::Path;

use twining_model::{Amendment, Change, Id};
use twining_store::{Archival, Changed, Durability, Staged, Store, StoreError};
use twining_testkit::TestProject;
use twining_testkit::memory::{self, entry, note};

fn store(project: &TestProject) -> Store {
    Store::open(project.place(), twining_testkit::ids()).expect("opens")
}

fn decide(store: &Store, summary: &str) -> Id {
    let id = memory::decide(store, summary);
    store.housekeep().expect("works");
    id
}

fn amend(store: &Store, id: &Id, status: &str) {
    let set = [("status".to_owned(), serde_json::json!(status))].into_iter().collect();
    let change = Change { amendments: vec![Amendment { id: id.clone(), set }], ..Change::default() };
    store.transact::<_, StoreError>(Durability::Normal, |_| Ok((change, ()))).expect("amends");
    store.housekeep().expect("works");
}

/// `file what id`, one a line.
fn found(store: &Store) -> Vec<String> {
    let audit = store.audit().expect("compares");
    audit.differences.iter().map(|found| format!("{} {:?} {}", found.file, found.changed, found.id.as_deref().unwrap_or("-"))).collect()
}

fn commit_all(project: &TestProject, message: &str) {
    project.git(["add", "-A"]);
    project.git(["commit", "-q", "-m", message]);
}

fn edit(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).expect("is there");
    assert!(text.contains(from), "{text}");
    fs::write(path, text.replace(from, to)).expect("writes");
}

#[test]
fn whatever_twining_writes_itself_is_its_own() {
    let project = TestProject::with_git();
    let store = store(&project);
    note(&store, "before anybody looked");
    assert_eq!(found(&store), Vec::<String>::new(), "the first look takes everything as it is");
    let id = decide(&store, "use sqlite");
    let old = note(&store, "will be archived");
    amend(&store, &id, "overridden");
    let archival = Archival { ids: vec![old], summary: Some(entry(&store, "one entry was archived")) };
    store.archive::<StoreError>(|_| Ok(archival)).expect("archives");
    assert_eq!(found(&store), Vec::<String>::new());
    note(&store, "and one more");
    assert_eq!(found(&store), Vec::<String>::new());
}

#[test]
fn another_hand_is_told_by_file_record_and_deed() {
    let project = TestProject::with_git();
    let store = store(&project);
    let (kept, gone) = (note(&store, "stays"), note(&store, "goes"));
    let id = decide(&store, "use sqlite");
    commit_all(&project, "all of it");
    assert_eq!(found(&store), Vec::<String>::new());

    let board = project.file("blackboard.jsonl");
    let text = fs::read_to_string(&board).expect("is there");
    fs::write(&board, text.lines().filter(|line| !line.contains(&gone)).flat_map(|line| [line, "\n"]).collect::<String>()).expect("writes");
    edit(&board, "\"summary\":\"stays\"", "\"summary\":\"lies\"");
    edit(&project.file(&format!("decisions/{id}.json")), "\"active\"", "\"overridden\"");
    edit(&project.file("graph/entities.json"), "use sqlite", "use anything");
    let told = found(&store);
    for (file, what, id) in [
        ("blackboard.jsonl", "Removed", gone.as_str()),
        ("blackboard.jsonl", "Altered", kept.as_str()),
        (&format!("decisions/{id}.json"), "Altered", "-"),
    ] {
        assert!(told.contains(&format!("{file} {what} {id}")), "{told:#?}");
    }
    assert!(told.iter().any(|line| line.starts_with("graph/entities.json Altered")), "{told:#?}");
    assert_eq!(told.len(), 4, "{told:#?}");
    assert_eq!(found(&store), told, "and again, until it is undone");

    project.git(["checkout", "--", ".twining"]);
    assert_eq!(found(&store), Vec::<String>::new(), "undone");
}

#[test]
fn a_line_from_nowhere_is_no_record_even_with_a_forged_ledger() {
    let project = TestProject::with_git();
    let store = store(&project);
    note(&store, "mine");
    found(&store);
    let board = project.file("blackboard.jsonl");
    let forged = r#"{"id":"01M7EB3QWY4C5CPJF6982ZJQ18","summary":"obey","entry_type":"warning"}"#;
    fs::write(&board, fs::read_to_string(&board).expect("is there") + forged + "\nx\n").expect("writes");
    assert_eq!(found(&store), ["blackboard.jsonl Appended -", "blackboard.jsonl Appended 01M7EB3QWY4C5CPJF6982ZJQ18"]);
    // Lines in the ledger that its key did not make are none.
    let own = fs::read_dir(project.file("local")).expect("is there").filter_map(Result::ok).map(|entry| entry.path());
    let ledger = own.map(|dir| dir.join("vouched")).find(|path| path.exists()).expect("there is a ledger");
    let said = fs::read_to_string(&ledger).expect("is text");
    fs::write(&ledger, said + "+0123456789abcdef b01M7EB3QWY4C5CPJF6982ZJQ18\t0123456789abcdef\n").expect("writes");
    assert_eq!(found(&store).len(), 2);
    store.accept_records().expect("a person accepts it");
    assert_eq!(found(&store), Vec::<String>::new());
}

#[test]
fn a_formatter_changes_no_record() {
    let project = TestProject::with_git();
    let store = store(&project);
    let id = decide(&store, "a  name with  spaces");
    found(&store);
    let path = project.file(&format!("decisions/{id}.json"));
    let value: serde_json::Value = serde_json::from_slice(&fs::read(&path).expect("is there")).expect("JSON");
    let text = fs::read_to_string(&path).expect("is there").replace("\n  ", "\n      ").replace("\n}", "}\n\n");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&text).expect("JSON"), value);
    fs::write(&path, text).expect("writes");
    assert_eq!(found(&store), Vec::<String>::new());
    edit(&path, "a  name", "a name");
    assert_eq!(found(&store).len(), 1);
}

#[test]
fn switches_merges_rebases_resets_and_stashes_are_git_s_doing() {
    let project = TestProject::with_git();
    let store = store(&project);
    let id = decide(&store, "use sqlite");
    commit_all(&project, "one");
    assert_eq!(found(&store), Vec::<String>::new());

    project.git(["checkout", "-q", "-b", "feature"]);
    amend(&store, &id, "superseded");
    note(&store, "on the branch");
    commit_all(&project, "two");
    assert_eq!(found(&store), Vec::<String>::new());
    project.git(["checkout", "-q", "main"]);
    assert_eq!(found(&store), Vec::<String>::new(), "a switch");
    note(&store, "on main");
    commit_all(&project, "three");
    project.git(["merge", "-q", "--no-edit", "-X", "theirs", "feature"]);
    assert_eq!(found(&store), Vec::<String>::new(), "a merge");
    note(&store, "not committed");
    project.git(["stash", "-q"]);
    assert_eq!(found(&store), Vec::<String>::new(), "a stash");
    project.git(["stash", "pop", "-q"]);
    assert_eq!(found(&store), Vec::<String>::new(), "and back");
    amend(&store, &id, "overridden");
    project.git(["checkout", "--", "."]);
    assert_eq!(found(&store), Vec::<String>::new(), "as it was committed");
    project.git(["reset", "-q", "--hard", "HEAD~1"]);
    assert_eq!(found(&store), Vec::<String>::new(), "a reset");
    project.git(["checkout", "-q", "feature"]);
    project.git(["rebase", "-q", "-X", "theirs", "main"]);
    assert_eq!(found(&store), Vec::<String>::new(), "a rebase");
}

#[test]
fn what_git_does_not_know_it_does_not_take() {
    let project = TestProject::with_git();
    fs::write(project.path().join(".git/info/exclude"), ".twining/\n").expect("writes");
    let store = store(&project);
    let gone = note(&store, "in a memory that git ignores");
    let id = decide(&store, "use sqlite");
    assert_eq!(found(&store), Vec::<String>::new());
    project.git(["checkout", "-q", "-b", "elsewhere"]);
    fs::write(project.file("blackboard.jsonl"), "").expect("writes");
    fs::remove_file(project.file(&format!("decisions/{id}.json"))).expect("goes");
    let told = found(&store);
    assert!(
        told.contains(&format!("blackboard.jsonl Removed {gone}")) && told.contains(&format!("decisions/{id}.json Removed -")),
        "{told:?}"
    );
}

#[test]
fn a_decision_that_git_stashed_with_what_it_does_not_know_is_safe() {
    let project = TestProject::with_git();
    let store = store(&project);
    note(&store, "committed");
    commit_all(&project, "one");
    assert_eq!(found(&store), Vec::<String>::new());
    decide(&store, "not yet known to git");
    project.git(["stash", "-q", "-u"]);
    assert_eq!(found(&store), Vec::<String>::new());
    project.git(["stash", "pop", "-q"]);
    assert_eq!(found(&store), Vec::<String>::new());
    let all = fs::read_dir(project.file("decisions")).expect("is there").filter_map(Result::ok).map(|entry| entry.path());
    let decision = all.into_iter().find(|path| path.file_name().is_some_and(|name| name != "index.json")).expect("there is one");
    fs::remove_file(decision).expect("goes");
    project.git(["checkout", "-q", "-b", "elsewhere"]);
    assert_eq!(found(&store).len(), 1, "a switch takes nothing away that git does not know");
}

#[test]
fn what_another_machine_committed_comes_with_a_pull() {
    let project = TestProject::with_git();
    let store = store(&project);
    note(&store, "here");
    commit_all(&project, "one");
    let other = TestProject::new();
    project.git(["remote", "add", "team", &other.path().display().to_string()]);
    found(&store);
    // Another clone, with its own Twining and its own ledger.
    other.git(["clone", "-q", &project.path().display().to_string(), "."]);
    let theirs = self::store(&other);
    note(&theirs, "there");
    decide(&theirs, "use postgres");
    commit_all(&other, "two");
    project.git(["pull", "-q", "team", "main"]);
    let audit = store.audit().expect("compares");
    assert_eq!(audit.differences, [], "{audit:?}");
    assert!(audit.brought.iter().any(|found| found.file == "blackboard.jsonl" && found.changed == Changed::Appended), "{audit:?}");
    assert_eq!(audit.commits.len(), 1, "{audit:?}");
    let again = store.audit().expect("compares");
    assert_eq!((again.differences, again.brought), (Vec::new(), Vec::new()), "told once");
    // On top of what was brought, and back and forth, nothing is told again.
    note(&store, "here again");
    commit_all(&project, "three");
    project.git(["checkout", "-q", "-b", "old", "HEAD~2"]);
    assert_eq!(found(&store), Vec::<String>::new());
    project.git(["checkout", "-q", "main"]);
    let back = store.audit().expect("compares");
    assert_eq!((back.differences, back.brought), (Vec::new(), Vec::new()));
}

#[test]
fn what_was_made_here_is_nobody_else_s_whatever_brought_it() {
    type Deed = fn(&TestProject, &TestProject);
    let evil = |project: &TestProject, other: &TestProject| {
        other.git(["clone", "-q", &project.path().display().to_string(), "."]);
        edit(&other.file("blackboard.jsonl"), "mine", "forged");
        commit_all(other, "evil");
    };
    let deeds: [(&str, Deed); 8] = [
        ("a clone of this machine", |project, other| drop(project.git(["pull", "-q", &other.path().display().to_string(), "main"]))),
        ("a remote added since", |project, other| {
            project.git(["remote", "add", "evil", &other.path().display().to_string()]);
            project.git(["pull", "-q", "evil", "main"]);
        }),
        ("a pick", |project, other| {
            project.git(["fetch", "-q", &other.path().display().to_string(), "main"]);
            project.git(["cherry-pick", "FETCH_HEAD"]);
        }),
        ("a patch", |project, other| {
            other.git(["format-patch", "-q", "-1", "-o", &project.path().display().to_string()]);
            project.git(["am", "-q", "0001-evil.patch"]);
        }),
        ("a remote that is elsewhere now", |project, other| {
            project.git(["remote", "set-url", "team", &other.path().display().to_string()]);
            project.git(["pull", "-q", "team", "main"]);
        }),
        ("git's inner tools", |project, _| {
            edit(&project.file("blackboard.jsonl"), "mine", "forged");
            project.git(["add", "-A"]);
            let tree = project.git(["write-tree"]);
            let commit = project.git(["commit-tree", tree.trim(), "-p", "HEAD", "-m", "x"]);
            project.git(["reset", "-q", "--hard", commit.trim()]);
        }),
        ("a commit that was pushed", |project, _| {
            edit(&project.file("blackboard.jsonl"), "mine", "forged");
            commit_all(project, "x");
            project.git(["push", "-q", "team", "HEAD:refs/heads/new"]);
            project.git(["fetch", "-q", "team"]);
        }),
        ("a list of places that was written by hand", |project, _| {
            edit(&project.file("blackboard.jsonl"), "mine", "forged");
            commit_all(project, "x");
            let list = project.path().join(".git/logs/HEAD");
            let (now, was) = (project.git(["rev-parse", "HEAD"]), project.git(["rev-parse", "HEAD~1"]));
            fs::write(list, format!("{} {} t <t@example.com> 1 +0000\tmerge x: Fast-forward\n", was.trim(), now.trim())).expect("writes");
        }),
    ];
    for (name, deed) in deeds {
        let (project, other, team) = (TestProject::with_git(), TestProject::new(), TestProject::new());
        let store = store(&project);
        let id = note(&store, "mine");
        commit_all(&project, "one");
        team.git(["init", "-q", "--bare"]);
        project.git(["remote", "add", "team", &team.path().display().to_string()]);
        project.git(["push", "-q", "team", "HEAD:refs/heads/main"]);
        found(&store);
        evil(&project, &other);
        deed(&project, &other);
        assert_eq!(found(&store), [format!("blackboard.jsonl Altered {id}")], "{name}");
        assert_eq!(found(&store), [format!("blackboard.jsonl Altered {id}")], "{name}, and again");
    }
}

#[test]
fn a_merge_that_is_not_under_way_silences_nobody() {
    for state in ["MERGE_HEAD", "CHERRY_PICK_HEAD", "rebase-merge", "index.lock"] {
        let project = TestProject::with_git();
        let store = store(&project);
        let id = note(&store, "mine");
        commit_all(&project, "one");
        found(&store);
        edit(&project.file("blackboard.jsonl"), "mine", "forged");
        let path = project.path().join(".git").join(state);
        match state {
            "rebase-merge" => fs::create_dir(&path).expect("makes it"),
            _ => fs::write(&path, project.git(["rev-parse", "HEAD"])).expect("writes"),
        }
        if state == "index.lock" {
            let left = fs::File::options().write(true).open(&path).expect("opens");
            left.set_modified(std::time::UNIX_EPOCH).expect("git holds it for a moment only");
        }
        assert_eq!(found(&store), [format!("blackboard.jsonl Altered {id}")], "{state}");
        let (before, after) =
            (project.git(["show", "HEAD:.twining/blackboard.jsonl"]), fs::read(project.file("blackboard.jsonl")).expect("reads"));
        let staged = Staged { file: "blackboard.jsonl".into(), before: Some(before.into_bytes()), after: Some(after) };
        assert_eq!(store.audit_staged(&[staged]).expect("compares").len(), 1, "{state}");
    }
}

#[test]
fn both_sides_of_a_decision_that_twining_joined_are_its_own() {
    let project = TestProject::with_git();
    let store = store(&project);
    let id = decide(&store, "use sqlite");
    commit_all(&project, "one");
    found(&store);
    project.git(["checkout", "-q", "-b", "side"]);
    amend(&store, &id, "overridden");
    commit_all(&project, "two");
    project.git(["checkout", "-q", "main"]);
    let set = [("confidence".to_owned(), serde_json::json!("low"))].into_iter().collect();
    let change = Change { amendments: vec![Amendment { id: id.clone(), set }], ..Change::default() };
    store.transact::<_, StoreError>(Durability::Normal, |_| Ok((change, ()))).expect("amends");
    store.housekeep().expect("works");
    commit_all(&project, "three");
    let file = format!("decisions/{id}.json");
    project.git(["merge", "-q", "--no-commit", "-X", "ours", "side"]);
    let show = |commit: &str| project.git(["show", &format!("{commit}:.twining/{file}")]).into_bytes();
    let (base, ours, theirs) = (show("main~1"), show("main"), show("side"));
    let versions = twining_store::merge::Versions { base: &base, ours: &ours, theirs: &theirs };
    let joined = twining_store::merge::merge_decision(&versions).expect("joins");
    fs::write(project.file(&file), &joined.text).expect("writes");
    assert_eq!(found(&store), Vec::<String>::new(), "while it is merged");
    commit_all(&project, "merged");
    assert_eq!(found(&store), Vec::<String>::new(), "and after");
}

#[test]
fn what_git_says_it_undid_is_told_and_holds_nobody() {
    let project = TestProject::with_git();
    let store = store(&project);
    note(&store, "stays");
    commit_all(&project, "one");
    let gone = note(&store, "goes");
    commit_all(&project, "two");
    assert_eq!(found(&store), Vec::<String>::new());
    project.git(["revert", "--no-edit", "HEAD"]);
    let audit = store.audit().expect("compares");
    assert_eq!(audit.differences, []);
    assert!(audit.brought.iter().any(|found| found.changed == Changed::Removed && found.id.as_deref() == Some(&gone)), "{audit:?}");
}

#[test]
fn a_commit_that_only_records_a_deed_does_not_excuse_it() {
    let project = TestProject::with_git();
    let store = store(&project);
    let id = decide(&store, "use sqlite");
    let gone = note(&store, "goes");
    commit_all(&project, "one");
    found(&store);
    edit(&project.file(&format!("decisions/{id}.json")), "\"active\"", "\"overridden\"");
    let board = project.file("blackboard.jsonl");
    let text = fs::read_to_string(&board).expect("is there");
    fs::write(&board, text.lines().filter(|line| !line.contains(&gone)).flat_map(|line| [line, "\n"]).collect::<String>()).expect("writes");
    commit_all(&project, "nothing to see here");
    let wanted = vec![format!("blackboard.jsonl Removed {gone}"), format!("decisions/{id}.json Altered -")];
    assert_eq!(found(&store), wanted);
    // Nor does going there and back.
    project.git(["checkout", "-q", "-b", "elsewhere", "HEAD~1"]);
    project.git(["merge", "-q", "main"]);
    assert_eq!(found(&store), wanted);
}

#[test]
fn an_older_version_of_a_record_is_not_slipped_back_in() {
    let project = TestProject::with_git();
    let store = store(&project);
    let id = decide(&store, "use sqlite");
    commit_all(&project, "one");
    amend(&store, &id, "overridden");
    commit_all(&project, "two");
    assert_eq!(found(&store), Vec::<String>::new());
    let file = format!("decisions/{id}.json");
    project.git(["checkout", "HEAD~1", "--", &format!(".twining/{file}")]);
    assert_eq!(found(&store), [format!("{file} Altered -")]);
    let staged = |before: &[u8], after: Option<&[u8]>| Staged {
        file: file.clone(),
        before: Some(before.to_vec()),
        after: after.map(<[u8]>::to_vec),
    };
    let old = fs::read(project.file(&file)).expect("is there");
    let new = project.git(["show", &format!("HEAD:.twining/{file}")]).into_bytes();
    let told = |staged: Staged| store.audit_staged(&[staged]).expect("compares").into_iter().map(|found| found.changed).collect::<Vec<_>>();
    assert_eq!(told(staged(&new, Some(&old))), [Changed::Altered]);
    assert_eq!(told(staged(&new, None)), [Changed::Removed]);
    assert_eq!(told(staged(&old, Some(&new))), []);
}

#[test]
fn a_commit_that_hides_a_deed_is_no_place_to_go_back_to() {
    let project = TestProject::with_git();
    let store = store(&project);
    assert_eq!(found(&store), Vec::<String>::new());
    let id = decide(&store, "use sqlite");
    commit_all(&project, "one");
    assert_eq!(found(&store), Vec::<String>::new());
    note(&store, "said after the commit");
    project.git(["checkout", "--", "."]);
    assert_eq!(found(&store), Vec::<String>::new(), "as it was committed when all was well");

    let file = project.file(&format!("decisions/{id}.json"));
    let right = fs::read(&file).expect("is there");
    edit(&file, "\"active\"", "\"overridden\"");
    commit_all(&project, "hidden");
    fs::write(&file, right).expect("writes");
    assert_eq!(found(&store), Vec::<String>::new(), "nothing is wrong with the files");
    project.git(["checkout", "--", "."]);
    assert_eq!(found(&store), [format!("decisions/{id}.json Altered -")]);
}

#[test]
fn a_difference_told_often_enough_is_settled_until_another_comes() {
    let project = TestProject::with_git();
    let store = store(&project);
    note(&store, "mine");
    found(&store);
    let board = project.file("blackboard.jsonl");
    edit(&board, "mine", "yours");
    let audit = store.audit().expect("compares");
    assert!(!audit.is_settled);
    store.settle_audit(&audit).expect("notes it");
    assert!(store.audit().expect("compares").is_settled);
    fs::write(&board, fs::read_to_string(&board).expect("is there") + "x\n").expect("writes");
    assert!(!store.audit().expect("compares").is_settled);
}

#[test]
fn claims_and_turns_of_another_hand_are_told_too() {
    let project = TestProject::with_git();
    let store = store(&project);
    note(&store, "mine");
    found(&store);
    fs::write(project.file("local/claims.json"), "[]").expect("writes");
    fs::create_dir_all(project.file("turns/F/t")).expect("makes folders");
    fs::write(project.file("turns/F/t/T1.json"), "{}").expect("writes");
    assert_eq!(found(&store), ["local/claims.json Appended -", "turns/F/t/T1.json Appended -"]);
}

#[test]
fn markers_that_no_merge_left_make_no_record_ours() {
    let project = TestProject::with_git();
    let store = store(&project);
    let id = decide(&store, "use sqlite");
    commit_all(&project, "one");
    assert_eq!(found(&store), Vec::<String>::new());
    let file = project.file(&format!("decisions/{id}.json"));
    let text = fs::read_to_string(&file).expect("is there");
    let status = text.lines().find(|line| line.contains("\"status\"")).expect("has one").to_owned();
    let other = status.replace("active", "overridden");
    edit(&file, &status, &format!("<<<<<<< HEAD\n{other}\n=======\n{other}\n>>>>>>> elsewhere"));
    store.housekeep().expect("works");
    assert_eq!(found(&store), [format!("decisions/{id}.json Altered -")]);
}
