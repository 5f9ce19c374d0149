//! Hygiene: secrets are taken out of what callers give before anything is made of it.

mod assignments;
mod detect;
mod redact;
#[cfg(test)]
mod tests;
mod token_formats;

pub use detect::{Secret, redact, redact_name, secrets_in};
pub(crate) use redact::redact_fields;
pub use redact::{Redact, Redaction, clean};
