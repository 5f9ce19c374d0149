//! Flags of commands that are no verbs, each in one line.

use std::path::PathBuf;

use clap::{Arg, ArgAction, Command, ValueHint, value_parser};

/// A flag that is given or not.
pub(crate) fn switch(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

/// A flag with a value.
pub(crate) fn option(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    word(name, value, help).long(name)
}

/// A value without a flag.
pub(crate) fn word(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).value_name(value).help(help)
}

/// Makes a value a path.
pub(crate) fn path(arg: Arg, hint: ValueHint) -> Arg {
    arg.value_parser(value_parser!(PathBuf)).value_hint(hint)
}

/// The flag for questions about the past.
pub(crate) const AS_OF: &str = "as-of";

/// Adds it to a verb that can be asked about the past.
pub(crate) fn with_as_of(command: Command) -> Command {
    command.arg(option(
        AS_OF,
        "COMMIT|DATE",
        "Answer as of a commit, a time, or the end of a day: what was believed then",
    ))
}
