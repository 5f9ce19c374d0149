//! The budget: what goes in, and what is named as left out.
//!
//! A token is four characters of the JSON that is returned, counted on that JSON.
//! Decisions and warnings each have a share that the others cannot take: a board
//! full of warnings must not crowd out what was decided, nor the other way round.

use serde::Serialize;
use twining_model::Refused;

use crate::context::assemble::{AssembledContext, Omitted};
use crate::context::gather::{Candidate, Item};
use crate::words;

const CHARS_PER_TOKEN: usize = 4;
/// Room for the digits of the two counts.
const DIGITS: usize = 24;

/// Fills the frame with the best candidates that fit. They come best first.
pub(super) fn fill(frame: AssembledContext, candidates: Vec<Candidate>, max_tokens: usize) -> Result<AssembledContext, Refused> {
    let budget = max_tokens * CHARS_PER_TOKEN;
    let bare = chars(&frame) + DIGITS;
    if bare > budget {
        return Err(Refused::new("max_tokens", format!("must be at least {} for this task and scope", bare.div_ceil(CHARS_PER_TOKEN)))
            .because(format!("{max_tokens} was given")));
    }
    let mut filling = Filling { context: frame, room: budget - bare };
    let shares = [(Share::Decisions, filling.room / 2), (Share::Warnings, filling.room / 5), (Share::Asked, filling.room / 10)];
    let mut waiting: Vec<Option<Candidate>> = candidates.into_iter().map(Some).collect();
    for (share, most) in shares {
        filling.take(&mut waiting, most, |item| share.holds(item));
    }
    // What is left goes to the best of the rest, but for a little to name what stays out.
    let reserve = if waiting.iter().any(Option::is_some) { filling.room / 10 } else { 0 };
    let most = filling.room - reserve;
    filling.take(&mut waiting, most, |_| true);
    filling.name_the_rest(waiting.into_iter().flatten().collect());
    Ok(filling.finish())
}

#[derive(Clone, Copy)]
enum Share {
    Decisions,
    Warnings,
    Asked,
}

impl Share {
    fn holds(self, item: &Item) -> bool {
        match self {
            Self::Decisions => matches!(item, Item::Decision(_)),
            Self::Warnings => matches!(item, Item::Warning(_)),
            Self::Asked => matches!(item, Item::Need(_) | Item::Question(_)),
        }
    }
}

struct Filling {
    context: AssembledContext,
    room: usize,
}

impl Filling {
    /// Takes waiting candidates in order, as long as they fit into `most` characters.
    fn take(&mut self, waiting: &mut [Option<Candidate>], most: usize, wanted: impl Fn(&Item) -> bool) {
        let mut most = most.min(self.room);
        for slot in waiting.iter_mut() {
            let Some(candidate) = slot.take_if(|candidate| wanted(&candidate.item) && cost(&candidate.item) <= most) else { continue };
            let cost = cost(&candidate.item);
            most -= cost;
            self.room -= cost;
            self.add(candidate);
        }
    }

    fn add(&mut self, candidate: Candidate) {
        match candidate.item {
            Item::Decision(decision) => self.context.active_decisions.push(decision),
            Item::Warning(entry) => self.context.active_warnings.push(entry),
            Item::Need(entry) => self.context.open_needs.push(entry),
            Item::Question(entry) => self.context.recent_questions.push(entry),
            Item::Finding(entry) => self.context.recent_findings.push(entry),
            Item::Entity(entity) => self.context.related_entities.push(entity),
        }
    }

    fn name_the_rest(&mut self, rest: Vec<Candidate>) {
        self.context.omitted_count = rest.len() as u64;
        for candidate in rest {
            let Some(omitted) = omitted(&candidate.item) else { continue };
            let cost = chars(&omitted) + 1;
            if cost > self.room {
                break;
            }
            self.room -= cost;
            self.context.omitted.push(omitted);
        }
    }

    fn finish(mut self) -> AssembledContext {
        // The estimate is part of what it measures; the second count has its digits.
        for _ in 0..2 {
            self.context.token_estimate = chars(&self.context).div_ceil(CHARS_PER_TOKEN) as u64;
        }
        self.context
    }
}

fn cost(item: &Item) -> usize {
    let chars = match item {
        Item::Decision(decision) => chars(decision),
        Item::Warning(entry) | Item::Need(entry) | Item::Question(entry) | Item::Finding(entry) => chars(entry),
        Item::Entity(entity) => chars(entity),
    };
    chars + 1
}

fn omitted(item: &Item) -> Option<Omitted> {
    match item {
        Item::Decision(decision) => Some(Omitted { id: decision.id.to_string(), summary: words::shorten(&decision.summary, 80) }),
        Item::Warning(entry) | Item::Need(entry) | Item::Question(entry) | Item::Finding(entry) => {
            Some(Omitted { id: entry.id.clone(), summary: words::shorten(&entry.summary, 80) })
        }
        Item::Entity(_) => None,
    }
}

fn chars<T: Serialize>(value: &T) -> usize {
    serde_json::to_string(value).map_or(usize::MAX / 2, |json| json.chars().count())
}
