//! After a storm: what was acknowledged against the log, the log's numbers, every folder against
//! one made from the log alone, and the rivals in the order in which the log took them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::machines::StormMachines;
use super::progress::Acknowledged;
use crate::files;

/// What is wrong after a storm; nothing, if all is well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StormFindings {
    /// Acknowledged, and not there.
    pub lost: Vec<String>,
    /// There more than once.
    pub doubled: Vec<String>,
    /// Lines whose number is not one more than that of the line before.
    pub gaps: Vec<u64>,
    /// What folders have otherwise than the log, but for `origin.principal` of entries.
    pub unequal: Vec<String>,
    /// Decisions that became active while a rival was.
    pub active_rivals: Vec<String>,
}

impl StormFindings {
    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_well(&self) -> bool {
        *self == Self::default()
    }
}

/// Looks for everything that was acknowledged, and compares these folders with the log.
pub(super) fn compare(
    machines: &StormMachines,
    folders: &[(String, PathBuf)],
    known: &Acknowledged,
) -> StormFindings {
    let mut findings = StormFindings::default();
    check_lines(machines, known, &mut findings);
    let exported = machines.export();
    check_records(&exported, known, &mut findings);
    let expected = shared_lines(&exported);
    for (name, folder) in folders {
        findings.unequal.extend(differences(name, &expected, &shared_lines(folder)));
    }
    let sql = "select body from twining.log where body like '%\"decisions\"%' or body like '%\"amendments\"%' order by seq";
    findings.active_rivals = active_rivals(machines.sql(sql).lines());
    findings
}

/// Every key has the number that was answered, and numbers have no gaps.
fn check_lines(machines: &StormMachines, known: &Acknowledged, findings: &mut StormFindings) {
    let rows = machines.sql("select seq || ' ' || key from twining.log order by seq");
    let rows = rows.lines().filter_map(|row| row.split_once(' '));
    let mut lines: BTreeMap<&str, u64> = BTreeMap::new();
    let mut last = 0;
    for (number, key) in rows {
        let number: u64 = number.parse().unwrap_or_default();
        if number != last + 1 {
            findings.gaps.push(number);
        }
        last = number;
        if lines.insert(key, number).is_some() {
            findings.doubled.push(format!("key {key}"));
        }
    }
    for (key, number) in &known.lines {
        if lines.get(key.as_str()) != Some(number) {
            findings.lost.push(format!("line {number} under key {key}"));
        }
    }
}

/// Every post and every decision is there once.
fn check_records(exported: &Path, known: &Acknowledged, findings: &mut StormFindings) {
    let board = files::board(exported).unwrap_or_else(|error| panic!("after the storm: {error}"));
    let mut posts: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in board.iter().filter(|entry| entry["entry_type"] == "finding") {
        *posts.entry(entry["summary"].as_str().unwrap_or_default()).or_default() += 1;
    }
    let decisions = decisions_in(exported);
    let mut decided: BTreeMap<&str, usize> = BTreeMap::new();
    for decision in decisions.values() {
        *decided.entry(decision["summary"].as_str().unwrap_or_default()).or_default() += 1;
    }
    let posted = known.posts.iter().filter(|summary| !posts.contains_key(summary.as_str()));
    findings.lost.extend(posted.map(|summary| format!("post `{summary}`")));
    for (summary, id) in &known.decisions {
        if !decisions.contains_key(id) {
            findings.lost.push(format!("decision {id} `{summary}`"));
        }
    }
    let twice = |(summary, times): (&&str, &usize)| {
        (*times > 1).then(|| format!("`{summary}`, {times} times"))
    };
    findings.doubled.extend(posts.iter().filter_map(twice));
    findings.doubled.extend(decided.iter().filter_map(twice));
}

