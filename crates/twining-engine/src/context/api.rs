//! The verbs of the context, and what others take from it.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use twining_model::{HandoffSnapshot, Id, limits};
use twining_store::View;

use crate::caller::Caller;
use crate::context::{self, *};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::search::SearchQuery;

/// Tokens of the context that goes with a handoff.
const SNAPSHOT_TOKENS: usize = 1500;
/// Lines of it.
const SNAPSHOT_LINES: usize = 12;

/// What a task is compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SearchBasis {
    /// Its words alone.
    Words,
    /// Its words and its meaning.
    Meaning,
}

/// Agents that assembled context in this process.
#[derive(Default)]
struct AssemblyLog(Mutex<HashSet<String>>);

impl Engine {
    /// Puts together what a task needs.
    pub fn assemble(&self, caller: &Caller, input: &AssembleInput) -> Result<AssembledContext, Failure> {
        self.assemble_for(caller, input, SearchBasis::Meaning)
    }

    /// The same by words alone, for a short-lived process that a tool call waits for.
    pub fn assemble_by_words(&self, caller: &Caller, input: &AssembleInput) -> Result<AssembledContext, Failure> {
        self.assemble_for(caller, input, SearchBasis::Words)
    }

    fn assemble_for(&self, caller: &Caller, input: &AssembleInput, by: SearchBasis) -> Result<AssembledContext, Failure> {
        let caller = caller.called(input.agent_id.as_deref())?;
        let context = self.gather(&caller, input, by)?;
        self.remember_assembly(caller.agent);
        Ok(context)
    }

    /// What goes with a handoff: a context by words, for nobody in particular to have read.
    pub(crate) fn snapshot(&self, caller: &Caller, task: String, scope: String, tokens: Option<usize>) -> Result<HandoffSnapshot, Failure> {
        let max_tokens = Some(tokens.unwrap_or(SNAPSHOT_TOKENS));
        let asked = AssembleInput { task, scope, max_tokens, ..AssembleInput::default() };
        Ok(snapshot(&self.gather(caller, &asked, SearchBasis::Words)?))
    }

    /// What is to be kept to in a task, and what `then` makes of it while the memory
    /// is open; at a glance, because a hook waits. `told` names the decisions in that.
    pub(crate) fn gather_rules<T>(
        &self,
        input: &AssembleInput,
        then: impl Fn(&View<'_>, AssembledContext) -> Result<T, Failure>,
        ids_of: impl Fn(&T) -> Vec<Id>,
    ) -> Result<T, Failure> {
        let config = self.store().config()?;
        let draft = AssembleDraft::parse(input, self.store().root(), &config)?.of_rules();
        let text = draft.question();
        let assemble = |view: &View<'_>| context::assemble(view, &draft, SearchQuery::of_task(&text), &config, OtherAgents::default());
        self.store().glance(|view| then(view, assemble(view)?), ids_of)
    }

    fn gather(&self, caller: &Caller, input: &AssembleInput, by: SearchBasis) -> Result<AssembledContext, Failure> {
        let config = self.store().config()?;
        let draft = AssembleDraft::parse(input, self.store().root(), &config)?;
        let text = draft.question();
        // Who works here is worth knowing and no reason to know nothing else.
        let others = self.store().documents().agents().ok();
        let others = others
            .as_ref()
            .map(|agent_files| OtherAgents::of(agent_files, draft.scope(), caller, self.store().folding(), self.store().ids().now()));
        let (known, waiting) = if by == SearchBasis::Meaning { self.loaded_index()? } else { (None, 0) };
        std::thread::scope(|scope| {
            let mut question = SearchQuery::of_task(&text).with_waiting(waiting);
            if let Some(known) = known {
                let (model, text) = (known.model, &text);
                let vector = scope.spawn(move || model.embed(text));
                question = question.meanwhile(move || vector.join().ok().map(|vector| known.to(&vector)));
            }
            self.store().view(|view| context::assemble(view, &draft, question, &config, others.unwrap_or_default()))
        })
    }

    /// Sums a scope up.
    pub fn summarize(&self, input: &SummarizeInput) -> Result<ScopeSummary, Failure> {
        let scope = input.scope(self.store().root())?;
        self.store().view(|view| context::summarize(view, &scope))
    }

    /// Finds what changed since a moment.
    pub fn what_changed(&self, input: &WhatChangedInput) -> Result<WhatChangedOutcome, Failure> {
        let draft = WhatChangedDraft::parse(input, self.store().root())?;
        self.store().view(|view| context::what_changed(view, &draft))
    }

    /// Whether an agent assembled context in this process.
    pub(crate) fn has_assembled(&self, agent: &str) -> bool {
        self.state::<AssemblyLog>().0.lock().unwrap_or_else(PoisonError::into_inner).contains(agent)
    }

    fn remember_assembly(&self, agent: String) {
        let assemblies = self.state::<AssemblyLog>();
        let mut assembled = assemblies.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A caller that invents a new name for every call must not fill our memory.
        if assembled.len() < limits::QUEUE_LINES {
            assembled.insert(agent);
        }
    }
}

/// What of an assembled context goes with a handoff: ids to look up, and the
/// lines that matter most.
fn snapshot(context: &AssembledContext) -> HandoffSnapshot {
    let entries = |list: &[ContextEntry]| list.iter().map(|entry| entry.id.clone()).collect::<Vec<_>>();
    let decisions = context.active_decisions.iter().map(|decision| format!("decision: {}", decision.summary));
    let warnings = context.active_warnings.iter().map(|entry| format!("warning: {}", entry.summary));
    let open = context.open_needs.iter().map(|entry| format!("need: {}", entry.summary));
    let asked = context.recent_questions.iter().map(|entry| format!("question: {}", entry.summary));
    let found = context.recent_findings.iter().map(|entry| format!("finding: {}", entry.summary));
    HandoffSnapshot {
        decision_ids: context.active_decisions.iter().map(|decision| decision.id.to_string()).collect(),
        warning_ids: entries(&context.active_warnings),
        finding_ids: entries(&context.recent_findings),
        open_ids: [entries(&context.open_needs), entries(&context.recent_questions)].concat(),
        summaries: warnings.chain(decisions).chain(open).chain(asked).chain(found).take(SNAPSHOT_LINES).collect(),
    }
}
