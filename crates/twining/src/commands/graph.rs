//! The graph: what the code is made of.

use twining_engine::{
    AddEntityInput, AddRelationInput, EntityAdded, Failure, GraphQueryInput, GraphQueryOutcome, NeighborsInput, NeighborsOutcome,
    PathInput, PathOutcome, PruneInput, PruneOutcome, RelationAdded,
};

use super::shown;
use crate::desk::Desk;
use crate::page::{Page, count, dim, good, plain, warn};
use crate::verbs::{Effect, Group, Verb};

impl Verb for AddEntityInput {
    const NAME: &'static str = "add_entity";
    const GROUP: Group = Group::Graph;
    const TITLE: &'static str = "Add an entity";
    const ABOUT: &'static str = "Add a thing in the code to the graph. The same name and type is updated: properties merge.";
    const EXAMPLE: &'static str = "twining add-entity SessionStore class --property file=src/auth/session.ts";
    const EFFECT: Effect = Effect::AddsOnce;
    const WORDS: &'static [&'static str] = &["name", "type"];
    const DESCRIBED: &'static [&'static str] = &["agent_id"];

    type Output = EntityAdded;

    fn run(&self, desk: &Desk<'_>) -> Result<EntityAdded, Failure> {
        desk.engine.add_entity(&desk.caller, self)
    }

    fn show(added: &EntityAdded, page: &mut Page) {
        page.line([good(if added.created { "added" } else { "known" }), plain(&added.id)]);
    }
}

impl Verb for AddRelationInput {
    const NAME: &'static str = "add_relation";
    const GROUP: Group = Group::Graph;
    const TITLE: &'static str = "Add a relation";
    const ABOUT: &'static str = "Say how two entities hang together.";
    const EXAMPLE: &'static str = "twining add-relation SessionStore depends_on redis";
    const EFFECT: Effect = Effect::AddsOnce;
    const WORDS: &'static [&'static str] = &["source", "type", "target"];
    const DESCRIBED: &'static [&'static str] = &["source", "target", "agent_id"];

    type Output = RelationAdded;

    fn run(&self, desk: &Desk<'_>) -> Result<RelationAdded, Failure> {
        desk.engine.add_relation(&desk.caller, self)
    }

    fn show(added: &RelationAdded, page: &mut Page) {
        page.line([good(if added.created { "added" } else { "known" }), plain(&added.id)]);
    }
}

impl Verb for NeighborsInput {
    const NAME: &'static str = "neighbors";
    const GROUP: Group = Group::Graph;
    const TITLE: &'static str = "Neighbours of an entity";
    const ABOUT: &'static str = "The entities connected to one.";
    const EXAMPLE: &'static str = "twining neighbors SessionStore --depth 2";
    const EFFECT: Effect = Effect::Reads;
    const WORDS: &'static [&'static str] = &["entity"];
    const DESCRIBED: &'static [&'static str] = &["entity", "depth"];

    type Output = NeighborsOutcome;

    fn run(&self, desk: &Desk<'_>) -> Result<NeighborsOutcome, Failure> {
        desk.engine.neighbors(self)
    }

    fn show(outcome: &NeighborsOutcome, page: &mut Page) {
        page.table(0, &[shown::entity_row(&outcome.center)]);
        let rows = outcome.neighbors.iter().map(|neighbor| {
            let arrow = shown::arrow(&neighbor.relation, neighbor.direction);
            [dim(neighbor.depth.to_string()), plain(arrow)].into_iter().chain(shown::entity_met(&neighbor.entity)).collect()
        });
        page.table(2, &rows.collect::<Vec<_>>());
        shown::cut(page, outcome.truncated, "ask for a smaller depth or for one relation type");
    }
}

impl Verb for PathInput {
    const NAME: &'static str = "path";
    const GROUP: Group = Group::Graph;
    const TITLE: &'static str = "Path between entities";
    const ABOUT: &'static str = "The shortest path between two entities.";
    const EXAMPLE: &'static str = "twining path LoginPage redis";
    const EFFECT: Effect = Effect::Reads;
    const WORDS: &'static [&'static str] = &["from", "to"];
    const DESCRIBED: &'static [&'static str] = &["from", "to", "max_depth"];

    type Output = PathOutcome;

    fn run(&self, desk: &Desk<'_>) -> Result<PathOutcome, Failure> {
        desk.engine.path(self)
    }

    fn show(outcome: &PathOutcome, page: &mut Page) {
        if !outcome.found {
            page.line([dim("no path")]);
            shown::cut(page, outcome.truncated, "the search stopped at its limit; ask for one relation type");
            return;
        }
        page.line([dim(count(outcome.length, "step"))]);
        let rows = outcome.path.iter().map(|step| {
            let arrow = match (&step.relation, &step.direction) {
                (Some(relation), Some(direction)) => shown::arrow(relation, *direction),
                _ => String::new(),
            };
            std::iter::once(plain(arrow)).chain(shown::entity_met(&step.entity)).collect()
        });
        page.table(2, &rows.collect::<Vec<_>>());
    }
}

impl Verb for GraphQueryInput {
    const NAME: &'static str = "graph_query";
    const GROUP: Group = Group::Graph;
    const TITLE: &'static str = "Find entities";
    const ABOUT: &'static str = "Find entities by name or property.";
    const EXAMPLE: &'static str = "twining graph-query session --type class,module";
    const EFFECT: Effect = Effect::Reads;
    const WORDS: &'static [&'static str] = &["query"];
    const DESCRIBED: &'static [&'static str] = &["query", "limit"];

    type Output = GraphQueryOutcome;

    fn run(&self, desk: &Desk<'_>) -> Result<GraphQueryOutcome, Failure> {
        desk.engine.graph_query(self)
    }

    fn show(outcome: &GraphQueryOutcome, page: &mut Page) {
        if outcome.entities.is_empty() {
            page.line([dim("nothing matches")]);
        }
        page.table(0, &outcome.entities.iter().map(shown::entity_row).collect::<Vec<_>>());
        shown::cut(page, outcome.truncated, "raise --limit or search for more of the name");
    }
}

impl Verb for PruneInput {
    const NAME: &'static str = "prune_graph";
    const GROUP: Group = Group::Graph;
    const TITLE: &'static str = "Prune the graph";
    const ABOUT: &'static str = "Remove entities without relations, and relations without ends.";
    const EXAMPLE: &'static str = "twining prune-graph --dry-run false";
    const EFFECT: Effect = Effect::Removes;
    const DESCRIBED: &'static [&'static str] = &["dry_run", "agent_id"];

    type Output = PruneOutcome;

    fn run(&self, desk: &Desk<'_>) -> Result<PruneOutcome, Failure> {
        desk.engine.prune_graph(&desk.caller, self)
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
