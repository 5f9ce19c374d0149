//! Printing: stdout is data, stderr is speech, and a reader that has gone away
//! is no error.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};

use serde_json::Value;

use crate::render::command_error::{CommandError, ExitStatus};
use crate::render::json_output;
use crate::render::text_page::TextPage;
use crate::verbs::tool_names::with_command_names;

/// How answers are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputFormat {
    /// For a person.
    Words,
    /// As the tool's JSON.
    Json,
}

/// Leaves colour out on a terminal that says it has none; the library would
/// still colour it on a build machine.
pub(crate) fn apply_terminal_settings() {
    if is_colourless(|name| std::env::var_os(name)) {
        anstream::ColorChoice::Never.write_global();
    }
}

fn is_colourless(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    variable("TERM").is_some_and(|term| term == "dumb")
        && variable("CLICOLOR_FORCE").is_none_or(|force| force == "0")
}

/// A page as wide as the terminal, if one reads it.
pub(crate) fn page() -> TextPage {
    let width = io::stdout().is_terminal().then(terminal_size::terminal_size).flatten();
    TextPage::new(width.map(|(terminal_size::Width(columns), _)| usize::from(columns)))
}

/// Prints what a command has to say, and ends with `ending`.
pub(crate) fn answer(
    style: OutputFormat,
    json: impl FnOnce() -> Value,
    show: impl FnOnce(&mut TextPage),
    ending: ExitStatus,
) -> ExitStatus {
    let printed = match style {
        OutputFormat::Json => print_json(&json()),
        OutputFormat::Words => {
            let mut page = page();
            show(&mut page);
            print(page.as_str())
        }
    };
    after(printed, ending)
}

/// Prints why a command failed: a program that asked for JSON reads stdout.
pub(crate) fn problem(style: OutputFormat, problem: &CommandError) -> ExitStatus {
    let printed = match style {
        OutputFormat::Json => print_json(&problem.to_json()),
        OutputFormat::Words => anstream::stderr().write_all(words(problem).as_bytes()),
    };
    after(printed, problem.ending())
}

/// Why a command failed, with each tool called by its name at a prompt.
pub(crate) fn words(problem: &CommandError) -> String {
    with_command_names(&problem.to_words())
}

/// Reports a problem that did not stop the command.
pub(crate) fn warn_about(problem: &CommandError) {
    let _ = anstream::stderr().write_all(with_command_names(&problem.to_warning()).as_bytes());
}

/// Says something beside the answer.
pub(crate) fn note(words: &str) {
    let _ = writeln!(anstream::stderr(), "{words}");
}

/// Prints words, without colour where nobody would see it. Most have none, and
/// need not be looked through for it.
fn print(words: &str) -> io::Result<()> {
    if words.contains('\u{1b}') {
        anstream::stdout().write_all(words.as_bytes())
    } else {
        io::stdout().write_all(words.as_bytes())
    }
}

fn print_json(value: &Value) -> io::Result<()> {
    let mut text = if io::stdout().is_terminal() {
        json_output::pretty(value)
    } else {
        json_output::compact(value)
    };
    text.push('\n');
    io::stdout().write_all(text.as_bytes())
}

fn after(printed: io::Result<()>, ending: ExitStatus) -> ExitStatus {
    match printed.and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let words = CommandError::of_error("OUTPUT", &error).to_words();
            // If this fails too, there is no way to report it.
            let _ = anstream::stderr().write_all(words.as_bytes());
            ExitStatus::Failed
        }
        _ => ending,
    }
}

#[cfg(test)]
mod tests {
    use crate::output::*;

    #[test]
    fn a_dumb_terminal_gets_no_colour_unless_someone_insists() {
        let with = |term: &'static str, force: Option<&'static str>| {
            is_colourless(move |name| {
                if name == "TERM" { Some(term.into()) } else { force.map(OsString::from) }
            })
        };
        assert!(with("dumb", None));
        assert!(with("dumb", Some("0")));
        assert!(!with("dumb", Some("1")));
        assert!(!with("xterm-256color", None));
    }
}
