//! `audit --ask`: one finding after the other, each settled by a key.
//!
//! The keys are the commands that a finding names, so what a key does is what the same words do at
//! the prompt. Only a person is asked.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use twining_engine::audit::{AuditFinding, CommandToRun};

use crate::commands::decision_form;
use crate::person_check;
use crate::render::command_error::CommandError;

/// The place that a person names in an operation on the knowledge graph.
const PATH_FIELD: &str = r#""path":"PATH""#;

/// What an answer to a finding led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyOutcome {
    /// A command ran and ended well.
    Done,
    /// It is as it was.
    Open,
    /// The person has enough.
    Stop,
}

/// Asks what is to be done about a finding, and does it in the project's folder.
pub(super) fn settle(finding: &AuditFinding, folder: &Path) -> Result<KeyOutcome, CommandError> {
    let mut offered: Vec<String> =
        finding.commands.iter().map(|offer| format!("{} {}", offer.key, offer.does)).collect();
    offered.extend(["Enter next".to_owned(), "q quit".to_owned()]);
    let chosen = loop {
        let answer = person_check::ask(&offered.join(" · "))?;
        match answer.as_str() {
            "q" => return Ok(KeyOutcome::Stop),
            "" => return Ok(KeyOutcome::Open),
            _ => {}
        }
        let mut known = finding.commands.iter();
        if let Some(chosen) = known.find(|offer| answer == offer.key.to_string()) {
            break chosen;
        }
    };
    let mut command = match &chosen.run {
        CommandToRun::Twining(words) => {
            let Some(words) = filled(words, person_check::ask)? else {
                return Ok(KeyOutcome::Open);
            };
            let program = std::env::current_exe()
                .map_err(|error| CommandError::of_error("NOT_FOUND", &error))?;
            let mut command = Command::new(program);
            command.args(words);
            command
        }
        CommandToRun::Editor { file, line } => decision_form::editor_at(file, *line),
    };
    let ended = command.current_dir(folder).status();
    let ended = ended.map_err(|error| CommandError::of_error("NOT_FOUND", &error))?;
    Ok(if ended.success() { KeyOutcome::Done } else { KeyOutcome::Open })
}

/// With what a person says in place of what only they know; none if they say nothing.
fn filled(
    words: &[String],
    ask: impl Fn(&str) -> Result<String, CommandError>,
) -> Result<Option<Vec<String>>, CommandError> {
    let mut filled = Vec::new();
    for word in words {
        let question = match word.as_str() {
            "…" => "Why",
            "SUMMARY" => "What is decided instead, in one line",
            "PATH#NAME" => "Where is it now (PATH#NAME)",
            json if json.contains(PATH_FIELD) => "Where is it now (PATH)",
            _ => {
                filled.push(word.clone());
                continue;
            }
        };
        let said = ask(question)?;
        if said.is_empty() {
            return Ok(None);
        }
        // A path inside an operation is a string of JSON.
        filled.push(match word.contains(PATH_FIELD) {
            true => word.replace(PATH_FIELD, &format!("\"path\":{}", Value::String(said))),
            false => said,
        });
    }
    Ok(Some(filled))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(words: &[&str], answer: &str) -> Option<Vec<String>> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        filled(&words, |_| Ok(answer.to_owned())).expect("asks")
    }

    #[test]
    fn a_person_says_what_a_command_leaves_open() {
        let words = said(&["reconsider", "01M7", "--why", "…"], "it is gone");
        assert_eq!(words.expect("has words"), ["reconsider", "01M7", "--why", "it is gone"]);
        let operation = r#"{"id":"api","op":"update_node","path":"PATH"}"#;
        let words = said(&["--op", operation], "src/\"api").expect("has words");
        assert_eq!(words[1], r#"{"id":"api","op":"update_node","path":"src/\"api"}"#);
    }

    #[test]
    fn who_says_nothing_runs_nothing() {
        assert_eq!(said(&["dismiss", "01M7", "--why", "…"], ""), None);
    }
}
