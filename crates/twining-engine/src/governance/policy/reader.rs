//! A policy file into a patch: what is understood counts, what is not is a
//! mistake with its place and, where one is near, the word that was meant.

use std::collections::HashMap;

use twining_model::text;

use crate::governance::policy::patch::{Cell, GatePatch, HARDEST, ModePatch, Patch, RolePatch};
use crate::knowledge::advice::meant;
use twining_guard::policy::mistake::Mistake;
use twining_guard::policy::source::{Layer, Sourced};
use twining_guard::policy::yaml::{self, Key, Node, Value};

/// Whose words the top-level keys are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// `policy.yml`.
    Twining,
    /// GuardKit's `entity-overrides.yaml` and `quality-gates.yaml`.
    GuardKit,
}

/// Reads a policy file.
pub(crate) fn read(text: &str, file: &str, layer: Layer, dialect: Dialect) -> (Patch, Vec<Mistake>) {
    let (entries, broken) = yaml::read(text);
    let mut reader = Reader { file, layer, mistakes: Vec::new() };
    for broken in broken {
        reader.mistake(broken.at, format!("this cannot be read: {}", broken.why), None);
    }
    let mut patch = Patch::default();
    for (key, node) in unique(&entries, &mut reader) {
        match (key.name.as_str(), dialect) {
            ("roles", _) | ("role_constraints", Dialect::GuardKit) => reader.roles(node, &mut patch),
            ("gates", _) | ("quality_gate_configs" | "quality_gates" | "profiles", Dialect::GuardKit) => reader.gates(node, &mut patch),
            ("modes", _) | ("implementation_modes", Dialect::GuardKit) => reader.modes(node, &mut patch),
            (OVERRIDES, Dialect::Twining) => patch.confirmed_overrides = reader.is_confirmed(node),
            // Read by the guards.
            ("guards" | "version" | "on_unreadable", _) => {}
            (name, _) => {
                let renamed = match name {
                    "role_constraints" => Some("roles"),
                    "quality_gate_configs" => Some("gates"),
                    "implementation_modes" => Some("modes"),
                    name => meant("policy", name, &["roles", "gates", "modes", "guards", OVERRIDES]),
                };
                reader.unknown(key, "a part of a policy", renamed, "roles, gates, modes, guards and overrides");
            }
        }
    }
    reader.mistakes.sort_by_key(|mistake| (mistake.line, mistake.column));
    (patch, reader.mistakes)
}

/// The part that says what an override needs.
const OVERRIDES: &str = "overrides";

/// A file that is being read. How single values are read is in `values.rs`.
pub(super) struct Reader<'f> {
    pub(super) file: &'f str,
    pub(super) layer: Layer,
    pub(super) mistakes: Vec<Mistake>,
}

/// The entries of a map, each key once: of two the later counts, and is said so.
pub(super) fn unique<'n>(entries: &'n [(Key, Node)], reader: &mut Reader<'_>) -> Vec<&'n (Key, Node)> {
    let mut last: HashMap<&str, usize> = HashMap::new();
    for (at, (key, _)) in entries.iter().enumerate() {
        if last.insert(&key.name, at).is_some() {
            let name = text::excerpt(&key.name, 40);
            reader.mistake(key.at, format!("`{name}` stands twice; this one counts"), None);
        }
    }
    entries.iter().enumerate().filter(|(at, (key, _))| last.get(key.name.as_str()) == Some(at)).map(|(_, entry)| entry).collect()
}

const LISTS: [&str; 8] = [
    "must_do",
    "must_not_do",
    "ask_before",
    "escalate_when",
    "must_do_additions",
    "must_not_do_additions",
    "ask_before_additions",
    "escalate_when_additions",
];

const GATE_KEYS: [&str; 10] = [
    "complexity_range",
    "arch_review_required",
    "arch_review_threshold",
    "coverage_required",
    "coverage_threshold",
    "tests_required",
    "tests_must_pass",
    "task_type",
    "overrides",
    "profiles",
];

const MODE_KEYS: [&str; 9] = [
    "ceremony_level",
    "complexity_range",
    "invocation_method",
    "result_location_pattern",
    "state_recovery_strategy",
    "when_to_use",
    "when_to_use_additions",
    "pitfalls",
    "pitfalls_additions",
];

