//! The memory itself: folder, settings, search, policy, and whether the index says
//! what the files say.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use twining_engine::{Engine, ModelState, StatusReport};
use twining_model::{Decision, Entry, Id, Trace};
use twining_store::config::VERSION;
use twining_store::disk::Dir;
use twining_store::merge::HAS_CONFLICT_MARKERS;
use twining_store::{DEFAULT_FILES, StoreError, missing_lines};

use super::program::{DoctorCheck, Health};
use crate::hook;
use crate::init;
use crate::link::sync_checks;
use crate::locate_project::FOLDER;
use crate::project::Project;
use crate::render::command_error::CommandError;
use crate::render::text_page::count;
use crate::user_policy;

/// How a summary begins that is not of a healthy memory.
const UNWELL: &str = "Needs attention";
/// What rules stopped.
const TRACES: &str = "traces.jsonl";
/// Lines that are looked at.
const MOST_LINES: usize = 500_000;

/// Checks the memory; the second value is whether there is one to read.
pub(super) fn checks(project: &Project) -> (Vec<DoctorCheck>, bool) {
    let root = &project.located.place.project;
    let folder = root.join(FOLDER);
    // Of the thing itself, not of what a link leads to.
    let Ok(found) = fs::symlink_metadata(&folder) else {
        return (vec![absent(project)], false);
    };
    if !found.is_dir() {
        let what = if found.is_symlink() { "a link" } else { "a file" };
        let check = DoctorCheck::fail(
            "folder",
            format!("{} is {what}, but must be a folder", folder.display()),
        );
        return (vec![check.hinted("move it away; the first write creates the folder")], false);
    }
    let mut checks = vec![DoctorCheck::ok("folder", folder.display().to_string())];
    if project.located.checkout != *root {
        let message = format!("this worktree shares the memory of {}", root.display());
        checks.push(DoctorCheck::ok("worktree", message));
    }
    checks.extend(locked_out(&folder));
    checks.push(config(&project.engine));
    checks.push(embeddings(&project.engine));
    checks.extend(policy(project));
    match project.engine.status() {
        Ok(status) => checks.extend(memory(&status)),
        Err(failure) => checks.push(DoctorCheck::failed("store", &CommandError::from(failure))),
    }
    checks.push(index(project));
    checks.extend(traces(&folder));
    checks.extend(sync_checks(project.engine.store()).into_iter().map(
        |(is_well, message, hint)| {
            if is_well {
                DoctorCheck::ok("team", message)
            } else {
                DoctorCheck::warn("team", message).hinted(hint)
            }
        },
    ));
    checks.extend(locks(&folder));
    checks.extend(scaffold(&folder));
    (checks, true)
}

/// Parts of the memory that this user may not write to.
fn locked_out(folder: &Path) -> Option<DoctorCheck> {
    let parts =
        ["", "blackboard.jsonl", "decisions", "graph", "local"].map(|name| folder.join(name));
    let closed = |path: &&PathBuf| {
        path.exists() && rustix::fs::access(path.as_path(), rustix::fs::Access::WRITE_OK).is_err()
    };
    let found = parts.iter().find(closed)?;
    let message = format!(
        "{} is not writable for this user: records can be read, but not written",
        found.display()
    );
    Some(
        DoctorCheck::fail("folder", message)
            .hinted("make it writable for the user who runs the agents: chown, or chmod u+w"),
    )
}

fn config(engine: &Engine) -> DoctorCheck {
    match engine.store().config() {
        Ok(config) if config.version > VERSION => {
            let message = format!(
                "format version {} is newer than {VERSION}, the latest this program knows",
                config.version
            );
            let hint = "update twining; until then the memory can be read, not written".to_owned();
            DoctorCheck { hint: Some(hint), ..DoctorCheck::fail("config", message) }
        }
        Ok(config) if config.notes.is_empty() => {
            DoctorCheck::ok("config", format!("format version {}", config.version))
        }
        Ok(config) => DoctorCheck::warn("config", config.notes.join("; ")),
        Err(error) => DoctorCheck::failed("config", &CommandError::from(error)),
    }
}

