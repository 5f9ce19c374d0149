//! Queues that hooks write without a lock: `pending-posts.jsonl` and `pending-actions.jsonl`. Each
//! line is taken exactly once, whichever process drains.
//!
//! The file is first renamed, so that hooks start a new one. A hook that had it open may still
//! write to it, so it is kept a while and rechecked. Lines become entries through the journal,
//! together with the file's name: after a crash either both are there or neither.

use serde_json::json;
use twining_model::{Time, limits};

use crate::disk::FileKind;
use crate::disk::layout::{Layout, random_bits};
use crate::error::StoreError;
use crate::format::torn_lines;
use crate::log::journal::DrainedFile;

/// Where bad lines go.
const REJECTED: &str = "pending-rejected.jsonl";
/// How long a drained file is kept for late writers.
const GRACE_NS: i64 = 2_000_000_000;
const QUEUE_BYTES: usize = 64 * 1024 * 1024;

/// Which queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Queue {
    /// Entries to post.
    Posts,
    /// Things to do.
    Actions,
}

/// What came of draining a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DrainCount {
    /// Lines that were good.
    pub taken: u64,
    /// Lines that were set aside.
    pub rejected: u64,
}

impl Queue {
    fn file(self) -> &'static str {
        ["pending-posts.jsonl", "pending-actions.jsonl"][self as usize]
    }

    fn prefix(self) -> &'static str {
        ["posts-", "actions-"][self as usize]
    }
}

/// Whether there may be something to drain; cheap, asked before every call.
pub(crate) fn has_new_lines(layout: &Layout, queue: Queue) -> Result<bool, StoreError> {
    Ok(layout
        .top
        .stat(queue.file())?
        .is_some_and(|(kind, print)| kind != FileKind::File || print.size > 0))
}

/// Adds a line, in one write.
pub(crate) fn add(layout: &Layout, queue: Queue, line: &str) -> Result<(), StoreError> {
    layout.top.create_append(queue.file())?.write(format!("{line}\n").as_bytes())
}

/// Whether files that were taken are still kept for late writers.
pub(crate) fn has_leftovers(layout: &Layout, queue: Queue) -> Result<bool, StoreError> {
    Ok(layout.local.list()?.iter().any(|name| taken_through(name, queue).is_some()))
}

/// How many lines were set aside. Only a file of reasonable size is counted out.
pub(crate) fn rejected(layout: &Layout) -> Result<u64, StoreError> {
    let bytes = layout
        .top
        .open(REJECTED)?
        .and_then(|handle| handle.read_all(QUEUE_BYTES).ok())
        .unwrap_or_default();
    Ok(memchr::memchr_iter(b'\n', &bytes).count() as u64)
}

/// Takes the queue file out of the hooks' way, and returns the complete lines that nobody has
/// had yet of each that was taken, with what settles it. The caller holds the write lock.
pub(crate) fn take(
    layout: &Layout,
    queue: Queue,
    now: Time,
) -> Result<Vec<(Vec<String>, DrainedFile)>, StoreError> {
    // Opening it refuses links and pipes; renaming alone would not look.
    if layout.top.open(queue.file())?.is_some() {
        let name = format!("{}{:032x}.0", queue.prefix(), random_bits()?);
        layout.top.rename(queue.file(), &layout.local, &name)?;
    }
    let mut batches = Vec::new();
    for name in layout.local.list()? {
        let Some(through) = taken_through(&name, queue) else { continue };
        let Some(handle) = layout.local.open(&name)? else { continue };
        let print = handle.fingerprint()?;
        if print.size <= through {
            if through > 0
                && print.mtime_ns.saturating_add(GRACE_NS) < now.as_ms().saturating_mul(1_000_000)
            {
                layout.local.remove(&name)?;
            }
            continue;
        }
        let bytes = handle.read_all(QUEUE_BYTES)?;
        let fresh = &bytes[usize::try_from(through).unwrap_or(0).min(bytes.len())..];
        let (lines, taken) = complete_lines(fresh, print.mtime_ns, now);
        if taken > 0 {
            batches.push((lines, DrainedFile { file: name, through: through + taken as u64 }));
        }
    }
    Ok(batches)
}

/// Marks a batch as taken: from now on only what comes after it counts.
pub(crate) fn mark_taken(layout: &Layout, drained: &DrainedFile) -> Result<(), StoreError> {
    let Some((stem, _)) = drained.file.rsplit_once('.') else { return Ok(()) };
    if layout.local.stat(&drained.file)?.is_some() {
        layout.local.rename(
            &drained.file,
            &layout.local,
            &format!("{stem}.{}", drained.through),
        )?;
    }
    Ok(())
}

/// Sets bad lines aside, with the reason and the time.
pub(crate) fn store_rejected(
    layout: &Layout,
    rejected: &[(String, String)],
    now: Time,
) -> Result<(), StoreError> {
    if rejected.is_empty() {
        return Ok(());
    }
    let rejected_line = |(line, reason): &(String, String)| json!({ "rejected_at": now, "reason": reason, "line": line });
    let lines = torn_lines::to_json_lines(
        &rejected.iter().map(rejected_line).collect::<Vec<_>>(),
        usize::MAX,
    )?;
    layout.top.create_append(REJECTED)?.write(&lines)
}

/// Sorts lines into what is made of them and rejects. Past the limit for one queue, lines are
/// set aside too: a flood must not reach the board.
pub(crate) fn parse_lines<T>(
    lines: &[String],
    make: &mut dyn FnMut(&str) -> Result<T, String>,
) -> (Vec<T>, Vec<(String, String)>) {
    let (mut taken, mut rejected) = (Vec::new(), Vec::new());
    for line in lines {
        let made = if taken.len() >= limits::QUEUE_LINES {
            Err(format!("more than {} lines at once", limits::QUEUE_LINES))
        } else if line.len() > limits::RECORD_BYTES {
            Err(format!("longer than {} bytes", limits::RECORD_BYTES))
        } else {
            make(line)
        };
        match made {
            Ok(made) => taken.push(made),
            // An over-long line is kept only in part; it is not ours to fill the disk with.
            Err(reason) if line.len() > limits::RECORD_BYTES => {
                rejected.push((line.chars().take(limits::TEXT_BYTES).collect(), reason));
            }
            Err(reason) => rejected.push((line.clone(), reason)),
        }
    }
    (taken, rejected)
}

/// How many bytes of a drained file were taken, by its name: `posts-<random>.<bytes>`.
fn taken_through(name: &str, queue: Queue) -> Option<u64> {
    name.strip_prefix(queue.prefix())?.split_once('.')?.1.parse().ok()
}

fn complete_lines(bytes: &[u8], mtime_ns: i64, now: Time) -> (Vec<String>, usize) {
    let is_old = mtime_ns.saturating_add(GRACE_NS) < now.as_ms().saturating_mul(1_000_000);
    // A last line without newline may still be growing, unless nobody has touched it for a while.
    let taken =
        if is_old { bytes.len() } else { memchr::memrchr(b'\n', bytes).map_or(0, |at| at + 1) };
    let lines = bytes[..taken]
        .split(|&byte| byte == b'\n')
        .map(|line| String::from_utf8_lossy(line).trim().to_owned())
        .filter(|line| !line.is_empty())
        .collect();
    (lines, taken)
}
