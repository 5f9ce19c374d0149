//! Prompts: what an agent in a role should have in front of it, as Markdown and
//! as fields, inside a budget that grows with the task.
//!
//! Built in two steps, because what the memory may fill is what policy and turns
//! leave: [`begin`] writes those, [`Sheet::room`] says how much is left, and
//! [`Sheet::finish`] takes decisions, warnings and rules from outside. Whatever
//! is missing is left out without a word; stored text is put on one line and made
//! visible, so none of it can pass for a heading of ours.

mod memory;
mod render;
mod sheet;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{ProjectRoot, Scope, Turn, TurnKey};

use crate::failure::Failure;
use crate::governance::gates::{self, GateProfile, Task};
use crate::governance::modes::{self, ModeAdvice};
use crate::governance::policy::{GovernancePolicy, Mistake};
use crate::governance::roles;
use crate::governance::turns;
use crate::words;

pub(crate) use sheet::{PromptBudget, PromptBuilder};

/// Records beyond those that could be told that are counted, of each kind: to an
/// agent, more than these are just many.
pub(crate) const COUNTED: usize = 1000;
/// Earlier turns that a prompt tells of, the last one at length.
pub(crate) const TURNS_TOLD: usize = 5;
/// Taken where nobody said how hard a task is: the middle.
const COMPLEXITY: i64 = 5;

/// For whom and what, in the caller's words.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptInput {
    /// coach, player, or one the project defines
    pub role: String,
    /// The task's id
    pub task: String,
    /// The feature's id; default: from the task's
    pub feature: Option<String>,
    /// feature (default), testing, documentation, scaffolding, or the project's own
    pub task_type: Option<String>,
    /// 1 to 10; default 5
    pub complexity: Option<i64>,
    /// The turn that begins, from 1
    pub turn: Option<u64>,
    /// File, directory, module or `project` (default)
    ///
    /// A path is relative to the project
    pub scope: Option<String>,
}

/// What a role must do and must not.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PromptRole {
    /// `ROLE-{role}`.
    pub id: String,
    /// What it must do.
    pub must_do: Vec<String>,
    /// What it must not do.
    pub must_not_do: Vec<String>,
    /// What it asks about first.
    pub ask_before: Vec<String>,
    /// When it hands the matter to a person.
    pub escalate_when: Vec<String>,
}

/// A record from the memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PromptRecord {
    /// Its id.
    pub id: String,
    /// What it says.
    pub summary: String,
    /// Why, or more of it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// How it stands, where that matters: `provisional`, `critical`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub standing: String,
}

/// What the rest of the memory gives to a prompt.
#[derive(Clone, Debug, Default)]
pub(crate) struct PromptMemory {
    /// Rules of the reviewed knowledge that must not be broken.
    pub(crate) rules: RecordList,
    /// Decisions in scope, best first.
    pub(crate) decisions: RecordList,
    /// Open warnings in scope, best first.
    pub(crate) warnings: RecordList,
}

/// Records of a kind, and how many more there are, counted up to [`COUNTED`].
#[derive(Clone, Debug, Default)]
pub(crate) struct RecordList {
    pub(crate) lines: Vec<RecordLine>,
    pub(crate) beyond: u64,
}

impl RecordList {
    /// All there are.
    pub(crate) fn all(records: impl IntoIterator<Item = PromptRecord>) -> Self {
        Self { lines: records.into_iter().map(RecordLine::of).collect(), beyond: 0 }
    }
}

/// A record and the line that tells of it.
#[derive(Clone, Debug)]
pub(crate) struct RecordLine {
    pub(crate) record: PromptRecord,
    text: String,
    pub(crate) chars: usize,
}

impl RecordLine {
    /// Puts it into words.
    pub(crate) fn of(record: PromptRecord) -> Self {
        let text = render::line(&record);
        Self { record, chars: text.chars().count(), text }
    }
}

