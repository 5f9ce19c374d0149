//! After a tool ran: what the session did, and which tests the host saw run.

use twining_guard::hosts::HookReply;
use twining_guard::{EventKind, FileAccess, ToolAction, inside};

use super::context::HookContext;
use super::traces;

/// Remembers it. A run of tests that will not count is told at once, while it is
/// cheap to run them again.
pub fn reply(context: &HookContext) -> HookReply {
    if !context.has_memory() {
        return HookReply::Silence;
    }
    let mut notes = context.notes();
    notes.tool_ran(&context.event.event, context.project.engine.store().ids().now());
    context.save_notes(&notes);
    let _ = context.project.engine.note_post_tool_use();
    if context.event.event.kind == EventKind::PostToolUse {
        traces::approved(context);
    }
    captured(context).map_or(HookReply::Silence, HookReply::Context)
}

/// Remembers a run of tests; a word where it will not count.
fn captured(context: &HookContext) -> Option<String> {
    let event = &context.event.event;
    let result = context.event.result.as_ref()?;
    let command = match &event.action {
        ToolAction::Shell(line) => line.as_str(),
        // A host's tool that shows the output of a command in the background.
        ToolAction::Nothing if is_output_tool(&event.tool) => "",
        _ => return None,
    };
    let here = inside(&context.files.root, &context.files.real_path(&event.cwd));
    let folder = (!here.starts_with('/')).then_some(here.as_str());
    let checkout = &context.project.located.checkout;
    context.project.engine.capture_run(&context.caller(), checkout, folder, command, result).ok()??.notice()
}

fn is_output_tool(tool: &str) -> bool {
    matches!(tool, "BashOutput" | "TaskOutput" | "write_stdin" | "read_terminal" | "get_terminal_output")
}
