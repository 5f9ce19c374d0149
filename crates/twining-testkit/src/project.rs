//! A throwaway repository.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;
use twining_store::StoreLocation;

/// A project in a temporary directory, gone when dropped.
pub struct TestProject {
    dir: TempDir,
}

impl TestProject {
    /// An empty folder.
    #[must_use]
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("the system has a temporary directory") }
    }

    /// An empty folder that no test needs on a disk: where the system has one in
    /// memory, flushing costs nothing and a sweep over every call takes seconds.
    #[must_use]
    pub fn in_memory() -> Self {
        match tempfile::tempdir_in("/dev/shm") {
            Ok(dir) => Self { dir },
            Err(_) => Self::new(),
        }
    }

    /// A folder that is a git repository with one commit.
    #[must_use]
    pub fn with_git() -> Self {
        let project = Self::new();
        project.git(["init", "-q", "-b", "main", "."]);
        std::fs::write(project.path().join("README.md"), "a test project\n")
            .expect("the directory is ours");
        project.git(["add", "-A"]);
        project.git(["commit", "-q", "-m", "start"]);
        project
    }

    /// Where it is, links resolved.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.dir.path().canonicalize().expect("the directory is there")
    }

    /// A file in its `.twining`.
    #[must_use]
    pub fn file(&self, path: &str) -> PathBuf {
        self.path().join(".twining").join(path)
    }

    /// Where the store is to look.
    #[must_use]
    pub fn place(&self) -> StoreLocation {
        let git = self.path().join(".git");
        StoreLocation {
            project: self.path(),
            git_dir: git.is_dir().then_some(git),
            ..StoreLocation::default()
        }
    }

    /// Runs git here; panics with its output if it fails.
    pub fn git<const N: usize>(&self, args: [&str; N]) -> String {
        let output = git_in(&self.path(), &args);
        assert!(
            output.status.success(),
            "git {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs git here; whether it succeeded.
    pub fn try_git(&self, args: &[&str]) -> bool {
        git_in(&self.path(), args).status.success()
    }
}

impl Default for TestProject {
    fn default() -> Self {
        Self::new()
    }
}

/// Runs git in a folder, isolated from the user's configuration.
pub fn git_in(path: &Path, args: &[&str]) -> Output {
    Command::new("git")
        .current_dir(path)
        .args([
            "-c",
            "user.name=Test",
            "-c",
            "user.email=test@example.com",
            "-c",
            "commit.gpgsign=false",
            "-c",
            "gc.auto=0",
        ])
        .args(args)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .expect("git is installed")
}
