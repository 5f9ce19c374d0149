//! What a decision rules out, brought in by a way that no tool call shows: it is found
//! when the turn ends and at the commit, and honest work is let be.

mod common;

use std::fs;
use std::process::Command;

use common::Project;
use common::hooked::*;
use serde_json::{Value, json};

const USES: &str = "import moment from 'moment'\nexport const now = () => moment()\n";

/// A project in which `src/` must not use moment, and two files do so from before.
fn ruled() -> (Project, String) {
    let project = project();
    write(&project, "src/old.ts", USES);
    write(&project, "src/a.ts", "export const a = 1\n");
    write(&project, "lib/time.ts", USES);
    commit(&project, "code");
    let id = decide(&project, &json!({"constraints": ["must_not_use: moment"]}));
    commit(&project, "no moment");
    start(&project, "s-1");
    (project, id)
}

fn decide(project: &Project, more: &Value) -> String {
    decided(project, more)["id"].as_str().expect("an id").to_owned()
}

fn decided(project: &Project, more: &Value) -> Value {
    let mut draft = json!({"summary": "dates are Temporal's", "domain": "dates", "scope": "src/", "context": "c", "rationale": "r"});
    for (key, value) in more.as_object().expect("fields") {
        draft[key] = value.clone();
    }
    let ran = project.run_with(&["decide", "--json-input", "-", "--json"], &draft.to_string());
    assert_eq!(ran.code, 0, "{ran:?}");
    serde_json::from_str(&ran.stdout).expect("JSON")
}

fn sh(project: &Project, line: &str) {
    let mut shell = Command::new("sh");
    shell.args(["-ec", line]).current_dir(project.path()).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    for who in ["AUTHOR", "COMMITTER"] {
        shell.env(format!("GIT_{who}_NAME"), "t").env(format!("GIT_{who}_EMAIL"), "t@example.com");
    }
    let ran = shell.output().expect("a shell");
    assert!(ran.status.success(), "{line}: {ran:?}");
}

fn pre_commit(project: &Project) -> common::Ran {
    project.run(&["hook", "--agent", "git", "pre-commit"])
}

#[test]
fn whatever_brought_it_in_it_is_told_at_every_end_and_at_the_commit() {
    let patch = "--- a/src/a.ts\n+++ b/src/a.ts\n@@ -1 +1,2 @@\n+import moment from 'moment'\n export const a = 1\n";
    let ways = [
        ("cp lib/time.ts src/b.ts", "src/b.ts"),
        ("git mv lib/time.ts src/time.ts", "src/time.ts"),
        ("sed -i '1i import moment from \"moment\"' src/a.ts", "src/a.ts"),
        ("git apply ../p.patch", "src/a.ts"),
        ("patch -p1 < ../p.patch", "src/a.ts"),
        ("git apply ../p.patch; git commit -qam 'quietly'", "src/a.ts"),
        ("printf 'cp lib/time.ts src/c.ts' > ../x.sh; sh ../x.sh", "src/c.ts"),
        ("git rm -q src/a.ts; cp lib/time.ts src/d.ts", "src/d.ts"),
    ];
    for (way, file) in ways {
        let (project, id) = ruled();
        write(&project, "../p.patch", patch);
        let begun = git(&project, &["rev-parse", "HEAD"]).stdout;
        sh(&project, way);
        let held = reason(&stop(&project));
        assert!(held.contains(&format!("[decision-{id}] `{file}` now uses `moment`: dates are Temporal's. Undo it: ")), "{way}: {held}");
        assert!(held.contains(&format!("twining override {id}")), "{way}: {held}");
        let returned =
            answer(&hook(&project, "SubagentStop", json!({"agent_id": "a1", "agent_type": "Explore", "stop_hook_active": false})));
        assert!(reason(&returned).contains(file), "{way}: {returned}");
        let done = hook(&project, "TaskCompleted", json!({"task_id": "1", "task_subject": "x"}));
        assert!(done.code == 2 || done.stdout.contains(file), "{way}: {done:?}");
        if !way.contains("commit") {
            git(&project, &["add", "-A"]);
            let refused = pre_commit(&project);
            assert_eq!(refused.code, 1, "{way}: {refused:?}");
            let wanted = [&format!("[decision-{id}] `{file}`"), "Line 1. ", "git restore --staged", "--no-verify"];
            assert!(wanted.iter().all(|part| refused.stderr.contains(part)), "{way}: {refused:?}");
        }
        // Undone, nobody is held and nothing refused.
        let begun = String::from_utf8_lossy(&begun).trim().to_owned();
        sh(&project, &format!("git reset -q {begun}; git checkout -q {begun} -- src lib; git clean -fdq src"));
        assert_eq!(stop(&project), Value::Null, "{way}");
        write(&project, "src/a.ts", "export const a = 2\n");
        git(&project, &["add", "-A"]);
        assert_eq!(pre_commit(&project).code, 0, "{way}");
    }
}

