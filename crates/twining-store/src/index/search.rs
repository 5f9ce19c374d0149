//! Searching by words: which rows, and how well each fits.
//!
//! A row is scored term by term: a term counts as much as it is rare, and within
//! one term BM25 tells the better row. So a search stays quick when a word stands
//! everywhere: of such a word only the newest rows are looked at, since it tells
//! little about any of them.

use std::collections::HashMap;

use crate::error::StoreError;

/// A term found in more rows than this says little about each.
pub(super) const COMMON: usize = 1000;
/// Of a common term, so many rows that pass a filter are enough.
pub(super) const ENOUGH: usize = 300;
/// What a common term counts in a row that has it.
const COMMON_FIT: f64 = 0.5;
const TERMS: usize = 24;
const TERM_CHARS: usize = 64;

/// Where to search.
pub(super) trait Shelf {
    /// The newest rows with the term, at most `COMMON + 1`, whatever the filter.
    fn spread(&self, term: &str) -> Result<Vec<i64>, StoreError>;
    /// The newest rows with the term that pass the filter, at most `ENOUGH`, of a
    /// term that is common; all of `spread` if there is no filter.
    fn passing(&self, term: &str, spread: Vec<i64>) -> Result<Vec<i64>, StoreError>;
    /// Every row with the term that passes the filter, and its BM25 score; higher
    /// is better.
    fn scored(&self, term: &str) -> Result<Vec<(i64, f64)>, StoreError>;
    /// How many rows there are, and the number of the last one.
    fn extent(&self) -> Result<(u64, i64), StoreError>;
}

/// The rows that fit, best first, newer before older.
pub(super) fn rank(shelf: &impl Shelf, query: &str) -> Result<Vec<(i64, f64)>, StoreError> {
    let (total, last) = shelf.extent()?;
    let mut fits: HashMap<i64, f64> = HashMap::new();
    let mut most = 0.0;
    for term in terms(query) {
        let term = quoted(&term);
        let spread = shelf.spread(&term)?;
        let weight = weight(estimate(&spread, last), total);
        most += weight;
        if spread.len() > COMMON {
            for row in shelf.passing(&term, spread)? {
                *fits.entry(row).or_default() += weight * COMMON_FIT;
            }
            continue;
        }
        let scored = if spread.is_empty() { Vec::new() } else { shelf.scored(&term)? };
        let best = scored.iter().map(|(_, score)| *score).fold(f64::MIN_POSITIVE, f64::max);
        for (row, score) in scored {
            *fits.entry(row).or_default() += weight * (score / best).clamp(0.0, 1.0);
        }
    }
    let mut ranked: Vec<(i64, f64)> = fits.into_iter().map(|(row, fit)| (row, (fit / most).clamp(0.0, 1.0))).collect();
    ranked.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
    Ok(ranked)
}

/// A text as one FTS5 phrase: nothing in it is syntax.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// The words of a query, each once.
fn terms(query: &str) -> Vec<String> {
    let mut terms: Vec<String> = Vec::new();
    for word in query.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let term: String = word.chars().take(TERM_CHARS).collect::<String>().to_lowercase();
        if terms.len() < TERMS && !terms.contains(&term) {
            terms.push(term);
        }
    }
    terms
}

/// How many rows have the term, judged by how far back the newest of them reach.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn estimate(newest: &[i64], last: i64) -> f64 {
    let found = newest.len() as f64;
    match newest.last() {
        Some(oldest) if newest.len() > COMMON => found * (last as f64 / ((last - oldest).max(1) as f64)).max(1.0),
        _ => found,
    }
}

/// How much a term says: much if it is rare, little if it stands everywhere.
#[expect(clippy::cast_precision_loss, reason = "a weight")]
fn weight(found: f64, total: u64) -> f64 {
    let total = (total as f64).max(1.0);
    let found = found.min(total);
    (1.0 + (total - found + 0.5) / (found + 0.5)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn punctuation_parts_words_and_is_never_syntax() {
        assert_eq!(terms("src/auth.rs NEAR(\"x\" -y) auth"), ["src", "auth", "rs", "near", "x", "y"]);
        assert_eq!(terms(" \" * ( ) "), [] as [&str; 0]);
        assert_eq!(quoted("a\"b"), "\"a\"\"b\"");
    }

    #[test]
    fn a_rare_term_weighs_more() {
        assert!(weight(1.0, 1000) > weight(900.0, 1000));
        assert!(weight(2.0, 2) > 0.0);
    }
}
