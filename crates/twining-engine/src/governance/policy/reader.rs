//! The layers of a policy: the compiled-in defaults, the user's file, the project's.
//!
//! Each file is read into a patch: what is understood counts, what is not is a
//! mistake with its place and, where one is near, the word that was meant.

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use serde_json::{Value as Json, json};
use twining_guard::policy::provenance::{Mistake, PolicyLayer, PolicySource, Sourced};
use twining_guard::policy::yaml::{self, YamlKey, YamlNode, YamlPosition, YamlValue};
use twining_guard::policy::{PROJECT_FILE, UserPolicy};
use twining_model::{limits, text};
use twining_store::TextFile;

use crate::fields;
use crate::governance::gates::Percent;
use crate::governance::modes::Ceremony;
use crate::governance::policy::overlay::{GatePatch, HARDEST, ListPatch, PolicyPatch, Settings};
use crate::suggestions::suggest;

/// The lowest layer, as the `policy.yml` that `seed` writes.
pub const DEFAULT_POLICY: &str = include_str!("defaults.yml");

static DEFAULTS: LazyLock<PolicyPatch> = LazyLock::new(|| {
    read(DEFAULT_POLICY, "defaults.yml", PolicyLayer::Default, Dialect::Twining).0
});

/// What a task type that a project adds asks for where it says nothing, which is
/// what a feature of middling complexity asks for: a new word must not be a way
/// around the gates.
pub(crate) fn strict() -> Settings {
    let feature = DEFAULTS.gates.get("feature").and_then(|gate| gate.at(5));
    feature.map(|(_, cell)| cell.clone()).unwrap_or_default()
}

/// What holds in a project.
#[derive(Clone, Debug, Default)]
pub struct GovernancePolicy {
    pub(crate) patch: PolicyPatch,
    /// What was wrong with the files; the rest of them holds.
    pub mistakes: Vec<Mistake>,
}

impl GovernancePolicy {
    /// Overlays the user's file on the defaults, and the project's on both.
    #[must_use]
    pub fn resolve(user: &UserPolicy, project: &TextFile) -> Self {
        let mut policy = Self { patch: DEFAULTS.clone(), mistakes: Vec::new() };
        policy.add_layer(PolicyLayer::User, &user.name, &user.file);
        policy.add_layer(PolicyLayer::Project, PROJECT_FILE, project);
        policy
    }

    /// Whether an override needs a person's word.
    #[must_use]
    pub fn wants_confirmed_overrides(&self) -> bool {
        self.patch.confirmed_overrides
    }

    fn add_layer(&mut self, layer: PolicyLayer, name: &str, file: &TextFile) {
        match file {
            TextFile::Missing => {}
            TextFile::Unusable(why) => self.mistakes.push(Mistake::whole(name, why)),
            TextFile::Text(text) => {
                let (patch, mistakes) = read(text, name, layer, Dialect::Twining);
                self.patch = std::mem::take(&mut self.patch).then(patch);
                self.mistakes.extend(mistakes);
            }
        }
    }
}

/// Whose words the top-level keys are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// `policy.yml`.
    Twining,
    /// GuardKit's `entity-overrides.yaml` and `quality-gates.yaml`.
    GuardKit,
}

/// Reads a policy file.
pub(crate) fn read(
    text: &str,
    file: &str,
    layer: PolicyLayer,
    dialect: Dialect,
) -> (PolicyPatch, Vec<Mistake>) {
    let (entries, broken) = yaml::read(text);
    let mut reader = PolicyReader { file, layer, mistakes: Vec::new() };
    for broken in broken {
        reader.mistake(broken.at, &format!("this cannot be read: {}", broken.why), None);
    }
    let mut patch = PolicyPatch::default();
    for (key, node) in unique(&entries, &mut reader) {
        match (key.name.as_str(), dialect) {
            ("roles", _) | ("role_constraints", Dialect::GuardKit) => {
                patch.roles.extend(reader.named(
                    node,
                    "role names, such as `coach:`",
                    &ROLE,
                    |name| name.trim().to_lowercase(),
                ));
            }
            ("gates", _)
            | ("quality_gate_configs" | "quality_gates" | "profiles", Dialect::GuardKit) => {
                reader.gates(node, &mut patch.gates);
            }
            ("modes", _) | ("implementation_modes", Dialect::GuardKit) => {
                patch.modes.extend(reader.named(
                    node,
                    "mode names, such as `direct:`",
                    &MODE,
                    word,
                ));
            }
            (OVERRIDES, Dialect::Twining) => patch.confirmed_overrides = reader.is_confirmed(node),
            // Read by the guards.
            ("guards" | "version" | "on_unreadable", _) => {}
            (name, _) => {
                let renamed = match name {
                    "role_constraints" => Some("roles"),
                    "quality_gate_configs" => Some("gates"),
                    "implementation_modes" => Some("modes"),
                    name => {
                        suggest("policy", name, &["roles", "gates", "modes", "guards", OVERRIDES])
                    }
                };
                reader.unknown(
                    key,
                    "a policy section",
                    renamed,
                    "roles, gates, modes, guards and overrides",
                );
            }
        }
    }
    reader.mistakes.sort_by_key(|mistake| (mistake.line, mistake.column));
    (patch, reader.mistakes)
}

