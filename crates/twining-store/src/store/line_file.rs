//! Tracked files of lines besides the board: appended under the lock, and known again afterwards,
//! so that lines come back that git takes away between two of its own steps.

use std::collections::BTreeSet;

use twining_model::{Anchor, Time, limits};
use xxhash_rust::xxh3::xxh3_64;

use super::store_handle::OpenStore;
use crate::disk::layout::{ANCHORS, Layout, TRACES};
use crate::disk::{Dir, FileHandle};
use crate::error::StoreError;
use crate::format::torn_lines;
use crate::log::board;

/// What rules stopped and people put right.
pub(super) const TRACE_FILE: LineFile = LineFile { name: TRACES, folder: None };
/// Which code records speak of.
pub(super) const ANCHOR_FILE: LineFile = LineFile { name: ANCHORS, folder: Some("anchors") };

/// The file as we left it.
const LAST_STATE: &str = "known";
/// A file that has a second name is copied up to this size.
const COPY_BYTES: usize = 1024 * 1024 * 1024;

/// A tracked file of lines. Whoever writes to it holds the lock.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineFile {
    name: &'static str,
    /// Where this machine keeps what it knows of the file, in its own folder; none for the folder
    /// itself.
    folder: Option<&'static str>,
}

impl LineFile {
    /// The file to append to, after a torn line was mended, and its size.
    pub(super) fn open(&self, layout: &Layout) -> Result<(FileHandle, u64), StoreError> {
        let mut handle = layout.top.create_append(self.name)?;
        if handle.links()? > 1 {
            // Under its other name it is somebody else's file.
            layout.replace(&layout.top, self.name, &handle.read_all(COPY_BYTES)?, false)?;
            handle = layout.top.create_append(self.name)?;
        }
        let mut size = handle.fingerprint()?.size;
        if torn_lines::last_byte(&handle, size)? != b'\n' {
            size = torn_lines::repair_tail(layout, &handle, size)?;
        }
        Ok((handle, size))
    }

    /// Appends whole lines.
    pub(super) fn write(&self, layout: &Layout, lines: &[u8]) -> Result<(), StoreError> {
        if lines.is_empty() {
            return Ok(());
        }
        let (handle, size) = self.open(layout)?;
        // The disk may be full: the part that was written must not stay.
        handle.write(lines).inspect_err(|_| drop(handle.set_len(size)))
    }

    /// Remembers lines that were written and will not be taken back.
    pub(super) fn remember(
        &self,
        layout: &Layout,
        lines: &[u8],
        now: Time,
    ) -> Result<(), StoreError> {
        if lines.is_empty() {
            return Ok(());
        }
        let dir = self.state_dir(layout)?;
        board::append_recent(&dir, lines, now)?;
        self.save_state(layout, &dir)
    }

    /// Whether the file is the one we left, or longer.
    pub(super) fn is_unchanged(&self, layout: &Layout) -> Result<bool, StoreError> {
        let Some(known) = self.state_dir(layout)?.open(LAST_STATE)? else { return Ok(true) };
        let known = String::from_utf8(known.read_all(64).unwrap_or_default()).unwrap_or_default();
        let mut known = known.split_whitespace().map(str::parse::<u64>);
        let (Some(Ok(ino)), Some(Ok(size))) = (known.next(), known.next()) else {
            return Ok(true);
        };
        Ok(layout.top.print(self.name)?.is_some_and(|print| print.ino == ino && print.size >= size))
    }

    /// Lines that the file lacks since somebody else wrote it. Asks git where there are any, which
    /// no hook waits for.
    pub(super) fn lost(&self, store: &OpenStore, now: Time) -> Result<Vec<u8>, StoreError> {
        let layout = &store.layout;
        if self.is_unchanged(layout)? {
            return Ok(Vec::new());
        }
        let file = layout.top.open(self.name)?;
        let written = file.as_ref().map(|file| file.fingerprint()).transpose()?;
        let rewritten =
            written.map_or(now, |print| Time::from_ms(print.mtime_ns / 1_000_000).min(now));
        let dir = self.state_dir(layout)?;
        let lost = board::lost_lines(&dir, file.as_ref(), rewritten, |ids| {
            store.board.in_history(ids, &BTreeSet::new())
        })?;
        if lost.is_empty() {
            // It is as it should be: nobody need ask git again.
            self.save_state(layout, &dir)?;
        }
        Ok(lost)
    }

    /// Brings lines back that the file lacks, and returns them.
    pub(super) fn restore(&self, store: &OpenStore, now: Time) -> Result<Vec<u8>, StoreError> {
        let lost = self.lost(store, now)?;
        self.write(&store.layout, &lost)?;
        self.remember(&store.layout, &lost, now)?;
        Ok(lost)
    }

    fn state_dir(&self, layout: &Layout) -> Result<Dir, StoreError> {
        let dir = machine_dir(layout)?;
        self.folder.map_or(Ok(dir.clone()), |folder| dir.make_dir(folder))
    }

    /// Remembers how we left the file.
    fn save_state(&self, layout: &Layout, dir: &Dir) -> Result<(), StoreError> {
        match layout.top.print(self.name)? {
            // In place and always as long: a new file in the old one's stead makes the disk wait
            // for its bytes, and half of this says at worst that somebody should look.
            Some(print) => dir
                .create_random_access(LAST_STATE)?
                .write_at(format!("{:20} {:20}\n", print.ino, print.size).as_bytes(), 0),
            None => dir.remove(LAST_STATE).map(drop),
        }
    }
}

/// Opens the folder for machine-local data. Its name identifies the `local/` it was made in: one
/// that came with a clone is never opened.
pub(crate) fn machine_dir(layout: &Layout) -> Result<Dir, StoreError> {
    layout.local.make_dir(&format!("own-{:016x}", xxh3_64(layout.local.identity()?.as_bytes())))
}

/// Anchors as lines; one that says more than a line may hold is refused.
pub(super) fn anchor_lines(anchors: &[Anchor]) -> Result<Vec<u8>, StoreError> {
    for anchor in anchors {
        anchor.check().map_err(|error| {
            StoreError::Encode(serde::de::Error::custom(format!("anchor {}: {error}", anchor.id)))
        })?;
    }
    torn_lines::to_json_lines(anchors, limits::ANCHOR_BYTES)
}
