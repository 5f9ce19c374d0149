//! What a person allowed: guards lifted for a while, findings of the commit check let
//! through, and the exact text of commands that guards may run.
//!
//! It is kept among the user's settings, one file a project, never in the project:
//! nothing that comes with a clone can lift or run anything. The file names the
//! project's path and the identity of its folder, so another clone at the same path
//! starts with nothing allowed.

use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use twining_engine::{Failure, GuardBypass};
use twining_guard::policy::builtin::PERSON_COMMANDS;
use twining_model::{Time, Trust, text};
use twining_store::disk::hash_of;
use twining_store::{Store, StoreError};

use crate::person_check;
use crate::project::Project;
use crate::render::command_error::CommandError;
use crate::user_policy;

/// The folder for them; a built-in guard knows it by this name.
pub(crate) const FOLDER: &str = "allowed-by-person";
/// The reason of a person who commits where no terminal asks, such as a graphical client.
const VARIABLE: &str = "TWINING_ALLOW";
/// Longest reason that is kept, in characters.
const REASON: usize = 300;

/// Leave that a person gave: a guard that does not hold for a while, or what the commit
/// check found and the next commit may have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Allowance {
    /// The guard; of a commit, the rule or the path that the check named. A folder ends in `/`.
    pub subject: String,
    /// Of a commit: the one it was given on top of, and ends with. Empty before the first.
    pub head: String,
    /// Until when.
    pub until: String,
    /// Why.
    pub reason: String,
    /// Who gave it.
    pub by: String,
}

impl Allowance {
    /// The bypass it is, of a guard.
    pub(crate) fn as_bypass(&self) -> GuardBypass {
        let Self { until, by, reason, .. } = self.clone();
        GuardBypass { until, by, reason }
    }
}

/// A command that a guard may run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct TrustedCommand {
    /// Which guard.
    pub guard: String,
    /// Its text, to the letter.
    pub command: String,
    /// Who allowed it.
    pub by: String,
    /// When.
    pub at: String,
}

/// All that is allowed in one project.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct PersonAllowances {
    project: String,
    identity: String,
    /// Guards that are lifted.
    pub bypasses: Vec<Allowance>,
    /// Findings that the next commit may have.
    pub commits: Vec<Allowance>,
    /// Commands that may run.
    pub trusted: Vec<TrustedCommand>,
}

impl PersonAllowances {
    /// What is allowed here. What cannot be read allows nothing.
    pub(crate) fn read(store: &Store) -> Self {
        let none = Self::of(store).unwrap_or_default();
        let bytes = file(store).and_then(|path| fs::read(path).ok()).unwrap_or_default();
        let read: Self = serde_json::from_slice(&bytes).unwrap_or_default();
        let ours = !none.identity.is_empty()
            && (&read.project, &read.identity) == (&none.project, &none.identity);
        if ours { read } else { none }
    }

    /// Keeps it.
    pub(crate) fn write(&self, store: &Store) -> Result<(), Failure> {
        let path = file(store).ok_or_else(|| Failure::Refused {
            code: "NOT_FOUND",
            why: "the user's settings folder cannot be determined".to_owned(),
            hint: "set HOME or XDG_CONFIG_HOME".to_owned(),
        })?;
        let bytes = serde_json::to_vec_pretty(self).map_err(StoreError::from)?;
        let temp = path.with_extension(format!("{}.new", std::process::id()));
        let made =
            path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&temp, bytes));
        // In one step: half a file would take back what is allowed.
        made.and_then(|()| fs::rename(&temp, &path)).map_err(|source| {
            let path = path.display().to_string();
            Failure::from(StoreError::Io { doing: "write", path, source })
        })
    }

    /// Takes all of it back, with its file.
    pub(crate) fn forget(store: &Store) {
        if let Some(path) = file(store) {
            // The folder goes with its last file.
            let _ = fs::remove_file(&path);
            let _ = path.parent().map(fs::remove_dir);
        }
    }

    /// Allows one more thing in a list, instead of what it said of the same subject.
    pub(crate) fn grant(
        store: &Store,
        list: fn(&mut Self) -> &mut Vec<Allowance>,
        given: Allowance,
    ) -> Result<(), Failure> {
        let mut allowed = Self::read(store);
        let list = list(&mut allowed);
        list.retain(|other| {
            other.subject != given.subject && is_before(store.ids().now(), &other.until)
        });
        list.push(given);
        allowed.write(store)
    }

    /// Ends the bypass of a guard; whether there was one in force.
    pub(crate) fn end_bypass(store: &Store, guard: &str) -> Result<bool, Failure> {
        let mut allowed = Self::read(store);
        let was_lifted = allowed.bypass(guard, store.ids().now()).is_some();
        allowed.bypasses.retain(|bypass| bypass.subject != guard);
        allowed.write(store)?;
        Ok(was_lifted)
    }

    /// The guards that are lifted now.
    pub(crate) fn lifted(&self, now: Time) -> impl Iterator<Item = &Allowance> {
        self.bypasses.iter().filter(move |bypass| {
            self.bypass(&bypass.subject, now).is_some_and(|held| held == *bypass)
        })
    }

    /// The bypass that lifts a guard now. Those that keep this file are never lifted.
    pub(crate) fn bypass(&self, guard: &str, now: Time) -> Option<&Allowance> {
        let lifts = |bypass: &&Allowance| bypass.subject == guard && is_before(now, &bypass.until);
        self.bypasses.iter().rev().find(lifts).filter(|_| guard != PERSON_COMMANDS)
    }

    /// What lets a finding of the commit check through, by its rule or by its path, in
    /// a commit on top of `head`.
    pub(crate) fn commit_allowance(
        &self,
        rule: &str,
        path: &str,
        head: Option<&str>,
        now: Time,
    ) -> Option<&Allowance> {
        let names = |subject: &str| {
            subject == rule
                || subject == path
                || (subject.ends_with('/') && path.starts_with(subject))
        };
        let holds = |given: &&Allowance| {
            given.head == head.unwrap_or_default()
                && is_before(now, &given.until)
                && names(&given.subject)
        };
        self.commits.iter().rev().find(holds)
    }

    /// Whether a guard may run exactly this.
    pub(crate) fn trusts(&self, guard: &str, command: &str) -> bool {
        self.trusted.iter().any(|trusted| trusted.guard == guard && trusted.command == command)
    }

    /// Nothing allowed yet, for this project.
    fn of(store: &Store) -> Option<Self> {
        let project = store.location().project.display().to_string();
        Some(Self {
            project,
            identity: store.local_state().identity().ok().flatten()?,
            ..Self::default()
        })
    }
}

