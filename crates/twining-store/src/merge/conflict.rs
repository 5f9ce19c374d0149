//! What git leaves in a file where no driver was installed: both sides between markers.

use std::borrow::Cow;

use serde::de::IgnoredAny;

use super::{Versions, merge_decision};
use crate::array;

/// What a file with such a conflict is reported as until it is put right.
pub const LEFT_BY_GIT: &str = "git left both sides of a merge in it; both are kept";

/// A decision's file as one decision, whatever git left in it.
#[must_use]
pub fn one_decision(bytes: &[u8]) -> Cow<'_, [u8]> {
    if serde_json::from_slice::<IgnoredAny>(bytes).is_ok() {
        return Cow::Borrowed(bytes);
    }
    join(bytes, NESTED).map_or(Cow::Borrowed(bytes), Cow::Owned)
}

/// A conflict that was committed may be in a conflict again; so deep it is followed.
const NESTED: usize = 8;

fn join(bytes: &[u8], depth: usize) -> Option<Vec<u8>> {
    let Sides { base, ours, theirs } = sides(bytes)?;
    let [ours, theirs] = [ours, theirs].map(|side| depth.checked_sub(1).and_then(|depth| join(&side, depth)).unwrap_or(side));
    merge_decision(&Versions { base: &base, ours: &ours, theirs: &theirs }).ok().map(|merged| merged.text)
}

/// The two sides of a file that git could not merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sides {
    /// What both started from, where git was told to show it; else empty.
    pub base: Vec<u8>,
    /// The side that was merged into.
    pub ours: Vec<u8>,
    /// The side that came.
    pub theirs: Vec<u8>,
}

/// Whether a line is one of git's markers.
pub(crate) fn is_marker(line: &[u8]) -> bool {
    array::is_marker(line)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    Both,
    Ours,
    Base,
    Theirs,
}

/// Takes a file apart along git's markers; nothing if there is no whole conflict in it.
#[must_use]
pub fn sides(text: &[u8]) -> Option<Sides> {
    let mut sides = Sides { base: Vec::new(), ours: Vec::new(), theirs: Vec::new() };
    let (mut at, mut found, mut shows_base, mut inner) = (At::Both, false, false, 0_usize);
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let bare = line.trim_ascii_end();
        let is_inner = at != At::Both && (inner > 0 || bare.starts_with(b"<<<<<<< "));
        if is_inner && bare.starts_with(b"<<<<<<< ") {
            inner += 1;
        } else if is_inner && bare.starts_with(b">>>>>>> ") {
            inner -= 1;
        }
        at = match at {
            At::Ours if is_inner => {
                sides.ours.extend_from_slice(line);
                continue;
            }
            At::Base if is_inner => {
                sides.base.extend_from_slice(line);
                continue;
            }
            At::Theirs if is_inner => {
                sides.theirs.extend_from_slice(line);
                continue;
            }
            At::Both if bare.starts_with(b"<<<<<<< ") => At::Ours,
            At::Ours if bare.starts_with(b"||||||| ") => {
                shows_base = true;
                At::Base
            }
            At::Ours | At::Base if bare == b"=======" => At::Theirs,
            At::Theirs if bare.starts_with(b">>>>>>> ") => {
                found = true;
                At::Both
            }
            At::Both => {
                sides.base.extend_from_slice(line);
                sides.ours.extend_from_slice(line);
                sides.theirs.extend_from_slice(line);
                continue;
            }
            At::Ours => {
                sides.ours.extend_from_slice(line);
                continue;
            }
            At::Base => {
                sides.base.extend_from_slice(line);
                continue;
            }
            At::Theirs => {
                sides.theirs.extend_from_slice(line);
                continue;
            }
        };
    }
    if !shows_base {
        sides.base.clear();
    }
    (found && at == At::Both).then_some(sides)
}
