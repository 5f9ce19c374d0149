//! Anchors: which code a record speaks of, and what was seen there; one line each, written once
//! and never changed. Of the lines for one record and place the newest counts.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::entry::Origin;
use crate::limits::{self, InvalidInput};
use crate::scope::{CaseFolding, ProjectRoot, Scope};
use crate::string_enums::words;
use crate::text;

words! {
    /// Why a record is anchored there.
    pub enum AnchorRole {
        /// The record names it as affected.
        Affected = "affected",
        /// The record's text names it.
        Mention = "mention",
        /// It is the record's scope, or its path.
        Scope = "scope",
    }
}

words! {
    /// What a line says of its anchor.
    pub enum AnchorEvent {
        /// The record was made, and this was seen.
        Made = "made",
        /// Somebody looked again: the record still holds.
        Confirmed = "confirmed",
        /// The code is here now.
        Reanchored = "reanchored",
        /// The record no longer speaks of this place.
        Released = "released",
        /// A record from before there were anchors was bound to what its time had there.
        Assumed = "assumed",
        /// Somebody looked at a finding, and wants to hear no more of it.
        Kept = "kept",
    }
}

/// The record that an anchor is of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub enum AnchoredRecord {
    /// A decision, by its id.
    Decision(String),
    /// An entry of the blackboard, by its id.
    Entry(String),
    /// A node of the knowledge graph, by its id.
    Node(String),
    /// A feature, by its id.
    Feature(String),
    /// One of a kind that only a newer version knows, as it is written.
    Other(String),
}

impl AnchoredRecord {
    /// Its id, without its kind.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Decision(id)
            | Self::Entry(id)
            | Self::Node(id)
            | Self::Feature(id)
            | Self::Other(id) => id,
        }
    }
}

impl From<String> for AnchoredRecord {
    fn from(text: String) -> Self {
        let kind = match text.split_once(':') {
            Some(("decision", _)) => Self::Decision,
            Some(("entry", _)) => Self::Entry,
            Some(("node", _)) => Self::Node,
            Some(("feature", _)) => Self::Feature,
            _ => return Self::Other(text),
        };
        kind(text.split_once(':').map(|(_, id)| id.to_owned()).unwrap_or_default())
    }
}

impl FromStr for AnchoredRecord {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self::from(text.to_owned()))
    }
}

impl fmt::Display for AnchoredRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decision(id) => write!(f, "decision:{id}"),
            Self::Entry(id) => write!(f, "entry:{id}"),
            Self::Node(id) => write!(f, "node:{id}"),
            Self::Feature(id) => write!(f, "feature:{id}"),
            Self::Other(text) => f.write_str(text),
        }
    }
}

impl From<AnchoredRecord> for String {
    fn from(record: AnchoredRecord) -> Self {
        record.to_string()
    }
}

impl JsonSchema for AnchoredRecord {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "AnchoredRecord".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        String::json_schema(generator)
    }
}

/// Where code is: a file, or a definition in one. Written `path`, `path#Outer.name`, and
/// `path#Outer.name~2` for the second definition of that name; in a path `#` is `%23` and `%` is
/// `%25`.
///
/// Invariant: the path is relative, `/`-separated, without `.` and `..`, and no folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Place {
    path: String,
    name: Option<String>,
    nth: u32,
}

impl Place {
    /// A file as a whole.
    pub fn file(path: &str) -> Result<Self, InvalidInput> {
        check_path(path)?;
        Ok(Self { path: path.to_owned(), name: None, nth: 1 })
    }

