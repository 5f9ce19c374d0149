//! The branch that is checked out: where it left the one it follows, and what changed since.

use std::collections::{BTreeSet, HashSet};
use std::thread;

use twining_model::{Time, limits, text};

use super::GitFolders;
use super::history::seconds;
use super::repository::{Git, is_hash, is_plain, is_revision, plain_diff, split_names};
use crate::merge::{MergeFunctions, Versions, has_markers, is_marker};

/// Branches that others leave from, the likeliest first.
const MAIN_BRANCHES: [&str; 7] =
    ["origin/HEAD", "origin/main", "origin/master", "main", "master", "trunk", "develop"];
/// Maximum number of changed files reported.
const CHANGED: usize = 10_000;

/// What a branch changed, committed or not.
#[derive(Clone, Debug)]
pub struct BranchChanges {
    /// Where it left what it follows, or else the main branch; none where that is HEAD.
    pub base: Option<String>,
    /// When the change of HEAD was written: a rebase recreates the commit and keeps this.
    pub head_written: Time,
    /// Files whose bytes are not as in the base, or else in HEAD, from the working tree's own
    /// folder: changed, gone, new, staged or not. What is ignored is not among them.
    pub files: Vec<String>,
}

/// Queries about a change under review.
pub trait Changes {
    /// The full name of a revision.
    fn revision(&self, name: &str) -> Result<String, String>;
    /// Where this branch left the main one; none if there is none that it could have left.
    fn fork_point(&self) -> Result<Option<String>, String>;
    /// Files that differ between two revisions, or from one to the working tree.
    fn changed_files(&self, base: &str, head: Option<&str>) -> Result<Vec<String>, String>;
    /// A file as it was; none if it was not there.
    fn file_at(&self, revision: &str, path: &str) -> Result<Option<Vec<u8>>, String>;
}

/// A branch of this clone, or one of the usual main ones of others.
struct Branch {
    is_current: bool,
    name: String,
    at: String,
    /// The branch it follows, or nothing.
    upstream: String,
}

impl Git {
    /// What the branch changed; none without a commit. An agent waits for the answer, so
    /// the questions do not wait for each other.
    #[must_use]
    pub fn branch_changes(&self) -> Option<BranchChanges> {
        thread::scope(|scope| {
            let new = scope.spawn(|| self.untracked_in("."));
            let filters = scope.spawn(|| self.filters().is_some());
            let branches = scope.spawn(|| self.branches());
            let (head, head_written) = self.head_and_time()?;
            let base = self.base(&branches.join().ok()?, &head).filter(|base| *base != head);
            let words = plain_diff(
                &["diff", "--name-only", "--relative", "--ignore-submodules=dirty"],
                &[base.as_ref().unwrap_or(&head), "--"],
            );
            filters.join().ok().filter(|are_known| *are_known)?;
            let files = [split_names(&self.unfiltered(&words)?), new.join().ok()??].concat();
            Some(BranchChanges { base, head_written, files })
        })
    }

    /// The branches, here and at remotes: `topic`, `origin/topic`.
    #[must_use]
    pub fn branch_names(&self) -> Vec<String> {
        self.lines(&["for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads", "refs/remotes"])
    }

    fn head_and_time(&self) -> Option<(String, Time)> {
        let printed = self.line(&["log", "-1", "--no-walk", "--format=%H %at", "HEAD", "--"])?;
        let (hash, at) = printed.split_once(' ')?;
        Some((hash.to_owned(), seconds(at)?))
    }

    fn branches(&self) -> Vec<Branch> {
        let mut ask = vec![
            "for-each-ref",
            "--format=%(HEAD) %(refname) %(objectname) %(upstream)",
            "refs/heads",
        ];
        let remote: Vec<String> =
            MAIN_BRANCHES.iter().map(|name| format!("refs/remotes/{name}")).collect();
        ask.extend(remote.iter().map(String::as_str));
        let read = |line: &String| {
            let (mark, rest) = line.split_at_checked(2)?;
            let mut fields = rest.split(' ').map(str::to_owned);
            let (name, at, upstream) =
                (fields.next()?, fields.next()?, fields.next().unwrap_or_default());
            Some(Branch { is_current: mark == "* ", name, at, upstream })
        };
        self.lines(&ask).iter().filter_map(read).collect()
    }

    /// Where HEAD left the branch it follows, or else the main one.
    fn base(&self, branches: &[Branch], head: &str) -> Option<String> {
        let followed =
            branches.iter().find(|branch| branch.is_current && !branch.upstream.is_empty());
        let base = followed.and_then(|branch| self.merge_base(head, &branch.upstream));
        base.or_else(|| self.fork_from_main(branches, head))
    }

