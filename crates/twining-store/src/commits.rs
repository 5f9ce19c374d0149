//! Asking git whether a record is safe in its history.
//!
//! When git has rewritten the work tree and a recent record is missing, it is
//! either on another branch, where it belongs, or lost between two of git's own
//! steps. Only git can tell. This runs the `git` program, which is slow and rare:
//! never for a write that finds the tree as it left it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::Write;
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::{Command, Stdio};

use memchr::memchr;
use twining_model::Id;

use crate::layout::FOLDER;
use crate::merge::{Joining, Versions, has_markers, is_marker};

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

/// Which of these texts stand in a commit where HEAD lately was, in the newest of a
/// branch, or in the stash: in the shared files, or in the file of one of these
/// decisions. If git cannot be asked, none: bringing a record back twice is better
/// than losing it.
pub fn holding(project: &Path, texts: &HashSet<String>, decisions: &BTreeSet<Id>) -> HashSet<String> {
    if texts.is_empty() {
        return HashSet::new();
    }
    let mut commits = Vec::new();
    // Files that git did not know when it stashed them are in a third parent.
    for stashed in ["refs/stash", "refs/stash^3"] {
        commits.extend(lines(project, &["rev-parse", "--verify", "--quiet", stashed]));
    }
    commits.extend(lines(project, &["log", "-g", "-n", POSITIONS, "--format=%H", "HEAD", "--"]));
    commits.extend(lines(project, &["for-each-ref", "--sort=-committerdate", BRANCHES, "--format=%(objectname)", "refs/heads"]));
    let mut seen = HashSet::new();
    commits.retain(|commit| seen.insert(commit.clone()));

    let (mut held, mut read, mut bytes) = (HashSet::new(), BTreeSet::new(), 0);
    for some in commits.chunks(AT_ONCE) {
        let (found, size) = found(project, some, texts, decisions, &mut read).unwrap_or_default();
        held.extend(found);
        bytes += size;
        if held.len() == texts.len() || bytes > ENOUGH {
            break;
        }
    }
    held
}

/// Versions of a file that were merged into what stands in it now.
pub struct MergedVersions {
    base: Vec<u8>,
    versions: Vec<Vec<u8>>,
}

/// Commits that are followed back to where nobody had left a conflict yet.
const FOLLOWED: usize = 256;

/// The last versions without a conflict, on every branch that was merged into what is
/// checked out. A rebased or picked commit is no parent; git names it in the marker.
pub fn merged_versions(project: &Path, file: &str, text: &[u8]) -> Option<MergedVersions> {
    let named = text.split(|&byte| byte == b'\n').filter_map(|line| line.strip_prefix(b">>>>>>> "));
    let named = named.filter_map(|name| std::str::from_utf8(name).ok()?.split_whitespace().next());
    let is_hash = |name: &&str| (7..=64).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut next: Vec<String> = named.filter(is_hash).map(str::to_owned).collect();
    next.extend(["HEAD", "MERGE_HEAD"].map(str::to_owned));
    let (mut seen, mut clean, mut versions) = (HashSet::new(), Vec::new(), Vec::new());
    while !next.is_empty() && seen.len() < FOLLOWED {
        next.retain(|commit| seen.insert(commit.clone()));
        let names: String = next.iter().map(|commit| format!("{commit}:./{file}\n")).collect();
        let contents = contents(&fed(project, &["cat-file", "--batch"], names)?)?;
        let mut parents = Vec::new();
        for (commit, content) in next.iter().zip(contents) {
            match content {
                Some(content) if has_markers(&content) => {
                    parents.extend(lines(project, &["rev-parse", "--verify", "--quiet", &format!("{commit}^@")]));
                }
                Some(content) if !versions.contains(&content) => {
                    clean.push(commit.clone());
                    versions.push(content);
                }
                _ => {}
            }
        }
        next = parents;
    }
    let mut ask: Vec<&str> = vec!["merge-base", "--octopus"];
    ask.extend(clean.iter().map(String::as_str));
    let from = lines(project, &ask).pop();
    let base = from.and_then(|from| contents(&fed(project, &["cat-file", "--batch"], format!("{from}:./{file}\n"))?)?.pop()?);
    Some(MergedVersions { base: base.unwrap_or_default(), versions })
}

impl MergedVersions {
    /// All of them as one, if they hold every line that stands in the text now: one
    /// that they lack was written since, and would be lost.
    pub fn joined(self, text: &[u8], joining: &Joining) -> Option<Vec<u8>> {
        let bare = |line: &[u8]| line.trim_ascii().strip_suffix(b",").unwrap_or(line.trim_ascii()).to_vec();
        let known: HashSet<Vec<u8>> = self.versions.iter().flat_map(|version| version.split(|&byte| byte == b'\n')).map(bare).collect();
        let mut in_base = false;
        for line in text.split(|&byte| byte == b'\n') {
            if is_marker(line) {
                in_base = line.starts_with(b"|") || (in_base && !line.starts_with(b"======= ") && line.trim_ascii_end() != b"=======");
            } else if !in_base && !known.contains(&bare(line)) {
                return None;
            }
        }
        let mut versions = self.versions.into_iter();
        let first = versions.next().filter(|first| (joining.is_whole)(first))?;
        let base = if (joining.is_whole)(&self.base) { self.base } else { Vec::new() };
        versions.try_fold(first, |ours, theirs| {
            if !(joining.is_whole)(&theirs) {
                return None;
            }
            (joining.join)(&Versions { base: &base, ours: &ours, theirs: &theirs })
        })
    }
}

