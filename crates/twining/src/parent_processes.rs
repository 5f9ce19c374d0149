//! The processes above us. A host that gives its MCP server no session is known by its
//! process: the server and the hooks of one session descend from it, so a claim made
//! over the server is the session's own when a hook meets it.
//!
//! Where the system has no `/proc`, only the parent is known.

use std::os::unix::process::parent_id;

/// How far up is looked.
const GENERATIONS: usize = 16;

/// The session of a server whose host names none: `id`, and the host's process.
pub fn session_named(id: &str) -> String {
    format!("{id}@{}", parent_id())
}

/// The processes we descend from, the nearest first.
pub fn parent_processes() -> Vec<u32> {
    let parent_of = |id: &u32| parent_in(&std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?);
    std::iter::successors(Some(parent_id()), parent_of).take(GENERATIONS).collect()
}

/// The parent in a line of `/proc/PID/stat`. The program's name stands in brackets
/// there, and may hold anything.
fn parent_in(stat: &str) -> Option<u32> {
    let (_, fields) = stat.rsplit_once(") ")?;
    fields.split_whitespace().nth(1)?.parse().ok().filter(|parent| *parent > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_any_name_has_a_parent() {
        assert_eq!(parent_in("812 (codex) S 811 811 0"), Some(811));
        assert_eq!(parent_in("812 (a) S 7 (b) R 40 811 0"), Some(40));
        assert_eq!(parent_in("1 (init) S 0 1 1"), None);
        assert_eq!(parent_in(""), None);
    }
}
