//! The outbox: lines that the log has not taken yet, in `local/`.
//!
//! Its first line names the folder it belongs to, as does that of the file with refused lines. One
//! that came with a clone or a copy is of another folder: nothing of it is ever sent. A file with that first line alone says that this
//! folder is linked.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use twining_model::{Change, Id, Origin, Time, Trust};

use crate::disk::Dir;
use crate::disk::layout::Layout;
use crate::error::StoreError;
use crate::format::torn_lines;

const OUTBOX: &str = "outbox.jsonl";
/// What the log refused, one line each, with the reason.
const REFUSED: &str = "outbox-refused.jsonl";
/// The same two of another folder, moved out of the way.
const FOREIGN: &str = "outbox-foreign.jsonl";
const FOREIGN_REFUSED: &str = "outbox-refused-foreign.jsonl";
const MAX_BYTES: usize = 1024 * 1024 * 1024;
/// More than the first line takes.
const HEAD_BYTES: usize = 1024;
/// Bytes from the end in which the last line is looked for.
const LAST_BYTES: u64 = 8 * 1024;
/// A file of this size is rewritten without what is done.
const COMPACT_BYTES: u64 = 64 * 1024;

/// A line that waits for the log, or to be followed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutboxLine {
    /// The key that it is sent under.
    pub key: Id,
    /// When it was written.
    pub at: Time,
    /// What it does.
    pub change: Change,
    /// Its number in the log, once that is known.
    #[serde(skip)]
    pub accepted: Option<u64>,
}

/// How the log signs what this folder sends, so that the folder has it in the same words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutboxSignature {
    /// Whose token it is sent with.
    pub principal: String,
    /// Whether that is a person's: nobody else's records are believed as a person's.
    pub is_person: bool,
    /// Whether it has the role maintainer.
    #[serde(default)]
    pub is_maintainer: bool,
}

impl OutboxSignature {
    /// Signs what is appended once, and so never taken over from the log again.
    pub(crate) fn sign(&self, change: &mut Change) {
        let entries = change.entries.iter_mut().map(|entry| &mut entry.origin);
        let traces = change.traces.iter_mut().chain(&mut change.imported_traces);
        let anchors = change.anchors.iter_mut().map(|anchor| &mut anchor.origin);
        for origin in entries.chain(traces.map(|trace| &mut trace.origin)).chain(anchors) {
            let origin = origin.get_or_insert_with(Origin::elsewhere);
            origin.principal = Some(self.principal.clone());
            if !self.is_person {
                origin.trust = origin.trust.min(Trust::Agent);
            }
        }
    }
}

/// The first line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct OutboxHead {
    /// The folder it belongs to.
    pub(crate) seal: String,
    /// How the log signs its lines, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) signature: Option<OutboxSignature>,
}

/// What a line of the file is.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum OutboxRecord {
    Line(Box<OutboxLine>),
    Accepted { accepted: Id, seq: u64 },
}

/// A line that the log refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RefusedLine {
    /// The line.
    #[serde(flatten)]
    pub line: OutboxLine,
    /// Why.
    pub reason: String,
}

/// The outbox of one folder.
pub(crate) struct OutboxFile {
    layout: Layout,
}

impl OutboxFile {
    /// The outbox in `local/`.
    pub(crate) fn new(layout: &Layout) -> Self {
        Self { layout: layout.clone() }
    }

    /// This folder's seal, if the folder is linked.
    pub(crate) fn seal(&self) -> Result<Option<String>, StoreError> {
        Ok(self.head()?.map(|head| head.seal))
    }

    /// The first line, if the folder is linked.
    pub(crate) fn head(&self) -> Result<Option<OutboxHead>, StoreError> {
        self.head_of(OUTBOX)
    }

    /// The first line of a file, if it is this folder's.
    fn head_of(&self, name: &str) -> Result<Option<OutboxHead>, StoreError> {
        let Some(handle) = self.local().open(name)? else { return Ok(None) };
        let seal = self.local().identity()?;
        let mut start = [0; HEAD_BYTES];
        let read = handle.read_at(&mut start, 0)?;
        let Some(end) = start[..read].iter().position(|&byte| byte == b'\n') else {
            return Ok(None);
        };
        let head = serde_json::from_slice::<OutboxHead>(&start[..end]).ok();
        Ok(head.filter(|head| head.seal == seal))
    }

