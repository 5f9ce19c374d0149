//! Importing: what other tools wrote down, as records of ours.
//!
//! A reader takes texts and says what it found and, with its line, what it could
//! not read. Every record gets the id that its source always gives, so that
//! importing twice is importing once. What comes in is marked as imported and
//! believed no further; nothing in it is carried out.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use twining_model::{
    Channel, Decision, Entity, Entry, Id, Origin, Relation, Time, Trust, limits, text, words,
};
use twining_store::disk::hash_of_key;

use crate::fields;

words! {
    /// Where records come from.
    pub enum ImportSource {
        /// Architecture decision records of any common shape, one a file.
        Adr = "adr",
        /// The file of the MCP reference memory server.
        MemoryJsonl = "memory-jsonl",
        /// The file of the beads issue tracker.
        Beads = "beads",
        /// Rules for agents in Markdown.
        ClaudeMd = "claude-md",
        /// Another folder of ours.
        Twining = "twining",
    }
}

/// A file to import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportedFile {
    /// Its name, relative to what was given.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Something that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ImportProblem {
    /// Which file.
    pub file: String,
    /// Which line, from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Why.
    pub why: String,
}

/// What a reader found.
#[derive(Clone, Debug, Default)]
pub struct ImportRecords {
    /// Decisions.
    pub decisions: Vec<Decision>,
    /// Entries for the board.
    pub entries: Vec<Entry>,
    /// Entities of the graph.
    pub entities: Vec<Entity>,
    /// Relations of the graph.
    pub relations: Vec<Relation>,
    /// Rules that a guard could enforce; each is an entry too, for people to review.
    pub guards_to_review: u64,
    /// Pieces of advice; each is an entry too.
    pub advice: u64,
    /// What could not be read.
    pub unread: Vec<ImportProblem>,
}

/// Reads what was given. `now` dates what has no date of its own.
#[must_use]
pub fn read(source: ImportSource, files: &[ImportedFile], now: Time) -> ImportRecords {
    let mut found = ImportRecords::default();
    let each = |read: fn(&ImportedFile, Time, &mut ImportRecords), found: &mut ImportRecords| {
        files.iter().for_each(|file| read(file, now, found));
    };
    match source {
        ImportSource::Adr => super::adr::read(files, now, &mut found),
        ImportSource::MemoryJsonl => each(super::json_lines::read_memory, &mut found),
        ImportSource::Beads => each(super::json_lines::read_beads, &mut found),
        ImportSource::ClaudeMd => each(super::claude_md::read, &mut found),
        ImportSource::Twining => super::twining_folder::read(files, &mut found),
    }
    found.unread.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    found
}

impl ImportRecords {
    pub(super) fn unread(
        &mut self,
        file: &str,
        line: impl Into<Option<u64>>,
        why: impl Into<String>,
    ) {
        self.unread.push(ImportProblem {
            file: text::visible(file),
            line: line.into(),
            why: text::excerpt(&why.into(), 200),
        });
    }

    /// A text within a limit; that its end was cut off is told.
    pub(super) fn clip(&mut self, file: &str, line: u64, text: &str, most: usize) -> String {
        if text.len() > most {
            self.unread(file, line, format!("longer than {most} bytes; the end of it was cut off"));
        }
        fields::clip(text, most)
    }
}

/// The id of a record by where it came from.
pub(super) fn id_of(source: ImportSource, at: Option<Time>, key: &str) -> Id {
    Id::from_parts(at.unwrap_or_default(), hash_of_key(&format!("{}\u{0}{key}", source.as_str())))
}

/// Who wrote an imported record, as far as it is believed.
pub(super) fn origin() -> Origin {
    Origin::new(Channel::Import, Trust::Imported)
}

/// Where a record came from, for people who look at it later.
pub(super) fn came_from(source: ImportSource, key: &str) -> Map<String, Value> {
    Map::from_iter([(
        "imported_from".to_owned(),
        json!({ "source": source.as_str(), "key": fields::clip(key, limits::ELEMENT_BYTES) }),
    )])
}

