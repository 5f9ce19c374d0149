//! The commits of one file, and what a commit did to others.

use std::collections::BTreeSet;

use super::commit_range::{TreeChange, raw_changes};
use super::repository::{Git, is_hash, is_plain, plain_diff};

/// Commits of one file that are looked at.
const COMMITS: &str = "--max-count=5000";
/// Files of a commit that says what changes together; one with more moved or reformatted them.
const MOST_FILES: usize = 15;

/// A commit that touched a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileCommit {
    /// Its whole hash.
    pub hash: String,
    /// When it was made, in seconds since 1970.
    pub seconds: i64,
    /// Its first line.
    pub subject: String,
}

impl Git {
    /// The commits after `since`, up to `until`, that changed a file; oldest first. None where git
    /// does not have the history.
    #[must_use]
    pub fn commits_of_file(&self, since: &str, until: &str, path: &str) -> Option<Vec<String>> {
        if !is_hash(since) || !(until == "HEAD" || is_hash(until)) || !is_plain(path) {
            return None;
        }
        let range = format!("{since}..{until}");
        let list = |options: &[&str]| {
            let words = [&["rev-list", "--reverse", COMMITS], options, &[&range, "--", path]];
            let printed = self.printed(&words.concat())?;
            let text = String::from_utf8_lossy(&printed).into_owned();
            Some(text.lines().map(str::to_owned).collect::<Vec<_>>())
        };
        let direct = list(&["--first-parent", "--ancestry-path"])?;
        if !direct.is_empty() {
            return Some(direct);
        }
        // A merge brought it in from elsewhere; where it is gone by now, git must be told to look
        // down the side that had it.
        let merged = list(&["--topo-order"])?;
        if merged.is_empty() {
            list(&["--topo-order", "--full-history", "--ancestry-path"])
        } else {
            Some(merged)
        }
    }

    /// What a commit changed against its first parent, with renames followed.
    #[must_use]
    pub fn changes_of_commit(&self, commit: &str) -> Vec<TreeChange> {
        self.changes_between(&format!("{commit}^1"), commit)
    }

    /// What differs between two commits below this folder, with renames followed.
    #[must_use]
    pub fn changes_between(&self, before: &str, after: &str) -> Vec<TreeChange> {
        let words =
            ["diff-tree", "-r", "-z", "--raw", "-M", "--relative", "--no-commit-id", before, after];
        raw_changes(&self.printed(&words).unwrap_or_default(), "")
    }

    /// The files below this folder that a later commit has and an earlier one has not so.
    pub(crate) fn written_between(&self, before: &str, after: &str) -> Vec<String> {
        let words = plain_diff(
            &["diff-tree", "-r", "--name-only", "--diff-filter=d", "--relative"],
            &[before, after],
        );
        self.names(&words).unwrap_or_default()
    }

    /// What is staged, with renames followed.
    #[must_use]
    pub fn staged_changes(&self) -> Vec<TreeChange> {
        let words =
            ["diff-index", "--cached", "-z", "--raw", "-M", "--abbrev=64", "--relative", "HEAD"];
        let printed = super::repository::stdout_on_success(self.index_command().args(words));
        raw_changes(&printed.unwrap_or_default(), "")
    }

    /// The commit that is checked out, and which blobs it has at these paths.
    #[must_use]
    pub fn head_with_blobs(&self, paths: &[&str]) -> Option<(String, Vec<Option<String>>)> {
        let names: Vec<String> = std::iter::once("HEAD".to_owned())
            .chain(paths.iter().map(|path| format!("HEAD:./{path}")))
            .collect();
        let mut found = self.object_names(&names).into_iter();
        let object = |line: String, kind: &str| {
            let (name, is) = line.split_once(' ')?;
            (is == kind && is_hash(name)).then(|| name.to_owned())
        };
        let head = object(found.next()?, "commit")?;
        Some((head, found.map(|line| object(line, "blob")).collect()))
    }

