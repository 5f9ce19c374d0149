//! What a tool call waits for: a process that starts, reads the event, asks every
//! guard and is gone. And what a hostile call costs.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::Outcome;
use crate::measure::Bench;
use crate::table::{Sample, Table, below, number, thousands};
use crate::{say, show};

const TIMES: usize = 300;
const HOSTILE_TIMES: usize = 20;
const GUARDS: usize = 1_000;
const FEATURES: usize = 4_000;
const TRACES: usize = 100_000;
const LIST: &str = ".claude/progress/feature-list.json";

/// Ordinary calls, then hostile ones.
pub fn guards(bench: &mut Bench) -> Outcome<()> {
    say("guards: a policy, a list and traces");
    let project = bench.stores.empty()?;
    let cache = bench.stores.empty()?;
    prepare(project.path())?;
    let call = |told: &Value| once(&bench.twining, project.path(), cache.path(), told);
    let tool = |name: &str, input: Value| json!({"session_id": "figures", "cwd": project.path(), "tool_name": name, "tool_input": input});

    let mut table = Table::new("PreToolUse, one cold process each", ["call", "p50 ms", "p95 ms", "p99 ms", "max ms", "goals"]);
    let calls = [
        ("a command", tool("Bash", json!({"command": "git status && cargo test --workspace 2>&1 | tail -20"}))),
        ("a file written", tool("Write", json!({"file_path": "src/new.rs", "content": "fn main() {}\n"}))),
        ("a file edited", tool("Edit", json!({"file_path": "src/main.rs", "old_string": "a", "new_string": "b"}))),
        ("refused", tool("Write", json!({"file_path": "src/module7/a.rs", "content": "x"}))),
        ("the list edited", tool("Edit", json!({"file_path": LIST, "old_string": "src/m17.rs", "new_string": "src/m18.rs"}))),
        (
            "a feature called tested",
            tool("Edit", json!({"file_path": LIST, "old_string": "\"tested\":false", "new_string": "\"tested\":true"})),
        ),
    ];
    for (name, told) in &calls {
        say(&format!("guards: {name}"));
        // The first compiles the policy and keeps it.
        call(told)?;
        let mut took = Sample::default();
        for _ in 0..TIMES {
            took.push(call(told)?);
        }
        let [p50, p95, p99, max] = [took.p50(), took.percentile(95.0), took.percentile(99.0), took.max()];
        let goals = [below("p50", p50, 5.0), below("p99", p99, 20.0)].join(", ");
        table.row([(*name).to_owned(), number(p50), number(p95), number(p99), number(max), goals]);
    }
    table.note(format!(
        "From spawn to exit, {TIMES} times each after one that is not counted; {} guards, {} features in {} KiB, {} traces.",
        thousands(GUARDS),
        thousands(FEATURES),
        std::fs::metadata(project.path().join(LIST))?.len() / 1024,
        thousands(TRACES)
    ));
    show(&table);

    let mut table = Table::new("hostile calls, one cold process each", ["call", "p50 ms", "max ms", "goals"]);
    let shell = |line: String| tool("Bash", json!({ "command": line }));
    let calls = [
        ("a command line of 1 MB", shell(format!("echo {}", "a".repeat(1 << 20)))),
        ("10,000 parentheses", shell("(".repeat(10_000))),
        ("10,000 `$(`", shell(format!("echo {}", "$(".repeat(10_000)))),
        ("100 KB of pipes", shell("a|".repeat(50_000))),
        ("100 KB of quotes", shell("'\"".repeat(50_000))),
        ("100 KB of here-documents", shell("<<A ".repeat(25_000))),
        ("1 MB of `$(`", shell("$(".repeat(1 << 19))),
        ("1 MB of quotes", shell("'\"".repeat(1 << 19))),
        ("100,000 redirections", shell(">a ".repeat(100_000))),
        ("40,000 redirections", shell(">a ".repeat(40_000))),
        ("14,000 files written", shell((0..14_000).map(|at| format!(">a{at} ")).collect())),
        ("100,000 `;`", shell("a;".repeat(100_000))),
        ("60,000 `;`", shell("a;".repeat(60_000))),
        (
            "`bash -c` 12 deep",
            shell((0..12).fold("echo > x".to_owned(), |line, _| format!("bash -c {}", json!(line))).chars().take(100_000).collect()),
        ),
        ("6,000 `bash -c`", shell("bash -c 'echo > x';".repeat(6_000))),
        ("30,000 `| sh`", shell(format!("echo {}{}", "'a b' ".repeat(200), "|sh".repeat(30_000)))),
        ("100 KB of `case`", shell("case ".repeat(20_000))),
        ("variables that double 60 times", shell(doubling())),
        ("100 KB of stars", shell(format!("echo > {}", "*".repeat(100_000)))),
        ("100 KB of braces", shell(format!("echo {}", "{a,b}".repeat(20_000)))),
        ("a file of 8 MB", tool("Write", json!({"file_path": "src/big.txt", "content": "x".repeat(8 << 20)}))),
        (
            "a patch of 20,000 parts",
            tool(
                "apply_patch",
                json!({"input": format!("*** Begin Patch\n{}", format!("*** Update File: {LIST}\n@@\n-a\n+b\n").repeat(20_000))}),
            ),
        ),
        (
            "20,000 edits of the list",
            tool("MultiEdit", json!({"file_path": LIST, "edits": vec![json!({"old_string": "F1", "new_string": "F1"}); 20_000]})),
        ),
        ("a list nested 100,000 deep", tool("Write", json!({"file_path": LIST, "content": "[".repeat(100_000)}))),
    ];
    for (name, told) in &calls {
        say(&format!("guards: {name}"));
        call(told)?;
        let mut took = Sample::default();
        for _ in 0..HOSTILE_TIMES {
            took.push(call(told)?);
        }
        table.row([(*name).to_owned(), number(took.p50()), number(took.max()), below("p50", took.p50(), 50.0)]);
    }
    table.note(format!("From spawn to exit, {HOSTILE_TIMES} times each; an answer, or each guard's `on_error`."));
    show(&table);
    Ok(())
}

