//! A sheet of so many tokens: what does not fit is not written.

use crate::governance::prompt::{COUNTED, Listed, Memory, Prompt, PromptRecord};

/// Characters to a token.
const CHARS: usize = 4;
/// One part in so many is kept for each kind that comes later.
const SHARE: usize = 4;

/// What the memory may fill.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// Tokens.
    pub(crate) tokens: usize,
    /// Characters.
    pub(crate) chars: usize,
    /// Characters that decisions and warnings have in any case, each of them.
    pub(crate) share: usize,
}

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

    /// How much is still free.
    pub(crate) fn room(&self) -> Room {
        Room { tokens: self.left / CHARS, chars: self.left, share: self.left / SHARE }
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

    /// Fills what is left from the memory, rules first. A share of it is kept
    /// for each kind that comes later, if it needs that much, so that many rules
    /// hide neither decisions nor warnings.
    pub(crate) fn finish(mut self, memory: Memory) -> Prompt {
        let Memory { rules, decisions, warnings } = memory;
        let share = self.room().share;
        let [rules, decisions, warnings] =
            [(RULES, rules), (DECISIONS, decisions), (WARNINGS, warnings)].map(|(kind, listed)| Lines::of(kind, listed, self.left));
        let kept_for = |lines: &Lines| lines.section(share).1.chars().count() + 1;
        let behind_decisions = kept_for(&warnings);
        let behind_rules = kept_for(&decisions) + behind_decisions;
        self.prompt.rules = self.list(rules, behind_rules);
        self.prompt.decisions = self.list(decisions, behind_decisions);
        self.prompt.warnings = self.list(warnings, 0);
        self.prompt.token_estimate = self.prompt.text.chars().count().div_ceil(CHARS) as u64;
        self.prompt
    }

    /// Writes records of a kind, as many as fit with `kept` characters left for others.
    fn list(&mut self, lines: Lines, kept: usize) -> Vec<PromptRecord> {
        let (told, section) = lines.section(self.left.saturating_sub(kept + 1));
        let told = if self.write(&section) { told } else { 0 };
        self.prompt.omitted_count += lines.more(told);
        lines.listed.lines.into_iter().take(told).map(|line| line.record).collect()
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

/// Records of a kind, and how much those that could ever fit take.
struct Lines {
    kind: Kind,
    listed: Listed,
    /// How much each line and those before it take.
    ends: Vec<usize>,
}

impl Lines {
    fn of(kind: Kind, listed: Listed, chars: usize) -> Self {
        let ends = listed.lines.iter().scan(0, |end, line| {
            *end += line.chars;
            Some(*end)
        });
        let ends = std::iter::once(0).chain(ends).take_while(|end| *end <= chars).collect();
        Self { kind, listed, ends }
    }

    /// How many are left where so many are told.
    fn more(&self, told: usize) -> u64 {
        (self.listed.lines.len() - told) as u64 + self.listed.beyond
    }

    /// How many records fit into so many characters, and their section: empty if
    /// there are none. Where some are left out, its last line says so.
    fn section(&self, chars: usize) -> (usize, String) {
        let mut section = format!("## {}\n", self.kind.heading);
        let left = chars.saturating_sub(section.chars().count());
        if self.more(0) == 0 {
            return (0, String::new());
        }
        let (tool, at_least) = (self.kind.tool, if self.listed.beyond < COUNTED as u64 { "" } else { "at least " });
        let ending = |told: usize| match (self.more(told), told) {
            (0, _) => String::new(),
            (more, 0) => format!("- {at_least}{more}, told by {tool}\n"),
            (more, _) => format!("- and {at_least}{more} more, told by {tool}\n"),
        };
        let fit = self.ends.partition_point(|end| *end <= left);
        let told = (0..fit).rev().find(|told| self.ends[*told] + ending(*told).chars().count() <= left);
        let Some(told) = told else { return (0, String::new()) };
        self.listed.lines[..told].iter().for_each(|line| section.push_str(&line.text));
        section.push_str(&ending(told));
        (told, section)
    }
}
