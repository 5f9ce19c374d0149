//! Which records of a base are gone from a head, altered in what they say, or broken.
//!
//! Two trees in, differences out; no disk, no git, no clock. Additions are fine
//! here. What the product itself changes later (a status with its reason, commits,
//! acknowledgements, archived entries) is no difference.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;

use memchr::{memchr_iter, memmem};
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use twining_model::text::excerpt;

use super::permitted_changes;
use super::permitted_changes::ArchiveIndex;
use super::permitted_changes::DecisionContext;
use super::permitted_changes::{differing_fields, is_blank, text};
use crate::format::array;
use crate::format::torn_lines;
use crate::merge::has_markers;

/// Characters of a record that a difference quotes.
const QUOTED: usize = 80;

/// Files by their paths inside `.twining/`.
pub type RecordTree<'a> = BTreeMap<&'a str, &'a [u8]>;

/// What kind of record a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecordKind {
    /// A line of the blackboard.
    Entry,
    /// A line of the traces.
    Trace,
    /// A line of the anchors.
    Anchor,
    /// A decision's file.
    Decision,
    /// A handoff's file.
    Handoff,
    /// A turn's file.
    Turn,
    /// Entities and relations: observed, and pruned.
    Graph,
    /// Lists that are derived from other records, or of who is there.
    List,
    /// What people write: policy, settings, knowledge, features.
    Document,
}

impl RecordKind {
    /// The kind of a file inside `.twining/`; none for what git does not track.
    #[must_use]
    pub fn of(path: &str) -> Option<Self> {
        let (folder, name) = path.split_once('/').unwrap_or(("", path));
        match folder {
            "" if name == "blackboard.jsonl" => Some(Self::Entry),
            "" if name == "traces.jsonl" => Some(Self::Trace),
            "" if name == "anchors.jsonl" => Some(Self::Anchor),
            "decisions" | "handoffs" if name.starts_with("index.json") => Some(Self::List),
            "decisions" if name.ends_with(".json") => Some(Self::Decision),
            "handoffs" if name.ends_with(".json") => Some(Self::Handoff),
            "turns" if name.ends_with(".json") => Some(Self::Turn),
            "graph" if name.ends_with(".json") => Some(Self::Graph),
            "agents" if name.ends_with(".json") => Some(Self::List),
            "" => Some(Self::Document),
            _ => None,
        }
    }

    /// Whether its file has one record a line.
    #[must_use]
    pub fn is_line(self) -> bool {
        matches!(self, Self::Entry | Self::Trace | Self::Anchor)
    }

    /// What people call one.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Entry => "entry",
            Self::Trace => "trace",
            Self::Anchor => "anchor",
            Self::Decision => "decision",
            Self::Handoff => "handoff",
            Self::Turn => "turn",
            Self::Graph => "graph file",
            Self::List => "list",
            Self::Document => "file",
        }
    }
}

/// What became of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DifferenceKind {
    /// It is no longer there.
    Removed,
    /// It says something else in these fields.
    Altered {
        /// Names of the fields, sorted.
        fields: Vec<String>,
    },
    /// Its status changed without a record of why.
    Illegal {
        /// The status before.
        from: String,
        /// The status now.
        to: String,
    },
    /// Two records with one id say different things.
    Duplicate,
    /// It cannot be read, for this reason.
    Unparsable(String),
    /// git left both sides of a merge in it.
    ConflictMarkers,
}

/// A record of the base that is not as it was, or one of the head that is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The file, inside `.twining/`.
    pub path: String,
    /// The line in the head, where it is known.
    pub line: Option<usize>,
    /// What it is a record of.
    pub kind: RecordKind,
    /// Its id, where it has one.
    pub id: Option<String>,
    /// What became of it.
    pub change: DifferenceKind,
    /// Its content, in short.
    pub summary: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, path) = (self.kind.as_str(), &self.path);
        if self.change == DifferenceKind::ConflictMarkers {
            return write!(f, "`.twining/{path}` has conflict markers");
        }
        match &self.id {
            Some(id) => write!(f, "{kind} {id}")?,
            None => write!(f, "{kind} `{path}`")?,
        }
        if !self.summary.is_empty() {
            write!(f, " ({})", self.summary)?;
        }
        match &self.change {
            DifferenceKind::Removed => write!(f, " is missing from `{path}`"),
            DifferenceKind::Altered { fields } => write!(f, " was altered: {}", fields.join(", ")),
            DifferenceKind::Illegal { from, to } => {
                write!(f, " went from {from} to {to} without a record of why")
            }
            DifferenceKind::Duplicate => {
                write!(f, " appears in `{path}` twice, with different content")
            }
            DifferenceKind::Unparsable(why) => write!(f, " cannot be read: {why}"),
            DifferenceKind::ConflictMarkers => Ok(()),
        }
    }
}

