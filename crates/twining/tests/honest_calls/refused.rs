//! Calls that break a rule in plain sight.

use serde_json::json;

use crate::common::workspace::Workspace;
use crate::honest_calls::{speaks_plainly, verdict};

refused_calls! {
    // Records, by name.
    the_board_is_written_over: "blackboard.jsonl", "Write", {"file_path": ".twining/blackboard.jsonl", "content": ""};
    a_line_of_the_board_is_edited: "blackboard.jsonl", "Edit", {"file_path": ".twining/blackboard.jsonl", "old_string": "rounded twice", "new_string": "fine"};
    a_decision_is_superseded_by_hand: "01K9Z7XW3N5R8QF2T6V4B1C0DM", "Edit", {"file_path": ".twining/decisions/01K9Z7XW3N5R8QF2T6V4B1C0DM.json", "old_string": "\"active\"", "new_string": "\"superseded\""};
    a_clause_is_taken_out_of_a_decision: "01K9Z7XW3N5R8QF2T6V4B1C0DM", "Edit", {"file_path": ".twining/decisions/01K9Z7XW3N5R8QF2T6V4B1C0DM.json", "old_string": "[\"must_not_use: moment\"]", "new_string": "[]"};
    a_decision_is_forged: "01K9ZF0R6ED000000000000000", "Write", {"file_path": ".twining/decisions/01K9ZF0R6ED000000000000000.json", "content": "{\"id\":\"01K9ZF0R6ED000000000000000\",\"summary\":\"moment is fine\"}"};
    the_graph_is_emptied: "entities.json", "Write", {"file_path": ".twining/graph/entities.json", "content": "[]"};
    several_edits_of_the_board: "blackboard.jsonl", "MultiEdit", {"file_path": ".twining/blackboard.jsonl", "edits": [{"old_string": "finding", "new_string": "offer"}]};
    another_server_writes_the_board: "blackboard.jsonl", "mcp__filesystem__write_file", {"path": ".twining/blackboard.jsonl", "content": ""};

    // Records, by plain command lines.
    rm_of_the_memory: ".twining", "Bash", {"command": "rm -rf .twining"};
    rm_of_a_decision: "01K9Z7XW3N5R8QF2T6V4B1C0DM", "Bash", {"command": "rm .twining/decisions/01K9Z7XW3N5R8QF2T6V4B1C0DM.json"};
    git_rm_of_the_decisions: ".twining/decisions", "Bash", {"command": "git rm -rq .twining/decisions"};
    sed_over_the_board: "blackboard.jsonl", "Bash", {"command": "sed -i '/junk/d' .twining/blackboard.jsonl"};
    echo_onto_the_board: "blackboard.jsonl", "Bash", {"command": "echo '{\"id\":\"x\"}' >> .twining/blackboard.jsonl"};
    truncation_by_redirect: "blackboard.jsonl", "Bash", {"command": "> .twining/blackboard.jsonl"};
    tee_onto_the_board: "blackboard.jsonl", "Bash", {"command": "echo '{}' | tee -a .twining/blackboard.jsonl"};
    a_heredoc_over_a_decision: "01K9Z81A5PHJ0E7YKB3S9GQ2RN", "Bash", {"command": "cat > .twining/decisions/01K9Z81A5PHJ0E7YKB3S9GQ2RN.json <<'EOF'\n{}\nEOF"};
    cp_over_the_board: "blackboard.jsonl", "Bash", {"command": "cp /tmp/board.jsonl .twining/blackboard.jsonl"};
    mv_of_the_memory: ".twining", "Bash", {"command": "mv .twining /tmp/old-memory"};
    after_a_change_of_folder: "blackboard.jsonl", "Bash", {"command": "cd .twining && sed -i s/a/b/ blackboard.jsonl"};
    in_a_shell_of_its_own: "blackboard.jsonl", "Bash", {"command": "bash -c \"rm -f .twining/blackboard.jsonl\""};
    behind_sudo: ".twining", "Bash", {"command": "sudo rm -rf .twining/decisions"};
    jq_over_a_decision: "01K9Z7XW3N5R8QF2T6V4B1C0DM", "Bash", {"command": "jq '.status=\"superseded\"' .twining/decisions/01K9Z7XW3N5R8QF2T6V4B1C0DM.json > .twining/decisions/01K9Z7XW3N5R8QF2T6V4B1C0DM.json"};
    python_writes_the_board_by_its_name: "blackboard.jsonl", "Bash", {"command": "python3 -c \"open('.twining/blackboard.jsonl','w').write('')\""};
    node_removes_the_board_by_its_name: "blackboard.jsonl", "Bash", {"command": "node -e \"require('fs').unlinkSync('.twining/blackboard.jsonl')\""};

    // The list.
    tested_without_a_run: "feature-list.json", "Edit", {"file_path": ".claude/progress/feature-list.json", "old_string": "\"completed\", \"tested\": false", "new_string": "\"tested\", \"tested\": true"};
    a_list_written_anew_as_tested: "feature-list.json", "Write", {"file_path": ".claude/progress/feature-list.json", "content": "{\"features\":[{\"id\":\"F1\",\"status\":\"tested\",\"tested\":true},{\"id\":\"F2\",\"status\":\"tested\",\"tested\":true}]}"};
    tested_by_a_heredoc: "feature-list.json", "Bash", {"command": "cat > .claude/progress/feature-list.json <<'EOF'\n{\"features\":[{\"id\":\"F1\",\"tested\":true,\"status\":\"tested\"}]}\nEOF"};

    // Clauses.
    moment_in_a_new_file: "src/invoice.ts", "Write", {"file_path": "src/invoice.ts", "content": "import moment from 'moment'\nexport const due = () => moment().add(14, 'days')\n"};
    moment_in_an_edit: "src/format.ts", "Edit", {"file_path": "src/format.ts", "old_string": "export const price", "new_string": "import moment from 'moment'\nexport const now = () => moment()\nexport const price"};
    moment_by_require: "src/due.js", "Write", {"file_path": "src/due.js", "content": "const moment = require('moment')\nmodule.exports = () => moment()\n"};
    moment_by_a_heredoc: "src/due.ts", "Bash", {"command": "cat > src/due.ts <<'EOF'\nimport moment from 'moment'\nexport const due = moment()\nEOF"};

    // Claims.
    a_claimed_file_is_edited: "src/payments/charge.py", "Edit", {"file_path": "src/payments/charge.py", "old_string": "return amount", "new_string": "return amount * 2"};
    a_file_is_added_to_a_claimed_folder: "src/payments/refund.py", "Write", {"file_path": "src/payments/refund.py", "content": "def refund(): pass\n"};
    a_claimed_file_is_edited_by_sed: "src/payments/charge.py", "Bash", {"command": "sed -i 's/amount/cents/' src/payments/charge.py"};
    a_claimed_folder_is_removed: "src/payments", "Bash", {"command": "rm -rf src/payments"};

    // Policy and wiring.
    a_guard_is_taken_out: "policy.yml", "Write", {"file_path": ".twining/policy.yml", "content": "guards: []\n"};
    a_guard_is_made_milder: "policy.yml", "Edit", {"file_path": ".twining/policy.yml", "old_string": "action: block", "new_string": "action: warn"};
    the_project_s_hooks_are_taken_out: "settings.json", "Write", {"file_path": ".claude/settings.json", "content": "{}\n"};
    all_hooks_are_turned_off_here: "settings.local.json", "Write", {"file_path": ".claude/settings.local.json", "content": "{\"disableAllHooks\": true}\n"};
    all_hooks_are_turned_off_at_home: "settings.json", "Write", {"file_path": "@HOME@/.claude/settings.json", "content": "{\"disableAllHooks\": true}\n"};
    git_s_hooks_go_nowhere: "core.hooksPath|.git/config|.git/hooks", "Bash", {"command": "git config core.hooksPath /nowhere"};
    git_s_hooks_go_to_dev_null: "core.hooksPath|.git/config|.git/hooks", "Bash", {"command": "git config --local core.hooksPath /dev/null"};
    git_s_settings_are_written_by_name: ".git/config", "Edit", {"file_path": ".git/config", "old_string": "[core]\n", "new_string": "[core]\n\thooksPath = /nowhere\n"};
    the_hook_is_removed: ".git/hooks/pre-commit", "Bash", {"command": "rm .git/hooks/pre-commit"};

    // A guard of the team.
    an_agent_pushes_by_force: "git push", "Bash", {"command": "git push --force origin main"};
}

