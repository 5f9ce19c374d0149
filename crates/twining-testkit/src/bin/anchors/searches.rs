//! The search for what moved, over a set's own history: the answer a record gets in the end.

use std::time::Duration;

use twining_code::Definition;
use twining_store::code::{DefinitionSearch, SeenDefinition};

use crate::Hits;
use crate::checkout::ScratchCheckout;
use crate::fates::{ChangeScore, count, told};
use crate::history::{Fate, FateSet, SourceTree};

/// How searches are made and told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SearchOptions {
    /// How long one may take.
    pub(crate) max_time: Duration,
    /// Whether each that went wrong is told.
    pub(crate) show_misses: bool,
}

/// What is told of a set's definitions, those that are no longer at their place looked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct SearchScore {
    pub(crate) orphaned: Hits,
    /// Said of what was found; right only at the right place.
    pub(crate) found: Hits,
    pub(crate) change: ChangeScore,
    /// Searches that ended without an answer.
    pub(crate) unknown: usize,
    took: Vec<Duration>,
}

impl SearchScore {
    pub(crate) fn searches(&self) -> usize {
        self.took.len()
    }

    /// The processor time that this share of the searches stayed under.
    pub(crate) fn took(&self, percent: usize) -> Duration {
        self.took
            .get(self.took.len().saturating_sub(1) * percent / 100)
            .copied()
            .unwrap_or_default()
    }
}

#[expect(clippy::print_stderr, reason = "progress for people")]
pub(crate) fn score(
    set: &FateSet,
    checkout: &ScratchCheckout,
    before: &SourceTree,
    after: &SourceTree,
    options: SearchOptions,
) -> Result<SearchScore, String> {
    let mut score = SearchScore::default();
    for (number, fate) in set.fates.iter().enumerate() {
        if number % 200 == 0 {
            eprint!(
                "\r{}: {number} of {}, {} searched   ",
                set.name,
                set.fates.len(),
                score.searches()
            );
        }
        let Some(then) = before.definition(&fate.place) else {
            count(&mut score.change, fate, None);
            score.orphaned.count(false, fate.to.is_none());
            count_found(&mut score, fate, None);
            continue;
        };
        if let Some(now) = after.definition(&fate.place) {
            count(&mut score.change, fate, Some(told(then, now)));
            score.orphaned.count(false, fate.to.is_none());
            count_found(&mut score, fate, None);
            continue;
        }
        let seen = SeenDefinition {
            path: fate.place.path.clone(),
            definition: then.clone(),
            commit: set.commits[0].clone(),
            blob: None,
        };
        let (answer, took) = checkout.search(&seen, options.max_time)?;
        score.took.push(took);
        if options.show_misses {
            show_miss(fate, then, &answer);
        }
        score.unknown += usize::from(answer == DefinitionSearch::Unknown);
        let is_orphaned = matches!(answer, DefinitionSearch::Nowhere { .. });
        score.orphaned.count(is_orphaned, fate.to.is_none());
        let place = match &answer {
            DefinitionSearch::Found { path, name, nth, .. } => {
                Some((path.as_str(), name.as_str(), *nth))
            }
            _ => None,
        };
        count_found(&mut score, fate, place.map(|(path, name, _)| (path, name)));
        let now = place.and_then(|(path, name, nth)| {
            let definitions = &after.files.get(path)?.source.definitions;
            definitions.iter().find(|now| now.name == name && now.nth == nth)
        });
        count(&mut score.change, fate, now.map(|now| told(then, now)));
    }
    eprintln!();
    score.took.sort_unstable();
    Ok(score)
}

/// Counts what was said to be elsewhere: wanted of what moved, right at the right place.
fn count_found(score: &mut SearchScore, fate: &Fate, found: Option<(&str, &str)>) {
    let went = fate.to.as_ref().map(|to| (to.path.as_str(), to.name.as_str()));
    let went = went.filter(|to| *to != (fate.place.path.as_str(), fate.place.name.as_str()));
    let hits = &mut score.found;
    hits.cases += 1;
    hits.said += u32::from(found.is_some());
    hits.wanted += u32::from(went.is_some());
    hits.right += u32::from(found.is_some() && found == went);
}

#[expect(clippy::print_stderr, reason = "for people who look at misses")]
fn show_miss(fate: &Fate, then: &Definition, answer: &DefinitionSearch) {
    let place = |path: &str, name: &str| format!("{path}#{name}");
    let wanted = fate.to.as_ref().map(|to| place(&to.path, &to.name));
    let (found, commit) = match answer {
        DefinitionSearch::Found { path, name, commit, .. } => {
            (Some(place(path, name)), commit.clone())
        }
        DefinitionSearch::Nowhere { commit } => (None, commit.clone()),
        DefinitionSearch::Unknown => (Some("unknown".to_owned()), None),
    };
    if wanted != found {
        let was = place(&fate.place.path, &fate.place.name);
        let (wanted, found) = (wanted.unwrap_or_default(), found.unwrap_or_default());
        let commit = commit.unwrap_or_default();
        eprintln!("\n{was} ({} tokens) wanted [{wanted}] got [{found}] {commit}", then.tokens);
    }
}
