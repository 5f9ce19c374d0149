//! What git knows of single commits, of files' last ones, and of files that moved.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read};

use serde::{Deserialize, Serialize};
use twining_model::{Time, text};

use super::repository::{Git, is_hash, is_plain, is_revision, plain_diff};

/// The word before a decision's id in the last lines of a commit message.
const TRAILER: &str = "Twining-Decision";
/// The same before the id of a record that still holds.
const CONFIRMS: &str = "Twining-Confirms";
/// Files of one commit that are looked at.
const FILES: usize = 2000;
/// How many files one question may name: the system limits a command line.
const ASKED: usize = 1000;
/// How far back moved files are looked for the first time, and how much git may say of
/// moves.
const COMMITS: &str = "-n5000";
const MOVES_BYTES: u64 = 16 * 1024 * 1024;

/// A commit, as git reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitDetails {
    /// Its whole hash.
    pub hash: String,
    /// What came before it; two or more for a merge.
    pub parents: Vec<String>,
    /// When it was made.
    pub at: Time,
    /// Its first line.
    pub subject: String,
    /// What its `Twining-Decision` trailers say.
    pub trailers: Vec<String>,
    /// The files it touches, relative to the project.
    pub files: Vec<String>,
}

/// A file got another name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Move {
    /// When.
    pub at: Time,
    /// What it was called.
    pub from: String,
    /// What it was called then.
    pub to: String,
}

/// When files were committed.
pub trait History {
    /// When each file was last committed; files without a commit are left out.
    fn last_commits(&self, files: &[String]) -> Result<BTreeMap<String, Time>, String>;

    /// When the commit before the last one was made, if there is one.
    fn previous_commit(&self) -> Option<Time> {
        None
    }
}

impl Git {
    /// A commit by any name git has for it.
    #[must_use]
    pub fn commit(&self, name: &str) -> Option<CommitDetails> {
        if !is_revision(name) {
            return None;
        }
        let format = format!(
            "--format=%H%x00%P%x00%ct%x00%s%x00%(trailers:key={TRAILER},valueonly,unfold,separator=%x0A)%x00"
        );
        let words = plain_diff(&["log", "-1", "--name-only"], &["--relative", &format, name, "--"]);
        let printed = self.printed(&words)?;
        read_commit(&String::from_utf8_lossy(&printed))
    }

    /// The records that commits after one, up to another, say still hold, and which commit does.
    #[must_use]
    pub fn confirmed_between(&self, after: &str, until: &str) -> BTreeMap<String, String> {
        let format =
            format!("--format=%H %(trailers:key={CONFIRMS},valueonly,unfold,separator=%x20)");
        let range = format!("{after}..{until}");
        let mut confirmed = BTreeMap::new();
        for line in self.lines(&["log", &format, "--end-of-options", &range, "--"]) {
            let mut words = line.split([' ', ',']).filter(|word| !word.is_empty());
            let Some(commit) = words.next() else { continue };
            confirmed.extend(words.map(|id| (id.to_owned(), commit.to_owned())));
        }
        confirmed
    }

    /// When a commit was made.
    #[must_use]
    pub fn committed_at(&self, name: &str) -> Option<Time> {
        // One commit is looked up, none is walked: this cannot take long.
        seconds(&self.line(&[
            "log",
            "-1",
            "--no-walk",
            "--format=%ct",
            "--end-of-options",
            name,
            "--",
        ])?)
    }

