//! Following a log that others write too.
//!
//! Lines are taken in under the write lock, many as one line of the journal that also
//! says how far the log was followed: a crash in between repeats them and doubles none.
//! The lock is never held while the log is asked.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use twining_model::{Amendment, Change, Decision, Entity, Entry, Id, JsonDocument, Relation, Time};

use super::journaled_writer::{LineMarks, PlannedChange, StoreWriter};
use super::line_key::{line_key, use_up_line_key};
use super::project_store::{Durability, PlanBase, Store, planned};
use super::store_handle::OpenStore;
use crate::error::{LogError, StoreError};
use crate::index::View;
use crate::log::journal::{LOG_VERSION, Log, LogBase, LogLine, NewLine};
use crate::log::outbox_file::OutboxLine;
use crate::merge::one_decision;

/// Lines that are asked for at once.
const BATCH: usize = 1024;
/// How often a plan is retried because others were quicker.
const TRIES: usize = 16;

/// The note of the last line that was taken in, in `local/`.
const FOLLOWED_LINE: &str = "shared-followed-line";

/// A line of a log that a folder has: a log with another under that number is another log, such as
/// one that was restored from a backup and written since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FollowedLine {
    /// Its number.
    pub seq: u64,
    /// Its key.
    pub key: Id,
}

/// What the folder has of its log.
#[derive(Clone, Copy, Debug)]
pub struct LogFollower<'s>(pub(super) &'s Store);

/// What is known of lines that are taken in.
#[derive(Default)]
pub(super) struct LineOrigins {
    /// Keys of lines that this process appended itself.
    appended: HashSet<Id>,
    /// Lines of the outbox, by key: the folder has carried them out.
    outbox: HashMap<Id, OutboxLine>,
    /// Whether records may be in the folder that no line of the outbox brought there.
    may_be_present: bool,
}

impl LineOrigins {
    /// Of lines that come to a folder which may have their records already.
    pub(super) fn beside_own() -> Self {
        Self { may_be_present: true, ..Self::default() }
    }
}

/// What came of a change that was offered to a log.
enum LogCommit<T> {
    Done(T),
    /// The log may have it or not: under this key it is to be offered again.
    Unanswered {
        planned: Box<PlannedChange>,
        outcome: T,
        error: StoreError,
    },
    /// The log does not have it.
    NotTaken(StoreError),
}

impl Store {
    /// From now on the folder follows this log, and what is written goes there first.
    pub fn use_log(&self, log: Arc<dyn Log>) {
        // The first log stays.
        let _ = self.log.set(log);
    }

    /// Whether every write goes through a log.
    #[must_use]
    pub fn has_log(&self) -> bool {
        self.log.get().is_some()
    }

    /// From now on what is planned goes through this log where it answers, if the folder is linked;
    /// one that was given before is asked no more.
    pub fn use_linked_log(&self, log: Arc<dyn Log>) {
        *self.linked_log.write().unwrap_or_else(PoisonError::into_inner) = Some(log);
    }

    pub(super) fn linked_log(&self) -> Option<Arc<dyn Log>> {
        self.linked_log.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What the folder has of its log.
    #[must_use]
    pub fn follower(&self) -> LogFollower<'_> {
        LogFollower(self)
    }

    /// Follows a log to its end, and returns how many lines were taken in.
    pub(super) fn follow_to_end(
        &self,
        log: &dyn Log,
        appended: &HashSet<Id>,
    ) -> Result<u64, StoreError> {
        let mut taken = 0;
        loop {
            let lines = self.next_lines(log)?;
            if lines.is_empty() {
                return Ok(taken);
            }
            taken += lines.len() as u64;
            let origins = LineOrigins { appended: appended.clone(), ..LineOrigins::default() };
            self.take_in(&lines, origins)?;
        }
    }

    /// Follows a log until the folder has this line.
    fn follow_to(
        &self,
        log: &dyn Log,
        through: u64,
        appended: &HashSet<Id>,
    ) -> Result<(), StoreError> {
        let has_it = || self.followed_through.load(Ordering::Acquire) >= through;
        if has_it() {
            return Ok(());
        }
        let _one_at_a_time = self.following.lock().unwrap_or_else(PoisonError::into_inner);
        while !has_it() && self.follower().position()? < through {
            let lines = self.next_lines(log)?;
            if lines.is_empty() {
                // Whoever named the line was wrong.
                break;
            }
            let origins = LineOrigins { appended: appended.clone(), ..LineOrigins::default() };
            self.take_in(&lines, origins)?;
        }
        Ok(())
    }

