//! Detects when the lines by which hosts and git call Twining are removed, disabled or redirected.
//! Only covers files that call it now.

use crate::effects::{Effects, FileChange, NewContent};
use crate::facts::Facts;
use crate::paths::normal;
use crate::policy::guard::{Guard, GuardAnswer};
use crate::verdict::Verdict;

/// Where git's hook is, from the project's root.
const GIT_HOOKS: [&str; 2] = [".git/hooks/pre-commit", ".husky/pre-commit"];
/// Git's commands that run hooks.
const RUNS_HOOKS: [&str; 6] = ["commit", "merge", "rebase", "cherry-pick", "revert", "am"];
/// Letters of `git commit` after which the rest of the word is a value.
const TAKES_VALUE: &str = "mFCctSu";

/// Whether a call takes our hooks away.
pub(crate) fn check(guard: &Guard, effects: &Effects, facts: &Facts<'_>) -> GuardAnswer {
    let changed = guard.concerned(effects).filter_map(|change| of_change(guard, change));
    let run = || {
        let (level, effect) = effects
            .commands
            .iter()
            .filter_map(|command| of_command(&command.words))
            .max_by_key(|(level, _)| *level)?;
        let answer = GuardAnswer::about(guard.action.min(level), ".git/hooks/pre-commit", effect);
        let answer = if level == Verdict::Warn {
            answer.instead("commit without `--no-verify`")
        } else {
            answer
        };
        is_wired(facts).then_some(answer)
    };
    GuardAnswer::strictest(changed.chain(run()))
        .unwrap_or_else(|| GuardAnswer::silent("hosts and git still call Twining"))
}

fn of_change(guard: &Guard, change: &FileChange) -> Option<GuardAnswer> {
    let NewContent::Text { before, after } = &*change.content else { return None };
    let (before, after) =
        (before.as_deref().unwrap_or_default(), after.as_deref().unwrap_or_default());
    let how = unwired(&change.path, before, after)?;
    Some(GuardAnswer::of_change(guard.action, change, &how))
}

/// How a file that wires us would stop doing so; none if it goes on.
#[must_use]
pub fn unwired(path: &str, before: &str, after: &str) -> Option<String> {
    if path.ends_with(".git/config") {
        let new = hooks_path(after).filter(|new| hooks_path(before).as_ref() != Some(new))?;
        return leads_away(&new).then(|| format!("git would look for hooks in `{new}`"));
    }
    let calls = |text: &str| text.matches("twining").count();
    let off = |text: &str| text.replace([' ', '\t', '\n'], "").contains("\"disableAllHooks\":true");
    if off(after) && !off(before) {
        return Some("it turns all hooks off".to_owned());
    }
    // Lines that move into another manager's file are still there; none at all is another matter.
    (calls(before) > 0 && calls(after) < calls(before))
        .then(|| "fewer of its lines call twining".to_owned())
}

/// `core.hooksPath` of a git configuration.
fn hooks_path(config: &str) -> Option<String> {
    let mut in_core = false;
    let folders = config.lines().map(str::trim).filter_map(|line| {
        if let Some(section) = line.strip_prefix('[') {
            in_core = section.trim_end_matches(']').trim().eq_ignore_ascii_case("core");
        }
        let (key, value) = line.split_once('=').filter(|_| in_core)?;
        key.trim()
            .eq_ignore_ascii_case("hookspath")
            .then(|| value.trim().trim_matches('"').to_owned())
    });
    folders.last()
}

/// Whether a hooks folder is none of the project's: a hook manager keeps its own inside.
fn leads_away(folder: &str) -> bool {
    folder.is_empty()
        || folder.starts_with('/')
        || folder.starts_with("..")
        || folder.starts_with('~')
}

fn is_wired(facts: &Facts<'_>) -> bool {
    let text = |hook: &&str| facts.files.read(&normal(facts.root, hook)).ok().flatten();
    GIT_HOOKS.iter().filter_map(text).any(|text| text.contains("twining"))
}

