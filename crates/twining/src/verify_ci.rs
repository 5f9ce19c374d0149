//! `verify --ci`: a pull request against the rules of its base.
//!
//! Opens no memory: a clone that has both commits is all it takes, bare or not.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint};
use serde_json::json;
use twining_engine::verify::ci::{self, CiOptions, CiReport, PullRequest, Severity};
use twining_model::limits;
use twining_store::git::GitRange;

use crate::args::{option, path, switch};
use crate::output::{self, OutputFormat};
use crate::render::command_error::{CommandError, ExitStatus};
use crate::render::text_page::{TextPage, bad, count, dim, good, place, plain, warn};

/// The heading of its flags.
const HEADING: &str = "In CI";

/// Adds its flags to `verify`.
pub(crate) fn flags(command: Command) -> Command {
    let flag = |name, value, help| option(name, value, help).requires("ci");
    let many = |arg: Arg| arg.num_args(1..).action(ArgAction::Append);
    let args = [
        switch("ci", "Verify a pull request by the rules of its base; exit 3 on findings")
            .requires("base"),
        flag("base", "COMMIT", "The target branch; its rules apply"),
        flag("head", "COMMIT", "The pull request; default: HEAD"),
        many(path(flag("junit", "FILE", "JUnit reports of the head's tests"), ValueHint::FilePath)),
        many(path(
            flag("base-junit", "FILE", "JUnit reports of the base's tests"),
            ValueHint::FilePath,
        )),
        flag("approve", "WHAT", "Accept a weaker policy")
            .value_parser(["policy"])
            .action(ArgAction::Append),
        many(flag(
            "agent-author",
            "PATTERN",
            "Glob for the author `Name <address>` of agents' commits",
        )),
        path(flag("sarif", "FILE", "Also write the findings as SARIF"), ValueHint::FilePath),
    ];
    command.args(args.map(|arg| arg.help_heading(HEADING)))
}

/// Verifies, and reports.
pub(crate) fn run(
    project: Option<PathBuf>,
    given: &ArgMatches,
    style: OutputFormat,
) -> Result<ExitStatus, CommandError> {
    let word = |name: &str| given.get_one::<String>(name).map(String::as_str);
    let words = |name: &str| {
        given.get_many::<String>(name).unwrap_or_default().cloned().collect::<Vec<_>>()
    };
    if ["word scope", "field scope"].iter().any(|id| given.get_one::<String>(id).is_some()) {
        return Err(CommandError::misuse("`--ci` verifies the whole pull request, not a scope")
            .with_hint("leave the scope out"));
    }
    let options = CiOptions {
        junit: reports(given, "junit")?,
        base_junit: reports(given, "base-junit")?,
        is_policy_approved: words("approve").iter().any(|what| what == "policy"),
        agent_authors: words("agent-author"),
    };
    let dir = project.unwrap_or_else(|| PathBuf::from("."));
    let (base, head) = (word("base").unwrap_or_default(), word("head").unwrap_or("HEAD"));
    let range = GitRange::open(&dir, base, head)
        .map_err(|error| CommandError::misuse(error.to_string()).with_hint(error.hint()))?;
    let report = ci::verify_pull_request(&PullRequest::read(&range), &options)
        .map_err(|why| CommandError::misuse(format!("--agent-author {why}")))?;
    if let Some(file) = given.get_one::<PathBuf>("sarif") {
        let log = ci::sarif(&report, env!("CARGO_PKG_VERSION"));
        std::fs::write(file, format!("{log:#}\n")).map_err(|error| {
            CommandError::misuse(format!("--sarif {} cannot be written: {error}", file.display()))
        })?;
    }
    let ending = if report.is_clean() { ExitStatus::Done } else { ExitStatus::FoundProblems };
    Ok(output::answer(style, || json!(report), |page| show(&report, page), ending))
}

fn reports(given: &ArgMatches, name: &str) -> Result<Vec<(String, Vec<u8>)>, CommandError> {
    let files = given.get_many::<PathBuf>(name).unwrap_or_default();
    let read = |file: &PathBuf| {
        let bytes = bounded(file).map_err(|error| {
            CommandError::misuse(format!("--{name} {} cannot be read: {error}", file.display()))
        })?;
        Ok((file.display().to_string(), bytes))
    };
    files.map(read).collect()
}

fn bounded(file: &Path) -> io::Result<Vec<u8>> {
    let most = limits::REPORT_BYTES;
    let mut bytes = Vec::new();
    File::open(file)?.take(most as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > most {
        Err(io::Error::other(format!("it has more than {most} bytes")))
    } else {
        Ok(bytes)
    }
}

fn show(report: &CiReport, page: &mut TextPage) {
    let rows = report.findings.iter().map(|finding| {
        let severity = match finding.severity {
            Severity::Error => bad("error"),
            Severity::Warning => warn("warning"),
            Severity::Note => dim("note"),
        };
        let line = finding.line.map(|line| format!(":{line}")).unwrap_or_default();
        vec![
            severity,
            plain(finding.rule),
            place(format!("{}{line}", finding.path.as_deref().unwrap_or("-"))),
            plain(&finding.message),
        ]
    });
    page.table(0, rows);
    for proven in &report.evidence {
        page.line([
            good("proven"),
            plain(&proven.feature),
            dim(format!("by {} tests, evidence: ci", proven.tests)),
        ]);
    }
    for skipped in &report.skipped {
        page.line([dim("skipped:"), dim(skipped)]);
    }
    let summary = &report.summary;
    let short = |hash: &str| hash.chars().take(10).collect::<String>();
    let parts = [(summary.errors, "error"), (summary.warnings, "warning"), (summary.notes, "note")];
    let parts = parts.into_iter().filter(|(number, _)| *number > 0);
    let parts: Vec<String> = parts.map(|(number, noun)| count(number as u64, noun)).collect();
    let counted = if parts.is_empty() { "no findings".to_owned() } else { parts.join(", ") };
    let range = format!(
        "in {}, {}..{}",
        count(summary.files as u64, "file"),
        short(&report.merge_base),
        short(&report.head)
    );
    page.line([if report.is_clean() { good(counted) } else { bad(counted) }, dim(range)]);
}
