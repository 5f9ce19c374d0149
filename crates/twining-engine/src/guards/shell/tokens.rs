//! Code of a few languages as tokens: names, texts and signs, without comments. No
//! parser; where it loses its way it says so, and whoever asks doubts the code.

/// The languages that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Python,
    Script,
    Ruby,
    Perl,
    Awk,
}

impl Language {
    /// By the program that is handed the code.
    pub(super) fn of(program: &str) -> Option<Self> {
        Some(match program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.') {
            "python" => Self::Python,
            "node" | "deno" | "bun" => Self::Script,
            "ruby" => Self::Ruby,
            "perl" => Self::Perl,
            "awk" | "gawk" | "mawk" => Self::Awk,
            _ => return None,
        })
    }
}

/// A piece of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A name, with its sigil.
    Name(String),
    /// A text that is just what it says.
    Text(String),
    /// A text that is put together, or spelt with escapes.
    Made,
    /// A number or a pattern.
    Plain,
    /// Anything else; the end of a line is one.
    Sign(char),
}

/// Tokens of one code.
const MOST_TOKENS: usize = 4_000;
/// Texts in texts that are followed.
const MOST_DEPTH: usize = 4;

/// Reads code; none where it is not plainly one of its language.
pub(super) fn read(code: &str, language: Language) -> Option<Vec<Token>> {
    let mut reader = Reader { chars: code.chars().collect(), at: 0, language, tokens: Vec::new(), comments: Vec::new(), depth: 0 };
    reader.all()?;
    Some(reader.tokens)
}

/// The code without its comments; as it is where it cannot be read.
pub(super) fn uncommented(code: &str, language: Language) -> String {
    let chars: Vec<char> = code.chars().collect();
    let mut reader = Reader { chars, at: 0, language, tokens: Vec::new(), comments: Vec::new(), depth: 0 };
    if reader.all().is_none() {
        return code.to_owned();
    }
    let is_said = |at: usize| !reader.comments.iter().any(|(from, to)| (*from..*to).contains(&at));
    reader.chars.iter().enumerate().filter(|(at, _)| is_said(*at)).map(|(_, c)| *c).collect()
}

struct Reader {
    chars: Vec<char>,
    at: usize,
    language: Language,
    tokens: Vec<Token>,
    /// Where comments stand.
    comments: Vec<(usize, usize)>,
    depth: usize,
}

impl Reader {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn all(&mut self) -> Option<()> {
        while let Some(c) = self.peek(0) {
            if self.tokens.len() > MOST_TOKENS {
                return None;
            }
            match c {
                ' ' | '\t' | '\r' => self.at += 1,
                '#' if self.language != Language::Script => self.comment(|reader| reader.peek(0) == Some('\n')),
                '/' if self.language == Language::Script && self.peek(1) == Some('/') => {
                    self.comment(|reader| reader.peek(0) == Some('\n'));
                }
                '/' if self.language == Language::Script && self.peek(1) == Some('*') => {
                    self.comment(|reader| reader.peek(0) == Some('*') && reader.peek(1) == Some('/'));
                    self.at += 2;
                }
                '/' if self.language != Language::Python => self.slash()?,
                '\'' | '"' => self.text(c, false)?,
                '`' if self.language == Language::Script => self.text(c, true)?,
                // A command that is run.
                '`' => return None,
                '$' | '@' if matches!(self.language, Language::Ruby | Language::Perl) => self.variable(c)?,
                c if c.is_alphabetic() || c == '_' => self.name()?,
                c if c.is_ascii_digit() => {
                    while self.peek(0).is_some_and(|c| c.is_ascii_alphanumeric() || c == '_') {
                        self.at += 1;
                    }
                    self.tokens.push(Token::Plain);
                }
                c => {
                    self.tokens.push(Token::Sign(c));
                    self.at += 1;
                }
            }
        }
        Some(())
    }

    fn comment(&mut self, ends: impl Fn(&Self) -> bool) {
        let from = self.at;
        while self.at < self.chars.len() && !ends(self) {
            self.at += 1;
        }
        self.comments.push((from, self.at));
    }

