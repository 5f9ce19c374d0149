//! A decision written in an editor: a form with a line for each field.

use std::fs;
use std::io::{self, Write};
use std::process::Command;

use serde_json::{Map, Value};

use crate::render::command_error::CommandError;

/// Form fields and their labels.
const FIELDS: [(&str, &str); 6] = [
    ("summary", "Summary:"),
    ("rationale", "Why:"),
    ("scope", "Scope:"),
    ("domain", "Domain:"),
    ("context", "Context:"),
    ("rules_out", "Rules out:"),
];

const NOTE: &str = "# The summary is one line; a reason may have several. What is left empty has\n# its default. \"Rules out\" lists libraries and paths, with commas between.\n# Lines that begin with # are left out; without a summary nothing is recorded.\n";

/// The person's editor, if they named one.
pub(super) fn editor() -> Option<String> {
    let named = ["VISUAL", "EDITOR"].iter().find_map(|name| std::env::var(name).ok());
    named.filter(|editor| !editor.trim().is_empty())
}

/// The person's editor on a line of a file, through a shell, as git does it: an editor may be named
/// with its flags.
pub(super) fn editor_at(file: &str, line: usize) -> Command {
    let editor = editor().unwrap_or_else(|| "vi".to_owned());
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{editor} \"$@\""), "editor", &format!("+{line}"), file]);
    command
}

/// Lets the person write what is given, and more.
pub(super) fn edit(given: Map<String, Value>) -> Result<Map<String, Value>, CommandError> {
    let failed = |error: io::Error| CommandError::of_error("EDITOR", &error);
    let file = tempfile::tempdir().map_err(failed)?.keep().join("decision.txt");
    fs::write(&file, form(&given)).map_err(failed)?;
    // Through a shell, as git does it: an editor may be named with its flags.
    let call = format!("{} \"$@\"", editor().unwrap_or_else(|| "vi".to_owned()));
    let ended =
        Command::new("sh").args(["-c", &call, "editor"]).arg(&file).status().map_err(failed)?;
    if !ended.success() {
        return Err(CommandError::unavailable("EDITOR", "nothing was recorded: the editor failed"));
    }
    let written = read(&fs::read_to_string(&file).map_err(failed)?, given);
    if !written.contains_key("summary") {
        return Err(CommandError::misuse("nothing was recorded: there is no summary".to_owned()));
    }
    // It may still be refused, and what was written is not lost then.
    let _ = writeln!(io::stderr(), "your text is in {}", file.display());
    Ok(written)
}

fn form(given: &Map<String, Value>) -> String {
    let line = |(field, label): &(&str, &str)| format!("{label} {}\n", text_of(given.get(*field)));
    FIELDS.iter().map(line).chain([NOTE.to_owned()]).collect()
}

fn text_of(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(items)) => {
            items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
        }
        _ => String::new(),
    }
}

/// Parses the form; keeps given fields that have no line in it.
fn read(text: &str, mut given: Map<String, Value>) -> Map<String, Value> {
    FIELDS.iter().for_each(|(field, _)| drop(given.remove(*field)));
    let mut written: Vec<(&str, String)> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let begun =
            FIELDS.iter().find_map(|(field, label)| Some((*field, line.strip_prefix(label)?)));
        match (begun, written.last_mut()) {
            (Some((field, rest)), _) => written.push((field, rest.trim().to_owned())),
            (None, Some((_, text))) => *text = format!("{text}\n{}", line.trim_end()),
            (None, None) => {}
        }
    }
    for (field, text) in written {
        let text = text.trim();
        if text.is_empty() {
            continue;
        }
        let value = if field == "rules_out" {
            text.split(',').map(|item| Value::from(item.trim())).collect()
        } else {
            Value::from(text)
        };
        given.insert(field.to_owned(), value);
    }
    given
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: &Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn a_form_holds_what_is_given_and_gives_it_back() {
        let given = map(&json!({
            "summary": "Use JWT", "rationale": "no store\nto run", "rules_out": ["moment", "src/old/"], "confidence": "high"
        }));
        assert_eq!(read(&form(&given), given.clone()), given);
    }

    #[test]
    fn what_is_emptied_is_not_given() {
        let given = map(&json!({"summary": "Use JWT", "scope": "src/"}));
        assert_eq!(read("# note\nSummary:\nScope: lib/\n", given), map(&json!({"scope": "lib/"})));
    }
}
