//! Decisions: what was chosen, and why.

use clap::{ArgMatches, Command};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use twining_engine::{
    Changes, CommitsInput, CommitsOutcome, DecideInput, DecideOutcome, DecisionRivals,
    DecisionsInput, DecisionsOutcome, Failure, LinkCommitInput, LinkCommitOutcome, OverrideInput,
    OverrideOutcome, PromoteInput, PromoteOutcome, ReconsiderInput, ReconsiderOutcome,
    RenameHistory, SearchDecisionsInput, SearchDecisionsOutcome, TraceInput, TraceOutcome,
    WhyDecision, WhyInput, WhyOutcome, WhySections, WhyWarning,
};
use twining_model::text::excerpt;
use twining_model::{Authority, Id, InvalidInput, Trust};

use super::anchors::{ASSUMED, code_hint, code_line, show_anchors};
use super::{decision_form, rows};
use crate::project::CommandContext;
use crate::render::command_error::CommandError;
use crate::render::text_page::{
    TextPage, bad, count, dim, good, place, plain, standing, strong, warn, when,
};
use crate::verbs::verb::{Effect, Verb};
use crate::{args, person_check};

const EDIT: &str = "edit";

impl Verb for DecideInput {
    const NAME: &'static str = "decide";
    const ABOUT: &'static str = "Record a choice other agents must follow, with its reasons and the options rejected. The reply names decisions it conflicts with: tell the user.";
    const HELP: &'static str = "Record a choice other agents must follow, with its reasons and the options rejected. If it contradicts a decision in force, the reply names that one, and a person settles it.";
    const EXAMPLE: &'static str =
        "twining decide \"Use JWT\" --why \"no session store to run\" --rules-out express-session";
    const EFFECT: Effect = Effect::Adds;
    const ALWAYS_LOADED: bool = true;
    const WORDS: &'static [&'static str] = &["summary"];
    const DESCRIBED: &'static [&'static str] = &[
        "summary",
        "domain",
        "scope",
        "context",
        "rationale",
        "depends_on",
        "supersedes",
        "agent_id",
    ];

    type Output = DecideOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<DecideOutcome, Failure> {
        ctx.engine.decide(&ctx.caller, self)
    }

    /// Only at a command line: a model writes its fields in one go.
    fn flags(command: Command) -> Command {
        command.arg(args::switch(EDIT, "Write it in $EDITOR, beginning with what is given"))
    }

    fn ask(
        mut given: Map<String, Value>,
        flags: &ArgMatches,
    ) -> Result<Map<String, Value>, CommandError> {
        let has_editor = decision_form::editor().is_some();
        if flags.get_flag(EDIT) || (has_editor && !given.contains_key("summary")) {
            return decision_form::edit(given);
        }
        for (field, question) in [("summary", "The choice, in one line"), ("rationale", "Why")] {
            if !given.contains_key(field) {
                let answer = person_check::ask(question)?;
                if answer.trim().is_empty() {
                    return Err(CommandError::misuse("nothing was recorded".to_owned()));
                }
                given.insert(field.to_owned(), answer.into());
            }
        }
        Ok(given)
    }

    fn show(decided: &DecideOutcome, page: &mut TextPage) {
        page.line([good("decided"), plain(&decided.id), standing(decided.status)]);
        if !decided.rules_out.is_empty() {
            page.line([dim("rules out"), plain(decided.rules_out.join(", "))]);
        }
        if let Some(old) = &decided.superseded {
            page.line([dim("replaces"), plain(old)]);
        }
        if let Some(still) = &decided.still_ruled_out {
            page.line([warn(still)]);
        }
        show_anchors(&decided.anchored, &decided.unresolved, &decided.beside, page);
        for rival in &decided.conflicts {
            page.line([
                warn("Not in force yet: it contradicts"),
                strong(format!("\"{}\"", rival.summary)),
                dim(format!("({}, {})", rival.id, rival.scope)),
            ]);
            page.block(2, &rival.rationale);
        }
        if let Some(rival) = decided.conflicts.first() {
            let (old, new) = (&rival.id, &decided.id);
            page.line([dim(format!(
                "To keep this one: twining promote {new} --instead-of {old} --why \"…\"; to keep both: twining promote {new} --why \"…\""
            ))]);
        }
        if decided.omitted_conflicts > 0 {
            page.line([warn(format!("and with {} more", decided.omitted_conflicts))]);
        }
    }
}

