//! A decision that both branches amended.

use twining_model::{Decision, text};

use super::three_way::RecordMerge;
use super::tree::JsonNode;
use super::{FileMergeError, Merged, Versions};

/// Merges two versions of one decision's file. Both sides' links, commits and
/// history are joined; a status never goes back; where the two say different
/// things of the decision itself both are kept, and it is provisional until
/// somebody has looked.
pub fn merge_decision(versions: &Versions<'_>) -> Result<Merged, FileMergeError> {
    if let Some(trivial_merge) = versions.trivial_merge() {
        return Ok(trivial_merge);
    }
    let (first, second) = versions.ordered();
    let (one, id) = read(first, versions.name(first))?;
    let (other, other_id) = read(second, versions.name(second))?;
    if id != other_id {
        return Err(FileMergeError::Unlike(format!("one side is the decision {id}, the other {other_id}")));
    }
    // A base that cannot be read decides nothing.
    let base = read(versions.base, "the common ancestor").ok().map(|(base, _)| base);
    let (mut merged, clashes) = RecordMerge::record(base.as_ref(), &one, &other, &|_, _, _, _| None);
    if !clashes.is_empty() && merged.get("status").and_then(JsonNode::as_text).is_none_or(|status| status == "active") {
        merged.set("status", JsonNode::text("provisional"));
    }
    let contested = clashes.iter().map(|clash| format!("{id}: {}", text::excerpt(&clash.field, 60))).collect();
    Ok(Merged { text: format!("{}\n", merged.to_pretty(2)).into_bytes(), contested })
}

/// Whether a text is a decision.
pub(super) fn is_one(bytes: &[u8]) -> bool {
    read(bytes, "it").is_ok()
}

fn read(bytes: &[u8], side: &'static str) -> Result<(JsonNode, String), FileMergeError> {
    let unreadable = |why: String| FileMergeError::Unreadable { side, why };
    let text = std::str::from_utf8(bytes).map_err(|_| unreadable("it is not UTF-8".to_owned()))?;
    let text = text.trim_start_matches('\u{FEFF}');
    let decision: Decision = serde_json::from_str(text).map_err(|error| unreadable(format!("it is no decision: {error}")))?;
    let node = JsonNode::parse(text).map_err(|error| unreadable(error.to_string()))?;
    Ok((node, decision.id.to_string()))
}
