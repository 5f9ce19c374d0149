//! What git is told: the merge drivers, two hooks, and in stealth what to overlook.
//!
//! Settings of git that start programs never come with a clone, so they are
//! written here, into the repository's own `.git`.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::block::{self, Marks, Spot};
use super::sheet::{Sheet, unfit};
use crate::drivers::{DRIVERS, Driver};
use crate::git::Shape;
use crate::installed::{NAME, for_shell, from_shell, on_path};
use crate::problem::Problem;

/// The hooks, and what becomes of a commit where ours refuses: nothing can be
/// stopped any more when it has happened.
const HOOKS: [(&str, &str); 2] = [("pre-commit", "exit $?"), ("post-commit", ":")];
/// What a hook that is no shell script is called while ours stands in its place.
const CHAINED: &str = "twining-chained";
/// Where husky keeps what it made, and git looks.
const HUSKY: &str = ".husky/_";

/// Where git's files are for one memory.
#[derive(Clone, Debug)]
pub struct GitGround {
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

impl GitGround {
    /// Puts drivers and hooks into the sheet.
    pub fn put(&self, sheet: &mut Sheet) -> Result<(), Problem> {
        self.put_drivers(sheet)?;
        HOOKS.iter().try_for_each(|(name, refused)| self.put_hook(sheet, name, refused))
    }

    /// Puts only the drivers in.
    pub fn put_drivers(&self, sheet: &mut Sheet) -> Result<(), Problem> {
        let common = &self.shape.common;
        // Git's own commands move and remove sections, and never know of a marker.
        sheet.edit(&common.join("config"), common, |text| Ok(text.map(without_strays)))?;
        put_block(sheet, &common.join("config"), common, &drivers(&self.program))?;
        let attributes = common.join("info/attributes");
        sheet.edit(&attributes, common, |text| Ok(text.map(|text| block::untorn(text, Marks::Hash, is_attribute_of_ours))))?;
        put_block(sheet, &attributes, common, &self.attributes())
    }

    /// The program that git starts now to merge, if it was told by us.
    pub fn told(&self, sheet: &mut Sheet) -> Option<String> {
        let text = sheet.text(&self.shape.common.join("config"), &self.shape.common).ok().flatten()?;
        DRIVERS.iter().find_map(|driver| driver.program_in(&driver_in(&text, &driver.name())?))
    }

    /// Takes them out.
    pub fn take(&self, sheet: &mut Sheet) -> Result<(), Problem> {
        let common = &self.shape.common;
        sheet.edit(&common.join("config"), common, |text| Ok(text.map(without_strays)))?;
        let attributes = common.join("info/attributes");
        sheet.edit(&attributes, common, |text| Ok(text.map(|text| block::untorn(text, Marks::Hash, is_attribute_of_ours))))?;
        for file in ["config", "info/attributes", "info/exclude"] {
            take_block(sheet, &common.join(file), common)?;
        }
        for (name, _) in HOOKS {
            self.take_hook(sheet, name)?;
        }
        Ok(())
    }

    /// Tells git to overlook these, which lie in the working tree.
    pub fn overlook(&self, sheet: &mut Sheet, files: &[String]) -> Result<(), Problem> {
        let common = &self.shape.common;
        let lines: Vec<String> = files.iter().map(|file| format!("/{}", file.replace(' ', "\\ "))).collect();
        put_block(sheet, &self.exclude(), common, &lines.join("\n"))
    }

    /// Takes back what was overlooked.
    pub fn reveal(&self, sheet: &mut Sheet) -> Result<(), Problem> {
        take_block(sheet, &self.exclude(), &self.shape.common)
    }

    /// Whether git was told to overlook the memory.
    pub fn hides_memory(&self, sheet: &mut Sheet) -> bool {
        let text = sheet.text(&self.exclude(), &self.shape.common).ok().flatten().unwrap_or_default();
        let line = format!("/{}.twining/", self.prefix.replace(' ', "\\ "));
        block::is_there(&text, Marks::Hash) && text.lines().any(|there| there == line)
    }

    fn exclude(&self) -> PathBuf {
        self.shape.common.join("info/exclude")
    }

