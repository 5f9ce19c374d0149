//! Ids: names of nodes, attributes and graphs, and the values of attributes.
//!
//! How an id is spelled does not matter, `a` and `"a"` are one; only HTML is apart,
//! `<a>` is another id than `"a"`.

use std::fmt;
use std::sync::Arc;

/// An id as it is meant, whatever its spelling.
///
/// Invariant: what is displayed reads back as the same id.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DotId {
    text: Arc<str>,
    html: bool,
}

impl DotId {
    /// Creates a plain id.
    ///
    /// DOT leaves backslashes to the renderer and cannot express "a single backslash" before a
    /// quote, a line break or the end of the text. An odd run of them there gets one more, which
    /// Graphviz shows as the intended one.
    #[must_use]
    pub fn new(text: impl AsRef<str>) -> Self {
        let text = text.as_ref();
        if !text.contains('\\') {
            return Self { text: Arc::from(text), html: false };
        }
        let mut kept = String::with_capacity(text.len() + 1);
        let mut run = 0;
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            kept.push(letter);
            run = if letter == '\\' { run + 1 } else { 0 };
            if run % 2 == 1 && matches!(letters.peek(), None | Some('"' | '\n' | '\r')) {
                kept.push('\\');
            }
        }
        Self { text: Arc::from(kept), html: false }
    }

    /// An HTML text, given without its outer angle brackets. None if its own are not balanced.
    #[must_use]
    pub fn html(text: impl AsRef<str>) -> Option<Self> {
        let text = text.as_ref();
        let wrapped = format!("<{text}>");
        let closed_at = crate::lexer::html_end(wrapped.as_bytes(), 0)?;
        (closed_at == wrapped.len()).then(|| Self { text: Arc::from(text), html: true })
    }

    pub(crate) fn read(text: Arc<str>, html: bool) -> Self {
        Self { text, html }
    }

    /// The text, without quotes and with `\"` resolved; other backslashes stay.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn shared(&self) -> Arc<str> {
        Arc::clone(&self.text)
    }

    /// Whether this is HTML.
    #[must_use]
    pub fn is_html(&self) -> bool {
        self.html
    }

    /// The id in quotes, needed or not. HTML stays HTML.
    #[must_use]
    pub fn quoted(&self) -> String {
        if self.html {
            format!("<{}>", self.text)
        } else {
            format!("\"{}\"", self.text.replace('"', "\\\""))
        }
    }
}

impl fmt::Display for DotId {
    /// As DOT, in quotes only when they are needed.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.html && reads_bare(&self.text) {
            out.write_str(&self.text)
        } else {
            out.write_str(&self.quoted())
        }
    }
}

impl fmt::Debug for DotId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.quoted())
    }
}

impl From<&str> for DotId {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for DotId {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl From<&DotId> for DotId {
    fn from(id: &DotId) -> Self {
        id.clone()
    }
}

impl PartialEq<str> for DotId {
    fn eq(&self, other: &str) -> bool {
        !self.html && &*self.text == other
    }
}

impl PartialEq<&str> for DotId {
    fn eq(&self, other: &&str) -> bool {
        self == *other
    }
}

/// Words that need quotes to be an id.
pub(crate) const KEYWORDS: [&str; 6] = ["node", "edge", "graph", "digraph", "subgraph", "strict"];

/// Whether the text is an id without quotes. Stricter than the grammar outside of
/// ASCII, where Graphviz would take even a no-break space for a letter.
fn reads_bare(text: &str) -> bool {
    let mut letters = text.chars();
    let word = letters.next().is_some_and(|first| first == '_' || first.is_alphabetic())
        && letters.all(|letter| letter == '_' || letter.is_alphanumeric());
    if word {
        return !KEYWORDS.iter().any(|keyword| keyword.eq_ignore_ascii_case(text));
    }
    crate::lexer::number_end(text.as_bytes(), 0) == Some(text.len()) && !text.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use twining_testcases::each;

    #[test]
    fn quotes_only_when_needed() {
        each(
            [
                ("a", "a"),
                ("a_1", "a_1"),
                ("-1.5", "-1.5"),
                (".5", ".5"),
                ("3.", "3."),
                ("1a", "\"1a\""),
                ("", "\"\""),
                ("api-server", "\"api-server\""),
                ("Node", "\"Node\""),
                ("größe", "größe"),
                ("a b", "\"a b\""),
                ("say \"hi\"", "\"say \\\"hi\\\"\""),
                ("\u{a0}", "\"\u{a0}\""),
                ("-", "\"-\""),
            ],
            |(text, shown)| {
                assert_eq!(DotId::new(text).to_string(), shown);
            },
        );
    }

    #[test]
    fn a_backslash_that_would_swallow_the_quote_is_doubled() {
        assert_eq!(DotId::new(r"C:\").to_string(), r#""C:\\""#);
        assert_eq!(DotId::new(r#"a\"b"#).to_string(), r#""a\\\"b""#);
        assert_eq!(DotId::new(r"a\nb").to_string(), r#""a\nb""#);
    }

    #[test]
    fn html_must_be_balanced() {
        assert_eq!(DotId::html("<b>x</b>").map(|id| id.to_string()).as_deref(), Some("<<b>x</b>>"));
        assert_eq!(DotId::html("a>b"), None);
        assert_eq!(DotId::html("<"), None);
    }
}
