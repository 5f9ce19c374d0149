//! What a process is shut into. Hosts may run their agents' commands in a sandbox, from
//! which neither the host can be seen nor who started whom. Nobody gets out of one by
//! itself, so whoever is shut in tighter than a host's hooks is no hook of it.

use std::fs;

use serde::{Deserialize, Serialize};

use crate::ancestry::Process;

/// A sandbox, as far as it cannot be left.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cage {
    /// What processes can be seen, by when the first of them began.
    pub view: u64,
    /// No program that is started may do more than the one that starts it.
    pub is_bound: bool,
    /// There is one user in it, and no other.
    pub is_alone: bool,
}

impl Cage {
    /// The one we are in.
    pub fn own() -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let users = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
        Self {
            view: Process::of(1).map(|first| first.began).unwrap_or_default(),
            is_bound: status.lines().filter_map(|line| line.strip_prefix("NoNewPrivs:")).any(|told| told.trim() == "1"),
            is_alone: is_one(&users),
        }
    }

    /// Whether something holds in here that did not in the other.
    pub fn is_stricter_than(&self, other: &Self) -> bool {
        (self.is_bound && !other.is_bound) || (self.is_alone && !other.is_alone)
    }
}

/// Whether a map of users has room for one alone.
fn is_one(users: &str) -> bool {
    let mut lines = users.lines();
    let first = lines.next().and_then(|line| line.split_whitespace().nth(2));
    first == Some("1") && lines.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sandbox_inside_a_container_is_told_from_the_container() {
        let all = Cage { view: 1, ..Cage::default() };
        let container = Cage { view: 900, is_bound: true, ..Cage::default() };
        let sandbox = Cage { view: 950, is_bound: true, is_alone: true };
        assert!(sandbox.is_stricter_than(&container) && sandbox.is_stricter_than(&all));
        assert!(!all.is_stricter_than(&container) && !sandbox.is_stricter_than(&sandbox));
        assert!(
            is_one("         0       1000          1\n")
                && !is_one("0 0 4294967295\n")
                && !is_one("0 1000 1\n1 100000 65536\n")
                && !is_one("")
        );
    }
}
