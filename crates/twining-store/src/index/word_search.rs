//! Word search: which rows match, and how well.
//!
//! A row's score is its BM25 over the query words. It is summed word by word, so that a search
//! stays fast when a word is very common: of such a word only the newest rows are read, since it
//! says little about any of them. (Looking it up in the rows that rarer words found was tried: it
//! improves no search, and counting its rows for each takes most of the time.)

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

use rusqlite::types::Value;
use rusqlite::{Connection, Row as SqlRow, ToSql, params};

use super::embeddings::RowId;
use super::view::CountKind;
use super::view::row_limit;
use super::{connections, view};
use crate::error::StoreError;

/// A term found in more rows than this says little about each.
const COMMON: usize = 250;
/// So does one found in one row of so many, but for a store of few.
const COMMON_SHARE: usize = 4;
const FEW: usize = 100;
/// Of a common term, so many rows that pass a filter are enough.
const MAX_PASSING: usize = 300;
/// Of the terms of a long question, so many of the rarest are asked for.
const MAX_TERMS: usize = 16;

/// A word that is asked for, and how much it counts.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// In lower case.
    pub text: String,
    /// As often as it counts.
    pub weight: f64,
}

/// Values by name, of which each statement uses some.
pub(super) struct QueryParameters<'s> {
    pub conn: &'s Connection,
    pub values: Vec<(&'static str, Value)>,
}

impl QueryParameters<'_> {
    /// The rows of a statement; `more` comes before the values of the same name.
    pub(super) fn rows<T>(
        &self,
        sql: &str,
        more: &[(&str, &dyn ToSql)],
        read: impl Fn(&SqlRow<'_>) -> Result<T, rusqlite::Error>,
    ) -> Result<Vec<T>, StoreError> {
        let mut statement = self.conn.prepare_cached(sql)?;
        let values = self.values.iter().map(|(name, value)| (*name, value as &dyn ToSql));
        for (name, value) in values.chain(more.iter().copied()) {
            if let Some(at) = statement.parameter_index(name)? {
                statement.raw_bind_parameter(at, value)?;
            }
        }
        let (mut rows, mut found) = (statement.raw_query(), Vec::new());
        while let Some(row) = rows.next()? {
            found.push(read(row)?);
        }
        Ok(found)
    }
}

/// The statements that search one kind of record: `:match` is what to find.
pub(super) struct SearchStatements {
    /// The newest rows with a term, whatever the filter.
    pub newest_rows: &'static str,
    /// The newest rows with a term that pass the filter.
    pub passing: &'static str,
    /// Every row with a term that passes the filter, and its BM25 score; higher is better.
    pub scored: &'static str,
    /// The same without a filter.
    pub scored_any: &'static str,
    /// The rows that pass the filter and whose text, or whose summary, has one of `:names`.
    pub by_vector_keys: [&'static str; 2],
    /// The number of the last row.
    pub last: &'static str,
    /// How many rows there are, in the counter.
    pub counts: &'static [CountKind],
    /// Where words are looked for: what comes before a term.
    pub columns: &'static str,
}

/// Where to search: records of one kind behind a filter.
pub(super) struct WordSearch<'s> {
    pub parameters: &'s QueryParameters<'s>,
    pub statements: &'static SearchStatements,
    pub is_filtered: bool,
    /// What else the full-text index knows of the filter: it may let too much pass,
    /// as the filter comes after it.
    pub narrowing: String,
}

/// A term with its matches in the index.
struct TermRows {
    term: String,
    rows: Vec<i64>,
    weight: f64,
    rarity: f64,
}

