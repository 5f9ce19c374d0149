//! A project to try the built binary on, and a raw MCP client: JSON lines, no
//! library in between.

#![expect(dead_code, reason = "each test file uses its own part")]

pub(crate) mod browser;
pub(crate) mod hooked;
pub(crate) mod repository;
#[cfg(feature = "service")]
pub(crate) mod team;
pub(crate) mod team_server;
pub(crate) mod terminal;
#[cfg(feature = "service")]
pub(crate) mod token_issuer;
pub(crate) mod workspace;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_twining");

/// A throwaway project, with the settings of nobody beside it.
pub(crate) struct Project(tempfile::TempDir, PathBuf);

impl Project {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("project");
        // Enough for the program to see where the project ends.
        std::fs::create_dir_all(path.join(".git")).expect("makes .git");
        Self(dir, path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.1
    }

    /// The program, in this project, with nothing inherited that would change what it does.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        self.command_of(PROGRAM, words)
    }

    /// Another program, in the same place.
    pub(crate) fn command_of(&self, program: &str, words: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(words).current_dir(self.path()).stdin(Stdio::null());
        for name in [
            "TWINING_PROJECT",
            "TWINING_AGENT",
            "TWINING_MODEL",
            "CLAUDE_PROJECT_DIR",
            "CLAUDE_CODE_SESSION_ID",
            "NO_COLOR",
            "CLICOLOR_FORCE",
            "COLUMNS",
        ] {
            command.env_remove(name);
        }
        // The tester's own policy must not affect results.
        command.env("XDG_CONFIG_HOME", self.0.path().join("settings-of-nobody"));
        // Outside the project, as a person's is: what lies inside is never taken for theirs.
        command.env("XDG_CACHE_HOME", std::env::temp_dir().join("twining-test-cache"));
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Ran {
        Ran::of(self.command(words).output().expect("the program starts"))
    }

    /// Runs with this text on stdin.
    pub(crate) fn run_with(&self, words: &[&str], input: &str) -> Ran {
        Self::finish(self.command(words), input)
    }

    /// Same, through a host that exits with the call: later processes have no host ancestor.
    pub(crate) fn run_by_host(&self, words: &[&str], input: &str) -> Ran {
        let words = [&["-c", "\"$@\"; exit $?", "host", PROGRAM], words].concat();
        Self::finish(self.command_of("sh", &words), input)
    }

    fn finish(mut command: Command, input: &str) -> Ran {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        // A program that rejects its flags does not read stdin.
        let said = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
        assert!(
            said.as_ref().err().is_none_or(|error| error.kind() == std::io::ErrorKind::BrokenPipe),
            "{said:?}"
        );
        Ran::of(child.wait_with_output().expect("the program ends"))
    }

    /// Runs, must succeed, and gives the answer as JSON.
    pub(crate) fn json(&self, words: &[&str]) -> Value {
        let words: Vec<&str> = words.iter().copied().chain(["--json"]).collect();
        let ran = self.run(&words);
        assert_eq!(ran.code, 0, "{words:?}: {ran:?}");
        serde_json::from_str(&ran.stdout).expect("prints JSON")
    }

    pub(crate) fn decide(&self, summary: &str, scope: &str) -> String {
        let decided = self.json(&[
            "decide",
            "--summary",
            summary,
            "--domain",
            "architecture",
            "--scope",
            scope,
            "--context",
            "tests",
            "--rationale",
            "it is simple",
        ]);
        decided["id"].as_str().expect("has an id").to_owned()
    }

    pub(crate) fn server(&self, words: &[&str]) -> Server {
        let words: Vec<&str> = ["mcp"].into_iter().chain(words.iter().copied()).collect();
        Server::start(self.command(&words))
    }
}

/// What a run of the program left.
#[derive(Debug)]
pub(crate) struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ran {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).expect("prints UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("prints UTF-8"),
        }
    }
}

/// A server and its pipes.
pub(crate) struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Server {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let (input, output) = (child.stdin.take(), child.stdout.take().expect("a pipe"));
        Self { child, input, output: BufReader::new(output) }
    }

    pub(crate) fn send_bytes(&mut self, line: &[u8]) {
        let input = self.input.as_mut().expect("is open");
        input.write_all(line).and_then(|()| input.write_all(b"\n")).expect("the server reads");
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.send_bytes(message.to_string().as_bytes());
    }

    pub(crate) fn receive(&mut self) -> Value {
        let mut line = String::new();
        assert!(
            self.output.read_line(&mut line).expect("prints UTF-8") > 0,
            "the server closed the connection"
        );
        serde_json::from_str(&line).expect("a line of stdout is JSON")
    }

    pub(crate) fn ask(&mut self, message: &Value) -> Value {
        self.send(message);
        self.receive()
    }

    /// Opens the conversation as clients up to 2025-11-25 do.
    pub(crate) fn initialize(&mut self) -> Value {
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test-client", "version": "1"}});
        let answer =
            self.ask(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}));
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        answer
    }

    /// Calls a tool; gives the whole result.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        let answer =
            self.ask(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}));
        answer["result"].clone()
    }

    /// Closes our end; how long the server took to go, and how it went.
    pub(crate) fn leave(mut self) -> (Duration, Option<i32>) {
        let start = Instant::now();
        drop(self.input.take());
        let status = self.child.wait().expect("the server ends");
        (start.elapsed(), status.code())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

/// Ids become `[ID-1]`, `[ID-2]` … in the order they appear, times `[TIME]`.
pub(crate) fn normal(text: &str) -> String {
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    let mut out = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        if let Some(id) = rest.get(..26).filter(|word| is_id(word)) {
            let next = known.len() + 1;
            let number = *known.entry(id.to_owned()).or_insert(next);
            out.push_str(&format!("[ID-{number}]"));
            rest = &rest[26..];
        } else if let Some(length) = time_at(rest) {
            out.push_str("[TIME]");
            rest = &rest[length..];
        } else {
            let c = rest.chars().next().expect("is not empty");
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    out
}

fn is_id(word: &str) -> bool {
    word.starts_with("01") && word.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase())
}

/// `2026-11-15T09:30:00.000Z` or `2026-11-15 09:30Z`.
fn time_at(text: &str) -> Option<usize> {
    let shape = |pattern: &str| {
        let bytes = text.as_bytes().get(..pattern.len())?;
        let fits = bytes
            .iter()
            .zip(pattern.bytes())
            .all(|(b, p)| if p == b'0' { b.is_ascii_digit() } else { *b == p });
        fits.then_some(pattern.len())
    };
    shape("0000-00-00T00:00:00.000Z").or_else(|| shape("0000-00-00 00:00Z"))
}
