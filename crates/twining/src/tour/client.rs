//! A small MCP client: one child process, one JSON message per line, one request at a time. It
//! supports both eras of the protocol, as agents do.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use twining_model::limits;

/// How a client opens the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProtocolEra {
    /// With `initialize`, as up to 2025-11-25.
    Handshake,
    /// With `server/discover` and metadata on each request, as of 2026-07-28.
    Stateless,
}

/// What went wrong between client and server.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    /// The server could not be started.
    #[error("cannot start `{program}`")]
    Start {
        /// Which program.
        program: String,
        /// The underlying I/O error.
        source: io::Error,
    },
    /// The pipe broke.
    #[error("the server closed the connection")]
    Gone(#[from] io::Error),
    /// The server answered with a protocol error, or not with JSON-RPC.
    #[error("`{method}` was answered with {answer}")]
    Unexpected {
        /// What was asked.
        method: String,
        /// What came back.
        answer: String,
    },
}

/// A connected agent.
pub(crate) struct McpClient {
    /// Whose it is.
    pub(super) name: &'static str,
    era: ProtocolEra,
    server: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    asked: u64,
}

impl McpClient {
    /// Starts a server for the agent `name` and opens the conversation.
    pub(crate) fn start(
        program: &Path,
        project: &Path,
        name: &'static str,
        era: ProtocolEra,
    ) -> Result<Self, ClientError> {
        let mut command = Command::new(program);
        command
            .arg("mcp")
            .arg("--project")
            .arg(project)
            .args(["--agent", name])
            .env_remove("CLAUDE_CODE_SESSION_ID");
        Self::open(command, name, era)
    }

    /// Starts a server as a host would, and opens the conversation.
    pub(crate) fn open(
        mut command: Command,
        name: &'static str,
        era: ProtocolEra,
    ) -> Result<Self, ClientError> {
        let program = command.get_program().to_string_lossy().into_owned();
        let mut server = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|source| ClientError::Start { program, source })?;
        let (Some(input), Some(output)) = (server.stdin.take(), server.stdout.take()) else {
            return Err(ClientError::Gone(io::ErrorKind::BrokenPipe.into()));
        };
        let mut client = Self {
            name,
            era,
            server,
            input: Some(input),
            output: BufReader::new(output),
            asked: 0,
        };
        match era {
            ProtocolEra::Handshake => {
                let about = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client.client_info()});
                client.ask("initialize", about)?;
                client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
            }
            ProtocolEra::Stateless => {
                client.ask("server/discover", json!({}))?;
            }
        }
        Ok(client)
    }

    /// The names of the tools it is offered.
    pub(crate) fn tools(&mut self) -> Result<Vec<String>, ClientError> {
        let listed = self.ask("tools/list", json!({}))?;
        let tools = listed["tools"].as_array().into_iter().flatten();
        Ok(tools.filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect())
    }

    /// Calls a tool; a failure of the tool is an answer too.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value, ClientError> {
        let result = self.ask("tools/call", json!({"name": tool, "arguments": arguments}))?;
        Ok(result["structuredContent"].clone())
    }

    /// Closes the server's input and waits until it is gone.
    pub(crate) fn leave(mut self) -> io::Result<()> {
        drop(self.input.take());
        self.server.wait().map(drop)
    }

    fn client_info(&self) -> Value {
        json!({"name": format!("twining-{}", self.name), "version": env!("CARGO_PKG_VERSION")})
    }

    fn ask(&mut self, method: &str, mut params: Value) -> Result<Value, ClientError> {
        self.asked += 1;
        if self.era == ProtocolEra::Stateless {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": self.client_info(),
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        self.send(
            &json!({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params}),
        )?;
        let answer = self.receive()?;
        match answer.get("result") {
            Some(result) if answer["id"] == self.asked => Ok(result.clone()),
            _ => Err(ClientError::Unexpected {
                method: method.to_owned(),
                answer: answer.to_string(),
            }),
        }
    }

    fn send(&mut self, message: &Value) -> Result<(), ClientError> {
        let Some(input) = &mut self.input else {
            return Err(ClientError::Gone(io::ErrorKind::BrokenPipe.into()));
        };
        input.write_all(format!("{message}\n").as_bytes())?;
        Ok(input.flush()?)
    }

    fn receive(&mut self) -> Result<Value, ClientError> {
        let mut line = String::new();
        let limit = u64::try_from(4 * limits::ANSWER_BYTES).unwrap_or(u64::MAX);
        if (&mut self.output).take(limit).read_line(&mut line)? == 0 {
            return Err(ClientError::Gone(io::ErrorKind::UnexpectedEof.into()));
        }
        serde_json::from_str(&line).map_err(|error| ClientError::Gone(error.into()))
    }
}

impl Drop for McpClient {
    /// A tour that stops half-way leaves no server behind.
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.server.wait();
    }
}
