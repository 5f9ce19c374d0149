//! A guard made from a pattern: proposed, warning, and with what it would have
//! done; and the person's yes that makes it block.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use twining_guard::policy::edit::{NewGuard, quoted};
use twining_guard::policy::{Examples, GuardHealth, edit};
use twining_guard::{Facts, Guard, GuardSet, NoClaims, NoEvidence, Verdict};
use twining_model::{InvalidInput, limits, text, words};
use twining_store::TextFile;

use crate::failure::Failure;
use crate::fields::{is_false, is_zero};
use crate::governance::{Mistake, UserPolicy};
use crate::learning::patterns::{Pattern, ProposalKind};
use crate::learning::recorded_call::{RecordedCall, action_summary};
use crate::learning::tally::GuardCounts;
use crate::secrets::{Redaction, redact_fields};

/// A guard to create.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateGuardInput {
    /// The pattern's id
    pub pattern: String,
    /// The guard's name
    pub id: Option<String>,
    /// Message to the agent; default: the pattern's reason
    pub say: Option<String>,
    /// What to do instead
    pub next_step: Option<String>,
    /// Commands it stops; default: the pattern's
    ///
    /// Such as `git push`
    #[serde(default)]
    pub commands: Vec<String>,
    /// Protected file globs
    #[serde(default)]
    pub paths: Vec<String>,
    /// Added text it stops
    #[serde(default)]
    pub adds: Vec<String>,
    /// Tools it applies to; default: all
    #[serde(default)]
    pub tools: Vec<String>,
    /// Your name
    pub agent_id: Option<String>,
}

redact_fields!(CreateGuardInput { id, say, next_step, commands, paths, adds, tools, agent_id });

/// A guard that was proposed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CreateGuardOutcome {
    /// Its name.
    pub id: String,
    /// The pattern it is made from.
    pub pattern: String,
    /// Always `proposed`.
    pub status: String,
    /// Always `warn`.
    pub action: Verdict,
    /// File and line.
    pub place: String,
    /// What it would have done.
    pub backtest: Backtest,
    /// The next step.
    pub next_step: String,
    /// Secrets redacted before writing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redacted: Vec<Redaction>,
}

/// A guard that blocks from now on.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PromoteGuardOutcome {
    /// Its name.
    pub id: String,
    /// What it does now.
    pub action: Verdict,
    /// File and line.
    pub place: String,
}

/// A proposed guard that is gone.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DiscardGuardOutcome {
    /// Its name.
    pub id: String,
}

/// The policy with the guard in it.
pub(crate) fn plan_create(
    file: &TextFile,
    pattern: &Pattern,
    input: &CreateGuardInput,
    calls: &[String],
    objected: &HashSet<String>,
) -> Result<(Option<String>, CreateGuardOutcome), Failure> {
    let before = readable(file)?;
    if let Some(made) = &pattern.made {
        return Err(InvalidInput::new("pattern", "already has a guard")
            .because(format!("it is `{made}`"))
            .into());
    }
    match &pattern.proposal {
        None => {
            let why = format!(
                "only {} of its {} traces count, which is too few",
                pattern.counted, pattern.count
            );
            return Err(InvalidInput::new("pattern", "does not propose anything")
                .because(why)
                .into());
        }
        Some(proposal) if proposal.kind != ProposalKind::Guard => {
            return Err(InvalidInput::new("pattern", "needs no new guard")
                .because(&proposal.say)
                .into());
        }
        Some(_) => {}
    }
    let id = match &input.id {
        Some(id) => text::name("id", id)?,
        None => format!(
            "learned-{}",
            pattern.id.trim_start_matches("pattern-").chars().take(8).collect::<String>()
        ),
    };
    let mut new = NewGuard { fields: fields(pattern, input)?, id, remark: String::new() };
    let guard = edit::with_guard(before, &new).map_err(unwritable)?.1;
    let backtest = Backtest::of(&guard, calls, objected);
    new.remark = format!("backtest: {}", backtest.summary());
    let (after, guard) = edit::with_guard(before, &new).map_err(unwritable)?;
    check_guard_holds(&after, &guard.id)?;
    let created = CreateGuardOutcome {
        next_step: format!(
            "it warns from now on; to make it block, a person runs `twining guard promote {}`",
            guard.id
        ),
        place: place(&guard),
        id: guard.id,
        pattern: pattern.id.clone(),
        status: "proposed".to_owned(),
        action: guard.action,
        backtest,
        redacted: Vec::new(),
    };
    Ok((Some(after), created))
}

