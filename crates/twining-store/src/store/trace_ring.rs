//! Traces that git may take away between two of its own steps, as it may lines of
//! the board: those written lately are kept beside the file, in `local/`, and come
//! back if they are neither in it nor in a commit or a stash.

use std::collections::BTreeSet;

use twining_model::Time;

use super::room::Room;
use super::traces::nook;
use crate::disk::Dir;
use crate::disk::layout::{Layout, TRACES};
use crate::error::StoreError;
use crate::log::recent;

/// The file as we left it.
const KNOWN: &str = "known";

/// Whether the file is the one we left, or longer.
pub(crate) fn is_settled(layout: &Layout) -> Result<bool, StoreError> {
    let Some(known) = nook(layout)?.open(KNOWN)? else { return Ok(true) };
    let known = String::from_utf8(known.read_all(64).unwrap_or_default()).unwrap_or_default();
    let mut known = known.split_whitespace().map(str::parse::<u64>);
    let (Some(Ok(ino)), Some(Ok(size))) = (known.next(), known.next()) else { return Ok(true) };
    Ok(layout.top.print(TRACES)?.is_some_and(|print| print.ino == ino && print.size >= size))
}

/// Lines that the file lacks since somebody else wrote it. Asks git where there are
/// any, which no hook waits for. The caller holds the lock.
pub(crate) fn lost(room: &Room, now: Time) -> Result<Vec<u8>, StoreError> {
    let layout = &room.layout;
    if is_settled(layout)? {
        return Ok(Vec::new());
    }
    let file = layout.top.open(TRACES)?;
    let written = file.as_ref().map(|file| file.fingerprint()).transpose()?;
    let rewritten = written.map_or(now, |print| Time::from_ms(print.mtime_ns / 1_000_000).min(now));
    let nook = nook(layout)?;
    let lost = recent::lost(&nook, file.as_ref(), rewritten, |ids| room.board.in_history(ids, &BTreeSet::new()))?;
    if lost.is_empty() {
        // It is as it should be: nobody need ask git again.
        note(layout, &nook)?;
    }
    Ok(lost)
}

/// Remembers lines that were written, and how they left the file.
pub(crate) fn remember(layout: &Layout, lines: &[u8], now: Time) -> Result<(), StoreError> {
    let nook = nook(layout)?;
    recent::remember(&nook, lines, now)?;
    note(layout, &nook)
}

fn note(layout: &Layout, nook: &Dir) -> Result<(), StoreError> {
    match layout.top.print(TRACES)? {
        // In place and always as long: a new file in the old one's stead makes the disk wait for
        // its bytes, and half of this says at worst that somebody should look.
        Some(print) => nook.make_random(KNOWN)?.write_at(format!("{:20} {:20}\n", print.ino, print.size).as_bytes(), 0),
        None => nook.remove(KNOWN).map(drop),
    }
}
