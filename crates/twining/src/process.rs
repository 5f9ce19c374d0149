//! Programs that are tried: started with something on their stdin, and waited for no
//! longer than they deserve.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// How long anything that is tried may take.
pub(crate) const TRIAL_TIMEOUT: Duration = Duration::from_secs(10);
const STEP: Duration = Duration::from_millis(2);

/// The output of a program.
pub(crate) struct ProcessOutput {
    /// On stdout.
    pub out: String,
    /// On stderr.
    pub err: String,
}

/// Runs a program with this on its stdin, to its end.
pub(crate) fn run(command: &mut Command, input: &str) -> Result<ProcessOutput, String> {
    let mut child = start(command.stderr(Stdio::piped()), input)?;
    // On threads of their own: a program that says more than a pipe holds would otherwise
    // wait for us while we wait for it.
    let (out, err) = (child.stdout.take().map(text_of), child.stderr.take().map(text_of));
    drop(child.stdin.take());
    match wait_or_kill(&mut child, TRIAL_TIMEOUT) {
        Ok(Some(_)) => {
            let [out, err] = [out, err].map(|text| text.and_then(|text| text.join().ok()));
            Ok(ProcessOutput { out: out.unwrap_or_default(), err: err.unwrap_or_default() })
        }
        Ok(None) => Err("it does not answer".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// The first line that is `wanted` of a program that serves as long as its stdin is open.
pub(crate) fn first_line(
    command: &mut Command,
    input: &str,
    wanted: impl Fn(&str) -> bool + Send + 'static,
) -> Result<String, String> {
    let mut child = start(command.stderr(Stdio::null()), input)?;
    let (found, line) = mpsc::channel();
    let out = child.stdout.take();
    std::thread::spawn(move || {
        let lines = out.map(|out| BufReader::new(out).lines().map_while(Result::ok));
        let line = lines.into_iter().flatten().find(|line| wanted(line));
        line.map(|line| found.send(line))
    });
    let line = line.recv_timeout(TRIAL_TIMEOUT).map_err(|_| "it does not answer".to_owned());
    let _ = child.kill();
    let _ = child.wait();
    line
}

fn start(command: &mut Command, input: &str) -> Result<Child, String> {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = piped.spawn().map_err(|error| error.to_string())?;
    if let Some(stdin) = &mut child.stdin {
        // One that does not read says so by its answer.
        let _ = stdin.write_all(input.as_bytes()).and_then(|()| stdin.flush());
    }
    Ok(child)
}

fn text_of(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What came before it broke counts.
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Waits for a program to end; where it takes too long, it is killed with all that it
/// started in a group of its own.
fn wait_or_kill(child: &mut Child, timeout: Duration) -> io::Result<Option<ExitStatus>> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if began.elapsed() > timeout {
            let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
            let _ = group.map(|group| kill_process_group(group, Signal::KILL));
            let _ = child.kill();
            let _ = child.wait();
            return Ok(None);
        }
        std::thread::sleep(STEP);
    }
}

/// How long a command may take: the host waits for five seconds in all.
const TIMEOUT: Duration = Duration::from_secs(3);

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CommandVerdict {
    /// It says that all is well.
    Passed,
    /// It says that it is not.
    Failed(String),
    /// It says nothing.
    Unknown(String),
}

/// Runs it in the working tree.
pub(crate) fn run_check(command: &str, checkout: &Path) -> CommandVerdict {
    let child = Command::new("sh")
        .args(["-c", command])
        .current_dir(checkout)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // A group of its own: what it starts ends with it.
        .process_group(0)
        .spawn();
    let ended = child.and_then(|mut child| wait_or_kill(&mut child, TIMEOUT));
    match ended {
        Ok(Some(status)) if status.success() => CommandVerdict::Passed,
        Ok(Some(status)) => CommandVerdict::Failed(status.code().map_or_else(
            || "it was killed".to_owned(),
            |code| format!("it exited with code {code}"),
        )),
        Ok(None) => CommandVerdict::Unknown(format!(
            "its command took longer than {} seconds",
            TIMEOUT.as_secs()
        )),
        Err(error) => CommandVerdict::Unknown(format!("its command cannot be run: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_says_yes_no_or_nothing() {
        let here = Path::new(".");
        assert_eq!(run_check("true", here), CommandVerdict::Passed);
        assert_eq!(
            run_check("exit 3", here),
            CommandVerdict::Failed("it exited with code 3".to_owned())
        );
        assert!(matches!(run_check("sleep 60 & wait", here), CommandVerdict::Unknown(_)));
    }
}
