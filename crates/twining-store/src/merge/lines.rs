//! Files of one JSON line a record, written once: the blackboard, the traces.

use std::collections::{BTreeMap, HashSet};

use serde::Deserialize;
use twining_model::{Id, Time};

use super::{Merged, Versions};

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
    // A line that stood there before is gone if one side took it away: its record
    // was archived, or its text was mended, and then the mended line is new.
    let is_in_both = |line: &&[u8]| sets[1].contains(line) && sets[2].contains(line);
    let mut seen = HashSet::new();
    let old = base.iter().copied().filter(is_in_both).filter(|line| seen.insert(*line)).collect::<Vec<_>>();
    let mut fresh: Vec<MergeLine<'_>> =
        one.iter().chain(&other).copied().filter(|line| !sets[0].contains(line) && seen.insert(*line)).map(MergeLine::read).collect();
    fresh.sort_by(|a, b| (a.at, &a.id, a.text).cmp(&(b.at, &b.id, b.text)));

    let mut ids: BTreeMap<String, usize> = BTreeMap::new();
    let known: HashSet<&str> = fresh.iter().filter_map(|line| line.id.as_deref()).collect();
    // Only ids that a new line has can stand twice now and once before.
    let known_ids = old.iter().filter_map(|line| MergeLine::read(line).id).filter(|id| known.contains(id.as_str()));
    for id in known_ids.chain(fresh.iter().filter_map(|line| line.id.clone())) {
        *ids.entry(id).or_default() += 1;
    }
    let contested = ids.into_iter().filter(|(_, times)| *times > 1).map(|(id, times)| format!("{id} stands there {times} times")).collect();
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
        let at = record.as_ref().and_then(|record| Time::read(&record.timestamp).or_else(|| Id::read(&record.id).map(|id| id.time())));
        // What cannot be read comes last, where a torn line would stand.
        Self { at: at.map_or(i64::MAX, Time::as_ms), id: record.map(|record| record.id), text }
    }
}

/// The lines without their ends, without blank ones and without git's markers.
fn lines_of(text: &[u8]) -> Vec<&[u8]> {
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    let lines = text.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    lines.filter(|line| !line.trim_ascii().is_empty() && !super::conflict::is_marker(line)).collect()
}
