//! A command line that makes no sense: what the parser says of it, for a person
//! or for a program.

use std::ffi::OsString;

use clap::builder::PossibleValue;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Error};
use twining_engine::nearest;
use twining_model::InvalidInput;

use crate::cli::hyphen_values;
use crate::output::{self, OutputFormat};
use crate::render::command_error::{CommandError, ExitStatus};
use crate::verbs::serde_messages;

/// Prints what the parser has to say: help that was asked for, or what is wrong.
pub(crate) fn tell(
    mut error: Error,
    command: &Command,
    words: &[OsString],
    style: OutputFormat,
) -> ExitStatus {
    if error.kind() == ErrorKind::UnknownArgument {
        return output::problem(style, &unknown_argument(&error, command, words));
    }
    if error.kind() == ErrorKind::InvalidSubcommand {
        return output::problem(style, &unknown_command(&error, command, words));
    }
    if error.kind() == ErrorKind::MissingRequiredArgument {
        return output::problem(style, &missing_argument(&error, command, words));
    }
    redact_values(&mut error);
    if error.use_stderr() && style == OutputFormat::Json {
        return output::problem(style, &problem(&error));
    }
    // A reader that has gone away is no error.
    let _ = error.print();
    if error.use_stderr() { ExitStatus::Misused } else { ExitStatus::Done }
}

/// A flag that this command has not, or a word that it has no place for.
fn unknown_argument(error: &Error, command: &Command, words: &[OsString]) -> CommandError {
    let given = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(given)) => given.as_str(),
        _ => "",
    };
    // Of a word that begins with one dash the parser names a letter.
    let is_short = given.starts_with('-') && !given.starts_with("--") && given.len() > 1;
    let word = words
        .iter()
        .filter_map(|word| word.to_str())
        .find(|word| is_short && word.starts_with(given))
        .unwrap_or(given);
    let (name, called) = called(command, words);
    let flags = hyphen_values::flags(command, words);
    let shown = serde_messages::short(word);
    if !word.starts_with('-') {
        let places: Vec<String> = called.get_positionals().map(value_name).collect();
        if let [only @ ("SCOPE" | "PATH" | "ID")] =
            places.iter().map(String::as_str).collect::<Vec<_>>()[..]
        {
            return CommandError::misuse(format!(
                "`{name}` takes one {only} at a time, not also `{shown}`"
            ));
        }
        return CommandError::misuse(format!("`{shown}` is one word too many for `{name}`"))
            .with_hint(format!("put quotes around a text with spaces; {name} --help"));
    }
    let longs: Vec<&str> = flags.iter().filter_map(|flag| flag.get_long()).collect();
    let hint = match error.get(ContextKind::SuggestedArg) {
        Some(ContextValue::String(near)) => {
            let near = near.trim_start_matches("--").split([' ', '=']).next().unwrap_or_default();
            let meant = flags
                .iter()
                .find(|flag| flag.get_all_aliases().is_some_and(|names| names.contains(&near)));
            let near = meant.and_then(|flag| flag.get_long()).unwrap_or(near);
            format!("did you mean --{near}?")
        }
        _ if !word.starts_with("--") => {
            format!("to give a text that begins with a dash, write -- \"{shown}\"")
        }
        _ => format!("it has --{}", longs.join(", --")),
    };
    CommandError::misuse(format!("`{name}` has no flag `{shown}`")).with_hint(hint)
}

/// A command that does not exist, with the one that was probably meant.
fn unknown_command(error: &Error, command: &Command, words: &[OsString]) -> CommandError {
    let given = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(given)) => given.replace('_', "-"),
        _ => String::new(),
    };
    let (name, level) = called(command, words);
    let names: Vec<&str> = level
        .get_subcommands()
        .filter(|inner| !inner.is_hide_set())
        .map(Command::get_name)
        .collect();
    let begins = names.iter().find(|known| given.len() > 1 && known.starts_with(given.as_str()));
    let near = nearest(&given, names.iter().copied()).or(begins.copied());
    let hint = match near {
        Some(near) => format!("did you mean `{name} {near}`?"),
        None => format!("{name} --help lists the commands"),
    };
    let shown = serde_messages::short(&given);
    CommandError::misuse(format!("`{name}` has no command `{shown}`")).with_hint(hint)
}

/// A word or flag that is not there and must be, perhaps because of another.
fn missing_argument(error: &Error, command: &Command, words: &[OsString]) -> CommandError {
    let (name, called) = called(command, words);
    let missing = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(missing)) => missing.join(" "),
        _ => String::new(),
    };
    let choices = called
        .get_positionals()
        .find(|place| place.to_string() == missing)
        .map(|place| place.get_possible_values())
        .unwrap_or_default();
    let choices: Vec<&str> = choices.iter().map(PossibleValue::get_name).collect();
    let because = if missing.starts_with("--") { " with these flags" } else { "" };
    let message = match choices[..] {
        [] => format!("`{name}` needs {missing}{because}"),
        _ => format!("say what: `{name}` takes {}", choices.join(", ")),
    };
    CommandError::misuse(message).with_hint(format!("{name} --help shows its flags and an example"))
}

fn value_name(place: &Arg) -> String {
    place.get_value_names().unwrap_or_default().iter().map(ToString::to_string).collect()
}

/// The command that these words call, and its name.
fn called<'c>(command: &'c Command, words: &[OsString]) -> (String, &'c Command) {
    let (mut level, mut name) = (command, "twining".to_owned());
    for word in words.iter().skip(1).filter_map(|word| word.to_str()) {
        if let Some(inner) = level.find_subcommand(word) {
            name = format!("{name} {}", inner.get_name());
            level = inner;
        }
    }
    (name, level)
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
        let shortened = serde_messages::short(&given);
        if shortened != given {
            error.insert(kind, ContextValue::String(shortened));
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

/// The parser's paragraphs: what is wrong, a tip, the usage, where to look.
fn problem(error: &Error) -> CommandError {
    if matches!(
        error.kind(),
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    ) {
        return CommandError::refused(&InvalidInput::new("command", "is required"))
            .with_hint("twining --help lists the commands");
    }
    let rendered = error.render().to_string();
    let mut paragraphs = rendered
        .split("\n\n")
        .map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "));
    let message = paragraphs.next().unwrap_or_default();
    let problem = CommandError::misuse(message.strip_prefix("error: ").unwrap_or(&message));
    match paragraphs.find(|paragraph| !paragraph.is_empty()) {
        Some(next) => problem.with_hint(next.strip_prefix("tip: ").unwrap_or(&next)),
        None => problem,
    }
}
