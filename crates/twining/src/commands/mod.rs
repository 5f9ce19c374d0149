//! The verbs, one file for each group, and the table every entry point is made from.

use twining_engine::{
    AcknowledgeInput, AddEntityInput, AddRelationInput, AgentsInput, ArchiveInput, AssembleInput,
    CheckGatesInput, ClaimInput, CommitsInput, ConfirmInput, CreateGuardInput, DecideInput,
    DecisionsInput, DelegateInput, DiscoverInput, DismissInput, DriftInput, ExportInput,
    FeaturesInput, GatesInput, GraphInput, GraphQueryInput, GuardsInput, HandoffInput, ImpactInput,
    KnowledgeCheckInput, KnowledgePackInput, KnowledgeRetrieveInput, KnowledgeUpdateInput,
    LinkCommitInput, NeighborsInput, NextInput, OverrideInput, PathInput, PatternsInput, PostInput,
    PromoteInput, PromptInput, PruneInput, QueryInput, QueryTracesInput, ReadInput, ReanchorInput,
    RecentInput, ReconsiderInput, RecordTurnInput, RegisterInput, ReportInput, ReviewContextInput,
    RoleInput, SearchDecisionsInput, StatusInput, StoreTraceInput, SuggestModeInput,
    SummarizeInput, TraceInput, TurnsInput, VerifyInput, WaitingInput, WhatChangedInput, WhyInput,
};

pub(crate) use crate::commands::waiting::show_item;
use crate::doctor::DoctorInput;
use crate::guard_command::verbs::{
    GuardBypassEndInput, GuardBypassInput, GuardDiscardInput, GuardPromoteInput,
};
use crate::verbs::verb::Needs::{Memory, Tree};
use crate::verbs::verb::VerbEntry;
use crate::verbs::verb::VerbGroup::{
    Agents, Blackboard, Context, Decisions, Governance, Graph, Knowledge, Learning, Lifecycle,
    Workflow,
};

mod agents;
mod anchors;
pub(crate) mod audit;
mod audit_keys;
mod blackboard;
mod context;
mod decision_form;
mod decisions;
mod governance;
mod graph;
mod impact;
mod knowledge;
mod learning;
mod lifecycle;
mod rows;
mod waiting;
mod workflow;

