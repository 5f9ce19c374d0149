//! Reports: what test and coverage tools wrote, read and never run.
//!
//! The format is told by the content, since file names differ everywhere. A
//! report that is cut off or strange is a problem to be named; it is never taken
//! for a report without failures.

mod formats;
mod json_reports;
mod read;
#[cfg(test)]
mod tests;

pub use formats::{TestCase, test_cases};
pub(crate) use read::read;
pub use read::{LineCounts, ReportFormat, ReportRead};
