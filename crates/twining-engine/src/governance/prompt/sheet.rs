//! A sheet of so many tokens: what does not fit is not written.

use crate::governance::prompt::{Memory, Prompt, PromptRecord, render};

/// Characters to a token.
const CHARS: usize = 4;

/// A prompt that is being written.
#[derive(Debug)]
pub(crate) struct Sheet {
    pub(super) prompt: Prompt,
    /// Characters that still fit.
    left: usize,
}

impl Sheet {
    /// An empty sheet.
    pub(super) fn new(tokens: usize) -> Self {
        Self { prompt: Prompt { token_budget: tokens as u64, ..Prompt::default() }, left: tokens * CHARS }
    }

    /// Tokens that are still free.
    pub(crate) fn room(&self) -> usize {
        self.left / CHARS
    }

    /// Writes a section if it fits whole; whether it did.
    pub(super) fn write(&mut self, section: &str) -> bool {
        let gap = if self.prompt.text.is_empty() { "" } else { "\n" };
        let chars = section.chars().count() + gap.len();
        if chars > self.left {
            return false;
        }
        self.left -= chars;
        self.prompt.text.push_str(gap);
        self.prompt.text.push_str(section);
        true
    }

    /// Fills what is left from the memory, rules first.
    pub(crate) fn finish(mut self, memory: Memory) -> Prompt {
        let mut left_out = memory.left_out;
        let mut list = |sheet: &mut Self, heading: &str, records: Vec<PromptRecord>| {
            let (kept, section) = render::records(heading, &records, sheet.left.saturating_sub(1));
            left_out += (records.len() - kept) as u64;
            if kept > 0 && sheet.write(&section) {
                return records.into_iter().take(kept).collect();
            }
            Vec::new()
        };
        self.prompt.rules = list(&mut self, "Rules that must not be broken", memory.rules);
        self.prompt.decisions = list(&mut self, "Decisions to follow", memory.decisions);
        self.prompt.warnings = list(&mut self, "Open warnings", memory.warnings);
        self.prompt.omitted_count = left_out;
        self.prompt.token_estimate = self.prompt.text.chars().count().div_ceil(CHARS) as u64;
        self.prompt
    }
}
