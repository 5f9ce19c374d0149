//! Repairs what git leaves where no merge driver is installed: both sides of a merge between
//! markers, in the board, in an array, in a decision, in the feature list or in the graph.
//!
//! Readers handle such files at once. Here they are rewritten in the background, so that other
//! programs and the next commit find them intact.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::PoisonError;

use memchr::memmem;
use twining_model::{Change, Id, TextFile, Time};

use super::checkpoint::ARRAYS;
use super::documents::{Documents, REGISTRY};
use super::file_writes::FileWrite;
use super::project_store::{Durability, Store};
use super::store_handle::OpenStore;
use crate::disk::Dir;
use crate::disk::layout::{AGENTS, ANCHORS, ARRAY_BYTES, BOARD, DECISIONS, FOLDER, Layout};
use crate::error::StoreError;
use crate::format::array;
use crate::git::Git;
use crate::log::lock::{LockGuard, LockState};
use crate::merge::{
    DECISION, HAS_CONFLICT_MARKERS, MergeFunctions, has_markers, is_marker, resolve_conflict,
};

/// The most of a board that is rewritten in memory.
const BOARD_BYTES: usize = 1024 * 1024 * 1024;

/// Rewrites the files that the index found in this state. Does nothing while git or another writer
/// is active; the next call checks again.
pub(super) fn repair_after_git(store: &OpenStore, now: Time) -> Result<(), StoreError> {
    let files = store.with_view::<Vec<String>, StoreError>(now, |view| {
        // What nobody can make out from a decision's text alone may still be made out with git's help.
        let is_torn = |file: &str| {
            let bytes = decision_of(file).and_then(|id| store.files.decision(&id).ok().flatten());
            bytes.is_some_and(|(_, bytes)| has_markers(&bytes))
        };
        let conflicted = view
            .unreadable()?
            .into_iter()
            .filter(|bad| bad.why == HAS_CONFLICT_MARKERS || is_torn(&bad.file));
        Ok(conflicted.map(|bad| bad.file).collect())
    })?;
    if files.is_empty() || store.board.git_is_busy() {
        return Ok(());
    }
    let Some(guard) = store.lock.try_acquire()? else { return Ok(()) };
    for id in files.iter().filter_map(|file| decision_of(file)) {
        let Some((_, bytes)) = store.files.decision(&id)?.filter(|(_, bytes)| has_markers(bytes))
        else {
            continue;
        };
        let (project, file) = (&store.board.project, format!("{FOLDER}/{DECISIONS}/{id}.json"));
        let is_it =
            |whole: &Vec<u8>| array::id_of(&String::from_utf8_lossy(whole)) == Some(id.to_string());
        // What git merged is known; lines that no commit has may be anybody's, between whatever markers.
        let known = Git::at(project).merged_versions(&file, &bytes).merge_all(&bytes, &DECISION);
        if let Some(whole) =
            known.filter(is_it).or_else(|| resolve_conflict(&bytes, &DECISION).filter(is_it))
        {
            FileWrite::decision(&id, whole)?.apply_to(store, false)?;
        }
    }
    // The list of decisions is derived and no part of the index: it is looked at where another file was left so.
    for which in ARRAYS {
        repair_array(&store.layout, which.dir(&store.layout), which.name())?;
    }
    if files.iter().any(|file| file == BOARD) {
        repair_board(store, &guard)?;
    }
    if files.iter().any(|file| file == ANCHORS)
        && let Some(bytes) = store.layout.top.read(ANCHORS, BOARD_BYTES)?
    {
        store.layout.replace(&store.layout.top, ANCHORS, &without_markers(&bytes), true)?;
    }
    drop(guard);
    store.catch_up()
}

/// How files are made one whose meaning is not this crate's business.
#[derive(Clone, Copy, Debug)]
pub struct FileMergers {
    /// For a feature list.
    pub features: MergeFunctions,
    /// For the knowledge graph.
    pub knowledge: MergeFunctions,
}

