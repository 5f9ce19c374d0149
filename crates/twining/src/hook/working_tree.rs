//! The working tree as guards see it: read, never written.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use twining_guard::{FileAccess, inside, normal};
use twining_store::git::Git;

use crate::locate_project::ProjectLocation;
use crate::project::Project;

/// Largest file that is compared.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;
/// Longest path that is looked up, in bytes.
const MAX_PATH: usize = 4096;
/// Links that lead to links.
const MAX_LINKS: usize = 16;
/// Files of a folder that are looked at.
const MAX_SIBLINGS: usize = 256;

/// The tree the caller works in.
pub(crate) struct WorkingTree {
    /// Its root, absolute.
    pub root: String,
    /// Where the memory is; elsewhere in a linked worktree.
    project: String,
    /// Folders with their links followed: one call may name many files of one.
    folders: RefCell<HashMap<PathBuf, PathBuf>>,
}

impl WorkingTree {
    /// The working tree of a project.
    pub(crate) fn of(project: &Project) -> Self {
        let ProjectLocation { place, checkout, .. } = &project.located;
        Self {
            root: checkout.display().to_string(),
            project: place.project.display().to_string(),
            folders: RefCell::default(),
        }
    }

    /// The text of a file, by its path from the root; none if it cannot be read.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        self.read(&normal(&self.root, path)).ok().flatten()
    }

    /// A path with its links followed. What does not exist yet has none; the folder
    /// it will be in may.
    fn followed(&self, path: &Path, links: usize) -> PathBuf {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return path.to_owned();
        };
        let here = self.followed_folder(folder, links).join(name);
        match fs::read_link(&here) {
            // Also one that leads to nothing: a write through it makes the file.
            Ok(to) if links < MAX_LINKS => {
                let folder = here.parent().unwrap_or(Path::new("/")).display().to_string();
                self.followed(Path::new(&normal(&folder, &to.display().to_string())), links + 1)
            }
            _ => here,
        }
    }

    fn followed_folder(&self, folder: &Path, links: usize) -> PathBuf {
        if let Some(known) = self.folders.borrow().get(folder) {
            return known.clone();
        }
        let real = fs::canonicalize(folder).unwrap_or_else(|_| self.followed(folder, links));
        self.folders.borrow_mut().insert(folder.to_owned(), real.clone());
        real
    }
}

impl FileAccess for WorkingTree {
    fn read(&self, path: &str) -> Result<Option<String>, String> {
        let size = match fs::metadata(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.to_string()),
            // A pipe would hang every tool call.
            Ok(found) if !found.is_file() => return Err(format!("`{path}` is not a file")),
            Ok(found) if found.len() > MAX_FILE_BYTES => {
                return Err(format!("`{path}` is larger than {MAX_FILE_BYTES} bytes"));
            }
            Ok(found) => found.len(),
        };
        // One byte more than there is, so that the end is seen without growing.
        let mut bytes =
            Vec::with_capacity(usize::try_from(size).unwrap_or_default().saturating_add(1));
        fs::File::open(path)
            .and_then(|file| file.take(MAX_FILE_BYTES).read_to_end(&mut bytes))
            .map_err(|error| error.to_string())?;
        // Hardly ever anything but UTF-8, and then not gone through piece by piece.
        Ok(Some(
            String::from_utf8(bytes).unwrap_or_else(|not_utf8| {
                String::from_utf8_lossy(not_utf8.as_bytes()).into_owned()
            }),
        ))
    }

    fn real_path(&self, path: &str) -> String {
        // No system opens a longer one.
        let whole = if path.len() > MAX_PATH {
            path.to_owned()
        } else {
            self.followed(Path::new(path), 0).display().to_string()
        };
        // Agents in worktrees share one memory: rules about it hold for its real place.
        match inside(&self.project, &whole) {
            within if self.project != self.root && within != whole => normal(&self.root, &within),
            _ => whole,
        }
    }

    fn siblings(&self, path: &str) -> Vec<String> {
        let Some(folder) = Path::new(path).parent() else { return Vec::new() };
        let names = fs::read_dir(folder).into_iter().flatten().flatten().take(MAX_SIBLINGS);
        names.map(|entry| entry.path().display().to_string()).collect()
    }

    fn uncommitted_records(&self) -> usize {
        Git::at(Path::new(&self.project))
            .changed_in("HEAD", ".twining")
            .map_or(0, |files| files.len())
    }
}
