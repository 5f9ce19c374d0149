//! Access to the disk: every file is opened by a plain name inside a directory handle, and links,
//! devices and pipes are refused. Every call asks a [`Probe`] first, so that tests can fail it.

use std::fs::{File, TryLockError};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::error::StoreError;

/// What is about to be done to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DiskOp {
    /// Open or make a directory.
    OpenDir,
    /// Open a file.
    Open,
    /// Make a new file.
    Create,
    /// Read bytes.
    Read,
    /// Write bytes.
    Write,
    /// Change a file's length.
    SetLen,
    /// Flush a file to the device.
    Sync,
    /// Give a file another name.
    Rename,
    /// Remove a name.
    Remove,
    /// Ask what a name is.
    Stat,
    /// List a directory.
    List,
    /// Take a lock.
    FileLock,
}

/// What a probe decides for one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Go ahead.
    None,
    /// Fail with this error number.
    Fail(i32),
    /// Write only so many bytes, then fail with this error number.
    Short(usize, i32),
}

/// Watches every call to the disk, and may make it fail.
pub trait Probe: Send + Sync {
    /// Asked before each call.
    fn before(&self, op: DiskOp, name: &str) -> Fault;
}

/// A directory we hold open; names are looked up in it and nowhere else.
#[derive(Clone)]
pub struct Dir {
    pub(super) fd: Arc<OwnedFd>,
    inode: u64,
    path: PathBuf,
    label: String,
    mode: Mode,
    probe: Option<Arc<dyn Probe>>,
}

/// A file we hold open, and the name it has in messages.
pub struct FileHandle {
    file: File,
    label: String,
    probe: Option<Arc<dyn Probe>>,
}

/// A directory entry's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A link, wherever it leads, a pipe, device or socket.
    Other,
}

/// Enough of a file's state to tell whether it changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Fingerprint {
    /// Inode number.
    pub ino: u64,
    /// Length in bytes.
    pub size: u64,
    /// When it was last written, in nanoseconds since 1970.
    pub mtime_ns: i64,
}

impl Dir {
    /// Opens the project folder itself, which the caller has resolved.
    pub fn project(path: &Path, probe: Option<Arc<dyn Probe>>) -> Result<Self, StoreError> {
        let fd = rustix::fs::open(
            path,
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .map_err(|errno| io_error("open", &path.to_string_lossy(), errno))?;
        Ok(Self {
            inode: inode_of(&fd),
            fd: Arc::new(fd),
            path: path.to_owned(),
            label: String::new(),
            mode: Mode::from_raw_mode(0o666),
            probe,
        })
    }

    /// Where this directory is; for programs (SQLite) that only take paths.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a directory inside this one, or says that there is none.
    pub fn open_dir(&self, name: &str) -> Result<Option<Self>, StoreError> {
        let label = self.label_of(name);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match self.probed(DiskOp::OpenDir, name, || {
            rustix::fs::openat(&*self.fd, name, flags, Mode::empty())
        }) {
            Ok(fd) => Ok(Some(Self {
                inode: inode_of(&fd),
                fd: Arc::new(fd),
                path: self.path.join(name),
                mode: if name == crate::disk::layout::LOCAL {
                    Mode::from_raw_mode(0o600)
                } else {
                    self.mode
                },
                label,
                probe: self.probe.clone(),
            })),
            Err(Errno::NOENT) => Ok(None),
            // A link gives ENOTDIR here: NOFOLLOW opens it as itself, and it is no directory.
            Err(Errno::LOOP | Errno::NOTDIR) => {
                Err(StoreError::Unsafe { path: label, what: "a symbolic link or not a directory" })
            }
            Err(errno) => Err(io_error("open", &label, errno)),
        }
    }

    /// Opens a directory inside this one, making it if need be.
    pub fn make_dir(&self, name: &str) -> Result<Self, StoreError> {
        if let Some(dir) = self.open_dir(name)? {
            return Ok(dir);
        }
        let bits = if name == crate::disk::layout::LOCAL { 0o700 } else { 0o777 };
        self.call(DiskOp::OpenDir, name, "make", || {
            match rustix::fs::mkdirat(&*self.fd, name, Mode::from_raw_mode(bits)) {
                Err(Errno::EXIST) => Ok(()),
                other => other,
            }
        })?;
        self.open_dir(name)?.ok_or_else(|| io_error("open", &self.label_of(name), Errno::NOENT))
    }

    /// The folder that is reached through these, one inside the other, if they are all there.
    pub fn walk<'n>(
        &self,
        folders: impl IntoIterator<Item = &'n str>,
    ) -> Result<Option<Self>, StoreError> {
        let mut dir = self.clone();
        for folder in folders {
            let Some(inner) = dir.open_dir(folder)? else { return Ok(None) };
            dir = inner;
        }
        Ok(Some(dir))
    }

