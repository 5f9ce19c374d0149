//! What hosts are configured to start, and whether it works: the configured hooks are tried as
//! `guard test` does, and the configured server is spoken to in both eras of the
//! protocol.
//!
//! Settings may have been cloned. Only what is plainly ours, `twining hook …` and
//! `twining mcp …`, is ever started, and only this program or the `twining` that is
//! on PATH.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use twining_guard::GuardSet;

use super::program::DoctorCheck;
use crate::hook;
use crate::hook_trial::{self, HostTrial};
use crate::init::{self, HostKind, HostState, ServerEntry, Visibility};
use crate::process::{TRIAL_TIMEOUT, first_line};
use crate::program_path::{self, NAME, on_path};
use crate::project::Project;
use crate::settings::jsonc::JsoncFile;
use crate::tour::client::{McpClient, ProtocolEra};

/// The guard whose examples are tried.
const GUARD: &str = "protect-twining-state";

/// Looks at every host that is wired up here.
pub(super) fn checks(project: &Project) -> Vec<DoctorCheck> {
    let wired = match init::wired(project) {
        Ok(wired) => wired,
        Err(problem) => return vec![DoctorCheck::failed("agents", &problem)],
    };
    let mut checks = not_wired(project, &wired);
    let hooks = hook_trial::check(project, &proof(project));
    checks.extend(hooks.iter().flat_map(fires));
    for wiring in &wired {
        checks.push(settings(wiring));
        match wiring.host {
            HostKind::OpenCode if wiring.replaced.is_some() => checks.push(replaced(wiring)),
            HostKind::OpenCode => {
                checks.push(DoctorCheck::not_checked(
                    "hook",
                    "opencode: its plugin runs inside opencode and was not tested",
                ));
            }
            host if !hooks.iter().any(|tried| tried.host == host.name()) => {
                checks.push(does_not_fire(host.name(), hook_trial::NO_GATE));
            }
            _ => {}
        }
        checks.extend(server(project, wiring));
        checks.extend(unread(wiring));
        if wiring.host == HostKind::Codex {
            checks.push(codex_trust(project));
        }
    }
    checks.extend(switches(project));
    checks.extend(duplicate_servers(project));
    checks
}

/// A file of which its host reads nothing: neither hook nor server is there for it.
fn unread(wiring: &HostState) -> Option<DoctorCheck> {
    let (name, files) = (wiring.host.name(), wiring.unread.join(", "));
    let message = format!("{name} accepts only plain JSON and ignores {files}");
    let hint = "remove comments and trailing commas from it";
    (!wiring.unread.is_empty()).then(|| DoctorCheck::fail("agents", message).hinted(hint))
}

/// Agents that are used here and do not call us: those that came after `init`, too.
fn not_wired(project: &Project, wired: &[HostState]) -> Vec<DoctorCheck> {
    let ground = init::environment(project, Visibility::Team);
    let is_new =
        |host: &HostKind| !wired.iter().any(|wiring| wiring.host == *host) && host.is_here(&ground);
    let new: Vec<HostKind> = HostKind::ALL.into_iter().filter(is_new).collect();
    if wired.is_empty() && new.is_empty() {
        let check =
            DoctorCheck::warn("agents", "no agent is set up in this project, and none was found");
        return vec![
            check.hinted(
                "install one and run twining init, or name it: twining init --agent claude",
            ),
        ];
    }
    let check_of = |host: HostKind| {
        let check = DoctorCheck::warn(
            "agents",
            format!("{} is installed but not set up here, so no guard stops it", host.name()),
        );
        check.hinted(format!("twining init --agent {} sets it up", host.name()))
    };
    new.into_iter().map(check_of).collect()
}

/// One guard whose examples every hook is tried with: writes into the memory, and elsewhere.
fn proof(project: &Project) -> GuardSet {
    let mut guards = hook::guards_as_written(project);
    guards.guards.retain(|guard| guard.id == GUARD);
    guards
        .guards
        .iter_mut()
        .for_each(|guard| guard.examples.retain(|example| example.tool() == "Write"));
    guards
}

