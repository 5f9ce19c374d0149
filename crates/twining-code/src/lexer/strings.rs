//! Where a string, a template, a heredoc or a regular expression ends.
//!
//! Each function looks from the scanner's place and answers with the offset behind the string.
//! What nothing ends goes to the end of its line or of the segment.

use std::ops::Range;

use super::rules::StringNotation;
use super::scan::{Scanner, is_word_byte};

/// Bytes that a regular expression may have at most, so that a line of slashes is read once.
const LONGEST_REGEX: usize = 500;

/// Bytes that the tag of a raw string or of a heredoc may have.
const LONGEST_TAG: usize = 64;

/// How far a string may go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    Line,
    Lines,
}

/// A string with escapes, which begins with its quotation mark.
pub(super) fn quoted_end(scanner: &Scanner<'_>, extent: Extent) -> usize {
    let rest = scanner.rest(scanner.at);
    let quote = rest.first().copied().unwrap_or_default();
    let is_triple = rest.get(1) == Some(&quote) && rest.get(2) == Some(&quote);
    match scanner.rules.strings {
        StringNotation::Triple if is_triple => return triple_end(scanner, quote),
        StringNotation::CSharp if is_triple && quote == b'"' => return fenced_end(scanner),
        _ => {}
    }
    let mut length = 1;
    while let Some(byte) = rest.get(length) {
        match byte {
            b'\\' => length += 1,
            b'\n' if extent == Extent::Line => return scanner.at + length,
            byte if *byte == quote => return scanner.at + length + 1,
            _ => {}
        }
        length += 1;
    }
    scanner.at + length.min(rest.len())
}

/// A string between two of the same mark, without escapes.
pub(super) fn raw_end(scanner: &Scanner<'_>) -> usize {
    let rest = scanner.rest(scanner.at);
    let quote = rest.first().copied().unwrap_or_default();
    let inner = rest.get(1..).unwrap_or_default();
    memchr::memchr(quote, inner).map_or(scanner.end, |length| scanner.at + length + 2)
}

fn triple_end(scanner: &Scanner<'_>, quote: u8) -> usize {
    let rest = scanner.rest(scanner.at);
    let mut length = 3;
    while let Some(byte) = rest.get(length) {
        if *byte == b'\\' {
            length += 1;
        } else if rest.get(length..length + 3).is_some_and(|end| end == [quote; 3]) {
            return scanner.at + length + 3;
        }
        length += 1;
    }
    scanner.end
}

/// C#: three quotation marks or more, and as many at the end.
fn fenced_end(scanner: &Scanner<'_>) -> usize {
    let rest = scanner.rest(scanner.at);
    let fence = rest.iter().take_while(|byte| **byte == b'"').count();
    let marks = rest.get(..fence).unwrap_or_default();
    let inner = rest.get(fence..).unwrap_or_default();
    memchr::memmem::find(inner, marks).map_or(scanner.end, |length| scanner.at + length + 2 * fence)
}

/// C#: `@"…"`, in which a doubled mark stands for itself.
pub(super) fn verbatim_end(scanner: &Scanner<'_>) -> Option<usize> {
    let rest = scanner.rest(scanner.at);
    let signs = rest.iter().take(2).take_while(|byte| matches!(byte, b'@' | b'$')).count();
    let is_verbatim = rest.get(..signs).is_some_and(|signs| signs.contains(&b'@'));
    if !is_verbatim || rest.get(signs) != Some(&b'"') {
        return None;
    }
    let mut length = signs + 1;
    while let Some(byte) = rest.get(length) {
        if *byte == b'"' {
            if rest.get(length + 1) != Some(&b'"') {
                return Some(scanner.at + length + 1);
            }
            length += 1;
        }
        length += 1;
    }
    Some(scanner.end)
}

/// JavaScript: a template, whose substitutions may hold braces and templates.
pub(super) fn template_end(scanner: &Scanner<'_>) -> usize {
    let rest = scanner.rest(scanner.at);
    // For each open substitution: how many braces are open in it.
    let mut substitutions: Vec<usize> = Vec::new();
    let mut is_in_template = true;
    let mut length = 1;
    while let Some(byte) = rest.get(length) {
        match byte {
            b'\\' => length += 1,
            b'$' if is_in_template && rest.get(length + 1) == Some(&b'{') => {
                substitutions.push(0);
                is_in_template = false;
                length += 1;
            }
            b'`' if is_in_template && substitutions.is_empty() => {
                return scanner.at + length + 1;
            }
            b'`' => is_in_template = !is_in_template,
            b'{' if !is_in_template => {
                if let Some(open) = substitutions.last_mut() {
                    *open += 1;
                }
            }
            b'}' if !is_in_template => match substitutions.last_mut() {
                Some(0) | None => {
                    substitutions.pop();
                    is_in_template = true;
                }
                Some(open) => *open -= 1,
            },
            _ => {}
        }
        length += 1;
    }
    scanner.end
}

