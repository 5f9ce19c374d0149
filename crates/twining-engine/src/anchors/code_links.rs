//! What the code itself links: what contains what, who names whom, what is imported, and what
//! usually changes together. Computed when asked, and written nowhere.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use twining_code::read_source;
use twining_model::Place;
use twining_store::code::{CodeIndex, IndexedSource};

use crate::failure::Failure;

/// Files with a name that are read.
const MAX_FILES: usize = 200;
/// Companions that are named.
const MAX_TOGETHER: usize = 5;
/// How often two files must have changed together to be told, and in which share of the commits.
const LEAST_TIMES: u32 = 2;
const LEAST_SHARE: f64 = 0.3;
/// Endings of a file that an import may leave out.
const ENDINGS: [&str; 12] =
    ["rs", "py", "go", "java", "ts", "tsx", "js", "jsx", "rb", "php", "cs", "h"];

/// A file that usually changes with this one.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CompanionFile {
    /// Which.
    pub path: String,
    /// In how many of the commits of this file, in percent.
    pub percent: u32,
}

/// A definition that names another.
pub(crate) struct CodeMention {
    pub(crate) at: Place,
    /// How many definitions have the name.
    pub(crate) of: u64,
}

/// A link between two places of the code, or to a module outside of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CodeLink {
    /// The other end: a place, or a module.
    pub(crate) to: String,
    /// What that is.
    pub(crate) kind: String,
    /// `contains`, `mentions`, `imports` or `changes_with`.
    pub(crate) relation: &'static str,
    /// Whether it points away from the place.
    pub(crate) outgoing: bool,
    /// How many definitions have the name that is mentioned.
    pub(crate) of: Option<u64>,
    /// In how many of its commits, in percent.
    pub(crate) percent: Option<u32>,
}

impl CodeLink {
    fn new(to: &Place, kind: &str, relation: &'static str, outgoing: bool) -> Self {
        let (to, kind) = (to.to_string(), kind.to_owned());
        Self { to, kind, relation, outgoing, of: None, percent: None }
    }

    /// Whether it surely links these two: a name that several definitions have may mean another.
    pub(crate) fn is_certain(&self) -> bool {
        self.relation != CHANGES_WITH && self.of.is_none_or(|of| of == 1)
    }
}

const CONTAINS: &str = "contains";
const MENTIONS: &str = "mentions";
const IMPORTS: &str = "imports";
const CHANGES_WITH: &str = "changes_with";
const FILE: &str = "file";

/// All links of a place.
pub(crate) fn links_of(code: &CodeIndex, place: &Place) -> Result<Vec<CodeLink>, Failure> {
    let Some(source) = code.source(place.path(), None)?.found() else { return Ok(Vec::new()) };
    let mut links = contained(&source, place);
    for mention in mentions(code, place)? {
        let kind = kind_at(code, &mention.at)?;
        let link = CodeLink::new(&mention.at, &kind, MENTIONS, false);
        links.push(CodeLink { of: Some(mention.of), ..link });
    }
    if place.name().is_none() {
        links.extend(imports(code, place.path())?);
        links.extend(companions(code, place.path()).into_iter().map(|file| CodeLink {
            to: file.path,
            kind: FILE.to_owned(),
            relation: CHANGES_WITH,
            outgoing: true,
            of: None,
            percent: Some(file.percent),
        }));
    }
    Ok(links)
}

/// What a place contains, and what contains it.
fn contained(source: &IndexedSource, place: &Place) -> Vec<CodeLink> {
    let definitions = &source.file.definitions;
    let parent = |name: &str| name.rsplit_once('.').map(|(outer, _)| outer.to_owned());
    let is_here = |name: &str| definitions.iter().any(|found| found.name == name);
    // A method whose type is not in this file is the file's own.
    let outer = |name: &str| parent(name).filter(|outer| is_here(outer));
    let mut links = Vec::new();
    if let Some(name) = place.name() {
        let around = match outer(name) {
            Some(outer) => Place::definition(place.path(), &outer, 1),
            None => Place::file(place.path()),
        };
        let kind = outer(name).and_then(|outer| {
            let found = definitions.iter().find(|found| found.name == outer)?;
            Some(found.kind.name())
        });
        links.extend(
            around.ok().map(|at| CodeLink::new(&at, kind.unwrap_or(FILE), CONTAINS, false)),
        );
    }
    for found in definitions {
        if outer(&found.name).as_deref() == place.name()
            && let Ok(at) = Place::definition(place.path(), &found.name, found.nth)
        {
            links.push(CodeLink::new(&at, found.kind.name(), CONTAINS, true));
        }
    }
    links
}

