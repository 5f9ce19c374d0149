//! The model of `twining top`: events in, requests out. No terminal, no disk, no clock.

use jiff::tz::TimeZone;
use ratatui::layout::Size;
use twining_engine::{AgentsOutcome, WaitingItem, WaitingKind, WaitingOutcome};
use twining_model::Time;

use crate::tui::age;
use crate::tui::answer_form::{AnswerForm, VerbCall};
use crate::tui::key_decoder::Key;
use crate::tui::layout::{NowLayout, StreamLayout};
use crate::tui::list_window::{Identified, ListWindow, PageRange};
use crate::tui::stream_row::{StreamQuery, StreamRow, StreamSource};
use crate::tui::theme::Theme;
use crate::tui::view::lines::wrap;

/// A question or a need waits this long for agents before it waits for a person.
const AGENTS_FIRST_MS: i64 = 10 * 60 * 1000;
/// What happened.
#[derive(Debug)]
pub(crate) enum TopEvent {
    Key(Key),
    Resized(Size),
    /// The memory may have changed.
    Changed,
    /// Time went by.
    Clock(Time),
    /// The project is open.
    Opened(ProjectLine),
    Inbox(PageRange, WaitingOutcome),
    Item(ItemState),
    Agents(AgentsOutcome),
    /// The newest rows, at most so many.
    Latest(usize, Vec<StreamRow>),
    Stream(StreamQuery, Vec<StreamRow>, usize),
    Acted(ActOutcome),
    /// Something could not be read.
    Failed(String),
}

/// What is to be done outside.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TopRequest {
    Inbox(PageRange),
    /// One item, as it is now.
    Item(ItemQuery),
    Agents,
    /// The newest rows of the stream.
    Latest(usize),
    Stream(StreamQuery),
    Act(VerbCall),
    Suspend,
    Quit,
}

/// Which item, and where it was last.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ItemQuery {
    pub(crate) id: String,
    pub(crate) kind: WaitingKind,
    pub(crate) position: usize,
}

/// What the header says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ProjectLine {
    pub(crate) name: String,
    pub(crate) branch: Option<String>,
    /// Whether there is a memory.
    pub(crate) exists: bool,
}

/// What became of an item.
#[derive(Clone, Debug)]
pub(crate) enum ItemState {
    /// It still waits.
    Waiting(Box<WaitingItem>),
    /// It was settled.
    Settled(Box<WaitingItem>),
    /// Its cause is gone.
    Gone,
}

/// What became of an act.
#[derive(Debug)]
pub(crate) enum ActOutcome {
    /// What the verb answered, line by line.
    Done(Vec<String>),
    /// A word must be typed first.
    NeedsName(String),
    Refused(String),
}

/// Which screen is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Screen {
    Now,
    Item,
    Stream,
}

/// What the arrows move in on the first screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pane {
    Inbox,
    Agents,
}

/// Whether what is shown is how it is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FeedState {
    Loading,
    Live,
    Paused,
    Failed(String),
}

/// An item that is open on the second screen.
#[derive(Clone, Debug)]
pub(crate) struct OpenItem {
    pub(crate) item: WaitingItem,
    /// Where it is in the inbox.
    pub(crate) position: usize,
    /// Set once it no longer waits.
    pub(crate) ended: Option<String>,
    pub(crate) scroll: usize,
}

/// A few lines that stay until the next key.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Notice {
    pub(crate) lines: Vec<String>,
    pub(crate) is_problem: bool,
}

/// Everything that is shown.
#[derive(Clone, Debug)]
pub(crate) struct TopState {
    pub(crate) size: Size,
    pub(crate) theme: Theme,
    pub(crate) zone: TimeZone,
    pub(crate) now: Time,
    pub(crate) project: ProjectLine,
    pub(crate) freshness: FeedState,
    pub(crate) screen: Screen,
    pub(crate) pane: Pane,
    pub(crate) inbox: ListWindow<WaitingItem>,
    pub(crate) agents: Option<AgentsOutcome>,
    pub(crate) agent_position: usize,
    pub(crate) latest: Vec<StreamRow>,
    /// How many of the newest were asked for.
    latest_limit: usize,
    pub(crate) stream: ListWindow<StreamRow>,
    pub(crate) source: StreamSource,
    pub(crate) detail_scroll: usize,
    pub(crate) open: Option<OpenItem>,
    pub(crate) form: Option<AnswerForm>,
    /// What is typed after `/`.
    pub(crate) find: Option<String>,
    pub(crate) notice: Notice,
    pub(crate) shows_keys: bool,
    /// `g` was pressed: the next key says where to go.
    pub(crate) awaits_place: bool,
    /// Why nobody here may act; none if they may.
    pub(crate) refusal: Option<String>,
}

