//! Traces on disk: `traces.jsonl`, appended under the lock.
//!
//! A hook must neither wait nor fail because of a trace. Where the lock is taken,
//! or git is at work, the line goes to a file of its own in `local/`, which the
//! next one who has the lock brings in: exactly once, because a file is given
//! another name before its line is written, and after a crash only files of that
//! name are looked for in the traces.
//!
//! What this machine wrote it knows again by a list of hashes in a folder named
//! after the identity of `local/`. A clone can bring neither, so a line that came
//! with one is known to.

use std::collections::HashSet;
use std::sync::Arc;

use serde::de::IgnoredAny;
use twining_model::{Time, Trace, limits};
use xxhash_rust::xxh3::xxh3_64;

use super::line_file::{TRACE_FILE, machine_dir};
use super::project_store::Store;
use super::store_handle::OpenStore;
use crate::disk::layout::{Layout, TRACES, random_bits};
use crate::disk::{Dir, FileHandle, Fingerprint};
use crate::error::StoreError;
use crate::format::torn_lines::{FileLine, LineReader};
use crate::format::{array, torn_lines};

const SPOOL: &str = "spool";
const WAITING: &str = "waiting-";
const TAKEN: &str = "taken-";
/// One hash a line.
const OWN_HASHES: &str = "own";
/// Bytes of the list of hashes that are read: a million of them.
const OWN_BYTES: u64 = 17 * 1024 * 1024;

/// What became of traces that could not wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppendOutcome {
    /// They are in the file.
    Written,
    /// They wait in `local/`.
    Spooled,
    /// There is no memory to leave them in.
    NoStore,
}

/// A trace as it was read.
pub struct StoredTrace<'a> {
    /// Its line, without the newline.
    pub line: &'a [u8],
    /// Its id.
    pub id: &'a str,
    /// Where the line begins in the file.
    pub offset: u64,
    /// Whether this machine wrote it.
    pub written_here: bool,
}

/// How far a reader has come in the file of traces, which it need not read again.
#[derive(Clone, Debug, Default)]
pub struct TraceCursor {
    /// The file it was in.
    print: Option<Fingerprint>,
    /// Where the first line begins that it has not seen.
    next: u64,
    /// Hash of the bytes before that.
    before: u64,
    /// Hashes of the ids it has seen.
    known: HashSet<u64>,
}

/// The file of traces, and what hooks left for it.
#[derive(Clone, Copy, Debug)]
pub struct Traces<'s>(&'s Store);

