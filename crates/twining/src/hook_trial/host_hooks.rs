//! Where hosts configure what to call, and the configuration there.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::settings::codex_toml;
use crate::settings::jsonc::JsoncFile;

/// Where each host configures what to call, relative to the project's root.
const IN_PROJECT: [(&str, &str); 7] = [
    ("claude", ".claude/settings.json"),
    ("claude", ".claude/settings.local.json"),
    ("codex", ".codex/hooks.json"),
    ("codex", ".codex/config.toml"),
    ("gemini", ".gemini/settings.json"),
    ("cursor", ".cursor/hooks.json"),
    ("copilot", ".github/hooks"),
];
/// The same from the user's home, for every project of theirs.
const AT_HOME: [(&str, &str); 3] = [
    ("claude", ".claude/settings.json"),
    ("codex", ".codex/hooks.json"),
    ("codex", ".codex/config.toml"),
];
/// Bytes of a settings file.
const MOST_BYTES: u64 = 1024 * 1024;

/// A settings file that mentions us and hooks.
pub(super) struct HookSettingsFile {
    /// Whose.
    pub(super) host: &'static str,
    /// How it is called: from the project's root, or from home.
    pub(super) shown: String,
    /// Its content, or why it cannot be read.
    pub(super) content: Result<Value, String>,
}

/// Every such file of a project and its user.
pub(super) fn found(root: &Path) -> Vec<HookSettingsFile> {
    let mut found = Vec::new();
    for (host, place) in IN_PROJECT {
        for file in files_at(root, place) {
            found.extend(at(host, &root.join(&file), &file));
        }
    }
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let codex =
        std::env::var_os("CODEX_HOME").map(PathBuf::from).filter(|codex| codex.is_absolute());
    for (host, place) in AT_HOME {
        let moved = codex
            .as_ref()
            .filter(|_| host == "codex")
            .and_then(|codex| Some(codex.join(Path::new(place).file_name()?)));
        let path = moved.or_else(|| Some(home.as_ref()?.join(place)));
        // In the home folder, both are the same file.
        if let Some(path) = path.filter(|path| !path.starts_with(root)) {
            found.extend(at(host, &path, &format!("~/{place}")));
        }
    }
    found
}

fn at(host: &'static str, path: &Path, shown: &str) -> Option<HookSettingsFile> {
    let text = read_small(path)?;
    // Settings that never speak of us are no wiring of ours.
    if !(text.contains("twining") && text.contains("hook")) {
        return None;
    }
    let is_toml = shown.ends_with(".toml");
    let content = match host {
        _ if is_toml => codex_toml::as_json(&text),
        // These take comments; the others read nothing of a file that has one.
        "gemini" | "cursor" => JsoncFile::read(Some(&text))
            .map(|settings| settings.to_json())
            .map_err(|why| why.to_string()),
        _ => serde_json::from_str(&text).map_err(|error| error.to_string()),
    };
    // Our server is in the same file, and is no hook.
    if is_toml && content.as_ref().is_ok_and(|content| wires(host, content).is_empty()) {
        return None;
    }
    Some(HookSettingsFile { host, shown: shown.to_owned(), content })
}

fn files_at(root: &Path, place: &str) -> Vec<String> {
    if !root.join(place).is_dir() {
        return vec![place.to_owned()];
    }
    let entries = fs::read_dir(root.join(place)).into_iter().flatten().flatten().take(64);
    let names = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.ends_with(".json"));
    let mut files: Vec<String> = names.map(|name| format!("{place}/{name}")).collect();
    files.sort();
    files
}

/// A file of at most a setting's size.
pub(super) fn read_small(path: &Path) -> Option<String> {
    let found = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let mut text = String::new();
    (found.len() <= MOST_BYTES)
        .then(|| fs::File::open(path).ok()?.read_to_string(&mut text).ok())??;
    Some(text)
}

/// A hook as settings name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HookEntry {
    /// Its event.
    pub event: String,
    /// The tools it is called for.
    pub matcher: String,
    /// What is started, or why nothing of ours is.
    pub words: Result<Vec<String>, String>,
    /// Whether the tool is stopped where the hook cannot be started.
    pub fails_closed: bool,
}

/// Returns every hook in a settings file that mentions us. One that is not where this host looks is
/// reported too, and never run: the host silently ignores it.
pub(super) fn wires(host: &str, settings: &Value) -> Vec<HookEntry> {
    let Some(hooks) = settings.get("hooks") else { return Vec::new() };
    let Some(events) = hooks.as_object() else { return strays(host, "hooks", hooks) };
    let mut found = Vec::new();
    for (event, entries) in events {
        let Some(entries) = entries.as_array() else {
            found.extend(strays(host, event, entries));
            continue;
        };
        for entry in entries {
            found.extend(if is_grouped(host) {
                of_group(host, event, entry)
            } else {
                of_handler(host, event, entry, entry)
            });
        }
    }
    found
}

