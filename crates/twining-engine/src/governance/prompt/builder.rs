//! A sheet of so many tokens: what does not fit is not written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{ProjectRoot, Scope, Turn, TurnKey};

use crate::anchors::CodeNote;
use crate::failure::Failure;
use crate::fields;
use crate::governance::gates::{GateProfile, Task};
use crate::governance::modes::ModeAdvice;
use crate::governance::policy::{GovernancePolicy, Mistake};
use crate::governance::{gates, modes, roles, turns};

/// Characters to a token.
const CHARS: usize = 4;
/// One part in so many is kept for each kind that comes later.
const SHARE: usize = 4;

/// What the memory may fill.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PromptBudget {
    /// Tokens.
    pub(crate) tokens: usize,
    /// Characters.
    pub(crate) chars: usize,
    /// Characters that decisions and warnings have in any case, each of them.
    pub(crate) share: usize,
}

/// A prompt that is being written.
#[derive(Debug)]
pub(crate) struct PromptBuilder {
    pub(super) prompt: Prompt,
    /// Characters that still fit.
    left: usize,
}

impl PromptBuilder {
    /// An empty sheet.
    pub(super) fn new(tokens: usize) -> Self {
        Self {
            prompt: Prompt { token_budget: tokens as u64, ..Prompt::default() },
            left: tokens * CHARS,
        }
    }

    /// How much is still free.
    pub(crate) fn budget(&self) -> PromptBudget {
        PromptBudget { tokens: self.left / CHARS, chars: self.left, share: self.left / SHARE }
    }

    /// Writes a section if it fits whole; whether it did.
    pub(super) fn write(&mut self, section: &str) -> bool {
        if section.is_empty() {
            return true;
        }
        let gap = if self.prompt.text.is_empty() { "" } else { "\n" };
        let chars = section.chars().count() + gap.len();
        if chars > self.left {
            return false;
        }
        self.left -= chars;
        self.prompt.text.push_str(gap);
        self.prompt.text.push_str(section);
        true
    }

    /// Fills what is left from the memory, rules first. A share of it is kept
    /// for each kind that comes later, if it needs that much, so that many rules
    /// hide neither decisions nor warnings.
    pub(crate) fn finish(mut self, memory: PromptMemory) -> Prompt {
        let PromptMemory { rules, decisions, warnings, omitted } = memory;
        let share = self.budget().share;
        let [rules, decisions, warnings, omitted] =
            [(RULES, rules), (DECISIONS, decisions), (WARNINGS, warnings), (OMITTED, omitted)]
                .map(|(kind, listed)| SectionLines { kind, listed });
        let reserved_for = |lines: &SectionLines| lines.section(share).1.chars().count() + 1;
        let behind_decisions = reserved_for(&warnings);
        let behind_rules = reserved_for(&decisions) + behind_decisions;
        self.prompt.rules = self.list(rules, behind_rules);
        self.prompt.decisions = self.list(decisions, behind_decisions);
        self.prompt.warnings = self.list(warnings, 0);
        self.prompt.omitted = self.list(omitted, 0);
        self.prompt.token_estimate = self.prompt.text.chars().count().div_ceil(CHARS) as u64;
        self.prompt
    }

    /// Writes records of a kind, as many as fit with `kept` characters left for others.
    fn list(&mut self, lines: SectionLines, reserved: usize) -> Vec<PromptRecord> {
        let (shown_count, section) = lines.section(self.left.saturating_sub(reserved + 1));
        let shown_count = if self.write(&section) { shown_count } else { 0 };
        self.prompt.omitted_count += lines.more(shown_count);
        lines.listed.lines.into_iter().take(shown_count).map(|line| line.record).collect()
    }
}

/// A record kind: its heading, and the tool for the rest.
struct PromptSection {
    heading: &'static str,
    tool: &'static str,
}

const RULES: PromptSection =
    PromptSection { heading: "Rules that must not be broken", tool: "twining_knowledge_retrieve" };
