//! `anchors`: how well the extractor tells whether code is still what it was.
//!
//! Reads sets of fates (what became of every definition of a project between two commits, by the
//! language's own parser) and the project's history, and prints tables: how often a definition is
//! called fresh, changed or changed in its signature rightly; how often the search finds again
//! what moved, and what it costs; and how well doubt tells which statements about code its
//! maintainers dropped. A report, not a test.

mod checkout;
mod fates;
mod history;
mod long_histories;
mod searches;
mod statements;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use twining_store::code::MAX_SEARCH_TIME;

use crate::checkout::ScratchCheckout;
use crate::fates::FateScore;
use crate::history::{FateSet, SourceTree};
use crate::long_histories::{Answers, HistoryScore};
use crate::searches::{SearchOptions, SearchScore};
use crate::statements::StatementScore;

#[derive(Parser)]
#[command(about = "Scores definitions and freshness against what became of real code")]
struct AnchorArguments {
    /// A folder of sets: DIR/<name>.jsonl or DIR/<name>.jsonl.xz; with --oracle it may be left out
    #[arg(required_unless_present = "oracle")]
    dir: Option<PathBuf>,
    /// A folder of git repositories, each named as its set says: REPOS/<name> or REPOS/<name>/repo
    #[arg(long)]
    repos: PathBuf,
    /// CodeTracker's repository: asks for its methods in REPOS/<owner>+<name>/repo
    #[arg(long)]
    oracle: Option<PathBuf>,
    /// Also tell each search that went wrong, on the error stream
    #[arg(long)]
    misses: bool,
    /// Seconds that one search may take; the product's limit if it is not said
    #[arg(long)]
    limit: Option<u64>,
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "this is a program for people")]
fn main() -> ExitCode {
    let AnchorArguments { dir, repos, oracle, misses, limit } = AnchorArguments::parse();
    let max_time = limit.map_or(MAX_SEARCH_TIME, Duration::from_secs);
    let options = SearchOptions { max_time, show_misses: misses };
    let sets = dir.map(|dir| run(&dir, &repos, options));
    let lives = oracle.map(|oracle| {
        long_histories::score(&oracle, &repos, options).map(|score| history_table(&score))
    });
    match sets.into_iter().chain(lives).collect::<Result<Vec<_>, _>>() {
        Ok(reports) => {
            println!("{}", reports.join("\n"));
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn run(dir: &Path, repos: &Path, options: SearchOptions) -> Result<String, String> {
    let mut report = String::new();
    let (mut fates, mut statements, mut costs) = (Vec::new(), Vec::new(), Vec::new());
    let mut searches = Vec::new();
    for file in history::sets(dir)? {
        let set = FateSet::read(&file)?;
        let (before, after) = set.trees(repos)?;
        fates.push((set.name.clone(), fates::score(&set, &before, &after)));
        statements.push((set.name.clone(), statements::score(&set, &before, &after)?));
        costs.push((set.name.clone(), Cost::of(&[&before, &after])));
        let repository = set.repository(repos);
        let checkout = ScratchCheckout::of(&repository, &set.commits[1])?;
        let score = searches::score(&set, &checkout, &before, &after, options)?;
        searches.push((set.name.clone(), score));
    }
    report.push_str(&fate_table(&fates));
    report.push_str(&search_table(&searches));
    report.push_str(&statement_table(&statements));
    report.push_str(&cost_table(&costs));
    Ok(report)
}

fn fate_table(sets: &[(String, FateScore)]) -> String {
    let mut text = String::from(
        "| percent | definitions | not seen | false fresh | false alarm | drift P / R, same place | \
         signature P / R, same place | drift P / R, where it went | signature P / R, where it went |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for (name, score) in sets {
        text.push_str(&format!(
            "| {name} | {} | {:.1} | {:.2} | {:.2} | {} | {} | {} | {} |\n",
            score.definitions,
            score.unseen.percent(),
            score.false_fresh.percent(),
            score.false_alarm.percent(),
            score.same_place.drift,
            score.same_place.signature,
            score.where_it_went.drift,
            score.where_it_went.signature,
        ));
    }
    text.push('\n');
    text
}

fn search_table(sets: &[(String, SearchScore)]) -> String {
    let mut text = String::from(
        "| percent, with the search | searches | no answer | orphaned P / R | found again P / R | \
         drift P / R | signature P / R | CPU ms of a search, p50 / p95 / max |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for (name, score) in sets {
        let ms = |percent| score.took(percent).as_millis();
        text.push_str(&format!(
            "| {name} | {} | {} | {} | {} | {} | {} | {} / {} / {} |\n",
            score.searches(),
            score.unknown,
            pair(score.orphaned),
            pair(score.found),
            score.change.drift,
            score.change.signature,
            ms(50),
            ms(95),
            ms(100),
        ));
    }
    let mean = |of: fn(&SearchScore) -> Hits| {
        let all = sets.len().max(1) as f64;
        let precision = sets.iter().map(|(_, score)| of(score).precision()).sum::<f64>() / all;
        let recall = sets.iter().map(|(_, score)| of(score).recall()).sum::<f64>() / all;
        format!("{precision:.1} / {recall:.1}")
    };
    text.push_str(&format!(
        "| mean |  |  | {} | {} | {} | {} |  |\n",
        mean(|score| score.orphaned),
        mean(|score| score.found),
        mean(|score| score.change.drift.0),
        mean(|score| score.change.signature.0),
    ));
    text.push('\n');
    text
}

fn pair(hits: Hits) -> String {
    format!("{:.1} / {:.1}", hits.precision(), hits.recall())
}

fn statement_table(sets: &[(String, StatementScore)]) -> String {
    let mut text = String::from(
        "| statements | how many | have witnesses | doubtful: fires / precision / recall | \
         with the 3 lines below: fires / precision / recall | fresh, yet dropped | \
         touched, yet dropped | drifted, yet dropped |\n|---|---|---|---|---|---|---|---|\n",
    );
    let mut pooled = StatementScore::default();
    for (_, score) in sets {
        pooled.merge(score);
    }
    for (name, score) in
        sets.iter().map(|(name, score)| (name.as_str(), score)).chain([("all", &pooled)])
    {
        text.push_str(&format!(
            "| {name} | {} | {:.0} | {} | {} | {:.1} | {:.1} | {:.1} |\n",
            score.statements,
            score.witnessed.percent(),
            score.by_words,
            score.by_lines,
            score.fresh_dropped.percent(),
            score.touched_dropped.percent(),
            score.drifted_dropped.percent(),
        ));
    }
    text.push('\n');
    text
}

/// What reading a set's files cost.
struct Cost {
    files: usize,
    lines: u64,
    total: Duration,
    median: Duration,
    longest: Duration,
}

impl Cost {
    fn of(trees: &[&SourceTree]) -> Self {
        let mut each: Vec<Duration> =
            trees.iter().flat_map(|tree| tree.files.values().map(|file| file.took)).collect();
        each.sort_unstable();
        let lines = trees.iter().flat_map(|tree| tree.files.values());
        Self {
            files: each.len(),
            lines: lines.map(|file| u64::from(file.source.whole.last_line)).sum(),
            total: each.iter().sum(),
            median: each.get(each.len() / 2).copied().unwrap_or_default(),
            longest: each.last().copied().unwrap_or_default(),
        }
    }
}

fn cost_table(sets: &[(String, Cost)]) -> String {
    let mut text = String::from(
        "| cost | files | lines | CPU s per million lines | a file, p50 ms | longest ms |\n\
         |---|---|---|---|---|---|\n",
    );
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    for (name, cost) in sets {
        let per_million = cost.total.as_secs_f64() * 1e6 / cost.lines.max(1) as f64;
        let (files, lines) = (cost.files, cost.lines);
        let (median, longest) = (ms(cost.median), ms(cost.longest));
        text.push_str(&format!(
            "| {name} | {files} | {lines} | {per_million:.1} | {median:.2} | {longest:.1} |\n"
        ));
    }
    text
}

fn history_table(score: &HistoryScore) -> String {
    let row = |name: &str, answers: Answers| {
        let Answers { right, wrong, nowhere, unknown } = answers;
        format!("| {name} | {right} | {wrong} | {nowhere} | {unknown} |\n")
    };
    let ms = |percent| score.took(percent).as_millis();
    format!(
        "| {} checked methods ({} not read) | right | wrong | told as gone | no answer |\n\
         |---|---|---|---|---|\n{}{}\n\
         CPU ms of a search, p50 / p95 / max: {} / {} / {}\n",
        score.methods,
        score.unread,
        row("same path and name", score.same_place),
        row("with the search", score.search),
        ms(50),
        ms(95),
        ms(100),
    )
}

/// A part of a whole.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    part: u32,
    whole: u32,
}

impl Share {
    /// Counts one of the whole, and whether it is of the part.
    fn count(&mut self, is_part: bool) {
        self.whole += 1;
        self.part += u32::from(is_part);
    }

    fn merge(&mut self, other: Self) {
        self.part += other.part;
        self.whole += other.whole;
    }

    fn percent(self) -> f64 {
        if self.whole == 0 { 0.0 } else { f64::from(self.part) * 100.0 / f64::from(self.whole) }
    }
}

/// How often something was said, rightly, and should have been said.
#[derive(Clone, Copy, Debug, Default)]
struct Hits {
    cases: u32,
    said: u32,
    right: u32,
    wanted: u32,
}

impl Hits {
    fn count(&mut self, is_said: bool, is_wanted: bool) {
        self.cases += 1;
        self.said += u32::from(is_said);
        self.wanted += u32::from(is_wanted);
        self.right += u32::from(is_said && is_wanted);
    }

    fn merge(&mut self, other: Self) {
        self.cases += other.cases;
        self.said += other.said;
        self.right += other.right;
        self.wanted += other.wanted;
    }

    fn fires(self) -> f64 {
        Share { part: self.said, whole: self.cases }.percent()
    }

    fn precision(self) -> f64 {
        Share { part: self.right, whole: self.said }.percent()
    }

    fn recall(self) -> f64 {
        Share { part: self.right, whole: self.wanted }.percent()
    }
}
