//! `doctor`: is the memory in order, and if not, what to do.

use std::fs;

use serde::Serialize;
use serde_json::json;
use twining_engine::{Engine, ModelState, StatusReport};
use twining_store::config::VERSION;

use crate::desk::Project;
use crate::help::at_a_prompt;
use crate::locate::FOLDER;
use crate::out::{self, Style};
use crate::page::{Page, bad, count, dim, good, plain, warn};
use crate::problem::{Ending, Problem};
use crate::user_policy;

/// How a summary begins that is not of a healthy memory.
const UNWELL: &str = "Needs attention";

/// How a check came out, from well to ill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
enum Finding {
    Ok,
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

    fn failed(name: &'static str, problem: &Problem) -> Self {
        let said = problem.to_json();
        let hint = said.get("hint").and_then(|hint| hint.as_str()).map(str::to_owned);
        Self { hint, ..Self::new(name, Finding::Fail, said["message"].as_str().unwrap_or_default()) }
    }
}

/// Looks at everything and tells.
pub fn examine(project: &Project, style: Style) -> Ending {
    let checks = checks(project);
    let worst = checks.iter().map(|check| check.finding).max().unwrap_or(Finding::Ok);
    let ending = if worst == Finding::Fail { Ending::FoundProblems } else { Ending::Done };
    out::answer(style, || json!({ "finding": worst, "checks": checks }), |page| show(&checks, page), ending)
}

fn checks(project: &Project) -> Vec<Check> {
    let root = &project.located.place.project;
    let folder = root.join(FOLDER);
    // Of the thing itself, not of what a link leads to.
    let Ok(found) = fs::symlink_metadata(&folder) else {
        let message = format!("{} has no memory yet; the first write makes it", root.display());
        return vec![Check::new("folder", Finding::Ok, message)];
    };
    if !found.is_dir() {
        let what = if found.is_symlink() { "a link" } else { "a file" };
        let check = Check::new("folder", Finding::Fail, format!("{} is {what}, and must be a folder", folder.display()));
        return vec![Check { hint: Some("move it away; the first write makes the folder".to_owned()), ..check }];
    }
    let mut checks = vec![Check::new("folder", Finding::Ok, folder.display().to_string())];
    if project.located.checkout != *root {
        let message = format!("this worktree shares the memory of {}", root.display());
        checks.push(Check::new("worktree", Finding::Ok, message));
    }
    checks.push(config(&project.engine));
    checks.push(embeddings(&project.engine));
    checks.extend(policy(&project.engine));
    match project.engine.status() {
        Ok(status) => checks.extend(memory(&status)),
        Err(failure) => checks.push(Check::failed("store", &Problem::from(failure))),
    }
    checks
}

fn config(engine: &Engine) -> Check {
    match engine.store().config() {
        Ok(config) if config.version > VERSION => {
            let message = format!("format version {} is newer than {VERSION}, which this program knows", config.version);
            let hint = "update twining; until then the memory can be read, not written".to_owned();
            Check { hint: Some(hint), ..Check::new("config", Finding::Fail, message) }
        }
        Ok(config) if config.notes.is_empty() => Check::new("config", Finding::Ok, format!("format version {}", config.version)),
        Ok(config) => Check::new("config", Finding::Warn, config.notes.join("; ")),
        Err(error) => Check::failed("config", &Problem::from(twining_engine::Failure::from(error))),
    }
}

fn embeddings(engine: &Engine) -> Check {
    match engine.model_state() {
        Ok(ModelState::Ready) => match engine.study().look() {
            Ok(embedding) if embedding.waiting == 0 => Check::new("search", Finding::Ok, "every record can be found by its meaning"),
            Ok(embedding) => {
                let texts = count(embedding.waiting, "text");
                Check::new("search", Finding::Ok, format!("{texts} can be found by words alone so far; a running server makes the rest"))
            }
            Err(error) => Check::failed("search", &Problem::from(twining_engine::Failure::from(error))),
        },
        Ok(ModelState::Off) => Check::new("search", Finding::Ok, "by words alone, as config.yml says (search.embeddings)"),
        Ok(ModelState::Unusable(why)) => {
            let hint = "install twining anew, or unset TWINING_MODEL; until then words answer, and everything else works".to_owned();
            Check { hint: Some(hint), ..Check::new("search", Finding::Warn, format!("by words alone: {why}")) }
        }
        Err(failure) => Check::failed("search", &Problem::from(failure)),
    }
}

/// What is wrong with the policy files; nothing where there are none, or no mistakes.
fn policy(engine: &Engine) -> Vec<Check> {
    let mistakes = engine.policy(&user_policy::read()).mistakes;
    let hint = "the rest of the file holds; twining gates and twining role show what does".to_owned();
    mistakes.iter().map(|mistake| Check { hint: Some(hint.clone()), ..Check::new("policy", Finding::Warn, mistake.to_string()) }).collect()
}

fn memory(status: &StatusReport) -> Vec<Check> {
    let finding = if status.summary.starts_with(UNWELL) { Finding::Warn } else { Finding::Ok };
    let mut checks = vec![Check::new("store", finding, status.summary.clone())];
    for unreadable in &status.unreadable {
        let line = unreadable.line.map_or_else(String::new, |line| format!(" line {line}"));
        let hint = "it is kept as it is; mend it by hand or restore it from git".to_owned();
        let check = Check::new("files", Finding::Fail, format!("{}{line} cannot be read: {}", unreadable.file, unreadable.why));
        checks.push(Check { hint: Some(hint), ..check });
    }
    // What could not be read stands above, one by one.
    for warning in status.warnings.iter().filter(|warning| !matches!(warning.code.as_str(), "unreadable_files" | "no_embeddings")) {
        let check = Check::new("memory", Finding::Warn, warning.message.clone());
        checks.push(Check { hint: Some(warning.hint.clone()), ..check });
    }
    checks
}

fn show(checks: &[Check], page: &mut Page) {
    for check in checks {
        let finding = match check.finding {
            Finding::Ok => good("ok  "),
            Finding::Warn => warn("warn"),
            Finding::Fail => bad("fail"),
        };
        page.line([finding, dim(format!("{:<8}", check.name)), plain(at_a_prompt(&check.message))]);
        if let Some(hint) = &check.hint {
            page.block(14, &format!("hint: {}", at_a_prompt(hint)));
        }
    }
}
