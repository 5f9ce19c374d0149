//! Fusion: combines words and meaning into one score, with the reasons for it.
//!
//! `docs/reference/retrieval.md` explains how the weights were found and what each contributes.

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;
use twining_store::{
    DecisionFilter, Decisions, Entries, EntryFilter, RecordHeader, RowId, StoreError, Term,
    VectorKeys, terms,
};

use super::embedding_index::Similarities;

/// Candidates taken by words, and as many by meaning.
const CANDIDATES: usize = 120;
/// Names looked at to find candidates by meaning, in up to three helpings: a text
/// may belong to a record of the other kind, or to one that the filter keeps out.
const BATCHES: [usize; 3] = [360, 1440, 5400];
/// How much the words count, and how much the meaning.
const LEXICAL: f64 = 0.45;
const SEMANTIC: f64 = 0.55;
/// A nearest text that is further away than this is not what was asked for, and raises no other.
const LEAST_BEST: f64 = 0.25;
/// A record without any of the words, and less alike than this, has nothing to do with it.
const BESIDE_THE_POINT: f64 = 0.1;
/// What it is worth that the question names the author.
const AUTHOR: f64 = 0.15;

/// How a search was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SearchMode {
    /// By keyword.
    #[default]
    Keyword,
    /// By meaning.
    Semantic,
    /// By both.
    Hybrid,
}

/// Why a record was found: each signal's share of a relevance up to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ScoreParts {
    /// Keyword match.
    #[serde(skip_serializing_if = "is_nothing")]
    pub lexical: f64,
    /// Semantic match.
    #[serde(skip_serializing_if = "is_nothing")]
    pub semantic: f64,
    /// The query names its author.
    #[serde(skip_serializing_if = "is_nothing")]
    pub author: f64,
    /// It is near the requested scope.
    #[serde(skip_serializing_if = "is_nothing")]
    pub scope: f64,
    /// It is recent.
    #[serde(skip_serializing_if = "is_nothing")]
    pub recency: f64,
    /// Its author is sure of it.
    #[serde(skip_serializing_if = "is_nothing")]
    pub confidence: f64,
    /// It warns, or awaits an answer.
    #[serde(skip_serializing_if = "is_nothing")]
    pub kind: f64,
    /// It is linked to much near the scope.
    #[serde(skip_serializing_if = "is_nothing")]
    pub graph: f64,
    /// From a person.
    #[serde(skip_serializing_if = "is_nothing")]
    pub human: f64,
    /// It is on code that the task names; less if that code changed.
    #[serde(skip_serializing_if = "is_nothing")]
    pub code: f64,
}

/// A record that answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RankedRecord {
    /// Which.
    pub(crate) row: RowId,
    /// Its score by part.
    pub(crate) why: ScoreParts,
}

/// The matching records of one kind.
pub(crate) struct Ranking {
    /// Best first; newer before older.
    pub(crate) ranked: Vec<RankedRecord>,
    /// The best BM25, which the others are measured by.
    best: f64,
    /// How they were found.
    pub(crate) mode: SearchMode,
}

impl Ranking {
    /// Measures rankings by the best of all, so that they can be compared.
    pub(crate) fn compare<const N: usize>(rankings: [&mut Self; N]) {
        let best = rankings.iter().map(|ranking| ranking.best).fold(f64::MIN_POSITIVE, f64::max);
        for ranking in rankings {
            let scale = ranking.best / best;
            ranking.ranked.iter_mut().for_each(|ranked| ranked.why.lexical *= scale);
            ranking.best = best;
            ranking.sort();
        }
    }

    fn sort(&mut self) {
        self.ranked.sort_unstable_by(|a, b| {
            b.why.worth().total_cmp(&a.why.worth()).then(b.row.cmp(&a.row))
        });
    }
}

impl ScoreParts {
    /// All of it together; what records are ordered by.
    #[must_use]
    pub fn worth(&self) -> f64 {
        let Self {
            lexical,
            semantic,
            author,
            scope,
            recency,
            confidence,
            kind,
            graph,
            human,
            code,
        } = *self;
        lexical + semantic + author + scope + recency + confidence + kind + graph + human + code
    }

