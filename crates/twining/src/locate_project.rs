//! Which `.twining/` a command works on.
//!
//! `--project`, else `TWINING_PROJECT` or `CLAUDE_PROJECT_DIR`, else the nearest
//! parent that has one, else the git top level, else here. In a linked git
//! worktree the main worktree's folder is used, so that agents in parallel
//! worktrees see each other at once, unless the main one's `config.yml` says
//! `worktrees: separate`.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use twining_model::limits;
use twining_store::git::GitFolders;
use twining_store::{StoreLocation, disk};

/// The folder's name in a project.
pub(crate) const FOLDER: &str = ".twining";

/// What the search starts from.
#[derive(Clone, Debug, Default)]
pub(crate) struct LocateInput {
    /// `--project`.
    pub given: Option<PathBuf>,
    /// `TWINING_PROJECT`, else `CLAUDE_PROJECT_DIR`.
    pub environment: Option<PathBuf>,
    /// The working directory.
    pub here: PathBuf,
    /// What the shell calls it: `PWD`.
    pub called: Option<PathBuf>,
}

/// A project that was found.
#[derive(Clone, Debug)]
pub(crate) struct ProjectLocation {
    /// Where its memory lives.
    pub place: StoreLocation,
    /// The caller's working tree, for git queries.
    pub checkout: PathBuf,
    /// The project in the main worktree, if the caller is in a linked one.
    pub main: Option<PathBuf>,
}

/// A project that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the project folder `{}`", path.display())]
pub(crate) struct LocateError {
    path: PathBuf,
    source: io::Error,
}

impl LocateError {
    /// Whether there is no such folder, rather than one that is closed to us.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self.source.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
    }
}

impl LocateInput {
    /// Reads them from this process.
    pub(crate) fn of_process(given: Option<PathBuf>) -> io::Result<Self> {
        let set = |name: &str| {
            std::env::var_os(name).filter(|value: &OsString| !value.is_empty()).map(PathBuf::from)
        };
        let environment = set("TWINING_PROJECT").or_else(|| set("CLAUDE_PROJECT_DIR"));
        // A working directory that is gone matters only if we must look around from it.
        let is_known = given.as_ref().or(environment.as_ref()).is_some_and(|dir| dir.is_absolute());
        let here = std::env::current_dir()
            .or_else(|error| if is_known { Ok(PathBuf::from("/")) } else { Err(error) })?;
        Ok(Self { given, environment, here, called: set("PWD") })
    }
}

impl LocateInput {
    /// Returns the path of the working directory, or a folder above it, as spelled by a caller that
    /// came through a link: agents send such paths.
    fn as_called(&self, folder: &Path) -> Option<PathBuf> {
        let called = self.called.as_ref().filter(|called| called.is_absolute())?;
        let here = fs::canonicalize(&self.here).ok()?;
        if fs::canonicalize(called).ok()? != here {
            return None;
        }
        let below = here.strip_prefix(folder).ok()?.components().count();
        let above = called.ancestors().nth(below)?;
        // With a link further down, the folders above it differ.
        fs::canonicalize(above).is_ok_and(|is| is == folder).then(|| above.to_owned())
    }
}

/// Finds the project.
pub(crate) fn locate(clues: &LocateInput) -> Result<ProjectLocation, LocateError> {
    let named = clues.given.as_ref().or(clues.environment.as_ref());
    let spelled = match named {
        Some(dir) => clues.here.join(dir),
        None => search(&clues.here),
    };
    let checkout = fs::canonicalize(&spelled)
        .and_then(
            |dir| if dir.is_dir() { Ok(dir) } else { Err(io::ErrorKind::NotADirectory.into()) },
        )
        .map_err(|source| LocateError { path: spelled.clone(), source })?;

    let git = GitFolders::of(&checkout);
    let shared = git.as_ref().and_then(|git| git.main.as_deref()).filter(|main| !is_separate(main));
    let project = shared.map_or_else(|| checkout.clone(), Path::to_path_buf);
    let mut aliases = vec![spelled, checkout.clone()];
    aliases.extend(clues.as_called(&checkout));
    aliases.retain(|alias| *alias != project);
    aliases.dedup();
    let git_dir =
        git.as_ref().map(|git| if shared.is_some() { git.common.clone() } else { git.own.clone() });
    let main = git.and_then(|git| git.main);
    Ok(ProjectLocation {
        place: StoreLocation {
            project,
            aliases,
            git_dir,
            scratch: Some(std::env::temp_dir()),
            is_cache: false,
        },
        checkout,
        main,
    })
}

/// The nearest parent with a memory, else the git top level, else `here`.
/// The project around a folder, if there is one.
pub(crate) fn around(here: &Path) -> Option<PathBuf> {
    let project = search(here);
    [FOLDER, ".git"].iter().any(|mark| project.join(mark).exists()).then_some(project)
}

fn search(here: &Path) -> PathBuf {
    let nearest =
        |name: &str| here.ancestors().find(|dir| dir.join(name).exists()).map(Path::to_path_buf);
    // A repository inside another has its own memory: a `.twining/` above the
    // nearest `.git` belongs to someone else.
    match (nearest(FOLDER), nearest(".git")) {
        (Some(memory), Some(top)) if memory.starts_with(&top) => memory,
        (_, Some(top)) => top,
        (Some(memory), None) => memory,
        (None, None) => here.to_path_buf(),
    }
}

