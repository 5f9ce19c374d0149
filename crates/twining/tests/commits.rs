//! Commits know their decisions, and decisions follow their files.

use std::process::{Command, Stdio};

use serde_json::{Value, json};
use twining_testkit::TestProject;
use twining_testkit::project::git_in;

fn command(project: &TestProject, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_twining"));
    command
        .args(words)
        .current_dir(project.path())
        .stdin(Stdio::null())
        .env("XDG_CONFIG_HOME", project.path().join("nobody"));
    for name in ["TWINING_PROJECT", "CLAUDE_PROJECT_DIR", "TWINING_AGENT", "CLAUDE_CODE_SESSION_ID"]
    {
        command.env_remove(name);
    }
    command
}

fn twining(project: &TestProject, words: &[&str]) -> Value {
    let output = command(project, words).arg("--json").output().expect("the program starts");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("prints JSON")
}

fn decide(project: &TestProject, summary: &str, domain: &str, file: &str) -> String {
    let words = [
        "decide",
        "--summary",
        summary,
        "--domain",
        domain,
        "--scope",
        file,
        "--context",
        "c",
        "--rationale",
        "r",
        "--affected-file",
        file,
    ];
    twining(project, &words)["id"].as_str().expect("has an id").to_owned()
}

/// A repository whose hook is ours.
fn repository() -> TestProject {
    let project = TestProject::with_git();
    let hook = project.path().join(".git/hooks/post-commit");
    std::fs::create_dir_all(hook.parent().expect("has a folder")).expect("makes it");
    std::fs::write(
        &hook,
        format!(
            "#!/bin/sh\nexec '{}' hook --agent git post-commit\n",
            env!("CARGO_BIN_EXE_twining")
        ),
    )
    .expect("writes");
    make_executable(&hook);
    project
}

#[cfg(unix)]
fn make_executable(file: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).expect("may run");
}

#[cfg(not(unix))]
fn make_executable(_: &std::path::Path) {}

fn write(project: &TestProject, file: &str, text: &str) {
    let path = project.path().join(file);
    std::fs::create_dir_all(path.parent().expect("has a folder")).expect("makes it");
    std::fs::write(path, text).expect("writes");
}

fn commit(project: &TestProject, files: &str, message: &str) -> String {
    project.git(["add", files]);
    project.git(["commit", "-q", "-m", message]);
    project.git(["rev-parse", "HEAD"]).trim().to_owned()
}

fn matches(why: &Value) -> Vec<(String, String)> {
    let told = why["decisions"].as_array().expect("a list").iter();
    told.map(|d| {
        (
            d["summary"].as_str().unwrap_or_default().to_owned(),
            d["matched"].as_str().unwrap_or_default().to_owned(),
        )
    })
    .collect()
}

fn pair(summary: &str, matched: &str) -> (String, String) {
    (summary.to_owned(), matched.to_owned())
}

#[test]
fn a_commit_is_linked_by_its_trailer_and_by_its_files() {
    let project = repository();
    let named = decide(&project, "Named in the message", "api", "other.rs");
    decide(&project, "About this file", "storage", "lib/a.rs");
    decide(&project, "About another file", "style", "lib/b.rs");
    write(&project, "lib/a.rs", "a");
    let hash = commit(&project, "lib", &format!("Do it\n\nTwining-Decision: {}\n", &named[..12]));

    let why = twining(&project, &["why", "--commit", &hash[..10]]);
    assert_eq!(
        matches(&why),
        [pair("Named in the message", "trailer"), pair("About this file", "files")],
        "{why}"
    );
    let file = project.file(&format!("decisions/{named}.json"));
    let decision: Value =
        serde_json::from_str(&std::fs::read_to_string(file).expect("reads")).expect("is JSON");
    assert_eq!(decision["commit_hashes"], json!([hash]));
    assert_eq!(
        (&decision["commits"][0]["by"], &decision["commits"][0]["summary"]),
        (&json!("trailer"), &json!("Do it"))
    );
    let commits = twining(&project, &["commits", &hash[..7]]);
    assert_eq!(commits["decisions"].as_array().map(Vec::len), Some(2), "{commits}");

    write(&project, "lib/a.rs", "b");
    let later = commit(&project, "lib", "Touch it again");
    let linked = twining(&project, &["commits", &later]);
    assert_eq!(
        linked["decisions"],
        json!([]),
        "an old decision is not carried out by every later commit"
    );
    assert_eq!(
        matches(&twining(&project, &["why", "--commit", &later])),
        [pair("About this file", "files")],
        "but it bears on it"
    );
}

