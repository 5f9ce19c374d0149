//! What of an installation is there: which hosts are wired up, what they would run,
//! and what differs from what `init` would write today.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::git::GitGround;
use super::piece::{Part, Piece};
use super::receipt::Receipt;
use super::sheet::Sheet;
use super::{Ground, Host, Reach, apply, carry_out, git_ground, ground, home};
use crate::desk::Project;
use crate::problem::Problem;
use crate::settings::codex_toml;
use crate::settings::jsonc::Settings;

/// A host that calls us.
#[derive(Clone, Debug)]
pub struct Wired {
    /// Which.
    pub host: Host,
    /// Files that differ from what is written today.
    pub drift: Vec<String>,
    /// Our plugin, where it is gone or another stands in its place.
    pub ousted: Option<String>,
    /// Files of which the host reads nothing, each with the reason.
    pub unread: Vec<String>,
    /// What its settings say of our server.
    pub server: Server,
    /// Why its files cannot be compared with what is written today, if they cannot.
    pub unfit: Option<String>,
    pieces: Vec<Piece>,
}

/// What a host's settings say of our server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Server {
    /// Nothing, and nobody ever put it there.
    Missing,
    /// Nothing any more: it was put into this file.
    Gone(String),
    /// It is started with these words; with none, it is not started at all.
    Started(Vec<String>),
}

/// Every host that is wired up in this project.
pub fn wired(project: &Project) -> Result<Vec<Wired>, Problem> {
    let ground = ground(project, reach_of(project));
    let receipt = Receipt::read(project.engine.store().installation().receipt().ok().flatten().as_deref());
    let mut found = Vec::new();
    for host in Host::ALL {
        let pieces = ours_to_write(project, &ground, host.pieces(&ground));
        let text = |piece: &Piece| fs::read_to_string(&piece.file).unwrap_or_default();
        // Words in a file that several hosts read say nothing of this one.
        let tells = |piece: &&Piece| matches!(piece.part, Part::Server { .. } | Part::Hooks(_) | Part::Toml(_));
        let there: Vec<&Piece> = pieces.iter().filter(tells).filter(|piece| piece.part.is_in(&text(piece))).collect();
        let server = server_of(&pieces, &receipt, &ground);
        let unread = there.iter().filter_map(|piece| Some((piece, host.overlooks(&piece.file, &text(piece))?)));
        let unread: Vec<(PathBuf, String)> = unread.map(|(piece, why)| (piece.file.clone(), why)).collect();
        // What was put here once and is gone is a host that is wired up no more, not one that never was.
        let was_here = pieces.iter().filter(tells).any(|piece| was_written(&receipt, &piece.file));
        if there.is_empty() && !was_here && !matches!(server, Server::Started(_)) {
            continue;
        }
        let mut sheet = Sheet::new(&ground.checkout, ground.home.as_deref());
        let compared = pieces.iter().try_for_each(|piece| piece.put(&mut sheet)).and_then(|()| sheet.edits());
        // One host's broken file says nothing of the others.
        let (drift, unfit) = match compared {
            Ok(edits) => (edits.into_iter().map(|edit| edit.shown).collect(), None),
            Err(problem) => (Vec::new(), Some(problem.to_json()["message"].as_str().unwrap_or_default().to_owned())),
        };
        let mut unread: Vec<String> = unread.iter().map(|(file, why)| format!("{} ({why})", sheet.shown(file))).collect();
        unread.dedup();
        let ousted = pieces.iter().find(|piece| piece.is_ousted()).map(|piece| sheet.shown(&piece.file));
        found.push(Wired { host, drift, ousted, unread, server, unfit, pieces });
    }
    Ok(found)
}

/// What git was told of us.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// The program it starts; none if it was told of none.
    pub program: Option<String>,
    /// Files that differ from what is written today, which program aside.
    pub drift: Vec<String>,
    /// What was in place once and is not, where data is lost or a check is off.
    pub faults: Vec<String>,
    /// What only a person can do.
    pub notes: Vec<String>,
}

/// What git was told of us, as far as it can be asked.
pub fn git_told(project: &Project) -> Result<Told, Problem> {
    let mut sheet = Sheet::new(&project.located.checkout, home().as_deref());
    let Some(mut git) = git_ground(project, &mut sheet) else { return Ok(Told::default()) };
    let program = git.told(&mut sheet);
    if let Some(told) = &program {
        git.program.clone_from(told);
    }
    // What nobody ever set up is missing, not broken. Settings that start programs come with no
    // clone: where git knows one driver of ours, `init` was here, also if the folder was copied since.
    let receipt = Receipt::read(project.engine.store().installation().receipt().ok().flatten().as_deref());
    let hooks_are_ours = !(git.hooks_are_tracked() && git.hides_memory(&mut sheet));
    let is_wired = |file: &Path| program.is_some() && (hooks_are_ours || file.starts_with(&git.shape.common));
    let faults = git.faults(&mut sheet, |file| is_wired(file) || was_written(&receipt, file));
    put_git(&git, &mut sheet)?;
    let drift = sheet.edits()?.into_iter().map(|edit| edit.shown).collect();
    Ok(Told { program, faults, drift, notes: sheet.notes })
}

