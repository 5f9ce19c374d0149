//! Decisions and reviewed knowledge that can be checked: what must not be used,
//! and where.
//!
//! A name is used where a line brings it in (`import`, `use`, `require`, a line of
//! a manifest); a path is used where it is named, as a path or as a module. Not in a
//! comment, and not where a name is only given to something else. Only what a
//! change adds counts: code that was there before is nobody's offence.

use std::cell::OnceCell;

use serde::{Deserialize, Serialize};

use crate::governance::policy::Source;
use crate::guards::change::{Becomes, Proposal, Where};
use crate::guards::event::Moment;
use crate::guards::imports;
use crate::guards::lexed::{Family, Lexed};
use crate::guards::path::{Paths, normal};
use crate::guards::rule::{Guard, Kind, Level, Standing, When};

/// Things one clause may rule out.
const MOST_ITEMS: usize = 32;
/// Longest line that is looked at.
const MOST_LINE: usize = 4_096;
/// Lines among which the one is looked for that uses something.
const MOST_LINES: usize = 100_000;

/// A decision or a rule of the knowledge that can be checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clause {
    /// The record's id.
    pub id: String,
    /// Where it holds, as globs.
    pub paths: Vec<String>,
    /// What must not be brought in: an import or a path.
    pub must_not_use: Vec<String>,
    /// The record's own words.
    pub say: String,
    /// Whether it is in force, or contested and only told.
    pub is_contested: bool,
}

impl Clause {
    pub(crate) fn into_guard(self) -> Result<Guard, String> {
        let action = if self.is_contested { Level::Warn } else { Level::Block };
        let next_step = match self.id.strip_prefix("knowledge-") {
            Some(rule) => format!("follow {rule}, or have the reviewed graph changed: twining_knowledge_update, and a review"),
            None => {
                let decision = self.id.strip_prefix("decision-").unwrap_or(&self.id);
                format!("follow it, or ask a person to lift it: `twining override {decision}`")
            }
        };
        Ok(Guard {
            next_step,
            id: self.id,
            source: Source::DEFAULT,
            action,
            say: self.say,
            on_error: Level::Off,
            standing: Standing::Alive,
            proposed: false,
            origin: None,
            verify: None,
            kind: Kind::Clause,
            moments: vec![Moment::PreToolUse],
            tools: Vec::new(),
            paths: Paths::compile(&self.paths)?,
            except: Paths::compile(&[])?,
            when: When { adds: self.must_not_use, ..When::default() },
            examples: Vec::new(),
        })
    }
}

/// Globs for a scope: the place, and what lies below it.
#[must_use]
pub fn globs_of(scope: &str) -> Vec<String> {
    let scope = scope.trim().trim_start_matches("./").trim_end_matches('/');
    if scope.is_empty() || scope == "project" || scope == "." {
        return vec!["**".to_owned()];
    }
    vec![scope.to_owned(), format!("{scope}/**")]
}

/// What a constraint rules out: `must_not_use: moment, src/legacy`. Prose gives
/// nothing: each thing is one word.
#[must_use]
pub fn ruled_out(constraint: &str) -> Vec<String> {
    let Some((head, items)) = constraint.split_once(':') else { return Vec::new() };
    let head: String = head.trim().to_lowercase().replace(['_', '-'], " ");
    if head != "must not use" {
        return Vec::new();
    }
    items
        .split(',')
        .map(|item| item.trim().trim_matches(['`', '"', '\'']).to_owned())
        .filter(|item| item.len() > 1 && item.len() <= 200 && !item.contains(char::is_whitespace))
        .take(MOST_ITEMS)
        .collect()
}

