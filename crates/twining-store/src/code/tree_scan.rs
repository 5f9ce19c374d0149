//! Reading all of a checkout: what changed since the last time, on several threads.

use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Instant;

use twining_code::{Language, blob_id, read_source};

use super::code_index::{CodeIndex, hex};
use super::outline::SourceOutline;
use crate::disk::Fingerprint;
use crate::error::StoreError;

/// Files of a project that are read.
const MAX_FILES: usize = 200_000;
/// Files whose definitions are written at once.
const BATCH: usize = 200;

/// How much of a checkout is in the index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanProgress {
    /// Files with a grammar that git lists.
    pub files: usize,
    /// Those that are not read yet.
    pub behind: usize,
    /// Those that were read now.
    pub read: usize,
}

impl ScanProgress {
    /// Whether every file was read.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.behind == 0
    }

    /// How much is read, in percent.
    #[must_use]
    pub fn percent(&self) -> usize {
        (self.files - self.behind) * 100 / self.files.max(1)
    }
}

/// A file that was read.
struct ScannedFile {
    path: String,
    fingerprint: Fingerprint,
    blob: String,
    source: Option<SourceOutline>,
}

impl CodeIndex {
    /// Reads every source file of the checkout that changed, until `until`.
    pub fn scan(&self, until: Option<Instant>, threads: usize) -> Result<ScanProgress, StoreError> {
        let mut paths = self.git().listed();
        paths.retain(|path| Language::of_path(path).is_some());
        paths.truncate(MAX_FILES);
        let listed: HashSet<&str> = paths.iter().map(String::as_str).collect();
        let known: BTreeSet<String> =
            self.with_database(super::database::CodeDatabase::paths)?.into_iter().collect();
        let gone: Vec<&String> = known
            .iter()
            .filter(|path| Language::of_path(path).is_some() && !listed.contains(path.as_str()))
            .collect();
        if !gone.is_empty() {
            self.keep(|database| {
                database.together(|database| {
                    gone.iter().try_for_each(|path| database.remove_file(path))
                })
            })?;
        }
        let mut changed = Vec::new();
        for path in &paths {
            let Some(fingerprint) = self.tree.fingerprint(path)? else { continue };
            let seen = self.with_database(|database| database.file(path))?;
            if seen.is_none_or(|(seen, blob)| seen != fingerprint || blob.is_none()) {
                changed.push(path.clone());
            }
        }
        let read = self.read_files(&changed, until, threads)?;
        if read > 0 {
            let now = self.now_ns() / 1_000_000;
            self.keep(|database| database.forget_unused(now))?;
        }
        Ok(ScanProgress { files: paths.len(), behind: changed.len() - read, read })
    }

    /// Reads these files and writes down what they define; how many were read in time.
    fn read_files(
        &self,
        paths: &[String],
        until: Option<Instant>,
        threads: usize,
    ) -> Result<usize, StoreError> {
        let next = AtomicUsize::new(0);
        let (send, receive) = mpsc::sync_channel::<ScannedFile>(BATCH);
        std::thread::scope(|scope| {
            for _ in 0..threads.max(1) {
                let (send, next) = (send.clone(), &next);
                scope.spawn(move || {
                    while until.is_none_or(|until| Instant::now() < until) {
                        let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) else {
                            return;
                        };
                        if let Some(file) = self.scan_file(path)
                            && send.send(file).is_err()
                        {
                            return;
                        }
                    }
                });
            }
            drop(send);
            let (mut batch, mut read) = (Vec::with_capacity(BATCH), 0);
            for file in receive {
                batch.push(file);
                read += 1;
                if batch.len() == BATCH {
                    self.write_batch(&batch)?;
                    batch.clear();
                }
            }
            self.write_batch(&batch)?;
            Ok(read)
        })
    }

    fn scan_file(&self, path: &str) -> Option<ScannedFile> {
        let (fingerprint, bytes) = self.tree.read(path).ok().flatten()?;
        let blob = hex(&blob_id(&bytes));
        let now = self.now_ns() / 1_000_000;
        let is_known = self
            .with_database(|database| database.has_source(&blob, Language::of_path(path), now))
            .unwrap_or(false);
        let source = (!is_known).then(|| SourceOutline::from(read_source(path, &bytes)));
        let fingerprint = self.settled(fingerprint);
        Some(ScannedFile { path: path.to_owned(), fingerprint, blob, source })
    }

    fn write_batch(&self, batch: &[ScannedFile]) -> Result<(), StoreError> {
        let now = self.now_ns() / 1_000_000;
        self.keep(|database| {
            database.together(|database| {
                for file in batch {
                    if let Some(source) = &file.source {
                        database.add_source(&file.blob, source, now)?;
                    }
                    database.set_file(&file.path, file.fingerprint, Some(&file.blob))?;
                }
                Ok(())
            })
        })
    }
}
