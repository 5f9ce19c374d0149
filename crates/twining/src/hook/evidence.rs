//! What proves that a feature works: the runs that the workflow remembers.

use std::path::Path;

use twining_engine::Engine;
use twining_engine::guards::{Evidence, Proof};
use twining_engine::workflow::Verdict;
use twining_model::text;

/// The workflow's records, and the working tree they are held against.
pub struct Recorded<'a> {
    /// Where they are.
    pub engine: &'a Engine,
    /// The files as they are now.
    pub checkout: &'a Path,
}

impl Evidence for Recorded<'_> {
    fn proof_of(&self, feature: &str) -> Proof {
        // Where nothing ever ran, a list of any length need not be read.
        if self.engine.remembered().is_ok_and(|remembered| remembered.runs.is_empty()) {
            return Proof::Missing(format!("no run of `{}`'s tests is recorded", text::excerpt(feature, 80)));
        }
        // What cannot be read proves nothing.
        let list = match self.engine.feature_list() {
            Ok((_, list)) => list,
            Err(failure) => return Proof::Missing(failure.to_string()),
        };
        let Some(feature) = list.as_ref().and_then(|list| list.named(feature)) else {
            return Proof::Missing("it is new to the list, so no run of its tests is recorded".to_owned());
        };
        match self.engine.evidence_for(self.checkout, feature) {
            Ok(Verdict::Accepted { run }) => Proof::Recorded(run),
            Ok(Verdict::Missing { what, .. }) => Proof::Missing(what),
            Err(failure) => Proof::Missing(failure.to_string()),
        }
    }
}
