//! Guards that do not protect: unreadable or dead ones; and those that wait to be promoted.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;
use twining_guard::policy::{Examples, GuardHealth};
use twining_guard::{Guard, GuardSet};
use twining_store::{TextFile, digest};

use super::answers::{edit_command, href, quoted, shell_word};
use super::inbox::{Inbox, Pending};
use super::item::{Gravity, WaitingAnswer, WaitingItem, WaitingKind, WaitingSubject};
use crate::failure::Failure;
use crate::governance::{Mistake, PolicyLayer};
use crate::learning::Backtest;

/// Bytes of newly recorded calls after which a guard is tried on them again.
const BACKTEST_STEP: u64 = 64 * 1024;
/// Results that are kept.
const BACKTESTS_KEPT: usize = 64;

/// The guards of the policies with this digest, examples tried.
type KnownGuards = Option<(String, Arc<GuardSet>)>;

#[derive(Default)]
struct GuardCache {
    guards: Mutex<KnownGuards>,
    /// By the policies' digest, the step of recorded calls, and the guard.
    backtests: Mutex<BTreeMap<(String, u64, String), Arc<Backtest>>>,
}

impl Inbox<'_> {
    /// The guards, and a digest of the policies they are from.
    fn guards(self) -> (String, Arc<GuardSet>) {
        let project = self.engine.store().documents().policy();
        let project = project.unwrap_or_else(|error| TextFile::Unusable(error.to_string()));
        let user = self.sources.user;
        let key = digest(format!("{}\n{:?}\n{project:?}", user.name, user.file).as_bytes());
        let cache = self.engine.state::<GuardCache>();
        let mut known = cache.guards.lock().unwrap_or_else(PoisonError::into_inner);
        let all = match known.as_ref().filter(|(known, _)| *known == key) {
            Some((_, all)) => Arc::clone(all),
            None => Arc::new(GuardSet::load(user, &project, Examples::Read)),
        };
        *known = Some((key.clone(), Arc::clone(&all)));
        (key, all)
    }

    /// What a guard would have done to the recorded calls: it takes a while, so it is asked
    /// again only when many came since.
    fn backtest(self, policies: &str, id: &str) -> Result<Arc<Backtest>, Failure> {
        let calls = self.engine.store().local_state().calls_bytes()? / BACKTEST_STEP;
        let (cache, key) =
            (self.engine.state::<GuardCache>(), (policies.to_owned(), calls, id.to_owned()));
        let kept =
            cache.backtests.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(known) = kept {
            return Ok(known);
        }
        let found = Arc::new(self.engine.backtest(self.sources.user, id)?);
        let mut kept = cache.backtests.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= BACKTESTS_KEPT {
            kept.clear();
        }
        kept.insert(key, Arc::clone(&found));
        Ok(found)
    }
}

