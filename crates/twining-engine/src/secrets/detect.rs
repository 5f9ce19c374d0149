//! Secrets in text: found by their format, or by the name they are assigned to.
//!
//! What is found is replaced by its kind. A secret split over two fields, or
//! written in a way nobody has a format for, is not found; `docs/reference/security.md`
//! says so.

use std::ops::Range;
use std::sync::OnceLock;

use crate::secrets::assignments;
use crate::secrets::token_formats::{FORMATS, TokenFormat, base64, word};

/// Bytes of a part of a web token that are looked at.
const LONGEST: usize = 4096;

/// Places in a name where a secret is looked for; names are short.
const MOST_PARTS: usize = 64;

/// A secret: its position and kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secret {
    /// Which bytes.
    pub range: Range<usize>,
    /// What it is.
    pub kind: &'static str,
}

/// Every secret in a text, in order, none inside another.
#[must_use]
pub fn secrets_in(text: &str) -> Vec<Secret> {
    let mut found = Vec::new();
    known_formats(text, &mut found);
    encoded(text, &mut found);
    merge_overlaps(found)
}

/// The text with each secret replaced by its kind, and the kinds.
#[must_use]
pub fn redact(text: &str) -> (String, Vec<&'static str>) {
    let secrets = secrets_in(text);
    if secrets.is_empty() {
        return (text.to_owned(), Vec::new());
    }
    let (mut clean, mut at) = (String::with_capacity(text.len()), 0);
    for secret in &secrets {
        clean.push_str(&text[at..secret.range.start]);
        clean.push_str(&format!("[redacted {}]", secret.kind));
        at = secret.range.end;
    }
    clean.push_str(&text[at..]);
    (clean, secrets.into_iter().map(|secret| secret.kind).collect())
}

/// The same for a name or an id, where words are glued by `-`, `_` and the like: a
/// secret may begin behind any of them.
#[must_use]
pub fn redact_name(name: &str) -> (String, Vec<&'static str>) {
    let whole = redact(name);
    if !whole.1.is_empty() {
        return whole;
    }
    let glue = |(_, c): &(usize, char)| !c.is_alphanumeric();
    let parts = name
        .char_indices()
        .filter(glue)
        .take(MOST_PARTS)
        .map(|(at, c)| name.split_at(at + c.len_utf8()));
    let mut held = parts
        .map(|(front, rest)| (front, redact(rest)))
        .filter(|(_, (_, kinds))| !kinds.is_empty());
    held.next().map_or(whole, |(front, (rest, kinds))| (format!("{front}{rest}"), kinds))
}

fn known_formats(text: &str, found: &mut Vec<Secret>) {
    let formats = by_first_byte();
    for (at, byte) in text.bytes().enumerate() {
        for (prefix, format) in &formats[usize::from(byte)] {
            if !text[at..].starts_with(prefix) || !starts_here(text, at, prefix) {
                continue;
            }
            let from = at + prefix.len();
            let body = run(text, from, format.most, format.body);
            if (format.least..=format.most).contains(&body) && is_random(&text[from..from + body]) {
                found.push(Secret { range: at..from + body, kind: format.kind });
            }
        }
    }
    web_tokens(text, found);
    private_keys(text, found);
    addresses(text, found);
    bots(text, found);
    assignments::find(text, found);
}

/// The formats by the byte they begin with, so that a text is gone through once.
fn by_first_byte() -> &'static [Vec<(&'static str, &'static TokenFormat)>] {
    static TABLE: OnceLock<Vec<Vec<(&'static str, &'static TokenFormat)>>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table = vec![Vec::new(); 256];
        for (prefix, format) in FORMATS.iter().flat_map(|f| f.prefixes().map(move |p| (p, f))) {
            table[usize::from(prefix.as_bytes()[0])].push((prefix, format));
        }
        table
    })
}

/// Whether a secret may begin here: not in the middle of a longer word.
fn starts_here(text: &str, at: usize, prefix: &str) -> bool {
    let within_an_address = prefix.contains('/') || prefix.ends_with("v1.");
    within_an_address || at == 0 || !word(text.as_bytes()[at - 1])
}

/// How many bytes of this kind there are, as far as it matters.
fn run(text: &str, from: usize, most: usize, of_kind: fn(u8) -> bool) -> usize {
    text.as_bytes()[from..]
        .iter()
        .take(most.saturating_add(1))
        .take_while(|byte| of_kind(**byte))
        .count()
}

/// `header.claims.signature`, each in base 64.
fn web_tokens(text: &str, found: &mut Vec<Secret>) {
    for (at, _) in text.match_indices("eyJ") {
        if !starts_here(text, at, "eyJ") {
            continue;
        }
        let header = run(text, at, LONGEST, word);
        let claims = text[at + header..].strip_prefix('.').map_or(0, |rest| {
            if rest.starts_with("eyJ") { run(rest, 0, LONGEST, word) } else { 0 }
        });
        if header < 15 || claims < 10 {
            continue;
        }
        let end = at + header + 1 + claims;
        let signature =
            text[end..].strip_prefix('.').map_or(0, |rest| 1 + run(rest, 0, LONGEST, word));
        found.push(Secret { range: at..end + signature, kind: "JSON web token" });
    }
}

