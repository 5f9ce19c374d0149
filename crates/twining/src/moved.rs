//! Which files git moved: asked once for all, and from then on for what is new.

use twining_engine::{Changes, RenameHistory};

use crate::desk::CommandContext;

/// The note of what is known, which all sessions share.
const KEPT: &str = "shared-moves";

/// Every move up to the commit that is checked out; none where git cannot tell.
pub fn moves_to_head(ctx: &CommandContext<'_>) -> RenameHistory {
    let store = ctx.engine.store();
    if store.place().git_dir.is_none() {
        return RenameHistory::default();
    }
    let Some(head) = ctx.history.head() else { return RenameHistory::default() };
    let known: Option<RenameHistory> = store.local_state().note(KEPT).ok().flatten().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let known = known.unwrap_or_default();
    if known.head == head {
        return known;
    }
    // A branch that does not go on from there has a past of its own.
    let goes_on = !known.head.is_empty() && ctx.history.is_before(&known.head, &head);
    let since = goes_on.then_some(known.head.as_str()).filter(|since| ctx.history.revision(since).is_ok());
    let Some(fresh) = ctx.history.moves(since) else { return known };
    let moves = if since.is_some() { known.clone().up_to(&head, fresh) } else { RenameHistory::default().up_to(&head, fresh) };
    // If it cannot be kept, the next call asks again.
    let _ = serde_json::to_vec(&moves).map(|bytes| store.local_state().leave_note(KEPT, &bytes));
    moves
}
