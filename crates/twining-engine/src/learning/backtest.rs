//! A guard tried on every recorded tool call: what it would have stopped, and
//! how much of that nobody objected to.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::Serialize;
use twining_model::text;

use crate::answer::is_zero;
use crate::learning::call::{RecordedCall, action_summary};
use twining_guard::{Facts, Guard, GuardSet, NoClaims, NoEvidence, Verdict};

/// Calls shown of each kind.
const SHOWN: usize = 5;

/// What a guard would have done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Backtest {
    /// Recorded calls it was tried on.
    pub calls: u64,
    /// How many it would have stopped.
    pub stopped: u64,
    /// How many of those were fine: they ran, no guard spoke and nobody took them back.
    pub fine: u64,
    /// Calls too large to be recorded whole, which it may have missed.
    #[serde(skip_serializing_if = "is_zero")]
    pub cut: u64,
    /// Some that were fine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fine_ones: Vec<String>,
    /// Some that were not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
    /// When the oldest call was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

impl Backtest {
    /// Tries a guard on calls; `objected` are those that a trace speaks of.
    pub(crate) fn of(guard: &Guard, lines: &[String], objected: &HashSet<String>) -> Self {
        let alone = GuardSet::alone(guard);
        let mut test = Self::default();
        for call in lines.iter().filter_map(|line| RecordedCall::read(line)).filter(|call| !call.is_prompt()) {
            test.calls += 1;
            test.cut += u64::from(call.cut);
            test.since.get_or_insert_with(|| call.at.clone());
            let event = call.event();
            let verdict =
                alone.evaluate(&event, &Facts { root: &call.root, files: &call, evidence: &NoEvidence, claims: &NoClaims }).verdict;
            if verdict == Verdict::Off {
                continue;
            }
            test.stopped += 1;
            let fine = call.verdict == Verdict::Off.as_str() && !objected.contains(&call.id);
            test.fine += u64::from(fine);
            let shown = if fine { &mut test.fine_ones } else { &mut test.others };
            if shown.len() < SHOWN {
                shown.push(text::excerpt(&action_summary(&event, &call.root), 120));
            }
        }
        test
    }

    /// In one line.
    #[must_use]
    pub fn say(&self) -> String {
        format!("would have stopped {} of {} recorded calls; {} of those were fine", self.stopped, self.calls, self.fine)
    }
}
