//! A linked worktree of git: its settings are its own, everything else is the main
//! checkout's, and not to be taken away from here.

use std::path::{Path, PathBuf};

use twining_store::git::Git;

use super::git::GitGround;
use super::piece::Part;
use super::receipt::Receipt;
use super::{Ground, Host, Reach, ground};
use crate::desk::Project;
use crate::locate::FOLDER;
use crate::problem::Problem;

/// A worktree that is linked to a main checkout.
#[derive(Debug)]
pub struct Worktree {
    /// The project in the main checkout.
    main: PathBuf,
    /// Whether its memory is this worktree's too.
    pub shares_memory: bool,
}

impl Worktree {
    /// The one a project lies in, if it is one.
    pub fn of(project: &Project) -> Option<Self> {
        // Without the slash that a join with nothing leaves.
        let main: PathBuf = project.located.main.as_deref()?.components().collect();
        let shares_memory = project.located.place.project == main;
        Some(Self { main, shares_memory })
    }

    /// Whether only this worktree was ever wired up, so that what is shared goes with it.
    pub fn is_alone(&self, project: &Project, receipt: &Receipt, git: Option<&GitGround>) -> bool {
        let here = &project.located.checkout;
        let is_shared = |file: &Path| git.is_some_and(|git| file.starts_with(&git.shape.common));
        let (own, others): (Vec<&Path>, Vec<&Path>) =
            receipt.paths().filter(|file| !is_shared(file)).partition(|file| file.starts_with(here));
        !own.is_empty() && others.is_empty() && !self.main_is_wired(project)
    }

    /// Whether a host calls us in the main checkout, or the memory was committed there.
    fn main_is_wired(&self, project: &Project) -> bool {
        let calls_us = |reach: Reach| {
            let ground = Ground { checkout: self.main.clone(), ..ground(project, reach) };
            let pieces = Host::ALL.into_iter().flat_map(|host| host.pieces(&ground)).collect::<Vec<_>>();
            pieces.iter().filter(|piece| !matches!(piece.part, Part::Setting(..))).any(|piece| {
                let text = std::fs::read_to_string(&piece.file).unwrap_or_default();
                piece.part.is_in(&text)
            })
        };
        [Reach::Team, Reach::Stealth].into_iter().any(calls_us) || !Git::at(&self.main).tracked_of(&[FOLDER.to_owned()]).is_empty()
    }

    /// What is not taken away from here.
    pub fn what_stays(&self) -> String {
        let memory = if self.shares_memory { " and the memory" } else { "" };
        let main = self.main.display();
        format!(
            "this is a linked worktree of {main}, whose git drivers, hooks and attributes{memory} stay; run it there to take Twining out of the repository"
        )
    }

    /// The memory is not this worktree's to remove.
    pub fn refusal(&self) -> Problem {
        let main = self.main.display();
        let why = format!("this is a linked worktree of {main}, where the memory lies; nothing was removed");
        Problem::unavailable("LINKED_WORKTREE", why)
            .with_hint("run it there to take Twining out of the repository; without --purge, only what lies in this worktree is taken out")
    }
}