#[test]
fn a_commit_queues_the_archive_if_the_settings_say_so() {
    let project = repository();
    twining(&project, &["post", "finding", "something"]);
    write(&project, "a", "a");
    commit(&project, "a", "one");
    let queue = project.file("pending-actions.jsonl");
    assert_eq!(
        std::fs::read_to_string(&queue).expect("is queued"),
        "{\"action\":\"archive\",\"trigger\":\"commit\"}\n"
    );
    std::fs::remove_file(&queue).expect("removes");
    let config = std::fs::read_to_string(project.file("config.yml")).expect("reads");
    write(
        &project,
        ".twining/config.yml",
        &config.replace("auto_archive_on_commit: true", "auto_archive_on_commit: false"),
    );
    write(&project, "a", "b");
    commit(&project, "a", "two");
    assert!(!queue.exists());
}

#[test]
fn the_hook_never_fails_a_commit_and_makes_nothing() {
    let project = repository();
    write(&project, "a", "a");
    commit(&project, "a", "where there is no memory yet");
    assert!(!project.file("").exists());
    let output =
        command(&project, &["hook", "--agent", "git", "pre-push"]).output().expect("starts");
    assert!(output.status.success() && output.stderr.is_empty());
    std::fs::write(project.path().join(".twining"), "a file in its place").expect("writes");
    let output =
        command(&project, &["hook", "--agent", "git", "post-commit"]).output().expect("starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_rebase_is_not_stopped_by_what_the_hook_would_write() {
    let project = repository();
    decide(&project, "About this file", "storage", "lib/a.rs");
    commit(&project, ".", "the memory");
    project.git(["checkout", "-q", "-b", "feature"]);
    for n in 0..3 {
        write(&project, "lib/a.rs", &format!("{n}"));
        commit(&project, "lib", &format!("step {n}"));
    }
    commit(&project, ".", "links");
    project.git(["checkout", "-q", "main"]);
    write(&project, "other", "x");
    commit(&project, "other", "meanwhile");
    project.git(["checkout", "-q", "feature"]);
    let rebased = git_in(&project.path(), &["rebase", "main"]);
    assert!(rebased.status.success(), "{}", String::from_utf8_lossy(&rebased.stderr));
}

#[test]
fn a_decision_follows_its_file_through_renames() {
    let project = repository();
    let text: String = (0..40).map(|n| format!("fn f{n}() {{}}\n")).collect();
    write(&project, "lib/old.rs", &text);
    write(&project, "lib/auth/key.rs", &text.replace('f', "g"));
    decide(&project, "Keep it small", "style", "lib/old.rs");
    decide(&project, "Keep keys apart", "security", "lib/auth/key.rs");
    commit(&project, ".", "begin");
    assert_eq!(matches(&twining(&project, &["why", "src/new.rs"])), []);
    std::fs::create_dir_all(project.path().join("src")).expect("makes it");
    project.git(["mv", "lib/old.rs", "lib/mid.rs"]);
    project.git(["commit", "-q", "-m", "first move"]);
    project.git(["mv", "lib/mid.rs", "src/new.rs"]);
    project.git(["mv", "lib/auth", "src/identity"]);
    project.git(["commit", "-q", "-m", "second move"]);
    for _ in 0..2 {
        assert_eq!(
            matches(&twining(&project, &["why", "src/new.rs"])),
            [pair("Keep it small", "moved")],
            "also from what was kept"
        );
    }
    assert_eq!(
        matches(&twining(&project, &["why", "src/identity/"])),
        [pair("Keep keys apart", "moved")]
    );
    project.git(["checkout", "-q", "-b", "before", "HEAD~2"]);
    assert_eq!(
        matches(&twining(&project, &["why", "src/new.rs"])),
        [],
        "on a branch where it did not move"
    );
}

#[test]
fn why_is_asked_of_a_scope_or_a_commit_and_not_of_both() {
    let project = repository();
    assert_eq!(
        command(&project, &["why", "src/", "--commit", "abcd123"])
            .output()
            .expect("starts")
            .status
            .code(),
        Some(2)
    );
    assert_eq!(twining(&project, &["why", "--commit", "abcd123"])["total_count"], 0);
}

/// A hook that writes down which commit each of these folders has checked out, by a
/// question to git's objects and by one to the working tree.
fn asking_hook(hooks: &std::path::Path, folders: &[&std::path::Path]) {
    let ask = |folder: &&std::path::Path| {
        let (twining, folder) = (env!("CARGO_BIN_EXE_twining"), folder.display());
        let ask = |words: &str, file: &str| {
            format!(
                "'{twining}' {words} --base HEAD --json --project '{folder}' > '{folder}/{file}'\n"
            )
        };
        ask("verify --ci", "verified") + &ask("review-context code", "reviewed")
    };
    std::fs::create_dir_all(hooks).expect("makes it");
    let script = format!(
        "#!/bin/sh\n[ -n \"$GIT_DIR$GIT_INDEX_FILE\" ] || exit 1\n{}",
        folders.iter().map(ask).collect::<String>()
    );
    let hook = hooks.join("post-commit");
    std::fs::write(&hook, script).expect("writes");
    make_executable(&hook);
}

/// Whether both answers were about the commit that this folder has checked out.
fn asked_of_itself(folder: &std::path::Path) {
    let head = String::from_utf8(git_in(folder, &["rev-parse", "HEAD"]).stdout)
        .expect("is UTF-8")
        .trim()
        .to_owned();
    let answer = |file: &str| -> Value {
        let text = std::fs::read_to_string(folder.join(file))
            .unwrap_or_else(|error| panic!("{file}: {error}"));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}: {text}"))
    };
    assert_eq!(answer("verified")["head"], head, "{}", folder.display());
    assert_eq!(answer("reviewed")["base"], head, "{}", folder.display());
}

