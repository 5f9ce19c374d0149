//! Two branches meet: what both agents recorded apart is merged by git, and nothing
//! of it is lost.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use twining_store::git::Git;

use super::{TourError, items, say, scene, show_why, text};
use crate::drivers::DRIVERS;
use crate::page::{dim, good, plain, strong, warn};

const ADAS: &str = "token-issuer";
const BENS: &str = "logout-service";

/// Ada and Ben each know something the other does not, on branches of their own.
pub fn meet(program: &Path, project: &Path) -> Result<(), TourError> {
    let git = Git::at(project);
    let step = |words: &[&str]| git.run_in_throwaway(words).map_err(TourError::Run);
    let commit = |message: &str| Ok::<_, TourError>(step(&["add", "-A"])? && step(&["commit", "-q", "-m", message])?);
    twining(program, project, &["knowledge", "check", "--create"])?;
    if !commit("what both know")? {
        // Without git there is nothing to merge, and the tour goes on.
        return Ok(());
    }
    step(&["branch", "ada"])?;
    learn(program, project, "ben", BENS, "Logs users out everywhere")?;
    commit("ben: logout")?;
    step(&["checkout", "-q", "ada"])?;
    learn(program, project, "ada", ADAS, "Issues the tokens")?;
    commit("ada: tokens")?;
    let alone = step(&["merge", "-q", "--no-edit", "-"])?;
    step(&["merge", "--abort"])?;
    say(|page| {
        scene(page, "6  Two branches meet");
        page.line([strong("ada"), good("knowledge update"), plain(format!("{ADAS}, and decide: Tokens are issued by one service"))]);
        page.line([strong("ben"), good("knowledge update"), plain(format!("{BENS}, and decide: Logout is a service of its own"))]);
        page.line([strong("git"), plain("merges them by lines:"), if alone { good("clean") } else { warn("conflict") }]);
    })?;
    tell_git(program, project, &step)?;
    let merged = step(&["merge", "-q", "--no-edit", "-"])?;
    let found = twining(program, project, &["knowledge", "retrieve", "tokens logout"])?;
    let why = twining(program, project, &["why", "src/logout/"])?;
    let status = twining(program, project, &["status"])?;
    say(|page| {
        page.line([strong("git"), plain("merges them with our driver:"), if merged { good("clean") } else { warn("conflict") }]);
        let mut nodes: Vec<String> = items(&found["hits"]).map(text).filter(|id| [ADAS, BENS].contains(&id.as_str())).collect();
        nodes.sort_unstable();
        page.table(6, &[vec![dim("the graph has"), plain(nodes.join(", "))]]);
        show_why(&why, page);
        page.table(6, &[vec![dim(text(&status["summary"]))]]);
    })
}

/// An agent records a node and a decision.
fn learn(program: &Path, project: &Path, agent: &str, node: &str, description: &str) -> Result<(), TourError> {
    let operation = format!(
        r#"{{"op":"add_node","id":"{node}","type":"component","level":"architecture","status":"current","description":"{description}"}}"#
    );
    twining(program, project, &["knowledge", "update", "--op", &operation])?;
    let summary = if agent == "ada" { "Tokens are issued by one service" } else { "Logout is a service of its own" };
    let decision = [
        "decide",
        "--agent",
        agent,
        "--domain",
        "architecture",
        "--scope",
        "src/logout/",
        "--summary",
        summary,
        "--context",
        "sessions go",
        "--rationale",
        "one place to look",
    ];
    twining(program, project, &decision).map(drop)
}

/// What `twining init` writes for the graph, with this program in place of the one
/// on PATH. Records need no driver here: they are united line by line.
fn tell_git(program: &Path, project: &Path, step: &dyn Fn(&[&str]) -> Result<bool, TourError>) -> Result<(), TourError> {
    let program = program.display().to_string();
    let mut attributes = String::new();
    for driver in DRIVERS.iter().filter(|driver| driver.kind == "knowledge") {
        step(&["config", &format!("merge.{}.driver", driver.name()), &driver.command(&program)])?;
        driver.files.iter().for_each(|file| attributes.push_str(&format!("/{file} merge={}\n", driver.name())));
    }
    let info = project.join(".git/info");
    fs::create_dir_all(&info).and_then(|()| fs::write(info.join("attributes"), attributes)).map_err(TourError::Place)
}

/// Runs a command and gives its answer.
fn twining(program: &Path, project: &Path, words: &[&str]) -> Result<Value, TourError> {
    let out = Command::new(program).args(words).arg("--json").arg("--project").arg(project).output().map_err(TourError::Run)?;
    Ok(serde_json::from_slice(&out.stdout).unwrap_or(Value::Null))
}
