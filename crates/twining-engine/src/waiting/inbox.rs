//! The list itself: which kinds, how many of each, and one page of items.

use std::collections::HashSet;

use twining_model::{EntryType, InvalidInput, Scope, Time};
use twining_store::View;
use twining_store::git::Git;

use super::item::{WaitingCount, WaitingInput, WaitingItem, WaitingKind, WaitingOutcome};
use super::{agents, contested, entries, guards, records, settled, work};
use crate::engine::Engine;
use crate::failure::Failure;
use crate::fields::{self, fit_reply};
use crate::governance::UserPolicy;

/// Items on a page unless the caller says.
const PAGE: usize = 50;

/// What only the binary knows.
#[derive(Clone, Copy, Debug)]
pub struct WaitingSources<'s> {
    /// The user's own policy.
    pub user: &'s UserPolicy,
    /// The repository; without it, records that are gone are not noticed.
    pub git: Option<&'s Git>,
}

/// What items are made from.
#[derive(Clone, Copy)]
pub(super) struct Inbox<'i> {
    pub(super) engine: &'i Engine,
    pub(super) view: &'i View<'i>,
    pub(super) sources: &'i WaitingSources<'i>,
}

/// Something that waits, and how to say all of it.
pub(super) struct Pending<'i> {
    pub(super) since: Option<Time>,
    pub(super) scope: Option<String>,
    pub(super) item: Box<dyn Fn() -> Result<WaitingItem, Failure> + 'i>,
}

impl<'i> Pending<'i> {
    pub(super) fn new(
        since: Option<Time>,
        scope: Option<String>,
        item: impl Fn() -> Result<WaitingItem, Failure> + 'i,
    ) -> Self {
        Self { since, scope, item: Box::new(item) }
    }
}

/// Everything of one kind that waits.
enum KindItems<'i> {
    Listed(Vec<Pending<'i>>),
    /// Open entries, of which there may be very many, without these.
    Entries {
        kind: EntryType,
        total: u64,
        besides: HashSet<String>,
    },
}

impl<'i> Inbox<'i> {
    fn of_kind(self, kind: WaitingKind, scope: &Scope) -> Result<KindItems<'i>, Failure> {
        let mut listed = match kind {
            WaitingKind::Altered => records::altered(self)?,
            WaitingKind::DeadGuard => guards::dead(self)?,
            WaitingKind::Contested => contested::contested(self)?,
            WaitingKind::MergeClash => contested::clashed(self)?,
            WaitingKind::ClaimedOverride => contested::claimed_overrides(self)?,
            WaitingKind::BlockedFeature => work::blocked_features(self)?,
            WaitingKind::TurnQuestion => work::escalated_turns(self)?,
            WaitingKind::Question => return self.open_entries(EntryType::Question, scope),
            WaitingKind::Need => return self.open_entries(EntryType::Need, scope),
            WaitingKind::ProposedGuard => guards::proposed(self)?,
            WaitingKind::StaleClaim => agents::stale_claims(self)?,
            WaitingKind::Handoff => agents::open_handoffs(self)?,
            WaitingKind::KnowledgeError => records::knowledge_errors(self)?,
        };
        let folding = self.view.folding();
        let is_inside = |item: &Pending<'_>| {
            let inside = item.scope.as_deref().map(Scope::read);
            inside.is_some_and(|inside| scope.covers(&inside, folding))
        };
        listed.retain(|item| *scope == Scope::project() || is_inside(item));
        listed.sort_by_key(|item| item.since);
        Ok(KindItems::Listed(listed))
    }

    fn open_entries(self, kind: EntryType, scope: &Scope) -> Result<KindItems<'i>, Failure> {
        let before = entries::old_enough(self.view);
        let besides = entries::of_blocked_features(self, kind, scope)?;
        let all = self.view.entries().count_open_before(kind, scope, before)?;
        Ok(KindItems::Entries { kind, total: all.saturating_sub(besides.len() as u64), besides })
    }
}