/// What a change brings in that is ruled out. `now` reads the file as it is.
pub(super) fn brought_in<'i>(
    items: &'i [String],
    proposal: &Proposal,
    texts: &[String],
    now: impl FnOnce(&str) -> Option<String>,
) -> Option<&'i str> {
    let Where::Known(path) = &proposal.at else { return None };
    let (before, after) = match &*proposal.becomes {
        Becomes::Text { before, after: Some(after) } => (before, after),
        Becomes::Text { .. } => return None,
        // What becomes of the file is not known; what the line puts in is.
        Becomes::Unknown(_) => {
            let put_in: Vec<Used> = texts.iter().map(|text| Used::of(text, path, Piece::Part)).collect();
            let used: Vec<&str> = items.iter().map(String::as_str).filter(|item| put_in.iter().any(|text| text.has(item))).collect();
            if used.is_empty() {
                return None;
            }
            // A line that writes again what stands there brings nothing.
            let now = now(path).unwrap_or_default();
            let now = Used::of(&now, path, Piece::Whole);
            return used.into_iter().find(|item| !now.has(item));
        }
    };
    let (before, after) = (Used::of(before.as_deref().unwrap_or_default(), path, Piece::Whole), Used::of(after, path, Piece::Whole));
    items.iter().map(String::as_str).find(|item| after.has(item) && !before.has(item))
}

/// The first line of a whole file that uses something; none if it does not.
pub(super) fn line_of_use(item: &str, text: &str, path: &str) -> Option<usize> {
    let used = Used::of(text, path, Piece::Whole);
    if !used.has(item) {
        return None;
    }
    // A notebook's cells stand in no line of their own, and an import may go over several.
    let alone = |(at, line): (usize, &str)| Used::of(line, path, Piece::Whole).has(item).then_some(at + 1);
    let named = |(at, line): (usize, &str)| line.contains(item).then_some(at + 1);
    let lines = || text.lines().take(MOST_LINES).enumerate().filter(|(_, line)| line.len() <= MOST_LINE);
    Some(lines().find_map(alone).or_else(|| lines().find_map(named)).unwrap_or(1))
}

/// How much of a file a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    Whole,
    /// What a command puts in, with words of that command perhaps.
    Part,
}

/// What a text uses; read only if it says the word at all.
struct Used<'t> {
    text: &'t str,
    path: &'t str,
    piece: Piece,
    lexed: OnceCell<Lexed>,
}

impl<'t> Used<'t> {
    fn of(text: &'t str, path: &'t str, piece: Piece) -> Self {
        Self { text, path, piece, lexed: OnceCell::new() }
    }

    fn has(&self, item: &str) -> bool {
        let is_path = item.contains('/') && !item.starts_with('@') || item.contains('.') && !item.contains(' ');
        // A path may be spelt in other ways; a name may not.
        if !is_path && !self.text.contains(item) {
            return false;
        }
        let lexed = self.lexed.get_or_init(|| Lexed::of(self.text, self.path));
        let lines = || lexed.plain.lines().zip(lexed.bare.lines()).filter(|(line, _)| line.len() <= MOST_LINE);
        if !is_path {
            let may_list = lexed.family == Family::Hash || is_manifest(self.path);
            let lists = |line: &str| may_list && (is_entry(line, item) || heads_a_table(line, item));
            let brings = |plain: &str, bare: &str| imports::brings_in(plain, bare, item, lexed.family, self.piece == Piece::Part);
            return lines().any(|(plain, bare)| names(plain, item) && (brings(plain, bare) || lists(plain)))
                || is_listed(&lexed.plain, item, self.path)
                || imports::continued(lexed).any(|(plain, bare)| names(&plain, item) && brings(&plain, &bare));
        }
        let plain = item.trim_start_matches("./").trim_end_matches('/');
        let stem = plain.rsplit_once('.').filter(|(_, ending)| !ending.contains('/')).map_or(plain, |(stem, _)| stem);
        let module = stem.trim_start_matches("src/").trim_start_matches("lib/");
        // As modules; what stands behind a `/` is a path, and judged as one.
        let spelled = [module.replace('/', "::"), module.replace('/', "."), stem.replace('/', ".")];
        lines().any(|(line, _)| {
            let as_module = |spelling: &String| names(line, spelling) && !line.contains(&format!("/{spelling}")) && imports::has_word(line);
            names(line, plain) || spelled.iter().any(as_module) || imports::has_word(line) && reaches(line, stem, self.path)
        })
    }
}

/// Whether a line names something, as a word of its own.
fn names(line: &str, item: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    line.match_indices(item)
        .any(|(at, _)| !line[..at].chars().next_back().is_some_and(is_part) && !line[at + item.len()..].chars().next().is_some_and(is_part))
}

