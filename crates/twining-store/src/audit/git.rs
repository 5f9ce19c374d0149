//! What git did to the files: told from what a hand did.
//!
//! What stands in a commit that was made here since proves nothing, whatever made
//! it: a commit, a merge, a patch, a pick, or git's inner tools. What stands in one
//! that is known, or came from a remote, does. Git's own list of the places where
//! HEAD was is only ever heard against a commit, or for asking instead of holding.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use super::Staged;
use super::known::Known;
use super::ledger::{Anchor, Seal};
use super::origins::{self, Against, Origins, Whence};
use super::records::{Kind, records_in};
use super::reflog::{self, Said as Reflog};
use crate::commits::{fed, lines};
use crate::disk::Dir;
use crate::layout::FOLDER;
use crate::merge::{Versions, merge_array, merge_decision};

/// Commits made here that are compared with their parents.
const MOST_MADE: usize = 24;
/// Files of commits that are gone through.
const MOST_COMMITTED: usize = 2_000;
/// Stashes whose files are compared.
const MOST_STASHES: usize = 8;
/// Files whose commits are named.
const MOST_FILES: usize = 200;
/// Commits that are named.
const MOST_NAMED: usize = 4;
/// Commits among which those are looked for.
const MOST_LISTED: usize = 512;

/// What git did since an anchor.
pub(crate) struct Moves<'p> {
    project: &'p Path,
    git: Option<&'p Dir>,
    anchor: Anchor,
    known: Known,
    /// Where HEAD is.
    pub(crate) now: Anchor,
    /// Whether it writes just now.
    pub(crate) is_busy: bool,
    /// What is being merged or picked, if something is: also commits.
    pub(crate) merging: Vec<String>,
    reflog: Option<Reflog>,
    origins: Option<Origins>,
    read: HashMap<(String, String), Option<Vec<u8>>>,
    records: HashMap<(String, Kind), HashMap<String, u64>>,
    stashes: Option<Vec<String>>,
}

impl<'p> Moves<'p> {
    /// Looks where HEAD is. Starts no git where that is plain to see.
    pub(crate) fn since(project: &'p Path, git: Option<&'p Dir>, anchor: &Anchor, known: &Known, now_ms: i64) -> Self {
        let head = match git {
            None => String::new(),
            Some(git) => reflog::head(git)
                .unwrap_or_else(|| lines(project, &["rev-parse", "--verify", "--quiet", "HEAD"]).into_iter().next().unwrap_or_default()),
        };
        Self {
            project,
            git,
            anchor: anchor.clone(),
            known: known.clone(),
            now: Anchor { head, reflog: git.and_then(reflog::size).unwrap_or_default() },
            is_busy: git.is_some_and(|git| reflog::is_busy(git, now_ms)),
            merging: git.map(reflog::merging).unwrap_or_default(),
            reflog: None,
            origins: None,
            read: HashMap::new(),
            records: HashMap::new(),
            stashes: None,
        }
    }

    /// The same in a linked working tree, whose own list of places nobody asks for.
    pub(crate) fn elsewhere(checkout: &'p Path, anchor: &Anchor, known: &Known) -> Self {
        let head = |name: &str| lines(checkout, &["rev-parse", "--verify", "--quiet", name]).into_iter().next();
        let now = Anchor { head: head("HEAD").unwrap_or_default(), ..Anchor::default() };
        Self { now, merging: head("MERGE_HEAD").into_iter().collect(), ..Self::since(checkout, None, anchor, known, 0) }
    }

    /// Whether HEAD is another.
    pub(crate) fn is_elsewhere(&self, anchor: &Anchor) -> bool {
        !self.is_busy && self.now.head != anchor.head
    }

    fn reflog(&mut self) -> &Reflog {
        let (git, anchor) = (self.git, &self.anchor);
        self.reflog.get_or_insert_with(|| git.map(|git| reflog::since(git, anchor.reflog)).unwrap_or_default())
    }

