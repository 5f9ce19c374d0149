//! What git did to the files: told from what a hand did.
//!
//! A commit only records the working tree, so what stands in one that was made
//! since proves nothing. What git put there by itself does: a switch, a merge, a
//! rebase, a reset, a stash. Its own list of the places where HEAD was says which
//! was which.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use super::Staged;
use super::ledger::{Anchor, Seal};
use super::records::{Kind, records_in};
use crate::commits::{fed, lines};
use crate::disk::Dir;
use crate::error::StoreError;
use crate::layout::FOLDER;

/// Bytes of git's list of places that are looked at.
const MOST_REFLOG: u64 = 4 * 1024 * 1024;
/// Places, newest first, whose files are compared.
const MOST_PLACES: usize = 12;
/// Files of commits that are gone through.
const MOST_COMMITTED: usize = 2_000;
/// Stashes whose files are compared.
const MOST_STASHES: usize = 8;
/// Files in git's folder that say it is in the middle of something.
const UNDER_WAY: [&str; 6] = ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "BISECT_LOG"];

/// What git did since an anchor.
pub(crate) struct Moves<'p> {
    project: &'p Path,
    /// Where HEAD is.
    pub(crate) now: Anchor,
    /// Whether git wrote the working tree.
    pub(crate) has_moved: bool,
    /// Whether it writes just now.
    pub(crate) is_busy: bool,
    /// Whether it is in the middle of something that takes several commands.
    pub(crate) is_merging: bool,
    /// Commits made since by recording the working tree.
    made: HashSet<String>,
    /// Places git took its files from, the newest first; the anchor last.
    reached: Vec<String>,
    read: HashMap<(String, String), Option<Vec<u8>>>,
    records: HashMap<(String, Kind), HashMap<String, u64>>,
    stashes: Option<Vec<String>>,
}

impl<'p> Moves<'p> {
    /// What git says happened.
    pub(crate) fn since(project: &'p Path, git: Option<&Dir>, anchor: &Anchor) -> Self {
        let mut moves = Self {
            project,
            now: Anchor::default(),
            has_moved: false,
            is_busy: false,
            is_merging: false,
            made: HashSet::new(),
            reached: Vec::new(),
            read: HashMap::new(),
            records: HashMap::new(),
            stashes: None,
        };
        let Some(git) = git else { return moves };
        moves.is_busy = has(git, "index.lock");
        moves.is_merging = UNDER_WAY.into_iter().any(|name| has(git, name));
        match reflog(git, anchor.reflog) {
            Ok(Some((text, size))) => {
                moves.now.reflog = size;
                moves.follow(&text);
                if moves.now.head.is_empty() {
                    moves.now.head = anchor.head.clone();
                }
            }
            _ => {
                moves.now.head = head(project);
                moves.has_moved = moves.now.head != anchor.head;
                moves.reached.push(moves.now.head.clone());
            }
        }
        moves.reached.reverse();
        moves.reached.truncate(MOST_PLACES);
        moves.reached.push(anchor.head.clone());
        let made = &moves.made;
        moves.reached.retain(|commit| is_commit(commit) && !made.contains(commit));
        moves
    }

    /// Whether HEAD is another, or was elsewhere meanwhile.
    pub(crate) fn is_elsewhere(&self, anchor: &Anchor) -> bool {
        !(self.is_busy || self.is_merging) && self.now != *anchor
    }

    /// Takes in lines of the form `old new who <mail> when zone TAB what: why`.
    fn follow(&mut self, text: &str) {
        for line in text.lines() {
            let Some((places, what)) = line.split_once('\t') else { continue };
            let Some(new) = places.split(' ').nth(1).filter(|new| is_commit(new)) else { continue };
            self.now.head = new.to_owned();
            if ["commit:", "commit (amend)", "commit (initial)"].iter().any(|plain| what.starts_with(plain)) {
                self.made.insert(new.to_owned());
            } else {
                self.has_moved = true;
                self.reached.push(new.to_owned());
            }
        }
    }

