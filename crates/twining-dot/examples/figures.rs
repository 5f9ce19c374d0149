//! How fast it is, on this machine: `cargo run --release -p twining-dot --example figures [merge]`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::{Duration, Instant};

use twining_dot::{AlwaysClash, DotDocument, DrawOptions, dot, force_layout, merge, svg};

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    if std::env::args().nth(1).as_deref() == Some("merge") {
        return merging(&mut out);
    }
    let large = graph(100_000, "n", 100_000);
    let (time, document) = best(|| DotDocument::parse(large.as_bytes()));
    let megabytes = f64::from(u32::try_from(large.len()).unwrap_or(u32::MAX)) / 1e6;
    let (nodes, edges) = (document.graph().nodes.len(), document.graph().edges.len());
    writeln!(
        out,
        "parse    {nodes} nodes, {edges} edges, {megabytes:.1} MB   {time:?}   {:.0} MB/s",
        megabytes / time.as_secs_f64()
    )?;
    let (time, written) = best(|| dot(document.graph()));
    writeln!(out, "write    the same from meaning, {} bytes   {time:?}", written.len())?;
    let (time, _) = best(|| {
        let mut edited = document.clone();
        edited.set_node_attr("n500", "status", "deprecated").map(|()| edited)
    });
    writeln!(out, "edit     one attribute of it, read again   {time:?}")?;

    merging(&mut out)?;
    let drawn = DotDocument::parse(graph(500, "n", 700));
    let (time, picture) = best(|| svg(drawn.graph(), &DrawOptions::default()));
    writeln!(out, "draw     500 nodes, 700 edges, {} bytes of SVG   {time:?}", picture.len())?;
    let edges: Vec<(usize, usize)> = (0..20_000)
        .map(|edge| (edge % 5_000, (edge % 5_000 + 1 + edge * edge % 97) % 5_000))
        .collect();
    let (time, _) = best(|| force_layout(5_000, &edges));
    writeln!(out, "forces   5,000 nodes, 20,000 edges   {time:?}")
}

fn merging(out: &mut impl std::io::Write) -> std::io::Result<()> {
    let base = graph(1_000, "n", 1_000);
    let ours = changed(&base, "ours");
    let theirs = changed(&base, "theirs");
    let (time, merged) = best(|| merge(base.as_bytes(), &ours, &theirs, &AlwaysClash));
    let clashes = merged.map_or(0, |merged| merged.clashes.len());
    writeln!(
        out,
        "merge    1,000 nodes added and 50 edited on each side   {time:?}   {clashes} clashes"
    )
}

/// CPU time of this program where the system reports it; otherwise elapsed time. On a shared
/// machine only CPU time is meaningful.
fn clock(since: Instant) -> Duration {
    let told = std::fs::read_to_string("/proc/self/schedstat").ok();
    let nanoseconds = told.and_then(|text| text.split_whitespace().next()?.parse().ok());
    nanoseconds.map_or_else(|| since.elapsed(), Duration::from_nanos)
}

fn best<T>(work: impl Fn() -> T) -> (Duration, T) {
    let began = Instant::now();
    let timed = || {
        let (start, wall) = (clock(began), Instant::now());
        let done = work();
        let (given, passed) = (clock(began).saturating_sub(start), wall.elapsed());
        // The system counts in steps of a few milliseconds.
        (if given < Duration::from_millis(20) { passed } else { given }, done)
    };
    let mut best = timed();
    for _ in 0..4 {
        let next = timed();
        if next.0 < best.0 {
            best = next;
        }
    }
    best
}

fn graph(nodes: usize, prefix: &str, edges: usize) -> String {
    let mut out = String::from("digraph Knowledge {\n");
    for node in 0..nodes {
        let _ = writeln!(
            out,
            "    \"{prefix}{node}\" [\n        type=\"component\"\n        level=\"implementation\"\n        status=\"current\"\n        \
             description=\"What number {node} is for, in a sentence\"\n        path=\"src/{prefix}/{node}.rs\"\n    ];"
        );
    }
    for edge in 0..edges {
        let _ = writeln!(
            out,
            "    \"{prefix}{}\" -> \"{prefix}{}\" [relation=\"uses\"];",
            edge % nodes,
            (edge * 7 + 1) % nodes
        );
    }
    out.push_str("}\n");
    out
}

/// The base with 50 common nodes edited and 1,000 nodes with edges added.
fn changed(base: &str, side: &str) -> Vec<u8> {
    let mut text = base.trim_end().trim_end_matches('}').to_owned();
    for node in 0..50 {
        text = text.replace(
            &format!("What number {node} is for, in a sentence"),
            &format!("What {side} says of {node}"),
        );
    }
    for node in 0..1_000 {
        let _ = writeln!(
            text,
            "    \"{side}{node}\" [type=\"rule\", status=\"current\"];\n    \"{side}{node}\" -> \"n{node}\" [relation=\"uses\"];"
        );
    }
    text.push_str("}\n");
    text.into_bytes()
}