    fn fork_from_main(&self, branches: &[Branch], head: &str) -> Option<String> {
        let names = MAIN_BRANCHES
            .iter()
            .flat_map(|name| [format!("refs/remotes/{name}"), format!("refs/heads/{name}")]);
        let mut found = names.filter_map(|name| branches.iter().find(|branch| branch.name == name));
        found.find_map(|branch| {
            if branch.at == head {
                Some(branch.at.clone())
            } else {
                self.merge_base(head, &branch.at)
            }
        })
    }

    /// Full names of branches that this one may have left, where none of the usual
    /// ones is there: what new repositories begin with here, the branch it follows
    /// if that has another name, and the only other branch there is.
    fn unusual_main_branches(&self, branches: &[Branch]) -> Vec<String> {
        let begun = self.line(&["config", "--get", "init.defaultBranch"]);
        let mut found: Vec<String> = begun
            .iter()
            .flat_map(|name| [format!("refs/remotes/origin/{name}"), format!("refs/heads/{name}")])
            .collect();
        let current = branches.iter().find(|branch| branch.is_current);
        let is_other = |current: &&Branch| {
            let name = current.name.trim_start_matches("refs/heads/");
            !current.upstream.is_empty() && !current.upstream.ends_with(&format!("/{name}"))
        };
        found.extend(current.filter(is_other).map(|current| current.upstream.clone()));
        let others: Vec<&Branch> = branches
            .iter()
            .filter(|branch| !branch.is_current && branch.name.starts_with("refs/heads/"))
            .collect();
        if let [only] = others.as_slice() {
            found.push(only.name.clone());
        }
        found
    }

    fn merge_base(&self, one: &str, other: &str) -> Option<String> {
        self.hash(&["merge-base", one, other])
    }
}

impl Changes for Git {
    fn revision(&self, name: &str) -> Result<String, String> {
        let shown = text::excerpt(name, 80);
        if !is_revision(name) {
            return Err(format!("`{shown}` is not a revision"));
        }
        self.commit_of(name).ok_or_else(|| format!("git finds no `{shown}` here"))
    }

    fn fork_point(&self) -> Result<Option<String>, String> {
        let (head, branches) = (self.revision("HEAD")?, self.branches());
        let unusual = || {
            self.unusual_main_branches(&branches)
                .iter()
                .find_map(|branch| self.merge_base(&head, branch))
        };
        Ok(self.fork_from_main(&branches, &head).or_else(unusual))
    }

    fn changed_files(&self, base: &str, head: Option<&str>) -> Result<Vec<String>, String> {
        let files = match head {
            Some(head) => self.names(&plain_diff(
                &["diff-tree", "-r", "--name-only", "--relative"],
                &[base, head, "--"],
            )),
            None => self.changed_in(base, "."),
        };
        let files: BTreeSet<String> = files.ok_or("git cannot compare them")?.into_iter().collect();
        Ok(files.into_iter().take(CHANGED).collect())
    }

    fn file_at(&self, revision: &str, path: &str) -> Result<Option<Vec<u8>>, String> {
        if !is_plain(path) {
            return Err(format!("`{}` is not a file of the project", text::excerpt(path, 80)));
        }
        let object = format!("{revision}:./{path}");
        match self.line(&["cat-file", "-s", &object]).and_then(|size| size.parse::<usize>().ok()) {
            None => Ok(None),
            Some(size) if size > limits::KNOWLEDGE_BYTES => {
                Err(format!("`{path}` has more than {} bytes", limits::KNOWLEDGE_BYTES))
            }
            Some(_) => Ok(self.printed(&["cat-file", "blob", &object])),
        }
    }
}

/// Git's state files during a merge, pick, rebase, revert or squash, and the suffix that selects
/// the content committed.
const SIDES: [(&str, &str); 5] = [
    ("MERGE_HEAD", ""),
    ("CHERRY_PICK_HEAD", ""),
    ("REBASE_HEAD", ""),
    ("REVERT_HEAD", "^"),
    ("SQUASH_MSG", ""),
];
/// Lines of such a file that are looked at.
const MAX_SIDES: usize = 64;
/// Entries in git's folder while it rewrites commits. Writes to tracked files would then block the
/// next commit.
const REWRITING: [&str; 6] =
    ["rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG", "sequencer"];
/// Commits that are followed back to where nobody had left a conflict yet.
const FOLLOWED: usize = 256;

