//! Commands that only a person gives: what lifts a guard, or all of them.

use crate::effects::Effects;
use crate::policy::rule::{Guard, GuardAnswer};

/// What follows `twining` in such a command.
const COMMANDS: [&[&str]; 5] = [&["guard", "bypass"], &["guard", "promote"], &["guard", "allow"], &["trust"], &["uninstall"]];
/// Such a command that only shows something is anybody's.
const SHOWS: [&str; 3] = ["--help", "-h", "--dry-run"];

/// Whether a call gives a person's command.
pub(crate) fn check_person_command(guard: &Guard, effects: &Effects) -> GuardAnswer {
    let given = effects.commands.iter().find(|command| is_for_a_person(&command.words));
    let line = given.map(|command| twining_model::text::excerpt(&command.words.join(" "), 80));
    line.map_or_else(
        || GuardAnswer::silent("no such command is given"),
        |line| GuardAnswer::of_call(guard.action, format!("`{line}` would run")),
    )
}

fn is_for_a_person(words: &[String]) -> bool {
    let Some((program, arguments)) = words.split_first() else { return false };
    if program.rsplit('/').next() != Some("twining") || arguments.iter().any(|word| SHOWS.contains(&word.as_str())) {
        return false;
    }
    let plain: Vec<&str> = arguments.iter().map(String::as_str).filter(|word| !word.starts_with('-')).collect();
    // `twining trust` alone lists what is trusted.
    COMMANDS.iter().any(|command| plain.starts_with(command) && (command[0] != "trust" || plain.len() > 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lifts_something_is_a_person_s() {
        let is = |line: &str| is_for_a_person(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        for line in
            ["twining guard bypass x --for 1h", "/usr/bin/twining trust no-x", "twining --json guard promote x", "twining uninstall"]
        {
            assert!(is(line), "{line}");
        }
        for line in
            ["twining trust", "twining guard list", "twining guard bypass --help", "twining uninstall --dry-run", "echo twining trust x"]
        {
            assert!(!is(line), "{line}");
        }
    }
}
