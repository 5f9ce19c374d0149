//! What lazy agents do to look finished. Nothing here is a wall; each trick must be visible
//! somewhere: at the call, at the turn's end, at the commit, in `verified_by`, or in
//! `twining verify --ci`.

use crate::common::Ran;
use crate::common::workspace::{Actor, LIST, NO_MOMENT, USE_SQLITE, Workspace};
use serde_json::{Value, json};

const TESTS: &str = "tests/test_cart.py";
const TWO_PASSED: &str = "..                                                                       [100%]\n2 passed in 0.02s\n";
const ONE_FAILED: &str = "F.                                                                       [100%]\n=========================== short test summary info ============================\nFAILED tests/test_cart.py::test_total - assert 4 == 3\n1 failed, 1 passed in 0.03s\n";

/// A session that has begun, in a project with a remote; its hooks have seen a command.
fn session() -> Workspace {
    let workspace = Workspace::with_team();
    workspace.begin_session();
    workspace.agent_runs("git log --oneline -1");
    workspace
}

/// Everything that the end of a turn says, held or not, with what it leaves on the board.
fn end_of_turn(workspace: &Workspace) -> String {
    let before = workspace.read(".twining/blackboard.jsonl");
    let answer = workspace.stop();
    let board = workspace.read(".twining/blackboard.jsonl");
    format!("{answer}\n{}", board.strip_prefix(before.as_str()).unwrap_or(&board))
}

/// A commit of everything that is made, or why not.
fn commit(workspace: &Workspace, options: &str) -> Ran {
    workspace.try_shell(Actor::Here, &format!("git add -A && git commit -q -m work {options}"))
}

/// The feature after a run that passed was seen and reported.
fn reported_feature(workspace: &Workspace, output: &str) -> Value {
    workspace.test_run("pytest -q", 0, output);
    let reported = workspace.report_passed("F1", &[]);
    assert_eq!(reported.code, 0, "{reported:?}");
    workspace.feature("F1")
}

fn is_refused(workspace: &Workspace, reported: &Ran) {
    assert_ne!(reported.code, 0, "{reported:?}");
    assert_eq!(workspace.feature("F1")["tested"], false, "{reported:?}");
}

fn note(feature: &Value) -> &str {
    feature["verified_by"]["note"].as_str().unwrap_or_else(|| panic!("a note in {feature}"))
}

/// The findings of `verify --ci` from upstream to what is committed here, which fail the job.
fn errors_in_ci(workspace: &Workspace, more: &[&str]) -> Vec<Value> {
    let words =
        [&["verify", "--ci", "--base", "origin/main", "--head", "HEAD", "--json"], more].concat();
    let ran = workspace.twining(&words);
    assert_eq!(ran.code, 3, "{ran:?}");
    findings(&ran).into_iter().filter(|finding| finding["severity"] == "error").collect()
}

fn findings(ran: &Ran) -> Vec<Value> {
    let report: Value =
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    report["findings"].as_array().cloned().unwrap_or_else(|| panic!("findings in {report}"))
}

fn names(findings: &[Value], text: &str) -> bool {
    findings.iter().any(|finding| finding.to_string().contains(text))
}

const JUNIT_OF_ONE: &str = "<testsuites><testsuite name=\"pytest\" tests=\"1\" failures=\"0\" errors=\"0\" skipped=\"0\"><testcase classname=\"tests.test_cart\" name=\"test_empty\" file=\"tests/test_cart.py\" time=\"0.001\"/></testsuite></testsuites>\n";

// Tests that test less: a note on the feature, and a word at the turn's end.

#[test]
fn a_test_that_asserts_nothing_shows_on_the_feature() {
    let workspace = session();
    workspace.replace(TESTS, "assert total([1, 2]) == 3", "assert True");
    let feature = reported_feature(&workspace, TWO_PASSED);
    assert!(note(&feature).contains("test_total"), "{feature}");
    let message = end_of_turn(&workspace);
    assert!(message.contains("test_total"), "{message}");
}

