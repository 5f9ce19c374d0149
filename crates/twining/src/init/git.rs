//! Git configuration: the merge drivers, two hooks, and in stealth what to ignore.
//!
//! Git settings that start programs never come with a clone, so they are written here, into the
//! repository's own `.git`.

use std::path::{Path, PathBuf};

use twining_store::git::Shape;

use super::git_hooks::HookManager;
use super::git_hooks::{HOOKS, calls_in, can_start, is_shell, program_of, starts};
use super::marked_block;
use super::marked_block::{BlockPosition, MarkerStyle};
use super::plan::{InstallPlan, unusable};
use crate::merge_driver::{DRIVERS, MergeDriver};
use crate::render::command_error::CommandError;

/// Where husky keeps what it made, and git looks.
const HUSKY: &str = ".husky/_";

/// How paths of ours in a project begin.
const OWN: [&str; 11] = [
    ".twining/",
    ".claude/",
    ".codex/",
    ".cursor/",
    ".gemini/",
    ".opencode/",
    ".maestro/",
    ".mcp.json",
    "CLAUDE.local.md",
    "opencode.json",
    "AGENTS.md",
];

/// Returns the projects configured in a repository's git attributes, relative to its top.
pub(crate) fn projects(attributes: &str) -> Vec<String> {
    let block =
        marked_block::around(attributes, MarkerStyle::Hash).map_or("", |(_, block, _)| block);
    let prefix = |line: &str| {
        let (path, _) = line
            .trim_start_matches('"')
            .strip_prefix('/')?
            .split_once(".twining/blackboard.jsonl")?;
        Some(path.to_owned())
    };
    block.lines().filter_map(prefix).collect()
}

/// Where git's files are for one memory.
#[derive(Clone, Debug)]
pub(super) struct GitWiring {
    /// The repository.
    pub shape: Shape,
    /// The memory's folder, relative to the working tree, with `/` behind it
    /// unless it is the working tree itself.
    pub prefix: String,
    /// The knowledge graph where it is not in the memory, relative to the project.
    pub knowledge: Option<String>,
    /// Where the program is that git is to start.
    pub program: String,
}

impl GitWiring {
    /// Puts drivers and hooks into the sheet.
    pub(super) fn put(&self, plan: &mut InstallPlan) -> Result<(), CommandError> {
        self.put_drivers(plan)?;
        HOOKS.iter().try_for_each(|(name, refused)| self.put_hook(plan, name, refused))
    }

    /// Puts only the drivers in.
    pub(super) fn put_drivers(&self, plan: &mut InstallPlan) -> Result<(), CommandError> {
        let common = &self.shape.common;
        // Git's own commands move and remove sections, and never know of a marker.
        plan.edit(&common.join("config"), common, |text| Ok(text.map(without_strays)))?;
        put_block(plan, &common.join("config"), common, &drivers(&self.program))?;
        let attributes = common.join("info/attributes");
        plan.edit(&attributes, common, |text| {
            Ok(text.map(|text| {
                marked_block::without_unmatched_markers(
                    text,
                    MarkerStyle::Hash,
                    is_attribute_of_ours,
                )
            }))
        })?;
        let lines = self.among_others(plan, &attributes, &self.attributes());
        put_block(plan, &attributes, common, &lines)
    }

    /// Lines of our block in one of git's files that are those of other projects in
    /// this repository, with a line's end behind each.
    fn others_in(&self, plan: &mut InstallPlan, file: &Path) -> String {
        self.among_others(plan, file, "")
    }

    /// Our block with these lines for this project, in place, and every other project's.
    fn among_others(&self, plan: &mut InstallPlan, file: &Path, own: &str) -> String {
        let text = plan.text(file, &self.shape.common).ok().flatten().unwrap_or_default();
        let block =
            marked_block::around(&text, MarkerStyle::Hash).map_or("", |(_, block, _)| block);
        let there = || block.lines().filter(|line| line.trim_start_matches('"').starts_with('/'));
        let own: String = own.lines().map(|line| format!("{line}\n")).collect();
        let others = |lines: &mut dyn Iterator<Item = &str>| -> String {
            lines.filter(|line| !self.is_own(line)).map(|line| format!("{line}\n")).collect()
        };
        let at = there().position(|line| self.is_own(line)).unwrap_or_else(|| there().count());
        [others(&mut there().take(at)), own, others(&mut there().skip(at))].concat()
    }

    /// Whether a pattern names a file of this project, not of one below or beside it.
    fn is_own(&self, line: &str) -> bool {
        let pattern = line.trim_start_matches('"').trim_start_matches('/').replace("\\ ", " ");
        let Some(rest) = pattern.strip_prefix(&self.prefix) else { return false };
        let is_knowledge = self.knowledge.as_deref().is_some_and(|path| rest.starts_with(path));
        is_knowledge || OWN.iter().any(|name| rest.starts_with(name))
    }