/// Each variable is the one before four times.
fn doubling() -> String {
    let steps: String = (0..60).map(|at| format!("v{}=$v{at}$v{at}$v{at}$v{at};", at + 1)).collect();
    format!("v0=xxxxxxxx;{steps}echo > $v60")
}

fn prepare(project: &Path) -> Outcome<()> {
    for folder in [".git", ".twining", ".claude/progress", "src"] {
        std::fs::create_dir_all(project.join(folder))?;
    }
    let mut policy = "guards:\n".to_owned();
    for at in 0..GUARDS {
        writeln!(
            policy,
            "  - id: rule-{at}\n    tools: [Bash, Write, Edit]\n    paths: [\"src/module{at}/**\"]\n    say: module {at} is frozen\n    next_step: ask its owner\n    examples:\n      blocks: [{{path: src/module{at}/a.rs}}]\n      allows: [git status]"
        )?;
    }
    std::fs::write(project.join(".twining/policy.yml"), policy)?;
    let features: Vec<Value> = (0..FEATURES)
        .map(|at| json!({"id": format!("F{at}"), "description": "x".repeat(160), "status": "pending", "tested": at % 2 == 0, "files": [format!("src/m{at}.rs")]}))
        .collect();
    std::fs::write(project.join(LIST), json!({ "features": features }).to_string())?;
    std::fs::write(project.join("src/main.rs"), "fn a() {}\n")?;
    let mut traces = String::new();
    for at in 0..TRACES {
        writeln!(
            traces,
            r#"{{"id":"01TRACE{at:019}","timestamp":"2026-01-01T00:00:00.000Z","type":"violation","context":{{"agent":"main"}},"event":{{"what_happened":"rule-{} stopped a write","why":"frozen"}},"source":"enforcement_hook","blocked":true}}"#,
            at % GUARDS
        )?;
    }
    Ok(std::fs::write(project.join(".twining/traces.jsonl"), traces)?)
}

fn once(twining: &Path, project: &Path, cache: &Path, told: &Value) -> Outcome<Duration> {
    let text = told.to_string();
    let started = Instant::now();
    let mut child = Command::new(twining)
        .args(["hook", "PreToolUse"])
        .current_dir(project)
        .env_remove("TWINING_PROJECT")
        .env_remove("CLAUDE_PROJECT_DIR")
        .env("XDG_CACHE_HOME", cache)
        .env("XDG_CONFIG_HOME", cache)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(text.as_bytes())?;
    }
    let status = child.wait()?;
    let took = started.elapsed();
    if status.success() { Ok(took) } else { Err(format!("the hook ended with {status}").into()) }
}
