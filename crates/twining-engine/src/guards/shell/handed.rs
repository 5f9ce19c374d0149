//! Lines that are handed to a program as a setting, to be run by a shell later:
//! git's aliases and editors, `env -S`, variables such as `EDITOR`.

use crate::guards::shell::commands::{Doing, Surroundings};
use crate::guards::shell::{Effects, Unreadable, Word, tree};

/// Settings of git that name a command, by how they end.
const ENDS: [&str; 12] = [
    ".cmd",
    ".command",
    ".textconv",
    ".driver",
    ".clean",
    ".smudge",
    ".process",
    ".helper",
    ".program",
    ".uploadpack",
    ".receivepack",
    ".difffilter",
];
/// The same, whole.
const WHOLE: [&str; 6] = ["core.pager", "core.editor", "core.sshcommand", "core.fsmonitor", "diff.external", "sequence.editor"];

/// Variables whose value some program runs.
const VARIABLES: [&str; 13] = [
    "EDITOR",
    "VISUAL",
    "PAGER",
    "MANPAGER",
    "LESSOPEN",
    "PROMPT_COMMAND",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_PAGER",
    "GIT_SSH_COMMAND",
    "GIT_EXTERNAL_DIFF",
    "GIT_ASKPASS",
    "GIT_CONFIG_PARAMETERS",
];

/// Whether a program runs what a variable of this name holds.
pub(super) fn is_run(variable: &str) -> bool {
    VARIABLES.contains(&variable) || variable.starts_with("GIT_CONFIG_VALUE_")
}

/// Reads the value of such a variable as the line it is.
pub(super) fn in_variable(value: &Word, effects: &mut Effects, nested: usize) -> Result<(), Unreadable> {
    tree::read(value.gist().trim_start_matches(['!', '|']), effects, &[], nested + 1)
}

/// What `env -S` splits into words: the option's own value, or the word after it.
pub(super) fn split_by_env(words: &[Word]) -> Option<(Word, &[Word])> {
    let first = words.first()?;
    let gist = first.gist();
    let letters = gist.strip_prefix('-').filter(|letters| !letters.starts_with('-') && !letters.contains(char::is_whitespace));
    if gist == "--split-string" || letters.is_some_and(|letters| letters.ends_with('S')) {
        return Some((words.get(1)?.clone(), words.get(2..).unwrap_or_default()));
    }
    let joined = ["--split-string=", "-S", "-vS", "-iS", "-ivS"].iter().find_map(|option| first.after(option))?;
    Some((joined, words.get(1..).unwrap_or_default()))
}

/// Reads a line that gets further words at its end.
pub(super) fn with_more(line: &Word, more: &[Word], effects: &mut Effects, nested: usize) -> Result<(), Unreadable> {
    let whole = if more.is_empty() { line.gist() } else { format!("{} \"$@\"", line.gist()) };
    let given: Vec<Word> = std::iter::once(Word::default()).chain(more.iter().cloned()).collect();
    tree::read(&whole, effects, &given, nested + 1)
}

impl Doing<'_> {
    /// git, and the lines that its settings on this line have it run.
    pub(super) fn git_with_settings(mut self, around: &Surroundings<'_>, nested: usize) -> Result<(), Unreadable> {
        let settings: Vec<(String, Word)> = self.settings();
        let words: Vec<String> = self.arguments.iter().map(Word::gist).collect();
        self.git(around);
        for (key, value) in settings {
            let gist = value.gist();
            let name = key.strip_prefix("alias.");
            // What follows the alias is handed to what it stands for.
            let at = name.and_then(|name| words.iter().position(|word| word.eq_ignore_ascii_case(name)));
            let more = at.and_then(|at| self.arguments.get(at + 1..)).unwrap_or_default();
            let line = match (name, gist.strip_prefix('!')) {
                (_, Some(line)) => line.to_owned(),
                (Some(_), None) => format!("git {gist}"),
                // What `init` sets is how git calls us.
                (None, None) if gist.starts_with("twining ") => continue,
                (None, None) => gist,
            };
            with_more(&Word::text(&line), more, self.effects, nested)?;
        }
        Ok(())
    }

    /// The settings on the line that name commands: `-c key=value`, `config key value`.
    fn settings(&self) -> Vec<(String, Word)> {
        let mut found = Vec::new();
        let names_command = |key: &str| {
            key.starts_with("alias.") || key.starts_with("pager.") || WHOLE.contains(&key) || ENDS.iter().any(|end| key.ends_with(end))
        };
        for (at, word) in self.arguments.iter().enumerate() {
            let given = word.after("-c").filter(|given| !given.gist().is_empty()).unwrap_or_else(|| word.clone());
            let gist = given.gist();
            match gist.split_once('=') {
                Some((key, _)) if names_command(&key.to_lowercase()) => {
                    found.extend(given.after(&format!("{key}=")).map(|value| (key.to_lowercase(), value)));
                }
                None if names_command(&gist.to_lowercase()) => {
                    found.extend(self.arguments.get(at + 1).map(|value| (gist.to_lowercase(), value.clone())));
                }
                _ => {}
            }
        }
        found
    }
}
