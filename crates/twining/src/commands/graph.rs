//! The graph: what the code is made of.

use std::collections::HashMap;

use twining_engine::{
    AddEntityInput, AddRelationInput, AddedOutcome, DerivedNeighbor, Failure, GraphInput,
    GraphLevel, GraphOutcome, GraphQueryInput, GraphQueryOutcome, NeighborsInput, NeighborsOutcome,
    PathInput, PathOutcome, PruneInput, PruneOutcome,
};

use super::rows;
use crate::project::CommandContext;
use crate::render::text_page::{
    StyledText, TextPage, count, dim, good, kind, place, plain, strong, warn,
};
use crate::verbs::verb::{Audience, Effect, Verb};

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
        rows::section(page, "In the code", outcome.derived.iter().map(derived_row));
        rows::truncated_note(
            page,
            outcome.truncated,
            "ask for a smaller depth or for one relation type",
        );
    }
}

/// A link that the code shows.
fn derived_row(link: &DerivedNeighbor) -> Vec<StyledText> {
    let of = link.of.filter(|of| *of > 1).map(|of| format!("1 of {of} with that name"));
    let percent = link.percent.map(|percent| format!("{percent} %"));
    let arrow = rows::arrow(&link.relation, link.direction);
    let about = of.or(percent).unwrap_or_default();
    vec![plain(arrow), place(&link.at), dim(&link.kind), dim(about)]
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
            let source = if step.derived { "from the code" } else { "" };
            std::iter::once(plain(arrow))
                .chain(rows::walked_entity_row(&step.entity))
                .chain([dim(source)])
                .collect()
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
        if outcome.entities.is_empty() && outcome.derived.is_empty() {
            page.line([dim("nothing matches")]);
        }
        page.table(0, outcome.entities.iter().map(rows::entity_row));
        if !outcome.derived.is_empty() {
            page.heading("In the code");
        }
        for found in &outcome.derived {
            page.table(2, [vec![place(&found.at), dim(&found.kind)]]);
            page.table(4, found.links.iter().map(derived_row));
        }
        rows::truncated_note(page, outcome.truncated, "raise --limit or give more of the name");
    }
}

/// Relations of a node that are named in its row.
const RELATIONS_SHOWN: usize = 4;

impl Verb for GraphInput {
    const NAME: &'static str = "graph";
    const ABOUT: &'static str =
        "The graph around something, or all of it: observed entities, decisions, reviewed nodes.";
    const HELP: &'static str = "The graph around something, or all of it: observed entities, \
        decisions and the reviewed nodes of knowledge.dot, with their relations. `--json` adds \
        the positions that `twining ui` draws them at.";
    const EXAMPLE: &'static str = "twining graph src/auth/ --depth 1";
    const EFFECT: Effect = Effect::Reads;
    // Models ask twining_neighbors and twining_path, which answer in fewer words.
    const AUDIENCE: Audience = Audience::People;
    const WORDS: &'static [&'static str] = &["around"];

    type Output = GraphOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<GraphOutcome, Failure> {
        ctx.engine.graph(self)
    }

    fn show(graph: &GraphOutcome, page: &mut TextPage) {
        if graph.nodes.is_empty() {
            page.line([dim("the graph is empty; `twining add-entity NAME TYPE` adds to it")]);
            return;
        }
        let what = if graph.level == GraphLevel::Folders { "folder" } else { "node" };
        page.line([
            strong(count(graph.nodes.len() as u64, what)),
            dim(format!("of {},", graph.total_nodes)),
            strong(count(graph.edges.len() as u64, "edge")),
            dim(format!("of {}", graph.total_edges)),
        ]);
        let names: HashMap<&str, &str> =
            graph.nodes.iter().map(|node| (node.id.as_str(), node.name.as_str())).collect();
        let mut leaving: HashMap<&str, Vec<String>> = HashMap::new();
        for edge in &graph.edges {
            let name = names.get(edge.to.as_str()).copied().unwrap_or(&edge.to);
            leaving.entry(&edge.from).or_default().push(format!("{} {name}", edge.kind));
        }
        page.table(
            2,
            graph.nodes.iter().map(|node| {
                let mut leaving = leaving.remove(node.id.as_str()).unwrap_or_default();
                let more = leaving.len().saturating_sub(RELATIONS_SHOWN);
                leaving.truncate(RELATIONS_SHOWN);
                if more > 0 {
                    leaving.push(format!("{more} more"));
                }
                vec![
                    kind(&node.kind),
                    strong(&node.name),
                    dim(node.degree.to_string()),
                    plain(leaving.join(", ")),
                ]
            }),
        );
        if let Some(note) = &graph.note {
            page.line([dim(note)]);
        }
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
