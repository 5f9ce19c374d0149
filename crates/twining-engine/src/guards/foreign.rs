//! Whose records a path belongs to: a `.twining` below the project's root may be
//! another project's memory, or a fixture that anybody may write.

use crate::guards::change::Files;
use crate::guards::path::{inside, normal};

/// Whether a path, from the root, lies in records of nobody: in a folder of such a
/// name where no project is.
pub(super) fn is_nobodys(path: &str, cwd: &str, root: &str, files: &dyn Files) -> bool {
    // Outside the project, rules name whole paths; where a home is, nobody knows here.
    if path.starts_with(['/', '~']) {
        return false;
    }
    let parts: Vec<&str> = path.split('/').collect();
    let is = |part: &str, name: &str| part.eq_ignore_ascii_case(name);
    let mut holders = parts.iter().enumerate().filter(|(_, part)| is(part, ".twining") || is(part, ".claude")).peekable();
    let is_somebodys = |at: usize, part: &str| {
        let folder = parts.get(..at).unwrap_or_default().join("/");
        let here = inside(root, cwd);
        // A host that was started in a folder keeps its own lists there.
        let stands_there = is(part, ".claude") && (here == folder || here.starts_with(&format!("{folder}/")));
        at == 0 || stands_there || files.holds_project(&normal(root, &folder))
    };
    holders.peek().is_some() && !holders.any(|(at, part)| is_somebodys(at, part))
}
