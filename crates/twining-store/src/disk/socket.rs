//! Unix sockets inside a directory handle. The system takes paths of about a hundred bytes only;
//! through the handle a folder may lie as deep as it likes, and no link is followed to it.

use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;

use rustix::fs::Mode;

use crate::disk::Dir;

impl Dir {
    /// Listens on a new socket that only this user may connect to. To be called before there are
    /// threads: the permissions are the process's own for a moment.
    pub fn listen(&self, name: &str) -> io::Result<UnixListener> {
        let before = rustix::process::umask(Mode::from_raw_mode(0o177));
        let listener = UnixListener::bind(self.socket_path(name));
        rustix::process::umask(before);
        listener
    }

    /// Connects to a socket that somebody listens on.
    pub fn connect(&self, name: &str) -> io::Result<UnixStream> {
        UnixStream::connect(self.socket_path(name))
    }

    #[cfg(target_os = "linux")]
    fn socket_path(&self, name: &str) -> PathBuf {
        use std::os::fd::AsRawFd;
        PathBuf::from(format!("/proc/self/fd/{}/{name}", self.fd.as_raw_fd()))
    }

    #[cfg(not(target_os = "linux"))]
    fn socket_path(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_socket_in_a_deep_folder_is_found_and_is_this_users_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let deep = folder.path().join("deep/".repeat(60));
        std::fs::create_dir_all(&deep).expect("makes folders");
        let dir = Dir::project(&deep, None).expect("opens");
        let listener = dir.listen("ui.sock").expect("listens");
        let mode = std::fs::metadata(deep.join("ui.sock")).expect("is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        dir.connect("ui.sock").expect("connects");
        drop(listener);
        assert!(dir.connect("ui.sock").is_err(), "nobody listens");
    }
}
