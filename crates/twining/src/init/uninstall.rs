//! `uninstall`: how a project stops to use Twining.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use super::back::{restore, take_back};
use super::git::GitGround;
use super::piece::Piece;
use super::receipt::Receipt;
use super::sheet::Sheet;
use super::telling::{Outcome, Silence, agreed, tell};
use super::worktree::Worktree;
use super::{Reach, Wish, apply, every_piece, git_ground, ground, home, protect};
use crate::allowed::Allowed;
use crate::desk::Project;
use crate::locate::FOLDER;
use crate::person;
use crate::problem::{Ending, Problem};

/// Takes everything back that `install` wrote, for every host.
pub fn uninstall(wish: &Wish) -> Result<Ending, Problem> {
    let project = Project::open(wish.project.clone())?;
    let worktree = Worktree::of(&project);
    if let Some(worktree) = worktree.as_ref().filter(|worktree| wish.purge && worktree.shares_memory) {
        return Err(worktree.refusal());
    }
    let store = project.engine.store();
    let receipt = Receipt::read(store.installation().receipt().map_err(twining_engine::Failure::from)?.as_deref());
    let mut sheet = Sheet::new(&project.located.checkout, home().as_deref());
    let agent = person::agent_shell();
    let git = git_ground(&project, &mut Sheet::new(Path::new("."), None));
    let pieces = [Reach::Team, Reach::Stealth].map(|reach| every_piece(&ground(&project, reach))).concat();
    // In a file with several of ours, the last that was put goes first.
    pieces.iter().rev().try_for_each(|piece| take_back(&mut sheet, &receipt, piece))?;
    git.as_ref().map_or(Ok(()), |git| take_back(&mut sheet, &receipt, &protect::codeowners(git, None)))?;
    match &worktree {
        Some(worktree) => {
            if let Some(git) = git.as_ref().filter(|git| git.hooks_are_tracked()) {
                git.take_hooks(&mut sheet)?;
            }
            restore(&mut sheet, &receipt, &pieces, &[])?;
            sheet.note(worktree.what_stays());
        }
        None => take_shared(&mut sheet, &receipt, &pieces, git.as_ref(), wish)?,
    }
    let edits = sheet.edits()?;
    let purged = wish.purge && store.exists().unwrap_or(false);
    let memory = if purged { vec![format!("{FOLDER}/")] } else { Vec::new() };
    let nothing = edits.is_empty() && !purged;
    let close = match (nothing, wish.dry_run, wish.purge) {
        (true, ..) if worktree.is_some() => "Nothing of ours was found in this worktree.".to_owned(),
        (true, ..) => "Nothing of ours was found.".to_owned(),
        (_, true, _) => "Nothing was removed; without --dry-run it is.".to_owned(),
        (.., true) => "Gone, with everything that was recorded.".to_owned(),
        _ if worktree.is_some() => "Done, in this worktree.".to_owned(),
        _ => format!("Done. What was recorded stays in {FOLDER}/; `twining uninstall --purge` removes that too."),
    };
    let outcome = Outcome { edits, memory, hosts: Vec::new(), notes: sheet.notes, advice: Vec::new(), close };
    if nothing || wish.dry_run {
        return Ok(tell(wish, &outcome));
    }
    if let Some(why) = agent {
        return Err(person::required(&format!("only a person takes Twining away: {why}")));
    }
    if wish.purge && !wish.yes && !std::io::stdin().is_terminal() {
        let problem = Problem::misuse("--purge removes every record, and nobody is there to be asked");
        return Err(problem.with_hint("add --yes if that is what you want"));
    }
    let (question, silence) = if purged {
        ("Remove these, and everything that was recorded?", Silence::Declines)
    } else {
        ("Change these back?", Silence::Agrees)
    };
    if !agreed(wish, &outcome, question, silence)? {
        return Err(Problem::unavailable("DECLINED", "nothing was removed"));
    }
    apply::write(&outcome.edits)?;
    for edit in &outcome.edits {
        // What somebody else made of it since stays.
        let ours = receipt.modes(&edit.path).filter(|(_, after)| apply::mode_of(&edit.path) == Some(*after));
        ours.into_iter().for_each(|(before, _)| apply::set_mode(&edit.path, before));
    }
    let is_concerned = |folder: &&PathBuf| worktree.is_none() || folder.starts_with(&project.located.checkout);
    apply::remove_empty(&receipt.folders.iter().filter(is_concerned).cloned().collect::<Vec<_>>());
    if purged {
        store.installation().purge().map_err(twining_engine::Failure::from)?;
        Allowed::forget(store);
    } else {
        let mut left = receipt;
        outcome.edits.iter().for_each(|edit| left.forget(&edit.path));
        left.forget_strangers();
        left.folders.retain(|folder| folder.is_dir());
        store.installation().keep_receipt(left.to_bytes().as_deref()).map_err(twining_engine::Failure::from)?;
    }
    Ok(tell(wish, &outcome))
}

/// Takes out what all working trees of the repository share.
fn take_shared(sheet: &mut Sheet, receipt: &Receipt, pieces: &[Piece], git: Option<&GitGround>, wish: &Wish) -> Result<(), Problem> {
    let hidden = git.is_some_and(|git| git.hides_memory(sheet));
    let needed = git.map(|git| git.needed_by_others(sheet)).unwrap_or_default();
    if let Some(git) = git {
        git.take(sheet)?;
    }
    if !needed.is_empty() {
        sheet.note("another project in this repository uses Twining too: git's drivers and hooks stay for it");
    }
    restore(sheet, receipt, pieces, &needed)?;
    if let Some(git) = git.filter(|_| hidden && !wish.purge) {
        // What stays of the memory stays hidden.
        git.overlook(sheet, &[format!("{}{FOLDER}/", git.prefix)])?;
    }
    Ok(())
}