#[test]
fn honest_work_on_files_that_used_it_before_holds_nobody() {
    let ways = [
        ("reformatted", "sed -i 's/=> moment/=>  moment/' src/old.ts"),
        ("renamed", "git mv src/old.ts src/older.ts"),
        ("renamed and changed", "mv src/old.ts src/older.ts; echo '// more' >> src/older.ts"),
        ("taken out and brought back", "git rm -q src/old.ts; git commit -qm away; git revert --no-edit HEAD"),
        ("elsewhere", "cp lib/time.ts lib/more.ts"),
        ("spoken of", "echo '// do not import moment' >> src/a.ts; cp lib/time.ts docs.md"),
    ];
    for (name, way) in ways {
        let (project, _) = ruled();
        sh(&project, way);
        assert_eq!(stop(&project), Value::Null, "{name}");
        git(&project, &["add", "-A"]);
        let checked = pre_commit(&project);
        assert_eq!(checked.code, 0, "{name}: {checked:?}");
    }
}

#[test]
fn what_stood_there_when_the_session_began_is_not_its_own() {
    let (project, _) = ruled();
    assert_eq!(stop(&project), Value::Null);
    // A person's work, not committed yet; then another session begins and goes on with the file.
    write(&project, "src/a.ts", USES);
    start(&project, "s-2");
    write(&project, "src/a.ts", &format!("{USES}export const more = 2\n"));
    assert_eq!(stop_in(&project, "s-2"), Value::Null);
    write(&project, "src/b.ts", USES);
    let held = reason(&stop_in(&project, "s-2"));
    assert!(held.contains("`src/b.ts`") && !held.contains("`src/a.ts`"), "{held}");
}

#[test]
fn what_was_written_before_a_ruling_is_no_offence_of_the_turn() {
    let (project, _) = ruled();
    write(&project, "src/b.ts", "import x from 'luxon'\n");
    decide(&project, &json!({"summary": "no luxon", "domain": "zones", "constraints": ["must_not_use: luxon"]}));
    assert_eq!(stop(&project), Value::Null);
    write(&project, "src/c.ts", "import x from 'luxon'\n");
    let held = reason(&stop(&project));
    assert!(held.contains("`src/c.ts`") && !held.contains("`src/b.ts`"), "{held}");
}

