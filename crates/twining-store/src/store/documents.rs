//! Files that are read whole and without the index: what plans are made on, and what hooks ask.

use std::path::{Path, PathBuf};

use twining_model::{Id, TextFile, limits};
use xxhash_rust::xxh3::xxh3_128;

use super::conflict_repair;
use super::line_file::machine_dir;
use super::project_store::Store;
use crate::disk::folder_watch::WatchScope;
use crate::disk::layout::{
    AGENTS, ANCHORS, CLAIMS, DECISIONS, FEATURES, FOLDER, HANDOFFS, LOCAL, Layout, POLICY,
};
use crate::disk::{Dir, FolderWatch};
use crate::error::StoreError;
use crate::format::array;
use crate::log::board::RotatingFile;
use crate::log::journal::JOURNAL;
use crate::merge::has_markers;

/// The files as they are now, read without the lock.
#[derive(Clone, Copy, Debug)]
pub struct Documents<'s>(pub(super) &'s Store);

/// Bytes of the board that are read on the first read or a reread.
const FIRST: u64 = 128 * 1024;

/// How far one has read.
#[derive(Clone, Copy, Debug, Default)]
pub struct BoardCursor {
    ino: u64,
    end: u64,
}

impl Store {
    /// The files that are read whole and without the index.
    #[must_use]
    pub fn documents(&self) -> Documents<'_> {
        Documents(self)
    }

    /// Watches for changes of the memory and of files outside the project, from now on. Creates
    /// nothing.
    #[must_use]
    pub fn watch(&self, outside_files: Vec<PathBuf>) -> FolderWatch {
        let location = self.location();
        let mut project_files: Vec<String> = OTHER_LIST_PATHS.map(str::to_owned).to_vec();
        project_files.push(maestro_knowledge_path());
        project_files.extend(self.config().map(|config| config.knowledge.path));
        FolderWatch::begin(WatchScope {
            project: location.project.clone(),
            git_dir: location.git_dir.clone(),
            local_files: vec![CLAIMS, PRESENCE, JOURNAL],
            machine_files: vec![RUNS.name],
            project_files,
            outside_files,
        })
    }
}

impl Documents<'_> {
    /// Whether there are anchors at all. Opens no index.
    pub fn has_anchors(&self) -> Result<bool, StoreError> {
        let Some(store) = self.0.open_for_reading()? else { return Ok(false) };
        Ok(store.layout.top.stat(ANCHORS)?.is_some_and(|(_, print)| print.size > 0))
    }

    /// Reads the project's policy. Errors elsewhere in the folder are reported where they matter;
    /// rules apply regardless.
    pub fn policy(&self) -> Result<TextFile, StoreError> {
        let top =
            Dir::project(&self.0.location().project, self.0.probe.clone())?.open_dir(FOLDER)?;
        top.map_or(Ok(TextFile::Missing), |top| read_text(&top, POLICY, limits::POLICY_BYTES))
    }

    /// The whole lines that came to the board since `tail`, and whether they are
    /// not its continuation: at first, and after git put another file in its place.
    pub fn read_new_lines(&self, tail: &mut BoardCursor) -> Result<(Vec<u8>, bool), StoreError> {
        let Some(store) = self.0.open_for_reading()? else { return Ok((Vec::new(), true)) };
        let Some(board) = store.files.board()? else { return Ok((Vec::new(), true)) };
        let print = board.print;
        let is_reset = print.ino != tail.ino || print.size < tail.end;
        let start = if is_reset {
            print.size.saturating_sub(FIRST)
        } else {
            tail.end.max(print.size.saturating_sub(FIRST))
        };
        let mut bytes = vec![0; usize::try_from(print.size - start).unwrap_or(0)];
        let read = board.handle.read_at(&mut bytes, start)?;
        bytes.truncate(read);
        // A line that is not finished is read when it is.
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        bytes.truncate(whole);
        *tail = BoardCursor { ino: print.ino, end: start + whole as u64 };
        Ok((bytes, is_reset))
    }
}

/// The project's policy, from its folder.
#[must_use]
pub fn policy_path() -> String {
    format!("{FOLDER}/{POLICY}")
}