/// What came of trying one file's hooks.
fn fires(tried: &HostTrial) -> Vec<DoctorCheck> {
    if tried.tried > 0 && tried.problems.is_empty() {
        let message = format!(
            "{}: a forbidden call was stopped and an allowed one was not ({})",
            tried.host, tried.file
        );
        return vec![DoctorCheck::ok("hook", message)];
    }
    tried.problems.iter().map(|problem| does_not_fire(tried.host, problem)).collect()
}

fn does_not_fire(host: &str, problem: &str) -> DoctorCheck {
    let hint = way(
        problem,
        "an agent in this host can do what guards forbid; twining doctor --fix, or twining init, rewrites the hooks",
    );
    DoctorCheck::fail("hook", format!("{host}: {problem}")).hinted(hint)
}

/// Whether a host's files are what `init` would write today.
fn settings(wiring: &HostState) -> DoctorCheck {
    let name = wiring.host.name();
    if let Some(why) = &wiring.unusable {
        return DoctorCheck::fail("agents", format!("{name}: {why}"))
            .hinted("fix the file; twining init writes what is missing");
    }
    if wiring.drift.is_empty() {
        return DoctorCheck::ok("agents", format!("{name} is set up correctly"));
    }
    let message =
        format!("{name}: {} differ from what twining init would write", wiring.drift.join(", "));
    DoctorCheck::warn("agents", message)
        .hinted("twining doctor --fix, or twining init, brings them up to date")
}

/// A plugin that is not ours asks nobody.
fn replaced(wiring: &HostState) -> DoctorCheck {
    let file = wiring.replaced.as_deref().unwrap_or_default();
    let message = format!(
        "{}: {file} is missing or was not written by Twining: tools run unchecked, so no rule is enforced",
        wiring.host.name()
    );
    let hint = "twining doctor --fix restores the file if twining init wrote it; otherwise move it away and run twining init";
    DoctorCheck::fail("hook", message).hinted(hint)
}

/// What to do about a program that does not answer: one that is not found is no fault of an entry.
fn way(why: &str, usual: &str) -> String {
    if why.contains(program_path::NOT_ON_PATH) {
        super::program::path_hint()
    } else {
        usual.to_owned()
    }
}

/// What comes of a host's entry for our server.
fn server(project: &Project, wiring: &HostState) -> Option<DoctorCheck> {
    let name = wiring.host.name();
    let ill = |words: String| DoctorCheck::fail("server", format!("{name}: {words}"));
    match &wiring.server {
        ServerEntry::Missing => None,
        ServerEntry::Gone(file) => {
            let check =
                ill(format!("the server entry that twining init wrote is missing from {file}, so its agents have no Twining tools"));
            Some(check.hinted("twining doctor --fix, or twining init, restores it; twining uninstall removes the rest"))
        }
        ServerEntry::Started(words) if is_launched(words) => {
            let message = format!("{name}: `{}` starts the server through another program, which was not tested", shown(words));
            Some(DoctorCheck::not_checked("server", message))
        }
        ServerEntry::Started(words) => Some(match program_of(project, words).and_then(|program| try_server(project, &program, words)) {
            Ok(tools) => DoctorCheck::ok("server", format!("{name}: {tools}")),
            Err(why) => ill(format!("`{}` {why}", shown(words)))
                .hinted(way(&why, "twining doctor --fix, or twining init, rewrites an entry that Twining wrote; remove any other entry first")),
        }),
    }
}

/// Connects to the configured server as old and as new clients do.
fn try_server(project: &Project, program: &Path, words: &[String]) -> Result<String, String> {
    let mut slowest = (Duration::ZERO, 0);
    for (era, version) in
        [(ProtocolEra::Handshake, "2025-11-25"), (ProtocolEra::Stateless, "2026-07-28")]
    {
        let mut command = Command::new(program);
        command.args(&words[1..]).current_dir(&project.located.checkout);
        // A server that never answers must not block us: its output so far counts.
        let (done, answer) = mpsc::channel();
        std::thread::spawn(move || {
            let began = Instant::now();
            let spoken = McpClient::open(command, "doctor", era)
                .and_then(|mut client| client.tools().map(|tools| tools.len()));
            let _ = done.send((spoken, began.elapsed()));
        });
        match answer.recv_timeout(TRIAL_TIMEOUT) {
            Ok((Ok(tools), took)) => {
                slowest = slowest.max((took, tools));
            }
            Ok((Err(error), _)) => {
                return Err(format!("fails with protocol {version}: {error}"));
            }
            Err(_) => {
                return Err(format!(
                    "does not answer within {} s, protocol {version}",
                    TRIAL_TIMEOUT.as_secs()
                ));
            }
        }
    }
    let (took, tools) = slowest;
    Ok(format!("the server starts in {} ms with {tools} tools", took.as_millis()))
}

