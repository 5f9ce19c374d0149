//! `register`: say who you are and what you can do.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{Failure, RegisterInput, Registered};

use super::words;
use crate::desk::Desk;
use crate::page::{Page, dim, good, plain, strong, warn};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct Register;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    #[arg(skip)]
    agent_id: Option<String>,
    #[serde(default, deserialize_with = "words::list")]
    #[arg(help = "What you can do, with commas between; added to what is known", long = "can", value_name = "WORD", value_delimiter = ',')]
    capabilities: Vec<String>,
    #[arg(help = "Your part in the team", long)]
    role: Option<String>,
    #[arg(help = "What else there is to say", long)]
    description: Option<String>,
}

impl Verb for Register {
    const NAME: &'static str = "register";
    const GROUP: Group = Group::Agents;
    const TITLE: &'static str = "Register";
    const ABOUT: &'static str = "Say what you can do, so that others find you; again as a sign of life.";
    const EXAMPLE: &'static str = "twining register --can rust,testing --role tester";
    const EFFECT: Effect = Effect::AddsOnce;

    type Input = Input;
    type Output = Registered;

    fn run(desk: &Desk<'_>, input: Input) -> Result<Registered, Failure> {
        let Input { agent_id, capabilities, role, description } = input;
        desk.engine.register(&desk.caller, &RegisterInput { agent_id, capabilities, role, description })
    }

    fn show(registered: &Registered, page: &mut Page) {
        let done = if registered.updated { "updated" } else { "registered" };
        page.line([good(done), strong(&registered.agent_id), plain(registered.capabilities.join(", "))]);
        registered.notes.iter().for_each(|note| page.line([warn("note"), dim(note)]));
    }
}
