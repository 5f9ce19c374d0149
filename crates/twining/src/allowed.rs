//! What a person allowed: guards lifted for a while, and the exact text of
//! commands that guards may run.
//!
//! It is kept among the user's settings, one file a project, never in the
//! project: nothing that comes with a clone can lift or run anything. The file
//! names the project's path and the identity of its folder, so another clone at
//! the same path starts with nothing allowed.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use twining_engine::guards::KEEPERS;
use twining_model::Time;
use twining_store::Store;
use twining_store::disk::{Dir, hash_of};

use crate::problem::Problem;
use crate::user_policy;

/// The folder for them; a built-in guard knows it by this name.
const FOLDER: &str = "allowed-by-person";
const MOST_BYTES: usize = 256 * 1024;
/// Bypasses and texts that are kept of one project: the newest.
const MOST: usize = 200;

/// A guard that does not hold for a while.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bypass {
    /// Which.
    pub guard: String,
    /// Until when.
    pub until: String,
    /// Why.
    pub reason: String,
    /// Who said so.
    pub by: String,
}

/// A command that a guard may run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trusted {
    /// Which guard.
    pub guard: String,
    /// Its text, to the letter.
    pub command: String,
    /// Who allowed it.
    pub by: String,
    /// When.
    pub at: String,
}

/// All that is allowed in one project.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Allowed {
    project: String,
    identity: String,
    /// Guards that are lifted.
    pub bypasses: Vec<Bypass>,
    /// Commands that may run.
    pub trusted: Vec<Trusted>,
    /// What shows that we wrote all this: a script that may write files cannot allow
    /// itself something.
    seal: String,
}

impl Allowed {
    /// What is allowed here. What cannot be read allows nothing.
    pub fn read(store: &Store) -> Self {
        let none = Self::of(store).unwrap_or_default();
        let Some(path) = file(store) else { return none };
        let mut bytes = Vec::new();
        let plain = fs::symlink_metadata(&path).is_ok_and(|found| found.is_file());
        if !plain || fs::File::open(&path).and_then(|file| file.take(MOST_BYTES as u64).read_to_end(&mut bytes)).is_err() {
            return none;
        }
        let read: Self = serde_json::from_slice(&bytes).unwrap_or_default();
        let ours = !none.identity.is_empty() && (&read.project, &read.identity) == (&none.project, &none.identity);
        if ours && read.sealing(store).is_some_and(|seal| seal == read.seal) { read } else { none }
    }

    /// Keeps it.
    pub fn write(mut self, store: &Store) -> Result<(), Problem> {
        let path = file(store).ok_or_else(|| Problem::unavailable("NOT_FOUND", "this system does not say where settings go"))?;
        for surplus in [self.bypasses.len(), self.trusted.len()].map(|len| len.saturating_sub(MOST)).into_iter().enumerate() {
            match surplus {
                (0, surplus) => drop(self.bypasses.drain(..surplus)),
                (_, surplus) => drop(self.trusted.drain(..surplus)),
            }
        }
        self.seal = self.sealing(store).unwrap_or_default();
        let bytes = serde_json::to_vec_pretty(&self).map_err(|error| Problem::of_error("OUTPUT", &error))?;
        replace(&path, &bytes)
    }

    fn sealing(&self, store: &Store) -> Option<String> {
        let text = serde_json::to_vec(&(&self.project, &self.identity, &self.bypasses, &self.trusted)).ok()?;
        store.sealing(&text).ok().flatten().map(|seal| format!("{seal:016x}"))
    }

    /// Takes all of it back, with its file.
    pub fn forget(store: &Store) {
        if let Some(path) = file(store) {
            // The folder goes with its last file.
            let _ = fs::remove_file(&path);
            let _ = path.parent().map(fs::remove_dir);
        }
    }

    /// The bypass that lifts a guard now. Those that keep this file are never lifted.
    pub fn bypass(&self, guard: &str, now: Time) -> Option<&Bypass> {
        let lifts = |bypass: &&Bypass| bypass.guard == guard && Time::read(&bypass.until).is_some_and(|until| now < until);
        self.bypasses.iter().rev().find(lifts).filter(|_| !KEEPERS.contains(&guard))
    }

    /// Whether a guard may run exactly this.
    pub fn trusts(&self, guard: &str, command: &str) -> bool {
        self.trusted.iter().any(|trusted| trusted.guard == guard && trusted.command == command)
    }

    /// Nothing allowed yet, for this project.
    fn of(store: &Store) -> Option<Self> {
        let project = store.place().project.display().to_string();
        Some(Self { project, identity: store.identity().ok().flatten()?, ..Self::default() })
    }
}

fn file(store: &Store) -> Option<PathBuf> {
    let project = store.place().project.display().to_string();
    Some(user_policy::folder()?.join(FOLDER).join(format!("{:016x}.json", hash_of(project.as_bytes()))))
}

/// In one step: half a file would take back what is allowed.
fn replace(path: &Path, bytes: &[u8]) -> Result<(), Problem> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return Err(Problem::unavailable("NOT_FOUND", "this system does not say where settings go"));
    };
    fs::create_dir_all(folder).map_err(|error| Problem::of_error("OUTPUT", &error))?;
    let written = || {
        let dir = Dir::project(folder, None)?;
        let temp = format!("{name}.{}.new", std::process::id());
        dir.remove(&temp)?;
        if let Some(handle) = dir.create_new(&temp)? {
            handle.write(bytes)?;
            handle.sync()?;
        }
        dir.rename(&temp, &dir, name)
    };
    written().map_err(|error| Problem::from(twining_engine::Failure::from(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bypass_ends_and_never_lifts_what_keeps_it() {
        let bypass =
            |guard: &str| Bypass { guard: guard.into(), until: "2026-11-15T10:00:00Z".into(), reason: "x".into(), by: "ada".into() };
        let allowed =
            Allowed { bypasses: KEEPERS.iter().map(|guard| bypass(guard)).chain([bypass("no-push")]).collect(), ..Allowed::default() };
        let at = |time: &str| Time::read(time).expect("a time");
        assert!(allowed.bypass("no-push", at("2026-11-15T09:59:59Z")).is_some());
        assert!(allowed.bypass("no-push", at("2026-11-15T10:00:00Z")).is_none());
        assert!(allowed.bypass("another", at("2026-11-15T09:00:00Z")).is_none());
        assert!(KEEPERS.iter().all(|guard| allowed.bypass(guard, at("2026-11-15T09:00:00Z")).is_none()));
    }
}