    /// The files below a folder as a commit has them, with their bytes. Links are left out.
    #[must_use]
    pub fn folder_at(&self, commit: &str, folder: &str) -> Vec<(String, Vec<u8>)> {
        let listed = self.names(&["ls-tree", "-r", "-z", commit, "--", folder]).unwrap_or_default();
        // `mode type object`, a tab, the path.
        let file = |line: &String| {
            let (about, path) = line.split_once('\t')?;
            let mut about = about.split(' ');
            let (mode, object) = (about.next()?, about.nth(1)?);
            mode.starts_with("100").then(|| (path.to_owned(), object.to_owned()))
        };
        let files: Vec<(String, String)> = listed.iter().filter_map(file).collect();
        let contents = self.objects(files.iter().map(|(_, object)| object.as_str()));
        let bytes = |(path, object): (String, String)| Some((path, contents.get(&object)?.clone()));
        files.into_iter().filter_map(bytes).collect()
    }

    /// For each of the last commits of a file that touched few others: the files it touched.
    #[must_use]
    pub fn files_changed_with(&self, path: &str) -> Vec<Vec<String>> {
        if !is_plain(path) {
            return Vec::new();
        }
        let log = ["log", "-n500", "--no-merges", "--full-diff", "--name-only", "-z", "--relative"];
        let words = [&log[..], &["--format=%x01", "--no-renames", "--", path]].concat();
        let printed = self.printed(&words).unwrap_or_default();
        let files = |commit: &str| {
            let names = commit.split('\0').map(|name| name.trim_start_matches('\n'));
            names.filter(|name| !name.is_empty()).map(str::to_owned).collect::<Vec<_>>()
        };
        let text = String::from_utf8_lossy(&printed);
        let mut commits: Vec<Vec<String>> = text.split('\u{1}').map(files).collect();
        commits.retain(|files| !files.is_empty() && files.len() <= MOST_FILES);
        commits
    }

    /// The last commits that touched a file, the newest first.
    #[must_use]
    pub fn commits_touching(&self, path: &str, limit: usize) -> Vec<FileCommit> {
        if !is_plain(path) {
            return Vec::new();
        }
        let limit = format!("-n{limit}");
        let words = ["log", &limit, "--no-merges", "-z", "--format=%H %ct %s", "--", path];
        let printed = self.printed(&words).unwrap_or_default();
        let read = |commit: &str| {
            let mut parts = commit.splitn(3, ' ');
            let (hash, seconds) = (parts.next()?, parts.next()?.parse().ok()?);
            let subject = parts.next().unwrap_or_default().to_owned();
            Some(FileCommit { hash: hash.to_owned(), seconds, subject })
        };
        String::from_utf8_lossy(&printed).split('\0').filter_map(read).collect()
    }

    /// Tracked files of the working tree that contain a word.
    #[must_use]
    pub fn files_with_word(&self, word: &str) -> Vec<String> {
        self.files_with_word_at(None, word)
    }

    /// Those of a commit, or of the working tree.
    pub(crate) fn files_with_word_at(&self, commit: Option<&str>, word: &str) -> Vec<String> {
        if word.is_empty() || word.contains(['\0', '\n']) || commit.is_some_and(|it| !is_hash(it)) {
            return Vec::new();
        }
        let grep = ["grep", "-l", "-z", "-w", "-F", "-I", "--no-color", "-e", word];
        let words: Vec<&str> = grep.into_iter().chain(commit).chain(["--", "."]).collect();
        let files = self.names(&words).unwrap_or_default();
        let Some(commit) = commit else { return files };
        // Git writes the commit before each path.
        let named = |file: String| {
            file.strip_prefix(commit).and_then(|file| file.strip_prefix(':')).map(str::to_owned)
        };
        files.into_iter().filter_map(named).collect()
    }

    /// The full name of a commit, by any name git has for it.
    #[must_use]
    pub fn resolve_commit(&self, name: &str) -> Option<String> {
        super::repository::is_revision(name).then(|| self.commit_of(name)).flatten()
    }