/// Whether a line lists something that is needed: `"moment": "^2.0"`, `moment = "2"`, `moment==2.0`.
fn is_entry(line: &str, item: &str) -> bool {
    let rest = line.trim().trim_start_matches(['"', '\'']).strip_prefix(item).map(|rest| rest.trim_start_matches(['"', '\'', ' ']));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '=', '>', '<', '~', '[', '@']))
}

/// Whether a line of TOML begins the table of a dependency: `[dependencies.moment]`.
fn heads_a_table(line: &str, item: &str) -> bool {
    let Some(name) = line.trim().strip_prefix('[').and_then(|rest| rest.split(']').next()) else { return false };
    let Some((table, last)) = name.trim_start_matches('[').rsplit_once('.') else { return false };
    table.contains("dependencies") && last.trim().trim_matches(['"', '\'']) == item
}

/// Whether a file says what a project needs. Others may hold any word: texts of a
/// program, data; and a lock lists what others need.
fn is_manifest(path: &str) -> bool {
    const NAMES: [&str; 24] = [
        "package.json",
        "bower.json",
        "composer.json",
        "deno.json",
        "deno.jsonc",
        "jsr.json",
        "import_map.json",
        "importmap.json",
        "elm.json",
        "vcpkg.json",
        "cargo.toml",
        "pyproject.toml",
        "pipfile",
        "setup.cfg",
        "environment.yml",
        "environment.yaml",
        "go.mod",
        "pubspec.yaml",
        "pom.xml",
        "podfile",
        "shard.yml",
        "libs.versions.toml",
        "conanfile.txt",
        "packages.config",
    ];
    let file = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let is_requirements = || file.ends_with(".txt") && ["requirements", "constraints"].iter().any(|word| file.contains(word));
    let in_requirements = || file.ends_with(".txt") && path.to_lowercase().contains("requirements/");
    NAMES.contains(&file.as_str()) || is_requirements() || in_requirements() || file.ends_with(".csproj") || file.ends_with(".cabal")
}

/// Whether a manifest lists something, however it is broken into lines.
fn is_listed(text: &str, item: &str, path: &str) -> bool {
    let file = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let after =
        |quote: &str| text.match_indices(&format!("{quote}{item}")).map(|(at, found)| &text[at + found.len()..]).collect::<Vec<_>>();
    if file.ends_with(".json") || file.ends_with(".jsonc") {
        return is_manifest(path)
            && after("\"").into_iter().any(|rest| rest.strip_prefix('"').is_some_and(|rest| rest.trim_start().starts_with(':')));
    }
    // `dependencies = ["moment>=2"]`
    let lists = matches!(file.as_str(), "pyproject.toml" | "setup.py" | "setup.cfg" | "pipfile");
    let is_required = |rest: &str| rest.trim_start().starts_with(['"', '\'', '>', '<', '=', '~', '!', '[', ';', '@']);
    lists && ["\"", "'"].iter().any(|quote| after(quote).into_iter().any(is_required))
}

