//! The blackboard: usually a few new lines at the end; after a git operation, anything. Ranges of
//! lines are identified by their hashes, so that only what follows the first difference is read
//! again.

use rusqlite::{Connection, OptionalExtension, Row, params};
use twining_model::scope::CaseFolding;
use twining_model::{Entry, limits, text};
use xxhash_rust::xxh3::xxh3_64;

use crate::disk::Fingerprint;
use crate::disk::layout::BOARD;
use crate::error::StoreError;
use crate::format::torn_lines::{FileLine, LineReader};
use crate::index::database_files::{BoardPosition, IndexedFiles, Segment};
use crate::index::view::{CountDeltas, CountKind};
use crate::log::store_files::{DecisionsChanged, OpenLines, StoreFiles};
use crate::merge::{HAS_CONFLICT_MARKERS, is_marker};

/// A segment of this size is closed by the next line.
const SEGMENT_BYTES: u64 = 64 * 1024;
/// A board up to this size is compared as a whole whenever it changed. Above, an
/// edit in place that keeps the length goes unnoticed if a program that is not us
/// appends to the same file before anybody looks; our own writers count it.
pub(super) const SMALL_BYTES: u64 = 256 * 1024;
/// Above this many bytes to remove and reread, rebuilding is faster.
const REWRITE_BYTES: u64 = 8 * 1024 * 1024;

const SEGMENTS: &str = "SELECT start, line, hash FROM segment ORDER BY start";
const CLOSE_SEGMENT: &str = "INSERT INTO segment(start, line, hash) VALUES(?1, ?2, ?3)";
const FORGET_SEGMENTS: &str = "DELETE FROM segment WHERE start >= ?1";
const REOPEN_SEGMENT: &str = "DELETE FROM segment WHERE start = (SELECT max(start) FROM segment)
    RETURNING start, line, hash";

/// What to do about the blackboard.
pub(in crate::index) struct BoardPlan {
    /// The writers' count of changes from outside, read before the board was.
    epoch: u64,
    step: BoardStep,
}

