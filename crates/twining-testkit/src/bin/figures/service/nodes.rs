//! Two nodes of the built program on one PostgreSQL, with repositories and tokens, from outside.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use twining_embed::Model;
use twining_model::{Change, Id};
use twining_service::{
    AccessRole, Database, DatabaseSettings, Grant, GrantScope, NewToken, PrincipalKind,
    ServiceError,
};
use twining_store::{Log, LogBase, NewLine};
use twining_testkit::{Flushing, PostgresServer, TestDatabase, ids};

use super::http_client::{HttpConnection, tool_request};
use crate::client::{BenchResult, memory_kib};
use crate::latency::Bench;
use crate::search::give_vectors;
use crate::store::{FixedRandom, entry};

const TENANT: &str = "bench";
/// Lines of one append while logs are filled.
const FILLED_AT_ONCE: usize = 256;
/// The kernel counts processor time in these.
const TICKS_A_SECOND: f64 = 100.0;

/// What a cluster has before anything is measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClusterSize {
    pub(super) nodes: usize,
    pub(super) repositories: usize,
    /// Records in each repository.
    pub(super) records: usize,
    pub(super) tokens: usize,
}

/// Nodes on one database. Those come first, because they end first.
pub(super) struct Cluster {
    pub(super) nodes: Vec<NodeProcess>,
    pub(super) runtime: Runtime,
    pub(super) repositories: Vec<BenchRepository>,
    pub(super) tokens: Vec<String>,
    server: PostgresServer,
    database: TestDatabase,
    tenant: Id,
    twining: PathBuf,
    dir: TempDir,
}

/// A repository of the cluster.
#[derive(Clone, Debug)]
pub(super) struct BenchRepository {
    id: Id,
    /// Its address, without a host.
    pub(super) path: String,
}

/// A node that runs.
pub(super) struct NodeProcess {
    child: Child,
    pub(super) port: u16,
}

/// Seconds of processor time, by who used them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProcessorTime {
    /// The nodes, with their vectors.
    pub(super) nodes: f64,
    pub(super) database: f64,
    /// This program.
    pub(super) load: f64,
}

impl ProcessorTime {
    /// What was used since then.
    pub(super) fn since(self, before: Self) -> Self {
        Self {
            nodes: self.nodes - before.nodes,
            database: self.database - before.database,
            load: self.load - before.load,
        }
    }
}

impl Cluster {
    /// Starts it; none where PostgreSQL is not installed.
    pub(super) fn start(bench: &Bench, size: ClusterSize) -> BenchResult<Option<Self>> {
        let Some(server) = PostgresServer::start(Flushing::On) else { return Ok(None) };
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let database = server.database();
        let url = database.url("postgres");
        let (tenant, repositories, tokens) = runtime.block_on(tenant_of(&url, size))?;
        let mut cluster = Self {
            nodes: Vec::new(),
            runtime,
            repositories,
            tokens,
            server,
            database,
            tenant,
            twining: bench.twining.clone(),
            dir: tempfile::tempdir_in(bench.stores.path())?,
        };
        cluster.fill(0..size.repositories, size.records)?;
        for number in 0..size.nodes {
            let node = cluster.node(number)?;
            cluster.nodes.push(node);
        }
        Ok(Some(cluster))
    }

    /// Opens every repository on every node.
    pub(super) fn open_all(&self) -> BenchResult<()> {
        for node in 0..self.nodes.len() {
            for repository in &self.repositories {
                self.call(node, repository, "twining_status", &json!({}))?;
            }
        }
        Ok(())
    }

    /// Gives every record on every node vectors that point anywhere, and starts the nodes again.
    pub(super) fn give_vectors(&mut self) -> BenchResult<()> {
        self.open_all()?;
        let model = Model::built_in()?;
        for number in 0..self.nodes.len() {
            self.nodes[number].end()?;
            for repository in &self.repositories {
                let folder = self.data(number).join(self.tenant.as_str());
                let folder = folder.join(repository.id.as_str());
                if folder.join(".twining/blackboard.jsonl").exists() {
                    give_vectors(&folder, &model)?;
                }
            }
            self.nodes[number] = self.node(number)?;
        }
        Ok(())
    }

    /// Calls a tool on a node, on a connection of its own.
    pub(super) fn call(
        &self,
        node: usize,
        repository: &BenchRepository,
        tool: &str,
        arguments: &Value,
    ) -> BenchResult<Value> {
        let path = format!("{}/mcp", repository.path);
        let request = tool_request(&path, &self.tokens[0], tool, arguments);
        self.runtime.block_on(async {
            let mut connection = HttpConnection::open(self.nodes[node].port).await?;
            let answer = connection.send(&request).await?;
            if !answer.is_done() {
                return Err(format!("{tool}: {} {}", answer.status, answer.body).into());
            }
            let content = answer.json()?["result"]["structuredContent"].take();
            Ok::<_, Box<dyn std::error::Error>>(content)
        })
    }

    /// What everybody has used so far.
    pub(super) fn processor_time(&self) -> ProcessorTime {
        let all: f64 = self.nodes.iter().map(|node| own_seconds(node.child.id())).sum();
        ProcessorTime {
            nodes: all,
            database: family_seconds(self.server.process_id()),
            load: own_seconds(std::process::id()),
        }
    }

    /// Runs SQL as the superuser: the number it answers.
    pub(super) fn count(&self, sql: &str) -> BenchResult<f64> {
        Ok(self.server.sql(&self.database.name, sql).parse()?)
    }

