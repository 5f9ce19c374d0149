//! The reviewed graph: read, checked and indexed again in one process, and in a server whose file
//! changed.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::json;

use crate::client::{BenchClient, BenchResult, once};
use crate::latency::Bench;
use crate::table::{FigureTable, LatencySample, below, number, thousands};
use crate::{log_progress, show};

/// How many nodes, and within what its index is to be built.
const SIZES: [(usize, f64); 2] = [(1_000, 100.0), (100_000, 5_000.0)];
const TIMES: usize = 5;
const KINDS: [&str; 4] = ["component", "interface", "pattern", "rule"];
const COMPONENTS: [&str; 5] = ["auth", "billing", "search", "store", "web"];

/// Every call that reads the whole graph.
pub(crate) fn knowledge(bench: &mut Bench) -> BenchResult<()> {
    let mut table = FigureTable::new("knowledge", ["nodes", "call", "p50 ms", "max ms", "goals"]);
    for (nodes, goal) in SIZES {
        log_progress(&format!("a graph of {} nodes", thousands(nodes)));
        let project = bench.stores.empty()?;
        let path = project.path();
        once(&bench.twining, path, &["init", "--agent", "none"])?;
        let file = path.join(".twining/knowledge.dot");
        std::fs::write(&file, graph(nodes, 0))?;

        let terms = ["knowledge", "retrieve", "retry node_500"];
        let cold = sample(|_| once(&bench.twining, path, &terms))?;
        let checked = sample(|_| once(&bench.twining, path, &["knowledge", "check"]))?;
        let mut client = BenchClient::ready(&bench.twining, path)?;
        let asked = json!({"terms": "retry node_500"});
        let retrieve =
            |client: &mut BenchClient| Ok(client.call("twining_knowledge_retrieve", &asked)?.1);
        retrieve(&mut client)?;
        let warm = sample(|_| retrieve(&mut client))?;
        let reindexed = sample(|time| {
            std::fs::write(&file, graph(nodes, time + 1))?;
            retrieve(&mut client)
        })?;
        let updated = sample(|time| {
            let change = json!({"op": "update_node", "id": "node_500", "description": format!("Changed by a tool, {time} times.")});
            Ok(client.call("twining_knowledge_update", &json!({"operations": [change]}))?.1)
        })?;
        client.close()?;
        for (call, took, goal) in [
            ("retrieve, one process: read and indexed", cold, Some(goal)),
            ("retrieve, a server: the file changed, indexed anew", reindexed, Some(goal)),
            ("retrieve, a server: the file as before", warm, None),
            ("check, one process", checked, None),
            ("update of one node, a server", updated, None),
        ] {
            let goals = goal.map_or_else(String::new, |goal| below("p50", took.p50(), goal));
            table.row([
                thousands(nodes),
                call.to_owned(),
                number(took.p50()),
                number(took.max()),
                goals,
            ]);
        }
    }
    table.note(format!("{TIMES} times each; as many edges as nodes, 250 bytes a node."));
    show(&table);
    Ok(())
}

fn sample(mut take: impl FnMut(usize) -> BenchResult<Duration>) -> BenchResult<LatencySample> {
    let mut took = LatencySample::default();
    for time in 0..TIMES {
        took.push(take(time)?);
    }
    Ok(took)
}

/// A graph that validates; each edition differs from the others in one word.
fn graph(nodes: usize, edition: usize) -> String {
    let mut text = String::from("digraph knowledge {\n");
    for node in 0..nodes {
        let (kind, component) = (KINDS[node % KINDS.len()], COMPONENTS[node % COMPONENTS.len()]);
        let sentence = format!(
            "What node {node} of {component} says of retry, timeout and order, in edition {edition} of a graph that grew."
        );
        let _ = writeln!(
            text,
            "  node_{node} [type={kind}, level=implementation, status=current, component={component}, priority=medium, path=\"src/{component}/part_{node}.rs\", \
             tag=\"{component} retry\", description=\"{sentence}\"];"
        );
    }
    for node in 1..nodes {
        let _ = writeln!(text, "  node_{node} -> node_{} [relation=uses];", node / 2);
    }
    text.push_str("}\n");
    text
}
