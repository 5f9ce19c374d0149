//! Many processes on one store, and a writer that is killed: R11, R13, R3; and
//! what one array element costs as the array grows: R14.
//!
//! The crowd is this program itself, started once more for each process, so that
//! a post is timed where it is made and not through a pipe.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use twining_store::{Housekeeper, Store, StoreLocation};
use twining_testkit::crash_storm;
use twining_testkit::crash_storm::StormWriter;
use twining_testkit::{ids, records};

use crate::client::{BenchClient, BenchResult};
use crate::latency::{Bench, post_arguments};
use crate::store::{BenchProject, FixedRandom, StoreSize};
use crate::table::{FigureTable, LatencySample, at_least, below, number, thousands};
use crate::{log_progress, show};

/// This program, even if the file was replaced since it started.
const ITSELF: &str = "/proc/self/exe";
const MEMBERS: usize = 64;
const POSTS_A_SECOND: u32 = 500;
const CALM: Duration = Duration::from_secs(20);
const SATURATED: Duration = Duration::from_secs(10);
const KILLS: usize = 10;
const ELEMENTS: [usize; 3] = [1_000, 10_000, 100_000];
const CHANGES: usize = 500;

/// What one process of a crowd does.
#[derive(Clone, Debug)]
pub(crate) struct CrowdMember {
    /// Where.
    pub project: PathBuf,
    /// How long.
    pub lasting: Duration,
    /// Pause between posts.
    pub think: Duration,
    /// Wait before the first post.
    pub offset: Duration,
}

/// Runs one process of a crowd: reports when it is ready, posts after the start signal, and prints
/// how long each post took in nanoseconds.
pub(crate) fn be_member(member: &CrowdMember) -> BenchResult<()> {
    let place = StoreLocation { project: member.project.clone(), ..StoreLocation::default() };
    let store = Arc::new(Store::open(place, ids())?);
    let housekeeper = Housekeeper::start(Arc::clone(&store));
    let post = || -> BenchResult<Duration> {
        let mut entry = records::entry(store.ids(), "one of a crowd");
        entry.detail = "x".repeat(300);
        let started = Instant::now();
        store.post(std::slice::from_ref(&entry))?;
        Ok(started.elapsed())
    };
    post()?;
    let mut out = std::io::stdout().lock();
    out.write_all(b"ready\n")?;
    out.flush()?;
    std::io::stdin().lock().read_line(&mut String::new())?;
    let (began, mut took) = (Instant::now(), Vec::new());
    std::thread::sleep(member.offset);
    while began.elapsed() < member.lasting {
        took.push(post()?);
        if !member.think.is_zero() {
            std::thread::sleep(member.think);
        }
    }
    let lines: String = took.iter().map(|took| format!("{}\n", took.as_nanos())).collect();
    out.write_all(lines.as_bytes())?;
    out.flush()?;
    drop(housekeeper);
    Ok(())
}

/// The life of a writer that is to be killed: writes of every kind without end.
pub(crate) fn be_victim(project: PathBuf) -> BenchResult<()> {
    let victim = StormWriter {
        project,
        acks: PathBuf::from("/dev/null"),
        who: "victim".to_owned(),
        writes: u64::MAX,
        size: 300,
        think: Duration::ZERO,
        mixed: true,
        linger: Duration::ZERO,
    };
    Ok(crash_storm::write(&victim)?)
}

/// Everything that takes more than one process, and R14.
pub(crate) fn crowd(bench: &mut Bench) -> BenchResult<()> {
    posting_together(bench)?;
    after_a_kill(bench)?;
    array_elements(bench)
}

