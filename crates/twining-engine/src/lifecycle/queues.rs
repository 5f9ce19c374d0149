//! Queues: what hooks left to be posted or done.
//!
//! A queue file may come with a cloned repository, so it can do no more than
//! post an entry or tidy the board, and never with authority.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::{Channel, Entry, Origin, Refused, Root, Trust, text};
use twining_store::Config;

use crate::blackboard::{PostDraft, PostInput, plan_post};
use crate::caller::{Caller, Stamp};

/// What came out of the queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Drained {
    /// Entries posted.
    pub posted: u64,
    /// Entries archived.
    pub archived: u64,
    /// Lines set aside.
    pub rejected: u64,
}

/// A line of `pending-posts.jsonl`.
#[derive(Deserialize)]
struct PendingPost {
    #[serde(default)]
    tool: Option<String>,
    entry_type: String,
    summary: String,
    #[serde(default)]
    detail: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    scope: Option<String>,
    #[serde(default)]
    relates_to: Vec<String>,
    #[serde(default)]
    agent_id: Option<String>,
}

/// A line of `pending-actions.jsonl`.
#[derive(Deserialize)]
struct ActionLine {
    action: String,
    #[serde(default)]
    trigger: Option<String>,
}

/// What a hook asks to be done, and on which occasion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PendingAction {
    ArchiveOnCommit,
    ArchiveOnContextSwitch,
}

impl PendingAction {
    /// Whether the settings want it done.
    pub(crate) fn is_wanted(self, config: &Config) -> bool {
        match self {
            Self::ArchiveOnCommit => config.archive.auto_archive_on_commit,
            Self::ArchiveOnContextSwitch => config.archive.auto_archive_on_context_switch,
        }
    }
}

/// The caller whose words come out of a queue.
pub(crate) fn hook(caller: &Caller) -> Caller {
    Caller { agent: caller.agent.clone(), origin: Origin { client: None, session: None, via: Channel::Hook, trust: Trust::Tool } }
}

/// Takes one queued post, or says why not.
pub(crate) fn pending_post(line: &str, root: &Root, stamp: &Stamp<'_>) -> Result<Entry, String> {
    let post: PendingPost = serde_json::from_str(line).map_err(|error| format!("not a queued post: {error}"))?;
    if let Some(tool) = post.tool.filter(|tool| tool != "twining_post") {
        return Err(format!("`tool` must be twining_post; `{}` cannot be queued", text::excerpt(&tool, 40)));
    }
    let input = PostInput {
        entry_type: post.entry_type,
        summary: post.summary,
        detail: post.detail,
        tags: post.tags,
        scope: post.scope,
        relates_to: post.relates_to,
        agent_id: post.agent_id,
    };
    let checked = || {
        let caller = stamp.caller.called(input.agent_id.as_deref())?;
        let (entry, _) = plan_post(&PostDraft::parse(&input, root)?, &Stamp { caller: &caller, ..*stamp })?;
        Ok(entry)
    };
    checked().map_err(|refused: Refused| refused.to_string())
}

/// Takes one queued action, or says why not.
pub(crate) fn pending_action(line: &str) -> Result<PendingAction, String> {
    let queued: ActionLine = serde_json::from_str(line).map_err(|error| format!("not a queued action: {error}"))?;
    match (queued.action.as_str(), queued.trigger.as_deref()) {
        ("archive", None | Some("commit")) => Ok(PendingAction::ArchiveOnCommit),
        ("archive", Some("context_switch")) => Ok(PendingAction::ArchiveOnContextSwitch),
        ("archive", Some(_)) => Err("`trigger` must be commit or context_switch".to_owned()),
        _ => Err("`action` must be archive; nothing else can be queued".to_owned()),
    }
}
