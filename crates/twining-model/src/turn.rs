//! Turns: what one round of player and coach came to, one file each.
//!
//! The file's place is its identity, so writing a turn twice is an update and
//! two agents on two tasks never meet in one file. Feature and task are names
//! that people choose: a [`TurnName`] is what makes one safe as a folder.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::entry::Origin;
use crate::limits;
use crate::limits::InvalidInput;
use crate::string_enums::words;

/// The name of a feature or a task.
///
/// Invariant: one line of 1 to 64 bytes without control characters, no blanks at
/// its ends.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TurnName(String);

impl TurnName {
    /// Reads a name that a caller gave for `field`.
    pub fn parse(field: &'static str, text: &str) -> Result<Self, InvalidInput> {
        let name = text.trim();
        if name.is_empty() {
            return Err(InvalidInput::new(field, "must not be empty"));
        }
        if name.len() > limits::TURN_NAME_BYTES {
            return Err(InvalidInput::new(
                field,
                format!("must be at most {} bytes", limits::TURN_NAME_BYTES),
            )
            .because(format!("{} were given; use the short id", name.len())));
        }
        if name.chars().any(char::is_control) {
            return Err(InvalidInput::new(field, "must be one line without control characters"));
        }
        Ok(Self(name.to_owned()))
    }

    /// The name as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Directory that encodes the name: letters, digits, `-`, `_` and inner dots unchanged, every
    /// other byte as `%XX`. Two names never share one, and none escapes its parent.
    #[must_use]
    pub fn folder(&self) -> String {
        let bytes = self.0.as_bytes();
        let mut folder = String::with_capacity(bytes.len());
        for (at, &byte) in bytes.iter().enumerate() {
            let inner_dot = byte == b'.' && at > 0 && at + 1 < bytes.len();
            let plain = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') || inner_dot;
            // A device name of another system is a file nobody there can check out.
            if plain && !(at == 0 && is_device(&self.0)) {
                folder.push(char::from(byte));
            } else {
                folder.push_str(&format!("%{byte:02X}"));
            }
        }
        folder
    }
}

fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().to_ascii_uppercase();
    let numbered = |device: &str| {
        stem.strip_prefix(device)
            .is_some_and(|rest| rest.len() == 1 && rest.as_bytes()[0].is_ascii_digit())
    };
    matches!(stem.as_str(), "CON" | "PRN" | "AUX" | "NUL") || numbered("COM") || numbered("LPT")
}

impl std::fmt::Display for TurnName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Which turn: of which task of which feature.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TurnKey {
    /// The feature.
    pub feature: TurnName,
    /// The task.
    pub task: TurnName,
    /// The turn's number, from 1.
    pub number: u32,
}

impl TurnKey {
    /// The turn's id, independent of the writer.
    #[must_use]
    pub fn id(&self) -> String {
        format!("TURN-{}-{}-T{}", self.feature, self.task, self.number)
    }

    /// The file's name in its task's folder.
    #[must_use]
    pub fn file(&self) -> String {
        format!("T{}.json", self.number)
    }
}

/// The number in a turn's file name; `None` for any other file.
#[must_use]
pub fn number_of(file: &str) -> Option<u32> {
    let digits = file.strip_prefix('T')?.strip_suffix(".json")?;
    let number: u32 = digits.parse().ok()?;
    // `T01.json` and `T+1.json` would be a second file of turn 1.
    (number > 0 && number.to_string() == digits).then_some(number)
}

/// A turn as stored in its file. What another program left out, or wrote as
/// `null`, counts as missing; unknown fields stay in the file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Turn {
    /// `TURN-{feature}-{task}-T{n}`.
    #[serde(deserialize_with = "or_nothing")]
    pub id: String,
    /// The feature that is built.
    #[serde(deserialize_with = "or_nothing")]
    pub feature_id: String,
    /// The feature's task of this turn.
    #[serde(deserialize_with = "or_nothing")]
    pub task_id: String,
    /// From 1.
    #[serde(deserialize_with = "or_nothing")]
    pub turn_number: u32,
    /// `fresh_start`, `continuing_work` or `recovering_state`.
    #[serde(deserialize_with = "or_nothing", skip_serializing_if = "String::is_empty")]
    pub mode: String,
    /// What the player chose to do.
    #[serde(deserialize_with = "or_nothing")]
    pub player_decision: String,
    /// What the player did, at more length.
    #[serde(deserialize_with = "or_nothing", skip_serializing_if = "String::is_empty")]
    pub player_summary: String,
    /// `approve`, `revise` or `escalate`.
    #[serde(deserialize_with = "or_nothing")]
    pub coach_decision: String,
    /// What the coach wants changed.
    #[serde(deserialize_with = "or_nothing", skip_serializing_if = "String::is_empty")]
    pub coach_feedback: String,
    /// How far the task is.
    #[serde(deserialize_with = "or_nothing")]
    pub progress_summary: String,
    /// What blocked it.
    #[serde(deserialize_with = "or_nothing", skip_serializing_if = "Vec::is_empty")]
    pub blockers_found: Vec<String>,
    /// Each criterion's status: `verified`, `pending`, `rejected` or `blocked`.
    #[serde(deserialize_with = "or_nothing", skip_serializing_if = "BTreeMap::is_empty")]
    pub acceptance_criteria_status: BTreeMap<String, String>,
    /// The gate results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quality_gate_results: Option<Value>,
    /// Files that were changed.
    #[serde(deserialize_with = "or_nothing", skip_serializing_if = "Vec::is_empty")]
    pub files_modified: Vec<String>,
    /// Tests that passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests_passed: Option<u64>,
    /// Tests that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tests_failed: Option<u64>,
    /// Coverage as a fraction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<f64>,
    /// The architecture review's score, 0 to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arch_score: Option<f64>,
    /// When the turn began, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<String>,
    /// How long it took, where both ends are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_seconds: Option<f64>,
    /// Lessons learned.
    #[serde(deserialize_with = "or_nothing", skip_serializing_if = "Vec::is_empty")]
    pub lessons_from_turn: Vec<String>,
    /// Where the next turn should begin.
    #[serde(deserialize_with = "or_nothing", skip_serializing_if = "String::is_empty")]
    pub what_to_try_next: String,
    /// Whether the feature was finished with this turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feature_completed: Option<bool>,
    /// Who recorded it, self-reported.
    #[serde(deserialize_with = "or_nothing", skip_serializing_if = "String::is_empty")]
    pub agent_id: String,
    /// Who recorded it, as seen by the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// When it was first recorded.
    #[serde(deserialize_with = "or_nothing", skip_serializing_if = "String::is_empty")]
    pub timestamp: String,
    /// When it was last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
}

