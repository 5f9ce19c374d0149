//! Many versions of files at once, and the commits that a new one is made from.

use std::io::Write;
use std::process::{Child, Stdio};

use super::{Git, index_of_commit};
use crate::locate::{self, FOLDER};

/// What git keeps while it joins, repeats or undoes a commit, and what stands in the
/// commit it makes from that.
const SIDES: [(&str, &str); 5] =
    [("MERGE_HEAD", ""), ("CHERRY_PICK_HEAD", ""), ("REBASE_HEAD", ""), ("REVERT_HEAD", "^"), ("SQUASH_MSG", "")];
/// Lines of such a file that are looked at.
const MOST_SIDES: usize = 64;
/// Bytes of one source, of one file of records, and of all that one question is answered with.
const MOST_SOURCE: usize = 1024 * 1024;
const MOST_RECORDS: usize = 64 * 1024 * 1024;
const MOST_BYTES: usize = 256 * 1024 * 1024;

impl Git {
    /// Texts by git's names for them (`HEAD:a`, and `:a` for what is staged), in order;
    /// none where there is none, or where it is too large to be a source.
    pub fn texts(&self, names: &[String]) -> Vec<Option<String>> {
        // What is no text imports nothing.
        self.blobs(names).into_iter().map(|bytes| bytes.and_then(|bytes| String::from_utf8(bytes).ok())).collect()
    }

    /// The same to the byte, whatever it is.
    pub fn blobs(&self, names: &[String]) -> Vec<Option<Vec<u8>>> {
        if names.is_empty() {
            return Vec::new();
        }
        self.blobs_that_fit(names).unwrap_or_else(|| vec![None; names.len()])
    }

    fn blobs_that_fit(&self, names: &[String]) -> Option<Vec<Option<Vec<u8>>>> {
        // Both start now: the second would else wait for the first to be there and gone.
        let sizes = Batch::start(self, "--batch-check=%(objecttype) %(objectsize)")?;
        let contents = Batch::start(self, "--batch=%(objectsize)")?;
        let sizes = sizes.answer(names)?;
        let mut left = MOST_BYTES;
        let is_read: Vec<bool> = String::from_utf8_lossy(&sizes)
            .lines()
            .zip(names)
            .map(|(line, name)| {
                let most = if name.contains(&format!("{FOLDER}/")) { MOST_RECORDS } else { MOST_SOURCE };
                let size = line.strip_prefix("blob ").and_then(|size| size.parse::<usize>().ok());
                let fits = size.is_some_and(|size| size <= most.min(left));
                left -= if fits { size.unwrap_or_default() } else { 0 };
                fits
            })
            .collect();
        let wanted: Vec<String> = names.iter().zip(&is_read).filter(|(_, is_read)| **is_read).map(|(name, _)| name.clone()).collect();
        let said = contents.answer(&wanted)?;
        let mut rest = said.as_slice();
        let mut next = || -> Option<Vec<u8>> {
            let end = rest.iter().position(|byte| *byte == b'\n')?;
            let size: usize = std::str::from_utf8(rest.get(..end)?).ok()?.parse().ok()?;
            let bytes = rest.get(end + 1..end + 1 + size)?;
            rest = rest.get(end + 2 + size..)?;
            Some(bytes.to_vec())
        };
        (is_read.len() == names.len()).then(|| is_read.into_iter().map(|is_read| if is_read { next() } else { None }).collect())
    }

    /// The commits whose content the next one is made from: what is checked out, and
    /// what is being merged, picked or brought back.
    pub fn sides(&self) -> Vec<String> {
        let mut sides = vec!["HEAD".to_owned()];
        let Some(own) = locate::git_dir(&self.checkout) else { return sides };
        for (file, before) in SIDES {
            let commits = std::fs::read_to_string(own.join(file)).unwrap_or_default();
            // A squash lists the commits it joins, newest first.
            let names = commits.lines().map(|line| line.strip_prefix("commit ").unwrap_or(line)).take(MOST_SIDES);
            let commits = names.filter(|line| line.len() >= 40 && line.bytes().all(|byte| byte.is_ascii_hexdigit()));
            sides.extend(commits.map(|commit| format!("{commit}{before}")));
        }
        sides
    }
}

/// A `git cat-file` that waits for names.
struct Batch(Child);

impl Batch {
    fn start(git: &Git, mode: &str) -> Option<Self> {
        let mut git = git.command();
        if let Some(index) = index_of_commit() {
            git.env("GIT_INDEX_FILE", index);
        }
        git.args(["cat-file", mode]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok().map(Self)
    }

    /// What git answers to many names, one a line; a name that is none stands for itself.
    fn answer(mut self, names: &[String]) -> Option<Vec<u8>> {
        let mut stdin = self.0.stdin.take()?;
        // A name over two lines would be two questions.
        let input: String = names.iter().map(|name| format!("{}\n", if name.contains('\n') { "-" } else { name })).collect();
        // On its own thread: git answers before it has read everything.
        let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
        let output = self.0.wait_with_output().ok()?;
        drop(writer.join());
        output.status.success().then_some(output.stdout)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::repository;

    #[test]
    fn texts_come_in_the_order_they_were_asked_for() {
        let (dir, git) = repository();
        std::fs::write(dir.path().join("src/new.rs"), "n\n").expect("writes");
        std::fs::write(dir.path().join("src/bytes"), b"\xff\xfe").expect("writes");
        assert!(git.run_in_throwaway(&["add", "."]).expect("git runs"));
        let names = ["HEAD:src/a b.rs", "HEAD:src/new.rs", ":src/new.rs", ":src/bytes", "HEAD:src", "two\nlines", "HEAD:src/[x].rs"];
        let texts = git.texts(&names.map(str::to_owned));
        let texts: Vec<Option<&str>> = texts.iter().map(Option::as_deref).collect();
        assert_eq!(texts, [Some("x"), None, Some("n\n"), None, None, None, Some("x")]);
        assert_eq!(git.sides(), ["HEAD"]);
    }
}