/// Whether a quoted path on a line, seen from the file's folder, lies at or below `target`.
fn reaches(line: &str, target: &str, path: &str) -> bool {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    line.split(['"', '\'', '`']).skip(1).step_by(2).filter(|quoted| quoted.starts_with('.')).any(|quoted| {
        // An absolute base keeps `..` from leaving it unseen.
        let there = normal(&format!("/{folder}"), quoted);
        there.trim_start_matches('/').strip_prefix(target).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '.']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(text: &str, item: &str, path: &str) -> bool {
        Used::of(text, path, Piece::Whole).has(item)
    }

    #[test]
    fn a_constraint_rules_out_words_and_no_prose() {
        assert_eq!(ruled_out("must_not_use: moment, `src/legacy/`"), ["moment", "src/legacy/"]);
        assert_eq!(ruled_out("Must not use: lodash"), ["lodash"]);
        assert_eq!(ruled_out("must not use: the old API for new code"), Vec::<String>::new());
        assert_eq!(ruled_out("must stay fast: yes"), Vec::<String>::new());
    }

    #[test]
    fn only_a_manifest_lists_what_is_needed() {
        let entry = "{\n  \"moment\": \"^2\"\n}\n";
        for path in ["package.json", "web/package.json", "deno.json"] {
            assert!(uses(entry, "moment", path), "{path}");
        }
        for path in ["data/words.json", "package-lock.json", "tests/fixtures/dates.json"] {
            assert!(!uses(entry, "moment", path), "{path}");
        }
        for (text, path) in [("moment: a point in time\n", "locales/en.yml"), ("[words]\nmoment = \"noun\"\n", "data/x.toml")] {
            assert!(!uses(text, "moment", path), "{path}");
        }
        assert!(uses("requests==2.0\n", "requests", "requirements-dev.txt") && uses("requests\n", "requests", "requirements/base.txt"));
        assert!(uses("[dependencies]\nchrono = \"0.4\"\n", "chrono", "crates/a/Cargo.toml"));
    }

    #[test]
    fn a_name_is_used_where_it_is_brought_in() {
        for (line, path) in [
            ("import moment from 'moment'", "src/a.ts"),
            ("import * as m from \"moment/locale/de\"; // dates", "src/a.ts"),
            ("import 'moment'", "src/a.ts"),
            ("export * from 'moment'", "src/a.ts"),
            ("const m = require(\"moment\")", "src/a.js"),
            ("const m = await import(/* now */ `moment`)", "src/a.js"),
            ("const r = require; r('moment')", "src/a.js"),
            ("const s = `${require('moment')}`", "src/a.js"),
            ("let r = /[/*]/; import m from 'moment' /* x */", "src/a.js"),
            ("import m = require('moment')", "src/a.ts"),
            ("use moment::Duration;", "src/a.rs"),
            ("pub use ::moment::{Duration};", "src/a.rs"),
            ("use {std::io, moment::Duration};", "src/a.rs"),
            ("extern crate moment;", "src/a.rs"),
            ("fn f() { use moment::x; }", "src/a.rs"),
            ("from moment import x", "src/a.py"),
            ("from moment.sub import x", "src/a.py"),
            ("import os, moment as m", "src/a.py"),
            ("if x: import moment", "src/a.py"),
            ("m = __import__('moment')", "src/a.py"),
            ("m = importlib.import_module(\"moment\")", "src/a.py"),
            ("import org.moment.Time;", "src/A.java"),
            ("using Moment = moment;", "src/A.cs"),
            ("import m \"moment\"", "src/a.go"),
            ("#include <moment.h>", "src/a.c"),
            ("#include \"moment.h\"", "src/a.c"),
            ("require 'moment'", "src/a.rb"),
            ("gem 'moment'", "Gemfile"),
            ("use Moment\\X; require_once 'moment';", "src/a.php"),
            ("  \"moment\": \"^2.29\",", "package.json"),
            ("moment = \"2\"", "Cargo.toml"),
            ("moment==2.0 # dates", "requirements.txt"),
            ("import moment", "src/unknown"),
            ("import m \"github.com/x/moment\"", "src/a.go"),
            ("import 'package:moment/moment.dart';", "src/a.dart"),
            ("import m from 'https://esm.sh/moment@2'", "src/a.ts"),
            ("import m from 'npm:moment@2'", "src/a.ts"),
            ("#[macro_use] extern crate moment;", "src/a.rs"),
            ("@testable import moment", "src/a.swift"),
            ("<?php use moment\\X;", "src/a.php"),
        ] {
            assert!(uses(line, "moment", path), "{path}: {line}");
        }
    }

    #[test]
    fn a_word_in_a_comment_a_text_or_a_name_of_ones_own_is_no_import() {
        for (line, path) in [
            ("import m from 'momentum'", "src/a.js"),
            ("import m from 'dayjs' // replaces moment", "src/a.js"),
            ("// do not import moment", "src/a.js"),
            ("/* never\n import moment from 'moment'\n */", "src/a.js"),
            (" * import moment from 'moment'", "src/a"),
            ("# from now on, no moment", "src/a.js"),
            ("import {moment} from './time'", "src/a.js"),
            ("import m from './moment'", "src/a.js"),
            ("import m from 'dayjs/plugin/moment'", "src/a.js"),
            ("#include \"./moment.h\"", "src/a.c"),
            ("import moment from './time'", "src/a.js"),
            ("export const moment = 1", "src/a.js"),
            ("const x = { moment: 1, require }", "src/a.js"),
            ("  moment: 1,", "src/a.ts"),
            ("log(\"import moment from 'moment'\")", "src/a.js"),
            ("use crate::time::moment;", "src/a.rs"),
            ("use a::{moment, b};", "src/a.rs"),
            ("use a::moment::b;", "src/a.rs"),
            ("mod moment;", "src/a.rs"),
            ("/// use moment::x;", "src/a.rs"),
            ("let s = \"use moment::x\";", "src/a.rs"),
            ("from x import y  # not moment", "src/a.py"),
            ("from x import moment", "src/a.py"),
            ("from .moment import x", "src/a.py"),
            ("import x.moment", "src/a.py"),
            ("import a as moment", "src/a.py"),
            ("\"\"\"\nimport moment\n\"\"\"", "src/a.py"),
            ("# import moment", "src/a.py"),
            ("# moment==2.0", "requirements.txt"),
            ("We do not use moment here.", "docs/a.md"),
            ("import moment", "docs/a.md"),
            ("const momentum = 1", "src/a.ts"),
            ("import x from 'moment-timezone'", "src/a.ts"),
            ("at this moment we stop", "src/a"),
            ("let moment = 1;", "src/a.ts"),
            ("using (var moment = now()) {}", "src/A.cs"),
        ] {
            assert!(!uses(line, "moment", path), "{path}: {line}");
        }
        assert!(!uses("// see src/legacy/db", "src/legacy/", "src/api/a.ts"));
        let notebook = |source: &str| serde_json::json!({"cells": [{"cell_type": "code", "source": [source]}]}).to_string();
        assert!(uses(&notebook("import moment\n"), "moment", "a.ipynb"));
        assert!(!uses(&notebook("# import moment\n"), "moment", "a.ipynb"));
    }

    #[test]
    fn a_manifest_and_an_import_may_be_broken_into_lines_anyhow() {
        for (text, path) in [
            (r#"{"dependencies":{"moment":"^2"}}"#, "package.json"),
            ("{\"name\": \"x\", \"devDependencies\": {\"a\": \"1\", \"moment\" : \"2\"}}", "app/package.json"),
            ("[dependencies.moment]\nversion = \"2\"", "Cargo.toml"),
            ("[target.'cfg(unix)'.dev-dependencies.\"moment\"]", "Cargo.toml"),
            ("dependencies = [\"a\", \"moment>=2\"]", "pyproject.toml"),
            ("import (\n\t\"fmt\"\n\tm \"moment\"\n)", "a.go"),
            ("const m = require(\n  'moment'\n)", "a.js"),
            ("const m = await import(\n  \"moment/locale\"\n)", "a.js"),
            ("import os, \\\n    moment", "a.py"),
            ("use {\n    std::io,\n    moment::Duration,\n};", "a.rs"),
            ("import {\n  a,\n  b\n} from \"moment\"", "a.ts"),
        ] {
            assert!(uses(text, "moment", path), "{text}");
        }
        for (text, path) in [
            ("import {\n  moment,\n} from './time'", "a.ts"),
            ("export function f() {\n  return 'moment'\n}", "a.ts"),
            ("{\"keywords\": [\"moment\"]}", "package.json"),
            ("[profile.moment]", "Cargo.toml"),
            ("from x import (\n    moment,\n)", "a.py"),
            ("{\"dependencies\":{\"moment-timezone\":\"1\"}}", "package.json"),
        ] {
            assert!(!uses(text, "moment", path), "{text}");
        }
    }

    #[test]
    fn a_path_is_used_however_it_is_spelt() {
        for (line, path) in [
            ("import { x } from '../legacy/db'", "src/api/a.ts"),
            ("use crate::legacy::db;", "src/api/a.rs"),
            ("from legacy.db import x", "src/api/a.py"),
            ("include 'src/legacy/db.php'", "index.php"),
            ("COPY src/legacy /app", "Dockerfile"),
        ] {
            assert!(uses(line, "src/legacy/", path), "{line}");
        }
        for (line, path) in [("import { x } from './legacy/db'", "src/api/a.ts"), ("import x from '../legacy2'", "src/api/a.ts")] {
            assert!(!uses(line, "src/legacy/", path), "{line}");
        }
    }
}
