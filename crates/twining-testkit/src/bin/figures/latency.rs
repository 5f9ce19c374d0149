//! What one client sees of one server: starting, writing, reading, and an index
//! that is built or catches up.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;
use serde_json::{Value, json};

use crate::client::{self, BenchClient, BenchResult};
use crate::store::{BenchProject, BenchStores, FixedRandom, KnownRecords, StoreSize, board_line};
use crate::table::{FigureTable, LatencySample, at_most, below, ms, number, thousands};
use crate::{log_progress, show};

const STARTS: usize = 20;
const ROUNDS: usize = 5;
const READS_EACH: usize = 200;
const OUTSIDE_LINES: usize = 1_000;
const MIB: f64 = 1024.0;

/// What is measured, and on what.
pub(crate) struct Bench {
    /// The program.
    pub twining: PathBuf,
    /// Stores to measure it on.
    pub stores: BenchStores,
    /// Whether to take the time for a million entries.
    pub is_full: bool,
    /// Commits right after a reply, for each verb.
    pub tries: usize,
}

impl Bench {
    /// A greeted server on a project.
    pub(crate) fn client(&self, project: &BenchProject) -> BenchResult<BenchClient> {
        BenchClient::ready(&self.twining, project.path())
    }

    /// A greeted server on a copy of a store, its index built: how long the
    /// call took that built it.
    pub(crate) fn warm(
        &mut self,
        size: StoreSize,
    ) -> BenchResult<(BenchProject, BenchClient, Duration)> {
        let project = self.stores.copy(size)?;
        let mut client = self.client(&project)?;
        let (status, took) = client.call("twining_status", &json!({}))?;
        let counted = status["blackboard_entries"].as_u64().unwrap_or_default();
        if counted != size.entries as u64 {
            return Err(format!(
                "the server counts {counted} entries where {} were written",
                size.entries
            )
            .into());
        }
        Ok((project, client, took))
    }
}

/// Spawn to `tools/list`, memory after it, and the way out.
pub(crate) fn start(bench: &mut Bench) -> BenchResult<()> {
    let mut table = FigureTable::new(
        "start",
        ["store", "ready p50 ms", "ready max ms", "RSS MiB", "exit p50 ms", "exit max ms", "goals"],
    );
    log_progress("start, on an empty folder");
    let empty = bench.stores.empty()?;
    starts_on(&bench.twining, empty.path(), "empty folder", &mut table)?;
    log_progress("start, on the large store");
    let (large, client, _) = bench.warm(StoreSize::LARGE)?;
    client.close()?;
    starts_on(
        &bench.twining,
        large.path(),
        &format!("{} entries", thousands(StoreSize::LARGE.entries)),
        &mut table,
    )?;
    table.note(format!(
        "ready: spawn → initialize → tools/list, {STARTS} starts; RSS: VmRSS 100 ms later, the largest; exit: after stdin closes."
    ));
    show(&table);
    exits_after_writes(bench, &large)
}

/// A server that leaves right after a write has its house still to keep.
fn exits_after_writes(bench: &Bench, project: &BenchProject) -> BenchResult<()> {
    let mut table = FigureTable::new(
        "exit right after a write",
        ["last call", "exit p50 ms", "exit max ms", "goals"],
    );
    let mut dice = FixedRandom::new(7);
    let add_entity = |dice: &mut FixedRandom, number| json!({"name": format!("late_{number}_{}", dice.sentence(2)), "type": "module"});
    let last_calls: [(&str, &str, WriteArguments); 3] = [
        ("post", "twining_post", post_arguments),
        ("add_entity", "twining_add_entity", add_entity),
        ("decide", "twining_decide", decide_arguments),
    ];
    for (name, tool, ask) in last_calls {
        let mut exit = LatencySample::default();
        for number in 0..ROUNDS {
            let mut client = bench.client(project)?;
            client.call(tool, &ask(&mut dice, number))?;
            exit.push(client.close()?);
        }
        table.row([
            name.to_owned(),
            number(exit.p50()),
            number(exit.max()),
            below("exit", exit.max(), 100.0),
        ]);
    }
    table.note(format!("{}; {ROUNDS} times each.", StoreSize::LARGE));
    show(&table);
    Ok(())
}