/// Compares what differs between two trees; `is_in_both` returns which other files are identical in
/// both.
#[must_use]
pub fn compare_changed(
    before: RecordTree<'_>,
    after: RecordTree<'_>,
    is_in_both: &dyn Fn(&str) -> bool,
) -> Vec<Difference> {
    let mut comparison = RecordComparison {
        announced: Vec::new(),
        superseded: BTreeSet::new(),
        before,
        after,
        is_in_both,
        found: Vec::new(),
    };
    comparison.run();
    comparison.found
}

pub(super) type JsonRecord = Map<String, Value>;

struct RecordComparison<'a> {
    before: RecordTree<'a>,
    after: RecordTree<'a>,
    is_in_both: &'a dyn Fn(&str) -> bool,
    /// Lines of the board that are new.
    announced: Vec<&'a [u8]>,
    /// Decisions that a new or changed one says it supersedes.
    superseded: BTreeSet<String>,
    found: Vec<Difference>,
}

impl<'a> RecordComparison<'a> {
    fn run(&mut self) {
        let paths: BTreeSet<&'a str> =
            self.before.keys().chain(self.after.keys()).copied().collect();
        let changed: Vec<(&'a str, RecordKind)> = paths
            .into_iter()
            .filter(|path| self.before.get(path) != self.after.get(path))
            .filter_map(|path| Some((path, RecordKind::of(path)?)))
            .collect();
        let decisions = changed
            .iter()
            .filter(|(_, kind)| *kind == RecordKind::Decision)
            .filter_map(|(path, _)| self.after.get(path));
        let named = decisions
            .filter_map(|bytes| object(bytes).ok())
            .map(|decision| text(&decision, "supersedes").to_owned());
        self.superseded = named.filter(|id| !id.is_empty()).collect();
        // The board first: decisions are announced there.
        for (path, kind) in changed.iter().filter(|(_, kind)| kind.is_line()) {
            self.lines(path, *kind);
        }
        for (path, kind) in changed {
            match (kind, self.before.get(path).copied(), self.after.get(path).copied()) {
                (kind, ..) if kind.is_line() => {}
                (_, _, Some(after)) if has_markers(after) => {
                    self.report((path, kind), None, DifferenceKind::ConflictMarkers, None);
                }
                (RecordKind::Document, _, Some(after)) if path.ends_with(".json") => {
                    if let Err(error) = serde_json::from_slice::<Value>(without_mark(after)) {
                        self.report(
                            (path, kind),
                            None,
                            DifferenceKind::Unparsable(error.to_string()),
                            None,
                        );
                    }
                }
                // Elements that a union merge left twice are joined by every reader.
                (RecordKind::Graph | RecordKind::List, _, Some(after))
                    if !path.ends_with(".jsonl") =>
                {
                    if let Some((line, why)) = array::scan(after).unreadable.into_iter().next() {
                        self.report(
                            (path, kind),
                            usize::try_from(line).ok(),
                            DifferenceKind::Unparsable(why),
                            None,
                        );
                    } else if let Err(error) =
                        serde_json::from_slice::<IgnoredAny>(without_mark(after))
                    {
                        self.report(
                            (path, kind),
                            Some(error.line()),
                            DifferenceKind::Unparsable(error.to_string()),
                            None,
                        );
                    }
                }
                (RecordKind::Decision | RecordKind::Handoff | RecordKind::Turn, before, after) => {
                    self.file(path, kind, before, after);
                }
                _ => {}
            }
        }
    }

    fn report(
        &mut self,
        (path, kind): (&str, RecordKind),
        line: Option<usize>,
        change: DifferenceKind,
        record: Option<&JsonRecord>,
    ) {
        let id = match kind {
            RecordKind::Decision | RecordKind::Handoff => stem(path),
            kind if kind.is_line() => record.map_or("", |record| text(record, "id")),
            _ => "",
        };
        let id = Some(id).filter(|id| !id.is_empty()).map(str::to_owned);
        let summary =
            record.map(|record| excerpt(text(record, "summary"), QUOTED)).unwrap_or_default();
        self.found.push(Difference { path: path.to_owned(), line, kind, id, change, summary });
    }

    fn file(&mut self, path: &str, kind: RecordKind, before: Option<&[u8]>, after: Option<&[u8]>) {
        let old = before.and_then(|bytes| object(bytes).ok());
        let new = after.map(object);
        let changes = match (&new, &old) {
            (None, _) if kind == RecordKind::Turn && self.has_new_turn(path) => Vec::new(),
            (None, _) => vec![DifferenceKind::Removed],
            (Some(Err(why)), _) => vec![DifferenceKind::Unparsable(why.clone())],
            (Some(Ok(new)), _) if kind != RecordKind::Turn && text(new, "id") != stem(path) => {
                altered(vec!["id".to_owned()])
            }
            (Some(Ok(new)), Some(old)) => self.changes(kind, path, old, new),
            (Some(Ok(_)), None) => Vec::new(),
        };
        let shown = old.as_ref().or_else(|| new.as_ref()?.as_ref().ok());
        changes.into_iter().for_each(|change| self.report((path, kind), None, change, shown));
    }

    fn changes(
        &self,
        kind: RecordKind,
        path: &str,
        old: &JsonRecord,
        new: &JsonRecord,
    ) -> Vec<DifferenceKind> {
        if kind == RecordKind::Decision {
            let exists = |id: &str| {
                let path = format!("decisions/{id}.json");
                self.after.contains_key(path.as_str()) || (self.is_in_both)(&path)
            };
            let is_announced = self
                .announced
                .iter()
                .any(|line| memmem::find(line, stem(path).as_bytes()).is_some());
            let is_superseded = self.superseded.contains(stem(path));
            return permitted_changes::changes(
                old,
                new,
                &DecisionContext { exists: &exists, is_superseded, is_announced },
            );
        }
        let is_updated =
            !is_blank(new.get("updated_at")) && old.get("updated_at") != new.get("updated_at");
        let mut fields = differing_fields(old, new);
        fields.retain(|field| match (kind, field.as_str()) {
            (RecordKind::Handoff, "acknowledged_by" | "acknowledged_at") => {
                !is_blank(old.get(field))
            }
            // An update says when it was; then only what the turn is of stays.
            (RecordKind::Turn, field) if is_updated => {
                ["id", "feature_id", "task_id", "turn_number", "timestamp"].contains(&field)
            }
            _ => true,
        });
        altered(fields)
    }

    /// Whether a turn of the same feature is new or was updated: then older ones may be pruned.
    fn has_new_turn(&self, path: &str) -> bool {
        let feature = path.splitn(3, '/').take(2).collect::<Vec<_>>().join("/") + "/";
        self.after.iter().any(|(other, bytes)| {
            other.starts_with(&feature) && self.before.get(other) != Some(bytes)
        })
    }

    fn lines(&mut self, path: &'a str, kind: RecordKind) {
        let [before, after] =
            [&self.before, &self.after].map(|tree| tree.get(path).copied().unwrap_or_default());
        if has_markers(after) {
            return self.report((path, kind), None, DifferenceKind::ConflictMarkers, None);
        }
        let (old, unchanged, fresh) = compare_lines(before, after);
        let mut now: HashMap<String, Vec<(usize, JsonRecord)>> = HashMap::new();
        let mut archives = ArchiveIndex::default();
        for (line, bytes) in &fresh {
            match object(bytes) {
                Ok(record) => {
                    archives.read_summary(&record);
                    now.entry(text(&record, "id").to_owned()).or_default().push((*line, record));
                }
                Err(why) => {
                    self.report((path, kind), Some(*line), DifferenceKind::Unparsable(why), None);
                }
            }
        }
        let is_same = now.is_empty() && old.is_empty();
        let unchanged = if is_same { Vec::new() } else { unchanged };
        let names: HashMap<String, &[u8]> =
            unchanged.into_iter().filter_map(|line| Some((id_of(line)?, line))).collect();
        self.duplicates(path, kind, &now, &names);
        if kind == RecordKind::Entry {
            self.announced = fresh.iter().map(|(_, bytes)| *bytes).collect();
            let files = self.after.iter().filter(|(path, _)| path.starts_with("archive/"));
            files.for_each(|(_, bytes)| archives.read_file(bytes));
        }
        for bytes in old {
            // A line that was no record before says nothing.
            let Ok(record) = object(bytes) else { continue };
            let id = text(&record, "id");
            let same_id = now.get(id).map(Vec::as_slice).unwrap_or_default();
            let fields: Vec<(usize, Vec<String>)> =
                same_id.iter().map(|(line, new)| (*line, differing_fields(&record, new))).collect();
            let (line, change) = match fields.first() {
                _ if fields.iter().any(|(_, fields)| fields.is_empty())
                    || names.contains_key(id) =>
                {
                    continue;
                }
                Some((line, fields)) => {
                    (Some(*line), DifferenceKind::Altered { fields: fields.clone() })
                }
                None if kind == RecordKind::Entry && archives.accounts_for(id, &record) => continue,
                None => (None, DifferenceKind::Removed),
            };
            self.report((path, kind), line, change, Some(&record));
        }
    }

    fn duplicates(
        &mut self,
        path: &str,
        kind: RecordKind,
        now: &HashMap<String, Vec<(usize, JsonRecord)>>,
        unchanged: &HashMap<String, &[u8]>,
    ) {
        let mut duplicates: BTreeMap<usize, &JsonRecord> = BTreeMap::new();
        for (id, records) in now.iter().filter(|(id, _)| !id.is_empty()) {
            let first = unchanged.get(id).and_then(|line| object(line).ok());
            let first = first.as_ref().unwrap_or(&records[0].1);
            let again =
                records.iter().find(|(_, other)| !differing_fields(first, other).is_empty());
            duplicates.extend(again.map(|(line, record)| (*line, record)));
        }
        for (line, record) in duplicates {
            self.report((path, kind), Some(line), DifferenceKind::Duplicate, Some(record));
        }
    }
}

type NumberedLines<'a> = Vec<(usize, &'a [u8])>;

