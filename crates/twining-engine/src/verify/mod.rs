//! Verifying: whether the work matches what the memory says of it.
//!
//! Two questions: `verify` asks it of a scope of the project at hand ([`scope`]), and
//! `verify --ci` of a pull request, where the agent cannot write ([`ci`]).

pub mod ci;
mod scope;
mod scope_checks;
#[cfg(test)]
mod tests;

pub use scope::{CheckItem, CheckStatus, History, ScopeCheck, VerifyInput, VerifyOutcome};
