//! Where git keeps its things around a folder, found without starting git: this is on the
//! way of every command.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::Duration;
use std::{fs, io};

use twining_model::limits;

/// The git folders of a working tree.
#[derive(Clone, Debug)]
pub struct GitFolders {
    /// The top of the working tree.
    pub top: PathBuf,
    /// What belongs to this working tree alone.
    pub own: PathBuf,
    /// What all working trees of the repository share.
    pub common: PathBuf,
    /// The same folder in the main working tree, if this is a linked one.
    pub main: Option<PathBuf>,
}

impl GitFolders {
    /// Looks for `.git` in `dir` and above.
    #[must_use]
    pub fn of(dir: &Path) -> Option<Self> {
        let top = dir.ancestors().find(|dir| dir.join(".git").exists())?;
        let folders =
            |own: PathBuf, common| Self { top: top.to_path_buf(), own, common, main: None };
        let dot_git = top.join(".git");
        if dot_git.is_dir() {
            return Some(folders(dot_git.clone(), dot_git));
        }
        let own = fs::canonicalize(top.join(pointer(&dot_git, "gitdir:")?)).ok()?;
        let Some(common) = pointer(&own.join("commondir"), "") else {
            // A submodule: its `.git` is a file too, but nothing is shared.
            return Some(folders(own.clone(), own));
        };
        let common = fs::canonicalize(own.join(common)).ok()?;
        // A bare repository has worktrees and no main one.
        let main = common
            .file_name()
            .is_some_and(|name| name == ".git")
            .then(|| common.parent())
            .flatten();
        let inside = dir.strip_prefix(top).ok()?;
        let main = main.map(|main| main.join(inside)).filter(|main| main.is_dir());
        Some(Self { main, ..folders(own, common) })
    }

    /// The branch that is checked out, or the beginning of the commit where there is none.
    #[must_use]
    pub fn branch(&self) -> Option<String> {
        let head = read_small(&self.own.join("HEAD"))?;
        let name = head.trim().strip_prefix("ref: refs/heads/").map(str::to_owned);
        name.or_else(|| head.get(..SHORT_HASH).map(str::to_owned))
    }
}

/// What is checked out, read from git's own files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeadPosition {
    /// The branch; none on a commit without one.
    pub branch: Option<String>,
    /// The commit; none before the first.
    pub commit: Option<String>,
}

impl GitFolders {
    /// What is checked out, without starting git: every write carries it.
    #[must_use]
    pub fn head_position(&self) -> HeadPosition {
        let Some(head) = read_small(&self.own.join("HEAD")) else { return HeadPosition::default() };
        let Some(name) = head.trim().strip_prefix("ref: ") else {
            return HeadPosition { branch: self.rebased_branch(), commit: hash_in(&head) };
        };
        let is_plain =
            name.len() <= limits::NAME_BYTES && !name.split('/').any(|part| part == "..");
        let branch = name.strip_prefix(BRANCHES).filter(|_| is_plain).map(str::to_owned);
        let loose = || hash_in(&read_small(&self.common.join(name))?);
        let commit = is_plain.then(|| loose().or_else(|| self.packed(name))).flatten();
        HeadPosition { branch, commit }
    }

    /// The branch that a rebase is about to move.
    fn rebased_branch(&self) -> Option<String> {
        let name = ["rebase-merge", "rebase-apply"]
            .iter()
            .find_map(|folder| read_small(&self.own.join(folder).join("head-name")))?;
        name.trim().strip_prefix(BRANCHES).map(str::to_owned)
    }

    /// What a reference is that has no file of its own.
    fn packed(&self, name: &str) -> Option<String> {
        let text = read_at_most(&self.common.join("packed-refs"), MAX_PACKED_BYTES)?;
        let is_named = |line: &&str| line.split_once(' ').is_some_and(|(_, is)| is == name);
        text.lines().find(is_named).and_then(hash_in)
    }
}

/// Where branches are among the references.
const BRANCHES: &str = "refs/heads/";
/// Bytes of packed references that are looked through.
const MAX_PACKED_BYTES: usize = 512 * 1024;

