//! A whole screen: header, body, notice, hints.

use ratatui::buffer::Buffer;
use ratatui::layout::Position;
use ratatui::text::Line;
use twining_engine::WaitingItem;
use unicode_width::UnicodeWidthStr;

use crate::tui::answer_form::AnswerForm;
use crate::tui::key_actions::AnswerKind;
use crate::tui::layout::{body_rows, notice_rows};
use crate::tui::state::{FeedState, Pane, Screen, TopState};
use crate::tui::theme::Tone;
use crate::tui::view::item;
use crate::tui::view::lines::{Border, LineBuilder, border, fit_end, plain_line, sided, wrap};
use crate::tui::view::now;
use crate::tui::view::stream;

/// Lines that the consequence of an answer takes at most.
const CONSEQUENCE_LINES: usize = 4;

/// Every key and what it does, for the help.
const KEYS: [(&str, &str); 18] = [
    ("j k ↓ ↑", "move"),
    ("Home End", "first, last"),
    ("PgUp PgDn", "a page; in an item, its text"),
    ("Tab", "inbox or agents"),
    ("Enter", "open"),
    ("Esc", "back; in a form: nothing is done"),
    ("s .", "settle: choose one of the answers"),
    ("1 … 9", "in an item: give that answer"),
    ("a", "answer a question or need"),
    ("e", "dismiss"),
    ("r", "release a claim"),
    ("1 2  g n, g s", "now, stream"),
    ("/", "find, by words and meaning"),
    ("J K → ←", "in the stream: move the detail"),
    ("f", "in the stream: show one type only"),
    ("Space", "pause, go on"),
    ("Y", "show the command that does the same"),
    ("t ? q", "theme, keys, quit"),
];

/// Draws the state; returns where the cursor is, if something is typed.
pub(crate) fn draw(state: &TopState, buffer: &mut Buffer) -> Option<Position> {
    let (width, height) = (usize::from(buffer.area.width), usize::from(buffer.area.height));
    let rows = body_rows(state.size, state.notice_lines().len());
    let mut lines = vec![header(state, width)];
    let mut body = body(state, width, rows);
    body.resize(rows, Line::default());
    let mut cursor = None;
    if let Some(form) = &state.form {
        let (form, at) = form_lines(state, form, width);
        let start = rows.saturating_sub(form.len());
        body.truncate(start);
        body.extend(form.into_iter().take(rows));
        cursor = at.map(|(x, y)| (x, 1 + start + y));
    }
    lines.extend(body);
    lines.extend(notice_lines(state, width));
    if let Some(typed) = &state.find {
        let line = LineBuilder::new(state.theme).text(" / ", Tone::Strong);
        let line = line.text(&fit_end(typed, width.saturating_sub(5)), Tone::Normal);
        cursor = Some((line.used(), height.saturating_sub(1)));
        lines.push(line.filled(width));
    } else {
        lines.push(hints(state, width));
    }
    // On a screen of two rows or one, what is typed matters more than the rest.
    if height < lines.len() {
        lines.drain(..usize::from(state.find.is_some()) * (lines.len() - height));
    }
    for (y, line) in (buffer.area.y..buffer.area.bottom()).zip(&lines) {
        buffer.set_line(buffer.area.x, y, line, buffer.area.width);
    }
    let (x, y) = cursor?;
    let place = Position { x: u16::try_from(x).ok()?, y: u16::try_from(y).ok()? };
    buffer.area.contains(place).then_some(place)
}

fn body(state: &TopState, width: usize, rows: usize) -> Vec<Line<'static>> {
    if state.shows_keys {
        return keys(state, width, rows);
    }
    match state.screen {
        Screen::Now => now::lines(state, width),
        Screen::Item => item::lines(state, width, rows),
        Screen::Stream => stream::lines(state, width),
    }
}

