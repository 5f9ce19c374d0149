//! Which files git moved: asked once for all, and from then on for what is new.

use twining_engine::{Changes, Moves};

use crate::desk::Desk;

/// The note of what is known, which all sessions share.
const KEPT: &str = "shared-moves";

/// Every move up to the commit that is checked out; none where git cannot tell.
pub fn up_to_now(desk: &Desk<'_>) -> Moves {
    let store = desk.engine.store();
    if store.place().git_dir.is_none() {
        return Moves::default();
    }
    let Some(head) = desk.history.head() else { return Moves::default() };
    let known: Option<Moves> = store.local_state().note(KEPT).ok().flatten().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let known = known.unwrap_or_default();
    if known.head == head {
        return known;
    }
    // A branch that does not go on from there has a past of its own.
    let goes_on = !known.head.is_empty() && desk.history.is_before(&known.head, &head);
    let since = goes_on.then_some(known.head.as_str()).filter(|since| desk.history.revision(since).is_ok());
    let Some(fresh) = desk.history.moves(since) else { return known };
    let moves = if since.is_some() { known.clone().up_to(&head, fresh) } else { Moves::default().up_to(&head, fresh) };
    // If it cannot be kept, the next call asks again.
    let _ = serde_json::to_vec(&moves).map(|bytes| store.local_state().leave_note(KEPT, &bytes));
    moves
}