    /// Whether there is an outbox of another folder.
    pub(crate) fn is_foreign(&self) -> Result<bool, StoreError> {
        let is_here = |name| Ok::<_, StoreError>(self.local().print(name)?.is_some());
        Ok((is_here(OUTBOX)? && self.seal()?.is_none())
            || (is_here(REFUSED)? && self.head_of(REFUSED)?.is_none())
            || is_here(FOREIGN)?
            || is_here(FOREIGN_REFUSED)?)
    }

    /// Makes an empty outbox, which links the folder. The caller holds the write lock.
    pub(crate) fn create(&self) -> Result<(), StoreError> {
        self.move_foreign(OUTBOX, FOREIGN)?;
        if self.seal()?.is_none() { self.rewrite(&[]) } else { Ok(()) }
    }

    fn move_foreign(&self, name: &str, aside: &str) -> Result<(), StoreError> {
        if self.local().print(name)?.is_some() && self.head_of(name)?.is_none() {
            self.local().rename(name, self.local(), aside)?;
        }
        Ok(())
    }

    /// Whether the last line of the file waits for the log: known without reading the rest.
    pub(crate) fn ends_with_waiting(&self) -> Result<bool, StoreError> {
        let Some(handle) = self.local().open(OUTBOX)? else { return Ok(false) };
        let (tail, _) = handle.read_tail(LAST_BYTES)?;
        let last = tail.strip_suffix(b"\n").and_then(|tail| tail.rsplit(|&b| b == b'\n').next());
        let line = last.map(serde_json::from_slice::<OutboxRecord>);
        Ok(matches!(line, Some(Ok(OutboxRecord::Line(_)))) && self.seal()?.is_some())
    }

    /// Takes the outbox away with all that is in it. The caller holds the write lock.
    pub(crate) fn remove(&self) -> Result<(), StoreError> {
        self.local().remove(REFUSED)?;
        self.local().remove(OUTBOX).map(drop)
    }

    /// Appends lines. The caller holds the write lock.
    pub(crate) fn add(&self, lines: &[OutboxLine]) -> Result<(), StoreError> {
        self.append(&torn_lines::to_json_lines(lines, MAX_BYTES)?)
    }

    /// Notes the numbers of accepted lines. The caller holds the write lock.
    pub(crate) fn accept(&self, accepted: &[(Id, u64)]) -> Result<(), StoreError> {
        let records: Vec<OutboxRecord> = accepted
            .iter()
            .map(|(key, seq)| OutboxRecord::Accepted { accepted: key.clone(), seq: *seq })
            .collect();
        self.append(&torn_lines::to_json_lines(&records, MAX_BYTES)?)
    }

    /// The lines that wait: not accepted, or not followed yet.
    pub(crate) fn load(&self, followed: u64) -> Result<Vec<OutboxLine>, StoreError> {
        if self.seal()?.is_none() {
            return Ok(Vec::new());
        }
        let bytes = self.local().read(OUTBOX, MAX_BYTES)?.unwrap_or_default();
        let mut lines: Vec<OutboxLine> = Vec::new();
        let mut at: HashMap<Id, usize> = HashMap::new();
        for text in bytes.split(|&byte| byte == b'\n').skip(1) {
            match serde_json::from_slice(text) {
                Ok(OutboxRecord::Line(line)) => {
                    at.entry(line.key.clone()).or_insert_with(|| {
                        lines.push(*line);
                        lines.len() - 1
                    });
                }
                Ok(OutboxRecord::Accepted { accepted, seq }) => {
                    if let Some(&index) = at.get(&accepted) {
                        lines[index].accepted = Some(seq);
                    }
                }
                // A killed writer's last line; the journal has it.
                Err(_) => {}
            }
        }
        lines.retain(|line| line.accepted.is_none_or(|seq| seq > followed));
        Ok(lines)
    }

