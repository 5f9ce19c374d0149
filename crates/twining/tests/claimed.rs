//! Files that another agent claimed: a command that would change them is refused where
//! it says so, and what it did without saying is seen when it has run.

mod common;

use std::fs;
use std::process::Command;

use common::Project;
use common::hooked::*;
use serde_json::{Value, json};

const JWT: &str = "src/auth/jwt.rs";

/// A project in which alice, in a session of her own, claims `src/auth`.
fn claimed() -> Project {
    let project = project();
    write(&project, JWT, "fn jwt() {}\n");
    write(&project, "src/auth/keys.rs", "fn keys() {}\n");
    write(&project, "build/out.txt", "out\n");
    let patch = |path: &str, line: &str| format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1,2 @@\n {line}\n+// patched\n");
    write(&project, "auth.patch", &patch(JWT, "fn jwt() {}"));
    write(&project, "other.patch", &patch("src/a.rs", "fn a() {}"));
    write(&project, "gen.sh", "echo '// generated' >> src/auth/jwt.rs\n");
    commit(&project, "code");
    start(&project, "s-1");
    claim(&project, "src/auth");
    project
}

fn claim(project: &Project, path: &str) {
    let mut made = project.command(&["claim", path, "--reason", "rewriting tokens", "--agent", "alice", "--json"]);
    assert!(made.env("CLAUDE_CODE_SESSION_ID", "s-alice").output().expect("starts").status.success());
}

fn release(project: &Project) {
    let mut made = project.command(&["claim", "--action", "release", "src/auth", "--agent", "alice", "--json"]);
    let made = made.env("CLAUDE_CODE_SESSION_ID", "s-alice").output().expect("starts");
    assert!(made.status.success(), "{made:?}");
}

fn bash(line: &str) -> Value {
    json!({"tool_name": "Bash", "tool_use_id": format!("call-{}", line.len()), "tool_input": {"command": line}})
}

fn before(project: &Project, session: &str, told: Value) -> String {
    let answer = answer(&hook_in(project, session, "PreToolUse", told));
    answer["hookSpecificOutput"]["permissionDecision"].as_str().unwrap_or("allow").to_owned()
}

fn after(project: &Project, session: &str, line: &str) -> String {
    let mut told = bash(line);
    told["tool_response"] = json!({"stdout": "", "stderr": "", "interrupted": false});
    let answer = answer(&hook_in(project, session, "PostToolUse", told));
    answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
}

fn sh(project: &Project, line: &str) {
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).current_dir(project.path()).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    for who in ["AUTHOR", "COMMITTER"] {
        shell.env(format!("GIT_{who}_NAME"), "t").env(format!("GIT_{who}_EMAIL"), "t@example.com");
    }
    let ran = shell.output().expect("a shell");
    assert!(ran.status.success(), "{line}: {ran:?}");
}

/// A command from the question to its end; what is told after it.
fn runs(project: &Project, line: &str) -> String {
    assert_eq!(before(project, "s-1", bash(line)), "allow", "{line}");
    sh(project, line);
    after(project, "s-1", line)
}

#[test]
fn a_line_that_says_so_is_refused() {
    let project = claimed();
    for line in [
        "git rm src/auth/jwt.rs",
        "git rm -r src",
        "git mv src/auth/jwt.rs src/tokens.rs",
        "git mv src/auth src/tokens",
        "git checkout -- src",
        "git restore src/auth",
        "git apply auth.patch",
        "git apply < auth.patch",
        "cat auth.patch | git apply",
        "git am auth.patch",
        "patch -p1 < auth.patch",
        "patch -p1 -i auth.patch",
        "cat auth.patch | patch -p1",
        "cd src && patch -p2 < ../auth.patch",
        "cat > /dev/shm/x.patch <<'E'\n--- a/src/auth/jwt.rs\n+++ b/src/auth/jwt.rs\n@@ -1 +1,2 @@\n fn jwt() {}\n+x\nE\ngit apply /dev/shm/x.patch",
        "find src/auth -delete",
        "find src -type f -delete",
        "find src/auth -name '*.rs' -delete",
        "find src/auth -name '*.rs' | xargs rm",
        "ls src/auth/*.rs | xargs rm -f",
        "rm src/auth/*",
        "rm src/*/jwt.rs",
        "rm -r src/*",
        "rm -r s?c",
        "sed -i s/fn/pub/ src/auth/*.rs",
        "for f in src/auth/*.rs; do echo x > $f; done",
    ] {
        assert_eq!(before(&project, "s-1", bash(line)), "deny", "{line}");
        assert_eq!(before(&project, "s-alice", bash(line)), "allow", "{line}");
    }
}

