//! What is looked at when a turn ends and when a commit is made. Stateless: the
//! project as it is, compared with what git has; each check is a function of one shape.

use std::cell::RefCell;
use std::collections::HashMap;

use twining_guard::GuardSet;

use crate::hook::context::RecordedRuns;
use crate::hook::working_tree::WorkingTree;
use crate::project::Project;

/// What a notice asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NoticeLevel {
    /// Reported and posted.
    Tell,
    /// It holds an agent once, or refuses a commit.
    Refuse,
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CheckNotice {
    /// The rule it is about.
    pub rule: String,
    /// The file it is about, from the project's root.
    pub path: Option<String>,
    /// What it asks for.
    pub weight: NoticeLevel,
    /// What was found and what to do, in at most 60 words.
    pub text: String,
}

/// A check.
pub(super) type CheckFn = fn(&TreeComparison<'_>) -> Vec<CheckNotice>;

/// What is looked at when a turn ends.
pub(crate) const TURN_CHECKS: [CheckFn; 6] = [
    super::record_integrity::in_working_tree,
    super::clauses::check,
    super::features::check,
    super::policy::check,
    super::tests_changed::check,
    super::drifted_records::check,
];
/// What is looked at before a commit.
pub(crate) const COMMIT_CHECKS: [CheckFn; 6] = [
    super::record_integrity::staged,
    super::clauses::check,
    super::features::check,
    super::policy::check,
    super::tests_changed::check,
    super::drifted_records::check,
];

/// When the comparison is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// At the end of a turn: the working tree against HEAD and the merge base.
    TurnEnd,
    /// Before a commit: the index against what the commit is made from.
    Commit,
}

/// Two states of a project.
pub(crate) struct TreeComparison<'a> {
    /// The project.
    pub project: &'a Project,
    /// Its guards.
    pub guards: &'a GuardSet,
    /// Its files.
    pub files: &'a WorkingTree,
    /// What proves that features work.
    pub runs: RecordedRuns<'a>,
    /// When it is made.
    pub stage: Stage,
    /// Files that differ, from the project's root.
    pub changed: Vec<String>,
    /// git's names for the states before: `HEAD`, and what is being merged.
    pub before: Vec<String>,
    /// Where the branch left the one it follows, if that is not HEAD.
    pub base: Option<String>,
    /// Whether something was committed since the turn began.
    pub has_committed: bool,
    /// Which of the files the agent may have changed in this turn.
    pub changed_this_turn: Box<dyn Fn(&str) -> bool + 'a>,
    /// The way from git's top to the project, empty or ending in `/`.
    pub prefix: String,
    blobs: RefCell<HashMap<String, Option<Vec<u8>>>>,
}

impl<'a> TreeComparison<'a> {
    /// Compares nothing yet.
    pub(crate) fn new(
        project: &'a Project,
        guards: &'a GuardSet,
        files: &'a WorkingTree,
        stage: Stage,
    ) -> Self {
        Self {
            project,
            guards,
            files,
            runs: RecordedRuns::of(&project.engine, &project.located.checkout),
            stage,
            changed: Vec::new(),
            before: vec!["HEAD".to_owned()],
            base: None,
            has_committed: false,
            changed_this_turn: Box::new(|_| true),
            prefix: String::new(),
            blobs: RefCell::default(),
        }
    }

    /// Everything that the checks find.
    pub(crate) fn run(&self, checks: &[CheckFn]) -> Vec<CheckNotice> {
        checks.iter().flat_map(|check| check(self)).collect()
    }

    /// The versions of a file before, those that there are.
    pub(crate) fn versions_before(&self, path: &str) -> Vec<String> {
        self.versions_on(&self.before, path)
    }

    /// The versions of a file on some of these sides.
    pub(crate) fn versions_on(&self, sides: &[String], path: &str) -> Vec<String> {
        sides.iter().filter_map(|side| self.stored_text(side, path)).collect()
    }

    /// The commit that this turn's work began on, where it was committed meanwhile.
    pub(crate) fn work_base(&self) -> Option<&String> {
        self.base.as_ref().filter(|_| self.has_committed)
    }

    /// The file as it is now: in the working tree, or staged.
    pub(crate) fn text_after(&self, path: &str) -> Option<String> {
        match self.stage {
            Stage::TurnEnd => self.files.text(path),
            Stage::Commit => self.stored_text("", path),
        }
    }

    /// Reads many files from git at once: a process for each would take longer than all else.
    pub(crate) fn prefetch(&self, paths: &[String]) {
        let now = (self.stage == Stage::Commit).then(String::new);
        let sides: Vec<&String> = self.before.iter().chain(self.work_base()).chain(&now).collect();
        let mut names: Vec<String> = paths
            .iter()
            .flat_map(|path| sides.iter().map(|side| self.name_of(side, path)))
            .collect();
        names.retain(|name| !self.blobs.borrow().contains_key(name));
        let blobs = self.project.history.blobs(&names);
        self.blobs.borrow_mut().extend(names.into_iter().zip(blobs));
    }

    fn name_of(&self, side: &str, path: &str) -> String {
        format!("{side}:{}{path}", self.prefix)
    }

    /// A file of a commit, or of the index where no side is named, to the byte.
    pub(crate) fn stored(&self, side: &str, path: &str) -> Option<Vec<u8>> {
        let name = self.name_of(side, path);
        if let Some(known) = self.blobs.borrow().get(&name) {
            return known.clone();
        }
        let bytes = self.project.history.blobs(std::slice::from_ref(&name)).pop().flatten();
        self.blobs.borrow_mut().insert(name, bytes.clone());
        bytes
    }

    /// The same, where it is a text: what is none imports nothing.
    fn stored_text(&self, side: &str, path: &str) -> Option<String> {
        String::from_utf8(self.stored(side, path)?).ok()
    }
}
