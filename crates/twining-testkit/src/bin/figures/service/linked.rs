//! Linked clones of the built program: weeks offline and back with kills, posts of others, and work
//! while the service is down or far away.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use twining_testkit::files::{board_ids, shared_state};

use super::distant_service::DistantService;
use super::nodes::{Cluster, ClusterSize};
use crate::client::{BenchClient, BenchResult};
use crate::latency::Bench;
use crate::store::FixedRandom;
use crate::table::{FigureTable, LatencySample, at_most, below, number, thousands};
use crate::{load, log_progress, show};

const CLONES: usize = 20;
/// Writes of each clone, and with `--full`.
const WRITES: usize = 100;
const WRITES_FULL: usize = 1_000;
/// Clones that write at a time: the cores are few.
const AT_ONCE: usize = 4;
/// How often each clone is killed while it sends.
const KILLS: usize = 2;
const SEEN: usize = 200;
/// A post that nobody has seen by then is lost.
const SEEN_LIMIT: Duration = Duration::from_secs(20);
const HOOKS: usize = 100;
const POSTS: usize = 500;
const STARTS: usize = 20;
/// Half of the way to a service that is 300 ms away.
const ONE_WAY: Duration = Duration::from_millis(150);

/// A database whose notices reach nobody.
const LOSE_NOTICES: &str = "
create schema mute;
create function mute.pg_notify(text, text) returns void language sql as 'select';
grant usage on schema mute to public;
alter role twining_app set search_path = mute, pg_catalog, public;
select 1";

/// Everything about linked clones.
pub(crate) fn linked(bench: &Bench) -> BenchResult<()> {
    offline_and_back(bench)?;
    posts_of_others(bench)?;
    without_service(bench)
}

/// A folder that is linked, with settings of its own.
struct BenchClone {
    twining: PathBuf,
    project: TempDir,
    settings: PathBuf,
}

impl BenchClone {
    fn link(bench: &Bench, cluster: &Cluster, port: u16, number: usize) -> BenchResult<Self> {
        let project = tempfile::tempdir_in(bench.stores.path())?;
        let settings = bench.stores.path().join(format!("settings-{port}-{number}"));
        fs::create_dir_all(&settings)?;
        let token = settings.join("token");
        fs::write(&token, &cluster.tokens[number])?;
        let clone = Self { twining: bench.twining.clone(), project, settings };
        let address = format!("http://127.0.0.1:{port}{}", cluster.repositories[0].path);
        let token = token.display().to_string();
        clone.run(&["link", &address, "--token-file", &token, "--yes"])?;
        Ok(clone)
    }

    fn path(&self) -> &Path {
        self.project.path()
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.twining);
        command.args(words).arg("--project").arg(self.path()).current_dir(self.path());
        command.env("XDG_CONFIG_HOME", &self.settings).env("XDG_CACHE_HOME", &self.settings);
        for name in ["TWINING_PROJECT", "CLAUDE_PROJECT_DIR", "CLAUDECODE", "GEMINI_CLI"] {
            command.env_remove(name);
        }
        command.stdin(Stdio::null());
        command
    }

    /// Runs the program: its JSON.
    fn run(&self, words: &[&str]) -> BenchResult<Value> {
        let output = self.command(words).arg("--json").output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        if output.status.success() {
            Ok(serde_json::from_str(&said)?)
        } else {
            Err(format!("twining {} ended with {}: {said}", words[0], output.status).into())
        }
    }

    fn client(&self) -> BenchResult<BenchClient> {
        let mut client = BenchClient::spawn(self.command(&["mcp"]))?;
        client.greet()?;
        Ok(client)
    }

    fn board(&self) -> PathBuf {
        self.path().join(".twining/blackboard.jsonl")
    }

    /// Every decision file.
    fn decisions(&self) -> BenchResult<Vec<Value>> {
        let mut found = Vec::new();
        for file in fs::read_dir(self.path().join(".twining/decisions"))? {
            let path = file?.path();
            if path.file_name().is_some_and(|name| name != "index.json") {
                found.push(serde_json::from_slice(&fs::read(path)?)?);
            }
        }
        Ok(found)
    }
}

/// What a clone wrote while it was offline.
#[derive(Default)]
struct OfflineWrites {
    entries: Vec<String>,
    decisions: Vec<String>,
}

fn cluster(bench: &Bench, nodes: usize, tokens: usize) -> BenchResult<Option<Cluster>> {
    Cluster::start(bench, ClusterSize { nodes, repositories: 1, records: 0, tokens })
}