    /// Bytes in the folder of a node.
    pub(super) fn folder_bytes(&self, node: usize) -> u64 {
        bytes_below(&self.data(node))
    }

    fn data(&self, number: usize) -> PathBuf {
        self.dir.path().join(format!("node-{number}"))
    }

    pub(super) fn node(&self, number: usize) -> BenchResult<NodeProcess> {
        let log = File::create(self.dir.path().join(format!("node-{number}.log")))?;
        let mut child = Command::new(&self.twining)
            .args(["serve", "--listen", "127.0.0.1:0", "--drain", "0", "--json"])
            .args(["--token-rate", "100000", "--tenant-rate", "1000000"])
            .arg("--data")
            .arg(self.data(number))
            .env("TWINING_DATABASE_URL", self.database.url("twining_app"))
            .current_dir(self.dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()?;
        let mut line = String::new();
        let stdout = child.stdout.take().expect("stdout is piped above");
        let mut node = NodeProcess { child, port: 0 };
        BufReader::new(stdout).read_line(&mut line)?;
        let said: Value = serde_json::from_str(&line)?;
        let address = said["listening"].as_str().and_then(|address| address.rsplit_once(':'));
        node.port = address.ok_or("the node does not say where it listens")?.1.parse()?;
        Ok(node)
    }

    /// Puts records into these logs, one a line, as posts would.
    pub(super) fn fill(&self, which: Range<usize>, records: usize) -> BenchResult<()> {
        let url = self.database.url("twining_app");
        let settings = DatabaseSettings { connections: 4, ..DatabaseSettings::new(&url) };
        let database = self.runtime.block_on(Database::connect_with(&settings))?;
        let (ids, mut dice) = (ids(), FixedRandom::new(21));
        for repository in &self.repositories[which] {
            let log = database.log(&self.tenant, &repository.id);
            for first in (0..records).step_by(FILLED_AT_ONCE) {
                let lines: Vec<NewLine> = (first..records.min(first + FILLED_AT_ONCE))
                    .map(|_| NewLine {
                        key: ids.next(),
                        change: Change::of_entries(vec![entry(&ids, &mut dice)]),
                    })
                    .collect();
                log.append(LogBase::Any, &lines)?;
            }
        }
        Ok(())
    }
}

/// A tenant with its repositories and tokens.
async fn tenant_of(
    url: &str,
    size: ClusterSize,
) -> Result<(Id, Vec<BenchRepository>, Vec<String>), ServiceError> {
    let admin = Database::connect(url).await?;
    admin.migrate().await?;
    let tenant = admin.add_tenant(TENANT).await?.id;
    let mut repositories = Vec::new();
    for number in 0..size.repositories {
        let name = format!("r{number}");
        let id = admin.add_repository(&tenant, &name).await?.id;
        repositories.push(BenchRepository { id, path: format!("/{TENANT}/{name}") });
    }
    let mut tokens = Vec::new();
    for number in 0..size.tokens {
        let token = NewToken {
            tenant: tenant.clone(),
            name: format!("agent-{number}"),
            kind: PrincipalKind::Agent,
            grants: vec![Grant { repository: GrantScope::All, role: AccessRole::Writer }],
            days: 1,
            made_by: "figures".to_owned(),
        };
        tokens.push(admin.add_token(&token).await?.1);
    }
    Ok((tenant, repositories, tokens))
}

impl NodeProcess {
    /// Resident memory in MiB.
    pub(super) fn resident_mib(&self) -> f64 {
        memory_kib(self.child.id(), "VmRSS:").unwrap_or_default() as f64 / 1024.0
    }

    /// Tells it to end, and waits.
    fn end(&mut self) -> BenchResult<()> {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, rustix::process::Signal::TERM)?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for NodeProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the kernel says of a process or a thread.
struct ProcessStat {
    parent: u32,
    /// Seconds of its own, and of children that have ended.
    own: f64,
    ended: f64,
}

impl ProcessStat {
    fn read(path: &Path) -> Option<Self> {
        let text = fs::read_to_string(path).ok()?;
        // A name may have spaces and parentheses.
        let (_, after) = text.rsplit_once(") ")?;
        let fields: Vec<&str> = after.split(' ').collect();
        let seconds = |at: usize| fields.get(at)?.parse::<f64>().ok().map(|n| n / TICKS_A_SECOND);
        Some(Self {
            parent: fields.get(1)?.parse().ok()?,
            own: seconds(11)? + seconds(12)?,
            ended: seconds(13)? + seconds(14)?,
        })
    }

    fn of(process: u32) -> Option<Self> {
        Self::read(Path::new(&format!("/proc/{process}/stat")))
    }
}

fn own_seconds(process: u32) -> f64 {
    ProcessStat::of(process).map_or(0.0, |stat| stat.own)
}

/// A process with its children.
fn family_seconds(process: u32) -> f64 {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let children: f64 = all
        .filter_map(|entry| ProcessStat::of(entry.file_name().to_str()?.parse().ok()?))
        .filter(|stat| stat.parent == process)
        .map(|stat| stat.own)
        .sum();
    children + ProcessStat::of(process).map_or(0.0, |stat| stat.own + stat.ended)
}

fn bytes_below(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(what) if what.is_dir() => bytes_below(&entry.path()),
            Ok(what) => what.len(),
            Err(_) => 0,
        })
        .sum()
}
