//! Anchors: whether records still fit the code they speak of.

use std::path::PathBuf;

use clap::{Command, ValueHint};
use twining_engine::{
    AnchoredPlace, CodeNote, CodeState, ConfirmInput, ConfirmOutcome, ConfirmedRecord, DriftInput,
    DriftKind, DriftOutcome, Failure, ReanchorInput, ReanchorOutcome, UnresolvedName, drift_sarif,
};
use twining_model::InvalidInput;

use crate::args::{option, path};

use crate::hook::SessionState;
use crate::project::CommandContext;
use crate::render::command_error::ExitStatus;
use crate::render::text_page::{
    StyledText, TextPage, bad, count, dim, good, place, plain, strong, warn,
};
use crate::verbs::verb::{Audience, Effect, Verb};

impl Verb for ConfirmInput {
    const NAME: &'static str = "confirm";
    const ABOUT: &'static str =
        "Say that records still hold after their code changed. Read the code first.";
    const EXAMPLE: &'static str =
        "twining confirm 01M7EB3QWY4C5CPJF6982ZJQ18 --why \"argon2 now, same cost\"";
    const EFFECT: Effect = Effect::Adds;
    const WORDS: &'static [&'static str] = &["ids"];

    type Output = ConfirmOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<ConfirmOutcome, Failure> {
        let session = ctx.caller.origin.session.as_deref();
        let notes: Option<SessionState> =
            session.and_then(|session| ctx.engine.store().local_state().read_json(session));
        ctx.engine.confirm(&ctx.caller, self, notes.as_ref().map(|notes| &notes.files))
    }

    fn show(outcome: &ConfirmOutcome, page: &mut TextPage) {
        if outcome.confirmed.is_empty() {
            page.line([dim("nothing to confirm")]);
        }
        for record in &outcome.confirmed {
            let said =
                if record.anchored.is_empty() { bad("not confirmed") } else { good("confirmed") };
            page.line([said, plain(&record.id), places(&record.anchored)]);
            if record.unread {
                page.line([warn("  this session did not read that code")]);
            }
            for gone in &record.gone {
                page.line([
                    warn("  gone:"),
                    place(gone),
                    dim(format!(
                        "twining reanchor {} --at '{gone}' --to PATH#NAME, or --release if it holds without it",
                        record.id
                    )),
                ]);
            }
        }
        show_written_to(outcome.written_to.as_deref(), page);
    }

    fn ending(outcome: &ConfirmOutcome) -> ExitStatus {
        let is_gone = |record: &ConfirmedRecord| record.anchored.is_empty();
        if outcome.confirmed.iter().any(is_gone) {
            ExitStatus::FoundProblems
        } else {
            ExitStatus::Done
        }
    }
}

impl Verb for ReanchorInput {
    const NAME: &'static str = "reanchor";
    const ABOUT: &'static str = "Bind a record to where its code is now, or let go of a place.";
    const EXAMPLE: &'static str =
        "twining reanchor 01M7EB3QWY4C5CPJF6982ZJQ18 --to src/auth/hash.rs#hash_password";
    const EFFECT: Effect = Effect::Adds;
    const AUDIENCE: Audience = Audience::People;
    const WORDS: &'static [&'static str] = &["id"];

    type Output = ReanchorOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<ReanchorOutcome, Failure> {
        ctx.engine.reanchor(&ctx.caller, self)
    }

    fn show(outcome: &ReanchorOutcome, page: &mut TextPage) {
        match &outcome.to {
            Some(to) => {
                let mut line = vec![good("anchored"), plain(&outcome.id), place(to)];
                line.extend(outcome.from.iter().map(|from| dim(format!("was {from}"))));
                page.line(line);
            }
            None => {
                let mut line = vec![good("released"), plain(&outcome.id)];
                line.extend(outcome.from.iter().map(place));
                page.line(line);
            }
        }
        show_written_to(outcome.written_to.as_deref(), page);
    }
}

/// Where to commit what a linked worktree wrote.
fn show_written_to(folder: Option<&str>, page: &mut TextPage) {
    if let Some(folder) = folder {
        page.line([dim("worktrees share one memory: commit `.twining/` in"), place(folder)]);
    }
}

