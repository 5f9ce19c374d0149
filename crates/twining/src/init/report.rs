//! The report of an installation: the files it touches, what to know, what to do next.

use std::io::{BufRead, IsTerminal, Write};
use std::path::PathBuf;

use serde_json::json;
use twining_model::knowledge_vocabulary::DEFAULT_GRAPH;
use twining_store::DEFAULT_FILES;

use super::HostKind;
use super::install::InstallOptions;
use super::plan::FileEdit;
use crate::locate_project::FOLDER;
use crate::output::{self, OutputFormat};
use crate::render::command_error::{CommandError, ExitStatus};
use crate::render::text_page::{TextPage, dim, good, plain, strong, warn};

/// What came of it.
pub(super) struct InstallOutcome {
    /// What changes.
    pub edits: Vec<FileEdit>,
    /// Files of the memory that are made.
    pub memory: Vec<String>,
    /// Hosts that are wired up.
    pub hosts: Vec<HostKind>,
    /// What people should know besides.
    pub notes: Vec<String>,
    /// What they have to do themselves.
    pub advice: Vec<String>,
    /// The words that close the answer.
    pub close: String,
}

/// What it means that a person only pressed Enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EnterMeaning {
    /// Yes: what is done can be taken back.
    Agrees,
    /// No: what is lost is lost.
    Declines,
}

/// What a person answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConfirmReply {
    Yes,
    No,
    Diff,
}

impl EnterMeaning {
    fn choices(self) -> &'static str {
        if self == Self::Agrees { "[Y/n, d for the diff]" } else { "[y/N, d for the diff]" }
    }

    /// Reads a line; an end without one is a no.
    fn reply(self, line: &str) -> ConfirmReply {
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" => ConfirmReply::Yes,
            "d" | "diff" => ConfirmReply::Diff,
            "" if !line.is_empty() && self == Self::Agrees => ConfirmReply::Yes,
            _ => ConfirmReply::No,
        }
    }
}

/// Whether a person at a terminal agrees. Where there is none, the command itself
/// is the answer.
pub(super) fn agreed(
    options: &InstallOptions,
    outcome: &InstallOutcome,
    question: &str,
    silence: EnterMeaning,
) -> Result<bool, CommandError> {
    if options.yes
        || options.style == OutputFormat::Json
        || !(std::io::stdin().is_terminal() && std::io::stdout().is_terminal())
    {
        return Ok(true);
    }
    let mut page = output::page();
    files(&mut page, outcome);
    let fail = |error: std::io::Error| CommandError::of_error("OUTPUT", &error);
    anstream::stdout().write_all(page.as_str().as_bytes()).map_err(fail)?;
    loop {
        write!(anstream::stdout(), "{question} {} ", silence.choices())
            .and_then(|()| std::io::stdout().flush())
            .map_err(fail)?;
        let mut answer = String::new();
        std::io::stdin().lock().read_line(&mut answer).map_err(fail)?;
        match silence.reply(&answer) {
            ConfirmReply::Yes => return Ok(true),
            ConfirmReply::No => return Ok(false),
            ConfirmReply::Diff => {
                anstream::stdout().write_all(diff(outcome).as_bytes()).map_err(fail)?;
            }
        }
    }
}

/// Tells a person who said no that it was heard.
pub(super) fn declined(options: &InstallOptions, said: &str) -> ExitStatus {
    output::answer(
        options.style,
        || json!({ "message": said }),
        |page| page.line([plain(said)]),
        ExitStatus::Failed,
    )
}

fn diff(outcome: &InstallOutcome) -> String {
    let memory = outcome.memory.iter().filter_map(|shown| {
        let name = shown.strip_prefix(FOLDER)?.trim_start_matches('/');
        let known = DEFAULT_FILES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text);
        let after = known.or((name == "knowledge.dot").then_some(DEFAULT_GRAPH))?;
        Some(
            FileEdit {
                path: PathBuf::new(),
                shown: shown.clone(),
                before: None,
                after: Some(after.to_owned()),
                executable: false,
            }
            .diff(),
        )
    });
    twining_model::text::visible(
        &memory.chain(outcome.edits.iter().map(FileEdit::diff)).collect::<String>(),
    )
}

fn files(page: &mut TextPage, outcome: &InstallOutcome) {
    let memory = outcome.memory.iter().map(|file| {
        let what = if file.ends_with('/') { "remove" } else { "create" };
        vec![good(what), plain(file)]
    });
    let edits = outcome.edits.iter().map(|edit| vec![good(edit.what()), plain(&edit.shown)]);
    page.table(0, memory.chain(edits));
}

/// Reports the outcome.
pub(super) fn tell(options: &InstallOptions, outcome: &InstallOutcome) -> ExitStatus {
    let to_json = || {
        let memory = outcome.memory.iter().map(|file| json!({"file": file, "what": if file.ends_with('/') { "remove" } else { "create" }}));
        let edits =
            outcome.edits.iter().map(|edit| json!({"file": edit.shown, "what": edit.what()}));
        let mut report = json!({
            "dry_run": options.dry_run,
            "files": memory.chain(edits).collect::<Vec<_>>(),
            "agents": outcome.hosts.iter().map(|host| host.name()).collect::<Vec<_>>(),
            "notes": outcome.notes,
            "next_steps": outcome.advice,
        });
        if options.dry_run {
            report["diff"] = json!(diff(outcome));
        }
        report
    };
    let show = |page: &mut TextPage| {
        if options.dry_run {
            page.verbatim(&diff(outcome));
        }
        files(page, outcome);
        outcome.notes.iter().for_each(|note| page.line([warn("note:"), plain(note)]));
        outcome.advice.iter().for_each(|advice| page.line([dim("next:"), plain(advice)]));
        page.line([strong(&outcome.close)]);
    };
    output::answer(options.style, to_json, show, ExitStatus::Done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use twining_testcases::each;

    #[test]
    fn enter_never_removes_what_was_recorded() {
        assert_eq!(EnterMeaning::Declines.reply("\n"), ConfirmReply::No);
        assert!(EnterMeaning::Declines.choices().contains("y/N"));
        assert_eq!(EnterMeaning::Agrees.reply("\n"), ConfirmReply::Yes);
        each([EnterMeaning::Agrees, EnterMeaning::Declines], |silence| {
            assert_eq!(silence.reply(""), ConfirmReply::No, "a terminal that closed says nothing");
            assert_eq!(silence.reply("Yes\n"), ConfirmReply::Yes);
            assert_eq!(silence.reply("d\n"), ConfirmReply::Diff);
            assert_eq!(silence.reply("what?\n"), ConfirmReply::No);
        });
    }
}
