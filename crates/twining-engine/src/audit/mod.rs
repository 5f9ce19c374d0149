//! The audit: what a memory for agents says that is no longer so.
//!
//! Over files of other tools (`CLAUDE.md`, `AGENTS.md`, rules, memory files, decision records) it
//! needs nothing but the repository; over our own records it needs the memory. It reads, and
//! writes nothing.

mod anchored_records;
mod audited_record;
mod build_scripts;
mod claim_checks;
mod claim_history;
mod claims;
mod commands;
mod documents;
mod file_audit;
mod finding_commands;
mod kept_findings;
mod lost_references;
mod moved_paths;
mod project_tree;
mod record_audit;
mod report;
mod source_words;
mod statements;
#[cfg(test)]
mod tests;
mod text_checks;

pub use file_audit::{AuditRequest, audit_files};
pub use finding_commands::{CommandToRun, FindingCommand};
pub use moved_paths::{DocumentEdit, edits};
pub use report::{AuditClass, AuditFinding, AuditReport, AuditSummary, ClaimVerdict, audit_sarif};
