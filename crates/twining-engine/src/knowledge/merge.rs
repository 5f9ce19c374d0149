//! Merging two versions of the graph: everything of both, and where they
//! disagree what the words themselves settle; the rest is for people, named.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use twining_dot::{
    DotClash, DotClashKind, DotDocument, DotId, DotMergePolicy, MergeError, Resolution, Subject,
    merge,
};
use twining_model::knowledge_vocabulary::{Priority, Standing};
use twining_model::text;
use twining_store::merge::{MergeFunctions, resolve_conflict, sides};

use super::check::{GraphFinding, MERGED, conflict_markers};
use super::graph::KnowledgeGraph;

/// Separates two texts that a merge kept.
const OR: &str = " || ";
/// What a file without a graph is taken for.
const EMPTY: &str = "digraph ProjectKnowledge {\n}\n";

/// What came of a merge.
#[derive(Clone, Debug)]
pub struct KnowledgeMerge {
    /// The file; valid DOT if both sides were.
    pub text: Vec<u8>,
    /// What people must settle, one line each; empty if nothing.
    pub conflicts: Vec<String>,
    /// Where two texts were both kept and marked.
    pub marked: Vec<String>,
    /// What to do, for the people and agents who settle it; empty if nothing.
    pub guidance: String,
}

/// Merges the changes of `ours` and `theirs` to `base`. If a side is not valid DOT, or has an
/// unresolved earlier conflict, nothing is guessed: ours is kept unchanged.
#[must_use]
pub fn merge_knowledge(base: &[u8], ours: &[u8], theirs: &[u8], path: &str) -> KnowledgeMerge {
    let is_blank = |side: &&[u8]| side.iter().all(u8::is_ascii_whitespace);
    // Who empties the file says nothing of its name.
    let empty = [base, ours, theirs]
        .into_iter()
        .find(|side| !is_blank(side))
        .and_then(emptied)
        .unwrap_or_else(|| EMPTY.into());
    let [base, ours, theirs] =
        [base, ours, theirs].map(|side| if is_blank(&side) { empty.as_slice() } else { side });
    // Markers are looked for first: `<<<<<<<` to `>>>>>>>` is one id in brackets to DOT, and valid.
    if let Some(marked) = unsettled("ours", ours).or_else(|| unsettled("theirs", theirs)) {
        return unmerged(ours, &marked, path);
    }
    let merged = match merge(base, ours, theirs, &MergePolicy) {
        Ok(merged) => merged,
        Err(error) => {
            return unmerged(ours, &format!("{error}{}", beside(&error, ours, theirs)), path);
        }
    };
    let (marked, clashed): (Vec<DotClash>, Vec<DotClash>) =
        merged.clashes.into_iter().partition(is_marked);
    let mut conflicts: Vec<String> =
        clashed.iter().map(|clash| text::visible(&clash.to_string())).collect();
    conflicts.extend(new_errors(&merged.text, ours, theirs));
    let marked = marked.iter().map(|clash| text::visible(&clash.subject.to_string())).collect();
    let guidance = if conflicts.is_empty() { String::new() } else { guidance(path, &conflicts) };
    KnowledgeMerge { text: merged.text, conflicts, marked, guidance }
}

/// Resolves a file in which git left both sides of a merge, as the driver would have; without a
/// common ancestor, unless git was configured to show it, so that what only one side removed is
/// back. `None` if there are no markers, or people must resolve it.
#[must_use]
pub(super) fn merged_markers(source: &[u8]) -> Option<Vec<u8>> {
    if conflict_markers(source).is_empty() {
        return None;
    }
    resolve_conflict(source, &GRAPH)
}

/// Resolves a file in which git left both sides of a merge that only people can resolve, as the
/// driver would leave it: ours wins where they disagree. `None` if there are no markers, the sides
/// can be merged, or they cannot be separated.
#[must_use]
pub(super) fn unresolved_merge(source: &[u8]) -> Option<Vec<u8>> {
    if conflict_markers(source).is_empty() || merged_markers(source).is_some() {
        return None;
    }
    let [base, ours, theirs] = sides(source, &GRAPH)?;
    Some(merge_knowledge(&base, &ours, &theirs, "").text)
}

