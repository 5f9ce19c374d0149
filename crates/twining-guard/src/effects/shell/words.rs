//! Words: quotes, expansions, and what is known of the result.

use crate::effects::shell::Unreadable;
use crate::effects::shell::grammar::{self, Parser};
use crate::effects::shell::interpreter::Interpreter;

/// Longest `{a,b}` that is recognized.
const MAX_BRACES: usize = 256;

/// A part of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    /// The value of an unquoted variable: as many words as it has.
    Fields(String),
    /// An unquoted `*`, `?`, `[` or `{a,b}`.
    Glob(String),
    /// A folder that is known without its name: `$PWD`, `$HOME`.
    Place {
        path: String,
        shown: String,
    },
    /// Nothing is known; as it is shown.
    Unknown(String),
}

impl Piece {
    pub(super) fn shown(&self) -> &str {
        match self {
            Self::Text(shown) | Self::Fields(shown) | Self::Glob(shown) | Self::Unknown(shown) | Self::Place { shown, .. } => shown,
        }
    }

    fn known(&self) -> Option<&str> {
        matches!(self, Self::Text(_) | Self::Fields(_)).then(|| self.shown())
    }
}

/// A word after expansion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Value(pub(super) Vec<Piece>);

impl Value {
    pub(super) fn text(text: &str) -> Self {
        Self(vec![Piece::Text(text.to_owned())])
    }

    pub(super) fn unknown(shown: &str) -> Self {
        Self(vec![Piece::Unknown(shown.to_owned())])
    }

    /// The word, if all of it is known.
    pub(super) fn known(&self) -> Option<String> {
        self.0.iter().map(Piece::known).collect()
    }

    /// The word as it is shown, with unknown parts as they are written.
    pub(super) fn text_lossy(&self) -> String {
        self.0.iter().map(Piece::shown).collect()
    }

    /// The known text at its beginning.
    pub(super) fn prefix(&self) -> &str {
        if let Some(Piece::Text(text)) = self.0.first() { text } else { "" }
    }

    /// The word without its first bytes, which have to be known text.
    pub(super) fn without_prefix(&self, length: usize) -> Self {
        let mut rest = Self::text(self.prefix().get(length..).unwrap_or_default());
        rest.0.extend(self.0.iter().skip(1).cloned());
        if rest.prefix().is_empty() && rest.0.len() > 1 {
            rest.0.remove(0);
        }
        rest
    }

    /// The name and the value of `name=value`; of `name+=value` only the name is known.
    pub(super) fn assignment(&self) -> Option<(String, Self)> {
        let (name, _) = self.prefix().split_once('=')?;
        let value = self.without_prefix(name.len() + 1);
        let plain = name.trim_end_matches('+');
        is_name(plain).then(|| (plain.to_owned(), if plain == name { value } else { Self::unknown(&format!("${plain}")) }))
    }

    /// The last name of a path.
    pub(super) fn file_name(&self) -> Self {
        let text = self.text_lossy();
        let name = text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let unknown = self.0.iter().rfind(|piece| piece.known().is_none() && name.contains(piece.shown()));
        Self(vec![match unknown {
            Some(Piece::Glob(_)) => Piece::Glob(name.to_owned()),
            Some(_) => Piece::Unknown(name.to_owned()),
            None => Piece::Text(name.to_owned()),
        }])
    }

    /// A path below this one.
    pub(super) fn join(&self, name: &Self) -> Self {
        let slash = if self.text_lossy().ends_with('/') { "" } else { "/" };
        Self([self.0.as_slice(), &[Piece::Text(slash.to_owned())], name.0.as_slice()].concat())
    }

    pub(super) fn push_text(&mut self, text: &str) {
        match self.0.last_mut() {
            Some(Piece::Text(last)) => last.push_str(text),
            _ => self.0.push(Piece::Text(text.to_owned())),
        }
    }

