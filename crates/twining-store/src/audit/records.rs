//! The records of the protected files, each by a key and by what it says.

use std::collections::HashMap;

use memchr::{memchr, memchr2, memrchr};

use super::ledger::Seal;
use crate::array;
use crate::disk::Dir;
use crate::error::StoreError;
use crate::layout::{AGENTS, BOARD, CLAIMS, DECISION_INDEX, DECISIONS, HANDOFFS, LOCAL, Layout, TRACES, TURNS};
use crate::merge::is_marker;
use crate::tail;
use twining_model::limits;

/// Bytes of one file of records.
pub(crate) const MOST_BYTES: usize = 1024 * 1024 * 1024;

/// Where a record stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    /// A line of the board.
    Board,
    /// A line of the traces.
    Traces,
    /// An element of `graph/entities.json`.
    Entities,
    /// An element of `graph/relations.json`.
    Relations,
    /// A file of its own.
    File,
}

/// Files that hold many records.
pub(crate) const SHARED: [Kind; 4] = [Kind::Board, Kind::Traces, Kind::Entities, Kind::Relations];

impl Kind {
    pub(crate) fn sign(self) -> char {
        match self {
            Self::Board => 'b',
            Self::Traces => 't',
            Self::Entities => 'e',
            Self::Relations => 'r',
            Self::File => 'f',
        }
    }

    /// The kind a key begins with.
    pub(crate) fn of(key: &str) -> Option<Self> {
        let sign = key.chars().next()?;
        SHARED.into_iter().chain([Self::File]).find(|kind| kind.sign() == sign)
    }

    /// The kind of record that a file of the folder holds; none where nobody compares it.
    pub(crate) fn in_file(path: &str) -> Option<Self> {
        if let Some(kind) = SHARED.into_iter().find(|kind| kind.file() == Some(path)) {
            return Some(kind);
        }
        let (folder, name) = path.split_once('/')?;
        let is_record = name.ends_with(".json") && [DECISIONS, HANDOFFS, TURNS, AGENTS].contains(&folder);
        (is_record && !(folder == DECISIONS && name == DECISION_INDEX)).then_some(Self::File)
    }

    /// The file, inside the folder, if it is one for all.
    pub(crate) fn file(self) -> Option<&'static str> {
        match self {
            Self::Board => Some(BOARD),
            Self::Traces => Some(TRACES),
            Self::Entities => Some("graph/entities.json"),
            Self::Relations => Some("graph/relations.json"),
            Self::File => None,
        }
    }

    pub(crate) fn key(self, id: &str) -> String {
        format!("{}{id}", self.sign())
    }
}

/// The file a key stands for, inside the folder, and the record's id if it is one of many.
pub(crate) fn place_of(key: &str) -> (String, Option<String>) {
    let rest = key.get(1..).unwrap_or_default();
    match Kind::of(key).and_then(Kind::file) {
        Some(file) => (file.to_owned(), Some(rest.to_owned())),
        None => (rest.to_owned(), None),
    }
}