impl Traces<'_> {
    /// Leaves traces without waiting for anybody. Makes no folder.
    pub fn append_or_spool(&self, traces: &[Trace]) -> Result<AppendOutcome, StoreError> {
        let lines = lines_of(traces)?;
        let Some(store) = self.0.open_for_hooks()? else { return Ok(AppendOutcome::NoStore) };
        if lines.is_empty() {
            return Ok(AppendOutcome::Written);
        }
        // What git writes now, it may write over us.
        let guard = if store.board.git_is_busy() { None } else { store.lock.try_acquire()? };
        // If git rewrote the file, a process that can wait checks what it lacks.
        if guard.is_none() || !TRACE_FILE.is_unchanged(&store.layout)? {
            spool(&store.layout, &lines)?;
            return Ok(AppendOutcome::Spooled);
        }
        let now = self.0.ids().now();
        drain(&store.layout, now)?;
        append(&store.layout, &lines, now)?;
        Ok(AppendOutcome::Written)
    }

    /// Brings in what hooks left, if nobody has the lock; how many there were.
    pub fn drain(&self) -> Result<usize, StoreError> {
        let Some(store) = self.0.open_for_hooks()? else { return Ok(0) };
        let nothing_waits = machine_dir(&store.layout)?.open_dir(SPOOL)?.is_none()
            && TRACE_FILE.is_unchanged(&store.layout)?;
        if nothing_waits || store.board.git_is_busy() {
            return Ok(0);
        }
        let Some(_guard) = store.lock_briefly()? else { return Ok(0) };
        let now = self.0.ids().now();
        TRACE_FILE.restore(&store, now)?;
        drain(&store.layout, now)
    }

    /// Shows every trace, oldest line first, each id once; `false` ends it.
    pub fn each(&self, see: &mut dyn FnMut(&StoredTrace<'_>) -> bool) -> Result<(), StoreError> {
        let Some(store) = self.0.open_for_reading()? else { return Ok(()) };
        let Some(handle) = store.layout.top.open(TRACES)? else { return Ok(()) };
        let own = own_lines(&store.layout)?;
        // git's union of two branches may hold a line twice.
        let mut known: HashSet<u64> = HashSet::new();
        each_line(&handle, 0, &mut |line, bytes| show(&line, bytes, &own, &mut known, see))
    }

    /// Shows the traces that came since the cursor was here. False where the file is another
    /// one by now: then nothing was shown, and a new cursor begins at its start.
    pub fn each_since(
        &self,
        cursor: &mut TraceCursor,
        see: &mut dyn FnMut(&StoredTrace<'_>),
    ) -> Result<bool, StoreError> {
        let Some(store) = self.0.open_for_reading()? else { return Ok(cursor.print.is_none()) };
        let Some(handle) = store.layout.top.open(TRACES)? else {
            return Ok(cursor.print.is_none());
        };
        let print = handle.fingerprint()?;
        if cursor.print == Some(print) {
            return Ok(true);
        }
        let grew = |was: Fingerprint| was.ino == print.ino && print.size > was.size;
        if cursor.print.is_some_and(|was| !grew(was))
            || hash_before(&handle, cursor.next)? != cursor.before
        {
            return Ok(false);
        }
        let own = own_lines(&store.layout)?;
        let TraceCursor { next, known, .. } = cursor;
        each_line(&handle, *next, &mut |line, bytes| {
            // One that is still being written comes next time.
            if line.whole {
                *next = line.end;
                show(&line, bytes, &own, known, &mut |stored| {
                    see(stored);
                    true
                });
            }
            true
        })?;
        cursor.before = hash_before(&handle, cursor.next)?;
        cursor.print = Some(print);
        Ok(true)
    }

    /// The lines that begin at these places, each with its place; those that are no
    /// longer there are left out.
    pub fn at(&self, offsets: &[u64]) -> Result<Vec<(u64, Trace)>, StoreError> {
        let Some(store) = self.0.open_for_reading()? else { return Ok(Vec::new()) };
        let Some(handle) = store.layout.top.open(TRACES)? else { return Ok(Vec::new()) };
        let mut buffer = vec![0; limits::TRACE_BYTES * 4];
        let mut traces = Vec::new();
        for offset in offsets {
            let read = handle.read_at(&mut buffer, *offset)?;
            let line = buffer[..read].split(|byte| *byte == b'\n').next().unwrap_or_default();
            traces.extend(serde_json::from_slice::<Trace>(line).ok().map(|trace| (*offset, trace)));
        }
        Ok(traces)
    }
}

impl Store {
    /// What rules stopped and people put right.
    #[must_use]
    pub fn traces(&self) -> Traces<'_> {
        Traces(self)
    }

    /// Returns the store if hooks may write to it.
    pub(crate) fn open_for_hooks(&self) -> Result<Option<Arc<OpenStore>>, StoreError> {
        match self.open_for_reading()? {
            Some(store) if store.layout.scratch_dir.is_none() => self.open_for_writing().map(Some),
            _ => Ok(None),
        }
    }
}

pub(crate) fn lines_of(traces: &[Trace]) -> Result<Vec<u8>, StoreError> {
    torn_lines::to_json_lines(traces, limits::TRACE_BYTES)
}

/// Appends whole lines that this machine vouches for. The caller holds the lock.
pub(crate) fn append(layout: &Layout, lines: &[u8], now: Time) -> Result<(), StoreError> {
    if lines.is_empty() {
        return Ok(());
    }
    // Known before they are there: a crash in between leaves a hash too many, not a trace nobody believes.
    let hashes: String = lines_in(lines).map(|line| format!("{:016x}\n", xxh3_64(line))).collect();
    torn_lines::append_after_torn_line(
        &machine_dir(layout)?.create_append(OWN_HASHES)?,
        hashes.as_bytes(),
    )?;
    append_lines(layout, lines, now)
}

/// Appends whole lines. The caller holds the lock.
pub(crate) fn append_lines(layout: &Layout, lines: &[u8], now: Time) -> Result<(), StoreError> {
    TRACE_FILE.write(layout, lines)?;
    TRACE_FILE.remember(layout, lines, now)
}

fn own_lines(layout: &Layout) -> Result<HashSet<u64>, StoreError> {
    let Some(handle) = machine_dir(layout)?.open(OWN_HASHES)? else { return Ok(HashSet::new()) };
    // The newest, where there are more than anybody counts.
    let (bytes, _) = handle.read_tail(OWN_BYTES)?;
    let hash = |line: &[u8]| {
        (line.len() == 16)
            .then(|| u64::from_str_radix(std::str::from_utf8(line).ok()?, 16).ok())
            .flatten()
    };
    Ok(bytes.split(|byte| *byte == b'\n').filter_map(hash).collect())
}

