//! Decisions and reviewed knowledge that can be checked: what must not be used,
//! and where.
//!
//! A name is used where a line brings it in (`import`, `use`, `require`, a line of
//! a manifest); a path is used where it is named, as a path or as a module. Not in a
//! comment, and not where a name is only given to something else. Only what a
//! change adds counts: code that was there before is nobody's offence.

use std::cell::OnceCell;
use std::collections::HashSet;

use twining_model::text;

use crate::checks::imports;
use crate::checks::languages::{LanguageFamily, contains};
use crate::checks::lexer::LexedText;
use crate::effects::{Effects, FileChange, NewContent};
use crate::facts::Facts;
use crate::paths::normal;
use crate::policy::GuardSet;
use crate::policy::guard::{CheckKind, Guard, GuardAnswer};
use crate::verdict::Verdict;

/// Longest line that is looked at.
const MAX_LINE: usize = 4_096;
/// Lines among which the one is looked for that uses something.
const MAX_LINES: usize = 100_000;

/// Something that a file uses although it is ruled out there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForbiddenUse {
    /// The guard that says so.
    pub guard: String,
    /// What it does about it.
    pub level: Verdict,
    /// What is used.
    pub item: String,
    /// The first line that uses it.
    pub line: usize,
    /// The record's own words.
    pub why: String,
    /// Who may decide otherwise.
    pub otherwise: String,
}

impl GuardSet {
    /// Whether anything is ruled out anywhere.
    #[must_use]
    pub fn has_clauses(&self) -> bool {
        self.clauses().next().is_some()
    }

    /// Whether anything is ruled out in a file. The memory's own files speak of it, and use nothing.
    #[must_use]
    pub fn rules_out_in(&self, path: &str) -> bool {
        !path.starts_with(".twining/") && self.clauses().any(|guard| guard.paths.matches(path))
    }

    /// What a file uses that is ruled out in it.
    #[must_use]
    pub fn uses(&self, path: &str, text: &str) -> Vec<ForbiddenUse> {
        let found = |guard: &Guard, item: &String| {
            Some(ForbiddenUse {
                line: line_of_use(item, text, path)?,
                guard: guard.id.clone(),
                level: guard.action,
                item: item.clone(),
                why: guard.say.clone(),
                otherwise: guard.otherwise.clone(),
            })
        };
        let in_force = self.clauses().filter(|guard| guard.paths.matches(path));
        in_force
            .flat_map(|guard| guard.when.adds.iter().filter_map(move |item| found(guard, item)))
            .collect()
    }

    /// What a file uses now that none of its earlier versions did.
    #[must_use]
    pub fn new_uses(&self, path: &str, before: &[&str], after: &str) -> Vec<ForbiddenUse> {
        let mut uses = self.uses(path, after);
        uses.retain(|used| {
            !before.iter().any(|text| line_of_use(&used.item, text, path).is_some())
        });
        uses
    }

    fn clauses(&self) -> impl Iterator<Item = &Guard> {
        self.guards.iter().filter(|guard| guard.kind == CheckKind::ForbiddenUse && guard.is_on())
    }
}

/// Whether a call brings in what is ruled out.
pub(crate) fn check(guard: &Guard, effects: &Effects, facts: &Facts<'_>) -> GuardAnswer {
    // A part of a file that moves to a new one brings nothing into the project.
    let sources: Vec<&str> = effects.changes.iter().filter_map(removed_text).collect();
    let used = guard.concerned(effects).find_map(|change| {
        let item = brought_in(&guard.when.adds, change, &sources)?;
        if moved_from_sibling(change, item, facts) {
            return None;
        }
        let effect =
            format!("`{}` would add `{}` to `{}`", change.by, text::excerpt(item, 80), change.path);
        Some(
            GuardAnswer::about(guard.action, &change.path, effect)
                .instead(format!("write it without `{}`", text::excerpt(item, 60))),
        )
    });
    used.unwrap_or_else(|| GuardAnswer::silent("nothing that is ruled out is added"))
}

/// Files of a folder that are compared with a new one, and bytes of each.
const MAX_SIBLINGS: usize = 64;
const MAX_SIBLING_BYTES: usize = 256 * 1024;

