//! What is asked for, ready to be compared.

use std::collections::HashSet;

use twining_store::{Term, terms};

use super::meanings::Similarities;

/// How often the words of a task's first sentence count: it says what the rest explains.
const TITLE_WEIGHT: f64 = 2.0;
const TITLE_CHARS: usize = 200;
const SHORTEST_TITLE: usize = 20;

/// What is asked for.
pub(crate) struct SearchQuery<'m> {
    /// Its words.
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
    pub(crate) fn meanwhile(self, nearness: impl FnOnce() -> Option<Similarities<'m>> + 'm) -> Self {
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
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// The first sentence of the first line.
fn title_of(task: &str) -> &str {
    let line = task.lines().next().unwrap_or_default();
    let end = line
        .char_indices()
        .zip(line.chars().skip(1).chain([' ']))
        .enumerate()
        .find(|(n, ((_, c), next))| *n + 1 >= SHORTEST_TITLE && matches!(c, '.' | '?' | '!') && next.is_whitespace())
        .map_or(line.len(), |(_, ((at, c), _))| at + c.len_utf8());
    let end = line.char_indices().nth(TITLE_CHARS).map_or(end, |(at, _)| at.min(end));
    &line[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_first_sentence_if_it_is_long_enough_to_be_one() {
        assert_eq!(title_of("Rate limit bursts at the gate. Because of that, more.\nand more"), "Rate limit bursts at the gate.");
        assert_eq!(title_of("v1.2. is not a sentence"), "v1.2. is not a sentence");
        assert_eq!(title_of(""), "");
        assert_eq!(title_of(&"é".repeat(300)).chars().count(), TITLE_CHARS);
    }

    #[test]
    fn the_words_of_the_title_count_twice() {
        let question = SearchQuery::of_task("Limit the bursts of the gate! Tokens are slow.");
        let weight = |text: &str| question.terms.iter().find(|term| term.text == text).map(|term| term.weight);
        assert_eq!((weight("bursts"), weight("tokens"), weight("the")), (Some(2.0), Some(1.0), None));
    }
}
