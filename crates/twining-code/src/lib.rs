//! Definitions of source code: bytes in, definitions out. No disk, no environment, and no knowledge
//! of who asks.
//!
//! ```
//! use twining_code::{likeness, read_source};
//!
//! let before = read_source("a.py", b"class Hash:\n    def salted(self, text):\n        return md5(salt + text)\n");
//! let after = read_source("a.py", b"class Hash:\n    # slow on purpose\n    def salted(self, text,):\n        return (md5(salt + text))\n");
//! assert_eq!(before.definitions[1].name, "Hash.salted");
//! assert_eq!(before.definitions[1].body, after.definitions[1].body);
//! ```
//!
//! # From bytes to definitions
//!
//! ```text
//! bytes ─ grammar ─▶ tree ─ walk ─▶ outlines ─┐
//!    └─── lexer ───▶ tokens ──────────────────┴▶ definitions: hashes, sketch
//! ```
//!
//! - **grammar**: tree-sitter tells where definitions begin and end, and where their bodies are.
//!   One table of node kinds serves all grammars.
//! - **lexer**: tokens by rules of our own, so that a new version of a grammar changes no hash.
//!   Comments, docstrings, white space and what formatters add are no tokens. A change of these
//!   rules changes [`TOKEN_RULES`].
//! - **sketch**: 32 bytes that tell how alike two versions are.
//! - **freshness**: what a change means for what was said about the code.
//!
//! # Hostile input
//!
//! Source is not trusted and the parsers are C. Size, steps and time are limited, and no
//! function recurses over the tree. What cannot be parsed within its limits is read as one definition,
//! the whole file, and marked as coarse.

mod blob;
mod definition;
mod excerpt;
mod freshness;
mod grammar;
mod kind;
mod language;
mod lexer;
mod sketch;
mod source;
mod walk;

pub use blob::blob_id;
pub use definition::Definition;
pub use excerpt::{Excerpt, line_hashes};
pub use freshness::{Doubt, Freshness, Judgement, Sighting, judge};
pub use kind::DefinitionKind;
pub use language::Language;
pub use sketch::{FEWEST_TOKENS, Sketch, likeness};
pub use source::{LARGEST_FILE, LONGEST_LINE, SourceFile, read_source};

/// The version of the rules by which tokens are made. Hashes and sketches of another version say
/// nothing about today's; compute them again from the bytes.
pub const TOKEN_RULES: u32 = 1;
