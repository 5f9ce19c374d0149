//! `twining import`: what other tools wrote down, as records of ours.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{ArgMatches, Command, ValueHint};
use twining_engine::Caller;
use twining_engine::import::{
    FOLDER_FILES, ImportCounts, ImportMode, ImportOutcome, ImportSource, ImportedFile,
};
use twining_model::{Channel, Origin, Trust, text};

use crate::args::{path, switch, word};
use crate::locate_project::FOLDER;
use crate::output::{self, OutputFormat};
use crate::project::Project;
use crate::render::command_error::{CommandError, ExitStatus};
use crate::render::text_page::{StyledText, TextPage, count, dim, good, place, plain, warn};

use super::guardkit::{PolicyOutput, guardkit};

/// What can be imported, as people call it.
pub(super) const SOURCES: [&str; 7] =
    ["adr", "madr", "memory-jsonl", "beads", "claude-md", "twining", "guardkit"];

/// Files of one import, and how large each may be.
pub(super) const MOST_FILES: usize = 10_000;
pub(super) const MOST_BYTES: u64 = 256 * 1024 * 1024;
/// How deep records may lie below the folder that was given.
pub(super) const DEPTH: usize = 4;

/// The flags of `import`.
pub(crate) fn flags(command: Command) -> Command {
    let from = word(
        "from",
        "PATH",
        "The file, or the folder for adr, madr and twining; guardkit needs none",
    );
    command
        .arg(word("source", "SOURCE", "The tool or format to import from").required(true).value_parser(SOURCES))
        .arg(path(from, ValueHint::AnyPath))
        .arg(switch("dry-run", "Show what would be imported, and write nothing"))
        .arg(switch("print", "For guardkit: print the policy instead of writing it"))
        .after_help("Importing again adds no duplicates; what cannot be read is listed.\n\nExamples:\n  twining import adr docs/decisions --dry-run\n  twining import claude-md CLAUDE.md")
}

/// Imports a file or a folder.
pub(crate) fn run(
    project: &Project,
    given: &ArgMatches,
    style: OutputFormat,
) -> Result<ExitStatus, CommandError> {
    let intent = if given.get_flag("dry-run") { ImportMode::Try } else { ImportMode::Import };
    let from = given.get_one::<PathBuf>("from");
    let source = match given.get_one::<String>("source").map_or("", String::as_str) {
        "guardkit" => {
            let is_shown = given.get_flag("print") || given.get_flag("dry-run");
            return guardkit(
                project,
                if is_shown { PolicyOutput::Print } else { PolicyOutput::Write },
                style,
            );
        }
        "adr" | "madr" => ImportSource::Adr,
        "memory-jsonl" => ImportSource::MemoryJsonl,
        "beads" => ImportSource::Beads,
        "claude-md" => ImportSource::ClaudeMd,
        "twining" => ImportSource::Twining,
        other => {
            return Err(CommandError::misuse(format!(
                "unknown import source `{}`",
                text::excerpt(other, 40)
            )));
        }
    };
    let from = from.ok_or_else(|| {
        CommandError::misuse(format!(
            "`twining import {}` needs a file or a folder",
            source.as_str()
        ))
    })?;
    let (files, passed_over) = read(source, from)?;
    let origin = Origin {
        session: crate::project::session_of_host(),
        ..Origin::new(Channel::Import, Trust::Imported)
    };
    let caller = Caller { agent: source.as_str().to_owned(), origin };
    let mut outcome = project.engine.import(&caller, source, &files, intent)?;
    outcome.unread.extend(passed_over);
    if intent == ImportMode::Import {
        project.finish_writes();
    }
    Ok(output::answer(
        style,
        || serde_json::to_value(&outcome).unwrap_or_default(),
        |page| show(&outcome, page),
        ExitStatus::Done,
    ))
}

pub(super) type SkippedFiles = Vec<twining_engine::import::ImportProblem>;