    /// Opens a file for reading, or says that there is none.
    pub fn open(&self, name: &str) -> Result<Option<FileHandle>, StoreError> {
        none_if(io::ErrorKind::NotFound, self.open_with(name, OFlags::RDONLY, DiskOp::Open))
    }

    /// All that a file holds, refusing one over `most` bytes; `None` if there is none.
    pub fn read(&self, name: &str, max_bytes: usize) -> Result<Option<Vec<u8>>, StoreError> {
        self.open(name)?.map(|handle| handle.read_all(max_bytes)).transpose()
    }

    /// The same with its state.
    pub fn read_with_fingerprint(
        &self,
        name: &str,
        max_bytes: usize,
    ) -> Result<Option<(Fingerprint, Vec<u8>)>, StoreError> {
        self.open(name)?
            .map(|handle| Ok((handle.fingerprint()?, handle.read_all(max_bytes)?)))
            .transpose()
    }

    /// Opens a file for reading and appending; `None` if there is none.
    pub fn open_append(&self, name: &str) -> Result<Option<FileHandle>, StoreError> {
        none_if(
            io::ErrorKind::NotFound,
            self.open_with(name, OFlags::RDWR | OFlags::APPEND, DiskOp::Open),
        )
    }

    /// Opens a file for reading and appending, making an empty one if need be.
    pub fn create_append(&self, name: &str) -> Result<FileHandle, StoreError> {
        self.open_with(name, OFlags::RDWR | OFlags::APPEND | OFlags::CREATE, DiskOp::Create)
    }

    /// Opens a file for reading and writing at any place, making it if need be.
    pub fn create_random_access(&self, name: &str) -> Result<FileHandle, StoreError> {
        self.open_with(name, OFlags::RDWR | OFlags::CREATE, DiskOp::Create)
    }

    /// Makes a file that did not exist, with the permissions files have in `like`; `None` if it did.
    pub fn create_new(&self, name: &str, like: &Self) -> Result<Option<FileHandle>, StoreError> {
        let dir = Self { mode: like.mode, ..self.clone() };
        none_if(
            io::ErrorKind::AlreadyExists,
            dir.open_with(name, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL, DiskOp::Create),
        )
    }

