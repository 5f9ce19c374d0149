//! A record as the audit sees it.

use std::collections::HashSet;

use twining_model::knowledge_vocabulary::Standing;
use twining_model::{AnchorEvent, AnchoredRecord, Decision, text};
use twining_store::{StoreError, View};

use crate::engine::Engine;
use crate::knowledge::KnowledgeGraph;
use crate::workflow::FeatureStatus;

/// Characters of a summary that are shown.
const SUMMARY: usize = 100;

/// A decision that binds, an entry that is open, a node that is current, or a feature that is done.
pub(super) struct AuditedRecord {
    /// Its kind and id.
    pub name: AnchoredRecord,
    /// `decision`, `node`, `feature`, or the type of the entry.
    pub kind: String,
    pub scope: String,
    pub summary: String,
    /// All that it says.
    pub text: String,
    /// The name of its vector.
    pub vector: u64,
    /// The decision, if it is one.
    pub decision: Option<Decision>,
    /// The code it is bound to, or was.
    pub bound: BoundCode,
}

/// The code that a record is bound to, by what was written of it.
#[derive(Default)]
pub(super) struct BoundCode {
    /// The last names of definitions that it is bound to, or was.
    pub names: HashSet<String>,
    /// Whether it is bound to something.
    pub is_bound: bool,
    /// Whether somebody bound it to another place than it names.
    pub is_rebound: bool,
}

impl BoundCode {
    pub(super) fn of(view: &View<'_>, record: &AnchoredRecord) -> Result<Self, StoreError> {
        let lines = view.anchors().history(record)?;
        if lines.is_empty() {
            return Ok(Self::default());
        }
        Ok(Self {
            names: lines.iter().filter_map(|line| line.at.last_name().map(str::to_owned)).collect(),
            is_bound: !view.anchors().of(record)?.is_empty(),
            is_rebound: lines.iter().any(|line| line.event() == Some(AnchorEvent::Reanchored)),
        })
    }
}

impl AuditedRecord {
    /// How to end it.
    pub(super) fn way_out(&self) -> String {
        let id = self.name.id();
        match self.name {
            // Doubt alone leaves what it says where it is.
            AnchoredRecord::Decision(_) => {
                format!("`twining override {id} --why \"…\"`, or a decision that supersedes it")
            }
            AnchoredRecord::Node(_) => "correct it with `twining knowledge update`".to_owned(),
            AnchoredRecord::Feature(_) => "set its files with `twining features`".to_owned(),
            AnchoredRecord::Entry(_) | AnchoredRecord::Other(_) => {
                format!("`twining dismiss {id}`")
            }
        }
    }

    pub(super) fn is_node(&self) -> bool {
        matches!(self.name, AnchoredRecord::Node(_))
    }
}

/// Words without case and layout, to be compared.
pub(super) fn folded(words: &str) -> String {
    words.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// As much of a summary as is shown.
pub(super) fn short(summary: &str) -> String {
    text::excerpt(summary, SUMMARY)
}

impl Engine {
    /// Nodes that are current, and features that are done: who works on one changes its code.
    pub(super) fn nodes_and_features(&self) -> Vec<AuditedRecord> {
        let mut found = Vec::new();
        let knowledge = self.store().documents().knowledge().ok().and_then(|file| file.bytes);
        let graph = knowledge.map(|bytes| KnowledgeGraph::read(&bytes));
        for node in graph.iter().flat_map(KnowledgeGraph::nodes) {
            if node.standing() == Some(Standing::Current) {
                let name = AnchoredRecord::Node(node.id().to_owned());
                found.push(audited(name, "node", [node.field("description"), node.id()]));
            }
        }
        let list = self.feature_list().ok().and_then(|(_, list)| list);
        for feature in list.into_iter().flat_map(|list| list.features) {
            if matches!(feature.status, FeatureStatus::Completed | FeatureStatus::Tested) {
                let name = AnchoredRecord::Feature(feature.id.clone());
                found.push(audited(name, "feature", [&feature.description, &feature.id]));
            }
        }
        found
    }
}

fn audited(name: AnchoredRecord, kind: &str, texts: [&str; 2]) -> AuditedRecord {
    let summary = texts.into_iter().find(|text| !text.trim().is_empty()).unwrap_or_default();
    AuditedRecord {
        name,
        kind: kind.to_owned(),
        scope: String::new(),
        summary: summary.to_owned(),
        text: summary.to_owned(),
        vector: 0,
        decision: None,
        bound: BoundCode::default(),
    }
}