fn commit_in(folder: &std::path::Path, message: &str) {
    let made = git_in(folder, &["commit", "-q", "--allow-empty", "-m", message]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

#[test]
fn in_a_hook_of_git_each_repository_is_asked_about_itself() {
    let (shop, other) = (TestProject::with_git(), TestProject::with_git());
    commit_in(&other.path(), "other");
    asking_hook(&shop.path().join(".git/hooks"), &[&shop.path(), &other.path()]);
    // `--git-dir` is how git names its folder to the hook.
    let (git_dir, tree) = (
        format!("--git-dir={}/.git", shop.path().display()),
        format!("--work-tree={}", shop.path().display()),
    );
    let made =
        git_in(&other.path(), &[&git_dir, &tree, "commit", "-q", "--allow-empty", "-m", "shop"]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    asked_of_itself(&shop.path());
    asked_of_itself(&other.path());
}

#[test]
fn in_a_hook_of_a_linked_worktree_each_working_tree_is_asked_about_itself() {
    let shop = TestProject::with_git();
    commit_in(&shop.path(), "one");
    let fix = shop.path().join("fix");
    shop.git(["worktree", "add", "-q", "-b", "fix", &fix.display().to_string()]);
    asking_hook(&shop.path().join(".git/hooks"), &[&shop.path(), &fix]);
    commit_in(&fix, "two");
    asked_of_itself(&shop.path());
    asked_of_itself(&fix);
}

#[test]
fn in_a_hook_of_a_submodule_each_repository_is_asked_about_itself() {
    let (shop, library) = (TestProject::with_git(), TestProject::with_git());
    commit_in(&library.path(), "library");
    shop.git([
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        &library.path().display().to_string(),
        "lib",
    ]);
    commit_in(&shop.path(), "one");
    let lib = shop.path().join("lib");
    asking_hook(&shop.path().join(".git/modules/lib/hooks"), &[&shop.path(), &lib]);
    commit_in(&lib, "two");
    asked_of_itself(&shop.path());
    asked_of_itself(&lib);
}

#[test]
fn what_another_repository_is_in_the_middle_of_keeps_no_commit_from_being_linked() {
    let (shop, other) = (TestProject::with_git(), TestProject::with_git());
    write(&shop, "src/a.rs", "a");
    let id = decide(&shop, "Use JWT", "auth", "src/a.rs");
    let hash = commit(&shop, "src", "carry it out");
    std::fs::create_dir(other.path().join(".git/rebase-merge")).expect("makes it");
    let ran = command(&shop, &["hook", "--agent", "git", "post-commit"])
        .env("GIT_DIR", other.path().join(".git"))
        .output()
        .expect("starts");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(twining(&shop, &["commits", &hash])["decisions"][0]["id"], json!(id));
}

#[test]
fn a_branch_shows_what_it_added_to_the_memory() {
    let project = TestProject::with_git();
    let kept = decide(&project, "Use REST", "api", "src/a.rs");
    twining(&project, &["post", "finding", "on main"]);
    commit(&project, "-A", "base");
    project.git(["branch", "-M", "main"]);
    project.git(["checkout", "-q", "-b", "work"]);
    let made = decide(&project, "Use SQLite", "data", "src/b.rs");
    twining(&project, &["post", "finding", "not committed yet"]);
    let changed = twining(&project, &["what-changed", "--base", "main"]);
    assert_eq!(changed["new_decisions"][0]["id"], json!(made));
    assert_eq!(changed["new_decisions"].as_array().map(Vec::len), Some(1), "not {kept}");
    let entries = changed["new_entries"].to_string();
    assert!(entries.contains("not committed yet") && !entries.contains("on main"), "{entries}");
    assert!(changed["since"].as_str().is_some_and(|since| since.starts_with("20")), "{changed}");
    let refused = command(&project, &["what-changed", "--base", "--upload-pack=x"]).output();
    assert_eq!(refused.expect("starts").status.code(), Some(2));
}
