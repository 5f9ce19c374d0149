//! `doctor`: does everything work, and if not, what to do.
//!
//! What can be tried is tried: a merge in a throwaway repository, each hook with a
//! call it must stop, the server in both eras of its protocol. `--fix` mends what
//! can be mended without asking anybody.

mod git;
mod hosts;
mod memory;
mod program;

use std::fs;

use serde::Serialize;
use serde_json::json;

use crate::commands::with_command_names;
use crate::desk::Project;
use crate::init;
use crate::locate::FOLDER;
use crate::out::{self, OutputFormat};
use crate::page::{TextPage, bad, dim, good, plain, strong, warn};
use crate::problem::{CommandError, ExitStatus};

/// How a check came out, from well to ill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
enum Health {
    Ok,
    /// Nobody knows: it could not be looked at.
    NotChecked,
    Warn,
    Fail,
}

/// One thing that was looked at.
#[derive(Clone, Debug, Serialize)]
struct DoctorCheck {
    name: &'static str,
    finding: Health,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl DoctorCheck {
    fn new(name: &'static str, finding: Health, message: impl Into<String>) -> Self {
        Self { name, finding, message: message.into(), hint: None }
    }

    fn hinted(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    fn failed(name: &'static str, problem: &CommandError) -> Self {
        let said = problem.to_json();
        let hint = said.get("hint").and_then(|hint| hint.as_str()).map(str::to_owned);
        Self { hint, ..Self::new(name, Health::Fail, said["message"].as_str().unwrap_or_default()) }
    }
}

/// Whether anything is mended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoctorMode {
    /// Only look.
    Look,
    /// Mend what can be mended.
    Fix,
}

/// Looks at everything and tells.
pub fn examine(project: &Project, aim: DoctorMode, style: OutputFormat) -> ExitStatus {
    let fixed = if aim == DoctorMode::Fix { fix(project) } else { Vec::new() };
    let checks = checks(project);
    let worst = checks.iter().map(|check| check.finding).max().unwrap_or(Health::Ok);
    let ending = if worst == Health::Fail { ExitStatus::FoundProblems } else { ExitStatus::Done };
    let to_json = || json!({ "finding": worst, "checks": checks, "fixed": fixed });
    out::answer(style, to_json, |page| show(&checks, &fixed, page), ending)
}

fn checks(project: &Project) -> Vec<DoctorCheck> {
    let (mut checks, there) = memory::checks(project);
    if !there {
        return checks;
    }
    checks.push(secrets(project));
    checks.extend(program::checks());
    checks.extend(git::lock(project));
    checks.extend(git::checks(project));
    checks.extend(hosts::checks(project));
    checks
}

/// Searches every record for secrets: those that came with a clone, or were written
/// before there was a search.
fn secrets(project: &Project) -> DoctorCheck {
    let scan = match project.engine.scan_secrets() {
        Ok(scan) => scan,
        Err(failure) => return DoctorCheck::failed("secrets", &CommandError::from(failure)),
    };
    let Some(first) = scan.found.first() else {
        return DoctorCheck::new("secrets", Health::Ok, format!("no secret in {} records", scan.records));
    };
    let place = format!("{}, record {}, {}", first.file, first.id, first.field);
    let message = format!("{} in {} records; the first is {} in {place}", counted(scan.secrets), scan.records, with_article(&first.kind));
    DoctorCheck::new("secrets", Health::Fail, message)
        .hinted("have each replaced where it is valid, then take it out of the file; git keeps its history")
}

fn with_article(kind: &str) -> String {
    let is_vowel = kind.starts_with(['A', 'E', 'I', 'O', 'a', 'e', 'i', 'o']);
    format!("{} {kind}", if is_vowel { "an" } else { "a" })
}

fn counted(secrets: u64) -> String {
    if secrets == 1 { "a secret".to_owned() } else { format!("{secrets} secrets") }
}

/// Mends what can be mended, and tells what that was.
fn fix(project: &Project) -> Vec<String> {
    let mut done = Vec::new();
    let folder = project.located.place.project.join(FOLDER);
    let store = project.engine.store();
    for path in memory::blocking_files(&folder) {
        // Whoever put it there may want it back, unless it is nothing.
        let aside = (1..100).map(|n| path.with_extension(format!("aside-{n}"))).find(|aside| fs::symlink_metadata(aside).is_err());
        if fs::remove_dir(&path).is_ok() {
            done.push(format!("removed the empty folder {}", path.display()));
        } else if let Some(aside) = aside.filter(|aside| fs::rename(&path, aside).is_ok()) {
            done.push(format!("moved {} aside, to {}", path.display(), aside.display()));
        }
    }
    if !store.exists().unwrap_or(false) {
        return done;
    }
    for lock in memory::stale_locks(&folder) {
        if fs::remove_dir_all(&lock).is_ok() {
            done.push(format!("removed the dead lock {}", lock.display()));
        }
    }
    let (before, _) = memory::checks(project);
    let is_ill = |name: &str| before.iter().any(|check| check.name == name && check.finding >= Health::Warn);
    if is_ill("folder") && store.installation().complete().is_ok() {
        done.push(format!("added what {FOLDER}/ lacked"));
    }
    if is_ill("index") && store.rebuild().is_ok() {
        done.push("built the index anew".to_owned());
    }
    project.finish_writes();
    match init::mend(project) {
        Ok(files) => done.extend(files.into_iter().map(|file| format!("wrote {file} as twining init does"))),
        Err(problem) => out::warn_about(&problem),
    }
    done
}

fn show(checks: &[DoctorCheck], fixed: &[String], page: &mut TextPage) {
    for done in fixed {
        page.line([strong("fixed"), plain(done)]);
    }
    for check in checks {
        let finding = match check.finding {
            Health::Ok => good("ok  "),
            Health::NotChecked => dim("?   "),
            Health::Warn => warn("warn"),
            Health::Fail => bad("fail"),
        };
        page.line([finding, dim(format!("{:<8}", check.name)), plain(with_command_names(&check.message))]);
        if let Some(hint) = &check.hint {
            page.block(14, &format!("hint: {}", with_command_names(hint)));
        }
    }
}
