//! What stops less than it did is told: between two sessions, in git's own hooks, and
//! until a person takes it as it is.

mod common;

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use common::Project;
use common::hooked::*;
use serde_json::{Value, json};

const POLICY: &str = ".twining/policy.yml";
const STRICT: &str = "guards:\n  - {id: no-push, tools: [Bash], when: {command: git push}, say: no}\n";
const HOOK: &str = ".git/hooks/pre-commit";

/// A project with a guard of its own and git's hook, as `init` would put it there.
fn guarded() -> Project {
    let project = project();
    write(&project, POLICY, STRICT);
    commit(&project, "a rule");
    write(&project, HOOK, &format!("#!/bin/sh\n'{}' hook --agent git pre-commit || exit $?\n", env!("CARGO_BIN_EXE_twining")));
    let hook = project.path().join(HOOK);
    fs::set_permissions(hook, fs::Permissions::from_mode(0o755)).expect("may be started");
    start(&project, "s-1");
    assert_eq!(stop(&project), Value::Null);
    project
}

fn end(project: &Project, session: &str) {
    assert_eq!(answer(&hook_in(project, session, "SessionEnd", json!({"reason": "exit"}))), Value::Null);
}

/// A person at a terminal of their own, who types the word.
fn accept(project: &Project) -> String {
    let line = format!("'{}' guard accept", env!("CARGO_BIN_EXE_twining"));
    let mut terminal = Command::new("script");
    terminal.args(["-qec", &line, "/dev/null"]).current_dir(project.path());
    for (name, value) in project.command(&[]).get_envs() {
        match value {
            Some(value) => terminal.env(name, value),
            None => terminal.env_remove(name),
        };
    }
    for host in ["CLAUDECODE", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "GEMINI_CLI", "CURSOR_AGENT", "OPENCODE", "COPILOT_AGENT"]
    {
        terminal.env_remove(host);
    }
    let mut child = terminal.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a terminal");
    child.stdin.take().expect("a pipe").write_all(b"accept\n").expect("types");
    let ran = child.wait_with_output().expect("ends");
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success() && said.contains("accepted"), "{said}");
    said
}

#[test]
fn what_got_milder_between_two_sessions_is_told_to_the_next_once() {
    for committed in [false, true] {
        let project = guarded();
        end(&project, "s-1");
        write(&project, POLICY, "guards: []\n");
        write(&project, ".claude/settings.json", "{}\n");
        if committed {
            git(&project, &["add", "-A"]);
            assert!(git(&project, &["commit", "-q", "--no-verify", "-m", "quietly"]).status.success());
        }
        let brief = start(&project, "s-2");
        assert!(brief.contains("by nobody Twining knows") && brief.contains("`no-push` would no longer hold"), "{brief}");
        let commit = String::from_utf8_lossy(&git(&project, &["log", "-1", "--format=%h"]).stdout).trim().to_owned();
        assert_eq!(brief.contains(&format!("in commit {commit} (t)")), committed, "{brief}");
        assert_eq!(stop_in(&project, "s-2"), Value::Null, "told, not held");
        assert!(!start(&project, "s-3").contains("by nobody Twining knows"), "once");
        let traces = project.json(&["query-traces", "--limit", "9"]).to_string();
        assert!(traces.contains("found when a session began"), "{traces}");
    }
}

#[test]
fn what_others_or_a_known_branch_bring_between_two_sessions_is_told_as_theirs() {
    let project = guarded();
    git(&project, &["branch", "old", "HEAD~1"]);
    start(&project, "s-2");
    assert_eq!(stop_in(&project, "s-2"), Value::Null);
    end(&project, "s-2");
    git(&project, &["checkout", "-q", "old"]);
    let brief = start(&project, "s-3");
    assert!(brief.contains("git brought changes to what holds in this project"), "{brief}");
    assert!(!brief.contains("nobody Twining knows"), "{brief}");
    // Stricter is nobody's concern.
    git(&project, &["checkout", "-q", "main"]);
    assert!(!start(&project, "s-4").contains("changes to what holds"), "back again");
}

#[test]
fn git_that_no_longer_asks_is_told_at_the_end() {
    let deeds: [(&str, &str); 5] = [
        ("rm .git/hooks/pre-commit", "is gone"),
        ("printf '#!/bin/sh\\n# hook --agent git pre-commit\\n' > .git/hooks/pre-commit", "no longer calls Twining"),
        ("chmod -x .git/hooks/pre-commit", "cannot be started"),
        ("git config core.hooksPath elsewhere", "core.hooksPath"),
        ("printf '[core]\\n hookspath = /dev/null\\n' > x; git config include.path ../x", "core.hooksPath"),
    ];
    for (deed, why) in deeds {
        let project = guarded();
        let run = || {
            let ran = Command::new("sh").args(["-ec", deed]).current_dir(project.path()).output().expect("a shell");
            assert!(ran.status.success(), "{deed}: {ran:?}");
        };
        run();
        let held = reason(&stop(&project));
        assert!(held.contains("[hooks-stay-wired] git no longer asks Twining before a commit") && held.contains(why), "{deed}: {held}");
        assert_eq!(stop(&project)["decision"], "block", "{deed}: twice");
        assert!(stop(&project).get("decision").is_none(), "{deed}: and no more");
        end(&project, "s-1");
        assert!(start(&project, "s-2").contains("git no longer asks Twining"), "{deed}: the next brief");
        assert_eq!(stop_in(&project, "s-2"), Value::Null, "{deed}: told, not held");
    }
    // Where git never asked, its hooks are nobody's concern.
    let project = project();
    start(&project, "s-1");
    git(&project, &["config", "core.hooksPath", "elsewhere"]);
    assert_eq!(stop(&project), Value::Null);
}

#[test]
fn what_a_person_accepted_can_be_committed() {
    let project = guarded();
    write(&project, LIST, &read(&project, LIST).replacen("\"tested\":false", "\"tested\":true", 1));
    write(&project, POLICY, "guards: []\n");
    write(&project, ".twining/blackboard.jsonl", &read(&project, ".twining/blackboard.jsonl").replace("cache lies", "cache is fine"));
    let held = reason(&stop(&project));
    for what in ["F1 would become tested", "no-push", "blackboard.jsonl"] {
        assert!(held.contains(what), "{held}");
    }
    git(&project, &["add", LIST, POLICY, ".twining/blackboard.jsonl"]);
    let refused = git(&project, &["commit", "-q", "-m", "by hand"]);
    assert!(!refused.status.success(), "{refused:?}");
    let said = accept(&project);
    assert!(said.contains("F1 would become tested") && said.contains("no-push") && said.contains("blackboard.jsonl"), "{said}");
    assert_eq!(stop(&project), Value::Null, "and nobody is held for it");
    let made = git(&project, &["commit", "-q", "-m", "by hand"]);
    assert!(made.status.success(), "{made:?}");
    assert_eq!(stop(&project), Value::Null);
    assert!(!start(&project, "s-2").contains("would"), "nor told of it");
    // What comes after it was not accepted with it.
    write(&project, LIST, &read(&project, LIST).replacen("\"tested\":false", "\"tested\":true", 1));
    git(&project, &["add", LIST]);
    assert!(!git(&project, &["commit", "-q", "-m", "more"]).status.success());
}
