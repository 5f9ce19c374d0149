//! `storm`: many writers, kills, and git underneath. The tests run small ones;
//! run it by hand in release for the full size.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Parser, Subcommand};
use twining_testkit::TestProject;
use twining_testkit::crash_storm;
use twining_testkit::crash_storm::{Storm, StormWriter};

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
    }
}
