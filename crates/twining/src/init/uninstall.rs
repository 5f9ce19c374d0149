//! `uninstall`: how a project stops to use Twining.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use super::git::GitWiring;
use super::install::{InstallOptions, environment, every_patch, git_wiring, home};
use super::patch::{FilePatch, PatchKind};
use super::plan::InstallPlan;
use super::receipt::{OriginalContent, Receipt};
use super::report::{EnterMeaning, InstallOutcome, agreed, declined, tell};
use super::{Visibility, apply, git, marked_block, protect};
use crate::allowances::PersonAllowances;
use crate::locate_project::FOLDER;
use crate::person_check;
use crate::project::Project;
use crate::render::command_error::{CommandError, ExitStatus};

/// Takes everything back that `install` wrote, for every host.
pub(crate) fn uninstall(options: &InstallOptions) -> Result<ExitStatus, CommandError> {
    let project = Project::open(options.project.clone())?;
    let worktree = LinkedWorktree::of(&project);
    if let Some(worktree) =
        worktree.as_ref().filter(|worktree| options.purge && worktree.shares_memory)
    {
        return Err(worktree.refusal());
    }
    let store = project.engine.store();
    let receipt = Receipt::read(store.installation().receipt()?.as_deref());
    let agent = person_check::agent_shell();
    let plan = plan_uninstall(options, &project, &receipt, worktree.as_ref())?;
    let edits = plan.edits()?;
    let purged = options.purge && store.exists().unwrap_or(false);
    let nothing = edits.is_empty() && !purged;
    let outcome = InstallOutcome {
        edits,
        memory: if purged { vec![format!("{FOLDER}/")] } else { Vec::new() },
        hosts: Vec::new(),
        notes: plan.notes,
        advice: Vec::new(),
        close: close(options, nothing, worktree.is_some()),
    };
    if nothing || options.dry_run {
        return Ok(tell(options, &outcome));
    }
    if let Some(why) = agent {
        return Err(person_check::required(&format!("only a person can uninstall Twining: {why}")));
    }
    if options.purge && !options.yes && !std::io::stdin().is_terminal() {
        let problem = CommandError::misuse(
            "--purge removes every record, and there is no terminal to confirm it on",
        );
        return Err(problem.with_hint("add --yes if that is what you want"));
    }
    let (question, silence) = if purged {
        ("Remove these, and everything that was recorded?", EnterMeaning::Declines)
    } else {
        ("Undo these changes?", EnterMeaning::Agrees)
    };
    if !agreed(options, &outcome, question, silence)? {
        return Ok(declined(options, "Nothing was removed."));
    }
    let folder = worktree.is_some().then_some(project.located.checkout.as_path());
    remove(&outcome, &receipt, folder)?;
    if purged {
        store.installation().purge()?;
        PersonAllowances::forget(store);
    } else {
        let mut left = receipt;
        outcome.edits.iter().for_each(|edit| left.forget(&edit.path));
        left.forget_foreign_files();
        left.folders.retain(|folder| folder.is_dir());
        store.installation().save_receipt(left.to_bytes().as_deref())?;
    }
    Ok(tell(options, &outcome))
}

fn plan_uninstall(
    options: &InstallOptions,
    project: &Project,
    receipt: &Receipt,
    worktree: Option<&LinkedWorktree>,
) -> Result<InstallPlan, CommandError> {
    let mut plan = InstallPlan::new(&project.located.checkout, home().as_deref());
    let git = git_wiring(project, &mut InstallPlan::new(Path::new("."), None));
    let patches = [Visibility::Team, Visibility::Stealth]
        .map(|visibility| every_patch(&environment(project, visibility)))
        .concat();
    // In a file with several of ours, the last that was put goes first.
    patches.iter().rev().try_for_each(|patch| remove_patch(&mut plan, receipt, patch))?;
    git.as_ref()
        .map_or(Ok(()), |git| remove_patch(&mut plan, receipt, &protect::codeowners(git, None)))?;
    match worktree {
        Some(worktree) => {
            if let Some(git) = git.as_ref().filter(|git| git.hooks_are_tracked()) {
                git.take_hooks(&mut plan)?;
            }
            restore(&mut plan, receipt, &patches, &[])?;
            plan.note(worktree.what_stays());
        }
        None => take_shared(&mut plan, receipt, &patches, git.as_ref(), options)?,
    }
    Ok(plan)
}

/// Returns the closing message.
fn close(options: &InstallOptions, nothing: bool, is_worktree: bool) -> String {
    let summary = match (nothing, options.dry_run, options.purge) {
        (true, ..) if is_worktree => "Nothing written by Twining was found in this worktree.",
        (true, ..) => "Nothing written by Twining was found.",
        (_, true, _) => "Nothing was removed; run without --dry-run to remove it.",
        (.., true) => "Removed, with everything that was recorded.",
        _ if is_worktree => "Done, in this worktree.",
        _ => {
            "Done. What was recorded stays in .twining/; `twining uninstall --purge` removes that too."
        }
    };
    summary.to_owned()
}

