//! Knowledge: what people reviewed.

use clap::{Arg, ArgAction, Command};
use twining_engine::{
    Failure, GraphFinding, KnowledgeCheckInput, KnowledgeCheckOutcome, KnowledgePack,
    KnowledgePackInput, KnowledgeRetrieveInput, KnowledgeUpdateInput, KnowledgeUpdateOutcome,
    RetrieveOutcome, ReviewContext, ReviewContextInput,
};

use crate::commands::anchors::show_anchors;
use crate::project::CommandContext;
use crate::render::command_error::ExitStatus;
use crate::render::text_page::{StyledText, TextPage, bad, count, dim, good, plain, strong, warn};
use crate::verbs::tool_names::with_command_names;
use crate::verbs::verb::{Effect, Verb};

impl Verb for KnowledgeRetrieveInput {
    const NAME: &'static str = "knowledge_retrieve";
    const ABOUT: &'static str = "Search the reviewed components, patterns and rules; returns matches and their neighbours as DOT. Call before you design.";
    const EXAMPLE: &'static str = "twining knowledge retrieve \"error handling\"";
    const EFFECT: Effect = Effect::Reads;
    const WORDS: &'static [&'static str] = &["terms"];
    const DESCRIBED: &'static [&'static str] = &["terms", "max_results", "depth"];

    type Output = RetrieveOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<RetrieveOutcome, Failure> {
        ctx.engine.knowledge_retrieve(self)
    }

    fn show(found: &RetrieveOutcome, page: &mut TextPage) {
        show_found(found, page);
    }
}

/// The subgraph, and what is to be known of it.
fn show_found(found: &RetrieveOutcome, page: &mut TextPage) {
    page.verbatim(&found.subgraph);
    page.line([dim(format!(
        "// matches: {}, neighbours: {}",
        found.hits.len(),
        found.neighbors.len()
    ))]);
    if found.omitted > 0 {
        page.line([dim(format!("// {} more did not fit; narrow the search", found.omitted))]);
    }
    if found.omitted_edges > 0 {
        page.line([dim(format!("// {} more edges between them did not fit", found.omitted_edges))]);
    }
    for (node, note) in &found.code {
        page.line([warn(format!("// {node}: `{}` is {}", note.at, note.brief()))]);
    }
    if let Some(note) = &found.note {
        page.line([warn(format!("// {}", with_command_names(note)))]);
    }
}

impl Verb for KnowledgePackInput {
    const NAME: &'static str = "knowledge_pack";
    const ABOUT: &'static str = "The part of the knowledge graph a story needs, found by its key terms. Call when you plan it.";
    const EXAMPLE: &'static str =
        "twining knowledge pack \"Add CORS headers to the API\" --story S-12";
    const EFFECT: Effect = Effect::Reads;
    const WORDS: &'static [&'static str] = &["description"];
    const DESCRIBED: &'static [&'static str] = &["description", "story_id", "max_results"];

    type Output = KnowledgePack;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<KnowledgePack, Failure> {
        ctx.engine.knowledge_pack(self)
    }

    fn show(pack: &KnowledgePack, page: &mut TextPage) {
        show_found(&pack.found, page);
        page.line([dim(format!("// searched for {}", pack.found.search_terms.join(" ")))]);
    }
}

impl Verb for KnowledgeUpdateInput {
    const NAME: &'static str = "knowledge_update";
    const ABOUT: &'static str = "Add, change or remove nodes and edges of the knowledge graph. The whole graph is checked first; comments and layout stay.";
    const EXAMPLE: &'static str = "twining knowledge update --op '{\"op\":\"update_node\",\"id\":\"code-style\",\"status\":\"deprecated\"}'";
    const EFFECT: Effect = Effect::Removes;
    const DESCRIBED: &'static [&'static str] = &["operations"];

    type Output = KnowledgeUpdateOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<KnowledgeUpdateOutcome, Failure> {
        ctx.engine.knowledge_update(&ctx.caller, self)
    }

