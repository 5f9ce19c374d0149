//! What Twining does: one module per concept.
//!
//! Words come in, are parsed into a draft in which every rule is checked, and a
//! pure function plans the change on a view of what is there; one transaction
//! carries it out. Nothing here knows the disk, the clock, MCP or a terminal.

pub mod agents;
mod answer;
pub mod archive;
pub mod blackboard;
mod caller;
pub mod context;
pub mod decisions;
mod engine;
pub mod export;
mod failure;
pub mod governance;
pub mod graph;
pub mod hygiene;
pub mod import;
mod input;
pub mod knowledge;
pub mod learning;
mod open;
pub mod queues;
pub mod search;
mod secret_scan;
mod states;
pub mod status;
#[cfg(test)]
mod testing;
pub mod verify;
mod words;
pub mod workflow;

pub use agents::{
    AcknowledgeInput, AgentFound, AgentShown, AgentsInput, AgentsOutcome, ClaimInput, ClaimOutcome, DelegateInput, Delegated,
    DiscoverInput, DiscoverOutcome, HandedOver, HandoffInput, HandoffShown, Liveness, OfferFound, RegisterInput, Registered,
};
pub use archive::{ArchiveInput, ArchiveOutcome};
pub use blackboard::{
    DismissInput, DismissOutcome, EntryHit, PostInput, Posted, QueryInput, QueryOutcome, ReadInput, ReadOutcome, RecentInput, RecentOutcome,
};
pub use caller::{Caller, Stamp};
pub use context::{
    AssembleInput, AssembledContext, ChangedDecision, ContextClaim, ContextDecision, ContextEntity, ContextEntry, ContextHandoff,
    EndedDecision, NewEntry, Omitted, SummarizeInput, Summary, WhatChangedInput, WhatChangedOutcome,
};
pub use decisions::{
    CommitDecision, CommitSeen, CommitsInput, CommitsOutcome, Conflict, Contested, DecideInput, Decided, DecisionHit, Dependent, Impact,
    ImpactInput, LinkCommitInput, LinkCommitOutcome, MergeClash, Move, Moves, Overridden, OverrideInput, PromoteInput, PromoteOutcome,
    PromotionRefused, ReconsiderInput, Reconsidered, RelatedEntry, Risk, SearchDecisionsInput, SearchDecisionsOutcome, TraceInput,
    TraceLink, TraceOutcome, WhyDecision, WhyInput, WhyOutcome,
};
pub use engine::Engine;
pub use export::{ExportFile, ExportInput, ExportOutcome, Extent};
pub use failure::{Candidate, Failure};
pub use governance::{
    CheckGatesInput, Evidence, GateProfile, GateResult, GateResultsInput, GatesChecked, GatesInput, GatesOutcome, Mistake, ModeAdvice,
    ModeSuggested, Policy, Prompt, PromptInput, RecordTurnInput, Role, RoleInput, Standing, SuggestModeInput, TurnRecorded, TurnsInput,
    TurnsOutcome, UserPolicy,
};
pub use graph::{
    AddEntityInput, AddRelationInput, Direction, EntityAdded, GraphQueryInput, GraphQueryOutcome, Neighbor, NeighborsInput,
    NeighborsOutcome, PathInput, PathOutcome, PruneInput, PruneOutcome, PrunedEntity, RelationAdded, Step,
};
pub use hygiene::Redaction;
pub use input::TestCountsInput;
pub use knowledge::{
    Changes, Finding, KnowledgeCheckInput, KnowledgeCheckOutcome, KnowledgeCreated, KnowledgeMetrics, KnowledgePack, KnowledgePackInput,
    KnowledgeRetrieveInput, KnowledgeUpdateInput, KnowledgeUpdated, Operation, Retrieved, ReviewContext, ReviewContextInput,
};
pub use learning::{
    Backtest, CreateGuardInput, GuardCreated, GuardPromoted, GuardShown, GuardsInput, GuardsOutcome, Pattern, PatternsInput,
    PatternsOutcome, Proposal, ProposalKind, QueryTracesInput, QueryTracesOutcome, StoreTraceInput, TraceHit, TraceStored,
};
pub use queues::Drained;
pub use search::{Embedder, Embedding, LoadModel, ModelState, SearchMode, Study, Why};
pub use secret_scan::{SecretFound, SecretsScan};
pub use status::{StatusInput, StatusReport, StatusWarning, UnreadableFile};
pub use verify::{Check, CheckItem, CheckStatus, History, VerifyInput, VerifyOutcome};
pub use workflow::{
    Action, EvidenceInput, Feature, FeaturesInput, FeaturesOutcome, NextBrief, NextInput, NextOutcome, Proofs, ReportContext, ReportInput,
    ReportOutcome, VerifiedBy, file_states,
};