/// Whether a host takes a list of groups, each of a matcher and its hooks, under an
/// event; the others take the hooks themselves.
fn is_grouped(host: &str) -> bool {
    matches!(host, "claude" | "codex" | "gemini")
}

fn of_group(host: &str, event: &str, group: &Value) -> Vec<HookEntry> {
    let has_matcher = group.get("matcher").is_none_or(Value::is_string);
    match group.get("hooks").and_then(Value::as_array) {
        Some(inner) if has_matcher && group.get("command").is_none() => {
            inner.iter().flat_map(|hook| of_handler(host, event, group, hook)).collect()
        }
        _ => strays(host, event, group),
    }
}

fn of_handler(host: &str, event: &str, group: &Value, hook: &Value) -> Vec<HookEntry> {
    let kind = hook.get("type").and_then(Value::as_str);
    let is_command = kind == Some("command") || (host == "cursor" && hook.get("type").is_none());
    let named = if host == "copilot" { "bash" } else { "command" };
    let args_fit = match hook.get("args") {
        None => true,
        // Elsewhere the command is a line for a shell, and words beside it are lost.
        Some(args) => {
            host == "claude"
                && args.as_array().is_some_and(|args| args.iter().all(Value::is_string))
        }
    };
    let matcher = group.get("matcher").map_or(Some(""), Value::as_str);
    match matcher {
        Some(matcher)
            if is_command && args_fit && hook.get(named).is_some_and(Value::is_string) =>
        {
            wire(event, matcher, hook).into_iter().collect()
        }
        _ => strays(host, event, hook),
    }
}

/// Commands of ours anywhere in a part of the settings where the host sees none.
fn strays(host: &str, event: &str, part: &Value) -> Vec<HookEntry> {
    let mut found = Vec::new();
    if let Some(mut wire) = wire(event, "", part) {
        wire.words = Err(format!("not in a format that {host} reads, so this hook never fires"));
        found.push(wire);
    }
    let inner: Box<dyn Iterator<Item = &Value>> = match part {
        Value::Array(list) => Box::new(list.iter()),
        Value::Object(fields) => Box::new(fields.values()),
        _ => Box::new(std::iter::empty()),
    };
    found.extend(inner.flat_map(|inner| strays(host, event, inner)));
    found
}

fn wire(event: &str, matcher: &str, hook: &Value) -> Option<HookEntry> {
    let line = hook.get("command").or_else(|| hook.get("bash")).and_then(Value::as_str)?;
    let args = hook.get("args").and_then(Value::as_array);
    let spoken: String = args
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .fold(line.to_owned(), |joined, word| format!("{joined} {word}"));
    if !spoken.contains("twining") {
        return None;
    }
    let words = match args {
        Some(args) => Ok(std::iter::once(line)
            .chain(args.iter().filter_map(Value::as_str))
            .map(str::to_owned)
            .collect()),
        None => split(line),
    };
    let words = words.and_then(|words: Vec<String>| {
        let program =
            words.first().map(Path::new).and_then(Path::file_stem).and_then(|name| name.to_str());
        match (program, words.get(1).map(String::as_str)) {
            (Some("twining"), Some("hook")) => Ok(words),
            _ => Err(format!(
                "`{}` is not a plain `twining hook …` call, so it is not run here",
                twining_model::text::excerpt(&spoken, 80)
            )),
        }
    });
    let fails_closed = hook.get("onFailure").and_then(Value::as_str) == Some("block")
        || hook.get("failClosed").and_then(Value::as_bool) == Some(true);
    Some(HookEntry { event: event.to_owned(), matcher: matcher.to_owned(), words, fails_closed })
}

/// The words of a command line that needs no shell.
fn split(line: &str) -> Result<Vec<String>, String> {
    let mut words: Vec<String> = Vec::new();
    let (mut word, mut quote, mut begun) = (String::new(), None, false);
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('\''), c) => word.push(c),
            (_, '$' | '`' | '\\')
            | (None, ';' | '&' | '|' | '<' | '>' | '(' | ')' | '*' | '?' | '\n') => {
                return Err(format!(
                    "`{}` needs a shell, so it is not run here",
                    twining_model::text::excerpt(line, 80)
                ));
            }
            (None, '"' | '\'') => (quote, begun) = (Some(c), true),
            (None, ' ' | '\t') => {
                if begun {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            (_, c) => {
                word.push(c);
                begun = true;
            }
        }
    }
    if begun {
        words.push(word);
    }
    Ok(words)
}

