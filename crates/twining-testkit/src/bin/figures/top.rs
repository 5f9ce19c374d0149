//! `twining top`, as somebody at a terminal sees it: when the first frame is there, how long a key
//! takes, and what it does while nothing happens.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::client::{BenchResult, memory_kib};
use crate::latency::Bench;
use crate::store::StoreSize;
use crate::table::{FigureTable, LatencySample, at_most, number};
use crate::{log_progress, show};

const STARTS: usize = 10;
const KEYS: usize = 60;
const IDLE: Duration = Duration::from_secs(10);
/// Longer than the screen waits between two frames.
const PAUSE: Duration = Duration::from_millis(150);
const SIZE: Winsize = Winsize { ws_row: 60, ws_col: 200, ws_xpixel: 0, ws_ypixel: 0 };

/// A running `twining top` and the terminal it is shown on.
struct TopProcess {
    process: Child,
    screen: File,
}

impl TopProcess {
    fn start(bench: &Bench, project: &std::path::Path) -> BenchResult<Self> {
        let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        grantpt(&screen)?;
        unlockpt(&screen)?;
        let name = ptsname(&screen, Vec::new())?.into_string()?;
        let end = || OpenOptions::new().read(true).write(true).open(&name);
        tcsetwinsize(end()?, SIZE)?;
        let process = Command::new(&bench.twining)
            .args(["top", "--project"])
            .arg(project)
            .env("TERM", "xterm-256color")
            .stdin(Stdio::from(end()?))
            .stdout(Stdio::from(end()?))
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self { process, screen: File::from(screen) })
    }

    /// What is shown next; nothing if that takes longer than `timeout`.
    fn shown_within(&mut self, timeout: Duration) -> BenchResult<usize> {
        let wait = Timespec::try_from(timeout).map_err(|_| "too long a wait")?;
        let mut ready = [PollFd::new(&self.screen, PollFlags::IN)];
        if poll(&mut ready, Some(&wait))? == 0 {
            return Ok(0);
        }
        let mut piece = [0; 65_536];
        Ok(self.screen.read(&mut piece)?)
    }

    /// Reads until nothing more comes.
    fn settle(&mut self, quiet: Duration) -> BenchResult<()> {
        while self.shown_within(quiet)? > 0 {}
        Ok(())
    }

    /// How often its threads were woken so far.
    fn wake_ups(&self) -> u64 {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.process.id()));
        let of_task = |task: std::fs::DirEntry| {
            let status = std::fs::read_to_string(task.path().join("status")).ok()?;
            let line = status.lines().find(|line| line.starts_with("voluntary_ctxt_switches"))?;
            line.split_whitespace().nth(1)?.parse::<u64>().ok()
        };
        tasks.into_iter().flatten().flatten().filter_map(of_task).sum()
    }
}

impl Drop for TopProcess {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// Everything about the terminal.
pub(crate) fn top(bench: &mut Bench) -> BenchResult<()> {
    log_progress("top");
    let (project, client, _) = bench.warm(StoreSize::LARGE)?;
    client.close()?;
    let mut first = LatencySample::default();
    for _ in 0..STARTS {
        let started = Instant::now();
        let mut top = TopProcess::start(bench, project.path())?;
        if top.shown_within(Duration::from_secs(10))? == 0 {
            return Err("`twining top` showed nothing".into());
        }
        first.push(started.elapsed());
        top.settle(Duration::from_millis(300))?;
    }
    let mut top = TopProcess::start(bench, project.path())?;
    top.settle(Duration::from_secs(2))?;
    let mut frames = LatencySample::default();
    for press in 0..KEYS {
        std::thread::sleep(PAUSE);
        let started = Instant::now();
        top.screen.write_all(if press % 2 == 0 { b"j" } else { b"k" })?;
        if top.shown_within(Duration::from_secs(2))? > 0 {
            frames.push(started.elapsed());
        }
        top.settle(Duration::from_millis(20))?;
    }
    top.settle(Duration::from_secs(2))?;
    let before = top.wake_ups();
    std::thread::sleep(IDLE);
    let woken = top.wake_ups() - before;
    let rss = memory_kib(top.process.id(), "VmRSS:").unwrap_or_default() as f64 / 1024.0;
    let mut table = FigureTable::new("top", ["what", "measured", "goals"]);
    let max = first.max();
    table.row(["first frame, slowest of 10, ms".to_owned(), number(max), at_most("", max, 100.0)]);
    let p50 = frames.p50();
    table.row(["key → frame, p50, ms".to_owned(), number(p50), at_most("", p50, 2.0)]);
    table.row(["key → frame, max, ms".to_owned(), number(frames.max()), String::new()]);
    let woken = woken as f64;
    table.row(["wake-ups in 10 s".to_owned(), number(woken), at_most("", woken, 0.0)]);
    table.row(["RSS, MiB".to_owned(), number(rss), String::new()]);
    table.note(format!("{}, a terminal of 200×60.", StoreSize::LARGE));
    show(&table);
    Ok(())
}
