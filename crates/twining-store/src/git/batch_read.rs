//! Many versions of files at once.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::Write;
use std::ops::RangeInclusive;
use std::process::{Child, Stdio};

use memchr::memchr;
use twining_model::Id;

use super::repository::Git;
use crate::disk::layout::FOLDER;

/// Bytes of one source, of one file of records, and of all that one question is answered with.
pub(super) const MAX_SOURCE_BYTES: usize = 1024 * 1024;
const MAX_RECORD_FILE_BYTES: usize = 64 * 1024 * 1024;
const MAX_BYTES: usize = 256 * 1024 * 1024;

impl Git {
    /// Contents by git's names for them (`HEAD:a`, and `:a` for what is staged), in order;
    /// none where there is none, or where it is too large to be a source.
    #[must_use]
    pub fn blobs(&self, names: &[String]) -> Vec<Option<Vec<u8>>> {
        if names.is_empty() {
            return Vec::new();
        }
        self.blobs_that_fit(names).unwrap_or_else(|| vec![None; names.len()])
    }

    fn blobs_that_fit(&self, names: &[String]) -> Option<Vec<Option<Vec<u8>>>> {
        // Both start now: the second would else wait for the first to be there and gone.
        let sizes =
            CatFileBatch::start(self, &["cat-file", "--batch-check=%(objecttype) %(objectsize)"])?;
        let contents = CatFileBatch::start(self, &["cat-file", "--batch"])?;
        let sizes = sizes.answer(names)?;
        let mut bytes_left = MAX_BYTES;
        let fits: Vec<bool> = String::from_utf8_lossy(&sizes)
            .lines()
            .zip(names)
            .map(|(line, name)| {
                let max_bytes = if name.contains(&format!("{FOLDER}/")) {
                    MAX_RECORD_FILE_BYTES
                } else {
                    MAX_SOURCE_BYTES
                };
                let size = line.strip_prefix("blob ").and_then(|size| size.parse::<usize>().ok());
                let fits = size.is_some_and(|size| size <= max_bytes.min(bytes_left));
                bytes_left -= if fits { size.unwrap_or_default() } else { 0 };
                fits
            })
            .collect();
        let wanted: Vec<String> = names
            .iter()
            .zip(&fits)
            .filter(|(_, fits)| **fits)
            .map(|(name, _)| name.clone())
            .collect();
        let mut found = split_contents(&contents.answer(&wanted)?).into_iter();
        (fits.len() == names.len())
            .then(|| fits.into_iter().map(|fits| if fits { found.next()? } else { None }).collect())
    }

    /// Contents by git's names for them, in order, however large; fewer where git fails.
    pub(super) fn contents(&self, names: &[String]) -> Vec<Option<Vec<u8>>> {
        let answer =
            || CatFileBatch::start(self, &["cat-file", "--batch", "--buffer"])?.answer(names);
        if names.is_empty() {
            Vec::new()
        } else {
            answer().map(|bytes| split_contents(&bytes)).unwrap_or_default()
        }
    }

    /// The names and types of objects by other names for them.
    pub(super) fn object_names(&self, names: &[String]) -> Vec<String> {
        let answer = || {
            CatFileBatch::start(self, &["cat-file", "--batch-check=%(objectname) %(objecttype)"])?
                .answer(names)
        };
        String::from_utf8_lossy(&answer().unwrap_or_default()).lines().map(str::to_owned).collect()
    }

    /// The contents of objects, each once, in one process; those that are not here are left out.
    pub(crate) fn objects<'o>(
        &self,
        objects: impl Iterator<Item = &'o str>,
    ) -> HashMap<String, Vec<u8>> {
        let wanted: Vec<String> =
            objects.collect::<BTreeSet<_>>().into_iter().map(str::to_owned).collect();
        let found = self.contents(&wanted);
        wanted
            .into_iter()
            .zip(found)
            .filter_map(|(object, content)| Some((object, content?)))
            .collect()
    }
}

/// A `git cat-file` that waits for names.
struct CatFileBatch(Child);

impl CatFileBatch {
    fn start(git: &Git, words: &[&str]) -> Option<Self> {
        git.index_command()
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .ok()
            .map(Self)
    }

    /// Returns git's answer to many names, one per line; an invalid name is echoed.
    fn answer(mut self, names: &[String]) -> Option<Vec<u8>> {
        let mut stdin = self.0.stdin.take()?;
        // A name over two lines would be two questions.
        let input: String = names
            .iter()
            .map(|name| format!("{}\n", if name.contains('\n') { "-" } else { name }))
            .collect();
        // On its own thread: git answers before it has read everything.
        let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
        let output = self.0.wait_with_output().ok()?;
        drop(writer.join());
        output.status.success().then_some(output.stdout)
    }
}

/// What `cat-file --batch` says: `object type size` and so many bytes for each name, or
/// that there is none.
fn split_contents(bytes: &[u8]) -> Vec<Option<Vec<u8>>> {
    let (mut contents, mut rest) = (Vec::new(), bytes);
    while let Some(end) = memchr(b'\n', rest) {
        let head = String::from_utf8_lossy(&rest[..end]);
        let size = head.rsplit(' ').next().and_then(|size| size.parse::<usize>().ok());
        let content = size.and_then(|size| rest.get(end + 1..end + 1 + size));
        rest = rest
            .get(end + 1 + content.map_or(0, |content| content.len() + 1)..)
            .unwrap_or_default();
        contents.push(content.map(<[u8]>::to_vec));
    }
    contents
}

