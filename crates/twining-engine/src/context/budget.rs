//! The budget: what is included, how much of each, and what is listed as omitted.
//!
//! A token is four characters of the returned JSON, counted on that JSON. The best records are
//! included in full, the next in brief, the rest as a line each: so an agent reads what matters and
//! knows what else it can fetch. Binding decisions, warnings and open questions each have a
//! reserved share.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;
use twining_model::{Confidence, Decision, DecisionStatus, Entry, EntryType, Id, InvalidInput};

use crate::anchors::CodeNote;
use crate::blackboard::{SAME_MEANING, turns_differ};
use crate::context::assemble::{AssembleDraft, AssembledContext, OmittedRecord, OtherAgents};
use crate::context::explain::{ExplainedOmission, OmissionReason, explain};
use crate::context::gather::{CandidateRecord, ContextCandidate, GatherResult};
use crate::fields;
use crate::search::{ScoreParts, Similarities};

pub(super) const CHARS_PER_TOKEN: usize = 4;
/// Space for the digits of the two counts.
const DIGITS: usize = 24;
/// Shares of the budget, in percent: in full, then in brief; the rest is lines.
const FULL: usize = 50;
const BRIEF: usize = 75;
/// Shares that are kept for a kind, in percent.
const BINDING: usize = 25;
const WARNINGS: usize = 15;
const ASKED: usize = 8;
const ENTITIES: usize = 6;
/// Minimum number of characters of any record.
const SMALLEST: usize = 100;
const OTHERS: usize = 15;
/// Characters of the name of a list that is left out when it is empty.
const LIST: usize = 16;
/// Characters of a line.
const LINE: usize = 80;
/// Lines that decisions for this very place have before all else.
const LINES_HERE: usize = 12;

/// Fills the frame with the best candidates, which come best first.
pub(super) fn fill(
    frame: AssembledContext,
    gathered: GatherResult,
    others: OtherAgents,
    draft: &AssembleDraft,
    nearness: Option<&Similarities<'_>>,
) -> Result<AssembledContext, InvalidInput> {
    let max_tokens = draft.max_tokens;
    let budget = max_tokens * CHARS_PER_TOKEN;
    let bare = chars(&frame) + DIGITS;
    if bare > budget {
        return Err(InvalidInput::new(
            "max_tokens",
            format!("must be at least {} for this task and scope", bare.div_ceil(CHARS_PER_TOKEN)),
        )
        .because(format!("{max_tokens} was given")));
    }
    let budget_left = budget - bare;
    let mut filling = BudgetFill {
        context: frame,
        budget_left,
        spent: 0,
        included: Vec::new(),
        nearness,
        explained: draft.explain.then(Vec::new),
    };
    let mut share = budget_left * OTHERS / 100;
    filling.context.overridden = filling.take_some(others.overridden, &mut share);
    filling.context.claims = filling.take_some(others.claims, &mut share);
    filling.context.handoffs = filling.take_some(others.handoffs, &mut share);
    let mut pending = gathered.candidates;
    // Stable: what was decided for just this place comes before all else that binds here.
    pending.sort_by_key(|candidate| !candidate.is_exact);
    pending = filling.take_share(pending, budget_left * BINDING / 100, binds);
    pending.sort_by(ContextCandidate::order);
    pending = round_robin_by_author(pending, AT_A_TURN);
    for (share, wanted) in [(WARNINGS, warns as fn(&ContextCandidate) -> bool), (ASKED, asks)] {
        pending = filling.take_share(pending, budget_left * share / 100, wanted);
    }
    pending.sort_by(ContextCandidate::order);
    pending = round_robin_within_kind(pending);
    let mut share = budget_left * ENTITIES / 100;
    filling.context.related_entities = filling.take_some(gathered.entities, &mut share);
    filling.take_the_rest(pending);
    filling.context.omitted_count += gathered.beyond;
    filling.lengthen();
    Ok(filling.finish())
}

/// Entries of one kind included per author and turn, in a share of the budget and in the rest of
/// it.
const AT_A_TURN: usize = 2;
const AT_A_LONG_TURN: usize = 8;

