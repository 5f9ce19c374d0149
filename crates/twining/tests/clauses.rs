//! What a decision rules out, brought in by a way that no tool call shows: it is found
//! when the turn ends and at the commit, and honest work goes through.

use std::fs;

use crate::common::Project;
use crate::common::hooked::*;
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

/// What the guards say to a file that is written.
fn writes(project: &Project, path: &str, content: &str) -> Value {
    let call = json!({"tool_name": "Write", "tool_input": {"file_path": path, "content": content}});
    answer(&hook(project, "PreToolUse", call))["hookSpecificOutput"]["permissionDecision"].clone()
}

/// The script breaks the clause in `file`: held once, refused at the commit, and forgotten when undone.
fn is_found(script: &str, file: &str) {
    let (project, id) = ruled();
    write(
        &project,
        "../p.patch",
        "--- a/src/a.ts\n+++ b/src/a.ts\n@@ -1 +1,2 @@\n+import moment from 'moment'\n export const a = 1\n",
    );
    agent_ran(&project, script);
    let held = reason(&stop(&project));
    for part in
        [format!("[decision-{id}]"), format!("`{file}` line 1"), format!("twining override {id}")]
    {
        assert!(held.contains(&part), "{part}: {held}");
    }
    assert_eq!(stop(&project)["decision"], Value::Null, "held once");
    git(&project, &["add", "-A"]);
    let refused = pre_commit(&project);
    assert!(
        refused.code == 1
            && refused.stderr.contains(&format!("[decision-{id}]"))
            && refused.stderr.contains(file),
        "{refused:?}"
    );
    assert!(!refused.stderr.contains("--no-verify"), "{refused:?}");

    agent_ran(&project, "git reset -q; git checkout -q HEAD -- src lib; git clean -fdq src");
    assert_eq!(stop(&project), Value::Null);
    agent_ran(&project, "echo 'export const a = 2' > src/a.ts; git add -A");
    assert_eq!(pre_commit(&project).code, 0);
}

/// Rows `name: "script" in "file";`.
macro_rules! found {
    ($($name:ident: $script:literal in $file:literal;)*) => {
        $(#[test]
        fn $name() {
            is_found($script, $file);
        })*
    };
}

found! {
    a_file_copied_into_the_scope_breaks_its_clause: "cp lib/time.ts src/b.ts" in "src/b.ts";
    a_line_put_in_by_sed_breaks_a_clause: "sed -i '1i import moment from \"moment\"' src/a.ts" in "src/a.ts";
    a_patch_applied_by_git_breaks_a_clause: "git apply ../p.patch" in "src/a.ts";
    a_patch_breaks_a_clause: "patch -p1 < ../p.patch" in "src/a.ts";
    a_script_breaks_a_clause: "printf 'cp lib/time.ts src/c.ts' > ../x.sh; sh ../x.sh" in "src/c.ts";
    a_file_that_goes_meanwhile_hides_no_other: "git rm -q src/a.ts; cp lib/time.ts src/d.ts" in "src/d.ts";
}

#[test]
fn a_file_moved_into_the_scope_brings_nothing_in() {
    let (project, _) = ruled();
    agent_ran(&project, "git mv lib/time.ts src/time.ts");
    assert_eq!(stop(&project), Value::Null);
    let checked = pre_commit(&project);
    assert_eq!(checked.code, 0, "{checked:?}");
}

#[test]
fn what_was_committed_past_the_hook_is_told_while_upstream_is_without_it() {
    let (project, _) = ruled();
    sh(
        &project,
        "git init -q --bare -b main ../team.git; git remote add origin ../team.git; git push -q -u origin main",
    );
    agent_ran(
        &project,
        "cp lib/time.ts src/b.ts; git add -A; git commit -q --no-verify -m quietly",
    );
    assert!(notice(&stop(&project)).contains("`src/b.ts`"));
    assert_eq!(stop(&project), Value::Null, "told once");
    start(&project, "s-2");
    agent_ran_in(&project, "s-2", "echo 'export const b = 2' > src/c.ts");
    assert_eq!(stop_in(&project, "s-2"), Value::Null, "another session brought it in");
}

#[test]
fn the_end_of_a_subagent_and_of_a_task_are_looked_at_too() {
    let (project, _) = ruled();
    agent_ran(&project, "cp lib/time.ts src/b.ts");
    let returned = hook(
        &project,
        "SubagentStop",
        json!({"agent_id": "a1", "agent_type": "Explore", "stop_hook_active": false}),
    );
    assert!(reason(&answer(&returned)).contains("`src/b.ts`"));
    let done = hook(&project, "TaskCompleted", json!({"task_id": "1", "task_subject": "x"}));
    assert!(done.code == 2 && done.stderr.contains("`src/b.ts`"), "{done:?}");
}

/// Whatever uses moment after this script did so before.
fn is_honest(script: &str) {
    let (project, _) = ruled();
    agent_ran(&project, script);
    assert_eq!(stop(&project), Value::Null);
    git(&project, &["add", "-A"]);
    let checked = pre_commit(&project);
    assert_eq!(checked.code, 0, "{checked:?}");
}

