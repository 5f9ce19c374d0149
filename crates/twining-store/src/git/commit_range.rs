//! What a pull request changed, read from git's objects alone: a bare clone, or a
//! shallow one that has the commits, is enough. No working tree, no index.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use twining_model::Time;

use super::repository::{Git, plain_diff};
use crate::disk::layout::FOLDER;

/// Commits of a shallow clone that are followed from either side.
const FOLLOWED: &str = "--max-count=10000";
/// Parents are read from commits: what git keeps of them beside may say anything.
const FROM_COMMITS: [&str; 2] = ["-c", "core.commitGraph=false"];

/// Why there is nothing to compare.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RangeError {
    /// There is no repository, or no git.
    #[error("`{}` is not in a git repository, or git is not installed", .0.display())]
    NoRepository(PathBuf),
    /// The name resolves to no commit.
    #[error("`{0}` is not a commit in this clone")]
    NoCommit(String),
    /// The commits are there and what they have in common is not.
    #[error("this shallow clone does not contain the merge base of `{head}` and `{base}`")]
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
            Self::NoRepository(_) => {
                "run it inside a clone, or name one with `--project`".to_owned()
            }
            // `HEAD~1` is a commit of this clone, if it goes back that far.
            Self::NoCommit(name) if name.contains(['~', '^', '@']) => {
                "fetch more history: `git fetch --deepen=500`".to_owned()
            }
            Self::NoCommit(name) => format!("fetch it first: `git fetch origin {name}`"),
            Self::TooShallow { .. } => {
                "fetch more history: `git fetch --unshallow`, or `git fetch --deepen=500`"
                    .to_owned()
            }
            Self::Unrelated { .. } => {
                "name the branch that the pull request is for with `--base`".to_owned()
            }
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
    git: Git,
    /// The project's folder in the repository, empty or with a final `/`.
    folder: String,
    /// The way up to the top of the repository, empty or with a final `/`.
    up: String,
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
        let git = Git::at(dir);
        if git.lines(&["rev-parse", "--git-dir"]).is_empty() {
            return Err(RangeError::NoRepository(dir.to_owned()));
        }
        let commit =
            |name: &str| git.commit_of(name).ok_or_else(|| RangeError::NoCommit(name.to_owned()));
        let (from, to) = (commit(base)?, commit(head)?);
        let merge_base = git.hash(&[&FROM_COMMITS[..], &["merge-base", &from, &to]].concat());
        let merge_base =
            merge_base.or_else(|| git.common_ancestor(&from, &to)).ok_or_else(|| {
                let is_shallow =
                    git.line(&["rev-parse", "--is-shallow-repository"]).as_deref() == Some("true");
                let (base, head) = (base.to_owned(), head.to_owned());
                if is_shallow {
                    RangeError::TooShallow { base, head }
                } else {
                    RangeError::Unrelated { base, head }
                }
            })?;
        let here = git.lines(&["rev-parse", "--show-prefix"]).pop().unwrap_or_default();
        let folder = git.project_folder(&here, &from, &to);
        let up = "../".repeat(here.matches('/').count());
        Ok(Self { git, folder, up, base: from, head: to, merge_base })
    }

    /// When the merge base was made.
    #[must_use]
    pub fn merge_base_time(&self) -> Option<Time> {
        self.git.committed_at(&self.merge_base)
    }

    /// Git in the project's folder of the checkout; none in a bare clone.
    #[must_use]
    pub fn project(&self) -> Option<Git> {
        let top = self.git.line(&["rev-parse", "--show-toplevel"]).filter(|top| !top.is_empty())?;
        let folder = Path::new(&top).join(&self.folder);
        folder.is_dir().then(|| Git::at(&folder))
    }

    /// The records that commits of the range say still hold, and which commit does.
    #[must_use]
    pub fn confirmed(&self) -> BTreeMap<String, String> {
        self.git.confirmed_between(&self.merge_base, &self.head)
    }

    /// The files of a commit in a folder of the project; with an empty one all of the project's.
    #[must_use]
    pub fn files(&self, commit: &str, folder: &str) -> Vec<TreeEntry> {
        let place = format!("{}{folder}", self.folder);
        // Git takes no empty path.
        let place = if place.is_empty() { "." } else { &place };
        let args = ["ls-tree", "-r", "-z", "--full-tree", commit, "--", place];
        // `mode type object`, a tab, the path.
        let file = |line: &str| {
            let (about, path) = line.split_once('\t')?;
            let mut about = about.split(' ');
            let (mode, object) = (about.next()?, about.nth(1)?);
            tree_entry(mode, object, path, &self.folder)
        };
        self.git.names(&args).unwrap_or_default().iter().filter_map(|line| file(line)).collect()
    }

    /// What the range changed in the project, with renames followed.
    #[must_use]
    pub fn changes(&self) -> Vec<TreeChange> {
        let args = [
            "diff-tree",
            "-r",
            "-z",
            "--raw",
            "-M",
            "--no-commit-id",
            &self.merge_base,
            &self.head,
        ];
        raw_changes(&self.git.printed(&args).unwrap_or_default(), &self.folder)
    }

    /// The contents of objects, each once.
    #[must_use]
    pub fn blobs<'o>(&self, objects: impl Iterator<Item = &'o str>) -> HashMap<String, Vec<u8>> {
        self.git.objects(objects)
    }

    /// The commits of the range that touched the memory, oldest first. One that only
    /// merged is left out.
    #[must_use]
    pub fn commits(&self) -> Vec<CommitFiles> {
        let (range, place) = (
            format!("{}..{}", self.merge_base, self.head),
            format!("{}{}{FOLDER}", self.up, self.folder),
        );
        let format = "--format=%x01%H%x02%an <%ae>%x03";
        let log =
            ["log", "--reverse", "--raw", "--abbrev=64", "--no-show-signature", "--no-mailmap"];
        let args = plain_diff(&[&FROM_COMMITS[..], &log].concat(), &[format, &range, "--", &place]);
        let answer = self.git.printed(&args).unwrap_or_default();
        let commit = |text: &str| {
            let (hash, rest) = text.split_once('\u{2}')?;
            let (author, raw) = rest.split_once('\u{3}')?;
            let files = raw_changes(raw.trim_start_matches(['\0', '\n']).as_bytes(), &self.folder);
            let files = files.into_iter().filter_map(|change| change.after).collect();
            Some(CommitFiles { hash: hash.to_owned(), author: author.to_owned(), files })
        };
        String::from_utf8_lossy(&answer).split('\u{1}').filter_map(commit).collect()
    }
}

