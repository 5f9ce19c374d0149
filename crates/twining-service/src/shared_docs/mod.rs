//! Documents that all nodes share beside the log, because they expire: who holds what, and who is
//! at work. Each is replaced as a whole, by whoever knew its last version.

pub(crate) mod claims;
pub(crate) mod presence;
