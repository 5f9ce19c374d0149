//! Which words stand in the sources of a project, found in one pass over them.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use twining_store::disk;

/// Bytes of a file that is looked into; larger ones are data.
const MAX_SOURCE_BYTES: usize = 1024 * 1024;
/// Threads that read.
const READERS: usize = 4;

/// Words that were found, and whether every file was looked into.
#[derive(Clone, Debug, Default)]
pub(super) struct FoundWords {
    /// Those of the wanted ones that stand somewhere.
    pub present: HashSet<String>,
    /// Whether the absence of a word means something.
    pub is_complete: bool,
}

/// Looks for words in files of the working tree, until all are found or time is up.
pub(super) fn find_words(
    root: &Path,
    files: &[&str],
    wanted: &HashSet<String>,
    is_time_up: &(dyn Fn() -> bool + Sync),
) -> FoundWords {
    if wanted.is_empty() {
        return FoundWords { is_complete: true, ..FoundWords::default() };
    }
    let (next, is_stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
    let read = || {
        let mut present: HashSet<String> = HashSet::new();
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            if is_time_up() {
                is_stopped.store(true, Ordering::Relaxed);
            }
            if present.len() == wanted.len() || is_stopped.load(Ordering::Relaxed) {
                break;
            }
            if let Ok(Some(bytes)) = disk::read_inside(root, file, MAX_SOURCE_BYTES) {
                note_words(&bytes, wanted, &mut present);
            }
        }
        present
    };
    let readers = std::thread::available_parallelism().map_or(1, |cores| cores.get() / 2);
    let present = std::thread::scope(|scope| {
        let started: Vec<_> = (0..readers.clamp(1, READERS)).map(|_| scope.spawn(read)).collect();
        started.into_iter().filter_map(|reader| reader.join().ok()).flatten().collect()
    });
    FoundWords { present, is_complete: !is_stopped.into_inner() }
}

fn note_words(bytes: &[u8], wanted: &HashSet<String>, present: &mut HashSet<String>) {
    // A file with a zero is no text.
    if memchr::memchr(0, &bytes[..bytes.len().min(8000)]).is_some() {
        return;
    }
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    for word in bytes.split(|byte| !is_word(byte)).filter(|word| word.len() >= 4) {
        if let Some(word) = std::str::from_utf8(word).ok().and_then(|word| wanted.get(word))
            && !present.contains(word)
        {
            present.insert(word.clone());
        }
    }
}