/// Every verb, group by group, in the order people read them.
pub(crate) static VERBS: [VerbEntry; 66] = [
    VerbEntry::of::<AssembleInput>(Context, Memory),
    VerbEntry::of::<SummarizeInput>(Context, Memory),
    VerbEntry::of::<WhatChangedInput>(Context, Memory),
    VerbEntry::of::<WaitingInput>(Context, Memory),
    VerbEntry::of::<PostInput>(Blackboard, Memory),
    VerbEntry::of::<ReadInput>(Blackboard, Memory),
    VerbEntry::of::<QueryInput>(Blackboard, Memory),
    VerbEntry::of::<RecentInput>(Blackboard, Memory),
    VerbEntry::of::<DismissInput>(Blackboard, Memory),
    VerbEntry::of::<DecideInput>(Decisions, Memory),
    VerbEntry::of::<WhyInput>(Decisions, Memory),
    VerbEntry::of::<TraceInput>(Decisions, Memory),
    VerbEntry::of::<ReconsiderInput>(Decisions, Memory),
    VerbEntry::of::<OverrideInput>(Decisions, Memory),
    VerbEntry::of::<PromoteInput>(Decisions, Memory),
    VerbEntry::of::<DecisionsInput>(Decisions, Memory),
    VerbEntry::of::<SearchDecisionsInput>(Decisions, Memory),
    VerbEntry::of::<LinkCommitInput>(Decisions, Memory),
    VerbEntry::of::<CommitsInput>(Decisions, Memory),
    VerbEntry::of::<ImpactInput>(Decisions, Memory),
    VerbEntry::of::<ConfirmInput>(Decisions, Tree),
    VerbEntry::of::<ReanchorInput>(Decisions, Tree),
    VerbEntry::of::<DriftInput>(Decisions, Tree),
    VerbEntry::of::<AddEntityInput>(Graph, Memory),
    VerbEntry::of::<AddRelationInput>(Graph, Memory),
    VerbEntry::of::<NeighborsInput>(Graph, Memory),
    VerbEntry::of::<PathInput>(Graph, Memory),
    VerbEntry::of::<GraphQueryInput>(Graph, Memory),
    VerbEntry::of::<GraphInput>(Graph, Memory),
    VerbEntry::of::<PruneInput>(Graph, Memory),
    VerbEntry::of::<KnowledgeRetrieveInput>(Knowledge, Tree),
    VerbEntry::of::<KnowledgePackInput>(Knowledge, Tree),
    VerbEntry::of::<KnowledgeUpdateInput>(Knowledge, Tree),
    VerbEntry::of::<KnowledgeCheckInput>(Knowledge, Tree),
    VerbEntry::of::<ReviewContextInput>(Knowledge, Tree),
    VerbEntry::of::<RoleInput>(Governance, Tree),
    VerbEntry::of::<GatesInput>(Governance, Tree),
    VerbEntry::of::<CheckGatesInput>(Governance, Tree),
    VerbEntry::of::<PromptInput>(Governance, Tree),
    VerbEntry::of::<RecordTurnInput>(Governance, Memory),
    VerbEntry::of::<TurnsInput>(Governance, Memory),
    VerbEntry::of::<SuggestModeInput>(Governance, Tree),
    VerbEntry::of::<FeaturesInput>(Workflow, Tree),
    VerbEntry::of::<NextInput>(Workflow, Tree),
    VerbEntry::of::<ReportInput>(Workflow, Tree),
    VerbEntry::of::<StoreTraceInput>(Learning, Memory),
    VerbEntry::of::<QueryTracesInput>(Learning, Memory),
    VerbEntry::of::<PatternsInput>(Learning, Memory),
    VerbEntry::of::<CreateGuardInput>(Learning, Tree),
    VerbEntry::of::<GuardsInput>(Learning, Tree),
    VerbEntry::of::<GuardPromoteInput>(Learning, Tree),
    VerbEntry::of::<GuardBypassInput>(Learning, Tree),
    VerbEntry::of::<GuardBypassEndInput>(Learning, Tree),
    VerbEntry::of::<GuardDiscardInput>(Learning, Tree),
    VerbEntry::of::<RegisterInput>(Agents, Memory),
    VerbEntry::of::<AgentsInput>(Agents, Memory),
    VerbEntry::of::<DiscoverInput>(Agents, Memory),
    VerbEntry::of::<DelegateInput>(Agents, Memory),
    VerbEntry::of::<HandoffInput>(Agents, Memory),
    VerbEntry::of::<AcknowledgeInput>(Agents, Memory),
    VerbEntry::of::<ClaimInput>(Agents, Memory),
    VerbEntry::of::<ArchiveInput>(Lifecycle, Memory),
    VerbEntry::of::<StatusInput>(Lifecycle, Memory),
    VerbEntry::of::<VerifyInput>(Lifecycle, Tree),
    VerbEntry::of::<ExportInput>(Lifecycle, Memory),
    VerbEntry::of::<DoctorInput>(Lifecycle, Tree),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verbs::verb::Audience;
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
    fn an_agent_without_a_checkout_is_offered_what_needs_only_the_memory() {
        let offered = VERBS
            .iter()
            .filter(|verb| verb.needs == Memory && verb.audience == Audience::Everyone)
            .map(|verb| verb.name);
        let expected = "assemble summarize what_changed waiting \
             post read query recent dismiss \
             decide why trace reconsider override promote decisions search_decisions \
             link_commit commits impact \
             add_entity add_relation neighbors path graph_query prune_graph \
             record_turn turns store_trace query_traces extract_patterns \
             register agents discover delegate handoff acknowledge claim \
             archive status export";
        assert_eq!(offered.collect::<Vec<_>>().join(" "), expected);
    }

    #[test]
    fn every_example_calls_its_own_verb() {
        each(&VERBS, |verb| {
            let start = format!("twining {}", verb.command_name());
            assert!(verb.example.starts_with(&start), "{}", verb.example);
        });
    }
}
