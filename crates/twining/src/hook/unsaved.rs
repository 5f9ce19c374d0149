//! Records that only the working tree has: what a command loses that throws away
//! whatever git does not hold. Git's index says it, and is read without starting
//! git, for a tool waits.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use twining_engine::guards::Loses;

use crate::locate::FOLDER;

/// Largest index that is read; in a larger one nobody looks in time.
const MOST_BYTES: u64 = 64 * 1024 * 1024;
/// Files of the folder that are looked at.
const MOST_FILES: usize = 20_000;
/// Folders of records, and files of many.
const RECORDS: [&str; 4] = ["decisions", "handoffs", "turns", "agents"];
const SHARED: [&str; 5] = ["blackboard.jsonl", "traces.jsonl", "features.json", "policy.yml", "knowledge.dot"];
/// Made anew from the others at any time.
const DERIVED: [&str; 2] = ["decisions/index.json", "agents/registry.json"];

/// When a file was written and how long it is, as git's index says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    seconds: u32,
    nanoseconds: u32,
    size: u32,
}

/// A record of the memory in `project` that would be lost, from the project's root.
pub fn first(project: &Path, git: &Path, loses: Loses) -> Option<String> {
    let top = git.parent()?;
    let prefix = project.strip_prefix(top).ok()?.join(FOLDER).display().to_string();
    let index = fs::symlink_metadata(git.join("index")).ok().filter(|found| found.len() <= MOST_BYTES);
    let known = match index {
        Some(_) => in_index(&fs::read(git.join("index")).ok()?, &format!("{prefix}/"))?,
        None => BTreeMap::new(),
    };
    let memory = project.join(FOLDER);
    let lost = match loses {
        Loses::Untracked if known.is_empty() && is_ignored(top, git) => None,
        Loses::Untracked => records(&memory).into_iter().find(|file| !known.contains_key(file)),
        Loses::Modified => {
            known.iter().find(|(file, stat)| is_record(file) && is_changed(&memory.join(file), **stat)).map(|(file, _)| file.clone())
        }
    };
    lost.map(|file| format!("{FOLDER}/{file}"))
}

fn is_changed(path: &Path, stat: Stat) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| stat_of(&found).is_some_and(|now| now != stat))
}

#[cfg(unix)]
fn stat_of(found: &Metadata) -> Option<Stat> {
    use std::os::unix::fs::MetadataExt;
    // As git has it: what does not fit is cut off.
    let low = |number: i64| u32::try_from(number & 0xffff_ffff).ok();
    Some(Stat {
        seconds: low(found.mtime())?,
        nanoseconds: low(found.mtime_nsec())?,
        size: u32::try_from(found.size() & 0xffff_ffff).ok()?,
    })
}

#[cfg(not(unix))]
fn stat_of(_: &Metadata) -> Option<Stat> {
    None
}

fn is_record(file: &str) -> bool {
    let in_folder = file.split_once('/').is_some_and(|(folder, _)| RECORDS.contains(&folder));
    (in_folder || SHARED.contains(&file)) && !DERIVED.contains(&file)
}

/// The records that are there, from the folder.
fn records(memory: &Path) -> Vec<String> {
    let mut found: Vec<String> = SHARED.iter().filter(|file| memory.join(file).is_file()).map(|file| (*file).to_owned()).collect();
    let mut folders: Vec<(PathBuf, String)> = RECORDS.iter().map(|folder| (memory.join(folder), (*folder).to_owned())).collect();
    while let Some((path, name)) = folders.pop().filter(|_| found.len() < MOST_FILES) {
        for entry in fs::read_dir(path).into_iter().flatten().filter_map(Result::ok).take(MOST_FILES) {
            let inside = format!("{name}/{}", entry.file_name().to_string_lossy());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push((entry.path(), inside)),
                Ok(_) if inside.ends_with(".json") && is_record(&inside) => found.push(inside),
                _ => {}
            }
        }
    }
    found
}

/// Whether git is told to overlook the whole folder.
fn is_ignored(top: &Path, git: &Path) -> bool {
    let told = [git.join("info/exclude"), top.join(".gitignore")];
    told.iter().filter_map(|file| fs::read_to_string(file).ok()).any(|text| {
        let names = |line: &str| line.trim().trim_end_matches('/').rsplit('/').next() == Some(FOLDER);
        text.lines().any(|line| !line.starts_with(['#', '!']) && names(line))
    })
}

/// The files below a folder that an index of version 2, 3 or 4 holds, from there.
fn in_index(bytes: &[u8], prefix: &str) -> Option<BTreeMap<String, Stat>> {
    let number = |at: usize| Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let version = (bytes.get(..4)? == b"DIRC").then(|| number(4)).flatten().filter(|version| matches!(version, 2..=4))?;
    let (mut at, mut found) = (12, BTreeMap::new());
    let mut whole: Vec<u8> = Vec::new();
    for _ in 0..number(8)? {
        let flags = u16::from_be_bytes(bytes.get(at + 60..at + 62)?.try_into().ok()?);
        let mut name = at + if version >= 3 && flags & 0x4000 != 0 { 64 } else { 62 };
        if version == 4 {
            // Of the name before, so much is left out at the end; the rest is the same.
            let (dropped, from) = offset(bytes, name)?;
            whole.truncate(whole.len().checked_sub(dropped)?);
            name = from;
        } else {
            whole.clear();
        }
        let length = bytes.get(name..)?.iter().position(|byte| *byte == 0)?;
        whole.extend_from_slice(&bytes[name..name + length]);
        let path = whole.as_slice();
        if let Some(file) = path.strip_prefix(prefix.as_bytes()).and_then(|file| std::str::from_utf8(file).ok()) {
            found.insert(file.to_owned(), Stat { seconds: number(at + 8)?, nanoseconds: number(at + 12)?, size: number(at + 36)? });
        }
        // Padded with one to eight zeros, where names are not cut short.
        at = if version == 4 { name + length + 1 } else { at + ((name + length - at + 8) & !7) };
    }
    Some(found)
}

/// A number as git packs it, and where it ends: seven bits a byte, the highest first, and
/// each byte that is not the last counts one more.
fn offset(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut number = usize::from(bytes.get(at)? & 0x7f);
    while bytes.get(at)? & 0x80 != 0 {
        at += 1;
        number = number.checked_add(1)?.checked_mul(0x80)?.checked_add(usize::from(bytes.get(at)? & 0x7f))?;
    }
    Some((number, at + 1))
}
