//! The ledger: what Twining itself wrote into the protected files, record by
//! record, kept beside `local/`'s other secrets of this machine.
//!
//! Every line carries a keyed checksum, so that one added by another hand is no
//! line: whoever forges it must read the key first, on purpose. It is a witness,
//! never truth: without it everything is taken as it is found.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::known::Known;
use super::records::{Kind, squeezed};
use crate::disk::{Dir, Handle};
use crate::error::StoreError;
use crate::layout::{Layout, random_bits};
use crate::traces::{nook, nook_if_there};

const VOUCHED: &str = "vouched";
const KEY: &str = "key";
/// Bytes of a ledger that are read.
const MOST_BYTES: usize = 256 * 1024 * 1024;
/// A ledger of this size is written anew if most of it is past.
const LONG_BYTES: usize = 4 * 1024 * 1024;

/// The key of this machine and this folder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seal(u64);

impl Seal {
    /// The key, made if there is none.
    pub(crate) fn make(layout: &Layout) -> Result<Self, StoreError> {
        let nook = nook(layout)?;
        if let Some(seal) = Self::read(&nook)? {
            return Ok(seal);
        }
        let made = format!("{:016x}\n", random_bits()? & u128::from(u64::MAX));
        match nook.create_new(KEY)? {
            Some(handle) => handle.write(made.as_bytes())?,
            // Another process was quicker; a file with nothing in it is a killed one's.
            None if Self::read(&nook)?.is_none() => layout.replace(&nook, KEY, made.as_bytes(), false)?,
            None => {}
        }
        Self::read(&nook)?.ok_or_else(|| StoreError::Damaged { what: "the key of the ledger cannot be read".to_owned() })
    }

    /// The key, where there is one.
    pub(crate) fn if_there(layout: &Layout) -> Result<Option<Self>, StoreError> {
        nook_if_there(layout)?.map_or(Ok(None), |nook| Self::read(&nook))
    }

    fn read(nook: &Dir) -> Result<Option<Self>, StoreError> {
        let Some(handle) = nook.open(KEY)? else { return Ok(None) };
        let text = handle.read_all(64).unwrap_or_default();
        Ok(std::str::from_utf8(&text).ok().and_then(|text| u64::from_str_radix(text.trim(), 16).ok()).map(Self))
    }

    /// What a text is known by. Nobody gets it right without the key.
    pub(crate) fn of(self, text: &[u8]) -> u64 {
        xxh3_64_with_seed(text, self.0)
    }

    /// What a record is known by, however it is laid out.
    pub(crate) fn of_record(self, key: &str, content: &[u8]) -> u64 {
        let mut whole = Vec::with_capacity(key.len() + 1 + content.len());
        whole.extend_from_slice(key.as_bytes());
        whole.push(0);
        squeezed(content, &mut whole);
        self.of(&whole)
    }
}

/// Lines about to be added.
#[derive(Debug)]
pub(crate) struct Notes {
    seal: Seal,
    text: String,
}

impl Notes {
    pub(crate) fn new(seal: Seal) -> Self {
        Self { seal, text: String::new() }
    }

    /// Twining wrote this record.
    pub(crate) fn wrote(&mut self, key: &str, content: &[u8]) {
        let known = self.seal.of_record(key, content);
        self.line(&format!("+{known:016x} {key}"));
    }

    /// Twining is about to write this record. If it never comes, nothing is missing.
    pub(crate) fn means(&mut self, key: &str, content: &[u8]) {
        let known = self.seal.of_record(key, content);
        self.line(&format!("?{known:016x}"));
    }

    /// Twining is about to take this record away.
    pub(crate) fn leaves(&mut self, key: &str) {
        self.line(&format!("<{key}"));
    }

    /// Twining took this record away.
    pub(crate) fn took(&mut self, key: &str) {
        self.line(&format!("-{key}"));
    }

    /// That this record went is accepted.
    pub(crate) fn let_go(&mut self, key: &str) {
        self.line(&format!("~{key}"));
    }

    /// This record is accepted as it is.
    pub(crate) fn accepted(&mut self, key: &str, known: u64) {
        self.line(&format!("={known:016x} {key}"));
    }

