//! YAML with the place of everything in it, so that a mistake can be pointed at
//! and what is right beside it still counts.
//!
//! The text is untrusted: no aliases, bounded depth and size, no types beyond
//! words, numbers, lists and maps.

use std::fmt;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_saphyr::{Location, Spanned};
use twining_model::{limits, text};

/// Top-level keys that are read one by one when the whole is broken; a policy has
/// four, and each is padded to its line.
const MOST_PARTS: usize = 32;

/// A place in a text, from one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct YamlPosition {
    /// The line.
    pub line: u64,
    /// The column.
    pub column: u64,
}

/// A value and its position.
#[derive(Clone, Debug, PartialEq)]
pub struct YamlNode {
    /// Where it begins.
    pub at: YamlPosition,
    /// What it is.
    pub value: YamlValue,
}

/// A map key and its position.
#[derive(Clone, Debug, PartialEq)]
pub struct YamlKey {
    /// Where it begins.
    pub at: YamlPosition,
    /// What it is called.
    pub name: String,
}

/// What a text can say.
#[derive(Clone, Debug, PartialEq)]
pub enum YamlValue {
    /// Nothing.
    Nothing,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(f64),
    /// Text.
    Text(String),
    /// A list.
    List(Vec<YamlNode>),
    /// A map, in its order.
    Map(Vec<(YamlKey, YamlNode)>),
}

impl YamlValue {
    /// What it is, in words for a mistake.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Bool(_) => "true or false",
            Self::Number(_) => "a number",
            Self::Text(_) => "text",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
        }
    }
}

/// Something that is no YAML, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct YamlError {
    /// Where.
    pub at: YamlPosition,
    /// What is wrong.
    pub why: String,
    /// What of the text is not read because of it.
    pub lost: LostPart,
}

/// What of a broken text is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LostPart {
    /// Nothing: its parts are read one by one.
    Nothing,
    /// Everything under this top-level key.
    Part(String),
    /// All of it, or an unknown part.
    All,
}

/// The top level of a text. Where it is broken, each top-level key is read by
/// itself: a typo in one part must not take the others away.
pub fn read(text: &str) -> (Vec<(YamlKey, YamlNode)>, Vec<YamlError>) {
    match read_whole(text) {
        Ok(entries) => (entries, Vec::new()),
        Err(whole) => {
            if let Some(conflict) = conflict(text) {
                // One mistake, not one for each line git wrote.
                return (Vec::new(), vec![conflict]);
            }
            let (mut entries, mut broken) = (Vec::new(), Vec::new());
            let parts = parts(text);
            if parts.len() > MOST_PARTS {
                return (entries, vec![whole]);
            }
            for part in parts {
                match read_whole(&part) {
                    Ok(read) => entries.extend(read),
                    Err(error) => broken.push(YamlError {
                        lost: key_of(&part).map_or(LostPart::All, LostPart::Part),
                        ..error
                    }),
                }
            }
            // Parts that are fine one by one can still make no whole.
            if broken.is_empty() {
                broken.push(YamlError { lost: LostPart::Nothing, ..whole });
            }
            (entries, broken)
        }
    }
}

/// Where git left both sides of a merge.
fn conflict(text: &str) -> Option<YamlError> {
    let line = text.lines().position(|line| line.starts_with("<<<<<<< "))? as u64 + 1;
    Some(YamlError {
        at: YamlPosition { line, column: 1 },
        why: "unresolved git merge conflict; keep one side".to_owned(),
        lost: LostPart::All,
    })
}

