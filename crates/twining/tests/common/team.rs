//! A team service: PostgreSQL, nodes of the built program, and raw HTTP.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use twining_testkit::{Flushing, PostgresServer};

use super::PROGRAM;

/// How long an answer may take on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The protocol without sessions.
pub(crate) const MODERN: &str = "2026-07-28";

/// A database with the tenant `acme` and its repository `shop`.
pub(crate) struct Team {
    pub(crate) postgres: PostgresServer,
    url: String,
    dir: tempfile::TempDir,
}

impl Team {
    /// None where PostgreSQL is not installed, which is said aloud.
    pub(crate) fn new() -> Option<Self> {
        let team = Self::with_empty_database("postgres")?;
        team.admin(&["migrate"]);
        team.admin(&["tenant", "add", "acme"]);
        team.admin(&["repo", "add", "acme", "shop"]);
        Some(team)
    }

    /// The same before anything is set up, for a login of the database.
    pub(crate) fn with_empty_database(login: &str) -> Option<Self> {
        let postgres = PostgresServer::start(Flushing::Off)?;
        let url = postgres.database().url(login);
        let dir = tempfile::tempdir().expect("a temporary directory");
        Some(Self { postgres, url, dir })
    }

    /// The program with the team's database.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.arg("serve").args(words).env("TWINING_DATABASE_URL", &self.url);
        command.current_dir(self.dir.path()).stdin(Stdio::null());
        command
    }

    /// A command of who runs the service: its JSON.
    pub(crate) fn admin(&self, words: &[&str]) -> Value {
        let output = self.command(words).arg("--json").output().expect("runs");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{words:?}: {said}");
        serde_json::from_str(&said).expect("is JSON")
    }

    /// A token for a repository of `acme`.
    pub(crate) fn token(&self, repo: &str, role: &str) -> String {
        self.token_of("acme", repo, role, "agent")
    }

    pub(crate) fn token_of(&self, tenant: &str, repo: &str, role: &str, kind: &str) -> String {
        let name = format!("{kind}-{role}");
        let flags = ["--tenant", tenant, "--repo", repo, "--role", role, "--kind", kind];
        let words = [&["token", "add", "--name", &name], &flags[..]].concat();
        self.admin(&words)["token"].as_str().expect("a token").to_owned()
    }

    /// A node with a folder of its own.
    pub(crate) fn node(&self, name: &str) -> ServiceNode {
        self.node_with(name, &[])
    }

    pub(crate) fn node_with(&self, name: &str, flags: &[&str]) -> ServiceNode {
        let log = self.dir.path().join(format!("{name}.log"));
        let data = self.dir.path().join(name);
        let data = data.to_str().expect("is text");
        let anywhere: &[&str] =
            if flags.contains(&"--listen") { &[] } else { &["--listen", "127.0.0.1:0"] };
        let words = [anywhere, &["--metrics", "127.0.0.1:0", "--drain", "0"]].concat();
        let words = [&words[..], &["--data", data, "--json"], flags].concat();
        let mut child = self
            .command(&words)
            .stdout(Stdio::piped())
            .stderr(fs::File::create(&log).expect("makes a file"))
            .spawn()
            .expect("starts");
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        stdout.read_line(&mut line).expect("says where");
        let said: Value = serde_json::from_str(&line).unwrap_or_else(|error| {
            panic!("{error}: {line} {}", fs::read_to_string(&log).unwrap_or_default())
        });
        let port = |name: &str| {
            let address = said[name].as_str().expect("an address");
            address.rsplit_once(':').expect("has a port").1.parse().expect("a number")
        };
        ServiceNode { child, port: port("listening"), metrics: port("metrics"), log }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

/// A node that runs.
pub(crate) struct ServiceNode {
    child: Child,
    pub(crate) port: u16,
    pub(crate) metrics: u16,
    log: PathBuf,
}

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct HttpReply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl HttpReply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("is no JSON: {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(is, _)| is.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value.as_str())
    }
}

impl ServiceNode {
    /// Sends a request as it is given.
    pub(crate) fn send(&self, request: &str) -> HttpReply {
        send_to(self.port, request)
    }