    /// Git's files that other projects in this repository need as they are.
    pub(super) fn needed_by_others(&self, plan: &mut InstallPlan) -> Vec<PathBuf> {
        let common = &self.shape.common;
        let attributes = common.join("info/attributes");
        if self.others_in(plan, &attributes).is_empty() {
            return Vec::new();
        }
        let hooks = self
            .hooks()
            .into_iter()
            .flat_map(|(folder, _)| HOOKS.map(|(name, _)| folder.join(name)));
        let files = [common.join("config"), attributes, self.exclude()].into_iter().chain(hooks);
        files.map(|file| std::fs::canonicalize(&file).unwrap_or(file)).collect()
    }

    /// Returns the program that git starts now to merge, if we configured it.
    pub(super) fn configured_program(&self, plan: &mut InstallPlan) -> Option<String> {
        let text =
            plan.text(&self.shape.common.join("config"), &self.shape.common).ok().flatten()?;
        DRIVERS.iter().find_map(|driver| driver.program_in(&driver_in(&text, &driver.name())?))
    }

    /// Takes them out. What other projects in this repository need stays.
    pub(super) fn take(&self, plan: &mut InstallPlan) -> Result<(), CommandError> {
        let common = &self.shape.common;
        if !self.needed_by_others(plan).is_empty() {
            for file in ["info/attributes", "info/exclude"].map(|file| common.join(file)) {
                match self.others_in(plan, &file) {
                    lines if lines.is_empty() => take_block(plan, &file, common)?,
                    lines => put_block(plan, &file, common, &lines)?,
                }
            }
            return Ok(());
        }
        plan.edit(&common.join("config"), common, |text| Ok(text.map(without_strays)))?;
        let attributes = common.join("info/attributes");
        plan.edit(&attributes, common, |text| {
            Ok(text.map(|text| {
                marked_block::without_unmatched_markers(
                    text,
                    MarkerStyle::Hash,
                    is_attribute_of_ours,
                )
            }))
        })?;
        for file in ["config", "info/attributes", "info/exclude"] {
            take_block(plan, &common.join(file), common)?;
        }
        self.take_hooks(plan)
    }

    /// Takes our lines out of the hooks.
    pub(super) fn take_hooks(&self, plan: &mut InstallPlan) -> Result<(), CommandError> {
        HOOKS.iter().try_for_each(|(name, _)| self.take_hook(plan, name))
    }

    /// Makes git ignore these files in the working tree.
    pub(super) fn exclude_from_git(
        &self,
        plan: &mut InstallPlan,
        files: &[String],
    ) -> Result<(), CommandError> {
        let common = &self.shape.common;
        let lines: Vec<String> =
            files.iter().map(|file| format!("/{}", file.replace(' ', "\\ "))).collect();
        let lines = self.among_others(plan, &self.exclude(), &lines.join("\n"));
        put_block(plan, &self.exclude(), common, &lines)
    }

    /// Takes back what was overlooked.
    pub(super) fn include_in_git(&self, plan: &mut InstallPlan) -> Result<(), CommandError> {
        match self.others_in(plan, &self.exclude()) {
            lines if lines.is_empty() => take_block(plan, &self.exclude(), &self.shape.common),
            lines => put_block(plan, &self.exclude(), &self.shape.common, &lines),
        }
    }

    /// Whether git is configured to ignore the memory.
    pub(super) fn excludes_memory(&self, plan: &mut InstallPlan) -> bool {
        let text =
            plan.text(&self.exclude(), &self.shape.common).ok().flatten().unwrap_or_default();
        let line = format!("/{}.twining/", self.prefix.replace(' ', "\\ "));
        marked_block::is_there(&text, MarkerStyle::Hash) && text.lines().any(|there| there == line)
    }

    fn exclude(&self) -> PathBuf {
        self.shape.common.join("info/exclude")
    }

