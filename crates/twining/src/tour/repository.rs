//! The throwaway repository the tour plays in.

use std::fs;
use std::io;
use std::path::Path;

use twining_store::git::Git;

const SESSION: &str = "export function createSession(user: string) {\n  return { user, since: Date.now() };\n}\n";

/// Makes a small project under git. Without git it is a folder, and the tour
/// goes on: only the history is missing.
pub fn plant(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir.join("src/auth"))?;
    fs::write(dir.join("src/auth/session.ts"), SESSION)?;
    fs::write(dir.join("README.md"), "# shop\n")?;
    let git = Git::at(dir);
    for step in [&["init", "-q"][..], &["add", "."], &["commit", "-q", "-m", "a shop with logins"]] {
        if !git.run_in_throwaway(step)? {
            break;
        }
    }
    Ok(())
}

/// The files of the memory that git tracks, or would.
pub fn tracked(dir: &Path) -> Vec<String> {
    let git = Git::at(dir);
    let mut files = git.tracked_of(&[".twining".to_owned()]);
    files.extend(git.untracked_in(".twining").unwrap_or_default());
    files.into_iter().collect()
}
