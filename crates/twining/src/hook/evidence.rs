//! What proves that a feature works: the runs that the workflow remembers.

use std::cell::OnceCell;
use std::path::Path;

use twining_engine::guards::{Evidence, Proof};
use twining_engine::workflow::EvidenceVerdict;
use twining_engine::{Engine, Proofs};
use twining_model::Time;

/// The workflow's records, and the working tree they are held against.
pub struct Recorded<'a> {
    engine: &'a Engine,
    checkout: &'a Path,
    proofs: OnceCell<Result<Proofs<'a>, String>>,
    when: When,
}

/// What a feature must be proven for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    /// To be called tested now.
    Now,
    /// To have been called so since things were last compared.
    SinceThen,
}

impl<'a> Recorded<'a> {
    /// Nothing is read until somebody asks.
    pub fn of(engine: &'a Engine, checkout: &'a Path) -> Self {
        Self { engine, checkout, proofs: OnceCell::new(), when: When::Now }
    }

    /// The same for a list that is compared with what it was: a feature that was found to
    /// work meanwhile stays so, whatever was changed or failed after that.
    pub fn so_far(engine: &'a Engine, checkout: &'a Path) -> Self {
        Self { when: When::SinceThen, ..Self::of(engine, checkout) }
    }

    fn proofs(&self) -> &Result<Proofs<'a>, String> {
        self.proofs.get_or_init(|| self.engine.proofs().map_err(|failure| failure.to_string()))
    }
}

impl Evidence for Recorded<'_> {
    fn moved(&self, feature: &str) -> Option<(Time, String)> {
        // Only whether a feature is tested is judged.
        let (_, list) = self.engine.feature_list().ok()?;
        let status = list?.get(feature)?.status;
        Some((Time::from_ms(0), status.as_str().to_owned()))
    }

    fn proof_of(&self, feature: &str) -> Proof {
        let proofs = self.proofs();
        let passed = proofs.as_ref().ok().filter(|_| self.when == When::SinceThen).and_then(|proofs| proofs.passed(feature));
        if let Some(run) = passed {
            return Proof::Recorded(run.to_owned());
        }
        let verdict = proofs.as_ref().map_err(Clone::clone).and_then(|proofs| proofs.of(self.checkout, feature));
        match verdict {
            Ok(Some(EvidenceVerdict::Accepted { run, .. })) => Proof::Recorded(run),
            Ok(Some(EvidenceVerdict::Missing { what, next_step })) => Proof::Missing(format!("{what}; {next_step}")),
            Ok(None) => Proof::Missing("it is new to the list, so no run of its tests is recorded".to_owned()),
            // What cannot be read proves nothing.
            Err(why) => Proof::Missing(why),
        }
    }
}