#[test]
fn what_others_did_and_git_brought_is_not_the_agent_s() {
    let (project, _) = ruled();
    sh(
        &project,
        "git init -q --bare -b main ../team.git; git remote add origin ../team.git; git push -q -u origin main; git clone -q ../team.git ../other",
    );
    start(&project, "s-2");
    sh(&project, "cd ../other; cp lib/time.ts src/theirs.ts; cp lib/time.ts src/a.ts; git add -A; git commit -qm theirs; git push -q");
    sh(&project, "git pull -q --no-rebase");
    assert_eq!(stop_in(&project, "s-2").get("decision"), None);
    // Merged with what was made here meanwhile.
    sh(&project, "cd ../other; cp lib/time.ts src/more.ts; git add -A; git commit -qm more; git push -q");
    sh(&project, "echo 'export const b = 2' > src/b.ts; git add -A; git commit -qm ours; git pull -q --no-rebase --no-edit");
    assert_eq!(stop_in(&project, "s-2").get("decision"), None);
    // What comes on top of it is its own.
    sh(&project, "cp lib/time.ts src/b.ts");
    let held = reason(&stop_in(&project, "s-2"));
    assert!(held.contains("`src/b.ts`") && !held.contains("theirs.ts") && !held.contains("more.ts"), "{held}");
}

#[test]
fn a_switch_to_another_branch_and_a_merge_with_conflicts_are_not_blocked() {
    let (project, _) = ruled();
    sh(
        &project,
        "git checkout -q -b older; cp lib/time.ts src/a.ts; git add -A; git commit -qm older; git branch same; git checkout -q main",
    );
    start(&project, "s-2");
    sh(&project, "git checkout -q older");
    assert_eq!(stop_in(&project, "s-2"), Value::Null);
    sh(&project, "git checkout -q main; echo x > x; git add x; git commit -qm x; git checkout -q same; git rebase -q main");
    assert_eq!(stop_in(&project, "s-2"), Value::Null, "made anew");
    sh(&project, "git checkout -q main; echo 'export const a = 3' > src/a.ts; git commit -qam ours; git merge -q older || true");
    // Settled by taking their side.
    write(&project, "src/a.ts", &format!("{USES}export const a = 3\n"));
    git(&project, &["add", "-A"]);
    let checked = pre_commit(&project);
    assert_eq!(checked.code, 0, "{checked:?}");
    sh(&project, "git commit -q --no-edit");
    assert_eq!(stop_in(&project, "s-2"), Value::Null);
}

#[test]
fn nobody_is_held_for_it_for_good_and_it_is_traced() {
    let (project, id) = ruled();
    sh(&project, "cp lib/time.ts src/b.ts");
    assert_eq!(stop(&project)["decision"], "block");
    // Lines that move are no new reason.
    sh(&project, "sed -i '1i // a comment' src/b.ts");
    assert_eq!(stop(&project)["decision"], "block");
    let let_go = stop(&project);
    assert!(let_go.get("decision").is_none() && let_go["systemMessage"].as_str().expect("a notice").contains("src/b.ts"), "{let_go}");
    assert_eq!(project.json(&["status"])["unanswered_questions"], 1);
    let traces = project.json(&["query-traces", "--guard", &format!("decision-{id}"), "--blocked", "true"]);
    assert!(traces.to_string().contains("src/b.ts"), "{traces}");
    start(&project, "s-2");
    assert_eq!(stop_in(&project, "s-2"), Value::Null);
}

#[test]
fn what_is_only_contested_is_told_and_holds_nobody() {
    let (project, _) = ruled();
    decide(&project, &json!({"summary": "no luxon, though others disagree", "constraints": ["must_not_use: luxon"]}));
    start(&project, "s-2");
    write(&project, "src/b.ts", "import x from 'luxon'\n");
    let told = stop_in(&project, "s-2");
    assert!(told.get("decision").is_none() && told["systemMessage"].as_str().is_some_and(|told| told.contains("src/b.ts")), "{told}");
    assert_eq!(stop_in(&project, "s-2"), Value::Null, "told once");
    git(&project, &["add", "-A"]);
    let checked = pre_commit(&project);
    assert!(checked.code == 0 && checked.stderr.contains("src/b.ts"), "{checked:?}");
}

