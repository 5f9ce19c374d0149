//! What only a person does to a guard: lift it for a while, promote it, allow the
//! command it verifies by, and let what it found through in a commit.

use std::path::PathBuf;

use serde_json::json;
use twining_guard::Verdict;
use twining_guard::policy::builtin::PERSON_COMMANDS;
use twining_model::{InvalidInput, Time, limits, text};

use crate::allowances::{self, Allowance, PersonAllowances, TrustedCommand, is_before};
use crate::hook;
use crate::output::{self, OutputFormat};
use crate::person_check;
use crate::project::Project;
use crate::render::command_error::{CommandError, ExitStatus};
use crate::render::text_page::{dim, good, plain, strong, warn};
use crate::user_policy;

/// How long a finding may wait for its commit.
const ALLOWANCE_MS: i64 = 24 * 60 * 60 * 1000;

/// Lifts a guard for a while.
pub(crate) fn bypass(
    project: Option<PathBuf>,
    guard: &str,
    lasts: Option<&str>,
    given: Option<&str>,
    style: OutputFormat,
) -> Result<ExitStatus, CommandError> {
    let lasts = lasts.ok_or_else(|| {
        CommandError::refused(&InvalidInput::new("--for", "is required, such as `--for 10m`"))
    })?;
    let (minutes, reason) = (minutes(lasts)?, reason_of(given)?);
    if guard == PERSON_COMMANDS {
        return Err(CommandError::unavailable(
            "NEVER_LIFTED",
            format!(
                "`{guard}` protects the commands that lift guards, and cannot be lifted itself"
            ),
        ));
    }
    let project = open(project)?;
    let store = project.engine.store();
    if !hook::guards(&project).guards.iter().any(|known| known.id == guard) {
        let named = text::excerpt(guard, 40);
        return Err(CommandError::unavailable("NOT_FOUND", format!("there is no guard `{named}`"))
            .with_hint("`twining guard list` shows them"));
    }
    let until = Time::from_ms(store.ids().now().as_ms() + minutes * 60_000).to_string();
    let minute = until.get(11..16).unwrap_or(&until);
    let asked = format!("This lifts `{guard}` until {minute} UTC.");
    let what = format!("the guard `{guard}` is lifted until {until}");
    let given = Allowance { subject: guard.to_owned(), until, reason, ..Allowance::default() };
    grant(&project, |allowed| &mut allowed.bypasses, guard, [&asked, &what], given, style)
}

/// Lets a proposed guard block.
pub(crate) fn promote(
    project: Option<PathBuf>,
    guard: &str,
    style: OutputFormat,
) -> Result<ExitStatus, CommandError> {
    let project = open(project)?;
    let backtest = project.engine.backtest(&user_policy::read(), guard)?;
    let caller = person_check::confirm(
        &format!("`{guard}` will block from now on; it {}", backtest.summary()),
        guard,
    )?;
    let promoted = project.engine.promote_guard(&caller, guard)?;
    Ok(output::answer(
        style,
        || json!(promoted),
        |page| {
            page.line([good(Verdict::Block.as_str()), strong(&promoted.id), dim(&promoted.place)]);
        },
        ExitStatus::Done,
    ))
}

/// Lets a finding of the commit check through, in the next commit.
pub(crate) fn allow(
    project: Option<PathBuf>,
    subject: &str,
    given: Option<&str>,
    style: OutputFormat,
) -> Result<ExitStatus, CommandError> {
    let reason = reason_of(given)?;
    let project = open(project)?;
    let subject = subject.trim_start_matches("./").to_owned();
    let until =
        Time::from_ms(project.engine.store().ids().now().as_ms() + ALLOWANCE_MS).to_string();
    let asked = format!("This allows `{subject}` in the next commit.");
    let what = format!("`{subject}` is allowed in the next commit");
    let given = Allowance {
        subject,
        until,
        reason,
        head: project.history.head().unwrap_or_default(),
        ..Allowance::default()
    };
    grant(&project, |allowed| &mut allowed.commits, "commit-check", [&asked, &what], given, style)
}

/// Has a person confirm an allowance they are `asked` about, records it under a guard, and keeps it in its list.
fn grant(
    project: &Project,
    list: fn(&mut PersonAllowances) -> &mut Vec<Allowance>,
    guard: &str,
    [asked, what]: [&str; 2],
    given: Allowance,
    style: OutputFormat,
) -> Result<ExitStatus, CommandError> {
    let store = project.engine.store();
    let caller =
        person_check::confirm(&format!("{asked} Reason: {}", given.reason), &given.subject)?;
    // Recorded first: nothing is let through that nobody can read about.
    project.engine.approve(&caller, guard, what, &given.reason)?;
    let answer = json!({"subject": given.subject, "until": given.until, "reason": given.reason});
    let mut allowed = PersonAllowances::read(store);
    let list = list(&mut allowed);
    list.retain(|other| {
        other.subject != given.subject && is_before(store.ids().now(), &other.until)
    });
    list.push(Allowance { by: caller.agent, ..given });
    allowed.write(store)?;
    Ok(output::answer(
        style,
        || answer,
        |page| page.line([good("done:"), plain(what)]),
        ExitStatus::Done,
    ))
}

