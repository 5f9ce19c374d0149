//! Files of one JSON line a record, written once: the blackboard, the traces, the anchors.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use memchr::memmem;
use serde::Deserialize;
use serde::de::IgnoredAny;
use twining_model::{Decision, Id, Time, text};

use super::lossless_json;
use super::lossless_json::JsonNode;
use super::record_merge::RecordMerge;

/// Merges files of lines. Lines that are no record are kept as well: they may be
/// damage that somebody can still read.
#[must_use]
pub fn merge_lines(versions: &Versions<'_>) -> Merged {
    if let Some(trivial_merge) = versions.trivial_merge() {
        return trivial_merge;
    }
    let (one, other) = versions.ordered();
    let [base, one, other] = [versions.base, one, other].map(lines_of);
    let sets = [&base, &one, &other].map(|lines| lines.iter().copied().collect::<HashSet<_>>());
    // A line from the base is dropped if one side removed it: its record was archived, or its text
    // was corrected, and then the corrected line is new.
    let is_in_both = |line: &&[u8]| sets[1].contains(line) && sets[2].contains(line);
    let mut seen = HashSet::new();
    let old = base
        .iter()
        .copied()
        .filter(is_in_both)
        .filter(|line| seen.insert(*line))
        .collect::<Vec<_>>();
    let mut fresh: Vec<MergeLine<'_>> = one
        .iter()
        .chain(&other)
        .copied()
        .filter(|line| !sets[0].contains(line) && seen.insert(*line))
        .map(MergeLine::read)
        .collect();
    fresh.sort_by(|a, b| (a.at, &a.id, a.text).cmp(&(b.at, &b.id, b.text)));

    let mut ids: BTreeMap<String, usize> = BTreeMap::new();
    let known: HashSet<&str> = fresh.iter().filter_map(|line| line.id.as_deref()).collect();
    // Only ids of a new line can occur twice now and once before.
    let known_ids = old
        .iter()
        .filter_map(|line| MergeLine::read(line).id)
        .filter(|id| known.contains(id.as_str()));
    for id in known_ids.chain(fresh.iter().filter_map(|line| line.id.clone())) {
        *ids.entry(id).or_default() += 1;
    }
    let contested = ids
        .into_iter()
        .filter(|(_, times)| *times > 1)
        .map(|(id, times)| format!("{id} appears {times} times"))
        .collect();
    let mut text = Vec::new();
    for line in old.into_iter().chain(fresh.iter().map(|line| line.text)) {
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    Merged { text, contested }
}

struct MergeLine<'t> {
    at: i64,
    id: Option<String>,
    text: &'t [u8],
}

impl<'t> MergeLine<'t> {
    fn read(text: &'t [u8]) -> Self {
        #[derive(Deserialize)]
        struct LineHeader {
            id: String,
            #[serde(default)]
            timestamp: String,
        }
        let record = serde_json::from_slice::<LineHeader>(text).ok();
        let at = record.as_ref().and_then(|record| {
            Time::read(&record.timestamp).or_else(|| Id::read(&record.id).map(|id| id.time()))
        });
        // Unreadable lines come last, where a torn line would be.
        Self { at: at.map_or(i64::MAX, Time::as_ms), id: record.map(|record| record.id), text }
    }
}

/// The lines without their ends, without blank ones and without git's markers.
fn lines_of(text: &[u8]) -> Vec<&[u8]> {
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    let lines =
        text.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    lines
        .filter(|line| !line.trim_ascii().is_empty() && !super::file_merge::is_marker(line))
        .collect()
}

/// Merges two versions of one decision's file. Both sides' links, commits and
/// history are joined; a status never goes back; where the two say different
/// things of the decision itself both are kept, and it is provisional until
/// somebody has looked.
pub fn merge_decision(versions: &Versions<'_>) -> Result<Merged, FileMergeError> {
    if let Some(trivial_merge) = versions.trivial_merge() {
        return Ok(trivial_merge);
    }
    let (first, second) = versions.ordered();
    let (one, id) = read(first, versions.name(first))?;
    let (other, other_id) = read(second, versions.name(second))?;
    if id != other_id {
        return Err(FileMergeError::Unlike(format!(
            "one side is the decision {id}, the other {other_id}"
        )));
    }
    // A base that cannot be read decides nothing.
    let base = read(versions.base, "the common ancestor").ok().map(|(base, _)| base);
    let (mut merged, clashes) =
        RecordMerge::record(base.as_ref(), &one, &other, &|_, _, _, _| None);
    if !clashes.is_empty()
        && merged.get("status").and_then(JsonNode::as_text).is_none_or(|status| status == "active")
    {
        merged.set("status", JsonNode::text("provisional"));
    }
    let contested =
        clashes.iter().map(|clash| format!("{id}: {}", text::excerpt(&clash.field, 60))).collect();
    Ok(Merged { text: format!("{}\n", merged.to_pretty(2)).into_bytes(), contested })
}

