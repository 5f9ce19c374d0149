//! Agents that call over HTTP, and watchers who wait for what the others write.
//!
//! Everybody is connected and has called, and the load has been on for a few seconds, before
//! anything counts: folders are made and statements prepared. An agent that is late, because its
//! last call took longer than its pause, counts from when it should have called.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::http_client::{HttpConnection, get_request, tool_request};
use super::nodes::{Cluster, ProcessorTime};
use crate::client::BenchResult;
use crate::latency::post_arguments;
use crate::store::FixedRandom;
use crate::table::LatencySample;

/// Stands before the number of a post in its text.
const MARK: &str = "mark-";
const MARK_DIGITS: usize = 8;
/// Posts whose time is remembered for the watchers.
const MARKED: usize = 1 << 19;
/// How long a watcher waits in one call.
const WATCH_SECONDS: u64 = 5;
/// How long the load is on before it counts.
const WARM_UP: Duration = Duration::from_secs(5);
/// Steps of the pauses between calls.
const FINE: usize = 1 << 20;

/// What an agent calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AgentCall {
    Post,
    Recent,
    Assemble,
}

/// What one agent does, and where.
#[derive(Clone, Debug)]
pub(super) struct AgentPlan {
    pub(super) node: usize,
    pub(super) repository: usize,
    pub(super) token: usize,
    /// One of these at random, each under the name of its sample.
    pub(super) calls: &'static [(&'static str, AgentCall)],
    /// From one call to the next, on average; none for without pause.
    pub(super) pause: Duration,
}

/// What was measured.
#[derive(Debug, Default)]
pub(super) struct LoadResult {
    /// Times of calls, by name.
    pub(super) samples: BTreeMap<&'static str, LatencySample>,
    /// Calls that were answered in time, a second, by name.
    pub(super) rates: BTreeMap<&'static str, f64>,
    /// From sending a post until a watcher on the other node has it.
    pub(super) seen: LatencySample,
    /// Calls that failed, by status.
    pub(super) failed: BTreeMap<u16, usize>,
    /// Connections that a node had closed.
    pub(super) reopened: usize,
    /// Seconds of processor time a second.
    pub(super) cores: ProcessorTime,
}

impl LoadResult {
    /// The times of the calls of a name.
    pub(super) fn of(&self, name: &str) -> LatencySample {
        self.samples.get(name).cloned().unwrap_or_default()
    }

    /// Cores of nodes, database and load.
    pub(super) fn cores_text(&self) -> String {
        let ProcessorTime { nodes, database, load } = self.cores;
        format!("{nodes:.2} / {database:.2} / {load:.2}")
    }

    /// What went wrong, and how often a connection was made again.
    pub(super) fn troubles(&self) -> String {
        let failed: usize = self.failed.values().sum();
        let calls: usize = self.samples.values().map(LatencySample::len).sum();
        let by_status = if failed > 0 { format!(" {:?}", self.failed) } else { String::new() };
        format!("{calls} calls, {failed} failed{by_status}, {} reconnections", self.reopened)
    }
}

/// When each post was sent, for those who see it elsewhere.
struct SentPosts {
    began: Instant,
    counted_from: Instant,
    next: AtomicUsize,
    /// Microseconds after the beginning.
    at: Vec<AtomicU64>,
}

struct LoadAgent {
    plan: AgentPlan,
    connection: HttpConnection,
    dice: FixedRandom,
    path: String,
    token: String,
    result: LoadResult,
    in_time: BTreeMap<&'static str, usize>,
}

