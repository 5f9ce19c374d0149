//! Governance: what is asked of agents, and whether it was met.

use twining_engine::governance::PolicySource;
use twining_engine::{
    CheckGatesInput, CheckGatesOutcome, Failure, GateEvidence, GateProfile, GateStatus, GatesInput,
    GatesOutcome, Prompt, PromptInput, RecordTurnInput, RecordTurnOutcome, Role, RoleInput,
    SuggestModeInput, SuggestModeOutcome, TurnsInput, TurnsOutcome,
};

use super::rows;
use crate::project::CommandContext;
use crate::render::command_error::ExitStatus;
use crate::render::text_page::{
    StyledText, TextPage, bad, dim, good, place, plain, strong, warn, when,
};
use crate::verbs::verb::{Effect, Verb};

impl Verb for RoleInput {
    const NAME: &'static str = "role";
    const ABOUT: &'static str = "What a role must do, must not do, must ask about and must escalate. Read yours before you act.";
    const EXAMPLE: &'static str = "twining role coach";
    const EFFECT: Effect = Effect::Reads;
    const WORDS: &'static [&'static str] = &["role"];
    const DESCRIBED: &'static [&'static str] = &["role"];

    type Output = Role;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<Role, Failure> {
        ctx.engine.role(&ctx.user_policy(), self)
    }

    fn show(role: &Role, page: &mut TextPage) {
        page.line([strong(&role.role), dim(&role.id)]);
        for (heading, name, items) in [
            ("Must do", "must_do", &role.must_do),
            ("Must not do", "must_not_do", &role.must_not_do),
            ("Must ask before", "ask_before", &role.ask_before),
            ("Must escalate when", "escalate_when", &role.escalate_when),
        ] {
            let sources = role
                .sources
                .get(name)
                .into_iter()
                .flatten()
                .chain(std::iter::repeat(&PolicySource::DEFAULT));
            rows::section(
                page,
                heading,
                items
                    .iter()
                    .zip(sources)
                    .map(|(item, source)| vec![dim(source.to_string()), plain(item)]),
            );
        }
        rows::mistakes(&role.mistakes, page);
    }
}

impl Verb for GatesInput {
    const NAME: &'static str = "gates";
    const ABOUT: &'static str = "The quality gates a task must pass, by type and complexity, and where each threshold came from.";
    const EXAMPLE: &'static str = "twining gates feature 5";
    const EFFECT: Effect = Effect::Reads;
    const WORDS: &'static [&'static str] = &["task_type", "complexity"];
    const DESCRIBED: &'static [&'static str] = &["task_type", "complexity"];

    type Output = GatesOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<GatesOutcome, Failure> {
        ctx.engine.gates(&ctx.user_policy(), self)
    }

    fn show(outcome: &GatesOutcome, page: &mut TextPage) {
        page.line([
            strong(&outcome.profile.id),
            dim(format!("{}, complexity {}", outcome.task_type, outcome.complexity)),
        ]);
        page.table(2, bars(&outcome.profile));
        outcome.notes.iter().for_each(|note| page.line([warn("note:"), plain(note)]));
        rows::mistakes(&outcome.mistakes, page);
    }
}

/// Each gate, its requirement and the setting's source.
fn bars(profile: &GateProfile) -> Vec<Vec<StyledText>> {
    let source = |names: [&str; 2]| {
        let sources = names.iter().filter_map(|name| profile.sources.get(*name));
        // Of two sources, the explicitly set one is more informative.
        dim(sources.max_by_key(|source| source.layer).map(ToString::to_string).unwrap_or_default())
    };
    let bar = |required: bool, threshold: Option<String>| match (required, threshold) {
        (true, Some(threshold)) => plain(format!("at least {threshold}")),
        (true, None) => plain("required"),
        (false, _) => dim("not required"),
    };
    let tests = match (profile.tests_required, profile.tests_must_pass) {
        (true, true) => plain("required, must pass"),
        (true, false) => plain("required"),
        (false, _) => dim("not required"),
    };
    let arch = profile.arch_review_threshold.map(|threshold| threshold.to_string());
    let coverage = profile.coverage_threshold.map(|threshold| threshold.to_string());
    vec![
        vec![
            plain("architecture"),
            bar(profile.arch_review_required, arch),
            source(["arch_review_required", "arch_review_threshold"]),
        ],
        vec![
            plain("coverage"),
            bar(profile.coverage_required, coverage),
            source(["coverage_required", "coverage_threshold"]),
        ],
        vec![plain("tests"), tests, source(["tests_required", "tests_must_pass"])],
    ]
}

impl Verb for CheckGatesInput {
    const NAME: &'static str = "check_gates";
    const ABOUT: &'static str = "Check a task's quality gates: each is pass, fail or unknown, with what to do next. Unknown is not approval. Give results or report paths.";
    const EXAMPLE: &'static str = "twining check-gates feature 5 --report target/nextest/default/junit.xml,lcov.info --arch-score 72";
    const EFFECT: Effect = Effect::Reads;
    const WORDS: &'static [&'static str] = &["task_type", "complexity"];
    const DESCRIBED: &'static [&'static str] = &["complexity", "reports", "results"];

    type Output = CheckGatesOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<CheckGatesOutcome, Failure> {
        ctx.engine.check_gates(&ctx.user_policy(), ctx.checkout, self)
    }

    fn show(checked: &CheckGatesOutcome, page: &mut TextPage) {
        page.line([standing(checked.overall), plain(&checked.profile.id)]);
        let rows = checked.gates.iter().map(|gate| {
            let evidence = match gate.evidence {
                GateEvidence::Report => "report",
                GateEvidence::Claimed => "claimed",
                GateEvidence::None => "",
            };
            vec![standing(gate.standing), plain(gate.gate), dim(evidence), plain(&gate.reason)]
        });
        page.table(2, rows);
        page.heading("Next");
        page.table(2, checked.next.iter().map(|next| vec![plain(next)]));
        checked.notes.iter().for_each(|note| page.line([warn("note:"), plain(note)]));
        rows::mistakes(&checked.mistakes, page);
    }

    fn ending(checked: &CheckGatesOutcome) -> ExitStatus {
        if checked.approved { ExitStatus::Done } else { ExitStatus::FoundProblems }
    }
}

