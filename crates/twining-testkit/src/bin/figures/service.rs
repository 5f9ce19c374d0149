//! The log in PostgreSQL beside plain inserts, its commits, and a node that follows it from empty;
//! below, two nodes over HTTP.

mod distant_service;
mod http_client;
pub(crate) mod linked;
mod load;
pub(crate) mod memory;
mod nodes;
pub(crate) mod posts;
pub(crate) mod reads;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio_postgres::NoTls;
use twining_model::{Change, Id};
use twining_service::{Database, DatabaseSettings, PgLog};
use twining_store::{Log, LogBase, NewLine, Store, StoreLocation};
use twining_testkit::{Flushing, PostgresServer, TestDatabase, ids, records};

use crate::client::BenchResult;
use crate::latency::Bench;
use crate::table::{FigureTable, LatencySample, at_least, below, number, thousands};
use crate::{load, log_progress, show};

const LASTING: Duration = Duration::from_secs(4);
const REPOSITORIES: usize = 200;
/// Records that a node follows from empty, and with `--full`.
const FOLLOWED: usize = 100_000;
const FOLLOWED_FULL: usize = 1_000_000;
/// Appends whose time is taken, for each number of lines.
const COMMITS: usize = 300;
/// Lines of one append while the log is filled.
const FILLED_AT_ONCE: usize = 256;

const PLAIN_TABLE: &str = "create table public.plain (
    id bigserial primary key, key text not null unique, body text not null)";
const PLAIN_INSERT: &str = "insert into public.plain (key, body) values ($1, $2)";

/// A server with a tenant and repositories.
struct ServiceBench {
    runtime: Runtime,
    server: PostgresServer,
    database: TestDatabase,
    tenant: Id,
    repositories: Vec<Id>,
}

/// The log alone, and a node from empty.
pub(crate) fn service(bench: &mut Bench) -> BenchResult<()> {
    let Some(server) = PostgresServer::start(Flushing::On) else { return Ok(()) };
    let bench_service = ServiceBench::new(server)?;
    appends(&bench_service)?;
    commits(&bench_service)?;
    from_empty(bench, &bench_service)
}

fn appends(service: &ServiceBench) -> BenchResult<()> {
    let mut table = FigureTable::new(
        "the log in PostgreSQL",
        ["records an append", "connections", "plain inserts/s", "records/s", "share", "goals"],
    );
    service.server.sql(&service.database.name, PLAIN_TABLE);
    for (lines, connections, goal) in [(1, 1, 0.45), (1, 8, 0.45), (1, 32, 0.45), (16, 8, 2.0)] {
        log_progress(&format!("service: {connections} connections, {lines} records an append"));
        let plain = service.plain_inserts(connections)?;
        let appended = service.appends(connections, lines)?;
        let share = appended / plain;
        table.row([
            lines.to_string(),
            connections.to_string(),
            format!("{plain:.0}"),
            format!("{appended:.0}"),
            format!("{:.0} %", share * 100.0),
            at_least("share", share, goal),
        ]);
    }
    table.note(format!(
        "Through the writers of one node, with row security, {REPOSITORIES} repositories; {} s each; load average {}.",
        LASTING.as_secs(),
        load()
    ));
    show(&table);
    Ok(())
}

/// The time of a commit by its lines, which `scale` asks for.
fn commits(service: &ServiceBench) -> BenchResult<()> {
    log_progress("service: the time of a commit");
    let mut table =
        FigureTable::new("a commit", ["lines", "p50 ms", "p99 ms", "ms for each further line"]);
    let node = service.node(1)?;
    let log = node.log(&service.tenant, &service.repositories[0]);
    let ids = ids();
    let mut one = None;
    for lines in [1, 16, 64, 256] {
        let mut took = LatencySample::default();
        for _ in 0..COMMITS {
            let new_lines: Vec<NewLine> = (0..lines)
                .map(|_| NewLine {
                    key: ids.next(),
                    change: Change::of_entries(vec![records::entry(&ids, "a finding")]),
                })
                .collect();
            let began = Instant::now();
            log.append(LogBase::Any, &new_lines)?;
            took.push(began.elapsed());
        }
        let first = *one.get_or_insert(took.p50());
        let further = match lines {
            1 => String::new(),
            _ => number((took.p50() - first) / f64::from(lines - 1)),
        };
        table.row([lines.to_string(), number(took.p50()), number(took.percentile(99.0)), further]);
    }
    table.note(format!(
        "One caller, one repository, {COMMITS} appends each; load average {}.",
        load()
    ));
    show(&table);
    Ok(())
}