    /// Takes in what this process appended and has not followed. Without the log, the folder
    /// answers as it is.
    pub(super) fn follow_own_lines(&self) -> Result<(), StoreError> {
        let Some(log) = self.log.get() else { return Ok(()) };
        let through = self.appended_through.load(Ordering::Acquire);
        match self.follow_to(&**log, through, &HashSet::new()) {
            Err(error) if error.is_offline() => Ok(()),
            Err(StoreError::Log(LogError::TooNew { .. })) => Ok(()),
            followed => followed,
        }
    }

    /// Appends a change that is true whatever others wrote. The next view follows.
    pub(super) fn append_unfollowed(
        &self,
        log: &dyn Log,
        store: &OpenStore,
        change: Change,
    ) -> Result<(), StoreError> {
        let line = self.unplanned_line(store, change)?;
        let appended = log.append(LogBase::Any, std::slice::from_ref(&line));
        use_up_line_key();
        self.note_appended(appended?.last().copied().unwrap_or_default());
        Ok(())
    }

    fn unplanned_line(&self, store: &OpenStore, change: Change) -> Result<NewLine, StoreError> {
        self.check_log_version()?;
        store.check_change(&change)?;
        let key = line_key().unwrap_or_else(|| self.ids().next());
        Ok(NewLine { key, change })
    }

    /// The line that a post is, for a caller who appends it to the folder's log and then tells
    /// [`Self::note_appended`].
    pub fn line_of_post(&self, entry: Entry) -> Result<NewLine, StoreError> {
        self.unplanned_line(&*self.open_for_writing()?, Change::of_entries(vec![entry]))
    }

    /// The log has this line of ours: the next view follows.
    pub fn note_appended(&self, number: u64) {
        self.appended_through.fetch_max(number, Ordering::AcqRel);
    }

    /// Fails if the log was seen to have lines that only a newer program reads.
    fn check_log_version(&self) -> Result<(), StoreError> {
        let too_new = self.log_too_new.lock().unwrap_or_else(PoisonError::into_inner).clone();
        too_new.map_or(Ok(()), |error| Err(error.into()))
    }

    fn next_lines(&self, log: &dyn Log) -> Result<Vec<LogLine>, StoreError> {
        let lines = log.since(self.follower().position()?, BATCH);
        let mut too_new = self.log_too_new.lock().unwrap_or_else(PoisonError::into_inner);
        *too_new = lines.as_ref().err().filter(|e| matches!(e, LogError::TooNew { .. })).cloned();
        Ok(lines?)
    }

    fn take_in(&self, lines: &[LogLine], mut origins: LineOrigins) -> Result<(), StoreError> {
        let store = self.open_for_writing()?;
        let guard = store.lock.acquire()?;
        let now = self.ids().now();
        let mut writer = StoreWriter::recovered(&store, guard, now)?;
        let followed = writer.state.followed_seq;
        let lines: Vec<&LogLine> = lines.iter().filter(|line| line.seq > followed).collect();
        for (line, expected) in lines.iter().zip(followed + 1..) {
            if line.seq != expected {
                let what = format!("the log has line {} where line {expected} should be", line.seq);
                return Err(StoreError::Damaged { what });
            }
        }
        let waiting = store.outbox.load(followed)?;
        origins.outbox = waiting.iter().map(|line| (line.key.clone(), line.clone())).collect();
        // Archived entries must be on the board: such a line starts a batch.
        for batch in lines.chunk_by(|_, next| next.change.archived.is_empty()) {
            let Some(last) = batch.last() else { continue };
            self.note_demoted(&store, batch, &origins.outbox)?;
            let change = self.merged_change(&store, batch, &origins, &waiting, now)?;
            let marks = LineMarks { followed: Some(last.seq), ..LineMarks::default() };
            let followed = writer.journal_and_apply(change, marks);
            // Also after a failure: what was rolled back moved the end of the board.
            writer.save_state()?;
            followed?;
            let line = FollowedLine { seq: last.seq, key: last.key.clone() };
            self.follower().note_last_line(&line);
            store.settle_outbox(batch, &mut origins.outbox, last.seq)?;
            self.followed_through.fetch_max(last.seq, Ordering::AcqRel);
        }
        self.work.add();
        Ok(())
    }

