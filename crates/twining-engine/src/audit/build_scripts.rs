//! The scripts, targets, recipes and aliases that a project's build files define.

use std::collections::BTreeSet;

use serde_json::Value;

use super::commands::CommandNeed;
use super::project_tree::last_part;

/// What the build files of a tree define, all of them together: a document may mean any of them.
#[derive(Clone, Debug, Default)]
pub(super) struct BuildScripts {
    package_scripts: BTreeSet<String>,
    make_targets: BTreeSet<String>,
    just_recipes: BTreeSet<String>,
    cargo_aliases: BTreeSet<String>,
    has_packages: bool,
    has_makefile: bool,
    has_justfile: bool,
    /// Whether targets or recipes come from somewhere we do not read.
    is_open: bool,
}

/// Which kind of build file a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BuildFile {
    Package,
    Make,
    Just,
    CargoConfig,
}

fn kind_of(path: &str) -> Option<BuildFile> {
    let name = last_part(path);
    match name.as_str() {
        "package.json" => Some(BuildFile::Package),
        "Makefile" | "makefile" | "GNUmakefile" => Some(BuildFile::Make),
        "justfile" | "Justfile" | ".justfile" => Some(BuildFile::Just),
        _ if name.ends_with(".mk") || name.starts_with("Makefile.") => Some(BuildFile::Make),
        _ if name.ends_with(".just") => Some(BuildFile::Just),
        _ if path.ends_with(".cargo/config.toml") || path.ends_with(".cargo/config") => {
            Some(BuildFile::CargoConfig)
        }
        _ => None,
    }
}

/// Whether a file defines scripts.
pub(super) fn is_build_file(path: &str) -> bool {
    kind_of(path).is_some() && !path.split('/').any(|part| part == "node_modules")
}

impl BuildScripts {
    /// Adds what a build file defines.
    pub(super) fn read(&mut self, path: &str, text: &str) {
        match kind_of(path) {
            Some(BuildFile::Package) => self.read_package(text),
            Some(BuildFile::Make) => self.read_makefile(text),
            Some(BuildFile::Just) => self.read_justfile(text),
            Some(BuildFile::CargoConfig) => self.read_cargo_config(text),
            None => {}
        }
    }

    /// Whether something is defined; none where these files cannot say.
    pub(super) fn defines(&self, need: &CommandNeed) -> Option<bool> {
        let (names, name, is_known) = match need {
            CommandNeed::PackageScript { name, .. } => {
                (&self.package_scripts, name, self.has_packages)
            }
            CommandNeed::MakeTarget(name) => (&self.make_targets, name, self.has_makefile),
            CommandNeed::JustRecipe(name) => (&self.just_recipes, name, self.has_justfile),
            CommandNeed::CargoAlias(name) => {
                return self.cargo_aliases.contains(name).then_some(true);
            }
            CommandNeed::File(_) => return None,
        };
        if names.contains(name) {
            return Some(true);
        }
        let is_open = self.is_open && !matches!(need, CommandNeed::PackageScript { .. });
        (is_known && !is_open).then_some(false)
    }

    /// Names of the same kind, for a hint.
    pub(super) fn namesakes(&self, need: &CommandNeed) -> Vec<&str> {
        let names = match need {
            CommandNeed::PackageScript { .. } => &self.package_scripts,
            CommandNeed::MakeTarget(_) => &self.make_targets,
            CommandNeed::JustRecipe(_) => &self.just_recipes,
            CommandNeed::CargoAlias(_) | CommandNeed::File(_) => return Vec::new(),
        };
        names.iter().map(String::as_str).collect()
    }

    fn read_package(&mut self, text: &str) {
        let Ok(package) = serde_json::from_str::<Value>(text) else { return };
        self.has_packages = true;
        let scripts = package["scripts"].as_object().into_iter().flatten();
        self.package_scripts.extend(scripts.map(|(name, _)| name.clone()));
        // Programs of the package itself can be run by their names too.
        let programs = package["bin"].as_object().into_iter().flatten();
        self.package_scripts.extend(programs.map(|(name, _)| name.clone()));
    }

    fn read_makefile(&mut self, text: &str) {
        self.has_makefile = true;
        for line in text.replace("\\\n", " ").lines() {
            if line.starts_with("include")
                || line.starts_with("-include")
                || line.contains("$(eval")
            {
                self.is_open |= line.contains("$(") || line.contains('/');
            }
            if line.starts_with(['\t', '#', ' ']) {
                continue;
            }
            let Some((targets, rest)) = line.split_once(':') else { continue };
            if rest.starts_with('=') || targets.contains('=') {
                continue;
            }
            self.is_open |= targets.contains(['%', '$']);
            self.make_targets.extend(targets.split_whitespace().map(str::to_owned));
            if targets.trim() == ".PHONY" {
                self.make_targets.extend(rest.split_whitespace().map(str::to_owned));
            }
        }
    }

    fn read_justfile(&mut self, text: &str) {
        self.has_justfile = true;
        for line in text.lines() {
            let first = line.split_whitespace().next().unwrap_or_default();
            self.is_open |= matches!(first, "import" | "import?" | "mod" | "mod?");
            if let Some(alias) = line.strip_prefix("alias ") {
                let name = alias.split([' ', ':']).next().unwrap_or_default();
                self.just_recipes.insert(name.to_owned());
                continue;
            }
            let is_recipe = line.starts_with(|c: char| c.is_ascii_alphabetic() || "_@".contains(c));
            if let Some((head, rest)) = line.split_once(':').filter(|_| is_recipe)
                && !rest.starts_with('=')
            {
                let name = head.trim_start_matches('@').split_whitespace().next();
                self.just_recipes.extend(name.map(str::to_owned));
            }
        }
    }

    fn read_cargo_config(&mut self, text: &str) {
        let mut is_alias = false;
        for line in text.lines().map(str::trim) {
            if line.starts_with('[') {
                is_alias = line == "[alias]";
            } else if let Some((name, _)) = line.split_once('=').filter(|_| is_alias) {
                self.cargo_aliases.insert(name.trim().trim_matches('"').to_owned());
            }
        }
    }
}
