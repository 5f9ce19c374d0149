//! The command-line entry point: flags and words in, a page or JSON out.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint, value_parser};
use serde_json::{Map, Value};
use twining_model::{InvalidInput, limits};
use twining_store::Store;

use crate::args::AS_OF;
use crate::cli::help;
use crate::cli::hyphen_values;
use crate::cli::past_project::PastProject;
use crate::cli::tool_commands::{TOOL_COMMANDS, ToolCall, ToolCommand};
use crate::cli::usage_errors;
use crate::commands::VERBS;
use crate::link::{SentState, TeamLink};
use crate::output::{self, OutputFormat};
use crate::project::{CommandContext, Project, caller_at_cli, checked_agent};
use crate::render::command_error::{CommandError, ExitStatus};
use crate::verbs::serde_messages;
use crate::verbs::tool_names::with_command_names;
use crate::verbs::verb::{Audience, Effect, FAMILIES, VerbEntry};
use crate::{hook, knowledge_show, link, merge_driver, overview, person_check, verify_ci};

/// Where a verb's JSON comes from when it is not given in flags.
const JSON_INPUT: &str = "json-input";

/// The heading of flags every command has, so that its own are grouped.
const GLOBAL_HEADING: &str = "Everywhere";

/// Runs the program.
pub fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    output::apply_terminal_settings();
    match read(&words) {
        Ok(matches) => match matches.subcommand() {
            None => overview(&matches).into(),
            Some(("hook", given)) => hook(given),
            Some(("merge-driver", _)) => merge(&matches),
            _ => run(&matches).into(),
        },
        Err(error) => {
            let command = command_for(&words);
            usage_errors::tell(error, &command, &words, format_of(&words)).into()
        }
    }
}

/// Shows the status if no command is given.
fn overview(matches: &ArgMatches) -> ExitStatus {
    let style = if matches.get_flag("json") { OutputFormat::Json } else { OutputFormat::Words };
    overview::show(matches.get_one::<PathBuf>("project").cloned(), style)
        .unwrap_or_else(|problem| output::problem(style, &problem))
}

/// Reads the words, once more where a value that begins with a dash was taken for a flag.
fn read(words: &[OsString]) -> Result<ArgMatches, clap::Error> {
    command_for(words).try_get_matches_from(words).or_else(|error| {
        match hyphen_values::joined(&command_for(words), words) {
            Some(joined) => command_for(words).try_get_matches_from(joined),
            None => Err(error),
        }
    })
}

/// Whether JSON is asked for, known even where the words make no sense.
fn format_of(words: &[OsString]) -> OutputFormat {
    if words.iter().skip(1).take_while(|word| *word != "--").any(|word| word == "--json") {
        OutputFormat::Json
    } else {
        OutputFormat::Words
    }
}

/// What is needed to read these words. Hosts wait for every hook and for the server to start, and
/// the flags of eighty commands take longer to put together than most of them take to run: where
/// the first word is a command, there is only that one.
fn command_for(words: &[OsString]) -> Command {
    let called = verbs_alone()
        .find(|verb| words.get(1).is_some_and(|word| word.to_str() == Some(&verb.command_name())));
    let family =
        FAMILIES.iter().find(|(family, _)| words.get(1).is_some_and(|word| word == family));
    let tool = TOOL_COMMANDS.iter().find(|tool| words.get(1).is_some_and(|word| word == tool.name));
    match (called, family, tool) {
        (Some(verb), _, _) => root().subcommand(verb_command(verb, verb.name)),
        (None, Some((family, about)), _) => root().subcommand(family_command(family, about)),
        (None, None, Some(tool)) => root().subcommand(tool.command()),
        (None, None, None) => command(),
    }
}

fn command() -> Command {
    let listed: Vec<_> = TOOL_COMMANDS.iter().filter_map(ToolCommand::listed).collect();
    root()
        .help_template(help::template(&listed))
        .subcommands(verbs_alone().map(|verb| verb_command(verb, verb.name)))
        .subcommands(FAMILIES.map(|(family, about)| family_command(family, about)))
        .subcommands(TOOL_COMMANDS.iter().map(ToolCommand::command))
}

/// The verbs that are commands of their own.
fn verbs_alone() -> impl Iterator<Item = &'static VerbEntry> {
    VERBS.iter().filter(|verb| verb.command.is_none() && verb.family().is_none())
}

