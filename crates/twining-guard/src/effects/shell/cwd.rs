//! Where a command runs, and which file a word names from there.

use crate::effects::shell::words::{ShellWord, WordPart};

/// Longest path of a folder that is followed.
const MAX_PATH: usize = 1_024;

/// The folder that the next command runs in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct WorkingDir {
    /// Relative to where the line starts.
    path: String,
    /// The command after which the path is no longer known.
    pub(super) lost_by: Option<String>,
    previous: Option<String>,
    /// What `popd` goes back to.
    stack: Vec<String>,
}

/// What a word names where a file is expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WordTarget {
    Path(String),
    /// No file of interest: a device, a descriptor, a process.
    Nowhere,
    /// A file whose name is not known, in a few words.
    Unclear(String),
}

impl WorkingDir {
    /// The folder as a place in a word: `$PWD`.
    pub(super) fn place(&self) -> Option<&str> {
        self.lost_by.is_none().then_some(self.path.as_str())
    }

    /// Follows `cd`, `pushd` and `popd`.
    pub(super) fn change(&mut self, program: &str, folder: Option<&ShellWord>) {
        let before = self.place().map(str::to_owned);
        let shown = format!("{program} {}", folder.map(ShellWord::text_lossy).unwrap_or_default()).trim_end().to_owned();
        let next = match (program, folder) {
            ("popd", _) => self.stack.pop(),
            (_, None) => (program == "cd").then(|| "~".to_owned()),
            (_, Some(folder)) if folder.known().as_deref() == Some("-") => self.previous.clone(),
            (_, Some(folder)) => match self.locate(folder) {
                WordTarget::Path(path) if path.len() < MAX_PATH && !path.contains(['*', '?', '[']) => {
                    Some(if path == "." { String::new() } else { path })
                }
                _ => None,
            },
        };
        self.stack.extend(before.clone().filter(|_| program == "pushd"));
        self.previous = before;
        self.lost_by = next.is_none().then_some(shown);
        self.path = next.unwrap_or_default();
    }

    /// The file that a word names here.
    pub(super) fn locate(&self, word: &ShellWord) -> WordTarget {
        let text = word.text_lossy();
        if text.is_empty() || text == "-" || text.starts_with("/dev/") || text.starts_with("<(") || text.starts_with(">(") {
            return WordTarget::Nowhere;
        }
        let (place, parts) = match word.0.split_first() {
            Some((WordPart::Place(_, path), rest)) => (Some(path), rest),
            _ => (None, word.0.as_slice()),
        };
        if parts.iter().any(|part| matches!(part, WordPart::Unknown(_) | WordPart::Place(..))) {
            // Whatever the rest is called, the project is elsewhere.
            let is_temporary = text.starts_with("/tmp/") || place.is_some_and(|place| place.starts_with("/tmp"));
            return if is_temporary { WordTarget::Nowhere } else { WordTarget::Unclear(format!("`{text}` names a file")) };
        }
        let named: String = parts.iter().map(|part| if part.shown().starts_with('{') { "*" } else { part.shown() }).collect();
        let path = match (place, &self.lost_by) {
            (Some(place), _) => format!("{place}{named}"),
            _ if named.starts_with(['/', '~']) || (self.path.is_empty() && self.lost_by.is_none()) => named,
            (None, Some(by)) => return WordTarget::Unclear(format!("`{text}` after `{by}`")),
            (None, None) => format!("{}/{named}", self.path),
        };
        // `$PWD/x` at the start of the line is `x`.
        let path = normalize(if place.is_some_and(String::is_empty) { path.trim_start_matches('/') } else { &path });
        // Before a pattern a folder has to be named.
        let folder = path.split(['*', '?', '[']).next().and_then(|before| before.rsplit_once('/')).map_or("", |(folder, _)| folder);
        let is_pattern = parts.iter().any(|part| matches!(part, WordPart::Glob(_)));
        if is_pattern && folder.split('/').all(|name| matches!(name, "" | ".." | "~")) {
            return WordTarget::Unclear(format!("`{text}` names files"));
        }
        WordTarget::Path(path)
    }
}

/// A path without `.`, and without `..` where a name stands before it; `.` if nothing is left.
fn normalize(path: &str) -> String {
    let root = if path.starts_with('/') { "/" } else { "" };
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/').filter(|name| !matches!(*name, "" | ".")) {
        match (name, names.last()) {
            ("..", Some(last)) if !matches!(*last, ".." | "~") => drop(names.pop()),
            ("..", None) if !root.is_empty() => {}
            _ => names.push(name),
        }
    }
    let path = format!("{root}{}", names.join("/"));
    if path.is_empty() { ".".to_owned() } else { path }
}
