//! Entries that an archive took off the board: they have left, and are not gone.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value};

use super::values::text;
use crate::format::array;

/// What the archives of a tree account for.
#[derive(Default)]
pub(super) struct ArchiveIndex {
    /// Entries that stand in an archive file of the tree.
    ids: HashSet<String>,
    /// Entries that summaries on the board speak of, by type.
    counts: BTreeMap<String, usize>,
    /// The same where a summary gives only their number.
    unlisted: usize,
}

impl ArchiveIndex {
    /// Takes in an archive file.
    pub(super) fn read_file(&mut self, bytes: &[u8]) {
        let lines = bytes.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok());
        self.ids.extend(lines.filter_map(|line| array::id_of(line.trim())));
    }

    /// Takes in an entry, if it is the summary of an archive: "Archive: 4 entries
    /// archived", with "4 entries archived: 3 finding, 1 status." in its detail.
    pub(super) fn read_summary(&mut self, entry: &Map<String, Value>) {
        let is_archive = entry.get("tags").and_then(Value::as_array).is_some_and(|tags| tags.iter().any(|tag| tag == "archive"));
        if !is_archive || text(entry, "entry_type") != "finding" {
            return;
        }
        let first = text(entry, "detail").lines().next().unwrap_or_default();
        let listed = first.split_once(':').map(|(_, listed)| listed).unwrap_or_default();
        let counted = |part: &str| -> Option<(String, usize)> {
            let (count, kind) = part.trim().trim_end_matches('.').split_once(' ')?;
            Some((kind.to_owned(), count.parse().ok()?))
        };
        let by_type: Vec<(String, usize)> = listed.split(',').filter_map(counted).collect();
        if by_type.is_empty() {
            let number = text(entry, "summary").split_whitespace().find_map(|word| word.parse::<usize>().ok());
            self.unlisted += number.unwrap_or_default();
        }
        for (kind, count) in by_type {
            *self.counts.entry(kind).or_default() += count;
        }
    }

    /// Whether an entry that is no longer on the board was archived. Each count is used up.
    pub(super) fn accounts_for(&mut self, id: &str, entry: &Map<String, Value>) -> bool {
        let kind = text(entry, "entry_type");
        if self.ids.contains(id) {
            return true;
        }
        // Decisions are never archived.
        if kind == "decision" {
            return false;
        }
        let remaining = match self.counts.get_mut(kind) {
            Some(remaining) if *remaining > 0 => remaining,
            _ => &mut self.unlisted,
        };
        let is_counted = *remaining > 0;
        *remaining = remaining.saturating_sub(1);
        is_counted
    }
}