    /// Many lines as one change, without what the folder cannot carry out.
    pub(super) fn merged_change(
        &self,
        store: &OpenStore,
        lines: &[&LogLine],
        origins: &LineOrigins,
        waiting: &[OutboxLine],
        now: Time,
    ) -> Result<PlannedChange, StoreError> {
        let keys: HashSet<&Id> = lines.iter().map(|line| &line.key).collect();
        let later = waiting
            .iter()
            .filter(|line| origins.outbox.contains_key(&line.key) && !keys.contains(&line.key));
        let later: Vec<&Change> = later.map(|line| &line.change).collect();
        let mut change = join(lines, origins, &later);
        let is_retaken = |id: &Id| {
            origins.may_be_present
                || origins
                    .outbox
                    .values()
                    .any(|line| line.change.decisions.iter().any(|decision| decision.id == *id))
        };
        take_over(store, &mut change, is_retaken)?;
        if origins.may_be_present {
            store.leave_out_present(&mut change)?;
        }
        let made: BTreeSet<&Id> = change.decisions.iter().map(|decision| &decision.id).collect();
        let mut amendments = Vec::new();
        for amendment in &change.amendments {
            // Of a decision that this checkout does not have there is nothing to amend.
            if made.contains(&amendment.id)
                || store.files.decision_fingerprint(&amendment.id)?.is_some()
            {
                amendments.push(amendment.clone());
            }
        }
        change.amendments = amendments;
        if change.entities.is_empty() && change.relations.is_empty() {
            let new = change.decisions.iter().map(|decision| decision.id.to_string()).collect();
            return Ok(PlannedChange { change, new, sent_as: None });
        }
        store.catch_up()?;
        store.with_view(now, |view| planned(view, change))
    }

    /// Writes through the log.
    pub(super) fn commit_to_log<T, E: From<StoreError>>(
        &self,
        log: &dyn Log,
        durability: Durability,
        planned_on: PlanBase,
        mut plan: impl FnMut(Time) -> Result<(PlannedChange, T), E>,
    ) -> Result<T, E> {
        match self.offer_to_log(log, None, durability, planned_on, &mut plan)? {
            LogCommit::Done(outcome) => Ok(outcome),
            LogCommit::Unanswered { error, .. } | LogCommit::NotTaken(error) => Err(error.into()),
        }
    }

    /// Writes in a linked folder: what is planned on a view goes through the log. Where the log
    /// does not answer, and for all else, the folder has it at once and the outbox keeps it.
    pub(super) fn commit_linked<T, E: From<StoreError>>(
        &self,
        log: &dyn Log,
        store: &OpenStore,
        durability: Durability,
        planned_on: PlanBase,
        mut plan: impl FnMut(Time) -> Result<(PlannedChange, T), E>,
    ) -> Result<T, E> {
        self.check_log_version()?;
        if planned_on == PlanBase::Files {
            return self.commit_locally(store, durability, &mut plan);
        }
        let offered = match self.deliver_outbox(log) {
            Ok(_) => self.offer_to_log(log, None, durability, planned_on, &mut plan)?,
            Err(error) => LogCommit::NotTaken(error),
        };
        match offered {
            LogCommit::Done(outcome) => Ok(outcome),
            LogCommit::NotTaken(error) if error.is_offline() => {
                self.commit_locally(store, durability, &mut plan)
            }
            LogCommit::NotTaken(error) => Err(error.into()),
            LogCommit::Unanswered { planned, outcome, .. } => {
                let mut once = Some((*planned, outcome));
                self.commit_locally(store, durability, &mut |_| {
                    Ok(once.take().expect("a local commit asks for its plan once"))
                })
            }
        }
    }