#[test]
fn an_agent_s_shell_lifts_no_guard() {
    let workspace = Workspace::new();
    let mut command = workspace.command(
        "twining",
        &["guard", "bypass", "no-force-push", "--for", "10m", "--reason", "hotfix"],
    );
    assert!(!command.env("CLAUDECODE", "1").status().expect("starts").success());
    let verdict =
        workspace.before_call("Bash", &json!({"command": "git push --force origin main"}));
    assert_eq!(verdict.permission, "deny", "{verdict:?}");
}

#[test]
fn the_reason_names_the_decision_s_rationale() {
    let workspace = Workspace::new();
    let input = json!({"file_path": "src/invoice.ts", "content": "import moment from 'moment'\n"});
    let verdict = verdict(&workspace, "Write", &input);
    speaks_plainly(&verdict.reason, "src/invoice.ts");
    assert!(verdict.reason.contains("frozen"), "the rationale: {}", verdict.reason);
}

#[test]
fn one_guard_speaks_where_two_would() {
    let workspace = Workspace::claimed();
    let input =
        json!({"file_path": "src/payments/due.ts", "content": "import moment from 'moment'\n"});
    let verdict = verdict(&workspace, "Write", &input);
    assert_eq!(verdict.permission, "deny", "{verdict:?}");
    speaks_plainly(&verdict.reason, "src/payments/due.ts");
    assert_eq!(verdict.reason.matches("Blocked:").count(), 1, "{}", verdict.reason);
}
