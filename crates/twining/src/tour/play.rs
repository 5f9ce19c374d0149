//! The throwaway repository the tour plays in.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, io};

use serde_json::{Value, json};
use tempfile::TempDir;
use twining_store::git::Git;

use super::client::{ClientError, McpClient, ProtocolEra};
use crate::merge_driver::DRIVERS;
use crate::output;
use crate::person_check;
use crate::render::command_error::{CommandError, ExitStatus};
use crate::render::text_page::{
    StyledText, TextPage, bad, dim, good, place as path_text, plain, strong, warn,
};

const SESSION: &str =
    "export function createSession(user: string) {\n  return { user, since: Date.now() };\n}\n";

/// Makes a small project under git. Without git it is a folder, and the tour
/// goes on: only the history is missing.
fn plant(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir.join("src/auth"))?;
    fs::write(dir.join("src/auth/session.ts"), SESSION)?;
    fs::write(dir.join("README.md"), "# shop\n")?;
    let git = Git::at(dir);
    for step in [&["init", "-q"][..], &["add", "."], &["commit", "-q", "-m", "a shop with logins"]]
    {
        if !git.run_in_throwaway(step)? {
            break;
        }
    }
    Ok(())
}

/// The files of the memory that git tracks, or would.
fn tracked(dir: &Path) -> Vec<String> {
    let git = Git::at(dir);
    let mut files = git.tracked_of(&[".twining".to_owned()]);
    files.extend(git.untracked_in(".twining").unwrap_or_default());
    files.into_iter().collect()
}

const LIST: &str = "feature-list.json";
const FEATURES: &str =
    "{\n  \"features\": [\n    { \"id\": \"login\", \"tested\": false }\n  ]\n}\n";

/// Ben calls his work tested, and nothing was.
fn holds(program: &Path, project: &Path) -> Result<(), TourError> {
    fs::write(project.join(LIST), FEATURES).map_err(TourError::StoreLocation)?;
    let edit = json!({"file_path": project.join(LIST), "old_string": "\"tested\": false", "new_string": "\"tested\": true"});
    let answer = asked_hook(program, project, "Edit", &edit)?;
    let decision = &answer["hookSpecificOutput"];
    let reason = decision["permissionDecisionReason"].as_str().unwrap_or_default().to_owned();
    show_page(|page| {
        section_title(page, "5  A rule is enforced");
        page.line([strong("ben"), good("Edit"), plain(format!("{LIST}: \"tested\": true"))]);
        page.table(
            6,
            [vec![
                bad(decision["permissionDecision"].as_str().unwrap_or("allowed")),
                plain(&reason),
            ]],
        );
    })?;
    let other = json!({"file_path": project.join("src/auth/session.ts"), "old_string": "user: string", "new_string": "user: User"});
    let answer = asked_hook(program, project, "Edit", &other)?;
    show_page(|page| {
        page.line([strong("ben"), good("Edit"), plain("src/auth/session.ts: user: User")]);
        page.table(
            6,
            [vec![dim(if answer.is_null() { "allowed: no rule applies" } else { "was stopped" })]],
        );
    })
}

