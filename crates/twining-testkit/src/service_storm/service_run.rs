//! The course of a storm: who writes, who is killed when, what is cut off, and what is left.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use super::callers::HttpCaller;
use super::clones::StormClone;
use super::comparison::{StormFindings, compare};
use super::fault_proxy::FaultProxy;
use super::machines::{NODES, StormMachines};
use super::progress::{StormProgress, StormRandom};

/// Callers over HTTP that decide.
const DECIDERS: usize = 2;
const CLONES: usize = 2;
/// How long a killed process stays away at most before it is started again.
const AWAY: Duration = Duration::from_millis(300);
/// How long a connection falls silent in between: so long at least, and so much longer at most.
const SILENCE: Duration = Duration::from_millis(300);
const SILENCE_SPREAD: Duration = Duration::from_millis(1500);
const TICK: Duration = Duration::from_millis(20);

/// What a storm is made of.
#[derive(Clone, Debug)]
pub struct ServiceStorm {
    /// Processes to be killed.
    pub kills: usize,
    /// Writes to be acknowledged before it ends.
    pub writes: usize,
    /// Decides who is killed when, and which answers are lost.
    pub seed: u64,
    /// Callers over HTTP that append.
    pub callers: usize,
    /// Lines of each append.
    pub lines: usize,
    /// Whether the proxies lose answers, cut and delay.
    pub is_faulty: bool,
    /// How long a clone and a node are cut off, half-way; zero for never.
    pub partition: Duration,
    /// Seconds that the clock of a clone is ahead.
    pub clock: i64,
    /// Whether every flush of the database takes a tenth of a second longer.
    pub slow_flushes: bool,
    /// When to give up.
    pub limit: Duration,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct ServiceStormResult {
    /// Writes that were acknowledged.
    pub acknowledged: usize,
    /// Those among them that a clone acknowledged before the log had them.
    pub unsynced: usize,
    /// Decisions among them.
    pub decisions: usize,
    /// The last number of the log.
    pub head: u64,
    /// Processes that were killed, by what they are.
    pub killed: BTreeMap<String, usize>,
    /// Answers that passed the proxies, and how many were swallowed.
    pub answers: usize,
    /// See `answers`.
    pub swallowed: usize,
    /// Requests that were cut before they arrived.
    pub cut: usize,
    /// Calls that were made again, by what had happened.
    pub retried: BTreeMap<String, usize>,
    /// Calls that failed for good.
    pub failed: Vec<String>,
    /// Writes that a clone acknowledged while it was cut off.
    pub partition_writes: usize,
    /// The longest time in which the log took nothing.
    pub stall: Duration,
    /// The longest that any caller waited for an acknowledgement.
    pub longest_call: Duration,
    /// How long writes were made.
    pub lasted: Duration,
    /// Whether it reached its size before its limit.
    pub is_complete: bool,
    /// What is wrong.
    pub findings: StormFindings,
}

/// A process that may be killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Victim {
    Database,
    Node(usize),
    Clone(usize),
}

const VICTIMS: [Victim; 5] =
    [Victim::Database, Victim::Node(0), Victim::Node(1), Victim::Clone(0), Victim::Clone(1)];

/// Everybody who takes part.
struct StormField {
    machines: StormMachines,
    clones: Vec<StormClone>,
    progress: StormProgress,
    token: String,
}

/// Lets a storm loose on nodes of this program; none where PostgreSQL is not installed.
pub fn rage(program: &Path, storm: &ServiceStorm) -> Option<ServiceStormResult> {
    let field = StormField::new(program, storm)?;
    let (mut killed, mut partition_writes) = (BTreeMap::new(), 0);
    let result = field.run(storm, || {
        let mut random = StormRandom::new(storm.seed);
        let mut rounds = 0;
        let count = |killed: &BTreeMap<String, usize>| killed.values().sum::<usize>();
        let mut is_partitioned = storm.partition.is_zero();
        while count(&killed) < storm.kills && !field.wait_for(storm, count(&killed), storm.kills) {
            if !is_partitioned && count(&killed) >= storm.kills / 2 {
                is_partitioned = true;
                partition_writes = field.cut_off(storm.partition);
            }
            for (name, times) in field.kill(&victims(rounds, &mut random), &mut random) {
                *killed.entry(name).or_default() += times;
            }
            if storm.is_faulty && random.below(3) == 0 {
                field.silence(&mut random);
            }
            rounds += 1;
        }
        if !is_partitioned {
            partition_writes = field.cut_off(storm.partition);
        }
    });
    Some(ServiceStormResult { killed, partition_writes, ..result })
}

