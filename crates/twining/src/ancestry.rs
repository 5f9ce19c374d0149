//! Who started us. A host that does not say which session it runs is known by its
//! process: the server and the hooks of one session descend from it.

use std::os::unix::process::parent_id;

/// So far up is looked.
const GENERATIONS: usize = 16;

/// A name for the session of a server whose host gives none: `id`, and the host's
/// process behind it.
pub fn session_named(id: &str) -> String {
    format!("{id}@{}", parent_id())
}

/// The processes we descend from, the nearest first; only that one where the system
/// tells no more.
pub fn processes() -> Vec<u32> {
    std::iter::successors(Some(parent_id()), |process| parent_of(*process)).take(GENERATIONS).collect()
}

fn parent_of(process: u32) -> Option<u32> {
    let told = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    parent_in(&told)
}

/// The name of a program stands in brackets and may hold anything.
fn parent_in(stat: &str) -> Option<u32> {
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(1)?.parse().ok().filter(|parent| *parent > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_any_name_has_a_parent() {
        assert_eq!(parent_in("812 (codex) S 811 812 1 0"), Some(811));
        assert_eq!(parent_in("812 (a) S 7 (b) R 40 1"), Some(40));
        assert_eq!(parent_in("1 (init) S 0 1 1"), None);
        assert_eq!(parent_in(""), None);
    }
}