/// Runs the hook; empty output means no objection.
fn asked_hook(
    program: &Path,
    project: &Path,
    tool: &str,
    input: &Value,
) -> Result<Value, TourError> {
    let event = json!({"session_id": "tour", "cwd": project, "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input});
    let mut hook = Command::new(program)
        .args(["hook", "PreToolUse", "--project"])
        .arg(project)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(TourError::Run)?;
    if let Some(mut stdin) = hook.stdin.take() {
        stdin.write_all(event.to_string().as_bytes()).map_err(TourError::Run)?;
    }
    let out = hook.wait_with_output().map_err(TourError::Run)?;
    Ok(serde_json::from_slice(&out.stdout).unwrap_or(Value::Null))
}

const ADAS: &str = "token-issuer";
const BENS: &str = "logout-service";

/// Ada and Ben each know something the other does not, on branches of their own.
fn meet(program: &Path, project: &Path) -> Result<(), TourError> {
    let git = Git::at(project);
    let step = |words: &[&str]| git.run_in_throwaway(words).map_err(TourError::Run);
    let commit = |message: &str| {
        Ok::<_, TourError>(step(&["add", "-A"])? && step(&["commit", "-q", "-m", message])?)
    };
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
    show_page(|page| {
        section_title(page, "6  Two branches meet");
        page.line([
            strong("ada"),
            good("knowledge update"),
            plain(format!("{ADAS}, and decide: Tokens are issued by one service")),
        ]);
        page.line([
            strong("ben"),
            good("knowledge update"),
            plain(format!("{BENS}, and decide: Logout is a service of its own")),
        ]);
        page.line([
            strong("git"),
            plain("merges them line by line:"),
            if alone { good("clean") } else { warn("conflict") },
        ]);
    })?;
    tell_git(program, project, &step)?;
    let merged = step(&["merge", "-q", "--no-edit", "-"])?;
    let found = twining(program, project, &["knowledge", "retrieve", "tokens logout"])?;
    let why = twining(program, project, &["why", "src/logout/"])?;
    let status = twining(program, project, &["status"])?;
    show_page(|page| {
        page.line([
            strong("git"),
            plain("merges them with Twining's driver:"),
            if merged { good("clean") } else { warn("conflict") },
        ]);
        let mut nodes: Vec<String> = items(&found["hits"])
            .map(text)
            .filter(|id| [ADAS, BENS].contains(&id.as_str()))
            .collect();
        nodes.sort_unstable();
        page.table(6, [vec![dim("the graph has"), plain(nodes.join(", "))]]);
        show_why(&why, page);
        page.table(6, [vec![dim(text(&status["summary"]))]]);
    })
}

/// An agent records a node and a decision.
fn learn(
    program: &Path,
    project: &Path,
    agent: &str,
    node: &str,
    description: &str,
) -> Result<(), TourError> {
    let operation = format!(
        r#"{{"op":"add_node","id":"{node}","type":"component","level":"architecture","status":"current","description":"{description}"}}"#
    );
    twining(program, project, &["knowledge", "update", "--op", &operation])?;
    let summary = if agent == "ada" {
        "Tokens are issued by one service"
    } else {
        "Logout is a service of its own"
    };
    let place = ["decide", "--agent", agent, "--scope", "src/logout/", "--summary", summary];
    let why = ["--context", "sessions are being replaced", "--why", "one place to look"];
    twining(program, project, &[&place[..], &why].concat()).map(drop)
}

/// What `twining init` writes for the graph, with this program in place of the one
/// on PATH. Records need no driver here: they are united line by line.
fn tell_git(
    program: &Path,
    project: &Path,
    step: &dyn Fn(&[&str]) -> Result<bool, TourError>,
) -> Result<(), TourError> {
    let program = program.display().to_string();
    let mut attributes = String::new();
    for driver in DRIVERS.iter().filter(|driver| driver.kind == "knowledge") {
        step(&["config", &format!("merge.{}.driver", driver.name()), &driver.command(&program)])?;
        driver
            .files
            .iter()
            .for_each(|file| attributes.push_str(&format!("/{file} merge={}\n", driver.name())));
    }
    let info = project.join(".git/info");
    fs::create_dir_all(&info)
        .and_then(|()| fs::write(info.join("attributes"), attributes))
        .map_err(TourError::StoreLocation)
}

/// Runs a command and gives its answer.
fn twining(program: &Path, project: &Path, words: &[&str]) -> Result<Value, TourError> {
    let out = Command::new(program)
        .args(words)
        .arg("--json")
        .arg("--project")
        .arg(project)
        .output()
        .map_err(TourError::Run)?;
    Ok(serde_json::from_slice(&out.stdout).unwrap_or(Value::Null))
}

/// Why a tour stopped.
#[derive(Debug, thiserror::Error)]
enum TourError {
    #[error("cannot create a temporary repository for the tour")]
    StoreLocation(#[source] io::Error),
    #[error("an agent lost the connection to its server")]
    McpClient(#[from] ClientError),
    #[error("cannot run a command of the tour")]
    Run(#[source] io::Error),
    #[error("cannot show the page")]
    Page(CommandError),
    #[error("cannot print")]
    Print(#[source] io::Error),
}

/// How often the repository is removed until it is gone.
const REMOVE_ATTEMPTS: u32 = 40;

/// What becomes of the repository after the tour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterTour {
    /// It is removed, unless a person at the terminal wants to look at it first.
    Remove,
    /// It stays.
    Keep,
}

/// Shows the page of a project until the person ends it.
pub(crate) type ShowPage = fn(&Path) -> Result<ExitStatus, CommandError>;

/// Plays the tour.
pub(crate) fn play(after: AfterTour, show: ShowPage) -> Result<ExitStatus, CommandError> {
    match story(after, show) {
        // The reader closed the pipe.
        Err(TourError::Print(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            Ok(ExitStatus::Done)
        }
        Err(TourError::Page(error)) => Err(error),
        ended => {
            ended.map(|()| ExitStatus::Done).map_err(|error| CommandError::of_error("TOUR", &error))
        }
    }
}

fn story(after: AfterTour, show: ShowPage) -> Result<(), TourError> {
    let program = std::env::current_exe().map_err(TourError::StoreLocation)?;
    let mut place = tempfile::Builder::new()
        .prefix("twining-tour-")
        .tempdir()
        .map_err(TourError::StoreLocation)?;
    place.disable_cleanup(after == AfterTour::Keep);
    plant(place.path()).map_err(TourError::StoreLocation)?;
    show_page(|page| {
        page.line([strong("Two agents, one repository, one memory.")]);
        page.block(0, &format!("The throwaway repository is in {}", place.path().display()));
    })?;

    let started = Instant::now();
    let mut ada = McpClient::start(&program, place.path(), "ada", ProtocolEra::Handshake)?;
    let tools = ada.tools()?;
    let ms = started.elapsed().as_millis();
    show_page(|page| {
        section_title(page, "1  Ada starts");
        page.line([
            strong("ada"),
            plain(format!(
                "has her own server and {} tools after {ms} ms (protocol 2025-11-25)",
                tools.len()
            )),
        ]);
    })?;
    let choice = ada_works(&mut ada)?;
    ben_collides(&program, place.path(), &choice)?;
    ada_looks_again(&mut ada)?;
    ada.leave().map_err(ClientError::Gone)?;
    holds(&program, place.path())?;
    meet(&program, place.path())?;
    show_page(|page| what_is_left(page, place.path()))?;
    match after {
        AfterTour::Keep => show_page(|page| {
            page.heading("The repository stays");
            page.line([strong("  cd"), path_text(place.path().display().to_string())]);
            page.line([strong("  twining ui"), dim("       shows it in the browser")]);
            page.line([strong("  twining waiting"), dim("  lists what waits for you")]);
        }),
        AfterTour::Remove => {
            offer_page(place.path(), show)?;
            remove(place).map_err(TourError::StoreLocation)
        }
    }
}

/// Removes the repository. Processes that are just ending may write once more meanwhile.
fn remove(mut place: TempDir) -> io::Result<()> {
    place.disable_cleanup(true);
    let mut removed = Ok(());
    for _ in 0..REMOVE_ATTEMPTS {
        removed = fs::remove_dir_all(place.path());
        if !place.path().exists() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    removed
}

/// Offers a person the page on the repository of the tour, which is still there.
fn offer_page(project: &Path, show: ShowPage) -> Result<(), TourError> {
    let is_wanted = person_check::is_person_here()
        && person_check::ask("\nLook at it in the browser? Enter shows it, n ends the tour")
            .is_ok_and(|answer| matches!(answer.to_lowercase().as_str(), "" | "y" | "yes"));
    if !is_wanted {
        let later = "`twining tour --keep` leaves the repository there to look around in";
        return show_page(|page| page.line([dim(later)]));
    }
    show_page(|page| page.line([dim("Ctrl-C ends it and removes the repository.")]))?;
    // In this process: it ends the server on Ctrl-C and comes back here, to clean up.
    show(project).map(drop).map_err(TourError::Page)
}

/// Ada finds the memory empty and leaves it less so.
fn ada_works(ada: &mut McpClient) -> Result<String, TourError> {
    let task = json!({"task": "replace login sessions with tokens", "scope": "src/auth/"});
    call(ada, "assemble", "what do we know about src/auth/?", &task, show_context)?;
    let trap = json!({"entry_type": "warning", "summary": "Server clocks differ by up to 5 minutes", "scope": "src/auth/",
        "detail": "Seen in the logs of the last outage: a token may look expired before it was issued.", "tags": ["auth"]});
    call(ada, "post", "warning: Server clocks differ by up to 5 minutes", &trap, noted("id"))?;
    let need = json!({"entry_type": "need", "summary": "Someone must write the key rotation", "scope": "src/auth/"});
    call(ada, "post", "need: Someone must write the key rotation", &need, noted("id"))?;
    let choice = json!({
        "domain": "architecture", "scope": "src/auth/", "summary": "Stateless JWT, 15 minutes, RS256",
        "context": "Sticky sessions stop us from adding servers",
        "rationale": "Any server can check a signature; no session store to run",
        "alternatives": [{"option": "Sessions in Redis", "pros": ["easy to revoke"], "reason_rejected": "adds what we want to remove"}],
        "confidence": "high", "affected_files": ["src/auth/session.ts"], "affected_symbols": ["createSession"],
    });
    let decided = call(ada, "decide", "Stateless JWT, 15 minutes, RS256", &choice, show_decided)?;
    Ok(text(&decided["id"]))
}

/// Ben, in another process, knows at once; and still wants something else.
fn ben_collides(program: &Path, project: &Path, choice: &str) -> Result<(), TourError> {
    let mut ben = McpClient::start(program, project, "ben", ProtocolEra::Stateless)?;
    show_page(|page| {
        section_title(page, "2  Ben joins");
        page.line([strong("ben"), plain("has a server of his own (protocol 2026-07-28)")]);
    })?;
    let task = json!({"task": "log users out everywhere", "scope": "src/auth/session.ts"});
    call(&mut ben, "assemble", "what must I know for src/auth/session.ts?", &task, show_context)?;

    show_page(|page| section_title(page, "3  They collide"))?;
    let rival = json!({
        "domain": "architecture", "scope": "src/auth/session.ts", "summary": "Sessions in Redis",
        "context": "Users must be logged out at once", "rationale": "A JWT cannot be revoked before it expires", "confidence": "medium",
    });
    call(&mut ben, "decide", "Sessions in Redis", &rival, show_decided)?;
    let asked = json!({"decision_id": choice});
    call(&mut ben, "impact", "what depends on Ada's choice?", &asked, noted("summary"))?;
    Ok(ben.leave().map_err(ClientError::Gone)?)
}

/// Ada sees what Ben did, though his process is gone.
fn ada_looks_again(ada: &mut McpClient) -> Result<(), TourError> {
    show_page(|page| section_title(page, "4  Ada asks why"))?;
    let asked = json!({"scope": "src/auth/session.ts"});
    call(ada, "why", "src/auth/session.ts", &asked, show_why)?;
    call(ada, "status", "", &json!({}), noted("summary"))?;
    let wrong = json!({"entry_type": "rumour", "summary": "it is slow"});
    call(ada, "post", "rumour: it is slow", &wrong, noted("message")).map(drop)
}

fn what_is_left(page: &mut TextPage, project: &Path) {
    section_title(page, "7  What is left");
    page.line([plain("Plain files that git tracks, jq reads and people review:")]);
    for line in tracked(project) {
        page.line([dim(" "), path_text(line)]);
    }
    page.heading("Your turn");
    page.line([dim("In a repository of your own:")]);
    page.line([
        strong("  twining init"),
        dim("     sets up git and the agents it finds; --dry-run shows the diff"),
    ]);
    page.line([strong("  twining doctor"), dim("   checks that it works")]);
    page.line([strong("  twining status"), dim("   shows the state of the memory")]);
}

fn section_title(page: &mut TextPage, title: &str) {
    page.blank();
    page.line([strong(title)]);
}

/// An agent's call, and what came back.
fn call(
    agent: &mut McpClient,
    verb: &str,
    words: &str,
    arguments: &Value,
    show: impl FnOnce(&Value, &mut TextPage),
) -> Result<Value, TourError> {
    let answer = agent.call(&format!("twining_{verb}"), arguments)?;
    show_page(|page| {
        page.line(
            [strong(agent.name), good(verb)]
                .into_iter()
                .chain((!words.is_empty()).then(|| plain(words))),
        );
        show(&answer, page);
    })?;
    Ok(answer)
}

/// Shows one field of an answer.
fn noted(field: &str) -> impl FnOnce(&Value, &mut TextPage) {
    move |answer, page| page.table(6, [vec![dim(text(&answer[field]))]])
}

fn show_context(answer: &Value, page: &mut TextPage) {
    let rows = [
        ("active_decisions", "follow", strong as fn(String) -> StyledText),
        ("active_warnings", "beware", bad),
        ("open_needs", "needed", warn),
        ("recent_findings", "known", plain),
    ];
    let mut lines = Vec::new();
    for (field, label, style) in rows {
        lines.extend(
            items(&answer[field]).map(|item| vec![dim(label), style(text(&item["summary"]))]),
        );
    }
    if lines.is_empty() {
        lines.push(vec![dim("nothing yet")]);
    }
    page.table(6, lines);
}

fn show_decided(answer: &Value, page: &mut TextPage) {
    page.table(6, [vec![dim(text(&answer["status"])), dim(text(&answer["id"]))]]);
    let rivals = items(&answer["conflicts"]);
    page.table(
        6,
        rivals.map(|rival| {
            vec![
                warn("conflicts with"),
                strong(text(&rival["summary"])),
                dim(text(&rival["rationale"])),
            ]
        }),
    );
}

fn show_why(answer: &Value, page: &mut TextPage) {
    let decisions = items(&answer["decisions"]).map(|decision| {
        vec![
            dim(text(&decision["status"])),
            strong(text(&decision["summary"])),
            dim(text(&decision["rationale"])),
        ]
    });
    page.table(6, decisions);
    if answer["contested"] == true {
        page.table(6, [vec![warn("contested: a person settles it with `twining override`")]]);
    }
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Prints as it happens, not at the end.
fn show_page(show: impl FnOnce(&mut TextPage)) -> Result<(), TourError> {
    let mut page = output::page();
    show(&mut page);
    let mut stdout = anstream::stdout();
    stdout
        .write_all(page.as_str().as_bytes())
        .and_then(|()| stdout.flush())
        .map_err(TourError::Print)
}
