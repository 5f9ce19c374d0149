//! Guards: what an agent is about to do, and whether the team has ruled it out.
//!
//! A host's call becomes a neutral event; what it would change is worked out in
//! memory; checks compare that with the policy, with decisions and with claims; the
//! strictest verdict holds. Pure: no disk, no clock, no process, no environment.

pub mod checks;
pub mod effects;
