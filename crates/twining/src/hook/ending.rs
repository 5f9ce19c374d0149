//! When an agent wants to stop: what slipped through is told, and nobody is held
//! for the same reason more than twice.

use twining_engine::guards::{Accepted, Guards, Judgement, Level, Moment, Notes, Reach, Returned};

use twining_store::{Audit, Lost};

use super::reply::Reply;
use super::ruled::{self, Slipped};
use super::rules::{self, Checked};
use super::scene::Scene;
use super::traced::{self, Held};
use super::{auto_loop, between, by_hand, changed, claimed, from_others, git_wiring, running, whereabouts};

/// The guard of coders that return with nothing done.
const RETURNS: &str = "return-needs-changes";

/// Guards whose files are compared when an agent stops.
const COMPARED: [&str; 3] = ["tested-needs-evidence", "policy-only-grows", "hooks-stay-wired"];

/// What the user's own policy says holds in every project, and no list of files of
/// this one tells that it was changed.
const USERS_POLICY: &str = "[policy-only-grows] the user's own policy, which holds in every project, was changed while the session ran. Undo it, or say which guards it lifts now (`twining guard list`); a person who changed it themselves need do nothing";

/// Whether the agent may stop.
pub fn reply(scene: &Scene) -> Reply {
    let store = scene.project.engine.store();
    let taken = whereabouts::taken_away(scene);
    if !store.exists().unwrap_or(false) {
        return without_memory(scene, store.lost(), taken.as_deref());
    }
    let mut notes = scene.notes();
    running::forget(store, &scene.heard);
    let is_forgotten = scene.heard.stop_hook_active && !scene.is_remembered();
    let Checked { guards, forged, seal } = rules::guards_checked(&scene.project, notes.checked.as_deref());
    notes.checked = seal;
    let rules = from_others::taken_over(scene, &guards);
    // What cannot be compared is compared next time.
    let audit = store.audit().unwrap_or_default();
    let odd = forged.into_iter().chain(audit.lost.map(by_hand::lost).or(taken)).collect();
    let mut lists = scene.lists().changed(&guards, &scene.recorded_so_far());
    if !lists.slipped.is_empty() && store.after_writers().is_ok() {
        // Somebody may have been between saying what a report does and doing it.
        lists = scene.lists().changed(&guards, &scene.recorded_so_far());
    }
    let mut used = used(scene, &guards, &notes);
    let trespassed = claimed::holding(scene, &guards, &mut notes);
    used.holding.extend(trespassed.holding);
    used.told.extend(trespassed.told);
    let told: Vec<String> = [rules, by_hand::brought(&audit), by_hand::brought_lists(&lists.brought)].into_iter().flatten().collect();
    traced::told(&scene.project, &scene.heard, (!told.is_empty()).then(|| told.join("\n")).as_deref());
    // A warning is told once a session.
    let told: Vec<String> = told.into_iter().chain(used.told.into_iter().filter(|line| notes.told.insert(line.clone()))).collect();
    let told = (!told.is_empty()).then(|| told.join("\n"));
    let reply = match reason(scene, &guards, odd, Found { lists: lists.slipped, used: used.holding, audit: &audit }, &notes) {
        Some(reason) => held(scene, &mut notes, &audit, &reason),
        None if scene.heard.event.moment == Moment::Stop => auto_loop::at_stop(scene, &mut notes),
        None => Reply::Silence,
    };
    scene.keep_notes(&notes);
    match with(reply, told) {
        // Held before and nothing is known of it, or nothing can be kept: it would be held for ever.
        Reply::Hold(reason) if is_forgotten || !scene.is_remembered() => Reply::Notice(reason),
        reply => reply,
    }
}

/// An answer, and what the person reads with it.
fn with(reply: Reply, told: Option<String>) -> Reply {
    let Some(told) = told else { return reply };
    match reply {
        Reply::Silence => Reply::Notice(told),
        Reply::Notice(reason) => Reply::Notice(format!("{reason}\n{told}")),
        Reply::Hold(reason) => Reply::Hold(format!("{reason}\n{told}")),
        reply => reply,
    }
}