    /// A request with a host, and a token if there is one.
    pub(crate) fn request(
        &self,
        method: &str,
        path: &str,
        token: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> HttpReply {
        let mut head =
            format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n");
        if !token.is_empty() {
            head.push_str(&format!("authorization: Bearer {token}\r\n"));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        self.send(&format!("{head}content-length: {}\r\n\r\n{body}", body.len()))
    }

    pub(crate) fn get(&self, path: &str, token: &str) -> HttpReply {
        self.request("GET", path, token, &[], "")
    }

    pub(crate) fn post(&self, path: &str, token: &str, body: &Value) -> HttpReply {
        let headers = [("content-type", "application/json")];
        self.request("POST", path, token, &headers, &body.to_string())
    }

    /// Sends an MCP request of the era without sessions.
    pub(crate) fn mcp(&self, path: &str, token: &str, method: &str, params: Value) -> HttpReply {
        self.mcp_with(path, token, method, params, &[])
    }

    pub(crate) fn mcp_with(
        &self,
        path: &str,
        token: &str,
        method: &str,
        mut params: Value,
        more: &[(&str, &str)],
    ) -> HttpReply {
        // What is there, a test has chosen.
        let capabilities = params["_meta"]["capabilities"].take();
        if let Some(meta) = params["_meta"].as_object_mut() {
            meta.remove("capabilities");
        }
        let capabilities = if capabilities.is_null() { json!({}) } else { capabilities };
        for (name, value) in [
            ("protocolVersion", json!(MODERN)),
            ("clientInfo", json!({"name": "test-client", "version": "1"})),
            ("clientCapabilities", capabilities),
        ] {
            params["_meta"][format!("io.modelcontextprotocol/{name}")] = value;
        }
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        let mut headers = vec![
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", MODERN),
            ("mcp-method", method),
        ];
        if !name.is_empty() {
            headers.push(("mcp-name", &name));
        }
        headers.extend(more);
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.request("POST", path, token, &headers, &body.to_string())
    }

    /// Calls a tool: what it answered, or its error.
    pub(crate) fn call(&self, token: &str, tool: &str, arguments: Value) -> Value {
        let reply = self.try_call(token, tool, arguments);
        assert_eq!(reply.status, 200, "{reply:?}");
        let answer = reply.json();
        assert!(answer["result"].is_object(), "{answer}");
        answer["result"]["structuredContent"].clone()
    }

    #[expect(clippy::needless_pass_by_value, reason = "tests write it in place")]
    pub(crate) fn try_call(&self, token: &str, tool: &str, arguments: Value) -> HttpReply {
        let params = json!({"name": format!("twining_{tool}"), "arguments": arguments});
        self.mcp("/acme/shop/mcp", token, "tools/call", params)
    }

    /// Everything it wrote to stderr.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).expect("is there")
    }

    pub(crate) fn metrics(&self) -> HttpReply {
        let request = "GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        send_to(self.metrics, request)
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it is ours");
    }

    /// Tells it to end, and waits: how it ended.
    pub(crate) fn end(&mut self) -> Option<i32> {
        let pid = i32::try_from(self.child.id()).expect("fits");
        let pid = rustix::process::Pid::from_raw(pid).expect("a process");
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it runs");
        self.child.wait().expect("it is ours").code()
    }
}

impl Drop for ServiceNode {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until something holds.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) -> Duration {
    let since = Instant::now();
    while !holds() {
        assert!(since.elapsed() < TIMEOUT, "it never happens: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
    since.elapsed()
}

/// Every file below a folder, by its path there.
pub(crate) fn files_below(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_below(&path));
        } else {
            found.push((path.display().to_string(), fs::read(&path).unwrap_or_default()));
        }
    }
    found
}

fn send_to(port: u16, request: &str) -> HttpReply {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("connects");
    stream.set_read_timeout(Some(TIMEOUT)).expect("takes a time");
    // A server that refuses before it has read everything closes the connection.
    let _ = stream.write_all(request.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let text = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
    let header =
        |line: &str| line.split_once(": ").map(|(name, value)| (name.to_owned(), value.to_owned()));
    HttpReply {
        status: status.unwrap_or(0),
        headers: lines.filter_map(header).collect(),
        body: body.to_owned(),
    }
}
