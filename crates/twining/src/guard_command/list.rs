//! `twining guard`: which guards hold, whether they do what they say, and what
//! each says to an event.

use std::path::PathBuf;

use clap::Command;
use serde_json::json;
use twining_guard::Verdict;
use twining_guard::policy::GuardHealth;
use twining_model::text;

use crate::allowances::{Allowance, PersonAllowances};
use crate::args::{option, switch, word};
use crate::hook::{self, HookContext};
use crate::hook_trial;
use crate::output::{self, OutputFormat};
use crate::project::Project;
use crate::render::command_error::{CommandError, ExitStatus};
use crate::render::text_page::{bad, dim, good, plain, strong, warn};

/// The flags of `guard`.
pub(crate) fn flags(command: Command) -> Command {
    let what = "explain reads a hook's JSON from stdin; bypass, promote, discard and allow need a person at a terminal; discard removes a proposed guard; allow lets the next commit pass despite what the commit check found";
    let guard = "The guard to lift, promote or discard, or the rule or path to allow; for list and test, default: all";
    let needs_one =
        [("what", "bypass"), ("what", "promote"), ("what", "discard"), ("what", "allow")];
    command
        .arg(word("what", "WHAT", what).required(true).value_parser(["list", "test", "explain", "bypass", "promote", "discard", "allow"]))
        .arg(word("guard", "GUARD", guard).required_if_eq_any(needs_one))
        .arg(option("for", "TIME", "How long a bypass lasts: 10m, 2h; at most a day"))
        .arg(switch("end", "End the bypass now"))
        .arg(option("why", "TEXT", "Why it is lifted, discarded or allowed; recorded").alias("reason"))
        .after_help("Examples:\n  twining guard explain < event.json\n  twining guard bypass no-push --for 10m --why \"hotfix, agreed with Ada\"\n  twining guard allow src/legacy.ts --why \"moves out next week\"\n  TWINING_ALLOW=\"moves out next week\" git commit")
}

/// Runs `list`, `test` or `explain`; the first two of one guard, where it is named.
pub(crate) fn run(
    project: Option<PathBuf>,
    what: &str,
    named: &str,
    style: OutputFormat,
) -> Result<ExitStatus, CommandError> {
    let project = Project::open(project)?;
    match what {
        "explain" => explain(project, style),
        "test" => list(&project, style, named, true),
        _ => list(&project, style, named, false),
    }
}

fn list(
    project: &Project,
    style: OutputFormat,
    named: &str,
    must_hold: bool,
) -> Result<ExitStatus, CommandError> {
    let mut all = hook::guards_as_written(project);
    if !named.is_empty() {
        if !all.guards.iter().any(|guard| guard.id == named) {
            let known =
                all.guards.iter().map(|guard| guard.id.as_str()).collect::<Vec<_>>().join(", ");
            return Err(CommandError::misuse(format!(
                "there is no guard `{}`; known guards: {known}",
                text::excerpt(named, 80)
            )));
        }
        all.guards.retain(|guard| guard.id == named);
    }
    let dead = all.guards.iter().any(|guard| guard.standing != GuardHealth::Alive);
    let wired = if must_hold { hook_trial::check(project, &all) } else { Vec::new() };
    let unwired = wired.iter().any(|host| !host.problems.is_empty());
    let ending = if must_hold && (dead || unwired || !all.mistakes.is_empty()) {
        ExitStatus::FoundProblems
    } else {
        ExitStatus::Done
    };
    let allowed = PersonAllowances::read(project.engine.store());
    let now = project.engine.store().ids().now();
    let bypass_of = |guard: &str| allowed.bypass(guard, now).map(Allowance::as_bypass);
    let to_json = || {
        let guards = all.guards.iter().map(|guard| {
            let dead = if let GuardHealth::Dead(why) = &guard.standing { Some(why.clone()) } else { None };
            json!({"id": guard.id, "source": guard.source, "action": guard.action, "on_error": guard.on_error, "say": guard.say, "next_step": guard.next_step, "dead": dead, "proposed": guard.proposed, "verify": guard.verify, "bypass": bypass_of(&guard.id)})
        });
        let mut answer = json!({"guards": guards.collect::<Vec<_>>(), "mistakes": all.mistakes});
        if must_hold {
            answer["wiring"] = json!(wired);
        }
        answer
    };
    Ok(output::answer(
        style,
        to_json,
        |page| {
            let rows = all.guards.iter().map(|guard| {
                let standing = match &guard.standing {
                    GuardHealth::Alive if let Some(bypass) = bypass_of(&guard.id) => {
                        warn(bypass.summary())
                    }
                    GuardHealth::Alive if guard.proposed => {
                        warn(format!("proposed: {}", guard.say))
                    }
                    GuardHealth::Alive => plain(&guard.say),
                    GuardHealth::Dead(why) => bad(format!("dead: {why}")),
                };
                vec![
                    strong(&guard.id),
                    level(guard.action),
                    dim(guard.source.to_string()),
                    standing,
                ]
            });
            page.table(0, rows);
            all.mistakes
                .iter()
                .for_each(|mistake| page.line([warn("mistake:"), plain(mistake.to_string())]));
            for host in &wired {
                let fires =
                    if host.problems.is_empty() { good("fires") } else { bad("does not fire") };
                let tried = format!("{} calls tried through {}", host.tried, host.file);
                page.line([strong(host.host), fires, dim(tried)]);
                host.problems
                    .iter()
                    .for_each(|problem| page.line([bad("  problem:"), plain(problem)]));
                host.notes.iter().for_each(|note| page.line([warn("  note:"), plain(note)]));
            }
            if must_hold && wired.is_empty() {
                page.line([
                    warn("no host is set up:"),
                    dim("nothing calls `twining hook` in this project, so nothing is stopped"),
                ]);
            }
        },
        ending,
    ))
}

fn level(level: Verdict) -> crate::render::text_page::StyledText {
    match level {
        Verdict::Off => dim(level.as_str()),
        Verdict::Warn | Verdict::Ask => warn(level.as_str()),
        Verdict::Block => bad(level.as_str()),
    }
}

fn explain(project: Project, style: OutputFormat) -> Result<ExitStatus, CommandError> {
    let event = hook::read_any_event().map_err(CommandError::misuse)?;
    let guards = hook::guards(&project);
    let context = HookContext::of(project, event);
    let evaluation = hook::preview(&context.project, context.explain(&guards));
    Ok(output::answer(
        style,
        || json!(evaluation),
        |page| {
            let verdict = if evaluation.verdict == Verdict::Off {
                good("allowed")
            } else {
                level(evaluation.verdict)
            };
            page.line([strong("verdict:"), verdict]);
            let rows = evaluation.findings.iter().map(|finding| {
                vec![
                    strong(&finding.guard),
                    level(finding.verdict),
                    dim(&finding.source),
                    plain(&finding.effect),
                ]
            });
            page.table(0, rows);
        },
        ExitStatus::Done,
    ))
}