/// Rust: `'a'`, `'\n'`; nothing for a lifetime.
pub(super) fn character_end(scanner: &Scanner<'_>) -> Option<usize> {
    let rest = scanner.rest(scanner.at);
    let first = *rest.get(1)?;
    if first == b'\\' {
        // `'\''`, `'\u{10ffff}'`
        let inner = rest.get(3..rest.len().min(16)).unwrap_or_default();
        return memchr::memchr(b'\'', inner).map(|length| scanner.at + length + 4);
    }
    let width = match first {
        0..0x80 => 1,
        0x80..0xe0 => 2,
        0xe0..0xf0 => 3,
        _ => 4,
    };
    (rest.get(1 + width) == Some(&b'\'')).then(|| scanner.at + width + 2)
}

/// Rust: `r"…"`, `r#"…"#`; the prefix has `prefix` bytes.
pub(super) fn rust_raw_end(scanner: &Scanner<'_>, prefix: usize) -> Option<usize> {
    let rest = scanner.rest(scanner.at + prefix);
    let hashes = rest.iter().take(LONGEST_TAG).take_while(|byte| **byte == b'#').count();
    if rest.get(hashes) != Some(&b'"') {
        return None;
    }
    let mut close = vec![b'"'];
    close.resize(1 + hashes, b'#');
    let inner = rest.get(hashes + 1..).unwrap_or_default();
    let begin = scanner.at + prefix + hashes + 1;
    Some(
        memchr::memmem::find(inner, &close)
            .map_or(scanner.end, |length| begin + length + close.len()),
    )
}

/// C++: `R"tag(…)tag"`.
pub(super) fn cpp_raw_end(scanner: &Scanner<'_>, prefix: usize) -> Option<usize> {
    let rest = scanner.rest(scanner.at + prefix);
    if rest.first() != Some(&b'"') {
        return None;
    }
    let inner = rest.get(1..).unwrap_or_default();
    let length = inner.iter().take(LONGEST_TAG).position(|byte| *byte == b'(')?;
    let tag = inner.get(..length)?;
    let close = [b")", tag, b"\""].concat();
    let inner = rest.get(tag.len() + 2..).unwrap_or_default();
    let begin = scanner.at + prefix + tag.len() + 2;
    Some(
        memchr::memmem::find(inner, &close)
            .map_or(scanner.end, |length| begin + length + close.len()),
    )
}

/// A regular expression with its flags, if one ends in this line.
pub(super) fn regex_end(scanner: &Scanner<'_>) -> Option<usize> {
    let rest = scanner.rest(scanner.at);
    let rest = rest.get(..rest.len().min(LONGEST_REGEX)).unwrap_or_default();
    let (mut length, mut is_in_class) = (1, false);
    loop {
        match rest.get(length)? {
            b'\n' => return None,
            b'\\' => length += 1,
            b'[' => is_in_class = true,
            b']' => is_in_class = false,
            b'/' if !is_in_class => break,
            _ => {}
        }
        length += 1;
    }
    let flags = rest.get(length + 1..).unwrap_or_default();
    let flags = flags.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    Some(scanner.at + length + 1 + flags)
}

/// PHP: `<<<TAG` and everything to the line that closes it.
pub(super) fn php_heredoc_end(scanner: &Scanner<'_>) -> Option<usize> {
    let rest = scanner.rest(scanner.at);
    let after = rest.strip_prefix(b"<<<")?;
    let lead = after.iter().take_while(|byte| matches!(byte, b' ' | b'\'' | b'"')).count();
    let tag = tag_at(scanner, scanner.at + 3 + lead)?;
    let line = memchr::memchr(b'\n', rest).map_or(scanner.end, |length| scanner.at + length + 1);
    Some(heredoc_end(scanner, line, tag))
}

/// Ruby: the tag of `<<~TAG`, and where the notation ends. Tags are in capitals; `a <<b` is not
/// a heredoc.
pub(super) fn ruby_heredoc_tag(scanner: &Scanner<'_>) -> Option<(Range<usize>, usize)> {
    let after = scanner.rest(scanner.at).strip_prefix(b"<<")?;
    let lead = after.iter().take(2).take_while(|byte| b"~-'\"`".contains(byte)).count();
    let tag = tag_at(scanner, scanner.at + 2 + lead)?;
    if !scanner.bytes.get(tag.start).is_some_and(u8::is_ascii_uppercase) {
        return None;
    }
    let is_quoted = after.get(..lead)?.iter().any(|byte| b"'\"`".contains(byte));
    let end = tag.end + usize::from(is_quoted);
    Some((tag, end))
}

fn tag_at(scanner: &Scanner<'_>, at: usize) -> Option<Range<usize>> {
    let rest = scanner.rest(at);
    let length = rest.iter().take_while(|byte| is_word_byte(**byte)).count();
    (1..=LONGEST_TAG).contains(&length).then(|| at..at + length)
}

/// Behind the line, from `at` on, that begins with the tag.
pub(super) fn heredoc_end(scanner: &Scanner<'_>, mut at: usize, tag: Range<usize>) -> usize {
    let tag = scanner.bytes.get(tag).unwrap_or_default();
    while at < scanner.end {
        let rest = scanner.rest(at);
        let line = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let lead = line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let text = line.get(lead..).unwrap_or_default();
        let is_whole = text.get(tag.len()).is_none_or(|byte| !is_word_byte(*byte));
        if text.starts_with(tag) && is_whole {
            return at + lead + tag.len();
        }
        at += line.len() + 1;
    }
    scanner.end
}
