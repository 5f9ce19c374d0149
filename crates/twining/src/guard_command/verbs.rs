//! What only a person does to a guard, as verbs: `twining guard` and the page call the same ones.
//!
//! Each checks what it is asked, then that a person asks: who that is, the entry point knows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twining_engine::{DiscardGuardOutcome, Failure, PromoteGuardOutcome};
use twining_guard::Verdict;
use twining_guard::policy::builtin::PERSON_COMMANDS;
use twining_model::{Authority, InvalidInput, Time, limits, text};

use crate::allowances::{self, Allowance, PersonAllowances};
use crate::hook;
use crate::project::CommandContext;
use crate::render::text_page::{TextPage, dim, good, plain, strong};
use crate::verbs::verb::{Audience, Effect, Verb};

/// A proposed guard to put in force.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GuardPromoteInput {
    /// The proposed guard
    pub guard: String,
}

impl Verb for GuardPromoteInput {
    const NAME: &'static str = "guard_promote";
    const ABOUT: &'static str = "Let a proposed guard block.";
    const EXAMPLE: &'static str = "twining guard promote no-push";
    const EFFECT: Effect = Effect::Changes;
    const AUDIENCE: Audience = Audience::People;
    const COMMAND: Option<&'static str> = Some("guard promote");
    const ASKS: bool = true;
    const WORDS: &'static [&'static str] = &["guard"];

    type Output = PromoteGuardOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<PromoteGuardOutcome, Failure> {
        memory_exists(ctx)?;
        ctx.engine.backtest(&ctx.user_policy(), &self.guard)?;
        person(ctx, "promote a guard")?;
        ctx.engine.promote_guard(&ctx.caller, &self.guard)
    }

    fn question(&self, ctx: &CommandContext<'_>) -> Option<String> {
        let backtest = ctx.engine.backtest(&ctx.user_policy(), &self.guard).ok()?;
        Some(format!("`{}` will block from now on; it {}", self.guard, backtest.summary()))
    }

    fn confirm_name(&self) -> Option<String> {
        Some(self.guard.clone())
    }

    fn show(promoted: &PromoteGuardOutcome, page: &mut TextPage) {
        page.line([good(Verdict::Block.as_str()), strong(&promoted.id), dim(&promoted.place)]);
    }
}

/// A guard to lift for a while.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GuardBypassInput {
    /// The guard
    pub guard: String,
    /// For how long, 1 to 1440
    pub minutes: usize,
    /// Why; recorded
    pub reason: String,
}

/// A guard that is lifted.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct GuardBypassOutcome {
    /// The guard.
    pub guard: String,
    /// Until when.
    pub until: String,
    /// Who lifted it.
    pub by: String,
    /// Why.
    pub reason: String,
}

impl GuardBypassInput {
    /// The leave it would give, if the guard can be lifted.
    fn allowance(&self, ctx: &CommandContext<'_>) -> Result<Allowance, Failure> {
        memory_exists(ctx)?;
        if !(1..=limits::BYPASS_MINUTES).contains(&self.minutes) {
            let rule = format!("must be from 1 to {}", limits::BYPASS_MINUTES);
            return Err(InvalidInput::new("minutes", rule).into());
        }
        let reason = reason(&self.reason)?;
        if self.guard == PERSON_COMMANDS {
            return Err(Failure::Refused {
                code: "NEVER_LIFTED",
                why: format!(
                    "`{}` protects the commands that lift guards, and cannot be lifted itself",
                    self.guard
                ),
                hint: "lift the guard that is in the way".to_owned(),
            });
        }
        if !hook::guards(ctx.project).guards.iter().any(|known| known.id == self.guard) {
            return Err(no_guard(&self.guard));
        }
        let lasts = i64::try_from(self.minutes).unwrap_or_default() * 60_000;
        let until = Time::from_ms(ctx.engine.store().ids().now().as_ms() + lasts).to_string();
        let by = ctx.caller.agent.clone();
        Ok(Allowance { subject: self.guard.clone(), until, reason, by, head: String::new() })
    }
}