    fn open_with(&self, name: &str, flags: OFlags, op: DiskOp) -> Result<FileHandle, StoreError> {
        let label = self.label_of(name);
        // NONBLOCK: opening a pipe that someone planted would otherwise wait for ever.
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        let opened =
            self.probed(op, name, || rustix::fs::openat(&*self.fd, name, flags, self.mode));
        let fd = opened.map_err(|errno| match errno {
            Errno::LOOP => StoreError::Unsafe { path: label.clone(), what: "a symbolic link" },
            Errno::ISDIR => StoreError::Unsafe { path: label.clone(), what: "a directory" },
            Errno::NXIO => StoreError::Unsafe { path: label.clone(), what: "a pipe or device" },
            errno => io_error("open", &label, errno),
        })?;
        let stat = rustix::fs::fstat(&fd).map_err(|errno| io_error("stat", &label, errno))?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {}
            FileType::Directory => {
                return Err(StoreError::Unsafe { path: label, what: "a directory" });
            }
            _ => return Err(StoreError::Unsafe { path: label, what: "a pipe or device" }),
        }
        Ok(FileHandle { file: File::from(fd), label, probe: self.probe.clone() })
    }

    /// Stats `name` without following links.
    pub fn stat(&self, name: &str) -> Result<Option<(FileKind, Fingerprint)>, StoreError> {
        self.call(DiskOp::Stat, name, "stat", || {
            match rustix::fs::statat(&*self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
                stat => Ok(Some((kind_of(stat?.st_mode), fingerprint_of(&stat?)))),
            }
        })
    }

    /// Returns the state of `name`, whatever its type.
    pub fn print(&self, name: &str) -> Result<Option<Fingerprint>, StoreError> {
        Ok(self.stat(name)?.map(|(_, print)| print))
    }

    /// Every name in the directory, sorted.
    pub fn list(&self) -> Result<Vec<String>, StoreError> {
        self.call(DiskOp::List, "", "list", || {
            let mut names = Vec::new();
            for entry in rustix::fs::Dir::read_from(&*self.fd)? {
                names.push(entry?.file_name().to_string_lossy().into_owned());
            }
            names.retain(|name| name != "." && name != "..");
            names.sort_unstable();
            Ok(names)
        })
    }

    /// Moves `name` to `new_name` in `target`, replacing what is there.
    pub fn rename(&self, name: &str, target: &Self, new_name: &str) -> Result<(), StoreError> {
        target.call(DiskOp::Rename, new_name, "rename", || {
            rustix::fs::renameat(&*self.fd, name, &*target.fd, new_name)
        })
    }

    /// Moves `name` to `new_name` in `target` unless something is there; whether it moved.
    pub fn rename_new(
        &self,
        name: &str,
        target: &Self,
        new_name: &str,
    ) -> Result<bool, StoreError> {
        target.call(DiskOp::Rename, new_name, "rename", || {
            match self.rename_with(name, target, new_name, RenameFlags::NOREPLACE) {
                Err(Errno::EXIST) => Ok(false),
                // Where the system cannot do that, only two who make the folder at once would notice.
                Err(Errno::NOSYS | Errno::INVAL | Errno::OPNOTSUPP) => {
                    rustix::fs::renameat(&*self.fd, name, &*target.fd, new_name).map(|()| true)
                }
                moved => moved.map(|()| true),
            }
        })
    }

    /// Makes `name` and `other` in `target` change places; whether the system can do that.
    pub fn exchange(&self, name: &str, target: &Self, other: &str) -> Result<bool, StoreError> {
        target.call(DiskOp::Rename, other, "replace", || {
            match self.rename_with(name, target, other, RenameFlags::EXCHANGE) {
                Err(Errno::NOSYS | Errno::INVAL | Errno::NOENT | Errno::OPNOTSUPP) => Ok(false),
                exchanged => exchanged.map(|()| true),
            }
        })
    }

    /// Removes a name; whether it was there.
    pub fn remove(&self, name: &str) -> Result<bool, StoreError> {
        self.call(DiskOp::Remove, name, "remove", || {
            match rustix::fs::unlinkat(&*self.fd, name, AtFlags::empty()) {
                Err(Errno::NOENT) => Ok(false),
                removed => removed.map(|()| true),
            }
        })
    }

    /// Removes a directory if nothing is in it; whether it is gone.
    pub fn remove_empty_dir(&self, name: &str) -> Result<bool, StoreError> {
        self.call(DiskOp::Remove, name, "remove", || {
            match rustix::fs::unlinkat(&*self.fd, name, AtFlags::REMOVEDIR) {
                Err(Errno::NOENT) => Ok(true),
                Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => Ok(false),
                removed => removed.map(|()| true),
            }
        })
    }

    /// Removes a directory and all it holds, following no links.
    pub fn remove_tree(&self, name: &str) -> Result<(), StoreError> {
        let removed =
            self.probed(DiskOp::Remove, name, || Ok(std::fs::remove_dir_all(self.path.join(name))));
        removed.map_err(io::Error::from).flatten().map_err(|source| StoreError::Io {
            doing: "remove",
            path: self.label_of(name),
            source,
        })
    }

    /// Flushes the directory itself, so that a new name survives a power cut.
    pub fn sync(&self) -> Result<(), StoreError> {
        self.call(DiskOp::Sync, "", "flush", || rustix::fs::fsync(&*self.fd))
    }

    /// An identity of this directory that nobody who wrote the repository can
    /// know: device, inode and birth time.
    pub fn identity(&self) -> Result<String, StoreError> {
        let stat =
            rustix::fs::fstat(&*self.fd).map_err(|errno| io_error("stat", &self.label, errno))?;
        Ok(format!("{:x}:{:x}:{:x}", stat.st_dev, stat.st_ino, birth_ns(&self.fd)))
    }

    /// How `name` is called in messages: relative to the project.
    #[must_use]
    pub fn label_of(&self, name: &str) -> String {
        let slash = if self.label.is_empty() || name.is_empty() { "" } else { "/" };
        format!("{}{slash}{name}", self.label)
    }

    /// Whether it is still the directory at its path.
    pub fn is_still_at_path(&self) -> bool {
        rustix::fs::lstat(&self.path).is_ok_and(|stat| fingerprint_of(&stat).ino == self.inode)
    }

    fn rename_with(
        &self,
        name: &str,
        target: &Self,
        new_name: &str,
        flags: RenameFlags,
    ) -> Result<(), Errno> {
        rustix::fs::renameat_with(&*self.fd, name, &*target.fd, new_name, flags)
    }

    fn call<T>(
        &self,
        op: DiskOp,
        name: &str,
        doing: &'static str,
        call: impl FnOnce() -> Result<T, Errno>,
    ) -> Result<T, StoreError> {
        self.probed(op, name, call).map_err(|errno| io_error(doing, &self.label_of(name), errno))
    }

    fn probed<T>(
        &self,
        op: DiskOp,
        name: &str,
        call: impl FnOnce() -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        check_probe(self.probe.as_deref(), op, name).and_then(|()| call())
    }
}

