//! How much a test run is worth as evidence.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who vouches for a test run, from the weakest to the strongest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceSource {
    /// An agent or a person says so.
    #[default]
    #[serde(alias = "reported")]
    Told,
    /// The host's hook saw the run.
    #[serde(alias = "captured")]
    Seen,
    /// `twining verify --ci` found it good on a clean machine.
    Ci,
}

impl EvidenceSource {
    /// The word for it in files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Told => "told",
            Self::Seen => "seen",
            Self::Ci => "ci",
        }
    }
}
