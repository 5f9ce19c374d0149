//! A list gone over once: whether it is JSON, and which object holds a place.
//!
//! Hooks wait for this on every edit of a list, so no tree is built and nothing is
//! copied. It knows less than a parser and never more: what it does not recognise
//! for certain it gives up on, and whoever asked reads the whole list.

use std::ops::Range;

use memchr::memchr2;

use crate::workflow::feature::ID;
use crate::workflow::list::LISTS;
use crate::workflow::spans::Span;

/// Levels of a list that is gone over; those in use have four.
const MOST_DEPTH: usize = 24;
/// Digits of a number whose value nobody has to doubt.
const MOST_DIGITS: usize = 15;

/// What was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outline {
    /// The smallest object that holds the place with both its braces around it.
    pub(crate) held_by: Option<Held>,
    /// How many objects there are.
    pub(crate) objects: usize,
    /// Whether a plain letter is spelt by its number somewhere.
    pub(crate) has_numbered_letters: bool,
    /// Whether something called `tested` is no plain flag.
    pub(crate) has_bucket: bool,
    /// Whether an object stands in an array without an id.
    pub(crate) has_nameless: bool,
}

/// An object, and where it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) span: Span,
    /// The key it has, if it is a member of another object, without quotes.
    pub(crate) key: Option<Span>,
    /// The key of the array it is an element of, if that has one.
    pub(crate) array: Option<Span>,
    /// Whether it is an element of the list itself: of an array that is the whole
    /// text, or a member of the whole by one of the names for lists.
    pub(crate) is_listed: bool,
    /// Whether something around it is called `tested`.
    pub(crate) is_in_tested: bool,
}

impl Outline {
    /// Goes over a text. None where it is no JSON or may not be.
    pub(crate) fn of(text: &str, place: Range<usize>) -> Option<Self> {
        let mut scan = Scan { text: text.as_bytes(), at: 0, place, seen: Self::default(), escapes: 0 };
        scan.skip_space();
        scan.value(&Around::default(), 0)?;
        scan.skip_space();
        (scan.at == scan.text.len()).then_some(scan.seen)
    }
}

/// What stands around a value.
#[derive(Clone, Default)]
struct Around {
    key: Option<Span>,
    array: Option<Span>,
    is_element: bool,
    is_listed: bool,
    is_in_tested: bool,
}

struct Scan<'t> {
    text: &'t [u8],
    at: usize,
    place: Range<usize>,
    seen: Outline,
    escapes: usize,
}