fn header(state: &TopState, width: usize) -> Line<'static> {
    let line = LineBuilder::new(state.theme).text(" twining", Tone::Strong);
    let line = match (state.screen, &state.open) {
        (Screen::Item, Some(open)) => {
            let line = line.text(" ▸ ", Tone::Dim);
            let line = line.text(now::kind_label(open.item.kind), now::tone(open.item.gravity));
            match &open.item.scope {
                Some(scope) => line.text(" ▸ ", Tone::Dim).text(scope, Tone::Place),
                None => line,
            }
        }
        (Screen::Stream, _) => {
            let title = format!("{}, {}", state.source.title(), state.stream.total());
            line.text(" ▸ ", Tone::Dim)
                .text("stream", Tone::Normal)
                .text(" ▸ ", Tone::Dim)
                .text(&title, Tone::Dim)
        }
        _ => now_header(state, line, width),
    };
    let (status, tone) = match &state.freshness {
        _ if state.screen == Screen::Item => ("esc back".to_owned(), Tone::Dim),
        FeedState::Loading => ("loading…".to_owned(), Tone::Dim),
        FeedState::Live => ("live".to_owned(), Tone::Good),
        FeedState::Paused => ("paused".to_owned(), Tone::Warn),
        FeedState::Failed(problem) => (problem.clone(), Tone::Bad),
    };
    let room = width.saturating_sub(line.used() + 1);
    if room < 6 {
        return line.filled(width);
    }
    line.right(&status, room, tone).text(" ", Tone::Normal).filled(width)
}

fn now_header(state: &TopState, line: LineBuilder, width: usize) -> LineBuilder {
    let mut line = line.text("  ", Tone::Normal).text(&state.project.name, Tone::Strong);
    // What needs a person comes first where not all of it fits.
    let is_wide = width >= 60;
    if let Some(branch) = state.project.branch.as_ref().filter(|_| is_wide) {
        line = line.text("  ", Tone::Normal).text(branch, Tone::Place);
    }
    if let Some(outcome) = state.agents.as_ref().filter(|_| is_wide) {
        line = line.text(&format!("     {} at work", outcome.agents.len()), Tone::Normal);
    }
    match state.inbox.total() {
        _ if !state.inbox.is_loaded() => line,
        0 => line.text("   nothing needs you", Tone::Good),
        1 => line.text("   1 needs you", Tone::Warn),
        count => line.text(&format!("   {count} need you"), Tone::Warn),
    }
}

fn hints(state: &TopState, width: usize) -> Line<'static> {
    let mut line = LineBuilder::new(state.theme);
    for (key, does) in hinted_keys(state) {
        let (key, does) = (format!(" {key}"), format!(" {does} "));
        if line.used() + key.width() + does.trim_end().width() > width {
            break;
        }
        line = line.text(&key, Tone::Strong).text(&does, Tone::Dim);
    }
    line.filled(width)
}

