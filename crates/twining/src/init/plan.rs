//! The sheet: every file an installation would change, with its bytes before and
//! after. Nothing is written here; `--dry-run` shows the sheet, `apply` carries it
//! out.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use similar::TextDiff;

use crate::render::command_error::CommandError;

/// Settings larger than this are somebody's data.
const MOST_BYTES: u64 = 32 * 1024 * 1024;

/// What happens to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileEdit {
    /// Where it really is, links resolved.
    pub path: PathBuf,
    /// What people call it.
    pub shown: String,
    /// Its bytes now; none if it is not there.
    pub before: Option<String>,
    /// Its bytes then; none if it goes.
    pub after: Option<String>,
    /// Whether git or a shell must be able to start it.
    pub executable: bool,
}

impl FileEdit {
    /// Whether all it changes is that the file can be started.
    fn makes_executable(&self) -> bool {
        let sleeps =
            || fs::metadata(&self.path).is_ok_and(|found| found.permissions().mode() & 0o111 == 0);
        self.executable && self.before.is_some() && self.after.is_some() && sleeps()
    }

    /// In one word.
    pub(crate) fn what(&self) -> &'static str {
        match (&self.before, &self.after) {
            (None, _) => "create",
            (_, None) => "remove",
            _ => "edit",
        }
    }

    /// The change as people read it in a review.
    pub(crate) fn diff(&self) -> String {
        let (before, after) =
            (self.before.as_deref().unwrap_or_default(), self.after.as_deref().unwrap_or_default());
        let name = |side: char, there: bool| {
            if there { format!("{side}/{}", self.shown) } else { "/dev/null".to_owned() }
        };
        let (old, new) = (name('a', self.before.is_some()), name('b', self.after.is_some()));
        TextDiff::from_lines(before, after)
            .unified_diff()
            .context_radius(3)
            .header(&old, &new)
            .to_string()
    }
}

/// All of it.
#[derive(Debug)]
pub(crate) struct InstallPlan {
    /// The folder names are relative to.
    root: PathBuf,
    home: Option<PathBuf>,
    drafts: BTreeMap<PathBuf, FileEdit>,
    /// What people should know besides.
    pub notes: Vec<String>,
}

impl InstallPlan {
    /// An empty one for a working tree.
    pub(crate) fn new(root: &Path, home: Option<&Path>) -> Self {
        Self {
            root: root.to_owned(),
            home: home.map(Path::to_owned),
            drafts: BTreeMap::new(),
            notes: Vec::new(),
        }
    }

    /// Something people should know, once.
    pub(crate) fn note(&mut self, words: impl Into<String>) {
        let words = words.into();
        if !self.notes.contains(&words) {
            self.notes.push(words);
        }
    }

    /// What a file holds now, earlier edits of this sheet included.
    pub(crate) fn text(
        &mut self,
        file: &Path,
        within: &Path,
    ) -> Result<Option<String>, CommandError> {
        self.draft(file, within).map(|draft| draft.after.clone())
    }

    /// Whether the sheet changes a file.
    pub(crate) fn is_changed(&mut self, file: &Path, within: &Path) -> bool {
        self.draft(file, within).is_ok_and(|draft| draft.before != draft.after)
    }

    /// Changes a file that lies `within` a folder we may write to.
    pub(crate) fn edit(
        &mut self,
        file: &Path,
        within: &Path,
        change: impl FnOnce(Option<&str>) -> Result<Option<String>, CommandError>,
    ) -> Result<(), CommandError> {
        let draft = self.draft(file, within)?;
        draft.after = change(draft.after.as_deref())?;
        Ok(())
    }

    /// The same for a program.
    pub(crate) fn edit_program(
        &mut self,
        file: &Path,
        within: &Path,
        text: Option<String>,
    ) -> Result<(), CommandError> {
        let draft = self.draft(file, within)?;
        draft.after = text;
        draft.executable = true;
        Ok(())
    }

