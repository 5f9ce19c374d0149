//! JSON-RPC, one message a line, over two streams.
//!
//! As rmcp's own transport, but no request goes unanswered: one that is too
//! long, too deep or not JSON gets an error under its own id. Notifications
//! that come before the first request are let pass instead of ending the server.

use std::io;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, GetMeta, ProtocolVersion,
    ServerJsonRpcMessage, ServerResult,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::de::IgnoredAny;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;
use twining_model::{InvalidInput, limits, text};

use super::request_scanner::RequestScanner;
use super::tool_list;
use crate::render::command_error::CommandError;
use crate::verbs::serde_messages;

/// Bytes kept of a line. More than a request may have, so that the error for a slightly oversized
/// one can name the field.
const LINE_BYTES: usize = 16 * limits::RECORD_BYTES;

/// The transport.
pub(super) struct LineTransport<R, W> {
    input: BufReader<R>,
    line: Vec<u8>,
    /// Set while the rest of a line that is too long goes by.
    passing: Option<RequestScanner>,
    output: Arc<Mutex<W>>,
    opened: bool,
}

/// What one step of reading came to.
enum ReadStep {
    More,
    Line,
    TooLong(RequestScanner),
}

impl<R: AsyncRead + Unpin + Send, W: AsyncWrite + Unpin + Send + 'static> LineTransport<R, W> {
    /// Messages in from one stream, out to another.
    pub(super) fn new(input: R, output: W) -> Self {
        Self {
            input: BufReader::new(input),
            line: Vec::new(),
            passing: None,
            output: Arc::new(Mutex::new(output)),
            opened: false,
        }
    }

    /// Reads to the end of a line. Dropped half-way (the caller selects over
    /// us), it goes on where it was: bytes are taken only after the wait.
    async fn next_line(&mut self) -> Option<ReadStep> {
        let available = self.input.fill_buf().await.ok().filter(|bytes| !bytes.is_empty())?;
        let end = available.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(available.len(), |end| end + 1);
        let bytes = &available[..end.unwrap_or(taken)];
        if let Some(salvage) = &mut self.passing {
            salvage.feed(bytes);
        } else if self.line.len() + bytes.len() > LINE_BYTES {
            let mut salvage = RequestScanner::of(&std::mem::take(&mut self.line));
            salvage.feed(bytes);
            self.passing = Some(salvage);
        } else {
            self.line.extend_from_slice(bytes);
        }
        self.input.consume(taken);
        Some(match (end, self.passing.take_if(|_| end.is_some())) {
            (None, _) => ReadStep::More,
            (Some(_), Some(salvage)) => ReadStep::TooLong(salvage),
            (Some(_), None) => ReadStep::Line,
        })
    }

    /// Reads one message, or answers what cannot be one.
    fn read_message(&mut self) -> Option<ClientJsonRpcMessage> {
        let line = self.line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&self.line);
        if line.iter().all(u8::is_ascii_whitespace) {
            return None;
        }
        let error = match serde_json::from_slice::<ClientJsonRpcMessage>(line) {
            Ok(message) => return self.admits(&message).then_some(message),
            Err(error) => error,
        };
        let salvage = RequestScanner::of(line);
        let refused = if salvage.deepest() > limits::JSON_DEPTH {
            InvalidInput::new(
                "request",
                format!("may be nested at most {} deep", limits::JSON_DEPTH),
            )
            .because(format!("{} were given", salvage.deepest()))
        } else {
            InvalidInput::new("request", "must be a JSON-RPC 2.0 message on one line")
                .because(&error)
        };
        if salvage.id().is_none() && serde_json::from_slice::<IgnoredAny>(line).is_err() {
            self.answer_nobody(&error);
        } else {
            self.answer(&salvage, &refused);
        }
        None
    }

    /// Answers a line that is no JSON at all. Nobody knows whose it was, so the id is
    /// null, as JSON-RPC wants it; rmcp would leave it out.
    fn answer_nobody(&self, error: &serde_json::Error) {
        let message = format!(
            "Parse error: expected a JSON-RPC 2.0 message on one line; {}",
            serde_messages::plain_message(&error.to_string())
        );
        let answer = json!({"jsonrpc": "2.0", "id": null, "error": {"code": ErrorCode::PARSE_ERROR.0, "message": text::excerpt(&message, 300)}});
        tokio::spawn(write_line(self.output.clone(), answer.to_string().into_bytes()));
    }

    /// Whether rmcp takes the message: until a conversation is open it takes
    /// requests only, and gives up on anything else.
    fn admits(&mut self, message: &ClientJsonRpcMessage) -> bool {
        if self.opened {
            return true;
        }
        let ClientJsonRpcMessage::Request(request) = message else { return false };
        self.opened = match &request.request {
            ClientRequest::InitializeRequest(_) => true,
            ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
            other => {
                let meta = other.get_meta();
                let known =
                    |version: ProtocolVersion| ProtocolVersion::KNOWN_VERSIONS.contains(&version);
                meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty()
                    && meta.protocol_version().is_some_and(known)
            }
        };
        true
    }

    /// Answers a request that could not be read, if its id could.
    fn answer(&self, salvage: &RequestScanner, refused: &InvalidInput) {
        let Some(id) = salvage.id() else { return };
        let message = if salvage.calls_a_tool() {
            let mut result = tool_list::failed(&CommandError::refused(refused));
            // Absent means complete, in every version of the protocol.
            result.result_type = None;
            ServerJsonRpcMessage::response(ServerResult::CallToolResult(result), id)
        } else {
            ServerJsonRpcMessage::error(
                ErrorData::invalid_request(refused.to_string(), None),
                Some(id),
            )
        };
        // Not awaited here: the caller may drop us at any wait.
        tokio::spawn(write(self.output.clone(), message));
    }
}

impl<R: AsyncRead + Unpin + Send, W: AsyncWrite + Unpin + Send + 'static> Transport<RoleServer>
    for LineTransport<R, W>
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        write(self.output.clone(), message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            match self.next_line().await? {
                ReadStep::More => {}
                ReadStep::TooLong(salvage) => {
                    let refused = InvalidInput::new(
                        "request",
                        format!("must be at most {} bytes", limits::RECORD_BYTES),
                    );
                    self.answer(&salvage, &refused);
                }
                ReadStep::Line => {
                    let message = self.read_message();
                    self.line.clear();
                    self.line.shrink_to(limits::RECORD_BYTES);
                    if message.is_some() {
                        return message;
                    }
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output.lock().await.flush().await
    }
}

/// Writes a message and its newline at once: two writers never mix.
async fn write<W: AsyncWrite + Unpin>(
    output: Arc<Mutex<W>>,
    mut message: ServerJsonRpcMessage,
) -> io::Result<()> {
    let tools = tool_list::PublishedTools::take_from(&mut message);
    write_line(output, tools.put_into(serde_json::to_vec(&message)?)).await
}

async fn write_line<W: AsyncWrite + Unpin>(
    output: Arc<Mutex<W>>,
    mut line: Vec<u8>,
) -> io::Result<()> {
    line.push(b'\n');
    let mut output = output.lock().await;
    output.write_all(&line).await?;
    output.flush().await
}
