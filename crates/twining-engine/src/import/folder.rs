//! Another folder of ours: its board, decisions and graph, by their own ids.

use twining_model::{Channel, Decision, Entity, Entry, Origin, Relation, Trust, limits};
use twining_store::array;
use twining_store::merge::one_decision;

use super::{ImportRecords, SourceFile};

/// The files of a folder, by what they hold.
#[derive(Debug, Default)]
pub struct FolderText<'f> {
    files: Vec<&'f SourceFile>,
}

impl<'f> FolderText<'f> {
    /// The files as they were given, with their paths inside the folder.
    #[must_use]
    pub fn of(files: &'f [SourceFile]) -> Self {
        Self { files: files.iter().collect() }
    }

    /// The files that are read from such a folder.
    #[must_use]
    pub fn names() -> [&'static str; 5] {
        ["blackboard.jsonl", "graph/entities.json", "graph/relations.json", "features.json", "knowledge.dot"]
    }
}

pub(super) fn read(folder: &FolderText<'_>, found: &mut ImportRecords) {
    for file in &folder.files {
        match file.name.as_str() {
            "blackboard.jsonl" => board(file, found),
            "graph/entities.json" => elements::<Entity>(file, found, |found, entity| {
                found.entities.push(Entity { origin: Some(imported_origin(entity.origin.clone())), ..entity });
            }),
            "graph/relations.json" => elements::<Relation>(file, found, |found, relation| {
                found.relations.push(Relation { origin: Some(imported_origin(relation.origin.clone())), ..relation });
            }),
            name if name.starts_with("decisions/") && name != "decisions/index.json" => match one(file) {
                Ok(decision) => found.decisions.push(decision),
                Err(why) => found.unread(&file.name, None, why),
            },
            // The last two are taken in by `parcel`.
            "decisions/index.json" | "features.json" | "knowledge.dot" => {}
            _ => found.unread(&file.name, None, "not taken over; copy it by hand if you want it"),
        }
    }
}

fn board(file: &SourceFile, found: &mut ImportRecords) {
    let mut entries: Vec<Entry> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for (number, line) in (1..).zip(file.text.trim_start_matches('\u{FEFF}').lines()) {
        let line = line.trim();
        let is_marker = ["<<<<<<< ", ">>>>>>> ", "||||||| "].iter().any(|marker| line.starts_with(marker)) || line == "=======";
        if line.is_empty() || is_marker {
            continue;
        }
        match serde_json::from_str::<Entry>(line) {
            Ok(entry) if line.len() <= limits::RECORD_BYTES && !entry.id.is_empty() && entry.id.len() <= limits::NAME_BYTES => {
                let entry = Entry { origin: Some(imported_origin(entry.origin.clone())), ..entry };
                // Of two lines with one id the later counts, as on any board.
                match places.insert(entry.id.clone(), entries.len()) {
                    Some(at) => {
                        places.insert(entry.id.clone(), at);
                        entries[at] = entry;
                    }
                    None => entries.push(entry),
                }
            }
            Ok(_) => found.unread(&file.name, number, "an entry whose id or size no record of ours has"),
            Err(error) => found.unread(&file.name, number, format!("no entry: {error}")),
        }
    }
    found.entries.extend(entries);
}

fn elements<T: serde::de::DeserializeOwned>(file: &SourceFile, found: &mut ImportRecords, mut take: impl FnMut(&mut ImportRecords, T)) {
    let scanned = array::scan(file.text.as_bytes());
    for (line, why) in scanned.unreadable {
        found.unread(&file.name, line, why);
    }
    for (line, element) in scanned.elements {
        match serde_json::from_str(&element) {
            Ok(element) => take(found, element),
            Err(error) => found.unread(&file.name, line, format!("no element of this array: {error}")),
        }
    }
}

fn one(file: &SourceFile) -> Result<Decision, String> {
    let text = one_decision(file.text.as_bytes());
    let decision: Decision = serde_json::from_slice(&text).map_err(|error| format!("no decision: {error}"))?;
    if file.name != format!("decisions/{}.json", decision.id) {
        return Err(format!("it holds the decision {}, not the one its name says", decision.id));
    }
    Ok(Decision { origin: Some(imported_origin(decision.origin.clone())), ..decision })
}

/// What another folder says of its authors is kept, and believed no further than any import.
pub(super) fn imported_origin(origin: Option<Origin>) -> Origin {
    let (client, session) = origin.map_or((None, None), |origin| (origin.client, origin.session));
    Origin { client, session, via: Channel::Import, trust: Trust::Imported }
}