/// Reads a text. An unusable file is not an error: the reason is returned.
pub(super) fn read_text(dir: &Dir, name: &str, max_bytes: usize) -> Result<TextFile, StoreError> {
    match dir.read(name, max_bytes) {
        Ok(Some(bytes)) => Ok(String::from_utf8(bytes)
            .map_or_else(|_| TextFile::Unusable("it is not UTF-8".to_owned()), TextFile::Text)),
        Ok(None) => Ok(TextFile::Missing),
        Err(error @ (StoreError::Unsafe { .. } | StoreError::Damaged { .. })) => {
            Ok(TextFile::Unusable(error.to_string()))
        }
        Err(error) => Err(error),
    }
}

pub(crate) const REGISTRY: &str = "registry.json";
pub(crate) const PRESENCE: &str = "presence.json";
/// One line a handoff, derived; for the TypeScript server.
pub(crate) const HANDOFF_INDEX: &str = "index.jsonl";

/// What is known of agents, as it is now.
#[derive(Default)]
pub struct AgentFiles {
    registry: Option<Vec<u8>>,
    /// When agents last called, as JSON.
    pub presence: Option<Vec<u8>>,
    /// Who holds what, as JSON.
    pub claims: Option<Vec<u8>>,
    handoffs: Option<Dir>,
}

impl AgentFiles {
    /// The registry's elements, and what in it could not be read.
    #[must_use]
    pub fn registered(&self) -> array::ScannedArray<'_> {
        self.registry.as_deref().map_or_else(|| array::scan(array::EMPTY_ARRAY), array::scan)
    }

    /// The ids of the newest handoffs, newest first.
    pub fn handoff_ids(&self) -> Result<Vec<Id>, StoreError> {
        let Some(dir) = &self.handoffs else { return Ok(Vec::new()) };
        let names = dir.list()?;
        let ids =
            names.iter().rev().filter_map(|name| name.strip_suffix(".json").and_then(Id::read));
        Ok(ids.take(limits::HANDOFFS).collect())
    }

    /// A handoff's bytes, if it is there.
    pub fn handoff(&self, id: &Id) -> Result<Option<Vec<u8>>, StoreError> {
        self.handoffs
            .as_ref()
            .map_or(Ok(None), |dir| dir.read(&format!("{id}.json"), limits::RECORD_BYTES))
    }

    pub(crate) fn open(layout: &Layout) -> Result<Self, StoreError> {
        let registry = layout
            .top
            .open_dir(AGENTS)?
            .map_or(Ok(None), |dir| dir.read(REGISTRY, limits::AGENTS_BYTES))?;
        let [presence, claims] =
            [PRESENCE, CLAIMS].map(|name| layout.local.read(name, limits::AGENTS_BYTES));
        Ok(Self {
            registry,
            presence: presence?,
            claims: claims?,
            handoffs: layout.top.open_dir(HANDOFFS)?,
        })
    }
}

impl Documents<'_> {
    /// What is known of agents.
    pub fn agents(&self) -> Result<AgentFiles, StoreError> {
        self.0
            .open_for_reading()?
            .map_or_else(|| Ok(AgentFiles::default()), |store| AgentFiles::open(&store.layout))
    }

    /// Who holds what, as JSON, without the rest.
    pub fn claims(&self) -> Result<Option<Vec<u8>>, StoreError> {
        self.0
            .open_for_reading()?
            .map_or(Ok(None), |store| store.layout.local.read(CLAIMS, limits::AGENTS_BYTES))
    }

    /// When agents last called, as JSON, without the rest.
    pub fn presence(&self) -> Result<Option<Vec<u8>>, StoreError> {
        self.0
            .open_for_reading()?
            .map_or(Ok(None), |store| store.layout.local.read(PRESENCE, limits::AGENTS_BYTES))
    }
}

/// The path of the claims, for code enforcing them.
#[must_use]
pub fn claims_path() -> String {
    format!("{FOLDER}/{LOCAL}/{CLAIMS}")
}

/// Where other tools keep their list, the likeliest first.
const OTHER_LIST_PATHS: [&str; 4] = [
    ".claude/progress/feature-list.json",
    ".claude/progress/feature_list.json",
    "feature-list.json",
    "feature_list.json",
];
/// Runs and reports, one JSON line each; of this machine only, so they lie in the
/// folder that no clone can bring.
pub(crate) const RUNS: RotatingFile =
    RotatingFile { name: "runs.jsonl", previous: "runs.old.jsonl", max_bytes: FULL as u64 };
/// Two files that are full and have got one more take no more than is kept.
const FULL: usize = limits::RUNS_BYTES / 2 - limits::RUN_BYTES;

