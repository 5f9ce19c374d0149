//! What a shell and `man` know of the commands: made from the commands themselves,
//! so neither can fall behind.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;

use crate::render::command_error::{CommandError, ExitStatus};

/// Prints completions for a shell.
pub(crate) fn shell(mut command: Command, shell: Shell) -> Result<ExitStatus, CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "twining", &mut script);
    print(&script)
}

/// Prints the page of the program, or writes a page for each command.
pub(crate) fn manual(command: Command, dir: Option<&Path>) -> Result<ExitStatus, CommandError> {
    let failed = |error: io::Error| CommandError::of_error("FILE_WRITE_ERROR", &error);
    let Some(dir) = dir else {
        let mut page = Vec::new();
        Man::new(plain(command)).render(&mut page).map_err(failed)?;
        return print(&page);
    };
    fs::create_dir_all(dir).map_err(failed)?;
    clap_mangen::generate_to(plain(command), dir).map_err(failed)?;
    Ok(ExitStatus::Done)
}

/// The help's own template carries a terminal's colours, which a page must not.
fn plain(command: Command) -> Command {
    command
        .help_template("{about}\n\n{usage-heading} {usage}\n\n{all-args}")
        .disable_help_subcommand(true)
}

fn print(bytes: &[u8]) -> Result<ExitStatus, CommandError> {
    match io::stdout().write_all(bytes).and_then(|()| io::stdout().flush()) {
        // A closed pipe is no error.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(CommandError::of_error("OUTPUT", &error))
        }
        _ => Ok(ExitStatus::Done),
    }
}
