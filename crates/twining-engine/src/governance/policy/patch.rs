//! Patches: what one layer says, and how one lies over another.
//!
//! [`Patch::then`] is associative and idempotent; `tests.rs` holds it to that.

use std::collections::{BTreeMap, BTreeSet};

use crate::governance::gates::Percent;
use crate::governance::modes::Ceremony;
use twining_guard::policy::mistake::Mistake;
use twining_guard::policy::source::{Layer, Sourced};

/// Complexities run from 1 to this.
pub(crate) const HARDEST: u8 = 10;

/// What one layer, or several as one, says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Patch {
    pub(crate) roles: BTreeMap<String, RolePatch>,
    pub(crate) gates: BTreeMap<String, GatePatch>,
    pub(crate) modes: BTreeMap<String, ModePatch>,
    /// Whether an override needs a person's word. A layer can ask for it, and none can waive it.
    pub(crate) confirmed_overrides: bool,
}

impl Patch {
    /// This patch with a later one over it.
    pub(crate) fn then(mut self, later: Self) -> Self {
        self.confirmed_overrides |= later.confirmed_overrides;
        for (name, role) in later.roles {
            let earlier = self.roles.remove(&name).unwrap_or_default();
            self.roles.insert(name, earlier.then(role));
        }
        for (name, gate) in later.gates {
            let earlier = self.gates.remove(&name).unwrap_or_default();
            self.gates.insert(name, earlier.then(gate));
        }
        for (name, mode) in later.modes {
            let earlier = self.modes.remove(&name).unwrap_or_default();
            self.modes.insert(name, earlier.then(mode));
        }
        self
    }

    /// Thresholds that somebody set and that no gate asks for: it looks as if the
    /// bar were raised, and nothing has changed.
    pub(crate) fn idle_thresholds(&self, file_of: impl Fn(Layer) -> String) -> Vec<Mistake> {
        let mut mistakes: Vec<Mistake> = Vec::new();
        for (task_type, gate) in &self.gates {
            for cell in gate.cells.iter().filter_map(Option::as_ref) {
                let coverage = cell.coverage_threshold.as_ref().map(|threshold| threshold.source);
                let arch = cell.arch_review_threshold.as_ref().map(|threshold| threshold.source);
                let is_off = |required: &Option<Sourced<bool>>| required.as_ref().is_some_and(|required| !required.value);
                for (name, source, off) in
                    [("coverage", coverage, is_off(&cell.coverage_required)), ("arch_review", arch, is_off(&cell.arch_review_required))]
                {
                    let Some(source) = source.filter(|source| off && source.layer != Layer::Default) else { continue };
                    let mistake = Mistake {
                        file: file_of(source.layer),
                        line: source.line.unwrap_or(1),
                        column: source.column.unwrap_or(1),
                        message: format!("`{name}_threshold` has no effect: `{task_type}` does not require it"),
                        suggestion: Some(format!("add `{name}_required: true` beside it")),
                    };
                    if !mistakes.contains(&mistake) {
                        mistakes.push(mistake);
                    }
                }
            }
        }
        mistakes
    }
}

/// A list that a layer replaces, extends, or both.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ListPatch {
    pub(crate) replaced: Option<Vec<Sourced<String>>>,
    pub(crate) added: Vec<Sourced<String>>,
}

impl ListPatch {
    fn then(self, later: Self) -> Self {
        if later.replaced.is_some() {
            return later;
        }
        let mut added = self.added;
        for item in later.added {
            if !added.iter().any(|known| known.value == item.value) {
                added.push(item);
            }
        }
        Self { replaced: self.replaced, added }
    }

    /// The list as it reads, nothing in it twice.
    pub(crate) fn items(&self) -> Vec<Sourced<String>> {
        let mut items: Vec<Sourced<String>> = Vec::new();
        for item in self.replaced.iter().flatten().chain(&self.added) {
            if !items.iter().any(|known| known.value == item.value) {
                items.push(item.clone());
            }
        }
        items
    }
}

/// What a layer says of a role.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RolePatch {
    pub(crate) must_do: ListPatch,
    pub(crate) must_not_do: ListPatch,
    pub(crate) ask_before: ListPatch,
    pub(crate) escalate_when: ListPatch,
}

impl RolePatch {
    fn then(self, later: Self) -> Self {
        Self {
            must_do: self.must_do.then(later.must_do),
            must_not_do: self.must_not_do.then(later.must_not_do),
            ask_before: self.ask_before.then(later.ask_before),
            escalate_when: self.escalate_when.then(later.escalate_when),
        }
    }
}

