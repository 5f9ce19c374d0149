//! What a tool call, the end of a turn, a commit and a pull request wait for: a
//! process that starts, compares and is gone. And what a hostile call costs.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::BenchResult;
use crate::latency::Bench;
use crate::store::StoreSize;
use crate::table::{FigureTable, LatencySample, below, number, thousands};
use crate::{log_progress, show};

const TIMES: usize = 200;
const HOSTILE_TIMES: usize = 20;
const PULL_REQUESTS: usize = 10;
const GUARDS: usize = 20;
const MANY_GUARDS: usize = 1_000;
const FEATURES: usize = 200;
const SOURCE_FILES: usize = 500;
const LIST: &str = ".claude/progress/feature-list.json";
/// Ten thousand records that a turn's end and a pull request compare.
const RECORDS: StoreSize =
    StoreSize { entries: 7_000, decisions: 3_000, entities: 500, relations: 1_000 };

/// Tool calls, turns, commits, pull requests; then hostile calls.
pub(crate) fn guards(bench: &mut Bench) -> BenchResult<()> {
    log_progress("guards: a repository with records, a policy and a list");
    let project = bench.stores.copy(RECORDS)?;
    let home = bench.stores.empty()?;
    prepare(project.path(), GUARDS)?;
    let twining = bench.twining.clone();
    let place = GuardBench { twining: &twining, project: project.path(), home: home.path() };
    let decide = [
        "decide",
        "--domain",
        "dates",
        "--scope",
        "src/",
        "--summary",
        "Use date-fns",
        "--context",
        "c",
        "--rationale",
        "moment is unmaintained",
        "--constraint",
        "must_not_use: moment",
    ];
    place.twining(&decide, None)?;
    place.git(&["init", "-q", "-b", "main"])?;
    place.git(&["add", "-A"])?;
    place.git(&["commit", "-q", "-m", "base"])?;

    tool_calls(&place, &format!("PreToolUse, one cold process each, {GUARDS} guards"))?;
    turns_and_commits(&place)?;
    pull_requests(&place)?;
    std::fs::write(project.path().join(".twining/policy.yml"), policy(MANY_GUARDS)?)?;
    tool_calls(&place, &format!("the same with {} guards", thousands(MANY_GUARDS)))?;
    hostile(&place)
}

/// Where everything is measured.
struct GuardBench<'a> {
    twining: &'a Path,
    project: &'a Path,
    home: &'a Path,
}

impl GuardBench<'_> {
    fn event(&self, more: Value) -> Value {
        let mut event = json!({"session_id": "figures", "cwd": self.project});
        if let (Some(event), Value::Object(more)) = (event.as_object_mut(), more) {
            event.extend(more);
        }
        event
    }

    #[expect(clippy::needless_pass_by_value, reason = "every caller writes the JSON in place")]
    fn tool(&self, name: &str, input: Value) -> Value {
        self.event(json!({"tool_name": name, "tool_input": input}))
    }

    fn hook(&self, event: &str, payload: &Value) -> BenchResult<Duration> {
        self.twining(&["hook", event], Some(&payload.to_string()))
    }

    /// Runs Twining: from spawn to exit.
    fn twining(&self, words: &[&str], input: Option<&str>) -> BenchResult<Duration> {
        let mut command = Command::new(self.twining);
        command
            .args(words)
            .current_dir(self.project)
            .env_remove("TWINING_PROJECT")
            .env_remove("CLAUDE_PROJECT_DIR");
        command.env("XDG_CACHE_HOME", self.home).env("XDG_CONFIG_HOME", self.home);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let started = Instant::now();
        let mut child = command.spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(input.unwrap_or_default().as_bytes())?;
        }
        let status = child.wait()?;
        let took = started.elapsed();
        if status.success() {
            Ok(took)
        } else {
            Err(format!("twining {} ended with {status}", words.join(" ")).into())
        }
    }

    fn git(&self, words: &[&str]) -> BenchResult<()> {
        let settings = [
            "-c",
            "user.name=figures",
            "-c",
            "user.email=figures@example.com",
            "-c",
            "core.hooksPath=/dev/null",
        ];
        let status = Command::new("git")
            .args(settings)
            .args(words)
            .current_dir(self.project)
            .stdout(Stdio::null())
            .status()?;
        if status.success() {
            Ok(())
        } else {
            Err(format!("git {} ended with {status}", words.join(" ")).into())
        }
    }

    fn write(&self, path: &str, text: &str) -> BenchResult<()> {
        Ok(std::fs::write(self.project.join(path), text)?)
    }
}

