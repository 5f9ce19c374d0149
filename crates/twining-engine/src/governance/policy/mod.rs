//! Policy: three layers of values, each knowing where it came from.
//!
//! A layer is a patch. Patches combine by [`Patch::then`], which is associative
//! and changes nothing when repeated, so it does not matter in which order files
//! are read, only which lies above which. The defaults are a file like any other.

mod overlay;
mod reader;
#[cfg(test)]
mod tests;
mod yaml_output;

pub(crate) use overlay::{HARDEST, PolicyPatch, Settings};
pub use reader::{DEFAULT_POLICY, GovernancePolicy};
pub(crate) use reader::{Dialect, read, strict, word};
pub use twining_guard::policy::{Mistake, PolicyLayer, PolicySource, UserPolicy};
pub(crate) use yaml_output::to_yaml;
