//! Hooks as hosts call them: runs that are captured, sessions that go on and are
//! let go, what slipped through, what others hold.

use std::fs;
use twining_testcases::each;

use crate::common::hooked::{LIST, agent_ran, answer, commit, git, pre_commit, start, write};
use crate::common::{Project, Ran, hooked};
use serde_json::{Value, json};

fn project() -> Project {
    let project = Project::new();
    fs::create_dir_all(project.path().join(".twining")).expect("makes a folder");
    fs::create_dir_all(project.path().join("src")).expect("makes a folder");
    project
}

fn hook(project: &Project, event: &str, told: Value) -> Ran {
    hook_of(project, &["hook", event], told)
}

fn hook_of(project: &Project, words: &[&str], mut told: Value) -> Ran {
    if told.get("session_id").is_none() {
        told["session_id"] = json!("s-1");
    }
    told["cwd"] = json!(project.path());
    project.run_with(words, &told.to_string())
}

fn context(ran: &Ran) -> String {
    answer(ran)["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
}

fn decision(ran: &Ran) -> Value {
    answer(ran)["hookSpecificOutput"]["permissionDecision"].clone()
}

fn ran_tests(project: &Project, command: &str, response: &Value) -> Ran {
    begun(project, command);
    hook(
        project,
        "PostToolUse",
        json!({"tool_name": "Bash", "tool_input": {"command": command}, "tool_response": response}),
    )
}

/// The host asks before it runs a command.
fn begun(project: &Project, command: &str) {
    let asked = hook(
        project,
        "PreToolUse",
        json!({"tool_name": "Bash", "tool_input": {"command": command}}),
    );
    assert_eq!(decision(&asked), Value::Null, "{command}: {asked:?}");
}

fn mark_tested(project: &Project) -> Ran {
    let edit = json!({"file_path": LIST, "old_string": "\"tested\":false", "new_string": "\"tested\":true"});
    hook(project, "PreToolUse", json!({"tool_name": "Edit", "tool_input": edit}))
}

fn one_feature(project: &Project) {
    write(
        project,
        LIST,
        r#"{"features":[{"id":"F1","status":"completed","tested":false,"files":["src/a.rs"]}]}"#,
    );
    write(project, "src/a.rs", "fn a() {}\n");
}

#[test]
fn a_run_that_the_host_saw_is_evidence() {
    let project = project();
    one_feature(&project);
    assert_eq!(decision(&mark_tested(&project)), "deny");
    let ran = ran_tests(
        &project,
        "cargo test",
        &json!({"stdout": "test result: ok. 3 passed; 0 failed", "stderr": "", "interrupted": false}),
    );
    assert_eq!(answer(&ran), Value::Null);
    assert_eq!(decision(&mark_tested(&project)), Value::Null);
    // What changes afterwards was not tested.
    write(&project, "src/a.rs", "fn a() { todo!() }\n");
    assert_eq!(decision(&mark_tested(&project)), "deny");
    let own = fs::read_dir(project.path().join(".twining/local"))
        .expect("a folder")
        .filter_map(Result::ok);
    let runs = own
        .map(|entry| entry.path().join("runs.jsonl"))
        .find(|path| path.is_file())
        .expect("is remembered");
    let runs = fs::read_to_string(runs).expect("reads");
    let run: Value = serde_json::from_str(runs.lines().next().expect("a line")).expect("JSON");
    assert_eq!(
        (run["source"].as_str(), run["exit_code"].as_i64(), run["tests"]["passed"].as_u64()),
        (Some("seen"), Some(0), Some(3)),
        "{run}"
    );
    assert!(run["tree"]["src/a.rs"]["hash"].is_string(), "{run}");
}

#[test]
fn a_run_of_no_tests_is_no_evidence_and_said_at_once() {
    let project = project();
    one_feature(&project);
    let none = json!({"stdout": "test result: ok. 0 passed; 0 failed; 0 ignored; 9 filtered out"});
    assert!(context(&ran_tests(&project, "cargo test", &none)).contains("ran no test"));
    assert_eq!(decision(&mark_tested(&project)), "deny");
}

#[test]
fn a_command_that_shows_no_counts_or_only_prints_them_is_no_evidence() {
    let passed = "test result: ok. 3 passed; 0 failed";
    each(
        [
            ("pytest -q", ""),
            ("npm test", "> x@1 test\n> echo ok\n\nok\n"),
            ("make test", "done"),
            ("./gradlew test", "BUILD SUCCESSFUL in 2s"),
            ("cat log", passed),
            ("echo 'test result: ok. 3 passed; 0 failed'", passed),
        ],
        |(command, printed)| {
            let project = project();
            one_feature(&project);
            assert_eq!(
                answer(&ran_tests(&project, command, &json!({"stdout": printed, "stderr": ""}))),
                Value::Null,
                "{command}"
            );
            assert_eq!(decision(&mark_tested(&project)), "deny", "{command}");
        },
    );
}

#[test]
fn a_run_in_another_project_is_no_evidence_and_said_at_once() {
    let ok = json!({"stdout": "test result: ok. 5 passed; 0 failed; 0 ignored"});
    let elsewhere = tempfile::tempdir().expect("a temporary directory");
    let there = elsewhere.path().display();
    each(
        [
            format!("cd {there} && cargo test"),
            format!("cargo test --manifest-path {there}/Cargo.toml"),
            format!("make -C {there} test"),
        ],
        |command| {
            let project = project();
            one_feature(&project);
            let told = context(&ran_tests(&project, &command, &ok));
            assert!(told.contains("outside the project"), "{command}: {told}");
            assert_eq!(decision(&mark_tested(&project)), "deny", "{command}");
        },
    );
    for command in ["cd src && cargo test", "cd \"$(git rev-parse --show-toplevel)\" && cargo test"]
    {
        let project = project();
        one_feature(&project);
        ran_tests(&project, command, &ok);
        assert_eq!(decision(&mark_tested(&project)), Value::Null, "{command}");
    }
}

#[test]
fn a_reported_run_of_another_folder_is_no_evidence_either() {
    let project = project();
    one_feature(&project);
    let report = |command: &str| {
        project.run(&[
            "report",
            "F1",
            "--role",
            "tester",
            "--outcome",
            "passed",
            "--command",
            command,
            "--exit-code",
            "0",
            "--tests-run",
            "3",
            "--tests-passed",
            "3",
        ])
    };
    let refused = report("cd /elsewhere && cargo test");
    assert!(refused.code != 0 && refused.stderr.contains("outside the project"), "{refused:?}");
    assert_eq!(report("cargo test").code, 0);
}

#[test]
fn a_coder_that_did_nothing_is_held_once_and_the_worker_is_one() {
    each(["coding-agent", "twining-worker", "twining:twining-worker"], |kind| {
        let project = project();
        let agent = json!({"agent_id": "a1", "agent_type": kind});
        let returns = |more: Value| {
            let mut event = agent.clone();
            event
                .as_object_mut()
                .expect("fields")
                .extend(more.as_object().expect("fields").clone());
            answer(&hook(&project, "SubagentStop", event))["decision"].clone()
        };
        hook(&project, "SubagentStart", agent.clone());
        assert_eq!(returns(json!({})), "block", "{kind}");
        assert_eq!(returns(json!({})), Value::Null, "{kind}: once");
    });
}

#[test]
fn a_coder_that_wrote_a_file_or_a_record_may_go() {
    each(
        [
            ("Write", json!({"file_path": "src/a.rs", "content": "x"})),
            ("mcp__twining__twining_post", json!({"summary": "x"})),
        ],
        |(tool, input)| {
            let project = project();
            let agent = json!({"agent_id": "a1", "agent_type": "twining-worker"});
            hook(&project, "SubagentStart", agent.clone());
            let mut call = agent.clone();
            (call["tool_name"], call["tool_input"]) = (json!(tool), input);
            hook(&project, "PostToolUse", call);
            assert_eq!(answer(&hook(&project, "SubagentStop", agent)), Value::Null, "{tool}");
        },
    );
}

#[test]
fn some_lines_of_a_log_may_be_read() {
    let project = project();
    let read = |input: Value| {
        context(&hook(&project, "PreToolUse", json!({"tool_name": "Read", "tool_input": input})))
    };
    assert!(read(json!({"file_path": "logs/app.log"})).contains("read-logs-with-tools"));
    assert!(
        read(json!({"file_path": "logs/app.log", "limit": 100_000}))
            .contains("read-logs-with-tools")
    );
    assert_eq!(read(json!({"file_path": "logs/app.log", "limit": 50})), "");
    assert_eq!(read(json!({"file_path": "logs/app.log", "offset": 900})), "");
}

#[test]
fn a_failed_run_is_remembered_as_failed() {
    let project = project();
    one_feature(&project);
    let failed = json!({"tool_name": "Bash", "tool_input": {"command": "cargo test"}, "error": "Exit code 101\ntest result: FAILED. 2 passed; 1 failed"});
    begun(&project, "cargo test");
    assert_eq!(hook(&project, "PostToolUseFailure", failed).code, 0);
    let denied = answer(&mark_tested(&project));
    let reason = denied["hookSpecificOutput"]["permissionDecisionReason"]
        .as_str()
        .expect("a reason")
        .to_owned();
    assert!(reason.contains("failed"), "{reason}");
}

#[test]
fn other_hosts_runs_count_too() {
    let project = project();
    one_feature(&project);
    let told = json!({"tool_name": "run_shell_command", "tool_input": {"command": "pytest"}, "tool_response": {"llmContent": "3 passed in 0.1s\nExit Code: 0"}});
    let asked = json!({"tool_name": "run_shell_command", "tool_input": {"command": "pytest"}});
    assert_eq!(hook_of(&project, &["hook", "--agent", "gemini", "BeforeTool"], asked).code, 0);
    assert_eq!(hook_of(&project, &["hook", "--agent", "gemini", "AfterTool"], told).code, 0);
    assert_eq!(decision(&mark_tested(&project)), Value::Null);
}

#[test]
fn what_a_compaction_takes_away_is_given_back_once() {
    let project = project();
    one_feature(&project);
    hook(&project, "SessionStart", json!({"source": "startup"}));
    project.json(&["post", "need", "somebody must rotate the keys"]);
    project.decide("use sqlite", "src/");
    assert_eq!(answer(&hook(&project, "PreCompact", json!({"trigger": "auto"}))), Value::Null);
    let told = context(&hook(&project, "SessionStart", json!({"source": "compact"})));
    each(
        [
            "before the conversation was compacted",
            "test F1",
            "rotate the keys",
            "use sqlite",
            "never an instruction",
        ],
        |part| {
            assert!(told.contains(part), "{part}: {told}");
        },
    );
    assert!(
        !context(&hook(&project, "SessionStart", json!({"source": "resume"})))
            .contains("compacted"),
        "once is enough"
    );
}

#[test]
fn a_subagent_is_told_its_role() {
    let project = project();
    project.json(&["post", "warning", "the cache lies"]);
    let told = context(&hook(
        &project,
        "SubagentStart",
        json!({"agent_id": "a1", "agent_type": "tester-agent"}),
    ));
    assert!(
        told.contains("Your role in this project is coach") && told.contains("the cache lies"),
        "{told}"
    );
    let other = context(&hook(
        &project,
        "SubagentStart",
        json!({"agent_id": "a1", "agent_type": "Explore"}),
    ));
    assert!(!other.contains("Your role") && other.contains("the cache lies"), "{other}");
}

fn auto(project: &Project) {
    write(project, ".twining/config.yml", "workflow: {auto: true, tested_needs: told}\n");
}

fn stop(project: &Project, active: bool) -> Value {
    answer(&hook(project, "Stop", json!({"stop_hook_active": active})))
}

fn reason(answer: &Value) -> &str {
    assert_eq!(answer["decision"], "block", "{answer}");
    answer["reason"].as_str().expect("a reason")
}

fn report(project: &Project, feature: &str, role: &str, outcome: &str) {
    let mut given =
        json!({"feature": feature, "role": role, "outcome": outcome, "summary": "because"});
    if outcome == "passed" {
        given["evidence"] = json!({"command": "npm test", "exit_code": 0, "output": "Tests:       4 passed, 4 total"});
    }
    let ran = project.run_with(&["report", "--json-input", "-"], &given.to_string());
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn the_loop_runs_by_itself_from_an_empty_project_to_the_end() {
    let project = project();
    auto(&project);
    // No list: somebody breaks the work down.
    let begun = answer(&hook(&project, "SessionStart", json!({"source": "startup"})));
    let go = begun["hookSpecificOutput"]["initialUserMessage"]
        .as_str()
        .expect("something to begin with");
    assert!(go.contains("initialize"), "{go}");
    // Hosts that send no initial user message get it in the brief.
    let told = begun["hookSpecificOutput"]["additionalContext"].as_str().expect("a brief");
    assert!(told.contains("Next step of the feature loop: initialize (there is no feature list yet), in the role initializer"), "{told}");
    for id in ["A", "B"] {
        project.json(&["features", "add", id, "--description", "a feature"]);
    }
    // Pending features: code. Finished code: test. Passed: the next feature.
    let begun = answer(&hook(&project, "SessionStart", json!({"source": "startup"})));
    assert!(
        begun["hookSpecificOutput"]["initialUserMessage"]
            .as_str()
            .expect("a step")
            .contains("code A"),
        "{begun}"
    );
    assert!(reason(&stop(&project, false)).contains("code A"));
    report(&project, "A", "coder", "completed");
    assert!(
        reason(&stop(&project, true)).contains("test A"),
        "progress was made, so it goes on although it was held"
    );
    report(&project, "A", "tester", "passed");
    assert!(reason(&stop(&project, true)).contains("code B"));
    // Failed once: resumed. Failed twice: blocked, and nothing is left.
    report(&project, "B", "coder", "completed");
    report(&project, "B", "tester", "failed");
    assert!(reason(&stop(&project, true)).contains("resume B attempt 2"));
    report(&project, "B", "coder", "completed");
    report(&project, "B", "tester", "failed");
    let let_go = stop(&project, true);
    assert!(let_go.get("decision").is_none(), "{let_go}");
    assert!(let_go["systemMessage"].as_str().expect("a notice").contains("blocked"), "{let_go}");
    // A person reopens it, and it ends well.
    report(&project, "B", "coder", "reopened");
    report(&project, "B", "coder", "completed");
    report(&project, "B", "tester", "passed");
    let done = stop(&project, true);
    assert!(
        done.get("decision").is_none()
            && done["systemMessage"].as_str().expect("a notice").contains("done"),
        "{done}"
    );
}

#[test]
fn a_loop_that_gets_nowhere_lets_go() {
    let project = project();
    auto(&project);
    project.json(&["features", "add", "A", "--description", "a feature"]);
    assert!(reason(&stop(&project, false)).contains("code A"));
    assert!(
        stop(&project, true).get("decision").is_none(),
        "the host says that it was held, and nothing came of it"
    );
    for _ in 0..3 {
        assert!(stop(&project, false).get("decision").is_none(), "and not again for the same step");
    }
    assert_eq!(project.json(&["status"])["unanswered_questions"], 1, "asked once");
}

#[test]
fn without_auto_nobody_is_driven() {
    let project = project();
    project.json(&["features", "add", "A", "--description", "a feature"]);
    assert_eq!(stop(&project, false), Value::Null);
    let begun = answer(&hook(&project, "SessionStart", json!({"source": "startup"})));
    assert!(begun["hookSpecificOutput"].get("initialUserMessage").is_none());
    assert!(
        begun["hookSpecificOutput"]["additionalContext"]
            .as_str()
            .expect("a brief")
            .contains("code A"),
        "{begun}"
    );
}

#[test]
fn a_policy_made_milder_by_a_script_is_told_at_the_end_and_at_the_commit() {
    let project = hooked::project();
    write(
        &project,
        ".twining/policy.yml",
        "guards:\n  - {id: no-push, tools: [Bash], when: {command: git push}, say: no}\n",
    );
    commit(&project, "a guard");
    start(&project, "s-1");
    write(&project, ".twining/policy.yml", "guards: []\n");
    agent_ran(&project, "true");
    let task = hook(&project, "TaskCompleted", json!({"task_id": "1", "task_subject": "x"}));
    assert!(task.code == 0 && task.stdout.contains("`no-push`"), "{task:?}");
    assert_eq!(hooked::stop(&project), Value::Null, "told once");
    git(&project, &["add", "-A"]);
    let told = pre_commit(&project);
    assert!(
        told.code == 0
            && told.stderr.contains("[policy-only-grows]")
            && told.stderr.contains("`no-push`"),
        "{told:?}"
    );
}

#[test]
fn a_policy_that_a_merge_broke_is_told_and_stops_nobody() {
    let project = project();
    let guard = "  - {id: no-push, tools: [Bash], when: {command: git push}, say: no}\n";
    write(
        &project,
        ".twining/policy.yml",
        &format!("guards:\n<<<<<<< HEAD\n{guard}=======\n>>>>>>> theirs\n"),
    );
    let begun = context(&hook(&project, "SessionStart", json!({"source": "startup"})));
    assert!(
        begun.contains(
            ".twining/policy.yml:2:1: this cannot be read: unresolved git merge conflict"
        ),
        "{begun}"
    );
    let call = |tool: &str, input: Value| {
        hook(&project, "PreToolUse", json!({"tool_name": tool, "tool_input": input}))
    };
    assert_eq!(
        decision(&call("Write", json!({"file_path": "src/a.rs", "content": "x"}))),
        Value::Null,
        "work goes on"
    );
    assert_eq!(
        decision(&call("Bash", json!({"command": "git checkout --ours src/a.rs"}))),
        Value::Null
    );
    assert_eq!(
        decision(&call("Write", json!({"file_path": ".twining/blackboard.jsonl", "content": "x"}))),
        "deny",
        "as built in"
    );

    // `status` reports the same.
    let status = project.json(&["status"]);
    assert_eq!(
        (&status["unreadable"][0]["file"], &status["unreadable"][0]["line"]),
        (&json!("policy.yml"), &json!(2)),
        "{status}"
    );
    assert!(
        status["summary"].as_str().is_some_and(|told| told.starts_with("Needs attention")),
        "{status}"
    );
    let listed = project.json(&["guard", "list"]);
    let mistake = &listed["mistakes"][0];
    assert_eq!(
        (&mistake["file"], &mistake["line"]),
        (&json!(".twining/policy.yml"), &json!(2)),
        "{listed}"
    );
    let doctor = project.run(&["doctor", "--json"]);
    assert!(doctor.code == 3 && doctor.stdout.contains(".twining/policy.yml:2:1"), "{doctor:?}");

    let mended = format!("guards:\n{guard}");
    assert_eq!(
        decision(&call("Write", json!({"file_path": ".twining/policy.yml", "content": mended}))),
        Value::Null
    );
    write(&project, ".twining/policy.yml", &mended);
    assert_eq!(decision(&call("Bash", json!({"command": "git push"}))), "deny");
}

#[test]
fn what_another_works_on_is_left_alone() {
    let project = project();
    project.json(&["claim", "src/auth", "--reason", "rewriting tokens", "--agent", "alice"]);
    let mut claims: Value = serde_json::from_str(
        &fs::read_to_string(project.path().join(".twining/local/claims.json")).expect("is there"),
    )
    .expect("JSON");
    claims["claims"][0]["session_id"] = json!("s-alice");
    write(&project, ".twining/local/claims.json", &claims.to_string());
    let edit = |session: &str| {
        let told = json!({"session_id": session, "tool_name": "Write", "tool_input": {"file_path": "src/auth/jwt.rs", "content": "x"}});
        hook(&project, "PreToolUse", told)
    };
    let denied = answer(&edit("s-1"));
    let reason =
        denied["hookSpecificOutput"]["permissionDecisionReason"].as_str().expect("is denied");
    assert!(reason.contains("alice") && reason.contains("rewriting tokens"), "{reason}");
    assert_eq!(decision(&edit("s-alice")), Value::Null);
    // A claim that ends in a thousand years was made by nobody.
    claims["claims"][0]["until"] = json!("2999-01-01T00:00:00.000Z");
    write(&project, ".twining/local/claims.json", &claims.to_string());
    assert_eq!(decision(&edit("s-1")), Value::Null);
}

#[test]
fn a_host_that_tells_no_session_may_edit_what_its_own_agent_claimed() {
    let project = project();
    let edit = || {
        let told = json!({"tool_name": "Write", "tool_input": {"file_path": "src/auth/jwt.rs", "content": "x"}});
        decision(&hook(&project, "PreToolUse", told))
    };
    let claim = json!({"paths": ["src/auth"], "reason": "rewriting tokens"});
    // This test is the host: it starts the server and the hook.
    let mut ours = project.server(&[]);
    ours.initialize();
    let claimed = ours.call("twining_claim", &claim);
    assert_eq!(edit(), Value::Null, "{claimed}");
    ours.call("twining_claim", &json!({"paths": ["src/auth"], "action": "release"}));
    // Behind a shell that waits for it, it is another host's.
    let mut shell = std::process::Command::new("sh");
    let server = project.command(&["mcp"]);
    shell
        .args(["-c", "\"$0\" \"$@\"; exit", server.get_program().to_str().expect("a path"), "mcp"])
        .current_dir(project.path());
    shell.envs(server.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut theirs = crate::common::Server::start(shell);
    theirs.initialize();
    let claimed = theirs.call("twining_claim", &claim);
    assert_eq!(edit(), "deny", "{claimed}");
}

#[test]
fn what_a_decision_rules_out_is_refused_until_a_person_overrides_it() {
    let project = project();
    let uses = |name: &str| {
        let content = format!("use {name}::Utc;\n");
        hook(
            &project,
            "PreToolUse",
            json!({"tool_name": "Write", "tool_input": {"file_path": "src/time.rs", "content": content}}),
        )
    };
    assert_eq!(decision(&uses("chrono")), Value::Null);
    let draft = json!({"summary": "dates are jiff's", "domain": "architecture", "scope": "src/", "context": "c", "rationale": "r",
        "constraints": ["must_not_use: chrono"]});
    let decided = project.run_with(&["decide", "--json-input", "-", "--json"], &draft.to_string());
    assert_eq!(decided.code, 0, "{decided:?}");
    let id = serde_json::from_str::<Value>(&decided.stdout).expect("JSON")["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let denied = answer(&uses("chrono"));
    let reason = denied["hookSpecificOutput"]["permissionDecisionReason"]
        .as_str()
        .expect("is denied")
        .to_owned();
    assert!(
        reason.contains(&id) && reason.contains("dates are jiff's") && reason.contains("`chrono`"),
        "{reason}"
    );
    assert_eq!(decision(&uses("jiff")), Value::Null);
    write(
        &project,
        "src/n.ipynb",
        r#"{"cells": [{"id": "a", "cell_type": "code", "source": ["x = 1"]}]}"#,
    );
    let cell = |source: &str, id: &str| {
        let input = json!({"notebook_path": "src/n.ipynb", "cell_id": id, "new_source": source});
        decision(&hook(
            &project,
            "PreToolUse",
            json!({"tool_name": "NotebookEdit", "tool_input": input}),
        ))
    };
    assert_eq!(
        (cell("import chrono\n", "a"), cell("y = 2", "a"), cell("import chrono\n", "nobody")),
        (json!("deny"), Value::Null, json!("deny"))
    );
    // s18: an agent's word lifts no guard.
    assert_eq!(
        project.run(&["override", &id, "--overridden-by", "alice", "--reason", "she said so"]).code,
        0
    );
    assert_eq!(decision(&uses("chrono")), "deny");
}

/// Rules chrono out in the whole project; the file of the decision.
fn without_chrono(project: &Project) -> String {
    let draft = json!({"summary": "no chrono", "domain": "architecture", "scope": "project", "context": "c", "rationale": "r",
        "constraints": ["must_not_use: chrono"]});
    let decided = project.run_with(&["decide", "--json-input", "-", "--json"], &draft.to_string());
    let id = serde_json::from_str::<Value>(&decided.stdout).expect("JSON")["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    format!(".twining/decisions/{id}.json")
}

#[test]
fn s19_a_status_edited_by_hand_lifts_no_guard() {
    let project = project();
    let file = without_chrono(&project);
    each(["overridden", "superseded"], |status| {
        let text = fs::read_to_string(project.path().join(&file)).expect("is there");
        let text = text
            .replace("\"active\"", &format!("\"{status}\""))
            .replace("\"overridden\"", &format!("\"{status}\""));
        fs::remove_file(project.path().join(&file)).expect("goes");
        write(&project, &file, &text);
        let told = json!({"tool_name": "Write", "tool_input": {"file_path": "a.rs", "content": "use chrono::Utc;\n"}});
        assert_eq!(decision(&hook(&project, "PreToolUse", told)), "deny", "{status}");
    });
}

#[test]
fn reviewed_knowledge_rules_out_too() {
    let project = project();
    let node = |id: &str, path: &str| {
        format!(
            "{id} [type=component level=architecture status=current description=d path=\"{path}\"];"
        )
    };
    let graph = format!(
        "digraph {{ {} {} api -> legacy [relation=must_not_use note=\"since 2.0\"]; }}\n",
        node("api", "src/api"),
        node("legacy", "src/legacy")
    );
    write(&project, ".twining/knowledge.dot", &graph);
    let told = |path: &str| json!({"tool_name": "Write", "tool_input": {"file_path": path, "content": "import { x } from '../legacy/db'\n"}});
    assert_eq!(decision(&hook(&project, "PreToolUse", told("src/api/a.ts"))), "deny");
    assert_eq!(decision(&hook(&project, "PreToolUse", told("src/ui/a.ts"))), Value::Null);
}

#[test]
fn an_agent_cannot_write_the_user_s_settings() {
    let project = project();
    each(["policy.yml", "allowed-by-person/0.json"], |name| {
        let path = project.path().join("../settings-of-nobody/twining").join(name);
        let told =
            json!({"tool_name": "Write", "tool_input": {"file_path": path, "content": "{}"}});
        assert_eq!(decision(&hook(&project, "PreToolUse", told)), "deny", "{name}");
    });
}

fn wired(project: &Project, path: &str, settings: &Value) {
    write(project, path, &settings.to_string());
}

fn guard_test(project: &Project) -> (i32, Value) {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_twining")).parent().expect("a folder");
    let mut command = project.command(&["guard", "test", "--json"]);
    let ran = command.env("PATH", program).output().expect("runs");
    (ran.status.code().unwrap_or(-1), serde_json::from_slice(&ran.stdout).expect("JSON"))
}

#[test]
fn a_hook_that_does_not_fire_is_found_out() {
    let project = project();
    write(
        &project,
        ".twining/policy.yml",
        "guards:\n  - id: no-push\n    tools: [Bash]\n    when: {command: git push}\n    say: no\n    examples: {blocks: [git push], allows: [git pull]}\n",
    );
    let claude = |matcher: &str, command: &str| json!({"hooks": {"PreToolUse": [{"matcher": matcher, "hooks": [{"type": "command", "command": command, "timeout": 5, "onFailure": "block"}]}]}});
    wired(
        &project,
        ".claude/settings.json",
        &claude("Write|Edit|Bash|Read", "twining hook --agent claude PreToolUse"),
    );
    wired(
        &project,
        ".gemini/settings.json",
        &json!({"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "twining hook --agent gemini BeforeTool"}]}]}}),
    );
    wired(
        &project,
        ".cursor/hooks.json",
        &json!({"version": 1, "hooks": {"preToolUse": [{"command": "twining hook --agent cursor preToolUse", "failClosed": true}]}}),
    );
    wired(
        &project,
        ".github/hooks/twining.json",
        &json!({"version": 1, "hooks": {"preToolUse": [{"type": "command", "bash": "twining hook --agent copilot preToolUse"}]}}),
    );
    wired(&project, ".codex/hooks.json", &claude("", "twining hook --agent codex PreToolUse"));
    let (code, told) = guard_test(&project);
    assert_eq!(code, 0, "{told}");
    let hosts: Vec<&str> = told["wiring"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|host| host["host"].as_str())
        .collect();
    assert_eq!(hosts, ["claude", "codex", "gemini", "cursor", "copilot"]);
    assert!(
        told["wiring"]
            .as_array()
            .expect("a list")
            .iter()
            .all(|host| host["tried"].as_u64() > Some(5)),
        "{told}"
    );

    each(
        [
            (
                "Write|Edit",
                "twining hook --agent claude PreToolUse",
                "no hook is called before `Bash`",
            ),
            ("*", "twining hook --agent claude Stop", "did not fire"),
            ("*", "no-such-twining hook PreToolUse", "is not a plain"),
            ("*", "twining hook PreToolUse; touch ran-it", "needs a shell"),
        ],
        |(matcher, command, says)| {
            wired(&project, ".claude/settings.json", &claude(matcher, command));
            let (code, told) = guard_test(&project);
            assert_eq!(code, 3, "{command}: {told}");
            assert!(told["wiring"][0]["problems"].to_string().contains(says), "{command}: {told}");
        },
    );
    assert!(
        !project.path().join("ran-it").exists(),
        "s9: nothing of a cloned repository is executed"
    );
    // The shape that hosts ignore without a word.
    wired(
        &project,
        ".claude/settings.json",
        &json!({"hooks": {"PreToolUse": {"type": "command", "command": "twining hook PreToolUse"}}}),
    );
    let (code, told) = guard_test(&project);
    assert_eq!(code, 3);
    assert!(
        told["wiring"][0]["problems"]
            .to_string()
            .contains("nothing calls twining before a tool runs"),
        "{told}"
    );
}

#[test]
fn s9_a_program_that_comes_with_the_project_is_not_run() {
    let project = project();
    let program = project.path().join("twining");
    write(&project, "twining", "#!/bin/sh\ntouch ran-it\n");
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("may run");
    let settings = json!({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": program, "args": ["hook", "PreToolUse"]}]}]}});
    wired(&project, ".claude/settings.json", &settings);
    let (code, told) = guard_test(&project);
    assert_eq!(code, 3);
    assert!(told["wiring"][0]["problems"].to_string().contains("is inside the project"), "{told}");
    assert!(!project.path().join("ran-it").exists());
}
