//! Before a tool call the strictest guard answers; after it, what it did is noted.

use std::path::Path;

use twining_guard::effects::shell;
use twining_guard::hosts::HookReply;
use twining_guard::{Evaluation, EventKind, FileAccess, ToolAction, Verdict, inside, normal};

use super::context::HookContext;
use super::{decision_labels, guard_cache, questions, trace_log};

/// What the guards say.
pub(super) fn before(context: &HookContext) -> HookReply {
    let guards = guard_cache::guards(&context.project);
    let evaluation = decision_labels::label(&context.project, context.evaluate(&guards));
    let evaluation = trace_log::revise_and_record(context, evaluation);
    if evaluation.verdict <= Verdict::Warn {
        questions::at_commit(context);
    }
    match evaluation.verdict {
        Verdict::Off => {
            unread_note(context, &evaluation).map_or(HookReply::Silence, HookReply::Context)
        }
        Verdict::Warn => HookReply::Context(evaluation.message()),
        Verdict::Ask => HookReply::Ask(evaluation.message()),
        Verdict::Block => HookReply::Deny(evaluation.message()),
    }
}

/// Note about unparsed parts of a command that mentions our files.
fn unread_note(context: &HookContext, evaluation: &Evaluation) -> Option<String> {
    let ToolAction::Shell(line) = &context.event.event.action else { return None };
    let first = evaluation
        .unread
        .first()
        .filter(|_| line.contains(".twining") || line.contains("feature-list"))?;
    Some(format!(
        "Note: Twining could not parse all of this command ({first}) and allowed it. Its changes in `.twining` are checked when the turn ends."
    ))
}

/// Records the call. Reports a test run that will not count at once, while rerunning is cheap.
pub(super) fn after(context: &HookContext) -> HookReply {
    if !context.has_memory() {
        return HookReply::Silence;
    }
    let mut notes = context.notes();
    notes.tool_ran(&context.event.event, context.project.engine.store().ids().now());
    notes.saw(files_of(context));
    context.save_notes(&notes);
    let _ = context.project.engine.note_post_tool_use();
    if context.event.event.kind == EventKind::PostToolUse {
        trace_log::approved(context);
    }
    captured(context).map_or(HookReply::Silence, HookReply::Context)
}

/// Words of a command line that are looked at.
const MAX_WORDS: usize = 64;

/// The files of the project that a call read or wrote, as far as it names them.
fn files_of(context: &HookContext) -> Vec<String> {
    let event = &context.event.event;
    let is_file = |path: &String| Path::new(&normal(&event.cwd, path)).is_file();
    let named: Vec<String> = match &event.action {
        ToolAction::Write { path, .. }
        | ToolAction::Edit { path, .. }
        | ToolAction::Notebook { path, .. }
        | ToolAction::Read(path)
        | ToolAction::ReadPart(path) => vec![path.clone()],
        ToolAction::ReadMany(paths) | ToolAction::Touches(paths) => paths.clone(),
        ToolAction::Shell(line) => {
            let words = shell::simple_commands(line).into_iter().flatten();
            words.filter(|word| !word.starts_with('-')).take(MAX_WORDS).filter(is_file).collect()
        }
        ToolAction::Patch(_) | ToolAction::Nothing => Vec::new(),
    };
    let inner = |path: &String| {
        inside(&context.files.root, &context.files.real_path(&normal(&event.cwd, path)))
    };
    named.iter().map(inner).filter(|path| !path.starts_with('/')).collect()
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
    context
        .project
        .engine
        .capture_run(&context.caller(), checkout, folder, command, result)
        .ok()??
        .notice()
}

fn is_output_tool(tool: &str) -> bool {
    matches!(
        tool,
        "BashOutput" | "TaskOutput" | "write_stdin" | "read_terminal" | "get_terminal_output"
    )
}
