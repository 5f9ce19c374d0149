//! Whether hosts really call us: every hook that a project's settings name is run
//! as the host would run it, with calls that a guard must stop and calls that it
//! must not.
//!
//! What people had was twelve hooks installed and none that fired. Only a command
//! that is plainly `twining hook …`, and a `twining` that does not come with the
//! project, is ever started: settings may have been cloned.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Serialize;
use serde_json::Value;
use twining_engine::guards::{Example, Guard, Guards, Level, Moment, Standing};

use crate::desk::Project;
use crate::hook::{HOSTS, Host};
use crate::{installed, running};

/// Where each host is told what to call.
const SETTINGS: [(&str, &str); 6] = [
    ("claude", ".claude/settings.json"),
    ("claude", ".claude/settings.local.json"),
    ("codex", ".codex/hooks.json"),
    ("gemini", ".gemini/settings.json"),
    ("cursor", ".cursor/hooks.json"),
    ("copilot", ".github/hooks"),
];
/// Bytes of a settings file.
const MOST_BYTES: u64 = 1024 * 1024;
/// Calls that are tried through one host.
const MOST_CALLS: usize = 2_000;

/// What came of one host's wiring.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Wiring {
    /// Which host.
    pub host: &'static str,
    /// The file that wires it.
    pub file: String,
    /// Events that call us.
    pub events: Vec<String>,
    /// Calls that were tried.
    pub tried: usize,
    /// What does not work: a hook that does not fire is no hook.
    pub problems: Vec<String>,
    /// What works and could be safer.
    pub notes: Vec<String>,
}

/// A hook as settings name it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wire {
    event: String,
    matcher: String,
    words: Result<Vec<String>, String>,
    fails_closed: bool,
}

/// Tries every host that is wired in this project.
pub fn check(project: &Project, guards: &Guards) -> Vec<Wiring> {
    let root = &project.located.checkout;
    let mut found = Vec::new();
    for (name, place) in SETTINGS {
        let Some(host) = HOSTS.into_iter().find(|host| host.name == name) else { continue };
        for file in files_at(root, place) {
            let Some(text) = read_small(&root.join(&file)) else { continue };
            // Settings that never speak of us are no wiring of ours.
            if text.contains("twining") && text.contains("hook") {
                found.push(tried(project, host, &file, &text, guards));
            }
        }
    }
    found
}

fn files_at(root: &Path, place: &str) -> Vec<String> {
    if !root.join(place).is_dir() {
        return vec![place.to_owned()];
    }
    let entries = fs::read_dir(root.join(place)).into_iter().flatten().flatten().take(64);
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| name.ends_with(".json"));
    let mut files: Vec<String> = names.map(|name| format!("{place}/{name}")).collect();
    files.sort();
    files
}

fn read_small(path: &Path) -> Option<String> {
    let found = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let mut text = String::new();
    (found.len() <= MOST_BYTES).then(|| fs::File::open(path).ok()?.read_to_string(&mut text).ok())??;
    Some(text)
}

fn tried(project: &Project, host: &'static Host, file: &str, text: &str, guards: &Guards) -> Wiring {
    let mut wiring =
        Wiring { host: host.name, file: file.to_owned(), events: Vec::new(), tried: 0, problems: Vec::new(), notes: Vec::new() };
    let settings: Value = match serde_json::from_str(text) {
        Ok(settings) => settings,
        Err(error) => {
            wiring.problems.push(format!("`{file}` is no JSON, so {} reads none of it: {error}", host.name));
            return wiring;
        }
    };
    if settings.get("disableAllHooks").and_then(Value::as_bool) == Some(true) {
        wiring.problems.push(format!("`{file}` turns all hooks off"));
    }
    let wires = wires(&settings);
    wiring.events = wires.iter().filter(|wire| wire.words.is_ok()).map(|wire| wire.event.clone()).collect();
    wiring.events.dedup();
    wiring.problems.extend(wires.iter().filter_map(|wire| wire.words.as_ref().err().map(|why| format!("{}: {why}", wire.event))));
    for wire in &wires {
        if host.moment(&wire.event).is_none() {
            wiring.problems.push(format!("{} has no event `{}`, so this hook never fires", host.name, wire.event));
        }
    }
    let gates: Vec<&Wire> =
        wires.iter().filter(|wire| host.moment(&wire.event) == Some(Moment::PreToolUse) && wire.words.is_ok()).collect();
    if gates.is_empty() {
        wiring.problems.push("nothing calls twining before a tool runs, so no guard can stop anything".to_owned());
        return wiring;
    }
    if matches!(host.name, "claude" | "cursor") && gates.iter().any(|wire| !wire.fails_closed) {
        let switch = if host.name == "claude" { "\"onFailure\": \"block\"" } else { "\"failClosed\": true" };
        wiring.notes.push(format!("a hook that cannot be started lets the tool run; add {switch}"));
    }
    if host.name == "codex" {
        wiring.notes.push("Codex skips hooks until their hash is trusted; start it once and approve them".to_owned());
    }
    match Throwaway::new(project) {
        Ok(place) => try_calls(&mut wiring, host, &gates, guards, &place, &project.located.checkout),
        Err(error) => wiring.problems.push(format!("no folder to try the hooks in: {error}")),
    }
    wiring
}