/// A file in a folder. A link or a submodule is none of ours.
fn tree_entry(mode: &str, object: &str, path: &str, folder: &str) -> Option<TreeEntry> {
    let path = path.strip_prefix(folder).filter(|_| mode.starts_with("100"))?;
    Some(TreeEntry { path: path.to_owned(), object: object.to_owned() })
}

/// Reads `:mode mode object object status`, a path, and a second one for a rename.
pub(super) fn raw_changes(raw: &[u8], folder: &str) -> Vec<TreeChange> {
    let raw = String::from_utf8_lossy(raw);
    let mut parts = raw.split('\0').map(|part| part.trim_start_matches('\n'));
    let mut changes = Vec::new();
    while let Some(about) = parts.next().and_then(|about| about.strip_prefix(':')) {
        let fields: Vec<&str> = about.split(' ').collect();
        let [old_mode, new_mode, old, new, status] = fields[..] else { break };
        let Some(path) = parts.next() else { break };
        let moved = if status.starts_with(['R', 'C']) { parts.next() } else { None };
        let before = tree_entry(old_mode, old, path, folder);
        let after = tree_entry(new_mode, new, moved.unwrap_or(path), folder);
        if before.is_some() || after.is_some() {
            changes.push(TreeChange { before, after });
        }
    }
    changes
}

impl Git {
    /// Files of a folder of the working tree that are not as a commit has them. git compares
    /// by its index, so that ten thousand unchanged files cost a look at each and no reading.
    pub(crate) fn changed_since(&self, commit: &str, folder: &str) -> Vec<TreeChange> {
        let args = plain_diff(
            &["diff-index", "--raw", "--relative", "--abbrev=64"],
            &[commit, "--", folder],
        );
        raw_changes(&self.unfiltered(&args).unwrap_or_default(), &format!("{folder}/"))
    }

    /// Where git itself sees no common commit because the clone is shallow: a commit's
    /// own text names its parents even where they were not fetched.
    fn common_ancestor(&self, base: &str, head: &str) -> Option<String> {
        let of_base: HashSet<String> = self.ancestors(base).into_iter().collect();
        let common = self.ancestors(head).into_iter().find(|hash| of_base.contains(hash))?;
        let is_here = self.objects(std::iter::once(common.as_str())).contains_key(&common);
        is_here.then_some(common)
    }

    /// A commit and its ancestors, the newest first, with those that were not fetched last.
    fn ancestors(&self, from: &str) -> Vec<String> {
        let mut hashes = self.lines(&[&FROM_COMMITS[..], &["rev-list", FOLLOWED, from]].concat());
        let texts = self.objects(hashes.iter().map(String::as_str));
        for hash in hashes.clone() {
            let Some(text) = texts.get(&hash) else { continue };
            let text = String::from_utf8_lossy(text);
            let header = text.lines().take_while(|line| !line.is_empty());
            hashes
                .extend(header.filter_map(|line| line.strip_prefix("parent ")).map(str::to_owned));
        }
        hashes
    }

    /// The folder, empty or with a final `/`, whose memory is meant: from `here` upwards.
    fn project_folder(&self, here: &str, base: &str, head: &str) -> String {
        let mut folder = here.trim_end_matches('/');
        loop {
            let place = if folder.is_empty() { String::new() } else { format!("{folder}/") };
            let has_memory = |commit: &str| {
                let tree = format!("{commit}:{place}{FOLDER}");
                !self
                    .lines(&["rev-parse", "--verify", "--quiet", "--end-of-options", &tree])
                    .is_empty()
            };
            if folder.is_empty() || has_memory(base) || has_memory(head) {
                return place;
            }
            folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
        }
    }
}
