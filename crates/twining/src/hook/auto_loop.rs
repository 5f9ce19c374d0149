//! The feature loop by itself: with `workflow.auto`, the beginning and the end of
//! a turn say what comes next, and nobody has to ask for it.
//!
//! It lets go when everything is done, when only a person can go on, when the
//! same step comes up a third time, and after a number of steps that no honest
//! session takes.

use twining_engine::workflow::{NextInput, NextOutcome};
use twining_guard::hosts::HookReply;

use super::context::HookContext;
use super::session_state::SessionState;
use crate::user_policy;

/// Steps one session is sent on to.
const MOST_STEPS: u32 = 200;
/// Times one step is asked for.
const MOST_ASKED: u32 = 2;
/// Characters of a worker's prompt that are handed on.
const MOST_PROMPT: usize = 6_000;

/// The step to begin with, where the loop runs by itself and there is work.
pub(super) fn at_start(context: &HookContext) -> Option<String> {
    let next = next(context)?;
    next.next.action.is_work().then(|| step(&next))
}

/// Sends the agent on, or lets it go.
pub(super) fn at_stop(context: &HookContext, notes: &mut SessionState) -> HookReply {
    let Some(next) = next(context) else { return HookReply::Silence };
    let brief = &next.next;
    if !brief.action.is_work() {
        return HookReply::Notice(format!(
            "Twining: {} ({}). {}",
            brief.say,
            brief.why,
            counted(&next)
        ));
    }
    let asked = notes.held.entry(format!("loop: {} {}", brief.say, brief.attempt)).or_default();
    if *asked >= MOST_ASKED
        || (context.event.stop_hook_active && *asked > 0)
        || notes.steps >= MOST_STEPS
    {
        let why = if notes.steps >= MOST_STEPS {
            "the session took too many steps"
        } else {
            "the step made no progress"
        };
        if *asked <= MOST_ASKED {
            // Once: a session that stops repeatedly need not be reported again.
            *asked = MOST_ASKED + 1;
            context.post(
                "question",
                &format!("The feature loop stopped at `{}`: {why}", brief.say),
                None,
            );
        }
        return HookReply::Notice(format!(
            "Twining lets the session end at `{}`: {why}. {}",
            brief.say,
            counted(&next)
        ));
    }
    *asked += 1;
    notes.steps += 1;
    HookReply::Hold(step(&next))
}

/// What to do now, if the loop runs by itself here.
fn next(context: &HookContext) -> Option<NextOutcome> {
    let engine = &context.project.engine;
    let is_auto = engine.store().exists().unwrap_or(false)
        && engine.store().config().is_ok_and(|config| config.workflow.auto);
    // A list that cannot be read drives nobody.
    if is_auto {
        engine.next(&user_policy::read(), NextInput { prompt: Some(true) }).ok()
    } else {
        None
    }
}

/// The step, for an agent that delegates where it can.
fn step(next: &NextOutcome) -> String {
    let role = next.role.unwrap_or("player");
    let whom = match role {
        "coach" => {
            "Start a tester subagent for it if you can; else do it yourself, as if you had not written the code."
        }
        "initializer" => "Start an initializer subagent for it if you can; else do it yourself.",
        _ => "Start a coding subagent for it if you can; else do it yourself.",
    };
    let mut text = format!(
        "Twining's feature loop continues automatically: {} ({}). {whom} Do not ask the user; once you have reported it, stop, and the next step follows. The recorded task is below.\n",
        next.next.say, next.next.why
    );
    if let Some(prompt) = &next.prompt {
        text.push('\n');
        text.extend(prompt.chars().take(MOST_PROMPT));
    }
    text
}

fn counted(next: &NextOutcome) -> String {
    let counts = serde_json::to_value(next.counts).unwrap_or_default();
    let parts: Vec<String> = counts
        .as_object()
        .map(|counts| {
            counts
                .iter()
                .filter(|(_, n)| n.as_u64() != Some(0))
                .map(|(name, n)| format!("{n} {name}"))
                .collect()
        })
        .unwrap_or_default();
    if parts.is_empty() { String::new() } else { format!("Features: {}.", parts.join(", ")) }
}
