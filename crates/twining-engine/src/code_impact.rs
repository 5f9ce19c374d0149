//! Impact of a change of code: what hangs on a definition or a file, in three rings.
//!
//! The first ring is certain: records that are anchored there, claims and features. The second goes
//! by name, so each place says how many definitions have that name. The third is what history shows
//! to change together.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use twining_guard::checks::tests_changed::is_test_file;
use twining_model::{AnchoredRecord, Place, Scope};
use twining_store::View;
use twining_store::code::{CodeIndex, IndexedSource};

use crate::agents::{current_claims, overlapping};
use crate::anchors::{CodeNote, anchors_at, described, named_place};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::fields::{self, is_zero};
use crate::workflow::Feature;

/// Records, places and files that are listed.
const MAX_RECORDS: usize = 30;
const MAX_PLACES: usize = 40;
const MAX_TOGETHER: usize = 5;
/// Files with the name that are read.
const MAX_FILES: usize = 200;
/// How often two files must have changed together to be told, and in which share of the commits.
const LEAST_TIMES: u32 = 2;
const LEAST_SHARE: f64 = 0.3;

/// A record on the code.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ImpactRecord {
    /// Its id.
    pub id: String,
    /// What it says.
    pub summary: String,
    /// Where it is anchored.
    pub at: String,
    /// Whether it is a decision in force.
    pub binds: bool,
    /// How the code it speaks of is now, if there is something to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<CodeNote>,
}

/// A definition that names the code.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MentioningPlace {
    /// Where.
    pub at: String,
    /// How many definitions have the name that it mentions; it may mean another one.
    pub of: u64,
    /// Whether it is in a test.
    pub is_test: bool,
    /// Records that are anchored there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<String>,
}

/// A file that usually changes with this one.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CompanionFile {
    /// Which.
    pub path: String,
    /// In how many of the commits of this file, in percent.
    pub percent: u32,
}

/// What hangs on a place in the code.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct CodeImpact {
    /// The place.
    pub at: String,
    /// Records that are anchored to it.
    pub records: Vec<ImpactRecord>,
    /// Features that name its file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
    /// Who holds its file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub claimed_by: Vec<String>,
    /// Definitions that mention it, by name.
    pub mentioned_in: Vec<MentioningPlace>,
    /// Those not listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub omitted_count: u64,
    /// Files that usually change with this one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes_with: Vec<CompanionFile>,
}

impl Engine {
    /// What hangs on a file, or on a definition of it; `features` are the project's.
    pub fn code_impact(&self, given: &str, features: &[Feature]) -> Result<CodeImpact, Failure> {
        let code = self.code_here()?;
        let place = named_place(code, given, self.store().root())?;
        let scope = Scope::read(place.path());
        let mut impact = CodeImpact { at: place.to_string(), ..CodeImpact::default() };
        self.store().view(|view| {
            impact.records = self.records_on(view, &place)?;
            let (mentions, omitted) = mentions(code, view, &place)?;
            (impact.mentioned_in, impact.omitted_count) = (mentions, omitted);
            Ok::<_, Failure>(())
        })?;
        let named = features.iter().filter(|feature| {
            let folding = self.store().folding();
            feature.files.iter().any(|file| Scope::read(file).overlaps(&scope, folding))
        });
        impact.features = named.map(|feature| feature.id.clone()).collect();
        if let Ok(files) = self.store().documents().agents() {
            let claims = current_claims(&files, self.store().ids().now());
            let held = claims
                .iter()
                .filter(|claim| overlapping(claim, &scope, self.store().folding()).is_some());
            impact.claimed_by = held.map(|claim| claim.agent_id.clone()).collect();
        }
        impact.changes_with = companions(code, place.path());
        Ok(impact)
    }

