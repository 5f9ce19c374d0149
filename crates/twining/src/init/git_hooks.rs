//! Git's hooks: our lines go into a shell script that is there; any other program is left alone.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::git::GitWiring;
use super::marked_block;
use super::marked_block::{BlockPosition, MarkerStyle};
use super::plan::{InstallPlan, unusable};
use crate::program_path::{NAME, for_shell, from_shell, on_path};
use crate::render::command_error::CommandError;

/// The hooks, and what becomes of a commit where ours refuses: nothing can be
/// stopped any more when it has happened.
pub(super) const HOOKS: [(&str, &str); 2] = [("pre-commit", "exit $?"), ("post-commit", ":")];

/// Where our lines for a hook go.
enum HookFile {
    /// Into this file.
    Ours(PathBuf),
    /// Nowhere: a tool creates the hook, and calls us; or a person has to configure it.
    Theirs(Option<String>),
}

impl GitWiring {
    pub(super) fn put_hook(
        &self,
        plan: &mut InstallPlan,
        name: &str,
        refused: &str,
    ) -> Result<(), CommandError> {
        let call = format!("{NAME} hook --agent git {name}");
        let Some((folder, within)) = self.hooks() else {
            let there = std::fs::read_to_string(self.shape.hooks.join(name)).unwrap_or_default();
            if there.contains(&format!("hook --agent git {name}")) {
                return Ok(());
            }
            plan.note(format!(
                "core.hooksPath points to `{}`, which other repositories use too; add `{call}` to its {name} yourself",
                self.shape.hooks.display()
            ));
            return Ok(());
        };
        let file = match self.managed(plan, &folder.join(name), &within, name) {
            HookFile::Ours(file) => file,
            HookFile::Theirs(note) => {
                note.into_iter().for_each(|note| plan.note(note));
                return Ok(());
            }
        };
        if file.is_symlink() {
            plan.note(format!(
                "`{}` is a symbolic link; add `{call}` to its target yourself",
                plan.shown(&file)
            ));
            return Ok(());
        }
        // One with our block could be started when that was put in.
        let had_ours = matches!(plan.text(&file, &within), Ok(Some(script)) if marked_block::is_there(&script, MarkerStyle::Hash));
        if file.exists() && !starts(&file) && !had_ours && !self.is_husky() {
            // Making it executable would activate everything else in it.
            plan.note(format!(
                "`{}` is not executable, so git never starts it; it was not changed",
                plan.shown(&file)
            ));
            return Ok(());
        }
        let (there, started) = if self.hooks_are_tracked() {
            ("command -v twining >/dev/null 2>&1".to_owned(), call.clone())
        } else {
            let program = for_shell(&self.program);
            (format!("[ -x {program} ]"), call.replacen(NAME, &program, 1))
        };
        let body = format!("if {there}; then\n  {started} </dev/null || {refused}\nfi");
        let Some(there) = plan
            .text(&file, &within)
            .ok()
            .filter(|there| self.is_husky() || there.as_deref().is_none_or(is_shell))
        else {
            plan.note(format!(
                "`{}` is not a shell script, so it was not changed; call `{call}` from it yourself",
                plan.shown(&file)
            ));
            return Ok(());
        };
        let unmatched = |unmatched: marked_block::UnmatchedMarker| {
            unusable(&file.display().to_string(), &unmatched.to_string())
        };
        let text = marked_block::put(
            there.as_deref().unwrap_or("#!/bin/sh\n"),
            MarkerStyle::Hash,
            BlockPosition::Second,
            &body,
        )
        .map_err(unmatched)?;
        if self.is_husky() {
            return plan.edit(&file, &within, |_| Ok(Some(text)));
        }
        plan.edit_program(&file, &within, Some(text))
    }

    /// Where our hook goes, with regard to the tool that made the one that is there.
    fn managed(&self, plan: &mut InstallPlan, hook: &Path, within: &Path, name: &str) -> HookFile {
        let script = plan.text(hook, within).ok().flatten().unwrap_or_default();
        match HookManager::of(&script)
            .filter(|_| !hook.is_symlink() && !marked_block::is_there(&script, MarkerStyle::Hash))
        {
            None => HookFile::Ours(hook.to_owned()),
            Some(tool) if tool.calls_us(&self.shape.top, hook, name) => HookFile::Theirs(None),
            Some(HookManager::PreCommit) => HookFile::Ours(legacy(hook)),
            Some(tool) => HookFile::Theirs(Some(tool.how(name))),
        }
    }

    pub(super) fn take_hook(&self, plan: &mut InstallPlan, name: &str) -> Result<(), CommandError> {
        let Some((folder, within)) = self.hooks() else { return Ok(()) };
        places(&folder.join(name)).iter().try_for_each(|file| take_hook_from(plan, file, &within))
    }
}

/// Takes our lines out of one file.
fn take_hook_from(plan: &mut InstallPlan, file: &Path, within: &Path) -> Result<(), CommandError> {
    if file.is_symlink() {
        return Ok(());
    }
    let Ok(Some(script)) = plan.text(file, within) else { return Ok(()) };
    if !marked_block::is_there(&script, MarkerStyle::Hash) {
        return Ok(());
    }
    let rest = marked_block::take(&script, MarkerStyle::Hash)
        .map_err(|unmatched| unusable(&file.display().to_string(), &unmatched.to_string()))?;
    plan.edit(file, within, |_| Ok(rest.filter(|rest| rest.trim() != "#!/bin/sh")))
}

