//! Files of a project that stand in a runner's place: `python -m pytest` takes a
//! `pytest.py` of the folder it stands in before the real one, and such a file may
//! print any count.

use crate::guards::normal;
use crate::guards::shell::{Sought, Spoken, SpokenCommand};

/// Runners that are modules, with those they are made of.
const MODULES: [(&str, &[&str]); 8] = [
    ("pytest", &["pytest", "_pytest", "pluggy"]),
    ("unittest", &["unittest"]),
    ("coverage", &["coverage"]),
    ("nose2", &["nose2"]),
    ("trial", &["trial"]),
    ("twisted", &["twisted"]),
    ("tox", &["tox"]),
    ("nox", &["nox"]),
];

/// What a project's files are asked.
pub(super) struct Asked<'r> {
    /// The text of a small file, by its path from the top.
    pub(super) read: &'r dyn Fn(&str) -> Option<String>,
    /// Whether a file is there, however large.
    pub(super) there: &'r dyn Fn(&str) -> bool,
}

/// The file that runs in the place of the runner a command names, from the top;
/// `folders` are those that the command may stand in.
pub(super) fn in_place_of(command: &SpokenCommand, spoken: &Spoken, folders: &[String], asked: &Asked<'_>) -> Option<String> {
    let inside = |folder: &str, file: &str| normal("", &format!("{folder}/{file}")).trim_start_matches('/').to_owned();
    let paths = || folders.iter().flat_map(|folder| spoken.python_path.iter().map(move |path| inside(folder, path)));
    let module = |name: &str, folders: Vec<String>| {
        let made_of = MODULES.iter().find(|(known, _)| name.split('.').next() == Some(*known))?.1;
        let files = made_of.iter().flat_map(|part| [format!("{part}.py"), format!("{part}/__init__.py"), format!("{part}.pyc")]);
        let files: Vec<String> = files.collect();
        folders.iter().flat_map(|folder| files.iter().map(move |file| inside(folder, file))).find(|file| (asked.there)(file))
    };
    match &command.sought {
        Some(Sought::Module(name)) => module(name, folders.iter().cloned().chain(paths()).collect()),
        Some(Sought::Package(name)) => folders.iter().find_map(|folder| own_program(&inside(folder, "package.json"), name, asked)),
        // A program of its own looks where the line says, and not where it stands.
        None => command.words.first().and_then(|name| module(name, paths().collect())),
    }
}

/// A package that brings a runner's name itself is asked before the one it depends on.
fn own_program(package: &str, name: &str, asked: &Asked<'_>) -> Option<String> {
    let package_text = (asked.read)(package)?;
    let read: serde_json::Value = serde_json::from_str(&package_text).ok()?;
    let bin = read.get("bin")?;
    let is_own = bin.get(name).is_some() || (bin.is_string() && read.get("name").and_then(serde_json::Value::as_str) == Some(name));
    is_own.then(|| package.to_owned())
}