    /// Commits to the folder's log under a given key, and returns the number of the line.
    pub fn commit_under_key<E: From<StoreError>>(
        &self,
        key: &Id,
        mut plan: impl FnMut(&View<'_>) -> Result<Change, E>,
    ) -> Result<u64, E> {
        let log = self.log.get().ok_or_else(|| {
            StoreError::from(LogError::Unreachable("this folder follows no log".to_owned()))
        })?;
        let store = self.open_for_writing()?;
        for _ in 0..TRIES {
            let known = log.numbers_of(std::slice::from_ref(key)).map_err(StoreError::from)?;
            if let Some(number) = known.first().copied().flatten() {
                return Ok(number);
            }
            let mut plan_on_view = |now| {
                store.catch_up()?;
                store.with_view(now, |view| Ok::<_, E>((planned(view, plan(view)?)?, ())))
            };
            let base = PlanBase::View;
            match self.offer_to_log(
                &**log,
                Some(key),
                Durability::Normal,
                base,
                &mut plan_on_view,
            )? {
                LogCommit::Done(()) => {}
                LogCommit::NotTaken(StoreError::Log(LogError::Refused(why))) => {
                    // Perhaps because another node admitted it a moment ago.
                    let known =
                        log.numbers_of(std::slice::from_ref(key)).map_err(StoreError::from)?;
                    if known.first().copied().flatten().is_none() {
                        return Err(StoreError::from(LogError::Refused(why)).into());
                    }
                }
                LogCommit::Unanswered { error, .. } | LogCommit::NotTaken(error) => {
                    return Err(error.into());
                }
            }
        }
        Err(StoreError::from(LogError::Behind).into())
    }

    /// Appends lines to the folder's log that are true whatever others wrote, and follows it. Known
    /// keys are answered with their numbers.
    pub fn append_to_log(&self, base: LogBase, lines: &[NewLine]) -> Result<Vec<u64>, StoreError> {
        let log = self.log.get().ok_or_else(|| {
            StoreError::from(LogError::Unreachable("this folder follows no log".to_owned()))
        })?;
        let store = self.open_for_writing()?;
        lines.iter().try_for_each(|line| store.check_change(&line.change))?;
        let numbers = log.append(base, lines)?;
        let last = numbers.iter().copied().max().unwrap_or_default();
        self.follow_to(&**log, last, &lines.iter().map(|line| line.key.clone()).collect())?;
        Ok(numbers)
    }

    /// The numbers that the folder's log gave these keys.
    pub fn numbers_in_log(&self, keys: &[Id]) -> Result<Vec<Option<u64>>, StoreError> {
        self.log.get().map_or_else(|| Ok(vec![None; keys.len()]), |log| Ok(log.numbers_of(keys)?))
    }

    /// Plans without the lock, appends to the log, and follows it, our own line included. If
    /// others were quicker, it plans again.
    fn offer_to_log<T, E: From<StoreError>>(
        &self,
        log: &dyn Log,
        key: Option<&Id>,
        durability: Durability,
        planned_on: PlanBase,
        plan: &mut dyn FnMut(Time) -> Result<(PlannedChange, T), E>,
    ) -> Result<LogCommit<T>, E> {
        for _ in 0..TRIES {
            if let Err(error) = self.follow_to_end(log, &HashSet::new()) {
                return Ok(LogCommit::NotTaken(error));
            }
            let base = if planned_on == PlanBase::View {
                LogBase::At(self.follower().position()?)
            } else {
                LogBase::Any
            };
            let (planned, outcome) = plan(self.ids().now())?;
            let (shared, local) = planned.change.clone().split_shared();
            // A line that says nothing any more still has a key that was promised a number.
            if !shared.is_empty() || key.is_some() {
                self.open_for_writing()?.check_change(&shared)?;
                let key = key.cloned().or_else(line_key).unwrap_or_else(|| self.ids().next());
                let line = NewLine { key, change: shared };
                let appended = log.append(base, std::slice::from_ref(&line));
                if !matches!(appended, Err(LogError::Behind)) {
                    use_up_line_key();
                }
                match appended {
                    Ok(numbers) => {
                        let last = numbers.last().copied().unwrap_or_default();
                        self.follow_to(log, last, &HashSet::from([line.key]))?;
                    }
                    Err(LogError::Behind) => continue,
                    Err(error @ LogError::Unknown(_)) => {
                        let planned =
                            Box::new(PlannedChange { sent_as: Some(line.key), ..planned });
                        return Ok(LogCommit::Unanswered { planned, outcome, error: error.into() });
                    }
                    Err(error) => return Ok(LogCommit::NotTaken(error.into())),
                }
            }
            if !local.is_empty() {
                self.commit_locally::<_, E>(&*self.open_for_writing()?, durability, &mut |_| {
                    Ok((local.clone().into(), ()))
                })?;
            }
            return Ok(LogCommit::Done(outcome));
        }
        Ok(LogCommit::NotTaken(LogError::Behind.into()))
    }
}

impl LogFollower<'_> {
    /// The last line of the log that the folder has.
    pub fn position(&self) -> Result<u64, StoreError> {
        Ok(self
            .0
            .open_for_reading()?
            .map(|store| store.lock_state())
            .transpose()?
            .map_or(0, |state| state.followed_seq))
    }

    /// Takes in what the log has up to this line, at least.
    pub fn catch_up_to(&self, through: u64) -> Result<(), StoreError> {
        self.0.log.get().map_or(Ok(()), |log| self.0.follow_to(&**log, through, &HashSet::new()))
    }