/// The reason given in the environment for one commit.
pub(crate) fn from_environment() -> Option<String> {
    std::env::var(VARIABLE).ok().map(|given| reason(&given)).filter(|reason| !reason.is_empty())
}

/// Records that a commit went through with findings, for the reason in the
/// environment. Nobody was asked, so it is git's user who claims it.
pub(crate) fn allow_commit(
    project: &Project,
    why: &str,
    findings: &[String],
) -> Result<(), CommandError> {
    let caller = person_check::signed(project.history.user_name(), Trust::Agent);
    let what = format!(
        "a commit was allowed by {VARIABLE} (claimed: no person confirmed it): {}",
        text::excerpt(&findings.join("; "), REASON)
    );
    project.engine.approve(&caller, "commit-check", &what, why)?;
    Ok(())
}

/// A reason on one line, as it is kept.
pub(crate) fn reason(given: &str) -> String {
    text::excerpt(&given.split_whitespace().collect::<Vec<_>>().join(" "), REASON)
}

/// Whether a time that was kept is yet to come.
pub(crate) fn is_before(now: Time, until: &str) -> bool {
    Time::read(until).is_some_and(|until| now < until)
}

fn file(store: &Store) -> Option<PathBuf> {
    let project = store.location().project.display().to_string();
    Some(
        user_policy::folder()?
            .join(FOLDER)
            .join(format!("{:016x}.json", hash_of(project.as_bytes()))),
    )
}

#[cfg(test)]
mod tests {
    use crate::allowances::*;

    const UNTIL: &str = "2026-11-15T10:00:00Z";

    fn at(time: &str) -> Time {
        Time::read(time).expect("a time")
    }

    #[test]
    fn a_bypass_ends_and_never_lifts_what_keeps_it() {
        let bypasses = [PERSON_COMMANDS, "no-push"].map(given).to_vec();
        let allowed = PersonAllowances { bypasses, ..PersonAllowances::default() };
        assert!(allowed.bypass("no-push", at("2026-11-15T09:59:59Z")).is_some());
        assert!(allowed.bypass("no-push", at(UNTIL)).is_none());
        assert!(allowed.bypass("another", at("2026-11-15T09:00:00Z")).is_none());
        assert!(allowed.bypass(PERSON_COMMANDS, at("2026-11-15T09:00:00Z")).is_none());
    }

    fn given(subject: &str) -> Allowance {
        Allowance {
            subject: subject.into(),
            head: "c0ffee".into(),
            until: UNTIL.into(),
            reason: "x".into(),
            by: "ada".into(),
        }
    }

    fn allowing(subject: &str) -> PersonAllowances {
        PersonAllowances { commits: vec![given(subject)], ..PersonAllowances::default() }
    }

    #[test]
    fn an_allowance_names_a_rule_a_file_or_a_folder() {
        let through = |subject: &str| {
            allowing(subject)
                .commit_allowance(
                    "decision-1",
                    "src/a.ts",
                    Some("c0ffee"),
                    at("2026-11-15T09:00:00Z"),
                )
                .is_some()
        };
        assert!(through("decision-1") && through("src/a.ts") && through("src/"));
        assert!(
            !through("decision-2") && !through("src/b.ts") && !through("src") && !through("sr")
        );
    }

    #[test]
    fn an_allowance_ends_with_the_next_commit_or_after_its_time() {
        let through = |head: Option<&str>, now: &str| {
            allowing("src/a.ts").commit_allowance("r", "src/a.ts", head, at(now)).is_some()
        };
        assert!(
            through(Some("c0ffee"), "2026-11-15T09:59:59Z"),
            "a commit that another hook stopped is tried again"
        );
        assert!(
            !through(Some("decaf"), "2026-11-15T09:00:00Z")
                && !through(None, "2026-11-15T09:00:00Z")
        );
        assert!(!through(Some("c0ffee"), UNTIL));
    }
}
