//! The verbs of learning: traces in, patterns out, guards proposed.

use std::collections::HashSet;

use twining_model::{Change, InvalidInput, Trace, TraceType, text};
use twining_store::{Durability, TextFile};

use crate::caller::Caller;
use crate::engine::Engine;
use crate::failure::Failure;
use crate::fields::{fit_reply, next_offset};
use crate::governance::UserPolicy;
use crate::learning::{self, *};
use crate::search::{SearchMode, round};
use crate::secrets::clean;
use twining_guard::policy::Examples;
use twining_guard::{Guard, GuardSet};

impl Engine {
    /// Stores a trace.
    pub fn store_trace(
        &self,
        caller: &Caller,
        input: &StoreTraceInput,
    ) -> Result<StoreTraceOutcome, Failure> {
        let (input, redacted) = clean(input);
        let caller = caller.called(input.agent_id.as_deref())?;
        let (trace, stored) = plan_trace(&input, &self.stamp(&caller))?;
        self.store()
            .write(Durability::Normal, &Change { traces: vec![trace], ..Change::default() })?;
        Ok(StoreTraceOutcome { redacted, ..stored })
    }

    /// Finds traces.
    pub fn query_traces(&self, input: &QueryTracesInput) -> Result<QueryTracesOutcome, Failure> {
        let draft = QueryTracesDraft::parse(input)?;
        self.take_in_traces();
        let mut search = TraceSearch::new(&draft);
        self.store().traces().each(&mut |seen| {
            search.see(seen);
            true
        })?;
        let mut mode = SearchMode::Keyword;
        if let Some(question) = &draft.query {
            let places = search.candidates();
            let traces = self.store().traces().at(&places)?;
            let texts: Vec<String> =
                traces.iter().map(|(_, trace)| learning::trace_text(trace)).collect();
            if texts.len() == places.len()
                && let Some(likeness) = self.likeness(question, &texts)?
            {
                search.weigh_meaning(&places, &likeness);
                mode = SearchMode::Hybrid;
            }
        }
        let (page, total) = search.page(mode);
        let places: Vec<u64> = page.iter().map(|found| found.offset).collect();
        let traces = self.store().traces().at(&places)?;
        let hits = traces.into_iter().filter_map(|(place, trace)| {
            let found = page.iter().find(|found| found.offset == place)?;
            Some(TraceHit {
                trust: trace.trust(found.written_here),
                relevance: draft.query.is_some().then(|| round(found.worth(mode).clamp(0.0, 1.0))),
                trace,
            })
        });
        let (traces, truncated) = fit_reply(hits.collect());
        let next_offset = next_offset(draft.offset, traces.len(), total as u64);
        Ok(QueryTracesOutcome { traces, total, mode, next_offset, truncated })
    }

    /// Finds what keeps happening.
    pub fn extract_patterns(
        &self,
        user: &UserPolicy,
        input: &PatternsInput,
    ) -> Result<PatternsOutcome, Failure> {
        let draft = PatternsDraft::parse(input)?;
        Ok(self.gather_traces(&draft)?.patterns(&draft, &self.guards(user).guards))
    }

    /// Proposes a guard from a pattern, tried on every recorded call.
    pub fn create_guard(
        &self,
        caller: &Caller,
        user: &UserPolicy,
        input: &CreateGuardInput,
    ) -> Result<CreateGuardOutcome, Failure> {
        let (input, redacted) = clean(input);
        let caller = caller.called(input.agent_id.as_deref())?;
        let draft = PatternsDraft::parse(&PatternsInput::default())?;
        let pattern = self
            .gather_traces(&draft)?
            .pattern(input.pattern.trim(), &draft, &self.guards(user).guards)
            .ok_or_else(|| {
                let hint = "twining_extract_patterns lists the patterns".to_owned();
                Failure::NotFound { what: "pattern", id: text::excerpt(&input.pattern, 40), hint }
            })?;
        let (calls, objected) = (self.store().local_state().calls()?, self.objected()?);
        let created =
            self.change_policy(|file| plan_create(file, &pattern, &input, &calls, &objected))?;
        let made = StoreTraceInput {
            kind: TraceType::Decision.as_str().to_owned(),
            what_happened: format!("the guard `{}` was proposed", created.id),
            why: Some(created.backtest.summary()),
            guard: Some(created.id.clone()),
            ..StoreTraceInput::default()
        };
        self.store_trace(&caller, &made)?;
        Ok(CreateGuardOutcome { redacted, ..created })
    }

    /// Lists the guards.
    #[must_use]
    pub fn list_guards(&self, user: &UserPolicy) -> GuardsOutcome {
        learning::listed(&self.guards(user))
    }

