//! What Twining does: one module per concept.
//!
//! Words come in, are parsed into a draft in which every rule is checked, and a
//! pure function plans the change on a view of what is there; one transaction
//! carries it out. Nothing here knows the disk, the clock, MCP or a terminal.

mod admit;
pub mod agents;
pub mod anchors;
pub mod archive;
pub mod audit;
pub mod blackboard;
mod caller;
mod code_impact;
pub mod context;
pub mod decisions;
mod engine;
pub mod export;
mod failure;
mod fields;
pub mod governance;
pub mod graph;
pub mod hook_queue;
pub mod import;
mod input_types;
pub mod knowledge;
pub mod learning;
mod open;
mod record_walk;
mod sarif;
pub mod search;
mod secret_scan;
pub mod secrets;
pub mod status;
pub(crate) mod suggestions;
#[cfg(test)]
mod testing;
pub mod verify;
pub mod waiting;
mod why_sections;
pub mod workflow;

pub use admit::{RemoteAuthor, says_more};
pub use agents::{
    AcknowledgeInput, AgentLiveness, AgentMatch, AgentSummary, AgentsInput, AgentsOutcome,
    ClaimInput, ClaimOutcome, DelegateInput, DelegateOutcome, DiscoverInput, DiscoverOutcome,
    HandoffInput, HandoffOutcome, HandoffSummary, OfferMatch, RegisterInput, RegisterOutcome,
};
pub use anchors::{
    AnchoredPlace, CodeCounts, CodeNote, CodeState, CompanionFile, ConfirmInput, ConfirmOutcome,
    ConfirmedRecord, DriftFinding, DriftInput, DriftKind, DriftOutcome, Labelled, ReanchorInput,
    ReanchorOutcome, UnresolvedName, drift_sarif,
};
pub use archive::{ArchiveInput, ArchiveOutcome};
pub use blackboard::{
    DismissInput, DismissOutcome, EntryHit, PostInput, PostOutcome, PreparedPost, QueryInput,
    QueryOutcome, ReadInput, ReadOutcome, ReadyPost, RecentInput, RecentOutcome,
};
pub use caller::{Caller, Stamp};
pub use code_impact::{CodeImpact, ImpactRecord, MentioningPlace};
pub use context::{
    AssembleInput, AssembledContext, BaseRecords, ChangedDecision, ContextClaim, ContextDecision,
    ContextEntity, ContextEntry, ContextHandoff, ContextOverride, EndedDecision, ExplainedOmission,
    NewEntry, OmissionReason, OmittedRecord, ScopeSummary, SectionCost, SummarizeInput,
    WhatChangedInput, WhatChangedOutcome,
};
pub use decisions::{
    CommitDecision, CommitDetails, CommitsInput, CommitsOutcome, Conflict, DecideInput,
    DecideOutcome, DecisionHit, DecisionRivals, DecisionsInput, DecisionsOutcome, Dependent,
    ImpactInput, ImpactOutcome, LinkCommitInput, LinkCommitOutcome, ListedDecision, MergeClash,
    Move, OverrideInput, OverrideOutcome, PromoteInput, PromoteOutcome, PromotionRefusal,
    ReconsiderInput, ReconsiderOutcome, RelatedEntry, RenameHistory, Risk, SearchDecisionsInput,
    SearchDecisionsOutcome, TraceInput, TraceLink, TraceOutcome, WhyDecision, WhyInput, WhyOutcome,
    WhyWarning,
};
pub use engine::Engine;
pub use export::{ExportFile, ExportInput, ExportOutcome, ExportSize};
pub use failure::{EntityCandidate, Failure};
pub use governance::{
    CheckGatesInput, CheckGatesOutcome, GateEvidence, GateProfile, GateResult, GateResultsInput,
    GateStatus, GatesInput, GatesOutcome, GovernancePolicy, Mistake, ModeAdvice, Prompt,
    PromptInput, RecordTurnInput, RecordTurnOutcome, Role, RoleInput, SuggestModeInput,
    SuggestModeOutcome, TurnsInput, TurnsOutcome, UserPolicy,
};
pub use graph::{
    AddEntityInput, AddRelationInput, AddedOutcome, DerivedEntity, DerivedNeighbor,
    GraphEdgeSummary, GraphInput, GraphLevel, GraphNodeSummary, GraphOutcome, GraphQueryInput,
    GraphQueryOutcome, Neighbor, NeighborsInput, NeighborsOutcome, PathInput, PathOutcome,
    PathStep, PruneInput, PruneOutcome, PrunedEntity, RelationDirection,
};
pub use hook_queue::QueueOutcome;
pub use input_types::TestCountsInput;
pub use knowledge::{
    Changes, GraphFinding, KnowledgeCheckInput, KnowledgeCheckOutcome, KnowledgeCreateOutcome,
    KnowledgeMetrics, KnowledgePack, KnowledgePackInput, KnowledgeRetrieveInput,
    KnowledgeUpdateInput, KnowledgeUpdateOutcome, Operation, RetrieveOutcome, ReviewContext,
    ReviewContextInput,
};
pub use learning::{
    Backtest, CreateGuardInput, CreateGuardOutcome, DiscardGuardOutcome, GuardBacktest,
    GuardBypass, GuardState, GuardSummary, GuardsInput, GuardsOutcome, Pattern, PatternsInput,
    PatternsOutcome, PromoteGuardOutcome, Proposal, ProposalKind, QueryTracesInput,
    QueryTracesOutcome, StoreTraceInput, StoreTraceOutcome, TraceHit,
};
pub use search::{
    EmbeddingProgress, EmbeddingThread, EmbeddingWorker, LoadModel, ModelState, ScoreParts,
    SearchMode,
};
pub use secret_scan::{SecretFinding, SecretScan};
pub use secrets::Redaction;
pub use status::{StatusInput, StatusReport, StatusWarning, TeamExchange, UnreadableFile};
pub use suggestions::nearest;
pub use verify::{CheckItem, CheckStatus, History, ScopeCheck, VerifyInput, VerifyOutcome};
pub use waiting::{
    AnswerNeed, Gravity, Settled, WaitingAnswer, WaitingCount, WaitingInput, WaitingItem,
    WaitingKind, WaitingOutcome, WaitingSources, WaitingSubject,
};
pub use why_sections::{WhyCommit, WhyEvidence, WhyMove, WhyRule, WhySections, WhyTrace};
pub use workflow::{
    EvidenceInput, EvidenceState, Feature, FeatureEvidence, FeatureProofs, FeaturesInput,
    FeaturesOutcome, ListedFeature, NextAction, NextBrief, NextInput, NextOutcome, ReportContext,
    ReportInput, ReportOutcome, RunReport, VerifiedBy, WatchedFile, WatchedState, file_states,
};
