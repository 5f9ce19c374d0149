//! Putting right what git leaves where no driver is installed: both sides of a
//! merge between markers, in the board or in a decision.
//!
//! Readers make sense of such files at once. Here they are written anew, off
//! everybody's way, so that other programs and the next commit find them whole.

use std::borrow::Cow;

use memchr::memmem;
use twining_model::{Id, Time};

use crate::error::StoreError;
use crate::layout::{BOARD, DECISIONS};
use crate::merge::{LEFT_BY_GIT, is_marker, one_decision};
use crate::record::Record;
use crate::room::Room;

/// The most of a board that is rewritten in memory.
const BOARD_BYTES: usize = 1024 * 1024 * 1024;

/// Writes the files anew that the index found in this state. Does nothing while
/// git or another writer is at work; the next call looks again.
pub fn after_git(room: &Room, now: Time) -> Result<(), StoreError> {
    let files = room.with_view::<Vec<String>, StoreError>(now, |view| {
        let left = view.unreadable()?.into_iter().filter(|bad| bad.why == LEFT_BY_GIT);
        Ok(left.map(|bad| bad.file).collect())
    })?;
    if files.is_empty() || room.board.git_is_busy() {
        return Ok(());
    }
    let Some(held) = room.lock.try_take()? else { return Ok(()) };
    let mut record = Record::read(held.file())?;
    for id in files.iter().filter_map(|file| decision_of(file)) {
        if let Some((_, bytes)) = room.files.decision(&id)?
            && let Cow::Owned(whole) = one_decision(&bytes)
        {
            room.put_decision(&format!("{id}.json"), &whole)?;
        }
    }
    if files.iter().any(|file| file == BOARD) {
        mend_board(room, &mut record)?;
    }
    record.write(held.file())?;
    drop(held);
    room.catch_up()
}

/// Takes git's markers off the board; every other line stays as it is.
fn mend_board(room: &Room, record: &mut Record) -> Result<(), StoreError> {
    let Some(board) = room.layout.top.open(BOARD)? else { return Ok(()) };
    let bytes = board.read_all(BOARD_BYTES)?;
    if memmem::find(&bytes, b"<<<<<<< ").is_none() {
        return Ok(());
    }
    let mut kept = Vec::with_capacity(bytes.len());
    let lines = bytes.split_inclusive(|&byte| byte == b'\n').filter(|line| !is_marker(line.trim_ascii_end()));
    lines.for_each(|line| kept.extend_from_slice(line));
    room.layout.replace(&room.layout.top, BOARD, &kept, true)?;
    let known = room.board.replaced(record, &std::collections::HashSet::new());
    record.epoch = record.epoch.saturating_add(1);
    known
}

fn decision_of(file: &str) -> Option<Id> {
    Id::read(file.strip_prefix(DECISIONS)?.strip_prefix('/')?.strip_suffix(".json")?)
}