enum BoardStep {
    /// Nothing changed.
    Unchanged,
    /// Keep the lines before `from`, and read on from there.
    Read {
        /// The file.
        file: OpenLines,
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
pub(in crate::index) fn plan(
    conn: &Connection,
    known: &IndexedFiles,
    files: &StoreFiles,
) -> Result<BoardPlan, StoreError> {
    let epoch = files.lock_state().epoch;
    Ok(BoardPlan { epoch, step: step(conn, &known.board, epoch, files)? })
}

fn step(
    conn: &Connection,
    mark: &BoardPosition,
    epoch: u64,
    files: &StoreFiles,
) -> Result<BoardStep, StoreError> {
    let file = match files.board() {
        // A link or a pipe is not followed; its own state shows when it changes.
        Err(error @ (StoreError::Unsafe { .. } | StoreError::Damaged { .. })) => {
            return Ok(BoardStep::Nothing {
                print: files.board_fingerprint()?,
                why: Some(error.to_string()),
            });
        }
        other => other?,
    };
    let Some(file) = file else { return Ok(BoardStep::Nothing { print: None, why: None }) };
    let print = file.print;
    if mark.epoch == epoch && mark.print == Some(print) {
        return Ok(BoardStep::Unchanged);
    }
    let grew = mark.offset > SMALL_BYTES
        && mark.epoch == epoch
        && mark.print.is_some_and(|known| {
            known.ino == print.ino && known.size < print.size && mark.offset <= print.size
        });
    let end = (mark.offset, mark.line);
    let (from, line) = if grew && common_prefix(&[mark.segment], mark, &file)? == end {
        end
    } else {
        common_prefix(&segments(conn, mark)?, mark, &file)?
    };
    Ok(BoardStep::Read { file, from, line })
}

impl BoardPlan {
    /// Whether a full rebuild is faster.
    pub(in crate::index) fn prefers_rebuild(&self, known: &IndexedFiles) -> bool {
        let mark = &known.board;
        match &self.step {
            BoardStep::Unchanged => false,
            BoardStep::Nothing { .. } => mark.offset > REWRITE_BYTES,
            BoardStep::Read { file, from, .. } => {
                let rewritten =
                    mark.offset.saturating_sub(*from).max(file.print.size.saturating_sub(*from));
                rewritten > REWRITE_BYTES && rewritten > from / 2
            }
        }
    }
}

impl IndexUpdate<'_> {
    /// Brings the entries up to the blackboard.
    pub(super) fn board(&mut self, BoardPlan { epoch, step }: BoardPlan) -> Result<(), StoreError> {
        match step {
            BoardStep::Unchanged => {}
            BoardStep::Nothing { print, why } => {
                self.truncate_to(0, 0)?;
                self.known.board = BoardPosition { print, epoch, ..BoardPosition::default() };
                if let Some(why) = why {
                    self.report_unreadable(BOARD, 0, None, &why)?;
                }
            }
            BoardStep::Read { file, from, line } => {
                self.truncate_to(from, line)?;
                self.known.board.epoch = epoch;
                self.read_new_lines(&file)?;
                self.known.board.print = Some(file.print);
            }
        }
        Ok(())
    }

    /// Forgets every line from `from` on.
    fn truncate_to(&mut self, from: u64, line: u64) -> Result<(), StoreError> {
        self.pop_from(from)?;
        self.clear_reports(BOARD, from)?;
        let mark = &mut self.known.board;
        if from < mark.offset {
            self.conn.prepare_cached(FORGET_SEGMENTS)?.execute([from.cast_signed()])?;
            // A segment is closed by the line after it, which is gone now.
            let last = self.conn.prepare_cached(REOPEN_SEGMENT)?.query_row([], segment_of);
            mark.segment = last.optional()?.unwrap_or_default();
        }
        mark.offset = from;
        mark.line = line;
        Ok(())
    }

    fn read_new_lines(&mut self, file: &OpenLines) -> Result<(), StoreError> {
        let print = file.print;
        let mut lines = LineReader::from(&file.handle, self.known.board.offset, file.print.size);
        while let Some(line) = lines.next()? {
            let bytes = line.text.clone().map(|text| lines.bytes(text));
            self.take_line(&line, bytes)?;
            if !line.whole {
                break;
            }
            let mark = &mut self.known.board;
            if mark.offset - mark.segment.start >= SEGMENT_BYTES {
                let Segment { start, line, hash } = mark.segment;
                self.conn.prepare_cached(CLOSE_SEGMENT)?.execute(params![
                    start.cast_signed(),
                    line.cast_signed(),
                    hash.cast_signed()
                ])?;
                mark.segment = Segment { start: mark.offset, line: mark.line, hash: 0 };
            }
            mark.offset = line.end;
            mark.line += 1;
            mark.segment.take(line.hash);
            // Should we be killed after the commit in here, the next one goes on as after an append.
            mark.print = Some(Fingerprint { size: line.end, mtime_ns: 0, ..print });
            self.commit_periodically()?;
        }
        Ok(())
    }

    fn take_line(&mut self, line: &FileLine, bytes: Option<&[u8]>) -> Result<(), StoreError> {
        let number = self.known.board.line + 1;
        let read = match bytes {
            None => Err("a line that exceeds the maximum record size".to_owned()),
            Some(bytes) => read_line(line.pos, bytes),
        };
        match read {
            Ok(None) => Ok(()),
            Ok(Some((raw, entry))) => self.push(line.pos, raw, &entry),
            Err(why) if line.whole => self.report_unreadable(BOARD, line.pos, Some(number), &why),
            Err(why) => self.report_unreadable(
                BOARD,
                line.pos,
                Some(number),
                &format!("the last line is not complete: {why}"),
            ),
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
        return Err(HAS_CONFLICT_MARKERS.to_owned());
    }
    let raw = std::str::from_utf8(bytes).map_err(|_| "not UTF-8")?;
    let entry: Entry =
        serde_json::from_str(raw).map_err(|error| format!("not an entry: {error}"))?;
    super::entry_rows::check_id(&entry.id)?;
    Ok(Some((raw, entry)))
}

/// The stretches of lines that are known.
fn segments(conn: &Connection, mark: &BoardPosition) -> Result<Vec<Segment>, StoreError> {
    let mut statement = conn.prepare_cached(SEGMENTS)?;
    let closed = statement.query_map([], segment_of)?;
    Ok(closed.chain([Ok(mark.segment)]).collect::<Result<_, _>>()?)
}

fn segment_of(row: &Row<'_>) -> rusqlite::Result<Segment> {
    let number = |at| row.get::<_, i64>(at).map(i64::cast_unsigned);
    Ok(Segment { start: number(0)?, line: number(1)?, hash: number(2)? })
}

/// Up to where the file agrees with what we know, by these of its segments, the last
/// among them; and how many lines that is.
fn common_prefix(
    segments: &[Segment],
    mark: &BoardPosition,
    file: &OpenLines,
) -> Result<(u64, u64), StoreError> {
    let ends = segments.iter().skip(1).map(|segment| segment.start).chain([mark.offset]);
    let mut lines = LineReader::from(&file.handle, segments[0].start, file.print.size);
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

/// How a transaction is paced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommitPace {
    /// Others read meanwhile: commit now and then, so that no transaction grows
    /// without bound.
    Shared,
    /// Nobody knows the file yet: one transaction.
    Bulk,
}

/// One bringing-up-to-date: a transaction, and what it has learnt so far.
pub(crate) struct IndexUpdate<'c> {
    pub(super) conn: &'c Connection,
    pub(super) folding: CaseFolding,
    pace: CommitPace,
    pub(super) known: IndexedFiles,
    pub(super) deltas: CountDeltas,
    pub(super) rows: u64,
    finished: bool,
}

pub(super) const BEGIN: &str = "BEGIN IMMEDIATE";
pub(super) const COMMIT: &str = "COMMIT";
pub(super) const ROLLBACK: &str = "ROLLBACK";
pub(super) const ROWS_AT_ONCE: u64 = 20_000;

pub(super) const REPORT_UNREADABLE: &str =
    "INSERT INTO unreadable(file, at, line, why) VALUES(?1, ?2, ?3, ?4)";
pub(super) const CLEAR_REPORTS: &str = "DELETE FROM unreadable WHERE file = ?1 AND at >= ?2";
pub(super) const WHY_CHARS: usize = 200;

/// Does everything there is to do; returns how many records were read.
pub(crate) fn run(
    conn: &Connection,
    pace: CommitPace,
    files: &StoreFiles,
    board: BoardPlan,
    changed: &DecisionsChanged,
) -> Result<u64, StoreError> {
    let mut update = IndexUpdate::begin(conn, files.folding, pace)?;
    update.board(board)?;
    update.decisions(files, changed)?;
    update.graph(files)?;
    update.anchors(files)?;
    update.finish()
}

impl<'c> IndexUpdate<'c> {
    fn begin(
        conn: &'c Connection,
        folding: CaseFolding,
        pace: CommitPace,
    ) -> Result<Self, StoreError> {
        conn.execute_batch(BEGIN)?;
        let known = IndexedFiles::load(conn);
        let mut update = Self {
            conn,
            folding,
            pace,
            known: IndexedFiles::default(),
            deltas: CountDeltas::default(),
            rows: 0,
            finished: false,
        };
        update.known = known?;
        Ok(update)
    }

