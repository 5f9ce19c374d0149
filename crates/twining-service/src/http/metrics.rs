//! What Prometheus asks for, on a port of its own: it has a tenant's name in no label.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::histogram::{Histogram, SECONDS};

/// How long what a clone said of its outbox counts, and of how many clones.
const OUTBOX_FRESH: Duration = Duration::from_secs(60);
const OUTBOXES: usize = 10_000;

/// What a node is like at the moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeGauges {
    /// Repositories that are open.
    pub(super) open_repositories: usize,
    /// How long the one that is latest has been behind its log.
    pub(super) lag: Duration,
    /// Whether the node should be sent requests.
    pub(super) is_ready: bool,
}

/// Everything that is counted on this node.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    calls: Mutex<BTreeMap<(String, String), u64>>,
    times: Mutex<BTreeMap<String, Histogram>>,
    refusals: Mutex<BTreeMap<u16, u64>>,
    /// By the token's id: how long the oldest change of a clone has waited, and when it said so.
    outbox_ages: Mutex<HashMap<String, (Duration, Instant)>>,
    /// Connections that are open.
    pub(super) connections: AtomicI64,
}

impl Metrics {
    /// Counts a call.
    pub(super) fn called(&self, verb: &str, outcome: &str, took: Duration) {
        let key = (verb.to_owned(), outcome.to_owned());
        *locked(&self.calls).entry(key).or_default() += 1;
        let mut times = locked(&self.times);
        let histogram = times.entry(verb.to_owned()).or_insert_with(|| Histogram::new(SECONDS));
        histogram.add(took.as_secs_f64());
    }

    /// Notes how long the oldest change of a linked clone has waited to be sent.
    pub(super) fn outbox_waited(&self, token: &str, age: Duration, now: Instant) {
        let mut ages = locked(&self.outbox_ages);
        if ages.len() >= OUTBOXES {
            ages.retain(|_, (_, at)| now.saturating_duration_since(*at) < OUTBOX_FRESH);
        }
        let is_fresh = |at: Instant| now.saturating_duration_since(at) < OUTBOX_FRESH;
        // What waited for an hour and was sent a moment ago should be seen by who asks in between.
        let is_less = ages.get(token).is_some_and(|(known, at)| is_fresh(*at) && *known > age);
        if ages.len() < OUTBOXES && !is_less {
            ages.insert(token.to_owned(), (age, now));
        }
    }

    /// Counts a request that was refused at the door.
    pub(super) fn refused(&self, status: u16) {
        *locked(&self.refusals).entry(status).or_default() += 1;
    }

    /// All of it in Prometheus' text format.
    pub(super) fn render(&self, node: &NodeGauges, now: Instant) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "# TYPE twining_calls_total counter");
        for ((verb, outcome), count) in locked(&self.calls).iter() {
            let _ = writeln!(
                text,
                "twining_calls_total{{verb=\"{verb}\",outcome=\"{outcome}\"}} {count}"
            );
        }
        let _ = writeln!(text, "# TYPE twining_call_seconds histogram");
        for (verb, times) in locked(&self.times).iter() {
            times.render(&mut text, "twining_call_seconds", &format!("verb=\"{verb}\""));
        }
        let _ = writeln!(text, "# TYPE twining_refusals_total counter");
        for (status, count) in locked(&self.refusals).iter() {
            let _ = writeln!(text, "twining_refusals_total{{status=\"{status}\"}} {count}");
        }
        let ages = locked(&self.outbox_ages);
        let fresh =
            ages.values().filter(|(_, at)| now.saturating_duration_since(*at) < OUTBOX_FRESH);
        let outbox_age = fresh.map(|(age, _)| *age).max().unwrap_or_default();
        for (name, value) in [
            ("twining_connections", self.connections.load(Ordering::Relaxed).to_string()),
            ("twining_open_repositories", node.open_repositories.to_string()),
            ("twining_lag_seconds", node.lag.as_secs_f64().to_string()),
            ("twining_outbox_age_seconds", outbox_age.as_secs_f64().to_string()),
            ("twining_ready", u8::from(node.is_ready).to_string()),
        ] {
            let _ = writeln!(text, "# TYPE {name} gauge\n{name} {value}");
        }
        text
    }
}

fn locked<T>(counted: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    counted.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_counted_in_every_bucket_it_fits() {
        let metrics = Metrics::default();
        metrics.called("post", "ok", Duration::from_millis(4));
        metrics.refused(401);
        let now = Instant::now();
        metrics.outbox_waited("a", Duration::from_secs(7), now);
        metrics.outbox_waited("b", Duration::from_secs(3), now);
        let node = NodeGauges { open_repositories: 3, lag: Duration::ZERO, is_ready: true };
        let text = metrics.render(&node, now);
        for line in [
            "twining_calls_total{verb=\"post\",outcome=\"ok\"} 1",
            "twining_call_seconds_bucket{verb=\"post\",le=\"0.0025\"} 0",
            "twining_call_seconds_bucket{verb=\"post\",le=\"0.005\"} 1",
            "twining_refusals_total{status=\"401\"} 1",
            "twining_open_repositories 3",
            "twining_outbox_age_seconds 7",
            "twining_ready 1",
        ] {
            assert!(text.lines().any(|is| is == line), "{line} is not in\n{text}");
        }
        let later = metrics.render(&node, now + OUTBOX_FRESH);
        assert!(later.contains("twining_outbox_age_seconds 0\n"), "{later}");
    }
}