fn offline_and_back(bench: &Bench) -> BenchResult<()> {
    log_progress("linked: clones that write offline");
    let Some(cluster) = cluster(bench, 1, CLONES)? else { return Ok(()) };
    let way = DistantService::new(cluster.nodes[0].port)?;
    let clones = (0..CLONES)
        .map(|at| BenchClone::link(bench, &cluster, way.port, at))
        .collect::<BenchResult<Vec<_>>>()?;
    way.set_cut(true);
    let began = Instant::now();
    let writes = if bench.is_full { WRITES_FULL } else { WRITES };
    let written = in_parallel(&clones, AT_ONCE, |at, clone| write_offline(clone, at, writes))?;
    let writing = began.elapsed();
    way.set_cut(false);
    log_progress(&format!("linked: they come back, {} s later", writing.as_secs()));
    let load_before = load();
    let began = Instant::now();
    let drained = in_parallel(&clones, CLONES, |at, clone| drain(clone, at, began))?;
    let lines = cluster.count("select count(*) from twining.log")?;
    in_parallel(&clones, AT_ONCE, |_, clone| clone.run(&["sync"]).map(drop))?;
    let alike = began.elapsed().as_secs_f64();
    let kills: usize = drained.iter().map(|(_, kills)| kills).sum();
    let all_sent = drained.iter().map(|(took, _)| took.as_secs_f64()).fold(0.0, f64::max);
    let found = CloneFaults::of(&clones, &written)?;
    let mut table = FigureTable::new(
        "linked clones: offline, and back with kills",
        [
            "writes",
            "lines in the log",
            "kills",
            "all sent s",
            "all alike s",
            "lost",
            "doubled",
            "clones that differ",
            "active rivals",
            "goals",
        ],
    );
    let wrong = found.lost + found.doubled + found.differing + found.active_rivals;
    let mut goals = vec![at_most("wrong", wrong as f64, 0.0)];
    if bench.is_full {
        goals.push(below("sent s", all_sent, 60.0));
    }
    table.row([
        thousands(CLONES * writes),
        format!("{lines:.0}"),
        kills.to_string(),
        number(all_sent),
        number(alike),
        found.lost.to_string(),
        found.doubled.to_string(),
        found.differing.to_string(),
        found.active_rivals.to_string(),
        goals.join("; "),
    ]);
    table.note(format!(
        "{CLONES} clones, {writes} writes each through `twining mcp` with the service cut off, a tenth decisions, half of those rivals of the other clones' ones; then all send at once, each killed up to {KILLS} times meanwhile. One node and PostgreSQL on the same machine; load average {load_before} before, {} after.",
        load()
    ));
    show(&table);
    Ok(())
}

/// What is wrong in the end.
#[derive(Debug, Default)]
struct CloneFaults {
    lost: usize,
    doubled: usize,
    differing: usize,
    active_rivals: usize,
}

impl CloneFaults {
    fn of(clones: &[BenchClone], written: &[OfflineWrites]) -> BenchResult<Self> {
        let mut times: BTreeMap<String, usize> = BTreeMap::new();
        for id in board_ids(clones[0].path())? {
            *times.entry(id).or_default() += 1;
        }
        let decisions = clones[0].decisions()?;
        let decided: BTreeSet<&str> =
            decisions.iter().filter_map(|decision| decision["id"].as_str()).collect();
        let entries = written.iter().flat_map(|clone| &clone.entries);
        let made = written.iter().flat_map(|clone| &clone.decisions);
        let lost = entries.filter(|id| !times.contains_key(*id)).count()
            + made.filter(|id| !decided.contains(id.as_str())).count();
        let mut active: BTreeMap<&str, usize> = BTreeMap::new();
        for decision in decisions.iter().filter(|decision| decision["status"] == "active") {
            *active.entry(decision["scope"].as_str().unwrap_or_default()).or_default() += 1;
        }
        let state = shared_state(clones[0].path());
        Ok(Self {
            lost,
            doubled: times.values().filter(|times| **times > 1).count(),
            differing: clones.iter().filter(|clone| shared_state(clone.path()) != state).count(),
            active_rivals: active.values().filter(|active| **active > 1).count(),
        })
    }
}

fn write_offline(clone: &BenchClone, at: usize, writes: usize) -> BenchResult<OfflineWrites> {
    let mut client = clone.client()?;
    let mut written = OfflineWrites::default();
    for n in 0..writes {
        if n % 10 == 0 {
            // Every second one disagrees with what each other clone chooses there.
            let is_rival = n % 20 == 0;
            let scope = if is_rival { format!("shared/{n}/") } else { format!("own/{at}/{n}/") };
            let decision = json!({
                "domain": "architecture", "scope": scope, "context": "offline",
                "summary": format!("choice {n} of clone {at}"), "rationale": "it was needed",
            });
            let (answer, _) = client.call("twining_decide", &decision)?;
            written.decisions.extend(answer["id"].as_str().map(str::to_owned));
        } else {
            let summary = format!("finding {n} of clone {at}");
            let post = json!({"entry_type": "finding", "summary": summary});
            let (answer, _) = client.call("twining_post", &post)?;
            written.entries.extend(answer["id"].as_str().map(str::to_owned));
        }
    }
    client.close()?;
    if written.entries.len() + written.decisions.len() != writes {
        return Err(format!("clone {at}: not every write was acknowledged with an id").into());
    }
    Ok(written)
}

