//! What of an installation is there: which hosts are wired up, what they would run,
//! and what differs from what `init` would write today.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::git::GitWiring;
use super::install::{apply_edits, environment, git_wiring, home};
use super::patch::{FilePatch, PatchKind};
use super::plan::InstallPlan;
use super::receipt::Receipt;
use super::{HostKind, InstallEnvironment, Visibility, apply};
use crate::project::Project;
use crate::render::command_error::CommandError;
use crate::settings::codex_toml;
use crate::settings::jsonc::JsoncFile;

/// A host that calls us.
#[derive(Clone, Debug)]
pub(crate) struct HostState {
    /// Which.
    pub host: HostKind,
    /// Files that differ from what is written today.
    pub drift: Vec<String>,
    /// Our plugin, if it is missing or was replaced.
    pub replaced: Option<String>,
    /// Files of which the host reads nothing, each with the reason.
    pub unread: Vec<String>,
    /// What its settings say of our server.
    pub server: ServerEntry,
    /// Why its files cannot be compared with what is written today, if they cannot.
    pub unusable: Option<String>,
    patches: Vec<FilePatch>,
}

/// What a host's settings say of our server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ServerEntry {
    /// Nothing, and nobody ever put it there.
    Missing,
    /// Nothing any more: it was put into this file.
    Gone(String),
    /// It is started with these words; with none, it is not started at all.
    Started(Vec<String>),
}

/// Every host that is wired up in this project.
pub(crate) fn wired(project: &Project) -> Result<Vec<HostState>, CommandError> {
    let environment = environment(project, visibility_of(project));
    let receipt =
        Receipt::read(project.engine.store().installation().receipt().ok().flatten().as_deref());
    let mut found = Vec::new();
    for host in HostKind::ALL {
        let patches = ours_to_write(project, &environment, host.patches(&environment));
        let text = |patch: &FilePatch| fs::read_to_string(&patch.file).unwrap_or_default();
        // Words in a file that several hosts read say nothing of this one.
        let tells = |patch: &&FilePatch| {
            matches!(
                patch.part,
                PatchKind::Server { .. } | PatchKind::Hooks(_) | PatchKind::Toml(_)
            )
        };
        let there: Vec<&FilePatch> =
            patches.iter().filter(tells).filter(|patch| patch.part.is_in(&text(patch))).collect();
        let server = server_of(&patches, &receipt, &environment);
        let unread = there
            .iter()
            .filter_map(|patch| Some((patch, host.overlooks(&patch.file, &text(patch))?)));
        let unread: Vec<(PathBuf, String)> =
            unread.map(|(patch, why)| (patch.file.clone(), why)).collect();
        // What was put here once and is gone is a host that is wired up no more, not one that never was.
        let was_here = patches.iter().filter(tells).any(|patch| was_written(&receipt, &patch.file));
        if there.is_empty() && !was_here && !matches!(server, ServerEntry::Started(_)) {
            continue;
        }
        let mut plan = InstallPlan::new(&environment.checkout, environment.home.as_deref());
        let compared =
            patches.iter().try_for_each(|patch| patch.put(&mut plan)).and_then(|()| plan.edits());
        // One host's broken file says nothing of the others.
        let (drift, unusable) = match compared {
            Ok(edits) => (edits.into_iter().map(|edit| edit.shown).collect(), None),
            Err(problem) => (
                Vec::new(),
                Some(problem.to_json()["message"].as_str().unwrap_or_default().to_owned()),
            ),
        };
        let mut unread: Vec<String> =
            unread.iter().map(|(file, why)| format!("{} ({why})", plan.shown(file))).collect();
        unread.dedup();
        let replaced =
            patches.iter().find(|patch| patch.is_replaced()).map(|patch| plan.shown(&patch.file));
        found.push(HostState { host, drift, replaced, unread, server, unusable, patches });
    }
    Ok(found)
}

/// Our git configuration.
#[derive(Clone, Debug, Default)]
pub(crate) struct GitState {
    /// The program it starts; `None` if not configured.
    pub program: Option<String>,
    /// Files that differ from what is written today, which program aside.
    pub drift: Vec<String>,
    /// What was in place once and is not, where data is lost or a check is off.
    pub faults: Vec<String>,
    /// What only a person can do.
    pub notes: Vec<String>,
}

/// Returns our git configuration, as far as it can be read.
pub(crate) fn git_state(project: &Project) -> Result<GitState, CommandError> {
    let mut plan = InstallPlan::new(&project.located.checkout, home().as_deref());
    let Some(mut git) = git_wiring(project, &mut plan) else { return Ok(GitState::default()) };
    let program = git.configured_program(&mut plan);
    if let Some(configured) = &program {
        git.program.clone_from(configured);
    }
    // What nobody ever set up is missing, not broken. Settings that start programs come with no
    // clone: where git knows one driver of ours, `init` was here, also if the folder was copied since.
    let receipt =
        Receipt::read(project.engine.store().installation().receipt().ok().flatten().as_deref());
    let hooks_are_ours = !(git.hooks_are_tracked() && git.excludes_memory(&mut plan));
    let is_wired =
        |file: &Path| program.is_some() && (hooks_are_ours || file.starts_with(&git.shape.common));
    let faults = git.faults(&mut plan, |file| is_wired(file) || was_written(&receipt, file));
    put_git(&git, &mut plan)?;
    let drift = plan.edits()?.into_iter().map(|edit| edit.shown).collect();
    Ok(GitState { program, faults, drift, notes: plan.notes })
}

