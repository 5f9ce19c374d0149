//! A call as the host would make it, in a folder where nothing can be lost.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Serialize;
use serde_json::Value;
use twining_guard::hosts::{HOSTS, HostAdapter};
use twining_guard::policy::{Example, GuardHealth, PROJECT_FILE};
use twining_guard::{EventKind, Guard, GuardSet, Verdict};

use crate::hook_trial::host_hooks::{HookEntry, HookSettingsFile, matches_tool, read_small};
use crate::project::Project;
use crate::{process, program_path};

/// A project to try hooks in: the same policy, and nothing else.
pub(super) struct TrialFolder {
    dir: PathBuf,
    policy: Option<String>,
}

impl TrialFolder {
    pub(super) fn new(project: &Project) -> std::io::Result<Self> {
        let id = project.engine.store().ids().next();
        let dir = std::env::temp_dir().join(format!("twining-wiring-{}-{id}", std::process::id()));
        fs::create_dir(&dir)?;
        let policy = read_small(&project.located.place.project.join(PROJECT_FILE));
        let place = Self { dir, policy };
        for folder in [".git", ".twining"] {
            fs::create_dir(place.dir.join(folder))?;
        }
        Ok(place)
    }

    pub(super) fn root(&self) -> String {
        self.dir.display().to_string()
    }

    /// Puts the policy back that an example before may have written over, then the file of
    /// this one where it must be, and nothing where none is.
    pub(super) fn prepared(&self, example: &Example) -> Result<(), String> {
        if let Some(policy) = &self.policy {
            fs::write(self.dir.join(PROJECT_FILE), policy).map_err(|error| error.to_string())?;
        }
        let Some(path) = example.path() else { return Ok(()) };
        // An example may name any path; only one inside is ours to write.
        let parts: Vec<&str> =
            path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        if path.starts_with('/') || parts.contains(&"..") {
            return Ok(());
        }
        let file = parts.iter().fold(self.dir.clone(), |dir, part| dir.join(part));
        let written = match &example.file {
            Some(text) => file
                .parent()
                .map_or(Ok(()), fs::create_dir_all)
                .and_then(|()| fs::write(&file, text)),
            None if file.is_file() && !path.ends_with("policy.yml") => fs::remove_file(&file),
            None => Ok(()),
        };
        written.map_err(|error| error.to_string())
    }
}

impl Drop for TrialFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
        let _ = fs::remove_dir_all(cache_of(&self.dir));
    }
}

fn cache_of(dir: &Path) -> PathBuf {
    dir.with_extension("cache")
}

/// Runs a hook as its host would, and returns its output.
pub(super) fn run(
    words: &[String],
    payload: &Value,
    place: &TrialFolder,
    project: &Path,
) -> Result<String, String> {
    let (name, rest) = words.split_first().ok_or("it is empty")?;
    let program = program_path::ours(name, project)?;
    let mut command = Command::new(&program);
    command.args(in_throwaway(rest, place)).current_dir(&place.dir);
    command.env_remove("TWINING_PROJECT").env("CLAUDE_PROJECT_DIR", &place.dir);
    // What is kept of a throwaway is of use to nobody after it.
    command.env("XDG_CACHE_HOME", cache_of(&place.dir));
    process::run(&mut command, &payload.to_string())
        .map(|output| format!("{}{}", output.out, output.err))
}

