//! Text that may be stored: trimmed, bounded, free of NUL; and text that may be
//! shown: nothing in it can move a cursor, recolour a terminal or hide.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::limits::{self, InvalidInput};

/// Bytes that are passed at a glance.
const CHUNK: usize = 32;

/// Takes a one-line summary: white space folded, 1 to 200 characters.
pub fn summary(field: &'static str, text: &str) -> Result<String, InvalidInput> {
    summary_beside(field, text, "")
}

/// The same beside a field that takes what is too long, which a refusal names.
pub fn summary_beside(
    field: &'static str,
    text: &str,
    longer: &'static str,
) -> Result<String, InvalidInput> {
    no_nul(field, text)?;
    let folded = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let chars = folded.chars().count();
    if chars == 0 {
        return Err(InvalidInput::new(field, "must not be empty"));
    }
    if chars > limits::SUMMARY_CHARS {
        return Err(InvalidInput::new(
            field,
            format!("must be at most {} characters", limits::SUMMARY_CHARS),
        )
        .because(match longer {
            "" => format!("{chars} were given"),
            _ => format!("{chars} were given; put the rest into `{longer}`"),
        }));
    }
    Ok(folded)
}

/// Takes a long text that may be empty.
pub fn long(field: &'static str, text: &str) -> Result<String, InvalidInput> {
    bounded(field, text, limits::TEXT_BYTES)?;
    Ok(text.trim_end().to_owned())
}

/// Takes a long text that must say something.
pub fn required(field: &'static str, text: &str) -> Result<String, InvalidInput> {
    if text.trim().is_empty() {
        return Err(InvalidInput::new(field, "must not be empty"));
    }
    long(field, text)
}

/// Takes a name: one line, not empty.
pub fn name(field: &'static str, text: &str) -> Result<String, InvalidInput> {
    let folded = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if folded.is_empty() {
        return Err(InvalidInput::new(field, "must not be empty"));
    }
    bounded(field, &folded, limits::NAME_BYTES)?;
    Ok(folded)
}

/// Takes a list of short texts, without repeats, in the order given.
pub fn list(
    field: &'static str,
    items: &[String],
    most: usize,
    bytes: usize,
) -> Result<Vec<String>, InvalidInput> {
    limits::at_most(field, items, most)?;
    let mut kept: Vec<String> = Vec::with_capacity(items.len());
    for item in items {
        if item.len() > bytes {
            return Err(InvalidInput::new(
                field,
                format!("must have at most {bytes} bytes in each element"),
            )
            .because(format!("one has {}", item.len())));
        }
        no_nul(field, item)?;
        let item = item.trim();
        if item.is_empty() {
            return Err(InvalidInput::new(field, "must not contain an empty element"));
        }
        if !kept.iter().any(|k| k == item) {
            kept.push(item.to_owned());
        }
    }
    Ok(kept)
}

/// Refuses text over `most` bytes, or with a NUL in it.
pub fn bounded(field: &'static str, text: &str, most: usize) -> Result<(), InvalidInput> {
    if text.len() > most {
        return Err(InvalidInput::new(field, format!("must be at most {most} bytes"))
            .because(format!("{} were given", text.len())));
    }
    no_nul(field, text)
}

fn no_nul(field: &'static str, text: &str) -> Result<(), InvalidInput> {
    if text.contains('\0') {
        return Err(InvalidInput::new(field, "must not contain a NUL character"));
    }
    Ok(())
}

/// The first `chars` characters, with an ellipsis where something was cut, safe to show.
#[must_use]
pub fn excerpt(text: &str, chars: usize) -> String {
    let mut shown: String = text.chars().take(chars).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    visible(&shown).replace(['\n', '\t'], " ")
}

