//! Assembling: gather, score, budget.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{
    AnchoredRecord, CaseFolding, Claim, Decision, DecisionStatus, Handoff, HandoffSnapshot, Id,
    InvalidInput, ProjectRoot, Scope, Time, limits, text,
};
use twining_store::{AgentFiles, Config, StoreError, View};

use crate::agents::{current_claims, is_mine, open_handoffs, overlapping};
use crate::anchors::{CodeNotes, CodeState, GivenPlace};
use crate::caller::Caller;
use crate::context::budget::{ContextDecision, ContextEntry, fill};
use crate::context::explain::{ExplainedOmission, SectionCost};
use crate::context::gather::gather;
use crate::context::score::SignalWeights;
use crate::context::*;
use crate::engine::Engine;
use crate::failure::Failure;
use crate::fields::{DAY_MS, is_zero};
use crate::search::{SearchMode, SearchQuery};
use crate::{context, fields};

/// Characters of the task that the reply repeats.
const TASK_SHOWN: usize = 160;
/// Bytes of the task that are searched for.
const QUESTION_BYTES: usize = 8192;
/// What each host takes, in tokens: 10,000 characters from a hook, 2,500 and
/// 25,000 tokens from a tool.
const HOSTS: [(&str, usize); 3] = [("claude", 2500), ("codex", 2500), ("mcp", 25_000)];
/// The largest budget.
const MOST_TOKENS: usize = limits::ANSWER_BYTES / 8;

/// What an agent is about to do, as it puts it.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AssembleInput {
    /// What you are about to do
    pub task: String,
    /// File, directory, module or `project`
    ///
    /// A path is relative to the project
    pub scope: String,
    /// Token budget
    pub max_tokens: Option<usize>,
    /// Fit the reply to this host's cap
    #[schemars(extend("enum" = HOSTS.map(|(word, _)| word)))]
    pub host: Option<String>,
    /// Your name
    pub agent_id: Option<String>,
    /// Explain each record
    ///
    /// Adds what each costs, and why others are left out
    #[serde(default)]
    pub explain: bool,
}

/// An entity nearby.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ContextEntity {
    /// Its name.
    pub name: String,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its relations, as text.
    pub relations: Vec<String>,
    /// Its tokens, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

/// A record that did not fit.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct OmittedRecord {
    /// Its id.
    pub id: String,
    /// Its summary.
    pub summary: String,
    /// Its status, if it is a decision that is provisional or no longer in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<DecisionStatus>,
    /// How its code is, if that is why only this line is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<CodeState>,
    /// Why it is left out, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explained: Option<ExplainedOmission>,
}

/// The context of a task, best first in every list.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct AssembledContext {
    /// When.
    pub assembled_at: String,
    /// For what.
    pub task: String,
    /// Where.
    pub scope: String,
    /// Tokens of this reply, four characters each.
    pub token_estimate: u64,
    /// How it was searched.
    pub mode: SearchMode,
    /// Texts not embedded yet, found by keyword only.
    #[serde(skip_serializing_if = "is_zero")]
    pub not_yet_embedded: u64,
    /// Decisions to follow.
    pub active_decisions: Vec<ContextDecision>,
    /// Unmet needs.
    pub open_needs: Vec<ContextEntry>,
    /// What others found.
    pub recent_findings: Vec<ContextEntry>,
    /// Unresolved warnings.
    pub active_warnings: Vec<ContextEntry>,
    /// Unanswered questions.
    pub recent_questions: Vec<ContextEntry>,
    /// Entities nearby.
    pub related_entities: Vec<ContextEntity>,
    /// Your decisions here that a person overrode lately: no longer follow them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub overridden: Vec<ContextOverride>,
    /// Others' claims here: leave these alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<ContextClaim>,
    /// Open handoffs to you, or to anyone here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub handoffs: Vec<ContextHandoff>,
    /// What did not fit, as far as it could be listed.
    pub omitted: Vec<OmittedRecord>,
    /// How many did not fit; decisions that were not examined count up to 1000.
    pub omitted_count: u64,
    /// What each list costs, if that was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sections: Vec<SectionCost>,
}

