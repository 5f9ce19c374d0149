//! `role`: what holds for a role.

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::governance::Source;
use twining_engine::{Failure, Role, RoleInput};

use super::shown;
use crate::desk::Desk;
use crate::page::{Page, dim, plain, strong};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct RoleOf;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// coach, player, or one the project defines
    role: String,
    #[arg(skip)]
    project: Option<String>,
}

impl Verb for RoleOf {
    const NAME: &'static str = "role";
    const GROUP: Group = Group::Governance;
    const TITLE: &'static str = "Role";
    const ABOUT: &'static str = "What an agent in a role must do, must not do, asks before and escalates. Read yours before you act.";
    const EXAMPLE: &'static str = "twining role coach";
    const EFFECT: Effect = Effect::Reads;

    type Input = Input;
    type Output = Role;

    fn run(desk: &Desk<'_>, input: Input) -> Result<Role, Failure> {
        let Input { role, project } = input;
        desk.engine.role(&desk.user_policy(), &RoleInput { role, project })
    }

    fn show(role: &Role, page: &mut Page) {
        page.line([strong(&role.role), dim(&role.id)]);
        for (heading, name, items) in [
            ("Must do", "must_do", &role.must_do),
            ("Must not do", "must_not_do", &role.must_not_do),
            ("Asks before", "ask_before", &role.ask_before),
            ("Escalates when", "escalate_when", &role.escalate_when),
        ] {
            let sources = role.sources.get(name).into_iter().flatten().chain(std::iter::repeat(&Source::DEFAULT));
            shown::section(page, heading, items.iter().zip(sources).map(|(item, source)| vec![dim(source.to_string()), plain(item)]));
        }
        shown::mistakes(&role.mistakes, page);
    }
}
