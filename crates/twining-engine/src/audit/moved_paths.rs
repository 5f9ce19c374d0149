//! Documents with the new places of what moved.

use std::collections::BTreeMap;

use super::report::{AuditReport, ClaimVerdict};

/// A document, and what it would be with the new places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentEdit {
    /// Its path, from the project's folder.
    pub file: String,
    /// What it says.
    pub before: String,
    /// What it would say.
    pub after: String,
}

/// The edits that put new places where documents name old ones. `read` gives a document's text.
#[must_use]
pub fn edits(
    report: &AuditReport,
    mut read: impl FnMut(&str) -> Option<String>,
) -> Vec<DocumentEdit> {
    let mut by_file: BTreeMap<String, Vec<(usize, String, String)>> = BTreeMap::new();
    for finding in report.findings.iter().filter(|one| one.verdict == Some(ClaimVerdict::Moved)) {
        let (Some(file), Some(line), Some(claim), Some(to)) =
            (&finding.file, finding.line, &finding.claim, &finding.to)
        else {
            continue;
        };
        let also = finding.also.iter().filter_map(|place| {
            let (file, line) = place.rsplit_once(':')?;
            Some((file.to_owned(), line.parse::<usize>().ok()?))
        });
        for (file, line) in [(file.clone(), line)].into_iter().chain(also) {
            by_file.entry(file).or_default().push((line, claim.clone(), to.clone()));
        }
    }
    let mut found = Vec::new();
    for (file, moves) in by_file {
        let Some(before) = read(&file) else { continue };
        let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut lines: Vec<String> = before.split('\n').map(str::to_owned).collect();
        for (line, claim, to) in moves {
            if let Some(text) = line.checked_sub(1).and_then(|at| lines.get_mut(at)) {
                *text = replaced(text, &claim, &spelled(&claim, &to, folder, text));
            }
        }
        let after = lines.join("\n");
        if after != before {
            found.push(DocumentEdit { file, before, after });
        }
    }
    found
}

/// A new place as the document would call it: from its own folder where the old one was, or where
/// a link needs it.
fn spelled(claim: &str, to: &str, folder: &str, line: &str) -> String {
    let slash = if claim.ends_with('/') { "/" } else { "" };
    let is_link = line.contains(&format!("]({claim}"));
    if folder.is_empty() {
        let dot = if claim.starts_with("./") { "./" } else { "" };
        return format!("{dot}{to}{slash}");
    }
    let is_from_root = claim.starts_with(&format!("{folder}/"));
    match to.strip_prefix(folder).and_then(|inner| inner.strip_prefix('/')) {
        Some(inner) if !is_from_root => format!("{inner}{slash}"),
        None if is_link || claim.starts_with("../") => {
            let shared = folder.split('/').zip(to.split('/')).take_while(|(a, b)| a == b).count();
            let up = "../".repeat(folder.split('/').count() - shared);
            let down = to.split('/').skip(shared).collect::<Vec<_>>().join("/");
            format!("{up}{down}{slash}")
        }
        Some(_) | None => format!("{to}{slash}"),
    }
}

/// A line with a path replaced where it stands alone, not as a part of another.
fn replaced(line: &str, old: &str, new: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || "_-/".contains(c);
    let (mut made, mut at) = (String::new(), 0);
    for (start, _) in line.match_indices(old) {
        let (before, after) = (&line[..start], &line[start + old.len()..]);
        let is_inner = before.ends_with(|c| is_part(c) || c == '.');
        let goes_on = (after.starts_with(is_part) && !old.ends_with('/'))
            || after.strip_prefix('.').is_some_and(|rest| rest.starts_with(is_part));
        if !is_inner && !goes_on && start >= at {
            made.push_str(&line[at..start]);
            made.push_str(new);
            at = start + old.len();
        }
    }
    made.push_str(&line[at..]);
    made
}
