//! Whether git or the team's log has the records: what the tracked files of a checkout say of it,
//! and whether that fits this clone. They are only compared; nothing in them is acted upon.

use twining_store::Store;
use twining_store::git::Git;

use super::sync_command::record_paths;

/// What the tracked files say does not fit this clone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TrackingMismatch {
    /// Git ignores the records, and this clone sends them nowhere.
    NotLinked,
    /// Git tracks the records: the branch is from before the link.
    OldBranch,
    /// Git tracks the records of a project that is labelled: somebody has ended the link.
    EndedElsewhere,
}

impl TrackingMismatch {
    /// What does not fit, if anything.
    pub(super) fn of(store: &Store) -> Option<Self> {
        let is_linked = store.outbox().is_linked().ok()?;
        let are_ignored = store.installation().are_records_ignored().ok()?;
        match (is_linked, are_ignored) {
            (false, true) => Some(Self::NotLinked),
            (true, false) if is_labelled(store) => Some(Self::EndedElsewhere),
            (true, false) => Some(Self::OldBranch),
            _ => None,
        }
    }

    /// A word that programs can test for.
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::NotLinked => "not_linked",
            Self::OldBranch => "branch_before_link",
            Self::EndedElsewhere => "link_ended_elsewhere",
        }
    }

    /// What is the case.
    pub(super) fn message(self) -> &'static str {
        match self {
            Self::NotLinked => {
                "the project is linked to a team and this clone is not: git ignores what is recorded here, so nobody else gets it, and checking out a branch from before the link removes it"
            }
            Self::OldBranch => {
                "this branch is from before the link: git tracks its records, so nothing is exchanged with the team's log while it is checked out"
            }
            Self::EndedElsewhere => {
                "the project is no longer linked to the team, but this clone is: git tracks the records again, so nothing is exchanged with the team's log"
            }
        }
    }

    /// Both, for a reply.
    pub(super) fn words(self) -> String {
        format!("{}; {}", self.message(), self.hint())
    }

    /// The way forward.
    pub(super) fn hint(self) -> &'static str {
        match self {
            Self::NotLinked => {
                "run `twining link URL`; a colleague knows the address, and an administrator gives you a token"
            }
            Self::OldBranch => "merge the commit of the link into it, or check out another branch",
            Self::EndedElsewhere => {
                "`twining unlink` ends the link here too; if the project should stay linked, run `twining link URL` and commit what it changes"
            }
        }
    }
}

/// How many records git tracks though it is to ignore them: a branch from before the link, with
/// records of its own, was merged.
pub(super) fn still_tracked(store: &Store) -> usize {
    Git::at(&store.location().project).tracked_of(&record_paths()).len()
}

/// What takes the records out of git's index and leaves them in the folder.
pub(super) fn untrack_command() -> String {
    format!("git rm -r -q --cached --ignore-unmatch {}", record_paths().join(" "))
}

fn is_labelled(store: &Store) -> bool {
    store.config().is_ok_and(|config| !config.team.trim().is_empty())
}