    /// What was told git before and is no longer so: each loses data in a merge or
    /// switches off a check.
    pub fn faults(&self, sheet: &mut Sheet, was_told: impl Fn(&Path) -> bool) -> Vec<String> {
        let common = &self.shape.common;
        let mut text = |file: &Path, within: &Path| sheet.text(file, within).ok().flatten().unwrap_or_default();
        let (settings, places) = (common.join("config"), common.join("info/attributes"));
        let config = text(&settings, common);
        let is_wrong = |driver: &&Driver| driver_in(&config, &driver.name()).and_then(|told| driver.program_in(&told)).is_none();
        let wrong: Vec<String> = DRIVERS.iter().filter(is_wrong).map(Driver::name).collect();
        let mut faults = Vec::new();
        if !wrong.is_empty() && was_told(&settings) {
            faults.push(format!("the merge driver of {} is gone or another", wrong.join(", ")));
        }
        let attributes = text(&places, common);
        let missing = self.attributes().lines().filter(|line| !attributes.lines().any(|there| there.trim_end() == *line)).count();
        if missing > 0 && was_told(&places) {
            faults.push(format!("{missing} lines of info/attributes are gone, so git merges those files line by line"));
        }
        for (name, lost) in [(HOOKS[0].0, "commits are not looked at"), (HOOKS[1].0, "commits are not linked with decisions")] {
            let hook = self.hooks().map(|(folder, within)| (folder.join(name), within));
            let Some((file, within)) = hook.filter(|(file, _)| was_told(file)) else { continue };
            let script = text(&file, &within);
            let has_ours = script.contains(&format!("hook --agent git {name}"));
            if file.is_symlink() || (file.exists() && !has_ours && (script.is_empty() || !starts(&file)) && !self.is_husky()) {
                // Never ours to change, and told as such.
                continue;
            }
            let program = program_of(&script, name);
            if !has_ours {
                faults.push(format!("{name} no longer asks twining, so {lost}"));
            } else if let Some(program) = program.filter(|program| !can_start(program)) {
                faults.push(format!("{name} starts `{program}`, which is gone, so {lost}"));
            } else if !self.is_husky() && !starts(&file) {
                faults.push(format!("{name} is not executable, so git never starts it and {lost}"));
            }
        }
        faults
    }

    /// Husky hands its files to a shell, whether they can be started or not.
    fn is_husky(&self) -> bool {
        self.shape.hooks.ends_with(HUSKY)
    }

    fn attributes(&self) -> String {
        let line = |pattern: &str, driver: &str| format!("{} merge={driver} -text", quoted(&format!("/{pattern}")));
        let ours =
            DRIVERS.iter().flat_map(|driver| driver.files.iter().map(move |file| line(&format!("{}{file}", self.prefix), &driver.name())));
        let elsewhere = self.knowledge.iter().map(|path| line(&format!("{}{path}", self.prefix), "twining-knowledge"));
        ours.chain(elsewhere).collect::<Vec<_>>().join("\n")
    }

    /// The folder for hooks, if it is this repository's.
    fn hooks(&self) -> Option<(PathBuf, PathBuf)> {
        let Shape { top, common, hooks } = &self.shape;
        if let Some(husky) = hooks.ends_with(HUSKY).then(|| hooks.parent()).flatten() {
            return Some((husky.to_owned(), top.clone()));
        }
        [common, top].into_iter().find(|folder| hooks.starts_with(folder)).map(|folder| (hooks.clone(), folder.clone()))
    }

    /// Whether hooks would be seen by others.
    pub fn hooks_are_tracked(&self) -> bool {
        self.hooks().is_some_and(|(hooks, _)| !hooks.starts_with(&self.shape.common))
    }

