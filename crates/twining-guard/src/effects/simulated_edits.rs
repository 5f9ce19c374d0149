//! Edits carried out in memory, so that checks compare the file as it was with the
//! file as it would be, not with the text of the edit.

use std::borrow::Cow;
use std::cell::Cell;

use memchr::memmem;

use super::file_changes::NewContent;
use crate::event::Replacement;

/// Bytes that the edits of one file may make, each the whole file once.
const MAX_EDITED_BYTES: usize = 64 * 1024 * 1024;

/// Edits that nobody makes: to carry them out would take all the time there is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooManyEdits;

/// The text with replacements made one after another; none where one of them
/// finds nothing, as the tool itself will say.
pub(super) fn edited(
    before: &str,
    replacements: &[Replacement],
) -> Result<Option<String>, TooManyEdits> {
    let mut budget = MAX_EDITED_BYTES;
    let mut text = Cow::Borrowed(before);
    for Replacement { old, new, everywhere } in replacements {
        if old.is_empty() {
            text = Cow::Borrowed(new);
            continue;
        }
        let mut old = Cow::Borrowed(old);
        let mut places = memmem::find_iter(text.as_bytes(), old.as_bytes()).count();
        if places == 0 {
            // Hosts take straight quotes for curly ones, and CRLF for LF.
            (text, old) = (Cow::Owned(normalized(&text)), Cow::Owned(normalized(&old)));
            places = text.matches(old.as_str()).count();
        }
        let made = if *everywhere { places } else { places.min(1) };
        let length = made.saturating_mul(new.len()).saturating_add(text.len());
        budget = budget.checked_sub(length).ok_or(TooManyEdits)?;
        if made == 0 {
            return Ok(None);
        }
        text = Cow::Owned(text.replacen(old.as_str(), new, made));
    }
    Ok(Some(text.into_owned()))
}

fn normalized(text: &str) -> String {
    text.replace("\r\n", "\n")
        .replace(['\u{2018}', '\u{2019}'], "'")
        .replace(['\u{201c}', '\u{201d}'], "\"")
}

/// Bytes of the files of one patch that are read.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// Each file of a patch and what content of it. A part that does not fit the
/// file leaves its outcome unknown; the tool may be more lenient than we are.
pub(super) fn apply(
    patch: &str,
    read: &dyn Fn(&str) -> Result<Option<String>, String>,
) -> Vec<(String, NewContent)> {
    let mut changes: Vec<(String, NewContent)> = Vec::new();
    let seen = Cell::new(0);
    let read = &|path: &str| {
        if seen.get() > MAX_BYTES {
            return Err("the patch is too large to compare".to_owned());
        }
        let text = read(path);
        seen.set(seen.get() + text.as_ref().map_or(0, |text| text.as_deref().map_or(0, str::len)));
        text
    };
    let becomes = |path: &str, after: Option<String>| {
        read(path).map_or_else(NewContent::Unknown, |before| NewContent::Text { before, after })
    };
    let mut lines = patch.lines().peekable();
    while let Some(line) = lines.next() {
        let header =
            |name: &str| line.trim_start().strip_prefix(name).map(|path| path.trim().to_owned());
        let mut body = Vec::new();
        let is_header = |line: &&str| {
            line.trim_start().starts_with("*** ")
                && !line.contains("End of File")
                && !line.contains("Move to:")
        };
        if let Some(path) = header("*** Add File:") {
            while let Some(line) = lines.next_if(|line| !is_header(line)) {
                body.push(line.strip_prefix('+').unwrap_or(line));
            }
            let content =
                becomes(&path, Some(body.iter().map(|line| format!("{line}\n")).collect()));
            changes.push((path, content));
        } else if let Some(path) = header("*** Delete File:") {
            let content = becomes(&path, None);
            changes.push((path, content));
        } else if let Some(path) = header("*** Update File:") {
            let mut moved = None;
            while let Some(line) = lines.next_if(|line| !is_header(line)) {
                match line.trim_start().strip_prefix("*** Move to:") {
                    Some(to) => moved = Some(to.trim().to_owned()),
                    None => body.push(line),
                }
            }
            let mut content = match read(&path) {
                Err(why) => NewContent::Unknown(why),
                Ok(before) => match updated(before.as_deref().unwrap_or_default(), &body) {
                    Some(after) => NewContent::Text { before, after: Some(after) },
                    None => NewContent::Unknown(
                        "the patch does not apply to the current file".to_owned(),
                    ),
                },
            };
            if let Some(to) = moved {
                let there = match &mut content {
                    // What moves is no longer where it was.
                    NewContent::Text { after, .. } => becomes(&to, after.take()),
                    unknown @ NewContent::Unknown(_) => unknown.clone(),
                };
                changes.push((to, there));
            }
            changes.push((path, content));
        } else if let Some(path) = line.strip_prefix("+++ ").or_else(|| line.strip_prefix("--- ")) {
            // A patch as written by `diff`: only the file names are read.
            let path = path.split('\t').next().unwrap_or(path).trim();
            let path = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/")).unwrap_or(path);
            if path != "/dev/null" {
                changes.push((
                    path.to_owned(),
                    NewContent::Unknown("patches of this format are not evaluated".to_owned()),
                ));
            }
        }
    }
    changes
}

/// Lines that are looked at to find where the parts of a patch belong.
const MAX_COMPARED: usize = 32_000_000;

/// The text with each `@@` part put in, in order.
fn updated(before: &str, body: &[&str]) -> Option<String> {
    let mut lines: Vec<String> = before.lines().map(str::to_owned).collect();
    let (mut from, mut compared) = (0, 0);
    for part in body.split(|line| line.starts_with("@@")) {
        let (mut old, mut new) = (Vec::new(), Vec::new());
        for line in part.iter().filter(|line| !line.starts_with("*** End of File")) {
            match line.split_at_checked(1) {
                Some(("-", gone)) => old.push(gone),
                Some(("+", added)) => new.push(added.to_owned()),
                _ => {
                    let context_line = line.strip_prefix(' ').unwrap_or(line);
                    old.push(context_line);
                    new.push(context_line.to_owned());
                }
            }
        }
        if old.is_empty() && new.is_empty() {
            continue;
        }
        let fits = |at: usize| {
            old.iter().enumerate().all(|(i, line)| {
                lines.get(at + i).is_some_and(|there| there.trim_end() == line.trim_end())
            })
        };
        // Every line may begin the part, and each part moves what comes after it.
        compared += lines.len().saturating_mul(old.len().max(1));
        if compared > MAX_COMPARED {
            return None;
        }
        let at = if old.is_empty() {
            lines.len()
        } else {
            (from..lines.len()).chain(0..from).find(|at| fits(*at))?
        };
        let added = new.len();
        lines.splice(at..at + old.len(), new);
        from = at + added;
    }
    Some(lines.iter().map(|line| format!("{line}\n")).collect())
}
