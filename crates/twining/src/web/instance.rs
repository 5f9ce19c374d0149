//! The running server of a project, where the next `twining ui` finds it: its process and port in
//! `local/ui.json`, and a socket beside it that gives this user fresh codes. Where there is no
//! memory, or it may only be read, both lie in the user's runtime folder.

use std::fs::DirBuilder;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use twining_store::disk::{Dir, hash_of};

use crate::locate_project::FOLDER;
use crate::web::keys::KeyAccess;
use crate::web::server::WebServer;

const FILE: &str = "ui.json";
const SOCKET: &str = "ui.sock";
/// Asks for a code that may act.
const WRITE: &[u8] = b"write\n";
const FILE_BYTES: usize = 4096;
const LINE_BYTES: u64 = 64;
/// How long a server may take to answer: one that hangs is started beside.
const TIMEOUT: Duration = Duration::from_secs(2);

/// What the file says; no secret.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct InstanceFile {
    pid: u32,
    /// When the process started: a number may be given to another process later.
    start_tick: Option<u64>,
    port: u16,
}

/// The files of this server; gone with it.
pub(super) struct InstanceFiles {
    dir: Dir,
    /// The folder that was made for them, and the one it is in.
    made: Option<(Dir, String)>,
}

impl InstanceFiles {
    /// Leaves them for a server, and gives its codes to this user's processes that ask. Without
    /// them the server works all the same.
    pub(super) fn create(project: &Path, server: &Arc<WebServer>) -> Option<Self> {
        let local = local_folder(project).map(|dir| Self { dir, made: None });
        local.and_then(|files| files.fill(server)).or_else(|| {
            let (parent, name) = runtime_folder(project)?;
            // It may be there: a server before us was killed.
            let _ = DirBuilder::new().mode(0o700).create(parent.path().join(&name));
            Self { dir: own_folder(&parent, &name)?, made: Some((parent, name)) }.fill(server)
        })
    }

    fn fill(self, server: &Arc<WebServer>) -> Option<Self> {
        for name in [FILE, SOCKET] {
            self.dir.remove(name).ok()?;
        }
        let listener = self.dir.listen(SOCKET).ok()?;
        let (pid, port) = (std::process::id(), server.port);
        let text = serde_json::to_vec(&InstanceFile { pid, start_tick: start_tick(pid), port });
        self.dir.create_new(FILE, &self.dir).ok()??.write(&text.ok()?).ok()?;
        let server = Arc::clone(server);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // Who does not wait for the code does not need it.
                let _ = give_code(&stream, &server);
            }
        });
        Some(self)
    }
}

impl Drop for InstanceFiles {
    fn drop(&mut self) {
        // Another server may have taken our place while we did not answer.
        if read(&self.dir).is_none_or(|file| file.pid == std::process::id()) {
            let _ = self.dir.remove(SOCKET).and_then(|_| self.dir.remove(FILE));
            let _ = self.made.as_ref().map(|(parent, name)| parent.remove_empty_dir(name));
        }
    }
}

/// Asks the server that runs for this project for a code: its port, and the code.
pub(super) fn ask(project: &Path, access: KeyAccess) -> Option<(u16, String)> {
    let runtime = || runtime_folder(project).and_then(|(parent, name)| own_folder(&parent, &name));
    let of_folder = |dir: Dir| ask_in(&dir, access);
    local_folder(project).and_then(of_folder).or_else(|| runtime().and_then(of_folder))
}

fn ask_in(dir: &Dir, access: KeyAccess) -> Option<(u16, String)> {
    let file = read(dir).filter(|file| start_tick(file.pid) == file.start_tick)?;
    let mut stream = dir.connect(SOCKET).ok()?;
    stream.write_all(if access == KeyAccess::Write { WRITE } else { b"read\n" }).ok()?;
    let code = read_line(&stream).ok()?;
    (!code.is_empty()).then(|| (file.port, code.trim().to_owned()))
}

fn give_code(mut stream: &UnixStream, server: &WebServer) -> io::Result<()> {
    let is_write = read_line(stream)?.as_bytes() == WRITE;
    let access = if is_write { KeyAccess::Write } else { KeyAccess::Read };
    writeln!(stream, "{}", server.keys.issue(access, Instant::now()))
}

fn read_line(stream: &UnixStream) -> io::Result<String> {
    stream.set_read_timeout(Some(TIMEOUT))?;
    let mut line = String::new();
    BufReader::new(stream.take(LINE_BYTES)).read_line(&mut line)?;
    Ok(line)
}

fn read(dir: &Dir) -> Option<InstanceFile> {
    serde_json::from_slice(&dir.read(FILE, FILE_BYTES).ok()??).ok()
}

fn local_folder(project: &Path) -> Option<Dir> {
    Dir::project(project, None).ok()?.walk([FOLDER, "local"]).ok()?
}

/// The folder for a project without a memory, by its name in the user's runtime folder.
fn runtime_folder(project: &Path) -> Option<(Dir, String)> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let runtime = runtime.filter(|dir| dir.is_absolute() && dir.is_dir());
    let parent = Dir::project(&runtime.unwrap_or_else(std::env::temp_dir), None).ok()?;
    let user = rustix::process::getuid().as_raw();
    let project = hash_of(project.as_os_str().as_encoded_bytes());
    Some((parent, format!("twining-ui-{user}-{project:016x}")))
}

/// Opens it, unless somebody else made it or may enter it: temporary folders are everybody's.
fn own_folder(parent: &Dir, name: &str) -> Option<Dir> {
    let found = std::fs::symlink_metadata(parent.path().join(name)).ok()?;
    let is_ours = found.uid() == rustix::process::getuid().as_raw() && found.mode() & 0o077 == 0;
    parent.open_dir(name).ok()?.filter(|_| is_ours)
}

/// When a process started, in ticks since the machine did; nothing where the system does not say.
fn start_tick(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The program's name is in brackets, and may contain anything.
    stat.rsplit_once(") ")?.1.split(' ').nth(19)?.parse().ok()
}
