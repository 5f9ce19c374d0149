//! The verbs, one file for each group, and the table every entry point is made from.

use twining_engine::{
    AcknowledgeInput, AddEntityInput, AddRelationInput, AgentsInput, ArchiveInput, AssembleInput,
    CheckGatesInput, ClaimInput, CommitsInput, CreateGuardInput, DecideInput, DelegateInput,
    DiscoverInput, DismissInput, ExportInput, FeaturesInput, GatesInput, GraphQueryInput,
    GuardsInput, HandoffInput, ImpactInput, KnowledgeCheckInput, KnowledgePackInput,
    KnowledgeRetrieveInput, KnowledgeUpdateInput, LinkCommitInput, NeighborsInput, NextInput,
    OverrideInput, PathInput, PatternsInput, PostInput, PromoteInput, PromptInput, PruneInput,
    QueryInput, QueryTracesInput, ReadInput, RecentInput, ReconsiderInput, RecordTurnInput,
    RegisterInput, ReportInput, ReviewContextInput, RoleInput, SearchDecisionsInput, StatusInput,
    StoreTraceInput, SuggestModeInput, SummarizeInput, TraceInput, TurnsInput, VerifyInput,
    WhatChangedInput, WhyInput,
};

pub use crate::commands::rows::with_command_names;
use crate::verbs::verb::VerbEntry;

mod agents;
mod blackboard;
mod context;
mod decision_form;
mod decisions;
mod governance;
mod graph;
mod knowledge;
mod learning;
mod lifecycle;
mod rows;
mod workflow;

/// Every verb, group by group, in the order people read them.
pub static VERBS: [VerbEntry; 55] = [
    VerbEntry::of::<AssembleInput>(),
    VerbEntry::of::<SummarizeInput>(),
    VerbEntry::of::<WhatChangedInput>(),
    VerbEntry::of::<PostInput>(),
    VerbEntry::of::<ReadInput>(),
    VerbEntry::of::<QueryInput>(),
    VerbEntry::of::<RecentInput>(),
    VerbEntry::of::<DismissInput>(),
    VerbEntry::of::<DecideInput>(),
    VerbEntry::of::<WhyInput>(),
    VerbEntry::of::<TraceInput>(),
    VerbEntry::of::<ReconsiderInput>(),
    VerbEntry::of::<OverrideInput>(),
    VerbEntry::of::<PromoteInput>(),
    VerbEntry::of::<SearchDecisionsInput>(),
    VerbEntry::of::<LinkCommitInput>(),
    VerbEntry::of::<CommitsInput>(),
    VerbEntry::of::<ImpactInput>(),
    VerbEntry::of::<AddEntityInput>(),
    VerbEntry::of::<AddRelationInput>(),
    VerbEntry::of::<NeighborsInput>(),
    VerbEntry::of::<PathInput>(),
    VerbEntry::of::<GraphQueryInput>(),
    VerbEntry::of::<PruneInput>(),
    VerbEntry::of::<KnowledgeRetrieveInput>(),
    VerbEntry::of::<KnowledgePackInput>(),
    VerbEntry::of::<KnowledgeUpdateInput>(),
    VerbEntry::of::<KnowledgeCheckInput>(),
    VerbEntry::of::<ReviewContextInput>(),
    VerbEntry::of::<RoleInput>(),
    VerbEntry::of::<GatesInput>(),
    VerbEntry::of::<CheckGatesInput>(),
    VerbEntry::of::<PromptInput>(),
    VerbEntry::of::<RecordTurnInput>(),
    VerbEntry::of::<TurnsInput>(),
    VerbEntry::of::<SuggestModeInput>(),
    VerbEntry::of::<FeaturesInput>(),
    VerbEntry::of::<NextInput>(),
    VerbEntry::of::<ReportInput>(),
    VerbEntry::of::<StoreTraceInput>(),
    VerbEntry::of::<QueryTracesInput>(),
    VerbEntry::of::<PatternsInput>(),
    VerbEntry::of::<CreateGuardInput>(),
    VerbEntry::of::<GuardsInput>(),
    VerbEntry::of::<RegisterInput>(),
    VerbEntry::of::<AgentsInput>(),
    VerbEntry::of::<DiscoverInput>(),
    VerbEntry::of::<DelegateInput>(),
    VerbEntry::of::<HandoffInput>(),
    VerbEntry::of::<AcknowledgeInput>(),
    VerbEntry::of::<ClaimInput>(),
    VerbEntry::of::<ArchiveInput>(),
    VerbEntry::of::<StatusInput>(),
    VerbEntry::of::<VerifyInput>(),
    VerbEntry::of::<ExportInput>(),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_tool_name_and_stands_once() {
        for (i, verb) in VERBS.iter().enumerate() {
            assert!(verb.name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{}", verb.name);
            assert!(
                VERBS[..i].iter().all(|other| other.name != verb.name),
                "{} stands twice",
                verb.name
            );
        }
    }

    #[test]
    fn every_example_calls_its_own_verb() {
        for verb in &VERBS {
            let start = format!("twining {}", verb.command_name());
            assert!(verb.example.starts_with(&start), "{}", verb.example);
        }
    }
}