/// The list and the memory of runs, as they are now.
#[derive(Clone, Debug)]
pub struct FeatureListFile {
    /// Where the list is, or would be, relative to the project.
    pub path: String,
    /// The list.
    pub file: TextFile,
    /// Whether git left both sides of a merge in the file, and this is what they are together.
    pub is_merged: bool,
    /// A second list that is not used.
    pub unused: Option<String>,
    /// Lines about runs, oldest first.
    pub runs: String,
}

impl Documents<'_> {
    /// Reads the list.
    pub fn features(&self) -> Result<FeatureListFile, StoreError> {
        let project = Dir::project(&self.0.location().project, None)?;
        let mut found = Vec::new();
        for path in feature_list_paths() {
            let file = read_list(&project, &path)?;
            found.extend((file != TextFile::Missing).then_some((path, file)));
        }
        let mut found = found.into_iter();
        let (path, file) = found.next().unwrap_or((own_path(), TextFile::Missing));
        let (file, is_merged) = self.is_merged(&path, file);
        Ok(FeatureListFile {
            path,
            file,
            is_merged,
            unused: found.next().map(|(path, _)| path),
            runs: self.runs()?,
        })
    }

    /// The newest lines about runs, as many as are kept, oldest first.
    pub fn runs(&self) -> Result<String, StoreError> {
        let Some(store) = self.0.open_for_reading()? else { return Ok(String::new()) };
        let bytes = RUNS.read(&machine_dir(&store.layout)?)?;
        // A killed writer leaves a torn line.
        let whole = String::from_utf8_lossy(&bytes);
        Ok(whole
            .lines()
            .filter(|line| line.starts_with('{') && line.ends_with('}'))
            .map(|line| format!("{line}\n"))
            .collect())
    }

    /// The list as one, where git left both sides of a merge in it.
    fn is_merged(&self, path: &str, file: TextFile) -> (TextFile, bool) {
        let left = match &file {
            TextFile::Text(text) if has_markers(text.as_bytes()) => text,
            _ => return (file, false),
        };
        let joining = self.0.mergers.get().map(|mergers| &mergers.features);
        let whole = joining.and_then(|joining| {
            conflict_repair::merge_sides(&self.0.location().project, path, left.as_bytes(), joining)
        });
        match whole.and_then(|whole| String::from_utf8(whole).ok()) {
            Some(whole) => (TextFile::Text(whole), true),
            None => (file, false),
        }
    }
}

/// Where a feature list may be, relative to the project, the likeliest first.
#[must_use]
pub fn feature_list_paths() -> Vec<String> {
    std::iter::once(own_path()).chain(OTHER_LIST_PATHS.map(str::to_owned)).collect()
}

fn own_path() -> String {
    format!("{FOLDER}/{FEATURES}")
}

fn read_list(project: &Dir, path: &str) -> Result<TextFile, StoreError> {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    match project.walk(folders.split_terminator('/')) {
        Ok(Some(dir)) => read_text(&dir, name, limits::FEATURES_BYTES),
        // A link in another tool's folder is that tool's business; we follow none and write through none.
        Ok(None) | Err(StoreError::Unsafe { .. }) => Ok(TextFile::Missing),
        Err(error) => Err(error),
    }
}

/// Its name in `.twining` and in `.maestro`.
const NAME: &str = "knowledge.dot";
/// Where another program keeps the same kind of file.
const MAESTRO_FOLDER: &str = ".maestro";
/// How a DOT file is called.
const ENDINGS: [&str; 2] = [".dot", ".gv"];

/// The knowledge file as it was when it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnowledgeFile {
    /// Relative to the project.
    pub path: String,
    /// What it holds; none if it is not there.
    pub bytes: Option<Vec<u8>>,
    /// A file in the other usual place, which is not read.
    pub ignored_path: Option<String>,
}

impl KnowledgeFile {
    /// Returns a digest of its content.
    #[must_use]
    pub fn digest(&self) -> u128 {
        xxh3_128(self.bytes.as_deref().unwrap_or_default())
    }
}

/// A state of decisions and knowledge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BindingFingerprint {
    /// When a decision last came, went or was replaced, in nanoseconds since 1970.
    pub decisions: i64,
    /// What the knowledge file holds, in short.
    pub knowledge: String,
}