/// What git left in a file, made one. Line by line git may have put what one branch
/// wrote into a record of another, outside of every conflict: the versions that were
/// merged are asked for first, the text only where they are not to be had. None where
/// nothing can be made out, or people must settle it.
pub(crate) fn merge_sides(
    project: &Path,
    file: &str,
    text: &[u8],
    joining: &MergeFunctions,
) -> Option<Vec<u8>> {
    Git::at(project)
        .merged_versions(file, text)
        .merge_all(text, joining)
        .or_else(|| resolve_conflict(text, joining))
}

impl Store {
    /// From now on feature lists and graphs are put right too.
    pub fn set_mergers(&self, mergers: FileMergers) {
        // The first caller's are the same.
        let _ = self.mergers.set(mergers);
    }

    /// Looks once for each time that git wrote its index.
    pub(crate) fn repair_with_mergers(&self, store: &OpenStore) -> Result<(), StoreError> {
        let (Some(mergers), Some(print)) = (self.mergers.get(), store.board.git_index()) else {
            return Ok(());
        };
        if store.board.git_is_busy()
            || self.last_git_index.lock().unwrap_or_else(PoisonError::into_inner).replace(print)
                == Some(print)
        {
            return Ok(());
        }
        if let Some(agents) = store.layout.top.open_dir(AGENTS)?
            && let Some(_guard) = store.lock.try_acquire()?
        {
            repair_array(&store.layout, &agents, REGISTRY)?;
        }
        let graph = self.documents().knowledge()?;
        let conflicted = graph.bytes.as_deref().filter(|bytes| has_markers(bytes));
        if let Some(whole) = conflicted.and_then(|bytes| {
            merge_sides(&self.location().project, &graph.path, bytes, &mergers.knowledge)
        }) {
            // Somebody may have edited it meanwhile.
            let whole = String::from_utf8(whole).ok();
            self.transact_on(Durability::Strict, Documents::knowledge, |file| {
                let text = whole.clone().filter(|_| file.bytes == graph.bytes);
                Ok::<_, StoreError>((Change::of_document(&file.path, text), ()))
            })?;
        }
        let feature_file = self.documents().features()?;
        if feature_file.is_merged {
            self.transact_on(Durability::Strict, Documents::features, |now| {
                let list = match &now.file {
                    TextFile::Text(list) if now.is_merged && now.file == feature_file.file => {
                        Some(list.clone())
                    }
                    _ => None,
                };
                Ok::<_, StoreError>((Change::of_document(&now.path, list), ()))
            })?;
        }
        Ok(())
    }
}

/// Rewrites an array that contains both sides, each element once.
fn repair_array(layout: &Layout, dir: &Dir, name: &str) -> Result<(), StoreError> {
    let Some(bytes) = dir.read(name, ARRAY_BYTES)?.filter(|bytes| has_markers(bytes)) else {
        return Ok(());
    };
    let scanned = array::scan(&bytes);
    if !scanned.unreadable.is_empty() {
        return Ok(());
    }
    layout.replace(
        dir,
        name,
        array::splice(&scanned, &BTreeMap::new(), &HashSet::new()).as_bytes(),
        true,
    )
}

/// Takes git's markers off the board; every other line stays as it is.
fn repair_board(store: &OpenStore, guard: &LockGuard<'_>) -> Result<(), StoreError> {
    let Some(bytes) = store.layout.top.read(BOARD, BOARD_BYTES)? else { return Ok(()) };
    if memmem::find(&bytes, b"<<<<<<< ").is_none() {
        return Ok(());
    }
    let mut state = LockState::read(guard.file())?;
    let replaced = store.board.replace(&without_markers(&bytes), &HashSet::new(), &mut state);
    state.write(guard.file())?;
    replaced.map(drop)
}

fn without_markers(bytes: &[u8]) -> Vec<u8> {
    let lines = bytes
        .split_inclusive(|&byte| byte == b'\n')
        .filter(|line| !is_marker(line.trim_ascii_end()));
    lines.collect::<Vec<_>>().concat()
}

fn decision_of(file: &str) -> Option<Id> {
    Id::read(file.strip_prefix(DECISIONS)?.strip_prefix('/')?.strip_suffix(".json")?)
}
