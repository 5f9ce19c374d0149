//! What a pull request changed, read from git's objects alone: a bare clone, or a
//! shallow one that has the commits, is enough. No working tree, no index.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::commits;
use crate::layout::FOLDER;

/// Commits of a shallow clone that are followed from either side.
const FOLLOWED: &str = "--max-count=10000";

/// Why there is nothing to compare.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RangeError {
    /// There is no repository, or no git.
    #[error("`{}` is in no git repository, or git is not installed", .0.display())]
    NoRepository(PathBuf),
    /// A name stands for no commit here.
    #[error("`{0}` names no commit of this clone")]
    NoCommit(String),
    /// The commits are there and what they have in common is not.
    #[error("this shallow clone does not reach the commit where `{head}` left `{base}`")]
    TooShallow {
        /// What the rules come from.
        base: String,
        /// What is looked at.
        head: String,
    },
    /// Two histories.
    #[error("`{base}` and `{head}` have no commit in common")]
    Unrelated {
        /// What the rules come from.
        base: String,
        /// What is looked at.
        head: String,
    },
}

impl RangeError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::NoRepository(_) => "run it inside a clone, or name one with `--project`".to_owned(),
            Self::NoCommit(name) => format!("fetch it first: `git fetch origin {name}`"),
            Self::TooShallow { .. } => "fetch more history: `git fetch --unshallow`, or `git fetch --deepen=500`".to_owned(),
            Self::Unrelated { .. } => "name the branch that the pull request is for with `--base`".to_owned(),
        }
    }
}

/// A file of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeEntry {
    /// Its path, from the project's folder.
    pub path: String,
    /// Its object.
    pub object: String,
}

/// A file that the range changed. One that was renamed has two paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeChange {
    /// As the merge base has it.
    pub before: Option<TreeEntry>,
    /// As the head has it.
    pub after: Option<TreeEntry>,
}

/// A commit of the range with what it did to the records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitFiles {
    /// Its hash.
    pub hash: String,
    /// `Name <address>`.
    pub author: String,
    /// Files of the memory as it left them; those that it removed are left out.
    pub files: Vec<TreeEntry>,
}

/// Everything between a merge base and a head.
#[derive(Clone, Debug)]
pub struct GitRange {
    repository: PathBuf,
    /// The project's folder in the repository, empty or with a final `/`.
    folder: String,
    /// The commit that rules come from.
    pub base: String,
    /// The commit that is looked at.
    pub head: String,
    /// Where the head left the base.
    pub merge_base: String,
}

impl GitRange {
    /// Finds the commits. The project is the nearest folder, from `dir` upwards, that
    /// has a memory in the base or in the head.
    pub fn open(dir: &Path, base: &str, head: &str) -> Result<Self, RangeError> {
        let is_repository = !commits::lines(dir, &["rev-parse", "--git-dir"]).is_empty();
        if !is_repository {
            return Err(RangeError::NoRepository(dir.to_owned()));
        }
        let (from, to) = (commit(dir, base)?, commit(dir, head)?);
        let merge_base = match commits::lines(dir, &["merge-base", &from, &to]).into_iter().next() {
            Some(merge_base) => merge_base,
            None => common_ancestor(dir, &from, &to).ok_or_else(|| {
                let is_shallow = commits::lines(dir, &["rev-parse", "--is-shallow-repository"]) == ["true"];
                let (base, head) = (base.to_owned(), head.to_owned());
                if is_shallow { RangeError::TooShallow { base, head } } else { RangeError::Unrelated { base, head } }
            })?,
        };
        let folder = project_folder(dir, &from, &to);
        Ok(Self { repository: dir.to_owned(), folder, base: from, head: to, merge_base })
    }

    /// The files of a commit in a folder of the project.
    #[must_use]
    pub fn files(&self, commit: &str, folder: &str) -> Vec<TreeEntry> {
        let place = format!("{}{folder}", self.folder);
        let args = ["ls-tree", "-r", "-z", "--full-tree", commit, "--", &place];
        let answer = commits::fed(&self.repository, &args, String::new()).unwrap_or_default();
        let answer = String::from_utf8_lossy(&answer);
        // `mode type object`, a tab, the path. A link or a submodule is no file of ours.
        let file = |line: &str| {
            let (about, path) = line.split_once('\t')?;
            let mut about = about.split(' ');
            let (mode, object) = (about.next()?, about.nth(1)?);
            mode.starts_with("100").then_some(())?;
            Some(TreeEntry { path: path.strip_prefix(&self.folder)?.to_owned(), object: object.to_owned() })
        };
        answer.split('\0').filter_map(file).collect()
    }

    /// What the range changed in the project, with renames followed.
    #[must_use]
    pub fn changes(&self) -> Vec<TreeChange> {
        let args = ["diff-tree", "-r", "-z", "--raw", "-M", "--no-commit-id", &self.merge_base, &self.head];
        let answer = commits::fed(&self.repository, &args, String::new()).unwrap_or_default();
        let answer = String::from_utf8_lossy(&answer);
        raw_changes(&answer, &self.folder)
    }

