//! A row of the stream: an entry of the blackboard, or a call that a guard stopped.

use twining_model::{Entry, Trace};

use crate::tui::list_window::{Identified, PageRange};
use crate::tui::offered_act::OfferedAct;

/// One row, with what its detail shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StreamRow {
    pub(crate) id: String,
    /// ISO 8601.
    pub(crate) at: String,
    pub(crate) kind: String,
    pub(crate) by: String,
    pub(crate) summary: String,
    pub(crate) scope: String,
    pub(crate) detail: String,
    pub(crate) tags: Vec<String>,
    pub(crate) relates_to: Vec<String>,
    /// How it came, such as `mcp, agent`.
    pub(crate) origin: String,
}

/// Which rows the stream shows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StreamQuery {
    pub(crate) source: StreamSource,
    pub(crate) page: PageRange,
}

/// Where rows come from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum StreamSource {
    /// Entries of this type, or all.
    Entries(Option<&'static str>),
    /// Calls that guards stopped.
    Blocked,
    /// What a search found.
    Found(String),
}

impl StreamSource {
    /// The types one can look at alone, in the order `f` goes through them.
    const TYPES: [&'static str; 7] =
        ["warning", "need", "question", "answer", "finding", "decision", "status"];

    /// The next filter.
    pub(crate) fn next(&self) -> Self {
        match self {
            Self::Entries(None) => Self::Entries(Some(Self::TYPES[0])),
            Self::Entries(Some(shown)) => {
                let next = Self::TYPES.iter().skip_while(|kind| *kind != shown).nth(1);
                next.map_or(Self::Blocked, |kind| Self::Entries(Some(*kind)))
            }
            Self::Blocked | Self::Found(_) => Self::Entries(None),
        }
    }

    /// What the list is called.
    pub(crate) fn title(&self) -> String {
        match self {
            Self::Entries(None) => "everything".to_owned(),
            Self::Entries(Some(kind)) => format!("{kind} only"),
            Self::Blocked => "calls that guards stopped".to_owned(),
            Self::Found(text) => format!("found for “{text}”"),
        }
    }
}

impl StreamRow {
    pub(crate) fn of_entry(entry: Entry) -> Self {
        let origin = entry.origin.as_ref().map_or_else(String::new, |origin| {
            let client = origin.client.iter().map(String::as_str);
            let words = [origin.via.as_str(), origin.trust.as_str()];
            client.chain(words).collect::<Vec<_>>().join(", ")
        });
        Self {
            id: entry.id,
            at: entry.timestamp,
            kind: entry.entry_type,
            by: entry.agent_id,
            summary: entry.summary,
            scope: entry.scope,
            detail: entry.detail,
            tags: entry.tags,
            relates_to: entry.relates_to,
            origin,
        }
    }

    pub(crate) fn of_trace(trace: Trace) -> Self {
        let happened = trace.event.what_happened;
        Self {
            id: trace.id,
            at: trace.timestamp,
            kind: "blocked".to_owned(),
            by: trace.context.agent,
            summary: trace.action.unwrap_or_else(|| happened.clone()),
            scope: trace.guard.unwrap_or_default(),
            detail: [happened, trace.event.why, trace.event.what_was_correct]
                .into_iter()
                .filter(|text| !text.is_empty())
                .collect::<Vec<_>>()
                .join("\n"),
            origin: trace.source,
            ..Self::default()
        }
    }

    /// How a person answers it; none if it asks nothing.
    pub(crate) fn reply(&self) -> Option<OfferedAct> {
        let asks = matches!(self.kind.as_str(), "question" | "need");
        asks.then(|| OfferedAct::reply(&self.kind, &self.id, &self.scope, &self.summary))
    }

    /// How a person closes it; none if it cannot be open.
    pub(crate) fn dismissal(&self) -> Option<OfferedAct> {
        let can_be_open = matches!(self.kind.as_str(), "question" | "need" | "warning");
        can_be_open.then(|| OfferedAct::dismissal(&self.kind, &self.id, &self.summary))
    }
}

impl Identified for StreamRow {
    fn id(&self) -> &str {
        &self.id
    }
}
