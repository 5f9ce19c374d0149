//! The guards that hold: compiled once for each text of the policies, and what
//! decisions and knowledge rule out.

use std::path::Path;

use serde::{Deserialize, Serialize};
use twining_engine::UserPolicy;
use twining_engine::guards::{Clause, Clauses, Guards, Look, NoClauses, Trial, inside};
use twining_model::Time;
use twining_store::PolicyFile;
use twining_store::disk::hash_of;

use super::kept::{self, Kept};
use crate::desk::Project;
use crate::user_policy;

/// How long a folder's date is not trusted after it was written: two changes may
/// fall into one tick of the disk's clock.
const TICK_MS: i64 = 100;

/// The policies as they are on disk.
struct Texts {
    user: UserPolicy,
    project: PolicyFile,
    place: String,
}

impl Texts {
    fn of(project: &Project) -> Self {
        let file = project.engine.store().policy().unwrap_or_else(|error| PolicyFile::Unusable(error.to_string()));
        Self { user: user_policy::read(), project: file, place: kept::mark_of(&project.located.place.project) }
    }

    /// What tells them from any other, for this very program.
    fn name(&self) -> String {
        fn seal(file: &PolicyFile) -> String {
            match file {
                PolicyFile::Missing => "none".to_owned(),
                PolicyFile::Unusable(why) => format!("bad-{:016x}", hash_of(why.as_bytes())),
                PolicyFile::Text(text) => format!("{:x}-{:016x}", text.len(), hash_of(text.as_bytes())),
            }
        }
        let around = format!("{}\u{0}{}", self.user.name, program());
        // A policy is one project's, and what is kept of it goes when the project leaves; with none, it is everybody's.
        let whose = if self.project == PolicyFile::Missing { "any" } else { &self.place };
        format!("guards-{whose}-{}-{}-{:016x}", seal(&self.user.file), seal(&self.project), hash_of(around.as_bytes()))
    }

    fn load(&self) -> Guards {
        Guards::load(&self.user, &self.project, &NoClauses, Trial::Tried)
    }
}

/// The guards that hold.
pub fn guards(project: &Project) -> Guards {
    known(project, Guards::from_compiled)
}

/// The guards that could say something to an event, as quickly as can be.
pub fn guards_for(project: &Project, look: &Look) -> Guards {
    known(project, |bytes, user| Guards::from_compiled_for(bytes, user, look))
}

fn known(project: &Project, read: impl Fn(&[u8], &UserPolicy) -> Option<Guards>) -> Guards {
    let texts = Texts::of(project);
    let kept = Kept::open(&project.located.place.project);
    let name = texts.name();
    let known = kept.get(&name).and_then(|bytes| read(&bytes, &texts.user));
    let guards = known.unwrap_or_else(|| {
        let guards = texts.load();
        kept.put(&name, &guards.to_compiled());
        guards
    });
    complete(guards, project, &texts, &clauses(project, &kept))
}

/// Whether a guard watches that hosts and git go on asking.
pub fn holds_wiring(guards: &Guards) -> bool {
    guards.compares(".claude/settings.json")
}

/// Only what decisions and knowledge rule out.
pub fn clauses_alone(project: &Project) -> Guards {
    Guards::of_clauses(&clauses(project, &Kept::open(&project.located.place.project)))
}

/// The guards as their files say, with everything that is wrong with them.
pub fn guards_as_written(project: &Project) -> Guards {
    let texts = Texts::of(project);
    complete(texts.load(), project, &texts, &clauses_anew(project, &Kept::open(&project.located.place.project)))
}

/// The guards, held against what they were made from, and whether what was kept of
/// them is something else: somebody wrote it who should not, and since then guards
/// may have been silent.
pub struct Checked {
    pub guards: Guards,
    pub forged: Option<String>,
    /// What tells these compiled guards from any other, for the next time.
    pub seal: Option<String>,
}