fn standing(standing: GateStatus) -> StyledText {
    match standing {
        GateStatus::Pass => good(standing.as_str()),
        GateStatus::Unknown => warn(standing.as_str()),
        GateStatus::Fail => bad(standing.as_str()),
    }
}

impl Verb for PromptInput {
    const NAME: &'static str = "prompt";
    const ABOUT: &'static str = "The prompt for an agent in a role, within a token budget: role, quality gates, previous turn, mode, decisions and warnings in scope.";
    const EXAMPLE: &'static str =
        "twining prompt coach --task TASK-GE-001 --task-type feature --complexity 5 --turn 2";
    const EFFECT: Effect = Effect::Reads;
    const WORDS: &'static [&'static str] = &["role"];
    const DESCRIBED: &'static [&'static str] = &["role", "turn"];

    type Output = Prompt;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<Prompt, Failure> {
        ctx.engine.prompt(&ctx.user_policy(), self)
    }

    fn show(prompt: &Prompt, page: &mut TextPage) {
        // Nothing but the prompt: it is pasted, or put before a model by a hook.
        page.verbatim(&prompt.text);
    }
}

impl Verb for RecordTurnInput {
    const NAME: &'static str = "record_turn";
    const ABOUT: &'static str = "Record the result of a player-coach turn once the coach has judged it; the next turn's prompt shows it. Repeating a turn updates it.";
    const EXAMPLE: &'static str = "twining record-turn TASK-GE-001 2 --player-decision \"Added logout\" --coach-decision revise \\
      --progress-summary \"Timeout is open\" --criterion login=verified --criterion timeout=pending";
    const EFFECT: Effect = Effect::Changes;
    const WORDS: &'static [&'static str] = &["task", "turn"];
    const DESCRIBED: &'static [&'static str] = &["player_decision", "acceptance_criteria_status"];

    type Output = RecordTurnOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<RecordTurnOutcome, Failure> {
        ctx.engine.record_turn(&ctx.caller, self)
    }

    fn show(recorded: &RecordTurnOutcome, page: &mut TextPage) {
        let did = if recorded.updated { "updated" } else { "recorded" };
        page.line([good(did), plain(&recorded.id), place(&recorded.path)]);
        recorded.notes.iter().for_each(|note| page.line([warn("note:"), plain(note)]));
        recorded.pruned.iter().for_each(|path| page.line([dim("pruned:"), place(path)]));
    }
}

impl Verb for TurnsInput {
    const NAME: &'static str = "turns";
    const ABOUT: &'static str = "Results of a feature's earlier player-coach turns, oldest first.";
    const EXAMPLE: &'static str = "twining turns FEAT-GE --task TASK-GE-001 --last 3";
    const EFFECT: Effect = Effect::Reads;
    const WORDS: &'static [&'static str] = &["feature"];

    type Output = TurnsOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<TurnsOutcome, Failure> {
        ctx.engine.turns(self)
    }

    fn show(outcome: &TurnsOutcome, page: &mut TextPage) {
        if outcome.turns.is_empty() {
            page.line([dim("no turns")]);
        }
        for turn in &outcome.turns {
            page.table(
                0,
                [vec![
                    dim(&turn.id),
                    when(&turn.timestamp),
                    verdict(&turn.coach_decision),
                    strong(&turn.player_decision),
                ]],
            );
            page.block(2, &turn.progress_summary);
            page.block(2, &turn.coach_feedback);
        }
        rows::truncated_note(page, outcome.truncated, "give --last");
        let unreadable =
            outcome.unreadable.iter().map(|file| vec![place(&file.file), plain(&file.why)]);
        rows::section(page, "Skipped: not valid turns", unreadable);
    }
}

fn verdict(word: &str) -> StyledText {
    match word {
        "approve" => good(word),
        "escalate" => bad(word),
        _ => warn(word),
    }
}

impl Verb for SuggestModeInput {
    const NAME: &'static str = "suggest_mode";
    const ABOUT: &'static str =
        "How much ceremony fits a task: mode, when to use it, pitfalls. Advice, not a gate.";
    const EXAMPLE: &'static str = "twining suggest-mode feature 3";
    const EFFECT: Effect = Effect::Reads;
    const WORDS: &'static [&'static str] = &["task_type", "complexity"];
    const DESCRIBED: &'static [&'static str] = &["complexity"];

    type Output = SuggestModeOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<SuggestModeOutcome, Failure> {
        ctx.engine.suggest_mode(&ctx.user_policy(), self)
    }

    fn show(suggested: &SuggestModeOutcome, page: &mut TextPage) {
        match &suggested.suggestion {
            Some(mode) => {
                page.line([
                    plain("Suggested process:"),
                    strong(mode.ceremony.as_str()),
                    dim(format!("(mode {}; advice only)", mode.mode)),
                ]);
                rows::section(
                    page,
                    "Meant for",
                    mode.when_to_use.iter().map(|item| vec![plain(item)]),
                );
                rows::section(page, "Beware", mode.pitfalls.iter().map(|item| vec![plain(item)]));
            }
            None => page.line([dim("no mode is defined")]),
        }
        suggested.notes.iter().for_each(|note| page.line([warn("note:"), plain(note)]));
        rows::mistakes(&suggested.mistakes, page);
    }
}
