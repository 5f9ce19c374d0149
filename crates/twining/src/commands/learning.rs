//! Learning: what rules stopped, and the rules made from it.

use twining_engine::{
    CreateGuardInput, CreateGuardOutcome, Failure, GuardSummary, GuardsInput, GuardsOutcome,
    PatternsInput, PatternsOutcome, QueryTracesInput, QueryTracesOutcome, SearchMode,
    StoreTraceInput, StoreTraceOutcome,
};

use super::rows;
use crate::allowances::{Allowance, PersonAllowances};
use crate::project::CommandContext;
use crate::render::text_page::{
    StyledText, TextPage, bad, count, dim, good, plain, strong, warn, when,
};
use crate::verbs::verb::{Effect, Verb};

impl Verb for StoreTraceInput {
    const NAME: &'static str = "store_trace";
    const ABOUT: &'static str =
        "Store a person's correction or a rule you broke. Hooks store blocks automatically.";
    const EXAMPLE: &'static str = "twining store-trace correction \"pushed to main\" --correct \"people push\" --action \"Bash: git push\"";
    const EFFECT: Effect = Effect::Adds;
    const WORDS: &'static [&'static str] = &["type", "what_happened"];
    const DESCRIBED: &'static [&'static str] = &["action"];

    type Output = StoreTraceOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<StoreTraceOutcome, Failure> {
        ctx.engine.store_trace(&ctx.caller, self)
    }

    fn show(stored: &StoreTraceOutcome, page: &mut TextPage) {
        page.line([good("stored"), dim(&stored.id)]);
    }
}

impl Verb for QueryTracesInput {
    const NAME: &'static str = "query_traces";
    const ABOUT: &'static str =
        "Find past violations, corrections and approvals. Call before you decide.";
    const EXAMPLE: &'static str = "twining query-traces \"push to main\" --type correction";
    const EFFECT: Effect = Effect::Reads;
    const WORDS: &'static [&'static str] = &["query"];
    const DESCRIBED: &'static [&'static str] = &["query", "since", "limit"];

    type Output = QueryTracesOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<QueryTracesOutcome, Failure> {
        ctx.engine.query_traces(self)
    }

    fn show(outcome: &QueryTracesOutcome, page: &mut TextPage) {
        if outcome.traces.is_empty() {
            page.line([dim("no traces")]);
        }
        let rows = outcome.traces.iter().map(|hit| {
            let trace = &hit.trace;
            let guard = trace.guard.as_deref().or(trace.action.as_deref()).unwrap_or_default();
            vec![
                dim(&trace.id),
                when(&trace.timestamp),
                kind(&trace.kind, trace.blocked),
                strong(guard),
                dim(&trace.context.agent),
                plain(&trace.event.what_happened),
            ]
        });
        page.table(0, rows);
        if let Some(next) = outcome.next_offset {
            page.line([dim(format!(
                "{} in all; give --offset {next} for more",
                count(outcome.total as u64, "trace")
            ))]);
        }
        if outcome.mode == SearchMode::Keyword
            && outcome.traces.iter().any(|hit| hit.relevance.is_some())
        {
            page.line([dim("searched by keywords only")]);
        }
    }
}

fn kind(word: &str, blocked: bool) -> StyledText {
    match (word, blocked) {
        ("violation", true) => bad("blocked"),
        ("violation", false) => warn("violation"),
        ("approval", _) => good("approval"),
        (word, _) => plain(word),
    }
}

impl Verb for PatternsInput {
    const NAME: &'static str = "extract_patterns";
    const ABOUT: &'static str =
        "Recurring violations by agent, guard or action, and reason, with proposals.";
    const EXAMPLE: &'static str = "twining extract-patterns --threshold 5";
    const EFFECT: Effect = Effect::Reads;
    const DESCRIBED: &'static [&'static str] = &["threshold", "limit"];

    type Output = PatternsOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<PatternsOutcome, Failure> {
        ctx.engine.extract_patterns(&ctx.user_policy(), self)
    }

    fn show(outcome: &PatternsOutcome, page: &mut TextPage) {
        if outcome.patterns.is_empty() {
            page.line([dim(format!(
                "no recurring pattern in {}",
                count(outcome.traces as u64, "trace")
            ))]);
        }
        for pattern in &outcome.patterns {
            let about = pattern.guard.as_deref().unwrap_or(&pattern.action);
            page.line([
                dim(&pattern.id),
                strong(format!("{}×", pattern.count)),
                strong(&pattern.agent),
                plain(about),
            ]);
            page.block(2, &pattern.reason);
            if pattern.counted < pattern.count {
                page.line([dim(format!("  only {} counted", pattern.counted))]);
            }
            match (&pattern.proposal, &pattern.made) {
                (_, Some(made)) => page.line([dim("  guard created from it:"), plain(made)]),
                (Some(proposal), None) => page.line([good("  proposal:"), plain(&proposal.say)]),
                _ => {}
            }
        }
        rows::truncated_note(page, outcome.truncated, "give --limit");
    }
}

