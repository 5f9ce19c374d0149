//! What git knows of single commits, and of files that moved.

use std::io::Read;
use std::process::Stdio;
use std::sync::mpsc;

use twining_engine::{Changes, CommitSeen, Move};
use twining_model::{Time, text};

use super::{Git, PATIENCE};

/// The word before a decision's id in the last lines of a commit message.
const TRAILER: &str = "Twining-Decision";
/// Files of one commit that are looked at.
const FILES: usize = 2000;
/// How far back moved files are looked for the first time, versions of one file, and how
/// much git may say of moves.
const COMMITS: &str = "-n5000";
const VERSIONS: &str = "-n20";
const MOVES_BYTES: u64 = 16 * 1024 * 1024;

impl Git {
    /// A commit by any name git has for it.
    pub fn commit(&self, name: &str) -> Option<CommitSeen> {
        self.seen(&self.revision(name).ok()?)
    }

    /// The commit that was made last. One question less: a commit waits for the answer.
    pub fn last_commit(&self) -> Option<CommitSeen> {
        self.seen("HEAD")
    }

    fn seen(&self, name: &str) -> Option<CommitSeen> {
        let format = format!("--format=%H%x00%P%x00%ct%x00%s%x00%(trailers:key={TRAILER},valueonly,unfold,separator=%x0A)%x00");
        let common = ["log", "-1", "-z", "--name-only", "--no-renames", "--no-ext-diff", "--no-textconv", "--relative"];
        let printed = self.printed(&[&common[..], &[&format, name, "--"]].concat())?;
        read_commit(&String::from_utf8_lossy(&printed))
    }

    /// When a commit was made.
    pub fn committed_at(&self, name: &str) -> Option<Time> {
        let printed = self.printed(&["log", "-1", "--no-walk", "--format=%ct", "--end-of-options", name, "--"])?;
        seconds(&String::from_utf8_lossy(&printed))
    }

    /// The last versions of a file that were committed, the newest first; its path is
    /// from the working directory.
    pub fn versions(&self, path: &str) -> Vec<String> {
        let words = ["log", VERSIONS, "--format=%H", "--no-renames", "--no-ext-diff", "--no-textconv", "--", path];
        let commits = self.printed(&words).unwrap_or_default();
        let text = |commit: &str| self.printed(&["cat-file", "blob", &format!("{commit}:./{path}")]);
        let found = String::from_utf8_lossy(&commits).lines().filter_map(text).collect::<Vec<_>>();
        found.into_iter().filter_map(|bytes| String::from_utf8(bytes).ok()).collect()
    }

    /// The commit that is checked out.
    pub fn head(&self) -> Option<String> {
        self.hash(&["rev-parse", "--verify", "--quiet", "HEAD"])
    }

    /// Whether one commit is among those that led to another.
    pub fn is_before(&self, earlier: &str, later: &str) -> bool {
        self.printed(&["merge-base", "--is-ancestor", earlier, later]).is_some()
    }

    /// Files that moved on the way to HEAD, oldest first: since a commit, or as far
    /// back as is worth looking.
    pub fn moves(&self, since: Option<&str>) -> Option<Vec<Move>> {
        let range = since.map_or_else(|| "HEAD".to_owned(), |since| format!("{since}..HEAD"));
        let mut log = self.command();
        log.args(["log", "-z", "-M", "--diff-filter=R", "--name-status", "--relative", "--no-ext-diff", "--no-textconv"]);
        log.args(["--format=%x01%ct", COMMITS, "--end-of-options", &range, "--"]).stdout(Stdio::piped());
        let mut child = log.spawn().ok()?;
        let out = child.stdout.take()?;
        let (done, answer) = mpsc::sync_channel(1);
        let reader = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = out.take(MOVES_BYTES).read_to_end(&mut bytes);
            done.send(read.map(|_| bytes))
        });
        let printed = answer.recv_timeout(PATIENCE);
        // Ends git if it still walks the history; then its output ends, and so does the reader.
        let _ = child.kill();
        let _ = child.wait();
        let _ = reader.join();
        Some(read_moves(&String::from_utf8_lossy(&printed.ok()?.ok()?)))
    }
}

pub(super) fn seconds(text: &str) -> Option<Time> {
    text.trim().parse::<i64>().ok().map(|seconds| Time::from_ms(seconds.saturating_mul(1000)))
}

fn read_commit(printed: &str) -> Option<CommitSeen> {
    let mut fields = printed.split('\0');
    let hash = fields.next()?.trim().to_owned();
    let parents = fields.next()?.split_whitespace().map(str::to_owned).collect();
    let at = seconds(fields.next()?)?;
    let subject = text::excerpt(fields.next()?, 200);
    let trailers = fields.next()?.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect();
    let files = fields.map(|file| file.trim_start_matches('\n')).filter(|file| !file.is_empty());
    Some(CommitSeen { hash, parents, at, subject, trailers, files: files.take(FILES).map(str::to_owned).collect() })
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

#[cfg(test)]
mod tests {
    use super::super::tests::repository;
    use super::*;

    #[test]
    fn a_commit_tells_its_trailers_and_its_files() {
        let (dir, git) = repository();
        std::fs::write(dir.path().join("src/n\u{e9}w.rs"), "n").expect("writes");
        let message =
            "Do it\n\nBecause.\n\nTwining-Decision: 01M7EB3QY8\nTwining-Decision: 01M7EB3QY9BCK1T7V2TH9HG8T6\nSigned-off-by: x <y>\n";
        for step in [&["add", "."][..], &["commit", "-q", "-m", message]] {
            assert!(git.run_in_throwaway(step).expect("git runs"), "{step:?}");
        }
        let commit = git.commit("HEAD").expect("is there");
        assert_eq!(commit.subject, "Do it");
        assert_eq!(commit.trailers, ["01M7EB3QY8", "01M7EB3QY9BCK1T7V2TH9HG8T6"]);
        assert_eq!((commit.files, commit.parents.len()), (vec!["src/n\u{e9}w.rs".to_owned()], 1));
        assert_eq!(git.commit("HEAD~1").expect("is there").files.len(), 2, "the first commit has files too");
        assert!(git.commit("--all").is_none() && git.commit("feedbeef").is_none());
    }

    #[test]
    fn moves_are_told_oldest_first_and_only_the_new_ones() {
        let (dir, git) = repository();
        let text: String = (0..50).map(|n| format!("line {n}\n")).collect();
        std::fs::write(dir.path().join("a.rs"), text).expect("writes");
        let steps: [&[&str]; 6] = [
            &["add", "."],
            &["commit", "-q", "-m", "a"],
            &["mv", "a.rs", "b.rs"],
            &["commit", "-q", "-m", "b"],
            &["mv", "b.rs", "src/c.rs"],
            &["commit", "-q", "-m", "c"],
        ];
        for step in steps {
            assert!(git.run_in_throwaway(step).expect("git runs"), "{step:?}");
        }
        let names = |moves: Vec<Move>| moves.into_iter().map(|moved| (moved.from, moved.to)).collect::<Vec<_>>();
        let pair = |from: &str, to: &str| (from.to_owned(), to.to_owned());
        assert_eq!(names(git.moves(None).expect("looks")), [pair("a.rs", "b.rs"), pair("b.rs", "src/c.rs")]);
        let before = git.revision("HEAD~1").expect("is there");
        assert_eq!(names(git.moves(Some(&before)).expect("looks")), [pair("b.rs", "src/c.rs")]);
    }
}