/// Replaces every node under load by one of another program, after a step of the schema that
/// neither program needs; none where PostgreSQL is not installed. Also answers how the replaced
/// nodes ended.
pub fn upgrade(
    program: &Path,
    next: &Path,
    storm: &ServiceStorm,
) -> Option<(ServiceStormResult, Vec<Option<i32>>)> {
    let field = StormField::new(program, storm)?;
    let mut ended = Vec::new();
    let steps = NODES + 2;
    let result = field.run(storm, || {
        if field.wait_for(storm, 1, steps) {
            return;
        }
        field.machines.migrate(next);
        for number in 0..NODES {
            if field.wait_for(storm, number + 2, steps) {
                return;
            }
            ended.push(field.machines.replace_node(number, next, || field.lead_all()));
        }
    });
    Some((result, ended))
}

impl StormField {
    fn new(program: &Path, storm: &ServiceStorm) -> Option<Self> {
        let machines = StormMachines::start(program, storm.seed)?;
        if storm.slow_flushes {
            for setting in ["commit_delay = 100000", "commit_siblings = 0"] {
                machines.sql(&format!("alter system set {setting}"));
            }
            machines.sql("select pg_reload_conf()");
        }
        let token = machines.token("caller", "agent");
        let clones = (0..CLONES)
            .map(|number| {
                let clock = if number == CLONES - 1 { storm.clock } else { 0 };
                StormClone::link(&machines, number, storm.seed + 10 + number as u64, clock)
            })
            .collect();
        Some(Self { machines, clones, progress: StormProgress::new(), token })
    }

    /// Lets everybody write while `drive` does its part, until enough is acknowledged; then
    /// settles and compares.
    fn run(&self, storm: &ServiceStorm, drive: impl FnOnce()) -> ServiceStormResult {
        let began = Instant::now();
        self.set_faulty(storm.is_faulty);
        let is_complete = thread::scope(|scope| {
            let caller = || {
                let port = self.machines.to_nodes.port;
                HttpCaller::new(self.machines.address(port, &self.token))
            };
            for number in 0..storm.callers {
                let caller = caller();
                scope.spawn(move || caller.append(number, storm.lines, &self.progress));
            }
            for number in 0..DECIDERS {
                let caller = caller();
                scope.spawn(move || caller.decide(number, &self.progress));
            }
            for clone in &self.clones {
                scope.spawn(|| clone.write(&self.progress));
            }
            drive();
            let is_late = self.wait_for(storm, 1, 1);
            self.progress.end();
            !is_late
        });
        let lasted = began.elapsed();
        self.set_faulty(false);
        let counts = self.machines.proxy_counts(self.clones.iter().map(|clone| &clone.proxy));
        // Twice: what the last one sends, the first one has to receive.
        self.clones.iter().chain(&self.clones).for_each(StormClone::settle);
        let mut folders = self.machines.settle_nodes(&self.token);
        let of = |clone: &StormClone| (clone.name.clone(), clone.folder.clone());
        folders.extend(self.clones.iter().map(of));
        let known = self.progress.acknowledged();
        let findings = compare(&self.machines, &folders, &known);
        let (stall, longest_call) = self.progress.stalls();
        ServiceStormResult {
            acknowledged: self.progress.count(),
            unsynced: self.unsynced(),
            decisions: known.decisions.len(),
            head: self.machines.sql("select max(head) from twining.repo").parse().unwrap_or(0),
            killed: BTreeMap::new(),
            answers: counts.answers,
            swallowed: counts.swallowed,
            cut: counts.cut,
            retried: self.progress.retries(),
            failed: self.progress.failures(),
            partition_writes: 0,
            stall,
            longest_call,
            lasted,
            is_complete,
            findings,
        }
    }

    /// Waits until this share of the writes is acknowledged. Whether the storm must end instead:
    /// it took too long, or a call failed for good.
    fn wait_for(&self, storm: &ServiceStorm, part: usize, of: usize) -> bool {
        let goal = storm.writes * part / of.max(1);
        while self.progress.count() < goal {
            let is_late = self.progress.started().elapsed() > storm.limit;
            if is_late || !self.progress.failures().is_empty() {
                return true;
            }
            thread::sleep(TICK);
        }
        false
    }

