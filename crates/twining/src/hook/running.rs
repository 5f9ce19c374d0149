//! Commands between their beginning and their end: a run of tests counts only if
//! this session was asked about it before, and nothing else of its agent ran
//! meanwhile that could have made the call up.

use serde::{Deserialize, Serialize};
use twining_engine::guards::{Action, Heard};
use twining_store::Store;
use twining_store::disk::hash_of;

/// Commands of a session that are remembered.
const MOST: usize = 32;

/// A command that was let through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Begun {
    /// The host's name of the call, where it gives one.
    call: Option<String>,
    /// Whose; the main agent is the empty name.
    agent: String,
    command: u64,
    /// Whether its end was told.
    ended: bool,
}

/// What is known of a command that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// It was begun, and ran alone.
    Alone,
    /// Nobody asked before it ran.
    Unasked,
    /// Another command of the same agent had not ended.
    AmongOthers,
}

/// Notes a command that is about to run.
pub fn begins(store: &Store, heard: &Heard) {
    let Some(begun) = of(heard).filter(|_| store.exists().unwrap_or(false)) else { return };
    let mut running = read(store, heard);
    // What ended has been asked about; the same command asked about twice is one.
    running.retain(|known| !known.ended && (known.command, &known.agent) != (begun.command, &begun.agent));
    running.push(begun);
    let surplus = running.len().saturating_sub(MOST);
    running.drain(..surplus);
    keep(store, heard, &running);
}

/// Notes the end of a command, and whether it is what was asked about.
pub fn ends(store: &Store, heard: &Heard) -> Known {
    let Some(ended) = of(heard) else { return Known::Unasked };
    let mut running = read(store, heard);
    let is_same = |known: &&mut Begun| {
        let same_call = known.call.is_none() || ended.call.is_none() || known.call == ended.call;
        (known.command, &known.agent) == (ended.command, &ended.agent) && same_call
    };
    let Some(known) = running.iter_mut().find(is_same) else { return Known::Unasked };
    // Told again once more only by a host that did not say how it ended.
    let was_told = std::mem::replace(&mut known.ended, true);
    let others = running.iter().any(|known| !known.ended && known.agent == ended.agent);
    let says_how = heard.outcome.as_ref().is_some_and(|outcome| outcome.exit_code.is_some());
    if says_how {
        running.retain(|known| (known.command, &known.agent) != (ended.command, &ended.agent));
    }
    keep(store, heard, &running);
    match (others, was_told) {
        (true, _) => Known::AmongOthers,
        (false, true) if !says_how => Known::Unasked,
        (false, _) => Known::Alone,
    }
}

/// The turn is over, or another begins: whatever was begun has ended, or was refused.
pub fn forget(store: &Store, heard: &Heard) {
    if store.has_note(&name(heard)).unwrap_or(false) {
        let _ = store.drop_note(&name(heard));
    }
}

fn of(heard: &Heard) -> Option<Begun> {
    let Action::Shell(command) = &heard.event.action else { return None };
    let agent = heard.event.agent_id.clone().unwrap_or_default();
    Some(Begun { call: heard.call.clone(), agent, command: hash_of(command.as_bytes()), ended: false })
}

fn read(store: &Store, heard: &Heard) -> Vec<Begun> {
    store.note(&name(heard)).ok().flatten().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

/// What cannot be kept is no evidence later.
fn keep(store: &Store, heard: &Heard, running: &[Begun]) {
    let _ = serde_json::to_vec(running).map(|bytes| store.leave_note(&name(heard), &bytes));
}

fn name(heard: &Heard) -> String {
    format!("running-{}", heard.session)
}
