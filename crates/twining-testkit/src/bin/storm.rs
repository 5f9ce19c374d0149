//! `storm`: many writers, kills, and git underneath; or a whole team service. The tests run small
//! ones; run it by hand in release for the full size.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Args, Parser, Subcommand};
use twining_testkit::TestProject;
use twining_testkit::crash_storm;
use twining_testkit::crash_storm::{Storm, StormWriter};
use twining_testkit::service_storm::{self, ServiceStorm, ServiceStormResult};

#[derive(Parser)]
#[command(
    about = "Many processes write to one folder while they are killed or git works underneath"
)]
struct StormArguments {
    #[command(subcommand)]
    command: StormKind,
}

#[derive(Subcommand)]
enum StormKind {
    /// Be one writer.
    Write {
        project: PathBuf,
        #[arg(long)]
        who: String,
        #[arg(long)]
        writes: u64,
        #[arg(long, default_value_t = 300)]
        size: usize,
        #[arg(long, default_value_t = 0)]
        think_us: u64,
        #[arg(long, default_value_t = 0)]
        linger_ms: u64,
        #[arg(long)]
        mixed: bool,
    },
    /// Let a storm loose on a throwaway project and count what was lost.
    Rage {
        #[arg(long, default_value_t = 64)]
        writers: usize,
        #[arg(long, default_value_t = 1000)]
        writes: u64,
        #[arg(long, default_value_t = 300)]
        size: usize,
        #[arg(long, default_value_t = 0)]
        think_us: u64,
        #[arg(long, default_value_t = 50)]
        kill_ms: u64,
        #[arg(long, default_value_t = 0)]
        git_rounds: u32,
        #[arg(long)]
        mixed: bool,
    },
    /// Kill PostgreSQL, nodes and linked clones of a team service under load, lose answers, and
    /// count what was lost.
    Serve {
        #[command(flatten)]
        load: ServiceLoad,
        /// Processes to kill.
        #[arg(long, default_value_t = 60)]
        kills: usize,
        /// Cut a clone and a node off for so many seconds, half-way.
        #[arg(long, default_value_t = 0)]
        partition: u64,
        /// Set the clock of a clone so many seconds ahead.
        #[arg(long, default_value_t = 0, allow_hyphen_values = true)]
        clock: i64,
        /// Let every flush of PostgreSQL take a tenth of a second longer.
        #[arg(long)]
        slow_flushes: bool,
    },
    /// Replace the nodes of a team service one after the other under load, after a step of the
    /// schema.
    Upgrade {
        #[command(flatten)]
        load: ServiceLoad,
        /// The program of the new nodes; default: the same, with a step of the schema that it
        /// does not know.
        #[arg(long)]
        next: Option<PathBuf>,
    },
}

#[derive(Args)]
struct ServiceLoad {
    /// The program to start; default: `twining` beside this one.
    #[arg(long)]
    program: Option<PathBuf>,
    /// Writes to be acknowledged before it ends.
    #[arg(long, default_value_t = 100_000)]
    writes: usize,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Callers over HTTP.
    #[arg(long, default_value_t = 16)]
    callers: usize,
    /// Lines of each of their appends.
    #[arg(long, default_value_t = 4)]
    lines: usize,
    /// Minutes after which it gives up.
    #[arg(long, default_value_t = 10)]
    minutes: u64,
}

impl ServiceLoad {
    fn program(&self) -> PathBuf {
        let beside = || {
            let own = std::env::current_exe().expect("a running program has a path");
            own.with_file_name("twining")
        };
        self.program.clone().unwrap_or_else(beside)
    }

