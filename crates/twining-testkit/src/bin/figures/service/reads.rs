//! Reads over HTTP: of one large repository beside others' posts, and as busy agents mix them.

use std::time::Duration;

use super::load::{self, AgentCall, AgentPlan};
use super::nodes::{Cluster, ClusterSize};
use crate::client::BenchResult;
use crate::latency::Bench;
use crate::table::{FigureTable, below, number, thousands};
use crate::{load as load_average, log_progress, show};

const LASTING: Duration = Duration::from_secs(15);
const READERS: usize = 8;
/// Agents who post once a second beside the readers: a third into the same repository.
const POSTERS: usize = 24;
const OTHER_REPOSITORIES: usize = 8;
const RECORDS: usize = 10_000;

const ASSEMBLE: &[(&str, AgentCall)] = &[("assemble", AgentCall::Assemble)];
const POST_ELSEWHERE: &[(&str, AgentCall)] = &[("post into other repositories", AgentCall::Post)];
const POST_THERE: &[(&str, AgentCall)] = &[("post into the same repository", AgentCall::Post)];

/// A busy agent: a post in 30 s, a light read in 15 s, a heavy one in 60 s.
const PROFILE: &[(&str, AgentCall)] = &[
    ("post", AgentCall::Post),
    ("post", AgentCall::Post),
    ("recent", AgentCall::Recent),
    ("recent", AgentCall::Recent),
    ("recent", AgentCall::Recent),
    ("recent", AgentCall::Recent),
    ("assemble", AgentCall::Assemble),
];
const PROFILE_PAUSE: Duration = Duration::from_millis(60_000 / 7);
const PROFILE_AGENTS: usize = 1_000;
const PROFILE_REPOSITORIES: usize = 20;
const PROFILE_RECORDS: usize = 1_000;
const PROFILE_LASTING: Duration = Duration::from_secs(25);

/// Both.
pub(crate) fn reads(bench: &Bench) -> BenchResult<()> {
    one_repository(bench)?;
    busy_agents(bench)
}

fn one_repository(bench: &Bench) -> BenchResult<()> {
    log_progress("service: reads on one repository");
    let size =
        ClusterSize { nodes: 2, repositories: 1 + OTHER_REPOSITORIES, records: 0, tokens: 8 };
    let Some(mut cluster) = Cluster::start(bench, size)? else { return Ok(()) };
    cluster.fill(0..1, RECORDS)?;
    cluster.give_vectors()?;
    let reader = |number: usize| AgentPlan {
        node: number % 2,
        repository: 0,
        token: number % 2,
        calls: ASSEMBLE,
        pause: Duration::ZERO,
    };
    let poster = |number: usize| AgentPlan {
        node: number % 2,
        repository: if number.is_multiple_of(3) { 0 } else { 1 + number % OTHER_REPOSITORIES },
        token: 2 + number % 4,
        calls: if number.is_multiple_of(3) { POST_THERE } else { POST_ELSEWHERE },
        pause: Duration::from_secs(1),
    };
    let load_before = load_average();
    let plans = (0..READERS).map(reader).chain((0..POSTERS).map(poster)).collect();
    let result = load::run(&cluster, plans, LASTING, &[])?;
    let mut table = FigureTable::new(
        "reads of one repository over HTTP",
        ["call", "calls/s", "p50 ms", "p95 ms", "p99 ms", "goals"],
    );
    for (name, took) in &result.samples {
        let goal = match *name {
            "assemble" => below("p95", took.percentile(95.0), 150.0),
            _ => below("p99", took.percentile(99.0), 100.0),
        };
        table.row([
            (*name).to_owned(),
            number(result.rates[name]),
            number(took.p50()),
            number(took.percentile(95.0)),
            number(took.percentile(99.0)),
            goal,
        ]);
    }
    table.note(format!(
        "{} records with vectors; {READERS} readers without pause and {POSTERS} who post once a second, over two nodes, {} s; {}; cores of nodes / database / load: {}; load average {load_before} before.",
        thousands(RECORDS),
        LASTING.as_secs(),
        result.troubles(),
        result.cores_text()
    ));
    show(&table);
    Ok(())
}

fn busy_agents(bench: &Bench) -> BenchResult<()> {
    log_progress("service: a thousand busy agents");
    let tokens = PROFILE_AGENTS / 8;
    let size = ClusterSize {
        nodes: 2,
        repositories: PROFILE_REPOSITORIES,
        records: PROFILE_RECORDS,
        tokens,
    };
    let Some(mut cluster) = Cluster::start(bench, size)? else { return Ok(()) };
    cluster.give_vectors()?;
    let folder = cluster.folder_bytes(0) as f64;
    let plan = |number: usize| AgentPlan {
        node: number % 2,
        repository: number / 2 % PROFILE_REPOSITORIES,
        token: number % tokens,
        calls: PROFILE,
        pause: PROFILE_PAUSE,
    };
    let load_before = load_average();
    let plans = (0..PROFILE_AGENTS).map(plan).collect();
    let result = load::run(&cluster, plans, PROFILE_LASTING, &[])?;
    let mut table = FigureTable::new(
        "a thousand busy agents over HTTP",
        ["call", "calls/s", "p50 ms", "p95 ms", "p99 ms"],
    );
    for (name, took) in &result.samples {
        table.row([
            (*name).to_owned(),
            number(result.rates[name]),
            number(took.p50()),
            number(took.percentile(95.0)),
            number(took.percentile(99.0)),
        ]);
    }
    table.note(format!(
        "A post in 30 s, `recent` in 15 s, `assemble` in 60 s each; {PROFILE_REPOSITORIES} repositories of {} records with vectors, two nodes, {} s; {}; load average {load_before} before.",
        thousands(PROFILE_RECORDS),
        PROFILE_LASTING.as_secs(),
        result.troubles()
    ));
    table.note(format!(
        "Cores of nodes / database / load: {}. A record takes {:.0} bytes in a node's folder, with its vectors; two nodes with {PROFILE_REPOSITORIES} open repositories: {} MiB.",
        result.cores_text(),
        folder / (PROFILE_REPOSITORIES * PROFILE_RECORDS) as f64,
        cluster.nodes.iter().map(|node| number(node.resident_mib())).collect::<Vec<_>>().join(" and ")
    ));
    show(&table);
    Ok(())
}
