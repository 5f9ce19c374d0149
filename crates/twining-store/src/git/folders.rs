//! Where git keeps its things around a folder, found without starting git: this is on the
//! way of every command.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use twining_model::limits;

/// The git folders of a working tree.
#[derive(Clone, Debug)]
pub struct GitFolders {
    /// The top of the working tree.
    pub top: PathBuf,
    /// What belongs to this working tree alone.
    pub own: PathBuf,
    /// What all working trees of the repository share.
    pub common: PathBuf,
    /// The same folder in the main working tree, if this is a linked one.
    pub main: Option<PathBuf>,
}

impl GitFolders {
    /// Looks for `.git` in `dir` and above.
    #[must_use]
    pub fn of(dir: &Path) -> Option<Self> {
        let top = dir.ancestors().find(|dir| dir.join(".git").exists())?;
        let folders = |own: PathBuf, common| Self { top: top.to_path_buf(), own, common, main: None };
        let dot_git = top.join(".git");
        if dot_git.is_dir() {
            return Some(folders(dot_git.clone(), dot_git));
        }
        let own = fs::canonicalize(top.join(pointer(&dot_git, "gitdir:")?)).ok()?;
        let Some(common) = pointer(&own.join("commondir"), "") else {
            // A submodule: its `.git` is a file too, but nothing is shared.
            return Some(folders(own.clone(), own));
        };
        let common = fs::canonicalize(own.join(common)).ok()?;
        // A bare repository has worktrees and no main one.
        let main = common.file_name().is_some_and(|name| name == ".git").then(|| common.parent()).flatten();
        let inside = dir.strip_prefix(top).ok()?;
        let main = main.map(|main| main.join(inside)).filter(|main| main.is_dir());
        Some(Self { main, ..folders(own, common) })
    }
}

/// The path a one-line file of git's points to.
fn pointer(file: &Path, label: &str) -> Option<PathBuf> {
    let line = read_small(file)?;
    let path = line.strip_prefix(label)?.trim();
    (!path.is_empty()).then(|| PathBuf::from(path))
}

/// A regular file of at most a config's size. What is not a file is not opened:
/// a pipe in its place would hang every command.
fn read_small(file: &Path) -> Option<String> {
    if !fs::metadata(file).ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    let limit = u64::try_from(limits::CONFIG_BYTES).ok()?;
    fs::File::open(file).ok()?.take(limit).read_to_string(&mut text).ok()?;
    Some(text)
}