/// Guards that cannot be read, or that fail their own examples.
pub(super) fn dead(inbox: Inbox<'_>) -> Result<Vec<Pending<'_>>, Failure> {
    let (_, all) = inbox.guards();
    let mut found = Vec::new();
    if let Some(mistake) = all.unread.clone() {
        found.push(Pending::new(None, None, move || Ok(unread(&mistake))));
    }
    for (at, guard) in all.guards.iter().enumerate() {
        if matches!(guard.standing, GuardHealth::Dead(_)) {
            let all = Arc::clone(&all);
            found.push(Pending::new(None, None, move || {
                Ok(dead_guard(&all.guards[at], &inbox.sources.user.name))
            }));
        }
    }
    Ok(found)
}

fn unread(mistake: &Mistake) -> WaitingItem {
    let fix = WaitingAnswer::copy(
        "Fix it",
        edit_command(&mistake.file, mistake.line),
        "Once the file can be read, the project's guards are in force again.".to_owned(),
    );
    guard_item(
        WaitingKind::DeadGuard,
        &mistake.file,
        "The project's guards cannot be read".to_owned(),
        "Only the built-in guards are in force until the file is fixed.".to_owned(),
        (mistake.to_string(), None, "/guards".to_owned()),
        vec![fix],
    )
}

fn dead_guard(guard: &Guard, user_file: &str) -> WaitingItem {
    let file = match guard.source.layer {
        PolicyLayer::User => user_file,
        _ => ".twining/policy.yml",
    };
    let why = match &guard.standing {
        GuardHealth::Dead(why) => why.clone(),
        GuardHealth::Alive => String::new(),
    };
    let fix = WaitingAnswer::copy(
        "Fix it",
        edit_command(file, guard.source.line.unwrap_or(1)),
        format!("Once `{}` passes its own examples, it is in force.", guard.id),
    );
    guard_item(
        WaitingKind::DeadGuard,
        &guard.id,
        format!("The guard {} is dead", guard.id),
        "It fails its own examples, so it protects nothing.".to_owned(),
        (why, Some(guard), href("g", &guard.id)),
        vec![fix],
    )
}

/// Guards that warn until a person lets them block.
pub(super) fn proposed(inbox: Inbox<'_>) -> Result<Vec<Pending<'_>>, Failure> {
    let (policies, all) = inbox.guards();
    let waits = |guard: &Guard| guard.proposed && guard.standing == GuardHealth::Alive;
    let mut found = Vec::new();
    for (at, _) in all.guards.iter().enumerate().filter(|(_, guard)| waits(guard)) {
        let (all, policies) = (Arc::clone(&all), policies.clone());
        found.push(Pending::new(None, None, move || {
            let guard = &all.guards[at];
            let backtest = inbox.backtest(&policies, &guard.id)?;
            Ok(proposed_guard(guard, &backtest))
        }));
    }
    Ok(found)
}

fn proposed_guard(guard: &Guard, backtest: &Backtest) -> WaitingItem {
    let id = &guard.id;
    let word = shell_word(id);
    let promote = WaitingAnswer::call(
        "Promote",
        "guard_promote",
        json!({"guard": id}),
        format!("{id} blocks from now on, instead of warning."),
    );
    let discard = WaitingAnswer::call(
        "Discard",
        "guard_discard",
        json!({"guard": id}),
        format!("{id} is taken out of the policy and warns no more."),
    );
    guard_item(
        WaitingKind::ProposedGuard,
        id,
        format!("The guard {id} {}", backtest.summary()),
        format!("{}It only warns until a person lets it block.", stopped_call(guard)),
        (guard.say.clone(), Some(guard), href("g", id)),
        vec![
            promote.by_name().with_command(format!("twining guard promote {word}")),
            discard
                .because("reason")
                .with_command(format!("twining guard discard {word} --why \"…\"")),
        ],
    )
}

/// A call that the guard is for, in a sentence.
fn stopped_call(guard: &Guard) -> String {
    let call = guard.examples.iter().find(|example| example.is_stopped);
    let words = call.and_then(|call| call.input["command"].as_str().or_else(|| call.path()));
    words.map_or_else(String::new, |words| {
        let (tool, words) = (call.map_or("", |call| call.tool()), quoted(words));
        format!("It is for calls such as {tool} {words}. ")
    })
}

fn guard_item(
    kind: WaitingKind,
    id: &str,
    title: String,
    why_you: String,
    (summary, guard, href): (String, Option<&Guard>, String),
    answers: Vec<WaitingAnswer>,
) -> WaitingItem {
    WaitingItem {
        id: format!("{}:{id}", kind.as_str()),
        kind,
        title,
        why_you,
        since: None,
        scope: None,
        by: guard.and_then(|guard| guard.origin.clone()),
        gravity: if kind == WaitingKind::DeadGuard { Gravity::Grave } else { Gravity::Minor },
        subjects: vec![WaitingSubject {
            id: id.to_owned(),
            summary,
            detail: guard.map(|guard| format!("{}, {}", guard.action.as_str(), guard.source)),
            by: None,
            status: None,
            rests_on_it: None,
            href: href.clone(),
        }],
        answers,
        href,
        settled: None,
    }
}
