//! An act that a person can choose: one call of a verb, what it asks for, and what it leads to.

use serde_json::{Map, Value, json};
use twining_engine::{AnswerNeed, WaitingAnswer};
use twining_model::Claim;

use crate::commands::VERBS;
use crate::verbs::verb::VerbEntry;

/// A field of the input that the person types.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TypedField {
    /// What stands before the line.
    pub(crate) label: &'static str,
    /// The field of the verb's input.
    pub(crate) name: String,
    /// Whether it may stay empty.
    pub(crate) is_optional: bool,
}

/// The act.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OfferedAct {
    pub(crate) label: String,
    /// The verb; empty where only the command does it.
    pub(crate) verb: String,
    /// Its input, without what the person types.
    pub(crate) input: Map<String, Value>,
    pub(crate) typed: Vec<TypedField>,
    /// The word that is typed to confirm it.
    pub(crate) confirm_word: Option<String>,
    /// What holds afterwards.
    pub(crate) then: String,
    /// The command line that does the same.
    pub(crate) command: String,
}

impl OfferedAct {
    /// An answer to what waits.
    pub(crate) fn of_answer(answer: &WaitingAnswer) -> Self {
        let field = |name: &Option<String>| name.clone().unwrap_or_else(|| "reason".to_owned());
        let typed = answer.needs.iter().filter_map(|need| match need {
            AnswerNeed::Text => {
                let name = field(&answer.field);
                Some(TypedField { label: "Answer", name, is_optional: false })
            }
            // Beside a text the reason has a field of its own, with something in it already.
            AnswerNeed::Reason => Some(TypedField {
                label: "Reason",
                name: field(
                    answer.reason_field.as_ref().map_or(&answer.field, |_| &answer.reason_field),
                ),
                is_optional: answer.reason_field.is_some(),
            }),
            AnswerNeed::Name => None,
        });
        let act = Self {
            label: answer.label.clone(),
            verb: answer.verb.clone(),
            input: answer.input.clone(),
            typed: typed.collect(),
            confirm_word: None,
            then: answer.then.clone(),
            command: answer.command.clone(),
        };
        if answer.needs.contains(&AnswerNeed::Name) { act.confirmed() } else { act }
    }

    /// An answer to a question or need on the board.
    pub(crate) fn reply(kind: &str, id: &str, scope: &str, summary: &str) -> Self {
        Self {
            label: format!("Answer: {summary}"),
            verb: "post".to_owned(),
            input: fields(json!({"entry_type": "answer", "relates_to": [id], "scope": scope})),
            typed: vec![TypedField {
                label: "Answer",
                name: "summary".to_owned(),
                is_optional: false,
            }],
            confirm_word: None,
            then: format!("Your answer is posted, and the {kind} is no longer open."),
            command: format!("twining post answer \"…\" --relates-to {id}"),
        }
    }

    /// The end of an entry that is open.
    pub(crate) fn dismissal(kind: &str, id: &str, summary: &str) -> Self {
        Self {
            label: format!("Dismiss: {summary}"),
            verb: "dismiss".to_owned(),
            input: fields(json!({"ids": [id]})),
            typed: vec![TypedField {
                label: "Reason",
                name: "reason".to_owned(),
                is_optional: false,
            }],
            confirm_word: None,
            then: format!("The {kind} is closed; it stays readable."),
            command: format!("twining dismiss {id} --why \"…\""),
        }
    }

    /// The end of a claim.
    pub(crate) fn release(claim: &Claim) -> Self {
        let held = claim.paths.iter().chain(&claim.feature).cloned().collect::<Vec<_>>().join(" ");
        let mut input = fields(json!({"action": "release", "paths": claim.paths}));
        input.extend(claim.feature.iter().map(|feature| ("feature".to_owned(), json!(feature))));
        Self {
            label: format!("Release {held}"),
            verb: "claim".to_owned(),
            input,
            typed: Vec::new(),
            confirm_word: None,
            then: format!("{} no longer holds {held}, and is notified.", claim.agent_id),
            command: format!("twining claim {held} --action release"),
        }
    }

    /// The same with the word that confirms it, as the verb says.
    fn confirmed(mut self) -> Self {
        let mut input = self.input.clone();
        // The verb reads a whole input; what the person types is not in it yet.
        input.extend(self.typed.iter().map(|field| (field.name.clone(), json!("…"))));
        self.confirm_word = verb(&self.verb).and_then(|verb| (verb.confirm_name)(&input));
        self
    }
}

/// The verb of this name.
pub(crate) fn verb(name: &str) -> Option<&'static VerbEntry> {
    VERBS.iter().find(|verb| verb.name == name)
}

/// The fields of an object.
pub(crate) fn fields(object: Value) -> Map<String, Value> {
    match object {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
