//! The blackboard: usually a few new lines at the end; after git was at it,
//! anything. Stretches of lines are known by their hashes, so that only what
//! follows the first difference is read anew.

use rusqlite::{Connection, params};
use twining_model::Entry;
use xxhash_rust::xxh3::xxh3_64;

use super::Session;
use super::lines::{Line, Lines};
use crate::disk::Fingerprint;
use crate::disk::layout::BOARD;
use crate::error::StoreError;
use crate::index::known::{BoardMark, Known, Segment};
use crate::log::files::{DataFile, Files};
use crate::merge::{LEFT_BY_GIT, is_marker};

/// A segment is closed by the line that brings it to this size.
const SEGMENT_BYTES: u64 = 64 * 1024;
/// How many bytes before the offset must still be there for an append to be one.
const TAIL_BYTES: u64 = 64;
/// A board up to this size is compared as a whole whenever it changed. Above, an
/// edit in place that keeps the length goes unnoticed if a program that is not us
/// appends to the same file before anybody looks; our own writers count it.
const SMALL_BYTES: u64 = 256 * 1024;
/// More than this to take out and read again, and building anew is quicker.
const REWRITE_BYTES: u64 = 8 * 1024 * 1024;

const SEGMENTS: &str = "SELECT start, line, hash FROM segment ORDER BY start";
const CLOSE_SEGMENT: &str = "INSERT INTO segment(start, line, hash) VALUES(?1, ?2, ?3)";
const FORGET_SEGMENTS: &str = "DELETE FROM segment WHERE start >= ?1";

/// What to do about the blackboard.
pub(in crate::index) enum BoardPlan {
    /// Nothing changed.
    Rest,
    /// Keep the lines before `from`, and read on from there.
    Read {
        /// The file.
        file: DataFile,
        /// Up to here it agrees with what we know.
        from: u64,
        /// How many lines that is.
        line: u64,
    },
    /// There is no file, or none that may be opened.
    Nothing {
        /// Its state, so that we need not look again.
        print: Option<Fingerprint>,
        /// Why it was not opened, if there is one.
        why: Option<String>,
    },
}

/// Looks what there is to do. The caller holds the index lock.
pub(in crate::index) fn plan(conn: &Connection, known: &Known, files: &Files) -> Result<BoardPlan, StoreError> {
    let mark = &known.board;
    let epoch = files.board_epoch();
    let file = match files.board() {
        // A link or a pipe is not followed; its own state tells when it changes.
        Err(error @ (StoreError::Unsafe { .. } | StoreError::Damaged { .. })) => {
            return Ok(BoardPlan::Nothing { print: files.board_fingerprint()?, why: Some(error.to_string()) });
        }
        other => other?,
    };
    let Some(file) = file else { return Ok(BoardPlan::Nothing { print: None, why: None }) };
    let print = file.fingerprint();
    if mark.epoch == epoch && mark.print == Some(print) {
        return Ok(BoardPlan::Rest);
    }
    let grew = mark.offset > SMALL_BYTES
        && mark.epoch == epoch
        && mark.print.is_some_and(|known| known.ino == print.ino && known.size < print.size && mark.offset <= print.size)
        && tail_hash(&file, mark.offset)? == mark.tail;
    let (from, line) = if grew { (mark.offset, mark.line) } else { agreement(conn, mark, &file)? };
    Ok(BoardPlan::Read { file, from, line })
}

impl BoardPlan {
    /// Whether building everything anew is quicker.
    pub(in crate::index) fn is_heavy(&self, known: &Known) -> bool {
        let mark = &known.board;
        match self {
            Self::Rest => false,
            Self::Nothing { .. } => mark.offset > REWRITE_BYTES,
            Self::Read { file, from, .. } => {
                let rewritten = mark.offset.saturating_sub(*from).max(file.fingerprint().size.saturating_sub(*from));
                rewritten > REWRITE_BYTES && rewritten > from / 2
            }
        }
    }
}

