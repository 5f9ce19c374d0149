//! Before a tool runs: the strictest guard answers.

use twining_guard::hosts::HookReply;
use twining_guard::{Evaluation, ToolAction, Verdict};

use super::context::HookContext;
use super::{guard_cache, traces};

/// What the guards say.
pub fn reply(context: &HookContext) -> HookReply {
    let guards = guard_cache::guards(&context.project);
    let evaluation = traces::revise_and_record(context, context.evaluate(&guards));
    match evaluation.verdict {
        Verdict::Off => unread_note(context, &evaluation).map_or(HookReply::Silence, HookReply::Context),
        Verdict::Warn => HookReply::Context(evaluation.message()),
        Verdict::Ask => HookReply::Ask(evaluation.message()),
        Verdict::Block => HookReply::Deny(evaluation.message()),
    }
}

/// A word about what could not be read, where the line speaks of our files.
fn unread_note(context: &HookContext, evaluation: &Evaluation) -> Option<String> {
    let ToolAction::Shell(line) = &context.event.event.action else { return None };
    let first = evaluation.unread.first().filter(|_| line.contains(".twining") || line.contains("feature-list"))?;
    Some(format!(
        "Note: Twining could not read all of this command ({first}) and let it through. What it changes in `.twining` is compared when the turn ends."
    ))
}