/// Whether a host would call a hook with this matcher for a tool.
pub(super) fn matches_tool(matcher: &str, tool: &str) -> bool {
    if matcher.is_empty() || matcher == "*" {
        return true;
    }
    matcher.split(['|', ',']).map(str::trim).any(|one| {
        let one = one.trim_start_matches('^').trim_end_matches('$').trim_matches(['(', ')']);
        match one.strip_suffix(".*") {
            Some(front) => tool.starts_with(front),
            None => one == tool,
        }
    })
}

#[cfg(test)]
mod tests {
    use crate::hook_trial::host_hooks::*;
    use twining_testcases::each;

    #[test]
    fn only_what_is_plainly_ours_is_run() {
        let words = |line: &str| {
            wire("PreToolUse", "", &serde_json::json!({ "command": line })).map(|wire| wire.words)
        };
        assert_eq!(
            words("twining hook PreToolUse"),
            Some(Ok(vec!["twining".into(), "hook".into(), "PreToolUse".into()]))
        );
        assert_eq!(
            words("'/opt/my tools/twining' hook Stop")
                .and_then(Result::ok)
                .map(|words| words[0].clone()),
            Some("/opt/my tools/twining".into())
        );
        each(
            [
                "twining hook x; rm -rf .",
                "rm twining hook",
                "twining $(id)",
                "sh -c 'twining hook'",
                "twining hook `id`",
                "twining uninstall",
            ],
            |hostile| {
                assert!(words(hostile).expect("speaks of us").is_err(), "{hostile}");
            },
        );
        assert_eq!(words("prettier --write"), None);
    }

    #[test]
    fn a_hook_counts_only_in_the_shape_its_host_reads() {
        let line = "twining hook PreToolUse";
        let handler = serde_json::json!({"type": "command", "command": line});
        let bash = serde_json::json!({"type": "command", "bash": line});
        let bare = serde_json::json!({"command": line});
        let group = |hooks: Value| serde_json::json!([{"matcher": "*", "hooks": hooks}]);
        let fires = |host: &str, entries: Value| {
            let found = wires(host, &serde_json::json!({"hooks": {"PreToolUse": entries}}));
            assert_eq!(found.len(), 1, "{host}: it is seen either way");
            found[0].words.is_ok()
        };
        each(["claude", "codex", "gemini"], |host| {
            assert!(fires(host, group(serde_json::json!([handler]))), "{host}");
            assert!(!fires(host, serde_json::json!([handler])), "{host}: no group");
            assert!(!fires(host, group(handler.clone())), "{host}: no list in the group");
            assert!(!fires(host, group(serde_json::json!([bare]))), "{host}: no type");
            assert!(
                !fires(host, serde_json::json!({"matcher": "", "hooks": [handler]})),
                "{host}: no list of groups"
            );
            assert!(
                !fires(host, serde_json::json!([{"matcher": ["Bash"], "hooks": [handler]}])),
                "{host}: a list as matcher"
            );
            assert!(!fires(host, group(serde_json::json!([bash]))), "{host}: another host's field");
        });
        assert!(
            fires("cursor", serde_json::json!([bare]))
                && !fires("cursor", group(serde_json::json!([bare])))
        );
        assert!(
            fires("copilot", serde_json::json!([bash]))
                && !fires("copilot", serde_json::json!([handler]))
        );
        let separate = serde_json::json!({"type": "command", "command": "twining", "args": ["hook", "PreToolUse"]});
        assert!(
            fires("claude", group(serde_json::json!([separate])))
                && !fires("codex", group(serde_json::json!([separate])))
        );
        assert_eq!(
            wires("claude", &serde_json::json!({"hooks": [handler]})).len(),
            1,
            "a list of hooks is reported"
        );
        assert_eq!(
            wires(
                "codex",
                &serde_json::json!({"hooks": {"state": {"/twining/hooks.json:0": {"trusted_hash": "x"}}}})
            ),
            []
        );
    }

    #[test]
    fn a_matcher_is_read_as_hosts_read_it() {
        each(
            [
                ("", "Bash"),
                ("*", "Bash"),
                ("Write|Edit|Bash", "Edit"),
                ("mcp__.*|Bash", "mcp__x__y"),
            ],
            |(matcher, tool)| {
                assert!(matches_tool(matcher, tool), "{matcher} {tool}");
            },
        );
        for (matcher, tool) in [("Write|Edit", "Bash"), ("mcp__twining", "mcp__twining__post")] {
            assert!(!matches_tool(matcher, tool), "{matcher} {tool}");
        }
    }
}
