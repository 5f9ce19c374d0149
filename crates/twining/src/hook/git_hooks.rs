//! git's own hooks. A commit that was made is linked with the decisions it carries
//! out, and old entries are queued for the archive. Nothing here holds git up:
//! whatever goes wrong is told, and the commit stands.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use twining_engine::{Caller, Failure};
use twining_model::{Channel, Origin, Trust};
use twining_store::git::GitFolders;

use crate::desk::Project;
use crate::init;
use crate::locate::LocateInput;
use crate::problem::CommandError;

/// Answers one of git's hooks; one we do not know needs no answer.
pub fn run(project: Option<PathBuf>, event: &str) -> ExitCode {
    let projects = if project.is_some() { vec![project] } else { told() };
    match event {
        "pre-commit" => {
            // Each tells what is wrong; one refusal is enough to stop the commit.
            let refused = projects.into_iter().filter(|project| !super::commit::check(project.clone())).count();
            if refused > 0 { ExitCode::from(1) } else { ExitCode::SUCCESS }
        }
        "post-commit" => {
            for problem in projects.into_iter().filter_map(|project| after_commit(project).err()) {
                // The commit is made; all that is left is to say so.
                let _ =
                    anstream::stderr().write_all(format!("twining: the commit was not linked\n{}", crate::out::words(&problem)).as_bytes());
            }
            ExitCode::SUCCESS
        }
        _ => ExitCode::SUCCESS,
    }
}

/// The projects of this repository, as git was told of them: git starts its hooks at
/// the top, and projects may lie below it. Where it was told of none, the one around.
fn told() -> Vec<Option<PathBuf>> {
    let below = || {
        let clues = LocateInput::of_process(None).ok()?;
        let GitFolders { top, common, .. } = GitFolders::of(&clues.here)?;
        let prefixes = init::projects(&fs::read_to_string(common.join("info/attributes")).ok()?);
        let folders = prefixes.iter().map(|prefix| top.join(prefix)).filter(|folder| folder.is_dir());
        Some(folders.map(Some).collect::<Vec<_>>())
    };
    below().filter(|projects| !projects.is_empty()).unwrap_or_else(|| vec![None])
}

fn after_commit(project: Option<PathBuf>) -> Result<(), CommandError> {
    let project = Project::open(project)?;
    let store = project.engine.store();
    let failed = |error| CommandError::from(Failure::from(error));
    if !store.exists().map_err(failed)? || project.history.is_rewriting() {
        return Ok(());
    }
    if store.config().map_err(failed)?.archive.auto_archive_on_commit {
        store.queues().queue_action(r#"{"action":"archive","trigger":"commit"}"#).map_err(failed)?;
    }
    let Some(commit) = project.history.commit("HEAD") else { return Ok(()) };
    let before = || commit.parents.first().and_then(|parent| project.history.committed_at(parent));
    let origin = Origin { client: None, session: crate::desk::session_of_host(), via: Channel::Hook, trust: Trust::Tool };
    project.engine.link_new_commit(&Caller { agent: "git".to_owned(), origin }, &commit, &before)?;
    Ok(())
}
