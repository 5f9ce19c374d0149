//! The folder: which names it has, and how it is made.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use twining_model::scope::CaseFolding;

use crate::disk::{Dir, FileKind, Fingerprint, Probe};
use crate::error::StoreError;

/// The folder itself.
pub(crate) const FOLDER: &str = ".twining";
/// What git does not track: lock, rings, journal, index.
pub(crate) const LOCAL: &str = "local";
/// One JSON line an entry.
pub(crate) const BOARD: &str = "blackboard.jsonl";
/// Settings.
pub(crate) const CONFIG: &str = "config.yml";
/// One file a decision.
pub(crate) const DECISIONS: &str = "decisions";
/// The list of decisions, derived; for `jq` and the TypeScript server.
pub(crate) const DECISION_INDEX: &str = "index.json";
/// Entities and relations.
pub(crate) const GRAPH: &str = "graph";
/// The lock file of writers, in `local/`.
pub(crate) const WRITE_LOCK: &str = "lock";
/// Roles, gates, modes and guards.
pub(crate) const POLICY: &str = "policy.yml";
/// One file a turn, in a folder per task in a folder per feature.
pub(crate) const TURNS: &str = "turns";
/// What rules stopped and people put right, one JSON line each.
pub(crate) const TRACES: &str = "traces.jsonl";
/// Which code records speak of, one JSON line each.
pub(crate) const ANCHORS: &str = "anchors.jsonl";
/// What is to be built, and how far it is.
pub(crate) const FEATURES: &str = "features.json";
/// Who is there.
pub(crate) const AGENTS: &str = "agents";
/// Who holds what, in `local/`.
pub(crate) const CLAIMS: &str = "claims.json";
/// One file a handoff.
pub(crate) const HANDOFFS: &str = "handoffs";
/// Entries that were moved off the board.
pub(crate) const ARCHIVE: &str = "archive";

const DEFAULT_CONFIG: &str = "\
# Settings of Twining for this project. Every key may be left out.
version: 1
project_name: \"\"            # empty: the name of the directory
embedding_model: \"all-MiniLM-L6-v2\"
archive:
  auto_archive_on_commit: true
  auto_archive_on_context_switch: true
  max_blackboard_entries_before_archive: 500
context_assembly:
  default_max_tokens: 4000
  priority_weights:
    recency: 0.3
    relevance: 0.4
    decision_confidence: 0.2
    warning_boost: 0.1
conflict_resolution: \"human\"
";

