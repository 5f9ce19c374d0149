//! What git is asked to write: files leave its index, and a state of files goes on a branch. The
//! working tree is not touched, no hook and no filter runs.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::repository::Git;

/// A state to be committed.
#[derive(Clone, Debug)]
pub struct BranchCommit<'a> {
    /// The branch that gets the commit; one that does not exist begins at HEAD.
    pub branch: &'a str,
    /// Files and folders whose state it is, relative to the folder that git is asked from; what is
    /// no longer there is gone in the commit too.
    pub paths: &'a [String],
    /// The message.
    pub message: &'a str,
    /// An index for this commit alone; no other process uses this name.
    pub scratch_index: PathBuf,
}

/// Why there is no commit.
#[derive(Debug, thiserror::Error)]
pub enum BranchCommitError {
    /// There is no repository.
    #[error("there is no git repository here")]
    NoRepository,
    /// Git takes no branch of this name.
    #[error("`{0}` is no name for a branch")]
    BadName(String),
    /// The branch is checked out: its working tree would look changed.
    #[error("branch `{branch}` is checked out in {place}")]
    CheckedOut {
        /// Which.
        branch: String,
        /// Where.
        place: String,
    },
    /// Git failed.
    #[error("git failed: {0}")]
    Git(String),
}

impl From<io::Error> for BranchCommitError {
    fn from(error: io::Error) -> Self {
        Self::Git(error.to_string())
    }
}

/// The hash of a parent, and of what it holds.
struct ParentCommit {
    commit: String,
    tree: String,
}

impl Git {
    /// Takes files out of the index; they stay in the working tree.
    pub fn untrack(&self, files: &[String]) -> Result<(), BranchCommitError> {
        let words = ["update-index", "--force-remove", "-z", "--stdin"];
        let input: String = files.iter().map(|file| format!("{file}\0")).collect();
        said(self.command().args(words), input.as_bytes()).map(drop)
    }

    /// Commits a state of files to a branch, and returns the commit; none if the branch has it
    /// already.
    pub fn commit_to_branch(
        &self,
        state: &BranchCommit<'_>,
    ) -> Result<Option<String>, BranchCommitError> {
        // From a killed process: the name is ours alone.
        remove_index(&state.scratch_index);
        let committed = self.commit_with_index(state);
        remove_index(&state.scratch_index);
        committed
    }

    fn commit_with_index(
        &self,
        state: &BranchCommit<'_>,
    ) -> Result<Option<String>, BranchCommitError> {
        let reference = self.free_branch(state.branch)?;
        let tip = self.parent(&reference);
        let parent = tip.as_ref().map_or_else(|| self.parent("HEAD"), |_| None);
        let parent = tip.as_ref().or(parent.as_ref());
        let git = || {
            let mut command = self.command();
            command.env("GIT_INDEX_FILE", &state.scratch_index);
            command
        };
        let start = parent.map_or("--empty", |parent| parent.tree.as_str());
        said(git().args(["read-tree", start]), b"")?;
        let before = raw(git().args(["ls-files", "-z", "--"]).args(state.paths), b"")?;
        said(git().args(["update-index", "--force-remove", "-z", "--stdin"]), &before)?;
        said(git().args(["update-index", "-z", "--index-info"]), &self.index_lines(state)?)?;
        let tree = said(git().arg("write-tree"), b"")?;
        if parent.is_some_and(|parent| parent.tree == tree) {
            return Ok(None);
        }
        let mut words = vec!["commit-tree", tree.as_str(), "-F", "-"];
        words.extend(parent.iter().flat_map(|parent| ["-p", parent.commit.as_str()]));
        let commit = said(git().args(words), state.message.as_bytes())?;
        // Only if the branch is as it was: an empty word means that there is none.
        let was = tip.as_ref().map_or("", |tip| tip.commit.as_str());
        let words = ["update-ref", "-m", "twining sync commit", &reference, &commit, was];
        said(git().args(words), b"")?;
        Ok(Some(commit))
    }

