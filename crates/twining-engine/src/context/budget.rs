//! The budget: what goes in, how much of each, and what is named as left out.
//!
//! A token is four characters of the JSON that is returned, counted on that JSON.
//! The best records are told in full, the next in brief, the rest by a line each:
//! so an agent reads what matters and knows what else it can fetch. Decisions
//! that bind, warnings and open questions each have a share that the others
//! cannot take.

use std::collections::BTreeSet;

use serde::Serialize;
use twining_model::{EntryType, Refused, Status};

use crate::context::assemble::{AssembledContext, Omitted};
use crate::context::gather::{Candidate, Gathered, Record};
use crate::context::others::Others;
use crate::context::told::{Level, Told, tell};
use crate::search::Nearness;
use crate::words;

const CHARS_PER_TOKEN: usize = 4;
/// Room for the digits of the two counts.
const DIGITS: usize = 24;
/// Shares of the room, in percent: told in full, then in brief; the rest is lines.
const FULL: usize = 50;
const BRIEF: usize = 75;
/// Shares that are kept for a kind, in percent.
const BINDING: usize = 25;
const WARNINGS: usize = 15;
const ASKED: usize = 8;
const ENTITIES: usize = 6;
const OTHERS: usize = 15;
/// Characters of the name of a list that is left out when it is empty.
const LIST: usize = 16;
/// Two texts this much alike say the same.
const SAME: f64 = 0.95;
/// The `t` is that of "don't".
const DENIALS: [&str; 9] = ["not", "no", "never", "none", "nothing", "nobody", "without", "cannot", "t"];
/// Characters of a line.
const LINE: usize = 80;

/// Fills the frame with the best candidates, which come best first.
pub(super) fn fill(
    frame: AssembledContext,
    gathered: Gathered,
    others: Others,
    max_tokens: usize,
    nearness: Option<&Nearness<'_>>,
) -> Result<AssembledContext, Refused> {
    let budget = max_tokens * CHARS_PER_TOKEN;
    let bare = chars(&frame) + DIGITS;
    if bare > budget {
        return Err(Refused::new("max_tokens", format!("must be at least {} for this task and scope", bare.div_ceil(CHARS_PER_TOKEN)))
            .because(format!("{max_tokens} was given")));
    }
    let room = budget - bare;
    let mut filling = Filling { context: frame, room, spent: 0, binding: 0, told: Vec::new(), nearness };
    let mut share = room * OTHERS / 100;
    filling.context.claims = filling.take_some(others.claims, &mut share);
    filling.context.handoffs = filling.take_some(others.handoffs, &mut share);
    let mut waiting = gathered.candidates;
    for (share, wanted) in [(BINDING, binds as fn(&Candidate) -> bool), (WARNINGS, warns), (ASKED, asks)] {
        waiting = filling.take_share(waiting, room * share / 100, wanted);
    }
    let mut share = room * ENTITIES / 100;
    filling.context.related_entities = filling.take_some(gathered.entities, &mut share);
    filling.take_the_rest(waiting);
    Ok(filling.finish())
}

fn binds(candidate: &Candidate) -> bool {
    candidate.binds
}

fn warns(candidate: &Candidate) -> bool {
    matches!(candidate.record, Record::Entry(_, EntryType::Warning))
}

fn asks(candidate: &Candidate) -> bool {
    matches!(candidate.record, Record::Entry(_, EntryType::Need | EntryType::Question))
}

struct Filling<'n> {
    context: AssembledContext,
    room: usize,
    spent: usize,
    /// Decisions that bind, which stand before the others.
    binding: usize,
    /// What was told, to notice what only repeats it.
    told: Vec<Candidate>,
    nearness: Option<&'n Nearness<'n>>,
}