impl Verb for GuardBypassInput {
    const NAME: &'static str = "guard_bypass";
    const ABOUT: &'static str = "Lift a guard for a while.";
    const EXAMPLE: &'static str = "twining guard bypass no-push --for 10m --why \"hotfix\"";
    const EFFECT: Effect = Effect::Changes;
    const AUDIENCE: Audience = Audience::People;
    const COMMAND: Option<&'static str> = Some("guard bypass");
    const ASKS: bool = true;
    const WORDS: &'static [&'static str] = &["guard"];

    type Output = GuardBypassOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<GuardBypassOutcome, Failure> {
        let given = self.allowance(ctx)?;
        person(ctx, "lift a guard")?;
        let Allowance { until, reason, by, .. } = given.clone();
        // Recorded first: nothing is let through that nobody can read about.
        ctx.engine.record_bypass(&ctx.caller, &self.guard, &until, &reason)?;
        PersonAllowances::grant(ctx.engine.store(), |allowed| &mut allowed.bypasses, given)?;
        Ok(GuardBypassOutcome { guard: self.guard.clone(), until, by, reason })
    }

    fn question(&self, ctx: &CommandContext<'_>) -> Option<String> {
        let given = self.allowance(ctx).ok()?;
        let minute = given.until.get(11..16).unwrap_or(&given.until);
        Some(format!("This lifts `{}` until {minute} UTC. Reason: {}", self.guard, given.reason))
    }

    fn confirm_name(&self) -> Option<String> {
        Some(self.guard.clone())
    }

    fn show(lifted: &GuardBypassOutcome, page: &mut TextPage) {
        let what = format!("the guard `{}` is lifted until {}", lifted.guard, lifted.until);
        page.line([good("done:"), plain(what)]);
    }
}

/// A bypass to end before its time.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GuardBypassEndInput {
    /// The guard that is lifted
    pub guard: String,
}

/// A guard that holds again.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct GuardBypassEndOutcome {
    /// The guard.
    pub guard: String,
}

impl Verb for GuardBypassEndInput {
    const NAME: &'static str = "guard_bypass_end";
    const ABOUT: &'static str = "End the bypass of a guard: it holds again.";
    const EXAMPLE: &'static str = "twining guard bypass --end no-push";
    const EFFECT: Effect = Effect::Changes;
    const AUDIENCE: Audience = Audience::People;
    const COMMAND: Option<&'static str> = Some("guard bypass --end");
    const WORDS: &'static [&'static str] = &["guard"];

    type Output = GuardBypassEndOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<GuardBypassEndOutcome, Failure> {
        let store = ctx.engine.store();
        let allowed = PersonAllowances::read(store);
        if allowed.bypass(&self.guard, store.ids().now()).is_none() {
            let hint = "`twining guard list` shows the guards that are lifted".to_owned();
            return Err(Failure::NotFound { what: "bypass of", id: named(&self.guard), hint });
        }
        person(ctx, "end a bypass")?;
        // It ends first: what is no longer allowed needs no record to be true.
        PersonAllowances::end_bypass(store, &self.guard)?;
        let what = format!("the bypass of `{}` was ended", self.guard);
        ctx.engine.approve(&ctx.caller, &self.guard, &what, "")?;
        Ok(GuardBypassEndOutcome { guard: self.guard.clone() })
    }

    fn show(ended: &GuardBypassEndOutcome, page: &mut TextPage) {
        page.line([good("done:"), plain(format!("the guard `{}` holds again", ended.guard))]);
    }
}

/// A proposed guard to take out of the policy.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GuardDiscardInput {
    /// The proposed guard
    pub guard: String,
    /// Why; recorded
    pub reason: String,
}

