//! The machines of a storm: PostgreSQL, two nodes of the built program, and the proxies between
//! them, each process killed and started again at will.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::callers::{CallerAddress, HttpCaller};
use super::fault_proxy::{FaultProxy, ProxyCounts, ProxyTarget};
use crate::postgres::{Flushing, PostgresServer, TestDatabase};

pub(super) const NODES: usize = 2;
const TENANT: &str = "acme";
const REPOSITORY: &str = "shop";
/// How long a node that was told to end goes on answering.
const DRAIN: &str = "1";
const START_LIMIT: Duration = Duration::from_secs(60);
const START_PAUSE: Duration = Duration::from_millis(100);

/// A step of the schema that a later version might have: it adds, and takes nothing away.
const LATER_STEP: [&str; 2] = [
    "alter table twining.repo add column later_note text",
    "insert into twining.migration (number, name, sum) values (9999, 'later', '\\x00')",
];

/// The database, its nodes, and the ways between them.
pub(super) struct StormMachines {
    pub(super) postgres: PostgresServer,
    database: TestDatabase,
    program: PathBuf,
    nodes: [Mutex<NodeSlot>; NODES],
    ports: [AtomicU16; NODES],
    /// From each node to the database.
    pub(super) to_database: [FaultProxy; NODES],
    /// From callers to whichever node answers.
    pub(super) to_nodes: FaultProxy,
    pub(super) dir: TempDir,
}

struct NodeSlot {
    process: Child,
    data: PathBuf,
    /// Counts the times that another node took its place.
    generation: usize,
}

impl StormMachines {
    /// Starts everything; none where PostgreSQL is not installed.
    pub(super) fn start(program: &Path, seed: u64) -> Option<Self> {
        let postgres = PostgresServer::start(Flushing::On)?;
        let database = postgres.database();
        let dir = tempfile::tempdir().expect("a temporary directory");
        let socket = ProxyTarget::Unix(database.socket_path());
        let proxy = |number: u64, targets| {
            FaultProxy::start(seed.wrapping_add(number), targets).expect("a port is free")
        };
        let to_database = [proxy(1, vec![socket.clone()]), proxy(2, vec![socket])];
        let run = |words: &[&str]| admin(program, &database, dir.path(), words);
        run(&["migrate"]);
        run(&["tenant", "add", TENANT]);
        run(&["repo", "add", TENANT, REPOSITORY]);
        let start = |number: usize| {
            let data = dir.path().join(format!("node-{number}"));
            let log = dir.path().join(format!("node-{number}.log"));
            let url = node_url(&to_database[number], &database);
            let (process, port) = start_node(program, &data, &log, &url);
            (Mutex::new(NodeSlot { process, data, generation: 0 }), AtomicU16::new(port))
        };
        let ([first, second], to_nodes) = ([start(0), start(1)], proxy(3, Vec::new()));
        let machines = Self {
            nodes: [first.0, second.0],
            ports: [first.1, second.1],
            program: program.to_owned(),
            postgres,
            database,
            to_database,
            to_nodes,
            dir,
        };
        machines.lead(&machines.to_nodes, &[0, 1]);
        Some(machines)
    }

    /// A token for the repository.
    pub(super) fn token(&self, name: &str, kind: &str) -> String {
        let flags = ["--tenant", TENANT, "--repo", REPOSITORY, "--role", "writer"];
        let words = [&["token", "add", "--name", name, "--kind", kind], &flags[..]].concat();
        let answer = admin(&self.program, &self.database, self.dir.path(), &words);
        answer["token"].as_str().expect("a token").to_owned()
    }

    /// The repository, by a port of a proxy or a node.
    pub(super) fn address(&self, port: u16, token: &str) -> CallerAddress {
        let path = format!("/{TENANT}/{REPOSITORY}");
        CallerAddress { port, path, token: token.to_owned() }
    }

    /// The repository for a clone that goes through this proxy.
    pub(super) fn url(&self, proxy: &FaultProxy) -> String {
        format!("http://127.0.0.1:{}/{TENANT}/{REPOSITORY}", proxy.port)
    }

    /// Leads a proxy to these nodes.
    pub(super) fn lead(&self, proxy: &FaultProxy, nodes: &[usize]) {
        let port = |node: &usize| ProxyTarget::Tcp(self.port(*node));
        proxy.lead_to(nodes.iter().map(port).collect());
    }

    pub(super) fn kill_node(&self, number: usize) {
        let mut node = self.node(number);
        node.process.kill().expect("the node is our child");
        node.process.wait().expect("the node is our child");
    }

    /// Starts a killed node on its folder, as often as the database lets it down.
    pub(super) fn restart_node(&self, number: usize) {
        let mut node = self.node(number);
        let log = self.dir.path().join(format!("node-{number}.log"));
        let url = node_url(&self.to_database[number], &self.database);
        let port;
        (node.process, port) = start_node(&self.program, &node.data, &log, &url);
        self.ports[number].store(port, Ordering::SeqCst);
    }

    /// Puts a node of another program in the place of this one, which is told to end: how that
    /// one ended. `lead` is called once the new one answers.
    pub(super) fn replace_node(
        &self,
        number: usize,
        program: &Path,
        lead: impl FnOnce(),
    ) -> Option<i32> {
        let mut node = self.node(number);
        let generation = node.generation + 1;
        let data = self.dir.path().join(format!("node-{number}-{generation}"));
        let log = self.dir.path().join(format!("node-{number}.log"));
        let url = node_url(&self.to_database[number], &self.database);
        let (process, port) = start_node(program, &data, &log, &url);
        self.ports[number].store(port, Ordering::SeqCst);
        let mut old = std::mem::replace(&mut *node, NodeSlot { process, data, generation });
        lead();
        terminate(&mut old.process)
    }

