//! Values that begin with a dash: `--summary "-Wall breaks the build"`.
//!
//! The parser takes every such word for a flag. If the flag is unknown and the word follows a flag
//! that wants a value, it is that value; a known flag stays one, so that a forgotten value is still
//! reported.

use std::ffi::OsString;

use clap::{Arg, Command};

/// The words with such values joined to their flags, if there are any.
pub(crate) fn joined(command: &Command, words: &[OsString]) -> Option<Vec<OsString>> {
    let flags = flags(command, words);
    let mut out: Vec<OsString> = Vec::with_capacity(words.len());
    let mut rest = words.iter().peekable();
    while let Some(word) = rest.next() {
        if word == "--" {
            out.push(word.clone());
            break;
        }
        let value = rest.peek().filter(|value| begins_with_dash(value) && !is_flag(&flags, value));
        match value {
            Some(value) if wants_value(&flags, word) => {
                out.push([word.as_os_str(), "=".as_ref(), value.as_os_str()].into_iter().collect());
                rest.next();
            }
            _ => out.push(word.clone()),
        }
    }
    out.extend(rest.cloned());
    (out.len() < words.len()).then_some(out)
}

/// The flags of the command these words name, and of those above it.
pub(crate) fn flags<'c>(command: &'c Command, words: &[OsString]) -> Vec<&'c Arg> {
    let (mut level, mut flags) = (command, command.get_arguments().collect::<Vec<_>>());
    for word in words.iter().skip(1) {
        if let Some(inner) = word.to_str().and_then(|word| level.find_subcommand(word)) {
            level = inner;
            flags.extend(inner.get_arguments());
        }
    }
    flags
}

fn begins_with_dash(word: &OsString) -> bool {
    word.to_str().is_some_and(|word| word.len() > 1 && word.starts_with('-'))
}

fn wants_value(flags: &[&Arg], word: &OsString) -> bool {
    let Some(name) =
        word.to_str().and_then(|word| word.strip_prefix("--")).filter(|name| !name.contains('='))
    else {
        return false;
    };
    flags.iter().find(|flag| is_named(flag, name)).is_some_and(|flag| {
        flag.get_action().takes_values()
            && flag.get_num_args().is_none_or(|many| many.min_values() > 0)
    })
}

fn is_named(flag: &Arg, name: &str) -> bool {
    flag.get_long() == Some(name)
        || flag.get_all_aliases().is_some_and(|names| names.contains(&name))
}

/// Whether a word is a flag that somebody knows, as far as a person would say.
fn is_flag(flags: &[&Arg], word: &OsString) -> bool {
    let Some(word) = word.to_str() else { return false };
    let known = |name: &str| {
        ["help", "version"].contains(&name) || flags.iter().any(|flag| is_named(flag, name))
    };
    let short = |letter: char| {
        flags
            .iter()
            .filter_map(|flag| flag.get_short())
            .chain(['h', 'V'])
            .any(|short| short == letter)
    };
    match word.strip_prefix("--") {
        Some(name) => known(name.split('=').next().unwrap_or(name)),
        None => word.chars().count() == 2 && word.chars().nth(1).is_some_and(short),
    }
}
