//! Which code a record names: files, definitions, lines, and names in backticks.

use std::ffi::OsStr;
use std::ops::RangeInclusive;
use std::path::Path;

use twining_code::Language;
use twining_model::AnchorRole;

/// Names in backticks that are looked up.
const MAX_MENTIONS: usize = 32;
/// Characters of such a name.
const MAX_NAME_CHARS: usize = 120;

/// What a record says of code, before anything is looked up.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct NamedCode {
    /// Files, in the order they were named.
    pub(crate) files: Vec<NamedFile>,
    /// Functions and types, by name.
    pub(crate) symbols: Vec<String>,
    /// What the record says, to be searched for words of the code.
    pub(crate) text: String,
}

/// A file that a record names.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NamedFile {
    /// Its path in the project.
    pub(crate) path: String,
    /// Why it is named.
    pub(crate) role: AnchorRole,
    /// A definition in it: what follows `#`.
    pub(crate) name: Option<String>,
    /// Lines of it: what follows `:`.
    pub(crate) lines: Option<RangeInclusive<u32>>,
}

impl NamedFile {
    /// A scope may be any label, `v1.2` or `next.js` too; a file is meant where something in it is
    /// named, or it lies in a folder and has an ending.
    pub(crate) fn is_surely_a_file(&self) -> bool {
        let ending = Path::new(&self.path).extension().and_then(OsStr::to_str);
        let has_ending = ending.is_some_and(|ending| ending.starts_with(char::is_alphabetic));
        self.role == AnchorRole::Affected
            || self.name.is_some()
            || self.lines.is_some()
            || (has_ending && self.path.contains('/'))
    }

    /// Whether it is a file if the project has one of almost that name.
    pub(crate) fn may_be_a_file(&self) -> bool {
        self.is_surely_a_file() || Language::of_path(&self.path).is_some()
    }
}

/// A path with what follows it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GivenPlace<'g> {
    /// The path alone.
    pub(crate) path: &'g str,
    /// The definition behind `#`.
    pub(crate) name: Option<&'g str>,
    /// The lines behind `:`.
    pub(crate) lines: Option<RangeInclusive<u32>>,
}

impl<'g> GivenPlace<'g> {
    /// Reads `path`, `path#name`, `path:12` and `path:12-20`.
    pub(crate) fn read(given: &'g str) -> Self {
        let given = given.trim();
        if let Some((path, name)) = given.split_once('#')
            && !path.is_empty()
            && !name.is_empty()
        {
            return Self { path, name: Some(name), lines: None };
        }
        if let Some((path, numbers)) = given.rsplit_once(':')
            && !path.is_empty()
            && let Some(lines) = read_lines(numbers)
        {
            return Self { path, name: None, lines: Some(lines) };
        }
        Self { path: given, name: None, lines: None }
    }
}

fn read_lines(numbers: &str) -> Option<RangeInclusive<u32>> {
    let (first, last) = numbers.split_once('-').unwrap_or((numbers, numbers));
    let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
    (1..=last).contains(&first).then_some(first..=last)
}

impl NamedCode {
    /// Adds a file, unless the same is there.
    pub(crate) fn add_file(&mut self, path: &str, role: AnchorRole, given: &GivenPlace<'_>) {
        let file = NamedFile {
            path: path.to_owned(),
            role,
            name: given.name.map(str::to_owned),
            lines: given.lines.clone(),
        };
        // A folder, or the whole project, is no file.
        let is_file = !path.ends_with('/') && path != twining_model::scope::PROJECT;
        let is_known = self.files.iter().any(|known| {
            (&known.path, &known.name, &known.lines) == (&file.path, &file.name, &file.lines)
        });
        if is_file && !is_known {
            self.files.push(file);
        }
    }

    /// The names in backticks that look like code.
    pub(crate) fn mentions(&self) -> Vec<String> {
        mentions(&self.text)
    }

    /// Whether there is anything to look up.
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.symbols.is_empty()
    }
}

/// The names in backticks of a text.
pub(crate) fn mentions(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for quoted in text.split('`').skip(1).step_by(2) {
        if let Some(name) = symbol(quoted)
            && !found.contains(&name)
        {
            found.push(name);
            if found.len() == MAX_MENTIONS {
                break;
            }
        }
    }
    found
}