fn try_calls(wiring: &mut Wiring, host: &Host, gates: &[&Wire], guards: &Guards, place: &Throwaway, project: &Path) {
    let speaks = |guard: &&Guard| {
        guard.standing == Standing::Alive && (guard.action >= Level::Ask || (guard.action == Level::Warn && host.name != "copilot"))
    };
    let calls = guards.guards.iter().filter(speaks).flat_map(|guard| guard.examples.iter().map(move |example| (guard, example)));
    for (guard, example) in calls.take(MOST_CALLS) {
        let tool = host.tool(example.tool());
        let Some(gate) = gates.iter().find(|gate| matches_tool(&gate.matcher, tool)) else {
            // A tool that only reads need not be asked about.
            if guard.action >= Level::Ask && example.is_stopped {
                wiring.problems.push(format!("no hook is called before `{tool}`, so `{}` cannot stop it", guard.id));
            }
            continue;
        };
        let Ok(words) = &gate.words else { continue };
        wiring.tried += 1;
        let told = place.prepared(example).and_then(|()| run(words, &(host.ask)(tool, &example.input, &place.root()), place, project));
        let spoke = match &told {
            Ok(said) => said.contains(&format!("[{}]", guard.id)),
            Err(why) => {
                wiring.problems.push(format!("`{}` cannot be run: {why}", words.join(" ")));
                return;
            }
        };
        match (example.is_stopped, spoke) {
            (true, false) => {
                wiring.problems.push(format!("`{}` did not fire for its own example ({tool})", guard.id));
            }
            (false, true) => wiring.problems.push(format!("`{}` stopped what its example lets through ({tool})", guard.id)),
            _ => {}
        }
    }
    wiring.problems.dedup();
}

/// Every hook in a settings file that speaks of us, whatever the host's shape.
fn wires(settings: &Value) -> Vec<Wire> {
    let mut found = Vec::new();
    let Some(events) = settings.get("hooks").and_then(Value::as_object) else { return found };
    for (event, entries) in events {
        for entry in entries.as_array().into_iter().flatten() {
            let matcher = entry.get("matcher").and_then(Value::as_str).unwrap_or_default();
            match entry.get("hooks").and_then(Value::as_array) {
                Some(inner) => found.extend(inner.iter().filter_map(|hook| wire(event, matcher, hook))),
                None => found.extend(wire(event, matcher, entry)),
            }
        }
    }
    found
}

fn wire(event: &str, matcher: &str, hook: &Value) -> Option<Wire> {
    let line = hook.get("command").or_else(|| hook.get("bash")).and_then(Value::as_str)?;
    let args = hook.get("args").and_then(Value::as_array);
    let spoken: String = args.into_iter().flatten().filter_map(Value::as_str).fold(line.to_owned(), |said, word| format!("{said} {word}"));
    if !spoken.contains("twining") {
        return None;
    }
    let words = match args {
        Some(args) => Ok(std::iter::once(line).chain(args.iter().filter_map(Value::as_str)).map(str::to_owned).collect()),
        None => split(line),
    };
    let words = words.and_then(|words: Vec<String>| {
        let program = words.first().map(Path::new).and_then(Path::file_stem).and_then(|name| name.to_str());
        match (program, words.get(1).map(String::as_str)) {
            (Some("twining"), Some("hook")) => Ok(words),
            _ => Err(format!("`{}` is not plainly `twining hook …`, and is not run here", twining_model::text::excerpt(&spoken, 80))),
        }
    });
    let fails_closed =
        hook.get("onFailure").and_then(Value::as_str) == Some("block") || hook.get("failClosed").and_then(Value::as_bool) == Some(true);
    Some(Wire { event: event.to_owned(), matcher: matcher.to_owned(), words, fails_closed })
}

