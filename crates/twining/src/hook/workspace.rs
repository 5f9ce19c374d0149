//! The working tree as guards see it: read, never written.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use twining_engine::guards::{Files, inside, normal};

use crate::desk::Project;
use crate::locate::Located;

/// Largest file that is compared.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// The tree the caller stands in.
pub struct Workspace {
    /// Its root, absolute.
    pub root: String,
    /// Where the memory is; elsewhere in a linked worktree.
    project: String,
}

impl Workspace {
    /// The working tree of a project.
    pub fn of(project: &Project) -> Self {
        let Located { place, checkout } = &project.located;
        Self { root: checkout.display().to_string(), project: place.project.display().to_string() }
    }

    /// The text of a file in it.
    pub fn text(&self, path: &str) -> Option<String> {
        self.read(&normal(&self.root, path)).ok().flatten()
    }
}

impl Files for Workspace {
    fn read(&self, path: &str) -> Result<Option<String>, String> {
        match fs::metadata(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.to_string()),
            // A pipe would hang every tool call.
            Ok(found) if !found.is_file() => return Err(format!("`{path}` is no file")),
            Ok(found) if found.len() > MOST_BYTES => return Err(format!("`{path}` is larger than {MOST_BYTES} bytes")),
            Ok(_) => {}
        }
        let mut bytes = Vec::new();
        fs::File::open(path).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut bytes)).map_err(|error| error.to_string())?;
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }

    fn real(&self, path: &str) -> String {
        // What does not exist yet has no links; its nearest parent may.
        let path = Path::new(path);
        let found = path.ancestors().find_map(|parent| fs::canonicalize(parent).ok().map(|real| (parent, real)));
        let Some((parent, real)) = found else { return path.display().to_string() };
        let rest = path.strip_prefix(parent).unwrap_or(Path::new(""));
        let whole: PathBuf = if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        let whole = whole.display().to_string();
        // Agents in worktrees share one memory: rules about it hold for its real place.
        match inside(&self.project, &whole) {
            within if self.project != self.root && within != whole => normal(&self.root, &within),
            _ => whole,
        }
    }
}