/// The part that says what an override needs.
const OVERRIDES: &str = "overrides";

/// A file that is being read. How single values are read is in `values.rs`.
struct PolicyReader<'f> {
    file: &'f str,
    layer: PolicyLayer,
    mistakes: Vec<Mistake>,
}

/// The entries of a map without duplicate keys: the later one wins, and is reported.
fn unique<'n>(
    entries: &'n [(YamlKey, YamlNode)],
    reader: &mut PolicyReader<'_>,
) -> Vec<&'n (YamlKey, YamlNode)> {
    let mut last: HashMap<&str, usize> = HashMap::new();
    for (at, (key, _)) in entries.iter().enumerate() {
        if last.insert(&key.name, at).is_some() {
            let name = text::excerpt(&key.name, 40);
            reader.mistake(key.at, &format!("duplicate key `{name}`; this one is used"), None);
        }
    }
    entries
        .iter()
        .enumerate()
        .filter(|(at, (key, _))| last.get(key.name.as_str()) == Some(at))
        .map(|(_, entry)| entry)
        .collect()
}

/// Reads a value, or notes what is wrong with it.
type ReadValue = fn(&mut PolicyReader<'_>, &YamlNode) -> Option<Json>;

/// The keys of one part of a policy, and how each value is read.
struct Part {
    /// What a key is, for a mistake.
    what: &'static str,
    /// What is wanted where there is no map of them.
    wanted: &'static str,
    lists: &'static [&'static str],
    values: &'static [(&'static str, ReadValue)],
    /// Keys that are read elsewhere, or that another tool writes and that say nothing.
    skipped: &'static [&'static str],
}

const ROLE: Part = Part {
    what: "a role key",
    wanted: "lists such as `must_do:`",
    lists: &["must_do", "must_not_do", "ask_before", "escalate_when"],
    values: &[],
    skipped: &["entity_type", "role"],
};

const GATE: Part = Part {
    what: "a gate key",
    wanted: "values such as `coverage_threshold:`",
    lists: &[],
    values: &[
        (RANGE, |reader, node| reader.range(node)),
        ("arch_review_required", |reader, node| reader.flag(node)),
        ("arch_review_threshold", |reader, node| reader.score(node)),
        ("coverage_required", |reader, node| reader.flag(node)),
        ("coverage_threshold", |reader, node| reader.percent(node)),
        ("tests_required", |reader, node| reader.flag(node)),
        ("tests_must_pass", |reader, node| reader.flag(node)),
    ],
    skipped: &["task_type", "overrides", "profiles", "entity_type", "effective_from"],
};

const MODE: Part = Part {
    what: "a mode key",
    wanted: "values such as `when_to_use:`",
    lists: &["when_to_use", "pitfalls"],
    values: &[
        ("ceremony_level", |reader, node| reader.ceremony(node)),
        (RANGE, |reader, node| reader.range(node)),
        ("invocation_method", |reader, node| reader.text(node).map(Json::from)),
        ("result_location_pattern", |reader, node| reader.text(node).map(Json::from)),
        ("state_recovery_strategy", |reader, node| reader.text(node).map(Json::from)),
    ],
    skipped: &["entity_type", "mode"],
};

const RANGE: &str = "complexity_range";

/// Keys under a task type that hold no value of its own.
const NESTED: [&str; 3] = ["overrides", "profiles", "task_type"];

