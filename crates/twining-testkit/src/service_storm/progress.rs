//! What a storm has come to so far: acknowledged writes, retries, the longest silence; and the
//! random numbers that make one storm like another.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Random numbers that a seed decides.
#[derive(Clone, Debug)]
pub(super) struct StormRandom(u64);

impl StormRandom {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below this one, which is not zero.
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }

    /// Between zero and one.
    pub(super) fn share(&mut self) -> f64 {
        self.below(1 << 20) as f64 / f64::from(1 << 20)
    }
}

/// What was acknowledged.
#[derive(Clone, Debug, Default)]
pub(super) struct Acknowledged {
    /// Keys of lines, with their numbers.
    pub(super) lines: BTreeMap<String, u64>,
    /// Summaries of posts.
    pub(super) posts: Vec<String>,
    /// Summaries of decisions, with their ids.
    pub(super) decisions: Vec<(String, String)>,
}

/// What everybody in a storm counts.
pub(super) struct StormProgress {
    acknowledged: Mutex<Acknowledged>,
    count: AtomicUsize,
    is_over: AtomicBool,
    started: Instant,
    silence: Mutex<Silence>,
    retries: Mutex<BTreeMap<String, usize>>,
    failures: Mutex<Vec<String>>,
}

struct Silence {
    last: Instant,
    longest: Duration,
    longest_call: Duration,
}

impl StormProgress {
    pub(super) fn new() -> Self {
        let silence =
            Silence { last: Instant::now(), longest: Duration::ZERO, longest_call: Duration::ZERO };
        Self {
            acknowledged: Mutex::default(),
            count: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
            started: Instant::now(),
            silence: Mutex::new(silence),
            retries: Mutex::default(),
            failures: Mutex::default(),
        }
    }

    /// Notes writes that a clone acknowledged, with or without the log.
    pub(super) fn acknowledge(&self, writes: usize, note: impl FnOnce(&mut Acknowledged)) {
        note(&mut locked(&self.acknowledged));
        self.count.fetch_add(writes, Ordering::SeqCst);
    }

    /// Notes writes that the log has, of a call that was first made then.
    pub(super) fn committed(
        &self,
        asked: Instant,
        writes: usize,
        note: impl FnOnce(&mut Acknowledged),
    ) {
        self.acknowledge(writes, note);
        let mut silence = locked(&self.silence);
        silence.longest = silence.longest.max(silence.last.elapsed());
        silence.longest_call = silence.longest_call.max(asked.elapsed());
        silence.last = Instant::now();
    }

    /// Notes that a call was made again, and why.
    pub(super) fn retried(&self, why: &str) {
        *locked(&self.retries).entry(why.to_owned()).or_default() += 1;
    }

    /// Notes a call that failed for good.
    pub(super) fn failed(&self, why: String) {
        locked(&self.failures).push(why);
    }

    /// Writes that were acknowledged.
    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }

    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    pub(super) fn started(&self) -> Instant {
        self.started
    }

    /// The longest time in which the log took nothing, and that any caller waited for it.
    pub(super) fn stalls(&self) -> (Duration, Duration) {
        let silence = locked(&self.silence);
        (silence.longest, silence.longest_call)
    }

    pub(super) fn acknowledged(&self) -> Acknowledged {
        locked(&self.acknowledged).clone()
    }

    pub(super) fn retries(&self) -> BTreeMap<String, usize> {
        locked(&self.retries).clone()
    }

    pub(super) fn failures(&self) -> Vec<String> {
        locked(&self.failures).clone()
    }
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
