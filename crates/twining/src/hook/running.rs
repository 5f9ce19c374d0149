//! Commands between their beginning and their end: a run of tests counts only if
//! this session was asked about it before, and nothing else of its agent ran
//! meanwhile that could have made the call up.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use twining_engine::guards::{Action, Heard};
use twining_store::Store;
use twining_store::disk::hash_of;

/// What is told of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Told {
    /// The host's name of the call, where it gives one.
    call: Option<String>,
    /// Whose; the main agent is the empty name.
    agent: String,
    command: u64,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum What {
    /// It was let through.
    Begins,
    /// It ended, and the host does not say how.
    Ends,
    /// It ended, and the host says how.
    EndsSo,
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

/// Notes a command that is about to run. One line is added, since a tool waits.
pub fn begins(store: &Store, heard: &Heard) {
    add(store, heard, What::Begins);
}

/// Notes the end of a command. One line is added, and none is read.
pub fn ended(store: &Store, heard: &Heard) {
    add(store, heard, end_of(heard));
}

/// Notes the end of a command, and tells whether it is what was asked about.
pub fn ends(store: &Store, heard: &Heard) -> Known {
    let what = end_of(heard);
    let says_how = what == What::EndsSo;
    let Some(ended) = of(heard, what) else { return Known::Unasked };
    let mut running: Vec<Told> = Vec::new();
    for told in read(store, heard) {
        let is_same = |known: &Told| (known.command, &known.agent) == (told.command, &told.agent) && known.is_call_of(&told);
        match told.what {
            // Asked about twice, by two events of one host, it is one.
            What::Begins => {
                running.retain(|known| !is_same(known));
                running.push(told);
            }
            What::Ends => running.iter_mut().filter(|known| is_same(known)).for_each(|known| known.what = What::Ends),
            What::EndsSo => running.retain(|known| !is_same(known)),
        }
    }
    add(store, heard, what);
    let is_same = |known: &&Told| (known.command, &known.agent) == (ended.command, &ended.agent) && known.is_call_of(&ended);
    match running.iter().find(is_same) {
        None => Known::Unasked,
        // Told again only by a host that did not say how it ended, and now does.
        Some(known) if known.what == What::Ends && !says_how => Known::Unasked,
        Some(_) => {
            let others = running.iter().any(|known| known.what == What::Begins && known.agent == ended.agent && !is_same(&known));
            if others { Known::AmongOthers } else { Known::Alone }
        }
    }
}

/// The agents of a session with a command that was begun and has not ended; the main
/// agent is the empty name.
pub fn agents(store: &Store, session: &str) -> BTreeSet<String> {
    let mut running: Vec<Told> = Vec::new();
    for told in lines(store, &named(session)) {
        running.retain(|known| (known.command, &known.agent) != (told.command, &told.agent) || !known.is_call_of(&told));
        if told.what == What::Begins {
            running.push(told);
        }
    }
    running.into_iter().map(|told| told.agent).collect()
}

/// The turn is over, or another begins: whatever was begun has ended, or was refused.
pub fn forget(store: &Store, heard: &Heard) {
    if store.has_note(&name(heard)).unwrap_or(false) {
        let _ = store.drop_note(&name(heard));
    }
}

impl Told {
    /// Whether both are of one call, as far as the host names calls.
    fn is_call_of(&self, other: &Self) -> bool {
        self.call.is_none() || other.call.is_none() || self.call == other.call
    }
}

fn end_of(heard: &Heard) -> What {
    let says_how = heard.outcome.as_ref().is_some_and(|outcome| outcome.exit_code.is_some());
    if says_how { What::EndsSo } else { What::Ends }
}

fn of(heard: &Heard, what: What) -> Option<Told> {
    let Action::Shell(command) = &heard.event.action else { return None };
    let agent = heard.event.agent_id.clone().unwrap_or_default();
    Some(Told { call: heard.call.clone(), agent, command: hash_of(command.as_bytes()), what })
}

/// What cannot be kept is no evidence later.
fn add(store: &Store, heard: &Heard, what: What) {
    if let Some(line) = of(heard, what).and_then(|told| serde_json::to_string(&told).ok()) {
        let _ = store.add_to_note(&name(heard), &line);
    }
}

fn read(store: &Store, heard: &Heard) -> Vec<Told> {
    lines(store, &name(heard))
}

fn lines(store: &Store, name: &str) -> Vec<Told> {
    let lines = store.note_lines(name).unwrap_or_default();
    lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn name(heard: &Heard) -> String {
    named(&heard.session)
}

fn named(session: &str) -> String {
    format!("running-{session}")
}