/// Whether an installation on this machine wrote a file, which may be gone by now.
fn was_written(receipt: &Receipt, file: &Path) -> bool {
    let real = file.parent().and_then(|folder| fs::canonicalize(folder).ok()).zip(file.file_name());
    receipt.knows(file) || real.is_some_and(|(folder, name)| receipt.knows(&folder.join(name)))
}

/// Brings every host that is wired up, and git, up to date; the files that changed.
pub fn mend(project: &Project) -> Result<Vec<String>, Problem> {
    let receipt = Receipt::read(project.engine.store().installation().receipt().ok().flatten().as_deref());
    let mut sheet = Sheet::new(&project.located.checkout, home().as_deref());
    for wired in wired(project)?.into_iter().filter(|wired| wired.unfit.is_none()) {
        for piece in &wired.pieces {
            // What took the place of a file that `init` wrote here is put right; others' stays.
            if piece.is_ousted() && was_written(&receipt, &piece.file) { piece.put_back(&mut sheet)? } else { piece.put(&mut sheet)? }
        }
    }
    if let Some(git) = git_ground(project, &mut sheet) {
        put_git(&git, &mut sheet)?;
    }
    let edits = sheet.edits()?;
    carry_out(project, &edits, apply::stage(&edits)?)?;
    Ok(edits.into_iter().map(|edit| edit.shown).collect())
}

/// A memory that git was told to overlook is one person's own.
fn reach_of(project: &Project) -> Reach {
    let mut sheet = Sheet::new(&project.located.checkout, None);
    let hidden = git_ground(project, &mut sheet).is_some_and(|git| git.hides_memory(&mut sheet));
    if hidden { Reach::Stealth } else { Reach::Team }
}

/// In stealth a file that git tracks is nobody's to change.
fn ours_to_write(project: &Project, ground: &Ground, pieces: Vec<Piece>) -> Vec<Piece> {
    if ground.reach == Reach::Team {
        return pieces;
    }
    let relative = |piece: &Piece| piece.file.strip_prefix(&ground.checkout).ok().map(|file| file.to_string_lossy().into_owned());
    let tracked = project.history.tracked_of(&pieces.iter().filter_map(relative).collect::<Vec<_>>());
    pieces.into_iter().filter(|piece| relative(piece).is_none_or(|file| !tracked.contains(&file))).collect()
}

fn put_git(git: &GitGround, sheet: &mut Sheet) -> Result<(), Problem> {
    if git.hooks_are_tracked() && git.hides_memory(sheet) { git.put_drivers(sheet) } else { git.put(sheet) }
}

/// What the settings of a host say of our server.
fn server_of(pieces: &[Piece], receipt: &Receipt, ground: &Ground) -> Server {
    let Some(piece) = pieces.iter().find(|piece| matches!(piece.part, Part::Server { .. } | Part::Toml(_))) else { return Server::Missing };
    let text = fs::read_to_string(&piece.file).unwrap_or_default();
    match server_in(&piece.part, &text) {
        // The other implementation goes by this name too, and is told by itself.
        Some(words) if words.iter().any(|word| word.contains("twining-mcp")) => Server::Missing,
        Some(words) => Server::Started(words),
        None if was_written(receipt, &piece.file) => Server::Gone(Sheet::new(&ground.checkout, ground.home.as_deref()).shown(&piece.file)),
        None => Server::Missing,
    }
}

fn server_in(part: &Part, text: &str) -> Option<Vec<String>> {
    match part {
        Part::Toml(_) => codex_toml::entry(text).map(|(command, args)| std::iter::once(command).chain(args).collect()),
        Part::Server { path, .. } => {
            let path: Vec<&str> = path.iter().map(String::as_str).chain(["twining"]).collect();
            let entry = Settings::read(Some(text)).ok()?.get(&path)?;
            match &entry["command"] {
                Value::String(command) => Some(std::iter::once(command.clone()).chain(strings(&entry["args"])).collect()),
                list => Some(strings(list).collect()),
            }
        }
        _ => None,
    }
}

fn strings(list: &Value) -> impl Iterator<Item = String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned)
}
