//! A browser as an attacker would write one: raw requests to `twining ui`, and its events.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::repository::Repository;
use super::terminal::Terminal;

/// Longer than anything takes that is waited for.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A server, and the link it printed.
pub(crate) struct WebProcess {
    child: Child,
    pub port: u16,
    pub link: String,
    pub code: String,
    terminal: Option<Terminal>,
}

/// What a server answered.
#[derive(Debug)]
pub(crate) struct Reply {
    pub status: u16,
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Records a decision, and returns its id.
pub(crate) fn decide(shop: &Repository) -> String {
    let place = ["decide", "use redis", "--domain", "storage", "--scope", "src/"];
    let decided = shop.told(&[&place[..], &["--context", "c", "--why", "w"]].concat());
    decided["id"].as_str().expect("has an id").to_owned()
}

/// The command with these words, and a runtime folder of nobody.
pub(crate) fn ui_command(shop: &Repository, words: &[&str]) -> Command {
    let runtime = shop.path("runtime");
    fs::create_dir_all(&runtime).expect("makes a folder");
    let words = [&["ui", "--print"], words].concat();
    let mut command = shop.command_in(&shop.path("shop"), &words);
    command.env("XDG_RUNTIME_DIR", runtime);
    command
}

impl WebProcess {
    /// Started by an agent or a service: there is no terminal.
    pub(crate) fn without_terminal(shop: &Repository) -> Self {
        let mut command = ui_command(shop, &[]);
        let said = fs::File::create(shop.path("said")).expect("makes a file");
        Self::start(command.stderr(said), None)
    }

    /// Started by a person.
    pub(crate) fn at_terminal(shop: &Repository) -> Self {
        let terminal = Terminal::open();
        let mut command = ui_command(shop, &[]);
        Self::start(terminal.seat(&mut command), Some(terminal))
    }

    fn start(command: &mut Command, terminal: Option<Terminal>) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("starts");
        let link = first_line(child.stdout.take().expect("a pipe"));
        let (port, code) = port_and_code(&link);
        Self { child, port, link, code, terminal }
    }

    /// What it said at its terminal.
    pub(crate) fn said(&mut self) -> String {
        self.terminal.as_mut().expect("has one").shows()
    }

    /// Sends bytes, and reads what comes back until the server has no more to say.
    pub(crate) fn send(&self, request: &[u8]) -> Reply {
        let mut stream = self.connect();
        // A server that refuses before it has read everything closes the connection.
        let _ = stream.write_all(request);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let text = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
        let header = |line: &str| {
            line.split_once(": ").map(|(name, value)| (name.to_owned(), value.to_owned()))
        };
        Reply {
            status: status.unwrap_or(0),
            headers: lines.filter_map(header).collect(),
            body: body.to_owned(),
        }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("connects");
        stream.set_read_timeout(Some(TIMEOUT)).expect("takes a time");
        stream
    }

    pub(crate) fn get(&self, path: &str, headers: &[(&str, &str)]) -> Reply {
        self.send(&request("GET", path, &self.with_host(headers), ""))
    }

    pub(crate) fn post(&self, path: &str, headers: &[(&str, &str)], body: &Value) -> Reply {
        let headers = [&[("content-type", "application/json")], headers].concat();
        self.send(&request("POST", path, &self.with_host(&headers), &body.to_string()))
    }

    fn with_host(&self, headers: &[(&str, &str)]) -> Vec<(String, String)> {
        let host = ("host".to_owned(), format!("127.0.0.1:{}", self.port));
        let given = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        std::iter::once(host).chain(given).collect()
    }

    /// Trades the code of the link for what the page keeps: the value of `authorization`.
    pub(crate) fn key(&self) -> String {
        self.key_of(&self.code)
    }

    pub(crate) fn key_of(&self, code: &str) -> String {
        let reply = self.post("/key", &[], &json!({"code": code}));
        assert_eq!(reply.status, 200, "{reply:?}");
        format!("Bearer {}", reply.json()["key"].as_str().expect("a key"))
    }

    /// Calls a verb as somebody.
    pub(crate) fn call(&self, key: &str, verb: &str, input: &Value) -> Reply {
        let headers = [("authorization", key), ("twining-user", "Kim%20Do")];
        self.post(&format!("/api/{verb}"), &headers, input)
    }

    /// Begins to listen, from a cursor or from now on.
    pub(crate) fn events(&self, key: &str, query: &str) -> Events {
        let mut stream = self.connect();
        let headers = self.with_host(&[("authorization", key)]);
        let head = request("GET", &format!("/events{query}"), &headers, "");
        stream.write_all(&head).expect("writes");
        Events(BufReader::new(stream))
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).expect("fits")).expect("a process");
        kill_process(pid, signal).expect("is there");
    }

    /// Waits for its end.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        self.child.wait().expect("ends").code()
    }
}

impl Drop for WebProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The notices of a server.
pub(crate) struct Events(BufReader<TcpStream>);

impl Events {
    /// The next notice.
    pub(crate) fn next(&mut self) -> Value {
        let began = Instant::now();
        loop {
            assert!(began.elapsed() < TIMEOUT, "there is no notice");
            let mut line = String::new();
            let read = self.0.read_line(&mut line).expect("says something in time");
            assert!(read > 0, "the server closed the connection");
            if let Some(data) = line.strip_prefix("data: ") {
                return serde_json::from_str(data).expect("is JSON");
            }
        }
    }

    /// The next notice of this kind; others are passed over.
    pub(crate) fn next_of(&mut self, kind: &str) -> Value {
        loop {
            let notice = self.next();
            let kinds = notice["kinds"].as_array().cloned().unwrap_or_default();
            if kinds.contains(&json!(kind)) {
                return notice;
            }
        }
    }
}

/// A request, to the letter.
pub(crate) fn request<N: AsRef<str>, V: AsRef<str>>(
    method: &str,
    path: &str,
    headers: &[(N, V)],
    body: &str,
) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{}: {}\r\n", name.as_ref(), value.as_ref()));
    }
    if !body.is_empty() {
        text.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    format!("{text}\r\n{body}").into_bytes()
}

/// The port and the code of a link.
pub(crate) fn port_and_code(link: &str) -> (u16, String) {
    let rest = link.strip_prefix("http://127.0.0.1:").expect(link);
    let port = rest.split('/').next().and_then(|port| port.parse().ok()).expect(link);
    (port, rest.split_once("#c=").expect(link).1.trim().to_owned())
}

fn first_line(from: impl Read) -> String {
    let mut line = String::new();
    BufReader::new(from).read_line(&mut line).expect("prints UTF-8");
    line.trim().to_owned()
}

/// The memory as git would track it.
pub(crate) fn memory(shop: &Repository) -> BTreeMap<String, Vec<u8>> {
    let (mut found, mut todo) = (BTreeMap::new(), vec![shop.file(".twining")]);
    while let Some(dir) = todo.pop() {
        for path in fs::read_dir(&dir).expect("lists").flatten().map(|entry| entry.path()) {
            if path.is_dir() && !path.ends_with("local") {
                todo.push(path);
            } else if path.is_file() {
                found.insert(path.display().to_string(), fs::read(&path).expect("reads"));
            }
        }
    }
    found
}

/// Names in a folder that belong to a server.
pub(crate) fn server_files(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.contains("ui.") || name.contains("twining-ui")).collect()
}