    /// The edits that change something, each only of a file that may be written.
    pub(crate) fn edits(&self) -> Result<Vec<FileEdit>, CommandError> {
        let changed: Vec<FileEdit> = self
            .drafts
            .values()
            .filter(|edit| edit.before != edit.after || edit.makes_executable())
            .cloned()
            .collect();
        for edit in &changed {
            let read_only = edit.before.is_some()
                && fs::metadata(&edit.path).is_ok_and(|found| found.permissions().readonly());
            if read_only {
                return Err(unusable(&edit.shown, "it is read-only")
                    .with_hint("make it writable, or leave this host out with --agent"));
            }
        }
        Ok(changed)
    }

    /// Every file that was looked at.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.drafts.keys().map(PathBuf::as_path)
    }

    /// What people call a file: relative to the project, or to their home.
    pub(crate) fn shown(&self, path: &Path) -> String {
        let below = |folder: &Path| {
            path.strip_prefix(folder)
                .ok()
                .filter(|rest| !rest.as_os_str().is_empty())
                .map(Path::to_owned)
        };
        if let Some(rest) = below(&self.root) {
            return rest.display().to_string();
        }
        match self.home.as_deref().and_then(below) {
            Some(rest) => format!("~/{}", rest.display()),
            None => path.display().to_string(),
        }
    }

    fn draft(&mut self, file: &Path, within: &Path) -> Result<&mut FileEdit, CommandError> {
        let shown = self.shown(file);
        let path = resolve(file, within).map_err(|why| unusable(&shown, &why))?;
        let shown = self.shown(&path);
        match self.drafts.entry(path) {
            std::collections::btree_map::Entry::Occupied(known) => Ok(known.into_mut()),
            std::collections::btree_map::Entry::Vacant(new) => {
                let before = read(new.key()).map_err(|why| unusable(&shown, &why))?;
                let path = new.key().clone();
                Ok(new.insert(FileEdit {
                    path,
                    shown,
                    after: before.clone(),
                    before,
                    executable: false,
                }))
            }
        }
    }
}

/// A file that cannot be changed, and why.
pub(super) fn unusable(shown: &str, why: &str) -> CommandError {
    CommandError::unavailable("SETTINGS", format!("cannot change `{shown}`: {why}"))
}

/// Where a file really is. A link may lead to another file of the same folder
/// (`CLAUDE.md` to `AGENTS.md`), never out of it.
fn resolve(file: &Path, within: &Path) -> Result<PathBuf, String> {
    let within = fs::canonicalize(within).map_err(|error| error.to_string())?;
    let mut rest = Vec::new();
    let mut above = file;
    loop {
        match fs::symlink_metadata(above) {
            Ok(_) => break,
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                rest.push(above.file_name().ok_or("it has no name")?);
                above = above.parent().ok_or("it has no parent folder")?;
            }
            Err(error) => return Err(error.to_string()),
        }
    }
    let real = fs::canonicalize(above).map_err(|_| "it is a broken symbolic link".to_owned())?;
    if !real.starts_with(&within) {
        return Err(format!("it is a symbolic link to a target outside `{}`", within.display()));
    }
    Ok(rest.into_iter().rev().fold(real, |path, name| path.join(name)))
}

fn read(path: &Path) -> Result<Option<String>, String> {
    match fs::metadata(path) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound) => return Ok(None),
        Err(error) if matches!(error.kind(), ErrorKind::NotADirectory) => {
            return Err("one of its parent folders is a file".to_owned());
        }
        Err(error) => return Err(error.to_string()),
        // A pipe would hang us.
        Ok(found) if !found.is_file() => return Err("it is not a file".to_owned()),
        Ok(found) if found.len() > MOST_BYTES => {
            return Err(format!("it is larger than {MOST_BYTES} bytes"));
        }
        Ok(_) => {}
    }
    let mut bytes = Vec::new();
    fs::File::open(path)
        .and_then(|file| file.take(MOST_BYTES).read_to_end(&mut bytes))
        .map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map(Some).map_err(|_| "it is not UTF-8".to_owned())
}
