//! Findings that somebody looked at and keeps: nothing more is heard of them until the record or
//! its code changes.

use std::collections::HashSet;

use serde_json::{Map, Value};
use twining_code::blob_id;
use twining_model::{Anchor, AnchorEvent, AnchorRole, AnchoredRecord, Change, Place};
use twining_store::{Durability, StoreError, View};

use super::report::{AuditFinding, AuditReport};
use crate::caller::Caller;
use crate::engine::Engine;
use crate::failure::Failure;

/// The field of a line that names its finding.
const FINDING: &str = "finding";

/// What was kept: record and finding.
pub(super) fn kept(view: &View<'_>) -> Result<HashSet<(String, String)>, StoreError> {
    let lines = view.anchors().kept()?;
    let key = |line: Anchor| {
        let finding = line.extra.get(FINDING)?.as_str()?.to_owned();
        Some((line.of.to_string(), finding))
    };
    Ok(lines.into_iter().filter_map(key).collect())
}

/// Whether a finding was kept.
pub(super) fn is_kept(kept: &HashSet<(String, String)>, finding: &AuditFinding) -> bool {
    finding.record.as_ref().is_some_and(|record| kept.contains(&(record.clone(), mark(finding))))
}

/// What a finding is known by: what it says, and the content it was judged by.
fn mark(finding: &AuditFinding) -> String {
    let text = format!("{} {} {}", finding.class.as_str(), finding.message, finding.basis);
    blob_id(text.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

impl Engine {
    /// Notes that findings about these records are kept; which ones.
    pub fn keep_findings(
        &self,
        caller: &Caller,
        report: &AuditReport,
        ids: &[String],
    ) -> Result<Vec<AuditFinding>, Failure> {
        let is_named = |finding: &&AuditFinding| {
            finding.record.as_ref().is_some_and(|record| {
                ids.iter().any(|id| {
                    record == id || record.split_once(':').is_some_and(|(_, inner)| inner == id)
                })
            })
        };
        let found: Vec<AuditFinding> = report.findings.iter().filter(is_named).cloned().collect();
        let stamp = self.stamp(caller);
        let mut anchors = Vec::new();
        for finding in &found {
            let Some(record) = &finding.record else { continue };
            let of = AnchoredRecord::from(record.clone());
            let event = AnchorEvent::Kept;
            let at = Place::file(".twining/anchors.jsonl")?;
            let id = stamp.ids.next().to_string();
            let mut extra = Map::new();
            extra.insert("class".to_owned(), Value::String(finding.class.as_str().to_owned()));
            extra.insert(FINDING.to_owned(), Value::String(mark(finding)));
            anchors.push(Anchor {
                timestamp: stamp.at.to_string(),
                agent_id: stamp.caller.agent.clone(),
                origin: Some(stamp.caller.origin.clone()),
                extra,
                ..Anchor::new(id, of, at, AnchorRole::Mention, event)
            });
        }
        if !anchors.is_empty() {
            self.store().write(Durability::Normal, &Change { anchors, ..Change::default() })?;
        }
        Ok(found)
    }
}
