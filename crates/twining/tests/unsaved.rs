//! Records that only the working tree has are not thrown away with one line; once
//! they are committed, nobody is in the way.

mod common;

use common::Project;
use common::hooked::*;
use serde_json::json;

fn verdict(project: &Project, command: &str) -> String {
    let told = answer(&hook(project, "PreToolUse", json!({"tool_name": "Bash", "tool_input": {"command": command}})));
    let said = &told["hookSpecificOutput"];
    let reason = said["permissionDecisionReason"].as_str().unwrap_or_default();
    assert!(reason.is_empty() || (reason.contains("add `") && reason.contains(".twining")), "{command}: {reason}");
    said["permissionDecision"].as_str().unwrap_or("none").to_owned()
}

const UNTRACKED: [&str; 6] = [
    "git clean -fd",
    "git clean -f .",
    "git clean -xdf -e node_modules",
    "cd src/.. && git clean -fdq",
    "git stash -u",
    "git stash push --include-untracked",
];
const MODIFIED: [&str; 7] = [
    "git checkout -- .",
    "git checkout .",
    "git checkout HEAD -- :/",
    "git restore .",
    "git restore --staged --worktree .",
    "git -C . checkout -q -- ./",
    "cd src && git checkout -- ..",
];
const HARMLESS: [&str; 15] = [
    "git clean -nd",
    "git clean -fd -e .twining",
    "git clean -fd src",
    "cd src && git clean -fd",
    "git stash",
    "git stash list",
    "git stash -u -- ':!.twining'",
    "git stash pop",
    "git checkout -- . ':!.twining'",
    "git checkout main",
    "git checkout -b other",
    "git restore src",
    "git restore --staged .",
    "git checkout -- src/a.rs",
    "git commit -am 'git clean -fd'",
];

#[test]
fn what_is_not_committed_is_not_thrown_away_with_a_line() {
    let project = project();
    start(&project, "s-1");
    for command in UNTRACKED.iter().filter(|command| !command.contains('x')).chain(&MODIFIED).chain(&HARMLESS) {
        assert_eq!(verdict(&project, command), "none", "all is committed: {command}");
    }
    project.decide("use postgres", "data/");
    for command in UNTRACKED {
        assert_eq!(verdict(&project, command), "deny", "a decision that git does not know: {command}");
    }
    for command in MODIFIED {
        assert_eq!(verdict(&project, command), "deny", "a board that has more: {command}");
    }
    for command in HARMLESS {
        assert_eq!(verdict(&project, command), "none", "{command}");
    }
    commit(&project, "more");
    for command in UNTRACKED.iter().filter(|command| !command.contains('x')).chain(&MODIFIED).chain(&HARMLESS) {
        assert_eq!(verdict(&project, command), "none", "all is committed again: {command}");
    }
}

#[test]
fn an_index_that_cuts_its_names_short_is_read_too() {
    let project = project();
    // More than one byte says how much of such a name is left out.
    let long = format!(".a/{}", ["deep"; 60].join("/"));
    write(&project, &format!("{long}/x.txt"), "x");
    assert!(git(&project, &["update-index", "--index-version", "4"]).status.success());
    commit(&project, "long");
    let index = std::fs::read(project.path().join(".git/index")).expect("is there");
    assert_eq!(index[..8], *b"DIRC\0\0\0\x04");
    start(&project, "s-1");
    for command in ["git clean -fd", "git checkout -- ."] {
        assert_eq!(verdict(&project, command), "none", "all is committed: {command}");
    }
    project.json(&["post", "finding", "more"]);
    assert_eq!(verdict(&project, "git checkout -- ."), "deny", "a board that has more");
    project.decide("use postgres", "data/");
    assert_eq!(verdict(&project, "git clean -fd"), "deny", "a decision that git does not know");
}

#[test]
fn a_memory_that_git_overlooks_is_not_in_the_way() {
    let project = project();
    git(&project, &["rm", "-rq", "--cached", ".twining"]);
    write(&project, ".gitignore", ".twining/\n");
    commit(&project, "not shared");
    start(&project, "s-1");
    project.decide("use postgres", "data/");
    for command in ["git clean -fd", "git stash -u", "git checkout -- .", "git restore ."] {
        assert_eq!(verdict(&project, command), "none", "{command}");
    }
}
