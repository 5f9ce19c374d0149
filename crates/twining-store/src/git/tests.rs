//! git is asked in real repositories.

use std::collections::BTreeMap;
use twining_testcases::each;

use twining_model::Time;

use super::history::read_log;
use std::time::Duration;

use super::repository::is_plain;
use super::*;

#[test]
fn the_newest_commit_of_each_file_is_kept() {
    let log = "\u{1}200\0\nsrc/a.rs\0\u{1}100\0\nb c\0src/a.rs\0";
    let wanted = ["src/a.rs".to_owned(), "b c".to_owned(), "never".to_owned()].into();
    let found = read_log(log.as_bytes(), &wanted);
    assert_eq!(
        found,
        BTreeMap::from([
            ("src/a.rs".to_owned(), Time::from_ms(200_000)),
            ("b c".to_owned(), Time::from_ms(100_000))
        ])
    );
}

#[test]
fn a_file_that_looks_like_an_option_is_not_asked_for() {
    assert!(!is_plain("--output=/etc/passwd"));
    assert!(!is_plain("../outside"));
    assert!(is_plain("src/-a.rs"));
}

fn repository() -> (tempfile::TempDir, Git) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let git = Git::at(dir.path());
    std::fs::create_dir(dir.path().join("src")).expect("makes a directory");
    for file in ["src/a b.rs", "src/[x].rs"] {
        std::fs::write(dir.path().join(file), "x").expect("writes");
    }
    for step in [&["init", "-q"][..], &["add", "."], &["commit", "-q", "-m", "one"]] {
        assert!(git.run_in_throwaway(step).expect("git runs"), "{step:?}");
    }
    (dir, git)
}

#[test]
fn a_reader_goes_on_after_a_name_that_is_none_and_a_file_that_is_too_large() {
    let (dir, git) = repository();
    std::fs::write(dir.path().join("large"), vec![b'x'; 2 << 20]).expect("writes");
    for step in [&["add", "."][..], &["commit", "-q", "-m", "two"]] {
        assert!(git.run_in_throwaway(step).expect("git runs"), "{step:?}");
    }
    let mut reader = BlobReader::new(&git);
    let names = ["HEAD:nothing", "HEAD:large", "HEAD:src", "HEAD", "a\nb", "", "HEAD:src/a b.rs"];
    let read = names.map(|name| reader.read(name));
    assert_eq!(read, [None, None, None, None, None, None, Some(b"x".to_vec())]);
}

#[test]
fn one_question_answers_for_many_files_and_from_a_directory_below() {
    let (dir, git) = repository();
    let files = ["src/a b.rs", "src/[x].rs", "src/?.rs", "nothing.rs", "--all"].map(str::to_owned);
    let found = git.last_commits(&files).expect("has a history");
    assert_eq!(
        found.keys().collect::<Vec<_>>(),
        ["src/[x].rs", "src/a b.rs"],
        "a pattern is a name"
    );
    let below = Git::at(&dir.path().join("src"))
        .last_commits(&["a b.rs".to_owned()])
        .expect("has a history");
    assert_eq!(below.get("a b.rs"), found.get("src/a b.rs"));
}

#[test]
fn a_hostile_repository_starts_nothing() {
    let (dir, git) = repository();
    let trap = format!("touch '{}'", dir.path().join("trapped").display());
    let settings = [
        ("core.fsmonitor", &trap),
        ("core.pager", &trap),
        ("diff.external", &trap),
        ("core.sshCommand", &trap),
        ("gpg.program", &trap),
    ];
    each(settings, |(name, value)| {
        assert!(git.run_in_throwaway(&["config", name, value]).expect("git runs"));
    });
    assert!(git.run_in_throwaway(&["config", "log.showSignature", "true"]).expect("git runs"));
    assert_eq!(git.last_commits(&["src/a b.rs".to_owned()]).expect("has a history").len(), 1);
    git.untracked_in("src").expect("git lists files");
    // Looks as new as the index, so that git reads it to tell whether it changed.
    let file =
        std::fs::File::options().append(true).open(dir.path().join("src/[x].rs")).expect("opens");
    file.set_modified(std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 32))
        .expect("sets its time");
    assert!(git.run_in_throwaway(&["add", "."]).expect("git runs"));
    assert!(git.run_in_throwaway(&["config", "filter.trap.clean", &trap]).expect("git runs"));
    std::fs::write(dir.path().join(".gitattributes"), "* filter=trap\n").expect("writes");
    std::fs::write(dir.path().join("src/a b.rs"), "y").expect("writes");
    let base = git.revision("HEAD").expect("is a commit");
    let changed = git.changed_files(&base, None).expect("git compares");
    assert!(
        changed.contains(&"src/a b.rs".to_owned()) && !changed.contains(&"trapped".to_owned()),
        "{changed:?}"
    );
    assert_eq!(git.changed_since("HEAD", "src").len(), 1);
    assert_eq!(git.branch_changes().expect("has a commit").files.len(), 2);
    assert!(git.changed_in("HEAD", "src").is_some_and(|files| files == ["src/a b.rs"]));
    assert!(!dir.path().join("trapped").exists());
}