impl WordSearch<'_> {
    /// The rows that fit best, best first, newer before older.
    pub(super) fn rank(
        &self,
        terms: &[Term],
        limit: usize,
    ) -> Result<Vec<(RowId, f64)>, StoreError> {
        let total = self.total()?;
        let last =
            self.parameters.rows(self.statements.last, &[], |row| row.get(0))?.pop().unwrap_or(0);
        let mut term_rows = Vec::new();
        for term in terms {
            let text = format!("{}{}", self.statements.columns, quoted(&term.text));
            let rows = self.newest(self.statements.newest_rows, &text, COMMON + 1)?;
            if !rows.is_empty() {
                let rarity = rarity(estimate(&rows, last), total);
                term_rows.push(TermRows { term: text, rows, weight: term.weight, rarity });
            }
        }
        term_rows.sort_by(|a, b| (b.weight * b.rarity).total_cmp(&(a.weight * a.rarity)));
        term_rows.truncate(MAX_TERMS);
        let common =
            usize::try_from(total).unwrap_or(COMMON).div_ceil(COMMON_SHARE).clamp(FEW, COMMON);
        let (common, rare): (Vec<TermRows>, Vec<TermRows>) =
            term_rows.into_iter().partition(|newest_rows| newest_rows.rows.len() > common);

        let mut scores: Vec<(i64, f64)> = Vec::new();
        let scored =
            if self.is_filtered { self.statements.scored } else { self.statements.scored_any };
        for TermRows { term, weight, .. } in &rare {
            scores.extend(self.parameters.rows(scored, &[(":match", term)], |row| {
                Ok((row.get(0)?, weight * row.get::<_, f64>(1)?))
            })?);
        }
        for TermRows { term, rows, weight, rarity } in common {
            let narrowed = || format!("{term}{}", self.narrowing);
            let passing = if self.is_filtered {
                self.newest(self.statements.passing, &narrowed(), MAX_PASSING)?
            } else {
                rows
            };
            // What BM25 gives to a row of middling length that has the word once.
            scores.extend(passing.into_iter().map(|row| (row, weight * rarity)));
        }
        Ok(best(scores, limit))
    }

    /// The rows that pass the filter and whose text, or whose summary, has one of these names.
    pub(super) fn by_vector_keys(&self, names: &[u64]) -> Result<Vec<RowId>, StoreError> {
        let names: Vec<i64> = names.iter().map(|name| name.cast_signed()).collect();
        let (names, mut found) = (serde_json::to_string(&names)?, Vec::new());
        for sql in self.statements.by_vector_keys {
            found.extend(
                self.parameters.rows(sql, &[(":names", &names)], |row| row.get(0).map(RowId))?,
            );
        }
        Ok(found)
    }

    /// How many records there are, whatever the filter.
    pub(super) fn total(&self) -> Result<u64, StoreError> {
        Ok(view::sum(self.parameters.conn, self.statements.counts)?)
    }

    fn newest(&self, sql: &str, term: &str, limit: usize) -> Result<Vec<i64>, StoreError> {
        self.parameters
            .rows(sql, &[(":match", &term), (":limit", &row_limit(limit))], |row| row.get(0))
    }
}

/// What fits each row, summed up: the best, in their order.
fn best(mut scores: Vec<(i64, f64)>, limit: usize) -> Vec<(RowId, f64)> {
    // Stable, so that the same sum is made in the same order.
    scores.sort_by_key(|(row, _)| *row);
    scores.dedup_by(|next, sum| {
        let is_same = next.0 == sum.0;
        if is_same {
            sum.1 += next.1;
        }
        is_same
    });
    let better = |a: &(i64, f64), b: &(i64, f64)| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0));
    if scores.len() > limit {
        scores.select_nth_unstable_by(limit, better);
        scores.truncate(limit);
    }
    scores.sort_unstable_by(better);
    scores.into_iter().map(|(row, score)| (RowId(row), score)).collect()
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
        Some(oldest) if newest.len() > COMMON => {
            found * (last as f64 / ((last - oldest).max(1) as f64)).max(1.0)
        }
        _ => found,
    }
}

/// Returns the BM25 weight of a term: high if it is rare, zero if it occurs in every other row.
#[expect(clippy::cast_precision_loss, reason = "a weight")]
fn rarity(found: f64, total: u64) -> f64 {
    let total = (total as f64).max(1.0);
    let found = found.min(total);
    ((total - found + 0.5) / (found + 0.5)).ln().max(1e-6)
}

/// What a node is found by: id, tag, description, path, example, component.
pub type NodeText<'a> = [&'a str; 6];

const TABLE: &str = "
CREATE VIRTUAL TABLE node_text USING fts5(
    id, tag, description, path, example, component,
    content='', tokenize='porter unicode61 remove_diacritics 2'
);
INSERT INTO node_text(node_text, rank) VALUES('hashsize', 8388608), ('automerge', 0);
";
const INSERT: &str = "INSERT INTO node_text(rowid, id, tag, description, path, example, component) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)";
/// A word in a node's name says more about it than one in its example. Ties keep file order, so
/// that the same query has one answer.
const FIND: &str = "SELECT rowid FROM node_text WHERE node_text MATCH ?1 ORDER BY bm25(node_text, 4.0, 3.0, 1.0, 2.0, 1.0, 2.0), rowid";

/// An index over the nodes of one graph.
#[derive(Debug)]
pub struct NodeIndex(Mutex<Connection>);

impl NodeIndex {
    /// Makes an index of these nodes, each under a number of the caller's.
    pub fn of<'a>(nodes: impl Iterator<Item = (usize, NodeText<'a>)>) -> Result<Self, StoreError> {
        let conn = connections::open_in_memory()?;
        conn.execute_batch(TABLE)?;
        conn.execute_batch("BEGIN")?;
        let mut insert = conn.prepare(INSERT)?;
        for (number, text) in nodes {
            let [id, tag, description, path, example, component] = text.map(with_identifier_parts);
            insert.execute(params![
                i64::try_from(number).unwrap_or(i64::MAX),
                id,
                tag,
                description,
                path,
                example,
                component
            ])?;
        }
        drop(insert);
        conn.execute_batch("COMMIT")?;
        Ok(Self(Mutex::new(conn)))
    }

    /// The nodes with any of these words that are wanted, best first, at most so many.
    pub fn find(
        &self,
        terms: &[Term],
        limit: usize,
        wanted: impl Fn(usize) -> bool,
    ) -> Result<Vec<usize>, StoreError> {
        if terms.is_empty() || limit == 0 {
            return Ok(Vec::new());
        }
        let asked = terms.iter().map(|term| quoted(&term.text)).collect::<Vec<_>>().join(" OR ");
        let conn = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut statement = conn.prepare_cached(FIND)?;
        let mut rows = statement.query([asked])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let number = usize::try_from(row.get::<_, i64>(0)?).unwrap_or_default();
            if wanted(number) {
                found.push(number);
                if found.len() == limit {
                    break;
                }
            }
        }
        Ok(found)
    }
}

