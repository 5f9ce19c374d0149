//! Agents: who works here, and on what.

use twining_engine::{
    AcknowledgeInput, AgentLiveness, AgentMatch, AgentsInput, AgentsOutcome, ClaimInput,
    ClaimOutcome, DelegateInput, DelegateOutcome, DiscoverInput, DiscoverOutcome, Failure,
    HandoffInput, HandoffOutcome, HandoffSummary, RegisterInput, RegisterOutcome,
};
use twining_model::Claim;

use super::rows;
use crate::project::CommandContext;
use crate::render::text_page::{
    StyledText, TextPage, count, dim, good, place, plain, strong, warn, when,
};
use crate::verbs::verb::{Effect, Verb};

impl Verb for RegisterInput {
    const NAME: &'static str = "register";
    const ABOUT: &'static str =
        "Register your capabilities so others find you; repeat as a heartbeat.";
    const EXAMPLE: &'static str = "twining register --can rust,testing --role tester";
    const EFFECT: Effect = Effect::AddsOnce;

    type Output = RegisterOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<RegisterOutcome, Failure> {
        ctx.engine.register(&ctx.caller, self)
    }

    fn show(registered: &RegisterOutcome, page: &mut TextPage) {
        let done = if registered.updated { "updated" } else { "registered" };
        page.line([
            good(done),
            strong(&registered.agent_id),
            plain(registered.capabilities.join(", ")),
        ]);
        registered.notes.iter().for_each(|note| page.line([warn("note:"), dim(note)]));
    }
}

impl Verb for AgentsInput {
    const NAME: &'static str = "agents";
    const ABOUT: &'static str =
        "List active agents, their capabilities, the paths they claimed, and open handoffs.";
    const EXAMPLE: &'static str = "twining agents";
    const EFFECT: Effect = Effect::Reads;

    type Output = AgentsOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<AgentsOutcome, Failure> {
        ctx.engine.agents(self)
    }

    fn show(outcome: &AgentsOutcome, page: &mut TextPage) {
        if outcome.agents.is_empty() {
            page.line([dim("no active agents")]);
        }
        let rows = outcome.agents.iter().map(|agent| {
            let description = agent
                .suspicious
                .as_deref()
                .map_or_else(|| dim(agent.description.as_deref().unwrap_or_default()), warn);
            vec![
                strong(&agent.agent_id),
                liveness(agent.liveness),
                when(&agent.last_active),
                plain(agent.role.as_deref().unwrap_or_default()),
                plain(agent.capabilities.join(", ")),
                description,
            ]
        });
        page.table(0, rows);
        if outcome.gone > 0 {
            page.line([dim(format!(
                "{} gone; --include-gone shows them",
                count(outcome.gone, "more agent")
            ))]);
        }
        rows::section(page, "Claims", outcome.claims.iter().map(claim_row));
        rows::section(page, "Open handoffs", outcome.handoffs.iter().map(handoff_row));
    }
}

/// Whether an agent is at work.
fn liveness(liveness: AgentLiveness) -> StyledText {
    match liveness {
        AgentLiveness::Active => good(liveness.as_str()),
        AgentLiveness::Idle => plain(liveness.as_str()),
        AgentLiveness::Gone => dim(liveness.as_str()),
    }
}

/// A claim on one line.
pub(super) fn claim_row(claim: &Claim) -> Vec<StyledText> {
    let held = claim.feature.iter().chain(&claim.paths).cloned().collect::<Vec<_>>().join(" ");
    vec![
        strong(claim.holder()),
        place(held),
        dim("until"),
        when(&claim.until),
        plain(&claim.reason),
    ]
}

/// A handoff on one line.
fn handoff_row(handoff: &HandoffSummary) -> Vec<StyledText> {
    vec![
        dim(&handoff.id),
        when(&handoff.created_at),
        plain(&handoff.source_agent),
        dim("to"),
        plain(handoff.target_agent.as_deref().unwrap_or("anyone")),
        place(&handoff.scope),
        strong(&handoff.summary),
    ]
}

impl Verb for DiscoverInput {
    const NAME: &'static str = "discover";
    const ABOUT: &'static str = "Who can do this, best fit first.";
    const EXAMPLE: &'static str = "twining discover rust,sql";
    const EFFECT: Effect = Effect::Reads;
    const WORDS: &'static [&'static str] = &["required_capabilities"];

    type Output = DiscoverOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<DiscoverOutcome, Failure> {
        ctx.engine.discover(self)
    }

    fn show(outcome: &DiscoverOutcome, page: &mut TextPage) {
        found(&outcome.agents, page);
    }
}

/// Those who fit, one a line.
fn found(agents: &[AgentMatch], page: &mut TextPage) {
    if agents.is_empty() {
        page.line([dim("no known agent has these capabilities")]);
    }
    let rows = agents.iter().map(|agent| {
        let missing = if agent.missing.is_empty() {
            String::new()
        } else {
            format!("lacks {}", agent.missing.join(", "))
        };
        vec![
            dim(format!("{:.2}", agent.score)),
            strong(&agent.agent_id),
            liveness(agent.liveness),
            plain(agent.matched.join(", ")),
            dim(missing),
        ]
    });
    page.table(0, rows);
}

