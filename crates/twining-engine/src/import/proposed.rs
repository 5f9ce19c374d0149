//! Rules that came with an import, as guards that a person may accept.
//!
//! They go the way of a guard that was learned: written as `proposed`, they warn and
//! stop nobody until a person promotes them. What cannot be made a guard without
//! guessing stays an entry to review; one that would start a command is only named.

use std::collections::BTreeSet;

use twining_model::{limits, text};
use twining_store::{TextFile, disk::hash_of_key};

use super::{ImportOutcome, Intent, Source, SourceFile, Unread};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::learning::alive;
use crate::words;
use twining_guard::policy::edit::{self, NewGuard, quoted};
use twining_guard::policy::yaml::{self, Node, Value};

/// Guards that one import proposes.
const MOST: usize = 64;
/// Fields of another folder's guard that are taken over; of the rest `status`, `action`
/// and `origin` are ours to set, and `verify` would start a command.
const TAKEN: [&str; 10] = ["events", "event", "tools", "tool", "paths", "path", "except", "when", "next_step", "say"];
/// Fields that say nothing here.
const PASSED: [&str; 6] = ["id", "status", "action", "origin", "reason", "on_error"];
/// Words that speak of changing a file.
const CHANGES: [&str; 10] = ["edit", "modif", "chang", "touch", "writ", "delet", "remov", "commit", "overwrit", "alter"];
/// Words that speak of running a program.
const RUNS: [&str; 5] = ["run ", "running ", "execut", "invok", "call "];

/// The guard that a rule in words speaks of, if it names a command or a path.
pub(super) fn of_rule(said: &str) -> Option<NewGuard> {
    let spans: Vec<&str> = said.split('`').skip(1).step_by(2).map(str::trim).filter(|span| !span.is_empty()).collect();
    let prose = said.split('`').step_by(2).collect::<Vec<_>>().join(" ").to_lowercase();
    let speaks = |words: &[&str]| words.iter().any(|word| prose.contains(word));
    let is_program = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_lowercase()) && word.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    };
    let is_command = |span: &&&str| {
        let mut parts = span.split_whitespace();
        parts.next().is_some_and(is_program) && (parts.next().is_some() || speaks(&RUNS))
    };
    let is_path = |span: &&&str| {
        !span.contains(char::is_whitespace)
            && (span.contains(['/', '*']) || span.rsplit_once('.').is_some_and(|(name, ending)| !name.is_empty() && !ending.is_empty()))
    };
    let commands: Vec<&str> = spans.iter().filter(is_command).copied().collect();
    let paths: Vec<&str> = if speaks(&CHANGES) { spans.iter().filter(is_path).copied().collect() } else { Vec::new() };
    let all = |texts: &[String]| format!("[{}]", texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", "));
    let mut fields = Vec::new();
    if !commands.is_empty() {
        let commands: Vec<String> = commands.iter().map(|command| (*command).to_owned()).collect();
        fields.push(("when", format!("{{command: {}}}", all(&commands))));
    } else if !paths.is_empty() {
        let below = |path: &&str| path.strip_suffix('/').map_or_else(|| (*path).to_owned(), |folder| format!("{folder}/**"));
        fields.push(("paths", all(&paths.iter().map(below).collect::<Vec<_>>())));
    } else {
        return None;
    }
    fields.push(("say", quoted(&text::excerpt(&said.replace("**", ""), limits::SUMMARY_CHARS - 1))));
    let name = format!("rule-{:08x}", hash_of_key(&words::fold(said)) as u32);
    Some(NewGuard { id: name, fields, remark: String::new() })
}

