//! A text with its comments and strings told apart from its code, language family
//! by language family: no parser, just enough that a word in a comment is no import.

use std::borrow::Cow;

use memchr::{memchr, memmem};
use serde_json::Value;

/// Templates in templates that are followed.
const MOST_DEPTH: usize = 16;
/// Bytes of a regular expression that are looked through for its end.
const MOST_PATTERN: usize = 1_000;

/// How a language writes comments and strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommentStyle {
    /// `//`, `/* */`, and strings in any quotes: JavaScript and its kin.
    Script,
    /// The same, where one quote is no string: Rust.
    Rust,
    /// The same, in other languages.
    Braces,
    /// `#`, and strings over several lines.
    Python,
    /// `#`.
    Hash,
    /// `--`.
    Dashes,
    /// Lists of what is needed: manifests, data, files of no known kind.
    Data,
    /// Text for people.
    Prose,
}

impl CommentStyle {
    /// By the name of a file.
    pub(super) fn of(path: &str) -> Self {
        let file = path.rsplit('/').next().unwrap_or(path).to_lowercase();
        match file.rsplit_once('.').map_or(file.as_str(), |(_, ending)| ending) {
            "js" | "jsx" | "ts" | "tsx" | "mjs" | "cjs" | "mts" | "cts" | "vue" | "svelte"
            | "astro" | "mdx" => Self::Script,
            "rs" => Self::Rust,
            "go" | "java" | "kt" | "kts" | "scala" | "c" | "h" | "cc" | "cpp" | "cxx" | "hpp"
            | "hh" | "m" | "mm" | "cs" | "swift" | "dart" | "groovy" | "php" | "proto" | "zig"
            | "scss" | "less" => Self::Braces,
            "py" | "pyi" | "ipynb" => Self::Python,
            "rb" | "sh" | "bash" | "zsh" | "fish" | "pl" | "pm" | "r" | "ex" | "exs" | "jl"
            | "nim" | "tf" | "mk" | "cmake" | "makefile" | "dockerfile" | "rakefile"
            | "gemfile" | "gemspec" | "justfile" => Self::Hash,
            "sql" | "lua" | "hs" | "elm" => Self::Dashes,
            "md" | "markdown" | "rst" | "adoc" => Self::Prose,
            _ => Self::Data,
        }
    }
}

/// A text, twice, line by line and byte by byte as long as it was.
#[derive(Debug)]
pub(super) struct LexedText {
    /// Without comments.
    pub(super) plain: String,
    /// Without comments and without what strings hold.
    pub(super) bare: String,
    pub(super) family: CommentStyle,
}

impl LexedText {
    /// Reads the text of a file.
    pub(super) fn of(text: &str, path: &str) -> Self {
        let family = CommentStyle::of(path);
        let text = if path.to_lowercase().ends_with(".ipynb") {
            code_of(text)
        } else {
            Cow::Borrowed(text)
        };
        let bytes = text.as_bytes();
        let mut lexer = CodeLexer {
            bytes,
            at: 0,
            plain: bytes.to_vec(),
            bare: bytes.to_vec(),
            family,
            depth: 0,
            is_too_deep: false,
            is_endless: false,
        };
        match family {
            CommentStyle::Prose => lexer.blank(0, text.len(), BlankKind::Comment),
            CommentStyle::Data => lexer.lines(),
            _ => lexer.code(None),
        }
        if lexer.is_too_deep {
            // Nothing honest is so deep; what is hidden there is taken for code.
            return Self { plain: text.clone().into_owned(), bare: text.into_owned(), family };
        }
        // Whole characters are blanked or none, so that nothing is lost here.
        let whole = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap_or_default();
        Self { plain: whole(lexer.plain), bare: whole(lexer.bare), family }
    }
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum BlankKind {
    Comment,
    Inside,
}

struct CodeLexer<'t> {
    bytes: &'t [u8],
    at: usize,
    plain: Vec<u8>,
    bare: Vec<u8>,
    family: CommentStyle,
    /// Templates in templates that are open.
    depth: usize,
    is_too_deep: bool,
    /// Whether a comment was found that never ends, so that no other is looked for.
    is_endless: bool,
}