    fn put_hook(&self, sheet: &mut Sheet, name: &str, refused: &str) -> Result<(), Problem> {
        let call = format!("{NAME} hook --agent git {name}");
        let Some((folder, within)) = self.hooks() else {
            let there = std::fs::read_to_string(self.shape.hooks.join(name)).unwrap_or_default();
            if there.contains(&format!("hook --agent git {name}")) {
                return Ok(());
            }
            sheet.note(format!(
                "core.hooksPath leads to `{}`, which other repositories use too; add `{call}` to its {name} yourself",
                self.shape.hooks.display()
            ));
            return Ok(());
        };
        let file = folder.join(name);
        if file.is_symlink() {
            sheet.note(format!("`{}` is a link; add `{call}` to what it leads to yourself", sheet.shown(&file)));
            return Ok(());
        }
        // One with our block could be started when that was put in.
        let had_ours = matches!(sheet.text(&file, &within), Ok(Some(script)) if block::is_there(&script, Marks::Hash));
        if file.exists() && !starts(&file) && !had_ours && !self.is_husky() {
            // To make it start would wake whatever else stands in it.
            sheet.note(format!("`{}` is not executable, so git never starts it; it was left as it is", sheet.shown(&file)));
            return Ok(());
        }
        let (there, started) = if self.hooks_are_tracked() {
            ("command -v twining >/dev/null 2>&1".to_owned(), call.clone())
        } else {
            let program = for_shell(&self.program);
            (format!("[ -x {program} ]"), call.replacen(NAME, &program, 1))
        };
        let body = format!("if {there}; then\n  {started} </dev/null || {refused}\nfi");
        let Ok(there) = sheet.text(&file, &within) else {
            sheet.note(format!("`{}` is no text, so it was left as it is; have it start `{call}` yourself", sheet.shown(&file)));
            return Ok(());
        };
        let torn = |torn: block::Torn| unfit(&file.display().to_string(), &torn.to_string());
        let text = match there.as_deref() {
            None => block::put("#!/bin/sh\n", Marks::Hash, Spot::Second, &body).map_err(torn)?,
            Some(script) if is_shell(script) || self.is_husky() => block::put(script, Marks::Hash, Spot::Second, &body).map_err(torn)?,
            Some(program) => {
                sheet.edit_program(&chained(&file), &within, Some(program.to_owned()))?;
                let ours = block::put("#!/bin/sh\n", Marks::Hash, Spot::Second, &body).map_err(torn)?;
                format!("{ours}exec \"$(dirname \"$0\")/{name}.{CHAINED}\" \"$@\"\n")
            }
        };
        if self.is_husky() {
            return sheet.edit(&file, &within, |_| Ok(Some(text)));
        }
        sheet.edit_program(&file, &within, Some(text))
    }

