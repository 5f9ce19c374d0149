//! Explaining a context: what each record costs, and why others are left out.
//!
//! Added to a context that is finished: an agent that does not ask for it is told, and pays for,
//! exactly the same.

use schemars::JsonSchema;
use serde::Serialize;

use crate::context::assemble::{AssembledContext, OmittedRecord};
use crate::context::budget::{chars, tokens};

/// Records left out that are explained.
const MOST_EXPLAINED: usize = 200;

/// Why a record is not told in full or in brief.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OmissionReason {
    /// Everything that is told scores at least as high.
    LessRelevant,
    /// It scores higher than something that is told, but did not fit into its share.
    OverBudget,
    /// A later decision replaced it.
    Superseded,
    /// A person rejected it.
    Overridden,
    /// It says the same as a record that is told.
    Repeats,
    /// Its code is gone, or on another branch.
    Code,
}

/// Why a record is left out, and how far.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ExplainedOmission {
    /// Why.
    pub because: OmissionReason,
    /// Its score; the best have about 1.
    pub score: f64,
    /// Whether the agent is told this line, or nothing.
    pub listed: bool,
    /// The tokens of its line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

impl ExplainedOmission {
    /// With the characters of its line, if that fits.
    pub(super) fn new(because: OmissionReason, score: f64, line: Option<usize>) -> Self {
        Self {
            because,
            score: (score * 100.0).round() / 100.0,
            listed: line.is_some(),
            tokens: line.map(tokens),
        }
    }
}

/// What a part of the context costs. All parts add up to the estimate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SectionCost {
    /// The list, or `frame` for what is around the records: task, scope, counts, names of lists.
    pub section: &'static str,
    /// Its records.
    pub records: u64,
    /// Their tokens.
    pub tokens: u64,
}

/// Adds the costs of what is told, and everything that is left out.
pub(super) fn explain(context: &mut AssembledContext, mut omitted: Vec<OmittedRecord>) {
    let lines = cost("omitted", &mut context.omitted, |_, _| {});
    // What the agent is told comes first, as it is told it.
    omitted.sort_by_key(|record| record.explained.as_ref().is_none_or(|why| !why.listed));
    omitted.truncate(MOST_EXPLAINED.max(context.omitted.len()));
    context.omitted = omitted;
    let mut sections = vec![
        cost("active_decisions", &mut context.active_decisions, |one, n| one.tokens = Some(n)),
        cost("active_warnings", &mut context.active_warnings, |one, n| one.tokens = Some(n)),
        cost("open_needs", &mut context.open_needs, |one, n| one.tokens = Some(n)),
        cost("recent_questions", &mut context.recent_questions, |one, n| one.tokens = Some(n)),
        cost("recent_findings", &mut context.recent_findings, |one, n| one.tokens = Some(n)),
        cost("related_entities", &mut context.related_entities, |one, n| one.tokens = Some(n)),
        cost("overridden", &mut context.overridden, |one, n| one.tokens = Some(n)),
        cost("claims", &mut context.claims, |one, n| one.tokens = Some(n)),
        cost("handoffs", &mut context.handoffs, |one, n| one.tokens = Some(n)),
        lines,
    ];
    sections.retain(|section| section.records > 0);
    let counted = sections.iter().map(|section| section.tokens).sum();
    let tokens = context.token_estimate.saturating_sub(counted);
    sections.push(SectionCost { section: "frame", records: 0, tokens });
    context.sections = sections;
}

/// Counts a list, and tells each of its records.
fn cost<T: Serialize>(
    section: &'static str,
    records: &mut [T],
    tell: impl Fn(&mut T, u64),
) -> SectionCost {
    // Rounded once for all of them: those of many short records would exceed the whole.
    let mut sum = 0;
    for record in records.iter_mut() {
        // With the comma after it.
        let cost = chars(record) + 1;
        tell(record, tokens(cost));
        sum += cost;
    }
    SectionCost { section, records: records.len() as u64, tokens: tokens(sum) }
}