/// Writes the files back; of the folders that were made, those inside `within` go.
fn remove(
    outcome: &InstallOutcome,
    receipt: &Receipt,
    within: Option<&Path>,
) -> Result<(), CommandError> {
    apply::write(&outcome.edits)?;
    for edit in &outcome.edits {
        // What somebody else made of it since stays.
        let ours = receipt
            .modes(&edit.path)
            .filter(|(_, after)| apply::mode_of(&edit.path) == Some(*after));
        ours.into_iter().for_each(|(before, _)| apply::set_mode(&edit.path, before));
    }
    let is_concerned = |folder: &&PathBuf| within.is_none_or(|within| folder.starts_with(within));
    apply::remove_empty(&receipt.folders.iter().filter(is_concerned).cloned().collect::<Vec<_>>());
    Ok(())
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
        plan.note("another project in this repository uses Twining too, so git's merge drivers and hooks stay");
    }
    restore(plan, receipt, patches, &needed)?;
    if let Some(git) = git.filter(|_| hidden && !options.purge) {
        // What stays of the memory stays hidden.
        git.exclude_from_git(plan, &[format!("{}{FOLDER}/", git.prefix)])?;
    }
    Ok(())
}

/// Takes a piece out of its file, if it is in it.
pub(super) fn remove_patch(
    plan: &mut InstallPlan,
    receipt: &Receipt,
    patch: &FilePatch,
) -> Result<(), CommandError> {
    let FilePatch { file, within, part } = patch;
    if !within.is_dir() || !file.exists() {
        return Ok(());
    }
    // A link that leads out was never written to.
    let Ok(Some(text)) = plan.text(file, within) else { return Ok(()) };
    let ours = match part {
        // Its owner is unknown, so it goes with the rest or not at all.
        PatchKind::Setting(..) => plan.is_changed(file, within),
        _ => part.is_in(&text),
    };
    if !ours {
        return Ok(());
    }
    let real = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    match (part, receipt.put_in(&real)) {
        (PatchKind::Block(marks, _), Some(put_in)) => {
            let taken = |text: Option<&str>| {
                text.map_or(Ok(None), |text| marked_block::take_with_gap(text, *marks, put_in))
            };
            plan.edit(file, within, |text| {
                Ok(taken(text).unwrap_or_else(|_| text.map(str::to_owned)))
            })?;
        }
        _ => patch.take(plan)?,
    }
    // One that was there before us stays, even if nothing is left in it.
    if receipt.was_there(&real) {
        let empty =
            if real.extension().is_some_and(|ending| ending == "json") { "{}\n" } else { "" };
        plan.edit(file, within, |text| Ok(Some(text.unwrap_or(empty).to_owned())))?;
    }
    Ok(())
}

/// Restores to the byte what nobody touched since, but for what others need as it is.
pub(super) fn restore(
    plan: &mut InstallPlan,
    receipt: &Receipt,
    patches: &[FilePatch],
    needed: &[PathBuf],
) -> Result<(), CommandError> {
    let has_ours = |file: &Path, text: &str| {
        patches.iter().any(|patch| patch.file == file && patch.part.is_in(text))
    };
    let is_needed = |file: &&Path| needed.iter().any(|needed| needed == file);
    let files: Vec<PathBuf> =
        plan.files().filter(|file| !is_needed(file)).map(Path::to_owned).collect();
    for file in files {
        let Some(within) = file.parent().map(Path::to_owned) else { continue };
        let Ok(Some(now)) = std::fs::read_to_string(&file).map(Some) else { continue };
        match receipt.original(&file, &now) {
            OriginalContent::Unknown => {}
            OriginalContent::Absent => plan.edit(&file, &within, |_| Ok(None))?,
            // What was mended was ours already, in part: it is taken out, not brought back.
            OriginalContent::Text(text)
                if marked_block::has_marker(&text)
                    || git::has_driver(&text)
                    || has_ours(&file, &text) => {}
            OriginalContent::Text(text) => plan.edit(&file, &within, |_| Ok(Some(text)))?,
        }
    }
    Ok(())
}

/// A worktree that is linked to a main checkout.
#[derive(Debug)]
pub(super) struct LinkedWorktree {
    /// The project in the main checkout.
    main: PathBuf,
    /// Whether its memory is this worktree's too.
    pub shares_memory: bool,
}

impl LinkedWorktree {
    /// The one a project lies in, if it is one.
    pub(super) fn of(project: &Project) -> Option<Self> {
        // Without the slash that a join with nothing leaves.
        let main: PathBuf = project.located.main.as_deref()?.components().collect();
        let shares_memory = project.located.place.project == main;
        Some(Self { main, shares_memory })
    }

    /// What is not taken away from here.
    pub(super) fn what_stays(&self) -> String {
        let memory = if self.shares_memory { " and the memory" } else { "" };
        let main = self.main.display();
        format!(
            "this is a linked worktree of {main}, whose git drivers, hooks and attributes{memory} stay; run it there to remove Twining from the repository"
        )
    }

    /// The memory is not this worktree's to remove.
    pub(super) fn refusal(&self) -> CommandError {
        let main = self.main.display();
        let why = format!(
            "this is a linked worktree of {main}, where the memory is stored; nothing was removed"
        );
        CommandError::unavailable("LINKED_WORKTREE", why)
            .with_hint("run it there to remove Twining from the repository; without --purge, only what is in this worktree is removed")
    }
}
