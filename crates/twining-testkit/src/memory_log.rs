//! A log in memory: what every property of following is tried on.

use std::sync::{Mutex, MutexGuard, PoisonError};

use twining_store::{Log, LogBase, LogError, LogLine, NewLine};

/// Lines that several stores follow.
#[derive(Debug, Default)]
pub struct MemoryLog {
    lines: Mutex<MemoryLogLines>,
}

#[derive(Debug, Default)]
struct MemoryLogLines {
    all: Vec<LogLine>,
    /// The last line that was planned on a view.
    planned: u64,
    /// How many answers are lost, the line being accepted.
    lost_answers: usize,
}

impl MemoryLog {
    /// Every line.
    #[must_use]
    pub fn all(&self) -> Vec<LogLine> {
        self.lines().all.clone()
    }

    /// Accepts the next `count` lines without acknowledging them.
    pub fn lose_answers(&self, count: usize) {
        self.lines().lost_answers = count;
    }

    fn lines(&self) -> MutexGuard<'_, MemoryLogLines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log for MemoryLog {
    fn append(&self, base: LogBase, new: &[NewLine]) -> Result<Vec<u64>, LogError> {
        let mut lines = self.lines();
        let mut numbers = Vec::new();
        for line in new {
            let known = lines.all.iter().find(|known| known.key == line.key);
            match known {
                Some(known) if known.change == line.change => numbers.push(known.seq),
                Some(_) => return Err(LogError::Refused("another line has this key".to_owned())),
                None if matches!(base, LogBase::At(at) if lines.planned > at) => {
                    return Err(LogError::Behind);
                }
                None => {
                    let seq = lines.all.len() as u64 + 1;
                    lines.all.push(LogLine {
                        seq,
                        key: line.key.clone(),
                        change: line.change.clone(),
                    });
                    if base != LogBase::Any {
                        lines.planned = seq;
                    }
                    numbers.push(seq);
                }
            }
        }
        if lines.lost_answers > 0 {
            lines.lost_answers -= 1;
            return Err(LogError::Unknown("the connection closed".to_owned()));
        }
        Ok(numbers)
    }

    fn since(&self, after: u64, most: usize) -> Result<Vec<LogLine>, LogError> {
        let from = usize::try_from(after).unwrap_or(usize::MAX);
        Ok(self.lines().all.iter().skip(from).take(most).cloned().collect())
    }
}
