//! Settings of which some cannot be read: each key is tried alone, and only the
//! bad ones have their defaults.

use serde_json::{Map, Value};
use twining_model::text;

use super::{Config, VERSION, from_yaml, version_line};

/// Bad keys that are named.
const NAMED: usize = 5;

/// Reads what can be read; `why` is what was wrong with the whole.
pub(super) fn read_valid_keys(yaml: &str, why: &str) -> Result<Config, String> {
    let Ok(Value::Object(all)) = from_yaml::<Value>(yaml) else { return Err(why.to_owned()) };
    let mut bad = Vec::new();
    let readable = readable_keys(all, "", &|value| value, &mut bad);
    let mut config = parsed(&Value::Object(readable))?;
    // A version that cannot be read may be a newer one: do not write over it.
    if bad.iter().any(|(key, _)| key == "version") {
        config.version = version_line(yaml.as_bytes()).unwrap_or(VERSION);
    }
    let more = bad.len().saturating_sub(NAMED);
    config.notes.extend(bad.into_iter().take(NAMED).map(|(key, why)| {
        let (key, why) = (text::excerpt(&key, 80), text::excerpt(why.lines().next().unwrap_or_default(), 120));
        format!("config.yml: `{key}` cannot be read and has its default: {why}")
    }));
    if more > 0 {
        config.notes.push(format!("config.yml: {more} more keys cannot be read and have their defaults"));
    }
    Ok(config)
}

/// The keys that can be read, each where it stands.
fn readable_keys(
    keys: Map<String, Value>,
    above: &str,
    place: &dyn Fn(Value) -> Value,
    bad: &mut Vec<(String, String)>,
) -> Map<String, Value> {
    let mut readable = Map::new();
    for (key, value) in keys {
        let path = if above.is_empty() { key.clone() } else { format!("{above}.{key}") };
        let alone = |value: Value| place(Value::Object(Map::from_iter([(key.clone(), value)])));
        match (parsed(&alone(value.clone())), value) {
            (Ok(_), value) => drop(readable.insert(key, value)),
            (Err(why), Value::Object(inner)) => {
                let inner = Value::Object(readable_keys(inner, &path, &alone, bad));
                // An object where none is wanted is bad as a whole.
                if parsed(&alone(inner.clone())).is_ok() {
                    readable.insert(key, inner);
                } else {
                    bad.push((path, why));
                }
            }
            // Nothing is said, and so the default holds.
            (Err(_), Value::Null) => {}
            (Err(why), _) => bad.push((path, why)),
        }
    }
    readable
}

/// The same reader as for the whole file: JSON is YAML too.
fn parsed(value: &Value) -> Result<Config, String> {
    from_yaml(&value.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::{SearchSettings, ToolSettings};
    use super::*;

    #[test]
    fn one_bad_value_has_its_default_and_every_other_key_holds() {
        let config = Config::parse(
            b"project_name: shop\nsearch: {wait_ms: soon, embeddings: false}\nagents:\n  claim_seconds: -1\n  liveness: {idle_after_ms: 7}\ntools: 5\nworktrees: separate\n",
        );
        assert_eq!((config.project_name.as_str(), config.worktrees.as_str()), ("shop", "separate"));
        assert_eq!(config.search, SearchSettings { embeddings: false, ..SearchSettings::default() });
        assert_eq!((config.agents.claim_seconds, config.agents.liveness.idle_after_ms), (30 * 60, 7));
        assert_eq!(config.tools, ToolSettings::default());
        assert_eq!(config.notes.len(), 3, "{:?}", config.notes);
        for key in ["`search.wait_ms`", "`agents.claim_seconds`", "`tools`"] {
            assert!(config.notes.iter().any(|note| note.contains(key)), "{key}: {:?}", config.notes);
        }
    }

    #[test]
    fn a_mark_at_the_start_is_no_part_of_the_first_key() {
        let config = Config::parse(b"\xEF\xBB\xBFproject_name: shop\n");
        assert_eq!((config.project_name.as_str(), config.notes.len()), ("shop", 0));
        assert_eq!(Config::parse(b"\xEF\xBB\xBFversion: 2\narchive: [\n").version, 2);
    }
}