    fn show(updated: &KnowledgeUpdateOutcome, page: &mut TextPage) {
        let done = if updated.written { good("written:") } else { dim("not written:") };
        let (nodes, edges) = (updated.nodes as u64, updated.edges as u64);
        page.line([
            done,
            plain(&updated.file),
            dim(format!("{}, {}", count(nodes, "node"), count(edges, "edge"))),
        ]);
        if updated.joined {
            page.line([dim("  joined both sides of an unresolved git merge")]);
        }
        for (what, ids) in [
            ("added", &updated.nodes_added),
            ("changed", &updated.nodes_changed),
            ("removed", &updated.nodes_removed),
        ] {
            ids.iter().for_each(|id| page.line([dim(format!("  {what}")), strong(id)]));
        }
        for (what, number) in [("added", updated.edges_added), ("removed", updated.edges_removed)] {
            if number > 0 {
                page.line([dim(format!("  {what}")), plain(count(number as u64, "edge"))]);
            }
        }
        for finding in &updated.warnings {
            page.line([warn(format!("  line {}: {}", finding.line, finding.message))]);
        }
        show_anchors(&updated.anchored, &updated.unresolved, &[], page);
    }
}

const CREATE: &str = "create";

impl Verb for KnowledgeCheckInput {
    const NAME: &'static str = "knowledge_check";
    const ABOUT: &'static str = "Check the project's knowledge graph (knowledge.dot): every error with line and suggestion. Call after editing the file.";
    const EXAMPLE: &'static str = "twining knowledge check";
    const EFFECT: Effect = Effect::Reads;
    const WORDS: &'static [&'static str] = &["path"];
    const DESCRIBED: &'static [&'static str] = &["path"];

    type Output = KnowledgeCheckOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<KnowledgeCheckOutcome, Failure> {
        if ctx.flags.is_some_and(|flags| flags.get_flag(CREATE)) {
            ctx.engine.create_knowledge()?;
        }
        ctx.engine.knowledge_check(self, ctx.checkout)
    }

    fn flags(command: Command) -> Command {
        let create = Arg::new(CREATE)
            .long(CREATE)
            .action(ArgAction::SetTrue)
            .conflicts_with_all(["word path", "field path"]);
        command.arg(create.help("Create a graph first if there is none"))
    }

    fn show(outcome: &KnowledgeCheckOutcome, page: &mut TextPage) {
        for finding in &outcome.errors {
            show_finding(&outcome.file, finding, bad(&finding.message), page);
        }
        for finding in &outcome.warnings {
            show_finding(&outcome.file, finding, warn(&finding.message), page);
        }
        let wrong = u64::try_from(outcome.errors.len()).unwrap_or(u64::MAX);
        let verdict =
            if outcome.valid { good("valid:") } else { bad(format!("{}:", count(wrong, "error"))) };
        let (nodes, edges) = (number(outcome.nodes), number(outcome.edges));
        page.line([
            verdict,
            plain(&outcome.file),
            dim(format!("{}, {}", count(nodes, "node"), count(edges, "edge"))),
        ]);
        if outcome.omitted > 0 {
            page.line([dim(format!(
                "{} more; fix these first",
                count(outcome.omitted, "finding")
            ))]);
        }
    }

    fn ending(outcome: &KnowledgeCheckOutcome) -> ExitStatus {
        if outcome.valid { ExitStatus::Done } else { ExitStatus::FoundProblems }
    }
}

/// A finding as editors and people read it: `file:line:col: message`.
fn show_finding(file: &str, finding: &GraphFinding, message: StyledText, page: &mut TextPage) {
    let place = match finding.line {
        0 => format!("{file}:"),
        line => format!("{file}:{line}:{}:", finding.column),
    };
    let about = match (&finding.node_id, &finding.field) {
        (Some(node), Some(field)) => Some(dim(format!("({node}.{field})"))),
        _ => None,
    };
    page.line([plain(place), message].into_iter().chain(about));
    if let Some(suggestion) = &finding.suggestion {
        page.block(4, &format!("suggestion: {suggestion}"));
    }
}

fn number(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

impl Verb for ReviewContextInput {
    const NAME: &'static str = "review_context";
    const ABOUT: &'static str = "What to review a plan or change against: the story's knowledge, critical rules for the changed files, what the change does to the graph; with Markdown for a prompt.";
    const EXAMPLE: &'static str = "twining review-context code --story S-12 --base main";
    const EFFECT: Effect = Effect::Reads;
    const WORDS: &'static [&'static str] = &["kind"];
    const DESCRIBED: &'static [&'static str] = &["story_id", "base", "head"];

    type Output = ReviewContext;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<ReviewContext, Failure> {
        ctx.engine.review_context(self, ctx.history, ctx.checkout)
    }

    fn show(context: &ReviewContext, page: &mut TextPage) {
        page.verbatim(&context.prompt);
    }
}
