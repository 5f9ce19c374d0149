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

use crate::commands::at_a_prompt;
use crate::desk::Project;
use crate::init;
use crate::locate::FOLDER;
use crate::out::{self, Style};
use crate::page::{Page, bad, dim, good, plain, strong, warn};
use crate::problem::{Ending, Problem};

/// How a check came out, from well to ill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
enum Finding {
    Ok,
    /// Nobody knows: it could not be looked at.
    NotChecked,
    Warn,
    Fail,
}

/// One thing that was looked at.
#[derive(Clone, Debug, Serialize)]
struct Check {
    name: &'static str,
    finding: Finding,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl Check {
    fn new(name: &'static str, finding: Finding, message: impl Into<String>) -> Self {
        Self { name, finding, message: message.into(), hint: None }
    }

    fn hinted(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    fn failed(name: &'static str, problem: &Problem) -> Self {
        let said = problem.to_json();
        let hint = said.get("hint").and_then(|hint| hint.as_str()).map(str::to_owned);
        Self { hint, ..Self::new(name, Finding::Fail, said["message"].as_str().unwrap_or_default()) }
    }
}

/// Whether anything is mended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// Only look.
    Look,
    /// Mend what can be mended.
    Fix,
}

/// Looks at everything and tells.
pub fn examine(project: &Project, aim: Aim, style: Style) -> Ending {
    let fixed = if aim == Aim::Fix { fix(project) } else { Vec::new() };
    let checks = checks(project);
    let worst = checks.iter().map(|check| check.finding).max().unwrap_or(Finding::Ok);
    let ending = if worst == Finding::Fail { Ending::FoundProblems } else { Ending::Done };
    let to_json = || json!({ "finding": worst, "checks": checks, "fixed": fixed });
    out::answer(style, to_json, |page| show(&checks, &fixed, page), ending)
}

fn checks(project: &Project) -> Vec<Check> {
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
fn secrets(project: &Project) -> Check {
    let scan = match project.engine.scan_secrets() {
        Ok(scan) => scan,
        Err(failure) => return Check::failed("secrets", &Problem::from(failure)),
    };
    let Some(first) = scan.found.first() else {
        return Check::new("secrets", Finding::Ok, format!("no secret in {} records", scan.records));
    };
    let place = format!("{}, record {}, {}", first.file, first.id, first.field);
    let message = format!("{} in {} records; the first is {} in {place}", counted(scan.secrets), scan.records, with_article(&first.kind));
    Check::new("secrets", Finding::Fail, message)
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
    for path in memory::in_the_way(&folder) {
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
    let is_ill = |name: &str| before.iter().any(|check| check.name == name && check.finding >= Finding::Warn);
    if is_ill("folder") && store.installation().complete().is_ok() {
        done.push(format!("added what {FOLDER}/ lacked"));
    }
    if is_ill("index") && store.rebuild().is_ok() {
        done.push("built the index anew".to_owned());
    }
    project.tidy_up();
    match init::mend(project) {
        Ok(files) => done.extend(files.into_iter().map(|file| format!("wrote {file} as twining init does"))),
        Err(problem) => out::aside(&problem),
    }
    done
}

fn show(checks: &[Check], fixed: &[String], page: &mut Page) {
    for done in fixed {
        page.line([strong("fixed"), plain(done)]);
    }
    for check in checks {
        let finding = match check.finding {
            Finding::Ok => good("ok  "),
            Finding::NotChecked => dim("?   "),
            Finding::Warn => warn("warn"),
            Finding::Fail => bad("fail"),
        };
        page.line([finding, dim(format!("{:<8}", check.name)), plain(at_a_prompt(&check.message))]);
        if let Some(hint) = &check.hint {
            page.block(14, &format!("hint: {}", at_a_prompt(hint)));
        }
    }
}
