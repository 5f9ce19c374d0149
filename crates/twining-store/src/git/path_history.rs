//! What became of paths and words that a document names: when a file went, where it moved to, and
//! what stood in the tree when a line was written.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read};

use twining_model::{Time, text};

use super::history::seconds;
use super::repository::{Git, is_hash, is_plain, split_names};

/// How many paths one question may name: the system limits a command line.
const PATHS: usize = 400;
/// How many words one question may name.
const WORDS: usize = 200;
/// Bytes of one answer that are read.
const ANSWER_BYTES: u64 = 64 * 1024 * 1024;
/// Files that one commit may have added and removed for git to pair them by likeness.
const RENAME_LIMIT: &str = "-l800";

/// A file of the index.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TrackedFile {
    /// Its path, from the folder that is asked about.
    pub path: String,
    /// Whether it is a regular file: no link, no submodule.
    pub is_regular: bool,
}

/// A file or a folder that went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal {
    /// The commit in which it went.
    pub commit: String,
    /// When that was made.
    pub at: Time,
    /// Its first line.
    pub subject: String,
}

/// A word in a file of a commit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WordPlace {
    /// The word.
    pub word: String,
    /// The file.
    pub path: String,
}

impl Git {
    /// The files of the index below this folder; none where git knows of no repository.
    #[must_use]
    pub fn tracked_files(&self) -> Option<Vec<TrackedFile>> {
        let listed = self.names(&["ls-files", "-s", "-z", "--", "."])?;
        let read = |line: &String| {
            let (stage, path) = line.split_once('\t')?;
            Some(TrackedFile { path: path.to_owned(), is_regular: stage.starts_with("100") })
        };
        let mut files: Vec<TrackedFile> = listed.iter().filter_map(read).collect();
        // A file in conflict stands there once for each side.
        files.dedup_by(|a, b| a.path == b.path);
        Some(files)
    }

    /// Which of these paths git ignores, whether or not they are there.
    #[must_use]
    pub fn ignored_of(&self, paths: &[String]) -> BTreeSet<String> {
        let is_operand = |path: &&str| is_plain(path) && !path.starts_with(':');
        let plain: Vec<&str> = paths.iter().map(String::as_str).filter(is_operand).collect();
        plain.chunks(PATHS).flat_map(|some| self.ignored_lines(some)).collect()
    }

    /// The newest commit in which each of these files, or something in each of these folders, was
    /// deleted or renamed. Paths that no commit removed are left out. None where git takes too
    /// long.
    #[must_use]
    pub fn removals(&self, paths: &[String]) -> Option<BTreeMap<String, Removal>> {
        let plain: Vec<String> = paths.iter().filter(|path| is_plain(path)).cloned().collect();
        let mut found = BTreeMap::new();
        for some in plain.chunks(PATHS) {
            let wanted: BTreeSet<String> = some.iter().cloned().collect();
            let format = "--format=%x01%H%x00%ct%x00%s%x00";
            let mut words = vec![
                "log",
                "-z",
                "--no-renames",
                "--no-ext-diff",
                "--no-textconv",
                "--diff-filter=D",
                "--name-only",
                "--relative",
                format,
                "HEAD",
                "--",
            ];
            words.extend(some.iter().map(String::as_str));
            let read = move |out| read_removals(BufReader::new(out), &wanted);
            found.extend(self.with_timeout(&words, read).ok()?.0);
        }
        Some(found)
    }

    /// What a commit renamed, old name first.
    #[must_use]
    pub fn renames_in(&self, commit: &str) -> Vec<(String, String)> {
        if !is_hash(commit) {
            return Vec::new();
        }
        let words = [
            "diff-tree",
            "-r",
            "-z",
            "-M",
            RENAME_LIMIT,
            "--diff-filter=R",
            "--name-status",
            "--no-commit-id",
            "--relative",
            "--no-ext-diff",
            "--no-textconv",
            commit,
            "--",
        ];
        let printed = self.bounded(&words).unwrap_or_default();
        let mut tokens = printed.split('\0');
        let mut renames = Vec::new();
        while let Some(token) = tokens.next() {
            if token.starts_with('R')
                && let (Some(from), Some(to)) = (tokens.next(), tokens.next())
            {
                renames.push((from.to_owned(), to.to_owned()));
            }
        }
        renames
    }

    /// The commits that lines of a file, as it is in HEAD, come from. Lines count from one.
    #[must_use]
    pub fn line_commits(&self, file: &str, lines: &BTreeSet<usize>) -> BTreeMap<usize, String> {
        if !is_plain(file) || lines.is_empty() {
            return BTreeMap::new();
        }
        let ranges: Vec<String> = lines.iter().map(|line| format!("-L{line},{line}")).collect();
        let mut words = vec!["blame", "--porcelain", "--no-textconv"];
        words.extend(ranges.iter().take(PATHS).map(String::as_str));
        words.extend(["HEAD", "--", file]);
        let printed = self.bounded(&words).unwrap_or_default();
        let read = |line: &str| {
            // `<hash> <line then> <line now> [<lines in group>]`
            let mut fields = line.split(' ');
            let commit = fields.next().filter(|hash| is_hash(hash))?;
            Some((fields.nth(1)?.parse().ok()?, commit.to_owned()))
        };
        printed.lines().filter_map(read).collect()
    }