/// Words that say nothing about what a text is about.
const STOP_WORDS: &str = " a an the of to in on at for from by with as is are was were be been being do does did have has had \
i me my we our us you your he she it its they them his her their this that these those what which who whom whose when where why \
how many much and or if not no so than then there here can could would should will may might about into over after before during \
any some all s t ll ve re d m don didn doesn isn wasn ";
const TERMS: usize = 64;
const TERM_CHARS: usize = 64;

/// A text followed by the parts of its identifiers.
pub(super) fn with_identifier_parts(text: &str) -> Cow<'_, str> {
    let mut more = String::new();
    for part in words(text).flat_map(parts) {
        more.push(' ');
        more.push_str(part);
    }
    if more.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(format!("{text}{more}")) }
}

/// Returns the terms of a query: its words and the parts of its identifiers, each once. Stop words
/// are left out, unless there are no others.
#[must_use]
pub fn terms(question: &str) -> Vec<Term> {
    let mut found: Vec<Term> = Vec::new();
    for word in words(question).chain(words(question).flat_map(parts)) {
        let text: String = word.chars().take(TERM_CHARS).collect::<String>().to_lowercase();
        if found.len() < TERMS && !found.iter().any(|known| known.text == text) {
            found.push(Term { text, weight: 1.0 });
        }
    }
    if found.iter().any(|term| !is_stop_word(&term.text)) {
        found.retain(|term| !is_stop_word(&term.text));
    }
    found
}

/// Whether it is a stop word.
fn is_stop_word(word: &str) -> bool {
    !word.contains(' ') && STOP_WORDS.contains(&format!(" {word} "))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// The parts of `getUserProfile`, `HTTPServer` or `utf8Error`; none of a plain word.
fn parts(word: &str) -> Vec<&str> {
    let bytes = word.as_bytes();
    if !word.is_ascii()
        || !bytes.iter().skip(1).any(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
    {
        return Vec::new();
    }
    let mut parts = Vec::new();
    let mut start = 0;
    for at in 1..=bytes.len() {
        if at == bytes.len() || is_part_boundary(bytes, at) {
            parts.push(&word[start..at]);
            start = at;
        }
    }
    if parts.len() < 2 {
        return Vec::new();
    }
    // A single letter or digit occurs in too many names.
    parts.retain(|part| part.len() > 1);
    parts
}

/// Whether a new part begins at `at`: `user|Profile`, `HTTP|Server`, `utf|8`, `8|Error`.
fn is_part_boundary(word: &[u8], at: usize) -> bool {
    let (before, here) = (word[at - 1], word[at]);
    let ends_capitals = before.is_ascii_uppercase()
        && here.is_ascii_uppercase()
        && word.get(at + 1).is_some_and(u8::is_ascii_lowercase);
    (!before.is_ascii_uppercase() && here.is_ascii_uppercase())
        || before.is_ascii_digit() != here.is_ascii_digit()
        || ends_capitals
}

#[cfg(test)]
mod words_tests {
    use crate::index::word_search::*;

    fn asked(question: &str) -> Vec<String> {
        terms(question).into_iter().map(|term| term.text).collect()
    }

    #[test]
    fn identifiers_fall_into_their_parts() {
        assert_eq!(parts("getUserProfile"), ["get", "User", "Profile"]);
        assert_eq!(parts("HTTPServer"), ["HTTP", "Server"]);
        assert_eq!(parts("utf8Error"), ["utf", "Error"]);
        assert_eq!(parts("MAX"), [] as [&str; 0]);
        assert_eq!(parts("Profile"), [] as [&str; 0]);
        assert_eq!(parts("straßeNord"), [] as [&str; 0]);
        assert_eq!(with_identifier_parts("a plain text"), "a plain text");
        assert_eq!(with_identifier_parts("call getUser now"), "call getUser now get User");
    }

    #[test]
    fn a_question_asks_for_what_it_is_about() {
        assert_eq!(
            asked("How does getUser work with the cache?"),
            ["getuser", "work", "cache", "get", "user"]
        );
        assert_eq!(asked("what is it"), ["what", "is", "it"], "nothing else to go by");
    }

    #[test]
    fn punctuation_parts_words_and_is_never_syntax() {
        assert_eq!(
            asked("src/auth.rs NEAR(\"x\" -y) auth"),
            ["src", "auth", "rs", "near", "x", "y"]
        );
        assert_eq!(asked(" \" * ( ) "), [] as [&str; 0]);
    }
}

#[cfg(test)]
mod tests {
    use crate::index::word_search::*;

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