fn posting_together(bench: &mut Bench) -> BenchResult<()> {
    let heads = [
        "goal",
        "posts/s",
        "p50 ms",
        "p99 ms",
        "p99.9 ms",
        "max ms",
        "slowest/fastest process",
        "goals",
    ];
    let mut table = FigureTable::new("a crowd posts", heads);
    let think = Duration::from_secs(1) * u32::try_from(MEMBERS)? / POSTS_A_SECOND;
    for (name, lasting, think) in
        [("R11: 500 posts/s", CALM, think), ("R13: saturated", SATURATED, Duration::ZERO)]
    {
        let (project, client, _) = bench.warm(StoreSize::SMALL)?;
        client.close()?;
        log_progress(&format!("{name}, {MEMBERS} processes, {} s", lasting.as_secs()));
        let each = gather(&project, lasting, think)?;
        let counts: Vec<usize> = each.iter().map(LatencySample::len).collect();
        let fairness = counts.iter().min().copied().unwrap_or_default() as f64
            / counts.iter().max().copied().unwrap_or_default().max(1) as f64;
        let rate = counts.iter().sum::<usize>() as f64 / lasting.as_secs_f64();
        let mut all = LatencySample::default();
        all.extend(each.into_iter().flatten());
        let (p99, p999, max) = (all.percentile(99.0), all.percentile(99.9), all.max());
        let goals = if think.is_zero() {
            [at_least("slowest/fastest", fairness, 0.25), below("max", max, 2000.0)]
        } else {
            [below("p99", p99, 1.0), below("p99.9", p999, 10.0)]
        };
        let [rate, p50, p99, p999, max, fairness] =
            [rate, all.p50(), p99, p999, max, fairness].map(number);
        table.row([name.to_owned(), rate, p50, p99, p999, max, fairness, goals.join(", ")]);
    }
    table.note(format!(
        "{MEMBERS} processes through the Store API, each keeping house as a server does, {} entries before.",
        thousands(StoreSize::SMALL.entries)
    ));
    show(&table);
    Ok(())
}

