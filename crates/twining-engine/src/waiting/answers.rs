//! Answers: one call of a verb each, and what holds after it.

use serde_json::{Map, Value, json};
use twining_model::{Decision, text};

use super::item::{AnswerNeed, WaitingAnswer};
use crate::decisions::items_of;
use crate::fields;
pub(super) use crate::fields::href;

/// Characters of a record's words in a sentence of ours, and on a button.
const QUOTED: usize = 80;
const ON_BUTTON: usize = 40;

impl WaitingAnswer {
    /// A call of a verb with this input, after which `then` holds.
    pub(super) fn call(label: impl Into<String>, verb: &str, input: Value, then: String) -> Self {
        let Value::Object(input) = input else { unreachable!("inputs are objects") };
        Self {
            label: label.into(),
            verb: verb.to_owned(),
            input,
            needs: Vec::new(),
            field: None,
            reason_field: None,
            then,
            command: String::new(),
        }
    }

    /// Only a command to copy.
    pub(super) fn copy(label: &str, command: String, then: String) -> Self {
        Self { command, input: Map::new(), ..Self::call(label, "", json!({}), then) }
    }

    /// The same, where the person says why in this field.
    pub(super) fn because(mut self, field: &str) -> Self {
        self.needs.push(AnswerNeed::Reason);
        self.field = Some(field.to_owned());
        self
    }

    /// The same, where the person's own text goes into this field.
    pub(super) fn saying(mut self, field: &str) -> Self {
        self.needs.push(AnswerNeed::Text);
        self.field = Some(field.to_owned());
        self
    }

    /// The same, where the person may say why beside that.
    pub(super) fn and_because(mut self, field: &str, default: &str) -> Self {
        self.needs.push(AnswerNeed::Reason);
        self.reason_field = Some(field.to_owned());
        self.input.insert(field.to_owned(), default.into());
        self
    }

    /// The same, confirmed by a name that is typed.
    pub(super) fn by_name(mut self) -> Self {
        self.needs.push(AnswerNeed::Name);
        self
    }

    /// The same with the command line that does it.
    pub(super) fn with_command(mut self, command: String) -> Self {
        self.command = command;
        self
    }
}

/// A record's words in a sentence of ours.
pub(super) fn quoted(words: &str) -> String {
    format!("\"{}\"", text::visible(&fields::shorten(words, QUOTED)))
}

/// The same on a button.
pub(super) fn named(verb: &str, words: &str) -> String {
    format!("{verb} \"{}\"", text::visible(&fields::shorten(words, ON_BUTTON)))
}

/// What happens when a person overrides these, as the rest of a sentence's paragraph:
/// what stops being ruled out, and how much is flagged.
pub(super) fn consequences(overridden: &[&RatedDecision]) -> String {
    let items: Vec<String> = overridden.iter().flat_map(|one| items_of(&one.decision)).collect();
    let mut sentences = String::new();
    if !items.is_empty() {
        let are = if items.len() == 1 { "is" } else { "are" };
        let names = fields::some_names(items.iter().map(String::as_str));
        sentences.push_str(&format!(" {names} {are} no longer ruled out by that."));
    }
    let dependents: usize = overridden.iter().map(|one| one.dependents).sum();
    if dependents > 0 {
        let (decisions, are) = if dependents == 1 {
            ("decision that rests", "is")
        } else {
            ("decisions that rest", "are")
        };
        sentences
            .push_str(&format!(" {dependents} {decisions} on what is overridden {are} flagged."));
    }
    sentences
}

/// What is blocked once this decision is in force.
pub(super) fn ruled_out_by(decision: &Decision) -> String {
    let items = items_of(decision);
    if items.is_empty() {
        return String::new();
    }
    let are = if items.len() == 1 { "is" } else { "are" };
    format!(" {} {are} blocked from now on.", fields::some_names(items.iter().map(String::as_str)))
}

/// A decision, and how many in force rest on it.
pub(super) struct RatedDecision {
    pub(super) decision: Decision,
    pub(super) dependents: usize,
}

/// A word of a command line, in quotes where a shell needs them.
pub(crate) fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=@,+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// A command that opens a file at a line.
pub(crate) fn edit_command(file: &str, line: u64) -> String {
    format!("${{EDITOR:-vi}} +{line} {}", shell_word(file))
}
