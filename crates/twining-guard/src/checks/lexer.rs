//! A text as comments, strings, words and signs, in every language alike: no parser,
//! just enough that a word in a comment is no import and a formatter's run no edit.
//!
//! The text need not be valid: an unclosed string ends with its line. Time is linear.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memmem};
use serde_json::Value;

use super::languages::{LanguageFamily, LanguageRules};

/// Bytes of a regular expression that are looked through for its end.
const MAX_PATTERN: usize = 1_000;

/// A part of a text that is not layout.
pub(super) struct CodeToken {
    pub(super) range: Range<usize>,
    pub(super) kind: CodeTokenKind,
    /// Its column, if it is the first on its line.
    pub(super) column: Option<usize>,
}

pub(super) enum CodeTokenKind {
    Comment,
    /// A string or a regular expression, and what is inside of its quotes.
    String(Range<usize>),
    /// A word, or one sign.
    Code,
}

/// The tokens of a text, one after another.
pub(super) struct CodeLexer<'t> {
    bytes: &'t [u8],
    at: usize,
    language: &'static LanguageRules,
    /// Where the line began, until its first token is found.
    line: Option<usize>,
    /// Whether a comment was found that never ends, so that no other is looked for.
    is_endless: bool,
}

impl Iterator for CodeLexer<'_> {
    type Item = CodeToken;

    fn next(&mut self) -> Option<CodeToken> {
        while let Some(byte) = self.bytes.get(self.at).filter(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
            self.line = if *byte == b'\n' { Some(self.at) } else { self.line };
        }
        let start = self.at;
        let rest = self.bytes.get(start..).filter(|rest| !rest.is_empty())?;
        let mut kind = CodeTokenKind::Comment;
        self.at = match self.comment_end(rest) {
            Some(end) => end,
            None => match self.string(rest) {
                Some((inside, end)) => {
                    kind = CodeTokenKind::String(inside);
                    end
                }
                None => {
                    kind = CodeTokenKind::Code;
                    start + rest.iter().take_while(|byte| is_word(**byte)).count().max(1)
                }
            },
        };
        let column = if matches!(kind, CodeTokenKind::Comment) { None } else { self.line.take() };
        Some(CodeToken { range: start..self.at, kind, column: column.map(|line| start - line) })
    }
}

impl<'t> CodeLexer<'t> {
    pub(super) fn new(text: &'t str, language: &'static LanguageRules) -> Self {
        Self { bytes: text.as_bytes(), at: 0, language, line: Some(0), is_endless: false }
    }

    fn comment_end(&mut self, rest: &[u8]) -> Option<usize> {
        let is_line = match self.language.family {
            LanguageFamily::Python => rest.starts_with(b"#"),
            // `$#` and `${x#y}` are no comments.
            LanguageFamily::Hash => {
                rest.starts_with(b"#")
                    && (self.at == 0 || self.bytes[self.at - 1].is_ascii_whitespace())
            }
            LanguageFamily::Dashes => rest.starts_with(b"--"),
            _ => rest.starts_with(b"//"),
        };
        if is_line {
            return Some(self.at + memchr(b'\n', rest).unwrap_or(rest.len()));
        }
        let has_blocks = !self.language.has_hash_comments() && !self.is_endless;
        if !has_blocks || !rest.starts_with(b"/*") {
            return None;
        }
        // One that never ends is none.
        let length = memmem::find(&rest[2..], b"*/").map(|length| length + 4);
        self.is_endless = length.is_none();
        length.map(|length| self.at + length)
    }

    /// The inside of the string that begins here, and its end.
    fn string(&self, rest: &[u8]) -> Option<(Range<usize>, usize)> {
        let (start, quote, language) = (self.at, rest[0], self.language);
        if quote == b'/' && language.family == LanguageFamily::Script {
            return self.pattern(rest);
        }
        let is_rust = language.family == LanguageFamily::Rust;
        let is_lifetime =
            is_rust && quote == b'\'' && rest.get(1) != Some(&b'\\') && rest.get(2) != Some(&b'\'');
        if !matches!(quote, b'"' | b'\'' | b'`') || is_lifetime {
            return None;
        }
        let hashes = self.bytes[..start].iter().rev().take_while(|byte| **byte == b'#').count();
        let prefix = &self.bytes[..start - hashes];
        if is_rust && prefix.ends_with(b"r") {
            let closing = format!("\"{}", "#".repeat(hashes));
            let length = memmem::find(&rest[1..], closing.as_bytes());
            let inside = length.map_or(self.bytes.len(), |length| start + 1 + length);
            return Some((start + 1..inside, (inside + closing.len()).min(self.bytes.len())));
        }
        // In C#'s `@"…"` a quote is doubled, not escaped.
        let is_verbatim = language.is("cs") && (prefix.ends_with(b"@") || prefix.ends_with(b"@$"));
        let is_raw = quote == b'`' && language.family != LanguageFamily::Script;
        let width = if rest.starts_with(&[quote; 3]) && !is_verbatim { 3 } else { 1 };
        let is_multiline = width == 3 || is_verbatim || language.has(char::from(quote));
        let mut at = start + width;
        while let Some(byte) = self.bytes.get(at).filter(|byte| is_multiline || **byte != b'\n') {
            let is_escape = if is_verbatim {
                self.bytes[at..].starts_with(b"\"\"")
            } else {
                *byte == b'\\' && !is_raw
            };
            if !is_escape && self.bytes[at..].starts_with(&[quote; 3][..width]) {
                return Some((start + width..at, at + width));
            }
            at += 1 + usize::from(is_escape);
        }
        let end = at.min(self.bytes.len());
        Some(((start + width).min(end)..end, end))
    }

