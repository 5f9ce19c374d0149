//! Asking git whether a record is safe in its history.
//!
//! When git has rewritten the work tree and a recent record is missing, it is
//! either on another branch, where it belongs, or lost between two of git's own
//! steps. Only git can tell. This runs the `git` program, which is slow and rare:
//! never for a write that finds the tree as it left it.

use std::collections::HashSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::layout::FOLDER;

/// How far back the positions of HEAD are looked at.
const POSITIONS: &str = "4";
/// git compares every line with every text: for more than this it would take
/// seconds, under the write lock. So many at once are brought back unasked.
const TEXTS: usize = 64;

/// Which of these texts stand in a recent commit or in the stash, under
/// `.twining`. If git cannot be asked, none: bringing a record back twice is
/// better than losing it.
pub fn holding(project: &Path, texts: &HashSet<String>) -> HashSet<String> {
    if texts.is_empty() || texts.len() > TEXTS {
        return HashSet::new();
    }
    let mut commits = lines(project, &["log", "-g", "-n", POSITIONS, "--format=%H", "HEAD", "--"]);
    commits.extend(lines(project, &["rev-parse", "--verify", "--quiet", "refs/stash"]));
    commits.sort();
    commits.dedup();
    if commits.is_empty() {
        return HashSet::new();
    }
    found(project, &commits, texts).unwrap_or_default()
}

fn found(project: &Path, commits: &[String], texts: &HashSet<String>) -> Option<HashSet<String>> {
    let mut child = git(project)
        .args(["grep", "--no-color", "-h", "-o", "-F", "-f", "-"])
        .args(commits)
        .args(["--", FOLDER])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    let patterns: String = texts.iter().map(|text| format!("{text}\n")).collect();
    let mut input = child.stdin.take()?;
    // On its own thread: git may answer before it has read every pattern.
    let writer = std::thread::spawn(move || input.write_all(patterns.as_bytes()));
    let output = child.wait_with_output().ok()?;
    drop(writer.join());
    let found: HashSet<String> = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
    Some(texts.iter().filter(|text| found.contains(*text)).cloned().collect())
}

fn lines(project: &Path, args: &[&str]) -> Vec<String> {
    let output = git(project).args(args).output();
    output.map_or_else(|_| Vec::new(), |output| String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

/// git, with everything turned off by which a repository could make it run something.
fn git(project: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .arg("-C")
        .arg(project)
        .args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "log.showSignature=false", "-c", "core.pager=cat"])
        .env("GIT_OPTIONAL_LOCKS", "0")
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    command
}
