//! An item with its detail: what it is about, why a person is needed, what each answer does.

use ratatui::text::Line;
use twining_engine::{WaitingItem, WaitingSubject};
use twining_model::Time;

use crate::tui::age;
use crate::tui::layout::body_rows;
use crate::tui::state::{OpenItem, TopState};
use crate::tui::theme::{Theme, Tone};
use crate::tui::view::lines::{Border, LineBuilder, border, joined, plain_line, sided, wrap};

/// From this width on, two records that disagree stand side by side.
const SIDE_BY_SIDE: usize = 76;

/// The body of the screen.
pub(super) fn lines(state: &TopState, width: usize, rows: usize) -> Vec<Line<'static>> {
    let Some(open) = &state.open else { return Vec::new() };
    let mut lines = content(state, &open.item, width);
    if let Some(ended) = &open.ended {
        let ended = format!(" {ended}");
        lines.insert(0, plain_line(state.theme, &ended, width, Tone::Good));
    }
    let scroll = open.scroll.min(lines.len().saturating_sub(rows));
    lines.drain(..scroll);
    lines.truncate(rows);
    lines
}

/// How far the screen can be scrolled.
pub(in crate::tui) fn scroll_limit(state: &TopState) -> usize {
    let rows = body_rows(state.size, state.notice_lines().len());
    let content = |open: &OpenItem| content(state, &open.item, usize::from(state.size.width)).len();
    state.open.as_ref().map_or(0, content).saturating_sub(rows)
}

/// Everything there is to say about an item.
pub(super) fn content(state: &TopState, item: &WaitingItem, width: usize) -> Vec<Line<'static>> {
    let theme = state.theme;
    let mut lines = subjects(theme, &item.subjects, width);
    let room = width.saturating_sub(2);
    for line in wrap(&item.title, room) {
        lines.push(plain_line(theme, &format!(" {line}"), width, Tone::Strong));
    }
    for line in wrap(&item.why_you, room) {
        lines.push(plain_line(theme, &format!(" {line}"), width, Tone::Normal));
    }
    lines.push(since_line(state, item, width));
    for (number, answer) in (1..).zip(&item.answers) {
        let label = format!(" {number} {} ", answer.label);
        let indent = 4;
        let then = wrap(&answer.then, width.saturating_sub(indent + 1));
        lines.push(plain_line(theme, &label, width, Tone::Strong));
        for line in then {
            lines.push(plain_line(theme, &format!("{:indent$}{line}", ""), width, Tone::Normal));
        }
        let command = format!("{:indent$}{}", "", answer.command);
        lines.push(plain_line(theme, &command, width, Tone::Dim));
    }
    lines
}

fn since_line(state: &TopState, item: &WaitingItem, width: usize) -> Line<'static> {
    let mut line = LineBuilder::new(state.theme).text(" ", Tone::Normal);
    if let Some(since) = item.since.as_deref().and_then(Time::read) {
        let clock = age::clock(state.now, since, &state.zone);
        let since = format!("since {clock}, {} ", age::label(state.now, since));
        line = line.text(&since, Tone::Dim);
    }
    if let Some(by) = &item.by {
        line = line.text("by ", Tone::Dim).text(by, Tone::Normal);
    }
    line.filled(width)
}

fn subjects(theme: Theme, subjects: &[WaitingSubject], width: usize) -> Vec<Line<'static>> {
    if let [left, right] = subjects
        && width >= SIDE_BY_SIDE
    {
        let half = width / 2;
        let (mut left, mut right) =
            (subject(theme, left, half), subject(theme, right, width - half));
        level(theme, &mut left, right.len(), half);
        level(theme, &mut right, left.len(), width - half);
        return left.into_iter().zip(right).map(|(left, right)| joined(left, right)).collect();
    }
    subjects.iter().flat_map(|record| subject(theme, record, width)).collect()
}

/// Makes a box as high as its neighbour.
fn level(theme: Theme, lines: &mut Vec<Line<'static>>, height: usize, width: usize) {
    let Some(bottom) = lines.pop() else { return };
    while lines.len() + 1 < height {
        lines.push(sided(theme, Line::default(), width));
    }
    lines.push(bottom);
}

fn subject(theme: Theme, record: &WaitingSubject, width: usize) -> Vec<Line<'static>> {
    let status = record.status.as_deref().unwrap_or_default();
    let title = format!("{}  {status}", record.summary);
    let inner = width.saturating_sub(2);
    let mut lines = vec![border(theme, Border::Top, title.trim_end(), width)];
    let mut push = |text: &str, tone: Tone| {
        for line in wrap(text, inner.saturating_sub(2)) {
            let line = plain_line(theme, &format!(" {line}"), inner, tone);
            lines.push(sided(theme, line, width));
        }
    };
    let by = record.by.as_deref().map(|by| format!("{by}  ")).unwrap_or_default();
    let detail = record.detail.as_deref().unwrap_or_default();
    if !by.is_empty() || !detail.is_empty() {
        push(&format!("{by}{detail}"), Tone::Normal);
    }
    if let Some(rests) = &record.rests_on_it {
        let rests = if rests.is_empty() { "nothing" } else { rests };
        push(&format!("rests on it: {rests}"), Tone::Normal);
    }
    push(&record.id, Tone::Dim);
    lines.push(border(theme, Border::Bottom, "", width));
    lines
}
