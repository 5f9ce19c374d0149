//! Queues: what hooks left to be posted or done.
//!
//! A queue file may come with a cloned repository, so it can do no more than
//! post an entry or tidy the board, and never with authority.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use twining_model::{Channel, Entry, InvalidInput, Origin, ProjectRoot, Time, Trust, text};
use twining_store::Config;

use crate::archive::ArchiveInput;
use crate::blackboard::{PostDraft, PostInput, plan_post};
use crate::caller::{Caller, Stamp};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::verify::History;
use crate::{fields, secrets};

/// What the queues produced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct QueueOutcome {
    /// Entries posted.
    pub posted: u64,
    /// Entries archived.
    pub archived: u64,
    /// Lines rejected.
    pub rejected: u64,
}

/// Fields of an entry that a line of `pending-posts.jsonl` may set; others are ignored.
const POST_FIELDS: [&str; 7] =
    ["entry_type", "summary", "detail", "tags", "scope", "relates_to", "agent_id"];

/// A line of `pending-actions.jsonl`.
#[derive(Deserialize)]
struct ActionLine {
    action: String,
    trigger: Option<String>,
    before: Option<String>,
}

/// An archive that a hook asks for: on which occasion, and of what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PendingAction {
    occasion: ArchiveTrigger,
    before: Option<Time>,
}

/// When a hook asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ArchiveTrigger {
    None,
    Commit,
    ContextSwitch,
}

impl PendingAction {
    /// Whether the settings want it done. What names no occasion was asked for.
    fn is_wanted(self, config: &Config) -> bool {
        match self.occasion {
            ArchiveTrigger::None => true,
            ArchiveTrigger::Commit => config.archive.auto_archive_on_commit,
            ArchiveTrigger::ContextSwitch => config.archive.auto_archive_on_context_switch,
        }
    }
}

/// The time up to which to archive, so that one archive serves all requests; `None` if there is
/// nothing to do. A commit settles what precedes the previous one; without a previous commit,
/// everything still belongs to current work. Commits may follow each other within seconds, as in a
/// merge: today's entries stay.
fn cutoff(
    actions: &[PendingAction],
    config: &Config,
    history: &dyn History,
    now: Time,
) -> Option<Time> {
    let wanted = || actions.iter().filter(|action| action.is_wanted(config));
    let asks_git =
        wanted().any(|action| action.occasion == ArchiveTrigger::Commit && action.before.is_none());
    let previous_commit = if asks_git { history.previous_commit() } else { None };
    let age =
        i64::try_from(config.archive.min_age_hours.saturating_mul(3_600_000)).unwrap_or(i64::MAX);
    let settled = Time::from_ms(now.as_ms().saturating_sub(age));
    let of = |action: &PendingAction| match action.occasion {
        ArchiveTrigger::Commit => {
            action.before.or(previous_commit.map(|previous| previous.min(settled)))
        }
        ArchiveTrigger::ContextSwitch => Some(action.before.unwrap_or(settled)),
        ArchiveTrigger::None => Some(action.before.unwrap_or(now)),
    };
    wanted().filter_map(of).max()
}

/// The caller whose words come out of a queue.
fn hook(caller: &Caller) -> Caller {
    Caller { agent: caller.agent.clone(), origin: Origin::new(Channel::Hook, Trust::Tool) }
}

/// Takes one queued post, or says why not.
fn pending_post(line: &str, root: &ProjectRoot, stamp: &Stamp<'_>) -> Result<Entry, String> {
    let unread = |error: serde_json::Error| format!("not a queued post: {error}");
    let mut post: Map<String, Value> = serde_json::from_str(line).map_err(unread)?;
    if let Some(tool) = post.get("tool").filter(|tool| !tool.is_null() && *tool != "twining_post") {
        let tool = tool.as_str().map_or_else(|| tool.to_string(), str::to_owned);
        return Err(format!(
            "`tool` must be twining_post; `{}` cannot be queued",
            text::excerpt(&tool, 40)
        ));
    }
    post.retain(|field, _| POST_FIELDS.contains(&field.as_str()));
    let input: PostInput = serde_json::from_value(Value::Object(post)).map_err(unread)?;
    let (input, _) = secrets::clean(&input);
    let checked = || {
        let caller = stamp.caller.called(input.agent_id.as_deref())?;
        let (entry, _) =
            plan_post(&PostDraft::parse(&input, root)?, &Stamp { caller: &caller, ..*stamp })?;
        Ok(entry)
    };
    checked().map_err(|refused: InvalidInput| refused.to_string())
}

/// Takes one queued action, or says why not.
fn pending_action(line: &str) -> Result<PendingAction, String> {
    let queued: ActionLine =
        serde_json::from_str(line).map_err(|error| format!("not a queued action: {error}"))?;
    if queued.action != "archive" {
        return Err("`action` must be archive; nothing else can be queued".to_owned());
    }
    let occasion = match queued.trigger.as_deref() {
        None => ArchiveTrigger::None,
        Some("commit") => ArchiveTrigger::Commit,
        Some("context_switch") => ArchiveTrigger::ContextSwitch,
        Some(_) => return Err("`trigger` must be commit or context_switch".to_owned()),
    };
    let before = fields::optional("before", queued.before.as_deref(), Time::parse);
    Ok(PendingAction { occasion, before: before.map_err(|refused| refused.to_string())? })
}

impl Engine {
    /// Takes in what hooks left. Cheap when there is nothing.
    pub fn drain_queues(
        &self,
        caller: &Caller,
        history: &dyn History,
    ) -> Result<QueueOutcome, Failure> {
        let hook = hook(caller);
        let posts = self
            .store()
            .queues()
            .drain_posts(&mut |line| pending_post(line, self.store().root(), &self.stamp(&hook)))?;
        let mut wanted: Vec<PendingAction> = Vec::new();
        let actions = self
            .store()
            .queues()
            .drain_actions(&mut |line| pending_action(line).map(|action| wanted.push(action)))?;
        let mut drained = QueueOutcome {
            posted: posts.taken,
            archived: 0,
            rejected: posts.rejected + actions.rejected,
        };
        if wanted.is_empty() {
            return Ok(drained);
        }
        let config = self.store().config().unwrap_or_default();
        if let Some(before) = cutoff(&wanted, &config, history, self.store().ids().now()) {
            drained.archived =
                self.archive_before(&hook, Some(before), &ArchiveInput::default())?.archived_count;
        }
        Ok(drained)
    }
}

#[cfg(test)]
mod tests;