    /// Whether git brought a record as it is: it stands so in a place git took files from.
    pub(crate) fn brought(&mut self, key: &str, known: u64, seal: Seal) -> bool {
        let places = self.reached.clone();
        places.iter().any(|place| self.record(place, key, seal) == Some(known))
    }

    /// Whether a record is so in what is checked out, however that came to be.
    pub(crate) fn holds(&mut self, key: &str, known: u64, seal: Seal) -> bool {
        let head = self.now.head.clone();
        self.record(&head, key, seal) == Some(known)
    }

    /// Whether git took a record away: it is in a stash, or git wrote the tree since,
    /// knows the file, and what it last put there has no such record.
    pub(crate) fn took(&mut self, key: &str, bytes_now: Option<&[u8]>, seal: Seal) -> bool {
        let last = self.reached.first().cloned().unwrap_or_default();
        let is_gone = if self.has_moved {
            self.record(&last, key, seal).is_none() && self.knows(&file_of(key))
        } else {
            // `git checkout -- file` leaves no trace but the file as it was committed.
            last == self.now.head && bytes_now.is_some() && bytes_now == self.file(&last, &file_of(key)).as_deref()
        };
        is_gone || self.is_stashed(key, seal)
    }

    /// Whether a file stands in a place where HEAD was: what git does not know it does not take.
    fn knows(&mut self, file: &str) -> bool {
        let places: Vec<String> = self.reached.iter().chain(self.made.iter().take(MOST_PLACES)).cloned().collect();
        places.iter().any(|place| self.file(place, file).is_some())
    }

    fn is_stashed(&mut self, key: &str, seal: Seal) -> bool {
        let project = self.project;
        // Files that git did not know when it stashed them are in a third parent.
        let asked = || {
            let told = lines(project, &["log", "-g", "-n", &MOST_STASHES.to_string(), "--format=%H %P", "refs/stash", "--"]);
            let commits = |line: &String| {
                line.split(' ').enumerate().filter(|(at, _)| matches!(at, 0 | 3)).map(|(_, commit)| commit.to_owned()).collect::<Vec<_>>()
            };
            told.iter().flat_map(commits).collect()
        };
        let stashes = self.stashes.get_or_insert_with(asked).clone();
        stashes.iter().any(|stash| self.record(stash, key, seal).is_some())
    }

    /// What a record is in a commit.
    fn record(&mut self, commit: &str, key: &str, seal: Seal) -> Option<u64> {
        let kind = Kind::of(key)?;
        if kind == Kind::File {
            return self.file(commit, &file_of(key)).map(|bytes| seal.of_record(key, &bytes));
        }
        let place = (commit.to_owned(), kind);
        if !self.records.contains_key(&place) {
            let bytes = self.file(commit, kind.file()?).unwrap_or_default();
            self.records.insert(place.clone(), records_in(kind, &bytes, seal));
        }
        self.records.get(&place)?.get(key).copied()
    }

    fn file(&mut self, commit: &str, file: &str) -> Option<Vec<u8>> {
        if !is_commit(commit) || file.contains('\n') {
            return None;
        }
        let place = (commit.to_owned(), file.to_owned());
        if let Some(known) = self.read.get(&place) {
            return known.clone();
        }
        let found = content(self.project, commit, &format!("{FOLDER}/{file}"));
        self.read.insert(place, found.clone());
        found
    }

    /// Reads files of the newest places at once: git is started once for all of them.
    pub(crate) fn prepare(&mut self, files: &BTreeSet<String>) {
        let places: Vec<String> = self.reached.iter().take(2).cloned().collect();
        self.fetch(&places, files);
    }

