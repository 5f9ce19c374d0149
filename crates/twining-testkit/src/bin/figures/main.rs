//! `figures`: measures the built `twining` from outside and prints what it
//! found beside the goals, as Markdown. A report, not a test: a missed goal is
//! printed and the exit code stays 0; only a call that fails is an error.

mod adoption;
mod client;
mod code;
mod guards;
mod knowledge;
mod latency;
mod log_following;
mod many_processes;
mod prompts;
mod readers;
mod search;
#[cfg(feature = "service")]
mod service;
mod store;
mod table;
mod top;
mod ui;
mod write_acknowledgement;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Parser, Subcommand, ValueEnum};

use crate::client::BenchResult;
use crate::latency::Bench;
use crate::many_processes::CrowdMember;
use crate::store::BenchStores;

#[derive(Parser)]
#[command(
    about = "Measures the built twining and prints the figures beside the goals",
    args_conflicts_with_subcommands = true
)]
struct FigureArguments {
    #[command(subcommand)]
    role: Option<ProcessRole>,
    /// The program to measure; default: `twining` beside this one
    #[arg(long, value_name = "PATH")]
    twining: Option<PathBuf>,
    /// Where stores are made; default: the system's temporary directory
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Also what takes minutes: a million entries
    #[arg(long)]
    full: bool,
    /// Commits right after a reply, for each verb
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    tries: usize,
    /// What to measure; default: everything
    what: Vec<FigurePart>,
}

/// The parts of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FigurePart {
    /// Starting, memory, exit
    Start,
    /// Post and decide, small store and large
    Writes,
    /// Every read with a goal
    Reads,
    /// Threads of one process that read at once
    Readers,
    /// Query and assemble, by meaning and by words
    Search,
    /// The index, rebuilt and caught up
    Rebuild,
    /// Role, gates and prompt, as a hook asks for them
    Prompts,
    /// A hook before a tool, a thousand guards
    Guards,
    /// `init`, and git's hooks at a commit
    Adoption,
    /// The reviewed graph, read and indexed again
    Knowledge,
    /// Answers, hooks and changes, with records that are bound to code
    Code,
    /// Commits right after the reply of every verb that writes
    Acknowledged,
    /// Many processes, kills, arrays
    Crowd,
    /// A folder that follows a log
    Follow,
    /// The team service: the log in PostgreSQL, a node that follows it, and the three below
    #[cfg(feature = "service")]
    Service,
    /// Posts over HTTP to two nodes, and when the other one has them
    #[cfg(feature = "service")]
    ServicePosts,
    /// Reads over HTTP, beside posts, and a thousand agents who do both
    #[cfg(feature = "service")]
    ServiceReads,
    /// A node's memory: idle, by connection, by repository
    #[cfg(feature = "service")]
    ServiceMemory,
    /// Linked clones: weeks offline and back, posts of others, and work without the service
    #[cfg(feature = "service")]
    Linked,
    /// The page: start, notices, idle, and in a browser
    Ui,
    /// The terminal: first frame, keys, idle
    Top,
}

impl FigurePart {
    /// Whether who asks for this part asks for that one too.
    fn includes(self, other: Self) -> bool {
        #[cfg(feature = "service")]
        if self == Self::Service {
            let parts = [Self::ServicePosts, Self::ServiceReads, Self::ServiceMemory];
            return other == self || parts.contains(&other);
        }
        self == other
    }
}

/// What this program is to itself.
#[derive(Subcommand)]
enum ProcessRole {
    /// Be one process of a crowd
    #[command(hide = true)]
    CrowdMember {
        project: PathBuf,
        #[arg(long)]
        lasting_us: u64,
        #[arg(long)]
        think_us: u64,
        #[arg(long)]
        offset_us: u64,
    },
    /// Write until killed
    #[command(hide = true)]
    Victim { project: PathBuf },
}

#[expect(clippy::print_stderr, reason = "this is a program for people")]
fn main() -> ExitCode {
    let arguments = FigureArguments::parse();
    let outcome = match arguments.role {
        Some(ProcessRole::CrowdMember { project, lasting_us, think_us, offset_us }) => {
            let [lasting, think, offset] =
                [lasting_us, think_us, offset_us].map(Duration::from_micros);
            many_processes::be_member(&CrowdMember { project, lasting, think, offset })
        }
        Some(ProcessRole::Victim { project }) => many_processes::be_victim(project),
        None => report(arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("figures: {error}");
            let mut cause = error.source();
            while let Some(error) = cause {
                eprintln!("  cause: {error}");
                cause = error.source();
            }
            ExitCode::FAILURE
        }
    }
}

