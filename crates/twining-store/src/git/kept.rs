//! Whether a record is safe in git's history.
//!
//! When git has rewritten the work tree and a recent record is missing, it is
//! either on another branch, where it belongs, or lost between two of git's own
//! steps. Only git can tell. This is slow and rare: never for a write that finds
//! the tree as it left it.

use std::collections::{BTreeSet, HashSet};
use std::ops::RangeInclusive;

use twining_model::Id;

use super::Git;
use crate::disk::layout::FOLDER;

/// How far back the positions of HEAD are looked at: a script may switch between
/// many branches in the seconds for which a record counts as recent.
const POSITIONS: &str = "256";
/// Branches whose newest commit is looked at, wherever HEAD was.
const BRANCHES: &str = "--count=64";
/// Commits of which the files are read at once; the newest nearly always suffice.
const AT_ONCE: usize = 8;
/// Bytes after which no older commit is asked: a writer waits for this. What stands
/// in one all the same is brought back twice, which loses nothing.
const ENOUGH: usize = 64 * 1024 * 1024;
/// The files in which a record may stand, beside a decision's own.
const SHARED: [&str; 4] = ["blackboard.jsonl", "traces.jsonl", "graph/entities.json", "graph/relations.json"];

/// Fields whose value tells a record or one of its changes from all others.
const OWN: [&[u8]; 3] = [b"id", b"at", b"linked_at"];
/// How long an id or a time is, in its longest and its shortest spelling.
const QUOTED: RangeInclusive<usize> = 20..=36;

impl Git {
    /// Which of these texts stand in a commit where HEAD lately was, in the newest of a
    /// branch, or in the stash: in the shared files, or in the file of one of these
    /// decisions. If git cannot be asked, none: bringing a record back twice is better
    /// than losing it.
    pub(crate) fn texts_in_history(&self, texts: &HashSet<String>, decisions: &BTreeSet<Id>) -> HashSet<String> {
        if texts.is_empty() {
            return HashSet::new();
        }
        let mut commits = Vec::new();
        // Files that git did not know when it stashed them are in a third parent.
        for stashed in ["refs/stash", "refs/stash^3"] {
            commits.extend(self.lines(&["rev-parse", "--verify", "--quiet", stashed]));
        }
        commits.extend(self.lines(&["log", "-g", "-n", POSITIONS, "--format=%H", "HEAD", "--"]));
        commits.extend(self.lines(&["for-each-ref", "--sort=-committerdate", BRANCHES, "--format=%(objectname)", "refs/heads"]));
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

    /// The files of these commits in which a record may stand, but those read before:
    /// neighbouring commits share most of theirs.
    fn files_of(&self, commits: &[String], decisions: &BTreeSet<Id>, read: &mut BTreeSet<String>) -> Vec<Vec<u8>> {
        let own = decisions.iter().map(|id| format!("decisions/{id}.json"));
        let files: Vec<String> = SHARED.iter().map(|&file| file.to_owned()).chain(own).collect();
        let names = commits.iter().flat_map(|commit| files.iter().map(move |file| format!("{commit}:./{FOLDER}/{file}")));
        let mut objects = self.object_names(&names.collect::<Vec<_>>());
        objects.retain(|line| line.ends_with(" blob") && read.insert(line.clone()));
        let objects: Vec<String> = objects.iter().map(|line| line.trim_end_matches(" blob").to_owned()).collect();
        self.contents(&objects).into_iter().flatten().collect()
    }
}

/// Notes which of the texts stand in a file: as an element on a line of its own,
/// or as a record's own id or the moment of a change. An id that another record
/// only mentions proves nothing: a stash may hold the announcement of a decision
/// and have been taken before the decision's file was there.
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
    use super::*;

    #[test]
    fn a_record_is_known_by_its_id_between_quotes_or_as_an_element_on_its_line() {
        let id = "01M7F3Z5HMV6WQRJ4CTYTTT0QC";
        let element = format!("{{\"id\":\"{id}\",\"name\":\"a, b\"}}");
        let texts: HashSet<String> = [id, &element, "01M7F3Z5HMV6WQRJ4CTYTTT0QD"].map(str::to_owned).into();
        let found = |content: &str| {
            let mut found = HashSet::new();
            note_found_texts(content.as_bytes(), &texts, &mut found);
            found.len()
        };
        assert_eq!(found(&format!("[\n{element}\n]\n")), 2);
        assert_eq!(found(&format!("[\n{{}}\n,{element}\r\n]")), 2);
        assert_eq!(found(&format!("{{\"id\": \"{id}\"}}")), 1);
        assert_eq!(found(&format!("{id} without quotes, and x{element}")), 1);
        assert_eq!(found(&format!("{{\"id\":\"01M7F3Z5HMV6WQRJ4CTYTTT0QE\",\"relates_to\":[\"{id}\"]}}")), 0, "mentioned is not held");
        assert_eq!(found("\u{0}\n\"\"\"\n"), 0);
    }
}