/// The contents of objects, each once, in one process; those that are not here are left out.
pub(crate) fn objects<'o>(project: &Path, objects: impl Iterator<Item = &'o str>) -> HashMap<String, Vec<u8>> {
    let wanted: BTreeSet<&str> = objects.collect();
    if wanted.is_empty() {
        return HashMap::new();
    }
    let names: String = wanted.iter().map(|object| format!("{object}\n")).collect();
    let read = || contents(&fed(project, &["cat-file", "--batch", "--buffer"], names)?);
    let found = read().unwrap_or_default();
    wanted.into_iter().zip(found).filter_map(|(object, content)| Some((object.to_owned(), content?))).collect()
}

/// What `cat-file --batch` says: a content for each name, or none.
fn contents(bytes: &[u8]) -> Option<Vec<Option<Vec<u8>>>> {
    let (mut contents, mut rest) = (Vec::new(), bytes);
    while let Some(end) = memchr(b'\n', rest) {
        let head = std::str::from_utf8(&rest[..end]).ok()?;
        let size = head.rsplit(' ').next().and_then(|size| size.parse::<usize>().ok());
        let Some(size) = size.filter(|_| !head.ends_with(" missing")) else {
            contents.push(None);
            rest = &rest[end + 1..];
            continue;
        };
        contents.push(Some(rest.get(end + 1..end + 1 + size)?.to_vec()));
        rest = rest.get(end + 2 + size..).unwrap_or_default();
    }
    Some(contents)
}

/// Those that stand in these commits, and how many bytes were read for it.
fn found(
    project: &Path,
    commits: &[String],
    texts: &HashSet<String>,
    decisions: &BTreeSet<Id>,
    read: &mut BTreeSet<String>,
) -> Option<(HashSet<String>, usize)> {
    let mut names = String::new();
    for commit in commits {
        let own = decisions.iter().map(|id| format!("decisions/{id}.json"));
        for file in SHARED.iter().map(|&file| file.to_owned()).chain(own) {
            names.push_str(&format!("{commit}:./{FOLDER}/{file}\n"));
        }
    }
    // Neighbouring commits share most of their files: each content is read once.
    let known = fed(project, &["cat-file", "--batch-check=%(objectname) %(objecttype)"], names)?;
    let contents = std::str::from_utf8(&known).ok()?.lines().filter_map(|line| line.strip_suffix(" blob"));
    let wanted: String = contents.filter(|object| read.insert((*object).to_owned())).map(|object| format!("{object}\n")).collect();
    if wanted.is_empty() {
        return None;
    }
    let bytes = fed(project, &["cat-file", "--batch"], wanted)?;

    let mut found = HashSet::new();
    let mut rest = bytes.as_slice();
    // `object type size`, then so many bytes and a newline.
    while let Some(end) = memchr(b'\n', rest) {
        let size: usize = std::str::from_utf8(&rest[..end]).ok()?.rsplit(' ').next()?.parse().ok()?;
        strike(rest.get(end + 1..end + 1 + size)?, texts, &mut found);
        rest = rest.get(end + 2 + size..).unwrap_or_default();
    }
    Some((found, bytes.len()))
}

/// Notes which of the texts stand in a file: as an element on a line of its own,
/// or as a record's own id or the moment of a change. An id that another record
/// only mentions proves nothing: a stash may hold the announcement of a decision
/// and have been taken before the decision's file was there.
fn strike(content: &[u8], texts: &HashSet<String>, found: &mut HashSet<String>) {
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

/// What git says to this input.
pub(crate) fn fed(project: &Path, args: &[&str], input: String) -> Option<Vec<u8>> {
    let mut child = git(project).args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
    let mut stdin = child.stdin.take()?;
    // On its own thread: git answers before it has read everything.
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().ok()?;
    drop(writer.join());
    output.status.success().then_some(output.stdout)
}

pub(crate) fn lines(project: &Path, args: &[&str]) -> Vec<String> {
    let output = git(project).args(args).output();
    output.map_or_else(|_| Vec::new(), |output| String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

/// git, with everything turned off by which a repository could make it run something.
fn git(project: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .arg("-C")
        .arg(project)
        .args([
            "-c",
            "core.fsmonitor=false",
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "log.showSignature=false",
            "-c",
            "core.pager=cat",
            "-c",
            "core.commitGraph=false",
        ])
        // What stands in for a commit in this clone alone is no history.
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        .env("GIT_GRAFT_FILE", "/dev/null")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    command
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
            strike(content.as_bytes(), &texts, &mut found);
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
