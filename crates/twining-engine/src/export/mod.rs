//! Exporting: the memory as one document for people, or for another program.

mod export;
mod graph_formats;
mod html;
mod markdown;
#[cfg(test)]
mod tests;

pub use export::{ExportFile, ExportInput, ExportOutcome, ExportSize, export};
pub(crate) use markdown::decision_in;
