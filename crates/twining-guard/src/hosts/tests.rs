//! Each host's protocol: what it sends, and the reply it expects.

use serde_json::{Value, json};
use twining_testcases::each;

use super::adapter::HostAdapter;
use super::{HookEvent, HookReply, HostAnswer};
use crate::event::{EventKind, ToolAction};

fn host(name: &str) -> &'static HostAdapter {
    HostAdapter::named(Some(name)).expect("a host")
}

fn parsed(name: &str, event: &str, json: &Value) -> HookEvent {
    let host = host(name);
    let kind = host.event_kind(event).unwrap_or_else(|| panic!("{name} has {event}"));
    (host.read)(event, kind, json).into_event(kind, "/elsewhere")
}

fn message(name: &str, event: &str, reply: &HookReply) -> HostAnswer {
    let host = host(name);
    host.answer(reply, host.event_kind(event).expect("an event"), event)
}

#[test]
fn a_write_is_the_same_event_whoever_sends_it() {
    let claude = json!({"session_id": "s", "cwd": "/p", "hook_event_name": "PreToolUse", "tool_name": "Write",
        "tool_input": {"file_path": "/p/a.rs", "content": "x"}, "tool_use_id": "toolu_1", "agent_id": "a1", "agent_type": "coder"});
    let gemini = json!({"session_id": "s", "cwd": "/p", "hook_event_name": "BeforeTool", "timestamp": "2026-11-15T10:00:00Z",
        "tool_name": "write_file", "tool_input": {"file_path": "/p/a.rs", "content": "x"}});
    let cursor = json!({"conversation_id": "s", "generation_id": "g", "hook_event_name": "preToolUse", "workspace_roots": ["/p"],
        "tool_name": "Write", "tool_input": {"file_path": "/p/a.rs", "content": "x"}, "tool_use_id": "t"});
    let copilot = json!({"timestamp": 1, "sessionId": "s", "cwd": "/p", "toolName": "create",
        "toolArgs": "{\"path\":\"/p/a.rs\",\"file_text\":\"x\"}"});
    each(
        [
            ("claude", "PreToolUse", &claude),
            ("codex", "PreToolUse", &claude),
            ("gemini", "BeforeTool", &gemini),
            ("cursor", "preToolUse", &cursor),
            ("copilot", "preToolUse", &copilot),
        ],
        |(name, event, json)| {
            let parsed = parsed(name, event, json);
            assert_eq!(
                parsed.event.action,
                ToolAction::Write { path: "/p/a.rs".into(), content: "x".into() },
                "{name}"
            );
            assert_eq!(
                (parsed.event.cwd.as_str(), parsed.session.as_str(), parsed.event.kind),
                ("/p", "s", EventKind::PreToolUse),
                "{name}"
            );
        },
    );
    assert_eq!(parsed("claude", "PreToolUse", &claude).event.agent_id.as_deref(), Some("a1"));
}

