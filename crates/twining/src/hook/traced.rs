//! What hooks leave behind: a trace of every block, warning, bypass, approval and
//! of what looks like a correction, and a record of each tool call.
//!
//! None of it can fail or hold a hook: what cannot be written now is spooled, and
//! what cannot even be spooled is let go.

use twining_engine::guards::{Event, Finding, Heard, Judgement, Level};
use twining_engine::learning::{Call, Seen, gist, negates};
use twining_model::{Channel, Origin, Trace, TraceType, Trust};

use super::reply::Reply;
use super::scene::Scene;
use super::verify::{self, Verified};
use crate::allowed::Allowed;
use crate::desk::Project;

/// Guards that are traced of one call: the strictest.
const MOST_FINDINGS: usize = 5;
const HOOK: &str = "enforcement_hook";

/// A guard that would have spoken, and what kept it from it.
struct Lifted {
    guard: String,
    reason: String,
}

/// Weighs a judgement by what a person allowed, and leaves the record of it.
pub fn weighed(scene: &Scene, judgement: Judgement) -> Judgement {
    let project = &scene.project;
    let mut lifted: Vec<Lifted> = Vec::new();
    let judgement = match judgement.verdict {
        // Most calls: nothing to weigh, so nothing is opened.
        Level::Off => judgement,
        _ => {
            let allowed = Allowed::read(project.engine.store());
            judgement.weighed(&mut |finding| weigh(project, &allowed, finding, &mut lifted))
        }
    };
    record(scene, &judgement, &lifted);
    judgement
}

fn weigh(project: &Project, allowed: &Allowed, finding: &Finding, lifted: &mut Vec<Lifted>) -> Option<(Level, String)> {
    if let Some(bypass) = allowed.bypass(&finding.guard, project.engine.store().ids().now()) {
        lifted.push(Lifted { guard: finding.guard.clone(), reason: bypass.reason.clone() });
        return Some((Level::Off, format!("lifted by {} until {}: {}", bypass.by, bypass.until, bypass.reason)));
    }
    let wanted = finding.verify.as_ref()?;
    if !allowed.trusts(&finding.guard, &wanted.command) {
        let why = format!("{}; its command may not run until a person allows it: `twining trust {}`", finding.why, finding.guard);
        return Some((wanted.unverified, why));
    }
    Some(match verify::run(&wanted.command, &project.located.checkout) {
        Verified::Passed => (Level::Off, "its command says that all is well".to_owned()),
        Verified::Failed(how) => (finding.verdict, format!("{}; `{}`: {how}", finding.why, wanted.command)),
        Verified::Unknown(why) => (wanted.unverified, format!("{}; {why}, so `on_error` holds", finding.why)),
    })
}

fn record(scene: &Scene, judgement: &Judgement, lifted: &[Lifted]) {
    let Scene { project, heard, work, .. } = scene;
    let root = work.root.as_str();
    let store = project.engine.store();
    if !store.exists().unwrap_or(false) {
        return;
    }
    let call = Call::of(store.ids().next().into(), store.ids().now(), &heard.session, root, &heard.event, judgement);
    if let Some(line) = call.to_line() {
        let _ = store.record_call(&line);
    }
    let action = gist(&heard.event, root);
    let mut seen: Vec<Seen<'_>> = Vec::new();
    for finding in judgement.spoken().take(MOST_FINDINGS) {
        seen.push(Seen {
            kind: TraceType::Violation,
            source: HOOK,
            guard: Some(&finding.guard),
            action: action.clone(),
            what_happened: deed(&heard.event, &action),
            what_was_correct: if finding.next_step.is_empty() { finding.say.clone() } else { finding.next_step.clone() },
            why: finding.why.clone(),
            blocked: finding.verdict == Level::Block,
            guessed: false,
            call: Some(call.id.clone()),
        });
    }
    seen.extend(lifted.iter().map(|lifted| Seen {
        kind: TraceType::Approval,
        source: "person",
        guard: Some(&lifted.guard),
        action: action.clone(),
        what_happened: format!("passed a lifted guard: {}", deed(&heard.event, &action)),
        what_was_correct: String::new(),
        why: lifted.reason.clone(),
        blocked: false,
        guessed: false,
        call: Some(call.id.clone()),
    }));
    leave(project, heard, seen, Trust::Agent);
}