    /// Returns git settings that no longer hold: each loses data in a merge or disables a check.
    pub(super) fn faults(
        &self,
        plan: &mut InstallPlan,
        was_installed: impl Fn(&Path) -> bool,
    ) -> Vec<String> {
        let common = &self.shape.common;
        let mut text =
            |file: &Path, within: &Path| plan.text(file, within).ok().flatten().unwrap_or_default();
        let (settings, places) = (common.join("config"), common.join("info/attributes"));
        let config = text(&settings, common);
        let is_wrong = |driver: &&MergeDriver| {
            driver_in(&config, &driver.name())
                .and_then(|command| driver.program_in(&command))
                .is_none()
        };
        let wrong: Vec<String> = DRIVERS.iter().filter(is_wrong).map(MergeDriver::name).collect();
        let mut faults = Vec::new();
        if !wrong.is_empty() && was_installed(&settings) {
            faults.push(format!(
                "the merge driver of {} is missing or was replaced",
                wrong.join(", ")
            ));
        }
        // Where all of them start one program, whether it is there is looked at with it.
        let started = DRIVERS.iter().filter_map(|driver| {
            Some((driver, driver.program_in(&driver_in(&config, &driver.name())?)?))
        });
        for (driver, program) in
            started.filter(|(_, program)| *program != self.program && !can_start(program))
        {
            faults.push(format!(
                "the merge driver {} starts `{program}`, which does not exist, so those merges fail",
                driver.name()
            ));
        }
        let attributes = text(&places, common);
        let missing = self
            .attributes()
            .lines()
            .filter(|line| !attributes.lines().any(|there| there.trim_end() == *line))
            .count();
        if missing > 0 && was_installed(&places) {
            faults.push(format!("{missing} lines of info/attributes are missing, so git merges those files line by line"));
        }
        for (name, lost) in [
            (HOOKS[0].0, "commits are not checked"),
            (HOOKS[1].0, "commits are not linked to decisions"),
        ] {
            let hook = self.hooks().map(|(folder, within)| (folder.join(name), within));
            let Some((file, within)) = hook.filter(|(file, _)| was_installed(file)) else {
                continue;
            };
            let script = text(&file, &within);
            let has_ours = calls_in(&script, name);
            // A tool that took over since is no fault; whether it calls us is reported separately.
            if !has_ours && (self.is_husky() || HookManager::of(&script).is_some()) {
                continue;
            }
            let is_theirs = script.is_empty() || !is_shell(&script) || !starts(&file);
            if file.is_symlink() || (file.exists() && !has_ours && is_theirs && !self.is_husky()) {
                // Never ours to change, and reported as such.
                continue;
            }
            let program = program_of(&script, name);
            if !has_ours {
                faults.push(format!("{name} no longer calls twining, so {lost}"));
            } else if let Some(program) = program.filter(|program| !can_start(program)) {
                faults.push(format!("{name} starts `{program}`, which does not exist, so {lost}"));
            } else if !self.is_husky() && !starts(&file) {
                faults.push(format!("{name} is not executable, so git never starts it and {lost}"));
            }
        }
        faults
    }

    /// Husky hands its files to a shell, whether they can be started or not.
    pub(super) fn is_husky(&self) -> bool {
        self.shape.hooks.ends_with(HUSKY)
    }

    fn attributes(&self) -> String {
        let line = |pattern: &str, driver: &str| {
            format!("{} merge={driver} -text", quoted(&format!("/{pattern}")))
        };
        let ours = DRIVERS.iter().flat_map(|driver| {
            driver
                .files
                .iter()
                .map(move |file| line(&format!("{}{file}", self.prefix), &driver.name()))
        });
        let elsewhere = self
            .knowledge
            .iter()
            .map(|path| line(&format!("{}{path}", self.prefix), "twining-knowledge"));
        ours.chain(elsewhere).collect::<Vec<_>>().join("\n")
    }

    /// The folder for hooks, if it is this repository's.
    pub(super) fn hooks(&self) -> Option<(PathBuf, PathBuf)> {
        let Shape { top, common, hooks } = &self.shape;
        if let Some(husky) = hooks.ends_with(HUSKY).then(|| hooks.parent()).flatten() {
            return Some((husky.to_owned(), top.clone()));
        }
        [common, top]
            .into_iter()
            .find(|folder| hooks.starts_with(folder))
            .map(|folder| (hooks.clone(), folder.clone()))
    }

    /// Whether hooks would be seen by others.
    pub(super) fn hooks_are_tracked(&self) -> bool {
        self.hooks().is_some_and(|(hooks, _)| !hooks.starts_with(&self.shape.common))
    }
}

fn is_attribute_of_ours(line: &str) -> bool {
    DRIVERS.iter().any(|driver| line.ends_with(&format!(" merge={} -text", driver.name())))
}

/// The section of git's settings a line opens, as we write it and as git does.
fn opened(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix('[')
}

fn is_section_of_ours(section: &str) -> bool {
    DRIVERS.iter().any(|driver| section.starts_with(&format!("merge \"{}\"]", driver.name())))
}

/// Whether settings hold a driver of ours.
pub(super) fn has_driver(config: &str) -> bool {
    config.lines().filter_map(opened).any(is_section_of_ours)
}