impl Scan<'_> {
    fn next(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while self.next().is_some_and(|byte| matches!(byte, b' ' | b'\n' | b'\t' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then(|| self.at += 1)
    }

    fn value(&mut self, around: &Around, depth: usize) -> Option<()> {
        match self.next()? {
            b'{' => self.object(around, depth),
            b'[' => self.array(around, depth),
            first => self.word_or_number(first),
        }
    }

    /// What has no parts, by its first byte.
    fn word_or_number(&mut self, first: u8) -> Option<()> {
        match first {
            b'"' => self.string().map(drop),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            _ => self.number(),
        }
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.text[self.at..].starts_with(word).then(|| self.at += word.len())
    }

    fn number(&mut self) -> Option<()> {
        let digits = |scan: &mut Self| {
            let from = scan.at;
            while scan.next().is_some_and(|byte| byte.is_ascii_digit()) {
                scan.at += 1;
            }
            scan.at - from
        };
        if self.next() == Some(b'-') {
            self.at += 1;
        }
        let first = self.next()?;
        let whole = digits(self);
        let mut part = 0;
        if self.next() == Some(b'.') {
            self.at += 1;
            part = digits(self);
            if part == 0 {
                return None;
            }
        }
        let is_plain = whole > 0 && (first != b'0' || whole == 1) && whole + part <= MOST_DIGITS;
        (is_plain && !matches!(self.next(), Some(b'e' | b'E'))).then_some(())
    }

    /// A text, and where it stands without its quotes.
    fn string(&mut self) -> Option<Span> {
        self.take(b'"')?;
        let from = self.at;
        loop {
            self.at += plain_run(&self.text[self.at..]);
            match self.next()? {
                b'"' => break,
                b'\\' => self.escape()?,
                // A control character is no JSON.
                byte if byte < 0x20 => return None,
                _ => self.at += 1,
            }
        }
        let span = from..self.at;
        self.at += 1;
        Some(span)
    }

    fn escape(&mut self) -> Option<()> {
        self.escapes += 1;
        match *self.text.get(self.at + 1)? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.at += 2,
            b'u' => {
                let digits = self.text.get(self.at + 2..self.at + 6)?;
                // Halves of a character are for the parser to judge.
                if !digits.iter().all(u8::is_ascii_hexdigit) || matches!(digits, [b'd' | b'D', b'8'..=b'9' | b'a'..=b'f' | b'A'..=b'F', ..])
                {
                    return None;
                }
                // Many programs write all that is not ASCII so; a plain letter, nobody does.
                self.seen.has_numbered_letters |= digits.starts_with(b"00") && digits[2].is_ascii_digit() && digits[2] < b'8';
                self.at += 6;
            }
            _ => return None,
        }
        Some(())
    }

    fn array(&mut self, around: &Around, depth: usize) -> Option<()> {
        if depth > MOST_DEPTH {
            return None;
        }
        self.at += 1;
        let is_list = around.key.as_ref().is_none_or(|key| LISTS.iter().any(|name| name.as_bytes() == &self.text[key.clone()]));
        // The whole text, or a member of it.
        let is_top = depth == 0 || (depth == 1 && !around.is_element);
        let inner = Around {
            key: None,
            array: around.key.clone(),
            is_element: true,
            is_listed: is_top && is_list,
            is_in_tested: around.is_in_tested,
        };
        self.skip_space();
        if self.next()? == b']' {
            self.at += 1;
            return Some(());
        }
        loop {
            self.skip_space();
            self.value(&inner, depth + 1)?;
            self.skip_space();
            match self.next()? {
                b',' => self.at += 1,
                b']' => break,
                _ => return None,
            }
        }
        self.at += 1;
        Some(())
    }

    fn object(&mut self, around: &Around, depth: usize) -> Option<()> {
        if depth > MOST_DEPTH {
            return None;
        }
        let start = self.at;
        self.seen.objects += 1;
        self.at += 1;
        let mut has_id = false;
        self.skip_space();
        if self.next()? != b'}' {
            loop {
                self.skip_space();
                let escapes = self.escapes;
                let key = self.string()?;
                // What it is called after all, only a parser knows.
                if self.escapes != escapes {
                    return None;
                }
                self.skip_space();
                self.take(b':')?;
                self.skip_space();
                let name = &self.text[key.clone()];
                let says_tested = name.len() == b"tested".len() && name.eq_ignore_ascii_case(b"tested");
                let is_id = !has_id && ID.iter().any(|id| id.as_bytes() == name);
                let from = self.at;
                match self.next()? {
                    first @ (b'{' | b'[') => {
                        self.seen.has_bucket |= says_tested;
                        let inner = Around { key: Some(key), is_in_tested: around.is_in_tested || says_tested, ..Around::default() };
                        if first == b'{' { self.object(&inner, depth + 1)? } else { self.array(&inner, depth + 1)? }
                    }
                    first => {
                        self.seen.has_bucket |= says_tested && !matches!(first, b't' | b'f');
                        self.word_or_number(first)?;
                    }
                }
                has_id |= is_id && is_name(&self.text[from..self.at]);
                self.skip_space();
                match self.next()? {
                    b',' => self.at += 1,
                    b'}' => break,
                    _ => return None,
                }
            }
        }
        self.at += 1;
        self.seen.has_nameless |= around.is_element && !has_id;
        // The smallest is closed first.
        if self.seen.held_by.is_none() && start < self.place.start && self.place.end < self.at {
            self.seen.held_by = Some(Held {
                span: start..self.at,
                key: around.key.clone(),
                array: around.array.clone(),
                is_listed: around.is_listed,
                is_in_tested: around.is_in_tested,
            });
        }
        Some(())
    }
}

