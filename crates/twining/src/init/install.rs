//! The flags of `init` and `uninstall`, and what they ask for.

use crate::init::InstallEnvironment;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Command};
use twining_engine::governance::{GUARDKIT_GATES, GUARDKIT_OVERRIDES};
use twining_store::DEFAULT_FILES;

use super::apply::StagedEdits;
use super::git::GitWiring;
use super::marked_block::MarkerStyle;
use super::protect::ProtectionLevel;
use super::receipt::{OriginalContent, Receipt};
use super::{HostKind, Visibility, marked_block, protect};
use crate::args::{option, switch};
use crate::init::patch::FilePatch;
use crate::init::plan::{FileEdit, InstallPlan};
use crate::init::report::{EnterMeaning, InstallOutcome, agreed, declined, tell};
use crate::locate_project::{FOLDER, LocateInput};
use crate::output::OutputFormat;
use crate::program_path;
use crate::project::Project;
use crate::render::command_error::{CommandError, ExitStatus};

/// Those of `init`.
pub(crate) fn install_flags(command: Command) -> Command {
    let stealth =
        "Write nothing that git would track: only your own settings, and git ignores the memory";
    let protect = "Make the host block agents' tools and shells from .twining/local and git's hooks; strict: from every record. Also adds code owners";
    let protect = option("protect", "LEVEL", protect);
    command
        .args([dry_run(), yes()])
        .arg(protect.num_args(0..=1).require_equals(true).default_missing_value("local").value_parser(["local", "strict"]))
        .arg(switch("codeowners", "Add policy and decisions to CODEOWNERS"))
        .arg(option("owner", "@TEAM", "Their owners; default: commented lines to fill in"))
        .arg(switch("stealth", stealth))
        .after_help(
            "--agent names the hosts to set up, separated by commas: claude, codex, gemini, cursor, opencode, or none;\ndefault: those that are found here\n\nExample:\n  twining init --agent claude,codex --dry-run",
        )
}

/// Those of `uninstall`.
pub(crate) fn uninstall_flags(command: Command) -> Command {
    command
        .args([dry_run(), yes()])
        .arg(switch("purge", "Also remove .twining/ with everything recorded in it"))
        .after_help("Example:\n  twining uninstall --dry-run")
}

fn dry_run() -> Arg {
    switch("dry-run", "Show every change as a diff and write nothing")
}

fn yes() -> Arg {
    switch("yes", "Do not ask, even on a terminal").short('y')
}

/// What `init` and `uninstall` are asked for.
pub(crate) fn options(
    given: &ArgMatches,
    project: Option<PathBuf>,
    agent: Option<String>,
    style: OutputFormat,
) -> Result<InstallOptions, CommandError> {
    let flag =
        |name: &str| given.try_get_one::<bool>(name).ok().flatten().copied().unwrap_or_default();
    let hosts =
        agent.map(|words| HostKind::list(&words)).transpose().map_err(CommandError::misuse)?;
    let visibility = if flag("stealth") { Visibility::Stealth } else { Visibility::Team };
    let word = |name: &str| given.try_get_one::<String>(name).ok().flatten().map(String::as_str);
    let protect = word("protect").map(ProtectionLevel::named);
    let owners = word("owner").map(protect::owners).transpose()?;
    let codeowners = (protect.is_some() && visibility == Visibility::Team)
        || flag("codeowners")
        || owners.is_some();
    Ok(InstallOptions {
        project,
        hosts,
        visibility,
        protect,
        codeowners,
        owners,
        dry_run: flag("dry-run"),
        yes: flag("yes"),
        purge: flag("purge"),
        style,
    })
}

/// Folders in which decision records usually lie.
const RECORDS: [&str; 6] =
    ["docs/adr", "docs/adrs", "docs/decisions", "docs/architecture/decisions", "doc/adr", "adr"];
/// Where beads keeps its issues.
const ISSUES: [&str; 2] = [".beads/issues.jsonl", ".beads/beads.jsonl"];
/// The usual names of the reference memory server's file.
const MEMORIES: [&str; 3] = ["memory.jsonl", ".memory.jsonl", "memory.json"];
/// Rules for agents.
const RULES: [&str; 2] = ["CLAUDE.md", "AGENTS.md"];
/// Larger files are not looked into for a hint.
const MOST_BYTES: u64 = 1024 * 1024;

