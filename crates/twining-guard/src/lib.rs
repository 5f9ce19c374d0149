//! Guards: what an agent is about to do, and whether the team has ruled it out.
//!
//! A host's call becomes a neutral [`Event`]; what it would change is worked out in
//! memory ([`Effects`]); every guard compares that with what it watches, and the
//! strictest answer holds ([`Evaluation`]). Guards are data: nothing in a policy is
//! executed. Pure: no disk, no clock, no process, no environment.

pub mod checks;
pub mod effects;
mod evaluate;
mod event;
mod facts;
pub mod hosts;
pub mod paths;
pub mod policy;
mod verdict;

pub use checks::claims::{Claimant, ForeignClaims};
pub use checks::forbidden_use::ForbiddenUse;
pub use effects::{Effects, FileAccess};
pub use event::{EventKind, GuardEvent, Replacement, ToolAction, action};
pub use facts::{
    ActiveClaim, ClaimLookup, EvidenceLookup, Facts, FeatureProof, NoClaims, NoEvidence,
};
pub use paths::{globs_of, inside, normal};
pub use policy::{Clause, Guard, GuardSet, UserPolicy, ruled_out};
pub use verdict::{Evaluation, GuardFinding, MAX_WORDS, Verdict, VerifyCommand};