/// A task, every rule checked.
#[derive(Clone, Debug, PartialEq)]
pub struct AssembleDraft {
    pub(super) task: String,
    pub(super) scope: Scope,
    pub(super) max_tokens: usize,
    pub(super) explain: bool,
}

impl AssembleDraft {
    /// Checks every word.
    pub fn parse(
        input: &AssembleInput,
        root: &ProjectRoot,
        config: &Config,
    ) -> Result<Self, InvalidInput> {
        let default = usize::try_from(config.context_assembly.default_max_tokens)
            .unwrap_or(MOST_TOKENS)
            .clamp(1, MOST_TOKENS);
        let cap = input
            .host
            .as_deref()
            .map(|host| fields::one_of("host", host.trim(), &HOSTS))
            .transpose()?
            .unwrap_or(MOST_TOKENS);
        Ok(Self {
            task: text::required("task", &input.task)?,
            scope: Scope::parse("scope", GivenPlace::read(&input.scope).path, root)?,
            max_tokens: fields::within("max_tokens", input.max_tokens, default, MOST_TOKENS)?
                .min(cap),
            explain: input.explain,
        })
    }

    /// Where it is to be done.
    pub(crate) fn scope(&self) -> &Scope {
        &self.scope
    }

    /// What is searched for.
    pub(crate) fn question(&self) -> String {
        fields::clip(&self.task, QUESTION_BYTES)
    }
}