    /// Lists the guards with what became of each: how often it fired, and whether it was right.
    pub fn guard_report(&self, user: &UserPolicy) -> Result<GuardsOutcome, Failure> {
        self.take_in_traces();
        let (all, tally) = (self.guards(user), self.state::<GuardTally>());
        let counts = tally.counts(self.store())?;
        let mut outcome = learning::listed(&all);
        for (guard, summary) in all.guards.iter().zip(&mut outcome.guards) {
            if let Some(counts) = counts.get(&summary.id) {
                summary.add(counts);
            }
            if guard.proposed {
                summary.backtest = Some(GuardBacktest::from(&self.recent_backtest(guard)?));
            }
        }
        Ok(outcome)
    }

    /// A guard's backtest, at most a minute old.
    fn recent_backtest(&self, guard: &Guard) -> Result<Backtest, Failure> {
        self.state::<GuardTally>().backtest(guard, self.store().ids().now(), || {
            Ok(Backtest::of(guard, &self.store().local_state().calls()?, &self.objected()?))
        })
    }

    /// Records that a person lifts a guard.
    pub fn record_bypass(
        &self,
        caller: &Caller,
        guard: &str,
        until: &str,
        reason: &str,
    ) -> Result<StoreTraceOutcome, Failure> {
        self.approve(caller, guard, &lift_text(guard, until), reason)
    }

    /// Lets a proposed guard block. The entry point has verified that a person asks.
    pub fn promote_guard(&self, caller: &Caller, id: &str) -> Result<PromoteGuardOutcome, Failure> {
        let id = text::name("guard", id)?;
        let promoted = self.change_policy(|file| plan_promote(file, &id))?;
        self.approve(caller, &id, &promotion_text(&id), "")?;
        Ok(promoted)
    }

    /// Takes a proposed guard out of the policy. The entry point has verified that a person asks.
    pub fn discard_guard(
        &self,
        caller: &Caller,
        id: &str,
        reason: &str,
    ) -> Result<DiscardGuardOutcome, Failure> {
        let id = text::name("guard", id)?;
        let discarded = self.change_policy(|file| plan_discard(file, &id))?;
        let made = StoreTraceInput {
            kind: TraceType::Decision.as_str().to_owned(),
            what_happened: discard_text(&id),
            why: Some(reason.to_owned()),
            guard: Some(id),
            ..StoreTraceInput::default()
        };
        self.store_trace(caller, &made)?;
        Ok(discarded)
    }

    /// Remembers that a person let something pass.
    pub fn approve(
        &self,
        caller: &Caller,
        guard: &str,
        what_happened: &str,
        why: &str,
    ) -> Result<StoreTraceOutcome, Failure> {
        let input = StoreTraceInput {
            kind: TraceType::Approval.as_str().to_owned(),
            what_happened: what_happened.to_owned(),
            why: Some(why.to_owned()).filter(|why| !why.is_empty()),
            guard: Some(guard.to_owned()),
            ..StoreTraceInput::default()
        };
        self.store_trace(caller, &input)
    }

    /// What a guard of the project would have done to the recorded calls.
    pub fn backtest(&self, user: &UserPolicy, id: &str) -> Result<Backtest, Failure> {
        let all = self.guards(user);
        let guard = all.guards.iter().rev().find(|guard| guard.id == id);
        let guard = guard.ok_or_else(|| {
            let named = text::excerpt(id, 40);
            InvalidInput::new(named, "is no guard").because("`twining guard list` shows them")
        })?;
        Ok(Backtest::of(guard, &self.store().local_state().calls()?, &self.objected()?))
    }

    fn guards(&self, user: &UserPolicy) -> GuardSet {
        let file = self
            .store()
            .documents()
            .policy()
            .unwrap_or_else(|error| TextFile::Unusable(error.to_string()));
        GuardSet::load(user, &file, Examples::Read)
    }

    fn gather_traces(&self, draft: &PatternsDraft) -> Result<PatternBuilder, Failure> {
        self.take_in_traces();
        let mut gathering = PatternBuilder::default();
        self.store().traces().each(&mut |seen| {
            gathering.see(seen, draft);
            true
        })?;
        Ok(gathering)
    }

    /// The calls that somebody objected to.
    fn objected(&self) -> Result<HashSet<String>, Failure> {
        let mut objected = HashSet::new();
        self.store().traces().each(&mut |seen| {
            if seen.written_here
                && let Some(trace) = Trace::read(seen.line).filter(|trace| {
                    matches!(trace.kind(), Some(TraceType::Violation | TraceType::Correction))
                })
            {
                objected.extend(trace.call);
            }
            true
        })?;
        Ok(objected)
    }

    /// Imports what hooks could not write; if that fails, the next reader retries.
    fn take_in_traces(&self) {
        let _ = self.store().traces().drain();
    }
}
