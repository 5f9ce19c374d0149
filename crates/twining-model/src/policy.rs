//! The policy file as it was found; what it says is the guards' business.

/// What stands in `policy.yml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyFile {
    /// There is none.
    Missing,
    /// Its text.
    Text(String),
    /// It is there and cannot be used, for this reason.
    Unusable(String),
}
