//! What the memory tells in a prompt: decisions, warnings and rules fill what policy
//! and turns leave.

use std::collections::HashSet;

use twining_model::{Decision, Entry, EntryType, Id, Scope, Status};
use twining_store::{Affecting, EntryFilter, Row, Standing, View};

use crate::context::{AssembleInput, AssembledContext, ContextDecision, ContextEntry};
use crate::decisions::contesting;
use crate::engine::Engine;
use crate::failure::Failure;
use crate::governance::prompt::{self, Line, Listed, Memory, PromptDraft, Room};
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
        let earlier = turns.map(|shelf| turns::before(&shelf, &draft.key, prompt::TURNS_TOLD)).unwrap_or_default();
        let sheet = prompt::begin(&policy, &draft, &earlier)?;
        let memory = self.memory_for(&draft, sheet.room());
        Ok(sheet.finish(memory))
    }

    /// What the other rooms know for a prompt. One that cannot be asked gives
    /// nothing: an agent with half a prompt is better off than one with none.
    fn memory_for(&self, draft: &PromptDraft, room: Room) -> Memory {
        // A hook waits for this: where there is no memory yet, not even an empty index is made.
        if !self.store().exists().unwrap_or(false) {
            return Memory::default();
        }
        let (task, scope) = (draft.question(), draft.scope.to_string());
        let question = AssembleInput { task, scope, max_tokens: Some(room.tokens.max(1)), ..AssembleInput::default() };
        let rules = Listed::all(self.critical_rules(draft));
        let decided = |(decisions, _): &(Listed, Listed)| decisions.lines.iter().filter_map(|line| Id::read(&line.record.id)).collect();
        match self.gather_rules(&question, |view, context| whole(view, context, draft, room), decided) {
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
fn whole(view: &View<'_>, context: AssembledContext, draft: &PromptDraft, room: Room) -> Result<(Listed, Listed), Failure> {
    let AssembledContext { active_decisions, active_warnings, omitted_count, .. } = context;
    let scopes: Vec<Scope> = active_warnings.iter().map(|warning| Scope::read(&warning.scope)).collect();
    let mut decisions = Filling::of(Listed::all(active_decisions.into_iter().map(decision_told)));
    let mut warnings = Filling::of(Listed::all(active_warnings.into_iter().map(warning_told)));
    // A context that leaves nothing out tells all there is.
    if omitted_count == 0 {
        return Ok((decisions.listed, warnings.listed));
    }
    let most = room.tokens / TOKENS_A_LINE + 1;
    let open = EntryFilter { types: vec![EntryType::Warning.as_str().to_owned()], only_open: true, ..EntryFilter::default() };
    let newest = |told: usize| Ok(view.entries().rows_about(&draft.scope, &open, most + told)?);
    let warning = |row: Row, _: &HashSet<String>| Ok(Some(warning_listed(view.entries().at_row(row)?)));
    let nearest = |told: usize| Ok(view.decisions().nearest(&draft.scope, Standing::InForce, most + told)?);
    let decision = |row: Affecting, told: &HashSet<String>| {
        let unknown = !told.contains(row.id.as_str());
        let Some(decision) = unknown.then(|| view.decisions().get(&row.id)).transpose()?.flatten() else { return Ok(None) };
        let is_contested = !view.decisions().contesters(&decision, contesting(decision.status), 1)?.is_empty();
        Ok(Some(decision_listed(decision, is_contested)))
    };
    // Only what may be told is read: the warnings that have their share in any case,
    // then the decisions that fit beside them, then what those leave to the warnings.
    warnings.fill(room.share, newest, warning)?;
    decisions.fill(room.chars - warnings.chars.min(room.share), nearest, decision)?;
    warnings.fill(room.chars.saturating_sub(decisions.chars), newest, warning)?;

    let known: Vec<&str> = decisions.listed.lines.iter().map(|line| line.record.id.as_str()).collect();
    decisions.listed.beyond = view.decisions().count_in_force(&draft.scope, &known, prompt::COUNTED)?;
    let elsewhere = scopes.iter().filter(|scope| !scope.overlaps(&draft.scope, view.folding())).count();
    let here = (warnings.listed.lines.len() - elsewhere) as u64;
    let all = view.entries().count_about(&draft.scope, &open)?;
    warnings.listed.beyond = all.saturating_sub(here).min(prompt::COUNTED as u64);
    Ok((decisions.listed, warnings.listed))
}

/// Records of a kind, and where there may be more of them.
struct Filling<R> {
    listed: Listed,
    /// How much their lines take.
    chars: usize,
    told: HashSet<String>,
    waiting: Option<std::vec::IntoIter<R>>,
}

impl<R> Filling<R> {
    /// Begins with these.
    fn of(listed: Listed) -> Self {
        let chars = listed.lines.iter().map(|line| line.chars).sum();
        let told = listed.lines.iter().map(|line| line.record.id.clone()).collect();
        Self { listed, chars, told, waiting: None }
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
            none => none.insert(ask(self.told.len())?.into_iter()),
        };
        for row in waiting {
            if let Some(record) = read(row, &self.told)?.filter(|record| !self.told.contains(&record.id)) {
                let line = Line::of(record);
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

fn decision_told(decision: ContextDecision) -> PromptRecord {
    PromptRecord {
        id: decision.id.to_string(),
        summary: decision.summary,
        detail: decision.rationale.unwrap_or_default(),
        standing: if decision.contested_by.is_empty() { standing(decision.status) } else { CONTESTED.to_owned() },
    }
}

fn decision_listed(decision: Decision, is_contested: bool) -> PromptRecord {
    let standing = if is_contested { CONTESTED.to_owned() } else { standing(decision.status) };
    PromptRecord { id: decision.id.to_string(), summary: decision.summary, detail: decision.rationale, standing }
}

/// How a decision stands, where that matters.
fn standing(status: Status) -> String {
    if status == Status::Active { String::new() } else { status.as_str().to_owned() }
}

fn warning_told(warning: ContextEntry) -> PromptRecord {
    PromptRecord { id: warning.id, summary: warning.summary, detail: warning.detail.unwrap_or_default(), standing: String::new() }
}

fn warning_listed(warning: Entry) -> PromptRecord {
    PromptRecord { id: warning.id, summary: warning.summary, detail: warning.detail, standing: String::new() }
}