/// Returns the program that a script starts for our hook, as far as can be determined.
pub(super) fn program_of(script: &str, name: &str) -> Option<String> {
    let call = format!(" hook --agent git {name}");
    let line = script
        .lines()
        .map(str::trim)
        .find(|line| line.contains(&call) && !line.starts_with('#'))?;
    from_shell(line.split_once(&call)?.0.trim())
}

/// Whether a script, or the settings of a tool, call our hook of this name.
pub(super) fn calls_in(script: &str, name: &str) -> bool {
    let call = format!("hook --agent git {name}");
    script.lines().map(str::trim).any(|line| line.contains(&call) && !line.starts_with('#'))
}

/// Whether there is a program behind a word of a script.
pub(super) fn can_start(word: &str) -> bool {
    if word.contains('/') {
        Path::new(word).is_file() && starts(Path::new(word))
    } else {
        on_path(word).is_some()
    }
}

/// Whether the system would start a file.
pub(super) fn starts(file: &Path) -> bool {
    std::fs::metadata(file).is_ok_and(|found| found.permissions().mode() & 0o111 != 0)
}

/// A script that reads our block as it is meant. Without a first line git hands
/// it to a shell.
pub(super) fn is_shell(script: &str) -> bool {
    let first = script.lines().next().unwrap_or_default();
    let Some(program) = first.strip_prefix("#!") else { return !script.starts_with('\u{7f}') };
    let words: Vec<&str> =
        program.split_whitespace().filter_map(|word| word.rsplit('/').next()).collect();
    words.iter().any(|word| ["sh", "bash", "dash", "zsh", "ksh", "busybox"].contains(word))
}

/// A tool whose hooks are generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HookManager {
    /// Calls what its settings name.
    Lefthook,
    /// The tool of pre-commit.com: calls what its settings name, and the hook that was there before, as `.legacy`.
    PreCommit,
}

impl HookManager {
    /// The tool that made a hook, if one did.
    pub(super) fn of(script: &str) -> Option<Self> {
        let found =
            [("File generated by pre-commit", Self::PreCommit), ("call_lefthook", Self::Lefthook)];
        found.into_iter().find(|(mark, _)| script.contains(mark)).map(|(_, tool)| tool)
    }

    /// Whether the tool calls our hook `name`, which git looks for in `hook`.
    pub(super) fn calls_us(self, top: &Path, hook: &Path, name: &str) -> bool {
        let text = |file: &Path| fs::read_to_string(file).unwrap_or_default();
        let before = legacy(hook);
        calls_in(&text(hook), name)
            || self.settings().any(|file| calls_in(&text(&top.join(file)), name))
            || (self == Self::PreCommit && starts(&before) && calls_in(&text(&before), name))
    }

    /// How a person has it call our hook.
    pub(super) fn how(self, name: &str) -> String {
        let call = format!("twining hook --agent git {name}");
        match self {
            Self::Lefthook => {
                format!(
                    "lefthook does not call Twining: add `{name}: {{commands: {{twining: {{run: {call}}}}}}}` to lefthook.yml"
                )
            }
            Self::PreCommit => format!(
                "pre-commit does not call Twining: add `- {{repo: local, hooks: [{{id: twining, name: twining, entry: {call}, language: system, always_run: true, pass_filenames: false}}]}}` to .pre-commit-config.yaml"
            ),
        }
    }

    fn settings(self) -> impl Iterator<Item = String> {
        let (names, endings): (&[&str], &[&str]) = match self {
            Self::Lefthook => (
                &["lefthook", ".lefthook", "lefthook-local", ".lefthook-local"],
                &["yml", "yaml", "toml", "json"],
            ),
            Self::PreCommit => (&[".pre-commit-config"], &["yaml"]),
        };
        names.iter().flat_map(|name| endings.iter().map(move |ending| format!("{name}.{ending}")))
    }
}

/// Where the tool of pre-commit.com keeps the hook that was there before, and calls it.
pub(super) fn legacy(hook: &Path) -> PathBuf {
    beside(hook, "legacy")
}

/// Every place where a hook of ours may lie by now: lefthook keeps the one before as `.old`.
pub(super) fn places(hook: &Path) -> [PathBuf; 3] {
    [hook.to_owned(), legacy(hook), beside(hook, "old")]
}

fn beside(hook: &Path, ending: &str) -> PathBuf {
    let name = hook.file_name().unwrap_or_default().to_string_lossy();
    hook.with_file_name(format!("{name}.{ending}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use twining_testcases::each;

    #[test]
    fn what_a_shell_reads_is_told_from_what_it_does_not() {
        each(
            ["#!/bin/sh\n", "#!/usr/bin/env bash\nset -e\n", "#! /bin/dash -e\n", "make lint\n"],
            |shell| {
                assert!(is_shell(shell), "{shell}");
            },
        );
        for other in ["#!/usr/bin/env python3\n", "#!/usr/bin/node\n", "\u{7f}ELF"] {
            assert!(!is_shell(other), "{other}");
        }
    }
}
