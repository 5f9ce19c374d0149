//! A word of a command line: what is known of it, and holes where nothing is.

use std::collections::BTreeMap;
use std::ops::Range;

use tree_sitter::Node;

use crate::guards::shell::steps::Steps;
use crate::guards::shell::{Unreadable, spared};

/// Values one variable may have had; more are one hole.
const MOST_VALUES: usize = 8;

/// A part of a word.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Piece {
    /// Known text.
    Text(String),
    /// Anything, perhaps made from these words: `$(ls a b)` holds `ls`, `a`, `b`.
    Hole(Vec<String>),
    /// What the shell fills in from the names that are there: `*`, `?`.
    Glob(String),
}

/// A word, piece by piece.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
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

    /// How much there is of it.
    fn weight(&self) -> usize {
        let of = |piece: &Piece| match piece {
            Piece::Text(text) => text.len() / 64,
            Piece::Hole(sources) => sources.len(),
            Piece::Glob(_) => 0,
        };
        self.0.iter().map(|piece| 1 + of(piece)).sum()
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
                Piece::Hole(_) | Piece::Glob(_) => self.0.push(piece.clone()),
            }
        }
    }
}

/// Variables the line itself sets, each with every value it is given.
#[derive(Clone, Debug)]
pub(super) struct Variables {
    values: BTreeMap<String, Vec<Word>>,
    /// Names that stand for other names: `declare -n short=long`.
    refers: BTreeMap<String, String>,
    steps: Steps,
}

impl Variables {
    pub(super) fn new(steps: Steps) -> Self {
        Self { values: BTreeMap::new(), refers: BTreeMap::new(), steps }
    }

    /// What reading words is counted by.
    pub(super) fn steps(&self) -> &Steps {
        &self.steps
    }

    /// Sets `$0`, `$1` and so on, and `$@` to any of them.
    pub(super) fn give(&mut self, first: usize, words: &[Word]) {
        for (at, word) in words.iter().enumerate() {
            self.set(&(first + at).to_string(), word.clone());
            self.set("", word.clone());
        }
    }

    pub(super) fn set(&mut self, name: &str, value: Word) {
        let values = self.values.entry(name.to_owned()).or_default();
        if values.len() < MOST_VALUES && !values.contains(&value) {
            values.push(value);
        }
    }

    /// Lets a name stand for another.
    pub(super) fn refer(&mut self, name: &str, to: &str) {
        self.refers.insert(name.to_owned(), to.to_owned());
    }

    /// Sets a list: any of its parts by its name, each by its place.
    pub(super) fn set_list(&mut self, name: &str, parts: Vec<(Option<String>, Word)>) {
        for (at, (key, part)) in parts.into_iter().enumerate() {
            let key = key.unwrap_or_else(|| at.to_string());
            self.set(&format!("{name}[{key}]"), part.clone());
            self.set(name, part);
        }
    }

    /// The value of a part of a list, or of all of it where nobody knows which.
    fn part(&self, name: &str, key: &str) -> Word {
        let name = self.refers.get(name).map_or(name, String::as_str);
        let exact = format!("{name}[{}]", key.trim_matches(['"', '\'']));
        if self.values.contains_key(&exact) { self.value(&exact) } else { self.value(name) }
    }

    fn value(&self, name: &str) -> Word {
        let name = self.refers.get(name).map_or(name, String::as_str);
        match self.values.get(name).map(Vec::as_slice) {
            Some([one]) => one.clone(),
            // Any of them may be meant where it is used.
            Some(many) => Word(vec![Piece::Hole(
                many.iter().flat_map(|word| word.known().into_iter().chain(word.sources().map(str::to_owned))).collect(),
            )]),
            None if name == "PWD" => Word::text("."),
            // Whoever runs the line.
            None if matches!(name, "USER" | "LOGNAME") => Word::text(&format!("${name}")),
            None => Word(vec![Piece::Hole(Vec::new())]),
        }
    }
}

/// The text at a place, whole characters: the grammar goes by bytes.
pub(super) fn said(line: &str, at: Range<usize>) -> &str {
    let from = (0..=at.start.min(line.len())).rev().find(|at| line.is_char_boundary(*at)).unwrap_or_default();
    let to = (at.end.min(line.len())..=line.len()).find(|at| line.is_char_boundary(*at)).unwrap_or(line.len());
    line.get(from..to).unwrap_or_default()
}

/// How deep words may lie in words.
const MOST_DEPTH: usize = 64;

