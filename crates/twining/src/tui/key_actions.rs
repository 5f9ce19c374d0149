//! What each key does. The keys are those of the page in the browser.

use twining_engine::{AnswerNeed, WaitingAnswer, WaitingItem};

use crate::tui::answer_form::{AnswerForm, FormStep, edit_line};
use crate::tui::key_decoder::Key;
use crate::tui::list_window::{Identified, ListWindow};
use crate::tui::offered_act::OfferedAct;
use crate::tui::state::{FeedState, Notice, OpenItem, Pane, Screen, TopRequest, TopState};
use crate::tui::stream_row::StreamSource;
use crate::tui::view::{item, stream};

/// Verbs that let go of something held.
const RELEASING: [&str; 1] = ["claim"];
/// Verbs that put something away.
const DISMISSING: [&str; 2] = ["dismiss", "guard_discard"];
/// Lines that a detail moves at once.
const SCROLL: isize = 8;

/// What kind of answer a key gives.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerKind {
    Answering,
    Dismissing,
    Releasing,
}

impl TopState {
    /// Takes a key.
    pub(super) fn press(&mut self, key: &Key) -> Vec<TopRequest> {
        if std::mem::take(&mut self.shows_keys) {
            return Vec::new();
        }
        if self.form.is_some() {
            return self.press_in_form(key);
        }
        if self.find.is_some() {
            return self.press_in_find(key);
        }
        self.notice = Notice::default();
        if std::mem::take(&mut self.awaits_place) {
            return match key {
                Key::Char('n') => self.go_to(Screen::Now),
                Key::Char('s') => self.go_to(Screen::Stream),
                _ => Vec::new(),
            };
        }
        match key {
            Key::Char('q') | Key::Ctrl('c' | 'd') => vec![TopRequest::Quit],
            Key::Ctrl('z') => vec![TopRequest::Suspend],
            Key::Char('?') => self.show_keys(),
            Key::Char('t') => self.next_theme(),
            Key::Char('g') => self.await_place(),
            Key::Char(' ') => self.toggle_pause(),
            Key::Char('/') => self.begin_find(),
            Key::Ctrl('l') => self.requests(),
            key => match self.screen {
                Screen::Now => self.press_on_now(key),
                Screen::Item => self.press_in_item(key),
                Screen::Stream => self.press_in_stream(key),
            },
        }
    }

    fn press_on_now(&mut self, key: &Key) -> Vec<TopRequest> {
        let rows = self.now_layout();
        match (key, self.pane) {
            (Key::Tab | Key::BackTab, Pane::Inbox) if rows.agents > 0 => self.pane = Pane::Agents,
            (Key::Tab | Key::BackTab, _) => self.pane = Pane::Inbox,
            (Key::Char('1'), _) => return self.go_to(Screen::Now),
            (Key::Char('2'), _) => return self.go_to(Screen::Stream),
            (Key::Char('r'), Pane::Agents) => self.release_claim(),
            (key, Pane::Agents) => {
                let agents = self.agents.as_ref().map_or(0, |outcome| outcome.agents.len());
                let last = agents.saturating_sub(1);
                self.agent_position = moved(self.agent_position, key, rows.agents).min(last);
            }
            (Key::Enter, Pane::Inbox) => return self.open_item(),
            (Key::Char('s' | '.'), Pane::Inbox) => {
                let requests = self.open_item();
                self.settle();
                return requests;
            }
            (key, Pane::Inbox) => {
                if let Some(kind) = AnswerKind::of(key) {
                    let item = self.inbox.selected().cloned();
                    return self.open_item_for(item.as_ref(), kind);
                }
                if matches!(key, Key::Char('Y')) {
                    self.show_command(self.inbox.selected().and_then(likeliest_command));
                }
                move_in(&mut self.inbox, key, rows.inbox);
                return self.missing_rows();
            }
        }
        Vec::new()
    }