    /// Takes in all that the log has and the folder has not.
    pub fn catch_up(&self) -> Result<(), StoreError> {
        self.follow_to_end().map(drop)
    }

    fn follow_to_end(&self) -> Result<u64, StoreError> {
        let log = self.0.log.get().cloned().or_else(|| self.0.linked_log());
        log.map_or(Ok(0), |log| self.0.follow_to_end(&*log, &HashSet::new()))
    }

    /// Follows this log to its end, and returns how many lines were taken in.
    pub fn follow_with(&self, log: &dyn Log) -> Result<u64, StoreError> {
        self.0.follow_to_end(log, &HashSet::new())
    }

    /// Takes in lines of the log; those that the folder has already are passed over.
    pub fn take_in(&self, lines: &[LogLine]) -> Result<(), StoreError> {
        self.0.take_in(lines, LineOrigins::default())
    }

    /// The same for a folder that came to the log with records of its own.
    pub fn take_in_beside_own(&self, lines: &[LogLine]) -> Result<(), StoreError> {
        self.0.take_in(lines, LineOrigins::beside_own())
    }

    /// Notes that the log has lines of a format that only a newer program reads: nothing is written
    /// until it is followed again.
    pub fn note_too_new(&self, found: u32) {
        let error = LogError::TooNew { found, known: LOG_VERSION };
        *self.0.log_too_new.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }

    /// Forgets how far a log was followed: the next one is followed from its first line.
    pub fn restart(&self) -> Result<(), StoreError> {
        let store = self.0.open_for_writing()?;
        let guard = store.lock.acquire()?;
        let mut writer = StoreWriter::recovered(&store, guard, self.0.ids().now())?;
        // Their numbers were another log's: under their keys they are sent again.
        let mut waiting = store.outbox.load(writer.state.followed_seq)?;
        waiting.iter_mut().for_each(|line| line.accepted = None);
        if store.outbox.seal()?.is_some() {
            store.outbox.rewrite(&waiting)?;
        }
        writer.state.followed_seq = 0;
        self.forget_last_line();
        self.0.followed_through.store(0, Ordering::Release);
        writer.save_state()
    }
}

/// Turns decisions that the folder has into amendments: after a crash an amendment is carried out
/// again, and a decision that is there is not.
fn take_over(
    store: &OpenStore,
    change: &mut Change,
    is_retaken: impl Fn(&Id) -> bool,
) -> Result<(), StoreError> {
    let mut taken_over = Vec::new();
    let mut decisions: Vec<Decision> = Vec::new();
    for decision in std::mem::take(&mut change.decisions) {
        let is_readable = is_retaken(&decision.id)
            && store
                .files
                .decision(&decision.id)?
                .is_some_and(|(_, bytes)| JsonDocument::parse(&one_decision(&bytes)).is_ok());
        match serde_json::to_value(&decision)? {
            Value::Object(set) if is_readable => {
                taken_over.push(Amendment::new(decision.id.clone(), set));
            }
            _ => decisions.push(decision),
        }
    }
    change.decisions = decisions;
    // Before the amendments that follow them in the log.
    change.amendments.splice(0..0, taken_over);
    Ok(())
}

/// What lines do one after the other, done at once. Of the graph the last word counts. What the
/// folder wrote `later` itself, and waits to be sent, stays on top of what it concerns.
pub(super) fn join(lines: &[&LogLine], origins: &LineOrigins, later: &[&Change]) -> Change {
    let mut merged = Change::default();
    let (mut entities, mut relations) =
        (BTreeMap::<String, Option<Entity>>::new(), BTreeMap::<String, Option<Relation>>::new());
    for line in lines {
        let (mut change, _) = line.change.clone().split_shared();
        // Where git may have taken records away, it is looked which are there.
        if let Some(own) = origins.outbox.get(&line.key).filter(|_| !origins.may_be_present) {
            leave_out_done(&mut change, &own.change);
        }
        let vouched = if origins.appended.contains(&line.key) {
            &mut merged.traces
        } else {
            &mut merged.imported_traces
        };
        vouched.extend(change.traces);
        merged.imported_traces.extend(change.imported_traces);
        merged.anchors.extend(change.anchors);
        merged.entries.extend(change.entries);
        merged.decisions.extend(change.decisions);
        merged.amendments.extend(change.amendments);
        merged.archived.extend(change.archived);
        merged.agents.extend(change.agents);
        merged.handoffs.extend(change.handoffs);
        merged.turns.extend(change.turns);
        entities
            .extend(change.entities.into_iter().map(|entity| (entity.id.clone(), Some(entity))));
        entities.extend(change.removed_entities.into_iter().map(|id| (id, None)));
        relations.extend(
            change.relations.into_iter().map(|relation| (relation.id.clone(), Some(relation))),
        );
        relations.extend(change.removed_relations.into_iter().map(|id| (id, None)));
    }
    for change in later {
        keep_on_top(&mut merged, change);
        for entity in &change.entities {
            entities.entry(entity.id.clone()).and_modify(|known| *known = Some(entity.clone()));
        }
        for relation in &change.relations {
            let known = relations.entry(relation.id.clone());
            known.and_modify(|known| *known = Some(relation.clone()));
        }
        for id in &change.removed_entities {
            entities.entry(id.clone()).and_modify(|known| *known = None);
        }
        for id in &change.removed_relations {
            relations.entry(id.clone()).and_modify(|known| *known = None);
        }
    }
    merged.removed_entities =
        entities.iter().filter(|(_, entity)| entity.is_none()).map(|(id, _)| id.clone()).collect();
    merged.removed_relations = relations
        .iter()
        .filter(|(_, relation)| relation.is_none())
        .map(|(id, _)| id.clone())
        .collect();
    merged.entities = entities.into_values().flatten().collect();
    merged.relations = relations.into_values().flatten().collect();
    merged
}

