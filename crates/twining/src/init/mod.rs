//! `init` and `uninstall`: how a project comes to use Twining, and how it stops.
//!
//! What would be written is worked out on a [`Sheet`] first; it is shown with
//! `--dry-run`, or carried out whole. A receipt remembers what each file was, so
//! that `uninstall` restores it.

mod apply;
mod back;
mod block;
pub mod flags;
mod git;
mod git_hooks;
mod hook_managers;
mod hosts;
mod piece;
mod protect;
mod receipt;
mod sheet;
mod state;
mod suggest;
mod telling;
mod uninstall;
mod worktree;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use twining_store::SCAFFOLD;

use self::apply::Staged;
pub use self::git::projects;
pub use self::hosts::{Ground, Host, Reach};
use self::piece::Piece;
pub use self::state::{Server, Wired, git_told, mend, wired};
pub use self::uninstall::uninstall;

use self::git::GitGround;
use self::receipt::{Original, Receipt};
use self::sheet::{Edit, Sheet};
use self::telling::{Outcome, Silence, agreed, tell};
use crate::desk::Project;
use crate::installed;
use crate::locate::{Clues, FOLDER};
use crate::out::Style;
use crate::problem::{Ending, Problem};

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Wish {
    /// `--project`.
    pub project: Option<PathBuf>,
    /// `--agent`; else those that are found.
    pub hosts: Option<Vec<Host>>,
    /// Who may see it.
    pub reach: Reach,
    /// What the host is to keep agents out of.
    pub protect: Option<protect::Protection>,
    /// Whether code owners are asked about policy and decisions.
    pub codeowners: bool,
    /// Who they are.
    pub owners: Option<String>,
    /// Whether it is only shown.
    pub dry_run: bool,
    /// Whether nobody is asked.
    pub yes: bool,
    /// Whether the memory goes too; only for `uninstall`.
    pub purge: bool,
    /// How it is told.
    pub style: Style,
}

/// What to do where no agent was found.
const NO_AGENT: &str = "no agent was found here: name yours, `twining init --agent claude` (or codex, gemini, cursor, opencode), or run `twining init` once one is installed";

/// Wires the project up.
pub fn install(wish: &Wish) -> Result<Ending, Problem> {
    let project = Project::open(wish.project.clone())?;
    refuse_bare(&project)?;
    let ground = ground(&project, wish.reach);
    let hosts = wish.hosts.clone().unwrap_or_else(|| Host::ALL.into_iter().filter(|host| host.is_here(&ground)).collect());
    let found_none = hosts.is_empty() && wish.hosts.is_none();
    let mut sheet = Sheet::new(&ground.checkout, ground.home.as_deref());
    plan_install(wish, &project, &ground, &hosts, &mut sheet)?;
    let edits = sheet.edits()?;
    let memory = missing_memory(&project)?;
    let nothing = edits.is_empty() && memory.is_empty();
    let mut advice: Vec<String> = found_none.then(|| NO_AGENT.to_owned()).into_iter().collect();
    if !nothing {
        advice.extend(hosts.iter().map(|host| host.advice(wish.reach).to_owned()));
        advice.extend(hosts.iter().filter(|_| wish.protect.is_some()).map(|host| protect::advice(*host).to_owned()));
        advice.extend(suggest::imports(&ground.checkout));
    }
    let close = match (nothing, wish.dry_run) {
        (true, _) => "Everything is in place; nothing was written.",
        (false, true) => "Nothing was written; without --dry-run it is.",
        (false, false) => "Done. `twining doctor` proves that it works; `twining uninstall` takes it back.",
    };
    let outcome = Outcome { edits, memory, hosts, notes: sheet.notes, advice, close: close.to_owned() };
    if nothing || wish.dry_run {
        return Ok(tell(wish, &outcome));
    }
    // Without an agent there is nothing of anybody's settings to agree to.
    if !found_none && !agreed(wish, &outcome, "Write these?", Silence::Agrees)? {
        return Err(Problem::unavailable("DECLINED", "nothing was written"));
    }
    // What cannot be written is known before anything is.
    let staged = apply::stage(&outcome.edits)?;
    // The memory first: the receipt lies in it.
    project.engine.store().installation().prepare().map_err(twining_engine::Failure::from)?;
    project.engine.create_knowledge()?;
    carry_out(&project, &outcome.edits, staged)?;
    Ok(tell(wish, &outcome))
}

