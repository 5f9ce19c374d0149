//! Settings: `config.yml`, every key optional, nothing in it acted upon.
//!
//! The file comes with the repository and is untrusted: it may choose numbers
//! and names, and never a command, an address or a path to run.

use std::collections::BTreeMap;

use serde::Deserialize;
use twining_model::limits;

use crate::error::StoreError;
use crate::layout::{CONFIG, Layout};

/// The format version this program writes.
pub const VERSION: u32 = 1;

/// The settings of a project, with defaults for what it leaves out.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default)]
pub struct Config {
    /// Format version of the folder.
    pub version: u32,
    /// What to call the project; empty for the directory's name.
    pub project_name: String,
    /// When the board is tidied.
    pub archive: Archive,
    /// How context is put together.
    pub context_assembly: ContextAssembly,
    /// How records are searched.
    pub search: Search,
    /// Where reviewed knowledge is.
    pub knowledge: Knowledge,
    /// `human`: contradictions are shown to a person.
    pub conflict_resolution: String,
    /// Which tools are offered.
    pub tools: Tools,
    /// How features are worked through.
    pub workflow: Workflow,
    /// `shared` or `separate`: whether linked worktrees share one memory.
    pub worktrees: String,
    /// What was odd about the file, for `status`.
    #[serde(skip)]
    pub notes: Vec<String>,
}

/// When the board is tidied.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Archive {
    /// Whether a commit queues an archive.
    pub auto_archive_on_commit: bool,
    /// Whether an agent may archive when the task changes.
    pub auto_archive_on_context_switch: bool,
    /// From how many entries on `status` asks for an archive.
    pub max_blackboard_entries_before_archive: u64,
}

/// How context is put together.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default)]
pub struct ContextAssembly {
    /// The budget when none is given.
    pub default_max_tokens: u64,
    /// How much each signal counts; they sum to 1.
    pub priority_weights: BTreeMap<String, f64>,
}

/// How records are searched.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Search {
    /// Whether also by meaning, or by words alone.
    pub embeddings: bool,
    /// How long a question waits until every record can be found by its meaning.
    pub wait_ms: u64,
}

/// Where reviewed knowledge is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Knowledge {
    /// A DOT file in the project; empty for the usual places.
    pub path: String,
}

/// Which tools are offered.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Tools {
    /// `full`, `lite`, or groups.
    pub mode: String,
}

/// How features are worked through.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Workflow {
    /// Whether hooks drive the loop without being asked.
    pub auto: bool,
    /// After how many failed tests a feature waits for a person.
    pub max_test_failures: u32,
}

impl Default for Workflow {
    fn default() -> Self {
        Self { auto: false, max_test_failures: 2 }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            version: VERSION,
            project_name: String::new(),
            archive: Archive::default(),
            context_assembly: ContextAssembly::default(),
            search: Search::default(),
            knowledge: Knowledge::default(),
            conflict_resolution: "human".to_owned(),
            tools: Tools::default(),
            workflow: Workflow::default(),
            worktrees: "shared".to_owned(),
            notes: Vec::new(),
        }
    }
}

impl Default for Archive {
    fn default() -> Self {
        Self { auto_archive_on_commit: true, auto_archive_on_context_switch: true, max_blackboard_entries_before_archive: 500 }
    }
}

impl Default for ContextAssembly {
    fn default() -> Self {
        let weights = [("recency", 0.3), ("relevance", 0.4), ("decision_confidence", 0.2), ("warning_boost", 0.1)];
        Self { default_max_tokens: 4000, priority_weights: weights.map(|(name, weight)| (name.to_owned(), weight)).into() }
    }
}

impl Default for Search {
    fn default() -> Self {
        Self { embeddings: true, wait_ms: 10_000 }
    }
}

impl Default for Tools {
    fn default() -> Self {
        Self { mode: "full".to_owned() }
    }
}

impl Config {
    /// Reads the folder's settings. A broken file gives the defaults and a note;
    /// only a link or a device in its place is an error.
    pub fn load(layout: &Layout) -> Result<Self, StoreError> {
        let Some(handle) = layout.top.open(CONFIG)? else { return Ok(Self::default()) };
        match handle.read_all(limits::CONFIG_BYTES) {
            Ok(bytes) => Ok(Self::parse(&bytes)),
            Err(StoreError::Damaged { what }) => Ok(Self { notes: vec![format!("{what}; defaults are used")], ..Self::default() }),
            Err(error) => Err(error),
        }
    }