fn starts_on(
    twining: &Path,
    project: &Path,
    name: &str,
    table: &mut FigureTable,
) -> BenchResult<()> {
    let (mut ready, mut exit, mut resident) =
        (LatencySample::default(), LatencySample::default(), 0);
    for number in 0..=STARTS {
        let started = Instant::now();
        let mut client = BenchClient::start(twining, project)?;
        client.greet()?;
        if client.list_tools()? == 0 {
            return Err("tools/list names no tool".into());
        }
        let took = started.elapsed();
        std::thread::sleep(Duration::from_millis(100));
        resident = client.resident_kib().max(resident);
        let gone = client.close()?;
        // The first start reads the program from the disk.
        if number > 0 {
            ready.push(took);
            exit.push(gone);
        }
    }
    let resident = resident as f64 / MIB;
    let goals = [
        below("ready p50", ready.p50(), 10.0),
        below("RSS", resident, 20.0),
        below("exit", exit.max(), 100.0),
    ]
    .join(", ");
    table.row([
        name.to_owned(),
        number(ready.p50()),
        number(ready.max()),
        number(resident),
        number(exit.p50()),
        number(exit.max()),
        goals,
    ]);
    Ok(())
}

/// How the arguments of a write are made, with its number.
type WriteArguments = fn(&mut FixedRandom, usize) -> Value;

/// A kind of write, and how fast it is to be.
struct WriteCase {
    verb: &'static str,
    tool: &'static str,
    times: usize,
    goal: f64,
    ask: WriteArguments,
}

const WRITES: [WriteCase; 2] = [
    WriteCase { verb: "post", tool: "twining_post", times: 500, goal: 0.5, ask: post_arguments },
    WriteCase {
        verb: "decide",
        tool: "twining_decide",
        times: 100,
        goal: 6.0,
        ask: decide_arguments,
    },
];

/// Latencies and the processor time behind them.
#[derive(Default)]
struct TimedSample {
    took: LatencySample,
    cpu: Duration,
}

impl TimedSample {
    fn cpu_each(&self) -> f64 {
        ms(self.cpu) / self.took.len().max(1) as f64
    }
}

/// One store with its server, while writes are timed.
struct TimedStore {
    size: StoreSize,
    _project: BenchProject,
    client: BenchClient,
    first_status: Duration,
    dice: FixedRandom,
    timed: [TimedSample; WRITES.len()],
}

impl TimedStore {
    fn warm(bench: &mut Bench, size: StoreSize) -> BenchResult<Self> {
        let (project, client, first_status) = bench.warm(size)?;
        let mut side = Self {
            size,
            _project: project,
            client,
            first_status,
            dice: FixedRandom::new(2),
            timed: Default::default(),
        };
        for which in 0..WRITES.len() {
            side.repeat(which, 20)?;
        }
        side.timed = Default::default();
        Ok(side)
    }

    fn repeat(&mut self, which: usize, times: usize) -> BenchResult<()> {
        let (write, timed, before) = (&WRITES[which], &mut self.timed[which], self.client.cpu());
        for _ in 0..times {
            let arguments = (write.ask)(&mut self.dice, timed.took.len());
            timed.took.push(self.client.call(write.tool, &arguments)?.1);
        }
        timed.cpu += self.client.cpu().saturating_sub(before);
        Ok(())
    }
}

/// `post` and `decide` on a small store and on a large one.
pub(crate) fn writes(bench: &mut Bench) -> BenchResult<()> {
    let mut sides =
        [TimedStore::warm(bench, StoreSize::SMALL)?, TimedStore::warm(bench, StoreSize::LARGE)?];
    // Background work of the first writes must not count towards the next.
    std::thread::sleep(Duration::from_secs(2));
    log_progress("writes");
    // In turns, so that a noisy moment hits both.
    for _ in 0..ROUNDS {
        for (which, write) in WRITES.iter().enumerate() {
            for side in &mut sides {
                side.repeat(which, write.times / ROUNDS)?;
            }
        }
    }
    let mut table = FigureTable::new(
        "writes",
        [
            "call",
            "calls",
            "entries",
            "decisions",
            "p50 ms",
            "p99 ms",
            "max ms",
            "cpu ms/call",
            "goals",
        ],
    );
    for (which, write) in WRITES.iter().enumerate() {
        let small = sides[0].timed[which].took.p50();
        for side in &sides {
            let TimedSample { took, .. } = &side.timed[which];
            let mut goals = below("p50", took.p50(), write.goal);
            if side.size == StoreSize::LARGE {
                let ratio = took.p50() / small;
                goals = format!("{goals}, {} ({})", at_most("ratio", ratio, 1.5), number(ratio));
            }
            let [calls, entries, decisions] =
                [took.len(), side.size.entries, side.size.decisions].map(thousands);
            let [p50, p99, max, cpu] =
                [took.p50(), took.percentile(99.0), took.max(), side.timed[which].cpu_each()]
                    .map(number);
            table.row([
                write.verb.to_owned(),
                calls,
                entries,
                decisions,
                p50,
                p99,
                max,
                cpu,
                goals,
            ]);
        }
    }
    let [small, large] = sides.each_ref().map(|side| number(ms(side.first_status)));
    table.note(format!("The first status, which builds the index, took {small} ms on the small store and {large} ms on the large one."));
    show(&table);
    sides.into_iter().try_for_each(|side| side.client.close().map(drop))
}