fn root() -> Command {
    Command::new("twining")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Shared memory for coding agents")
        .after_help("`twining <command> --help` shows its flags and an example; `twining tour` runs a demo.")
        .after_long_help(help::ENDINGS)
        .args(global_flags())
}

fn global_flags() -> [Arg; 3] {
    [
        Arg::new("project")
            .long("project")
            .value_name("DIR")
            .value_parser(value_parser!(PathBuf))
            .value_hint(ValueHint::DirPath)
            .global(true)
            .help("The project folder; default: the project that contains the working directory"),
        Arg::new("agent")
            .long("agent")
            .value_name("NAME")
            .global(true)
            .help("The name to sign with; default: main"),
        Arg::new("json")
            .long("json")
            .action(ArgAction::SetTrue)
            .global(true)
            .help("Print exactly the JSON the MCP tool returns"),
    ]
    .map(|flag| flag.help_heading(GLOBAL_HEADING))
}

/// The verbs of a family, each a command of its own below it.
fn family_command(family: &'static str, about: &'static str) -> Command {
    let members = VERBS.iter().filter_map(|verb| {
        verb.family().filter(|(named, _)| *named == family).map(|(_, name)| (verb, name))
    });
    let command =
        Command::new(family).about(about).subcommand_required(true).arg_required_else_help(true);
    command
        .subcommands(members.map(|(verb, name)| verb_command(verb, name)))
        .subcommand(knowledge_show::command())
        .after_help("Example:\n  twining knowledge retrieve \"error handling\"")
}

fn verb_command(verb: &VerbEntry, spelled: &'static str) -> Command {
    let name = spelled.replace('_', "-");
    let json_input = Arg::new(JSON_INPUT)
        .long(JSON_INPUT)
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .value_hint(ValueHint::FilePath)
        .help("Take the tool's JSON from a file, or `-` for stdin, instead of flags")
        .help_heading(GLOBAL_HEADING);
    let mut command = (verb.with_flags)(Command::new(name.clone()));
    if spelled != name {
        command = command.alias(spelled);
    }
    if verb.name == "verify" {
        command = verify_ci::flags(command);
    }
    let mut example = format!("Example:\n  {}", verb.example);
    if verb.audience == Audience::Everyone {
        example = format!("{example}\n\nAs an MCP tool: {}", verb.tool_name());
    }
    command
        .about(help::first_sentence(verb.about).to_owned())
        .long_about(with_command_names(verb.help))
        .after_help(example)
        .arg(json_input)
}

/// Answers a host. Its contract, not ours, says how this ends.
fn hook(given: &ArgMatches) -> ExitCode {
    let (agent, project) = (
        given.get_one::<String>("agent").map(String::as_str),
        given.get_one::<PathBuf>("project").cloned(),
    );
    let event = given.get_one::<String>("event").map_or("", String::as_str);
    if agent == Some("git") {
        return hook::git_hooks::run(project, event);
    }
    let Some(host) = twining_guard::hosts::HostAdapter::named(agent) else {
        let known = twining_guard::hosts::HOSTS.map(|host| host.name).join(", ");
        return output::problem(
            OutputFormat::Words,
            &CommandError::misuse(format!("--agent must be a host: {known} or git")),
        )
        .into();
    };
    hook::run(project, host, event)
}

/// Ends as git expects of a merge driver, and not as our commands do.
fn merge(matches: &ArgMatches) -> ExitCode {
    let Some((kind, given)) = matches.subcommand().and_then(|(_, given)| given.subcommand()) else {
        return ExitStatus::Misused.into();
    };
    let version = |name: &str| given.get_one::<PathBuf>(name).cloned();
    let (Some(base), Some(ours), Some(theirs)) =
        (version("base"), version("ours"), version("theirs"))
    else {
        return ExitStatus::Misused.into();
    };
    let path = version("path").map(|path| path.to_string_lossy().into_owned());
    merge_driver::run(kind, &merge_driver::MergeInputs { base, ours, theirs, path })
}

