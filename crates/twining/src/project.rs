//! The context a verb runs in: the project's engine, and the caller.

use std::io::IsTerminal;
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::ArgMatches;
use twining_engine::{Caller, Engine, UserPolicy};
use twining_model::{Authority, Channel, IdSource, InvalidInput, Origin, Trust};
#[cfg(feature = "service")]
use twining_store::StoreLocation;
use twining_store::git::{Git, GitFolders};
use twining_store::{LONG_WAL_BYTES, SHORT_WAL_BYTES, Store, StoreError};

use crate::locate_project::{LocateInput, ProjectLocation};
use crate::render::command_error::CommandError;
use crate::system_world::SystemWorld;
use crate::{embedding_model, locate_project, user_policy};

/// What a verb needs besides its input.
pub(crate) struct CommandContext<'a> {
    /// The project.
    pub project: &'a Project,
    /// Its memory.
    pub engine: &'a Engine,
    /// Who asks.
    pub caller: Caller,
    /// How certain it is that a person authorized it.
    pub authority: Authority,
    /// What git knows.
    pub history: &'a Git,
    /// The caller's working tree, which contains its reports.
    pub checkout: &'a Path,
    /// The command line, where the call came over one.
    pub flags: Option<&'a ArgMatches>,
}

impl CommandContext<'_> {
    /// The user's own policy, as it is now.
    pub(crate) fn user_policy(&self) -> UserPolicy {
        user_policy::read()
    }
}

/// No question waits longer for vectors, whatever the settings say.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// How long code that is not at its place is looked for after an answer.
const SEARCH_TIME: Duration = Duration::from_secs(2);

/// A project that is open.
pub(crate) struct Project {
    /// The memory.
    pub engine: Engine,
    /// What git knows.
    pub history: Git,
    /// Where it is.
    pub located: ProjectLocation,
    /// Git's own files of the caller's checkout.
    git_folders: Option<GitFolders>,
}

impl Project {
    /// Opens the project these settings lead to. Creates nothing.
    pub(crate) fn open(given: Option<PathBuf>) -> Result<Self, CommandError> {
        Ok(Self::at(find(given)?)?)
    }

    /// Opens the memory in a folder without a working tree: a node's copy of a team's memory.
    #[cfg(feature = "service")]
    pub(crate) fn served(folder: &Path) -> Result<Self, StoreError> {
        Self::without_tree(StoreLocation {
            project: folder.to_owned(),
            is_cache: true,
            ..StoreLocation::default()
        })
    }

    /// The same where the copy is to stay.
    #[cfg(feature = "service")]
    pub(crate) fn exported(folder: &Path) -> Result<Self, StoreError> {
        let project = folder.to_owned();
        Self::without_tree(StoreLocation { project, ..StoreLocation::default() })
    }

    #[cfg(feature = "service")]
    fn without_tree(place: StoreLocation) -> Result<Self, StoreError> {
        let checkout = place.project.clone();
        Self::at(ProjectLocation { place, checkout, main: None })
    }

    /// The same for a host that reports its agent's working directory, which applies if neither a
    /// flag nor the environment names a project.
    pub(crate) fn open_from(given: Option<PathBuf>, stands: &str) -> Result<Self, CommandError> {
        let mut clues = LocateInput::of_process(given)
            .map_err(|error| CommandError::of_error("NOT_FOUND", &error))?;
        if Path::new(stands).is_dir() {
            clues.here = PathBuf::from(stands);
        }
        let located = locate_project::locate(&clues)
            .map_err(|error| CommandError::of_error("NOT_FOUND", &error))?;
        Ok(Self::at(located)?)
    }

    /// Opens a memory of the past, whose code is that of a commit.
    pub(crate) fn at_commit(located: ProjectLocation, commit: String) -> Result<Self, StoreError> {
        let past = Self::at(located)?;
        let Self { engine, history, located, git_folders } = past;
        let engine = engine.with_code_of(&located.checkout, history.clone(), commit);
        Ok(Self { engine, history, located, git_folders })
    }

    fn at(located: ProjectLocation) -> Result<Self, StoreError> {
        let ids = Arc::new(IdSource::new(Box::new(SystemWorld)));
        let store = Store::open(located.place.clone(), ids)?;
        let history = Git::at(&located.checkout).with_index(index_of_commit());
        let engine = Engine::with_model(store, Box::new(embedding_model::load))
            .waiting_for_vectors(LONGEST_WAIT)
            .with_built_in_model(embedding_model::is_built_in());
        let engine = if located.place.git_dir.is_some() {
            engine.with_code(&located.checkout, history.clone())
        } else {
            engine
        };
        let git_folders =
            located.place.git_dir.as_ref().and_then(|_| GitFolders::of(&located.checkout));
        Ok(Self { engine, history, located, git_folders })
    }

    /// The caller, with what is checked out where it works.
    pub(crate) fn at_head(&self, mut caller: Caller) -> Caller {
        if let Some(git) = &self.git_folders {
            let here = git.head_position();
            (caller.origin.head, caller.origin.branch) = (here.commit, here.branch);
        }
        caller
    }

    /// Does what no write waits for. Nothing acknowledged depends on it: if it
    /// fails now, the next process does it.
    pub(crate) fn finish_writes(&self) {
        let store = self.engine.store();
        let _ = store.housekeep().and_then(|()| store.truncate_wal(SHORT_WAL_BYTES));
    }