/// Whether a value names something for certain: a text that begins with a letter or digit.
fn is_name(value: &[u8]) -> bool {
    matches!(value, [b'"', first, ..] if first.is_ascii_alphanumeric())
}

/// Bytes at the beginning that mean nothing in a text: no quote, no escape, no
/// control character.
fn plain_run(text: &[u8]) -> usize {
    // Most texts are keys and words, and are over sooner than a search has begun.
    const FEW: usize = 4;
    let (words, _) = text.as_chunks::<8>();
    for (at, word) in words.iter().take(FEW).enumerate() {
        let signs = signs_in(u64::from_le_bytes(*word));
        if signs != 0 {
            return at * 8 + signs.trailing_zeros() as usize / 8;
        }
    }
    let from = words.len().min(FEW) * 8;
    let rest = &text[from..];
    let run = &rest[..memchr2(b'"', b'\\', rest).unwrap_or(rest.len())];
    // The least of them all is found many bytes at a time.
    if run.iter().fold(u8::MAX, |least, byte| least.min(*byte)) >= 0x20 {
        return from + run.len();
    }
    from + run.iter().position(|byte| *byte < 0x20).unwrap_or(run.len())
}

/// Marks the bytes of a word that mean something in a text by their highest bits.
/// Above the first of them a mark may be wrong: what is subtracted is borrowed from there.
fn signs_in(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    const HIGHEST: u64 = ONES * 0x80;
    let below = |word: u64, least: u64| word.wrapping_sub(ONES * least) & !word;
    let is = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    (below(word, 0x20) | is(b'"') | is(b'\\')) & HIGHEST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_object_around_a_place_is_found_with_what_stands_around_it() {
        let text = r#"{"meta": {"a": 1}, "features": [{"id": "A"}, {"id": "B", "tested": false, "run": {"n": 2.5}}]}"#;
        let at = |part: &str| {
            let from = text.find(part).expect("is there");
            Outline::of(text, from..from + part.len()).expect("is JSON").held_by.expect("something holds it")
        };
        let listed = at("false");
        assert_eq!(&text[listed.span.clone()], r#"{"id": "B", "tested": false, "run": {"n": 2.5}}"#);
        assert!(listed.is_listed && !listed.is_in_tested && listed.key.is_none());
        assert_eq!(listed.array.map(|key| &text[key]), Some("features"));
        let nested = at("2.5");
        assert_eq!((nested.key.map(|key| &text[key]), nested.is_listed), (Some("run"), false));
        assert_eq!(at("meta").span, 0..text.len(), "a key belongs to the object around it");
    }

    #[test]
    fn what_is_not_surely_json_is_given_up_on() {
        for text in [
            "",
            "{",
            "[1,]",
            "{\"a\" 1}",
            "[01]",
            "[1e5]",
            "[.5]",
            "[\"\u{1}\"]",
            "[\"\\x\"]",
            "[\"\\ud800\"]",
            "[1] 2",
            "[tru]",
            "{,}",
            "nul",
        ] {
            assert_eq!(Outline::of(text, 0..0), None, "{text}");
        }
        assert_eq!(Outline::of(&"[".repeat(100_000), 0..0), None);
        for text in ["[]", " { } ", "[\"\\u0041\\n\", -1, 0.5, null, true, false, \"ä\u{1f600}\"]\n"] {
            assert!(Outline::of(text, 0..0).is_some(), "{text}");
        }
    }

    #[test]
    fn no_sign_is_overlooked_in_a_long_text() {
        for sign in ['"', '\\', '\u{1f}', '\n', '\0'] {
            for before in 0..60 {
                let text = format!("{}{sign}{}", "\u{7f}é~!#[]x".chars().cycle().take(before).collect::<String>(), "y".repeat(20));
                assert_eq!(plain_run(text.as_bytes()), text.find(sign).expect("is there"), "{text:?}");
            }
        }
    }
}