fn run(matches: &ArgMatches) -> ExitStatus {
    let Some((name, given)) = matches.subcommand() else { return ExitStatus::Misused };
    // A flag that every command has is found where it was given: at the innermost one.
    let (mut name, mut given) = (name.to_owned(), given);
    while let Some((inner, below)) = given.subcommand() {
        (name, given) = (format!("{name} {inner}"), below);
    }
    let style = if given.get_flag("json") { OutputFormat::Json } else { OutputFormat::Words };
    let project = given.get_one::<PathBuf>("project").cloned();
    let agent = match checked_agent(given.get_one::<String>("agent").cloned()) {
        Ok(agent) => agent,
        Err(problem) => return output::problem(style, &problem),
    };
    let tool = matches
        .subcommand_name()
        .and_then(|outer| TOOL_COMMANDS.iter().find(|tool| tool.name == outer));
    let ended = match (tool.and_then(|tool| tool.run), name.as_str()) {
        (Some(run), called) => run(ToolCall { called, given, project, agent, style, all: command }),
        (None, "knowledge show") => {
            Project::open(project).and_then(|project| knowledge_show::draw(&project, given, style))
        }
        (None, "verify") if given.get_flag("ci") => verify_ci::run(project, given, style),
        (None, name) => match VERBS.iter().find(|verb| verb.command_name() == name) {
            Some(verb) => run_verb(verb, given, project, agent, style),
            None => return ExitStatus::Misused,
        },
    };
    ended.unwrap_or_else(|problem| output::problem(style, &problem))
}

fn run_verb(
    verb: &VerbEntry,
    matches: &ArgMatches,
    project: Option<PathBuf>,
    agent: Option<String>,
    style: OutputFormat,
) -> Result<ExitStatus, CommandError> {
    let is_json = style == OutputFormat::Json || matches.contains_id(JSON_INPUT);
    // Whoever typed flags knows no fields.
    let in_flags = |error: CommandError| match is_json {
        true => error,
        false => error.naming(&(verb.typed_names)()),
    };
    let refused = |refused: InvalidInput| {
        in_flags(CommandError::refused(&refused)).with_hint(format!(
            "twining {} --help shows its flags and an example",
            verb.command_name()
        ))
    };
    let given = (verb.read_flags)(matches).map_err(refused)?;
    let given = if is_json || !person_check::is_person_here() {
        given
    } else {
        (verb.ask)(given, matches)?
    };
    let fields = match matches.get_one::<PathBuf>(JSON_INPUT) {
        Some(source) if given.is_empty() => read_json(source)?,
        Some(_) => {
            let rule = "cannot be combined with other flags";
            return Err(refused(InvalidInput::new(JSON_INPUT, rule)));
        }
        None => given,
    };
    if let Some((field, flag)) = (verb.missing)(&fields) {
        let rule = if is_json { "is required" } else { "is missing" };
        let way = if is_json { format!("give it with --{flag}, ") } else { String::new() };
        let error = in_flags(CommandError::refused(&InvalidInput::new(field, rule)));
        return Err(error.with_hint(format!("{way}for example: {}", one_line(verb.example))));
    }
    let effect = (verb.effect_of)(&fields);
    let (caller, authority) = caller_at_cli(agent);
    if let Ok(Some(when)) = matches.try_get_one::<String>(AS_OF) {
        let past = PastProject::open(project, when)?;
        let context = past.project.context(caller, authority);
        return answer_past(
            verb,
            &CommandContext { flags: Some(matches), ..context },
            fields,
            style,
        )
        .map_err(in_flags);
    }
    let project = Project::open(project)?;
    let caller = caller.fit().map_err(|refused| CommandError::refused(&refused))?;
    let drained = project.engine.drain_queues(&caller, &project.history);
    let link = link_for(verb, effect, project.engine.store());
    let context = CommandContext { flags: Some(matches), ..project.context(caller, authority) };
    let refused = link.as_ref().map_or(0, TeamLink::refused_count);
    // If this fails too, it is for the same reason, which is reported once.
    let answer = match &link {
        Some(link) if link::needs_log(verb.name) => {
            link.run_online(verb.name, || (verb.run)(&context, fields.clone()))
        }
        _ => (verb.run)(&context, fields),
    }
    .map_err(in_flags)?;
    let store = project.engine.store();
    let sent = (effect != Effect::Reads)
        .then(|| link::sent_state(store, link.as_ref(), refused))
        .flatten();
    if let Err(failure) = drained {
        // What hooks queued can wait; what the person asked for cannot.
        output::warn_about(&CommandError::from(failure));
    }
    let json = || link::with_synced(answer.to_json(), sent.as_ref());
    let ending = output::answer(style, json, |page| answer.show(page), answer.ending());
    if style == OutputFormat::Words
        && let Some(words) = sent.as_ref().and_then(SentState::words)
    {
        output::note(&words);
    }
    if effect == Effect::Reads {
        project.finish_reads();
    } else {
        project.finish_writes();
    }
    Ok(ending)
}

