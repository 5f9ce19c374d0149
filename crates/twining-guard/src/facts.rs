//! What checks ask about the project. Each question has an answer that knows nothing.

use twining_model::Time;

use crate::effects::FileAccess;

/// Whether a feature's tests ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeatureProof {
    /// This run shows that it works.
    Recorded(String),
    /// None does, for this reason.
    Missing(String),
}

/// The workflow's records.
pub trait EvidenceLookup {
    /// What proves that a feature works, as of now.
    fn proof_of(&self, _feature: &str) -> FeatureProof {
        FeatureProof::Missing("no run of its tests is recorded".to_owned())
    }
}

/// No records at all, so nothing is proven.
pub struct NoEvidence;

impl EvidenceLookup for NoEvidence {}

/// A file that somebody works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActiveClaim {
    /// Who.
    pub by: String,
    /// Until when.
    pub until: Time,
    /// Why.
    pub reason: String,
}

/// What others work on.
pub trait ClaimLookup {
    /// The claim of another on a path, from the project's root.
    fn claim_on(&self, _path: &str) -> Option<ActiveClaim> {
        None
    }
    /// The claim of another on something at or below a folder.
    fn claim_below(&self, _folder: &str) -> Option<ActiveClaim> {
        None
    }
}

/// Nobody claims anything.
pub struct NoClaims;

impl ClaimLookup for NoClaims {}

/// What a project's checks may ask about.
pub struct Facts<'a> {
    /// The project's root, absolute.
    pub root: &'a str,
    /// Its files.
    pub files: &'a dyn FileAccess,
    /// Whether a feature's tests ran.
    pub evidence: &'a dyn EvidenceLookup,
    /// What others work on.
    pub claims: &'a dyn ClaimLookup,
}
