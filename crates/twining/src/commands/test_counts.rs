//! Counts of tests, as several verbs take them.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;

/// How tests went.
#[derive(Debug, Default, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields, default)]
pub struct Tests {
    #[arg(help = "Tests that were run", long = "tests-run", value_name = "N")]
    pub run: Option<u64>,
    #[arg(help = "Tests that passed", long = "tests-passed", value_name = "N")]
    pub passed: Option<u64>,
    #[arg(help = "Tests that failed", long = "tests-failed", value_name = "N")]
    pub failed: Option<u64>,
}