/// Lets agents work for a while. Watchers wait on the second node for these repositories.
pub(super) fn run(
    cluster: &Cluster,
    plans: Vec<AgentPlan>,
    lasting: Duration,
    watched: &[usize],
) -> BenchResult<LoadResult> {
    cluster.runtime.block_on(async {
        let mut connecting = JoinSet::new();
        for (number, plan) in plans.into_iter().enumerate() {
            let agent = LoadAgent::connect(cluster, plan, number as u64).await?;
            connecting.spawn(agent.first_call());
        }
        let agents = finished(connecting).await?;
        let mut watchers = Vec::new();
        for &repository in watched {
            watchers.push(Watcher::connect(cluster, repository).await?);
        }
        let began = Instant::now();
        let counted_from = began + WARM_UP;
        let until = counted_from + lasting;
        let at = (0..MARKED).map(|_| AtomicU64::new(0)).collect();
        let sent = Arc::new(SentPosts { began, counted_from, next: AtomicUsize::new(0), at });
        let (mut working, mut watching) = (JoinSet::new(), JoinSet::new());
        for agent in agents {
            working.spawn(agent.work(Arc::clone(&sent), until));
        }
        for watcher in watchers {
            watching.spawn(watcher.watch(Arc::clone(&sent), until));
        }
        tokio::time::sleep_until(counted_from.into()).await;
        let before = cluster.processor_time();
        tokio::time::sleep_until(until.into()).await;
        let used = cluster.processor_time().since(before);
        let mut result = LoadResult::default();
        let seconds = lasting.as_secs_f64();
        for agent in finished(working).await? {
            for (name, sample) in agent.result.samples {
                result.samples.entry(name).or_default().extend(sample);
            }
            for (name, count) in agent.in_time {
                *result.rates.entry(name).or_default() += count as f64 / seconds;
            }
            for (status, count) in agent.result.failed {
                *result.failed.entry(status).or_default() += count;
            }
            result.reopened += agent.connection.reopened;
        }
        for seen in finished(watching).await? {
            result.seen.extend(seen);
        }
        result.cores = ProcessorTime {
            nodes: used.nodes / seconds,
            database: used.database / seconds,
            load: used.load / seconds,
        };
        Ok::<_, Box<dyn std::error::Error>>(result)
    })
}

async fn finished<T: Send + 'static>(mut tasks: JoinSet<io::Result<T>>) -> BenchResult<Vec<T>> {
    let mut done = Vec::new();
    while let Some(task) = tasks.join_next().await {
        done.push(task??);
    }
    Ok(done)
}

impl LoadAgent {
    async fn connect(cluster: &Cluster, plan: AgentPlan, series: u64) -> io::Result<Self> {
        Ok(Self {
            connection: HttpConnection::open(cluster.nodes[plan.node].port).await?,
            dice: FixedRandom::new(1_000 + series * 7_919),
            path: format!("{}/mcp", cluster.repositories[plan.repository].path),
            token: cluster.tokens[plan.token].clone(),
            plan,
            result: LoadResult::default(),
            in_time: BTreeMap::new(),
        })
    }

    /// A call that does not count: the node knows the token and has the repository open.
    async fn first_call(mut self) -> io::Result<Self> {
        let request = tool_request(&self.path, &self.token, "twining_recent", &json!({"n": 1}));
        let answer = self.connection.send(&request).await?;
        if answer.is_done() {
            Ok(self)
        } else {
            Err(io::Error::other(format!("{} {}", answer.status, answer.body)))
        }
    }

    async fn work(mut self, sent: Arc<SentPosts>, until: Instant) -> io::Result<Self> {
        let mut due = sent.began;
        loop {
            due += self.plan.pause.mul_f64(self.exponential());
            let now = Instant::now();
            let from = if self.plan.pause.is_zero() {
                now
            } else if now > due {
                due
            } else {
                tokio::time::sleep_until(due.min(until).into()).await;
                Instant::now()
            };
            if from >= until || due >= until {
                return Ok(self);
            }
            let (name, call) = self.plan.calls[self.dice.below(self.plan.calls.len())];
            let request = self.request(call, &sent);
            let answer = self.connection.send(&request).await?;
            let ended = Instant::now();
            if !answer.is_done() {
                *self.result.failed.entry(answer.status).or_default() += 1;
                continue;
            }
            if from < sent.counted_from {
                continue;
            }
            self.result.samples.entry(name).or_default().push(ended - from);
            *self.in_time.entry(name).or_default() += usize::from(ended <= until);
        }
    }