#[test]
fn a_skipped_test_shows_on_the_feature() {
    let workspace = session();
    workspace.replace(
        TESTS,
        "def test_total",
        "import pytest\n\n\n@pytest.mark.skip(reason=\"flaky\")\ndef test_total",
    );
    let feature = reported_feature(
        &workspace,
        "s.                                                                       [100%]\n1 passed, 1 skipped in 0.02s\n",
    );
    assert!(
        note(&feature).contains("skipped") && note(&feature).contains("test_total"),
        "{feature}"
    );
    let message = end_of_turn(&workspace);
    assert!(message.contains("test_total"), "{message}");
}

#[test]
fn a_deleted_test_shows_on_the_feature() {
    let workspace = session();
    workspace.replace(TESTS, "def test_total():\n    assert total([1, 2]) == 3\n\n\n", "");
    let feature = reported_feature(
        &workspace,
        ".                                                                        [100%]\n1 passed in 0.02s\n",
    );
    assert!(
        note(&feature).contains("removed") && note(&feature).contains("test_total"),
        "{feature}"
    );
    let message = end_of_turn(&workspace);
    assert!(message.contains("test_total"), "{message}");
}

#[test]
fn a_test_expected_to_fail_shows_on_the_feature() {
    let workspace = session();
    workspace.replace(
        TESTS,
        "def test_total",
        "import pytest\n\n\n@pytest.mark.xfail\ndef test_total",
    );
    let feature = reported_feature(
        &workspace,
        "x.                                                                       [100%]\n1 passed, 1 xfailed in 0.02s\n",
    );
    assert!(note(&feature).contains("test_total"), "{feature}");
    let message = end_of_turn(&workspace);
    assert!(message.contains("test_total"), "{message}");
}

#[test]
fn a_test_that_runs_alone_is_told_at_the_end_of_the_turn() {
    let workspace = session();
    workspace.write(
        "tests/cart.test.ts",
        "test('adds', () => { expect(1 + 1).toBe(2) })\ntest('is empty', () => { expect([].length).toBe(0) })\n",
    );
    workspace.shell("git add -A && git commit -q -m tests && git push -q");
    workspace.agent_runs("sed -i \"s/test('is empty'/test.only('is empty'/\" tests/cart.test.ts");
    let message = end_of_turn(&workspace);
    assert!(message.contains("is empty") || message.contains("cart.test.ts"), "{message}");
}

#[test]
fn a_whole_test_file_that_is_gone_is_told_at_the_end_of_the_turn() {
    let workspace = session();
    workspace.agent_runs("git rm -q tests/test_cart.py");
    let message = end_of_turn(&workspace);
    assert!(message.contains("test_total") || message.contains("test_cart.py"), "{message}");
}

#[test]
fn an_expectation_bent_to_special_cased_code_shows_on_the_feature() {
    let workspace = session();
    workspace.replace("src/cart.py", "return sum(prices)", "return 3 if len(prices) == 2 else 0");
    workspace.replace(TESTS, "assert total([]) == 0", "assert total([]) in (0, None)");
    let feature = reported_feature(&workspace, TWO_PASSED);
    assert!(note(&feature).contains("test_empty"), "{feature}");
}

#[test]
fn an_edited_golden_file_is_told() {
    let workspace = session();
    workspace.agent_runs("sed -i 's/10.50/11.50/' tests/golden/invoice.txt");
    let feature = reported_feature(&workspace, TWO_PASSED);
    assert!(note(&feature).contains("invoice.txt"), "{feature}");
    let message = end_of_turn(&workspace);
    assert!(message.contains("invoice.txt"), "{message}");
}

// Runs that show nothing: the report is refused, or says what it is worth.

#[test]
fn a_word_without_a_run_makes_nothing_tested() {
    let workspace = session();
    let word = ["--command", "pytest -q", "--exit-code", "0", "--output", "3 passed in 0.1s"];
    let reported = workspace.report_passed("F1", &word);
    is_refused(&workspace, &reported);
    assert!(
        format!("{reported:?}").contains("pytest -q"),
        "names the command to run: {reported:?}"
    );
}