    /// Counts a record, and commits if many have come together. What is known
    /// must be true of the rows whenever this is called.
    pub(super) fn commit_periodically(&mut self) -> Result<(), StoreError> {
        self.rows += 1;
        if self.rows.is_multiple_of(ROWS_AT_ONCE) {
            self.write()?;
            if self.pace == CommitPace::Shared {
                self.conn.execute_batch(COMMIT)?;
                self.conn.execute_batch(BEGIN)?;
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<u64, StoreError> {
        self.write()?;
        self.conn.execute_batch(COMMIT)?;
        self.finished = true;
        Ok(self.rows)
    }

    fn write(&mut self) -> Result<(), StoreError> {
        self.deltas.flush(self.conn)?;
        self.known.save(self.conn)?;
        Ok(())
    }

    /// The row that a statement finds by an id, if there is one.
    pub(super) fn find<T>(&self, sql: &str, id: &str) -> Result<Option<T>, StoreError>
    where
        T: for<'r> TryFrom<&'r Row<'r>, Error = rusqlite::Error>,
    {
        Ok(self.conn.prepare_cached(sql)?.query_row([id], |row| T::try_from(row)).optional()?)
    }

    pub(super) fn is_true(&self, sql: &str, id: &str) -> Result<bool, StoreError> {
        Ok(self.conn.prepare_cached(sql)?.query_row([id], |row| row.get(0))?)
    }

    /// Reports what could not be read.
    pub(super) fn report_unreadable(
        &mut self,
        file: &str,
        at: u64,
        line: Option<u64>,
        why: &str,
    ) -> Result<(), StoreError> {
        let why = text::excerpt(why, WHY_CHARS);
        self.conn.prepare_cached(REPORT_UNREADABLE)?.execute(params![
            file,
            at.cast_signed(),
            line.map(u64::cast_signed),
            why
        ])?;
        self.deltas.add(CountKind::Unreadable, 1);
        Ok(())
    }

    /// Takes back what was reported of a file, from one place on.
    pub(super) fn clear_reports(&mut self, file: &str, from: u64) -> Result<(), StoreError> {
        let removed =
            self.conn.prepare_cached(CLEAR_REPORTS)?.execute(params![file, from.cast_signed()])?;
        self.deltas.add(CountKind::Unreadable, -i64::try_from(removed).unwrap_or(0));
        Ok(())
    }
}

impl Drop for IndexUpdate<'_> {
    fn drop(&mut self) {
        if !self.finished {
            // What went wrong is on its way to the caller; a failed rollback adds nothing to it.
            drop(self.conn.execute_batch(ROLLBACK));
        }
    }
}

/// The checksum of a stored text.
pub(crate) fn sum_of(raw: &str) -> i64 {
    xxh3_64(raw.as_bytes()).cast_signed()
}

/// The texts of a list as keys, sorted, each once.
pub(super) fn keys(texts: &[String]) -> Vec<&str> {
    let mut keys: Vec<&str> =
        texts.iter().take(limits::LIST).map(|text| clip(text, limits::ELEMENT_BYTES)).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// A text as a key: at most `most` bytes, cut between characters. Files may hold
/// anything, and an index page should not.
pub(crate) fn clip(text: &str, max_bytes: usize) -> &str {
    if text.len() <= max_bytes { text } else { &text[..text.floor_char_boundary(max_bytes)] }
}
