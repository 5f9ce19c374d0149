//! Where a prompt meets the rest of the memory: governance writes what policy and
//! turns have to say, and the context and the knowledge fill what is left.

use std::collections::HashSet;

use twining_model::{EntryType, Scope, Status};
use twining_store::{EntryFilter, Standing, View};

use crate::caller::Caller;
use crate::context::{AssembleInput, AssembledContext, ContextDecision, ContextEntry};
use crate::decisions::contesting;
use crate::engine::Engine;
use crate::failure::Failure;
use crate::governance::prompt::{self, Listed, Memory, PromptDraft};
use crate::governance::{Prompt, PromptInput, PromptRecord, UserPolicy, turns};
use crate::knowledge::RuleFact;

/// How a decision stands that others in force contradict.
const CONTESTED: &str = "contested";
/// Tokens of a short line about a record.
const TOKENS_A_LINE: usize = 20;

impl Engine {
    /// Writes a prompt for an agent in a role.
    pub fn prompt(&self, caller: &Caller, user: &UserPolicy, input: &PromptInput) -> Result<Prompt, Failure> {
        let policy = self.policy(user);
        let draft = PromptDraft::parse(input, &policy, self.store().root())?;
        let read = |shelf: &twining_store::Shelf| Ok::<_, Failure>(turns::before(shelf, &draft.key, prompt::TURNS_TOLD));
        let earlier = self.store().turns(read).unwrap_or_default();
        let sheet = prompt::begin(&policy, &draft, &earlier)?;
        let memory = self.memory_for(caller, &draft, sheet.room());
        Ok(sheet.finish(memory))
    }

    /// What the other rooms know for a prompt. One that cannot be asked gives
    /// nothing: an agent with half a prompt is better off than one with none.
    fn memory_for(&self, caller: &Caller, draft: &PromptDraft, tokens: usize) -> Memory {
        // A hook waits for this: where there is no memory yet, not even an empty index is made.
        if !self.store().exists().unwrap_or(false) {
            return Memory::default();
        }
        let (task, scope) = (draft.question(), draft.scope.to_string());
        let question = AssembleInput { task, scope, max_tokens: Some(tokens.max(1)), rules_only: true, ..AssembleInput::default() };
        let rules = Listed { records: self.critical_rules(draft), beyond: 0 };
        let told = self.gather_then(caller, &question, |view, context| whole(view, context, draft, tokens));
        match told {
            Ok((decisions, warnings)) => Memory { rules, decisions, warnings },
            Err(_) => Memory { rules, ..Memory::default() },
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
fn whole(view: &View<'_>, context: AssembledContext, draft: &PromptDraft, tokens: usize) -> Result<(Listed, Listed), Failure> {
    let AssembledContext { active_decisions, active_warnings, omitted_count, .. } = context;
    // One that leaves nothing out tells all there is.
    let complete = omitted_count == 0;
    let scopes: Vec<Scope> = active_warnings.iter().map(|warning| Scope::read(&warning.scope)).collect();
    let mut decisions = Listed { records: active_decisions.into_iter().map(decision_told).collect(), beyond: 0 };
    let mut warnings = Listed { records: active_warnings.into_iter().map(warning_told).collect(), beyond: 0 };
    if complete {
        return Ok((decisions, warnings));
    }
    let most = tokens / TOKENS_A_LINE + 1;
    let told: HashSet<String> = decisions.records.iter().map(|record| record.id.clone()).collect();
    let mut rows = view.decisions().nearest(&draft.scope, Standing::InForce, most + told.len())?;
    let is_all = rows.len() < most + told.len();
    rows.retain(|row| !told.contains(row.id.as_str()));
    let taken: usize = decisions.records.iter().map(prompt::line_chars).sum();
    let mut room = (tokens * 4).saturating_sub(taken);
    let listed = rows.len();
    for row in rows {
        if room == 0 {
            break;
        }
        if let Some(decision) = view.decisions().get(&row.id)? {
            let is_contested = !view.decisions().contesters(&decision, contesting(decision.status), 1)?.is_empty();
            let standing = if is_contested { CONTESTED.to_owned() } else { standing(decision.status) };
            let id = decision.id.to_string();
            let further = PromptRecord { id, summary: decision.summary, detail: decision.rationale, standing };
            room = room.saturating_sub(prompt::line_chars(&further));
            decisions.records.push(further);
        }
    }
    if !is_all || decisions.records.len() < told.len() + listed {
        let known: Vec<&str> = decisions.records.iter().map(|record| record.id.as_str()).collect();
        decisions.beyond = view.decisions().count_in_force(&draft.scope, &known, prompt::COUNTED)?;
    }
    let open = EntryFilter { types: vec![EntryType::Warning.as_str().to_owned()], only_open: true, ..EntryFilter::default() };
    let page = view.entries().about_scope(&draft.scope, &open, most)?;
    let newest: HashSet<&str> = page.items.iter().map(|entry| entry.id.as_str()).collect();
    let told: HashSet<String> = warnings.records.iter().map(|record| record.id.clone()).collect();
    let older = warnings
        .records
        .iter()
        .zip(&scopes)
        .filter(|(record, scope)| !newest.contains(record.id.as_str()) && scope.overlaps(&draft.scope, view.folding()));
    warnings.beyond = page.total.saturating_sub((newest.len() + older.count()) as u64).min(prompt::COUNTED as u64);
    let further = page.items.into_iter().filter(|entry| !told.contains(&entry.id));
    warnings.records.extend(further.map(|entry| PromptRecord {
        id: entry.id,
        summary: entry.summary,
        detail: entry.detail,
        standing: String::new(),
    }));
    Ok((decisions, warnings))
}

fn decision_told(decision: ContextDecision) -> PromptRecord {
    PromptRecord {
        id: decision.id.to_string(),
        summary: decision.summary,
        detail: decision.rationale.unwrap_or_default(),
        standing: if decision.contested_by.is_empty() { standing(decision.status) } else { CONTESTED.to_owned() },
    }
}

/// How a decision stands, where that matters.
fn standing(status: Status) -> String {
    if status == Status::Active { String::new() } else { status.as_str().to_owned() }
}

fn warning_told(warning: ContextEntry) -> PromptRecord {
    PromptRecord { id: warning.id, summary: warning.summary, detail: warning.detail.unwrap_or_default(), standing: String::new() }
}