    /// A regular expression of JavaScript, in which `/*` opens no comment.
    fn pattern(&self, rest: &[u8]) -> Option<(Range<usize>, usize)> {
        let before = self.bytes[..self.at].trim_ascii_end().last();
        if !before.is_none_or(|byte| b"(,=:[!&|?{};+".contains(byte)) {
            return None;
        }
        let (mut is_escaped, mut in_class) = (false, false);
        for (length, byte) in rest.iter().enumerate().take(MAX_PATTERN).skip(1) {
            match byte {
                b'\n' => return None,
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'[' => in_class = true,
                b']' => in_class = false,
                b'/' if !in_class => {
                    return Some((self.at + 1..self.at + length, self.at + length + 1));
                }
                _ => {}
            }
        }
        None
    }
}

pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}

/// A text, twice, line by line and byte by byte as long as it was.
#[derive(Debug)]
pub(super) struct LexedText {
    /// Without comments.
    pub(super) plain: String,
    /// Without comments and without what strings hold.
    pub(super) bare: String,
    pub(super) family: LanguageFamily,
}

impl LexedText {
    /// Reads the text of a file.
    pub(super) fn of(text: &str, path: &str) -> Self {
        let language = LanguageRules::of(path);
        let text = if language.is("ipynb") { code_of(text) } else { Cow::Borrowed(text) };
        let (mut plain, mut bare) = (text.as_bytes().to_vec(), text.as_bytes().to_vec());
        match language.family {
            LanguageFamily::Prose => {
                blank(&mut plain);
                blank(&mut bare);
            }
            LanguageFamily::Data => {
                let mut start = 0;
                for line in text.split_inclusive('\n') {
                    if is_comment_line(line.trim_start()) {
                        blank(&mut plain[start..start + line.len()]);
                    }
                    start += line.len();
                }
                bare.clone_from(&plain);
            }
            _ => {
                for token in CodeLexer::new(&text, language) {
                    match token.kind {
                        CodeTokenKind::Comment => {
                            blank(&mut plain[token.range.clone()]);
                            blank(&mut bare[token.range]);
                        }
                        CodeTokenKind::String(inside) => blank(&mut bare[inside]),
                        CodeTokenKind::Code => {}
                    }
                }
            }
        }
        // Whole characters are blanked or none, so that nothing is lost here.
        let whole = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap_or_default();
        Self { plain: whole(plain), bare: whole(bare), family: language.family }
    }
}

fn blank(bytes: &mut [u8]) {
    bytes.iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
}

/// Whether a line of no known language looks like a comment.
fn is_comment_line(line: &str) -> bool {
    let is_directive =
        ["#include", "#import", "#require"].iter().any(|word| line.starts_with(word));
    !is_directive && ["//", "#", "* ", "--", "<!--", ";"].iter().any(|sign| line.starts_with(sign))
}

/// The code of a notebook, cell by cell; the text itself where it is none.
fn code_of(text: &str) -> Cow<'_, str> {
    let Ok(notebook) = serde_json::from_str::<Value>(text) else { return Cow::Borrowed(text) };
    let cells = notebook.get("cells").and_then(Value::as_array).into_iter().flatten();
    let code = cells
        .filter(|cell| cell.get("cell_type").and_then(Value::as_str) != Some("markdown"))
        .map(|cell| match cell.get("source") {
            Some(Value::String(source)) => source.clone(),
            Some(Value::Array(lines)) => lines.iter().filter_map(Value::as_str).collect(),
            _ => String::new(),
        });
    Cow::Owned(code.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use twining_testcases::each;

    fn bare(text: &str, path: &str) -> String {
        let lexed = LexedText::of(text, path);
        assert_eq!((lexed.plain.len(), lexed.bare.len()), (text.len(), text.len()), "{text}");
        lexed.bare.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn code_is_what_is_neither_comment_nor_string() {
        each(
            [
                ("a.js", "a // b\nc /* d\n e */ f", "a c f"),
                ("a.js", "a('b // c') + d", "a(' ') + d"),
                ("a.js", "`a ${b('c')} d` e", "` ` e"),
                ("a.js", "x = /[/*]/; y /* z */", "x = / /; y"),
                ("a.js", "a /* never ends", "a /* never ends"),
                ("a.ts", "don't\nuse(x)", "don' use(x)"),
                ("a.py", "a # b\n'''c\nd''' e \"f#\" g", "a ''' ''' e \" \" g"),
                (
                    "a.rs",
                    "fn f<'a>() { \"x\" /* a */ '\"' r#\"y\"z\"# }",
                    "fn f<'a>() { \" \" ' ' r#\" \"# }",
                ),
                ("a.go", "a `b\nc` d // e", "a ` ` d"),
                ("a.sh", "a $# b # c", "a $# b"),
                ("a.lua", "a -- b", "a"),
                ("a.md", "a b", ""),
                ("a.txt", "# a\nb", "b"),
                ("a.js", "é // ü\n'ß' ö", "é ' ' ö"),
            ],
            |(path, text, left)| {
                assert_eq!(bare(text, path), left, "{path}: {text}");
            },
        );
    }

    #[test]
    fn any_text_is_read_to_its_end() {
        for text in [
            "'", "\"\\", "`${", "`${`${", "/", "/*", "r#\"", "'''", "\\", "//", "é'é\\", "'\"'",
            "[/",
        ] {
            for path in ["a.js", "a.rs", "a.py", "a.go", "a.sh", "a.lua", "a.md", "a", "a.ipynb"] {
                let _ = LexedText::of(text, path);
            }
        }
        let deep = "`${".repeat(200_000);
        assert_eq!(LexedText::of(&deep, "a.js").plain.len(), deep.len());
    }
}