    fn press_in_item(&mut self, key: &Key) -> Vec<TopRequest> {
        let Some(open) = &mut self.open else { return self.go_to(Screen::Now) };
        match key {
            Key::Esc | Key::Left | Key::Char('h') => return self.go_to(Screen::Now),
            Key::Char('j') | Key::Down => self.scroll_item(1),
            Key::Char('k') | Key::Up => self.scroll_item(-1),
            Key::PageDown => self.scroll_item(SCROLL),
            Key::PageUp => self.scroll_item(-SCROLL),
            Key::Home => self.scroll_item(isize::MIN),
            Key::End | Key::Char('G') => self.scroll_item(isize::MAX),
            Key::Char('s' | '.') | Key::Enter => self.settle(),
            Key::Char('Y') => {
                let command = likeliest_command(&open.item);
                self.show_command(command);
            }
            Key::Char(digit @ '1'..='9') => {
                let index = digit.to_digit(10).map_or(0, |digit| digit as usize - 1);
                match open.item.answers.get(index).map(OfferedAct::of_answer) {
                    Some(act) => self.give(act),
                    None => self.warn("there is no such answer"),
                }
            }
            key => {
                if let Some(kind) = AnswerKind::of(key) {
                    let answer = open.item.answers.iter().find(|answer| kind.is(answer));
                    match answer.map(OfferedAct::of_answer) {
                        Some(act) => self.give(act),
                        None => self.warn(kind.missing()),
                    }
                }
            }
        }
        Vec::new()
    }

    fn press_in_stream(&mut self, key: &Key) -> Vec<TopRequest> {
        let rows = self.stream_layout();
        match key {
            Key::Esc if self.source == StreamSource::Entries(None) => {
                return self.go_to(Screen::Now);
            }
            Key::Esc => return self.show_stream(StreamSource::Entries(None)),
            Key::Char('1') => return self.go_to(Screen::Now),
            Key::Char('f') => return self.show_stream(self.source.next()),
            Key::Char('a') => self.give_or_warn(AnswerKind::Answering),
            Key::Char('e') => self.give_or_warn(AnswerKind::Dismissing),
            Key::Char('Y') => {
                let read =
                    self.stream.selected().map(|row| format!("twining read --id {}", row.id));
                self.show_command(read);
            }
            Key::Char('J') | Key::Right => self.scroll_detail(1),
            Key::Char('K') | Key::Left => self.scroll_detail(-1),
            key => {
                let before = self.stream.position();
                move_in(&mut self.stream, key, rows.list);
                if self.stream.position() != before {
                    self.detail_scroll = 0;
                }
                return self.missing_rows();
            }
        }
        Vec::new()
    }

    fn press_in_form(&mut self, key: &Key) -> Vec<TopRequest> {
        let Some(form) = &mut self.form else { return Vec::new() };
        match form.press(key) {
            FormStep::Typing => Vec::new(),
            FormStep::Cancelled => {
                self.form = None;
                self.notice = Notice { lines: vec!["nothing done".to_owned()], is_problem: false };
                Vec::new()
            }
            FormStep::Send(call) => vec![TopRequest::Act(call)],
        }
    }

    fn press_in_find(&mut self, key: &Key) -> Vec<TopRequest> {
        let Some(line) = &mut self.find else { return Vec::new() };
        match key {
            Key::Esc | Key::Ctrl('c') => self.find = None,
            Key::Enter => {
                let text = line.trim().to_owned();
                self.find = None;
                if !text.is_empty() {
                    return self.show_stream(StreamSource::Found(text));
                }
            }
            key => edit_line(line, key),
        }
        Vec::new()
    }

    fn show_stream(&mut self, source: StreamSource) -> Vec<TopRequest> {
        if matches!(source, StreamSource::Found(_)) && self.freshness != FeedState::Paused {
            self.freshness = FeedState::Loading;
        }
        self.source = source;
        self.stream = ListWindow::following_top();
        self.detail_scroll = 0;
        self.go_to(Screen::Stream)
    }

    fn open_item(&mut self) -> Vec<TopRequest> {
        let Some(item) = self.inbox.selected().cloned() else { return Vec::new() };
        self.open =
            Some(OpenItem { item, position: self.inbox.position(), ended: None, scroll: 0 });
        self.go_to(Screen::Item)
    }

    fn open_item_for(&mut self, item: Option<&WaitingItem>, kind: AnswerKind) -> Vec<TopRequest> {
        let answers = item.map(|item| item.answers.as_slice()).unwrap_or_default();
        match answers.iter().find(|answer| kind.is(answer)).map(OfferedAct::of_answer) {
            Some(act) => {
                let requests = self.open_item();
                self.give(act);
                requests
            }
            None => {
                self.warn(kind.missing());
                Vec::new()
            }
        }
    }

    fn scroll_item(&mut self, lines: isize) {
        let limit = item::scroll_limit(self);
        if let Some(open) = &mut self.open {
            open.scroll = open.scroll.saturating_add_signed(lines).min(limit);
        }
    }

    fn scroll_detail(&mut self, lines: isize) {
        let limit = stream::scroll_limit(self);
        self.detail_scroll = self.detail_scroll.saturating_add_signed(lines).min(limit);
    }

