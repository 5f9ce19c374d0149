//! Moving settled entries off the board, in one atomic replace.

use std::collections::HashSet;

use memchr::memchr_iter;
use twining_model::{Time, limits};

use super::open::Store;
use crate::disk::Handle;
use crate::disk::layout::{ARCHIVE, BOARD, Layout};
use crate::error::StoreError;
use crate::format::array;

/// The most of a board that is rewritten in memory; beyond it something is wrong.
const BOARD_BYTES: usize = 4 * 1024 * 1024 * 1024;

/// Rewrites the board without the chosen entries, after they are safe in the
/// archive. A crash in between leaves them in both places, and doing it again
/// puts nothing there twice. Whether any went. The caller holds the write lock.
pub fn move_out(layout: &Layout, ids: &[String], now: Time) -> Result<bool, StoreError> {
    let wanted: HashSet<&str> = ids.iter().map(String::as_str).collect();
    let Some(board) = layout.top.open(BOARD)? else { return Ok(false) };
    let bytes = board.read_all(BOARD_BYTES)?;
    let (mut kept, mut leaving) = (Vec::with_capacity(bytes.len()), Vec::new());
    let mut moved = HashSet::new();
    for line in lines(&bytes) {
        // Lines that we cannot read stay where they are.
        let id =
            std::str::from_utf8(line).ok().filter(|line| line.len() <= limits::RECORD_BYTES).and_then(|line| array::id_of(line.trim()));
        match id {
            Some(id) if wanted.contains(id.as_str()) => {
                if moved.insert(id.clone()) {
                    leaving.push((id, line));
                }
            }
            _ => kept.extend_from_slice(line),
        }
    }
    if leaving.is_empty() {
        return Ok(false);
    }
    if kept.last().is_some_and(|&byte| byte != b'\n') {
        kept.push(b'\n');
    }
    add_to_archive(layout, &name(now), &leaving)?;
    layout.replace(&layout.top, BOARD, &kept, true)?;
    Ok(true)
}

/// The file that entries go to which leave the board now, relative to `.twining`.
#[must_use]
pub fn archive_file(now: Time) -> String {
    format!("{ARCHIVE}/{}", name(now))
}

fn name(now: Time) -> String {
    format!("{}-blackboard.jsonl", now.date())
}

impl Store {
    /// The ids of everything that ever left the board.
    pub fn archived_ids(&self) -> Result<HashSet<String>, StoreError> {
        let mut ids = HashSet::new();
        let Some(room) = self.reading_room()? else { return Ok(ids) };
        let Some(dir) = room.layout.top.open_dir(ARCHIVE)? else { return Ok(ids) };
        for name in dir.list()?.iter().filter(|name| name.ends_with(".jsonl")) {
            let Some(file) = dir.open(name)? else { continue };
            let bytes = file.read_all(BOARD_BYTES)?;
            ids.extend(lines(&bytes).filter_map(|line| array::id_of(std::str::from_utf8(line).ok()?.trim())));
        }
        Ok(ids)
    }
}

fn add_to_archive(layout: &Layout, name: &str, leaving: &[(String, &[u8])]) -> Result<(), StoreError> {
    let dir = layout.top.make_dir(ARCHIVE)?;
    let handle = dir.make_append(name)?;
    let mut there = handle.read_all(BOARD_BYTES)?;
    mend(&handle, &mut there)?;
    let known: HashSet<String> = lines(&there).filter_map(|line| array::id_of(std::str::from_utf8(line).ok()?.trim())).collect();
    let mut text = Vec::new();
    for (_, line) in leaving.iter().filter(|(id, _)| !known.contains(id)) {
        text.extend_from_slice(line.strip_suffix(b"\n").unwrap_or(line));
        text.push(b'\n');
    }
    let written = handle.write(&text).and_then(|()| handle.sync());
    written.inspect_err(|_| drop(handle.set_len(there.len() as u64)))
}

/// A half-written last line is a killed archiver's; its entry is still on the board.
fn mend(handle: &Handle, there: &mut Vec<u8>) -> Result<(), StoreError> {
    if there.last().is_none_or(|&byte| byte == b'\n') {
        return Ok(());
    }
    there.truncate(memchr::memrchr(b'\n', there).map_or(0, |at| at + 1));
    handle.set_len(there.len() as u64)
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut start = 0;
    memchr_iter(b'\n', bytes).map(|at| at + 1).chain(std::iter::once(bytes.len())).filter_map(move |end| {
        let line = &bytes[start..end];
        start = end;
        (!line.is_empty()).then_some(line)
    })
}