    fn origins(&mut self) -> Origins {
        if let Some(origins) = &self.origins {
            return origins.clone();
        }
        let recorded = self.reflog().recorded.iter().cloned().collect();
        let branches = origins::branches(self.project, &self.known);
        let pushes = |name: &str| Some((name.to_owned(), reflog::pushes(self.git?, name)));
        let pushed = branches
            .iter()
            .filter(|branch| !branch.name.is_empty())
            .filter_map(|branch| pushes(&branch.name))
            .filter(|(_, pushes)| !pushes.is_empty())
            .collect();
        let heads: Vec<String> = [&self.now.head].into_iter().chain(&self.merging).filter(|head| is_commit(head)).cloned().collect();
        let against = Against { recorded, pushed };
        let origins = Origins::of(self.project, &heads, &self.anchor.head, &self.known, &branches, &against);
        self.origins.insert(origins).clone()
    }

    /// Whether git brought a record as it is: it stands so in a place git took files from.
    pub(crate) fn brought(&mut self, key: &str, known: u64, seal: Seal) -> Option<Whence> {
        let places = self.origins().places;
        places.iter().find(|(place, _)| self.record(place, key, seal) == Some(known)).map(|(_, whence)| *whence)
    }

    /// Whether others brought a record upon commits made here, none of which had a hand in
    /// it: one that has it as a parent of its own has it, a merge or one put on top, had none.
    pub(crate) fn brought_upon(&mut self, key: &str, known: u64, seal: Seal, is_ours: &dyn Fn(u64) -> bool) -> bool {
        let origins = self.origins();
        let own: Vec<_> = origins.own().collect();
        own.len() <= MOST_MADE
            && origins.upon.iter().take(MOST_MADE).any(|commit| self.record(commit, key, seal) == Some(known))
            && own.iter().all(|(commit, parents)| {
                let there = self.record(commit, key, seal);
                there.is_none_or(|there| is_ours(there) || self.brought(key, there, seal).is_some())
                    || parents.iter().any(|parent| self.record(parent, key, seal) == there)
            })
    }

    /// Whether others took a record away upon commits made here, all of which have it or
    /// follow those by which it went.
    fn took_upon(&mut self, key: &str, seal: Seal) -> Option<Whence> {
        let origins = self.origins();
        if origins.upon.is_empty() || origins.made.len() > 2 * MOST_MADE {
            return None;
        }
        // One that never had it took nothing: what went in a merge with it went by hand.
        let mut taken: Vec<&String> = Vec::new();
        loop {
            let before = taken.len();
            for (commit, parents) in &origins.made {
                let is_others = origins.upon.contains(commit);
                if !taken.contains(&commit)
                    && self.record(commit, key, seal).is_none()
                    && parents.iter().any(|parent| taken.contains(&parent) || is_others && self.record(parent, key, seal).is_some())
                {
                    taken.push(commit);
                }
            }
            if taken.len() == before {
                break;
            }
        }
        let is_others =
            !taken.is_empty() && origins.own().all(|(commit, _)| taken.contains(&commit) || self.record(commit, key, seal).is_some());
        is_others.then_some(Whence::Remote)
    }

    /// Whether a record is what Twining's own merge makes of two sides, each of which
    /// is vouched for or was brought.
    pub(crate) fn combined(&mut self, key: &str, known: u64, seal: Seal, is_ours: &dyn Fn(u64) -> bool) -> bool {
        let (head, merging) = (self.now.head.clone(), self.merging.clone());
        let made = self.origins().made;
        let merges = made.iter().filter(|(_, parents)| parents.len() == 2).map(|(_, parents)| (parents[0].clone(), parents[1].clone()));
        let merges: Vec<(String, String)> = merges.take(MOST_MADE).chain(merging.into_iter().map(|other| (head.clone(), other))).collect();
        merges.iter().any(|(one, other)| {
            self.joined(key, one, other, seal) == Some(known)
                && [one, other].iter().all(|side| {
                    let there = self.record(side, key, seal);
                    there.is_none_or(|there| is_ours(there) || self.brought(key, there, seal).is_some())
                })
        })
    }