/// The command of a driver that counts: of several, git takes the last.
fn driver_in(config: &str, name: &str) -> Option<String> {
    let (mut inside, mut found) = (false, None);
    for line in config.lines() {
        if let Some(section) = opened(line) {
            inside = section.starts_with(&format!("merge \"{name}\"]"));
        } else if let Some((key, value)) = line.split_once('=')
            && inside
            && key.trim().eq_ignore_ascii_case("driver")
        {
            found = Some(from_config(value.trim()));
        }
    }
    found
}

/// Settings without sections of our name outside of our block, and without half a
/// block: both are what git's own commands leave of it.
fn without_strays(config: &str) -> String {
    match marked_block::around(config, MarkerStyle::Hash) {
        Some((before, block, behind)) => {
            format!("{}{block}{}", without_ours(before), without_ours(behind))
        }
        None => without_ours(&marked_block::without_unmatched_markers(
            config,
            MarkerStyle::Hash,
            |_| false,
        )),
    }
}

fn without_ours(settings: &str) -> String {
    let mut inside = false;
    let stays = |line: &&str| {
        if let Some(section) = opened(line) {
            inside = is_section_of_ours(section);
        }
        // What people noted there is theirs.
        !inside || line.trim_start().starts_with(['#', ';'])
    };
    settings.split_inclusive('\n').filter(stays).collect()
}

fn drivers(program: &str) -> String {
    let section = |driver: &MergeDriver| {
        let command = for_config(&driver.command(program));
        format!(
            "[merge \"{}\"]\n\tname = \"{}\"\n\tdriver = {command}",
            driver.name(),
            driver.about
        )
    };
    DRIVERS.iter().map(section).collect::<Vec<_>>().join("\n")
}

/// A value as git's settings take it.
fn for_config(value: &str) -> String {
    let plain = !value.contains(['"', '\\', '#', ';', '\'']);
    if plain {
        value.to_owned()
    } else {
        format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
    }
}

/// The value behind [`for_config`].
fn from_config(value: &str) -> String {
    match value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(quoted) => quoted.replace("\\\"", "\"").replace("\\\\", "\\"),
        None => value.to_owned(),
    }
}

/// Formats a pattern for git's attributes: one with spaces is quoted.
fn quoted(pattern: &str) -> String {
    let plain = !pattern.contains([' ', '"', '\\']) && !pattern.chars().any(char::is_control);
    if plain {
        pattern.to_owned()
    } else {
        format!("\"{}\"", pattern.replace('\\', "\\\\").replace('"', "\\\""))
    }
}

fn put_block(
    plan: &mut InstallPlan,
    file: &Path,
    within: &Path,
    body: &str,
) -> Result<(), CommandError> {
    let shown = plan.shown(file);
    plan.edit(file, within, |text| {
        marked_block::put(text.unwrap_or_default(), MarkerStyle::Hash, BlockPosition::Last, body)
            .map(Some)
            .map_err(|unmatched| unusable(&shown, &unmatched.to_string()))
    })
}

fn take_block(plan: &mut InstallPlan, file: &Path, within: &Path) -> Result<(), CommandError> {
    let shown = plan.shown(file);
    plan.edit(file, within, |text| match text {
        Some(text) => marked_block::take_with_line(text, MarkerStyle::Hash)
            .map_err(|unmatched| unusable(&shown, &unmatched.to_string())),
        None => Ok(None),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use twining_testcases::each;

    #[test]
    fn a_pattern_with_a_space_is_still_one_pattern() {
        assert_eq!(quoted("my app/.twining/x.json"), "\"my app/.twining/x.json\"");
        assert_eq!(quoted(".twining/*.json"), ".twining/*.json");
    }

    #[test]
    fn sections_that_git_moved_out_of_the_block_go() {
        let whole = format!(
            "[core]\n\tbare = false\n\n# >>> twining >>> x\n{}\n# <<< twining <<<\n",
            drivers("/usr/bin/twining")
        );
        assert_eq!(without_strays(&whole), whole);
        let moved =
            format!("{whole}[merge \"twining-lines\"]\n\tdriver = true\n[user]\n\tname = x\n");
        assert_eq!(
            driver_in(&moved, "twining-lines").as_deref(),
            Some("true"),
            "git takes the last"
        );
        assert_eq!(without_strays(&moved), format!("{whole}[user]\n\tname = x\n"));
        let unmatched = whole.replace("# <<< twining <<<\n", "");
        assert_eq!(without_strays(&unmatched), "[core]\n\tbare = false\n\n");
    }

    #[test]
    fn a_value_comes_back_from_gits_settings_as_it_was() {
        each(
            ["twining x", "'/a b/twining' x", "'/a\"b\\c;#/twining' x", "'/o'\\''brien/x'"],
            |value| {
                assert_eq!(from_config(&for_config(value)), value);
            },
        );
    }
}