#[test]
fn a_command_and_how_it_ended_are_found_in_every_host_s_answer() {
    let command = |name: &str| json!({"tool_name": name, "tool_input": {"command": "cargo test"}, "cwd": "/p"});
    let with = |mut json: Value, key: &str, value: Value| {
        json[key] = value;
        json
    };
    let ok = "test result: ok. 3 passed; 0 failed";
    each(
        [
            (
                "claude",
                "PostToolUse",
                with(
                    command("Bash"),
                    "tool_response",
                    json!({"stdout": ok, "stderr": "", "interrupted": false}),
                ),
                Some(0),
            ),
            (
                "claude",
                "PostToolUse",
                with(command("Bash"), "tool_response", json!({"stdout": ok, "interrupted": true})),
                None,
            ),
            (
                "claude",
                "PostToolUse",
                with(
                    command("Bash"),
                    "tool_response",
                    json!({"stdout": ok, "backgroundTaskId": "b1"}),
                ),
                None,
            ),
            (
                "claude",
                "PostToolUseFailure",
                with(command("Bash"), "error", json!(format!("Exit code 101\n{ok}"))),
                Some(101),
            ),
            (
                "codex",
                "PostToolUse",
                with(
                    command("Bash"),
                    "tool_response",
                    json!(format!("Exit code: 0\nWall time: 1s\nOutput:\n{ok}")),
                ),
                Some(0),
            ),
            (
                "codex",
                "PostToolUse",
                with(
                    command("Bash"),
                    "tool_response",
                    json!({"output": ok, "metadata": {"exit_code": 1}}),
                ),
                Some(1),
            ),
            ("codex", "PostToolUse", with(command("Bash"), "tool_response", json!(ok)), None),
            (
                "gemini",
                "AfterTool",
                with(
                    command("run_shell_command"),
                    "tool_response",
                    json!({"llmContent": format!("Command: cargo test\nOutput: {ok}\nExit Code: 0")}),
                ),
                Some(0),
            ),
            (
                "cursor",
                "postToolUse",
                with(
                    command("Shell"),
                    "tool_output",
                    json!(json!({"exitCode": 0, "stdout": ok}).to_string()),
                ),
                Some(0),
            ),
            (
                "cursor",
                "postToolUseFailure",
                with(command("Shell"), "error_message", json!(ok)),
                Some(1),
            ),
            (
                "cursor",
                "afterShellExecution",
                json!({"command": "cargo test", "output": ok, "cwd": "/p"}),
                None,
            ),
            (
                "copilot",
                "postToolUse",
                json!({"toolName": "bash", "toolArgs": "{\"command\":\"cargo test\"}", "toolResult": {"resultType": "success", "textResultForLlm": ok}}),
                Some(0),
            ),
            (
                "copilot",
                "postToolUse",
                json!({"toolName": "bash", "toolArgs": {"command": "cargo test"}, "toolResult": {"resultType": "failure", "textResultForLlm": ok}}),
                Some(1),
            ),
        ],
        |(name, event, json, exit_code)| {
            let parsed = parsed(name, event, &json);
            assert_eq!(
                parsed.event.action,
                ToolAction::Shell("cargo test".into()),
                "{name} {event}"
            );
            let outcome = parsed.result.unwrap_or_else(|| panic!("{name} {event}"));
            assert_eq!(outcome.exit_code, exit_code, "{name} {json}");
            assert!(outcome.output.contains(ok), "{name}: {outcome:?}");
        },
    );
}

#[test]
fn what_gemini_prints_behind_its_label_begins_a_line() {
    let message = "ok  \texample.com/x\t0.003s";
    each(
        [
            format!("Output: {message}\nExit Code: 0"),
            format!("Command: go test ./...\nDirectory: (root)\nOutput: {message}\nExit Code: 0"),
        ],
        |shown| {
            let json = json!({"tool_name": "run_shell_command", "tool_input": {"command": "go test ./..."}, "tool_response": {"llmContent": shown}, "cwd": "/p"});
            let outcome = parsed("gemini", "AfterTool", &json).result.expect("an outcome");
            assert!(
                outcome.output.lines().any(|line| line == message) && outcome.exit_code == Some(0),
                "{outcome:?}"
            );
        },
    );
}

#[test]
fn every_host_is_refused_in_its_own_words() {
    let deny = HookReply::Deny("no".into());
    let out = |name: &str, event: &str, reply: &HookReply| {
        message(name, event, reply).out.expect("an answer")
    };
    each(["claude", "codex"], |name| {
        let answer = out(name, "PreToolUse", &deny);
        assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "deny", "{name}");
        assert_eq!(answer["hookSpecificOutput"]["permissionDecisionReason"], "no", "{name}");
    });
    assert_eq!(out("gemini", "BeforeTool", &deny), json!({"decision": "deny", "reason": "no"}));
    assert_eq!(
        out("cursor", "preToolUse", &deny),
        json!({"permission": "deny", "user_message": "no", "agent_message": "no"})
    );
    assert_eq!(
        out("copilot", "preToolUse", &deny),
        json!({"permissionDecision": "deny", "permissionDecisionReason": "no"})
    );
}