/// Whether a new file is mostly a part of one beside it that uses the same thing: a
/// file that is cut in two brings nothing in.
fn moved_from_sibling(change: &FileChange, item: &str, facts: &Facts<'_>) -> bool {
    let NewContent::Text { before: None, after: Some(after) } = &*change.content else {
        return false;
    };
    let path = normal(facts.root, &change.path);
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    let beside = facts
        .files
        .siblings(&path)
        .into_iter()
        .filter(|other| *other != path && other.ends_with(ending))
        .take(MAX_SIBLINGS);
    let texts = beside
        .filter_map(|other| facts.files.read(&other).ok().flatten())
        .filter(|text| text.len() <= MAX_SIBLING_BYTES);
    texts
        .into_iter()
        .any(|text| contains_half(&text, after) && UseScan::of(&text, &change.path).has(item))
}

/// Whether at least half of the lines of one text are in another.
#[must_use]
pub fn contains_half(whole: &str, part: &str) -> bool {
    let known: HashSet<&str> = whole.lines().map(str::trim).collect();
    let lines: Vec<&str> = part.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.len() > 1 && lines.iter().filter(|line| known.contains(*line)).count() * 2 >= lines.len()
}

/// The text of a file that the same call removes or shortens.
fn removed_text(change: &FileChange) -> Option<&str> {
    match &*change.content {
        NewContent::Text { before: Some(before), after } if after.as_deref() != Some(before) => {
            Some(before)
        }
        _ => None,
    }
}

/// What a change brings in that is ruled out. Where nobody knows what becomes of a file,
/// it is compared when the turn ends.
fn brought_in<'i>(items: &'i [String], change: &FileChange, sources: &[&str]) -> Option<&'i str> {
    let NewContent::Text { before, after: Some(after) } = &*change.content else { return None };
    let scan = |text| UseScan::of(text, &change.path);
    let (before, after) = (scan(before.as_deref().unwrap_or_default()), scan(after));
    let mut new =
        items.iter().map(String::as_str).filter(|item| after.has(item) && !before.has(item));
    new.find(|item| !sources.iter().any(|source| scan(source).has(item)))
}

/// The first line of a whole file that uses something; none if it does not.
fn line_of_use(item: &str, text: &str, path: &str) -> Option<usize> {
    let used = UseScan::of(text, path);
    if !used.has(item) {
        return None;
    }
    // Notebook cells do not map to lines, and an import may span several.
    let alone = |(at, line): (usize, &str)| UseScan::of(line, path).has(item).then_some(at + 1);
    let named = |(at, line): (usize, &str)| line.contains(item).then_some(at + 1);
    let lines =
        || text.lines().take(MAX_LINES).enumerate().filter(|(_, line)| line.len() <= MAX_LINE);
    Some(lines().find_map(alone).or_else(|| lines().find_map(named)).unwrap_or(1))
}

/// What a text uses; read only if it says the word at all.
struct UseScan<'t> {
    text: &'t str,
    path: &'t str,
    lexed: OnceCell<LexedText>,
}

impl<'t> UseScan<'t> {
    fn of(text: &'t str, path: &'t str) -> Self {
        Self { text, path, lexed: OnceCell::new() }
    }

    fn has(&self, item: &str) -> bool {
        let is_path = item.contains('/') && !item.starts_with('@')
            || item.contains('.') && !item.contains(' ');
        // A path may be spelt in other ways; a name may not.
        if !is_path && !self.text.contains(item) {
            return false;
        }
        let lexed = self.lexed.get_or_init(|| LexedText::of(self.text, self.path));
        let lines = || {
            lexed.plain.lines().zip(lexed.bare.lines()).filter(|(line, _)| line.len() <= MAX_LINE)
        };
        if !is_path {
            let may_list = lexed.family == LanguageFamily::Hash || is_manifest(self.path);
            let brings =
                |plain: &str, bare: &str| imports::brings_in(plain, bare, item, lexed.family);
            return is_listed(&lexed.plain, item, self.path, may_list)
                || lines().any(|(plain, bare)| brings(plain, bare))
                || imports::continued(lexed).any(|(plain, bare)| brings(&plain, &bare));
        }
        let plain = item.trim_start_matches("./").trim_end_matches('/');
        let stem = plain
            .rsplit_once('.')
            .filter(|(_, ending)| !ending.contains('/'))
            .map_or(plain, |(stem, _)| stem);
        let module = stem.trim_start_matches("src/").trim_start_matches("lib/");
        // Module spellings; a match after a `/` is a path, and checked as one.
        let spelled = [module.replace('/', "::"), module.replace('/', "."), stem.replace('/', ".")];
        lines().any(|(line, _)| {
            let as_module = |spelling: &String| {
                names(line, spelling)
                    && !line.contains(&format!("/{spelling}"))
                    && imports::has_word(line)
            };
            names(line, plain)
                || spelled.iter().any(as_module)
                || imports::has_word(line) && reaches(line, stem, self.path)
        })
    }
}

