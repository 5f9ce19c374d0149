//! What a person waits for who takes Twining up: `init`, and git's hooks at every
//! commit from then on.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::client::BenchResult;
use crate::latency::Bench;
use crate::store::StoreSize;
use crate::table::{FigureTable, LatencySample, below, number, thousands};
use crate::{log_progress, show};

const INITS: usize = 10;
const COMMITS: usize = 30;
const ALL: &str = "claude,codex,gemini,cursor,opencode";

/// `init` on an empty repository, then commits with a young memory and a large one.
pub(crate) fn adoption(bench: &mut Bench) -> BenchResult<()> {
    inits(bench)?;
    let mut table =
        FigureTable::new("commits", ["store", "what", "p50 ms", "p95 ms", "max ms", "goals"]);
    for size in [StoreSize::SMALL, StoreSize::LARGE] {
        commits(bench, size, &mut table)?;
    }
    table.note(format!(
        "{COMMITS} commits of one file each. `git commit`: without hooks, and with ours. The hooks alone: from spawn to exit, right after such a commit."
    ));
    show(&table);
    Ok(())
}

fn inits(bench: &Bench) -> BenchResult<()> {
    log_progress("init");
    let mut table = FigureTable::new("init", ["what", "p50 ms", "max ms", "goals"]);
    let (mut first, mut again) = (LatencySample::default(), LatencySample::default());
    for _ in 0..INITS {
        let project = bench.stores.empty()?;
        git(project.path(), &["init", "-q"])?;
        first.push(twining(&bench.twining, project.path(), &["init", "--agent", ALL])?);
        again.push(twining(&bench.twining, project.path(), &["init", "--agent", ALL])?);
    }
    for (what, took) in [("five agents, an empty repository", first), ("once more", again)] {
        table.row([
            what.to_owned(),
            number(took.p50()),
            number(took.max()),
            below("p50", took.p50(), 1000.0),
        ]);
    }
    table.note(format!("From spawn to exit, {INITS} repositories."));
    show(&table);
    Ok(())
}

fn commits(bench: &mut Bench, size: StoreSize, table: &mut FigureTable) -> BenchResult<()> {
    let store = format!("{} decisions", thousands(size.decisions));
    log_progress(&format!("commits, with {store}"));
    let (project, client, _) = bench.warm(size)?;
    client.close()?;
    let path = project.path();
    git(path, &["init", "-q"])?;
    git(path, &["add", "-A"])?;
    git(path, &["commit", "-q", "-m", "start"])?;
    twining(&bench.twining, path, &["init", "--agent", "none"])?;
    git(path, &["add", "-A"])?;
    git(path, &["commit", "-q", "-m", "twining"])?;
    let [mut bare, mut hooked, mut before, mut after] = [(); 4].map(|()| LatencySample::default());
    for number in 0..COMMITS {
        change(path, number, "without")?;
        bare.push(git(
            path,
            &["-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "without hooks"],
        )?);
        change(path, number, "with")?;
        hooked.push(git(path, &["commit", "-q", "-m", "with hooks"])?);
        before.push(twining(&bench.twining, path, &["hook", "--agent", "git", "pre-commit"])?);
        after.push(twining(&bench.twining, path, &["hook", "--agent", "git", "post-commit"])?);
    }
    for (what, took, goal) in [
        ("git commit, no hooks", bare, None),
        ("git commit, our hooks", hooked, None),
        ("pre-commit hook", before, Some(50.0)),
        ("post-commit hook", after, Some(50.0)),
    ] {
        let [p50, p95, max] = [took.p50(), took.percentile(95.0), took.max()];
        let goals = goal.map_or_else(String::new, |goal| below("p50", p50, goal));
        table.row([store.clone(), what.to_owned(), number(p50), number(p95), number(max), goals]);
    }
    Ok(())
}

/// A change of one file, ready to be committed.
fn change(path: &Path, number: usize, word: &str) -> BenchResult<()> {
    std::fs::create_dir_all(path.join("src"))?;
    std::fs::write(path.join("src/changed.rs"), format!("// {number} {word}\n"))?;
    git(path, &["add", "src"]).map(drop)
}

/// Runs git as nobody in particular.
pub(crate) fn git(path: &Path, words: &[&str]) -> BenchResult<Duration> {
    let mut command = Command::new("git");
    command
        .args(words)
        .current_dir(path)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1");
    for who in ["AUTHOR", "COMMITTER"] {
        command
            .env(format!("GIT_{who}_NAME"), "figures")
            .env(format!("GIT_{who}_EMAIL"), "figures@example.com");
    }
    timed(&mut command, words)
}

/// Runs `twining` with the project as its home.
pub(crate) fn twining(twining: &Path, path: &Path, words: &[&str]) -> BenchResult<Duration> {
    timed(
        Command::new(twining)
            .args(words)
            .current_dir(path)
            .env("HOME", path)
            .env_remove("TWINING_PROJECT"),
        words,
    )
}

fn timed(command: &mut Command, words: &[&str]) -> BenchResult<Duration> {
    let started = Instant::now();
    let status = command
        .env_remove("CLAUDE_PROJECT_DIR")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    let took = started.elapsed();
    if status.success() {
        Ok(took)
    } else {
        Err(format!("`{}` ended with {status}", words.join(" ")).into())
    }
}
