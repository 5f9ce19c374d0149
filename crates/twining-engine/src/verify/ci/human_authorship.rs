//! Rule 5: a record that says a person wrote it is in a commit that no agent made.

use std::collections::{BTreeMap, BTreeSet};

use globset::GlobSet;
use serde_json::Value;

use crate::verify::ci::pull_request::{ChangedFile, PullRequest, RecordCommit};
use crate::verify::ci::report::{CiFinding, Severity};

const RULE: &str = "authors";

/// Something that a record says a person did: the record's id, and what.
type PersonClaim = (String, &'static str);

pub(in crate::verify) fn check(request: &PullRequest<'_>, agents: &GlobSet) -> Vec<CiFinding> {
    request.records().flat_map(|file| in_file(request, file, agents)).collect()
}

fn in_file(request: &PullRequest<'_>, file: &ChangedFile, agents: &GlobSet) -> Vec<CiFinding> {
    let (Some(path), Some(after)) = (file.path.as_deref(), file.text_after()) else {
        return Vec::new();
    };
    let known = claims(file.text_before().unwrap_or_default());
    let mut fresh: BTreeMap<PersonClaim, usize> = claims(after);
    fresh.retain(|claim, _| !known.contains_key(claim));
    if fresh.is_empty() {
        return Vec::new();
    }
    let by = |author: &str| agents.is_match(author);
    let found = fresh.iter().filter_map(|(claim, line)| {
        let commit = first_with(request, path, claim)?;
        let (id, what) = claim;
        let short: String = commit.hash.chars().take(10).collect();
        let message = format!(
            "record {id} says that {what}, but commit {short}, which added it, is by {}, an agent. Have a person commit it, or let the agent record it as its own.",
            twining_model::text::excerpt(&commit.author, 80)
        );
        by(&commit.author).then(|| CiFinding::at(RULE, Severity::Error, path, &message).on(Some(*line).filter(|_| path.ends_with(".jsonl"))))
    });
    // Most often one author wrote it all, and no older version need be read.
    let authors: BTreeSet<bool> =
        touching(request, path).map(|commit| by(&commit.author)).collect();
    if authors == BTreeSet::from([false]) { Vec::new() } else { found.collect() }
}

fn touching<'r>(
    request: &'r PullRequest<'_>,
    path: &'r str,
) -> impl DoubleEndedIterator<Item = &'r RecordCommit> {
    request.commits.iter().filter(move |commit| commit.files.iter().any(|(file, _)| file == path))
}

/// The commit that first added a claim to a file. What only a merge brought is the last commit's.
fn first_with<'r>(
    request: &'r PullRequest<'_>,
    path: &'r str,
    claim: &PersonClaim,
) -> Option<&'r RecordCommit> {
    let commits: Vec<&RecordCommit> = touching(request, path).collect();
    if commits.len() <= 1 {
        return commits.first().copied().or(request.commits.last());
    }
    let object = |commit: &RecordCommit| {
        commit.files.iter().find(|(file, _)| file == path).map(|(_, object)| object.clone())
    };
    let wanted: Vec<String> = commits.iter().filter_map(|commit| object(commit)).collect();
    let contents = (request.objects)(&wanted.iter().map(String::as_str).collect::<Vec<_>>());
    let has = |commit: &&&RecordCommit| {
        let bytes = object(commit).and_then(|object| contents.get(&object));
        bytes.is_some_and(|bytes| claims(&String::from_utf8_lossy(bytes)).contains_key(claim))
    };
    commits.iter().find(has).copied().or(request.commits.last())
}

/// What the records of a file say that a person did, each with its line.
fn claims(text: &str) -> BTreeMap<PersonClaim, usize> {
    let mut found = BTreeMap::new();
    let mut take = |record: &Value, line: usize| {
        let id = ["id", "agent_id"]
            .iter()
            .find_map(|key| record[*key].as_str())
            .unwrap_or("without an id")
            .to_owned();
        if record["origin"]["trust"] == "human" {
            found.insert((id.clone(), "a person wrote it"), line);
        }
        if record["override_authority"] == "confirmed" {
            found.insert((id, "a person confirmed the override"), line);
        }
    };
    if !text.contains("\"human\"") && !text.contains("\"confirmed\"") {
        return found;
    }
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Array(records)) => records.iter().for_each(|record| take(record, 1)),
        Ok(record) => take(&record, 1),
        // One record a line; those without the words are not read.
        Err(_) => (1..).zip(text.lines()).filter(|(_, line)| line.contains("\"human\"")).for_each(
            |(number, line)| {
                if let Ok(record) = serde_json::from_str::<Value>(line) {
                    take(&record, number);
                }
            },
        ),
    }
    found
}
