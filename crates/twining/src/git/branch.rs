//! The branch that is checked out: where it left the one it follows, and what changed since.

use std::thread;

use twining_model::Time;

use super::history::seconds;
use super::{Git, MAIN_BRANCHES};

/// What a branch changed, committed or not.
#[derive(Clone, Debug)]
pub struct BranchChanges {
    /// Where it left what it follows, or else the main branch; none where that is HEAD.
    pub base: Option<String>,
    /// When the change of HEAD was written: a rebase makes a commit anew and keeps this.
    pub head_written: Time,
    /// Files whose bytes are not as in the base, or else in HEAD, from the working tree's own
    /// folder: changed, gone, new, staged or not. What is ignored is not among them.
    pub files: Vec<String>,
}

impl Git {
    /// What the branch changed; none without a commit. An agent waits for the answer, so
    /// the questions do not wait for each other.
    pub fn branch_changes(&self) -> Option<BranchChanges> {
        thread::scope(|scope| {
            let new = scope.spawn(|| self.untracked_in("."));
            let filters = scope.spawn(|| self.filters());
            let branches = scope.spawn(|| self.branches());
            let (head, head_written) = self.head_and_time()?;
            let base = branches.join().ok()?.and_then(|branches| self.base(&branches, &head)).filter(|base| *base != head);
            let words = [
                "diff",
                "--name-only",
                "-z",
                "--relative",
                "--no-renames",
                "--no-ext-diff",
                "--no-textconv",
                "--ignore-submodules=dirty",
                base.as_ref().unwrap_or(&head),
                "--",
            ];
            let known = self.printed_without(&filters.join().ok()??, &words)?;
            let known = String::from_utf8_lossy(&known).split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect();
            let files = [known, new.join().ok()??].concat();
            Some(BranchChanges { base, head_written, files })
        })
    }

    fn head_and_time(&self) -> Option<(String, Time)> {
        let printed = String::from_utf8(self.printed(&["log", "-1", "--no-walk", "--format=%H %at", "HEAD", "--"])?).ok()?;
        let (hash, at) = printed.split_once(' ')?;
        Some((hash.to_owned(), seconds(at)?))
    }

    /// Branches of this clone, and the usual main ones of others, a line each.
    fn branches(&self) -> Option<String> {
        let mut ask = vec!["for-each-ref", "--format=%(HEAD) %(refname) %(objectname) %(upstream)", "refs/heads"];
        let remote: Vec<String> = MAIN_BRANCHES.iter().map(|name| format!("refs/remotes/{name}")).collect();
        ask.extend(remote.iter().map(String::as_str));
        String::from_utf8(self.printed(&ask)?).ok()
    }

    /// Where HEAD left the branch it follows, or else the main one.
    fn base(&self, branches: &str, head: &str) -> Option<String> {
        let read = |line: &str| {
            let (mark, rest) = line.split_at_checked(2)?;
            let mut fields = rest.split(' ').map(str::to_owned);
            Some((mark == "* ", fields.next()?, fields.next()?, fields.next().unwrap_or_default()))
        };
        let branches: Vec<(bool, String, String, String)> = branches.lines().filter_map(read).collect();
        let followed = branches.iter().find(|(is_current, ..)| *is_current).map(|(.., upstream)| upstream).filter(|name| !name.is_empty());
        if let Some(base) = followed.and_then(|upstream| self.hash(&["merge-base", head, upstream])) {
            return Some(base);
        }
        let names = MAIN_BRANCHES.iter().flat_map(|name| [format!("refs/remotes/{name}"), format!("refs/heads/{name}")]);
        let (.., at, _) = names.into_iter().find_map(|name| branches.iter().find(|(_, refname, ..)| *refname == name))?;
        if at == head { Some(at.clone()) } else { self.hash(&["merge-base", head, at]) }
    }
}