fn read_whole(text: &str) -> Result<Vec<(YamlKey, YamlNode)>, YamlError> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_reader_input_bytes: Some(limits::POLICY_BYTES * 2),
            max_anchors: 0,
            max_aliases: 0,
            max_depth: limits::JSON_DEPTH,
            max_nodes: 50_000,
        },
        duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::LastWins,
    };
    if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        return Ok(Vec::new());
    }
    let root: Spanned<YamlTree> =
        serde_saphyr::from_str_with_options(text, options).map_err(|error| {
            let at = error
                .location()
                .map(|at| spot(&at))
                .filter(|at| at.line > 0)
                .unwrap_or(YamlPosition { line: 1, column: 1 });
            YamlError { at, why: reason(&error.to_string()), lost: LostPart::All }
        })?;
    match root.value.0 {
        YamlValue::Map(entries) => Ok(entries),
        YamlValue::Nothing => Ok(Vec::new()),
        other => {
            let why = format!("expected keys such as `roles:`, found {}", other.kind());
            Err(YamlError { at: spot(&root.referenced), why, lost: LostPart::All })
        }
    }
}

/// What is wrong, in words that say what to do, or in the parser's own.
fn reason(error: &str) -> String {
    let lower = error.to_lowercase();
    // After the first line comes an excerpt of the text.
    let first = error.lines().next().unwrap_or_default();
    let first = first.strip_prefix("error: ").unwrap_or(first);
    // The parser repeats the position, which we report ourselves.
    let why = match (first.strip_prefix("line "), first.split_once(": ")) {
        _ if lower.contains("budget") && (lower.contains("anchor") || lower.contains("alias")) => {
            "anchors (`&name`) and aliases (`*name`) are not supported; write the value out"
        }
        _ if lower.contains("document") => {
            "a second document starts here, but only one is read; remove the `---` line"
        }
        _ if lower.contains("budget") => "it is nested too deeply or too long for a policy",
        (Some(_), Some((_, rest))) => rest,
        _ => first.split(" at line ").next().unwrap_or(first),
    };
    text::excerpt(why, 160)
}

/// The text cut before each line that begins a top-level key, each piece at its
/// own line.
fn parts(text: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if parts.len() > MOST_PARTS {
            break;
        }
        let begins = line
            .starts_with(|c: char| c.is_alphanumeric() || matches!(c, '"' | '\'' | '_'))
            && line.contains(':');
        if begins || parts.is_empty() {
            parts.push("\n".repeat(number));
        }
        if let Some(part) = parts.last_mut() {
            part.push_str(line);
            part.push('\n');
        }
    }
    parts
}

/// The top-level key that a part begins with, where it plainly does.
fn key_of(part: &str) -> Option<String> {
    let (key, _) = part.trim_start().split_once(':')?;
    let is_plain =
        !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    is_plain.then(|| key.to_owned())
}

fn spot(at: &Location) -> YamlPosition {
    YamlPosition { line: at.line(), column: at.column() }
}

/// A value without its own place, which is its holder's to know.
struct YamlTree(YamlValue);

fn node(spanned: Spanned<YamlTree>) -> YamlNode {
    YamlNode { at: spot(&spanned.referenced), value: spanned.value.0 }
}

