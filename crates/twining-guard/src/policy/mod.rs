//! Policy: the guards that hold, and where each comes from.

pub mod builtin;
pub mod edit;
pub(crate) mod guard;
mod guard_set;
pub(crate) mod parse;
pub mod provenance;
pub(crate) mod weakened;
pub mod yaml;

pub use guard::{Example, Guard, GuardHealth};
pub use guard_set::{Clause, GuardSet, TextFile, UserPolicy, ruled_out};
pub use parse::Examples;
pub use provenance::{Mistake, PolicyLayer, PolicySource};
pub use weakened::policy_weakened;

/// The project's file, as mistakes call it.
pub const PROJECT_FILE: &str = ".twining/policy.yml";