/// A line for each thing that an import could take over.
pub(crate) fn imports(checkout: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for folder in RECORDS {
        let records = fs::read_dir(checkout.join(folder)).into_iter().flatten().flatten();
        let count = records
            .filter(|entry| {
                entry.path().extension().is_some_and(|kind| kind.eq_ignore_ascii_case("md"))
            })
            .count();
        if count > 0 {
            let records = crate::render::text_page::count(count as u64, "decision record");
            found.push(format!("{folder}/ has {records}: `twining import adr {folder} --dry-run` shows what would be imported"));
        }
    }
    if [GUARDKIT_OVERRIDES, GUARDKIT_GATES].iter().any(|file| checkout.join(file).is_file()) {
        found.push(
            ".guardkit/ has settings: `twining import guardkit --print` shows the resulting policy"
                .to_owned(),
        );
    }
    for (files, source, what) in
        [(&ISSUES[..], "beads", "issues"), (&MEMORIES[..], "memory-jsonl", "a memory")]
    {
        let there = files.iter().find(|file| checkout.join(file).is_file());
        found.extend(there.map(|file| format!("{file} has {what}: `twining import {source} {file} --dry-run` shows what would be imported")));
    }
    for file in RULES {
        let rules = rules_in(&checkout.join(file));
        if rules > 0 {
            let rules = crate::render::text_page::count(rules, "rule");
            found.push(format!("{file} has {rules}: `twining import claude-md {file} --dry-run` shows how they would be imported"));
        }
    }
    found
}

/// Points of a list outside of our own block. A link is another file's.
fn rules_in(file: &Path) -> u64 {
    let is_small =
        fs::symlink_metadata(file).is_ok_and(|found| found.is_file() && found.len() <= MOST_BYTES);
    let text = if is_small { fs::read_to_string(file).unwrap_or_default() } else { String::new() };
    let theirs =
        marked_block::take(&text, MarkerStyle::Markdown).ok().flatten().unwrap_or_default();
    theirs
        .lines()
        .map(str::trim_start)
        .filter(|line| line.starts_with("- ") || line.starts_with("* "))
        .count() as u64
}

/// What is asked for.
#[derive(Clone, Debug)]
pub(crate) struct InstallOptions {
    /// `--project`.
    pub project: Option<PathBuf>,
    /// `--agent`; else those that are found.
    pub hosts: Option<Vec<HostKind>>,
    /// Who may see it.
    pub visibility: Visibility,
    /// What the host is to keep agents out of.
    pub protect: Option<super::protect::ProtectionLevel>,
    /// Whether code owners are asked about policy and decisions.
    pub codeowners: bool,
    /// Who they are.
    pub owners: Option<String>,
    /// Whether it is only shown.
    pub dry_run: bool,
    /// Whether nobody is asked.
    pub yes: bool,
    /// Whether the memory goes too; only for `uninstall`.
    pub purge: bool,
    /// The output format.
    pub style: OutputFormat,
}

/// What to do where no agent was found.
pub(super) const NO_AGENT: &str = "No agent found. Name yours: `twining init --agent claude` (or codex, gemini, cursor, opencode), or run `twining init` once one is installed";

