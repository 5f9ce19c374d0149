//! Lines that were written lately, kept in a file beside the one they are in: git may take
//! them away between two of its own steps, and then they come back.
//!
//! git's own `index.lock` does not suffice to keep out of its way: `git stash` and a failing
//! `git merge` take a snapshot and reset the tree later, in separate steps, and what was
//! appended between them would be gone.

use std::collections::HashSet;

use twining_model::Time;

use crate::disk::layout::Layout;
use crate::disk::{Dir, Handle};
use crate::error::StoreError;
use crate::format::tail;
use crate::log::rotating::Rotating;

/// A line lost to a rewrite is put back if it was written at most so long before it.
pub const RECENT_MS: i64 = 10_000;
/// Each line with the time in front.
const RECENT: Rotating = Rotating { name: "recent", older: "recent.old", most: 1024 * 1024 };

/// Remembers lines that were written.
pub fn remember(dir: &Dir, lines: &[u8], now: Time) -> Result<(), StoreError> {
    let mut bytes = Vec::with_capacity(lines.len() + 64);
    for line in lines.split_inclusive(|&byte| byte == b'\n') {
        bytes.extend(format!("{} ", now.as_ms()).into_bytes());
        bytes.extend_from_slice(line);
    }
    RECENT.append(dir, &bytes)
}

/// Lines written shortly before `rewritten` or later that are neither in the file nor in a
/// commit or a stash.
pub fn lost(
    dir: &Dir,
    file: Option<&Handle>,
    rewritten: Time,
    in_history: impl FnOnce(&HashSet<String>) -> HashSet<String>,
) -> Result<Vec<u8>, StoreError> {
    let kept = RECENT.read(dir)?;
    let recent = kept.split_inclusive(|&byte| byte == b'\n').filter_map(split).filter(|(at, _)| *at >= rewritten.as_ms() - RECENT_MS);
    let recent: Vec<(String, &[u8])> = recent.filter_map(|(_, line)| Some((tail::id_of(line)?, line))).collect();
    let mut missing: HashSet<String> = recent.iter().map(|(id, _)| id.clone()).collect();
    if missing.is_empty() {
        return Ok(Vec::new());
    }
    if let Some(file) = file {
        tail::strike_out_present(file, &mut missing)?;
    }
    for safe in in_history(&missing) {
        missing.remove(&safe);
    }
    Ok(recent.into_iter().filter(|(id, _)| missing.remove(id)).flat_map(|(_, line)| line.iter().copied()).collect())
}

/// Forgets lines with these ids, and what is none of ours.
pub fn forget(layout: &Layout, dropped: &HashSet<String>) -> Result<(), StoreError> {
    for name in [RECENT.older, RECENT.name] {
        let Some(kept) = layout.local.read(name, usize::MAX - 1)? else { continue };
        let stays = |line: &&[u8]| split(line).and_then(|(_, line)| tail::id_of(line)).is_some_and(|id| !dropped.contains(&id));
        let left: Vec<u8> = kept.split_inclusive(|&byte| byte == b'\n').filter(stays).flatten().copied().collect();
        if left.len() < kept.len() {
            layout.replace(&layout.local, name, &left, false)?;
        }
    }
    Ok(())
}

fn split(remembered: &[u8]) -> Option<(i64, &[u8])> {
    let space = memchr::memchr(b' ', remembered)?;
    let at = std::str::from_utf8(&remembered[..space]).ok()?.parse().ok()?;
    remembered.ends_with(b"\n").then_some((at, &remembered[space + 1..]))
}
