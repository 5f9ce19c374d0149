//! JSON arrays in files, one element a line with the comma in front.
//!
//! The comma in front is what lets git unite two branches line by line and get
//! valid JSON. Any layout is read, including what a merge without our driver
//! leaves behind; ours is written. Elements that are not touched keep their bytes.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use memchr::memchr;
use serde::Deserialize;
use serde::de::IgnoredAny;
use twining_model::json_document::compact;
use twining_model::text;

use crate::merge::lossless_json::JsonNode;
use crate::merge::{FileMergeError, Merged, RecordMerge, Versions, is_marker};

/// What an array without elements looks like; a file that is not there counts as one.
pub const EMPTY_ARRAY: &[u8] = b"[\n]\n";

/// The contents of an array file.
#[derive(Debug, Default)]
pub struct ScannedArray<'a> {
    /// Each element with the line it starts on.
    pub elements: Vec<(u64, Cow<'a, str>)>,
    /// What could not be read, with its line and the reason.
    pub unreadable: Vec<(u64, String)>,
}

/// Reads an array file of any layout, with or without damage. Duplicates from a line-by-line git
/// merge of two branches are read as one element.
#[must_use]
pub fn scan(bytes: &[u8]) -> ScannedArray<'_> {
    let mut scanned = scan_elements(bytes);
    merge_duplicates(&mut scanned.elements);
    scanned
}

/// Joins elements with one id, in the place of the last.
fn merge_duplicates(elements: &mut Vec<(u64, Cow<'_, str>)>) {
    let mut places: HashMap<String, usize> = HashMap::with_capacity(elements.len());
    let mut replaced = HashSet::new();
    for at in 0..elements.len() {
        let Some(id) = key_of(&elements[at].1) else { continue };
        let Some(before) = places.insert(id, at) else { continue };
        replaced.insert(before);
        if let (Ok(one), Ok(other)) =
            (JsonNode::parse(&elements[before].1), JsonNode::parse(&elements[at].1))
        {
            elements[at].1 = Cow::Owned(RecordMerge::merge_duplicates(&one, &other).to_compact());
        }
    }
    if !replaced.is_empty() {
        let mut at = 0;
        elements.retain(|_| {
            at += 1;
            !replaced.contains(&(at - 1))
        });
    }
}

fn scan_elements(bytes: &[u8]) -> ScannedArray<'_> {
    let mut scanned = ScannedArray::default();
    if bytes.trim_ascii().is_empty() {
        // A killed program that truncates before it writes leaves this; it is not an empty array.
        scanned.unreadable.push((1, "an empty file where an array should be".to_owned()));
        return scanned;
    }
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let (mut at, mut line, mut in_damage) = (0, 1, false);
    while at < bytes.len() {
        let rest = &bytes[at..];
        match rest[0] {
            b'\n' => {
                line += 1;
                at += 1;
            }
            b' ' | b'\t' | b'\r' | b',' | b'[' | b']' => at += 1,
            b'{' => match element(rest) {
                Ok((length, text)) => {
                    scanned.elements.push((line, text));
                    line += memchr::memchr_iter(b'\n', &rest[..length]).count() as u64;
                    at += length;
                    in_damage = false;
                }
                Err(why) => {
                    if !in_damage {
                        scanned.unreadable.push((line, why));
                    }
                    in_damage = true;
                    at += memchr(b'\n', rest).unwrap_or(rest.len());
                }
            },
            _ => {
                let length = memchr(b'\n', rest).unwrap_or(rest.len());
                if !is_marker(&rest[..length]) && !in_damage {
                    scanned.unreadable.push((line, "text that belongs to no element".to_owned()));
                    in_damage = true;
                }
                at += length;
            }
        }
    }
    if scanned.unreadable.is_empty() && !is_whole(bytes) {
        scanned.unreadable.push((line, CUT_OFF.to_owned()));
    }
    scanned
}

/// Message for an array that lacks its beginning or its end.
const CUT_OFF: &str =
    "the array is cut off: it does not begin with `[` and end with `]`, so elements may be missing";

/// Whether an array begins and ends, whatever git wrote between.
pub(crate) fn is_whole(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    let mut lines = text
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .filter(|line| !line.is_empty() && !is_marker(line));
    let first = lines.next().unwrap_or_default();
    let last = lines.next_back().unwrap_or(first);
    first.starts_with(b"[") && last.ends_with(b"]")
}