/// The names of a text that look like code, by their last part: `snake_case`, `CamelCase`, `x()`,
/// `a.b`, `a::b`, and names in backticks.
pub(crate) fn code_words(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let quoted = mentions(text);
    let plain = text.split(|c: char| !(c.is_alphanumeric() || "_$.:()".contains(c)));
    let plain =
        plain.map(|word| word.trim_matches(['.', ':'])).filter(|word| looks_like_code(word));
    for name in quoted.into_iter().chain(plain.filter_map(symbol)) {
        let last = name.rsplit('.').next().unwrap_or(&name).to_owned();
        if last.chars().count() > 2 && !found.contains(&last) {
            found.push(last);
        }
    }
    found.truncate(MAX_MENTIONS);
    found
}

fn looks_like_code(word: &str) -> bool {
    let inner = word.get(1..).unwrap_or_default();
    word.ends_with("()")
        || word.contains("::")
        || inner.contains('_')
        || word.split_once('.').is_some_and(|(a, b)| a.len() > 1 && b.len() > 1)
        || (word.contains(char::is_lowercase) && inner.contains(char::is_uppercase))
}

/// A symbol as people write it (`Signer::sign()`, `sign`, `a.b`) in the form `Outer.name`; none if
/// it is no name.
pub(crate) fn symbol(given: &str) -> Option<String> {
    let given = given.trim().trim_end_matches("()").trim_end_matches('!');
    let name = given.replace("::", ".").replace('#', ".");
    let is_word = |part: &str| {
        let mut chars = part.chars();
        chars.next().is_some_and(|c| c.is_alphabetic() || c == '_' || c == '$')
            && chars.all(|c| c.is_alphanumeric() || c == '_' || c == '$')
    };
    let is_name = name.chars().count() <= MAX_NAME_CHARS && name.split('.').all(is_word);
    is_name.then_some(name)
}

/// Whether a definition is what a symbol names: the same, or the end of it.
pub(crate) fn is_named(definition: &str, symbol: &str) -> bool {
    definition == symbol
        || definition.strip_suffix(symbol).is_some_and(|outer| outer.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use twining_testcases::each;

    use super::*;

    #[test]
    fn a_place_is_a_path_with_a_name_or_lines() {
        let cases = [
            ("src/a.rs", ("src/a.rs", None, None)),
            ("src/a.rs#Signer.sign", ("src/a.rs", Some("Signer.sign"), None)),
            ("src/a.rs:12", ("src/a.rs", None, Some(12..=12))),
            ("src/a.rs:12-20", ("src/a.rs", None, Some(12..=20))),
            ("std::fmt", ("std::fmt", None, None)),
            ("src/a.rs:20-12", ("src/a.rs:20-12", None, None)),
            ("src/a.rs:0", ("src/a.rs:0", None, None)),
            ("#x", ("#x", None, None)),
        ];
        each(cases, |(given, (path, name, lines))| {
            assert_eq!(GivenPlace::read(given), GivenPlace { path, name, lines });
        });
    }

    #[test]
    fn a_scope_with_a_dot_is_a_file_only_in_a_folder() {
        let cases = [
            ("src/a.rs", true),
            ("docs/plan.md", true),
            ("v1.2", false),
            ("api/v1.2", false),
            ("next.js", false),
            ("release-2.0", false),
            ("planned/part", false),
        ];
        each(cases, |(scope, is_file)| {
            let mut named = NamedCode::default();
            named.add_file(scope, AnchorRole::Scope, &GivenPlace::read(scope));
            assert_eq!(named.files[0].is_surely_a_file(), is_file, "{scope}");
        });
    }

    #[test]
    fn names_in_backticks_are_found_as_people_write_them() {
        let text =
            "`hash_password` calls `Signer::sign()`, not `rm -rf /` or `a b`; `hash_password`";
        assert_eq!(mentions(text), ["hash_password", "Signer.sign"]);
    }

    #[test]
    fn a_task_names_code_in_several_ways() {
        let text = "Make hash_password() slower; see Signer::sign, QuerySet.filter, getJSON. It is `fast`, i.e. OK.";
        assert_eq!(code_words(text), ["fast", "hash_password", "sign", "filter", "getJSON"]);
    }

    #[test]
    fn a_symbol_names_the_end_of_a_definition() {
        assert!(is_named("Signer.sign", "sign"));
        assert!(is_named("Signer.sign", "Signer.sign"));
        assert!(!is_named("Signer.resign", "sign"));
    }
}
