//! Carries a sheet out: every file is staged beside its place first, and only when
//! all are, each gets its name. What fails on the way leaves everything as it was.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::plan::{FileEdit, unusable};
use crate::program_path::for_shell;
use crate::render::command_error::CommandError;

/// Folders that were made on the way, the outer before the inner.
pub(super) type CreatedFolders = Vec<PathBuf>;

/// Writes every edit, or none.
pub(super) fn write(edits: &[FileEdit]) -> Result<CreatedFolders, CommandError> {
    stage(edits)?.place()
}

/// Writes every edit beside its place. Whatever can be refused is refused here; what is
/// dropped instead of placed was never there.
pub(super) fn stage(edits: &[FileEdit]) -> Result<StagedEdits<'_>, CommandError> {
    let mut work = StagedEdits::default();
    edits.iter().try_for_each(|edit| work.stage(edit))?;
    Ok(work)
}

/// Removes folders of ours that nothing is in, the inner before the outer.
pub(super) fn remove_empty(folders: &[PathBuf]) {
    // One that is not empty is somebody's, and stays.
    folders.iter().rev().for_each(|folder| drop(fs::remove_dir(folder)));
}

/// Edits that wait beside their places.
#[derive(Default)]
pub(super) struct StagedEdits<'a> {
    made: CreatedFolders,
    staged: Vec<(&'a FileEdit, PathBuf)>,
    /// What got its name, and the mode it had before.
    placed: Vec<(&'a FileEdit, Option<u32>)>,
}

impl Drop for StagedEdits<'_> {
    fn drop(&mut self) {
        self.undo();
    }
}

impl<'a> StagedEdits<'a> {
    fn stage(&mut self, edit: &'a FileEdit) -> Result<(), CommandError> {
        let fail = |error: std::io::Error| unusable(&edit.shown, &error.to_string());
        let Some(folder) = edit.path.parent() else {
            return Err(unusable(&edit.shown, "it has no parent folder"));
        };
        if edit.after.is_some() {
            self.make(folder).map_err(fail)?;
        }
        let temp = beside(&edit.path);
        let mut file = OpenOptions::new().write(true).create_new(true).open(&temp).map_err(
            |error| match error.kind() {
                ErrorKind::AlreadyExists => taken(edit, &temp),
                _ => fail(error),
            },
        )?;
        self.staged.push((edit, temp.clone()));
        let Some(after) = &edit.after else { return Ok(()) };
        file.write_all(after.as_bytes()).and_then(|()| file.sync_all()).map_err(fail)?;
        let like = mode_of(&edit.path);
        let mode = if edit.executable { Some(like.map_or(0o755, started)) } else { like };
        mode.map_or(Ok(()), |mode| fs::set_permissions(&temp, Permissions::from_mode(mode)))
            .map_err(fail)
    }

    fn make(&mut self, folder: &Path) -> std::io::Result<()> {
        let missing: Vec<&Path> =
            folder.ancestors().take_while(|folder| !folder.exists()).collect();
        for folder in missing.into_iter().rev() {
            fs::create_dir(folder)?;
            self.made.push(folder.to_owned());
        }
        Ok(())
    }

    /// Gives every file its name.
    pub(super) fn place(mut self) -> Result<CreatedFolders, CommandError> {
        for (edit, _) in &self.staged {
            // Read once more, as late as can be: what somebody wrote meanwhile is not ours to lose.
            if fs::read(&edit.path).ok().as_deref() != edit.before.as_deref().map(str::as_bytes) {
                return Err(
                    unusable(&edit.shown, "it changed during the run").with_hint("run it again")
                );
            }
        }
        // In their order; what is left of them on the way is undone.
        self.staged.reverse();
        while let Some((edit, temp)) = self.staged.pop() {
            let mode = mode_of(&edit.path);
            let done = match &edit.after {
                Some(_) => fs::rename(&temp, &edit.path),
                None => fs::remove_file(&edit.path).and_then(|()| fs::remove_file(&temp)),
            };
            if let Err(error) = done {
                self.staged.push((edit, temp));
                return Err(unusable(&edit.shown, &error.to_string()));
            }
            self.placed.push((edit, mode));
        }
        self.placed.clear();
        Ok(std::mem::take(&mut self.made))
    }

