//! The program under measurement, from outside: an MCP client with one request outstanding, and the
//! kernel's figures for a process.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// A measurement, or why there is none.
pub(crate) type BenchResult<T> = Result<T, Box<dyn std::error::Error>>;

/// The version of the protocol that is asked for.
const PROTOCOL: &str = "2025-06-18";
/// A server that has not gone by then is ended, and that is a failure.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);

/// A server and the line to it.
pub(crate) struct BenchClient {
    server: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    asked: u64,
}

impl BenchClient {
    /// Starts a server on a project. Sends no request yet.
    pub(crate) fn start(twining: &Path, project: &Path) -> BenchResult<Self> {
        let mut command = Command::new(twining);
        command.args(["mcp", "--project"]).arg(project).current_dir(project);
        Self::spawn(command)
    }

    /// The same for a command that somebody else put together.
    pub(crate) fn spawn(mut command: Command) -> BenchResult<Self> {
        let mut server = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start {:?}: {error}", command.get_program()))?;
        let requests = server.stdin.take();
        let answers =
            BufReader::with_capacity(1 << 20, server.stdout.take().expect("stdout is piped above"));
        Ok(Self { server, requests, answers, asked: 0 })
    }

    /// A server that has been greeted.
    pub(crate) fn ready(twining: &Path, project: &Path) -> BenchResult<Self> {
        let mut client = Self::start(twining, project)?;
        client.greet()?;
        Ok(client)
    }

    /// `initialize`, and the word that it was understood.
    pub(crate) fn greet(&mut self) -> BenchResult<()> {
        let who = json!({"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": "figures", "version": "1"}});
        self.request("initialize", &who)?;
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
    }

    /// How many tools there are.
    pub(crate) fn list_tools(&mut self) -> BenchResult<usize> {
        let (listed, _) = self.request("tools/list", &json!({}))?;
        Ok(listed["tools"].as_array().map_or(0, Vec::len))
    }

    /// Calls a tool: its answer, and the time from the first byte asked to the
    /// last byte answered.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> BenchResult<(Value, Duration)> {
        let (mut result, took) =
            self.request("tools/call", &json!({"name": tool, "arguments": arguments}))?;
        let answer = match result["structuredContent"].take() {
            Value::Null => {
                serde_json::from_str(result["content"][0]["text"].as_str().unwrap_or("null"))
                    .unwrap_or_default()
            }
            structured => structured,
        };
        if result["isError"] == true || answer["error"] == true {
            return Err(format!("{tool} failed: {answer}").into());
        }
        Ok((answer, took))
    }

    /// Kibibytes in memory now.
    pub(crate) fn resident_kib(&self) -> u64 {
        memory_kib(self.server.id(), "VmRSS:").unwrap_or_default()
    }

    /// Processor time of all its threads so far; other load moves it far less
    /// than it moves a latency.
    pub(crate) fn cpu(&self) -> Duration {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.server.id()))
            .into_iter()
            .flatten()
            .flatten();
        let spent = tasks.filter_map(|task| {
            let schedstat = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
            schedstat.split(' ').next()?.parse::<u64>().ok()
        });
        Duration::from_nanos(spent.sum())
    }

    /// Ends the conversation; how long the server took to go.
    pub(crate) fn close(mut self) -> BenchResult<Duration> {
        let closed = Instant::now();
        drop(self.requests.take());
        loop {
            if let Some(status) = self.server.try_wait()? {
                return if status.success() {
                    Ok(closed.elapsed())
                } else {
                    Err(format!("the server ended with {status}").into())
                };
            }
            if closed.elapsed() > EXIT_TIMEOUT {
                return Err(format!(
                    "the server was still there {EXIT_TIMEOUT:?} after the end of input"
                )
                .into());
            }
            std::thread::sleep(Duration::from_micros(100));
        }
    }

    fn request(&mut self, method: &str, params: &Value) -> BenchResult<(Value, Duration)> {
        self.asked += 1;
        let id = self.asked;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let asked = Instant::now();
        self.send(&message)?;
        let mut line = Vec::new();
        loop {
            line.clear();
            if self.answers.read_until(b'\n', &mut line)? == 0 {
                return Err(
                    format!("the server closed its output while {method} was waiting").into()
                );
            }
            let took = asked.elapsed();
            let mut answer: Value = serde_json::from_slice(&line)?;
            if answer["id"] != id {
                continue;
            }
            return match answer["result"].take() {
                Value::Null => Err(format!("{method} failed: {}", answer["error"]).into()),
                result => Ok((result, took)),
            };
        }
    }

    fn send(&mut self, message: &Value) -> BenchResult<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        let requests =
            self.requests.as_mut().expect("only `close` takes it, and that takes the client too");
        Ok(requests.write_all(&line)?)
    }
}

impl Drop for BenchClient {
    fn drop(&mut self) {
        // Gone already, unless a measurement failed half way.
        drop(self.server.kill());
        drop(self.server.wait());
    }
}

/// What a command that ran to its end took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommandRun {
    /// From start to exit.
    pub took: Duration,
    /// The most kibibytes it had in memory.
    pub peak_kib: u64,
}

/// Runs a `twining` command on a project.
pub(crate) fn run(twining: &Path, command: &str, project: &Path) -> BenchResult<CommandRun> {
    let started = Instant::now();
    let mut child = Command::new(twining)
        .arg(command)
        .arg("--project")
        .arg(project)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()?;
    let mut peak_kib = 0;
    loop {
        // The high-water mark only rises: the last look before the end has it.
        peak_kib = memory_kib(child.id(), "VmHWM:").unwrap_or(peak_kib);
        if let Some(status) = child.try_wait()? {
            let took = started.elapsed();
            return if status.success() {
                Ok(CommandRun { took, peak_kib })
            } else {
                Err(format!("twining {command} ended with {status}").into())
            };
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Runs a `twining` command line on a project: from spawn to exit.
pub(crate) fn once(twining: &Path, project: &Path, words: &[&str]) -> BenchResult<Duration> {
    let started = Instant::now();
    let status = Command::new(twining)
        .args(words)
        .arg("--project")
        .arg(project)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()?;
    let took = started.elapsed();
    if status.success() {
        Ok(took)
    } else {
        Err(format!("`twining {}` ended with {status}", words.join(" ")).into())
    }
}

/// Kibibytes of a process, by the label that the kernel gives them.
pub(crate) fn memory_kib(process: u32, label: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(label))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}
