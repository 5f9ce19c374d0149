//! What waits for what: dependencies, and the circles nobody gets out of.

use std::collections::{HashMap, HashSet};

use crate::words;
use crate::workflow::feature::Feature;

/// What holds a feature back: its dependencies that are not tested, and those
/// that are in no list.
pub(crate) fn held_by<'f>(feature: &'f Feature, by_id: &HashMap<&str, &Feature>) -> Vec<&'f str> {
    let open = |id: &&str| by_id.get(id).is_none_or(|other| !other.tested);
    feature.depends_on.iter().map(String::as_str).filter(open).collect()
}

/// Every circle of dependencies, in words.
pub(crate) fn cycle_problems(features: &[Feature]) -> impl Iterator<Item = String> {
    cycles(features).into_iter().map(|cycle| {
        let closed: Vec<&str> = cycle.iter().chain(cycle.first()).map(String::as_str).collect();
        format!("{} depend on each other", words::some_names(closed.into_iter()).replace(", ", " -> "))
    })
}

/// Every circle of dependencies, each from its first feature in the list.
pub(crate) fn cycles(features: &[Feature]) -> Vec<Vec<String>> {
    let index: HashMap<&str, usize> = features.iter().enumerate().map(|(i, feature)| (feature.id.as_str(), i)).collect();
    let needs: Vec<Vec<usize>> =
        features.iter().map(|feature| feature.depends_on.iter().filter_map(|id| index.get(id.as_str()).copied()).collect()).collect();
    // Take away whoever needs nobody that is left; what stays is in a circle or behind one.
    let mut needed_by: Vec<Vec<usize>> = vec![Vec::new(); features.len()];
    let mut open: Vec<usize> = vec![0; features.len()];
    for (i, wanted) in needs.iter().enumerate() {
        for &other in wanted {
            needed_by[other].push(i);
            open[i] += 1;
        }
    }
    let mut free: Vec<usize> = (0..features.len()).filter(|&i| open[i] == 0).collect();
    while let Some(done) = free.pop() {
        for &i in &needed_by[done] {
            open[i] -= 1;
            if open[i] == 0 {
                free.push(i);
            }
        }
    }
    let mut seen = HashSet::new();
    let mut cycles = Vec::new();
    for start in (0..features.len()).filter(|&i| open[i] > 0) {
        let mut path = Vec::new();
        let mut at = start;
        // Each step leads to one that is stuck too, so the walk meets itself or an earlier one.
        while seen.insert(at) {
            path.push(at);
            match needs[at].iter().find(|&&other| open[other] > 0) {
                Some(&other) => at = other,
                None => break,
            }
        }
        if let Some(from) = path.iter().position(|&i| i == at) {
            cycles.push(path[from..].iter().map(|&i| features[i].id.clone()).collect());
        }
    }
    cycles
}