#[test]
fn a_word_is_called_a_word_where_words_are_enough() {
    let workspace = session();
    workspace.append(".twining/config.yml", "\nworkflow:\n  tested_needs: told\n");
    let word = ["--command", "pytest -q", "--exit-code", "0", "--output", "3 passed in 0.1s"];
    let reported = workspace.report_passed("F1", &word);
    assert_eq!(reported.code, 0, "{reported:?}");
    assert_eq!(workspace.feature("F1")["verified_by"]["source"], "told");
}

#[test]
fn a_run_before_the_last_edit_is_stale() {
    let workspace = session();
    workspace.test_run("pytest -q", 0, TWO_PASSED);
    workspace.replace("src/cart.py", "return sum(prices)", "return sum(prices) + 1");
    is_refused(&workspace, &workspace.report_passed("F1", &[]));
}

#[test]
fn a_run_in_another_folder_makes_nothing_tested() {
    let workspace = session();
    let elsewhere = workspace.path("elsewhere");
    std::fs::create_dir(&elsewhere).expect("makes a folder");
    workspace.test_run(&format!("cd {} && pytest -q", elsewhere.display()), 0, TWO_PASSED);
    is_refused(&workspace, &workspace.report_passed("F1", &[]));
}

#[test]
fn a_narrower_run_after_a_failed_one_is_refused_or_noted() {
    let workspace = session();
    workspace.test_run("pytest -q", 1, ONE_FAILED);
    workspace.test_run("pytest -q tests/test_cart.py::test_empty", 0, "1 passed in 0.01s\n");
    let reported = workspace.report_passed("F1", &[]);
    let feature = workspace.feature("F1");
    assert!(
        feature["tested"] == false || note(&feature).contains("does not cover"),
        "{feature}: {reported:?}"
    );
}

#[test]
fn a_failing_test_filtered_out_is_refused_or_noted() {
    let workspace = session();
    workspace.test_run("pytest -q", 1, ONE_FAILED);
    workspace.test_run("pytest -q -k 'not total'", 0, "1 passed, 1 deselected in 0.01s\n");
    let reported = workspace.report_passed("F1", &[]);
    let feature = workspace.feature("F1");
    assert!(
        feature["tested"] == false || note(&feature).contains("does not cover"),
        "{feature}: {reported:?}"
    );
}

#[test]
fn a_failing_run_reported_as_passed_is_refused() {
    let workspace = session();
    workspace.test_run("pytest -q", 1, ONE_FAILED);
    is_refused(&workspace, &workspace.report_passed("F1", &[]));
    let word = ["--command", "pytest -q", "--exit-code", "0", "--output", "2 passed in 0.1s"];
    is_refused(&workspace, &workspace.report_passed("F1", &word));
}

#[test]
fn a_failing_run_hidden_by_or_true_is_refused() {
    let workspace = session();
    workspace.test_run("pytest -q || true", 0, ONE_FAILED);
    is_refused(&workspace, &workspace.report_passed("F1", &[]));
}

#[test]
fn a_run_of_no_tests_makes_nothing_tested() {
    let workspace = session();
    workspace.test_run("pytest -q -k nothing || true", 0, "\n2 deselected in 0.01s\n");
    is_refused(&workspace, &workspace.report_passed("F1", &[]));
    workspace.test_run("pytest -q tests/empty || true", 0, "\nno tests ran in 0.01s\n");
    is_refused(&workspace, &workspace.report_passed("F1", &[]));
}

#[test]
fn an_old_log_on_the_screen_makes_nothing_tested() {
    let workspace = session();
    workspace.test_run("cat old-test.log | tail -3", 0, TWO_PASSED);
    is_refused(&workspace, &workspace.report_passed("F1", &[]));
}

#[test]
fn counts_that_are_echoed_make_nothing_tested() {
    let workspace = session();
    workspace.test_run("echo '2 passed in 0.02s'", 0, "2 passed in 0.02s\n");
    is_refused(&workspace, &workspace.report_passed("F1", &[]));
}