/// Leaves out of our own line what is appended once, and is in the folder.
fn leave_out_done(change: &mut Change, own: &Change) {
    change.entries.retain(|entry| own.entries.iter().all(|done| done.id != entry.id));
    let is_new = |id: &str| own.traces.iter().chain(&own.imported_traces).all(|done| done.id != id);
    change.traces.retain(|trace| is_new(&trace.id));
    change.imported_traces.retain(|trace| is_new(&trace.id));
    change.anchors.retain(|anchor| own.anchors.iter().all(|done| done.id != anchor.id));
}

/// Repeats of a waiting change what concerns the same records.
fn keep_on_top(merged: &mut Change, waiting: &Change) {
    for amendment in &waiting.amendments {
        let is_same = merged.amendments.iter().any(|other| other.id == amendment.id)
            || merged.decisions.iter().any(|other| other.id == amendment.id);
        if is_same {
            merged.amendments.push(amendment.clone());
        }
    }
    for (name, element) in &waiting.agents {
        merged.agents.entry(name.clone()).and_modify(|known| known.clone_from(element));
    }
    for turn in &waiting.turns {
        let place = (&turn.feature, &turn.task, turn.number);
        if merged.turns.iter().any(|other| (&other.feature, &other.task, other.number) == place) {
            merged.turns.push(turn.clone());
        }
    }
    for handoff in &waiting.handoffs {
        if merged.handoffs.iter().any(|other| other.id == handoff.id) {
            merged.handoffs.push(handoff.clone());
        }
    }
}

impl OpenStore {
    /// Leaves out of a change what is appended once, and is in the folder from elsewhere.
    fn leave_out_present(&self, change: &mut Change) -> Result<(), StoreError> {
        let present = self.present_ids(change)?;
        change.entries.retain(|entry| !present.contains(&entry.id));
        change.traces.retain(|trace| !present.contains(&trace.id));
        change.imported_traces.retain(|trace| !present.contains(&trace.id));
        change.anchors.retain(|anchor| !present.contains(&anchor.id));
        Ok(())
    }
}

impl LogFollower<'_> {
    /// The last line that the folder has, where its key is known.
    pub fn last_line(&self) -> Result<Option<FollowedLine>, StoreError> {
        let line: Option<FollowedLine> = self.0.local_state().read_json(FOLLOWED_LINE);
        let position = self.position()?;
        Ok(line.filter(|line| line.seq == position))
    }

    /// Whether this is the log that the folder has followed, as far as that is known.
    pub fn is_of(&self, log: &dyn Log) -> Result<bool, StoreError> {
        let Some(line) = self.last_line()? else { return Ok(true) };
        Ok(log.numbers_of(std::slice::from_ref(&line.key))? == [Some(line.seq)])
    }

    /// Remembers the last line that was taken in. Without the note nothing is compared.
    pub(super) fn note_last_line(&self, line: &FollowedLine) {
        self.0.local_state().write_json(FOLLOWED_LINE, line);
    }

    /// Forgets it: the next log may be another.
    fn forget_last_line(&self) {
        self.0.local_state().write_json(FOLLOWED_LINE, &None::<FollowedLine>);
    }
}