    /// The `nth` definition of a name in a file, from one.
    pub fn definition(path: &str, name: &str, nth: u32) -> Result<Self, InvalidInput> {
        let file = Self::file(path)?;
        text::bounded(FIELD, name, limits::ELEMENT_BYTES)?;
        if name.is_empty() || name.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(InvalidInput::new(FIELD, "must name a definition after `#`"));
        }
        // Printed, a name that ends like a number would be read as another one's.
        if nth == 0 || split_number(name).is_some() {
            return Err(InvalidInput::new(FIELD, "must count definitions of one name from one"));
        }
        Ok(Self { name: Some(name.to_owned()), nth, ..file })
    }

    /// Takes a place an agent gave. An absolute path inside the project becomes relative to it; a
    /// path outside, or a folder, is refused.
    pub fn parse(
        field: &'static str,
        given: &str,
        root: &ProjectRoot,
    ) -> Result<Self, InvalidInput> {
        let named = |error: InvalidInput| InvalidInput { field: field.into(), ..error };
        let (path, name) = split_name(given.trim());
        let scope = Scope::parse(field, &unescape(path), root)?;
        match name {
            Some(name) => {
                let (name, nth) = split_number(name).unwrap_or((name, 1));
                Self::definition(scope.as_str(), name, nth).map_err(named)
            }
            None => Self::file(scope.as_str()).map_err(named),
        }
    }

    /// The file, from the project's folder.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The definition, with those around it: `Outer.name`; none for the file as a whole.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The last part of the definition's name.
    #[must_use]
    pub fn last_name(&self) -> Option<&str> {
        self.name().map(|name| name.rsplit('.').next().unwrap_or(name))
    }

    /// Which of the definitions of that name it is, from one.
    #[must_use]
    pub fn nth(&self) -> u32 {
        self.nth
    }

    /// The form two files are compared in.
    #[must_use]
    pub fn path_key(&self, folding: CaseFolding) -> String {
        Scope::read(&self.path).key(folding)
    }
}

impl FromStr for Place {
    type Err = InvalidInput;

    /// Reads a place as it is written in a file.
    fn from_str(text: &str) -> Result<Self, InvalidInput> {
        let (path, name) = split_name(text);
        let path = unescape(path);
        match name {
            Some(name) => {
                let (name, nth) = split_number(name).unwrap_or((name, 1));
                Self::definition(&path, name, nth)
            }
            None => Self::file(&path),
        }
    }
}

impl TryFrom<String> for Place {
    type Error = InvalidInput;

    fn try_from(text: String) -> Result<Self, InvalidInput> {
        text.parse()
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path.replace('%', "%25").replace('#', "%23"))?;
        match (&self.name, self.nth) {
            (None, _) => Ok(()),
            (Some(name), 1) => write!(f, "#{name}"),
            (Some(name), nth) => write!(f, "#{name}~{nth}"),
        }
    }
}

impl From<Place> for String {
    fn from(place: Place) -> Self {
        place.to_string()
    }
}

impl JsonSchema for Place {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Place".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        String::json_schema(generator)
    }
}

const FIELD: &str = "at";

fn check_path(path: &str) -> Result<(), InvalidInput> {
    let scope = Scope::parse(FIELD, path, &ProjectRoot::default())?;
    if path.ends_with('/') || scope.as_str() == crate::scope::PROJECT {
        return Err(InvalidInput::new(FIELD, "must be a file of the project"));
    }
    if scope.as_str() != path {
        return Err(InvalidInput::new(FIELD, "must be a plain path from the project's folder")
            .because(format!("`{}` is not", text::excerpt(path, 80))));
    }
    Ok(())
}

fn split_name(text: &str) -> (&str, Option<&str>) {
    text.split_once('#').map_or((text, None), |(path, name)| (path, Some(name)))
}

/// A name and the number behind its last `~`, if it is one from two on.
fn split_number(name: &str) -> Option<(&str, u32)> {
    let (before, digits) = name.rsplit_once('~')?;
    let is_number = !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit());
    let nth: u32 = digits.parse().ok().filter(|nth| is_number && *nth > 1)?;
    (!before.is_empty()).then_some((before, nth))
}

fn unescape(path: &str) -> String {
    path.replace("%23", "#").replace("%25", "%")
}

/// What was looked at.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SeenCode {
    /// git's id of the file's bytes as they were in the checkout.
    pub blob: String,
    /// The commit that was checked out; none before the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Whether the file differed from that commit.
    #[serde(skip_serializing_if = "is_false")]
    pub dirty: bool,
    /// Fields from other versions, unchanged.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Map<String, Value>,
}

