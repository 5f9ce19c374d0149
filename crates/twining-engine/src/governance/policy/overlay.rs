//! Patches: what one layer says, and how one lies over another.
//!
//! [`Patch::then`] is associative and idempotent; `tests.rs` holds it to that.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use twining_guard::policy::provenance::{PolicySource, Sourced};

/// Complexities run from 1 to this.
pub(crate) const HARDEST: u8 = 10;

/// What one layer, or several as one, says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PolicyPatch {
    pub(crate) roles: BTreeMap<String, Settings>,
    pub(crate) gates: BTreeMap<String, GatePatch>,
    pub(crate) modes: BTreeMap<String, Settings>,
    /// Whether an override needs a person's word. A layer can ask for it, and none can waive it.
    pub(crate) confirmed_overrides: bool,
}

impl PolicyPatch {
    /// This patch with a later one over it.
    pub(crate) fn then(mut self, later: Self) -> Self {
        self.confirmed_overrides |= later.confirmed_overrides;
        for (earlier, later) in [(&mut self.roles, later.roles), (&mut self.modes, later.modes)] {
            later
                .into_iter()
                .for_each(|(name, settings)| earlier.entry(name).or_default().overlay(settings));
        }
        later
            .gates
            .into_iter()
            .for_each(|(name, gate)| self.gates.entry(name).or_default().overlay(gate));
        self
    }
}

/// What a layer says of a role, of a mode, or of the gates at one complexity.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Settings {
    pub(crate) values: BTreeMap<&'static str, Sourced<Value>>,
    pub(crate) lists: BTreeMap<&'static str, ListPatch>,
}

impl Settings {
    /// Overlays later settings on these.
    pub(crate) fn overlay(&mut self, later: Self) {
        self.values.extend(later.values);
        later
            .lists
            .into_iter()
            .for_each(|(key, list)| self.lists.entry(key).or_default().overlay(list));
    }

    pub(crate) fn value(&self, key: &str) -> Option<&Value> {
        self.values.get(key).map(|sourced| &sourced.value)
    }

    pub(crate) fn flag(&self, key: &str) -> Option<bool> {
        self.value(key)?.as_bool()
    }

    pub(crate) fn text(&self, key: &str) -> Option<String> {
        self.value(key)?.as_str().map(str::to_owned)
    }

    /// The complexities it is for.
    pub(crate) fn range(&self) -> Option<(u8, u8)> {
        serde_json::from_value(self.value("complexity_range")?.clone()).ok()
    }

    /// A list as it reads.
    pub(crate) fn list(&self, key: &str) -> Vec<String> {
        self.lists
            .get(key)
            .map(ListPatch::items)
            .unwrap_or_default()
            .into_iter()
            .map(|item| item.value.clone())
            .collect()
    }

    /// Where each value came from; for a list, each of its items in order.
    pub(crate) fn sources(&self) -> BTreeMap<String, Vec<PolicySource>> {
        let values = self.values.iter().map(|(key, value)| ((*key).to_owned(), vec![value.source]));
        let of_items =
            |list: &ListPatch| list.items().into_iter().map(|item| item.source).collect();
        values
            .chain(self.lists.iter().map(|(key, list)| ((*key).to_owned(), of_items(list))))
            .collect()
    }
}

/// A list that a layer replaces, extends, or both.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ListPatch {
    pub(crate) replaced: Option<Vec<Sourced<String>>>,
    pub(crate) added: Vec<Sourced<String>>,
}

impl ListPatch {
    fn overlay(&mut self, later: Self) {
        if later.replaced.is_some() {
            *self = later;
            return;
        }
        for item in later.added {
            if !self.added.iter().any(|known| known.value == item.value) {
                self.added.push(item);
            }
        }
    }

    /// The list as it reads, nothing in it twice.
    fn items(&self) -> Vec<&Sourced<String>> {
        let mut items: Vec<&Sourced<String>> = Vec::new();
        for item in self.replaced.iter().flatten().chain(&self.added) {
            if !items.iter().any(|known| known.value == item.value) {
                items.push(item);
            }
        }
        items
    }
}

/// A layer's gates for a task type: for each complexity, with the bounds of the ranges it defines.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct GatePatch {
    pub(crate) cells: [Option<Settings>; HARDEST as usize],
    /// Complexities at which a range begins, or the one before ended.
    pub(crate) cuts: BTreeSet<u8>,
}

impl GatePatch {
    /// Says this of every complexity from `low` to `high`.
    pub(crate) fn set_range(&mut self, low: u8, high: u8, cell: &Settings) {
        self.cuts.extend([low, high + 1]);
        for slot in &mut self.cells[usize::from(low) - 1..usize::from(high)] {
            slot.get_or_insert_default().overlay(cell.clone());
        }
    }

    /// The range around a complexity, and its settings.
    pub(crate) fn at(&self, complexity: u8) -> Option<((u8, u8), &Settings)> {
        let cell = self.cells.get(usize::from(complexity).checked_sub(1)?)?.as_ref()?;
        let low = self.cuts.range(..=complexity).next_back().copied().unwrap_or(1);
        let high = self.cuts.range(complexity + 1..).next().map_or(HARDEST, |next| next - 1);
        Some(((low, high), cell))
    }

    /// Every range with settings, from low to high.
    pub(crate) fn ranges(&self) -> Vec<((u8, u8), &Settings)> {
        let mut ranges: Vec<((u8, u8), &Settings)> =
            (1..=HARDEST).filter_map(|complexity| self.at(complexity)).collect();
        ranges.dedup_by_key(|(range, _)| *range);
        ranges
    }

    /// The range without settings around this complexity.
    pub(crate) fn gap_around(&self, complexity: u8) -> (u8, u8) {
        let silent = |complexity: &u8| self.at(*complexity).is_none();
        let low = (1..=complexity).rev().take_while(silent).last().unwrap_or(complexity);
        let high = (complexity..=HARDEST).take_while(silent).last().unwrap_or(complexity);
        (low, high)
    }

    fn overlay(&mut self, later: Self) {
        self.cuts.extend(later.cuts);
        for (slot, cell) in self.cells.iter_mut().zip(later.cells) {
            cell.into_iter().for_each(|cell| slot.get_or_insert_default().overlay(cell));
        }
    }
}