pub(super) fn read(
    source: ImportSource,
    from: &Path,
) -> Result<(Vec<ImportedFile>, SkippedFiles), CommandError> {
    let shown = from.display().to_string();
    let missing = |error: &std::io::Error| {
        CommandError::of_error(
            "NOT_FOUND",
            &std::io::Error::other(format!("`{shown}` cannot be read: {error}")),
        )
    };
    let kind = fs::metadata(from).map_err(|error| missing(&error))?;
    let mut passed_over = Vec::new();
    let mut files = Vec::new();
    let mut take = |path: &Path, name: String| match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_symlink() => passed_over
            .push(pass(&name, "a symbolic link, which is not followed; name the file itself")),
        Ok(meta) if meta.is_dir() => passed_over.push(pass(&name, "a folder nested too deeply")),
        Ok(meta) if !meta.is_file() => passed_over.push(pass(&name, "not a file")),
        Ok(meta) if meta.len() > MOST_BYTES => passed_over.push(pass(&name, "too large to import")),
        Err(error) => passed_over.push(pass(&name, &error.to_string())),
        Ok(_) => match fs::read(path) {
            Ok(bytes) => match String::from_utf8(bytes) {
                Ok(text) => files.push(ImportedFile { name, text }),
                Err(_) => passed_over.push(pass(&name, "not UTF-8")),
            },
            Err(error) => passed_over.push(pass(&name, &error.to_string())),
        },
    };
    match source {
        ImportSource::Adr if kind.is_dir() => {
            let mut found = Vec::new();
            markdown_below(from, Path::new(""), DEPTH, &mut found);
            found.sort();
            found
                .iter()
                .take(MOST_FILES)
                .for_each(|name| take(&from.join(name), name.to_string_lossy().replace('\\', "/")));
            if found.len() > MOST_FILES {
                passed_over.push(pass(
                    "…",
                    &format!("{} files over the limit for one import", found.len() - MOST_FILES),
                ));
            }
        }
        ImportSource::Twining => {
            let folder =
                if from.join(FOLDER).is_dir() { from.join(FOLDER) } else { from.to_path_buf() };
            for name in FOLDER_FILES.into_iter().filter(|name| folder.join(name).exists()) {
                take(&folder.join(name), name.to_owned());
            }
            let mut decisions: Vec<PathBuf> = fs::read_dir(folder.join("decisions"))
                .into_iter()
                .flatten()
                .flatten()
                .map(|e| e.path())
                .collect();
            decisions.sort();
            for path in decisions
                .iter()
                .filter(|path| path.extension().is_some_and(|kind| kind == "json"))
                .take(MOST_FILES)
            {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                take(path, format!("decisions/{name}"));
            }
            for (name, why) in LEFT {
                if folder.join(name).exists() {
                    passed_over.push(pass(name, why));
                }
            }
            if files.is_empty() {
                return Err(missing(&std::io::Error::other("it contains no memory")));
            }
        }
        _ if kind.is_dir() => {
            return Err(missing(&std::io::Error::other("it is a folder, but a file is expected")));
        }
        _ => {
            let name = from.file_name().unwrap_or_default().to_string_lossy().into_owned();
            take(from, name);
        }
    }
    Ok((files, passed_over))
}

/// Parts of another memory that stay where they are.
pub(super) const LEFT: [(&str, &str); 7] = [
    ("agents/registry.json", "the agent registry belongs to that project"),
    ("handoffs/index.jsonl", "handoffs belong to that project"),
    ("config.yml", "settings are each project's own"),
    ("policy.yml", "rules are each project's own; copy those that should apply here"),
    (
        "turns",
        "turns belong to the project where they were recorded; copy the folder if you want them",
    ),
    ("anchors.jsonl", "anchors speak of that project's code"),
    ("traces.jsonl", "traces belong to that project's guards; copy the file if you want them"),
];

pub(super) fn markdown_below(top: &Path, below: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(top.join(below)).into_iter().flatten().flatten() {
        let name = below.join(entry.file_name());
        let is_record = || name.extension().is_some_and(|ext| ext.eq_ignore_ascii_case("md"));
        // A link leads out of the given folder, or into a cycle; its reader reports that.
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth > 0 => markdown_below(top, &name, depth - 1, found),
            Ok(kind) if (!kind.is_dir() || depth == 0) && (is_record() || kind.is_dir()) => {
                found.push(name);
            }
            _ => {}
        }
    }
}

pub(super) fn pass(name: &str, why: &str) -> twining_engine::import::ImportProblem {
    twining_engine::import::ImportProblem {
        file: text::visible(name),
        line: None,
        why: text::excerpt(why, 200),
    }
}

pub(super) fn show(outcome: &ImportOutcome, page: &mut TextPage) {
    let word = if outcome.dry_run { "would import" } else { "imported" };
    let rows = [
        ("decision", outcome.decisions),
        ("entry", outcome.entries),
        ("entity", outcome.entities),
        ("relation", outcome.relations),
        ("feature", outcome.features),
        ("node", outcome.nodes),
    ];
    let lines: Vec<Vec<StyledText>> = rows
        .iter()
        .filter(|(_, counts)| *counts != ImportCounts::default())
        .map(|(name, counts)| row(word, name, *counts))
        .collect();
    if lines.is_empty() {
        page.line([dim("nothing to import was found")]);
    }
    page.table(0, lines);
    if outcome.guards_to_review > 0 {
        page.line([
            plain(format!("{} to review as guards:", outcome.guards_to_review)),
            dim("twining read --tag guard-to-review"),
        ]);
    }
    if outcome.advice > 0 {
        page.line([
            plain(format!("{} pieces of advice:", outcome.advice)),
            dim("twining read --tag advice"),
        ]);
    }
    for taken in &outcome.redacted {
        page.line([
            warn("redacted before writing:"),
            plain(&taken.kind),
            dim("in"),
            place(&taken.field),
        ]);
    }
    for unread in &outcome.unread {
        let at = unread
            .line
            .map_or_else(|| unread.file.clone(), |line| format!("{}:{line}", unread.file));
        page.line([warn("not read:"), place(at), plain(&unread.why)]);
    }
    if outcome.more_unread > 0 {
        page.line([warn(format!("and {} more", outcome.more_unread))]);
    }
}

pub(super) fn row(word: &str, name: &str, counts: ImportCounts) -> Vec<StyledText> {
    let mut row = vec![good(word), plain(count(counts.new, name))];
    if counts.completed > 0 {
        row.push(plain(format!("{} completed", counts.completed)));
    }
    if counts.known > 0 {
        row.push(dim(format!("{} already known", counts.known)));
    }
    row
}