fn tool_calls(place: &GuardBench<'_>, title: &str) -> BenchResult<()> {
    let mut table =
        FigureTable::new(title, ["call", "p50 ms", "p95 ms", "p99 ms", "max ms", "goals"]);
    let calls = [
        ("a command", place.tool("Bash", json!({"command": "git status && cargo test --workspace 2>&1 | tail -20"}))),
        ("a file written", place.tool("Write", json!({"file_path": "src/new.ts", "content": "export {}\n"}))),
        ("a file edited", place.tool("Edit", json!({"file_path": "src/m1.ts", "old_string": "a", "new_string": "b"}))),
        ("refused: a decision's clause", place.tool("Write", json!({"file_path": "src/x.ts", "content": "import m from 'moment'\n"}))),
        ("refused: a record written", place.tool("Bash", json!({"command": "echo x >> .twining/blackboard.jsonl"}))),
        (
            "refused: a feature called tested",
            place.tool("Edit", json!({"file_path": LIST, "old_string": "\"tested\":false", "new_string": "\"tested\":true"})),
        ),
    ];
    for (name, payload) in &calls {
        log_progress(&format!("guards: {name}"));
        // The first tries the guards' examples, and keeps what came of it.
        place.hook("PreToolUse", payload)?;
        let mut took = LatencySample::default();
        for _ in 0..TIMES {
            took.push(place.hook("PreToolUse", payload)?);
        }
        let [p50, p95, p99, max] =
            [took.p50(), took.percentile(95.0), took.percentile(99.0), took.max()];
        table.row([
            (*name).to_owned(),
            number(p50),
            number(p95),
            number(p99),
            number(max),
            below("p50", p50, 4.0),
        ]);
    }
    table.note(format!("From spawn to exit, {TIMES} times each after one that is not counted; {RECORDS}, {FEATURES} features."));
    show(&table);
    Ok(())
}

fn turns_and_commits(place: &GuardBench<'_>) -> BenchResult<()> {
    let mut table = FigureTable::new(
        "the end of a turn and a commit, one cold process each",
        ["what", "p50 ms", "p95 ms", "max ms", "goals"],
    );
    let stop = place.event(json!({"stop_hook_active": false}));
    let mut measure =
        |name: &str, each: &mut dyn FnMut(usize) -> BenchResult<Duration>| -> BenchResult<()> {
            log_progress(&format!("guards: {name}"));
            each(0)?;
            let mut took = LatencySample::default();
            for at in 1..=TIMES / 4 {
                took.push(each(at)?);
            }
            table.row([
                name.to_owned(),
                number(took.p50()),
                number(took.percentile(95.0)),
                number(took.max()),
                below("p50", took.p50(), 30.0),
            ]);
            Ok(())
        };
    measure("Stop, nothing was done", &mut |_| place.hook("Stop", &stop))?;
    measure("Stop after three files changed", &mut |at| {
        for file in 1..=3 {
            place.write(&format!("src/m{file}.ts"), &format!("export const a = {at}\n"))?;
        }
        place.hook("PostToolUse", &place.tool("Bash", json!({"command": "node codemod.js"})))?;
        place.hook("Stop", &stop)
    })?;
    place.git(&["add", "-A"])?;
    measure("pre-commit, three files", &mut |_| {
        place.twining(&["hook", "--agent", "git", "pre-commit"], None)
    })?;
    table.note(format!(
        "From spawn to exit, {} times each after one that is not counted; {RECORDS}, {SOURCE_FILES} source files.",
        TIMES / 4
    ));
    show(&table);
    Ok(())
}