    /// The whole hash of a commit.
    pub(super) fn commit_of(&self, name: &str) -> Option<String> {
        let wanted = format!("{name}^{{commit}}");
        // git before 2.30 repeats the option.
        self.lines(&["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted])
            .into_iter()
            .find(|line| is_hash(line))
    }

    /// The commit that is checked out.
    #[must_use]
    pub fn head(&self) -> Option<String> {
        self.hash(&["rev-parse", "--verify", "--quiet", "HEAD"])
    }

    /// Whether one commit is among those that led to another.
    #[must_use]
    pub fn is_before(&self, earlier: &str, later: &str) -> bool {
        self.printed(&["merge-base", "--is-ancestor", earlier, later]).is_some()
    }

    /// Files that moved on the way to HEAD, oldest first: since a commit, or as far
    /// back as is worth looking.
    #[must_use]
    pub fn moves(&self, since: Option<&str>) -> Option<Vec<Move>> {
        let range = since.map_or_else(|| "HEAD".to_owned(), |since| format!("{since}..HEAD"));
        let moved = [
            "log",
            "-z",
            "-M",
            "--diff-filter=R",
            "--name-status",
            "--relative",
            "--no-ext-diff",
            "--no-textconv",
        ];
        let words =
            [&moved[..], &["--format=%x01%ct", COMMITS, "--end-of-options", &range, "--"]].concat();
        let read = |out: std::process::ChildStdout| {
            let mut bytes = Vec::new();
            out.take(MOVES_BYTES).read_to_end(&mut bytes).map(|_| bytes)
        };
        let (printed, _) = self.with_timeout(&words, read).ok()?;
        Some(read_moves(&String::from_utf8_lossy(&printed.ok()?)))
    }
}

impl History for Git {
    fn last_commits(&self, files: &[String]) -> Result<BTreeMap<String, Time>, String> {
        let wanted: BTreeSet<String> =
            files.iter().filter(|file| is_plain(file)).take(ASKED).cloned().collect();
        if wanted.is_empty() {
            return Ok(BTreeMap::new());
        }
        let mut words =
            plain_diff(&["log", "--name-only"], &["--relative", "--format=%x01%ct", "--"]);
        words.extend(wanted.iter().map(String::as_str));
        let files = wanted.clone();
        match self.with_timeout(&words, move |out| read_log(BufReader::new(out), &files))? {
            (found, Some(1..)) if found.is_empty() => Err("git finds no history here".to_owned()),
            (found, _) => Ok(found),
        }
    }

    fn previous_commit(&self) -> Option<Time> {
        self.committed_at("HEAD~1")
    }
}

pub(super) fn seconds(text: &str) -> Option<Time> {
    text.trim().parse::<i64>().ok().map(|seconds| Time::from_ms(seconds.saturating_mul(1000)))
}

/// Reads `git log`, newest first, until every file was seen once. With `-z` a commit is
/// `\x01<seconds>` NUL `\n<file>` NUL `<file>` NUL ….
pub(super) fn read_log(mut log: impl BufRead, wanted: &BTreeSet<String>) -> BTreeMap<String, Time> {
    let mut found = BTreeMap::new();
    let mut at = None;
    let mut token = Vec::new();
    while found.len() < wanted.len() && log.read_until(0, &mut token).is_ok_and(|read| read > 0) {
        let text = String::from_utf8_lossy(&token);
        let text = text.strip_suffix('\0').unwrap_or(&text);
        if let Some(time) = text.strip_prefix('\u{1}') {
            at = seconds(time);
        } else if let Some(at) = at {
            let file = text.strip_prefix('\n').unwrap_or(text);
            if wanted.contains(file) {
                found.entry(file.to_owned()).or_insert(at);
            }
        }
        token.clear();
    }
    found
}

fn read_commit(printed: &str) -> Option<CommitDetails> {
    let mut fields = printed.split('\0');
    let hash = fields.next()?.trim().to_owned();
    let parents = fields.next()?.split_whitespace().map(str::to_owned).collect();
    let at = seconds(fields.next()?)?;
    let subject = text::excerpt(fields.next()?, 200);
    let trailers = fields
        .next()?
        .lines()
        .map(|line| line.trim().to_owned())
        .filter(|line| !line.is_empty())
        .collect();
    let files = fields.map(|file| file.trim_start_matches('\n')).filter(|file| !file.is_empty());
    Some(CommitDetails {
        hash,
        parents,
        at,
        subject,
        trailers,
        files: files.take(FILES).map(str::to_owned).collect(),
    })
}

/// `\x01<seconds>`, then `R<similarity>`, the old name and the new one; newest first.
fn read_moves(printed: &str) -> Vec<Move> {
    let mut tokens = printed.split('\0').map(|token| token.trim_start_matches('\n'));
    let (mut at, mut moves) = (None, Vec::new());
    while let Some(token) = tokens.next() {
        if let Some(time) = token.strip_prefix('\u{1}') {
            at = seconds(time);
        } else if token.starts_with('R')
            && let (Some(at), Some(from), Some(to)) = (at, tokens.next(), tokens.next())
        {
            moves.push(Move { at, from: from.to_owned(), to: to.to_owned() });
        }
    }
    moves.reverse();
    moves
}