    /// A pattern, or a division; none where nobody can tell.
    fn slash(&mut self) -> Option<()> {
        let divides = match self.tokens.last() {
            None | Some(Token::Sign('(' | ',' | '=' | ':' | '[' | '!' | '&' | '|' | '?' | '{' | ';' | '~' | '\n')) => false,
            Some(Token::Name(name)) if matches!(name.as_str(), "if" | "unless" | "and" | "or" | "not" | "return" | "split" | "while") => {
                false
            }
            Some(Token::Plain | Token::Sign(')' | ']')) => true,
            _ => return None,
        };
        self.at += 1;
        if divides {
            self.tokens.push(Token::Sign('/'));
            return Some(());
        }
        loop {
            match self.peek(0)? {
                '\n' => return None,
                '\\' => self.at += 2,
                // Code may stand in it.
                '[' | '@' | '$' | '#' if self.peek(1) == Some('{') => return None,
                '/' => break,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        while self.peek(0).is_some_and(|c| c.is_ascii_alphabetic()) {
            // One letter of Perl's runs what is found.
            if self.peek(0) == Some('e') {
                return None;
            }
            self.at += 1;
        }
        self.tokens.push(Token::Plain);
        Some(())
    }

    fn variable(&mut self, sigil: char) -> Option<()> {
        self.at += 1;
        let mut name = sigil.to_string();
        while let Some(c) = self.peek(0).filter(|c| c.is_alphanumeric() || *c == '_') {
            name.push(c);
            self.at += 1;
        }
        self.tokens.push(if name.len() == 1 { Token::Sign(sigil) } else { Token::Name(name) });
        Some(())
    }

    fn name(&mut self) -> Option<()> {
        let from = self.at;
        while self.peek(0).is_some_and(|c| c.is_alphanumeric() || c == '_') {
            self.at += 1;
        }
        let name: String = self.chars.get(from..self.at)?.iter().collect();
        let quote = self.peek(0).filter(|c| matches!(c, '\'' | '"'));
        match (self.language, quote) {
            (Language::Python, Some(quote)) => match name.to_lowercase().as_str() {
                "f" | "fr" | "rf" => self.text(quote, true),
                "b" | "u" => self.text(quote, false),
                "r" | "rb" | "br" => {
                    self.text(quote, false)?;
                    Some(())
                }
                _ => None,
            },
            // `q(..)`, `qw/../`, `s/../../e`: texts in quotes of one's own.
            (Language::Perl, _) if matches!(name.as_str(), "q" | "qq" | "qw" | "qx" | "m" | "s" | "y" | "tr" | "qr") => None,
            _ => {
                self.tokens.push(Token::Name(name));
                Some(())
            }
        }
    }

    /// A text up to its quote. `is_template`: code stands in its braces.
    fn text(&mut self, quote: char, is_template: bool) -> Option<()> {
        let is_triple = self.language == Language::Python && self.peek(1) == Some(quote) && self.peek(2) == Some(quote);
        let marks = if is_triple { 3 } else { 1 };
        self.at += marks;
        let (mut said, mut is_made, mut inner) = (String::new(), false, Vec::new());
        let is_double = quote == '"';
        loop {
            let c = self.peek(0)?;
            if c == quote && (0..marks).all(|ahead| self.peek(ahead) == Some(quote)) {
                break;
            }
            match c {
                '\\' => {
                    is_made = true;
                    self.at += 2;
                    continue;
                }
                '\n' if !is_triple && quote != '`' && !matches!(self.language, Language::Ruby | Language::Perl) => return None,
                '{' if is_template && self.language == Language::Python && self.peek(1) == Some('{') => {
                    self.at += 2;
                    continue;
                }
                '{' if is_template && self.language == Language::Python => {
                    is_made = true;
                    inner.push(self.braces(0)?);
                    continue;
                }
                '$' if is_template && self.peek(1) == Some('{') => {
                    is_made = true;
                    inner.push(self.braces(1)?);
                    continue;
                }
                '#' if is_double && self.language == Language::Ruby && self.peek(1) == Some('{') => {
                    is_made = true;
                    inner.push(self.braces(1)?);
                    continue;
                }
                '$' | '@' if is_double && self.language == Language::Perl => {
                    if matches!(self.peek(1), Some('{' | '$' | '(')) {
                        return None;
                    }
                    is_made = true;
                }
                _ => {}
            }
            said.push(c);
            self.at += 1;
        }
        self.at += marks;
        self.tokens.push(if is_made { Token::Made } else { Token::Text(said) });
        self.depth += 1;
        for code in inner {
            if self.depth > MOST_DEPTH {
                return None;
            }
            let chars = code.chars().collect();
            let mut reader = Reader { chars, at: 0, language: self.language, tokens: Vec::new(), comments: Vec::new(), depth: self.depth };
            reader.all()?;
            self.tokens.push(Token::Sign('{'));
            self.tokens.append(&mut reader.tokens);
            self.tokens.push(Token::Sign('}'));
        }
        self.depth -= 1;
        Some(())
    }

    /// What stands in braces, which begin `ahead`.
    fn braces(&mut self, ahead: usize) -> Option<String> {
        self.at += ahead + 1;
        let (mut open, mut inner) = (1, String::new());
        loop {
            let c = self.peek(0)?;
            self.at += 1;
            match c {
                '{' => open += 1,
                '}' => open -= 1,
                _ => {}
            }
            if open == 0 {
                return Some(inner);
            }
            inner.push(c);
        }
    }
}
