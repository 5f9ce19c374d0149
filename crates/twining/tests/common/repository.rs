//! A real repository with a home of its own, to install into and to look at from
//! outside, byte by byte.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::Ran;

/// A repository in `shop/`, a home in `home/`, programs in `bin/`.
pub(crate) struct Repository(tempfile::TempDir);

/// Every file below a folder: its bytes, and whether it can be started.
pub(crate) type Tree = BTreeMap<String, (Vec<u8>, bool)>;

impl Repository {
    pub(crate) fn new() -> Self {
        let made = Self::without_git();
        made.git(&["init", "-q", "-b", "main"]);
        made
    }

    pub(crate) fn without_git() -> Self {
        let made = Self(tempfile::tempdir().expect("a temporary directory"));
        for folder in ["shop", "home", "bin"] {
            fs::create_dir(made.path(folder)).expect("makes a folder");
        }
        made
    }

    /// A path beside the repository.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.0.path()).expect("is there").join(name)
    }

    /// A path in it.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path("shop").join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let file = self.file(name);
        fs::create_dir_all(file.parent().expect("has a folder")).expect("makes a folder");
        fs::write(file, text).expect("writes");
    }

    pub(crate) fn write_program(&self, name: &str, text: &str) {
        self.write(name, text);
        fs::set_permissions(self.file(name), fs::Permissions::from_mode(0o755))
            .expect("may be started");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn json(&self, name: &str) -> serde_json::Value {
        serde_json::from_str(&self.read(name)).expect("is JSON")
    }

    /// Puts a program on the path; `twining` is the one under test.
    pub(crate) fn program(&self, name: &str, script: &str) {
        let file = self.path("bin").join(name);
        // What is there may be a link to the program under test.
        let _ = fs::remove_file(&file);
        fs::write(&file, script).expect("writes");
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).expect("may be started");
    }

    pub(crate) fn twining_on_path(&self) {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_twining"), self.path("bin/twining"))
            .expect("links");
    }

    fn at_home(&self, command: &mut Command, dir: &Path) {
        command.current_dir(dir).env_clear().stdin(Stdio::null());
        command.env("HOME", self.path("home")).env("XDG_CONFIG_HOME", self.path("home/.config"));
        command.env("PATH", format!("{}:/usr/bin:/bin", self.path("bin").display()));
        command.env("GIT_CONFIG_NOSYSTEM", "1");
        for who in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{who}_NAME"), "test")
                .env(format!("GIT_{who}_EMAIL"), "test@example.com");
        }
    }

    pub(crate) fn command_in(&self, dir: &Path, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_twining"));
        command.args(words);
        self.at_home(&mut command, dir);
        command
    }

    /// The same by a host that ends with the call.
    pub(crate) fn host_in(&self, dir: &Path, words: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", "\"$@\"; exit $?", "host", env!("CARGO_BIN_EXE_twining")]).args(words);
        self.at_home(&mut command, dir);
        command
    }

    /// Runs as somebody whom file modes hold back, root too.
    pub(crate) fn run_held_by_modes(&self, words: &[&str]) -> Ran {
        let mut command = if rustix::process::geteuid().is_root() {
            let mut command = Command::new("setpriv");
            command.arg("--bounding-set=-dac_override").arg(env!("CARGO_BIN_EXE_twining"));
            command
        } else {
            Command::new(env!("CARGO_BIN_EXE_twining"))
        };
        command.args(words);
        self.at_home(&mut command, &self.path("shop"));
        Ran::of(command.output().expect("the program starts"))
    }

    pub(crate) fn run(&self, words: &[&str]) -> Ran {
        self.run_in(&self.path("shop"), words)
    }

    pub(crate) fn run_in(&self, dir: &Path, words: &[&str]) -> Ran {
        Ran::of(self.command_in(dir, words).output().expect("the program starts"))
    }

    /// Runs, must end well, and gives the answer as JSON.
    pub(crate) fn told(&self, words: &[&str]) -> serde_json::Value {
        let words: Vec<&str> = words.iter().copied().chain(["--json"]).collect();
        let ran = self.run(&words);
        assert_eq!(ran.code, 0, "{words:?}: {ran:?}");
        serde_json::from_str(&ran.stdout).expect("prints JSON")
    }

    pub(crate) fn run_with(&self, words: &[&str], input: &str) -> Ran {
        self.run_with_in(&self.path("shop"), words, input)
    }

    pub(crate) fn run_with_in(&self, dir: &Path, words: &[&str], input: &str) -> Ran {
        let mut command = self.command_in(dir, words);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("takes the input");
        Ran::of(child.wait_with_output().expect("ends"))
    }

    pub(crate) fn git_ran(&self, words: &[&str]) -> Ran {
        let mut git = Command::new("git");
        git.args(words);
        self.at_home(&mut git, &self.path("shop"));
        Ran::of(git.output().expect("git starts"))
    }

    pub(crate) fn git(&self, words: &[&str]) -> String {
        let ran = self.git_ran(words);
        assert_eq!(ran.code, 0, "git {words:?}: {ran:?}");
        ran.stdout
    }

    pub(crate) fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
    }

    /// Everything there is, `.git` and the home included.
    pub(crate) fn tree(&self) -> Tree {
        let mut found = Tree::new();
        for top in ["shop", "home"] {
            let mut todo = vec![self.path(top)];
            while let Some(dir) = todo.pop() {
                for entry in fs::read_dir(&dir).expect("lists").flatten() {
                    let path = entry.path();
                    let name =
                        path.strip_prefix(self.path("")).expect("is inside").display().to_string();
                    if path.is_symlink() {
                        found.insert(
                            name,
                            (
                                fs::read_link(&path)
                                    .expect("is a link")
                                    .display()
                                    .to_string()
                                    .into_bytes(),
                                false,
                            ),
                        );
                    } else if path.is_dir() {
                        found.insert(format!("{name}/"), (Vec::new(), false));
                        todo.push(path);
                    } else {
                        let starts = fs::metadata(&path).expect("is there").permissions().mode()
                            & 0o111
                            != 0;
                        found.insert(name, (fs::read(&path).expect("reads"), starts));
                    }
                }
            }
        }
        found
    }
}

/// What differs between two trees, for a message.
pub(crate) fn changed(before: &Tree, after: &Tree) -> Vec<String> {
    let names = before.keys().chain(after.keys()).collect::<std::collections::BTreeSet<_>>();
    names.into_iter().filter(|name| before.get(*name) != after.get(*name)).cloned().collect()
}