/// Puts what hosts and git need into the sheet.
fn plan_install(wish: &Wish, project: &Project, ground: &Ground, hosts: &[Host], sheet: &mut Sheet) -> Result<(), Problem> {
    tell_whereabouts(project, wish, sheet);
    refuse_other_reach(project, sheet, wish.reach)?;
    let mut pieces: Vec<Piece> = hosts.iter().flat_map(|host| host.pieces(ground)).collect();
    if let Some(wanted) = wish.protect {
        pieces.extend(hosts.iter().flat_map(|host| protect::pieces(*host, ground, wanted)));
    }
    let git = git_ground(project, sheet);
    match wish.reach {
        Reach::Team => {
            // A memory that was hidden is the team's from now on.
            git.as_ref().map_or(Ok(()), |git| git.reveal(sheet))?;
            pieces.iter().try_for_each(|piece| piece.put(sheet))?;
        }
        Reach::Stealth => put_unseen(project, sheet, &pieces, git.as_ref())?,
    }
    for (host, file) in overlooking(hosts, ground, sheet) {
        sheet.note(format!(
            "{host} takes plain JSON only and reads nothing of `{file}`, which has comments or commas too many; take them out"
        ));
    }
    if wish.reach == Reach::Stealth && ground.home.is_none() && hosts.contains(&Host::Claude) {
        sheet.note("HOME names no folder, so Claude Code was not told of the server: what only you see of it lies there");
    }
    let Some(git) = git else {
        if wish.codeowners {
            sheet.note("code owners were not named: there is no repository here");
        }
        return Ok(());
    };
    if wish.codeowners {
        protect::put_codeowners(sheet, &git, wish.owners.as_deref())?;
    }
    if wish.reach == Reach::Stealth && git.hooks_are_tracked() {
        sheet.note("the hooks of this repository are shared, so none was added");
        return git.put_drivers(sheet);
    }
    git.put(sheet)
}

/// Where hosts look, for this process and project.
pub fn ground(project: &Project, reach: Reach) -> Ground {
    let programs = std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default();
    let inside_claude = std::env::var_os("CLAUDECODE").is_some_and(|is| is == OsStr::new("1"));
    Ground { checkout: project.located.checkout.clone(), home: home(), programs, inside_claude, reach }
}

/// All that may be in the files of hosts, protection included.
fn every_piece(ground: &Ground) -> Vec<Piece> {
    let of = |host: Host| host.pieces(ground).into_iter().chain(protect::pieces(host, ground, protect::Protection::Strict));
    Host::ALL.into_iter().flat_map(of).collect()
}

/// The user's home.
pub fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_dir()).and_then(|home| std::fs::canonicalize(home).ok())
}

/// Files that a host would read nothing of, as they were found.
fn overlooking(hosts: &[Host], ground: &Ground, sheet: &mut Sheet) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    for host in hosts {
        for piece in host.pieces(ground) {
            let Ok(Some(text)) = sheet.text(&piece.file, &piece.within) else { continue };
            if host.overlooks(&piece.file, &text).is_some() {
                found.push((host.name(), sheet.shown(&piece.file)));
            }
        }
    }
    found.dedup();
    found
}

/// A bare repository has no files to work on.
fn refuse_bare(project: &Project) -> Result<(), Problem> {
    let is_bare = |dir: &&Path| dir.join("HEAD").is_file() && dir.join("objects").is_dir() && dir.join("refs").is_dir();
    let around = project.located.checkout.ancestors().take_while(|dir| !dir.join(".git").exists());
    let Some(bare) = around.into_iter().find(is_bare) else { return Ok(()) };
    let problem = Problem::unavailable("NOT_FOUND", format!("`{}` is a bare repository, and agents work in none", bare.display()));
    Err(problem.with_hint("run it in one of its worktrees, or in a clone"))
}

/// Says which project is meant where it is not the folder one stands in, and where one
/// lies in another.
fn tell_whereabouts(project: &Project, wish: &Wish, sheet: &mut Sheet) {
    let root = &project.located.checkout;
    let here = Clues::of_process(None).ok().and_then(|clues| std::fs::canonicalize(clues.here).ok());
    if let Some(here) = here.filter(|here| wish.project.is_none() && here != root && here.starts_with(root)) {
        let inside = here.strip_prefix(root).unwrap_or(&here).display();
        sheet.note(format!(
            "`{inside}` lies in the project {}, and shares its memory; `twining init --project .` gives it one of its own",
            root.display()
        ));
    }
    if let Some(outer) = root.ancestors().skip(1).find(|dir| dir.join(FOLDER).is_dir()) {
        sheet.note(format!("this project lies in {}, which has a memory of its own; from here down this one is used", outer.display()));
    }
}

/// What of git is ours to change; a note where there is a repository we cannot read.
fn git_ground(project: &Project, sheet: &mut Sheet) -> Option<GitGround> {
    let Some(shape) = project.history.shape() else {
        let words = if project.located.place.git_dir.is_some() {
            "git could not be asked about this repository, so it was left alone"
        } else {
            "this folder is under no version control; the memory is shared on this machine only"
        };
        sheet.note(words);
        return None;
    };
    // In a linked worktree the memory is the main one's, and lies at the same place in it.
    let top = std::fs::canonicalize(&shape.top).unwrap_or_else(|_| shape.top.clone());
    let inside = project.located.checkout.strip_prefix(&top).unwrap_or(Path::new("")).to_string_lossy().into_owned();
    let prefix = if inside.is_empty() { String::new() } else { format!("{inside}/") };
    let Some(program) = installed::lasting(&[&top, &project.located.checkout, &project.located.place.project]) else {
        sheet.note("the path of this program cannot be written into git's settings, so git was left alone");
        return None;
    };
    let knowledge = project.engine.store().documents().knowledge().ok().map(|file| file.path).filter(|path| !path.starts_with(FOLDER));
    Some(GitGround { shape, prefix, knowledge, program })
}