impl PolicyReader<'_> {
    /// Roles or modes by their names.
    fn named(
        &mut self,
        node: &YamlNode,
        wanted: &str,
        part: &Part,
        plain: fn(&str) -> String,
    ) -> BTreeMap<String, Settings> {
        let mut named = BTreeMap::new();
        for (key, node) in self.map(node, wanted) {
            if let Some(name) = self.name(key, plain) {
                named.insert(name, self.settings(node, part));
            }
        }
        named
    }

    fn gates(&mut self, node: &YamlNode, gates: &mut BTreeMap<String, GatePatch>) {
        // A list of profiles that each name their task type, as another tool seeds them.
        if let YamlValue::List(profiles) = &node.value {
            for profile in profiles {
                let YamlValue::Map(entries) = &profile.value else {
                    self.wrong(profile.at, "expected a map for the profile", &profile.value);
                    continue;
                };
                let Some((_, task_type)) = entries.iter().find(|(key, _)| key.name == "task_type")
                else {
                    self.mistake(profile.at, "the profile has no `task_type`", None);
                    continue;
                };
                if let Some(name) = self.text(task_type) {
                    self.profile(profile, gates.entry(word(&name)).or_default());
                }
            }
            return;
        }
        for (key, node) in self.map(node, "task types, such as `feature:`") {
            let Some(name) = self.name(key, word) else { continue };
            let gate = gates.entry(name).or_default();
            self.profile(node, gate);
            let YamlValue::Map(entries) = &node.value else { continue };
            for (_, nested) in entries
                .iter()
                .filter(|(key, _)| matches!(key.name.as_str(), "overrides" | "profiles"))
            {
                match &nested.value {
                    YamlValue::List(profiles) => {
                        profiles.iter().for_each(|profile| self.profile(profile, gate));
                    }
                    YamlValue::Nothing => {}
                    other => self.wrong(nested.at, "expected a list of profiles", other),
                }
            }
        }
    }

    /// Reads one profile: its values, for its range or for every complexity.
    fn profile(&mut self, node: &YamlNode, gate: &mut GatePatch) {
        let mut cell = self.settings(node, &GATE);
        let YamlValue::Map(entries) = &node.value else { return };
        let range = if entries.iter().any(|(key, _)| key.name == RANGE) {
            cell.range()
        } else {
            Some((1, HARDEST))
        };
        cell.values.remove(RANGE);
        let has_values = entries.iter().any(|(key, _)| !NESTED.contains(&key.name.as_str()));
        if let (true, Some((low, high))) = (has_values, range) {
            gate.set_range(low, high, &cell);
        }
    }

    fn settings(&mut self, node: &YamlNode, part: &Part) -> Settings {
        let mut settings = Settings::default();
        for (key, node) in self.map(node, part.wanted) {
            let name = key.name.as_str();
            let (plain, adds) =
                name.strip_suffix("_additions").map_or((name, false), |plain| (plain, true));
            if let Some(list) = part.lists.iter().find(|list| **list == plain) {
                self.list(node, adds, settings.lists.entry(list).or_default());
            } else if let Some((key, read)) = part.values.iter().find(|(key, _)| *key == name) {
                if let Some(value) = read(self, node) {
                    settings.values.insert(key, Sourced { value, source: self.source(node.at) });
                }
            } else if !part.skipped.contains(&name) {
                self.unknown_key(key, part);
            }
        }
        settings.lists.retain(|_, list| *list != ListPatch::default());
        settings
    }

    fn unknown_key(&mut self, key: &YamlKey, part: &Part) {
        let known: Vec<&str> =
            part.values.iter().map(|(key, _)| *key).chain(part.lists.iter().copied()).collect();
        let additions: Vec<String> =
            part.lists.iter().map(|list| format!("{list}_additions")).collect();
        let all: Vec<&str> = known
            .iter()
            .copied()
            .chain(additions.iter().map(String::as_str))
            .chain(part.skipped.iter().copied())
            .collect();
        // Short words are not near enough to long ones.
        let suggestion = if key.name == "ceremony" {
            Some("ceremony_level")
        } else {
            suggest("key", &key.name, &all)
        };
        self.unknown(key, part.what, suggestion, &known.join(", "));
    }
}