    /// Begins the only answer there is; several are chosen from by their number.
    fn settle(&mut self) {
        let Some(open) = &self.open else { return };
        match open.item.answers.as_slice() {
            [] => self.warn("nothing can be done about it here"),
            [only] => self.give(OfferedAct::of_answer(only)),
            _ => {}
        }
    }

    fn give_or_warn(&mut self, kind: AnswerKind) {
        let row = self.stream.selected();
        let act = match kind {
            AnswerKind::Answering => row.and_then(|row| row.reply()),
            _ => row.and_then(|row| row.dismissal()),
        };
        match act {
            Some(act) => self.give(act),
            None => self.warn(kind.missing()),
        }
    }

    fn release_claim(&mut self) {
        let Some(outcome) = &self.agents else { return };
        let agent = outcome.agents.get(self.agent_position);
        let claim = agent
            .and_then(|agent| outcome.claims.iter().find(|claim| claim.agent_id == agent.agent_id));
        match claim.map(OfferedAct::release) {
            Some(act) => self.give(act),
            None => self.warn("this agent holds no claim"),
        }
    }

    /// Opens the form of an act, unless nobody here may give it.
    fn give(&mut self, act: OfferedAct) {
        if self.open.as_ref().is_some_and(|open| open.ended.is_some()) {
            return self.warn("it no longer waits");
        }
        if act.verb.is_empty() {
            return self.show_command(Some(act.command));
        }
        match &self.refusal {
            Some(why) => {
                let lines = vec![why.clone(), format!("the command: {}", act.command)];
                self.notice = Notice { lines, is_problem: true };
            }
            None => self.form = Some(AnswerForm::new(act)),
        }
    }

    fn show_command(&mut self, command: Option<String>) {
        match command {
            Some(command) => self.notice = Notice { lines: vec![command], is_problem: false },
            None => self.warn("there is no command for it"),
        }
    }

    fn show_keys(&mut self) -> Vec<TopRequest> {
        self.shows_keys = true;
        Vec::new()
    }

    fn next_theme(&mut self) -> Vec<TopRequest> {
        self.theme = self.theme.next();
        Vec::new()
    }

    fn await_place(&mut self) -> Vec<TopRequest> {
        self.awaits_place = true;
        Vec::new()
    }

    fn begin_find(&mut self) -> Vec<TopRequest> {
        self.find = Some(String::new());
        Vec::new()
    }

    fn toggle_pause(&mut self) -> Vec<TopRequest> {
        if self.freshness == FeedState::Paused {
            self.freshness = FeedState::Live;
            return self.requests();
        }
        self.freshness = FeedState::Paused;
        Vec::new()
    }
}

impl AnswerKind {
    fn of(key: &Key) -> Option<Self> {
        match key {
            Key::Char('a') => Some(Self::Answering),
            Key::Char('e') => Some(Self::Dismissing),
            Key::Char('r') => Some(Self::Releasing),
            _ => None,
        }
    }

    pub(super) fn is(self, answer: &WaitingAnswer) -> bool {
        let verb = answer.verb.as_str();
        match self {
            Self::Answering => answer.needs.contains(&AnswerNeed::Text),
            Self::Dismissing => DISMISSING.contains(&verb),
            Self::Releasing => RELEASING.contains(&verb),
        }
    }

    fn missing(self) -> &'static str {
        match self {
            Self::Answering => "this asks nothing",
            Self::Dismissing => "this cannot be dismissed",
            Self::Releasing => "this holds no claim",
        }
    }
}

fn likeliest_command(item: &WaitingItem) -> Option<String> {
    item.answers.first().map(|answer| answer.command.clone())
}

fn move_in<T: Identified>(list: &mut ListWindow<T>, key: &Key, height: usize) {
    let page = isize::try_from(height.max(2) - 1).unwrap_or(1);
    match key {
        Key::Home => list.select(0, height),
        Key::End | Key::Char('G') => list.select(usize::MAX, height),
        Key::Char('j') | Key::Down => list.move_by(1, height),
        Key::Char('k') | Key::Up => list.move_by(-1, height),
        Key::PageDown => list.move_by(page, height),
        Key::PageUp => list.move_by(-page, height),
        _ => {}
    }
}

fn moved(position: usize, key: &Key, height: usize) -> usize {
    match key {
        Key::Home => 0,
        Key::End | Key::Char('G') => usize::MAX,
        Key::Char('j') | Key::Down => position.saturating_add(1),
        Key::Char('k') | Key::Up => position.saturating_sub(1),
        Key::PageDown => position.saturating_add(height),
        Key::PageUp => position.saturating_sub(height),
        _ => position,
    }
}
