//! The verbs, one file each, and the table every door is made from.

pub use self::tool_names::at_a_prompt;
use crate::verbs::VerbEntry;

mod acknowledge;
mod add_entity;
mod add_relation;
mod agents;
mod archive;
mod assemble;
mod check_gates;
mod claim;
mod commits;
mod create_guard;
mod decide;
mod delegate;
mod discover;
mod dismiss;
mod export;
mod extract_patterns;
mod features;
mod gates;
mod graph_query;
mod guards;
mod handoff;
mod impact;
mod knowledge_check;
mod knowledge_pack;
mod knowledge_retrieve;
mod knowledge_update;
mod link_commit;
mod neighbors;
mod next;
mod override_decision;
mod path;
mod post;
mod promote;
mod prompt;
mod prune_graph;
mod query;
mod query_traces;
mod read;
mod recent;
mod reconsider;
mod record_turn;
mod register;
mod report;
mod review_context;
mod role;
mod search_decisions;
mod shown;
mod status;
mod store_trace;
mod suggest_mode;
mod summarize;
mod test_counts;
mod tool_names;
mod trace;
mod turns;
mod verify;
mod what_changed;
mod why;
mod words;

/// Every verb, group by group, in the order people read them.
pub static VERBS: [VerbEntry; 55] = [
    VerbEntry::of::<assemble::Assemble>(),
    VerbEntry::of::<summarize::Summarize>(),
    VerbEntry::of::<what_changed::WhatChanged>(),
    VerbEntry::of::<post::Post>(),
    VerbEntry::of::<read::Read>(),
    VerbEntry::of::<query::Query>(),
    VerbEntry::of::<recent::Recent>(),
    VerbEntry::of::<dismiss::Dismiss>(),
    VerbEntry::of::<decide::Decide>(),
    VerbEntry::of::<why::Why>(),
    VerbEntry::of::<trace::Trace>(),
    VerbEntry::of::<reconsider::Reconsider>(),
    VerbEntry::of::<override_decision::Override>(),
    VerbEntry::of::<promote::Promote>(),
    VerbEntry::of::<search_decisions::SearchDecisions>(),
    VerbEntry::of::<link_commit::LinkCommit>(),
    VerbEntry::of::<commits::Commits>(),
    VerbEntry::of::<impact::Impact>(),
    VerbEntry::of::<add_entity::AddEntity>(),
    VerbEntry::of::<add_relation::AddRelation>(),
    VerbEntry::of::<neighbors::Neighbors>(),
    VerbEntry::of::<path::Path>(),
    VerbEntry::of::<graph_query::GraphQuery>(),
    VerbEntry::of::<prune_graph::PruneGraph>(),
    VerbEntry::of::<knowledge_retrieve::KnowledgeRetrieve>(),
    VerbEntry::of::<knowledge_pack::Pack>(),
    VerbEntry::of::<knowledge_update::KnowledgeUpdate>(),
    VerbEntry::of::<knowledge_check::KnowledgeCheck>(),
    VerbEntry::of::<review_context::Review>(),
    VerbEntry::of::<role::RoleOf>(),
    VerbEntry::of::<gates::Gates>(),
    VerbEntry::of::<check_gates::CheckGates>(),
    VerbEntry::of::<prompt::PromptFor>(),
    VerbEntry::of::<record_turn::RecordTurn>(),
    VerbEntry::of::<turns::Turns>(),
    VerbEntry::of::<suggest_mode::SuggestMode>(),
    VerbEntry::of::<features::Features>(),
    VerbEntry::of::<next::Next>(),
    VerbEntry::of::<report::Report>(),
    VerbEntry::of::<store_trace::StoreTrace>(),
    VerbEntry::of::<query_traces::QueryTraces>(),
    VerbEntry::of::<extract_patterns::ExtractPatterns>(),
    VerbEntry::of::<create_guard::CreateGuard>(),
    VerbEntry::of::<guards::Guards>(),
    VerbEntry::of::<register::Register>(),
    VerbEntry::of::<agents::Agents>(),
    VerbEntry::of::<discover::Discover>(),
    VerbEntry::of::<delegate::Delegate>(),
    VerbEntry::of::<handoff::Handoff>(),
    VerbEntry::of::<acknowledge::Acknowledge>(),
    VerbEntry::of::<claim::Claim>(),
    VerbEntry::of::<archive::Archive>(),
    VerbEntry::of::<status::Status>(),
    VerbEntry::of::<verify::Verify>(),
    VerbEntry::of::<export::Export>(),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_tool_name_and_stands_once() {
        for (i, verb) in VERBS.iter().enumerate() {
            assert!(verb.name.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{}", verb.name);
            assert!(VERBS[..i].iter().all(|other| other.name != verb.name), "{} stands twice", verb.name);
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