    /// Carries out the steps of the schema that this program has, and one more that no program
    /// has yet.
    pub(super) fn migrate(&self, program: &Path) {
        admin(program, &self.database, self.dir.path(), &["migrate"]);
        let step = LATER_STEP.join("; ");
        self.postgres.sql(&self.database.name, &format!("set role twining_owner; {step}"));
    }

    pub(super) fn port(&self, number: usize) -> u16 {
        self.ports[number].load(Ordering::SeqCst)
    }

    pub(super) fn program(&self) -> &Path {
        &self.program
    }

    /// Lets every node follow to the end of the log, and ends it: the folders they leave.
    pub(super) fn settle_nodes(&self, token: &str) -> Vec<(String, PathBuf)> {
        let tenant_and_repository = self.sql("select tenant || '/' || id from twining.repo");
        let mut folders = Vec::new();
        for number in 0..NODES {
            let mut caller = HttpCaller::new(self.address(self.port(number), token));
            let began = Instant::now();
            loop {
                let answer = caller.status();
                if matches!(answer, Ok((200, _))) {
                    break;
                }
                let log = self.last_words(number);
                assert!(began.elapsed() < START_LIMIT, "node {number}: {answer:?}: {log}");
                thread::sleep(START_PAUSE);
            }
            let mut node = self.node(number);
            assert_eq!(terminate(&mut node.process), Some(0), "node {number} ends in order");
            folders.push((format!("node {number}"), node.data.join(&tenant_and_repository)));
        }
        folders
    }

    /// The end of a node's log.
    fn last_words(&self, number: usize) -> String {
        let log = self.dir.path().join(format!("node-{number}.log"));
        let text = std::fs::read_to_string(log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().rev().take(5).collect();
        lines.join("\n")
    }

    /// The repository as a folder, made from the log alone.
    pub(super) fn export(&self) -> PathBuf {
        let folder = self.dir.path().join("exported");
        let to = folder.to_str().expect("is text");
        let words = ["export", "--tenant", TENANT, "--repo", REPOSITORY, "--to", to];
        admin(&self.program, &self.database, self.dir.path(), &words);
        folder
    }

    pub(super) fn sql(&self, sql: &str) -> String {
        self.postgres.sql(&self.database.name, sql)
    }

    /// What the proxies did, together.
    pub(super) fn proxy_counts<'a>(
        &'a self,
        more: impl Iterator<Item = &'a FaultProxy>,
    ) -> ProxyCounts {
        let all = self.to_database.iter().chain([&self.to_nodes]).chain(more);
        all.map(FaultProxy::counts).fold(ProxyCounts::default(), |sum, one| ProxyCounts {
            answers: sum.answers + one.answers,
            swallowed: sum.swallowed + one.swallowed,
            cut: sum.cut + one.cut,
        })
    }

    fn node(&self, number: usize) -> MutexGuard<'_, NodeSlot> {
        self.nodes[number].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for NodeSlot {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The program without what the user's machine would add. Vectors are left out: they are a
/// cache, and would take the processors from everything that is to be seen here.
pub(super) fn plain_command(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).stdin(Stdio::null());
    for name in ["TWINING_PROJECT", "TWINING_AGENT", "CLAUDE_PROJECT_DIR", "CLAUDECODE"] {
        command.env_remove(name);
    }
    command.env("TWINING_MODEL", folder.join("no-model"));
    command
}

fn admin(program: &Path, database: &TestDatabase, folder: &Path, words: &[&str]) -> Value {
    let output = plain_command(program, folder)
        .arg("serve")
        .args(words)
        .arg("--json")
        .env("TWINING_DATABASE_URL", database.url("postgres"))
        .output()
        .expect("the program starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "serve {words:?}: {said}");
    serde_json::from_str(&said).unwrap_or_default()
}

fn node_url(proxy: &FaultProxy, database: &TestDatabase) -> String {
    format!("host=127.0.0.1 port={} user=twining_app dbname={}", proxy.port, database.name)
}

/// Starts a node as whatever supervises it would: again, until the database answers it.
fn start_node(program: &Path, data: &Path, log: &Path, url: &str) -> (Child, u16) {
    let began = Instant::now();
    loop {
        let errors = File::options().create(true).append(true).open(log).expect("is ours");
        let mut process = plain_command(program, data.parent().expect("is in a folder"))
            .args(["serve", "--listen", "127.0.0.1:0", "--drain", DRAIN, "--json"])
            .args(["--token-rate", "100000", "--tenant-rate", "1000000", "--data"])
            .arg(data)
            .env("TWINING_DATABASE_URL", url)
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        let stdout = process.stdout.take().expect("stdout is piped above");
        let read = BufReader::new(stdout).read_line(&mut line);
        let said: Value = serde_json::from_str(&line).unwrap_or_default();
        let port = said["listening"].as_str().and_then(|at| at.rsplit_once(':')?.1.parse().ok());
        if let (Ok(_), Some(port)) = (read, port) {
            return (process, port);
        }
        let _ = process.kill();
        process.wait().expect("the node is our child");
        assert!(began.elapsed() < START_LIMIT, "a node does not start; see {}", log.display());
        thread::sleep(START_PAUSE);
    }
}

/// Tells a process to end, and waits: how it ended.
fn terminate(process: &mut Child) -> Option<i32> {
    let id = rustix::process::Pid::from_child(process);
    rustix::process::kill_process(id, rustix::process::Signal::TERM).expect("it is our child");
    process.wait().expect("it is our child").code()
}