fn pull_requests(place: &GuardBench<'_>) -> BenchResult<()> {
    log_progress("guards: a pull request");
    place.git(&["checkout", "-q", "-b", "work"])?;
    for at in 0..SOURCE_FILES {
        place.write(&format!("src/m{at}.ts"), &format!("export const changed = {at}\n"))?;
    }
    for at in 0..20 {
        place.twining(&["post", "finding", &format!("finding number {at} of the work")], None)?;
    }
    place.git(&["add", "-A"])?;
    place.git(&["commit", "-q", "-m", "work"])?;
    let words = ["verify", "--ci", "--base", "main", "--head", "work"];
    let mut took = LatencySample::default();
    place.twining(&words, None)?;
    for _ in 0..PULL_REQUESTS {
        took.push(place.twining(&words, None)?);
    }
    let mut table = FigureTable::new("verify --ci", ["pull request", "p50 ms", "max ms", "goals"]);
    let what = format!("{SOURCE_FILES} files and 20 new records");
    table.row([what, number(took.p50()), number(took.max()), below("p50", took.p50(), 2_000.0)]);
    table.note(format!("From spawn to exit, {PULL_REQUESTS} times after one that is not counted; {RECORDS} in the base."));
    show(&table);
    Ok(())
}

fn hostile(place: &GuardBench<'_>) -> BenchResult<()> {
    let mut table = FigureTable::new(
        "hostile calls, one cold process each",
        ["call", "p50 ms", "max ms", "goals"],
    );
    let shell = |line: String| place.tool("Bash", json!({ "command": line }));
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
        ("a file of 8 MB", place.tool("Write", json!({"file_path": "src/big.txt", "content": "x".repeat(8 << 20)}))),
        (
            "a patch of 20,000 parts",
            place.tool(
                "apply_patch",
                json!({"input": format!("*** Begin Patch\n{}", format!("*** Update File: {LIST}\n@@\n-a\n+b\n").repeat(20_000))}),
            ),
        ),
        (
            "20,000 edits of the list",
            place.tool("MultiEdit", json!({"file_path": LIST, "edits": vec![json!({"old_string": "F1", "new_string": "F1"}); 20_000]})),
        ),
        ("a list nested 100,000 deep", place.tool("Write", json!({"file_path": LIST, "content": "[".repeat(100_000)}))),
    ];
    for (name, payload) in &calls {
        log_progress(&format!("guards: {name}"));
        place.hook("PreToolUse", payload)?;
        let mut took = LatencySample::default();
        for _ in 0..HOSTILE_TIMES {
            took.push(place.hook("PreToolUse", payload)?);
        }
        table.row([
            (*name).to_owned(),
            number(took.p50()),
            number(took.max()),
            below("p50", took.p50(), 50.0),
        ]);
    }
    table.note(format!(
        "From spawn to exit, {HOSTILE_TIMES} times each; answered, or let through as not readable."
    ));
    show(&table);
    Ok(())
}

/// Each variable is the one before four times.
fn doubling() -> String {
    let steps: String =
        (0..60).map(|at| format!("v{}=$v{at}$v{at}$v{at}$v{at};", at + 1)).collect();
    format!("v0=xxxxxxxx;{steps}echo > $v60")
}

fn policy(guards: usize) -> BenchResult<String> {
    let mut policy = "guards:\n".to_owned();
    for at in 0..guards {
        writeln!(
            policy,
            "  - id: rule-{at}\n    tools: [Bash, Write, Edit]\n    paths: [\"src/module{at}/**\"]\n    say: module {at} is frozen\n    next_step: ask its owner\n    examples:\n      blocks: [{{path: src/module{at}/a.rs}}]\n      allows: [git status]"
        )?;
    }
    Ok(policy)
}

fn prepare(project: &Path, guards: usize) -> BenchResult<()> {
    for folder in [".claude/progress", "src"] {
        std::fs::create_dir_all(project.join(folder))?;
    }
    std::fs::write(project.join(".gitignore"), ".twining/local/\n")?;
    std::fs::write(project.join(".twining/policy.yml"), policy(guards)?)?;
    let features: Vec<Value> = (0..FEATURES)
        .map(|at| json!({"id": format!("F{at}"), "description": "x".repeat(160), "status": if at % 2 == 0 { "tested" } else { "pending" }, "tested": at % 2 == 0, "files": [format!("src/m{at}.ts")]}))
        .collect();
    std::fs::write(project.join(LIST), json!({ "features": features }).to_string())?;
    for at in 0..SOURCE_FILES {
        std::fs::write(project.join(format!("src/m{at}.ts")), format!("export const a = {at}\n"))?;
    }
    Ok(())
}
