//! Paths as guards see them: from the project's root, `/` between, no `..` left,
//! and whether one with holes could be one that a rule names.

use std::borrow::Cow;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::guards::shell::{Piece, SPARED, UNTOLD, Word};

/// Puts a path under `base` and takes `.` and `..` out, by its words alone.
#[must_use]
pub fn normal(base: &str, path: &str) -> String {
    let path = through_proc(path);
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

/// A path without the detour over a process's own folder: `/proc/self/cwd/x` is `x`.
fn through_proc(path: &str) -> &str {
    let Some((_, rest)) = path.strip_prefix("/proc/").and_then(|rest| rest.split_once('/')) else { return path };
    match (rest.strip_prefix("cwd"), rest.strip_prefix("root")) {
        (Some(""), _) => ".",
        (Some(below), _) if below.starts_with('/') => below.trim_start_matches('/'),
        (_, Some(below)) if below.starts_with('/') => below,
        _ => path,
    }
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

/// Longest path that any system opens.
const MOST_PATH: usize = 4096;

/// A word that is known in part, as the paths it may be: worked out once, since
/// every rule asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holes {
    /// What is known of it.
    pub(crate) gist: String,
    /// From each folder it may be in, with holes left in.
    spelt: Vec<String>,
    /// The paths its holes may have been made from.
    pub(crate) made_of: Vec<String>,
    /// Where the shell alone fills the holes: the patterns, from the root of the disk.
    pub(crate) globs: Vec<String>,
    /// Whether what lies below is meant too.
    pub(crate) is_tree: bool,
    /// Whether there were too many of those to tell.
    is_untold: bool,
    /// Whether they come from a search that left the memory out.
    pub(crate) spares_memory: bool,
}

impl Holes {
    /// Whether something on the line tells what stands in the holes.
    pub(crate) fn is_made_of_words(&self) -> bool {
        self.is_untold || !self.made_of.is_empty()
    }

    pub(crate) fn of(word: &Word, root: &str, bases: &[String]) -> Self {
        let mut text = String::new();
        for piece in &word.0 {
            match piece {
                Piece::Text(known) => text.push_str(known),
                Piece::Hole(_) | Piece::Glob(_) if text.ends_with('\u{0}') => {}
                Piece::Hole(_) | Piece::Glob(_) => text.push('\u{0}'),
            }
        }
        let text = text.to_lowercase();
        let places = |path: &str| bases.iter().map(|base| inside(root, &normal(base, path))).collect::<Vec<_>>();
        let spelt = if text.len() > MOST_PATH { Vec::new() } else { places(&text) };
        let sources = || word.sources().filter(|source| source.len() <= MOST_PATH && *source != SPARED);
        let is_untold = sources().any(|source| source == UNTOLD);
        let globs = pattern(word).filter(|pattern| pattern.len() <= MOST_PATH);
        let globs = globs.map(|pattern| bases.iter().map(|base| normal(base, &pattern)).collect()).unwrap_or_default();
        Self {
            gist: word.gist(),
            spelt,
            made_of: sources().flat_map(places).collect(),
            globs,
            is_tree: false,
            is_untold,
            spares_memory: word.sources().any(|source| source == SPARED),
        }
    }
}

/// A word that only the shell fills in, as it is written.
fn pattern(word: &Word) -> Option<String> {
    let has_glob = word.0.iter().any(|piece| matches!(piece, Piece::Glob(_)));
    let piece = |piece: &Piece| match piece {
        Piece::Text(text) | Piece::Glob(text) => Some(text.clone()),
        Piece::Hole(_) => None,
    };
    word.0.iter().map(piece).collect::<Option<String>>().filter(|_| has_glob)
}

/// Names of one folder, and paths in all, that a pattern may stand for.
const MOST_NAMES: usize = 2_000;

/// The paths that a shell would put in a pattern's place, as far as it is worth looking.
pub(crate) fn expanded(pattern: &str, list: &dyn Fn(&str, usize) -> Vec<String>) -> Vec<String> {
    let mut paths = vec![String::new()];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        let is_glob = part.contains(['*', '?']);
        let mut next = Vec::new();
        for folder in &paths {
            if !is_glob {
                next.push(format!("{folder}/{part}"));
                continue;
            }
            let wanted = part.to_lowercase();
            // What begins with a dot is not meant by a star.
            let is_meant = |name: &String| (part.starts_with('.') || !name.starts_with('.')) && part_meets(&name.to_lowercase(), &wanted);
            let names = list(if folder.is_empty() { "/" } else { folder }, MOST_NAMES);
            next.extend(names.into_iter().filter(is_meant).map(|name| format!("{folder}/{name}")));
            if next.len() >= MOST_NAMES {
                next.truncate(MOST_NAMES);
                break;
            }
        }
        paths = next;
    }
    paths
}

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
        let lower = lowered(path);
        // What lies outside the project is named by whole paths alone.
        let outside = lower.starts_with('/');
        let plain = |glob: &&String| glob.starts_with('/') == outside && (self.compiled.is_none() || !glob.contains(['[', '{']));
        !is_too_deep(&lower) && self.globs.iter().filter(plain).any(|glob| meet(&lower, glob))
            || (!outside && self.compiled.as_ref().is_some_and(|set| set.is_match(&*lower)))
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
    pub(crate) fn could_be(&self, holes: &Holes) -> bool {
        let spelt = |path: &str| {
            let outside = path.starts_with('/');
            // A hole in front stands for the project as often as not.
            let below = step(path).filter(|(part, _)| *part == "\u{0}").map(|(_, below)| below);
            let mut globs = self.globs.iter().filter(|glob| glob.starts_with('/') == outside);
            !is_too_deep(path) && globs.any(|glob| meet(path, glob) || below.is_some_and(|path| meet(path, glob)))
        };
        holes.is_untold || holes.spelt.iter().any(|path| spelt(path)) || holes.made_of.iter().any(|path| self.name(path))
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

/// Case folded; most paths are as they are.
fn lowered(path: &str) -> Cow<'_, str> {
    let is_folded = path.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase());
    if is_folded { Cow::Borrowed(path) } else { Cow::Owned(path.to_lowercase()) }
}

fn is_too_deep(path: &str) -> bool {
    path.len() > MOST_PARTS && path.bytes().filter(|byte| *byte == b'/').count() > MOST_PARTS
}

/// The first part of a path, and what comes after it.
fn step(path: &str) -> Option<(&str, &str)> {
    let path = path.trim_start_matches('/');
    (!path.is_empty()).then(|| path.split_once('/').unwrap_or((path, "")))
}

/// Whether a path with holes and a glob have a path in common.
fn meet(path: &str, glob: &str) -> bool {
    match (step(path), step(glob)) {
        (None, None) => true,
        (None, Some((part, rest))) => part == "**" && meet(path, rest),
        (Some(_), None) => false,
        (Some((_, after)), Some(("**", rest))) => meet(path, rest) || meet(after, glob),
        (Some((part, after)), Some((wanted, rest))) => part_meets(part, wanted) && meet(after, rest),
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
    if let Some(ending) = wanted.strip_prefix('*')
        && !part.contains(['\u{0}', '*'])
        && !ending.contains(['\u{0}', '*', '?'])
    {
        return part.ends_with(ending);
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
            assert!(list.could_be(&Holes::of(&word(yes), "", &here)), "{yes}");
        }
        for no in ["*", "*/x", "out-*.json", "src/*", "*.rs"] {
            assert!(!list.could_be(&Holes::of(&word(no), "", &here)), "{no}");
        }
        assert!(list.lie_below("") && list.lie_below(".twining") && !list.lie_below("src"));
    }
}
