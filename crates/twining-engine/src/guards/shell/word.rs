//! A word of a command line: what is known of it, and holes where nothing is.

use std::collections::BTreeMap;

use tree_sitter::Node;

use crate::guards::shell::Unreadable;

/// Values one variable may have had; more are one hole.
const MOST_VALUES: usize = 8;

/// A part of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Known text.
    Text(String),
    /// Anything, perhaps made from these words: `$(ls a b)` holds `ls`, `a`, `b`.
    Hole(Vec<String>),
}

/// A word, piece by piece.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Word(pub(crate) Vec<Piece>);

impl Word {
    pub(crate) fn text(text: &str) -> Self {
        Self(vec![Piece::Text(text.to_owned())])
    }

    /// The word, if every piece is known.
    pub(crate) fn known(&self) -> Option<String> {
        self.0.iter().map(|piece| if let Piece::Text(text) = piece { Some(text.as_str()) } else { None }).collect()
    }

    /// What is known of it, with nothing in the holes.
    pub(crate) fn gist(&self) -> String {
        self.0.iter().map(|piece| if let Piece::Text(text) = piece { text.as_str() } else { "" }).collect()
    }

    /// Words its holes were made from.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|piece| if let Piece::Hole(sources) = piece { sources.as_slice() } else { &[] }).map(String::as_str)
    }

    /// The word without this beginning, if it begins so.
    pub(crate) fn after(&self, prefix: &str) -> Option<Self> {
        let Some(Piece::Text(first)) = self.0.first() else { return None };
        let rest = first.strip_prefix(prefix)?;
        let mut pieces = vec![Piece::Text(rest.to_owned())];
        pieces.extend(self.0.iter().skip(1).cloned());
        Some(Self(pieces))
    }

    fn push_text(&mut self, text: &str) {
        match self.0.last_mut() {
            Some(Piece::Text(last)) => last.push_str(text),
            _ => self.0.push(Piece::Text(text.to_owned())),
        }
    }

    fn push(&mut self, other: &Self) {
        for piece in &other.0 {
            match piece {
                Piece::Text(text) => self.push_text(text),
                Piece::Hole(_) => self.0.push(piece.clone()),
            }
        }
    }
}

/// Variables the line itself sets, each with every value it is given.
#[derive(Clone, Debug, Default)]
pub(super) struct Variables(BTreeMap<String, Vec<Word>>);

impl Variables {
    pub(super) fn set(&mut self, name: &str, value: Word) {
        let values = self.0.entry(name.to_owned()).or_default();
        if values.len() < MOST_VALUES && !values.contains(&value) {
            values.push(value);
        }
    }

    fn value(&self, name: &str) -> Word {
        match self.0.get(name).map(Vec::as_slice) {
            Some([one]) => one.clone(),
            // Any of them may be meant where it is used.
            Some(many) => Word(vec![Piece::Hole(
                many.iter().flat_map(|word| word.known().into_iter().chain(word.sources().map(str::to_owned))).collect(),
            )]),
            None if name == "PWD" => Word::text("."),
            None => Word(vec![Piece::Hole(Vec::new())]),
        }
    }
}

/// How deep words may lie in words.
const MOST_DEPTH: usize = 64;

