//! Histograms as Prometheus reads them.

use std::fmt::Write;

/// Upper ends of buckets of times, in seconds.
pub(crate) const SECONDS: &[f64] =
    &[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];
/// Upper ends of buckets of counts.
pub(crate) const COUNTS: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 1000.0];

/// How often a value was at most so large.
#[derive(Debug)]
pub(crate) struct Histogram {
    ends: &'static [f64],
    buckets: Vec<u64>,
    count: u64,
    sum: f64,
}

impl Histogram {
    /// An empty one with buckets of these upper ends.
    pub(crate) fn new(ends: &'static [f64]) -> Self {
        Self { ends, buckets: vec![0; ends.len()], count: 0, sum: 0.0 }
    }

    /// Counts a value in every bucket it fits.
    pub(crate) fn add(&mut self, value: f64) {
        for (bucket, end) in self.buckets.iter_mut().zip(self.ends) {
            *bucket += u64::from(value <= *end);
        }
        self.count += 1;
        self.sum += value;
    }

    /// Its lines; `labels` is empty, or as `verb="post"`.
    pub(crate) fn render(&self, text: &mut String, name: &str, labels: &str) {
        let comma = if labels.is_empty() { "" } else { "," };
        let braced = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
        let Self { count, sum, .. } = self;
        // Writing to a string cannot fail.
        for (end, count) in self.ends.iter().zip(&self.buckets) {
            let _ = writeln!(text, "{name}_bucket{{{labels}{comma}le=\"{end}\"}} {count}");
        }
        let _ = writeln!(text, "{name}_bucket{{{labels}{comma}le=\"+Inf\"}} {count}");
        let _ = writeln!(text, "{name}_sum{braced} {sum}");
        let _ = writeln!(text, "{name}_count{braced} {count}");
    }
}
