//! Definitions at two commits, against what became of them.

use std::fmt;

use twining_code::Definition;

use crate::history::{Fate, FateSet, SourceTree, TrueChange};
use crate::{Hits, Share};

/// How rightly change is told.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ChangeScore {
    pub(crate) drift: ChangeHits,
    pub(crate) signature: ChangeHits,
}

/// Precision and recall of one kind of change.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ChangeHits(pub(crate) Hits);

impl fmt::Display for ChangeHits {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:.1} / {:.1}", self.0.precision(), self.0.recall())
    }
}

/// What is told of a set's definitions.
#[derive(Clone, Debug, Default)]
pub(crate) struct FateScore {
    pub(crate) definitions: usize,
    /// Definitions that the extractor does not find where they are.
    pub(crate) unseen: Share,
    /// Of those told as fresh: not the same, or not there.
    pub(crate) false_fresh: Share,
    /// Of those that are the same: told as something else.
    pub(crate) false_alarm: Share,
    /// Looked for where they were.
    pub(crate) same_place: ChangeScore,
    /// Looked for where the set says they are now.
    pub(crate) where_it_went: ChangeScore,
}

pub(crate) fn score(set: &FateSet, before: &SourceTree, after: &SourceTree) -> FateScore {
    let mut score = FateScore { definitions: set.fates.len(), ..FateScore::default() };
    for fate in &set.fates {
        let then = before.definition(&fate.place);
        score.unseen.count(then.is_none());
        let Some(then) = then else {
            // What is not seen is never said.
            count(&mut score.same_place, fate, None);
            count(&mut score.where_it_went, fate, None);
            continue;
        };
        let here = after.definition(&fate.place).map(|now| told(then, now));
        let is_clean = fate.to.as_ref() == Some(&fate.place) && fate.change == TrueChange::None;
        if here == Some(TrueChange::None) {
            score.false_fresh.count(!is_clean);
        }
        if is_clean {
            score.false_alarm.count(here != Some(TrueChange::None));
        }
        count(&mut score.same_place, fate, here);
        let there = fate.to.as_ref().and_then(|place| after.definition(place));
        count(&mut score.where_it_went, fate, there.map(|now| told(then, now)));
    }
    score
}

pub(crate) fn told(then: &Definition, now: &Definition) -> TrueChange {
    if then.signature != now.signature {
        TrueChange::Signature
    } else if then.body != now.body {
        TrueChange::Body
    } else {
        TrueChange::None
    }
}

pub(crate) fn count(score: &mut ChangeScore, fate: &Fate, told: Option<TrueChange>) {
    let is_there = fate.to.is_some();
    let is_changed = is_there && fate.change != TrueChange::None;
    let is_told = told.is_some_and(|told| told != TrueChange::None);
    score.drift.0.count(is_told, is_changed);
    let is_resigned = is_there && fate.change == TrueChange::Signature;
    score.signature.0.count(told == Some(TrueChange::Signature), is_resigned);
}