/// The keys that do something to what is selected.
fn hinted_keys(state: &TopState) -> Vec<(&'static str, &'static str)> {
    let given = |item: Option<&WaitingItem>, kind: AnswerKind| {
        item.is_some_and(|item| item.answers.iter().any(|answer| kind.is(answer)))
    };
    let acts = |item: Option<&WaitingItem>| {
        [
            (item.is_some_and(|item| !item.answers.is_empty()), ("s", "settle")),
            (given(item, AnswerKind::Answering), ("a", "answer")),
            (given(item, AnswerKind::Dismissing), ("e", "dismiss")),
            (given(item, AnswerKind::Releasing), ("r", "release")),
        ]
    };
    let offered = |hints: &[(bool, (&'static str, &'static str))]| -> Vec<_> {
        hints.iter().filter(|(is_offered, _)| *is_offered).map(|(_, hint)| *hint).collect()
    };
    let (first, acts, last): (&[_], Vec<_>, &[_]) = match (&state.form, state.screen, state.pane) {
        _ if state.shows_keys => (&[("any key", "back")], Vec::new(), &[]),
        (Some(_), ..) => {
            (&[("enter", "go on"), ("tab", "next line"), ("esc", "nothing done")], Vec::new(), &[])
        }
        (None, Screen::Item, _) => {
            let item = state.open.as_ref().map(|open| &open.item);
            let numbers = [(item.is_some_and(|item| !item.answers.is_empty()), ("1-9", "answer"))];
            let last = &[("pgdn", "more"), ("Y", "command"), ("esc", "back"), ("?", "keys")];
            (&[], offered(&numbers), last)
        }
        (None, Screen::Stream, _) => {
            let row = state.stream.selected();
            let acts = [
                (row.is_some_and(|row| row.reply().is_some()), ("a", "answer")),
                (row.is_some_and(|row| row.dismissal().is_some()), ("e", "dismiss")),
            ];
            let last =
                &[("f", "filter"), ("/", "find"), ("space", "pause"), ("1", "now"), ("?", "keys")];
            (&[("j/k", "move")], offered(&acts), last)
        }
        (None, Screen::Now, Pane::Agents) => {
            let last = &[("r", "release"), ("tab", "inbox"), ("2", "stream"), ("?", "keys")];
            (&[("j/k", "move")], Vec::new(), last)
        }
        (None, Screen::Now, Pane::Inbox) => {
            let acts = offered(&acts(state.inbox.selected()));
            let last = &[("tab", "agents"), ("2", "stream"), ("/", "find"), ("?", "keys")];
            (&[("j/k", "move"), ("enter", "open")], acts, last)
        }
    };
    first.iter().copied().chain(acts).chain(last.iter().copied()).collect()
}

fn notice_lines(state: &TopState, width: usize) -> Vec<Line<'static>> {
    let tone = if state.notice.is_problem { Tone::Bad } else { Tone::Good };
    let lines = state.notice_lines();
    let shown = lines.iter().take(notice_rows(state.size, lines.len()));
    shown.map(|line| plain_line(state.theme, &format!(" {line}"), width, tone)).collect()
}

fn form_lines(
    state: &TopState,
    form: &AnswerForm,
    width: usize,
) -> (Vec<Line<'static>>, Option<(usize, usize)>) {
    let theme = state.theme;
    let room = width.saturating_sub(2);
    let mut lines = vec![border(theme, Border::Top, &form.act.label, width)];
    let then = wrap(&format!("Then: {}", form.act.then), room);
    for line in then.into_iter().take(CONSEQUENCE_LINES) {
        lines.push(plain_line(theme, &format!(" {line}"), width, Tone::Normal));
    }
    lines.push(plain_line(theme, &format!(" {}", form.act.command), width, Tone::Dim));
    let mut cursor = None;
    for (index, field) in form.fields.iter().enumerate() {
        let label = field.label();
        let line = LineBuilder::new(theme).text(" ", Tone::Normal).text(&label, Tone::Strong);
        let line =
            line.text(&fit_end(field.typed(), room.saturating_sub(label.len())), Tone::Normal);
        if index == form.focus {
            cursor = Some((line.used(), lines.len()));
        }
        lines.push(line.filled(width));
    }
    for problem in form.problem.iter().flat_map(|problem| wrap(problem, room)) {
        lines.push(plain_line(theme, &format!(" {problem}"), width, Tone::Bad));
    }
    (lines, cursor)
}

fn keys(state: &TopState, width: usize, rows: usize) -> Vec<Line<'static>> {
    let theme = state.theme;
    let inner = width.saturating_sub(2);
    let mut lines = vec![border(theme, Border::Top, "Keys", width)];
    for (key, does) in KEYS {
        let line = LineBuilder::new(theme).text(" ", Tone::Normal).cell(key, 16, Tone::Strong);
        lines.push(sided(theme, line.text(does, Tone::Normal).filled(inner), width));
    }
    lines.truncate(rows.saturating_sub(1));
    lines.push(border(theme, Border::Bottom, "", width));
    lines
}
