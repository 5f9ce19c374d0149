//! What proves that a feature works: the runs that the workflow remembers.

use std::cell::OnceCell;
use std::path::Path;

use twining_engine::workflow::EvidenceVerdict;
use twining_engine::{Engine, FeatureProofs};
use twining_guard::{EvidenceLookup, FeatureProof};

/// The workflow's runs, and the working tree they are compared with. Nothing is read
/// until somebody asks.
pub struct RecordedRuns<'a> {
    engine: &'a Engine,
    checkout: &'a Path,
    proofs: OnceCell<Result<FeatureProofs<'a>, String>>,
}

impl<'a> RecordedRuns<'a> {
    /// The runs of a project.
    pub fn of(engine: &'a Engine, checkout: &'a Path) -> Self {
        Self { engine, checkout, proofs: OnceCell::new() }
    }

    fn proofs(&self) -> Result<&FeatureProofs<'a>, String> {
        self.proofs.get_or_init(|| self.engine.proofs().map_err(|failure| failure.to_string())).as_ref().map_err(Clone::clone)
    }

    /// Whether a feature was found to work when it was last reported: what changed or
    /// failed after that is no reason to take the mark back.
    pub fn was_proven(&self, feature: &str) -> bool {
        self.proofs().is_ok_and(|proofs| proofs.passed(feature).is_some())
    }
}

impl EvidenceLookup for RecordedRuns<'_> {
    fn proof_of(&self, feature: &str) -> FeatureProof {
        match self.proofs().and_then(|proofs| proofs.of(self.checkout, feature)) {
            Ok(Some(EvidenceVerdict::Accepted { run, .. })) => FeatureProof::Recorded(run),
            Ok(Some(EvidenceVerdict::Missing { what, .. })) => FeatureProof::Missing(what),
            Ok(None) => FeatureProof::Missing("no run of its tests is recorded".to_owned()),
            // What cannot be read proves nothing.
            Err(why) => FeatureProof::Missing(why),
        }
    }
}