fn decisions_in(folder: &Path) -> BTreeMap<String, Value> {
    let folder = folder.join(".twining/decisions");
    let listed = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).ok()?;
        Some((path.file_stem()?.to_str()?.to_owned(), serde_json::from_str(&text).ok()?))
    };
    listed.filter_map(|file| read(file.path())).collect()
}

/// The shared records of a folder, line files by line.
fn shared_lines(folder: &Path) -> BTreeSet<String> {
    let parts = files::shared_state(folder).into_iter();
    let lines = |(name, text): (String, String)| -> Vec<String> {
        text.lines().map(|line| format!("{name}: {}", without_principal(line))).collect()
    };
    parts.flat_map(lines).collect()
}

/// A line without whose token it came with: the service adds that, and the clone that wrote an
/// entry keeps its own line of it.
fn without_principal(line: &str) -> String {
    const FIELD: &str = "\"principal\":\"";
    let Some((before, after)) = line.split_once(FIELD) else { return line.to_owned() };
    let rest = after.split_once("\",").map_or(after, |(_, rest)| rest);
    format!("{before}{rest}")
}

fn differences(name: &str, expected: &BTreeSet<String>, found: &BTreeSet<String>) -> Vec<String> {
    let lacks = expected.difference(found).map(|line| format!("{name} lacks {line}"));
    lacks.chain(found.difference(expected).map(|line| format!("{name} also has {line}"))).collect()
}

/// Plays the log: decisions that became active while one of the same domain and place with
/// another summary was.
fn active_rivals<'a>(bodies: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut places: BTreeMap<String, (String, String)> = BTreeMap::new();
    let mut active: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    let mut found = Vec::new();
    for body in bodies {
        let line: Value = serde_json::from_str(body).unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let list = |name: &str| line[name].as_array().cloned().unwrap_or_default();
        let mut moved = Vec::new();
        for decision in list("decisions") {
            let place = format!("{} {}", text(&decision["domain"]), text(&decision["scope"]));
            places.insert(text(&decision["id"]), (place, text(&decision["summary"])));
            moved.push((text(&decision["id"]), text(&decision["status"])));
        }
        for amendment in list("amendments") {
            if let Some(status) = amendment["set"]["status"].as_str() {
                moved.push((text(&amendment["id"]), status.to_owned()));
            }
        }
        for (id, status) in &moved {
            let Some((place, summary)) = places.get(id) else { continue };
            let here = active.entry(place.clone()).or_default();
            if status == "active" {
                here.insert(id.clone(), summary.clone());
            } else {
                here.remove(id);
            }
        }
        // After the whole line: one decision may go out of force in the line that makes another.
        for (id, _) in moved.iter().filter(|(_, status)| status == "active") {
            let Some((place, summary)) = places.get(id) else { continue };
            if active.get(place).is_some_and(|here| here.values().any(|other| other != summary)) {
                found.push(format!("{id} in {place}"));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_rivals_that_are_active_at_once_are_found() {
        let decision = |id: &str, summary: &str, status: &str| {
            format!(
                r#"{{"decisions":[{{"id":"{id}","domain":"d","scope":"src/","summary":"{summary}","status":"{status}"}}]}}"#
            )
        };
        let ended = r#"{"amendments":[{"id":"a","set":{"status":"overridden"}}]}"#.to_owned();
        let first = decision("a", "x", "active");
        let rivals =
            |bodies: &[&String]| active_rivals(bodies.iter().map(|body| body.as_str())).len();
        assert_eq!(rivals(&[&first, &decision("b", "y", "provisional")]), 0);
        assert_eq!(rivals(&[&first, &decision("b", "y", "active")]), 1);
        assert_eq!(rivals(&[&first, &ended, &decision("b", "y", "active")]), 0);
    }

    #[test]
    fn folders_differ_by_the_lines_that_one_lacks() {
        let set = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        let found = differences("clone", &set(&["a", "b"]), &set(&["b", "c"]));
        assert_eq!(found, ["clone lacks a", "clone also has c"]);
    }
}