/// Shows the commands that guards verify by, or allows one, or takes that back.
pub(crate) fn trust(
    project: Option<PathBuf>,
    guard: Option<&str>,
    revoke: bool,
    style: OutputFormat,
) -> Result<ExitStatus, CommandError> {
    let project = open(project)?;
    let store = project.engine.store();
    let mut allowed = PersonAllowances::read(store);
    let all = project.engine.list_guards(&user_policy::read()).guards;
    let commands: Vec<(&str, &str)> = all
        .iter()
        .filter_map(|guard| Some((guard.id.as_str(), guard.verify.as_deref()?)))
        .collect();
    let Some(guard) = guard else { return Ok(shown(&commands, &allowed, style)) };
    if revoke {
        // Less is allowed: that needs nobody's yes.
        allowed.trusted.retain(|trusted| trusted.guard != guard);
        allowed.write(store)?;
        return Ok(shown(&commands, &allowed, style));
    }
    let mut named = commands.iter().filter(|(id, _)| *id == guard);
    let (Some((_, command)), None) = (named.next(), named.next()) else {
        let why = format!(
            "there is not exactly one guard `{}` that verifies with a command",
            text::excerpt(guard, 40)
        );
        return Err(
            CommandError::unavailable("NOT_FOUND", why).with_hint("`twining trust` shows them")
        );
    };
    let caller = person_check::confirm(
        &format!("`{guard}` will run this on your machine before tools run:\n  {command}"),
        guard,
    )?;
    allowed.trusted.retain(|trusted| trusted.guard != guard);
    let at = store.ids().now().to_string();
    allowed.trusted.push(TrustedCommand {
        guard: guard.to_owned(),
        command: (*command).to_owned(),
        by: caller.agent.clone(),
        at,
    });
    project.engine.approve(
        &caller,
        guard,
        &format!("the command of `{guard}` was allowed"),
        command,
    )?;
    allowed.write(store)?;
    Ok(shown(&commands, &allowed, style))
}

fn shown(commands: &[(&str, &str)], allowed: &PersonAllowances, style: OutputFormat) -> ExitStatus {
    let rows: Vec<(&str, &str, bool)> =
        commands.iter().map(|(id, command)| (*id, *command, allowed.trusts(id, command))).collect();
    output::answer(
        style,
        || json!({"commands": rows.iter().map(|(guard, command, trusted)| json!({"guard": guard, "command": command, "trusted": trusted})).collect::<Vec<_>>()}),
        |page| {
            if rows.is_empty() {
                page.line([dim("no guard verifies with a command")]);
            }
            let permission =
                |trusted: bool| if trusted { good("allowed") } else { warn("not allowed") };
            page.table(
                0,
                rows.iter().map(|(id, command, trusted)| {
                    vec![strong(id), permission(*trusted), plain(command)]
                }),
            );
        },
        ExitStatus::Done,
    )
}

fn open(project: Option<PathBuf>) -> Result<Project, CommandError> {
    let project = Project::open(project)?;
    match project.engine.store().exists() {
        Ok(true) => Ok(project),
        _ => Err(CommandError::unavailable("NOT_FOUND", "there is no .twining here")
            .with_hint("`twining seed` creates it")),
    }
}

fn reason_of(given: Option<&str>) -> Result<String, CommandError> {
    let reason = given.map(allowances::reason).filter(|reason| !reason.is_empty());
    reason.ok_or_else(|| CommandError::refused(&InvalidInput::new("--why", "is required")))
}

/// `10m`, `2h`, `90` minutes; at most a day.
fn minutes(given: &str) -> Result<i64, CommandError> {
    let (number, unit) =
        given.trim().split_at(given.trim().trim_end_matches(|c: char| !c.is_ascii_digit()).len());
    let each = match unit.trim() {
        "" | "m" | "min" => Some(1),
        "h" => Some(60),
        _ => None,
    };
    let most = i64::try_from(limits::BYPASS_MINUTES).unwrap_or(i64::MAX);
    let minutes =
        each.zip(number.parse::<i64>().ok()).and_then(|(each, number)| number.checked_mul(each));
    minutes.filter(|minutes| (1..=most).contains(minutes)).ok_or_else(|| {
        CommandError::refused(
            &InvalidInput::new("--for", "must be from 1m to 24h")
                .because(format!("`{}` was given", text::excerpt(given, 20))),
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::guard_command::admin::*;
    use twining_testcases::each;

    #[test]
    fn a_bypass_lasts_a_day_at_most() {
        each([("10m", 10), ("2h", 120), ("90", 90), ("24h", 1440)], |(given, wanted)| {
            assert_eq!(minutes(given).expect("is read"), wanted);
        });
        for given in ["", "0m", "25h", "-5m", "ever", "9999999999999999999h", "10s"] {
            assert!(minutes(given).is_err(), "{given}");
        }
    }
}
