//! Lines of clones on their way into the log: which are planned, and in which order they go.

use std::collections::{BTreeMap, HashSet};

use twining_model::{Change, Id};
use twining_store::{LogBase, LogError, NewLine, Store, StoreError};

use super::line_plan::{Admission, PlannedOn, leave_out_known};
use super::rights::{RemoteAuthor, refused, vetted};
use crate::engine::Engine;

impl Engine {
    /// Takes in lines that a linked clone planned on an old view, in their order, and returns
    /// their numbers. A key that the log knows is answered with its number. The store must use a
    /// log.
    pub fn admit(&self, lines: &[NewLine], author: &RemoteAuthor) -> Result<Vec<u64>, StoreError> {
        self.admit_in_order(lines, author).map_err(refusal)
    }

    fn admit_in_order(
        &self,
        lines: &[NewLine],
        author: &RemoteAuthor,
    ) -> Result<Vec<u64>, StoreError> {
        let store = self.store();
        let keys: Vec<Id> = lines.iter().map(|line| line.key.clone()).collect();
        let known = store.numbers_in_log(&keys)?;
        let mut numbers: BTreeMap<Id, u64> = BTreeMap::new();
        let mut aliases = BTreeMap::new();
        let admission = Admission { engine: self, author, planned_on: PlannedOn::OldView };
        let mut plain: Vec<NewLine> = Vec::new();
        for (line, known) in lines.iter().zip(known) {
            if let Some(number) = known {
                numbers.insert(line.key.clone(), number);
                continue;
            }
            let change = vetted(line.change.clone(), author, store.ids().now())?;
            if is_plain(&change) {
                plain.push(NewLine { key: line.key.clone(), change });
                continue;
            }
            append_plain(store, &mut plain, &mut numbers)?;
            let number = store
                .commit_under_key(&line.key, |view| admission.plan(view, &change, &mut aliases))?;
            numbers.insert(line.key.clone(), number);
        }
        append_plain(store, &mut plain, &mut numbers)?;
        keys.iter()
            .map(|key| numbers.get(key).copied().ok_or_else(|| refused("a line has no number")))
            .collect()
    }

    /// Appends lines of a clone: one that it planned on the log as it is, or lines that are true
    /// whatever others wrote. Whatever is planned is admitted, whatever a clone says of its view.
    pub fn append_remote(
        &self,
        base: LogBase,
        lines: &[NewLine],
        author: &RemoteAuthor,
    ) -> Result<Vec<u64>, StoreError> {
        let appended = match (base, lines) {
            (LogBase::Any, lines) => self.append_unplanned(lines, author),
            (LogBase::At(at), [line]) => self.append_planned(at, line, author),
            (LogBase::At(_), _) => Err(refused("lines are planned one at a time")),
        };
        appended.map_err(refusal)
    }

    fn append_unplanned(
        &self,
        lines: &[NewLine],
        author: &RemoteAuthor,
    ) -> Result<Vec<u64>, StoreError> {
        let now = self.store().ids().now();
        let vet = |line: &NewLine| {
            let change = vetted(line.change.clone(), author, now)?;
            Ok(NewLine { key: line.key.clone(), change })
        };
        let plain = lines.iter().map(vet).collect::<Result<Vec<_>, StoreError>>()?;
        if plain.iter().all(|line| is_plain(&line.change)) {
            return self.store().append_to_log(LogBase::Any, &plain);
        }
        self.admit_in_order(lines, author)
    }

    /// Others' planned lines after `at` make it fail with [`LogError::Behind`], so the view that it
    /// is admitted on has every planned line, however far the clone says it has followed.
    fn append_planned(
        &self,
        at: u64,
        line: &NewLine,
        author: &RemoteAuthor,
    ) -> Result<Vec<u64>, StoreError> {
        let store = self.store();
        if let [Some(number)] = store.numbers_in_log(std::slice::from_ref(&line.key))?[..] {
            return Ok(vec![number]);
        }
        store.follower().catch_up_to(at)?;
        if store.follower().position()? < at {
            return Err(refused("it was planned on a line that the log does not have"));
        }
        let change = vetted(line.change.clone(), author, store.ids().now())?;
        let admission = Admission { engine: self, author, planned_on: PlannedOn::LogEnd };
        let change = store.view(|view| admission.plan(view, &change, &mut BTreeMap::new()))?;
        let line = NewLine { key: line.key.clone(), change };
        store.append_to_log(LogBase::At(at), &[line])
    }
}

/// Whether a change is true whatever others wrote.
fn is_plain(change: &Change) -> bool {
    change.decisions.is_empty()
        && change.amendments.is_empty()
        && change.entities.is_empty()
        && change.relations.is_empty()
        && change.removed_entities.is_empty()
        && change.removed_relations.is_empty()
        && change.archived.is_empty()
}

/// Appends lines that need no plan, many at once.
fn append_plain(
    store: &Store,
    lines: &mut Vec<NewLine>,
    numbers: &mut BTreeMap<Id, u64>,
) -> Result<(), StoreError> {
    let mut lines = std::mem::take(lines);
    if lines.is_empty() {
        return Ok(());
    }
    store.view::<_, StoreError>(|view| {
        let mut seen = HashSet::new();
        lines.iter_mut().try_for_each(|line| leave_out_known(view, &mut line.change, &mut seen))
    })?;
    let keys: Vec<Id> = lines.iter().map(|line| line.key.clone()).collect();
    let appended = match store.append_to_log(LogBase::Any, &lines) {
        // Another node may have admitted some of them a moment ago.
        Err(StoreError::Log(LogError::Refused(why))) => {
            let known = store.numbers_in_log(&keys)?;
            if known.iter().all(Option::is_none) {
                return Err(LogError::Refused(why).into());
            }
            let rest: Vec<NewLine> = lines
                .into_iter()
                .zip(&known)
                .filter(|(_, number)| number.is_none())
                .map(|(line, _)| line)
                .collect();
            let mut rest = store.append_to_log(LogBase::Any, &rest)?.into_iter();
            known.into_iter().filter_map(|number| number.or_else(|| rest.next())).collect()
        }
        appended => appended?,
    };
    numbers.extend(keys.into_iter().zip(appended));
    Ok(())
}

/// An error that a line itself is the cause of, as the refusal of that line.
fn refusal(error: StoreError) -> StoreError {
    match error {
        StoreError::TooLarge { .. } | StoreError::Unsafe { .. } | StoreError::Encode(_) => {
            let source = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
            refused(&format!("{error}{}", source.unwrap_or_default()))
        }
        error => error,
    }
}
