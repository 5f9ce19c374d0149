//! A definition: a named piece of code, where it is, and what it hashes to.

use xxhash_rust::xxh3::xxh3_64;

use crate::kind::DefinitionKind;
use crate::lexer::TokenStream;
use crate::sketch::{Sketch, TokenSpan};
use crate::walk::Outline;

/// A named piece of code.
///
/// Comments, docstrings, white space and the definition's own name count for nothing in its
/// hashes; definitions inside it count into its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// `Outer.inner`; empty for a whole file.
    pub name: String,
    /// Which one of that name in the file, from 1.
    pub nth: u32,
    /// What it is.
    pub kind: DefinitionKind,
    /// Its first line, from 1, with decorators and attributes.
    pub first_line: u32,
    /// Its last line.
    pub last_line: u32,
    /// Hash of the tokens before and behind the body, with decorators and attributes.
    pub signature: u64,
    /// Hash of the tokens of the body.
    pub body: u64,
    /// How many tokens signature and body have.
    pub tokens: u32,
    /// For the likeness to another version.
    pub sketch: Sketch,
}

impl Definition {
    /// The last part of its name.
    #[must_use]
    pub fn last_name(&self) -> &str {
        self.name.rsplit('.').next().unwrap_or(&self.name)
    }

    /// Its place inside a file: the name, and `~2` for the second of that name.
    #[must_use]
    pub fn place(&self) -> String {
        if self.nth > 1 { format!("{}~{}", self.name, self.nth) } else { self.name.clone() }
    }

    /// Whether signature and body are the same as another's.
    #[must_use]
    pub fn is_same_code(&self, other: &Self) -> bool {
        self.signature == other.signature && self.body == other.body
    }

    /// The whole of a file.
    pub(crate) fn of_file(tokens: &TokenStream, last_line: u32, sketch: Sketch) -> Self {
        Self {
            name: String::new(),
            nth: 1,
            kind: DefinitionKind::File,
            first_line: 1,
            last_line,
            signature: xxh3_64(b""),
            body: xxh3_64(tokens.texts(0..tokens.len())),
            tokens: count(tokens.len()),
            sketch,
        }
    }

    /// What a grammar outlined, with the hashes of its tokens.
    pub(crate) fn of_outline(
        outline: Outline,
        nth: u32,
        span: TokenSpan,
        tokens: &TokenStream,
        sketch: Sketch,
    ) -> Self {
        let Outline { name, kind, first_line, last_line, body, .. } = outline;
        let TokenSpan { all, own_name } = span;
        let body = body.map_or(all.end..all.end, |body| tokens.between(body));
        // A typedef of C has its name behind its body; all others before it.
        let (hole, other) = if own_name.start < body.start {
            (own_name.clone(), body.clone())
        } else {
            (body.clone(), own_name.clone())
        };
        let pieces = [all.start..hole.start, hole.end..other.start, other.end..all.end];
        let signature: Vec<u8> =
            pieces.into_iter().flat_map(|piece| tokens.texts(piece)).copied().collect();
        Self {
            name,
            nth,
            kind,
            first_line,
            last_line,
            signature: xxh3_64(&signature),
            body: xxh3_64(tokens.texts(body)),
            tokens: count(all.len() - own_name.len()),
            sketch,
        }
    }
}

fn count(tokens: usize) -> u32 {
    u32::try_from(tokens).unwrap_or(u32::MAX)
}
