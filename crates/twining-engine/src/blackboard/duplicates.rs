//! Duplicates: a post that repeats a recent one.
//!
//! Compared with the last few hundred lines of the blackboard, which each process caches and reads
//! incrementally: no index, and the same cost on any blackboard. Simultaneous posts from two
//! processes may both be written; that is harmless.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use twining_model::{CaseFolding, Entry, EntryType, Scope, Time};
use twining_store::BoardCursor;

use crate::blackboard::PostDraft;
use crate::fields::{self, DAY_MS};

/// Entries that are compared with.
const WINDOW: usize = 300;
/// Two summaries this much alike say the same, by pairs of neighbouring words.
const ALIKE: f64 = 0.8;
/// So much of a detail must be known already for it to add nothing.
const KNOWN: f64 = 0.9;
const ARTICLES: [&str; 3] = ["a", "an", "the"];
/// Words that negate a statement; the `t` is that of "don't".
const DENIALS: [&str; 9] =
    ["not", "no", "never", "none", "nothing", "nobody", "without", "cannot", "t"];

/// Recent entries.
#[derive(Default)]
pub(crate) struct RecentEntries {
    pub(crate) tail: BoardCursor,
    entries: VecDeque<RecentEntry>,
    /// Those that are known before the board has them.
    ahead: HashSet<String>,
}

struct RecentEntry {
    id: String,
    timestamp: String,
    at: Time,
    kind: EntryType,
    scope: Scope,
    tags: Vec<String>,
    relates_to: Vec<String>,
    fingerprint: SummaryFingerprint,
    /// The words of its summary and detail, by their hashes, in order.
    words: Vec<u64>,
}

/// A summary, ready to be compared with hundreds of others. Words stand as hashes.
struct SummaryFingerprint {
    words: Vec<u64>,
    /// Numbers and denials, by which two like sentences say different things.
    negations_and_numbers: Vec<u64>,
    /// Pairs of neighbouring words, in order.
    pairs: Vec<u64>,
}

impl RecentEntries {
    /// Takes in the lines that came since; all of them again if `restarted`.
    pub(crate) fn add_lines(&mut self, lines: &[u8], restarted: bool) {
        if restarted {
            self.entries.clear();
            self.ahead.clear();
        }
        for line in lines.split(|byte| *byte == b'\n') {
            if let Ok(entry) = serde_json::from_slice::<Entry>(line)
                && !self.ahead.remove(&entry.id)
            {
                self.add_entry(entry);
            }
        }
    }

    /// Takes in an entry that the board will have later.
    pub(crate) fn add_ahead(&mut self, entry: Entry) {
        if self.ahead.len() >= WINDOW {
            self.ahead.clear();
        }
        self.ahead.insert(entry.id.clone());
        self.add_entry(entry);
    }

    fn add_entry(&mut self, entry: Entry) {
        let Some(kind) = entry.kind() else { return };
        if kind.closes() {
            // What was settled may be posted again.
            self.entries.retain(|known| !entry.relates_to.contains(&known.id));
        }
        let Some(at) = Time::read(&entry.timestamp).filter(|_| repeats(kind)) else { return };
        let fingerprint = SummaryFingerprint::of(&entry.summary);
        let mut words = fingerprint.words.clone();
        for_each_word(&entry.detail, |word| words.push(hash(&word)));
        words.sort_unstable();
        words.dedup();
        let scope = Scope::read(&entry.scope);
        let Entry { id, timestamp, tags, relates_to, .. } = entry;
        self.entries.push_back(RecentEntry {
            id,
            timestamp,
            at,
            kind,
            scope,
            tags,
            relates_to,
            fingerprint,
            words,
        });
        if self.entries.len() > WINDOW {
            self.entries.pop_front();
        }
    }

    /// The newest entry that says this already: its id and its time.
    pub(crate) fn same_as(
        &self,
        content: &PostDraft,
        folding: CaseFolding,
        now: Time,
    ) -> Option<(String, String)> {
        if !repeats(content.kind) {
            return None;
        }
        let fingerprint = SummaryFingerprint::of(&content.summary);
        let detail = DetailWords::of(&content.detail);
        let since = fields::earlier(now, DAY_MS);
        let same = |entries: &&RecentEntry| {
            entries.kind == content.kind
                && entries.at >= since
                && entries.relates_to == content.relates_to
                && content.tags.iter().all(|tag| entries.tags.contains(tag))
                && entries.fingerprint.same_as(&fingerprint)
                // Last: to fold a path costs more than all the words.
                && detail.is_covered(&entries.words)
                // A reader of the new entry's scope must find the earlier one.
                && entries.scope.covers(&content.scope, folding)
        };
        let found = self.entries.iter().rev().find(same)?;
        Some((found.id.clone(), found.timestamp.clone()))
    }
}

