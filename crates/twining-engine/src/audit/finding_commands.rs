//! What settles a finding: commands, each under its key of `audit --ask`.
//!
//! All of them are commands that exist without the audit. `…`, `SUMMARY`, `PATH` and `PATH#NAME`
//! stand for what only the caller knows.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use twining_model::AnchoredRecord;

use super::audited_record::AuditedRecord;
use crate::waiting::{edit_command, shell_word};

/// A command that settles a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FindingCommand {
    /// Its key in `audit --ask`.
    pub key: char,
    /// What it does, in a word or two.
    pub does: String,
    /// The command, as a shell takes it.
    pub command: String,
    /// What is run.
    #[serde(skip)]
    #[schemars(skip)]
    pub run: CommandToRun,
}

/// What is run for a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandToRun {
    /// This program with these words.
    Twining(Vec<String>),
    /// The person's editor, on a line of a file of the project.
    Editor {
        /// The file, from the project's folder.
        file: String,
        /// The line, from one.
        line: usize,
    },
}

impl FindingCommand {
    pub(super) fn twining<W: Into<String>>(
        key: char,
        does: &str,
        words: impl IntoIterator<Item = W>,
    ) -> Self {
        let words: Vec<String> = words.into_iter().map(Into::into).collect();
        let quoted: Vec<String> = words.iter().map(|word| shell_word(word)).collect();
        Self {
            key,
            does: does.to_owned(),
            command: format!("twining {}", quoted.join(" ")),
            run: CommandToRun::Twining(words),
        }
    }

    pub(super) fn editor(key: char, does: &str, file: &str, line: Option<usize>) -> Self {
        let line = line.unwrap_or(1);
        Self {
            key,
            does: does.to_owned(),
            command: edit_command(file, line as u64),
            run: CommandToRun::Editor { file: file.to_owned(), line },
        }
    }
}

pub(super) fn edit(file: &str, line: Option<usize>) -> FindingCommand {
    FindingCommand::editor('e', "edit", file, line)
}

pub(super) fn redact(file: &str, line: Option<usize>) -> FindingCommand {
    FindingCommand::editor('x', "redact", file, line)
}

/// Says that a record still holds.
pub(super) fn confirm(record: &AnchoredRecord) -> FindingCommand {
    FindingCommand::twining('c', "confirm", ["confirm", &spelled(record)])
}

/// Binds a record to where its code is now.
pub(super) fn reanchor(record: &AnchoredRecord, at: &str) -> FindingCommand {
    let words = ["reanchor", &spelled(record), "--at", at, "--to", "PATH#NAME"];
    FindingCommand::twining('r', "reanchor", words)
}

/// Binds a record, which is bound to nothing, to where its code is.
pub(super) fn bind(record: &AnchoredRecord) -> FindingCommand {
    let words = ["reanchor", &spelled(record), "--to", "PATH#NAME"];
    FindingCommand::twining('r', "reanchor", words)
}

/// Takes the place that was found.
pub(super) fn accept(record: &AnchoredRecord, from: &str) -> FindingCommand {
    let words = ["reanchor", &spelled(record), "--at", from, "--accept"];
    FindingCommand::twining('r', "reanchor", words)
}

/// Lets go of a place.
pub(super) fn release(record: &AnchoredRecord, at: &str) -> FindingCommand {
    let words = ["reanchor", &spelled(record), "--at", at, "--release"];
    FindingCommand::twining('l', "let go", words)
}

/// How a record is ended, or doubted.
pub(super) fn endings(record: &AuditedRecord) -> Vec<FindingCommand> {
    let id = record.name.id();
    match &record.name {
        AnchoredRecord::Decision(_) => {
            let mut words = vec!["decide", "SUMMARY", "--why", "…", "--supersedes", id];
            if let Some(decision) = &record.decision {
                words.extend(["--domain", &decision.domain, "--scope", &decision.scope]);
            }
            vec![
                FindingCommand::twining('s', "supersede", words),
                override_it('d', "override", id, "…"),
                doubt(id),
            ]
        }
        AnchoredRecord::Entry(_) => vec![dismiss(id, "…")],
        AnchoredRecord::Node(_) => change_node(id),
        AnchoredRecord::Feature(_) | AnchoredRecord::Other(_) => Vec::new(),
    }
}

pub(super) fn dismiss(id: &str, why: &str) -> FindingCommand {
    FindingCommand::twining('d', "dismiss", ["dismiss", id, "--why", why])
}

pub(super) fn override_it(key: char, does: &str, id: &str, why: &str) -> FindingCommand {
    FindingCommand::twining(key, does, ["override", id, "--why", why])
}

fn doubt(id: &str) -> FindingCommand {
    FindingCommand::twining('f', "flag for review", ["reconsider", id, "--why", "…"])
}

/// Ends the one that repeats another.
pub(super) fn make_one(record: &AuditedRecord, known: &str) -> FindingCommand {
    let (id, why) = (record.name.id(), format!("same as {known}"));
    match record.decision {
        Some(_) => override_it('m', "make one", id, &why),
        None => FindingCommand { key: 'm', does: "make one".to_owned(), ..dismiss(id, &why) },
    }
}

/// Settles decisions in force that contradict each other.
pub(super) fn settle_contest(id: &str, rivals: &[&str]) -> Vec<FindingCommand> {
    let instead = rivals.iter().flat_map(|rival| ["--instead-of", rival]);
    let words = ["promote", id].into_iter().chain(instead).chain(["--why", "…"]);
    let mut commands = vec![FindingCommand::twining('p', "promote it", words)];
    if let [rival] = rivals {
        let words = ["promote", rival, "--instead-of", id, "--why", "…"];
        commands.push(FindingCommand::twining('o', "promote the other", words));
    }
    commands.push(FindingCommand::twining('b', "keep both", ["promote", id, "--why", "…"]));
    commands
}

/// Accepts a decision that waits.
pub(super) fn promote(id: &str) -> FindingCommand {
    FindingCommand::twining('p', "promote", ["promote", id])
}

/// Removes what the graph does not need.
pub(super) fn prune_graph() -> FindingCommand {
    FindingCommand::twining('d', "prune the graph", ["prune-graph", "--dry-run", "false"])
}

/// Sets a node's path, or removes the node.
pub(super) fn change_node(id: &str) -> Vec<FindingCommand> {
    let path = json!({ "op": "update_node", "id": id, "path": "PATH" }).to_string();
    let removal = json!({ "op": "remove_node", "id": id }).to_string();
    vec![
        FindingCommand::twining('r', "set its path", ["knowledge", "update", "--op", &path]),
        FindingCommand::twining('d', "remove it", ["knowledge", "update", "--op", &removal]),
    ]
}

/// Writes the new places of paths in a file.
pub(super) fn fix_file(file: &str) -> FindingCommand {
    FindingCommand::twining('r', "write the new place", ["audit", "--fix", "--store", file])
}

/// Keeps what is found about a record or at a line.
pub(super) fn keep(subject: &str) -> FindingCommand {
    FindingCommand::twining('k', "keep", ["audit", "--keep", subject])
}

/// A record as `confirm` and `reanchor` take it.
pub(super) fn spelled(record: &AnchoredRecord) -> String {
    match record {
        AnchoredRecord::Node(_) | AnchoredRecord::Feature(_) => record.to_string(),
        _ => record.id().to_owned(),
    }
}