    /// All is accepted as of this place in git's history.
    pub(crate) fn anchor(&mut self, anchor: &Anchor) {
        self.line(&format!("@{} {}", anchor.reflog, anchor.head));
    }

    /// What git knows that is nobody's deed here.
    pub(crate) fn known(&mut self, known: &Known) {
        if let Ok(known) = serde_json::to_string(known) {
            self.line(&format!("&{known}"));
        }
    }

    /// A file of records was as it should be.
    pub(crate) fn clean(&mut self, kind: Kind, clean: Clean) {
        self.line(&format!("%{}{:x} {:016x}", kind.sign(), clean.size, clean.hash));
    }

    /// A difference that was told often enough.
    pub(crate) fn told(&mut self, digest: u64) {
        self.line(&format!("!{digest:016x}"));
    }

    fn line(&mut self, said: &str) {
        // A key is text of somebody's record; a line is one line.
        let said = said.replace(['\n', '\r'], " ");
        let mac = self.seal.of(said.as_bytes());
        self.text.push_str(&format!("{said}\t{mac:016x}\n"));
    }
}

/// The open ledger.
pub(crate) struct Ledger {
    nook: Dir,
    handle: Handle,
    ino: u64,
    pub(crate) seal: Seal,
}

impl Ledger {
    /// Opens it, made if there is none.
    pub(crate) fn open(layout: &Layout) -> Result<Self, StoreError> {
        let seal = Seal::make(layout)?;
        let nook = nook(layout)?;
        let handle = nook.make_append(VOUCHED)?;
        let ino = handle.fingerprint()?.ino;
        Ok(Self { nook, handle, ino, seal })
    }

    /// Whether this is still the file of that name.
    pub(crate) fn is_current(&self) -> bool {
        matches!(self.nook.stat(VOUCHED), Ok(Some((_, print))) if print.ino == self.ino)
    }

    /// Adds lines. The caller holds the write lock.
    pub(crate) fn add(&self, notes: &Notes) -> Result<(), StoreError> {
        // After a newline: whoever was killed in the middle of a line must not take ours with it.
        if notes.text.is_empty() { Ok(()) } else { self.handle.write(format!("\n{}", notes.text).as_bytes()) }
    }

    /// All that it says.
    pub(crate) fn read(&self) -> Result<Said, StoreError> {
        Ok(Said::read(&self.bytes()?, self.seal))
    }

    /// The same, not yet read.
    pub(crate) fn bytes(&self) -> Result<Vec<u8>, StoreError> {
        self.handle.read_all(MOST_BYTES)
    }

    /// What it would be with nothing past in it, where most of it is.
    pub(crate) fn shortened(&self, said: &Said) -> Result<Option<String>, StoreError> {
        let long = usize::try_from(self.handle.fingerprint()?.size).unwrap_or(usize::MAX);
        if long < LONG_BYTES || said.lines < 3 * (said.current.len() + said.taken.len()) {
            return Ok(None);
        }
        let mut notes = Notes::new(self.seal);
        said.current.iter().for_each(|(key, known)| notes.line(&format!("+{known:016x} {key}")));
        said.taken.iter().filter(|key| !said.current.contains_key(*key)).for_each(|key| notes.took(key));
        said.told.iter().for_each(|digest| notes.told(*digest));
        if let Some(anchor) = &said.anchor {
            notes.anchor(anchor);
        }
        if let Some(known) = &said.known {
            notes.known(known);
        }
        Ok(Some(notes.text))
    }

    /// Writes it anew. The caller holds the write lock.
    pub(crate) fn replace(&self, layout: &Layout, text: &str) -> Result<(), StoreError> {
        layout.replace(&self.nook, VOUCHED, text.as_bytes(), false)
    }
}

/// Writes records, and notes it: before, so that whoever is killed in between did it
/// in Twining's name all the same, and after. The caller holds the write lock.
pub(crate) fn vouching(
    layout: &Layout,
    records: &[(String, &[u8])],
    write: impl FnOnce() -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let ledger = Ledger::open(layout)?;
    let (mut before, mut after) = (Notes::new(ledger.seal), Notes::new(ledger.seal));
    for (key, content) in records {
        before.means(key, content);
        after.wrote(key, content);
    }
    ledger.add(&before)?;
    write()?;
    ledger.add(&after)
}

