//! Linked clones of the built program: each a server that an agent writes to and that exchanges
//! lines with the service, killed and started again at will.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};

use super::callers::decision;
use super::fault_proxy::FaultProxy;
use super::machines::{StormMachines, plain_command};
use super::progress::StormProgress;

/// Between two writes of a clone.
const THINKING: Duration = Duration::from_millis(30);
/// One write of so many is a decision; so many of them are rivals.
const DECISIONS: usize = 10;
const RIVALS: usize = 5;
const SYNC_LIMIT: Duration = Duration::from_secs(180);
const SYNC_PAUSE: Duration = Duration::from_millis(500);
const AGENT_VARIABLES: [&str; 7] = [
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_THREAD_ID",
    "GEMINI_CLI",
    "CURSOR_AGENT",
    "OPENCODE",
    "COPILOT_AGENT",
];

/// A library that makes a process see another time of day: compiled where there is a compiler,
/// because no program can be given a clock of its own.
const CLOCK: &str = "#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec *at) {
    int failed = syscall(SYS_clock_gettime, id, at);
    if (!failed && id == CLOCK_REALTIME) at->tv_sec += SHIFT;
    return failed;
}
";

/// A clone, and its way to the service.
pub(super) struct StormClone {
    pub(super) name: String,
    pub(super) folder: PathBuf,
    pub(super) proxy: FaultProxy,
    program: PathBuf,
    settings: PathBuf,
    clock: Option<PathBuf>,
    process: Mutex<Option<Pid>>,
    /// Writes that were acknowledged before the log had them.
    pub(super) unsynced: AtomicUsize,
}