    /// The same, from 0 to 1 and to three places, for people and agents to read.
    #[must_use]
    pub fn relevance(&self) -> f64 {
        round(self.worth().clamp(0.0, 1.0))
    }

    /// The same to three places: more would be noise to read, and to pay for.
    #[must_use]
    pub fn rounded(mut self) -> Self {
        let Self {
            lexical,
            semantic,
            author,
            scope,
            recency,
            confidence,
            kind,
            graph,
            human,
            code,
        } = &mut self;
        for part in
            [lexical, semantic, author, scope, recency, confidence, kind, graph, human, code]
        {
            *part = round(*part);
        }
        self
    }
}

/// A number to three places.
pub(crate) fn round(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape serde asks for")]
fn is_nothing(part: &f64) -> bool {
    *part == 0.0
}

/// Ranks the records of a kind that match.
pub(crate) fn rank(
    records: &impl Searchable,
    question: &SearchQuery<'_>,
) -> Result<Ranking, StoreError> {
    rank_found(records, question, by_words(records, question)?)
}

/// Records that contain its words.
pub(crate) fn by_words(
    records: &impl Searchable,
    question: &SearchQuery<'_>,
) -> Result<Vec<(RowId, f64)>, StoreError> {
    records.by_words(&question.terms, CANDIDATES)
}

/// Those, and those near in meaning, as an answer.
pub(crate) fn rank_found(
    records: &impl Searchable,
    question: &SearchQuery<'_>,
    found: Vec<(RowId, f64)>,
) -> Result<Ranking, StoreError> {
    let best = found.first().map_or(f64::MIN_POSITIVE, |(_, score)| score.max(f64::MIN_POSITIVE));
    let mut lexical: HashMap<RowId, f64> =
        found.into_iter().map(|(row, score)| (row, (score / best).max(0.0))).collect();
    if let Some(nearness) = &question.nearness {
        for row in nearest_rows(records, nearness)? {
            lexical.entry(row).or_insert(0.0);
        }
    }
    let mut ranked = Vec::with_capacity(lexical.len());
    for (row, words) in lexical {
        ranked.push(score_record(records, question, row, words)?);
    }
    add_author_scores(&mut ranked);
    let mode = match (&question.nearness, question.terms.is_empty()) {
        (None, _) => SearchMode::Keyword,
        (Some(_), true) => SearchMode::Semantic,
        (Some(_), false) => SearchMode::Hybrid,
    };
    let least = question.nearness.as_ref().map_or(0.0, |all| semantic(all, BESIDE_THE_POINT));
    let to_the_point =
        |ranked: &RankedRecord| ranked.why.lexical > 0.0 || ranked.why.semantic >= least;
    let ranked = ranked.into_iter().map(|(ranked, _)| ranked).filter(to_the_point).collect();
    let mut ranking = Ranking { ranked, best, mode };
    ranking.sort();
    Ok(ranking)
}

/// The rows whose texts are nearest.
fn nearest_rows(
    records: &impl Searchable,
    nearness: &Similarities<'_>,
) -> Result<Vec<RowId>, StoreError> {
    let names =
        nearness.nearest(if records.is_filtered() { BATCHES.iter().sum() } else { BATCHES[0] });
    let (mut found, mut from) = (Vec::new(), 0);
    for batch in BATCHES {
        let some = &names[from.min(names.len())..(from + batch).min(names.len())];
        if some.is_empty() || found.len() >= CANDIDATES / 2 {
            break;
        }
        found.extend(records.by_meaning(some)?);
        from += batch;
    }
    found.truncate(CANDIDATES * 2);
    Ok(found)
}

/// What words and meaning say for one record, and the author if the question names them.
fn score_record(
    records: &impl Searchable,
    question: &SearchQuery<'_>,
    row: RowId,
    words: f64,
) -> Result<(RankedRecord, Option<String>), StoreError> {
    let card = records.card(row)?;
    let why = match &question.nearness {
        None => ScoreParts { lexical: words, ..ScoreParts::default() },
        Some(nearness) => {
            match card.as_ref().and_then(|card| nearest_name(nearness, card.vector_keys)) {
                Some(near) => ScoreParts {
                    lexical: LEXICAL * words,
                    semantic: semantic(nearness, near),
                    ..ScoreParts::default()
                },
                // Its vectors are missing: it scores by words as it would without any.
                None => ScoreParts { lexical: words, ..ScoreParts::default() },
            }
        }
    };
    let named = card.map(|card| card.agent).filter(|agent| question.named.contains(agent));
    Ok((RankedRecord { row, why }, named))
}

/// Adds what being named is worth: the more, the fewer of the others have the same author.
#[expect(clippy::cast_precision_loss, reason = "a few hundred candidates")]
fn add_author_scores(ranked: &mut [(RankedRecord, Option<String>)]) {
    let mut by: HashMap<String, usize> = HashMap::new();
    for named in ranked.iter().filter_map(|(_, named)| named.as_ref()) {
        *by.entry(named.clone()).or_default() += 1;
    }
    let all = ranked.len() as f64;
    for (ranked, named) in ranked.iter_mut() {
        if let Some(count) = named.as_ref().and_then(|named| by.get(named)) {
            ranked.why.author = AUTHOR * (1.0 - *count as f64 / all);
        }
    }
}

/// What the meaning alone says for a record that no search found.
pub(crate) fn by_meaning(question: &SearchQuery<'_>, sense: VectorKeys) -> ScoreParts {
    let semantic = question
        .nearness
        .as_ref()
        .and_then(|nearness| nearest_name(nearness, sense).map(|near| semantic(nearness, near)));
    ScoreParts { semantic: semantic.unwrap_or(0.0), ..ScoreParts::default() }
}

/// What a cosine is worth. The words are measured by the best match; the meaning half so: by the
/// root of the nearest text's cosine.
fn semantic(nearness: &Similarities<'_>, near: f64) -> f64 {
    SEMANTIC * near / nearness.best().max(LEAST_BEST).sqrt()
}

/// How near the nearest of its texts is, at least 0; nothing if none has a vector.
fn nearest_name(nearness: &Similarities<'_>, sense: VectorKeys) -> Option<f64> {
    sense.names().filter_map(|name| nearness.of(name)).map(|near| near.max(0.0)).reduce(f64::max)
}

/// Records of one kind, behind one filter.
pub(crate) trait Searchable {
    /// Records that contain one of the words, best first, with their BM25.
    fn by_words(&self, terms: &[Term], most: usize) -> Result<Vec<(RowId, f64)>, StoreError>;
    /// Those whose text or summary has one of these names.
    fn by_meaning(&self, names: &[u64]) -> Result<Vec<RowId>, StoreError>;
    /// What is known of one without reading it.
    fn card(&self, row: RowId) -> Result<Option<RecordHeader>, StoreError>;
    /// Whether the filter may keep most of them out.
    fn is_filtered(&self) -> bool;
}

/// Entries.
pub(crate) struct EntrySearch<'v> {
    pub(crate) entries: Entries<'v>,
    pub(crate) filter: EntryFilter,
}