/// Whether a package runner starts our package.
fn is_launched(words: &[String]) -> bool {
    let launches =
        matches!(words.first().map(String::as_str), Some("npx" | "bunx" | "pnpm" | "yarn"));
    let is_package = |word: &String| {
        word.rsplit('/').next().is_some_and(|name| name == NAME || name.starts_with("twining@"))
    };
    launches && words.iter().skip(1).any(is_package) && words.iter().any(|word| word == "mcp")
}

fn shown(words: &[String]) -> String {
    twining_model::text::excerpt(&words.join(" "), 120)
}

/// The program behind words that start our server. Settings come with a clone, so
/// nothing else is started: another program, or another of our verbs.
fn program_of(project: &Project, words: &[String]) -> Result<PathBuf, String> {
    let [word, verb, ..] = words else { return Err("does not start Twining".to_owned()) };
    let found = program_path::ours(word, &project.located.checkout)?;
    if verb == "mcp" {
        Ok(found)
    } else {
        Err("does not start Twining with `mcp`, so it was not started".to_owned())
    }
}

/// Codex skips hooks it does not trust, without a word; it is asked.
fn codex_trust(project: &Project) -> DoctorCheck {
    let Some(codex) = on_path("codex") else {
        return DoctorCheck::not_checked(
            "trust",
            "codex is not on PATH, so it could not be asked whether it trusts the hooks",
        );
    };
    let ask = |id: u64, method: &str, params: Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
    };
    let info =
        json!({"clientInfo": {"name": "twining-doctor", "version": env!("CARGO_PKG_VERSION")}});
    let lines = [
        ask(1, "initialize", info),
        json!({"jsonrpc": "2.0", "method": "initialized"}).to_string(),
        ask(2, "hooks/list", json!({"cwds": [project.located.checkout]})),
    ];
    let answer =
        |line: &str| serde_json::from_str::<Value>(line).ok().filter(|answer| answer["id"] == 2);
    let mut command = Command::new(codex);
    command.arg("app-server").current_dir(&project.located.checkout);
    let asked =
        first_line(&mut command, &(lines.join("\n") + "\n"), move |line| answer(line).is_some());
    let listed = match asked {
        Ok(line) => answer(&line).unwrap_or_default(),
        Err(why) => {
            return DoctorCheck::not_checked(
                "trust",
                format!("could not find out whether codex trusts the hooks: {why}"),
            );
        }
    };
    let mut hooks = Vec::new();
    trusts(&listed, &mut hooks);
    let untrusted =
        hooks.iter().filter(|(_, trust)| trust != "trusted" && trust != "managed").count();
    let hint = "start codex here once and trust the hooks; until then it silently skips them";
    match (hooks.len(), untrusted) {
        (0, _) => DoctorCheck::warn("trust", "codex lists no Twining hook").hinted(hint),
        (all, 0) => DoctorCheck::ok("trust", format!("codex trusts all {all} hooks")),
        (all, some) => {
            DoctorCheck::fail("trust", format!("codex does not trust {some} of {all} hooks"))
                .hinted(hint)
        }
    }
}