/// The bytes of a file of many records; nothing where it is not there, or a link, a
/// folder or a pipe stands in its place: then every record in it is gone.
pub(crate) fn bytes_of(kind: Kind, layout: &Layout) -> Result<Vec<u8>, StoreError> {
    let (dir, name) = match kind {
        Kind::Board => (&layout.top, BOARD),
        Kind::Traces => (&layout.top, TRACES),
        Kind::Entities => (&layout.graph, "entities.json"),
        Kind::Relations => (&layout.graph, "relations.json"),
        Kind::File => return Ok(Vec::new()),
    };
    match dir.open(name) {
        Ok(Some(handle)) => handle.read_all(MOST_BYTES),
        Ok(None) | Err(StoreError::Unsafe { .. }) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Every record in these bytes.
pub(crate) fn records_in(kind: Kind, bytes: &[u8], seal: Seal) -> HashMap<String, u64> {
    let mut found = HashMap::new();
    let mut add = |id: Option<String>, content: &[u8]| {
        let key = match id {
            // An id that stands there twice with other words is two records.
            Some(id) => kind.key(&id),
            None => kind.key(&format!("~{:016x}", seal.of(content))),
        };
        let known = seal.of_record(&key, content);
        match found.get(&key) {
            Some(other) if *other != known => drop(found.insert(format!("{key}#{known:016x}"), known)),
            Some(_) => {}
            None => drop(found.insert(key, known)),
        }
    };
    match kind {
        Kind::Board | Kind::Traces => {
            for line in whole(bytes).split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii) {
                if !line.is_empty() && !is_marker(line) {
                    add(tail::id_of(line).or_else(|| std::str::from_utf8(line).ok().and_then(array::id_of)), line);
                }
            }
        }
        Kind::Entities | Kind::Relations if bytes.trim_ascii().is_empty() => {}
        Kind::Entities | Kind::Relations => {
            let scanned = array::scan(bytes);
            for (_, element) in &scanned.elements {
                add(array::id_of(element), element.as_bytes());
            }
            if !scanned.unreadable.is_empty() {
                add(None, bytes);
            }
        }
        Kind::File => {}
    }
    found
}

/// Without an end that is torn: whoever was killed in the middle of a line wrote no
/// record, and the next writer mends it.
fn whole(bytes: &[u8]) -> &[u8] {
    let end = memrchr(b'\n', bytes).map_or(0, |at| at + 1);
    let is_torn = serde_json::from_slice::<serde::de::IgnoredAny>(&bytes[end..]).is_err();
    if is_torn { &bytes[..end] } else { bytes }
}

/// Every record that is a file of its own.
pub(crate) fn files_now(layout: &Layout, seal: Seal) -> Result<HashMap<String, u64>, StoreError> {
    let mut found = HashMap::new();
    let mut take = |dir: &Dir, folder: &str, name: &str| -> Result<(), StoreError> {
        let path = format!("{folder}/{name}");
        // A link where a record should be is as much a change as other words are.
        let bytes = match dir.open(name) {
            Ok(Some(handle)) => handle.read_all(4 * limits::RECORD_BYTES).unwrap_or_default(),
            Ok(None) => return Ok(()),
            Err(StoreError::Unsafe { what, .. }) => what.as_bytes().to_vec(),
            Err(error) => return Err(error),
        };
        let key = Kind::File.key(&path);
        found.insert(key.clone(), seal.of_record(&key, &bytes));
        Ok(())
    };
    for folder in [DECISIONS, HANDOFFS, AGENTS] {
        let Some(dir) = layout.top.open_dir(folder)? else { continue };
        for name in dir.list()? {
            if Kind::in_file(&format!("{folder}/{name}")).is_some() {
                take(&dir, folder, &name)?;
            }
        }
    }
    if let Some(turns) = layout.top.open_dir(TURNS)? {
        for feature in plain_names(&turns)? {
            let Ok(Some(tasks)) = turns.open_dir(&feature) else { continue };
            for task in plain_names(&tasks)? {
                let Ok(Some(dir)) = tasks.open_dir(&task) else { continue };
                for name in dir.list()?.iter().filter(|name| name.ends_with(".json")) {
                    take(&dir, &format!("{TURNS}/{feature}/{task}"), name)?;
                }
            }
        }
    }
    take(&layout.local, LOCAL, CLAIMS)?;
    Ok(found)
}

fn plain_names(dir: &Dir) -> Result<Vec<String>, StoreError> {
    let mut names = dir.list()?;
    names.retain(|name| !name.starts_with('.'));
    Ok(names)
}

/// Adds JSON without the space between its parts: a formatter changes no record.
pub(crate) fn squeezed(json: &[u8], out: &mut Vec<u8>) {
    let mut rest = json;
    while !rest.is_empty() {
        let Some(quote) = memchr(b'"', rest) else {
            out.extend(rest.iter().filter(|byte| !byte.is_ascii_whitespace()));
            return;
        };
        out.extend(rest[..quote].iter().filter(|byte| !byte.is_ascii_whitespace()));
        let inside = &rest[quote..];
        let mut end = 1;
        while let Some(at) = inside.get(end..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
            let is_quote = inside[end + at] == b'"';
            end += at + if is_quote { 1 } else { 2 };
            if is_quote {
                break;
            }
        }
        // A text that never ends is a text to its end.
        let end = if inside.get(end.wrapping_sub(1)) == Some(&b'"') && end > 1 { end } else { inside.len() };
        out.extend_from_slice(&inside[..end]);
        rest = &inside[end..];
    }
}
