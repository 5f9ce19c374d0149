//! When an agent wants to stop: findings are reported once and posted; what the agent can undo by
//! itself holds it, once.

use std::time::UNIX_EPOCH;

use twining_guard::hosts::HookReply;
use twining_guard::policy::builtin::RETURNS;
use twining_guard::{EventKind, GuardSet};
use twining_model::Time;
use twining_store::git::BranchChanges;

use super::checks::{
    CheckNotice, NoticeLevel, RECORD_DOUBTFUL, Stage, TURN_CHECKS, TreeComparison, not_reported,
};
use super::context::HookContext;
use super::session_state::{SessionState, says_nothing_to_do};
use super::{auto_loop, guard_cache, questions, trace_log};
use crate::allowances::PersonAllowances;

/// Notices of one turn.
const MAX_NOTICES: usize = 12;

/// Whether the agent may stop.
pub(super) fn reply(context: &HookContext) -> HookReply {
    if !context.has_memory() {
        return HookReply::Silence;
    }
    let mut notes = context.notes();
    let guards = guard_cache::guards(&context.project);
    let mut notices =
        if notes.acted_this_turn() { compared(context, &guards, &notes) } else { Vec::new() };
    notices.extend(returns_empty(context, &guards, &notes));
    lift(context, &mut notices);
    let new = not_reported(context.project.engine.store(), notices);
    let (holding, rest): (Vec<CheckNotice>, Vec<CheckNotice>) =
        new.into_iter().partition(|notice| notice.weight == NoticeLevel::Refuse);
    // What the agent is asked about its own change is nothing to tell the others yet.
    let (questions, warnings): (Vec<CheckNotice>, Vec<CheckNotice>) =
        rest.into_iter().partition(|notice| notice.rule == RECORD_DOUBTFUL);
    for notice in &warnings {
        context.post(
            if notice.rule == "tests-changed" { "finding" } else { "warning" },
            &notice.text,
            notice.path.as_deref(),
        );
    }
    let warnings: Vec<String> = warnings.into_iter().map(|notice| notice.text).collect();
    questions::keep(context, &mut notes, &questions);
    let reply = match hold(context, &mut notes, &holding) {
        Some(reason) => HookReply::Hold([vec![reason], warnings].concat().join("\n")),
        None if !warnings.is_empty() => HookReply::Notice(warnings.join("\n")),
        None if context.event.event.kind == EventKind::Stop => {
            auto_loop::at_stop(context, &mut notes)
        }
        None => HookReply::Silence,
    };
    match (reply, context.save_notes(&notes)) {
        // If a hold cannot be recorded, the agent would be held forever.
        (HookReply::Hold(reason), false) => HookReply::Notice(reason),
        (reply, _) => reply,
    }
}

/// What the working tree shows against HEAD and the merge base with upstream.
fn compared(context: &HookContext, guards: &GuardSet, notes: &SessionState) -> Vec<CheckNotice> {
    let git = &context.project.history;
    let Some(BranchChanges { base, head_written, files }) = git.branch_changes() else {
        return Vec::new();
    };
    let mut comparison =
        TreeComparison::new(&context.project, guards, &context.files, Stage::TurnEnd);
    comparison.changed = files;
    // What is being merged or squashed is others' work.
    comparison.before = git.sides();
    // git counts in whole seconds.
    let changed_this_turn =
        |at: Time| notes.turn_start().is_none_or(|began| at.as_ms() + 1_000 > began.as_ms());
    comparison.has_committed = base.is_some() && changed_this_turn(head_written);
    comparison.base = base;
    // `git cat-file` takes paths from the top; `./` makes them the working directory's.
    comparison.prefix = "./".to_owned();
    let (root, since) = (context.files.root.clone(), notes.turn_start());
    comparison.changed_this_turn = Box::new(move |path| changed_since(&root, path, since));
    comparison.run(&TURN_CHECKS)
}

/// Whether a file was written since the turn began; one that is gone may have been.
fn changed_since(root: &str, path: &str, since: Option<Time>) -> bool {
    let Some(since) = since else { return true };
    let modified =
        std::fs::symlink_metadata(format!("{root}/{path}")).and_then(|found| found.modified());
    let Ok(modified) = modified else { return true };
    let ms = modified
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|since| i64::try_from(since.as_millis()).ok());
    ms.is_none_or(|ms| ms >= since.as_ms())
}

/// A coding agent that returns, changed nothing and does not say why.
fn returns_empty(
    context: &HookContext,
    guards: &GuardSet,
    notes: &SessionState,
) -> Option<CheckNotice> {
    let event = &context.event.event;
    let is_empty = event.kind == EventKind::SubagentStop
        && guards.blocks(RETURNS)
        && notes.returns_empty(event);
    if !is_empty || says_nothing_to_do(&context.event.last_message) {
        return None;
    }
    let agent = event.agent_type.as_deref().unwrap_or("the coding agent");
    let text = format!(
        "{agent} changed nothing. Do instead: implement the task; or, if there was nothing to do, say so in one plain sentence (\"no changes were needed, because …\") and stop."
    );
    Some(CheckNotice { rule: RETURNS.to_owned(), path: None, weight: NoticeLevel::Refuse, text })
}

/// Takes out what a person lifted.
fn lift(context: &HookContext, notices: &mut Vec<CheckNotice>) {
    if notices.is_empty() {
        return;
    }
    let store = context.project.engine.store();
    let allowed = PersonAllowances::read(store);
    notices.retain(|notice| match allowed.bypass(&notice.rule, store.ids().now()) {
        Some(bypass) => {
            trace_log::lifted_at_stop(context, &notice.rule, &notice.text, &bypass.reason);
            false
        }
        None => true,
    });
    notices.truncate(MAX_NOTICES);
}

/// Holds the agent for what it was not held for before.
fn hold(
    context: &HookContext,
    notes: &mut SessionState,
    holding: &[CheckNotice],
) -> Option<String> {
    let agent = context.event.event.agent_id.clone().unwrap_or_default();
    let mut reasons = Vec::new();
    for notice in holding {
        let count = notes
            .held
            .entry(format!(
                "{agent} {} {}",
                notice.rule,
                notice.path.as_deref().unwrap_or_default()
            ))
            .or_default();
        *count += 1;
        match *count {
            1 if !context.event.stop_hook_active => {
                trace_log::held(context, &notice.rule, &notice.text);
                reasons.push(format!("{} [{}]", notice.text, notice.rule));
            }
            // Blocked once and still true: now it is posted for the person.
            1 | 2 => context.post("warning", &notice.text, notice.path.as_deref()),
            _ => {}
        }
    }
    (!reasons.is_empty()).then(|| reasons.join("\n"))
}