impl Documents<'_> {
    /// Returns a fingerprint that shows whether decisions or knowledge may have changed, without
    /// reading them: the folder's state and the file's. `None` where neither exists.
    pub fn binding_state(&self) -> Result<Option<BindingFingerprint>, StoreError> {
        let Some(store) = self.0.open_for_reading()? else { return Ok(None) };
        let decisions =
            store.layout.top.print(DECISIONS)?.map(|print| print.mtime_ns).unwrap_or_default();
        Ok(Some(BindingFingerprint {
            decisions,
            knowledge: format!("{:032x}", self.knowledge()?.digest()),
        }))
    }

    /// Reads the knowledge file, wherever it is.
    pub fn knowledge(&self) -> Result<KnowledgeFile, StoreError> {
        self.knowledge_in(&self.0.location().project)
    }

    /// Reads the version of it that a working tree of the project has.
    pub fn knowledge_in(&self, tree: &Path) -> Result<KnowledgeFile, StoreError> {
        let tree = Dir::project(tree, self.0.probe.clone())?;
        let chosen = self.0.config()?.knowledge.path;
        let has_maestro_file = is_there(&tree, MAESTRO_FOLDER)?;
        let path = knowledge_path(&chosen, has_maestro_file)?;
        let both = chosen.trim().is_empty() && has_maestro_file && is_there(&tree, FOLDER)?;
        Ok(KnowledgeFile {
            bytes: read(&tree, &path)?,
            path,
            ignored_path: both.then(|| format!("{FOLDER}/{NAME}")),
        })
    }

    /// Reads another DOT file of a working tree of the project, by its relative path.
    pub fn dot_file(&self, tree: &Path, path: &str) -> Result<KnowledgeFile, StoreError> {
        let bytes = read(&Dir::project(tree, self.0.probe.clone())?, path)?;
        Ok(KnowledgeFile { path: path.to_owned(), bytes, ignored_path: None })
    }
}

/// Where another program keeps its file, relative to the project.
#[must_use]
pub fn maestro_knowledge_path() -> String {
    format!("{MAESTRO_FOLDER}/{NAME}")
}

/// Where the file is, by the path that `config.yml` names, or none, and whether
/// another program's is there.
pub fn knowledge_path(chosen: &str, has_maestro_file: bool) -> Result<String, StoreError> {
    let path = match chosen.trim().trim_start_matches("./") {
        "" => format!("{}/{NAME}", if has_maestro_file { MAESTRO_FOLDER } else { FOLDER }),
        path => path.to_owned(),
    };
    split_dot_path(&path)?;
    Ok(path)
}

fn is_there(project: &Dir, folder: &str) -> Result<bool, StoreError> {
    Ok(project.open_dir(folder)?.map_or(Ok(None), |dir| dir.print(NAME))?.is_some())
}

fn read(project: &Dir, path: &str) -> Result<Option<Vec<u8>>, StoreError> {
    let (folders, name) = split_dot_path(path)?;
    project.walk(folders)?.map_or(Ok(None), |dir| dir.read(name, limits::KNOWLEDGE_BYTES))
}

/// The folders of a path and its name, if it stays in the project and names a
/// DOT file that is not git's own.
pub(crate) fn split_dot_path(path: &str) -> Result<(Vec<&str>, &str), StoreError> {
    let refused =
        |what| Err(StoreError::Unsafe { path: twining_model::text::excerpt(path, 200), what });
    let mut names: Vec<&str> = path.split('/').collect();
    let plain = |name: &&str| {
        !name.is_empty() && *name != "." && *name != ".." && !name.chars().any(char::is_control)
    };
    if path.contains('\\') || !names.iter().all(plain) {
        return refused("a path outside the project");
    }
    if names.iter().any(|name| name.eq_ignore_ascii_case(".git")) {
        return refused("inside `.git`");
    }
    let name = names.pop().unwrap_or_default();
    if !ENDINGS.iter().any(|ending| name.ends_with(ending)) {
        return refused("not a `.dot` file");
    }
    Ok((names, name))
}

#[cfg(test)]
mod tests {
    use crate::store::documents::*;
    use twining_testcases::each;

    #[test]
    fn a_path_stays_in_the_project_and_names_a_dot_file() {
        each(
            [
                "../x.dot",
                "/etc/x.dot",
                "a//x.dot",
                "a/../../x.dot",
                ".git/x.dot",
                "a/.GIT/x.dot",
                "src/main.rs",
                "",
                "a\\..\\x.dot",
            ],
            |hostile| {
                assert!(
                    matches!(split_dot_path(hostile), Err(StoreError::Unsafe { .. })),
                    "{hostile}"
                );
            },
        );
        assert_eq!(split_dot_path("docs/known.gv").expect("is fine"), (vec!["docs"], "known.gv"));
    }
}