/// Checks what is kept. To compile a long policy takes longer than all else at the
/// end of a turn, so what `known` seals was compared before and is not again: a
/// session compares once, and then whenever a byte is another.
pub fn guards_checked(project: &Project, known: Option<&str>) -> Checked {
    let texts = Texts::of(project);
    let kept = Kept::open(&project.located.place.project);
    let name = texts.name();
    let bytes = kept.get(&name);
    let seal = |bytes: &[u8]| format!("{name} {:016x}{:016x}", hash_of(bytes), hash_of(&[bytes, b"."].concat()));
    let clauses = clauses_anew(project, &kept);
    let sealed = bytes.as_deref().map(seal).filter(|seal| Some(seal.as_str()) == known);
    if let (Some(bytes), Some(seal)) = (&bytes, sealed)
        && let Some(guards) = Guards::from_compiled(bytes, &texts.user)
    {
        return Checked { guards: complete(guards, project, &texts, &clauses), forged: None, seal: Some(seal) };
    }
    let guards = texts.load();
    let compiled = guards.to_compiled();
    let is_forged = bytes.as_deref().is_some_and(|bytes| bytes != compiled);
    if is_forged {
        kept.forget(&name);
    }
    let forged = is_forged.then(|| {
        "[protect-twining-state] the compiled guards were changed behind Twining's back; they are made anew. Say what was done meanwhile".to_owned()
    });
    Checked { guards: complete(guards, project, &texts, &clauses), forged, seal: Some(seal(&compiled)) }
}

fn complete(mut guards: Guards, project: &Project, texts: &Texts, clauses: &dyn Clauses) -> Guards {
    let settings = Path::new(&texts.user.name).parent().filter(|dir| dir.is_absolute()).map(|dir| dir.display().to_string());
    let root = project.located.checkout.display().to_string();
    let folders: Vec<String> = kept::folders().into_iter().chain(settings).map(|folder| inside(&root, &folder)).collect();
    guards.protect(&folders);
    guards.bind(clauses);
    guards
}

/// What was kept of decisions and knowledge.
#[derive(Serialize, Deserialize)]
struct KeptClauses {
    decisions: i64,
    knowledge: String,
    made: i64,
    clauses: Vec<Clause>,
}

/// Clauses in force. The index is opened only if a decision or the knowledge changed.
fn clauses(project: &Project, kept: &Kept) -> Vec<Clause> {
    let Ok(Some(state)) = project.engine.store().binding_state() else { return Vec::new() };
    if let Some(known) = known_clauses(project, kept)
        && known.decisions == state.decisions
        && known.knowledge == state.knowledge
        && known.made.saturating_sub(state.decisions / 1_000_000) > TICK_MS
    {
        return known.clauses;
    }
    clauses_anew(project, kept)
}

/// The same, asked for whatever is known. Where the index cannot be asked now, what was
/// known until then holds, and the next call asks again.
fn clauses_anew(project: &Project, kept: &Kept) -> Vec<Clause> {
    // Before they are read: what changes meanwhile is asked for again.
    let state = project.engine.store().binding_state();
    match project.engine.clauses() {
        Ok(clauses) => {
            if let Ok(Some(state)) = state {
                keep(project, kept, state, &clauses);
            }
            clauses
        }
        Err(_) => known_clauses(project, kept).map(|known| known.clauses).unwrap_or_default(),
    }
}

fn known_clauses(project: &Project, kept: &Kept) -> Option<KeptClauses> {
    kept.get(&clauses_name(project)).and_then(|bytes| serde_json::from_slice(&bytes).ok())
}

fn keep(project: &Project, kept: &Kept, state: twining_store::BindingState, clauses: &[Clause]) {
    let made: Time = project.engine.store().ids().now();
    let known = KeptClauses { decisions: state.decisions, knowledge: state.knowledge, made: made.as_ms(), clauses: clauses.to_vec() };
    if let Ok(bytes) = serde_json::to_vec(&known) {
        kept.put(&clauses_name(project), &bytes);
    }
}

fn clauses_name(project: &Project) -> String {
    let place = kept::mark_of(&project.located.place.project);
    format!("clauses-{place}-{:016x}.json", hash_of(format!("{}{place}", program()).as_bytes()))
}

/// This build: what another one kept may mean something else.
fn program() -> String {
    let built = std::env::current_exe().and_then(std::fs::metadata).ok();
    let modified = built.as_ref().and_then(|file| file.modified().ok()).map(|at| format!("{at:?}")).unwrap_or_default();
    format!("{} {} {modified}", env!("CARGO_PKG_VERSION"), built.map_or(0, |file| file.len()))
}
