//! Mistakes in a policy file: where, what, and what was probably meant.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::text;

/// Something in a policy file that has no effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mistake {
    /// Which file.
    pub file: String,
    /// Which line, from one.
    pub line: u64,
    /// Which column, from one.
    pub column: u64,
    /// What is wrong.
    pub message: String,
    /// What was probably meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
}

impl Mistake {
    /// A file of which nothing can be used.
    pub fn whole(file: &str, why: &str) -> Self {
        let message = format!("the file cannot be used: {}", text::excerpt(why, 160));
        Self { file: file.to_owned(), line: 1, column: 1, message, suggestion: None }
    }
}

impl std::fmt::Display for Mistake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.message)?;
        self.suggestion.as_ref().map_or(Ok(()), |suggestion| write!(f, "; {suggestion}"))
    }
}

/// The known word that a misspelt one is nearest to, if any is near.
pub fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let plain = |word: &str| word.trim().to_lowercase().replace('-', "_");
    let given = plain(word);
    let most = (given.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|word| (distance(&given, &plain(word)), word))
        .filter(|(steps, _)| *steps <= most)
        .min_by_key(|(steps, _)| *steps)
        .map(|(_, word)| word)
}

/// How many letters must be added, dropped or changed to make `b` of `a`.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let changed = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_recognised_and_another_word_is_not() {
        let known = ["roles", "gates", "modes", "guards"];
        assert_eq!(nearest("role", known), Some("roles"));
        assert_eq!(nearest("Gates", known), Some("gates"));
        assert_eq!(nearest("gaurds", known), Some("guards"));
        assert_eq!(nearest("database", known), None);
        assert_eq!(nearest("must-do", ["must_do", "must_not_do"]), Some("must_do"));
        assert_eq!(nearest("", known), None);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