/// The answer and its subject.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WhyAnswer {
    #[serde(flatten)]
    outcome: WhyOutcome,
    #[serde(flatten)]
    sections: WhySections,
    /// The files changed in the working tree, where neither a scope nor a commit was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed_files: Option<Vec<String>>,
    #[serde(skip)]
    asked: String,
    #[serde(skip)]
    is_commit: bool,
}

/// Changed files that are named.
const FILES_NAMED: usize = 5;
/// Changed files that are asked about.
const FILES_ASKED: usize = 100;

impl Verb for WhyInput {
    const NAME: &'static str = "why";
    const ABOUT: &'static str = "Decisions that apply to a file, directory, module or symbol, with reasons. Call before you change it.";
    const EXAMPLE: &'static str = "twining why src/auth/";
    const EFFECT: Effect = Effect::Reads;
    const WORDS: &'static [&'static str] = &["scope"];
    const DESCRIBED: &'static [&'static str] = &["scope", "limit", "include_retired"];

    type Output = WhyAnswer;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<WhyAnswer, Failure> {
        if let Some(commit) = &self.commit {
            if self.scope.is_some() {
                return Err(InvalidInput::new(
                    "commit",
                    "cannot be combined with scope: give one of them",
                )
                .into());
            }
            let outcome =
                ctx.engine.why_commit(commit, self.limit, ctx.history.commit(commit).as_ref())?;
            let asked = commit.clone();
            let sections = WhySections::default();
            let changed_files = None;
            return Ok(WhyAnswer { outcome, sections, changed_files, asked, is_commit: true });
        }
        let Some(asked) = self.scope.clone() else { return why_changed(self, ctx) };
        let moves = moves_to_head(ctx);
        let outcome = ctx.engine.why_through(self, &moves)?;
        let sections = ctx.engine.why_sections(&ctx.user_policy(), &asked, &outcome, &moves)?;
        Ok(WhyAnswer { outcome, sections, changed_files: None, asked, is_commit: false })
    }

    fn flags(command: Command) -> Command {
        args::with_as_of(command)
    }

    fn show(explained: &WhyAnswer, page: &mut TextPage) {
        let outcome = &explained.outcome;
        for file in &outcome.unreadable {
            page.line([warn("cannot be read:"), place(file), dim("`twining status` shows why")]);
        }
        if outcome.total_count == 0 && explained.is_commit {
            page.line([dim("no decision is linked to commit"), place(&explained.asked)]);
            return;
        }
        if explained.changed_files.as_ref().is_some_and(Vec::is_empty) {
            page.line([dim("no file is changed here; name one: twining why src/auth/")]);
            return;
        }
        if outcome.total_count == 0 {
            page.line([dim("no decision applies to"), place(&explained.asked), dim("yet")]);
            show_warnings(&outcome.warnings, page);
            show_sections(&explained.sections, page);
            return;
        }
        let files = explained.changed_files.iter().flatten().take(FILES_NAMED);
        if let Some(all) = explained.changed_files.as_ref().map(Vec::len) {
            let more = if all > FILES_NAMED { ", …" } else { "" };
            let named: Vec<&str> = files.map(String::as_str).collect();
            page.line([
                dim(format!("For {}:", count(all as u64, "changed file"))),
                place(format!("{}{more}", named.join(", "))),
            ]);
        }
        let applies = if outcome.total_count == 1 { "applies" } else { "apply" };
        let total = format!("{} {applies}", count(outcome.total_count, "decision"));
        let waiting = match outcome.provisional_count {
            0 => None,
            1 => Some(warn("1 is provisional: a person has to settle it")),
            many => Some(warn(format!("{many} are provisional: a person has to settle them"))),
        };
        let end = if waiting.is_some() { ";" } else { "" };
        page.line([strong(format!("{total}{end}"))].into_iter().chain(waiting));
        for decision in &outcome.decisions {
            show_decision(decision, page);
        }
        show_warnings(&outcome.warnings, page);
        show_sections(&explained.sections, page);
        if outcome.omitted_count > 0 {
            page.blank();
            page.line([dim(format!(
                "{} left out; raise --limit or ask for a narrower scope",
                outcome.omitted_count
            ))]);
        }
    }
}

