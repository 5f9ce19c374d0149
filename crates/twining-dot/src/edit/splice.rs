//! Replacing pieces of a text, all at once.

use crate::charset::Charset;
use crate::span::Span;

/// Pieces to replace, in any order. Where two overlap, the earlier rules and the
/// rest of the later one still counts; an insertion is never lost.
#[derive(Debug, Default)]
pub(crate) struct Splices(Vec<(Span, String)>);

impl Splices {
    pub fn replace(&mut self, span: Span, text: impl Into<String>) {
        self.0.push((span, text.into()));
    }

    pub fn insert(&mut self, at: usize, text: impl Into<String>) {
        self.replace(Span::new(at, at), text);
    }

    pub fn remove(&mut self, span: Span) {
        self.replace(span, String::new());
    }

    /// The source between two offsets with every piece in it replaced.
    pub fn apply(mut self, source: &[u8], within: Span, charset: Charset) -> Result<Vec<u8>, char> {
        self.0.sort_by_key(|(span, _)| *span);
        self.apply_sorted(source, within, charset)
    }

    /// As [`apply`](Self::apply); a piece that starts before the range counts from its start.
    pub fn apply_from(mut self, source: &[u8], within: Span, charset: Charset) -> Result<Vec<u8>, char> {
        for (span, _) in &mut self.0 {
            span.start = span.start.max(within.start);
        }
        self.apply(source, within, charset)
    }

    fn apply_sorted(self, source: &[u8], within: Span, charset: Charset) -> Result<Vec<u8>, char> {
        let mut out = Vec::with_capacity(within.end - within.start);
        let mut at = within.start;
        for (span, text) in self.0 {
            if span.start > at {
                out.extend_from_slice(&source[at..span.start]);
            }
            let text = charset.encode(&text)?;
            // What stood apart must not become one id: `a"b"c` without "b" is not `ac`.
            if joins_tokens(out.last().copied()) && joins_tokens(text.first().copied()) {
                out.push(b' ');
            }
            let changed = !text.is_empty() || span.end > span.start;
            out.extend(text);
            if changed && joins_tokens(out.last().copied()) && joins_tokens(source.get(span.end.max(at)).copied()) {
                out.push(b' ');
            }
            at = at.max(span.end);
        }
        out.extend_from_slice(&source[at.min(within.end)..within.end]);
        Ok(out)
    }
}

fn joins_tokens(byte: Option<u8>) -> bool {
    byte.is_some_and(|byte| crate::lexer::is_letter(byte) || byte.is_ascii_digit() || matches!(byte, b'-' | b'.'))
}
