//! The blackboard: messages between agents.

use twining_engine::{
    DismissInput, DismissOutcome, Failure, Labelled, PostInput, PostOutcome, QueryInput,
    QueryOutcome, ReadInput, ReadOutcome, RecentInput, RecentOutcome,
};

use super::anchors::{code_line, show_anchors};
use super::rows;
use crate::project::CommandContext;
use crate::render::text_page::{TextPage, bad, dim, good, plain, strong, warn, when};
use crate::verbs::verb::{Effect, Verb};

impl Verb for PostInput {
    const NAME: &'static str = "post";
    const ABOUT: &'static str = "Tell the other agents something: findings and warnings as you meet them, needs, questions, answers, status. Choices go to twining_decide.";
    const EXAMPLE: &'static str =
        "twining post warning \"Token clock skew is 5 minutes\" --scope src/auth/ --tag auth";
    const EFFECT: Effect = Effect::Adds;
    const ALWAYS_LOADED: bool = true;
    const WORDS: &'static [&'static str] = &["entry_type", "summary"];
    const DESCRIBED: &'static [&'static str] =
        &["summary", "detail", "scope", "relates_to", "agent_id"];

    type Output = PostOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<PostOutcome, Failure> {
        ctx.engine.post(&ctx.caller, self)
    }

    fn show(posted: &PostOutcome, page: &mut TextPage) {
        let note = posted.note.as_deref().unwrap_or_default();
        if posted.duplicate_of.is_some() {
            page.line([warn("not posted"), plain(&posted.id), dim(note)]);
            return;
        }
        page.line([good("posted"), plain(&posted.id), dim("at"), when(&posted.timestamp)]);
        if !note.is_empty() {
            page.line([warn("but:"), dim(note)]);
        }
        show_anchors(&posted.anchored, &posted.unresolved, &posted.beside, page);
    }
}

impl Verb for ReadInput {
    const NAME: &'static str = "read";
    const ABOUT: &'static str = "Read filtered blackboard entries: the newest, oldest first.";
    const EXAMPLE: &'static str =
        "twining read --type need,warning --scope src/auth/ --since 2026-11-01";
    const EFFECT: Effect = Effect::Reads;
    const WORDS: &'static [&'static str] = &["scope"];
    const DESCRIBED: &'static [&'static str] = &["tags", "scope", "since", "limit", "ids"];

    type Output = ReadOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<ReadOutcome, Failure> {
        ctx.engine.read(self)
    }

    fn show(outcome: &ReadOutcome, page: &mut TextPage) {
        if !outcome.entries.is_empty() || outcome.decisions.is_empty() {
            rows::entries(&outcome.entries, page);
        }
        for Labelled { record: decision, code } in &outcome.decisions {
            page.line([
                strong(&decision.summary),
                dim(format!("{} {}", decision.id, decision.status.as_str())),
            ]);
            page.line([plain(&decision.rationale)]);
            page.table(2, code.iter().map(code_line));
        }
        if !outcome.missing.is_empty() {
            page.line([dim(format!("no record has the id {}", outcome.missing.join(", ")))]);
        }
        rows::stale(page, outcome.stale_count);
        rows::older(page, outcome.total_count, outcome.next_offset);
    }
}

impl Verb for QueryInput {
    const NAME: &'static str = "query";
    const ABOUT: &'static str = "Search entries by words and meaning, best match first. Call before you investigate something yourself.";
    const EXAMPLE: &'static str = "twining query \"token expiry\" --type finding,warning";
    const EFFECT: Effect = Effect::Reads;
    const ALWAYS_LOADED: bool = true;
    const WORDS: &'static [&'static str] = &["query"];
    const DESCRIBED: &'static [&'static str] = &["query", "status", "since", "limit"];

    type Output = QueryOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<QueryOutcome, Failure> {
        ctx.engine.query(self)
    }

    fn show(outcome: &QueryOutcome, page: &mut TextPage) {
        rows::hits(
            outcome.results.iter().map(|hit| {
                (hit.relevance, rows::labelled(rows::entry_row(&hit.entry), hit.code.as_ref()))
            }),
            page,
        );
        rows::stale(page, outcome.stale_count);
        rows::embedding(page, outcome.mode, outcome.not_yet_embedded);
        rows::truncated_note(page, outcome.truncated, "narrow the search");
    }
}

impl Verb for RecentInput {
    const NAME: &'static str = "recent";
    const ABOUT: &'static str = "The latest entries, newest first.";
    const EXAMPLE: &'static str = "twining recent 5 --type finding";
    const EFFECT: Effect = Effect::Reads;
    const WORDS: &'static [&'static str] = &["n", "scope"];
    const DESCRIBED: &'static [&'static str] = &["n", "scope"];

    type Output = RecentOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<RecentOutcome, Failure> {
        ctx.engine.recent(self)
    }

    fn show(outcome: &RecentOutcome, page: &mut TextPage) {
        rows::entries(&outcome.entries, page);
        rows::stale(page, outcome.stale_count);
        rows::older(page, outcome.total, outcome.next_offset);
    }
}

impl Verb for DismissInput {
    const NAME: &'static str = "dismiss";
    const ABOUT: &'static str =
        "Close needs, questions or warnings that are settled. Nothing is deleted.";
    const EXAMPLE: &'static str =
        "twining dismiss 01M7EB3QWY4C5CPJF6982ZJQ18 --why \"fixed in 3f2a91c\"";
    const EFFECT: Effect = Effect::AddsOnce;
    const WORDS: &'static [&'static str] = &["ids"];
    const DESCRIBED: &'static [&'static str] = &["reason", "agent_id"];

    type Output = DismissOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<DismissOutcome, Failure> {
        ctx.engine.dismiss(&ctx.caller, self)
    }

    fn show(outcome: &DismissOutcome, page: &mut TextPage) {
        let closed = outcome.dismissed.iter().map(|id| vec![good("closed"), plain(id)]);
        let already =
            outcome.already_closed.iter().map(|id| vec![dim("already closed"), plain(id)]);
        let unknown = outcome.not_found.iter().map(|id| vec![bad("not found"), plain(id)]);
        page.table(0, closed.chain(already).chain(unknown));
    }
}