pub(super) fn entry(
    source: ImportSource,
    kind: &str,
    at: Option<Time>,
    now: Time,
    key: &str,
    summary: &str,
    detail: &str,
) -> Entry {
    Entry {
        id: id_of(source, at, key).into(),
        timestamp: at.unwrap_or(now).to_string(),
        agent_id: source.as_str().to_owned(),
        entry_type: kind.to_owned(),
        tags: vec![format!("imported-{}", source.as_str())],
        relates_to: Vec::new(),
        scope: "project".to_owned(),
        summary: fields::summary(&clean(summary)),
        detail: fields::clip(&clean(detail), limits::TEXT_BYTES),
        origin: Some(origin()),
        extra: came_from(source, key),
    }
}

pub(super) fn decision(
    source: ImportSource,
    at: Option<Time>,
    now: Time,
    key: &str,
    summary: &str,
) -> Decision {
    Decision {
        id: id_of(source, at, key),
        timestamp: at.unwrap_or(now).to_string(),
        agent_id: source.as_str().to_owned(),
        // Each record answers a question of its own: under one word for all of
        // them every two would be taken for rivals.
        domain: fields::clip(&slug(summary), limits::NAME_BYTES),
        scope: "project".to_owned(),
        summary: fields::summary(&clean(summary)),
        reversible: true,
        origin: Some(origin()),
        extra: came_from(source, key),
        ..Decision::default()
    }
}

/// Text that may be stored: redacted like any other input.
pub(super) fn clean(text: &str) -> String {
    crate::secrets::redact(&text.replace('\0', "")).0.trim().to_owned()
}

/// Whether a text is longer than a summary may be.
pub(super) fn is_cut(summary: &str) -> bool {
    fields::fold(&clean(summary)).chars().count() > limits::SUMMARY_CHARS
}

/// A few words of a text, as a name.
pub(super) fn slug(text: &str) -> String {
    let lower: String =
        text.to_lowercase().chars().map(|c| if c.is_alphanumeric() { c } else { ' ' }).collect();
    let slug = lower.split_whitespace().take(8).collect::<Vec<_>>().join("-");
    if slug.is_empty() { "imported".to_owned() } else { slug }
}

/// A day or a moment in one of the spellings people use.
pub(super) fn date(word: &str) -> Option<Time> {
    let word = word.trim().trim_matches(['"', '\'', '`', '*', '_']).trim();
    Time::read(word).or_else(|| {
        let day: String = word.chars().take(10).collect::<String>().replace(['/', '.'], "-");
        Time::read(&format!("{day}T00:00:00Z"))
    })
}

/// JSON lines of a file, without what git left between two sides of a merge: each
/// value with its line, and what is none told.
pub(super) fn json_lines<T: DeserializeOwned>(
    file: &ImportedFile,
    found: &mut ImportRecords,
    what: &str,
) -> Vec<(u64, T)> {
    let mut read = Vec::new();
    for (number, line) in (1..).zip(file.text.trim_start_matches('\u{FEFF}').lines()) {
        let line = line.trim();
        let is_marker = line == "======="
            || ["<<<<<<< ", ">>>>>>> ", "||||||| "].iter().any(|marker| line.starts_with(marker));
        if line.is_empty() || is_marker {
            continue;
        }
        if line.len() > limits::RECORD_BYTES {
            found.unread(&file.name, number, "exceeds the maximum record size");
            continue;
        }
        match serde_json::from_str(line) {
            Ok(value) => read.push((number, value)),
            Err(error) => found.unread(&file.name, number, format!("not {what}: {error}")),
        }
    }
    read
}

pub(super) fn word<'v>(object: &'v BTreeMap<String, Value>, key: &str) -> Option<&'v str> {
    object.get(key).and_then(Value::as_str).filter(|word| !word.trim().is_empty())
}
