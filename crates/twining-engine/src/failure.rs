//! Failure: why a call was not carried out, and what to try next.

use twining_model::{Id, InvalidInput, text};
use twining_store::StoreError;

/// An entity that a name may have meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntityCandidate {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: String,
}

/// Why a call was not carried out. Nothing has been written.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// An input broke a rule.
    #[error(transparent)]
    InvalidInput(#[from] InvalidInput),
    /// An id or a name that leads nowhere.
    #[error("there is no {what} `{id}`")]
    NotFound {
        /// The kind of thing.
        what: &'static str,
        /// What was asked for.
        id: String,
        /// How to find the right one.
        hint: String,
    },
    /// A decision whose file is there and cannot be read, as after a merge that
    /// nobody resolved.
    #[error("decision `{id}` cannot be read from `{file}`: {why}")]
    Unreadable {
        /// Which decision.
        id: Id,
        /// Its file, relative to `.twining`.
        file: String,
        /// What is wrong with it.
        why: String,
    },
    /// A name that several entities have.
    #[error("`{name}` matches {} entities: {}", candidates.len(), listed(candidates))]
    Ambiguous {
        /// The name.
        name: String,
        /// Those it may have meant.
        candidates: Vec<EntityCandidate>,
    },
    /// The beginning of several commits' hashes.
    #[error("`{prefix}` matches {} commits: {}", hashes.len(), hashes.join(", "))]
    AmbiguousCommit {
        /// The beginning that was given.
        prefix: String,
        /// The hashes it may have meant.
        hashes: Vec<String>,
    },
    /// A feature cannot take this step, or not yet.
    #[error("{why}")]
    OutOfStep {
        /// Why not.
        why: String,
        /// What to do instead.
        next_step: String,
    },
    /// Nothing shows that a feature works.
    #[error(
        "Blocked: `{feature}` would become tested. Why: {missing}. Do instead: {next_step}. If you must: a person decides; \
         `workflow.tested_needs` in .twining/config.yml says what counts."
    )]
    NoEvidence {
        /// Which feature.
        feature: String,
        /// What is missing.
        missing: String,
        /// What to do about it.
        next_step: String,
    },
    /// The feature list is there and cannot be used.
    #[error("the feature list `{path}` cannot be used: it {why}")]
    UnreadableList {
        /// Which file, relative to the project.
        path: String,
        /// What is wrong with it, as the end of a sentence.
        why: String,
    },
    /// Another agent holds it.
    #[error("`{what}` is claimed by `{by}` until {until}: {reason}")]
    Claimed {
        /// The path or feature.
        what: String,
        /// Who claimed it.
        by: String,
        /// Until when.
        until: String,
        /// What for.
        reason: String,
        /// Whether it is of a team's token.
        is_shared: bool,
    },
    /// Not for this caller, or not for this thing.
    #[error("{why}")]
    Refused {
        /// The word a program can act on.
        code: &'static str,
        /// Why not.
        why: String,
        /// What to do instead.
        hint: String,
    },
    /// The store could not do its part.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Failure {
    /// The word a program can act on.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::InvalidInput(_) => "INVALID_INPUT",
            Self::NotFound { .. } | Self::Unreadable { .. } => "NOT_FOUND",
            Self::Ambiguous { .. } => "AMBIGUOUS_ENTITY",
            Self::AmbiguousCommit { .. } => "AMBIGUOUS_COMMIT",
            Self::OutOfStep { .. } => "OUT_OF_STEP",
            Self::NoEvidence { .. } => "NO_EVIDENCE",
            Self::UnreadableList { .. } => "UNREADABLE_LIST",
            Self::Claimed { .. } => "CLAIMED",
            Self::Refused { code, .. } => code,
            Self::Store(error) => error.code(),
        }
    }

    /// The next step, if there is one to offer.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::InvalidInput(_) | Self::NoEvidence { .. } => None,
            Self::NotFound { hint, .. } | Self::Refused { hint, .. } => Some(hint.clone()),
            Self::Unreadable { file, .. } => {
                Some(format!("fix `.twining/{file}` manually; it may contain git conflict markers"))
            }
            Self::Ambiguous { .. } => Some("give the id of the one you mean".to_owned()),
            Self::AmbiguousCommit { .. } => Some("give more digits of the hash".to_owned()),
            Self::OutOfStep { next_step, .. } => Some(next_step.clone()),
            Self::UnreadableList { path, .. } => Some(format!(
                "fix `{path}` manually, or restore its last version with git; Twining does not overwrite it"
            )),
            Self::Claimed { by, what, is_shared, .. } => {
                let token = match is_shared {
                    true => ", under its token, a person's or one of the role `maintainer`",
                    false => "",
                };
                Some(format!(
                    "work elsewhere, wait until it expires, or ask `{by}` to release it; a person ends it in their own terminal{token}: `twining claim {what} --action release`"
                ))
            }
            Self::Store(error) => error.hint(),
        }
    }

    /// What only a person may do, asked for by somebody who is not known to be one.
    #[must_use]
    pub fn needs_person(why: impl Into<String>) -> Self {
        let hint = "a person does it in their own terminal, or on a page that `twining ui` opened from one".to_owned();
        Self::Refused { code: "NEEDS_PERSON", why: why.into(), hint }
    }

    pub(crate) fn no_record(id: &str) -> Self {
        let hint =
            "twining_why lists decisions and warnings of a scope, twining_query searches entries"
                .to_owned();
        Self::NotFound { what: "decision or entry", id: id.to_owned(), hint }
    }

    pub(crate) fn no_decision(id: &Id) -> Self {
        let hint =
            "twining_why lists the decisions of a scope, twining_search_decisions searches them"
                .to_owned();
        Self::NotFound { what: "decision", id: id.to_string(), hint }
    }

    pub(crate) fn no_entity(name: &str) -> Self {
        let hint = "twining_graph_query finds entities by a part of their name, twining_add_entity creates one".to_owned();
        Self::NotFound { what: "entity", id: text::excerpt(name, 80), hint }
    }
}

fn listed(candidates: &[EntityCandidate]) -> String {
    candidates.iter().map(|c| format!("{} ({})", c.id, c.kind)).collect::<Vec<_>>().join(", ")
}
