//! Callers over HTTP: each sends one write at a time, under one key, until it is told the outcome.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use twining_model::{Change, IdSource};
use twining_store::NewLine;

use super::progress::StormProgress;
use crate::records;
use crate::world::ids;

/// How long a caller waits for an answer before it asks again.
const ANSWER_LIMIT: Duration = Duration::from_secs(6);
const PAUSE: Duration = Duration::from_millis(50);
/// Between two decisions of one caller.
const THINKING: Duration = Duration::from_millis(100);
/// Decisions of each caller that are rivals of the others'.
const RIVALS: usize = 5;
const PROTOCOL: &str = "2026-07-28";

/// Where a caller goes, and as whom.
#[derive(Clone, Debug)]
pub(super) struct CallerAddress {
    pub(super) port: u16,
    pub(super) path: String,
    pub(super) token: String,
}

/// What came of one attempt.
enum CallOutcome<T> {
    Done(T),
    /// Nobody knows, or it may be asked again.
    Again(String),
    Failed(String),
}

/// A connection that is opened again when it is lost.
pub(super) struct HttpCaller {
    address: CallerAddress,
    stream: Option<TcpStream>,
}

impl HttpCaller {
    pub(super) fn new(address: CallerAddress) -> Self {
        Self { address, stream: None }
    }

    /// Appends lines of posts, `size` at a time, until the storm is over.
    pub(super) fn append(mut self, number: usize, size: usize, progress: &StormProgress) {
        let ids = ids();
        let mut count = 0;
        while !progress.is_over() {
            let summary = |line: usize| format!("post {number}.{}", count + line);
            let lines: Vec<NewLine> =
                (0..size).map(|line| new_line(&ids, &summary(line))).collect();
            let body = json!({"base": "any", "lines": lines}).to_string();
            let request = self.request("v1/append", "", &body);
            let asked = Instant::now();
            let numbers = self.until_told(&request, progress, |status, body| {
                outcome(status, body, |answer| {
                    let numbers: Vec<u64> =
                        answer["seqs"].as_array()?.iter().filter_map(Value::as_u64).collect();
                    (numbers.len() == size).then_some(numbers)
                })
            });
            let Some(numbers) = numbers else { return };
            progress.committed(asked, size, |known| {
                let keys = lines.iter().map(|line| line.key.to_string());
                known.lines.extend(keys.zip(numbers));
                known.posts.extend((0..size).map(summary));
            });
            count += size;
        }
    }