/// Whether a repeated entry is a mistake. A task's status is posted repeatedly, an answer closes
/// its question, and each result is separate.
fn repeats(kind: EntryType) -> bool {
    matches!(
        kind,
        EntryType::Need
            | EntryType::Offer
            | EntryType::Finding
            | EntryType::Constraint
            | EntryType::Question
            | EntryType::Warning
    )
}

/// Two texts whose vectors are this much alike say the same, unless [`turns_differ`].
pub const SAME_MEANING: f64 = 0.96;

/// Whether two texts differ in a number or a negation, which hardly changes their vectors: "use
/// Redis" and "do not use Redis" are alike.
#[must_use]
pub fn turns_differ(one: &str, other: &str) -> bool {
    let turns = |text: &str| words_where(text, |word| is_number(word) || is_denial(word));
    turns(one) != turns(other)
}

/// Whether one of two texts denies what the other says: they differ in a negation, and in no number.
#[must_use]
pub fn denies(one: &str, other: &str) -> bool {
    let is_denied = |text: &str| !words_where(text, is_denial).is_empty();
    is_denied(one) != is_denied(other)
        && words_where(one, is_number) == words_where(other, is_number)
}

fn words_where(text: &str, is_meant: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let text = text.to_lowercase();
    let words = text.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| is_meant(word)).map(str::to_owned).collect()
}

fn is_number(word: &str) -> bool {
    word.contains(|c: char| c.is_ascii_digit())
}

fn is_denial(word: &str) -> bool {
    DENIALS.contains(&word)
}

fn for_each_word(text: &str, mut each: impl FnMut(&str)) {
    let lower = text.to_lowercase();
    for word in lower.split(|c: char| !c.is_alphanumeric() && c != '_') {
        if !word.is_empty() && !ARTICLES.contains(&word) {
            each(word);
        }
    }
}

impl SummaryFingerprint {
    fn of(summary: &str) -> Self {
        let (mut words, mut negations_and_numbers) = (Vec::new(), Vec::new());
        for_each_word(summary, |word| {
            words.push(hash(&word));
            if is_number(word) || is_denial(word) {
                negations_and_numbers.push(hash(&word));
            }
        });
        let mut pairs: Vec<u64> = words.windows(2).map(|pair| hash(&pair)).collect();
        pairs.sort_unstable();
        pairs.dedup();
        Self { words, negations_and_numbers, pairs }
    }

    /// Whether the two say the same.
    fn same_as(&self, other: &Self) -> bool {
        self.negations_and_numbers == other.negations_and_numbers
            && (self.words == other.words || self.alike(other) >= ALIKE)
    }

    /// The share of pairs of neighbouring words that two texts have in common:
    /// "a calls b" and "b calls a" have none.
    fn alike(&self, other: &Self) -> f64 {
        let both = self.pairs.iter().filter(|pair| other.pairs.binary_search(pair).is_ok()).count();
        let all = self.pairs.len() + other.pairs.len() - both;
        if all == 0 { 0.0 } else { both as f64 / all as f64 }
    }
}

/// What a detail says: each word once, and whether it is a number.
struct DetailWords(Vec<(u64, bool)>);

impl DetailWords {
    fn of(detail: &str) -> Self {
        let mut words = Vec::new();
        for_each_word(detail, |word| {
            words.push((hash(&word), word.contains(|c: char| c.is_ascii_digit())));
        });
        words.sort_unstable();
        words.dedup();
        Self(words)
    }

    /// Whether an entry with these words says nearly all of it.
    fn is_covered(&self, known: &[u64]) -> bool {
        let mut new = 0;
        for (word, is_number) in &self.0 {
            if known.binary_search(word).is_err() {
                if *is_number {
                    return false;
                }
                new += 1;
            }
        }
        (self.0.len() - new) as f64 >= KNOWN * self.0.len() as f64
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests;