    fn joined(&mut self, key: &str, one: &str, other: &str, seal: Seal) -> Option<u64> {
        let (file, kind) = (file_of(key), Kind::of(key)?);
        let (ours, theirs) = (self.file(one, &file)?, self.file(other, &file)?);
        let base = lines(self.project, &["merge-base", one, other]).into_iter().next().and_then(|base| self.file(&base, &file));
        let versions = Versions { base: &base.unwrap_or_default(), ours: &ours, theirs: &theirs };
        let merged = match kind {
            Kind::Entities | Kind::Relations => merge_array(&versions),
            Kind::File if file.starts_with("decisions/") => merge_decision(&versions),
            Kind::File if file.starts_with("agents/") => merge_array(&versions),
            _ => return None,
        };
        let text = merged.ok()?.text;
        if kind == Kind::File { Some(seal.of_record(key, &text)) } else { records_in(kind, &text, seal).get(key).copied() }
    }

    /// Whether a record is so in what is checked out, however that came to be.
    pub(crate) fn holds(&mut self, key: &str, known: u64, seal: Seal) -> bool {
        let head = self.now.head.clone();
        self.record(&head, key, seal) == Some(known)
    }

    /// Whether what is checked out is without a record, however that came to be.
    pub(crate) fn lacks(&mut self, key: &str, seal: Seal) -> bool {
        let head = self.now.head.clone();
        is_commit(&head) && self.record(&head, key, seal).is_none()
    }

    /// The commit made here that put an older version of a record over a newer one.
    pub(crate) fn set_back(&mut self, key: &str, known: u64, seal: Seal, is_newer: &dyn Fn(u64) -> bool) -> Option<String> {
        let Origins { made, upon, .. } = self.origins();
        let is_it = |(commit, parents): &&(String, Vec<String>)| {
            self.record(commit, key, seal) == Some(known)
                && parents.iter().any(|parent| self.record(parent, key, seal).is_some_and(is_newer))
                && !parents.iter().any(|parent| self.record(parent, key, seal) == Some(known))
        };
        made.iter().take(MOST_MADE).filter(|(commit, _)| !upon.contains(commit)).find(is_it).map(|(commit, _)| commit.clone())
    }

    /// Whether git says that it undid a commit with this one.
    pub(crate) fn is_revert(&mut self, commit: &str) -> bool {
        self.reflog().reverts.contains(commit)
    }

    /// Whether a file of the project is what a known commit has because git undid a commit:
    /// it says so of the one made here that made it so.
    pub(crate) fn undid(&mut self, path: &str) -> bool {
        let made = self.origins().made;
        let known: Vec<&String> = [&self.anchor.head].into_iter().chain(&self.known.tips).filter(|tip| is_commit(tip)).collect();
        let asked: String = known.iter().map(|tip| format!("{tip}\n")).collect();
        let ask = ["rev-list", "--ignore-missing", "--max-count", &MOST_LISTED.to_string(), "--stdin"];
        let Some(known) = (!made.is_empty() && !known.is_empty()).then(|| fed(self.project, &ask, asked)).flatten() else { return false };
        let known = String::from_utf8_lossy(&known).into_owned();
        let is_last = |(commit, parents): &&(String, Vec<String>)| {
            let names: Vec<&str> = [commit].into_iter().chain(parents).map(String::as_str).collect();
            objects(self.project, &names, path).is_some_and(|found| found[1..].iter().all(|other| *other != found[0]))
        };
        let Some((commit, _)) = made.iter().take(MOST_MADE).find(is_last) else { return false };
        let names: Vec<&str> = [commit.as_str(), self.now.head.as_str()].into_iter().chain(known.lines()).collect();
        let is_back = objects(self.project, &names, path).is_some_and(|found| found[0] == found[1] && found[2..].contains(&found[0]));
        is_back && self.is_revert(commit)
    }

