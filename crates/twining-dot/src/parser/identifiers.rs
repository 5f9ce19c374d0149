//! Ids as they are spelled: bare, numeral, quoted, HTML, joined.

use std::sync::Arc;

use crate::charset::Charset;
use crate::diagnostics::Span;
use crate::id::DotId;
use crate::lexer::TokenKind;
use crate::syntax::SpelledId;

use super::parse::{DotParser, ParseResult};

/// Texts met lately, so that names that repeat thousands of times are stored once.
///
/// A place for each of a few, and the latest wins: unlike a map it never grows, and no
/// choice of names makes it slow.
pub(super) struct IdInterner<'a>(Vec<Option<(&'a [u8], Arc<str>)>>);

impl<'a> IdInterner<'a> {
    const PLACES: usize = 1024;
    const LONGEST: usize = 32;

    pub(super) fn new() -> Self {
        Self(vec![None; Self::PLACES])
    }

    fn get(&mut self, bytes: &'a [u8], charset: Charset) -> Arc<str> {
        let decoded = || Arc::from(charset.decode(bytes).as_ref());
        if bytes.len() > Self::LONGEST {
            return decoded();
        }
        let mixed = bytes.iter().fold(bytes.len(), |mixed, &byte| {
            mixed.wrapping_mul(31).wrapping_add(usize::from(byte))
        });
        let place = &mut self.0[mixed % Self::PLACES];
        match place {
            Some((known, text)) if *known == bytes => Arc::clone(text),
            _ => Arc::clone(&place.insert((bytes, decoded())).1),
        }
    }
}

impl DotParser<'_> {
    pub(super) fn id(&mut self) -> ParseResult<SpelledId> {
        let first = self.token;
        let inner =
            |span: Span| Span::new(span.start + 1, span.end.saturating_sub(1).max(span.start + 1));
        let (text, html) = match first.kind {
            TokenKind::Bare | TokenKind::Number => (self.shared(first.span), false),
            TokenKind::Html if first.closed => (self.shared(inner(first.span)), true),
            TokenKind::Quoted if first.closed => (self.unescaped(inner(first.span)), false),
            // Already complained of; its line is used up as the text.
            TokenKind::Html | TokenKind::Quoted => {
                (self.shared(Span::new(first.span.start + 1, first.span.end)), false)
            }
            _ => return self.fail(format!("expected an id, found {}", self.found())),
        };
        self.bump();
        let mut spelled = SpelledId { id: DotId::read(text, html), span: first.span };
        if first.kind == TokenKind::Quoted && self.at(b'+') {
            let mut joined = spelled.id.as_str().to_owned();
            while self.eat(b'+') {
                if self.token.kind != TokenKind::Quoted {
                    return self
                        .fail(format!("`+` joins only quoted strings, found {}", self.found()));
                }
                let part = self.unescaped(inner(self.token.span));
                joined.push_str(&part);
                spelled.span.end = self.token.span.end;
                self.bump();
            }
            spelled.id = DotId::read(joined.into(), false);
        }
        Ok(spelled)
    }

    fn shared(&mut self, span: Span) -> Arc<str> {
        let bytes = span.of(self.source);
        self.known.get(bytes, self.charset)
    }

    fn unescaped(&mut self, span: Span) -> Arc<str> {
        let bytes = span.of(self.source);
        if !bytes.contains(&b'\\') {
            return self.shared(span);
        }
        let mut kept = Vec::with_capacity(bytes.len());
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            rest = match (byte, after) {
                (b'\\', [b'"', after @ ..]) => {
                    kept.push(b'"');
                    after
                }
                (b'\\', [b'\\', after @ ..]) => {
                    kept.extend_from_slice(b"\\\\");
                    after
                }
                (b'\\', [b'\n', after @ ..] | [b'\r', b'\n', after @ ..]) => after,
                _ => {
                    kept.push(byte);
                    after
                }
            };
        }
        Arc::from(self.charset.decode(&kept).as_ref())
    }
}
