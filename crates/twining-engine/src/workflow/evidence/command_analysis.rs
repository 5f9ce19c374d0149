//! A command line as evidence sees it: whether it runs anything, where, and which
//! tests it selects. There is no table of test runners: what printed a summary of
//! tests ran tests, unless the line only prints or looks.

use std::path::Path;

use crate::workflow::evidence::run_log::{TestSelection, is_one_of};
use twining_guard::effects::shell::simple_commands;
use twining_guard::{inside, normal};

/// Programs that print what they are given, look at what is there, or change the shell.
const LOOKS: &str = "echo printf cat bat head tail less more grep egrep fgrep rg ag sed awk gawk jq yq ls tree wc sort uniq cut tr \
    column tac nl tee diff find stat file pwd true false : test [ sleep date whoami export set unset wait gh journalctl twining \
    cd pushd popd source .";
/// What `git`, `docker` and their like look at.
const LOOKING_VERBS: &str = "log logs show diff status blame grep branch inspect ps";
/// Programs that run a command on another system, where paths mean something else.
const REMOTE: &str = "docker docker-compose podman nerdctl kubectl ssh vagrant wsl";
/// Options that send a program to another folder.
const FOLDER_OPTIONS: &str =
    "-C --prefix --manifest-path --cwd --dir --rootdir --project-directory";
/// Options with an expression over the names of tests.
const FILTER_OPTIONS: &str = "-k -t -g -E -run --run --grep --fgrep --test --tests --testNamePattern --test-name-pattern \
    --testPathPattern -Dtest --only-testing --match";
/// Shells, whose first argument is a script and no test.
const SHELLS: &str = "bash sh zsh dash";

/// What is known of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TestCommand {
    /// Whether every command of it only prints or looks.
    pub(crate) is_read_only: bool,
    /// The folder it ran in, where that is outside the project.
    pub(crate) elsewhere: Option<String>,
    /// Which tests it selects.
    pub(crate) selection: TestSelection,
    /// Whether its exit code is that of its tests: one program, and nothing behind it.
    pub(crate) has_exit_code: bool,
}

impl TestCommand {
    /// Parses a command line started in `cwd`, a folder of the project; `cwd` is `None` if
    /// elsewhere. `is_there` returns whether a project path exists.
    pub(crate) fn read(
        line: &str,
        checkout: &Path,
        cwd: Option<&str>,
        is_there: &dyn Fn(&str) -> bool,
    ) -> Self {
        let root = checkout.display().to_string();
        let commands = simple_commands(line);
        if commands.is_empty() {
            // What cannot be read, or is not known, is taken for what its output says.
            return Self::default();
        }
        let mut here = cwd.map(|cwd| normal(&root, cwd));
        let began_outside = cwd.is_none();
        let (mut programs, mut outside, mut last_is_read_only) = (0, Vec::new(), true);
        let mut selection = TestSelection::default();
        for words in &commands {
            let Some(program) = words.first().map(|word| word.rsplit('/').next().unwrap_or(word))
            else {
                continue;
            };
            last_is_read_only = is_read_only_command(program, words);
            if matches!(program, "cd" | "pushd") {
                let base = here.as_deref().or_else(|| words.get(1)?.starts_with('/').then_some(""));
                here = words
                    .get(1)
                    .filter(|folder| is_plain(folder))
                    .and_then(|folder| Some(normal(base?, folder)));
            }
            if last_is_read_only {
                continue;
            }
            programs += 1;
            let arguments =
                CommandArguments { root: &root, here: here.as_deref(), program, words, is_there };
            outside.extend(arguments.folder_outside());
            arguments.select(&mut selection);
        }
        let folder = if began_outside && here.is_none() {
            Some("another folder".to_owned())
        } else {
            outside.first().cloned()
        };
        Self {
            is_read_only: programs == 0,
            elsewhere: folder
                .filter(|_| programs > 0 && (began_outside || outside.len() == programs)),
            selection,
            has_exit_code: programs == 1 && !last_is_read_only && !has_separator(line),
        }
    }
}

fn is_read_only_command(program: &str, words: &[String]) -> bool {
    let mut verbs = words.iter().skip(1).filter(|word| !word.starts_with('-'));
    let runs_more = || words.iter().any(|word| word.starts_with("-exec"));
    let has_verbs = program == "git" || is_one_of(REMOTE, program);
    (is_one_of(LOOKS, program) && !runs_more())
        || (has_verbs && verbs.next().is_some_and(|verb| is_one_of(LOOKING_VERBS, verb)))
}

/// Whether something may follow the tests, or replace their exit code.
fn has_separator(line: &str) -> bool {
    let unquoted: String = line.trim().split(['\'', '"']).step_by(2).collect();
    ["&&", ">&", "&>"]
        .iter()
        .fold(unquoted, |line, joint| line.replace(joint, " "))
        .contains([';', '|', '&', '\n'])
}