    fn storm(&self) -> ServiceStorm {
        ServiceStorm {
            kills: 0,
            writes: self.writes,
            seed: self.seed,
            callers: self.callers,
            lines: self.lines,
            is_faulty: false,
            partition: Duration::ZERO,
            clock: 0,
            slow_flushes: false,
            limit: Duration::from_secs(self.minutes * 60),
        }
    }
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "this is a program for people")]
fn main() -> ExitCode {
    match StormArguments::parse().command {
        StormKind::Write { project, who, writes, size, think_us, linger_ms, mixed } => {
            let acks = project.join("acks").join(&who);
            let (think, linger) =
                (Duration::from_micros(think_us), Duration::from_millis(linger_ms));
            match crash_storm::write(&StormWriter {
                project,
                acks,
                who,
                writes,
                size,
                think,
                mixed,
                linger,
            }) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    let cause = std::error::Error::source(&error)
                        .map(|cause| format!(": {cause}"))
                        .unwrap_or_default();
                    eprintln!("storm: {error}{cause}");
                    ExitCode::FAILURE
                }
            }
        }
        StormKind::Rage { writers, writes, size, think_us, kill_ms, git_rounds, mixed } => {
            let project = if git_rounds > 0 { TestProject::with_git() } else { TestProject::new() };
            if git_rounds > 0 {
                project.git(["branch", "side"]);
            }
            let program = std::env::current_exe().expect("a running program has a path");
            let storm = Storm {
                writers,
                writes,
                size,
                mixed,
                git_rounds,
                think: Duration::from_micros(think_us),
                kill_every: Duration::from_millis(kill_ms),
            };
            let started = Instant::now();
            let aftermath = crash_storm::rage(&program, &project.path(), &storm);
            println!(
                "| writers | acked | killed | git operations | lost | corrupt lines | conflict markers | doubled ids | seconds |"
            );
            println!("|---|---|---|---|---|---|---|---|---|");
            println!(
                "| {writers} | {} | {} | {} | {} | {} | {} | {} | {:.1} |",
                aftermath.acked,
                aftermath.killed,
                aftermath.git_operations,
                aftermath.lost.len(),
                aftermath.corrupt,
                aftermath.markers,
                aftermath.doubled,
                started.elapsed().as_secs_f64()
            );
            for lost in aftermath.lost.iter().take(20) {
                println!("lost: {lost}");
            }
            if aftermath.lost.is_empty() && aftermath.corrupt == 0 {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            }
        }
        StormKind::Serve { load, kills, partition, clock, slow_flushes } => {
            let storm = ServiceStorm {
                kills,
                is_faulty: true,
                partition: Duration::from_secs(partition),
                clock,
                slow_flushes,
                ..load.storm()
            };
            let before = load_average();
            let result = service_storm::rage(&load.program(), &storm);
            result.map_or(ExitCode::FAILURE, |result| report(&result, &before))
        }
        StormKind::Upgrade { load, next } => replace_nodes(&load, next),
    }
}

/// Replaces the nodes of a service under load, and reports it.
#[expect(clippy::print_stdout, reason = "this is a program for people")]
fn replace_nodes(load: &ServiceLoad, next: Option<PathBuf>) -> ExitCode {
    let (program, before) = (load.program(), load_average());
    let next = next.unwrap_or_else(|| program.clone());
    let Some((result, ended)) = service_storm::upgrade(&program, &next, &load.storm()) else {
        return ExitCode::FAILURE;
    };
    println!("replaced nodes ended with {ended:?}");
    report(&result, &before)
}

/// Prints what came of a storm over the service.
#[expect(clippy::print_stdout, reason = "this is a program for people")]
fn report(result: &ServiceStormResult, load_before: &str) -> ExitCode {
    let found = &result.findings;
    let killed: Vec<String> =
        result.killed.iter().map(|(name, times)| format!("{times} {name}")).collect();
    let share = 100.0 * result.swallowed as f64 / result.answers.max(1) as f64;
    let rows = [
        ("acknowledged", result.acknowledged.to_string()),
        ("of them decisions", result.decisions.to_string()),
        ("of them by a clone before the log had it", result.unsynced.to_string()),
        ("of them in a partition", result.partition_writes.to_string()),
        ("head of the log", result.head.to_string()),
        ("killed", format!("{} ({})", result.killed.values().sum::<usize>(), killed.join(", "))),
        ("answers swallowed", format!("{} of {} ({share:.2} %)", result.swallowed, result.answers)),
        ("requests cut", result.cut.to_string()),
        ("calls made again", format!("{:?}", result.retried)),
        ("calls failed for good", result.failed.len().to_string()),
        ("**lost**", found.lost.len().to_string()),
        ("**doubled**", found.doubled.len().to_string()),
        ("**gaps**", found.gaps.len().to_string()),
        ("**records that folders have otherwise**", found.unequal.len().to_string()),
        ("**rivals active at once**", found.active_rivals.len().to_string()),
        (
            "longest time in which the log took nothing, s",
            format!("{:.1}", result.stall.as_secs_f64()),
        ),
        ("longest wait of one caller, s", format!("{:.1}", result.longest_call.as_secs_f64())),
        ("seconds", format!("{:.0}", result.lasted.as_secs_f64())),
        ("load average before; after", format!("{load_before}; {}", load_average())),
    ];
    println!("| | |\n|---|---|");
    for (name, value) in rows {
        println!("| {name} | {value} |");
    }
    let all = [&found.lost, &found.doubled, &found.unequal, &found.active_rivals, &result.failed];
    for what in all.into_iter().flat_map(|list| list.iter().take(10)) {
        println!("{what}");
    }
    if !result.is_complete {
        println!("it gave up before it had its size");
    }
    if found.is_well() && result.failed.is_empty() && result.is_complete {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}