fn or_nothing<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

words! {
    /// Who vouches for a test run, from the weakest to the strongest.
    #[derive(Default)]
    pub enum EvidenceSource {
        /// An agent or a person says so.
        #[default]
        #[serde(rename = "told", alias = "reported")]
        Reported = "told",
        /// The host's hook saw the run.
        #[serde(alias = "captured")]
        Seen = "seen",
        /// `twining verify --ci` found it good on a clean machine.
        Ci = "ci",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use twining_testcases::each;

    use super::*;

    fn name(text: &str) -> TurnName {
        TurnName::parse("feature", text).expect("a name")
    }

    #[test]
    fn an_id_is_the_same_for_everyone_who_names_the_turn() {
        let key = TurnKey { feature: name("FEAT-001"), task: name(" TASK-003 "), number: 2 };
        assert_eq!(
            (key.id().as_str(), key.file().as_str()),
            ("TURN-FEAT-001-TASK-003-T2", "T2.json")
        );
        assert_eq!(key.feature.folder(), "FEAT-001");
    }

    #[test]
    fn a_hostile_name_is_a_harmless_folder_or_refused() {
        each(
            [
                ("..", "%2E%2E"),
                (".", "%2E"),
                ("../../etc", "%2E.%2F..%2Fetc"),
                ("a/b", "a%2Fb"),
                ("a\\b", "a%5Cb"),
                ("v1.2", "v1.2"),
                ("v1.", "v1%2E"),
                ("nul", "%6Eul"),
                ("COM1.x", "%43OM1.x"),
                ("100%", "100%25"),
                ("é", "%C3%A9"),
            ],
            |(given, folder)| {
                assert_eq!(name(given).folder(), folder, "{given}");
                assert!(!name(given).folder().contains('/'));
            },
        );
        for refused in ["", "  ", "a\0b", "two\nlines", &"x".repeat(65)] {
            assert!(TurnName::parse("feature", refused).is_err(), "{refused:?}");
        }
    }

    #[test]
    fn only_the_plain_spelling_of_a_number_is_a_turn() {
        assert_eq!(number_of("T12.json"), Some(12));
        each(
            [
                "T0.json",
                "T01.json",
                "T+1.json",
                "T-1.json",
                "T1.json.tmp",
                "t1.json",
                "T.json",
                "T99999999999.json",
            ],
            |other| {
                assert_eq!(number_of(other), None, "{other}");
            },
        );
    }

    #[test]
    fn a_turn_of_another_program_is_read_with_its_nulls() {
        let turn: Turn = serde_json::from_str(
            r#"{"id":"TURN-FEAT-X-1","feature_id":"FEAT-X","turn_number":1,"coach_decision":"feedback","tests_passed":null,
            "lessons_from_turn":null,"what_to_try_next":null,"acceptance_criteria_status":{},"started_at":"2026-06-26T08:09:47.314514"}"#,
        )
        .expect("reads");
        assert_eq!(
            (turn.feature_id.as_str(), turn.tests_passed, turn.lessons_from_turn.len()),
            ("FEAT-X", None, 0)
        );
    }

    proptest! {
        #[test]
        fn two_names_never_share_a_folder(a in "[aA./%2F é]{1,6}", b in "[aA./%2F é]{1,6}") {
            if let (Ok(a), Ok(b)) = (TurnName::parse("f", &a), TurnName::parse("f", &b)) {
                prop_assert_eq!(a == b, a.folder() == b.folder());
                prop_assert!(a.folder().len() <= 3 * limits::TURN_NAME_BYTES && a.folder() != "." && a.folder() != "..");
            }
        }
    }
}
