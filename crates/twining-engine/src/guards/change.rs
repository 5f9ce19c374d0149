//! What an event would change: every edit is carried out in memory, so that
//! rules judge the file as it was and as it would be, not the text of the edit.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use memchr::memmem;

use crate::guards::event::{Action, Event, Replacement};
use crate::guards::path::{Holes, Paths, inside, normal};
use crate::guards::shell::{self, Certainty, Effects, Loses, PatchGiven, Patience, Piece, Stand, Stood, Target, Unreadable, Word};
use crate::guards::{foreign, notebook};

/// Places one call may write that are looked at, words of unknown ones counted each.
const MOST_PLACES: usize = 4_096;
/// Files a command line may give a whole new content that are compared.
const MOST_CONTENTS: usize = 32;
/// Bytes that the edits of one file may make, each the whole file once.
const MOST_EDITED: usize = 64 * 1024 * 1024;
/// Places where all of them together may replace something everywhere.
const MOST_REPLACED: usize = 100_000;

/// The files as they are. The rim reads them; tests hold them.
pub trait Files {
    /// The text at an absolute path; none if there is no file; else why not.
    fn read(&self, path: &str) -> Result<Option<String>, String>;
    /// The path with its links followed, as far as it exists.
    fn real(&self, path: &str) -> String;
    /// Whether there is a folder at an absolute path, links followed.
    fn is_folder(&self, _path: &str) -> bool {
        false
    }
    /// Whether a project of its own lies at an absolute path: one with a memory that
    /// is in use, or a repository.
    fn holds_project(&self, _path: &str) -> bool {
        false
    }
    /// The names in a folder at an absolute path, so many at most.
    fn list(&self, _folder: &str, _most: usize) -> Vec<String> {
        Vec::new()
    }
    /// A record of the project's memory that only the working tree has, from the root.
    fn unsaved(&self, _loses: Loses) -> Option<String> {
        None
    }
    /// Whether whoever asks goes on waiting for an answer.
    fn patience(&self) -> Patience {
        || true
    }
}

/// Where a change happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Where {
    /// Here, from the project's root.
    Known(String),
    /// At a path that is known in part.
    Holes(Holes),
    /// Here and below.
    Below(String),
    /// Wherever this code says.
    Code(String),
}

/// What becomes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Becomes {
    /// This; nothing if it is removed.
    Text { before: Option<String>, after: Option<String> },
    /// Nobody knows, for this reason.
    Unknown(String),
}

/// One file that would change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Proposal {
    pub(crate) at: Where,
    /// Shared: one file may go by several names, and files are large.
    pub(crate) becomes: Arc<Becomes>,
    pub(crate) certainty: Certainty,
    pub(crate) by: String,
    /// Whether it lies in records of nobody: a fixture's.
    pub(crate) is_nobodys: bool,
}

impl Proposal {
    /// Whether one of these paths is meant.
    pub(crate) fn is_at(&self, paths: &Paths) -> bool {
        match &self.at {
            Where::Known(path) => paths.name(path),
            Where::Holes(holes) => paths.could_be(holes),
            Where::Below(path) => paths.lie_below(path),
            Where::Code(code) => paths.are_spoken_of(code),
        }
    }

    /// Whether anything becomes different.
    pub(crate) fn changes(&self) -> bool {
        !matches!(&*self.becomes, Becomes::Text { before, after } if before == after)
    }

    /// The place in words.
    pub(crate) fn place(&self) -> String {
        match &self.at {
            Where::Known(path) | Where::Below(path) => path.clone(),
            Where::Holes(holes) => holes.gist.clone(),
            Where::Code(_) => "a file named in code".to_owned(),
        }
    }
}

/// All that an event would do.
#[derive(Clone, Debug, Default)]
pub(crate) struct Touched {
    pub(crate) writes: Vec<Proposal>,
    pub(crate) reads: Vec<String>,
    pub(crate) runs: Vec<Vec<Word>>,
    /// Text on a command line that may come into the files it writes.
    pub(crate) texts: Vec<String>,
}

