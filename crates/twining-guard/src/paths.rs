//! Paths as guards see them: from the project's root, `/` between, no `..` left;
//! and the globs of rules.

use std::borrow::Cow;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::{Deserialize, Serialize};
use twining_model::text;

/// Folders of a path that is compared.
const MAX_PARTS: usize = 64;
/// `**` that one glob may have: each multiplies the work.
const MAX_DEEP_STARS: usize = 3;

/// Puts a path under `base` and takes `.` and `..` out, by its words alone.
#[must_use]
pub fn normal(base: &str, path: &str) -> String {
    let whole = if path.starts_with('/') || base.is_empty() {
        path.to_owned()
    } else {
        format!("{base}/{path}")
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let lead = if whole.starts_with('/') { "/" } else { "" };
    format!("{lead}{}", parts.join("/"))
}

/// The path from `root`, or as it is if it lies elsewhere.
#[must_use]
pub fn inside(root: &str, path: &str) -> String {
    let root = root.trim_end_matches('/');
    match path.strip_prefix(root) {
        Some("") => String::new(),
        Some(rest) if rest.starts_with('/') => rest[1..].to_owned(),
        _ => path.to_owned(),
    }
}

/// Globs for a scope: the place, and what lies below it.
#[must_use]
pub fn globs_of(scope: &str) -> Vec<String> {
    let scope = scope.trim().trim_start_matches("./").trim_end_matches('/');
    if scope.is_empty() || scope == "project" || scope == "." {
        return vec!["**".to_owned()];
    }
    vec![scope.to_owned(), format!("{scope}/**")]
}

/// Globs of a rule. Case is folded: on a case-insensitive file system another
/// spelling is the same file, and elsewhere nobody has both.
///
/// Globs of stars and question marks are matched as they are written; only those
/// with `[..]` or `{..}` are compiled, since a hook compiles a thousand rules to
/// ask three.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct PathGlobs {
    globs: Vec<String>,
    compiled: Option<GlobSet>,
}

impl TryFrom<Vec<String>> for PathGlobs {
    type Error = String;

    fn try_from(globs: Vec<String>) -> Result<Self, String> {
        Self::compile(&globs)
    }
}

impl From<PathGlobs> for Vec<String> {
    fn from(globs: PathGlobs) -> Self {
        globs.globs
    }
}

impl PathGlobs {
    /// Checks globs; the first that is none is named.
    pub fn compile(globs: &[String]) -> Result<Self, String> {
        let mut set = GlobSetBuilder::new();
        let mut is_plain = true;
        for glob in globs {
            if glob.matches("**").count() > MAX_DEEP_STARS || glob.len() > 512 {
                return Err(format!(
                    "the glob `{}` has more than {MAX_DEEP_STARS} `**` or is longer than 512 bytes",
                    text::excerpt(glob, 40)
                ));
            }
            if glob.contains(['[', '{']) {
                is_plain = false;
                let built = GlobBuilder::new(glob.trim_start_matches("./"))
                    .case_insensitive(true)
                    .literal_separator(true)
                    .backslash_escape(false)
                    .build();
                set.add(built.map_err(|error| error.to_string())?);
            }
        }
        let compiled =
            if is_plain { None } else { Some(set.build().map_err(|error| error.to_string())?) };
        Ok(Self {
            globs: globs.iter().map(|glob| glob.trim_start_matches("./").to_lowercase()).collect(),
            compiled,
        })
    }

    /// The globs, as they are matched.
    #[must_use]
    pub fn globs(&self) -> &[String] {
        &self.globs
    }

    /// Adds globs that need no compiling.
    pub(crate) fn extend(&mut self, globs: impl IntoIterator<Item = String>) {
        self.globs.extend(globs.into_iter().map(|glob| glob.to_lowercase()));
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.globs.is_empty()
    }

    /// Whether a path is named.
    #[must_use]
    pub fn matches(&self, path: &str) -> bool {
        let lower = lowercase(path);
        // What lies outside the project is named by absolute globs alone.
        let outside = lower.starts_with('/');
        let plain = |glob: &&String| {
            glob.starts_with('/') == outside
                && (self.compiled.is_none() || !glob.contains(['[', '{']))
        };
        lower.matches('/').count() <= MAX_PARTS
            && self.globs.iter().filter(plain).any(|glob| glob_matches(&lower, glob))
            || (!outside && self.compiled.as_ref().is_some_and(|set| set.is_match(&*lower)))
    }

