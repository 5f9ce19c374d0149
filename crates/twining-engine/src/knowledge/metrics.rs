//! Metrics: what knowledge is used for and what it costs, on this machine only.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_model::limits;

/// Something worth counting.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum MetricEvent {
    /// A pack was handed out.
    Pack { story_id: Option<String>, nodes: usize, bytes: usize, ms: u64, cached: bool },
    /// The graph was edited.
    Update {
        story_id: Option<String>,
        nodes_added: usize,
        nodes_changed: usize,
        nodes_removed: usize,
        edges: usize,
    },
    /// A review was prepared.
    Review { story_id: Option<String>, kind: String, knowledge_modified: bool, nodes_added: usize },
    /// Two versions were merged.
    Merge { clashes: usize },
}

/// What was counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct KnowledgeMetrics {
    /// Packs that were made.
    pub packs_built: u64,
    /// Packs that were reused.
    pub packs_reused: u64,
    /// Nodes of the largest pack.
    pub largest_pack_nodes: usize,
    /// Bytes of the largest pack.
    pub largest_pack_bytes: usize,
    /// Median time to make a pack, in milliseconds.
    pub median_pack_ms: u64,
    /// How long the slowest took.
    pub slowest_pack_ms: u64,
    /// Edits of the graph.
    pub knowledge_changes: u64,
    /// Nodes that edits added.
    pub nodes_added: u64,
    /// Reviews that were prepared.
    pub reviews: u64,
    /// Merges by our driver.
    pub merges: u64,
    /// Merges that left conflicts to people.
    pub merges_with_conflicts: u64,
    /// By story.
    pub stories: BTreeMap<String, StoryMetrics>,
}

/// What was counted for one story.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StoryMetrics {
    /// Packs handed out.
    pub packs: u64,
    /// Reviews prepared (review rounds).
    pub reviews: u64,
    /// Edits of the graph.
    pub knowledge_changes: u64,
    /// Nodes added to the graph.
    pub nodes_added: u64,
}

impl KnowledgeMetrics {
    /// Adds up the lines; one that cannot be read is passed over.
    pub(super) fn of(lines: &[String]) -> Self {
        let mut metrics = Self::default();
        let mut times = Vec::new();
        for event in lines.iter().filter_map(|line| serde_json::from_str::<MetricEvent>(line).ok())
        {
            metrics.add(event, &mut times);
        }
        times.sort_unstable();
        metrics.median_pack_ms = times.get(times.len() / 2).copied().unwrap_or_default();
        metrics.slowest_pack_ms = times.last().copied().unwrap_or_default();
        metrics
    }

    fn add(&mut self, event: MetricEvent, times: &mut Vec<u64>) {
        match event {
            MetricEvent::Pack { story_id, nodes, bytes, ms, cached } => {
                if cached {
                    self.packs_reused += 1;
                } else {
                    self.packs_built += 1;
                    times.push(ms);
                }
                self.largest_pack_nodes = self.largest_pack_nodes.max(nodes);
                self.largest_pack_bytes = self.largest_pack_bytes.max(bytes);
                self.story(story_id, |story| story.packs += 1);
            }
            MetricEvent::Update { story_id, nodes_added, .. } => {
                self.knowledge_changes += 1;
                self.nodes_added += nodes_added as u64;
                self.story(story_id, |story| {
                    story.knowledge_changes += 1;
                    story.nodes_added += nodes_added as u64;
                });
            }
            MetricEvent::Review { story_id, .. } => {
                self.reviews += 1;
                self.story(story_id, |story| story.reviews += 1);
            }
            MetricEvent::Merge { clashes } => {
                self.merges += 1;
                self.merges_with_conflicts += u64::from(clashes > 0);
            }
        }
    }

    fn story(&mut self, id: Option<String>, count: impl FnOnce(&mut StoryMetrics)) {
        let Some(id) = id else { return };
        if self.stories.len() < limits::PAGE || self.stories.contains_key(&id) {
            count(self.stories.entry(id).or_default());
        }
    }
}
