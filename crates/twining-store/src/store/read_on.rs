//! The end of the board, read on from where one was.

use super::documents::Documents;
use crate::error::StoreError;

/// Bytes of the board that are read when it is read for the first time, or anew.
const FIRST: u64 = 128 * 1024;

/// How far one has read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tail {
    ino: u64,
    end: u64,
}

impl Documents<'_> {
    /// The whole lines that came to the board since `tail`, and whether they are
    /// not its continuation: at first, and after git put another file in its place.
    pub fn read_on(&self, tail: &mut Tail) -> Result<(Vec<u8>, bool), StoreError> {
        let Some(room) = self.0.reading_room()? else { return Ok((Vec::new(), true)) };
        let Some(board) = room.files.board()? else { return Ok((Vec::new(), true)) };
        let print = board.print;
        let afresh = print.ino != tail.ino || print.size < tail.end;
        let start = if afresh { print.size.saturating_sub(FIRST) } else { tail.end.max(print.size.saturating_sub(FIRST)) };
        let mut bytes = vec![0; usize::try_from(print.size - start).unwrap_or(0)];
        let read = board.handle.read_at(&mut bytes, start)?;
        bytes.truncate(read);
        // A line that is not finished is read when it is.
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        bytes.truncate(whole);
        *tail = Tail { ino: print.ino, end: start + whole as u64 };
        Ok((bytes, afresh))
    }
}