/// Sends what waits, killed while it does: when everything was sent, and how often it was killed.
fn drain(clone: &BenchClone, at: usize, began: Instant) -> BenchResult<(Duration, usize)> {
    let mut dice = FixedRandom::new(at as u64 + 1);
    let mut killed = 0;
    for _ in 0..KILLS {
        let mut child = clone
            .command(&["sync", "--json"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        std::thread::sleep(pause(&mut dice, 100, 1_500));
        killed += usize::from(kill(&mut child)?);
    }
    loop {
        match clone.run(&["sync"]) {
            Ok(answer) if answer["waiting"] == 0 => return Ok((began.elapsed(), killed)),
            Ok(_) => {}
            Err(error) if began.elapsed() > Duration::from_secs(600) => return Err(error),
            // It was too busy for this one: what waits is sent again.
            Err(_) => std::thread::sleep(Duration::from_millis(200)),
        }
    }
}

fn pause(dice: &mut FixedRandom, least: u64, more: usize) -> Duration {
    Duration::from_millis(least + dice.below(more) as u64)
}

/// Kills a process; whether it still ran.
fn kill(child: &mut Child) -> BenchResult<bool> {
    let runs = child.try_wait()?.is_none();
    if runs {
        child.kill()?;
        child.wait()?;
    }
    Ok(runs)
}

/// Does something for every clone, so many at a time; results are in their order.
fn in_parallel<T: Send>(
    clones: &[BenchClone],
    at_once: usize,
    act: impl Fn(usize, &BenchClone) -> BenchResult<T> + Sync,
) -> BenchResult<Vec<T>> {
    let mut results = Vec::new();
    for (first, some) in clones.chunks(at_once).enumerate() {
        let done: Vec<Result<T, String>> = std::thread::scope(|scope| {
            let act = &act;
            let threads: Vec<_> = some
                .iter()
                .enumerate()
                .map(|(at, clone)| {
                    let at = first * at_once + at;
                    scope.spawn(move || act(at, clone).map_err(|error| error.to_string()))
                })
                .collect();
            let joined = threads.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|_| Err("a thread panicked".to_owned()))
            });
            joined.collect()
        });
        results.extend(done.into_iter().collect::<Result<Vec<_>, _>>()?);
    }
    Ok(results)
}

/// From a post in one clone to its line in another's board.
fn posts_of_others(bench: &Bench) -> BenchResult<()> {
    let mut table = FigureTable::new(
        "a clone sees another's post",
        ["notices between nodes", "posts", "seen p50 ms", "seen p99 ms", "seen max ms", "goals"],
    );
    for (name, goal, is_mute) in [("arrive", 1_000.0, false), ("are all lost", 1_500.0, true)] {
        log_progress(&format!("linked: a clone sees another's post, notices {name}"));
        let Some(mut cluster) = cluster(bench, 0, 2)? else { return Ok(()) };
        if is_mute {
            cluster.count(LOSE_NOTICES)?;
        }
        for number in 0..2 {
            let node = cluster.node(number)?;
            cluster.nodes.push(node);
        }
        let from = BenchClone::link(bench, &cluster, cluster.nodes[0].port, 0)?;
        let to = BenchClone::link(bench, &cluster, cluster.nodes[1].port, 1)?;
        let seen = seen_after(&from, &to)?;
        let p99 = seen.percentile(99.0);
        table.row([
            name.to_owned(),
            seen.len().to_string(),
            number(seen.p50()),
            number(p99),
            number(seen.max()),
            below("p99", p99, goal),
        ]);
        table.note(format!("Notices {name}: load average {} at the end.", load()));
    }
    table.note("Two clones, each with `twining mcp` running and linked to another node: from the call until the other's blackboard.jsonl has the line.");
    show(&table);
    Ok(())
}

