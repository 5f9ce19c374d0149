//! What hooks leave behind: a trace of every block, warning, bypass, approval and
//! of what looks like a correction, and a record of each tool call.
//!
//! None of it can fail or hold a hook: what cannot be written now is spooled, and
//! what cannot even be spooled is let go.

use twining_engine::learning::{ObservedTrace, RecordedCall, action_summary, is_correction};
use twining_guard::{Evaluation, GuardEvent, GuardFinding, ToolAction, Verdict};
use twining_model::{Channel, Origin, Trace, TraceType, Trust, text};

use super::context::HookContext;
use super::decision_labels;
use crate::allowances::PersonAllowances;
use crate::process::{self, CommandVerdict};
use crate::project::Project;

/// Guards that are traced of one call: the strictest.
const MAX_FINDINGS: usize = 5;
const HOOK: &str = "enforcement_hook";

/// A guard that would have spoken, and what kept it from it.
struct BypassedGuard {
    guard: String,
    reason: String,
}

/// Revises an evaluation by what a person allowed, and leaves the record of it.
pub(super) fn revise_and_record(context: &HookContext, evaluation: Evaluation) -> Evaluation {
    let mut lifted: Vec<BypassedGuard> = Vec::new();
    let project = &context.project;
    let evaluation = match evaluation.verdict {
        // Most calls: nothing to revise, so nothing is opened.
        Verdict::Off => evaluation,
        _ => {
            let allowed = PersonAllowances::read(project.engine.store());
            evaluation.revised(&mut |finding| {
                let run = |command: &str| process::run_check(command, &project.located.checkout);
                let revised = revise(project, &allowed, finding, run)?;
                lifted.extend(revised.lifted);
                Some(revised.answer)
            })
        }
    };
    record(context, &evaluation, &lifted);
    evaluation
}

/// What an evaluation would come to, with nothing run and nothing recorded.
pub(crate) fn preview(project: &Project, evaluation: Evaluation) -> Evaluation {
    let allowed = PersonAllowances::read(project.engine.store());
    let not_run = |_: &str| CommandVerdict::Failed("not run by explain".to_owned());
    decision_labels::label(project, evaluation).revised(&mut |finding| {
        revise(project, &allowed, finding, not_run).map(|revised| revised.answer)
    })
}

/// What a finding comes to.
struct RevisedFinding {
    answer: (Verdict, String),
    lifted: Option<BypassedGuard>,
}

fn revise(
    project: &Project,
    allowed: &PersonAllowances,
    finding: &GuardFinding,
    run: impl Fn(&str) -> CommandVerdict,
) -> Option<RevisedFinding> {
    if let Some(bypass) = allowed.bypass(&finding.guard, project.engine.store().ids().now()) {
        let lifted =
            Some(BypassedGuard { guard: finding.guard.clone(), reason: bypass.reason.clone() });
        let why = format!("lifted by {} until {}: {}", bypass.by, bypass.until, bypass.reason);
        return Some(RevisedFinding { answer: (Verdict::Off, why), lifted });
    }
    let wanted = finding.verify.as_ref()?;
    let answer = if allowed.trusts(&finding.guard, &wanted.command) {
        match run(&wanted.command) {
            CommandVerdict::Passed => (Verdict::Off, "its command passed".to_owned()),
            CommandVerdict::Failed(how) => {
                (finding.verdict, format!("{}; `{}`: {how}", finding.effect, wanted.command))
            }
            CommandVerdict::Unknown(why) => {
                (wanted.unverified, format!("{}; {why}, so `on_error` applies", finding.effect))
            }
        }
    } else {
        let why = format!(
            "{}; its command may not run until a person allows it: `twining trust {}`",
            finding.effect, finding.guard
        );
        (wanted.unverified, why)
    };
    Some(RevisedFinding { answer, lifted: None })
}

fn record(context: &HookContext, evaluation: &Evaluation, lifted: &[BypassedGuard]) {
    let (event, root, store) =
        (&context.event.event, &context.files.root, context.project.engine.store());
    if !context.has_memory() {
        return;
    }
    let call = RecordedCall::of(
        store.ids().next().into(),
        store.ids().now(),
        &context.event.session,
        root,
        event,
        evaluation,
    );
    if let Some(line) = call.to_line() {
        let _ = store.local_state().record_call(&line);
    }
    // Most calls: no findings, nothing to record.
    if evaluation.verdict == Verdict::Off && lifted.is_empty() {
        return;
    }
    let action = action_summary(event, root);
    let speaking =
        evaluation.speaking().into_iter().take(MAX_FINDINGS).map(|finding| ObservedTrace {
            kind: TraceType::Violation,
            source: HOOK,
            guard: Some(&finding.guard),
            what_happened: action_text(event, &action),
            what_was_correct: if finding.instead.is_empty() {
                finding.why.clone()
            } else {
                finding.instead.clone()
            },
            why: finding.effect.clone(),
            blocked: finding.verdict == Verdict::Block,
            ..ObservedTrace::default()
        });
    let passed = lifted.iter().map(|lifted| ObservedTrace {
        kind: TraceType::Approval,
        source: "person",
        guard: Some(&lifted.guard),
        what_happened: format!(
            "went ahead because the guard was lifted: {}",
            action_text(event, &action)
        ),
        why: lifted.reason.clone(),
        ..ObservedTrace::default()
    });
    let seen = speaking
        .chain(passed)
        .map(|seen| ObservedTrace { action: action.clone(), call: Some(call.id.clone()), ..seen })
        .collect();
    leave(context, seen, Trust::Agent);
}