impl CodeLexer<'_> {
    fn starts(&self, sign: &str) -> bool {
        self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(sign.as_bytes()))
    }

    fn blank(&mut self, from: usize, to: usize, what: BlankKind) {
        for at in from..to.min(self.bytes.len()) {
            if self.bytes[at] == b'\n' {
                continue;
            }
            self.bare[at] = b' ';
            if what == BlankKind::Comment {
                self.plain[at] = b' ';
            }
        }
    }

    fn end_of_line(&self) -> usize {
        memchr(b'\n', &self.bytes[self.at..]).map_or(self.bytes.len(), |length| self.at + length)
    }

    /// Where a sign stands next, past it; none where it does not.
    fn past(&self, sign: &str, from: usize) -> Option<usize> {
        memmem::find(self.bytes.get(from..)?, sign.as_bytes()).map(|at| from + at + sign.len())
    }

    /// Text of no known language: whole lines that look like comments.
    fn lines(&mut self) {
        while self.at < self.bytes.len() {
            let end = self.end_of_line();
            let line: &[u8] = self.bytes[self.at..end].trim_ascii_start();
            let is_directive = ["#include", "#import", "#require"]
                .iter()
                .any(|word| line.starts_with(word.as_bytes()));
            if !is_directive
                && [&b"//"[..], b"#", b"* ", b"--", b"<!--", b";"]
                    .iter()
                    .any(|sign| line.starts_with(sign))
            {
                self.blank(self.at, end, BlankKind::Comment);
            }
            self.at = end + 1;
        }
    }

    /// Code, up to its end or to the bracket that closes what stands in a template.
    fn code(&mut self, closes: Option<u8>) {
        let mut open = 0_usize;
        while let Some(&byte) = self.bytes.get(self.at) {
            if Some(byte) == closes && open == 0 {
                self.at += 1;
                return;
            }
            match byte {
                b'{' => open += 1,
                b'}' => open = open.saturating_sub(1),
                _ => {}
            }
            if !self.comment() && !self.string() && !self.pattern() {
                self.at += 1;
            }
        }
    }

    fn comment(&mut self) -> bool {
        let from = self.at;
        let is_slashed =
            matches!(self.family, CommentStyle::Script | CommentStyle::Rust | CommentStyle::Braces);
        let is_line = match self.family {
            _ if is_slashed => self.starts("//"),
            CommentStyle::Python => self.starts("#"),
            // `$#` and `${x#y}` are no comments.
            CommentStyle::Hash => {
                self.starts("#") && (from == 0 || self.bytes[from - 1].is_ascii_whitespace())
            }
            _ => self.starts("--"),
        };
        let mut end = is_line.then(|| self.end_of_line());
        if is_slashed && !self.is_endless && self.starts("/*") {
            end = self.past_comment();
            // One that never ends is none.
            self.is_endless = end.is_none();
        }
        let Some(end) = end else { return false };
        self.blank(from, end, BlankKind::Comment);
        self.at = end;
        true
    }

    /// The end of `/* */`, which in Rust may hold others.
    fn past_comment(&self) -> Option<usize> {
        let mut end = self.past("*/", self.at + 2)?;
        if self.family == CommentStyle::Rust {
            let mut from = self.at + 2;
            while let Some(inner) = self.past("/*", from).filter(|inner| *inner < end) {
                from = inner;
                end = self.past("*/", end)?;
            }
        }
        Some(end)
    }

    fn string(&mut self) -> bool {
        let (from, quote, is_rust) =
            (self.at, self.bytes[self.at], self.family == CommentStyle::Rust);
        // `'"'` opens no string.
        if is_rust && (self.starts("'\"'") || self.starts("'\\\"'")) {
            self.at += 3;
            return true;
        }
        let is_template =
            quote == b'`' && matches!(self.family, CommentStyle::Script | CommentStyle::Braces);
        if quote != b'"' && (quote != b'\'' || is_rust) && !is_template {
            return false;
        }
        if let Some((opening, closing)) = self.long_quotes() {
            let end = self.past(&closing, from + opening).unwrap_or(self.bytes.len());
            self.blank(from + opening, end.saturating_sub(closing.len()), BlankKind::Inside);
            self.at = end;
            return true;
        }
        self.at += 1;
        let mut inside = self.at;
        while let Some(&byte) = self.bytes.get(self.at) {
            if byte == b'\\' && !(is_template && self.family == CommentStyle::Braces) {
                self.at += 2;
            } else if byte == quote || (byte == b'\n' && !is_template && !is_rust) {
                break;
            } else if is_template && self.family == CommentStyle::Script && self.starts("${") {
                self.blank(inside, self.at, BlankKind::Inside);
                self.at += 2;
                self.depth += 1;
                self.is_too_deep |= self.depth > MOST_DEPTH;
                if self.is_too_deep {
                    self.at = self.bytes.len();
                } else {
                    self.code(Some(b'}'));
                }
                self.depth -= 1;
                inside = self.at;
            } else {
                self.at += 1;
            }
        }
        self.at = self.at.min(self.bytes.len());
        self.blank(inside, self.at, BlankKind::Inside);
        self.at += 1;
        true
    }

    /// The length of the quotes that open a string without escapes, and those that close it.
    fn long_quotes(&self) -> Option<(usize, String)> {
        let before = &self.bytes[..self.at];
        let hashes = before.iter().rev().take_while(|byte| **byte == b'#').count();
        match self.family {
            CommentStyle::Python if self.starts("\"\"\"") => Some((3, "\"\"\"".to_owned())),
            CommentStyle::Python if self.starts("'''") => Some((3, "'''".to_owned())),
            CommentStyle::Rust if before[..self.at - hashes].ends_with(b"r") => {
                Some((1, format!("\"{}", "#".repeat(hashes))))
            }
            _ => None,
        }
    }

    /// A regular expression of JavaScript, in which `/*` opens no comment.
    fn pattern(&mut self) -> bool {
        if self.family != CommentStyle::Script || self.bytes[self.at] != b'/' {
            return false;
        }
        let before = self.bytes[..self.at].iter().rev().find(|byte| !byte.is_ascii_whitespace());
        if !before.is_none_or(|byte| b"(,=:[!&|?{};+".contains(byte)) {
            return false;
        }
        let (end, mut at, mut in_class) =
            (self.bytes.len().min(self.at + MOST_PATTERN), self.at + 1, false);
        while at < end {
            match self.bytes[at] {
                b'\n' => return false,
                b'\\' => at += 1,
                b'[' => in_class = true,
                b']' => in_class = false,
                b'/' if !in_class => {
                    self.blank(self.at + 1, at, BlankKind::Inside);
                    self.at = at + 1;
                    return true;
                }
                _ => {}
            }
            at += 1;
        }
        false
    }
}

