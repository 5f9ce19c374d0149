//! `dot check`: the parser's word on any DOT file.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::{ArgMatches, Command, ValueHint};
use serde::Serialize;
use serde_json::json;
use twining_model::limits;

use crate::args::{path, word};
use crate::output::{self, OutputFormat};
use crate::render::command_error::ExitStatus;
use crate::render::text_page::{TextPage, bad, count, dim, good, plain, warn};

/// What was found in one file; its fields are the JSON of `--json`.
#[derive(Debug, Serialize)]
struct DotReport {
    file: String,
    ok: bool,
    nodes: usize,
    edges: usize,
    errors: Vec<DotError>,
}

/// Something wrong, and where; a file that cannot be read has no line.
#[derive(Debug, Serialize)]
struct DotError {
    line: usize,
    column: usize,
    message: String,
}

/// The flags of `dot`.
pub(crate) fn flags(command: Command) -> Command {
    let example = "Example:\n  twining dot check docs/*.dot --json";
    command.subcommand_required(true).arg_required_else_help(true).after_help(example).subcommand(
        Command::new("check")
            .about("Check whether Graphviz accepts each file; list every error with its line and column")
            .arg(path(word("files", "FILE", "DOT files; `-` is stdin"), ValueHint::FilePath).required(true).num_args(1..))
            .after_help(example),
    )
}

/// Checks each file, `-` for stdin, and reports.
pub(crate) fn run(given: &ArgMatches, style: OutputFormat) -> ExitStatus {
    let files = given.get_many::<PathBuf>("files").unwrap_or_default();
    let checked: Vec<DotReport> = files.map(|file| look_at(file)).collect();
    let ending = if checked.iter().all(|file| file.ok) {
        ExitStatus::Done
    } else {
        ExitStatus::FoundProblems
    };
    output::answer(style, || json!(checked), |page| show(&checked, page), ending)
}

fn look_at(file: &Path) -> DotReport {
    let name = file.to_string_lossy().into_owned();
    match read(file) {
        Ok(source) => {
            let twining_dot::DotCheck { ok, nodes, edges, errors } = twining_dot::check(&source);
            let errors = errors.into_iter().map(|error| DotError {
                line: error.line,
                column: error.column,
                message: error.message,
            });
            DotReport { file: name, ok, nodes, edges, errors: errors.collect() }
        }
        Err(error) => {
            let wrong =
                DotError { line: 0, column: 0, message: format!("cannot be read: {error}") };
            DotReport { file: name, ok: false, nodes: 0, edges: 0, errors: vec![wrong] }
        }
    }
}

fn read(file: &Path) -> io::Result<Vec<u8>> {
    let most = limits::KNOWLEDGE_BYTES;
    let limit = u64::try_from(most).unwrap_or(u64::MAX);
    let mut source = Vec::new();
    if file.as_os_str() == "-" {
        io::stdin().take(limit + 1).read_to_end(&mut source)?;
    } else {
        File::open(file)?.take(limit + 1).read_to_end(&mut source)?;
    }
    if source.len() > most {
        return Err(io::Error::other(format!("it has more than {most} bytes")));
    }
    Ok(source)
}

fn show(checked: &[DotReport], page: &mut TextPage) {
    for DotReport { file, ok, nodes, edges, errors } in checked {
        if *ok {
            let counted = format!("{}, {}", counted(*nodes, "node"), counted(*edges, "edge"));
            page.line([good("ok"), plain(file), dim(counted)]);
        }
        for DotError { line, column, message } in errors {
            let place = if *line == 0 { file.clone() } else { format!("{file}:{line}:{column}") };
            page.line([warn(format!("{place}:")), bad(message)]);
        }
    }
}

fn counted(number: usize, noun: &str) -> String {
    count(u64::try_from(number).unwrap_or(u64::MAX), noun)
}
