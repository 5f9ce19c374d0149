//! One's own work: branches, stashes, history, and sessions that broke off.

use serde_json::json;

use crate::common::workspace::Workspace;
use crate::honest_git::{ends_well, is_not_held};

scenarios! {
    an_ordinary_day: [
        Agent "twining post finding 'Totals are rounded twice' && echo 'RATE = 1' >> src/cart.py",
        Agent "git add -A && git commit -q -m 'cart: a rate'",
        Agent "twining decide --summary 'Round once' --domain money --scope src/cart.py --context c --rationale 'two roundings lose cents'",
        Agent "git add -A && git commit -q -m 'twining: round once' && git push -q",
    ];
    a_branch_and_back: [
        Agent "git checkout -q -b try && twining post finding 'on the branch' && git add -A && git commit -q -m try",
        Agent "git checkout -q main && git status --short",
    ];
    commits_are_squashed_by_a_soft_reset: [
        Agent "twining post finding one && git add -A && git commit -q -m one && twining post finding two && git add -A && git commit -q -m two",
        Agent "git reset -q --soft HEAD~2 && git commit -q -m both",
    ];
    a_commit_is_amended: [
        Agent "twining post finding one && git add -A && git commit -q -m one",
        Agent "echo 'X = 1' > src/x.py && git add -A && git commit -q --amend --no-edit",
    ];
    a_branch_is_squashed_into_main: [
        Agent "git checkout -q -b f && twining post finding one && git add -A && git commit -q -m one && twining post finding two && git add -A && git commit -q -m two",
        Agent "git checkout -q main && git merge -q --squash f && git commit -q -m squashed && git branch -q -D f",
    ];
    autosquash: [
        Agent "echo 'A = 1' > src/a.py && git add -A && git commit -q -m a && echo 'A = 2' > src/a.py && git add -A && git commit -q --fixup HEAD",
        Agent "GIT_SEQUENCE_EDITOR=true git rebase -q -i --autosquash HEAD~2",
    ];
    source_is_stashed_and_popped: [
        Agent "echo 'X = 1' >> src/cart.py && git stash push -q && git stash pop -q",
    ];
    a_person_stashes_the_records_too: [
        Person "post wip; echo 'X = 1' > src/x.py; git stash push -q -u; git stash pop -q",
    ];
    bisect: [
        Person "for i in 1 2 3 4; do echo \"X = $i\" > src/x.py; post \"note $i\"; save $i; done",
        Agent "git bisect start HEAD HEAD~4 && git bisect run grep -q 'X = 1' src/x.py; git bisect reset",
    ];
    an_old_commit_is_looked_at: [
        Person "post later; save later",
        Agent "git checkout -q HEAD~1 && git log --oneline -1 && git checkout -q main",
    ];
    the_turn_ends_on_an_old_commit: [
        Person "post later; decide 'Later' ids; save later; git push -q",
        Agent "git checkout -q HEAD~1",
    ];
    an_orphan_branch_without_records: [
        Person "git checkout -q --orphan pages; git rm -rfq .; echo hello > index.html; git add index.html; git commit -q -m pages",
    ];
    a_branch_from_before_twining: [
        Person "git checkout -q --orphan old; git rm -rfq --cached .twining .claude .mcp.json CLAUDE.md; git commit -q -m old; git checkout -q -f main; git branch -q keep old",
        Agent "git checkout -q main",
    ];
    a_submodule: [
        Person "git init -q ../lib; cd ../lib; echo x > x; git add x; git commit -q -m lib; cd ../shop; git submodule --quiet add ../lib vendor/lib; save submodule",
        Agent "git submodule --quiet update --init && git submodule status",
    ];
    a_subtree_of_another_project_with_records: [
        Person "mkdir ../lib; cd ../lib; git init -q; mkdir .twining; echo '{\"id\":\"01K9ZZZZZZZZZZZZZZZZZZZZZZ\",\"entry_type\":\"finding\",\"summary\":\"theirs\"}' > .twining/blackboard.jsonl; git add -A; git commit -q -m lib; cd ../shop; mkdir -p vendor; cp -r ../lib vendor/lib; rm -rf vendor/lib/.git; save vendored",
    ];
    a_part_of_the_work_is_committed: [
        Agent "echo 'X = 1' > src/x.py && echo 'Y = 1' > src/y.py && git add src/x.py && git commit -q -m x",
    ];
    a_hard_reset_to_upstream: [
        Agent "echo 'X = 1' > src/x.py && git add -A && git commit -q -m x",
        Person "git reset -q --hard origin/main",
    ];
    history_is_filtered_by_a_person: [
        Person "echo secret > src/key.txt; save key; FILTER_BRANCH_SQUELCH_WARNING=1 git filter-branch -f --index-filter 'git rm -q --cached --ignore-unmatch src/key.txt' HEAD~1..HEAD >/dev/null 2>&1",
    ];
    the_clone_is_copied_and_moved: [
        Person "post kept; save kept; cp -r ../shop ../copy; cd ../copy; git status --short >/dev/null; twining status >/dev/null",
    ];
    a_second_clone_on_the_same_machine: [
        Person "git clone -q . ../second; cd ../second; twining init --agent claude >/dev/null; twining post finding 'from the second clone' >/dev/null; git add -A; git commit -q -m second; git push -q origin HEAD:second",
        Agent "git merge -q --no-edit second",
    ];
    garbage_collection: [
        Agent "git gc -q --prune=now && git reflog expire --expire=now --all",
    ];
    tests_are_added_and_renamed: [
        Agent "printf '\\n\\ndef test_one():\\n    assert total([5]) == 5\\n' >> tests/test_cart.py && git mv tests/format.test.ts tests/price.test.ts",
    ];
    a_formatter_over_the_source: [
        Agent "sed -i 's/    /  /' src/cart.py src/auth/session.py",
    ];
    moment_is_removed: [
        Agent "rm src/legacy/dates.ts",
    ];
    a_legacy_file_is_renamed: [
        Agent "git mv src/legacy/dates.ts src/legacy/old-dates.ts",
    ];
    a_legacy_file_is_split_by_a_person: [
        Person "{ head -1 src/legacy/dates.ts; tail -3 src/legacy/dates.ts; } > src/legacy/yesterday.ts; head -5 src/legacy/dates.ts > t; mv t src/legacy/dates.ts",
    ];
    a_bundle_in_dist_contains_moment: [
        Person "mkdir -p dist; echo \"import moment from 'moment'\" > dist/app.js",
    ];
    a_feature_is_added_and_begun: [
        Agent "twining features add F3 --description Discounts --file src/discount.py && twining report F3 --role coder --outcome started",
    ];
}

