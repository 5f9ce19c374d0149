//! What the files of a checkout define, read when asked for and kept by content.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use twining_code::{Language, blob_id, read_source};

use super::checkout_files::CheckoutFiles;
use super::database::{AssumedLines, CodeDatabase, MovedTo, SweepProgress};
use super::outline::SourceOutline;
use crate::disk::Fingerprint;
use crate::error::StoreError;
use crate::git::Git;
use crate::store::Store;

/// A file that was written so shortly before it was read may be written once more without a later
/// date.
const RACY_NS: i64 = 2_000_000_000;

/// The code of one checkout.
pub struct CodeIndex {
    store: Arc<Store>,
    tree: CheckoutFiles,
    database: Mutex<Option<CodeDatabase>>,
    is_tidied: AtomicBool,
    was_made: AtomicBool,
}

/// Which state of the code is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodeVersion {
    /// The working tree.
    Checkout,
    /// What is staged.
    Staged,
    /// A commit, by its hash.
    Commit(String),
}

/// A version of a file, and what it defines.
#[derive(Clone, Debug)]
pub struct IndexedSource {
    /// Git's name for its bytes.
    pub blob: String,
    /// Its definitions.
    pub file: Arc<SourceOutline>,
}

/// A version of a file that git has.
#[derive(Clone, Debug)]
pub struct FileVersion {
    /// What it defines.
    pub source: IndexedSource,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// What is at a path of the checkout.
#[derive(Clone, Debug)]
pub enum SourceLookup {
    /// A file, read.
    Found(IndexedSource),
    /// No file that git lists.
    Missing,
    /// A file that was not read: there was no time.
    Unread,
}

impl SourceLookup {
    /// The file, if it was read.
    #[must_use]
    pub fn found(self) -> Option<IndexedSource> {
        match self {
            Self::Found(source) => Some(source),
            Self::Missing | Self::Unread => None,
        }
    }
}

impl CodeIndex {
    /// The code of this checkout of the store's project. Nothing is opened or read yet.
    #[must_use]
    pub fn new(store: Arc<Store>, checkout: &Path, git: Git) -> Self {
        Self {
            store,
            tree: CheckoutFiles::new(checkout, git),
            database: Mutex::new(None),
            is_tidied: AtomicBool::new(false),
            was_made: AtomicBool::new(false),
        }
    }

    /// Whether this process made the database, and so nothing that moved was looked for yet; said
    /// once.
    pub fn is_new(&self) -> Result<bool, StoreError> {
        self.with_database(|_| Ok(()))?;
        Ok(self.was_made.swap(false, Ordering::Relaxed))
    }

    /// The checkout's folder.
    #[must_use]
    pub fn checkout(&self) -> &Path {
        self.tree.folder()
    }

    /// What git knows of the checkout.
    #[must_use]
    pub fn git(&self) -> &Git {
        self.tree.git()
    }

    /// What is at a path now. Reading stops at `until`; what is known by then is answered.
    pub fn source(&self, path: &str, until: Option<Instant>) -> Result<SourceLookup, StoreError> {
        self.look_up(path, until, |path| self.is_listed(path))
    }

    /// The same for a path that git just named: it is not asked again.
    pub(super) fn listed_source(&self, path: &str) -> Result<SourceLookup, StoreError> {
        self.look_up(path, None, |_| true)
    }

    fn look_up(
        &self,
        path: &str,
        until: Option<Instant>,
        is_listed: impl Fn(&str) -> bool,
    ) -> Result<SourceLookup, StoreError> {
        let Some(fingerprint) = self.tree.fingerprint(path)? else {
            return Ok(SourceLookup::Missing);
        };
        let known = self.with_database(|database| database.file(path))?;
        let language = Language::of_path(path);
        if let Some((seen, Some(blob))) = &known
            && *seen == fingerprint
            && let Some(file) = self.known_source(blob, language)?
        {
            return Ok(SourceLookup::Found(IndexedSource { blob: blob.clone(), file }));
        }
        if known.is_none() && !is_listed(path) {
            return Ok(SourceLookup::Missing);
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            return Ok(SourceLookup::Unread);
        }
        let Some((fingerprint, bytes)) = self.tree.read(path)? else {
            return Ok(SourceLookup::Missing);
        };
        self.take_in(path, fingerprint, &bytes).map(SourceLookup::Found)
    }

    /// Whether there is a file at a path, whatever git says of it.
    #[must_use]
    pub fn has_file(&self, path: &str) -> bool {
        self.tree.fingerprint(path).is_ok_and(|found| found.is_some())
    }

