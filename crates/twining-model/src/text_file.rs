//! A text file as it was found; what it says is the business of whoever asked for it.

/// What stands in a file that is read whole, such as `policy.yml` or the feature list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextFile {
    /// There is none.
    Missing,
    /// Its text.
    Text(String),
    /// It is there and cannot be used, for this reason.
    Unusable(String),
}
