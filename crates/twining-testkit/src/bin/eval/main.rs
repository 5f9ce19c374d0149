//! `eval`: how well search and assembly find what was recorded.
//!
//! Every store of every set is written as files, read by the same engine the
//! tools use, and asked the set's questions and tasks. A report, not a test: the
//! figures go to `docs/reference/retrieval.md`.

mod data;
mod metrics;
mod run;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};

use crate::data::EvalSet;
use crate::metrics::MetricTable;

#[derive(Parser)]
#[command(
    about = "Runs retrieval sets through the engine and prints recall, nDCG, MRR and recall within budgets"
)]
struct EvalArguments {
    /// A folder of sets: DIR/<set>/{corpus,queries,tasks,truth}.jsonl
    dir: PathBuf,
    /// Only these sets
    #[arg(long, value_delimiter = ',')]
    sets: Vec<String>,
    /// Search by words alone
    #[arg(long)]
    keyword: bool,
    /// What to measure; default: everything
    #[arg(long, value_delimiter = ',')]
    measure: Vec<Measure>,
    /// Keep vectors here, so that the next run need not make them
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Measure {
    /// `twining_query`
    Query,
    /// `twining_search_decisions`
    Search,
    /// `twining_assemble`
    Assemble,
    /// Facts about decisions
    Truth,
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "this is a program for people")]
fn main() -> ExitCode {
    let EvalArguments { dir, sets, keyword, mut measure, cache } = EvalArguments::parse();
    if measure.is_empty() {
        measure = vec![Measure::Query, Measure::Search, Measure::Assemble, Measure::Truth];
    }
    let names = match data::names(&dir) {
        Ok(names) => names,
        Err(error) => {
            eprintln!("eval: {}: {error}", dir.display());
            return ExitCode::FAILURE;
        }
    };
    let mut table = MetricTable::default();
    for name in names.into_iter().filter(|name| sets.is_empty() || sets.contains(name)) {
        let outcome = EvalSet::read(&dir.join(&name))
            .and_then(|set| run::run(&name, &set, &measure, keyword, cache.as_deref(), &mut table));
        if let Err(error) = outcome {
            eprintln!("eval: {name}: {error}");
            return ExitCode::FAILURE;
        }
    }
    println!("{}", table.to_markdown());
    ExitCode::SUCCESS
}
