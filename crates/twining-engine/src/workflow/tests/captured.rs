//! Runs as hosts report them: honest ones count, whatever the line.

use serde_json::Value;
use twining_model::EvidenceSource;
use twining_testcases::each;

use crate::failure::Failure;
use crate::testing::{Project, caller};
use crate::workflow::{EvidenceInput, ReportContext, ReportInput, ReportOutcome, TestRun};
use twining_guard::hosts::ToolResult;

fn project() -> Project {
    let project = Project::new();
    project.write(
        "features.json",
        r#"{"features": [{"id": "F1", "status": "completed", "files": ["src/a.py"]}]}"#,
    );
    std::fs::create_dir_all(project.path().join("src")).expect("makes a folder");
    let file = std::fs::File::create(project.path().join("src/a.py")).expect("makes a file");
    let written = u64::try_from(project.clock.now().as_ms() - 60_000).expect("after 1970");
    file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_millis(written))
        .expect("sets the time");
    project
}

fn capture(
    project: &Project,
    command: &str,
    exit_code: Option<i64>,
    output: &str,
) -> Option<TestRun> {
    project.clock.advance_ms(1000);
    let outcome = ToolResult { exit_code, output: output.into(), is_unfinished: false };
    project
        .engine
        .capture_run(&caller("ada"), project.path(), Some(""), command, &outcome)
        .expect("records")
}

fn report(
    project: &Project,
    evidence: EvidenceInput,
    context: &ReportContext<'_>,
) -> Result<ReportOutcome, Failure> {
    project.clock.advance_ms(1000);
    let input = ReportInput {
        feature: "F1".into(),
        role: "tester".into(),
        outcome: "passed".into(),
        evidence,
        ..ReportInput::default()
    };
    project.engine.report(&caller("ada"), project.path(), &input, context)
}

fn report_passed(project: &Project) -> Result<ReportOutcome, Failure> {
    report(project, EvidenceInput::default(), &ReportContext::default())
}

/// Whether a seen run makes the feature tested, by so many tests.
fn counts(command: &str, exit_code: Option<i64>, output: &str, passed: u64) {
    let project = project();
    capture(&project, command, exit_code, output)
        .unwrap_or_else(|| panic!("`{command}` is no run"));
    let by =
        report_passed(&project).expect("is evidence").feature.verified_by.expect("says by what");
    assert_eq!(
        (by.source, by.tests.map(|tests| tests.passed)),
        (EvidenceSource::Seen, Some(passed)),
        "{command}"
    );
    assert_eq!(by.command, command);
}

macro_rules! honest_runs {
    ($($name:ident: $command:expr, $exit:expr, $output:expr => $passed:expr;)*) => {
        $(#[test]
        fn $name() {
            counts($command, $exit, $output, $passed);
        })*
    };
}

const CARGO: &str = "running 5 tests\ntest a ... ok\n\ntest result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s\n";
const PYTEST: &str = "....                                                                     [100%]\n4 passed in 0.12s\n";
const JEST: &str = "PASS src/a.test.js\n\nTest Suites: 1 passed, 1 total\nTests:       3 passed, 3 total\nSnapshots:   0 total\nTime:        0.5 s\n";

