//! What hooks keep between calls to be quick: compiled guards and clauses, in the
//! user's own folder for such things.
//!
//! Not in the project: what comes with a clone must not be able to weaken a guard
//! by bringing its own. Agents are kept out of the folder as out of the user's
//! policy, and at every stop what is kept is held against what it was made from.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use twining_store::disk::{Dir, hash_of};

/// Its place below the platform's folder. `local` is closed to other users.
const INSIDE: [&str; 2] = ["twining", "local"];
/// Bytes of one file.
const MOST_BYTES: usize = 8 * 1024 * 1024;
/// Files of one kind that are kept.
const MOST_FILES: usize = 64;
/// What sessions of a project are remembered by: nobody can make it anew.
pub const SESSIONS: &str = "local-";
/// Projects whose sessions are remembered.
const MOST_PROJECTS: usize = 2_048;

/// The folder, if this system says where such things go and it is ours alone.
pub struct Kept(Option<Dir>);

impl Kept {
    /// Opens it for a project.
    pub fn open(project: &Path) -> Self {
        Self(root().filter(|root| !root.starts_with(project)).and_then(|root| open(&root)))
    }

    /// Opens it for a project if it is there, and makes nothing.
    pub fn if_there(project: &Path) -> Self {
        let there = root().is_some_and(|root| root.join(INSIDE[0]).join(INSIDE[1]).is_dir());
        if there { Self::open(project) } else { Self(None) }
    }

    /// What was kept under a name.
    pub fn get(&self, name: &str) -> Option<Vec<u8>> {
        self.0.as_ref()?.open(name).ok()??.read_all(MOST_BYTES).ok()
    }

    /// Keeps it. What cannot be kept is made again next time.
    pub fn put(&self, name: &str, bytes: &[u8]) {
        let Some(dir) = &self.0 else { return };
        let made = || -> Option<()> {
            make_room(dir, name)?;
            let temp = format!("new-{:016x}-{}", hash_of(bytes), std::process::id());
            dir.create_new(&temp).ok()??.write(bytes).ok()?;
            dir.rename(&temp, dir, name).ok()
        };
        made();
    }

    /// Forgets all that was kept of this project.
    pub fn forget_project(project: &Path) {
        // Nobody makes a folder to forget what is in it.
        let (kept, mark) = (Self::if_there(project), mark_of(project));
        let (Some(dir), Some(folder)) = (&kept.0, root().map(|root| root.join(INSIDE[0]).join(INSIDE[1]))) else { return };
        for name in dir.list().unwrap_or_default().iter().filter(|name| name.split('-').any(|part| part == mark)) {
            kept.forget(name);
        }
        // The last one out: a folder that holds something stays.
        let emptied = std::fs::remove_dir(&folder);
        let _ = emptied.and_then(|()| folder.parent().map_or(Ok(()), std::fs::remove_dir));
    }

    /// Forgets it.
    pub fn forget(&self, name: &str) {
        if let Some(dir) = &self.0 {
            let _ = dir.remove(name);
        }
    }
}

/// What a project's files are known by among all that are kept.
pub fn mark_of(project: &Path) -> String {
    let place = project.display().to_string();
    format!("{:016x}{:016x}", hash_of(place.as_bytes()), hash_of(format!("{place}/").as_bytes()))
}

/// Lets the older half go where there are too many of a kind; another kind is not
/// touched, for what was compiled can be made again and what was seen cannot.
fn make_room(dir: &Dir, name: &str) -> Option<()> {
    let kind = name.split('-').next().unwrap_or(name);
    let all = dir.list().ok()?;
    // Whoever was killed while it wrote left its half behind.
    for kind in [kind, "new"] {
        let most = if SESSIONS.strip_suffix('-') == Some(kind) { MOST_PROJECTS } else { MOST_FILES };
        let mut same: Vec<&String> = all.iter().filter(|known| known.split('-').next() == Some(kind)).collect();
        if same.len() >= most {
            same.sort_by_cached_key(|known| dir.stat(known).ok().flatten().map(|(_, print)| print.mtime_ns));
            same.iter().take(most / 2).try_for_each(|old| dir.remove(old).map(drop)).ok()?;
        }
    }
    Some(())
}

/// Folders of ours outside the project that no agent has business in.
pub fn folders() -> Vec<String> {
    root().map(|root| root.join(INSIDE[0]).display().to_string()).into_iter().collect()
}

fn root() -> Option<PathBuf> {
    place(|name| std::env::var_os(name))
}

fn place(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if cfg!(windows) {
        absolute("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join("Library/Caches")))
    } else {
        absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))
    }
}

/// Opens or makes the folder. Only below the home folder's own parent is nothing made.
fn open(root: &Path) -> Option<Dir> {
    let there = root.ancestors().find(|dir| dir.is_dir())?;
    let missing = root.strip_prefix(there).ok()?;
    let mut names = missing.iter().filter_map(|name| name.to_str()).chain(INSIDE);
    let dir = names.try_fold(Dir::project(there, None).ok()?, |dir, name| dir.make_dir(name).ok())?;
    is_ours(dir.path()).then_some(dir)
}

#[cfg(unix)]
fn is_ours(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    // Another user's folder at this place could hold anything.
    let Ok(found) = std::fs::metadata(path) else { return false };
    let me = std::fs::metadata("/proc/self").map(|me| me.uid());
    found.mode() & 0o022 == 0 && me.map_or(true, |me| me == found.uid())
}

#[cfg(not(unix))]
fn is_ours(_: &Path) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_with_a_project_is_never_taken_for_the_user_s() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = dir.path().join("cache");
        assert!(!root.exists());
        let kept = Kept(open(&root));
        kept.put("a", b"1");
        kept.put("a", b"2");
        assert_eq!(kept.get("a").as_deref(), Some(&b"2"[..]));
        kept.forget("a");
        assert_eq!(kept.get("a"), None);
        kept.put(&format!("{SESSIONS}x"), b"seen");
        (0..MOST_FILES * 2).for_each(|n| kept.put(&format!("guards-{n}"), b"made"));
        assert!(kept.get(&format!("{SESSIONS}x")).is_some() && kept.get(&format!("guards-{}", MOST_FILES * 2 - 1)).is_some());
        assert!(kept.get("guards-0").is_none(), "the oldest went");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let inner = root.join("twining/local");
            std::fs::set_permissions(&inner, std::fs::Permissions::from_mode(0o777)).expect("opens it up");
            assert!(open(&root).is_none(), "anybody may write there");
        }
    }

    #[test]
    #[cfg(all(unix, not(target_os = "macos")))]
    fn the_folder_is_where_the_system_says() {
        let at = |variables: &[(&str, &str)]| {
            place(|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value)))
        };
        assert_eq!(at(&[("HOME", "/h")]), Some("/h/.cache".into()));
        assert_eq!(at(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/c")]), Some("/c".into()));
        assert_eq!(at(&[("XDG_CACHE_HOME", "relative")]), None);
    }
}
