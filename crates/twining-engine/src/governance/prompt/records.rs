//! What the memory tells in a prompt: decisions, warnings and rules fill what policy
//! and turns leave.

use std::collections::HashSet;

use twining_model::{Decision, DecisionStatus, Entry, EntryType, Id, Scope};
use twining_store::{DecisionState, EntryFilter, RowId, ScopedDecision, View};

use crate::context::{AssembleInput, AssembledContext, ContextDecision, ContextEntry};
use crate::decisions::contesting;
use crate::engine::Engine;
use crate::failure::Failure;
use crate::governance::prompt;
use crate::governance::prompt::PromptBudget;
use crate::governance::prompt::builder::{PromptDraft, PromptMemory, RecordLine, RecordList};
use crate::governance::{Prompt, PromptInput, PromptRecord, UserPolicy, turns};
use crate::knowledge::RuleFact;

/// How a decision stands that others in force contradict.
const CONTESTED: &str = "contested";
/// Tokens of a short line about a record.
const TOKENS_A_LINE: usize = 20;

impl Engine {
    /// Writes a prompt for an agent in a role.
    pub fn prompt(&self, user: &UserPolicy, input: &PromptInput) -> Result<Prompt, Failure> {
        let policy = self.policy(user);
        let draft = PromptDraft::parse(input, &policy, self.store().root())?;
        let turns = self.store().documents().turns();
        let earlier = turns
            .map(|turn_files| turns::before(&turn_files, &draft.key, prompt::TURNS_TOLD))
            .unwrap_or_default();
        let builder = prompt::begin(&policy, &draft, &earlier)?;
        let memory = self.memory_for(&draft, builder.budget());
        Ok(builder.finish(memory))
    }

    /// What the other rooms know for a prompt. One that cannot be asked gives
    /// nothing: an agent with half a prompt is better off than one with none.
    fn memory_for(&self, draft: &PromptDraft, budget: PromptBudget) -> PromptMemory {
        // A hook waits for this: where there is no memory yet, not even an empty index is made.
        if !self.store().exists().unwrap_or(false) {
            return PromptMemory::default();
        }
        let (task, scope) = (draft.question(), draft.scope.to_string());
        let question = AssembleInput {
            task,
            scope,
            max_tokens: Some(budget.tokens.max(1)),
            ..AssembleInput::default()
        };
        let rules = RecordList::all(self.critical_rules(draft));
        let decided = |(decisions, _): &(RecordList, RecordList)| {
            decisions.lines.iter().filter_map(|line| Id::read(&line.record.id)).collect()
        };
        match self.gather_rules(
            &question,
            |view, context| whole(view, context, draft, budget),
            decided,
        ) {
            Ok((decisions, warnings)) => PromptMemory { rules, decisions, warnings },
            Err(_) => PromptMemory { rules, ..PromptMemory::default() },
        }
    }

    /// Critical rules of the reviewed knowledge in scope; none where there is no
    /// graph, or none that can be read.
    fn critical_rules(&self, draft: &PromptDraft) -> Vec<PromptRecord> {
        let Ok(facts) = self.knowledge_facts() else { return Vec::new() };
        let rule = |rule: &RuleFact| PromptRecord {
            id: rule.id.clone(),
            summary: rule.description.clone(),
            detail: String::new(),
            standing: "critical".to_owned(),
        };
        if draft.scope == Scope::project() {
            return facts.critical_rules.iter().map(rule).collect();
        }
        facts.rules_for(draft.scope.as_str().trim_end_matches('/')).map(rule).collect()
    }
}

