//! Lifecycle: keeping the memory in order, and telling what state it is in.

mod archive;
mod export;
mod queues;
mod status;
#[cfg(test)]
mod tests;
pub(crate) mod unread;
mod verify;

pub(crate) use archive::plan_archive;
pub use archive::{ArchiveDraft, ArchiveInput, ArchiveOutcome};
pub(crate) use export::madr_record;
pub use export::{ExportFile, ExportInput, ExportOutcome, Extent, export};
pub use queues::Drained;
pub(crate) use queues::{PendingAction, cutoff, hook, pending_action, pending_post};
pub use status::{StatusReport, StatusWarning, UnreadableFile, status};
pub use verify::{Check, CheckItem, CheckStatus, History, VerifyDraft, VerifyInput, VerifyOutcome, verify};
pub(crate) use verify::{NoHistory, is_report};