/// Rows `name: "script";`.
macro_rules! honest {
    ($($name:ident: $script:literal;)*) => {
        $(#[test]
        fn $name() {
            is_honest($script);
        })*
    };
}

honest! {
    a_file_that_used_it_before_is_reformatted: "sed -i 's/=> moment/=>  moment/' src/old.ts";
    a_file_that_used_it_before_is_renamed: "git mv src/old.ts src/older.ts";
    a_file_that_used_it_before_is_renamed_and_changed: "mv src/old.ts src/older.ts; echo '// more' >> src/older.ts";
    a_file_that_used_it_before_is_removed_and_brought_back: "git rm -q src/old.ts; git commit -qm away; git revert --no-edit HEAD";
    a_file_outside_the_scope_uses_it: "cp lib/time.ts lib/more.ts";
    a_file_only_speaks_of_it: "echo '// do not import moment' >> src/a.ts; cp lib/time.ts docs.md";
}

#[test]
fn what_was_there_before_the_session_is_told_and_holds_nobody() {
    let (project, _) = ruled();
    // A person's work, not committed yet.
    write(&project, "src/a.ts", USES);
    start(&project, "s-2");
    agent_ran_in(&project, "s-2", "echo x > notes.md");
    assert!(notice(&stop_in(&project, "s-2")).contains("`src/a.ts`"));
    assert_eq!(stop_in(&project, "s-2"), Value::Null, "told once");
    agent_ran_in(&project, "s-2", "cp lib/time.ts src/b.ts");
    let held = reason(&stop_in(&project, "s-2"));
    assert!(held.contains("`src/b.ts`") && !held.contains("`src/a.ts`"), "{held}");
}

#[test]
fn a_person_s_work_beside_an_agent_that_only_looks_is_not_spoken_of() {
    let (project, _) = ruled();
    write(&project, "src/a.ts", USES);
    let call = json!({"tool_name": "Bash", "tool_input": {"command": "git diff | head"}, "tool_response": {"stdout": ""}});
    assert_eq!(answer(&hook(&project, "PostToolUse", call)), Value::Null);
    assert_eq!(stop(&project), Value::Null);
}

#[test]
fn what_colleagues_did_and_git_brought_is_not_the_agent_s() {
    let (project, _) = ruled();
    sh(
        &project,
        "git init -q --bare -b main ../team.git; git remote add origin ../team.git; git push -q -u origin main; git clone -q ../team.git ../other",
    );
    sh(
        &project,
        "cd ../other; cp lib/time.ts src/theirs.ts; cp lib/time.ts src/a.ts; git add -A; git commit -qm theirs; git push -q",
    );
    agent_ran(&project, "git pull -q --no-rebase");
    assert_eq!(stop(&project), Value::Null);
    // Merged with what was made here meanwhile.
    sh(
        &project,
        "cd ../other; cp lib/time.ts src/more.ts; git add -A; git commit -qm more; git push -q",
    );
    agent_ran(
        &project,
        "echo 'export const b = 2' > src/b.ts; git add -A; git commit -qm ours; git pull -q --no-rebase --no-edit",
    );
    assert_eq!(stop(&project), Value::Null);
    // What comes on top of it is its own.
    agent_ran(&project, "cp lib/time.ts src/b.ts");
    let held = reason(&stop(&project));
    assert!(
        held.contains("`src/b.ts`") && !held.contains("theirs.ts") && !held.contains("more.ts"),
        "{held}"
    );
}

#[test]
fn a_switch_to_another_branch_and_a_merge_with_conflicts_are_not_blocked() {
    let (project, _) = ruled();
    sh(
        &project,
        "git checkout -q -b older; cp lib/time.ts src/a.ts; git add -A; git commit -qm older --date=2026-01-01T00:00:00; git branch same; git checkout -q main",
    );
    agent_ran(&project, "git checkout -q older");
    assert_eq!(stop(&project), Value::Null);
    agent_ran(
        &project,
        "git checkout -q main; echo x > x; git add x; git commit -qm x; git checkout -q same; git rebase -q main",
    );
    assert_eq!(stop(&project), Value::Null, "made anew");
    agent_ran(
        &project,
        "git checkout -q main; echo 'export const a = 3' > src/a.ts; git commit -qam ours; git merge -q older || true",
    );
    // Settled by taking their side.
    write(&project, "src/a.ts", &format!("{USES}export const a = 3\n"));
    git(&project, &["add", "-A"]);
    let checked = pre_commit(&project);
    assert_eq!(checked.code, 0, "{checked:?}");
    agent_ran(&project, "git commit -q --no-edit");
    assert_eq!(stop(&project)["decision"], Value::Null);
}

