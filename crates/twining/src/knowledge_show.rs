//! `knowledge show`: a picture of the reviewed graph.

use clap::{ArgGroup, ArgMatches, Command, value_parser};
use serde_json::json;
use twining_engine::knowledge::{DrawFormat, DrawInput, KnowledgeDrawing};

use crate::args::{option, switch};
use crate::output::{self, OutputFormat};
use crate::project::Project;
use crate::render::command_error::{CommandError, ExitStatus};

/// The formats, by their flags.
const FORMATS: [(&str, DrawFormat, &str); 3] = [
    ("svg", DrawFormat::Svg, "Draw it for a browser"),
    ("mermaid", DrawFormat::Mermaid, "Draw it for Markdown (default)"),
    ("dot", DrawFormat::Dot, "Print the part as DOT"),
];

/// The command, below its family.
pub(crate) fn command() -> Command {
    let formats = FORMATS.map(|(name, _, help)| switch(name, help));
    Command::new("show")
        .about("Draw the graph, a level of it, or what is around a node")
        .args(formats)
        .group(ArgGroup::new("format").args(FORMATS.map(|(name, ..)| name)))
        .arg(option("level", "LEVEL", "Only nodes of this level").value_parser([
            "architecture",
            "implementation",
            "all",
        ]))
        .arg(option("around", "ID", "Only what is around this node"))
        .arg(
            option("depth", "N", "Number of steps around it; default 1")
                .value_parser(value_parser!(usize))
                .requires("around"),
        )
        .after_help("Example:\n  twining knowledge show --svg --around api --depth 2 > api.svg")
}

/// Draws what was asked for.
pub(crate) fn draw(
    project: &Project,
    given: &ArgMatches,
    style: OutputFormat,
) -> Result<ExitStatus, CommandError> {
    let word = |name: &str| given.get_one::<String>(name).cloned();
    let chosen = FORMATS.iter().find(|(name, ..)| given.get_flag(name)).unwrap_or(&FORMATS[1]);
    let (name, format, _) = *chosen;
    let input = DrawInput {
        format,
        level: word("level"),
        around: word("around"),
        depth: given.get_one::<usize>("depth").copied(),
    };
    let KnowledgeDrawing { text, nodes, edges } = project.engine.knowledge_picture(&input)?;
    let json = || json!({ "format": name, "nodes": nodes, "edges": edges, "text": text });
    Ok(output::answer(style, json, |page| page.verbatim(&text), ExitStatus::Done))
}
