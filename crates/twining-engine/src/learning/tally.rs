//! How often each guard fired, and whether people found it right.
//!
//! Counted once for each line of the traces: what was counted is kept between calls, and
//! the next one reads only what is new.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde::Deserialize;
use twining_guard::Guard;
use twining_model::{Origin, Time, TraceType, Trust};
use twining_store::{Store, StoreError, StoredTrace, TraceCursor};

use crate::learning::guards::Backtest;

/// What hooks sign their traces with.
const HOOK: &str = "enforcement_hook";
/// How long a backtest is good for: hooks record calls all the time.
const BACKTEST_MS: i64 = 60 * 1000;

/// What became of one guard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GuardCounts {
    pub(crate) fired: u64,
    pub(crate) blocked: u64,
    pub(crate) right: u64,
    pub(crate) wrong: u64,
    pub(crate) lifted: u64,
    pub(crate) last_fired: Option<String>,
}

/// What is remembered between calls.
#[derive(Default)]
pub(crate) struct GuardTally(Mutex<TallyState>);

#[derive(Default)]
struct TallyState {
    cursor: TraceCursor,
    guards: HashMap<String, GuardCounts>,
    /// Whether a trace of a guard was judged right: the last word holds.
    judged: HashMap<String, (String, bool)>,
    backtests: HashMap<u64, (Time, Backtest)>,
}

/// The fields of a trace that are counted.
#[derive(Deserialize)]
struct CountedTrace<'l> {
    #[serde(default, borrow)]
    timestamp: Cow<'l, str>,
    #[serde(default, borrow, rename = "type")]
    kind: Cow<'l, str>,
    #[serde(default, borrow)]
    source: Cow<'l, str>,
    #[serde(default)]
    guard: Option<String>,
    #[serde(default)]
    blocked: bool,
    #[serde(default)]
    guessed: bool,
    #[serde(default)]
    about: Option<String>,
    #[serde(default)]
    origin: Option<Origin>,
    #[serde(default, borrow)]
    event: CountedEvent<'l>,
}

#[derive(Default, Deserialize)]
struct CountedEvent<'l> {
    #[serde(default, borrow)]
    what_happened: Cow<'l, str>,
}

impl GuardTally {
    /// The counts of every guard that a trace names.
    pub(crate) fn counts(&self, store: &Store) -> Result<HashMap<String, GuardCounts>, StoreError> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let TallyState { cursor, guards, judged, .. } = &mut *state;
        if !store.traces().each_since(cursor, &mut |stored| count(stored, guards, judged))? {
            (*cursor, *guards, *judged) = Default::default();
            store.traces().each_since(cursor, &mut |stored| count(stored, guards, judged))?;
        }
        let mut counts = guards.clone();
        for (guard, is_right) in judged.values() {
            let counts = counts.entry(guard.clone()).or_default();
            if *is_right { counts.right += 1 } else { counts.wrong += 1 }
        }
        Ok(counts)
    }

    /// A guard's backtest, made again when it is older than a minute.
    pub(crate) fn backtest<E>(
        &self,
        guard: &Guard,
        now: Time,
        test: impl FnOnce() -> Result<Backtest, E>,
    ) -> Result<Backtest, E> {
        let key = twining_store::disk::hash_of(format!("{guard:?}").as_bytes());
        let fresh = |made: Time| (0..BACKTEST_MS).contains(&(now.as_ms() - made.as_ms()));
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = state.backtests.get(&key).filter(|(made, _)| fresh(*made)) {
            return Ok(known.clone());
        }
        let made = test()?;
        state.backtests.retain(|_, (made, _)| fresh(*made));
        state.backtests.insert(key, (now, made.clone()));
        Ok(made)
    }
}

fn count(
    stored: &StoredTrace<'_>,
    guards: &mut HashMap<String, GuardCounts>,
    judged: &mut HashMap<String, (String, bool)>,
) {
    let Ok(trace) = serde_json::from_slice::<CountedTrace<'_>>(stored.line) else { return };
    let Some(guard) = trace.guard else { return };
    let kind = TraceType::read(&trace.kind);
    if kind == Some(TraceType::Violation) && trace.source == HOOK {
        let counts = guards.entry(guard).or_default();
        counts.fired += 1;
        counts.blocked += u64::from(trace.blocked);
        let at = Some(trace.timestamp.into_owned());
        counts.last_fired = counts.last_fired.take().max(at);
        return;
    }
    let is_persons = stored.written_here
        && !trace.guessed
        && trace.origin.is_some_and(|origin| origin.trust == Trust::Human);
    if !is_persons {
        return;
    }
    match (kind, trace.about) {
        (Some(TraceType::Approval), Some(about)) => {
            judged.insert(about, (guard, true));
        }
        (Some(TraceType::Correction), Some(about)) => {
            judged.insert(about, (guard, false));
        }
        (Some(TraceType::Approval), None)
            if trace.event.what_happened.starts_with(&lift_text(&guard, "")) =>
        {
            guards.entry(guard).or_default().lifted += 1;
        }
        _ => {}
    }
}

/// What the trace of a promotion says; `waiting` knows it by that.
pub(crate) fn promotion_text(guard: &str) -> String {
    format!("the guard `{guard}` was promoted: it now blocks")
}

/// The same of one that was discarded.
pub(crate) fn discard_text(guard: &str) -> String {
    format!("the proposed guard `{guard}` was discarded")
}

/// What the trace of a bypass says; bypasses are counted by it.
pub(crate) fn lift_text(guard: &str, until: &str) -> String {
    format!("the guard `{guard}` is lifted until {until}")
}
