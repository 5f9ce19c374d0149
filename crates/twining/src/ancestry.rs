//! Who started us. A host that does not say which session it runs is known by its
//! process: the server and the hooks of one session descend from it.
//!
//! Where the system has no `/proc`, nobody but our parent is known.

use std::os::unix::process::parent_id;

/// So far up is looked for whose claim it is.
const GENERATIONS: usize = 16;
/// So far up is looked for a host: a script cannot hide behind a pile of shells.
const MOST_GENERATIONS: usize = 4096;

/// A process, as it was when we looked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub id: u32,
    /// Its parent's; 0 where that is outside of what we may see.
    pub parent: u32,
    /// The session of terminals it belongs to.
    pub session: u32,
    /// When it began, in the system's ticks. With its number, it is the same process and no other.
    pub began: u64,
    /// The program's name, cut short.
    pub name: String,
}

impl Process {
    /// The process of this number, if it is running.
    pub fn of(id: u32) -> Option<Self> {
        read(&std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?)
    }

    /// We, by the number that others see: in a namespace we have another for ourselves.
    fn own() -> Option<Self> {
        read(&std::fs::read_to_string("/proc/self/stat").ok()?)
    }

    /// The words it was started with.
    pub fn words(&self) -> Vec<String> {
        let told = std::fs::read(format!("/proc/{}/cmdline", self.id)).unwrap_or_default();
        let told = told.strip_suffix(b"\0").unwrap_or(&told);
        told.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
    }

    /// The user it runs as. Not by whose its folder is: a process may give that away.
    pub fn user(&self) -> Option<u32> {
        let told = std::fs::read_to_string(format!("/proc/{}/status", self.id)).ok()?;
        told.lines().find_map(|line| line.strip_prefix("Uid:"))?.split_whitespace().next()?.parse().ok()
    }
}

/// A name for the session of a server whose host gives none: `id`, and the host's
/// process behind it.
pub fn session_named(id: &str) -> String {
    format!("{id}@{}", parent_id())
}

/// The processes we descend from, the nearest first; only that one where the system
/// tells no more.
pub fn processes() -> Vec<u32> {
    let parent_of = |id: &u32| Process::of(*id).map(|process| process.parent).filter(|parent| *parent > 0);
    std::iter::successors(Some(parent_id()), parent_of).take(GENERATIONS).collect()
}

/// We, and the processes we descend from, the nearest first. Nobody where the system
/// does not tell.
pub fn lineage() -> Vec<Process> {
    let parent_of = |process: &Process| Process::of(process.parent);
    std::iter::successors(Process::own(), parent_of).take(MOST_GENERATIONS).collect()
}

/// The name of a program stands in brackets and may hold anything.
fn read(stat: &str) -> Option<Process> {
    let (front, rest) = stat.rsplit_once(") ")?;
    let (id, name) = front.split_once(" (")?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    // One that has ended and waits to be noticed does nothing any more.
    if fields.first().is_some_and(|state| ["Z", "X"].contains(state)) {
        return None;
    }
    Some(Process {
        id: id.parse().ok()?,
        parent: fields.get(1)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        began: fields.get(19)?.parse().ok()?,
        name: name.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_any_name_has_a_parent() {
        let read = |front: &str| read(&format!("{front} 812 811 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 9000 1 1"));
        let seen = |front: &str| read(front).map(|found| (found.name, found.parent, found.session, found.began));
        assert_eq!(seen("812 (codex) S 811"), Some(("codex".to_owned(), 811, 811, 9000)));
        assert_eq!(seen("812 (a) S 7 (b) R 40"), Some(("a) S 7 (b".to_owned(), 40, 811, 9000)));
        assert_eq!(seen("1 (init) S 0").map(|(_, parent, ..)| parent), Some(0));
        assert_eq!(seen("812 (codex) Z 811"), None, "it has ended");
        assert_eq!(seen(""), None);
    }
}