/// Reads the word at a node.
pub(super) fn read(node: Node<'_>, line: &str, variables: &Variables, depth: usize) -> Result<Word, Unreadable> {
    if depth > MOST_DEPTH {
        return Err(Unreadable::TooDeep);
    }
    let text = said(line, node.byte_range());
    let mut word = Word::default();
    variables.steps.take(1 + text.len() / 64)?;
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
                None => {
                    let key = text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(key, _)| key);
                    let value = match key {
                        Some(key) => variables.part(&name, key),
                        None => variables.value(&name),
                    };
                    // `${!short}` is the value of the name that `short` holds.
                    let value = match value.known().filter(|_| text.starts_with("${!")) {
                        Some(held) => variables.value(&held),
                        None => value,
                    };
                    let value = match value
                        .known()
                        .filter(|_| key.is_none() && text.starts_with("${"))
                        .and_then(|known| cut_down(&known, text, &name))
                    {
                        Some(less) => Word::text(&less),
                        None => value,
                    };
                    // A value twice in each next value doubles with every one.
                    variables.steps.take(value.weight())?;
                    word.push(&value);
                }
            }
        }
        "command_substitution" | "process_substitution" => word.0.push(Piece::Hole(literals(node, line, &variables.steps)?)),
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
                    match (said(line, child.byte_range()), braced) {
                        ("{" | "[", None) => braced = Some(child.end_byte()),
                        ("}" | "]", Some(from)) => {
                            braced = None;
                            word.0.push(Piece::Hole(said(line, from..child.start_byte()).split(',').map(str::to_owned).collect()));
                            continue;
                        }
                        _ => {}
                    }
                    if braced.is_some() {
                        continue;
                    }
                }
                if node.kind() == "string" && child.start_byte() > at {
                    word.push_text(said(line, at..child.start_byte()));
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

/// A value with a part taken out or put in another's place: `${x%.bak}`, `${x:2}`,
/// `${x/a/b}`; none where that is not told by plain text.
fn cut_down(value: &str, text: &str, name: &str) -> Option<String> {
    let rest = text.strip_prefix("${")?.strip_prefix(name)?.strip_suffix('}')?;
    let plain = |part: &str| (!part.contains(['*', '?', '[', '$', '`'])).then(|| part.trim_matches(['"', '\'']).replace('\\', ""));
    if let Some(end) = rest.strip_prefix("%%").or_else(|| rest.strip_prefix('%')) {
        return Some(value.strip_suffix(&plain(end)?).unwrap_or(value).to_owned());
    }
    if let Some(start) = rest.strip_prefix("##").or_else(|| rest.strip_prefix('#')) {
        return Some(value.strip_prefix(&plain(start)?).unwrap_or(value).to_owned());
    }
    if let Some(range) = rest.strip_prefix(':') {
        let (from, many) = range.split_once(':').map_or((range, None), |(from, many)| (from, Some(many)));
        let from: usize = from.trim().parse().ok()?;
        let many = many.map_or(Ok(usize::MAX), |many| many.trim().parse()).ok()?;
        return Some(value.chars().skip(from).take(many).collect());
    }
    let all = rest.strip_prefix("//");
    let (old, new) = all.or_else(|| rest.strip_prefix('/'))?.split_once('/')?;
    let (old, new) = (plain(old)?, plain(new)?);
    (!old.is_empty()).then(|| if all.is_some() { value.replace(&old, &new) } else { value.replacen(&old, &new, 1) })
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
            '*' | '?' => match word.0.last_mut() {
                Some(Piece::Glob(signs)) => signs.push(c),
                _ => word.0.push(Piece::Glob(c.to_string())),
            },
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
                let most = match kind {
                    'x' => 2,
                    'u' => 4,
                    _ => 8,
                };
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

/// Literal words of one place that are told apart.
pub(super) const MOST_LITERALS: usize = 256;
/// Stands for those that were too many to tell: any of them may be meant.
pub(crate) const UNTOLD: &str = "\u{0}";

/// As many as are told apart, and word of the rest.
pub(super) fn told(mut found: Vec<String>) -> Vec<String> {
    if found.len() > MOST_LITERALS {
        found.truncate(MOST_LITERALS);
        found.push(UNTOLD.to_owned());
    }
    found
}

/// Every literal word below a node, in the order of the text, whole and as `xargs`
/// would take it apart.
pub(super) fn literals(node: Node<'_>, line: &str, steps: &Steps) -> Result<Vec<String>, Unreadable> {
    let mut found = Vec::new();
    let mut left_out = Vec::new();
    let mut cursor = node.walk();
    loop {
        steps.take(1)?;
        let here = cursor.node();
        if here.kind() == "command" {
            let spared = spared_by(here, line);
            let is_memory = |word: &Node<'_>| spared::is_memory(said(line, word.byte_range()).trim_matches(['\'', '"']));
            found.extend(spared.iter().any(is_memory).then(|| spared::SPARED.to_owned()));
            left_out.extend(spared.iter().map(Node::id));
        }
        let is_said = !left_out.contains(&here.id());
        if is_said && matches!(here.kind(), "word" | "string_content" | "raw_string" | "ansi_c_string" | "heredoc_body") {
            let words = said(line, here.byte_range()).trim_matches('\'').replace('\\', "");
            if words.contains(char::is_whitespace) {
                found.extend(words.split_whitespace().take(MOST_LITERALS).map(str::to_owned));
            }
            found.push(words);
        }
        if found.len() > MOST_LITERALS {
            return Ok(told(found));
        }
        if is_said && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            // The walk begins at the node and ends there.
            if !cursor.goto_parent() {
                return Ok(found);
            }
        }
    }
}

/// The words of a search that say what it leaves out.
fn spared_by<'t>(command: Node<'t>, line: &str) -> Vec<Node<'t>> {
    let mut cursor = command.walk();
    let words: Vec<Node<'_>> = command.children(&mut cursor).take(MOST_LITERALS).collect();
    let said: Vec<String> = words.iter().map(|word| said(line, word.byte_range()).trim_matches(['\'', '"']).replace('\\', "")).collect();
    spared::words(&said).into_iter().filter_map(|at| words.get(at)).copied().collect()
}
