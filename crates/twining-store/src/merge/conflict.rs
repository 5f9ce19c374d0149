//! What git leaves in a file where no driver was installed: both sides between markers.

use crate::array;

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
pub(super) fn is_marker(line: &[u8]) -> bool {
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
    let (mut at, mut found, mut shows_base) = (At::Both, false, false);
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let bare = line.trim_ascii_end();
        at = match at {
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