impl Session<'_> {
    /// Brings the entries up to the blackboard.
    pub(super) fn board(&mut self, plan: BoardPlan, epoch: u64) -> Result<(), StoreError> {
        match plan {
            BoardPlan::Rest => {}
            BoardPlan::Nothing { print, why } => {
                self.cut_back(0, 0)?;
                self.known.board = BoardMark { print, epoch, ..BoardMark::default() };
                if let Some(why) = why {
                    self.complain(BOARD, 0, None, &why)?;
                }
            }
            BoardPlan::Read { file, from, line } => {
                self.cut_back(from, line)?;
                self.known.board.epoch = epoch;
                self.read_on(&file)?;
                self.known.board.print = Some(file.fingerprint());
                self.known.board.tail = tail_hash(&file, self.known.board.offset)?;
            }
        }
        Ok(())
    }

    /// Forgets every line from `from` on.
    fn cut_back(&mut self, from: u64, line: u64) -> Result<(), StoreError> {
        self.pop_from(from)?;
        self.withdraw(BOARD, from)?;
        let mark = &mut self.known.board;
        if from < mark.offset {
            self.conn.prepare_cached(FORGET_SEGMENTS)?.execute([from.cast_signed()])?;
            mark.segment = Segment { start: from, line, hash: 0 };
        }
        mark.offset = from;
        mark.line = line;
        Ok(())
    }

    fn read_on(&mut self, file: &DataFile) -> Result<(), StoreError> {
        let print = file.fingerprint();
        let mut lines = Lines::from(file, self.known.board.offset);
        while let Some(line) = lines.next()? {
            let bytes = line.text.clone().map(|text| lines.bytes(text));
            self.take_line(&line, bytes)?;
            if !line.whole {
                break;
            }
            let mark = &mut self.known.board;
            mark.offset = line.end;
            mark.line += 1;
            mark.segment.take(line.hash);
            if line.end - mark.segment.start >= SEGMENT_BYTES {
                let Segment { start, line: first, hash } = mark.segment;
                self.conn.prepare_cached(CLOSE_SEGMENT)?.execute(params![start.cast_signed(), first.cast_signed(), hash.cast_signed()])?;
                mark.segment = Segment { start: line.end, line: mark.line, hash: 0 };
            }
            // Should we be killed after the commit in here, the next one goes on as after an append.
            mark.print = Some(Fingerprint { size: line.end, mtime_ns: 0, ..print });
            if self.is_due() {
                self.known.board.tail = tail_hash(file, line.end)?;
            }
            self.breathe()?;
        }
        Ok(())
    }

    fn is_due(&self) -> bool {
        self.since_commit + 1 >= super::ROWS_AT_ONCE
    }

    fn take_line(&mut self, line: &Line, bytes: Option<&[u8]>) -> Result<(), StoreError> {
        let number = self.known.board.line + 1;
        let read = match bytes {
            None => Err("a line longer than any record".to_owned()),
            Some(bytes) => read_line(line.pos, bytes),
        };
        match read {
            Ok(None) => Ok(()),
            Ok(Some((raw, entry))) => self.push(line.pos, raw, &entry),
            Err(why) if line.whole => self.complain(BOARD, line.pos, Some(number), &why),
            Err(why) => self.complain(BOARD, line.pos, Some(number), &format!("the last line is not complete: {why}")),
        }
    }
}

/// What a line holds: an entry with its text, nothing, or damage.
fn read_line(pos: u64, bytes: &[u8]) -> Result<Option<(&str, Entry)>, String> {
    let bytes = if pos == 0 { bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes) } else { bytes };
    let bytes = bytes.trim_ascii();
    if bytes.is_empty() {
        return Ok(None);
    }
    if is_marker(bytes) {
        return Err(LEFT_BY_GIT.to_owned());
    }
    let raw = std::str::from_utf8(bytes).map_err(|_| "not UTF-8")?;
    let entry: Entry = serde_json::from_str(raw).map_err(|error| format!("not an entry: {error}"))?;
    super::entries::check_id(&entry.id)?;
    Ok(Some((raw, entry)))
}

fn tail_hash(file: &DataFile, offset: u64) -> Result<u64, StoreError> {
    let mut bytes = [0; TAIL_BYTES as usize];
    let start = offset.saturating_sub(TAIL_BYTES);
    let wanted = usize::try_from(offset - start).unwrap_or(0);
    let read = file.read_at(&mut bytes[..wanted], start)?;
    Ok(xxh3_64(&bytes[..read]))
}

/// Up to where the file agrees with what we know, by its segments; and how many
/// lines that is.
fn agreement(conn: &Connection, mark: &BoardMark, file: &DataFile) -> Result<(u64, u64), StoreError> {
    let mut segments: Vec<Segment> = conn
        .prepare_cached(SEGMENTS)?
        .query_map([], |row| {
            let number = |at| row.get::<_, i64>(at).map(i64::cast_unsigned);
            Ok(Segment { start: number(0)?, line: number(1)?, hash: number(2)? })
        })?
        .collect::<Result<_, _>>()?;
    segments.push(mark.segment);
    let ends: Vec<u64> = segments.iter().skip(1).map(|segment| segment.start).chain([mark.offset]).collect();
    let mut lines = Lines::from(file, 0);
    for (segment, end) in segments.iter().zip(ends) {
        let mut read = Segment { hash: 0, ..*segment };
        let mut at = segment.start;
        while at < end {
            match lines.next()? {
                Some(line) if line.whole && line.end <= end => {
                    read.take(line.hash);
                    at = line.end;
                }
                _ => return Ok((segment.start, segment.line)),
            }
        }
        if read.hash != segment.hash {
            return Ok((segment.start, segment.line));
        }
    }
    Ok((mark.offset, mark.line))
}
