//! What only a person does to a guard: lift it for a while, promote it, allow the
//! command it verifies by, and accept what was changed behind its back.

use std::path::PathBuf;

use serde_json::json;
use twining_engine::guards::{KEEPERS, Level};
use twining_model::{Refused, Time, limits, text};
use twining_store::Lost;

use crate::allowed::{Allowed, Bypass, Trusted};
use crate::desk::Project;
use crate::hook;
use crate::out::{self, Style};
use crate::page::{dim, good, plain, strong, warn};
use crate::person;
use crate::problem::{Ending, Problem};
use crate::user_policy;

/// Lifts a guard for a while.
pub fn bypass(project: Option<PathBuf>, guard: &str, lasts: Option<&str>, reason: Option<&str>, style: Style) -> Result<Ending, Problem> {
    let refused = |field: &'static str, rule: &'static str| Problem::refused(&Refused::new(field, rule));
    let minutes = minutes(lasts.ok_or_else(|| refused("--for", "is required, such as `--for 10m`"))?)?;
    let reason = reason.filter(|reason| !reason.trim().is_empty()).ok_or_else(|| refused("--reason", "is required"))?;
    let reason = text::excerpt(&reason.split_whitespace().collect::<Vec<_>>().join(" "), 300);
    if KEEPERS.contains(&guard) {
        return Err(Problem::unavailable("NEVER_LIFTED", format!("`{guard}` keeps what lifts the others, and is never lifted itself")));
    }
    let project = open(project)?;
    let store = project.engine.store();
    let known = project.engine.list_guards(&user_policy::read()).guards;
    if !known.iter().any(|known| known.id == guard) {
        let named = text::excerpt(guard, 40);
        return Err(Problem::unavailable("NOT_FOUND", format!("there is no guard `{named}`")).with_hint("`twining guard list` shows them"));
    }
    let until = Time::from_ms(store.ids().now().as_ms() + minutes * 60_000);
    let caller = person::confirmed(&project, &format!("`{guard}` will not hold until {until}: {reason}"), guard)?;
    let mut allowed = Allowed::read(store);
    allowed.bypasses.retain(|bypass| bypass.guard != guard && Time::read(&bypass.until).is_some_and(|until| store.ids().now() < until));
    allowed.bypasses.push(Bypass { guard: guard.to_owned(), until: until.to_string(), reason: reason.clone(), by: caller.agent.clone() });
    // Recorded first: nothing is lifted that nobody can read about.
    project.engine.approve(&caller, guard, &format!("the guard `{guard}` was lifted until {until}"), &reason)?;
    allowed.write(store)?;
    Ok(out::answer(
        style,
        || json!({"guard": guard, "until": until, "reason": reason}),
        |page| page.line([good("lifted"), strong(guard), dim(format!("until {until}"))]),
        Ending::Done,
    ))
}

/// Lets a proposed guard block.
pub fn promote(project: Option<PathBuf>, guard: &str, style: Style) -> Result<Ending, Problem> {
    let project = open(project)?;
    let backtest = project.engine.backtest(&user_policy::read(), guard)?;
    let caller = person::confirmed(&project, &format!("`{guard}` will block from now on; it {}", backtest.say()), guard)?;
    let promoted = project.engine.promote_guard(&caller, guard)?;
    Ok(out::answer(
        style,
        || json!(promoted),
        |page| page.line([good(Level::Block.as_str()), strong(&promoted.id), dim(&promoted.place)]),
        Ending::Done,
    ))
}

/// Takes the records as they are, whoever changed them.
pub fn accept(project: Option<PathBuf>, style: Style) -> Result<Ending, Problem> {
    let failed = |error| Problem::from(twining_engine::Failure::from(error));
    let project = Project::open(project)?;
    let store = project.engine.store();
    let audit = store.audit().map_err(failed)?;
    if let Some(gone @ (Lost::Folder | Lost::Local)) = audit.lost {
        person::confirmed(&project, &hook::told_lost(gone), "accept")?;
        // No record is left to note it in, and none is made for that.
        store.forget_marks().map_err(failed)?;
        return Ok(accepted(1, style));
    }
    if !store.exists().map_err(failed)? {
        return Err(no_memory());
    }
    let (found, lost) = (audit.differences, audit.lost);
    let mut lists = hook::slipped_lists(&project);
    lists.extend(hook::slipped_rules(&project));
    if !(found.is_empty() && lists.is_empty() && lost.is_none()) {
        let lost = lost.map(hook::told_lost);
        let told: Vec<String> = lost.into_iter().chain(hook::told_by_hand(&found)).chain(lists.clone()).collect();
        let told = told.join("\n");
        let caller = person::confirmed(&project, &told, "accept")?;
        // Recorded first: nothing is accepted that nobody can read about.
        project.engine.approve(&caller, "protect-twining-state", "changes by another hand were accepted", &text::excerpt(&told, 300))?;
        store.accept_records().map_err(failed)?;
        hook::accept_lists(&project);
        hook::take_rules(&project);
    }
    Ok(accepted(found.len() + lists.len() + usize::from(lost.is_some()), style))
}