/// One line of `anchors.jsonl`.
///
/// Types are loose where a file may contain unknown values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Anchor {
    /// ULID; first, so that it is found without parsing the whole line.
    pub id: String,
    /// The record: `decision:`, `entry:`, `node:` or `feature:`, and its id.
    pub of: AnchoredRecord,
    /// Where the code is: `path#Outer.name`.
    pub at: Place,
    /// What is there: `function`, `class`, `file` and so on.
    #[serde(default)]
    pub kind: String,
    /// One of the anchor roles.
    #[serde(default)]
    pub role: String,
    /// What was looked at.
    #[serde(default)]
    pub seen: SeenCode,
    /// The version of the token rules that the next five fields were made by.
    #[serde(default)]
    pub v: u32,
    /// Hash of the signature's tokens, 16 hex digits.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sig: String,
    /// Hash of the body's tokens, 16 hex digits.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub body: String,
    /// What likeness is estimated from, 32 bytes in base64.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sketch: String,
    /// How many tokens there were.
    #[serde(default)]
    pub tokens: u32,
    /// Words of the record that stood in the code.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
    /// Hashes of the lines that the record named, 8 hex digits each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
    /// One of the anchor events.
    #[serde(default)]
    pub event: String,
    /// ISO 8601.
    #[serde(default)]
    pub timestamp: String,
    /// Who looked, by their own name.
    #[serde(default)]
    pub agent_id: String,
    /// Who wrote it, as seen by the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Fields from other versions, unchanged.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: Map<String, Value>,
}

impl Anchor {
    /// An anchor that says nothing yet of what was seen.
    #[must_use]
    pub fn new(
        id: String,
        of: AnchoredRecord,
        at: Place,
        role: AnchorRole,
        event: AnchorEvent,
    ) -> Self {
        Self {
            id,
            of,
            at,
            kind: String::new(),
            role: role.as_str().to_owned(),
            seen: SeenCode::default(),
            v: 0,
            sig: String::new(),
            body: String::new(),
            sketch: String::new(),
            tokens: 0,
            words: Vec::new(),
            lines: Vec::new(),
            event: event.as_str().to_owned(),
            timestamp: String::new(),
            agent_id: String::new(),
            origin: None,
            extra: Map::new(),
        }
    }

    /// The role, if it is one we know.
    #[must_use]
    pub fn role(&self) -> Option<AnchorRole> {
        AnchorRole::read(&self.role)
    }

    /// The event, if it is one we know.
    #[must_use]
    pub fn event(&self) -> Option<AnchorEvent> {
        AnchorEvent::read(&self.event)
    }

