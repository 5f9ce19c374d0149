//! Findings on their way into an answer: bounded, counted, and with line and column.

use twining_dot::Document;

use super::check::Finding;

/// Findings that are kept; a file of nothing but mistakes has millions.
const MOST_TOLD: usize = 20_000;

/// Findings, each with its place; the first ones of very many.
#[derive(Default)]
pub(super) struct Told {
    pub kept: Vec<(usize, Finding)>,
    /// How many there were.
    pub all: usize,
}

impl Told {
    pub fn push(&mut self, finding: (usize, Finding)) {
        self.all += 1;
        if self.kept.len() < MOST_TOLD {
            self.kept.push(finding);
        }
    }

    pub fn extend(&mut self, findings: impl Iterator<Item = (usize, Finding)>) {
        findings.for_each(|finding| self.push(finding));
    }
}

/// Gives each finding its line and column, in the order of the file.
pub(super) fn located(document: &Document, mut found: Vec<(usize, Finding)>) -> Vec<Finding> {
    found.sort_by_key(|(at, _)| *at);
    let offsets: Vec<usize> = found.iter().map(|(at, _)| *at).collect();
    let positions = document.positions(&offsets);
    found.into_iter().zip(positions).map(|((_, finding), at)| Finding { line: at.line, column: at.column, ..finding }).collect()
}
