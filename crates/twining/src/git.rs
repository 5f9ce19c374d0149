//! What git knows of the project. Only this file, `running.rs` and the tour start a program.
//!
//! A cloned repository is not trusted: no shell, no hooks, no pager, no
//! monitor, no fetching, and every path stands behind `--`.

mod blobs;
mod branch;
mod history;

pub use branch::BranchChanges;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use twining_engine::{Changes, History};
use twining_model::{Time, limits, text};

/// How long git may think about one question.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many files one question may name: the system limits a command line.
const FILES: usize = 1000;

/// Settings no repository may change: each names a program git would start.
const HARMLESS: [&str; 12] = [
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.pager=cat",
    "-c",
    "log.showSignature=false",
    "-c",
    "diff.external=",
    "-c",
    "protocol.allow=never",
];

/// The history of one working tree.
#[derive(Clone, Debug)]
pub struct Git {
    checkout: PathBuf,
}

impl Git {
    /// The history seen from this working tree.
    pub fn at(checkout: &Path) -> Self {
        Self { checkout: checkout.to_path_buf() }
    }

    fn command(&self) -> Command {
        self.command_with(&HARMLESS)
    }

    fn command_with(&self, settings: &[&str]) -> Command {
        let mut git = Command::new("git");
        git.args(settings).current_dir(&self.checkout).stdin(Stdio::null()).stderr(Stdio::null());
        git.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_LITERAL_PATHSPECS", "1").env("GIT_NO_LAZY_FETCH", "1").env("GIT_TERMINAL_PROMPT", "0");
        // Set by git when it runs a hook; they would point us at another repository.
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_EXTERNAL_DIFF"] {
            git.env_remove(name);
        }
        git
    }
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
    /// Where the repository keeps its things; none where git knows of none.
    pub fn shape(&self) -> Option<Shape> {
        // Told as the repository is set up, `core.hooksPath` included; this question starts nothing.
        let words = ["rev-parse", "--path-format=absolute", "--show-toplevel", "--git-common-dir", "--git-path", "hooks"];
        let out = self.command_with(&[]).args(words).stdout(Stdio::piped()).output().ok().filter(|out| out.status.success())?;
        let text = String::from_utf8(out.stdout).ok()?;
        let mut lines = text.lines().map(|line| std::fs::canonicalize(line).unwrap_or_else(|_| PathBuf::from(line)));
        Some(Shape { top: lines.next()?, common: lines.next()?, hooks: lines.next()? })
    }

    /// The name git signs commits with here.
    pub fn user_name(&self) -> Option<String> {
        let name = String::from_utf8(self.printed(&["config", "user.name"])?).ok()?;
        Some(name.trim().to_owned()).filter(|name| !name.is_empty())
    }

    /// Which of these files git tracks, relative to the working tree.
    pub fn tracked_of(&self, files: &[String]) -> BTreeSet<String> {
        let listed = self.command().args(["ls-files", "-z", "--"]).args(files).stdout(Stdio::piped()).output();
        let listed = listed.map(|out| out.stdout).unwrap_or_default();
        String::from_utf8_lossy(&listed).split('\0').filter(|file| !file.is_empty()).map(str::to_owned).collect()
    }
}