#[test]
fn a_broken_clause_holds_once_and_then_stands_on_the_board() {
    let (project, id) = ruled();
    agent_ran(&project, "cp lib/time.ts src/b.ts");
    assert_eq!(stop(&project)["decision"], "block");
    // Lines that move are no new reason.
    agent_ran(&project, "sed -i '1i // a comment' src/b.ts");
    for _ in 0..3 {
        assert_eq!(stop(&project)["decision"], Value::Null);
    }
    let posted = warnings(&project);
    assert!(posted.len() == 1 && posted[0].contains("`src/b.ts`"), "{posted:?}");
    let traces =
        project.json(&["query-traces", "--guard", &format!("decision-{id}"), "--blocked", "true"]);
    assert!(traces.to_string().contains("src/b.ts"), "{traces}");
}

#[test]
fn what_is_only_contested_is_told_and_holds_nobody() {
    let (project, _) = ruled();
    decide(
        &project,
        &json!({"summary": "no luxon, though others disagree", "constraints": ["must_not_use: luxon"]}),
    );
    agent_ran(&project, "echo \"import x from 'luxon'\" > src/b.ts");
    assert!(notice(&stop(&project)).contains("`src/b.ts`"));
    assert_eq!(stop(&project), Value::Null, "told once");
    git(&project, &["add", "-A"]);
    let checked = pre_commit(&project);
    assert!(checked.code == 0 && checked.stderr.contains("src/b.ts"), "{checked:?}");
}

#[test]
fn an_agent_s_new_decision_lifts_nothing_and_is_told_so() {
    let (project, id) = ruled();
    let uses = || writes(&project, "src/b.ts", "import moment from 'moment'\n");
    assert_eq!(uses(), "deny");
    let second = decided(&project, &json!({"summary": "moment after all", "supersedes": id}));
    assert_eq!(
        second["still_ruled_out"],
        format!("moment stays ruled out by {id} until a person lifts it: `twining override {id}`")
    );
    assert_eq!(uses(), "deny");
    let third = decided(
        &project,
        &json!({"summary": "really", "supersedes": second["id"], "constraints": ["must_not_use: moment"]}),
    );
    assert_eq!(third["still_ruled_out"], Value::Null);
}

#[test]
fn a_clause_comes_and_goes_with_its_branch() {
    let (project, _) = ruled();
    let uses = || writes(&project, "src/new.js", "import moment from 'moment'\n");
    assert_eq!(uses(), "deny");
    assert!(git(&project, &["checkout", "-q", "-b", "old", "HEAD~1"]).status.success());
    assert_eq!(uses(), Value::Null, "the branch is from before it");
    assert!(git(&project, &["checkout", "-q", "main"]).status.success());
    assert_eq!(uses(), "deny");
}

#[test]
fn a_decision_whose_file_a_script_removed_is_told_with_the_way_back() {
    let (project, id) = ruled();
    let file = format!(".twining/decisions/{id}.json");
    fs::remove_file(project.path().join(&file)).expect("goes");
    agent_ran(&project, "true");
    let told = notice(&stop(&project));
    assert!(
        told.contains(&id)
            && told.contains(&format!("git restore --source=HEAD --staged --worktree {file}")),
        "{told}"
    );
    assert!(
        git(&project, &["restore", "--source=HEAD", "--staged", "--worktree", &file])
            .status
            .success()
    );
    assert_eq!(writes(&project, "src/new.js", "import moment from 'moment'\n"), "deny");
    assert_eq!(stop(&project), Value::Null);
}

#[test]
fn what_was_written_before_a_decision_may_be_moved_written_again_and_committed() {
    let project = project();
    let body = (0..30).map(|at| format!("export const v{at} = {at}\n")).collect::<String>();
    write(&project, "src/one.ts", &format!("import luxon from 'luxon'\n{body}"));
    write(&project, "src/two.ts", &format!("import moment from 'moment'\n{body}"));
    write(&project, "package.json", "{\n  \"dependencies\": {\n    \"moment\": \"^2\"\n  }\n}\n");
    commit(&project, "code");
    decide(&project, &json!({"scope": "project", "constraints": ["must_not_use: moment, luxon"]}));
    start(&project, "s-1");
    let bash = |line: &str| {
        let answered = answer(&hook(
            &project,
            "PreToolUse",
            json!({"tool_name": "Bash", "tool_input": {"command": line}}),
        ));
        answered["hookSpecificOutput"]["permissionDecision"].clone()
    };
    assert_eq!(
        bash("sed -i 's/\"moment\": \"^2\"/\"moment\": \"^2.30\"/' package.json"),
        Value::Null,
        "it was listed before"
    );
    assert_eq!(
        bash("printf \"import moment from 'moment'\\n\" > src/two.ts"),
        Value::Null,
        "it was imported before"
    );
    assert_eq!(bash("printf \"import moment from 'moment'\\n\" > src/three.ts"), "deny");
    agent_ran(&project, "mkdir -p lib && rm src/one.ts && mv src/two.ts lib/second.ts");
    assert_eq!(
        stop(&project),
        Value::Null,
        "the file that was moved is told from another that went"
    );
    assert!(git(&project, &["add", "-A"]).status.success());
    let committed = pre_commit(&project);
    assert_eq!(committed.code, 0, "{committed:?}");
}