/// The arguments, with the throwaway in place of any project they name.
fn in_throwaway(words: &[String], place: &TrialFolder) -> Vec<String> {
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

/// Message for a host that never asks.
pub(crate) const NO_GATE: &str =
    "nothing calls twining before a tool runs, so no guard can stop anything";
/// Calls that are tried through one host.
pub(super) const MOST_CALLS: usize = 2_000;

/// What came of one host's wiring.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct HostTrial {
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

/// Tries every host that is wired in this project.
pub(crate) fn check(project: &Project, guards: &GuardSet) -> Vec<HostTrial> {
    let found = super::host_hooks::found(&project.located.checkout);
    let wires: Vec<Vec<HookEntry>> = found
        .iter()
        .map(|file| {
            file.content
                .as_ref()
                .map(|content| super::host_hooks::wires(file.host, content))
                .unwrap_or_default()
        })
        .collect();
    // A host takes together what all of its files say.
    let is_gated = |name: &str| {
        found.iter().zip(&wires).any(|(file, wires)| {
            file.host == name && wires.iter().any(|wire| gate(file.host, wire))
        })
    };
    let mut tried = Vec::new();
    for (file, wires) in found.iter().zip(&wires) {
        if let Some(host) = HOSTS.into_iter().find(|host| host.name == file.host) {
            // What concerns a host is reported once, however many files it has.
            let is_first = !tried
                .iter()
                .any(|wiring: &HostTrial| wiring.host == file.host && wiring.tried > 0);
            tried.push(try_file(project, host, file, wires, is_gated(file.host), is_first, guards));
        }
    }
    tried
}

/// Whether a hook is called before a tool runs.
pub(super) fn gate(host: &str, wire: &HookEntry) -> bool {
    let kind = HOSTS
        .into_iter()
        .find(|known| known.name == host)
        .and_then(|host| host.event_kind(&wire.event));
    kind == Some(EventKind::PreToolUse) && wire.words.is_ok()
}

pub(super) fn try_file(
    project: &Project,
    host: &'static HostAdapter,
    file: &HookSettingsFile,
    wires: &[HookEntry],
    is_gated: bool,
    is_first: bool,
    guards: &GuardSet,
) -> HostTrial {
    let shown = &file.shown;
    let mut wiring = HostTrial {
        host: host.name,
        file: shown.clone(),
        events: Vec::new(),
        tried: 0,
        problems: Vec::new(),
        notes: Vec::new(),
    };
    let content = match &file.content {
        Ok(content) => content,
        Err(error) => {
            wiring
                .problems
                .push(format!("`{shown}` cannot be read, so {} ignores it: {error}", host.name));
            return wiring;
        }
    };
    let is =
        |place: &str, value: bool| content.pointer(place).and_then(Value::as_bool) == Some(value);
    if is("/disableAllHooks", true)
        || is("/features/hooks", false)
        || is("/features/codex_hooks", false)
    {
        wiring.problems.push(format!("`{shown}` turns all hooks off"));
    }
    wiring.events =
        wires.iter().filter(|wire| wire.words.is_ok()).map(|wire| wire.event.clone()).collect();
    wiring.events.dedup();
    wiring.problems.extend(
        wires.iter().filter_map(|wire| {
            wire.words.as_ref().err().map(|why| format!("{}: {why}", wire.event))
        }),
    );
    for wire in wires {
        if host.event_kind(&wire.event).is_none() {
            wiring.problems.push(format!(
                "{} has no event `{}`, so this hook never fires",
                host.name, wire.event
            ));
        }
    }
    let gates: Vec<&HookEntry> = wires.iter().filter(|wire| gate(host.name, wire)).collect();
    if gates.is_empty() {
        if !is_gated {
            wiring.problems.push(NO_GATE.to_owned());
        }
        return wiring;
    }
    if gates.iter().any(|wire| wire.fails_closed) {
        let what = "a hook that cannot be started blocks the tool, so nobody can work here without `twining`";
        wiring.notes.push(format!("{what}; `twining init` rewrites it"));
    }
    if host.name == "codex" && is_first {
        wiring.notes.push(
            "Codex skips hooks until their hash is trusted; start it once and approve them"
                .to_owned(),
        );
    }
    match TrialFolder::new(project) {
        Ok(place) => {
            try_calls(&mut wiring, host, &gates, guards, &place, &project.located.checkout);
        }
        Err(error) => {
            wiring.problems.push(format!("cannot create a folder to test the hooks in: {error}"));
        }
    }
    wiring
}

pub(super) fn try_calls(
    wiring: &mut HostTrial,
    host: &HostAdapter,
    gates: &[&HookEntry],
    guards: &GuardSet,
    place: &TrialFolder,
    project: &Path,
) {
    let speaks = |guard: &&Guard| {
        guard.standing == GuardHealth::Alive
            && (guard.action >= Verdict::Ask
                || (guard.action == Verdict::Warn && host.name != "copilot"))
    };
    let calls = guards
        .guards
        .iter()
        .filter(speaks)
        .flat_map(|guard| guard.examples.iter().map(move |example| (guard, example)));
    for (guard, example) in calls.take(MOST_CALLS) {
        let tool = host.tool(example.tool());
        let Some(gate) = gates.iter().find(|gate| matches_tool(&gate.matcher, tool)) else {
            // A tool that only reads need not be asked about.
            if guard.action >= Verdict::Ask && example.is_stopped {
                wiring.problems.push(format!(
                    "no hook is called before `{tool}`, so `{}` cannot stop it",
                    guard.id
                ));
            }
            continue;
        };
        let Ok(words) = &gate.words else { continue };
        wiring.tried += 1;
        let output = place.prepared(example).and_then(|()| {
            run(words, &host.sample(tool, &example.input, &place.root()), place, project)
        });
        let spoke = match &output {
            Ok(reply) => reply.contains(&format!("[{}]", guard.id)),
            Err(why) => {
                wiring.problems.push(format!("`{}` {why}", words.join(" ")));
                return;
            }
        };
        match (example.is_stopped, spoke) {
            (true, false) => {
                wiring
                    .problems
                    .push(format!("`{}` did not fire for its own example ({tool})", guard.id));
            }
            (false, true) => wiring
                .problems
                .push(format!("`{}` stopped what its example lets through ({tool})", guard.id)),
            _ => {}
        }
    }
    wiring.problems.dedup();
}