honest_runs! {
    // Those that enforcement.md names.
    cargo_behind_tail: "cargo test 2>&1 | tail -40", Some(0), CARGO => 5;
    npm_behind_tee: "npm test | tee log", Some(0), JEST => 3;
    pytest_into_a_file_that_is_shown: "pytest > out; tail out", Some(0), PYTEST => 4;
    pytest_behind_grep: "pytest | grep passed", Some(0), "4 passed in 0.12s\n" => 4;
    pytest_and_its_exit_code: "pytest; echo $?", Some(0), "4 passed in 0.12s\n0\n" => 4;
    pytest_without_an_exit_code: "pytest -q", None, PYTEST => 4;
    docker_compose_run: "docker compose run app pytest", Some(0), "[+] Creating 1/0\n4 passed in 0.12s\n" => 4;
    docker_exec: "docker exec -it app pytest /app/tests/test_a.py", Some(0), PYTEST => 4;
    a_script: "./scripts/test.sh", Some(0), "== unit\n4 passed in 0.12s\n" => 4;
    a_script_by_its_shell: "bash scripts/test.sh", Some(0), "4 passed in 0.12s\n" => 4;
    nx: "nx test app", Some(0), "> nx run app:test\n\nTests:       3 passed, 3 total\n\n NX   Successfully ran target test for project app\n" => 3;
    turbo: "turbo run test", Some(0), "web:test: Tests:       3 passed, 3 total\napi:test: Tests:       2 passed, 2 total\n\n Tasks:    2 successful, 2 total\n" => 5;
    npx_turbo: "npx turbo test", Some(0), "web:test:       Tests  3 passed (3)\n" => 3;
    coverage: "coverage run -m pytest", Some(0), "===== 4 passed in 0.12s =====\n" => 4;
    xcodebuild: "xcodebuild test -scheme App | xcpretty", Some(0), "Test Suite 'All tests' passed\n\t Executed 12 tests, with 0 failures (0 unexpected) in 0.5 (0.6) seconds\n** TEST SUCCEEDED **\n" => 12;
    ssh: "ssh ci 'cd /srv/app && pytest'", Some(0), "4 passed in 0.12s\n" => 4;
    hatch: "hatch run test", Some(0), "4 passed in 0.12s\n" => 4;
    rails: "bin/rails test", Some(0), "Running 3 tests in a single process\n\n3 runs, 4 assertions, 0 failures, 0 errors, 0 skips\n" => 3;
    zig: "zig build test --summary all", Some(0), "Build Summary: 3/3 steps succeeded; 5/5 tests passed\n" => 5;
    newman: "newman run api.json", Some(0), "│              iterations │        1 │        0 │\n│              assertions │       12 │        0 │\n" => 12;
    a_background_task: "pytest -q &", None, PYTEST => 4;
    // And others of their kind.
    podman: "podman run --rm app npm test", Some(0), JEST => 3;
    kubectl: "kubectl exec web-0 -- pytest", Some(0), PYTEST => 4;
    make: "make test", Some(0), "pytest -q\n4 passed in 0.12s\n" => 4;
    make_in_a_folder: "make -C backend check 2>&1 | tail -5", Some(0), "4 passed in 0.12s\n" => 4;
    just: "just test", Some(0), CARGO => 5;
    npm_in_a_folder: "cd src && npm test -- --ci", Some(0), JEST => 3;
    pnpm_recursive: "pnpm -r test", Some(0), "packages/a test:       Tests  3 passed (3)\npackages/b test:       Tests  2 passed (2)\n" => 5;
    yarn: "yarn test", Some(0), JEST => 3;
    nextest: "cargo nextest run --workspace 2>&1 | tail -5", Some(0), "     Summary [   0.021s] 30 tests run: 30 passed, 2 skipped\n" => 30;
    go: "go test ./...", Some(0), "ok  \texample.com/a\t0.010s\nok  \texample.com/b\t(cached)\n?   \texample.com/c\t[no test files]\n" => 2;
    go_verbose: "go test -v ./... | grep -E '^(---|ok)'", Some(0), "--- PASS: TestA (0.00s)\n--- PASS: TestB (0.00s)\nok  \texample.com/a\t0.010s\n" => 2;
    gotestsum: "gotestsum --format short", Some(0), "✓  a (cached)\n\nDONE 12 tests in 0.512s\n" => 12;
    rspec: "bundle exec rspec", Some(0), "Finished in 0.1 seconds (files took 0.2 seconds to load)\n5 examples, 0 failures\n" => 5;
    phpunit: "vendor/bin/phpunit", Some(0), "OK (5 tests, 9 assertions)\n" => 5;
    maven: "./mvnw -q verify", Some(0), "[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s -- in A\n[INFO] Tests run: 7, Failures: 0, Errors: 0, Skipped: 0\n" => 7;
    dotnet: "dotnet test --no-build", Some(0), "Passed!  - Failed:     0, Passed:     5, Skipped:     0, Total:     5, Duration: 12 ms - A.dll (net8.0)\n" => 5;
    ctest: "ctest --test-dir build --output-on-failure", Some(0), "100% tests passed, 0 tests failed out of 5\n" => 5;
    mix: "mix test", Some(0), "Finished in 0.1 seconds\n3 doctests, 12 tests, 0 failures\n" => 15;
    deno: "deno test -A", Some(0), "ok | 5 passed | 0 failed (12ms)\n" => 5;
    bun: "bun test", Some(0), " 5 pass\n 0 fail\nRan 5 tests across 1 files. [12.00ms]\n" => 5;
    node: "node --test", Some(0), "ℹ tests 5\nℹ pass 5\nℹ fail 0\n" => 5;
    bats: "bats test", Some(0), "1..2\nok 1 adds\nok 2 takes\n" => 2;
    playwright: "npx playwright test", Some(0), "Running 3 tests using 1 worker\n\n  3 passed (2.1s)\n" => 3;
    flutter: "flutter test", Some(0), "00:01 +3: All tests passed!\n" => 3;
    tox: "tox -e py312", Some(0), "py312: commands[0]> pytest -q\n4 passed in 0.12s\n  py312: OK (0.50 seconds)\n" => 4;
    uv: "source .venv/bin/activate && uv run pytest -q 2>&1 | tail -n 3", Some(0), "4 passed in 0.12s\n" => 4;
    django: "python manage.py test", Some(0), "Found 4 test(s).\n....\nRan 4 tests in 0.210s\n\nOK\n" => 4;
    a_failing_tail: "pytest -q | head -1", Some(141), "4 passed in 0.12s\n" => 4;
    an_ignored_exit_code: "pytest || true", Some(0), PYTEST => 4;
}

