//! Findings on their way into an answer: bounded, counted, and with line and column.

use twining_dot::DotDocument;

use super::check::GraphFinding;

/// Findings that are kept; a file of nothing but mistakes has millions.
const MOST_TOLD: usize = 20_000;

/// Findings, each with its place; the first ones of very many.
#[derive(Default)]
pub(super) struct FindingList {
    pub items: Vec<(usize, GraphFinding)>,
    /// How many there were.
    pub all: usize,
}

impl FindingList {
    pub fn push(&mut self, finding: (usize, GraphFinding)) {
        self.all += 1;
        if self.items.len() < MOST_TOLD {
            self.items.push(finding);
        }
    }

    pub fn extend(&mut self, findings: impl Iterator<Item = (usize, GraphFinding)>) {
        findings.for_each(|finding| self.push(finding));
    }
}

/// Gives each finding its line and column, in the order of the file.
pub(super) fn located(document: &DotDocument, mut found: Vec<(usize, GraphFinding)>) -> Vec<GraphFinding> {
    found.sort_by_key(|(at, _)| *at);
    let offsets: Vec<usize> = found.iter().map(|(at, _)| *at).collect();
    let positions = document.positions(&offsets);
    found.into_iter().zip(positions).map(|((_, finding), at)| GraphFinding { line: at.line, column: at.column, ..finding }).collect()
}
