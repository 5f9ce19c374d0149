//! What a tool call would change, worked out in memory.
//!
//! Files are only read, through [`Files`]. What cannot be worked out is listed in
//! [`Effects::unread`] and judged by nobody: predicting all that a shell could do
//! is not the aim, predicting plain edits and plain command lines is.

use std::sync::Arc;

use super::shell::{SimpleCommand, WriteKind};
use crate::event::{GuardEvent, ToolAction};
use crate::paths::{inside, name_matches, normal};

/// Files one call may change that are looked at.
pub(super) const MAX_CHANGES: usize = 4_096;

/// The files as they are now.
pub trait FileAccess {
    /// The text at an absolute path; none if there is no file; else why not.
    fn read(&self, path: &str) -> Result<Option<String>, String>;
    /// The path with its links followed, as far as it exists.
    fn real_path(&self, path: &str) -> String {
        path.to_owned()
    }
    /// Absolute paths of the files in the folder of this one.
    fn siblings(&self, _path: &str) -> Vec<String> {
        Vec::new()
    }
    /// How many records of the project's memory are in no commit yet.
    fn uncommitted_records(&self) -> usize {
        0
    }
}

/// What becomes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewContent {
    /// This; nothing if it is removed.
    Text {
        /// What it holds now, if it is there.
        before: Option<String>,
        /// What it will hold, unless it is removed.
        after: Option<String>,
    },
    /// Nobody knows, for this reason.
    Unknown(String),
}

/// How much of the tree a change is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeExtent {
    /// One file.
    File,
    /// Everything at and below a folder, which is removed.
    Tree,
    /// Everything at and below a folder that is in no commit.
    Uncommitted,
}

/// A file that would change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// From the project's root; absolute if it lies elsewhere.
    pub path: String,
    /// How much is meant.
    pub extent: ChangeExtent,
    /// What becomes of it. Shared: one file may go by two names.
    pub content: Arc<NewContent>,
    /// The tool or program that does it.
    pub by: String,
}

impl FileChange {
    /// Whether anything becomes different.
    #[must_use]
    pub fn changes_something(&self) -> bool {
        self.extent != ChangeExtent::File
            || !matches!(&*self.content, NewContent::Text { before, after } if before == after)
    }
}

/// All that an event would do.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    /// Files that would change.
    pub changes: Vec<FileChange>,
    /// Files that would be read.
    pub reads: Vec<String>,
    /// Commands that would run.
    pub commands: Vec<SimpleCommand>,
    /// What could not be worked out.
    pub unread: Vec<String>,
}

impl Effects {
    /// Works out what an event would do in the project at `root`.
    #[must_use]
    pub fn of(event: &GuardEvent, root: &str, files: &dyn FileAccess) -> Self {
        let mut found = EffectCollector { effects: Self::default(), event, root, files };
        match &event.action {
            ToolAction::Nothing => {}
            ToolAction::Read(path) | ToolAction::ReadPart(path) => found.reads(path),
            ToolAction::ReadMany(paths) => {
                paths.iter().take(MAX_CHANGES).for_each(|path| found.reads(path));
            }
            ToolAction::Write { path, content } => {
                let after = Some(content.clone());
                found.change(path, ChangeExtent::File, &event.tool, |before| NewContent::Text {
                    before,
                    after,
                });
            }
            ToolAction::Edit { path, replacements } => {
                found.change(path, ChangeExtent::File, &event.tool, |before| {
                    match super::simulated_edits::edited(
                        before.as_deref().unwrap_or_default(),
                        replacements,
                    ) {
                        Ok(after) => {
                            NewContent::Text { after: after.or_else(|| before.clone()), before }
                        }
                        Err(super::simulated_edits::TooManyEdits) => {
                            NewContent::Unknown(format!("{} edits in one call", replacements.len()))
                        }
                    }
                });
            }
            ToolAction::Notebook { path, source } => {
                // Whichever cell it goes to: what it says is new in the file.
                found.change(path, ChangeExtent::File, &event.tool, |before| {
                    let after = format!("{source}\n{}", before.as_deref().unwrap_or_default());
                    NewContent::Text { before, after: Some(after) }
                });
            }
            ToolAction::Touches(paths) => {
                for path in paths {
                    let why = format!("`{}` does not say what it writes", event.tool);
                    found.change(path, ChangeExtent::File, &event.tool, |_| {
                        NewContent::Unknown(why)
                    });
                }
            }
            ToolAction::Patch(text) => found.patch(text),
            ToolAction::Shell(line) => found.shell(line),
        }
        found.effects
    }
}

/// Whether a file is one of Twining's own that nobody compares by its content.
pub(super) fn is_record(spellings: &[String]) -> bool {
    const COMPARED: [&str; 2] = [".twining/features.json", ".twining/policy.yml"];
    spellings.iter().all(|path| path.starts_with(".twining/") && !COMPARED.contains(&path.as_str()))
}