/// What a graph's file is made of.
pub(crate) const GRAPH: MergeFunctions = MergeFunctions {
    is_whole: |text| text.trim_ascii().is_empty() || twining_dot::check(text).errors.is_empty(),
    join: |versions| {
        let merged = merge_knowledge(versions.base, versions.ours, versions.theirs, "");
        merged.conflicts.is_empty().then_some(merged.text)
    },
};

/// How a conflict in the graph is settled by hand, for these matters.
#[must_use]
pub fn guidance(path: &str, matters: &[String]) -> String {
    let mut message = format!("a person must resolve these conflicts in `{path}`:\n");
    for matter in matters {
        // Writing to a string cannot fail.
        let _ = writeln!(message, "  - {matter}");
    }
    message.push_str(&format!(
        "To resolve them:\n\x20 1. Merge the other branch's latest commits first, so that you do this only once.\n\x20 2. In `{path}`, go through the conflicts listed above:\n\x20    - keep every node and every edge that only one side has;\n\x20    - if both sides have a node, `current` wins over `deprecated`, and the higher priority wins;\n\x20    - merge descriptions that complement each other; of two examples, keep the more specific one.\n\x20 3. Run `twining knowledge check`; it must find no error.\n\x20 4. Run `git add {path}`, and commit with a message such as \"Resolve the knowledge graph conflict\".\n"
    ));
    message
}

/// A graph of the same kind and name, with nothing in it.
fn emptied(source: &[u8]) -> Option<Vec<u8>> {
    let document = DotDocument::parse(source);
    let graph = document.syntax()?;
    let head = source.get(graph.span.start..graph.body.span.start)?;
    Some([head, b"{\n}\n"].concat())
}