/// A block between `BEGIN … PRIVATE KEY` and its end; to the end of the text if there is none.
fn private_keys(text: &str, found: &mut Vec<Secret>) {
    let mut from = 0;
    while let Some(at) = text[from..].find("-----BEGIN ").map(|at| from + at) {
        let head_end = text[at + 11..].find("-----").map_or(text.len(), |end| at + 11 + end + 5);
        let is_key = text
            .get(at + 11..head_end)
            .is_some_and(|head| head.len() < 64 && head.contains("PRIVATE KEY"));
        if !is_key {
            from = at + 11;
            continue;
        }
        let tail = text[head_end..].find("-----END ").map(|end| head_end + end);
        let end = tail.map_or(text.len(), |tail| {
            text[tail + 9..].find("-----").map_or(text.len(), |end| tail + 9 + end + 5)
        });
        // A mention of the block is no key: there must be something in it.
        let body = &text[head_end..tail.unwrap_or(text.len())];
        if body.bytes().filter(|byte| base64(*byte)).count() > 40 {
            found.push(Secret { range: at..end, kind: "private key" });
            from = end;
        } else if let Some(length) = short_key(body) {
            let is_whole = tail == Some(head_end + length);
            found.push(Secret {
                range: at..if is_whole { end } else { head_end + length },
                kind: "private key",
            });
            from = head_end + length;
        } else {
            from = head_end;
        }
    }
}

/// How much behind the first line of a key is one, however short: lines of its own with
/// nothing else on them, or one word up to the last line. Prose is not.
fn short_key(body: &str) -> Option<usize> {
    const BREAKS: [&str; 4] = ["\r\n", "\n", "\\r\\n", "\\n"];
    let break_at = |at: usize| {
        BREAKS.iter().find(|mark| body[at..].starts_with(**mark)).map(|mark| mark.len())
    };
    let (mut at, mut letters) = (0, 0);
    loop {
        at += body[at..].bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
            * usize::from(at > 0);
        if let Some(length) = break_at(at) {
            at += length;
            continue;
        }
        // The escape of a line's end is no part of it.
        let line = body[at..].bytes().take_while(|byte| base64(*byte) || *byte == b'=').count();
        let ends = at + line == body.len() || break_at(at + line).is_some();
        if line == 0 || !ends {
            break;
        }
        letters += line;
        at += line;
    }
    (letters > 0).then_some(at)
}

/// `scheme://user:password@host`: the password.
fn addresses(text: &str, found: &mut Vec<Secret>) {
    for (at, _) in text.match_indices("://") {
        if at == 0 || !text.as_bytes()[at - 1].is_ascii_alphanumeric() {
            continue;
        }
        let rest = &text[at + 3..];
        let length = rest
            .bytes()
            .take(512)
            .take_while(|byte| !byte.is_ascii_whitespace() && !b"/\"'`<>".contains(byte))
            .count();
        let Some(authority) = rest.get(..length) else { continue };
        let Some((login, _)) = authority.rsplit_once('@') else { continue };
        let Some((user, password)) = login.split_once(':') else { continue };
        if assignments::is_placeholder(password) {
            continue;
        }
        let start = at + 3 + user.len() + 1;
        found.push(Secret { range: start..start + password.len(), kind: "password in an address" });
    }
}

/// `123456789:AA…`, the token of a Telegram bot.
fn bots(text: &str, found: &mut Vec<Secret>) {
    for (at, _) in text.match_indices(":AA") {
        let digits = text.as_bytes()[..at]
            .iter()
            .rev()
            .take(11)
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let body = run(text, at + 1, 35, word);
        if (8..=10).contains(&digits) && body == 35 {
            found.push(Secret { range: at - digits..at + 1 + body, kind: "Telegram token" });
        }
    }
}

/// A secret in base 64 inside the text.
fn encoded(text: &str, found: &mut Vec<Secret>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let length = bytes[at..].iter().take_while(|byte| base64(**byte)).count();
        if (28..=4096).contains(&length)
            && let Some(plain) = decode(&bytes[at..at + length])
        {
            let mut inside = Vec::new();
            known_formats(&plain, &mut inside);
            if !inside.is_empty() {
                found.push(Secret { range: at..at + length, kind: "secret in base 64" });
            }
        }
        at += length.max(1);
    }
}

/// Decodes base 64 that contains plain text.
fn decode(bytes: &[u8]) -> Option<String> {
    let (mut plain, mut bits, mut held) = (Vec::with_capacity(bytes.len()), 0_u32, 0_u32);
    for &byte in bytes {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => break,
        };
        bits = (bits << 6) | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            let byte = (bits >> held) as u8;
            if !(byte.is_ascii_graphic() || byte.is_ascii_whitespace()) {
                return None;
            }
            plain.push(byte);
        }
    }
    String::from_utf8(plain).ok()
}

/// Whether a value may have been drawn by chance: no example, no row of one letter.
fn is_random(value: &str) -> bool {
    !value.contains("EXAMPLE") && entropy(value) >= 2.5
}

/// Bits each character carries.
pub(super) fn entropy(value: &str) -> f64 {
    let mut counts = [0_u32; 256];
    value.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
    let all = value.len() as f64;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| f64::from(*count) / all)
        .map(|share| -share * share.log2())
        .sum()
}

/// In order, and of two that overlap the one that begins first; both together.
fn merge_overlaps(mut found: Vec<Secret>) -> Vec<Secret> {
    found.sort_by_key(|secret| (secret.range.start, std::cmp::Reverse(secret.range.end)));
    let mut merged: Vec<Secret> = Vec::with_capacity(found.len());
    for secret in found {
        match merged.last_mut() {
            Some(last) if secret.range.start < last.range.end => {
                last.range.end = last.range.end.max(secret.range.end);
            }
            _ => merged.push(secret),
        }
    }
    merged
}