fn kind_at(code: &CodeIndex, place: &Place) -> Result<String, Failure> {
    let source = code.source(place.path(), None)?.found();
    let found = source.and_then(|source| source.file.at(place).map(|found| found.kind.name()));
    Ok(found.unwrap_or(FILE).to_owned())
}

/// The definitions that contain the name of a definition.
pub(crate) fn mentions(code: &CodeIndex, place: &Place) -> Result<Vec<CodeMention>, Failure> {
    let Some(word) = place.last_name() else { return Ok(Vec::new()) };
    let mut places: BTreeSet<(String, String, u32)> = BTreeSet::new();
    let mut namesakes = 0_u64;
    for path in code.git().files_with_word(word).into_iter().take(MAX_FILES) {
        let Some(source) = code.source(&path, None)?.found() else { continue };
        let same = source.file.definitions.iter().filter(|found| found.last_name() == word);
        namesakes += same.count() as u64;
        let text = code.text(&path)?.unwrap_or_default();
        for (name, nth) in around_word(&source, &String::from_utf8_lossy(&text), word) {
            places.insert((path.clone(), name, nth));
        }
    }
    let is_other = |at: &Place| at != place && at.last_name() != Some(word);
    let places = places
        .into_iter()
        .filter_map(|(path, name, nth)| Place::definition(&path, &name, nth).ok().filter(is_other));
    Ok(places.map(|at| CodeMention { at, of: namesakes.max(1) }).collect())
}

/// The innermost definitions around the lines that have a word.
fn around_word(source: &IndexedSource, text: &str, word: &str) -> BTreeSet<(String, u32)> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let has_word = |line: &str| line.split(|c| !is_part(c)).any(|part| part == word);
    let mut found = BTreeSet::new();
    for (number, line) in (1..).zip(text.lines()) {
        if has_word(line)
            && let Some(definition) = source.file.around(number)
        {
            found.insert((definition.name.clone(), definition.nth));
        }
    }
    found
}

/// What a file imports: files of the project where there is just one that is meant, else modules.
fn imports(code: &CodeIndex, path: &str) -> Result<Vec<CodeLink>, Failure> {
    let Some(text) = code.text(path)? else { return Ok(Vec::new()) };
    let targets = read_source(path, &text).imports;
    if targets.is_empty() {
        return Ok(Vec::new());
    }
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    let listed = code.git().listed_of(&[".".to_owned()]);
    let files: Vec<&str> = listed
        .iter()
        .map(String::as_str)
        .filter(|file| file.rsplit_once('.').is_some_and(|(_, ending)| alike(ending, extension)))
        .collect();
    let mut links: Vec<CodeLink> = Vec::new();
    for target in targets {
        let file = imported_file(&target, path, &files);
        let kind = if file.is_some() { FILE } else { "module" };
        let to = file.map_or(target, str::to_owned);
        if to != path && links.iter().all(|known| known.to != to) {
            let kind = kind.to_owned();
            let relation = IMPORTS;
            links.push(CodeLink { to, kind, relation, outgoing: true, of: None, percent: None });
        }
    }
    Ok(links)
}

/// Whether two endings are of one language.
fn alike(one: &str, other: &str) -> bool {
    let family = |ending: &str| match ending {
        "ts" | "tsx" | "js" | "jsx" | "mjs" | "cjs" => "js".to_owned(),
        "c" | "h" | "cc" | "cpp" | "hpp" => "c".to_owned(),
        other => other.to_owned(),
    };
    family(one) == family(other)
}

