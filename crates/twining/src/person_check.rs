//! Whether a person gives a command: somebody at a terminal that is not an agent's,
//! who types the name of what is to happen. Any window, at any time.
//!
//! This keeps an honest agent from answering in a person's stead. It is no proof: a
//! process of the same user can open a terminal. Who approved something for a team
//! is shown by signed commits and code owners.

use std::ffi::OsString;
use std::io::{BufRead, IsTerminal, Read, Write};

use twining_engine::Caller;
use twining_model::{Channel, Origin, Trust, text};
use twining_store::git::Git;

use crate::render::command_error::CommandError;

/// Variables that hosts set in the shells of their agents.
const AGENT_VARIABLES: [&str; 8] = [
    "CLAUDECODE",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_THREAD_ID",
    "GEMINI_CLI",
    "CURSOR_AGENT",
    "OPENCODE",
    "COPILOT_AGENT",
];
/// Longest answer that is read.
const ANSWER_BYTES: u64 = 4096;

/// Makes sure that a person asks for this, who types `name` to confirm it.
pub(crate) fn confirm(what: &str, name: &str) -> Result<Caller, CommandError> {
    let is_terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if let Some(refused) = refusal(is_terminal) {
        return Err(refused);
    }
    let typed = ask(&format!("{}\nType {} to go on", text::visible(what), text::visible(name)))?;
    if typed != name {
        return Err(CommandError::unavailable(
            "NEEDS_PERSON",
            "nothing was changed: the typed text did not match",
        ));
    }
    let here = std::env::current_dir().ok();
    Ok(signed(here.and_then(|here| Git::at(&here).user_name()), Trust::Human))
}

/// A person at the command line under their name, else under the name they are logged in with.
pub(crate) fn signed(name: Option<String>, trust: Trust) -> Caller {
    let login =
        || ["USER", "LOGNAME", "USERNAME"].iter().find_map(|variable| std::env::var(variable).ok());
    let name = name.or_else(login).filter(|name| !name.trim().is_empty());
    let agent = name.map_or_else(|| "person".to_owned(), |name| text::excerpt(name.trim(), 80));
    Caller { agent, origin: Origin::new(Channel::Cli, trust) }
}

/// Why this shell is an agent's; nothing if it is not.
pub(crate) fn agent_shell() -> Option<String> {
    agent_shell_in(|name| std::env::var_os(name))
}

/// Whether somebody is there to be asked: at a terminal that is not an agent's.
pub(crate) fn is_person_here() -> bool {
    let is_terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    not_a_person(is_terminal, |name| std::env::var_os(name)).is_none()
}

/// Why nobody here can do what only a person can; nothing if somebody can.
pub(crate) fn refusal(is_terminal: bool) -> Option<CommandError> {
    let why = not_a_person(is_terminal, |name| std::env::var_os(name))?;
    Some(required(&format!("only a person can do this, and {why}")))
}

/// Asks for one line of text.
pub(crate) fn ask(question: &str) -> Result<String, CommandError> {
    let mut err = std::io::stderr().lock();
    write!(err, "{question}: ")
        .and_then(|()| err.flush())
        .map_err(|error| CommandError::of_error("OUTPUT", &error))?;
    let mut typed = String::new();
    let read = std::io::stdin().lock().take(ANSWER_BYTES).read_line(&mut typed);
    read.map_err(|error| CommandError::of_error("INPUT", &error))?;
    Ok(typed.trim().to_owned())
}

/// The refusal of what only a person can do.
pub(crate) fn required(why: &str) -> CommandError {
    CommandError::unavailable("NEEDS_PERSON", why)
        .with_hint("a person must run this command in their own terminal window")
}

fn agent_shell_in(variable: impl Fn(&str) -> Option<OsString>) -> Option<String> {
    let set = AGENT_VARIABLES
        .into_iter()
        .find(|name| variable(name).is_some_and(|value| !value.is_empty()))?;
    Some(format!("this shell belongs to an agent ({set} is set)"))
}

fn not_a_person(is_terminal: bool, variable: impl Fn(&str) -> Option<OsString>) -> Option<String> {
    if is_terminal { agent_shell_in(variable) } else { Some("this is not a terminal".to_owned()) }
}

#[cfg(test)]
mod tests {
    use crate::person_check::*;

    #[test]
    fn an_agents_shell_with_a_terminal_has_no_person_at_it() {
        let nothing = |_: &str| None;
        assert_eq!(not_a_person(true, nothing), None);
        assert!(not_a_person(false, nothing).is_some());
        let host = |name: &str| (name == "CLAUDECODE").then(|| OsString::from("1"));
        assert!(not_a_person(true, host).is_some_and(|why| why.contains("CLAUDECODE")));
    }

    #[test]
    fn settings_of_codex_in_a_persons_shell_make_no_agent_of_them() {
        let home = |name: &str| (name == "CODEX_HOME").then(|| OsString::from("/home/ada/.codex"));
        assert_eq!(not_a_person(true, home), None);
    }
}
