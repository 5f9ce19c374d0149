//! What hooks leave behind: a trace of every block, warning, bypass, approval and
//! of what looks like a correction, and a record of each tool call.
//!
//! None of it can fail or hold a hook: what cannot be written now is spooled, and
//! what cannot even be spooled is let go.

use twining_engine::guards::{Event, Finding, Heard, Judgement, Level};
use twining_engine::learning::{Call, Seen, gist, negates};
use twining_model::{Channel, Origin, Trace, TraceType, Trust};

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
pub fn weighed(project: &Project, heard: &Heard, root: &str, judgement: Judgement) -> Judgement {
    let mut lifted: Vec<Lifted> = Vec::new();
    let judgement = match judgement.verdict {
        // Most calls: nothing to weigh, so nothing is opened.
        Level::Off => judgement,
        _ => {
            let allowed = Allowed::read(project.engine.store());
            judgement.weighed(&mut |finding| {
                let weighed = weigh(project, &allowed, finding, |command| verify::run(command, &project.located.checkout))?;
                lifted.extend(weighed.lifted);
                Some(weighed.answer)
            })
        }
    };
    record(project, heard, root, &judgement, &lifted);
    judgement
}

/// What a judgement would come to, with nothing run and nothing recorded.
pub fn foreseen(project: &Project, judgement: Judgement) -> Judgement {
    let allowed = Allowed::read(project.engine.store());
    let unrun = |_: &str| Verified::Failed("it is not run to explain".to_owned());
    judgement.weighed(&mut |finding| weigh(project, &allowed, finding, unrun).map(|weighed| weighed.answer))
}

/// What a finding comes to.
struct Weighed {
    answer: (Level, String),
    lifted: Option<Lifted>,
}

fn weigh(project: &Project, allowed: &Allowed, finding: &Finding, run: impl Fn(&str) -> Verified) -> Option<Weighed> {
    if let Some(bypass) = allowed.bypass(&finding.guard, project.engine.store().ids().now()) {
        let lifted = Some(Lifted { guard: finding.guard.clone(), reason: bypass.reason.clone() });
        let why = format!("lifted by {} until {}: {}", bypass.by, bypass.until, bypass.reason);
        return Some(Weighed { answer: (Level::Off, why), lifted });
    }
    let wanted = finding.verify.as_ref()?;
    let answer = if allowed.trusts(&finding.guard, &wanted.command) {
        match run(&wanted.command) {
            Verified::Passed => (Level::Off, "its command says that all is well".to_owned()),
            Verified::Failed(how) => (finding.verdict, format!("{}; `{}`: {how}", finding.why, wanted.command)),
            Verified::Unknown(why) => (wanted.unverified, format!("{}; {why}, so `on_error` holds", finding.why)),
        }
    } else {
        let why = format!("{}; its command may not run until a person allows it: `twining trust {}`", finding.why, finding.guard);
        (wanted.unverified, why)
    };
    Some(Weighed { answer, lifted: None })
}

fn record(project: &Project, heard: &Heard, root: &str, judgement: &Judgement, lifted: &[Lifted]) {
    let store = project.engine.store();
    if !store.exists().unwrap_or(false) {
        return;
    }
    let call = Call::of(store.ids().next().into(), store.ids().now(), &heard.session, root, &heard.event, judgement);
    if let Some(line) = call.to_line() {
        let _ = store.record_call(&line);
    }
    // Most calls: nobody spoke, so nothing is told.
    if judgement.verdict == Level::Off && lifted.is_empty() {
        return;
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
pub fn ran(project: &Project, heard: &Heard, root: &str) {
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
pub fn prompted(project: &Project, heard: &Heard) {
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

/// Whether an agent is held at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// It is.
    Back,
    /// It was, often enough.
    NoLonger,
}

/// The reasons to hold an agent that no person lifted.
pub fn still_holding(project: &Project, heard: &Heard, reasons: Vec<String>) -> Vec<String> {
    if reasons.is_empty() {
        return reasons;
    }
    let store = project.engine.store();
    let allowed = Allowed::read(store);
    let (lifted, holding): (Vec<String>, Vec<String>) =
        reasons.into_iter().partition(|reason| allowed.bypass(guard_of(reason), store.ids().now()).is_some());
    let seen = lifted.iter().map(|reason| {
        let why = allowed.bypass(guard_of(reason), store.ids().now()).map(|bypass| bypass.reason.clone()).unwrap_or_default();
        at_end(heard, reason, TraceType::Approval, "person", "stopped past a lifted guard", why)
    });
    leave(project, heard, seen.collect(), Trust::Agent);
    holding
}

/// Notes what was told and held nobody: others' work that was taken as it is breaks no rule.
pub fn told(project: &Project, heard: &Heard, said: Option<&str>) {
    let Some(said) = said else { return };
    let seen = at_end(heard, "[protect-twining-state]", TraceType::Decision, HOOK, said, String::new());
    leave(project, heard, vec![Seen { what_happened: said.to_owned(), ..seen }], Trust::Tool);
}

/// Notes what was found that nobody is held for: whoever did it is not here any more.
pub fn found(project: &Project, heard: &Heard, reasons: &[String]) {
    let seen = reasons.iter().take(MOST_FINDINGS).map(|reason| {
        let seen = at_end(heard, reason, TraceType::Violation, HOOK, "found when a session began", reason.clone());
        Seen { action: "between two sessions".to_owned(), ..seen }
    });
    leave(project, heard, seen.collect(), Trust::Tool);
}

/// Notes what a command was found to have done after it ran.
pub fn afterwards(project: &Project, heard: &Heard, found: &[String]) {
    let action = gist(&heard.event, "");
    let seen = found.iter().take(MOST_FINDINGS).map(|reason| Seen {
        action: action.clone(),
        ..at_end(heard, reason, TraceType::Violation, HOOK, "seen after it ran", reason.clone())
    });
    leave(project, heard, seen.collect(), Trust::Agent);
}

/// Notes that an agent was held at its end, or let go after it.
pub fn held(project: &Project, heard: &Heard, reasons: &str, held: Held) {
    let seen = reasons.lines().filter(|line| line.starts_with('[')).take(MOST_FINDINGS).map(|reason| {
        let what = if held == Held::Back { "wanted to stop" } else { "was let go" };
        let seen = at_end(heard, reason, TraceType::Violation, HOOK, what, reason.to_owned());
        Seen { blocked: held == Held::Back, ..seen }
    });
    leave(project, heard, seen.collect(), Trust::Agent);
}

fn at_end<'r>(heard: &Heard, reason: &'r str, kind: TraceType, source: &'r str, what: &str, why: String) -> Seen<'r> {
    Seen {
        kind,
        source,
        guard: Some(guard_of(reason)).filter(|guard| !guard.is_empty()),
        action: heard.event.moment.as_str().to_owned(),
        what_happened: format!("{what}: {reason}"),
        what_was_correct: String::new(),
        why,
        blocked: false,
        guessed: false,
        call: None,
    }
}

/// The guard a reason names in front.
pub fn guard_of(reason: &str) -> &str {
    reason.strip_prefix('[').and_then(|rest| rest.split(']').next()).unwrap_or_default()
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