/// Whether a text is a decision.
pub(super) fn is_one(bytes: &[u8]) -> bool {
    read(bytes, "it").is_ok()
}

fn read(bytes: &[u8], side: &'static str) -> Result<(JsonNode, String), FileMergeError> {
    let unreadable = |why: String| FileMergeError::Unreadable { side, why };
    let text = std::str::from_utf8(bytes).map_err(|_| unreadable("it is not UTF-8".to_owned()))?;
    let text = text.trim_start_matches('\u{FEFF}');
    let decision: Decision = serde_json::from_str(text)
        .map_err(|error| unreadable(format!("it is not a decision: {error}")))?;
    let node = JsonNode::parse(text).map_err(|error| unreadable(error.to_string()))?;
    Ok((node, decision.id.to_string()))
}

/// What a file with such a conflict is reported as until it is put right.
pub const HAS_CONFLICT_MARKERS: &str =
    "it contains an unresolved git merge; both sides are preserved";

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
    is_whole: |text| lossless_json::has_unique_keys(text) && is_one(text),
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

/// Resolves a file's conflict; `None` if it contains conflicts of several merges, or people must
/// resolve it.
#[must_use]
pub fn resolve_conflict(text: &[u8], joining: &MergeFunctions) -> Option<Vec<u8>> {
    if !has_markers(text) {
        return (joining.is_whole)(text).then(|| text.to_vec());
    }
    let [base, ours, theirs] = sides(text, joining)?;
    (joining.join)(&Versions { base: &base, ours: &ours, theirs: &theirs })
}

/// Returns the ancestor (empty unless git is configured to show it), our side and theirs of a file
/// in which git left one merge, whether or not they can be merged. `None` if it contains conflicts
/// of several merges, or a side is not valid.
#[must_use]
pub fn sides(text: &[u8], joining: &MergeFunctions) -> Option<[Vec<u8>; 3]> {
    let [mut base, mut ours, mut theirs] = [const { Vec::new() }; 3];
    let (mut section, mut shows_base) = (None, false);
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        match (section, marker(line)) {
            (None, None) => [&mut base, &mut ours, &mut theirs]
                .into_iter()
                .for_each(|side| side.extend_from_slice(line)),
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
    (section.is_none() && (joining.is_whole)(&ours) && (joining.is_whole)(&theirs))
        .then_some([base, ours, theirs])
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
    let is_marker =
        marker_run >= 7 && (line.len() == marker_run || (sign != b'=' && line[marker_run] == b' '));
    is_marker.then_some((sign, marker_run))
}

/// Whether git left a conflict in a text.
#[must_use]
pub fn has_markers(text: &[u8]) -> bool {
    // Nearly never: whole files are asked after every write of a process.
    let may = [b"<<<<<<<", b">>>>>>>"].iter().any(|sign| memmem::find(text, *sign).is_some());
    may && text
        .split(|&byte| byte == b'\n')
        .any(|line| matches!(marker(line), Some(Marker::Ours | Marker::End)))
}

/// What came of a merge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// The file.
    pub text: Vec<u8>,
    /// Where both sides had their own word, and both were kept; one line each.
    pub contested: Vec<String>,
}

/// Why nothing was merged; ours is unchanged, and people resolve it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileMergeError {
    /// A side cannot be read.
    #[error("{side} cannot be read: {why}")]
    Unreadable {
        /// Which side.
        side: &'static str,
        /// Why.
        why: String,
    },
    /// The sides speak of different things.
    #[error("{0}")]
    Unlike(String),
}

/// Three versions of a file.
#[derive(Clone, Copy, Debug)]
pub struct Versions<'t> {
    /// What both started from; empty if there is none.
    pub base: &'t [u8],
    /// One side.
    pub ours: &'t [u8],
    /// The other.
    pub theirs: &'t [u8],
}

impl<'t> Versions<'t> {
    /// The answer where it needs no thought: both agree, or only one changed.
    #[must_use]
    pub fn trivial_merge(&self) -> Option<Merged> {
        let text = if self.ours == self.theirs || self.theirs == self.base {
            self.ours
        } else if self.ours == self.base {
            self.theirs
        } else {
            return None;
        };
        Some(Merged { text: text.to_vec(), contested: Vec::new() })
    }

    /// The two sides in an order of their own, so that it does not matter who merges.
    #[must_use]
    pub fn ordered(&self) -> (&'t [u8], &'t [u8]) {
        if self.ours <= self.theirs { (self.ours, self.theirs) } else { (self.theirs, self.ours) }
    }

    /// What a person calls this side.
    #[must_use]
    pub fn name(&self, side: &[u8]) -> &'static str {
        if side == self.ours { "our side" } else { "their side" }
    }
}
