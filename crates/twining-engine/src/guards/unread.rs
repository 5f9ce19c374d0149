//! What holds while the project's policy cannot be read: its guards are not known,
//! so nothing is changed but the policy, and a person is asked about commands.
//!
//! Nobody is locked in: the policy itself may be edited, and whatever only looks is
//! let through, be it a tool or a command.

use twining_store::PolicyFile;

use crate::governance::policy::{Mistake, PROJECT_FILE};
use crate::guards::change::{Proposal, Touched};
use crate::guards::rule::{Guard, Kind, Level, Said};
use crate::guards::shell::Word;
use crate::guards::{builtin, reader};

/// The guard that speaks to changes.
pub(crate) const CHANGES: &str = "policy-is-read";
/// The guard that speaks to commands.
pub(crate) const COMMANDS: &str = "policy-is-read-for-commands";

/// Where the policy is, also seen from a linked worktree.
const POLICY: [&str; 3] = [".twining/policy.yml", "**/.twining/policy.yml", "/**/.twining/policy.yml"];

/// Programs that look and change nothing, whatever they are told.
const LOOKS: [&str; 20] = [
    "cat", "head", "tail", "nl", "ls", "pwd", "grep", "egrep", "fgrep", "wc", "stat", "diff", "cmp", "cut", "tr", "echo", "printf", "true",
    "cd", "jq",
];
/// What git tells without changing anything.
const GIT_LOOKS: [&str; 7] = ["status", "diff", "log", "show", "blame", "ls-files", "rev-parse"];
/// What Twining tells: above all what is wrong with the policy.
const TWINING_LOOKS: [&[&str]; 5] = [&["guard", "list"], &["guard", "test"], &["doctor"], &["status"], &["why"]];

/// Why the guards of a project's policy cannot be read, if they cannot.
pub(crate) fn mistake(file: &PolicyFile) -> Option<Mistake> {
    match file {
        PolicyFile::Missing => None,
        PolicyFile::Unusable(why) => Some(Mistake::whole(PROJECT_FILE, why)),
        PolicyFile::Text(text) => reader::read(text, PROJECT_FILE, &mut Vec::new()).unread,
    }
}

/// The two guards, which say where the policy is broken and how to go on.
pub(crate) fn guards(mistake: &Mistake) -> [Guard; 2] {
    let say = format!("the project's policy cannot be read ({mistake}), so nobody knows which guards hold");
    let next_step = format!(
        "put line {} of {} right: editing that file and reading are let through; `twining guard list` shows what is wrong with it",
        mistake.line, mistake.file
    );
    let mut changes = builtin::guard(CHANGES, Kind::Declared, &["**"], Level::Block, &say, &next_step);
    changes.except = builtin::paths(&POLICY);
    let mut commands = builtin::guard(COMMANDS, Kind::Declared, &[], Level::Ask, &say, &next_step);
    commands.tools = vec!["Bash".to_owned()];
    [changes, commands]
}

/// What the guard of commands says: nothing to those that only look.
pub(crate) fn of_commands(guard: &Guard, touched: &Touched) -> Said {
    let writes = touched.writes.iter().any(Proposal::changes);
    let odd = touched.runs.iter().map(|run| run.iter().map(Word::gist).collect::<Vec<_>>()).find(|run| !only_looks(run));
    match odd {
        Some(run) => {
            Said { level: guard.action, why: format!("`{}` may change something", twining_model::text::excerpt(&run.join(" "), 80)) }
        }
        None if writes => Said { level: guard.action, why: "it writes".to_owned() },
        None => Said::nothing("it only looks"),
    }
}

fn only_looks(run: &[String]) -> bool {
    let Some((program, rest)) = run.split_first() else { return true };
    let plain: Vec<&str> = rest.iter().map(String::as_str).collect();
    match program.as_str() {
        // An option in front may name another program to start.
        "git" => {
            let is_plain = |word: &&str| !(word.starts_with("--out") || word.starts_with("--ext"));
            plain.first().is_some_and(|verb| GIT_LOOKS.contains(verb)) && plain.iter().all(is_plain)
        }
        "twining" => TWINING_LOOKS.iter().any(|verb| plain.starts_with(verb)) && !plain.contains(&"--fix"),
        name => LOOKS.contains(&name),
    }
}