/// Reorders so that the best of every author precedes an author's further entries of that kind: a
/// prolific author must not use up others' share.
fn round_robin_by_author(
    pending: Vec<ContextCandidate>,
    at_a_turn: usize,
) -> Vec<ContextCandidate> {
    let mut included: HashMap<(String, EntryType), usize> = HashMap::new();
    let mut turned: Vec<(usize, ContextCandidate)> = Vec::with_capacity(pending.len());
    for candidate in pending {
        let turn = match &candidate.record {
            CandidateRecord::Entry(entry, kind) if candidate.is_in_force() => {
                let before = included.entry((entry.agent_id.to_lowercase(), *kind)).or_default();
                *before += 1;
                (*before - 1) / at_a_turn
            }
            _ => 0,
        };
        turned.push((turn, candidate));
    }
    // Stable: within a turn the best come first.
    turned.sort_by_key(|(turn, _)| *turn);
    turned.into_iter().map(|(_, candidate)| candidate).collect()
}

/// The same among the entries of each kind, which stay where those of their kind were.
fn round_robin_within_kind(pending: Vec<ContextCandidate>) -> Vec<ContextCandidate> {
    let kind_of = |candidate: &ContextCandidate| match &candidate.record {
        CandidateRecord::Entry(_, kind) => Some(*kind),
        CandidateRecord::Decision(_) => None,
    };
    let kinds: Vec<Option<EntryType>> = pending.iter().map(kind_of).collect();
    let mut by_kind: HashMap<Option<EntryType>, Vec<ContextCandidate>> = HashMap::new();
    for candidate in pending {
        by_kind.entry(kind_of(&candidate)).or_default().push(candidate);
    }
    let turned = by_kind
        .into_iter()
        .map(|(kind, some)| (kind, round_robin_by_author(some, AT_A_LONG_TURN).into_iter()));
    let mut turned: HashMap<_, _> = turned.collect();
    kinds.iter().filter_map(|kind| turned.get_mut(kind)?.next()).collect()
}

impl ContextCandidate {
    /// Whether its code is gone or on another branch: it gets no more than a line.
    fn is_one_line(&self) -> bool {
        self.code.as_ref().is_some_and(|note| note.state.is_one_line())
    }
}

fn binds(candidate: &ContextCandidate) -> bool {
    candidate.binds
}

fn warns(candidate: &ContextCandidate) -> bool {
    matches!(candidate.record, CandidateRecord::Entry(_, EntryType::Warning))
}

fn asks(candidate: &ContextCandidate) -> bool {
    matches!(candidate.record, CandidateRecord::Entry(_, EntryType::Need | EntryType::Question))
}

/// A rendered candidate and its length in characters.
struct RenderedItem {
    included: ContextItem,
    cost: usize,
}

impl RenderedItem {
    fn of(candidate: &ContextCandidate, level: DetailLevel) -> Self {
        let included = render(candidate, level);
        let chars = match &included {
            ContextItem::Decision(decision) => chars(decision),
            ContextItem::Entry(entry, _) => chars(entry),
        };
        // One for the comma.
        Self { included, cost: chars + 1 }
    }
}

struct BudgetFill<'n> {
    context: AssembledContext,
    budget_left: usize,
    spent: usize,
    /// The included candidates.
    included: Vec<(ContextCandidate, RenderedItem)>,
    nearness: Option<&'n Similarities<'n>>,
    /// Everything left out and why, where that was asked for.
    explained: Option<Vec<OmittedRecord>>,
}

