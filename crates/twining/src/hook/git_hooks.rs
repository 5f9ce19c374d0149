//! git's own hooks. A new commit is linked with the decisions it implements, and old entries are
//! queued for the archive. Nothing here blocks git: any failure is reported, and the commit
//! remains.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use twining_engine::{Caller, ConfirmInput};
use twining_model::{Channel, Origin, Trust};
use twining_store::git::GitFolders;

use super::checks::{
    COMMIT_CHECKS, CheckNotice, NoticeLevel, RECORD_DOUBTFUL, Stage, TreeComparison, not_reported,
};
use super::context::INDEX_TIMEOUT;
use super::guard_cache;
use super::working_tree::WorkingTree;
use crate::allowances::PersonAllowances;
use crate::locate_project::LocateInput;
use crate::project::Project;
use crate::render::command_error::CommandError;
use crate::{allowances, init};

/// Answers one of git's hooks; one we do not know needs no answer.
pub(crate) fn run(project: Option<PathBuf>, event: &str) -> ExitCode {
    let projects = if project.is_some() { vec![project] } else { configured_projects() };
    match event {
        "pre-commit" => {
            // Each reports what is wrong; one refusal is enough to stop the commit.
            let refused = projects
                .into_iter()
                .filter(|project| !super::git_hooks::check(project.clone()))
                .count();
            if refused > 0 { ExitCode::from(1) } else { ExitCode::SUCCESS }
        }
        "post-commit" => {
            for problem in projects.into_iter().filter_map(|project| after_commit(project).err()) {
                // The commit is made; all that is left is to say so.
                let _ = anstream::stderr().write_all(
                    format!(
                        "twining: the commit was not linked\n{}",
                        crate::output::words(&problem)
                    )
                    .as_bytes(),
                );
            }
            ExitCode::SUCCESS
        }
        _ => ExitCode::SUCCESS,
    }
}

/// Returns the projects of this repository from git's configuration: git starts its hooks at the
/// top, and projects may be below it. If none is configured, the enclosing one.
fn configured_projects() -> Vec<Option<PathBuf>> {
    let below = || {
        let clues = LocateInput::of_process(None).ok()?;
        let GitFolders { top, common, .. } = GitFolders::of(&clues.here)?;
        let prefixes = init::projects(&fs::read_to_string(common.join("info/attributes")).ok()?);
        let folders =
            prefixes.iter().map(|prefix| top.join(prefix)).filter(|folder| folder.is_dir());
        Some(folders.map(Some).collect::<Vec<_>>())
    };
    below().filter(|projects| !projects.is_empty()).unwrap_or_else(|| vec![None])
}

