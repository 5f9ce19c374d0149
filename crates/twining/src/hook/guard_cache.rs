//! The guards that hold, as quickly as can be: examples are tried once for each text
//! of the policies, and the index is asked only if a decision or the knowledge changed.

use std::path::Path;

use serde::{Deserialize, Serialize};
use twining_guard::policy::Examples;
use twining_guard::{Clause, Guards, Level, UserPolicy, inside};
use twining_model::PolicyFile;
use twining_store::disk::hash_of;

use crate::desk::Project;
use crate::user_policy;

/// The note of guards whose examples were tried.
const TRIED: &str = "guards-tried";
/// The note of clauses in force.
const CLAUSES: &str = "clauses";
/// How long a folder's modification time is not trusted after it was written: two
/// changes may fall into one tick of the file system's clock.
const TICK_MS: i64 = 100;

/// Which guards failed their examples, for these texts and this version.
#[derive(Serialize, Deserialize)]
struct TriedExamples {
    key: String,
    dead: Vec<(String, String)>,
}

/// The guards that hold.
pub fn guards(project: &Project) -> Guards {
    let (user, policy) = policies(project);
    let key = key_of(&user, &policy);
    let store = project.engine.store();
    let tried: Option<TriedExamples> = store.note(TRIED).ok().flatten().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let guards = match tried.filter(|tried| tried.key == key) {
        Some(tried) => {
            let mut guards = Guards::load(&user, &policy, Examples::Skip);
            guards.bury(&tried.dead);
            guards
        }
        None => {
            let guards = Guards::load(&user, &policy, Examples::Read);
            if store.exists().unwrap_or(false) {
                let tried = TriedExamples { key, dead: guards.dead() };
                // Without the note the examples are tried again.
                let _ = serde_json::to_vec(&tried).map(|bytes| store.leave_note(TRIED, &bytes));
            }
            guards
        }
    };
    completed(guards, project, &user, &clauses(project))
}

/// The guards as their files say, with everything that is wrong with them.
pub fn guards_as_written(project: &Project) -> Guards {
    let (user, policy) = policies(project);
    completed(Guards::load(&user, &policy, Examples::Read), project, &user, &clauses(project))
}

/// What the person's own policy says about what cannot be read.
pub fn on_unreadable() -> Level {
    Guards::load(&user_policy::read(), &PolicyFile::Missing, Examples::Skip).on_unreadable
}

fn policies(project: &Project) -> (UserPolicy, PolicyFile) {
    let policy = project.engine.store().policy().unwrap_or_else(|error| PolicyFile::Unusable(error.to_string()));
    (user_policy::read(), policy)
}

/// What tells these policies, and this version, from any other.
fn key_of(user: &UserPolicy, policy: &PolicyFile) -> String {
    let text = format!("{user:?}\u{0}{policy:?}");
    format!("{} {:x} {:016x}", env!("CARGO_PKG_VERSION"), text.len(), hash_of(text.as_bytes()))
}

fn completed(mut guards: Guards, project: &Project, user: &UserPolicy, clauses: &[Clause]) -> Guards {
    let settings = Path::new(&user.name).parent().filter(|dir| dir.is_absolute());
    let root = project.located.checkout.display().to_string();
    guards.protect(&settings.map(|dir| inside(&root, &dir.display().to_string())).into_iter().collect::<Vec<_>>());
    guards.add_clauses(clauses);
    guards
}

/// The clauses that were in force when decisions and knowledge were so.
#[derive(Serialize, Deserialize)]
struct KnownClauses {
    decisions: i64,
    knowledge: String,
    made: i64,
    clauses: Vec<Clause>,
}

/// Clauses in force.
fn clauses(project: &Project) -> Vec<Clause> {
    let store = project.engine.store();
    // Before they are read: what changes meanwhile is asked for again.
    let Ok(Some(state)) = store.binding_state() else { return Vec::new() };
    let known: Option<KnownClauses> = store.note(CLAUSES).ok().flatten().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let is_current = |known: &KnownClauses| {
        known.decisions == state.decisions
            && known.knowledge == state.knowledge
            && known.made.saturating_sub(state.decisions / 1_000_000) > TICK_MS
    };
    match known {
        Some(known) if is_current(&known) => known.clauses,
        known => match project.engine.clauses() {
            Ok(clauses) => {
                let made = store.ids().now().as_ms();
                let known = KnownClauses { decisions: state.decisions, knowledge: state.knowledge, made, clauses };
                let _ = serde_json::to_vec(&known).map(|bytes| store.leave_note(CLAUSES, &bytes));
                known.clauses
            }
            // Where the index cannot be asked now, what was known holds.
            Err(_) => known.map(|known| known.clauses).unwrap_or_default(),
        },
    }
}
