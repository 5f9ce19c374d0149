//! Whether hosts really call us: every hook that a project's settings name is run
//! as the host would run it, with calls that a guard must stop and calls that it
//! must not.
//!
//! What people had was twelve hooks installed and none that fired. Only a command
//! that is plainly `twining hook …`, and a `twining` that does not come with the
//! project, is ever started: settings may have been cloned.

mod settings;
mod trial;

use std::path::Path;

use serde::Serialize;
use serde_json::Value;
use twining_guard::hosts::{HOSTS, HostAdapter};
use twining_guard::policy::GuardHealth;
use twining_guard::{EventKind, Guard, GuardSet, Verdict};

use crate::desk::Project;
use settings::HookSettingsFile;
use settings::{HookEntry, matches_tool};
use trial::{TrialFolder, run};

/// What is said of a host that never asks.
pub const NO_GATE: &str = "nothing calls twining before a tool runs, so no guard can stop anything";
/// Calls that are tried through one host.
const MOST_CALLS: usize = 2_000;

/// What came of one host's wiring.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostTrial {
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
pub fn check(project: &Project, guards: &GuardSet) -> Vec<HostTrial> {
    let found = settings::found(&project.located.checkout);
    let wires: Vec<Vec<HookEntry>> =
        found.iter().map(|file| file.said.as_ref().map(|said| settings::wires(file.host, said)).unwrap_or_default()).collect();
    // A host takes together what all of its files say.
    let is_gated =
        |name: &str| found.iter().zip(&wires).any(|(file, wires)| file.host == name && wires.iter().any(|wire| gate(file.host, wire)));
    let mut tried = Vec::new();
    for (file, wires) in found.iter().zip(&wires) {
        if let Some(host) = HOSTS.into_iter().find(|host| host.name == file.host) {
            // What concerns a host is told once, however many files it has.
            let is_first = !tried.iter().any(|wiring: &HostTrial| wiring.host == file.host && wiring.tried > 0);
            tried.push(try_file(project, host, file, wires, is_gated(file.host), is_first, guards));
        }
    }
    tried
}

/// Whether a hook is called before a tool runs.
fn gate(host: &str, wire: &HookEntry) -> bool {
    let kind = HOSTS.into_iter().find(|known| known.name == host).and_then(|host| host.event_kind(&wire.event));
    kind == Some(EventKind::PreToolUse) && wire.words.is_ok()
}

fn try_file(
    project: &Project,
    host: &'static HostAdapter,
    file: &HookSettingsFile,
    wires: &[HookEntry],
    is_gated: bool,
    is_first: bool,
    guards: &GuardSet,
) -> HostTrial {
    let shown = &file.shown;
    let mut wiring =
        HostTrial { host: host.name, file: shown.clone(), events: Vec::new(), tried: 0, problems: Vec::new(), notes: Vec::new() };
    let said = match &file.said {
        Ok(said) => said,
        Err(error) => {
            wiring.problems.push(format!("`{shown}` cannot be read, so {} reads none of it: {error}", host.name));
            return wiring;
        }
    };
    let is = |place: &str, value: bool| said.pointer(place).and_then(Value::as_bool) == Some(value);
    if is("/disableAllHooks", true) || is("/features/hooks", false) || is("/features/codex_hooks", false) {
        wiring.problems.push(format!("`{shown}` turns all hooks off"));
    }
    wiring.events = wires.iter().filter(|wire| wire.words.is_ok()).map(|wire| wire.event.clone()).collect();
    wiring.events.dedup();
    wiring.problems.extend(wires.iter().filter_map(|wire| wire.words.as_ref().err().map(|why| format!("{}: {why}", wire.event))));
    for wire in wires {
        if host.event_kind(&wire.event).is_none() {
            wiring.problems.push(format!("{} has no event `{}`, so this hook never fires", host.name, wire.event));
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
        let what = "a hook that cannot be started stops the tool, so whoever has no `twining` cannot work here";
        wiring.notes.push(format!("{what}; `twining init` writes it anew"));
    }
    if host.name == "codex" && is_first {
        wiring.notes.push("Codex skips hooks until their hash is trusted; start it once and approve them".to_owned());
    }
    match TrialFolder::new(project) {
        Ok(place) => try_calls(&mut wiring, host, &gates, guards, &place, &project.located.checkout),
        Err(error) => wiring.problems.push(format!("no folder to try the hooks in: {error}")),
    }
    wiring
}

fn try_calls(wiring: &mut HostTrial, host: &HostAdapter, gates: &[&HookEntry], guards: &GuardSet, place: &TrialFolder, project: &Path) {
    let speaks = |guard: &&Guard| {
        guard.standing == GuardHealth::Alive && (guard.action >= Verdict::Ask || (guard.action == Verdict::Warn && host.name != "copilot"))
    };
    let calls = guards.guards.iter().filter(speaks).flat_map(|guard| guard.examples.iter().map(move |example| (guard, example)));
    for (guard, example) in calls.take(MOST_CALLS) {
        let tool = host.tool(example.tool());
        let Some(gate) = gates.iter().find(|gate| matches_tool(&gate.matcher, tool)) else {
            // A tool that only reads need not be asked about.
            if guard.action >= Verdict::Ask && example.is_stopped {
                wiring.problems.push(format!("no hook is called before `{tool}`, so `{}` cannot stop it", guard.id));
            }
            continue;
        };
        let Ok(words) = &gate.words else { continue };
        wiring.tried += 1;
        let told = place.prepared(example).and_then(|()| run(words, &(host.sample)(tool, &example.input, &place.root()), place, project));
        let spoke = match &told {
            Ok(said) => said.contains(&format!("[{}]", guard.id)),
            Err(why) => {
                wiring.problems.push(format!("`{}` {why}", words.join(" ")));
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
