//! `add_relation`: how two things hang together.

use std::collections::BTreeMap;

use clap::Args;
use schemars::JsonSchema;
use serde::Deserialize;
use twining_engine::{AddRelationInput, Failure, RelationAdded};

use super::words::{self, RELATION_TYPES};
use crate::desk::Desk;
use crate::page::{Page, good, plain};
use crate::verbs::{Effect, Group, Verb};

/// The verb.
pub struct AddRelation;

/// What it takes.
#[derive(Debug, Deserialize, JsonSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Entity id or name
    #[arg(index = 1)]
    source: String,
    /// Entity id or name
    #[arg(index = 3)]
    target: String,
    #[serde(rename = "type")]
    #[schemars(extend("enum" = RELATION_TYPES))]
    #[arg(help = "How they hang together", index = 2, value_name = "TYPE", value_parser = words::one_of(RELATION_TYPES))]
    kind: String,
    #[serde(default, deserialize_with = "words::properties")]
    #[schemars(with = "BTreeMap<String, String>")]
    #[arg(help = "What is known of it", long = "property", value_name = "KEY=VALUE", value_parser = words::property)]
    properties: Vec<(String, String)>,
    /// Your name
    #[arg(skip)]
    agent_id: Option<String>,
}

impl Verb for AddRelation {
    const NAME: &'static str = "add_relation";
    const GROUP: Group = Group::Graph;
    const TITLE: &'static str = "Add a relation";
    const ABOUT: &'static str = "Say how two entities hang together.";
    const EXAMPLE: &'static str = "twining add-relation SessionStore depends_on redis";
    const EFFECT: Effect = Effect::AddsOnce;

    type Input = Input;
    type Output = RelationAdded;

    fn run(desk: &Desk<'_>, input: Input) -> Result<RelationAdded, Failure> {
        let Input { source, target, kind, properties, agent_id } = input;
        let draft = AddRelationInput { source, target, kind, properties: properties.into_iter().collect() };
        desk.engine.add_relation(&desk.signing(agent_id.as_deref())?, &draft)
    }

    fn show(added: &RelationAdded, page: &mut Page) {
        page.line([good(if added.created { "added" } else { "known" }), plain(&added.id)]);
    }
}
