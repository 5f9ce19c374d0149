//! Anchors as rows: every line of the file, by the place where it begins. Which of the lines for
//! one record and place counts is asked of the rows.

use rusqlite::params;
use twining_model::{Anchor, limits};
use xxhash_rust::xxh3::xxh3_64;

use super::board_sync::{IndexUpdate, SMALL_BYTES, clip, sum_of};
use super::entry_rows::{check_id, time_of};
use crate::disk::layout::ANCHORS;
use crate::disk::{FileHandle, Fingerprint};
use crate::error::StoreError;
use crate::format::torn_lines::{FileLine, LineReader};
use crate::index::database_files::AnchorsPosition;
use crate::log::store_files::{OpenLines, StoreFiles};
use crate::merge::{HAS_CONFLICT_MARKERS, is_marker};

/// The bytes before the known end that are compared before a long file is read on.
const PAGE: usize = 4096;

const ROWS: &str = "SELECT pos, sum FROM anchor ORDER BY pos";
const INSERT: &str = "INSERT INTO anchor(pos, id, record, place, path, path_key, last_name, at, event, raw, sum) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
const DELETE_FROM: &str = "DELETE FROM anchor WHERE pos >= ?1";

impl IndexUpdate<'_> {
    /// Brings the rows up to the file of anchors.
    pub(super) fn anchors(&mut self, files: &StoreFiles) -> Result<(), StoreError> {
        let file = match files.anchors() {
            // A link or a pipe is not followed; its own state shows when it changes.
            Err(error @ (StoreError::Unsafe { .. } | StoreError::Damaged { .. })) => {
                self.drop_anchors_from(0, 0)?;
                self.known.anchors.print = files.anchors_fingerprint()?;
                return self.report_unreadable(ANCHORS, 0, None, &error.to_string());
            }
            file => file?,
        };
        let Some(file) = file else {
            return if self.known.anchors == AnchorsPosition::default() {
                Ok(())
            } else {
                self.drop_anchors_from(0, 0)
            };
        };
        let mark = self.known.anchors;
        if mark.print == Some(file.print) {
            return Ok(());
        }
        let grew = mark.offset > SMALL_BYTES
            && mark.print.is_some_and(|known| {
                known.ino == file.print.ino
                    && known.size < file.print.size
                    && mark.offset <= file.print.size
            });
        let (from, line) = if grew && hash_before(&file.handle, mark.offset)? == mark.before {
            (mark.offset, mark.line)
        } else {
            self.common_anchors(&file)?
        };
        self.drop_anchors_from(from, line)?;
        self.read_new_anchors(&file)
    }

    /// Up to where the file agrees with the rows, and how many lines that is.
    fn common_anchors(&self, file: &OpenLines) -> Result<(u64, u64), StoreError> {
        let mut statement = self.conn.prepare_cached(ROWS)?;
        let mut rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let mut next: Option<(i64, i64)> = rows.next().transpose()?;
        let mut lines = LineReader::from(&file.handle, 0, file.print.size);
        let mut agreed = (0, 0);
        while let Some(line) = lines.next()? {
            let Some(text) = line.text.clone().filter(|_| line.whole) else { break };
            let raw = trimmed(line.pos, lines.bytes(text));
            let known = next.filter(|(pos, _)| *pos == line.pos.cast_signed());
            match known {
                Some((_, sum)) if sum == xxh3_64(raw).cast_signed() => {
                    next = rows.next().transpose()?;
                }
                None if raw.is_empty() => {}
                _ => break,
            }
            if line.end > self.known.anchors.offset {
                break;
            }
            agreed = (line.end, agreed.1 + 1);
        }
        Ok(agreed)
    }

    /// Forgets every line from `from` on.
    fn drop_anchors_from(&mut self, from: u64, line: u64) -> Result<(), StoreError> {
        let dropped = self.conn.prepare_cached(DELETE_FROM)?.execute([from.cast_signed()])?;
        self.rows += dropped as u64;
        self.clear_reports(ANCHORS, from)?;
        self.known.anchors = AnchorsPosition { offset: from, line, ..AnchorsPosition::default() };
        Ok(())
    }

    fn read_new_anchors(&mut self, file: &OpenLines) -> Result<(), StoreError> {
        let print = file.print;
        let mut lines = LineReader::from(&file.handle, self.known.anchors.offset, print.size);
        while let Some(line) = lines.next()? {
            let bytes = line.text.clone().map(|text| lines.bytes(text));
            self.take_anchor(&line, bytes)?;
            if !line.whole {
                break;
            }
            let mark = &mut self.known.anchors;
            mark.offset = line.end;
            mark.line += 1;
            // Should we be killed after the commit in here, the next one compares all lines.
            mark.print = Some(Fingerprint { size: line.end, mtime_ns: 0, ..print });
            self.commit_periodically()?;
        }
        self.known.anchors.print = Some(print);
        self.known.anchors.before = hash_before(&file.handle, self.known.anchors.offset)?;
        Ok(())
    }

    fn take_anchor(&mut self, line: &FileLine, bytes: Option<&[u8]>) -> Result<(), StoreError> {
        let number = self.known.anchors.line + 1;
        let read = match bytes {
            None => Err("a line that exceeds the maximum record size".to_owned()),
            Some(bytes) => read_line(trimmed(line.pos, bytes)),
        };
        match read {
            Ok(None) => Ok(()),
            Ok(Some((raw, anchor))) => self.insert_anchor(line.pos, raw, &anchor),
            Err(why) if line.whole => self.report_unreadable(ANCHORS, line.pos, Some(number), &why),
            Err(why) => self.report_unreadable(
                ANCHORS,
                line.pos,
                Some(number),
                &format!("the last line is not complete: {why}"),
            ),
        }
    }

    fn insert_anchor(&self, pos: u64, raw: &str, anchor: &Anchor) -> Result<(), StoreError> {
        self.conn.prepare_cached(INSERT)?.execute(params![
            pos.cast_signed(),
            anchor.id,
            anchor.of.to_string(),
            anchor.at.to_string(),
            anchor.at.path(),
            anchor.at.path_key(self.folding),
            anchor.at.last_name(),
            time_of(&anchor.timestamp, &anchor.id),
            clip(&anchor.event, limits::NAME_BYTES),
            raw,
            sum_of(raw)
        ])?;
        Ok(())
    }
}

