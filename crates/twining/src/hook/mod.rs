//! The hook door: a host's JSON on stdin, the host's answer on stdout.
//!
//! It runs before every tool call, so it opens the policy and nothing else until
//! something needs more. What goes wrong while a tool call is judged ends with 2
//! and a reason, which every host takes for a refusal; elsewhere it is told and
//! nobody is held.

mod after_tool;
mod auto_loop;
mod before_tool;
mod beginning;
mod between;
mod brief;
mod by_hand;
mod changed;
mod claimed;
mod commit_check;
mod ending;
mod evidence;
mod from_others;
pub mod git;
mod git_wiring;
mod halves;
mod host;
mod kept;
mod lists;
mod reply;
mod ruled;
mod rules;
mod running;
mod scene;
mod snapshot;
mod traced;
mod unsaved;
mod verify;
mod whereabouts;
mod workspace;

use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::Value;
use twining_engine::guards::{Heard, Moment};

pub use between::{slipped as slipped_rules, take as take_rules};
pub use by_hand::{in_brief as told_by_hand, lost as told_lost};
pub use host::{HOSTS, Host};
pub use kept::{Kept, mark_of};
pub use lists::{accept as accept_lists, slipped as slipped_lists};
pub use rules::{guards, guards_as_written};

/// Forgets what hooks keep of a project outside of it.
pub fn forget_project(project: &std::path::Path) {
    kept::Kept::forget_project(project);
}
pub use scene::Scene;
pub use traced::foreseen;

use reply::Reply;

/// Longest call that is read: a file of this size is written by no tool.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// Answers one event.
pub fn run(project: Option<PathBuf>, host: &Host, event: &str) -> ExitCode {
    // What we do not know cannot be ours to stop.
    let Some(moment) = host.moment(event) else { return ExitCode::SUCCESS };
    let reply = answer(project, host, event, moment).unwrap_or_else(Reply::Failed);
    (host.say)(&reply, moment, event_name(host, event, moment)).tell(moment)
}

/// Reads an event from stdin.
pub fn listen(host: &Host, event: &str, moment: Moment) -> Result<Heard, String> {
    let mut text = String::new();
    std::io::stdin().take(MOST_BYTES + 1).read_to_string(&mut text).map_err(|error| format!("the event cannot be read: {error}"))?;
    if text.len() as u64 > MOST_BYTES {
        return Err(format!("the event is larger than {MOST_BYTES} bytes"));
    }
    let json = event_of(&text, moment)?;
    let here = std::env::current_dir().map(|dir| dir.display().to_string()).unwrap_or_default();
    if !json.is_object() {
        return Err("the event is no object".to_owned());
    }
    Ok((host.tell)(event, moment, &json).heard(moment, &here))
}

/// An event as JSON. Hosts that cut a text short may leave half a character in it: what
/// is only told is read around it, what a tool is about to do is not guessed at.
fn event_of(text: &str, moment: Moment) -> Result<Value, String> {
    let failed = match serde_json::from_str(text) {
        Ok(json) => return Ok(json),
        Err(error) => format!("the event is no JSON: {error}"),
    };
    match halves::mended(text) {
        None => Err(failed),
        Some((_, half)) if moment == Moment::PreToolUse => Err(format!(
            "the call holds half a character (`{half}` alone), so nobody can tell what it would write; write the character whole, or leave it out"
        )),
        Some((mended, _)) => serde_json::from_str(&mended).map_err(|error| format!("the event is no JSON: {error}")),
    }
}

/// Reads an event that names itself, so that one recorded can be replayed.
pub fn listen_to_any() -> Result<Heard, String> {
    let mut text = String::new();
    std::io::stdin().take(MOST_BYTES).read_to_string(&mut text).map_err(|error| format!("the event cannot be read: {error}"))?;
    let json = event_of(&text, Moment::PostToolUse)?;
    let here = std::env::current_dir().map(|dir| dir.display().to_string()).unwrap_or_default();
    if !json.is_object() {
        return Err("the event is no object".to_owned());
    }
    let named = json.get("hook_event_name").and_then(Value::as_str);
    let known = named.and_then(|name| HOSTS.into_iter().find_map(|host| Some((host, name, host.moment(name)?))));
    let usual = Host::named(None).map(|host| (host, "PreToolUse", Moment::PreToolUse));
    let (host, name, moment) = known.or(usual).ok_or("no host is known")?;
    Ok((host.tell)(name, moment, &json).heard(moment, &here))
}

/// Answers must carry the event's own name: what the host wrote, or ours for it.
fn event_name<'e>(host: &Host, event: &'e str, moment: Moment) -> &'e str {
    if host.events.is_empty() { moment.as_str() } else { event }
}

fn answer(project: Option<PathBuf>, host: &Host, event: &str, moment: Moment) -> Result<Reply, String> {
    let heard = listen(host, event, moment)?;
    // What nobody understands is not let through where it could be stopped.
    if let Some(why) = &heard.odd {
        return Err(why.clone());
    }
    let scene = Scene::open(project, heard)?;
    Ok(match moment {
        Moment::PreToolUse => before_tool::reply(&scene),
        Moment::PostToolUse | Moment::ToolFailed => after_tool::reply(&scene),
        Moment::Stop | Moment::SubagentStop | Moment::TaskCompleted => ending::reply(&scene),
        Moment::SessionStart => beginning::of_session(&scene),
        Moment::SubagentStart => beginning::of_subagent(&scene),
        Moment::UserPromptSubmit => beginning::of_prompt(&scene),
        Moment::PreCompact => snapshot::take(&scene),
        // What was forgotten is told when the host asks what to begin with.
        Moment::PostCompact => Reply::Silence,
        Moment::SessionEnd => ending::of_session(&scene),
    })
}