impl KindItems<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Listed(items) => items.len(),
            Self::Entries { total, .. } => usize::try_from(*total).unwrap_or(usize::MAX),
        }
    }

    fn page(
        &self,
        inbox: Inbox<'_>,
        scope: &Scope,
        offset: usize,
        limit: usize,
    ) -> Result<Vec<WaitingItem>, Failure> {
        match self {
            Self::Listed(items) => {
                items.iter().skip(offset).take(limit).map(|pending| (pending.item)()).collect()
            }
            Self::Entries { kind, besides, .. } => {
                entries::page(inbox, *kind, scope, besides, (offset, limit))
            }
        }
    }
}

impl Engine {
    /// Lists what needs a person: the gravest kind first, the longest waiting first in each.
    pub fn waiting(
        &self,
        sources: &WaitingSources<'_>,
        input: &WaitingInput,
    ) -> Result<WaitingOutcome, Failure> {
        let kinds = kinds(input)?;
        let scope = fields::scope_or_project(input.scope.as_deref(), self.store().root())?;
        let limit = fields::page("limit", input.limit, PAGE)?;
        let offset = input.offset.unwrap_or(0);
        if !self.store().exists()? {
            return Ok(WaitingOutcome::default());
        }
        self.store().view(|view| {
            let inbox = Inbox { engine: self, view, sources };
            if input.settled {
                return settled::settled(inbox, &kinds, &scope, (offset, limit));
            }
            let (mut counts, mut items) = (Vec::new(), Vec::new());
            // What is left to be skipped and to be taken.
            let (mut skipped, mut total) = (offset, 0);
            for kind in kinds {
                let of_kind = inbox.of_kind(kind, &scope)?;
                let count = of_kind.len();
                if skipped < count && items.len() < limit {
                    items.extend(of_kind.page(inbox, &scope, skipped, limit - items.len())?);
                }
                skipped = skipped.saturating_sub(count);
                total += count as u64;
                counts.extend((count > 0).then_some(WaitingCount { kind, count: count as u64 }));
            }
            Ok(outcome(items, counts, total, offset))
        })
    }

    /// How much needs a person of what the index has counted, and which features are blocked: for
    /// a brief that a host waits for, after the rest of it was gathered.
    pub fn waiting_brief(&self) -> Result<Vec<WaitingCount>, Failure> {
        let blocked = work::blocked(self).len() as u64;
        let mut counts = self.store().view_again(|view| {
            let (all, scope) = (view.counts()?, Scope::project());
            let (entries, before) = (view.entries(), entries::old_enough(view));
            let open = |kind| entries.count_open_before(kind, &scope, before);
            Ok::<_, Failure>(vec![
                (WaitingKind::Contested, all.provisional),
                (WaitingKind::ClaimedOverride, all.unconfirmed_overrides),
                (WaitingKind::BlockedFeature, blocked),
                (WaitingKind::Question, open(EntryType::Question)?),
                (WaitingKind::Need, open(EntryType::Need)?.saturating_sub(blocked)),
            ])
        })?;
        counts.retain(|(_, count)| *count > 0);
        Ok(counts.into_iter().map(|(kind, count)| WaitingCount { kind, count }).collect())
    }
}

fn kinds(input: &WaitingInput) -> Result<Vec<WaitingKind>, InvalidInput> {
    let mut kinds = WaitingKind::ALL.to_vec();
    let given = input.kinds.iter().map(|word| WaitingKind::parse("kinds", word));
    let given = given.collect::<Result<Vec<_>, _>>()?;
    kinds.retain(|kind| given.is_empty() || given.contains(kind));
    Ok(kinds)
}

/// A page, as much of it as fits into an answer.
pub(super) fn outcome(
    items: Vec<WaitingItem>,
    counts: Vec<WaitingCount>,
    total: u64,
    offset: usize,
) -> WaitingOutcome {
    let (items, truncated) = fit_reply(items);
    let next = offset + items.len();
    let next_offset = (!items.is_empty() && (next as u64) < total).then_some(next);
    WaitingOutcome { items, total, counts, next_offset, truncated, is_filtered: false }
}
