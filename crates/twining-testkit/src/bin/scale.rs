//! `scale`: how far one writer of a repository goes, by simulation.
//!
//! Posts arrive at random times; the writer puts whatever waits into one transaction, up to a
//! number of lines, and takes the next batch when the commit returned. The times of a commit come
//! from a measurement and are given on the command line: `figures service` prints them. The
//! simulation is deterministic, so that two people get the same table.

use std::collections::VecDeque;
use std::fmt::Write as _;

use clap::Parser;

/// Posts that one simulation lasts.
const POSTS: usize = 200_000;
/// Posts at the beginning that do not count: the queue starts empty.
const WARM_UP: usize = 10_000;
/// A queue of this length will not become shorter again.
const HOPELESS: usize = 50_000;

#[derive(Parser)]
#[command(about = "Simulates one repository's writer and prints latencies by load, as Markdown")]
struct ScaleArguments {
    /// Time of a commit of one line, in milliseconds; several are separated by commas
    #[arg(long, value_delimiter = ',', default_values_t = [1.0, 2.5, 4.0, 8.0])]
    commit_ms: Vec<f64>,
    /// What each further line of a transaction adds, in milliseconds
    #[arg(long, default_value_t = 0.02)]
    line_ms: f64,
    /// Posts a second
    #[arg(long, value_delimiter = ',', default_values_t = [200.0, 1_000.0, 3_000.0, 10_000.0])]
    rate: Vec<f64>,
    /// Lines a transaction takes at most
    #[arg(long, value_delimiter = ',', default_values_t = [1, 64])]
    batch: Vec<usize>,
}

/// One writer and what it is given to do.
#[derive(Clone, Copy, Debug)]
struct WriterLoad {
    /// Seconds of a commit of one line, on average.
    commit: f64,
    /// Seconds that each further line adds.
    line: f64,
    /// Posts a second.
    rate: f64,
    /// Lines a transaction takes at most.
    batch: usize,
}

/// Milliseconds from a post's arrival to its acknowledgement; none if the queue only grows.
#[derive(Clone, Copy, Debug, PartialEq)]
struct SimulatedLatency {
    p50: f64,
    p99: f64,
}

fn simulate(load: WriterLoad) -> Option<SimulatedLatency> {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut arrivals = 0.0;
    let mut next_arrival = move || {
        arrivals += random.exponential() / load.rate;
        arrivals
    };
    let mut commits = Random(0xD1B5_4A32_D192_ED03);
    let (mut waiting, mut took) = (VecDeque::new(), Vec::with_capacity(POSTS));
    let (mut next, mut free_at) = (next_arrival(), 0.0_f64);
    while took.len() < POSTS {
        if waiting.is_empty() {
            free_at = free_at.max(next);
        }
        while next <= free_at {
            waiting.push_back(next);
            next = next_arrival();
        }
        if waiting.len() > HOPELESS {
            return None;
        }
        let lines = waiting.len().min(load.batch);
        // Half of a commit's time is steady and half varies: a flush sometimes waits for another.
        let commit = load.commit * (0.5 + 0.5 * commits.exponential());
        free_at += commit + load.line * (lines.saturating_sub(1)) as f64;
        took.extend(waiting.drain(..lines).map(|arrived| (free_at - arrived) * 1000.0));
    }
    let mut counted = took.split_off(WARM_UP);
    counted.sort_by(f64::total_cmp);
    let percentile = |share: f64| counted[((counted.len() - 1) as f64 * share) as usize];
    Some(SimulatedLatency { p50: percentile(0.5), p99: percentile(0.99) })
}

/// Numbers that look random and are the same each time.
struct Random(u64);

impl Random {
    /// Between zero and one.
    fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// As pauses between independent events are distributed, one on average.
    fn exponential(&mut self) -> f64 {
        -(1.0 - self.uniform()).ln()
    }
}

fn table(arguments: &ScaleArguments) -> String {
    let mut text = String::from("| commit ms | batch |");
    for rate in &arguments.rate {
        let _ = write!(text, " {rate} posts/s: p50 / p99 ms |");
    }
    text.push_str("\n|---|---|");
    text.push_str(&"---|".repeat(arguments.rate.len()));
    for &commit in &arguments.commit_ms {
        for &batch in &arguments.batch {
            let _ = write!(text, "\n| {commit} | {batch} |");
            for &rate in &arguments.rate {
                let line = arguments.line_ms / 1000.0;
                let load = WriterLoad { commit: commit / 1000.0, line, rate, batch };
                match simulate(load) {
                    Some(SimulatedLatency { p50, p99 }) => {
                        let _ = write!(text, " {p50:.1} / {p99:.1} |");
                    }
                    None => text.push_str(" grows without end |"),
                }
            }
        }
    }
    text
}

#[expect(clippy::print_stdout, reason = "this is a program for people")]
fn main() {
    println!("{}", table(&ScaleArguments::parse()));
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALM: WriterLoad = WriterLoad { commit: 0.004, line: 0.00002, rate: 20.0, batch: 64 };

    #[test]
    fn an_idle_writer_takes_the_time_of_a_commit() {
        let latency = simulate(CALM).expect("keeps up");
        assert!((3.0..6.0).contains(&latency.p50), "{latency:?}");
    }

    #[test]
    fn without_batches_a_writer_is_overrun_where_with_batches_it_keeps_up() {
        let busy = WriterLoad { rate: 1_000.0, ..CALM };
        assert_eq!(simulate(WriterLoad { batch: 1, ..busy }), None);
        assert!(simulate(busy).expect("keeps up").p99 < 40.0);
    }

    #[test]
    fn the_same_load_gives_the_same_figures() {
        assert_eq!(simulate(CALM), simulate(CALM));
    }
}