#[test]
fn a_change_is_told_by_its_files_and_what_they_were() {
    let (dir, git) = repository();
    let base = git.revision("HEAD").expect("has a commit");
    std::fs::write(dir.path().join("src/new.rs"), "n").expect("writes");
    assert_eq!(
        git.changed_files(&base, None).expect("compares"),
        ["src/new.rs"],
        "one that git does not track yet"
    );
    each([&["add", "."][..], &["commit", "-q", "-m", "two"]], |step| {
        assert!(git.run_in_throwaway(step).expect("git runs"), "{step:?}");
    });
    let head = git.revision("HEAD").expect("is a commit");
    assert_eq!(git.changed_files(&base, Some(&head)).expect("compares"), ["src/new.rs"]);
    assert_eq!(git.file_at(&head, "src/new.rs"), Ok(Some(b"n".to_vec())));
    assert_eq!(git.file_at(&base, "src/new.rs"), Ok(None));
    assert_eq!(Git::at(&dir.path().join("src")).file_at(&head, "new.rs"), Ok(Some(b"n".to_vec())));
    for hostile in ["--output=x", "", "HEAD:src", "a b", "$(x)"] {
        assert!(git.revision(hostile).is_err(), "{hostile}");
    }
    assert!(git.file_at(&head, "../x").is_err());
}

#[test]
fn a_branch_is_held_against_the_one_it_left_whatever_that_is_called() {
    let (_dir, git) = repository();
    let step = |step: &[&str]| assert!(git.run_in_throwaway(step).expect("git runs"), "{step:?}");
    step(&["branch", "-m", "mainline"]);
    let base = git.revision("HEAD").expect("is a commit");
    assert_eq!(git.fork_point(), Ok(None), "there is no other");
    step(&["checkout", "-q", "-b", "fix"]);
    step(&["commit", "-q", "--allow-empty", "-m", "two"]);
    assert_eq!(git.fork_point(), Ok(Some(base.clone())), "the only other one");
    step(&["branch", "other"]);
    assert_eq!(git.fork_point(), Ok(None), "of several none is guessed");
    step(&["branch", "-q", "--set-upstream-to", "mainline"]);
    assert_eq!(git.fork_point(), Ok(Some(base.clone())), "the one it follows");
    step(&["branch", "-q", "--unset-upstream"]);
    step(&["config", "init.defaultBranch", "mainline"]);
    assert_eq!(git.fork_point(), Ok(Some(base.clone())), "the one repositories begin with");
    step(&["branch", "main", &base]);
    assert_eq!(git.fork_point(), Ok(Some(base)));
}

#[test]
fn outside_a_repository_the_history_says_so() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let answer = Git::at(dir.path()).last_commits(&["a.rs".to_owned()]);
    assert_eq!(answer, Err("git finds no history here".to_owned()));
}

#[test]
fn a_commit_tells_its_trailers_and_its_files() {
    let (dir, git) = repository();
    std::fs::write(dir.path().join("src/n\u{e9}w.rs"), "n").expect("writes");
    let message = "Do it\n\nBecause.\n\nTwining-Decision: 01M7EB3QY8\nTwining-Decision: 01M7EB3QY9BCK1T7V2TH9HG8T6\nSigned-off-by: x <y>\n";
    each([&["add", "."][..], &["commit", "-q", "-m", message]], |step| {
        assert!(git.run_in_throwaway(step).expect("git runs"), "{step:?}");
    });
    let commit = git.commit("HEAD").expect("is there");
    assert_eq!(commit.subject, "Do it");
    assert_eq!(commit.trailers, ["01M7EB3QY8", "01M7EB3QY9BCK1T7V2TH9HG8T6"]);
    assert_eq!((commit.files, commit.parents.len()), (vec!["src/n\u{e9}w.rs".to_owned()], 1));
    assert_eq!(
        git.commit("HEAD~1").expect("is there").files.len(),
        2,
        "the first commit has files too"
    );
    assert!(git.commit("--all").is_none() && git.commit("feedbeef").is_none());
}

#[test]
fn moves_are_told_oldest_first_and_only_the_new_ones() {
    let (dir, git) = repository();
    let text: String = (0..50).map(|n| format!("line {n}\n")).collect();
    std::fs::write(dir.path().join("a.rs"), text).expect("writes");
    let steps: [&[&str]; 6] = [
        &["add", "."],
        &["commit", "-q", "-m", "a"],
        &["mv", "a.rs", "b.rs"],
        &["commit", "-q", "-m", "b"],
        &["mv", "b.rs", "src/c.rs"],
        &["commit", "-q", "-m", "c"],
    ];
    each(steps, |step| {
        assert!(git.run_in_throwaway(step).expect("git runs"), "{step:?}");
    });
    let names = |moves: Vec<Move>| {
        moves.into_iter().map(|moved| (moved.from, moved.to)).collect::<Vec<_>>()
    };
    let pair = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    assert_eq!(
        names(git.moves(None).expect("looks")),
        [pair("a.rs", "b.rs"), pair("b.rs", "src/c.rs")]
    );
    let before = git.revision("HEAD~1").expect("is there");
    assert_eq!(names(git.moves(Some(&before)).expect("looks")), [pair("b.rs", "src/c.rs")]);
}

#[test]
fn texts_come_in_the_order_they_were_asked_for() {
    let (dir, git) = repository();
    std::fs::write(dir.path().join("src/new.rs"), "n\n").expect("writes");
    std::fs::write(dir.path().join("src/bytes"), b"\xff\xfe").expect("writes");
    assert!(git.run_in_throwaway(&["add", "."]).expect("git runs"));
    let names = [
        "HEAD:src/a b.rs",
        "HEAD:src/new.rs",
        ":src/new.rs",
        ":src/bytes",
        "HEAD:src",
        "two\nlines",
        "HEAD:src/[x].rs",
    ];
    let texts = git.blobs(&names.map(str::to_owned));
    let texts: Vec<Option<&[u8]>> = texts.iter().map(Option::as_deref).collect();
    assert_eq!(
        texts,
        [Some(&b"x"[..]), None, Some(b"n\n"), Some(b"\xff\xfe"), None, None, Some(b"x")]
    );
    assert_eq!(git.sides(), ["HEAD"]);
}