/// Whether a line names something, as a word of its own.
fn names(line: &str, item: &str) -> bool {
    imports::mentions(line, item).next().is_some()
}

/// Whether a line of TOML begins the table of a dependency: `[dependencies.kind]`.
fn heads_a_table(line: &str, item: &str) -> bool {
    let Some(name) = line.trim().strip_prefix('[').and_then(|rest| rest.split(']').next()) else {
        return false;
    };
    let Some((table, last)) = name.trim_start_matches('[').rsplit_once('.') else { return false };
    table.contains("dependencies") && last.trim().trim_matches(['"', '\'']) == item
}

/// Whether a file says what a project needs. Others may hold any word: texts of a
/// program, data; and a lock lists what others need.
fn is_manifest(path: &str) -> bool {
    const NAMES: &str = "package.json bower.json composer.json deno.json deno.jsonc jsr.json import_map.json importmap.json elm.json vcpkg.json \
        cargo.toml pyproject.toml pipfile setup.cfg environment.yml environment.yaml go.mod pubspec.yaml pom.xml podfile shard.yml \
        libs.versions.toml conanfile.txt packages.config";
    let file = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let is_requirements = || {
        file.ends_with(".txt")
            && ["requirements", "constraints"].iter().any(|word| file.contains(word))
    };
    let in_requirements =
        || file.ends_with(".txt") && path.to_lowercase().contains("requirements/");
    contains(NAMES, &file)
        || is_requirements()
        || in_requirements()
        || file.ends_with(".csproj")
        || file.ends_with(".cabal")
}

/// Whether a text lists something that is needed: `"kind": "^2.0"`, `kind = "2"`, `kind==2.0`,
/// `[dependencies.kind]` on a line of its own, and `["kind>=2"]` anywhere in some manifests.
fn is_listed(text: &str, item: &str, path: &str, may_list: bool) -> bool {
    const PYTHON: &str = "pyproject.toml setup.py setup.cfg pipfile";
    let file = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let (is_python, is_json) = (contains(PYTHON, &file), file.contains(".json"));
    let is_entry = |(at, _): (usize, &str)| {
        let (before, after) = (&text[..at], &text[at + item.len()..]);
        let line = before.rsplit('\n').next().unwrap_or_default();
        let is_quoted = before.ends_with(['"', '\'']) && (is_python || is_json && may_list);
        let is_first = may_list && line.trim().trim_matches(['"', '\'']).is_empty();
        let rest = after.trim_start_matches(['"', '\'', ' ']);
        let signs = if is_json { ":" } else { ":=><~![@" };
        (is_first || is_quoted) && rest.starts_with(|sign| signs.contains(sign))
            || is_first && (rest.is_empty() || rest.starts_with(['\n', '\r']))
            || is_quoted && is_python && after.starts_with(['"', '\'', ';'])
    };
    text.match_indices(item).any(is_entry)
        || may_list && text.lines().any(|line| heads_a_table(line, item))
}