/// The folder is gone, or cannot be opened: nothing can be remembered in it, so an
/// agent is held once, and from then on the person reads of it.
fn without_memory(scene: &Scene, lost: Option<Lost>, taken: Option<&str>) -> Reply {
    let store = scene.project.engine.store();
    let Some(reason) = lost.map(by_hand::lost).or_else(|| taken.map(str::to_owned)) else { return Reply::Silence };
    let is_new = taken.is_some() || lost.is_some_and(|lost| !store.is_told(lost));
    let is_kept = lost.is_some_and(|lost| store.tell_lost(lost)) || taken.is_some();
    if is_new && is_kept && !scene.heard.stop_hook_active { Reply::Hold(reason) } else { Reply::Notice(reason) }
}

/// What would be said to an agent that wants to stop, with nothing remembered of
/// its asking.
pub fn foreseen(scene: &Scene, guards: &Guards, mut judged: Judgement) -> Judgement {
    let event = &scene.heard.event;
    if !matches!(event.moment, Moment::Stop | Moment::SubagentStop | Moment::TaskCompleted) {
        return judged;
    }
    let notes = scene.notes();
    if event.moment == Moment::SubagentStop {
        let on = guards.guards.iter().filter(|guard| guard.id == RETURNS).map(|guard| guard.action).max().unwrap_or_default();
        judged = match (notes.returns_empty(event), returns_empty(scene, &notes)) {
            (Some(_), None) => judged.knowing(RETURNS, Level::Off, "it ran commands, and files changed since it began"),
            (_, Some(why)) => judged.knowing(RETURNS, on, &why),
            (None, None) => judged.knowing(RETURNS, Level::Off, &notes.known_of(event)),
        };
    }
    let (why, slipped) = if scene.has_accepted() {
        ("its files are as they were accepted", scene.accepted().slipped(guards, &|path| scene.work.text(path), &scene.recorded_so_far()))
    } else {
        ("the session is not known, so there is nothing to compare with", Vec::new())
    };
    let mut ruled = if scene.has_accepted() { scene.accepted().ruled } else { None };
    let used = ruled.as_mut().map(|ruled| ruled::slipped(scene, guards, ruled, ruled::since(scene, &notes.started))).unwrap_or_default();
    for guard in COMPARED {
        judged = judged.knowing(guard, Level::Off, why);
    }
    for reason in slipped.into_iter().chain(used.holding) {
        judged = judged.knowing(traced::guard_of(&reason), Level::Block, &reason);
    }
    judged
}

/// The session is over: nothing is left to hold, and its notes are of no use.
pub fn of_session(scene: &Scene) -> Reply {
    let store = scene.project.engine.store();
    // A session that is resumed later begins with what is there then.
    let _ = store.drop_note(&scene.accepted_name());
    whereabouts::forget(scene);
    let _ = store.drop_note(&scene.heard.session);
    running::forget(store, &scene.heard);
    Reply::Silence
}

/// What was found when all was compared.
struct Found<'a> {
    /// Feature lists that slipped.
    lists: Vec<String>,
    /// What is ruled out and was brought in, and what was done under others' claims.
    used: Vec<String>,
    /// The records.
    audit: &'a Audit,
}

/// What was brought in that decisions and knowledge rule out.
fn used(scene: &Scene, guards: &Guards, notes: &Notes) -> Slipped {
    let mut accepted = scene.accepted();
    let known = accepted.ruled.clone();
    let Some(ruled) = &mut accepted.ruled else { return Slipped::default() };
    let slipped = ruled::slipped(scene, guards, ruled, ruled::since(scene, &notes.started));
    if accepted.ruled != known {
        scene.keep_accepted(&accepted);
    }
    slipped
}