    fn push_unknown(&mut self, shown: &str) {
        self.0.push(Piece::Unknown(shown.to_owned()));
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.starts_with(|c: char| c.is_ascii_digit()) && text.bytes().all(is_name_byte)
}

pub(super) fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

impl Parser<'_, '_> {
    /// Takes a word and the spaces after it.
    pub(super) fn word(&mut self) -> Result<Value, Unreadable> {
        let (mut word, start) = (Value::default(), self.at);
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' => break,
                b'<' | b'>' if !self.is_at("<(") && !self.is_at(">(") => break,
                b'<' | b'>' => {
                    self.at += 2;
                    self.subshell()?;
                    word.push_unknown(if byte == b'<' { "<(…)" } else { ">(…)" });
                }
                b'\\' => self.escape(&mut word),
                b'\'' => {
                    self.at += 1;
                    word.push_text(self.eat_while(|byte| byte != b'\''));
                    self.expect("'")?;
                }
                b'"' => {
                    self.at += 1;
                    self.quoted(Some(b'"'), &mut word)?;
                    if word.0.is_empty() {
                        word.push_text("");
                    }
                }
                b'$' | b'`' => self.expansion(false, &mut word)?,
                b'*' | b'?' | b'[' => {
                    self.at += 1;
                    word.0.push(Piece::Glob(char::from(byte).to_string()));
                }
                b'{' => self.braces(&mut word),
                _ => word.push_text(self.eat_while(|byte| !b" \t\r\n;&|()<>\\'\"$`*?[{".contains(&byte))),
            }
        }
        self.shell.charge((self.at - start) / 64);
        if self.at == start {
            return Err(Unreadable::NotBash);
        }
        self.skip_spaces();
        Ok(word)
    }

    /// `{a,b}` and `{1..9}` stand for several words; other braces are text.
    fn braces(&mut self, word: &mut Value) {
        let rest = self.rest();
        let braces = rest.bytes().take(MAX_BRACES).position(|byte| byte == b'}').and_then(|end| rest.get(..=end)).unwrap_or_default();
        let is_list = (braces.contains(',') || braces.contains("..")) && !braces.contains([' ', '\n', '"', '\'', ';', '`', '(']);
        self.at += if is_list { braces.len() } else { 1 };
        if is_list { word.0.push(Piece::Glob(braces.to_owned())) } else { word.push_text("{") }
    }

    fn escape(&mut self, word: &mut Value) {
        self.at += 1;
        let kept = self.rest().chars().next();
        self.at += kept.map_or(0, char::len_utf8);
        if let Some(kept) = kept.filter(|kept| *kept != '\n') {
            word.push_text(kept.encode_utf8(&mut [0; 4]));
        }
    }

    /// Text in double quotes up to its end, or the body of a here-document.
    pub(super) fn quoted(&mut self, end: Option<u8>, word: &mut Value) -> Result<(), Unreadable> {
        while let Some(byte) = self.peek() {
            let next = self.text.as_bytes().get(self.at + 1).copied();
            match byte {
                _ if Some(byte) == end => {
                    self.at += 1;
                    return Ok(());
                }
                b'\\' if matches!(next, Some(b'$' | b'`' | b'\\' | b'\n')) || (end.is_some() && next == end) => self.escape(word),
                b'$' | b'`' => self.expansion(true, word)?,
                b'\\' | b'"' => {
                    self.at += 1;
                    word.push_text(if byte == b'"' { "\"" } else { "\\" });
                }
                _ => word.push_text(self.eat_while(|byte| !b"\\\"$`".contains(&byte))),
            }
        }
        if end.is_none() { Ok(()) } else { Err(Unreadable::NotBash) }
    }

    fn expansion(&mut self, is_quoted: bool, word: &mut Value) -> Result<(), Unreadable> {
        let next = self.text.as_bytes().get(self.at + 1).copied();
        let first = self.shell.effects.commands.len();
        match (self.peek(), next) {
            (Some(b'`'), _) => {
                self.at += 1;
                let script = self.eat_while(|byte| byte != b'`');
                self.expect("`")?;
                let state = self.shell.state.clone();
                let output = grammar::run(script, self.shell)?;
                self.shell.state = state;
                word.0.push(self.shell.substituted(first, output.whole(), is_quoted));
            }
            (_, Some(b'(')) => match self.arithmetic_end(self.at + 1) {
                Some(end) => {
                    self.at = end;
                    word.push_unknown("$((…))");
                }
                None => {
                    self.at += 2;
                    let output = self.subshell()?;
                    word.0.push(self.shell.substituted(first, output.whole(), is_quoted));
                }
            },
            (_, Some(b'{')) => self.parameter(is_quoted, word)?,
            // `$'…'` without an escape is read as `'…'` is.
            (_, Some(b'\'')) if !is_quoted => {
                self.at += 2;
                let text = self.eat_while(|byte| byte != b'\'' && byte != b'\\');
                self.expect("'")?;
                word.push_text(text);
            }
            // `$"…"` is translated text: the quote is read next.
            (_, Some(b'"')) if !is_quoted => self.at += 1,
            (_, Some(byte)) if is_name_byte(byte) && !byte.is_ascii_digit() => {
                self.at += 1;
                let name = self.eat_while(is_name_byte);
                self.shell.push_variable(name, is_quoted, word);
            }
            (_, Some(byte)) if b"?#@*!$-0123456789".contains(&byte) => {
                self.at += 2;
                word.push_unknown(&format!("${}", char::from(byte)));
            }
            _ => {
                self.at += 1;
                word.push_text("$");
            }
        }
        Ok(())
    }

    /// `${name}`; every other form of it is unknown.
    fn parameter(&mut self, is_quoted: bool, word: &mut Value) -> Result<(), Unreadable> {
        self.at += 2;
        let name = self.eat_while(is_name_byte);
        if is_name(name) && self.eat("}") {
            self.shell.push_variable(name, is_quoted, word);
            return Ok(());
        }
        self.eat_while(|byte| byte != b'}');
        self.expect("}")?;
        word.push_unknown(&format!("${{{name}…}}"));
        Ok(())
    }
}