    /// Whether git took a record away, and how: it is in a stash, or what is checked
    /// out comes from where it never was, or where others took it away.
    pub(crate) fn took(&mut self, key: &str, bytes_now: Option<&[u8]>, seal: Seal) -> Option<Whence> {
        let head = self.now.head.clone();
        let is_gone = match self.origins().whence(&head) {
            Some(whence) if head != self.anchor.head => {
                (self.record(&head, key, seal).is_none() && self.knows(&file_of(key))).then_some(whence)
            }
            // `git checkout -- file` leaves no trace but the file as it was committed.
            Some(whence) => {
                let is_back = self.reflog().has_moved && self.record(&head, key, seal).is_none() && self.knows(&file_of(key));
                (is_back || bytes_now.is_some() && bytes_now == self.file(&head, &file_of(key)).as_deref()).then_some(whence)
            }
            None => self
                .left(key, seal)
                .or_else(|| self.took_upon(key, seal))
                .filter(|_| self.record(&head, key, seal).is_none() && self.knows(&file_of(key))),
        };
        is_gone.or_else(|| self.is_stashed(key, seal).then_some(Whence::Known))
    }

    /// Whether a record was left behind on the way: no place has it, or one where
    /// others took it away since it parted from those that have it.
    pub(crate) fn left(&mut self, key: &str, seal: Seal) -> Option<Whence> {
        let places = self.origins().places;
        let anchor = self.anchor.head.clone();
        // What was checked out then is one only if what is checked out now leads to it.
        let is_near = |place: &str, made: &[(String, Vec<String>)]| {
            place != anchor || made.iter().any(|(_, parents)| parents.iter().any(|parent| parent == place))
        };
        let made = self.origins().made;
        let (having, lacking): (Vec<_>, Vec<_>) =
            places.into_iter().filter(|(place, _)| is_near(place, &made)).partition(|(place, _)| self.record(place, key, seal).is_some());
        if having.is_empty() {
            return self.reflog().has_moved.then_some(Whence::Known);
        }
        let parted = |one: &str, other: &str| lines(self.project, &["merge-base", one, other]).into_iter().next();
        lacking.into_iter().find_map(|(place, whence)| {
            let base = parted(&place, &having[0].0)?;
            self.record(&base, key, seal).is_some().then_some(whence)
        })
    }

    /// The commit made here by which git undid one, and with it this record.
    pub(crate) fn undone(&mut self, key: &str, seal: Seal) -> Option<String> {
        let made = self.origins().made;
        let gone = |(commit, parents): &&(String, Vec<String>)| {
            self.record(commit, key, seal).is_none() && parents.iter().any(|parent| self.record(parent, key, seal).is_some())
        };
        made.iter().take(MOST_MADE).find(gone).map(|(commit, _)| commit.clone())
    }

    /// Whether a file stands in a place where HEAD was: what git does not know it does not take.
    fn knows(&mut self, file: &str) -> bool {
        let Origins { places, made, .. } = self.origins();
        let left: Vec<String> = self.reflog().recorded.iter().rev().take(MOST_MADE).cloned().collect();
        let made = made.into_iter().take(MOST_MADE).map(|(commit, _)| commit);
        let places: Vec<String> = places.into_iter().map(|(place, _)| place).chain(made).chain(left).collect();
        places.iter().any(|place| self.file(place, file).is_some())
    }

    /// The newest commits since that changed these files, each with whoever made it; of
    /// others' work those of others alone, for one's own explain nothing.
    pub(crate) fn named(&mut self, files: &BTreeSet<&str>, of: Option<Whence>) -> Vec<String> {
        let origins = self.origins();
        let range = if self.anchor.head.is_empty() { self.now.head.clone() } else { format!("{}..{}", self.anchor.head, self.now.head) };
        let (most, paths) = (MOST_LISTED.to_string(), files.iter().map(|file| format!(":(literal){FOLDER}/{file}")).take(MOST_FILES));
        let paths: Vec<String> = paths.collect();
        let mut ask = vec!["log", "-n", &most, "--format=%H %h (%an)", "--no-merges", &range, "--"];
        ask.extend(paths.iter().map(String::as_str));
        let told = if range.is_empty() { Vec::new() } else { lines(self.project, &ask) };
        let commits = told.iter().filter_map(|line| line.split_once(' '));
        let wanted = commits.filter(|(commit, _)| of != Some(Whence::Remote) || origins.others.contains(*commit));
        wanted.map(|(_, told)| told.to_owned()).take(MOST_NAMED).collect()
    }