fn reason(scene: &Scene, guards: &Guards, odd: Vec<String>, found: Found<'_>, notes: &Notes) -> Option<String> {
    let Found { lists, used, audit } = found;
    let accepted = scene.accepted();
    let mut slipped = accepted.slipped_texts(guards, &|path| scene.work.text(path));
    let now = Accepted { ruled: accepted.ruled.clone(), ..scene.as_it_is() };
    if accepted.user.as_ref().is_some_and(|user| now.user.as_ref() != Some(user)) {
        slipped.push(USERS_POLICY.to_owned());
    }
    let hook = accepted.commit_hook.as_deref().filter(|_| now.commit_hook.is_none() && rules::holds_wiring(guards));
    slipped.extend(hook.and_then(|was| git_wiring::unasked(&scene.project, was)));
    if slipped.is_empty() {
        if now != accepted {
            // What became stricter is held from now on: it must not be taken away again.
            scene.keep_accepted(&now);
        }
        between::remember(&scene.project, &now);
    }
    if lists.is_empty() {
        // Every run that was needed is there now; the files may change later.
        scene.lists().accept();
    }
    slipped.extend(scene.lists().holding(lists));
    slipped.extend(used);
    // Told often enough, it is a question that a person answers, not a reason to hold the next session.
    let by_hand = if audit.is_settled { Vec::new() } else { by_hand::reasons(audit) };
    let mut reasons: Vec<String> = odd.into_iter().chain(slipped).chain(by_hand).collect();
    let on = |id: &str| guards.guards.iter().any(|guard| guard.id == id && guard.action == Level::Block);
    if reasons.is_empty() && scene.heard.event.moment == Moment::SubagentStop && on(RETURNS) {
        let next = "implement the task, or say plainly that nothing was to be done and why";
        reasons.extend(returns_empty(scene, notes).map(|why| format!("[return-needs-changes] {why}. Next: {next}")));
    }
    reasons = traced::still_holding(&scene.project, &scene.heard, reasons);
    (!reasons.is_empty()).then(|| reasons.join("\n"))
}

/// Whether a coding agent returns with nothing done. Its calls tell what it may have
/// changed; the files tell whether it did: a file that was only touched, or one that
/// lies elsewhere, is none, and one that is gone or as it was before is.
fn returns_empty(scene: &Scene, notes: &Notes) -> Option<String> {
    let event = &scene.heard.event;
    let why = notes.owes_changes(event)?;
    let reach = notes.reach_of(event);
    let has_changed = match changed::since_it_began(scene, &reach) {
        Some(has_changed) => has_changed,
        // Nobody told when it began: its calls have to do, and the dates of files.
        None if notes.returns_empty(event).is_some() => {
            notes.may_have_changed_since(event).is_some_and(|since| changed::any_since(&scene.project.located.checkout, since))
        }
        None => !matches!(&reach, Reach::Files(files) if files.iter().all(|file| file.starts_with('/'))),
    };
    (!has_changed).then_some(why)
}

fn held(scene: &Scene, notes: &mut Notes, audit: &Audit, reason: &str) -> Reply {
    // Each coder answers for itself; what is wrong with the project is everybody's.
    let whose = scene.heard.event.agent_id.as_deref().filter(|_| traced::guard_of(reason) == RETURNS);
    match notes.hold(reason, whose, scene.heard.stop_hook_active) {
        Returned::Freely => Reply::Silence,
        Returned::Held(reason) => {
            traced::held(&scene.project, &scene.heard, &reason, Held::Back);
            Reply::Hold(reason)
        }
        Returned::LetGo(reason) => {
            // Asked once; the same answer is not asked for again and again.
            let asked = format!("asked: {reason}");
            if notes.held.insert(asked, 1).is_none() {
                traced::held(&scene.project, &scene.heard, &reason, Held::NoLonger);
                scene.post_question(&format!("An agent stopped although: {reason}"));
                // The question stands; the next session is not held for it again.
                scene.lists().settle(scene.lists().slipped(&rules::guards(&scene.project), &scene.recorded_so_far()));
                if !audit.differences.is_empty() || audit.lost.is_some() {
                    // If it cannot be noted, the next session is held once more.
                    let _ = scene.project.engine.store().settle_audit(audit);
                }
            }
            Reply::Notice(reason)
        }
    }
}
