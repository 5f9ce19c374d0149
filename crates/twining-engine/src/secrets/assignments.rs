//! Secrets without a known format, recognized by the name they are assigned to: `DB_PASSWORD=…`,
//! `"api_key": "…"`, `Authorization: Bearer …`.

use crate::secrets::detect::{Secret, entropy};

/// Names of what people choose themselves; a short value may be one.
const PASSWORDS: [&str; 4] = ["password", "passwd", "pwd", "passphrase"];
/// Names of what machines draw.
const KEYS: &str = "secret|secretkey|secretaccesskey|apikey|apisecret|accesskey|token|authkey|clientsecret|privatekey|signingkey|\
    encryptionkey|masterkey";
/// Placeholders used instead of a secret.
const PLACEHOLDERS: &str = "password|passwd|pass|pwd|secret|token|changeme|change-me|change_me|example|redacted|hidden|none|null|true|false|\
    undefined|todo|placeholder|your|my-|my_|test|dummy|fake|sample";
/// What where to find a secret begins with.
const OPENS: &str =
    "${|$(|{{|<|%(|#{|process.env|os.environ|env.|ENV[|secrets.|vault:|ref:|file:|arn:|/|./|~/|$|@";
/// Characters of a name and of a value that are looked at.
const NAME: usize = 64;
const VALUE: usize = 256;

/// Finds values that are assigned to the name of a secret.
pub(super) fn find(text: &str, found: &mut Vec<Secret>) {
    for (at, sign) in text.bytes().enumerate().filter(|(_, byte)| matches!(byte, b'=' | b':')) {
        // `==`, `!=` and `::` assign nothing; of `:=` and `=>` one sign is enough.
        let next = text.as_bytes().get(at + 1).copied();
        let previous = at.checked_sub(1).and_then(|at| text.as_bytes().get(at)).copied();
        if next == Some(sign) || previous == Some(sign) || previous == Some(b'!') {
            continue;
        }
        let Some(kind) = named(&text[..at]) else { continue };
        let Some((start, value)) = value_after(text, at + 1) else { continue };
        if kind.accepts(value) {
            found.push(Secret { range: start..start + value.len(), kind: kind.words() });
        }
    }
    bearers(text, found);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SecretName {
    Password,
    Key,
    Token,
}

impl SecretName {
    fn words(self) -> &'static str {
        match self {
            Self::Password => "password",
            Self::Key | Self::Token => "assigned secret",
        }
    }

    fn accepts(self, value: &str) -> bool {
        let has = |of_kind: fn(&u8) -> bool| value.as_bytes().iter().any(of_kind);
        let (letters, digits) = (has(u8::is_ascii_alphabetic), has(u8::is_ascii_digit));
        if is_placeholder(value) || is_reference(value) || !value.is_ascii() || is_wordy(value) {
            return false;
        }
        match self {
            Self::Password => {
                value.len() >= 8
                    && letters
                    && (digits || has(|byte| b"!@#$%^&*+?~".contains(byte)))
                    && entropy(value) >= 2.5
            }
            Self::Key => value.len() >= 16 && letters && digits && entropy(value) >= 3.0,
            // Tokens of paging and of requests are often ids.
            Self::Token => {
                value.len() >= 20 && letters && digits && entropy(value) >= 3.2 && !is_id(value)
            }
        }
    }
}

/// What the name before an assignment says, without quotes and blanks around it.
fn named(before: &str) -> Option<SecretName> {
    let trimmed = before.trim_end_matches([' ', '\t', '"', '\'', '`', ']', ')']);
    let bytes = trimmed.as_bytes();
    let length = bytes
        .iter()
        .rev()
        .take(NAME)
        .take_while(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(byte))
        .count();
    let name: String = bytes[bytes.len() - length..]
        .iter()
        .filter(|b| b.is_ascii_alphanumeric())
        .map(|b| b.to_ascii_lowercase() as char)
        .collect();
    if PASSWORDS.iter().any(|word| name.ends_with(word)) {
        return Some(SecretName::Password);
    }
    match KEYS.split('|').find(|word| name.ends_with(*word)) {
        Some("token") => Some(SecretName::Token),
        Some(_) => Some(SecretName::Key),
        None => None,
    }
}

/// The value after an assignment and where it begins.
fn value_after(text: &str, from: usize) -> Option<(usize, &str)> {
    let rest = &text[from..];
    let skipped = rest.len() - rest.trim_start_matches(['=', '>', ' ', '\t']).len();
    let rest = &rest[skipped..];
    let quote = rest.bytes().next().filter(|byte| b"\"'`".contains(byte));
    let start = from + skipped + usize::from(quote.is_some());
    let ends = |byte: u8| match quote {
        Some(quote) => byte == quote || byte == b'\n',
        None => byte.is_ascii_whitespace() || b",;\"'`)}]".contains(&byte),
    };
    let length =
        text.as_bytes()[start..].iter().take(VALUE).take_while(|byte| !ends(**byte)).count();
    let value = text.get(start..start + length)?;
    (!value.is_empty() && !value.contains(' ')).then_some((start, value))
}

/// `Bearer` or `Basic` and what follows it.
fn bearers(text: &str, found: &mut Vec<Secret>) {
    for scheme in ["Bearer ", "bearer ", "Basic "] {
        for (at, _) in text.match_indices(scheme) {
            let start = at + scheme.len();
            let length = text.as_bytes()[start..]
                .iter()
                .take(4096)
                .take_while(|b| b.is_ascii_alphanumeric() || b"-._~+/=".contains(b))
                .count();
            let value = &text[start..start + length];
            if SecretName::Token.accepts(value.get(..VALUE).unwrap_or(value)) {
                found.push(Secret { range: start..start + length, kind: "authorization header" });
            }
        }
    }
}

/// Whether a value is a placeholder for a secret.
pub(super) fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let plain = lower.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    let starts = || {
        PLACEHOLDERS.split('|').any(|word| {
            plain == word || (word.len() >= 4 && plain.starts_with(word) && is_wordy(plain))
        })
    };
    value.len() < 3
        || plain.is_empty()
        || value.contains("EXAMPLE")
        || lower.contains("xxxx")
        || is_reference(value)
        || starts()
        || entropy(value) < 1.5
}

/// Whether a value is where to find a secret, and not the secret: a variable, a
/// call, a template, a path.
fn is_reference(value: &str) -> bool {
    OPENS.split('|').any(|start| value.starts_with(start))
        || value.contains('(')
        || value.contains("://")
        || value.contains("::")
        || value.contains("[redacted")
}

/// Whether it is words with dashes between, such as the name of a thing.
fn is_wordy(value: &str) -> bool {
    value.split(['-', '_', '.', '/', ':']).all(|part| {
        let digits = part.bytes().filter(u8::is_ascii_digit).count();
        digits == part.len() && digits <= 8
            || (part.bytes().all(|b| b.is_ascii_alphabetic()) && is_one_word(part))
            || (digits <= 2
                && part.len() <= 6
                && digits < part.len()
                && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()))
    })
}

/// `word`, `Word`, `WORD` or `twoWords`: the case changes as it does in names.
fn is_one_word(part: &str) -> bool {
    let turns = part
        .as_bytes()
        .windows(2)
        .filter(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
        .count();
    turns * 4 <= part.len()
}

/// Whether it is a UUID or a ULID.
fn is_id(value: &str) -> bool {
    let uuid = value.len() == 36
        && value.bytes().enumerate().all(|(at, b)| {
            if [8, 13, 18, 23].contains(&at) { b == b'-' } else { b.is_ascii_hexdigit() }
        });
    uuid || (value.len() == 26
        && value.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase()))
}
