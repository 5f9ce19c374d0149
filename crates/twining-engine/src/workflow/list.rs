//! The feature list: reads every format in use, and edits keep the format.
//!
//! A list is a bare array, `features` as an array or a map by id, groups that hold features at any
//! depth, buckets named after a status, or a map by id at the top level. Anything that is not a
//! feature is reported and left in place.

use std::borrow::Cow;

use memchr::memmem;
use serde_json::{Map, Value, json};
use twining_model::{limits, text};
use twining_store::{FeatureListFile, TextFile};

use crate::failure::Failure;
use crate::workflow::evidence::run_log::is_one_of;
use crate::workflow::feature::{
    Feature, FeatureFields, FeatureStatus, ListContext, PASSES, SPELLINGS, TESTED,
};
use crate::workflow::json_spans::{JsonKind, TextRange};
use crate::workflow::{feature, json_spans};

/// How deep groups may be nested.
const DEPTH: usize = 6;
/// Keys that hold features, in any context.
const LISTS: [&str; 3] = ["features", "feature_list", "featureList"];
/// Keys that speak about the list and hold none of it.
const ABOUT: &str = "metadata meta summary stats statistics config settings project progress";
/// Keys by which an object in a map is known to be a feature.
const MARKS: [&str; 5] = ["status", "state", TESTED, PASSES, "acceptance_criteria"];

/// A list of features, and the text it was read from.
#[derive(Clone, Debug, Default)]
pub struct FeatureList {
    /// In the order of the list.
    pub features: Vec<Feature>,
    /// What is odd about it, a sentence each.
    pub problems: Vec<String>,
    text: String,
    places: Vec<TextRange>,
    /// The array or map that a new feature goes to.
    home: Option<TextRange>,
}

impl FeatureList {
    /// Parses a list. Text that is not JSON is an error: a caller taking it for an empty list would
    /// start over and overwrite it.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.trim_start_matches('\u{FEFF}').trim().is_empty() {
            return Ok(Self::default());
        }
        let bare = text.trim_start_matches('\u{FEFF}');
        let root = json_spans::whole(bare).map_err(|error| format!("is not JSON: {error}"))?;
        if json_spans::kind(bare, &root) == JsonKind::Other {
            return Err("is neither a JSON array nor an object".to_owned());
        }
        let mut walk =
            ListWalk { text: bare, found: Vec::new(), homes: Vec::new(), problems: Vec::new() };
        walk.begin(&root);
        let ListWalk { found, homes, mut problems, .. } = walk;
        if found.len() > limits::FEATURES {
            return Err(format!("has {} features; the limit is {}", found.len(), limits::FEATURES));
        }
        let mut list = Self { text: text.to_owned(), home: home_of(homes), ..Self::default() };
        let mut seen = std::collections::HashSet::new();
        for (at, around) in found {
            let members = json_spans::members(bare, &at);
            let (feature, feature_problems) =
                Feature::read(&FeatureFields::of(bare, &members), around);
            let name = || text::excerpt(&feature.id, 80);
            problems.extend(
                feature_problems
                    .into_iter()
                    .map(|feature_problems| format!("`{}` {feature_problems}", name())),
            );
            if let Some(key) = duplicate_key(&members) {
                problems.push(format!(
                    "`{}` has `{}` twice; the last one is used",
                    name(),
                    text::excerpt(key, 40)
                ));
            }
            if seen.insert(feature.id.clone()) {
                list.features.push(feature);
                list.places.push(at);
            } else {
                problems.push(format!("`{}` is listed twice; the first one is used", name()));
            }
        }
        list.problems = problems;
        Ok(list)
    }

    /// A feature by its id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Feature> {
        self.features.iter().find(|feature| feature.id == id)
    }

    /// A feature by what a list calls it: its id, or all of its description where it
    /// has no other name. Another's name is never enough.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Feature> {
        let unnamed = |feature: &&Feature| {
            feature.description.trim() == name.trim()
                && feature.id == feature::slug(&feature.description)
        };
        self.get(name.trim()).or_else(|| self.features.iter().find(unnamed))
    }

    /// The position of each feature in the text without its byte order mark, in list order.
    pub(super) fn places(&self) -> &[TextRange] {
        &self.places
    }

    /// The list with some fields of a feature set; everything else keeps its bytes.
    pub(crate) fn with_fields(&self, id: &str, fields: &[(&str, Value)]) -> Option<String> {
        let index = self.features.iter().position(|feature| feature.id == id)?;
        let skipped = self.text.len() - self.bare().len();
        let mut text = self.bare().to_owned();
        let start = self.places.get(index)?.start;
        for (key, value) in fields {
            let at = object_at(&text, start)?;
            text = json_spans::set_member(&text, &at, own_key(&text, &at, key), value);
        }
        Some(format!("{}{text}", &self.text[..skipped]))
    }

    /// Everything a feature says, read or not.
    pub(crate) fn raw(&self, id: &str) -> Map<String, Value> {
        let place = self
            .features
            .iter()
            .position(|feature| feature.id == id)
            .and_then(|at| self.places.get(at));
        match place.map(|at| json_spans::value(self.bare(), at)) {
            Some(Value::Object(fields)) => fields,
            _ => Map::new(),
        }
    }

    /// The list as it is in its file.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The list with one more feature.
    pub(crate) fn with_feature(&self, id: &str, fields: &Map<String, Value>) -> String {
        let skipped = self.text.len() - self.bare().len();
        let bare = self.bare();
        let text = match (&self.home, json_spans::whole(bare)) {
            (Some(at), _) if json_spans::kind(bare, at) == JsonKind::Array => {
                json_spans::push_element(bare, at, &json!(fields))
            }
            (Some(at), _) => json_spans::set_member(bare, at, id, &json!(fields)),
            (None, Ok(root)) => json_spans::set_member(bare, &root, "features", &json!([fields])),
            (None, Err(_)) => format!("{:#}\n", json!({ "features": [fields] })),
        };
        format!("{}{text}", &self.text[..skipped])
    }

    fn bare(&self) -> &str {
        self.text.trim_start_matches('\u{FEFF}')
    }
}