impl std::fmt::Debug for Dir {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dir").field("path", &self.path).finish_non_exhaustive()
    }
}

impl FileHandle {
    /// Its state now.
    pub fn fingerprint(&self) -> Result<Fingerprint, StoreError> {
        self.call(DiskOp::Stat, "stat", || Ok(fingerprint_of(&rustix::fs::fstat(&self.file)?)))
    }

    /// How many names the file has; more than one means somebody linked it.
    pub fn links(&self) -> Result<u64, StoreError> {
        #[expect(
            clippy::useless_conversion,
            reason = "the width of st_nlink differs between systems"
        )]
        rustix::fs::fstat(&self.file)
            .map(|stat| u64::from(stat.st_nlink))
            .map_err(|errno| io_error("stat", &self.label, errno))
    }

    /// Reads at a place; fewer bytes only at the end of the file.
    pub fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize, StoreError> {
        self.call(DiskOp::Read, "read", || {
            let mut done = 0;
            while done < buf.len() {
                match self.file.read_at(&mut buf[done..], offset + done as u64) {
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                    Ok(0) => break,
                    read => done += read?,
                }
            }
            Ok(done)
        })
    }

    /// Reads the whole file, refusing one over `most` bytes.
    pub fn read_all(&self, max_bytes: usize) -> Result<Vec<u8>, StoreError> {
        let size = usize::try_from(self.fingerprint()?.size).unwrap_or(usize::MAX);
        let mut bytes = vec![0; size.min(max_bytes) + 1];
        let read = self.read_at(&mut bytes, 0)?;
        bytes.truncate(read);
        if bytes.len() > max_bytes {
            return Err(StoreError::Damaged {
                what: format!("`{}` is larger than {max_bytes} bytes", self.label),
            });
        }
        Ok(bytes)
    }

    /// The last bytes, at most so many, and whether there are more before them.
    pub fn read_tail(&self, max_bytes: u64) -> Result<(Vec<u8>, bool), StoreError> {
        let size = self.fingerprint()?.size;
        let from = size.saturating_sub(max_bytes);
        let mut bytes = vec![0; usize::try_from(size - from).unwrap_or(0)];
        let read = self.read_at(&mut bytes, from)?;
        bytes.truncate(read);
        Ok((bytes, from > 0))
    }

    /// Writes all of `bytes` at the end (append handles) or the current place, in one call.
    pub fn write(&self, bytes: &[u8]) -> Result<(), StoreError> {
        self.write_with(bytes, |file, rest, _| rustix::io::write(file, rest))
    }

    /// Writes all of `bytes` at `offset`.
    pub fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), StoreError> {
        self.write_with(bytes, |file, rest, done| {
            rustix::io::pwrite(file, rest, offset + done as u64)
        })
    }

    fn write_with(
        &self,
        bytes: &[u8],
        call: impl Fn(&File, &[u8], usize) -> Result<usize, Errno>,
    ) -> Result<(), StoreError> {
        let fault = self
            .probe
            .as_ref()
            .map_or(Fault::None, |probe| probe.before(DiskOp::Write, &self.label));
        let (bytes, after) = match fault {
            Fault::None => (bytes, None),
            Fault::Fail(errno) => (&bytes[..0], Some(errno)),
            Fault::Short(n, errno) => (&bytes[..n.min(bytes.len())], Some(errno)),
        };
        let mut done = 0;
        while done < bytes.len() {
            match call(&self.file, &bytes[done..], done) {
                Ok(0) => return Err(self.fail("write", io::Error::from(io::ErrorKind::WriteZero))),
                Ok(n) => done += n,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(self.fail("write", errno.into())),
            }
        }
        after.map_or(Ok(()), |errno| Err(self.fail("write", io::Error::from_raw_os_error(errno))))
    }

    /// Cuts the file, or fills it with NUL.
    pub fn set_len(&self, len: u64) -> Result<(), StoreError> {
        self.call(DiskOp::SetLen, "cut", || self.file.set_len(len))
    }

    /// Flushes the content to the device. A failure is final: the pages may be
    /// gone, so nobody may try again and believe a second answer.
    pub fn sync(&self) -> Result<(), StoreError> {
        self.call(DiskOp::Sync, "flush", || self.file.sync_data())
    }

    /// Takes the lock if it is free.
    pub fn try_lock(&self) -> Result<bool, StoreError> {
        self.call(DiskOp::FileLock, "lock", || match self.file.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        })
    }

    /// Returns the process that holds the lock, where the system reports it; it may not be ours.
    /// `None` where it does not.
    #[must_use]
    pub fn lock_holder(&self) -> Option<Option<u32>> {
        let ino = self.fingerprint().ok()?.ino;
        let table = std::fs::read_to_string("/proc/locks").ok()?;
        // `7: FLOCK  ADVISORY  WRITE 4120 fe:00:1234 0 EOF`; those who wait have an arrow in front.
        let holder = table.lines().filter(|line| !line.contains("->")).find_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let inode = words.get(5)?.rsplit(':').next()?.parse::<u64>().ok()?;
            (words.get(1) == Some(&"FLOCK") && inode == ino)
                .then(|| words.get(4)?.parse().ok())
                .flatten()
        });
        Some(holder)
    }

    /// Lets go of the lock. Not probed: a dead process lets go as well.
    pub fn unlock(&self) {
        // The kernel unlocks on close anyway; there is nothing to do about a failure.
        drop(self.file.unlock());
    }

    /// How the file is called in messages.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    fn call<T>(
        &self,
        op: DiskOp,
        doing: &'static str,
        call: impl FnOnce() -> io::Result<T>,
    ) -> Result<T, StoreError> {
        check_probe(self.probe.as_deref(), op, &self.label)
            .map_err(io::Error::from)
            .and_then(|()| call())
            .map_err(|error| self.fail(doing, error))
    }

    fn fail(&self, doing: &'static str, source: io::Error) -> StoreError {
        StoreError::Io { doing, path: self.label.clone(), source }
    }
}