fn after_commit(project: Option<PathBuf>) -> Result<(), CommandError> {
    let project = Project::open(project)?;
    let store = project.engine.store();
    if !store.exists()? || project.history.is_rewriting() {
        return Ok(());
    }
    if store.config()?.archive.auto_archive_on_commit {
        store.queues().queue_action(r#"{"action":"archive","trigger":"commit"}"#)?;
    }
    let Some(commit) = project.history.commit("HEAD") else { return Ok(()) };
    let before = || commit.parents.first().and_then(|parent| project.history.committed_at(parent));
    let origin = Origin {
        session: crate::project::session_of_host(),
        ..Origin::new(Channel::Hook, Trust::Tool)
    };
    let caller = Caller { agent: "git".to_owned(), origin };
    project.engine.link_new_commit(&caller, &commit, &before)?;
    // What a merge brings was confirmed where it was made.
    if let [parent] = commit.parents.as_slice() {
        for id in project.history.confirmed_between(parent, &commit.hash).into_keys() {
            let reason = Some(format!("the message of commit {}", commit.hash));
            let input = ConfirmInput { ids: vec![id], reason, ..ConfirmInput::default() };
            project.engine.confirm(&caller, &input, None)?;
        }
    }
    Ok(())
}

/// Files that are read from git at once; others one by one, where a check looks at them.
const MAX_FILES: usize = 2_000;

/// Whether the commit may be made.
pub(crate) fn check(project: Option<PathBuf>) -> bool {
    // A project that cannot be opened holds no commit.
    let Ok(project) = Project::open(project) else { return true };
    project.engine.store().set_deadline(INDEX_TIMEOUT);
    let mut notices = notices(&project);
    let (asked, others) = notices.into_iter().partition(|notice| notice.rule == RECORD_DOUBTFUL);
    // An agent was asked before it ran git.
    notices = not_reported(project.engine.store(), asked);
    notices.extend(others);
    let (refused, warnings): (Vec<CheckNotice>, Vec<CheckNotice>) =
        notices.into_iter().partition(|notice| notice.weight == NoticeLevel::Refuse);
    for notice in &warnings {
        print(&format!("{} [{}]", notice.text, notice.rule));
    }
    let refused = not_allowed(&project, refused);
    if refused.is_empty() {
        return true;
    }
    for notice in &refused {
        print(&format!("Blocked: {} [{}]", notice.text, notice.rule));
    }
    let rules: BTreeSet<&str> = refused.iter().map(|notice| notice.rule.as_str()).collect();
    let each: Vec<String> =
        rules.iter().map(|rule| format!("`twining guard allow {rule} --why \"…\"`")).collect();
    print(&format!(
        "Nothing was committed. To commit anyway, a person runs {}, or once: `TWINING_ALLOW=\"reason\" git commit …`",
        each.join(" and ")
    ));
    false
}

fn notices(project: &Project) -> Vec<CheckNotice> {
    let git = &project.history;
    let (staged, is_first) = std::thread::scope(|scope| {
        let staged = scope.spawn(|| git.staged());
        let is_first = git.head().is_none();
        (staged.join().unwrap_or_default(), is_first)
    });
    if staged.is_empty() {
        return Vec::new();
    }
    let guards = guard_cache::guards(project);
    let files = WorkingTree::of(project);
    let mut comparison = TreeComparison::new(project, &guards, &files, Stage::Commit);
    comparison.prefix = prefix(project);
    comparison.changed = staged
        .iter()
        .filter_map(|path| path.strip_prefix(&comparison.prefix))
        .map(str::to_owned)
        .collect();
    comparison.before = git.sides();
    // The first commit of all takes what is there: there is nothing to compare it with.
    let checks = if is_first { &COMMIT_CHECKS[..1] } else { &COMMIT_CHECKS[..] };
    comparison.prefetch(&comparison.changed.iter().take(MAX_FILES).cloned().collect::<Vec<_>>());
    comparison.run(checks)
}

/// The way from the top of the working tree to the project. git starts its hooks at the top.
fn prefix(project: &Project) -> String {
    let checkout = &project.located.checkout;
    let here = std::env::var_os("GIT_INDEX_FILE")
        .and_then(|_| std::env::current_dir().ok())
        .filter(|here| checkout.starts_with(here));
    let top = here
        .or_else(|| project.history.shape().map(|shape| shape.top))
        .unwrap_or_else(|| checkout.clone());
    let within =
        checkout.strip_prefix(&top).map(|within| within.display().to_string()).unwrap_or_default();
    if within.is_empty() { within } else { format!("{within}/") }
}

/// What no person allowed. An allowance is recorded when it is used.
fn not_allowed(project: &Project, refused: Vec<CheckNotice>) -> Vec<CheckNotice> {
    if refused.is_empty() {
        return refused;
    }
    let store = project.engine.store();
    let (given, now, head) =
        (PersonAllowances::read(store), store.ids().now(), project.history.head());
    let path_of = |notice: &CheckNotice| notice.path.clone().unwrap_or_default();
    let refused: Vec<CheckNotice> = refused
        .into_iter()
        .filter(|notice| {
            given.commit_allowance(&notice.rule, &path_of(notice), head.as_deref(), now).is_none()
        })
        .collect();
    let Some(reason) = allowances::from_environment().filter(|_| !refused.is_empty()) else {
        return refused;
    };
    let findings: Vec<String> = refused.iter().map(|notice| notice.text.clone()).collect();
    match allowances::allow_commit(project, &reason, &findings) {
        Ok(()) => {
            print(&format!("allowed and recorded: {reason}"));
            Vec::new()
        }
        Err(problem) => {
            print(&format!("the reason could not be recorded: {}", crate::output::words(&problem)));
            refused
        }
    }
}

fn print(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "twining: {}", twining_model::text::visible(text));
}
