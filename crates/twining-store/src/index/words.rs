//! Words as they are indexed and asked for.
//!
//! The full-text index parts a text at everything that is neither a letter nor a
//! digit, so `user_profile` is two words already. `getUserProfile` is not: its
//! parts are indexed beside it, and asked for beside it.

use std::borrow::Cow;

use super::search::Term;

/// Words that say nothing about what a text is about.
const STOP_WORDS: &str = " a an the of to in on at for from by with as is are was were be been being do does did have has had \
i me my we our us you your he she it its they them his her their this that these those what which who whom whose when where why \
how many much and or if not no so than then there here can could would should will may might about into over after before during \
any some all s t ll ve re d m don didn doesn isn wasn ";
const TERMS: usize = 64;
const TERM_CHARS: usize = 64;

/// A text followed by the parts of its identifiers.
pub(super) fn with_identifier_parts(text: &str) -> Cow<'_, str> {
    let mut more = String::new();
    for part in words(text).flat_map(parts) {
        more.push(' ');
        more.push_str(part);
    }
    if more.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(format!("{text}{more}")) }
}

/// What a question asks for: its words and the parts of its identifiers, each
/// once. Words that stand everywhere are left out, unless there are no others.
#[must_use]
pub fn terms(question: &str) -> Vec<Term> {
    let mut found: Vec<Term> = Vec::new();
    for word in words(question).chain(words(question).flat_map(parts)) {
        let text: String = word.chars().take(TERM_CHARS).collect::<String>().to_lowercase();
        if found.len() < TERMS && !found.iter().any(|known| known.text == text) {
            found.push(Term { text, weight: 1.0 });
        }
    }
    if found.iter().any(|term| !is_stop_word(&term.text)) {
        found.retain(|term| !is_stop_word(&term.text));
    }
    found
}

/// Whether a word stands everywhere.
fn is_stop_word(word: &str) -> bool {
    !word.contains(' ') && STOP_WORDS.contains(&format!(" {word} "))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// The parts of `getUserProfile`, `HTTPServer` or `utf8Error`; none of a plain word.
fn parts(word: &str) -> Vec<&str> {
    let bytes = word.as_bytes();
    if !word.is_ascii() || !bytes.iter().skip(1).any(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()) {
        return Vec::new();
    }
    let mut parts = Vec::new();
    let mut start = 0;
    for at in 1..=bytes.len() {
        if at == bytes.len() || is_part_boundary(bytes, at) {
            parts.push(&word[start..at]);
            start = at;
        }
    }
    if parts.len() < 2 {
        return Vec::new();
    }
    // A single letter or digit stands in too many names.
    parts.retain(|part| part.len() > 1);
    parts
}

/// Whether a new part begins at `at`: `user|Profile`, `HTTP|Server`, `utf|8`, `8|Error`.
fn is_part_boundary(word: &[u8], at: usize) -> bool {
    let (before, here) = (word[at - 1], word[at]);
    let ends_capitals = before.is_ascii_uppercase() && here.is_ascii_uppercase() && word.get(at + 1).is_some_and(u8::is_ascii_lowercase);
    (!before.is_ascii_uppercase() && here.is_ascii_uppercase()) || before.is_ascii_digit() != here.is_ascii_digit() || ends_capitals
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(question: &str) -> Vec<String> {
        terms(question).into_iter().map(|term| term.text).collect()
    }

    #[test]
    fn identifiers_fall_into_their_parts() {
        assert_eq!(parts("getUserProfile"), ["get", "User", "Profile"]);
        assert_eq!(parts("HTTPServer"), ["HTTP", "Server"]);
        assert_eq!(parts("utf8Error"), ["utf", "Error"]);
        assert_eq!(parts("MAX"), [] as [&str; 0]);
        assert_eq!(parts("Profile"), [] as [&str; 0]);
        assert_eq!(parts("straßeNord"), [] as [&str; 0]);
        assert_eq!(with_identifier_parts("a plain text"), "a plain text");
        assert_eq!(with_identifier_parts("call getUser now"), "call getUser now get User");
    }

    #[test]
    fn a_question_asks_for_what_it_is_about() {
        assert_eq!(asked("How does getUser work with the cache?"), ["getuser", "work", "cache", "get", "user"]);
        assert_eq!(asked("what is it"), ["what", "is", "it"], "nothing else to go by");
    }

    #[test]
    fn punctuation_parts_words_and_is_never_syntax() {
        assert_eq!(asked("src/auth.rs NEAR(\"x\" -y) auth"), ["src", "auth", "rs", "near", "x", "y"]);
        assert_eq!(asked(" \" * ( ) "), [] as [&str; 0]);
    }
}