#[test]
fn a_session_crashed_and_the_next_one_goes_on() {
    let workspace = Workspace::with_team();
    workspace.begin_session();
    workspace.agent_runs("twining post finding 'half way'");
    workspace.claim("src/cart.py", "main", "s-1");
    // No `Stop`, no `SessionEnd`: the host is gone.
    workspace.hook("SessionStart", json!({"session_id": "s-2", "source": "startup"}));
    let edit = json!({"file_path": workspace.file("src/cart.py"), "old_string": "sum(prices)", "new_string": "sum(prices or [])"});
    let answer = workspace
        .hook("PreToolUse", json!({"session_id": "s-2", "tool_name": "Edit", "tool_input": edit}));
    assert_eq!(
        answer["hookSpecificOutput"]["permissionDecision"],
        serde_json::Value::Null,
        "{answer}"
    );
    workspace.replace("src/cart.py", "sum(prices)", "sum(prices or [])");
    is_not_held(&workspace.hook("Stop", json!({"session_id": "s-2", "stop_hook_active": false})));
    ends_well(&workspace);
}

#[test]
fn a_person_edits_a_claimed_file_while_the_agent_waits() {
    let workspace = Workspace::claimed();
    workspace.begin_session();
    let line = "sleep 1";
    assert!(workspace.before_call("Bash", &json!({"command": line})).is_allowed());
    workspace.replace("src/payments/charge.py", "return amount", "return amount * 2");
    workspace.after_command(
        line,
        &crate::common::Ran { code: 0, stdout: String::new(), stderr: String::new() },
    );
    ends_well(&workspace);
}

#[test]
fn a_turn_that_ends_twice_is_not_held_the_second_time() {
    let workspace = Workspace::with_team();
    workspace.begin_session();
    workspace.replace(".twining/blackboard.jsonl", "rounded twice", "rounded");
    is_not_held(&workspace.stop());
    is_not_held(&workspace.hook("Stop", json!({"stop_hook_active": true})));
}