impl BudgetFill<'_> {
    /// As many as fit into their share and the budget.
    fn take_some<T: Serialize>(&mut self, some: Vec<T>, share: &mut usize) -> Vec<T> {
        let mut taken = Vec::new();
        for one in some {
            let cost = chars(&one) + 1 + if taken.is_empty() { LIST } else { 0 };
            if cost <= *share && self.spent + cost <= self.budget_left {
                *share -= cost;
                self.spent += cost;
                taken.push(one);
            }
        }
        taken
    }

    /// Includes the wanted ones in full, as long as they fit into `most` characters; returns the
    /// others. The first one is always included: a share of a small budget would hold none.
    fn take_share(
        &mut self,
        pending: Vec<ContextCandidate>,
        most: usize,
        wanted: fn(&ContextCandidate) -> bool,
    ) -> Vec<ContextCandidate> {
        let (mut left, mut is_first) = (most, true);
        let mut rest = Vec::with_capacity(pending.len());
        for candidate in pending {
            let may_fit = left >= SMALLEST || is_first;
            if !may_fit
                || !wanted(&candidate)
                || !candidate.is_in_force()
                || candidate.is_one_line()
                || self.repeats(&candidate)
            {
                rest.push(candidate);
                continue;
            }
            let must = is_first && candidate.in_scope;
            let fitting = [DetailLevel::Full, DetailLevel::Brief]
                .into_iter()
                .map(|level| RenderedItem::of(&candidate, level))
                .find(|text| text.cost <= left);
            let in_any_case = || {
                must.then(|| RenderedItem::of(&candidate, DetailLevel::Brief))
                    .filter(|brief| self.spent + brief.cost <= self.budget_left)
            };
            match fitting.or_else(in_any_case) {
                Some(text) => {
                    is_first = false;
                    left = left.saturating_sub(text.cost);
                    self.add(candidate, text);
                }
                None => rest.push(candidate),
            }
        }
        rest
    }

    /// Includes the rest in order: in full, then in brief, then as a line.
    fn take_the_rest(&mut self, pending: Vec<ContextCandidate>) {
        let tiers = [
            (Some(DetailLevel::Full), self.budget_left * FULL / 100),
            (Some(DetailLevel::Brief), self.budget_left * BRIEF / 100),
            (None, self.budget_left),
        ];
        let mut tier = 0;
        let mut left = Vec::new();
        for candidate in pending {
            // The duplicate check comes last: it compares with everything included.
            let text = if candidate.is_in_force() && !candidate.is_one_line() {
                self.within_tier(&candidate, &tiers, &mut tier)
            } else {
                None
            };
            match text.filter(|_| !self.repeats(&candidate)) {
                Some(text) => self.add(candidate, text),
                None => left.push(candidate),
            }
        }
        // What is decided for this very place is named first, but not all of it: of hundreds
        // in a wide scope most have less to do with the task than what lies elsewhere.
        let mut here = 0;
        let (first, rest): (Vec<ContextCandidate>, Vec<ContextCandidate>) =
            left.into_iter().partition(|candidate| {
                here += usize::from(candidate.governs);
                candidate.governs && here <= LINES_HERE
            });
        first.iter().chain(&rest).for_each(|candidate| self.name(candidate));
    }

    /// Renders a candidate in its tier. One that does not fit ends its tier: later ones are worth
    /// less.
    fn within_tier(
        &self,
        candidate: &ContextCandidate,
        tiers: &[(Option<DetailLevel>, usize); 3],
        tier: &mut usize,
    ) -> Option<RenderedItem> {
        loop {
            let (level, limit) = tiers[*tier];
            let text = RenderedItem::of(candidate, level?);
            if self.spent + text.cost <= limit {
                return Some(text);
            }
            *tier += 1;
        }
    }

    fn add(&mut self, candidate: ContextCandidate, text: RenderedItem) {
        self.spent += text.cost;
        self.included.push((candidate, text));
    }

    fn name(&mut self, candidate: &ContextCandidate) {
        self.context.omitted_count += 1;
        let status = match &candidate.record {
            CandidateRecord::Decision(decision) if decision.status != DecisionStatus::Active => {
                Some(decision.status)
            }
            _ => None,
        };
        let omitted = OmittedRecord {
            id: candidate.id().to_owned(),
            summary: fields::shorten(candidate.summary(), LINE),
            status,
            code: candidate
                .code
                .as_ref()
                .map(|note| note.state)
                .filter(|state| state.is_one_line()),
            explained: None,
        };
        let cost = chars(&omitted) + 1;
        let is_listed = self.spent + cost <= self.budget_left;
        if self.explained.is_some() {
            let reason = self.reason_to_omit(candidate);
            let score = candidate.why.worth();
            let explained = Some(ExplainedOmission::new(reason, score, is_listed.then_some(cost)));
            let omitted = OmittedRecord { explained, ..omitted.clone() };
            self.explained.iter_mut().for_each(|all| all.push(omitted.clone()));
        }
        if is_listed {
            self.spent += cost;
            self.context.omitted.push(omitted);
        }
    }

    fn reason_to_omit(&self, candidate: &ContextCandidate) -> OmissionReason {
        let status = match &candidate.record {
            CandidateRecord::Decision(decision) => Some(decision.status),
            CandidateRecord::Entry(..) => None,
        };
        let worth = candidate.why.worth();
        match status {
            Some(DecisionStatus::Superseded) => OmissionReason::Superseded,
            Some(DecisionStatus::Overridden) => OmissionReason::Overridden,
            _ if candidate.code.as_ref().is_some_and(|note| note.state.is_one_line()) => {
                OmissionReason::Code
            }
            _ if self.repeats(candidate) => OmissionReason::Repeats,
            _ if self.included.iter().any(|(included, _)| included.why.worth() < worth) => {
                OmissionReason::OverBudget
            }
            _ => OmissionReason::LessRelevant,
        }
    }

    /// Whether it only repeats what is already included.
    fn repeats(&self, candidate: &ContextCandidate) -> bool {
        self.included.iter().any(|(included, _)| {
            let alike = self
                .nearness
                .and_then(|nearness| nearness.alike(included.meaning, candidate.meaning));
            included.meaning == candidate.meaning
                || alike.is_some_and(|alike| {
                    alike >= SAME_MEANING && !turns_differ(&included.text(), &candidate.text())
                })
        })
    }

    /// Gives the remaining budget to the truncated texts, in their order.
    fn lengthen(&mut self) {
        for (candidate, text) in &mut self.included {
            let budget_left = self.budget_left - self.spent + text.cost;
            let longer = [DetailLevel::Whole, DetailLevel::Full]
                .into_iter()
                .map(|level| RenderedItem::of(candidate, level))
                .find(|longer| longer.cost <= budget_left);
            if let Some(longer) = longer.filter(|longer| longer.cost > text.cost) {
                self.spent = self.spent - text.cost + longer.cost;
                *text = longer;
            }
        }
    }

    fn finish(self) -> AssembledContext {
        let Self { mut context, included, explained, .. } = self;
        // Binding decisions come before the others.
        let (binding, others): (Vec<_>, Vec<_>) =
            included.into_iter().partition(|(candidate, _)| candidate.binds);
        for (_, text) in binding.into_iter().chain(others) {
            match text.included {
                ContextItem::Decision(decision) => context.active_decisions.push(decision),
                ContextItem::Entry(entry, EntryType::Warning) => {
                    context.active_warnings.push(entry);
                }
                ContextItem::Entry(entry, EntryType::Need) => context.open_needs.push(entry),
                ContextItem::Entry(entry, EntryType::Question) => {
                    context.recent_questions.push(entry);
                }
                ContextItem::Entry(entry, _) => context.recent_findings.push(entry),
            }
        }
        // The estimate is part of what it measures: so far it is a single digit.
        let chars = chars(&context);
        let estimate = (chars.div_ceil(CHARS_PER_TOKEN)).to_string().len() - 1 + chars;
        context.token_estimate = estimate.div_ceil(CHARS_PER_TOKEN) as u64;
        // Last: what is explained is no part of what an agent would be told.
        if let Some(omitted) = explained {
            explain(&mut context, omitted);
        }
        context
    }
}

