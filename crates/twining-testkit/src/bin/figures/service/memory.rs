//! What a node holds in memory: idle, for each connection, for each open repository.

use std::io;
use std::time::Duration;

use serde_json::json;

use super::http_client::{HttpConnection, tool_request};
use super::nodes::{Cluster, ClusterSize};
use crate::client::BenchResult;
use crate::latency::Bench;
use crate::table::{FigureTable, below, number, thousands};
use crate::{load as load_average, log_progress, show};

const REPOSITORIES: usize = 32;
/// With `--full`, as many as a node keeps open.
const REPOSITORIES_FULL: usize = 256;
const RECORDS: usize = 1_000;
const CONNECTIONS: usize = 1_000;
const TOKENS: usize = 8;
/// Until what a call left behind is done.
const SETTLED: Duration = Duration::from_secs(3);

/// All of it, on one node.
pub(crate) fn memory(bench: &Bench) -> BenchResult<()> {
    log_progress("service: memory of a node");
    let repositories = if bench.is_full { REPOSITORIES_FULL } else { REPOSITORIES };
    let size = ClusterSize { nodes: 1, repositories, records: RECORDS, tokens: TOKENS };
    let Some(mut cluster) = Cluster::start(bench, size)? else { return Ok(()) };
    cluster.give_vectors()?;
    let resident = |cluster: &Cluster| {
        std::thread::sleep(SETTLED);
        cluster.nodes[0].resident_mib()
    };
    let mut table = FigureTable::new("memory of a node", ["what", "MiB", "goals"]);
    let mut row = |what: String, mib: f64, goal: String| table.row([what, number(mib), goal]);
    row("started, no repository".to_owned(), resident(&cluster), String::new());

    let assemble = json!({"task": "cache of the parser", "scope": "src/mod1/"});
    cluster.call(0, &cluster.repositories[0], "twining_assemble", &assemble)?;
    let idle = resident(&cluster);
    row("idle, one repository, the model".to_owned(), idle, below("MiB", idle, 60.0));

    let connections = cluster.runtime.block_on(connect(&cluster))?;
    let connected = resident(&cluster);
    let each = (connected - idle) * 1024.0 / CONNECTIONS as f64;
    let what = format!("{} connections: {} kB each", thousands(CONNECTIONS), number(each));
    row(what, connected, below("kB", each, 60.0));
    drop(connections);

    let before = resident(&cluster);
    cluster.open_all()?;
    let opened = resident(&cluster);
    let each = (opened - before) / (repositories - 1) as f64;
    let what = format!("{repositories} repositories, opened: {} MiB each", number(each));
    row(what, opened, below("MiB each", each, 3.0));
    for repository in &cluster.repositories {
        cluster.call(0, repository, "twining_assemble", &assemble)?;
    }
    let searched = resident(&cluster);
    let each = (searched - before) / (repositories - 1) as f64;
    let all = before + each * (REPOSITORIES_FULL - 1) as f64;
    let what = format!("{repositories} repositories, searched: {} MiB each", number(each));
    row(what, searched, below("MiB each", each, 3.0));
    let how = if bench.is_full { "measured" } else { "reckoned from these" };
    row(format!("{REPOSITORIES_FULL} repositories, {how}"), all, below("MiB", all, 900.0));
    table.note(format!(
        "VmRSS {} s after the last call; {} records in each repository, with vectors; after the connections were closed it was {} MiB; load average {}.",
        SETTLED.as_secs(),
        thousands(RECORDS),
        number(before),
        load_average()
    ));
    show(&table);
    Ok(())
}

/// Connections that have each made a call and stay open.
async fn connect(cluster: &Cluster) -> io::Result<Vec<HttpConnection>> {
    let path = format!("{}/mcp", cluster.repositories[0].path);
    let mut connections = Vec::new();
    for number in 0..CONNECTIONS {
        let token = &cluster.tokens[number % TOKENS];
        let request = tool_request(&path, token, "twining_recent", &json!({"n": 10}));
        let mut connection = HttpConnection::open(cluster.nodes[0].port).await?;
        let answer = connection.send(&request).await?;
        if !answer.is_done() {
            return Err(io::Error::other(format!("{} {}", answer.status, answer.body)));
        }
        connections.push(connection);
    }
    Ok(connections)
}
