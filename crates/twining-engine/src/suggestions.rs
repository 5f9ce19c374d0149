//! Advice: which word was meant by one that the graph does not know.

/// A field, a word of the graph for it, and what people and agents write instead.
const SYNONYMS: &str = "\
type component module service class package library subsystem function file
type interface api protocol contract endpoint port
type abstraction concept trait model idea
type datastore database db table cache store queue storage
type external dependency third_party vendor external_service integration
type pattern convention practice guideline standard idiom
type rule constraint policy requirement principle decision law
level architecture application system design global arch architectural project
level implementation code impl detail local module component package class function file
status current active live stable enabled implemented done accepted in_use
status future planned proposed draft todo upcoming pending experimental
status deprecated obsolete retired removed superseded inactive
status legacy old outdated historic
priority critical must blocker highest p0 urgent mandatory
priority high important should p1 major
priority medium normal moderate p2 default
priority low minor optional could lowest p3 nice_to_have
relation uses depends_on requires imports needs reads writes
relation calls invokes triggers sends_to
relation implements extends inherits realizes provides
relation configured_with configured_by config configures
relation must_follow follows must_use obeys governed_by required_by
relation must_not_use must_avoid forbids forbidden prohibits not_use
relation superseded_by replaced_by deprecated_by
relation supersedes replaces obsoletes
relation coexists_with related_to alongside coexists";

/// The word of `known` that was probably meant, if any.
pub(crate) fn suggest<'k>(field: &str, given: &str, known: &[&'k str]) -> Option<&'k str> {
    let given = given.trim().to_lowercase().replace(['-', ' '], "_");
    let listed = |word: &&&'k str| {
        let is_row = |row: &str| {
            row.strip_prefix(field)
                .and_then(|row| row.strip_prefix(' ')?.strip_prefix(**word))
                .is_some_and(|row| row.starts_with(' ') && row.split(' ').any(|w| w == given))
        };
        !given.is_empty() && SYNONYMS.lines().any(is_row)
    };
    known
        .iter()
        .find(|word| **word == given)
        .or_else(|| known.iter().find(listed))
        .copied()
        .or_else(|| nearest(&given, known.iter().copied()))
}

/// The candidate that differs least, if it differs by a slip of the pen only.
pub fn nearest<'k>(given: &str, candidates: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let length = given.chars().count();
    let slips = match length {
        0..2 => 0,
        2..4 => 1,
        _ => 2,
    };
    let close = candidates
        .filter(|word| word.chars().count().abs_diff(length) <= slips)
        .map(|word| (distance(given, word), word));
    close.filter(|(distance, _)| *distance <= slips).min().map(|(_, word)| word)
}

/// How many letters must be put in, taken out or changed.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let changed = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use twining_testcases::each;

    #[test]
    fn the_words_agents_really_write_lead_to_the_right_one() {
        let statuses = ["current", "deprecated", "future", "legacy"];
        assert_eq!(suggest("status", "active", &statuses), Some("current"));
        assert_eq!(suggest("status", "planned", &statuses), Some("future"));
        assert_eq!(suggest("status", "Curent", &statuses), Some("current"), "a slip");
        assert_eq!(suggest("status", "banana", &statuses), None);
        assert_eq!(
            suggest("level", "application", &["architecture", "implementation"]),
            Some("architecture")
        );
        assert_eq!(
            suggest("relation", "must-follow", &["calls", "must_follow"]),
            Some("must_follow")
        );
    }

    #[test]
    fn every_synonym_leads_to_a_word_that_exists() {
        use twining_model::knowledge_vocabulary::{Level, Link, NodeType, Priority, Standing};
        each(SYNONYMS.lines(), |row| {
            let mut words = row.split(' ');
            let field = words.next().expect("a row has a field");
            let known: Vec<&str> = match field {
                "type" => NodeType::ALL.iter().map(|word| word.as_str()).collect(),
                "level" => Level::ALL.iter().map(|word| word.as_str()).collect(),
                "status" => Standing::ALL.iter().map(|word| word.as_str()).collect(),
                "priority" => Priority::ALL.iter().map(|word| word.as_str()).collect(),
                _ => Link::ALL.iter().map(|word| word.as_str()).collect(),
            };
            assert!(words.next().is_some_and(|word| known.contains(&word)), "{row}");
            assert!(words.all(|word| !known.contains(&word)), "{row}");
        });
    }

    #[test]
    fn a_slip_of_the_finger_is_recognised_and_another_word_is_not() {
        let known = ["roles", "gates", "modes", "guards"];
        each(
            [
                ("role", Some("roles")),
                ("Gates", Some("gates")),
                ("gaurds", Some("guards")),
                ("database", None),
                ("", None),
            ],
            |(given, word)| {
                assert_eq!(suggest("policy", given, &known), word, "{given}");
            },
        );
        assert_eq!(suggest("role", "must-do", &["must_do", "must_not_do"]), Some("must_do"));
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
