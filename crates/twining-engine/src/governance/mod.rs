//! Governance: what each role may do, which bar a task must clear, what earlier
//! turns came to, and how much ceremony fits.
//!
//! Defaults are compiled in; a file of the user's and one of the project's lie
//! over them, and every value knows which of the three it came from. Nothing
//! here runs anything: reports are read, never produced.

mod api;
pub mod gates;
mod guardkit;
pub mod modes;
pub mod policy;
pub mod prompt;
pub mod reports;
pub mod roles;
pub mod turns;

pub use gates::{
    CheckGatesInput, Evidence, GateProfile, GateResult, GateResultsInput, GatesChecked, GatesInput, GatesOutcome, Percent, Standing,
    TestCounts,
};
pub use guardkit::{GATES as GUARDKIT_GATES, ImportedPolicy, OVERRIDES as GUARDKIT_OVERRIDES, import_guardkit};
pub use modes::{Ceremony, ModeAdvice, ModeSuggested, SuggestModeInput};
pub use policy::{DEFAULT_POLICY, Layer, Mistake, Policy, Source, UserPolicy};
pub use prompt::{Prompt, PromptInput, PromptRecord, PromptRole};
pub use reports::{Format, LineCounts, ReportRead};
pub use roles::{Role, RoleInput};
pub use turns::{RecordTurnInput, TurnRecorded, TurnsInput, TurnsOutcome, UnreadableTurn, feature_of};