/// Decisions.
pub(crate) struct DecisionSearch<'v> {
    pub(crate) decisions: Decisions<'v>,
    pub(crate) filter: DecisionFilter,
}

macro_rules! searchable {
    ($search:ident, $records:ident) => {
        impl Searchable for $search<'_> {
            fn by_words(
                &self,
                terms: &[Term],
                most: usize,
            ) -> Result<Vec<(RowId, f64)>, StoreError> {
                self.$records.by_words(terms, &self.filter, most)
            }

            fn by_meaning(&self, names: &[u64]) -> Result<Vec<RowId>, StoreError> {
                self.$records.by_vector_keys(names, &self.filter)
            }

            fn card(&self, row: RowId) -> Result<Option<RecordHeader>, StoreError> {
                self.$records.header(row)
            }

            fn is_filtered(&self) -> bool {
                self.filter.is_some()
            }
        }
    };
}

searchable!(EntrySearch, entries);
searchable!(DecisionSearch, decisions);

/// How often the words of a task's first sentence count: it says what the rest explains.
const TITLE_WEIGHT: f64 = 2.0;
const TITLE_CHARS: usize = 200;
const SHORTEST_TITLE: usize = 20;

/// What is asked for.
pub(crate) struct SearchQuery<'m> {
    /// Keyword match.
    pub(crate) terms: Vec<Term>,
    /// All of its words, to find out whether it names somebody.
    pub(super) named: HashSet<String>,
    /// How near every known text is; nothing where only words can answer.
    pub(crate) nearness: Option<Similarities<'m>>,
    /// Finds that out, if it is being found out meanwhile.
    meanwhile: Option<Box<dyn FnOnce() -> Option<Similarities<'m>> + 'm>>,
    /// How many texts have no vector yet.
    pub(crate) waiting: u64,
}

