//! The graph: what the code is made of.

use twining_engine::{
    AddEntityInput, AddRelationInput, AddedOutcome, Failure, GraphQueryInput, GraphQueryOutcome,
    NeighborsInput, NeighborsOutcome, PathInput, PathOutcome, PruneInput, PruneOutcome,
};

use super::rows;
use crate::project::CommandContext;
use crate::render::text_page::{TextPage, count, dim, good, plain, warn};
use crate::verbs::verb::{Effect, Verb};

impl Verb for AddEntityInput {
    const NAME: &'static str = "add_entity";
    const ABOUT: &'static str =
        "Add a code entity to the graph. An existing name and type is updated: properties merge.";
    const EXAMPLE: &'static str =
        "twining add-entity SessionStore class --property file=src/auth/session.ts";
    const EFFECT: Effect = Effect::AddsOnce;
    const WORDS: &'static [&'static str] = &["name", "type"];
    const DESCRIBED: &'static [&'static str] = &["agent_id"];

    type Output = AddedOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<AddedOutcome, Failure> {
        ctx.engine.add_entity(&ctx.caller, self)
    }

    fn show(added: &AddedOutcome, page: &mut TextPage) {
        page.line([good(if added.created { "added" } else { "known" }), plain(&added.id)]);
    }
}

impl Verb for AddRelationInput {
    const NAME: &'static str = "add_relation";
    const ABOUT: &'static str = "Record how two entities relate.";
    const EXAMPLE: &'static str = "twining add-relation SessionStore depends_on redis";
    const EFFECT: Effect = Effect::AddsOnce;
    const WORDS: &'static [&'static str] = &["source", "type", "target"];
    const DESCRIBED: &'static [&'static str] = &["source", "target", "agent_id"];

    type Output = AddedOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<AddedOutcome, Failure> {
        ctx.engine.add_relation(&ctx.caller, self)
    }

    fn show(added: &AddedOutcome, page: &mut TextPage) {
        page.line([good(if added.created { "added" } else { "known" }), plain(&added.id)]);
    }
}

impl Verb for NeighborsInput {
    const NAME: &'static str = "neighbors";
    const ABOUT: &'static str = "The neighbours of an entity.";
    const EXAMPLE: &'static str = "twining neighbors SessionStore --depth 2";
    const EFFECT: Effect = Effect::Reads;
    const WORDS: &'static [&'static str] = &["entity"];
    const DESCRIBED: &'static [&'static str] = &["entity", "depth"];

    type Output = NeighborsOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<NeighborsOutcome, Failure> {
        ctx.engine.neighbors(self)
    }

    fn show(outcome: &NeighborsOutcome, page: &mut TextPage) {
        page.table(0, [rows::entity_row(&outcome.center)]);
        let rows = outcome.neighbors.iter().map(|neighbor| {
            let arrow = rows::arrow(&neighbor.relation, neighbor.direction);
            [dim(neighbor.depth.to_string()), plain(arrow)]
                .into_iter()
                .chain(rows::walked_entity_row(&neighbor.entity))
                .collect()
        });
        page.table(2, rows);
        rows::truncated_note(
            page,
            outcome.truncated,
            "ask for a smaller depth or for one relation type",
        );
    }
}

impl Verb for PathInput {
    const NAME: &'static str = "path";
    const ABOUT: &'static str = "The shortest path between two entities.";
    const EXAMPLE: &'static str = "twining path LoginPage redis";
    const EFFECT: Effect = Effect::Reads;
    const WORDS: &'static [&'static str] = &["from", "to"];
    const DESCRIBED: &'static [&'static str] = &["from", "to", "max_depth"];

    type Output = PathOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<PathOutcome, Failure> {
        ctx.engine.path(self)
    }

    fn show(outcome: &PathOutcome, page: &mut TextPage) {
        if !outcome.found {
            page.line([dim("no path")]);
            rows::truncated_note(
                page,
                outcome.truncated,
                "the search stopped at its limit; ask for one relation type",
            );
            return;
        }
        page.line([dim(count(outcome.length, "step"))]);
        let rows = outcome.path.iter().map(|step| {
            let arrow = match (&step.relation, &step.direction) {
                (Some(relation), Some(direction)) => rows::arrow(relation, *direction),
                _ => String::new(),
            };
            std::iter::once(plain(arrow)).chain(rows::walked_entity_row(&step.entity)).collect()
        });
        page.table(2, rows);
    }
}

impl Verb for GraphQueryInput {
    const NAME: &'static str = "graph_query";
    const ABOUT: &'static str = "Find entities by name or property.";
    const EXAMPLE: &'static str = "twining graph-query session --type class,module";
    const EFFECT: Effect = Effect::Reads;
    const WORDS: &'static [&'static str] = &["query"];
    const DESCRIBED: &'static [&'static str] = &["query", "limit"];

    type Output = GraphQueryOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<GraphQueryOutcome, Failure> {
        ctx.engine.graph_query(self)
    }

    fn show(outcome: &GraphQueryOutcome, page: &mut TextPage) {
        if outcome.entities.is_empty() {
            page.line([dim("nothing matches")]);
        }
        page.table(0, outcome.entities.iter().map(rows::entity_row));
        rows::truncated_note(page, outcome.truncated, "raise --limit or give more of the name");
    }
}

impl Verb for PruneInput {
    const NAME: &'static str = "prune_graph";
    const ABOUT: &'static str = "Remove entities without relations, and dangling relations.";
    const EXAMPLE: &'static str = "twining prune-graph --dry-run false";
    const EFFECT: Effect = Effect::Removes;
    const DESCRIBED: &'static [&'static str] = &["dry_run", "agent_id"];

    type Output = PruneOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<PruneOutcome, Failure> {
        ctx.engine.prune_graph(&ctx.caller, self)
    }

    fn show(outcome: &PruneOutcome, page: &mut TextPage) {
        let verb = if outcome.dry_run { warn("would remove") } else { good("removed") };
        let entities = count(outcome.removed_entity_count, "entity");
        page.line([
            verb,
            plain(entities),
            dim("and"),
            plain(count(outcome.removed_relation_count, "relation")),
        ]);
        let rows = outcome
            .removed_entities
            .iter()
            .map(|entity| vec![dim(&entity.id), dim(&entity.kind), plain(&entity.name)]);
        page.table(2, rows);
        if outcome.dry_run && outcome.removed_entity_count + outcome.removed_relation_count > 0 {
            page.line([dim("to do it: twining prune-graph --dry-run false")]);
        }
    }
}