/// What an earlier `init` of the other kind wrote must go first: hooks would run twice.
fn refuse_other_reach(project: &Project, sheet: &Sheet, reach: Reach) -> Result<(), Problem> {
    let (other, whom) = if reach == Reach::Team { (Reach::Stealth, "you alone (--stealth)") } else { (Reach::Team, "the team") };
    let own: Vec<PathBuf> = every_piece(&ground(project, reach)).into_iter().map(|piece| piece.file).collect();
    let is_there = |piece: &Piece| std::fs::read_to_string(&piece.file).is_ok_and(|text| piece.part.is_in(&text));
    let others = every_piece(&ground(project, other));
    let Some(found) = others.iter().find(|piece| !own.contains(&piece.file) && is_there(piece)) else { return Ok(()) };
    let message = format!("this project is wired up for {whom} already: `{}` calls twining", sheet.shown(&found.file));
    Err(Problem::unavailable("ALREADY_WIRED", message).with_hint("run `twining uninstall` first; what was recorded stays"))
}

/// In stealth: only files that git does not track, and git is told to overlook them.
fn put_unseen(project: &Project, sheet: &mut Sheet, pieces: &[Piece], git: Option<&GitGround>) -> Result<(), Problem> {
    if git.is_none() && project.located.place.git_dir.is_some() {
        let problem = Problem::unavailable("GIT", "git could not be asked what it tracks here, so nothing can be hidden from it");
        return Err(problem.with_hint("`git status` tells what is wrong; nothing was written"));
    }
    let checkout = &project.located.checkout;
    let relative = |piece: &Piece| piece.file.strip_prefix(checkout).ok().map(|file| file.to_string_lossy().into_owned());
    let files: Vec<String> = pieces.iter().filter_map(relative).chain([FOLDER.to_owned()]).collect();
    let tracked = project.history.tracked_of(&files);
    let mut unseen = Vec::new();
    for piece in pieces {
        match relative(piece) {
            Some(file) if tracked.contains(&file) => sheet.note(format!("`{file}` is tracked by git, so it was left as it is")),
            Some(file) => {
                piece.put(sheet)?;
                unseen.push(file);
            }
            None => piece.put(sheet)?,
        }
    }
    let Some(git) = git else { return Ok(()) };
    if tracked.iter().any(|file| file.starts_with(FOLDER)) {
        sheet.note(format!("git tracks {FOLDER}/, so what is recorded stays shared; `git rm -r --cached {FOLDER}`, committed, ends that"));
    } else {
        unseen.push(format!("{FOLDER}/"));
    }
    let mut lines: Vec<String> = unseen.into_iter().map(|file| format!("{}{file}", git.prefix)).collect();
    lines.sort_unstable();
    lines.dedup();
    git.overlook(sheet, &lines)
}

/// Files of the memory that are not there yet.
fn missing_memory(project: &Project) -> Result<Vec<String>, Problem> {
    let folder = project.located.place.project.join(FOLDER);
    // Opening it finds out whether it can be used at all.
    let exists = project.engine.store().exists().map_err(twining_engine::Failure::from)?;
    let knowledge = project.engine.store().documents().knowledge().map_err(twining_engine::Failure::from)?;
    let mut missing: Vec<String> =
        SCAFFOLD.iter().filter(|(name, _)| !exists || !folder.join(name).exists()).map(|(name, _)| format!("{FOLDER}/{name}")).collect();
    if knowledge.bytes.is_none() {
        missing.push(knowledge.path);
    }
    Ok(missing)
}

fn carry_out(project: &Project, edits: &[Edit], staged: Staged<'_>) -> Result<(), Problem> {
    let store = project.engine.store();
    let mut receipt = Receipt::read(store.installation().receipt().map_err(twining_engine::Failure::from)?.as_deref());
    let modes: Vec<Option<u32>> = edits.iter().map(|edit| apply::mode_of(&edit.path)).collect();
    let made = staged.place()?;
    for (edit, mode) in edits.iter().zip(modes) {
        // Written a second time, a file is still to become what it was before the first.
        let original = match edit.before.as_deref().map(|now| receipt.original(&edit.path, now)) {
            Some(Original::Text(text)) => Some(text),
            Some(Original::Absent) => None,
            Some(Original::Unknown) | None => edit.before.clone(),
        };
        receipt.keep(edit, original.as_deref());
        receipt.keep_modes(&edit.path, mode, apply::mode_of(&edit.path));
    }
    receipt.folders.extend(made);
    receipt.folders.dedup();
    store.installation().keep_receipt(receipt.to_bytes().as_deref()).map_err(twining_engine::Failure::from)?;
    Ok(())
}
