//! Moving settled entries off the board, in one atomic replace.

use std::collections::HashSet;

use twining_model::{Time, limits};

use super::documents::Documents;
use crate::disk::layout::{ARCHIVE, BOARD, Layout};
use crate::error::StoreError;
use crate::format::{array, tail};

/// The most of a board that is rewritten in memory; beyond it something is wrong.
const BOARD_BYTES: usize = 4 * 1024 * 1024 * 1024;

/// Puts the chosen entries into the archive, and tells what the board is without them; none
/// if it has none of them. A crash before it is written leaves them in both places, and doing
/// it again puts nothing there twice. The caller holds the write lock.
pub fn move_out(layout: &Layout, ids: &[String], now: Time) -> Result<Option<Vec<u8>>, StoreError> {
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
        let mut ids = HashSet::new();
        let Some(store) = self.0.open_for_reading()? else { return Ok(ids) };
        let Some(dir) = store.layout.top.open_dir(ARCHIVE)? else { return Ok(ids) };
        for name in dir.list()?.iter().filter(|name| name.ends_with(".jsonl")) {
            let bytes = dir.read(name, BOARD_BYTES)?.unwrap_or_default();
            ids.extend(lines(&bytes).filter_map(id_of));
        }
        Ok(ids)
    }
}

fn add_to_archive(layout: &Layout, name: &str, leaving: &[(String, &[u8])]) -> Result<(), StoreError> {
    let handle = layout.top.make_dir(ARCHIVE)?.create_append(name)?;
    let mut size = handle.fingerprint()?.size;
    if tail::last_byte(&handle, size)? != b'\n' {
        // A half-written last line is a killed archiver's; its entry is still on the board.
        size = tail::repair_tail(layout, &handle, size)?;
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