    fn records_on(&self, view: &View<'_>, place: &Place) -> Result<Vec<ImpactRecord>, Failure> {
        let anchors = match place.name() {
            Some(_) => anchors_at(view, place)?,
            None => view.anchors().in_file(place.path())?,
        };
        let records: Vec<AnchoredRecord> = anchors.iter().map(|anchor| anchor.of.clone()).collect();
        let notes = self.notable_code(view, &records)?;
        let mut found = Vec::new();
        for anchor in anchors {
            let Some((summary, binds)) = described(view, &anchor.of)? else { continue };
            found.push(ImpactRecord {
                id: anchor.of.id().to_owned(),
                summary: fields::summary(&summary),
                at: anchor.at.to_string(),
                binds,
                code: notes.get(&anchor.of).cloned(),
            });
        }
        found.sort_by(|a, b| b.binds.cmp(&a.binds).then_with(|| b.id.cmp(&a.id)));
        found.truncate(MAX_RECORDS);
        Ok(found)
    }
}

/// The definitions that contain the name of a definition, and how many more there are.
fn mentions(
    code: &CodeIndex,
    view: &View<'_>,
    place: &Place,
) -> Result<(Vec<MentioningPlace>, u64), Failure> {
    let Some(name) = place.name() else { return Ok((Vec::new(), 0)) };
    let word = name.rsplit('.').next().unwrap_or(name);
    let mut places: BTreeSet<(String, String, u32)> = BTreeSet::new();
    let mut namesakes = 0_u64;
    for path in code.git().files_with_word(word).into_iter().take(MAX_FILES) {
        let Some(source) = code.source(&path, None)?.found() else { continue };
        let same = source.file.definitions.iter().filter(|found| found.last_name() == word);
        namesakes += same.count() as u64;
        let text = code.text(&path)?.unwrap_or_default();
        for (name, nth) in around_word(&source, &String::from_utf8_lossy(&text), word) {
            places.insert((path.clone(), name, nth));
        }
    }
    let mut found = Vec::new();
    for (path, name, nth) in places {
        let Ok(at) = Place::definition(&path, &name, nth) else { continue };
        if at == *place || name.rsplit('.').next() == Some(word) {
            continue;
        }
        let records = anchors_at(view, &at)?;
        found.push(MentioningPlace {
            is_test: is_test_file(&path) || name.starts_with("test"),
            of: namesakes.max(1),
            records: records.iter().map(|anchor| anchor.of.id().to_owned()).collect(),
            at: at.to_string(),
        });
    }
    found.sort_by_key(|place| (place.records.is_empty(), place.is_test));
    let omitted = found.len().saturating_sub(MAX_PLACES) as u64;
    found.truncate(MAX_PLACES);
    Ok((found, omitted))
}

/// The innermost definitions around the lines that have a word.
fn around_word(source: &IndexedSource, text: &str, word: &str) -> BTreeSet<(String, u32)> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let has_word = |line: &str| line.split(|c| !is_part(c)).any(|part| part == word);
    let mut found = BTreeSet::new();
    for (number, line) in (1..).zip(text.lines()) {
        if has_word(line)
            && let Some(definition) = source.file.around(number)
        {
            found.insert((definition.name.clone(), definition.nth));
        }
    }
    found
}

/// The files that usually change with this one, the likeliest first.
fn companions(code: &CodeIndex, path: &str) -> Vec<CompanionFile> {
    let commits = code.git().files_changed_with(path);
    let all = commits.len();
    let mut together: BTreeMap<String, u32> = BTreeMap::new();
    for file in commits.into_iter().flatten().filter(|file| file != path) {
        *together.entry(file).or_default() += 1;
    }
    let mut found: Vec<CompanionFile> = together
        .into_iter()
        .filter(|(_, times)| *times >= LEAST_TIMES)
        .map(|(path, times)| (path, f64::from(times) / all.max(1) as f64))
        .filter(|(_, share)| *share >= LEAST_SHARE)
        .map(|(path, share)| CompanionFile { path, percent: (share * 100.0).round() as u32 })
        .collect();
    found.sort_by(|a, b| b.percent.cmp(&a.percent).then_with(|| a.path.cmp(&b.path)));
    found.truncate(MAX_TOGETHER);
    found
}