fn accepted(many: usize, style: Style) -> Ending {
    out::answer(
        style,
        || json!({ "accepted": many }),
        |page| match many {
            0 => page.line([dim("nothing was changed by another hand")]),
            many => page.line([good("accepted"), plain(format!("{many} changes"))]),
        },
        Ending::Done,
    )
}

/// Shows the commands that guards verify by, or allows one, or takes that back.
pub fn trust(project: Option<PathBuf>, guard: Option<&str>, revoke: bool, style: Style) -> Result<Ending, Problem> {
    let project = open(project)?;
    let store = project.engine.store();
    let mut allowed = Allowed::read(store);
    let all = project.engine.list_guards(&user_policy::read()).guards;
    let commands: Vec<(&str, &str)> = all.iter().filter_map(|guard| Some((guard.id.as_str(), guard.verify.as_deref()?))).collect();
    let Some(guard) = guard else { return Ok(shown(&commands, &allowed, style)) };
    if revoke {
        // Less is allowed: that needs nobody's yes.
        allowed.trusted.retain(|trusted| trusted.guard != guard);
        allowed.clone().write(store)?;
        return Ok(shown(&commands, &allowed, style));
    }
    let mut named = commands.iter().filter(|(id, _)| *id == guard);
    let (Some((_, command)), None) = (named.next(), named.next()) else {
        let why = format!("there is no one guard `{}` that verifies by a command", text::excerpt(guard, 40));
        return Err(Problem::unavailable("NOT_FOUND", why).with_hint("`twining trust` shows them"));
    };
    let caller = person::confirmed(&project, &format!("`{guard}` will run this on your machine before tools do:\n  {command}"), guard)?;
    allowed.trusted.retain(|trusted| trusted.guard != guard);
    let at = store.ids().now().to_string();
    allowed.trusted.push(Trusted { guard: guard.to_owned(), command: (*command).to_owned(), by: caller.agent.clone(), at });
    project.engine.approve(&caller, guard, &format!("the command of `{guard}` was allowed"), command)?;
    allowed.clone().write(store)?;
    Ok(shown(&commands, &allowed, style))
}

fn shown(commands: &[(&str, &str)], allowed: &Allowed, style: Style) -> Ending {
    let rows: Vec<(&str, &str, bool)> = commands.iter().map(|(id, command)| (*id, *command, allowed.trusts(id, command))).collect();
    out::answer(
        style,
        || json!({"commands": rows.iter().map(|(guard, command, trusted)| json!({"guard": guard, "command": command, "trusted": trusted})).collect::<Vec<_>>()}),
        |page| {
            if rows.is_empty() {
                page.line([dim("no guard verifies by a command")]);
            }
            let told = |trusted: bool| if trusted { good("allowed") } else { warn("not allowed") };
            page.table(0, &rows.iter().map(|(id, command, trusted)| vec![strong(id), told(*trusted), plain(command)]).collect::<Vec<_>>());
        },
        Ending::Done,
    )
}

fn open(project: Option<PathBuf>) -> Result<Project, Problem> {
    let project = Project::open(project)?;
    match project.engine.store().exists() {
        Ok(true) => Ok(project),
        _ => Err(no_memory()),
    }
}

fn no_memory() -> Problem {
    Problem::unavailable("NOT_FOUND", "there is no .twining here").with_hint("`twining seed` begins one")
}

/// `10m`, `2h`, `90` minutes; at most a day.
fn minutes(given: &str) -> Result<i64, Problem> {
    let (number, unit) = given.trim().split_at(given.trim().trim_end_matches(|c: char| !c.is_ascii_digit()).len());
    let each = match unit.trim() {
        "" | "m" | "min" => Some(1),
        "h" => Some(60),
        _ => None,
    };
    let most = i64::try_from(limits::BYPASS_MINUTES).unwrap_or(i64::MAX);
    let minutes = each.zip(number.parse::<i64>().ok()).and_then(|(each, number)| number.checked_mul(each));
    minutes.filter(|minutes| (1..=most).contains(minutes)).ok_or_else(|| {
        Problem::refused(&Refused::new("--for", "must be from 1m to 24h").because(format!("`{}` was given", text::excerpt(given, 20))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bypass_lasts_a_day_at_most() {
        for (given, wanted) in [("10m", 10), ("2h", 120), ("90", 90), ("24h", 1440)] {
            assert_eq!(minutes(given).expect("is read"), wanted);
        }
        for given in ["", "0m", "25h", "-5m", "ever", "9999999999999999999h", "10s"] {
            assert!(minutes(given).is_err(), "{given}");
        }
    }
}
