//! The files of a change that are replaced as a whole: registry, handoffs, turns,
//! documents, and what only this machine knows.
//!
//! A document's path may come from `config.yml`, which came with the repository: each is
//! walked name by name from the project's folder, follows no link, and is one of those
//! that a change may name.

use std::collections::HashSet;

use twining_model::{Change, HandoffFile, Id, Time, TurnFile, limits};

use super::documents;
use super::documents::Documents;
use super::documents::feature_list_paths;
use super::documents::{AgentFiles, HANDOFF_INDEX, PRESENCE, REGISTRY};
use super::store_handle::OpenStore;
use crate::disk::Dir;
use crate::disk::layout::{
    AGENTS, ARCHIVE, BOARD, CLAIMS, DECISIONS, FOLDER, HANDOFFS, LOCAL, Layout, POLICY, TURNS,
};
use crate::error::StoreError;
use crate::format::{array, torn_lines};

/// One file of a change: its path from the project's folder, and its bytes, or none if it goes.
#[derive(Clone, Debug)]
pub(crate) struct FileWrite {
    folders: Vec<String>,
    name: String,
    bytes: Option<Vec<u8>>,
}

impl FileWrite {
    fn new(
        folders: &[&str],
        name: &str,
        bytes: Option<Vec<u8>>,
        max_bytes: usize,
    ) -> Result<Self, StoreError> {
        // Names may come from a log that others write.
        let is_plain = |name: &&str| {
            !name.is_empty() && !name.contains(['/', '\0']) && ![".", ".."].contains(name)
        };
        if !folders.iter().chain([&name]).all(is_plain) {
            return Err(StoreError::Unsafe {
                path: folders.join("/"),
                what: "a path outside the project",
            });
        }
        let size = bytes.as_ref().map_or(0, Vec::len);
        if size > max_bytes {
            return Err(StoreError::TooLarge { bytes: size, max_bytes });
        }
        Ok(Self {
            folders: folders.iter().map(|&folder| folder.to_owned()).collect(),
            name: name.to_owned(),
            bytes,
        })
    }

    /// The file of a decision.
    pub(crate) fn decision(id: &Id, bytes: Vec<u8>) -> Result<Self, StoreError> {
        Self::new(&[FOLDER, DECISIONS], &format!("{id}.json"), Some(bytes), limits::RECORD_BYTES)
    }

    /// The file as it is, to come back to by writing it; none where it cannot be read.
    pub(crate) fn current(&self, store: &OpenStore) -> Option<Self> {
        let dir = self.open_dir(store).ok()?;
        let bytes =
            dir.map_or(Ok(None), |dir| dir.read(&self.name, limits::FEATURES_BYTES)).ok()?;
        Some(Self { bytes, ..self.clone() })
    }

    /// Carries it out.
    pub(crate) fn apply_to(&self, store: &OpenStore, is_durable: bool) -> Result<(), StoreError> {
        let Some(bytes) = &self.bytes else { return self.remove(store) };
        let put = || {
            let dir = self
                .folders
                .iter()
                .try_fold(store.project.clone(), |dir, folder| dir.make_dir(folder))?;
            store.layout.replace(&dir, &self.name, bytes, is_durable)?;
            if is_durable { dir.sync() } else { Ok(()) }
        };
        match put() {
            // git removes a folder when a switch empties it, also between our making it and this moment.
            Err(StoreError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                put()
            }
            other => other,
        }
    }

    /// Comes back to it, where the file is not so already: a folder that takes no writes has taken none.
    pub(crate) fn restore(&self, store: &OpenStore) -> Result<(), StoreError> {
        let is_so = self.current(store).is_some_and(|now| now.bytes == self.bytes);
        if is_so { Ok(()) } else { self.apply_to(store, false) }
    }

    fn remove(&self, store: &OpenStore) -> Result<(), StoreError> {
        let mut dirs = vec![store.project.clone()];
        for folder in &self.folders {
            let Some(dir) = dirs.last().map(|dir| dir.open_dir(folder)).transpose()?.flatten()
            else {
                return Ok(());
            };
            dirs.push(dir);
        }
        let Some(dir) = dirs.last() else { return Ok(()) };
        dir.remove(&self.name)?;
        // git keeps no empty folders, and a listing should not have to walk them.
        for (dir, folder) in dirs.iter().zip(&self.folders).rev() {
            if [FOLDER, DECISIONS, TURNS].contains(&folder.as_str())
                || !dir.remove_empty_dir(folder)?
            {
                break;
            }
        }
        Ok(())
    }

