//! The memory's part of a prompt: decisions, warnings and rules fill what policy and turns leave.

use twining_model::{AnchoredRecord, DecisionStatus, EntryType, Id, Scope};
use twining_store::{DecisionState, EntryFilter, View};

use crate::anchors::CodeState;
use crate::decisions::contesting;
use crate::engine::Engine;
use crate::failure::Failure;
use crate::governance::prompt::builder::{PromptDraft, PromptMemory, RecordLine, RecordList};
use crate::governance::prompt::{self, PromptBudget};
use crate::governance::{Prompt, PromptInput, PromptRecord, UserPolicy, turns};
use crate::knowledge::RuleFact;

/// Status of a decision that others in force contradict.
const CONTESTED: &str = "contested";
/// Rivals of a decision that are looked at.
const RIVALS: usize = 3;
/// Tokens of a short line about a record.
const TOKENS_A_LINE: usize = 20;

impl Engine {
    /// Writes a prompt for an agent in a role.
    pub fn prompt(&self, user: &UserPolicy, input: &PromptInput) -> Result<Prompt, Failure> {
        let policy = self.policy(user);
        let draft = PromptDraft::parse(input, &policy, self.store().root())?;
        let turns = self.store().documents().turns();
        let earlier = turns
            .map(|turn_files| turns::before(&turn_files, &draft.key, prompt::RECENT_TURNS))
            .unwrap_or_default();
        let builder = prompt::begin(&policy, &draft, &earlier)?;
        let memory = self.memory_for(&draft, builder.budget());
        Ok(builder.finish(memory))
    }

    /// Records from the other modules for a prompt. A failing one contributes nothing: half a
    /// prompt is better than none.
    fn memory_for(&self, draft: &PromptDraft, budget: PromptBudget) -> PromptMemory {
        // A hook waits for this: where there is no memory yet, not even an empty index is made.
        if !self.store().exists().unwrap_or(false) {
            return PromptMemory::default();
        }
        let rules = RecordList::all(self.critical_rules(draft));
        let decided = |memory: &PromptMemory| {
            memory.decisions.lines.iter().filter_map(|line| Id::read(&line.record.id)).collect()
        };
        let gathered = |view: &View<'_>| {
            let (decisions, warnings) = self.in_scope(view, draft, budget)?;
            let mut memory = PromptMemory::default();
            let left_out = &mut memory.omitted;
            memory.decisions =
                self.label_lines(view, decisions, AnchoredRecord::Decision, left_out)?;
            memory.warnings = self.label_lines(view, warnings, AnchoredRecord::Entry, left_out)?;
            Ok::<_, Failure>(memory)
        };
        // At a glance, because a hook waits.
        let memory = self.store().view_without_scan(gathered, decided).unwrap_or_default();
        PromptMemory { rules, ..memory }
    }

    /// Says of each line how its code is, if that changed. What is gone, or on another branch, is
    /// no statement: it is left out, with a line that says so.
    fn label_lines(
        &self,
        view: &View<'_>,
        list: RecordList,
        anchored: fn(String) -> AnchoredRecord,
        left_out: &mut RecordList,
    ) -> Result<RecordList, Failure> {
        let record = |line: &RecordLine| anchored(line.record.id.clone());
        let mut notes =
            self.notable_code(view, &list.lines.iter().map(record).collect::<Vec<_>>())?;
        let mut lines = Vec::with_capacity(list.lines.len());
        for line in list.lines {
            let note = notes.remove(&record(&line));
            match note.filter(|note| note.state >= CodeState::Drifted) {
                None => lines.push(line),
                Some(note) => {
                    let is_one_line = note.state.is_one_line();
                    let mut record = PromptRecord { code: Some(note), ..line.record };
                    if is_one_line {
                        record.detail.clear();
                        left_out.lines.push(RecordLine::of(record));
                    } else {
                        lines.push(RecordLine::of(record));
                    }
                }
            }
        }
        Ok(RecordList { lines, ..list })
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
            code: None,
        };
        if draft.scope == Scope::project() {
            return facts.critical_rules.iter().map(rule).collect();
        }
        facts.rules_for(draft.scope.as_str().trim_end_matches('/')).map(rule).collect()
    }

    /// The decisions in force in the scope, nearest first, and its open warnings, newest first, as
    /// far as their lines may fit. What is beyond is counted.
    fn in_scope(
        &self,
        view: &View<'_>,
        draft: &PromptDraft,
        budget: PromptBudget,
    ) -> Result<(RecordList, RecordList), Failure> {
        let (scope, most) = (&draft.scope, budget.tokens / TOKENS_A_LINE + 1);
        let open = EntryFilter {
            types: vec![EntryType::Warning.as_str().to_owned()],
            only_open: true,
            ..EntryFilter::default()
        };
        let (mut decisions, mut warnings) = (RecordList::default(), RecordList::default());
        for row in view.decisions().nearest(scope, DecisionState::InForce, most)? {
            if decisions.chars() >= budget.chars {
                break;
            }
            let Some(decision) = view.decisions().get(&row.id)? else { continue };
            let rivals =
                view.decisions().contesters(&decision, contesting(decision.status), RIVALS)?;
            let elsewhere = self.decisions_elsewhere(view, rivals.iter().cloned())?;
            let standing = match decision.status {
                _ if rivals.iter().any(|rival| !elsewhere.contains(rival)) => CONTESTED,
                DecisionStatus::Active => "",
                status => status.as_str(),
            };
            decisions.lines.push(RecordLine::of(PromptRecord {
                id: decision.id.to_string(),
                summary: decision.summary,
                detail: decision.rationale,
                standing: standing.to_owned(),
                code: None,
            }));
        }
        for row in view.entries().rows_about(scope, &open, most)? {
            if warnings.chars() >= budget.chars {
                break;
            }
            let warning = view.entries().at_row(row)?;
            warnings.lines.push(RecordLine::of(PromptRecord {
                id: warning.id,
                summary: warning.summary,
                detail: warning.detail,
                standing: String::new(),
                code: None,
            }));
        }
        let known: Vec<&str> = decisions.lines.iter().map(|line| line.record.id.as_str()).collect();
        decisions.beyond = view.decisions().count_in_force(scope, &known, prompt::COUNTED)?;
        let all = view.entries().count_about(scope, &open)?;
        warnings.beyond =
            all.saturating_sub(warnings.lines.len() as u64).min(prompt::COUNTED as u64);
        Ok((decisions, warnings))
    }
}