/// Works out what an event would do in the project at `root`.
pub(crate) fn touched(event: &Event, root: &str, files: &dyn Files) -> Result<Touched, Unreadable> {
    let mut touched = Touched::default();
    let place = |path: &str| normal(&event.cwd, path);
    match &event.action {
        Action::Nothing => {}
        Action::Read(path) | Action::ReadPart(path) => touched.reads.extend(spellings(&place(path), root, files)),
        Action::ReadMany(paths) => {
            touched.reads.extend(paths.iter().take(MOST_PLACES).flat_map(|path| spellings(&place(path), root, files)));
        }
        Action::Write { path, content } => {
            let path = place(path);
            let becomes = replaced(files, &path, |_| Some(content.clone()));
            touched.add(&path, root, files, becomes, event);
        }
        Action::Edit { path, replacements } => {
            let path = place(path);
            let becomes = all_edited(files, &path, replacements);
            touched.add(&path, root, files, becomes, event);
        }
        Action::Cell { path, cell } => {
            let path = place(path);
            let becomes = match files.read(&path) {
                Err(why) => Becomes::Unknown(why),
                Ok(before) => match notebook::edited(before.as_deref(), cell) {
                    Some(after) => Becomes::Text { before, after: Some(after) },
                    None => Becomes::Unknown(format!("`{}` edits a cell that is not found", event.tool)),
                },
            };
            touched.texts.push(cell.source.clone());
            touched.add(&path, root, files, becomes, event);
        }
        Action::Touches(paths) => {
            for path in paths {
                let becomes = Becomes::Unknown(format!("`{}` does not say what it writes", event.tool));
                touched.add(&place(path), root, files, becomes, event);
            }
        }
        Action::Patch(patch) => {
            let changes = super::patch::carried_out(patch, &|path| files.read(&place(path)));
            if changes.len() > MOST_PLACES {
                return Err(Unreadable::TooManySteps);
            }
            for (path, becomes) in changes {
                touched.add(&place(&path), root, files, becomes, event);
            }
        }
        Action::Shell(line) => {
            let ground = |folder: &str| files.is_folder(&normal(&event.cwd, folder));
            let effects = shell::effects_within(line, files.patience(), Some(&ground))?;
            touched.shell(&effects, event, root, files)?;
            touched.texts = effects.texts;
            touched.runs = effects.runs;
        }
    }
    Ok(touched)
}

impl Touched {
    fn add(&mut self, path: &str, root: &str, files: &dyn Files, becomes: Becomes, event: &Event) {
        let becomes = Arc::new(becomes);
        for spelling in spellings(path, root, files) {
            let is_nobodys = foreign::is_nobodys(&spelling, &event.cwd, root, files);
            let (at, becomes, by) = (Where::Known(spelling), becomes.clone(), event.tool.clone());
            self.writes.push(Proposal { at, becomes, certainty: Certainty::Certain, by, is_nobodys });
        }
    }