    /// Restores what was there. If that fails too, the first failure is reported.
    fn undo(&mut self) {
        self.staged.iter().for_each(|(_, temp)| drop(fs::remove_file(temp)));
        for (edit, mode) in self.placed.iter().rev() {
            match &edit.before {
                Some(before) => {
                    let _ = fs::write(&edit.path, before);
                    mode.iter().for_each(|mode| set_mode(&edit.path, *mode));
                }
                None => drop(fs::remove_file(&edit.path)),
            }
        }
        remove_empty(&self.made);
    }
}

/// Who may do what with a file, if it is there.
pub(super) fn mode_of(file: &Path) -> Option<u32> {
    fs::metadata(file).ok().map(|found| found.permissions().mode() & 0o7777)
}

/// Sets it. Where that fails the file stays as it is, which harms nobody.
pub(super) fn set_mode(file: &Path, mode: u32) {
    let _ = fs::set_permissions(file, Permissions::from_mode(mode));
}

/// A mode with which a program is started: as it is, or by everybody who may read it.
fn started(mode: u32) -> u32 {
    if mode & 0o111 == 0 { mode | (mode & 0o444) >> 2 } else { mode }
}

/// Returns an error for an existing file at the staging path, with a hint.
fn taken(edit: &FileEdit, temp: &Path) -> CommandError {
    let problem = unusable(
        &edit.shown,
        &format!("`{}` exists: another program is writing it", temp.display()),
    );
    if temp.extension().is_some_and(|ending| ending == "lock") {
        let hint = format!(
            "it is git's lock file; if no git command is running here, it is stale: rm {}",
            for_shell(&temp.to_string_lossy())
        );
        return problem.with_hint(hint);
    }
    problem
}

/// The name a file has until it is whole. Git's own settings have a lock of this
/// name, so that git and we keep out of each other's way.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_gits = name == "config" && path.with_file_name("HEAD").exists();
    path.with_file_name(if is_gits {
        format!("{name}.lock")
    } else {
        format!(".{name}.twining-{}", std::process::id())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(path: PathBuf, before: Option<&str>, after: Option<&str>) -> FileEdit {
        let shown = path.display().to_string();
        FileEdit {
            path,
            shown,
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
            executable: false,
        }
    }

    #[test]
    fn one_file_that_cannot_be_written_leaves_all_as_they_were() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let at = |name: &str| dir.path().join(name);
        fs::write(at("a"), "old").expect("writes");
        fs::write(at("c"), "meanwhile").expect("writes");
        let edits = [
            edit(at("a"), Some("old"), Some("new")),
            edit(at("sub/b"), None, Some("made")),
            edit(at("c"), Some("as it was"), Some("ours")),
        ];
        assert!(write(&edits).is_err());
        assert_eq!(fs::read_to_string(at("a")).expect("is there"), "old");
        let mut left: Vec<_> = fs::read_dir(dir.path())
            .expect("lists")
            .flatten()
            .map(|entry| entry.file_name())
            .collect();
        left.sort();
        assert_eq!(left, ["a", "c"], "no folder and no half file stays");
    }

    #[test]
    fn a_program_is_started_by_those_who_could_read_it() {
        let modes = [
            (0o700, 0o700),
            (0o750, 0o750),
            (0o744, 0o744),
            (0o644, 0o755),
            (0o640, 0o750),
            (0o600, 0o700),
        ];
        modes.iter().for_each(|(before, after)| assert_eq!(started(*before), *after, "{before:o}"));
    }

    #[test]
    fn git_writing_its_settings_is_not_disturbed() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        for name in ["HEAD", "config", "config.lock"] {
            fs::write(dir.path().join(name), "").expect("writes");
        }
        assert!(write(&[edit(dir.path().join("config"), Some(""), Some("x"))]).is_err());
        assert!(dir.path().join("config.lock").exists());
    }
}