/// The hash that a line begins with.
fn hash_in(line: &str) -> Option<String> {
    let word = line.split_whitespace().next()?;
    is_hash(word).then(|| word.to_owned())
}

/// The path a one-line file of git's points to.
fn pointer(file: &Path, label: &str) -> Option<PathBuf> {
    let line = read_small(file)?;
    let path = line.strip_prefix(label)?.trim();
    (!path.is_empty()).then(|| PathBuf::from(path))
}

/// A regular file of at most a config's size. What is not a file is not opened:
/// a pipe in its place would hang every command.
fn read_small(file: &Path) -> Option<String> {
    read_at_most(file, limits::CONFIG_BYTES)
}

fn read_at_most(file: &Path, most: usize) -> Option<String> {
    if !fs::metadata(file).ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    let limit = u64::try_from(most).ok()?;
    fs::File::open(file).ok()?.take(limit).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Characters of a hash that people are shown.
const SHORT_HASH: usize = 8;

/// How long git may walk the history for one answer.
pub(super) const TIMEOUT: Duration = Duration::from_secs(5);
/// Files of one commit that are looked at.
pub(super) const STAGED: usize = 10_000;

/// Settings no repository may change: each names a program git would start.
pub(super) const SETTINGS: [&str; 6] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "log.showSignature=false",
    "diff.external=",
    "protocol.allow=never",
];
/// Environment for git. Replaced or grafted commits exist in this clone only and are not history.
pub(super) const ENVIRONMENT: [(&str, &str); 6] = [
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_GRAFT_FILE", "/dev/null"),
];
/// Set by git when it runs a hook; they would point us at another repository.
pub(super) const HOOK_VARIABLES: [&str; 6] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_PREFIX",
    "GIT_EXTERNAL_DIFF",
];

/// The repository around a folder, seen from there.
#[derive(Clone, Debug)]
pub struct Git {
    pub(super) folder: PathBuf,
    index: Option<PathBuf>,
    filters: Arc<OnceLock<BTreeSet<String>>>,
}

/// Where a repository keeps its things.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The working tree.
    pub top: PathBuf,
    /// What all its working trees share.
    pub common: PathBuf,
    /// Where git looks for hooks.
    pub hooks: PathBuf,
}

