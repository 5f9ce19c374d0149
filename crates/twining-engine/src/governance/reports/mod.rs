//! Reports: output of test and coverage tools, parsed and never executed.
//!
//! The format is detected from the content, since file names vary. A truncated or malformed report
//! is a problem to report; it never counts as a report without failures.

mod formats;
mod json_reports;
mod read;
#[cfg(test)]
mod tests;

pub use formats::{TestCase, test_cases};
pub(crate) use read::read;
pub use read::{LineCounts, ReportFormat, ReportRead};
