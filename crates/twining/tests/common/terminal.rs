//! A terminal, with somebody at it.

use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::{Project, Ran};

/// What hosts set in the shells of their agents.
const MARKERS: [&str; 8] = [
    "CLAUDECODE",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_THREAD_ID",
    "GEMINI_CLI",
    "CURSOR_AGENT",
    "OPENCODE",
    "COPILOT_AGENT",
];

/// A terminal that is open.
pub(crate) struct Terminal {
    keys: fs::File,
    /// The file that programs read from and write to.
    pub name: String,
    // Keeps the terminal open: reading after the last program closed it would return nothing.
    open: fs::File,
}

impl Terminal {
    pub(crate) fn open() -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("opens a terminal");
        grantpt(&master).and_then(|()| unlockpt(&master)).expect("grants");
        let name =
            ptsname(&master, Vec::new()).expect("has a name").into_string().expect("is text");
        let open = other_end(&name);
        Self { keys: fs::File::from(master), name, open }
    }

    /// The other end, for a program to read from or write to.
    pub(crate) fn end(&self) -> Stdio {
        Stdio::from(other_end(&self.name))
    }

    /// The near end: what programs show is read from it, keys are written to it.
    pub(crate) fn near_end(&self) -> fs::File {
        self.keys.try_clone().expect("is open")
    }

    pub(crate) fn types(&mut self, line: &str) {
        self.keys.write_all(format!("{line}\n").as_bytes()).expect("types");
    }

    /// Seats somebody at it: what a command asks and says goes here.
    pub(crate) fn seat<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        let end = || Stdio::from(other_end(&self.name));
        command.stdin(end()).stderr(end())
    }

    /// Returns the screen contents, including typed input. Reads up to a mark: program output may
    /// arrive in pieces.
    pub(crate) fn shows(&mut self) -> String {
        const MARK: u8 = 1;
        self.open.write_all(&[MARK]).expect("writes");
        let (mut seen, mut piece) = (Vec::new(), [0; 4096]);
        while !seen.contains(&MARK) {
            let read = self.keys.read(&mut piece).expect("shows");
            seen.extend_from_slice(&piece[..read]);
        }
        seen.retain(|byte| *byte != MARK);
        String::from_utf8_lossy(&seen).into_owned()
    }
}

/// Runs at a terminal of its own, with these lines typed.
pub(crate) fn at_terminal(
    project: &Project,
    words: &[&str],
    typed: &str,
    host: Option<&str>,
) -> Ran {
    typed_at_terminal(command_in_shell(project, words, host), typed)
}

/// A command in a person's shell, or in that of an agent of this host.
pub(crate) fn command_in_shell(project: &Project, words: &[&str], host: Option<&str>) -> Command {
    let mut command = project.command(words);
    for marker in MARKERS {
        command.env_remove(marker);
    }
    if let Some(host) = host {
        command.env(host, "1");
    }
    command
}

/// Runs a command at a terminal, where somebody types this.
pub(crate) fn typed_at_terminal(mut command: Command, typed: &str) -> Ran {
    let mut terminal = Terminal::open();
    command.stdin(terminal.end()).stderr(terminal.end()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("starts");
    terminal.types(typed);
    let mut stdout = String::new();
    child.stdout.take().expect("a pipe").read_to_string(&mut stdout).expect("prints UTF-8");
    let code = child.wait().expect("ends").code().unwrap_or(-1);
    Ran { code, stdout, stderr: terminal.shows() }
}

fn other_end(name: &str) -> fs::File {
    fs::File::options().read(true).write(true).open(name).expect("opens its other end")
}