impl Verb for DriftInput {
    const NAME: &'static str = "drift";
    const ABOUT: &'static str =
        "What a change does to records: whose code it makes doubtful, moves or removes.";
    const HELP: &'static str = "What a change does to records: whose code it makes doubtful, moves or removes. Without a range, the uncommitted change. Ends with 3 if a decision in force lost its ground and nobody confirmed, reconsidered or superseded it.";
    const EXAMPLE: &'static str = "twining drift main..HEAD";
    const EFFECT: Effect = Effect::Reads;
    const AUDIENCE: Audience = Audience::People;
    const WORDS: &'static [&'static str] = &["range"];

    type Output = DriftOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<DriftOutcome, Failure> {
        let outcome = ctx.engine.drift(self)?;
        let file = ctx.flags.and_then(|flags| flags.get_one::<PathBuf>("sarif"));
        if let Some(file) = file {
            let log = drift_sarif(&outcome, env!("CARGO_PKG_VERSION"));
            std::fs::write(file, format!("{log:#}\n")).map_err(|error| {
                InvalidInput::new("sarif", "must be a file that can be written")
                    .because(format!("{}: {error}", file.display()))
            })?;
        }
        Ok(outcome)
    }

    fn flags(command: Command) -> Command {
        let sarif = option("sarif", "FILE", "Also write the findings as SARIF");
        command.arg(path(sarif, ValueHint::FilePath))
    }

    fn show(outcome: &DriftOutcome, page: &mut TextPage) {
        if outcome.unchecked > 0 {
            let left = count(outcome.unchecked, "anchor");
            page.line([warn(format!(
                "{left} not checked: where the code moved was not found in time"
            ))]);
        }
        if outcome.findings.is_empty() {
            page.line([
                good("nothing drifted"),
                dim(format!(
                    "{}, {} looked at",
                    outcome.compared,
                    count(outcome.checked, "anchor")
                )),
            ]);
            return;
        }
        page.line([strong(format!(
            "{} in {}",
            count(outcome.findings.len() as u64, "record"),
            outcome.compared
        ))]);
        for finding in &outcome.findings {
            let became = match finding.became {
                DriftKind::Moved => dim("moved"),
                DriftKind::Doubtful => warn("doubtful"),
                DriftKind::Orphaned => bad("orphaned"),
            };
            page.table(2, [vec![dim(&finding.id), became, strong(&finding.summary)]]);
            let to = finding.to.as_ref().map(|to| format!("→ {to}"));
            let confirmed = finding.confirmed_in.as_ref();
            let confirmed = confirmed.map(|commit| format!("confirmed in {commit:.9}"));
            let assumed = finding.assumed.then(|| ASSUMED.to_owned());
            let about = [Some(finding.at.clone()), to, finding.reason.clone(), confirmed, assumed];
            page.block(4, &about.into_iter().flatten().collect::<Vec<_>>().join(" "));
            if !finding.settle.is_empty() && finding.confirmed_in.is_none() {
                page.block(4, &format!("→ {}", finding.settle));
            }
        }
        if outcome.omitted_count > 0 {
            page.line([dim(format!("{} more", outcome.omitted_count))]);
        }
    }

    fn ending(outcome: &DriftOutcome) -> ExitStatus {
        if outcome.needs_an_answer() { ExitStatus::FoundProblems } else { ExitStatus::Done }
    }
}

/// What is said of a record that nobody bound to its code.
pub(super) const ASSUMED: &str = "(assumed: from before there were anchors)";

/// What a record's code is like now, in a line.
pub(super) fn code_line(note: &CodeNote) -> Vec<StyledText> {
    let state = match note.state {
        CodeState::Doubtful | CodeState::Orphaned => warn(note.state.as_str()),
        state => dim(state.as_str()),
    };
    let mut line = vec![state, place(&note.at)];
    line.extend(note.reason.iter().map(plain));
    line.extend(note.places.iter().map(dim));
    line.extend(note.moved_from.iter().map(|from| dim(format!("moved here from {from}"))));
    line
}

/// The command that settles a record whose code is in doubt.
pub(super) fn code_hint(id: &str, note: &CodeNote) -> Option<StyledText> {
    match note.state {
        CodeState::Doubtful => {
            Some(dim(format!("→ twining confirm {id} · twining reconsider {id} --why \"…\"")))
        }
        CodeState::Unbound => Some(dim(format!("→ twining reanchor {id} --to PATH#NAME"))),
        CodeState::Orphaned => {
            let at = &note.at;
            Some(dim(format!("→ twining reanchor {id} --at '{at}' --to PATH#NAME")))
        }
        _ => None,
    }
}

/// What a new record is anchored to, and what it names that is not there.
pub(super) fn show_anchors(
    anchored: &[AnchoredPlace],
    unresolved: &[UnresolvedName],
    beside: &[String],
    page: &mut TextPage,
) {
    if !anchored.is_empty() {
        page.line([dim("anchored to"), places(anchored)]);
    }
    for name in unresolved {
        let near = match name.nearest.as_slice() {
            [] => String::new(),
            near => format!("; did you mean {}?", near.join(", ")),
        };
        page.line([warn(format!("not bound to code: {}{near}", name.name))]);
    }
    if !beside.is_empty() {
        page.line([dim("also on this code:"), plain(beside.join(", "))]);
    }
}

fn places(anchored: &[AnchoredPlace]) -> StyledText {
    place(anchored.iter().map(|place| place.at.as_str()).collect::<Vec<_>>().join(", "))
}
