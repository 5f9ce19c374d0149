//! The verbs, one file for each group, and the table every entry point is made from.

use twining_engine::{
    AcknowledgeInput, AddEntityInput, AddRelationInput, AgentsInput, ArchiveInput, AssembleInput,
    CheckGatesInput, ClaimInput, CommitsInput, CreateGuardInput, DecideInput, DecisionsInput,
    DelegateInput, DiscoverInput, DismissInput, ExportInput, FeaturesInput, GatesInput, GraphInput,
    GraphQueryInput, GuardsInput, HandoffInput, ImpactInput, KnowledgeCheckInput,
    KnowledgePackInput, KnowledgeRetrieveInput, KnowledgeUpdateInput, LinkCommitInput,
    NeighborsInput, NextInput, OverrideInput, PathInput, PatternsInput, PostInput, PromoteInput,
    PromptInput, PruneInput, QueryInput, QueryTracesInput, ReadInput, RecentInput, ReconsiderInput,
    RecordTurnInput, RegisterInput, ReportInput, ReviewContextInput, RoleInput,
    SearchDecisionsInput, StatusInput, StoreTraceInput, SuggestModeInput, SummarizeInput,
    TraceInput, TurnsInput, VerifyInput, WaitingInput, WhatChangedInput, WhyInput,
};

pub(crate) use crate::commands::waiting::show_item;
use crate::doctor::DoctorInput;
use crate::guard_command::verbs::{
    GuardBypassEndInput, GuardBypassInput, GuardDiscardInput, GuardPromoteInput,
};
use crate::verbs::verb::VerbEntry;
use crate::verbs::verb::VerbGroup::{
    Agents, Blackboard, Context, Decisions, Governance, Graph, Knowledge, Learning, Lifecycle,
    Workflow,
};

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
mod waiting;
mod workflow;

/// Every verb, group by group, in the order people read them.
pub(crate) static VERBS: [VerbEntry; 63] = [
    VerbEntry::of::<AssembleInput>(Context),
    VerbEntry::of::<SummarizeInput>(Context),
    VerbEntry::of::<WhatChangedInput>(Context),
    VerbEntry::of::<WaitingInput>(Context),
    VerbEntry::of::<PostInput>(Blackboard),
    VerbEntry::of::<ReadInput>(Blackboard),
    VerbEntry::of::<QueryInput>(Blackboard),
    VerbEntry::of::<RecentInput>(Blackboard),
    VerbEntry::of::<DismissInput>(Blackboard),
    VerbEntry::of::<DecideInput>(Decisions),
    VerbEntry::of::<WhyInput>(Decisions),
    VerbEntry::of::<TraceInput>(Decisions),
    VerbEntry::of::<ReconsiderInput>(Decisions),
    VerbEntry::of::<OverrideInput>(Decisions),
    VerbEntry::of::<PromoteInput>(Decisions),
    VerbEntry::of::<DecisionsInput>(Decisions),
    VerbEntry::of::<SearchDecisionsInput>(Decisions),
    VerbEntry::of::<LinkCommitInput>(Decisions),
    VerbEntry::of::<CommitsInput>(Decisions),
    VerbEntry::of::<ImpactInput>(Decisions),
    VerbEntry::of::<AddEntityInput>(Graph),
    VerbEntry::of::<AddRelationInput>(Graph),
    VerbEntry::of::<NeighborsInput>(Graph),
    VerbEntry::of::<PathInput>(Graph),
    VerbEntry::of::<GraphQueryInput>(Graph),
    VerbEntry::of::<GraphInput>(Graph),
    VerbEntry::of::<PruneInput>(Graph),
    VerbEntry::of::<KnowledgeRetrieveInput>(Knowledge),
    VerbEntry::of::<KnowledgePackInput>(Knowledge),
    VerbEntry::of::<KnowledgeUpdateInput>(Knowledge),
    VerbEntry::of::<KnowledgeCheckInput>(Knowledge),
    VerbEntry::of::<ReviewContextInput>(Knowledge),
    VerbEntry::of::<RoleInput>(Governance),
    VerbEntry::of::<GatesInput>(Governance),
    VerbEntry::of::<CheckGatesInput>(Governance),
    VerbEntry::of::<PromptInput>(Governance),
    VerbEntry::of::<RecordTurnInput>(Governance),
    VerbEntry::of::<TurnsInput>(Governance),
    VerbEntry::of::<SuggestModeInput>(Governance),
    VerbEntry::of::<FeaturesInput>(Workflow),
    VerbEntry::of::<NextInput>(Workflow),
    VerbEntry::of::<ReportInput>(Workflow),
    VerbEntry::of::<StoreTraceInput>(Learning),
    VerbEntry::of::<QueryTracesInput>(Learning),
    VerbEntry::of::<PatternsInput>(Learning),
    VerbEntry::of::<CreateGuardInput>(Learning),
    VerbEntry::of::<GuardsInput>(Learning),
    VerbEntry::of::<GuardPromoteInput>(Learning),
    VerbEntry::of::<GuardBypassInput>(Learning),
    VerbEntry::of::<GuardBypassEndInput>(Learning),
    VerbEntry::of::<GuardDiscardInput>(Learning),
    VerbEntry::of::<RegisterInput>(Agents),
    VerbEntry::of::<AgentsInput>(Agents),
    VerbEntry::of::<DiscoverInput>(Agents),
    VerbEntry::of::<DelegateInput>(Agents),
    VerbEntry::of::<HandoffInput>(Agents),
    VerbEntry::of::<AcknowledgeInput>(Agents),
    VerbEntry::of::<ClaimInput>(Agents),
    VerbEntry::of::<ArchiveInput>(Lifecycle),
    VerbEntry::of::<StatusInput>(Lifecycle),
    VerbEntry::of::<VerifyInput>(Lifecycle),
    VerbEntry::of::<ExportInput>(Lifecycle),
    VerbEntry::of::<DoctorInput>(Lifecycle),
];

#[cfg(test)]
mod tests {
    use super::*;
    use twining_testcases::each;

    #[test]
    fn every_name_is_a_tool_name_and_stands_once() {
        each(VERBS.iter().enumerate(), |(i, verb)| {
            assert!(verb.name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{}", verb.name);
            assert!(
                VERBS[..i].iter().all(|other| other.name != verb.name),
                "{} stands twice",
                verb.name
            );
        });
    }

    #[test]
    fn every_example_calls_its_own_verb() {
        each(&VERBS, |verb| {
            let start = format!("twining {}", verb.command_name());
            assert!(verb.example.starts_with(&start), "{}", verb.example);
        });
    }
}