/// Wires the project up.
pub(crate) fn install(options: &InstallOptions) -> Result<ExitStatus, CommandError> {
    let project = Project::open(options.project.clone())?;
    refuse_bare(&project)?;
    let environment = environment(&project, options.visibility);
    let hosts = options.hosts.clone().unwrap_or_else(|| {
        HostKind::ALL.into_iter().filter(|host| host.is_here(&environment)).collect()
    });
    let found_none = hosts.is_empty() && options.hosts.is_none();
    let mut plan = InstallPlan::new(&environment.checkout, environment.home.as_deref());
    plan_install(options, &project, &environment, &hosts, &mut plan)?;
    let edits = plan.edits()?;
    let memory = missing_memory(&project)?;
    let nothing = edits.is_empty() && memory.is_empty();
    let mut advice: Vec<String> = found_none.then(|| NO_AGENT.to_owned()).into_iter().collect();
    if options.protect.is_some() && hosts.is_empty() {
        advice.push("--protect protected nothing: no agent is set up here".to_owned());
    }
    if !nothing {
        advice.extend(hosts.iter().map(|host| host.advice(options.visibility).to_owned()));
        advice.extend(
            hosts
                .iter()
                .filter(|_| options.protect.is_some())
                .map(|host| super::protect::advice(*host).to_owned()),
        );
        advice.extend(super::install::imports(&environment.checkout));
    }
    let close = match (nothing, options.dry_run) {
        (true, _) => "Everything is in place; nothing was written.",
        (false, true) => "Nothing was written; run without --dry-run to write it.",
        (false, false) => {
            "Done. `twining doctor` checks that it works; `twining uninstall` removes it."
        }
    };
    let outcome =
        InstallOutcome { edits, memory, hosts, notes: plan.notes, advice, close: close.to_owned() };
    if nothing || options.dry_run {
        return Ok(tell(options, &outcome));
    }
    // Without an agent there is nothing of anybody's settings to agree to.
    if !found_none && !agreed(options, &outcome, "Write these?", EnterMeaning::Agrees)? {
        return Ok(declined(options, "Nothing was written."));
    }
    // What cannot be written is known before anything is.
    let staged = super::apply::stage(&outcome.edits)?;
    // The memory first: the receipt lies in it.
    project.engine.store().installation().prepare()?;
    project.engine.create_knowledge()?;
    apply_edits(&project, &outcome.edits, staged)?;
    Ok(tell(options, &outcome))
}

/// Puts what hosts and git need into the sheet.
pub(super) fn plan_install(
    options: &InstallOptions,
    project: &Project,
    environment: &InstallEnvironment,
    hosts: &[HostKind],
    plan: &mut InstallPlan,
) -> Result<(), CommandError> {
    note_project_location(project, options, plan);
    refuse_other_reach(project, plan, options.visibility)?;
    let mut patches: Vec<FilePatch> =
        hosts.iter().flat_map(|host| host.patches(environment)).collect();
    if let Some(wanted) = options.protect {
        patches.extend(
            hosts.iter().flat_map(|host| super::protect::patches(*host, environment, wanted)),
        );
    }
    let git = git_wiring(project, plan);
    match options.visibility {
        Visibility::Team => {
            // A memory that was hidden is the team's from now on.
            git.as_ref().map_or(Ok(()), |git| git.include_in_git(plan))?;
            patches.iter().try_for_each(|patch| patch.put(plan))?;
        }
        Visibility::Stealth => put_untracked(project, plan, &patches, git.as_ref())?,
    }
    for (host, file) in overlooking(hosts, environment, plan) {
        plan.note(format!(
            "{host} accepts only plain JSON and ignores `{file}`, which has comments or trailing commas; remove them"
        ));
    }
    if options.visibility == Visibility::Stealth
        && environment.home.is_none()
        && hosts.contains(&HostKind::Claude)
    {
        plan.note("HOME is not set to a folder, so the server was not added to Claude Code: its per-user settings are stored there");
    }
    let Some(git) = git else {
        if options.codeowners {
            plan.note("code owners were not added: there is no repository here");
        }
        return Ok(());
    };
    if options.codeowners {
        super::protect::put_codeowners(plan, &git, options.owners.as_deref())?;
    }
    if options.visibility == Visibility::Stealth && git.hooks_are_tracked() {
        plan.note("the hooks of this repository are shared, so none was added");
        return git.put_drivers(plan);
    }
    git.put(plan)
}

/// Where hosts look, for this process and project.
pub(crate) fn environment(project: &Project, visibility: Visibility) -> InstallEnvironment {
    let programs = std::env::var_os("PATH")
        .map(|path| std::env::split_paths(&path).collect())
        .unwrap_or_default();
    let inside_claude = std::env::var_os("CLAUDECODE").is_some_and(|is| is == OsStr::new("1"));
    InstallEnvironment {
        checkout: project.located.checkout.clone(),
        home: home(),
        programs,
        inside_claude,
        visibility,
    }
}

/// All that may be in the files of hosts, protection included.
pub(super) fn every_patch(environment: &InstallEnvironment) -> Vec<FilePatch> {
    let of = |host: HostKind| {
        host.patches(environment).into_iter().chain(super::protect::patches(
            host,
            environment,
            super::protect::ProtectionLevel::Strict,
        ))
    };
    HostKind::ALL.into_iter().flat_map(of).collect()
}