/// A prompt, as text and as fields.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Prompt {
    /// For which role.
    pub role: String,
    /// The turn it is for: `TURN-{feature}-{task}-T{n}`.
    pub turn_id: String,
    /// Markdown, ready to be put before a model.
    pub text: String,
    /// Tokens of the text, four characters each.
    pub token_estimate: u64,
    /// How many it may have.
    pub token_budget: u64,
    /// What holds for the role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role_constraints: Option<PromptRole>,
    /// What the task must clear.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gates: Option<GateProfile>,
    /// The turn before, shortened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_turn: Option<Turn>,
    /// Which mode fits; advice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<ModeAdvice>,
    /// Rules that must not be broken.
    pub rules: Vec<PromptRecord>,
    /// Decisions to follow.
    pub decisions: Vec<PromptRecord>,
    /// Warnings nobody settled.
    pub warnings: Vec<PromptRecord>,
    /// Records that did not fit; of each kind, at most a thousand and those that were looked at are counted.
    pub omitted_count: u64,
    /// What was taken for something else.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What is wrong with the policy files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mistakes: Vec<Mistake>,
}

/// For whom and what, every rule checked.
#[derive(Clone, Debug)]
pub(crate) struct PromptDraft {
    role: String,
    pub(crate) key: TurnKey,
    task: Task,
    pub(crate) scope: Scope,
}

impl PromptDraft {
    /// Checks every word.
    pub(crate) fn parse(input: &PromptInput, policy: &GovernancePolicy, root: &ProjectRoot) -> Result<Self, Failure> {
        Ok(Self {
            role: roles::role(policy, &input.role)?.role,
            key: turns::key(input.feature.as_deref(), &input.task, input.turn.unwrap_or(1))?,
            task: gates::task(policy, input.task_type.as_deref().unwrap_or("feature"), input.complexity.unwrap_or(COMPLEXITY))?,
            scope: words::scope_or_project(input.scope.as_deref(), root)?,
        })
    }

    /// What the memory is asked for.
    pub(crate) fn question(&self) -> String {
        format!("{} {} {}", self.key.task, self.key.feature, self.task.task_type)
    }
}

/// Tokens a prompt may have: simple tasks need little, and get little.
pub(crate) fn budget(complexity: u8) -> usize {
    match complexity {
        ..=3 => 2_000,
        4..=6 => 4_000,
        7.. => 6_000,
    }
}

/// Writes what policy and earlier turns (newest first) have to say.
pub(crate) fn begin(policy: &GovernancePolicy, draft: &PromptDraft, earlier: &[Turn]) -> Result<PromptBuilder, Failure> {
    let mut task = draft.task.clone();
    let role = roles::role(policy, &draft.role)?;
    let profile = gates::profile(policy, &mut task);
    let mode = modes::fitting(policy, task.complexity);
    let tokens = budget(task.complexity);
    let mut builder = PromptBuilder::new(tokens);
    builder.prompt.role.clone_from(&role.role);
    builder.prompt.turn_id = draft.key.id();
    if !role.is_empty() {
        builder.write(&render::role(&role, tokens));
        let (must_do, must_not_do) = (role.must_do, role.must_not_do);
        let (ask_before, escalate_when) = (role.ask_before, role.escalate_when);
        builder.prompt.role_constraints = Some(PromptRole { id: role.id, must_do, must_not_do, ask_before, escalate_when });
    }
    builder.write(&render::gates(&profile, task.complexity));
    builder.prompt.gates = Some(profile);
    if let Some((last, older)) = earlier.split_first() {
        let last = render::shortened(last, tokens);
        if builder.write(&render::previous(&last, draft.key.number, older, tokens)) {
            builder.prompt.previous_turn = Some(last);
        }
    }
    if let Some(mode) = mode
        && builder.write(&render::mode(&mode))
    {
        builder.prompt.mode = Some(mode);
    }
    builder.prompt.notes = task.notes;
    builder.prompt.mistakes.clone_from(&policy.mistakes);
    Ok(builder)
}
