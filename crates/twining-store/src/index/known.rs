//! What the database says of the files it was made from.
//!
//! It stands in the database and nowhere else: another process may catch the
//! shared database up, and then its word counts, not our memory.

use rusqlite::{Connection, Row, params};

use crate::disk::Fingerprint;

/// How much of the files is in the database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Known {
    /// The blackboard.
    pub board: BoardMark,
    /// `entities.json` and `relations.json`.
    pub arrays: [Option<Fingerprint>; 2],
    /// The last journal line.
    pub seq: u64,
}

/// How much of the blackboard is in the database: every line that ends at or
/// before `offset`, and one after it if that is whole but for its newline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BoardMark {
    /// The file, as it was when it was last read.
    pub print: Option<Fingerprint>,
    /// The writers' count of changes from outside.
    pub epoch: u64,
    /// Up to here lines are complete.
    pub offset: u64,
    /// How many lines that is.
    pub line: u64,
    /// Hash of the last bytes before `offset`.
    pub tail: u64,
    /// The segment that `offset` closes so far.
    pub segment: Segment,
}

/// A stretch of whole lines, by its hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Segment {
    /// Where its first line starts.
    pub start: u64,
    /// How many lines come before it.
    pub line: u64,
    /// The hashes of its lines, mixed in order.
    pub hash: u64,
}

impl Segment {
    /// Takes one more line in.
    pub fn take(&mut self, line_hash: u64) {
        self.hash = (self.hash.rotate_left(23) ^ line_hash).wrapping_mul(0x9E37_79B1_85EB_CA87);
    }
}

const LOAD: &str = "
SELECT board_ino, board_size, board_mtime, epoch, offset, line, tail, segment_start, segment_line, segment_hash,
    entities_ino, entities_size, entities_mtime, relations_ino, relations_size, relations_mtime, seq
FROM known WHERE one = 1";

const SAVE: &str = "
UPDATE known SET board_ino = ?1, board_size = ?2, board_mtime = ?3, epoch = ?4, offset = ?5, line = ?6, tail = ?7,
    segment_start = ?8, segment_line = ?9, segment_hash = ?10,
    entities_ino = ?11, entities_size = ?12, entities_mtime = ?13,
    relations_ino = ?14, relations_size = ?15, relations_mtime = ?16, seq = ?17
WHERE one = 1";

impl Known {
    /// Reads it.
    pub fn load(conn: &Connection) -> Result<Self, rusqlite::Error> {
        conn.prepare_cached(LOAD)?.query_row([], |row| {
            let number = |at| row.get::<_, i64>(at).map(i64::cast_unsigned);
            Ok(Self {
                board: BoardMark {
                    print: print_at(row, 0)?,
                    epoch: number(3)?,
                    offset: number(4)?,
                    line: number(5)?,
                    tail: number(6)?,
                    segment: Segment { start: number(7)?, line: number(8)?, hash: number(9)? },
                },
                arrays: [print_at(row, 10)?, print_at(row, 13)?],
                seq: number(16)?,
            })
        })
    }

    /// Writes it.
    pub fn save(&self, conn: &Connection) -> Result<(), rusqlite::Error> {
        let Self { board, arrays, seq } = self;
        let (b, e, r) = (columns(board.print), columns(arrays[0]), columns(arrays[1]));
        conn.prepare_cached(SAVE)?.execute(params![
            b[0],
            b[1],
            b[2],
            board.epoch.cast_signed(),
            board.offset.cast_signed(),
            board.line.cast_signed(),
            board.tail.cast_signed(),
            board.segment.start.cast_signed(),
            board.segment.line.cast_signed(),
            board.segment.hash.cast_signed(),
            e[0],
            e[1],
            e[2],
            r[0],
            r[1],
            r[2],
            seq.cast_signed(),
        ])?;
        Ok(())
    }
}

/// A file's state as three columns.
pub(super) fn columns(print: Option<Fingerprint>) -> [Option<i64>; 3] {
    print.map_or([None; 3], |p| [Some(p.ino.cast_signed()), Some(p.size.cast_signed()), Some(p.mtime_ns)])
}

/// Three columns as a file's state.
pub(super) fn print_at(row: &Row<'_>, at: usize) -> Result<Option<Fingerprint>, rusqlite::Error> {
    let ino: Option<i64> = row.get(at)?;
    let Some(ino) = ino else { return Ok(None) };
    let size: i64 = row.get(at + 1)?;
    Ok(Some(Fingerprint { ino: ino.cast_unsigned(), size: size.cast_unsigned(), mtime_ns: row.get(at + 2)? }))
}
