//! Which program our name resolves to, and how a shell and git are configured to start exactly that
//! one.
//!
//! Tracked files refer to us by name, since they must fit every machine. Files in `.git` refer to
//! us by path: another `twining` placed earlier on PATH, or in the repository, is not started.

use std::path::{Path, PathBuf};

/// The name we go by.
pub(crate) const NAME: &str = "twining";

/// Message for a program that cannot be found.
pub(crate) const NOT_ON_PATH: &str = "`twining` is not on PATH";

/// The program that is started by this name: never one in the current folder.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    all_on_path(name).next()
}

/// The program behind a word of somebody's settings; never one that came with the project.
pub(crate) fn outside(word: &str, project: &Path) -> Result<PathBuf, String> {
    let found = if word.contains('/') {
        Some(PathBuf::from(word)).filter(|path| path.is_absolute())
    } else {
        on_path(word)
    };
    let found =
        found.ok_or_else(|| format!("`{word}` is not found on PATH, so it cannot be started"))?;
    let real = found.canonicalize().map_err(|error| format!("`{}`: {error}", found.display()))?;
    let inside = project.canonicalize().is_ok_and(|project| real.starts_with(project));
    if inside {
        Err(format!("`{}` is inside the project, so it is not run", found.display()))
    } else {
        Ok(real)
    }
}

/// The program behind a word of somebody's settings, if it is this one or the `twining`
/// on PATH: settings come with a clone, and nothing else they name is started.
pub(crate) fn ours(word: &str, project: &Path) -> Result<PathBuf, String> {
    let (here, known) = (std::env::current_exe().ok(), on_path(NAME));
    let is_here = |path: &Path| here.as_deref().is_some_and(|here| is_same(here, path));
    if word == NAME {
        return known.ok_or_else(|| format!("cannot be started: {NOT_ON_PATH}"));
    }
    if Path::new(word).is_absolute() && is_here(Path::new(word)) {
        return Ok(PathBuf::from(word));
    }
    let found = outside(word, project).map_err(|why| format!("does not start Twining: {why}"))?;
    let is_ours = is_here(&found) || known.is_some_and(|known| is_same(&known, &found));
    if is_ours {
        Ok(found)
    } else {
        Err("does not start Twining but another program, so it was not started".to_owned())
    }
}

/// Where this program is found tomorrow too: the name that PATH gives it, which
/// outlives an update, unless that lies in one of these folders; else where it is.
/// None for a path that cannot be written down.
pub(crate) fn stable_path(within: &[&Path]) -> Option<String> {
    let here = std::env::current_exe().ok();
    let is_outside = |path: &PathBuf| !within.iter().any(|folder| path.starts_with(folder));
    let known = here
        .as_ref()
        .and_then(|here| all_on_path(NAME).filter(is_outside).find(|path| is_same(path, here)));
    let path = known.or(here).filter(|path| path.is_file())?;
    path.to_str().filter(|path| !path.chars().any(char::is_control)).map(str::to_owned)
}

/// Whether two paths lead to one file.
pub(crate) fn is_same(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// A word as a shell reads it back whole.
pub(crate) fn for_shell(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@:,=".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// The word behind [`for_shell`].
pub(crate) fn from_shell(word: &str) -> Option<String> {
    match word.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        Some(quoted) => Some(quoted.replace(r"'\''", "'")),
        None => (!word.contains(['\'', '"', '\\', ' ', '$', '`'])).then(|| word.to_owned()),
    }
}

fn all_on_path(name: &str) -> impl Iterator<Item = PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> =
        std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect();
    let name = name.to_owned();
    folders.into_iter().map(move |folder| folder.join(&name)).filter(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use twining_testcases::each;

    #[test]
    fn a_shell_reads_back_what_was_written_for_it() {
        each(
            [
                "/usr/bin/twining",
                "/opt/my tools/twining",
                "/o'brien/twining",
                "/a\"b/$x/`id`/twining",
                "/ünï/50%/twining",
                "",
            ],
            |word| {
                let spelled = for_shell(word);
                assert_eq!(from_shell(&spelled).as_deref(), Some(word), "{spelled}");
                let output = std::process::Command::new("sh")
                    .args(["-c", &format!("printf %s {spelled}")])
                    .output()
                    .expect("a shell starts");
                assert_eq!(String::from_utf8_lossy(&output.stdout), word);
            },
        );
        assert_eq!(for_shell("/usr/local/bin/twining"), "/usr/local/bin/twining");
        assert_eq!(from_shell("a b"), None);
    }

    #[test]
    fn a_program_of_the_project_is_not_started() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        std::fs::write(dir.path().join("twining"), "").expect("writes");
        let planted = dir.path().join("twining").display().to_string();
        assert!(
            outside(&planted, dir.path()).is_err_and(|why| why.contains("is inside the project"))
        );
        assert!(outside("./twining", dir.path()).is_err());
    }
}
