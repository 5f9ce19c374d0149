//! JSON arrays by element: entities, relations, the registry, the list of decisions.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use twining_model::text;

use super::{ScannedArray, key_of, one_line, render_array};
use crate::merge::tree::JsonNode;
use crate::merge::{FileMergeError, Merged, RecordMerge, Versions};

/// Merges arrays by the `id` or `agent_id` of their elements.
pub fn merge_array(versions: &Versions<'_>) -> Result<Merged, FileMergeError> {
    if let Some(trivial_merge) = versions.trivial_merge() {
        return Ok(trivial_merge);
    }
    let (first, second) = versions.ordered();
    let base = by_key(scan_side(versions.base, "the common ancestor")?);
    // A file that a killed program left empty says nothing about the elements.
    let side = |text: &'_ [u8]| text.trim_ascii().is_empty();
    let one = if side(first) { base.clone() } else { by_key(scan_side(first, versions.name(first))?) };
    let other = if side(second) { base.clone() } else { by_key(scan_side(second, versions.name(second))?) };

    let (mut elements, mut contested) = (Vec::new(), Vec::new());
    let fresh: BTreeSet<&String> = one.order.iter().chain(&other.order).filter(|key| !base.elements.contains_key(*key)).collect();
    for key in base.order.iter().chain(fresh) {
        let from = base.elements.get(key);
        match (one.elements.get(key), other.elements.get(key)) {
            (Some(one), Some(other)) if one == other || from == Some(other) => elements.push(one.clone()),
            (Some(one), Some(other)) if from == Some(one) => elements.push(other.clone()),
            (Some(one), Some(other)) => {
                let [from, one, other] = [from, Some(one), Some(other)].map(|text| text.and_then(|text| JsonNode::parse(text).ok()));
                let (Some(one), Some(other)) = (one, other) else { continue };
                let (merged, clashes) = RecordMerge::record(from.as_ref(), &one, &other, &|_, _, _, _| None);
                contested.extend(clashes.iter().map(|clash| format!("{}: {}", text::excerpt(key, 60), text::excerpt(&clash.field, 60))));
                elements.push(merged.to_compact());
            }
            (Some(only), None) | (None, Some(only)) if from != Some(only) => elements.push(only.clone()),
            _ => {}
        }
    }
    Ok(Merged { text: render_array(elements.into_iter().map(Cow::Owned)).into_bytes(), contested })
}

#[derive(Clone, Default)]
struct ElementsByKey {
    order: Vec<String>,
    elements: HashMap<String, String>,
}

fn scan_side<'t>(text: &'t [u8], side: &'static str) -> Result<ScannedArray<'t>, FileMergeError> {
    if text.trim_ascii().is_empty() {
        return Ok(ScannedArray::default());
    }
    // What is cut off is unreadable too: it would look like elements that the side took away.
    let scanned = super::scan(text);
    match scanned.unreadable.first() {
        Some((line, why)) => Err(FileMergeError::Unreadable { side, why: format!("line {line}: {why}") }),
        None => Ok(scanned),
    }
}

/// Elements by their names; two with one name are one already.
fn by_key(scanned: ScannedArray<'_>) -> ElementsByKey {
    let mut by_key = ElementsByKey::default();
    for (_, element) in scanned.elements {
        let element = one_line(&element).into_owned();
        let key = key_of(&element).unwrap_or_else(|| element.clone());
        if by_key.elements.insert(key.clone(), element).is_none() {
            by_key.order.push(key);
        }
    }
    by_key
}
