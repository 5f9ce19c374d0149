//! What git leaves in a file where no driver was installed: both sides between markers.

use std::borrow::Cow;

use memchr::memmem;
use serde::de::IgnoredAny;

use super::untangle::{Joining, untangle};
use super::{merge_decision, tree};

/// What a file with such a conflict is reported as until it is put right.
pub const LEFT_BY_GIT: &str = "git left both sides of a merge in it; both are kept";

/// A decision's file as one decision, whatever git left in it.
#[must_use]
pub fn one_decision(bytes: &[u8]) -> Cow<'_, [u8]> {
    if serde_json::from_slice::<IgnoredAny>(bytes).is_ok() {
        return Cow::Borrowed(bytes);
    }
    untangle(bytes, &DECISION).map_or(Cow::Borrowed(bytes), Cow::Owned)
}

/// What a decision's file is made of.
pub const DECISION: Joining = Joining {
    damage: |text| tree::damage(text).or_else(|| (!super::decision::is_one(text)).then(|| text.split(|&byte| byte == b'\n').count())),
    join: |versions| merge_decision(versions).ok().map(|merged| merged.text),
};

/// One of git's markers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marker<'t> {
    /// Our side follows.
    Ours,
    /// What both started from follows.
    Base,
    /// Their side follows.
    Theirs,
    /// Their side is over; what git called it.
    End(&'t [u8]),
}

/// The marker that a line is, if it is one.
pub(super) fn marker(line: &[u8]) -> Option<Marker<'_>> {
    let line = line.trim_ascii_end();
    let (sign, name) = (*line.first()?, line.get(7..)?);
    if line[..7].iter().any(|byte| *byte != sign) || !(name.is_empty() || name.starts_with(b" ")) {
        return None;
    }
    match sign {
        b'<' => Some(Marker::Ours),
        b'|' => Some(Marker::Base),
        b'=' if name.is_empty() => Some(Marker::Theirs),
        b'>' => Some(Marker::End(name)),
        _ => None,
    }
}

/// Whether a line is one of git's markers, also of those it puts into a common
/// ancestor that it had to merge itself: they are longer.
pub(crate) fn is_marker(line: &[u8]) -> bool {
    let line = line.trim_ascii_end();
    let Some(sign) = line.first().filter(|sign| b"<|=>".contains(sign)) else { return false };
    let signs = line.iter().take_while(|byte| *byte == sign).count();
    signs >= 7 && (line.len() == signs || (*sign != b'=' && line[signs] == b' '))
}

/// Whether git left a conflict in a text.
#[must_use]
pub fn has_markers(text: &[u8]) -> bool {
    // Nearly never: whole files are asked after every write of a process.
    let may = [b"<<<<<<<", b">>>>>>>"].iter().any(|sign| memmem::find(text, *sign).is_some());
    may && text.split(|&byte| byte == b'\n').any(|line| matches!(marker(line), Some(Marker::Ours | Marker::End(_))))
}
