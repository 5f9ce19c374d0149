//! What guards ask of other rooms. Each has a default that promises nothing.

use twining_model::Time;

pub use crate::guards::clause::Clause;

/// Whether a feature's test ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// This run says so.
    Recorded(String),
    /// None does, for this reason.
    Missing(String),
}

/// The workflow's records.
pub trait Evidence {
    /// What proves that a feature works, as of now.
    fn proof_of(&self, feature: &str) -> Proof;

    /// When Twining itself last moved a feature, and to which status.
    fn moved(&self, feature: &str) -> Option<(Time, String)> {
        let _ = feature;
        None
    }
}

/// No records at all, so nothing is proven.
pub struct NoEvidence;

impl Evidence for NoEvidence {
    fn proof_of(&self, _: &str) -> Proof {
        Proof::Missing("no run of its tests is recorded".to_owned())
    }
}

/// Somebody works on a file.
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
    /// Whether nobody else claims anything.
    fn is_empty(&self) -> bool {
        false
    }
    /// Whether a program that writes a path only undoes what this agent did to it.
    fn may_undo(&self, _path: &str, _by: &str) -> bool {
        false
    }
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

    fn is_empty(&self) -> bool {
        true
    }
}

/// Decisions and knowledge that bind.
pub trait Clauses {
    /// Those in force.
    fn clauses(&self) -> Vec<Clause>;
}

/// None.
pub struct NoClauses;

impl Clauses for NoClauses {
    fn clauses(&self) -> Vec<Clause> {
        Vec::new()
    }
}

impl Clauses for Vec<Clause> {
    fn clauses(&self) -> Vec<Clause> {
        self.clone()
    }
}
