//! HTTP/1.1 on a connection that is kept: as little of it as a load needs.

use std::io;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const PROTOCOL: &str = "2026-07-28";
const HEAD_END: &[u8] = b"\r\n\r\n";

/// A connection to a node.
pub(super) struct HttpConnection {
    port: u16,
    stream: Option<TcpStream>,
    received: Vec<u8>,
    /// Times that the node had closed it and it was opened again.
    pub(super) reopened: usize,
}

/// What a node answered.
pub(super) struct HttpAnswer {
    pub(super) status: u16,
    pub(super) body: String,
}

impl HttpAnswer {
    /// Whether a tool did what it was asked.
    pub(super) fn is_done(&self) -> bool {
        self.status == 200 && !self.body.contains("\"isError\":true")
    }

    pub(super) fn json(&self) -> io::Result<Value> {
        serde_json::from_str(&self.body).map_err(io::Error::other)
    }
}

impl HttpConnection {
    pub(super) async fn open(port: u16) -> io::Result<Self> {
        let stream = Some(connect(port).await?);
        Ok(Self { port, stream, received: Vec::new(), reopened: 0 })
    }

    /// Sends a request and reads its answer. A node closes a connection that was idle for a while:
    /// then the request is sent on a new one, as every client does.
    pub(super) async fn send(&mut self, request: &str) -> io::Result<HttpAnswer> {
        loop {
            let kept = self.stream.take().filter(is_open);
            let was_kept = kept.is_some();
            let mut stream = match kept {
                Some(stream) => stream,
                None => {
                    self.reopened += 1;
                    connect(self.port).await?
                }
            };
            match self.exchange(&mut stream, request).await {
                Ok(answer) => {
                    self.stream = Some(stream);
                    return Ok(answer);
                }
                Err(_) if was_kept && self.received.is_empty() => {}
                Err(error) => return Err(error),
            }
        }
    }

    async fn exchange(&mut self, stream: &mut TcpStream, request: &str) -> io::Result<HttpAnswer> {
        self.received.clear();
        stream.write_all(request.as_bytes()).await?;
        let head = loop {
            let found = self.received.windows(HEAD_END.len()).position(|at| at == HEAD_END);
            if let Some(end) = found {
                break end;
            }
            self.receive(stream).await?;
        };
        let text = String::from_utf8_lossy(&self.received[..head]).to_ascii_lowercase();
        let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
        let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length: Option<usize> = length.and_then(|length| length.trim().parse().ok());
        let (Some(status), Some(length)) = (status, length) else {
            return Err(io::Error::other(format!("no status or length in: {text}")));
        };
        let body = head + HEAD_END.len();
        while self.received.len() < body + length {
            self.receive(stream).await?;
        }
        let body = String::from_utf8_lossy(&self.received[body..body + length]).into_owned();
        Ok(HttpAnswer { status, body })
    }

    async fn receive(&mut self, stream: &mut TcpStream) -> io::Result<()> {
        match stream.read_buf(&mut self.received).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

async fn connect(port: u16) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Whether the other side has not closed it yet.
fn is_open(stream: &TcpStream) -> bool {
    matches!(stream.try_read(&mut [0]), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
}

/// A question for lines.
pub(super) fn get_request(path: &str, token: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n")
}

/// A call of a tool, in the era of the protocol without sessions.
pub(super) fn tool_request(path: &str, token: &str, tool: &str, arguments: &Value) -> String {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": tool, "arguments": arguments, "_meta": {
            "io.modelcontextprotocol/protocolVersion": PROTOCOL,
            "io.modelcontextprotocol/clientInfo": {"name": "figures", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    }})
    .to_string();
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
         mcp-protocol-version: {PROTOCOL}\r\nmcp-method: tools/call\r\nmcp-name: {tool}\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
}
