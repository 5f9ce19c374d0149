//! Rules that came with an import, as guards that a person may accept.
//!
//! They go the way of a guard that was learned: written as `proposed`, they warn and
//! stop nobody until a person promotes them. What cannot be made a guard without
//! guessing stays an entry to review.

use twining_model::{limits, text};
use twining_store::{TextFile, disk::hash_of_key};

use super::records::{ImportProblem, ImportSource};
use super::{ImportMode, ImportOutcome};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::fields;
use crate::learning::check_guard_holds;
use twining_guard::GuardSet;
use twining_guard::policy::edit::{self, NewGuard, quoted};
use twining_guard::policy::{Examples, UserPolicy};

/// GuardSet that one import proposes.
const MOST: usize = 64;
/// Words that speak of changing a file.
const CHANGES: [&str; 10] =
    ["edit", "modif", "chang", "touch", "writ", "delet", "remov", "commit", "overwrit", "alter"];
/// Words that speak of running a program.
const RUNS: [&str; 5] = ["run ", "running ", "execut", "invok", "call "];

/// The guard that a rule in words speaks of, if it names a command or a path.
pub(super) fn guard_from_rule(rule: &str) -> Option<NewGuard> {
    let spans: Vec<&str> =
        rule.split('`').skip(1).step_by(2).map(str::trim).filter(|span| !span.is_empty()).collect();
    let prose = rule.split('`').step_by(2).collect::<Vec<_>>().join(" ").to_lowercase();
    let speaks = |words: &[&str]| words.iter().any(|word| prose.contains(word));
    let is_program = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_lowercase())
            && word.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    };
    let is_command = |span: &&&str| {
        let mut parts = span.split_whitespace();
        parts.next().is_some_and(is_program) && (parts.next().is_some() || speaks(&RUNS))
    };
    let is_path = |span: &&&str| {
        !span.contains(char::is_whitespace)
            && (span.contains(['/', '*'])
                || span
                    .rsplit_once('.')
                    .is_some_and(|(name, ending)| !name.is_empty() && !ending.is_empty()))
    };
    let commands: Vec<&str> = spans.iter().filter(is_command).copied().collect();
    let paths: Vec<&str> =
        if speaks(&CHANGES) { spans.iter().filter(is_path).copied().collect() } else { Vec::new() };
    let all = |texts: &[String]| {
        format!("[{}]", texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", "))
    };
    let mut fields = Vec::new();
    if !commands.is_empty() {
        let commands: Vec<String> = commands.iter().map(|command| (*command).to_owned()).collect();
        fields.push(("when", format!("{{command: {}}}", all(&commands))));
    } else if !paths.is_empty() {
        let below = |path: &&str| {
            path.strip_suffix('/')
                .map_or_else(|| (*path).to_owned(), |folder| format!("{folder}/**"))
        };
        fields.push(("paths", all(&paths.iter().map(below).collect::<Vec<_>>())));
    } else {
        return None;
    }
    fields
        .push(("say", quoted(&text::excerpt(&rule.replace("**", ""), limits::SUMMARY_CHARS - 1))));
    let name = format!("rule-{:08x}", hash_of_key(&fields::fold(rule)) as u32);
    Some(NewGuard { id: name, fields, remark: String::new() })
}

impl Engine {
    /// Proposes guards; those that are here under their name, proposed or in force, are known.
    pub(super) fn propose(
        &self,
        source: ImportSource,
        guards: &[NewGuard],
        intent: ImportMode,
        outcome: &mut ImportOutcome,
    ) -> Result<(), Failure> {
        if guards.is_empty() {
            return Ok(());
        }
        let mut result = ImportOutcome::default();
        let mut plan = |file: &TextFile| {
            let before = match file {
                TextFile::Missing => "",
                TextFile::Text(text) => text,
                // What cannot be read cannot be added to, and doctor says so.
                TextFile::Unusable(_) => return Ok::<_, Failure>((None, ())),
            };
            let here = GuardSet::load(
                &UserPolicy::default(),
                &TextFile::Text(before.to_owned()),
                Examples::Skip,
            )
            .guards;
            let mut after = before.to_owned();
            for guard in guards.iter().take(MOST) {
                if here.iter().any(|known| known.id == guard.id) {
                    result.proposed_guards.known += 1;
                    continue;
                }
                let ours = [
                    ("status", "proposed".to_owned()),
                    ("action", "warn".to_owned()),
                    ("origin", quoted(&format!("import:{}", source.as_str()))),
                ];
                let guard = NewGuard {
                    fields: ours.into_iter().chain(guard.fields.clone()).collect(),
                    ..guard.clone()
                };
                let written =
                    edit::with_guard(&after, &guard).and_then(|(text, _)| match check_guard_holds(
                        &text, &guard.id,
                    ) {
                        Ok(()) => Ok(text),
                        Err(failure) => Err(failure.to_string()),
                    });
                match written {
                    Ok(text) => {
                        after = text;
                        result.proposed_guards.new += 1;
                        result.proposed.push(guard.id);
                    }
                    Err(why) => result.unread.push(ImportProblem {
                        file: guard.id,
                        line: None,
                        why: text::excerpt(&format!("cannot be proposed as a guard: {why}"), 300),
                    }),
                }
            }
            Ok(((after != before).then_some(after), ()))
        };
        match intent {
            ImportMode::Import => self.change_policy(plan)?,
            ImportMode::Try => plan(&self.store().documents().policy()?).map(drop)?,
        }
        outcome.proposed_guards.add(result.proposed_guards);
        outcome.proposed.extend(result.proposed);
        outcome.unread.extend(result.unread);
        Ok(())
    }
}
