//! The program itself: which one this is, and which one hosts would start.

use std::path::Path;
use std::process::Command;

use serde::Serialize;
use serde_json::json;

use crate::locate_project::FOLDER;
use crate::output::OutputFormat;
use crate::process::run;
use crate::program_path::{NAME, is_same, on_path};
use crate::project::Project;
use crate::render::command_error::{CommandError, ExitStatus};
use crate::render::text_page::{TextPage, bad, dim, good, plain, strong, warn};
use crate::verbs::tool_names::with_command_names;
use crate::{init, output};

/// Which program answers to our name.
pub(super) fn program_checks() -> Vec<DoctorCheck> {
    let version = this_version();
    let here = std::env::current_exe().ok();
    let shown = here.as_deref().map_or_else(String::new, |path| format!(" ({})", path.display()));
    let this = DoctorCheck::ok("program", format!("{version}{shown}"));
    let on_path = match (on_path(NAME), here) {
        (None, _) => {
            DoctorCheck::warn("path", "hosts start `twining` by name, but it is not on PATH")
                .hinted(path_hint())
        }
        (Some(found), Some(here)) if is_same(&found, &here) => {
            DoctorCheck::ok("path", "`twining` on PATH is this program")
        }
        (Some(found), _) => match version_of(&found) {
            Ok(reported) if reported == version => DoctorCheck::ok(
                "path",
                format!("hosts start {}, which has the same version", found.display()),
            ),
            Ok(reported) => DoctorCheck::warn(
                "path",
                format!(
                    "hosts start {}, which reports `{reported}`, not `{version}`",
                    found.display()
                ),
            )
            .hinted("install one version, or put the folder of this one first on PATH"),
            Err(why) => {
                DoctorCheck::fail("path", format!("{} cannot be started: {why}", found.display()))
            }
        },
    };
    vec![this, on_path]
}

/// How hosts come to find the program.
pub(super) fn path_hint() -> String {
    let here = std::env::current_exe()
        .ok()
        .filter(|here| here.file_name().is_some_and(|name| name == NAME));
    match here.as_deref().and_then(Path::parent) {
        Some(folder) => {
            format!("add {} to the host's PATH, then restart the host", folder.display())
        }
        None => {
            "add the folder that has `twining` to the host's PATH, then restart the host".to_owned()
        }
    }
}

/// What a program says of its version.
pub(super) fn version_of(program: &Path) -> Result<String, String> {
    run(Command::new(program).arg("--version"), "")
        .map(|output| twining_model::text::excerpt(output.out.trim(), 60))
}

/// What this one says.
pub(super) fn this_version() -> String {
    format!("twining {}", env!("CARGO_PKG_VERSION"))
}

/// How a check came out, from well to ill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Health {
    Ok,
    /// Nobody knows: it could not be looked at.
    NotChecked,
    Warn,
    Fail,
}

/// One thing that was looked at.
#[derive(Clone, Debug, Serialize)]
pub(super) struct DoctorCheck {
    pub(super) name: &'static str,
    pub(super) finding: Health,
    pub(super) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<String>,
}

impl DoctorCheck {
    pub(super) fn new(name: &'static str, finding: Health, message: impl Into<String>) -> Self {
        Self { name, finding, message: message.into(), hint: None }
    }

    pub(super) fn ok(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, Health::Ok, message)
    }

    pub(super) fn not_checked(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, Health::NotChecked, message)
    }

    pub(super) fn warn(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, Health::Warn, message)
    }

    pub(super) fn fail(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, Health::Fail, message)
    }

    pub(super) fn hinted(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(super) fn failed(name: &'static str, problem: &CommandError) -> Self {
        let said = problem.to_json();
        let hint = said.get("hint").and_then(|hint| hint.as_str()).map(str::to_owned);
        Self { hint, ..Self::fail(name, said["message"].as_str().unwrap_or_default()) }
    }
}

/// Whether anything is mended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DoctorMode {
    /// Only look.
    Look,
    /// Mend what can be mended.
    Fix,
}