    /// Whether somebody has written the file since, so that an old change is not carried out again.
    pub(crate) fn was_written_after(
        &self,
        store: &OpenStore,
        at: Time,
    ) -> Result<bool, StoreError> {
        let Some(dir) = self.open_dir(store)? else { return Ok(false) };
        Ok(dir.print(&self.name)?.is_some_and(|print| print.mtime_ns / 1_000_000 > at.as_ms()))
    }

    fn open_dir(&self, store: &OpenStore) -> Result<Option<Dir>, StoreError> {
        store.project.walk(self.folders.iter().map(String::as_str))
    }
}

impl OpenStore {
    /// The files that a change replaces, made from what is there.
    pub(crate) fn file_writes(&self, change: &Change) -> Result<Vec<FileWrite>, StoreError> {
        let mut writes = Vec::new();
        if !change.handoffs.is_empty() {
            writes.extend(self.handoff_writes(&change.handoffs)?);
        }
        if !change.agents.is_empty() {
            writes.push(self.registry_write(change)?);
        }
        for TurnFile { feature, task, number, text } in &change.turns {
            let bytes = text.clone().map(String::into_bytes);
            writes.push(FileWrite::new(
                &[FOLDER, TURNS, feature, task],
                &format!("T{number}.json"),
                bytes,
                limits::RECORD_BYTES,
            )?);
        }
        for document in &change.documents {
            let (folders, name, max_bytes) = document_path(&document.path)?;
            writes.push(FileWrite::new(
                &folders,
                name,
                Some(document.text.clone().into_bytes()),
                max_bytes,
            )?);
        }
        for (name, text) in [(CLAIMS, &change.claims), (PRESENCE, &change.presence)] {
            if let Some(text) = text {
                writes.push(FileWrite::new(
                    &[FOLDER, LOCAL],
                    name,
                    Some(text.clone().into_bytes()),
                    limits::AGENTS_BYTES,
                )?);
            }
        }
        Ok(writes)
    }

    fn handoff_writes(&self, handoffs: &[HandoffFile]) -> Result<Vec<FileWrite>, StoreError> {
        let folders = [FOLDER, HANDOFFS];
        let file = |handoff: &HandoffFile| {
            let bytes = Some(handoff.text.clone().into_bytes());
            FileWrite::new(&folders, &format!("{}.json", handoff.id), bytes, limits::RECORD_BYTES)
        };
        let mut writes = handoffs.iter().map(file).collect::<Result<Vec<_>, _>>()?;
        // A list that is too long or cannot be read is not ours to mend: the files have it all.
        let read = |dir: Dir| dir.read(HANDOFF_INDEX, limits::AGENTS_BYTES);
        let known =
            match self.layout.top.open_dir(HANDOFFS).and_then(|dir| dir.map_or(Ok(None), read)) {
                Ok(known) => known,
                Err(error @ StoreError::Io { .. }) => return Err(error),
                Err(_) => return Ok(writes),
            };
        let known = String::from_utf8_lossy(known.as_deref().unwrap_or_default()).into_owned();
        let is_changed = |line: &str| {
            array::id_of(line)
                .is_some_and(|id| handoffs.iter().any(|handoff| handoff.id.as_str() == id))
        };
        let others = known.lines().filter(|line| !line.trim().is_empty() && !is_changed(line));
        // A handoff acknowledged in the same change occurs in it twice, and the last line counts.
        // Keeps the order of the change: applied together or one by one, the list is the same.
        let is_last = |(at, handoff): &(usize, &HandoffFile)| {
            handoffs[at + 1..].iter().all(|later| later.id != handoff.id)
        };
        let lines =
            handoffs.iter().enumerate().filter(is_last).map(|(_, handoff)| handoff.line.as_str());
        let list: String = others.chain(lines).map(|line| format!("{line}\n")).collect();
        writes.push(FileWrite::new(
            &folders,
            HANDOFF_INDEX,
            Some(list.into_bytes()),
            limits::AGENTS_BYTES,
        )?);
        Ok(writes)
    }

    fn registry_write(&self, change: &Change) -> Result<FileWrite, StoreError> {
        let agent_files = AgentFiles::open(&self.layout)?;
        let scanned = agent_files.registered();
        if let Some((line, why)) = scanned.unreadable.first() {
            let what = format!(
                "`{FOLDER}/{AGENTS}/{REGISTRY}` line {line} is {why}; fix it manually, Twining does not change it"
            );
            return Err(StoreError::Damaged { what });
        }
        let text = array::splice(&scanned, &change.agents, &HashSet::new());
        FileWrite::new(&[FOLDER, AGENTS], REGISTRY, Some(text.into_bytes()), limits::AGENTS_BYTES)
    }
}