impl Identified for WaitingItem {
    fn id(&self) -> &str {
        &self.id
    }
}

impl TopState {
    /// What is shown before anything is loaded.
    pub(crate) fn new(name: String, size: Size, theme: Theme, zone: TimeZone, now: Time) -> Self {
        Self {
            size,
            theme,
            zone,
            now,
            project: ProjectLine { name, branch: None, exists: true },
            freshness: FeedState::Loading,
            screen: Screen::Now,
            pane: Pane::Inbox,
            inbox: ListWindow::new(),
            agents: None,
            agent_position: 0,
            latest: Vec::new(),
            latest_limit: 0,
            stream: ListWindow::following_top(),
            source: StreamSource::Entries(None),
            detail_scroll: 0,
            open: None,
            form: None,
            find: None,
            notice: Notice::default(),
            shows_keys: false,
            awaits_place: false,
            refusal: None,
        }
    }

    /// The rows of the first screen.
    pub(crate) fn now_layout(&self) -> NowLayout {
        let agents = self.agents.as_ref().map_or(0, |outcome| outcome.agents.len());
        NowLayout::of(self.size, self.notice_lines().len(), self.inbox.total(), agents)
    }

    /// The rows of the stream's screen.
    pub(crate) fn stream_layout(&self) -> StreamLayout {
        StreamLayout::of(self.size, self.notice_lines().len())
    }

    /// The notice, in lines that fit the screen.
    pub(crate) fn notice_lines(&self) -> Vec<String> {
        let width = usize::from(self.size.width).saturating_sub(2);
        self.notice.lines.iter().flat_map(|line| wrap(line, width)).collect()
    }

    /// Takes an event; what is to be done follows.
    pub(crate) fn update(&mut self, event: TopEvent) -> Vec<TopRequest> {
        match event {
            TopEvent::Key(key) => return self.press(&key),
            TopEvent::Resized(size) => {
                self.size = size;
                return self.missing_rows();
            }
            TopEvent::Changed => return self.reload(),
            TopEvent::Clock(now) => {
                self.now = now;
                return self.reload();
            }
            TopEvent::Opened(project) => {
                self.project = project;
                return self.requests();
            }
            TopEvent::Inbox(page, outcome) => {
                self.freshen();
                let total = usize::try_from(outcome.total).unwrap_or(usize::MAX);
                // The height depends on how many there are.
                let agents = self.agents.as_ref().map_or(0, |outcome| outcome.agents.len());
                let height =
                    NowLayout::of(self.size, self.notice_lines().len(), total, agents).inbox;
                self.inbox.loaded(page.offset, outcome.items, total, height);
                return self.missing_rows();
            }
            TopEvent::Item(state) => self.item_loaded(state),
            TopEvent::Agents(outcome) => {
                self.freshen();
                let last = outcome.agents.len().saturating_sub(1);
                self.agent_position = self.agent_position.min(last);
                self.agents = Some(outcome);
                return self.missing_rows();
            }
            TopEvent::Latest(limit, rows) => (self.latest_limit, self.latest) = (limit, rows),
            TopEvent::Stream(query, rows, total) => {
                self.freshen();
                if query.source == self.source {
                    let height = self.stream_layout().list;
                    self.stream.loaded(query.page.offset, rows, total, height);
                    return self.missing_rows();
                }
            }
            TopEvent::Acted(outcome) => return self.acted(outcome),
            TopEvent::Failed(problem) => self.freshness = FeedState::Failed(problem),
        }
        Vec::new()
    }

    /// How long until something that is shown changes by itself: an age, or a question that has
    /// waited long enough for agents.
    pub(crate) fn next_change_ms(&self) -> Option<i64> {
        if self.screen == Screen::Stream || self.freshness == FeedState::Paused {
            return None;
        }
        let layout = self.now_layout();
        let items = self.inbox.visible(layout.inbox).filter_map(|(_, item)| item?.since.as_deref());
        let agents = self.agents.iter().flat_map(|outcome| &outcome.agents).take(layout.agents);
        let ages = items.chain(agents.map(|agent| agent.last_active.as_str()));
        let ages = ages.filter_map(|since| age::next_change_ms(self.now, Time::read(since)?));
        let asked =
            self.latest.iter().filter(|row| matches!(row.kind.as_str(), "question" | "need"));
        let asked = asked.filter_map(|row| {
            let due = Time::read(&row.at)?.as_ms() + AGENTS_FIRST_MS - self.now.as_ms();
            (due > 0).then_some(due)
        });
        ages.chain(asked).min()
    }

