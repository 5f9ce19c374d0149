//! Whether a person stands at the other end: the one who may lift a guard.
//!
//! A terminal alone does not make one: an agent's shell can be lent a terminal, and
//! a script can open one. So the shell must not be a host's, no host of this project
//! may have started it, and the name of what is lifted has to be typed; and before
//! all that, a guard keeps agents from giving the command.

use std::ffi::OsString;
use std::io::{BufRead, IsTerminal, Read, Write};

use twining_engine::Caller;
use twining_model::{Channel, Origin, Trust, text};

use crate::desk::Project;
use crate::hosts;
use crate::problem::Problem;

/// What hosts set in the shells of their agents.
const HOSTS: [&str; 8] = [
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
const MOST_BYTES: u64 = 1024;

/// Makes sure that a person asks for this, who types `name` to say yes.
pub fn confirmed(project: &Project, what: &str, name: &str) -> Result<Caller, Problem> {
    let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let why = not_a_person(terminal, |name| std::env::var_os(name)).or_else(|| hosts::opened_by_agent(project));
    if let Some(why) = why {
        return Err(needed(&format!("this is a person's to do, and {why}. What it would do: {what}")));
    }
    let mut err = std::io::stderr().lock();
    let asked = write!(err, "{}\nType {} to go on: ", text::visible(what), text::visible(name)).and_then(|()| err.flush());
    asked.map_err(|error| Problem::of_error("OUTPUT", &error))?;
    let mut typed = String::new();
    let read = std::io::stdin().lock().take(MOST_BYTES).read_line(&mut typed);
    read.map_err(|error| Problem::of_error("INPUT", &error))?;
    if typed.trim() != name {
        return Err(Problem::unavailable("NEEDS_PERSON", "nothing was changed: something else was typed"));
    }
    Ok(caller())
}

fn caller() -> Caller {
    let user = ["USER", "LOGNAME", "USERNAME"].iter().find_map(|name| std::env::var(name).ok()).filter(|name| !name.trim().is_empty());
    let agent = user.map_or_else(|| "person".to_owned(), |user| text::excerpt(&user, 80));
    Caller { agent, origin: Origin { client: None, session: None, via: Channel::Cli, trust: Trust::Human } }
}

/// What tells that an agent gives the command, at whatever terminal.
pub fn agents_hand(project: &Project) -> Option<String> {
    let host = host_of(|name| std::env::var_os(name)).map(|host| format!("this shell belongs to an agent ({host} is set)"));
    host.or_else(|| hosts::opened_by_agent(project))
}

/// The answer to somebody who is taken for no person.
pub fn needed(why: &str) -> Problem {
    Problem::unavailable("NEEDS_PERSON", why)
        .with_hint("a person types the command at a terminal of their own, one that was open before the session began, or after it ended")
}

fn host_of(variable: impl Fn(&str) -> Option<OsString>) -> Option<&'static str> {
    HOSTS.into_iter().find(|name| variable(name).is_some_and(|value| !value.is_empty()))
}

/// Why whoever asks is taken for no person.
fn not_a_person(terminal: bool, variable: impl Fn(&str) -> Option<OsString>) -> Option<String> {
    if !terminal {
        return Some("this is no terminal".to_owned());
    }
    let host = host_of(variable)?;
    Some(format!("this shell belongs to an agent ({host} is set)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_that_a_host_opened_has_no_person_at_it() {
        let nothing = |_: &str| None;
        assert_eq!(not_a_person(true, nothing), None);
        assert!(not_a_person(false, nothing).is_some());
        let host = |name: &str| (name == "CLAUDECODE").then(|| OsString::from("1"));
        assert!(not_a_person(true, host).is_some_and(|why| why.contains("CLAUDECODE")));
    }
}