/// A server of a clone, with one request outstanding.
struct CloneServer {
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl StormClone {
    /// Links a new folder to the repository. Its clock is so many seconds ahead.
    pub(super) fn link(machines: &StormMachines, number: usize, seed: u64, clock: i64) -> Self {
        let dir = machines.dir.path().join(format!("clone-{number}"));
        let folder = dir.join("project");
        // Enough for the program to see where the project ends.
        fs::create_dir_all(folder.join(".git")).expect("the directory is ours");
        let proxy = FaultProxy::start(seed, Vec::new()).expect("a port is free");
        machines.lead(&proxy, &[number % 2, (number + 1) % 2]);
        let clone = Self {
            name: format!("clone {number}"),
            folder,
            proxy,
            program: machines.program().to_owned(),
            settings: dir.join("settings"),
            clock: (clock != 0).then(|| shifted_clock(&dir, clock)),
            process: Mutex::default(),
            unsynced: AtomicUsize::new(0),
        };
        let token = dir.join("token");
        let text = machines.token(&format!("clone-{number}"), "machine");
        fs::write(&token, text).expect("the directory is ours");
        let output = clone
            .command(&["link", &machines.url(&clone.proxy), "--yes", "--json"])
            .stdin(File::open(token).expect("is there"))
            .output()
            .expect("the program starts");
        assert!(output.status.success(), "link: {output:?}");
        clone
    }

    /// Posts and decides until the storm is over.
    pub(super) fn write(&self, progress: &StormProgress) {
        let mut server = None;
        let mut count = 0;
        while !progress.is_over() {
            let summary = format!("{} wrote {count}", self.name);
            let is_decision = count % DECISIONS == DECISIONS - 1;
            let (tool, arguments) = if is_decision {
                ("twining_decide", decision(&summary, count / DECISIONS / RIVALS))
            } else {
                ("twining_post", json!({"entry_type": "finding", "summary": summary}))
            };
            count += 1;
            let answer = self.running(&mut server).call(tool, &arguments);
            let Some(answer) = answer else {
                // It was killed: whether it wrote this is not known, so it is not looked for.
                self.reap(server.take());
                continue;
            };
            let content = &answer["structuredContent"];
            let Some(id) = content["id"].as_str() else {
                progress.failed(format!("{}: {tool}: {answer}", self.name));
                return;
            };
            if content["synced"] == json!(false) {
                self.unsynced.fetch_add(1, Ordering::SeqCst);
            }
            progress.acknowledge(1, |known| {
                if is_decision {
                    known.decisions.push((summary, id.to_owned()));
                } else {
                    known.posts.push(summary);
                }
            });
            thread::sleep(THINKING);
        }
        self.reap(server);
    }

    /// Kills its server without a word. Whether there was one.
    pub(super) fn kill(&self) -> bool {
        match *self.process() {
            Some(id) => rustix::process::kill_process(id, Signal::KILL).is_ok(),
            None => false,
        }
    }

    /// Exchanges lines until nothing waits.
    pub(super) fn settle(&self) {
        let began = Instant::now();
        loop {
            let output = self.command(&["sync", "--json"]).output().expect("the program starts");
            let state: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
            if output.status.success() && state["waiting"] == 0 && state["received"] == 0 {
                return;
            }
            assert!(began.elapsed() < SYNC_LIMIT, "{} does not settle: {output:?}", self.name);
            thread::sleep(SYNC_PAUSE);
        }
    }

    fn running<'a>(&self, server: &'a mut Option<CloneServer>) -> &'a mut CloneServer {
        server.get_or_insert_with(|| {
            let log = self.settings.with_extension("log");
            let errors = File::options().create(true).append(true).open(log).expect("is ours");
            let mut process = self
                .command(&["mcp"])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(errors)
                .spawn()
                .expect("the program starts");
            *self.process() = Some(Pid::from_child(&process));
            let requests = process.stdin.take().expect("stdin is piped above");
            let answers = BufReader::new(process.stdout.take().expect("stdout is piped above"));
            let mut server = CloneServer { process, requests, answers };
            server.greet();
            server
        })
    }

    fn reap(&self, server: Option<CloneServer>) {
        let Some(CloneServer { mut process, requests, answers }) = server else { return };
        // From here on its number may be another process's.
        let mut id = self.process();
        *id = None;
        drop((requests, answers));
        process.wait().expect("the server is our child");
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = plain_command(&self.program, &self.folder);
        command.args(words);
        for name in AGENT_VARIABLES {
            command.env_remove(name);
        }
        command.env("XDG_CONFIG_HOME", &self.settings).env("XDG_CACHE_HOME", &self.settings);
        if let Some(clock) = &self.clock {
            command.env("LD_PRELOAD", clock);
        }
        command
    }

    fn process(&self) -> MutexGuard<'_, Option<Pid>> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CloneServer {
    fn greet(&mut self) {
        let who = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "storm", "version": "1"}});
        // One that is killed already is noticed by the first call.
        let _ = self.ask("initialize", &who);
        let _ = self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    }

    /// What a tool answers; none if the server is gone.
    fn call(&mut self, tool: &str, arguments: &Value) -> Option<Value> {
        self.ask("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    fn ask(&mut self, method: &str, params: &Value) -> Option<Value> {
        self.send(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))?;
        let mut line = String::new();
        match self.answers.read_line(&mut line) {
            // A line that ends with the process is no answer.
            Ok(_) if line.ends_with('\n') => {
                serde_json::from_str::<Value>(&line).ok().map(|mut answer| answer["result"].take())
            }
            _ => None,
        }
    }

    fn send(&mut self, message: &Value) -> Option<()> {
        writeln!(self.requests, "{message}").ok()
    }
}

/// Compiles the library of a clock that is so many seconds ahead.
fn shifted_clock(dir: &Path, seconds: i64) -> PathBuf {
    let (source, library) = (dir.join("clock.c"), dir.join("clock.so"));
    fs::write(&source, CLOCK).expect("the directory is ours");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", &format!("-DSHIFT=({seconds})"), "-o"])
        .args([&library, &source])
        .status()
        .expect("a C compiler is installed, as for SQLite");
    assert!(compiled.success(), "the clock compiles");
    library
}