    fn take_hook(&self, sheet: &mut Sheet, name: &str) -> Result<(), Problem> {
        let Some((folder, within)) = self.hooks() else { return Ok(()) };
        let file = folder.join(name);
        if file.is_symlink() {
            return Ok(());
        }
        let Ok(Some(script)) = sheet.text(&file, &within) else { return Ok(()) };
        if !block::is_there(&script, Marks::Hash) {
            return Ok(());
        }
        let theirs = sheet.text(&chained(&file), &within)?;
        let rest = match theirs {
            Some(theirs) => Some(theirs),
            None => block::take(&script, Marks::Hash)
                .map_err(|torn| unfit(&file.display().to_string(), &torn.to_string()))?
                .filter(|rest| rest.trim() != "#!/bin/sh"),
        };
        sheet.edit(&file, &within, |_| Ok(rest))?;
        if chained(&file).exists() {
            sheet.edit_program(&chained(&file), &within, None)?;
        }
        Ok(())
    }
}

/// The program that a script starts for a hook of ours, as far as it can be told.
fn program_of(script: &str, name: &str) -> Option<String> {
    let call = format!(" hook --agent git {name}");
    let line = script.lines().map(str::trim).find(|line| line.contains(&call) && !line.starts_with('#'))?;
    from_shell(line.split_once(&call)?.0.trim())
}

/// Whether there is a program behind a word of a script.
fn can_start(word: &str) -> bool {
    if word.contains('/') { Path::new(word).is_file() && starts(Path::new(word)) } else { on_path(word).is_some() }
}

/// Whether the system would start a file.
fn starts(file: &Path) -> bool {
    std::fs::metadata(file).is_ok_and(|found| found.permissions().mode() & 0o111 != 0)
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
pub fn has_driver(config: &str) -> bool {
    config.lines().filter_map(opened).any(is_section_of_ours)
}

/// The command of a driver that counts: of several, git takes the last.
fn driver_in(config: &str, name: &str) -> Option<String> {
    let (mut inside, mut told) = (false, None);
    for line in config.lines() {
        if let Some(section) = opened(line) {
            inside = section.starts_with(&format!("merge \"{name}\"]"));
        } else if let Some((key, value)) = line.split_once('=')
            && inside
            && key.trim().eq_ignore_ascii_case("driver")
        {
            told = Some(from_config(value.trim()));
        }
    }
    told
}

/// Settings without sections of our name outside of our block, and without half a
/// block: both are what git's own commands leave of it.
fn without_strays(config: &str) -> String {
    match block::around(config, Marks::Hash) {
        Some((before, block, behind)) => format!("{}{block}{}", without_ours(before), without_ours(behind)),
        None => without_ours(&block::untorn(config, Marks::Hash, |_| false)),
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

fn chained(hook: &Path) -> PathBuf {
    let name = hook.file_name().unwrap_or_default().to_string_lossy();
    hook.with_file_name(format!("{name}.{CHAINED}"))
}

/// A script that reads our block as it is meant. Without a first line git hands
/// it to a shell.
fn is_shell(script: &str) -> bool {
    let first = script.lines().next().unwrap_or_default();
    let Some(program) = first.strip_prefix("#!") else { return !script.starts_with('\u{7f}') };
    let words: Vec<&str> = program.split_whitespace().filter_map(|word| word.rsplit('/').next()).collect();
    words.iter().any(|word| ["sh", "bash", "dash", "zsh", "ksh", "busybox"].contains(word))
}

fn drivers(program: &str) -> String {
    let section = |driver: &Driver| {
        let command = for_config(&driver.command(program));
        format!("[merge \"{}\"]\n\tname = \"{}\"\n\tdriver = {command}", driver.name(), driver.about)
    };
    DRIVERS.iter().map(section).collect::<Vec<_>>().join("\n")
}

/// A value as git's settings take it.
fn for_config(value: &str) -> String {
    let plain = !value.contains(['"', '\\', '#', ';', '\'']);
    if plain { value.to_owned() } else { format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"")) }
}

/// The value behind [`for_config`].
fn from_config(value: &str) -> String {
    match value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(quoted) => quoted.replace("\\\"", "\"").replace("\\\\", "\\"),
        None => value.to_owned(),
    }
}

/// A pattern as git's attributes take it: one with spaces stands in quotes.
fn quoted(pattern: &str) -> String {
    let plain = !pattern.contains([' ', '"', '\\']) && !pattern.chars().any(char::is_control);
    if plain { pattern.to_owned() } else { format!("\"{}\"", pattern.replace('\\', "\\\\").replace('"', "\\\"")) }
}

fn put_block(sheet: &mut Sheet, file: &Path, within: &Path, body: &str) -> Result<(), Problem> {
    let shown = sheet.shown(file);
    sheet.edit(file, within, |text| {
        block::put(text.unwrap_or_default(), Marks::Hash, Spot::Last, body).map(Some).map_err(|torn| unfit(&shown, &torn.to_string()))
    })
}

fn take_block(sheet: &mut Sheet, file: &Path, within: &Path) -> Result<(), Problem> {
    let shown = sheet.shown(file);
    sheet.edit(file, within, |text| match text {
        Some(text) => block::take_with_line(text, Marks::Hash).map_err(|torn| unfit(&shown, &torn.to_string())),
        None => Ok(None),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_with_a_space_is_still_one_pattern() {
        assert_eq!(quoted("my app/.twining/x.json"), "\"my app/.twining/x.json\"");
        assert_eq!(quoted(".twining/*.json"), ".twining/*.json");
    }

    #[test]
    fn sections_that_git_moved_out_of_the_block_go() {
        let whole = format!("[core]\n\tbare = false\n\n# >>> twining >>> x\n{}\n# <<< twining <<<\n", drivers("/usr/bin/twining"));
        assert_eq!(without_strays(&whole), whole);
        let moved = format!("{whole}[merge \"twining-lines\"]\n\tdriver = true\n[user]\n\tname = x\n");
        assert_eq!(driver_in(&moved, "twining-lines").as_deref(), Some("true"), "git takes the last");
        assert_eq!(without_strays(&moved), format!("{whole}[user]\n\tname = x\n"));
        let torn = whole.replace("# <<< twining <<<\n", "");
        assert_eq!(without_strays(&torn), "[core]\n\tbare = false\n\n");
    }

    #[test]
    fn a_value_comes_back_from_gits_settings_as_it_was() {
        for value in ["twining x", "'/a b/twining' x", "'/a\"b\\c;#/twining' x", "'/o'\\''brien/x'"] {
            assert_eq!(from_config(&for_config(value)), value);
        }
    }

    #[test]
    fn what_a_shell_reads_is_told_from_what_it_does_not() {
        for shell in ["#!/bin/sh\n", "#!/usr/bin/env bash\nset -e\n", "#! /bin/dash -e\n", "make lint\n"] {
            assert!(is_shell(shell), "{shell}");
        }
        for other in ["#!/usr/bin/env python3\n", "#!/usr/bin/node\n", "\u{7f}ELF"] {
            assert!(!is_shell(other), "{other}");
        }
    }
}
