//! `knowledge check`: what is wrong with the reviewed graph.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{Failure, Finding, KnowledgeCheckInput, KnowledgeCheckOutcome};

use crate::desk::Desk;
use crate::page::{Cell, Page, bad, count, dim, good, plain, warn};
use crate::problem::Ending;
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct KnowledgeCheck;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Another DOT file of the project
    path: Option<String>,
    #[serde(skip)]
    #[arg(help = "First make a graph if there is none", long, conflicts_with = "path")]
    create: bool,
}

impl Verb for KnowledgeCheck {
    const NAME: &'static str = "knowledge_check";
    const GROUP: Group = Group::Knowledge;
    const TITLE: &'static str = "Check the knowledge graph";
    const ABOUT: &'static str =
        "Everything wrong with the project's knowledge graph (knowledge.dot), with line and suggestion. Call after editing it by hand.";
    const EXAMPLE: &'static str = "twining knowledge check";
    const EFFECT: Effect = Effect::Reads;

    type Input = Input;
    type Output = KnowledgeCheckOutcome;

    fn run(desk: &Desk<'_>, Input { path, create }: Input) -> Result<KnowledgeCheckOutcome, Failure> {
        if create {
            desk.engine.create_knowledge()?;
        }
        desk.engine.knowledge_check(&KnowledgeCheckInput { path }, desk.checkout)
    }

    fn show(outcome: &KnowledgeCheckOutcome, page: &mut Page) {
        for finding in &outcome.errors {
            show_finding(&outcome.file, finding, bad(&finding.message), page);
        }
        for finding in &outcome.warnings {
            show_finding(&outcome.file, finding, warn(&finding.message), page);
        }
        let wrong = u64::try_from(outcome.errors.len()).unwrap_or(u64::MAX);
        let verdict = if outcome.valid { good("valid:") } else { bad(format!("{}:", count(wrong, "error"))) };
        let (nodes, edges) = (number(outcome.nodes), number(outcome.edges));
        page.line([verdict, plain(&outcome.file), dim(format!("{}, {}", count(nodes, "node"), count(edges, "edge")))]);
        if outcome.omitted > 0 {
            page.line([dim(format!("{} more; mend these first", count(outcome.omitted, "finding")))]);
        }
    }

    fn ending(outcome: &KnowledgeCheckOutcome) -> Ending {
        if outcome.valid { Ending::Done } else { Ending::FoundProblems }
    }
}

/// A finding as editors and people read it: `file:line:col: message`.
fn show_finding(file: &str, finding: &Finding, message: Cell, page: &mut Page) {
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