/// Reads the word at a node.
pub(super) fn read(node: Node<'_>, line: &str, variables: &Variables, depth: usize) -> Result<Word, Unreadable> {
    if depth > MOST_DEPTH {
        return Err(Unreadable::TooDeep);
    }
    let text = &line[node.byte_range()];
    let mut word = Word::default();
    match node.kind() {
        "word" | "variable_name" | "number" | "test_operator" | "extglob_pattern" | "regex" | "special_variable_name" => {
            bare(text, &mut word);
        }
        "raw_string" => word.push_text(text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')).unwrap_or(text)),
        "ansi_c_string" => word.push_text(&ansi_c(text.strip_prefix("$'").and_then(|text| text.strip_suffix('\'')).unwrap_or(text))),
        "string_content" => word.push_text(&text.replace("\\\"", "\"").replace("\\\\", "\\").replace("\\$", "$").replace("\\\n", "")),
        "simple_expansion" | "expansion" => {
            let name: String =
                text.trim_start_matches(['$', '{', '!', '#']).chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            match text.split_once(":-").or_else(|| text.split_once(":=")) {
                // `${X:-value}`: set or not, one of the two.
                Some((_, default)) => word.0.push(Piece::Hole(vec![default.trim_end_matches('}').to_owned()])),
                None => word.push(&variables.value(&name)),
            }
        }
        "command_substitution" | "process_substitution" => word.0.push(Piece::Hole(literals(node, line))),
        "brace_expression" => word.0.push(Piece::Hole(Vec::new())),
        "string" | "concatenation" | "translated_string" | "command_name" | "array" => {
            let mut cursor = node.walk();
            let mut at = if node.kind() == "string" { node.start_byte() + 1 } else { node.start_byte() };
            let mut braced = None;
            for child in node.children(&mut cursor) {
                if matches!(child.kind(), "\"" | "$\"" | "(" | ")") {
                    continue;
                }
                if node.kind() == "concatenation" {
                    // `{a,b}` comes in pieces, and stands for either.
                    match (&line[child.byte_range()], braced) {
                        ("{", None) => braced = Some(child.end_byte()),
                        ("}", Some(from)) => {
                            braced = None;
                            word.0.push(Piece::Hole(line[from..child.start_byte()].split(',').map(str::to_owned).collect()));
                            continue;
                        }
                        _ => {}
                    }
                    if braced.is_some() {
                        continue;
                    }
                }
                if node.kind() == "string" && child.start_byte() > at {
                    word.push_text(&line[at..child.start_byte()]);
                }
                at = child.end_byte();
                word.push(&read(child, line, variables, depth + 1)?);
            }
            if braced.is_some() {
                word.0.push(Piece::Hole(Vec::new()));
            }
        }
        _ => bare(text, &mut word),
    }
    Ok(word)
}

/// A word without quotes: a backslash keeps what follows, and `*`, `?`, `[..]`
/// and `{..}` stand for something else.
fn bare(text: &str, word: &mut Word) {
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('\n') | None => {}
                Some(kept) => word.push_text(kept.encode_utf8(&mut [0; 4])),
            },
            '*' | '?' => word.0.push(Piece::Hole(Vec::new())),
            '[' | '{' if text.len() > 1 => {
                let close = if c == '[' { ']' } else { '}' };
                let inside: String = chars.by_ref().take_while(|c| *c != close).collect();
                word.0.push(Piece::Hole(inside.split(',').map(str::to_owned).collect()));
            }
            c => word.push_text(c.encode_utf8(&mut [0; 4])),
        }
    }
}

/// `$'..'`: the escapes that can spell a path.
fn ansi_c(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let mut digits = |radix: u32, most: usize| {
            let mut digits = String::new();
            while digits.len() < most {
                match chars.next_if(|c| c.is_digit(radix)) {
                    Some(digit) => digits.push(digit),
                    None => break,
                }
            }
            u32::from_str_radix(&digits, radix).ok().and_then(char::from_u32)
        };
        if let Some(octal) = digits(8, 3) {
            out.push(octal);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some(kind @ ('x' | 'u' | 'U')) => {
                let most = if kind == 'x' { 2 } else { 8 };
                let mut hex = String::new();
                while hex.len() < most {
                    match chars.next_if(char::is_ascii_hexdigit) {
                        Some(digit) => hex.push(digit),
                        None => break,
                    }
                }
                out.extend(u32::from_str_radix(&hex, 16).ok().and_then(char::from_u32));
            }
            Some(other) => out.push(other),
            None => {}
        }
    }
    out
}

/// Every literal word below a node, in the order of the text.
pub(super) fn literals(node: Node<'_>, line: &str) -> Vec<String> {
    const MOST: usize = 256;
    let mut found = Vec::new();
    let mut todo = vec![node];
    while let Some(node) = todo.pop() {
        if found.len() >= MOST {
            break;
        }
        if matches!(node.kind(), "word" | "string_content" | "raw_string" | "ansi_c_string" | "heredoc_body") {
            found.push(line[node.byte_range()].trim_matches('\'').replace('\\', ""));
        }
        let mut cursor = node.walk();
        let children: Vec<_> = node.children(&mut cursor).collect();
        todo.extend(children.into_iter().rev());
    }
    found
}
