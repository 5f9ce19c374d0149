//! A call as the command line that does the same: for people to copy.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use clap::Command;
use serde_json::{Map, Value};

use crate::render::json_output;
use crate::verbs::verb::VerbEntry;

/// Fields that a flag of every command gives.
const SIGNED: [&str; 2] = ["agent_id", "source_agent"];

/// What a command line calls the fields of a verb. Made from its flags once: a page of items
/// has hundreds of calls.
struct TypedFields {
    /// Those that are given without a flag, in their order.
    words: Vec<String>,
    /// The flag of each, by its path in the JSON.
    flags: HashMap<String, String>,
}

static TYPED_FIELDS: Mutex<BTreeMap<&str, Arc<TypedFields>>> = Mutex::new(BTreeMap::new());

impl TypedFields {
    fn of(verb: &VerbEntry) -> Arc<Self> {
        let mut known = TYPED_FIELDS.lock().unwrap_or_else(PoisonError::into_inner);
        let typed = known.entry(verb.name).or_insert_with(|| {
            let command = (verb.with_flags)(Command::new("twining"));
            let ids = command.get_arguments().map(|arg| (arg.get_id().as_str(), arg.get_long()));
            let ids: Vec<(&str, Option<&str>)> = ids.collect();
            let words = ids.iter().filter_map(|(id, _)| id.strip_prefix("word "));
            let flags = ids.iter().filter_map(|(id, long)| {
                Some((id.strip_prefix("field ")?.to_owned(), (*long)?.to_owned()))
            });
            Arc::new(Self { words: words.map(str::to_owned).collect(), flags: flags.collect() })
        });
        Arc::clone(typed)
    }

    /// The fields as words and flags; none where they cannot say them.
    fn line(&self, fields: &Map<String, Value>) -> Option<String> {
        let (mut line, mut rest) = (String::new(), fields.clone());
        for (at, name) in self.words.iter().enumerate() {
            let words: Vec<&str> = match rest.get(name) {
                Some(Value::String(word)) => vec![word],
                // The last word may be many.
                Some(Value::Array(words)) if at + 1 == self.words.len() => {
                    words.iter().filter_map(plain_item).collect()
                }
                _ => break,
            };
            let all = rest[name].as_array().map_or(1, Vec::len);
            if words.len() < all || words.iter().any(|word| word.starts_with('-')) {
                break;
            }
            words.iter().for_each(|word| line.push_str(&format!(" {}", quoted(word))));
            rest.shift_remove(name);
        }
        self.add_flags("", &rest, &mut line)?;
        Some(line)
    }

    fn add_flags(&self, above: &str, fields: &Map<String, Value>, line: &mut String) -> Option<()> {
        for (name, value) in fields {
            let flag = match self.flags.get(&format!("{above}{name}")) {
                Some(flag) => flag,
                None if SIGNED.contains(&name.as_str()) => "agent",
                None => {
                    self.add_flags(&format!("{above}{name}."), value.as_object()?, line)?;
                    continue;
                }
            };
            match value {
                Value::Null => {}
                Value::Bool(true) => line.push_str(&format!(" --{flag}")),
                Value::Array(items) => {
                    for item in items {
                        line.push_str(&format!(" --{flag}={}", quoted(plain_item(item)?)));
                    }
                }
                Value::Object(_) => return None,
                Value::String(text) => line.push_str(&format!(" --{flag}={}", quoted(text))),
                other => line.push_str(&format!(" --{flag}={other}")),
            }
        }
        Some(())
    }
}

/// The command line for a call; none where a command of another form does it.
pub(crate) fn of_call(verb: &VerbEntry, fields: &Map<String, Value>) -> Option<String> {
    let name = format!("twining {}", verb.command_name());
    if let Some(flags) = TypedFields::of(verb).line(fields) {
        return Some(name + &flags);
    }
    let json = quoted(&json_output::compact(fields));
    verb.command.is_none().then(|| format!("echo {json} | {name} --json-input -"))
}

/// An item of a list, if a flag can say it: a comma would make two of it.
fn plain_item(item: &Value) -> Option<&str> {
    item.as_str().filter(|text| !text.contains(','))
}

/// A word as a shell takes it for one.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._/:@%+".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use twining_testcases::each;

    use super::*;
    use crate::commands::VERBS;

    fn line(verb: &str, fields: &Value) -> String {
        let verb = VERBS.iter().find(|entry| entry.name == verb).expect("is a verb");
        of_call(verb, fields.as_object().expect("an object")).expect("has a command")
    }

    #[test]
    fn a_call_is_shown_as_a_person_would_type_it() {
        each(
            [
                (
                    "override",
                    json!({"decision_id": "01M7", "reason": "we can't"}),
                    r"twining override 01M7 --why='we can'\''t'",
                ),
                (
                    "post",
                    json!({"entry_type": "finding", "summary": "a b", "tags": ["x", "y"]}),
                    "twining post finding 'a b' --tag=x --tag=y",
                ),
                (
                    "knowledge_retrieve",
                    json!({"terms": "errors"}),
                    "twining knowledge retrieve errors",
                ),
                (
                    "recent",
                    json!({"n": 3, "agent_id": "ada"}),
                    "twining recent --limit=3 --agent=ada",
                ),
                (
                    "promote",
                    json!({"decision_ids": ["01M7"], "instead_of": ["01M6"]}),
                    "twining promote 01M7 --instead-of=01M6",
                ),
                (
                    "dismiss",
                    json!({"ids": ["a,b"]}),
                    r#"echo '{"ids":["a,b"]}' | twining dismiss --json-input -"#,
                ),
            ],
            |(verb, fields, wanted)| {
                assert_eq!(line(verb, &fields), wanted);
            },
        );
    }
}