impl Filling<'_> {
    /// As many as fit into their share, and into the room.
    fn take_some<T: Serialize>(&mut self, some: Vec<T>, share: &mut usize) -> Vec<T> {
        let mut taken = Vec::new();
        for one in some {
            let cost = chars(&one) + 1 + if taken.is_empty() { LIST } else { 0 };
            if cost <= *share && self.spent + cost <= self.room {
                *share -= cost;
                self.spent += cost;
                taken.push(one);
            }
        }
        taken
    }

    /// Tells of the wanted ones in full, as long as they fit into `most`
    /// characters; gives back the others. The first of those that lie here is told
    /// in any case: a share of a small budget would hold none.
    fn take_share(&mut self, waiting: Vec<Candidate>, most: usize, wanted: fn(&Candidate) -> bool) -> Vec<Candidate> {
        let (mut left, mut is_first) = (most, true);
        let mut rest = Vec::with_capacity(waiting.len());
        for candidate in waiting {
            if !wanted(&candidate) || !candidate.is_in_force() || self.repeats(&candidate) {
                rest.push(candidate);
                continue;
            }
            let told = [Level::Full, Level::Brief].map(|level| tell(&candidate, level));
            let must = is_first && candidate.in_scope;
            let [full, brief] = told;
            let fitting = [full, brief.clone()].into_iter().find(|told| cost(told) <= left);
            match fitting.or_else(|| Some(brief).filter(|brief| must && self.spent + cost(brief) <= self.room)) {
                Some(told) => {
                    is_first = false;
                    left = left.saturating_sub(cost(&told));
                    self.add(candidate, told);
                }
                None => rest.push(candidate),
            }
        }
        rest
    }

    /// Tells of the rest in their order: in full, then in brief, then by a line.
    fn take_the_rest(&mut self, waiting: Vec<Candidate>) {
        let tiers = [(Some(Level::Full), self.room * FULL / 100), (Some(Level::Brief), self.room * BRIEF / 100), (None, self.room)];
        let mut tier = 0;
        for candidate in waiting {
            let only_a_line = !candidate.is_in_force() || self.repeats(&candidate);
            let told = if only_a_line { None } else { self.within_tier(&candidate, &tiers, &mut tier) };
            match told {
                Some(told) => self.add(candidate, told),
                None => self.name(&candidate),
            }
        }
    }

    /// What may be told of a candidate. One that does not fit ends its tier: what
    /// comes after it is worth less.
    fn within_tier(&self, candidate: &Candidate, tiers: &[(Option<Level>, usize); 3], tier: &mut usize) -> Option<Told> {
        loop {
            let (level, limit) = tiers[*tier];
            let told = tell(candidate, level?);
            if self.spent + cost(&told) <= limit {
                return Some(told);
            }
            *tier += 1;
        }
    }

    fn add(&mut self, candidate: Candidate, told: Told) {
        self.spent += cost(&told);
        match told {
            Told::Decision(decision) if candidate.binds => {
                self.context.active_decisions.insert(self.binding, decision);
                self.binding += 1;
            }
            Told::Decision(decision) => self.context.active_decisions.push(decision),
            Told::Entry(entry, EntryType::Warning) => self.context.active_warnings.push(entry),
            Told::Entry(entry, EntryType::Need) => self.context.open_needs.push(entry),
            Told::Entry(entry, EntryType::Question) => self.context.recent_questions.push(entry),
            Told::Entry(entry, _) => self.context.recent_findings.push(entry),
        }
        self.told.push(candidate);
    }

    fn name(&mut self, candidate: &Candidate) {
        self.context.omitted_count += 1;
        let status = match &candidate.record {
            Record::Decision(decision) if decision.status != Status::Active => Some(decision.status),
            _ => None,
        };
        let omitted = Omitted { id: candidate.id().to_owned(), summary: words::shorten(candidate.summary(), LINE), status };
        let cost = chars(&omitted) + 1;
        if self.spent + cost <= self.room {
            self.spent += cost;
            self.context.omitted.push(omitted);
        }
    }

    /// Whether it only says what was told already.
    fn repeats(&self, candidate: &Candidate) -> bool {
        self.told.iter().any(|told| {
            let alike = self.nearness.and_then(|nearness| nearness.alike(told.meaning, candidate.meaning));
            told.meaning == candidate.meaning || alike.is_some_and(|alike| alike >= SAME && turning(told) == turning(candidate))
        })
    }

    fn finish(mut self) -> AssembledContext {
        // The estimate is part of what it measures; the second count has its digits.
        for _ in 0..2 {
            self.context.token_estimate = chars(&self.context).div_ceil(CHARS_PER_TOKEN) as u64;
        }
        self.context
    }
}

/// The words that turn what is said into something else, and hardly move its
/// vector: numbers, and denials.
fn turning(candidate: &Candidate) -> BTreeSet<String> {
    let text = candidate.text().to_lowercase();
    let turns = |word: &&str| word.contains(|c: char| c.is_ascii_digit()) || DENIALS.contains(word);
    text.split(|c: char| !c.is_alphanumeric()).filter(turns).map(str::to_owned).collect()
}

fn cost(told: &Told) -> usize {
    let chars = match told {
        Told::Decision(decision) => chars(decision),
        Told::Entry(entry, _) => chars(entry),
    };
    chars + 1
}

fn chars<T: Serialize>(value: &T) -> usize {
    serde_json::to_string(value).map_or(usize::MAX / 2, |json| json.chars().count())
}