    fn freshen(&mut self) {
        if self.freshness != FeedState::Paused {
            self.freshness = FeedState::Live;
        }
    }

    /// The same again, unless the person paused it.
    fn reload(&self) -> Vec<TopRequest> {
        if self.freshness == FeedState::Paused { Vec::new() } else { self.requests() }
    }

    /// Everything that this screen shows.
    pub(super) fn requests(&self) -> Vec<TopRequest> {
        match self.screen {
            Screen::Now => {
                let layout = self.now_layout();
                let mut requests = vec![TopRequest::Inbox(self.inbox.page(self.most_items()))];
                requests.push(TopRequest::Agents);
                requests.extend((layout.stream > 0).then_some(TopRequest::Latest(layout.stream)));
                requests
            }
            Screen::Item => {
                let item = self.open.iter().filter(|open| open.ended.is_none());
                let query = |open: &OpenItem| ItemQuery {
                    id: open.item.id.clone(),
                    kind: open.item.kind,
                    position: open.position,
                };
                item.map(|open| TopRequest::Item(query(open))).collect()
            }
            Screen::Stream => {
                vec![self.stream_request(self.stream.page(self.stream_layout().list))]
            }
        }
    }

    /// How many items the screen has room for, before it is known how many there are.
    fn most_items(&self) -> usize {
        NowLayout::of(self.size, self.notice_lines().len(), usize::MAX, 0).inbox
    }

    /// What came into view and is not held.
    pub(super) fn missing_rows(&self) -> Vec<TopRequest> {
        match self.screen {
            Screen::Now => {
                let layout = self.now_layout();
                let inbox = self.inbox.missing(layout.inbox).map(TopRequest::Inbox);
                let is_short = (1..layout.stream).contains(&self.latest_limit);
                let latest = is_short.then_some(TopRequest::Latest(layout.stream));
                inbox.into_iter().chain(latest).collect()
            }
            Screen::Item => Vec::new(),
            Screen::Stream => {
                let missing = self.stream.missing(self.stream_layout().list);
                missing.map(|page| self.stream_request(page)).into_iter().collect()
            }
        }
    }

    fn stream_request(&self, page: PageRange) -> TopRequest {
        TopRequest::Stream(StreamQuery { source: self.source.clone(), page })
    }

    fn item_loaded(&mut self, state: ItemState) {
        self.freshen();
        let Some(open) = &mut self.open else { return };
        match state {
            ItemState::Waiting(item) => open.item = *item,
            ItemState::Settled(item) => {
                let how = item.settled.as_ref().map_or_else(
                    || "it is settled".to_owned(),
                    |settled| {
                        let reason = settled.reason.iter().map(|why| format!(": {why}"));
                        let done = format!("{} by {}", settled.how, settled.by);
                        std::iter::once(done).chain(reason).collect()
                    },
                );
                open.ended = Some(how);
                self.form = None;
            }
            ItemState::Gone => {
                open.ended = Some("it no longer waits: its cause is gone".to_owned());
                self.form = None;
            }
        }
    }

    fn acted(&mut self, outcome: ActOutcome) -> Vec<TopRequest> {
        match (outcome, &mut self.form) {
            (ActOutcome::Done(lines), _) => {
                self.form = None;
                self.notice = Notice { lines, is_problem: false };
                if self.screen == Screen::Item {
                    self.open = None;
                    self.screen = Screen::Now;
                }
                return self.requests();
            }
            (ActOutcome::NeedsName(word), Some(form)) => form.ask_for(word),
            (ActOutcome::Refused(problem), Some(form)) => form.problem = Some(problem),
            (ActOutcome::Refused(problem), None) => self.warn(problem),
            (ActOutcome::NeedsName(_), None) => {}
        }
        Vec::new()
    }

    /// Shows why something was not done.
    pub(super) fn warn(&mut self, problem: impl Into<String>) {
        self.notice = Notice { lines: vec![problem.into()], is_problem: true };
    }

    /// Shows another screen, with what it needs.
    pub(super) fn go_to(&mut self, screen: Screen) -> Vec<TopRequest> {
        self.screen = screen;
        self.form = None;
        if screen != Screen::Item {
            self.open = None;
        }
        self.requests()
    }
}
