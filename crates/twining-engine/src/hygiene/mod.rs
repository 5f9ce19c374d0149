//! Hygiene: what must not be written is taken out at the door, and what only
//! repeats what is there is not written twice.

mod assigned;
mod formats;
mod redact;
mod repeats;
mod scan;
mod secrets;
#[cfg(test)]
mod tests;

pub(crate) use redact::redact_fields;
pub use redact::{Redact, Redaction, clean};
pub(crate) use repeats::{Recent, Saying};
pub use scan::{SecretFound, SecretsScan};
pub use secrets::{Secret, redact, redact_name, secrets_in};