fn from_empty(bench: &mut Bench, service: &ServiceBench) -> BenchResult<()> {
    let count = if bench.is_full { FOLLOWED_FULL } else { FOLLOWED };
    log_progress(&format!("service: a node from empty, {} records", thousands(count)));
    let database = service.node(4)?;
    let repo = service.add_repository("followed")?;
    let log = database.log(&service.tenant, &repo);
    let ids = ids();
    for first in (0..count).step_by(FILLED_AT_ONCE) {
        let lines: Vec<NewLine> = (first..count.min(first + FILLED_AT_ONCE))
            .map(|at| NewLine {
                key: ids.next(),
                change: Change::of_entries(vec![records::entry(&ids, &format!("finding {at}"))]),
            })
            .collect();
        log.append(LogBase::Any, &lines)?;
    }
    let project = bench.stores.empty()?;
    let location =
        StoreLocation { project: project.path().to_path_buf(), ..StoreLocation::default() };
    let store = Store::open(location, ids)?;
    store.use_log(log);
    // From here on the largest memory counts.
    std::fs::write("/proc/self/clear_refs", "5")?;
    let began = Instant::now();
    store.follower().catch_up()?;
    let per_million = began.elapsed().as_secs_f64() * 1e6 / count as f64;
    let mib = crate::field("/proc/self/status", "VmHWM")
        .and_then(|text| text.split(' ').next()?.parse::<f64>().ok())
        .unwrap_or_default()
        / 1024.0;
    let mut table = FigureTable::new(
        "a node from empty",
        ["records, one a line", "s a million", "memory, MiB", "goals"],
    );
    table.row([
        thousands(count),
        number(per_million),
        number(mib),
        format!("{}; {}", below("s", per_million, 80.0), below("MiB", mib, 300.0)),
    ]);
    table.note(format!("PostgreSQL on the same machine; load average {}.", load()));
    show(&table);
    Ok(())
}

impl ServiceBench {
    fn new(server: PostgresServer) -> BenchResult<Self> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let database = server.database();
        let url = database.url("postgres");
        let (tenant, repositories) = runtime.block_on(async {
            let admin = Database::connect(&url).await?;
            admin.migrate().await?;
            let tenant = admin.add_tenant("bench").await?.id;
            let mut repositories = Vec::new();
            for number in 0..REPOSITORIES {
                repositories.push(admin.add_repository(&tenant, &format!("r{number}")).await?.id);
            }
            Ok::<_, twining_service::ServiceError>((tenant, repositories))
        })?;
        Ok(Self { runtime, server, database, tenant, repositories })
    }

    fn node(&self, connections: usize) -> BenchResult<Database> {
        let url = self.database.url("twining_app");
        let settings = DatabaseSettings { connections, ..DatabaseSettings::new(&url) };
        Ok(self.runtime.block_on(Database::connect_with(&settings))?)
    }

    fn add_repository(&self, name: &str) -> BenchResult<Id> {
        let url = self.database.url("postgres");
        Ok(self
            .runtime
            .block_on(async {
                Database::connect(&url).await?.add_repository(&self.tenant, name).await
            })?
            .id)
    }

    /// Rows a second, one a transaction, into a table with a key.
    fn plain_inserts(&self, connections: usize) -> BenchResult<f64> {
        let done = Arc::new(AtomicUsize::new(0));
        let url = self.database.url("postgres");
        let began = Instant::now();
        self.runtime.block_on(async {
            let mut tasks = Vec::new();
            for _ in 0..connections {
                let (client, connection) = tokio_postgres::connect(&url, NoTls).await?;
                tokio::spawn(connection);
                let done = Arc::clone(&done);
                tasks.push(tokio::spawn(async move {
                    let statement = client.prepare(PLAIN_INSERT).await?;
                    let ids = ids();
                    while began.elapsed() < LASTING {
                        let entry = records::entry(&ids, "a finding");
                        let body = serde_json::to_string(&entry).unwrap_or_default();
                        client.execute(&statement, &[&ids.next().as_str(), &body]).await?;
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok::<_, tokio_postgres::Error>(())
                }));
            }
            for task in tasks {
                task.await.map_err(|error| error.to_string())??;
            }
            Ok::<_, Box<dyn std::error::Error>>(())
        })?;
        Ok(done.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64())
    }

    /// Records a second through the writers of a node, by as many callers as connections.
    fn appends(&self, connections: usize, lines: usize) -> BenchResult<f64> {
        let node = self.node(connections)?;
        let logs: Vec<Arc<PgLog>> =
            self.repositories.iter().map(|repo| node.log(&self.tenant, repo)).collect();
        let (done, began) = (AtomicUsize::new(0), Instant::now());
        std::thread::scope(|scope| {
            let callers: Vec<_> = (0..connections)
                .map(|caller| {
                    let (done, logs) = (&done, &logs);
                    scope.spawn(move || {
                        let ids = ids();
                        let mut at = caller;
                        while began.elapsed() < LASTING {
                            let lines: Vec<NewLine> = (0..lines)
                                .map(|_| NewLine {
                                    key: ids.next(),
                                    change: Change::of_entries(vec![records::entry(
                                        &ids,
                                        "a finding",
                                    )]),
                                })
                                .collect();
                            at += connections;
                            logs[at % logs.len()].append(LogBase::Any, &lines)?;
                            done.fetch_add(lines.len(), Ordering::Relaxed);
                        }
                        Ok::<_, twining_store::LogError>(())
                    })
                })
                .collect();
            callers.into_iter().try_for_each(|caller| {
                caller.join().map_err(|_| "a caller panicked")?.map_err(|error| error.to_string())
            })
        })?;
        Ok(done.into_inner() as f64 / began.elapsed().as_secs_f64())
    }
}
