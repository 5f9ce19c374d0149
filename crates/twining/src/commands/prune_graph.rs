//! `prune_graph`: what hangs together with nothing.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{Failure, PruneInput, PruneOutcome};

use crate::desk::Desk;
use crate::page::{Page, count, dim, good, plain, warn};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct PruneGraph;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Only say what would go; default true
    #[arg(long, value_name = "BOOL")]
    dry_run: Option<bool>,
    /// Your name
    #[arg(skip)]
    agent_id: Option<String>,
}

impl Verb for PruneGraph {
    const NAME: &'static str = "prune_graph";
    const GROUP: Group = Group::Graph;
    const TITLE: &'static str = "Prune the graph";
    const ABOUT: &'static str = "Remove entities without relations, and relations without ends.";
    const EXAMPLE: &'static str = "twining prune-graph --dry-run false";
    const EFFECT: Effect = Effect::Removes;

    type Input = Input;
    type Output = PruneOutcome;

    fn run(desk: &Desk<'_>, input: Input) -> Result<PruneOutcome, Failure> {
        let Input { dry_run, agent_id } = input;
        // What is removed carries no name; one that is none is refused all the same.
        desk.signing(agent_id.as_deref())?;
        desk.engine.prune_graph(&PruneInput { dry_run })
    }

    fn show(outcome: &PruneOutcome, page: &mut Page) {
        let verb = if outcome.dry_run { warn("would remove") } else { good("removed") };
        let entities = count(outcome.removed_entity_count, "entity");
        page.line([verb, plain(entities), dim("and"), plain(count(outcome.removed_relation_count, "relation"))]);
        let rows = outcome.removed_entities.iter().map(|entity| vec![dim(&entity.id), dim(&entity.kind), plain(&entity.name)]);
        page.table(2, &rows.collect::<Vec<_>>());
        if outcome.dry_run && outcome.removed_entity_count + outcome.removed_relation_count > 0 {
            page.line([dim("to do it: twining prune-graph --dry-run false")]);
        }
    }
}
