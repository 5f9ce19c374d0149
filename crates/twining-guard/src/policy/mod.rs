//! Policy: the guards that hold, and where each comes from.

pub mod builtin;
mod clause;
pub mod edit;
mod guards;
pub mod mistake;
pub(crate) mod parse;
pub(crate) mod rule;
pub mod source;
pub(crate) mod weakened;
pub mod yaml;

pub use clause::{Clause, ruled_out};
pub use guards::{GuardSet, TextFile, UserPolicy};
pub use mistake::Mistake;
pub use parse::Examples;
pub use rule::{Example, Guard, GuardHealth};
pub use source::{PolicyLayer, PolicySource};
pub use weakened::policy_weakened;

/// The project's file, as mistakes call it.
pub const PROJECT_FILE: &str = ".twining/policy.yml";