/// The one file that an import names: by its path from here, or by the end of its path. Of a
/// dotted name the last part may be something in the file.
fn imported_file<'f>(target: &str, from: &str, files: &[&'f str]) -> Option<&'f str> {
    let target = target.trim_matches(['"', '\'', '<', '>', '`']);
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    if target.starts_with('.') && target.contains('/') {
        let wanted = joined(folder, target)?;
        return files.iter().copied().find(|file| is_module(file, &wanted));
    }
    let name = target.replace("::", "/");
    let name = if name.contains('/') { name } else { name.replace('.', "/") };
    let parts: Vec<&str> = name
        .split('/')
        .filter(|part| !part.is_empty() && !matches!(*part, "crate" | "self" | "super"))
        .collect();
    for parts in [&parts[..], parts.split_last().map_or(&[][..], |(_, rest)| rest)] {
        let wanted = parts.join("/");
        if wanted.is_empty() {
            continue;
        }
        let mut found = files.iter().copied().filter(|file| {
            let end = stem(file);
            end == wanted || end.ends_with(&format!("/{wanted}"))
        });
        if let (Some(file), None) = (found.next(), found.next()) {
            return Some(file);
        }
    }
    None
}

/// A relative path from a folder; none if it leads out.
fn joined(folder: &str, relative: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

fn is_module(file: &str, wanted: &str) -> bool {
    file == wanted || stem(file) == wanted
}

/// A file as imports name it: without its ending, and a folder's own file by the folder.
fn stem(file: &str) -> &str {
    let stem = match file.rsplit_once('.') {
        Some((stem, ending)) if ENDINGS.contains(&ending) => stem,
        _ => file,
    };
    let own = ["/mod", "/index", "/__init__", "/lib"];
    own.iter().find_map(|name| stem.strip_suffix(name)).unwrap_or(stem)
}

/// The files that usually change with this one, the likeliest first.
pub(crate) fn companions(code: &CodeIndex, path: &str) -> Vec<CompanionFile> {
    let commits = code.git().files_changed_with(path);
    let all = commits.len();
    let mut together: BTreeMap<String, u32> = BTreeMap::new();
    for file in commits.into_iter().flatten().filter(|file| file != path) {
        *together.entry(file).or_default() += 1;
    }
    let mut found: Vec<CompanionFile> = together
        .into_iter()
        .filter(|(_, times)| *times >= LEAST_TIMES)
        .map(|(path, times)| (path, f64::from(times) / all.max(1) as f64))
        .filter(|(_, share)| *share >= LEAST_SHARE)
        .map(|(path, share)| CompanionFile { path, percent: (share * 100.0).round() as u32 })
        .collect();
    found.sort_by(|a, b| b.percent.cmp(&a.percent).then_with(|| a.path.cmp(&b.path)));
    found.truncate(MAX_TOGETHER);
    found
}

#[cfg(test)]
mod tests {
    use twining_testcases::each;

    use super::*;

    #[test]
    fn an_import_names_a_file_by_its_path_or_the_end_of_it() {
        let rust = ["src/auth/mod.rs", "src/auth/hash.rs", "src/lib.rs"];
        let script = ["web/a.ts", "web/b.ts", "web/lib/index.ts"];
        let python = ["shop/models.py", "shop/views.py", "other/views.py"];
        let cases = [
            ("crate::auth::hash", "src/lib.rs", &rust, Some("src/auth/hash.rs")),
            ("crate::auth::hash::Signer", "src/lib.rs", &rust, Some("src/auth/hash.rs")),
            ("std::fmt", "src/lib.rs", &rust, None),
            ("./b", "web/a.ts", &script, Some("web/b.ts")),
            ("./lib", "web/a.ts", &script, Some("web/lib/index.ts")),
            ("../b", "web/lib/index.ts", &script, Some("web/b.ts")),
            ("../../b", "web/a.ts", &script, None),
            ("react", "web/a.ts", &script, None),
            ("shop.models", "shop/views.py", &python, Some("shop/models.py")),
            ("views", "shop/models.py", &python, None),
        ];
        each(cases, |(target, from, files, wanted)| {
            assert_eq!(imported_file(target, from, files), wanted, "{target}");
        });
    }
}
