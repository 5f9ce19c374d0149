//! A PostgreSQL of a test's own, from the packages of the system: nothing is downloaded.
//!
//! `initdb` takes seconds, so its result is kept in the system's temporary directory and copied.
//! The server is a child of the test and ends with it; it may be killed and started again on
//! its data.

use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::certificates::TestCertificates;

/// Where distributions put the programs of each version.
const INSTALLED: &str = "/usr/lib/postgresql";
const IN_MEMORY: &str = "/dev/shm";
/// What servers of a whole run may need there.
const ROOM: u64 = 2 << 30;
const START_LIMIT: Duration = Duration::from_secs(30);

/// Whether the server flushes what it has committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flushing {
    /// No: a test that kills no machine needs none.
    Off,
    /// Yes, as it is by default.
    On,
}

/// A server with its data in a temporary directory, reached by a socket in it.
#[derive(Debug)]
pub struct PostgresServer {
    dir: TempDir,
    programs: PathBuf,
    flushing: Flushing,
    /// Where it takes connections of TLS, and no others.
    tls_port: Option<u16>,
    process: Mutex<Child>,
    databases: AtomicUsize,
}

impl PostgresServer {
    /// Starts a server. Nothing where PostgreSQL is not installed, which is said aloud; with
    /// `CI=true` that is a failure.
    #[must_use]
    pub fn start(flushing: Flushing) -> Option<Self> {
        Self::start_with(flushing, None)
    }

    /// Starts a server that also takes connections of TLS on the loopback address.
    #[must_use]
    pub fn start_with_tls(certificates: &TestCertificates) -> Option<Self> {
        Self::start_with(Flushing::Off, Some(certificates))
    }

    #[expect(clippy::print_stderr, reason = "a skipped test says so")]
    fn start_with(flushing: Flushing, tls: Option<&TestCertificates>) -> Option<Self> {
        let Some(programs) = programs() else {
            assert!(
                std::env::var("CI").as_deref() != Ok("true"),
                "CI must run the tests on PostgreSQL: install the package `postgresql`"
            );
            eprintln!("SKIPPED: no PostgreSQL in {INSTALLED}");
            return None;
        };
        let dir = server_directory(flushing);
        if let Some((user, group)) = server_user() {
            chown(dir.path(), Some(user), Some(group)).expect("we are root");
        }
        let data = dir.path().join("data");
        let initialised = initialised_data(&programs);
        run(Command::new("cp").arg("-a").args([&initialised, &data]));
        let tls_port = tls.map(|certificates| use_tls(&data, certificates));
        let process = Mutex::new(spawn(&programs, dir.path(), flushing, tls_port));
        let databases = AtomicUsize::new(0);
        let server = Self { dir, programs, flushing, tls_port, process, databases };
        server.wait_until_ready();
        Some(server)
    }

    /// A new empty database, and its address for a user.
    #[must_use]
    pub fn database(&self) -> TestDatabase {
        let name = format!("test{}", self.databases.fetch_add(1, Ordering::SeqCst));
        self.sql("postgres", &format!("create database {name}"));
        let socket = self.dir.path().display().to_string();
        TestDatabase { socket, tls_port: self.tls_port, name }
    }

