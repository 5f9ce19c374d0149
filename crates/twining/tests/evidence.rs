//! What a host saw of tests, and what becomes evidence of it.

mod common;

use std::fs;

use common::hooked::{LIST, answer, hook, write};
use common::{Project, Ran};
use serde_json::{Value, json};

fn project() -> Project {
    let project = Project::new();
    fs::create_dir_all(project.path().join(".twining")).expect("makes a folder");
    write(&project, LIST, r#"{"features":[{"id":"F1","status":"completed","tested":false,"files":["src/a.rs"]}]}"#);
    write(&project, "src/a.rs", "fn a() {}\n");
    project
}

/// A command as a host runs it: asked about, then told of. What the host gives the agent to read.
fn ran(project: &Project, command: &str, ended: i32, printed: &str) -> String {
    let call = json!({"tool_name": "Bash", "tool_input": {"command": command}});
    let asked = answer(&hook(project, "PreToolUse", call.clone()));
    assert_eq!(asked["hookSpecificOutput"]["permissionDecision"], Value::Null, "{command}: {asked}");
    let mut told = call;
    let event = if ended == 0 {
        told["tool_response"] = json!({"stdout": printed, "stderr": "", "interrupted": false});
        "PostToolUse"
    } else {
        told["error"] = json!(format!("Exit code {ended}\n{printed}"));
        "PostToolUseFailure"
    };
    answer(&hook(project, event, told))["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
}

/// Why the feature may not be called tested; nothing if it may.
fn denied(project: &Project) -> String {
    let edit = json!({"file_path": LIST, "old_string": "\"tested\":false", "new_string": "\"tested\":true"});
    let answered = answer(&hook(project, "PreToolUse", json!({"tool_name": "Edit", "tool_input": edit})));
    answered["hookSpecificOutput"]["permissionDecisionReason"].as_str().unwrap_or_default().to_owned()
}

fn report(project: &Project, outcome: &str, more: &[&str]) -> Ran {
    let words = [&["report", "F1", "--role", "tester", "--outcome", outcome, "--summary", "as seen"], more].concat();
    project.run(&words)
}

const PASSED: &str = "test result: ok. 3 passed; 0 failed; 0 ignored";
const FAILED: &str = "test result: FAILED. 2 passed; 1 failed; 0 ignored";

#[test]
fn the_newest_run_of_the_tests_counts() {
    let project = project();
    ran(&project, "cargo test", 0, PASSED);
    assert_eq!(denied(&project), "");
    ran(&project, "cargo test --all-features", 101, FAILED);
    let why = denied(&project);
    assert!(
        why.contains("1 of 3 tests failed in `cargo test --all-features`")
            && why.contains("run `cargo test --all-features` again, alone: its last run failed (1 of 3)"),
        "{why}"
    );
    let refused = report(&project, "passed", &[]);
    assert!(refused.code != 0 && refused.stderr.contains("that `cargo test` passed before shows nothing"), "{refused:?}");
    // Saying that they passed changes nothing that the host saw.
    let word = ["--command", "cargo test", "--exit-code", "0", "--tests-run", "3", "--tests-passed", "3"];
    let refused = report(&project, "passed", &word);
    assert!(refused.code != 0 && refused.stderr.contains("as the host saw"), "{refused:?}");
    // A failure counts however it came to be known.
    ran(&project, "cargo test", 0, PASSED);
    assert_eq!(denied(&project), "");
    let unasked = json!({"tool_name": "Bash", "tool_input": {"command": "cargo test -q"}, "error": format!("Exit code 101\n{FAILED}")});
    answer(&hook(&project, "PostToolUseFailure", unasked));
    assert!(denied(&project).contains("1 of 3 tests failed in `cargo test -q`"));
    // Tests of something else say nothing about these.
    ran(&project, "cargo test", 0, PASSED);
    ran(&project, "cd web && npm test", 1, "Tests: 1 failed, 1 total");
    ran(&project, "pytest -q", 1, "1 failed in 0.1s");
    assert_eq!(denied(&project), "");
    assert_eq!(report(&project, "passed", &[]).code, 0);
}

#[test]
fn a_script_that_only_talks_of_tests_is_no_evidence() {
    let counted = "Tests:       5 passed, 5 total";
    for (file, text, command) in [
        ("package.json", r#"{"scripts":{"test":"echo 'Tests:       5 passed, 5 total'"}}"#, "npm test"),
        ("package.json", r#"{"scripts":{"test":"cat out.txt"}}"#, "npm run test"),
        ("web/package.json", r#"{"scripts":{"test":"echo 'Tests: 5 passed'"}}"#, "cd web && npm test"),
        ("Makefile", "test:\n\t@echo 'Tests:       5 passed, 5 total'\n", "make test"),
        ("Makefile", "test:\n\t@printf 'Tests: 5 passed'\n", "bash -c 'make test'"),
        ("justfile", "test:\n  @echo 'Tests: 5 passed'\n", "just test"),
    ] {
        let project = project();
        write(&project, file, text);
        let told = ran(&project, command, 0, counted);
        assert!(told.contains("tests nothing") || told.contains("count of its own"), "{command}: {told}");
        let why = denied(&project);
        assert!(why.contains("tests nothing") || why.contains("count of its own"), "{command}: {why}");
        let word = ["--command", command, "--exit-code", "0", "--tests-run", "5", "--tests-passed", "5"];
        assert!(report(&project, "passed", &word).code != 0, "{command}");
    }
    let project = project();
    write(&project, "t.sh", "echo 'Tests: 5 passed'\n");
    let word = ["--command", "sh t.sh", "--exit-code", "0", "--tests-run", "5", "--tests-passed", "5"];
    let refused = report(&project, "passed", &word);
    assert!(refused.code != 0 && refused.stderr.contains("count of its own"), "{refused:?}");
    assert!(ran(&project, "python -m unittest discover -s docs", 0, "Ran 0 tests in 0.000s\n\nOK").contains("no test"));
    assert!(denied(&project).contains("no test"));
}

#[test]
fn a_file_of_the_project_in_the_runner_s_place_is_no_evidence() {
    for (file, command) in [
        ("pytest.py", "python3 -m pytest"),
        ("app/pytest.py", "cd app && python -m pytest -q"),
        ("unittest/__init__.py", "python -m unittest"),
        ("fake/pytest.py", "PYTHONPATH=fake pytest"),
    ] {
        let project = project();
        write(&project, file, &"print('3 passed in 0.01s')\n".repeat(20_000));
        let told = ran(&project, command, 0, "3 passed in 0.01s");
        assert!(told.contains(&format!("runs `{file}` of the project in the runner's place")), "{command}: {told}");
        assert!(denied(&project).contains("in the runner's place"), "{command}");
        let word = ["--command", command, "--exit-code", "0", "--tests-run", "3", "--tests-passed", "3"];
        assert!(report(&project, "passed", &word).code != 0, "{command}");
    }
    let project = project();
    write(&project, "tests/test_a.py", "def test_a(): pass\n");
    assert_eq!(ran(&project, "python3 -m pytest", 0, "3 passed in 0.01s"), "");
    assert_eq!(denied(&project), "");
}

#[test]
fn a_script_that_runs_the_tests_is_evidence() {
    for (file, text, command) in [
        ("package.json", r#"{"scripts":{"pretest":"tsc","test":"echo unit tests && jest"}}"#, "npm test"),
        ("package.json", r#"{"scripts":{"test":"node tests/all.js"}}"#, "npm test"),
        ("Makefile", "PY=python3\ntest: lint\n\t@echo testing\n\t$(PY) -m pytest\nlint:\n\truff .\n", "make test"),
        ("justfile", "test *ARGS:\n    cargo test {{ARGS}}\n", "just test"),
    ] {
        let project = project();
        write(&project, file, text);
        assert_eq!(ran(&project, command, 0, "Tests:       5 passed, 5 total"), "", "{command}");
        assert_eq!(denied(&project), "", "{command}");
    }
    for command in ["bash -c \"cargo test\"", "sh -lc 'cargo test'", "env X=1 cargo test", "timeout 60 cargo test", "time cargo test"] {
        let project = project();
        ran(&project, command, 0, PASSED);
        assert_eq!(denied(&project), "", "{command}");
    }
}

fn init_git(project: &Project) {
    let made = std::process::Command::new("git").args(["init", "-q"]).current_dir(project.path()).status();
    assert!(made.is_ok_and(|status| status.success()));
}

/// A coder that ran one command, which did what `does` does.
fn coder(project: &Project, command: &str, ended: i32, does: impl Fn()) -> Value {
    let agent = json!({"agent_id": "a1", "agent_type": "coder"});
    answer(&hook(project, "SubagentStart", agent.clone()));
    let mut call = agent.clone();
    (call["tool_name"], call["tool_input"]) = (json!("Bash"), json!({"command": command}));
    answer(&hook(project, "PreToolUse", call.clone()));
    does();
    let event = if ended == 0 { "PostToolUse" } else { "PostToolUseFailure" };
    (call["tool_response"], call["error"]) = (json!({"stdout": ""}), json!("Exit code 1"));
    answer(&hook(project, event, call));
    answer(&hook(project, "SubagentStop", agent))
}

#[test]
fn a_coder_whose_script_wrote_the_files_may_return() {
    for has_git in [true, false] {
        for command in ["sh gen.sh", "git apply x.diff", "patch -p1 < x.diff", "make gen", "python3 gen.py"] {
            let project = project();
            write(&project, "x.diff", "--- a/src/a.rs\n");
            if has_git {
                init_git(&project);
            }
            assert_eq!(coder(&project, command, 0, || write(&project, "src/a.rs", "fn b() {}\n")), Value::Null, "{command}");
        }
    }
    let project = project();
    assert_eq!(coder(&project, "sh gen.sh", 1, || write(&project, "src/b.rs", "fn b() {}\n")), Value::Null);
}

#[test]
fn a_coder_whose_commands_changed_nothing_is_held() {
    for has_git in [true, false] {
        let project = project();
        if has_git {
            init_git(&project);
            write(&project, ".gitignore", "out/\n");
        }
        let writes_aside = || {
            write(&project, "target/debug/x", "built\n");
            write(&project, if has_git { "out/log" } else { "node_modules/log" }, "said\n");
        };
        let held = coder(&project, "sh look.sh", 0, writes_aside);
        assert_eq!(held["decision"], "block", "{held}");
        assert!(held["reason"].as_str().is_some_and(|why| why.contains("changed no file")), "{held}");
    }
}

#[test]
fn half_a_character_refuses_a_call_and_holds_nobody_elsewhere() {
    let project = project();
    let tell = |event: &str, rest: &str| {
        let told = format!(r#"{{"session_id":"s-1","cwd":{},{rest}}}"#, json!(project.path()));
        project.run_with(&["hook", event], &told)
    };
    let call = r#""tool_name":"Write","tool_input":{"file_path":"src/b.rs","content":"a\ud800b"}"#;
    let refused = tell("PreToolUse", call);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains("half a character (`\\ud800` alone)"), "{refused:?}");
    // A host cut the output of a run short, and the agent's last words.
    let command = r#""tool_name":"Bash","tool_input":{"command":"cargo test"}"#;
    assert_eq!(tell("PreToolUse", command).code, 0);
    let printed = format!(r#"{command},"tool_response":{{"stdout":"\udc00\n{PASSED}"}}"#);
    assert_eq!(tell("PostToolUse", &printed).code, 0);
    assert_eq!(denied(&project), "");
    let stopped = tell("Stop", r#""last_assistant_message":"done \ud83d""#);
    assert_eq!(answer(&stopped), Value::Null);
    let whole = tell("PreToolUse", r#""tool_name":"Write","tool_input":{"file_path":"src/b.rs","content":"\ud83d\ude00"}"#);
    assert_eq!(answer(&whole), Value::Null);
}

#[test]
fn a_feature_that_was_found_to_work_stays_so_when_the_next_one_breaks_the_tests() {
    for by_hand in [true, false] {
        let project = project();
        init_git(&project);
        let git = |words: &[&str]| {
            let identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
            let ran = std::process::Command::new("git").args(identity).args(words).current_dir(project.path()).status();
            assert!(ran.is_ok_and(|status| status.success()), "{words:?}");
        };
        git(&["add", "-A"]);
        git(&["commit", "-qm", "one"]);
        answer(&hook(&project, "SessionStart", json!({})));
        ran(&project, "cargo test", 0, PASSED);
        if by_hand {
            assert_eq!(denied(&project), "");
            let list = fs::read_to_string(project.path().join(LIST)).expect("is there").replace("\"tested\":false", "\"tested\":true");
            write(&project, LIST, &list);
            let edit = json!({"file_path": LIST, "old_string": "\"tested\":false", "new_string": "\"tested\":true"});
            answer(&hook(&project, "PostToolUse", json!({"tool_name": "Edit", "tool_input": edit, "tool_response": {}})));
        } else {
            assert_eq!(report(&project, "passed", &[]).code, 0);
        }
        // On with the next one: a test that is not met yet, and a change.
        write(&project, "src/a.rs", "fn a() {}\nfn b() {}\n");
        ran(&project, "cargo test", 101, FAILED);
        assert_eq!(answer(&hook(&project, "Stop", json!({}))), Value::Null, "by hand: {by_hand}");
        git(&["add", "-A"]);
        let committed = project.run(&["hook", "--agent", "git", "pre-commit"]);
        assert_eq!(committed.code, 0, "by hand: {by_hand}: {committed:?}");
    }
    // Marked behind our back after they failed, it is held.
    let project = project();
    answer(&hook(&project, "SessionStart", json!({})));
    ran(&project, "cargo test", 0, PASSED);
    ran(&project, "cargo test", 101, FAILED);
    let list = fs::read_to_string(project.path().join(LIST)).expect("is there").replace("\"tested\":false", "\"tested\":true");
    write(&project, LIST, &list);
    let held = answer(&hook(&project, "Stop", json!({})));
    assert!(held["reason"].as_str().is_some_and(|why| why.contains("1 of 3 tests failed")), "{held}");
}

#[test]
fn runners_are_understood_by_their_own_counts() {
    let project = project();
    for (command, printed) in [
        ("bazel test //...", "//a:t  PASSED in 0.3s\n\nExecuted 1 out of 1 test: 1 test passes.\n"),
        ("npx playwright test", "Running 3 tests using 1 worker\n\n  3 passed (2.1s)\n"),
        ("flutter test", "00:01 +3: All tests passed!\n"),
        ("bats tests", "1..2\nok 1 a\nok 2 b\n"),
        ("npx cypress run", "    ✔  All specs passed!       00:01        3        3        -        -        -\n"),
        ("tox", "py312: commands[0]> pytest\n3 passed in 0.02s\n  py312: OK (0.50 seconds)\n  congratulations :)\n"),
    ] {
        write(&project, "src/a.rs", &format!("// {command}\n"));
        assert_ne!(denied(&project), "", "{command}");
        let told = ran(&project, command, 0, printed);
        assert_eq!(denied(&project), "", "{command}: {told}");
    }
    write(&project, "src/a.rs", "fn b() {}\n");
    let told = ran(&project, "./gradlew test", 0, "> Task :test NO-SOURCE\n\nBUILD SUCCESSFUL in 1s\n");
    assert!(told.contains("ran no test"), "{told}");
    assert_ne!(denied(&project), "");
}
