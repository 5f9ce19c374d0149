//! A linked worktree of git: its settings are its own, everything else is the main
//! checkout's, and not to be taken away from here.

use std::path::PathBuf;

use crate::desk::Project;
use crate::problem::CommandError;

/// A worktree that is linked to a main checkout.
#[derive(Debug)]
pub struct LinkedWorktree {
    /// The project in the main checkout.
    main: PathBuf,
    /// Whether its memory is this worktree's too.
    pub shares_memory: bool,
}

impl LinkedWorktree {
    /// The one a project lies in, if it is one.
    pub fn of(project: &Project) -> Option<Self> {
        // Without the slash that a join with nothing leaves.
        let main: PathBuf = project.located.main.as_deref()?.components().collect();
        let shares_memory = project.located.place.project == main;
        Some(Self { main, shares_memory })
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
    pub fn refusal(&self) -> CommandError {
        let main = self.main.display();
        let why = format!("this is a linked worktree of {main}, where the memory lies; nothing was removed");
        CommandError::unavailable("LINKED_WORKTREE", why)
            .with_hint("run it there to take Twining out of the repository; without --purge, only what lies in this worktree is taken out")
    }
}