/// Notes at once what was written. The caller holds the write lock.
pub(crate) fn vouch(layout: &Layout, note: impl FnOnce(&mut Notes)) -> Result<(), StoreError> {
    let ledger = Ledger::open(layout)?;
    let mut notes = Notes::new(ledger.seal);
    note(&mut notes);
    ledger.add(&notes)
}

/// A place in git's history.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Anchor {
    /// The commit that was checked out; empty where there was none.
    pub head: String,
    /// How long git's own record of such places was.
    pub reflog: u64,
}

/// A file that was as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clean {
    pub(crate) size: usize,
    pub(crate) hash: u64,
}

/// What the ledger says.
#[derive(Debug, Default)]
pub(crate) struct Said {
    /// What each record should be.
    pub(crate) current: HashMap<String, u64>,
    /// Everything that was ever vouched for or accepted, with its place in the order.
    pub(crate) ever: HashMap<u64, usize>,
    /// What Twining itself took away, at any time.
    pub(crate) taken: HashSet<String>,
    /// What Twining was about to take away when it was last heard of it.
    pub(crate) leaving: HashSet<String>,
    /// Since when everything is accepted that git brings; none before that.
    pub(crate) anchor: Option<Anchor>,
    /// What git knew when everything was last taken as it was.
    pub(crate) known: Option<Known>,
    /// Files as they were when they were last found right, and what was written since.
    pub(crate) clean: HashMap<Kind, (Clean, HashSet<String>)>,
    /// Differences told often enough.
    pub(crate) told: HashSet<u64>,
    lines: usize,
}

impl Said {
    pub(crate) fn read(bytes: &[u8], seal: Seal) -> Self {
        let mut said = Self::default();
        for line in bytes.split(|byte| *byte == b'\n') {
            let Some((line, mac)) = std::str::from_utf8(line).ok().and_then(|line| line.rsplit_once('\t')) else { continue };
            if u64::from_str_radix(mac, 16) == Ok(seal.of(line.as_bytes())) {
                said.lines += 1;
                said.heed(line);
            }
        }
        said
    }

    fn heed(&mut self, line: &str) -> Option<()> {
        let (sign, rest) = line.split_at_checked(1)?;
        let hex = |text: &str| u64::from_str_radix(text, 16).ok();
        match sign {
            "+" | "=" => {
                let (known, key) = rest.split_once(' ')?;
                let known = hex(known)?;
                let order = self.ever.len();
                self.ever.entry(known).or_insert(order);
                self.leaving.remove(key);
                self.current.insert(key.to_owned(), known);
                self.since(key);
            }
            "-" | "~" => {
                if sign == "-" {
                    self.taken.insert(rest.to_owned());
                }
                self.leaving.remove(rest);
                self.current.remove(rest);
                self.since(rest);
            }
            "?" => {
                let order = self.ever.len();
                self.ever.entry(hex(rest)?).or_insert(order);
            }
            "<" => drop(self.leaving.insert(rest.to_owned())),
            "@" => {
                let (reflog, head) = rest.split_once(' ')?;
                self.anchor = Some(Anchor { head: head.to_owned(), reflog: reflog.parse().ok()? });
            }
            "%" => {
                let kind = Kind::of(rest)?;
                let (size, hash) = rest.get(1..)?.split_once(' ')?;
                let clean = Clean { size: usize::from_str_radix(size, 16).ok()?, hash: hex(hash)? };
                self.clean.insert(kind, (clean, HashSet::new()));
            }
            "&" => self.known = serde_json::from_str(rest).ok(),
            "!" => drop(self.told.insert(hex(rest)?)),
            _ => {}
        }
        Some(())
    }

    fn since(&mut self, key: &str) {
        if let Some((_, since)) = Kind::of(key).and_then(|kind| self.clean.get_mut(&kind)) {
            since.insert(key.to_owned());
        }
    }
}