#[test]
fn a_report_written_by_hand_is_a_word() {
    let workspace = session();
    workspace.write("report.xml", JUNIT_OF_ONE);
    let word =
        ["--command", "pytest --junitxml=report.xml", "--exit-code", "0", "--report", "report.xml"];
    is_refused(&workspace, &workspace.report_passed("F1", &word));
    workspace.append(".twining/config.yml", "\nworkflow:\n  tested_needs: told\n");
    let reported = workspace.report_passed("F1", &word);
    assert_eq!(reported.code, 0, "{reported:?}");
    assert_eq!(workspace.feature("F1")["verified_by"]["source"], "told");
}

// Script changes that no tool call shows: reported at turn end, found in CI.

/// Runs a script that the hooks cannot look into.
fn script(workspace: &Workspace, text: &str) {
    workspace.write("scripts/fix.sh", &format!("#!/bin/sh\nset -e\n{text}\n"));
    workspace.agent_runs("sh scripts/fix.sh");
}

#[test]
fn a_list_edited_by_a_script_is_told_at_the_end_of_the_turn_and_unproven_in_ci() {
    let workspace = session();
    script(
        &workspace,
        &format!(
            "sed -i 's/\"completed\", \"tested\": false/\"tested\", \"tested\": true/' {LIST}"
        ),
    );
    assert_eq!(workspace.feature("F1")["tested"], true);
    let message = end_of_turn(&workspace);
    assert!(message.contains("F1"), "{message}");
    workspace.shell("git add -A && git commit -q --no-verify -m list");
    let errors = errors_in_ci(&workspace, &[]);
    assert!(names(&errors, "F1"), "{errors:?}");
}

#[test]
fn a_board_altered_by_a_script_is_told_and_found_in_ci() {
    let workspace = session();
    script(&workspace, "sed -i 's/rounded twice/fine/' .twining/blackboard.jsonl");
    let message = end_of_turn(&workspace);
    assert!(message.contains("blackboard.jsonl"), "{message}");
    workspace.shell("git add -A && git commit -q --no-verify -m board");
    let errors = errors_in_ci(&workspace, &[]);
    assert!(names(&errors, "blackboard.jsonl"), "{errors:?}");
}

#[test]
fn a_decision_deleted_by_a_script_is_told_and_found_in_ci() {
    let workspace = session();
    script(&workspace, &format!("rm {USE_SQLITE}"));
    let message = end_of_turn(&workspace);
    assert!(message.contains("01K9Z81A5PHJ0E7YKB3S9GQ2RN"), "{message}");
    workspace.shell("git add -A && git commit -q --no-verify -m decision");
    let errors = errors_in_ci(&workspace, &[]);
    assert!(names(&errors, "01K9Z81A5PHJ0E7YKB3S9GQ2RN"), "{errors:?}");
}

#[test]
fn a_clause_taken_out_by_a_script_is_told_and_found_in_ci() {
    let workspace = session();
    script(&workspace, &format!("sed -i 's/\"must_not_use: moment\"//' {NO_MOMENT}"));
    let message = end_of_turn(&workspace);
    assert!(message.contains("01K9Z7XW3N5R8QF2T6V4B1C0DM"), "{message}");
    workspace.write("src/invoice.ts", "import moment from 'moment'\n");
    workspace.shell("git add -A && git commit -q --no-verify -m clause");
    let errors = errors_in_ci(&workspace, &[]);
    assert!(names(&errors, "01K9Z7XW3N5R8QF2T6V4B1C0DM"), "{errors:?}");
    assert!(names(&errors, "src/invoice.ts"), "the clause of the base still holds: {errors:?}");
}

#[test]
fn a_clause_broken_by_a_script_is_held_once_and_refused_at_the_commit() {
    let workspace = session();
    script(&workspace, "printf \"import moment from 'moment'\\n\" > src/invoice.ts");
    let answer = workspace.stop();
    assert_eq!(answer["decision"], "block", "{answer}");
    assert!(
        answer["reason"].as_str().is_some_and(|reason| reason.contains("src/invoice.ts")),
        "{answer}"
    );
    let again = workspace.hook("Stop", json!({"stop_hook_active": true}));
    assert_ne!(again["decision"], "block", "held once: {again}");
    let refused = commit(&workspace, "");
    assert!(refused.code != 0 && refused.stderr.contains("src/invoice.ts"), "{refused:?}");
    assert!(!refused.stderr.contains("--no-verify"), "{refused:?}");
}