    /// The newest commits since that changed a file of the project, each with whoever made it.
    pub(crate) fn that_changed(&self, path: &str) -> Vec<String> {
        if !is_commit(&self.anchor.head) || !is_commit(&self.now.head) {
            return Vec::new();
        }
        let (range, path) = (format!("{}..{}", self.anchor.head, self.now.head), format!(":(literal){path}"));
        lines(self.project, &["log", "-n", &MOST_NAMED.to_string(), "--format=%h (%an)", "--no-merges", &range, "--", &path])
    }

    /// Files that git left with both sides in them, for somebody to settle.
    pub(crate) fn unsettled(&self) -> BTreeSet<String> {
        if self.merging.is_empty() {
            return BTreeSet::new();
        }
        let told = lines(self.project, &["diff", "--name-only", "--no-renames", "--relative", "--diff-filter=U", "--", FOLDER]);
        told.iter().filter_map(|name| name.strip_prefix(FOLDER)?.strip_prefix('/')).map(str::to_owned).collect()
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
        let places: Vec<String> = self.origins().places.into_iter().take(2).map(|(place, _)| place).collect();
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

    /// A file of the project in the places that git took files from, the nearest first.
    pub(crate) fn versions(&mut self, path: &str) -> Vec<(String, Option<Vec<u8>>, Whence)> {
        let read = |(place, whence): (String, Whence)| {
            let bytes = content(self.project, &place, path);
            (place, bytes, whence)
        };
        let origins = self.origins();
        let mut versions: Vec<_> = origins.places.iter().cloned().map(read).collect();
        // Upon commits made here it is others' only if none of those touched it.
        let is_untouched = |(commit, parents): &(String, Vec<String>)| {
            let there = content(self.project, commit, path);
            versions.iter().any(|(_, known, _)| *known == there)
                || parents.iter().any(|parent| content(self.project, parent, path) == there)
        };
        if !origins.upon.is_empty() && origins.own().count() <= MOST_MADE && origins.own().all(is_untouched) {
            let upon = origins.upon.iter().take(1).map(|commit| read((commit.clone(), Whence::Remote)));
            versions.extend(upon.collect::<Vec<_>>());
        }
        versions
    }
}

/// A file of the project in a commit.
fn content(project: &Path, commit: &str, path: &str) -> Option<Vec<u8>> {
    let asked = (!path.contains('\n')).then(|| format!("{commit}:./{path}\n"))?;
    fed(project, &["cat-file", "--batch"], asked).and_then(|said| content_of(&said))
}

/// What git calls a file of the project as each of these commits has it; nothing where one has none.
fn objects(project: &Path, commits: &[&str], path: &str) -> Option<Vec<Option<String>>> {
    let asked = (!path.contains('\n')).then(|| commits.iter().map(|commit| format!("{commit}:./{path}\n")).collect::<String>())?;
    let said = fed(project, &["cat-file", "--batch-check=%(objectname)"], asked)?;
    let told = String::from_utf8_lossy(&said);
    let found: Vec<Option<String>> = told.lines().map(|line| is_commit(line).then(|| line.to_owned())).collect();
    (found.len() == commits.len()).then_some(found)
}

/// `object type size`, then so many bytes; or `name missing`.
fn content_of(said: &[u8]) -> Option<Vec<u8>> {
    let end = memchr::memchr(b'\n', said)?;
    let size: usize = std::str::from_utf8(&said[..end]).ok()?.rsplit(' ').next()?.parse().ok()?;
    said.get(end + 1..end + 1 + size).map(<[u8]>::to_vec)
}

fn file_of(key: &str) -> String {
    super::records::place_of(key).0
}

pub(crate) fn is_commit(name: &str) -> bool {
    name.len() >= 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}