/// The policy with the guard in force.
pub(crate) fn plan_promote(
    file: &TextFile,
    id: &str,
) -> Result<(Option<String>, PromoteGuardOutcome), Failure> {
    let (after, guard) = edit::promoted(readable(file)?, id)
        .map_err(|why| InvalidInput::new("guard", "cannot be promoted").because(why))?;
    check_guard_holds(&after, id)?;
    Ok((
        Some(after),
        PromoteGuardOutcome { place: place(&guard), id: guard.id, action: guard.action },
    ))
}

/// The policy without a proposed guard.
pub(crate) fn plan_discard(
    file: &TextFile,
    id: &str,
) -> Result<(Option<String>, DiscardGuardOutcome), Failure> {
    let after = edit::discarded(readable(file)?, id)
        .map_err(|why| InvalidInput::new("guard", "cannot be discarded").because(why))?;
    Ok((Some(after), DiscardGuardOutcome { id: id.to_owned() }))
}

fn readable(file: &TextFile) -> Result<&str, Failure> {
    match file {
        TextFile::Missing => Ok(""),
        TextFile::Text(text) => Ok(text),
        TextFile::Unusable(why) => {
            Err(InvalidInput::new("policy.yml", "cannot be used").because(why).into())
        }
    }
}

fn unwritable(why: String) -> InvalidInput {
    InvalidInput::new("guard", "cannot be written into policy.yml").because(why)
}

/// Refuses a guard that nobody would be asked by.
fn check_guard_holds(policy: &str, id: &str) -> Result<(), Failure> {
    let all =
        GuardSet::load(&UserPolicy::default(), &TextFile::Text(policy.to_owned()), Examples::Read);
    match all.guards.iter().find(|guard| guard.id == id).map(|guard| &guard.standing) {
        Some(GuardHealth::Alive) => Ok(()),
        Some(GuardHealth::Dead(why)) => {
            Err(InvalidInput::new("guard", "would be inactive").because(why).into())
        }
        None => Err(InvalidInput::new("guard", "would be ignored")
            .because("another guard of that name is stricter")
            .into()),
    }
}

fn place(guard: &twining_guard::Guard) -> String {
    format!(".twining/policy.yml:{}", guard.source.line.unwrap_or(1))
}

