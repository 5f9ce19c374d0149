//! Assembling: gather, score, budget.

use schemars::JsonSchema;
use serde::Serialize;
use twining_model::{Confidence, Id, Refused, Root, Scope, Status, limits, text};
use twining_store::{Config, View};

use crate::context::budget::fill;
use crate::context::gather::gather;
use crate::context::score::Weights;
use crate::failure::Failure;
use crate::words;

/// Characters of the task that the reply repeats.
const TASK_SHOWN: usize = 400;
/// The largest budget.
const MOST_TOKENS: usize = limits::ANSWER_BYTES / 8;

/// What an agent is about to do, in its words.
#[derive(Clone, Debug, Default)]
pub struct AssembleInput {
    /// What it is about to do.
    pub task: String,
    /// Where.
    pub scope: String,
    /// The budget in tokens; from the settings by default.
    pub max_tokens: Option<usize>,
    /// Who asks; the caller by default.
    pub agent_id: Option<String>,
}

/// A decision to follow.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ContextDecision {
    /// Its id.
    pub id: Id,
    /// Its choice.
    pub summary: String,
    /// Its reasons, shortened.
    pub rationale: String,
    /// How sure its author is.
    pub confidence: Confidence,
    /// Active or provisional.
    pub status: Status,
    /// Files it affects.
    pub affected_files: Vec<String>,
}

/// An entry to know of.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ContextEntry {
    /// Its id.
    pub id: String,
    /// Its line.
    pub summary: String,
    /// The rest, shortened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// What it speaks of.
    pub scope: String,
    /// When.
    pub timestamp: String,
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
pub struct Omitted {
    /// Its id.
    pub id: String,
    /// Its line.
    pub summary: String,
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
    /// What did not fit, as far as it could be named.
    pub omitted: Vec<Omitted>,
    /// How many did not fit.
    pub omitted_count: u64,
}

/// A task, every rule checked.
#[derive(Clone, Debug, PartialEq)]
pub struct AssembleDraft {
    pub(super) task: String,
    pub(super) scope: Scope,
    pub(super) max_tokens: usize,
}

impl AssembleDraft {
    /// Checks every word.
    pub fn parse(input: &AssembleInput, root: &Root, config: &Config) -> Result<Self, Refused> {
        let default = usize::try_from(config.context_assembly.default_max_tokens).unwrap_or(MOST_TOKENS).clamp(1, MOST_TOKENS);
        Ok(Self {
            task: text::required("task", &input.task)?,
            scope: Scope::parse("scope", &input.scope, root)?,
            max_tokens: words::within("max_tokens", input.max_tokens, default, MOST_TOKENS)?,
        })
    }
}

/// Puts together what a task needs, never over its budget.
pub fn assemble(view: &View<'_>, draft: &AssembleDraft, config: &Config) -> Result<AssembledContext, Failure> {
    let weights = Weights::from(&config.context_assembly.priority_weights);
    let gathered = gather(view, draft, &weights)?;
    let frame = AssembledContext {
        assembled_at: view.now().to_string(),
        task: words::shorten(&draft.task, TASK_SHOWN),
        scope: draft.scope.to_string(),
        ..AssembledContext::default()
    };
    Ok(fill(frame, gathered, draft.max_tokens)?)
}
