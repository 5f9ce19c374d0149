//! Surgery on JSON settings that people write by hand: an entry or a hook comes
//! and goes; comments, order and everybody else's entries stay.
//!
//! The text is parsed into a tree that keeps every byte (`jsonc-parser`), changed
//! there, and printed again.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use serde_json::Value;

/// Settings nest a handful of levels; a parser that recurses is not handed more.
const DEEPEST: usize = 64;
const BOM: char = '\u{feff}';

/// Why a file cannot be changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SettingsError {
    /// It is not what it should be.
    #[error("line {line}, column {column}: {what}")]
    Malformed {
        /// From one.
        line: usize,
        /// From one.
        column: usize,
        /// What the parser says.
        what: String,
    },
    /// It is deeper than any settings are.
    #[error("it is nested too deeply")]
    TooDeep,
    /// A value is not the expected object or list.
    #[error("`{0}` is not {1}")]
    OtherKind(String, &'static str),
    /// The entry of this name starts something else.
    #[error("`{0}` already exists and starts something else")]
    Taken(String),
}

/// Settings that are open for surgery.
pub(crate) struct JsoncFile {
    root: CstRootNode,
    bom: bool,
}

impl JsoncFile {
    /// Takes a file apart; no file is an empty object.
    pub(crate) fn read(text: Option<&str>) -> Result<Self, SettingsError> {
        let whole = text.unwrap_or_default();
        let text = whole.strip_prefix(BOM).unwrap_or(whole);
        let bom = text.len() < whole.len();
        let text = if text.trim().is_empty() { "{}\n" } else { text };
        if depth(text) > DEEPEST {
            return Err(SettingsError::TooDeep);
        }
        let options = ParseOptions {
            allow_comments: true,
            allow_trailing_commas: true,
            allow_loose_object_property_names: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        let root =
            CstRootNode::parse(text, &options).map_err(|error| SettingsError::Malformed {
                line: error.line_display(),
                column: error.column_display(),
                what: error.kind().to_string(),
            })?;
        if root.object_value().is_none() {
            return Err(SettingsError::OtherKind("the file".to_owned(), "an object"));
        }
        Ok(Self { root, bom })
    }

    /// The text as it is now.
    pub(crate) fn text(&self) -> String {
        let mut text = self.root.to_string();
        if self.bom {
            text.insert(0, BOM);
        }
        text
    }

    /// All that the settings say.
    pub(crate) fn to_json(&self) -> Value {
        self.root.to_serde_value().unwrap_or_default()
    }

    /// Whether nothing is left that says anything.
    pub(crate) fn is_empty(&self) -> bool {
        let bare = self.root.to_string();
        bare.split_whitespace().collect::<String>() == "{}"
    }

    /// Returns the value at a path of keys, as hosts read it: of duplicate keys the last one
    /// counts.
    pub(crate) fn get(&self, path: &[&str]) -> Option<Value> {
        let (last, above) = path.split_last()?;
        let object = above.iter().try_fold(self.root.object_value()?, |object, key| {
            last_named(&object, key)?.object_value()
        })?;
        last_named(&object, last)?.value()?.to_serde_value()
    }

    /// Sets a key that is not there yet.
    pub(crate) fn add(&self, path: &[&str], key: &str, value: &Value) -> Result<(), SettingsError> {
        let object = self.object(path)?;
        if last_named(&object, key).is_none() {
            object.append(key, input(value));
        }
        Ok(())
    }

    /// Sets an entry that is ours or missing; one of the same name that somebody else wrote is left
    /// alone and reported.
    pub(crate) fn set(
        &self,
        path: &[&str],
        key: &str,
        value: &Value,
        is_ours: impl Fn(&Value) -> bool,
    ) -> Result<(), SettingsError> {
        let object = self.object(path)?;
        match last_named(&object, key) {
            None => drop(object.append(key, input(value))),
            Some(found) => {
                let there =
                    found.value().and_then(|node| node.to_serde_value()).unwrap_or_default();
                if !is_ours(&there) {
                    return Err(SettingsError::Taken([path, &[key]].concat().join(".")));
                }
                if there != *value {
                    found.set_value(input(value));
                }
            }
        }
        Ok(())
    }

    /// Takes an entry of ours out, and with it the objects around it that are empty then.
    pub(crate) fn unset(&self, path: &[&str], key: &str, is_ours: impl Fn(&Value) -> bool) {
        self.remove(&[path, &[key]].concat(), &is_ours);
    }

    /// Hangs a group of hooks under an event of `hooks`. Of ours there is exactly
    /// this one; others' stay where they are.
    pub(crate) fn add_hook(&self, event: &str, group: &Value) -> Result<(), SettingsError> {
        let list = self.array(&["hooks"], event)?;
        let ours: Vec<Value> = list
            .elements()
            .into_iter()
            .filter_map(|node| node.to_serde_value())
            .filter(|value| handlers(value).any(is_twining_hook))
            .collect();
        if ours.as_slice() != std::slice::from_ref(group) {
            remove_hooks_from(&list);
            list.append(input(group));
        }
        Ok(())
    }

    /// Takes every hook of ours out, and what is empty then.
    pub(crate) fn remove_hooks(&self) {
        let Some(root) = self.root.object_value() else { return };
        for found in named(&root, "hooks") {
            let Some(hooks) = found.object_value() else { continue };
            let mut touched = false;
            for event in hooks.properties() {
                let Some(list) = event.array_value() else { continue };
                if remove_hooks_from(&list) {
                    touched = true;
                    if list.elements().is_empty() {
                        event.remove();
                    }
                }
            }
            if touched && hooks.properties().is_empty() {
                found.remove();
            }
        }
    }

    /// Appends words to a list, each once, after its existing elements.
    pub(crate) fn list(&self, path: &[&str], words: &[String]) -> Result<(), SettingsError> {
        let Some((key, above)) = path.split_last() else { return Ok(()) };
        let list = self.array(above, key)?;
        let there: Vec<Value> =
            list.elements().iter().filter_map(CstNode::to_serde_value).collect();
        for word in words.iter().filter(|word| !there.contains(&Value::from(word.as_str()))) {
            list.append(CstInputValue::String(word.clone()));
        }
        Ok(())
    }

    /// Takes words out of a list, and what is empty then.
    pub(crate) fn unlist(&self, path: &[&str], words: &[String]) {
        self.remove(path, &|word| words.iter().any(|known| word == known.as_str()));
    }

    fn remove(&self, path: &[&str], is_ours: &dyn Fn(&Value) -> bool) {
        if let Some(root) = self.root.object_value() {
            remove_in(&root, path, is_ours);
        }
    }

    fn object(&self, path: &[&str]) -> Result<CstObject, SettingsError> {
        let mut object = self.root.object_value_or_set();
        for (depth, key) in path.iter().enumerate() {
            let inner = match last_named(&object, key) {
                Some(there) => there.object_value(),
                None => object.object_value_or_create(key),
            };
            object = inner
                .ok_or_else(|| SettingsError::OtherKind(path[..=depth].join("."), "an object"))?;
        }
        Ok(object)
    }

    fn array(&self, path: &[&str], key: &str) -> Result<CstArray, SettingsError> {
        let object = self.object(path)?;
        let list = match last_named(&object, key) {
            Some(there) => there.array_value(),
            None => object.array_value_or_create(key),
        };
        list.ok_or_else(|| SettingsError::OtherKind([path, &[key]].concat().join("."), "a list"))
    }
}

/// Whether an entry is ours: its command, or its first word, is us, whatever became
/// of the rest.
pub(crate) fn starts_twining(entry: &Value) -> bool {
    match &entry["command"] {
        Value::String(command) => command == "twining",
        list => strings(list).next() == Some("twining"),
    }
}

/// The properties of this name.
fn named(object: &CstObject, name: &str) -> Vec<CstObjectProp> {
    object
        .properties()
        .into_iter()
        .filter(|found| found.decoded_name().as_deref() == Some(name))
        .collect()
}

/// Returns the effective property of this name: of duplicate keys, hosts read the last.
fn last_named(object: &CstObject, name: &str) -> Option<CstObjectProp> {
    named(object, name).pop()
}

/// Takes what is ours at a path out, or out of the list at that path, and what is empty then;
/// whether there was any.
fn remove_in(object: &CstObject, path: &[&str], is_ours: &dyn Fn(&Value) -> bool) -> bool {
    let Some((name, rest)) = path.split_first() else { return false };
    let ours = |node: &CstNode| node.to_serde_value().is_some_and(|value| is_ours(&value));
    let mut touched = false;
    for found in named(object, name) {
        let (was_there, is_empty) = match (found.array_value(), found.object_value()) {
            (_, Some(inner)) if !rest.is_empty() => {
                (remove_in(&inner, rest, is_ours), inner.properties().is_empty())
            }
            (Some(list), _) if rest.is_empty() => {
                let goes: Vec<CstNode> = list.elements().into_iter().filter(ours).collect();
                let was_there = !goes.is_empty();
                goes.into_iter().for_each(CstNode::remove);
                (was_there, list.elements().is_empty())
            }
            _ => (rest.is_empty() && found.value().is_some_and(|value| ours(&value)), true),
        };
        touched |= was_there;
        if was_there && is_empty {
            found.remove();
        }
    }
    touched
}

/// Whether a handler calls our hook.
pub(crate) fn is_twining_hook(handler: &Value) -> bool {
    let Some(command) = handler["command"].as_str() else { return false };
    let mut words = command.split_whitespace().chain(strings(&handler["args"]));
    words.next().is_some_and(|program| program == "twining" || program.ends_with("/twining"))
        && words.next() == Some("hook")
}

/// The handlers of a group; a flat entry is its own.
pub(crate) fn handlers(group: &Value) -> impl Iterator<Item = &Value> {
    let flat = group.get("hooks").is_none().then_some(group);
    group["hooks"].as_array().into_iter().flatten().chain(flat)
}

fn strings(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// Removes our handlers from a list of groups; whether there were any.
fn remove_hooks_from(list: &CstArray) -> bool {
    let mut touched = false;
    for group in list.elements() {
        let ours =
            |node: &CstNode| node.to_serde_value().is_some_and(|value| is_twining_hook(&value));
        let inner = group.as_object().and_then(|object| object.array_value("hooks"));
        match inner {
            Some(inner) => {
                let all = inner.elements();
                let (mine, others): (Vec<CstNode>, Vec<CstNode>) = all.into_iter().partition(ours);
                if mine.is_empty() {
                    continue;
                }
                touched = true;
                if others.is_empty() {
                    group.remove();
                } else {
                    mine.into_iter().for_each(CstNode::remove);
                }
            }
            None if ours(&group) => {
                touched = true;
                group.remove();
            }
            None => {}
        }
    }
    touched
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(is) => CstInputValue::Bool(*is),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(fields) => CstInputValue::Object(
            fields.iter().map(|(key, value)| (key.clone(), input(value))).collect(),
        ),
    }
}

/// How deep brackets nest outside of strings; comments may make it look deeper.
fn depth(text: &str) -> usize {
    let (mut now, mut most, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'\n' => in_string = false,
            b'{' | b'[' if !in_string => {
                now += 1;
                most = most.max(now);
            }
            b'}' | b']' if !in_string => now = now.saturating_sub(1),
            _ => {}
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use twining_testcases::each;

    use super::*;

    fn group() -> Value {
        json!({"matcher": "Write", "hooks": [{"type": "command", "command": "twining", "args": ["hook", "PreToolUse"]}]})
    }

    const FOREIGN: [&str; 6] = [
        "{}\n",
        "{\n  // mine\n  \"model\": \"x\", /* why */\n  \"hooks\": {\n    \"PreToolUse\": [\n      { \"hooks\": [{ \"type\": \"command\", \"command\": \"lint\" }] } // keep\n    ]\n  }\n}\n",
        "{\"a\":1,\"mcpServers\":{\"other\":{\"command\":\"x\"}}}",
        "{\n\t\"hooks\": {\n\t\t\"Stop\": [],\n\t},\n}\n",
        "{\r\n  \"b\": [1, 2]\r\n}\r\n",
        "{\n    \"z\": true,\n    \"a\": null\n}",
    ];

    #[test]
    fn what_others_wrote_survives_our_coming_and_going() {
        each(FOREIGN, |text| {
            let settings = JsoncFile::read(Some(text)).expect("parses");
            let value = json!({"command": "twining", "args": ["mcp"]});
            settings.set(&["mcpServers"], "twining", &value, starts_twining).expect("fits");
            settings.add_hook("PreToolUse", &group()).expect("fits");
            let with = settings.text();
            let again = JsoncFile::read(Some(&with)).expect("parses");
            again.set(&["mcpServers"], "twining", &value, starts_twining).expect("fits");
            again.add_hook("PreToolUse", &group()).expect("fits");
            assert_eq!(again.text(), with, "twice is once");
            for kept in ["// mine", "/* why */", "// keep", "lint", "\"other\""] {
                assert_eq!(with.contains(kept), text.contains(kept), "{kept} in {with}");
            }
            again.unset(&["mcpServers"], "twining", starts_twining);
            again.remove_hooks();
            let parse =
                |text: &str| JsoncFile::read(Some(text)).expect("parses").root.to_serde_value();
            assert_eq!(parse(&again.text()), parse(text), "{}", again.text());
        });
    }

    #[test]
    fn an_old_hook_of_ours_gives_way_and_a_shared_group_keeps_the_others() {
        let text = json!({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [
            {"type": "command", "command": "/opt/bin/twining hook pre-tool-use"}, {"type": "command", "command": "lint"}]}]}});
        let settings = JsoncFile::read(Some(&text.to_string())).expect("parses");
        settings.add_hook("PreToolUse", &group()).expect("fits");
        let hooks = settings.get(&["hooks", "PreToolUse"]).expect("is there");
        assert_eq!(
            hooks,
            json!([{"matcher": "Bash", "hooks": [{"type": "command", "command": "lint"}]}, group()])
        );
    }

    #[test]
    fn somebody_elses_entry_of_our_name_is_not_overwritten() {
        let settings = JsoncFile::read(Some(
            r#"{"mcpServers":{"twining":{"command":"npx","args":["twining-mcp"]}}}"#,
        ))
        .expect("parses");
        assert_eq!(
            settings.set(&["mcpServers"], "twining", &json!({}), starts_twining),
            Err(SettingsError::Taken("mcpServers.twining".to_owned()))
        );
    }

    #[test]
    fn what_is_no_settings_file_is_refused_with_its_place() {
        assert_eq!(
            JsoncFile::read(Some("{\n  \"a\": ,\n}"))
                .err()
                .map(|unfit| unfit.to_string().starts_with("line 2")),
            Some(true)
        );
        assert!(JsoncFile::read(Some("[]")).is_err());
        assert_eq!(JsoncFile::read(Some(&"[".repeat(100_000))).err(), Some(SettingsError::TooDeep));
        let list = JsoncFile::read(Some(r#"{"hooks": 1}"#)).expect("parses");
        assert!(list.add_hook("Stop", &group()).is_err());
    }
}
