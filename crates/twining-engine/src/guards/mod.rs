//! Guards: rules that look at what an agent is about to do, and answer.
//!
//! A host's call becomes a neutral [`Event`]; what it would change is worked out
//! in memory ([`Files`] are only read); every guard judges that change, and the
//! strictest answer holds. Guards are data: nothing in a policy is executed, and
//! a project's can only be stricter than its user's.

pub(crate) mod amend;
mod builtin;
mod bytes;
mod change;
mod claims;
mod clause;
mod compiled;
mod event;
mod features;
mod foreign;
mod git_wiring;
mod host;
mod imports;
mod judge;
mod lexed;
mod look;
mod notebook;
mod patch;
mod path;
mod person;
mod reader;
mod rule;
mod ruled;
mod seams;
mod shell;
mod stop;
#[cfg(test)]
mod tests;
mod told_tested;
mod tool;
mod unread;

pub use builtin::KEEPERS;
pub use change::Files;
pub use claims::{Actor, Claimant, ClaimsOfOthers, Undo};
pub use clause::{globs_of, ruled_out};
pub use event::{Action, Cell, Event, Moment, Replacement};
pub use features::{NoList, listed, tested};
pub use host::{Heard, Outcome, Told, hear, misnamed, told};
pub use judge::{Facts, Finding, Guards, Judgement, Trial, Verify};
pub use look::Look;
pub use path::{inside, normal};
pub use rule::{Example, Guard, Level, Standing};
pub use ruled::Use;
pub use seams::{Claim, Claims, Clause, Clauses, Evidence, NoClaims, NoClauses, NoEvidence, Proof};
pub use shell::{Certainty, Loses, Patience, Unreadable};
pub use stop::{Accepted, KnownList, Notes, Reach, Returned, Ruled, Trespass, is_coder};
pub use tool::{Owner, action};

/// Why the guards of a project's policy cannot be read, if they cannot.
pub(crate) fn unread(file: &twining_store::PolicyFile) -> Option<crate::governance::policy::Mistake> {
    unread::mistake(file)
}

/// The simple commands of a line, each as its words; holes are shown as such.
pub(crate) fn shell_runs(line: &str) -> Result<Vec<Vec<String>>, Unreadable> {
    Ok(shell::effects(line)?.runs.iter().map(|run| run.iter().map(shell::Word::gist).collect()).collect())
}