/// The user's home.
pub(crate) fn home() -> Option<PathBuf> {
    std::env::var_os("HOME")
        .map(PathBuf::from)
        .filter(|home| home.is_dir())
        .and_then(|home| std::fs::canonicalize(home).ok())
}

/// Files that a host would read nothing of, as they were found.
pub(super) fn overlooking(
    hosts: &[HostKind],
    environment: &InstallEnvironment,
    plan: &mut InstallPlan,
) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    for host in hosts {
        for patch in host.patches(environment) {
            let Ok(Some(text)) = plan.text(&patch.file, &patch.within) else { continue };
            if host.overlooks(&patch.file, &text).is_some() {
                found.push((host.name(), plan.shown(&patch.file)));
            }
        }
    }
    found.dedup();
    found
}

/// A bare repository has no files to work on.
pub(super) fn refuse_bare(project: &Project) -> Result<(), CommandError> {
    let is_bare = |dir: &&Path| {
        dir.join("HEAD").is_file() && dir.join("objects").is_dir() && dir.join("refs").is_dir()
    };
    let around = project.located.checkout.ancestors().take_while(|dir| !dir.join(".git").exists());
    let Some(bare) = around.into_iter().find(is_bare) else { return Ok(()) };
    let problem = CommandError::unavailable(
        "NOT_FOUND",
        format!("`{}` is a bare repository; agents need a working tree", bare.display()),
    );
    Err(problem.with_hint("run it in one of its worktrees, or in a clone"))
}

/// Reports which project is meant if it is not the current folder, and if one is inside another.
pub(super) fn note_project_location(
    project: &Project,
    options: &InstallOptions,
    plan: &mut InstallPlan,
) {
    let root = &project.located.checkout;
    let here =
        LocateInput::of_process(None).ok().and_then(|clues| std::fs::canonicalize(clues.here).ok());
    if let Some(here) =
        here.filter(|here| options.project.is_none() && here != root && here.starts_with(root))
    {
        let inside = here.strip_prefix(root).unwrap_or(&here).display();
        plan.note(format!(
            "`{inside}` is inside the project {} and shares its memory; `twining init --project .` gives it its own memory",
            root.display()
        ));
    }
    if let Some(outer) = root.ancestors().skip(1).find(|dir| dir.join(FOLDER).is_dir()) {
        plan.note(format!("this project is inside {}, which has its own memory; this folder and everything below it use this project's memory", outer.display()));
    }
}

/// What of git is ours to change; a note where there is a repository we cannot read.
pub(super) fn git_wiring(project: &Project, plan: &mut InstallPlan) -> Option<GitWiring> {
    let Some(shape) = project.history.shape() else {
        let words = if project.located.place.git_dir.is_some() {
            "git could not read this repository, so its settings were not changed"
        } else {
            "this folder is not under version control; the memory is shared on this machine only"
        };
        plan.note(words);
        return None;
    };
    // In a linked worktree the memory is the main one's, and lies at the same place in it.
    let top = std::fs::canonicalize(&shape.top).unwrap_or_else(|_| shape.top.clone());
    let inside = project
        .located
        .checkout
        .strip_prefix(&top)
        .unwrap_or(Path::new(""))
        .to_string_lossy()
        .into_owned();
    let prefix = if inside.is_empty() { String::new() } else { format!("{inside}/") };
    let Some(program) = program_path::stable_path(&[
        &top,
        &project.located.checkout,
        &project.located.place.project,
    ]) else {
        plan.note(
            "the path of this program cannot be written into git's settings, so they were not changed",
        );
        return None;
    };
    let knowledge = project
        .engine
        .store()
        .documents()
        .knowledge()
        .ok()
        .map(|file| file.path)
        .filter(|path| !path.starts_with(FOLDER));
    Some(GitWiring { shape, prefix, knowledge, program })
}