/// What bears on the files that the working tree changed.
fn why_changed(input: &WhyInput, ctx: &CommandContext<'_>) -> Result<WhyAnswer, Failure> {
    let mut files = ctx.history.changed_files("HEAD", None).unwrap_or_default();
    files.retain(|file| !file.starts_with(".twining/"));
    files.truncate(FILES_ASKED);
    let outcome = ctx.engine.why_files(&files, input, &moves_to_head(ctx))?;
    let asked = files.join(", ");
    let sections = WhySections::default();
    Ok(WhyAnswer { outcome, sections, changed_files: Some(files), asked, is_commit: false })
}

fn show_sections(sections: &WhySections, page: &mut TextPage) {
    let rules = sections.rules.iter().map(|rule| vec![strong(&rule.id), plain(&rule.say)]);
    rows::section(page, "Rules", rules);
    let evidence = sections.evidence.iter().map(|shown| {
        let by = shown.command.as_ref().or(shown.run.as_ref());
        let by = by.map(|by| format!("shown by {by}")).unwrap_or_default();
        vec![plain(&shown.feature), dim(shown.status.as_str()), dim(by)]
    });
    rows::section(page, "Features", evidence);
    let traces = sections.traces.iter().map(|trace| {
        let guard = trace.guard.as_deref().unwrap_or_default();
        vec![dim(&trace.id), plain(&trace.what), dim(guard), when(&trace.timestamp)]
    });
    rows::section(page, "Stopped here", traces);
    let commits = sections.commits.iter().map(|commit| {
        let hash = commit.commit.get(..7).unwrap_or(&commit.commit);
        let decision = commit.decision.as_deref().unwrap_or_default();
        vec![dim(hash), plain(&commit.subject), when(&commit.timestamp), dim(decision)]
    });
    rows::section(page, "Commits", commits);
    let moved = sections.moved.iter().map(|moved| {
        let id = moved.id.as_deref().unwrap_or_default();
        vec![place(&moved.from), dim("->"), place(&moved.to), dim(id)]
    });
    rows::section(page, "Moved", moved);
}

/// How a decision came to be listed, for a person.
fn matched(how: &str) -> &str {
    match how {
        "exact" => "about exactly this",
        "around" | "project" => "covers this",
        "inside" => "about a part of this",
        "file" => "names this file",
        "symbol" => "names this symbol",
        "moved" => "about its former path",
        "linked" => "linked to this commit",
        "trailer" => "named in the commit message",
        "files" => "about files of this commit",
        other => other,
    }
}

fn show_warnings(warnings: &[WhyWarning], page: &mut TextPage) {
    if !warnings.is_empty() {
        page.heading("Warnings");
    }
    for warning in warnings {
        page.table(
            2,
            [vec![
                dim(&warning.id),
                warn(&warning.summary),
                when(&warning.timestamp),
                dim(format!("by {}", warning.agent_id)),
            ]],
        );
        if let Some(note) = &warning.code {
            page.table(4, [code_line(note)]);
        }
    }
}

