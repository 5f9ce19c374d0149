//! The form of an answer: what the person types before a verb is called.

use serde_json::{Map, Value};
use twining_model::Id;

use crate::tui::key_decoder::Key;
use crate::tui::offered_act::{OfferedAct, TypedField};

/// How much of an id is typed: its end, which ids of one moment do not share.
const TYPED_ID_CHARS: usize = 8;

/// A call of a verb, with what the person typed to confirm it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct VerbCall {
    pub(crate) verb: String,
    pub(crate) input: Map<String, Value>,
    /// The word that was typed, if one was asked for.
    pub(crate) typed: Option<String>,
}

/// A line that is typed into the form.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FormField {
    /// Why, or the answer's own text.
    Text { field: TypedField, typed: String },
    /// The name of what it is about.
    Name { word: String, typed: String },
}

/// What became of a key.
#[derive(Debug, PartialEq)]
pub(crate) enum FormStep {
    /// More is to be typed.
    Typing,
    /// Nothing is done.
    Cancelled,
    /// The verb is to be called.
    Send(VerbCall),
}

/// An answer that is being given.
#[derive(Clone, Debug)]
pub(crate) struct AnswerForm {
    pub(crate) act: OfferedAct,
    pub(crate) fields: Vec<FormField>,
    pub(crate) focus: usize,
    /// Why it cannot be sent as it is.
    pub(crate) problem: Option<String>,
}

impl AnswerForm {
    pub(crate) fn new(act: OfferedAct) -> Self {
        let text =
            |field: &TypedField| FormField::Text { field: field.clone(), typed: String::new() };
        let fields = act.typed.iter().map(text).collect();
        let word = act.confirm_word.clone();
        let mut form = Self { act, fields, focus: 0, problem: None };
        word.into_iter().for_each(|word| form.ask_for(word));
        form.focus = 0;
        form
    }

    /// Asks for a word to be typed before the verb is called.
    pub(crate) fn ask_for(&mut self, word: String) {
        if !self.fields.iter().any(|field| matches!(field, FormField::Name { .. })) {
            self.fields.push(FormField::Name { word, typed: String::new() });
            self.focus = self.fields.len() - 1;
            self.focus = self.first_empty().unwrap_or(self.focus);
        }
    }

    /// Takes a key.
    pub(crate) fn press(&mut self, key: &Key) -> FormStep {
        let typed = self.fields.get_mut(self.focus).map(FormField::typed_mut);
        match (key, typed) {
            (Key::Esc | Key::Ctrl('c'), _) => return FormStep::Cancelled,
            (Key::Tab | Key::Down, _) => self.focus = (self.focus + 1) % self.fields.len().max(1),
            (Key::BackTab | Key::Up, _) => {
                self.focus = self.focus.checked_sub(1).unwrap_or(self.fields.len().max(1) - 1);
            }
            (Key::Enter, _) => return self.send(),
            (key, Some(typed)) => {
                edit_line(typed, key);
                self.problem = None;
            }
            _ => {}
        }
        FormStep::Typing
    }

    fn send(&mut self) -> FormStep {
        if let Some(empty) = self.first_empty() {
            // Enter in a line that has text goes on to the next; in an empty one it says why not.
            self.problem = (empty == self.focus).then(|| "this line is empty".to_owned());
            self.focus = empty;
            return FormStep::Typing;
        }
        let OfferedAct { verb, input, .. } = &self.act;
        let mut call = VerbCall { verb: verb.clone(), input: input.clone(), typed: None };
        for field in &self.fields {
            match field {
                FormField::Text { typed, .. } if typed.trim().is_empty() => {}
                FormField::Text { field, typed } => {
                    call.input.insert(field.name.clone(), Value::String(typed.trim().to_owned()));
                }
                FormField::Name { word, typed } if is_confirmed(word, typed) => {
                    call.typed = Some(typed.trim().to_owned());
                }
                FormField::Name { .. } => {
                    self.problem = Some("the typed text does not match".to_owned());
                    return FormStep::Typing;
                }
            }
        }
        FormStep::Send(call)
    }

    fn first_empty(&self) -> Option<usize> {
        let is_optional =
            |field: &FormField| matches!(field, FormField::Text { field, .. } if field.is_optional);
        self.fields.iter().position(|field| field.typed().trim().is_empty() && !is_optional(field))
    }
}

impl FormField {
    /// What stands before the line.
    pub(crate) fn label(&self) -> String {
        match self {
            Self::Text { field, .. } if field.is_optional => {
                format!("{} (or empty): ", field.label)
            }
            Self::Text { field, .. } => format!("{}: ", field.label),
            Self::Name { word, .. } => format!("Type {} to go on: ", typed_form(word)),
        }
    }

    /// What was typed so far.
    pub(crate) fn typed(&self) -> &str {
        match self {
            Self::Text { typed, .. } | Self::Name { typed, .. } => typed,
        }
    }