impl Git {
    /// The repository around this folder.
    #[must_use]
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.to_path_buf(), index: None, filters: Arc::default() }
    }

    /// The same while git commits from this index: `git commit -a` uses one of its own.
    #[must_use]
    pub fn with_index(self, index: Option<PathBuf>) -> Self {
        Self { index, ..self }
    }

    /// Another folder of the same repository.
    pub(crate) fn in_folder(&self, folder: &Path) -> Self {
        Self { folder: folder.to_path_buf(), ..self.clone() }
    }

    /// Where the repository keeps its things; none where git knows of none.
    #[must_use]
    pub fn shape(&self) -> Option<Shape> {
        // Reports the repository's configuration, `core.hooksPath` included; this command starts
        // nothing.
        let words = [
            "rev-parse",
            "--path-format=absolute",
            "--show-toplevel",
            "--git-common-dir",
            "--git-path",
            "hooks",
        ];
        let text = String::from_utf8(stdout_on_success(self.base_command().args(words))?).ok()?;
        let mut lines = text
            .lines()
            .map(|line| std::fs::canonicalize(line).unwrap_or_else(|_| PathBuf::from(line)));
        Some(Shape { top: lines.next()?, common: lines.next()?, hooks: lines.next()? })
    }

    /// The name git signs commits with here.
    #[must_use]
    pub fn user_name(&self) -> Option<String> {
        self.line(&["config", "user.name"])
    }

    /// Which of these files git tracks, relative to the working tree.
    #[must_use]
    pub fn tracked_of(&self, files: &[String]) -> BTreeSet<String> {
        let words = ["ls-files", "-z", "--"]
            .into_iter()
            .chain(files.iter().map(String::as_str))
            .collect::<Vec<_>>();
        self.names(&words).unwrap_or_default().into_iter().collect()
    }

    /// Which of these files git tracks, or would track.
    #[must_use]
    pub fn listed_of(&self, files: &[String]) -> Vec<String> {
        if !files.iter().all(|file| is_plain(file)) {
            return Vec::new();
        }
        let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"];
        let words: Vec<&str> = list.into_iter().chain(files.iter().map(String::as_str)).collect();
        let mut names = self.names(&words).unwrap_or_default();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Files under `dir` that git would track and does not yet.
    #[must_use]
    pub fn untracked_in(&self, dir: &str) -> Option<Vec<String>> {
        self.names(&["ls-files", "-z", "--others", "--exclude-standard", "--", dir])
    }

    /// Files under `dir` that git ignores not and that are not as in a commit.
    #[must_use]
    pub fn changed_in(&self, commit: &str, dir: &str) -> Option<Vec<String>> {
        let words = plain_diff(&["diff-index", "--name-only"], &["--relative", commit, "--", dir]);
        let known = self.unfiltered(&words)?;
        Some([split_names(&known), self.untracked_in(dir).unwrap_or_default()].concat())
    }

    /// What the commit that is being made would change, from the top of the working tree.
    #[must_use]
    pub fn staged(&self) -> Vec<String> {
        let words = plain_diff(&["diff", "--cached", "--name-only"], &[]);
        let mut names = stdout_on_success(self.index_command().args(words))
            .map(|printed| split_names(&printed))
            .unwrap_or_default();
        names.truncate(STAGED);
        names
    }

    /// Runs a step of making a throwaway repository; whether it worked. No
    /// user's settings apply: they may sign commits or start programs.
    pub fn run_in_throwaway(&self, step: &[&str]) -> io::Result<bool> {
        let mut git = self.command();
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        for (name, value) in [("GIT_AUTHOR_NAME", "tour"), ("GIT_AUTHOR_EMAIL", "tour@example.com")]
        {
            git.env(name, value).env(name.replace("AUTHOR", "COMMITTER"), value);
        }
        match git.args(step).stdout(Stdio::null()).status() {
            Ok(status) => Ok(status.success()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// How it is asked.
impl Git {
    fn base_command(&self) -> Command {
        let mut git = Command::new("git");
        git.current_dir(&self.folder).stdin(Stdio::null()).stderr(Stdio::null()).envs(ENVIRONMENT);
        for name in HOOK_VARIABLES {
            git.env_remove(name);
        }
        git
    }

    pub(super) fn command(&self) -> Command {
        let mut git = self.base_command();
        git.args(SETTINGS.iter().flat_map(|setting| ["-c", setting]));
        git
    }

    /// For questions about what is staged.
    pub(super) fn index_command(&self) -> Command {
        let mut git = self.command();
        git.envs(self.index.iter().map(|index| ("GIT_INDEX_FILE", index)));
        git
    }

    /// What git prints, if it succeeds.
    pub(super) fn printed(&self, words: &[&str]) -> Option<Vec<u8>> {
        stdout_on_success(self.command().args(words))
    }

    /// The same where git looks into files of the working tree, and would run the filters
    /// that a repository's settings name on them.
    pub(super) fn unfiltered(&self, words: &[&str]) -> Option<Vec<u8>> {
        let settings = self.filters()?.iter().flat_map(|filter| {
            [("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")]
                .map(|(name, value)| (format!("{filter}.{name}"), value))
        });
        let (mut git, mut count) = (self.command(), 0);
        for (key, value) in settings {
            git.env(format!("GIT_CONFIG_KEY_{count}"), key)
                .env(format!("GIT_CONFIG_VALUE_{count}"), value);
            count += 1;
        }
        stdout_on_success(git.env("GIT_CONFIG_COUNT", count.to_string()).args(words))
    }

    /// The filters there are, asked for once: an agent waits at the end of its turn.
    pub(super) fn filters(&self) -> Option<&BTreeSet<String>> {
        if self.filters.get().is_none() {
            // Ends with 1 where there is none.
            let listed = self
                .command()
                .args(["config", "-z", "--name-only", "--get-regexp", "^filter\\."])
                .output()
                .ok()?;
            let names = split_names(&listed.stdout);
            let filters = names
                .iter()
                .filter_map(|name| name.rsplit_once('.').map(|(filter, _)| filter.to_owned()))
                .collect();
            let _ = self.filters.set(filters);
        }
        self.filters.get()
    }

    /// What `check-ignore` prints; it refuses literal pathspecs, and takes its operands
    /// literally anyway.
    pub(super) fn ignored_lines(&self, paths: &[&str]) -> Vec<String> {
        let mut git = self.command();
        git.env("GIT_LITERAL_PATHSPECS", "0").args(["check-ignore", "--no-index", "--"]);
        let output = git.args(paths).output();
        output.map_or_else(
            |_| Vec::new(),
            |output| String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect(),
        )
    }

    /// What git prints, a name after the other.
    pub(super) fn names(&self, words: &[&str]) -> Option<Vec<String>> {
        self.printed(words).map(|printed| split_names(&printed))
    }

    /// What git prints line by line, whether or not it succeeds.
    pub(super) fn lines(&self, words: &[&str]) -> Vec<String> {
        let output = self.command().args(words).output();
        output.map_or_else(
            |_| Vec::new(),
            |output| String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect(),
        )
    }

    pub(super) fn line(&self, words: &[&str]) -> Option<String> {
        let line = String::from_utf8(self.printed(words)?).ok()?.trim().to_owned();
        (!line.is_empty()).then_some(line)
    }

    pub(super) fn hash(&self, words: &[&str]) -> Option<String> {
        self.line(words).filter(|line| is_hash(line))
    }

    /// What `read` makes of what git prints, and the code git ended with; an error where
    /// that takes too long.
    pub(super) fn with_timeout<T: Send + 'static>(
        &self,
        words: &[&str],
        read: impl FnOnce(ChildStdout) -> T + Send + 'static,
    ) -> Result<(T, Option<i32>), String> {
        let child = self.command().args(words).stdout(Stdio::piped()).spawn();
        let mut child = child.map_err(|error| format!("cannot start git: {error}"))?;
        let out = child.stdout.take().ok_or_else(|| "git gave no output".to_owned())?;
        let (done, answer) = mpsc::sync_channel(1);
        let reader = std::thread::spawn(move || done.send(read(out)));
        let answer = answer.recv_timeout(TIMEOUT);
        // Ends git if it still walks the history; then its output ends, and so does the reader.
        let _ = child.kill();
        let status = child.wait();
        let _ = reader.join();
        let answer = answer.map_err(|_| format!("git took longer than {} s", TIMEOUT.as_secs()))?;
        Ok((answer, status.ok().and_then(|status| status.code())))
    }
}

/// The words of a command that compares: files as they are called, with a zero behind each
/// name, and no program that the repository's settings name.
pub(super) fn plain_diff<'w>(command: &[&'w str], rest: &[&'w str]) -> Vec<&'w str> {
    [command, &["-z", "--no-renames", "--no-ext-diff", "--no-textconv"], rest].concat()
}

pub(super) fn stdout_on_success(command: &mut Command) -> Option<Vec<u8>> {
    command.output().ok().filter(|out| out.status.success()).map(|out| out.stdout)
}

pub(super) fn split_names(printed: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(printed)
        .split('\0')
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

pub(super) fn is_hash(text: &str) -> bool {
    text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether a name may denote one commit.
pub(super) fn is_revision(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._/@{}~^-".contains(c);
    !name.is_empty()
        && !name.starts_with(['-', '^'])
        && !name.contains("..")
        && name.len() <= 256
        && name.chars().all(allowed)
}

/// Whether a path may be an operand. One that starts with `-` is no file an
/// agent means, and git has read operands as options before.
pub(super) fn is_plain(file: &str) -> bool {
    !file.is_empty()
        && !file.starts_with('-')
        && !file.starts_with('/')
        && !file.contains('\0')
        && !file.split('/').any(|part| part == "..")
}
