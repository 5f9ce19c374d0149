//! Admitting lines of linked clones: what was planned on an old view becomes what the log may
//! hold.
//!
//! The rules are those of a git merge. Entries are taken as they are. A decision that has rivals
//! by now is provisional, with the usual warning. Amendments are merged field by field, and a
//! status never goes back. An element of the graph that is there under another id is that one. A
//! line always says something of every record it named, so that the clone ends with the same.
//! What a clone may not say of itself is overwritten, or the line is refused. This goes for all that
//! was planned, also where a clone says that it knows the end of the log.

mod admission;
mod line_plan;
mod rights;

pub use line_plan::says_more;
pub use rights::RemoteAuthor;
