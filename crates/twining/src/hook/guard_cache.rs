//! The guards that hold, as quickly as can be: policies are compiled once for each of
//! their texts, and the index is asked only if a decision or the knowledge changed.

use std::path::Path;

use serde::{Deserialize, Serialize};
use twining_guard::policy::Examples;
use twining_guard::{Clause, GuardSet, UserPolicy, Verdict, inside};
use twining_model::TextFile;
use twining_store::disk::hash_of;

use crate::project::Project;
use crate::user_policy;

/// The note of guards that were compiled.
const COMPILED: &str = "shared-guards";
/// The note of clauses in force.
const CLAUSES: &str = "shared-clauses";
/// How long a folder's modification time is not trusted after it was written: two
/// changes may fall into one tick of the file system's clock.
const TICK_MS: i64 = 100;

/// The guards of these policies, tried and compiled by this version.
#[derive(Serialize, Deserialize)]
struct CachedGuards {
    key: String,
    guards: GuardSet,
}

/// The guards that hold.
pub(crate) fn guards(project: &Project) -> GuardSet {
    let (user, policy) = policies(project);
    let key = key_of(&user, &policy);
    let store = project.engine.store();
    let known: Option<CachedGuards> = store.local_state().read_json(COMPILED);
    let guards =
        known.filter(|known| known.key == key).map(|known| known.guards).unwrap_or_else(|| {
            let compiled =
                CachedGuards { key, guards: GuardSet::load(&user, &policy, Examples::Read) };
            // Without the note the policies are read again.
            if store.exists().unwrap_or(false) {
                store.local_state().write_json(COMPILED, &compiled);
            }
            compiled.guards
        });
    completed(guards, project, &user, &clauses(project))
}

/// The guards as their files say, with everything that is wrong with them.
pub(crate) fn guards_as_written(project: &Project) -> GuardSet {
    let (user, policy) = policies(project);
    completed(GuardSet::load(&user, &policy, Examples::Read), project, &user, &clauses(project))
}

/// What the person's own policy says about what cannot be read.
pub(super) fn on_unreadable() -> Verdict {
    GuardSet::load(&user_policy::read(), &TextFile::Missing, Examples::Skip).on_unreadable
}

fn policies(project: &Project) -> (UserPolicy, TextFile) {
    let policy = project
        .engine
        .store()
        .documents()
        .policy()
        .unwrap_or_else(|error| TextFile::Unusable(error.to_string()));
    (user_policy::read(), policy)
}

/// Returns a key that identifies these policies and this version.
fn key_of(user: &UserPolicy, policy: &TextFile) -> String {
    let text = format!("{user:?}\u{0}{policy:?}");
    format!("{} {:x} {:016x}", env!("CARGO_PKG_VERSION"), text.len(), hash_of(text.as_bytes()))
}

fn completed(
    mut guards: GuardSet,
    project: &Project,
    user: &UserPolicy,
    clauses: &[Clause],
) -> GuardSet {
    let settings = Path::new(&user.name).parent().filter(|dir| dir.is_absolute());
    let root = project.located.checkout.display().to_string();
    guards.protect(
        &settings
            .map(|dir| inside(&root, &dir.display().to_string()))
            .into_iter()
            .collect::<Vec<_>>(),
    );
    guards.add_clauses(clauses);
    guards
}

/// The clauses that were in force when decisions and knowledge were so.
#[derive(Serialize, Deserialize)]
struct CachedClauses {
    decisions: i64,
    knowledge: String,
    made: i64,
    clauses: Vec<Clause>,
}

/// Clauses in force.
fn clauses(project: &Project) -> Vec<Clause> {
    let store = project.engine.store();
    // Before they are read: what changes meanwhile is asked for again.
    let Ok(Some(state)) = store.documents().binding_state() else { return Vec::new() };
    let known: Option<CachedClauses> = store.local_state().read_json(CLAUSES);
    let is_current = |known: &CachedClauses| {
        known.decisions == state.decisions
            && known.knowledge == state.knowledge
            && known.made.saturating_sub(state.decisions / 1_000_000) > TICK_MS
    };
    match known {
        Some(known) if is_current(&known) => known.clauses,
        known => match project.engine.clauses() {
            Ok(clauses) => {
                let made = store.ids().now().as_ms();
                let known = CachedClauses {
                    decisions: state.decisions,
                    knowledge: state.knowledge,
                    made,
                    clauses,
                };
                store.local_state().write_json(CLAUSES, &known);
                known.clauses
            }
            // Where the index cannot be asked now, what was known holds.
            Err(_) => known.map(|known| known.clauses).unwrap_or_default(),
        },
    }
}