    /// Leaves it as it is to a process that ends: the system closes what is open
    /// faster than we take it apart, and nothing was written that could be left half done.
    /// Only a log that a killed server left long is emptied: every process to come reads it.
    pub(crate) fn finish_reads(self) {
        self.search_moved_code();
        let _ = self.engine.store().truncate_wal(LONG_WAL_BYTES);
        // The scratch folder that replaces a read-only one is ours to remove.
        if !self.engine.store().uses_scratch_dir() {
            std::mem::forget(self);
        }
    }

    /// Looks for code that answers found missing, so that the next answer knows where it is. What
    /// fails is tried again by the next question.
    pub(crate) fn search_moved_code(&self) {
        let _ = self.engine.search_moved_code(Instant::now() + SEARCH_TIME);
    }

    /// Creates a context for `caller`.
    pub(crate) fn context(&self, caller: Caller, authority: Authority) -> CommandContext<'_> {
        CommandContext {
            project: self,
            engine: &self.engine,
            caller: self.at_head(caller),
            authority,
            history: &self.history,
            checkout: &self.located.checkout,
            flags: None,
        }
    }
}

/// The index git is committing from, as passed to this process. It is relative to the top of the
/// working tree, and a project may be below that.
fn index_of_commit() -> Option<PathBuf> {
    std::env::var_os("GIT_INDEX_FILE").and_then(|index| std::path::absolute(index).ok())
}

/// Finds the project these settings lead to, and opens nothing.
pub(crate) fn find(given: Option<PathBuf>) -> Result<ProjectLocation, CommandError> {
    let hint = "give an existing folder with --project or TWINING_PROJECT, or run inside one";
    let clues = LocateInput::of_process(given)
        .map_err(|error| CommandError::of_error("NOT_FOUND", &error).with_hint(hint))?;
    locate_project::locate(&clues).map_err(|error| {
        let code = if error.is_missing() { "NOT_FOUND" } else { "UNSAFE_PATH" };
        CommandError::of_error(code, &error).with_hint(hint)
    })
}

/// The caller at a command line. A person is one who types at a terminal; what
/// an agent pipes in, or types in a shell that comes from its host, is an agent's word.
pub(crate) fn caller_at_cli(agent: Option<String>) -> (Caller, Authority) {
    let is_person = std::io::stdin().is_terminal() && crate::person_check::agent_shell().is_none();
    let (trust, authority) = if is_person {
        (Trust::Human, Authority::Confirmed)
    } else {
        (Trust::Agent, Authority::Claimed)
    };
    let origin = Origin { session: session_of_host(), ..Origin::new(Channel::Cli, trust) };
    (Caller { agent: agent_name(agent), origin }, authority)
}

/// The caller behind an MCP connection.
pub(crate) fn caller_over_mcp(
    agent: Option<String>,
    client: Option<String>,
    session: String,
) -> Caller {
    let origin =
        Origin { client, session: Some(session), ..Origin::new(Channel::Mcp, Trust::Agent) };
    Caller { agent: agent_name(agent), origin }
}

/// The session of the host that started us, if it says.
pub(crate) fn session_of_host() -> Option<String> {
    std::env::var("CLAUDE_CODE_SESSION_ID").ok().filter(|session| !session.is_empty())
}

/// Rejects an empty name: a caller with an unset variable would sign as somebody else.
pub(crate) fn checked_agent(given: Option<String>) -> Result<Option<String>, CommandError> {
    match given {
        Some(name) if name.trim().is_empty() => {
            Err(CommandError::refused(&InvalidInput::new("agent", "must not be empty"))
                .with_hint("leave --agent out to sign as main"))
        }
        given => Ok(given),
    }
}

fn agent_name(given: Option<String>) -> String {
    let named = given.or_else(|| std::env::var("TWINING_AGENT").ok());
    named.filter(|name| !name.trim().is_empty()).unwrap_or_else(|| "main".to_owned())
}

/// How far up is looked.
const GENERATIONS: usize = 16;

/// The session of a server whose host names none: `id`, and the host's process.
pub(crate) fn session_named(id: &str) -> String {
    format!("{id}@{}", parent_id())
}

/// The processes we descend from, the nearest first.
pub(crate) fn parent_processes() -> Vec<u32> {
    let parent_of =
        |id: &u32| parent_in(&std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?);
    std::iter::successors(Some(parent_id()), parent_of).take(GENERATIONS).collect()
}

/// The parent in a line of `/proc/PID/stat`. The program's name is in brackets there, and may
/// contain anything.
fn parent_in(stat: &str) -> Option<u32> {
    let (_, fields) = stat.rsplit_once(") ")?;
    fields.split_whitespace().nth(1)?.parse().ok().filter(|parent| *parent > 0)
}

#[cfg(test)]
mod tests {
    use crate::project::*;

    #[test]
    fn a_program_of_any_name_has_a_parent() {
        assert_eq!(parent_in("812 (codex) S 811 811 0"), Some(811));
        assert_eq!(parent_in("812 (a) S 7 (b) R 40 811 0"), Some(40));
        assert_eq!(parent_in("1 (init) S 0 1 1"), None);
        assert_eq!(parent_in(""), None);
    }
}
