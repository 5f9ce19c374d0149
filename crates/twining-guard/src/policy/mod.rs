//! Policy: the guards that hold, and where each comes from.

pub mod builtin;
pub mod edit;
mod guards;
pub mod mistake;
pub(crate) mod parse;
pub(crate) mod rule;
pub mod source;
pub mod yaml;

pub use guards::{Guards, PolicyFile, UserPolicy};
pub use mistake::Mistake;
pub use parse::Examples;
pub use rule::{Example, Guard, Standing};
pub use source::{Layer, Source};

/// The project's file, as mistakes call it.
pub const PROJECT_FILE: &str = ".twining/policy.yml";
