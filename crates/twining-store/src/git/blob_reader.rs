//! Versions of files one after the other, where each depends on the one before.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use super::batch_read::MAX_SOURCE_BYTES;
use super::repository::Git;

/// Contents by git's names for them, from one git that stays until this is dropped.
#[derive(Debug)]
pub struct BlobReader {
    git: Git,
    started: Option<StartedReader>,
}

/// A `git cat-file` that waits for the next name.
#[derive(Debug)]
struct StartedReader {
    child: Child,
    names: Option<ChildStdin>,
    contents: BufReader<ChildStdout>,
}

impl BlobReader {
    /// A reader for this repository. Git is started with the first question.
    #[must_use]
    pub fn new(git: &Git) -> Self {
        Self { git: git.clone(), started: None }
    }

    /// The content of a blob; none where there is none, or where it is too large to be a source.
    pub fn read(&mut self, name: &str) -> Option<Vec<u8>> {
        // A name over two lines would be two questions.
        if name.contains('\n') {
            return None;
        }
        let mut reader = match self.started.take() {
            Some(reader) => reader,
            None => StartedReader::start(&self.git)?,
        };
        // One that failed is not asked again: what it says next may answer another question.
        let content = reader.read(name).ok()?;
        self.started = Some(reader);
        content
    }
}

impl StartedReader {
    fn start(git: &Git) -> Option<Self> {
        let mut command = git.command();
        command.args(["cat-file", "--batch"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().ok()?;
        let (names, contents) = (child.stdin.take(), child.stdout.take()?);
        Some(Self { child, names, contents: BufReader::new(contents) })
    }

    /// Asks for `name`; the answer is `object type size` and so many bytes, or that there is none.
    fn read(&mut self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let names = self.names.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        names.write_all(format!("{name}\n").as_bytes())?;
        let mut head = String::new();
        if self.contents.read_line(&mut head)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut words = head.trim_end().rsplitn(3, ' ');
        let size = words.next().and_then(|size| size.parse::<usize>().ok());
        let (Some(size), Some(kind)) = (size, words.next()) else { return Ok(None) };
        let end = u64::try_from(size).map_err(io::Error::other)? + 1;
        let mut answer = self.contents.by_ref().take(end);
        if kind != "blob" || size > MAX_SOURCE_BYTES {
            io::copy(&mut answer, &mut io::sink())?;
            return Ok(None);
        }
        let mut content = Vec::with_capacity(size + 1);
        answer.read_to_end(&mut content)?;
        match content.pop() {
            Some(b'\n') if content.len() == size => Ok(Some(content)),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

impl Drop for StartedReader {
    fn drop(&mut self) {
        drop(self.names.take());
        // It may wait for somebody to read the rest of an answer.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