impl Git {
    /// Runs a step of making a throwaway repository; whether it worked. No
    /// user's settings apply: they may sign commits or start programs.
    pub fn run_in_throwaway(&self, step: &[&str]) -> io::Result<bool> {
        let mut git = self.command();
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        for (name, value) in [("GIT_AUTHOR_NAME", "tour"), ("GIT_AUTHOR_EMAIL", "tour@example.com")] {
            git.env(name, value).env(name.replace("AUTHOR", "COMMITTER"), value);
        }
        match git.args(step).stdout(Stdio::null()).status() {
            Ok(status) => Ok(status.success()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Files under `dir` that git would track and does not yet.
    pub fn untracked_in(&self, dir: &str) -> Option<Vec<String>> {
        let out =
            self.command().args(["ls-files", "-z", "--others", "--exclude-standard", "--", dir]).stdout(Stdio::piped()).output().ok()?;
        let names = String::from_utf8_lossy(&out.stdout).split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        out.status.success().then_some(names)
    }
}

impl Git {
    /// Files under `dir` that git ignores not and that are not as in HEAD.
    pub fn uncommitted_in(&self, dir: &str) -> Option<Vec<String>> {
        let known = self.printed_unfiltered(&["diff-index", "--name-only", "-z", "--no-ext-diff", "--no-textconv", "HEAD", "--", dir])?;
        let known = String::from_utf8_lossy(&known).into_owned();
        let changed = known.split('\0').filter(|name| !name.is_empty()).map(str::to_owned);
        Some(changed.chain(self.untracked_in(dir).unwrap_or_default()).collect())
    }
}

/// Files of one commit that are looked at.
const STAGED: usize = 10_000;

impl Git {
    /// What the commit that is being made would change, from the top of the working tree.
    pub fn staged(&self) -> Vec<String> {
        let words = ["diff", "--cached", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv"];
        let printed = self.staging(&words).unwrap_or_default();
        let names = String::from_utf8_lossy(&printed).into_owned();
        names.split('\0').filter(|name| !name.is_empty()).take(STAGED).map(str::to_owned).collect()
    }

    /// The same, to the byte.
    pub fn committed_bytes(&self, path: &str) -> Option<Vec<u8>> {
        self.printed(&["cat-file", "blob", &format!("HEAD:{path}")])
    }

    /// Asks about the index git is committing from: `git commit -a` uses one of its own.
    fn staging(&self, words: &[&str]) -> Option<Vec<u8>> {
        let mut git = self.command();
        if let Some(index) = index_of_commit() {
            git.env("GIT_INDEX_FILE", index);
        }
        let out = git.args(words).stdout(Stdio::piped()).output().ok()?;
        out.status.success().then_some(out.stdout)
    }
}

/// The index git is committing from, as it told this process. It is named from the top
/// of the working tree, and a project may lie below that.
fn index_of_commit() -> Option<PathBuf> {
    std::env::var_os("GIT_INDEX_FILE").and_then(|index| std::path::absolute(index).ok())
}

impl History for Git {
    fn last_commits(&self, files: &[String]) -> Result<BTreeMap<String, Time>, String> {
        let wanted: BTreeSet<&str> = files.iter().map(String::as_str).filter(|file| is_plain(file)).take(FILES).collect();
        if wanted.is_empty() {
            return Ok(BTreeMap::new());
        }
        let mut log = self.command();
        log.args(["log", "-z", "--name-only", "--no-renames", "--no-ext-diff", "--no-textconv", "--relative", "--format=%x01%ct", "--"]);
        log.args(&wanted).stdout(Stdio::piped());
        let child = log.spawn().map_err(|error| format!("cannot start git: {error}"))?;
        newest_per_file(child, &wanted.into_iter().map(str::to_owned).collect())
    }

    fn previous_commit(&self) -> Option<Time> {
        // One commit is looked up, none is walked: this cannot take long.
        let shown = self.command().args(["log", "-1", "--no-walk", "--format=%ct", "HEAD~1", "--"]).output().ok()?;
        let seconds: i64 = String::from_utf8_lossy(&shown.stdout).trim().parse().ok()?;
        Some(Time::from_ms(seconds.saturating_mul(1000)))
    }
}

/// Branches that others leave from, the likeliest first.
const MAIN_BRANCHES: [&str; 7] = ["origin/HEAD", "origin/main", "origin/master", "main", "master", "trunk", "develop"];
/// How many changed files are told of.
const CHANGED: usize = 10_000;

impl Git {
    /// What git prints, if it succeeds.
    fn printed(&self, words: &[&str]) -> Option<Vec<u8>> {
        let out = self.command().args(words).stdout(Stdio::piped()).output().ok()?;
        out.status.success().then_some(out.stdout)
    }

    /// The same where git looks into files of the working tree.
    fn printed_unfiltered(&self, words: &[&str]) -> Option<Vec<u8>> {
        self.printed_without(&self.filters()?, words)
    }

    /// The filters that a repository's settings name: programs that git would run on
    /// files of the working tree.
    fn filters(&self) -> Option<BTreeSet<String>> {
        let words = ["config", "-z", "--name-only", "--get-regexp", "^filter\\."];
        let listed = self.command().args(words).stdout(Stdio::piped()).output().ok()?;
        let names = String::from_utf8_lossy(&listed.stdout).into_owned();
        Some(names.split('\0').filter_map(|name| name.rsplit_once('.').map(|(filter, _)| filter.to_owned())).collect())
    }

    /// What git prints with each of these filters set to nothing.
    fn printed_without(&self, filters: &BTreeSet<String>, words: &[&str]) -> Option<Vec<u8>> {
        let mut git = self.command();
        let settings = filters.iter().flat_map(|filter| {
            [("clean", ""), ("smudge", ""), ("process", ""), ("required", "false")].map(|(name, value)| (format!("{filter}.{name}"), value))
        });
        let mut count = 0;
        for (key, value) in settings {
            git.env(format!("GIT_CONFIG_KEY_{count}"), key).env(format!("GIT_CONFIG_VALUE_{count}"), value);
            count += 1;
        }
        git.env("GIT_CONFIG_COUNT", count.to_string());
        let out = git.args(words).stdout(Stdio::piped()).output().ok()?;
        out.status.success().then_some(out.stdout)
    }

    /// Full names of branches that this one may have left, where none of the usual
    /// ones is there: what new repositories begin with here, the branch it follows
    /// if that has another name, and the only other branch there is.
    fn unusual_main_branches(&self) -> Vec<String> {
        let line = |words: &[&str]| {
            let text = String::from_utf8(self.printed(words)?).ok()?.trim().to_owned();
            (!text.is_empty()).then_some(text)
        };
        let current = line(&["symbolic-ref", "--quiet", "HEAD"]).unwrap_or_default();
        let mut found = Vec::new();
        if let Some(name) = line(&["config", "--get", "init.defaultBranch"]) {
            found.extend([format!("refs/remotes/origin/{name}"), format!("refs/heads/{name}")]);
        }
        let branch = current.strip_prefix("refs/heads/").unwrap_or_default();
        let followed = line(&["rev-parse", "--symbolic-full-name", "@{upstream}"]);
        found.extend(followed.filter(|name| !branch.is_empty() && !name.ends_with(&format!("/{branch}"))));
        let listed = line(&["for-each-ref", "--format=%(refname)", "refs/heads"]).unwrap_or_default();
        let others: Vec<&str> = listed.lines().filter(|name| *name != current).collect();
        if let [only] = others.as_slice() {
            found.push((*only).to_owned());
        }
        found
    }

    fn hash(&self, words: &[&str]) -> Option<String> {
        let hash = String::from_utf8(self.printed(words)?).ok()?.trim().to_owned();
        (hash.len() >= 40 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(hash)
    }
}

impl Changes for Git {
    fn revision(&self, name: &str) -> Result<String, String> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "._/@{}~^-".contains(c);
        let shown = text::excerpt(name, 80);
        if name.is_empty() || name.starts_with('-') || name.len() > 256 || !name.chars().all(allowed) {
            return Err(format!("`{shown}` is none"));
        }
        let commit = format!("{name}^{{commit}}");
        self.hash(&["rev-parse", "--verify", "--quiet", "--end-of-options", &commit]).ok_or_else(|| format!("git knows no `{shown}` here"))
    }

    fn fork_point(&self) -> Result<Option<String>, String> {
        let head = self.revision("HEAD")?;
        let left = |branch: &str| self.hash(&["merge-base", &head, branch]);
        let usual = MAIN_BRANCHES.iter().find_map(|branch| left(branch));
        Ok(usual.or_else(|| self.unusual_main_branches().iter().find_map(|branch| left(branch))))
    }

    fn changed_files(&self, base: &str, head: Option<&str>) -> Result<Vec<String>, String> {
        let common = ["-r", "-z", "--name-only", "--no-renames", "--no-ext-diff", "--no-textconv", "--relative"];
        let printed = match head {
            Some(head) => self.printed(&[&["diff-tree"], &common[..], &[base, head, "--"]].concat()),
            None => self.printed_unfiltered(&[&["diff-index"], &common[..], &[base, "--"]].concat()),
        };
        let printed = printed.ok_or_else(|| "git cannot compare them".to_owned())?;
        let mut files: BTreeSet<String> =
            String::from_utf8_lossy(&printed).split('\0').filter(|file| !file.is_empty()).map(str::to_owned).collect();
        if head.is_none() {
            files.extend(self.untracked_in(".").unwrap_or_default());
        }
        Ok(files.into_iter().take(CHANGED).collect())
    }

    fn file_at(&self, revision: &str, path: &str) -> Result<Option<Vec<u8>>, String> {
        if !is_plain(path) {
            return Err(format!("`{}` is no file of the project", text::excerpt(path, 80)));
        }
        let object = format!("{revision}:./{path}");
        let size = self.printed(&["cat-file", "-s", &object]).and_then(|size| String::from_utf8_lossy(&size).trim().parse::<usize>().ok());
        match size {
            None => Ok(None),
            Some(size) if size > limits::KNOWLEDGE_BYTES => Err(format!("`{path}` has more than {} bytes", limits::KNOWLEDGE_BYTES)),
            Some(_) => Ok(self.printed(&["cat-file", "blob", &object])),
        }
    }
}

/// Whether a path may be an operand. One that starts with `-` is no file an
/// agent means, and git has read operands as options before.
fn is_plain(file: &str) -> bool {
    !file.is_empty()
        && !file.starts_with('-')
        && !file.starts_with('/')
        && !file.contains('\0')
        && !file.split('/').any(|part| part == "..")
}

/// Reads `git log`, newest first, until every file was seen once or time is up.
fn newest_per_file(mut child: Child, wanted: &BTreeSet<String>) -> Result<BTreeMap<String, Time>, String> {
    let Some(out) = child.stdout.take() else { return Err("git gave no output".to_owned()) };
    let (done, answer) = mpsc::sync_channel(1);
    let reader = {
        let wanted = wanted.clone();
        std::thread::spawn(move || done.send(read_log(BufReader::new(out), &wanted)))
    };
    let found = answer.recv_timeout(PATIENCE);
    // Ends git if it still walks the history; then its output ends, and so does the reader.
    let _ = child.kill();
    let status = child.wait();
    let _ = reader.join();
    match found {
        Ok(found) if found.is_empty() && status.is_ok_and(|status| status.code().is_some_and(|code| code != 0)) => {
            Err("git knows no history here".to_owned())
        }
        Ok(found) => Ok(found),
        Err(_) => Err(format!("git took longer than {} s", PATIENCE.as_secs())),
    }
}

/// With `-z` a commit is `\x01<seconds>` NUL `\n<file>` NUL `<file>` NUL ….
fn read_log(mut log: impl BufRead, wanted: &BTreeSet<String>) -> BTreeMap<String, Time> {
    let mut found = BTreeMap::new();
    let mut at = None;
    let mut token = Vec::new();
    while found.len() < wanted.len() && log.read_until(0, &mut token).is_ok_and(|read| read > 0) {
        let text = String::from_utf8_lossy(&token);
        let text = text.strip_suffix('\0').unwrap_or(&text);
        if let Some(seconds) = text.strip_prefix('\u{1}') {
            at = seconds.trim().parse::<i64>().ok().map(|seconds| Time::from_ms(seconds.saturating_mul(1000)));
        } else if let Some(at) = at {
            let file = text.strip_prefix('\n').unwrap_or(text);
            if wanted.contains(file) {
                found.entry(file.to_owned()).or_insert(at);
            }
        }
        token.clear();
    }
    found
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    #[test]
    fn the_newest_commit_of_each_file_is_kept() {
        let log = "\u{1}200\0\nsrc/a.rs\0\u{1}100\0\nb c\0src/a.rs\0";
        let wanted = ["src/a.rs".to_owned(), "b c".to_owned(), "never".to_owned()].into();
        let found = read_log(log.as_bytes(), &wanted);
        assert_eq!(found, BTreeMap::from([("src/a.rs".to_owned(), Time::from_ms(200_000)), ("b c".to_owned(), Time::from_ms(100_000))]));
    }

    #[test]
    fn a_file_that_looks_like_an_option_is_not_asked_for() {
        assert!(!is_plain("--output=/etc/passwd"));
        assert!(!is_plain("../outside"));
        assert!(is_plain("src/-a.rs"));
    }

    pub(super) fn repository() -> (tempfile::TempDir, Git) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let git = Git::at(dir.path());
        std::fs::create_dir(dir.path().join("src")).expect("makes a directory");
        for file in ["src/a b.rs", "src/[x].rs"] {
            std::fs::write(dir.path().join(file), "x").expect("writes");
        }
        for step in [&["init", "-q"][..], &["add", "."], &["commit", "-q", "-m", "one"]] {
            assert!(git.run_in_throwaway(step).expect("git runs"), "{step:?}");
        }
        (dir, git)
    }

    #[test]
    fn one_question_answers_for_many_files_and_from_a_directory_below() {
        let (dir, git) = repository();
        let files = ["src/a b.rs", "src/[x].rs", "src/?.rs", "nothing.rs", "--all"].map(str::to_owned);
        let found = git.last_commits(&files).expect("has a history");
        assert_eq!(found.keys().collect::<Vec<_>>(), ["src/[x].rs", "src/a b.rs"], "a pattern is a name");
        let below = Git::at(&dir.path().join("src")).last_commits(&["a b.rs".to_owned()]).expect("has a history");
        assert_eq!(below.get("a b.rs"), found.get("src/a b.rs"));
    }

    #[test]
    fn a_hostile_repository_starts_nothing() {
        let (dir, git) = repository();
        let trap = format!("touch '{}'", dir.path().join("trapped").display());
        let settings = [
            ("core.fsmonitor", &trap),
            ("core.pager", &trap),
            ("diff.external", &trap),
            ("core.sshCommand", &trap),
            ("gpg.program", &trap),
        ];
        for (name, value) in settings {
            assert!(git.run_in_throwaway(&["config", name, value]).expect("git runs"));
        }
        assert!(git.run_in_throwaway(&["config", "log.showSignature", "true"]).expect("git runs"));
        assert_eq!(git.last_commits(&["src/a b.rs".to_owned()]).expect("has a history").len(), 1);
        git.untracked_in("src").expect("git lists files");
        assert!(git.run_in_throwaway(&["config", "filter.trap.clean", &trap]).expect("git runs"));
        std::fs::write(dir.path().join(".gitattributes"), "* filter=trap\n").expect("writes");
        std::fs::write(dir.path().join("src/a b.rs"), "y").expect("writes");
        let base = git.revision("HEAD").expect("is a commit");
        let changed = git.changed_files(&base, None).expect("git compares");
        assert!(changed.contains(&"src/a b.rs".to_owned()) && !changed.contains(&"trapped".to_owned()), "{changed:?}");
        assert!(!dir.path().join("trapped").exists());
    }

    #[test]
    fn a_change_is_told_by_its_files_and_what_they_were() {
        let (dir, git) = repository();
        let base = git.revision("HEAD").expect("has a commit");
        std::fs::write(dir.path().join("src/new.rs"), "n").expect("writes");
        assert_eq!(git.changed_files(&base, None).expect("compares"), ["src/new.rs"], "one that git does not track yet");
        for step in [&["add", "."][..], &["commit", "-q", "-m", "two"]] {
            assert!(git.run_in_throwaway(step).expect("git runs"), "{step:?}");
        }
        let head = git.revision("HEAD").expect("is a commit");
        assert_eq!(git.changed_files(&base, Some(&head)).expect("compares"), ["src/new.rs"]);
        assert_eq!(git.file_at(&head, "src/new.rs"), Ok(Some(b"n".to_vec())));
        assert_eq!(git.file_at(&base, "src/new.rs"), Ok(None));
        assert_eq!(Git::at(&dir.path().join("src")).file_at(&head, "new.rs"), Ok(Some(b"n".to_vec())));
        for hostile in ["--output=x", "", "HEAD:src", "a b", "$(x)"] {
            assert!(git.revision(hostile).is_err(), "{hostile}");
        }
        assert!(git.file_at(&head, "../x").is_err());
    }

    #[test]
    fn a_branch_is_held_against_the_one_it_left_whatever_that_is_called() {
        let (_dir, git) = repository();
        let step = |step: &[&str]| assert!(git.run_in_throwaway(step).expect("git runs"), "{step:?}");
        step(&["branch", "-m", "mainline"]);
        let base = git.revision("HEAD").expect("is a commit");
        assert_eq!(git.fork_point(), Ok(None), "there is no other");
        step(&["checkout", "-q", "-b", "fix"]);
        step(&["commit", "-q", "--allow-empty", "-m", "two"]);
        assert_eq!(git.fork_point(), Ok(Some(base.clone())), "the only other one");
        step(&["branch", "other"]);
        assert_eq!(git.fork_point(), Ok(None), "of several none is guessed");
        step(&["branch", "-q", "--set-upstream-to", "mainline"]);
        assert_eq!(git.fork_point(), Ok(Some(base.clone())), "the one it follows");
        step(&["branch", "-q", "--unset-upstream"]);
        step(&["config", "init.defaultBranch", "mainline"]);
        assert_eq!(git.fork_point(), Ok(Some(base.clone())), "the one repositories begin with");
        step(&["branch", "main", &base]);
        assert_eq!(git.fork_point(), Ok(Some(base)));
    }

    #[test]
    fn outside_a_repository_the_history_says_so() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let answer = Git::at(dir.path()).last_commits(&["a.rs".to_owned()]);
        assert_eq!(answer, Err("git knows no history here".to_owned()));
    }
}
