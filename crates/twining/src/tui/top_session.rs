//! A session: the model and the memory it asks.

use std::collections::VecDeque;
use std::path::PathBuf;

use crate::render::command_error::CommandError;
use crate::tui::memory_reader::MemoryReader;
use crate::tui::state::{TopEvent, TopRequest, TopState};
use crate::tui::stream_row::{StreamQuery, StreamSource};

/// What is left for the one who owns the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionStep {
    GoOn,
    Suspend,
    Quit,
}

/// The model, and the memory once it is open.
pub(crate) struct TopSession {
    pub(crate) state: TopState,
    memory: Option<MemoryReader>,
    pending: VecDeque<TopRequest>,
}

impl TopSession {
    pub(crate) fn new(state: TopState) -> Self {
        Self { state, memory: None, pending: VecDeque::new() }
    }

    /// Opens the memory and asks for what is shown. The watch begins before the first read.
    pub(crate) fn open<W>(
        &mut self,
        given: Option<PathBuf>,
        is_terminal: bool,
        watch: impl FnOnce(&MemoryReader) -> W,
    ) -> Result<W, CommandError> {
        let memory = MemoryReader::open(given, is_terminal)?;
        let watch = watch(&memory);
        self.state.refusal = memory.refusal();
        let line = memory.project_line()?;
        self.memory = Some(memory);
        self.update(TopEvent::Opened(line));
        self.run_pending();
        Ok(watch)
    }

    /// Takes an event; what follows from it is done by [`Self::run_pending`].
    pub(crate) fn update(&mut self, event: TopEvent) {
        self.pending.extend(self.state.update(event));
    }

    /// Tells the model that the memory changed.
    pub(crate) fn changed(&mut self) {
        match self.memory.as_ref().map(MemoryReader::project_line) {
            Some(Ok(line)) => self.state.project = line,
            Some(Err(error)) => self.update(TopEvent::Failed(error.to_string())),
            None => {}
        }
        self.update(TopEvent::Changed);
    }

    /// Whether what is pending takes long enough to show that it is under way.
    pub(crate) fn is_slow(&self) -> bool {
        self.pending.iter().any(|request| {
            matches!(
                request,
                TopRequest::Act(_)
                    | TopRequest::Stream(StreamQuery { source: StreamSource::Found(_), .. })
            )
        })
    }

    /// Does what is pending, and what follows from that.
    pub(crate) fn run_pending(&mut self) -> SessionStep {
        while let Some(request) = self.pending.pop_front() {
            match request {
                TopRequest::Quit => return SessionStep::Quit,
                TopRequest::Suspend => return SessionStep::Suspend,
                request => {
                    let event = self.memory.as_mut().and_then(|memory| memory.carry_out(request));
                    event.into_iter().for_each(|event| self.update(event));
                }
            }
        }
        SessionStep::GoOn
    }
}
