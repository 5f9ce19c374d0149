//! Programs that are tried: started with something on their stdin, and waited for no
//! longer than they deserve.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// How long anything that is tried may take.
pub(crate) const TRIAL_TIMEOUT: Duration = Duration::from_secs(10);
const STEP: Duration = Duration::from_millis(2);

/// What a program that was run said.
pub(crate) struct ProcessOutput {
    /// On stdout.
    pub out: String,
    /// On stderr.
    pub err: String,
}

/// Runs a program with this on its stdin, to its end.
pub(crate) fn run(command: &mut Command, input: &str) -> Result<ProcessOutput, String> {
    let mut running = RunningProcess::start(command, input)?;
    drop(running.input.take());
    running.wait(|_| false)
}

/// Runs a program that serves as long as its stdin is open, until it has said
/// `enough`.
pub(crate) fn run_until(
    command: &mut Command,
    input: &str,
    enough: impl Fn(&str) -> bool,
) -> Result<ProcessOutput, String> {
    RunningProcess::start(command, input)?.wait(enough)
}

struct RunningProcess {
    child: Child,
    input: Option<ChildStdin>,
    out: PipeReader,
    err: PipeReader,
}

impl RunningProcess {
    fn start(command: &mut Command, input: &str) -> Result<Self, String> {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().map_err(|error| error.to_string())?;
        let (out, err) = (PipeReader::of(child.stdout.take()), PipeReader::of(child.stderr.take()));
        let mut stdin = child.stdin.take();
        if let Some(stdin) = &mut stdin {
            // One that does not read says so by its answer.
            let _ = stdin.write_all(input.as_bytes()).and_then(|()| stdin.flush());
        }
        Ok(Self { child, input: stdin, out, err })
    }

    fn wait(mut self, enough: impl Fn(&str) -> bool) -> Result<ProcessOutput, String> {
        let (mut done, out) = (false, &self.out);
        let is_done = || {
            done = enough(&out.text_so_far());
            done
        };
        let ended = wait_or_kill(&mut self.child, TRIAL_TIMEOUT, is_done)
            .map_err(|error| error.to_string())?;
        if ended.is_some() {
            return Ok(ProcessOutput { out: self.out.whole(), err: self.err.whole() });
        }
        let said = ProcessOutput { out: self.out.text_so_far(), err: self.err.text_so_far() };
        if done { Ok(said) } else { Err("it does not answer".to_owned()) }
    }
}

/// Waits for a program to end; where it is `done` before, or takes too long, it is killed
/// with all that it started in a group of its own.
fn wait_or_kill(
    child: &mut Child,
    timeout: Duration,
    mut is_done: impl FnMut() -> bool,
) -> io::Result<Option<ExitStatus>> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if is_done() || began.elapsed() > timeout {
            let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
            let _ = group.map(|group| kill_process_group(group, Signal::KILL));
            let _ = child.kill();
            let _ = child.wait();
            return Ok(None);
        }
        std::thread::sleep(STEP);
    }
}

/// What comes out of a pipe, read on a thread of its own: a program that says more
/// than a pipe holds would otherwise wait for us while we wait for it.
struct PipeReader {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl PipeReader {
    fn of(pipe: Option<impl Read + Send + 'static>) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let reader = pipe.map(|mut pipe| {
            let kept = Arc::clone(&bytes);
            std::thread::spawn(move || {
                let mut piece = [0; 4096];
                while let Ok(read @ 1..) = pipe.read(&mut piece) {
                    kept.lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .extend_from_slice(&piece[..read]);
                }
            })
        });
        Self { bytes, reader }
    }

    fn text_so_far(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().unwrap_or_else(PoisonError::into_inner))
            .into_owned()
    }

    /// Once the program has ended.
    fn whole(&mut self) -> String {
        self.reader.take().map(JoinHandle::join);
        self.text_so_far()
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
    let ended = child.and_then(|mut child| wait_or_kill(&mut child, TIMEOUT, || false));
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
