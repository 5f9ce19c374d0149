//! Records that another hand than Twining's changed, in words: which file, which
//! records, what became of them, and the way back.

use std::collections::BTreeMap;

use twining_model::text;
use twining_store::{Audit, Changed, Difference, Lost};

/// Ids of one kind of change that are named.
const MOST_IDS: usize = 5;
/// Files that are told of.
const MOST_FILES: usize = 8;

/// What was taken away, what that means, and the way back.
pub fn lost(lost: Lost) -> String {
    let accept = "a person who meant it says `twining guard accept`";
    let said = match lost {
        Lost::Folder => format!(
            "`.twining/` was taken away, with every record in it. Undo it: `git checkout -- .twining` brings back what was committed, a person's to do; {accept}, or `twining uninstall`"
        ),
        Lost::Local => "`.twining/local` is no folder: nothing can be kept and nothing compared. Undo it: a person moves away what stands there; Twining makes the folder anew".to_owned(),
        Lost::Ledger => format!(
            "the ledger in `.twining/local`, which tells what Twining wrote, was taken away or replaced, so what was done to the records meanwhile cannot be told. `git diff -- .twining` shows what differs from the last commit; {accept}"
        ),
    };
    format!("[protect-twining-state] {said}")
}

/// One reason a file. The same change gives the same words, so that nobody is held
/// for it more often than for any other reason.
pub fn reasons(audit: &Audit) -> Vec<String> {
    let by_file = told(&audit.differences);
    let more = by_file.len().saturating_sub(MOST_FILES);
    let mut reasons: Vec<String> = by_file
        .iter()
        .take(MOST_FILES)
        .map(|(file, what)| format!("{}. {}", said(file, what), undo(file, audit.since.as_deref())))
        .collect();
    if !(reasons.is_empty() || audit.commits.is_empty()) {
        reasons.push(format!(
            "Commits since that changed them, none of which is known or came from a remote: {}",
            text::visible(&audit.commits.join(", "))
        ));
    }
    if more > 0 {
        reasons.push(format!("[protect-twining-state] {more} more files of .twining/ were changed so; `git status .twining` shows them"));
    }
    reasons
}

/// The same in short, for a brief: it may have been anybody.
pub fn in_brief(differences: &[Difference]) -> Option<String> {
    if differences.is_empty() {
        return None;
    }
    let lines = told(differences).into_iter().take(MOST_FILES).map(|(file, what)| format!("- .twining/{file}: {what}"));
    let lines: Vec<String> = lines.collect();
    Some(format!(
        "Twining did not write these changes to its records, and neither a known commit nor a remote brought them. If you did not make them, tell the person, who accepts them with `twining guard accept` or takes them back with git:\n{}",
        lines.join("\n")
    ))
}

/// What git brought from others, or undid, in a line: nobody is held for it.
pub fn brought(audit: &Audit) -> Option<String> {
    if audit.brought.is_empty() {
        return None;
    }
    let parts = told(&audit.brought).into_iter().take(MOST_FILES).map(|(file, what)| format!("{file}: {what}"));
    let parts: Vec<String> = parts.collect();
    let commits = if audit.commits.is_empty() { String::new() } else { format!(", with {}", text::visible(&audit.commits.join(", "))) };
    Some(format!("git brought changes to .twining/ that Twining did not write here{commits}: {}", parts.join("; ")))
}

/// The same of policy and settings.
pub fn brought_rules(brought: &[String]) -> Option<String> {
    (!brought.is_empty()).then(|| text::visible(&format!("git brought changes to what holds in this project: {}", brought.join("; "))))
}

/// The same of feature lists.
pub fn brought_lists(brought: &[String]) -> Option<String> {
    (!brought.is_empty())
        .then(|| text::visible(&format!("git brought changes to a feature list that no run here shows: {}", brought.join("; "))))
}

/// For a commit: what would be recorded for everybody.
pub fn in_commit(differences: &[Difference]) -> Vec<String> {
    let lines = told(differences).into_iter().take(MOST_FILES).map(|(file, what)| {
        format!(
            "{}. `git diff --cached -- .twining/{file}` shows it, `git restore --staged .twining/{file}` leaves it out; a person who meant it says `twining guard accept`",
            said(&file, &what)
        )
    });
    lines.collect()
}

/// For a commit: a file as git leaves it where nobody merged it.
pub fn left_in_two(file: &str) -> String {
    format!(
        "[protect-twining-state] `.twining/{}` has git's conflict markers in it. `twining doctor --fix` puts both sides together and loses neither; then `git add .twining`, and commit again",
        text::visible(file)
    )
}

fn said(file: &str, what: &str) -> String {
    format!("[protect-twining-state] `.twining/{file}` was changed by another hand than Twining's: {what}")
}

fn undo(file: &str, since: Option<&str>) -> String {
    if file.starts_with("local/") {
        return "Undo it, or have a person accept it with `twining guard accept`".to_owned();
    }
    let path = format!(".twining/{file}");
    if let Some(since) = since {
        return format!(
            "Undo it: `git diff {since} -- {path}` shows it, `git checkout {since} -- {path}` brings back what was there when all was well, a person's to do; or a person accepts it with `twining guard accept`"
        );
    }
    format!(
        "Undo it: `git diff -- {path}` shows it, `git checkout -- {path}` brings back what was committed, a person's to do; or a person accepts it with `twining guard accept`"
    )
}

/// What became of each file, in the order of their names.
fn told(differences: &[Difference]) -> Vec<(String, String)> {
    let mut files: BTreeMap<&str, BTreeMap<Changed, Vec<&Difference>>> = BTreeMap::new();
    for found in differences {
        files.entry(&found.file).or_default().entry(found.changed).or_default().push(found);
    }
    let of_file = |(file, changes): (&str, BTreeMap<Changed, Vec<&Difference>>)| {
        let parts: Vec<String> = changes.iter().map(|(changed, found)| part(*changed, found)).collect();
        (text::visible(file), parts.join(", "))
    };
    files.into_iter().map(of_file).collect()
}

fn part(changed: Changed, found: &[&Difference]) -> String {
    let what = match changed {
        Changed::Removed => "removed",
        Changed::Altered => "altered",
        Changed::Appended => "appended from outside",
    };
    let named: Vec<String> =
        found.iter().filter_map(|found| found.id.as_deref()).take(MOST_IDS).map(|id| text::visible(&text::excerpt(id, 40))).collect();
    match (found.len(), named.is_empty()) {
        // A file that is one record.
        (1, true) if found[0].id.is_none() && !found[0].file.ends_with(".jsonl") => format!("it was {what}"),
        (count, true) => format!("{count} lines {what}"),
        (count, false) => {
            let more = if count > named.len() { format!(" and {} more", count - named.len()) } else { String::new() };
            format!("{count} {what} ({}{more})", named.join(", "))
        }
    }
}