    /// The contents of objects, each once.
    #[must_use]
    pub fn blobs<'o>(&self, objects: impl Iterator<Item = &'o str>) -> HashMap<String, Vec<u8>> {
        commits::objects(&self.repository, objects)
    }

    /// The commits of the range that touched the memory, oldest first. One that only
    /// merged is left out.
    #[must_use]
    pub fn commits(&self) -> Vec<CommitFiles> {
        let (range, place) = (format!("{}..{}", self.merge_base, self.head), format!(":(top){}{FOLDER}", self.folder));
        let format = "--format=%x01%H%x02%an <%ae>%x03";
        let args = [
            "log",
            "--reverse",
            "--no-show-signature",
            "--no-mailmap",
            "-z",
            "--raw",
            "--no-renames",
            "--abbrev=64",
            format,
            &range,
            "--",
            &place,
        ];
        let answer = commits::fed(&self.repository, &args, String::new()).unwrap_or_default();
        let answer = String::from_utf8_lossy(&answer);
        let commit = |text: &str| {
            let (hash, rest) = text.split_once('\u{2}')?;
            let (author, raw) = rest.split_once('\u{3}')?;
            let files = raw_changes(raw.trim_start_matches(['\0', '\n']), &self.folder);
            let files = files.into_iter().filter_map(|change| change.after).collect();
            Some(CommitFiles { hash: hash.to_owned(), author: author.to_owned(), files })
        };
        answer.split('\u{1}').filter_map(commit).collect()
    }
}

/// Reads `:mode mode object object status`, a path, and a second one for a rename.
fn raw_changes(raw: &str, folder: &str) -> Vec<TreeChange> {
    let mut parts = raw.split('\0').map(|part| part.trim_start_matches('\n'));
    let mut changes = Vec::new();
    while let Some(about) = parts.next().and_then(|about| about.strip_prefix(':')) {
        let fields: Vec<&str> = about.split(' ').collect();
        let [old_mode, new_mode, old, new, status] = fields[..] else { break };
        let Some(path) = parts.next() else { break };
        let moved = if status.starts_with(['R', 'C']) { parts.next() } else { None };
        let entry = |mode: &str, object: &str, path: &str| {
            mode.starts_with("100").then_some(())?;
            Some(TreeEntry { path: path.strip_prefix(folder)?.to_owned(), object: object.to_owned() })
        };
        let (before, after) = (entry(old_mode, old, path), entry(new_mode, new, moved.unwrap_or(path)));
        if before.is_some() || after.is_some() {
            changes.push(TreeChange { before, after });
        }
    }
    changes
}

fn commit(dir: &Path, name: &str) -> Result<String, RangeError> {
    let wanted = format!("{name}^{{commit}}");
    let found = commits::lines(dir, &["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted]);
    // git before 2.30 repeats the option.
    let found = found.into_iter().find(|line| line.len() >= 40 && line.bytes().all(|byte| byte.is_ascii_hexdigit()));
    found.ok_or_else(|| RangeError::NoCommit(name.to_owned()))
}

/// Where git itself sees no common commit because the clone is shallow: a commit's
/// own text names its parents even where they were not fetched.
fn common_ancestor(dir: &Path, base: &str, head: &str) -> Option<String> {
    let of_base: HashSet<String> = ancestors(dir, base).into_iter().collect();
    let common = ancestors(dir, head).into_iter().find(|hash| of_base.contains(hash))?;
    let is_here = commits::objects(dir, std::iter::once(common.as_str())).contains_key(&common);
    is_here.then_some(common)
}

/// A commit and its ancestors, the newest first, with those that were not fetched last.
fn ancestors(dir: &Path, from: &str) -> Vec<String> {
    let mut hashes = commits::lines(dir, &["rev-list", FOLLOWED, from]);
    let texts = commits::objects(dir, hashes.iter().map(String::as_str));
    for hash in hashes.clone() {
        let Some(text) = texts.get(&hash) else { continue };
        let text = String::from_utf8_lossy(text);
        let header = text.lines().take_while(|line| !line.is_empty());
        hashes.extend(header.filter_map(|line| line.strip_prefix("parent ")).map(str::to_owned));
    }
    hashes
}

/// The folder, empty or with a final `/`, whose memory is meant.
fn project_folder(dir: &Path, base: &str, head: &str) -> String {
    let prefix = commits::lines(dir, &["rev-parse", "--show-prefix"]).pop().unwrap_or_default();
    let mut folder = prefix.trim_end_matches('/');
    loop {
        let place = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let has_memory = |commit: &str| {
            let tree = format!("{commit}:{place}{FOLDER}");
            !commits::lines(dir, &["rev-parse", "--verify", "--quiet", "--end-of-options", &tree]).is_empty()
        };
        if folder.is_empty() || has_memory(base) || has_memory(head) {
            return place;
        }
        folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
    }
}
