//! A project with hooks: what a host sends, and what they answer.

use std::fs;
use std::process::Output;

use serde_json::{Value, json};

use super::{Project, Ran};

pub(crate) const LIST: &str = ".claude/progress/feature-list.json";

/// A project that git knows, with a board, a decision and a feature.
pub(crate) fn project() -> Project {
    let project = Project::new();
    fs::remove_dir(project.path().join(".git")).expect("makes way");
    assert!(git(&project, &["init", "-q", "-b", "main"]).status.success());
    project.json(&["post", "finding", "the cache lies"]);
    project.decide("use sqlite", "src/");
    write(
        &project,
        LIST,
        r#"{"features":[{"id":"F1","status":"completed","tested":false,"files":["src/a.rs"]},{"id":"F2","tested":false}]}"#,
    );
    write(&project, "src/a.rs", "fn a() {}\n");
    commit(&project, "start");
    project
}

pub(crate) fn write(project: &Project, path: &str, text: &str) {
    let path = project.path().join(path);
    fs::create_dir_all(path.parent().expect("a folder")).expect("makes a folder");
    fs::write(path, text).expect("writes");
}

pub(crate) fn read(project: &Project, path: &str) -> String {
    fs::read_to_string(project.path().join(path)).expect("is there")
}

pub(crate) fn git(project: &Project, words: &[&str]) -> Output {
    let mut git = std::process::Command::new("git");
    git.current_dir(project.path())
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"])
        .args(words);
    git.env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .expect("git runs")
}

pub(crate) fn commit(project: &Project, message: &str) {
    assert!(git(project, &["add", "-A"]).status.success());
    let made = git(project, &["commit", "-q", "-m", message]);
    assert!(made.status.success(), "{made:?}");
}

pub(crate) fn hook_in(project: &Project, session: &str, event: &str, mut told: Value) -> Ran {
    told["session_id"] = json!(session);
    told["cwd"] = json!(project.path());
    project.run_with(&["hook", event], &told.to_string())
}

pub(crate) fn hook(project: &Project, event: &str, told: Value) -> Ran {
    hook_in(project, "s-1", event, told)
}

pub(crate) fn answer(ran: &Ran) -> Value {
    assert_eq!(ran.code, 0, "{ran:?}");
    if ran.stdout.is_empty() {
        Value::Null
    } else {
        serde_json::from_str(&ran.stdout).expect("answers in JSON")
    }
}

pub(crate) fn start(project: &Project, session: &str) -> String {
    let begun = answer(&hook_in(project, session, "SessionStart", json!({"source": "startup"})));
    begun["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
}

pub(crate) fn stop_in(project: &Project, session: &str) -> Value {
    answer(&hook_in(project, session, "Stop", json!({"stop_hook_active": false})))
}

pub(crate) fn stop(project: &Project) -> Value {
    stop_in(project, "s-1")
}

/// Runs a command line in the project; it must end well.
pub(crate) fn sh(project: &Project, line: &str) {
    let mut shell = std::process::Command::new("sh");
    shell
        .args(["-ec", line])
        .current_dir(project.path())
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1");
    for who in ["AUTHOR", "COMMITTER"] {
        shell.env(format!("GIT_{who}_NAME"), "t").env(format!("GIT_{who}_EMAIL"), "t@example.com");
    }
    let ran = shell.output().expect("a shell");
    assert!(ran.status.success(), "{line}: {ran:?}");
}

/// Runs a line as the agent's shell would, then reports it to the hook as a script, bypassing the
/// guards.
pub(crate) fn agent_ran_in(project: &Project, session: &str, line: &str) {
    sh(project, line);
    let call = json!({"tool_name": "Bash", "tool_input": {"command": "sh ../script.sh"}, "tool_response": {"stdout": ""}});
    assert_eq!(hook_in(project, session, "PostToolUse", call).code, 0);
}

pub(crate) fn agent_ran(project: &Project, line: &str) {
    agent_ran_in(project, "s-1", line);
}

/// What the commit check says to what is staged.
pub(crate) fn pre_commit(project: &Project) -> Ran {
    project.run(&["hook", "--agent", "git", "pre-commit"])
}

/// Returns a hook's message that blocks nothing.
pub(crate) fn notice(answer: &Value) -> String {
    assert_eq!(answer["decision"], Value::Null, "{answer}");
    answer["systemMessage"].as_str().unwrap_or_default().to_owned()
}

/// The summaries of warnings on the board.
pub(crate) fn warnings(project: &Project) -> Vec<String> {
    let board = read(project, ".twining/blackboard.jsonl");
    let entries = board.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    entries
        .filter(|entry| entry["entry_type"] == "warning")
        .map(|entry| entry["summary"].as_str().unwrap_or_default().to_owned())
        .collect()
}

pub(crate) fn reason(answer: &Value) -> String {
    assert_eq!(answer["decision"], "block", "{answer}");
    answer["reason"].as_str().expect("a reason").to_owned()
}

pub(crate) fn only_decision(project: &Project) -> String {
    let mut names = fs::read_dir(project.path().join(".twining/decisions"))
        .expect("a folder")
        .filter_map(Result::ok);
    let found =
        names.find(|entry| entry.file_name() != "index.json").expect("a decision").file_name();
    format!(".twining/decisions/{}", found.to_string_lossy())
}