    /// Whether a line is in the file, done or not.
    pub(crate) fn contains(&self, key: &Id) -> Result<bool, StoreError> {
        let bytes = self.local().read(OUTBOX, MAX_BYTES)?.unwrap_or_default();
        let is_it = |text: &[u8]| matches!(serde_json::from_slice(text), Ok(OutboxRecord::Line(line)) if line.key == *key);
        Ok(bytes.split(|&byte| byte == b'\n').any(is_it))
    }

    /// Replaces the file if it has grown. The caller holds the write lock.
    pub(crate) fn compact(&self, followed: u64) -> Result<(), StoreError> {
        let size = self.local().print(OUTBOX)?.map_or(0, |print| print.size);
        if size < COMPACT_BYTES {
            return Ok(());
        }
        let remaining = self.load(followed)?;
        let kept = torn_lines::to_json_lines(&remaining, MAX_BYTES)?.len() as u64;
        if kept > size / 2 { Ok(()) } else { self.rewrite(&remaining) }
    }

    /// Replaces the file by these lines. The caller holds the write lock.
    pub(crate) fn rewrite(&self, lines: &[OutboxLine]) -> Result<(), StoreError> {
        let signature = self.head()?.and_then(|head| head.signature);
        self.rewrite_signed(lines, signature)
    }

    /// The same with another signature. The caller holds the write lock.
    pub(crate) fn rewrite_signed(
        &self,
        lines: &[OutboxLine],
        signature: Option<OutboxSignature>,
    ) -> Result<(), StoreError> {
        let mut bytes = self.head_line(signature)?;
        for line in lines {
            bytes.extend(torn_lines::to_json_lines(std::slice::from_ref(line), MAX_BYTES)?);
            if let Some(seq) = line.accepted {
                let accepted = OutboxRecord::Accepted { accepted: line.key.clone(), seq };
                bytes.extend(torn_lines::to_json_lines(&[accepted], MAX_BYTES)?);
            }
        }
        self.layout.replace(self.local(), OUTBOX, &bytes, true)
    }

    /// Keeps a line that the log refused. The caller holds the write lock.
    pub(crate) fn set_aside(&self, line: RefusedLine) -> Result<(), StoreError> {
        let mut lines = self.refused()?;
        lines.retain(|other| other.line.key != line.line.key);
        lines.push(line);
        self.rewrite_refused(&lines)
    }

    /// The lines that the log refused, oldest first.
    pub(crate) fn refused(&self) -> Result<Vec<RefusedLine>, StoreError> {
        if self.head_of(REFUSED)?.is_none() {
            return Ok(Vec::new());
        }
        let bytes = self.local().read(REFUSED, MAX_BYTES)?.unwrap_or_default();
        let lines = bytes.split(|&byte| byte == b'\n').skip(1);
        Ok(lines.filter_map(|text| serde_json::from_slice(text).ok()).collect())
    }

    /// Replaces the refused lines. The caller holds the write lock.
    pub(crate) fn rewrite_refused(&self, lines: &[RefusedLine]) -> Result<(), StoreError> {
        self.move_foreign(REFUSED, FOREIGN_REFUSED)?;
        if lines.is_empty() {
            return self.local().remove(REFUSED).map(drop);
        }
        let mut bytes = self.head_line(None)?;
        bytes.extend(torn_lines::to_json_lines(lines, MAX_BYTES)?);
        self.layout.replace(self.local(), REFUSED, &bytes, true)
    }

    /// Flushes it to the device.
    pub(crate) fn sync(&self) -> Result<(), StoreError> {
        self.local().open(OUTBOX)?.map_or(Ok(()), |handle| handle.sync())
    }

    fn append(&self, text: &[u8]) -> Result<(), StoreError> {
        let handle = self.local().create_append(OUTBOX)?;
        torn_lines::append_after_torn_line(&handle, text)
    }

    fn head_line(&self, signature: Option<OutboxSignature>) -> Result<Vec<u8>, StoreError> {
        let head = OutboxHead { seal: self.local().identity()?, signature };
        torn_lines::to_json_lines(&[head], HEAD_BYTES)
    }

    fn local(&self) -> &Dir {
        &self.layout.local
    }
}
