//! Whether two addresses are one repository's: as a remote has it, and as git noted
//! where it fetched from, which leaves out names, passwords and `.git`.

use std::path::{Path, PathBuf};

use crate::disk::canonical;

/// Ways to reach a host that show that it is the one they name.
const SAFE: [&str; 4] = ["https", "ssh", "git+ssh", "ssh+git"];

/// An address, taken apart.
#[derive(Debug, PartialEq, Eq)]
enum Address {
    /// On another machine: how it is reached, unless any safe way is meant, where, and what there.
    Far(String, String),
    /// A folder of this one.
    Here(PathBuf),
}

/// Whether something was fetched from where a remote is.
pub(super) fn is_same(project: &Path, remote: &str, fetched: &str) -> bool {
    match (read(remote), read(fetched)) {
        (Address::Here(remote), Address::Here(fetched)) => is_same_folder(&project.join(remote), &project.join(fetched)),
        (remote, fetched) => remote == fetched,
    }
}

fn read(url: &str) -> Address {
    let bare = |path: &str| {
        let path = path.trim_matches('/');
        path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/').to_owned()
    };
    let host = |authority: &str| authority.rsplit('@').next().unwrap_or_default().to_lowercase();
    if let Some((scheme, rest)) = url.split_once("://") {
        if scheme == "file" {
            return Address::Here(PathBuf::from(rest));
        }
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let how = if SAFE.contains(&scheme) { "" } else { scheme };
        return Address::Far(how.to_owned(), format!("{}/{}", host(authority), bare(path)));
    }
    match url.split_once(':') {
        // `name@host:path`; with a slash in front of it a colon is part of a folder's name.
        Some((authority, path)) if !authority.contains('/') && !authority.is_empty() => {
            Address::Far(String::new(), format!("{}/{}", host(authority), bare(path)))
        }
        _ => Address::Here(PathBuf::from(url)),
    }
}

/// Where both `team` and `team.git` are there, the former is meant by its own name.
fn is_same_folder(remote: &Path, fetched: &Path) -> bool {
    let real = |path: &Path| canonical(path).ok();
    let Some(remote) = real(remote) else { return false };
    if let Some(there) = real(fetched) {
        return there == remote || there.join(".git") == remote;
    }
    let mut whole = fetched.as_os_str().to_owned();
    whole.push(".git");
    real(Path::new(&whole)).is_some_and(|there| there == remote)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_repository_has_many_addresses_and_another_has_none_of_them() {
        let remote = "https://token@github.com/team/shop.git";
        let nowhere = Path::new("nowhere");
        for same in ["https://github.com/team/shop", "git@GitHub.com:team/shop.git", "ssh://git@github.com/team/shop/"] {
            assert!(is_same(nowhere, remote, same), "{same}");
        }
        let others = [
            "https://github.com/evil/shop",
            "https://github.com.evil.example/team/shop",
            "https://github.com@evil.example/team/shop",
            "http://github.com/team/shop",
            "ext::github.com/team/shop",
            "../shop",
            "./github.com:team/shop",
            "github.com/team/shop",
            "",
        ];
        for other in others {
            assert!(!is_same(nowhere, remote, other), "{other}");
        }
    }

    #[test]
    fn a_folder_beside_the_team_s_is_not_the_team_s() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let project = dir.path().join("project");
        for folder in ["project", "team.git"] {
            std::fs::create_dir(dir.path().join(folder)).expect("makes a folder");
        }
        let team = dir.path().join("team.git").display().to_string();
        for same in ["../team", "../team.git", &team, &format!("file://{}", team.trim_end_matches(".git"))] {
            assert!(is_same(&project, "../team.git", same), "{same}");
        }
        assert!(!is_same(&project, "../team.git", "../other"));
        std::fs::create_dir(dir.path().join("team")).expect("makes a folder");
        assert!(!is_same(&project, "../team.git", "../team"), "it has a name of its own");
    }
}