fn show_decision(decision: &WhyDecision, page: &mut TextPage) {
    page.blank();
    page.line([strong(&decision.summary)]);
    let about = [
        standing(decision.status),
        plain(decision.confidence.as_str()),
        place(&decision.scope),
        dim(match decision.assumed {
            true => format!("({}) {ASSUMED}", matched(&decision.matched)),
            false => format!("({})", matched(&decision.matched)),
        }),
        when(&decision.timestamp),
        dim(&decision.id),
        dim(format!(
            "by {} ({}, {})",
            decision.agent_id,
            decision.origin.trust.as_str(),
            decision.origin.via.as_str()
        )),
    ];
    page.table(2, [about.to_vec()]);
    page.block(2, &decision.rationale);
    let mut notes = Vec::new();
    if !decision.rules_out.is_empty() {
        notes.push(vec![dim("rules out"), plain(decision.rules_out.join(", "))]);
    }
    if decision.alternatives_count > 0 {
        notes.push(vec![dim(format!(
            "{} rejected",
            count(decision.alternatives_count, "alternative")
        ))]);
    }
    notes.extend(decision.contested_by.iter().map(|id| vec![warn(format!("contested by {id}"))]));
    notes.extend(decision.merge_clashes.iter().map(|clash| {
        vec![warn(format!("another branch has a different {}:", clash.field)), plain(&clash.other)]
    }));
    notes.extend(decision.superseded_by.iter().map(|id| vec![dim(format!("superseded by {id}"))]));
    notes.extend(
        decision.override_reason.iter().map(|reason| vec![warn(format!("overridden: {reason}"))]),
    );
    notes.extend(decision.commit_hashes.iter().map(|hash| vec![dim(format!("commit {hash}"))]));
    page.table(2, notes);
    if let Some(note) = &decision.code {
        page.table(2, [code_line(note)]);
        if let Some(hint) = code_hint(decision.id.as_str(), note) {
            page.table(4, [vec![hint]]);
        }
    }
}

impl Verb for TraceInput {
    const NAME: &'static str = "trace";
    const ABOUT: &'static str = "A decision's dependencies and dependents.";
    const EXAMPLE: &'static str = "twining trace 01M7EB3QWY4C5CPJF6982ZJQ18 --direction upstream";
    const EFFECT: Effect = Effect::Reads;
    const WORDS: &'static [&'static str] = &["decision_id"];

    type Output = TraceOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<TraceOutcome, Failure> {
        ctx.engine.trace(self)
    }

    fn flags(command: Command) -> Command {
        args::with_as_of(command)
    }

    fn show(outcome: &TraceOutcome, page: &mut TextPage) {
        for link in &outcome.chain {
            page.table(0, [vec![dim(&link.id), standing(link.status), strong(&link.summary)]]);
            let below = link.depends_on.iter().map(|id| vec![dim("depends on"), plain(id)]);
            let above = link.dependents.iter().map(|id| vec![dim("carries"), plain(id)]);
            page.table(2, below.chain(above));
        }
        page.table(0, outcome.missing.iter().map(|id| vec![bad("missing"), plain(id)]));
        if outcome.truncated {
            page.line([dim("the chain continues; trace again from its last decision")]);
        }
    }
}

impl Verb for ReconsiderInput {
    const NAME: &'static str = "reconsider";
    const ABOUT: &'static str = "Flag a decision for review because something changed; it becomes provisional and the team is warned.";
    const EXAMPLE: &'static str = "twining reconsider 01M7EB3QWY4C5CPJF6982ZJQ18 --why \"The library is no longer maintained\"";
    const EFFECT: Effect = Effect::Changes;
    const WORDS: &'static [&'static str] = &["decision_id"];
    const DESCRIBED: &'static [&'static str] = &["new_context", "agent_id"];

    type Output = ReconsiderOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<ReconsiderOutcome, Failure> {
        ctx.engine.reconsider(&ctx.caller, self)
    }

    fn show(outcome: &ReconsiderOutcome, page: &mut TextPage) {
        let standing = if outcome.flagged {
            good("now provisional:")
        } else {
            warn("noted; it was not active:")
        };
        page.line([standing, plain(&outcome.decision_summary)]);
        if let Some(note) = &outcome.note {
            page.block(2, note);
        }
        page.table(2, outcome.dependents.iter().map(|id| vec![dim("depends on it:"), plain(id)]));
    }
}

/// Characters of each text that a person is asked about.
const SHOWN: usize = 400;

/// Who wants to override what: the person who is asked, or their agent.
fn asks_to_override(ctx: &CommandContext<'_>, what: &str) -> String {
    match ctx.caller.origin.trust {
        Trust::Human => format!("You are about to override {what} of this project."),
        _ => format!("An agent wants to override {what} of this project."),
    }
}

