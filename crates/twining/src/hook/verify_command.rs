//! Runs the command a guard verifies by. Only texts that a person allowed reach
//! this file.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use std::os::unix::process::CommandExt;

use rustix::process::{Pid, Signal, kill_process_group};

/// How long a command may take: the host waits for five seconds in all.
const TIMEOUT: Duration = Duration::from_secs(3);

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandVerdict {
    /// It says that all is well.
    Passed,
    /// It says that it is not.
    Failed(String),
    /// It says nothing.
    Unknown(String),
}

/// Runs it in the working tree.
pub fn run(command: &str, checkout: &Path) -> CommandVerdict {
    let child = Command::new("sh")
        .args(["-c", command])
        .current_dir(checkout)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // A group of its own: what it starts ends with it.
        .process_group(0)
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => return CommandVerdict::Unknown(format!("its command cannot be started: {error}")),
    };
    let started = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return CommandVerdict::Passed,
            Ok(Some(status)) => {
                return CommandVerdict::Failed(
                    status.code().map_or_else(|| "it was killed".to_owned(), |code| format!("it ended with {code}")),
                );
            }
            Ok(None) if started.elapsed() < TIMEOUT => {
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(50));
            }
            Ok(None) => {
                let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
                let _ = group.map(|group| kill_process_group(group, Signal::KILL));
                let _ = child.wait();
                return CommandVerdict::Unknown(format!("its command took longer than {} seconds", TIMEOUT.as_secs()));
            }
            Err(error) => return CommandVerdict::Unknown(format!("its command cannot be waited for: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_says_yes_no_or_nothing() {
        let here = Path::new(".");
        assert_eq!(run("true", here), CommandVerdict::Passed);
        assert_eq!(run("exit 3", here), CommandVerdict::Failed("it ended with 3".to_owned()));
        assert!(matches!(run("sleep 60 & wait", here), CommandVerdict::Unknown(_)));
    }
}