const DECISIONS: PromptSection =
    PromptSection { heading: "Decisions to follow", tool: "twining_why" };
const WARNINGS: PromptSection = PromptSection { heading: "Open warnings", tool: "twining_read" };
const OMITTED: PromptSection = PromptSection {
    heading: "Left out: their code is gone, or on another branch",
    tool: "twining_why",
};

/// Records of a kind.
struct SectionLines {
    kind: PromptSection,
    listed: RecordList,
}

impl SectionLines {
    /// How many are left out if `shown_count` are shown.
    fn more(&self, shown_count: usize) -> u64 {
        (self.listed.lines.len() - shown_count) as u64 + self.listed.beyond
    }

    /// How many records fit into so many characters, and their section: empty if
    /// there are none. Where some are left out, its last line says so.
    fn section(&self, chars: usize) -> (usize, String) {
        let mut section = format!("## {}\n", self.kind.heading);
        let left = chars.saturating_sub(section.chars().count());
        if self.more(0) == 0 {
            return (0, String::new());
        }
        let (tool, at_least) =
            (self.kind.tool, if self.listed.beyond < COUNTED as u64 { "" } else { "at least " });
        let ending = |shown_count: usize| match (self.more(shown_count), shown_count) {
            (0, _) => String::new(),
            (more, 0) => format!("- {at_least}{more}, see {tool}\n"),
            (more, _) => format!("- and {at_least}{more} more, see {tool}\n"),
        };
        let ends = self.listed.lines.iter().scan(0, |end, line| {
            *end += line.chars;
            Some(*end)
        });
        let ends: Vec<usize> = [0].into_iter().chain(ends).take_while(|end| *end <= left).collect();
        let fits = |shown: &usize| ends[*shown] + ending(*shown).chars().count() <= left;
        let shown_count = (0..ends.len()).rev().find(fits);
        let Some(shown_count) = shown_count else { return (0, String::new()) };
        self.listed.lines[..shown_count].iter().for_each(|line| section.push_str(&line.text));
        section.push_str(&ending(shown_count));
        (shown_count, section)
    }
}

/// Maximum number of records counted beyond those shown, of each kind: a larger count tells an
/// agent nothing more.
pub(crate) const COUNTED: usize = 1000;
/// Number of earlier turns in a prompt, the last one in detail.
pub(crate) const RECENT_TURNS: usize = 5;
/// Default complexity of a task: the middle.
pub(super) const COMPLEXITY: i64 = 5;

/// What the prompt is for.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptInput {
    /// coach, player, or one the project defines
    pub role: String,
    /// The task's id
    pub task: String,
    /// The feature's id; default: from the task's
    pub feature: Option<String>,
    /// feature (default), testing, documentation, scaffolding, or a custom type
    pub task_type: Option<String>,
    /// 1 to 10; default 5
    pub complexity: Option<i64>,
    /// Turn to start, from 1
    pub turn: Option<u64>,
    /// File, directory, module or `project` (default)
    ///
    /// A path is relative to the project
    pub scope: Option<String>,
}

/// What a role must and must not do.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PromptRole {
    /// `ROLE-{role}`.
    pub id: String,
    /// What it must do.
    pub must_do: Vec<String>,
    /// What it must not do.
    pub must_not_do: Vec<String>,
    /// What to ask before doing.
    pub ask_before: Vec<String>,
    /// When it escalates to a person.
    pub escalate_when: Vec<String>,
}

/// A record from the memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PromptRecord {
    /// Its id.
    pub id: String,
    /// Its message.
    pub summary: String,
    /// Reason or detail.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// Its status, if notable: `provisional`, `critical`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub standing: String,
    /// How the code it speaks of is now, if that changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<CodeNote>,
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
    /// Those whose code is gone or on another branch.
    pub(crate) omitted: RecordList,
}

/// Records of a kind, and how many more there are, counted up to [`COUNTED`].
#[derive(Clone, Debug, Default)]
pub(crate) struct RecordList {
    pub(crate) lines: Vec<RecordLine>,
    pub(crate) beyond: u64,
}

