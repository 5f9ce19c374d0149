//! `record-turn`: what a turn of player and coach came to.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use twining_engine::{Failure, RecordTurnInput, TurnRecorded};

use super::words::{self, TURN_MODES, VERDICTS};
use crate::desk::Desk;
use crate::page::{Page, dim, good, place, plain, warn};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct RecordTurn;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    #[arg(help = "The task's id")]
    task: String,
    #[arg(help = "The turn's number, from 1")]
    turn: u64,
    #[arg(help = "The feature's id; default: from the task's, so that TASK-GE-1 is of FEAT-GE", long)]
    feature: Option<String>,
    /// What the player did
    #[arg(long)]
    player_decision: String,
    #[schemars(extend("enum" = VERDICTS))]
    #[arg(help = "approve, revise or escalate", long)]
    coach_decision: String,
    #[arg(help = "How far the task is", long)]
    progress_summary: String,
    #[serde(default, deserialize_with = "words::list")]
    #[arg(help = "What stood in the way; repeat the flag for more", long = "blocker", value_name = "TEXT")]
    blockers_found: Vec<String>,
    /// verified, pending, rejected or blocked
    #[serde(default, deserialize_with = "words::properties")]
    #[schemars(with = "std::collections::BTreeMap<String, String>")]
    #[arg(help = "A criterion and whether it is verified, pending, rejected or blocked", long = "criterion", value_name = "NAME=STATUS", value_parser = words::property)]
    acceptance_criteria_status: Vec<(String, String)>,
    #[schemars(extend("enum" = TURN_MODES))]
    #[arg(help = "fresh_start, continuing_work or recovering_state; default by number", long)]
    mode: Option<String>,
    #[schemars(with = "Map<String, Value>")]
    #[serde(default)]
    #[arg(help = "What the gates said, as JSON", long = "gate-results", value_name = "JSON", value_parser = words::json)]
    quality_gate_results: Option<Value>,
    #[arg(help = "What the player did, at more length", long)]
    player_summary: Option<String>,
    #[arg(help = "What the coach wants changed", long)]
    coach_feedback: Option<String>,
    #[serde(default, deserialize_with = "words::list")]
    #[arg(help = "Files that were changed, with commas between", long = "file", value_name = "PATH", value_delimiter = ',')]
    files_modified: Vec<String>,
    #[arg(help = "Tests that passed", long, value_name = "N")]
    tests_passed: Option<u64>,
    #[arg(help = "Tests that failed", long, value_name = "N")]
    tests_failed: Option<u64>,
    #[arg(help = "As a fraction or in percent", long)]
    coverage: Option<f64>,
    #[arg(help = "The architecture review's score, to 100", long)]
    arch_score: Option<f64>,
    #[arg(help = "When it began", long, value_name = "TIME")]
    started_at: Option<String>,
    #[arg(help = "When it ended; default now", long, value_name = "TIME")]
    completed_at: Option<String>,
    #[serde(default, deserialize_with = "words::list")]
    #[arg(help = "What it taught; repeat the flag for more", long = "lesson", value_name = "TEXT")]
    lessons_from_turn: Vec<String>,
    #[arg(help = "Where the next turn should begin", long)]
    what_to_try_next: Option<String>,
    #[arg(help = "Whether the feature is finished; its turns may then make room", long, value_name = "BOOL")]
    feature_completed: Option<bool>,
    #[arg(skip)]
    agent_id: Option<String>,
}

impl Verb for RecordTurn {
    const NAME: &'static str = "record_turn";
    const GROUP: Group = Group::Governance;
    const TITLE: &'static str = "Record a turn";
    const ABOUT: &'static str = "Record what a player-coach turn came to, once the coach has judged it; the next turn's prompt shows it. The same turn again updates it.";
    const EXAMPLE: &'static str = "twining record-turn TASK-GE-001 2 --player-decision \"Added logout\" --coach-decision revise \\
      --progress-summary \"Timeout is open\" --criterion login=verified --criterion timeout=pending";
    const EFFECT: Effect = Effect::Changes;

    type Input = Input;
    type Output = TurnRecorded;

    fn run(desk: &Desk<'_>, input: Input) -> Result<TurnRecorded, Failure> {
        let Input {
            task,
            turn,
            feature,
            player_decision,
            coach_decision,
            progress_summary,
            blockers_found,
            acceptance_criteria_status,
            mode,
            quality_gate_results,
            player_summary,
            coach_feedback,
            files_modified,
            tests_passed,
            tests_failed,
            coverage,
            arch_score,
            started_at,
            completed_at,
            lessons_from_turn,
            what_to_try_next,
            feature_completed,
            agent_id,
        } = input;
        let draft = RecordTurnInput {
            task,
            turn,
            feature,
            player_decision,
            coach_decision,
            progress_summary,
            blockers_found,
            acceptance_criteria_status,
            mode,
            quality_gate_results,
            player_summary,
            coach_feedback,
            files_modified,
            tests_passed,
            tests_failed,
            coverage,
            arch_score,
            started_at,
            completed_at,
            lessons_from_turn,
            what_to_try_next,
            feature_completed,
            agent_id,
        };
        desk.engine.record_turn(&desk.caller, &draft)
    }

    fn show(recorded: &TurnRecorded, page: &mut Page) {
        let did = if recorded.updated { "updated" } else { "recorded" };
        page.line([good(did), plain(&recorded.id), place(&recorded.path)]);
        recorded.notes.iter().for_each(|note| page.line([warn("note"), plain(note)]));
        recorded.pruned.iter().for_each(|path| page.line([dim("made room"), place(path)]));
    }
}