fn embeddings(engine: &Engine) -> DoctorCheck {
    match engine.model_state() {
        Ok(ModelState::Ready) => match engine.embedding_worker().scan() {
            Ok(embedding) if embedding.waiting == 0 => {
                DoctorCheck::ok("search", "search by meaning covers every record")
            }
            Ok(embedding) => {
                let texts = count(embedding.waiting, "text");
                DoctorCheck::ok(
                    "search",
                    format!(
                        "{texts} not embedded yet, found by keywords only; a running server embeds them"
                    ),
                )
            }
            Err(error) => DoctorCheck::failed("search", &CommandError::from(error)),
        },
        Ok(ModelState::Off) => {
            DoctorCheck::ok("search", "keywords only, as set in config.yml (search.embeddings)")
        }
        Ok(ModelState::Unusable(why)) => {
            let hint = "reinstall twining, or unset TWINING_MODEL; until then search uses keywords only, and everything else works".to_owned();
            DoctorCheck {
                hint: Some(hint),
                ..DoctorCheck::warn("search", format!("keywords only: {why}"))
            }
        }
        Err(failure) => DoctorCheck::failed("search", &CommandError::from(failure)),
    }
}

/// What is wrong with the policy files; nothing where there are none, or no mistakes.
fn policy(project: &Project) -> Vec<DoctorCheck> {
    let guards = hook::guards_as_written(project);
    let mut mistakes = project.engine.policy(&user_policy::read()).mistakes;
    mistakes.extend(
        guards
            .mistakes
            .iter()
            .filter(|mistake| !mistakes.contains(mistake))
            .cloned()
            .collect::<Vec<_>>(),
    );
    let (finding, hint) = if guards.unread.is_some() {
        (
            Health::Fail,
            "fix that line: until then the project's guards cannot be read, and agents may not change anything else",
        )
    } else {
        (
            Health::Warn,
            "the rest of the file applies; twining gates, twining role and twining guard list show what is in effect",
        )
    };
    mistakes
        .iter()
        .map(|mistake| DoctorCheck::new("policy", finding, mistake.to_string()).hinted(hint))
        .collect()
}

fn memory(status: &StatusReport) -> Vec<DoctorCheck> {
    let finding = if status.summary.starts_with(UNWELL) { Health::Warn } else { Health::Ok };
    let mut checks = vec![DoctorCheck::new("store", finding, status.summary.clone())];
    checks.extend(status.code.as_ref().map(|code| {
        let message = format!("{}; compared by token rules {}", code.summary(), code.token_rules);
        DoctorCheck::ok("code", message)
    }));
    // A broken policy has checks of its own.
    let mut unmerged: Vec<&str> = Vec::new();
    for unreadable in status.unreadable.iter().filter(|unreadable| unreadable.file != "policy.yml")
    {
        if unreadable.why == HAS_CONFLICT_MARKERS {
            // Once for all markers of a file.
            if !unmerged.contains(&unreadable.file.as_str()) {
                unmerged.push(&unreadable.file);
                let message = format!("{} cannot be read: {}", unreadable.file, unreadable.why);
                let hint =
                    "`twining doctor --fix` joins both sides; what it leaves, fix in the file";
                checks.push(DoctorCheck::fail("files", message).hinted(hint));
            }
            continue;
        }
        let line = unreadable.line.map_or_else(String::new, |line| format!(" line {line}"));
        let check = DoctorCheck::fail(
            "files",
            format!("{}{line} cannot be read: {}", unreadable.file, unreadable.why),
        );
        checks.push(check.hinted(format!(
            "it was not changed; edit the file to fix it, or restore what was committed: git restore {FOLDER}/{}",
            unreadable.file
        )));
    }
    // Unreadable files are reported above, one by one.
    for warning in status
        .warnings
        .iter()
        .filter(|warning| !matches!(warning.code.as_str(), "unreadable_files" | "no_embeddings"))
    {
        let check = DoctorCheck::warn("memory", warning.message.clone());
        checks.push(DoctorCheck { hint: Some(warning.hint.clone()), ..check });
    }
    checks
}

/// A file, opened, if it is one: a pipe would hang us.
fn plain(path: &Path) -> Option<fs::File> {
    fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
    fs::File::open(path).ok()
}

fn text_of(path: &Path) -> String {
    plain(path).and_then(|file| std::io::read_to_string(file).ok()).unwrap_or_default()
}

/// Lines of the traces that cannot be read; nothing where all can.
fn traces(folder: &Path) -> Option<DoctorCheck> {
    let file = plain(&folder.join(TRACES))?;
    let lines =
        BufReader::new(file).split(b'\n').map_while(Result::ok).take(MOST_LINES).enumerate();
    let torn =
        lines.filter(|(_, line)| !line.trim_ascii().is_empty() && Trace::read(line).is_none());
    let numbers: Vec<usize> = torn.map(|(at, _)| at + 1).collect();
    let first = numbers.first()?;
    let message = format!(
        "{TRACES}: {} cannot be read, the first is line {first}",
        count(numbers.len() as u64, "line")
    );
    Some(
        DoctorCheck::fail("files", message)
            .hinted("they were not changed; edit the file to fix them, or restore it from git"),
    )
}