/// How far back the positions of HEAD are looked at: a script may switch between
/// many branches in the seconds for which a record counts as recent.
const POSITIONS: &str = "256";
/// Branches whose newest commit is looked at, wherever HEAD was.
const BRANCHES: &str = "--count=64";
/// Commits of which the files are read at once; the newest nearly always suffice.
const AT_ONCE: usize = 8;
/// Bytes after which older commits are not read: a writer waits for this. A record in one of them
/// is restored twice, which loses nothing.
const ENOUGH: usize = 64 * 1024 * 1024;
/// The files that may contain a record, besides a decision's own.
const SHARED: [&str; 5] = [
    "blackboard.jsonl",
    "traces.jsonl",
    "anchors.jsonl",
    "graph/entities.json",
    "graph/relations.json",
];

/// Fields whose value uniquely identifies a record or one of its changes.
const OWN: [&[u8]; 3] = [b"id", b"at", b"linked_at"];
/// How long an id or a time is, in its longest and its shortest spelling.
const QUOTED: RangeInclusive<usize> = 20..=36;

impl Git {
    /// Returns which of these texts occur in a commit HEAD recently pointed to, at a branch tip, or
    /// in the stash: in the shared files, or in the file of one of these decisions. Returns none if
    /// git fails: restoring a record twice is better than losing it.
    pub(crate) fn texts_in_history(
        &self,
        texts: &HashSet<String>,
        decisions: &BTreeSet<Id>,
    ) -> HashSet<String> {
        if texts.is_empty() {
            return HashSet::new();
        }
        let mut commits = Vec::new();
        // Files that git did not know when it stashed them are in a third parent.
        for stashed in ["refs/stash", "refs/stash^3"] {
            commits.extend(self.lines(&["rev-parse", "--verify", "--quiet", stashed]));
        }
        commits.extend(self.lines(&["log", "-g", "-n", POSITIONS, "--format=%H", "HEAD", "--"]));
        commits.extend(self.lines(&[
            "for-each-ref",
            "--sort=-committerdate",
            BRANCHES,
            "--format=%(objectname)",
            "refs/heads",
        ]));
        let mut seen = HashSet::new();
        commits.retain(|commit| seen.insert(commit.clone()));

        let (mut found_texts, mut read, mut bytes) = (HashSet::new(), BTreeSet::new(), 0);
        for some in commits.chunks(AT_ONCE) {
            for content in self.files_of(some, decisions, &mut read) {
                note_found_texts(&content, texts, &mut found_texts);
                bytes += content.len();
            }
            if found_texts.len() == texts.len() || bytes > ENOUGH {
                break;
            }
        }
        found_texts
    }

    /// Returns the files of these commits that may contain a record, except those already read:
    /// neighbouring commits share most of theirs.
    fn files_of(
        &self,
        commits: &[String],
        decisions: &BTreeSet<Id>,
        read: &mut BTreeSet<String>,
    ) -> Vec<Vec<u8>> {
        let own = decisions.iter().map(|id| format!("decisions/{id}.json"));
        let files: Vec<String> = SHARED.iter().map(|&file| file.to_owned()).chain(own).collect();
        let names = commits
            .iter()
            .flat_map(|commit| files.iter().map(move |file| format!("{commit}:./{FOLDER}/{file}")));
        let mut objects = self.object_names(&names.collect::<Vec<_>>());
        objects.retain(|line| line.ends_with(" blob") && read.insert(line.clone()));
        let objects: Vec<String> =
            objects.iter().map(|line| line.trim_end_matches(" blob").to_owned()).collect();
        self.contents(&objects).into_iter().flatten().collect()
    }
}

/// Notes which of the texts a file contains: as an element on its own line, or as a record's own id
/// or the time of a change. An id that another record only mentions proves nothing: a stash may
/// contain the announcement of a decision and predate the decision's file.
fn note_found_texts(content: &[u8], texts: &HashSet<String>, found: &mut HashSet<String>) {
    let mut look_up = |bytes: &[u8]| {
        if let Some(text) = std::str::from_utf8(bytes).ok().and_then(|text| texts.get(text)) {
            found.insert(text.clone());
        }
    };
    for line in content.split(|&byte| byte == b'\n') {
        let element = line.trim_ascii();
        look_up(element.strip_prefix(b",").unwrap_or(element).trim_ascii());
        let (mut name, mut between): (&[u8], &[u8]) = (b"", b"");
        for part in line.split(|&byte| byte == b'"') {
            if between.trim_ascii() == b":" && OWN.contains(&name) && QUOTED.contains(&part.len()) {
                look_up(part);
            }
            (name, between) = (between, part);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::git::batch_read::*;

    #[test]
    fn a_record_is_known_by_its_id_between_quotes_or_as_an_element_on_its_line() {
        let id = "01M7F3Z5HMV6WQRJ4CTYTTT0QC";
        let element = format!("{{\"id\":\"{id}\",\"name\":\"a, b\"}}");
        let texts: HashSet<String> =
            [id, &element, "01M7F3Z5HMV6WQRJ4CTYTTT0QD"].map(str::to_owned).into();
        let found = |content: &str| {
            let mut found = HashSet::new();
            note_found_texts(content.as_bytes(), &texts, &mut found);
            found.len()
        };
        assert_eq!(found(&format!("[\n{element}\n]\n")), 2);
        assert_eq!(found(&format!("[\n{{}}\n,{element}\r\n]")), 2);
        assert_eq!(found(&format!("{{\"id\": \"{id}\"}}")), 1);
        assert_eq!(found(&format!("{id} without quotes, and x{element}")), 1);
        assert_eq!(
            found(&format!("{{\"id\":\"01M7F3Z5HMV6WQRJ4CTYTTT0QE\",\"relates_to\":[\"{id}\"]}}")),
            0,
            "mentioned is not held"
        );
        assert_eq!(found("\u{0}\n\"\"\"\n"), 0);
    }
}