fn seen_after(from: &BenchClone, to: &BenchClone) -> BenchResult<LatencySample> {
    let (mut poster, mut watcher) = (from.client()?, to.client()?);
    // The sync workers start with the first calls.
    poster.call("twining_status", &json!({}))?;
    watcher.call("twining_status", &json!({}))?;
    let (mut seen, mut dice) = (LatencySample::default(), FixedRandom::new(5));
    for n in 0..SEEN {
        let summary = format!("seen elsewhere {n}.");
        let began = Instant::now();
        poster.call("twining_post", &json!({"entry_type": "finding", "summary": &summary}))?;
        while !fs::read_to_string(to.board()).unwrap_or_default().contains(&summary) {
            if began.elapsed() > SEEN_LIMIT {
                return Err(format!("the other clone never saw `{summary}`").into());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        seen.push(began.elapsed());
        std::thread::sleep(pause(&mut dice, 20, 300));
    }
    poster.close()?;
    watcher.close()?;
    Ok(seen)
}

/// What does not wait for the service.
fn without_service(bench: &Bench) -> BenchResult<()> {
    let mut table = FigureTable::new(
        "a linked clone without its service",
        [
            "service",
            "hook p50 ms",
            "connections by hooks",
            "post p50 ms",
            "post p99 ms",
            "ready p50 ms",
            "RSS MiB",
            "goals",
        ],
    );
    let Some(cluster) = cluster(bench, 1, 2)? else { return Ok(()) };
    let way = DistantService::new(cluster.nodes[0].port)?;
    for (at, name) in ["down", "300 ms away"].into_iter().enumerate() {
        log_progress(&format!("linked: the service is {name}"));
        way.set_cut(false);
        way.set_one_way(Duration::ZERO);
        let clone = BenchClone::link(bench, &cluster, way.port, at)?;
        way.set_cut(at == 0);
        way.set_one_way(if at == 0 { Duration::ZERO } else { ONE_WAY });
        let connections = way.connections();
        let hooks = hooks(&clone)?;
        let connected = way.connections() - connections;
        let posts = posts(&clone, at == 0)?;
        let (ready, resident) = starts(&clone)?;
        let mut goals = vec![
            at_most("hook p50", hooks.p50(), 5.0),
            at_most("connections", connected as f64, 0.0),
            below("ready", ready.p50(), 10.0),
            below("MiB", resident, 20.0),
        ];
        if at == 0 {
            goals.push(below("post p99", posts.percentile(99.0), 2.0));
        }
        table.row([
            name.to_owned(),
            number(hooks.p50()),
            connected.to_string(),
            number(posts.p50()),
            number(posts.percentile(99.0)),
            number(ready.p50()),
            number(resident),
            goals.join("; "),
        ]);
    }
    table.note(format!(
        "{HOOKS} PreToolUse hooks, one cold process each; {POSTS} posts through `twining mcp`, the first of which finds out that nobody answers; {STARTS} starts, spawn → tools/list, memory 100 ms later, the largest; load average {}.",
        load()
    ));
    show(&table);
    Ok(())
}

fn hooks(clone: &BenchClone) -> BenchResult<LatencySample> {
    let event = json!({
        "session_id": "figures", "cwd": clone.path(), "tool_name": "Bash",
        "tool_input": {"command": "cargo test"},
    });
    let file = clone.settings.join("event.json");
    fs::write(&file, event.to_string())?;
    let mut took = LatencySample::default();
    for n in 0..=HOOKS {
        let mut command = clone.command(&["hook", "PreToolUse"]);
        command.stdin(fs::File::open(&file)?).stdout(Stdio::null()).stderr(Stdio::null());
        let began = Instant::now();
        let status = command.status()?;
        let elapsed = began.elapsed();
        if !status.success() {
            return Err(format!("the hook ended with {status}").into());
        }
        // The first one reads the program from the disk.
        if n > 0 {
            took.push(elapsed);
        }
    }
    Ok(took)
}

fn posts(clone: &BenchClone, is_down: bool) -> BenchResult<LatencySample> {
    let mut client = clone.client()?;
    let mut took = LatencySample::default();
    for n in 0..POSTS {
        let post = json!({"entry_type": "finding", "summary": format!("offline {n}")});
        let (answer, elapsed) = client.call("twining_post", &post)?;
        // One that is only far away has what waits in the end.
        if is_down && answer["synced"] == true {
            return Err("the service is not down".into());
        }
        took.push(elapsed);
    }
    client.close()?;
    Ok(took)
}

/// Spawn to `tools/list`, and the most MiB.
fn starts(clone: &BenchClone) -> BenchResult<(LatencySample, f64)> {
    let (mut ready, mut resident) = (LatencySample::default(), 0);
    for n in 0..=STARTS {
        let began = Instant::now();
        let mut client = clone.client()?;
        client.list_tools()?;
        let took = began.elapsed();
        std::thread::sleep(Duration::from_millis(100));
        resident = client.resident_kib().max(resident);
        client.close()?;
        if n > 0 {
            ready.push(took);
        }
    }
    Ok((ready, resident as f64 / 1024.0))
}