    fn fetch(&mut self, commits: &[String], files: &BTreeSet<String>) {
        let mut wanted = Vec::new();
        for commit in commits.iter().filter(|commit| is_commit(commit)) {
            for file in files.iter().filter(|file| !file.contains('\n')) {
                let place = (commit.clone(), file.clone());
                if !self.read.contains_key(&place) {
                    wanted.push(place);
                }
            }
        }
        let names: String = wanted.iter().map(|(commit, file)| format!("{commit}:./{FOLDER}/{file}\n")).collect();
        let Some(said) = (!names.is_empty()).then(|| fed(self.project, &["cat-file", "--batch"], names)).flatten() else { return };
        let mut rest = said.as_slice();
        for place in wanted {
            let Some(end) = memchr::memchr(b'\n', rest) else { return };
            let found = content_of(rest);
            // `name missing` has nothing after it; a file has its bytes and a newline.
            let length = found.as_ref().map_or(0, |bytes| bytes.len() + 1);
            rest = rest.get(end + 1 + length..).unwrap_or_default();
            self.read.insert(place, found);
        }
    }

    /// What commits changed that were made since the anchor: each file of the folder
    /// as it was there and as it is in HEAD. Nothing where nobody can tell.
    pub(crate) fn committed_since(&mut self, anchor: &Anchor) -> Option<Vec<Staged>> {
        let head = self.now.head.clone();
        let list: &[&str] = if anchor.head.is_empty() {
            &["ls-tree", "-r", "--name-only", &head, "--", FOLDER]
        } else {
            &["diff-tree", "-r", "--name-only", "--no-renames", "--relative", &anchor.head, &head, "--", FOLDER]
        };
        let names = lines(self.project, list);
        let files: BTreeSet<String> =
            names.iter().filter_map(|name| name.strip_prefix(FOLDER)?.strip_prefix('/')).map(str::to_owned).collect();
        if !is_commit(&head) || files.len() > MOST_COMMITTED {
            return None;
        }
        self.fetch(&[anchor.head.clone(), head.clone()], &files);
        let staged = |file: String| Staged { before: self.file(&anchor.head, &file), after: self.file(&head, &file), file };
        Some(files.into_iter().map(staged).collect())
    }

    /// A file of the project in the places that git took files from, the newest first.
    pub(crate) fn versions(&self, path: &str) -> Vec<Option<Vec<u8>>> {
        self.reached.iter().map(|place| content(self.project, place, path)).collect()
    }
}

/// A file of the project in a commit.
fn content(project: &Path, commit: &str, path: &str) -> Option<Vec<u8>> {
    let asked = (!path.contains('\n')).then(|| format!("{commit}:./{path}\n"))?;
    fed(project, &["cat-file", "--batch"], asked).and_then(|said| content_of(&said))
}

/// `object type size`, then so many bytes; or `name missing`.
fn content_of(said: &[u8]) -> Option<Vec<u8>> {
    let end = memchr::memchr(b'\n', said)?;
    let size: usize = std::str::from_utf8(&said[..end]).ok()?.rsplit(' ').next()?.parse().ok()?;
    said.get(end + 1..end + 1 + size).map(<[u8]>::to_vec)
}

fn has(git: &Dir, name: &str) -> bool {
    matches!(git.stat(name), Ok(Some(_)))
}

fn file_of(key: &str) -> String {
    super::records::place_of(key).0
}

fn head(project: &Path) -> String {
    lines(project, &["rev-parse", "--verify", "--quiet", "HEAD"]).into_iter().next().unwrap_or_default()
}

fn is_commit(name: &str) -> bool {
    name.len() >= 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// What git's list of places says after so many bytes, and how long it is.
fn reflog(git: &Dir, from: u64) -> Result<Option<(String, u64)>, StoreError> {
    let Some(logs) = git.open_dir("logs")? else { return Ok(None) };
    let Some(handle) = logs.open("HEAD")? else { return Ok(None) };
    let size = handle.fingerprint()?.size;
    // Shorter than it was: git has thrown old places away, and all that is left is new.
    let from = if from <= size { from.max(size.saturating_sub(MOST_REFLOG)) } else { 0 };
    let mut bytes = vec![0; usize::try_from(size - from).unwrap_or(0)];
    let read = handle.read_at(&mut bytes, from)?;
    bytes.truncate(read);
    Ok(Some((String::from_utf8_lossy(&bytes).into_owned(), size)))
}