    fn typed_mut(&mut self) -> &mut String {
        match self {
            Self::Text { typed, .. } | Self::Name { typed, .. } => typed,
        }
    }
}

/// Changes a line as a key says.
pub(crate) fn edit_line(line: &mut String, key: &Key) {
    match key {
        Key::Char(c) => line.push(*c),
        Key::Paste(text) => line.extend(text.chars().map(|c| if c.is_control() { ' ' } else { c })),
        Key::Backspace => drop(line.pop()),
        Key::Ctrl('u') => line.clear(),
        Key::Ctrl('w') => {
            line.truncate(line.trim_end().rfind(' ').map_or(0, |space| space + 1));
        }
        _ => {}
    }
}

/// Whether this was typed for it.
pub(crate) fn is_confirmed(word: &str, typed: &str) -> bool {
    let typed = typed.trim();
    typed == word || (Id::read(word).is_some() && typed.eq_ignore_ascii_case(&typed_form(word)))
}

/// What is to be typed for a word: an id's end, anything else whole.
pub(crate) fn typed_form(word: &str) -> String {
    match Id::read(word) {
        Some(_) => word.chars().skip(word.chars().count().saturating_sub(TYPED_ID_CHARS)).collect(),
        None => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::tui::answer_form::*;
    use crate::tui::offered_act::fields;

    fn act(confirm_word: Option<&str>) -> OfferedAct {
        OfferedAct {
            label: "Take sessions".to_owned(),
            verb: "override".to_owned(),
            input: fields(json!({"decision_id": "01M7EB3QWY4C5CPJF6982ZJQ18"})),
            typed: vec![TypedField {
                label: "Reason",
                name: "reason".to_owned(),
                is_optional: false,
            }],
            confirm_word: confirm_word.map(str::to_owned),
            then: "JWT is overridden by you".to_owned(),
            command: "twining override 01M7EB3QWY4C5CPJF6982ZJQ18 --reason …".to_owned(),
        }
    }

    fn types(form: &mut AnswerForm, text: &str) {
        text.chars().for_each(|c| drop(form.press(&Key::Char(c))));
    }

    #[test]
    fn a_grave_answer_takes_a_reason_and_the_name() {
        let mut form = AnswerForm::new(act(Some("01M7EB3QWY4C5CPJF6982ZJQ18")));
        assert_eq!(form.press(&Key::Enter), FormStep::Typing);
        assert!(form.problem.is_some(), "without a reason");
        types(&mut form, "log people out");
        assert_eq!(form.press(&Key::Enter), FormStep::Typing);
        assert_eq!((form.focus, form.problem.as_deref()), (1, None));
        types(&mut form, "982zjq17");
        assert_eq!(form.press(&Key::Enter), FormStep::Typing);
        assert!(form.problem.is_some(), "with another name");
        drop(form.press(&Key::Backspace));
        types(&mut form, "8");
        let FormStep::Send(call) = form.press(&Key::Enter) else { panic!("it is not sent") };
        assert_eq!(call.input["reason"], "log people out");
        assert_eq!(call.typed.as_deref(), Some("982zjq18"));
    }

    #[test]
    fn escape_does_nothing_at_any_point() {
        let mut form = AnswerForm::new(act(None));
        types(&mut form, "because");
        assert_eq!(form.press(&Key::Esc), FormStep::Cancelled);
    }

    #[test]
    fn a_word_the_verb_asks_for_later_becomes_a_line() {
        let mut form = AnswerForm::new(act(None));
        types(&mut form, "because");
        form.ask_for("no-force-push".to_owned());
        assert_eq!(form.focus, 1);
        types(&mut form, "no-force-push");
        assert!(matches!(form.press(&Key::Enter), FormStep::Send(_)));
    }

    #[test]
    fn a_reason_that_may_stay_empty_leaves_what_is_there() {
        let mut offered = act(None);
        offered.input.insert("why".to_owned(), json!("a person said so"));
        let why = TypedField { label: "Reason", name: "why".to_owned(), is_optional: true };
        offered.typed.push(why);
        let mut form = AnswerForm::new(offered);
        types(&mut form, "sessions");
        let FormStep::Send(call) = form.press(&Key::Enter) else { panic!("it is not sent") };
        assert_eq!(call.input["why"], "a person said so");
        assert_eq!(call.input["reason"], "sessions");
    }

    #[test]
    fn a_line_is_edited_and_pasted_newlines_do_not_send_it() {
        let mut line = "one two".to_owned();
        edit_line(&mut line, &Key::Ctrl('w'));
        edit_line(&mut line, &Key::Paste("2\n3\u{1b}".to_owned()));
        assert_eq!(line, "one 2 3 ");
        edit_line(&mut line, &Key::Ctrl('u'));
        assert_eq!(line, "");
    }
}