/// What a probe makes of a call.
fn check_probe(probe: Option<&dyn Probe>, op: DiskOp, name: &str) -> Result<(), Errno> {
    match probe.map_or(Fault::None, |probe| probe.before(op, name)) {
        Fault::None => Ok(()),
        Fault::Fail(errno) | Fault::Short(_, errno) => Err(Errno::from_raw_os_error(errno)),
    }
}

/// What was opened; nothing where it failed for this reason.
fn none_if(
    kind: io::ErrorKind,
    opened: Result<FileHandle, StoreError>,
) -> Result<Option<FileHandle>, StoreError> {
    match opened {
        Err(StoreError::Io { source, .. }) if source.kind() == kind => Ok(None),
        other => other.map(Some),
    }
}

fn io_error(doing: &'static str, path: &str, errno: Errno) -> StoreError {
    StoreError::Io { doing, path: path.to_owned(), source: errno.into() }
}

fn kind_of(mode: rustix::fs::RawMode) -> FileKind {
    match FileType::from_raw_mode(mode) {
        FileType::RegularFile => FileKind::File,
        FileType::Directory => FileKind::Dir,
        _ => FileKind::Other,
    }
}

/// 0, which no directory has, if it cannot be asked.
fn inode_of(fd: &OwnedFd) -> u64 {
    rustix::fs::fstat(fd).map_or(0, |stat| fingerprint_of(&stat).ino)
}

