//! The program itself: which one this is, and which one hosts would start.

use std::path::Path;
use std::process::Command;

use super::{DoctorCheck, Health};
use crate::installed::{NAME, is_same, on_path};
use crate::running::run;

/// Which program answers to our name.
pub fn checks() -> Vec<DoctorCheck> {
    let version = this_version();
    let here = std::env::current_exe().ok();
    let shown = here.as_deref().map_or_else(String::new, |path| format!(" ({})", path.display()));
    let this = DoctorCheck::new("program", Health::Ok, format!("{version}{shown}"));
    let on_path = match (on_path(NAME), here) {
        (None, _) => DoctorCheck::new("path", Health::Warn, "hosts start `twining` by its name, and it is not on PATH").hinted(path_hint()),
        (Some(found), Some(here)) if is_same(&found, &here) => DoctorCheck::new("path", Health::Ok, "hosts start this program"),
        (Some(found), _) => match version_of(&found) {
            Ok(told) if told == version => {
                DoctorCheck::new("path", Health::Ok, format!("hosts start {}, of the same version", found.display()))
            }
            Ok(told) => {
                DoctorCheck::new("path", Health::Warn, format!("hosts start {}, which says `{told}`, not `{version}`", found.display()))
                    .hinted("install one version, or put the folder of this one first on PATH")
            }
            Err(why) => DoctorCheck::new("path", Health::Fail, format!("{} cannot be started: {why}", found.display())),
        },
    };
    vec![this, on_path]
}

/// How hosts come to find the program.
pub fn path_hint() -> String {
    let here = std::env::current_exe().ok().filter(|here| here.file_name().is_some_and(|name| name == NAME));
    match here.as_deref().and_then(Path::parent) {
        Some(folder) => format!("add {} to PATH where the host is started, then start it anew", folder.display()),
        None => "add the folder that has `twining` to PATH where the host is started, then start it anew".to_owned(),
    }
}

/// What a program says of its version.
pub fn version_of(program: &Path) -> Result<String, String> {
    run(Command::new(program).arg("--version"), "").map(|said| twining_model::text::excerpt(said.out.trim(), 60))
}

/// What this one says.
pub fn this_version() -> String {
    format!("twining {}", env!("CARGO_PKG_VERSION"))
}