    /// Kills these at once, and starts them again.
    fn kill(&self, victims: &[Victim], random: &mut StormRandom) -> BTreeMap<String, usize> {
        let mut killed = BTreeMap::new();
        for victim in victims {
            let (name, is_killed) = match *victim {
                Victim::Database => {
                    self.machines.postgres.kill();
                    ("database", true)
                }
                Victim::Node(number) => {
                    self.machines.kill_node(number);
                    ("node", true)
                }
                Victim::Clone(number) => ("clone", self.clones[number].kill()),
            };
            *killed.entry(name.to_owned()).or_default() += usize::from(is_killed);
        }
        thread::sleep(AWAY.mul_f64(random.share()));
        thread::scope(|scope| {
            for victim in victims {
                scope.spawn(|| match *victim {
                    Victim::Database => self.machines.postgres.restart(),
                    Victim::Node(number) => {
                        self.machines.restart_node(number);
                        self.lead_all();
                    }
                    // Its agent starts it.
                    Victim::Clone(_) => {}
                });
            }
        });
        killed
    }

    /// Cuts a clone off the service and a node off the database, and returns how much the clone
    /// wrote meanwhile.
    fn cut_off(&self, lasting: Duration) -> usize {
        let before = self.unsynced();
        self.clones[0].proxy.fall_silent(lasting);
        self.machines.to_database[0].fall_silent(lasting);
        thread::sleep(lasting);
        self.unsynced() - before
    }

    /// Lets one of the ways fall silent for a moment.
    fn silence(&self, random: &mut StormRandom) {
        let ways: Vec<&FaultProxy> = self.proxies().collect();
        let chosen = random.below(ways.len() as u64);
        let lasting = SILENCE + SILENCE_SPREAD.mul_f64(random.share());
        ways[usize::try_from(chosen).unwrap_or_default()].fall_silent(lasting);
    }

    fn set_faulty(&self, is_faulty: bool) {
        self.proxies().for_each(|proxy| proxy.set_faulty(is_faulty));
    }

    /// Leads everybody to the nodes as they are now.
    fn lead_all(&self) {
        self.machines.lead(&self.machines.to_nodes, &[0, 1]);
        for clone in &self.clones {
            self.machines.lead(&clone.proxy, &[0, 1]);
        }
    }

    fn proxies(&self) -> impl Iterator<Item = &FaultProxy> {
        let of_clones = self.clones.iter().map(|clone| &clone.proxy);
        self.machines.to_database.iter().chain([&self.machines.to_nodes]).chain(of_clones)
    }

    fn unsynced(&self) -> usize {
        self.clones.iter().map(|clone| clone.unsynced.load(Ordering::SeqCst)).sum()
    }
}

/// Who is killed in a round: each alone once, two, all; then by chance.
fn victims(round: usize, random: &mut StormRandom) -> Vec<Victim> {
    let mut draw = |limit: u64| usize::try_from(random.below(limit)).unwrap_or_default();
    let turn = if round < VICTIMS.len() + 2 { round } else { draw(VICTIMS.len() as u64 + 3) };
    match turn {
        turn if turn < VICTIMS.len() => vec![VICTIMS[turn]],
        6 => VICTIMS.to_vec(),
        _ => {
            let first = draw(VICTIMS.len() as u64);
            let second = (first + 1 + draw(VICTIMS.len() as u64 - 1)) % VICTIMS.len();
            vec![VICTIMS[first], VICTIMS[second]]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_is_killed_alone_then_two_then_all() {
        let mut random = StormRandom::new(1);
        let rounds: Vec<Vec<Victim>> = (0..40).map(|round| victims(round, &mut random)).collect();
        assert!((0..5).all(|round| rounds[round] == [VICTIMS[round]]));
        assert_eq!((rounds[5].len(), rounds[6].len()), (2, 5));
        let is_a_set = |round: &Vec<Victim>| {
            let unique: std::collections::BTreeSet<&Victim> = round.iter().collect();
            unique.len() == round.len() && !round.is_empty()
        };
        assert!(rounds.iter().all(is_a_set));
    }
}