impl Reader<'_> {
    fn roles(&mut self, node: &Node, patch: &mut Patch) {
        for (key, node) in self.map(node, "role names, such as `coach:`") {
            let Some(name) = self.name(&key, |name| name.trim().to_lowercase()) else { continue };
            let mut role = RolePatch::default();
            for (key, node) in self.map(&node, "lists such as `must_do:`") {
                let (plain, adds) = without_additions(&key.name);
                let list = match plain {
                    "must_do" => &mut role.must_do,
                    "must_not_do" => &mut role.must_not_do,
                    "ask_before" => &mut role.ask_before,
                    "escalate_when" => &mut role.escalate_when,
                    "entity_type" | "role" => continue,
                    _ => {
                        self.unknown(
                            &key,
                            "a list of a role",
                            meant("role", &key.name, &LISTS),
                            "must_do, must_not_do, ask_before, escalate_when",
                        );
                        continue;
                    }
                };
                self.list(&node, adds, list);
            }
            patch.roles.insert(name, role);
        }
    }

    fn gates(&mut self, node: &Node, patch: &mut Patch) {
        // A list of profiles that each name their task type, as another tool seeds them.
        if let Value::List(profiles) = &node.value {
            for profile in profiles {
                let Value::Map(entries) = &profile.value else {
                    self.wrong(profile.at, "a profile is a map", &profile.value);
                    continue;
                };
                let Some((_, task_type)) = entries.iter().find(|(key, _)| key.name == "task_type") else {
                    self.mistake(profile.at, "the profile names no `task_type`".to_owned(), None);
                    continue;
                };
                let Some(name) = self.text(task_type).map(|name| word(&name)) else { continue };
                let gate = patch.gates.entry(name).or_default();
                self.profile(profile, gate);
            }
            return;
        }
        for (key, node) in self.map(node, "task types, such as `feature:`") {
            let Some(name) = self.name(&key, word) else { continue };
            let mut gate = GatePatch::default();
            self.profile(&node, &mut gate);
            if let Value::Map(entries) = &node.value {
                for (_, nested) in entries.iter().filter(|(key, _)| matches!(key.name.as_str(), "overrides" | "profiles")) {
                    match &nested.value {
                        Value::List(profiles) => profiles.iter().for_each(|profile| self.profile(profile, &mut gate)),
                        Value::Nothing => {}
                        other => self.wrong(nested.at, "a list of profiles is wanted", other),
                    }
                }
            }
            let entry = patch.gates.remove(&name).unwrap_or_default();
            let merged = Patch { gates: [(name.clone(), entry)].into(), ..Patch::default() };
            let merged = merged.then(Patch { gates: [(name, gate)].into(), ..Patch::default() });
            patch.gates.extend(merged.gates);
        }
    }

    /// Reads one profile: its values, for its range or for every complexity.
    fn profile(&mut self, node: &Node, gate: &mut GatePatch) {
        let (mut cell, mut range, mut says) = (Cell::default(), Some((1, HARDEST)), false);
        for (key, node) in self.map(node, "values such as `coverage_threshold:`") {
            says |= !matches!(key.name.as_str(), "overrides" | "profiles" | "task_type");
            match key.name.as_str() {
                "complexity_range" => range = self.range(&node),
                "arch_review_required" => cell.arch_review_required = self.flag(&node),
                "arch_review_threshold" => cell.arch_review_threshold = self.score(&node),
                "coverage_required" => cell.coverage_required = self.flag(&node),
                "coverage_threshold" => cell.coverage_threshold = self.percent(&node),
                "tests_required" => cell.tests_required = self.flag(&node),
                "tests_must_pass" => cell.tests_must_pass = self.flag(&node),
                "overrides" | "profiles" | "task_type" | "entity_type" | "effective_from" => {}
                name => {
                    let suggestion = meant("gate", name, &GATE_KEYS);
                    self.unknown(&key, "a value of a gate", suggestion, &GATE_KEYS[..7].join(", "));
                }
            }
        }
        if let (true, Some((low, high))) = (says, range) {
            gate.say(low, high, &cell);
        }
    }

    fn modes(&mut self, node: &Node, patch: &mut Patch) {
        for (key, node) in self.map(node, "mode names, such as `direct:`") {
            let Some(name) = self.name(&key, word) else { continue };
            let mut mode = ModePatch::default();
            for (key, node) in self.map(&node, "values such as `when_to_use:`") {
                match key.name.as_str() {
                    "ceremony_level" => mode.ceremony_level = self.ceremony(&node),
                    "complexity_range" => {
                        mode.complexity_range = self.range(&node).map(|value| Sourced { value, source: self.source(node.at) });
                    }
                    "invocation_method" => mode.invocation_method = self.sourced_text(&node),
                    "result_location_pattern" => mode.result_location_pattern = self.sourced_text(&node),
                    "state_recovery_strategy" => mode.state_recovery_strategy = self.sourced_text(&node),
                    "when_to_use" | "when_to_use_additions" => {
                        self.list(&node, without_additions(&key.name).1, &mut mode.when_to_use);
                    }
                    "pitfalls" | "pitfalls_additions" => self.list(&node, without_additions(&key.name).1, &mut mode.pitfalls),
                    "entity_type" | "mode" => {}
                    name => self.unknown(&key, "a value of a mode", mode_key(name), &MODE_KEYS.join(", ")),
                }
            }
            patch.modes.insert(name, mode);
        }
    }
}

/// The value of a mode that was meant. Short words are not near enough to long ones.
fn mode_key(name: &str) -> Option<&'static str> {
    if name == "ceremony" { Some("ceremony_level") } else { meant("mode", name, &MODE_KEYS) }
}

fn without_additions(key: &str) -> (&str, bool) {
    key.strip_suffix("_additions").map_or((key, false), |plain| (plain, true))
}

/// The one spelling of a task type or mode: `Bug-fix` is `bug_fix`.
pub(crate) fn word(given: &str) -> String {
    given.trim().to_lowercase().replace(['-', ' '], "_")
}
