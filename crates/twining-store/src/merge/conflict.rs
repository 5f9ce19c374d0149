//! What git leaves in a file where no driver was installed: both sides between markers.
//!
//! One merge is read from the text. Where people committed the markers and merged again,
//! git took the old ones for text and nothing tells which belongs to which merge: such a
//! text is not guessed at.

use std::borrow::Cow;

use memchr::memmem;
use serde::de::IgnoredAny;

use super::{Versions, decision, merge_decision, tree};

/// What a file with such a conflict is reported as until it is put right.
pub const HAS_CONFLICT_MARKERS: &str = "git left both sides of a merge in it; both are kept";

/// What a kind of file is made of.
#[derive(Clone, Copy, Debug)]
pub struct MergeFunctions {
    /// Whether a text is such a file.
    pub is_whole: fn(&[u8]) -> bool,
    /// Two of them as one; none where people must settle it.
    pub join: fn(&Versions<'_>) -> Option<Vec<u8>>,
}

/// What a decision's file is made of.
pub const DECISION: MergeFunctions = MergeFunctions {
    is_whole: |text| tree::has_unique_keys(text) && decision::is_one(text),
    join: |versions| merge_decision(versions).ok().map(|merged| merged.text),
};

/// A decision's file as one decision, if git left one merge in it.
#[must_use]
pub fn one_decision(bytes: &[u8]) -> Cow<'_, [u8]> {
    if serde_json::from_slice::<IgnoredAny>(bytes).is_ok() {
        return Cow::Borrowed(bytes);
    }
    resolve_conflict(bytes, &DECISION).map_or(Cow::Borrowed(bytes), Cow::Owned)
}

/// A file as one; none where conflicts of several merges stand in it, or where people
/// must settle it.
#[must_use]
pub fn resolve_conflict(text: &[u8], joining: &MergeFunctions) -> Option<Vec<u8>> {
    if !has_markers(text) {
        return (joining.is_whole)(text).then(|| text.to_vec());
    }
    let [base, ours, theirs] = sides(text, joining)?;
    (joining.join)(&Versions { base: &base, ours: &ours, theirs: &theirs })
}

/// The ancestor (empty unless git was told to show it), our side and theirs of a file in
/// which git left one merge, whether or not they can be made one. None where conflicts
/// of several merges stand in it, or a side is no such file.
#[must_use]
pub fn sides(text: &[u8], joining: &MergeFunctions) -> Option<[Vec<u8>; 3]> {
    let [mut base, mut ours, mut theirs] = [const { Vec::new() }; 3];
    let (mut section, mut shows_base) = (None, false);
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        match (section, marker(line)) {
            (None, None) => [&mut base, &mut ours, &mut theirs].into_iter().for_each(|side| side.extend_from_slice(line)),
            (Some(Marker::Ours), None) => ours.extend_from_slice(line),
            (Some(Marker::Base), None) => base.extend_from_slice(line),
            (Some(_), None) => theirs.extend_from_slice(line),
            (Some(Marker::Theirs), Some(Marker::End)) => section = None,
            (None, Some(Marker::Ours))
            | (Some(Marker::Ours), Some(Marker::Base))
            | (Some(Marker::Ours | Marker::Base), Some(Marker::Theirs)) => section = marker(line),
            _ => return None,
        }
        shows_base |= section == Some(Marker::Base);
    }
    // Of the ancestor only what is whole counts: it says what may be left out.
    if !shows_base || !(joining.is_whole)(&base) {
        base.clear();
    }
    (section.is_none() && (joining.is_whole)(&ours) && (joining.is_whole)(&theirs)).then_some([base, ours, theirs])
}

/// One of git's markers: what follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Marker {
    Ours,
    Base,
    Theirs,
    End,
}

/// The marker that a line is, if it is one.
fn marker(line: &[u8]) -> Option<Marker> {
    match marker_run(line)? {
        (b'<', 7) => Some(Marker::Ours),
        (b'|', 7) => Some(Marker::Base),
        (b'=', 7) => Some(Marker::Theirs),
        (b'>', 7) => Some(Marker::End),
        _ => None,
    }
}

/// Whether a line is one of git's markers, also of those it puts into a common
/// ancestor that it had to merge itself: they are longer.
pub(crate) fn is_marker(line: &[u8]) -> bool {
    marker_run(line).is_some()
}

/// What a marker is made of, and how often.
fn marker_run(line: &[u8]) -> Option<(u8, usize)> {
    let line = line.trim_ascii_end();
    let sign = *line.first().filter(|sign| b"<|=>".contains(sign))?;
    let marker_run = line.iter().take_while(|byte| **byte == sign).count();
    let is_marker = marker_run >= 7 && (line.len() == marker_run || (sign != b'=' && line[marker_run] == b' '));
    is_marker.then_some((sign, marker_run))
}

/// Whether git left a conflict in a text.
#[must_use]
pub fn has_markers(text: &[u8]) -> bool {
    // Nearly never: whole files are asked after every write of a process.
    let may = [b"<<<<<<<", b">>>>>>>"].iter().any(|sign| memmem::find(text, *sign).is_some());
    may && text.split(|&byte| byte == b'\n').any(|line| matches!(marker(line), Some(Marker::Ours | Marker::End)))
}
