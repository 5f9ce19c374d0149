//! The measures, averaged over a set.

use std::collections::{BTreeMap, HashSet};

/// Answers that are looked at.
pub(crate) const LIST: usize = 20;

/// Sums of one measure over the questions of a set.
#[derive(Default)]
struct MetricSums {
    n: usize,
    sums: BTreeMap<&'static str, f64>,
}

/// Set and verb, and what was measured.
#[derive(Default)]
pub(crate) struct MetricTable {
    rows: BTreeMap<(String, String), MetricSums>,
}

impl MetricTable {
    /// Adds what one question gave.
    pub(crate) fn add(&mut self, set: &str, verb: &str, values: &[(&'static str, f64)]) {
        let sums = self.rows.entry((verb.to_owned(), set.to_owned())).or_default();
        sums.n += 1;
        for (name, value) in values {
            *sums.sums.entry(name).or_default() += value;
        }
    }

    /// The averages, in percent, and under each verb the mean over its sets.
    #[expect(clippy::cast_precision_loss, reason = "averages of a few hundred")]
    pub(crate) fn to_markdown(&self) -> String {
        let mut out = String::from("| verb | set | n | measures |\n|---|---|---|---|\n");
        let mut means: BTreeMap<&str, (usize, BTreeMap<&str, f64>)> = BTreeMap::new();
        for ((verb, set), sums) in &self.rows {
            let averages: BTreeMap<&str, f64> =
                sums.sums.iter().map(|(name, sum)| (*name, sum / sums.n as f64)).collect();
            out.push_str(&format!("| {verb} | {set} | {} | {} |\n", sums.n, spelled(&averages)));
            let (sets, mean) = means.entry(verb).or_default();
            *sets += 1;
            for (name, average) in averages {
                *mean.entry(name).or_default() += average;
            }
        }
        for (verb, (sets, mean)) in means {
            let mean = mean.into_iter().map(|(name, sum)| (name, sum / sets as f64)).collect();
            out.push_str(&format!("| {verb} | **mean of {sets}** | | {} |\n", spelled(&mean)));
        }
        out
    }
}

fn spelled(averages: &BTreeMap<&str, f64>) -> String {
    averages
        .iter()
        .map(|(name, average)| format!("{name} {:.1}", average * 100.0))
        .collect::<Vec<_>>()
        .join(", ")
}

/// What one ranked list is worth.
#[expect(clippy::cast_precision_loss, reason = "ranks up to twenty")]
pub(crate) fn of_ranking(ranked: &[String], gold: &[String]) -> Vec<(&'static str, f64)> {
    let gold: HashSet<&String> = gold.iter().collect();
    let mut seen = HashSet::new();
    let hits: Vec<usize> = ranked
        .iter()
        .take(LIST)
        .enumerate()
        .filter(|(_, id)| gold.contains(id) && seen.insert(*id))
        .map(|(at, _)| at)
        .collect();
    let within = |k: usize| hits.iter().filter(|at| **at < k).count() as f64 / gold.len() as f64;
    let gain = |at: usize| 1.0 / ((at + 2) as f64).log2();
    let best: f64 = (0..gold.len().min(10)).map(gain).sum();
    let found: f64 = hits.iter().filter(|at| **at < 10).map(|at| gain(*at)).sum();
    let first = hits.first().map_or(0.0, |at| 1.0 / (*at + 1) as f64);
    vec![
        ("recall@05", within(5)),
        ("recall@10", within(10)),
        ("recall@20", within(20)),
        ("nDCG@10", found / best),
        ("MRR", first),
    ]
}

/// What share of these is among those.
#[expect(clippy::cast_precision_loss, reason = "a few ids")]
pub(crate) fn share(wanted: &[String], is_found: impl Fn(&String) -> bool) -> f64 {
    wanted.iter().filter(|id| is_found(id)).count() as f64 / wanted.len().max(1) as f64
}
