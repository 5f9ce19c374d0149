//! Scoring: how much each record is worth to the task.

use std::collections::BTreeMap;

use twining_model::{Confidence, Time, limits};

/// Hours after which a record counts a third of a fresh one.
const FADE_HOURS: f64 = 168.0;

/// How much each signal counts; they sum to 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weights {
    recency: f64,
    relevance: f64,
    confidence: f64,
    warning: f64,
}

/// What speaks for a record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signals {
    /// When it was made, if it says.
    pub at: Option<Time>,
    /// How well it answers the task, 0 to 1.
    pub relevance: f64,
    /// How sure its author is, 0 to 1.
    pub confidence: f64,
    /// Whether it warns.
    pub warns: bool,
}

impl From<&BTreeMap<String, f64>> for Weights {
    /// Signals that a later version knows and this does not are left out, and
    /// the others share what they would have had.
    fn from(given: &BTreeMap<String, f64>) -> Self {
        let of = |name: &str| given.get(name).copied().filter(|weight| weight.is_finite() && *weight >= 0.0).unwrap_or(0.0);
        let [recency, relevance, confidence, warning] = ["recency", "relevance", "decision_confidence", "warning_boost"].map(of);
        let sum = recency + relevance + confidence + warning;
        if sum <= 0.0 {
            return Self { recency: 0.3, relevance: 0.4, confidence: 0.2, warning: 0.1 };
        }
        Self { recency: recency / sum, relevance: relevance / sum, confidence: confidence / sum, warning: warning / sum }
    }
}

impl Weights {
    /// From 0 to 1.
    pub(super) fn score(&self, signals: &Signals, now: Time) -> f64 {
        self.recency * recency(signals.at, now)
            + self.relevance * signals.relevance.clamp(0.0, 1.0)
            + self.confidence * signals.confidence
            + self.warning * f64::from(u8::from(signals.warns))
    }
}

/// How sure an author is, as a number.
pub(super) fn confidence(confidence: Confidence) -> f64 {
    match confidence {
        Confidence::High => 1.0,
        Confidence::Medium => 0.6,
        Confidence::Low => 0.3,
    }
}

/// From 1 for now, fading. A record dated ahead of the clock gets nothing:
/// otherwise a wrong clock, or a sly author, would stay on top for ever.
fn recency(at: Option<Time>, now: Time) -> f64 {
    match at {
        Some(at) if at.as_ms() <= now.as_ms().saturating_add(limits::CLOCK_SKEW_MS) => {
            (-now.since(at).as_secs_f64() / 3600.0 / FADE_HOURS).exp()
        }
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signals(at: Time) -> Signals {
        Signals { at: Some(at), relevance: 0.5, confidence: 0.5, warns: false }
    }

    #[test]
    fn weights_that_do_not_sum_to_one_are_scaled_and_unknown_ones_ignored() {
        let given = [("recency", 2.0), ("relevance", 2.0), ("graph_reachability", 9.0)].map(|(n, w)| (n.to_owned(), w)).into();
        let weights = Weights::from(&given);
        assert!((weights.recency - 0.5).abs() < 1e-9 && weights.warning == 0.0);
    }

    #[test]
    fn a_record_from_the_year_9999_does_not_stay_on_top() {
        let weights = Weights::from(&BTreeMap::new());
        let now = Time::read("2026-11-15").expect("a date");
        let (fresh, ahead) = (signals(now), signals(Time::from_ms(i64::MAX)));
        assert!(weights.score(&ahead, now) < weights.score(&fresh, now));
    }
}
