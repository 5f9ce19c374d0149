//! Traces that git may take away between two of its own steps, as it may lines of
//! the board: those written lately are kept beside the file, in `local/`, and come
//! back if they are neither in it nor in a commit or a stash.

use std::collections::{BTreeSet, HashSet};

use twining_model::Time;

use super::room::Room;
use super::traces::{append_after, nook};
use crate::disk::Dir;
use crate::disk::layout::{Layout, TRACES};
use crate::error::StoreError;
use crate::format::tail;
use crate::log::board::RECENT_MS;

const RECENT: &str = "recent";
const OLDER: &str = "recent.old";
/// The file as we left it.
const KNOWN: &str = "known";
const RECENT_BYTES: usize = 1024 * 1024;

/// Whether the file is the one we left, or longer.
pub(crate) fn is_settled(layout: &Layout) -> Result<bool, StoreError> {
    let Some(known) = nook(layout)?.open(KNOWN)? else { return Ok(true) };
    let known = String::from_utf8(known.read_all(64).unwrap_or_default()).unwrap_or_default();
    let mut known = known.split_whitespace().map(str::parse::<u64>);
    let (Some(Ok(ino)), Some(Ok(size))) = (known.next(), known.next()) else { return Ok(true) };
    Ok(layout.top.stat(TRACES)?.is_some_and(|(_, print)| print.ino == ino && print.size >= size))
}

/// Lines that the file lacks since somebody else wrote it. Asks git where there are
/// any, which no hook waits for. The caller holds the lock.
pub(crate) fn lost(room: &Room, now: Time) -> Result<Vec<u8>, StoreError> {
    let layout = &room.layout;
    if is_settled(layout)? {
        return Ok(Vec::new());
    }
    let handle = layout.top.open(TRACES)?;
    let rewritten = match &handle {
        Some(handle) => (handle.fingerprint()?.mtime_ns / 1_000_000).min(now.as_ms()),
        None => now.as_ms(),
    };
    let nook = nook(layout)?;
    let kept = [kept(&nook, OLDER)?, kept(&nook, RECENT)?].concat();
    let recent = kept.split_inclusive(|byte| *byte == b'\n').filter_map(|line| {
        let space = memchr::memchr(b' ', line)?;
        let at: i64 = std::str::from_utf8(&line[..space]).ok()?.parse().ok()?;
        (at >= rewritten - RECENT_MS && line.ends_with(b"\n")).then_some(&line[space + 1..])
    });
    let recent: Vec<(String, &[u8])> = recent.filter_map(|line| Some((tail::id_of(line)?, line))).collect();
    let mut missing: HashSet<String> = recent.iter().map(|(id, _)| id.clone()).collect();
    if let Some(handle) = &handle {
        tail::strike_out_present(handle, &mut missing)?;
    }
    for safe in room.board.in_history(&missing, &BTreeSet::new()) {
        missing.remove(&safe);
    }
    let lost: Vec<u8> = recent.into_iter().filter(|(id, _)| missing.remove(id)).flat_map(|(_, line)| line.iter().copied()).collect();
    if lost.is_empty() {
        // It is as it should be: nobody need ask git again.
        note(layout, &nook)?;
    }
    Ok(lost)
}

/// Remembers lines that were written, and how they left the file.
pub(crate) fn remember(layout: &Layout, lines: &[u8], now: Time) -> Result<(), StoreError> {
    let nook = nook(layout)?;
    let mut bytes = Vec::with_capacity(lines.len() + 64);
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        bytes.extend(format!("{} ", now.as_ms()).into_bytes());
        bytes.extend_from_slice(line);
    }
    let ring = nook.make_append(RECENT)?;
    append_after(&ring, &bytes)?;
    if ring.fingerprint()?.size > RECENT_BYTES as u64 {
        nook.rename(RECENT, &nook, OLDER)?;
    }
    note(layout, &nook)
}

fn note(layout: &Layout, nook: &Dir) -> Result<(), StoreError> {
    match layout.top.stat(TRACES)? {
        // In place and always as long: a new file in the old one's stead makes the disk wait for
        // its bytes, and half of this says at worst that somebody should look.
        Some((_, print)) => nook.make_random(KNOWN)?.write_at(format!("{:20} {:20}\n", print.ino, print.size).as_bytes(), 0),
        None => nook.remove(KNOWN).map(drop),
    }
}

fn kept(nook: &Dir, name: &str) -> Result<Vec<u8>, StoreError> {
    Ok(nook.open(name)?.map(|handle| handle.read_all(RECENT_BYTES * 8).unwrap_or_default()).unwrap_or_default())
}