/// The team's log, for what writes; what only reads of the log is brought up to date instead.
fn link_for(verb: &VerbEntry, effect: Effect, store: &Arc<Store>) -> Option<TeamLink> {
    if effect != Effect::Reads {
        return TeamLink::of(store);
    }
    if link::needs_log(verb.name)
        && let Some(link) = TeamLink::of(store)
    {
        link.refresh_claims();
    }
    None
}

/// Answers from the memory of another time, which nothing is written to.
fn answer_past(
    verb: &VerbEntry,
    context: &CommandContext<'_>,
    fields: Map<String, Value>,
    style: OutputFormat,
) -> Result<ExitStatus, CommandError> {
    let answer = (verb.run)(context, fields)?;
    let json = || answer.to_json();
    Ok(output::answer(style, json, |page| answer.show(page), answer.ending()))
}

/// An example that spans lines, on one.
fn one_line(example: &str) -> String {
    example.replace("\\\n", " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Reads a verb's JSON from a file, or from stdin for `-`.
fn read_json(source: &PathBuf) -> Result<Map<String, Value>, CommandError> {
    let refused = |rule: &'static str| CommandError::refused(&InvalidInput::new(JSON_INPUT, rule));
    let limit = u64::try_from(limits::RECORD_BYTES).unwrap_or(u64::MAX);
    let mut text = String::new();
    let read = if source.as_os_str() == "-" {
        io::stdin().take(limit + 1).read_to_string(&mut text)
    } else {
        File::open(source).and_then(|file| file.take(limit + 1).read_to_string(&mut text))
    };
    read.map_err(|error| {
        CommandError::refused(
            &InvalidInput::new(JSON_INPUT, "cannot be read")
                .because(format!("{}: {error}", source.display())),
        )
    })?;
    if text.len() > limits::RECORD_BYTES {
        return Err(refused("must be at most 1 MiB"));
    }
    match serde_json::from_str(&text) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(refused("must contain one JSON object")),
        Err(error) => Err(CommandError::refused(
            &InvalidInput::new(JSON_INPUT, "must contain one JSON object")
                .because(serde_messages::plain_message(&error.to_string())),
        )),
    }
}

#[cfg(test)]
mod tests {
    use crate::cli::run::*;
    use twining_testcases::each;

    #[test]
    fn the_commands_are_put_together_without_contradiction() {
        command().debug_assert();
    }

    #[test]
    fn nothing_is_required_of_the_parser() {
        each(VERBS.iter().filter(|verb| verb.command.is_none()), |verb| {
            let words: Vec<String> = ["twining".to_owned()]
                .into_iter()
                .chain(verb.command_name().split(' ').map(str::to_owned))
                .collect();
            assert!(command().try_get_matches_from(&words).is_ok(), "{}", verb.name);
        });
    }

    #[test]
    fn one_command_alone_reads_its_words_as_all_of_them_would() {
        let verbs = VERBS.iter().filter(|verb| verb.command.is_none());
        let tools = TOOL_COMMANDS.iter().map(|tool| tool.name.to_owned());
        each(verbs.map(VerbEntry::command_name).chain(tools), |name| {
            for flags in [&["--help"][..], &["--unheard-of"], &["--json", "--agent"]] {
                let words: Vec<OsString> = ["twining"]
                    .into_iter()
                    .chain(name.split(' '))
                    .chain(flags.iter().copied())
                    .map(OsString::from)
                    .collect();
                let parse = |command: Command| {
                    command.try_get_matches_from(&words).map_err(|error| error.render().to_string())
                };
                assert_eq!(parse(command_for(&words)).err(), parse(command()).err(), "{words:?}");
            }
        });
        let with_flags_first: Vec<OsString> =
            ["twining", "--project", "role", "recent"].map(OsString::from).to_vec();
        let matches =
            command_for(&with_flags_first).try_get_matches_from(&with_flags_first).expect("parses");
        assert_eq!(matches.subcommand_name(), Some("recent"));
    }

    #[test]
    fn an_underscore_works_where_the_hyphen_does() {
        let matches =
            command().try_get_matches_from(["twining", "search_decisions", "jwt"]).expect("parses");
        assert_eq!(matches.subcommand_name(), Some("search-decisions"));
    }
}
