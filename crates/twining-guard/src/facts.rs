//! What checks ask about the project. Each question has an answer that knows nothing.

use twining_model::Time;

use crate::effects::Files;

/// Whether a feature's tests ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// This run shows that it works.
    Recorded(String),
    /// None does, for this reason.
    Missing(String),
}

/// The workflow's records.
pub trait Evidence {
    /// What proves that a feature works, as of now.
    fn proof_of(&self, feature: &str) -> Proof;
}

/// No records at all, so nothing is proven.
pub struct NoEvidence;

impl Evidence for NoEvidence {
    fn proof_of(&self, _: &str) -> Proof {
        Proof::Missing("no run of its tests is recorded".to_owned())
    }
}

/// A file that somebody works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Who.
    pub by: String,
    /// Until when.
    pub until: Time,
    /// Why.
    pub reason: String,
}

/// What others work on.
pub trait Claims {
    /// The claim of another on a path, from the project's root.
    fn held(&self, path: &str) -> Option<Claim>;
    /// The claim of another on something at or below a folder.
    fn held_below(&self, folder: &str) -> Option<Claim>;
}

/// Nobody claims anything.
pub struct NoClaims;

impl Claims for NoClaims {
    fn held(&self, _: &str) -> Option<Claim> {
        None
    }

    fn held_below(&self, _: &str) -> Option<Claim> {
        None
    }
}

/// What a project's checks may ask about.
pub struct Facts<'a> {
    /// The project's root, absolute.
    pub root: &'a str,
    /// Its files.
    pub files: &'a dyn Files,
    /// Whether a feature's tests ran.
    pub evidence: &'a dyn Evidence,
    /// What others work on.
    pub claims: &'a dyn Claims,
}
