//! A text file as found on disk; interpretation is up to the caller.

/// Contents of a file that is read whole, such as `policy.yml` or the feature list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextFile {
    /// There is none.
    Missing,
    /// Its text.
    Text(String),
    /// It is there and cannot be used, for this reason.
    Unusable(String),
}
