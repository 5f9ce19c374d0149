//! Paths as guards see them: from the project's root, `/` between, no `..` left,
//! and whether one with holes could be one that a rule names.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::guards::shell::{Piece, Word};

/// Puts a path under `base` and takes `.` and `..` out, by its words alone.
#[must_use]
pub fn normal(base: &str, path: &str) -> String {
    let whole = if path.starts_with('/') || base.is_empty() { path.to_owned() } else { format!("{base}/{path}") };
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

/// Folders of a path that is compared.
const MOST_PARTS: usize = 64;
/// Stars over folders that one glob may have: each multiplies the work.
const MOST_DEEP_STARS: usize = 3;

/// Globs of a rule. Case is folded: where the disk folds it, another spelling is
/// the same file, and elsewhere nobody has both.
///
/// Globs of stars and question marks are matched as they are written; only those
/// with `[..]` or `{..}` are compiled, since a hook compiles a thousand rules to
/// ask three.
#[derive(Clone, Debug)]
pub(crate) struct Paths {
    globs: Vec<String>,
    compiled: Option<GlobSet>,
}

impl Paths {
    /// Checks globs; the first that is none is named.
    pub(crate) fn compile(globs: &[String]) -> Result<Self, String> {
        let mut set = GlobSetBuilder::new();
        let mut is_plain = true;
        for glob in globs {
            if glob.matches("**").count() > MOST_DEEP_STARS || glob.len() > 512 {
                return Err(format!(
                    "the glob `{}` has more than {MOST_DEEP_STARS} `**` or 512 bytes",
                    twining_model::text::excerpt(glob, 40)
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
        let compiled = if is_plain { None } else { Some(set.build().map_err(|error| error.to_string())?) };
        Ok(Self { globs: globs.iter().map(|glob| glob.trim_start_matches("./").to_lowercase()).collect(), compiled })
    }

    /// The globs, as they are matched.
    pub(crate) fn globs(&self) -> &[String] {
        &self.globs
    }

    /// Adds globs that need no compiling.
    pub(crate) fn add_plain(&mut self, globs: impl IntoIterator<Item = String>) {
        self.globs.extend(globs.into_iter().map(|glob| glob.to_lowercase()));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.globs.is_empty()
    }

    /// Whether a known path is named.
    pub(crate) fn name(&self, path: &str) -> bool {
        let lower = path.to_lowercase();
        let path = parts(&lower);
        // What lies outside the project is named by whole paths alone.
        let outside = lower.starts_with('/');
        let plain = |glob: &&String| !glob.contains(['[', '{']) && glob.starts_with('/') == outside;
        path.len() <= MOST_PARTS && self.globs.iter().filter(plain).any(|glob| meet(&path, &parts(glob)))
            || (!outside && self.compiled.as_ref().is_some_and(|set| set.is_match(&lower)))
    }

    /// Whether something named lies at or below this folder.
    pub(crate) fn lie_below(&self, folder: &str) -> bool {
        if folder.starts_with('/') {
            return self.name(folder);
        }
        let folder = folder.trim_matches('/').to_lowercase();
        let below = |glob: &String| {
            let fixed: Vec<&str> = glob.split('/').take_while(|part| !part.contains(['*', '?', '[', '{'])).collect();
            let fixed = fixed.join("/");
            !fixed.is_empty() && (folder.is_empty() || fixed == folder || fixed.starts_with(&format!("{folder}/")))
        };
        self.name(&folder) || self.globs.iter().any(below)
    }

    /// Whether a word with holes could name one: holes alone never do, since
    /// every `> "$OUT"` would.
    pub(crate) fn could_be(&self, word: &Word, root: &str, bases: &[String]) -> bool {
        let mut text = String::new();
        for piece in &word.0 {
            match piece {
                Piece::Text(known) => text.push_str(known),
                Piece::Hole(_) => text.push('\u{0}'),
            }
        }
        let text = text.to_lowercase();
        bases.iter().any(|base| {
            let path = inside(root, &normal(base, &text));
            let outside = path.starts_with('/');
            let path = parts(&path);
            // A hole in front stands for the project as often as not.
            let below = if path.first().is_some_and(|part| *part == "\u{0}") { path.get(1..) } else { None };
            path.len() <= MOST_PARTS
                && self
                    .globs
                    .iter()
                    .filter(|glob| glob.starts_with('/') == outside)
                    .any(|glob| meet(&path, &parts(glob)) || below.is_some_and(|path| meet(path, &parts(glob))))
        }) || word.sources().any(|source| bases.iter().any(|base| self.name(&inside(root, &normal(base, source)))))
    }

    /// Whether code, its quotes and joints taken out, speaks of one.
    pub(crate) fn are_spoken_of(&self, squeezed: &str) -> bool {
        self.globs.iter().any(|glob| {
            let plain = glob.split('/').filter(|part| !part.contains(['*', '?', '['])).max_by_key(|part| part.len()).unwrap_or_default();
            let plain: String = plain.chars().filter(|c| *c != '.').collect();
            plain.len() >= 4 && squeezed.contains(&plain)
        })
    }
}

fn parts(path: &str) -> Vec<&str> {
    path.split('/').filter(|part| !part.is_empty()).collect()
}

/// Whether a path with holes and a glob have a path in common.
fn meet(path: &[&str], glob: &[&str]) -> bool {
    match (path, glob) {
        ([], []) => true,
        ([], rest) => rest.iter().all(|part| *part == "**"),
        (_, []) => false,
        ([_, after @ ..], ["**", rest @ ..]) => meet(path, rest) || meet(after, glob),
        ([part, after @ ..], [wanted, rest @ ..]) => part_meets(part, wanted) && meet(after, rest),
    }
}

fn part_meets(part: &str, wanted: &str) -> bool {
    if part.chars().all(|c| c == '\u{0}') {
        return wanted == "*";
    }
    // Most rules name folders as they are.
    if !part.contains(['\u{0}', '*']) && !wanted.contains(['\u{0}', '*', '?']) {
        return part == wanted;
    }
    let (part, wanted): (Vec<char>, Vec<char>) = (part.chars().take(256).collect(), wanted.chars().take(256).collect());
    let is_open = |c: char| matches!(c, '\u{0}' | '*');
    // Reachable pairs of places, row by row.
    let mut row = vec![false; wanted.len() + 1];
    row[0] = true;
    for at in 0..=part.len() {
        let mut next = vec![false; wanted.len() + 1];
        for to in 0..=wanted.len() {
            if !row[to] {
                continue;
            }
            let (here, there) = (part.get(at).copied(), wanted.get(to).copied());
            if there.is_some_and(is_open) || (there.is_some() && here.is_some_and(is_open)) {
                row[to + 1] = true;
            }
            if here.is_some_and(is_open) || (here.is_some() && there.is_some_and(is_open)) {
                next[to] = true;
            }
            if let (Some(here), Some(there)) = (here, there)
                && (here == there || there == '?')
            {
                next[to + 1] = true;
            }
        }
        if at == part.len() {
            return row[wanted.len()];
        }
        row = next;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(globs: &[&str]) -> Paths {
        Paths::compile(&globs.iter().map(|glob| (*glob).to_owned()).collect::<Vec<_>>()).expect("compiles")
    }

    fn word(text: &str) -> Word {
        let pieces = text.split_inclusive('*').flat_map(|part| {
            let known = Piece::Text(part.trim_end_matches('*').to_owned());
            if part.ends_with('*') { vec![known, Piece::Hole(Vec::new())] } else { vec![known] }
        });
        Word(pieces.collect())
    }

    #[test]
    fn a_path_is_the_same_however_it_is_spelt() {
        assert_eq!(normal("/p", "./a/../b//c"), "/p/b/c");
        assert_eq!(normal("/p", "/x/../y"), "/y");
        assert_eq!(inside("/p", "/p/a"), "a");
        assert_eq!(inside("/p", "/pq/a"), "/pq/a");
        assert!(paths(&[".twining/**"]).name(".TWINING/x/y"));
    }

    #[test]
    fn a_hole_is_a_protected_file_only_where_something_says_so() {
        let list = paths(&["**/feature-list.json", ".twining/**"]);
        let here = [String::new()];
        for yes in ["*/feature-list.json", "feature-*.json", ".twining/*", "a/f*list.json", ".twin*/x"] {
            assert!(list.could_be(&word(yes), "", &here), "{yes}");
        }
        for no in ["*", "*/x", "out-*.json", "src/*", "*.rs"] {
            assert!(!list.could_be(&word(no), "", &here), "{no}");
        }
        assert!(list.lie_below("") && list.lie_below(".twining") && !list.lie_below("src"));
    }
}