    fn request(&mut self, call: AgentCall, sent: &SentPosts) -> String {
        let (tool, arguments) = match call {
            AgentCall::Post => ("twining_post", self.post(sent)),
            AgentCall::Recent => ("twining_recent", json!({"n": 10})),
            AgentCall::Assemble => (
                "twining_assemble",
                json!({"task": self.dice.sentence(25), "scope": self.dice.file()}),
            ),
        };
        tool_request(&self.path, &self.token, tool, &arguments)
    }

    /// A post with a number that says which it is and, by its last bit, through which node.
    fn post(&mut self, sent: &SentPosts) -> Value {
        let number = sent.next.fetch_add(1, Ordering::Relaxed);
        let mut arguments = post_arguments(&mut self.dice, number);
        if let Some(at) = sent.at.get(number) {
            let mark = number * 2 + self.plan.node;
            arguments["summary"] = format!("{MARK}{mark:08} {}", self.dice.sentence(8)).into();
            at.store(sent.elapsed_micros(), Ordering::Release);
        }
        arguments
    }

    /// As pauses between independent calls are distributed, one on average.
    fn exponential(&mut self) -> f64 {
        -(1.0 - self.dice.below(FINE) as f64 / FINE as f64).ln()
    }
}

impl SentPosts {
    fn elapsed_micros(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// Since the posts in this text were sent, of those that came through the first node.
    fn seen_in(&self, text: &str, seen: &mut LatencySample) {
        let now = self.elapsed_micros();
        for (at, _) in text.match_indices(MARK) {
            let digits = text.get(at + MARK.len()..at + MARK.len() + MARK_DIGITS);
            let mark: Option<usize> = digits.and_then(|digits| digits.parse().ok());
            let Some(mark) = mark.filter(|mark| mark.is_multiple_of(2)) else { continue };
            if let Some(sent) = self.at.get(mark / 2) {
                let sent = Duration::from_micros(sent.load(Ordering::Acquire));
                if self.began + sent >= self.counted_from {
                    seen.push(Duration::from_micros(now).saturating_sub(sent));
                }
            }
        }
    }
}

/// Waits on the second node for the lines of a repository.
struct Watcher {
    connection: HttpConnection,
    path: String,
    token: String,
    after: u64,
}

impl Watcher {
    async fn connect(cluster: &Cluster, repository: usize) -> BenchResult<Self> {
        let mut connection = HttpConnection::open(cluster.nodes[1].port).await?;
        let path = format!("{}/v1/since", cluster.repositories[repository].path);
        let token = cluster.tokens[cluster.tokens.len() - 1].clone();
        let request = get_request(&format!("{path}?after=0&limit=1"), &token);
        let answer = connection.send(&request).await?.json()?;
        let after = answer["head"].as_u64().ok_or("no head")?;
        Ok(Self { connection, path, token, after })
    }

    async fn watch(mut self, sent: Arc<SentPosts>, until: Instant) -> io::Result<LatencySample> {
        let mut seen = LatencySample::default();
        while Instant::now() < until {
            let path = format!("{}?after={}&wait={WATCH_SECONDS}", self.path, self.after);
            let answer = self.connection.send(&get_request(&path, &self.token)).await?;
            if answer.status != 200 {
                return Err(io::Error::other(format!("{} {}", answer.status, answer.body)));
            }
            sent.seen_in(&answer.body, &mut seen);
            let lines = answer.json()?;
            let last = lines["lines"].as_array().and_then(|lines| lines.last()?["seq"].as_u64());
            self.after = last.unwrap_or(self.after);
        }
        Ok(seen)
    }
}