/// The words of a command line that needs no shell.
fn split(line: &str) -> Result<Vec<String>, String> {
    let mut words: Vec<String> = Vec::new();
    let (mut word, mut quote, mut begun) = (String::new(), None, false);
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('\''), c) => word.push(c),
            (_, '$' | '`' | '\\') | (None, ';' | '&' | '|' | '<' | '>' | '(' | ')' | '*' | '?' | '\n') => {
                return Err(format!("`{}` needs a shell, and is not run here", twining_model::text::excerpt(line, 80)));
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
fn matches_tool(matcher: &str, tool: &str) -> bool {
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

/// A project to try hooks in: the same policy, and nothing else.
struct Throwaway {
    dir: PathBuf,
}

impl Throwaway {
    fn new(project: &Project) -> std::io::Result<Self> {
        let id = project.engine.store().ids().next();
        let dir = std::env::temp_dir().join(format!("twining-wiring-{}-{id}", std::process::id()));
        fs::create_dir(&dir)?;
        let place = Self { dir };
        for folder in [".git", ".twining"] {
            fs::create_dir(place.dir.join(folder))?;
        }
        let policy = project.located.place.project.join(".twining/policy.yml");
        if let Some(text) = read_small(&policy) {
            fs::write(place.dir.join(".twining/policy.yml"), text)?;
        }
        Ok(place)
    }

    fn root(&self) -> String {
        self.dir.display().to_string()
    }

    /// Puts the file of an example where it must be, and nothing where none is.
    fn prepared(&self, example: &Example) -> Result<(), String> {
        let Some(path) = example.path() else { return Ok(()) };
        // An example may name any path; only one inside is ours to write.
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        if path.starts_with('/') || parts.contains(&"..") {
            return Ok(());
        }
        let file = parts.iter().fold(self.dir.clone(), |dir, part| dir.join(part));
        let written = match &example.file {
            Some(text) => file.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&file, text)),
            None if file.is_file() && !path.ends_with("policy.yml") => fs::remove_file(&file),
            None => Ok(()),
        };
        written.map_err(|error| error.to_string())
    }
}

impl Drop for Throwaway {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// Runs a hook as its host would, and gives what it said.
fn run(words: &[String], told: &Value, place: &Throwaway, project: &Path) -> Result<String, String> {
    let (name, rest) = words.split_first().ok_or("it is empty")?;
    let program = installed::outside(name, project)?;
    let mut command = Command::new(&program);
    command.args(in_throwaway(rest, place)).current_dir(&place.dir);
    command.env_remove("TWINING_PROJECT").env("CLAUDE_PROJECT_DIR", &place.dir);
    running::run(&mut command, &told.to_string()).map(|said| format!("{}{}", said.out, said.err))
}

/// The arguments, with the throwaway in place of any project they name.
fn in_throwaway(words: &[String], place: &Throwaway) -> Vec<String> {
    let mut given = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--project" {
            words.next();
            given.extend([word.clone(), place.root()]);
        } else if word.starts_with("--project=") {
            given.push(format!("--project={}", place.root()));
        } else {
            given.push(word.clone());
        }
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_plainly_ours_is_run() {
        let words = |line: &str| wire("PreToolUse", "", &serde_json::json!({ "command": line })).map(|wire| wire.words);
        assert_eq!(words("twining hook PreToolUse"), Some(Ok(vec!["twining".into(), "hook".into(), "PreToolUse".into()])));
        assert_eq!(
            words("'/opt/my tools/twining' hook Stop").and_then(Result::ok).map(|words| words[0].clone()),
            Some("/opt/my tools/twining".into())
        );
        for hostile in [
            "twining hook x; rm -rf .",
            "rm twining hook",
            "twining $(id)",
            "sh -c 'twining hook'",
            "twining hook `id`",
            "twining uninstall",
        ] {
            assert!(words(hostile).expect("speaks of us").is_err(), "{hostile}");
        }
        assert_eq!(words("prettier --write"), None);
    }

    #[test]
    fn a_matcher_is_read_as_hosts_read_it() {
        for (matcher, tool) in [("", "Bash"), ("*", "Bash"), ("Write|Edit|Bash", "Edit"), ("mcp__.*|Bash", "mcp__x__y")] {
            assert!(matches_tool(matcher, tool), "{matcher} {tool}");
        }
        for (matcher, tool) in [("Write|Edit", "Bash"), ("mcp__twining", "mcp__twining__post")] {
            assert!(!matches_tool(matcher, tool), "{matcher} {tool}");
        }
    }
}
