//! What it costs that records know their code: answers, hooks, a branch that is switched, a file
//! that changed.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::adoption::git;
use crate::client::{BenchClient, BenchResult};
use crate::latency::Bench;
use crate::table::{FigureTable, LatencySample, below, number, thousands};
use crate::{log_progress, show};

/// Files of the project, of which the first have a record each.
const FILES: usize = 10_000;
const ANCHORED: usize = 20;
/// Records on one file.
const ON_ONE_FILE: usize = 10;
const CALLS: usize = 200;
const HOOKS: usize = 100;
const COLD: usize = 20;
/// Functions of a file of about a megabyte.
const LARGE: usize = 6_000;
const CONFIG: &str = ".twining/config.yml";

/// Answers, hooks, a switch of branches and a large file.
pub(crate) fn code(bench: &mut Bench) -> BenchResult<()> {
    log_progress("code: a project of 10,000 files");
    let project = bench.stores.empty()?;
    let path = project.path();
    make_project(&bench.twining, path)?;
    let mut table =
        FigureTable::new("code: what it costs", ["what", "p50 ms", "p95 ms", "max ms", "goals"]);
    answers(&bench.twining, path, &mut table)?;
    hooks(&bench.twining, path, &mut table)?;
    changes(&bench.twining, path, &mut table)?;
    table.note(format!(
        "{} files of three functions; {ANCHORED} decisions on a function each, half of which changed since; {CALLS} calls, {HOOKS} cold hooks, {COLD} cold answers and changes. Without: `code: index: false`.",
        thousands(FILES)
    ));
    show(&table);
    Ok(())
}

fn source(file: usize, functions: usize, word: &str) -> String {
    let mut text = String::new();
    for n in 0..functions {
        let _ = write!(
            text,
            "pub fn step_{n}(start: u64, limit: u64) -> u64 {{\n    let {word} = start * {file} + {n};\n    if {word} > limit {{\n        return limit - {n};\n    }}\n    {word} + limit\n}}\n\n"
        );
    }
    text
}

fn file(number: usize) -> String {
    format!("src/m{}/f{number}.rs", number % 100)
}

fn make_project(twining: &Path, path: &Path) -> BenchResult<()> {
    for number in 0..FILES {
        let at = path.join(file(number));
        fs::create_dir_all(at.parent().expect("is in a folder"))?;
        fs::write(at, source(number, 3, "total"))?;
    }
    fs::write(path.join("src/large.rs"), source(1, LARGE, "total"))?;
    git(path, &["init", "-q", "-b", "main"])?;
    git(path, &["add", "-A"])?;
    git(path, &["commit", "-q", "-m", "start"])?;
    let mut client = BenchClient::ready(twining, path)?;
    let on_one = (0..ON_ONE_FILE).map(|n| (file(ANCHORED), n));
    let on_each = (0..ANCHORED).map(|n| (file(n), n));
    for (at, n) in on_each.chain(on_one).chain([("src/large.rs".to_owned(), 0)]) {
        let decision = json!({
            "domain": format!("domain-{n}"), "scope": at, "summary": format!("Keep the total of {at} below its limit, {n}"),
            "context": "totals overflow", "rationale": "the total is shown to people", "affected_files": [at], "affected_symbols": ["step_1"],
        });
        client.call("twining_decide", &decision)?;
    }
    client.close()?;
    for n in (0..ANCHORED).step_by(2) {
        fs::write(path.join(file(n)), source(n, 3, "sum"))?;
    }
    Ok(())
}

fn set_index(path: &Path, is_on: bool) -> BenchResult<()> {
    let config = fs::read_to_string(path.join(CONFIG)).unwrap_or_default();
    let kept =
        config.lines().filter(|line| !line.starts_with("code:") && *line != "  index: false");
    let mut config = kept.collect::<Vec<_>>().join("\n") + "\n";
    if !is_on {
        config.push_str("code:\n  index: false\n");
    }
    Ok(fs::write(path.join(CONFIG), config)?)
}

fn row(table: &mut FigureTable, what: &str, took: &LatencySample, goals: String) {
    let [p50, p95, max] = [took.p50(), took.percentile(95.0), took.max()].map(number);
    table.row([what.to_owned(), p50, p95, max, goals]);
}

