//! How much a test run is worth as evidence.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words::words;

words! {
    /// Who vouches for a test run, from the weakest to the strongest.
    #[derive(Default)]
    EvidenceSource {
        /// An agent or a person says so.
        #[default]
        #[serde(alias = "reported")]
        Told = "told",
        /// The host's hook saw the run.
        #[serde(alias = "captured")]
        Seen = "seen",
        /// `twining verify --ci` found it good on a clean machine.
        Ci = "ci",
    }
}
