//! Parses and validates input fields, for several modules.

use serde::Serialize;
use twining_model::{Id, InvalidInput, ProjectRoot, Scope, Time, limits, text};

/// A day.
pub(crate) const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// Takes the number of results a caller wants.
pub(crate) fn page(
    field: &'static str,
    given: Option<usize>,
    default: usize,
) -> Result<usize, InvalidInput> {
    within(field, given, default, limits::PAGE)
}

/// Takes a number from 1 to `most`.
pub(crate) fn within(
    field: &'static str,
    given: Option<usize>,
    default: usize,
    most: usize,
) -> Result<usize, InvalidInput> {
    match given {
        None => Ok(default),
        Some(n) if (1..=most).contains(&n) => Ok(n),
        Some(n) => Err(InvalidInput::new(field, format!("must be from 1 to {most}"))
            .because(format!("{n} was given"))),
    }
}

/// Takes a scope, which is the whole project when none is given.
pub(crate) fn scope_or_project(
    given: Option<&str>,
    root: &ProjectRoot,
) -> Result<Scope, InvalidInput> {
    given.map_or_else(|| Ok(Scope::project()), |scope| Scope::parse("scope", scope, root))
}

/// Takes a field that may be left out.
pub(crate) fn optional<T>(
    field: &'static str,
    given: Option<&str>,
    take: impl FnOnce(&'static str, &str) -> Result<T, InvalidInput>,
) -> Result<Option<T>, InvalidInput> {
    given.map(|given| take(field, given)).transpose()
}

/// Takes a scope that may be left out.
pub(crate) fn optional_scope(
    given: Option<&str>,
    root: &ProjectRoot,
) -> Result<Option<Scope>, InvalidInput> {
    optional("scope", given, |field, scope| Scope::parse(field, scope, root))
}

/// Takes an id that may have spaces around it.
pub(crate) fn id(field: &'static str, given: &str) -> Result<Id, InvalidInput> {
    Id::parse(field, given.trim())
}

/// Takes a list of short texts.
pub(crate) fn list(field: &'static str, given: &[String]) -> Result<Vec<String>, InvalidInput> {
    text::list(field, given, limits::LIST, limits::ELEMENT_BYTES)
}

/// Takes paths of files in the project.
pub(crate) fn paths(
    field: &'static str,
    given: &[String],
    root: &ProjectRoot,
) -> Result<Vec<String>, InvalidInput> {
    let paths = given.iter().map(|path| Ok(Scope::parse(field, path, root)?.to_string()));
    list(field, &paths.collect::<Result<Vec<_>, _>>()?)
}

/// Takes tags.
pub(crate) fn tags(given: &[String]) -> Result<Vec<String>, InvalidInput> {
    text::list("tags", given, limits::TAGS, limits::TAG_BYTES)
}

/// Takes words to search for. They are bounded more tightly than other text,
/// because each becomes a term of the query.
pub(crate) fn query(field: &'static str, given: &str) -> Result<String, InvalidInput> {
    text::name(field, given)
}

/// Takes one word out of a known few.
pub(crate) fn one_of<T: Copy>(
    field: &'static str,
    given: &str,
    known: &[(&'static str, T)],
) -> Result<T, InvalidInput> {
    known.iter().find(|(word, _)| *word == given).map(|(_, value)| *value).ok_or_else(|| {
        let words: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
        InvalidInput::new(field, format!("must be one of {}", words.join(", ")))
            .because(format!("`{}` is not one of them", text::excerpt(given, 40)))
    })
}

/// Takes ids of any record. A ULID is put into its one spelling, so that a
/// reference typed in lower case still finds its record.
pub(crate) fn references(
    field: &'static str,
    given: &[String],
) -> Result<Vec<String>, InvalidInput> {
    let mut result: Vec<String> = Vec::new();
    for id in list(field, given)? {
        let id = Id::read(&id).map_or(id, String::from);
        if !result.contains(&id) {
            result.push(id);
        }
    }
    Ok(result)
}

/// Takes ids of decisions, without repeats.
pub(crate) fn decision_ids(field: &'static str, given: &[String]) -> Result<Vec<Id>, InvalidInput> {
    limits::at_most(field, given, limits::LIST)?;
    let mut result: Vec<Id> = Vec::with_capacity(given.len());
    for id in given {
        let id = Id::parse(field, id.trim())?;
        if !result.contains(&id) {
            result.push(id);
        }
    }
    Ok(result)
}

/// Takes a commit's hash, or the beginning of one.
pub(crate) fn commit_hash(field: &'static str, given: &str) -> Result<String, InvalidInput> {
    let hash = given.trim();
    if !(4..=64).contains(&hash.len()) || !hash.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(InvalidInput::new(field, "must be 4 to 64 hexadecimal digits")
            .because(format!("`{}` is not", text::excerpt(hash, 80))));
    }
    Ok(hash.to_ascii_lowercase())
}

/// A text on one line, as a summary is stored.
pub(crate) fn fold(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The first `chars` characters on one line, the last of them an ellipsis where
/// something was cut.
pub(crate) fn shorten(text: &str, chars: usize) -> String {
    let mut result = String::with_capacity(text.len().min(chars));
    let mut length = 0;
    // A text may be long and its beginning is all that is wanted.
    for word in text.split_whitespace() {
        if length > 0 {
            result.push(' ');
            length += 1;
        }
        result.push_str(word);
        length += word.chars().count();
        if length > chars {
            let end = result
                .char_indices()
                .nth(chars.saturating_sub(1))
                .map_or(result.len(), |(at, _)| at);
            result.truncate(end);
            result.truncate(result.trim_end().len());
            result.push('…');
            break;
        }
    }
    result
}

/// At most `bytes` bytes of a text, ending in an ellipsis where something was cut.
pub(crate) fn clip(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let room = bytes.saturating_sub('…'.len_utf8());
    let end = (0..=room).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    format!("{}…", &text[..end])
}

/// A summary that we write: one line within the limit that holds for all.
pub(crate) fn summary(text: &str) -> String {
    shorten(text, limits::SUMMARY_CHARS)
}

/// Refuses a record that would be too large to read back.
pub(crate) fn fits<T: Serialize>(
    field: &'static str,
    record: &T,
    most: usize,
) -> Result<(), InvalidInput> {
    let bytes = serde_json::to_vec_pretty(record).map_or(usize::MAX, |json| json.len());
    if bytes > most {
        return Err(InvalidInput::new(field, format!("must be at most {most} bytes in total"))
            .because(format!("it has {bytes}; shorten or split it")));
    }
    Ok(())
}

/// The moment `ms` milliseconds before `at`.
pub(crate) fn earlier(at: Time, ms: i64) -> Time {
    Time::from_ms(at.as_ms().saturating_sub(ms))
}

/// The first names of a list with commas between, and how many more there are.
pub(crate) fn some_names<'n>(names: impl ExactSizeIterator<Item = &'n str>) -> String {
    const SHOWN: usize = 20;
    let more = names.len().saturating_sub(SHOWN);
    let shown = names.take(SHOWN).collect::<Vec<_>>().join(", ");
    if more == 0 { shown } else { format!("{shown} and {more} more") }
}

/// `1 question`, `2 questions`.
pub(crate) fn count(n: u64, one: &str, many: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {many}") }
}

/// An address on the page of `twining ui`: `/a/` and a name that may have any letters.
pub(crate) fn href(page: &str, name: &str) -> String {
    format!("/{page}/{}", percent_encoded(name))
}

/// A text as a part of an address.
pub(crate) fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

/// The items from the front whose JSON fits into one answer, and whether any
/// had to go.
pub(crate) fn fit_reply<T: Serialize>(mut items: Vec<T>) -> (Vec<T>, bool) {
    let mut left = limits::ANSWER_BYTES;
    let fitting = items.iter().take_while(|item| {
        let bytes =
            serde_json::to_vec(item).map_or(usize::MAX, |json| json.len()).saturating_add(1);
        let fits = bytes <= left;
        left = left.saturating_sub(bytes);
        fits
    });
    let fitting_count = fitting.count();
    let cut = fitting_count < items.len();
    items.truncate(fitting_count);
    (items, cut)
}

/// Where the page after this one begins; none after the last.
pub(crate) fn next_offset(offset: usize, shown: usize, total: u64) -> Option<usize> {
    let next = offset.saturating_add(shown);
    (shown > 0 && (next as u64) < total).then_some(next)
}

/// For `skip_serializing_if`: whether the flag is false.
pub(crate) fn is_false(flag: &bool) -> bool {
    !flag
}

/// For `skip_serializing_if`: whether nothing was counted.
pub(crate) fn is_zero(n: &u64) -> bool {
    *n == 0
}

#[cfg(test)]
mod answer_tests {
    use crate::fields::*;

    #[test]
    fn an_answer_never_outgrows_its_limit() {
        let (fitting_count, cut) = fit_reply(vec!["x".repeat(limits::ANSWER_BYTES / 3); 5]);
        assert_eq!((fitting_count.len(), cut), (2, true));
        assert_eq!(fit_reply(vec!["x"]), (vec!["x"], false));
    }
}

#[cfg(test)]
mod tests {
    use crate::fields::*;
    use twining_testcases::each;

    #[test]
    fn a_page_of_none_or_of_too_many_is_refused_by_name() {
        each([0, limits::PAGE + 1, usize::MAX], |n| {
            let refused = page("limit", Some(n), 10).expect_err("out of range");
            assert!(refused.to_string().starts_with("`limit` must be from 1 to 500"), "{refused}");
        });
        assert_eq!(page("limit", None, 10), Ok(10));
    }

    #[test]
    fn a_shortened_summary_keeps_the_limit_in_characters() {
        let short = summary(&"é ".repeat(300));
        assert_eq!(short.chars().count(), limits::SUMMARY_CHARS);
        assert!(short.ends_with('…'));
        assert_eq!(summary("two\nlines"), "two lines");
    }

    #[test]
    fn a_text_is_shortened_where_it_is_too_long_and_nowhere_else() {
        each(
            [
                ("", 3, ""),
                (" a  b\t\nc ", 5, "a b c"),
                ("a b c", 4, "a b…"),
                ("a b c", 3, "a…"),
                ("abcdef", 6, "abcdef"),
                ("abcdef", 5, "abcd…"),
                ("äöü ß", 5, "äöü ß"),
                ("äöü ßx", 5, "äöü…"),
                ("abc", 1, "…"),
                ("abc", 0, "…"),
            ],
            |(text, chars, short)| {
                assert_eq!(shorten(text, chars), short, "{text:?} in {chars}");
            },
        );
    }

    #[test]
    fn a_clipped_text_keeps_the_limit_in_bytes() {
        let clipped = clip(&"é".repeat(100), 50);
        assert!(clipped.len() <= 50 && clipped.ends_with('…'));
    }

    #[test]
    fn a_commit_hash_is_hexadecimal_and_nothing_else() {
        each(["", "abc", "HEAD", "--upload-pack=x", "abcd;rm", &"a".repeat(65)], |hostile| {
            assert!(commit_hash("commit_hash", hostile).is_err(), "{hostile}");
        });
        assert_eq!(commit_hash("commit_hash", " ABCDEF12 ").as_deref(), Ok("abcdef12"));
    }
}