/// Text that may be printed: every character that acts instead of being read
/// (escapes, bidi overrides, zero-width and tag characters) becomes `U+XXXX`.
/// Newlines and tabs stay.
#[must_use]
pub fn visible(text: &str) -> String {
    if !has_unsafe(text) {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_unsafe_to_show(c) {
            shown.push_str(&format!("U+{:04X}", c as u32));
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Whether every byte shows itself and nothing else. Looks at all of them,
/// without a branch, which is faster than to stop at the first that does not.
#[must_use]
pub fn is_plain(bytes: &[u8]) -> bool {
    !bytes.iter().fold(false, |found, byte| found | !matches!(byte, b' '..=b'~'))
}

/// Whether something acts in a text. Most texts are plain but for an ellipsis or
/// a line's end, so plain stretches are passed at a glance.
fn has_unsafe(text: &str) -> bool {
    let mut rest = text;
    loop {
        let plain: usize = rest
            .as_bytes()
            .chunks(CHUNK)
            .take_while(|stretch| is_plain(stretch))
            .map(<[u8]>::len)
            .sum();
        let found = rest.as_bytes()[plain..].iter().position(|byte| !matches!(byte, b' '..=b'~'));
        let Some(c) = found.and_then(|found| rest[plain + found..].chars().next()) else {
            return false;
        };
        if is_unsafe_to_show(c) {
            return true;
        }
        rest = &rest[plain + found.unwrap_or_default() + c.len_utf8()..];
    }
}

/// Whether a character does something to a terminal or a reader besides showing itself.
#[must_use]
pub fn is_unsafe_to_show(c: char) -> bool {
    match c {
        // First, because most are: a prompt is looked through several times.
        ' '..='~' | '\n' | '\t' => false,
        c if c.is_control() => true,
        '\u{200B}'..='\u{200F}'
        | '\u{2028}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}'
        | '\u{FEFF}'
        | '\u{061C}' => true,
        '\u{00AD}' | '\u{034F}' | '\u{180E}' | '\u{FFF9}'..='\u{FFFB}' => true,
        // Letters without a shape, and variations that can carry hidden bytes; those of emoji stay.
        '\u{115F}' | '\u{1160}' | '\u{3164}' | '\u{FFA0}' | '\u{FE00}'..='\u{FE0D}' => true,
        '\u{E0000}'..='\u{E0FFF}' => true,
        _ => false,
    }
}

/// Whether a name has letters of more than one of the alphabets that share
/// shapes: Latin, Greek, Cyrillic.
#[must_use]
pub fn mixes_scripts(name: &str) -> bool {
    let scripts = [
        |c: char| matches!(c, 'a'..='z' | 'A'..='Z' | '\u{C0}'..='\u{24F}' | '\u{FF21}'..='\u{FF5A}'),
        |c: char| matches!(c, '\u{370}'..='\u{3FF}' | '\u{1F00}'..='\u{1FFF}'),
        |c: char| matches!(c, '\u{400}'..='\u{52F}'),
    ];
    scripts.into_iter().filter(|script| name.chars().any(script)).count() > 1
}

/// Whether two names would be taken for one another by a person.
#[must_use]
pub fn look_alike(a: &str, b: &str) -> bool {
    skeleton(a) == skeleton(b)
}

/// What a name looks like: without case, marks and blanks, each letter as the
/// Latin one of its shape.
fn skeleton(name: &str) -> String {
    let plain = name
        .nfkd()
        .filter(|c| !is_unsafe_to_show(*c) && !is_combining_mark(*c) && c.is_alphanumeric());
    plain
        .flat_map(char::to_lowercase)
        .map(|c| CONFUSABLES.iter().find(|(other, _)| *other == c).map_or(c, |(_, latin)| *latin))
        .collect()
}

/// Letters of other alphabets that look like a Latin one, and digits that do.
const CONFUSABLES: [(char, char); 34] = [
    ('а', 'a'),
    ('в', 'b'),
    ('с', 'c'),
    ('ԁ', 'd'),
    ('е', 'e'),
    ('һ', 'h'),
    ('н', 'h'),
    ('і', 'l'),
    ('ј', 'j'),
    ('к', 'k'),
    ('м', 'm'),
    ('о', 'o'),
    ('р', 'p'),
    ('ԛ', 'q'),
    ('ѕ', 's'),
    ('т', 't'),
    ('у', 'y'),
    ('х', 'x'),
    ('ԝ', 'w'),
    ('α', 'a'),
    ('β', 'b'),
    ('ε', 'e'),
    ('ι', 'l'),
    ('κ', 'k'),
    ('ν', 'v'),
    ('ο', 'o'),
    ('ρ', 'p'),
    ('τ', 't'),
    ('υ', 'u'),
    ('χ', 'x'),
    ('0', 'o'),
    ('1', 'l'),
    ('i', 'l'),
    ('ı', 'l'),
];

#[cfg(test)]
mod tests {
    use super::*;
    use twining_testcases::each;

    #[test]
    fn a_summary_is_one_line_of_at_most_200_characters() {
        assert_eq!(summary("summary", "  two\n lines ").expect("folds"), "two lines");
        assert!(summary("summary", &"é".repeat(200)).is_ok());
        let refused = summary_beside("summary", &"é".repeat(201), "detail").expect_err("too long");
        assert_eq!(
            refused.to_string(),
            "`summary` must be at most 200 characters; 201 were given; put the rest into `detail`"
        );
    }

    #[test]
    fn nul_is_refused_wherever_it_stands() {
        assert!(summary("summary", "a\0b").is_err());
        assert!(long("detail", "a\0b").is_err());
        assert!(list("tags", &["a\0".into()], 3, 64).is_err());
    }

    #[test]
    fn an_escape_sequence_is_shown_not_obeyed() {
        assert_eq!(visible("\u{1b}]52;c;aGk=\u{7}"), "U+001B]52;c;aGk=U+0007");
        assert_eq!(visible("ab\u{202E}cd\r"), "abU+202EcdU+000D");
        assert_eq!(visible("plain\n\ttext é"), "plain\n\ttext é");
    }

    #[test]
    fn what_carries_hidden_bytes_is_shown_and_emoji_stay() {
        each(
            [
                '\u{206A}',
                '\u{AD}',
                '\u{180E}',
                '\u{FFF9}',
                '\u{3164}',
                '\u{FE01}',
                '\u{E0041}',
                '\u{E0101}',
                '\u{9b}',
                '\u{85}',
            ],
            |hidden| {
                assert!(visible(&format!("a{hidden}b")).starts_with("aU+"), "{hidden:?}");
            },
        );
        assert_eq!(visible("fine ⚠\u{FE0F} 日本語 é"), "fine ⚠\u{FE0F} 日本語 é");
    }

    #[test]
    fn a_name_made_to_be_taken_for_another_is_noticed() {
        assert!(
            look_alike("аda", "ada")
                && look_alike("adа\u{200b}", "Ada")
                && look_alike("l0g", "log")
        );
        assert!(!look_alike("ada", "bob") && !look_alike("alice", "alicia"));
        assert!(
            mixes_scripts("аdа-bot")
                && !mixes_scripts("ada")
                && !mixes_scripts("дева")
                && !mixes_scripts("größe-日本")
        );
    }

    #[test]
    fn a_list_with_one_long_element_is_refused_for_the_element() {
        let refused =
            list("tags", &["short".into(), "t".repeat(65)], 32, 64).expect_err("too long");
        assert_eq!(
            refused.to_string(),
            "`tags` must have at most 64 bytes in each element; one has 65"
        );
    }

    #[test]
    fn a_list_drops_repeats_and_keeps_order() {
        let kept = list("tags", &["b".into(), "a".into(), "b".into()], 32, 64).expect("short");
        assert_eq!(kept, ["b", "a"]);
    }
}
