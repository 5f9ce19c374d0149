//! What Prometheus asks for, on a port of its own: it has a tenant's name in no label.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Upper ends of the buckets of times, in seconds.
const SECONDS: [f64; 11] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];

/// Everything that is counted on this node.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    calls: Mutex<BTreeMap<(String, String), u64>>,
    times: Mutex<BTreeMap<String, Histogram>>,
    refusals: Mutex<BTreeMap<u16, u64>>,
    /// Connections that are open.
    pub(super) connections: AtomicI64,
}

#[derive(Debug, Default)]
struct Histogram {
    buckets: [u64; SECONDS.len()],
    count: u64,
    sum: f64,
}

impl Metrics {
    /// Counts a call.
    pub(super) fn called(&self, verb: &str, outcome: &str, took: Duration) {
        let key = (verb.to_owned(), outcome.to_owned());
        *locked(&self.calls).entry(key).or_default() += 1;
        let mut times = locked(&self.times);
        let histogram = times.entry(verb.to_owned()).or_default();
        let seconds = took.as_secs_f64();
        for (bucket, end) in histogram.buckets.iter_mut().zip(SECONDS) {
            *bucket += u64::from(seconds <= end);
        }
        histogram.count += 1;
        histogram.sum += seconds;
    }

    /// Counts a request that was refused at the door.
    pub(super) fn refused(&self, status: u16) {
        *locked(&self.refusals).entry(status).or_default() += 1;
    }

    /// All of it in Prometheus' text format.
    pub(super) fn render(&self, open_repositories: usize, is_ready: bool) -> String {
        let mut text = String::new();
        let mut line = |line: std::fmt::Arguments<'_>| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{line}");
        };
        line(format_args!("# TYPE twining_calls_total counter"));
        for ((verb, outcome), count) in locked(&self.calls).iter() {
            line(format_args!(
                "twining_calls_total{{verb=\"{verb}\",outcome=\"{outcome}\"}} {count}"
            ));
        }
        line(format_args!("# TYPE twining_call_seconds histogram"));
        for (verb, times) in locked(&self.times).iter() {
            for (end, count) in SECONDS.iter().zip(times.buckets) {
                line(format_args!(
                    "twining_call_seconds_bucket{{verb=\"{verb}\",le=\"{end}\"}} {count}"
                ));
            }
            let Histogram { count, sum, .. } = times;
            line(format_args!(
                "twining_call_seconds_bucket{{verb=\"{verb}\",le=\"+Inf\"}} {count}"
            ));
            line(format_args!("twining_call_seconds_sum{{verb=\"{verb}\"}} {sum}"));
            line(format_args!("twining_call_seconds_count{{verb=\"{verb}\"}} {count}"));
        }
        line(format_args!("# TYPE twining_refusals_total counter"));
        for (status, count) in locked(&self.refusals).iter() {
            line(format_args!("twining_refusals_total{{status=\"{status}\"}} {count}"));
        }
        let connections = self.connections.load(Ordering::Relaxed);
        for (name, value) in [
            ("twining_connections", connections.to_string()),
            ("twining_open_repositories", open_repositories.to_string()),
            ("twining_ready", u8::from(is_ready).to_string()),
        ] {
            line(format_args!("# TYPE {name} gauge"));
            line(format_args!("{name} {value}"));
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
        let text = metrics.render(3, true);
        for line in [
            "twining_calls_total{verb=\"post\",outcome=\"ok\"} 1",
            "twining_call_seconds_bucket{verb=\"post\",le=\"0.0025\"} 0",
            "twining_call_seconds_bucket{verb=\"post\",le=\"0.005\"} 1",
            "twining_refusals_total{status=\"401\"} 1",
            "twining_open_repositories 3",
            "twining_ready 1",
        ] {
            assert!(text.lines().any(|is| is == line), "{line} is not in\n{text}");
        }
    }
}