/// The one spelling of a task type or mode: `Bug-fix` is `bug_fix`.
pub(crate) fn word(given: &str) -> String {
    given.trim().to_lowercase().replace(['-', ' '], "_")
}

/// Maximum number of mistakes reported per file.
const MOST_MISTAKES: usize = 32;

impl PolicyReader<'_> {
    fn map<'n>(&mut self, node: &'n YamlNode, wanted: &str) -> Vec<&'n (YamlKey, YamlNode)> {
        match &node.value {
            YamlValue::Map(entries) => unique(entries, self),
            YamlValue::Nothing => Vec::new(),
            other => {
                self.wrong(node.at, &format!("expected {wanted}"), other);
                Vec::new()
            }
        }
    }

    /// A list of texts, or one text. A value that is neither leaves the list of the layer below as it is.
    fn list(&mut self, node: &YamlNode, adds: bool, list: &mut ListPatch) {
        let mut items: Vec<Sourced<String>> = Vec::new();
        let nodes = match &node.value {
            YamlValue::List(nodes) => nodes.as_slice(),
            YamlValue::Text(_) => std::slice::from_ref(node),
            YamlValue::Nothing => {
                let suggestion = Some("write `[]` for an empty list, or leave the line out");
                let message = "expected a list of texts, found nothing";
                return self.mistake(node.at, message, suggestion);
            }
            other => return self.wrong(node.at, "expected a list of texts", other),
        };
        if nodes.len() > limits::LIST {
            let most = limits::LIST;
            let message = format!("a list may have at most {most} items; the rest are ignored");
            self.mistake(node.at, &message, None);
        }
        for node in nodes.iter().take(limits::LIST) {
            let Some(item) = self.text(node) else { continue };
            if !items.iter().any(|known| known.value == item) {
                items.push(Sourced { value: item, source: self.source(node.at) });
            }
        }
        if adds {
            list.added = items;
        } else if nodes.is_empty() || !items.is_empty() {
            list.replaced = Some(items);
        }
    }

    /// Whether an override needs a person's word.
    fn is_confirmed(&mut self, node: &YamlNode) -> bool {
        match &node.value {
            YamlValue::Text(word) if word.trim() == "confirmed" => true,
            YamlValue::Text(word) if word.trim() == "claimed" => false,
            _ => {
                let message = "expected `confirmed` or `claimed`: the approval an override needs";
                self.mistake(node.at, message, Some("write confirmed or claimed"));
                false
            }
        }
    }

    /// A text on one line that nothing hides in: it may end up in a prompt.
    fn text(&mut self, node: &YamlNode) -> Option<String> {
        let given = match &node.value {
            YamlValue::Text(text) => text.clone(),
            YamlValue::Number(number) => number.to_string(),
            YamlValue::Bool(flag) => flag.to_string(),
            other => {
                self.wrong(node.at, "expected text", other);
                return None;
            }
        };
        let clean = fields::fold(&text::visible(&given));
        if clean.is_empty() {
            self.mistake(node.at, "the text is empty", None);
            return None;
        }
        if clean.len() > limits::ELEMENT_BYTES {
            let (bytes, most) = (clean.len(), limits::ELEMENT_BYTES);
            let message = format!("the text has {bytes} bytes; the limit is {most}");
            self.mistake(node.at, &message, None);
            return None;
        }
        Some(clean)
    }

    fn name(&mut self, key: &YamlKey, plain: fn(&str) -> String) -> Option<String> {
        let name = fields::fold(&text::visible(&plain(&key.name)));
        if name.is_empty() || name.len() > limits::TAG_BYTES {
            let message = format!("a name must have 1 to {} bytes", limits::TAG_BYTES);
            self.mistake(key.at, &message, None);
            return None;
        }
        Some(name)
    }

    fn flag(&mut self, node: &YamlNode) -> Option<Json> {
        let flag =
            if let YamlValue::Bool(flag) = node.value { Some(Json::from(flag)) } else { None };
        self.wanted(node, "expected `true` or `false`", flag)
    }

    fn percent(&mut self, node: &YamlNode) -> Option<Json> {
        let given = match &node.value {
            YamlValue::Number(number) => Some(*number),
            // With the sign it is a percentage, however small.
            YamlValue::Text(text) => text
                .trim()
                .strip_suffix('%')
                .and_then(|digits| digits.trim().parse().ok())
                .map(|number: f64| if number <= 1.0 { number / 100.0 } else { number }),
            _ => None,
        };
        let share = given.and_then(Percent::read).map(|share| Json::from(share.fraction()));
        self.wanted(node, "expected a coverage from 0 to 1, or a percentage up to 100", share)
    }

    fn score(&mut self, node: &YamlNode) -> Option<Json> {
        let score =
            if let YamlValue::Number(number) = node.value { whole(number, 0, 100) } else { None };
        self.wanted(node, "expected a whole number from 0 to 100", score.map(Json::from))
    }

    fn ceremony(&mut self, node: &YamlNode) -> Option<Json> {
        let given = self.text(node)?;
        let level = Ceremony::read(&given.to_lowercase());
        if level.is_none() {
            let known = Ceremony::ALL.map(Ceremony::as_str);
            let suggestion =
                suggest("ceremony", &given, &known).map(|word| format!("did you mean `{word}`?"));
            let message = format!(
                "`{}` is not a ceremony level; use one of {}",
                text::excerpt(&given, 40),
                known.join(", ")
            );
            self.mistake(node.at, &message, suggestion.as_deref());
        }
        level.map(|level| Json::from(level.as_str()))
    }

    /// `[4, 6]`, `4-6` or a single complexity.
    fn range(&mut self, node: &YamlNode) -> Option<Json> {
        let ends: Option<(f64, f64)> = match &node.value {
            YamlValue::Number(one) => Some((*one, *one)),
            YamlValue::List(ends) => match ends.as_slice() {
                [
                    YamlNode { value: YamlValue::Number(low), .. },
                    YamlNode { value: YamlValue::Number(high), .. },
                ] => Some((*low, *high)),
                _ => None,
            },
            YamlValue::Text(text) => text.split_once('-').and_then(|(low, high)| {
                Some((low.trim().parse().ok()?, high.trim().parse().ok()?))
            }),
            _ => None,
        };
        match ends.and_then(|(low, high)| Some((whole(low, 1, HARDEST)?, whole(high, 1, HARDEST)?)))
        {
            Some((low, high)) if low <= high => return Some(json!([low, high])),
            Some((low, high)) => {
                let suggestion = format!("write [{high}, {low}]");
                self.mistake(node.at, "the range runs backwards", Some(&suggestion));
            }
            None => {
                let message = format!("expected a range within 1 to {HARDEST}");
                self.mistake(node.at, &message, Some("write it as [4, 6]"));
            }
        }
        None
    }

    fn unknown(&mut self, key: &YamlKey, what: &str, suggestion: Option<&str>, known: &str) {
        let name = text::excerpt(&key.name, 40);
        let suggestion = suggestion
            .map_or_else(|| format!("known: {known}"), |word| format!("did you mean `{word}`?"));
        self.mistake(key.at, &format!("`{name}` is not {what}"), Some(&suggestion));
    }

    /// The value, or a mistake that says what is wanted.
    fn wanted<T>(&mut self, node: &YamlNode, wanted: &str, value: Option<T>) -> Option<T> {
        if value.is_none() {
            self.wrong(node.at, wanted, &node.value);
        }
        value
    }

    fn wrong(&mut self, at: YamlPosition, wanted: &str, found: &YamlValue) {
        self.mistake(at, &format!("{wanted}, found {}", found.kind()), None);
    }

    fn mistake(&mut self, at: YamlPosition, message: &str, suggestion: Option<&str>) {
        // A file of nothing but mistakes must not become an answer of nothing but mistakes.
        if self.mistakes.len() < MOST_MISTAKES {
            self.mistakes.push(Mistake {
                file: self.file.to_owned(),
                line: at.line,
                column: at.column,
                message: message.to_owned(),
                suggestion: suggestion.map(str::to_owned),
            });
        }
    }

    fn source(&self, at: YamlPosition) -> PolicySource {
        match self.layer {
            PolicyLayer::Default => PolicySource::DEFAULT,
            layer => PolicySource { layer, line: Some(at.line), column: Some(at.column) },
        }
    }
}

/// A whole number between these.
fn whole(number: f64, low: u8, high: u8) -> Option<u8> {
    let is_whole = number.fract() == 0.0 && (f64::from(low)..=f64::from(high)).contains(&number);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be whole and between two bytes"
    )]
    is_whole.then_some(number as u8)
}