/// The fields of the guard, as YAML.
fn fields(
    pattern: &Pattern,
    input: &CreateGuardInput,
) -> Result<Vec<(&'static str, String)>, Failure> {
    let list =
        |field: &'static str, given: &[String]| text::list(field, given, 16, limits::ELEMENT_BYTES);
    let (mut commands, mut paths) =
        (list("commands", &input.commands)?, list("paths", &input.paths)?);
    let (adds, mut tools) = (list("adds", &input.adds)?, list("tools", &input.tools)?);
    let mut example = None;
    if commands.is_empty() && paths.is_empty() && adds.is_empty() {
        let (tool, what) = pattern.action.split_once(": ").unwrap_or_default();
        let derived = what.split("; ").next().unwrap_or_default();
        if derived.is_empty() || derived.contains("[masked]") {
            let explanation =
                "the pattern names neither a command nor a path; give commands, paths or adds";
            return Err(InvalidInput::new("commands", "must say what the guard matches")
                .because(explanation)
                .into());
        }
        match twining_guard::action(tool, &json!({"command": derived, "file_path": derived})) {
            twining_guard::ToolAction::Shell(_) => {
                example = Some(format!("{{blocks: [{}]}}", quoted(derived)));
                commands = vec![derived.to_owned()];
            }
            _ => {
                tools = vec![tool.to_owned()];
                paths = vec![derived.to_owned()];
            }
        }
    }
    let say = match input.say.as_deref().filter(|say| !say.trim().is_empty()) {
        Some(say) => text::summary("say", say)?,
        None => text::excerpt(
            if pattern.correct.is_empty() { &pattern.reason } else { &pattern.correct },
            limits::SUMMARY_CHARS - 1,
        ),
    };
    let all = |texts: &[String]| {
        format!("[{}]", texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", "))
    };
    let mut fields = vec![
        ("status", "proposed".to_owned()),
        ("action", "warn".to_owned()),
        ("origin", quoted(&format!("pattern:{}", pattern.id))),
    ];
    if !tools.is_empty() {
        fields.push(("tools", all(&tools)));
    }
    if !paths.is_empty() {
        fields.push(("paths", all(&paths)));
    }
    let conditions = [("command", &commands), ("adds", &adds)]
        .into_iter()
        .filter(|(_, texts)| !texts.is_empty());
    let conditions: Vec<String> =
        conditions.map(|(key, texts)| format!("{key}: {}", all(texts))).collect();
    if !conditions.is_empty() {
        fields.push(("when", format!("{{{}}}", conditions.join(", "))));
    }
    fields.extend(example.map(|example| ("examples", example)));
    if let Some(next) = input.next_step.as_deref().filter(|next| !next.trim().is_empty()) {
        fields.push(("next_step", quoted(&text::summary("next_step", next)?)));
    }
    fields.push(("say", quoted(&say)));
    Ok(fields)
}

/// A guard.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GuardSummary {
    /// Its name.
    pub id: String,
    /// Where it comes from.
    pub source: String,
    /// What it does on a match.
    pub action: Verdict,
    /// Whether a person has yet to promote it.
    #[serde(skip_serializing_if = "is_false")]
    pub proposed: bool,
    /// Why it is skipped, if it fails its own examples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dead: Option<String>,
    /// What it was made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// The command it requires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify: Option<String>,
    /// Its message.
    pub say: String,
    /// What to do instead.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub next_step: String,
    /// Whether it holds.
    pub health: GuardState,
    /// Times it spoke: blocked, asked or warned.
    pub fired: u64,
    /// Times it blocked.
    pub blocked: u64,
    /// Times a person found it right.
    pub right: u64,
    /// Times a person found it wrong.
    pub wrong: u64,
    /// Times a person lifted it.
    pub lifted: u64,
    /// When it spoke last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_fired: Option<String>,
    /// The bypass that is in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bypass: Option<GuardBypass>,
    /// What it would have done, if it is proposed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backtest: Option<GuardBacktest>,
}

words! {
    /// Whether a guard holds.
    pub enum GuardState {
        /// It does what its examples say.
        Alive = "alive",
        /// It fails its own examples, and is skipped.
        Dead = "dead",
    }
}

/// What a proposed guard would have done to the recorded calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GuardBacktest {
    /// Calls it was tried on.
    pub calls: u64,
    /// How many it would have stopped.
    pub would_stop: u64,
    /// How many of those were fine: they ran, no guard fired, nobody undid them.
    pub allowed_later: u64,
}

impl From<&Backtest> for GuardBacktest {
    fn from(test: &Backtest) -> Self {
        Self { calls: test.calls, would_stop: test.stopped, allowed_later: test.fine }
    }
}

/// A guard that a person lifted for a while.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GuardBypass {
    /// Until when.
    pub until: String,
    /// Who lifted it.
    pub by: String,
    /// Why.
    pub reason: String,
}

