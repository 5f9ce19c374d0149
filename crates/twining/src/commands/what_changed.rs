//! `what_changed`: what happened since a moment.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{ChangedDecision, EndedDecision, Failure, WhatChangedInput, WhatChangedOutcome};

use super::{shown, words};
use crate::desk::Desk;
use crate::page::{Page, count, dim, kind, plain, strong};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct WhatChanged;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// ISO 8601
    #[arg(help = "Since this time, such as 2026-11-14 or 2026-11-14T09:30:00Z", value_name = "TIME")]
    since: String,
    /// Default `project`
    #[arg(help = words::SCOPE)]
    scope: Option<String>,
    /// Of each list; default 50
    #[arg(long, value_name = "N", value_parser = words::number)]
    limit: Option<usize>,
}

impl Verb for WhatChanged {
    const NAME: &'static str = "what_changed";
    const GROUP: Group = Group::Context;
    const TITLE: &'static str = "What changed";
    const ABOUT: &'static str = "What was decided, given up, doubted and posted since a time. Good when you come back.";
    const EXAMPLE: &'static str = "twining what-changed 2026-11-14 src/auth/";
    const EFFECT: Effect = Effect::Reads;

    type Input = Input;
    type Output = WhatChangedOutcome;

    fn run(desk: &Desk<'_>, input: Input) -> Result<WhatChangedOutcome, Failure> {
        let Input { since, scope, limit } = input;
        desk.engine.what_changed(&WhatChangedInput { since, scope, limit })
    }

    fn show(outcome: &WhatChangedOutcome, page: &mut Page) {
        let changed = |decisions: &[ChangedDecision]| -> Vec<_> {
            decisions.iter().map(|decision| vec![dim(&decision.id), strong(&decision.summary)]).collect()
        };
        let ended = |decisions: &[EndedDecision]| -> Vec<_> {
            decisions.iter().map(|decision| vec![dim(&decision.id), strong(&decision.summary), plain(&decision.reason)]).collect()
        };
        let entries: Vec<_> =
            outcome.new_entries.iter().map(|entry| vec![dim(&entry.id), kind(&entry.entry_type), plain(&entry.summary)]).collect();
        let sections = [
            ("Decided", changed(&outcome.new_decisions)),
            ("Overridden", ended(&outcome.overridden_decisions)),
            ("Put in doubt", ended(&outcome.reconsidered_decisions)),
            ("Superseded", ended(&outcome.superseded_decisions)),
            ("In force again", changed(&outcome.promoted_decisions)),
            ("Posted", entries),
        ];
        if sections.iter().all(|(_, rows)| rows.is_empty()) {
            page.line([dim("nothing changed")]);
        }
        for (heading, rows) in sections {
            shown::section(page, heading, rows.into_iter());
        }
        if outcome.omitted_count > 0 {
            page.line([dim(format!("{} not shown", count(outcome.omitted_count, "change")))]);
        }
    }
}
