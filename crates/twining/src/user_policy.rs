//! The user's own policy: `twining/policy.yml` in the platform's folder for
//! settings. It lies over the defaults and under every project's.

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use twining_engine::UserPolicy;
use twining_model::limits;
use twining_store::TextFile;

/// Reads it, as it is now.
pub(crate) fn read() -> UserPolicy {
    match file(|name| std::env::var_os(name)) {
        Some(path) if path.exists() && is_cloned(&path) => UserPolicy {
            name: path.display().to_string(),
            file: TextFile::Unusable("it is inside the project".to_owned()),
        },
        Some(path) => UserPolicy { name: path.display().to_string(), file: content(&path) },
        None => UserPolicy::default(),
    }
}

/// The folder for the user's settings, if this system says where they go.
pub(crate) fn folder() -> Option<PathBuf> {
    file(|name| std::env::var_os(name))
        .filter(|path| !is_cloned(path))?
        .parent()
        .map(Path::to_owned)
}

/// Whether it is inside the current project. A repository's settings for its host may name any
/// folder as the user's, including its own.
fn is_cloned(path: &Path) -> bool {
    let here = std::env::current_dir().ok();
    here.as_deref()
        .and_then(crate::locate_project::around)
        .is_some_and(|project| is_within(path, &project))
}

fn is_within(path: &Path, project: &Path) -> bool {
    // The file need not exist: its nearest existing folder shows where it would be.
    let real = path.ancestors().find_map(|folder| fs::canonicalize(folder).ok());
    let (Some(real), Ok(project)) = (real, fs::canonicalize(project)) else { return false };
    real.starts_with(project)
}

/// Where it is, if this system says where settings go.
fn file(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    // A relative path would make the policy depend on where a command is typed.
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let settings = if cfg!(windows) {
        absolute("APPDATA")
    } else if cfg!(target_os = "macos") {
        absolute("XDG_CONFIG_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join("Library/Application Support")))
    } else {
        absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|home| home.join(".config")))
    };
    settings.map(|settings| settings.join("twining").join("policy.yml"))
}

/// Reads its content. Links are followed, since people keep their settings elsewhere; only regular
/// files are opened, since a pipe would hang every hook.
fn content(path: &Path) -> TextFile {
    match fs::metadata(path) {
        Err(_) => return TextFile::Missing,
        Ok(found) if !found.is_file() => return TextFile::Unusable("it is not a file".to_owned()),
        Ok(_) => {}
    }
    let most = u64::try_from(limits::POLICY_BYTES).unwrap_or(u64::MAX);
    let mut text = String::new();
    match fs::File::open(path).and_then(|file| file.take(most + 1).read_to_string(&mut text)) {
        Ok(_) if text.len() > limits::POLICY_BYTES => {
            TextFile::Unusable(format!("it is larger than {most} bytes"))
        }
        Ok(_) => TextFile::Text(text),
        Err(error) => TextFile::Unusable(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(variables: &[(&str, &str)]) -> Option<PathBuf> {
        file(|name| {
            variables
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    #[cfg(all(unix, not(target_os = "macos")))]
    fn settings_are_where_the_system_says() {
        assert_eq!(place(&[("HOME", "/h")]), Some("/h/.config/twining/policy.yml".into()));
        assert_eq!(
            place(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "/x")]),
            Some("/x/twining/policy.yml".into())
        );
        assert_eq!(place(&[("XDG_CONFIG_HOME", "relative")]), None);
        assert_eq!(place(&[]), None);
    }

    #[test]
    fn a_project_cannot_play_its_users_settings() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        fs::create_dir_all(dir.path().join("project/.config")).expect("makes");
        let project = dir.path().join("project");
        assert!(is_within(&project.join(".config/twining/policy.yml"), &project));
        assert!(is_within(&project.join("../project/none/policy.yml"), &project));
        assert!(!is_within(&dir.path().join(".config/twining/policy.yml"), &project));
    }

    #[test]
    fn what_is_no_file_is_not_opened() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        assert_eq!(content(&dir.path().join("none")), TextFile::Missing);
        assert!(matches!(content(dir.path()), TextFile::Unusable(_)));
        let path = dir.path().join("policy.yml");
        fs::write(&path, "roles: {}\n").expect("writes");
        assert_eq!(content(&path), TextFile::Text("roles: {}\n".into()));
        fs::write(&path, [0xFF]).expect("writes");
        assert!(matches!(content(&path), TextFile::Unusable(_)));
    }
}
