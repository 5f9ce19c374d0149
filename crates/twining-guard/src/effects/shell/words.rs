//! Words: quotes, expansions, and what is known of the result.

use crate::effects::shell::grammar::{self, ShellParser};
use crate::effects::shell::interpreter::ShellError;

/// Longest `{a,b}` that is recognized.
const MAX_BRACES: usize = 256;

/// A part of a word. Each is text as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WordPart {
    Text(String),
    /// An unquoted `*`, `?`, `[` or `{a,b}`.
    Glob(String),
    /// A folder that is known without its name, and its path: `$PWD`, `$HOME`.
    Place(String, String),
    /// Nothing is known.
    Unknown(String),
}

impl WordPart {
    pub(super) fn shown(&self) -> &str {
        let (Self::Text(shown) | Self::Glob(shown) | Self::Place(shown, _) | Self::Unknown(shown)) =
            self;
        shown
    }

    /// What an expansion becomes: known text, or a known folder, or neither. Without quotes,
    /// text with spaces would become several words; that is not followed.
    fn expanded(text: Option<&str>, place: Option<&str>, shown: &str, is_quoted: bool) -> Self {
        match (text.filter(|text| is_quoted || !text.contains(char::is_whitespace)), place) {
            (Some(text), _) => Self::Text(text.to_owned()),
            (None, Some(path)) => Self::Place(shown.to_owned(), path.to_owned()),
            (None, None) => Self::Unknown(shown.to_owned()),
        }
    }
}

/// A word after expansion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ShellWord(pub(super) Vec<WordPart>);

impl ShellWord {
    pub(super) fn text(text: &str) -> Self {
        Self(vec![WordPart::Text(text.to_owned())])
    }

    pub(super) fn unknown(shown: &str) -> Self {
        Self(vec![WordPart::Unknown(shown.to_owned())])
    }

    /// The word, if all of it is known.
    pub(super) fn known(&self) -> Option<String> {
        self.0.iter().all(|part| matches!(part, WordPart::Text(_))).then(|| self.text_lossy())
    }

    /// The word as it is shown, with unknown parts as they are written.
    pub(super) fn text_lossy(&self) -> String {
        self.0.iter().map(WordPart::shown).collect()
    }

    /// The known text at its beginning.
    pub(super) fn prefix(&self) -> &str {
        if let Some(WordPart::Text(text)) = self.0.first() { text } else { "" }
    }

    /// The word without its first bytes, which have to be known text.
    pub(super) fn without_prefix(&self, length: usize) -> Self {
        let first =
            self.prefix().get(length..).filter(|rest| !rest.is_empty() || self.0.len() == 1);
        let first = first.map(|rest| WordPart::Text(rest.to_owned()));
        Self(first.into_iter().chain(self.0.iter().skip(1).cloned()).collect())
    }

    /// The name and the value of `name=value`; of `name+=value` only the name is known.
    pub(super) fn assignment(&self) -> Option<(String, Self)> {
        let (name, _) = self.prefix().split_once('=')?;
        let plain = name.trim_end_matches('+');
        let is_name = !plain.is_empty()
            && !plain.starts_with(|c: char| c.is_ascii_digit())
            && plain.bytes().all(is_name_byte);
        let value = if plain == name {
            self.without_prefix(name.len() + 1)
        } else {
            Self::unknown(&format!("${plain}"))
        };
        is_name.then(|| (plain.to_owned(), value))
    }

    /// The last name of a path.
    pub(super) fn file_name(&self) -> Self {
        let text = self.text_lossy();
        let name = text.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
        let unknown = self
            .0
            .iter()
            .rfind(|part| !matches!(part, WordPart::Text(_)) && name.contains(part.shown()));
        Self(vec![match unknown {
            Some(WordPart::Glob(_)) => WordPart::Glob(name),
            Some(_) => WordPart::Unknown(name),
            None => WordPart::Text(name),
        }])
    }