    /// Decides, as a rival of the other callers, until the storm is over.
    pub(super) fn decide(mut self, number: usize, progress: &StormProgress) {
        let mut count = 0;
        while !progress.is_over() {
            let summary = format!("use {number}.{count}");
            let arguments = decision(&summary, count / RIVALS);
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
                "name": "twining_decide", "arguments": arguments, "_meta": {
                    "io.modelcontextprotocol/protocolVersion": PROTOCOL,
                    "io.modelcontextprotocol/clientInfo": {"name": "storm", "version": "1"},
                    "io.modelcontextprotocol/clientCapabilities": {},
                },
            }})
            .to_string();
            let headers = format!(
                "accept: application/json, text/event-stream\r\n\
                 mcp-protocol-version: {PROTOCOL}\r\nmcp-method: tools/call\r\n\
                 mcp-name: twining_decide\r\n"
            );
            let request = self.request("mcp", &headers, &body);
            let asked = Instant::now();
            count += 1;
            let decided = self.once(&request, |status, body| {
                outcome(status, body, |answer| {
                    let id = &answer["result"]["structuredContent"]["id"];
                    id.as_str().map(str::to_owned)
                })
            });
            match decided {
                CallOutcome::Done(id) => {
                    progress.committed(asked, 1, |known| known.decisions.push((summary, id)));
                }
                // It may be there or not: another one is made, and this one is not looked for.
                CallOutcome::Again(why) => progress.retried(&why),
                CallOutcome::Failed(why) => return progress.failed(why),
            }
            thread::sleep(THINKING);
        }
    }

    /// Calls a tool once: its answer.
    pub(super) fn status(&mut self) -> io::Result<(u16, String)> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "twining_status", "arguments": {}, "_meta": {
                "io.modelcontextprotocol/protocolVersion": PROTOCOL,
                "io.modelcontextprotocol/clientInfo": {"name": "storm", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        }})
        .to_string();
        let headers = format!(
            "accept: application/json, text/event-stream\r\nmcp-protocol-version: {PROTOCOL}\r\n\
             mcp-method: tools/call\r\nmcp-name: twining_status\r\n"
        );
        let request = self.request("mcp", &headers, &body);
        self.send(&request)
    }

    fn request(&self, route: &str, headers: &str, body: &str) -> String {
        let CallerAddress { path, token, .. } = &self.address;
        format!(
            "POST {path}/{route} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\n{headers}content-length: {}\r\n\r\n{body}",
            body.len()
        )
    }

    /// Sends the same request until its outcome is known; none if it failed for good.
    fn until_told<T>(
        &mut self,
        request: &str,
        progress: &StormProgress,
        read: impl Fn(u16, &str) -> CallOutcome<T>,
    ) -> Option<T> {
        loop {
            match self.once(request, &read) {
                CallOutcome::Done(answer) => return Some(answer),
                CallOutcome::Again(why) => {
                    progress.retried(&why);
                    thread::sleep(PAUSE);
                }
                CallOutcome::Failed(why) => {
                    progress.failed(why);
                    return None;
                }
            }
        }
    }

    fn once<T>(
        &mut self,
        request: &str,
        read: impl FnOnce(u16, &str) -> CallOutcome<T>,
    ) -> CallOutcome<T> {
        match self.send(request) {
            Ok((status, body)) => read(status, &body),
            Err(error) => CallOutcome::Again(format!("{:?}", error.kind())),
        }
    }

    fn send(&mut self, request: &str) -> io::Result<(u16, String)> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => connect(self.address.port)?,
        };
        stream.write_all(request.as_bytes())?;
        let (answer, is_kept) = answer(&mut stream)?;
        self.stream = Some(stream).filter(|_| is_kept);
        Ok(answer)
    }
}

/// What a decision of these storms says: the same domain and place as its rivals.
pub(super) fn decision(summary: &str, place: usize) -> Value {
    json!({
        "domain": "storage", "scope": format!("src/part{place}/"), "summary": summary,
        "context": "a storm", "rationale": "it is as good as its rivals",
    })
}

fn new_line(ids: &IdSource, summary: &str) -> NewLine {
    NewLine { key: ids.next(), change: Change::of_entries(vec![records::entry(ids, summary)]) }
}

/// What an answer means. What is unavailable, too much or behind is asked again.
fn outcome<T>(status: u16, body: &str, read: impl FnOnce(&Value) -> Option<T>) -> CallOutcome<T> {
    let answer: Value = serde_json::from_str(body).unwrap_or_default();
    match status {
        200 => match read(&answer) {
            Some(answer) => CallOutcome::Done(answer),
            None => CallOutcome::Failed(format!("200 {body}")),
        },
        429 | 502 | 503 | 504 => CallOutcome::Again(status.to_string()),
        _ => CallOutcome::Failed(format!("{status} {body}")),
    }
}

fn connect(port: u16) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(ANSWER_LIMIT))?;
    Ok(stream)
}

/// Status and body, and whether the connection is kept.
fn answer(stream: &mut TcpStream) -> io::Result<((u16, String), bool)> {
    let mut received = Vec::new();
    let mut chunk = [0; 16 * 1024];
    let (head, body) = loop {
        if let Some(end) = received.windows(4).position(|at| at == b"\r\n\r\n") {
            break (String::from_utf8_lossy(&received[..end]).to_ascii_lowercase(), end + 4);
        }
        receive(stream, &mut chunk, &mut received)?;
    };
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length: Option<usize> = length.and_then(|length| length.trim().parse().ok());
    let (Some(status), Some(length)) = (status, length) else {
        return Err(io::Error::other("no status or length"));
    };
    while received.len() < body + length {
        receive(stream, &mut chunk, &mut received)?;
    }
    let text = String::from_utf8_lossy(&received[body..body + length]).into_owned();
    Ok(((status, text), !head.contains("connection: close")))
}

fn receive(stream: &mut TcpStream, chunk: &mut [u8], into: &mut Vec<u8>) -> io::Result<()> {
    match stream.read(chunk)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        length => {
            into.extend_from_slice(&chunk[..length]);
            Ok(())
        }
    }
}