/// The arguments of a post like any other.
pub(crate) fn post_arguments(dice: &mut FixedRandom, number: usize) -> Value {
    json!({
        "entry_type": "finding", "summary": format!("{number} {}", dice.sentence(8)), "detail": dice.sentence(40),
        "tags": [dice.sentence(1)], "scope": dice.file(), "agent_id": format!("agent-{}", number % 8),
    })
}

fn decide_arguments(dice: &mut FixedRandom, number: usize) -> Value {
    json!({
        "domain": format!("domain-{}", number % 97), "scope": dice.file(), "summary": format!("{number} {}", dice.sentence(8)),
        "context": dice.sentence(20), "rationale": dice.sentence(30), "confidence": "high",
        "alternatives": [{"option": dice.sentence(3), "reason_rejected": dice.sentence(6)}],
        "affected_files": [dice.file(), dice.file()], "affected_symbols": [dice.symbol()],
    })
}

/// How the arguments of a read are made.
type ReadArguments = fn(&mut FixedRandom, &KnownRecords) -> Value;

const READS: [(&str, &str, ReadArguments); 8] = [
    ("read", "twining_read", |_, _| json!({"limit": 50})),
    ("read in a scope", "twining_read", |dice, _| json!({"scope": dice.module()})),
    ("recent", "twining_recent", |_, _| json!({"n": 20})),
    ("why", "twining_why", |dice, _| json!({"scope": dice.file()})),
    ("status", "twining_status", |_, _| json!({})),
    (
        "graph_query",
        "twining_graph_query",
        |dice, _| json!({"query": dice.module().trim_start_matches("src/")}),
    ),
    (
        "neighbors, depth 2",
        "twining_neighbors",
        |dice, known| json!({"entity": known.entities[dice.below(known.entities.len())], "depth": 2}),
    ),
    (
        "trace",
        "twining_trace",
        |dice, known| json!({"decision_id": known.decisions[dice.below(known.decisions.len())]}),
    ),
];

/// Every read that has a goal, on the large store.
pub(crate) fn reads(bench: &mut Bench) -> BenchResult<()> {
    let (project, mut client, first_status) = bench.warm(StoreSize::LARGE)?;
    log_progress("reads");
    let mut table =
        FigureTable::new("reads", ["call", "p50 ms", "p95 ms", "max ms", "cpu ms/call", "goals"]);
    for (name, tool, ask) in READS {
        let (mut timed, mut dice, before) =
            (TimedSample::default(), FixedRandom::new(3), client.cpu());
        for _ in 0..READS_EACH {
            timed.took.push(client.call(tool, &ask(&mut dice, &project.known))?.1);
        }
        timed.cpu = client.cpu().saturating_sub(before);
        read_row(name, &timed, &mut table);
    }
    // What an agent does all day: the read that follows a write has its line to catch up on.
    let (mut timed, mut dice) = (TimedSample::default(), FixedRandom::new(4));
    for number in 0..READS_EACH {
        client.call("twining_post", &post_arguments(&mut dice, number))?;
        let before = client.cpu();
        timed.took.push(client.call("twining_recent", &json!({"n": 20}))?.1);
        timed.cpu += client.cpu().saturating_sub(before);
    }
    read_row("recent after a post", &timed, &mut table);
    let resident = client.resident_kib() as f64 / MIB;
    table.note(format!(
        "{}; {READS_EACH} calls each. The first status, which builds the index: {} ms. RSS of the server afterwards: {} MiB.",
        StoreSize::LARGE,
        number(ms(first_status)),
        number(resident)
    ));
    show(&table);
    client.close().map(drop)
}

fn read_row(name: &str, timed: &TimedSample, table: &mut FigureTable) {
    let (took, p95) = (&timed.took, timed.took.percentile(95.0));
    table.row([
        name.to_owned(),
        number(took.p50()),
        number(p95),
        number(took.max()),
        number(timed.cpu_each()),
        below("p95", p95, 5.0),
    ]);
}

