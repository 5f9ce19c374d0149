//! Decisions and reviewed knowledge that can be checked: what must not be used,
//! and where.
//!
//! A name is used where a line brings it in (`import`, `use`, `require`, a line of
//! a manifest); a path is used where it is named, as a path or as a module. Only
//! what a change adds counts: code that was there before is nobody's offence.

use serde::{Deserialize, Serialize};

use crate::governance::policy::Source;
use crate::guards::change::{Becomes, Proposal, Where};
use crate::guards::event::Moment;
use crate::guards::path::{Paths, normal};
use crate::guards::rule::{Guard, Kind, Level, Standing, When};

/// Things one clause may rule out.
const MOST_ITEMS: usize = 32;

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
            None => format!("follow {}, or have it reconsidered with twining_reconsider", self.id),
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

/// What a change brings in that is ruled out.
pub(super) fn brought_in<'i>(items: &'i [String], proposal: &Proposal, texts: &[String]) -> Option<&'i str> {
    let Where::Known(path) = &proposal.at else { return None };
    let (before, after) = match &*proposal.becomes {
        Becomes::Text { before, after: Some(after) } => (before, after),
        Becomes::Text { .. } => return None,
        // What becomes of the file is not known; what the line puts in is.
        Becomes::Unknown(_) => {
            return items.iter().map(String::as_str).find(|item| texts.iter().any(|text| uses(text, item, path)));
        }
    };
    let before = before.as_deref().unwrap_or_default();
    items.iter().map(String::as_str).find(|item| uses(after, item, path) && !uses(before, item, path))
}

fn uses(text: &str, item: &str, path: &str) -> bool {
    let lines = || text.lines().filter(|line| line.len() <= 4_096);
    let is_path = item.contains('/') && !item.starts_with('@') || item.contains('.') && !item.contains(' ');
    if !is_path {
        return lines().any(|line| names(line, item) && (brings_in(line, item) || heads_a_table(line, item)))
            || is_listed(text, item, path)
            || continued(text).any(|line| names(&line, item) && is_given(&line, item));
    }
    let plain = item.trim_start_matches("./").trim_end_matches('/');
    let stem = plain.rsplit_once('.').filter(|(_, ending)| !ending.contains('/')).map_or(plain, |(stem, _)| stem);
    let module = stem.trim_start_matches("src/").trim_start_matches("lib/");
    // As modules; what stands behind a `/` is a path, and judged as one.
    let spelled = [module.replace('/', "::"), module.replace('/', "."), stem.replace('/', ".")];
    lines().any(|line| {
        let as_module = |spelling: &String| names(line, spelling) && !line.contains(&format!("/{spelling}")) && brings_in(line, spelling);
        names(line, plain) || spelled.iter().any(as_module) || brings_in(line, "") && reaches(line, stem, path)
    })
}

/// Whether a line names something, as a word of its own.
fn names(line: &str, item: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    line.match_indices(item)
        .any(|(at, _)| !line[..at].chars().next_back().is_some_and(is_part) && !line[at + item.len()..].chars().next().is_some_and(is_part))
}

/// Whether a line brings something in, in the languages and manifests in use.
fn brings_in(line: &str, item: &str) -> bool {
    const WORDS: [&str; 11] =
        ["import", "from", "require", "use", "using", "include", "extern", "load", "require_relative", "mod", "export"];
    let line = line.trim();
    if line.starts_with("//") || line.starts_with("* ") {
        return false;
    }
    let words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
    if words.clone().any(|word| WORDS.contains(&word)) {
        return true;
    }
    // `"moment": "^2.0"`, `moment = "2"`, `moment==2.0`
    let rest = line.trim_start_matches(['"', '\'']).strip_prefix(item).map(|rest| rest.trim_start_matches(['"', '\'', ' ']));
    !item.is_empty() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '=', '>', '<', '~', '[', '@']))
}