impl Verb for DelegateInput {
    const NAME: &'static str = "delegate";
    const ABOUT: &'static str = "Post a need with the capabilities it requires; the reply lists matching agents and offers posted.";
    const EXAMPLE: &'static str = "twining delegate \"make the report query fast\" --needs sql --urgency high --scope src/report/";
    const EFFECT: Effect = Effect::Adds;
    const WORDS: &'static [&'static str] = &["summary"];
    const DESCRIBED: &'static [&'static str] = &["summary"];

    type Output = DelegateOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<DelegateOutcome, Failure> {
        ctx.engine.delegate(&ctx.caller, self)
    }

    fn show(delegated: &DelegateOutcome, page: &mut TextPage) {
        page.line([good("asked"), plain(&delegated.id), dim("until"), when(&delegated.expires_at)]);
        found(&delegated.suggested_agents, page);
        let offers = delegated
            .offers
            .iter()
            .map(|offer| vec![dim(&offer.id), strong(&offer.agent_id), plain(&offer.summary)]);
        rows::section(page, "Offers", offers);
    }
}

impl Verb for HandoffInput {
    const NAME: &'static str = "handoff";
    const ABOUT: &'static str = "Hand work over with its results; decisions, warnings and open needs of the scope go with it.";
    const EXAMPLE: &'static str = "twining handoff \"tokens are issued\" --to bob --scope src/auth/ \\
      --result '{\"description\":\"issue tokens\",\"status\":\"completed\"}'";
    const EFFECT: Effect = Effect::Adds;
    const WORDS: &'static [&'static str] = &["summary"];
    const DESCRIBED: &'static [&'static str] = &["target_agent"];

    type Output = HandoffOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<HandoffOutcome, Failure> {
        ctx.engine.handoff(&ctx.caller, self)
    }

    fn show(handed: &HandoffOutcome, page: &mut TextPage) {
        page.line([good("handed over"), plain(&handed.id), dim(&handed.path)]);
        let context = &handed.context_snapshot;
        let counts = [
            (context.decision_ids.len(), "decision"),
            (context.warning_ids.len(), "warning"),
            (context.finding_ids.len(), "finding"),
        ];
        let counts = counts.map(|(number, noun)| count(number as u64, noun)).join(", ");
        page.line([dim(format!("with {counts}"))]);
    }
}

impl Verb for AcknowledgeInput {
    const NAME: &'static str = "acknowledge";
    const ABOUT: &'static str = "Take over a handoff; the reply has its results and context.";
    const EXAMPLE: &'static str = "twining acknowledge 01M7EB3QWY4C5CPJF6982ZJQ18";
    const EFFECT: Effect = Effect::Changes;
    const WORDS: &'static [&'static str] = &["handoff_id"];

    type Output = HandoffSummary;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<HandoffSummary, Failure> {
        ctx.engine.acknowledge(&ctx.caller, self)
    }

    fn show(handoff: &HandoffSummary, page: &mut TextPage) {
        page.line([
            good("taken over"),
            dim("from"),
            plain(&handoff.source_agent),
            strong(&handoff.summary),
        ]);
        let results = handoff.results.iter().map(|result| {
            vec![
                plain(&result.status),
                strong(&result.description),
                dim(result.artifacts.join(" ")),
                dim(result.notes.as_deref().unwrap_or_default()),
            ]
        });
        rows::section(page, "Results", results);
        let lines = handoff.context_snapshot.iter().flat_map(|context| &context.summaries);
        rows::section(page, "Context at handoff", lines.map(|line| vec![plain(line)]));
    }
}

impl Verb for ClaimInput {
    const NAME: &'static str = "claim";
    const ABOUT: &'static str = "Claim paths or a feature before you edit; the claim expires. Error CLAIMED names the holder. Release when done.";
    const EXAMPLE: &'static str = "twining claim src/auth --ttl 2h --why \"rewriting tokens\"";
    const EFFECT: Effect = Effect::Changes;
    const WORDS: &'static [&'static str] = &["paths"];
    const DESCRIBED: &'static [&'static str] = &["ttl"];

    type Output = ClaimOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<ClaimOutcome, Failure> {
        ctx.engine.claim(&ctx.caller, self)
    }

    fn effect(&self) -> Effect {
        if self.action.as_deref() == Some("list") { Effect::Reads } else { Self::EFFECT }
    }

    fn show(outcome: &ClaimOutcome, page: &mut TextPage) {
        if let Some(claim) = &outcome.claim {
            page.line([
                good("claimed"),
                place(claim.paths.join(" ")),
                dim("until"),
                when(&claim.until),
            ]);
        }
        if !outcome.released.is_empty() {
            page.line([good(format!(
                "released {}",
                count(outcome.released.len() as u64, "claim")
            ))]);
        }
        if outcome.claims.is_empty() {
            page.line([dim("no claims")]);
        }
        rows::section(page, "Claims", outcome.claims.iter().map(claim_row));
    }
}
