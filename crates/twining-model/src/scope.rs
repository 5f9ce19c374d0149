//! Scope: the part of the project a record is about.
//!
//! A scope is a label: a file, a directory, a module name, or `project` for all of it. It is
//! compared by path component and never opened.

use std::path::{Component, Path};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unicode_normalization::{UnicodeNormalization, is_nfc};

use crate::limits::{self, InvalidInput};
use crate::text;

/// The scope that covers everything.
pub const PROJECT: &str = "project";

/// A place in the project: a file, a directory, a module, or `project`.
///
/// Invariant: relative, `/`-separated, no `.` or `..`, at most 1 KiB.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Scope(String);

/// The project folder, under every path an agent may use for it.
#[derive(Clone, Debug, Default)]
pub struct ProjectRoot(Vec<String>);

/// Whether file names on the project's volume are case-sensitive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CaseFolding {
    /// `Src` and `src` are two names.
    #[default]
    Exact,
    /// `Src` and `src` are one name, as on macOS and Windows by default.
    IgnoreCase,
}

impl ProjectRoot {
    /// A root known by these absolute paths: as given, and with links resolved.
    pub fn new<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Self {
        let mut names: Vec<String> = Vec::new();
        for path in paths {
            let name = slashes(&path.to_string_lossy()).trim_end_matches('/').to_owned();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        Self(names)
    }

    /// `path` relative to the root, if it is absolute and lies inside.
    fn relative<'p>(&self, path: &'p str) -> Option<&'p str> {
        self.0.iter().find_map(|root| {
            let rest = path.strip_prefix(root.as_str())?;
            (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/'))
        })
    }
}

impl Scope {
    /// The whole project.
    #[must_use]
    pub fn project() -> Self {
        Self(PROJECT.to_owned())
    }

    /// Takes a scope an agent gave. An absolute path inside the project becomes
    /// relative to it; one outside, or a `..` that leaves it, is refused.
    pub fn parse(
        field: &'static str,
        given: &str,
        root: &ProjectRoot,
    ) -> Result<Self, InvalidInput> {
        text::bounded(field, given, limits::ELEMENT_BYTES)?;
        let trimmed = given.trim();
        if trimmed.is_empty() {
            return Err(InvalidInput::new(field, "must not be empty")
                .because("use `project` for the whole project"));
        }
        if trimmed.chars().any(char::is_control) {
            return Err(InvalidInput::new(field, "must be one line without control characters"));
        }
        let outside = || {
            InvalidInput::new(field, "must be inside the project")
                .because(format!("`{}` is outside it", text::excerpt(trimmed, 80)))
        };
        let path = slashes(trimmed);
        let relative = if is_absolute(&path) {
            root.relative(&path).ok_or_else(outside)?
        } else {
            path.as_str()
        };
        let mut kept: Vec<&str> = Vec::new();
        // Trimmed as keys are: a component of blanks alone would make the next one look absolute.
        for part in relative.split('/').map(str::trim) {
            match part {
                "" | "." => {}
                ".." => {
                    kept.pop().ok_or_else(outside)?;
                }
                part => kept.push(part),
            }
        }
        if kept.is_empty() {
            return Ok(Self::project());
        }
        let slash = if relative.ends_with('/') || relative.ends_with("/.") { "/" } else { "" };
        let path = kept.join("/") + slash;
        // A later reader would take `./~` for a home directory.
        if is_absolute(&path) { Err(outside()) } else { Ok(Self(path)) }
    }