/// The message about a side with an unresolved earlier conflict.
fn unsettled(side: &str, source: &[u8]) -> Option<String> {
    let at = *conflict_markers(source).first()?;
    let line = source[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
    Some(format!(
        "{side} still has a conflict marker in line {line}; resolve that conflict first, then merge again"
    ))
}

fn unmerged(ours: &[u8], why: &str, path: &str) -> KnowledgeMerge {
    let conflicts =
        vec![format!("{}; nothing was merged, and our side is unchanged", text::visible(why))];
    let guidance = guidance(path, &conflicts);
    KnowledgeMerge { text: ours.to_vec(), conflicts, marked: Vec::new(), guidance }
}

fn is_marked(clash: &DotClash) -> bool {
    matches!(&clash.kind, DotClashKind::Attribute { kept, .. } if kept.as_str().starts_with(MERGED))
}

/// What is wrong with the result and was with neither side, such as an edge
/// to a node that the other side removed.
fn new_errors(merged: &[u8], ours: &[u8], theirs: &[u8]) -> Vec<String> {
    let key =
        |error: &GraphFinding| (error.node_id.clone(), error.field.clone(), error.message.clone());
    let known: BTreeSet<_> = [ours, theirs]
        .iter()
        .flat_map(|side| KnowledgeGraph::read(side).errors)
        .map(|error| key(&error))
        .collect();
    let errors = KnowledgeGraph::read(merged).errors;
    errors.iter().filter(|error| !known.contains(&key(error))).map(describe_error).collect()
}

/// An error of the result: which node, which rule is broken, and what to write.
fn describe_error(error: &GraphFinding) -> String {
    let named = |id: &String| format!("the node {} (line {})", text::excerpt(id, 80), error.line);
    let place = error.node_id.as_ref().map_or_else(|| format!("line {}", error.line), named);
    let remedy =
        error.suggestion.as_ref().map_or_else(String::new, |suggestion| format!("; {suggestion}"));
    text::visible(&format!("{place}: {}{remedy}", error.message))
}

/// The node at which a side stops being DOT.
fn beside(error: &MergeError, ours: &[u8], theirs: &[u8]) -> String {
    let MergeError::Broken { side, problem } = error else { return String::new() };
    // Unparsable text has no statements: the name precedes the last bracket that opens a line.
    let text = String::from_utf8_lossy(if *side == "ours" { ours } else { theirs });
    let lines: Vec<&str> = text.lines().take(problem.line).collect();
    let name = |line: &&str| {
        let name = line.split_once('[')?.0.trim().trim_matches('"').to_owned();
        (!name.is_empty()
            && !name.contains(['=', '>', '{'])
            && !["node", "edge", "graph"].contains(&name.as_str()))
        .then_some(name)
    };
    let last = lines.iter().rev().find_map(name);
    last.map_or_else(String::new, |id| {
        format!(" (in or after the node {})", text::excerpt(&id, 80))
    })
}

/// What the words of the graph mean when two sides disagree.
struct MergePolicy;

impl DotMergePolicy for MergePolicy {
    fn settle(
        &self,
        _: &Subject,
        attribute: &str,
        base: Option<&DotId>,
        ours: &DotId,
        theirs: &DotId,
    ) -> Resolution {
        if ours.is_html() || theirs.is_html() {
            return Resolution::DotClash;
        }
        match attribute {
            "status" => settle_status(ours, theirs),
            "priority" => settle_priority(ours, theirs),
            "tag" => Resolution::Take(DotId::new(joined_tags(
                base.map_or("", DotId::as_str),
                ours.as_str(),
                theirs.as_str(),
            ))),
            "description" | "example" | "note" | "comment" | "tooltip" => {
                both(ours.as_str(), theirs.as_str())
            }
            _ => Resolution::DotClash,
        }
    }

    fn edge_identity(&self) -> &[&str] {
        &["relation", "key"]
    }
}

/// What is in use goes before what is not, and what is given up behind all.
fn settle_status(ours: &DotId, theirs: &DotId) -> Resolution {
    let is = |id: &DotId, standing: Standing| id.as_str() == standing.as_str();
    if is(ours, Standing::Current) || is(theirs, Standing::Deprecated) {
        return Resolution::Take(ours.clone());
    }
    if is(theirs, Standing::Current) || is(ours, Standing::Deprecated) {
        return Resolution::Take(theirs.clone());
    }
    Resolution::DotClash
}

fn settle_priority(ours: &DotId, theirs: &DotId) -> Resolution {
    let read = |id: &DotId| Priority::read(id.as_str());
    match (read(ours), read(theirs)) {
        (Some(one), Some(other)) => Resolution::Take(DotId::new(one.min(other).as_str())),
        (Some(one), None) | (None, Some(one)) => Resolution::Take(DotId::new(one.as_str())),
        (None, None) => Resolution::DotClash,
    }
}

/// The tags of both, without those that either took away.
fn joined_tags(base: &str, ours: &str, theirs: &str) -> String {
    let comma = [base, ours, theirs].iter().any(|tags| tags.contains(','));
    let tags = |text: &str| -> BTreeSet<String> {
        let is_separator = |c: char| if comma { c == ',' } else { c.is_whitespace() };
        text.split(is_separator)
            .map(str::trim)
            .filter(|tag| !tag.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let (base, ours, theirs) = (tags(base), tags(ours), tags(theirs));
    let merged_tags = ours
        .union(&theirs)
        .filter(|tag| !base.contains(*tag) || (ours.contains(*tag) && theirs.contains(*tag)));
    merged_tags.cloned().collect::<Vec<_>>().join(if comma { ", " } else { " " })
}

/// Two texts in one, each once, in an order that does not depend on the side.
fn both(ours: &str, theirs: &str) -> Resolution {
    let parts = |text: &str| -> BTreeSet<String> {
        match text.strip_prefix(MERGED) {
            Some(merged) => merged.trim().split(OR).map(|part| part.trim().to_owned()).collect(),
            None => BTreeSet::from([text.trim().to_owned()]),
        }
    };
    let all: Vec<String> =
        parts(ours).union(&parts(theirs)).filter(|part| !part.is_empty()).cloned().collect();
    match all.as_slice() {
        [only] => Resolution::Take(DotId::new(only)),
        all => Resolution::Both(DotId::new(format!("{MERGED} {}", all.join(OR)))),
    }
}