    /// The last commit up to a time on the way to HEAD.
    #[must_use]
    pub fn commit_before(&self, at: twining_model::Time) -> Option<String> {
        let before = format!("--before={}", at.as_ms() / 1000);
        self.hash(&["rev-list", "-n1", "--first-parent", &before, "HEAD"])
    }

    /// What the working tree changed since HEAD and git tracks. Contents of the working tree have
    /// no names yet.
    #[must_use]
    pub fn uncommitted(&self) -> Vec<String> {
        self.changed_in("HEAD", ".").unwrap_or_default()
    }

    /// Those of some commits that HEAD has not in its history; also what is not in this clone.
    #[must_use]
    pub fn not_in_head(&self, commits: &[String]) -> BTreeSet<String> {
        self.not_in("HEAD", commits)
    }

    /// Those of some commits that another one has not in its history.
    #[must_use]
    pub fn not_in(&self, head: &str, commits: &[String]) -> BTreeSet<String> {
        let named: Vec<String> = commits.iter().filter(|hash| is_hash(hash)).cloned().collect();
        let known: BTreeSet<String> = self
            .object_names(&named)
            .iter()
            .filter_map(|line| line.strip_suffix(" commit").map(str::to_owned))
            .collect();
        let head = format!("^{head}");
        let mut words = vec!["rev-list", head.as_str()];
        words.extend(known.iter().map(String::as_str));
        let unmerged: BTreeSet<String> = match known.is_empty() {
            true => BTreeSet::new(),
            false => self.lines(&words).into_iter().collect(),
        };
        let is_outside = |hash: &&String| !known.contains(*hash) || unmerged.contains(*hash);
        commits.iter().filter(is_outside).cloned().collect()
    }

    /// Which of some files HEAD has, by their paths from this folder.
    #[must_use]
    pub fn in_head(&self, paths: &[String]) -> Vec<bool> {
        let names: Vec<String> = paths.iter().map(|path| format!("HEAD:./{path}")).collect();
        let mut found: Vec<bool> =
            self.object_names(&names).iter().map(|line| line.ends_with(" blob")).collect();
        found.resize(paths.len(), false);
        found
    }

    /// A file as a commit has it, if it does, and as it was when commits that led to it changed it:
    /// at most so many, the newest first.
    #[must_use]
    pub fn versions(&self, commit: &str, path: &str, limit: usize) -> Vec<Option<Vec<u8>>> {
        if !(commit == "HEAD" || is_hash(commit)) || !is_plain(path) {
            return Vec::new();
        }
        let limit = format!("-n{limit}");
        let mut commits = self.lines(&["rev-list", &limit, commit, "--", path]);
        commits.insert(0, commit.to_owned());
        let names: Vec<String> =
            commits.iter().map(|commit| format!("{commit}:./{path}")).collect();
        self.blobs(&names)
    }

    /// The last commit that led to another, or that one, in which a file was so.
    pub(crate) fn commit_with_blob(&self, until: &str, path: &str, blob: &str) -> Option<String> {
        if !(until == "HEAD" || is_hash(until)) || !is_plain(path) {
            return None;
        }
        let words = ["log", COMMITS, "--format=%H", "--raw", "--no-abbrev", "--no-renames"];
        let printed = self.lines(&[&words[..], &[until, "--", path]].concat());
        let mut commit = None;
        for line in printed {
            // `:mode mode before after status`, a tab, the path.
            match line.strip_prefix(':') {
                Some(change) if change.split(' ').nth(3) == Some(blob) => return commit,
                None if is_hash(&line) => commit = Some(line),
                _ => {}
            }
        }
        None
    }

    /// Whether a commit is in this clone.
    #[must_use]
    pub fn has_commit(&self, hash: &str) -> bool {
        is_hash(hash) && self.commit_of(hash).is_some()
    }
}