/// The tokens of so many characters.
pub(super) fn tokens(chars: usize) -> u64 {
    chars.div_ceil(CHARS_PER_TOKEN) as u64
}

/// Characters of a value as JSON.
pub(super) fn chars<T: Serialize>(value: &T) -> usize {
    let mut counted = CharCounter(0);
    serde_json::to_writer(&mut counted, value).map_or(usize::MAX / 2, |()| counted.0)
}

/// How many characters were written to it.
struct CharCounter(usize);

impl std::io::Write for CharCounter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        // Every byte of UTF-8 that does not continue a character begins one.
        self.0 += bytes.iter().filter(|byte| (**byte & 0xC0) != 0x80).count();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Maximum characters of a reason or a detail, and of one with budget to spare; the record has the
/// rest.
const TEXT: usize = 480;
const WHOLE: usize = 2400;
/// Files of a decision.
const FILES: usize = 5;
/// Characters of a scope.
const SCOPE: usize = 120;

/// How much of a record is included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DetailLevel {
    /// With all of its reasons or its detail.
    Whole,
    /// With its reasons or its detail.
    Full,
    /// Its summary.
    Brief,
}

impl DetailLevel {
    fn text(self) -> usize {
        if self == Self::Whole { WHOLE } else { TEXT }
    }
}