#[test]
fn an_agent_s_new_decision_lifts_nothing_and_is_told_so() {
    let (project, id) = ruled();
    let writes = || {
        let input = json!({"file_path": "src/b.ts", "content": USES});
        answer(&hook(&project, "PreToolUse", json!({"tool_name": "Write", "tool_input": input})))["hookSpecificOutput"]["permissionDecision"]
            .clone()
    };
    assert_eq!(writes(), "deny");
    let second = decided(&project, &json!({"summary": "moment after all", "supersedes": id}));
    assert_eq!(second["still_ruled_out"], format!("moment stays ruled out by {id} until a person lifts it: `twining override {id}`"));
    assert_eq!(writes(), "deny");
    let third = decided(&project, &json!({"summary": "really", "supersedes": second["id"], "constraints": ["must_not_use: moment"]}));
    assert_eq!(third["still_ruled_out"], Value::Null);
    fs::remove_file(project.path().join("src/old.ts")).expect("goes");
    assert_eq!(stop(&project), Value::Null);
}

#[test]
fn a_ruling_comes_and_goes_with_its_branch_but_not_with_its_file() {
    let (project, id) = ruled();
    let uses = || {
        let input = json!({"file_path": "src/new.js", "content": "import moment from 'moment'\n"});
        let answered = answer(&hook(&project, "PreToolUse", json!({"tool_name": "Write", "tool_input": input})));
        answered["hookSpecificOutput"]["permissionDecision"].clone()
    };
    assert_eq!(uses(), "deny");
    fs::remove_file(project.path().join(format!(".twining/decisions/{id}.json"))).expect("goes");
    assert_eq!(uses(), "deny", "another hand took it away");
    assert!(git(&project, &["checkout", "-q", "--", ".twining"]).status.success());
    assert_eq!(uses(), "deny");
    assert!(git(&project, &["checkout", "-q", "-b", "old", "HEAD~1"]).status.success());
    assert_eq!(uses(), Value::Null, "the branch is from before it");
    assert!(git(&project, &["checkout", "-q", "main"]).status.success());
    assert_eq!(uses(), "deny");
}

#[test]
fn what_was_written_before_a_ruling_may_be_moved_written_again_and_committed() {
    let project = project();
    let body = (0..30).map(|at| format!("export const v{at} = {at}\n")).collect::<String>();
    write(&project, "src/one.ts", &format!("import luxon from 'luxon'\n{body}"));
    write(&project, "src/two.ts", &format!("import moment from 'moment'\n{body}"));
    write(&project, "package.json", "{\n  \"dependencies\": {\n    \"moment\": \"^2\"\n  }\n}\n");
    commit(&project, "code");
    write(&project, "src/fresh.ts", USES);
    // The disk's clock ticks more slowly than ours.
    std::thread::sleep(std::time::Duration::from_millis(60));
    decide(&project, &json!({"scope": "project", "constraints": ["must_not_use: moment, luxon"]}));
    start(&project, "s-1");
    let bash = |line: &str| {
        let answered = answer(&hook(&project, "PreToolUse", json!({"tool_name": "Bash", "tool_input": {"command": line}})));
        answered["hookSpecificOutput"]["permissionDecision"].clone()
    };
    assert_eq!(bash("sed -i 's/\"moment\": \"^2\"/\"moment\": \"^2.30\"/' package.json"), Value::Null, "it was listed before");
    assert_eq!(bash("printf \"import moment from 'moment'\\n\" > src/two.ts"), Value::Null, "it was imported before");
    assert_eq!(bash("printf \"import moment from 'moment'\\n\" > src/three.ts"), "deny");
    sh(&project, "mkdir -p lib && rm src/one.ts && mv src/two.ts lib/second.ts");
    let held = answer(&hook(&project, "Stop", json!({})));
    assert_eq!(held, Value::Null, "the file that was moved is told from another that went");
    assert!(git(&project, &["add", "-A"]).status.success());
    let committed = pre_commit(&project);
    assert_eq!(committed.code, 0, "{committed:?}");
}