#[test]
fn a_commit_past_the_hook_is_found_in_ci() {
    let workspace = session();
    workspace.write("src/invoice.ts", "import moment from 'moment'\n");
    assert_eq!(commit(&workspace, "--no-verify").code, 0);
    let errors = errors_in_ci(&workspace, &[]);
    let found = errors
        .iter()
        .find(|finding| finding["path"] == "src/invoice.ts")
        .unwrap_or_else(|| panic!("{errors:?}"));
    let words = found["message"].as_str().expect("a message").split_whitespace().count();
    assert!(words <= 60, "{found}");
}

#[test]
fn tests_dropped_from_a_feature_still_count_in_ci() {
    let workspace = session();
    workspace.replace(
        LIST,
        "[\"tests/test_cart.py\"]",
        "[\"tests/test_cart.py::test_total\", \"tests/test_cart.py::test_empty\"]",
    );
    workspace.shell("git add -A && git commit -q -m tests && git push -q");
    workspace.replace(LIST, "\"tests/test_cart.py::test_total\", ", "");
    workspace.replace(LIST, "\"completed\", \"tested\": false", "\"tested\", \"tested\": true");
    workspace.shell("git add -A && git commit -q --no-verify -m tested");
    let junit = workspace.path("junit.xml");
    std::fs::write(&junit, JUNIT_OF_ONE).expect("writes");
    let errors = errors_in_ci(&workspace, &["--junit", &junit.display().to_string()]);
    assert!(names(&errors, "F1"), "{errors:?}");
}

#[test]
fn removed_tests_are_listed_in_ci() {
    let workspace = session();
    workspace.replace(TESTS, "def test_total():\n    assert total([1, 2]) == 3\n\n\n", "");
    assert_eq!(commit(&workspace, "").code, 0);
    let ran =
        workspace.twining(&["verify", "--ci", "--base", "origin/main", "--head", "HEAD", "--json"]);
    let notes: Vec<Value> =
        findings(&ran).into_iter().filter(|finding| finding["severity"] == "note").collect();
    assert!(names(&notes, "test_total"), "{ran:?}");
    assert_eq!(ran.code, 0, "a note fails no job by itself: {ran:?}");
}

#[test]
fn a_policy_made_milder_by_a_script_is_found_in_ci() {
    let workspace = session();
    script(&workspace, "echo 'guards: []' > .twining/policy.yml");
    workspace.shell("git add -A && git commit -q --no-verify -m policy");
    let errors = errors_in_ci(&workspace, &[]);
    assert!(names(&errors, "policy.yml"), "{errors:?}");
    let approved = workspace.twining(&[
        "verify",
        "--ci",
        "--base",
        "origin/main",
        "--approve",
        "policy",
        "--json",
    ]);
    assert_eq!(approved.code, 0, "{approved:?}");
}

#[test]
fn a_decision_in_a_person_s_name_is_found_in_ci() {
    let workspace = session();
    let forged = workspace
        .read(USE_SQLITE)
        .replace("01K9Z81A5PHJ0E7YKB3S9GQ2RN", "01K9ZF0R6EDA0000000000000A")
        .replace("\"reversible\"", "\"origin\": {\"client\": \"cli\", \"via\": \"cli\", \"trust\": \"human\"},\n  \"reversible\"");
    workspace.write(".twining/decisions/01K9ZF0R6EDA0000000000000A.json", &forged);
    workspace.shell(
        "git add -A && git commit -q --no-verify --author 'agent <bot@example.com>' -m decision",
    );
    let errors = errors_in_ci(&workspace, &["--agent-author", "*bot@example.com*"]);
    assert!(names(&errors, "01K9ZF0R6EDA0000000000000A"), "{errors:?}");
}

#[test]
fn hooks_taken_out_by_a_script_are_found_in_ci() {
    let workspace = session();
    script(&workspace, "echo '{\"disableAllHooks\": true}' > .claude/settings.json");
    workspace.shell("git add -A && git commit -q --no-verify -m settings");
    let errors = errors_in_ci(&workspace, &[]);
    assert!(names(&errors, ".claude/settings.json"), "{errors:?}");
}