/// Whether a quoted path on a line, seen from the file's folder, lies at or below `target`.
fn reaches(line: &str, target: &str, path: &str) -> bool {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    line.split(['"', '\'', '`']).skip(1).step_by(2).filter(|quoted| quoted.starts_with('.')).any(
        |quoted| {
            // An absolute base keeps `..` from leaving it unseen.
            let there = normal(&format!("/{folder}"), quoted);
            there
                .trim_start_matches('/')
                .strip_prefix(target)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '.']))
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use twining_testcases::each;

    fn uses(text: &str, item: &str, path: &str) -> bool {
        UseScan::of(text, path).has(item)
    }

    #[test]
    fn only_a_manifest_lists_what_is_needed() {
        let entry = "{\n  \"kind\": \"^2\"\n}\n";
        each(["package.json", "web/package.json", "deno.json"], |path| {
            assert!(uses(entry, "kind", path), "{path}");
        });
        for path in ["data/words.json", "package-lock.json", "tests/fixtures/dates.json"] {
            assert!(!uses(entry, "kind", path), "{path}");
        }
        for (text, path) in [
            ("kind: a point in time\n", "locales/en.yml"),
            ("[words]\nmoment = \"noun\"\n", "data/x.toml"),
        ] {
            assert!(!uses(text, "kind", path), "{path}");
        }
        assert!(
            uses("requests==2.0\n", "requests", "requirements-dev.txt")
                && uses("requests\n", "requests", "requirements/base.txt")
        );
        assert!(uses("[dependencies]\nchrono = \"0.4\"\n", "chrono", "crates/a/Cargo.toml"));
    }

    #[test]
    fn a_name_is_used_where_it_is_brought_in() {
        each(
            [
                ("import kind from 'kind'", "src/a.ts"),
                ("import * as m from \"kind/locale/de\"; // dates", "src/a.ts"),
                ("import 'kind'", "src/a.ts"),
                ("export * from 'kind'", "src/a.ts"),
                ("const m = require(\"kind\")", "src/a.js"),
                ("const m = await import(/* now */ `kind`)", "src/a.js"),
                ("const r = require; r('kind')", "src/a.js"),
                ("let r = /[/*]/; import m from 'kind' /* x */", "src/a.js"),
                ("import m = require('kind')", "src/a.ts"),
                ("use kind::Duration;", "src/a.rs"),
                ("pub use ::kind::{Duration};", "src/a.rs"),
                ("use {std::io, kind::Duration};", "src/a.rs"),
                ("extern crate kind;", "src/a.rs"),
                ("fn f() { use kind::x; }", "src/a.rs"),
                ("from kind import x", "src/a.py"),
                ("from kind.sub import x", "src/a.py"),
                ("import os, kind as m", "src/a.py"),
                ("if x: import kind", "src/a.py"),
                ("m = __import__('kind')", "src/a.py"),
                ("m = importlib.import_module(\"kind\")", "src/a.py"),
                ("import org.kind.Time;", "src/A.java"),
                ("using EventKind = kind;", "src/A.cs"),
                ("import m \"kind\"", "src/a.go"),
                ("#include <kind.h>", "src/a.c"),
                ("#include \"kind.h\"", "src/a.c"),
                ("require 'kind'", "src/a.rb"),
                ("gem 'kind'", "Gemfile"),
                ("use EventKind\\X; require_once 'kind';", "src/a.php"),
                ("  \"kind\": \"^2.29\",", "package.json"),
                ("kind = \"2\"", "Cargo.toml"),
                ("kind==2.0 # dates", "requirements.txt"),
                ("import kind", "src/unknown"),
                ("import m \"github.com/x/kind\"", "src/a.go"),
                ("import 'package:kind/kind.dart';", "src/a.dart"),
                ("import m from 'https://esm.sh/kind@2'", "src/a.ts"),
                ("import m from 'npm:kind@2'", "src/a.ts"),
                ("#[macro_use] extern crate kind;", "src/a.rs"),
                ("@testable import kind", "src/a.swift"),
                ("<?php use kind\\X;", "src/a.php"),
            ],
            |(line, path)| {
                assert!(uses(line, "kind", path), "{path}: {line}");
            },
        );
    }

    #[test]
    fn a_word_in_a_comment_a_text_or_a_name_of_ones_own_is_no_import() {
        each(
            [
                ("import m from 'momentum'", "src/a.js"),
                ("import m from 'dayjs' // replaces kind", "src/a.js"),
                ("// do not import kind", "src/a.js"),
                ("/* never\n import kind from 'kind'\n */", "src/a.js"),
                (" * import kind from 'kind'", "src/a"),
                ("# from now on, no kind", "src/a.js"),
                ("import {kind} from './time'", "src/a.js"),
                ("import m from './kind'", "src/a.js"),
                ("import m from 'dayjs/plugin/kind'", "src/a.js"),
                ("#include \"./kind.h\"", "src/a.c"),
                ("import kind from './time'", "src/a.js"),
                ("export const kind = 1", "src/a.js"),
                ("const x = { kind: 1, require }", "src/a.js"),
                ("  kind: 1,", "src/a.ts"),
                ("log(\"import kind from 'kind'\")", "src/a.js"),
                ("use crate::time::kind;", "src/a.rs"),
                ("use a::{kind, b};", "src/a.rs"),
                ("use a::kind::b;", "src/a.rs"),
                ("mod kind;", "src/a.rs"),
                ("/// use kind::x;", "src/a.rs"),
                ("let s = \"use kind::x\";", "src/a.rs"),
                ("from x import y  # not kind", "src/a.py"),
                ("from x import kind", "src/a.py"),
                ("from .kind import x", "src/a.py"),
                ("import x.kind", "src/a.py"),
                ("import a as kind", "src/a.py"),
                ("\"\"\"\nimport kind\n\"\"\"", "src/a.py"),
                ("# import kind", "src/a.py"),
                ("# kind==2.0", "requirements.txt"),
                ("We do not use kind here.", "docs/a.md"),
                ("import kind", "docs/a.md"),
                ("const momentum = 1", "src/a.ts"),
                ("import x from 'kind-timezone'", "src/a.ts"),
                ("at this kind we stop", "src/a"),
                ("let kind = 1;", "src/a.ts"),
                ("using (var kind = now()) {}", "src/A.cs"),
            ],
            |(line, path)| {
                assert!(!uses(line, "kind", path), "{path}: {line}");
            },
        );
        assert!(!uses("// see src/legacy/db", "src/legacy/", "src/api/a.ts"));
        let notebook = |source: &str| {
            serde_json::json!({"cells": [{"cell_type": "code", "source": [source]}]}).to_string()
        };
        assert!(uses(&notebook("import kind\n"), "kind", "a.ipynb"));
        assert!(!uses(&notebook("# import kind\n"), "kind", "a.ipynb"));
    }

    #[test]
    fn a_manifest_and_an_import_may_be_broken_into_lines_anyhow() {
        each(
            [
                (r#"{"dependencies":{"kind":"^2"}}"#, "package.json"),
                (
                    "{\"name\": \"x\", \"devDependencies\": {\"a\": \"1\", \"kind\" : \"2\"}}",
                    "app/package.json",
                ),
                ("[dependencies.kind]\nversion = \"2\"", "Cargo.toml"),
                ("[target.'cfg(unix)'.dev-dependencies.\"kind\"]", "Cargo.toml"),
                ("dependencies = [\"a\", \"kind>=2\"]", "pyproject.toml"),
                ("import (\n\t\"fmt\"\n\tm \"kind\"\n)", "a.go"),
                ("const m = require(\n  'kind'\n)", "a.js"),
                ("const m = await import(\n  \"kind/locale\"\n)", "a.js"),
                ("import os, \\\n    kind", "a.py"),
                ("use {\n    std::io,\n    kind::Duration,\n};", "a.rs"),
                ("import {\n  a,\n  b\n} from \"kind\"", "a.ts"),
            ],
            |(text, path)| {
                assert!(uses(text, "kind", path), "{text}");
            },
        );
        for (text, path) in [
            ("import {\n  kind,\n} from './time'", "a.ts"),
            ("export function f() {\n  return 'kind'\n}", "a.ts"),
            ("{\"keywords\": [\"kind\"]}", "package.json"),
            ("[profile.kind]", "Cargo.toml"),
            ("from x import (\n    kind,\n)", "a.py"),
            ("{\"dependencies\":{\"kind-timezone\":\"1\"}}", "package.json"),
        ] {
            assert!(!uses(text, "kind", path), "{text}");
        }
    }

    #[test]
    fn a_path_is_used_however_it_is_spelt() {
        each(
            [
                ("import { x } from '../legacy/db'", "src/api/a.ts"),
                ("use crate::legacy::db;", "src/api/a.rs"),
                ("from legacy.db import x", "src/api/a.py"),
                ("include 'src/legacy/db.php'", "index.php"),
                ("COPY src/legacy /app", "Dockerfile"),
            ],
            |(line, path)| {
                assert!(uses(line, "src/legacy/", path), "{line}");
            },
        );
        for (line, path) in [
            ("import { x } from './legacy/db'", "src/api/a.ts"),
            ("import x from '../legacy2'", "src/api/a.ts"),
        ] {
            assert!(!uses(line, "src/legacy/", path), "{line}");
        }
    }
}