    /// The bytes at a path now, if git lists it.
    pub fn text(&self, path: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let is_known = self.with_database(|database| database.file(path))?.is_some();
        if !is_known && !self.is_listed(path) {
            return Ok(None);
        }
        Ok(self.tree.read(path)?.map(|(_, bytes)| bytes))
    }

    /// What a version in git defines, by git's name for its bytes. None where git has it not.
    pub fn source_of_blob(
        &self,
        path: &str,
        blob: &str,
    ) -> Result<Option<IndexedSource>, StoreError> {
        if let Some(known) = self.known_blob(path, blob)? {
            return Ok(Some(known));
        }
        let Some(bytes) = self.git().blobs(&[blob.to_owned()]).pop().flatten() else {
            return Ok(None);
        };
        Ok(Some(self.read_and_keep(path, &bytes)?))
    }

    /// The same, if it was read before.
    pub(super) fn known_blob(
        &self,
        path: &str,
        blob: &str,
    ) -> Result<Option<IndexedSource>, StoreError> {
        let file = self.known_source(blob, Language::of_path(path))?;
        Ok(file.map(|file| IndexedSource { blob: blob.to_owned(), file }))
    }

    /// Files as a commit has them, or the staging area (`revision` empty), each with what it defines.
    pub fn versions(
        &self,
        revision: &str,
        paths: &[String],
    ) -> Result<Vec<Option<FileVersion>>, StoreError> {
        let names: Vec<String> = paths.iter().map(|path| format!("{revision}:./{path}")).collect();
        let version = |(path, bytes): (&String, Option<Vec<u8>>)| {
            bytes.map(|bytes| self.version(path, bytes)).transpose()
        };
        paths.iter().zip(self.git().blobs(&names)).map(version).collect()
    }

    /// What a search for an anchor's definition found at this HEAD, if one was made.
    pub fn moved(&self, anchor: &str, head: &str) -> Result<Option<MovedTo>, StoreError> {
        self.with_database(|database| database.moved(anchor, head))
    }

    /// What the last search for an anchor's definition found, and at which HEAD.
    pub fn last_moved(&self, anchor: &str) -> Result<Option<(String, MovedTo)>, StoreError> {
        self.with_database(|database| database.last_moved(anchor))
    }

    /// The anchors whose definitions searches found in a file, at any HEAD.
    pub fn moved_into(&self, path: &str) -> Result<Vec<String>, StoreError> {
        self.with_database(|database| database.moved_into(path))
    }

    /// How far all that is not at its place was looked for at this HEAD, if it was begun.
    pub fn sweep(&self, head: &str) -> Result<Option<SweepProgress>, StoreError> {
        self.with_database(|database| database.sweep(head))
    }

    /// Keeps how far that is.
    pub fn set_sweep(&self, head: &str, progress: &SweepProgress) -> Result<(), StoreError> {
        self.keep(|database| database.set_sweep(head, progress))
    }

    /// Whether a search for an anchor's definition at this HEAD took all the time there is for one.
    pub fn has_timed_out(&self, anchor: &str, head: &str) -> Result<bool, StoreError> {
        self.with_database(|database| database.has_timed_out(anchor, head))
    }

    /// Says that it did.
    pub fn set_timed_out(&self, anchor: &str, head: &str) -> Result<(), StoreError> {
        self.keep(|database| database.set_timed_out(anchor, head))
    }

    /// Keeps what a search found.
    pub fn set_moved(&self, anchor: &str, head: &str, moved: &MovedTo) -> Result<(), StoreError> {
        let now = self.now_ns() / 1_000_000;
        self.keep(|database| database.set_moved(anchor, head, moved, now))
    }

    /// Which files of the working tree are not as HEAD has them, and in which state; another word
    /// for another state.
    #[must_use]
    pub fn uncommitted_state(&self) -> String {
        let state = |path: &String| {
            let fingerprint = self.tree.fingerprint(path).ok().flatten();
            format!("{path}\0{fingerprint:?}\0")
        };
        let states: String = self.git().uncommitted().iter().map(state).collect();
        hex(&blob_id(states.as_bytes()))
    }

    /// The anchors that a record was given which has none of its own, if they were looked up by
    /// what it says now.
    pub fn assumed(&self, record: &str, inputs: &str) -> Result<Option<AssumedLines>, StoreError> {
        self.with_database(|database| database.assumed(record, inputs))
    }