/// Whether the main worktree keeps its memory to itself.
fn is_separate(main: &Path) -> bool {
    #[derive(Deserialize)]
    struct WorktreeConfig {
        worktrees: Option<String>,
    }
    disk::read_inside(main, &format!("{FOLDER}/config.yml"), limits::CONFIG_BYTES)
        .ok()
        .flatten()
        .and_then(|text| serde_saphyr::from_slice::<WorktreeConfig>(&text).ok())
        .is_some_and(|settings| settings.worktrees.as_deref() == Some("separate"))
}

#[cfg(test)]
mod tests {
    use crate::locate_project::*;
    use twining_testcases::each;

    struct Tree(tempfile::TempDir);

    impl Tree {
        fn new(dirs: &[&str]) -> Self {
            let tree = Self(tempfile::tempdir().expect("a temporary directory"));
            for dir in dirs {
                fs::create_dir_all(tree.path(dir)).expect("makes a directory");
            }
            tree
        }

        fn path(&self, relative: &str) -> PathBuf {
            fs::canonicalize(self.0.path()).expect("exists").join(relative)
        }

        fn write(&self, relative: &str, text: &str) {
            fs::write(self.path(relative), text).expect("writes");
        }

        fn project_from(&self, here: &str) -> PathBuf {
            locate(&LocateInput { here: self.path(here), ..LocateInput::default() })
                .expect("locates")
                .place
                .project
        }

        fn linked_worktree() -> Self {
            let tree =
                Self::new(&["shop/.git/worktrees/fix", "shop/.twining", "shop/src", "fix/src"]);
            tree.write(
                "fix/.git",
                &format!("gitdir: {}\n", tree.path("shop/.git/worktrees/fix").display()),
            );
            tree.write("shop/.git/worktrees/fix/commondir", "../..\n");
            tree
        }
    }

    #[test]
    fn the_nearest_memory_wins_over_the_git_top_level() {
        let tree = Tree::new(&["shop/.git", "shop/app/.twining", "shop/app/src", "shop/lib"]);
        assert_eq!(tree.project_from("shop/app/src"), tree.path("shop/app"));
        assert_eq!(tree.project_from("shop/lib"), tree.path("shop"));
    }

    #[test]
    fn a_repository_does_not_write_into_the_memory_of_the_one_around_it() {
        let tree = Tree::new(&["shop/.git", "shop/.twining", "shop/vendor/tool/.git"]);
        assert_eq!(tree.project_from("shop/vendor/tool"), tree.path("shop/vendor/tool"));
    }

    #[test]
    fn without_git_or_memory_the_project_is_here() {
        let tree = Tree::new(&["loose"]);
        assert_eq!(tree.project_from("loose"), tree.path("loose"));
    }

    #[test]
    fn what_is_given_wins_over_the_environment() {
        let tree = Tree::new(&["a/.twining", "b", "c"]);
        let clues = LocateInput {
            given: Some("../b".into()),
            environment: Some(tree.path("c")),
            here: tree.path("a"),
            called: None,
        };
        assert_eq!(locate(&clues).expect("locates").place.project, tree.path("b"));
        let clues = LocateInput { given: None, ..clues };
        assert_eq!(locate(&clues).expect("locates").place.project, tree.path("c"));
    }

    #[test]
    fn a_linked_worktree_shares_the_main_ones_memory() {
        let tree = Tree::linked_worktree();
        let located = locate(&LocateInput { here: tree.path("fix"), ..LocateInput::default() })
            .expect("locates");
        assert_eq!(located.place.project, tree.path("shop"));
        assert_eq!(located.place.aliases, [tree.path("fix")]);
        assert_eq!(located.place.git_dir, Some(tree.path("shop/.git")));
        assert_eq!(located.checkout, tree.path("fix"));
    }

    #[cfg(unix)]
    #[test]
    fn a_project_is_known_by_the_link_one_came_through() {
        let tree = Tree::new(&["shop/.twining", "shop/src/api", "elsewhere"]);
        std::os::unix::fs::symlink(tree.path("shop"), tree.path("link")).expect("links");
        std::os::unix::fs::symlink(tree.path("shop/src/api"), tree.path("deep")).expect("links");
        let aliases = |called: &str| {
            let clues = LocateInput {
                here: tree.path("shop/src/api"),
                called: Some(tree.path(called)),
                ..LocateInput::default()
            };
            locate(&clues).expect("locates").place.aliases
        };
        assert_eq!(aliases("link/src/api"), [tree.path("link")]);
        each(["deep", "elsewhere", "gone", "shop/src/api"], |says_nothing| {
            assert!(aliases(says_nothing).is_empty(), "{says_nothing}");
        });
    }

    #[test]
    fn separate_worktrees_stay_apart() {
        let tree = Tree::linked_worktree();
        tree.write("shop/.twining/config.yml", "version: 1\nworktrees: separate\n");
        assert_eq!(tree.project_from("fix/src"), tree.path("fix"));
    }

    #[test]
    fn a_missing_project_is_an_error_that_names_it() {
        let tree = Tree::new(&["a"]);
        let clues = LocateInput {
            given: Some("nowhere".into()),
            here: tree.path("a"),
            ..LocateInput::default()
        };
        let error = locate(&clues).expect_err("there is none");
        assert!(error.to_string().contains("nowhere"));
        assert!(error.is_missing());
    }
}