    /// Reads settings from YAML.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Self {
        let parsed = std::str::from_utf8(bytes)
            .map_err(|e| e.to_string())
            .and_then(|text| if text.trim().is_empty() { Ok(Self::default()) } else { from_yaml(text) });
        match parsed {
            Ok(mut config) => {
                config.normalise_weights();
                config
            }
            Err(why) => Self {
                // A version that cannot be read may be a newer one: do not write over it.
                version: version_line(bytes).unwrap_or(VERSION),
                notes: vec![format!("config.yml cannot be read and defaults are used: {}", twining_model::text::excerpt(&why, 200))],
                ..Self::default()
            },
        }
    }

    fn normalise_weights(&mut self) {
        let weights = &mut self.context_assembly.priority_weights;
        weights.retain(|_, weight| weight.is_finite() && *weight >= 0.0);
        let sum: f64 = weights.values().sum();
        if weights.is_empty() || sum <= 0.0 {
            *weights = ContextAssembly::default().priority_weights;
            self.notes.push("config.yml: priority_weights has no positive weight; defaults are used".to_owned());
        } else if (sum - 1.0).abs() > 0.01 {
            weights.values_mut().for_each(|weight| *weight /= sum);
            self.notes.push(format!("config.yml: priority_weights sum to {sum:.2}; they are scaled to 1"));
        }
    }
}

fn from_yaml(text: &str) -> Result<Config, String> {
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

/// The version as a line of its own, for a file whose rest does not parse. One
/// that is no number we know of can only be newer than ours.
fn version_line(bytes: &[u8]) -> Option<u32> {
    let text = String::from_utf8_lossy(bytes);
    let value = text.lines().find_map(|line| line.strip_prefix("version:")?.split('#').next())?;
    let value = value.trim().trim_matches(['"', '\'']);
    let whole = value.split('.').next().unwrap_or(value);
    Some(if whole.is_empty() { VERSION } else { whole.parse().unwrap_or(u32::MAX) })
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn an_empty_file_and_a_partial_one_get_the_defaults() {
        assert_eq!(Config::parse(b""), Config::default());
        let config = Config::parse(b"archive:\n  max_blackboard_entries_before_archive: 7\nfuture_key: {a: 1}\n");
        assert_eq!(config.archive.max_blackboard_entries_before_archive, 7);
        assert!(config.archive.auto_archive_on_commit);
    }

    #[test]
    fn weights_that_do_not_sum_to_one_are_scaled_and_said_so() {
        let config = Config::parse(b"context_assembly:\n  priority_weights: {recency: 1, relevance: 3}\n");
        assert_eq!(config.context_assembly.priority_weights["relevance"], 0.75);
        assert_eq!(config.notes.len(), 1);
    }

    #[test]
    fn a_newer_version_is_seen_even_when_the_rest_does_not_parse() {
        assert_eq!(Config::parse(b"version: 2\narchive: [what is this\n").version, 2);
        assert_eq!(Config::parse(b"version: 2.0\n").version, 2);
        assert_eq!(Config::parse(b"version: 1.0\n").version, 1);
        assert_eq!(Config::parse(b"version:\narchive: [\n").version, VERSION);
        for odd in ["v2", "99999999999999999999"] {
            assert_eq!(Config::parse(format!("version: {odd}\n").as_bytes()).version, u32::MAX, "{odd}");
        }
    }

    #[test]
    fn hostile_yaml_is_an_error_and_not_a_bomb() {
        let mut bomb = String::from("a: &a [x,x,x,x,x,x,x,x,x]\n");
        for i in 0..9 {
            bomb.push_str(&format!("b{i}: &b{i} [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"));
        }
        let deep = "[".repeat(60_000);
        for hostile in
            [bomb.as_str(), deep.as_str(), "x: !!python/object/apply:os.system [ls]", "a: &a\n  <<: *a\n", "{", "\u{0}", "- - - : : :"]
        {
            let started = Instant::now();
            let config = Config::parse(hostile.as_bytes());
            assert!(started.elapsed() < Duration::from_secs(5));
            assert_eq!(config.archive, Archive::default());
        }
    }
}