/// What an earlier `init` of the other kind wrote must go first: hooks would run twice.
pub(super) fn refuse_other_reach(
    project: &Project,
    plan: &InstallPlan,
    visibility: Visibility,
) -> Result<(), CommandError> {
    let (other, whom) = if visibility == Visibility::Team {
        (Visibility::Stealth, "only you (--stealth)")
    } else {
        (Visibility::Team, "the team")
    };
    let own: Vec<PathBuf> = every_patch(&environment(project, visibility))
        .into_iter()
        .map(|patch| patch.file)
        .collect();
    let is_there = |patch: &FilePatch| {
        std::fs::read_to_string(&patch.file).is_ok_and(|text| patch.part.is_in(&text))
    };
    let others = every_patch(&environment(project, other));
    let Some(found) = others.iter().find(|patch| !own.contains(&patch.file) && is_there(patch))
    else {
        return Ok(());
    };
    let message = format!(
        "this project is already set up for {whom}: `{}` calls twining",
        plan.shown(&found.file)
    );
    Err(CommandError::unavailable("ALREADY_WIRED", message)
        .with_hint("run `twining uninstall` first; the memory stays"))
}

/// In stealth: writes only files that git does not track, and makes git ignore them.
pub(super) fn put_untracked(
    project: &Project,
    plan: &mut InstallPlan,
    patches: &[FilePatch],
    git: Option<&GitWiring>,
) -> Result<(), CommandError> {
    if git.is_none() && project.located.place.git_dir.is_some() {
        let problem = CommandError::unavailable(
            "GIT",
            "git could not list the files it tracks here, so nothing can be hidden from it",
        );
        return Err(problem.with_hint("`git status` shows what is wrong; nothing was written"));
    }
    let checkout = &project.located.checkout;
    let relative = |patch: &FilePatch| {
        patch.file.strip_prefix(checkout).ok().map(|file| file.to_string_lossy().into_owned())
    };
    let files: Vec<String> =
        patches.iter().filter_map(relative).chain([FOLDER.to_owned()]).collect();
    let tracked = project.history.tracked_of(&files);
    let mut unseen = Vec::new();
    for patch in patches {
        match relative(patch) {
            Some(file) if tracked.contains(&file) => {
                plan.note(format!("`{file}` is tracked by git, so it was not changed"));
            }
            Some(file) => {
                patch.put(plan)?;
                unseen.push(file);
            }
            None => patch.put(plan)?,
        }
    }
    let Some(git) = git else { return Ok(()) };
    if tracked.iter().any(|file| file.starts_with(FOLDER)) {
        plan.note(format!("git tracks {FOLDER}/, so the records stay shared; to end that, run `git rm -r --cached {FOLDER}` and commit"));
    } else {
        unseen.push(format!("{FOLDER}/"));
    }
    let mut lines: Vec<String> =
        unseen.into_iter().map(|file| format!("{}{file}", git.prefix)).collect();
    lines.sort_unstable();
    lines.dedup();
    git.exclude_from_git(plan, &lines)
}

/// Files of the memory that are not there yet.
pub(super) fn missing_memory(project: &Project) -> Result<Vec<String>, CommandError> {
    let folder = project.located.place.project.join(FOLDER);
    // Opening it finds out whether it can be used at all.
    let exists = project.engine.store().exists()?;
    let knowledge = project.engine.store().documents().knowledge()?;
    let mut missing: Vec<String> = DEFAULT_FILES
        .iter()
        .filter(|(name, _)| !exists || !folder.join(name).exists())
        .map(|(name, _)| format!("{FOLDER}/{name}"))
        .collect();
    if knowledge.bytes.is_none() {
        missing.push(knowledge.path);
    }
    Ok(missing)
}

pub(super) fn apply_edits(
    project: &Project,
    edits: &[FileEdit],
    staged: StagedEdits<'_>,
) -> Result<(), CommandError> {
    let store = project.engine.store();
    let mut receipt = Receipt::read(store.installation().receipt()?.as_deref());
    let modes: Vec<Option<u32>> =
        edits.iter().map(|edit| super::apply::mode_of(&edit.path)).collect();
    let made = staged.place()?;
    for (edit, mode) in edits.iter().zip(modes) {
        // Written a second time, a file is still to become what it was before the first.
        let original = match edit.before.as_deref().map(|now| receipt.original(&edit.path, now)) {
            Some(OriginalContent::Text(text)) => Some(text),
            Some(OriginalContent::Absent) => None,
            Some(OriginalContent::Unknown) | None => edit.before.clone(),
        };
        receipt.keep(edit, original.as_deref());
        receipt.keep_modes(&edit.path, mode, super::apply::mode_of(&edit.path));
    }
    receipt.folders.extend(made);
    receipt.folders.dedup();
    store.installation().save_receipt(receipt.to_bytes().as_deref())?;
    Ok(())
}