/// The lines of a file that went, stayed and came; the new ones with their numbers.
fn compare_lines<'a>(
    before: &'a [u8],
    after: &'a [u8],
) -> (Vec<&'a [u8]>, Vec<&'a [u8]>, NumberedLines<'a>) {
    let lines = |bytes| numbered(bytes).map(|(_, line)| line);
    // Nearly always a file was only appended to.
    if after.starts_with(before) && (before.is_empty() || before.ends_with(b"\n")) {
        let number = memchr_iter(b'\n', before).count();
        let fresh =
            numbered(&after[before.len()..]).map(|(line, bytes)| (line + number, bytes)).collect();
        return (Vec::new(), lines(before).collect(), fresh);
    }
    let [was, is] = [before, after].map(|bytes| lines(bytes).collect::<HashSet<_>>());
    let (unchanged, old) = lines(before).partition(|line| is.contains(line));
    (old, unchanged, numbered(after).filter(|(_, line)| !was.contains(line)).collect())
}

fn numbered(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let lines = without_mark(bytes).split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    (1..).zip(lines).filter(|(_, line)| !line.is_empty())
}

fn id_of(line: &[u8]) -> Option<String> {
    torn_lines::id_of(line).or_else(|| array::id_of(std::str::from_utf8(line).ok()?))
}

fn object(bytes: &[u8]) -> Result<JsonRecord, String> {
    serde_json::from_slice::<JsonRecord>(without_mark(bytes)).map_err(|error| error.to_string())
}

pub(super) fn altered(fields: Vec<String>) -> Vec<DifferenceKind> {
    if fields.is_empty() { Vec::new() } else { vec![DifferenceKind::Altered { fields }] }
}

fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes)
}

fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(".json").unwrap_or(name)
}
