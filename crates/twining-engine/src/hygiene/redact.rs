//! The door: every text a caller gives goes through here before anything is
//! made of it, so that a secret reaches no file, no index and no vector.

use schemars::JsonSchema;
use serde::Serialize;

use crate::hygiene::secrets::{redact, redact_name};

/// A secret that was taken out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Redaction {
    /// Where it stood.
    pub field: String,
    /// What it was.
    pub kind: String,
}

/// What a caller tells in its own words.
pub trait Told: Clone {
    /// Shows each text, with the name of its field.
    fn each(&mut self, tell: &mut dyn FnMut(&'static str, &mut String));
}

/// Fields that name something, and become part of paths and of other records.
const NAMES: [&str; 6] = ["id", "feature", "task", "agent_id", "source_agent", "target_agent"];

/// The same words without secrets, and what was taken out.
#[must_use]
pub fn clean<T: Told>(input: &T) -> (T, Vec<Redaction>) {
    let (mut told, mut taken) = (input.clone(), Vec::new());
    told.each(&mut |field, text| {
        let (clean, kinds) = if NAMES.contains(&field) { redact_name(text) } else { redact(text) };
        if !kinds.is_empty() {
            *text = clean;
            taken.extend(kinds.into_iter().map(|kind| Redaction { field: field.to_owned(), kind: kind.to_owned() }));
        }
    });
    (told, taken)
}

/// Says which fields of an input are told; a list is told element by element.
macro_rules! told {
    ($($input:ty { $($field:ident),* $(,)? })*) => {$(
        impl Told for $input {
            fn each(&mut self, tell: &mut dyn FnMut(&'static str, &mut String)) {
                $(self.$field.texts(stringify!($field), tell);)*
            }
        }
    )*};
}

/// What holds texts.
trait Texts {
    fn texts(&mut self, field: &'static str, tell: &mut dyn FnMut(&'static str, &mut String));
}

impl Texts for String {
    fn texts(&mut self, field: &'static str, tell: &mut dyn FnMut(&'static str, &mut String)) {
        tell(field, self);
    }
}

impl<T: Texts> Texts for Option<T> {
    fn texts(&mut self, field: &'static str, tell: &mut dyn FnMut(&'static str, &mut String)) {
        self.iter_mut().for_each(|text| text.texts(field, tell));
    }
}

impl<T: Texts> Texts for Vec<T> {
    fn texts(&mut self, field: &'static str, tell: &mut dyn FnMut(&'static str, &mut String)) {
        self.iter_mut().for_each(|text| text.texts(field, tell));
    }
}

impl<T: Texts> Texts for (String, T) {
    fn texts(&mut self, field: &'static str, tell: &mut dyn FnMut(&'static str, &mut String)) {
        tell(field, &mut self.0);
        self.1.texts(field, tell);
    }
}

impl Texts for std::collections::BTreeMap<String, String> {
    fn texts(&mut self, field: &'static str, tell: &mut dyn FnMut(&'static str, &mut String)) {
        let told = std::mem::take(self).into_iter().map(|(mut name, value)| {
            tell(field, &mut name);
            // The name is what tells that the value is a secret.
            let mut both = format!("{name}={value}");
            tell(field, &mut both);
            let value = both.strip_prefix(&format!("{name}=")).unwrap_or(&both).to_owned();
            (name, value)
        });
        *self = told.collect();
    }
}

impl Texts for serde_json::Value {
    fn texts(&mut self, field: &'static str, tell: &mut dyn FnMut(&'static str, &mut String)) {
        match self {
            Self::String(text) => tell(field, text),
            Self::Array(items) => items.iter_mut().for_each(|item| item.texts(field, tell)),
            Self::Object(fields) => {
                let told = std::mem::take(fields).into_iter().map(|(mut name, mut value)| {
                    tell(field, &mut name);
                    value.texts(field, tell);
                    (name, value)
                });
                *fields = told.collect();
            }
            _ => {}
        }
    }
}

impl Texts for twining_model::Alternative {
    fn texts(&mut self, field: &'static str, tell: &mut dyn FnMut(&'static str, &mut String)) {
        for text in [&mut self.option, &mut self.reason_rejected] {
            tell(field, text);
        }
        self.pros.texts(field, tell);
        self.cons.texts(field, tell);
    }
}

impl Texts for twining_model::HandoffResult {
    fn texts(&mut self, field: &'static str, tell: &mut dyn FnMut(&'static str, &mut String)) {
        tell(field, &mut self.description);
        self.artifacts.texts(field, tell);
        self.notes.texts(field, tell);
    }
}

impl Texts for crate::Operation {
    /// Under the names of its own fields: a graph is corrected by them.
    fn texts(&mut self, _: &'static str, tell: &mut dyn FnMut(&'static str, &mut String)) {
        let fields = [
            ("id", &mut self.id),
            ("type", &mut self.kind),
            ("level", &mut self.level),
            ("status", &mut self.status),
            ("description", &mut self.description),
            ("tag", &mut self.tag),
            ("component", &mut self.component),
            ("path", &mut self.path),
            ("example", &mut self.example),
            ("priority", &mut self.priority),
            ("from", &mut self.from),
            ("to", &mut self.to),
            ("relation", &mut self.relation),
            ("note", &mut self.note),
        ];
        fields.into_iter().for_each(|(field, text)| text.texts(field, tell));
    }
}

impl Texts for crate::workflow::EvidenceInput {
    fn texts(&mut self, field: &'static str, tell: &mut dyn FnMut(&'static str, &mut String)) {
        self.command.texts(field, tell);
        self.output.texts(field, tell);
        self.reports.texts(field, tell);
        self.data.texts(field, tell);
        self.ci_report.texts(field, tell);
    }
}

told! {
    crate::PostInput { summary, detail, tags, scope, relates_to, agent_id }
    crate::DismissInput { reason, agent_id }
    crate::DecideInput {
        domain, scope, summary, context, rationale, constraints, alternatives, affected_files, affected_symbols, commit_hash, agent_id,
    }
    crate::ReconsiderInput { new_context, agent_id }
    crate::OverrideInput { reason, new_decision, overridden_by }
    crate::PromoteInput { promoted_by }
    crate::VerifyInput { scope }
    crate::LinkCommitInput { summary, commit_hash }
    crate::learning::StoreTraceInput { what_happened, what_was_correct, why, action, guard, feature, task, agent_id }
    crate::AddEntityInput { name, properties }
    crate::AddRelationInput { source, target, properties }
    crate::RecordTurnInput {
        feature, task, files_modified, player_decision, progress_summary, blockers_found, acceptance_criteria_status, quality_gate_results, player_summary, coach_feedback,
        lessons_from_turn, what_to_try_next, agent_id,
    }
    crate::ReportInput { feature, role, summary, files, evidence, agent_id }
    crate::FeaturesInput { id, description, files, tests, acceptance_criteria, depends_on, reason, agent_id }
    crate::KnowledgeUpdateInput { operations, story_id }
    crate::learning::CreateGuardInput { id, say, next_step, commands, paths, adds, tools, agent_id }
    crate::RegisterInput { capabilities, role, description, agent_id }
    crate::DelegateInput { summary, required_capabilities, scope, tags, agent_id }
    crate::HandoffInput { summary, results, scope, source_agent, target_agent }
    crate::ClaimInput { paths, feature, reason, agent_id }
}