fn report(arguments: FigureArguments) -> BenchResult<()> {
    let FigureArguments { role: _, twining, dir, full, tries, what } = arguments;
    let twining = match twining {
        Some(path) => path,
        None => fs::read_link("/proc/self/exe")?.with_file_name("twining"),
    };
    let twining = twining
        .canonicalize()
        .map_err(|error| format!("no program `{}` to measure: {error}", twining.display()))?;
    let stores = BenchStores::new(dir.as_deref())?;
    show(&header(&twining, stores.path()));
    let mut bench = Bench { twining, stores, is_full: full, tries };
    let began = Instant::now();
    let is_asked =
        |part: &&FigurePart| what.is_empty() || what.iter().any(|asked| asked.includes(**part));
    for part in FigurePart::value_variants().iter().filter(is_asked) {
        match part {
            FigurePart::Start => latency::start(&mut bench)?,
            FigurePart::Writes => latency::writes(&mut bench)?,
            FigurePart::Reads => latency::reads(&mut bench)?,
            FigurePart::Readers => readers::readers(&mut bench)?,
            FigurePart::Search => search::search(&mut bench)?,
            FigurePart::Rebuild => latency::rebuild(&mut bench)?,
            FigurePart::Prompts => prompts::prompts(&mut bench)?,
            FigurePart::Guards => guards::guards(&mut bench)?,
            FigurePart::Adoption => adoption::adoption(&mut bench)?,
            FigurePart::Knowledge => knowledge::knowledge(&mut bench)?,
            FigurePart::Code => code::code(&mut bench)?,
            FigurePart::Acknowledged => write_acknowledgement::acknowledged(&mut bench)?,
            FigurePart::Crowd => many_processes::crowd(&mut bench)?,
            FigurePart::Follow => log_following::follow(&mut bench)?,
            #[cfg(feature = "service")]
            FigurePart::Service => service::service(&mut bench)?,
            #[cfg(feature = "service")]
            FigurePart::ServicePosts => service::posts::posts(&bench)?,
            #[cfg(feature = "service")]
            FigurePart::ServiceReads => service::reads::reads(&bench)?,
            #[cfg(feature = "service")]
            FigurePart::ServiceMemory => service::memory::memory(&bench)?,
            #[cfg(feature = "service")]
            FigurePart::Linked => service::linked::linked(&bench)?,
            FigurePart::Ui => ui::ui(&mut bench)?,
            FigurePart::Top => top::top(&mut bench)?,
        }
    }
    show(&format!(
        "\nMeasured in {} s; load average at the end: {}.",
        began.elapsed().as_secs(),
        load()
    ));
    Ok(())
}

/// What the figures depend on besides the program.
fn header(twining: &Path, stores: &Path) -> String {
    let cpu =
        field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown processor".to_owned());
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let kib: u64 = field("/proc/meminfo", "MemTotal")
        .and_then(|text| text.split(' ').next()?.parse().ok())
        .unwrap_or_default();
    let program = fs::metadata(twining).map_or(0, |file| file.len()) / 1024;
    let build = if cfg!(debug_assertions) { "; **a debug build: run with --release**" } else { "" };
    [
        "# Figures\n".to_owned(),
        format!(
            "- machine: {cores} × {cpu}, {} GiB, Linux {}",
            kib >> 20,
            line("/proc/sys/kernel/osrelease")
        ),
        format!("- stores: `{}` ({})", stores.display(), file_system(stores)),
        format!("- program: `{}`, {program} KiB{build}", twining.display()),
        format!("- date: {}", twining_testkit::ids().now()),
        format!(
            "- command: `{}`",
            line("/proc/self/cmdline").trim_end_matches('\0').replace('\0', " ")
        ),
        format!(
            "- load average at the start: {} (figures taken while others work are noise)",
            load()
        ),
    ]
    .join("\n")
}

fn load() -> String {
    line("/proc/loadavg").split(' ').take(3).collect::<Vec<_>>().join(" ")
}

fn line(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.lines().find_map(|line| {
        Some(line.strip_prefix(name)?.trim_start().strip_prefix(':')?.trim().to_owned())
    })
}

/// The kind of file system a path is on: a flush on tmpfs costs nothing.
fn file_system(path: &Path) -> String {
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    let words = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let around = words.filter(|words| words.len() > 2 && path.starts_with(words[1]));
    around
        .max_by_key(|words| words[1].len())
        .map_or_else(|| "unknown".to_owned(), |words| words[2].to_owned())
}

/// Prints a part of the report.
#[expect(clippy::print_stdout, reason = "the report is this program's output")]
pub fn show(part: &impl std::fmt::Display) {
    println!("{part}");
}

/// Reports progress to the user.
#[expect(clippy::print_stderr, reason = "this is a program for people")]
pub fn log_progress(doing: &str) {
    eprintln!("figures: {doing}");
}