/// Rebuilds the index, and catches up after other processes wrote.
pub(crate) fn rebuild(bench: &mut Bench) -> BenchResult<()> {
    rebuild_from_nothing(bench)?;
    catch_up(bench)
}

fn rebuild_from_nothing(bench: &mut Bench) -> BenchResult<()> {
    let mut table = FigureTable::new(
        "rebuild",
        ["store", "reindex s", "peak RSS MiB", "next start → status ms", "RSS then MiB", "goals"],
    );
    let full = bench.is_full.then_some((StoreSize::MILLION, 60.0, Some(300.0)));
    for (size, seconds, memory) in [(StoreSize::LARGE, 10.0, None)].into_iter().chain(full) {
        let project = bench.stores.copy(size)?;
        log_progress(&format!("rebuilding the index of {} entries", thousands(size.entries)));
        let run = client::run(&bench.twining, "reindex", project.path())?;
        let (took, peak) = (run.took.as_secs_f64(), run.peak_kib as f64 / MIB);
        let started = Instant::now();
        let mut client = bench.client(&project)?;
        client.call("twining_status", &json!({}))?;
        let opened = ms(started.elapsed());
        let resident = client.resident_kib() as f64 / MIB;
        client.close()?;
        let mut goals = vec![below("s", took, seconds)];
        goals.extend(memory.map(|most| below("peak MiB", peak, most)));
        // R16 gives these for a million entries.
        goals.extend(memory.map(|_| {
            format!(
                "{}, {}",
                below("start → status", opened, 50.0),
                below("RSS then", resident, 40.0)
            )
        }));
        table.row([
            size.to_string(),
            number(took),
            number(peak),
            number(opened),
            number(resident),
            goals.join(", "),
        ]);
    }
    if !bench.is_full {
        table.note("A million entries are rebuilt with `--full`.");
    }
    show(&table);
    Ok(())
}

/// How others may change the board under a running server.
#[derive(Clone, Copy)]
enum OutsideChange {
    /// Lines at its end.
    Appended,
    /// A new file in its place, as git does it.
    Replaced,
}

fn catch_up(bench: &mut Bench) -> BenchResult<()> {
    let (project, mut client, _) = bench.warm(StoreSize::LARGE)?;
    log_progress("catching up");
    let mut table = FigureTable::new(
        "catching up",
        ["what happened to the board", "next recent p50 ms", "max ms", "goals"],
    );
    let mut dice = FixedRandom::new(5);
    for (outside, name) in [
        (OutsideChange::Appended, "1,000 lines appended"),
        (OutsideChange::Replaced, "replaced by a copy with 1,000 more lines"),
    ] {
        let mut took = LatencySample::default();
        for _ in 0..ROUNDS {
            let last = write_outside(&project, outside, &mut dice)?;
            let (recent, after) = client.call("twining_recent", &json!({"n": 1}))?;
            if recent["entries"][0]["id"] != last {
                return Err(format!("the last line, {last}, was not noticed: {recent}").into());
            }
            took.push(after);
        }
        table.row([
            name.to_owned(),
            number(took.p50()),
            number(took.max()),
            below("max", took.max(), 100.0),
        ]);
    }
    table.note(format!("{}; {ROUNDS} times each.", StoreSize::LARGE));
    show(&table);
    client.close().map(drop)
}

/// Writes to the board as another program would; the id of the last line.
fn write_outside(
    project: &BenchProject,
    outside: OutsideChange,
    dice: &mut FixedRandom,
) -> BenchResult<String> {
    let ids = twining_testkit::ids();
    let mut lines = String::new();
    let mut last = String::new();
    for _ in 0..OUTSIDE_LINES {
        last = board_line(&ids, dice)?;
        lines.push_str(&last);
    }
    let lock = OpenOptions::new()
        .create(true)
        .append(true)
        .open(project.path().join(".twining/local/lock"))?;
    rustix::fs::flock(&lock, FlockOperation::LockExclusive)?;
    match outside {
        OutsideChange::Appended => {
            OpenOptions::new().append(true).open(project.board())?.write_all(lines.as_bytes())?;
        }
        OutsideChange::Replaced => {
            let replacement = project.path().join("board.new");
            fs::copy(project.board(), &replacement)?;
            let mut file = OpenOptions::new().append(true).open(&replacement)?;
            file.write_all(lines.as_bytes())?;
            fs::rename(replacement, project.board())?;
        }
    }
    let last: Value = serde_json::from_str(&last)?;
    Ok(last["id"].as_str().unwrap_or_default().to_owned())
}
