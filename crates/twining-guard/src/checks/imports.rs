//! Finds where a line imports a module, in the supported languages: a quoted name on a line with an
//! import keyword, or an unquoted one in an import statement. An alias, or a name imported from
//! another module, is not the module.

use crate::checks::languages::{LanguageFamily, contains};
use crate::checks::lexer::LexedText;

/// Words with which a statement begins that brings something in.
const BEGINS: &str = "import from use using include extern require require_relative load library";
/// Other words beside which a name in quotes is a module.
const BESIDE: &str = "mod export require_once include_once __import__ import_module importlib createRequire resolve gem";
/// Words that may precede a statement's keyword.
const BEFORE: &str = "pub static global async await unsafe then do else php testable _exported";

/// Whether a line contains an import keyword.
pub(super) fn has_word(line: &str) -> bool {
    words(line).any(|(_, word)| contains(BEGINS, word) || contains(BESIDE, word))
}

/// Where a line names something, as a word of its own.
pub(super) fn mentions<'l>(line: &'l str, item: &'l str) -> impl Iterator<Item = usize> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    line.match_indices(item).map(|(at, _)| at).filter(move |at| {
        !line[..*at].chars().next_back().is_some_and(is_part)
            && !line[at + item.len()..].chars().next().is_some_and(is_part)
    })
}

/// Whether a statement brings a module in. `plain` has its strings, `bare` has not.
pub(super) fn brings_in(plain: &str, bare: &str, item: &str, family: LanguageFamily) -> bool {
    mentions(plain, item).any(|at| {
        let end = at + item.len();
        if bare.get(at..end) == Some(item) {
            is_given(bare, at, item, family)
        } else {
            is_quoted(plain, bare, at, end, family) && has_word(bare)
        }
    })
}

/// Whether a string is the module, or a part of it: `kind/locale`, and where a
/// module is called by the place it is kept at, `github.com/x/kind`.
fn is_quoted(plain: &str, bare: &str, at: usize, end: usize, family: LanguageFamily) -> bool {
    let Some(quote) = bare.get(..at).and_then(|before| before.rfind(['"', '\'', '`'])) else {
        return false;
    };
    let before = plain.get(quote + 1..at).unwrap_or_default();
    let is_place = before.ends_with(['/', ':'])
        && !before.starts_with('.')
        && (family != LanguageFamily::Script || before.starts_with("http"));
    let opens = is_place || matches!(before, "" | "node:" | "npm:" | "jsr:" | "@types/");
    opens && plain.get(end..).is_some_and(|rest| rest.starts_with(['"', '\'', '`', '/', '.', '@']))
}

/// Whether the statement around an unquoted name brings it in as a module.
fn is_given(bare: &str, at: usize, item: &str, family: LanguageFamily) -> bool {
    let (before, after) =
        (bare.get(..at).unwrap_or_default(), bare.get(at + item.len()..).unwrap_or_default());
    let begins =
        |(from, word): &(usize, &str)| contains(BEGINS, word) && is_beginning(before, *from);
    let Some((from, word)) = words(before).filter(begins).last() else { return false };
    let between = before.get(from + word.len()..).unwrap_or_default();
    // A statement that ended before it says nothing about it.
    if between.contains(';') {
        return false;
    }
    let last = between.rsplit([',', '{']).next().unwrap_or_default().trim();
    match word {
        // What comes from a module is not the module.
        "from" => between.trim().is_empty(),
        "import" => {
            let rest = after.split(';').next().unwrap_or_default();
            let is_named = words(rest).any(|(_, word)| matches!(word, "from" | "require"))
                || words(last).any(|(_, word)| word == "as");
            let is_module = match family {
                LanguageFamily::Python => last.is_empty(),
                // Names in braces come from a module named on a later line.
                LanguageFamily::Script => !between.contains('{') && rest.trim().is_empty(),
                _ => true,
            };
            !is_named && is_module
        }
        "use" => {
            let (opened, closed) = (between.matches('{').count(), between.matches('}').count());
            let is_top =
                opened == 0 || (between.trim_start().starts_with('{') && opened == closed + 1);
            is_top && matches!(last, "" | "::" | "\\")
        }
        "extern" => between.trim() == "crate",
        // `using (var x = …)` is a block of its own.
        "using" => !between.trim_start().starts_with('('),
        _ => true,
    }
}

/// Whether a statement may begin at a word.
fn is_beginning(line: &str, at: usize) -> bool {
    let before = line.get(..at).unwrap_or_default().trim_end();
    let last = words(before)
        .last()
        .filter(|(from, word)| from + word.len() == before.len())
        .map(|(_, word)| word);
    match before.chars().next_back() {
        None => true,
        Some(sign) if ";:{}(=#@&|]".contains(sign) => true,
        // `pub(crate) use`
        Some(')') => before.starts_with("pub"),
        Some(_) => last.is_some_and(|word| contains(BEFORE, word)),
    }
}

/// The words of a line, and where each begins.
fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    let mut from = 0;
    std::iter::from_fn(move || {
        let rest = line.get(from..)?;
        let begins = from + rest.find(is_letter)?;
        let length = line.get(begins..)?.find(|c| !is_letter(c)).unwrap_or(line.len() - begins);
        from = begins + length;
        Some((begins, line.get(begins..from)?))
    })
}

/// Lines of one import that goes over several, as far as such imports go.
const MOST_CONTINUED: usize = 200;

/// Each import that goes over several lines, as one, with its strings and without:
/// `import (` … `)`, `require(` … `)`, `use {` … `}`, `import a, \`.
pub(super) fn continued(lexed: &LexedText) -> impl Iterator<Item = (String, String)> {
    let mut lines = lexed.plain.lines().zip(lexed.bare.lines());
    std::iter::from_fn(move || {
        loop {
            let (plain, bare) = lines.next()?;
            let line = bare.trim();
            let begins = ["import", "use", "pub use", "from", "include"]
                .iter()
                .any(|word| line.starts_with(word));
            let opens = line.ends_with(['(', '{'])
                && (begins || line.ends_with("require(") || line.ends_with("import("));
            if !(opens || begins && line.ends_with('\\')) {
                continue;
            }
            let closes = if line.ends_with('{') { '}' } else { ')' };
            let mut whole = (plain.to_owned(), bare.to_owned());
            for (plain, bare) in lines.by_ref().take(MOST_CONTINUED) {
                let is_last =
                    if opens { bare.contains(closes) } else { !bare.trim_end().ends_with('\\') };
                for (whole, more) in [(&mut whole.0, plain), (&mut whole.1, bare)] {
                    whole.push(' ');
                    whole.push_str(more);
                }
                if is_last {
                    break;
                }
            }
            // A backslash only joins lines.
            return Some((whole.0.replace('\\', " "), whole.1.replace('\\', " ")));
        }
    })
}
