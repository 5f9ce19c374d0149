//! A sheet of so many tokens: what does not fit is not written.

use crate::governance::prompt::{COUNTED, Prompt, PromptMemory, PromptRecord, RecordList};

/// Characters to a token.
const CHARS: usize = 4;
/// One part in so many is kept for each kind that comes later.
const SHARE: usize = 4;

/// What the memory may fill.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PromptBudget {
    /// Tokens.
    pub(crate) tokens: usize,
    /// Characters.
    pub(crate) chars: usize,
    /// Characters that decisions and warnings have in any case, each of them.
    pub(crate) share: usize,
}

/// A prompt that is being written.
#[derive(Debug)]
pub(crate) struct PromptBuilder {
    pub(super) prompt: Prompt,
    /// Characters that still fit.
    left: usize,
}

impl PromptBuilder {
    /// An empty sheet.
    pub(super) fn new(tokens: usize) -> Self {
        Self { prompt: Prompt { token_budget: tokens as u64, ..Prompt::default() }, left: tokens * CHARS }
    }

    /// How much is still free.
    pub(crate) fn budget(&self) -> PromptBudget {
        PromptBudget { tokens: self.left / CHARS, chars: self.left, share: self.left / SHARE }
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
    pub(crate) fn finish(mut self, memory: PromptMemory) -> Prompt {
        let PromptMemory { rules, decisions, warnings } = memory;
        let share = self.budget().share;
        let [rules, decisions, warnings] =
            [(RULES, rules), (DECISIONS, decisions), (WARNINGS, warnings)].map(|(kind, listed)| SectionLines::of(kind, listed, self.left));
        let reserved_for = |lines: &SectionLines| lines.section(share).1.chars().count() + 1;
        let behind_decisions = reserved_for(&warnings);
        let behind_rules = reserved_for(&decisions) + behind_decisions;
        self.prompt.rules = self.list(rules, behind_rules);
        self.prompt.decisions = self.list(decisions, behind_decisions);
        self.prompt.warnings = self.list(warnings, 0);
        self.prompt.token_estimate = self.prompt.text.chars().count().div_ceil(CHARS) as u64;
        self.prompt
    }

    /// Writes records of a kind, as many as fit with `kept` characters left for others.
    fn list(&mut self, lines: SectionLines, reserved: usize) -> Vec<PromptRecord> {
        let (shown_count, section) = lines.section(self.left.saturating_sub(reserved + 1));
        let shown_count = if self.write(&section) { shown_count } else { 0 };
        self.prompt.omitted_count += lines.more(shown_count);
        lines.listed.lines.into_iter().take(shown_count).map(|line| line.record).collect()
    }
}

/// A kind of record, its heading, and what tells the rest.
struct PromptSection {
    heading: &'static str,
    tool: &'static str,
}

const RULES: PromptSection = PromptSection { heading: "Rules that must not be broken", tool: "twining_knowledge_retrieve" };
const DECISIONS: PromptSection = PromptSection { heading: "Decisions to follow", tool: "twining_why" };
const WARNINGS: PromptSection = PromptSection { heading: "Open warnings", tool: "twining_read" };

/// Records of a kind, and how much those that could ever fit take.
struct SectionLines {
    kind: PromptSection,
    listed: RecordList,
    /// How much each line and those before it take.
    ends: Vec<usize>,
}

impl SectionLines {
    fn of(kind: PromptSection, listed: RecordList, chars: usize) -> Self {
        let ends = listed.lines.iter().scan(0, |end, line| {
            *end += line.chars;
            Some(*end)
        });
        let ends = std::iter::once(0).chain(ends).take_while(|end| *end <= chars).collect();
        Self { kind, listed, ends }
    }

    /// How many are left where so many are told.
    fn more(&self, shown_count: usize) -> u64 {
        (self.listed.lines.len() - shown_count) as u64 + self.listed.beyond
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
        let ending = |shown_count: usize| match (self.more(shown_count), shown_count) {
            (0, _) => String::new(),
            (more, 0) => format!("- {at_least}{more}, told by {tool}\n"),
            (more, _) => format!("- and {at_least}{more} more, told by {tool}\n"),
        };
        let fit = self.ends.partition_point(|end| *end <= left);
        let shown_count = (0..fit).rev().find(|shown_count| self.ends[*shown_count] + ending(*shown_count).chars().count() <= left);
        let Some(shown_count) = shown_count else { return (0, String::new()) };
        self.listed.lines[..shown_count].iter().for_each(|line| section.push_str(&line.text));
        section.push_str(&ending(shown_count));
        (shown_count, section)
    }
}