/// Hooks of ours anywhere in an answer, each with how far it is trusted.
fn trusts(value: &Value, found: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => {
            if let (Some(command), Some(trust)) = (
                fields.get("command").and_then(Value::as_str),
                fields.get("trustStatus").and_then(Value::as_str),
            ) && command.contains("twining hook")
            {
                found.push((command.to_owned(), trust.to_lowercase()));
            }
            fields.values().for_each(|value| trusts(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| trusts(value, found)),
        _ => {}
    }
}

/// Switches that turn hooks or the server off.
fn switches(project: &Project) -> Vec<DoctorCheck> {
    let home = init::home();
    let at_home = home.iter().map(|home| home.join(".claude/settings.json"));
    let here = [".claude/settings.json", ".claude/settings.local.json"]
        .map(|file| project.located.checkout.join(file));
    let mut checks = Vec::new();
    for file in here.into_iter().chain(at_home) {
        let Some(settings) = open(&file) else { continue };
        if settings.get(&["disableAllHooks"]) == Some(json!(true)) {
            let message =
                format!("{} turns all hooks of Claude Code off (disableAllHooks)", file.display());
            checks.push(
                DoctorCheck::fail("hook", message)
                    .hinted("remove the setting; until then no rule is enforced"),
            );
        }
        let off = settings.get(&["disabledMcpjsonServers"]).is_some_and(|list| {
            list.as_array().is_some_and(|list| list.contains(&json!("twining")))
        });
        if off {
            checks.push(DoctorCheck::warn(
                "server",
                format!("{} tells Claude Code not to start the server", file.display()),
            ));
        }
    }
    checks
}

/// Servers of ours that one host would start twice, and the other implementation.
fn duplicate_servers(project: &Project) -> Vec<DoctorCheck> {
    let (checkout, home) = (&project.located.checkout, init::home());
    let here = checkout.display().to_string();
    let own = ["projects", here.as_str(), "mcpServers"];
    let mut checks = Vec::new();
    for (host, in_project, at_home) in [
        ("claude", ".mcp.json", ".claude.json"),
        ("gemini", ".gemini/settings.json", ".gemini/settings.json"),
        ("cursor", ".cursor/mcp.json", ".cursor/mcp.json"),
    ] {
        let mut servers = entries(&checkout.join(in_project), &["mcpServers"]);
        for file in home
            .iter()
            .map(|home| home.join(at_home))
            .filter(|file| *file != checkout.join(in_project))
        {
            servers.extend(entries(&file, &["mcpServers"]));
            servers.extend(entries(&file, &own));
        }
        for (shown, _) in
            servers.iter().filter(|(_, entry)| entry.to_string().contains("twining-mcp"))
        {
            let check = DoctorCheck::warn(
                "server",
                format!("{host} starts the TypeScript server: {shown}"),
            );
            checks.push(
                check.hinted("remove that entry and run twining init: the memory does not change"),
            );
        }
        let mut found: Vec<String> = servers.into_iter().map(|(shown, _)| shown).collect();
        if host == "claude" {
            found.extend(plugins(home.as_deref()));
        }
        if found.len() > 1 {
            let message =
                format!("{host} starts the server {} times: {}", found.len(), found.join(", "));
            checks.push(
                DoctorCheck::warn("server", message).hinted(
                    "keep one of them; each runs its own process and lists the tools again",
                ),
            );
        }
    }
    checks
}

/// Entries of a settings file that start us, or the other implementation.
fn entries(file: &Path, path: &[&str]) -> Vec<(String, Value)> {
    let servers = open(file).and_then(|settings| settings.get(path)).unwrap_or_default();
    let ours = servers.as_object().into_iter().flatten().filter(|(_, entry)| is_twining(entry));
    ours.map(|(name, entry)| (format!("`{name}` in {}", file.display()), entry.clone())).collect()
}

/// Plugins of ours that are turned on in Claude Code.
fn plugins(home: Option<&Path>) -> Vec<String> {
    let on = home
        .and_then(|home| open(&home.join(".claude/settings.json")))
        .and_then(|settings| settings.get(&["enabledPlugins"]));
    let ours =
        |(name, on): &(&String, &Value)| name.starts_with("twining@") && **on == Value::Bool(true);
    on.unwrap_or_default()
        .as_object()
        .into_iter()
        .flatten()
        .filter(ours)
        .map(|(name, _)| format!("the plugin {name}"))
        .collect()
}

fn is_twining(entry: &Value) -> bool {
    let words = entry["command"]
        .as_str()
        .into_iter()
        .chain(entry["args"].as_array().into_iter().flatten().filter_map(Value::as_str));
    words
        .map(|word| word.rsplit('/').next().unwrap_or(word))
        .any(|word| word == "twining" || word.starts_with("twining-mcp"))
}

fn open(file: &Path) -> Option<JsoncFile> {
    let text = fs::read_to_string(file).ok()?;
    JsoncFile::read(Some(&text)).ok()
}