#[test]
fn what_only_prints_is_no_run() {
    let project = project();
    each(
        [
            "cat out.log",
            "echo '4 passed in 0.12s'",
            "tail -3 out.log | grep passed",
            "git show HEAD:out.log",
            "twining features",
        ],
        |command| {
            assert_eq!(capture(&project, command, Some(0), PYTEST), None, "{command}");
        },
    );
    assert_eq!(capture(&project, "ls -la", Some(0), "total 48\n"), None);
}

#[test]
fn a_failed_run_is_no_evidence_until_the_tests_pass() {
    let project = project();
    capture(&project, "pytest -q", Some(0), PYTEST).expect("is a run");
    capture(&project, "pytest -q | tail -1", Some(0), "1 failed, 3 passed in 0.12s\n")
        .expect("is a run");
    let refused = report_passed(&project).expect_err("failed");
    assert!(
        refused.to_string().contains("1 of 4 tests failed in `pytest -q | tail -1`"),
        "{refused}"
    );
    // The agent's word changes nothing that the hook saw.
    let word = EvidenceInput {
        command: Some("pytest".into()),
        exit_code: Some(0),
        output: Some("4 passed in 0.1s".into()),
        ..EvidenceInput::default()
    };
    assert_eq!(
        report(&project, word, &ReportContext::default()).expect_err("a word").code(),
        "NO_EVIDENCE"
    );
    capture(&project, "pytest -q", Some(0), PYTEST).expect("is a run");
    report_passed(&project).expect("passed again");
}

#[test]
fn a_line_that_stops_before_its_tests_failed() {
    let project = project();
    assert_eq!(
        capture(&project, "cargo test", Some(101), "error[E0425]: cannot find value"),
        None,
        "nobody knows that it tests"
    );
    capture(&project, "cargo test", Some(0), CARGO).expect("is a run");
    let run = capture(&project, "cargo test", Some(101), "error[E0425]: cannot find value")
        .expect("is a run");
    assert!(run.has_failed() && run.tests.is_none());
    assert!(
        report_passed(&project)
            .expect_err("does not compile")
            .to_string()
            .contains("`cargo test` failed")
    );
}

#[test]
fn an_exit_code_after_passing_tests_is_a_failure_with_a_note() {
    let project = project();
    let run = capture(
        &project,
        "pytest --cov --cov-fail-under=90",
        Some(2),
        "FAIL Required test coverage of 90% not reached.\n4 passed in 0.12s\n",
    );
    let run = run.expect("is a run");
    assert_eq!(
        (run.has_failed(), run.note.as_deref()),
        (true, Some("exit code 2 after all tests passed"))
    );
}

#[test]
fn the_output_of_a_background_command_is_a_run_of_it() {
    let project = project();
    let begun = ToolResult {
        exit_code: None,
        output: "Command running in background with ID: b1".into(),
        is_unfinished: true,
    };
    let captured =
        project.engine.capture_run(&caller("ada"), project.path(), Some(""), "pytest -q", &begun);
    assert_eq!(captured.expect("looks"), None);
    let run = capture(&project, "", None, PYTEST).expect("is a run");
    assert_eq!((run.command.as_str(), run.has_failed()), ("pytest -q", false));
    report_passed(&project).expect("is evidence");
}

#[test]
fn a_run_that_was_cut_off_has_not_passed() {
    let project = project();
    let outcome = ToolResult { exit_code: None, output: CARGO.into(), is_unfinished: true };
    let captured = project.engine.capture_run(
        &caller("ada"),
        project.path(),
        Some(""),
        "cargo test --workspace",
        &outcome,
    );
    assert_eq!(captured.expect("looks"), None);
}

#[test]
fn a_run_outside_the_project_or_of_no_test_is_told_at_once() {
    let project = project();
    let elsewhere = capture(&project, "cd /other && pytest", Some(0), PYTEST)
        .expect("is a run")
        .notice()
        .expect("a notice");
    assert!(elsewhere.contains("outside the project"), "{elsewhere}");
    let none = capture(&project, "pytest -k nothing", Some(5), "===== no tests ran in 0.01s =====")
        .expect("is a run")
        .notice();
    assert!(none.expect("a notice").contains("it ran no test"));
    assert!(report_passed(&project).is_err());
    assert_eq!(capture(&project, "pytest", Some(0), PYTEST).expect("is a run").notice(), None);
}