impl<'de> Deserialize<'de> for YamlTree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TreeVisitor;

        impl<'de> Visitor<'de> for TreeVisitor {
            type Value = YamlTree;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text, numbers, lists and maps")
            }

            fn visit_unit<E: Error>(self) -> Result<YamlTree, E> {
                Ok(YamlTree(YamlValue::Nothing))
            }

            fn visit_bool<E: Error>(self, given: bool) -> Result<YamlTree, E> {
                Ok(YamlTree(YamlValue::Bool(given)))
            }

            fn visit_i64<E: Error>(self, given: i64) -> Result<YamlTree, E> {
                Ok(YamlTree(YamlValue::Number(given as f64)))
            }

            fn visit_u64<E: Error>(self, given: u64) -> Result<YamlTree, E> {
                Ok(YamlTree(YamlValue::Number(given as f64)))
            }

            fn visit_f64<E: Error>(self, given: f64) -> Result<YamlTree, E> {
                Ok(YamlTree(YamlValue::Number(given)))
            }

            fn visit_str<E: Error>(self, given: &str) -> Result<YamlTree, E> {
                Ok(YamlTree(YamlValue::Text(given.to_owned())))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<YamlTree, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element::<Spanned<YamlTree>>()? {
                    items.push(node(item));
                }
                Ok(YamlTree(YamlValue::List(items)))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<YamlTree, A::Error> {
                let mut entries = Vec::new();
                while let Some(key) = map.next_key::<Spanned<String>>()? {
                    let value = map.next_value::<Spanned<YamlTree>>()?;
                    entries.push((
                        YamlKey { at: spot(&key.referenced), name: key.value },
                        node(value),
                    ));
                }
                Ok(YamlTree(YamlValue::Map(entries)))
            }
        }

        deserializer.deserialize_any(TreeVisitor)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};
    use twining_testcases::each;

    use super::*;

    #[test]
    fn everything_knows_its_line_and_column() {
        let (entries, broken) =
            read("# a comment\nroles:\n  coach:\n    must_do: [one, 2, true]\n");
        assert_eq!(broken, []);
        let (key, roles) = &entries[0];
        assert_eq!((key.name.as_str(), key.at), ("roles", YamlPosition { line: 2, column: 1 }));
        let YamlValue::Map(roles) = &roles.value else { panic!("a map: {roles:?}") };
        assert_eq!(roles[0].0.at, YamlPosition { line: 3, column: 3 });
        let YamlValue::Map(coach) = &roles[0].1.value else { panic!("a map") };
        let YamlValue::List(items) = &coach[0].1.value else { panic!("a list") };
        assert_eq!(
            items[1],
            YamlNode { at: YamlPosition { line: 4, column: 20 }, value: YamlValue::Number(2.0) }
        );
        assert_eq!(items[2].value, YamlValue::Bool(true));
    }

    #[test]
    fn a_broken_part_leaves_the_others() {
        let (entries, broken) =
            read("roles:\n  coach: [unclosed\ngates:\n  feature: {coverage_threshold: 0.9}\n");
        assert_eq!(entries.iter().map(|(key, _)| key.name.as_str()).collect::<Vec<_>>(), ["gates"]);
        assert_eq!(entries[0].0.at.line, 3);
        assert_eq!(broken.len(), 1);
        assert!((1..=3).contains(&broken[0].at.line), "{broken:?}");
        assert!(!broken[0].why.is_empty() && !broken[0].why.contains('\n'), "{broken:?}");
    }

    #[test]
    fn a_merge_nobody_resolved_is_called_one() {
        let (entries, broken) = read("a: 1\n<<<<<<< HEAD\nb: 1\n=======\nb: 2\n>>>>>>> other\n");
        assert_eq!((entries.len(), broken.len(), broken[0].at.line), (0, 1, 2));
        assert_eq!(broken[0].why, "unresolved git merge conflict; keep one side");
    }

    #[test]
    fn what_is_not_read_here_is_said_in_words_that_help() {
        assert!(
            read("roles: &r\n  coach: {}\n").1[0].why.starts_with("anchors (`&name`)"),
            "{:?}",
            read("roles: &r {}\n").1
        );
        let (_, broken) = read("roles: {}\n---\ngates: {}\n");
        assert!(broken[0].why.starts_with("a second document starts here"), "{broken:?}");
    }

    #[test]
    fn nothing_but_comments_is_nothing() {
        assert_eq!(read(""), (Vec::new(), Vec::new()));
        assert_eq!(read("# one\n\n  # two\n"), (Vec::new(), Vec::new()));
        assert_eq!(read("just words\n").1.len(), 1);
    }

    #[test]
    fn hostile_yaml_is_a_mistake_and_not_a_bomb() {
        let mut bomb = String::from("a: &a [x,x,x,x,x,x,x,x,x]\n");
        (0..9).for_each(|i| bomb.push_str(&format!("b{i}: &b{i} [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n")));
        let deep = "[".repeat(60_000);
        each(
            [
                bomb.as_str(),
                deep.as_str(),
                "a: &a\n  <<: *a\n",
                "{",
                "\u{0}",
                "- - - : : :",
                "<<<<<<< ours\na: 1\n=======\n",
            ],
            |hostile| {
                let started = Instant::now();
                let (_, broken) = read(hostile);
                assert!(started.elapsed() < Duration::from_secs(5));
                assert!(!broken.is_empty(), "{}", text::excerpt(hostile, 20));
            },
        );
    }
}