    /// Keeps them.
    pub fn set_assumed(
        &self,
        record: &str,
        inputs: &str,
        assumed: &AssumedLines,
    ) -> Result<(), StoreError> {
        self.keep(|database| database.set_assumed(record, inputs, assumed))
    }

    /// Forgets what was not asked for in a long time, once in the life of this index.
    pub fn forget_unused(&self) -> Result<(), StoreError> {
        if self.is_tidied.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let now = self.now_ns() / 1_000_000;
        self.keep(|database| database.together(|database| database.forget_unused(now)))
    }

    /// What a version of a file defines that was read elsewhere.
    pub fn version(&self, path: &str, bytes: Vec<u8>) -> Result<FileVersion, StoreError> {
        Ok(FileVersion { source: self.read_and_keep(path, &bytes)?, bytes })
    }

    /// The last commit checked out here that a record, or a line about its code, is known to belong
    /// to.
    pub fn belongs_to(&self, record: &str) -> Result<Option<String>, StoreError> {
        self.with_database(|database| database.belongs_to(record))
    }

    /// Keeps that records, or lines about their code, belong to the commit that is checked out here.
    pub fn set_belongs(&self, records: &[String], head: &str) -> Result<(), StoreError> {
        self.keep(|database| database.together(|database| database.set_belongs(records, head)))
    }

    /// Reads a file's bytes, and keeps what was found under its path and its content.
    fn take_in(
        &self,
        path: &str,
        fingerprint: Fingerprint,
        bytes: &[u8],
    ) -> Result<IndexedSource, StoreError> {
        let source = self.read_and_keep(path, bytes)?;
        let fingerprint = self.settled(fingerprint);
        self.keep(|database| database.set_file(path, fingerprint, Some(&source.blob)))?;
        Ok(source)
    }

    /// The state to remember: none that would match if the file may change within its date.
    fn settled(&self, fingerprint: Fingerprint) -> Fingerprint {
        let is_settled = self.now_ns() - fingerprint.mtime_ns > RACY_NS;
        if is_settled { fingerprint } else { Fingerprint::default() }
    }

    pub(super) fn read_and_keep(
        &self,
        path: &str,
        bytes: &[u8],
    ) -> Result<IndexedSource, StoreError> {
        let blob = hex(&blob_id(bytes));
        if let Some(file) = self.known_source(&blob, Language::of_path(path))? {
            return Ok(IndexedSource { blob, file });
        }
        let file = Arc::new(SourceOutline::from(read_source(path, bytes)));
        let now = self.now_ns() / 1_000_000;
        self.keep(|database| database.together(|database| database.add_source(&blob, &file, now)))?;
        Ok(IndexedSource { blob, file })
    }

    fn known_source(
        &self,
        blob: &str,
        language: Option<Language>,
    ) -> Result<Option<Arc<SourceOutline>>, StoreError> {
        let now = self.now_ns() / 1_000_000;
        let known = self.with_database(|database| database.source(blob, language, now))?;
        Ok(known.map(Arc::new))
    }

    /// Whether git lists a file: tracked, or new and not ignored.
    fn is_listed(&self, path: &str) -> bool {
        !self.git().listed_of(&[path.to_owned()]).is_empty()
    }

    fn now_ns(&self) -> i64 {
        self.store.ids().now().as_ms().saturating_mul(1_000_000)
    }

    /// Asks the database. One that fails is made anew; it holds nothing that could be lost.
    fn with_database<T>(
        &self,
        ask: impl Fn(&CodeDatabase) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut open = self.database.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(database) = &*open
            && let Ok(answer) = ask(database)
        {
            return Ok(answer);
        }
        let database = self.open_database()?;
        self.was_made.fetch_or(database.is_new, Ordering::Relaxed);
        let answer = ask(&database);
        *open = Some(database);
        answer
    }

    /// Writes to the database. Another process may be writing: then it is for the next call.
    fn keep(
        &self,
        write: impl Fn(&CodeDatabase) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        match self.with_database(write) {
            Err(StoreError::Index(_)) => Ok(()),
            kept => kept,
        }
    }

    fn open_database(&self) -> Result<CodeDatabase, StoreError> {
        let folder = self.tree.name();
        match self.store.open_for_reading()? {
            Some(store) => CodeDatabase::open(&store.layout.local, &folder),
            None => CodeDatabase::in_memory(&folder),
        }
    }
}

impl std::fmt::Debug for CodeIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CodeIndex").field("tree", &self.tree).finish_non_exhaustive()
    }
}

/// How long one answer may wait for files to be read.
pub const READING_TIME: Duration = Duration::from_millis(25);

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
