//! Whether git still asks Twining before a commit. Compared when a turn ends, where
//! it did when the session was first heard of: what is committed past it is told
//! only afterwards.

use std::fs;
use std::path::{Path, PathBuf};

use crate::desk::Project;
use crate::git::Git;
use crate::init::{asks_in, can_be_started};

/// The hook.
const NAME: &str = "pre-commit";
/// Bytes of a script or of settings that are read.
const MOST_BYTES: u64 = 1024 * 1024;

/// Git's hook before a commit, as it is now.
struct Hook {
    file: PathBuf,
    /// Whether it lies in git's own folder, where nobody but a hand changes it.
    is_git_s: bool,
}

/// The hook by which git asks, if it does.
pub fn asking(project: &Project) -> Option<String> {
    let hook = hook(project)?;
    asks(&hook).then(|| hook.file.display().to_string())
}

/// Why git no longer asks, where it did by the hook `was`. A hook that is a file of the
/// project comes and goes with branches; its settings do not.
pub fn unasked(project: &Project, was: &str) -> Option<String> {
    let hook = hook(project)?;
    let is_moved = hook.file != Path::new(was);
    if asks(&hook) || !(hook.is_git_s || is_moved) {
        return None;
    }
    let file = hook.file.display();
    let (why, undo) = if is_moved {
        (
            format!("it looks for hooks in `{}`, and there is none of Twining's", hook.file.parent().unwrap_or(&hook.file).display()),
            "`git config --show-origin core.hooksPath` says who told it so, `git config --unset core.hooksPath` takes it back",
        )
    } else {
        let why = match text(&hook.file) {
            None => "is gone",
            Some(script) if !asks_in(&script) => "no longer calls Twining",
            Some(_) => "cannot be started",
        };
        (format!("`{file}` {why}"), "`twining doctor --fix` puts back what `twining init` wrote")
    };
    Some(format!("[hooks-stay-wired] git no longer asks Twining before a commit: {why}. Undo it: {undo}; or have a person change it"))
}

fn asks(hook: &Hook) -> bool {
    text(&hook.file).is_some_and(|script| asks_in(&script)) && (can_be_started(&hook.file) || !hook.is_git_s)
}

fn hook(project: &Project) -> Option<Hook> {
    let common = project.located.place.git_dir.as_ref()?;
    let settings = [Some(common.join("config")), home(".gitconfig"), settings_folder().map(|folder| folder.join("git/config"))];
    // Most say nothing of hooks, and then git need not be asked where it looks.
    let may_lead = |file: &PathBuf| {
        let text = text(file).unwrap_or_default().to_lowercase();
        text.contains("hookspath") || text.contains("[include")
    };
    let folder = if settings.iter().flatten().any(may_lead) {
        let hooks = Git::at(&project.located.checkout).shape()?.hooks;
        // Husky's own folder calls the scripts beside it.
        if hooks.ends_with(".husky/_") { hooks.parent()?.to_owned() } else { hooks }
    } else {
        common.join("hooks")
    };
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = real(&folder);
    let is_git_s = folder.starts_with(real(common));
    Some(Hook { file: folder.join(NAME), is_git_s })
}

fn home(name: &str) -> Option<PathBuf> {
    std::env::var_os("HOME").map(|home| Path::new(&home).join(name))
}

fn settings_folder() -> Option<PathBuf> {
    std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).or_else(|| home(".config"))
}

fn text(file: &Path) -> Option<String> {
    let found = fs::metadata(file).ok().filter(|found| found.is_file() && found.len() <= MOST_BYTES);
    found.and_then(|_| fs::read(file).ok()).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}