/// Puts together what a task needs, never over its budget.
pub(crate) fn assemble(
    view: &View<'_>,
    draft: &AssembleDraft,
    mut question: SearchQuery<'_>,
    config: &Config,
    mut others: OtherAgents,
    notes: &dyn Fn(&[AnchoredRecord]) -> Result<CodeNotes, Failure>,
) -> Result<AssembledContext, Failure> {
    others.find_overridden(view, &draft.scope)?;
    let weights = SignalWeights::from(&config.context_assembly.priority_weights);
    let gathered = gather(view, draft, &mut question, &weights, notes)?;
    let frame = AssembledContext {
        assembled_at: view.now().to_string(),
        task: fields::shorten(&draft.task, TASK_SHOWN.min(draft.max_tokens / 6).max(20)),
        scope: fields::shorten(draft.scope.as_str(), (draft.max_tokens / 2).max(20)),
        mode: gathered.mode,
        not_yet_embedded: question.waiting,
        ..AssembledContext::default()
    };
    Ok(fill(frame, gathered, others, draft, question.nearness.as_ref())?)
}

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
    pub fn assemble(
        &self,
        caller: &Caller,
        input: &AssembleInput,
    ) -> Result<AssembledContext, Failure> {
        self.assemble_for(caller, input, SearchBasis::Meaning)
    }

    /// The same by words alone, for a short-lived process that a tool call waits for.
    pub fn assemble_by_words(
        &self,
        caller: &Caller,
        input: &AssembleInput,
    ) -> Result<AssembledContext, Failure> {
        self.assemble_for(caller, input, SearchBasis::Words)
    }

    fn assemble_for(
        &self,
        caller: &Caller,
        input: &AssembleInput,
        by: SearchBasis,
    ) -> Result<AssembledContext, Failure> {
        let caller = caller.called(input.agent_id.as_deref())?;
        let context = self.gather(&caller, input, by)?;
        self.remember_assembly(caller.agent);
        Ok(context)
    }

    /// What goes with a handoff: a context by words, for nobody in particular to have read.
    pub(crate) fn snapshot(
        &self,
        caller: &Caller,
        task: String,
        scope: String,
        tokens: Option<usize>,
    ) -> Result<HandoffSnapshot, Failure> {
        let max_tokens = Some(tokens.unwrap_or(SNAPSHOT_TOKENS));
        let asked = AssembleInput { task, scope, max_tokens, ..AssembleInput::default() };
        Ok(snapshot(&self.gather(caller, &asked, SearchBasis::Words)?))
    }

    fn gather(
        &self,
        caller: &Caller,
        input: &AssembleInput,
        by: SearchBasis,
    ) -> Result<AssembledContext, Failure> {
        let config = self.store().config()?;
        let draft = AssembleDraft::parse(input, self.store().root(), &config)?;
        let text = draft.question();
        self.search_on_new_index()?;
        // Who works here is worth knowing and no reason to know nothing else.
        let others = self.store().documents().agents().ok();
        let others = others.as_ref().map(|agent_files| {
            OtherAgents::of(
                agent_files,
                draft.scope(),
                caller,
                self.store().folding(),
                self.store().ids().now(),
            )
        });
        let (known, waiting) =
            if by == SearchBasis::Meaning { self.loaded_index()? } else { (None, 0) };
        std::thread::scope(|scope| {
            let mut question = SearchQuery::of_task(&text).with_waiting(waiting);
            if let Some(known) = known {
                let (model, text) = (known.model, &text);
                let vector = scope.spawn(move || model.embed(text));
                question =
                    question.meanwhile(move || vector.join().ok().map(|vector| known.to(&vector)));
            }
            self.store().view(|view| {
                let notes = |records: &[AnchoredRecord]| self.code_notes(view, records);
                let others = others.unwrap_or_default();
                context::assemble(view, &draft, question, &config, others, &notes)
            })
        })
    }

    /// Sums a scope up.
    pub fn summarize(&self, input: &SummarizeInput) -> Result<ScopeSummary, Failure> {
        let scope = input.scope(self.store().root())?;
        self.store().view(|view| context::summarize(view, &scope))
    }

    /// Finds what changed since a moment.
    pub fn what_changed(&self, input: &WhatChangedInput) -> Result<WhatChangedOutcome, Failure> {
        self.store().view(|view| context::what_changed(view, input, self.store().root()))
    }

    /// Finds what the memory has that a branch did not begin with.
    pub fn changed_from_base(
        &self,
        input: &WhatChangedInput,
        base: &BaseRecords,
    ) -> Result<WhatChangedOutcome, Failure> {
        self.store().view(|view| context::changed_from_base(view, input, self.store().root(), base))
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
    let entries =
        |list: &[ContextEntry]| list.iter().map(|entry| entry.id.clone()).collect::<Vec<_>>();
    let decisions =
        context.active_decisions.iter().map(|decision| format!("decision: {}", decision.summary));
    let warnings =
        context.active_warnings.iter().map(|entry| format!("warning: {}", entry.summary));
    let open = context.open_needs.iter().map(|entry| format!("need: {}", entry.summary));
    let asked = context.recent_questions.iter().map(|entry| format!("question: {}", entry.summary));
    let found = context.recent_findings.iter().map(|entry| format!("finding: {}", entry.summary));
    HandoffSnapshot {
        decision_ids: context
            .active_decisions
            .iter()
            .map(|decision| decision.id.to_string())
            .collect(),
        warning_ids: entries(&context.active_warnings),
        finding_ids: entries(&context.recent_findings),
        open_ids: [entries(&context.open_needs), entries(&context.recent_questions)].concat(),
        summaries: warnings
            .chain(decisions)
            .chain(open)
            .chain(asked)
            .chain(found)
            .take(SNAPSHOT_LINES)
            .collect(),
    }
}

/// Maximum number of claims and handoffs included.
const MAX_ACTIVITY: usize = 5;
/// How long an agent is told that its decision was overridden, and how many such are examined.
const OVERRIDE_DAYS: i64 = 7;
const OVERRIDES_EXAMINED: usize = 20;
/// Paths of a claim, and characters of what it is for.
const PATHS: usize = 5;
const LINE: usize = 120;

/// A claim of another agent.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ContextClaim {
    /// Who claimed it.
    pub agent_id: String,
    /// Files and directories.
    pub paths: Vec<String>,
    /// The feature it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feature: Option<String>,
    /// Until when.
    pub until: String,
    /// What for.
    pub reason: String,
    /// Its tokens, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

