//! A log in memory: what every property of following is tried on.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use twining_model::Id;
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

    /// Loses its last `count` lines, as a database that is restored from a backup.
    pub fn lose_lines(&self, count: usize) {
        let mut lines = self.lines();
        let left = lines.all.len().saturating_sub(count);
        lines.all.truncate(left);
        lines.planned = lines.planned.min(left as u64);
    }

    fn lines(&self) -> MutexGuard<'_, MemoryLogLines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What one store has of a log: a connection that may be cut.
pub struct LogConnection {
    log: Arc<dyn Log>,
    is_cut: AtomicBool,
    lost_answers: AtomicUsize,
}

impl LogConnection {
    /// A connection to this log.
    #[must_use]
    pub fn new(log: Arc<dyn Log>) -> Self {
        Self { log, is_cut: AtomicBool::new(false), lost_answers: AtomicUsize::new(0) }
    }

    /// Cuts the connection, or mends it.
    pub fn set_cut(&self, is_cut: bool) {
        self.is_cut.store(is_cut, Ordering::SeqCst);
    }

    /// Whether it is cut.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.is_cut.load(Ordering::SeqCst)
    }

    /// Loses the answers to the next `count` appends.
    pub fn lose_answers(&self, count: usize) {
        self.lost_answers.store(count, Ordering::SeqCst);
    }

    fn log(&self) -> Result<&dyn Log, LogError> {
        if self.is_cut() {
            return Err(LogError::Unreachable("the connection is cut".to_owned()));
        }
        Ok(&*self.log)
    }

    fn answered<T>(&self, answer: Result<T, LogError>) -> Result<T, LogError> {
        let lose = |left: usize| left.checked_sub(1);
        match self.lost_answers.fetch_update(Ordering::SeqCst, Ordering::SeqCst, lose) {
            Ok(_) => Err(LogError::Unknown("the connection closed".to_owned())),
            Err(_) => answer,
        }
    }
}

impl Log for LogConnection {
    fn append(&self, base: LogBase, lines: &[NewLine]) -> Result<Vec<u64>, LogError> {
        self.answered(self.log()?.append(base, lines))
    }

    fn since(&self, after: u64, limit: usize) -> Result<Vec<LogLine>, LogError> {
        self.log()?.since(after, limit)
    }

    fn admit(&self, lines: &[NewLine]) -> Result<Vec<u64>, LogError> {
        self.answered(self.log()?.admit(lines))
    }

    fn numbers_of(&self, keys: &[Id]) -> Result<Vec<Option<u64>>, LogError> {
        self.log()?.numbers_of(keys)
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

    fn admit(&self, new: &[NewLine]) -> Result<Vec<u64>, LogError> {
        let keys: Vec<Id> = new.iter().map(|line| line.key.clone()).collect();
        let known = self.numbers_of(&keys)?;
        let mut numbers = Vec::new();
        for (line, known) in new.iter().zip(known) {
            match known {
                Some(number) => numbers.push(number),
                None => numbers.extend(self.append(LogBase::Any, std::slice::from_ref(line))?),
            }
        }
        Ok(numbers)
    }

    fn since(&self, after: u64, most: usize) -> Result<Vec<LogLine>, LogError> {
        let from = usize::try_from(after).unwrap_or(usize::MAX);
        Ok(self.lines().all.iter().skip(from).take(most).cloned().collect())
    }
}
