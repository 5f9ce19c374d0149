//! Redaction at the entry point: all text from a caller passes through here first, so that a secret
//! reaches no file, no index and no vector.

use schemars::JsonSchema;
use serde::Serialize;

use crate::secrets::detect::{redact, redact_name};

/// A secret that was redacted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Redaction {
    /// Where it was.
    pub field: String,
    /// What it was.
    pub kind: String,
}

/// What a caller gives in its own words. Each module says which fields of its inputs are text.
pub trait Redact {
    /// Visits each text, with the name of its field; `field` is the name where it has none of its own.
    fn each_text(&mut self, field: &'static str, visit: &mut dyn FnMut(&'static str, &mut String));
}

/// Fields that name something, and become part of paths and of other records.
const NAMES: [&str; 6] = ["id", "feature", "task", "agent_id", "source_agent", "target_agent"];

/// The same words without secrets, and what was taken out.
#[must_use]
pub fn clean<T: Redact + Clone>(input: &T) -> (T, Vec<Redaction>) {
    let (mut cleaned, mut taken) = (input.clone(), Vec::new());
    cleaned.each_text("", &mut |field, text| {
        let (clean, kinds) = if NAMES.contains(&field) { redact_name(text) } else { redact(text) };
        if !kinds.is_empty() {
            *text = clean;
            taken.extend(
                kinds
                    .into_iter()
                    .map(|kind| Redaction { field: field.to_owned(), kind: kind.to_owned() }),
            );
        }
    });
    (cleaned, taken)
}

/// Says which fields of an input are text; a list is visited element by element.
macro_rules! redact_fields {
    ($input:ty { $($field:ident),* $(,)? }) => {
        impl $crate::secrets::Redact for $input {
            fn each_text(&mut self, _: &'static str, visit: &mut dyn FnMut(&'static str, &mut String)) {
                $($crate::secrets::Redact::each_text(&mut self.$field, stringify!($field), visit);)*
            }
        }
    };
}
pub(crate) use redact_fields;

impl Redact for String {
    fn each_text(&mut self, field: &'static str, visit: &mut dyn FnMut(&'static str, &mut String)) {
        visit(field, self);
    }
}

impl<T: Redact> Redact for Option<T> {
    fn each_text(&mut self, field: &'static str, visit: &mut dyn FnMut(&'static str, &mut String)) {
        self.iter_mut().for_each(|text| text.each_text(field, visit));
    }
}

impl<T: Redact> Redact for Vec<T> {
    fn each_text(&mut self, field: &'static str, visit: &mut dyn FnMut(&'static str, &mut String)) {
        self.iter_mut().for_each(|text| text.each_text(field, visit));
    }
}

impl<T: Redact> Redact for (String, T) {
    fn each_text(&mut self, field: &'static str, visit: &mut dyn FnMut(&'static str, &mut String)) {
        visit(field, &mut self.0);
        self.1.each_text(field, visit);
    }
}

impl Redact for std::collections::BTreeMap<String, String> {
    fn each_text(&mut self, field: &'static str, visit: &mut dyn FnMut(&'static str, &mut String)) {
        let cleaned = std::mem::take(self).into_iter().map(|(mut name, value)| {
            visit(field, &mut name);
            // The name identifies the value as a secret.
            let mut both = format!("{name}={value}");
            visit(field, &mut both);
            let value = both.strip_prefix(&format!("{name}=")).unwrap_or(&both).to_owned();
            (name, value)
        });
        *self = cleaned.collect();
    }
}

impl Redact for serde_json::Value {
    fn each_text(&mut self, field: &'static str, visit: &mut dyn FnMut(&'static str, &mut String)) {
        match self {
            Self::String(text) => visit(field, text),
            Self::Array(items) => items.iter_mut().for_each(|item| item.each_text(field, visit)),
            Self::Object(fields) => {
                let cleaned = std::mem::take(fields).into_iter().map(|(mut name, mut value)| {
                    visit(field, &mut name);
                    value.each_text(field, visit);
                    (name, value)
                });
                *fields = cleaned.collect();
            }
            _ => {}
        }
    }
}

impl Redact for twining_model::Alternative {
    fn each_text(&mut self, field: &'static str, visit: &mut dyn FnMut(&'static str, &mut String)) {
        for text in [&mut self.option, &mut self.reason_rejected] {
            visit(field, text);
        }
        self.pros.each_text(field, visit);
        self.cons.each_text(field, visit);
    }
}

impl Redact for twining_model::HandoffResult {
    fn each_text(&mut self, field: &'static str, visit: &mut dyn FnMut(&'static str, &mut String)) {
        visit(field, &mut self.description);
        self.artifacts.each_text(field, visit);
        self.notes.each_text(field, visit);
    }
}
