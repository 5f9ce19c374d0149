//! Posts over HTTP to two nodes: how many, how long they take, and when the other node has them.

use std::time::Duration;

use super::load::{self, AgentCall, AgentPlan, LoadResult};
use super::nodes::{Cluster, ClusterSize};
use crate::client::BenchResult;
use crate::latency::Bench;
use crate::table::{FigureTable, at_least, below, number, thousands};
use crate::{load as load_average, log_progress, show};

const LASTING: Duration = Duration::from_secs(15);
/// Agents that share a token: of those, sixteen may call at a time.
const AGENTS_A_TOKEN: usize = 8;
/// Repositories on whose lines somebody waits on the second node.
const WATCHED: [usize; 8] = [0, 1, 2, 3, 4, 5, 6, 7];
const POST: &[(&str, AgentCall)] = &[("post", AgentCall::Post)];

/// Agents who post.
struct PostLoad {
    name: &'static str,
    agents: usize,
    repositories: usize,
    /// Between two posts of an agent, on average.
    pause: Duration,
    goals: fn(&LoadResult) -> Vec<String>,
}

const LOADS: [PostLoad; 4] = [
    PostLoad {
        name: "64 without pause",
        agents: 64,
        repositories: 8,
        pause: Duration::ZERO,
        goals: |result| vec![at_least("posts/s", result.rates["post"], 3_000.0)],
    },
    PostLoad {
        name: "250, 1 a second",
        agents: 250,
        repositories: 50,
        pause: Duration::from_secs(1),
        goals: |result| vec![below("p99", result.of("post").percentile(99.0), 30.0)],
    },
    PostLoad {
        name: "1,000, 1 in 5 s",
        agents: 1_000,
        repositories: 50,
        pause: Duration::from_secs(5),
        goals: |result| vec![below("p99", result.of("post").percentile(99.0), 25.0)],
    },
    PostLoad {
        name: "1,000, 1 a second",
        agents: 1_000,
        repositories: 50,
        pause: Duration::from_secs(1),
        goals: |result| {
            vec![
                below("p99", result.of("post").percentile(99.0), 100.0),
                below("seen p99", result.seen.percentile(99.0), 250.0),
            ]
        },
    },
];

/// Every load on nodes and a database of its own: vectors of one would be made during the next.
pub(crate) fn posts(bench: &Bench) -> BenchResult<()> {
    let mut table = FigureTable::new(
        "posts over HTTP, two nodes",
        [
            "agents",
            "posts/s",
            "p50 ms",
            "p99 ms",
            "p99.9 ms",
            "seen p50 ms",
            "seen p99 ms",
            "cores: nodes / database / load",
            "goals",
        ],
    );
    for post_load in LOADS {
        log_progress(&format!("service: posts, {}", post_load.name));
        let PostLoad { name, agents, repositories, pause, goals } = post_load;
        let tokens = agents.div_ceil(AGENTS_A_TOKEN) + 1;
        let size = ClusterSize { nodes: 2, repositories, records: 0, tokens };
        let Some(cluster) = Cluster::start(bench, size)? else { return Ok(()) };
        let plan = |number: usize| AgentPlan {
            node: number % 2,
            repository: number / 2 % repositories,
            token: number / AGENTS_A_TOKEN,
            calls: POST,
            pause,
        };
        let load_before = load_average();
        let wal = cluster.count(WAL_BYTES)?;
        let result = load::run(&cluster, (0..agents).map(plan).collect(), LASTING, &WATCHED)?;
        let wal = cluster.count(WAL_BYTES)? - wal;
        let (took, seen) = (result.of("post"), &result.seen);
        let cells = [
            name.to_owned(),
            number(result.rates["post"]),
            number(took.p50()),
            number(took.percentile(99.0)),
            number(took.percentile(99.9)),
            number(seen.p50()),
            number(seen.percentile(99.0)),
            result.cores_text(),
            goals(&result).join(", "),
        ];
        // A run that is cut short has shown something.
        log_progress(&cells.join(" | "));
        table.row(cells);
        let lines = cluster.count(LINES)?;
        table.note(format!(
            "{name}: {} over {repositories} repositories; {} seen; a post is {:.0} bytes of WAL and {:.0} of table with indexes; load average {load_before} before, {} after.",
            result.troubles(),
            thousands(seen.len()),
            wal / took.len() as f64,
            cluster.count(TABLE_BYTES)? / lines,
            load_average()
        ));
    }
    table.note(format!(
        "{} s each. Seen: from sending a post to the first node until a watcher has it who waits in `v1/since` on the second one, for 8 repositories. All processes share the cores.",
        LASTING.as_secs()
    ));
    show(&table);
    Ok(())
}

const WAL_BYTES: &str = "select pg_current_wal_insert_lsn() - '0/0'::pg_lsn";
const LINES: &str = "select count(*) from twining.log";
const TABLE_BYTES: &str = "select sum(pg_total_relation_size(inhrelid)) from pg_inherits
    where inhparent = 'twining.log'::regclass";