impl RecordList {
    /// How much their lines take.
    pub(crate) fn chars(&self) -> usize {
        self.lines.iter().map(|line| line.chars).sum()
    }

    /// All there are.
    pub(crate) fn all(records: impl IntoIterator<Item = PromptRecord>) -> Self {
        Self { lines: records.into_iter().map(RecordLine::of).collect(), beyond: 0 }
    }
}

/// A record and its line in the prompt.
#[derive(Clone, Debug)]
pub(crate) struct RecordLine {
    pub(crate) record: PromptRecord,
    text: String,
    pub(crate) chars: usize,
}

impl RecordLine {
    /// Puts it into words.
    pub(crate) fn of(record: PromptRecord) -> Self {
        let text = super::markdown::line(&record);
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
    /// Markdown, ready for a model.
    pub text: String,
    /// Token estimate: 4 characters each.
    pub token_estimate: u64,
    /// The token limit.
    pub token_budget: u64,
    /// The role's rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role_constraints: Option<PromptRole>,
    /// The task's gates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gates: Option<GateProfile>,
    /// The last turn, shortened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_turn: Option<Turn>,
    /// The suggested mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<ModeAdvice>,
    /// Rules that must not be broken.
    pub rules: Vec<PromptRecord>,
    /// Decisions to follow.
    pub decisions: Vec<PromptRecord>,
    /// Open warnings.
    pub warnings: Vec<PromptRecord>,
    /// Records whose code is gone or on another branch, by a line each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub omitted: Vec<PromptRecord>,
    /// Records that did not fit; per kind, the count stops at a thousand plus those examined.
    pub omitted_count: u64,
    /// How unclear input was read.
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
    pub(crate) fn parse(
        input: &PromptInput,
        policy: &GovernancePolicy,
        root: &ProjectRoot,
    ) -> Result<Self, Failure> {
        Ok(Self {
            role: roles::role(policy, &input.role)?.role,
            key: turns::key(input.feature.as_deref(), &input.task, input.turn.unwrap_or(1))?,
            task: gates::task(
                policy,
                input.task_type.as_deref().unwrap_or("feature"),
                input.complexity.unwrap_or(COMPLEXITY),
            )?,
            scope: fields::scope_or_project(input.scope.as_deref(), root)?,
        })
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
pub(crate) fn begin(
    policy: &GovernancePolicy,
    draft: &PromptDraft,
    earlier: &[Turn],
) -> Result<PromptBuilder, Failure> {
    let mut task = draft.task.clone();
    let role = roles::role(policy, &draft.role)?;
    let profile = gates::profile(policy, &mut task);
    let mode = modes::fitting(policy, task.complexity);
    let tokens = budget(task.complexity);
    let mut builder = PromptBuilder::new(tokens);
    builder.prompt.role.clone_from(&role.role);
    builder.prompt.turn_id = draft.key.id();
    if !role.is_empty() {
        builder.write(&super::markdown::role(&role, tokens));
        let (must_do, must_not_do) = (role.must_do, role.must_not_do);
        let (ask_before, escalate_when) = (role.ask_before, role.escalate_when);
        builder.prompt.role_constraints =
            Some(PromptRole { id: role.id, must_do, must_not_do, ask_before, escalate_when });
    }
    builder.write(&super::markdown::gates(&profile, task.complexity));
    builder.prompt.gates = Some(profile);
    if let Some((last, older)) = earlier.split_first() {
        let last = super::markdown::shortened(last, tokens);
        if builder.write(&super::markdown::previous(&last, draft.key.number, older, tokens)) {
            builder.prompt.previous_turn = Some(last);
        }
    }
    if let Some(mode) = mode
        && builder.write(&super::markdown::mode(&mode))
    {
        builder.prompt.mode = Some(mode);
    }
    builder.prompt.notes = task.notes;
    builder.prompt.mistakes.clone_from(&policy.mistakes);
    Ok(builder)
}