impl<'m> SearchQuery<'m> {
    /// A few words or a sentence.
    pub(crate) fn of_query(text: &str, nearness: Option<Similarities<'m>>) -> Self {
        Self { terms: terms(text), named: words(text), nearness, meanwhile: None, waiting: 0 }
    }

    /// The description of a task, whose first sentence says most.
    pub(crate) fn of_task(text: &str) -> Self {
        let mut asked = terms(title_of(text));
        asked.iter_mut().for_each(|term| term.weight = TITLE_WEIGHT);
        for term in terms(text) {
            if !asked.iter().any(|known| known.text == term.text) {
                asked.push(term);
            }
        }
        Self { terms: asked, named: words(text), nearness: None, meanwhile: None, waiting: 0 }
    }

    /// The same where so many texts have no vector yet.
    pub(crate) fn with_waiting(self, waiting: u64) -> Self {
        Self { waiting, ..self }
    }

    /// The same while its meaning is being found out elsewhere.
    pub(crate) fn meanwhile(
        self,
        nearness: impl FnOnce() -> Option<Similarities<'m>> + 'm,
    ) -> Self {
        Self { meanwhile: Some(Box::new(nearness)), ..self }
    }

    /// Waits for what is being found out.
    pub(crate) fn settle(&mut self) {
        if let Some(nearness) = self.meanwhile.take() {
            self.nearness = nearness();
        }
    }
}

fn words(text: &str) -> HashSet<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// The first sentence of the first line.
fn title_of(task: &str) -> &str {
    let line = task.lines().next().unwrap_or_default();
    let end = line
        .char_indices()
        .zip(line.chars().skip(1).chain([' ']))
        .enumerate()
        .find(|(n, ((_, c), next))| {
            *n + 1 >= SHORTEST_TITLE && matches!(c, '.' | '?' | '!') && next.is_whitespace()
        })
        .map_or(line.len(), |(_, ((at, c), _))| at + c.len_utf8());
    let end = line.char_indices().nth(TITLE_CHARS).map_or(end, |(at, _)| at.min(end));
    &line[..end]
}

#[cfg(test)]
mod tests {
    use crate::search::ranking::*;

    #[test]
    fn a_title_is_the_first_sentence_if_it_is_long_enough_to_be_one() {
        assert_eq!(
            title_of("Rate limit bursts at the gate. Because of that, more.\nand more"),
            "Rate limit bursts at the gate."
        );
        assert_eq!(title_of("v1.2. is not a sentence"), "v1.2. is not a sentence");
        assert_eq!(title_of(""), "");
        assert_eq!(title_of(&"é".repeat(300)).chars().count(), TITLE_CHARS);
    }

    #[test]
    fn the_words_of_the_title_count_twice() {
        let question = SearchQuery::of_task("Limit the bursts of the gate! Tokens are slow.");
        let weight = |text: &str| {
            question.terms.iter().find(|term| term.text == text).map(|term| term.weight)
        };
        assert_eq!(
            (weight("bursts"), weight("tokens"), weight("the")),
            (Some(2.0), Some(1.0), None)
        );
    }
}
