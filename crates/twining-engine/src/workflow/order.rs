//! What waits for what: dependencies, and the circles nobody gets out of.

use std::collections::HashMap;

use crate::words;
use crate::workflow::feature::Feature;

/// What holds a feature back: its dependencies that are not tested, and those
/// that are in no list.
pub(crate) fn blocked_by<'f>(feature: &'f Feature, by_id: &HashMap<&str, &Feature>) -> Vec<&'f str> {
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

/// Circles of dependencies, each from the feature by which it is entered.
pub(crate) fn cycles(features: &[Feature]) -> Vec<Vec<String>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Visit {
        New,
        OnPath,
        Done,
    }
    let index: HashMap<&str, usize> = features.iter().enumerate().map(|(at, feature)| (feature.id.as_str(), at)).collect();
    let needs = |at: usize| features[at].depends_on.iter().filter_map(|id| index.get(id.as_str()).copied());
    let (mut visits, mut in_circle, mut cycles) = (vec![Visit::New; features.len()], vec![false; features.len()], Vec::new());
    for start in 0..features.len() {
        let mut path = if visits[start] == Visit::New { vec![(start, needs(start))] } else { Vec::new() };
        while let Some((at, rest)) = path.last_mut() {
            visits[*at] = Visit::OnPath;
            match rest.next().map(|next| (next, visits[next])) {
                None => {
                    visits[*at] = Visit::Done;
                    path.pop();
                }
                Some((next, Visit::New)) => path.push((next, needs(next))),
                // One circle of those that share a feature is enough to tell.
                Some((next, Visit::OnPath)) if !in_circle[next] => {
                    let circle: Vec<usize> = path.iter().map(|(at, _)| *at).skip_while(|at| *at != next).collect();
                    if !circle.iter().any(|at| in_circle[*at]) {
                        cycles.push(circle.iter().map(|at| features[*at].id.clone()).collect());
                    }
                    circle.into_iter().for_each(|at| in_circle[at] = true);
                }
                Some(_) => {}
            }
        }
    }
    cycles
}