#[test]
fn who_cannot_ask_is_told_no() {
    let ask = HookReply::Ask("why".into());
    let decision = |name: &str, event: &str, path: &str| {
        message(name, event, &ask).out.expect("answers").pointer(path).cloned()
    };
    assert_eq!(
        decision("claude", "PreToolUse", "/hookSpecificOutput/permissionDecision"),
        Some(json!("ask"))
    );
    assert_eq!(
        decision("codex", "PreToolUse", "/hookSpecificOutput/permissionDecision"),
        Some(json!("deny"))
    );
    assert_eq!(decision("gemini", "BeforeTool", "/decision"), Some(json!("deny")));
    assert_eq!(decision("cursor", "preToolUse", "/permission"), Some(json!("ask")));
    assert_eq!(decision("copilot", "preToolUse", "/permissionDecision"), Some(json!("ask")));
}

#[test]
fn an_agent_is_held_in_its_host_s_words() {
    let hold = HookReply::Hold("more".into());
    assert_eq!(
        message("claude", "Stop", &hold).out,
        Some(json!({"decision": "block", "reason": "more"}))
    );
    assert_eq!(
        message("codex", "SubagentStop", &hold).out,
        Some(json!({"decision": "block", "reason": "more"}))
    );
    assert_eq!(
        message("gemini", "AfterAgent", &hold).out,
        Some(json!({"decision": "block", "reason": "more"}))
    );
    assert_eq!(message("cursor", "stop", &hold).out, Some(json!({"followup_message": "more"})));
    assert_eq!(
        message("copilot", "agentStop", &hold).out,
        Some(json!({"decision": "block", "reason": "more"}))
    );
    let task = message("claude", "TaskCompleted", &hold);
    assert_eq!((task.code, task.err.as_deref()), (2, Some("more")), "the gate that knows no JSON");
}

#[test]
fn a_failure_of_ours_lets_everything_through() {
    each(
        [
            ("claude", "PreToolUse", "Stop"),
            ("codex", "PreToolUse", "Stop"),
            ("gemini", "BeforeTool", "AfterAgent"),
            ("cursor", "beforeShellExecution", "stop"),
            ("copilot", "preToolUse", "agentStop"),
        ],
        |(name, before, stop)| {
            for event in [before, stop] {
                let answer = message(name, event, &HookReply::Failed("broken".into()));
                assert_eq!((answer.code, answer.out), (1, None), "{name}");
                assert!(answer.err.is_some_and(|err| err.contains("broken")), "{name}");
            }
        },
    );
}

#[test]
fn a_brief_is_given_where_the_host_takes_one_and_stays_under_its_cap() {
    let long = HookReply::Context("x".repeat(50_000));
    each(
        [
            ("claude", "SessionStart", "/hookSpecificOutput/additionalContext"),
            ("claude", "SubagentStart", "/hookSpecificOutput/additionalContext"),
            ("claude", "UserPromptSubmit", "/hookSpecificOutput/additionalContext"),
            ("codex", "SessionStart", "/hookSpecificOutput/additionalContext"),
            ("gemini", "SessionStart", "/hookSpecificOutput/additionalContext"),
            ("gemini", "BeforeAgent", "/hookSpecificOutput/additionalContext"),
            ("cursor", "sessionStart", "/additional_context"),
            ("copilot", "sessionStart", "/additionalContext"),
        ],
        |(name, event, path)| {
            let out = message(name, event, &long).out.expect("answers");
            let context = out
                .pointer(path)
                .and_then(Value::as_str)
                .unwrap_or_else(|| panic!("{name} {event}: {out}"));
            assert!(context.chars().count() < 10_000, "{name} {event}");
        },
    );
    assert_eq!(message("claude", "SessionEnd", &long), HostAnswer::default(), "nobody reads it");
}