/// How a command would keep git from running hooks, and how grave that is.
fn of_command(words: &[String]) -> Option<(Verdict, String)> {
    let (program, words) = words.split_first()?;
    if program.rsplit('/').next() != Some("git") {
        return None;
    }
    let mut words = words.iter().map(String::as_str);
    let mut elsewhere = false;
    let setting = |setting: &str| {
        setting.split_once('=').is_some_and(|(key, value)| is_hooks_path(key) && leads_away(value))
    };
    let command = loop {
        match words.next()? {
            "-c" => elsewhere |= setting(words.next()?),
            "-C" | "--git-dir" | "--work-tree" | "--namespace" | "--config-env" => {
                words.next()?;
            }
            word if word.starts_with('-') => {}
            word => break word,
        }
    };
    let words: Vec<&str> = words.collect();
    if elsewhere && RUNS_HOOKS.contains(&command) {
        return Some((
            Verdict::Block,
            format!("git would look for hooks elsewhere for this {command}"),
        ));
    }
    match command {
        "config" => hooks_path_set(&words)
            .filter(|folder| leads_away(folder))
            .map(|folder| (Verdict::Block, format!("`git config core.hooksPath {folder}` would disable `.git/hooks/pre-commit`"))),
        "commit" if words.iter().take_while(|word| **word != "--").any(|word| skips_hooks(word)) => {
            Some((Verdict::Warn, "this commit skips `.git/hooks/pre-commit`; it is still checked at the end of the turn and in CI".to_owned()))
        }
        _ => None,
    }
}

fn is_hooks_path(key: &str) -> bool {
    key.eq_ignore_ascii_case("core.hooksPath")
}

/// The folder that `git config key value` or `git config set key value` sets.
fn hooks_path_set<'w>(words: &[&'w str]) -> Option<&'w str> {
    let plain: Vec<&str> = words.iter().copied().filter(|word| !word.starts_with('-')).collect();
    let rest = plain.strip_prefix(&["set"][..]).unwrap_or(&plain);
    rest.first().filter(|key| is_hooks_path(key)).and(rest.get(1).copied())
}

fn skips_hooks(word: &str) -> bool {
    if word.starts_with("--") {
        return word.len() > "--no-ve".len() && "--no-verify".starts_with(word);
    }
    let letters = word.strip_prefix('-').unwrap_or_default();
    letters.chars().take_while(|letter| !TAKES_VALUE.contains(*letter)).any(|letter| letter == 'n')
}

#[cfg(test)]
mod tests {
    use super::*;
    use twining_testcases::each;

    #[test]
    fn ways_past_git_s_hooks_are_told_from_what_looks_like_them() {
        let level = |line: &str| {
            of_command(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
                .map(|(level, _)| level)
        };
        each(
            [
                "git config core.hooksPath /nowhere",
                "git config --global core.hookspath ~/hooks",
                "/usr/bin/git -C x config --local core.hooksPath /dev/null",
                "git config set core.hooksPath /nowhere",
                "git -c core.hooksPath=/nowhere commit -m x",
                "git --no-pager -c Core.HooksPath= -c a=b merge x",
            ],
            |line| {
                assert_eq!(level(line), Some(Verdict::Block), "{line}");
            },
        );
        for line in [
            "git commit --no-verify -m x",
            "git commit -nm x",
            "git commit -anm x",
            "git commit --no-veri",
            "git -C x commit -n",
        ] {
            assert_eq!(level(line), Some(Verdict::Warn), "{line}");
        }
        for line in [
            "git config core.hooksPath .husky",
            "git config core.hooksPath",
            "git config --get core.hooksPath",
            "git config --unset core.hooksPath",
            "git config user.name core.hooksPath",
            "git -c core.hooksPath=/nowhere status",
            "git commit -mnew",
            "git commit -am none",
            "git commit --no-edit",
            "git commit -m x -- -n",
            "git log -n 3",
            "git push --no-verify",
            "echo git commit -n",
        ] {
            assert_eq!(level(line), None, "{line}");
        }
    }

    #[test]
    fn settings_may_change_and_go_on_calling_us() {
        let wired = r#"{"hooks":{"Stop":[{"command":"twining hook"}]}}"#;
        assert_eq!(
            unwired(
                ".claude/settings.json",
                wired,
                &wired.replace("{\"hooks", "{\"model\":\"x\",\"hooks")
            ),
            None
        );
        assert!(unwired(".claude/settings.json", wired, "{}").is_some());
        assert!(
            unwired("/home/x/.claude/settings.json", "{}", "{ \"disableAllHooks\": true }")
                .is_some()
        );
        let config = "[core]\n\tbare = false\n[user]\n\tname = x\n";
        assert_eq!(
            unwired(".git/config", config, &format!("{config}[alias]\n\tst = status\n")),
            None
        );
        assert_eq!(
            unwired(".git/config", config, &config.replace("bare", "hooksPath = .husky\n\tbare")),
            None
        );
        assert!(
            unwired(
                ".git/config",
                config,
                &config.replace("bare", "hooksPath = /dev/null\n\tbare")
            )
            .is_some()
        );
    }
}