/// Records a person's approval: the tool they were asked about has run.
pub(super) fn approved(context: &HookContext) {
    let event = &context.event.event;
    let Some(call) = latest(context).find(|call| call.tool == event.tool) else { return };
    let again = RecordedCall { action: Some(event.action.clone()), ..RecordedCall::default() };
    let again = again.to_line().and_then(|line| RecordedCall::read(&line));
    if call.verdict != Verdict::Ask.as_str()
        || again.is_none_or(|again| again.action != call.action && !call.cut)
    {
        return;
    }
    let action = action_summary(event, &context.files.root);
    let seen = call.guards.iter().map(|guard| ObservedTrace {
        kind: TraceType::Approval,
        source: "person",
        guard: Some(guard),
        action: action.clone(),
        what_happened: format!(
            "a person was asked and allowed it: {}",
            action_text(event, &action)
        ),
        // The host asked, but does not report the answer.
        guessed: true,
        call: Some(call.id.clone()),
        ..ObservedTrace::default()
    });
    leave(context, seen.collect(), Trust::Tool);
}

/// Notes a prompt, and what it takes back if it seems to take something back.
pub(super) fn prompted(context: &HookContext) {
    let store = context.project.engine.store();
    if !context.has_memory() {
        return;
    }
    if is_correction(&context.event.prompt)
        && let Some(call) = latest(context)
            .take_while(|call| !call.is_prompt())
            .find(RecordedCall::may_have_changed)
    {
        let event = call.event();
        let action = action_summary(&event, &call.root);
        let seen = ObservedTrace {
            kind: TraceType::Correction,
            source: "auto_detected",
            what_happened: action_text(&event, &action),
            action,
            what_was_correct: context.event.prompt.clone(),
            guessed: true,
            call: Some(call.id.clone()),
            ..ObservedTrace::default()
        };
        leave(context, vec![seen], Trust::Tool);
    }
    let marker = RecordedCall::of_prompt(
        store.ids().next().into(),
        store.ids().now(),
        &context.event.session,
    );
    if let Some(line) = marker.to_line() {
        let _ = store.local_state().record_call(&line);
    }
}

/// Records that an agent was held at its end.
pub(super) fn held(context: &HookContext, rule: &str, reason: &str) {
    let seen = at_stop(
        context,
        rule,
        TraceType::Violation,
        HOOK,
        format!("tried to stop: {reason}"),
        String::new(),
    );
    leave(context, vec![ObservedTrace { blocked: true, ..seen }], Trust::Agent);
}

/// Records that an agent was not held, since a person lifted the rule.
pub(super) fn lifted_at_stop(context: &HookContext, rule: &str, found: &str, reason: &str) {
    let what = format!("was allowed to stop because the guard was lifted: {found}");
    leave(
        context,
        vec![at_stop(context, rule, TraceType::Approval, "person", what, reason.to_owned())],
        Trust::Agent,
    );
}

fn at_stop<'r>(
    context: &HookContext,
    rule: &'r str,
    kind: TraceType,
    source: &'r str,
    what_happened: String,
    why: String,
) -> ObservedTrace<'r> {
    let action = context.event.event.kind.as_str().to_owned();
    ObservedTrace {
        kind,
        source,
        guard: Some(rule),
        action,
        what_happened,
        why,
        ..ObservedTrace::default()
    }
}

/// The calls of this session, newest first.
fn latest(context: &HookContext) -> impl Iterator<Item = RecordedCall> {
    let session = text::excerpt(&context.event.session, 200);
    let lines = context.project.engine.store().local_state().latest_calls().unwrap_or_default();
    lines
        .into_iter()
        .rev()
        .filter_map(|line| RecordedCall::read(&line))
        .filter(move |call| call.session == session)
}

/// What was tried, at more length.
fn action_text(event: &GuardEvent, action: &str) -> String {
    match &event.action {
        ToolAction::Shell(line) => format!("{}: {line}", event.tool),
        _ => action.to_owned(),
    }
}

fn leave(context: &HookContext, seen: Vec<ObservedTrace<'_>>, trust: Trust) {
    if seen.is_empty() || !context.has_memory() {
        return;
    }
    let store = context.project.engine.store();
    let agent = context.event.event.agent_type.clone().unwrap_or_else(|| "main".to_owned());
    let session = Some(text::excerpt(&context.event.session, 200));
    let origin = Origin { session, ..Origin::new(Channel::Hook, trust) };
    let at = store.ids().now().to_string();
    let traces: Vec<Trace> = seen
        .into_iter()
        .map(|seen| seen.into_trace(store.ids().next().into(), &at, &agent, origin.clone()))
        .collect();
    // A trace is worth less than an answer in time.
    let _ = store.traces().append_or_spool(&traces);
}
