//! Many versions of files at once.

use std::collections::{BTreeSet, HashMap};
use std::io::Write;
use std::process::{Child, Stdio};

use memchr::memchr;

use super::Git;
use crate::disk::layout::FOLDER;

/// Bytes of one source, of one file of records, and of all that one question is answered with.
const MAX_SOURCE_BYTES: usize = 1024 * 1024;
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
        let sizes = CatFileBatch::start(self, &["cat-file", "--batch-check=%(objecttype) %(objectsize)"])?;
        let contents = CatFileBatch::start(self, &["cat-file", "--batch"])?;
        let sizes = sizes.answer(names)?;
        let mut bytes_left = MAX_BYTES;
        let fits: Vec<bool> = String::from_utf8_lossy(&sizes)
            .lines()
            .zip(names)
            .map(|(line, name)| {
                let max_bytes = if name.contains(&format!("{FOLDER}/")) { MAX_RECORD_FILE_BYTES } else { MAX_SOURCE_BYTES };
                let size = line.strip_prefix("blob ").and_then(|size| size.parse::<usize>().ok());
                let fits = size.is_some_and(|size| size <= max_bytes.min(bytes_left));
                bytes_left -= if fits { size.unwrap_or_default() } else { 0 };
                fits
            })
            .collect();
        let wanted: Vec<String> = names.iter().zip(&fits).filter(|(_, fits)| **fits).map(|(name, _)| name.clone()).collect();
        let mut found = split_contents(&contents.answer(&wanted)?).into_iter();
        (fits.len() == names.len()).then(|| fits.into_iter().map(|fits| if fits { found.next()? } else { None }).collect())
    }

    /// Contents by git's names for them, in order, however large; fewer where git fails.
    pub(super) fn contents(&self, names: &[String]) -> Vec<Option<Vec<u8>>> {
        let answer = || CatFileBatch::start(self, &["cat-file", "--batch", "--buffer"])?.answer(names);
        if names.is_empty() { Vec::new() } else { answer().map(|bytes| split_contents(&bytes)).unwrap_or_default() }
    }

    /// The names and types of objects by other names for them.
    pub(super) fn object_names(&self, names: &[String]) -> Vec<String> {
        let answer = || CatFileBatch::start(self, &["cat-file", "--batch-check=%(objectname) %(objecttype)"])?.answer(names);
        String::from_utf8_lossy(&answer().unwrap_or_default()).lines().map(str::to_owned).collect()
    }

    /// The contents of objects, each once, in one process; those that are not here are left out.
    pub(crate) fn objects<'o>(&self, objects: impl Iterator<Item = &'o str>) -> HashMap<String, Vec<u8>> {
        let wanted: Vec<String> = objects.collect::<BTreeSet<_>>().into_iter().map(str::to_owned).collect();
        let found = self.contents(&wanted);
        wanted.into_iter().zip(found).filter_map(|(object, content)| Some((object, content?))).collect()
    }
}

/// A `git cat-file` that waits for names.
struct CatFileBatch(Child);

impl CatFileBatch {
    fn start(git: &Git, words: &[&str]) -> Option<Self> {
        git.index_command().args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok().map(Self)
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

/// What `cat-file --batch` says: `object type size` and so many bytes for each name, or
/// that there is none.
fn split_contents(bytes: &[u8]) -> Vec<Option<Vec<u8>>> {
    let (mut contents, mut rest) = (Vec::new(), bytes);
    while let Some(end) = memchr(b'\n', rest) {
        let head = String::from_utf8_lossy(&rest[..end]);
        let size = head.rsplit(' ').next().and_then(|size| size.parse::<usize>().ok());
        let content = size.and_then(|size| rest.get(end + 1..end + 1 + size));
        rest = rest.get(end + 1 + content.map_or(0, |content| content.len() + 1)..).unwrap_or_default();
        contents.push(content.map(<[u8]>::to_vec));
    }
    contents
}