    /// Refuses more than a line may hold.
    pub fn check(&self) -> Result<(), InvalidInput> {
        limits::at_most("words", &self.words, limits::ANCHOR_WORDS)?;
        limits::at_most("lines", &self.lines, limits::ANCHOR_LINES)
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;
    use twining_testcases::each;

    use super::*;

    #[test]
    fn a_line_of_a_newer_version_keeps_what_we_do_not_know() {
        let line = r#"{"id":"A1","of":"turn:F/T/1","at":"src/a.rs#Signer.sign~2","kind":"macro","role":"rumour","seen":{"blob":"9f3c","commit":"3fa2","dirty":true,"tree":"x"},"v":7,"sig":"9c1d04e2b7a65f10","body":"07fe11d2a94c3b58","sketch":"AAAA","tokens":214,"words":["bcrypt"],"lines":["ab12cd34"],"event":"dreamt","timestamp":"2026-11-15T09:00:00.000Z","agent_id":"alice","mood":1}"#;
        let anchor: Anchor = serde_json::from_str(line).expect("reads");
        assert_eq!(anchor.of, AnchoredRecord::Other("turn:F/T/1".to_owned()));
        assert_eq!((anchor.role(), anchor.event()), (None, None));
        assert_eq!(serde_json::to_string(&anchor).expect("writes"), line);
    }

    #[test]
    fn an_anchor_says_which_record_it_is_of() {
        each(["decision", "entry", "node", "feature"], |kind| {
            let text = format!("{kind}:01M7EB3Q:x");
            let record: AnchoredRecord = text.parse().expect("any text is one");
            assert_eq!((record.id(), record.to_string()), ("01M7EB3Q:x", text));
            assert!(!matches!(record, AnchoredRecord::Other(_)));
        });
    }

    #[test]
    fn a_place_is_read_as_it_is_written() {
        let cases = [
            ("src/a.rs", ("src/a.rs", None, 1)),
            ("src/a.rs~2", ("src/a.rs~2", None, 1)),
            ("src/a.rs#Signer.sign", ("src/a.rs", Some("Signer.sign"), 1)),
            ("src/a.rs#Signer.sign~2", ("src/a.rs", Some("Signer.sign"), 2)),
            ("a.cpp#Foo.~Foo", ("a.cpp", Some("Foo.~Foo"), 1)),
            ("a.js#Foo.#hidden", ("a.js", Some("Foo.#hidden"), 1)),
            ("a%23b/%25.rs#f", ("a#b/%.rs", Some("f"), 1)),
        ];
        each(cases, |(text, (path, name, nth))| {
            let place: Place = text.parse().expect("a place");
            assert_eq!((place.path(), place.name(), place.nth()), (path, name, nth));
            assert_eq!(place.to_string(), text);
        });
    }

    #[test]
    fn a_place_outside_the_project_is_none() {
        each(
            [
                "",
                "#f",
                "/etc/passwd",
                "../a.rs",
                "src/../../a.rs",
                "src/../a.rs",
                "./a.rs",
                "src//a.rs",
                "src/",
                "project",
                "~/a.rs",
                "C:/a.rs",
                "a.rs#",
                "a.rs#f g",
                "a.rs#f~2~3",
                "a\nb.rs",
            ],
            |text| assert!(text.parse::<Place>().is_err(), "{text:?}"),
        );
        let line = r#"{"id":"A1","of":"decision:D","at":"../../etc/passwd#root"}"#;
        assert!(serde_json::from_str::<Anchor>(line).is_err());
    }

    #[test]
    fn an_agent_may_name_a_place_by_its_whole_path() {
        let root = ProjectRoot::new([Path::new("/home/ada/shop")]);
        let place = Place::parse("path", "/home/ada/shop/src/./a.rs#f", &root).expect("inside");
        assert_eq!(place.to_string(), "src/a.rs#f");
        let refused = Place::parse("path", "/etc/passwd#root", &root).expect_err("outside");
        assert_eq!(refused.field, "path");
    }

    #[test]
    fn an_anchor_with_too_many_words_is_refused() {
        let place = Place::file("a.rs").expect("a file");
        let of = AnchoredRecord::Decision("D".to_owned());
        let mut anchor =
            Anchor::new("A".to_owned(), of, place, AnchorRole::Affected, AnchorEvent::Made);
        anchor.check().expect("says little");
        anchor.words = vec!["w".to_owned(); limits::ANCHOR_WORDS + 1];
        assert_eq!(anchor.check().expect_err("too many").field, "words");
    }

    proptest! {
        #[test]
        fn a_place_comes_back_as_it_was(path in "[a-z#%~.]{1,3}/[a-zé #%~]{1,8}", name in proptest::option::of("[A-Za-z~#.0-9]{1,8}"), nth in 1..4_u32) {
            let made = match &name {
                Some(name) => Place::definition(&path, name, nth),
                None => Place::file(&path),
            };
            if let Ok(place) = made {
                prop_assert_eq!(place.to_string().parse::<Place>(), Ok(place));
            }
        }

        #[test]
        fn a_place_never_leaves_the_project(text in "\\PC{0,24}") {
            if let Ok(place) = text.parse::<Place>() {
                prop_assert!(!place.path().split('/').any(|part| ["", ".", ".."].contains(&part)));
                prop_assert_eq!(place.to_string().parse::<Place>(), Ok(place));
            }
        }
    }
}