impl Verb for OverrideInput {
    const NAME: &'static str = "override";
    const ABOUT: &'static str = "Record that a person rejects a decision. Only if the user asks; it stays flagged until they confirm it.";
    const EXAMPLE: &'static str = "twining override 01M7EB3QWY4C5CPJF6982ZJQ18 --why \"We stay on sessions\" --new-decision \"Keep sessions\"";
    const EFFECT: Effect = Effect::Changes;
    const ASKS: bool = true;
    const WORDS: &'static [&'static str] = &["decision_id"];
    const DESCRIBED: &'static [&'static str] =
        &["reason", "new_decision", "overridden_by", "agent_id"];

    type Output = OverrideOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<OverrideOutcome, Failure> {
        must_be_confirmed("override", ctx)?;
        ctx.engine.override_decision(&ctx.caller, ctx.authority, self)
    }

    fn question(&self, ctx: &CommandContext<'_>) -> Option<String> {
        let decision = ctx.engine.override_in_question(self).ok()??;
        let mut lines = vec![
            asks_to_override(ctx, "a decision"),
            format!("Decision: {}", excerpt(&decision.summary, SHOWN)),
            format!("Why it was made: {}", excerpt(&decision.rationale, SHOWN)),
            format!("Why it is to be overridden: {}", excerpt(&self.reason, SHOWN)),
        ];
        lines.extend(
            self.new_decision
                .iter()
                .map(|instead| format!("Replacement decision: {}", excerpt(instead, SHOWN))),
        );
        Some(lines.join("\n"))
    }

    fn confirm_name(&self) -> Option<String> {
        Some(self.decision_id.clone())
    }

    fn show(outcome: &OverrideOutcome, page: &mut TextPage) {
        let done = match (outcome.overridden, outcome.authority) {
            (false, _) => dim("already overridden:"),
            (true, Authority::Claimed) => good("overridden:"),
            (true, Authority::Confirmed) => good("overridden and confirmed:"),
        };
        page.line([done, plain(&outcome.old_summary)]);
        page.table(
            0,
            outcome.also_overridden.iter().map(|id| vec![good("overridden too"), plain(id)]),
        );
        if let Some(id) = &outcome.replacement {
            page.line([dim("replaced by"), plain(id)]);
        }
        if outcome.authority == Authority::Claimed {
            page.line([warn(unconfirmed(outcome.hint))]);
        }
    }
}

/// What is left to do about what nobody has confirmed.
fn unconfirmed(hint: Option<&str>) -> String {
    let anybody = "a person must repeat it at a terminal to confirm it";
    format!("unconfirmed: {}", hint.unwrap_or(anybody))
}

/// Refuses an override that only an agent claims, where the policy wants a person's word.
fn must_be_confirmed(field: &'static str, ctx: &CommandContext<'_>) -> Result<(), InvalidInput> {
    if ctx.authority == Authority::Claimed
        && ctx.engine.policy(&ctx.user_policy()).wants_confirmed_overrides()
    {
        return Err(InvalidInput::new(field, "must be confirmed by a person")
            .because("the policy sets `overrides: confirmed`; the user must run it at a terminal or confirm it in an MCP client that supports elicitation"));
    }
    Ok(())
}