/// What was assembled, and behind it what else is in force in the scope: a
/// context is made of a few candidates of each kind, told at length, and a
/// prompt has room for more of them in a line each. What is beyond is counted.
fn whole(
    view: &View<'_>,
    context: AssembledContext,
    draft: &PromptDraft,
    budget: PromptBudget,
) -> Result<(RecordList, RecordList), Failure> {
    let AssembledContext { active_decisions, active_warnings, omitted_count, .. } = context;
    let scopes: Vec<Scope> =
        active_warnings.iter().map(|warning| Scope::read(&warning.scope)).collect();
    let mut decisions = RecordFill::of(RecordList::all(
        active_decisions.into_iter().map(record_of_context_decision),
    ));
    let mut warnings =
        RecordFill::of(RecordList::all(active_warnings.into_iter().map(record_of_context_entry)));
    // A context that leaves nothing out tells all there is.
    if omitted_count == 0 {
        return Ok((decisions.listed, warnings.listed));
    }
    let most = budget.tokens / TOKENS_A_LINE + 1;
    let open = EntryFilter {
        types: vec![EntryType::Warning.as_str().to_owned()],
        only_open: true,
        ..EntryFilter::default()
    };
    let newest = |listed_ids: usize| {
        Ok(view.entries().rows_about(&draft.scope, &open, most + listed_ids)?)
    };
    let warning =
        |row: RowId, _: &HashSet<String>| Ok(Some(record_of_entry(view.entries().at_row(row)?)));
    let nearest = |listed_ids: usize| {
        Ok(view.decisions().nearest(&draft.scope, DecisionState::InForce, most + listed_ids)?)
    };
    let decision = |row: ScopedDecision, listed_ids: &HashSet<String>| {
        let unknown = !listed_ids.contains(row.id.as_str());
        let Some(decision) = unknown.then(|| view.decisions().get(&row.id)).transpose()?.flatten()
        else {
            return Ok(None);
        };
        let is_contested =
            !view.decisions().contesters(&decision, contesting(decision.status), 1)?.is_empty();
        Ok(Some(record_of_decision(decision, is_contested)))
    };
    // Only what may be told is read: the warnings that have their share in any case,
    // then the decisions that fit beside them, then what those leave to the warnings.
    warnings.fill(budget.share, newest, warning)?;
    decisions.fill(budget.chars - warnings.chars.min(budget.share), nearest, decision)?;
    warnings.fill(budget.chars.saturating_sub(decisions.chars), newest, warning)?;

    let known: Vec<&str> =
        decisions.listed.lines.iter().map(|line| line.record.id.as_str()).collect();
    decisions.listed.beyond =
        view.decisions().count_in_force(&draft.scope, &known, prompt::COUNTED)?;
    let elsewhere =
        scopes.iter().filter(|scope| !scope.overlaps(&draft.scope, view.folding())).count();
    let here = (warnings.listed.lines.len() - elsewhere) as u64;
    let all = view.entries().count_about(&draft.scope, &open)?;
    warnings.listed.beyond = all.saturating_sub(here).min(prompt::COUNTED as u64);
    Ok((decisions.listed, warnings.listed))
}

/// Records of a kind, and where there may be more of them.
struct RecordFill<R> {
    listed: RecordList,
    /// How much their lines take.
    chars: usize,
    listed_ids: HashSet<String>,
    waiting: Option<std::vec::IntoIter<R>>,
}

impl<R> RecordFill<R> {
    /// Begins with these.
    fn of(listed: RecordList) -> Self {
        let chars = listed.lines.iter().map(|line| line.chars).sum();
        let listed_ids = listed.lines.iter().map(|line| line.record.id.clone()).collect();
        Self { listed, chars, listed_ids, waiting: None }
    }

    /// Adds further ones until their lines take so much. Where they are is only
    /// asked if there is room for one.
    fn fill(
        &mut self,
        chars: usize,
        ask: impl FnOnce(usize) -> Result<Vec<R>, Failure>,
        read: impl Fn(R, &HashSet<String>) -> Result<Option<PromptRecord>, Failure>,
    ) -> Result<(), Failure> {
        if self.chars >= chars {
            return Ok(());
        }
        let waiting = match &mut self.waiting {
            Some(waiting) => waiting,
            none => none.insert(ask(self.listed_ids.len())?.into_iter()),
        };
        for row in waiting {
            if let Some(record) =
                read(row, &self.listed_ids)?.filter(|record| !self.listed_ids.contains(&record.id))
            {
                let line = RecordLine::of(record);
                self.chars += line.chars;
                self.listed.lines.push(line);
            }
            if self.chars >= chars {
                break;
            }
        }
        Ok(())
    }
}

fn record_of_context_decision(decision: ContextDecision) -> PromptRecord {
    PromptRecord {
        id: decision.id.to_string(),
        summary: decision.summary,
        detail: decision.rationale.unwrap_or_default(),
        standing: if decision.contested_by.is_empty() {
            standing(decision.status)
        } else {
            CONTESTED.to_owned()
        },
    }
}

fn record_of_decision(decision: Decision, is_contested: bool) -> PromptRecord {
    let standing = if is_contested { CONTESTED.to_owned() } else { standing(decision.status) };
    PromptRecord {
        id: decision.id.to_string(),
        summary: decision.summary,
        detail: decision.rationale,
        standing,
    }
}

/// How a decision stands, where that matters.
fn standing(status: DecisionStatus) -> String {
    if status == DecisionStatus::Active { String::new() } else { status.as_str().to_owned() }
}

fn record_of_context_entry(warning: ContextEntry) -> PromptRecord {
    PromptRecord {
        id: warning.id,
        summary: warning.summary,
        detail: warning.detail.unwrap_or_default(),
        standing: String::new(),
    }
}

fn record_of_entry(warning: Entry) -> PromptRecord {
    PromptRecord {
        id: warning.id,
        summary: warning.summary,
        detail: warning.detail,
        standing: String::new(),
    }
}
