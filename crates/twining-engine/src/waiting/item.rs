//! What waits, as callers see it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use twining_model::words;

use crate::fields::is_false;

words! {
    /// Why something waits for a person, the gravest first.
    pub enum WaitingKind {
        /// A record that git has is missing or altered.
        Altered = "altered",
        /// A guard that cannot be read, or can never fire.
        DeadGuard = "dead_guard",
        /// Decisions that disagree and both bind, or one that somebody doubts.
        Contested = "contested",
        /// A decision that two branches changed differently.
        MergeClash = "merge_clash",
        /// An override that only an agent claims.
        ClaimedOverride = "claimed_override",
        /// A feature that is blocked.
        BlockedFeature = "blocked_feature",
        /// What a turn ended with because the coach escalated it.
        TurnQuestion = "turn_question",
        /// An open question.
        Question = "question",
        /// An open need.
        Need = "need",
        /// A guard that is proposed and waits to be promoted.
        ProposedGuard = "proposed_guard",
        /// A claim of an agent that is gone.
        StaleClaim = "stale_claim",
        /// A handoff nobody took.
        Handoff = "handoff",
        /// An error of the reviewed graph.
        KnowledgeError = "knowledge_error",
    }
}

words! {
    /// How urgent it is.
    pub enum Gravity {
        /// The memory or its protection is damaged.
        Grave = "grave",
        /// Agents are held up, or work against each other.
        Blocking = "blocking",
        /// Somebody waits for a word.
        Open = "open",
        /// It can wait.
        Minor = "minor",
    }
}

words! {
    /// What an answer needs from the person who gives it.
    pub enum AnswerNeed {
        /// Why.
        Reason = "reason",
        /// The answer's own text.
        Text = "text",
        /// The name of the thing, typed, as a confirmation.
        Name = "name",
    }
}

/// What to list.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WaitingInput {
    /// Only these kinds
    #[schemars(extend("x-offered" = WaitingKind::ALL.map(WaitingKind::as_str)))]
    pub kinds: Vec<String>,
    /// Only inside this scope
    pub scope: Option<String>,
    /// Instead: what was settled, newest first
    pub settled: bool,
    /// Default 50
    pub limit: Option<usize>,
    /// Where the page begins
    pub offset: Option<usize>,
}

/// One thing that waits for a person.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WaitingItem {
    /// The kind and what it is about, such as `contested:01M7…`; the same each time.
    pub id: String,
    /// Why it waits.
    pub kind: WaitingKind,
    /// What it is, in one line.
    pub title: String,
    /// Why a person is needed.
    pub why_you: String,
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// The scope it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Who caused it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// How urgent it is.
    pub gravity: Gravity,
    /// The records it is about: decisions that disagree, the entry, the feature, the guard.
    pub subjects: Vec<WaitingSubject>,
    /// What can be done, the likeliest first.
    pub answers: Vec<WaitingAnswer>,
    /// Its address on the page, such as `/d/01M7…`.
    pub href: String,
    /// Who settled it, how and when, if it is settled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled: Option<Settled>,
}

/// A record that an item is about.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WaitingSubject {
    /// Its id or name.
    pub id: String,
    /// What it says, in one line.
    pub summary: String,
    /// Its reason, or more about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Who wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Its status, such as `active`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// What rests on it, such as `4 decisions, 1 guard`; empty: nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rests_on_it: Option<String>,
    /// Its address on the page.
    pub href: String,
}

/// Something a person can do about an item: one call of a verb.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WaitingAnswer {
    /// What a button says.
    pub label: String,
    /// The verb; empty where only the command does it.
    pub verb: String,
    /// Its input, without what the person adds.
    pub input: Map<String, Value>,
    /// What the person adds. `reason` and `text` go into the input's field `field`.
    pub needs: Vec<AnswerNeed>,
    /// The field of the input that takes the reason or text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The field that takes the reason where both are wanted; the input has one already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason_field: Option<String>,
    /// What holds afterwards, in a sentence.
    pub then: String,
    /// The command line that does the same, `…` for what the person adds.
    pub command: String,
}

/// How an item was settled.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Settled {
    /// Who did it.
    pub by: String,
    /// When.
    pub at: String,
    /// What was done, such as `overridden`.
    pub how: String,
    /// Why, if they said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How many items a kind has.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WaitingCount {
    /// The kind.
    pub kind: WaitingKind,
    /// How many.
    pub count: u64,
}

/// What waits.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct WaitingOutcome {
    /// The gravest kind first, in each the oldest first; settled ones newest first.
    pub items: Vec<WaitingItem>,
    /// How many there are in all.
    pub total: u64,
    /// How many of each kind.
    pub counts: Vec<WaitingCount>,
    /// Where the next page begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<usize>,
    /// Whether some were left out for size.
    #[serde(skip_serializing_if = "is_false")]
    pub truncated: bool,
    /// Whether only some kinds, or only settled items, were asked for.
    #[serde(skip)]
    pub is_filtered: bool,
}