impl Verb for PromoteInput {
    const NAME: &'static str = "promote";
    const ABOUT: &'static str =
        "Make provisional decisions active, once the user has settled a conflict.";
    const HELP: &'static str = "Make provisional decisions active, once a conflict is settled. With --instead-of, the rivals are overridden in the same step; with --why alone, both sides are kept on purpose.";
    const EXAMPLE: &'static str = "twining promote 01M7EB3QWY4C5CPJF6982ZJQ18 --instead-of 01M7EB3QY8BCK1T7V2TH9HG8T6 --why \"We must be able to log people out\"";
    const EFFECT: Effect = Effect::Changes;
    const ASKS: bool = true;
    const WORDS: &'static [&'static str] = &["decision_ids"];
    const DESCRIBED: &'static [&'static str] = &["instead_of", "promoted_by", "agent_id"];

    type Output = PromoteOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<PromoteOutcome, Failure> {
        if !self.instead_of.is_empty() {
            must_be_confirmed("instead_of", ctx)?;
        }
        ctx.engine.promote(&ctx.caller, ctx.authority, self)
    }

    fn question(&self, ctx: &CommandContext<'_>) -> Option<String> {
        let rivals = ctx.engine.promotion_in_question(self).ok()?;
        let reason = self.reason.as_deref().filter(|_| !rivals.is_empty())?;
        let mut lines = vec![asks_to_override(ctx, "decisions")];
        for decision in &rivals {
            lines.push(format!("Decision: {}", excerpt(&decision.summary, SHOWN)));
            lines.push(format!("Why it was made: {}", excerpt(&decision.rationale, SHOWN)));
        }
        lines.push(format!("In force instead: {}", self.decision_ids.join(", ")));
        lines.push(format!("Why: {}", excerpt(reason, SHOWN)));
        Some(lines.join("\n"))
    }

    fn confirm_name(&self) -> Option<String> {
        self.instead_of.first().cloned()
    }

    fn show(outcome: &PromoteOutcome, page: &mut TextPage) {
        let promoted = outcome.promoted.iter().map(|id| vec![good("active"), plain(id)]);
        let before = outcome.already_active.iter().map(|id| vec![dim("already active"), plain(id)]);
        let refused = outcome
            .refused
            .iter()
            .map(|refused| vec![bad("refused"), plain(&refused.id), plain(&refused.reason)]);
        let rivals = outcome.overridden.iter().map(|id| vec![good("overridden"), plain(id)]);
        page.table(0, promoted.chain(before).chain(rivals).chain(refused));
        if outcome.authority == Some(Authority::Claimed) && !outcome.overridden.is_empty() {
            page.line([warn(unconfirmed(outcome.hint))]);
        }
        let ids = |ids: &[Id]| ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        for DecisionRivals { id, rivals } in &outcome.contested {
            let others = plain(ids(rivals));
            page.line([warn("contested:"), plain(id), dim("disagrees with"), others]);
        }
        for DecisionRivals { id, rivals } in &outcome.kept_beside {
            let others = plain(ids(rivals));
            page.line([good("compatible:"), plain(id), dim("is kept beside"), others]);
        }
    }
}

impl Verb for DecisionsInput {
    const NAME: &'static str = "decisions";
    const ABOUT: &'static str = "List decisions, newest first, by status, domain, scope or author.";
    const EXAMPLE: &'static str = "twining decisions --status active --scope src/auth/";
    const EFFECT: Effect = Effect::Reads;
    const DESCRIBED: &'static [&'static str] = &["contested", "query"];

    type Output = DecisionsOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<DecisionsOutcome, Failure> {
        ctx.engine.decisions(self)
    }

    fn show(outcome: &DecisionsOutcome, page: &mut TextPage) {
        if outcome.decisions.is_empty() {
            page.line([dim("no decisions")]);
        }
        let rows = outcome.decisions.iter().map(|decision| {
            let contested = if decision.contested_by.is_empty() { "" } else { "contested" };
            vec![
                dim(&decision.id),
                when(&decision.at),
                standing(decision.status),
                place(&decision.scope),
                dim(&decision.domain),
                dim(&decision.by),
                strong(&decision.summary),
                warn(contested),
            ]
        });
        page.table(0, rows);
        if let Some(next) = outcome.next_offset {
            let all = count(outcome.total, "decision");
            page.line([dim(format!("{all} in all; give --offset {next} for more"))]);
        }
    }
}

impl Verb for SearchDecisionsInput {
    const NAME: &'static str = "search_decisions";
    const ABOUT: &'static str =
        "Search decisions in any scope, by words and meaning, best match first.";
    const EXAMPLE: &'static str = "twining search-decisions \"session storage\" --status active";
    const EFFECT: Effect = Effect::Reads;
    const WORDS: &'static [&'static str] = &["query"];
    const DESCRIBED: &'static [&'static str] = &["query", "since", "limit"];

    type Output = SearchDecisionsOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<SearchDecisionsOutcome, Failure> {
        ctx.engine.search_decisions(self)
    }

    fn flags(command: Command) -> Command {
        args::with_as_of(command)
    }

    fn show(outcome: &SearchDecisionsOutcome, page: &mut TextPage) {
        rows::hits(
            outcome.results.iter().map(|hit| {
                let row = rows::decision_row(&hit.decision);
                (hit.relevance, rows::labelled(row, hit.code.as_ref()))
            }),
            page,
        );
        rows::stale(page, outcome.stale_count);
        rows::embedding(page, outcome.mode, outcome.not_yet_embedded);
        rows::truncated_note(page, outcome.truncated, "narrow the search");
    }
}

