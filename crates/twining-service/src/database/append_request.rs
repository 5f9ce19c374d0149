//! Requests to append lines, and which of them go into one transaction.

use std::collections::{HashMap, HashSet};

use tokio::sync::{mpsc, oneshot};
use twining_model::Id;
use twining_store::{LogBase, LogError};

/// What one transaction takes at most, unless a single request has more.
const BATCH_LINES: usize = 256;
const BATCH_BYTES: usize = 8 * 1024 * 1024;

/// A line as it is stored.
#[derive(Clone, Debug)]
pub(super) struct OfferedLine {
    pub(super) key: Id,
    pub(super) by: String,
    pub(super) sum: Vec<u8>,
    pub(super) body: String,
    /// How many records it has.
    pub(super) records: usize,
}

/// Lines that go together, and who waits for their numbers.
pub(super) struct AppendRequest {
    pub(super) base: LogBase,
    pub(super) lines: Vec<OfferedLine>,
    /// The numbers of lines that the log has, by key.
    pub(super) known: HashMap<Id, u64>,
    pub(super) answer: oneshot::Sender<AppendAnswer>,
}

/// The numbers of the lines of a request, or why the log did not take them.
pub(super) type AppendAnswer = Result<Vec<u64>, LogError>;

impl AppendRequest {
    /// The lines that the log does not have.
    pub(super) fn new_lines(&self) -> impl Iterator<Item = &OfferedLine> {
        self.lines.iter().filter(|line| !self.known.contains_key(&line.key))
    }

    /// Answers with the numbers, if all are known.
    pub(super) fn settle(self) -> Option<Self> {
        let numbers: Option<Vec<u64>> =
            self.lines.iter().map(|line| self.known.get(&line.key).copied()).collect();
        match numbers {
            Some(numbers) => {
                self.reply(Ok(numbers));
                None
            }
            None => Some(self),
        }
    }

    /// Answers.
    pub(super) fn reply(self, answer: AppendAnswer) {
        // Who asked may have gone; the lines stay.
        let _ = self.answer.send(answer);
    }
}

/// What waits, as far as it may go into one transaction; and the first that may not. A second
/// line that was planned would find the first one before it, and a key twice would fail all.
pub(super) fn collect(
    first: AppendRequest,
    requests: &mut mpsc::Receiver<AppendRequest>,
) -> (Vec<AppendRequest>, Option<AppendRequest>) {
    let mut keys = HashSet::new();
    let (mut lines, mut bytes, mut has_planned) = (0, 0, false);
    let mut batch = Vec::new();
    let mut next = Some(first);
    while let Some(request) = next {
        let is_planned = request.base != LogBase::Any;
        let size: usize = request.lines.iter().map(|line| line.body.len()).sum();
        let is_full = lines + request.lines.len() > BATCH_LINES || bytes + size > BATCH_BYTES;
        let is_known = request.lines.iter().any(|line| keys.contains(&line.key));
        if !batch.is_empty() && (is_full || is_known || (has_planned && is_planned)) {
            return (batch, Some(request));
        }
        keys.extend(request.lines.iter().map(|line| line.key.clone()));
        (lines, bytes, has_planned) =
            (lines + request.lines.len(), bytes + size, has_planned || is_planned);
        batch.push(request);
        next = requests.try_recv().ok();
    }
    (batch, None)
}

/// Lines that the log does not have.
pub(super) fn lines_left(requests: &[AppendRequest]) -> usize {
    requests.iter().flat_map(AppendRequest::new_lines).count()
}

/// Records and bytes of the lines that the log does not have.
pub(super) fn size_of(requests: &[AppendRequest]) -> (u64, u64) {
    let lines = requests.iter().flat_map(AppendRequest::new_lines);
    lines.fold((0, 0), |(records, bytes), line| {
        (records + line.records as u64, bytes + line.body.len() as u64)
    })
}

/// Gives all the same answer, and leaves none.
pub(super) fn answer_all(requests: Vec<AppendRequest>, error: &LogError) -> Vec<AppendRequest> {
    for request in requests {
        request.reply(Err(error.clone()));
    }
    Vec::new()
}
