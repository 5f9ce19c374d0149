//! Searching by words: which rows, and how well each fits.
//!
//! A row's score is its BM25 over the words asked for. It is added up word by
//! word, so that a search stays quick when a word stands everywhere: of such a
//! word only the newest rows are looked at, since it tells little about any of
//! them. (To look it up in the rows that rarer words found was tried: it makes no
//! search better, and counting its rows for each costs most of the time.)

use crate::error::StoreError;

/// A term found in more rows than this says little about each.
pub(super) const COMMON: usize = 250;
/// So does one found in one row of so many, but for a store of few.
const COMMON_SHARE: usize = 4;
const FEW: usize = 100;
/// Of a common term, so many rows that pass a filter are enough.
pub(super) const ENOUGH: usize = 300;
/// Of the terms of a long question, so many of the rarest are asked for.
const ASKED: usize = 16;

/// A word that is asked for, and how much it counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// In lower case.
    pub text: String,
    /// As often as it counts.
    pub weight: f64,
}

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

/// A term with what the shelf says about it.
struct Spread {
    term: String,
    rows: Vec<i64>,
    weight: f64,
    rarity: f64,
}

/// The rows that fit best, best first, newer before older.
pub(super) fn rank(shelf: &impl Shelf, terms: &[Term], most: usize) -> Result<Vec<(i64, f64)>, StoreError> {
    let (total, last) = shelf.extent()?;
    let mut asked = Vec::new();
    for term in terms {
        let text = quoted(&term.text);
        let rows = shelf.spread(&text)?;
        if !rows.is_empty() {
            let rarity = rarity(estimate(&rows, last), total);
            asked.push(Spread { term: text, rows, weight: term.weight, rarity });
        }
    }
    asked.sort_by(|a, b| (b.weight * b.rarity).total_cmp(&(a.weight * a.rarity)));
    asked.truncate(ASKED);
    let common = usize::try_from(total).unwrap_or(COMMON).div_ceil(COMMON_SHARE).clamp(FEW, COMMON);
    let (common, rare): (Vec<Spread>, Vec<Spread>) = asked.into_iter().partition(|spread| spread.rows.len() > common);

    let mut fits: Vec<(i64, f64)> = Vec::new();
    for spread in &rare {
        fits.extend(shelf.scored(&spread.term)?.into_iter().map(|(row, score)| (row, spread.weight * score)));
    }
    for spread in common {
        // What BM25 gives to a row of middling length that has the word once.
        let middling = spread.weight * spread.rarity;
        fits.extend(shelf.passing(&spread.term, spread.rows)?.into_iter().map(|row| (row, middling)));
    }
    Ok(best(fits, most))
}

/// What fits each row, summed up: the best, in their order.
fn best(mut fits: Vec<(i64, f64)>, most: usize) -> Vec<(i64, f64)> {
    // Stable, so that the same sum is made in the same order.
    fits.sort_by_key(|(row, _)| *row);
    fits.dedup_by(|next, sum| {
        let is_same = next.0 == sum.0;
        if is_same {
            sum.1 += next.1;
        }
        is_same
    });
    let better = |a: &(i64, f64), b: &(i64, f64)| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0));
    if fits.len() > most {
        fits.select_nth_unstable_by(most, better);
        fits.truncate(most);
    }
    fits.sort_unstable_by(better);
    fits
}

/// A text as one FTS5 phrase: nothing in it is syntax.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
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

/// How much a term says, as BM25 has it: much if it is rare, nothing if it
/// stands in every other row.
#[expect(clippy::cast_precision_loss, reason = "a weight")]
fn rarity(found: f64, total: u64) -> f64 {
    let total = (total as f64).max(1.0);
    let found = found.min(total);
    ((total - found + 0.5) / (found + 0.5)).ln().max(1e-6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quotation_mark_does_not_end_a_phrase() {
        assert_eq!(quoted("a\"b"), "\"a\"\"b\"");
    }

    #[test]
    fn a_rare_term_weighs_more() {
        assert!(rarity(1.0, 1000) > rarity(400.0, 1000));
        assert!(rarity(2.0, 2) > 0.0);
    }
}
