//! Lines that were written lately, kept in a file beside the one they are in: git may take
//! them away between two of its own steps, and then they come back.
//!
//! git's own `index.lock` does not suffice to keep out of its way: `git stash` and a failing
//! `git merge` take a snapshot and reset the tree later, in separate steps, and what was
//! appended between them would be gone.

use std::collections::HashSet;

use twining_model::Time;

use crate::disk::layout::Layout;
use crate::disk::{Dir, FileHandle};
use crate::error::StoreError;
use crate::format::tail;
use crate::log::rotating::RotatingFile;

/// A line lost to a rewrite is put back if it was written at most so long before it.
pub const RECENT_MS: i64 = 10_000;
/// Each line with the time in front.
const RECENT: RotatingFile = RotatingFile { name: "recent", previous: "recent.old", max_bytes: 1024 * 1024 };

/// Remembers lines that were written.
pub fn append_recent(dir: &Dir, lines: &[u8], now: Time) -> Result<(), StoreError> {
    let mut bytes = Vec::with_capacity(lines.len() + 64);
    for line in lines.split_inclusive(|&byte| byte == b'\n') {
        bytes.extend(format!("{} ", now.as_ms()).into_bytes());
        bytes.extend_from_slice(line);
    }
    RECENT.append(dir, &bytes)
}

/// Lines written shortly before `rewritten` or later that are neither in the file nor in a
/// commit or a stash.
pub fn lost_lines(
    dir: &Dir,
    file: Option<&FileHandle>,
    rewritten: Time,
    in_history: impl FnOnce(&HashSet<String>) -> HashSet<String>,
) -> Result<Vec<u8>, StoreError> {
    let stored = RECENT.read(dir)?;
    let recent = stored.split_inclusive(|&byte| byte == b'\n').filter_map(split).filter(|(at, _)| *at >= rewritten.as_ms() - RECENT_MS);
    let recent: Vec<(String, &[u8])> = recent.filter_map(|(_, line)| Some((tail::id_of(line)?, line))).collect();
    let mut missing: HashSet<String> = recent.iter().map(|(id, _)| id.clone()).collect();
    if missing.is_empty() {
        return Ok(Vec::new());
    }
    if let Some(file) = file {
        tail::remove_present_ids(file, &mut missing)?;
    }
    for committed in in_history(&missing) {
        missing.remove(&committed);
    }
    Ok(recent.into_iter().filter(|(id, _)| missing.remove(id)).flat_map(|(_, line)| line.iter().copied()).collect())
}

/// Forgets lines with these ids, and what is none of ours.
pub fn remove(layout: &Layout, dropped: &HashSet<String>) -> Result<(), StoreError> {
    for name in [RECENT.previous, RECENT.name] {
        let Some(stored) = layout.local.read(name, usize::MAX - 1)? else { continue };
        let is_retained = |line: &&[u8]| split(line).and_then(|(_, line)| tail::id_of(line)).is_some_and(|id| !dropped.contains(&id));
        let remaining_lines: Vec<u8> = stored.split_inclusive(|&byte| byte == b'\n').filter(is_retained).flatten().copied().collect();
        if remaining_lines.len() < stored.len() {
            layout.replace(&layout.local, name, &remaining_lines, false)?;
        }
    }
    Ok(())
}

fn split(remembered: &[u8]) -> Option<(i64, &[u8])> {
    let space = memchr::memchr(b' ', remembered)?;
    let at = std::str::from_utf8(&remembered[..space]).ok()?.parse().ok()?;
    remembered.ends_with(b"\n").then_some((at, &remembered[space + 1..]))
}
