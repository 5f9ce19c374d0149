//! `--as-of`: the memory and the code as a commit had them, or as they were on a day.
//!
//! The files are the truth, so nothing is needed but those of that commit: they are laid out in a
//! folder of their own, asked, and removed.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use twining_model::{InvalidInput, Time};
use twining_store::StoreLocation;
use twining_store::git::Git;

use crate::args::AS_OF;
use crate::locate_project::{FOLDER, ProjectLocation};
use crate::project::{self, Project};
use crate::render::command_error::CommandError;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// A project as it was.
pub(crate) struct PastProject {
    /// Its memory, to be read only.
    pub(crate) project: Project,
    _folder: TempDir,
}

impl PastProject {
    /// Opens the project as a commit had it, or the last commit up to a time.
    pub(crate) fn open(given: Option<PathBuf>, when: &str) -> Result<Self, CommandError> {
        let located = project::find(given)?;
        let git = Git::at(&located.checkout);
        let commit = git
            .resolve_commit(when)
            .or_else(|| git.commit_before(parsed_time(when)?))
            .ok_or_else(|| {
                CommandError::refused(
                    &InvalidInput::new(
                        AS_OF,
                        "must be a commit of this clone, or a time after the first",
                    )
                    .because(format!("`{when}` is neither")),
                )
            })?;
        let folder = tempfile::tempdir().map_err(|error| failed(&error))?;
        // Under its own name, which answers tell.
        let name = located.place.project.file_name().unwrap_or("project".as_ref());
        let project = folder.path().join(name);
        std::fs::create_dir(&project).map_err(|error| failed(&error))?;
        for (path, bytes) in git.folder_at(&commit, FOLDER) {
            write(&project, &path, &bytes).map_err(|error| failed(&error))?;
        }
        let place = StoreLocation {
            project,
            aliases: [vec![located.place.project.clone()], located.place.aliases.clone()].concat(),
            git_dir: None,
            scratch: None,
            is_cache: true,
        };
        let past = ProjectLocation { place, checkout: located.checkout, main: None };
        Ok(Self { project: Project::at_commit(past, commit)?, _folder: folder })
    }
}

/// A time as it is given; of a day its end.
fn parsed_time(when: &str) -> Option<Time> {
    let at = Time::parse(AS_OF, when).ok()?;
    let is_day = when.trim().len() == "2026-11-18".len();
    Some(if is_day { Time::from_ms(at.as_ms() + DAY_MS - 1) } else { at })
}

/// Writes a file of the memory, whose path git checked when it was committed; one that leaves the
/// folder all the same is left out.
fn write(folder: &Path, path: &str, bytes: &[u8]) -> std::io::Result<()> {
    if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Ok(());
    }
    let file = folder.join(path);
    if let Some(parent) = file.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(file, bytes)
}

fn failed(error: &std::io::Error) -> CommandError {
    CommandError::of_error("FILE_WRITE_ERROR", error)
}
