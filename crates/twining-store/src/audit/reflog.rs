//! What git's own files say, read without starting git: where HEAD is, what is
//! under way, and its lists of places, which whoever can write files can write too.

use std::collections::HashSet;

use super::git::is_commit;
use crate::disk::{Dir, Handle};

/// Bytes of git's list of places that are looked at.
const MOST_REFLOG: u64 = 4 * 1024 * 1024;
/// Bytes of any other file of git's.
const MOST_BYTES: usize = 16 * 1024 * 1024;
/// Commits of one fetch that are looked at.
const MOST_FETCHED: usize = 64;
/// Commits being merged or picked, by the file that names them.
const UNDER_WAY: [&str; 4] = ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD"];
/// Folders that say commits are being made over again.
const REWRITING: [&str; 2] = ["rebase-merge", "rebase-apply"];
/// How long git writes at a time; a lock that is older was left by somebody.
const BUSY_MS: i64 = 10_000;

/// What git's list says happened.
#[derive(Clone, Debug, Default)]
pub(crate) struct Said {
    /// Whether git wrote the working tree.
    pub(crate) has_moved: bool,
    /// Commits made by recording the working tree, the oldest first.
    pub(crate) recorded: Vec<String>,
    /// Commits that undid others.
    pub(crate) reverts: HashSet<String>,
}

/// Where HEAD is, if that is plain to see.
pub(crate) fn head(git: &Dir) -> Option<String> {
    let text = text(git, "HEAD")?;
    let Some(name) = text.strip_prefix("ref: ").map(str::trim) else { return Some(text.trim().to_owned()).filter(|head| is_commit(head)) };
    if let Some(loose) = text_at(git, name) {
        return Some(loose.trim().to_owned()).filter(|head| is_commit(head));
    }
    let packed = self::text(git, "packed-refs")?;
    let found = packed.lines().filter_map(|line| line.split_once(' ')).find(|(_, known)| *known == name);
    found.map(|(commit, _)| commit.to_owned()).filter(|head| is_commit(head))
}

/// Whether git writes just now.
pub(crate) fn is_busy(git: &Dir, now_ms: i64) -> bool {
    let lock = git.stat("index.lock").ok().flatten();
    lock.is_some_and(|(_, print)| (now_ms - print.mtime_ns / 1_000_000).abs() < BUSY_MS)
}

/// Commits that are being merged or picked. Where commits are made over again and
/// none is named, an empty name stands for it.
pub(crate) fn merging(git: &Dir) -> Vec<String> {
    let named = UNDER_WAY.iter().filter_map(|name| text(git, name));
    let mut found: Vec<String> = named.flat_map(|text| text.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>()).collect();
    if found.is_empty() && REWRITING.iter().any(|name| matches!(git.stat(name), Ok(Some(_)))) {
        found.push(String::new());
    }
    found
}

/// How long the list of HEAD's places is.
pub(crate) fn size(git: &Dir) -> Option<u64> {
    open_at(git, "logs/HEAD")?.fingerprint().ok().map(|print| print.size)
}

/// What happened since the list was so long.
pub(crate) fn since(git: &Dir, from: u64) -> Said {
    let mut said = Said::default();
    let Some(text) = list(git, "logs/HEAD", from) else { return Said { has_moved: true, ..said } };
    for (_, new, what) in entries(&text) {
        if ["commit:", "commit (amend)", "commit (initial)"].iter().any(|plain| what.starts_with(plain)) {
            said.recorded.push(new.to_owned());
        } else {
            said.has_moved = true;
            if what.starts_with("revert") {
                said.reverts.insert(new.to_owned());
            }
        }
    }
    said
}

/// What a branch of a remote was before and after each push from here.
pub(crate) fn pushes(git: &Dir, branch: &str) -> Vec<(String, String)> {
    let text = list(git, &format!("logs/{branch}"), 0).unwrap_or_default();
    entries(&text).filter(|(.., what)| what.starts_with("update by push")).map(|(old, new, _)| (old.to_owned(), new.to_owned())).collect()
}

/// Commits that git last fetched to be used here, each with the address they came from.
pub(crate) fn fetched(git: &Dir) -> Vec<(String, String)> {
    let text = text(git, "FETCH_HEAD").unwrap_or_default();
    let of_line = |line: &str| {
        let mut parts = line.splitn(3, '\t');
        let commit = parts.next().filter(|commit| is_commit(commit))?;
        // The others have a branch of their remote's to tell where they come from.
        parts.next().filter(|for_what| for_what.is_empty())?;
        let what = parts.next()?;
        let address = what.rsplit_once("' of ").map_or(what, |(_, address)| address);
        Some((commit.to_owned(), address.to_owned()))
    };
    text.lines().filter_map(of_line).take(MOST_FETCHED).collect()
}

/// Lines of the form `old new who <mail> when zone TAB what: why`.
fn entries(text: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    text.lines().filter_map(|line| {
        let (places, what) = line.split_once('\t')?;
        let mut places = places.split(' ');
        Some((places.next()?, places.next().filter(|new| is_commit(new))?, what))
    })
}

fn list(git: &Dir, name: &str, from: u64) -> Option<String> {
    let handle = open_at(git, name)?;
    let size = handle.fingerprint().ok()?.size;
    // Shorter than it was: git has thrown old places away, and all that is left is new.
    let from = if from <= size { from.max(size.saturating_sub(MOST_REFLOG)) } else { size.saturating_sub(MOST_REFLOG) };
    let mut bytes = vec![0; usize::try_from(size - from).ok()?];
    let read = handle.read_at(&mut bytes, from).ok()?;
    bytes.truncate(read);
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn text(git: &Dir, name: &str) -> Option<String> {
    let bytes = git.open(name).ok()??.read_all(MOST_BYTES).ok()?;
    String::from_utf8(bytes).ok()
}

fn text_at(git: &Dir, path: &str) -> Option<String> {
    String::from_utf8(open_at(git, path)?.read_all(MOST_BYTES).ok()?).ok()
}

fn open_at(git: &Dir, path: &str) -> Option<Handle> {
    let (folders, name) = path.rsplit_once('/')?;
    let dir = folders.split('/').try_fold(git.clone(), |dir, folder| dir.open_dir(folder).ok()?)?;
    dir.open(name).ok()?
}