/// Whether an installation on this machine wrote a file, which may be gone by now.
fn was_written(receipt: &Receipt, file: &Path) -> bool {
    let real = file.parent().and_then(|folder| fs::canonicalize(folder).ok()).zip(file.file_name());
    receipt.knows(file) || real.is_some_and(|(folder, name)| receipt.knows(&folder.join(name)))
}

/// Brings every host that is wired up, and git, up to date; the files that changed.
pub(crate) fn repair(project: &Project) -> Result<Vec<String>, CommandError> {
    let receipt =
        Receipt::read(project.engine.store().installation().receipt().ok().flatten().as_deref());
    let mut plan = InstallPlan::new(&project.located.checkout, home().as_deref());
    for wired in wired(project)?.into_iter().filter(|wired| wired.unusable.is_none()) {
        for patch in &wired.patches {
            // What took the place of a file that `init` wrote here is put right; others' stays.
            if patch.is_replaced() && was_written(&receipt, &patch.file) {
                patch.put_back(&mut plan)?;
            } else {
                patch.put(&mut plan)?;
            }
        }
    }
    if let Some(git) = git_wiring(project, &mut plan) {
        put_git(&git, &mut plan)?;
    }
    let edits = plan.edits()?;
    apply_edits(project, &edits, apply::stage(&edits)?)?;
    Ok(edits.into_iter().map(|edit| edit.shown).collect())
}

/// Returns the visibility: a memory that git ignores is one person's own.
fn visibility_of(project: &Project) -> Visibility {
    let mut plan = InstallPlan::new(&project.located.checkout, None);
    let hidden = git_wiring(project, &mut plan).is_some_and(|git| git.excludes_memory(&mut plan));
    if hidden { Visibility::Stealth } else { Visibility::Team }
}

/// In stealth a file that git tracks is nobody's to change.
fn ours_to_write(
    project: &Project,
    environment: &InstallEnvironment,
    patches: Vec<FilePatch>,
) -> Vec<FilePatch> {
    if environment.visibility == Visibility::Team {
        return patches;
    }
    let relative = |patch: &FilePatch| {
        patch
            .file
            .strip_prefix(&environment.checkout)
            .ok()
            .map(|file| file.to_string_lossy().into_owned())
    };
    let tracked =
        project.history.tracked_of(&patches.iter().filter_map(relative).collect::<Vec<_>>());
    patches
        .into_iter()
        .filter(|patch| relative(patch).is_none_or(|file| !tracked.contains(&file)))
        .collect()
}

fn put_git(git: &GitWiring, plan: &mut InstallPlan) -> Result<(), CommandError> {
    if git.hooks_are_tracked() && git.excludes_memory(plan) {
        git.put_drivers(plan)
    } else {
        git.put(plan)
    }
}

/// What the settings of a host say of our server.
fn server_of(
    patches: &[FilePatch],
    receipt: &Receipt,
    environment: &InstallEnvironment,
) -> ServerEntry {
    let Some(patch) = patches
        .iter()
        .find(|patch| matches!(patch.part, PatchKind::Server { .. } | PatchKind::Toml(_)))
    else {
        return ServerEntry::Missing;
    };
    let text = fs::read_to_string(&patch.file).unwrap_or_default();
    match server_in(&patch.part, &text) {
        // The other implementation uses this name too, and is reported separately.
        Some(words) if words.iter().any(|word| word.contains("twining-mcp")) => {
            ServerEntry::Missing
        }
        Some(words) => ServerEntry::Started(words),
        None if was_written(receipt, &patch.file) => ServerEntry::Gone(
            InstallPlan::new(&environment.checkout, environment.home.as_deref()).shown(&patch.file),
        ),
        None => ServerEntry::Missing,
    }
}

fn server_in(part: &PatchKind, text: &str) -> Option<Vec<String>> {
    match part {
        PatchKind::Toml(_) => codex_toml::entry(text)
            .map(|(command, args)| std::iter::once(command).chain(args).collect()),
        PatchKind::Server { path, .. } => {
            let path: Vec<&str> = path.iter().map(String::as_str).chain(["twining"]).collect();
            let entry = JsoncFile::read(Some(text)).ok()?.get(&path)?;
            match &entry["command"] {
                Value::String(command) => {
                    Some(std::iter::once(command.clone()).chain(strings(&entry["args"])).collect())
                }
                list => Some(strings(list).collect()),
            }
        }
        _ => None,
    }
}

fn strings(list: &Value) -> impl Iterator<Item = String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned)
}