fn answers(twining: &Path, path: &Path, table: &mut FigureTable) -> BenchResult<()> {
    let asked: [(&str, &str, Value); 2] = [
        ("why", "twining_why", json!({"scope": "src/"})),
        (
            "assemble",
            "twining_assemble",
            json!({"task": "keep totals below their limit", "scope": "src/"}),
        ),
    ];
    for (name, tool, arguments) in asked {
        log_progress(&format!("code: {name}"));
        let mut without = 0.0;
        for is_on in [false, true] {
            set_index(path, is_on)?;
            let mut client = BenchClient::ready(twining, path)?;
            for _ in 0..20 {
                client.call(tool, &arguments)?;
            }
            let mut took = LatencySample::default();
            for _ in 0..CALLS {
                took.push(client.call(tool, &arguments)?.1);
            }
            client.close()?;
            let p95 = took.percentile(95.0);
            let (what, goals) = if is_on {
                (format!("{name}, warm"), below("more p95", p95 - without, 2.0))
            } else {
                (format!("{name}, without"), String::new())
            };
            without = p95;
            row(table, &what, &took, goals);
        }
        let mut cold = LatencySample::default();
        for _ in 0..COLD {
            let mut client = BenchClient::ready(twining, path)?;
            client.call("twining_status", &json!({}))?;
            client.call("twining_query", &json!({"query": "limit"}))?;
            for end in ["", "-wal", "-shm"] {
                let _ = fs::remove_file(path.join(format!(".twining/local/code.db{end}")));
            }
            let mut fresh = BenchClient::ready(twining, path)?;
            fresh.call("twining_recent", &json!({"n": 1}))?;
            cold.push(fresh.call(tool, &arguments)?.1);
            fresh.close()?;
            client.close()?;
        }
        row(table, &format!("{name}, first call of a server, no code.db"), &cold, String::new());
    }
    Ok(())
}

fn hooks(twining: &Path, path: &Path, table: &mut FigureTable) -> BenchResult<()> {
    log_progress("code: hooks");
    let edited = [("none", file(FILES - 1), 1.0), ("ten", file(ANCHORED), 10.0)];
    for event in ["PreToolUse", "PostToolUse"] {
        for (records, at, more) in &edited {
            let payload = json!({
                "session_id": "figures", "cwd": path, "hook_event_name": event, "tool_name": "Edit",
                "tool_input": {"file_path": path.join(at), "old_string": "total", "new_string": "sum"}, "tool_response": {},
            });
            let mut without = 0.0;
            for is_on in [false, true] {
                set_index(path, is_on)?;
                let mut took = LatencySample::default();
                for _ in 0..HOOKS {
                    took.push(hook(twining, path, event, &payload)?);
                }
                let (what, goals) = if is_on {
                    ("", below("more p50", took.p50() - without, *more))
                } else {
                    (", without", String::new())
                };
                without = took.p50();
                row(table, &format!("{event}, records on the file: {records}{what}"), &took, goals);
            }
        }
    }
    Ok(())
}

fn hook(twining: &Path, path: &Path, event: &str, payload: &Value) -> BenchResult<Duration> {
    let began = Instant::now();
    let mut child = Command::new(twining)
        .args(["hook", event])
        .current_dir(path)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()?;
    child.stdin.take().expect("is piped").write_all(payload.to_string().as_bytes())?;
    child.wait()?;
    Ok(began.elapsed())
}

fn changes(twining: &Path, path: &Path, table: &mut FigureTable) -> BenchResult<()> {
    log_progress("code: a branch that is switched, a file that changed");
    git(path, &["add", "-A"])?;
    git(path, &["commit", "-q", "-m", "records"])?;
    git(path, &["checkout", "-q", "-b", "other"])?;
    for number in 0..FILES / 5 {
        fs::write(path.join(file(number)), source(number, 3, "amount"))?;
    }
    git(path, &["commit", "-q", "-a", "-m", "renamed"])?;
    let mut client = BenchClient::ready(twining, path)?;
    let why = json!({"scope": "src/"});
    let [mut switched, mut small, mut large] = [(); 3].map(|()| LatencySample::default());
    for round in 0..COLD {
        let branch = if round % 2 == 0 { "main" } else { "other" };
        git(path, &["checkout", "-q", branch])?;
        let took = client.call("twining_why", &why)?.1;
        // The first two read both branches.
        if round > 1 {
            switched.push(took);
        }
    }
    for round in 0..COLD {
        for (at, functions, sample) in
            [(file(0), 3, &mut small), ("src/large.rs".to_owned(), LARGE, &mut large)]
        {
            let why = json!({"scope": at});
            client.call("twining_why", &why)?;
            fs::write(path.join(&at), source(round, functions, "value"))?;
            sample.push(client.call("twining_why", &why)?.1);
        }
    }
    client.close()?;
    let bytes = fs::metadata(path.join("src/large.rs"))?.len() >> 10;
    let rows = [
        ("why after a branch was switched, 2,000 files differ".to_owned(), switched, 100.0),
        ("why after its file changed, 0.5 KiB".to_owned(), small, 5.0),
        (format!("why after its file changed, {bytes} KiB"), large, 30.0),
    ];
    for (what, took, goal) in rows {
        row(table, &what, &took, below("p50", took.p50(), goal));
    }
    Ok(())
}