/// A decision of the caller that a person overrode.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ContextOverride {
    /// Its id.
    pub id: Id,
    /// Its choice.
    pub summary: String,
    /// Who overrode it.
    pub by: String,
    /// Why.
    pub reason: String,
    /// Its replacement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
    /// Its tokens, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

/// A handoff that is still open.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ContextHandoff {
    /// Its id, for twining_acknowledge.
    pub id: String,
    /// Who hands over.
    pub source_agent: String,
    /// To whom; to anyone if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_agent: Option<String>,
    /// One line.
    pub summary: String,
    /// Its tokens, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

/// What others do that bears on a task.
#[derive(Clone, Debug, Default)]
pub(crate) struct OtherAgents {
    /// Who asks.
    caller: String,
    pub(super) overridden: Vec<ContextOverride>,
    pub(super) claims: Vec<ContextClaim>,
    pub(super) handoffs: Vec<ContextHandoff>,
}

impl OtherAgents {
    /// What others hold in this scope, and what waits for the caller: handed to
    /// it by name, or to anyone here.
    pub(crate) fn of(
        agent_files: &AgentFiles,
        scope: &Scope,
        caller: &Caller,
        folding: CaseFolding,
        now: Time,
    ) -> Self {
        let held =
            current_claims(agent_files, now).into_iter().filter(|claim| !is_mine(claim, caller));
        let here = |claim: &Claim| overlapping(claim, scope, folding).is_some();
        let waits = |handoff: &Handoff| match handoff.target_agent.as_deref() {
            Some(target) => target == caller.agent,
            None => {
                let about = Scope::read(handoff.scope.as_deref().unwrap_or("project"));
                handoff.source_agent != caller.agent && about.overlaps(scope, folding)
            }
        };
        let handoffs = open_handoffs(agent_files, MAX_ACTIVITY, waits).unwrap_or_default();
        Self {
            caller: caller.agent.clone(),
            overridden: Vec::new(),
            claims: held.filter(here).take(MAX_ACTIVITY).map(context_claim).collect(),
            handoffs: handoffs
                .into_iter()
                .map(|handoff| ContextHandoff {
                    id: handoff.id,
                    source_agent: fields::shorten(&handoff.source_agent, LINE),
                    target_agent: handoff.target_agent.map(|name| fields::shorten(&name, LINE)),
                    summary: fields::shorten(&handoff.summary, LINE),
                    tokens: None,
                })
                .collect(),
        }
    }
}

impl OtherAgents {
    /// Finds the caller's decisions in this scope that a person overrode lately.
    fn find_overridden(&mut self, view: &View<'_>, scope: &Scope) -> Result<(), StoreError> {
        let since = fields::earlier(view.now(), OVERRIDE_DAYS * DAY_MS);
        let lately = view.decisions().rejected_since(since, OVERRIDES_EXAMINED)?;
        let own = lately.into_iter().filter(|decision| {
            decision.agent_id == self.caller
                && Scope::read(&decision.scope).overlaps(scope, view.folding())
        });
        let listed = |decision: Decision| ContextOverride {
            id: decision.id,
            summary: fields::shorten(&decision.summary, LINE),
            by: fields::shorten(&decision.overridden_by.unwrap_or_default(), LINE),
            reason: fields::shorten(&decision.override_reason.unwrap_or_default(), LINE),
            superseded_by: decision.superseded_by,
            tokens: None,
        };
        self.overridden = own.take(MAX_ACTIVITY).map(listed).collect();
        Ok(())
    }
}

fn context_claim(claim: Claim) -> ContextClaim {
    ContextClaim {
        agent_id: fields::shorten(&claim.agent_id, LINE),
        paths: claim.paths.iter().take(PATHS).map(|path| fields::shorten(path, LINE)).collect(),
        feature: claim.feature.map(|feature| fields::shorten(&feature, LINE)),
        until: claim.until,
        reason: fields::shorten(&claim.reason, LINE),
        tokens: None,
    }
}