/// Versions of a file that were merged into its current content.
pub(crate) struct MergedVersions {
    base: Vec<u8>,
    versions: Vec<Vec<u8>>,
}

impl Git {
    /// The commits whose content the next one is made from: what is checked out, and
    /// what is being merged, picked or brought back.
    #[must_use]
    pub fn sides(&self) -> Vec<String> {
        let mut sides = vec!["HEAD".to_owned()];
        let Some(GitFolders { own, .. }) = GitFolders::of(&self.folder) else { return sides };
        for (file, before) in SIDES {
            let commits = std::fs::read_to_string(own.join(file)).unwrap_or_default();
            // A squash lists the commits it joins, newest first.
            let names = commits
                .lines()
                .map(|line| line.strip_prefix("commit ").unwrap_or(line))
                .take(MAX_SIDES);
            sides.extend(
                names.filter(|name| is_hash(name)).map(|commit| format!("{commit}{before}")),
            );
        }
        sides
    }

    /// Whether commits are being made over again in this working tree.
    #[must_use]
    pub fn is_rewriting(&self) -> bool {
        GitFolders::of(&self.folder)
            .is_some_and(|git| REWRITING.iter().any(|name| git.own.join(name).exists()))
    }

    /// The last versions without a conflict, on every branch that was merged into what is
    /// checked out. A rebased or picked commit is no parent; git names it in the marker.
    pub(crate) fn merged_versions(&self, file: &str, text: &[u8]) -> MergedVersions {
        let named =
            text.split(|&byte| byte == b'\n').filter_map(|line| line.strip_prefix(b">>>>>>> "));
        let named =
            named.filter_map(|name| std::str::from_utf8(name).ok()?.split_whitespace().next());
        let is_short_hash = |name: &&str| {
            (7..=64).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        let mut next: Vec<String> =
            named.filter(is_short_hash).chain(["HEAD", "MERGE_HEAD"]).map(str::to_owned).collect();
        let name_in = |commit: &String| format!("{commit}:./{file}");
        let (mut seen, mut clean, mut versions) = (HashSet::new(), Vec::new(), Vec::new());
        while !next.is_empty() && seen.len() < FOLLOWED {
            next.retain(|commit| seen.insert(commit.clone()));
            let contents = self.contents(&next.iter().map(name_in).collect::<Vec<_>>());
            let mut parents = Vec::new();
            for (commit, content) in next.iter().zip(contents) {
                match content {
                    Some(content) if has_markers(&content) => {
                        parents.extend(self.lines(&[
                            "rev-parse",
                            "--verify",
                            "--quiet",
                            &format!("{commit}^@"),
                        ]));
                    }
                    Some(content) if !versions.contains(&content) => {
                        clean.push(commit.clone());
                        versions.push(content);
                    }
                    _ => {}
                }
            }
            next = parents;
        }
        let ask: Vec<&str> = ["merge-base", "--octopus"]
            .into_iter()
            .chain(clean.iter().map(String::as_str))
            .collect();
        let base =
            self.lines(&ask).pop().and_then(|from| self.contents(&[name_in(&from)]).pop()?);
        MergedVersions { base: base.unwrap_or_default(), versions }
    }
}

impl MergedVersions {
    /// Merges all of them, if they contain every line of the current text: a missing line was
    /// written since, and would be lost.
    pub(crate) fn merge_all(self, text: &[u8], joining: &MergeFunctions) -> Option<Vec<u8>> {
        let bare = |line: &[u8]| {
            line.trim_ascii().strip_suffix(b",").unwrap_or(line.trim_ascii()).to_vec()
        };
        let known: HashSet<Vec<u8>> = self
            .versions
            .iter()
            .flat_map(|version| version.split(|&byte| byte == b'\n'))
            .map(bare)
            .collect();
        let mut in_base = false;
        for line in text.split(|&byte| byte == b'\n') {
            if is_marker(line) {
                in_base = line.starts_with(b"|")
                    || (in_base
                        && !line.starts_with(b"======= ")
                        && line.trim_ascii_end() != b"=======");
            } else if !in_base && !known.contains(&bare(line)) {
                return None;
            }
        }
        let base = if (joining.is_whole)(&self.base) { self.base } else { Vec::new() };
        let mut versions = self.versions.into_iter();
        let first = versions.next().filter(|first| (joining.is_whole)(first))?;
        versions.try_fold(first, |ours, theirs| {
            let is_whole = (joining.is_whole)(&theirs);
            is_whole
                .then(|| (joining.join)(&Versions { base: &base, ours: &ours, theirs: &theirs }))
                .flatten()
        })
    }
}