    /// A path below this one.
    pub(super) fn join(&self, name: &Self) -> Self {
        let slash = if self.text_lossy().ends_with('/') { "" } else { "/" };
        Self([self.0.as_slice(), &[WordPart::Text(slash.to_owned())], name.0.as_slice()].concat())
    }

    fn push(&mut self, part: WordPart) {
        match (self.0.last_mut(), part) {
            (Some(WordPart::Text(last)), WordPart::Text(text)) => last.push_str(&text),
            (_, part) => self.0.push(part),
        }
    }

    pub(super) fn push_text(&mut self, text: &str) {
        self.push(WordPart::Text(text.to_owned()));
    }
}

pub(super) fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

impl ShellParser<'_, '_> {
    /// Takes a word and the spaces after it.
    pub(super) fn word(&mut self) -> Result<ShellWord, ShellError> {
        let (mut word, start) = (ShellWord::default(), self.at);
        while let Some(byte) = self.peek() {
            self.shell.charge(1)?;
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' => break,
                b'<' | b'>' if !self.is_at("<(") && !self.is_at(">(") => break,
                b'<' | b'>' => {
                    self.at += 2;
                    self.subshell()?;
                    word.push(WordPart::Unknown(format!("{}(…)", char::from(byte))));
                }
                b'\\' => self.escape(&mut word),
                b'\'' | b'"' => {
                    self.at += 1;
                    self.quoted(Some(byte), &mut word)?;
                    if word.0.is_empty() {
                        word.push_text("");
                    }
                }
                b'$' | b'`' => self.expansion(false, &mut word)?,
                b'*' | b'?' | b'[' => {
                    let (is_test, sign) = (self.keyword() == "[", char::from(byte).to_string());
                    self.at += 1;
                    word.push(if is_test { WordPart::Text(sign) } else { WordPart::Glob(sign) });
                }
                b'{' => word.push(self.braces()),
                _ => word.push_text(
                    self.eat_while(|byte| !b" \t\r\n;&|()<>\\'\"$`*?[{".contains(&byte)),
                ),
            }
        }
        if self.at == start {
            return Err(ShellError::NotBash);
        }
        self.shell.charge((self.at - start) / 64)?;
        self.skip_spaces();
        Ok(word)
    }

    /// `{a,b}` and `{1..9}` expand to several words; other braces are literal.
    fn braces(&mut self) -> WordPart {
        let rest = self.rest();
        let braces = rest
            .bytes()
            .take(MAX_BRACES)
            .position(|byte| byte == b'}')
            .and_then(|end| rest.get(..=end))
            .unwrap_or_default();
        let is_list = (braces.contains(',') || braces.contains(".."))
            && !braces.contains([' ', '\n', '"', '\'', ';', '`', '(']);
        self.at += if is_list { braces.len() } else { 1 };
        if is_list { WordPart::Glob(braces.to_owned()) } else { WordPart::Text("{".to_owned()) }
    }

    fn escape(&mut self, word: &mut ShellWord) {
        self.at += 1;
        let character = self.rest().chars().next();
        self.at += character.map_or(0, char::len_utf8);
        if let Some(character) = character.filter(|character| *character != '\n') {
            word.push_text(character.encode_utf8(&mut [0; 4]));
        }
    }

    /// Text up to the quote that ends it, or the body of a here-document.
    pub(super) fn quoted(
        &mut self,
        end: Option<u8>,
        word: &mut ShellWord,
    ) -> Result<(), ShellError> {
        while self.peek() != end {
            let (start, byte) = (self.at, self.peek().ok_or(ShellError::NotBash)?);
            let next = self.text.as_bytes().get(self.at + 1).copied();
            match byte {
                _ if end == Some(b'\'') => word.push_text(self.eat_while(|byte| byte != b'\'')),
                b'\\'
                    if matches!(next, Some(b'$' | b'`' | b'\\' | b'\n'))
                        || (end.is_some() && next == end) =>
                {
                    self.escape(word);
                }
                b'$' | b'`' => self.expansion(true, word)?,
                _ => {
                    self.at += usize::from(matches!(byte, b'\\' | b'"'));
                    self.eat_while(|byte| !b"\\\"$`".contains(&byte));
                    word.push_text(self.text.get(start..self.at).unwrap_or_default());
                }
            }
        }
        self.at += usize::from(end.is_some());
        Ok(())
    }

    fn expansion(&mut self, is_quoted: bool, word: &mut ShellWord) -> Result<(), ShellError> {
        if self.is_at("`") || (self.is_at("$(") && self.arithmetic_end(self.at + 1).is_none()) {
            return self.substitution(is_quoted, word);
        }
        self.at += 1;
        self.shell.charge(1)?;
        match self.peek() {
            Some(b'(') => {
                self.at = self.arithmetic_end(self.at).unwrap_or(self.text.len());
                word.push(WordPart::Unknown("$((…))".to_owned()));
            }
            Some(b'{') => {
                self.at += 1;
                let name = self.eat_while(is_name_byte);
                let mut depth = 1;
                let more = self.eat_while(|byte| {
                    depth += i32::from(byte == b'{') - i32::from(byte == b'}');
                    depth > 0
                });
                self.expect("}")?;
                let is_plain = more.is_empty() && !name.is_empty();
                if is_plain {
                    self.variable(name, is_quoted, word);
                } else {
                    word.push(WordPart::Unknown(format!("${{{name}…}}")));
                }
            }
            Some(b'\'') if !is_quoted => {
                self.at += 1;
                while !self.eat("'") {
                    word.push_text(self.eat_while(|byte| byte != b'\'' && byte != b'\\'));
                    if self.is_at("\\") {
                        self.escape(&mut ShellWord::default());
                        word.push(WordPart::Unknown("$'…'".to_owned()));
                    } else if self.peek().is_none() {
                        return Err(ShellError::NotBash);
                    }
                }
            }
            // `$"…"` is translated text: the quote is read next.
            Some(b'"') if !is_quoted => {}
            Some(byte) if is_name_byte(byte) && !byte.is_ascii_digit() => {
                let name = self.eat_while(is_name_byte);
                self.variable(name, is_quoted, word);
            }
            Some(byte) if b"?#@*!$-0123456789".contains(&byte) => {
                self.at += 1;
                word.push(WordPart::Unknown(format!("${}", char::from(byte))));
            }
            _ => word.push_text("$"),
        }
        Ok(())
    }

    fn variable(&mut self, name: &str, is_quoted: bool, word: &mut ShellWord) {
        let place = match name {
            "PWD" => self.shell.state.dir.place(),
            "HOME" => Some("~"),
            "TMPDIR" => Some("/tmp"),
            _ => None,
        };
        let value = self.shell.state.variables.get(name);
        match (value, value.and_then(ShellWord::known)) {
            (Some(value), None) => word.0.extend(value.0.iter().cloned()),
            (_, text) => word.push(WordPart::expanded(
                text.as_deref(),
                place,
                &format!("${name}"),
                is_quoted,
            )),
        }
    }

    /// `$(…)`: what its commands print, where that is known.
    fn substitution(&mut self, is_quoted: bool, word: &mut ShellWord) -> Result<(), ShellError> {
        let first = self.shell.effects.commands.len();
        let output = if self.eat("`") {
            let script = self.eat_while(|byte| byte != b'`');
            self.expect("`")?;
            self.shell.in_subshell(|shell| grammar::run(script, shell))?
        } else {
            self.at += 2;
            self.subshell()?
        };
        let commands = self.shell.effects.commands.get(first..).unwrap_or_default();
        let words: Vec<&str> =
            commands.iter().flat_map(|command| &command.words).map(String::as_str).collect();
        let place = match words.as_slice() {
            ["pwd"] => self.shell.state.dir.place(),
            ["git", "rev-parse", "--show-toplevel"] => Some(""),
            ["mktemp", ..] => Some("/tmp/mktemp"),
            _ => None,
        };
        word.push(WordPart::expanded(
            output.whole().map(|text| text.trim_end_matches('\n')),
            place,
            "$(…)",
            is_quoted,
        ));
        Ok(())
    }
}
