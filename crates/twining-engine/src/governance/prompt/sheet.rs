//! A sheet of so many tokens: what does not fit is not written.

use crate::governance::prompt::{Listed, Memory, Prompt, PromptRecord, render};

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
        if section.is_empty() {
            return true;
        }
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

    /// Fills what is left from the memory, rules first. A quarter of it is kept
    /// for each kind that comes later, if it needs that much, so that many rules
    /// hide neither decisions nor warnings.
    pub(crate) fn finish(mut self, memory: Memory) -> Prompt {
        let Memory { rules, decisions, warnings } = memory;
        let share = self.left / 4;
        let kept_for = |kind: &Kind, listed: &Listed| kind.section(listed, share).1.chars().count() + 1;
        let behind_decisions = kept_for(&WARNINGS, &warnings);
        let behind_rules = kept_for(&DECISIONS, &decisions) + behind_decisions;
        self.prompt.rules = self.list(&RULES, rules, behind_rules);
        self.prompt.decisions = self.list(&DECISIONS, decisions, behind_decisions);
        self.prompt.warnings = self.list(&WARNINGS, warnings, 0);
        self.prompt.token_estimate = self.prompt.text.chars().count().div_ceil(CHARS) as u64;
        self.prompt
    }

    /// Writes records of a kind, as many as fit with `kept` characters left for others.
    fn list(&mut self, kind: &Kind, listed: Listed, kept: usize) -> Vec<PromptRecord> {
        let (told, section) = kind.section(&listed, self.left.saturating_sub(kept + 1));
        let told = if self.write(&section) { told } else { 0 };
        self.prompt.omitted_count += (listed.records.len() - told) as u64 + listed.beyond;
        listed.records.into_iter().take(told).collect()
    }
}

/// A kind of record, its heading, and what tells the rest.
struct Kind {
    heading: &'static str,
    tool: &'static str,
}

const RULES: Kind = Kind { heading: "Rules that must not be broken", tool: "twining_knowledge_retrieve" };
const DECISIONS: Kind = Kind { heading: "Decisions to follow", tool: "twining_why" };
const WARNINGS: Kind = Kind { heading: "Open warnings", tool: "twining_read" };

impl Kind {
    fn section(&self, listed: &Listed, chars: usize) -> (usize, String) {
        render::records(self.heading, self.tool, listed, chars)
    }
}
