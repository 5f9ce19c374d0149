//! Errors in two forms: for a person on stderr, and for a program as the tool's error JSON.

use std::error::Error;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use serde_json::{Value, json};
use twining_engine::Failure;
use twining_model::{InvalidInput, text};
use twining_store::StoreError;

/// How a command ended; the numbers are promised in `--help`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// It did what it was asked.
    Done,
    /// It could not: not found, a state that forbids it, the store.
    Failed,
    /// What it was asked makes no sense.
    Misused,
    /// It ran, and what it looked at is not in order.
    FoundProblems,
}

impl From<ExitStatus> for ExitCode {
    fn from(ending: ExitStatus) -> Self {
        Self::from(match ending {
            ExitStatus::Done => 0,
            ExitStatus::Failed => 1,
            ExitStatus::Misused => 2,
            ExitStatus::FoundProblems => 3,
        })
    }
}

/// A failure in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandError {
    code: String,
    message: String,
    causes: Vec<String>,
    hint: Option<String>,
}

impl CommandError {
    /// An input that broke a rule.
    pub(crate) fn refused(refused: &InvalidInput) -> Self {
        Self::misuse(refused.to_string())
    }

    /// A command line that makes no sense.
    pub(crate) fn misuse(message: impl Into<String>) -> Self {
        Self::unavailable("INVALID_INPUT", message)
    }

    /// Something this program cannot do as it is.
    pub(crate) fn unavailable(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into(), causes: Vec::new(), hint: None }
    }

    /// Something the machine would not do.
    pub(crate) fn of_error(code: &str, error: &dyn Error) -> Self {
        Self { causes: causes_of(error), ..Self::unavailable(code, error.to_string()) }
    }

    /// Adds the next step.
    #[must_use]
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Whether an input broke a rule.
    #[cfg(feature = "service")]
    pub(crate) fn is_misuse(&self) -> bool {
        self.code == "INVALID_INPUT"
    }

    /// Calls the fields of an input by what was typed for them.
    #[must_use]
    pub(crate) fn naming(mut self, typed: &[(String, String)]) -> Self {
        if self.code == "INVALID_INPUT" {
            for (field, typed) in typed {
                self.message = self.message.replace(&format!("`{field}`"), typed);
            }
        }
        self
    }

    /// The error as a tool result holds it. The causes join the message: a
    /// model sees this object and nothing else.
    pub(crate) fn to_json(&self) -> Value {
        let message = std::iter::once(&self.message)
            .chain(&self.causes)
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(": ");
        let mut json = json!({ "error": true, "code": self.code, "message": message });
        if let Some(hint) = &self.hint {
            json["hint"] = json!(hint);
        }
        json
    }

    /// The error as a person reads it, with the escapes of its styles.
    pub(crate) fn to_words(&self) -> String {
        self.styled("error", AnsiColor::Red)
    }

    /// The same for one that kept nobody from their work.
    pub(crate) fn to_warning(&self) -> String {
        self.styled("warning", AnsiColor::Yellow)
    }

    fn styled(&self, weight: &str, colour: AnsiColor) -> String {
        let (strong, label) = (colour.on_default().bold(), Style::new().bold());
        let mut words = format!(
            "{}{weight}{}: {}\n",
            strong.render(),
            strong.render_reset(),
            text::visible(&self.message)
        );
        let hint = self.hint.iter().map(|hint| ("hint", hint));
        for (name, line) in self.causes.iter().map(|cause| ("cause", cause)).chain(hint) {
            words.push_str(&format!(
                "  {}{name}{}: {}\n",
                label.render(),
                label.render_reset(),
                text::visible(line)
            ));
        }
        words
    }

    /// How a command that met it ends.
    pub(crate) fn ending(&self) -> ExitStatus {
        if self.code == "INVALID_INPUT" { ExitStatus::Misused } else { ExitStatus::Failed }
    }
}

impl From<&Failure> for CommandError {
    fn from(failure: &Failure) -> Self {
        Self { hint: failure.hint(), ..Self::of_error(failure.code(), failure) }
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        Self::from(Failure::from(error))
    }
}

impl From<Failure> for CommandError {
    fn from(failure: Failure) -> Self {
        Self::from(&failure)
    }
}

/// The chain below an error. One that only repeats what is above it is left out.
fn causes_of(error: &dyn Error) -> Vec<String> {
    let mut previous = error.to_string();
    let mut causes = Vec::new();
    let mut next = error.source();
    while let Some(error) = next {
        let cause = error.to_string();
        if cause != previous {
            causes.push(cause.clone());
            previous = cause;
        }
        next = error.source();
    }
    causes
}

#[cfg(test)]
mod tests {
    use crate::render::command_error::*;

    #[test]
    fn an_error_names_its_cause_and_the_next_step() {
        let error = std::io::Error::other("disk on fire");
        let problem =
            CommandError::of_error("FILE_WRITE_ERROR", &error).with_hint("call \u{1b}someone");
        let words = anstream::adapter::strip_str(&problem.to_words()).to_string();
        assert_eq!(words, "error: disk on fire\n  hint: call U+001Bsomeone\n");
        assert!(
            anstream::adapter::strip_str(&problem.to_warning())
                .to_string()
                .starts_with("warning: disk on fire\n")
        );
        assert_eq!(problem.ending(), ExitStatus::Failed);
        assert_eq!(problem.to_json()["code"], "FILE_WRITE_ERROR");
    }

    #[test]
    fn bad_input_is_misuse() {
        let problem = CommandError::refused(&InvalidInput::new("scope", "must not be empty"));
        assert_eq!(problem.ending(), ExitStatus::Misused);
        assert_eq!(
            problem.to_json(),
            json!({"error": true, "code": "INVALID_INPUT", "message": "`scope` must not be empty"})
        );
    }
}
