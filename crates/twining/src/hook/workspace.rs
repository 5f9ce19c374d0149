//! The working tree as guards see it: read, never written.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use twining_engine::guards::{Files, Loses, Patience, inside, normal};

use super::unsaved;
use crate::desk::Project;
use crate::locate::Located;

/// Largest file that is compared.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// Longest path that is looked up, in bytes.
const MOST_PATH: usize = 4096;
/// Links that lead to links.
const MOST_LINKS: usize = 16;

/// The tree the caller stands in.
pub struct Workspace {
    /// Its root, absolute.
    pub root: String,
    /// Where the memory is; elsewhere in a linked worktree.
    project: String,
    /// Git's folder, if there is one.
    git: Option<PathBuf>,
    /// Folders with their links followed: one call may name many files of one.
    folders: RefCell<HashMap<PathBuf, PathBuf>>,
    /// Files of the project that were read: what is judged and what is accepted is one text.
    texts: RefCell<HashMap<String, Option<String>>>,
}

impl Workspace {
    /// The working tree of a project.
    pub fn of(project: &Project) -> Self {
        let Located { place, checkout, .. } = &project.located;
        let (root, project) = (checkout.display().to_string(), place.project.display().to_string());
        Self { root, project, git: place.git_dir.clone(), folders: RefCell::default(), texts: RefCell::default() }
    }

    /// A path with its links followed. What does not exist yet has none; the folder
    /// it will be in may.
    fn followed(&self, path: &Path, links: usize) -> PathBuf {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return path.to_owned() };
        let here = self.followed_folder(folder, links).join(name);
        match fs::read_link(&here) {
            // Also one that leads to nothing: a write through it makes the file.
            Ok(to) if links < MOST_LINKS => {
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

    /// The text of a file in it, as it was when it was first asked for.
    pub fn text(&self, path: &str) -> Option<String> {
        if let Some(known) = self.texts.borrow().get(path) {
            return known.clone();
        }
        let text = self.read(&normal(&self.root, path)).ok().flatten();
        self.texts.borrow_mut().insert(path.to_owned(), text.clone());
        text
    }
}

/// Bytes of a file; none where there is none.
pub fn size_of(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|found| found.len())
}

/// Time of the processor that reading a call may take. Not of the wall: on a busy
/// machine an honest line would be refused for what others do.
const MOST_MICROSECONDS: i64 = 25_000;

/// Whether a call still may be read. What this process did before it is little, and counts.
fn is_in_time() -> bool {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    spent.tv_sec * 1_000_000 + spent.tv_nsec / 1_000 < MOST_MICROSECONDS
}

impl Files for Workspace {
    fn patience(&self) -> Patience {
        is_in_time
    }

    fn unsaved(&self, loses: Loses) -> Option<String> {
        // Elsewhere it is a copy that git keeps.
        let git = self.git.as_ref().filter(|_| self.root == self.project)?;
        unsaved::first(Path::new(&self.project), git, loses)
    }

    fn list(&self, folder: &str, most: usize) -> Vec<String> {
        let names = fs::read_dir(folder).into_iter().flatten().flatten();
        names.take(most).filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }

    fn is_folder(&self, path: &str) -> bool {
        Path::new(path).is_dir()
    }

    fn holds_project(&self, path: &str) -> bool {
        let folder = Path::new(path);
        folder.join(".twining/local").is_dir() || folder.join(".git").exists()
    }

    fn read(&self, path: &str) -> Result<Option<String>, String> {
        let size = match fs::metadata(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.to_string()),
            // A pipe would hang every tool call.
            Ok(found) if !found.is_file() => return Err(format!("`{path}` is no file")),
            Ok(found) if found.len() > MOST_BYTES => return Err(format!("`{path}` is larger than {MOST_BYTES} bytes")),
            Ok(found) => found.len(),
        };
        // One byte more than there is, so that the end is seen without growing.
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default().saturating_add(1));
        fs::File::open(path).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut bytes)).map_err(|error| error.to_string())?;
        // Hardly ever anything but UTF-8, and then not gone through piece by piece.
        Ok(Some(String::from_utf8(bytes).unwrap_or_else(|odd| String::from_utf8_lossy(odd.as_bytes()).into_owned())))
    }

    fn real(&self, path: &str) -> String {
        // No system opens a longer one.
        let whole = if path.len() > MOST_PATH { path.to_owned() } else { self.followed(Path::new(path), 0).display().to_string() };
        // Agents in worktrees share one memory: rules about it hold for its real place.
        match inside(&self.project, &whole) {
            within if self.project != self.root && within != whole => normal(&self.root, &within),
            _ => whole,
        }
    }
}
