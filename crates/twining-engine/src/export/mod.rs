//! Exporting: the memory as one document for people, or for another program.

mod graph_diagrams;
mod html;
mod markdown;
mod records;
#[cfg(test)]
mod tests;

pub(crate) use markdown::decision_in;
pub use records::{ExportFile, ExportInput, ExportOutcome, ExportSize, export};
