//! A policy that would allow more than it does.

use twining_model::{TextFile, limits};

use crate::effects::{Effects, NewContent};
use crate::policy::guard::{Guard, GuardAnswer};
use crate::policy::{Examples, GuardSet, PolicyLayer, UserPolicy};

/// Whether a call weakens the project's policy.
pub(crate) fn check(guard: &Guard, effects: &Effects) -> GuardAnswer {
    let weakened = guard.concerned(effects).find_map(|change| match &*change.content {
        NewContent::Text { before, after } => {
            let (before, after) =
                (before.as_deref().unwrap_or_default(), after.as_deref().unwrap_or_default());
            let how = policy_weakened(before, after).or_else(|| promotes(before, after))?;
            Some(GuardAnswer::of_change(guard.action, change, &how))
        }
        // What comes of it is compared when the turn ends, and in CI.
        NewContent::Unknown(_) => None,
    });
    weakened.unwrap_or_else(|| GuardAnswer::silent("the policy is not weakened"))
}

/// What a new policy would no longer stop; none if it stops all that the old one does.
#[must_use]
pub fn policy_weakened(before: &str, after: &str) -> Option<String> {
    weakened_beside("", before, after)
}

/// The same, where one guard may go.
pub(crate) fn weakened_beside(discarded: &str, before: &str, after: &str) -> Option<String> {
    // Two policies are compiled to be compared; most of the time they are one.
    if before == after {
        return None;
    }
    if after.len() > limits::POLICY_BYTES {
        return Some(format!(
            "it would be larger than {} bytes, and none of its guards would be read",
            limits::POLICY_BYTES
        ));
    }
    let (was, will) = (load(before), load(after));
    if was.unread.is_none() && will.unread.is_some() && was.guards.iter().any(is_of_project) {
        return Some("it could no longer be read, and its guards would not be in force".to_owned());
    }
    let is_preserved =
        |old: &Guard| will.guards.iter().any(|new| is_of_project(new) && is_as_strict(old, new));
    let mut kept = was.guards.iter().filter(|old| is_of_project(old) && old.id != discarded);
    let gone = kept.find(|old| !is_preserved(old));
    gone.map(|gone| format!("`{}` would be removed or weakened", gone.id))
}

fn load(text: &str) -> GuardSet {
    GuardSet::assemble(&UserPolicy::default(), &TextFile::Text(text.to_owned()), Examples::Skip)
}

fn is_of_project(guard: &Guard) -> bool {
    guard.source.layer == PolicyLayer::Project && guard.is_on()
}

fn is_as_strict(old: &Guard, new: &Guard) -> bool {
    let (was, will) = (&old.when, &new.when);
    new.id == old.id
        && new.action >= old.action
        && new.on_error >= old.on_error
        && new.verify == old.verify
        && will.actors == was.actors
        && covers(&new.events, &old.events)
        && widens(&new.tools, &old.tools)
        && widens(new.paths.globs(), old.paths.globs())
        && covers(old.except.globs(), new.except.globs())
        && widens(&will.commands, &was.commands)
        && widens(&will.adds, &was.adds)
        && widens(&will.removes, &was.removes)
}

/// Whether one list has all that another has.
fn covers<T: PartialEq>(list: &[T], other: &[T]) -> bool {
    other.iter().all(|item| list.contains(item))
}

/// Whether a condition is met at least as often; an empty one asks for nothing.
fn widens<T: PartialEq>(new: &[T], old: &[T]) -> bool {
    new == old || !old.is_empty() && (new.is_empty() || covers(new, old))
}

/// The proposed guard that a new policy would put in force.
fn promotes(before: &str, after: &str) -> Option<String> {
    if !before.contains("proposed") {
        return None;
    }
    let (was, will) = (load(before).guards, load(after).guards);
    let promoted = will
        .iter()
        .find(|new| !new.proposed && was.iter().any(|old| old.proposed && old.id == new.id))?;
    Some(format!(
        "`{}` is proposed; only a person can promote it, with `twining guard promote {}`",
        promoted.id, promoted.id
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use twining_testcases::each;

    const ONE: &str = "guards:\n  - id: no-x\n    say: no\n    paths: [x]\n";

    #[test]
    fn a_guard_may_be_added_and_made_stricter_and_no_other_way() {
        let warns = ONE.replace("paths", "action: warn\n    paths");
        assert_eq!(
            policy_weakened(ONE, &format!("{ONE}  - id: no-y\n    say: no\n    paths: [y]\n")),
            None
        );
        assert_eq!(policy_weakened(&warns, ONE), None);
        assert_eq!(policy_weakened(ONE, &format!("# why\n{ONE}")), None);
        assert_eq!(policy_weakened(ONE, &ONE.replace("[x]", "[x, y]")), None);
        each(
            [warns.as_str(), "", "guards: []\n", "guards: [\n", &ONE.replace("[x]", "[z]")],
            |after| {
                assert!(policy_weakened(ONE, after).is_some(), "{after}");
            },
        );
        assert_eq!(policy_weakened("guards: [\n", ONE), None, "what was broken is mended");
    }
}