/// The included candidates.
#[derive(Clone, Debug)]
pub(super) enum ContextItem {
    Decision(ContextDecision),
    Entry(ContextEntry, EntryType),
}

/// A decision to follow.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ContextDecision {
    /// Its id.
    pub id: Id,
    /// Its choice.
    pub summary: String,
    /// Its reasons, shortened; none in the brief form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rationale: Option<String>,
    /// How sure its author is.
    pub confidence: Confidence,
    /// Active or provisional.
    pub status: DecisionStatus,
    /// Its scope.
    pub scope: String,
    /// Active decisions that conflict with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contested_by: Vec<Id>,
    /// Files it affects.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub affected_files: Vec<String>,
    /// How the code it speaks of is now, if there is something to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<CodeNote>,
    /// Why it is here.
    pub why: String,
    /// Its tokens, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

/// A relevant entry.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ContextEntry {
    /// Its id.
    pub id: String,
    /// Its type, if the list does not imply it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry_type: Option<String>,
    /// Its summary.
    pub summary: String,
    /// The rest, shortened; none in the brief form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Its scope.
    pub scope: String,
    /// When.
    pub timestamp: String,
    /// How the code it speaks of is now, if there is something to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<CodeNote>,
    /// Why it is here.
    pub why: String,
    /// Its tokens, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

/// Renders a candidate.
pub(super) fn render(candidate: &ContextCandidate, level: DetailLevel) -> ContextItem {
    let why = reasons(&candidate.why, candidate.binds);
    match &candidate.record {
        CandidateRecord::Decision(decision) => ContextItem::Decision(ContextDecision {
            code: candidate.code.clone(),
            ..render_decision(decision, &candidate.contested_by, level, why)
        }),
        CandidateRecord::Entry(entry, kind) => {
            let entry = render_entry(entry, *kind, level, why);
            ContextItem::Entry(ContextEntry { code: candidate.code.clone(), ..entry }, *kind)
        }
    }
}

fn render_decision(
    decision: &Decision,
    contested_by: &[Id],
    level: DetailLevel,
    why: String,
) -> ContextDecision {
    let full = level != DetailLevel::Brief;
    ContextDecision {
        id: decision.id.clone(),
        summary: fields::summary(&decision.summary),
        rationale: full.then(|| fields::shorten(&decision.rationale, level.text())),
        confidence: decision.confidence,
        status: decision.status,
        scope: fields::shorten(&decision.scope, SCOPE),
        contested_by: contested_by.to_vec(),
        affected_files: if full {
            decision.affected_files.iter().take(FILES).cloned().collect()
        } else {
            Vec::new()
        },
        code: None,
        why,
        tokens: None,
    }
}

fn render_entry(entry: &Entry, kind: EntryType, level: DetailLevel, why: String) -> ContextEntry {
    let listed = matches!(
        kind,
        EntryType::Warning | EntryType::Need | EntryType::Question | EntryType::Finding
    );
    let detail =
        (level != DetailLevel::Brief).then(|| fields::shorten(&entry.detail, level.text()));
    ContextEntry {
        id: entry.id.clone(),
        entry_type: (!listed).then(|| entry.entry_type.clone()),
        summary: fields::summary(&entry.summary),
        detail: detail.filter(|detail| !detail.is_empty() && *detail != entry.summary),
        scope: fields::shorten(&entry.scope, SCOPE),
        timestamp: entry.timestamp.clone(),
        code: None,
        why,
        tokens: None,
    }
}

/// The signals that brought a record in, the strongest first.
fn reasons(why: &ScoreParts, binds: bool) -> String {
    let mut parts = [
        (why.lexical, "words"),
        (why.semantic, "meaning"),
        (why.scope, "scope"),
        (why.author, "author match"),
        (why.kind, "kind"),
        (why.graph, "linked"),
        (why.recency, "recent"),
        (why.human, "from a person"),
    ];
    parts.sort_by(|a, b| b.0.total_cmp(&a.0));
    let named = parts.iter().filter(|(worth, _)| *worth >= 0.02).map(|(_, name)| *name).take(3);
    let first = binds.then_some("binding here");
    first.into_iter().chain(named).collect::<Vec<_>>().join(", ")
}
