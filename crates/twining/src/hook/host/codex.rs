//! Codex: the JSON of Claude Code, without `ask`, without an event for failures,
//! and without a first message of our own.

use serde_json::Value;
use twining_engine::guards::{Moment, Told, told};

use super::{Host, claude};
use crate::hook::reply::{Answer, Reply};

pub static HOST: Host = Host { name: "codex", events: &[], tell, say, ask: claude::ask, tools: &[] };

fn tell(_: &str, moment: Moment, json: &Value) -> Told {
    told(moment, json)
}

fn say(reply: &Reply, moment: Moment, event: &str) -> Answer {
    match reply {
        Reply::Start { context, go } => claude::answer(&Reply::Context(format!("{go}\n\n{context}")), moment, event),
        reply => claude::answer(reply, moment, event),
    }
}