/// Checks everything and reports.
pub(crate) fn examine(project: &Project, aim: DoctorMode, style: OutputFormat) -> ExitStatus {
    let fixed = if aim == DoctorMode::Fix { fix(project) } else { Vec::new() };
    let checks: Vec<DoctorCheck> =
        areas(project).into_iter().flat_map(|(_, checks)| checks).collect();
    let worst = checks.iter().map(|check| check.finding).max().unwrap_or(Health::Ok);
    let ending = if worst == Health::Fail { ExitStatus::FoundProblems } else { ExitStatus::Done };
    let to_json = || json!({ "finding": worst, "checks": checks, "fixed": fixed });
    output::answer(style, to_json, |page| show(&checks, &fixed, page), ending)
}

/// Everything that is looked at, by area.
pub(super) fn areas(project: &Project) -> Vec<(&'static str, Vec<DoctorCheck>)> {
    let (mut memory, there) = super::memory::checks(project);
    if !there {
        return vec![("memory", memory)];
    }
    memory.push(secrets(project));
    vec![
        ("memory", memory),
        ("program", program_checks()),
        ("git", super::git::checks(project)),
        ("agents", super::hosts::checks(project)),
    ]
}

/// Searches every record for secrets: those that came with a clone, or were written
/// before there was a search.
pub(super) fn secrets(project: &Project) -> DoctorCheck {
    let scan = match project.engine.scan_secrets() {
        Ok(scan) => scan,
        Err(failure) => return DoctorCheck::failed("secrets", &CommandError::from(failure)),
    };
    let Some(first) = scan.found.first() else {
        return DoctorCheck::ok("secrets", format!("no secret in {} records", scan.records));
    };
    let place = format!("{}, record {}, {}", first.file, first.id, first.field);
    let message = format!(
        "{} in {} records; the first is {} in {place}",
        counted(scan.secrets),
        scan.records,
        with_article(&first.kind)
    );
    DoctorCheck::fail("secrets", message).hinted(
        "revoke and replace each secret, then remove it from the file; it stays in git's history",
    )
}

pub(super) fn with_article(kind: &str) -> String {
    let is_vowel = kind.starts_with(['A', 'E', 'I', 'O', 'a', 'e', 'i', 'o']);
    format!("{} {kind}", if is_vowel { "an" } else { "a" })
}

pub(super) fn counted(secrets: u64) -> String {
    if secrets == 1 { "a secret".to_owned() } else { format!("{secrets} secrets") }
}

/// Repairs what it can, and returns what it repaired.
pub(super) fn fix(project: &Project) -> Vec<String> {
    let mut done = Vec::new();
    let store = project.engine.store();
    if !store.exists().unwrap_or(false) {
        return done;
    }
    let (before, _) = super::memory::checks(project);
    let is_ill =
        |name: &str| before.iter().any(|check| check.name == name && check.finding >= Health::Warn);
    if is_ill("folder") && store.installation().complete().is_ok() {
        done.push(format!("added what was missing in {FOLDER}/"));
    }
    if is_ill("index") && store.rebuild().is_ok() {
        done.push("rebuilt the index".to_owned());
    }
    project.finish_writes();
    match init::repair(project) {
        Ok(files) => {
            done.extend(files.into_iter().map(|file| format!("wrote {file} as twining init does")));
        }
        Err(problem) => output::warn_about(&problem),
    }
    done
}

pub(super) fn show(checks: &[DoctorCheck], fixed: &[String], page: &mut TextPage) {
    for done in fixed {
        page.line([strong("fixed:"), plain(done)]);
    }
    for check in checks {
        let finding = match check.finding {
            Health::Ok => good("ok  "),
            Health::NotChecked => dim("?   "),
            Health::Warn => warn("warn"),
            Health::Fail => bad("fail"),
        };
        page.line([
            finding,
            dim(format!("{:<8}", check.name)),
            plain(with_command_names(&check.message)),
        ]);
        if let Some(hint) = &check.hint {
            page.block(14, &format!("hint: {}", with_command_names(hint)));
        }
    }
}
