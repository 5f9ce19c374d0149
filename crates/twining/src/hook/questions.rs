//! Questions to an agent about its own change. A reply to the end of a turn reaches the person, or
//! holds the turn; so a question waits for the next event whose reply the agent reads, and is put
//! once.

use twining_guard::effects::shell;
use twining_guard::hosts::{HookReply, HostAdapter};
use twining_guard::{EventKind, ToolAction};

use super::checks::{CheckNotice, before_commit, not_reported};
use super::context::HookContext;
use super::session_state::SessionState;

/// Keeps questions for the agent that an event is about. A subagent that ended is asked nothing
/// more: whoever sent it is.
pub(super) fn keep(context: &HookContext, notes: &mut SessionState, asked: &[CheckNotice]) {
    let event = &context.event.event;
    let is_over = event.kind == EventKind::SubagentStop;
    let agent = event.agent_id.clone().filter(|_| !is_over).unwrap_or_default();
    let texts = asked.iter().map(|notice| {
        if is_over {
            notice.text.replacen("You ", "Your subagent ", 1)
        } else {
            notice.text.clone()
        }
    });
    if !asked.is_empty() {
        notes.questions.entry(agent).or_default().extend(texts);
    }
}

/// Before an agent commits: what its change makes doubtful.
pub(super) fn at_commit(context: &HookContext) {
    if !is_commit(context) || !context.has_memory() {
        return;
    }
    let asked = not_reported(context.project.engine.store(), before_commit(&context.project));
    if !asked.is_empty() {
        let mut notes = context.notes();
        keep(context, &mut notes, &asked);
        context.save_notes(&notes);
    }
}

/// Adds what waits for the agent to a reply that it reads.
pub(super) fn put(context: &HookContext, host: &HostAdapter, reply: HookReply) -> HookReply {
    let event = &context.event.event;
    let is_time = match event.kind {
        EventKind::UserPromptSubmit | EventKind::PostToolUse | EventKind::ToolFailed => true,
        // Reading notes before every call would slow all of them.
        EventKind::PreToolUse => is_commit(context),
        _ => false,
    };
    let is_read = matches!(reply, HookReply::Silence | HookReply::Context(_));
    if !is_time || !is_read || !host.shows_context(event.kind) || !context.has_memory() {
        return reply;
    }
    let mut notes = context.notes();
    let agent = event.agent_id.clone().unwrap_or_default();
    let Some(questions) = notes.questions.remove(&agent) else { return reply };
    // A question that cannot be struck off would be put forever.
    if !context.save_notes(&notes) {
        return reply;
    }
    let questions = questions.join("\n");
    HookReply::Context(match reply {
        HookReply::Context(text) => format!("{text}\n\n{questions}"),
        _ => questions,
    })
}

fn is_commit(context: &HookContext) -> bool {
    let ToolAction::Shell(line) = &context.event.event.action else { return false };
    let commits = |words: &Vec<String>| {
        let program = words.first().map_or("", |program| program.rsplit('/').next().unwrap_or(""));
        program == "git" && words.iter().any(|word| word == "commit")
    };
    line.contains("commit") && shell::simple_commands(line).iter().any(commits)
}