/// The array with some elements replaced, added or gone, in our layout. Two
/// elements with one id become one: the later.
#[must_use]
pub fn splice(
    scanned: &ScannedArray<'_>,
    upserts: &BTreeMap<String, String>,
    removed: &HashSet<String>,
) -> String {
    let mut last: HashMap<String, usize> = HashMap::with_capacity(scanned.elements.len());
    let ids: Vec<Option<String>> = scanned.elements.iter().map(|(_, text)| key_of(text)).collect();
    for (i, id) in ids.iter().enumerate() {
        if let Some(id) = id {
            last.insert(id.clone(), i);
        }
    }
    let known = scanned.elements.iter().zip(&ids).enumerate().filter_map(
        |(i, ((_, element), id))| match id {
            Some(id) if last.get(id) != Some(&i) || removed.contains(id) => None,
            id => Some(
                id.as_ref()
                    .and_then(|id| upserts.get(id))
                    .map_or_else(|| one_line(element), |put| Cow::Borrowed(put.as_str())),
            ),
        },
    );
    let added = upserts.iter().filter(|(id, _)| !last.contains_key(*id) && !removed.contains(*id));
    render_array(known.chain(added.map(|(_, put)| Cow::Borrowed(put.as_str()))))
}

/// An array of these elements.
pub(crate) fn render_array<'e>(elements: impl Iterator<Item = Cow<'e, str>>) -> String {
    let mut text = String::from("[\n");
    for (nth, element) in elements.enumerate() {
        text.push_str(if nth > 0 { "," } else { "" });
        text.push_str(&element);
        text.push('\n');
    }
    text.push_str("]\n");
    text
}

/// Returns the key that identifies an element: agents are registered by name.
pub(crate) fn key_of(element: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct AgentIdField {
        agent_id: String,
    }
    id_of(element)
        .or_else(|| serde_json::from_str::<AgentIdField>(element).ok().map(|agent| agent.agent_id))
}

/// The `id` of an element, if it has one that is text.
#[must_use]
pub fn id_of(element: &str) -> Option<String> {
    if let Some(rest) = element.strip_prefix("{\"id\":\"")
        && let Some((id, _)) = rest.split_once('"')
        && !id.contains('\\')
    {
        return Some(id.to_owned());
    }
    #[derive(Deserialize)]
    struct IdField {
        id: String,
    }
    serde_json::from_str::<IdField>(element).ok().map(|named| named.id)
}

/// An element on one line.
pub(crate) fn one_line(element: &str) -> Cow<'_, str> {
    if element.contains('\n') { Cow::Owned(compact(element)) } else { Cow::Borrowed(element) }
}

/// The element at the start of `rest`: how long it is, and its text.
fn element(rest: &[u8]) -> Result<(usize, Cow<'_, str>), String> {
    let mut elements = serde_json::Deserializer::from_slice(rest).into_iter::<IgnoredAny>();
    match elements.next() {
        Some(Err(error)) if !error.is_eof() => {
            return Err(format!("an element that is not JSON: {error}"));
        }
        Some(Ok(_)) => {}
        Some(Err(_)) | None => return Err("an element that does not end".to_owned()),
    }
    let length = elements.byte_offset();
    let text = std::str::from_utf8(&rest[..length]).map_err(|_| "an element that is not UTF-8")?;
    Ok((length, Cow::Borrowed(text)))
}