/// Notes that a person said yes: the tool they were asked about has run.
pub fn ran(scene: &Scene) {
    let Scene { project, heard, work, .. } = scene;
    let root = work.root.as_str();
    let Some(call) = latest(project, heard).find(|call| call.tool == heard.event.tool) else { return };
    let again = Call { action: Some(heard.event.action.clone()), ..Call::default() };
    let again = again.to_line().and_then(|line| Call::read(&line));
    if call.verdict != Level::Ask.as_str() || again.is_none_or(|again| again.action != call.action && !call.cut) {
        return;
    }
    let action = gist(&heard.event, root);
    let seen = call.guards.iter().map(|guard| Seen {
        kind: TraceType::Approval,
        source: "person",
        guard: Some(guard),
        action: action.clone(),
        what_happened: format!("a person who was asked let it run: {}", deed(&heard.event, &action)),
        what_was_correct: String::new(),
        why: String::new(),
        blocked: false,
        // The host asked, and nobody told us what was answered.
        guessed: true,
        call: Some(call.id.clone()),
    });
    leave(project, heard, seen.collect(), Trust::Tool);
}

/// Notes a prompt, and what it takes back if it seems to take something back.
pub fn prompted(scene: &Scene) {
    let Scene { project, heard, .. } = scene;
    let store = project.engine.store();
    if !store.exists().unwrap_or(false) {
        return;
    }
    if negates(&heard.prompt)
        && let Some(call) = latest(project, heard).take_while(|call| !call.is_prompt()).find(Call::is_deed)
    {
        let event = call.event();
        let action = gist(&event, &call.root);
        let seen = Seen {
            kind: TraceType::Correction,
            source: "auto_detected",
            guard: None,
            what_happened: deed(&event, &action),
            action,
            what_was_correct: heard.prompt.clone(),
            why: String::new(),
            blocked: false,
            guessed: true,
            call: Some(call.id.clone()),
        };
        leave(project, heard, vec![seen], Trust::Tool);
    }
    let marker = Call::of_prompt(store.ids().next().into(), store.ids().now(), &heard.session);
    if let Some(line) = marker.to_line() {
        let _ = store.record_call(&line);
    }
}

/// Notes that an agent was held at its end, or let go after it; a lifted guard
/// holds nobody.
pub fn ended(scene: &Scene, reason: &str, reply: Reply) -> Reply {
    let held = match &reply {
        Reply::Hold(_) => true,
        Reply::Notice(_) => false,
        _ => return reply,
    };
    let Scene { project, heard, .. } = scene;
    // A reason begins with the guard that gave it.
    let guard = reason.strip_prefix('[').and_then(|rest| rest.split_once(']')).map_or("tested-needs-evidence", |(guard, _)| guard);
    let store = project.engine.store();
    let bypass = Allowed::read(store).bypass(guard, store.ids().now()).cloned();
    let seen = Seen {
        kind: if bypass.is_some() { TraceType::Approval } else { TraceType::Violation },
        source: if bypass.is_some() { "person" } else { HOOK },
        guard: Some(guard),
        action: heard.event.moment.as_str().to_owned(),
        what_happened: format!("{} with: {reason}", if held { "wanted to stop" } else { "was let go" }),
        what_was_correct: String::new(),
        why: bypass.as_ref().map_or_else(|| reason.to_owned(), |bypass| bypass.reason.clone()),
        blocked: held && bypass.is_none(),
        guessed: false,
        call: None,
    };
    leave(project, heard, vec![seen], Trust::Agent);
    if bypass.is_some() { Reply::Silence } else { reply }
}

/// The calls of this session, newest first.
fn latest(project: &Project, heard: &Heard) -> impl Iterator<Item = Call> {
    let session = twining_model::text::excerpt(&heard.session, 200);
    let lines = project.engine.store().latest_calls().unwrap_or_default();
    lines.into_iter().rev().filter_map(|line| Call::read(&line)).filter(move |call| call.session == session)
}

/// What was tried, at more length.
fn deed(event: &Event, action: &str) -> String {
    match &event.action {
        twining_engine::guards::Action::Shell(line) => format!("{}: {line}", event.tool),
        _ => action.to_owned(),
    }
}

fn leave(project: &Project, heard: &Heard, seen: Vec<Seen<'_>>, trust: Trust) {
    if seen.is_empty() {
        return;
    }
    let store = project.engine.store();
    let agent = heard.event.agent_type.clone().unwrap_or_else(|| "main".to_owned());
    let origin = Origin { client: None, session: Some(twining_model::text::excerpt(&heard.session, 200)), via: Channel::Hook, trust };
    let at = store.ids().now().to_string();
    let traces: Vec<Trace> = seen.into_iter().map(|seen| seen.into_trace(store.ids().next().into(), &at, &agent, origin.clone())).collect();
    // A trace is worth less than an answer in time.
    let _ = store.leave_traces(&traces);
}
