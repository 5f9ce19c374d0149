//! A feature list in which one object was edited, judged by that object alone.
//!
//! An agent changes a line of a list of a megabyte, and waits until both versions
//! are judged. What an edit did not touch says the same in both, so it is enough to
//! know that the whole is JSON, and what the edited object said and says. Only edits
//! of values are judged so; for everything else there is the whole way, and both
//! always answer alike.

use std::collections::BTreeSet;

use crate::guards::told_tested;
use crate::workflow::{Held, Outline, Single, is_nowhere_else};

/// Bytes of an object that is looked at by itself.
const MOST_OBJECT: usize = 64 * 1024;
/// Brackets in it: the parser counts levels from the root.
const MOST_BRACKETS: usize = 64;

/// The one object that an edit changed, as it was and as it would be.
struct Edited<'t> {
    outline: Outline,
    held: Held,
    was: Single<'t>,
    will: Single<'t>,
    /// The names under which it was called tested, and would be.
    was_told: BTreeSet<String>,
    will_told: BTreeSet<String>,
}

impl<'t> Edited<'t> {
    fn of(before: &'t str, after: &'t str) -> Option<Self> {
        if before.is_empty() || before.starts_with('\u{feff}') || after.starts_with('\u{feff}') {
            return None;
        }
        let (head, tail) = same_ends(before.as_bytes(), after.as_bytes());
        let outline = Outline::of(after, head..after.len() - tail)?;
        let held = outline.held_by.clone().filter(|held| !held.is_in_tested && held.span.len() <= MOST_OBJECT)?;
        // Its braces stand in what both have in common.
        let (start, rest) = (held.span.start, after.len() - held.span.end);
        let (was, will) = (before.get(start..before.len().checked_sub(rest)?)?, after.get(held.span.clone())?);
        let brackets = |text: &str| text.bytes().filter(|byte| matches!(byte, b'{' | b'[')).count();
        if was.len() > MOST_OBJECT || brackets(was).max(brackets(will)) > MOST_BRACKETS {
            return None;
        }
        let (key, array) = (held.key.clone().map(|key| &after[key]), held.array.clone().map(|key| &after[key]));
        let (was_told, will_told) = (told_tested::read_member(was, key).ok()?, told_tested::read_member(will, key).ok()?);
        // Named by its place, or in a way that only the workflow understands.
        if was_told.is_odd || will_told.is_odd {
            return None;
        }
        let (was, will) = (Single::read(was, key, array)?, Single::read(will, key, array)?);
        let is_same = was.shape == will.shape && was.feature.id == will.feature.id;
        is_same.then_some(Self { outline, held, was, will, was_told: was_told.tested, will_told: will_told.tested })
    }
}

/// The features that become tested, or none if the whole lists have to be read.
pub(super) fn newly_tested(before: &str, after: &str) -> Option<BTreeSet<String>> {
    let Edited { outline, held, was, will, was_told, will_told } = Edited::of(before, after)?;
    let new: BTreeSet<String> = will_told.difference(&was_told).cloned().collect();
    let is_new_to_workflow = will.feature.tested && !was.feature.tested;
    if new.is_empty() && !is_new_to_workflow {
        return Some(new);
    }
    let is_one = new.len() == 1 && new.contains(&will.feature.id);
    (is_one && !was.feature.tested && is_nowhere_else(after, &held, &outline, &will.feature.id)).then_some(new)
}

/// Whether an edit leaves every feature as far as it is; false where only the
/// whole lists could tell.
pub(super) fn moves_nothing(before: &str, after: &str) -> bool {
    Edited::of(before, after).is_some_and(|edited| edited.was.feature.stands_as(&edited.will.feature))
}

/// How many bytes two texts have in common at their beginnings and, apart from
/// those, at their ends.
fn same_ends(one: &[u8], other: &[u8]) -> (usize, usize) {
    const AT_ONCE: usize = 256;
    let most = one.len().min(other.len());
    let mut head = 0;
    while head + AT_ONCE <= most && one[head..head + AT_ONCE] == other[head..head + AT_ONCE] {
        head += AT_ONCE;
    }
    head += one[head..].iter().zip(&other[head..]).take_while(|(one, other)| one == other).count();
    let (one, other) = (&one[head..], &other[head..]);
    let most = one.len().min(other.len());
    let last = |text: &[u8], from: usize| (text.len() - from - AT_ONCE)..(text.len() - from);
    let mut tail = 0;
    while tail + AT_ONCE <= most && one[last(one, tail)] == other[last(other, tail)] {
        tail += AT_ONCE;
    }
    tail +=
        one[..one.len() - tail].iter().rev().zip(other[..other.len() - tail].iter().rev()).take_while(|(one, other)| one == other).count();
    (head, tail)
}
