//! Twining's own records: written by its tools, never by hand.

use crate::checks::feature_list;
use crate::effects::{ChangeExtent, Effects, NewContent};
use crate::facts::Facts;
use crate::policy::builtin::OWN_LIST;
use crate::policy::guard::{Guard, GuardAnswer};
use crate::verdict::Verdict;

/// What is derived and may be deleted at any moment.
const DERIVED: &str = ".twining/local/index.db";

/// Whether a call writes our records.
pub(crate) fn check(guard: &Guard, effects: &Effects, facts: &Facts<'_>) -> GuardAnswer {
    let changed =
        guard.concerned(effects).filter(|change| change.changes_something()).filter_map(|change| {
            let path = change.path.as_str();
            let is_removed = matches!(&*change.content, NewContent::Text { after: None, .. });
            if is_removed && path.starts_with(DERIVED) {
                return None;
            }
            // Features are reworded and added by hand; only what moves one is a report's to do.
            if path == OWN_LIST
                && change.extent == ChangeExtent::File
                && let NewContent::Text { before, after: Some(after) } = &*change.content
            {
                let moved =
                    feature_list::status_changed(before.as_deref().unwrap_or_default(), after)?;
                let answer = GuardAnswer::of_change(guard.action, change, &moved);
                return Some(answer.instead(
                    "use `twining report`, or twining_features to add and reword features",
                ));
            }
            let verb = if is_removed { "remove" } else { "change" };
            let names = if change.extent == ChangeExtent::Tree && path.is_empty() {
                ".twining"
            } else {
                path
            };
            Some(GuardAnswer::about(
                guard.action,
                names,
                format!("`{}` would {verb} `{names}`", change.by),
            ))
        });
    let discarded = || {
        // A record that is named is brought back on purpose.
        let covers = |path: &str| path.is_empty() || path == ".twining";
        let change = effects
            .changes
            .iter()
            .find(|change| change.extent == ChangeExtent::Uncommitted && covers(&change.path))?;
        let lost = facts.files.uncommitted_records();
        let effect =
            format!("`{}` may discard {lost} uncommitted records in `.twining`", change.by);
        let note = GuardAnswer::about(guard.action.min(Verdict::Warn), ".twining", effect);
        (lost > 0).then(|| {
            note.instead(
                "commit .twining first, or exclude it with `-e .twining` or `':!.twining'`",
            )
        })
    };
    GuardAnswer::strictest(changed.chain(discarded()))
        .unwrap_or_else(|| GuardAnswer::silent("no record is written"))
}

/// What follows `twining` in such a command.
const COMMANDS: [&[&str]; 6] = [
    &["guard", "bypass"],
    &["guard", "promote"],
    &["guard", "discard"],
    &["guard", "allow"],
    &["trust"],
    &["uninstall"],
];
/// Such a command that only shows something is anybody's.
const SHOWS: [&str; 3] = ["--help", "-h", "--dry-run"];

/// Whether a call gives a person's command.
pub(crate) fn check_person_command(guard: &Guard, effects: &Effects) -> GuardAnswer {
    let given = effects.commands.iter().find(|command| is_for_a_person(&command.words));
    let line = given.map(|command| twining_model::text::excerpt(&command.words.join(" "), 80));
    line.map_or_else(
        || GuardAnswer::silent("no command reserved for a person is run"),
        |line| GuardAnswer::of_call(guard.action, format!("`{line}` would run")),
    )
}

fn is_for_a_person(words: &[String]) -> bool {
    let Some((program, arguments)) = words.split_first() else { return false };
    if program.rsplit('/').next() != Some("twining")
        || arguments.iter().any(|word| SHOWS.contains(&word.as_str()))
    {
        return false;
    }
    let plain: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|word| !word.starts_with('-')).collect();
    // `twining trust` alone lists what is trusted.
    COMMANDS
        .iter()
        .any(|command| plain.starts_with(command) && (command[0] != "trust" || plain.len() > 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use twining_testcases::each;

    #[test]
    fn only_what_lifts_something_is_a_person_s() {
        let is =
            |line: &str| is_for_a_person(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        each(
            [
                "twining guard bypass x --for 1h",
                "/usr/bin/twining trust no-x",
                "twining --json guard promote x",
                "twining guard discard x --why noise",
                "twining uninstall",
            ],
            |line| {
                assert!(is(line), "{line}");
            },
        );
        for line in [
            "twining trust",
            "twining guard list",
            "twining guard bypass --help",
            "twining uninstall --dry-run",
            "echo twining trust x",
        ] {
            assert!(!is(line), "{line}");
        }
    }
}
