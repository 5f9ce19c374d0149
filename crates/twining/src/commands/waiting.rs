//! What waits for a person, and the command of each answer.

use serde_json::{Map, Value};
use twining_engine::{
    Failure, Gravity, WaitingAnswer, WaitingInput, WaitingItem, WaitingOutcome, WaitingSources,
};

use super::VERBS;
use crate::project::CommandContext;
use crate::render::text_page::{
    StyledText, TextPage, bad, count, dim, place, plain, strong, warn, when,
};
use crate::verbs::command_line;
use crate::verbs::verb::{Effect, Verb};

/// What a person's own words are shown as in a command.
const PLACEHOLDER: &str = "…";

impl Verb for WaitingInput {
    const NAME: &'static str = "waiting";
    const ABOUT: &'static str = "What only a person can settle, gravest first: contested decisions, blocked features, old questions. Tell the user.";
    const HELP: &'static str = "What waits for a person, gravest first: why it needs you, and the command of the likeliest answer. --json has every answer, and what will hold after it.";
    const EXAMPLE: &'static str = "twining waiting --kind contested";
    const EFFECT: Effect = Effect::Reads;
    const DESCRIBED: &'static [&'static str] = &["kinds", "settled"];

    type Output = WaitingOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<WaitingOutcome, Failure> {
        let user = ctx.user_policy();
        let sources = WaitingSources { user: &user, git: Some(ctx.history) };
        let mut outcome = ctx.engine.waiting(&sources, self)?;
        outcome.is_filtered = self.settled || !self.kinds.is_empty();
        for answer in outcome.items.iter_mut().flat_map(|item| &mut item.answers) {
            add_command(answer);
        }
        Ok(outcome)
    }

    fn show(outcome: &WaitingOutcome, page: &mut TextPage) {
        if outcome.items.is_empty() {
            page.line([dim(match outcome.total {
                0 if outcome.is_filtered => "nothing of what was asked for".to_owned(),
                0 => "nothing waits for you".to_owned(),
                total => format!("no more at this offset; {} in all", count(total, "item")),
            })]);
            return;
        }
        outcome.items.iter().for_each(|item| show_item(item, page));
        page.blank();
        if let Some(next) = outcome.next_offset {
            let all = count(outcome.total, "item");
            page.line([dim(format!("{all} in all; give --offset {next} for more"))]);
        }
        page.line([dim("--json lists every answer, and what will hold after it")]);
    }
}

/// Adds the command line that does the same as a call, with a placeholder for what the person
/// adds.
fn add_command(answer: &mut WaitingAnswer) {
    let Some(verb) = VERBS.iter().find(|verb| verb.name == answer.verb) else { return };
    if !answer.command.is_empty() {
        return;
    }
    let mut input: Map<String, Value> = answer.input.clone();
    for field in answer.field.iter().chain(&answer.reason_field) {
        input.insert(field.clone(), PLACEHOLDER.into());
    }
    answer.command = command_line::of_call(verb, &input).unwrap_or_default();
}

/// An item with its reason, and the likeliest answer.
pub(crate) fn show_item(item: &WaitingItem, page: &mut TextPage) {
    let kind = item.kind.as_str().replace('_', " ");
    let kind = match item.gravity {
        Gravity::Grave => bad(kind),
        Gravity::Blocking => warn(kind),
        Gravity::Open | Gravity::Minor => plain(kind),
    };
    let mut line: Vec<StyledText> = vec![kind, strong(&item.title)];
    line.extend(item.scope.iter().map(place));
    match &item.settled {
        Some(settled) => {
            line.extend([plain(&settled.how), dim("by"), plain(&settled.by), when(&settled.at)]);
        }
        None => {
            line.extend(item.since.as_deref().map(when));
            line.extend(item.by.iter().map(dim));
        }
    }
    page.line(line);
    match &item.settled {
        Some(settled) => page.block(2, settled.reason.as_deref().unwrap_or_default()),
        None => page.block(2, &item.why_you),
    }
    if let Some(likeliest) = item.answers.first() {
        page.table(2, [vec![dim(&likeliest.label), plain(&likeliest.command)]]);
    }
}
