//! `audit`: what the files for agents, and the memory, say that is no longer so.
//!
//! Needs no memory: any repository with a `CLAUDE.md` will do. Writes nothing but what a person
//! confirmed with `--fix`.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{ArgAction, ArgMatches, Command, ValueHint};
use serde_json::json;
use similar::TextDiff;
use twining_engine::audit::{
    self, AuditClass, AuditFinding, AuditReport, AuditRequest, ClaimVerdict, DocumentEdit,
};
use twining_store::git::Git;

use crate::args::{option, path, switch};
use crate::commands::audit_keys::{self, KeyOutcome};
use crate::locate_project::FOLDER;
use crate::output::{self, OutputFormat};
use crate::person_check;
use crate::project::{self, Project};
use crate::render::command_error::{CommandError, ExitStatus};
use crate::render::text_page::{StyledText, TextPage, bad, count, dim, good, place, plain, warn};

/// How long looking may take before the rest is left out.
const TIMEOUT: Duration = Duration::from_secs(8);
/// Findings that a person is shown; the rest is counted.
const SHOWN: usize = 40;
/// Other places of a finding that a person is shown.
const ALSO: usize = 2;
/// Files of a folder without git that are looked at.
const MOST_FILES: usize = 20_000;

/// The flags of `audit`.
pub(crate) fn flags(command: Command) -> Command {
    let store = option(
        "store",
        "FILE|DIR",
        "Audit only this file or folder: CLAUDE.md, .cursor/rules, memory.jsonl, docs/adr …",
    );
    command
        .args([
            path(store, ValueHint::AnyPath).action(ArgAction::Append),
            option(
                "keep",
                "RECORD|FILE:LINE",
                "Keep what is found about this record, or at this line, until it or its code changes",
            )
                .action(ArgAction::Append)
                .conflicts_with_all(["store", "fix"]),
            switch("all", "Show every finding"),
            switch("ask", "Show one finding after the other, and settle each with a key")
                .conflicts_with_all(["keep", "fix"]),
            switch("fix", "Write the new places of moved paths, after showing the changes and asking"),
            path(option("sarif", "FILE", "Also write the findings as SARIF"), ValueHint::FilePath),
        ])
        .after_help(
            "Needs no `twining init`: any repository with a CLAUDE.md, AGENTS.md or the like will do.\nEnds with 3 if something was found.\n\nExample:\n  twining audit\n  twining audit --ask\n  twining audit --store docs/adr --json",
        )
}

/// Audits, and reports.
pub(crate) fn run(
    given_project: Option<PathBuf>,
    given: &ArgMatches,
    style: OutputFormat,
) -> Result<ExitStatus, CommandError> {
    let began = Instant::now();
    let located = project::find(given_project.clone())?;
    let root = located.checkout.as_path();
    let named = named_stores(root, given)?;
    let git = Git::at(root);
    let is_time_up = || began.elapsed() > TIMEOUT;
    let files = if git.head().is_some() { Vec::new() } else { files_below(root) };
    let request = AuditRequest { root, git: &git, named: &named, files, is_time_up: &is_time_up };
    let mut report = audit::audit_files(&request);
    // The memory, where there is one: nothing is created to look for it.
    if located.place.project.join(FOLDER).is_dir() {
        let project = Project::open(given_project)?;
        if named.is_empty() {
            report = report.with(project.engine.audit_records(root, &git, &is_time_up)?);
        }
        report = project.engine.without_kept(report)?;
        let ids: Vec<String> = given.get_many("keep").unwrap_or_default().cloned().collect();
        if !ids.is_empty() {
            return keep(&project, &report, &ids, style);
        }
        project.finish_reads();
    }
    if given.contains_id("keep") {
        return Err(CommandError::misuse("there is no memory here to keep findings in").with_hint(
            "correct the line, or put it under a heading such as `History`; `twining init` creates a memory",
        ));
    }
    let report = report.ordered();
    if let Some(file) = given.get_one::<PathBuf>("sarif") {
        let log = audit::audit_sarif(&report, env!("CARGO_PKG_VERSION"));
        std::fs::write(file, format!("{log:#}\n")).map_err(|error| {
            CommandError::misuse(format!("--sarif {} cannot be written: {error}", file.display()))
        })?;
    }
    if given.get_flag("fix") {
        return fix(root, &report, style);
    }
    if given.get_flag("ask") {
        return ask(root, &report, style);
    }
    let ending = if report.is_clean() { ExitStatus::Done } else { ExitStatus::FoundProblems };
    let most = if given.get_flag("all") { usize::MAX } else { SHOWN };
    let seconds = began.elapsed().as_secs_f32();
    Ok(output::answer(style, || json!(report), |page| show(&report, most, seconds, page), ending))
}

