//! What an installation that was killed half way left beside the files it was about to
//! change.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::apply::staged_by;
use super::sheet::Sheet;
use super::{Host, Reach, ground, home};
use crate::desk::Project;

/// Removes what processes left that are no more; the files as people call them.
pub fn sweep(project: &Project) -> Vec<String> {
    let removed: Vec<PathBuf> = found(project).into_iter().filter(|file| fs::remove_file(file).is_ok()).collect();
    let checkout = &project.located.checkout;
    for file in removed.iter().filter(|file| file.starts_with(checkout) && !is_gits(file)) {
        // A folder that was made for the file goes with it; one that holds anything stays.
        let _ = file.ancestors().skip(1).take_while(|folder| folder != checkout).try_for_each(fs::remove_dir);
    }
    shown(project, &removed)
}

/// What is there to be removed, as people call it.
pub fn leftovers(project: &Project) -> Vec<String> {
    shown(project, &found(project))
}

/// What was removed, in a sentence.
pub fn told(removed: &[String]) -> Option<String> {
    (!removed.is_empty()).then(|| format!("removed what a run that was interrupted left: {}", removed.join(", ")))
}

fn shown(project: &Project, files: &[PathBuf]) -> Vec<String> {
    let sheet = Sheet::new(&project.located.checkout, home().as_deref());
    files.iter().map(|file| sheet.shown(file)).collect()
}

fn found(project: &Project) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in folders(project) {
        let names = fs::read_dir(&folder).into_iter().flatten().flatten();
        let ours = names.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
        found.extend(ours.filter(|entry| staged_by(&entry.file_name().to_string_lossy()).is_some_and(is_gone)).map(|entry| entry.path()));
    }
    found.sort_unstable();
    found
}

/// Every folder an installation writes to.
fn folders(project: &Project) -> BTreeSet<PathBuf> {
    let grounds = [Reach::Team, Reach::Stealth].map(|reach| ground(project, reach));
    let pieces = grounds.iter().flat_map(|ground| Host::ALL.into_iter().flat_map(|host| host.pieces(ground)));
    let of_hosts = pieces.filter_map(|piece| piece.file.parent().map(Path::to_owned));
    let of_git = project.history.shape().into_iter().flat_map(|shape| {
        // Husky's own folder has ours beside it.
        let beside = shape.hooks.parent().map(Path::to_owned);
        [shape.common.join("info"), shape.common, shape.hooks].into_iter().chain(beside)
    });
    of_hosts.chain(of_git).filter_map(|folder| fs::canonicalize(folder).ok()).collect()
}

fn is_gits(file: &Path) -> bool {
    file.ancestors().any(|above| above.ends_with(".git"))
}

/// Whether a process is no more. One of our own number was another: we staged nothing yet.
fn is_gone(process: u32) -> bool {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    process == std::process::id() || pid.is_some_and(|pid| test_kill_process(pid) == Err(Errno::SRCH))
}