    /// The full name of a branch that nobody has checked out.
    fn free_branch(&self, branch: &str) -> Result<String, BranchCommitError> {
        let top = self.line(&["rev-parse", "--show-toplevel"]);
        let top = top.ok_or(BranchCommitError::NoRepository)?;
        let reference = format!("refs/heads/{branch}");
        if branch.starts_with('-') || self.printed(&["check-ref-format", &reference]).is_none() {
            return Err(BranchCommitError::BadName(branch.to_owned()));
        }
        let listed =
            self.lines(&["for-each-ref", "--format=%(refname) %(worktreepath)", &reference]);
        let place = listed.iter().find_map(|line| {
            line.strip_prefix(&reference)?.strip_prefix(' ').filter(|place| !place.is_empty())
        });
        let is_head = self.line(&["symbolic-ref", "-q", "HEAD"]).as_ref() == Some(&reference);
        match place.or_else(|| is_head.then_some(top.as_str())) {
            Some(place) => Err(BranchCommitError::CheckedOut {
                branch: branch.to_owned(),
                place: place.to_owned(),
            }),
            None => Ok(reference),
        }
    }

    fn parent(&self, name: &str) -> Option<ParentCommit> {
        let hash =
            |kind: &str| self.hash(&["rev-parse", "--verify", "-q", &format!("{name}^{{{kind}}}")]);
        Some(ParentCommit { commit: hash("commit")?, tree: hash("tree")? })
    }

    /// The files as `update-index` reads them, their content being in the repository.
    fn index_lines(&self, state: &BranchCommit<'_>) -> Result<Vec<u8>, BranchCommitError> {
        let prefix = self.line(&["rev-parse", "--show-prefix"]).unwrap_or_default();
        let mut files = Vec::new();
        for path in state.paths {
            files_below(&self.folder, Path::new(path), &mut files)?;
        }
        let listed: String = files.iter().map(|file| format!("{file}\n")).collect();
        let words = ["hash-object", "-w", "--no-filters", "--stdin-paths"];
        let hashes = said(self.command().args(words), listed.as_bytes())?;
        let lines = files.iter().zip(hashes.lines());
        let lines = lines.map(|(file, hash)| format!("100644 {hash}\t{prefix}{file}\0"));
        Ok(lines.collect::<String>().into_bytes())
    }
}

/// The regular files at or below a path, links not followed. Git reads names line by line.
fn files_below(folder: &Path, path: &Path, found: &mut Vec<String>) -> io::Result<()> {
    let Ok(kind) = fs::symlink_metadata(folder.join(path)) else { return Ok(()) };
    if kind.is_file() {
        found.extend(path.to_str().filter(|name| !name.contains('\n')).map(str::to_owned));
    } else if kind.is_dir() {
        let mut names = fs::read_dir(folder.join(path))?
            .map(|entry| entry.map(|entry| entry.file_name()))
            .collect::<io::Result<Vec<_>>>()?;
        names.sort();
        names.iter().try_for_each(|name| files_below(folder, &path.join(name), found))?;
    }
    Ok(())
}

fn remove_index(index: &Path) {
    // Mostly there is none.
    let _ = fs::remove_file(index);
    let _ = fs::remove_file(index.with_added_extension("lock"));
}

/// What git prints, as one text without its last line break.
fn said(command: &mut Command, input: &[u8]) -> Result<String, BranchCommitError> {
    Ok(String::from_utf8_lossy(&raw(command, input)?).trim_end().to_owned())
}

fn raw(command: &mut Command, input: &[u8]) -> Result<Vec<u8>, BranchCommitError> {
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let written = child.stdin.take().map(|mut stdin| {
        let input = input.to_vec();
        // Apart: git may print more than a pipe holds before it has read everything.
        std::thread::spawn(move || stdin.write_all(&input))
    });
    let output = child.wait_with_output()?;
    if let Some(written) = written {
        // A git that failed has closed its input; what it says counts.
        let _ = written.join();
    }
    if output.status.success() {
        return Ok(output.stdout);
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let line = errors.lines().find(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
    Err(BranchCommitError::Git(twining_model::text::excerpt(line.trim(), 300)))
}