/// Has a person settle one finding after the other.
fn ask(root: &Path, report: &AuditReport, style: OutputFormat) -> Result<ExitStatus, CommandError> {
    if !person_check::is_person_here() {
        return Err(person_check::required("only a person at a terminal can be asked"));
    }
    let mut settled = 0;
    for finding in &report.findings {
        let mut page = TextPage::new(None);
        show_finding(finding, &mut page);
        output::note(page.as_str());
        match audit_keys::settle(finding, root)? {
            KeyOutcome::Done => settled += 1,
            KeyOutcome::Open => {}
            KeyOutcome::Stop => break,
        }
    }
    let open = report.findings.len() - settled;
    let show = |page: &mut TextPage| {
        page.line([good(format!("{settled} settled")), plain(format!("{open} left"))]);
    };
    let ending = if open == 0 { ExitStatus::Done } else { ExitStatus::FoundProblems };
    Ok(output::answer(style, || json!({ "settled": settled, "open": open }), show, ending))
}

/// Keeps what was found about some records.
fn keep(
    project: &Project,
    report: &AuditReport,
    ids: &[String],
    style: OutputFormat,
) -> Result<ExitStatus, CommandError> {
    let (caller, _) = project::caller_at_cli(None);
    let kept = project.engine.keep_findings(&caller, report, ids)?;
    if kept.is_empty() {
        return Err(CommandError::misuse("nothing was found about these records or lines")
            .with_hint("`twining audit` names the record, or the file and line, of each finding"));
    }
    let show = |page: &mut TextPage| {
        for finding in &kept {
            page.line([good("kept"), place(finding.subject()), dim(&finding.message)]);
        }
    };
    Ok(output::answer(style, || json!({ "kept": kept }), show, ExitStatus::Done))
}

/// The stores that were named, from the project's folder.
fn named_stores(root: &Path, given: &ArgMatches) -> Result<Vec<String>, CommandError> {
    let here =
        std::env::current_dir().map_err(|error| CommandError::of_error("NOT_FOUND", &error))?;
    let stores = given.get_many::<PathBuf>("store").unwrap_or_default();
    let inside = |store: &PathBuf| {
        let whole = [here.join(store), root.join(store)]
            .into_iter()
            .find_map(|path| std::fs::canonicalize(path).ok());
        let Some(whole) = whole else {
            return Err(CommandError::misuse(format!(
                "--store {} does not exist",
                store.display()
            )));
        };
        let inner = whole.strip_prefix(root).map(|inner| inner.to_string_lossy().into_owned());
        inner.map_err(|_| {
            CommandError::misuse(format!("--store {} is not in the project", store.display()))
                .with_hint("name the project with --project")
        })
    };
    stores.map(inside).collect()
}

/// The files below a folder that no git knows, but what tools fill.
fn files_below(root: &Path) -> Vec<String> {
    let (mut files, mut folders) = (Vec::new(), vec![root.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let kind = entry.file_type().ok();
            let is_foreign = ["node_modules", ".git", "target", ".venv", "vendor"]
                .iter()
                .any(|foreign| name == *foreign);
            if kind.is_some_and(|kind| kind.is_dir()) && !is_foreign {
                folders.push(entry.path());
            } else if kind.is_some_and(|kind| kind.is_file())
                && let Ok(inner) = entry.path().strip_prefix(root)
            {
                files.push(inner.to_string_lossy().into_owned());
            }
        }
        if files.len() > MOST_FILES {
            break;
        }
    }
    files
}

/// Shows what would change, and writes it if a person says so.
fn fix(root: &Path, report: &AuditReport, style: OutputFormat) -> Result<ExitStatus, CommandError> {
    let read = |file: &str| std::fs::read_to_string(root.join(file)).ok();
    let edits = audit::edits(report, read);
    let files: Vec<&str> = edits.iter().map(|edit| edit.file.as_str()).collect();
    if edits.is_empty() {
        let show = |page: &mut TextPage| {
            page.line([plain("nothing to fix: no path in these files moved")]);
        };
        return Ok(output::answer(style, || json!({ "fixed": files }), show, ExitStatus::Done));
    }
    output::note(&edits.iter().map(diff).collect::<Vec<_>>().join("\n"));
    person_check::confirm(&format!("This rewrites {}.", count(edits.len() as u64, "file")), "yes")?;
    for edit in &edits {
        write(root, edit)?;
    }
    let show = |page: &mut TextPage| {
        for file in &files {
            page.line([good("fixed"), place(file)]);
        }
    };
    Ok(output::answer(style, || json!({ "fixed": files }), show, ExitStatus::Done))
}