/// Merges arrays by the `id` or `agent_id` of their elements.
pub fn merge_array(versions: &Versions<'_>) -> Result<Merged, FileMergeError> {
    if let Some(trivial_merge) = versions.trivial_merge() {
        return Ok(trivial_merge);
    }
    let (first, second) = versions.ordered();
    let base = by_key(scan_side(versions.base, "the common ancestor")?);
    // A file that a killed program left empty says nothing about the elements.
    let side = |text: &'_ [u8]| text.trim_ascii().is_empty();
    let one =
        if side(first) { base.clone() } else { by_key(scan_side(first, versions.name(first))?) };
    let other =
        if side(second) { base.clone() } else { by_key(scan_side(second, versions.name(second))?) };

    let (mut elements, mut contested) = (Vec::new(), Vec::new());
    let fresh: BTreeSet<&String> = one
        .order
        .iter()
        .chain(&other.order)
        .filter(|key| !base.elements.contains_key(*key))
        .collect();
    for key in base.order.iter().chain(fresh) {
        let from = base.elements.get(key);
        match (one.elements.get(key), other.elements.get(key)) {
            (Some(one), Some(other)) if one == other || from == Some(other) => {
                elements.push(one.clone());
            }
            (Some(one), Some(other)) if from == Some(one) => elements.push(other.clone()),
            (Some(one), Some(other)) => {
                let [from, one, other] = [from, Some(one), Some(other)]
                    .map(|text| text.and_then(|text| JsonNode::parse(text).ok()));
                let (Some(one), Some(other)) = (one, other) else { continue };
                let (merged, clashes) =
                    RecordMerge::record(from.as_ref(), &one, &other, &|_, _, _, _| None);
                contested.extend(clashes.iter().map(|clash| {
                    format!("{}: {}", text::excerpt(key, 60), text::excerpt(&clash.field, 60))
                }));
                elements.push(merged.to_compact());
            }
            (Some(only), None) | (None, Some(only)) if from != Some(only) => {
                elements.push(only.clone());
            }
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
    let scanned = crate::format::array::scan(text);
    match scanned.unreadable.first() {
        Some((line, why)) => {
            Err(FileMergeError::Unreadable { side, why: format!("line {line}: {why}") })
        }
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use twining_testcases::each;

    use super::*;

    fn texts<'a>(scanned: &'a ScannedArray<'_>) -> Vec<&'a str> {
        scanned.elements.iter().map(|(_, text)| text.as_ref()).collect()
    }

    #[test]
    fn every_layout_reads_the_same() {
        each(
            [
                "[{\"id\":\"a\",\"n\":1},{\"id\":\"b\"}]",
                "[\n{\"id\":\"a\",\"n\":1}\n,{\"id\":\"b\"}\n]\n",
                "[\r\n  {\"id\":\"a\",\"n\":1},\r\n  {\"id\":\"b\"}\r\n]",
            ],
            |layout| {
                assert_eq!(
                    texts(&scan(layout.as_bytes())),
                    [r#"{"id":"a","n":1}"#, r#"{"id":"b"}"#],
                    "{layout}"
                );
            },
        );
        let pretty = "[\n  {\n    \"id\": \"a\",\n    \"x\": \"}\\\"\"\n  }\n]";
        let scanned = scan(pretty.as_bytes());
        assert_eq!(scanned.elements.len(), 1);
        assert!(scanned.unreadable.is_empty());
        assert_eq!(
            splice(&scanned, &BTreeMap::new(), &HashSet::new()),
            "[\n{\"id\":\"a\",\"x\":\"}\\\"\"}\n]\n"
        );
    }

    #[test]
    fn both_sides_of_a_merge_conflict_are_kept() {
        let text = "[\n{\"id\":\"a\"}\n<<<<<<< ours\n,{\"id\":\"b\"}\n=======\n,{\"id\":\"c\"}\n>>>>>>> theirs\n]\n";
        let scanned = scan(text.as_bytes());
        assert_eq!(texts(&scanned).len(), 3);
        assert!(scanned.unreadable.is_empty());
    }

    #[test]
    fn an_element_that_both_branches_changed_keeps_what_either_knew() {
        let ours = r#"{"id":"a","properties":{"x":"1"},"updated_at":"2026-01-02T00:00:00.000Z"}"#;
        let theirs = r#"{"id":"a","properties":{"y":"2"},"updated_at":"2026-01-01T00:00:00.000Z"}"#;
        each([(ours, theirs), (theirs, ours)], |(one, other)| {
            let text = format!("[\n{one}\n,{other}\n]\n");
            let scanned = scan(text.as_bytes());
            let [element] = &texts(&scanned)[..] else { panic!("one element: {scanned:?}") };
            let element: serde_json::Value = serde_json::from_str(element).expect("is JSON");
            assert_eq!(element["properties"], serde_json::json!({"x": "1", "y": "2"}));
            assert_eq!(element["updated_at"], "2026-01-02T00:00:00.000Z");
        });
    }

    #[test]
    fn one_broken_element_costs_itself_and_names_its_line() {
        let text = "[\n{\"id\":\"a\"}\n,{\"id\":\"b\", oops}\n,{\"id\":\"c\"}\n";
        let scanned = scan(text.as_bytes());
        assert_eq!(texts(&scanned), [r#"{"id":"a"}"#, r#"{"id":"c"}"#]);
        assert_eq!(scanned.unreadable.len(), 1);
        assert_eq!(scanned.unreadable[0].0, 3);
    }

    #[test]
    fn splicing_replaces_adds_and_removes_by_id() {
        let scanned = scan(b"[{\"id\":\"a\",\"v\":1},{\"id\":\"b\"},{\"id\":\"a\",\"v\":2}]");
        let upserts = BTreeMap::from([
            ("b".to_owned(), "{\"id\":\"b\",\"new\":1}".to_owned()),
            ("z".to_owned(), "{\"id\":\"z\"}".to_owned()),
        ]);
        let clash = "\"merge_clashes\":[{\"field\":\"v\",\"kept\":2,\"other\":1}]";
        let spliced = splice(&scanned, &upserts, &HashSet::new());
        assert_eq!(
            spliced,
            format!(
                "[\n{{\"id\":\"b\",\"new\":1}}\n,{{\"id\":\"a\",\"v\":2,{clash}}}\n,{{\"id\":\"z\"}}\n]\n"
            )
        );
        assert_eq!(
            splice(&scanned, &BTreeMap::new(), &HashSet::from(["a".to_owned(), "b".to_owned()])),
            "[\n]\n"
        );
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let scanned = scan(&bytes);
            drop(splice(&scanned, &BTreeMap::new(), &HashSet::new()));
        }

        #[test]
        fn no_text_like_ours_makes_it_panic(text in "[\\[\\]{},\":a\\\\\n<=> ]{0,80}") {
            let scanned = scan(text.as_bytes());
            let ours = splice(&scanned, &BTreeMap::new(), &HashSet::new());
            prop_assert!(serde_json::from_str::<serde_json::Value>(&ours).is_ok(), "{ours}");
        }
    }
}
