//! Files that moved: which names a file had before, so that what was decided of
//! it under an old name is found under the new one.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};
use twining_model::{Scope, Time};
pub use twining_store::git::Move;

/// Former names of one scope that are followed.
const FORMER: usize = 200;
/// Moves that are remembered; the oldest are forgotten first.
const REMEMBERED: usize = 50_000;

/// Every move up to a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenameHistory {
    /// The commit up to which they are known.
    pub head: String,
    /// Oldest first.
    pub moves: Vec<Move>,
}

impl RenameHistory {
    /// The same with what happened up to `head`.
    #[must_use]
    pub fn up_to(mut self, head: &str, fresh: Vec<Move>) -> Self {
        self.moves.extend(fresh);
        let most = self.moves.len().saturating_sub(REMEMBERED);
        self.moves.drain(..most);
        Self { head: head.to_owned(), moves: self.moves }
    }

    /// What a file, or the files in a directory, were called before, and until when.
    #[must_use]
    pub fn former_names(&self, scope: &Scope) -> Vec<(String, Time)> {
        // Every former name, under what its file is called by now.
        let mut now: HashMap<&str, BTreeMap<&str, Time>> = HashMap::new();
        for Move { at, from, to } in &self.moves {
            let mut names = now.remove(from.as_str()).unwrap_or_default();
            names.insert(from, *at);
            now.entry(to).or_default().extend(names);
        }
        let wanted = scope.as_str().trim_end_matches('/');
        let is_in = |name: &str| name == wanted || name.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('/'));
        let mut found: Vec<(String, Time)> = Vec::new();
        for (_, names) in now.into_iter().filter(|(name, _)| is_in(name)) {
            found.extend(names.into_iter().filter(|(name, _)| !is_in(name)).map(|(name, at)| (name.to_owned(), at)));
        }
        found.sort();
        found.truncate(FORMER);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moves(pairs: &[(&str, &str)]) -> RenameHistory {
        let moved = |(at, (from, to)): (i64, &(&str, &str))| Move { at: Time::from_ms(at), from: (*from).into(), to: (*to).into() };
        RenameHistory { head: String::new(), moves: (1..).zip(pairs).map(moved).collect() }
    }

    fn names(moves: &RenameHistory, scope: &str) -> Vec<String> {
        moves.former_names(&Scope::read(scope)).into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn a_file_is_followed_through_every_name_it_had() {
        let moves = moves(&[("a.rs", "b.rs"), ("x.rs", "a.rs"), ("b.rs", "src/c.rs")]);
        assert_eq!(names(&moves, "src/c.rs"), ["a.rs", "b.rs"]);
        assert_eq!(names(&moves, "a.rs"), ["x.rs"], "a name that was given to another file");
        assert_eq!(names(&moves, "b.rs"), Vec::<String>::new());
    }

    #[test]
    fn a_directory_that_moved_is_followed_by_its_files() {
        let moves =
            moves(&[("src/auth/jwt.rs", "src/identity/jwt.rs"), ("src/auth/key.rs", "src/identity/key.rs"), ("z", "src/identityx")]);
        assert_eq!(names(&moves, "src/identity/"), ["src/auth/jwt.rs", "src/auth/key.rs"]);
        assert_eq!(names(&moves, "src/"), ["z"], "what moved within it was there before");
    }
}
