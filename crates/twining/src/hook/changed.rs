//! Whether files of the working tree changed since an agent began, by whatever hand.
//! Asked when a coder begins and when it returns, never while a tool waits.
//!
//! Bytes are compared, not dates: a file that was touched is as it was, and one that
//! is gone, or as it was committed, is not.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use twining_engine::guards::{Reach, is_coder};
use twining_model::Time;
use twining_store::digest;

use super::scene::Scene;
use crate::git::Git;

/// Files whose bytes are kept in mind; where more differ, dates have to do.
const MOST_KEPT: usize = 4_000;
/// Bytes of one of them that are read; a larger one goes by its size and date.
const MOST_BYTES: u64 = 4 * 1024 * 1024;

/// Repositories in a working tree that are looked into; where there are more, dates have to do.
const MOST_NESTED: usize = 32;
/// Repositories in repositories.
const DEEPEST_NESTED: usize = 3;

/// Files that are asked. In a larger tree nobody can tell, and nobody is held.
const MOST_FILES: usize = 50_000;
/// Folders in folders that are looked into without git.
const MOST_DEPTH: usize = 32;
/// Folders that tools fill by themselves.
pub const FILLED: [&str; 9] =
    [".git", ".twining", "node_modules", "target", "__pycache__", ".pytest_cache", ".mypy_cache", ".venv", ".cache"];

/// A working tree at some moment: all that is not as in a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Tree {
    /// The commit; none where git keeps none, and then all files are kept.
    commit: Option<String>,
    /// What each of the files holds; nothing for one that is gone.
    files: BTreeMap<String, Option<String>>,
    /// Repositories in it, each by its folder: git tells nothing of what is in them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    nested: BTreeMap<String, Tree>,
}

impl Tree {
    /// As it is now, held against the commits of `then`, or its own; none where it is too much to keep.
    fn now(checkout: &Path, then: Option<&Self>) -> Option<Self> {
        Self::within(checkout, then, 0)
    }

    fn within(checkout: &Path, then: Option<&Self>, depth: usize) -> Option<Self> {
        let git = Git::at(checkout);
        let commit = then.map_or_else(|| git.head(), |then| then.commit.clone());
        let files = match &commit {
            Some(commit) => git.differing_from(commit)?,
            None => git.files().unwrap_or_else(|| found(checkout).iter().map(|file| file.display().to_string()).collect()),
        };
        let files: Vec<String> = files.into_iter().filter(|file| counts(Path::new(file))).collect();
        if files.len() > MOST_KEPT {
            return None;
        }
        let files = files.into_iter().map(|file| (file.clone(), held_by(&checkout.join(file)))).collect();
        let mut folders = if depth < DEEPEST_NESTED { git.nested(checkout).unwrap_or_default() } else { Vec::new() };
        folders.retain(|folder| counts(Path::new(folder)));
        if folders.len() > MOST_NESTED {
            return None;
        }
        let inner = |folder: String| {
            let tree = Self::within(&checkout.join(&folder), then.and_then(|then| then.nested.get(&folder)), depth + 1)?;
            Some((folder, tree))
        };
        let nested = folders.into_iter().map(inner).collect::<Option<_>>()?;
        Some(Self { commit, files, nested })
    }

    /// What it says of a file.
    fn of(&self, file: &str) -> Option<&Option<String>> {
        let inside = self.nested.iter().find_map(|(folder, tree)| Some((tree, file.strip_prefix(folder.as_str())?.strip_prefix('/')?)));
        inside.map_or_else(|| self.files.get(file), |(tree, rest)| tree.of(rest))
    }
}

/// What a file holds, in short; nothing if it is not there.
fn held_by(file: &Path) -> Option<String> {
    let found = fs::symlink_metadata(file).ok()?;
    if found.is_symlink() {
        return fs::read_link(file).ok().map(|to| format!("link {}", to.display()));
    }
    if !found.is_file() {
        return Some("folder".to_owned());
    }
    let by_date = || format!("{} {}", found.len(), found.mtime());
    Some(if found.len() > MOST_BYTES { by_date() } else { fs::read(file).map_or_else(|_| by_date(), |bytes| digest(&bytes)) })
}

/// Keeps in mind how the files are when an agent begins that is sent to change them.
pub fn remember(scene: &Scene) {
    let checkout = &scene.project.located.checkout;
    if let Some(name) = note_of(scene).filter(|_| is_coder(&scene.heard.event))
        && let Some(tree) = Tree::now(checkout, None)
    {
        // Without it, dates have to do.
        let _ = serde_json::to_vec(&tree).map(|bytes| scene.project.engine.store().leave_sealed(&name, &bytes));
    }
}

/// Whether anything in an agent's reach is not as it was when it began; none where
/// nobody knows how it was.
pub fn since_it_began(scene: &Scene, reach: &Reach) -> Option<bool> {
    let kept = scene.project.engine.store().sealed(&note_of(scene)?).ok().flatten()?;
    let then: Tree = serde_json::from_slice(&kept).ok()?;
    if *reach == Reach::Nothing {
        return Some(false);
    }
    let now = Tree::now(&scene.project.located.checkout, Some(&then))?;
    Some(match reach {
        Reach::Files(files) => files.iter().any(|file| then.of(file) != now.of(file)),
        _ => then != now || has_committed(&scene.project.located.checkout, then.commit.as_deref()),
    })
}

/// Whether there is a commit since one that holds other files than it. What lay there uncommitted
/// before is as it was, and yet work was done on it.
fn has_committed(checkout: &Path, before: Option<&str>) -> bool {
    let git = Git::at(checkout);
    let Some((before, head)) = before.zip(git.head()) else { return false };
    before != head && git.is_before(before, &head) && git.differ(before, &head)
}

fn note_of(scene: &Scene) -> Option<String> {
    let agent = scene.heard.event.agent_id.as_deref()?;
    // Names of hosts may be long, and a note's is not.
    Some(format!("began-{:x}", twining_store::disk::hash_of(format!("{} {agent}", scene.heard.session).as_bytes())))
}

/// Whether a file is one that somebody writes, and no tool by itself.
fn counts(file: &Path) -> bool {
    !file.iter().any(|part| FILLED.iter().any(|filled| part == *filled))
}

/// Whether any did. Caches, the memory and what git ignores do not count.
pub fn any_since(checkout: &Path, since: Time) -> bool {
    let since = since.as_ms();
    let files = Git::at(checkout).files().map(|files| files.iter().map(PathBuf::from).collect());
    let files: Vec<PathBuf> = files.unwrap_or_else(|| found(checkout));
    files.len() > MOST_FILES
        || files.iter().filter(|file| counts(file)).any(|file| changed_at(&checkout.join(file)).is_some_and(|at| at >= since))
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
