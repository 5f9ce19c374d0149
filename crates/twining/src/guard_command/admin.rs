//! The commands of a person: those that are verbs, once the person is known; to allow the
//! command a guard verifies by, and to let what the commit check found through.

use std::path::PathBuf;

use serde_json::json;
use twining_model::{Authority, InvalidInput, Time, Trust, limits, text};

use crate::allowances::{self, Allowance, PersonAllowances, TrustedCommand};
use crate::guard_command::verbs::{GuardBypassInput, GuardDiscardInput};
use crate::output::{self, OutputFormat};
use crate::person_check;
use crate::project::{Project, caller_at_cli};
use crate::render::command_error::{CommandError, ExitStatus};
use crate::render::text_page::{dim, good, plain, strong, warn};
use crate::user_policy;
use crate::verbs::verb::Verb;

/// How long a finding may wait for its commit.
const ALLOWANCE_MS: i64 = 24 * 60 * 60 * 1000;

/// Has a person confirm what a verb asks, by typing the name of what it is about, and does it
/// in their name.
pub(crate) fn as_person<V: Verb>(
    project: Option<PathBuf>,
    input: &V,
    style: OutputFormat,
) -> Result<ExitStatus, CommandError> {
    let project = open(project)?;
    let (caller, authority) = caller_at_cli(None);
    // What cannot be done is not asked about: running it says why.
    let question = input.question(&project.context(caller.clone(), authority));
    let (caller, authority) = match question.zip(input.confirm_name()) {
        Some((question, name)) => (person_check::confirm(&question, &name)?, Authority::Confirmed),
        None if person_check::is_person_here() => {
            let user = project.history.user_name();
            (person_check::signed(user, Trust::Human), Authority::Confirmed)
        }
        None => (caller, Authority::Claimed),
    };
    let done = input.run(&project.context(caller, authority))?;
    let ending =
        output::answer(style, || json!(done), |page| V::show(&done, page), V::ending(&done));
    project.finish_writes();
    Ok(ending)
}

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
    as_person(project, &GuardBypassInput { guard: guard.to_owned(), minutes, reason }, style)
}

/// Takes a proposed guard out of the policy.
pub(crate) fn discard(
    project: Option<PathBuf>,
    guard: &str,
    given: Option<&str>,
    style: OutputFormat,
) -> Result<ExitStatus, CommandError> {
    let reason = reason_of(given)?;
    as_person(project, &GuardDiscardInput { guard: guard.to_owned(), reason }, style)
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
    let asked = format!("This allows `{subject}` in the next commit. Reason: {reason}");
    let what = format!("`{subject}` is allowed in the next commit");
    let caller = person_check::confirm(&asked, &subject)?;
    // Recorded first: nothing is let through that nobody can read about.
    project.engine.approve(&caller, "commit-check", &what, &reason)?;
    let answer = json!({"subject": subject, "until": until, "reason": reason});
    let head = project.history.head().unwrap_or_default();
    let given = Allowance { subject, until, reason, head, by: caller.agent };
    PersonAllowances::grant(project.engine.store(), |allowed| &mut allowed.commits, given)?;
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
fn minutes(given: &str) -> Result<usize, CommandError> {
    let (number, unit) =
        given.trim().split_at(given.trim().trim_end_matches(|c: char| !c.is_ascii_digit()).len());
    let each = match unit.trim() {
        "" | "m" | "min" => Some(1),
        "h" => Some(60),
        _ => None,
    };
    let minutes =
        each.zip(number.parse::<usize>().ok()).and_then(|(each, number)| number.checked_mul(each));
    minutes.filter(|minutes| (1..=limits::BYPASS_MINUTES).contains(minutes)).ok_or_else(|| {
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
