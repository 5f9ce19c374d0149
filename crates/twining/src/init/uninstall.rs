//! `uninstall`: how a project stops to use Twining.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use super::back::{remove_patch, restore};
use super::git::GitWiring;
use super::piece::FilePatch;
use super::receipt::Receipt;
use super::sheet::InstallPlan;
use super::telling::{EnterMeaning, InstallOutcome, agreed, tell};
use super::worktree::LinkedWorktree;
use super::{InstallOptions, Visibility, apply, environment, every_patch, git_wiring, home, protect};
use crate::allowed::PersonAllowances;
use crate::desk::Project;
use crate::locate::FOLDER;
use crate::person;
use crate::problem::{CommandError, ExitStatus};

/// Takes everything back that `install` wrote, for every host.
pub fn uninstall(options: &InstallOptions) -> Result<ExitStatus, CommandError> {
    let project = Project::open(options.project.clone())?;
    let worktree = LinkedWorktree::of(&project);
    if let Some(worktree) = worktree.as_ref().filter(|worktree| options.purge && worktree.shares_memory) {
        return Err(worktree.refusal());
    }
    let store = project.engine.store();
    let receipt = Receipt::read(store.installation().receipt().map_err(twining_engine::Failure::from)?.as_deref());
    let mut plan = InstallPlan::new(&project.located.checkout, home().as_deref());
    let agent = person::agent_shell();
    let git = git_wiring(&project, &mut InstallPlan::new(Path::new("."), None));
    let patches = [Visibility::Team, Visibility::Stealth].map(|visibility| every_patch(&environment(&project, visibility))).concat();
    // In a file with several of ours, the last that was put goes first.
    patches.iter().rev().try_for_each(|patch| remove_patch(&mut plan, &receipt, patch))?;
    git.as_ref().map_or(Ok(()), |git| remove_patch(&mut plan, &receipt, &protect::codeowners(git, None)))?;
    match &worktree {
        Some(worktree) => {
            if let Some(git) = git.as_ref().filter(|git| git.hooks_are_tracked()) {
                git.take_hooks(&mut plan)?;
            }
            restore(&mut plan, &receipt, &patches, &[])?;
            plan.note(worktree.what_stays());
        }
        None => take_shared(&mut plan, &receipt, &patches, git.as_ref(), options)?,
    }
    let edits = plan.edits()?;
    let purged = options.purge && store.exists().unwrap_or(false);
    let memory = if purged { vec![format!("{FOLDER}/")] } else { Vec::new() };
    let nothing = edits.is_empty() && !purged;
    let close = match (nothing, options.dry_run, options.purge) {
        (true, ..) if worktree.is_some() => "Nothing of ours was found in this worktree.".to_owned(),
        (true, ..) => "Nothing of ours was found.".to_owned(),
        (_, true, _) => "Nothing was removed; without --dry-run it is.".to_owned(),
        (.., true) => "Gone, with everything that was recorded.".to_owned(),
        _ if worktree.is_some() => "Done, in this worktree.".to_owned(),
        _ => format!("Done. What was recorded stays in {FOLDER}/; `twining uninstall --purge` removes that too."),
    };
    let outcome = InstallOutcome { edits, memory, hosts: Vec::new(), notes: plan.notes, advice: Vec::new(), close };
    if nothing || options.dry_run {
        return Ok(tell(options, &outcome));
    }
    if let Some(why) = agent {
        return Err(person::required(&format!("only a person takes Twining away: {why}")));
    }
    if options.purge && !options.yes && !std::io::stdin().is_terminal() {
        let problem = CommandError::misuse("--purge removes every record, and nobody is there to be asked");
        return Err(problem.with_hint("add --yes if that is what you want"));
    }
    let (question, silence) = if purged {
        ("Remove these, and everything that was recorded?", EnterMeaning::Declines)
    } else {
        ("Change these back?", EnterMeaning::Agrees)
    };
    if !agreed(options, &outcome, question, silence)? {
        return Err(CommandError::unavailable("DECLINED", "nothing was removed"));
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
        PersonAllowances::forget(store);
    } else {
        let mut left = receipt;
        outcome.edits.iter().for_each(|edit| left.forget(&edit.path));
        left.forget_foreign_files();
        left.folders.retain(|folder| folder.is_dir());
        store.installation().keep_receipt(left.to_bytes().as_deref()).map_err(twining_engine::Failure::from)?;
    }
    Ok(tell(options, &outcome))
}

/// Takes out what all working trees of the repository share.
fn take_shared(
    plan: &mut InstallPlan,
    receipt: &Receipt,
    patches: &[FilePatch],
    git: Option<&GitWiring>,
    options: &InstallOptions,
) -> Result<(), CommandError> {
    let hidden = git.is_some_and(|git| git.excludes_memory(plan));
    let needed = git.map(|git| git.needed_by_others(plan)).unwrap_or_default();
    if let Some(git) = git {
        git.take(plan)?;
    }
    if !needed.is_empty() {
        plan.note("another project in this repository uses Twining too: git's drivers and hooks stay for it");
    }
    restore(plan, receipt, patches, &needed)?;
    if let Some(git) = git.filter(|_| hidden && !options.purge) {
        // What stays of the memory stays hidden.
        git.exclude_from_git(plan, &[format!("{}{FOLDER}/", git.prefix)])?;
    }
    Ok(())
}
