//! Hygiene: secrets are taken out of what callers give before anything is made of it.

mod assigned;
mod formats;
mod redact;
mod secrets;
#[cfg(test)]
mod tests;

pub(crate) use redact::redact_fields;
pub use redact::{Redact, Redaction, clean};
pub use secrets::{Secret, redact, redact_name, secrets_in};
