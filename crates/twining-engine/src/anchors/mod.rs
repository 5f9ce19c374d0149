//! Anchors: which code a record speaks of, and whether it is still there.
//!
//! A record is bound to the definitions it names when it is made. Whether they still are what they
//! were is computed when somebody asks, for the asker's own checkout.

mod assumed;
mod branches;
mod capture;
mod changed_anchors;
mod code_links;
mod confirm;
mod doubted_code;
mod drift;
mod freshness;
mod lookup;
mod merged_code;
mod moved;
mod named_code;
mod rebind;
mod sighting;

pub(crate) use assumed::AnchorLookup;
pub use capture::{AnchoredPlace, UnresolvedName};
pub(crate) use capture::{CAPTURE_TIME, Captured};
pub use code_links::CompanionFile;
pub(crate) use code_links::{CodeLink, CodeMention, companions, links_of, mentions};
pub use confirm::{ConfirmInput, ConfirmOutcome, ConfirmedRecord, ReanchorInput, ReanchorOutcome};
pub(crate) use drift::commands_for;
pub(crate) use drift::described;
pub use drift::{DriftFinding, DriftInput, DriftKind, DriftOutcome, drift_sarif};
pub use freshness::{CodeNote, CodeState, Labelled};
pub(crate) use freshness::{
    CodeNotes, is_let_go_for_another, judge_version, with_what_they_let_go,
};
pub use lookup::CodeCounts;
pub(crate) use lookup::{
    anchors_at, beside, definition_named, definitions_named, is_assumed, named_place, place_of,
    record_of_entry, records_on,
};
pub(crate) use merged_code::not_merged;
pub(crate) use named_code::{GivenPlace, NamedCode, code_words, symbol};
pub(crate) use rebind::Rebinding;
pub(crate) use sighting::{definition_of, is_hidden_by_error, line_hashes_of, recorded_sighting};
