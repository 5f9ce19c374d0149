//! Comments as statements about code: what their maintainers did with them says which changes
//! of the code made them untrue.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use regex::Regex;
use twining_code::{Definition, Excerpt, Freshness, Sighting, judge, line_hashes};

use crate::history::{FateSet, SourceTree, TreeFile, TruePlace};
use crate::{Hits, Share};

/// Words that a statement has at least.
const FEWEST_WORDS: usize = 5;

/// Witnesses that a record keeps at most.
const MOST_WITNESSES: usize = 8;

/// How alike a comment must be to count as kept.
const KEPT: f64 = 0.9;

/// How well doubt tells that a statement was edited or dropped.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DoubtHits(Hits);

impl fmt::Display for DoubtHits {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(hits) = self;
        write!(out, "{:.1} / {:.1} / {:.1}", hits.fires(), hits.precision(), hits.recall())
    }
}

/// What is told of a set's statements.
#[derive(Clone, Debug, Default)]
pub(crate) struct StatementScore {
    pub(crate) statements: usize,
    pub(crate) witnessed: Share,
    /// With witnesses and likeness.
    pub(crate) by_words: DoubtHits,
    /// And with the three lines under the comment as named lines.
    pub(crate) by_lines: DoubtHits,
    pub(crate) fresh_dropped: Share,
    pub(crate) touched_dropped: Share,
    pub(crate) drifted_dropped: Share,
}

impl StatementScore {
    /// Adds the counts of another set.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.statements += other.statements;
        self.witnessed.merge(other.witnessed);
        self.by_words.0.merge(other.by_words.0);
        self.by_lines.0.merge(other.by_lines.0);
        self.fresh_dropped.merge(other.fresh_dropped);
        self.touched_dropped.merge(other.touched_dropped);
        self.drifted_dropped.merge(other.drifted_dropped);
    }
}

/// A block of comment lines.
struct CommentBlock {
    first: u32,
    last: u32,
    text: String,
}

pub(crate) fn score(
    set: &FateSet,
    before: &SourceTree,
    after: &SourceTree,
) -> Result<StatementScore, String> {
    let reader = CommentReader::new()?;
    let mut score = StatementScore::default();
    let fates: BTreeMap<&TruePlace, Option<&TruePlace>> =
        set.fates.iter().map(|fate| (&fate.place, fate.to.as_ref())).collect();
    let later: BTreeMap<&str, Vec<CommentBlock>> =
        after.files.iter().map(|(path, file)| (path.as_str(), reader.blocks(file))).collect();
    let everywhere: BTreeSet<&str> =
        later.values().flatten().map(|block| block.text.as_str()).collect();
    let spread = spread(before);
    for (path, file) in &before.files {
        for block in reader.blocks(file) {
            let Some((place, then)) = around(path, file, &block) else { continue };
            let Some(to) = fates.get(&place).copied().flatten() else { continue };
            let Some(now) = after.definition(to) else { continue };
            let Some(now_file) = after.files.get(&to.path) else { continue };
            let blocks = later.get(to.path.as_str()).map(Vec::as_slice).unwrap_or_default();
            let is_dropped = !everywhere.contains(block.text.as_str())
                && !blocks.iter().any(|other| {
                    now.first_line <= other.first
                        && other.last <= now.last_line
                        && ratio(&block.text, &other.text) >= KEPT
                });
            count(
                &mut score,
                (path, file, then),
                (&to.path, now_file, now),
                &block,
                is_dropped,
                &spread,
            );
        }
    }
    Ok(score)
}

type Located<'a> = (&'a str, &'a TreeFile, &'a Definition);

fn count(
    score: &mut StatementScore,
    (path, file, then): Located<'_>,
    (now_path, now_file, now): Located<'_>,
    block: &CommentBlock,
    is_dropped: bool,
    spread: &BTreeMap<&str, u32>,
) {
    let code = Excerpt::read(path, &file.bytes, &(then.first_line..=then.last_line));
    let mut words = code.witnesses(&block.text, &then.name);
    words.sort_by_key(|word| spread.get(word.as_str()).copied().unwrap_or_default());
    words.truncate(MOST_WITNESSES);
    let mut lines = line_hashes(path, &file.bytes, &(block.last + 1..=then.last_line));
    lines.truncate(3);
    score.statements += 1;
    score.witnessed.count(!words.is_empty());
    let excerpt = || Excerpt::read(now_path, &now_file.bytes, &(now.first_line..=now.last_line));
    let by_words = judge(&Sighting::of(then, words.clone(), Vec::new()), now, excerpt).freshness;
    let by_lines = judge(&Sighting::of(then, words, lines), now, excerpt).freshness;
    let is_doubtful = |told: &Freshness| matches!(told, Freshness::Doubtful { .. });
    score.by_words.0.count(is_doubtful(&by_words), is_dropped);
    score.by_lines.0.count(is_doubtful(&by_lines), is_dropped);
    match by_words {
        Freshness::Fresh => score.fresh_dropped.count(is_dropped),
        Freshness::Touched => score.touched_dropped.count(is_dropped),
        Freshness::Drifted => score.drifted_dropped.count(is_dropped),
        Freshness::Doubtful { .. } => {}
    }
}

