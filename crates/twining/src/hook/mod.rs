//! The hook door: a host's JSON on stdin, the host's answer on stdout.
//!
//! It runs before every tool call, so it opens the policy and nothing else until
//! something needs more. What goes wrong while a tool call is judged ends with 2
//! and a reason, which every host takes for a refusal; elsewhere it is told and
//! nobody is held.

mod brief;
mod evidence;
mod reply;
mod traced;
mod verify;
mod workspace;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::Value;
use twining_engine::guards::{Facts, Guards, Heard, Level, Moment, NoClauses, Notes, Returned, Standing, Trial, hear};
use twining_engine::{Caller, PostInput, UserPolicy};
use twining_model::{Channel, Origin, Trust};
use twining_store::PolicyFile;

pub use reply::Host;
pub use workspace::Workspace;

use self::evidence::Recorded;
use crate::desk::Project;
use crate::problem::Problem;
use crate::user_policy;
use reply::Reply;

/// Longest call that is read: a file of this size is written by no tool.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// Where feature lists usually are.
const LISTS: [&str; 4] = [".claude/progress/feature-list.json", "feature-list.json", "feature_list.json", ".twining/features.json"];

/// Answers one event.
pub fn run(project: Option<PathBuf>, host: Host, event: &str) -> ExitCode {
    // What we do not know cannot be ours to stop.
    let Some(moment) = Moment::read(event) else { return ExitCode::SUCCESS };
    match answer(project, moment) {
        Ok(reply) => reply.tell(host, moment),
        Err(why) => Reply::failed(moment, &why),
    }
}

/// Reads an event from stdin.
pub fn listen(moment: Moment) -> Result<Heard, String> {
    let mut text = String::new();
    std::io::stdin().take(MOST_BYTES + 1).read_to_string(&mut text).map_err(|error| format!("the event cannot be read: {error}"))?;
    if text.len() as u64 > MOST_BYTES {
        return Err(format!("the event is larger than {MOST_BYTES} bytes"));
    }
    let json: Value = serde_json::from_str(&text).map_err(|error| format!("the event is no JSON: {error}"))?;
    let here = std::env::current_dir().map(|dir| dir.display().to_string()).unwrap_or_default();
    // A file that names its own event is believed, so that one recorded can be replayed.
    let named = json.get("hook_event_name").and_then(Value::as_str).and_then(Moment::read);
    Ok(hear(named.unwrap_or(moment), &json, &here))
}

fn answer(project: Option<PathBuf>, moment: Moment) -> Result<Reply, String> {
    let mut heard = listen(moment)?;
    heard.event.moment = moment;
    let project = Project::open_from(project, &heard.event.cwd).map_err(|problem| told(&problem))?;
    let work = Workspace::of(&project);
    let known = notes_of(&project, &heard);
    let mut notes = known.clone();
    for list in LISTS {
        if !notes.accepted.contains_key(list)
            && let Some(text) = work.text(list)
        {
            notes.accept(list, &text);
        }
    }
    let reply = match moment {
        Moment::PreToolUse => {
            let judgement = guards(&project).judge(&heard.event, &Facts { root: &work.root, files: &work, evidence: &recorded(&project) });
            let judgement = traced::weighed(&project, &heard, &work.root, judgement);
            match judgement.verdict {
                Level::Off => Reply::Silence,
                Level::Warn => Reply::Context(judgement.reason()),
                Level::Ask => Reply::Ask(judgement.reason()),
                Level::Block => Reply::Deny(judgement.reason()),
            }
        }
        Moment::PostToolUse => {
            notes.tool_ran(&heard.event);
            traced::ran(&project, &heard, &work.root);
            Reply::Silence
        }
        Moment::Stop | Moment::SubagentStop | Moment::TaskCompleted => {
            let reply = stop(&project, &work, &heard, &mut notes);
            traced::ended(&project, &heard, reply)
        }
        Moment::SessionStart => {
            // An old note in the way is no reason to begin without a brief.
            let _ = project.engine.store().clear_notes();
            brief::of_session(&project.engine, &caller(&heard)).map_or(Reply::Silence, Reply::Context)
        }
        Moment::UserPromptSubmit => {
            traced::prompted(&project, &heard);
            brief::of_prompt(&project.engine, &caller(&heard), &heard.prompt).map_or(Reply::Silence, Reply::Context)
        }
    };
    if notes != known {
        // A note that cannot be left makes a later check weaker, never this answer wrong.
        let _ = serde_json::to_vec(&notes).map(|bytes| project.engine.store().leave_note(&heard.session, &bytes));
    }
    Ok(reply)
}