/// What a layer says of the gates of a task type: for each complexity, and where
/// the ranges it speaks of begin and end.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct GatePatch {
    pub(crate) cells: [Option<Cell>; HARDEST as usize],
    /// Complexities at which a range begins, or the one before ended.
    pub(crate) cuts: BTreeSet<u8>,
}

impl GatePatch {
    /// Says this of every complexity from `low` to `high`.
    pub(crate) fn say(&mut self, low: u8, high: u8, cell: &Cell) {
        self.cuts.extend([low, high + 1]);
        for complexity in low..=high {
            let slot = &mut self.cells[usize::from(complexity) - 1];
            *slot = Some(slot.take().unwrap_or_default().then(cell.clone()));
        }
    }

    /// The range around a complexity, and what is said of it.
    pub(crate) fn at(&self, complexity: u8) -> Option<((u8, u8), &Cell)> {
        let cell = self.cells.get(usize::from(complexity).checked_sub(1)?)?.as_ref()?;
        let low = self.cuts.range(..=complexity).next_back().copied().unwrap_or(1);
        let high = self.cuts.range(complexity + 1..).next().map_or(HARDEST, |next| next - 1);
        Some(((low, high), cell))
    }

    /// Every range that something is said of, from low to high.
    pub(crate) fn ranges(&self) -> Vec<((u8, u8), &Cell)> {
        let mut ranges: Vec<((u8, u8), &Cell)> = Vec::new();
        for found in (1..=HARDEST).filter_map(|complexity| self.at(complexity)) {
            if ranges.last().is_none_or(|(range, _)| *range != found.0) {
                ranges.push(found);
            }
        }
        ranges
    }

    /// The complexities around this one of which nothing is said.
    pub(crate) fn gap_around(&self, complexity: u8) -> (u8, u8) {
        let silent = |complexity: &u8| self.at(*complexity).is_none();
        let low = (1..=complexity).rev().take_while(silent).last().unwrap_or(complexity);
        let high = (complexity..=HARDEST).take_while(silent).last().unwrap_or(complexity);
        (low, high)
    }

    fn then(mut self, later: Self) -> Self {
        self.cuts.extend(later.cuts);
        for (slot, cell) in self.cells.iter_mut().zip(later.cells) {
            if let Some(cell) = cell {
                *slot = Some(slot.take().unwrap_or_default().then(cell));
            }
        }
        self
    }
}

/// What a layer says of the gates at one complexity.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Cell {
    pub(crate) arch_review_required: Option<Sourced<bool>>,
    pub(crate) arch_review_threshold: Option<Sourced<u8>>,
    pub(crate) coverage_required: Option<Sourced<bool>>,
    pub(crate) coverage_threshold: Option<Sourced<Percent>>,
    pub(crate) tests_required: Option<Sourced<bool>>,
    pub(crate) tests_must_pass: Option<Sourced<bool>>,
}

impl Cell {
    /// This with a later one over it.
    pub(crate) fn then(self, later: Self) -> Self {
        Self {
            arch_review_required: later.arch_review_required.or(self.arch_review_required),
            arch_review_threshold: later.arch_review_threshold.or(self.arch_review_threshold),
            coverage_required: later.coverage_required.or(self.coverage_required),
            coverage_threshold: later.coverage_threshold.or(self.coverage_threshold),
            tests_required: later.tests_required.or(self.tests_required),
            tests_must_pass: later.tests_must_pass.or(self.tests_must_pass),
        }
    }
}

/// What a layer says of a mode.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ModePatch {
    pub(crate) ceremony_level: Option<Sourced<Ceremony>>,
    pub(crate) complexity_range: Option<Sourced<(u8, u8)>>,
    pub(crate) invocation_method: Option<Sourced<String>>,
    pub(crate) result_location_pattern: Option<Sourced<String>>,
    pub(crate) state_recovery_strategy: Option<Sourced<String>>,
    pub(crate) when_to_use: ListPatch,
    pub(crate) pitfalls: ListPatch,
}

impl ModePatch {
    fn then(self, later: Self) -> Self {
        Self {
            ceremony_level: later.ceremony_level.or(self.ceremony_level),
            complexity_range: later.complexity_range.or(self.complexity_range),
            invocation_method: later.invocation_method.or(self.invocation_method),
            result_location_pattern: later.result_location_pattern.or(self.result_location_pattern),
            state_recovery_strategy: later.state_recovery_strategy.or(self.state_recovery_strategy),
            when_to_use: self.when_to_use.then(later.when_to_use),
            pitfalls: self.pitfalls.then(later.pitfalls),
        }
    }
}