/// The folders and the name of a document, and how large it may be.
fn document_path(path: &str) -> Result<(Vec<&str>, &str, usize), StoreError> {
    let policy = format!("{FOLDER}/{POLICY}");
    if path == policy || feature_list_paths().iter().any(|list| list == path) {
        let mut folders: Vec<&str> = path.split('/').collect();
        let name = folders.pop().unwrap_or_default();
        return Ok((
            folders,
            name,
            if path == policy { limits::POLICY_BYTES } else { limits::FEATURES_BYTES },
        ));
    }
    let (folders, name) = documents::split_dot_path(path)?;
    Ok((folders, name, limits::KNOWLEDGE_BYTES))
}

/// The most of a board that is rewritten in memory; beyond it something is wrong.
const BOARD_BYTES: usize = 4 * 1024 * 1024 * 1024;

/// Moves the chosen entries into the archive, and returns the board without them; `None` if it
/// contains none of them. A crash before the board is written leaves them in both places, and a
/// retry adds no duplicates. The caller holds the write lock.
pub(super) fn move_out(
    layout: &Layout,
    ids: &[String],
    now: Time,
) -> Result<Option<Vec<u8>>, StoreError> {
    let wanted: HashSet<&str> = ids.iter().map(String::as_str).collect();
    let Some(bytes) = layout.top.read(BOARD, BOARD_BYTES)? else { return Ok(None) };
    let (mut remaining, mut leaving) = (Vec::with_capacity(bytes.len()), Vec::new());
    let mut moved = HashSet::new();
    for line in lines(&bytes) {
        // Lines that we cannot read stay where they are.
        match Some(line).filter(|line| line.len() <= limits::RECORD_BYTES).and_then(id_of) {
            Some(id) if wanted.contains(id.as_str()) => {
                if moved.insert(id.clone()) {
                    leaving.push((id, line));
                }
            }
            _ => remaining.extend_from_slice(line),
        }
    }
    if leaving.is_empty() {
        return Ok(None);
    }
    if remaining.last().is_some_and(|&byte| byte != b'\n') {
        remaining.push(b'\n');
    }
    add_to_archive(layout, &name(now), &leaving)?;
    Ok(Some(remaining))
}

/// The file that entries go to which leave the board now, relative to `.twining`.
#[must_use]
pub fn archive_file(now: Time) -> String {
    format!("{ARCHIVE}/{}", name(now))
}

fn name(now: Time) -> String {
    format!("{}-blackboard.jsonl", now.date())
}

impl Documents<'_> {
    /// The ids of everything that ever left the board.
    pub fn archived_ids(&self) -> Result<HashSet<String>, StoreError> {
        self.0
            .open_for_reading()?
            .map_or_else(|| Ok(HashSet::new()), |store| archived_ids_in(&store.layout))
    }
}

/// The ids of everything that ever left the board of this folder.
pub(super) fn archived_ids_in(layout: &Layout) -> Result<HashSet<String>, StoreError> {
    let mut ids = HashSet::new();
    let Some(dir) = layout.top.open_dir(ARCHIVE)? else { return Ok(ids) };
    for name in dir.list()?.iter().filter(|name| name.ends_with(".jsonl")) {
        let bytes = dir.read(name, BOARD_BYTES)?.unwrap_or_default();
        ids.extend(lines(&bytes).filter_map(id_of));
    }
    Ok(ids)
}

fn add_to_archive(
    layout: &Layout,
    name: &str,
    leaving: &[(String, &[u8])],
) -> Result<(), StoreError> {
    let handle = layout.top.make_dir(ARCHIVE)?.create_append(name)?;
    let mut size = handle.fingerprint()?.size;
    if torn_lines::last_byte(&handle, size)? != b'\n' {
        // A half-written last line is a killed archiver's; its entry is still on the board.
        size = torn_lines::repair_tail(layout, &handle, size)?;
    }
    let there = handle.read_all(BOARD_BYTES)?;
    let known: HashSet<String> = lines(&there).filter_map(id_of).collect();
    let mut text = Vec::new();
    for (_, line) in leaving.iter().filter(|(id, _)| !known.contains(id)) {
        text.extend_from_slice(line.strip_suffix(b"\n").unwrap_or(line));
        text.push(b'\n');
    }
    let written = handle.write(&text).and_then(|()| handle.sync());
    written.inspect_err(|_| drop(handle.set_len(size)))
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split_inclusive(|&byte| byte == b'\n')
}

fn id_of(line: &[u8]) -> Option<String> {
    array::id_of(std::str::from_utf8(line).ok()?.trim())
}
