//! The command: `twining ui` prints a link and serves until it is ended; where a server runs for
//! the project already, it only asks that one for a link.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command as Program, Stdio};
use std::time::Instant;

use clap::{ArgMatches, Command, value_parser};
use serde_json::json;
use twining_model::text;
use twining_store::disk::Dir;

use crate::args::{option, switch, word};
use crate::output::OutputFormat;
use crate::render::command_error::{CommandError, ExitStatus};
use crate::render::text_page::plain;
use crate::web::keys::KeyAccess;
use crate::web::{address, instance, server};
use crate::{output, person_check, project};

/// Adds its flags.
pub(crate) fn flags(command: Command) -> Command {
    let target = word(
        "target",
        "TARGET",
        "A page or a record: an id, decisions, why SCOPE, preview TASK SCOPE, changes BRANCH, g/GUARD …",
    );
    let port = option("port", "N", "The port on 127.0.0.1; default: any that is free");
    command
        .arg(target.num_args(0..))
        .arg(port.value_parser(value_parser!(u16).range(1024..)))
        .arg(switch("print", "Print the link and open no browser"))
        .after_help("A link made at a terminal may act; one made without a terminal only reads.\n\nExample:\n  twining ui why src/auth/")
}

/// Runs it.
pub(crate) fn run(
    given: &ArgMatches,
    folder: Option<PathBuf>,
    style: OutputFormat,
) -> Result<ExitStatus, CommandError> {
    let located = project::find(folder)?;
    let project = &located.place.project;
    let words: Vec<&str> =
        given.get_many::<String>("target").unwrap_or_default().map(String::as_str).collect();
    let address = address::of_words(&words, &Dir::project(project, None)?)?;
    let access = if person_check::is_person_here() { KeyAccess::Write } else { KeyAccess::Read };
    let (may, may_write) = match access {
        KeyAccess::Write => ("this link may act", true),
        KeyAccess::Read => ("this link only reads: it was not asked for at a terminal", false),
    };
    let show = |port: u16, code: &str| {
        let link = format!("http://127.0.0.1:{port}{address}#c={code}");
        let json = || json!({"link": link, "may_write": may_write});
        output::answer(style, json, |page| page.line([plain(&link)]), ExitStatus::Done);
        // Nobody may be there to read it.
        let folder = text::visible(&project.to_string_lossy());
        let _ = writeln!(std::io::stderr(), "serving {folder} on port {port}; {may}");
        if !given.get_flag("print") {
            open_in_browser(&link);
        }
    };
    if let Some((port, code)) = instance::ask(project, access) {
        show(port, &code);
        return Ok(ExitStatus::Done);
    }
    let port = given.get_one::<u16>("port").copied().unwrap_or(0);
    server::serve(located.clone(), port, |server| {
        show(server.port, &server.keys.issue(access, Instant::now()));
    })
    .map(|()| ExitStatus::Done)
}

/// Opens a link where there is a screen; over ssh, and without one, it is printed only.
fn open_in_browser(link: &str) {
    let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_mac = cfg!(target_os = "macos");
    let has_screen = is_mac || ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(is_set);
    if !has_screen || ["SSH_CONNECTION", "SSH_TTY"].iter().any(is_set) {
        return;
    }
    let mut program = Program::new(if is_mac { "open" } else { "xdg-open" });
    program.arg(link).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // In a group of its own: Ctrl-C is for the server and must not end the browser.
    if let Ok(mut started) = program.process_group(0).spawn() {
        std::thread::spawn(move || started.wait());
    }
}
