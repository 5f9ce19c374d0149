//! How large the transactions of the log's writers are, and how long they take.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::histogram::{COUNTS, Histogram, SECONDS};

/// What this node's writers committed.
#[derive(Debug)]
pub(crate) struct WriteMetrics(Mutex<CommitHistograms>);

#[derive(Debug)]
struct CommitHistograms {
    lines: Histogram,
    seconds: Histogram,
}

impl Default for WriteMetrics {
    fn default() -> Self {
        let (lines, seconds) = (Histogram::new(COUNTS), Histogram::new(SECONDS));
        Self(Mutex::new(CommitHistograms { lines, seconds }))
    }
}

impl WriteMetrics {
    /// Counts a transaction of so many lines.
    pub(super) fn committed(&self, lines: usize, took: Duration) {
        let mut commits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        commits.lines.add(lines as f64);
        commits.seconds.add(took.as_secs_f64());
    }

    /// All of it in Prometheus' text format.
    pub(crate) fn render(&self, text: &mut String) {
        let commits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (name, histogram) in
            [("twining_commit_lines", &commits.lines), ("twining_commit_seconds", &commits.seconds)]
        {
            text.push_str(&format!("# TYPE {name} histogram\n"));
            histogram.render(text, name, "");
        }
    }
}
