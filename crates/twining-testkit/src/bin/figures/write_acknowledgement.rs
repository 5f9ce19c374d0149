//! Whether a commit right after a reply has the record: for every verb that writes,
//! one call, `git add` and `git commit` at once, and a look into the commit.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use twining_testkit::write_cases::{ExpectedRecord, TestCaller, WRITING_VERBS, WritingVerb};

use crate::adoption::{git, twining};
use crate::client::{BenchClient, BenchResult};
use crate::latency::Bench;
use crate::table::{FigureTable, LatencySample, at_most, number, thousands};
use crate::{log_progress, show};

/// Every verb that writes tracked files, each in a repository of its own.
pub(crate) fn acknowledged(bench: &mut Bench) -> BenchResult<()> {
    let mut table = FigureTable::new(
        "acknowledged",
        ["verb", "tries", "without the record", "p50 ms", "p99 ms", "goals"],
    );
    for verb in WRITING_VERBS {
        let name =
            [verb.tool.trim_start_matches("twining_"), verb.case].join(" ").trim_end().to_owned();
        log_progress(&format!("commits right after {name}"));
        let (took, missing) = tries(bench, verb)?;
        let goals = at_most("without", missing as f64, 0.0);
        let [p50, p99] = [took.p50(), took.percentile(99.0)].map(number);
        table.row([name, thousands(took.len()), thousands(missing), p50, p99, goals]);
    }
    table.note(
        "After each reply the files are read, then `git add -A .twining && git commit` runs without hooks, and the record is looked for in \
         both: in its own file, in every array and index that lists it. Claims and presence are local and in no commit. Times are of the reply.",
    );
    show(&table);
    Ok(())
}

fn tries(bench: &Bench, verb: &WritingVerb) -> BenchResult<(LatencySample, usize)> {
    let project = bench.stores.empty()?;
    let path = project.path();
    git(path, &["init", "-q"])?;
    twining(&bench.twining, path, &["init", "--agent", "none"])?;
    let mut session = WriteSession {
        twining: &bench.twining,
        project: path.to_owned(),
        client: BenchClient::ready(&bench.twining, path)?,
    };
    let (mut took, mut missing) = (LatencySample::default(), 0);
    for number in 0..bench.tries {
        let word = format!("word{number:08}");
        let arguments = (verb.prepare)(&mut session, &word)?;
        let (answer, reply) = session.client.call(verb.tool, &arguments)?;
        took.push(reply);
        let trails = (verb.records)(&arguments, &answer, &word);
        // Sooner than any process of git can look.
        let files: Vec<String> = trails.iter().map(|trail| in_file(path, trail)).collect();
        git(path, &["add", "-A", ".twining"])?;
        // What is made and taken away again before it was committed is no change to git.
        git(
            path,
            &[
                "-c",
                "core.hooksPath=/dev/null",
                "-c",
                "gc.auto=0",
                "commit",
                "-q",
                "--allow-empty",
                "-m",
                "at once",
            ],
        )?;
        let fits = |(trail, file): (&ExpectedRecord, &String)| {
            trail.fits(file) && trail.fits(&in_commit(path, trail))
        };
        missing += usize::from(!trails.iter().zip(&files).all(fits));
    }
    session.client.close()?;
    Ok((took, missing))
}

fn in_file(project: &Path, trail: &ExpectedRecord) -> String {
    fs::read_to_string(project.join(".twining").join(&trail.path)).unwrap_or_default()
}

fn in_commit(project: &Path, trail: &ExpectedRecord) -> String {
    let shown = Command::new("git")
        .args(["show", &format!("HEAD:.twining/{}", trail.path)])
        .current_dir(project)
        .output();
    shown.map(|shown| String::from_utf8_lossy(&shown.stdout).into_owned()).unwrap_or_default()
}

/// The server under test, and others where a verb needs them.
struct WriteSession<'b> {
    twining: &'b Path,
    project: PathBuf,
    client: BenchClient,
}

impl TestCaller for WriteSession<'_> {
    fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value, String> {
        value_or_error(self.client.call(tool, arguments))
    }

    fn call_elsewhere(&mut self, tool: &str, arguments: &Value) -> Result<Value, String> {
        value_or_error(
            BenchClient::ready(self.twining, &self.project)
                .and_then(|mut other| other.call(tool, arguments)),
        )
    }

    fn project(&self) -> &Path {
        &self.project
    }
}

fn value_or_error(answer: BenchResult<(Value, Duration)>) -> Result<Value, String> {
    answer.map(|(answer, _)| answer).map_err(|error| error.to_string())
}
