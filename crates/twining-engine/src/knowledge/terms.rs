//! Key terms: what a story is about, in its own words.

use std::collections::HashMap;

/// So many terms are kept.
const MOST: usize = 20;
/// A shorter word says little.
const SHORTEST: usize = 3;

/// Words that stand in every story.
const STOP_WORDS: &str = " the a an and or but in on at to for of with by from as is are was were be been being have has had do does \
did will would should could may might must can this that these those i you he she it we they what which who when where why how \
using able use support ";

/// The words that stand most often in a story, identifiers whole; of equals the
/// first. Counted whatever their case, and given as they were first written.
#[must_use]
pub fn key_terms(description: &str, acceptance_criteria: &[String]) -> Vec<String> {
    let mut counts: HashMap<String, (usize, usize)> = HashMap::new();
    let mut found: Vec<(usize, &str)> = Vec::new();
    for word in std::iter::once(description).chain(acceptance_criteria.iter().map(String::as_str)).flat_map(tokens) {
        let folded = word.to_lowercase();
        if folded.chars().count() < SHORTEST || STOP_WORDS.contains(&format!(" {folded} ")) {
            continue;
        }
        let (count, place) = counts.entry(folded).or_insert((0, found.len()));
        *count += 1;
        match found.get_mut(*place) {
            Some(seen) => seen.0 = *count,
            None => found.push((*count, word)),
        }
    }
    found.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    found.into_iter().take(MOST).map(|(_, word)| word.to_owned()).collect()
}

/// Words and identifiers: letters, digits, `_`, and `-` between them.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let apart = |c: char| !(c.is_alphanumeric() || c == '_' || c == '-');
    text.split(apart).map(|word| word.trim_matches('-')).filter(|word| word.chars().any(char::is_alphanumeric))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(description: &str, criteria: &[&str]) -> Vec<String> {
        key_terms(description, &criteria.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn what_stands_most_often_comes_first_whatever_its_case() {
        let found =
            terms("API API API database database error", &["API endpoints must be documented", "Database transactions should be atomic"]);
        assert_eq!(found[..2], ["API", "database"]);
        assert_eq!(found[2..], ["error", "endpoints", "documented", "transactions", "atomic"], "equals in order of appearance");
    }

    #[test]
    fn words_that_stand_everywhere_are_left_out() {
        let found = terms("Add CORS headers to REST API using HTTP middleware", &["Support OPTIONS preflight requests"]);
        assert_eq!(found, ["Add", "CORS", "headers", "REST", "API", "HTTP", "middleware", "OPTIONS", "preflight", "requests"]);
    }

    #[test]
    fn identifiers_stay_whole() {
        let found = terms("Refactor getUserProfile and update_user_settings functions, then error-handling --- (x_y)", &[]);
        assert_eq!(found, ["Refactor", "getUserProfile", "update_user_settings", "functions", "then", "error-handling", "x_y"]);
    }

    #[test]
    fn twenty_at_most_and_the_same_every_time() {
        let greek = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda omicron rho sigma tau upsilon phi chi psi omega one two six ten";
        let found = terms(greek, &[]);
        assert_eq!(found.len(), 20);
        assert!((0..10).all(|_| terms(greek, &[]) == found));
        assert_eq!(terms("größe Größe", &[]), ["größe"], "other languages have words too");
        assert_eq!(terms("", &[]), [] as [&str; 0]);
    }
}
