//! Progress of long work, on stderr, where a person watches.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// How often the line is written anew.
const TICK: Duration = Duration::from_millis(200);

/// A line that counts down.
pub struct Progress {
    what: &'static str,
    all: u64,
    last: Option<Instant>,
    watched: bool,
}

impl Progress {
    /// Nothing shown yet; nothing at all if nobody watches.
    pub fn new(what: &'static str) -> Self {
        Self { what, all: 0, last: None, watched: io::stderr().is_terminal() }
    }

    /// So many are left.
    pub fn left(&mut self, left: u64) {
        self.all = self.all.max(left);
        if self.watched && self.last.is_none_or(|last| last.elapsed() >= TICK) {
            self.last = Some(Instant::now());
            // A line nobody can read is no reason to stop.
            let _ = write!(anstream::stderr(), "\r{}: {} of {}   ", self.what, self.all - left, self.all);
        }
    }

    /// All is done; the line goes.
    pub fn done(self) {
        if self.last.is_some() {
            let _ = write!(anstream::stderr(), "\r{:60}\r", "");
        }
    }
}
