//! A policy file into a patch: what is understood counts, what is not is a
//! mistake with its place and, where one is near, the word that was meant.

use twining_model::{limits, text};

use crate::governance::gates::Percent;
use crate::governance::modes::Ceremony;
use crate::governance::policy::mistake::{Mistake, nearest};
use crate::governance::policy::patch::{Cell, GatePatch, HARDEST, ListPatch, ModePatch, Patch, RolePatch};
use crate::governance::policy::source::{Layer, Source, Sourced};
use crate::governance::yaml::{self, Key, Node, Spot, Value};
use crate::words;

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
        reader.mistake(broken.at, format!("this is no YAML: {}", broken.why), None);
    }
    let mut patch = Patch::default();
    for (key, node) in unique(&entries, &mut reader) {
        match (key.name.as_str(), dialect) {
            ("roles", _) | ("role_constraints", Dialect::GuardKit) => reader.roles(node, &mut patch),
            ("gates", _) | ("quality_gate_configs" | "quality_gates" | "profiles", Dialect::GuardKit) => reader.gates(node, &mut patch),
            ("modes", _) | ("implementation_modes", Dialect::GuardKit) => reader.modes(node, &mut patch),
            // Theirs to read, not ours: rules that block live in another room.
            ("guards" | "version", _) => {}
            (name, _) => {
                let renamed = match name {
                    "role_constraints" => Some("roles"),
                    "quality_gate_configs" => Some("gates"),
                    "implementation_modes" => Some("modes"),
                    name => nearest(name, ["roles", "gates", "modes", "guards"]),
                };
                reader.unknown(key, "a part of a policy", renamed, "roles, gates, modes and guards");
            }
        }
    }
    reader.mistakes.sort_by_key(|mistake| (mistake.line, mistake.column));
    (patch, reader.mistakes)
}

struct Reader<'f> {
    file: &'f str,
    layer: Layer,
    mistakes: Vec<Mistake>,
}

