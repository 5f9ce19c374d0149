//! Single values of a policy file: each is read, or is a mistake with its place.

use serde_json::{Value as Json, json};
use twining_model::{limits, text};

use crate::governance::gates::Percent;
use crate::governance::modes::Ceremony;
use crate::governance::policy::patch::{HARDEST, ListPatch};
use crate::governance::policy::reader::{PolicyReader, unique};
use crate::knowledge::advice::suggest;
use crate::words;
use twining_guard::policy::mistake::Mistake;
use twining_guard::policy::source::{PolicyLayer, PolicySource, Sourced};
use twining_guard::policy::yaml::{YamlKey, YamlNode, YamlPosition, YamlValue};

/// Mistakes of one file that are told.
const MOST_MISTAKES: usize = 32;

impl PolicyReader<'_> {
    pub(super) fn map<'n>(&mut self, node: &'n YamlNode, wanted: &str) -> Vec<&'n (YamlKey, YamlNode)> {
        match &node.value {
            YamlValue::Map(entries) => unique(entries, self),
            YamlValue::Nothing => Vec::new(),
            other => {
                self.wrong(node.at, &format!("{wanted} are wanted"), other);
                Vec::new()
            }
        }
    }

    /// A list of texts, or one text. A value that is neither leaves the list of the layer below as it is.
    pub(super) fn list(&mut self, node: &YamlNode, adds: bool, list: &mut ListPatch) {
        let mut items: Vec<Sourced<String>> = Vec::new();
        let nodes = match &node.value {
            YamlValue::List(nodes) => nodes.as_slice(),
            YamlValue::Text(_) => std::slice::from_ref(node),
            YamlValue::Nothing => {
                let suggestion = "write `[]` for an empty list, or leave the line out".to_owned();
                return self.mistake(node.at, "a list of texts is wanted, and nothing stands here".to_owned(), Some(suggestion));
            }
            other => return self.wrong(node.at, "a list of texts is wanted", other),
        };
        if nodes.len() > limits::LIST {
            self.mistake(node.at, format!("a list may have at most {} items; the others are left out", limits::LIST), None);
        }
        for node in nodes.iter().take(limits::LIST) {
            let Some(item) = self.text(node) else { continue };
            if !items.iter().any(|known| known.value == item) {
                items.push(Sourced { value: item, source: self.source(node.at) });
            }
        }
        if adds {
            list.added = items;
        } else if nodes.is_empty() || !items.is_empty() {
            list.replaced = Some(items);
        }
    }

    /// Whether an override needs a person's word.
    pub(super) fn is_confirmed(&mut self, node: &YamlNode) -> bool {
        match &node.value {
            YamlValue::Text(word) if word.trim() == "confirmed" => true,
            YamlValue::Text(word) if word.trim() == "claimed" => false,
            _ => {
                let suggestion = Some("confirmed, or claimed".to_owned());
                self.mistake(node.at, "`confirmed` or `claimed` is wanted: whose word an override needs".to_owned(), suggestion);
                false
            }
        }
    }

    /// A text on one line that nothing hides in: it may end up in a prompt.
    pub(super) fn text(&mut self, node: &YamlNode) -> Option<String> {
        let given = match &node.value {
            YamlValue::Text(text) => text.clone(),
            YamlValue::Number(number) => number.to_string(),
            YamlValue::Bool(flag) => flag.to_string(),
            other => {
                self.wrong(node.at, "text is wanted", other);
                return None;
            }
        };
        let clean = words::fold(&text::visible(&given));
        if clean.is_empty() {
            self.mistake(node.at, "the text is empty".to_owned(), None);
            return None;
        }
        if clean.len() > limits::ELEMENT_BYTES {
            self.mistake(node.at, format!("the text has {} bytes, and at most {} are read", clean.len(), limits::ELEMENT_BYTES), None);
            return None;
        }
        Some(clean)
    }

    pub(super) fn name(&mut self, key: &YamlKey, plain: fn(&str) -> String) -> Option<String> {
        let name = words::fold(&text::visible(&plain(&key.name)));
        if name.is_empty() || name.len() > limits::TAG_BYTES {
            self.mistake(key.at, format!("a name has 1 to {} bytes", limits::TAG_BYTES), None);
            return None;
        }
        Some(name)
    }

    pub(super) fn flag(&mut self, node: &YamlNode) -> Option<Json> {
        let flag = if let YamlValue::Bool(flag) = node.value { Some(Json::from(flag)) } else { None };
        self.wanted(node, "`true` or `false` is wanted", flag)
    }

    pub(super) fn percent(&mut self, node: &YamlNode) -> Option<Json> {
        let given = match &node.value {
            YamlValue::Number(number) => Some(*number),
            // With the sign it is a percentage, however small.
            YamlValue::Text(text) => text
                .trim()
                .strip_suffix('%')
                .and_then(|digits| digits.trim().parse().ok())
                .map(|number: f64| if number <= 1.0 { number / 100.0 } else { number }),
            _ => None,
        };
        let share = given.and_then(Percent::read).map(|share| Json::from(share.fraction()));
        self.wanted(node, "a coverage between 0 and 1, or in percent up to 100, is wanted", share)
    }

    pub(super) fn score(&mut self, node: &YamlNode) -> Option<Json> {
        let score = if let YamlValue::Number(number) = node.value { whole(number, 0, 100) } else { None };
        self.wanted(node, "a whole number from 0 to 100 is wanted", score.map(Json::from))
    }

    pub(super) fn ceremony(&mut self, node: &YamlNode) -> Option<Json> {
        let given = self.text(node)?;
        let level = Ceremony::read(&given.to_lowercase());
        if level.is_none() {
            let known = Ceremony::ALL.map(Ceremony::as_str);
            let suggestion = suggest("ceremony", &given, &known).map(|word| format!("did you mean `{word}`?"));
            let message = format!("`{}` is no ceremony; it is one of {}", text::excerpt(&given, 40), known.join(", "));
            self.mistake(node.at, message, suggestion);
        }
        level.map(|level| Json::from(level.as_str()))
    }

    /// `[4, 6]`, `4-6` or a single complexity.
    pub(super) fn range(&mut self, node: &YamlNode) -> Option<Json> {
        let ends: Option<(f64, f64)> = match &node.value {
            YamlValue::Number(one) => Some((*one, *one)),
            YamlValue::List(ends) => match ends.as_slice() {
                [YamlNode { value: YamlValue::Number(low), .. }, YamlNode { value: YamlValue::Number(high), .. }] => Some((*low, *high)),
                _ => None,
            },
            YamlValue::Text(text) => {
                text.split_once('-').and_then(|(low, high)| Some((low.trim().parse().ok()?, high.trim().parse().ok()?)))
            }
            _ => None,
        };
        match ends.and_then(|(low, high)| Some((whole(low, 1, HARDEST)?, whole(high, 1, HARDEST)?))) {
            Some((low, high)) if low <= high => return Some(json!([low, high])),
            Some((low, high)) => self.mistake(node.at, "the range runs backwards".to_owned(), Some(format!("write [{high}, {low}]"))),
            None => self.mistake(node.at, format!("a range within 1 and {HARDEST} is wanted"), Some("write it as [4, 6]".to_owned())),
        }
        None
    }

    pub(super) fn unknown(&mut self, key: &YamlKey, what: &str, suggestion: Option<&str>, known: &str) {
        let name = text::excerpt(&key.name, 40);
        let suggestion = suggestion.map_or_else(|| format!("known are {known}"), |word| format!("did you mean `{word}`?"));
        self.mistake(key.at, format!("`{name}` is not {what}"), Some(suggestion));
    }

    /// The value, or a mistake that says what is wanted.
    fn wanted<T>(&mut self, node: &YamlNode, wanted: &str, value: Option<T>) -> Option<T> {
        if value.is_none() {
            self.wrong(node.at, wanted, &node.value);
        }
        value
    }

    pub(super) fn wrong(&mut self, at: YamlPosition, wanted: &str, found: &YamlValue) {
        self.mistake(at, format!("{wanted}, and {} stands here", found.kind()), None);
    }

    pub(super) fn mistake(&mut self, at: YamlPosition, message: String, suggestion: Option<String>) {
        // A file of nothing but mistakes must not become an answer of nothing but mistakes.
        if self.mistakes.len() < MOST_MISTAKES {
            self.mistakes.push(Mistake { file: self.file.to_owned(), line: at.line, column: at.column, message, suggestion });
        }
    }

    pub(super) fn source(&self, at: YamlPosition) -> PolicySource {
        match self.layer {
            PolicyLayer::Default => PolicySource::DEFAULT,
            layer => PolicySource { layer, line: Some(at.line), column: Some(at.column) },
        }
    }
}

/// A whole number between these.
fn whole(number: f64, low: u8, high: u8) -> Option<u8> {
    let is_whole = number.fract() == 0.0 && (f64::from(low)..=f64::from(high)).contains(&number);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be whole and between two bytes")]
    is_whole.then_some(number as u8)
}