    fn shell(&mut self, effects: &Effects, event: &Event, root: &str, files: &dyn Files) -> Result<(), Unreadable> {
        let entered = || effects.enters.iter().filter_map(Word::known).map(|folder| normal(&event.cwd, &folder));
        let anywhere: BTreeSet<String> = entered().filter(|dir| *dir != event.cwd).collect();
        let anywhere: Vec<Base> = std::iter::once(event.cwd.clone()).chain(anywhere).map(Base::certain).collect();
        let unknown_folders: Vec<Word> = effects.enters.iter().filter(|enters| enters.known().is_none()).cloned().collect();
        let (mut places, mut contents) = (0, 0);
        let mut seen = BTreeSet::new();
        for write in &effects.writes {
            // The same file named a thousand times is one file.
            if !seen.insert(write) {
                continue;
            }
            let (stood, unknown_folders) = match &write.stood {
                Stood::At(stands) => Base::of(stands, &event.cwd),
                _ => (anywhere.clone(), unknown_folders.clone()),
            };
            places += write.places() * (stood.len() + unknown_folders.len());
            if places > MOST_PLACES {
                return Err(Unreadable::TooManySteps);
            }
            let unknown = || Arc::new(Becomes::Unknown(format!("`{}` writes it", write.by)));
            let push = |at: Where, becomes: Arc<Becomes>| Proposal {
                at,
                becomes,
                certainty: write.certainty,
                by: write.by.clone(),
                is_nobodys: false,
            };
            let bases: Vec<String> = stood.iter().map(|base| base.path.clone()).collect();
            let (word, tree) = match &write.target {
                Target::Code(code) => {
                    self.writes.push(push(Where::Code(shell::squeezed(code)), unknown()));
                    continue;
                }
                Target::Patch(patch) => {
                    for path in patched(patch, effects, &bases, files) {
                        places += 1;
                        for spelling in spellings(&path, root, files) {
                            self.writes.push(push(Where::Known(spelling), unknown()));
                        }
                    }
                    if places > MOST_PLACES {
                        return Err(Unreadable::TooManySteps);
                    }
                    continue;
                }
                Target::Unsaved(word, loses) => {
                    let covers = |base: &Base| word.known().is_some_and(|path| covers_memory(&path, &base.path, root));
                    if let Some(lost) = stood.iter().any(covers).then(|| files.unsaved(*loses)).flatten() {
                        self.writes.push(push(Where::Known(lost), unknown()));
                    }
                    continue;
                }
                Target::Path(word) => (word, false),
                Target::Tree(word) => (word, true),
            };
            let Some(path) = word.known() else {
                // A hole may be anything, wherever it stands.
                let bases = if bases.is_empty() { vec![event.cwd.clone()] } else { bases };
                let mut holes = Holes::of(word, root, &bases);
                holes.is_tree = tree;
                self.writes.push(push(Where::Holes(holes), unknown()));
                continue;
            };
            contents += usize::from(write.content.is_some());
            let mut there = BTreeSet::new();
            for base in &stood {
                let path = normal(&base.path, &path);
                if !there.insert(path.clone()) {
                    continue;
                }
                let becomes = match &write.content {
                    None if write.by == shell::TOUCH => {
                        Arc::new(replaced(files, &path, |before| Some(before.unwrap_or_default().to_owned())))
                    }
                    Some(content) if contents <= MOST_CONTENTS => Arc::new(replaced(files, &path, |_| Some(content.clone()))),
                    _ => unknown(),
                };
                let certainty = if base.is_doubtful { Certainty::Possible } else { write.certainty };
                for spelling in spellings(&path, root, files) {
                    let is_nobodys = foreign::is_nobodys(&spelling, &event.cwd, root, files);
                    let at = if tree { Where::Below(spelling) } else { Where::Known(spelling) };
                    self.writes.push(Proposal { certainty, is_nobodys, ..push(at, becomes.clone()) });
                }
            }
            // A folder that is known in part: `cd "$ROOT/.twining"`.
            for enters in unknown_folders {
                let mut pieces = enters.0;
                pieces.push(Piece::Text(format!("/{path}")));
                let bases = std::slice::from_ref(&event.cwd);
                self.writes.push(push(Where::Holes(Holes::of(&Word(pieces), root, bases)), unknown()));
            }
        }
        Ok(())
    }
}

/// Longest patch that is read.
const MOST_PATCH: usize = 4 * 1024 * 1024;

/// The files that a patch names, absolute: by what the line says of it, or by the file
/// it stands in. One that is not there yet is made by the line, or never.
fn patched(patch: &PatchGiven, effects: &Effects, bases: &[String], files: &dyn Files) -> Vec<String> {
    let folder = patch.folder.as_ref().and_then(Word::known).unwrap_or_default();
    let mut found = Vec::new();
    for base in bases {
        let read = |file: &Word| {
            let made = effects.writes.iter().find(|write| matches!(&write.target, Target::Path(path) if path == file));
            let made = made.and_then(|write| write.content.clone());
            made.or_else(|| files.read(&normal(base, &file.known()?)).ok().flatten().filter(|text| text.len() <= MOST_PATCH))
        };
        let texts = patch.text.clone().into_iter().chain(patch.files.iter().filter_map(read));
        let into = normal(base, &folder);
        found.extend(texts.flat_map(|text| shell::named_in_patch(&text, patch.strip)).map(|name| normal(&into, &name)));
    }
    found.truncate(MOST_PLACES);
    found
}

/// Whether what git takes this path for holds the memory of the project.
fn covers_memory(path: &str, base: &str, root: &str) -> bool {
    let named = path.strip_prefix(":/").or_else(|| path.strip_prefix(":(top)")).map(|rest| normal(root, rest));
    let whole = named.unwrap_or_else(|| normal(base, if matches!(path, "*" | ":" | "") { "." } else { path }));
    let memory = normal(root, ".twining");
    memory == whole || memory.starts_with(&format!("{}/", whole.trim_end_matches('/')))
}

