//! Anchors: which code a record speaks of, and whether it is still there.
//!
//! A record is bound to the definitions it names when it is made. Whether they still are what they
//! were is computed when somebody asks, for the asker's own checkout.

mod assumed;
mod branches;
mod capture;
mod code_links;
mod confirm;
mod drift;
mod freshness;
mod lookup;
mod moved;
mod named_code;
mod rebind;

pub(crate) use assumed::AnchorLookup;
pub use capture::{AnchoredPlace, UnresolvedName};
pub(crate) use capture::{CAPTURE_TIME, Captured};
pub use code_links::CompanionFile;
pub(crate) use code_links::{CodeLink, CodeMention, companions, links_of, mentions};
pub use confirm::{ConfirmInput, ConfirmOutcome, ConfirmedRecord, ReanchorInput, ReanchorOutcome};
pub(crate) use drift::described;
pub use drift::{DriftFinding, DriftInput, DriftKind, DriftOutcome, drift_sarif};
pub use freshness::{CodeNote, CodeState, Labelled};
pub(crate) use freshness::{CodeNotes, judge_version, recorded_sighting};
pub use lookup::CodeCounts;
pub(crate) use lookup::{
    anchors_at, beside, definition_named, definitions_named, is_assumed, named_place,
    record_of_entry, records_on,
};
pub(crate) use named_code::{GivenPlace, NamedCode, code_words, symbol};
pub(crate) use rebind::Rebinding;