/// A member seen from outside.
struct RunningMember {
    process: Child,
    word: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Drop for RunningMember {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

fn gather(
    project: &BenchProject,
    lasting: Duration,
    think: Duration,
) -> BenchResult<Vec<LatencySample>> {
    let mut members = Vec::with_capacity(MEMBERS);
    for number in 0..u32::try_from(MEMBERS)? {
        let offset = think * number / u32::try_from(MEMBERS)?;
        members.push(start_member(project.path(), lasting, think, offset)?);
    }
    for member in &mut members {
        let mut line = String::new();
        member.stdout.read_line(&mut line)?;
        if line != "ready\n" {
            return Err("a process of the crowd ended before it began".into());
        }
    }
    // Every housekeeper has work left from the first posts.
    std::thread::sleep(Duration::from_secs(2));
    for member in &mut members {
        member.word.write_all(b"go\n")?;
    }
    members.iter_mut().map(finish_member).collect()
}

fn start_member(
    project: &Path,
    lasting: Duration,
    think: Duration,
    offset: Duration,
) -> BenchResult<RunningMember> {
    let micros = |time: Duration| time.as_micros().to_string();
    let mut process = Command::new(ITSELF)
        .arg("member")
        .arg(project)
        .args([
            "--lasting-us",
            &micros(lasting),
            "--think-us",
            &micros(think),
            "--offset-us",
            &micros(offset),
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let word = process.stdin.take().expect("stdin is piped above");
    let stdout = BufReader::new(process.stdout.take().expect("stdout is piped above"));
    Ok(RunningMember { process, word, stdout })
}

fn finish_member(member: &mut RunningMember) -> BenchResult<LatencySample> {
    let mut stdout = String::new();
    member.stdout.read_to_string(&mut stdout)?;
    let status = member.process.wait()?;
    if !status.success() {
        return Err(format!("a process of the crowd ended with {status}").into());
    }
    let mut sample = LatencySample::default();
    for nanos in stdout.lines() {
        sample.push(Duration::from_nanos(nanos.parse()?));
    }
    Ok(sample)
}

fn after_a_kill(bench: &mut Bench) -> BenchResult<()> {
    let (project, mut standing, _) = bench.warm(StoreSize::LARGE)?;
    log_progress("R3: the first post after a kill");
    let (mut by_standing, mut by_new, mut dice) =
        (LatencySample::default(), LatencySample::default(), FixedRandom::new(6));
    for number in 0..2 * KILLS {
        kill_a_writer(&project)?;
        let arguments = post_arguments(&mut dice, number);
        if number.is_multiple_of(2) {
            by_standing.push(standing.call("twining_post", &arguments)?.1);
        } else {
            let mut new = bench.client(&project)?;
            by_new.push(new.call("twining_post", &arguments)?.1);
            new.close()?;
        }
    }
    let mut table = FigureTable::new(
        "R3: the first post after a SIGKILLed writer",
        ["by", "p50 ms", "max ms", "goals"],
    );
    for (who, took) in
        [("a server that was there before", &by_standing), ("a server started after it", &by_new)]
    {
        table.row([
            who.to_owned(),
            number(took.p50()),
            number(took.max()),
            below("max", took.max(), 100.0),
        ]);
    }
    table.note(format!(
        "{} entries; {KILLS} kills each, in the middle of posts, decisions, entities and overrides.",
        thousands(StoreSize::LARGE.entries)
    ));
    show(&table);
    standing.close().map(drop)
}

fn kill_a_writer(project: &BenchProject) -> BenchResult<()> {
    let mut victim =
        Command::new(ITSELF).arg("victim").arg(project.path()).stdin(Stdio::null()).spawn()?;
    std::thread::sleep(Duration::from_millis(400));
    let ended = victim.try_wait()?;
    victim.kill()?;
    victim.wait()?;
    ended.map_or(Ok(()), |status| {
        Err(format!("the writer ended with {status} before it was killed").into())
    })
}

fn array_elements(bench: &mut Bench) -> BenchResult<()> {
    let mut table = FigureTable::new(
        "R14: one element of an array",
        ["call", "elements", "p50 ms", "p99 ms", "max ms", "goals"],
    );
    let mut rows: [Vec<(usize, LatencySample)>; 2] = Default::default();
    for elements in ELEMENTS {
        let (project, mut client, _) = bench.warm(StoreSize::of_graph(elements))?;
        log_progress(&format!("R14: {} elements", thousands(elements)));
        let changed = |number: usize| {
            (
                format!("src/mod{}/file{}.rs", number % 50, number / 50 % 20),
                "file",
                number.to_string(),
            )
        };
        let added = |number: usize| (format!("new_{number}"), "module", number.to_string());
        drop(change_elements(&mut client, 20, |number| {
            (format!("warm_{number}"), "module", String::new())
        })?);
        std::thread::sleep(Duration::from_secs(2));
        rows[0].push((elements, change_elements(&mut client, CHANGES, added)?));
        rows[1].push((elements, change_elements(&mut client, CHANGES, changed)?));
        client.close()?;
        drop(project);
    }
    for (name, samples) in ["add_entity, new", "add_entity, known: merged"].into_iter().zip(rows) {
        let small = samples.first().map_or(0.0, |(_, took)| took.p50());
        for (elements, took) in samples {
            let p99 = took.percentile(99.0);
            let goals = format!(
                "{}, {} times the p50 at 1,000",
                below("p99", p99, 2.0),
                number(took.p50() / small)
            );
            table.row([
                name.to_owned(),
                thousands(elements),
                number(took.p50()),
                number(p99),
                number(took.max()),
                goals,
            ]);
        }
    }
    table.note(format!("{CHANGES} calls each over MCP; as many relations as entities; the arrays are rewritten behind them."));
    show(&table);
    Ok(())
}

fn change_elements(
    client: &mut BenchClient,
    times: usize,
    make: impl Fn(usize) -> (String, &'static str, String),
) -> BenchResult<LatencySample> {
    let mut took = LatencySample::default();
    for number in 0..times {
        let (name, kind, value) = make(number);
        let arguments = json!({"name": name, "type": kind, "properties": {"note": value}});
        took.push(client.call("twining_add_entity", &arguments)?.1);
    }
    Ok(took)
}
