//! Options and operands of a program's arguments.

use crate::effects::shell::words::ShellWord;

/// Most letters of one word that are options.
const MAX_LETTERS: usize = 32;

/// Arguments taken apart.
pub(super) struct ProgramArguments {
    options: Vec<(String, Option<ShellWord>)>,
    pub(super) operands: Vec<ShellWord>,
}

impl ProgramArguments {
    /// Takes arguments apart. The specification names the options that have a value, each
    /// with `:` after it (`o: output:`), or with `::` where the value can only follow in the
    /// same word (`i::`). With `+` as its first word, everything after the first operand is
    /// an operand too.
    pub(super) fn parse(words: &[ShellWord], specification: &str) -> Self {
        let takes = |name: &str, colons: &str| specification.split(' ').any(|option| option.strip_suffix(colons) == Some(name));
        let mut arguments = Self { options: Vec::new(), operands: Vec::new() };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let prefix = word.prefix();
            if prefix == "--" && word.0.len() == 1 {
                break;
            }
            if let Some(long) = prefix.strip_prefix("--").filter(|long| !long.is_empty()) {
                match long.split_once('=') {
                    Some((name, _)) => arguments.options.push((name.to_owned(), Some(word.without_prefix(name.len() + 3)))),
                    None => {
                        let value = if takes(long, ":") { words.next().cloned() } else { None };
                        arguments.options.push((long.to_owned(), value));
                    }
                }
                continue;
            }
            let Some(letters) = prefix.strip_prefix('-').filter(|letters| (1..=MAX_LETTERS).contains(&letters.len())) else {
                arguments.operands.push(word.clone());
                if specification.starts_with('+') {
                    break;
                }
                continue;
            };
            for (at, letter) in letters.char_indices() {
                let name = letter.to_string();
                let is_last = takes(&name, "::");
                if is_last || takes(&name, ":") {
                    let attached = Some(word.without_prefix(1 + at + letter.len_utf8())).filter(|rest| *rest != ShellWord::text(""));
                    let value = if is_last { attached } else { attached.or_else(|| words.next().cloned()) };
                    arguments.options.push((name, value));
                    break;
                }
                arguments.options.push((name, None));
            }
        }
        arguments.operands.extend(words.cloned());
        arguments
    }

    /// Whether any of these options is given.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|(name, _)| names.contains(&name.as_str()))
    }

    /// The values of these options, in order.
    pub(super) fn values<'a>(&'a self, names: &'a [&str]) -> impl Iterator<Item = &'a ShellWord> {
        self.options.iter().filter(|(name, _)| names.contains(&name.as_str())).filter_map(|(_, value)| value.as_ref())
    }
}