impl Verb for CreateGuardInput {
    const NAME: &'static str = "create_guard";
    const ABOUT: &'static str = "Propose a guard from a pattern. It warns until a person promotes it; the answer says what it would have stopped.";
    const EXAMPLE: &'static str =
        "twining create-guard pattern-7c0d5e21b3a4f698 --id no-push --command \"git push\"";
    const EFFECT: Effect = Effect::AddsOnce;
    const WORDS: &'static [&'static str] = &["pattern"];
    const DESCRIBED: &'static [&'static str] = &["commands"];

    type Output = CreateGuardOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<CreateGuardOutcome, Failure> {
        ctx.engine.create_guard(&ctx.caller, &ctx.user_policy(), self)
    }

    fn show(created: &CreateGuardOutcome, page: &mut TextPage) {
        page.line([good("proposed"), strong(&created.id), dim(&created.place)]);
        page.line([dim("backtest:"), plain(created.backtest.summary())]);
        created
            .backtest
            .fine_ones
            .iter()
            .for_each(|call| page.line([warn("  fine:"), plain(call)]));
        created.backtest.others.iter().for_each(|call| page.line([dim("  stopped:"), plain(call)]));
        page.line([dim("next:"), plain(&created.next_step)]);
    }
}

impl Verb for GuardsInput {
    const NAME: &'static str = "guards";
    const ABOUT: &'static str = "List guards: what each does, whether it is proposed, dead or lifted, and how often it fired.";
    const HELP: &'static str = "List guards: what each does, whether it is proposed, dead or lifted, and how often it fired. A person says whether a guard was right with twining_store_trace: type approval (right) or correction (wrong), the guard, and in `about` the id of the guard's trace.";
    const EXAMPLE: &'static str = "twining guards";
    const EFFECT: Effect = Effect::Reads;

    type Output = GuardsOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<GuardsOutcome, Failure> {
        let (allowed, now) =
            (PersonAllowances::read(ctx.engine.store()), ctx.engine.store().ids().now());
        let mut outcome = ctx.engine.guard_report(&ctx.user_policy())?;
        for guard in &mut outcome.guards {
            guard.bypass = allowed.bypass(&guard.id, now).map(Allowance::as_bypass);
        }
        Ok(outcome)
    }

    fn show(outcome: &GuardsOutcome, page: &mut TextPage) {
        let rows = outcome.guards.iter().map(|guard| {
            let standing = match (&guard.dead, &guard.bypass, guard.proposed) {
                (Some(why), ..) => bad(format!("dead: {why}")),
                (None, Some(bypass), _) => warn(bypass.summary()),
                (None, None, true) => warn("proposed"),
                (None, None, false) => plain(&guard.say),
            };
            let fired = if guard.fired == 0 { String::new() } else { fired(guard) };
            let action = plain(guard.action.as_str());
            vec![strong(&guard.id), action, dim(&guard.source), plain(fired), standing]
        });
        page.table(0, rows);
        rows::mistakes(&outcome.mistakes, page);
    }
}

/// How often a guard fired, and what people found.
fn fired(guard: &GuardSummary) -> String {
    let judged = [(guard.right, "right"), (guard.wrong, "wrong")];
    let judged: Vec<String> = judged
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, word)| format!("{number} {word}"))
        .collect();
    let judged =
        if judged.is_empty() { String::new() } else { format!(" ({})", judged.join(", ")) };
    format!("fired {}×{judged}", guard.fired)
}
