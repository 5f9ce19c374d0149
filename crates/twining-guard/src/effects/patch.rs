//! Patches in the shape of `*** Begin Patch`, carried out in memory.

use std::cell::Cell;

use super::NewContent;

/// Bytes of the files of one patch that are read.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// Each file of a patch and what content of it. A part that does not fit the
/// file leaves its outcome unknown; the tool may be more lenient than we are.
pub(super) fn apply(patch: &str, read: &dyn Fn(&str) -> Result<Option<String>, String>) -> Vec<(String, NewContent)> {
    let mut changes: Vec<(String, NewContent)> = Vec::new();
    let seen = Cell::new(0);
    let read = &|path: &str| {
        if seen.get() > MAX_BYTES {
            return Err("the patch changes more than is compared".to_owned());
        }
        let text = read(path);
        seen.set(seen.get() + text.as_ref().map_or(0, |text| text.as_deref().map_or(0, str::len)));
        text
    };
    let becomes =
        |path: &str, after: Option<String>| read(path).map_or_else(NewContent::Unknown, |before| NewContent::Text { before, after });
    let mut lines = patch.lines().peekable();
    while let Some(line) = lines.next() {
        let header = |name: &str| line.trim_start().strip_prefix(name).map(|path| path.trim().to_owned());
        let mut body = Vec::new();
        let is_header = |line: &&str| line.trim_start().starts_with("*** ") && !line.contains("End of File") && !line.contains("Move to:");
        if let Some(path) = header("*** Add File:") {
            while let Some(line) = lines.next_if(|line| !is_header(line)) {
                body.push(line.strip_prefix('+').unwrap_or(line));
            }
            let content = becomes(&path, Some(body.iter().map(|line| format!("{line}\n")).collect()));
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
                    None => NewContent::Unknown("the patch does not fit the file as it is".to_owned()),
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
            // A patch as `diff` writes it: which files it names can be told.
            let path = path.split('\t').next().unwrap_or(path).trim();
            let path = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/")).unwrap_or(path);
            if path != "/dev/null" {
                changes.push((path.to_owned(), NewContent::Unknown("it is a patch that is not carried out here".to_owned())));
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
        let fits =
            |at: usize| old.iter().enumerate().all(|(i, line)| lines.get(at + i).is_some_and(|there| there.trim_end() == line.trim_end()));
        // Every line may begin the part, and each part moves what comes after it.
        compared += lines.len().saturating_mul(old.len().max(1));
        if compared > MAX_COMPARED {
            return None;
        }
        let at = if old.is_empty() { lines.len() } else { (from..lines.len()).chain(0..from).find(|at| fits(*at))? };
        let added = new.len();
        lines.splice(at..at + old.len(), new);
        from = at + added;
    }
    Some(lines.iter().map(|line| format!("{line}\n")).collect())
}