const IGNORE: &str = "\
local/
archive/
embeddings/*.index
models/
metrics.jsonl
pending-*.jsonl
";

// Without our merge driver git unites both sides line by line; the comma in
// front of each element is what makes that valid JSON.
const ATTRIBUTES: &str = "\
blackboard.jsonl merge=union -text
traces.jsonl merge=union -text
anchors.jsonl merge=union -text
decisions/index.json merge=union -text
graph/*.json merge=union -text
agents/*.json merge=union -text
handoffs/index.jsonl merge=union -text
*.json -text
*.jsonl -text
*.dot -text
";

/// Files of a new folder, by name: settings and git configuration.
pub const DEFAULT_FILES: [(&str, &str); 3] =
    [(CONFIG, DEFAULT_CONFIG), (".gitignore", IGNORE), (".gitattributes", ATTRIBUTES)];

/// Where a project is.
#[derive(Clone, Debug, Default)]
pub struct StoreLocation {
    /// The folder that holds, or will hold, `.twining`.
    pub project: PathBuf,
    /// Other paths by which agents may call the project.
    pub aliases: Vec<PathBuf>,
    /// The repository's git directory, if there is one.
    pub git_dir: Option<PathBuf>,
    /// Where to keep what belongs into `local/` if that cannot be written: a
    /// checkout of somebody else's can then still be read.
    pub scratch: Option<PathBuf>,
    /// Whether the folder can be made again from a log: then nothing in it has to survive a
    /// power cut, and no git takes anything away.
    pub is_cache: bool,
}

/// The open folder.
#[derive(Clone, Debug)]
pub struct Layout {
    /// `.twining`.
    pub top: Dir,
    /// `.twining/local`.
    pub local: Dir,
    /// `.twining/decisions`.
    pub decisions: Dir,
    /// `.twining/graph`.
    pub graph: Dir,
    /// The scratch folder that replaces what cannot be written.
    pub scratch_dir: Option<Arc<ScratchDir>>,
}

/// A folder of our own for a memory we may only read; gone when nobody uses it.
#[derive(Debug)]
pub struct ScratchDir {
    scratch: Dir,
    name: String,
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        // What stays is swept by the system with the rest of its temporary files.
        drop(self.scratch.remove_tree(&self.name));
    }
}

impl Layout {
    /// Opens the folder if there is one, making what is missing inside it that
    /// only we need.
    pub fn open(
        location: &StoreLocation,
        probe: Option<Arc<dyn Probe>>,
    ) -> Result<Option<Self>, StoreError> {
        let project = Dir::project(&location.project, probe.clone())?;
        let Some(top) = project.open_dir(FOLDER)? else { return Ok(None) };
        match (Self::open_inside(top.clone()), &location.scratch) {
            (Err(error), Some(scratch)) if error.is_forbidden() => {
                Self::open_read_only(top, &Dir::project(scratch, probe)?).map(Some)
            }
            (opened, _) => opened.map(Some),
        }
    }

    /// Opens the folder, making it with its default files if there is none.
    pub fn make(project: &Path, probe: Option<Arc<dyn Probe>>) -> Result<Self, StoreError> {
        let project = Dir::project(project, probe)?;
        let fresh = project.open_dir(FOLDER)?.is_none();
        let top = project.make_dir(FOLDER)?;
        if fresh {
            for (name, text) in DEFAULT_FILES {
                create_if_missing(&top, name, text)?;
            }
        }
        let layout = Self::open_inside(top)?;
        // Also in a folder that exists: the TypeScript server fails for good when one of these is missing.
        create_if_missing(&layout.top, BOARD, "")?;
        layout.new_array(&layout.decisions, DECISION_INDEX)?;
        layout.new_array(&layout.graph, "entities.json")?;
        layout.new_array(&layout.graph, "relations.json")?;
        Ok(layout)
    }

    /// An array without elements, if there is none. In one step: an empty file is no array,
    /// and would be left alone until a person has looked at it.
    fn new_array(&self, dir: &Dir, name: &str) -> Result<(), StoreError> {
        if dir.stat(name)?.is_some() {
            return Ok(());
        }
        let (mut staged, _) = self.stage(dir, b"[\n]\n", false)?;
        staged.is_published = self.local.rename_new(&staged.temp, dir, name)?;
        Ok(())
    }

    fn open_inside(top: Dir) -> Result<Self, StoreError> {
        let local = top.make_dir(LOCAL)?;
        // Ignores itself: a folder made by another program has no line for us in its .gitignore.
        create_if_missing(&local, ".gitignore", "*\n")?;
        // Not made yet, or not ours to write: found out here, where there is another way.
        drop(local.create_random_access(crate::disk::layout::WRITE_LOCK)?);
        let decisions = top.make_dir(DECISIONS)?;
        let graph = top.make_dir(GRAPH)?;
        Ok(Self { top, local, decisions, graph, scratch_dir: None })
    }

    /// The same, with the folders that git took away made again.
    pub fn with_folders_recreated(&self) -> Result<Self, StoreError> {
        Ok(Self {
            decisions: self.top.make_dir(DECISIONS)?,
            graph: self.top.make_dir(GRAPH)?,
            ..self.clone()
        })
    }

    /// A folder we may only read, with everything of our own elsewhere.
    fn open_read_only(top: Dir, scratch: &Dir) -> Result<Self, StoreError> {
        let name = format!("twining-{:032x}", random_bits()?);
        let ours = scratch.make_dir(&name)?;
        let scratch_dir = Arc::new(ScratchDir { scratch: scratch.clone(), name });
        let local = ours.make_dir(LOCAL)?;
        let or_empty = |name: &str| top.open_dir(name)?.map_or_else(|| ours.make_dir(name), Ok);
        let (decisions, graph) = (or_empty(DECISIONS)?, or_empty(GRAPH)?);
        Ok(Self { top, local, decisions, graph, scratch_dir: Some(scratch_dir) })
    }

    /// Whether the volume takes `A` and `a` for one name.
    pub fn folding(&self) -> CaseFolding {
        let is_found = matches!(self.local.stat(".GITIGNORE"), Ok(Some((FileKind::File, _))));
        if is_found { CaseFolding::IgnoreCase } else { CaseFolding::Exact }
    }

    /// Replaces a file in one step: readers see the old bytes or the new.
    pub fn replace(
        &self,
        dir: &Dir,
        name: &str,
        bytes: &[u8],
        durable: bool,
    ) -> Result<(), StoreError> {
        self.stage(dir, bytes, durable)?.0.publish(dir, name)
    }

    /// Writes bytes to a temporary file in `local/`, to be put in place later, and returns its
    /// state there. The name cannot be guessed, and no existing file is opened.
    pub fn stage(
        &self,
        dir: &Dir,
        bytes: &[u8],
        durable: bool,
    ) -> Result<(StagedFile, Fingerprint), StoreError> {
        let temp = format!("tmp-{:032x}", random_bits()?);
        let made = self.local.create_new(&temp, dir)?;
        let handle = made.ok_or_else(|| StoreError::Damaged {
            what: format!("temporary file `{temp}` already exists"),
        })?;
        let staged = StagedFile { local: self.local.clone(), temp, is_published: false };
        for chunk in bytes.chunks(if durable { FLUSH_CHUNK } else { usize::MAX }) {
            handle.write(chunk)?;
            if durable {
                handle.sync()?;
            }
        }
        Ok((staged, handle.fingerprint()?))
    }

    /// Replaces a file in one step and does not wait for the device, as a plain rename over
    /// another file would. Until the new one is flushed, the old one is kept beside it: a
    /// power cut may leave nothing of the new.
    pub fn replace_keeping_backup(
        &self,
        dir: &Dir,
        name: &str,
        bytes: &[u8],
    ) -> Result<Fingerprint, StoreError> {
        let (mut staged, print) = self.stage(dir, bytes, false)?;
        let backup = backup_name(name);
        if dir.stat(name)?.is_none() || !self.local.exchange(&staged.temp, dir, name)? {
            staged.publish(dir, name)?;
        } else if self.local.stat(&backup)?.is_none() {
            self.local.rename(&staged.temp, &self.local, &backup)?;
            staged.is_published = true;
        }
        Ok(print)
    }

    /// Restores the previous content of `name` if a power cut left nothing valid there.
    pub fn restore_backup(
        &self,
        dir: &Dir,
        name: &str,
        is_sound: impl Fn(&[u8]) -> bool,
    ) -> Result<(), StoreError> {
        let backup = backup_name(name);
        if self.local.stat(&backup)?.is_none() {
            return Ok(());
        }
        let bytes = dir.read(name, ARRAY_BYTES)?;
        if bytes.is_some_and(|bytes| is_sound(&bytes)) {
            self.remove_backup(name)
        } else {
            self.local.rename(&backup, dir, name)
        }
    }

    /// The new version is on the device: the old one may go.
    pub fn remove_backup(&self, name: &str) -> Result<(), StoreError> {
        self.local.remove(&backup_name(name)).map(drop)
    }

    /// Removes temporary files that killed processes left behind.
    pub fn remove_stale_temp_files(&self, older_than_ns: i64) -> Result<(), StoreError> {
        for name in self.local.list()? {
            if name.starts_with("tmp-")
                && self.local.print(&name)?.is_some_and(|print| print.mtime_ns < older_than_ns)
            {
                self.local.remove(&name)?;
            }
        }
        Ok(())
    }
}

/// An array may grow to this many bytes before we refuse to read it whole.
pub(crate) const ARRAY_BYTES: usize = 512 * 1024 * 1024;

/// A large file is flushed in chunks: a concurrent flush of a line waits for one chunk, not all of
/// them.
const FLUSH_CHUNK: usize = 1024 * 1024;

/// Bytes on disk that no reader knows yet; removed again unless put in place.
pub struct StagedFile {
    local: Dir,
    temp: String,
    is_published: bool,
}

impl StagedFile {
    /// Gives the bytes their name.
    pub fn publish(mut self, dir: &Dir, name: &str) -> Result<(), StoreError> {
        self.local.rename(&self.temp, dir, name)?;
        self.is_published = true;
        Ok(())
    }
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        if !self.is_published {
            // Whatever failed before this is what gets reported; `sweep` comes by later.
            drop(self.local.remove(&self.temp));
        }
    }
}

fn backup_name(name: &str) -> String {
    format!("unflushed-{name}")
}

fn create_if_missing(dir: &Dir, name: &str, text: &str) -> Result<(), StoreError> {
    if dir.print(name)?.is_some() {
        return Ok(());
    }
    dir.create_new(name, dir)?.map_or(Ok(()), |handle| handle.write(text.as_bytes()))
}

/// Random bits for names; not for records, whose ids come from the `IdSource`.
pub(crate) fn random_bits() -> Result<u128, StoreError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|e| StoreError::Damaged {
        what: format!("the system returned no random bytes: {e}"),
    })?;
    Ok(u128::from_le_bytes(bytes))
}