impl Verb for LinkCommitInput {
    const NAME: &'static str = "link_commit";
    const ABOUT: &'static str = "Record that a commit implements a decision.";
    const EXAMPLE: &'static str = "twining link-commit 01M7EB3QWY4C5CPJF6982ZJQ18 3f2a91c";
    const EFFECT: Effect = Effect::AddsOnce;
    const WORDS: &'static [&'static str] = &["decision_id", "commit_hash"];
    const DESCRIBED: &'static [&'static str] = &["summary", "agent_id"];

    type Output = LinkCommitOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<LinkCommitOutcome, Failure> {
        ctx.engine.link_commit(&ctx.caller, self)
    }

    fn show(outcome: &LinkCommitOutcome, page: &mut TextPage) {
        let state = if outcome.linked { good("linked") } else { dim("already linked") };
        page.line([
            state,
            plain(&outcome.commit_hash),
            dim("to"),
            plain(&outcome.decision_summary),
        ]);
    }
}

impl Verb for CommitsInput {
    const NAME: &'static str = "commits";
    const ABOUT: &'static str = "The decisions a commit implements.";
    const EXAMPLE: &'static str = "twining commits 3f2a91c";
    const EFFECT: Effect = Effect::Reads;
    const WORDS: &'static [&'static str] = &["commit_hash"];
    const DESCRIBED: &'static [&'static str] = &["commit_hash"];

    type Output = CommitsOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<CommitsOutcome, Failure> {
        ctx.engine.commits(self)
    }

    fn show(outcome: &CommitsOutcome, page: &mut TextPage) {
        if outcome.decisions.is_empty() {
            page.line([dim("no decision is linked to"), plain(&outcome.commit_hash)]);
        }
        let rows = outcome.decisions.iter().map(|decision| {
            vec![
                dim(&decision.id),
                standing(decision.status),
                place(&decision.scope),
                dim(&decision.commit_hash),
                plain(&decision.summary),
            ]
        });
        page.table(0, rows);
    }
}

/// The note of what is known, which all sessions share.
const KEPT: &str = "shared-moves";

/// Every rename up to the checked-out commit; empty if git cannot report them.
pub(super) fn moves_to_head(ctx: &CommandContext<'_>) -> RenameHistory {
    let store = ctx.engine.store();
    if store.location().git_dir.is_none() {
        return RenameHistory::default();
    }
    let Some(head) = ctx.history.head() else { return RenameHistory::default() };
    let known: RenameHistory = store.local_state().read_json(KEPT).unwrap_or_default();
    if known.head == head {
        return known;
    }
    // A branch that does not go on from there has a past of its own.
    let goes_on = !known.head.is_empty() && ctx.history.is_before(&known.head, &head);
    let since =
        goes_on.then_some(known.head.as_str()).filter(|since| ctx.history.revision(since).is_ok());
    let Some(fresh) = ctx.history.moves(since) else { return known };
    let moves = if since.is_some() {
        known.clone().up_to(&head, fresh)
    } else {
        RenameHistory::default().up_to(&head, fresh)
    };
    // If it cannot be kept, the next call asks again.
    store.local_state().write_json(KEPT, &moves);
    moves
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_tells_a_claim_a_confirmation_and_a_repetition_apart() {
        let shown = |overridden, authority| {
            let mut page = TextPage::default();
            OverrideInput::show(
                &OverrideOutcome {
                    overridden,
                    old_summary: "Use JWT".to_owned(),
                    authority,
                    hint: None,
                    replacement: None,
                    also_overridden: vec![],
                    redacted: vec![],
                },
                &mut page,
            );
            anstream::adapter::strip_str(page.as_str()).to_string()
        };
        assert!(shown(true, Authority::Claimed).starts_with("overridden: Use JWT\nunconfirmed: "));
        assert_eq!(shown(true, Authority::Confirmed), "overridden and confirmed: Use JWT\n");
        assert_eq!(shown(false, Authority::Confirmed), "already overridden: Use JWT\n");
    }
}