/// A folder that a command may stand in.
#[derive(Clone, Debug)]
struct Base {
    path: String,
    is_doubtful: bool,
}

impl Base {
    fn certain(path: String) -> Self {
        Self { path, is_doubtful: false }
    }

    /// Those that are known, and those that are known in part; the certain ones first.
    fn of(stands: &[Stand], cwd: &str) -> (Vec<Self>, Vec<Word>) {
        let known = |stand: &Stand| Some(Self { path: normal(cwd, &stand.at.known()?), is_doubtful: stand.is_doubtful });
        let mut bases: Vec<Self> = stands.iter().filter_map(known).collect();
        bases.sort_by_key(|base| base.is_doubtful);
        (bases, stands.iter().map(|stand| &stand.at).filter(|at| at.known().is_none()).cloned().collect())
    }
}

/// A path as it is spelt and as it really is, from the project's root.
fn spellings(path: &str, root: &str, files: &dyn Files) -> Vec<String> {
    let mut spellings = vec![inside(root, path), inside(root, &files.real(path))];
    spellings.dedup();
    spellings
}

/// A file with an edit carried out; no edit where it would fail by itself.
fn replaced(files: &dyn Files, path: &str, edit: impl FnOnce(Option<&str>) -> Option<String>) -> Becomes {
    match files.read(path) {
        Err(why) => Becomes::Unknown(why),
        Ok(before) => {
            let after = edit(before.as_deref()).or_else(|| before.clone());
            Becomes::Text { before, after }
        }
    }
}

/// The same for replacements, unless they are more than anybody makes.
fn all_edited(files: &dyn Files, path: &str, replacements: &[Replacement]) -> Becomes {
    match files.read(path) {
        Ok(before) => match edited(before.as_deref().unwrap_or_default(), replacements) {
            Ok(after) => Becomes::Text { after: after.or_else(|| before.clone()), before },
            Err(TooMuch) => Becomes::Unknown(format!("{} edits of one file come to more than is carried out here", replacements.len())),
        },
        Err(why) => Becomes::Unknown(why),
    }
}

/// Edits that nobody makes: to carry them out would take all the time there is.
#[derive(Debug, PartialEq, Eq)]
struct TooMuch;

/// The text with replacements made one after another; none where one of them
/// finds nothing, as the tool itself will say.
fn edited(before: &str, replacements: &[Replacement]) -> Result<Option<String>, TooMuch> {
    if before.len().saturating_mul(replacements.len()) > MOST_EDITED {
        return Err(TooMuch);
    }
    let mut room = Room { bytes: MOST_EDITED, places: MOST_REPLACED };
    let mut text = Cow::Borrowed(before);
    for Replacement { old, new, everywhere } in replacements {
        let found = memmem::find(text.as_bytes(), old.as_bytes());
        let made = match (old.is_empty(), found, everywhere) {
            (true, ..) => new.clone(),
            (_, Some(at), false) => [&text[..at], new, &text[at + old.len()..]].concat(),
            (_, Some(_), true) => room.replaced(&text, old, new)?,
            // Hosts take straight quotes for curly ones, and ends of lines for each other.
            (_, None, _) if plain(&text).contains(&plain(old)) => room.replaced(&plain(&text), &plain(old), new)?,
            (_, None, _) => return Ok(None),
        };
        room.bytes = room.bytes.checked_sub(made.len()).ok_or(TooMuch)?;
        text = Cow::Owned(made);
    }
    Ok(Some(text.into_owned()))
}

/// What edits may still take.
struct Room {
    bytes: usize,
    places: usize,
}

impl Room {
    /// Replaces everywhere, once it is known what that comes to.
    fn replaced(&mut self, text: &str, old: &str, new: &str) -> Result<String, TooMuch> {
        let places = memmem::find_iter(text.as_bytes(), old.as_bytes()).take(self.places + 1).count();
        self.places = self.places.checked_sub(places).ok_or(TooMuch)?;
        let most = places.checked_mul(new.len()).and_then(|made| made.checked_add(text.len()));
        if most.is_none_or(|most| most > self.bytes) { Err(TooMuch) } else { Ok(text.replace(old, new)) }
    }
}

fn plain(text: &str) -> String {
    text.replace("\r\n", "\n").replace(['\u{2018}', '\u{2019}'], "'").replace(['\u{201c}', '\u{201d}'], "\"")
}