#[test]
fn a_word_is_refused_where_runs_are_seen_and_the_command_is_named() {
    let project = project();
    let word = || EvidenceInput {
        command: Some("pytest -q".into()),
        exit_code: Some(0),
        output: Some("3 passed in 0.1s".into()),
        ..EvidenceInput::default()
    };
    project.engine.note_post_tool_use().expect("notes");
    let refused =
        report(&project, word(), &ReportContext::default()).expect_err("a word").to_string();
    assert!(
        refused.contains("Do instead: run `pytest -q` in this session (its result is recorded by the hook), then report again."),
        "{refused}"
    );
    assert!(
        refused.starts_with("Blocked: ")
            && refused.contains(" Why: ")
            && refused.contains(" If you must: "),
        "{refused}"
    );
    assert!(refused.split_whitespace().count() <= 60, "{refused}");
    capture(&project, "pytest -q", Some(0), PYTEST).expect("is a run");
    let by = report(&project, word(), &ReportContext::default())
        .expect("is seen now")
        .feature
        .verified_by
        .expect("says by what");
    assert_eq!((by.source, by.tests.map(|tests| tests.passed)), (EvidenceSource::Seen, Some(4)));
}

#[test]
fn a_word_is_enough_without_a_hook_and_says_that_it_is_one() {
    let project = project();
    let word = EvidenceInput {
        command: Some("pytest -q".into()),
        exit_code: Some(0),
        output: Some(PYTEST.into()),
        ..EvidenceInput::default()
    };
    let feature = report(&project, word, &ReportContext::default()).expect("is told").feature;
    assert_eq!(feature.standing(), "tested (told: 4 passed, `pytest -q`)");
}

#[test]
fn changed_tests_are_noted_on_the_feature() {
    let project = project();
    capture(&project, "pytest -q", Some(0), PYTEST).expect("is a run");
    let context = ReportContext {
        tests_changed: Some("1 test removed (test_login)"),
        ..ReportContext::default()
    };
    let outcome = report(&project, EvidenceInput::default(), &context).expect("passes");
    assert_eq!(outcome.notes, ["1 test removed (test_login)"]);
    let list: Value = serde_json::from_slice(
        &std::fs::read(project.path().join(".twining/features.json")).expect("reads"),
    )
    .expect("is JSON");
    let by = &list["features"][0]["verified_by"];
    assert_eq!(
        (by["source"].as_str(), by["note"].as_str()),
        (Some("seen"), Some("1 test removed (test_login)"))
    );
}

#[test]
fn ci_is_believed_for_a_commit_that_head_builds_on() {
    let project = project();
    project.write("config.yml", "workflow: {tested_needs: ci}\n");
    capture(&project, "pytest -q", Some(0), PYTEST).expect("is a run");
    assert!(
        report_passed(&project)
            .expect_err("only seen")
            .to_string()
            .contains("`twining verify --ci` decides")
    );
    std::fs::write(
        project.path().join("ci.json"),
        r#"{"head": "abcdef1234567890", "findings": [], "evidence": [{"feature": "F1", "source": "ci", "tests": 3}]}"#,
    )
    .expect("writes");
    let ci = || EvidenceInput { ci_report: Some("ci.json".into()), ..EvidenceInput::default() };
    let elsewhere = |_: &str| false;
    let context = ReportContext { is_ancestor: Some(&elsewhere), ..ReportContext::default() };
    assert_eq!(
        report(&project, ci(), &context).expect_err("of another branch").code(),
        "INVALID_INPUT"
    );
    let here = |commit: &str| commit == "abcdef1234567890";
    let context = ReportContext { is_ancestor: Some(&here), ..ReportContext::default() };
    let by = report(&project, ci(), &context)
        .expect("is proven")
        .feature
        .verified_by
        .expect("says by what");
    assert_eq!(
        (by.source, by.tests.map(|tests| tests.passed), by.note.as_deref()),
        (EvidenceSource::Ci, Some(3), Some("at commit abcdef123456…"))
    );
}

#[test]
fn secrets_on_a_line_are_not_recorded() {
    let project = project();
    let run = capture(
        &project,
        "API_TOKEN=ghp_abcdefghijklmnopqrstuvwxyz0123456789 pytest",
        Some(0),
        PYTEST,
    )
    .expect("is a run");
    assert!(!run.command.contains("ghp_abc"), "{}", run.command);
}
