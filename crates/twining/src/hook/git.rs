//! git's own hooks. A commit that was made is linked with the decisions it carries
//! out, and old entries are queued for the archive. Nothing here holds git up:
//! whatever goes wrong is told, and the commit stands.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use twining_engine::{Caller, Failure};
use twining_model::{Channel, Origin, Trust};

use crate::desk::Project;
use crate::problem::Problem;

/// Files in git's folder that say commits are being made over again. What is
/// written into tracked files now would stand in the way of the next one.
const REWRITING: [&str; 6] = ["rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG", "sequencer"];

/// Answers one of git's hooks; one we do not know needs no answer.
pub fn run(project: Option<PathBuf>, event: &str) -> ExitCode {
    if event == "pre-commit" {
        return super::commit_check::run(project);
    }
    if event == "post-commit"
        && let Err(problem) = after_commit(project)
    {
        // The commit is made; all that is left is to say so.
        let _ = anstream::stderr().write_all(format!("twining: the commit was not linked\n{}", problem.to_words()).as_bytes());
    }
    ExitCode::SUCCESS
}

fn after_commit(project: Option<PathBuf>) -> Result<(), Problem> {
    let project = Project::open(project)?;
    let store = project.engine.store();
    let failed = |error| Problem::from(Failure::from(error));
    // git names its own folder to its hooks; a linked working tree has another than the memory's.
    let git_dir = std::env::var_os("GIT_DIR").map(PathBuf::from).or_else(|| project.located.place.git_dir.clone());
    if !store.exists().map_err(failed)? || git_dir.as_deref().is_some_and(is_rewriting) {
        return Ok(());
    }
    if store.config().map_err(failed)?.archive.auto_archive_on_commit {
        store.queue_action(r#"{"action":"archive","trigger":"commit"}"#).map_err(failed)?;
    }
    let Some(commit) = project.history.last_commit() else { return Ok(()) };
    let before = || commit.parents.first().and_then(|parent| project.history.committed_at(parent));
    let origin = Origin { client: None, session: crate::desk::session_of_host(), via: Channel::Hook, trust: Trust::Tool };
    project.engine.link_new_commit(&Caller { agent: "git".to_owned(), origin }, &commit, &before)?;
    Ok(())
}

fn is_rewriting(git_dir: &Path) -> bool {
    REWRITING.iter().any(|name| git_dir.join(name).exists())
}