/// Whether a list of words, separated by blanks, has this one.
pub(crate) fn contains(list: &str, word: &str) -> bool {
    list.split(' ').any(|listed| listed == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bare(text: &str, path: &str) -> String {
        let lexed = LexedText::of(text, path);
        assert_eq!((lexed.plain.len(), lexed.bare.len()), (text.len(), text.len()), "{text}");
        lexed.bare.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn code_is_what_is_neither_comment_nor_string() {
        for (path, text, left) in [
            ("a.js", "a // b\nc /* d\n e */ f", "a c f"),
            ("a.js", "a('b // c') + d", "a(' ') + d"),
            ("a.js", "`a ${b('c')} d` e", "` ${b(' ')} ` e"),
            ("a.js", "x = /[/*]/; y /* z */", "x = / /; y"),
            ("a.js", "a /* never ends", "a /* never ends"),
            ("a.ts", "don't\nuse(x)", "don' use(x)"),
            ("a.py", "a # b\n'''c\nd''' e \"f#\" g", "a ''' ''' e \" \" g"),
            (
                "a.rs",
                "fn f<'a>() { \"x\" /* a /* b */ c */ '\"' r#\"y\"z\"# }",
                "fn f<'a>() { \" \" '\"' r#\" \"# }",
            ),
            ("a.go", "a `b\nc` d // e", "a ` ` d"),
            ("a.sh", "a $# b # c", "a $# b"),
            ("a.lua", "a -- b", "a"),
            ("a.md", "a b", ""),
            ("a.txt", "# a\nb", "b"),
            ("a.js", "é // ü\n'ß' ö", "é ' ' ö"),
        ] {
            assert_eq!(bare(text, path), left, "{path}: {text}");
        }
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
