//! Scoring: what a record is worth beyond its words and meaning.
//!
//! A record scores by its relevance to the task ([`ScoreParts::lexical`], [`ScoreParts::semantic`]), plus a
//! little for its scope, age, confidence, kind, dependents and author. These bonuses stay small:
//! they settle near ties, and never bring in irrelevant records.

use std::collections::BTreeMap;

use twining_model::{Confidence, DecisionStatus, EntryType, Origin, Scope, Time, Trust, limits};

use crate::search::ScoreParts;

/// What each signal is worth at most, before the settings have their say.
const SCOPE: f64 = 0.15;
const RECENCY: f64 = 0.05;
const CONFIDENCE: f64 = 0.03;
const WARNING: f64 = 0.10;
const ASKING: f64 = 0.06;
const CONSTRAINT: f64 = 0.06;
const CHATTER: f64 = -0.05;
const DOUBT: f64 = -0.03;
const GRAPH: f64 = 0.05;
const HUMAN: f64 = 0.04;
/// Days after which a record counts half as recent.
const HALF_LIFE_DAYS: f64 = 30.0;

/// How much each signal counts, beside its usual worth: 1 by default.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SignalWeights {
    recency: f64,
    relevance: f64,
    confidence: f64,
    warning: f64,
}

impl From<&BTreeMap<String, f64>> for SignalWeights {
    /// The settings give shares of one whole, by the seed's defaults: 0.4 for
    /// relevance, 0.3 for recency, 0.2 for confidence, 0.1 for warnings. A signal
    /// counts as much more or less as its share is larger or smaller than that.
    fn from(given: &BTreeMap<String, f64>) -> Self {
        let of = |name: &str| {
            given.get(name).copied().filter(|weight| weight.is_finite() && *weight >= 0.0)
        };
        let known = [
            ("recency", 0.3),
            ("relevance", 0.4),
            ("decision_confidence", 0.2),
            ("warning_boost", 0.1),
        ];
        let sum: f64 = known.iter().filter_map(|(name, _)| of(name)).sum();
        if sum <= 0.0 {
            return Self { recency: 1.0, relevance: 1.0, confidence: 1.0, warning: 1.0 };
        }
        let [recency, relevance, confidence, warning] =
            known.map(|(name, usual)| of(name).unwrap_or(0.0) / sum / usual);
        Self { recency, relevance, confidence, warning }
    }
}

impl SignalWeights {
    /// Scales what the search found to what the settings want.
    pub(super) fn relevance(&self, why: ScoreParts) -> ScoreParts {
        ScoreParts {
            lexical: why.lexical * self.relevance,
            semantic: why.semantic * self.relevance,
            ..why
        }
    }

    /// What its age is worth. A record dated ahead of the clock gets nothing:
    /// otherwise a wrong clock, or a sly author, would stay on top for ever.
    pub(super) fn recency(&self, at: Option<Time>, now: Time) -> f64 {
        match at {
            Some(at) if at.as_ms() <= now.as_ms().saturating_add(limits::CLOCK_SKEW_MS) => {
                let days = now.since(at).as_secs_f64() / 86_400.0;
                self.recency * RECENCY * 0.5_f64.powf(days / HALF_LIFE_DAYS)
            }
            _ => 0.0,
        }
    }

    /// What its author's confidence is worth.
    pub(super) fn confidence(&self, confidence: Confidence) -> f64 {
        let sureness = match confidence {
            Confidence::High => 1.0,
            Confidence::Medium => 0.0,
            Confidence::Low => -1.0,
        };
        self.confidence * CONFIDENCE * sureness
    }

    /// What its kind is worth.
    pub(super) fn kind(&self, kind: EntryType) -> f64 {
        match kind {
            EntryType::Warning => self.warning * WARNING,
            EntryType::Need | EntryType::Question => ASKING,
            EntryType::Constraint => CONSTRAINT,
            EntryType::Status | EntryType::Offer => CHATTER,
            EntryType::Finding | EntryType::Answer | EntryType::Artifact | EntryType::Decision => {
                0.0
            }
        }
    }
}

/// What it costs a decision not to be settled.
pub(super) fn standing(status: DecisionStatus) -> f64 {
    if status == DecisionStatus::Provisional { DOUBT } else { 0.0 }
}

/// The bonus for a human author.
pub(super) fn human(origin: Option<&Origin>) -> f64 {
    if origin.is_some_and(|origin| origin.trust == Trust::Human) { HUMAN } else { 0.0 }
}

/// What it is worth that a record next to this one, of this relevance, answers the task.
pub(super) fn graph(neighbor: f64) -> f64 {
    GRAPH * neighbor.clamp(0.0, 1.0)
}

/// What it is worth to lie near the scope: the share of its path that one of
/// these shares from the front.
#[expect(clippy::cast_precision_loss, reason = "a path has few components")]
pub(super) fn scope<'p>(asked: &Scope, places: impl IntoIterator<Item = &'p str>) -> f64 {
    let asked: Vec<&str> = components(asked.as_str());
    if asked.is_empty() {
        return 0.0;
    }
    let shared =
        |place: &str| asked.iter().zip(components(place)).take_while(|(a, b)| **a == *b).count();
    let most = places.into_iter().map(shared).max().unwrap_or(0);
    SCOPE * most as f64 / asked.len() as f64
}

fn components(path: &str) -> Vec<&str> {
    if path == Scope::project().as_str() {
        return Vec::new();
    }
    path.split('/').filter(|part| !part.is_empty() && *part != ".").collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use twining_testcases::each;

    #[test]
    fn weights_are_shares_and_the_defaults_leave_everything_as_it_is() {
        let usual = [
            ("recency", 0.3),
            ("relevance", 0.4),
            ("decision_confidence", 0.2),
            ("warning_boost", 0.1),
        ];
        let weights = |given: &[(&str, f64)]| {
            SignalWeights::from(
                &given.iter().map(|(name, share)| ((*name).to_owned(), *share)).collect(),
            )
        };
        let one = SignalWeights { recency: 1.0, relevance: 1.0, confidence: 1.0, warning: 1.0 };
        each([&usual[..], &[]], |given| {
            let found = weights(given);
            assert!(
                (found.recency - 1.0).abs() < 1e-9 && (found.warning - one.warning).abs() < 1e-9,
                "{found:?}"
            );
        });
        let fresh = weights(&[("recency", 2.0), ("relevance", 2.0), ("graph_reachability", 9.0)]);
        assert!(fresh.recency > 1.0 && fresh.warning == 0.0, "{fresh:?}");
    }

    #[test]
    fn a_record_from_the_year_9999_does_not_stay_on_top() {
        let weights = SignalWeights::from(&BTreeMap::new());
        let now = Time::read("2026-11-15").expect("a date");
        assert!(
            weights.recency(Some(Time::from_ms(i64::MAX)), now) < weights.recency(Some(now), now)
        );
    }

    #[test]
    fn nearness_goes_by_path_components() {
        let asked = Scope::read("src/auth/jwt.ts");
        let near = |place: &str| scope(&asked, [place]);
        assert!((near("src/auth/jwt.ts") - SCOPE).abs() < 1e-9);
        assert!(near("src/auth/") > near("src/db/") && near("src/db/") > near("docs/"));
        assert_eq!((near("src/authority.ts"), near("project")), (near("src/"), 0.0));
        assert_eq!(scope(&Scope::project(), ["src/"]), 0.0);
    }
}