#[test]
fn who_goes_on_because_of_us_says_so_in_its_own_way() {
    assert!(parsed("claude", "Stop", &json!({"stop_hook_active": true})).stop_hook_active);
    assert!(parsed("gemini", "AfterAgent", &json!({"stop_hook_active": true})).stop_hook_active);
    assert!(
        parsed("cursor", "stop", &json!({"status": "completed", "loop_count": 1})).stop_hook_active
    );
    assert!(
        !parsed("cursor", "stop", &json!({"status": "completed", "loop_count": 0}))
            .stop_hook_active
    );
}

#[test]
fn cursor_s_events_about_one_tool_are_that_tool() {
    let shell = parsed("cursor", "beforeShellExecution", &json!({"command": "rm x", "cwd": "/p"}));
    assert_eq!(shell.event.action, ToolAction::Shell("rm x".into()));
    let read =
        parsed("cursor", "beforeReadFile", &json!({"file_path": "/p/a.log", "content": "…"}));
    assert_eq!(read.event.action, ToolAction::Read("/p/a.log".into()));
    let server = parsed(
        "cursor",
        "beforeMCPExecution",
        &json!({"tool_name": "MCP:write_file", "tool_input": "{\"path\":\"/p/a\",\"content\":\"x\"}"}),
    );
    assert_eq!(server.event.action, ToolAction::Write { path: "/p/a".into(), content: "x".into() });
}

#[test]
fn what_another_server_calls_write_need_not_write_a_file() {
    let claude = |tool: &str, input: Value| {
        parsed(
            "claude",
            "PreToolUse",
            &json!({"tool_name": tool, "tool_input": input, "cwd": "/p"}),
        )
    };
    each(
        [
            ("mcp__linear__create", json!({"title": "x"})),
            ("mcp__memory__write", json!({"text": "hello"})),
            ("mcp__clipboard__write", json!({"content": "x"})),
            ("mcp__sheets__write", json!({"spreadsheet": "x", "values": [[1]]})),
            ("mcp__linear__edit", json!({"id": "X-1", "title": "x"})),
            ("mcp__x__replace", json!({"a": "b"})),
            ("mcp__x__multi_edit", json!({})),
        ],
        |(tool, input)| {
            assert_eq!(claude(tool, input).event.action, ToolAction::Nothing, "{tool}");
        },
    );
    for (tool, input) in [
        (
            "mcp__github__create_or_update_file",
            json!({"owner": "o", "repo": "r", "path": ".twining/policy.yml", "content": "x"}),
        ),
        (
            "mcp__gdrive__create_file",
            json!({"path": "a", "content": "x", "url": "https://example.com"}),
        ),
    ] {
        assert_eq!(
            claude(tool, input).event.action,
            ToolAction::Nothing,
            "{tool} writes elsewhere"
        );
    }
    assert_eq!(
        claude("mcp__fs__move_file", json!({"source": "a", "destination": "b"})).event.action,
        ToolAction::Touches(vec!["a".into(), "b".into()])
    );
    assert_eq!(
        claude("mcp__x__bash", json!({"script": "ls > a"})).event.action,
        ToolAction::Shell("ls > a".into())
    );
    // A call that lacks what it needs fails by itself, and is nothing to judge.
    assert_eq!(claude("Write", json!({"content": "x"})).event.action, ToolAction::Nothing);
}

#[test]
fn a_command_runs_in_the_directory_its_tool_is_given() {
    each(
        [
            ("codex", "PreToolUse", "Bash", "workdir", ".twining"),
            ("codex", "PreToolUse", "shell", "workdir", "/p/.twining"),
            ("gemini", "BeforeTool", "run_shell_command", "directory", ".twining"),
            ("gemini", "BeforeTool", "run_shell_command", "dir_path", "./.twining/"),
            ("cursor", "preToolUse", "Shell", "working_directory", "/p/.twining"),
            ("claude", "PreToolUse", "mcp__x__run_command", "cwd", "sub/../.twining"),
        ],
        |(name, event, tool, field, folder)| {
            let parsed = parsed(
                name,
                event,
                &json!({"cwd": "/p", "tool_name": tool, "tool_input": {"command": "ls", field: folder}}),
            );
            assert_eq!(
                (parsed.event.cwd.as_str(), parsed.cwd.as_str()),
                ("/p/.twining", "/p"),
                "{name} {field}"
            );
        },
    );
    // Not every folder is one to run in.
    let listed = parsed(
        "gemini",
        "BeforeTool",
        &json!({"cwd": "/p", "tool_name": "list_directory", "tool_input": {"dir_path": "sub"}}),
    );
    assert_eq!(listed.event.cwd, "/p");
}

