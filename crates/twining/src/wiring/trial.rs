//! A call as the host would make it, in a folder where nothing can be lost.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use twining_guard::policy::{Example, PROJECT_FILE};

use super::settings::read_small;
use crate::desk::Project;
use crate::{installed, running};

/// A project to try hooks in: the same policy, and nothing else.
pub(super) struct TrialFolder {
    dir: PathBuf,
    policy: Option<String>,
}

impl TrialFolder {
    pub(super) fn new(project: &Project) -> std::io::Result<Self> {
        let id = project.engine.store().ids().next();
        let dir = std::env::temp_dir().join(format!("twining-wiring-{}-{id}", std::process::id()));
        fs::create_dir(&dir)?;
        let policy = read_small(&project.located.place.project.join(PROJECT_FILE));
        let place = Self { dir, policy };
        for folder in [".git", ".twining"] {
            fs::create_dir(place.dir.join(folder))?;
        }
        Ok(place)
    }

    pub(super) fn root(&self) -> String {
        self.dir.display().to_string()
    }

    /// Puts the policy back that an example before may have written over, then the file of
    /// this one where it must be, and nothing where none is.
    pub(super) fn prepared(&self, example: &Example) -> Result<(), String> {
        if let Some(policy) = &self.policy {
            fs::write(self.dir.join(PROJECT_FILE), policy).map_err(|error| error.to_string())?;
        }
        let Some(path) = example.path() else { return Ok(()) };
        // An example may name any path; only one inside is ours to write.
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        if path.starts_with('/') || parts.contains(&"..") {
            return Ok(());
        }
        let file = parts.iter().fold(self.dir.clone(), |dir, part| dir.join(part));
        let written = match &example.file {
            Some(text) => file.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&file, text)),
            None if file.is_file() && !path.ends_with("policy.yml") => fs::remove_file(&file),
            None => Ok(()),
        };
        written.map_err(|error| error.to_string())
    }
}

impl Drop for TrialFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
        let _ = fs::remove_dir_all(cache_of(&self.dir));
    }
}

fn cache_of(dir: &Path) -> PathBuf {
    dir.with_extension("cache")
}

/// Runs a hook as its host would, and gives what it said.
pub(super) fn run(words: &[String], told: &Value, place: &TrialFolder, project: &Path) -> Result<String, String> {
    let (name, rest) = words.split_first().ok_or("it is empty")?;
    let program = installed::ours(name, project)?;
    let mut command = Command::new(&program);
    command.args(in_throwaway(rest, place)).current_dir(&place.dir);
    command.env_remove("TWINING_PROJECT").env("CLAUDE_PROJECT_DIR", &place.dir);
    // What is kept of a throwaway is of use to nobody after it.
    command.env("XDG_CACHE_HOME", cache_of(&place.dir));
    running::run(&mut command, &told.to_string()).map(|said| format!("{}{}", said.out, said.err))
}

/// The arguments, with the throwaway in place of any project they name.
fn in_throwaway(words: &[String], place: &TrialFolder) -> Vec<String> {
    let mut given = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--project" {
            words.next();
            given.extend([word.clone(), place.root()]);
        } else if word.starts_with("--project=") {
            given.push(format!("--project={}", place.root()));
        } else {
            given.push(word.clone());
        }
    }
    given
}
