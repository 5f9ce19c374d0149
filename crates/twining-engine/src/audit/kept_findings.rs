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
fn kept(view: &View<'_>) -> Result<HashSet<(String, String)>, StoreError> {
    let lines = view.anchors().kept()?;
    let key = |line: Anchor| {
        let finding = line.extra.get(FINDING)?.as_str()?.to_owned();
        Some((line.of.to_string(), finding))
    };
    Ok(lines.into_iter().filter_map(key).collect())
}

/// Whether a finding was kept.
fn is_kept(kept: &HashSet<(String, String)>, finding: &AuditFinding) -> bool {
    kept.contains(&(owner(finding), mark(finding)))
}

/// What has a finding: a record, or the file of another tool.
fn owner(finding: &AuditFinding) -> String {
    let file = || finding.file.as_ref().map(|file| format!("document:{file}"));
    finding.record.clone().or_else(file).unwrap_or_default()
}

/// What a finding is known by: what it says, and the content it was judged by. Not its line, which
/// moves with every edit above it.
fn mark(finding: &AuditFinding) -> String {
    let content = finding.claim.as_ref().unwrap_or(&finding.basis);
    let text = format!("{} {} {content}", finding.class.as_str(), finding.message);
    blob_id(text.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

impl Engine {
    /// Leaves out what somebody keeps, and offers to keep the rest.
    pub fn without_kept(&self, mut report: AuditReport) -> Result<AuditReport, Failure> {
        let kept = self.store().view(kept)?;
        let found = report.findings.len();
        report.findings.retain(|finding| !is_kept(&kept, finding));
        report.summary.kept += found - report.findings.len();
        report.offer_keeping();
        Ok(report)
    }

    /// Notes that findings about these records, or at these lines, are kept; which ones.
    pub fn keep_findings(
        &self,
        caller: &Caller,
        report: &AuditReport,
        ids: &[String],
    ) -> Result<Vec<AuditFinding>, Failure> {
        let is_named = |finding: &&AuditFinding| {
            let subject = finding.subject();
            let id = finding.record.as_ref().and_then(|record| record.split_once(':'));
            ids.iter().any(|named| {
                *named == subject
                    || finding.also.contains(named)
                    || id.is_some_and(|(_, id)| id == named)
            })
        };
        let found: Vec<AuditFinding> = report.findings.iter().filter(is_named).cloned().collect();
        let stamp = self.stamp(caller);
        let mut anchors = Vec::new();
        for finding in &found {
            let of = AnchoredRecord::from(owner(finding));
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
