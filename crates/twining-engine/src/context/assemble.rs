//! Assembling: gather, score, budget.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{DecisionStatus, InvalidInput, ProjectRoot, Scope, limits, text};
use twining_store::{Config, View};

use crate::answer::is_zero;
use crate::context::budget::fill;
use crate::context::gather::gather;
use crate::context::others::{ContextClaim, ContextHandoff, OtherAgents};
use crate::context::score::SignalWeights;
use crate::context::told::{ContextDecision, ContextEntry};
use crate::failure::Failure;
use crate::search::{SearchMode, SearchQuery};
use crate::words;

/// Characters of the task that the reply repeats.
const TASK_SHOWN: usize = 160;
/// Bytes of the task that are searched for.
const QUESTION_BYTES: usize = 8192;
/// What each host takes, in tokens: 10,000 characters from a hook, 2,500 and
/// 25,000 tokens from a tool.
const HOSTS: [(&str, usize); 3] = [("claude", 2500), ("codex", 2500), ("mcp", 25_000)];
/// The largest budget.
const MOST_TOKENS: usize = limits::ANSWER_BYTES / 8;

/// What an agent is about to do, in its words.
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
    /// Fit the reply to a host's cap
    #[schemars(extend("enum" = HOSTS.map(|(word, _)| word)))]
    pub host: Option<String>,
    /// Your name
    pub agent_id: Option<String>,
}

/// An entity nearby.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ContextEntity {
    /// Its name.
    pub name: String,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: String,
    /// What it hangs together with, in words.
    pub relations: Vec<String>,
}

/// A record that did not fit.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct OmittedRecord {
    /// Its id.
    pub id: String,
    /// Its line.
    pub summary: String,
    /// Where it stands, if it is a decision that is provisional or no longer in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<DecisionStatus>,
}

/// The context of a task, best first in every list.
#[derive(Clone, Debug, Serialize, JsonSchema)]
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
    /// Texts that could be found by their words alone, as their meaning is not known yet.
    #[serde(skip_serializing_if = "is_zero")]
    pub not_yet_embedded: u64,
    /// Decisions to follow.
    pub active_decisions: Vec<ContextDecision>,
    /// Needs nobody met.
    pub open_needs: Vec<ContextEntry>,
    /// What others found.
    pub recent_findings: Vec<ContextEntry>,
    /// Warnings nobody settled.
    pub active_warnings: Vec<ContextEntry>,
    /// Questions nobody answered.
    pub recent_questions: Vec<ContextEntry>,
    /// Entities nearby.
    pub related_entities: Vec<ContextEntity>,
    /// What others hold here: leave it to them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<ContextClaim>,
    /// Work that waits for you, or for anyone here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub handoffs: Vec<ContextHandoff>,
    /// What did not fit, as far as it could be named.
    pub omitted: Vec<OmittedRecord>,
    /// How many did not fit; decisions beyond those looked at are counted to a thousand.
    pub omitted_count: u64,
}

/// A task, every rule checked.
#[derive(Clone, Debug, PartialEq)]
pub struct AssembleDraft {
    pub(super) task: String,
    pub(super) scope: Scope,
    pub(super) max_tokens: usize,
    /// Only what is to be kept to: decisions and warnings.
    pub(super) rules_only: bool,
}

impl AssembleDraft {
    /// Checks every word.
    pub fn parse(input: &AssembleInput, root: &ProjectRoot, config: &Config) -> Result<Self, InvalidInput> {
        let default = usize::try_from(config.context_assembly.default_max_tokens).unwrap_or(MOST_TOKENS).clamp(1, MOST_TOKENS);
        let cap = input.host.as_deref().map(|host| words::one_of("host", host.trim(), &HOSTS)).transpose()?.unwrap_or(MOST_TOKENS);
        Ok(Self {
            task: text::required("task", &input.task)?,
            scope: Scope::parse("scope", &input.scope, root)?,
            max_tokens: words::within("max_tokens", input.max_tokens, default, MOST_TOKENS)?.min(cap),
            rules_only: false,
        })
    }

    /// The same for nothing but what is to be kept to.
    pub(crate) fn of_rules(self) -> Self {
        Self { rules_only: true, ..self }
    }

    /// Where it is to be done.
    pub(crate) fn scope(&self) -> &Scope {
        &self.scope
    }

    /// What is searched for.
    pub(crate) fn question(&self) -> String {
        words::clip(&self.task, QUESTION_BYTES)
    }
}

/// Puts together what a task needs, never over its budget.
pub(crate) fn assemble(
    view: &View<'_>,
    draft: &AssembleDraft,
    mut question: SearchQuery<'_>,
    config: &Config,
    others: OtherAgents,
) -> Result<AssembledContext, Failure> {
    let weights = SignalWeights::from(&config.context_assembly.priority_weights);
    let gathered = gather(view, draft, &mut question, &weights)?;
    let frame = AssembledContext {
        assembled_at: view.now().to_string(),
        task: words::shorten(&draft.task, TASK_SHOWN.min(draft.max_tokens / 6).max(20)),
        scope: words::shorten(draft.scope.as_str(), (draft.max_tokens / 2).max(20)),
        token_estimate: 0,
        mode: gathered.mode,
        not_yet_embedded: question.waiting,
        active_decisions: Vec::new(),
        active_warnings: Vec::new(),
        open_needs: Vec::new(),
        recent_questions: Vec::new(),
        recent_findings: Vec::new(),
        related_entities: Vec::new(),
        claims: Vec::new(),
        handoffs: Vec::new(),
        omitted: Vec::new(),
        omitted_count: 0,
    };
    Ok(fill(frame, gathered, others, draft.max_tokens, question.nearness.as_ref())?)
}