#[expect(
    clippy::useless_conversion,
    clippy::unnecessary_cast,
    reason = "the widths of these fields differ between systems"
)]
fn fingerprint_of(stat: &rustix::fs::Stat) -> Fingerprint {
    Fingerprint {
        ino: u64::from(stat.st_ino),
        size: u64::try_from(stat.st_size).unwrap_or(0),
        mtime_ns: (stat.st_mtime as i64)
            .saturating_mul(1_000_000_000)
            .saturating_add(stat.st_mtime_nsec as i64),
    }
}

#[cfg(target_os = "linux")]
fn birth_ns(fd: &OwnedFd) -> i128 {
    use rustix::fs::StatxFlags;
    rustix::fs::statx(fd, "", AtFlags::EMPTY_PATH, StatxFlags::BTIME).map_or(0, |stat| {
        i128::from(stat.stx_btime.tv_sec) * 1_000_000_000 + i128::from(stat.stx_btime.tv_nsec)
    })
}

#[cfg(not(target_os = "linux"))]
fn birth_ns(_fd: &OwnedFd) -> i128 {
    0
}

/// Returns a number that differs between boots of the machine; zero if unknown.
#[must_use]
pub fn boot_id() -> u64 {
    static ID: OnceLock<u64> = OnceLock::new();
    let read = || std::fs::read("/proc/sys/kernel/random/boot_id");
    *ID.get_or_init(|| read().map_or(0, |id| xxhash_rust::xxh3::xxh3_64(&id)))
}

/// Reads a file somewhere inside the folder `base`, by a relative path. Links are
/// followed as long as they stay inside; where the path leads out in the end,
/// nothing is opened. `None` if there is no such file.
pub fn read_inside(
    base: &Path,
    path: &str,
    max_bytes: usize,
) -> Result<Option<Vec<u8>>, StoreError> {
    match resolve_inside(base, path)? {
        Some((dir, Some(file))) => dir.read(&file, max_bytes),
        Some((_, None)) => {
            Err(StoreError::Unsafe { path: path.to_owned(), what: "outside the project" })
        }
        None => Ok(None),
    }
}

/// Whether a file or folder of just that name is inside the folder `base`.
#[must_use]
pub fn is_inside(base: &Path, path: &str) -> bool {
    matches!(resolve_inside(base, path), Ok(Some(_)))
}

/// How a path inside the folder `base` is now: for a folder, all that is in it
/// but hidden names and what build tools leave. `None` if nothing is there.
pub fn state_inside(
    base: &Path,
    path: &str,
    max_files: usize,
    max_bytes: usize,
) -> Result<Option<PathState>, StoreError> {
    let Some((dir, file)) = resolve_inside(base, path)? else { return Ok(None) };
    let mut hasher = TreeHasher {
        state: PathState::default(),
        files_left: max_files,
        max_bytes,
        hasher: xxhash_rust::xxh3::Xxh3::new(),
    };
    match file {
        None => hasher.folder(&dir)?,
        Some(name) => match dir.stat(&name)? {
            None => return Ok(None),
            Some((FileKind::Dir, _)) => match dir.open_dir(&name)? {
                Some(inner) => hasher.folder(&inner)?,
                None => return Ok(None),
            },
            Some((_, print)) => hasher.file(&dir, &name, print)?,
        },
    }
    Ok(Some(PathState { hash: hasher.hasher.digest128(), ..hasher.state }))
}