fn diff(edit: &DocumentEdit) -> String {
    let file = twining_model::text::visible(&edit.file);
    let (before, after) =
        (twining_model::text::visible(&edit.before), twining_model::text::visible(&edit.after));
    TextDiff::from_lines(&before, &after)
        .unified_diff()
        .context_radius(0)
        .header(&format!("a/{file}"), &format!("b/{file}"))
        .to_string()
}

/// Writes a document anew, unless it changed since it was shown.
fn write(root: &Path, edit: &DocumentEdit) -> Result<(), CommandError> {
    let file = root.join(&edit.file);
    let failed = |error: std::io::Error| {
        CommandError::unavailable("OUTPUT", format!("`{}` cannot be written: {error}", edit.file))
    };
    if std::fs::read_to_string(&file).map_err(failed)? != edit.before {
        return Err(CommandError::unavailable(
            "CHANGED",
            format!("`{}` changed meanwhile", edit.file),
        )
        .with_hint("run the command again"));
    }
    std::fs::write(&file, &edit.after).map_err(failed)
}

fn show(report: &AuditReport, most: usize, seconds: f32, page: &mut TextPage) {
    for finding in report.findings.iter().take(most) {
        show_finding(finding, page);
    }
    let hidden = report.findings.len().saturating_sub(most) + report.summary.omitted;
    if hidden > 0 {
        page.line([dim(format!("… and {hidden} more: --all shows them"))]);
    }
    if !report.is_clean() {
        page.blank();
        page.line([dim("`twining audit --ask` settles them one after the other")]);
    }
    for note in &report.notes {
        page.line([dim("note:"), dim(note)]);
    }
    show_summary(report, seconds, page);
}

fn show_finding(finding: &AuditFinding, page: &mut TextPage) {
    let line = finding.line.map(|line| format!(":{line}")).unwrap_or_default();
    let at = finding.file.as_ref().map(|file| format!("{file}{line}"));
    let at = at.unwrap_or_else(|| finding.subject());
    let claim = finding.claim.as_ref().map(|claim| format!("`{claim}`")).unwrap_or_default();
    let mut cells = vec![label(finding), place(at)];
    if !claim.is_empty() {
        cells.push(plain(claim));
    }
    page.line(cells);
    let also = match finding.also.len() {
        0 => String::new(),
        number if number <= ALSO => format!(" (also {})", finding.also.join(", ")),
        number => format!(" (also {} and {} more)", finding.also[..ALSO].join(", "), number - ALSO),
    };
    page.block(8, &format!("{}{also}", finding.message));
    page.block(8, &format!("→ {}", finding.fix));
}

fn label(finding: &AuditFinding) -> StyledText {
    let word = match finding.verdict {
        // What is reported of the unknown is that it is not there.
        Some(ClaimVerdict::Unknown) => "missing",
        verdict => verdict.map_or(finding.class.as_str(), ClaimVerdict::as_str),
    };
    let word = format!("{word:7}");
    match (finding.class, finding.verdict) {
        (AuditClass::Secret, _) | (_, Some(ClaimVerdict::Gone)) => bad(word),
        (AuditClass::Duplicate | AuditClass::Leftover | AuditClass::Junk, _) => dim(word),
        _ => warn(word),
    }
}

fn show_summary(report: &AuditReport, seconds: f32, page: &mut TextPage) {
    let summary = &report.summary;
    if summary.documents == 0 && summary.records == 0 {
        page.line([plain("no file for agents here: no CLAUDE.md, AGENTS.md, GEMINI.md, rules, memory file or decision record")]);
        page.line([dim("`twining audit --store FILE` audits any file")]);
        return;
    }
    let found = report.findings.len() + summary.omitted;
    let counted = if found == 0 { good("nothing found") } else { bad(format!("{found} found")) };
    let of_records = if summary.records > 0 {
        format!(", {}", count(summary.records as u64, "record"))
    } else {
        String::new()
    };
    let kept = if summary.kept > 0 { format!(", {} kept", summary.kept) } else { String::new() };
    let looked = format!("in {}{of_records}{kept};", count(summary.documents as u64, "file"));
    let claims = format!(
        "of {} {} hold, {} moved, {} gone, {} could not be checked ({seconds:.1} s)",
        count(summary.claims as u64, "claim"),
        summary.holds,
        summary.moved,
        summary.gone,
        summary.unknown
    );
    page.line([counted, plain(looked), dim(claims)]);
}