    /// Whether something named lies at or below this folder.
    #[must_use]
    pub fn match_below(&self, folder: &str) -> bool {
        if folder.starts_with('/') {
            return self.matches(folder);
        }
        let folder = folder.trim_matches('/').to_lowercase();
        let below = |glob: &String| {
            let fixed: Vec<&str> =
                glob.split('/').take_while(|part| !part.contains(['*', '?', '[', '{'])).collect();
            let fixed = fixed.join("/");
            !fixed.is_empty()
                && (folder.is_empty()
                    || fixed == folder
                    || fixed.starts_with(&format!("{folder}/")))
        };
        self.matches(&folder) || self.globs.iter().any(below)
    }
}

/// Case folded; most paths are lowercase already.
fn lowercase(path: &str) -> Cow<'_, str> {
    let is_lowercase = path.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase());
    if is_lowercase { Cow::Borrowed(path) } else { Cow::Owned(path.to_lowercase()) }
}

/// The first part of a path, and what comes after it.
fn split_first(path: &str) -> Option<(&str, &str)> {
    let path = path.trim_start_matches('/');
    (!path.is_empty()).then(|| path.split_once('/').unwrap_or((path, "")))
}

fn glob_matches(path: &str, glob: &str) -> bool {
    match (split_first(path), split_first(glob)) {
        (None, None) => true,
        (None, Some((part, rest))) => part == "**" && glob_matches(path, rest),
        (Some(_), None) => false,
        (Some((_, after)), Some(("**", rest))) => {
            glob_matches(path, rest) || glob_matches(after, glob)
        }
        (Some((part, after)), Some((pattern, rest))) => {
            name_matches(part, pattern) && glob_matches(after, rest)
        }
    }
}

/// Whether a name fits a pattern of `*` and `?`.
pub(crate) fn name_matches(name: &str, pattern: &str) -> bool {
    if !pattern.contains(['*', '?']) {
        return name == pattern;
    }
    let (name, pattern): (Vec<char>, Vec<char>) =
        (name.chars().collect(), pattern.chars().collect());
    // Greedy, going back to the last star: linear for one star, bounded for more.
    let (mut at, mut to, mut star) = (0, 0, None);
    while at < name.len() {
        match pattern.get(to) {
            Some('*') => {
                star = Some((at, to));
                to += 1;
            }
            Some(c) if *c == '?' || *c == name[at] => (at, to) = (at + 1, to + 1),
            _ => match star {
                Some((from, starred)) => {
                    star = Some((from + 1, starred));
                    (at, to) = (from + 1, starred + 1);
                }
                None => return false,
            },
        }
    }
    pattern[to..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use twining_testcases::each;

    fn globs(globs: &[&str]) -> PathGlobs {
        PathGlobs::compile(&globs.iter().map(|glob| (*glob).to_owned()).collect::<Vec<_>>())
            .expect("compiles")
    }

    #[test]
    fn a_path_is_the_same_however_it_is_spelt() {
        assert_eq!(normal("/p", "./a/../b//c"), "/p/b/c");
        assert_eq!(normal("/p", "/x/../y"), "/y");
        assert_eq!(inside("/p", "/p/a"), "a");
        assert_eq!(inside("/p", "/pq/a"), "/pq/a");
        assert!(globs(&[".twining/**"]).matches(".TWINING/x/y"));
    }

    #[test]
    fn a_glob_matches_by_names_and_folders() {
        each(
            [
                ("**/*.log", "a/b/c.log", true),
                ("**/*.log", "c.log", true),
                ("**/logs/**/*.txt", "x/logs/y/z.txt", true),
                ("src/*", "src/a/b", false),
                ("src/a?.rs", "src/ab.rs", true),
                ("src/*a*b", "src/xaxxb", true),
                ("src/*a*b", "src/xaxxc", false),
                ("src/{a,b}.rs", "src/b.rs", true),
                ("/home/**/x", "/home/a/x", true),
                ("**/x", "/home/a/x", false),
            ],
            |(glob, path, expected)| {
                assert_eq!(globs(&[glob]).matches(path), expected, "{glob} {path}");
            },
        );
        let records = globs(&[".twining/decisions/**"]);
        assert!(
            records.match_below("")
                && records.match_below(".twining")
                && !records.match_below("src")
        );
    }
}
