//! `twining top`: the screen, one frame of it, or what it shows as JSON.

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use clap::{ArgMatches, Command};
use ratatui::layout::Size;
use serde_json::json;
use twining_engine::{AgentsInput, WaitingInput};

use crate::args::{option, switch};
use crate::output::{self, OutputFormat};
use crate::project::{Project, caller_at_cli};
use crate::render::command_error::{CommandError, ExitStatus};
use crate::tui::event_loop;
use crate::tui::headless::HeadlessTop;
use crate::tui::screen::TopScreen;
use crate::tui::theme::Theme;
use crate::verbs::verb::Verb;

/// Its flags.
pub(crate) fn flags(command: Command) -> Command {
    let once = switch("once", "Print one frame as text; so it is where there is no terminal");
    let theme = option(
        "theme",
        "THEME",
        "light, dark or none; default: TWINING_THEME, NO_COLOR, what the terminal says",
    );
    command
        .args([once, theme.value_parser(Theme::WORDS)])
        .after_help("Example:\n  twining top --theme light")
}

/// Runs it.
pub(crate) fn run(
    project: Option<PathBuf>,
    given: &ArgMatches,
    style: OutputFormat,
) -> Result<ExitStatus, CommandError> {
    if style == OutputFormat::Json {
        return show_json(project);
    }
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let is_terminal = io::stdin().is_terminal() && io::stdout().is_terminal() && !is_dumb;
    if given.get_flag("once") || !is_terminal {
        return show_once(project);
    }
    let named = given.get_one::<String>("theme").and_then(|word| Theme::named(word));
    let theme = named.unwrap_or_else(|| Theme::of_environment(|name| std::env::var_os(name)));
    event_loop::run(project, theme)
}

fn show_json(project: Option<PathBuf>) -> Result<ExitStatus, CommandError> {
    let project = Project::open(project)?;
    let (caller, authority) = caller_at_cli(None);
    let context = project.context(caller, authority);
    let waiting = WaitingInput::default().run(&context)?;
    let agents = AgentsInput::default().run(&context)?;
    let to_json = || json!({ "waiting": waiting, "agents": agents });
    let ending = output::answer(OutputFormat::Json, to_json, |_| (), ExitStatus::Done);
    project.finish_reads();
    Ok(ending)
}

fn show_once(project: Option<PathBuf>) -> Result<ExitStatus, CommandError> {
    let mut top = HeadlessTop::at(project, size_of_output())?;
    top.draw();
    let text = top.text();
    let ending = output::answer(
        OutputFormat::Words,
        || json!(null),
        |page| page.verbatim(&text),
        ExitStatus::Done,
    );
    Ok(ending)
}

/// The size of the terminal that reads it, else what the environment says, else the usual one.
fn size_of_output() -> Size {
    if io::stdout().is_terminal() {
        return TopScreen::size();
    }
    let number = |name: &str| {
        let value = std::env::var(name).ok()?.parse::<u16>().ok()?;
        (1..=1000).contains(&value).then_some(value)
    };
    Size { width: number("COLUMNS").unwrap_or(80), height: number("LINES").unwrap_or(24) }
}
