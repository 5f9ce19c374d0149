//! What an agent is told when it begins: the brief, what a compaction took away,
//! and the step where the loop runs by itself.

use std::collections::BTreeSet;

use twining_engine::RoleInput;
use twining_guard::hosts::HookReply;
use twining_model::text;

use super::context::HookContext;
use super::{auto_loop, brief, guard_cache, snapshot, traces};
use crate::user_policy;

/// Items of a role's list that are told.
const MAX_ITEMS: usize = 12;

/// A session begins, or goes on after its host forgot most of it.
pub fn started(context: &HookContext) -> HookReply {
    // An old note in the way is no reason to begin without a brief.
    let _ = context.project.engine.store().local_state().clear_notes();
    // Every host we read from tells us of tools that ran: from now on a run can be seen.
    let _ = context.project.engine.note_post_tool_use();
    let mut notes = context.notes();
    notes.turn_began = Some(context.project.engine.store().ids().now());
    let brief = brief::of_session(&context.project.engine, &context.caller(), &mut notes.told);
    context.save_notes(&notes);
    let unread = guard_cache::guards(&context.project).unread_notice();
    let context_text = joined([unread, snapshot::restore(context), brief]);
    match (auto_loop::at_start(context), context_text) {
        (Some(go), text) => HookReply::Start { context: text.unwrap_or_default(), go },
        (None, Some(text)) => HookReply::Context(text),
        (None, None) => HookReply::Silence,
    }
}

/// A person wrote something.
pub fn prompted(context: &HookContext) -> HookReply {
    traces::prompted(context);
    let mut notes = context.notes();
    notes.turn_began = Some(context.project.engine.store().ids().now());
    let warnings = brief::of_prompt(&context.project.engine, &context.caller(), &context.event.prompt, &mut notes.told);
    context.save_notes(&notes);
    // Hosts that begin no session after a compaction ask here first.
    joined([snapshot::restore(context), warnings]).map_or(HookReply::Silence, HookReply::Context)
}

/// A subagent begins: its role, and what matters.
pub fn subagent_started(context: &HookContext) -> HookReply {
    let agent_type = context.event.event.agent_type.as_deref().unwrap_or_default();
    let mut notes = context.notes();
    notes.subagent_started(&context.event.event);
    context.save_notes(&notes);
    let role = role_of(agent_type).and_then(|role| role_text(context, role));
    let brief = brief::of_session(&context.project.engine, &context.caller(), &mut BTreeSet::new());
    joined([role, brief]).map_or(HookReply::Silence, HookReply::Context)
}

/// The session is over, and its notes are of no use.
pub fn ended(context: &HookContext) -> HookReply {
    let _ = context.project.engine.store().local_state().drop_note(&context.event.session);
    HookReply::Silence
}

fn joined<const N: usize>(parts: [Option<String>; N]) -> Option<String> {
    let text = parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n");
    (!text.is_empty()).then_some(text)
}

/// The role an agent of this kind has.
fn role_of(kind: &str) -> Option<&'static str> {
    let kind = kind.rsplit(':').next().unwrap_or(kind).to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| kind.contains(word));
    if has(&["coach", "test", "verif", "review", "qa"]) {
        Some("coach")
    } else if has(&["player", "cod", "implement", "develop", "engineer"]) {
        Some("player")
    } else {
        None
    }
}

fn role_text(context: &HookContext, role: &str) -> Option<String> {
    let input = RoleInput { role: role.to_owned(), ..RoleInput::default() };
    let role = context.project.engine.role(&user_policy::read(), &input).ok()?;
    let mut lines = vec![format!("Your role in this project is {}.", role.role)];
    for (title, items) in [("You must", &role.must_do), ("You must not", &role.must_not_do), ("Ask before", &role.ask_before)] {
        if !items.is_empty() {
            lines.push(format!("{title}:"));
            lines.extend(
                items.iter().take(MAX_ITEMS).map(|item| format!("- {}", text::excerpt(&text::visible(item).replace('\n', " "), 200))),
            );
        }
    }
    (lines.len() > 1).then(|| lines.join("\n"))
}