/// A word that means one path wherever it is read.
fn is_plain(word: &str) -> bool {
    !word.is_empty() && !word.starts_with(['-', '~']) && !word.contains(['$', '`', '*', '?', '…'])
}

/// A command that runs something, and the folder it runs in.
struct CommandArguments<'a> {
    root: &'a str,
    here: Option<&'a str>,
    program: &'a str,
    words: &'a [String],
    is_there: &'a dyn Fn(&str) -> bool,
}

impl CommandArguments<'_> {
    /// The folder it runs in, where that is outside the project for certain.
    fn folder_outside(&self) -> Option<String> {
        let is_outside = |path: &String| inside(self.root, path).starts_with('/');
        let here = self.here?.to_owned();
        if is_one_of(REMOTE, self.program) {
            return Some(here).filter(is_outside);
        }
        let sent = self.options(FOLDER_OPTIONS).map(|(_, folder)| folder);
        let tests = self
            .words
            .iter()
            .skip(1)
            .filter(|word| word.starts_with(['/', '.']) && is_test_file(word))
            .cloned();
        let named = sent.chain(tests).find(|path| is_plain(path)).map(|path| normal(&here, &path));
        Some(named.unwrap_or(here)).filter(is_outside)
    }

    /// Options of these names with their values, as `--name value` or `--name=value`.
    fn options(&self, names: &str) -> impl Iterator<Item = (usize, String)> {
        let found = self.words.iter().enumerate().skip(1).filter_map(|(at, word)| {
            let (name, value) = word
                .split_once('=')
                .map_or((word.as_str(), None), |(name, value)| (name, Some(value.to_owned())));
            let value = || {
                value.or_else(|| {
                    self.words.get(at + 1).filter(|value| !value.starts_with('-')).cloned()
                })
            };
            is_one_of(names, name).then(value).flatten().map(|value| (at, value))
        });
        found.collect::<Vec<_>>().into_iter()
    }

    fn select(&self, selection: &mut TestSelection) {
        if is_one_of(REMOTE, self.program) {
            return;
        }
        let filters: Vec<(usize, String)> = self.options(FILTER_OPTIONS).collect();
        // `python -m pytest -m slow`: the first is a module, the second marks tests.
        let runner =
            self.words.iter().position(|word| word.ends_with("pytest")).unwrap_or(usize::MAX);
        let marks = self.options("-m").filter(|(at, _)| *at > runner);
        let packages = self.options("-p --package").filter(|_| self.program == "cargo");
        let values: Vec<usize> = filters.iter().map(|(at, _)| at + 1).collect();
        selection
            .filters
            .extend(filters.into_iter().chain(marks).chain(packages).map(|(_, filter)| filter));
        let verb = self
            .words
            .iter()
            .position(|word| matches!(word.as_str(), "test" | "t" | "run"))
            .filter(|_| self.program == "cargo");
        let follows_no_option = |at: usize| {
            self.words.get(at - 1).is_some_and(|before| before == "--" || !before.starts_with('-'))
        };
        for (at, word) in
            self.words.iter().enumerate().skip(if is_one_of(SHELLS, self.program) { 2 } else { 1 })
        {
            if word.starts_with('-') || values.contains(&at) || !is_plain(word) {
                continue;
            }
            let (path, name) = word
                .split_once("::")
                .map_or((word.as_str(), None), |(path, name)| (path, Some(name)));
            let path = inside(self.root, &normal(self.here.unwrap_or(self.root), path));
            let is_folder = name.is_none()
                && word.trim_end_matches('/').contains('/')
                && !word.ends_with("...")
                && !is_file(word);
            if !path.is_empty() && (is_test_file(&path) || is_folder && (self.is_there)(&path)) {
                selection.paths.push(match name {
                    Some(name) => format!("{path}::{name}"),
                    None if is_folder => format!("{path}/"),
                    None => path,
                });
            } else if name.is_some() || verb.is_some_and(|verb| at > verb && follows_no_option(at))
            {
                selection.filters.push(word.clone());
            }
        }
    }
}

fn is_file(word: &str) -> bool {
    word.rsplit('/').next().is_some_and(|name| name.trim_start_matches('.').contains('.'))
}

/// A file by whose name one knows that tests are in it.
fn is_test_file(path: &str) -> bool {
    let path = path.split("::").next().unwrap_or(path);
    let name = path.rsplit('/').next().unwrap_or_default().to_lowercase();
    is_file(&name) && (name.contains("test") || name.contains("spec") || path.contains("test"))
}

#[cfg(test)]
mod tests;