/// One file for what one hook leaves, in place all at once.
fn spool(layout: &Layout, lines: &[u8]) -> Result<(), StoreError> {
    let dir = machine_dir(layout)?.make_dir(SPOOL)?;
    if dir.list()?.len() >= limits::SPOOLED_TRACES {
        return Err(StoreError::Damaged {
            what: format!("{} traces are already queued", limits::SPOOLED_TRACES),
        });
    }
    let name = format!("{WAITING}{:032x}", random_bits()?);
    match layout.replace(&dir, &name, lines, false) {
        // The last drain removed the empty folder.
        Err(StoreError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            layout.replace(&machine_dir(layout)?.make_dir(SPOOL)?, &name, lines, false)
        }
        done => done,
    }
}

/// Brings in what waits. The caller holds the lock.
pub(crate) fn drain(layout: &Layout, now: Time) -> Result<usize, StoreError> {
    let machine_dir = machine_dir(layout)?;
    let Some(dir) = machine_dir.open_dir(SPOOL)? else { return Ok(0) };
    let names = dir.list()?;
    let (mut fresh, mut again) = (Vec::new(), Vec::new());
    let mut taken: Vec<String> = Vec::new();
    for name in &names {
        if let Some(rest) = name.strip_prefix(WAITING) {
            let renamed = format!("{TAKEN}{rest}");
            dir.rename(name, &dir, &renamed)?;
            fresh.extend(read_spooled(&dir, &renamed)?);
            taken.push(renamed);
        } else if name.starts_with(TAKEN) {
            // Somebody was killed with it in hand: it may be written or not.
            again.extend(read_spooled(&dir, name)?);
            taken.push(name.clone());
        }
    }
    if !again.is_empty()
        && let Some(handle) = layout.top.open(TRACES)?
    {
        let mut missing: HashSet<String> = lines_in(&again).filter_map(torn_lines::id_of).collect();
        torn_lines::remove_present_ids(&handle, &mut missing)?;
        let unwritten = lines_in(&again)
            .filter(|line| torn_lines::id_of(line).is_some_and(|id| missing.contains(&id)));
        again = unwritten.flat_map(|line| [line, b"\n"].concat()).collect();
    }
    again.extend(fresh);
    append(layout, &again, now)?;
    for name in taken {
        dir.remove(&name)?;
    }
    // Another hook may be leaving one now; then the folder stays.
    drop(machine_dir.remove_empty_dir(SPOOL));
    Ok(lines_in(&again).count())
}

/// The whole lines of a spooled file that are traces.
fn read_spooled(dir: &Dir, name: &str) -> Result<Vec<u8>, StoreError> {
    let Some(handle) = dir.open(name)? else { return Ok(Vec::new()) };
    let bytes = handle.read_all(limits::TRACE_BYTES * 16).unwrap_or_default();
    let whole = |line: &&[u8]| {
        torn_lines::id_of(line).is_some() && serde_json::from_slice::<IgnoredAny>(line).is_ok()
    };
    Ok(lines_in(&bytes).filter(whole).flat_map(|line| [line, b"\n"].concat()).collect())
}

fn lines_in(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}

/// Every line of a file, in bounded memory: one longer than a record is passed over.
fn each_line(
    handle: &FileHandle,
    from: u64,
    see: &mut dyn FnMut(FileLine, &[u8]) -> bool,
) -> Result<(), StoreError> {
    let mut lines = LineReader::from(handle, from, handle.fingerprint()?.size);
    while let Some(line) = lines.next()? {
        // A last line that only lacks its newline counts; a torn one is not JSON and readers skip
        // it.
        let text = line.text.clone();
        let text = text.map_or(&[][..], |text| lines.bytes(text).trim_ascii_end());
        if !see(line, text) {
            break;
        }
    }
    Ok(())
}

/// Shows a line that is a trace, the first time its id is met.
fn show(
    line: &FileLine,
    bytes: &[u8],
    own: &HashSet<u64>,
    known: &mut HashSet<u64>,
    see: &mut dyn FnMut(&StoredTrace<'_>) -> bool,
) -> bool {
    let Some(id) = std::str::from_utf8(bytes).ok().and_then(array::id_of) else { return true };
    if !known.insert(xxh3_64(id.as_bytes())) {
        return true;
    }
    let written_here = own.contains(&xxh3_64(bytes));
    see(&StoredTrace { line: bytes, id: &id, offset: line.pos, written_here })
}

/// The hash of the bytes before a place, a page of them at most.
fn hash_before(handle: &FileHandle, place: u64) -> Result<u64, StoreError> {
    if place == 0 {
        return Ok(0);
    }
    let mut page = [0; 4096];
    let length = usize::try_from(place).unwrap_or(page.len()).min(page.len());
    let read = handle.read_at(&mut page[..length], place - length as u64)?;
    Ok(xxh3_64(&page[..read]))
}
