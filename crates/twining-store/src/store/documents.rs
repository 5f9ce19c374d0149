//! Files that are read whole and without the index: what plans are made on, and what hooks ask.

use twining_model::{TextFile, limits};

use super::open::Store;
use crate::disk::Dir;
use crate::disk::layout::{FOLDER, POLICY};
use crate::error::StoreError;

/// The files as they are now, read without the lock.
#[derive(Clone, Copy, Debug)]
pub struct Documents<'s>(pub(super) &'s Store);

/// Bytes of the board that are read when it is read for the first time, or anew.
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
}

impl Documents<'_> {
    /// The project's policy. What is wrong elsewhere in the folder is told by whoever needs
    /// it; rules hold all the same.
    pub fn policy(&self) -> Result<TextFile, StoreError> {
        let top = Dir::project(&self.0.location().project, self.0.probe.clone())?.open_dir(FOLDER)?;
        top.map_or(Ok(TextFile::Missing), |top| read_text(&top, POLICY, limits::POLICY_BYTES))
    }

    /// The whole lines that came to the board since `tail`, and whether they are
    /// not its continuation: at first, and after git put another file in its place.
    pub fn read_new_lines(&self, tail: &mut BoardCursor) -> Result<(Vec<u8>, bool), StoreError> {
        let Some(store) = self.0.open_for_reading()? else { return Ok((Vec::new(), true)) };
        let Some(board) = store.files.board()? else { return Ok((Vec::new(), true)) };
        let print = board.print;
        let is_reset = print.ino != tail.ino || print.size < tail.end;
        let start = if is_reset { print.size.saturating_sub(FIRST) } else { tail.end.max(print.size.saturating_sub(FIRST)) };
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

/// Reads a text. A file that cannot be used is no reason to stop: the reason is told.
pub(super) fn read_text(dir: &Dir, name: &str, max_bytes: usize) -> Result<TextFile, StoreError> {
    match dir.read(name, max_bytes) {
        Ok(Some(bytes)) => Ok(String::from_utf8(bytes).map_or_else(|_| TextFile::Unusable("it is not UTF-8".to_owned()), TextFile::Text)),
        Ok(None) => Ok(TextFile::Missing),
        Err(error @ (StoreError::Unsafe { .. } | StoreError::Damaged { .. })) => Ok(TextFile::Unusable(error.to_string())),
        Err(error) => Err(error),
    }
}