/// Whether a line of TOML begins the table of a dependency: `[dependencies.moment]`.
fn heads_a_table(line: &str, item: &str) -> bool {
    let Some(name) = line.trim().strip_prefix('[').and_then(|rest| rest.split(']').next()) else { return false };
    let Some((table, last)) = name.trim_start_matches('[').rsplit_once('.') else { return false };
    table.contains("dependencies") && last.trim().trim_matches(['"', '\'']) == item
}

/// Whether a manifest lists something, however it is broken into lines.
fn is_listed(text: &str, item: &str, path: &str) -> bool {
    let file = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let after =
        |quote: &str| text.match_indices(&format!("{quote}{item}")).map(|(at, found)| &text[at + found.len()..]).collect::<Vec<_>>();
    if file.ends_with(".json") || file.ends_with(".jsonc") {
        return after("\"").into_iter().any(|rest| rest.strip_prefix('"').is_some_and(|rest| rest.trim_start().starts_with(':')));
    }
    // `dependencies = ["moment>=2"]`
    let lists = matches!(file.as_str(), "pyproject.toml" | "setup.py" | "setup.cfg" | "pipfile");
    let is_required = |rest: &str| rest.trim_start().starts_with(['"', '\'', '>', '<', '=', '~', '!', '[', ';', '@']);
    lists && ["\"", "'"].iter().any(|quote| after(quote).into_iter().any(is_required))
}

/// Lines of one import that goes over several, as far as such imports go.
const MOST_CONTINUED: usize = 200;

/// Each import that goes over several lines, as one: `import (` … `)`, `require(`
/// … `)`, `use {` … `}`, `import a, \\`.
fn continued(text: &str) -> impl Iterator<Item = String> {
    let mut lines = text.lines();
    std::iter::from_fn(move || {
        loop {
            let line = lines.next()?.trim();
            let begins = ["import", "use", "pub use", "from", "include"].iter().any(|word| line.starts_with(word));
            let opens = line.ends_with(['(', '{']) && (begins || line.ends_with("require(") || line.ends_with("import("));
            if line.starts_with("//") || !(opens || begins && line.ends_with('\\')) {
                continue;
            }
            let closes = if line.ends_with('{') { '}' } else { ')' };
            let mut whole = line.to_owned();
            for line in lines.by_ref().take(MOST_CONTINUED) {
                whole.push(' ');
                whole.push_str(line.trim());
                if opens && line.contains(closes) || !opens && !line.trim_end().ends_with('\\') {
                    break;
                }
            }
            return Some(whole);
        }
    })
}

/// Whether an import in one line brings in a module, not something of another's: by
/// its name in quotes, or where the list begins with modules.
fn is_given(line: &str, item: &str) -> bool {
    let is_quoted = ["\"", "'", "`"].iter().any(|quote| {
        line.match_indices(&format!("{quote}{item}")).any(|(at, found)| line[at + found.len()..].starts_with(['"', '\'', '`', '/']))
    });
    let lists_modules =
        line.starts_with("import ") && !line.contains(['{', '(']) || line.starts_with("use {") || line.starts_with("pub use {");
    is_quoted || lists_modules
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

    #[test]
    fn a_constraint_rules_out_words_and_no_prose() {
        assert_eq!(ruled_out("must_not_use: moment, `src/legacy/`"), ["moment", "src/legacy/"]);
        assert_eq!(ruled_out("Must not use: lodash"), ["lodash"]);
        assert_eq!(ruled_out("must not use: the old API for new code"), Vec::<String>::new());
        assert_eq!(ruled_out("must stay fast: yes"), Vec::<String>::new());
    }

    #[test]
    fn a_name_is_used_where_it_is_brought_in() {
        for line in [
            "import moment from 'moment'",
            "const m = require(\"moment\")",
            "use moment::Duration;",
            "  \"moment\": \"^2.29\",",
            "moment = \"2\"",
            "moment==2.0",
            "from moment import x",
        ] {
            assert!(uses(line, "moment", "src/a.ts"), "{line}");
        }
        for line in
            ["// import moment", "const momentum = 1", "import x from 'moment-timezone'", "at this moment we stop", "let moment = 1;"]
        {
            assert!(!uses(line, "moment", "src/a.ts"), "{line}");
        }
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