impl Verb for GuardDiscardInput {
    const NAME: &'static str = "guard_discard";
    const ABOUT: &'static str = "Take a proposed guard out of the policy.";
    const EXAMPLE: &'static str = "twining guard discard no-push --why \"releases push\"";
    const EFFECT: Effect = Effect::Removes;
    const AUDIENCE: Audience = Audience::People;
    const COMMAND: Option<&'static str> = Some("guard discard");
    const WORDS: &'static [&'static str] = &["guard"];

    type Output = DiscardGuardOutcome;

    fn run(&self, ctx: &CommandContext<'_>) -> Result<DiscardGuardOutcome, Failure> {
        memory_exists(ctx)?;
        let reason = reason(&self.reason)?;
        person(ctx, "discard a guard")?;
        ctx.engine.discard_guard(&ctx.caller, &self.guard, &reason)
    }

    fn show(discarded: &DiscardGuardOutcome, page: &mut TextPage) {
        page.line([good("discarded"), strong(&discarded.id), dim(".twining/policy.yml")]);
    }
}

/// Refuses what somebody asks for who is not known to be a person.
fn person(ctx: &CommandContext<'_>, act: &str) -> Result<(), Failure> {
    match ctx.authority {
        Authority::Confirmed => Ok(()),
        Authority::Claimed => Err(Failure::needs_person(format!("only a person may {act}"))),
    }
}

fn memory_exists(ctx: &CommandContext<'_>) -> Result<(), Failure> {
    if ctx.engine.store().exists()? {
        return Ok(());
    }
    let hint = "`twining seed` creates it".to_owned();
    Err(Failure::NotFound { what: "folder", id: ".twining".to_owned(), hint })
}

fn reason(given: &str) -> Result<String, InvalidInput> {
    let reason = allowances::reason(given);
    if reason.is_empty() {
        return Err(InvalidInput::new("reason", "must not be empty"));
    }
    Ok(reason)
}

fn named(guard: &str) -> String {
    text::excerpt(guard, 40)
}

fn no_guard(guard: &str) -> Failure {
    let hint = "`twining guard list` shows them".to_owned();
    Failure::NotFound { what: "guard", id: named(guard), hint }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use twining_testcases::each;

    use super::*;
    use crate::commands::VERBS;
    use crate::project::{Project, caller_over_mcp};

    const POLICY: &str = "guards:\n  - id: no-push\n    status: proposed\n    tools: [Bash]\n    when: {command: git push}\n    say: people push\n";

    #[test]
    fn whoever_is_not_known_to_be_a_person_is_refused_and_nothing_changes() {
        let folder = tempfile::tempdir().expect("a folder");
        let project = Project::open(Some(folder.path().to_path_buf())).expect("opens");
        project.engine.create_policy(POLICY).expect("writes");
        let reason = json!({"guard": "no-push", "minutes": 10, "reason": "hotfix"});
        each(
            [
                ("guard_promote", json!({"guard": "no-push"})),
                ("guard_bypass", reason),
                ("guard_discard", json!({"guard": "no-push", "reason": "noise"})),
            ],
            |(name, input)| {
                let verb = VERBS.iter().find(|verb| verb.name == name).expect("a verb");
                let Value::Object(fields) = input else { unreachable!("it is an object") };
                let caller = caller_over_mcp(None, None, "s-1".to_owned());
                let refused = (verb.run)(&project.context(caller, Authority::Claimed), fields);
                let error = refused.err().expect("is refused").to_json();
                assert_eq!(error["code"], "NEEDS_PERSON", "{error}");
            },
        );
        let file = folder.path().join(".twining/policy.yml");
        assert_eq!(std::fs::read_to_string(file).expect("is there"), POLICY);
    }

    #[test]
    fn a_graver_act_is_confirmed_by_the_name_of_its_guard() {
        let typed = |name: &str, input: Value| {
            let verb = VERBS.iter().find(|verb| verb.name == name).expect("a verb");
            (verb.confirm_name)(input.as_object().expect("an object"))
        };
        assert_eq!(typed("guard_promote", json!({"guard": "a"})).as_deref(), Some("a"));
        assert_eq!(typed("guard_bypass_end", json!({"guard": "a"})), None);
        let overrides = json!({"decision_id": "01M7EB3Q", "reason": "r"});
        assert_eq!(typed("override", overrides).as_deref(), Some("01M7EB3Q"));
    }
}
