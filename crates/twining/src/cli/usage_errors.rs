//! A command line that makes no sense: what the parser says of it, for a person
//! or for a program.

use std::ffi::OsString;

use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use twining_model::InvalidInput;

use crate::output;
use crate::output::OutputFormat;
use crate::render::command_error::{CommandError, ExitStatus};
use crate::verbs::serde_messages;

/// Prints what the parser has to say: help that was asked for, or what is wrong.
pub fn tell(mut error: Error, words: &[OsString], style: OutputFormat) -> ExitStatus {
    name_whole_word(&mut error, words);
    redact_values(&mut error);
    if error.use_stderr() && style == OutputFormat::Json {
        return output::problem(style, &problem(&error));
    }
    deduplicate_suggestions(&mut error);
    // A reader that has gone away is no error.
    let _ = error.print();
    if error.use_stderr() { ExitStatus::Misused } else { ExitStatus::Done }
}

/// Of a word that begins with a dash the parser names one letter; whoever meant the
/// word is told how to say it.
fn name_whole_word(error: &mut Error, words: &[OsString]) {
    let Some(ContextValue::String(letter)) = error.get(ContextKind::InvalidArg) else { return };
    if error.kind() != ErrorKind::UnknownArgument
        || letter.starts_with("--")
        || error.get(ContextKind::Suggested).is_none()
    {
        return;
    }
    let mut words = words.iter().filter_map(|word| word.to_str());
    let Some(word) =
        words.find(|word| word.len() > letter.len() && word.starts_with(letter.as_str()))
    else {
        return;
    };
    let tip = format!("to pass '{word}' as a value, use '-- \"{word}\"'");
    error.insert(ContextKind::InvalidArg, ContextValue::String(word.to_owned()));
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
}

/// What was typed is repeated only where it is short and no secret: this goes to
/// terminals, logs and agents.
fn redact_values(error: &mut Error) {
    let given: Vec<(ContextKind, String)> = error
        .context()
        .filter_map(|(kind, value)| match value {
            ContextValue::String(given) => Some((kind, given.clone())),
            _ => None,
        })
        .collect();
    let mut is_withheld = false;
    for (kind, given) in given {
        let told = serde_messages::short(&given);
        if told != given {
            error.insert(kind, ContextValue::String(told));
            is_withheld = true;
        }
    }
    if is_withheld {
        // A tip would repeat it.
        for kind in [ContextKind::Suggested, ContextKind::SuggestedArg, ContextKind::SuggestedValue]
        {
            error.remove(kind);
        }
    }
}

/// A command goes by its name with hyphens and with underscores; one will do.
fn deduplicate_suggestions(error: &mut Error) {
    for kind in [ContextKind::SuggestedSubcommand, ContextKind::ValidSubcommand] {
        let Some(ContextValue::Strings(names)) = error.get(kind) else { continue };
        let mut once: Vec<String> = Vec::new();
        for name in names.iter().map(|name| name.replace('_', "-")) {
            if !once.contains(&name) {
                once.push(name);
            }
        }
        error.insert(kind, ContextValue::Strings(once));
    }
}

/// The parser's paragraphs: what is wrong, a tip, the usage, where to look.
fn problem(error: &Error) -> CommandError {
    if matches!(
        error.kind(),
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    ) {
        return CommandError::refused(&InvalidInput::new("command", "is required"))
            .with_hint("twining --help lists the commands");
    }
    let said = error.render().to_string();
    let mut paragraphs = said
        .split("\n\n")
        .map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "));
    let message = paragraphs.next().unwrap_or_default();
    let problem = CommandError::misuse(message.strip_prefix("error: ").unwrap_or(&message));
    match paragraphs.find(|paragraph| !paragraph.is_empty()) {
        Some(next) => problem.with_hint(next.strip_prefix("tip: ").unwrap_or(&next)),
        None => problem,
    }
}