    /// Reads a scope from a file: any text; an invalid one matches little.
    #[must_use]
    pub fn read(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The scope as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The form two scopes are compared in: components joined by `/` with one at
    /// the end, composed (NFC), `..` resolved; `project` is the empty string. So
    /// one scope covers another exactly if its key is a prefix of the other's.
    #[must_use]
    pub fn key(&self, folding: CaseFolding) -> String {
        let mut kept: Vec<&str> = Vec::new();
        let path = slashes(&self.0);
        if path.trim() == PROJECT {
            return String::new();
        }
        for part in path.split('/').map(str::trim) {
            match part {
                "" | "." => {}
                ".." => {
                    kept.pop();
                }
                part => kept.push(part),
            }
        }
        let mut key = kept.join("/");
        if !is_nfc(&key) {
            key = key.nfc().collect();
        }
        if folding == CaseFolding::IgnoreCase {
            key = key.to_lowercase();
        }
        if !key.is_empty() {
            key.push('/');
        }
        key
    }

    /// Whether everything in `other` is in this scope too.
    #[must_use]
    pub fn covers(&self, other: &Self, folding: CaseFolding) -> bool {
        other.key(folding).starts_with(&self.key(folding))
    }

    /// Whether one of the two covers the other.
    #[must_use]
    pub fn overlaps(&self, other: &Self, folding: CaseFolding) -> bool {
        self.covers(other, folding) || other.covers(self, folding)
    }
}

/// The keys of the scopes that cover `key`, itself first and `project` last.
pub fn covering_keys(key: &str) -> impl Iterator<Item = &str> {
    let mut end = Some(key.len());
    std::iter::from_fn(move || {
        let at = end?;
        end = if at == 0 {
            None
        } else {
            Some(key[..at - 1].rfind('/').map_or(0, |slash| slash + 1))
        };
        Some(&key[..at])
    })
}

impl std::fmt::Display for Scope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

fn slashes(path: &str) -> String {
    path.replace('\\', "/")
}

/// Absolute on any system, because the agent's system need not be ours: `/x`,
/// `C:/x`, `//server/share`, `~/x`, `file:///x`.
fn is_absolute(path: &str) -> bool {
    let drive = path.as_bytes().get(1) == Some(&b':') && path.as_bytes()[0].is_ascii_alphabetic();
    Path::new(path).components().next() == Some(Component::RootDir)
        || drive
        || path == "~"
        || path.starts_with("~/")
        || path.starts_with("file:/")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use twining_testcases::each;

    use super::*;

    fn root() -> ProjectRoot {
        ProjectRoot::new([Path::new("/home/ada/shop"), Path::new("/mnt/disk/shop")])
    }

    fn scope(text: &str) -> Scope {
        Scope::parse("scope", text, &root()).expect("inside the project")
    }

    #[test]
    fn a_directory_covers_its_files_and_not_its_namesakes() {
        let auth = scope("src/auth");
        assert!(auth.covers(&scope("src/auth/jwt.ts"), CaseFolding::Exact));
        assert!(auth.covers(&scope("src/auth/"), CaseFolding::Exact));
        assert!(!auth.covers(&scope("src/authority.ts"), CaseFolding::Exact));
        assert!(!scope("src/auth/jwt.ts").covers(&auth, CaseFolding::Exact));
        assert!(scope("src/auth/jwt.ts").overlaps(&auth, CaseFolding::Exact));
    }

    #[test]
    fn project_covers_everything() {
        assert!(Scope::project().covers(&scope("src/auth/jwt.ts"), CaseFolding::Exact));
        assert_eq!(scope("./"), Scope::project());
        assert_eq!(scope("/home/ada/shop"), Scope::project());
    }

    #[test]
    fn an_absolute_path_inside_the_project_is_stored_relative() {
        assert_eq!(scope("/home/ada/shop/src/a.rs").as_str(), "src/a.rs");
        assert_eq!(scope("/mnt/disk/shop/src/").as_str(), "src/");
    }

    #[test]
    fn what_leads_out_of_the_project_is_refused() {
        each(
            [
                "/etc/passwd",
                "../../etc/passwd",
                "src/../../x",
                "C:\\windows",
                "\\\\server\\share",
                "~/.ssh",
                "/home/ada/shop-evil/x",
                "file:///etc/passwd",
                "a\u{7}b",
                "",
                "a\0b",
            ],
            |hostile| {
                assert!(Scope::parse("scope", hostile, &root()).is_err(), "{hostile:?}");
            },
        );
    }

    #[test]
    fn two_spellings_of_one_letter_are_one_scope() {
        assert_eq!(
            scope("src/caf\u{e9}").key(CaseFolding::Exact),
            scope("src/cafe\u{301}").key(CaseFolding::Exact)
        );
        assert_eq!(
            scope("Src/A").key(CaseFolding::IgnoreCase),
            scope("src/a").key(CaseFolding::IgnoreCase)
        );
        assert_ne!(scope("Src/A").key(CaseFolding::Exact), scope("src/a").key(CaseFolding::Exact));
    }

    #[test]
    fn covering_keys_climb_to_the_project() {
        let keys: Vec<&str> = covering_keys("src/auth/jwt.ts/").collect();
        assert_eq!(keys, ["src/auth/jwt.ts/", "src/auth/", "src/", ""]);
        assert_eq!(covering_keys("").collect::<Vec<_>>(), [""]);
    }

    proptest! {
        #[test]
        fn whatever_is_accepted_stays_inside_and_parses_to_itself(given in "[a-z./\\\\ :~é]{0,24}") {
            if let Ok(scope) = Scope::parse("scope", &given, &root()) {
                prop_assert!(!scope.as_str().starts_with('/'));
                prop_assert!(scope.as_str().split('/').all(|part| part != ".."));
                let again = Scope::parse("scope", scope.as_str(), &root()).expect("stays accepted");
                prop_assert_eq!(again.key(CaseFolding::Exact), scope.key(CaseFolding::Exact));
            }
        }

        #[test]
        fn covers_is_prefix_by_component(a in "[ab]{1}(/[ab]){0,3}", b in "[ab]{1}(/[ab]){0,3}") {
            let (left, right) = (Scope::read(&a), Scope::read(&b));
            let parts_a: Vec<&str> = a.split('/').collect();
            let parts_b: Vec<&str> = b.split('/').collect();
            prop_assert_eq!(left.covers(&right, CaseFolding::Exact), parts_b.starts_with(&parts_a));
            let climbs = covering_keys(&right.key(CaseFolding::Exact)).any(|k| k == left.key(CaseFolding::Exact));
            prop_assert_eq!(left.covers(&right, CaseFolding::Exact), climbs);
        }
    }
}