/// Whether the index has as many records as the files.
fn index(project: &Project) -> DoctorCheck {
    let folder = project.located.place.project.join(FOLDER);
    let in_files = entries_in(&folder) + decisions_in(&folder);
    let indexed = project.engine.store().view(|view| {
        let tally = view.counts()?;
        let decisions = tally.active + tally.provisional + tally.superseded + tally.overridden;
        Ok::<_, StoreError>(tally.entries + decisions)
    });
    match indexed {
        Ok(indexed) if indexed == in_files => {
            DoctorCheck::ok("index", format!("matches the files ({})", count(in_files, "record")))
        }
        Ok(indexed) => {
            let message = format!(
                "differs from the files: it has {}, they have {in_files}",
                count(indexed, "record")
            );
            DoctorCheck::fail("index", message)
                .hinted("twining doctor --fix, or twining reindex, rebuilds it")
        }
        Err(error) => DoctorCheck::failed("index", &CommandError::from(error)),
    }
}

/// Counts readable entries, each once. Unreadable ones are reported elsewhere, line by line.
fn entries_in(folder: &Path) -> u64 {
    let Some(board) = plain(&folder.join("blackboard.jsonl")) else { return 0 };
    let lines = BufReader::new(board).lines().map_while(Result::ok);
    let ids: BTreeSet<String> = lines
        .filter_map(|line| serde_json::from_str::<Entry>(&line).ok())
        .map(|entry| entry.id)
        .collect();
    ids.len() as u64
}

fn decisions_in(folder: &Path) -> u64 {
    let files = fs::read_dir(folder.join("decisions")).into_iter().flatten().flatten();
    let is_decision = |entry: &fs::DirEntry| {
        let path = entry.path();
        path.file_stem().is_some_and(|stem| Id::read(&stem.to_string_lossy()).is_some())
            && serde_json::from_str::<Decision>(&text_of(&path)).is_ok()
    };
    files.filter(is_decision).count() as u64
}

/// No memory: none was made yet, or what was there is gone.
fn absent(project: &Project) -> DoctorCheck {
    let root = project.located.place.project.display();
    let git_knows_us = init::git_state(project).is_ok_and(|state| state.program.is_some());
    if !git_knows_us && init::wired(project).map_or(true, |hosts| hosts.is_empty()) {
        return DoctorCheck::ok(
            "folder",
            format!("{root} has no memory yet; the first write creates it"),
        );
    }
    // Git's settings never come with a clone: an installation here made them, and a memory.
    let finding = if git_knows_us { Health::Fail } else { Health::Warn };
    DoctorCheck::new(
        "folder",
        finding,
        format!("{root} is set up, but its memory is missing: there is no {FOLDER}/"),
    )
    .hinted(format!(
        "git checkout -- {FOLDER} restores what was committed; twining init creates a new memory"
    ))
}

/// Who holds the write lock right now.
fn locks(folder: &Path) -> Vec<DoctorCheck> {
    let mut checks = Vec::new();
    let holder = Dir::project(&folder.join("local"), None)
        .and_then(|local| local.open("lock"))
        .ok()
        .flatten()
        .and_then(|lock| lock.lock_holder())
        .flatten();
    if let Some(pid) = holder {
        let check = DoctorCheck::warn("lock", format!("process {pid} is writing right now"));
        checks.push(
            check.hinted("a write takes milliseconds; if this message stays, check that process"),
        );
    }
    checks
}

/// Files that a folder made by another program lacks, and lines that somebody took out of them.
fn scaffold(folder: &Path) -> Vec<DoctorCheck> {
    let ill = |message: String| {
        DoctorCheck::warn("folder", message).hinted("twining doctor --fix adds it")
    };
    let (there, missing): (Vec<&str>, Vec<&str>) =
        DEFAULT_FILES.iter().map(|(name, _)| *name).partition(|name| folder.join(name).exists());
    let mut checks = Vec::new();
    if !missing.is_empty() {
        checks.push(ill(format!("{FOLDER}/ has no {}", missing.join(", "))));
    }
    for name in there {
        let lacking = missing_lines(name, &text_of(&folder.join(name)));
        if !lacking.is_empty() {
            let harm = if name == ".gitignore" {
                "git tracks files that belong to this machine only"
            } else {
                "a clone without Twining's merge drivers merges those files worse"
            };
            checks
                .push(ill(format!("{FOLDER}/{name} lacks `{}`, so {harm}", lacking.join("`, `"))));
        }
    }
    checks
}
