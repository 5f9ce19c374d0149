//! `add_entity`: a thing in the code.

use std::collections::BTreeMap;

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{AddEntityInput, EntityAdded, Failure};

use super::words::{self, ENTITY_TYPES};
use crate::desk::Desk;
use crate::page::{Page, good, plain};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct AddEntity;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    #[arg(help = "What people call it")]
    name: String,
    #[serde(rename = "type")]
    #[schemars(extend("enum" = ENTITY_TYPES))]
    #[arg(help = "What it is", value_name = "TYPE", value_parser = words::one_of(ENTITY_TYPES))]
    kind: String,
    #[serde(default, deserialize_with = "words::properties")]
    #[schemars(with = "BTreeMap<String, String>")]
    #[arg(help = "What is known of it", long = "property", value_name = "KEY=VALUE", value_parser = words::property)]
    properties: Vec<(String, String)>,
    /// Your name
    #[arg(skip)]
    agent_id: Option<String>,
}

impl Verb for AddEntity {
    const NAME: &'static str = "add_entity";
    const GROUP: Group = Group::Graph;
    const TITLE: &'static str = "Add an entity";
    const ABOUT: &'static str = "Add a thing in the code to the graph. The same name and type is updated: properties merge.";
    const EXAMPLE: &'static str = "twining add-entity SessionStore class --property file=src/auth/session.ts";
    const EFFECT: Effect = Effect::AddsOnce;

    type Input = Input;
    type Output = EntityAdded;

    fn run(desk: &Desk<'_>, input: Input) -> Result<EntityAdded, Failure> {
        let Input { name, kind, properties, agent_id } = input;
        desk.engine
            .add_entity(&desk.signing(agent_id.as_deref())?, &AddEntityInput { name, kind, properties: properties.into_iter().collect() })
    }

    fn show(added: &EntityAdded, page: &mut Page) {
        page.line([good(if added.created { "added" } else { "known" }), plain(&added.id)]);
    }
}