impl GuardBypass {
    /// In one line.
    #[must_use]
    pub fn summary(&self) -> String {
        format!("lifted until {} by {}: {}", self.until, self.by, self.reason)
    }
}

/// All guards are listed.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GuardsInput {}

/// The guards of a project.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GuardsOutcome {
    /// All of them, built in first.
    pub guards: Vec<GuardSummary>,
    /// What is wrong with the policy files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mistakes: Vec<Mistake>,
}

/// Lists the guards.
pub(crate) fn listed(all: &GuardSet) -> GuardsOutcome {
    let guards = all.guards.iter().map(|guard| GuardSummary {
        id: guard.id.clone(),
        source: guard.source.to_string(),
        action: guard.action,
        proposed: guard.proposed,
        dead: if let GuardHealth::Dead(why) = &guard.standing { Some(why.clone()) } else { None },
        origin: guard.origin.clone(),
        verify: guard.verify.clone(),
        say: guard.say.clone(),
        next_step: guard.next_step.clone(),
        health: match guard.standing {
            GuardHealth::Alive => GuardState::Alive,
            GuardHealth::Dead(_) => GuardState::Dead,
        },
        fired: 0,
        blocked: 0,
        right: 0,
        wrong: 0,
        lifted: 0,
        last_fired: None,
        bypass: None,
        backtest: None,
    });
    GuardsOutcome { guards: guards.collect(), mistakes: all.mistakes.clone() }
}

impl GuardSummary {
    /// Adds what became of it.
    pub(crate) fn add(&mut self, counts: &GuardCounts) {
        let GuardCounts { fired, blocked, right, wrong, lifted, last_fired } = counts.clone();
        (self.fired, self.blocked, self.last_fired) = (fired, blocked, last_fired);
        (self.right, self.wrong, self.lifted) = (right, wrong, lifted);
    }
}

/// Calls shown of each kind.
const SHOWN: usize = 5;

/// What a guard would have done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Backtest {
    /// Recorded calls it was tried on.
    pub calls: u64,
    /// How many it would have stopped.
    pub stopped: u64,
    /// How many of those were fine: they ran, no guard fired, nobody undid them.
    pub fine: u64,
    /// Calls too large to be recorded whole, which it may have missed.
    #[serde(skip_serializing_if = "is_zero")]
    pub cut: u64,
    /// Some that were fine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fine_ones: Vec<String>,
    /// Some that were not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
    /// When the oldest call was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

impl Backtest {
    /// Tests a guard on calls; `objected` are those that a trace refers to.
    pub(crate) fn of(guard: &Guard, lines: &[String], objected: &HashSet<String>) -> Self {
        let alone = GuardSet::alone(guard);
        let mut test = Self::default();
        for call in lines
            .iter()
            .filter_map(|line| RecordedCall::read(line))
            .filter(|call| !call.is_prompt())
        {
            test.calls += 1;
            test.cut += u64::from(call.cut);
            test.since.get_or_insert_with(|| call.at.clone());
            let event = call.event();
            let verdict = alone
                .evaluate(
                    &event,
                    &Facts {
                        root: &call.root,
                        files: &call,
                        evidence: &NoEvidence,
                        claims: &NoClaims,
                    },
                )
                .verdict;
            if verdict == Verdict::Off {
                continue;
            }
            test.stopped += 1;
            let fine = call.verdict == Verdict::Off.as_str() && !objected.contains(&call.id);
            test.fine += u64::from(fine);
            let shown = if fine { &mut test.fine_ones } else { &mut test.others };
            if shown.len() < SHOWN {
                shown.push(text::excerpt(&action_summary(&event, &call.root), 120));
            }
        }
        test
    }

    /// In one line.
    #[must_use]
    pub fn summary(&self) -> String {
        format!(
            "would have stopped {} of {} recorded calls; {} of those were fine",
            self.stopped, self.calls, self.fine
        )
    }
}
