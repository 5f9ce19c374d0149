//! Whether files of the working tree changed since a moment, by whatever hand.
//! Asked when a coder returns, never while a tool waits.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use twining_model::Time;

use crate::git::Git;

/// Files that are asked. In a larger tree nobody can tell, and nobody is held.
const MOST_FILES: usize = 50_000;
/// Folders in folders that are looked into without git.
const MOST_DEPTH: usize = 32;
/// Folders that tools fill by themselves.
pub const FILLED: [&str; 9] =
    [".git", ".twining", "node_modules", "target", "__pycache__", ".pytest_cache", ".mypy_cache", ".venv", ".cache"];

/// Whether any did. Caches, the memory and what git ignores do not count.
pub fn any_since(checkout: &Path, since: Time) -> bool {
    let since = since.as_ms();
    let files = Git::at(checkout).files().map(|files| files.iter().map(PathBuf::from).collect());
    let files: Vec<PathBuf> = files.unwrap_or_else(|| found(checkout));
    let counts = |file: &&PathBuf| !file.iter().any(|part| FILLED.iter().any(|filled| part == *filled));
    files.len() > MOST_FILES || files.iter().filter(counts).any(|file| changed_at(&checkout.join(file)).is_some_and(|at| at >= since))
}

/// How far the disk's clock may be behind ours, in milliseconds.
const TICK_MS: i64 = 20;

/// Whether one did, or is gone.
pub fn is_since(file: &Path, since: Time) -> bool {
    changed_at(file).is_none_or(|at| at.saturating_add(TICK_MS) >= since.as_ms())
}

/// When a file's bytes, name or rights last changed; nobody can backdate that.
fn changed_at(file: &Path) -> Option<i64> {
    let found = fs::symlink_metadata(file).ok().filter(|found| !found.is_dir())?;
    let ms = |seconds: i64, nanoseconds: i64| {
        // Some systems keep whole seconds: it may have been at the end of it.
        let within = if nanoseconds == 0 { 999 } else { nanoseconds / 1_000_000 };
        seconds.saturating_mul(1000).saturating_add(within)
    };
    Some(ms(found.mtime(), found.mtime_nsec()).max(ms(found.ctime(), found.ctime_nsec())))
}

/// The files of a folder that git knows nothing of, one more than are asked at most.
fn found(checkout: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![(PathBuf::new(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        for entry in fs::read_dir(checkout.join(&folder)).into_iter().flatten().flatten() {
            let path = folder.join(entry.file_name());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => {
                    let is_filled = FILLED.iter().any(|filled| entry.file_name() == *filled);
                    folders.extend((!is_filled && depth < MOST_DEPTH).then_some((path, depth + 1)));
                }
                Ok(_) => files.push(path),
                Err(_) => {}
            }
            if files.len() > MOST_FILES {
                return files;
            }
        }
    }
    files
}