/// The object that begins at `start`: edits inside it move its end.
fn object_at(text: &str, start: usize) -> Option<TextRange> {
    let mut values =
        serde_json::Deserializer::from_str(text.get(start..)?).into_iter::<serde::de::IgnoredAny>();
    values.next()?.ok()?;
    Some(start..start + values.byte_offset())
}

/// The spelling this feature has for a field of ours: a second spelling beside
/// it would be a second opinion.
fn own_key<'k>(text: &str, at: &TextRange, key: &'k str) -> &'k str {
    let members = json_spans::members(text, at);
    let spellings = SPELLINGS.iter().find(|names| names[0] == key).copied().unwrap_or_default();
    let own = spellings.iter().find(|name| members.iter().any(|(member, _)| member == *name));
    own.copied().unwrap_or(key)
}

fn duplicate_key<'m>(members: &'m [(Cow<'_, str>, TextRange)]) -> Option<&'m str> {
    let mut seen = std::collections::HashSet::new();
    // A handful of fields is compared quicker than hashed.
    let mut is_new = |at: usize, key: &'m Cow<'_, str>| match members.get(..at) {
        Some(earlier) if members.len() <= 32 => earlier.iter().all(|(earlier, _)| earlier != key),
        _ => seen.insert(key),
    };
    members.iter().enumerate().find(|(at, (key, _))| !is_new(*at, key)).map(|(_, (key, _))| &**key)
}

struct ListWalk<'t> {
    text: &'t str,
    found: Vec<(TextRange, ListContext)>,
    homes: Vec<(TextRange, Option<FeatureStatus>)>,
    problems: Vec<String>,
}

impl ListWalk<'_> {
    fn begin(&mut self, root: &TextRange) {
        if json_spans::kind(self.text, root) == JsonKind::Array {
            self.take_array(root, None, None, DEPTH);
            return;
        }
        self.scan(root, None, DEPTH);
        if self.found.is_empty() && self.homes.is_empty() {
            self.take_map(root, None, 0);
            if self.found.is_empty() {
                // A member called `features` is then made for the first one.
                self.homes.clear();
            }
        }
    }

    /// Looks for features in an object that is none itself.
    fn scan(&mut self, object: &TextRange, group: Option<&str>, depth: usize) {
        for (key, at) in json_spans::members(self.text, object) {
            let kind = json_spans::kind(self.text, &at);
            match kind {
                _ if is_one_of(ABOUT, &key) => {}
                JsonKind::Array if LISTS.contains(&&*key) => {
                    self.take_array(&at, group, None, depth);
                }
                JsonKind::Object if LISTS.contains(&&*key) => self.take_map(&at, group, depth),
                JsonKind::Array if bucket_status(&key).is_some() => {
                    self.take_array(&at, group, bucket_status(&key), depth);
                }
                JsonKind::Object if depth > 0 => self.scan(&at, Some(&key), depth - 1),
                JsonKind::Array if depth > 0 => {
                    for element in json_spans::elements(self.text, &at) {
                        if json_spans::kind(self.text, &element) == JsonKind::Object {
                            let name = self.name_of(&element);
                            self.scan(&element, name.as_deref().or(group), depth - 1);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn take_array(
        &mut self,
        array: &TextRange,
        group: Option<&str>,
        bucket: Option<FeatureStatus>,
        depth: usize,
    ) {
        self.homes.push((array.clone(), bucket));
        for (index, at) in json_spans::elements(self.text, array).into_iter().enumerate() {
            if json_spans::kind(self.text, &at) != JsonKind::Object {
                let shown = text::excerpt(&self.text[at], 40);
                self.problems.push(format!(
                    "element {} of a list of features is not an object and is ignored: {shown}",
                    index + 1
                ));
            } else if depth > 0 && self.is_group(&at) {
                let name = self.name_of(&at);
                self.scan(&at, name.as_deref().or(group), depth - 1);
            } else {
                self.found
                    .push((at, ListContext { key: None, bucket, group: group.map(str::to_owned) }));
            }
        }
    }

    /// Features by their ids, or groups by their names.
    fn take_map(&mut self, map: &TextRange, group: Option<&str>, depth: usize) {
        let before = self.found.len();
        for (key, at) in json_spans::members(self.text, map) {
            match json_spans::kind(self.text, &at) {
                _ if is_one_of(ABOUT, &key) => {}
                JsonKind::Object if self.is_feature(&at) => {
                    self.found.push((
                        at,
                        ListContext {
                            key: Some(key.into_owned()),
                            bucket: None,
                            group: group.map(str::to_owned),
                        },
                    ));
                }
                JsonKind::Object if depth > 0 => self.scan(&at, Some(&key), depth - 1),
                JsonKind::Array if depth > 0 => {
                    self.take_array(&at, Some(&key), bucket_status(&key), depth - 1);
                }
                _ => {}
            }
        }
        if self.found.len() > before || json_spans::members(self.text, map).is_empty() {
            self.homes.push((map.clone(), None));
        }
    }

    fn is_group(&self, object: &TextRange) -> bool {
        // All the names for lists have this in common, and few features do.
        if memmem::find(self.text[object.clone()].as_bytes(), b"feature").is_none() {
            return false;
        }
        let members = json_spans::members(self.text, object);
        members.iter().any(|(key, at)| {
            LISTS.contains(&&**key) && json_spans::kind(self.text, at) != JsonKind::Other
        }) && !members.iter().any(|(key, _)| MARKS[..4].contains(&&**key))
    }

    fn is_feature(&self, object: &TextRange) -> bool {
        json_spans::members(self.text, object)
            .iter()
            .any(|(key, _)| MARKS.contains(&&**key) || key == "description")
            && !self.is_group(object)
    }

    fn name_of(&self, object: &TextRange) -> Option<String> {
        let members = json_spans::members(self.text, object);
        let (_, at) = ["name", "title", "category", "id"]
            .iter()
            .find_map(|name| members.iter().find(|(key, _)| key == name))?;
        json_spans::value(self.text, at).as_str().map(str::to_owned)
    }
}

/// The status a bucket is named after.
pub(super) fn bucket_status(key: &str) -> Option<FeatureStatus> {
    FeatureStatus::read(key.strip_suffix("_features").unwrap_or(key))
}

/// New features are pending: their bucket, else the last place that holds any.
fn home_of(homes: Vec<(TextRange, Option<FeatureStatus>)>) -> Option<TextRange> {
    let pending = homes.iter().position(|(_, bucket)| *bucket == Some(FeatureStatus::Pending));
    let plain = homes.iter().rposition(|(_, bucket)| bucket.is_none());
    homes.into_iter().nth(plain.or(pending)?).map(|(home, _)| home)
}

/// Reads the feature list; `None` if there is none.
pub(crate) fn read_list(feature_file: &FeatureListFile) -> Result<Option<FeatureList>, Failure> {
    let unreadable = |why: String| Failure::UnreadableList { path: feature_file.path.clone(), why };
    match &feature_file.file {
        TextFile::Missing => Ok(None),
        TextFile::Text(text) if text.trim().is_empty() => Ok(None),
        TextFile::Unusable(why) => Err(unreadable(format!("cannot be read: {why}"))),
        TextFile::Text(text) => {
            // Without our driver git leaves both sides of a merge in the file; the next edit puts it right.
            let mut list = match FeatureList::parse(text) {
                Ok(list) => list,
                Err(why) => FeatureList::parse(
                    &super::feature_list_merge::one_list(text).ok_or_else(|| unreadable(why))?,
                )
                .map_err(unreadable)?,
            };
            if let Some(unused) = &feature_file.unused {
                list.problems.push(format!(
                    "`{unused}` also exists but is not used; `{}` is used",
                    feature_file.path
                ));
            }
            Ok(Some(list))
        }
    }
}