/// What the workflow knows of this project's features.
pub fn recorded(project: &Project) -> Recorded<'_> {
    Recorded { engine: &project.engine, checkout: &project.located.checkout }
}

fn told(problem: &Problem) -> String {
    problem.to_json()["message"].as_str().unwrap_or("the project cannot be opened").to_owned()
}

fn notes_of(project: &Project, heard: &Heard) -> Notes {
    let note = project.engine.store().note(&heard.session).ok().flatten();
    note.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

fn caller(heard: &Heard) -> Caller {
    let origin = Origin { client: None, session: Some(heard.session.clone()), via: Channel::Hook, trust: Trust::Agent };
    Caller { agent: heard.event.agent_type.clone().unwrap_or_else(|| "main".to_owned()), origin }
}

fn stop(project: &Project, work: &Workspace, heard: &Heard, notes: &mut Notes) -> Reply {
    let guards = guards(project);
    let on = |id: &str| guards.guards.iter().any(|guard| guard.id == id && guard.action == Level::Block);
    let slipped = notes.slipped(&|path| work.text(path), &recorded(project)).filter(|_| on("tested-needs-evidence"));
    let empty = || notes.returns_empty(&heard.event).filter(|_| heard.event.moment == Moment::SubagentStop && on("return-needs-changes"));
    let Some(reason) = slipped.or_else(empty) else { return Reply::Silence };
    match notes.hold(&reason, heard.stop_hook_active) {
        Returned::Freely => Reply::Silence,
        Returned::Held(reason) => Reply::Hold(reason),
        Returned::LetGo(reason) => {
            let question = PostInput {
                entry_type: "question".to_owned(),
                summary: twining_model::text::excerpt(&format!("An agent stopped although: {reason}"), 190),
                ..PostInput::default()
            };
            // If the board cannot be written, the person still reads the message.
            let _ = project.engine.post(&caller(heard), &question);
            Reply::Notice(reason)
        }
    }
}

/// The guards that hold. Their examples are tried once for each text of the
/// policies: a thousand guards would keep every tool call waiting.
pub fn guards(project: &Project) -> Guards {
    const TRIED: &str = "guards-tried";
    let store = project.engine.store();
    let user: UserPolicy = user_policy::read();
    let file = store.policy().unwrap_or_else(|error| PolicyFile::Unusable(error.to_string()));
    let mut hasher = DefaultHasher::new();
    (format!("{:?}{file:?}", user.file), env!("CARGO_PKG_VERSION")).hash(&mut hasher);
    let seal = format!("\"{:016x}\"", hasher.finish());
    let tried = store.note(TRIED).ok().flatten().is_some_and(|note| note == seal.as_bytes());
    let trial = if tried { Trial::KnownGood } else { Trial::Tried };
    let guards = Guards::load(&user, &file, &NoClauses, trial);
    // Only a clean trial is remembered: forged, the note can revive a rule that
    // fails its own examples, and never silence one.
    if !tried && guards.mistakes.is_empty() && guards.guards.iter().all(|guard| guard.standing == Standing::Alive) {
        let _ = store.leave_note(TRIED, seal.as_bytes());
    }
    guards
}