    /// Runs SQL as the superuser, and returns what it prints.
    pub fn sql(&self, database: &str, sql: &str) -> String {
        let output = self.psql(database, sql).output().expect("psql runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{sql}: {errors}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// The process that the others of the server are children of.
    #[must_use]
    pub fn process_id(&self) -> u32 {
        self.process.lock().expect("no test panicked here").id()
    }

    /// Kills the server without a word, and starts it again on its data.
    pub fn kill_and_restart(&self) {
        self.kill();
        self.restart();
    }

    /// Kills the server without a word.
    pub fn kill(&self) {
        let mut process = self.process.lock().expect("no test panicked here");
        process.kill().expect("the server is our child");
        process.wait().expect("the server is our child");
    }

    /// Starts a killed server on its data.
    pub fn restart(&self) {
        let began = Instant::now();
        // Children of the killed one hold its memory for a moment; until then it ends at once.
        loop {
            *self.process.lock().expect("no test panicked here") =
                spawn(&self.programs, self.dir.path(), self.flushing, self.tls_port);
            if self.is_ready_soon() {
                return;
            }
            assert!(began.elapsed() < START_LIMIT, "PostgreSQL does not come back: {}", self.log());
        }
    }

    fn wait_until_ready(&self) {
        assert!(self.is_ready_soon(), "PostgreSQL does not start: {}", self.log());
    }

    /// Waits until the server answers, or has ended.
    fn is_ready_soon(&self) -> bool {
        let began = Instant::now();
        while began.elapsed() < START_LIMIT {
            let answers = self.psql("postgres", "select 1").output();
            if answers.is_ok_and(|output| output.status.success()) {
                return true;
            }
            let mut process = self.process.lock().expect("no test panicked here");
            if process.try_wait().expect("the server is our child").is_some() {
                return false;
            }
            drop(process);
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    }

    fn psql(&self, database: &str, sql: &str) -> Command {
        let mut command = Command::new(self.programs.join("psql"));
        command.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", "postgres"]);
        command.arg("-h").arg(self.dir.path()).args(["-d", database, "-c", sql]);
        if let Some(port) = self.tls_port {
            command.arg("-p").arg(port.to_string());
        }
        command
    }

    fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        // Not killed: that would leave its shared memory behind. `SIGQUIT` ends it at once.
        if let Ok(process) = self.process.get_mut() {
            let id = rustix::process::Pid::from_child(process);
            let _ = rustix::process::kill_process(id, rustix::process::Signal::QUIT);
            let _ = process.wait();
        }
    }
}

/// A database of a test's own.
#[derive(Clone, Debug)]
pub struct TestDatabase {
    socket: String,
    tls_port: Option<u16>,
    /// Its name.
    pub name: String,
}

impl TestDatabase {
    /// Its address for a user.
    #[must_use]
    pub fn url(&self, user: &str) -> String {
        let port = self.tls_port.map(|port| format!(" port={port}")).unwrap_or_default();
        format!("host={} user={user} dbname={}{port}", self.socket, self.name)
    }

    /// Its address over TCP, where only TLS is answered.
    #[must_use]
    pub fn tls_url(&self, host: &str, user: &str) -> String {
        let port = self.tls_port.expect("the server was started with TLS");
        format!("postgresql://{user}@{host}:{port}/{}", self.name)
    }

    /// The socket that its server listens on.
    #[must_use]
    pub fn socket_path(&self) -> PathBuf {
        Path::new(&self.socket).join(".s.PGSQL.5432")
    }
}

/// In memory if nothing is to be flushed and there is room: containers often have little.
fn server_directory(flushing: Flushing) -> TempDir {
    let has_room = rustix::fs::statvfs(IN_MEMORY)
        .is_ok_and(|volume| volume.f_bavail.saturating_mul(volume.f_frsize) > ROOM);
    let parent = if has_room && flushing == Flushing::Off { IN_MEMORY } else { "/tmp" };
    // A short name: the path of a socket has at most 107 bytes.
    tempfile::Builder::new().prefix("pg").tempdir_in(parent).expect("a temporary directory")
}

/// The newest installed version.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir(INSTALLED).ok()?.flatten().map(|version| version.path());
    let version = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    versions
        .filter(|path| version(path).is_some() && path.join("bin/initdb").exists())
        .max_by_key(version)
        .map(|path| path.join("bin"))
}

/// PostgreSQL refuses to be root: then it is the user of its package.
fn server_user() -> Option<(u32, u32)> {
    if fs::metadata("/proc/self").expect("there is /proc").uid() != 0 {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").expect("there are users");
    let of = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut ids = line.split(':').skip(2).filter_map(|field| field.parse().ok());
        Some((ids.next()?, ids.next()?))
    };
    Some(of("postgres").or_else(|| of("nobody")).expect("there is a user who is not root"))
}

fn as_server_user(program: PathBuf) -> Command {
    let mut command = Command::new(program);
    if let Some((user, group)) = server_user() {
        command.uid(user).gid(group);
    }
    command.current_dir("/").env("LC_ALL", "C.UTF-8");
    command
}

/// The data of an empty server, made once on a machine.
fn initialised_data(programs: &Path) -> PathBuf {
    let version = programs.parent().and_then(Path::file_name).expect("a folder per version");
    let user = fs::metadata("/proc/self").expect("there is /proc").uid();
    let name = format!("twining-postgres-{}-{user}", version.to_string_lossy());
    let folder = Path::new("/tmp").join(name);
    fs::create_dir_all(&folder).expect("the temporary directory takes folders");
    let lock = File::create(folder.join("lock")).expect("the folder is ours");
    lock.lock().expect("a file can be locked");
    let data = folder.join("data");
    if !data.exists() {
        if let Some((user, group)) = server_user() {
            chown(&folder, Some(user), Some(group)).expect("we are root");
        }
        let unfinished = folder.join("unfinished");
        let _ = fs::remove_dir_all(&unfinished);
        let mut initdb = as_server_user(programs.join("initdb"));
        initdb.args(["-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C.UTF-8", "-N"]);
        initdb.arg("--wal-segsize=1");
        run(initdb.arg("-D").arg(&unfinished));
        fs::rename(&unfinished, &data).expect("the folder is ours");
    }
    data
}

/// Puts a certificate where the server finds it, and admits nobody over TCP without TLS. The
/// port to use.
fn use_tls(data: &Path, certificates: &TestCertificates) -> u16 {
    let access = "local all all trust\nhostssl all all 127.0.0.1/32 trust\n";
    for (name, text) in [
        ("server.crt", certificates.certificate.as_str()),
        ("server.key", &certificates.key),
        ("pg_hba.conf", access),
    ] {
        let file = data.join(name);
        fs::write(&file, text).expect("the directory is ours");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("the file is ours");
        if let Some((user, group)) = server_user() {
            chown(&file, Some(user), Some(group)).expect("we are root");
        }
    }
    let free = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    free.local_addr().expect("it is bound").port()
}

fn spawn(programs: &Path, dir: &Path, flushing: Flushing, tls_port: Option<u16>) -> Child {
    let log = File::options().create(true).append(true).open(dir.join("log"));
    let log = log.expect("the directory is ours");
    let mut command = as_server_user(programs.join("postgres"));
    command.arg("-D").arg(dir.join("data")).arg("-k").arg(dir);
    let address = if tls_port.is_some() { "127.0.0.1" } else { "" };
    command.arg("-c").arg(format!("listen_addresses={address}"));
    if let Some(port) = tls_port {
        command.args(["-c", "ssl=on"]).arg("-p").arg(port.to_string());
    }
    command.args(["-c", "shared_buffers=32MB"]);
    command.args(["-c", "max_connections=100", "-c", "log_min_messages=warning"]);
    // In its directory, so that a killed server leaves nothing elsewhere.
    command.args(["-c", "dynamic_shared_memory_type=mmap"]);
    if flushing == Flushing::Off {
        command.args(["-c", "fsync=off", "-c", "full_page_writes=off"]);
    }
    let errors = log.try_clone().expect("a file can be shared");
    command.stdin(Stdio::null()).stdout(log).stderr(errors);
    command.spawn().expect("PostgreSQL is installed")
}

fn run(command: &mut Command) {
    let output = command.output().expect("the program is installed");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
}
