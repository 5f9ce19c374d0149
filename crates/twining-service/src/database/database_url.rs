//! The words of a database's address that the driver does not know.
//!
//! An address is `postgres://…?word=value&…`, or `word=value word='a value'`. The driver refuses
//! `sslrootcert` and the modes that check a certificate; they are taken out of it here.

use percent_encoding::percent_decode_str;

/// What an address says of TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TlsWords {
    /// `sslmode`.
    pub(super) mode: Option<String>,
    /// `sslrootcert`.
    pub(super) root: Option<String>,
}

impl TlsWords {
    /// Whether a word is one of these; then it is kept. The last of two counts.
    fn take(&mut self, word: &str, value: impl FnOnce() -> String) -> bool {
        match word {
            "sslmode" => self.mode = Some(value()),
            "sslrootcert" => self.root = Some(value()),
            _ => return false,
        }
        true
    }
}

/// An address without what it says of TLS, and that.
pub(super) fn split_tls_words(address: &str) -> (String, TlsWords) {
    let is_url = address.starts_with("postgres://") || address.starts_with("postgresql://");
    if is_url { split_url(address) } else { split_words(address) }
}

fn split_url(url: &str) -> (String, TlsWords) {
    let mut words = TlsWords::default();
    let Some((before, query)) = url.split_once('?') else { return (url.to_owned(), words) };
    let decoded = |value: &str| percent_decode_str(value).decode_utf8_lossy().into_owned();
    let others: Vec<&str> = query
        .split('&')
        .filter(|pair| {
            let (word, value) = pair.split_once('=').unwrap_or((pair, ""));
            !words.take(word, || decoded(value))
        })
        .collect();
    let rest = match others.is_empty() {
        true => before.to_owned(),
        false => format!("{before}?{}", others.join("&")),
    };
    (rest, words)
}

fn split_words(address: &str) -> (String, TlsWords) {
    let (mut rest, mut words) = (String::new(), TlsWords::default());
    let mut left = address;
    while let Some((word, after)) = left.split_once('=') {
        let after = after.trim_start();
        let (value, length) = read_value(after);
        let (raw, next) = after.split_at(length);
        if !words.take(word.trim(), || value) {
            rest.push_str(&format!("{}={raw} ", word.trim()));
        }
        left = next;
    }
    // What has no `=` is for the driver to refuse.
    rest.push_str(left.trim());
    (rest.trim_end().to_owned(), words)
}

/// A value, and how many bytes it takes: to the next space, or to its closing quote. A backslash
/// stands before a character that counts as it is.
fn read_value(text: &str) -> (String, usize) {
    let is_quoted = text.starts_with('\'');
    let mut value = String::new();
    let mut characters = text.char_indices().skip(usize::from(is_quoted));
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            '\'' if is_quoted => return (value, at + 1),
            space if !is_quoted && space.is_whitespace() => return (value, at),
            other => value.push(other),
        }
    }
    (value, text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use twining_testcases::each;

    fn words(mode: Option<&str>, root: Option<&str>) -> TlsWords {
        TlsWords { mode: mode.map(str::to_owned), root: root.map(str::to_owned) }
    }

    #[test]
    fn both_forms_of_an_address_lose_their_words_of_tls_and_keep_the_rest() {
        let full = words(Some("verify-full"), Some("/etc/my ca.pem"));
        each(
            [
                ("postgres://a:b@h/d", "postgres://a:b@h/d", words(None, None)),
                ("postgres://h/d?sslmode=require", "postgres://h/d", words(Some("require"), None)),
                (
                    "postgresql://h/d?connect_timeout=3&sslmode=verify-full&sslrootcert=/etc/my%20ca.pem&port=1",
                    "postgresql://h/d?connect_timeout=3&port=1",
                    full.clone(),
                ),
                ("host=/run user=a", "host=/run user=a", words(None, None)),
                (
                    r"host = h sslmode=verify-full  password='it\'s a = b' sslrootcert='/etc/my ca.pem' dbname=d",
                    r"host=h password='it\'s a = b' dbname=d",
                    full,
                ),
                ("host=h nonsense", "host=h nonsense", words(None, None)),
            ],
            |(address, rest, words)| {
                assert_eq!(split_tls_words(address), (rest.to_owned(), words), "{address}");
            },
        );
    }
}