/// The entries of a map, each key once: of two the later counts, and is said so.
fn unique<'n>(entries: &'n [(Key, Node)], reader: &mut Reader<'_>) -> Vec<&'n (Key, Node)> {
    let mut kept: Vec<&(Key, Node)> = Vec::new();
    for entry in entries {
        if let Some(at) = kept.iter().position(|known| known.0.name == entry.0.name) {
            let name = text::excerpt(&entry.0.name, 40);
            reader.mistake(entry.0.at, format!("`{name}` stands twice; this one counts"), None);
            kept.remove(at);
        }
        kept.push(entry);
    }
    kept
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
                            nearest(&key.name, LISTS),
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
                    let suggestion = nearest(name, GATE_KEYS);
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
                    name => self.unknown(&key, "a value of a mode", nearest(name, MODE_KEYS), &MODE_KEYS[..6].join(", ")),
                }
            }
            patch.modes.insert(name, mode);
        }
    }

    fn map(&mut self, node: &Node, wanted: &str) -> Vec<(Key, Node)> {
        match &node.value {
            Value::Map(entries) => unique(entries, self).into_iter().cloned().collect(),
            Value::Nothing => Vec::new(),
            other => {
                self.wrong(node.at, &format!("{wanted} are wanted"), other);
                Vec::new()
            }
        }
    }

    fn list(&mut self, node: &Node, adds: bool, list: &mut ListPatch) {
        let mut items: Vec<Sourced<String>> = Vec::new();
        let nodes = match &node.value {
            Value::List(nodes) => nodes.as_slice(),
            Value::Nothing => &[],
            _ => std::slice::from_ref(node),
        };
        if nodes.len() > limits::LIST {
            self.mistake(node.at, format!("a list may have at most {} items; the others are left out", limits::LIST), None);
        }
        for node in nodes.iter().take(limits::LIST) {
            let Some(item) = self.text(node) else { continue };
            if !items.iter().any(|known| known.value == item) {
                items.push(Sourced { value: item, source: self.source(node.at) });
            }
        }
        if adds {
            list.added = items;
        } else {
            list.replaced = Some(items);
        }
    }

    /// A text on one line that nothing hides in: it may end up in a prompt.
    fn text(&mut self, node: &Node) -> Option<String> {
        let given = match &node.value {
            Value::Text(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Bool(flag) => flag.to_string(),
            other => {
                self.wrong(node.at, "text is wanted", other);
                return None;
            }
        };
        let clean = words::fold(&text::visible(&given));
        if clean.is_empty() {
            self.mistake(node.at, "the text is empty".to_owned(), None);
            return None;
        }
        if clean.len() > limits::ELEMENT_BYTES {
            self.mistake(node.at, format!("the text has {} bytes, and at most {} are read", clean.len(), limits::ELEMENT_BYTES), None);
            return None;
        }
        Some(clean)
    }

    fn sourced_text(&mut self, node: &Node) -> Option<Sourced<String>> {
        self.text(node).map(|value| Sourced { value, source: self.source(node.at) })
    }

    fn name(&mut self, key: &Key, plain: impl Fn(&str) -> String) -> Option<String> {
        let name = words::fold(&text::visible(&plain(&key.name)));
        if name.is_empty() || name.len() > limits::TAG_BYTES {
            self.mistake(key.at, format!("a name has 1 to {} bytes", limits::TAG_BYTES), None);
            return None;
        }
        Some(name)
    }

    fn flag(&mut self, node: &Node) -> Option<Sourced<bool>> {
        match &node.value {
            Value::Bool(value) => Some(Sourced { value: *value, source: self.source(node.at) }),
            other => {
                self.wrong(node.at, "`true` or `false` is wanted", other);
                None
            }
        }
    }

    fn percent(&mut self, node: &Node) -> Option<Sourced<Percent>> {
        let given = match &node.value {
            Value::Number(number) => Some(*number),
            // With the sign it is a percentage, however small.
            Value::Text(text) => text
                .trim()
                .strip_suffix('%')
                .and_then(|digits| digits.trim().parse().ok())
                .map(|number: f64| if number <= 1.0 { number / 100.0 } else { number }),
            _ => None,
        };
        match given.and_then(Percent::read) {
            Some(value) => Some(Sourced { value, source: self.source(node.at) }),
            None => {
                self.wrong(node.at, "a coverage between 0 and 1, or in percent up to 100, is wanted", &node.value);
                None
            }
        }
    }

    fn score(&mut self, node: &Node) -> Option<Sourced<u8>> {
        match &node.value {
            Value::Number(number) if (0.0..=100.0).contains(number) && number.fract() == 0.0 =>
            {
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be a whole number up to 100")]
                Some(Sourced { value: *number as u8, source: self.source(node.at) })
            }
            other => {
                self.wrong(node.at, "a whole number from 0 to 100 is wanted", other);
                None
            }
        }
    }

    fn ceremony(&mut self, node: &Node) -> Option<Sourced<Ceremony>> {
        let given = self.text(node)?;
        match Ceremony::read(&given.to_lowercase()) {
            Some(value) => Some(Sourced { value, source: self.source(node.at) }),
            None => {
                let known = Ceremony::ALL.map(Ceremony::as_str);
                let suggestion = nearest(&given, known).map(|word| format!("did you mean `{word}`?"));
                self.mistake(
                    node.at,
                    format!("`{}` is no ceremony; it is one of {}", text::excerpt(&given, 40), known.join(", ")),
                    suggestion,
                );
                None
            }
        }
    }

    /// `[4, 6]`, `4-6` or a single complexity.
    fn range(&mut self, node: &Node) -> Option<(u8, u8)> {
        let ends: Option<(f64, f64)> = match &node.value {
            Value::Number(one) => Some((*one, *one)),
            Value::List(ends) => match ends.as_slice() {
                [Node { value: Value::Number(low), .. }, Node { value: Value::Number(high), .. }] => Some((*low, *high)),
                _ => None,
            },
            Value::Text(text) => text.split_once('-').and_then(|(low, high)| Some((low.trim().parse().ok()?, high.trim().parse().ok()?))),
            _ => None,
        };
        let legal = 1.0..=f64::from(HARDEST);
        match ends {
            Some((low, high)) if low > high && legal.contains(&low) && legal.contains(&high) => {
                self.mistake(node.at, "the range runs backwards".to_owned(), Some(format!("write [{high}, {low}]")));
                None
            }
            Some((low, high)) if [low, high].iter().all(|end| legal.contains(end) && end.fract() == 0.0) =>
            {
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be whole numbers up to 10")]
                Some((low as u8, high as u8))
            }
            _ => {
                self.mistake(node.at, format!("a range within 1 and {HARDEST} is wanted"), Some("write it as [4, 6]".to_owned()));
                None
            }
        }
    }

    fn unknown(&mut self, key: &Key, what: &str, suggestion: Option<&str>, known: &str) {
        let name = text::excerpt(&key.name, 40);
        let suggestion = suggestion.map_or_else(|| format!("known are {known}"), |word| format!("did you mean `{word}`?"));
        self.mistake(key.at, format!("`{name}` is not {what}"), Some(suggestion));
    }

    fn wrong(&mut self, at: Spot, wanted: &str, found: &Value) {
        self.mistake(at, format!("{wanted}, and {} stands here", found.kind()), None);
    }

    fn mistake(&mut self, at: Spot, message: String, suggestion: Option<String>) {
        // A file of nothing but mistakes must not become an answer of nothing but mistakes.
        if self.mistakes.len() < limits::TAGS {
            self.mistakes.push(Mistake { file: self.file.to_owned(), line: at.line, column: at.column, message, suggestion });
        }
    }

    fn source(&self, at: Spot) -> Source {
        Source { layer: self.layer, line: Some(at.line) }
    }
}

fn without_additions(key: &str) -> (&str, bool) {
    key.strip_suffix("_additions").map_or((key, false), |plain| (plain, true))
}

/// The one spelling of a task type or mode: `Bug-fix` is `bug_fix`.
pub(crate) fn word(given: &str) -> String {
    given.trim().to_lowercase().replace(['-', ' '], "_")
}