/// The guards of another folder's policy, as they would be proposed here, and the
/// names of those that cannot be.
pub(super) fn of_policy(file: &SourceFile) -> (Vec<NewGuard>, Vec<String>) {
    // What another folder holds was written before anybody looked for secrets.
    let (top, _) = yaml::read(&crate::hygiene::redact(&file.text).0);
    let guards = top.into_iter().find(|(key, _)| key.name == "guards").map(|(_, node)| node.value);
    let entries: Vec<(String, Vec<(yaml::Key, Node)>)> = match guards {
        Some(Value::List(items)) => {
            items.into_iter().filter_map(|item| if let Value::Map(fields) = item.value { named(fields) } else { None }).collect()
        }
        Some(Value::Map(items)) => items
            .into_iter()
            .filter_map(|(key, node)| if let Value::Map(fields) = node.value { Some((key.name, fields)) } else { None })
            .collect(),
        _ => Vec::new(),
    };
    let (mut proposed, mut left) = (Vec::new(), Vec::new());
    for (id, fields) in entries {
        let known = |name: &str| TAKEN.iter().find(|taken| **taken == name).copied();
        let is_plain =
            fields.iter().all(|(key, _)| known(&key.name).is_some() || PASSED.contains(&key.name.as_str()) || key.name == "examples");
        if !is_plain {
            left.push(id);
            continue;
        }
        let mut taken: Vec<(&'static str, String)> =
            fields.iter().filter_map(|(key, node)| Some((known(&key.name)?, flow(node)))).collect();
        if !taken.iter().any(|(name, _)| *name == "say") {
            taken.push(("say", quoted(&format!("`{}` of another project", text::excerpt(&id, 60)))));
        }
        proposed.push(NewGuard { id, fields: taken, remark: String::new() });
    }
    (proposed, left)
}

fn named(fields: Vec<(yaml::Key, Node)>) -> Option<(String, Vec<(yaml::Key, Node)>)> {
    let id = fields.iter().find_map(|(key, node)| match &node.value {
        Value::Text(id) if key.name == "id" => Some(id.clone()),
        _ => None,
    })?;
    Some((id, fields))
}

/// A value on one line.
fn flow(node: &Node) -> String {
    let list = |items: Vec<String>| items.join(", ");
    match &node.value {
        Value::Nothing => "null".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Text(text) => quoted(text),
        Value::List(items) => format!("[{}]", list(items.iter().map(flow).collect())),
        Value::Map(entries) => {
            format!("{{{}}}", list(entries.iter().map(|(key, node)| format!("{}: {}", quoted(&key.name), flow(node))).collect()))
        }
    }
}

impl Engine {
    /// Proposes guards; those that are here under their name, proposed or in force, are known.
    pub(super) fn propose(&self, source: Source, guards: &[NewGuard], intent: Intent, outcome: &mut ImportOutcome) -> Result<(), Failure> {
        if guards.is_empty() {
            return Ok(());
        }
        let mut told = ImportOutcome::default();
        let mut plan = |file: &TextFile| {
            let before = match file {
                TextFile::Missing => "",
                TextFile::Text(text) => text,
                // What cannot be read cannot be added to, and doctor says so.
                TextFile::Unusable(_) => return Ok::<_, Failure>((None, ())),
            };
            let here: BTreeSet<String> = listed(before);
            let mut after = before.to_owned();
            for guard in guards.iter().take(MOST) {
                if here.contains(&guard.id) {
                    told.proposed_guards.known += 1;
                    continue;
                }
                let ours = [
                    ("status", "proposed".to_owned()),
                    ("action", "warn".to_owned()),
                    ("origin", quoted(&format!("import:{}", source.as_str()))),
                ];
                let guard = NewGuard { fields: ours.into_iter().chain(guard.fields.clone()).collect(), ..guard.clone() };
                let written = edit::with_guard(&after, &guard).and_then(|(text, _)| match alive(&text, &guard.id) {
                    Ok(()) => Ok(text),
                    Err(failure) => Err(failure.to_string()),
                });
                match written {
                    Ok(text) => {
                        after = text;
                        told.proposed_guards.new += 1;
                        told.proposed.push(guard.id);
                    }
                    Err(why) => told.unread.push(Unread {
                        file: guard.id,
                        line: None,
                        why: text::excerpt(&format!("cannot be proposed as a guard: {why}"), 300),
                    }),
                }
            }
            Ok(((after != before).then_some(after), ()))
        };
        match intent {
            Intent::Import => self.change_policy(plan)?,
            Intent::Try => plan(&self.store().documents().policy()?).map(drop)?,
        }
        outcome.proposed_guards.add(told.proposed_guards);
        outcome.proposed.extend(told.proposed);
        outcome.unread.extend(told.unread);
        Ok(())
    }
}

fn listed(policy: &str) -> BTreeSet<String> {
    let file = SourceFile { name: String::new(), text: policy.to_owned() };
    let (taken, left) = of_policy(&file);
    taken.into_iter().map(|guard| guard.id).chain(left).collect()
}
