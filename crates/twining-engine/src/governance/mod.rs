//! Governance: what each role may do, which bar a task must clear, what earlier
//! turns came to, and how much ceremony fits.
//!
//! Defaults are compiled in; a file of the user's and one of the project's lie
//! over them, and every value knows which of the three it came from. Nothing
//! here runs anything: reports are read, never produced.

pub mod gates;
mod guardkit;
pub mod modes;
pub mod policy;
pub mod prompt;
pub mod reports;
pub mod roles;
pub mod turns;

pub use gates::{
    CheckGatesInput, CheckGatesOutcome, GateEvidence, GateProfile, GateResult, GateResultsInput,
    GateStatus, GatesInput, GatesOutcome, Percent, TestCounts,
};
pub use guardkit::{
    GATES as GUARDKIT_GATES, OVERRIDES as GUARDKIT_OVERRIDES, PolicyImport, import_guardkit,
};
pub use modes::{Ceremony, ModeAdvice, SuggestModeInput, SuggestModeOutcome};
pub use policy::{
    DEFAULT_POLICY, GovernancePolicy, Mistake, PolicyLayer, PolicySource, UserPolicy,
};
pub use prompt::{Prompt, PromptInput, PromptRecord, PromptRole};
pub use reports::{LineCounts, ReportFormat, ReportRead};
pub use roles::{Role, RoleInput};
pub use turns::{
    RecordTurnInput, RecordTurnOutcome, TurnsInput, TurnsOutcome, UnreadableTurn, feature_of,
};