#[test]
fn honest_lines_are_let_be() {
    let project = claimed();
    for line in [
        "git apply other.patch",
        "git apply --check auth.patch",
        "git apply --stat auth.patch",
        "patch -p1 --dry-run < auth.patch",
        "patch -p1 < other.patch",
        "find build -delete",
        "find . -name '*.tmp' -delete",
        "rm build/*",
        "rm -rf build/* src/*.tmp",
        "cat src/auth/*.rs",
        "grep -rn fn src/auth | head",
        "sed -i s/fn/pub/ src/*.rs",
        "git checkout main",
        "git restore --staged src/auth/jwt.rs",
        "git rm -q --cached src/auth/jwt.rs && git add src/auth/jwt.rs",
        "git reset src/auth/jwt.rs",
        "git diff src/auth > build/auth.diff",
        "cp src/auth/jwt.rs build/",
        "sh gen.sh",
        "cargo fmt",
    ] {
        assert_eq!(before(&project, "s-1", bash(line)), "allow", "{line}");
    }
}

#[test]
fn what_a_command_did_without_saying_is_told_at_once_and_holds_until_it_is_undone() {
    let project = claimed();
    let told = runs(&project, "sh gen.sh");
    for part in [
        "[no-edit-under-anothers-claim]",
        JWT,
        "alice",
        "rewriting tokens",
        "changed while this command ran",
        "git checkout -- src/auth/jwt.rs",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let held = reason(&stop(&project));
    assert!(held.contains("is as a command of this session left it"), "{held}");
    assert!(project.json(&["query-traces", "--guard", "no-edit-under-anothers-claim"])["total"].as_u64() >= Some(2));
    // The way back is open, and nothing but it.
    assert_eq!(before(&project, "s-1", bash("echo x > src/auth/jwt.rs")), "deny");
    assert_eq!(before(&project, "s-1", bash("git checkout -- src/auth/keys.rs")), "deny");
    assert_eq!(runs(&project, "git checkout -- src/auth/jwt.rs"), "");
    assert_eq!(stop(&project), Value::Null);
    assert_eq!(before(&project, "s-1", bash("git checkout -- src/auth/jwt.rs")), "deny", "once");
}

#[test]
fn files_that_came_or_went_are_told_too() {
    let project = claimed();
    write(&project, "new.sh", "echo x > src/auth/new.rs\n");
    write(&project, "gone.sh", "rm src/auth/keys.rs\n");
    let told = runs(&project, "sh new.sh");
    assert!(told.contains("src/auth/new.rs") && told.contains("is new") && told.contains("`rm src/auth/new.rs`"), "{told}");
    let told = runs(&project, "sh gone.sh ");
    assert!(told.contains("src/auth/keys.rs") && told.contains("is gone"), "{told}");
    assert_eq!(runs(&project, "rm src/auth/new.rs"), "");
    assert_eq!(runs(&project, "git checkout -- src/auth/keys.rs"), "");
    assert_eq!(stop(&project), Value::Null);
}

#[test]
fn work_that_is_not_committed_is_not_thrown_away_as_a_way_back() {
    let project = claimed();
    write(&project, JWT, "fn jwt() { todo!() }\n");
    let told = runs(&project, "git stash -q");
    assert!(told.contains("tell alice") && !told.contains("git checkout --"), "{told}");
    assert_eq!(stop(&project)["decision"], "block");
    assert_eq!(runs(&project, "git stash pop -q"), "", "it is as it was");
    assert_eq!(stop(&project), Value::Null);
    let told = runs(&project, "git reset -q --soft HEAD~1; git checkout -q -f HEAD");
    assert!(told.contains("tell alice"), "{told}");
}

#[test]
fn what_the_claimant_does_meanwhile_is_not_another_s() {
    let project = claimed();
    let mine = "sleep 1";
    assert_eq!(before(&project, "s-1", bash(mine)), "allow");
    let edit = json!({"tool_name": "Write", "tool_input": {"file_path": JWT, "content": "fn jwt() { 1; }\n"}});
    assert_eq!(before(&project, "s-alice", edit), "allow");
    write(&project, JWT, "fn jwt() { 1; }\n");
    assert_eq!(after(&project, "s-1", mine), "");
    // A command of hers that began before and goes on.
    assert_eq!(before(&project, "s-alice", bash("cargo fix")), "allow");
    assert_eq!(before(&project, "s-1", bash(mine)), "allow");
    write(&project, "src/auth/keys.rs", "fn keys() { 2; }\n");
    assert_eq!(after(&project, "s-1", mine), "");
    after(&project, "s-alice", "cargo fix");
    assert_eq!(stop(&project), Value::Null);
}

#[test]
fn what_git_brings_and_what_stays_the_same_is_nobody_s_doing() {
    let project = claimed();
    sh(&project, "git checkout -q -b theirs; echo '// more' >> src/auth/jwt.rs; git commit -qam theirs; git checkout -q main");
    assert_eq!(runs(&project, "git merge -q theirs"), "");
    write(&project, "same.sh", "touch src/auth/jwt.rs; cp src/auth/keys.rs k; cat k > src/auth/keys.rs; rm k\n");
    assert_eq!(runs(&project, "sh same.sh"), "");
    assert_eq!(runs(&project, "ls src/auth"), "");
    assert_eq!(stop(&project), Value::Null);
}

#[test]
fn nobody_is_held_for_good_nor_after_the_claim_or_for_what_the_claimant_took_over() {
    let project = claimed();
    runs(&project, "sh gen.sh");
    assert_eq!(stop(&project)["decision"], "block");
    assert_eq!(stop(&project)["decision"], "block");
    let let_go = stop(&project);
    assert!(let_go.get("decision").is_none() && let_go["systemMessage"].as_str().is_some_and(|said| said.contains(JWT)), "{let_go}");
    let project = claimed();
    runs(&project, "sh gen.sh");
    write(&project, JWT, "fn jwt() { 3; }\n");
    assert_eq!(stop(&project), Value::Null, "alice went on with it");
    let project = claimed();
    runs(&project, "sh gen.sh");
    release(&project);
    assert_eq!(stop(&project), Value::Null);
}

#[test]
fn only_the_subagent_that_did_it_is_held_when_it_returns() {
    let project = claimed();
    let told = |agent: &str, line: &str| {
        let mut told = bash(line);
        told["agent_id"] = json!(agent);
        told["agent_type"] = json!("Explore");
        told
    };
    let returns = |agent: &str| {
        answer(&hook(&project, "SubagentStop", json!({"agent_id": agent, "agent_type": "Explore", "stop_hook_active": false})))
    };
    assert_eq!(before(&project, "s-1", told("a1", "sh gen.sh")), "allow");
    sh(&project, "sh gen.sh");
    hook(&project, "PostToolUse", told("a1", "sh gen.sh"));
    assert_eq!(returns("a2"), Value::Null);
    assert!(reason(&returns("a1")).contains(JWT));
    assert!(reason(&stop(&project)).contains(JWT));
}

#[test]
fn a_commit_of_what_another_claims_is_told_and_made() {
    let project = claimed();
    fs::write(project.path().join(JWT), "fn jwt() { 4; }\n").expect("writes");
    git(&project, &["add", "-A"]);
    let checked = project.run(&["hook", "--agent", "git", "pre-commit"]);
    assert!(checked.code == 0 && checked.stderr.contains(JWT) && checked.stderr.contains("alice"), "{checked:?}");
    let mut own = project.command(&["hook", "--agent", "git", "pre-commit"]);
    let own = own.env("CLAUDE_CODE_SESSION_ID", "s-alice").output().expect("starts");
    assert!(own.status.success() && own.stderr.is_empty(), "{own:?}");
}

/// A claim by a name alone, as a subagent makes it that is not told its session.
fn claim_as(project: &Project, agent: &str, path: &str) {
    let made = project.command(&["claim", path, "--agent", agent, "--json"]).output().expect("starts");
    assert!(made.status.success(), "{made:?}");
}

#[test]
fn a_claim_that_came_or_grew_while_a_command_ran_is_not_compared() {
    let project = claimed();
    write(&project, "lib/b.rs", "fn b() {}\n");
    write(&project, "web/c.rs", "fn c() {}\n");
    commit(&project, "more");
    let mine = "sleep 1";
    assert_eq!(before(&project, "s-1", bash(mine)), "allow");
    claim(&project, "lib");
    claim_as(&project, "bob", "web");
    assert_eq!(after(&project, "s-1", mine), "");
    assert_eq!(stop(&project), Value::Null);
    assert_eq!(before(&project, "s-1", bash("rm lib/b.rs")), "deny");
    // From the next command on they count.
    write(&project, "late.sh", "echo x >> web/c.rs\n");
    assert!(runs(&project, "sh late.sh").contains("web/c.rs"));
}

#[test]
fn what_git_tracks_is_never_to_be_removed() {
    let project = claimed();
    fs::remove_file(project.path().join(JWT)).expect("alice takes it away");
    write(&project, "back.sh", "git checkout -q HEAD -- src/auth/jwt.rs\n");
    let told = runs(&project, "sh back.sh");
    assert!(told.contains("is new") && told.contains("tell alice") && !told.contains("`rm "), "{told}");
    assert_eq!(before(&project, "s-1", bash("rm src/auth/jwt.rs")), "deny");
}

#[test]
fn agents_of_one_session_are_told_apart() {
    let project = claimed();
    claim_as(&project, "b1", "build");
    let told = |agent: &str, mut told: Value| {
        told["agent_id"] = json!(agent);
        told["agent_type"] = json!("coder");
        told
    };
    let begins = |agent: &str, line: &str| assert_eq!(before(&project, "s-1", told(agent, bash(line))), "allow", "{agent}: {line}");
    let ends = |agent: &str, line: &str| {
        let mut ended = told(agent, bash(line));
        ended["tool_response"] = json!({"stdout": "", "stderr": "", "interrupted": false});
        let answer = answer(&hook(&project, "PostToolUse", ended));
        answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
    };
    let returns =
        |agent: &str| answer(&hook(&project, "SubagentStop", json!({"agent_id": agent, "agent_type": "coder", "stop_hook_active": false})));
    // With a tool for files.
    begins("a1", "sleep 1");
    let edit = json!({"tool_name": "Write", "tool_use_id": "w", "tool_input": {"file_path": "build/out.txt", "content": "1\n"}});
    assert_eq!(before(&project, "s-1", told("b1", edit.clone())), "allow");
    write(&project, "build/out.txt", "1\n");
    hook(&project, "PostToolUse", told("b1", edit));
    assert_eq!(ends("a1", "sleep 1"), "");
    // With a command that began and ended meanwhile.
    begins("a1", "sleep 12");
    begins("b1", "make");
    write(&project, "build/out.txt", "2\n");
    ends("b1", "make");
    assert_eq!(ends("a1", "sleep 12"), "");
    // With one that ran already, and ended meanwhile.
    begins("b1", "make it");
    begins("a1", "sleep 123");
    write(&project, "build/out.txt", "3\n");
    ends("b1", "make it");
    assert_eq!(ends("a1", "sleep 123"), "");
    assert_eq!(returns("a1"), Value::Null);
    // Where nobody else did anything, it was the one that ran.
    begins("a1", "sleep 1234");
    write(&project, "build/new.txt", "4\n");
    assert!(ends("a1", "sleep 1234").contains("build/new.txt"));
    assert!(reason(&returns("a1")).contains("build/new.txt"));
}
