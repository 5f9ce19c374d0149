//! What an agent is told when it begins: the brief, what a compaction took away,
//! and the step where the loop runs by itself.

use std::collections::BTreeSet;

use twining_engine::RoleInput;
use twining_model::text;

use super::reply::Reply;
use super::scene::Scene;
use super::{auto_loop, between, brief, by_hand, changed, lists, rules, running, snapshot, traced, whereabouts};
use crate::user_policy;

/// Items of a role's list that are told.
const MOST_ITEMS: usize = 12;

/// A session begins, or goes on after its host forgot most of it.
pub fn of_session(scene: &Scene) -> Reply {
    // An old note in the way is no reason to begin without a brief.
    let _ = scene.project.engine.store().clear_notes();
    let milder = if scene.has_accepted() { None } else { between::told_at_start(scene) };
    scene.accept_what_is_there();
    let taken = whereabouts::taken_away(scene);
    let mut notes = scene.notes();
    let brief = brief::of_session(&scene.project.engine, &scene.caller(), &mut notes.told);
    scene.keep_notes(&notes);
    let audit = scene.project.engine.store().audit().unwrap_or_default();
    let slipped = lists::at_start(&scene.project, &scene.work, &scene.recorded_so_far()).map(|told| text::visible(&told));
    if scene.heard.source != "compact" && slipped.is_none() && audit.differences.is_empty() {
        // Without it, what comes from a remote that is new is asked about.
        let _ = scene.project.engine.store().know_remotes();
    }
    let lost = audit.lost.map(by_hand::lost).or(taken);
    let brought = by_hand::brought(&audit);
    traced::told(&scene.project, &scene.heard, brought.as_deref());
    let unread = rules::guards(&scene.project).unread().map(|told| text::visible(&told));
    let parts = [unread, snapshot::bring_back(scene), lost, milder, slipped, by_hand::in_brief(&audit.differences), brought, brief];
    let context = parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n");
    match auto_loop::at_start(scene) {
        Some(go) => Reply::Start { context, go },
        None if context.is_empty() => Reply::Silence,
        None => Reply::Context(context),
    }
}

/// A person wrote something.
pub fn of_prompt(scene: &Scene) -> Reply {
    traced::prompted(&scene.project, &scene.heard);
    running::forget(scene.project.engine.store(), &scene.heard);
    // Hosts that begin no session after a compaction ask here first.
    let mut notes = scene.notes();
    let known = notes.told.len();
    let warnings = brief::of_prompt(&scene.project.engine, &scene.caller(), &scene.heard.prompt, &mut notes.told);
    // What was told when the session began is not told again with its first prompt.
    if notes.told.len() > known {
        scene.keep_notes(&notes);
    }
    let parts = [snapshot::bring_back(scene), warnings];
    let context = parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n");
    if context.is_empty() { Reply::Silence } else { Reply::Context(context) }
}

/// A subagent begins: its role, and what matters.
pub fn of_subagent(scene: &Scene) -> Reply {
    let kind = scene.heard.event.agent_type.as_deref().unwrap_or_default();
    let mut notes = scene.notes();
    notes.subagent_began(&scene.heard.event, scene.project.engine.store().ids().now());
    scene.keep_notes(&notes);
    changed::remember(scene);
    let parts = [
        role_of(kind).and_then(|role| role_told(scene, role)),
        brief::of_session(&scene.project.engine, &scene.caller(), &mut BTreeSet::new()),
    ];
    let context = parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n");
    if context.is_empty() { Reply::Silence } else { Reply::Context(context) }
}

/// The role an agent of this kind has.
fn role_of(kind: &str) -> Option<&'static str> {
    let kind = kind.rsplit(':').next().unwrap_or(kind).to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| kind.contains(word));
    if has(&["coach", "test", "verif", "review", "qa"]) {
        Some("coach")
    } else if has(&["player", "cod", "implement", "develop", "engineer"]) {
        Some("player")
    } else {
        None
    }
}

fn role_told(scene: &Scene, role: &str) -> Option<String> {
    let input = RoleInput { role: role.to_owned(), ..RoleInput::default() };
    let role = scene.project.engine.role(&user_policy::read(), &input).ok()?;
    let mut lines = vec![format!("Your role in this project is {}.", role.role)];
    for (title, items) in [("You must", &role.must_do), ("You must not", &role.must_not_do), ("Ask before", &role.ask_before)] {
        if !items.is_empty() {
            lines.push(format!("{title}:"));
            lines.extend(
                items.iter().take(MOST_ITEMS).map(|item| format!("- {}", text::excerpt(&text::visible(item).replace('\n', " "), 200))),
            );
        }
    }
    (lines.len() > 1).then(|| lines.join("\n"))
}