    /// The commit that a file is from, under whatever name.
    #[must_use]
    pub fn first_commit_of(&self, file: &str) -> Option<String> {
        if !is_plain(file) {
            return None;
        }
        let words = ["log", "--follow", "--diff-filter=A", "--format=%H", "HEAD", "--", file];
        let printed = self.bounded(&words)?;
        printed.lines().last().filter(|hash| is_hash(hash)).map(str::to_owned)
    }

    /// The files of a commit, below this folder.
    #[must_use]
    pub fn files_at(&self, commit: &str) -> Vec<String> {
        if !is_hash(commit) {
            return Vec::new();
        }
        let printed = self.bounded(&["ls-tree", "-r", "-z", "--name-only", commit, "--"]);
        printed.map(|names| split_names(names.as_bytes())).unwrap_or_default()
    }

    /// Which of these words stand in text files of a commit, below this folder, and where. None
    /// where git takes too long.
    #[must_use]
    pub fn words_at(&self, commit: &str, wanted: &[String]) -> Option<BTreeSet<WordPlace>> {
        if !is_hash(commit) || wanted.is_empty() {
            return None;
        }
        let mut found = BTreeSet::new();
        for some in wanted.chunks(WORDS) {
            let mut words = vec!["grep", "-I", "-z", "-o", "-w", "-F", "--no-textconv"];
            for word in some {
                words.extend(["-e", word.as_str()]);
            }
            words.extend([commit, "--", "."]);
            let printed = self.bounded(&words)?;
            // `<commit>:<path>` NUL `<word>`, a line each.
            found.extend(printed.lines().filter_map(|line| {
                let (place, word) = line.split_once('\0')?;
                let path = place.split_once(':').map(|(_, path)| path.to_owned())?;
                Some(WordPlace { word: word.to_owned(), path })
            }));
        }
        Some(found)
    }

    /// The newest commit that added or removed a word in a file.
    #[must_use]
    pub fn last_change_of(&self, word: &str, file: &str) -> Option<Removal> {
        if !is_plain(file) {
            return None;
        }
        let counted = format!("-S{word}");
        let words = [
            "log",
            "-1",
            "-z",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            &counted,
            "--format=%H%x00%ct%x00%s%x00",
            "HEAD",
            "--",
            file,
        ];
        let printed = self.bounded(&words)?;
        removal_in(printed.split('\0'))
    }

    /// Whether history ends where the clone was cut off.
    #[must_use]
    pub fn is_shallow(&self) -> bool {
        self.line(&["rev-parse", "--is-shallow-repository"]).as_deref() == Some("true")
    }

    /// What git prints, as far as it is read; none where it takes too long or cannot be started.
    fn bounded(&self, words: &[&str]) -> Option<String> {
        let read = |out: std::process::ChildStdout| {
            let mut bytes = Vec::new();
            out.take(ANSWER_BYTES).read_to_end(&mut bytes).map(|_| bytes)
        };
        let (printed, _) = self.with_timeout(words, read).ok()?;
        Some(String::from_utf8_lossy(&printed.ok()?).into_owned())
    }
}

fn removal_in<'t>(mut fields: impl Iterator<Item = &'t str>) -> Option<Removal> {
    let commit = fields.next()?.trim().to_owned();
    let at = seconds(fields.next()?)?;
    let subject = text::excerpt(fields.next()?, 120);
    is_hash(&commit).then_some(Removal { commit, at, subject })
}

/// Reads `git log`, newest first, until something was removed from every path: `\x01<hash>` NUL
/// `<seconds>` NUL `<subject>` NUL, then the files.
fn read_removals(mut log: impl BufRead, wanted: &BTreeSet<String>) -> BTreeMap<String, Removal> {
    let mut found: BTreeMap<String, Removal> = BTreeMap::new();
    let mut removal = None;
    let mut next = |token: &mut Vec<u8>| {
        token.clear();
        let is_there = log.read_until(0, token).is_ok_and(|read| read > 0);
        is_there.then(|| String::from_utf8_lossy(token).trim_matches(['\0', '\n']).to_owned())
    };
    let mut token = Vec::new();
    while found.len() < wanted.len()
        && let Some(text) = next(&mut token)
    {
        if let Some(hash) = text.strip_prefix('\u{1}').map(str::to_owned) {
            let (at, subject) = (next(&mut token), next(&mut token));
            let (at, subject) = (at.unwrap_or_default(), subject.unwrap_or_default());
            removal = removal_in([hash.as_str(), &at, &subject].into_iter());
        } else if let Some(removal) = &removal {
            // A file counts for itself and for every folder around it.
            let ends = text.match_indices('/').map(|(at, _)| at).chain([text.len()]);
            for path in ends.map(|end| &text[..end]).filter(|path| wanted.contains(*path)) {
                found.entry(path.to_owned()).or_insert_with(|| removal.clone());
            }
        }
    }
    found
}