impl Interpreter {
    fn push_variable(&mut self, name: &str, is_quoted: bool, word: &mut Value) {
        self.charge(1);
        let place = match name {
            "PWD" => self.state.dir.place(),
            "HOME" => Some("~"),
            "TMPDIR" => Some("/tmp"),
            _ => None,
        };
        match (self.state.variables.get(name).filter(|_| !self.is_exhausted()), place) {
            (Some(value), _) => match value.known() {
                Some(text) => word.0.push(if is_quoted { Piece::Text(text) } else { Piece::Fields(text) }),
                None => word.0.extend(value.0.iter().cloned()),
            },
            (None, Some(path)) => word.0.push(Piece::Place { path: path.to_owned(), shown: format!("${name}") }),
            (None, None) => word.push_unknown(&format!("${name}")),
        }
    }

    /// What `$(…)` becomes, from its commands and what they print.
    fn substituted(&self, first: usize, printed: Option<&str>, is_quoted: bool) -> Piece {
        let shown = "$(…)".to_owned();
        let commands = self.effects.commands.get(first..).unwrap_or_default();
        let words: Vec<&str> = commands.first().map(|command| command.words.iter().map(String::as_str).collect()).unwrap_or_default();
        let place = match words.as_slice() {
            _ if commands.len() != 1 => None,
            ["pwd"] => self.state.dir.place(),
            ["git", "rev-parse", "--show-toplevel"] => Some(""),
            ["mktemp", ..] => Some("/tmp/mktemp"),
            _ => None,
        };
        match (place, printed.map(|text| text.trim_end_matches('\n').to_owned())) {
            (Some(path), _) => Piece::Place { path: path.to_owned(), shown },
            (None, Some(text)) if is_quoted => Piece::Text(text),
            (None, Some(text)) => Piece::Fields(text),
            (None, None) => Piece::Unknown(shown),
        }
    }
}

impl Value {
    /// Adds the words that this one becomes: an unquoted variable is as many as its value has.
    pub(super) fn split_into(self, words: &mut Vec<Self>) {
        let mut word = Self::default();
        let is_dropped_if_empty = matches!(self.0.as_slice(), [Piece::Fields(_)]);
        for piece in self.0 {
            match piece {
                Piece::Fields(text) => {
                    for (at, field) in text.split_whitespace().enumerate() {
                        if at > 0 {
                            words.push(std::mem::take(&mut word));
                        }
                        word.push_text(field);
                    }
                }
                Piece::Text(text) => word.push_text(&text),
                piece => word.0.push(piece),
            }
        }
        if !(word.0.is_empty() && is_dropped_if_empty) {
            words.push(word);
        }
    }
}