/// A line without what is around its record.
fn trimmed(pos: u64, bytes: &[u8]) -> &[u8] {
    let bytes = if pos == 0 { bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes) } else { bytes };
    bytes.trim_ascii()
}

/// What a line holds: an anchor with its text, nothing, or damage.
fn read_line(bytes: &[u8]) -> Result<Option<(&str, Anchor)>, String> {
    if bytes.is_empty() {
        return Ok(None);
    }
    if is_marker(bytes) {
        return Err(HAS_CONFLICT_MARKERS.to_owned());
    }
    if bytes.len() > limits::ANCHOR_BYTES {
        return Err("an anchor that exceeds its maximum size".to_owned());
    }
    let raw = std::str::from_utf8(bytes).map_err(|_| "not UTF-8")?;
    let anchor: Anchor =
        serde_json::from_str(raw).map_err(|error| format!("not an anchor: {error}"))?;
    check_id(&anchor.id)?;
    Ok(Some((raw, anchor)))
}

/// The hash of the bytes before a place, a page of them at most.
fn hash_before(handle: &FileHandle, place: u64) -> Result<u64, StoreError> {
    let mut page = [0; PAGE];
    let length = usize::try_from(place).unwrap_or(PAGE).min(PAGE);
    let read = handle.read_at(&mut page[..length], place - length as u64)?;
    Ok(xxh3_64(&page[..read]))
}