/// How a file or a folder was at some moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathState {
    /// When the newest file was last written, in nanoseconds since 1970.
    pub mtime_ns: i64,
    /// A hash of the bytes and, in a folder, of the names.
    pub hash: u128,
}

struct TreeHasher {
    state: PathState,
    files_left: usize,
    max_bytes: usize,
    hasher: xxhash_rust::xxh3::Xxh3,
}

impl TreeHasher {
    fn folder(&mut self, dir: &Dir) -> Result<(), StoreError> {
        const BUILD_FOLDERS: [&str; 5] = ["target", "node_modules", "__pycache__", "dist", "build"];
        for name in dir.list()? {
            if name.starts_with('.') || BUILD_FOLDERS.contains(&name.as_str()) {
                continue;
            }
            match dir.stat(&name)? {
                Some((FileKind::File, print)) => self.file(dir, &name, print)?,
                Some((FileKind::Dir, _)) => {
                    if let Some(inner) = dir.open_dir(&name)? {
                        self.hasher.update(name.as_bytes());
                        self.folder(&inner)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn file(&mut self, dir: &Dir, name: &str, print: Fingerprint) -> Result<(), StoreError> {
        self.files_left = self.files_left.checked_sub(1).ok_or_else(|| StoreError::Damaged {
            what: format!(
                "`{}` has too many files to check; name the files more precisely",
                dir.label
            ),
        })?;
        self.state.mtime_ns = self.state.mtime_ns.max(print.mtime_ns);
        self.hasher.update(name.as_bytes());
        let Some(handle) = dir.open(name)? else { return Ok(()) };
        match handle.read_all(self.max_bytes) {
            Ok(bytes) => self.hasher.update(&bytes),
            // Too large to read at every look: its size and time stand for it.
            Err(StoreError::Damaged { .. }) => {
                self.hasher.update(format!("{}:{}", print.size, print.mtime_ns).as_bytes());
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// The folder that holds a path and the name in it, links resolved; no name for
/// `base` itself.
fn resolve_inside(base: &Path, path: &str) -> Result<Option<(Dir, Option<String>)>, StoreError> {
    let outside = || StoreError::Unsafe { path: path.to_owned(), what: "outside the project" };
    let base = canonical(base)?;
    let real = match base.join(path).canonicalize() {
        Ok(real) => real,
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            return Ok(None);
        }
        Err(source) => return Err(StoreError::Io { doing: "find", path: path.to_owned(), source }),
    };
    let inside = real.strip_prefix(&base).map_err(|_| outside())?;
    let mut names = Vec::new();
    for part in inside.components() {
        names.push(part.as_os_str().to_str().ok_or_else(outside)?);
    }
    // By handle and following nothing: a link put there since would lead out after all.
    let base = Dir::project(&base, None)?;
    let Some((file, folders)) = names.split_last() else { return Ok(Some((base, None))) };
    Ok(base.walk(folders.iter().copied())?.map(|dir| (dir, Some((*file).to_owned()))))
}

/// Hashes bytes to distinguish contents; not cryptographic.
#[must_use]
pub fn hash_of(bytes: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(bytes)
}

/// The bits that a key always gives, on any machine.
#[must_use]
pub fn hash_of_key(key: &str) -> u128 {
    xxhash_rust::xxh3::xxh3_128(key.as_bytes())
}

/// A path with links resolved.
pub fn canonical(path: &Path) -> Result<PathBuf, StoreError> {
    path.canonicalize().map_err(|source| StoreError::Io {
        doing: "find",
        path: path.to_string_lossy().into_owned(),
        source,
    })
}