pub(super) struct EffectCollector<'a> {
    effects: Effects,
    event: &'a GuardEvent,
    root: &'a str,
    files: &'a dyn FileAccess,
}

impl EffectCollector<'_> {
    /// A path as it is spelt and as it really is, from the project's root.
    fn spellings(&self, path: &str) -> (String, Vec<String>) {
        let path = normal(&self.event.cwd, path);
        let mut spellings =
            vec![inside(self.root, &path), inside(self.root, &self.files.real_path(&path))];
        spellings.dedup();
        (path, spellings)
    }

    fn reads(&mut self, path: &str) {
        let (_, spellings) = self.spellings(path);
        self.effects.reads.extend(spellings);
    }

    fn change(
        &mut self,
        path: &str,
        extent: ChangeExtent,
        by: &str,
        content: impl FnOnce(Option<String>) -> NewContent,
    ) {
        let (path, spellings) = self.spellings(path);
        let content = Arc::new(match extent {
            // A record of megabytes is refused without being read.
            ChangeExtent::File if is_record(&spellings) => match content(Some(String::new())) {
                NewContent::Text { before, after: None } => {
                    NewContent::Text { before, after: None }
                }
                _ => NewContent::Unknown("it is a record".to_owned()),
            },
            ChangeExtent::File => self.files.read(&path).map_or_else(NewContent::Unknown, content),
            ChangeExtent::Tree | ChangeExtent::Uncommitted => content(None),
        });
        self.push(spellings, extent, by, &content);
    }

    fn push(
        &mut self,
        spellings: Vec<String>,
        extent: ChangeExtent,
        by: &str,
        content: &Arc<NewContent>,
    ) {
        if self.effects.changes.len() >= MAX_CHANGES {
            if self.effects.unread.is_empty() {
                self.effects.unread.push(format!("more than {MAX_CHANGES} files change at once"));
            }
            return;
        }
        let change =
            |path| FileChange { path, extent, content: content.clone(), by: by.to_owned() };
        self.effects.changes.extend(spellings.into_iter().map(change));
    }

    fn patch(&mut self, text: &str) {
        let (cwd, files) = (&self.event.cwd, self.files);
        for (path, content) in
            super::simulated_edits::apply(text, &|path| files.read(&normal(cwd, path)))
        {
            let (_, spellings) = self.spellings(&path);
            self.push(spellings, ChangeExtent::File, &self.event.tool, &Arc::new(content));
        }
    }

    fn shell(&mut self, line: &str) {
        let read = match super::shell::read(line) {
            Ok(read) => read,
            Err(why) => return self.effects.unread.push(why.to_string()),
        };
        for write in &read.writes {
            for path in self.expanded(&write.path) {
                self.shell_write(&path, &write.kind, &write.by);
            }
        }
        self.effects.commands = read.commands;
        self.effects.unread.extend(read.unread);
    }

    /// The files that the shell puts in a pattern's place, where only names are left open.
    fn expanded(&mut self, path: &str) -> Vec<String> {
        if !path.contains(['*', '?']) {
            return vec![path.to_owned()];
        }
        let (folder, pattern) =
            path.rsplit_once('/').map_or(("", path), |(folder, name)| (folder, name));
        if folder.contains(['*', '?']) {
            self.effects.unread.push(format!("`{path}`"));
            return Vec::new();
        }
        let beside = self.files.siblings(&normal(&self.event.cwd, path));
        let names = beside.iter().filter_map(|path| path.rsplit('/').next());
        // `*` does not match names that begin with a dot.
        let is_match = |name: &&str| {
            (pattern.starts_with('.') || !name.starts_with('.')) && name_matches(name, pattern)
        };
        let within = |name: &str| {
            if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
        };
        names.filter(is_match).map(within).collect()
    }

    fn shell_write(&mut self, path: &str, kind: &WriteKind, by: &str) {
        let extent = match kind {
            WriteKind::RemoveTree => ChangeExtent::Tree,
            WriteKind::Discard => ChangeExtent::Uncommitted,
            _ => ChangeExtent::File,
        };
        let (cwd, files) = (&self.event.cwd, self.files);
        self.change(path, extent, by, |before| {
            let after = match kind {
                WriteKind::Remove | WriteKind::RemoveTree => Some(None),
                WriteKind::Create { content } => content.clone().map(Some),
                WriteKind::Append { content } => {
                    content.as_ref().map(|added| Some(before.clone().unwrap_or_default() + added))
                }
                WriteKind::Copy { from } | WriteKind::Move { from } => {
                    files.read(&normal(cwd, from)).ok().flatten().map(Some)
                }
                WriteKind::Edit | WriteKind::Discard => None,
            };
            match after {
                Some(after) => NewContent::Text { before, after },
                None => NewContent::Unknown(format!("what `{by}` writes is unknown")),
            }
        });
    }
}