/// In how many files each name occurs.
fn spread(tree: &SourceTree) -> BTreeMap<&str, u32> {
    let mut spread = BTreeMap::new();
    for name in tree.files.values().flat_map(|file| file.source.names.keys()) {
        *spread.entry(name.as_str()).or_default() += 1;
    }
    spread
}

/// The innermost definition around a comment, with its place.
fn around<'t>(
    path: &str,
    file: &'t TreeFile,
    block: &CommentBlock,
) -> Option<(TruePlace, &'t Definition)> {
    use twining_code::DefinitionKind::Constant;
    let definitions = &file.source.definitions;
    let counted = |found: &&Definition| found.kind != Constant;
    let then = definitions
        .iter()
        .filter(counted)
        .filter(|found| found.first_line <= block.first && block.last <= found.last_line)
        .min_by_key(|found| found.last_line - found.first_line)?;
    let earlier = definitions
        .iter()
        .take_while(|found| !std::ptr::eq(*found, then))
        .filter(counted)
        .filter(|found| found.name == then.name);
    let before = earlier.count();
    Some((TruePlace { path: path.to_owned(), name: then.name.clone(), before }, then))
}

struct CommentReader {
    comment: Regex,
    code: Regex,
}

impl CommentReader {
    fn new() -> Result<Self, String> {
        let pattern = |text: &str| Regex::new(text).map_err(|error| error.to_string());
        Ok(Self {
            comment: pattern(r"^\s*(?:#|//)([^!].*)?$")?,
            code: pattern(
                r"(?i)[=(){}\[\];]|^\s*(import|from|return|if|for)\b|noqa|type:|eslint|prettier|pylint|@ts-|pragma|fmt:|copyright|licen[cs]e",
            )?,
        })
    }

    /// The blocks of whole-line comments that are statements, and no code that was switched off.
    fn blocks(&self, file: &TreeFile) -> Vec<CommentBlock> {
        let text = String::from_utf8_lossy(&file.bytes);
        let mut blocks: Vec<CommentBlock> = Vec::new();
        let mut open: Option<CommentBlock> = None;
        for (number, line) in (1_u32..).zip(text.lines().chain([""])) {
            match self.comment.captures(line) {
                Some(found) => {
                    let words = found.get(1).map_or("", |text| text.as_str());
                    let block = open.get_or_insert(CommentBlock {
                        first: number,
                        last: number,
                        text: String::new(),
                    });
                    block.last = number;
                    for word in words.split_whitespace() {
                        if !block.text.is_empty() {
                            block.text.push(' ');
                        }
                        block.text.push_str(word);
                    }
                }
                None => blocks.extend(open.take()),
            }
        }
        blocks.retain(|block| {
            block.text.split(' ').count() >= FEWEST_WORDS && !self.code.is_match(&block.text)
        });
        blocks
    }
}

/// How alike two texts are, from 0 to 1: twice the characters in common runs, the longest first,
/// over all characters.
fn ratio(one: &str, other: &str) -> f64 {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut same = 0;
    let mut pairs = vec![(0..one.len(), 0..other.len())];
    while let Some((left, right)) = pairs.pop() {
        let (mut best, mut at) = (0, (left.start, right.start));
        // Lengths of the common runs that end before each character of the right side.
        let mut lengths = vec![0_usize; right.len() + 1];
        for i in left.clone() {
            for j in right.clone().rev() {
                let slot = j - right.start + 1;
                lengths[slot] = if one[i] == other[j] { lengths[slot - 1] + 1 } else { 0 };
                if lengths[slot] > best {
                    (best, at) = (lengths[slot], (i + 1 - lengths[slot], j + 1 - lengths[slot]));
                }
            }
        }
        if best > 0 {
            same += best;
            pairs.push((left.start..at.0, right.start..at.1));
            pairs.push((at.0 + best..left.end, at.1 + best..right.end));
        }
    }
    2.0 * same as f64 / (one.len() + other.len()).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_alike_by_what_they_share() {
        assert!((ratio("abcd", "bcde") - 0.75).abs() < 1e-9);
        assert!((ratio("same", "same") - 1.0).abs() < 1e-9);
        assert!(ratio("abc", "xyz") < 1e-9);
    }
}
