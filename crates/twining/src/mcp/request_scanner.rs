//! Finds the id of a request that cannot be parsed.
//!
//! A parser drops a request that is too long, too deep or invalid JSON, and its client would wait
//! forever. The id is at the top level, so one pass over the bytes, in constant space, finds it.

use rmcp::model::RequestId;

/// No id or method of a sane client is longer.
const TOKEN_BYTES: usize = 256;

/// One pass over the bytes of a line.
#[derive(Debug, Default)]
pub(super) struct RequestScanner {
    depth: usize,
    deepest: usize,
    quoted: bool,
    escaped: bool,
    token: Vec<u8>,
    key: Vec<u8>,
    id: Vec<u8>,
    method: Vec<u8>,
}

impl RequestScanner {
    /// A pass over a whole line.
    pub(super) fn of(line: &[u8]) -> Self {
        let mut salvage = Self::default();
        salvage.feed(line);
        salvage
    }

    /// Goes on with the next bytes of the line.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.step(byte);
        }
    }

    /// The request's id, if the line is a request at all.
    pub(super) fn id(&self) -> Option<RequestId> {
        if self.method.is_empty() {
            return None;
        }
        serde_json::from_slice(&self.id).ok()
    }

    /// Whether the request calls a tool.
    pub(super) fn calls_a_tool(&self) -> bool {
        self.method == br#""tools/call""#
    }

    /// How deep the line is nested.
    pub(super) fn deepest(&self) -> usize {
        self.deepest
    }

    fn step(&mut self, byte: u8) {
        if self.quoted {
            self.keep(byte);
            self.quoted = self.escaped || byte != b'"';
            self.escaped = !self.escaped && byte == b'\\';
            return;
        }
        match byte {
            b'"' => {
                self.quoted = true;
                self.keep(byte);
            }
            b'{' | b'[' => {
                self.depth += 1;
                self.deepest = self.deepest.max(self.depth);
                self.token.clear();
            }
            b'}' | b']' => {
                self.settle();
                self.depth = self.depth.saturating_sub(1);
            }
            b':' if self.depth == 1 => self.key = std::mem::take(&mut self.token),
            b',' => self.settle(),
            b' ' | b'\t' | b'\r' => {}
            _ => self.keep(byte),
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth == 1 && self.token.len() < TOKEN_BYTES {
            self.token.push(byte);
        }
    }

    fn settle(&mut self) {
        if self.depth != 1 {
            return;
        }
        let value = std::mem::take(&mut self.token);
        match std::mem::take(&mut self.key).as_slice() {
            br#""id""# if !value.is_empty() => self.id = value,
            br#""method""# if !value.is_empty() => self.method = value,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::mcp::request_scanner::*;
    use twining_testcases::each;

    #[test]
    fn the_id_is_found_wherever_it_stands() {
        each(
            [
                r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"id":9}}"#,
                r#"{"params":{"a":[{"id":1,"method":"x"}]},"method" : "tools/call", "id" : 7 }"#,
                r#"{"method":"tools/call","params":{"t":"}],\"id\":3,"},"id":7}"#,
            ],
            |line| {
                let salvage = RequestScanner::of(line.as_bytes());
                assert_eq!(salvage.id(), Some(RequestId::Number(7)), "{line}");
                assert!(salvage.calls_a_tool());
            },
        );
    }

    #[test]
    fn what_is_no_request_is_not_answered() {
        assert_eq!(RequestScanner::of(br#"{"id":7,"result":{}}"#).id(), None);
        assert_eq!(RequestScanner::of(b"\xff\xfe garbage ]]]] }").id(), None);
        assert_eq!(RequestScanner::of(br#"{"method":"notifications/initialized"}"#).id(), None);
    }

    #[test]
    fn depth_is_counted_without_a_stack() {
        let deep = format!(
            r#"{{"id":"a","method":"tools/call","params":{}{}}}"#,
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        let salvage = RequestScanner::of(deep.as_bytes());
        assert_eq!(salvage.deepest(), 100_001);
        assert_eq!(salvage.id(), Some(RequestId::String("a".into())));
    }
}