#[test]
fn a_patch_and_a_line_are_found_however_they_are_handed_over() {
    let patch = "*** Begin Patch\n*** Delete File: a\n*** End Patch\n";
    let claude = |tool: &str, input: Value| {
        parsed("codex", "PreToolUse", &json!({"tool_name": tool, "tool_input": input})).event.action
    };
    assert_eq!(
        claude("shell", json!({"command": ["apply_patch", patch]})),
        ToolAction::Patch(patch.into())
    );
    assert_eq!(
        claude("mcp__x__exec", json!({"argv": ["sh", "-c", "echo > a"]})),
        ToolAction::Shell("echo > a".into())
    );
    assert_eq!(
        claude("mcp__x__run", json!({"command": "sh", "args": ["-c", "echo > a"]})),
        ToolAction::Shell("sh '-c' 'echo > a'".into())
    );
    let raw =
        parsed("copilot", "preToolUse", &json!({"toolName": "apply_patch", "toolArgs": patch}));
    assert_eq!(raw.event.action, ToolAction::Patch(patch.into()));

    let editor = |input: Value| {
        parsed(
            "copilot",
            "preToolUse",
            &json!({"toolName": "str_replace_editor", "toolArgs": input.to_string()}),
        )
    };
    assert_eq!(
        editor(json!({"command": "view", "path": "/p/a"})).event.action,
        ToolAction::Read("/p/a".into())
    );
    let made = editor(json!({"command": "create", "path": "a", "file_text": "x"})).event.action;
    assert_eq!(made, ToolAction::Write { path: "a".into(), content: "x".into() });
    assert_eq!(
        editor(json!({"command": "insert", "path": "a"})).event.action,
        ToolAction::Touches(vec!["a".into()])
    );

    let gemini = |tool: &str, input: Value| {
        parsed("gemini", "BeforeTool", &json!({"tool_name": tool, "tool_input": input}))
            .event
            .action
    };
    assert_eq!(
        gemini("read_file", json!({"absolute_path": "/p/a.log"})),
        ToolAction::Read("/p/a.log".into())
    );
    assert_eq!(
        gemini("read_many_files", json!({"paths": ["a", "logs/*.log"]})),
        ToolAction::ReadMany(vec!["a".into(), "logs/*.log".into()])
    );
}

#[test]
fn an_event_is_known_by_the_host_s_name_and_by_ours() {
    assert_eq!(host("gemini").event_kind("BeforeTool"), Some(EventKind::PreToolUse));
    assert_eq!(host("gemini").event_kind("PreToolUse"), Some(EventKind::PreToolUse));
    assert_eq!(
        host("copilot").event_kind("userPromptSubmitted"),
        Some(EventKind::UserPromptSubmit)
    );
    assert_eq!(host("claude").event_kind("BeforeTool"), None);
    assert_eq!(host("cursor").tool("Bash"), "Shell");
}

#[test]
fn a_sample_call_reads_as_what_it_stands_for() {
    each(super::adapter::HOSTS, |host| {
        let asked = host.sample(host.tool("Bash"), &json!({"command": "ls"}), "/p");
        let event = asked["hook_event_name"].as_str().unwrap_or("preToolUse");
        let parsed = parsed(host.name, event, &asked);
        assert_eq!(
            (parsed.event.action, parsed.event.cwd.as_str()),
            (ToolAction::Shell("ls".into()), "/p"),
            "{}",
            host.name
        );
    });
}
